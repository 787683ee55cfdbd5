"""Interleaved timing, so that whatever else the machine does slows every candidate alike."""

import random
import statistics
import time


def interleaved_medians(calls, repetitions, *, warmups=3):
    """Median seconds of each call: name → function without arguments, run in a fresh random order each time."""
    order = random.Random(0)
    times = {name: [] for name in calls}
    for repetition in range(-warmups, repetitions):
        for name in order.sample(list(calls), len(calls)):
            start = time.perf_counter()
            result = calls[name]()
            elapsed = time.perf_counter() - start
            del result  # freed outside the timed part, before the next candidate allocates
            if repetition >= 0:
                times[name].append(elapsed)
    return {name: statistics.median(values) for name, values in times.items()}
