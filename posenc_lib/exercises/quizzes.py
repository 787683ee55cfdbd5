"""A lesson's closing quiz, and interview questions: choose, then check, as often as you like."""

from collections.abc import Sequence

import ipywidgets

from posenc_lib.exercises import catalogue, progress_file
from posenc_lib.exercises.exercise import Question
from posenc_lib.exercises.on_screen import (
    OnScreen,
    column,
    listed,
    radio_buttons,
    show_text,
    submit_button,
    text_widget,
)

__all__ = ["Quiz", "interview", "interview_questions", "quiz"]


class Quiz(OnScreen):
    """Multiple-choice questions, with the answers given last time, which are kept under `id`.

    Attributes:
        controls: question id → RadioButtons.
        button: checks what is chosen.
    """

    def __init__(self, id: str, questions: Sequence[Question]) -> None:
        self._id, self._questions = id, questions
        answers = progress_file.read()["quiz_answers"]
        self.controls: dict[str, ipywidgets.RadioButtons] = {}
        self._verdicts: dict[str, ipywidgets.HTML] = {}
        parts: list[ipywidgets.Widget] = []
        for number, question in enumerate(self._questions, start=1):
            answer = answers.get(f"{id}/{question.id}")
            control = radio_buttons(question.choices, answer if answer in question.choices else None)
            self.controls[question.id] = control
            self._verdicts[question.id] = verdict = text_widget()
            # A verdict on the answer before would read as one on this.
            control.observe(lambda change, verdict=verdict: show_text(verdict, ""), names="value")
            parts += [
                text_widget(f"{number}. {question.text}", margin="0.8em 0 0"),
                control,
                self._verdicts[question.id],
            ]
        self.button = submit_button("Check")
        self.button.on_click(self._on_check)
        self._summary = text_widget()
        self.box = column("posenc-quiz", [*parts, self.button, self._summary])
        if any(control.value is not None for control in self.controls.values()):
            self._show_verdicts()

    def describe(self) -> str:
        """The questions and their choices."""
        return "\n".join(
            f"{number}. {question.text}\n{listed(question.choices)}"
            for number, question in enumerate(self._questions, start=1)
        )

    def _on_check(self, _: ipywidgets.Button) -> None:
        answers = {
            f"{self._id}/{name}": control.value for name, control in self.controls.items() if control.value is not None
        }
        progress_file.update(lambda state: state["quiz_answers"].update(answers))
        self._show_verdicts()

    def _show_verdicts(self) -> None:
        right = 0
        for question in self._questions:
            answer = self.controls[question.id].value
            if answer is None:
                show_text(self._verdicts[question.id], "Choose an answer first.")
                continue
            right += answer == question.right
            verdict = "Right." if answer == question.right else "Not so."
            show_text(self._verdicts[question.id], verdict, question.answered())
        show_text(self._summary, f"{right} of {len(self._questions)} right.")


def quiz(id: str) -> Quiz:
    """A lesson's quiz, the last expression of a cell.

    Args:
        id: the lesson's two digits, "04".

    Raises:
        ValueError: no quiz has that id.
    """
    return Quiz(id, catalogue.look_up(catalogue.quizzes, id))


def interview(id: str) -> Quiz:
    """A lesson's interview questions: choose an answer, check it, and read a model answer with what supports it.

    Args:
        id: the lesson's two digits, "04".

    Raises:
        ValueError: no interview question has that lesson.
    """
    return Quiz("interview", catalogue.look_up(catalogue.interviews, id))


def interview_questions() -> Quiz:
    """The interview questions of all lessons; an answer given here stands in its lesson too."""
    return Quiz("interview", catalogue.interview)
