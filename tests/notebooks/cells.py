"""What the tests of notebooks ask of a notebook's cells."""

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from posenc_lib.widgets import GALLERY

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
