"""Lesson 2: right answers in several forms, and wrong ones with the misconception each must be told."""

import math

import numpy as np
import torch

from tests.exercises.answers import Answers

# row-by-hand, sinusoidal-any-width: number by number, where the checks use tables


def encoding(places, d, *, base=10_000, exponent=lambda j, d: (j - j % 2) / d, waves=(math.sin, math.cos)):
    """The rows of these places, one number after the other, NumPy."""
    rows = [[waves[j % 2](float(p) * base ** -exponent(j, d)) for j in range(d)] for p in places]
    return np.array(rows)


def row(**options):
    return encoding([math.pi / 2], 4, base=9, **options)[0]


ROW = Answers(
    right={
        "list": [1, 0, 0.5, math.sqrt(3) / 2],
        "rounded": (1.0, 0.0, 0.5, 0.866),
        "NumPy": row(),
        "float32 tensor": torch.tensor([1, 0, 0.5, 0.8660254]),
        "list of tensors": [*torch.tensor([1, 0, 0.5, 0.8660254])],
    },
    wrong={
        "sines first": ("sines-first", row()[[0, 2, 1, 3]]),
        "cosine before sine": ("swapped", row(waves=(math.cos, math.sin))),
        "exponent k/d": ("exponent", row(exponent=lambda j, d: j // 2 / d)),
        "exponent's sign": ("exponent", row(exponent=lambda j, d: -(j - j % 2) / d)),
        "exponent j/d": ("own-frequency", row(exponent=lambda j, d: j / d)),
        "base 10 000": ("base", encoding([math.pi / 2], 4)[0]),
        "one frequency": ("one-frequency", row(exponent=lambda j, d: 0)),
        "tensor2tensor": ("other-grid", row(exponent=lambda j, d: j // 2 / (d / 2 - 1))),
        "degrees": ("degrees", encoding([math.radians(math.pi / 2)], 4, base=9)[0]),
        "a cosine of 1": ("off-circle", [1, 1, 0.5, 0.866]),
        "at π/4": ("other", encoding([math.pi / 4], 4, base=9)[0]),
        "the angles": ("shape", [math.pi / 2, math.pi / 6]),
        "as a row of a table": ("shape", row()[None]),
    },
)


def any_width(**options):
    return lambda positions, d: encoding(positions.tolist(), d, **options)


def in_torch(positions, d):
    """In float32, by exp and log."""
    omega = torch.exp(-torch.arange(0, d, 2) * math.log(10_000) / d)
    angle = positions[:, None] * omega
    table = torch.zeros(len(positions), d)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle[:, : d // 2].cos()
    return table


def sines_and_cosines_stacked(positions, d):
    table = torch.as_tensor(encoding(positions.tolist(), d))
    return torch.stack((table[:, 0::2], table[:, 1::2]), dim=2).flatten(1)


def ends_on_cosine(positions, d):
    table = encoding(positions.tolist(), d)
    if d % 2:
        table[:, -1] = np.cos(positions.numpy() * 10_000 ** (-(d - 1) / d))
    return table


def last_column_forgotten(positions, d):
    table = np.zeros((len(positions), d))
    table[:, : d - d % 2] = encoding(positions.tolist(), d)[:, : d - d % 2]
    return table


ANY_WIDTH = Answers(
    right={
        "NumPy": any_width(),
        "lists": lambda positions, d: any_width()(positions, d).tolist(),
        "torch, float32": in_torch,
        "bfloat16 result": lambda positions, d: in_torch(positions, d).bfloat16(),
    },
    wrong={
        "width rounded up": ("rounded-width", any_width(exponent=lambda j, d: (j - j % 2) / (d + d % 2))),
        "width rounded down": ("rounded-width", any_width(exponent=lambda j, d: (j - j % 2) / max(d - d % 2, 1))),
        "ends on a cosine": ("ends-on-cosine", ends_on_cosine),
        "last column 0": ("padded", last_column_forgotten),
        "sines first": ("sines-first", lambda p, d: any_width()(p, d)[:, [*range(0, d, 2), *range(1, d, 2)]]),
        "cosine before sine": ("swapped", any_width(waves=(math.cos, math.sin))),
        "exponent j/d": ("own-frequency", any_width(exponent=lambda j, d: j / d)),
        "exponent k/d": ("exponent", any_width(exponent=lambda j, d: j // 2 / d)),
        "exponent's sign": ("exponent", any_width(exponent=lambda j, d: -(j - j % 2) / d)),
        "tensor2tensor": ("other-grid", any_width(exponent=lambda j, d: j // 2 / (d / 2 - 1))),
        "counted from 1": ("counted-from-one", lambda p, d: any_width()(p + 1, d)),
        "rows counted": ("index", lambda p, d: any_width()(torch.arange(len(p)), d)),
        "degrees": ("degrees", lambda p, d: any_width()(p * math.pi / 180, d)),
        "sines alone": ("off-circle", any_width(waves=(math.sin, math.sin))),
        "one frequency": ("other", any_width(exponent=lambda j, d: 0)),
        "base 500": ("other", any_width(base=500)),
        "odd widths refused": ("raises", sines_and_cosines_stacked),
        "one column less": ("shape", lambda p, d: encoding(p.tolist(), d - d % 2)),
    },
)


# one-row-a-text: text by text, word by word


def added(row_of, scale=1):
    """x with row_of(text, word, texts, words) of the table added to each word."""

    def add(x):
        texts, words, d = x.shape
        places = [[row_of(b, t, texts, words) for t in range(words)] for b in range(texts)]
        return x.numpy() * scale + np.array([encoding(row, d) for row in places])

    return add


def in_torch_added(x):
    return x.float() + in_torch(torch.arange(x.shape[1]), x.shape[2])


def broken(x):
    return x + in_torch(torch.arange(x.shape[0]), x.shape[2])[:, None]


ADDED = Answers(
    right={
        "word by word": added(lambda b, t, texts, words: t),
        "lists": lambda x: added(lambda b, t, texts, words: t)(x).tolist(),
        "torch, float32": in_torch_added,
        "bfloat16 result": lambda x: in_torch_added(x).bfloat16(),
        "list of texts": lambda x: [*in_torch_added(x)],
    },
    wrong={
        "as it was": ("by-text", broken),
        "both axes": ("by-both", lambda x: broken(in_torch_added(x))),
        "counted through": ("counted-through", added(lambda b, t, texts, words: b * words + t)),
        "scaled": ("scaled", lambda x: in_torch_added(x * x.shape[-1] ** 0.5)),
        "the rows alone": ("encoding-alone", added(lambda b, t, texts, words: t, scale=0)),
        "nothing": ("nothing-added", lambda x: x),
        "counted from 1": ("counted-from-one", added(lambda b, t, texts, words: t + 1)),
        "one row for all": ("last-row", added(lambda b, t, texts, words: words)),
        "multiplied": ("multiplied", lambda x: x * in_torch(torch.arange(x.shape[1]), x.shape[2])),
        "text and word": ("company", added(lambda b, t, texts, words: b + t)),
        "largest first": ("content", lambda x: in_torch_added(x) + x.abs()),
        "from the end": ("other", added(lambda b, t, texts, words: words - 1 - t)),
        "one text": ("shape", lambda x: in_torch_added(x)[0]),
        "transposed": ("shape", lambda x: in_torch_added(x).transpose(0, 2)),
    },
)


# shift-matrix: entry by entry, or solved for, where the check uses complex numbers


def blocks(make, frequency=lambda k, d: 10_000 ** (-2 * k / d)):
    """The matrix with make(cosine, sine) of each pair's angle as its blocks."""

    def matrix(delta, d):
        out = np.zeros((d, d))
        for k in range(d // 2):
            angle = delta * frequency(k, d)
            out[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = make(math.cos(angle), math.sin(angle))
        return out

    return matrix


def onward(c, s):
    return [[c, s], [-s, c]]


def solved_for(delta, d):
    """From d + 8 rows of the table and the same rows Δ further on."""
    places = np.linspace(0, 5000, d + 8)
    return np.linalg.lstsq(encoding(places, d), encoding(places + delta, d), rcond=None)[0].T


def sines_first(delta, d):
    order = [*range(0, d, 2), *range(1, d, 2)]
    return blocks(onward)(delta, d)[np.ix_(order, order)]


SHIFT = Answers(
    right={
        "NumPy": blocks(onward),
        "solved for": solved_for,
        "lists": lambda delta, d: blocks(onward)(delta, d).tolist(),
        "float32 tensor": lambda delta, d: torch.tensor(blocks(onward)(delta, d), dtype=torch.float32),
        "bfloat16 tensor": lambda delta, d: torch.tensor(blocks(onward)(delta, d), dtype=torch.bfloat16),
        "M₁ often": lambda delta, d: np.linalg.matrix_power(blocks(onward)(1, d), delta),
    },
    wrong={
        "moves back": ("sign", blocks(lambda c, s: [[c, -s], [s, c]])),
        "transposed": ("sign", lambda delta, d: solved_for(delta, d).T),
        "sines first": ("sines-first", sines_first),
        "one frequency": ("one-frequency", blocks(onward, lambda k, d: 1)),
        "identity": ("no-shift", lambda delta, d: np.eye(d)),
        "exponent k/d": ("exponent", blocks(onward, lambda k, d: 10_000 ** (-k / d))),
        "exponent's sign": ("exponent", blocks(onward, lambda k, d: 10_000 ** (2 * k / d))),
        "sine and cosine swapped": ("swapped", blocks(lambda c, s: [[s, c], [-c, s]])),
        "degrees": ("degrees", lambda delta, d: blocks(onward)(delta * math.pi / 180, d)),
        "neighbouring pairs": ("mixed-pairs", lambda delta, d: np.roll(blocks(onward)(delta, d), 2, axis=1)),
        "both sines positive": ("length", blocks(lambda c, s: [[c, s], [s, c]])),
        "cosines alone": ("length", blocks(lambda c, s: [[c, 0], [0, c]])),
        "reflection": ("other", blocks(lambda c, s: [[c, s], [s, -c]])),
        "one too far": ("other", lambda delta, d: blocks(onward)(delta + 1, d)),
        "first block": ("shape", lambda delta, d: blocks(onward)(delta, 2)),
        "a row of the table": ("shape", lambda delta, d: encoding([delta], d)[0]),
        "of a position": ("arity", lambda delta, d, p: blocks(onward)(delta, d)),
    },
)


# blunt-peak: with the table and the matrix, where the check sums cosines


def weight(scale=8.0, shift=10, keys=501):
    table = encoding(range(keys), 64)
    moved = table @ blocks(onward)(shift, 64).T
    scores = np.exp(moved @ table[500] / scale - 32 / scale)
    return scores[490] / scores.sum()


BLUNT = Answers(
    right={
        "measured": ("c", weight()),
        "rounded": ("c", 0.02),
        "list": ["C", 0.0205],
        "float32 tensor": ("c", torch.tensor(weight(), dtype=torch.float32)),
        "bfloat16 tensor": ("c", torch.tensor(weight(), dtype=torch.bfloat16)),
        "NumPy": ("c", np.array([weight()])),
    },
    wrong={
        "nearly all": ("argmax", ("a", weight())),
        "half": ("half", ("b", 0.5)),
        "not scaled": ("unscaled", ("c", weight(1))),
        "divided by d": ("wrong-scale", ("c", weight(64))),
        "shifted back": ("forward", ("c", weight(shift=-10))),
        "no shift": ("no-shift", ("c", weight(shift=0))),
        "in percent": ("other", ("c", 2.05)),
        "later keys too": ("other", ("c", weight(keys=1001))),
        "no number": ("shape", ("c",)),
        "fourth choice": ("no-choice", ("d", weight())),
        "number first": ("no-choice", (weight(), "c")),
    },
)


# offset-from-rows: angle by angle


def angles(row_p, row_q):
    """How far each hand of p stands ahead of that of q, from −π to π, the fastest first."""
    turns = []
    for k in range(4):
        sine = row_p[2 * k] * row_q[2 * k + 1] - row_p[2 * k + 1] * row_q[2 * k]
        cosine = row_p[2 * k] * row_q[2 * k] + row_p[2 * k + 1] * row_q[2 * k + 1]
        turns.append(math.atan2(sine, cosine))
    return turns


def refined(hands=4):
    """The slowest hand's reading, made exact by one faster hand after the other."""

    def offset(row_p, row_q):
        turned = angles(row_p, row_q)
        estimate = turned[3] * 1000
        for k in [2, 1, 0][: hands - 1]:
            wave = 2 * math.pi * 10**k
            reading = turned[k] * 10**k
            estimate = reading + wave * round((estimate - reading) / wave)
        return estimate

    return offset


def decoded(row_p, row_q):
    """Each position by itself, as the nearest row of the table."""
    places = [np.linalg.norm(TABLE - row.numpy(), axis=1).argmin() for row in (row_p, row_q)]
    return places[0] - places[1]


TABLE = encoding(range(3001), 8)

OFFSET = Answers(
    right={
        "hand by hand": refined(),
        "rounded": lambda p, q: round(refined()(p, q)),
        "three hands": lambda p, q: round(refined(3)(p, q)),
        "two positions": decoded,
        "list": lambda p, q: [refined()(p, q)],
        "float32 tensor": lambda p, q: torch.tensor(refined()(p, q)).round(),
    },
    wrong={
        "slow hand": ("slow-hand-alone", refined(1)),
        "slow hand, rounded": ("slow-hand-alone", lambda p, q: round(refined(1)(p, q))),
        "two hands": ("stopped-early", refined(2)),
        "two hands, rounded": ("stopped-early", lambda p, q: round(refined(2)(p, q))),
        "fast hand": ("fast-hand-alone", lambda p, q: angles(p, q)[0]),
        "q − p": ("sign", lambda p, q: refined()(q, p)),
        "distance": ("unsigned", lambda p, q: abs(decoded(p, q))),
        "arctangent of a quotient": (
            "half-the-dial",
            lambda p, q: math.atan(math.tan(angles(p, q)[3])) * 1000,
        ),
        "mean": ("mean-of-hands", lambda p, q: sum(turn * 10**k for k, turn in enumerate(angles(p, q))) / 4),
        "from 0 to a turn": ("whole-turn", lambda p, q: refined()(p, q) % (2000 * math.pi)),
        "sum of positions": ("direction", lambda p, q: decoded(p, q) + 2 * decoded(q, 0 * q)),
        "ten times too much": ("other", lambda p, q: 10 * refined()(p, q)),
        "all hands": ("shape", angles),
        "truth": ("bool", lambda p, q: bool((p == q).all())),
    },
)

ANSWERS = {
    "row-by-hand": ROW,
    "sinusoidal-any-width": ANY_WIDTH,
    "one-row-a-text": ADDED,
    "shift-matrix": SHIFT,
    "blunt-peak": BLUNT,
    "offset-from-rows": OFFSET,
}
