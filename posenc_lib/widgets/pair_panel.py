"""A panel with one mark a pair of a RoPE model: how long its wave is, and how much a method slows it."""

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from torch import Tensor

from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, ORANGE, VERMILLION

__all__ = ["KINDS", "PairPanel", "pair_kinds", "say_pairs", "slowed_by", "wavelengths"]

LOOKS = {
    "unchanged": {"marker": "o", "color": BLUE},
    "blended": {"marker": "^", "color": ORANGE},
    "interpolated": {"marker": "s", "color": VERMILLION},
}
KINDS = tuple(LOOKS)


def wavelengths(plain: Tensor) -> np.ndarray:
    """Positions in which each pair makes one turn, (d/2,)."""
    return 2 * np.pi / plain.numpy()


def slowed_by(plain: Tensor, scaled: Tensor) -> np.ndarray:
    """Plain over scaled frequency of each pair, (d/2,): 1 is unchanged, 4 a quarter of the speed."""
    return (plain / scaled).numpy()


def pair_kinds(slowed: np.ndarray, factor: float) -> np.ndarray:
    """What was done to each pair, (d/2,): unchanged; interpolated, by the factor or more; blended, in between."""
    change = np.abs(np.log(slowed))
    full = change >= abs(np.log(factor)) - 1e-9
    return np.select([change < 1e-9, full], ["unchanged", "interpolated"], "blended")


def say_pairs(slowed: np.ndarray, factor: float) -> str:
    """The kinds in words, "unchanged 0–2, blended 3, interpolated 4–7": first and last pair of each run."""
    kinds = pair_kinds(slowed, factor)
    starts = [0, *(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1)]
    ends = [*(start - 1 for start in starts[1:]), len(kinds) - 1]
    return ", ".join(
        f"{kinds[start]} {start}" + (f"–{end}" if end > start else "") for start, end in zip(starts, ends, strict=True)
    )


class PairPanel:
    """Marks on logarithmic axes: wavelength in training against "slowed by".

    Attributes:
        artists: what moves, in drawing order.
        handles: kind → a line for a legend.
    """

    def __init__(self, axes: Axes) -> None:
        axes.set(xscale="log", xlabel="wavelength without stretching (positions)")
        axes.set_yscale("log", base=2)
        axes.set_ylabel("slowed by")
        axes.yaxis.set_major_formatter("×{x:g}")
        self.handles = {
            kind: axes.plot([], [], linestyle="none", markersize=5, mew=0, label=kind, **look)[0]
            for kind, look in LOOKS.items()
        }
        self.factor_line = axes.axhline(1, color=GREY, linestyle="--", linewidth=1)
        self.length_line = axes.axvline(1, color=BLACK, linestyle=":", linewidth=1.2)
        self.artists: list[Artist] = [self.factor_line, self.length_line, *self.handles.values()]

    def show(self, wavelengths: np.ndarray, slowed: np.ndarray, *, factor: float, length: float) -> None:
        """Mark every pair, the factor (dashed) and a length in positions (dotted)."""
        kinds = pair_kinds(slowed, factor)
        for kind, marks in self.handles.items():
            marks.set_data(wavelengths[kinds == kind], slowed[kinds == kind])
        self.factor_line.set_ydata([factor, factor])
        self.length_line.set_xdata([length, length])
