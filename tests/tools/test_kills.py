"""Killed at any moment with all that it started, each tool is right at its next start and has lost nothing.

Ten moments each, spread over the time that a run takes once its imports are done, and one more in which a file is half
written. What takes minutes in earnest is made small here; the code that runs is the real one.
"""

import functools
import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.test_setup import Project
from tools.job_runner import read_result, write_atomically
from tools.store_notebooks import METADATA

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no process groups to kill")

ROOT = Path(__file__).resolve().parents[2]
KILLS = 10
QUICK = (3, 7)  # of the ten; the others are slow
LIMIT = 300  # seconds, for a run that would otherwise hang

every_kill = [pytest.param(number, marks=() if number in QUICK else pytest.mark.slow) for number in range(KILLS)]

DIE_HALF_WRITTEN = """
import os
def die(part, whole):
    os.truncate(part, os.path.getsize(part) // 2)
    os.killpg(0, 9)
os.replace = die"""


def kill(process, number, seconds):
    """Kill the group somewhere in that tenth of the time; returns what it printed.

    Its children have the pipe, too: when this returns they are gone.
    """
    time.sleep((number + random.Random(number).random()) / KILLS * seconds)
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate(timeout=LIMIT)[0]


def finish(process):
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, said.decode()


@dataclass(frozen=True)
class Work:
    """Python code that leaves files in `folder`, with the same content each time."""

    imports: str
    code: str
    prepare: Callable[[Path], None] = Path.mkdir
    """Makes the folder that the code finds."""
    content: Callable[[Path], Any] = Path.read_bytes
    """What a file says; raises, or says something else, where the file is not whole."""
    kept: str | None = None
    """A glob pattern: such a file, once there, is not written again."""

    def start(self, folder, before=""):
        """The code in a process group of its own, its imports done."""
        named = f"import pathlib, sys; folder = pathlib.Path({str(folder)!r})"
        code = "\n".join([named, self.imports, "print('ready', flush=True)", before, self.code])
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ | self.environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # so that the line is read, and nothing behind it
            start_new_session=True,
        )
        assert process.stdout.readline() == b"ready\n", process.stderr.read().decode()
        return process

    def environment(self, folder):
        return {
            "POSENC_PROGRESS": str(folder / "progress.json"),
            "LOKY_MAX_CPU_COUNT": "1",  # the bake-off made small is not what other processes would import
            "JOBLIB_TEMP_FOLDER": str(folder.parent),  # joblib leaves empty folders there when it is killed
        }

    def files(self, folder):
        """What each file says, by name; a file that is left of an unfinished one is none of them."""
        paths = [path for path in folder.rglob("*") if path.is_file()]
        return {path.name: self.content(path) for path in paths if path.suffix not in (".part", ".tmp")}

    def check_killed(self, left, before, finished, printed):
        """Each file is as it was before or as it is to be."""
        assert before.keys() <= left.keys() <= finished.keys()
        for name, content in left.items():
            assert content in (before.get(name), finished[name])

    def check(self, folder, before, finished, printed):
        """What the killed run left is sound, and another run makes of it what an unkilled one makes."""
        self.check_killed(self.files(folder), before, finished, printed)
        kept = {path: path.stat().st_mtime_ns for path in folder.glob(self.kept)} if self.kept else {}
        finish(self.start(folder))
        assert {path.name for path in folder.rglob("*") if path.is_file()} == finished.keys()
        assert self.files(folder) == finished
        assert kept == {path: path.stat().st_mtime_ns for path in kept}


class Recording(Work):
    def check_killed(self, left, before, finished, printed):
        """All that was acknowledged is there, at most the one that was under way besides, and what was there before."""
        state = json.loads(left["progress.json"])
        recorded = state["predictions"]
        assert len(recorded) - len(printed.split()) in (0, 1)
        assert recorded == {f"{item:03}": float(item) for item in range(len(recorded))}
        assert state["solved"] == {"earlier": True}


def earlier_progress(folder):
    folder.mkdir()
    (folder / "progress.json").write_text('{"predictions": {}, "solved": {"earlier": true}}', "utf-8")


def earlier_notebook(folder):
    folder.mkdir()
    cell = new_code_cell("print('now')", id="one", outputs=[new_output("stream", name="stdout", text="earlier")])
    nbformat.write(new_notebook(cells=[cell], metadata=METADATA), folder / "lesson.ipynb")


def untimed(node):
    """Measurements without those of time."""
    if not isinstance(node, dict):
        return node
    return {key: untimed(value) for key, value in node.items() if key != "milliseconds_per_step"}


def outcome(path):
    if path.suffix == ".json":
        return untimed(json.loads(path.read_text("utf-8")))
    if path.parent.name == "weights":
        return path.read_bytes()
    measured, tensors = read_result(path)
    return untimed(measured), {name: tensor.tolist() for name, tensor in tensors.items()}


