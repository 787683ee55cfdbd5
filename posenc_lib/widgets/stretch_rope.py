"""Stretch a trained RoPE model live: what a method does to each pair, and what that does to the model's loss."""

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist
from torch import Tensor

from posenc_lib.rope import RopeScaling, rope_frequencies
from posenc_lib.tiny_lm import TinyTransformer, load
from posenc_lib.tiny_lm.evaluation import window_losses
from posenc_lib.tiny_lm.stretching import STRETCHES
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, LiveFigure, State, choice, slider
from posenc_lib.widgets.pair_panel import PairPanel, say_pairs, slowed_by, wavelengths

__all__ = ["StretchRope", "binned", "stretched"]

LARGEST_FACTOR = 8
BIN = 16  # positions averaged into one point of a curve
SETTLE = 0.1  # seconds that a slider must rest before a curve is begun
BREATH = 0.002  # seconds between two parts of a curve, for messages of a slider that moves on

Key = tuple[str, int]  # method, factor
_curves: dict[Key, np.ndarray] = {}  # what was computed once, for all widgets: the model never changes


@cache
def _model() -> TinyTransformer:
    return load("rope")


def stretched(method: str, factor: float) -> RopeScaling:
    """The shipped model's frequencies for a window of factor × its trained length, by a name of `STRETCHES`."""
    model = _model()
    length = round(factor * model.trained_len)
    return STRETCHES[method](model.head_dim, factor, model.trained_len, length)


def binned(losses: Tensor) -> np.ndarray:
    """Mean over windows and over BIN positions: (windows, length) → (length / BIN,)."""
    return losses.mean(0).unflatten(0, (-1, BIN)).mean(1).numpy()


def _parts(key: Key) -> Iterator[Tensor]:
    method, factor = key
    return window_losses(_model(), factor * _model().trained_len, scaling=stretched(method, factor))


def _keep(key: Key, parts: list[Tensor]) -> None:
    _curves[key] = binned(torch.cat(parts))


def _mean(key: Key, places: slice) -> str:
    return f"{_curves[key][places].mean():.1f}" if key in _curves else "…"


