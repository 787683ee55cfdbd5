"""Two pairs of a sinusoidal encoding as one point that walks on a torus: as a doughnut, and flat."""

import math
from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import PolyCollection

from posenc_lib.sinusoidal import wavelengths
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREEN, GREY, ORANGE, LiveFigure, State, choice, slider

__all__ = ["TorusWalk", "distance_from_start", "doughnut", "near_returns", "pair_angles"]

DIM = 8  # four pairs, at 1, 0.1, 0.01 and 0.001 rad a position
LAST_POSITION = 800
NEAR = 0.05  # a near-return comes as close as this to the start, in the four numbers of two pairs
STEPS = 10  # of the drawn curve, between two positions
RING, TUBE = 1.0, 0.45  # radii of the doughnut
ELEVATION, AZIMUTH = math.radians(48), math.radians(-60)  # where it is seen from
TO_VIEWER = np.array(
    [math.cos(ELEVATION) * math.cos(AZIMUTH), math.cos(ELEVATION) * math.sin(AZIMUTH), math.sin(ELEVATION)]
)
RIGHT = np.array([-math.sin(AZIMUTH), math.cos(AZIMUTH), 0.0])
UP = np.cross(TO_VIEWER, RIGHT)


def pair_angles(positions: np.ndarray, pair: int, *, dim: int = DIM) -> np.ndarray:
    """Angles of pairs `pair` and `pair` + 1 at each position, not reduced to one turn, (T,) → (T, 2)."""
    frequencies = 2 * math.pi / wavelengths(dim)[pair : pair + 2].numpy()
    return np.asarray(positions, dtype=float)[:, None] * frequencies


def distance_from_start(positions: np.ndarray, pair: int, *, dim: int = DIM) -> np.ndarray:
    """‖PE(p) − PE(0)‖ over the four numbers of two neighbouring pairs, (T,) → (T,): a chord is 2·sin(angle/2)."""
    return np.linalg.norm(2 * np.sin(pair_angles(positions, pair, dim=dim) / 2), axis=-1)


def near_returns(last: int, pair: int, *, dim: int = DIM) -> np.ndarray:
    """The positions 1 … last, one a turn of the slower hand at most, that come within NEAR of the start, (N,)."""
    turn = wavelengths(dim)[pair + 1].item()
    candidates = np.round(turn * np.arange(1, int((last + 0.5) / turn) + 1)).astype(int)
    return candidates[distance_from_start(candidates, pair, dim=dim) < NEAR]


