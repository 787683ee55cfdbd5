"""The sinusoidal table as a heat map, a cursor on one position, and that position read off as clock hands."""

from collections.abc import Callable
from typing import Any

import ipywidgets
import matplotlib.patheffects
import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from posenc_lib.sinusoidal import sinusoidal_encoding, wavelengths
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, VERMILLION, LiveFigure, State, slider

__all__ = ["SinusoidalHeatMap", "hand_tips", "pair_curves"]

DIM = 32
PAIRS = DIM // 2
LAST_POSITION = 127
CLOCKS_IN_A_ROW = 8
RADIUS = 0.4  # of a clock, in units of the distance between two


def hand_tips(position: float, dim: int = DIM) -> np.ndarray:
    """Where each pair's hand points, (sin, cos) as (x, y): from twelve o'clock, clockwise; shape (dim/2, 2)."""
    row = sinusoidal_encoding(torch.tensor([position], dtype=torch.float64), dim, dtype=torch.float64)[0]
    return row.reshape(-1, 2).numpy()


def pair_curves(positions: np.ndarray, pair: int, dim: int = DIM) -> tuple[np.ndarray, np.ndarray]:
    """The sine and the cosine of one pair at each position, (T,) → two of (T,)."""
    table = sinusoidal_encoding(torch.from_numpy(positions), dim, dtype=torch.float64)
    return table[:, 2 * pair].numpy(), table[:, 2 * pair + 1].numpy()


