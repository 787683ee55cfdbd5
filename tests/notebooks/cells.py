"""What the tests of notebooks ask of a notebook's cells."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from posenc_lib.tiny_lm import load_corpus, stored_results
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


def texts_in(outputs: list[NotebookNode]) -> Iterator[str]:
    """What a reader can read of a cell's outputs: printed text and every representation of a value but pictures."""
    for output in outputs:
        if output.output_type == "stream":
            yield output.text
        for kind, value in output.get("data", {}).items():
            if kind == "image/svg+xml" or not kind.startswith("image/"):
                yield str(value)


def texts_of(notebook: NotebookNode) -> Iterator[str]:
    """Everything stored that a reader can read."""
    yield from texts_in(outputs_of(notebook))


def measures_another_text(source: str) -> bool:
    """Whether this code measures on the text that Python brings, and this Python brings another than was stored with.

    Numbers and pictures then differ a little; every claim must still hold.
    """
    return "posenc_lib.tiny_lm" in source and load_corpus().hash != stored_results("bake_off")["made_with"]["text"]


def code_of(notebook: NotebookNode) -> str:
    return "\n".join(cell.source for cell in code_cells(notebook))


def compared_texts(notebook: NotebookNode) -> list[list[str]]:
    """What must be as stored, cell by cell: every text, or the claims alone where another text is measured on."""
    compared = claims_among if measures_another_text(code_of(notebook)) else texts_in
    cells = code_cells(notebook)
    return [list(compared(cell.outputs)) for cell in cells if "nbval-ignore-output" not in tags_of(cell)]


def claims_among(outputs: list[NotebookNode]) -> list[str]:
    """What `verify` printed."""
    return [claim for text in texts_in(outputs) for claim in VERIFIED_LINE.findall(text)]


def claims_in(notebook: NotebookNode) -> list[str]:
    return claims_among(outputs_of(notebook))
