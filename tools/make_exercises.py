"""Make notebooks/exercises/ from notebooks/solutions/, which keep the solutions; run both and store their outputs.

    python -m tools.make_exercises                                                       # every lesson
    python -m tools.make_exercises notebooks/solutions/04_rope_rotation_solutions.ipynb   # the named ones

What is removed, and what stands in its place, is said in tools/nbgrader_config.py. The cells of the solutions get the
metadata that nbgrader grades by: the cell with a hidden test is worth as many points as its exercise is difficult.
"""

import argparse
import copy
import re
import sys
from pathlib import Path

import nbformat
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions
from traitlets.config import PyFileConfigLoader

from posenc_lib.exercises import catalogue
from tools.store_notebooks import NOTEBOOKS, NotebookFault, all_notebooks, store

SOLUTIONS = NOTEBOOKS / "solutions"
EXERCISES = NOTEBOOKS / "exercises"
CONFIG = Path(__file__).with_name("nbgrader_config.py")
CHECK = re.compile(r"\bcheck\(\s*\"([^\"]+)\"")


def all_solutions() -> list[Path]:
    return [path for path in all_notebooks() if path.parent == SOLUTIONS]


def exercises_path(solutions: Path) -> Path:
    return EXERCISES / solutions.name.replace("_solutions", "_exercises")


def mark_for_grading(notebook: NotebookNode) -> None:
    """Give nbgrader's metadata to each checked cell, and to the answer it checks: the nearest one before it."""
    answer = None
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
        if "### BEGIN SOLUTION" in cell.source:
            answer = cell
        elif "### BEGIN HIDDEN TESTS" in cell.source:
            id = CHECK.search(cell.source)[1]
            points = catalogue.look_up(catalogue.exercises, id).difficulty
            answer.metadata["nbgrader"] = _grading(f"{id}-answer", solution=True)
            cell.metadata["nbgrader"] = _grading(id, grade=True, locked=True, points=points)


def _grading(grade_id: str, **given: bool | int) -> dict:
    none = {"grade": False, "locked": False, "solution": False, "task": False}
    return {"schema_version": 3, "grade_id": grade_id} | none | given


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """A copy as students receive it, not yet run."""
    config = PyFileConfigLoader(str(CONFIG)).load_config()
    notebook, resources = copy.deepcopy(notebook), {}
    for preprocessor in (TagRemovePreprocessor, ClearSolutions, ClearHiddenTests):
        notebook, resources = preprocessor(config=config).preprocess(notebook, resources)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def make(solutions: Path) -> None:
    """Run and store the solutions, then make, run and store their exercises."""
    notebook = nbformat.read(solutions, as_version=4)
    mark_for_grading(notebook)
    store(solutions, notebook)
    store(exercises_path(solutions), without_solutions(notebook))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the exercises from the solutions; run and store both.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="of notebooks/solutions; default: all of them")
    solutions = all_solutions()
    paths = parser.parse_args(arguments).notebooks or solutions
    for path in paths:
        if path.resolve() not in solutions:
            parser.error(f"no such notebook of solutions: {path}; accepted is what notebooks/solutions/ holds")
    failed = 0
    for path in paths:
        try:
            make(path)
        except NotebookFault as fault:
            print(f"{path} or its exercises were not stored: {fault}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
