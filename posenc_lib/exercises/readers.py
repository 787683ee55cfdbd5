"""How an answer of any kind is read: as numbers, as a function, as a choice with a number."""

import copy
import inspect
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from posenc_lib.exercises.exercise import NotTried, WrongAnswer

__all__ = ["read_choice_and_number", "read_function", "read_number", "read_numbers"]


def read_number(answer: Any) -> float:
    """The finite number in an answer: a number of any type, or a tensor, array, list or tuple that holds one.

    Raises:
        WrongAnswer: it holds none, and the message says what it is instead.
        NotTried: it is `...`.
    """
    _refuse_without_values(answer)
    if isinstance(answer, (Tensor, np.ndarray, np.generic)) and math.prod(answer.shape) == 1:
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)) and len(answer) == 1:
        return read_number(answer[0])
    if isinstance(answer, (Tensor, np.ndarray, list, tuple)):
        _refuse_shape(answer, ())
    if isinstance(answer, bool):
        raise WrongAnswer("bool", "A number is wanted, and this is a truth value.")
    if isinstance(answer, complex):
        raise WrongAnswer("complex", "A real number is wanted, and this is complex. Which part of it is asked for?")
    if answer is None or answer is ... or isinstance(answer, (str, bytes)) or callable(answer):
        _refuse_kind(answer, "A number is wanted")
    try:
        number = float(answer)
    except Exception:
        _refuse_kind(answer, "A number is wanted")
    if not math.isfinite(number):
        raise WrongAnswer("not-finite", f"A finite number is wanted, and this is {number}.")
    return number


def read_numbers(answer: Any, shape: tuple[int, ...]) -> Tensor:
    """Finite numbers of that shape, float64: from a tensor or array of any real dtype, or nested lists or tuples.

    Raises:
        WrongAnswer: it is none of these, or has another shape; the message says what it is instead.
        NotTried: `...` is in it.
    """
    if not shape:
        return torch.tensor(read_number(answer), dtype=torch.float64)
    _refuse_without_values(answer)
    if isinstance(answer, (Tensor, np.ndarray)):
        if tuple(answer.shape) != shape:
            _refuse_shape(answer, shape)
        answer = answer.tolist()
    if isinstance(answer, (int, float)):
        raise WrongAnswer("type", f"{_wanted(shape)}, and this is a single one.")
    if not isinstance(answer, (list, tuple)):
        _refuse_kind(answer, _wanted(shape))
    if len(answer) != shape[0]:
        _refuse_shape(answer, shape)
    return torch.stack([read_numbers(entry, shape[1:]) for entry in answer])


def read_function(answer: Any, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """The answer as a function of that many arguments, which works on copies: it cannot change what it is given.

    Raises:
        WrongAnswer: it cannot be called, or not with that many arguments.
        NotTried: it is `...`.
    """
    wanted = f"A function of ({', '.join(parameters)}) is wanted"
    if answer is None or answer is ... or isinstance(answer, (str, bytes)):
        _refuse_kind(answer, wanted)
    if not callable(answer):
        kind = type(answer).__name__
        raise WrongAnswer("type", f"{wanted}, and this is a value ({kind}). Name the function, without calling it.")
    try:
        inspect.signature(answer).bind(*parameters)
    except ValueError:  # some functions written in C do not say what they take
        pass
    except TypeError:
        raise WrongAnswer("arity", f"{wanted}, and this takes other arguments.") from None
    return lambda *inputs: answer(*copy.deepcopy(inputs))


def read_choice_and_number(answer: Any, choices: str) -> tuple[str, float]:
    """A pair of one of the letters in `choices` and a number.

    Raises:
        WrongAnswer: it is no such pair.
        NotTried: `...` is in it.
    """
    wanted = f'A pair is wanted, a letter and a number, like ("{choices[0]}", 0.5)'
    if not isinstance(answer, (list, tuple)):
        _refuse_kind(answer, wanted)
    if len(answer) != 2:
        raise WrongAnswer("shape", f"{wanted}, and this holds {len(answer)} values.")
    letter, number = answer
    if letter is ...:
        raise NotTried
    if not isinstance(letter, str) or letter.strip().lower() not in [*choices]:
        raise WrongAnswer("no-choice", f"{wanted}, and the first is none of the letters {', '.join(choices)}.")
    return letter.strip().lower(), read_number(number)


def _refuse_without_values(answer: Any) -> None:
    """Refuse a tensor or array whose numbers cannot all be listed."""
    if isinstance(answer, Tensor) and (answer.layout != torch.strided or answer.is_meta or answer.is_nested):
        raise WrongAnswer("type", "An ordinary tensor is wanted, dense and on a device that holds its values.")
    if isinstance(answer, np.ma.MaskedArray) and np.ma.is_masked(answer):
        raise WrongAnswer("type", "Every number is wanted, and some of this array are masked.")


def _wanted(shape: tuple[int, ...]) -> str:
    if not shape:
        return "A single number is wanted"
    if len(shape) == 1:
        return f"{shape[0]} numbers are wanted"
    return f"Numbers of shape {shape} are wanted"


def _refuse_shape(answer: Any, shape: tuple[int, ...]) -> NoReturn:
    if isinstance(answer, (Tensor, np.ndarray)):
        raise WrongAnswer("shape", f"{_wanted(shape)}, and this has shape {tuple(answer.shape)}.")
    raise WrongAnswer("shape", f"{_wanted(shape)}, and this has length {len(answer)}.")


def _refuse_kind(answer: Any, wanted: str) -> NoReturn:
    """Say what the answer is instead."""
    if answer is ...:
        raise NotTried
    if answer is None:
        raise WrongAnswer("none", f"{wanted}, and this is None. If a function made it, does it return its result?")
    if isinstance(answer, (str, bytes)):
        raise WrongAnswer("text", f"{wanted}, and this is text. Without quotes, perhaps?")
    if callable(answer):
        raise WrongAnswer("function", f"{wanted}, and this can be called. Call it and pass the result.")
    kind = type(answer).__name__
    raise WrongAnswer("type", f"{wanted}, and this {kind} does not turn into one.")
