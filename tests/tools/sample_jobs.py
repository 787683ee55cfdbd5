"""Jobs for the tests of the runner: workers import this file, as they do those of tools/."""

import os
import time
from pathlib import Path

import torch


def square(number, folder, seconds=0.0):
    """The square, after leaving a file that says that this job ran, and in which process."""
    Path(folder, f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return {"square": number**2}, {"number": torch.tensor([float(number)])}


def add(tensors, number):
    return {"sum": float(tensors["start"].sum()) + number}, {}


def refuse_odd(number):
    if number % 2:
        raise ValueError(f"number must be even, got {number}")
    return {"half": number // 2}, {}
