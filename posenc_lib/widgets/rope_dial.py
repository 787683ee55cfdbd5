"""The two-vector dial: one pair of dimensions of q and k, turned by their positions; only the offset counts."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from posenc_lib.rope import rope_angles, rope_frequencies
from posenc_lib.widgets.live_figure import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    VERMILLION,
    LiveFigure,
    State,
    choice,
    slider,
)

__all__ = ["DialState", "RopeDial", "dial_state", "shift_scores"]

HEAD_DIM = 8  # four pairs, at 1, 0.1, 0.01 and 0.001 rad a position for base 10 000
LAST_POSITION = 64
SHIFTS = np.linspace(0, LAST_POSITION, 8 * LAST_POSITION + 1)


class DialState(NamedTuple):
    """Angles in radians, not reduced to one turn; the score is the dot product of the two turned arrows."""

    frequency: float
    q_angle: float
    k_angle: float
    offset_angle: float
    score: float


def pair_frequency(pair: int, *, base: float, head_dim: int) -> torch.Tensor:
    """ω_k in radians a position, (1,), float64; ValueError if the head has no such pair."""
    frequencies = rope_frequencies(head_dim, base=base)
    if not 0 <= pair < len(frequencies):
        raise ValueError(f"pair must lie from 0 to {len(frequencies) - 1}, got {pair}")
    return frequencies[pair, None]


def dial_state(m: float, n: float, *, pair: int, base: float, head_dim: int = HEAD_DIM) -> DialState:
    """Turn q = (1, 0) by position m and k = (1, 0) by position n, in one pair of dimensions.

    Args:
        m, n: positions of query and key.
        pair: k, 0 … head_dim/2 − 1.
        base: of the frequencies, ω_k = base^(−2k/head_dim).
        head_dim: the width that is turned; even.

    Raises:
        TypeError, ValueError: as `rope_frequencies`; no such pair.
    """
    frequency = pair_frequency(pair, base=base, head_dim=head_dim)
    at = torch.tensor([m, n, m - n], dtype=torch.float64)
    q_angle, k_angle, offset_angle = rope_angles(at, frequency)[:, 0].tolist()
    score = math.cos(q_angle) * math.cos(k_angle) + math.sin(q_angle) * math.sin(k_angle)
    return DialState(frequency.item(), q_angle, k_angle, offset_angle, score)


def shift_scores(
    m: float, n: float, shifts: np.ndarray, *, pair: int, base: float, head_dim: int = HEAD_DIM
) -> tuple[np.ndarray, np.ndarray]:
    """The score after moving both positions by each shift, and after moving q's alone; shifts (S,) → two of (S,)."""
    frequency = pair_frequency(pair, base=base, head_dim=head_dim)
    moved = torch.from_numpy(shifts)

    def arrows(position: float, shift: torch.Tensor) -> torch.Tensor:
        angles = rope_angles(position + shift, frequency)
        return torch.cat([angles.cos(), angles.sin()], dim=-1)

    q, k = arrows(m, moved), arrows(n, moved)
    k_unmoved = arrows(n, torch.zeros_like(moved))
    return (q * k).sum(-1).numpy(), (q * k_unmoved).sum(-1).numpy()


