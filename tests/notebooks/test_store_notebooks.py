"""`make notebooks`: the same bytes each time, nobody's answers, and no notebook stored half or with an error."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import store_notebooks
from tools.store_notebooks import METADATA, all_notebooks, lessons, main

WIDGET = """\
import ipywidgets
ipywidgets.Button(description="go")"""
FAILING_CALLBACK = """\
import ipywidgets
button = ipywidgets.Button(description="go")
button.on_click(lambda _: 1 / 0)
button.click()"""


@pytest.fixture
def notebook_of(tmp_path):
    """Writes a notebook of these code cells and returns its path."""

    def write(*sources):
        cells = [new_markdown_cell("# Title"), *map(new_code_cell, sources)]
        path = tmp_path / "lesson.ipynb"
        nbformat.write(new_notebook(cells=cells, metadata={"widgets": {}, "kernelspec": METADATA["kernelspec"]}), path)
        return path

    return write


def test_storing_again_changes_no_byte(notebook_of):
    picture = "import matplotlib.pyplot as plt\nline = plt.plot([0, 1, 4])"
    progress_bar = "from tqdm.auto import tqdm\nfor step in tqdm(range(3)):\n    pass"
    path = notebook_of("print('one')", WIDGET, picture, progress_bar)
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    assert main([str(path)]) == 0
    first = path.read_bytes()
    assert main([str(path)]) == 0
    assert path.read_bytes() == first
    stored = nbformat.read(path, as_version=4)
    assert [cell.id for cell in stored.cells] == ids
    assert stored.metadata == METADATA
    assert [cell.execution_count for cell in stored.cells[1:]] == [1, 2, 3, 4]
    assert stored.cells[1].outputs[0].text == "one\n"
    assert list(stored.cells[3].outputs[0].data) == ["image/png", "text/plain"]
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{}['missing']", "KeyError: 'missing'"),
        (FAILING_CALLBACK, "ZeroDivisionError"),  # ipywidgets catches and shows it: the cell itself succeeds
        ("import warnings\nwarnings.warn('slow')", "UserWarning: slow"),
        ("import os\nos._exit(1)", "died"),
    ],
)
def test_faulty_notebook_is_named_and_left_alone(notebook_of, capsys, source, said):
    path = notebook_of("print('fine')", source)
    before = path.read_bytes()
    assert main([str(path)]) == 1
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    reported = f"{path} was not stored: cell 2 ({source.splitlines()[0]}): "
    assert said in capsys.readouterr().err.partition(reported)[2]


def test_a_fault_does_not_stop_the_others(notebook_of, tmp_path):
    faulty = notebook_of("1 / 0").rename(tmp_path / "faulty.ipynb")
    sound = notebook_of("print('fine')")
    assert main([str(faulty), str(sound)]) == 1
    assert nbformat.read(sound, as_version=4).cells[1].execution_count == 1


def test_learners_progress_is_neither_shown_nor_touched(notebook_of, tmp_path, monkeypatch):
    progress = tmp_path / "mine" / "progress.json"
    progress.parent.mkdir()
    progress.write_text(json.dumps({"answer": 1}))
    monkeypatch.setenv("POSENC_PROGRESS", str(progress))
    path = notebook_of("import os, pathlib\nprint(pathlib.Path(os.environ['POSENC_PROGRESS']).exists())")
    assert main([str(path)]) == 0
    assert nbformat.read(path, as_version=4).cells[1].outputs[0].text == "False\n"


def test_unknown_notebook_is_named(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["no/such.ipynb"])
    assert stop.value.code == 2
    assert "no such notebook" in capsys.readouterr().err


def test_a_learners_own_notebooks_are_none_of_the_course(tmp_path, monkeypatch):
    monkeypatch.setattr(store_notebooks, "NOTEBOOKS", tmp_path)
    own = [
        "Untitled.ipynb",
        "01_b-Copy1.ipynb",
        ".ipynb_checkpoints/01_b-checkpoint.ipynb",
        "exercises/Untitled1.ipynb",
    ]
    course = ["00_a.ipynb", "01_b.ipynb", "exercises/01_b_exercises.ipynb"]
    for name in own + course:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert all_notebooks() == [tmp_path / name for name in course]
    assert lessons() == [tmp_path / name for name in course[:2]]
