"""Lesson 6: right answers in several forms, and wrong ones with the misconception each must be told."""

import math
from fractions import Fraction

import numpy as np
import torch

from tests.exercises.answers import Answers

# t5-buckets-by-hand: by the formula, where the check has the numbers written out

RELATIVE = [-3, 3, 0, -8, 8, 16, -40, 40]


def side(distance, buckets, furthest=32, to_whole=math.floor, last=True):
    exact = buckets // 2
    if distance < exact:
        return distance
    place = (buckets - exact) * math.log(distance / exact) / math.log(furthest / exact)
    bucket = exact + to_whole(place + 1e-9)
    return min(bucket, buckets - 1) if last else bucket


def encoder(relative, buckets=8, **how):
    return side(abs(relative), buckets, **how) + (8 if relative > 0 else 0)


BY_HAND = [encoder(r) for r in RELATIVE]
BUCKETS = Answers(
    right={
        "list": BY_HAND,
        "tuple of float": tuple(map(float, BY_HAND)),
        "NumPy": np.array(BY_HAND),
        "int tensor": torch.tensor(BY_HAND),
        "bfloat16": torch.tensor(BY_HAND).bfloat16(),
        "fractions": [Fraction(bucket) for bucket in BY_HAND],
    },
    wrong={
        "query − key": ("sign", [encoder(-r) for r in RELATIVE]),
        "sign dropped": ("sign-blind", [encoder(-abs(r)) for r in RELATIVE]),
        "all 16 to the distance": ("one-direction", [side(abs(r), 16) for r in RELATIVE]),
        "decoder": ("causal", [side(max(-r, 0), 16) for r in RELATIVE]),
        "16 a side": ("not-halved", [encoder(r, 16) for r in RELATIVE]),
        "no last bucket": ("no-end", [encoder(r, last=False) for r in RELATIVE]),
        "rounded": ("rounded", [encoder(r, to_whole=round) for r in RELATIVE]),
        "rounded up": ("rounded-up", [encoder(r, to_whole=lambda place: math.ceil(place - 1e-6)) for r in RELATIVE]),
        "distances": ("distances", [abs(r) + 8 * (r > 0) for r in RELATIVE]),
        "not rounded": ("not-whole", [encoder(r, to_whole=lambda place: place) for r in RELATIVE]),
        "negative": ("no-such-bucket", RELATIVE),
        "maximum 500": ("other", [encoder(r, furthest=500) for r in RELATIVE]),
        "one side": ("shape", BY_HAND[::2]),
    },
)


# t5-scale: from what each code does to a score

CODES = (  # at d = 64: the code's score for q·k and b
    lambda content, bias: content / 8 + bias,
    lambda content, bias: (content + bias) / 8,
    lambda content, bias: content / 8 + 8 * bias,
    lambda content, bias: content / 64 + bias,
)


def undone(to_content=1.0, to_bias=1.0):
    return [[to_content / code(1, 0), to_bias / code(0, 1)] for code in CODES]


def columns(content=None, bias=None):
    right = np.array(undone())
    return np.stack((right[:, 0] if content is None else content, right[:, 1] if bias is None else bias), axis=1)


SCALE = Answers(
    right={
        "lists": undone(),
        "NumPy": columns(),
        "float16": columns().astype(np.float16),
        "bfloat16": torch.tensor(undone()).bfloat16(),
        "fractions": tuple((Fraction(alpha), Fraction(beta)) for alpha, beta in undone()),
    },
    wrong={
        "what the code does": ("reciprocal", [[code(1, 0), code(0, 1)] for code in CODES]),
        "swapped": ("columns-swapped", columns()[:, ::-1].copy()),
        "one factor for both": ("bias-with-content", columns(bias=columns()[:, 0])),
        "bias left": ("bias-untouched", columns(bias=np.ones(4))),
        "in proportion": ("temperature", columns(np.ones(4), [code(1, 0) / code(0, 1) for code in CODES])),
        "d, not √d": ("no-root", [[64, 1], [64, 64], [64, 1 / 64], [4096, 1]]),
        "half to the keys": ("shared-with-keys", columns(np.sqrt(columns()[:, 0]))),
        "ones": ("nothing-changed", np.ones((4, 2))),
        "contents wrong in the last": ("contents", columns([8, 8, 8, 8])),
        "bias wrong in the third": ("biases", columns(bias=[1, 8, 8, 1])),
        "other way round": ("shape", columns().T),
        "biases alone": ("shape", columns()[:, 1]),
    },
)


# t5-sign: by the formula, where the check counts starts


