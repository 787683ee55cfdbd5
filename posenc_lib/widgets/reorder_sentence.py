"""Reorder a sentence: without an encoding attention's pattern and outputs move with the words, with one they do not."""

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import ipywidgets
import matplotlib
import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.colors import Normalize
from torch import Tensor

from posenc_lib import PositionEncoding, make_encoding
from posenc_lib.attention import attention
from posenc_lib.widgets.kept_text import KeptText
from posenc_lib.widgets.live_figure import (
    BLACK,
    BLUE,
    GREY,
    HEIGHT,
    VERMILLION,
    WIDTH,
    LiveFigure,
    State,
    choice,
    slider,
)

__all__ = ["WORDS", "ReorderSentence", "Reordering", "read_sentence", "reorder"]

WORDS = ("the", "cat", "sat", "on", "the", "mat")
ORDERS = tuple(itertools.permutations(range(len(WORDS))))  # from the sentence itself, 0, to its reverse, 719
SIZES = {"dim": 32, "num_heads": 4, "head_dim": 8, "max_len": len(WORDS)}
NAMES = {"none": "none", "sinusoidal": "sinusoidal", "learned": "learned", "rope": "RoPE", "alibi": "ALiBi"}
SEED = 0
FOLLOWS = 1e-9  # float64: rounding alone stays far below
MASKED = "#DDDDDD"
LARGEST_MOVE = 2.1  # no output moves further, whatever the order, encoding, mask and depth
LEFT, SIDE, TOP = 62, 246, 62  # of the heat map, in pixels


class Reordering(NamedTuple):
    """A reordered sentence against the original, row and column i for the word that stands at place i.

    Attributes:
        order: the original place of each word, (T,).
        pattern: attention weights of the last layer's first head, (T, T).
        expected: the original's weights for the same pairs of words, P A Pᵀ, (T, T).
        moved: how far each word's output lies from the original one, as a share of that one's length, (T,).
    """

    order: tuple[int, ...]
    pattern: np.ndarray
    expected: np.ndarray
    moved: np.ndarray

    @property
    def pattern_gap(self) -> float:
        """The largest difference between pattern and expected."""
        return np.abs(self.pattern - self.expected).max()


@lru_cache(maxsize=1)
def _embeddings_and_weights() -> tuple[Tensor, Tensor]:
    """One vector a word, (T, D), the same for both "the", and W_Q, W_K, W_V of two layers, (2, 3, D, D)."""
    seeded = torch.Generator().manual_seed(SEED)
    width = SIZES["dim"]
    vectors = torch.randn(len(WORDS), width, generator=seeded, dtype=torch.float64)
    weights = torch.randn(2, 3, width, width, generator=seeded, dtype=torch.float64) / width**0.5
    return vectors[[WORDS.index(word) for word in WORDS]], weights


@lru_cache(maxsize=len(NAMES))
def _encoding(name: str) -> PositionEncoding:
    with torch.random.fork_rng(devices=[]):  # a notebook's own draws do not depend on its widgets
        encoding = make_encoding(name, **SIZES).requires_grad_(False)
    for table in encoding.parameters():
        table.normal_(std=0.5, generator=torch.Generator().manual_seed(SEED))  # as if trained: made to matter
    return encoding


@lru_cache(maxsize=64)  # the original order is read for every other one
def read_sentence(order: tuple[int, ...], *, encoding: str, causal: bool, layers: int) -> tuple[Tensor, Tensor]:
    """Read the words in the given order with one or two layers of attention.

    Args:
        order: the original place of the word at each place.
        encoding: one of none, sinusoidal, learned, rope, alibi.
        causal: whether a word sees only those before it and itself.
        layers: 1 or 2; the second reads the first's input plus its output.

    Returns:
        The last layer's output (T, D) and its first head's weights (T, T), float64.
    """
    x, weights = _embeddings_and_weights()
    position = _encoding(encoding)
    x = position.add(x[list(order)][None], torch.arange(len(order)))
    out = torch.zeros_like(x)
    for w_qkv in weights[:layers]:
        x = x + out
        q, k, v = ((x @ w).unflatten(-1, (SIZES["num_heads"], SIZES["head_dim"])).transpose(1, 2) for w in w_qkv)
        out, pattern = attention(q, k, v, encoding=position, causal=causal, return_weights=True)
        out = out.transpose(1, 2).flatten(-2)
    return out[0], pattern[0, 0]


def reorder(index: int, *, encoding: str, causal: bool, layers: int) -> Reordering:
    """Compare the sentence in order ORDERS[index] with the original; see `read_sentence` for the other arguments."""
    order = ORDERS[index]
    options = {"encoding": encoding, "causal": causal, "layers": layers}
    original, pattern = read_sentence(ORDERS[0], **options)
    original, pattern = original[list(order)], pattern[list(order)][:, list(order)]
    out, new_pattern = read_sentence(order, **options)
    moved = (out - original).norm(dim=-1) / original.norm(dim=-1)
    return Reordering(order, new_pattern.numpy(), pattern.numpy(), moved.numpy())


