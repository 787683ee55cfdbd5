"""A learner's ways to run a notebook, none of which may raise or warn: a cell twice, a widget right after the set-up
cells, a kernel started in another folder. Run from top to bottom in notebooks/ is what strict nbval does.
"""

import copy

import pytest

from tests.notebooks.cells import code_cells, read, tags_of, widget_cells
from tools.store_notebooks import NOTEBOOKS, WIDGET_VIEW, all_notebooks, execute

pytestmark = pytest.mark.slow

ALL = all_notebooks()


def cells_with_widgets():
    for path in ALL:
        for number in range(len(widget_cells(read(path)))):
            yield pytest.param(path, number, id=f"{path.stem}-widget{number + 1}")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_cell_runs_twice_in_a_row(path):
    notebook = read(path)
    notebook.cells = [copy.deepcopy(cell) for cell in notebook.cells for _ in range(2)]
    execute(notebook, path.parent, label=f"{path.name}, each cell twice")


@pytest.mark.parametrize(("path", "number"), list(cells_with_widgets()))
def test_widget_runs_right_after_set_up(path, number):
    notebook = read(path)
    widget = widget_cells(notebook)[number]
    notebook.cells = [cell for cell in code_cells(notebook) if "setup" in tags_of(cell)] + [widget]
    execute(notebook, path.parent, label=f"{path.name}, widget {number + 1} after set-up")
    assert any(WIDGET_VIEW in output.get("data", {}) for output in widget.outputs)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_runs_from_the_repository_root(path):
    execute(read(path), NOTEBOOKS.parent, label=f"{path.name} from the root")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_copy_runs_elsewhere(path, tmp_path):
    execute(read(path), tmp_path, label=f"{path.name} elsewhere")