def t5_bias(relative, one_way=None):
    """`relative(i, j)`; `one_way` fixes the direction in place of the argument."""

    def bias(table, q_positions, k_positions, bidirectional):
        both = bidirectional if one_way is None else one_way

        def bucket(r):
            if both:
                return side(abs(r), 16, 128) + (16 if r > 0 else 0)
            return side(max(-r, 0), 32, 128)

        numbers = table.tolist()
        return [[numbers[bucket(relative(i, j))] for j in k_positions.tolist()] for i in q_positions.tolist()]

    return bias


def mended(table, q_positions, k_positions, bidirectional):
    return t5_bias(lambda i, j: j - i)(table, q_positions, k_positions, bidirectional)


def by_counting(table, q_positions, k_positions, bidirectional):
    return mended(table, torch.arange(len(q_positions)), torch.arange(len(k_positions)), bidirectional)


SIGN = Answers(
    right={
        "lists": mended,
        "NumPy": lambda *inputs: np.array(mended(*inputs)),
        "float32": lambda *inputs: torch.tensor(mended(*inputs)),
        "bfloat16": lambda *inputs: torch.tensor(mended(*inputs)).bfloat16(),
        "tuples": lambda *inputs: tuple(map(tuple, mended(*inputs))),
    },
    wrong={
        "as it was": ("sign", t5_bias(lambda i, j: i - j)),
        "distance, behind": ("sign-blind", t5_bias(lambda i, j: -abs(j - i))),
        "distance": ("sign-blind", t5_bias(lambda i, j: abs(j - i))),
        "counted": ("index", by_counting),
        "encoder": ("always-encoder", t5_bias(lambda i, j: j - i, one_way=True)),
        "decoder": ("always-decoder", t5_bias(lambda i, j: j - i, one_way=False)),
        "negated": ("negated", lambda *inputs: -np.array(mended(*inputs))),
        "one behind": ("one-off", t5_bias(lambda i, j: j - i - 1)),
        "one ahead": ("one-off", t5_bias(lambda i, j: j - i + 1)),
        "keys' own positions": ("places", t5_bias(lambda i, j: -j)),
        "doubled": ("other", t5_bias(lambda i, j: 2 * (j - i))),
        "transposed": ("shape", lambda table, q, k, both: mended(table, k, q, both)),
        "a row more": ("shape", lambda *inputs: mended(*inputs)[:-1]),
    },
)


# kerple-far-away: with the softmax


def nearest(keys, text, first=0, bias=lambda t: -torch.log1p(t)):
    distance = torch.arange(first, first + text, dtype=torch.float64)
    return bias(distance).softmax(0)[:keys].sum().item()


FAR_AWAY = Answers(
    right={
        "tuple": ("b", nearest(16, 65_536)),
        "list, capital": ["B", 0.29],
        "tensor": ("b", torch.tensor([nearest(16, 65_536)])),
        "bfloat16": ("b", torch.tensor(nearest(16, 65_536)).bfloat16()),
        "numpy": ("b", np.float32(nearest(16, 65_536))),
    },
    wrong={
        "settles": ("settles", ("a", nearest(16, 65_536, bias=lambda t: -t))),
        "like T5": ("like-a-constant", ("c", 16 / 65_536)),
        "short text": ("short-text", ("b", nearest(16, 1024))),
        "17 keys": ("key-too-many", ("b", nearest(17, 65_536))),
        "from distance 1": ("own-key-left-out", ("b", nearest(16, 65_536, first=1))),
        "the others": ("what-is-left", ("b", 1 - nearest(16, 65_536))),
        "equal weights": ("equal-weights", ("b", nearest(16, 65_536, bias=torch.zeros_like))),
        "plus": ("other", ("b", nearest(16, 65_536, bias=lambda t: -2 * torch.log1p(t)))),
        "in words": ("no-choice", ("falls", 0.29)),
        "number alone": ("type", 0.29),
    },
)


# t5-bucket-starts: by solving, where the check tries one distance after the other


def places(num_buckets, max_distance, power=lambda j, width: j / width, ratio=None):
    exact = num_buckets // 2
    ratio = ratio or max_distance / exact
    return [*range(exact), *(exact * ratio ** power(j, num_buckets - exact) for j in range(num_buckets - exact))]


def up(values):
    return [math.ceil(round(value, 6)) for value in values]


def exactly(num_buckets, max_distance):
    """Rounded up, then put right in whole numbers."""
    exact = num_buckets // 2
    width = num_buckets - exact
    starts = list(range(exact))
    for j in range(width):
        guess = math.ceil(exact * (max_distance / exact) ** (j / width))
        reached = [t for t in (guess - 1, guess, guess + 1) if t**width * exact**j >= exact**width * max_distance**j]
        starts.append(min(reached))
    return starts


