"""The checks most exercises need: compare with an independent reference, and name the mistake where it is known."""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from posenc_lib.exercises.exercise import KnownMistake, Rule, WrongAnswer
from posenc_lib.exercises.readers import read_choice_and_number, read_function, read_numbers

__all__ = ["choice_check", "function_check", "numbers_check"]

Check = Callable[[Any], None]
Function = Callable[..., Any]
NEAR = 8  # a mistake is recognised within so many tolerances: rounded further than the right answer may be


def numbers_check(
    right: Any,
    *,
    mistakes: Sequence[KnownMistake],
    otherwise: str,
    rules: Sequence[Rule] = (),
    tolerance: float = 1e-3,
) -> Check:
    """A check for a number, or for numbers of the shape of `right` (nested sequences, a tensor).

    Args:
        right: the answer, from a closed form or a float64 reference.
        mistakes: what wrong ways lead to; the nearest is named.
        otherwise: what to say of any other answer.
        rules: what to ask of an answer that is no known mistake; the first that is broken is named.
        tolerance: the largest absolute error of a right answer.
    """
    right = _as_tensor(right)

    def check(answer: Any) -> None:
        found = read_numbers(answer, tuple(right.shape))
        _compare(lambda: found, lambda: right, [()], mistakes, rules, otherwise, tolerance)

    return check


def function_check(
    right: Function,
    draws: Callable[[], list[tuple[Any, ...]]],
    *,
    mistakes: Sequence[KnownMistake],
    otherwise: str,
    rules: Sequence[Rule] = (),
    tolerance: float = 1e-2,
) -> Check:
    """A check for a function: its results on drawn inputs are compared with those of `right`.

    Args:
        right: an independent reference in float64, with the parameters that are asked for; its results are
            anything `torch.as_tensor` takes.
        draws: makes the inputs, a tuple for each call, the same each time.
        mistakes: the functions that misconceptions lead to; one is named when it gives the same results.
        otherwise, rules: as for numbers_check.
        tolerance: of each entry, absolute; the default leaves room for results of order 1 rounded to bfloat16.
    """
    parameters = tuple(inspect.signature(right).parameters)

    def check(answer: Any) -> None:
        function = read_function(answer, parameters)

        def found(*inputs: Any) -> Tensor:
            return read_numbers(function(*inputs), tuple(_as_tensor(right(*copy.deepcopy(inputs))).shape))

        _compare(found, right, draws(), mistakes, rules, otherwise, tolerance)

    return check


def choice_check(
    choices: str,
    right: tuple[str, float],
    *,
    mistakes: Sequence[KnownMistake],
    otherwise: str,
    tolerance: float = 1e-3,
) -> Check:
    """A check for a pair, the letter of a reason and the number that supports it.

    Args:
        choices: the letters, "abc".
        right: the letter and the number.
        mistakes: letters or numbers as their values; every wrong letter needs one.
        otherwise: what to say of any other number.
        tolerance: of the number, absolute.
    """
    right_letter, right_number = right
    letters = {mistake.value: mistake for mistake in mistakes if isinstance(mistake.value, str)}
    check_number = numbers_check(
        right_number,
        mistakes=[mistake for mistake in mistakes if not isinstance(mistake.value, str)],
        otherwise=otherwise,
        tolerance=tolerance,
    )

    def check(answer: Any) -> None:
        letter, number = read_choice_and_number(answer, choices)
        if letter != right_letter:
            raise WrongAnswer(letters[letter].misconception, letters[letter].message)
        check_number(number)

    return check


def _compare(
    found: Callable[..., Tensor],
    right: Function,
    draws: list[tuple[Any, ...]],
    mistakes: Sequence[KnownMistake],
    rules: Sequence[Rule],
    otherwise: str,
    tolerance: float,
) -> None:
    results = [found(*inputs) for inputs in draws]

    def error(other: Any) -> float:
        """The largest difference from what another function, or fixed numbers, would give."""
        function = other if callable(other) else lambda: other
        others = (_as_tensor(function(*copy.deepcopy(inputs))) for inputs in draws)
        return max((result - value).abs().max().item() for result, value in zip(results, others, strict=True))

    if error(right) <= tolerance:
        return
    errors = [error(mistake.value) for mistake in mistakes]
    if errors and min(errors) <= NEAR * tolerance:
        mistake = mistakes[errors.index(min(errors))]
        raise WrongAnswer(mistake.misconception, mistake.message)
    for rule in rules:
        if not all(rule.holds(found, *copy.deepcopy(inputs)) for inputs in draws):
            raise WrongAnswer(rule.misconception, rule.message)
    raise WrongAnswer("other", otherwise)


def _as_tensor(value: Any) -> Tensor:
    return torch.as_tensor(value, dtype=torch.float64)