def doughnut(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of a doughnut in three dimensions, and the outward normals there.

    Args:
        angles: around the tube, then around the ring, in radians, shape (…, 2).

    Returns:
        Points and normals, each of shape (…, 3).
    """
    tube, ring = angles[..., 0], angles[..., 1]
    outward = np.stack([np.cos(ring), np.sin(ring), np.zeros_like(ring)], axis=-1)
    normal = np.cos(tube)[..., None] * outward
    normal[..., 2] += np.sin(tube)
    return RING * outward + TUBE * normal, normal


class TorusWalk(LiveFigure):
    """The walk of two neighbouring pairs: a doughnut, the flat square, and the distance from the start."""

    description = (
        "At width 8, two neighbouring pairs are two angles, and two angles are a point on a torus. Left: the torus "
        "drawn as a doughnut, the fast pair around the tube and the slow one around the ring; what lies behind is "
        "thin. Right: the flat torus itself, a square whose left and right edges are one, and whose top and bottom "
        "are one. Below: how far the point is from its start, in four dimensions, with near-returns as triangles. "
        "Slide p; small dots are whole positions, the line runs between them. Choose other pairs or a longer trail."
    )
    background_controls = ("pair",)

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        trails = [("20", 20), ("63", 63), ("200", 200), ("all", LAST_POSITION)]
        return {
            "p": slider("position p", 100, 0, LAST_POSITION),
            "pair": choice("pairs", 0, [("0 and 1", 0), ("1 and 2", 1), ("2 and 3", 2)]),
            "trail": choice("trail (positions)", 63, trails),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        return {
            "One turn of pair 1 (p = 63)": lambda state: {"p": 63, "pair": 0, "trail": 63},
            "Near-return (p = 377)": lambda state: {"p": 377, "pair": 0, "trail": 63},
            "The whole walk": lambda state: {"p": LAST_POSITION, "trail": LAST_POSITION},
        }

    def build(self) -> list[Artist]:
        solid = self.figure.add_axes((0.0, 0.36, 0.55, 0.64), aspect="equal", xlim=(-1.55, 1.55), ylim=(-1.3, 1.3))
        solid.set_axis_off()
        solid.add_collection(_surface(), autolim=False)
        self.flat = self.figure.add_axes((0.645, 0.425, 0.2756, 0.49), aspect="equal")
        ticks, names = (-math.pi, 0, math.pi), ("−π", "0", "π")
        self.flat.set(xlim=(-math.pi, math.pi), ylim=(-math.pi, math.pi))
        self.flat.set(xticks=ticks, xticklabels=names, yticks=ticks, yticklabels=names)
        for side in self.flat.spines.values():
            side.set(visible=True, color=GREY)
        self.flat.xaxis.labelpad = 0

        self.strip = self.figure.add_axes((0.085, 0.125, 0.885, 0.145))
        self.strip.set(xlim=(0, LAST_POSITION), ylim=(0, 2.95), xticks=range(0, LAST_POSITION + 1, 100), yticks=(0, 2))
        self.strip.set(xlabel="position p", ylabel="distance")
        self.marks: list[Artist] = []
        self.now = self.strip.axvline(0, color=BLACK, linewidth=1.2, linestyle=":")
        (self.there,) = self.strip.plot([], [], "o", color=BLACK, mfc=ORANGE, markersize=8, clip_on=False)

        moving: list[Artist] = [self.now, self.there]
        (self.behind,) = solid.plot([], [], color=BLUE, linewidth=0.6, alpha=0.55)
        (self.before,) = solid.plot([], [], color=BLUE, linewidth=1.8)
        (self.flat_line,) = self.flat.plot([], [], color=BLUE, linewidth=1.2)
        moving += [self.behind, self.before, self.flat_line]
        self.dots, self.starts, self.points = [], [], []
        for axes in (solid, self.flat):
            self.dots += axes.plot([], [], "o", color=BLACK, markersize=2)
            self.starts += axes.plot([], [], "D", color=GREEN, mfc="none", mew=2, markersize=9)
            self.points += axes.plot([], [], "o", color=BLACK, mfc=ORANGE, markersize=9)
        self.starts[0].set_data(*_project(doughnut(np.zeros((1, 2)))[0]))
        self.starts[1].set_data([0], [0])
        keys = [self.points[0], self.starts[0]]
        where = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.99), "ncols": 2, "handlelength": 1}
        self.flat.legend(keys, ["PE(p)", "start, p = 0"], **where)
        return [*moving, *self.dots, *self.starts, *self.points]

    def draw_background(self, *, p: int, pair: int, trail: int) -> list[Artist]:
        for mark in self.marks:
            mark.remove()
        self.flat.set(xlabel=f"angle of pair {pair}, mod 2π", ylabel=f"angle of pair {pair + 1}, mod 2π")
        every = np.arange(0, LAST_POSITION + 0.1, 0.5)
        self.marks = self.strip.plot(every, distance_from_start(every, pair), color=GREY, linewidth=0.8)
        returns = near_returns(LAST_POSITION, pair)
        for position, distance in zip(returns, distance_from_start(returns, pair), strict=True):
            self.marks += self.strip.plot(position, distance, "^", color=GREEN, markersize=7, clip_on=False)
            label = self.strip.text(position, 3.0, f"p = {position}: {distance:.4f}", ha="center", color=GREEN)
            label.set(va="bottom", fontsize=8)
            self.marks.append(label)
        return [self.flat.xaxis, self.flat.yaxis, *self.marks]

    def move(self, *, p: int, pair: int, trail: int) -> str:
        first = max(0, p - trail)
        curve = pair_angles(np.linspace(first, p, STEPS * (p - first) + 1), pair)
        points, normals = doughnut(curve)
        seen = normals @ TO_VIEWER > 0
        x, y = _project(points)
        self.before.set_data(np.where(seen, x, np.nan), y)
        self.behind.set_data(np.where(seen, np.nan, x), y)
        reduced = _reduced(curve)
        jumps = np.abs(np.diff(reduced, axis=0)).max(axis=1, initial=0) > math.pi
        reduced[1:][jumps] = np.nan  # the square's edges are one: no line across
        self.flat_line.set_data(*reduced.T)

        whole = pair_angles(np.arange(first, p + 1), pair)
        solid_dots, normals = doughnut(whole)
        self.dots[0].set_data(*_project(solid_dots[normals @ TO_VIEWER > 0]))
        self.dots[1].set_data(*_reduced(whole).T)
        self.points[0].set_data(*_project(solid_dots[-1:]))
        self.points[1].set_data(*_reduced(whole[-1:]).T)
        distance = distance_from_start(np.array([p]), pair)[0]
        self.now.set_xdata([p, p])
        self.there.set_data([p], [distance])
        turns = whole[-1] / (2 * math.pi)
        closes = wavelengths(DIM)[pair + 1].item()
        here = ", a near-return" if p in near_returns(LAST_POSITION, pair) else ""
        return (
            f"Position {p}, pairs {pair} and {pair + 1} of width {DIM}: {turns[0]:.3f} and {turns[1]:.4f} turns, "
            f"{distance:.4f} from the start{here}. The curve closes at {closes:,.2f}, between two whole positions. "
            f"Trail: from {first}{' (all)' if trail == LAST_POSITION else f' (the last {trail})'}."
        )


def _project(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Screen coordinates of points in three dimensions, (N, 3) → two of (N,), in parallel projection."""
    return points @ RIGHT, points @ UP


def _reduced(angles: np.ndarray) -> np.ndarray:
    """Angles brought to [−π, π)."""
    return (angles + math.pi) % (2 * math.pi) - math.pi


def _surface() -> PolyCollection:
    """The doughnut in grey, its far patches drawn first."""
    tube, ring = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, 2 * np.pi, 61), indexing="ij")
    points, normals = doughnut(np.stack([tube, ring], axis=-1))
    corners = [points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]]
    patches = np.stack(corners, axis=2).reshape(-1, 4, 3)
    facing = (normals[:-1, :-1] @ TO_VIEWER).ravel()
    order = np.argsort((patches @ TO_VIEWER).mean(axis=1))
    order = order[facing[order] > -0.15]  # what faces away is hidden
    grey = 0.80 + 0.17 * np.clip(facing[order], 0, 1)
    screen = np.stack([patches @ RIGHT, patches @ UP], axis=-1)
    return PolyCollection(screen[order], facecolors=[(g, g, g) for g in grey], edgecolors="#C4C4C4", linewidths=0.3)
