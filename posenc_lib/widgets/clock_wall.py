"""The clock wall: every pair of a head as a clock whose hand has turned by p·ω_k at position p."""

import math
from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D

from posenc_lib.rope import rope_angles, rope_frequencies
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, HEIGHT, ORANGE, WIDTH, LiveFigure, State, choice, slider

__all__ = ["ClockWall", "turns_completed", "wall_wavelengths"]

LAST_POSITION = 32_768
COLUMNS = {16: 4, 32: 6, 48: 6, 64: 8}  # head width → clocks in a row
WALL_HEIGHT = 326  # of HEIGHT pixels, below the legend
LABEL_HEIGHT = 16


def wall_wavelengths(head_dim: int, *, base: float) -> np.ndarray:
    """Positions each pair takes for one turn, λ_k = 2π/ω_k, shape (head_dim/2,)."""
    return (2 * math.pi / rope_frequencies(head_dim, base=base)).numpy()


def turns_completed(position: float, head_dim: int, *, base: float) -> np.ndarray:
    """Turns each pair has made at a position, p·ω_k/2π, fractional, shape (head_dim/2,)."""
    angles = rope_angles(torch.tensor([position], dtype=torch.float64), rope_frequencies(head_dim, base=base))
    return (angles[0] / (2 * math.pi)).numpy()


class ClockWall(LiveFigure):
    """The hands of all pairs at one position, in order of wavelength."""

    description = (
        "Every pair of dimensions of a head is a clock whose hand turns by ω_k radians a position, from the fast pair "
        "0 at the top left to the slowest at the bottom right; λ is the number of positions one turn takes. A blue "
        "disc with a solid ring has completed at least one turn; an orange wedge in a dashed ring has not, so the "
        "model has seen only part of that circle up to here. Slide the position p (arrow keys move it by one), or "
        "change the head width and the base: a larger base slows every pair but pair 0."
    )
    background_controls = ("head_dim", "base")

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "p": slider("position p", 128, 0, LAST_POSITION),
            "head_dim": choice("head width d", 32, [(str(width), width) for width in (16, 32, 48, 64)]),
            "base": choice("base", 1e4, [("10", 10.0), ("100", 100.0), ("1 000", 1e3), ("10 000", 1e4)]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        def half_turn_of_slowest(state: State) -> dict[str, Any]:
            return {"p": round(wall_wavelengths(state["head_dim"], base=state["base"])[-1] / 2)}

        return {
            "Start (p = 0)": lambda state: {"p": 0},
            "Pair 0 past one turn (p = 7)": lambda state: {"p": 7},
            "Half a turn of the slowest": half_turn_of_slowest,
        }

    def build(self) -> list[Artist]:
        self.wall = self.figure.add_axes((0, 0, 1, WALL_HEIGHT / HEIGHT), xlim=(0, WIDTH), ylim=(WALL_HEIGHT, 0))
        self.wall.set_axis_off()
        # ring and fill of the pairs that have completed a turn, and of those that have not
        self.done = PolyCollection([], facecolor="#CFE4F3", edgecolor=BLUE, linewidth=1.8)
        self.wedge = PolyCollection([], facecolor="#FBE3B0", edgecolor="none")
        self.ring = LineCollection([], color=ORANGE, linewidth=1.8, linestyle=(0, (2.5, 1.5)))
        self.hands = LineCollection([], color=BLACK, linewidth=2.2, capstyle="round")
        artists = [self.done, self.wedge, self.ring, self.hands]
        for artist in artists:
            self.wall.add_collection(artist, autolim=False)
        keys = [
            Line2D([], [], marker="o", color="none", mfc="#CFE4F3", mec=BLUE, mew=1.8, ms=10),
            Line2D([], [], color=ORANGE, linewidth=1.8, linestyle=(0, (2.5, 1.5))),
        ]
        labels = ["has turned at least once", "first turn not complete"]
        self.figure.legend(
            keys, labels, loc="upper left", ncols=2, columnspacing=1.2, handlelength=1.6, bbox_to_anchor=(0, 1.0)
        )
        self.figure.text(0.985, 0.945, "pair k: wavelength λ in positions", ha="right", va="center", color=GREY)
        self.ticks = self.wall.add_collection(LineCollection([], color=GREY, linewidth=1), autolim=False)
        self.labels: list[Artist] = []
        return artists

    def draw_background(self, *, p: int, head_dim: int, base: float) -> list[Artist]:
        waves = wall_wavelengths(head_dim, base=base)
        pairs = np.arange(len(waves))
        columns = COLUMNS[head_dim]
        cell = np.array([WIDTH / columns, WALL_HEIGHT / math.ceil(len(waves) / columns)])
        self.radius = min(0.4 * cell[0], (cell[1] - LABEL_HEIGHT) / 2 - 4)
        self.centres = cell * (np.stack([pairs % columns, pairs // columns], axis=-1) + 0.5)
        self.centres[:, 1] -= LABEL_HEIGHT / 2
        start = self.radius * np.array([[1.0, 0.0], [1.12, 0.0]])
        self.ticks.set_segments(list(self.centres[:, None] + start))  # where a hand points at p = 0
        for label in self.labels:
            label.remove()
        self.labels = [
            self.wall.text(x, y + self.radius + 4, f"{pair}: {_short(wave)}", ha="center", va="top", fontsize=8)
            for pair, wave, (x, y) in zip(pairs, waves, self.centres, strict=True)
        ]
        return [self.ticks, *self.labels]

    def move(self, *, p: int, head_dim: int, base: float) -> str:
        turns = turns_completed(p, head_dim, base=base)
        done = turns >= 1
        circle = self._arc(np.ones(1))
        self.done.set_verts(self.centres[done, None] + circle)
        self.ring.set_segments(list(self.centres[~done, None] + circle))
        wedges = np.concatenate([np.zeros((np.sum(~done), 1, 2)), self._arc(turns[~done])], axis=1)
        self.wedge.set_verts(self.centres[~done, None] + wedges)
        tips = self._arc(turns)[:, -1]
        self.hands.set_segments(list(np.stack([self.centres, self.centres + 0.9 * tips], axis=1)))
        return (
            f"Position {p:,}, head width {head_dim}, base {base:,.0f}: {done.sum()} of {len(turns)} pairs have "
            f"completed a turn. Pair 0 has made {turns[0]:,.2f} turns, the slowest (pair {len(turns) - 1}) "
            f"{turns[-1]:.4f}."
        )

    def _arc(self, turns: np.ndarray) -> np.ndarray:
        """Points on a ring from 0 to each number of turns, anticlockwise from the right: (N,) → (N, 49, 2)."""
        angles = 2 * np.pi * turns[:, None] * np.linspace(0, 1, 49)
        return self.radius * np.stack([np.cos(angles), -np.sin(angles)], axis=-1)  # y runs down the wall


def _short(wavelength: float) -> str:
    if wavelength < 100:
        return f"λ={wavelength:.1f}"
    return f"λ={wavelength:.0f}" if wavelength < 10_000 else f"λ={wavelength / 1000:.1f}k"
