"""What a lesson's exercises, quizzes and interview questions are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Exercise", "Inputs", "InterviewQuestion", "KnownMistake", "NotTried", "Question", "Rule", "WrongAnswer"]


Inputs = list[tuple[Any, ...]]
"""What a function that a learner writes is tried on: the arguments of each call."""


class WrongAnswer(Exception):
    """Raised by an exercise's check: the misconception's id, and what to look at, without the answer."""

    def __init__(self, misconception: str, message: str) -> None:
        super().__init__(misconception, message)
        self.misconception = misconception
        self.message = message


class NotTried(Exception):
    """Raised by an exercise's check where `...` still stands for the answer, or a function still returns it."""


@dataclass(frozen=True)
class Exercise:
    """One exercise. `check` returns for a right answer and raises WrongAnswer for a wrong one.

    It may let any other exception through: `posenc_lib.exercises.check` reports it as the answer's own.
    The question itself stands in the lesson's notebook of exercises, under a heading with what is said here.
    """

    id: str
    title: str
    lesson: str
    """The lesson's two digits, "04"."""
    difficulty: int
    """From 1, a warm-up, to 5; also the points it is worth."""
    minutes: int
    hints: tuple[str, ...]
    """From a nudge to nearly everything; the answer is in none."""
    check: Callable[[Any], None]
    solved: str
    """What to take away, shown with a right answer."""


@dataclass(frozen=True)
class KnownMistake:
    """What a known mistake leads to: numbers, a choice, or, where a function is asked for, the mistaken function."""

    misconception: str
    value: Any
    message: str


@dataclass(frozen=True)
class Rule:
    """What every right answer obeys: `holds` is given the answer as a function, and one draw of its inputs."""

    misconception: str
    holds: Callable[..., bool]
    message: str


@dataclass(frozen=True)
class Question:
    """One multiple-choice question of a quiz; `explanation` must stand for whatever was chosen."""

    id: str
    text: str
    choices: tuple[str, ...]
    right: str
    explanation: str

    def answered(self) -> str:
        """What a reader sees once an answer is chosen."""
        return self.explanation


@dataclass(frozen=True)
class InterviewQuestion(Question):
    """A question as an interviewer asks it: a choice first, then `explanation` as the model answer."""

    lesson: str
    """The two digits of the lesson that supports it."""
    claim: str
    """The line that lesson prints after ✓."""

    def answered(self) -> str:
        """The model answer, and what the lesson measured."""
        return f"{self.explanation} Lesson {int(self.lesson)} shows it: ✓ {self.claim}"
