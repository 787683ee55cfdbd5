"""Predict, then see: the reader commits to an answer, and the cell that measures it answers back."""

import math
import re
from collections.abc import Mapping, Sequence

import ipywidgets

from posenc_lib.base import check_choice, check_number
from posenc_lib.exercises import progress_file
from posenc_lib.exercises.on_screen import (
    OnScreen,
    column,
    listed,
    radio_buttons,
    show_text,
    submit_button,
    text_widget,
    wrapped,
)

__all__ = ["Prediction", "predict", "reveal"]

Answer = str | float

_choices: dict[str, tuple[str, ...] | None] = {}  # of the predictions asked for in this kernel


class Prediction(OnScreen):
    """A question, the place to answer it, and a button that commits. Once committed, it stays.

    Attributes:
        control: RadioButtons, or Text for a number.
        button: commits what `control` holds.
        answer: what was committed to, or None.
    """

    def __init__(self, id: str, question: str, choices: tuple[str, ...] | None) -> None:
        self._id, self._question, self._choices = id, question, choices
        self.answer = _committed(progress_file.read(), id, choices)
        if choices is None:
            text = "" if self.answer is None else _shown(self.answer)
            self.control = ipywidgets.Text(text, placeholder="a number, like 0.5", layout={"width": "12em"})
        else:
            self.control = radio_buttons(choices, self.answer)
        self.button = submit_button("Commit")
        self.button.on_click(self._on_commit)
        self._status = text_widget()
        self.box = column(
            "posenc-prediction",
            [text_widget("Predict:", question), self.control, self.button, self._status],
        )
        self._show()

    def describe(self) -> str:
        """The question, the choices and what was said."""
        lines = [f"Predict: {self._question}"]
        if self._choices is not None:
            lines.append(listed(self._choices))
        return "\n".join([*lines, self._said()])

    def _said(self) -> str:
        return "Not answered yet." if self.answer is None else f"You said: {_shown(self.answer)}"

    def _show(self) -> None:
        self.control.disabled = self.button.disabled = self.answer is not None
        show_text(self._status, "", self._said())

    def _on_commit(self, _: ipywidgets.Button) -> None:
        answer: Answer | None = self.control.value
        if self._choices is None:
            try:
                answer = check_number("answer", _typed_number(self.control.value))
            except (ValueError, ZeroDivisionError):
                show_text(self._status, "", "Type a finite number first, like 0.5, 1/2, 40 %, 8,192 or 2e-3.")
                return
        elif answer is None:
            show_text(self._status, "", "Choose an answer first.")
            return

        def commit(state: progress_file.State) -> None:
            if _committed(state, self._id, self._choices) is None:  # the first commitment stands, whoever made it
                state["predictions"][self._id] = answer

        self.answer = progress_file.update(commit)["predictions"][self._id]
        self._show()


def predict(id: str, question: str, choices: Sequence[str] | None = None) -> Prediction:
    """Ask for a prediction: the last expression of a cell, before the one that measures.

    Args:
        id: what `reveal` calls it; the commitment is kept under it when the kernel restarts.
        question: plain text, shown in full.
        choices: the answers to choose from, at least two; None asks for a number.

    Raises:
        TypeError: id or question is not a string, or choices is not a list of strings.
        ValueError: id or question is empty, or choices has fewer than two or repeats one.
    """
    for name, value in (("id", id), ("question", question)):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a string, got {value!r}")
        if not value.strip():
            raise ValueError(f"{name} must be a non-empty string, got {value!r}")
    if choices is not None:
        listed_strings = isinstance(choices, Sequence) and all(isinstance(choice, str) for choice in choices)
        if isinstance(choices, str) or not listed_strings:
            raise TypeError(f"choices must be a list of strings or None, got {choices!r}")
        choices = tuple(choices)
        if len(choices) < 2 or len(set(choices)) < len(choices):
            raise ValueError(f"choices must hold at least two different strings, got {choices!r}")
    _choices[id] = choices
    return Prediction(id, question, choices)


def reveal(
    id: str,
    measured: Answer,
    *,
    misconceptions: Mapping[Answer, str] | None = None,
    tolerance: float | None = None,
) -> None:
    """Print the measured answer beside the prediction, and for a known misconception, which it is.

    Args:
        id: the prediction's.
        measured: what the cell measured: one of the choices, or a number (a tensor of one element will do).
        misconceptions: wrong answer → what is behind it, in a sentence.
        tolerance: how far from a measured number still counts as close, in its own units; a tenth of it by default.

    Raises:
        TypeError: measured, or tolerance, is not of a kind named above.
        ValueError: measured, or a misconception, is none of the choices; measured is not finite; the tolerance is
            not positive.
    """
    choices = _choices.get(id)
    misconceptions = misconceptions or {}
    if choices is not None:
        for name, value in (("measured", measured), *(("misconceptions", key) for key in misconceptions)):
            check_choice(name, value, choices)
    elif id in _choices or not isinstance(measured, str):
        measured = check_number("measured", measured)
    if tolerance is not None:
        check_number("tolerance", tolerance, above=0)

    said = progress_file.read()["predictions"].get(id)
    if said is None or isinstance(said, str) != isinstance(measured, str) or (choices and said not in choices):
        print(wrapped(f"No prediction yet for {id}: measured {_shown(measured)}."))
        return
    verdict = _verdict(said, measured, tolerance)
    print(wrapped(f"You said {_shown(said)}, measured {_shown(measured)}: {verdict}."))
    if not _agree(said, measured, tolerance):
        for mistake, why in misconceptions.items():
            if _agree(said, mistake, tolerance):
                print(wrapped(why))
                break


def _committed(state: progress_file.State, id: str, choices: tuple[str, ...] | None) -> Answer | None:
    """The answer kept under that id, if it still is one: a lesson's choices may have changed since."""
    answer = state["predictions"].get(id)
    fits = isinstance(answer, float) if choices is None else answer in choices
    return answer if fits else None


def _typed_number(text: str) -> float:
    """A number as people write it: with thousands set apart, as a fraction, or as a percentage."""
    plain = re.sub(r"\s|(?<=\d),(?=\d{3}(?!\d))", "", text).replace("−", "-")
    numerator, slash, denominator = plain.removesuffix("%").partition("/")
    number = float(numerator) / (float(denominator) if slash else 1)
    return number / 100 if plain.endswith("%") else number


def _shown(answer: Answer) -> str:
    return f"“{answer}”" if isinstance(answer, str) else f"{answer:.4g}"


def _agree(said: Answer, other: Answer, tolerance: float | None) -> bool:
    if isinstance(said, str) or isinstance(other, str):
        return said == other
    return abs(said - other) <= (abs(other) / 10 if tolerance is None else tolerance)


def _verdict(said: Answer, measured: Answer, tolerance: float | None) -> str:
    if isinstance(said, str) or isinstance(measured, str):
        return "as predicted" if said == measured else "not as predicted"
    if said == measured:
        return "exact"
    if _agree(said, measured, tolerance):
        return "close"
    if said * measured < 0:
        return "the other sign"
    factor = math.inf if said == 0 or measured == 0 else max(said / measured, measured / said)
    if 1.5 <= factor < math.inf:
        return f"off by a factor of {factor:.2g}" if factor < 10 else f"off by a factor of {factor:,.0f}"
    return f"off by {abs(said - measured):.2g}"
