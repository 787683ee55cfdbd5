"""Each benchmark runs, at sizes that say nothing about speed, and its table holds a row for all that it promises.

bench_browser needs a browser and a minute: tests/browser has its parts.
"""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from benchmarks import bench_alibi_memory, bench_lessons
from benchmarks.bench_widgets import FEW, walk
from tools.store_notebooks import METADATA

ROOT = Path(__file__).resolve().parents[2]
# Compiling takes minutes; uncompiled, the same functions run.
UNCOMPILED = os.environ | {"TORCHDYNAMO_DISABLE": "1"}


def table_in(text):
    """First cell → the others, of every row of the tables in a text."""
    rows = [line[1:-1].split("|") for line in text.splitlines() if line.startswith("|")]
    return {first.strip(): [cell.strip() for cell in others] for first, *others in rows}


def rows_of(name, *arguments):
    """The tables that a benchmark prints, run as a person runs it."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=UNCOMPILED, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return table_in(ran.stdout)


@pytest.mark.parametrize("count", [2, 3, FEW, FEW + 1, 700])
@pytest.mark.parametrize("now", [0, 1])
def test_a_walk_never_stands_still_and_sees_few_values_all_first(count, now):
    first, timed = walk(range(count), now, 50)
    path = [now, *first, *timed]
    assert len(timed) == 50
    assert all(a != b for a, b in itertools.pairwise(path))
    if count <= FEW:
        assert sorted(first) == list(range(count))
    else:
        laps = [path[1 + start : 1 + start + count] for start in range(0, len(path) - 1, count)]
        assert all(len(set(lap)) == len(lap) for lap in laps)


def test_widgets_measures_the_slider_and_what_redraws():
    rows = rows_of("bench_widgets", "--repetitions", "2", "--widgets", "alibi_row", "rope_dial")
    assert {label: cells[0] for label, cells in rows.items() if ": " in label} == {
        "widget: control": "kind",
        "alibi_row: bonus_at": "moved",
        "alibi_row: heads": "redrawn",
        "rope_dial: m": "moved",
    }


def test_scaling_measures_all_families_and_draws_them(tmp_path):
    for peer in ("transformers", "rotary_embedding_torch", "x_transformers"):
        pytest.importorskip(peer)
    picture = tmp_path / "scaling.png"
    rows = rows_of("bench_scaling", "--rounds", "1", "--longest", "32", "--picture", str(picture))
    for limit in ("clone of q and k", "SDPA causal, no bias", "clone of a bias", "clone of cos and sin"):
        assert rows[limit][1] == "1.00"
    errors = {name: float(rows[name][3]) for name in ("apply_rope half", "yarn")}  # the last table's: bfloat16
    assert errors["apply_rope half"] < 0.02  # rounding of values up to 5 to 8 bits
    assert errors["yarn"] < 0.005  # and of values up to 1.14
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_lessons_names_the_slowest_cells(tmp_path, capsys):
    lesson = tmp_path / "lesson.ipynb"
    cells = [new_code_cell(source) for source in ("1", "import time\ntime.sleep(0.5)", "2")]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), lesson)
    bench_lessons.print_lessons([lesson])
    total, _, slowest, _ = table_in(capsys.readouterr().out)["lesson.ipynb"]
    assert float(total.split()[0]) > 0.5
    number, seconds, line = slowest.replace(":", ",").split(", ")
    assert (number, line) == ("1", "import time")
    assert float(seconds) >= 0.5


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's /proc")
def test_memory_of_a_dense_bias_is_at_least_its_own():
    length = 2048
    own = bench_alibi_memory.HEADS * length**2 * 4 / 2**20
    assert bench_alibi_memory.peak_mib("SDPA, dense bias", length, torch.float32) >= own
    assert bench_alibi_memory.peak_mib("SDPA causal, no bias", length, torch.float32) < own / 2
