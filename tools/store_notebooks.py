"""Run notebooks in fresh kernels and store them with their outputs, the same bytes each time.

    python tools/store_notebooks.py                                    # every notebook
    python tools/store_notebooks.py notebooks/04_rope_rotation.ipynb   # the named ones

A notebook is written only when all its cells ran and none of them raised, in a widget's callback either, or
wrote to stderr; otherwise its file is left as it was and the exit status is 1.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from tqdm import tqdm

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
NAME = re.compile(r"\d\d_\w+\.ipynb")  # not Untitled.ipynb, nor 04_rope_rotation-Copy1.ipynb, nor a checkpoint
CELL_TIMEOUT = 600  # seconds
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class NotebookFault(Exception):
    """A notebook that must not be stored: the message names the cell and says what it did."""


def all_notebooks() -> list[Path]:
    """Every notebook of the course, in reading order; a learner's own are none."""
    return sorted(path for path in NOTEBOOKS.rglob("*.ipynb") if NAME.fullmatch(path.name))


def lessons() -> list[Path]:
    """The lessons, in reading order."""
    return [path for path in all_notebooks() if path.parent == NOTEBOOKS]


def fault_in(outputs: list[NotebookNode]) -> str | None:
    """The first error or stderr text among a cell's outputs.

    A widget's callback that raises leaves an error output while the cell itself counts as successful, so the
    outputs are looked at and not the kernel's reply.
    """
    for output in outputs:
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
        if output.output_type == "stream" and output.name == "stderr":
            return f"text on stderr: {output.text.strip()}"
    return None


def execute(notebook: NotebookNode, folder: Path, *, label: str) -> None:
    """Run every cell in a fresh kernel started in `folder`, filling in the outputs of `notebook`.

    Raises:
        NotebookFault: a cell raised, wrote to stderr, took over CELL_TIMEOUT seconds or ended the kernel.
    """
    # allow_errors leaves it to `reject` to judge a cell, by its outputs
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    current = 0
    with (
        tqdm(total=len(notebook.cells), desc=label, unit="cell") as bar,
        tempfile.TemporaryDirectory() as scratch,
    ):

        def advance(cell: NotebookNode, cell_index: int) -> None:
            nonlocal current
            current = cell_index
            bar.update()

        def reject(cell: NotebookNode, cell_index: int, execute_reply: dict) -> None:
            if fault := fault_in(cell.outputs):
                raise NotebookFault(f"cell {cell_index} ({first_line(cell)}): {fault}")

        client.on_cell_start = advance
        client.on_cell_executed = reject
        # the stored outputs show nobody's answers
        env = os.environ | {"POSENC_PROGRESS": str(Path(scratch, "progress.json"))}
        try:
            client.execute(env=env)
        except (CellTimeoutError, DeadKernelError) as error:
            where = f"cell {current} ({first_line(notebook.cells[current])})"
            raise NotebookFault(f"{where}: {str(error).strip()}") from None


def first_line(cell: NotebookNode) -> str:
    return cell.source.strip().partition("\n")[0]


def normalise(notebook: NotebookNode) -> None:
    """Drop what changes from run to run, editor to editor or machine to machine: versions, widget state, view ids.

    A stored widget view points to a model that no longer exists. Without it every front end shows the picture
    and the text that lie beside it.
    """
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        for passing in ("execution", "lines_to_next_cell"):  # of nbclient, of jupytext
            cell.metadata.pop(passing, None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)


def store(path: Path, notebook: NotebookNode | None = None) -> None:
    """Execute the notebook, the one at `path` by default, in that folder and write it there.

    On a NotebookFault the file is as it was.
    """
    if notebook is None:
        notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.parent, label=path.name)
    normalise(notebook)
    written = path.with_name(path.name + ".part")
    try:
        written.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
        os.replace(written, path)
    finally:
        written.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run notebooks and store them with their outputs.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: every notebook of the course")
    paths = parser.parse_args(arguments).notebooks or all_notebooks()
    for path in paths:
        if not path.is_file():
            parser.error(f"no such notebook: {path}")
    failed = 0
    for path in paths:
        try:
            store(path)
        except NotebookFault as fault:
            print(f"{path} was not stored: {fault}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
