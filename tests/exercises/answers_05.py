"""Lesson 5: right answers in several forms, and wrong ones with the misconception each must be told."""

import math
from fractions import Fraction

import numpy as np
import torch

from tests.exercises.answers import Answers

# alibi-slopes-8: by repeated multiplication, where the check takes powers


def sequence(first, ratio, count=8):
    slopes = [first]
    while len(slopes) < count:
        slopes.append(slopes[-1] * ratio)
    return slopes


SLOPES = sequence(0.5, 0.5)
SLOPES_8 = Answers(
    right={
        "list": SLOPES,
        "fractions": tuple(Fraction(1, 2**h) for h in range(1, 9)),
        "NumPy": np.exp2(-np.arange(1.0, 9)),
        "float16 array": np.array(SLOPES, dtype=np.float16),
        "bfloat16": torch.tensor(SLOPES).bfloat16(),
        "list of tensors": [torch.tensor(slope) for slope in SLOPES],
        "by way of e": [math.exp(-h * math.log(2)) for h in range(1, 9)],
    },
    wrong={
        "from h = 0": ("starts-at-one", sequence(1.0, 0.5)),
        "a minus lost": ("grows", sequence(2.0, 2.0)),
        "exponents": ("exponents", list(range(-1, -9, -1))),
        "negative": ("negative", [-slope for slope in SLOPES]),
        "flattest first": ("reversed", SLOPES[::-1]),
        "16 heads": ("wrong-head-count", sequence(2**-0.5, 2**-0.5)),
        "not divided by H": ("wrong-head-count", sequence(2**-8, 2**-8)),
        "base e": ("base-e", np.exp(-np.arange(1, 9))),
        "evenly spaced": ("linear", np.linspace(1, 1 / 8, 8)),
        "one over h": ("no-ratio", [1 / (h + 1) for h in range(1, 9)]),
        "one wrong": ("no-ratio", [*SLOPES[:7], 1 / 32]),
        "two decimals": ("rounded", np.round(SLOPES, 2)),
        "four decimals": ("rounded", np.round(SLOPES, 4)),
        "ratio 2/3": ("other", sequence(2 / 3, 2 / 3)),
        "seven": ("shape", SLOPES[:7]),
        "text": ("text", "1/2, 1/4"),
    },
)


# alibi-slopes-12: from above, as MPT does it, where the check goes from below


def of_power(heads):
    return sequence(2 ** (-8 / heads), 2 ** (-8 / heads), heads)


def above(heads):
    return 2 ** (heads - 1).bit_length()


def below(heads):
    return 2 ** (heads.bit_length() - 1)


def from_above(heads):
    full = of_power(above(heads))
    return full if above(heads) == heads else (full[1::2] + full[0::2])[:heads]


def recursive(heads):
    """As in the authors' code."""
    if heads == below(heads):
        return of_power(heads)
    return of_power(below(heads)) + recursive(2 * below(heads))[0::2][: heads - below(heads)]


def with_added(added):
    return lambda heads: of_power(below(heads)) + added(of_power(2 * below(heads)), heads - below(heads))


