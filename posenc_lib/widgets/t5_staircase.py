"""T5's buckets as a staircase over key − query, with a cursor that shows which distances share one learned bias."""

import math
from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist

from posenc_lib.base import check_choice
from posenc_lib.t5 import t5_buckets
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREY, VERMILLION, LiveFigure, State, choice, slider

__all__ = ["DIRECTIONS", "T5Staircase", "bucket_members", "staircase"]

DIRECTIONS = ("causal", "bidirectional", "sign-blind")
LAST_DISTANCE = 300
TICKS = (-256, -64, -32, -16, -8, 0, 8, 16, 32, 64, 256)


def staircase(relative: np.ndarray, direction: str, *, num_buckets: int = 32, max_distance: int = 128) -> np.ndarray:
    """The bucket of each relative position key − query, in the shape of `relative`.

    Args:
        relative: integers.
        direction: "causal" or "bidirectional", as T5 has them, or "sign-blind", the wrong reading: all buckets for
            |key − query|.
        num_buckets, max_distance: as for `t5_buckets`.

    Raises:
        TypeError, ValueError: as `t5_buckets`; an unknown direction.
    """
    check_choice("direction", direction, DIRECTIONS)
    relative = torch.from_numpy(-np.abs(relative) if direction == "sign-blind" else relative)
    options = {"num_buckets": num_buckets, "max_distance": max_distance}
    return t5_buckets(relative, bidirectional=direction == "bidirectional", **options).numpy()


def bucket_members(
    relative: int, direction: str, *, num_buckets: int = 32, max_distance: int = 128
) -> list[tuple[float, float]]:
    """The relative positions that share a bucket with this one, as runs (first, last); ±inf where one has no end."""
    edge = max_distance + 1  # from max_distance on, nothing changes
    places = np.arange(-edge, edge + 1)
    buckets = staircase(places, direction, num_buckets=num_buckets, max_distance=max_distance)
    shared = buckets == buckets[np.clip(relative, -edge, edge) + edge]
    starts = np.flatnonzero(np.diff(shared.astype(int), prepend=0) == 1)
    ends = np.flatnonzero(np.diff(shared.astype(int), append=0) == -1)
    firsts = [-math.inf if places[start] == -edge else int(places[start]) for start in starts]
    lasts = [math.inf if places[end] == edge else int(places[end]) for end in ends]
    return list(zip(firsts, lasts, strict=True))


