"""Lesson 7: right answers in several forms, and wrong ones with the misconception each must be told."""

import cmath
import math
from fractions import Fraction

import numpy as np
import torch

from tests.exercises.answers import Answers

# seldom-turning-pairs: by counting whole turns, where the check compares wavelengths


def pairs_without(turn, d=64, window=2048, exponent=2):
    """How many pairs turn by less than `turn` within the window."""
    return sum(window * 10_000 ** (-exponent * k / d) < turn for k in range(d // 2))


SELDOM = Answers(
    right={
        "int": pairs_without(math.tau),
        "float": 11.0,
        "list": [11],
        "fraction": Fraction(22, 2),
        "NumPy": np.array([[11]]),
        "bfloat16": torch.tensor(11, dtype=torch.bfloat16),
    },
    wrong={
        "the first of them": ("the-others", 32 - pairs_without(math.tau)),
        "last less first, and the edge": ("off-by-one", 31 - 20 + 1),
        "last less first": ("off-by-one", 31 - 21),
        "one radian": ("no-2π", pairs_without(1)),
        "half a turn": ("half-turn", pairs_without(math.pi)),
        "exponent without 2": ("exponent", pairs_without(math.tau, exponent=1)),
        "dimensions": ("dimensions", 64 - 42),
        "all": ("other", 32),
        "their numbers": ("shape", list(range(21, 32))),
    },
)

# ntk-by-hand: from the frequencies, where the check uses powers of s


def slowed_by_base(rise, pair, d=6, base=10_000):
    return (rise * base) ** (2 * pair / d) / base ** (2 * pair / d)


NTK = Answers(
    right={
        "list": [8, 2],
        "tuple": (math.exp(1.5 * math.log(4)), slowed_by_base(8, 1)),
        "NumPy": np.array([8.0, 2.0]),
        "float32": torch.tensor([8.0, slowed_by_base(8, 1)]),
        "bfloat16": torch.tensor([8, 2], dtype=torch.bfloat16),
        "fractions": [Fraction(8), Fraction(2)],
    },
    wrong={
        "base times 4": ("base-times-s", [4, slowed_by_base(4, 1)]),
        "root for power": ("exponent-upside-down", [4 ** (2 / 3), slowed_by_base(4 ** (2 / 3), 1)]),
        "as interpolation": ("all-alike", [8, 4]),
        "fast left alone": ("left-alone", [8, 1]),
        "halfway": ("linear", [8, (1 + 4) / 2]),
        "old exponent on s": ("pair-exponent", [8, 4 ** (1 / 3)]),
        "new speed": ("speed", [8, 1 / slowed_by_base(8, 1)]),
        "the base itself": ("whole-base", [80_000, 2]),
        "base times s²": ("base", [16, slowed_by_base(16, 1)]),
        "anything else": ("other", [8, 3]),
        "base alone": ("type", 8),
    },
)

# ntk-for-a-pair: by halving an interval, where the check has the closed form


def by_bisection(pair, slow, d):
    low, high = 1.0, 1e6
    for _ in range(80):
        middle = (low * high) ** 0.5
        base = 10_000 * middle ** (d / (d - 2))
        too_little = (base / 10_000) ** (2 * pair / d) < slow
        low, high = (middle, high) if too_little else (low, middle)
    return low


PAIR = Answers(
    right={
        "bisection": by_bisection,
        "closed form": lambda pair, slow, d: slow ** ((d / 2 - 1) / pair),
        "logarithms": lambda pair, slow, d: math.exp(math.log(slow) * (d - 2) / 2 / pair),
        "list": lambda pair, slow, d: [by_bisection(pair, slow, d)],
        "NumPy": lambda pair, slow, d: np.float64(slow) ** ((d - 2) / (2 * pair)),
        "float32": lambda pair, slow, d: torch.tensor(by_bisection(pair, slow, d)),
    },
    wrong={
        "the slowing": ("nominal", lambda pair, slow, d: slow),
        "what s does": ("exponent-upside-down", lambda pair, slow, d: slow ** (pair / (d / 2 - 1))),
        "rise of the base": ("base-ratio", lambda pair, slow, d: by_bisection(pair, slow, d) ** (d / (d - 2))),
        "2 lost": ("lost-2", lambda pair, slow, d: by_bisection(pair, slow, d) ** 2),
        "in proportion": ("linear", lambda pair, slow, d: slow / (pair / (d / 2 - 1))),
        "counted from 1": ("counted-from-one", lambda pair, slow, d: by_bisection(pair + 1, slow, d)),
        "number of pairs": ("last-pair", lambda pair, slow, d: slow ** (d / 2 / pair) + pair),
        "as many pairs as d/2 − 1": ("other", lambda pair, slow, d: slow + (d / 2 - 1 - pair)),
        "the base": ("last-pair", lambda pair, slow, d: 10_000 * slow ** (d / (2 * pair))),
        "of one argument": ("arity", lambda pair: pair),
    },
)

# interpolation-vs-extrapolation: with complex numbers, where the check takes turns


def farthest(squeezed_by=1, pairs=range(8)):
    """The largest distance along the circle to an angle of training, pair after pair."""
    largest = 0.0
    for k in pairs:
        omega = 10_000 ** (-k / 8)
        trained = np.exp(1j * omega * np.arange(128))
        for offset in range(512):
            largest = max(largest, np.abs(np.angle(trained * cmath.exp(-1j * omega * offset / squeezed_by))).min())
    return largest


RAW = farthest(pairs=[4])

INTERPOLATION = Answers(
    right={
        "tuple": ("b", RAW),
        "list": ["b", RAW],
        "capital": ("B", round(RAW, 2)),
        "NumPy": ("b", np.float32(RAW)),
        "tensor": (" b", torch.tensor([RAW])),
        "half of what was never met": ("b", (2 * math.pi - 127 * 0.01) / 2),
    },
    wrong={
        "precision": ("precision", ("a", RAW)),
        "fast pairs kept": ("fast-kept", ("c", RAW)),
        "600 times": ("bound", ("d", 64 * math.log(10_000))),
        "of squeezed positions": ("interpolated", ("b", farthest(4, pairs=[0]))),
        "half of an old step": ("interpolated", ("b", 1 / 2)),
        "pair 0, not round": ("not-round", ("b", 511 - 127)),
        "pair 4, not round": ("not-round", ("b", 5.11 - 1.27)),
        "pair 3, not round": ("not-round", ("b", (511 - 127) / 10**1.5)),
        "degrees": ("degrees", ("b", RAW * 180 / math.pi)),
        "turns": ("turns", ("b", RAW / math.tau)),
        "pair 3": ("another-pair", ("b", farthest(pairs=[3]))),
        "a slow pair": ("another-pair", ("b", farthest(pairs=[6]))),
        "anything else": ("other", ("b", 0.7)),
        "no letter": ("type", RAW),
        "the reason in words": ("no-choice", ("angles", RAW)),
        "another letter": ("no-choice", ("e", RAW)),
    },
)

# dynamic-ntk-reset: pair by pair from the bases, where the check uses powers of the factor


def rows(factor, slowing=lambda s, k, d: ((1e4 * s ** (d / (d - 2))) / 1e4) ** (2 * k / d)):
    """The answer that slows each call by its factor; `factor` sees the call's number, all lengths, s, trained."""

    def slowed(lengths, d, s, trained):
        factors = [factor(call, lengths, s, trained) for call in range(len(lengths))]
        return [[slowing(value, k, d) for k in range(d // 2)] for value in factors]

    return slowed


def present(call, lengths, s, trained):
    return 1 + s * (max(lengths[call], trained) / trained - 1)


def longest_so_far(call, lengths, s, trained):
    return 1 + s * (max(*lengths[: call + 1], trained) / trained - 1)


def with_strict_reset(lengths, d, s, trained):
    """As transformers does: a cache that grows, and is dropped by a call below the trained length."""
    cached, table = trained, np.ones(d // 2)
    answer = []
    for n in lengths:
        if n > cached:
            cached, table = n, np.array(rows(present)([n], d, s, trained)[0])
        if n < trained < cached:
            cached, table = trained, np.ones(d // 2)
        answer.append(table)
    return answer


def base_piles_up(lengths, d, s, trained):
    slowed = torch.tensor(rows(present)(lengths, d, s, trained), dtype=torch.float64)
    return slowed.cumprod(0)


def slow_inside(call, lengths, s, trained):
    return present(call, lengths, s, trained) + (0.2 if lengths[call] <= trained else 0)


DYNAMIC = Answers(
    right={
        "lists": rows(present),
        "NumPy": lambda *inputs: np.array(rows(present)(*inputs)),
        "float32": lambda *inputs: torch.tensor(rows(present)(*inputs), dtype=torch.float32),
        "rows of tensors": lambda *inputs: [*torch.tensor(rows(present)(*inputs))],
        "tuples": lambda *inputs: tuple(map(tuple, rows(present)(*inputs))),
    },
    wrong={
        "as it was": ("never-resets", rows(longest_so_far)),
        "reset below alone": ("reset-below", with_strict_reset),
        "one factor": ("static", rows(lambda call, lengths, s, trained: s)),
        "two factors": ("two-speeds", rows(lambda call, lengths, s, trained: s if lengths[call] > trained else 1)),
        "no maximum": ("speeds-up", rows(lambda call, lengths, s, trained: 1 - s + s * lengths[call] / trained)),
        "s left out": ("no-factor", rows(lambda call, lengths, s, trained: max(lengths[call] / trained, 1))),
        "nothing subtracted": ("formula", rows(lambda call, n, s, trained: s * max(n[call] / trained, 1))),
        "interpolation": ("all-alike", rows(present, lambda s, k, d: s)),
        "plain exponent": ("exponent", rows(present, lambda s, k, d: s ** (2 * k / d))),
        "speeds": ("speed", rows(present, lambda s, k, d: s ** (-2 * k / (d - 2)))),
        "piled up": ("remembers", base_piles_up),
        "slowed inside": ("not-plain", rows(slow_inside)),
        "doubled": ("other", rows(lambda *call: 2 * present(*call) - 1)),
        "last call alone": ("shape", lambda *inputs: rows(present)(*inputs)[-1]),
        "dimensions": ("shape", lambda *inputs: np.repeat(rows(present)(*inputs), 2, axis=1)),
    },
)

# yarn-ramp: pair by pair, where the check computes all at once


def ramp_between(ends, blend=lambda share, s: 1 / (share / s + 1 - share)):
    """The answer whose share of interpolation rises between the ends that `ends` gives for (d, trained)."""

    def slowed(d, s, trained):
        low, high = ends(d, trained)
        return [blend(min(max((k - low) / (high - low), 0), 1), s) for k in range(d // 2)]

    return slowed


def pair_that_turns(r, d, trained):
    return d * math.log(trained / (r * math.tau)) / (2 * math.log(10_000))


def ends(d, trained):
    return max(0, math.floor(pair_that_turns(32, d, trained))), math.ceil(pair_that_turns(1, d, trained))


def inward(d, trained):
    return max(0, math.ceil(pair_that_turns(32, d, trained))), math.floor(pair_that_turns(1, d, trained))


def exact_ends(d, trained):
    return max(0, pair_that_turns(32, d, trained)), pair_that_turns(1, d, trained)


def below_zero(d, trained):
    return math.floor(pair_that_turns(32, d, trained)), math.ceil(pair_that_turns(1, d, trained))


def in_dimensions(d, trained):
    return ends(2 * d, trained)


def in_radians(d, trained):
    low, high = pair_that_turns(32 / math.tau, d, trained), pair_that_turns(1 / math.tau, d, trained)
    return max(0, math.floor(low)), math.ceil(high)


def by_turns(d, s, trained, fast=32):
    turns = trained * np.power(10_000.0, -np.arange(0, d, 2) / d) / math.tau
    keep = np.clip((turns - 1) / (fast - 1), 0, 1)
    return 1 / (keep + (1 - keep) / s)


def step(d, s, trained):
    return [s if trained * 10_000 ** (-2 * k / d) < math.tau else 1 for k in range(d // 2)]


YARN = Answers(
    right={
        "lists": ramp_between(ends),
        "NumPy": lambda *inputs: np.array(ramp_between(ends)(*inputs)),
        "tuple": lambda *inputs: tuple(ramp_between(ends)(*inputs)),
        "float32": lambda *inputs: torch.tensor(ramp_between(ends)(*inputs), dtype=torch.float32),
        "share of the plain frequency": lambda d, s, trained: [
            s / (1 + (s - 1) * (1 - (1 - 1 / slow) / (1 - 1 / s))) for slow in ramp_between(ends)(d, s, trained)
        ],
    },
    wrong={
        "paper's ramp": ("papers-ramp", by_turns),
        "upside down": ("upside-down", ramp_between(ends, lambda share, s: 1 / ((1 - share) / s + share))),
        "not rounded": ("not-rounded", ramp_between(exact_ends)),
        "rounded inward": ("rounded-inward", ramp_between(inward)),
        "below pair 0": ("not-clamped", ramp_between(below_zero)),
        "wavelengths blended": ("wavelengths-blended", ramp_between(ends, lambda share, s: 1 + share * (s - 1))),
        "2 lost": ("lost-2", ramp_between(in_dimensions)),
        "radians": ("no-2π", ramp_between(in_radians)),
        "step": ("no-ramp", step),
        "interpolation": ("all-alike", lambda d, s, trained: [s] * (d // 2)),
        "NTK": ("ntk", lambda d, s, trained: [s ** (k / (d / 2 - 1)) for k in range(d // 2)]),
        "speeds": ("speed", ramp_between(ends, lambda share, s: share / s + 1 - share)),
        "share": ("share", ramp_between(ends, lambda share, s: share)),
        "all plain": ("ends", lambda d, s, trained: np.ones(d // 2)),
        "falls at the end of the ramp": (
            "falls",
            lambda d, s, trained: [1, *([s, 1] * d)[: d // 2 - 2], s],
        ),
        "Llama 3's ends": ("other", lambda d, s, trained: [1, *by_turns(d, s, trained, fast=4)[1:]]),
        "every dimension": ("shape", lambda *inputs: np.repeat(ramp_between(ends)(*inputs), 2)),
    },
)

# yarn-temperature: query by query, where the check uses whole matrices


def weights_with(multiplier):
    def weights(q, k, s):
        k, answer = np.asarray(k, dtype=float), []
        for query in np.asarray(q, dtype=float):
            weight = np.exp(multiplier(s) * (k @ query) / math.sqrt(k.shape[1]))
            answer.append(weight / weight.sum())
        return np.array(answer)

    return weights


def m(s, log=math.log):
    return 0.1 * log(s) + 1


def turned_with_the_factor(q, k, s):
    """As it is done: the factor on cos and sin, so on the query and on the key."""
    return torch.softmax((m(s) * q) @ (m(s) * k).T / q.shape[1] ** 0.5, dim=-1)


TEMPERATURE = Answers(
    right={
        "NumPy": weights_with(lambda s: m(s) ** 2),
        "lists": lambda *inputs: weights_with(lambda s: m(s) ** 2)(*inputs).tolist(),
        "torch": turned_with_the_factor,
        "float32": lambda q, k, s: turned_with_the_factor(q.float(), k.float(), s),
        "rows": lambda *inputs: [*turned_with_the_factor(*inputs)],
    },
    wrong={
        "as it was": ("upside-down", weights_with(lambda s: 1 / m(s))),
        "divided on both": ("upside-down", lambda q, k, s: turned_with_the_factor(q / m(s) ** 2, k / m(s) ** 2, s)),
        "once": ("once", weights_with(m)),
        "on both, and squared": ("twice-over", lambda q, k, s: turned_with_the_factor(m(s) * q, m(s) * k, s)),
        "square root": ("square-root", weights_with(lambda s: math.sqrt(m(s)))),
        "decimal logarithm": ("logarithm", weights_with(lambda s: m(s, math.log10) ** 2)),
        "logarithm of base 2": ("logarithm", weights_with(lambda s: m(s, math.log2) ** 2)),
        "no temperature": ("no-temperature", weights_with(lambda s: 1)),
        "not scaled": ("unscaled", weights_with(lambda s: m(s) ** 2 * math.sqrt(8))),
        "logits": ("no-softmax", lambda q, k, s: m(s) ** 2 * (q @ k.T) / math.sqrt(8)),
        "1 left out": ("not-plain", weights_with(lambda s: (0.1 * math.log(s)) ** 2)),
        "no logarithm": ("not-plain", weights_with(lambda s: (0.1 * s + 1) ** 2)),
        "divided by s": ("flatter", weights_with(lambda s: 1 / s)),
        "cubed": ("other", weights_with(lambda s: m(s) ** 3)),
        "transposed": ("shape", lambda q, k, s: turned_with_the_factor(q, k, s)[:, :2]),
    },
)

ANSWERS = {
    "seldom-turning-pairs": SELDOM,
    "ntk-by-hand": NTK,
    "ntk-for-a-pair": PAIR,
    "interpolation-vs-extrapolation": INTERPOLATION,
    "dynamic-ntk-reset": DYNAMIC,
    "yarn-ramp": YARN,
    "yarn-temperature": TEMPERATURE,
}
