"""Check an answer, show a hint, show what is done."""

from dataclasses import dataclass
from typing import Any

import torch

from posenc_lib.exercises import catalogue, progress_file
from posenc_lib.exercises.exercise import NotTried, WrongAnswer
from posenc_lib.exercises.on_screen import wrapped
from posenc_lib.exercises.time_limit import TookTooLong, call_within

__all__ = ["Feedback", "check", "hint", "progress"]

TIME_LIMIT = 10.0  # seconds
LONGEST_REASON = 300  # characters


@dataclass(frozen=True)
class Feedback:
    """What came of an answer. As a cell's last expression it shows nothing: `check` has printed the message."""

    passed: bool
    message: str
    misconception: str | None = None
    """The id of the known misconception, or of what keeps the answer from being read; None if passed or not tried."""

    def _ipython_display_(self) -> None:
        """Show nothing."""


def check(id: str, answer: Any) -> Feedback:
    """Check an answer, print what came of it and remember it; `...` counts as not tried yet.

    An answer that is a function is called on drawn inputs, and stopped after TIME_LIMIT where `call_within` can:
    on the main thread, not on Windows.

    Args:
        id: one of EXERCISES.
        answer: anything; what cannot be an answer is said to be none, never raised.

    Raises:
        ValueError: no exercise has that id.
    """
    exercise = catalogue.look_up(catalogue.exercises, id)
    place = progress_file.path()  # asked for now: the answer may change the working folder
    try:
        with torch.device("cpu"):  # whatever the notebook's default device, references are computed here
            call_within(TIME_LIMIT, exercise.check, answer)
        feedback = Feedback(True, wrapped(f"{id}: right. {exercise.solved}"))
    except NotTried:
        feedback = Feedback(False, f"{id}: not tried yet")
        print(feedback.message)
        return feedback
    except WrongAnswer as wrong:
        feedback = Feedback(False, wrapped(f"{id}: not yet. {wrong.message}"), wrong.misconception)
    except TookTooLong:
        said = f"It was stopped after {TIME_LIMIT:g} seconds. Does every loop in it end?"
        feedback = Feedback(False, wrapped(f"{id}: not yet. {said}"), "never-returns")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {_shortened(error)}".removesuffix(": ")
        feedback = Feedback(False, wrapped(f"{id}: not yet. Your answer raised {reason}"), "raises")

    def record(state: progress_file.State) -> None:
        state["attempts"][id] = state["attempts"].get(id, 0) + 1
        if feedback.passed:
            state["solved"][id] = True

    print(feedback.message)
    progress_file.update(record, place)
    return feedback


def _shortened(error: BaseException) -> str:
    """An error's message, cut: the learner's code may have put anything into it, or fail while it says so."""
    try:
        message = call_within(TIME_LIMIT, str, error)
    except (Exception, TookTooLong):
        return "an error that cannot be shown"
    return message if len(message) <= LONGEST_REASON else message[:LONGEST_REASON] + " …"


def hint(id: str) -> None:
    """Print the exercise's next hint; after the last, say so and print them all again.

    Raises:
        ValueError: no exercise has that id.
    """
    hints = catalogue.look_up(catalogue.exercises, id).hints

    def count(state: progress_file.State) -> None:
        state["hints"][id] = min(state["hints"].get(id, 0) + 1, len(hints) + 1)

    number = progress_file.update(count)["hints"][id]
    if number <= len(hints):
        print(wrapped(f"{id}, hint {number} of {len(hints)}: {hints[number - 1]}"))
        return
    print(f"{id}: there are no more hints. All of them again:")
    for number, text in enumerate(hints, start=1):
        print(wrapped(f"{number}. {text}"))


def progress() -> None:
    """Print the exercises solved, tried and left by lesson, the quiz answers and the predictions made."""
    state = progress_file.read()
    lessons: dict[str, list[str]] = {}
    for exercise in catalogue.exercises.values():
        lessons.setdefault(exercise.lesson, []).append(exercise.id)
    print("exercises   solved  tried  left")
    for lesson, ids in lessons.items():
        solved = sum(id in state["solved"] for id in ids)
        tried = sum(id in state["attempts"] and id not in state["solved"] for id in ids)
        print(f"lesson {lesson}   {solved:6}  {tried:5}  {len(ids) - solved - tried:4}")
    sets = {f"quiz {id}": (id, questions) for id, questions in catalogue.quizzes.items()}
    sets["interview"] = ("interview", catalogue.interview)
    for name, (id, questions) in sets.items():
        answers = [state["quiz_answers"].get(f"{id}/{question.id}") for question in questions]
        answered = sum(answer is not None for answer in answers)
        right = sum(answer == question.right for answer, question in zip(answers, questions, strict=True))
        print(f"{name:11} {answered} of {len(questions)} answered, {right} right")
    print(f"predictions made: {len(state['predictions'])}")