class T5Staircase(LiveFigure):
    """Bucket against key − query (Raffel et al. 2020, arXiv:1910.10683)."""

    description = (
        "The bucket of every relative position j − i (key minus query). The axis is linear up to 16 and logarithmic "
        "beyond, so both halves of T5's rule are visible: one distance a bucket near by, equal ratios farther out, "
        "and a last step without end. Slide the cursor: the thick line is the set of positions that share its "
        "bucket, and so its learned bias. Change the number of buckets, the maximum distance and the direction; "
        "'sign-blind' is the wrong reading that gives left and right one bucket."
    )
    background_controls = ("direction", "num_buckets", "max_distance")

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "relative": slider("key − query, j − i", -40, -LAST_DISTANCE, LAST_DISTANCE),
            "direction": choice("direction", "bidirectional", [(name, name) for name in DIRECTIONS]),
            "num_buckets": choice("buckets", 32, [(str(number), number) for number in (8, 16, 32, 64)]),
            "max_distance": choice("max distance", 128, [(str(number), number) for number in (64, 128, 256)]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        original = {"num_buckets": 32, "max_distance": 128}
        return {
            "Next token": lambda state: {"relative": 1},
            "The last bucket, causal (113)": lambda state: {"relative": -113, "direction": "causal", **original},
            "The last bucket, both ways (91)": lambda state: {
                "relative": -91,
                "direction": "bidirectional",
                **original,
            },
            "Sign-blind": lambda state: {"relative": 3, "direction": "sign-blind"},
        }

    def build(self) -> list[Artist]:
        self.axes = self.figure.add_axes((0.085, 0.14, 0.89, 0.74))
        self.axes.set_xscale("symlog", base=2, linthresh=16, linscale=2)
        self.axes.set_xlim(-LAST_DISTANCE, LAST_DISTANCE)
        self.axes.set_xticks(TICKS, [_signed(tick) for tick in TICKS])
        self.axes.set_xticks([], minor=True)
        self.axes.set(xlabel="key − query, j − i (tokens)", ylabel="bucket")
        self.axes.axvline(0, color="#D0D0D0", linewidth=0.8, zorder=0)
        (self.steps,) = self.axes.plot([], [], color=BLUE, linewidth=1.4, label="bucket")
        self.hidden = self.axes.text(0.75, 0.5, "hidden by\nthe causal mask", color=GREY, ha="center", va="center")
        self.hidden.set_transform(self.axes.transAxes)
        (self.shared,) = self.axes.plot([], [], color=VERMILLION, linewidth=6, solid_capstyle="butt")
        self.shared.set_label("positions in the cursor's bucket")
        self.cursor = self.axes.axvline(0, color=BLACK, linestyle=":", linewidth=1.2)
        (self.dot,) = self.axes.plot([], [], "o", color=BLACK, mfc="none", mew=1.6, markersize=9, clip_on=False)
        self.dot.set_label("cursor")
        handles = [self.steps, self.shared, self.dot]
        self.axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.2)
        return [self.shared, self.cursor, self.dot]

    def draw_background(self, *, relative: int, direction: str, num_buckets: int, max_distance: int) -> list[Artist]:
        last = 0 if direction == "causal" else LAST_DISTANCE
        places = np.arange(-LAST_DISTANCE, last + 1)
        buckets = staircase(places, direction, num_buckets=num_buckets, max_distance=max_distance)
        edges = np.repeat(np.append(places - 0.5, last + 0.5), 2)[1:-1]  # a step runs half a token to either side
        self.steps.set_data(edges, np.repeat(buckets, 2))
        self.hidden.set_visible(direction == "causal")
        self.axes.set_ylim(-0.04 * num_buckets, 1.02 * num_buckets)
        self.axes.set_yticks(range(0, num_buckets + 1, num_buckets // 8))
        return [self.axes.yaxis, self.steps, self.hidden]

    def move(self, *, relative: int, direction: str, num_buckets: int, max_distance: int) -> str:
        options = {"num_buckets": num_buckets, "max_distance": max_distance}
        bucket = int(staircase(np.array([relative]), direction, **options)[0])
        members = bucket_members(relative, direction, **options)
        runs = [(max(first, -LAST_DISTANCE) - 0.5, min(last, LAST_DISTANCE) + 0.5, math.nan) for first, last in members]
        self.shared.set_data(np.ravel(runs), np.full(3 * len(runs), bucket))
        self.cursor.set_xdata([relative, relative])
        self.dot.set_data([relative], [bucket])
        where = f"{abs(relative)} behind" if relative < 0 else f"{relative} ahead of" if relative else "at"
        hidden = " A causal mask hides this key." if direction == "causal" and relative > 0 else ""
        return (
            f"{direction.capitalize()}, {num_buckets} buckets, max distance {max_distance}. "
            f"Key {where} the query (j − i = {_signed(relative)}): bucket {bucket}. "
            f"It holds j − i {' and '.join(_words(*run) for run in members)}.{hidden}"
        )


def _signed(number: float) -> str:
    return str(number).replace("-", "−")


def _words(first: float, last: float) -> str:
    if first == last:
        return f"= {_signed(first)}"
    if math.isinf(first):
        return f"≤ {_signed(last)}"
    return f"≥ {_signed(first)}" if math.isinf(last) else f"= {_signed(first)} … {_signed(last)}"