class SinusoidalHeatMap(LiveFigure):
    """PE(p) as a table of colours, as clock hands, and as two waves (Vaswani et al. 2017, arXiv:1706.03762)."""

    description = (
        "The sinusoidal encoding of width 32. Left: the table, one row a position and one column a dimension; the "
        "line marks the position p, the frame the two columns of pair k. Top right: the same row as sixteen clocks. "
        "A hand is (sine, cosine), so it starts at twelve and turns clockwise; the thick blue clock is pair k. "
        "Bottom right: the two columns of pair k as waves. Slide p and watch fast hands spin while slow ones hardly "
        "move; slide k to see one wavelength after another."
    )

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "p": slider("position p", 20, 0, LAST_POSITION),
            "pair": slider("pair k", 3, 0, PAIRS - 1),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        def one_turn(state: State) -> dict[str, Any]:
            return {"p": min(round(wavelengths(DIM)[state["pair"]].item()), LAST_POSITION)}

        return {
            "Start (p = 0)": lambda state: {"p": 0},
            "One turn of pair k, if it fits": one_turn,
            "Fastest pair": lambda state: {"pair": 0},
            "Slowest pair": lambda state: {"pair": PAIRS - 1},
        }

    def build(self) -> list[Artist]:
        table = sinusoidal_encoding(LAST_POSITION + 1, DIM).numpy()
        heat = self.figure.add_axes((0.085, 0.13, 0.36, 0.83))
        picture = heat.imshow(table, cmap="PuOr_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        heat.set(xlabel="dimension", ylabel="position p", xticks=range(0, DIM, 8), yticks=range(0, 128, 16))
        scale = self.figure.colorbar(picture, cax=self.figure.add_axes((0.455, 0.13, 0.015, 0.83)), ticks=(-1, 0, 1))
        scale.outline.set_visible(False)
        scale.ax.tick_params(length=0)  # a dash beside −1 would read as a second minus
        cursor = heat.axhline(0, color=BLACK, linewidth=1.6)
        self.cursor = cursor
        frame = Rectangle((0, -1.5), 2, LAST_POSITION + 3, fill=False, edgecolor=BLUE, linewidth=2.5, clip_on=False)
        frame.set_path_effects([matplotlib.patheffects.withStroke(linewidth=4.5, foreground="white")])
        self.frame = heat.add_patch(frame)

        wall = self.figure.add_axes((0.545, 0.5, 0.445, 0.42))
        rows = PAIRS // CLOCKS_IN_A_ROW
        wall.set(xlim=(-0.5, CLOCKS_IN_A_ROW - 0.5), ylim=(rows * 1.4 - 0.4, -0.75))
        wall.set_axis_off()
        turn = np.linspace(0, 2 * np.pi, 61)
        self.squash = _squash(wall)
        self.ring = RADIUS * np.stack([np.sin(turn), -np.cos(turn) * self.squash], axis=-1)
        pairs = np.arange(PAIRS)
        self.centres = np.stack([pairs % CLOCKS_IN_A_ROW, 1.4 * (pairs // CLOCKS_IN_A_ROW)], axis=-1).astype(float)
        wall.add_collection(LineCollection(list(self.centres[:, None] + self.ring), color=GREY, linewidth=0.8))
        for pair, (x, y) in enumerate(self.centres):
            wall.text(x, y + 0.54, str(pair), ha="center", va="top", fontsize=8, color=GREY)
        wall.text(-0.5, -0.75, "clock of each pair k, at position p", va="bottom", color=GREY)
        self.hands = wall.add_collection(LineCollection([], color=BLACK, linewidth=1.8, capstyle="round"))
        (self.chosen,) = wall.plot([], [], color=BLUE, linewidth=3)

        waves = self.figure.add_axes((0.58, 0.13, 0.4, 0.27))
        waves.set(xlim=(0, LAST_POSITION), ylim=(-1.12, 1.12), xticks=range(0, 128, 16), yticks=(-1, 0, 1))
        waves.set(xlabel="position p")
        (self.sine,) = waves.plot([], [], color=BLUE, label="2k: sine")
        (self.cosine,) = waves.plot([], [], color=VERMILLION, linestyle="--", label="2k+1: cosine")
        waves.legend(loc="lower left", bbox_to_anchor=(-0.08, 1.0), ncols=2, borderaxespad=0, columnspacing=1)
        self.now = waves.axvline(0, color=BLACK, linestyle=":", linewidth=1.2)
        (self.at_sine,) = waves.plot([], [], "o", color=BLUE, markersize=7, clip_on=False)
        (self.at_cosine,) = waves.plot([], [], "s", color=VERMILLION, markersize=6, clip_on=False)
        lines = [self.sine, self.cosine, self.now, self.at_sine, self.at_cosine]
        return [self.frame, cursor, self.hands, self.chosen, *lines]

    def move(self, *, p: int, pair: int) -> str:
        tips = hand_tips(p)
        self.cursor.set_ydata([p, p])
        self.frame.set_x(2 * pair - 0.5)
        ends = self.centres + 0.9 * RADIUS * tips * [1, -self.squash]
        self.hands.set_segments(list(np.stack([self.centres, ends], axis=1)))
        self.chosen.set_data(*(self.centres[pair] + self.ring).T)
        positions = np.arange(0, LAST_POSITION + 0.1, 0.25)
        sine, cosine = pair_curves(positions, pair)
        self.sine.set_data(positions, sine)
        self.cosine.set_data(positions, cosine)
        self.now.set_xdata([p, p])
        sin, cos = tips[pair]
        self.at_sine.set_data([p], [sin])
        self.at_cosine.set_data([p], [cos])
        wave = wavelengths(DIM)[pair].item()
        return (
            f"Position {p}, width {DIM}. Pair {pair} (dimensions {2 * pair} and {2 * pair + 1}) has the wavelength "
            f"{wave:,.1f} positions and has made {p / wave:.2f} turns: sine {sin:z.3f}, cosine {cos:z.3f}. "
            f"{int((wavelengths(DIM) <= p).sum())} of {PAIRS} pairs have completed a turn."
        )


def _squash(axes: Axes) -> float:
    """How many units of y are as high as a unit of x is wide, so that clocks come out round."""
    box = axes.get_window_extent()
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return (box.width / abs(right - left)) / (box.height / abs(top - bottom))
