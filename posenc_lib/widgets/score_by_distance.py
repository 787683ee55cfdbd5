"""Score against distance for chosen q and k: RoPE does not simply decay, it depends on what q and k are."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist
from torch import Tensor

from posenc_lib.base import check_choice
from posenc_lib.rope import apply_rope, rope_cos_sin, rope_frequencies
from posenc_lib.widgets.live_figure import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    LiveFigure,
    State,
    choice,
    slider,
)

__all__ = ["KINDS", "ScoreByDistance", "score_by_distance", "score_curves"]

KINDS = ("equal", "random", "tuned")
LAST_DISTANCE = 4096
DRAWS = 8
SEED = 0
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def score_by_distance(q: Tensor, k: Tensor, distances: Tensor, *, base: float = 10_000.0) -> Tensor:
    """Cosine between each q, turned by every distance, and its k, left at position 0.

    Args:
        q, k: one vector a row, shape (N, d), d even.
        distances: m − n, shape (T,).
        base: of the frequencies.

    Returns:
        qᵀR_(n−m)k / (‖q‖‖k‖), shape (N, T), in [−1, 1].
    """
    cos, sin = rope_cos_sin(distances, rope_frequencies(q.shape[-1], base=base), dtype=q.dtype)
    q1, q2, k1, k2 = q[:, 0::2], q[:, 1::2], k[:, 0::2], k[:, 1::2]
    scores = (q1 * k1 + q2 * k2) @ cos.T + (q1 * k2 - q2 * k1) @ sin.T  # each pair's (turned q)·k, summed
    return scores / (q.norm(dim=-1) * k.norm(dim=-1))[:, None]


def chosen_vectors(kind: str, *, offset: int, head_dim: int, base: float) -> tuple[Tensor, Tensor]:
    """q and k of one kind, each (N, head_dim) float64.

    Args:
        kind: "equal", q = k = ones, one row; "random", Gaussian with a fixed seed, DRAWS rows; "tuned", q = ones and
            k = R_offset q, one row.
        offset: the distance a tuned key is built for.
        head_dim: d, even.
        base: of the frequencies that tune the key.

    Raises:
        ValueError: an unknown kind.
    """
    check_choice("kind", kind, KINDS)
    if kind == "random":
        seeded = torch.Generator().manual_seed(SEED)
        q, k = torch.randn(2, DRAWS, head_dim, generator=seeded, dtype=torch.float64)
        return q, k
    q = torch.ones(1, head_dim, dtype=torch.float64)
    if kind == "equal":
        return q, q
    cos, sin = rope_cos_sin(torch.tensor([offset]), rope_frequencies(head_dim, base=base), dtype=q.dtype)
    return q, apply_rope(q[:, None, None], cos, sin)[:, 0, 0]


@lru_cache(maxsize=16)  # a dragged cursor asks for the same curves again
def score_curves(kind: str, *, offset: int, head_dim: int, base: float) -> np.ndarray:
    """Scores of the chosen vectors at distances 0 … LAST_DISTANCE, shape (N, LAST_DISTANCE + 1), read-only."""
    q, k = chosen_vectors(kind, offset=offset, head_dim=head_dim, base=base)
    curves = score_by_distance(q, k, torch.arange(LAST_DISTANCE + 1), base=base).numpy()
    curves.flags.writeable = False
    return curves


def first_negative(curve: np.ndarray) -> int | None:
    """The first distance at which a curve is below zero, if there is one."""
    below = np.flatnonzero(curve < 0)
    return int(below[0]) if below.size else None


class ScoreByDistance(LiveFigure):
    """The score of chosen q and k at every distance: it falls, does nothing, or peaks far away."""

    description = (
        "How well a query and a key fit, as their distance m − n grows, for three choices of q and k. Equal vectors: "
        "the score trends down but wavers, and it goes below zero. Random vectors: eight draws and their mean, with "
        "an expectation of zero at every distance. A key tuned as R_offset q: the same curve as for equal vectors, "
        "moved so that it peaks exactly at the offset. So RoPE does not make near keys win by itself. Slide the "
        "distance to read the score; change the offset, the base and the head width to reshape the curve."
    )
    background_controls = ("kind", "offset", "base", "head_dim")

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "distance": slider("distance m − n", 64, 0, LAST_DISTANCE),
            "kind": choice("q and k", "equal", [("equal", "equal"), ("random", "random"), ("tuned", "tuned")]),
            "offset": slider("offset if tuned", 300, 0, LAST_DISTANCE),
            "base": choice("base", 1e4, [("100", 100.0), ("10 000", 1e4), ("500 000", 5e5)]),
            "head_dim": choice("head width d", 128, [(str(width), width) for width in (16, 32, 64, 128, 256)]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        published = {"base": 1e4, "head_dim": 128}
        return {
            "Equal: first below zero": lambda state: {"kind": "equal", "distance": 1707, **published},
            "Random: nothing decays": lambda state: {"kind": "random"},
            "Tuned to 300": lambda state: {"kind": "tuned", "offset": 300, "distance": 300},
        }

    def build(self) -> list[Artist]:
        self.axes = self.figure.add_axes((0.105, 0.13, 0.865, 0.77))
        self.axes.set(xlim=(0, LAST_DISTANCE), ylim=(-1.05, 1.05), xticks=range(0, LAST_DISTANCE + 1, 512))
        self.axes.set_yticks((-1, -0.5, 0, 0.5, 1))
        self.axes.set(xlabel="distance m − n (positions)", ylabel="score q·k ÷ (‖q‖‖k‖)")
        self.axes.axhline(0, color=GREY, linewidth=0.8)
        self.curves: list[Artist] = []
        cursor = self.axes.axvline(0, color=BLACK, linestyle=":", linewidth=1.2)
        (dot,) = self.axes.plot([], [], "o", color=BLACK, mfc="none", mew=2, markersize=10, clip_on=False)
        self.cursor, self.dot = cursor, dot
        return [cursor, dot]

    def draw_background(self, *, distance: int, kind: str, offset: int, base: float, head_dim: int) -> list[Artist]:
        for artist in self.curves:
            artist.remove()
        self.controls["offset"].disabled = kind != "tuned"
        curves = score_curves(kind, offset=offset, head_dim=head_dim, base=base)
        mean = curves.mean(axis=0)
        plot = self.axes.plot
        shown: list[Artist] = []
        if kind == "random":
            draws = plot(curves.T, color=ORANGE, linewidth=0.6, alpha=0.7)
            draws[0].set_label(f"{DRAWS} random q and k")
            shown += draws + plot(mean, color=BLUE, linewidth=1.5, label="their mean (expected: 0)")
        else:
            label = "q = k" if kind == "equal" else f"k = R{str(offset).translate(SUBSCRIPTS)} q"
            shown += plot(mean, color=BLUE, linewidth=1.5, label=label)
            peak = int(mean.argmax())
            shown += plot(peak, mean[peak], "^", color=GREEN, markersize=9, clip_on=False, label=f"highest, at {peak}")
            crossing = first_negative(mean)
            if kind == "equal" and crossing is not None:
                label = f"first below 0, at {crossing}"
                shown += plot(crossing, mean[crossing], "s", color=VERMILLION, markersize=7, label=label)
        legend = self.axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, borderaxespad=0.2)
        self.curves = [*shown, legend]
        return [*shown, *self.axes.spines.values(), legend]  # a curve begins on the axis, and lies under it

    def move(self, *, distance: int, kind: str, offset: int, base: float, head_dim: int) -> str:
        curves = score_curves(kind, offset=offset, head_dim=head_dim, base=base)
        mean = curves.mean(axis=0)
        self.cursor.set_xdata([distance, distance])
        self.dot.set_data([distance], [mean[distance]])
        peak = int(mean.argmax())
        if kind == "random":
            fact = f"{DRAWS} draws, from {curves[:, distance].min():z.3f} to {curves[:, distance].max():z.3f} here"
            here = f"mean score {mean[distance]:z.3f}, expected 0"
        elif kind == "tuned":
            fact = f"key built for offset {offset}"
            here = f"score {mean[distance]:z.3f}"
        else:
            crossing = first_negative(mean)
            fact = f"never below 0 up to {LAST_DISTANCE}" if crossing is None else f"first below 0 at {crossing}"
            here = f"score {mean[distance]:z.3f}"
        return (
            f"q and k {kind}, head width {head_dim}, base {base:,.0f}. At distance {distance}: {here}. "
            f"Highest {mean[peak]:z.3f} at distance {peak}; {fact}."
        )
