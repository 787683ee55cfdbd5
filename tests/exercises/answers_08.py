"""Lesson 8: right answers in several forms, and wrong ones with the misconception each must be told."""

import itertools
import math
from fractions import Fraction

import numpy as np
import torch

from posenc_lib.tiny_lm import stored_results
from tests.exercises.answers import Answers

# parameters-by-hand

HEADS, LAYERS, WIDTH, WINDOW = 12, 12, 768, 1024
TABLE, BUCKETS, KERNELS = WINDOW * WIDTH, 32 * HEADS, 2 * HEADS

PARAMETERS = Answers(
    right={
        "list": [TABLE, BUCKETS, KERNELS, 0, 0],
        "tuple of floats": (786432.0, 384.0, 24.0, 0.0, 0.0),
        "NumPy": np.array([TABLE, BUCKETS, KERNELS, 0, 0]),
        "float32": torch.tensor([TABLE, BUCKETS, KERNELS, 0, 0], dtype=torch.float32),
        "made": [torch.zeros(*shape).numel() for shape in ((1024, 768), (12, 32), (2, 12), (0,), (0,))],
    },
    wrong={
        "in each layer": ("every-layer", [TABLE, LAYERS * BUCKETS, LAYERS * KERNELS, 0, 0]),
        "for one head": ("one-head", [TABLE, 32, 2, 0, 0]),
        "slopes and frequencies": ("formulas-counted", [TABLE, BUCKETS, KERNELS, WIDTH // HEADS // 2, HEADS]),
        "slopes alone": ("other", [TABLE, BUCKETS, KERNELS, 0, HEADS]),
        "table of a head": ("table", [TABLE // HEADS, BUCKETS, KERNELS, 0, 0]),
        "table in each layer": ("table", [LAYERS * TABLE, BUCKETS, KERNELS, 0, 0]),
        "a bias for each distance": ("buckets", [TABLE, WINDOW * HEADS, KERNELS, 0, 0]),
        "128 buckets": ("buckets", [TABLE, 128 * HEADS, KERNELS, 0, 0]),
        "one number a kernel": ("kernels", [TABLE, BUCKETS, HEADS, 0, 0]),
        "in all": ("type", TABLE + BUCKETS + KERNELS),
        "three of them": ("shape", [TABLE, BUCKETS, KERNELS]),
    },
)

# sliding-window: window by window, where the check takes all characters at once


def windows_added(added, start_of=lambda number, window, stride: number * stride):
    """The mean over what windows add; `added` gives the places of a window that count, by its number."""

    def mean(loss, window, stride):
        losses = []
        for number in itertools.count():
            start = start_of(number, window, stride)
            if start + window > len(loss):
                return sum(losses) / len(losses)
            losses += [loss[start + place, start].item() for place in added(number, window, stride)]

    return mean


def new_ones(number, window, stride):
    return range(window - stride if number else 0, window)


def all_places(number, window, stride):
    return range(window)


def last_places(number, window, stride):
    return range(window - stride, window)


def later_windows(number, window, stride):
    return range(window - stride, window) if number else range(0)


def first_places(number, window, stride):
    return range(stride)


def character_by_character(loss, window, stride):
    losses = []
    for i in range(len(loss)):
        start = 0
        while start + window <= i:
            start += stride
        losses.append(float(loss[i, start]))
    return np.mean(losses)


def started(start_of):
    """Character by character, each with the start that a wrong rule gives."""
    return lambda loss, window, stride: np.mean([loss[i, start_of(i, window, stride)] for i in range(len(loss))])


def start(i, window, stride):
    return max(0, math.ceil((i + 1 - window) / stride)) * stride


def side_by_side(loss, window, stride):
    return started(lambda i, window, stride: i - i % window)(loss, window, stride)


def weighted_twice(loss, window, stride):
    return (windows_added(new_ones)(loss, window, stride) * len(loss) + loss[0, 0]) / (len(loss) + 1)


SLIDING = Answers(
    right={
        "window by window": windows_added(new_ones),
        "character by character": character_by_character,
        "list": lambda *inputs: [windows_added(new_ones)(*inputs)],
        "float32": lambda *inputs: torch.tensor(windows_added(new_ones)(*inputs), dtype=torch.float32),
        "NumPy": lambda loss, window, stride: np.mean([loss[i, start(i, window, stride)] for i in range(len(loss))]),
    },
    wrong={
        "side by side": ("side-by-side", side_by_side),
        "short windows": ("side-by-side", lambda loss, window, stride: side_by_side(loss, stride, stride)),
        "every place": ("every-place", windows_added(all_places)),
        "last places alone": ("start-left-out", windows_added(last_places)),
        "first window left out": ("start-left-out", windows_added(later_windows)),
        "by one": ("slides-by-one", lambda loss, window, stride: windows_added(new_ones)(loss, window, 1)),
        "whole text": ("whole-text", lambda loss, window, stride: loss[:, 0].mean()),
        "one too early": ("one-late", started(lambda i, window, stride: min(i, start(i + 1, window, stride)))),
        "one too late": ("one-late", started(lambda i, window, stride: start(i - 1, window, stride))),
        "rows and columns": ("transposed", lambda loss, *sizes: windows_added(new_ones)(loss.mT, *sizes)),
        "sum": ("sum", lambda loss, window, stride: len(loss) * character_by_character(loss, window, stride)),
        "first places": ("not-once", windows_added(first_places)),
        "one twice": ("not-once", weighted_twice),
        "windows backwards": ("other", started(lambda i, window, stride: max(0, i - window + stride))),
        "each loss": ("shape", lambda loss, window, stride: loss[:, 0]),
    },
)

# told-apart: by all comparisons of two seeds, where the check looks at the ends


def apart(a, b):
    if all(x < y for x, y in itertools.product(a, b)):
        return 1
    return -1 if all(x > y for x, y in itertools.product(a, b)) else 0


def sign(x):
    return int(np.sign(x))


def seed_by_seed(a, b):
    signs = {sign(y - x) for x, y in zip(a, b, strict=False)}
    return signs.pop() if len(signs) == 1 else 0


def half_spreads(a, b):
    gap = np.mean(b) - np.mean(a)
    return sign(gap) if abs(gap) > (np.ptp(a) + np.ptp(b)) / 2 else 0


def either_spread(a, b):
    gap = np.mean(b) - np.mean(a)
    return sign(gap) if abs(gap) > max(np.ptp(a), np.ptp(b)) else 0


def ties_count(a, b):
    if all(x <= y for x, y in itertools.product(a, b)):
        return 1
    return -1 if all(x >= y for x, y in itertools.product(a, b)) else 0


APART = Answers(
    right={
        "all comparisons": apart,
        "sorted": lambda a, b: int(sorted(a)[-1] < sorted(b)[0]) - int(sorted(b)[-1] < sorted(a)[0]),
        "NumPy": lambda a, b: np.sign(np.subtract.outer(b, a)).mean().astype(int),
        "list": lambda a, b: [apart(a, b)],
        "tensor": lambda a, b: torch.tensor(apart(a, b), dtype=torch.bfloat16),
        "float": lambda a, b: float(apart(a, b)),
    },
    wrong={
        "means": ("means", lambda a, b: sign(np.mean(b) - np.mean(a))),
        "best seeds": ("best-seed", lambda a, b: sign(min(b) - min(a))),
        "seed by seed": ("pairs-of-seeds", seed_by_seed),
        "higher is better": ("higher-is-better", lambda a, b: -apart(a, b)),
        "whether": ("which-way", lambda a, b: abs(apart(a, b))),
        "half of the spreads": ("half-spread", half_spreads),
        "larger than a spread": ("mean-against-spread", either_spread),
        "ties": ("ties", ties_count),
        "a alone": ("one-direction", lambda a, b: max(apart(a, b), 0)),
        "always": ("not-fair", lambda a, b: 1),
        "never": ("other", lambda a, b: 0),
        "truth value": ("bool", lambda a, b: max(a) < min(b)),
        "both ends": ("shape", lambda a, b: (max(a), min(b))),
    },
)

# passed-by-chance: by listing orders, where the check counts them


def share_of_orders(n):
    """Of all ways to give n of 2n places to one encoding, those at one end."""
    ways = list(itertools.combinations(range(2 * n), n))
    at_one_end = [way for way in ways if way in ((*range(n),), (*range(n, 2 * n),))]
    return len(at_one_end) / len(ways)


def both(chance):
    return [next(n for n in range(1, 20) if chance(n) < 0.01), 28 * chance(3)]


CHANCE = Answers(
    right={
        "listed": both(share_of_orders),
        "tuple": (5, 2.8),
        "fractions": [Fraction(5), 28 * Fraction(2, 20)],
        "NumPy": np.array([5, 2.8], dtype=np.float32),
        "tensor": torch.tensor([5, 2.8]),
    },
    wrong={
        "one direction": ("one-direction", both(lambda n: share_of_orders(n) / 2)),
        "tosses of a coin": ("pairs-of-seeds", both(lambda n: 2 / 2**n)),
        "n² tosses": ("pairs-of-seeds", both(lambda n: 2 / 2 ** (n * n))),
        "orders within": ("orders-within", both(lambda n: 2 / math.perm(2 * n))),
        "seeds in all": ("in-all", [10, 2.8]),
        "56 pairs": ("ordered-pairs", [5, 56 / 10]),
        "one pair": ("chance", [5, 0.1]),
        "one too few": ("off-by-one", [4, 2.8]),
        "below 0.1": ("seeds", [3, 2.8]),
        "eight": ("other", [5, 0.8]),
        "one number": ("type", 5),
    },
)

# encoding-for-the-job: from what is stored, whatever it is


def seeds(name, length=2048, part="last_32"):
    return np.array(stored_results("bake_off")["encodings"][name]["text"][part][str(length)]["seeds"])


def margin(rival, **where):
    return seeds(rival, **where).min() - seeds("alibi", **where).max()


MARGIN = min(margin(rival) for rival in ("rope", "t5", "sinusoidal"))

JOB = Answers(
    right={
        "tuple": ("b", MARGIN),
        "list": ["B", round(float(MARGIN), 2)],
        "tensor": ("b", torch.tensor([MARGIN])),
        "array": ("b", np.array([[MARGIN]], dtype=np.float32)),
    },
    wrong={
        "RoPE": ("popular", ("a", MARGIN)),
        "T5": ("good-at-home", ("c", margin("t5", length=128))),
        "sinusoidal": ("defined-everywhere", ("d", 0)),
        "difference of means": ("means", ("b", seeds("t5").mean() - seeds("alibi").mean())),
        "largest margin": ("best-seed", ("b", seeds("t5").max() - seeds("alibi").min())),
        "whole windows": ("whole", ("b", margin("t5", part="whole"))),
        "farthest rival": ("another-rival", ("b", max(margin("rope"), margin("sinusoidal")))),
        "at home": ("at-home", ("b", margin("t5", length=128))),
        "the loss": ("level", ("b", seeds("alibi").max())),
        "negative": ("other", ("b", -MARGIN)),
        "name": ("no-choice", ("alibi", MARGIN)),
        "number alone": ("type", MARGIN),
    },
)

ANSWERS = {
    "parameters-by-hand": PARAMETERS,
    "sliding-window": SLIDING,
    "told-apart": APART,
    "passed-by-chance": CHANCE,
    "encoding-for-the-job": JOB,
}