WORKS = {
    # The module by itself: without torch it starts at once.
    "progress file": Recording(
        imports="sys.path.insert(0, 'posenc_lib/exercises'); import progress_file",
        code="""
for item in range(len(progress_file.read()["predictions"]), 300):
    progress_file.update(lambda state: state["predictions"].update({f"{item:03}": float(item)}))
    print(item, flush=True)""",
        prepare=earlier_progress,
    ),
    "make notebooks": Work(
        imports="from tools.store_notebooks import main",
        code="sys.exit(main([str(folder / 'lesson.ipynb')]))",
        prepare=earlier_notebook,
    ),
    "training": Work(
        imports="from tools import bake_off",
        code="""
bake_off.FOLDER, bake_off.RESULTS, bake_off.WEIGHTS = folder / "jobs", folder / "results", folder / "weights"
bake_off.ENCODINGS, bake_off.SEEDS, bake_off.STEPS = ("rope", "t5"), (0,), {"text": 10, "recall": 5}
bake_off.LENGTHS, bake_off.RECALL_DISTANCES = (32,), {32: (16,)}
sys.argv[1:] = []
bake_off.main()""",
        content=outcome,
        kept="jobs/*.safetensors",
    ),
    "jobs on two cores": Work(
        imports="from tests.tools.sample_jobs import square; from tools.job_runner import Job, run_jobs",
        code="""
ran = folder.parent / "ran"
ran.mkdir(exist_ok=True)
arguments = {"folder": str(ran), "seconds": 0.1}
run_jobs({f"square_{n}": Job(square, {"number": n, **arguments}) for n in range(8)}, folder, workers=2)""",
        content=outcome,
        kept="*.safetensors",
    ),
}
STARTS_AT_ONCE = "progress file"
LATER_STARTS = [pytest.param(name, marks=pytest.mark.slow) for name in WORKS if name != STARTS_AT_ONCE]
every_work = pytest.mark.parametrize("name", [STARTS_AT_ONCE, *LATER_STARTS])


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory):
    """How long a run takes and what it leaves: unkilled(name) → (seconds, files)."""

    @functools.cache
    def unkilled(name):
        folder = tmp_path_factory.mktemp("unkilled") / "folder"
        WORKS[name].prepare(folder)
        process = WORKS[name].start(folder)
        start = time.monotonic()
        finish(process)
        return time.monotonic() - start, WORKS[name].files(folder)

    return unkilled


@pytest.mark.parametrize("number", range(KILLS))
@every_work
def test_killed_at_any_moment_it_ends_the_same(name, number, unkilled, tmp_path):
    work, folder = WORKS[name], tmp_path / "folder"
    seconds, finished = unkilled(name)
    work.prepare(folder)
    before = work.files(folder)
    printed = kill(work.start(folder), number, seconds)
    work.check(folder, before, finished, printed)


@every_work
def test_killed_with_a_file_half_written_it_ends_the_same(name, unkilled, tmp_path):
    work, folder = WORKS[name], tmp_path / "folder"
    _, finished = unkilled(name)
    work.prepare(folder)
    before = work.files(folder)
    process = work.start(folder, DIE_HALF_WRITTEN)
    printed, said = process.communicate(timeout=LIMIT)
    assert process.returncode == -signal.SIGKILL, said
    (part,) = (path for path in folder.rglob("*") if path.suffix in (".part", ".tmp"))
    assert part.stat().st_size > 0
    work.check(folder, before, finished, printed)


def test_only_what_a_killed_run_left_half_written_goes(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = platform.node()
    left, *others = (
        f"result.json.{writer}.part" for writer in (f"{here}.{ended.pid}", f"{here}.{os.getppid()}", "else.9", "old")
    )
    for name in (left, *others):
        (tmp_path / name).touch()
    write_atomically(tmp_path / "result.json", b"{}")
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", *others}


@pytest.fixture(scope="module")
def set_up_seconds(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("set-up") / "course")
    start = time.monotonic()
    assert project.set_up("lab")[0] == 0
    return time.monotonic() - start


@pytest.mark.parametrize("number", every_kill)
@pytest.mark.parametrize("earlier", [(), ("test",)], ids=["the first", "more extras"])
def test_killed_set_up_is_right_at_its_next_start(earlier, number, set_up_seconds, tmp_path):
    project = Project(tmp_path / "course")
    for extra in earlier:
        project.set_up(extra)
    kill(project.start("lab"), number, set_up_seconds)
    status, output = project.set_up("lab")
    assert status == 0, output
    files, installations = project.installed()
    assert files == 10 * installations  # every pip that left files had come to its end
    assert project.set_up("lab") == (0, "")
