"""Cosine similarity between the rows of a learned table, beside that of sinusoidal's rows."""

from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from torch import Tensor
from torch.nn import functional as F

from posenc_lib.base import check_floating
from posenc_lib.sinusoidal import sinusoidal_encoding
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, HEIGHT, VERMILLION, WIDTH, LiveFigure, State, slider

__all__ = ["TableSimilarity", "cosine_matrix", "range_at_offset"]

FRESH_SHAPE = (32, 32)  # of the table shown when none is given: rows, width
FRESH_STD = 0.02  # as LearnedEncoding starts
SEED = 0
LEFT, TOP, HEAT = 58, 22, 160  # pixels: margin, title, side of a heat map


def cosine_matrix(rows: Tensor) -> np.ndarray:
    """Cosine of the angle between each two rows of (L, d), shape (L, L), float64; a row of zeros has 0 with all."""
    unit = F.normalize(rows.detach().cpu().double(), dim=-1)
    return (unit @ unit.T).numpy()


def range_at_offset(matrix: np.ndarray, offset: int) -> tuple[float, float]:
    """Smallest and largest entry between rows that stand |offset| apart; equal where the offset alone decides."""
    diagonal = np.diagonal(matrix, abs(offset))
    return float(diagonal.min()), float(diagonal.max())


class TableSimilarity(LiveFigure):
    """How alike the rows of a learned table are, and sinusoidal's rows of the same number and width.

    Args:
        table: rows of a learned table (L, d), L ≥ 2, kept as they are now; None shows a freshly started one.
        scale: as in LiveFigure.

    Raises:
        TypeError, ValueError: the table is not a floating tensor of that shape.
    """

    description = (
        "Each square shows the cosine between every two rows of a table of positions, purple below zero and orange "
        "above: a learned table on the left, sinusoidal's on the right. Below, the outlined row p against all rows. "
        "Sinusoidal's cosine depends on the offset alone, so its square is made of diagonals, and its line only moves "
        "along. A learned table starts without any pattern and takes the one its task needs. Slide row p and row q, "
        "or move both by one: sinusoidal's number stands still, the learned one need not."
    )

    def __init__(self, table: Tensor | None = None, *, scale: float = 1) -> None:
        if table is None:
            self.label = "fresh learned table"
            seeded = torch.Generator().manual_seed(SEED)
            table = FRESH_STD * torch.randn(FRESH_SHAPE, generator=seeded, dtype=torch.float64, device="cpu")
        else:
            self.label = "learned table"
            check_floating("table", table, ndim=2, shape="(L, d)")
            if len(table) < 2 or table.shape[1] < 1:
                raise ValueError(f"table must have shape (L, d) with L >= 2 and d >= 1, got {tuple(table.shape)}")
        self.learned = cosine_matrix(table)
        self.sinusoidal = cosine_matrix(sinusoidal_encoding(*table.shape, dtype=torch.float64))
        super().__init__(scale=scale)

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        last = len(self.learned) - 1
        return {
            "p": slider("row p", min(5, last), 0, last),
            "q": slider("row q", min(7, last), 0, last),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        last = len(self.learned) - 1

        def most_alike(state: State) -> dict[str, Any]:
            others = self.learned[state["p"]].copy()
            others[state["p"]] = -np.inf
            return {"q": int(others.argmax())}

        def move_both(state: State) -> dict[str, Any]:
            step = 1 if max(state["p"], state["q"]) < last else -min(state["p"], state["q"])  # then start again
            return {"p": state["p"] + step, "q": state["q"] + step}

        return {
            "q next to p": lambda state: {"q": state["p"] + 1 if state["p"] < last else last - 1},
            "q most alike": most_alike,
            "Move both by one": move_both,
        }

    def build(self) -> list[Artist]:
        count = len(self.learned)
        self.cursors: list[Artist] = []
        for left, matrix, title in (
            (LEFT, self.learned, self.label),
            (LEFT + HEAT + 62, self.sinusoidal, "sinusoidal"),
        ):
            axes = self._axes(left, TOP, HEAT, HEAT)
            picture = axes.imshow(matrix, cmap="PuOr_r", vmin=-1, vmax=1)
            axes.set_title(title, fontsize=9, pad=4)
            axes.set(ylabel="row p", xlabel="row q")
            row = Rectangle((-0.5, 0), count, 1, fill=False, edgecolor=BLACK, linewidth=1.2)
            (cell,) = axes.plot([], [], "o", color=BLACK, mfc="none", mew=1.5, markersize=8, clip_on=False)
            cell.set_path_effects([withStroke(linewidth=3.5, foreground="white")])  # seen on dark cells too
            self.cursors += [axes.add_patch(row), cell]
        bar = self._axes(LEFT + 2 * HEAT + 78, TOP, 12, HEAT)
        self.figure.colorbar(picture, cax=bar, ticks=(-1, -0.5, 0, 0.5, 1), label="cosine")

        below = self._axes(LEFT, TOP + HEAT + 52, WIDTH - LEFT - 20, 84)
        below.set(xlim=(-0.5, count - 0.5), ylim=(-1.1, 1.1), xlabel="row q", ylabel="cosine")
        below.set_yticks((-1, 0, 1))
        below.axhline(0, color=GREY, linewidth=0.8)
        style = {"markersize": 3.5, "linewidth": 1.2}
        (self.blue,) = below.plot([], [], "o-", color=BLUE, label="learned", **style)
        (self.red,) = below.plot([], [], "s--", color=VERMILLION, label="sinusoidal", mfc="none", **style)
        self.upright = below.axvline(0, color=BLACK, linestyle=":", linewidth=1.2)
        self.figure.legend(
            handles=[self.blue, self.red], title="row p, below", loc="upper left", bbox_to_anchor=(0.8, 0.955)
        )
        return [self.upright, self.red, self.blue, *self.cursors]

    def _axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes at a place in pixels from the top left, rows numbered by whole numbers however few there are."""
        bottom = HEIGHT - top - height
        axes = self.figure.add_axes((left / WIDTH, bottom / HEIGHT, width / WIDTH, height / HEIGHT))
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        return axes

    def move(self, *, p: int, q: int) -> str:
        for row, cell in zip(self.cursors[0::2], self.cursors[1::2], strict=True):
            row.set_y(p - 0.5)
            cell.set_data([q], [p])
        places = np.arange(len(self.learned))
        self.blue.set_data(places, self.learned[p])
        self.red.set_data(places, self.sinusoidal[p])
        self.upright.set_xdata([q, q])
        ranges = [range_at_offset(matrix, p - q) for matrix in (self.learned, self.sinusoidal)]
        learned, sinusoidal = (f"{low:z.2f} to {high:z.2f}" for low, high in ranges)
        return (
            f"Rows {p} and {q}, {abs(p - q)} apart. Cosine in the {self.label} {self.learned[p, q]:z.2f}, "
            f"in sinusoidal {self.sinusoidal[p, q]:z.2f}. Of all rows {abs(p - q)} apart: {learned} in the "
            f"{self.label}, {sinusoidal} in sinusoidal."
        )