class RopeDial(LiveFigure):
    """q and k as arrows turned by their positions, and the score beside them (RoFormer, arXiv:2104.09864)."""

    description = (
        "One pair of dimensions of a query q and a key k. Both start as the arrow (1, 0), and each is turned by its "
        "position times the pair's frequency: q by m·ω, k by n·ω. The arc between them is the offset angle (m − n)·ω "
        "and the score is their dot product. Slide m or n and the score changes. Slide 'move both by Δ' and both "
        "arrows turn together: the score stands still (the flat line), while moving q alone would follow the dashed "
        "curve. Choose another pair or base to change how fast the arrows turn."
    )

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "m": slider("query position m", 20, 0, LAST_POSITION),
            "n": slider("key position n", 8, 0, LAST_POSITION),
            "shift": slider("move both by Δ", 0, 0, LAST_POSITION),
            "pair": slider("pair k", 1, 0, HEAD_DIM // 2 - 1),
            "base": choice("base", 1e4, [("10", 10.0), ("100", 100.0), ("10 000", 1e4), ("500 000", 5e5)]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        return {
            "Same position": lambda state: {"n": state["m"]},
            "About a quarter turn": lambda state: {"m": 24, "n": 8, "pair": 1, "base": 1e4},
            "Move both by 10": lambda state: {"shift": 10},
        }

    def build(self) -> list[Artist]:
        dial = self.figure.add_axes((0.085, 0.13, 0.435, 0.7733))
        dial.set(xlim=(-1.65, 1.65), ylim=(-1.65, 1.65), aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        dial.set(xlabel="first dimension of the pair", ylabel="second dimension of the pair")
        turn = np.linspace(0, 2 * np.pi, 181)
        dial.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.8)
        dial.axhline(0, color="#D0D0D0", linewidth=0.8, zorder=0)
        dial.axvline(0, color="#D0D0D0", linewidth=0.8, zorder=0)
        (self.arc,) = dial.plot([], [], color=BLACK, linewidth=1.5)
        self.q_arrow = _Arrow(dial, "q", BLUE, linewidth=2, linestyle="-")
        self.k_arrow = _Arrow(dial, "k", VERMILLION, linewidth=5, linestyle=(0, (2, 0.6)))  # wider: seen under q
        dial.text(0.1, 1.8, "offset angle (m − n)·ω = ", ha="right", va="center")
        self.angle_text = dial.text(0.1, 1.8, "", va="center")

        trace = self.figure.add_axes((0.635, 0.13, 0.335, 0.64))
        trace.set(xlim=(0, LAST_POSITION), ylim=(-1.08, 1.08), xticks=range(0, LAST_POSITION + 1, 16))
        trace.set_yticks((-1, -0.5, 0, 0.5, 1))
        trace.set(xlabel="shift Δ (positions)", ylabel="score q·k")
        trace.axhline(0, color="#D0D0D0", linewidth=0.8, zorder=0)
        (self.alone,) = trace.plot([], [], color=ORANGE, linestyle="--", label="q alone moves by Δ")
        (self.together,) = trace.plot([], [], color=BLACK, linewidth=2, label="q and k move by Δ")
        (self.marker,) = trace.plot([], [], "o", color=BLACK, markersize=9, clip_on=False)
        handles = [self.together, self.alone]
        trace.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.03, 1.0), borderaxespad=0)
        k_arrow, q_arrow = self.k_arrow, self.q_arrow
        dial_artists = [self.arc, *k_arrow.lines, *q_arrow.lines, k_arrow.label, q_arrow.label, self.angle_text]
        return [*dial_artists, self.alone, self.together, self.marker]

    def move(self, *, m: int, n: int, shift: int, pair: int, base: float) -> str:
        now = dial_state(m + shift, n + shift, pair=pair, base=base)
        together, alone = shift_scores(m, n, SHIFTS, pair=pair, base=base)
        degrees = math.degrees(now.offset_angle)

        self.q_arrow.point(now.q_angle)
        self.k_arrow.point(now.k_angle)
        x, y = math.cos(now.q_angle), math.sin(now.q_angle)
        self.q_arrow.label.set_position((1.2 * x, 1.2 * y))  # outside the circle
        # The arc leaves out whole turns, which the title counts; k's label goes to the side away from it.
        opening = math.remainder(now.offset_angle, 2 * math.pi)
        x, y, side = math.cos(now.k_angle), math.sin(now.k_angle), math.copysign(1, opening)
        aside = side * 0.19
        self.k_arrow.label.set_position((0.6 * x + aside * y, 0.6 * y - aside * x))
        arc = now.k_angle + np.linspace(0, opening, 60)
        self.arc.set_data(0.3 * np.cos(arc), 0.3 * np.sin(arc))
        self.angle_text.set_text(f"{degrees:z.1f}°".replace("-", "−"))
        self.alone.set_data(SHIFTS, alone)
        self.together.set_data(SHIFTS, together)
        self.marker.set_data([shift], [now.score])
        return (
            f"q at position {m + shift}, k at position {n + shift}: offset {m - n}. "
            f"Pair {pair} turns {now.frequency:.3g} rad a position (base {base:,.0f}, head width {HEAD_DIM}), "
            f"so the arrows are {now.offset_angle:z.3f} rad = {degrees:z.1f}° apart. Score {now.score:z.3f}."
        )


class _Arrow:
    """A unit arrow from the origin, with its label."""

    def __init__(self, axes: Axes, name: str, color: str, **style: Any) -> None:
        (shaft,) = axes.plot([], [], color=color, solid_capstyle="butt", **style)
        (tip,) = axes.plot([], [], color=color, markersize=11 + style["linewidth"])
        self.lines = [shaft, tip]
        self.label = axes.text(0, 0, name, color=color, ha="center", va="center", fontweight="bold")

    def point(self, angle: float) -> None:
        shaft, tip = self.lines
        x, y = math.cos(angle), math.sin(angle)
        shaft.set_data([0, 0.88 * x], [0, 0.88 * y])
        tip.set_data([0.92 * x], [0.92 * y])
        tip.set_marker((3, 0, math.degrees(angle) - 90))  # a triangle, turned the arrow's way
