"""Strict nbval with the picture plugin passes a notebook as stored, and fails on each kind of altered output."""

import base64
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image, ImageDraw

from tests.notebooks.cells import measures_another_text
from tools.store_notebooks import store

ROOT = Path(__file__).resolve().parents[2]
TEXT, PICTURE, WIDGET = range(3)  # the scratch notebook's cells

SOURCES = {
    TEXT: "print('✓ the score is 1.000')",
    PICTURE: """\
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(3, 2), dpi=50)
line = axes.plot([0, 1, 4])""",
    # a live figure in small: a widget's view with a picture and a text beside it
    WIDGET: """\
import base64, io
import ipywidgets as widgets
buffer = io.BytesIO()
figure.savefig(buffer, format="png")
class Live:
    box = widgets.VBox([widgets.FloatSlider()])
    def _repr_mimebundle_(self, **kwargs):
        view = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        picture = base64.b64encode(buffer.getvalue()).decode()
        return {"application/vnd.jupyter.widget-view+json": view, "image/png": picture, "text/plain": "score 1.000"}
Live()""",
}


def repainted(notebook, cell, paint):
    """Replace the picture a cell stores by what `paint` makes of it."""
    data = notebook.cells[cell].outputs[0].data
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
    buffer = io.BytesIO()
    paint(picture).save(buffer, format="png")
    data["image/png"] = base64.b64encode(buffer.getvalue()).decode()


def cross_out(picture):
    ImageDraw.Draw(picture).line([(0, 0), picture.size], fill="red", width=3)
    return picture


def flip_lowest_bits(picture):
    """An RMS difference of exactly 1 of 255, as a change of rounding could leave."""
    return picture.point(lambda value: value ^ 1)


def alter_text(notebook):
    notebook.cells[TEXT].outputs[0].text = "✓ the score is 1.001\n"


def alter_picture(notebook):
    repainted(notebook, PICTURE, cross_out)


def crop_picture(notebook):
    repainted(notebook, PICTURE, lambda picture: picture.crop((0, 0, 100, 100)))


def drop_picture(notebook):
    del notebook.cells[PICTURE].outputs[0].data["image/png"]


def alter_widget_picture(notebook):
    repainted(notebook, WIDGET, cross_out)


def alter_widget_text(notebook):
    notebook.cells[WIDGET].outputs[0].data["text/plain"] = "score 1.001"


def leave_as_stored(notebook):
    pass


def round_pictures_otherwise(notebook):
    repainted(notebook, PICTURE, flip_lowest_bits)
    repainted(notebook, WIDGET, flip_lowest_bits)


WRONG = {  # what is done to the stored notebook: the cell that must fail
    alter_text: TEXT,
    alter_picture: PICTURE,
    crop_picture: PICTURE,
    drop_picture: PICTURE,
    alter_widget_picture: WIDGET,
    alter_widget_text: WIDGET,
}
RIGHT = [leave_as_stored, round_pictures_otherwise]


@pytest.fixture(scope="module")
def failed_cells(tmp_path_factory):
    """The cells strict nbval fails, by the name of what was done to the notebook: one run for all of them."""
    folder = tmp_path_factory.mktemp("altered")
    original = folder / "original.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in SOURCES.values()]), original)
    store(original)
    return nbval_fails(original, [*WRONG, *RIGHT])


def nbval_fails(original, alterations, **environment):
    """The cells strict nbval fails in this environment, by the name of what was done to a copy of the notebook."""
    folder = original.with_suffix("")
    folder.mkdir(exist_ok=True)
    for alter in alterations:
        notebook = nbformat.read(original, as_version=4)
        alter(notebook)
        nbformat.write(notebook, folder / f"{alter.__name__}.ipynb")
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "tests.notebooks.nbval_png", "-p", "no:cacheprovider"]
    command += ["--nbval", "--nbval-current-env", f"--junitxml={report}", str(folder)]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert report.exists(), run.stdout + run.stderr
    failed = {alter.__name__: [] for alter in alterations}
    for test in ElementTree.parse(report).iter("testcase"):
        if test.find("failure") is not None or test.find("error") is not None:
            # The path in dots or slashes, with or without its ending: it depends on where the two folders lie.
            (name,) = failed.keys() & re.split(r"[./]", test.get("classname"))
            failed[name].append(int(test.get("name").removeprefix("Cell ")))
    return failed


@pytest.mark.parametrize(("alter", "cell"), WRONG.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_altered_output_fails_in_its_own_cell(failed_cells, alter, cell):
    assert failed_cells[alter.__name__] == [cell]


@pytest.mark.parametrize("leave", RIGHT, ids=lambda value: value.__name__)
def test_stored_output_passes(failed_cells, leave):
    assert failed_cells[leave.__name__] == []


# Lessons 7 and 8 measure on a text that differs between Python versions.

CLAIM, HASH = range(2)
ON_THE_TEXT = ["print('✓ the score is 1.000')", "from posenc_lib.tiny_lm import load_corpus\nprint(load_corpus().hash)"]
NOT_ON_THE_TEXT = ["print('✓ the score is 1.000')", "print(2)"]
ANOTHER_TEXT = "topics = {str(number): f'Topic {number} says so. ' * 200 for number in range(80)}"


@pytest.fixture
def stored(tmp_path):
    """Stores a notebook of these cells."""

    def stored(sources):
        path = tmp_path / "original.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
        store(path)
        return path

    return stored


@pytest.fixture
def another_text(tmp_path):
    """An environment in which Python brings another text."""
    package = tmp_path / "path" / "pydoc_data"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "topics.py").write_text(ANOTHER_TEXT, "utf-8")
    return {"PYTHONPATH": str(package.parent)}


def alter_number(notebook):
    notebook.cells[HASH].outputs[0].text = "3\n"


def test_on_another_text_the_claims_alone_are_compared(stored, another_text):
    failed = nbval_fails(stored(ON_THE_TEXT), [leave_as_stored, alter_text], **another_text)
    assert failed == {"leave_as_stored": [], "alter_text": [CLAIM]}


def test_a_notebook_that_does_not_measure_on_the_text_is_compared_whole(stored, another_text):
    assert nbval_fails(stored(NOT_ON_THE_TEXT), [alter_number], **another_text) == {"alter_number": [HASH]}


@pytest.mark.skipif(measures_another_text("posenc_lib.tiny_lm"), reason="this Python brings another text")
def test_on_the_stored_text_all_is_compared(stored):
    failed = nbval_fails(stored(ON_THE_TEXT), [leave_as_stored, alter_number])
    assert failed == {"leave_as_stored": [], "alter_number": [HASH]}