def by_scanning(num_buckets, max_distance):
    """The least distance of each bucket, with a floating logarithm."""
    exact = num_buckets // 2

    def bucket(t):
        if t < exact:
            return t
        share = math.log(t / exact) / math.log(max_distance / exact)
        return min(num_buckets - 1, exact + int(share * (num_buckets - exact)))

    found = [bucket(t) for t in range(max_distance)]
    return [found.index(number) for number in range(num_buckets)]


def evenly(num_buckets, max_distance):
    return up(np.linspace(num_buckets // 2, max_distance, num_buckets - num_buckets // 2 + 1)[:-1])


STARTS = Answers(
    right={
        "put right": exactly,
        "rounded first": lambda n, m: up(places(n, m)),
        "NumPy": lambda n, m: np.array(exactly(n, m)),
        "int tensor": lambda n, m: torch.tensor(exactly(n, m)),
        "float16": lambda n, m: torch.tensor(exactly(n, m)).half(),
    },
    wrong={
        "down": ("rounded-down", lambda n, m: [int(round(value, 6)) for value in places(n, m)]),
        "to the nearest": ("rounded-to-nearest", lambda n, m: np.rint(places(n, m))),
        "not rounded": ("not-whole", places),
        "last at M": ("ends-at-maximum", lambda n, m: up(places(n, m, lambda j, width: j / (width - 1)))),
        "one step late": ("step-too-far", lambda n, m: up(places(n, m, lambda j, width: (j + 1) / width))),
        "last distances": ("last-distances", lambda n, m: [start - 1 for start in [*exactly(n, m)[1:], m + 1]]),
        "evenly": ("linear", lambda n, m: [*range(n // 2), *evenly(n, m)]),
        "ratio M": ("ratio", lambda n, m: up(places(n, m, ratio=m))),
        "ceiling of a float": ("hair-above", lambda n, m: [math.ceil(value) for value in places(n, m)]),
        "scanned in floats": ("hair-above", by_scanning),
        "from 1": ("other", lambda n, m: [start + 1 for start in exactly(n, m)]),
        "of T5 alone": ("shape", lambda n, m: exactly(32, 128)),
    },
)


# kerple-feature-map: entry by entry


def features(entry, ahead=-1):
    def vectors(positions, slope):
        gaps = positions.diff().tolist()
        return [
            [(1 if s < i else ahead) * entry(gap, slope) for s, gap in enumerate(gaps)] for i in range(len(positions))
        ]

    return vectors


def by_eigenvectors(positions, slope):
    biases = -slope * (positions[:, None] - positions).abs()
    values, vectors = torch.linalg.eigh(biases + slope * (positions[-1] - positions[0]) / 2)
    return vectors[:, 1:] * values[1:].clamp(min=0).sqrt()


right_vectors = features(lambda gap, slope: math.sqrt(slope * gap / 2))
FEATURE_MAP = Answers(
    right={
        "signs and roots": right_vectors,
        "other signs": features(lambda gap, slope: -math.sqrt(slope * gap / 2)),
        "NumPy, reversed": lambda *inputs: np.array(right_vectors(*inputs))[:, ::-1].copy(),
        "float32": lambda *inputs: torch.tensor(right_vectors(*inputs)),
        "eigenvectors": by_eigenvectors,
    },
    wrong={
        "no half": ("not-halved", features(lambda gap, slope: math.sqrt(slope * gap))),
        "no root": ("no-root", features(lambda gap, slope: slope * gap / 2)),
        "gaps behind alone": ("one-sided", features(lambda gap, slope: math.sqrt(slope * gap), ahead=0)),
        "gaps of 1": ("gaps-counted", features(lambda gap, slope: math.sqrt(slope / 2))),
        "no slope": ("no-slope", features(lambda gap, slope: math.sqrt(gap / 2))),
        "slope outside": ("slope-not-under-the-root", features(lambda gap, slope: slope * math.sqrt(gap / 2))),
        "no signs": ("one-sign", features(lambda gap, slope: math.sqrt(slope * gap / 2), ahead=1)),
        "ahead at half": ("lengths", features(lambda gap, slope: math.sqrt(slope * gap), ahead=-0.5)),
        "a quarter": ("other", features(lambda gap, slope: math.sqrt(slope * gap / 4))),
        "Cholesky": ("shape", lambda x, slope: torch.linalg.cholesky(9 - slope * (x[:, None] - x).abs())),
        "dot products": ("shape", lambda x, slope: -slope * (x[:, None] - x).abs()),
        "slope alone": ("arity", lambda slope: slope),
    },
)

ANSWERS = {
    "t5-buckets-by-hand": BUCKETS,
    "t5-scale": SCALE,
    "t5-sign": SIGN,
    "kerple-far-away": FAR_AWAY,
    "t5-bucket-starts": STARTS,
    "kerple-feature-map": FEATURE_MAP,
}
