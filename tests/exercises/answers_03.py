"""Lesson 3: right answers in several forms, and wrong ones with the misconception each must be told."""

import math
from fractions import Fraction

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.answers import Answers

# table-row-gradient: by indexing in NumPy and by autograd, where the check sums a list

POSITIONS = np.array([[0, 0, 1, 2], [0, 1, 2, 3]])
GRADIENTS = np.array([[0.0, 2.0, -1.0, 3.0], [1.0, 5.0, -2.0, 6.0]])
REAL = np.array([[0, 1, 1, 1], [1, 1, 1, 1]])


def summed_at(positions, gradients=GRADIENTS):
    rows = np.zeros(6)
    np.add.at(rows, positions, gradients)
    return rows


def overwritten():
    rows = np.zeros(6)
    rows[POSITIONS.ravel()] += GRADIENTS.ravel()
    return rows


def by_autograd():
    table = torch.zeros(6, requires_grad=True)
    (table[torch.tensor(POSITIONS)] * torch.tensor(GRADIENTS)).sum().backward()
    return table.grad


ROW_GRADIENT = Answers(
    right={
        "list of int": [3, 4, 1, 6, 0, 0],
        "tuple of fractions": tuple(Fraction(int(value)) for value in summed_at(POSITIONS)),
        "NumPy": summed_at(POSITIONS),
        "autograd, float32": by_autograd(),
        "bfloat16": by_autograd().bfloat16(),
        "int tensor": by_autograd().long(),
    },
    wrong={
        "columns": ("columns", summed_at(np.arange(4) * np.ones((2, 1), dtype=int))),
        "mean over real tokens": ("mean", summed_at(POSITIONS) / np.maximum(summed_at(POSITIONS, REAL), 1)),
        "mean over texts": ("batch-mean", summed_at(POSITIONS) / 2),
        "indexed, not added": ("overwritten", overwritten()),
        "first text": ("one-text", summed_at(POSITIONS[0], GRADIENTS[0])),
        "tokens counted": ("visits", summed_at(POSITIONS, REAL)),
        "a step": ("step", -summed_at(POSITIONS)),
        "a small gradient": ("unvisited", [3, 4, 1, 6, 0.1, 0.1]),
        "weights decayed": ("unvisited", summed_at(POSITIONS) + 0.1),
        "absolute values": ("other", summed_at(POSITIONS, np.abs(GRADIENTS))),
        "pads and all": ("other", [3, 4, 4, 6, 0, 0]),
        "four rows": ("shape", summed_at(POSITIONS)[:4]),
    },
)


# unvisited-row: step by step


def after(steps, factor=1 - 1e-3 * 0.1):
    length = 1.0
    for _ in range(steps):
        length *= factor
    return length


UNVISITED = Answers(
    right={
        "tuple": ("b", after(20_000)),
        "list, capital": ["B", math.exp(-2)],
        "tensor": ("b", torch.tensor([after(20_000)])),
        "bfloat16": ("b", torch.tensor(after(20_000)).bfloat16()),
        "numpy": ("b", np.float32(after(20_000))),
    },
    wrong={
        "no gradient, no step": ("gradient-alone", ("a", 1.0)),
        "normalised by Adam": ("normalised", ("c", 0.02 - 20_000 * 1e-3)),
        "unchanged after all": ("unchanged", ("b", 1)),
        "without the learning rate": ("one-factor-missing", ("b", after(20_000, 1 - 0.1))),
        "without the decay": ("one-factor-missing", ("b", after(20_000, 1 - 1e-3))),
        "subtracted": ("subtracted", ("b", 1 - 20_000 * 1e-3 * 0.1)),
        "what went": ("what-went", ("b", 1 - after(20_000))),
        "per cent": ("percent", ("b", 100 * after(20_000))),
        "half of the steps": ("other", ("b", after(10_000))),
        "letter alone": ("text", "b"),
        "no such letter": ("no-choice", ("d", after(20_000))),
        "three": ("shape", ("b", after(20_000), 1)),
    },
)


# wrapped-row: token by token


def rows_added(place):
    """x with table[place(text, t)] added to token t of each text, a text being its list of 0 and 1."""

    def add(x, mask, table):
        out = x.tolist()
        for text, real in zip(out, mask.tolist(), strict=True):
            for t, token in enumerate(text):
                row = place(real, t)
                token[:] = token if row is None else np.add(token, table[row].tolist())
        return out

    return add


def real_before(real, t):
    return sum(real[:t]) if real[t] else 0


def less_pads(real, t):
    return t - real.count(0)


def from_mask(x, mask, table):
    return x + table[(mask.cumsum(1) - 1) * mask]


