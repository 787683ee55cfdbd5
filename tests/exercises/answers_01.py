"""Lesson 1: right answers in several forms, and wrong ones with the misconception each must be told."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import torch

from tests.exercises.answers import Answers

# moved-pattern: by words, where the check uses indices

WORDS, NEW_ORDER = ["dog", "bites", "man"], ["man", "dog", "bites"]
GIVES = {
    ("dog", "dog"): 0.7,
    ("dog", "bites"): 0.1,
    ("dog", "man"): 0.2,
    ("bites", "dog"): 0.25,
    ("bites", "bites"): 0.6,
    ("bites", "man"): 0.15,
    ("man", "dog"): 0.05,
    ("man", "bites"): 0.4,
    ("man", "man"): 0.55,
}


def table(rows, columns):
    return [[GIVES[asks, offers] for offers in columns] for asks in rows]


MOVED = table(NEW_ORDER, NEW_ORDER)
P = np.eye(3)[[2, 0, 1]]

PATTERN = Answers(
    right={
        "list": MOVED,
        "tuples": tuple(map(tuple, MOVED)),
        "PAPᵀ, NumPy": P @ np.array(table(WORDS, WORDS)) @ P.T,
        "float32 tensor": torch.tensor(MOVED),
        "fractions": [[Fraction(str(weight)) for weight in row] for row in MOVED],
    },
    wrong={
        "as it was": ("identical", table(WORDS, WORDS)),
        "PA": ("rows-alone", table(NEW_ORDER, WORDS)),
        "APᵀ": ("columns-alone", table(WORDS, NEW_ORDER)),
        "PᵀAP": ("other-way", table(["bites", "man", "dog"], ["bites", "man", "dog"])),
        "transposed": ("transposed", np.array(MOVED).T),
        "a number twice": ("row-sums", [[0.55, 0.05, 0.4], [0.2, 0.7, 0.2], [0.15, 0.25, 0.6]]),
        "reversed": ("other", table(WORDS[::-1], WORDS[::-1])),
        "flat": ("shape", np.array(MOVED).ravel()),
        "with words": ("text", [NEW_ORDER, *MOVED[1:]]),
    },
)


# counts-by-place: with binomials and factorials, and measured, where the check lists what is seen

ONE = [5 * math.comb(4, place) for place in range(5)]
TWO = [math.factorial(5) // math.factorial(4 - place) for place in range(5)]


def measured(layers):
    """How many different outputs each place shows over all orders, NumPy."""
    random = np.random.default_rng(1)
    x = random.normal(size=(5, 16))[list(permutations(range(5)))]
    for _ in range(layers):
        q, k, v = (x @ random.normal(size=(16, 16)) / 4 for _ in range(3))
        weight = np.exp(q @ k.swapaxes(1, 2) / 4) * np.tri(5)
        x = x + weight / weight.sum(2, keepdims=True) @ v
    return [len(np.unique(x[:, place].round(6), axis=0)) for place in range(5)]


COUNTS = Answers(
    right={
        "list": [ONE, TWO],
        "measured": np.array([measured(1), measured(2)]),
        "float32 tensor": torch.tensor([ONE, TWO], dtype=torch.float32),
        "tuples": (tuple(ONE), tuple(TWO)),
    },
    wrong={
        "depth changes nothing": ("depth", [measured(1), measured(1)]),
        "order in one layer": ("order-at-once", [TWO, TWO]),
        "no mask": ("no-mask", [[5] * 5, [5] * 5]),
        "sets": ("reader", [[math.comb(5, place + 1) for place in range(5)], TWO]),
        "rows changed": ("rows", [TWO, ONE]),
        "all orders everywhere": ("first-place", [[120] * 5, [120] * 5]),
        "four words before": ("first-place", [[4, 12, 12, 4, 1], [4, 12, 24, 24, 24]]),
        "powers": ("too-many", [[5, 25, 125, 625, 3125], TWO]),
        "the second sees the set alone": ("less-with-depth", [ONE, [5, 20, 10, 5, 1]]),
        "three layers": ("shape", [ONE, TWO, TWO]),
        "one too few": ("other", [[5, 16, 18, 8, 5], TWO]),
    },
)


# changed-past: query by query, where the check uses whole matrices

ROOT = math.sqrt(8)  # of the width of the vectors drawn


def attention(q, k, v, allowed=lambda i, j: j <= i, *, scale=None, ones_for_hidden=False, whole_denominator=False):
    """Softmax over the allowed keys, one query after the other, NumPy."""
    q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
    rows = []
    for i, query in enumerate(q):
        above = np.exp(k @ query / (scale or math.sqrt(q.shape[1])))
        below = above.copy()
        for j in range(len(k)):
            if not allowed(i, j):
                above[j] = 1.0 if ones_for_hidden else 0.0
                below[j] = below[j] if whole_denominator else above[j]
        rows.append(above @ v / max(below.sum(), 1e-9))
    return np.array(rows)


def in_torch(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]


def renormalised(q, k, v):
    weight = torch.softmax(q @ k.T / math.sqrt(q.shape[1]), dim=1).tril()
    return weight / weight.sum(1, keepdim=True) @ v


def over_queries(q, k, v):
    return torch.softmax((q @ k.T / ROOT).masked_fill(torch.ones(len(q), len(q)).triu(1) > 0, -1e9), dim=0) @ v


def added_mask(q, k, v):
    return torch.softmax(q @ k.T / ROOT - torch.ones(len(q), len(q)).triu(1), dim=1) @ v


CAUSAL = Answers(
    right={
        "NumPy": attention,
        "lists": lambda q, k, v: attention(q, k, v).tolist(),
        "torch, float32": lambda q, k, v: in_torch(q.float(), k.float(), v.float()),
        "bfloat16 result": lambda q, k, v: in_torch(q, k, v).bfloat16(),
        "masked after, then divided again": renormalised,
    },
    wrong={
        "as it was": ("after-softmax", lambda q, k, v: attention(q, k, v, whole_denominator=True)),
        "zeros for scores": ("zero-scores", lambda q, k, v: attention(q, k, v, ones_for_hidden=True)),
        "no mask": ("unmasked", lambda q, k, v: attention(q, k, v, lambda i, j: True)),
        "the future alone": ("wrong-triangle", lambda q, k, v: attention(q, k, v, lambda i, j: j >= i)),
        "without itself": ("not-itself", lambda q, k, v: attention(q, k, v, lambda i, j: j < i)),
        "other axis": ("wrong-axis", over_queries),
        "not scaled": ("unscaled", lambda q, k, v: attention(q, k, v, scale=1)),
        "−1 for −∞": ("leak", added_mask),
        "no denominator": ("weights-sum", lambda q, k, v: torch.exp(q @ k.T / ROOT).tril() @ v),
        "divided by d": ("other", lambda q, k, v: attention(q, k, v, scale=8)),
        "NaN in the first row": ("not-finite", lambda q, k, v: attention(q, k, v) * [[math.nan]]),
        "weights": ("shape", lambda q, k, v: torch.softmax(q @ k.T, dim=1).tril()),
    },
)


# bag-of-words: small texts written out, or word by word


def text(q, k, v, counts):
    """Each of the N words as a query over the text that holds word n counts[n] times; the largest counts are cut."""
    counts = counts.clamp(max=2000)
    keys, values = (x.repeat_interleave(counts, dim=0) for x in (k, v))
    return attention(q, keys, values, lambda i, j: True)


def weighed(weigh, scale=ROOT):
    """Word by word, with weigh(exponential of the score, count) for the weight before it is divided by the sum."""

    def outputs(q, k, v, counts):
        rows = []
        for query in q:
            shares = torch.stack([weigh(torch.exp(query @ k[n] / scale), counts[n]) for n in range(len(k))])
            rows.append((shares[:, None] * v).sum(0) / shares.sum())
        return torch.stack(rows)

    return outputs


def log_counts(q, k, v, counts):
    return torch.softmax(q @ k.T / math.sqrt(q.shape[1]) + counts.log(), dim=1) @ v


def once_each(q, k, v, counts):
    return attention(q, k, v, lambda i, j: True)


def louder_keys(q, k, v, counts):
    return torch.nn.functional.scaled_dot_product_attention(q[None], (k * counts[:, None])[None], v[None])[0]


def counts_in_the_numerator(q, k, v, counts):
    return once_each(q, k, v * counts[:, None], counts)


def no_denominator(q, k, v, counts):
    return torch.exp(q @ k.T / ROOT) * counts @ v


def sums_of_values(q, k, v, counts):
    return torch.softmax(q @ k.T / ROOT, dim=1) @ v * counts.sum()


BAG = Answers(
    right={
        "log counts": log_counts,
        "log counts, float32": lambda q, k, v, counts: log_counts(q.float(), k.float(), v.float(), counts),
        "word by word": weighed(lambda e, count: e * count),
        "shares of the text": weighed(lambda e, count: e * count / 1e6),
        "lists": lambda *inputs: log_counts(*inputs).tolist(),
        "NumPy": lambda *inputs: log_counts(*inputs).numpy(),
        "bfloat16 result": lambda *inputs: log_counts(*inputs).bfloat16(),
    },
    wrong={
        "once each": ("counts-ignored", once_each),
        "0 or 1": ("other", weighed(lambda e, count: e * (count > 0))),
        "count times score": ("times-scores", louder_keys),
        "count added": (
            "added-to-scores",
            lambda q, k, v, counts: torch.softmax(q @ k.T / ROOT + counts, dim=-1) @ v,
        ),
        "above alone": ("numerator-alone", counts_in_the_numerator),
        "log(1 + count)": ("once-more", weighed(lambda e, count: e * torch.exp(torch.log1p(count.double())))),
        "times the reader's count": ("reader-counted", lambda q, k, v, c: c.numpy()[:, None] * once_each(q, k, v, c)),
        "not scaled": ("unscaled", weighed(lambda e, count: e * count, scale=1)),
        "counts reversed": ("text-order", lambda q, k, v, counts: log_counts(q, k, v, counts.flip(0))),
        "no denominator": ("not-normalised", no_denominator),
        "times the length": ("not-normalised", sums_of_values),
        "root of the count": ("other", weighed(lambda e, count: e * count**0.5)),
        "count and one more": ("not-shares", weighed(lambda e, count: e * (count + 2))),
        "text cut short": ("not-shares", text),
        "transposed": ("shape", lambda *inputs: log_counts(*inputs).T),
        "in place of a count": ("raises", lambda q, k, v, counts: v[counts]),
    },
)


# average-over-orders: entry by entry, or over the orders themselves


def averaged(matrix, diagonal=None, other=None):
    """Every entry replaced by a mean, entry by entry; `diagonal` and `other` make the means of the two lists."""
    matrix = np.asarray(matrix, dtype=float)
    length = len(matrix)
    on = [matrix[i, i] for i in range(length)]
    off = [matrix[i, j] for i in range(length) for j in range(length) if i != j]
    a, b = (diagonal or np.mean)(on), (other or np.mean)(off)
    return np.array([[a if i == j else b for j in range(length)] for i in range(length)])


def over(orders):
    """The mean of P M Pᵀ over the orders that `orders` makes of a length."""

    def mean(matrix):
        return torch.stack([matrix[list(order)][:, list(order)] for order in orders(len(matrix))]).mean(0)

    return mean


def all_orders_of_a_few(length):
    """All of them up to five words; for more, the cyclic ones."""
    return permutations(range(length)) if length < 6 else rotations(length)


def rotations(length):
    return [[(i + n) % length for i in range(length)] for n in range(length)]


def identity_and_ones(matrix):
    """a I + b 11ᵀ with a and b from the trace and from the sum of all entries."""
    length = len(matrix)
    trace, total = matrix.trace(), matrix.sum()
    b = (total - trace) / (length * length - length)
    return (trace / length - b) * torch.eye(length) + b


def wrong_b(matrix):
    a = averaged(matrix)
    return np.where(np.eye(len(a)) > 0, a, a * (len(a) - 1) / len(a))


AVERAGE = Answers(
    right={
        "entry by entry, NumPy": averaged,
        "lists": lambda matrix: averaged(matrix).tolist(),
        "identity and ones": identity_and_ones,
        "float32": lambda matrix: identity_and_ones(matrix.float()),
        "bfloat16 result": lambda matrix: identity_and_ones(matrix).bfloat16(),
    },
    wrong={
        "one mean": ("one-mean", lambda matrix: np.full(matrix.shape, matrix.mean().item())),
        "with its transpose": ("symmetrised", lambda matrix: matrix / 2 + matrix.T / 2),
        "cyclic orders": ("cyclic", over(rotations)),
        "orders until it gets long": ("not-free", over(all_orders_of_a_few)),
        "diagonal kept": ("diagonal-kept", lambda m: np.where(np.eye(len(m)) > 0, m.numpy(), averaged(m))),
        "diagonal alone": ("diagonal-alone", lambda matrix: averaged(matrix, other=lambda off: 0.0)),
        "divided by T²": ("denominator", wrong_b),
        "b twice": ("double-diagonal", lambda m: averaged(m) + np.eye(len(m)) * averaged(m)[0, 1]),
        "means of rows": ("rows", lambda m: np.repeat(m.numpy().mean(1, keepdims=True), len(m), axis=1)),
        "as it was": ("not-free", lambda matrix: matrix),
        "sums": ("other", lambda matrix: averaged(matrix, sum, sum)),
        "medians": ("other", lambda matrix: averaged(matrix, np.median, np.median)),
        "two numbers": ("shape", lambda matrix: averaged(matrix)[0, :2].repeat(2)),
        "a number": ("type", lambda matrix: matrix.mean().item()),
    },
)

ANSWERS = {
    "moved-pattern": PATTERN,
    "counts-by-place": COUNTS,
    "changed-past": CAUSAL,
    "bag-of-words": BAG,
    "average-over-orders": AVERAGE,
}
