"""Every portable notebook runs where Colab is, outside the repository: `make test-portable` gets both ready."""

import ast
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from posenc_lib.widgets import GALLERY
from tests.notebooks.cells import code_cells, compared_texts, read, texts_in, widget_cells
from tests.portable.colab_environment import FOLDER, KERNEL, KERNELS, PINS
from tools.make_portable import PORTABLE, ROOT
from tools.store_notebooks import METADATA, NotebookFault, all_notebooks, execute, normalise

ALL = sorted(PORTABLE.glob("*.ipynb"))
MOVE_EVERY_CONTROL = Path(__file__).with_name("move_every_control.py").read_text("utf-8")
# What a widget computes after the cell is done; an error there would show beside the picture alone.
WAIT_FOR_WIDGETS = """
import asyncio
await asyncio.gather(*(task for task in asyncio.all_tasks() if "posenc_lib" in repr(task)))"""


@pytest.fixture
def run_in_colab(monkeypatch, tmp_path):
    """Run a notebook's cells and the given sources after them; returns what each of the latter printed."""
    monkeypatch.setenv("JUPYTER_PATH", str(KERNELS))
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def run(notebook, *sources):
        notebook.metadata.kernelspec.name = KERNEL
        cells, added = notebook.cells, [*map(new_code_cell, sources)]
        notebook.cells = [*cells, *added]
        execute(notebook, tmp_path, label=KERNEL)
        normalise(notebook)
        notebook.cells = cells
        return ["".join(texts_in(cell.outputs)) for cell in added]

    return run


def test_every_lesson_and_its_exercises_are_there():
    assert [path.name for path in ALL] == sorted(
        path.name for path in all_notebooks() if path.parent.name != "solutions"
    )


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_no_link_needs_a_file_beside_it(path):
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    assert re.findall(r"\]\((?!https://|#)[^)]*\)", "\n".join(texts)) == []


def test_the_kernel_has_what_colab_has_and_not_this_repository(run_in_colab):
    colab, constrained = PINS.read_text("utf-8").split("# As constraints.txt has them:\n")
    assert set(constrained.splitlines()) <= set((ROOT / "constraints.txt").read_text("utf-8").splitlines())
    wanted = dict(re.findall(r"^([\w-]+)==(\S+)$", colab + constrained, flags=re.MULTILINE))
    versions, place = run_in_colab(
        new_notebook(metadata=METADATA),
        f"from importlib.metadata import version\nprint({{name: version(name) for name in {list(wanted)}}})",
        "import importlib.util, sys\nprint([importlib.util.find_spec('posenc_lib'), *sys.path])",
    )
    found = ast.literal_eval(versions)
    assert {name: version.partition("+")[0] for name, version in found.items()} == wanted
    library, *entries = ast.literal_eval(place)
    assert library is None
    assert [entry for entry in map(Path, entries) if ROOT in entry.parents and FOLDER not in entry.parents] == []


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_runs_as_stored_and_every_control_moves(path, run_in_colab):
    notebook = read(path)
    stored = compared_texts(notebook)[1:]
    pictures = len(widget_cells(notebook))
    moved, _ = run_in_colab(notebook, MOVE_EVERY_CONTROL, WAIT_FOR_WIDGETS)
    assert list(texts_in(code_cells(notebook)[0].outputs)) == [f"posenc_lib {version('posenc-lib')} is ready.\n"]
    assert compared_texts(notebook)[1:] == stored
    assert int(moved.split()[0]) >= pictures


def test_every_widget_of_the_gallery_is_in_a_notebook():
    shown = "".join(cell.source for path in ALL for cell in widget_cells(read(path)))
    assert [name for name, widget in GALLERY.items() if f"{widget.__name__}(" not in shown] == []


def test_damage_stops_run_all_with_one_line(run_in_colab):
    notebook = read(ALL[0])
    del notebook.cells[1:]
    notebook.cells[0].source = notebook.cells[0].source.replace("UEsDB", "UEsDC")
    with pytest.raises(NotebookFault, match="Stop: The posenc_lib in this notebook is damaged"):
        run_in_colab(notebook)
    (output,) = notebook.cells[0].outputs
    assert output.traceback == ["The posenc_lib in this notebook is damaged: fetch the file again."]


BROKEN_BUTTON = """
import ipywidgets
button = ipywidgets.Button()
button.on_click(lambda _: 1 / 0)"""
STILL_PICTURE = """
import ipywidgets
slider, image = ipywidgets.IntSlider(), ipywidgets.Image(value=b"PNG")"""
UNKNOWN_CONTROL = """
import ipywidgets
picker = ipywidgets.ColorPicker()"""


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (BROKEN_BUTTON, "ZeroDivisionError"),
        (STILL_PICTURE, "a picture never changed"),
        (UNKNOWN_CONTROL, "how to move a ColorPicker"),
        ("", "no control was found"),
    ],
)
def test_moving_every_control_finds_what_is_broken(run_in_colab, source, fault):
    with pytest.raises(NotebookFault, match=fault):
        run_in_colab(new_notebook(metadata=METADATA, cells=[new_code_cell(source)]), MOVE_EVERY_CONTROL)