WRAPPED = Answers(
    right={
        "loops, lists": rows_added(real_before),
        "running sum": from_mask,
        "one-hot times table, float32": lambda x, mask, table: (
            x.float() + F.one_hot((mask.cumsum(1) - 1) * mask, len(table)).float() @ table.float()
        ),
        "bfloat16 result": lambda x, mask, table: from_mask(x, mask, table).bfloat16(),
        "NumPy": lambda x, mask, table: from_mask(x, mask, table).numpy(),
    },
    wrong={
        "as it was": ("wrapped", rows_added(less_pads)),
        "modulo": ("wrapped", rows_added(lambda real, t: less_pads(real, t) % 12)),
        "clamped": ("clamped", rows_added(lambda real, t: max(less_pads(real, t), 0))),
        "columns": ("columns", rows_added(lambda real, t: t)),
        "counted from 1": ("counted-from-one", rows_added(lambda real, t: sum(real[: t + 1]))),
        "counted from 1, pads at 0": ("counted-from-one", rows_added(lambda real, t: sum(real[: t + 1]) * real[t])),
        "pads at −1": ("pad-wrapped", rows_added(lambda real, t: sum(real[:t]) if real[t] else -1)),
        "pads in front at −1": ("pad-wrapped", rows_added(lambda real, t: sum(real[: t + 1]) - 1)),
        "pads behind": ("other-row-for-pads", rows_added(lambda real, t: max(sum(real[: t + 1]) - 1, 0))),
        "pads without a row": ("no-row-for-pads", rows_added(lambda real, t: sum(real[:t]) if real[t] else None)),
        "pads at 5": ("pads-only", rows_added(lambda real, t: sum(real[:t]) if real[t] else 5)),
        "nothing added": ("nothing-added", lambda x, mask, table: x),
        "from the end": ("other", rows_added(lambda real, t: sum(real[t + 1 :]) if real[t] else 0)),
        "the rows alone": ("other", lambda x, mask, table: table[(mask.cumsum(1) - 1) * mask]),
        "positions": ("shape", lambda x, mask, table: (mask.cumsum(1) - 1) * mask),
    },
)


# stretched-grid: with PyTorch's interpolation, where the check multiplies matrices


def interpolated(table, old, new, **options):
    grid = table.view(*old, -1).permute(2, 0, 1)[None]
    return F.interpolate(grid, size=new, **options)[0].permute(1, 2, 0).flatten(0, 1)


def bilinear(table, old, new):
    return interpolated(table, old, new, mode="bilinear", align_corners=True)


def stretch_line(rows, count):
    """The lesson's formula, on the first axis of an array."""
    u = np.arange(count) * (len(rows) - 1) / (count - 1)
    below = np.minimum(u.astype(int), len(rows) - 2)
    t = (u - below).reshape(-1, *[1] * (rows.ndim - 1))
    return (1 - t) * rows[below] + t * rows[below + 1]


def line_by_line(table, old, new):
    grid = stretch_line(table.numpy().reshape(*old, -1), new[0])
    return stretch_line(grid.swapaxes(0, 1), new[1]).swapaxes(0, 1).reshape(new[0] * new[1], -1)


def at_places(table, old, down, across):
    """The mixture of four neighbours at every pair of places, clamped to the grid."""
    grid, rows = table.numpy().reshape(*old, -1), []
    for y in np.clip(down, 0, old[0] - 1):
        for x in np.clip(across, 0, old[1] - 1):
            a, b = min(int(y), old[0] - 2), min(int(x), old[1] - 2)
            upper, lower = ((1 - x + b) * grid[i, b] + (x - b) * grid[i, b + 1] for i in (a, a + 1))
            rows.append((1 - y + a) * upper + (y - a) * lower)
    return np.array(rows)


def ends(old, new):
    return np.arange(new) * (old - 1) / (new - 1)


def by_ratio(table, old, new):
    return at_places(table, old, *(np.arange(b) * a / b for a, b in zip(old, new, strict=True)))


def by_rounding(table, old, new):
    return at_places(table, old, *(np.round(ends(a, b)) for a, b in zip(old, new, strict=True)))


def lines_copied(table, old, new):
    return at_places(table, old, np.round(ends(old[0], new[0])), ends(old[1], new[1]))


def columns_copied(table, old, new):
    return at_places(table, old, ends(old[0], new[0]), np.round(ends(old[1], new[1])))


def column_by_column(table, old, new):
    return bilinear(table, old, new).view(*new, -1).transpose(0, 1).reshape(new[0] * new[1], -1)


def corners_kept(table, old, new, middle):
    """A right answer but for what is not a corner."""
    rows = bilinear(table, old, new)
    inner = [row for row in range(len(rows)) if row not in (0, new[1] - 1, len(rows) - new[1], len(rows) - 1)]
    rows[inner] = middle(rows[inner])
    return rows


GRID = Answers(
    right={
        "interpolate": bilinear,
        "two lines, NumPy": line_by_line,
        "lists": lambda *inputs: line_by_line(*inputs).tolist(),
        "float32": lambda table, old, new: bilinear(table.float(), old, new),
        "bfloat16 result": lambda *inputs: bilinear(*inputs).bfloat16(),
    },
    wrong={
        "the list stretched": ("flattened", lambda table, old, new: stretch_line(table.numpy(), new[0] * new[1])),
        "half pixels": ("half-pixel", lambda *i: interpolated(*i, mode="bilinear", align_corners=False)),
        "by the ratio": ("open-end", by_ratio),
        "rounded": ("nearest", by_rounding),
        "lines copied": ("one-direction", lines_copied),
        "columns copied": ("one-direction", columns_copied),
        "width first": ("sides-swapped", lambda table, old, new: bilinear(table, old[::-1], new[::-1])),
        "column by column": ("column-order", column_by_column),
        "bicubic, half pixels": ("corners", lambda *i: interpolated(*i, mode="bicubic", align_corners=False)),
        "shares too large": ("outside", lambda *inputs: corners_kept(*inputs, middle=lambda rows: 3 * rows)),
        "the mean inside": ("other", lambda t, old, new: corners_kept(t, old, new, lambda rows: t.mean(0))),
        "three directions": ("shape", lambda table, old, new: bilinear(table, old, new).view(*new, -1)),
        "old and new alone": ("arity", lambda old, new: torch.zeros(new)),
    },
)

ANSWERS = {
    "table-row-gradient": ROW_GRADIENT,
    "unvisited-row": UNVISITED,
    "wrapped-row": WRAPPED,
    "stretched-grid": GRID,
}
