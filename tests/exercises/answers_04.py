"""Lesson 4: right answers in several forms, and wrong ones with the misconception each must be told."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch

from tests.exercises.answers import Answers

# rope-dot-product: each wrong answer from the mistake itself, in matrices, where the check uses complex numbers


def turned(vector, angle):
    """The vector turned counter-clockwise, by the plain 2 × 2 matrix in float64."""
    return matrix(angle) @ np.array(vector)


def matrix(angle):
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


Q, K, OMEGA = [1.0, 0.0], [0.0, 1.0], math.pi / 4
SCORE = turned(Q, 5 * OMEGA) @ turned(K, 3 * OMEGA)

DOT_PRODUCT = Answers(
    right={
        "int": 1,
        "float": 1.0,
        "rounded float32": float(np.float32(0.99999994)),
        "list": [1],
        "nested tuple": ((1.0,),),
        "fraction": Fraction(1),
        "decimal": Decimal("1.0"),
        "numpy scalar": np.float32(1),
        "numpy 0-d": np.array(1),
        "numpy 2-d": np.array([[1.0]]),
        "object array": np.array([Fraction(1)], dtype=object),
        "tensor": torch.tensor(1.0),
        "int tensor": torch.tensor([1]),
        "bfloat16": torch.tensor([1.0], dtype=torch.bfloat16),
        "with gradient": torch.ones(1, 1, requires_grad=True),
        "list of a tensor": [torch.tensor(1.0)],
        "parameter": torch.nn.Parameter(torch.tensor(1.0)),
    },
    wrong={
        "clockwise": ("sign", turned(Q, -5 * OMEGA) @ turned(K, -3 * OMEGA)),
        "positions swapped": ("sign", turned(Q, 3 * OMEGA) @ turned(K, 5 * OMEGA)),
        "not rotated": ("unrotated", np.dot(Q, K)),
        "positions added": ("unrotated", turned(Q, (5 + 3) * OMEGA) @ K),
        "cosine of the angle": ("unrotated", math.cos(2 * OMEGA)),
        "query alone rotated": ("one-rotated", turned(Q, 5 * OMEGA) @ K),
        "key alone rotated": ("one-rotated", Q @ turned(K, 3 * OMEGA)),
        "key counted from 1": ("offset", turned(Q, 5 * OMEGA) @ turned(K, 4 * OMEGA)),
        "query counted from 1": ("offset", turned(Q, 6 * OMEGA) @ turned(K, 3 * OMEGA)),
        "divided by √d": ("offset", SCORE / math.sqrt(2)),
        "π/4 taken for degrees": ("degrees", turned(Q, math.radians(5 * OMEGA)) @ turned(K, math.radians(3 * OMEGA))),
        "45 taken for radians": ("degrees", turned(Q, 5 * 45) @ turned(K, 3 * 45)),
        "ω left out": ("no-frequency", turned(Q, 5) @ turned(K, 3)),
        "the angle": ("angle", 5 * OMEGA - 3 * OMEGA),
        "one coordinate": ("one-term", turned(Q, 5 * OMEGA)[0] * turned(K, 3 * OMEGA)[0]),
        "multiplied by √d": ("too-long", SCORE * math.sqrt(2)),
        "anything else": ("other", 0.3),
    },
)


def swapped_sines(a, b):
    cos, sin = math.cos(b - a), math.sin(b - a)
    return [[sin, -cos], [cos, sin]]


def reflection(a, b):
    cos, sin = math.cos(b - a), math.sin(b - a)
    return [[cos, sin], [sin, -cos]]


TRANSPOSE = Answers(
    right={
        "product, NumPy": lambda a, b: matrix(a).T @ matrix(b),
        "single rotation": lambda a, b: matrix(b - a),
        "list": lambda a, b: matrix(b - a).tolist(),
        "tuple of arrays": lambda a, b: tuple(matrix(b - a)),
        "float32 tensor": lambda a, b: torch.tensor(matrix(b - a), dtype=torch.float32),
        "bfloat16 tensor": lambda a, b: torch.tensor(matrix(b - a), dtype=torch.bfloat16),
        "with more parameters": lambda a, b, dtype=float: matrix(b - a).astype(dtype),
    },
    wrong={
        "other way round": ("sign", lambda a, b: matrix(b).T @ matrix(a)),
        "the second transposed": ("sign", lambda a, b: matrix(a) @ matrix(b).T),
        "not transposed": ("no-transpose", lambda a, b: matrix(a) @ matrix(b)),
        "both transposed": ("other", lambda a, b: (matrix(a) @ matrix(b)).T),
        "β alone": ("one-rotation", lambda a, b: matrix(b)),
        "α alone": ("one-rotation", lambda a, b: matrix(a).T),
        "degrees": ("degrees", lambda a, b: matrix(math.radians(b) - math.radians(a))),
        "sin and cos swapped": ("swapped", swapped_sines),
        "reflection": ("no-rotation", reflection),
        "sum": ("no-rotation", lambda a, b: matrix(a).T + matrix(b)),
        "identity": ("other", lambda a, b: np.eye(2)),
        "returns nothing": ("none", lambda a, b: None),
        "a number": ("type", lambda a, b: math.cos(b - a)),
        "flat": ("shape", lambda a, b: matrix(b - a).ravel()),
        "one argument": ("arity", lambda a: matrix(a)),
        "the result": ("type", 1.0),
    },
)


# rope-interleaved, mixed-layouts: with 2 × 2 matrices, where the checks use complex numbers


def frequency(k, d):
    return 10_000 ** (-2 * k / d)


def rotate_pairs(x, positions, pairs, angle=lambda p, k, d: p * frequency(k, d)):
    """Each pair of dimensions turned by its own matrix."""
    out = np.asarray(x, dtype=float).copy()
    for row, p in zip(out, positions.tolist(), strict=True):
        for k, pair in enumerate(pairs(len(row))):
            row[list(pair)] = matrix(angle(p, k, len(row))) @ row[list(pair)]
    return out


def neighbours(d):
    return [(2 * k, 2 * k + 1) for k in range(d // 2)]


def halves(d):
    return [(k, k + d // 2) for k in range(d // 2)]


def rope_with(angle):
    return lambda x, positions: rotate_pairs(x, positions, neighbours, angle)


def rotate_half(x):
    first, second = x.chunk(2, dim=1)
    return torch.cat((-second, first), dim=1)


def rotate_neighbours(x):
    return torch.stack((-x[:, 1::2], x[:, 0::2]), dim=2).flatten(1)


def elementwise(rotate, layout, sign=1):
    """x⊗cos + rot(x)⊗sin in float32, as public code writes it."""

    def rope(x, positions):
        x, d = x.float(), x.shape[1]
        omega = 1 / 10_000 ** (torch.arange(0, d, 2).float() / d)
        angle = layout(positions[:, None] * omega)
        return x * angle.cos() + sign * rotate(x) * angle.sin()

    return rope


def repeat(angle):
    return angle.repeat(1, 2)


def interleave(angle):
    return angle.repeat_interleave(2, dim=1)


def pairs_concatenated(x, positions):
    turned = rotate_pairs(x, positions, neighbours)
    return np.concatenate((turned[:, 0::2], turned[:, 1::2]), axis=1)


def changes_its_input(x, positions):
    x[:] = torch.as_tensor(rotate_pairs(x, positions, neighbours))
    positions.zero_()
    return x


ROPE = Answers(
    right={
        "matrices, NumPy": lambda x, positions: rotate_pairs(x, positions, neighbours),
        "lists": lambda x, positions: rotate_pairs(x, positions, neighbours).tolist(),
        "rows of tensors": lambda x, positions: [*torch.tensor(rotate_pairs(x, positions, neighbours))],
        "element-wise, float32": elementwise(rotate_neighbours, interleave),
        "bfloat16 result": lambda x, p: elementwise(rotate_neighbours, interleave)(x, p).bfloat16(),
        "in place": changes_its_input,
    },
    wrong={
        "clockwise": ("sign", rope_with(lambda p, k, d: -p * frequency(k, d))),
        "halves": ("layout", lambda x, positions: rotate_pairs(x, positions, halves)),
        "concatenated": ("concatenated", pairs_concatenated),
        "halves rotated": ("mixed", elementwise(rotate_half, interleave)),
        "halves' angles": ("mixed", elementwise(rotate_neighbours, repeat)),
        "exponent without 2": ("exponent", rope_with(lambda p, k, d: p * 10_000 ** (-k / d))),
        "exponent's sign": ("exponent", rope_with(lambda p, k, d: p * 10_000 ** (2 * k / d))),
        "one frequency": ("one-frequency", rope_with(lambda p, k, d: p)),
        "degrees": ("degrees", rope_with(lambda p, k, d: math.radians(p * frequency(k, d)))),
        "sin and cos swapped": ("swapped", rope_with(lambda p, k, d: math.pi / 2 - p * frequency(k, d))),
        "counted from 1": ("counted-from-one", rope_with(lambda p, k, d: (p + 1) * frequency(k, d))),
        "rows counted": ("index", lambda x, p: rotate_pairs(x, torch.arange(len(p)), neighbours)),
        "not rotated": ("unrotated", lambda x, positions: x),
        "a sign lost": ("norm", elementwise(lambda x: rotate_neighbours(x).abs(), interleave)),
        "base 500 000": ("other", rope_with(lambda p, k, d: p * 500_000 ** (-2 * k / d))),
        "transposed": ("shape", lambda x, positions: rotate_pairs(x, positions, neighbours).T),
        "half the width": ("shape", lambda x, positions: x[:, ::2]),
    },
)

MIXED = Answers(
    right={
        "matrices, NumPy": lambda x, positions: rotate_pairs(x, positions, halves),
        "tuples": lambda x, positions: tuple(map(tuple, rotate_pairs(x, positions, halves))),
        "element-wise, float32": elementwise(rotate_half, repeat),
        "bfloat16 result": lambda x, p: elementwise(rotate_half, repeat)(x, p).bfloat16(),
    },
    wrong={
        "as it was": ("mixed", elementwise(rotate_half, interleave)),
        "mixed the other way": ("mixed", elementwise(rotate_neighbours, repeat)),
        "neighbours": ("layout", elementwise(rotate_neighbours, interleave)),
        "clockwise": ("sign", elementwise(rotate_half, repeat, sign=-1)),
        "not rotated": ("unrotated", lambda x, positions: x),
        "no minus": ("norm", elementwise(lambda x: x.roll(x.shape[1] // 2, 1), repeat)),
        "one frequency": ("other", lambda x, p: rotate_pairs(x, p, halves, lambda p, k, d: p)),
        "raises": ("raises", lambda x, positions: x @ positions),
    },
)


# bfloat16-angles


def cosines_in(position_dtype=torch.float64, frequency_dtype=torch.float64, angle_dtype=torch.float64):
    """Cosines with each of the three steps in a format of its own."""

    def cosines(positions, d):
        omega = torch.tensor([frequency(k, d) for k in range(d // 2)], dtype=torch.float64).to(frequency_dtype)
        return torch.cos((positions.to(position_dtype)[:, None] * omega).to(angle_dtype))

    return cosines


COSINES = Answers(
    right={
        "NumPy": lambda p, d: np.cos(np.outer(p.numpy(), [frequency(k, d) for k in range(d // 2)])),
        "lists": lambda p, d: [[math.cos(place * frequency(k, d)) for k in range(d // 2)] for place in p.tolist()],
        "cast last": lambda p, d: cosines_in()(p, d).bfloat16(),
        "float32 throughout": cosines_in(torch.float32, torch.float32, torch.float32),
    },
    wrong={
        "as it was": ("other", cosines_in(torch.bfloat16, torch.bfloat16, torch.bfloat16)),
        "positions": ("positions-cast", cosines_in(position_dtype=torch.bfloat16)),
        "angles": ("angles-cast", cosines_in(angle_dtype=torch.bfloat16)),
        "frequencies": ("frequencies-cast", lambda p, d: cosines_in(frequency_dtype=torch.bfloat16)(p, d).bfloat16()),
        "half-precision angles": ("other", cosines_in(angle_dtype=torch.float16)),
        "sines": ("sine", lambda p, d: np.sin(np.outer(p.numpy(), [frequency(k, d) for k in range(d // 2)]))),
        "angles themselves": ("no-cosine", lambda p, d: np.outer(p.numpy(), [frequency(k, d) for k in range(d // 2)])),
        "exponent without 2": ("from-the-start", lambda p, d: cosines_in()(p, 2 * d)[:, : d // 2]),
        "both entries of a pair": ("shape", lambda p, d: cosines_in()(p, d).repeat_interleave(2, dim=1)),
    },
)


# rotated-values, decode-offset: query by query, where the checks use whole matrices


def attention(q, k, v, allowed=lambda i, j: True, scale=None):
    """Softmax over the allowed keys, one query after the other, NumPy."""
    q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
    rows = []
    for i, query in enumerate(q):
        keys = [j for j in range(len(k)) if allowed(i, j)]
        weight = np.exp([query @ k[j] / (scale or math.sqrt(q.shape[1])) for j in keys])
        rows.append(sum(w * v[j] for w, j in zip(weight / weight.sum(), keys, strict=True)))
    return np.array(rows)


def rope(x, positions):
    return rotate_pairs(x, positions, neighbours)


def attend(q, k, v, positions):
    return attention(rope(q, positions), rope(k, positions), v)


def attend_in_torch(q, k, v, positions):
    q, k = (torch.tensor(rope(x, positions), dtype=torch.float32) for x in (q, k))
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None].float())[0]


VALUES = Answers(
    right={
        "NumPy": attend,
        "lists": lambda q, k, v, p: attend(q, k, v, p).tolist(),
        "torch, float32": attend_in_torch,
        "positions moved": lambda q, k, v, p: attend(q, k, v, p + 100),
        "NumPy, float32": lambda q, k, v, p: attend(q, k, v, p).astype(np.float32),
    },
    wrong={
        "as it was": ("values-rotated", lambda q, k, v, p: attend(q, k, rope(v, p), p)),
        "output turned": ("output-rotated", lambda q, k, v, p: rope(attend(q, k, v, p), p)),
        "turned and back": ("turned-back", lambda q, k, v, p: rope(attend(q, k, rope(v, p), p), -p)),
        "nothing turned": ("nothing-rotated", lambda q, k, v, p: attention(q, k, v)),
        "query alone": ("query-only", lambda q, k, v, p: attention(rope(q, p), k, v)),
        "key alone": ("key-only", lambda q, k, v, p: attention(q, rope(k, p), v)),
        "not scaled": ("unscaled", lambda q, k, v, p: attention(rope(q, p), rope(k, p), v, scale=1)),
        "causal": ("other", lambda q, k, v, p: attention(rope(q, p), rope(k, p), v, lambda i, j: j <= i)),
        "scores": ("shape", lambda q, k, v, p: rope(q, p) @ rope(k, p).T),
    },
)


def decode_at(q_place, k_place=None):
    """Decoding with a cache of turned keys that tells token t after the prompt these places."""

    def decode(q, k, v, prompt):
        def place(of, t):
            return torch.tensor([t if t < prompt else of(t, prompt)])

        cache, outputs = [], []
        for t in range(len(q)):
            cache.append(rope(k[t : t + 1], place(k_place or q_place, t))[0])
            outputs.append(attention(rope(q[t : t + 1], place(q_place, t)), cache, v[: t + 1])[0])
        return outputs

    return decode


def one_pass(q, k, v, prompt):
    at = torch.arange(len(q))
    return attention(rope(q, at), rope(k, at), v, lambda i, j: j <= i)


def prompt_alone(q, k, v, prompt):
    return one_pass(q[:prompt], k[:prompt], v[:prompt], prompt)


DECODE = Answers(
    right={
        "rows": decode_at(lambda t, prompt: t),
        "one pass": one_pass,
        "lists": lambda *inputs: one_pass(*inputs).tolist(),
        "float32": lambda *inputs: torch.tensor(one_pass(*inputs), dtype=torch.float32),
        "all places moved": lambda q, k, v, prompt: attention(
            rope(q, torch.arange(len(q)) + 7), rope(k, torch.arange(len(q)) + 7), v, lambda i, j: j <= i
        ),
    },
    wrong={
        "as it was": ("one-too-many", decode_at(lambda t, prompt: t + 1)),
        "one too few": ("one-too-few", decode_at(lambda t, prompt: t - 1)),
        "restarts": ("restart", decode_at(lambda t, prompt: t - prompt)),
        "always 0": ("always-zero", decode_at(lambda t, prompt: 0)),
        "query alone": ("query-alone", decode_at(lambda t, prompt: t + 1, lambda t, prompt: t)),
        "key alone": ("key-alone", decode_at(lambda t, prompt: t, lambda t, prompt: t + 1)),
        "prompt's length, stuck": ("other", decode_at(lambda t, prompt: prompt)),
        "prompt alone": ("shape", prompt_alone),
        "not causal": ("other", lambda q, k, v, prompt: attend(q, k, v, torch.arange(len(q)))),
    },
)

ANSWERS = {
    "rope-dot-product": DOT_PRODUCT,
    "rotation-transpose": TRANSPOSE,
    "rope-interleaved": ROPE,
    "rotated-values": VALUES,
    "mixed-layouts": MIXED,
    "bfloat16-angles": COSINES,
    "decode-offset": DECODE,
}
