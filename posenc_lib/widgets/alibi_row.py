"""One row of ALiBi's attention on equal contents: how far a head sees, and the content that outvotes the penalty."""

from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.artist import Artist

from posenc_lib.alibi import alibi_slopes
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

__all__ = ["AlibiRow", "attention_row", "half_mass_distance"]

LAST_POSITION = 2047
MOST_HEADS = 16
LOWEST = 1e-6  # of the weights in the picture
TICKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 2000)


def attention_row(position: int, slope: float, *, bonus: float = 0.0, bonus_at: int = 0) -> np.ndarray:
    """Causal attention of one query over keys of equal content, but for one.

    Args:
        position: of the query, i ≥ 0: keys stand 0 … i tokens back.
        slope: m of the head.
        bonus: how much higher than all others one key's content scores, in logits.
        bonus_at: how many tokens back that key stands; beyond `position` there is none.

    Returns:
        Weights by distance, softmax of −m·distance (+ bonus), shape (position + 1,), float64.
    """
    scores = -slope * np.arange(position + 1, dtype=np.float64)
    scores[bonus_at : bonus_at + 1] += bonus
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def half_mass_distance(weights: np.ndarray) -> int:
    """The fewest tokens back within which half of a row's weight lies."""
    return int(np.argmax(np.cumsum(weights) >= 0.5))