SLOPES_12 = Answers(
    right={
        "from above": from_above,
        "recursive": recursive,
        "NumPy": lambda heads: np.array(from_above(heads)),
        "float32": lambda heads: torch.tensor(from_above(heads)),
        "tuple": lambda heads: tuple(recursive(heads)),
    },
    wrong={
        "as it was": ("formula", of_power),
        "cut": ("cut", lambda heads: of_power(above(heads))[:heads]),
        "one after the other": ("not-every-second", with_added(lambda full, missing: full[:missing])),
        "the even ones": ("twice", with_added(lambda full, missing: full[1::2][:missing])),
        "the last ones": ("from-the-end", with_added(lambda full, missing: full[::2][len(full) // 2 - missing :])),
        "sorted": ("sorted", lambda heads: sorted(from_above(heads))[::-1]),
        "reversed": ("sorted", lambda heads: from_above(heads)[::-1]),
        "added in front": (
            "added-first",
            lambda heads: recursive(heads)[below(heads) :] + recursive(heads)[: below(heads)],
        ),
        "the same again": ("twice", lambda heads: (of_power(below(heads)) * 2)[:heads]),
        "from h = 0": ("powers-of-two", lambda heads: sequence(1.0, 2 ** (-8 / heads), heads)),
        "every second of the next power": ("first-heads", lambda heads: sorted(of_power(above(heads)))[:heads][::-1]),
        "added in reverse": ("other", with_added(lambda full, missing: full[::2][:missing][::-1])),
        "too few": ("shape", lambda heads: of_power(below(heads))),
        "the slopes": ("type", from_above(12)),
    },
)


# alibi-after-softmax: query by query, where the check uses whole matrices


def attention(weights_of):
    """Attention in NumPy, the weights of each row by `weights_of(scaled scores, distances, slope)`."""

    def attend(q, k, v, slope):
        q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
        rows = []
        for i, query in enumerate(q):
            scores = k[: i + 1] @ query / math.sqrt(len(query))
            rows.append(weights_of(scores, i - np.arange(i + 1), slope) @ v[: i + 1])
        return np.array(rows)

    return attend


def softmax(scores):
    weights = np.exp(scores)
    return weights / weights.sum()


def share(weights):
    return weights / weights.sum()


def in_torch(q, k, v, slope, causal=True, bias=lambda distance, slope: -slope * distance.abs()):
    at = torch.arange(len(q))
    added = bias(at[:, None] - at, slope).float()
    if causal:
        added = added.masked_fill(at > at[:, None], -math.inf)
    q, k, v = (x.float()[None] for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=added[None])[0]


def bias_first(q, k, v, slope):
    return attention(lambda s, distance, m: softmax(s - m * distance / math.sqrt(q.shape[1])))(q, k, v, slope)


AFTER_SOFTMAX = Answers(
    right={
        "NumPy": attention(lambda s, distance, m: softmax(s - m * distance)),
        "torch, float32": in_torch,
        "by key": lambda *inputs: in_torch(*inputs, bias=lambda distance, m: -m * (distance + 5)),
        "a factor on weights": attention(lambda s, distance, m: share(softmax(s) * np.exp(-m * distance))),
        "lists": lambda *inputs: in_torch(*inputs).tolist(),
        "bfloat16 result": lambda *inputs: in_torch(*inputs).bfloat16(),
    },
    wrong={
        "as it was": ("after-softmax", attention(lambda s, distance, m: softmax(s) - m * distance)),
        "renormalised": ("renormalised", attention(lambda s, distance, m: share(softmax(s) - m * distance))),
        "cut off": ("cut-off", attention(lambda s, distance, m: np.maximum(softmax(s) - m * distance, 0))),
        "cut off, shared out": (
            "cut-off",
            attention(lambda s, distance, m: share(np.maximum(softmax(s) - m * distance, 0))),
        ),
        "factor, no sum": ("not-renormalised", attention(lambda s, distance, m: softmax(s) * np.exp(-m * distance))),
        "divided": ("linear-factor", attention(lambda s, distance, m: share(softmax(s) / (1 + m * distance)))),
        "scaled": ("scaled", bias_first),
        "sign": ("sign", attention(lambda s, distance, m: softmax(s + m * distance))),
        "no mask": ("no-mask", lambda *inputs: in_torch(*inputs, causal=False)),
        "no mask, signed": (
            "no-mask",
            lambda *inputs: in_torch(*inputs, causal=False, bias=lambda distance, m: -m * distance),
        ),
        "no bias": ("no-bias", attention(lambda s, distance, m: softmax(s))),
        "exponents alone": ("row-sums", attention(lambda s, distance, m: np.exp(s - m * distance))),
        "key aligned": ("future", lambda *i: in_torch(*i, causal=False, bias=lambda distance, m: -m * distance**2)),
        "square": ("other", attention(lambda s, distance, m: softmax(s - m * distance**2))),
        "weights": ("shape", lambda q, k, v, slope: in_torch(q, k, v, slope) @ v.float().T),
    },
)


# alibi-cache: by adding up


def cached(biases, key):
    weights = [math.exp(bias) for bias in biases]
    return weights[key] / sum(weights)


FROM_ZERO = [-0.5 * abs(0 - j) for j in range(10)]
FROM_NINE = [-0.5 * abs(9 - j) for j in range(10)]
CACHE = Answers(
    right={
        "tuple": ("b", cached(FROM_ZERO, 0)),
        "list, capital": ["B", 0.396],
        "tensor": ("b", torch.tensor(FROM_ZERO).softmax(0)[0]),
        "float32": ("b", np.float32(cached(FROM_ZERO, 0))),
    },
    wrong={
        "a shift": ("shift-cancels", ("a", cached(FROM_NINE, 9))),
        "no distances": ("one-query", ("c", 0.1)),
        "as intended": ("as-intended", ("b", cached(FROM_NINE, 0))),
        "endless": ("endless", ("b", cached([-0.5 * j for j in range(1000)], 0))),
        "uniform": ("uniform", ("b", 1 / 10)),
        "not normalised": ("not-normalised", ("b", math.exp(FROM_ZERO[0]))),
        "powers of a half": ("half-to-the-distance", ("b", 0.5**0 / sum(0.5**j for j in range(10)))),
        "nine keys": ("other", ("b", 0.41)),
        "number alone": ("type", 0.396),
        "the key": ("no-choice", ("key 0", 0.396)),
    },
)


# alibi-both-sides: in closed form, where the check adds up


def closed(slope, share, round_up=math.ceil, both=True, log=math.log):
    r = math.exp(-slope)
    left = (1 - share) * ((1 + r) / 2 if both else 1)  # r^(N+1) may be so much
    return round_up(-log(left) / slope) - 1


def term_by_term(slope, share):
    whole = (1 + math.exp(-slope)) / (1 - math.exp(-slope))
    reached, distance = 1.0, 0
    while reached / whole < share:
        distance += 1
        reached += 2 * math.exp(-slope * distance)
    return distance


BOTH_SIDES = Answers(
    right={
        "closed": closed,
        "term by term": term_by_term,
        "float32": lambda slope, share: torch.tensor(float(closed(slope, share))),
        "numpy": lambda slope, share: np.int64(term_by_term(slope, share)),
        "list": lambda slope, share: [closed(slope, share)],
    },
    wrong={
        "one side": ("one-sided", lambda slope, share: closed(slope, share, both=False)),
        "diagonal twice": ("one-sided", lambda slope, share: closed(slope, share, both=False)),
        "keys counted from 1": ("one-too-many", lambda slope, share: term_by_term(slope, share) + 1),
        "rounded down": ("one-too-few", lambda slope, share: closed(slope, share, math.floor)),
        "number of keys": ("keys", lambda slope, share: 2 * closed(slope, share) + 1),
        "one weight": ("weight", lambda slope, share: math.log(1 / (1 - share)) / slope),
        "one weight, rounded": ("weight", lambda slope, share: math.ceil(math.log(1 / (1 - share)) / slope)),
        "what is left": ("rest", lambda slope, share: closed(slope, 1 - share)),
        "base 2": ("base-two", lambda slope, share: closed(slope, share, log=math.log2)),
        "not rounded": ("not-whole", lambda slope, share: closed(slope, share, lambda distance: distance)),
        "upside down": ("grows", lambda slope, share: 300 * slope),
        "half of it": ("other", lambda slope, share: closed(slope, share) // 2),
        "per side": ("shape", lambda slope, share: [closed(slope, share)] * 2),
    },
)

ANSWERS = {
    "alibi-slopes-8": SLOPES_8,
    "alibi-slopes-12": SLOPES_12,
    "alibi-after-softmax": AFTER_SOFTMAX,
    "alibi-cache": CACHE,
    "alibi-both-sides": BOTH_SIDES,
}