class ReorderSentence(LiveFigure):
    """The attention pattern of a reordered sentence, and how far each word's output moved."""

    description = (
        "One sentence in any of its 720 orders; the number before a word is its original place. Left, who attends to "
        "whom: a cell is the weight in this order, the small square in it the weight the same two words had in the "
        "original order, so where the pattern follows the words no square shows. Right, how far each word's output "
        "vector moved, as a share of its length. Without an encoding every bar is 0. Choose an encoding, or a causal "
        "mask (masked cells are grey), with one layer of attention or two."
    )

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        return {
            "order": slider("order of the words", ORDERS.index((0, 5, 2, 3, 4, 1)), 0, len(ORDERS) - 1),
            "encoding": choice("encoding", "none", [(label, name) for name, label in NAMES.items()]),
            "causal": choice("causal mask", False, [("off", False), ("on", True)]),
            "layers": choice("attention layers", 1, [("1", 1), ("2", 2)]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        early = ORDERS.index((0, 2, 1, 3, 4, 5))
        causal = {"order": early, "encoding": "none", "causal": True}
        return {
            "Original order": lambda state: {"order": 0},
            "Swap cat and mat": lambda state: {"order": ORDERS.index((0, 5, 2, 3, 4, 1))},
            "Reverse": lambda state: {"order": len(ORDERS) - 1},
            "Causal, 1 layer: swap cat and sat": lambda state: {**causal, "layers": 1},
            "Causal, 2 layers": lambda state: {**causal, "layers": 2},
        }

    def build(self) -> list[Artist]:
        places = range(len(WORDS))
        bottom, height = 1 - (TOP + SIDE) / HEIGHT, SIDE / HEIGHT
        heat = self.figure.add_axes((LEFT / WIDTH, bottom, SIDE / WIDTH, height), xticks=[], yticks=[])
        heat.spines[:].set_visible(True)
        heat.set_title("row: query, column: key", fontsize=9, pad=22)
        colours = {"cmap": matplotlib.colormaps["Blues"].with_extremes(bad=MASKED), "norm": Normalize(0, 1)}
        self.cells = heat.imshow(np.zeros((len(WORDS), len(WORDS))), **colours)
        columns, rows = np.meshgrid(places, places)
        self.squares = heat.scatter(columns, rows, s=90, c=np.zeros(columns.size), marker="s", linewidth=0, **colours)
        scale = self.figure.add_axes((LEFT / WIDTH, 32 / HEIGHT, SIDE / WIDTH, 9 / HEIGHT))
        self.figure.colorbar(self.cells, cax=scale, orientation="horizontal", ticks=(0, 0.5, 1))
        scale.set_xticklabels(["weight 0", "0.5", "1"])

        bars = self.figure.add_axes((392 / WIDTH, bottom, 216 / WIDTH, height), ylim=heat.get_ylim(), yticks=[])
        bars.set(xlim=(0, LARGEST_MOVE), xticks=(0, 0.5, 1, 1.5, 2), xlabel="output moved by (share of its length)")
        self.bars = bars.barh(places, np.zeros(len(WORDS)), 0.6, color=VERMILLION)
        self.verdict = bars.add_artist(KeptText(0, -0.75, fontweight="bold", va="bottom"))
        self.words = [
            [heat.add_artist(KeptText(-0.6, place, ha="right", va="center")) for place in places],
            [heat.add_artist(KeptText(place, -0.65, ha="center", va="bottom", fontsize=8)) for place in places],
            [bars.add_artist(KeptText(-0.05, place, ha="right", va="center")) for place in places],
        ]
        self.shares = [bars.text(0, place, "", va="center") for place in places]
        return [self.cells, self.squares, *self.bars, self.verdict, *itertools.chain(*self.words), *self.shares]

    def move(self, *, order: int, encoding: str, causal: bool, layers: int) -> str:
        now = reorder(order, encoding=encoding, causal=causal, layers=layers)
        visible = np.tri(len(WORDS), dtype=bool) if causal else np.ones_like(now.pattern, bool)
        was_visible = visible[np.ix_(now.order, now.order)]
        self.cells.set_data(np.where(visible, now.pattern, np.nan))
        self.squares.set_array(np.where(was_visible, now.expected, np.nan).ravel())
        for texts in self.words:
            for place, (text, source) in enumerate(zip(texts, now.order, strict=True)):
                text.set_text(f"{source} {WORDS[source]}")
                text.set(color=BLUE if source != place else BLACK, fontweight="bold" if source != place else "normal")
        for bar, text, share in zip(self.bars, self.shares, now.moved, strict=True):
            bar.set_width(share)
            text.set_text(f"{share:.2f}")
            text.set_x(share + 0.03)

        follows = now.pattern_gap < FOLLOWS and now.moved.max() < FOLLOWS
        verdict = "follows" if follows else "does not follow"
        self.verdict.set_text(f"{verdict} the words")
        self.verdict.set_color(GREY if follows else VERMILLION)
        sentence = " ".join(WORDS[source] for source in now.order)
        return (
            f"Order {order}: “{sentence}”. Encoding {NAMES[encoding]}, {'causal' if causal else 'no'} mask, "
            f"{layers} attention layer{'s' * (layers > 1)}: attention {verdict} the words. Largest change of a weight "
            f"between two words {now.pattern_gap:.2f}, of an output {now.moved.max():.2f} of its length; "
            f"{(now.moved < FOLLOWS).sum()} of {len(WORDS)} outputs stand still."
        )
