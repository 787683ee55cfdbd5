"""The matrix that moves a sinusoidal encoding on by Δ positions, with the two vectors it makes agree."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist

from posenc_lib.base import check_choice
from posenc_lib.sinusoidal import shift_matrix, sinusoidal_encoding
from posenc_lib.widgets.kept_text import KeptText
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, ORANGE, LiveFigure, State, choice, slider

__all__ = ["ORDERS", "ShiftMatrix", "ShiftState", "shift_state"]

DIM = 8
LAST_POSITION = 64
LAST_SHIFT = 80
ORDERS = ("sin-cos", "cos-sin")
BLOCK_ENTRIES = [(2 * pair + row, 2 * pair + column) for pair in range(DIM // 2) for row in (0, 1) for column in (0, 1)]


class ShiftState(NamedTuple):
    """The matrix, (d, d); PE(p), M PE(p) and PE(p+Δ), (d,) each; and the largest difference of the last two."""

    matrix: np.ndarray
    start: np.ndarray
    moved: np.ndarray
    target: np.ndarray
    residual: float


def shift_state(offset: float, position: float, *, order: str = "sin-cos", dim: int = DIM) -> ShiftState:
    """M_Δ applied to PE(p), beside PE(p+Δ), in float64.

    Args:
        offset: Δ.
        position: p.
        order: the order of a pair that the signs of M_Δ are made for: "sin-cos", right for this encoding, or
            "cos-sin", whose matrix is the transpose.
        dim: width; even.

    Raises:
        TypeError, ValueError: as `shift_matrix`; order is none of ORDERS.
    """
    check_choice("order", order, ORDERS)
    matrix = shift_matrix(offset, dim)
    if order == "cos-sin":
        matrix = matrix.T
    at = torch.tensor([position, position + offset], dtype=torch.float64)
    start, target = sinusoidal_encoding(at, dim, dtype=torch.float64)
    moved = matrix @ start
    residual = (moved - target).abs().max().item()
    return ShiftState(matrix.numpy(), start.numpy(), moved.numpy(), target.numpy(), residual)


class ShiftMatrix(LiveFigure):
    """M_Δ as numbers in colour, and M_Δ PE(p) on top of PE(p+Δ) (Vaswani et al. 2017, section 3.5)."""

    description = (
        "Left: the matrix of a shift by Δ at width 8, four 2×2 blocks, the fast pair at the top left. Right: PE(p) as "
        "grey squares, the matrix times PE(p) as blue dots, and PE(p+Δ) as orange rings. Each dot sits in its ring: "
        "one matrix shifts every position. Slide p and the matrix stands still; slide Δ and it changes. Then choose "
        "the signs for pairs in the other order, (cos, sin), and see the dots leave their rings."
    )

    background_controls = ("offset", "order")

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "offset": slider("shift Δ", 3, -LAST_SHIFT, LAST_SHIFT),
            "p": slider("position p", 10, 0, LAST_POSITION),
            "order": choice("signs for pairs", "sin-cos", [("(sin, cos)", "sin-cos"), ("(cos, sin)", "cos-sin")]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        return {
            "No shift (Δ = 0)": lambda state: {"offset": 0},
            "Back by 3": lambda state: {"offset": -3, "order": "sin-cos"},
            "A full turn of pair 1 (Δ = 63)": lambda state: {"offset": 63},
            "Signs of the other order": lambda state: {"order": "cos-sin"},
        }

    def build(self) -> list[Artist]:
        grid = self.figure.add_axes((0.075, 0.13, 0.435, 0.7733))
        self.picture = grid.imshow(np.zeros((DIM, DIM)), cmap="PuOr_r", vmin=-1, vmax=1)
        grid.set(xlabel="dimension of PE(p)", ylabel="dimension of the result")
        grid.set(xticks=range(DIM), yticks=range(DIM))
        for side in grid.spines.values():
            side.set_visible(False)
        lines = [grid.axvline, grid.axhline]
        rules = [line(place, color="#D0D0D0", linewidth=0.8) for line in lines for place in np.arange(1.5, DIM - 1, 2)]
        self.title = grid.text(0.5, 1.045, "", transform=grid.transAxes, ha="center", va="center")
        self.entries = [grid.add_artist(KeptText(j, i, ha="center", va="center", fontsize=7)) for i, j in BLOCK_ENTRIES]

        rows = self.figure.add_axes((0.615, 0.13, 0.365, 0.6))
        rows.set(xlim=(-0.5, DIM - 0.5), ylim=(-1.15, 1.15), xticks=range(DIM), yticks=(-1, -0.5, 0, 0.5, 1))
        rows.set(xlabel="dimension", ylabel="value")
        rows.axhline(0, color="#D0D0D0", linewidth=0.8, zorder=0)
        zeros = np.zeros(DIM)
        (self.start,) = rows.plot(zeros, "s", color=GREY, mfc="none", markersize=7, label="PE(p)")
        (self.target,) = rows.plot(zeros, "o", color=ORANGE, mfc="none", mew=2, markersize=13, label="PE(p + Δ)")
        (self.moved,) = rows.plot(zeros, "o", color=BLUE, markersize=6, label="M PE(p)")
        handles = [self.start, self.moved, self.target]
        rows.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.05, 1.04), ncols=2, borderaxespad=0)
        self.left: list[Artist] = [self.picture, *rules, self.title, *self.entries]
        return [self.start, self.target, self.moved]

    def draw_background(self, *, offset: int, p: int, order: str) -> list[Artist]:
        matrix = shift_state(offset, p, order=order).matrix
        self.picture.set_data(matrix)
        colours = self.picture.to_rgba(matrix)
        for text, place in zip(self.entries, BLOCK_ENTRIES, strict=True):
            value = matrix[place]
            text.set_text(f"{value:z.2f}".replace("-", "−"))
            text.set_color("white" if abs(value) > 0.7 else BLACK)
            text.ground = tuple(colours[place])
        sign = "[c s; −s c]" if order == "sin-cos" else "[c −s; s c]"
        self.title.set_text(f"M for Δ = {offset}, blocks {sign}".replace("-", "−"))
        return self.left

    def move(self, *, offset: int, p: int, order: str) -> str:
        state = shift_state(offset, p, order=order)
        self.start.set_ydata(state.start)
        self.moved.set_ydata(state.moved)
        self.target.set_ydata(state.target)
        same = state.residual < 1e-9
        verdict = "they coincide, to nine decimals" if same else f"they differ by up to {state.residual:.3f}"
        return (
            f"Δ = {offset}, p = {p}, signs for {'(sin, cos)' if order == 'sin-cos' else '(cos, sin)'}. M takes PE({p}) "
            f"to the dots, PE({p + offset}) are the rings: {verdict}. "
            f"Pair 0 is turned by {offset} rad, pair 3 by {offset / 1000:z.3f} rad."
        )
