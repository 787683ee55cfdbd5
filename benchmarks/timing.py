"""What every benchmark shares: times taken side by side, how they grow, and the table that says so.

Candidates are interleaved, so that whatever else the machine does slows all of them alike: trust the ratios.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

FEWEST = 3  # rounds, however long one takes


def wall_seconds(call: Callable[[], Any]) -> float:
    """How long one call takes by the clock."""
    start = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - start
    del result  # freed outside the timed part
    return elapsed


def cuda_seconds(call: Callable[[], Any]) -> float:
    """How long the GPU works on one call, by events: a clock would see the launch alone."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def seconds(call: Callable[[], Any]) -> float:
    """How long one call takes, on the GPU if this machine has one."""
    return cuda_seconds(call) if torch.cuda.is_available() else wall_seconds(call)


def interleaved(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    budget: float = float("inf"),
    warmups: int = 2,
    timer: Callable[[Callable[[], Any]], float] = seconds,
) -> dict[str, list[float]]:
    """Seconds of each call, name → one a round, every round in a fresh random order.

    Args:
        calls: name → function without arguments.
        rounds: at most so many, fewer once they have taken `budget` seconds, but FEWEST or `rounds` at least.
        warmups: rounds before that are not kept.
        timer: what takes one time.
    """
    order = random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(-warmups, rounds):
        if number == 0:
            start = time.perf_counter()
        elif number >= FEWEST and time.perf_counter() - start > budget:
            break
        for name in order.sample(list(calls), len(calls)):
            elapsed = timer(calls[name])
            if number >= 0:
                times[name].append(elapsed)
    return times


def median_and_p95(times: Sequence[float]) -> tuple[float, float]:
    """The middle, and what 95 of 100 stay below."""
    return tuple(np.quantile(times, (0.5, 0.95)).tolist())


def growth_exponent(lengths: Sequence[int], times: Sequence[float]) -> float:
    """The b of the least-squares line log(time) = a + b·log(length): 1 is linear, 2 quadratic."""
    return float(np.polyfit(np.log(lengths), np.log(times), 1)[0])


def goal(value: float, limit: float, *, at_least: bool = False) -> str:
    """Whether a value keeps to its limit, as a mark."""
    return "✓" if (value >= limit if at_least else value <= limit) else "✗"


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A Markdown table, padded so that it reads as plain text too: words left, everything else right."""
    rows = [list(header), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("|", " | ".join([row[0].ljust(widths[0]), *cells[1:]]), "|", flush=True)
