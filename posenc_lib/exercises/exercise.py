"""What a lesson's exercises and quizzes are made of, and how an answer of any kind is read as a number."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

__all__ = ["Exercise", "KnownMistake", "Question", "WrongAnswer", "raise_known_mistake", "read_number"]


class WrongAnswer(Exception):
    """Raised by an exercise's check: the misconception's id, and what to look at, without the answer."""

    def __init__(self, misconception: str, message: str) -> None:
        super().__init__(misconception, message)
        self.misconception = misconception
        self.message = message


@dataclass(frozen=True)
class Exercise:
    """One exercise. `check` returns for a right answer and raises WrongAnswer for a wrong one.

    It may let any other exception through: `posenc_lib.exercises.check` reports it as the answer's own.
    """

    id: str
    title: str
    lesson: str
    """The lesson's two digits, "04"."""
    difficulty: int
    """From 1, a warm-up, to 5."""
    minutes: int
    question: str
    hints: tuple[str, ...]
    """From a nudge to nearly everything; the answer is in none."""
    check: Callable[[Any], None]
    solved: str
    """What to take away, shown with a right answer."""


@dataclass(frozen=True)
class Question:
    """One multiple-choice question of a quiz; `explanation` must stand for whatever was chosen."""

    id: str
    text: str
    choices: tuple[str, ...]
    right: str
    explanation: str


@dataclass(frozen=True)
class KnownMistake:
    """A number that a known mistake leads to."""

    misconception: str
    value: float
    message: str


def read_number(answer: Any) -> float:
    """The finite number in an answer: a number of any type, or a tensor, array, list or tuple that holds one.

    Raises:
        WrongAnswer: it holds none, and the message says what it is instead.
    """
    if isinstance(answer, (torch.Tensor, np.ndarray, np.generic)) and math.prod(answer.shape) == 1:
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)) and len(answer) == 1:
        return read_number(answer[0])
    if isinstance(answer, (torch.Tensor, np.ndarray)):
        raise WrongAnswer("shape", f"A single number is wanted, and this has shape {tuple(answer.shape)}.")
    if isinstance(answer, (list, tuple)):
        raise WrongAnswer("shape", f"A single number is wanted, and this holds {len(answer)} values.")
    if answer is None:
        raise WrongAnswer(
            "none", "A number is wanted, and this is None. If a function made it, does it return its result?"
        )
    if isinstance(answer, (str, bytes)):
        raise WrongAnswer("text", "A number is wanted, and this is text. Type digits, without quotes.")
    if isinstance(answer, bool):
        raise WrongAnswer("bool", "A number is wanted, and this is a truth value.")
    if isinstance(answer, complex):
        raise WrongAnswer("complex", "A real number is wanted, and this is complex. Which part is the score?")
    if callable(answer):
        raise WrongAnswer("function", "A number is wanted, and this can be called. Call it and pass the result.")
    try:
        number = float(answer)
    except Exception:
        kind = type(answer).__name__
        raise WrongAnswer("type", f"A number is wanted, and this {kind} does not turn into one.") from None
    if not math.isfinite(number):
        raise WrongAnswer("not-finite", f"A finite number is wanted, and this is {number}.")
    return number


def raise_known_mistake(number: float, mistakes: tuple[KnownMistake, ...]) -> None:
    """Raise WrongAnswer for the nearest of the mistakes, if it is within 0.008: two decimals are enough to tell."""
    nearest = min(mistakes, key=lambda mistake: abs(number - mistake.value))
    if abs(number - nearest.value) <= 0.008:
        raise WrongAnswer(nearest.misconception, nearest.message)
