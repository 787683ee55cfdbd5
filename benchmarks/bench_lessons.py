"""How long a learner waits: for `import posenc_lib`, and for each lesson run from top to bottom.

Imports are timed in fresh processes that alternate, Python's own start included; `import torch` alone is what they
cannot do without. Each lesson runs in a fresh kernel, whose start is part of its time; "slowest cells" are the cell's
number, its seconds and its first line.

    python -m benchmarks.bench_lessons [--rounds 7] [--lessons notebooks/04_rope_rotation.ipynb …]   # extra `test`
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from benchmarks.timing import goal, interleaved, median_and_p95, print_table, wall_seconds
from tools.store_notebooks import first_line, lessons

IMPORTS = ("pass", "import torch", "import posenc_lib", "import posenc_lib.widgets")
GOAL = 60  # seconds a lesson, on two cores
SHOWN = 2  # cells a lesson


def print_imports(rounds: int) -> None:
    calls = {line: lambda line=line: subprocess.run([sys.executable, "-c", line], check=True) for line in IMPORTS}
    times = interleaved(calls, rounds, timer=wall_seconds)
    print(f"A fresh process, {rounds} alternating rounds.\n")
    rows = [[line, *(f"{time:.2f}" for time in median_and_p95(taken))] for line, taken in times.items()]
    print_table(["python -c", "median s", "p95 s"], rows)


def cell_seconds(cell: NotebookNode) -> float:
    """From the kernel's word that it begins to its reply; 0 for a cell that is not run."""
    timing = cell.metadata.get("execution", {})
    if "shell.execute_reply" not in timing:
        return 0.0
    begin, end = (datetime.fromisoformat(timing[event]) for event in ("iopub.status.busy", "shell.execute_reply"))
    return (end - begin).total_seconds()


def run(path: Path) -> tuple[float, NotebookNode]:
    """Seconds from nothing to the last cell's end, and the notebook with each cell's timing."""
    notebook = nbformat.read(path, as_version=4)
    options = {"timeout": 600, "extra_arguments": ["--log-level=ERROR"]}
    client = NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}, **options)
    with tempfile.TemporaryDirectory() as scratch:
        env = os.environ | {"POSENC_PROGRESS": str(Path(scratch, "progress.json"))}
        return wall_seconds(lambda: client.execute(env=env)), notebook


def print_lessons(paths: Sequence[Path]) -> None:
    rows = []
    for path in paths:
        total, notebook = run(path)
        cells = sorted(enumerate(notebook.cells), key=lambda pair: -cell_seconds(pair[1]))[:SHOWN]
        slowest = [f"{number}: {cell_seconds(cell):.1f}, {first_line(cell)[:44]}" for number, cell in cells]
        outside = total - sum(map(cell_seconds, notebook.cells))
        rows.append([path.name, f"{total:.1f} {goal(total, GOAL)}", f"{outside:.1f}", *slowest])
    print(f"\nEach lesson in a fresh kernel; goal: within {GOAL} s.\n")
    print_table(["lesson", "seconds", "kernel and client", *["slowest cells"] * SHOWN], rows)


def main(rounds: int, paths: Sequence[Path]) -> None:
    print_imports(rounds)
    print_lessons(paths)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Import times, and each lesson's run time.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lessons", nargs="+", type=Path, default=lessons())
    options = parser.parse_args()
    main(options.rounds, options.lessons)
