"""What the tests of notebooks ask of a notebook's cells."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from posenc_lib.widgets import GALLERY

VERIFIED_LINE = re.compile(r"^✓ (.+)$", re.MULTILINE)
BUILDS_A_WIDGET = re.compile(rf"\b(?:{'|'.join(widget.__name__ for widget in GALLERY.values())})\(")


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that hold code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def tags_of(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def widget_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that show a widget of the gallery, one each."""
    return [cell for cell in code_cells(notebook) if BUILDS_A_WIDGET.search(cell.source)]


def calls(notebook: NotebookNode, function: str) -> int:
    """How often the code calls a function by this name."""
    return sum(len(re.findall(rf"(?<![\w.]){function}\(", cell.source)) for cell in code_cells(notebook))


def outputs_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def texts_in(cell: NotebookNode) -> Iterator[str]:
    """What a code cell shows that a reader can read: printed text and every representation of a value but pictures."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        for kind, value in output.get("data", {}).items():
            if kind == "image/svg+xml" or not kind.startswith("image/"):
                yield str(value)


def texts_of(notebook: NotebookNode) -> Iterator[str]:
    """Everything stored that a reader can read."""
    for cell in code_cells(notebook):
        yield from texts_in(cell)


def compared_texts(notebook: NotebookNode) -> list[list[str]]:
    """The same, cell by cell, without what may differ between machines."""
    cells = code_cells(notebook)
    return [list(texts_in(cell)) for cell in cells if "nbval-ignore-output" not in tags_of(cell)]


def claims_in(notebook: NotebookNode) -> list[str]:
    """What `verify` printed."""
    return [claim for text in texts_of(notebook) for claim in VERIFIED_LINE.findall(text)]