class StretchRope(LiveFigure):
    """Every pair's frequency under a method and a factor, and the loss of a trained model that runs with them.

    Under an event loop, as in a notebook, the frequencies follow the slider and the curve comes when it rests: a task
    computes it in parts, and the next move of a slider cancels the task. Without a loop all is drawn at once.
    """

    description = (
        "Top: one mark for each of the model's 8 pairs, at its wavelength in training, as high as the method slows it. "
        "Right of T_train no pair ever completed a turn. The dashed line is the factor, the dotted one the window. "
        "Bottom: the loss by position of a small model that was trained on windows of 128 characters, run with these "
        "frequencies, without any further training; dashed, the same model unstretched. The curve comes when the "
        "slider rests, and is pale until then."
    )

    def __init__(self, *, scale: float = 1) -> None:
        self._task: asyncio.Task[None] | None = None
        self._sought: list[Key] = []
        for key in (("raw", 4), ("YaRN", 4)):  # the first picture is whole in a stored notebook
            if key not in _curves:
                _keep(key, list(_parts(key)))
        super().__init__(scale=scale)

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "factor": slider("factor s", 4, 1, LARGEST_FACTOR),
            "method": choice("method", "YaRN", [(name, name) for name in STRETCHES]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        names = ("raw", "PI", "NTK", "YaRN", "YaRN, paper's ramp")
        return {f"{name} ×4": lambda state, name=name: {"factor": 4, "method": name} for name in names}

    def build(self) -> list[Artist]:
        trained = _model().trained_len
        self.plain = rope_frequencies(_model().head_dim)
        top = self.figure.add_axes((0.095, 0.63, 0.87, 0.28), xlim=(4, 4e4), ylim=(0.75, 80))
        self.pairs = PairPanel(top)
        top.set_yticks([1, 2, 4, 8, 16, 32, 64])
        top.axvspan(trained, 4e4, color="#eeeeee", zorder=0)
        top.text(trained * 1.08, 48, "no full turn in training", va="center", color=GREY)

        bottom = self.figure.add_axes((0.095, 0.125, 0.87, 0.345), xlim=(0, LARGEST_FACTOR * trained), ylim=(0.8, 6))
        bottom.set(xticks=range(0, LARGEST_FACTOR * trained + 1, trained), yticks=range(1, 7))
        bottom.set(xlabel="position (characters)", ylabel="loss (nats)")
        bottom.axvspan(trained, LARGEST_FACTOR * trained, color="#eeeeee", zorder=0)
        (raw,) = bottom.plot([], [], color=GREY, linestyle="--", linewidth=1.2, label="loss, raw")
        (curve,) = bottom.plot([], [], color=BLUE, linewidth=1.8, label="loss, stretched")
        self.lines = {"stretched": curve, "raw": raw}
        self.end = bottom.axvline(0, color=BLACK, linestyle=":", linewidth=1.2)
        handles = [*self.pairs.handles.values(), raw, curve]
        self.figure.legend(
            handles=handles, loc="upper center", ncols=5, bbox_to_anchor=(0.52, 1.005), columnspacing=1.3
        )
        return [*self.pairs.artists, raw, curve, self.end]

    def move(self, *, factor: int, method: str) -> str:
        length = factor * _model().trained_len
        scaling = stretched(method, factor)
        slowed = slowed_by(self.plain, scaling.frequencies)
        self.pairs.show(wavelengths(self.plain), slowed, factor=factor, length=length)
        self.end.set_xdata([length, length])
        said = (
            f"{method}, factor {factor}: window {length}. Pairs {say_pairs(slowed, factor)}; cos and sin × "
            f"{scaling.attention_factor:.2f}. "
        )
        keys = {"stretched": (method, factor), "raw": ("raw", factor)}
        self._bring(list(dict.fromkeys(keys.values())))
        for name, line in self.lines.items():
            curve = _curves.get(keys[name])
            line.set_alpha(0.3 if curve is None else 1)
            if curve is not None:
                line.set_data((np.arange(len(curve)) + 0.5) * BIN, curve)
        if keys["stretched"] not in _curves:
            return said + "The loss is being computed; the pale curve is the one before."
        quarter, trained = slice(-length // 4 // BIN, None), slice(_model().trained_len // BIN)
        means = [_mean(key, places) for places in (quarter, trained) for key in keys.values()]
        return said + (
            f"Loss in the last quarter {means[0]} nats (raw {means[1]}), in the first {_model().trained_len} "
            f"{means[2]} (raw {means[3]})."
        )

    # How a curve comes.

    def _bring(self, keys: list[Key]) -> None:
        """See to it that these curves come, at once or by a task, which takes the place of one that is after others."""
        if self._task is not None and keys != self._sought:
            self._task.cancel()
        missing = [key for key in keys if key not in _curves]
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            for key in missing:
                _keep(key, list(_parts(key)))
        else:
            if missing and (keys != self._sought or self._task is None or self._task.done()):
                self._task = loop.create_task(self._compute(missing))
                self._task.add_done_callback(self._surface)
        self._sought = keys

    async def _compute(self, missing: list[Key]) -> None:
        await asyncio.sleep(SETTLE)
        for key in missing:
            parts = []
            for part in _parts(key):
                parts.append(part)
                await asyncio.sleep(BREATH)
            _keep(key, parts)
            self.refresh()

    def _surface(self, task: asyncio.Task[None]) -> None:
        """Say an error of the task beside the picture, and raise it into the loop, which logs it."""
        if not task.cancelled() and (error := task.exception()):
            self.say(f"The loss could not be computed: {type(error).__name__}: {error}")
            raise error
