"""A learner's ways to run a notebook, none of which may raise, warn or change a text that is stored: a cell twice, a
widget right after the set-up cells, a kernel that starts in another folder, on another system, or where nothing can be
written. Run from top to bottom in notebooks/ is what strict nbval does.
"""

import copy
import json
import os
import shutil
import sys

import pytest
from nbformat.v4 import new_code_cell

from tests.notebooks.cells import code_cells, compared_texts, read, tags_of, widget_cells
from tools.store_notebooks import METADATA, NOTEBOOKS, WIDGET_VIEW, all_notebooks, execute, first_line, normalise

pytestmark = pytest.mark.slow

ALL = all_notebooks()
every_notebook = pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)

NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
ASCII_ONE_THREAD = NO_GPU | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1"}
TWO_THREADS = NO_GPU | {"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "2"}
IS_ROOT = os.name == "posix" and os.geteuid() == 0
# Root without the privilege to write where a folder's mode forbids it.
BOUND_BY_MODES = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if IS_ROOT else []
CANNOT_SAVE = "posenc_progress.json cannot be used (Permission denied): progress is kept until this kernel stops.\n"
NOT_COMPILED = "Skipped: FlexAttention does not compile on this machine.\n"
# Each run tells by its first cell that its configuration took effect.
IS_ASCII = """
import codecs, locale, torch
print(codecs.lookup(locale.getencoding()).name, torch.get_num_threads(), torch.cuda.is_available())"""
IS_READ_ONLY = """
import torch
try:
    open("new file", "x")
except PermissionError:
    print("refused", torch.get_num_threads(), torch.cuda.is_available())"""


def cells_with_widgets():
    for path in ALL:
        for number in range(len(widget_cells(read(path)))):
            yield pytest.param(path, number, id=f"{path.stem}-widget{number + 1}")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs a notebook in a folder, by a kernel with these additions to its environment and command.

    Returns what a first cell of this source printed.
    """

    def run(notebook, folder, source, *, environment, command=()):
        kernel = tmp_path / "jupyter" / "kernels" / "configured" / "kernel.json"
        kernel.parent.mkdir(parents=True)
        argv = [*command, sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        kernel.write_text(json.dumps({"argv": argv, "env": environment, **METADATA["kernelspec"]}), "utf-8")
        monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
        notebook.metadata.kernelspec.name = "configured"
        notebook.cells.insert(0, new_code_cell(source))
        execute(notebook, folder, label="configured")
        normalise(notebook)
        return notebook.cells.pop(0).outputs[0].text

    return run


@pytest.fixture
def read_only():
    """Takes from a folder the right to write there, until the test is over."""
    folders = []

    def read_only(folder):
        folder.chmod(0o555)
        folders.append(folder)

    yield read_only
    for folder in folders:
        folder.chmod(0o755)


def changed_texts(fresh, stored):
    """The cells of which a text differs: first line, stored texts, fresh texts."""
    cells = [cell for cell in code_cells(stored) if "nbval-ignore-output" not in tags_of(cell)]
    pairs = zip(cells, compared_texts(stored), compared_texts(fresh), strict=True)
    return [(first_line(cell), before, after) for cell, before, after in pairs if before != after]


@every_notebook
def test_every_cell_runs_twice_in_a_row(path):
    notebook = read(path)
    notebook.cells = [copy.deepcopy(cell) for cell in notebook.cells for _ in range(2)]
    stored = copy.deepcopy(notebook)
    execute(notebook, path.parent, label=f"{path.name}, each cell twice")
    normalise(notebook)
    assert changed_texts(notebook, stored) == []


@pytest.mark.parametrize(("path", "number"), list(cells_with_widgets()))
def test_widget_runs_right_after_set_up(path, number):
    notebook = read(path)
    widget = widget_cells(notebook)[number]
    notebook.cells = [cell for cell in code_cells(notebook) if "setup" in tags_of(cell)] + [widget]
    stored = copy.deepcopy(notebook)
    execute(notebook, path.parent, label=f"{path.name}, widget {number + 1} after set-up")
    assert any(WIDGET_VIEW in output.get("data", {}) for output in widget.outputs)
    normalise(notebook)
    if "if trained else None" not in widget.source:  # that one shows a fresh table until a table is trained
        assert changed_texts(notebook, stored) == []


@every_notebook
@pytest.mark.skipif(os.name == "nt", reason="Windows has a locale's encoding of its own and no LC_ALL")
def test_from_the_repository_root_with_no_gpu_one_thread_and_an_ascii_locale(path, run):
    notebook = read(path)
    assert run(notebook, NOTEBOOKS.parent, IS_ASCII, environment=ASCII_ONE_THREAD) == "ascii 1 False\n"
    changed = changed_texts(notebook, read(path))
    # torch 2.13 reads its templates in the locale's encoding (pytorch/pytorch#189342), so it compiles nothing here.
    assert [cell for cell in changed if NOT_COMPILED not in "".join(cell[2])] == []


@every_notebook
@pytest.mark.skipif(
    os.name == "nt" or (IS_ROOT and not shutil.which("setpriv")), reason="no folder can be made read-only here"
)
def test_in_a_read_only_folder_with_no_gpu_and_two_threads(path, run, read_only, tmp_path):
    """The folder that the kernel starts in, for exercises also the one above; library and home folder stay writable."""
    notebooks = tmp_path / "notebooks"
    folder = notebooks / path.parent.relative_to(NOTEBOOKS)
    folder.mkdir(parents=True)
    read_only(folder)
    read_only(notebooks)  # exercises keep their progress a folder up
    notebook = read(path)
    beside = {"POSENC_PROGRESS": ""}  # where progress goes by itself
    printed = run(notebook, folder, IS_READ_ONLY, environment=TWO_THREADS | beside, command=BOUND_BY_MODES)
    assert printed == "refused 2 False\n"
    prints = [output for cell in code_cells(notebook) for output in cell.outputs if "text" in output]
    assert sum(output.text.count(CANNOT_SAVE) for output in prints) == (path.parent.name == "solutions")
    for output in prints:
        output.text = output.text.replace(CANNOT_SAVE, "")
    assert changed_texts(notebook, read(path)) == []