class AlibiRow(LiveFigure):
    """All heads' slopes beside one head's row of weights (Press et al. 2022, section 3)."""

    description = (
        "Left: the slopes of all heads, from steep at the top to flat at the bottom; squares are those that a number "
        "of heads that is no power of two adds. Right: how the chosen head spreads its attention over keys of equal "
        "content. Blue dots hold half of it, orange rings the rest; the dashed line parts them. One key, the diamond, "
        "may score higher by its content: raise its bonus and watch it outvote the penalty. With bonus 0 it is a key "
        "like the others. The triangle ends the row: slide the query position and steep heads do not notice."
    )
    background_controls = ("heads",)

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "bonus_at": slider("one key, tokens back", 20, 0, LAST_POSITION),
            "position": slider("query position i", 511, 0, LAST_POSITION),
            "heads": choice("number of heads H", 8, [(str(heads), heads) for heads in (4, 8, 12, MOST_HEADS)]),
            "head": slider("head h", 3, 1, MOST_HEADS),
            "bonus": slider("its content bonus c", 0, 0, 20),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        steep, flat = {"heads": 8, "head": 1}, {"heads": 8, "head": 8}
        return {
            "Head 1 sees a step": lambda state: {**steep, "position": LAST_POSITION, "bonus": 0},
            "Head 8 sees far": lambda state: {**flat, "position": LAST_POSITION, "bonus": 0},
            "A tie: c = m · 20": lambda state: {**steep, "position": LAST_POSITION, "bonus_at": 20, "bonus": 10},
            "Content wins: c = 11": lambda state: {**steep, "position": LAST_POSITION, "bonus_at": 20, "bonus": 11},
            "12 heads: head 9": lambda state: {"heads": 12, "head": 9, "bonus": 0},
        }

    def build(self) -> list[Artist]:
        self.left = self.figure.add_axes((0.12, 0.13, 0.225, 0.725))
        self.left.set(xlim=(0, MOST_HEADS + 1), ylim=(2**-8.7, 2**0.3), xlabel="head h", xticks=(1, 4, 8, 12, 16))
        self.left.set_yscale("log", base=2)
        self.left.set_yticks([2.0**-e for e in range(9)], ["1", *(f"1/{2**e}" for e in range(1, 9))])
        self.left.set_ylabel("slope m", labelpad=2)
        self.left.minorticks_off()

        self.right = self.figure.add_axes((0.455, 0.13, 0.515, 0.725))
        self.right.set(ylim=(LOWEST, 1.6), yscale="log", xlabel="tokens back, i − j", ylabel="weight")
        self.right.set_xscale("function", functions=(lambda d: np.log1p(np.maximum(d, -0.9)), np.expm1))
        self.right.set(xlim=(-0.3, LAST_POSITION + 300), xticks=TICKS)
        self.right.minorticks_off()

        plot = self.right.plot
        (self.near,) = plot([], [], "o", color=BLUE, markersize=4, label="half the weight")
        (self.far,) = plot([], [], "o", color=ORANGE, mfc="none", markersize=3, label="the rest")
        (self.plain,) = plot([], [], "D", color=GREY, mfc="none", markersize=8, label="without c")
        (self.key,) = plot([], [], "D", color=VERMILLION, markersize=7, label="key with c")
        (self.first,) = plot([], [], "^", color=BLACK, markersize=6, clip_on=False, label="first key")
        self.query = self.right.text(0.94, 0.85, "", ha="right", transform=self.right.transAxes)
        self.edge = self.right.axvline(0, color=BLACK, linestyle="--", linewidth=1)
        (self.mark,) = self.left.plot([], [], "o", color=BLACK, mfc="none", mew=2, markersize=12)
        handles = [self.near, self.far, self.key, self.plain, self.first]
        self.right.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(-0.1, 1.0),
            ncols=3,
            borderaxespad=0.1,
            columnspacing=0.8,
            handletextpad=0.2,
        )
        self.dots: list[Artist] = []
        return [self.far, self.near, self.edge, self.first, self.plain, self.key, self.query, self.mark]

    def draw_background(self, *, heads: int, **state: Any) -> list[Artist]:
        for artist in self.dots:
            artist.remove()
        slopes = alibi_slopes(heads).numpy()
        power = 2 ** (heads.bit_length() - 1)
        numbers = np.arange(1, heads + 1)
        self.dots = self.left.plot(numbers[:power], slopes[:power], "o", color=BLUE, label="slope of head h")
        if heads > power:
            self.dots += self.left.plot(
                numbers[power:], slopes[power:], "s", color=GREEN, label=f"added for H = {heads}"
            )
        legend = self.left.legend(loc="lower left", bbox_to_anchor=(-0.15, 1.0), borderaxespad=0.1)
        self.dots.append(legend)
        return self.dots

    def move(self, *, bonus_at: int, position: int, heads: int, head: int, bonus: int) -> str:
        shown = min(head, heads)
        slope = alibi_slopes(heads)[shown - 1].item()
        weights = attention_row(position, slope, bonus=bonus, bonus_at=bonus_at)
        without = attention_row(position, slope)
        half = half_mass_distance(weights)
        distances = np.arange(position + 1)
        others = distances != bonus_at
        for artist, part in ((self.near, distances <= half), (self.far, distances > half)):
            artist.set_data(distances[part & others], weights[part & others])
        self.key.set_data(distances[~others], weights[~others])
        self.plain.set_data(distances[~others], without[~others])
        self.query.set_text(f"i = {position}")
        self.first.set_data([position], [LOWEST])
        self.edge.set_xdata([half + 0.5, half + 0.5])
        self.mark.set_data([shown], [slope])

        name = f"Head {shown} of {heads}" + (f" (there is no head {head})" if head > heads else "")
        plainly = f" ({half_mass_distance(without)} without the bonus)" if bonus and bonus_at <= position else ""
        if bonus_at > position:
            key = f"No key stands {bonus_at} back yet."
        else:
            key = (
                f"The key {bonus_at} back, with bonus {bonus} against a penalty of {slope * bonus_at:.4g}, takes "
                f"{_share(weights[bonus_at])}" + (f" instead of {_share(without[bonus_at])}." if bonus else ".")
            )
        return (
            f"{name}, slope {slope:.4g}, query at {position}: half of the attention lies within distance {half}"
            f"{plainly}. {key}"
        )


def _share(weight: float) -> str:
    return f"{weight:.1%}" if weight >= 0.001 else f"{weight:.1e}"
