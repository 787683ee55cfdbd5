"""What CLASSROOM.md tells a lecturer to do with nbgrader, done: generate, hand in, autograde."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from posenc_lib.exercises import catalogue
from tests.notebooks.test_exercises import SOURCES, solved_lines
from tools.make_exercises import CONFIG

FIRST, *OTHERS = SOURCES
ASSIGNMENT = "exercises"


def nbgrader(course, *arguments):
    """Run nbgrader in the course's folder."""
    run = subprocess.run(["nbgrader", *arguments], cwd=course, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture
def course(tmp_path, monkeypatch):
    """An empty folder for a course; the environment is activated, since nbgrader looks for alembic on the path."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "none"))
    (tmp_path / "course").mkdir()
    return tmp_path / "course"


def solved(handed_out: Path, source: Path) -> nbformat.NotebookNode:
    """What was handed out, with the answers of the source filled in."""
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in graded_cells(nbformat.read(source, 4))}
    notebook = nbformat.read(handed_out, 4)
    for cell in graded_cells(notebook):
        if cell.metadata.nbgrader.solution:
            cell.source = answers[cell.metadata.nbgrader.grade_id]
    return notebook


def graded_cells(notebook):
    return [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


@pytest.mark.parametrize(
    "source",
    [FIRST, *[pytest.param(path, marks=pytest.mark.slow) for path in OTHERS]],
    ids=lambda path: path.stem,
)
def test_solved_copy_gets_full_marks_and_unsolved_none(source, course):
    (course / "source" / ASSIGNMENT).mkdir(parents=True)
    shutil.copy(source, course / "source" / ASSIGNMENT)
    shutil.copy(CONFIG, course)
    nbgrader(course, "generate_assignment", ASSIGNMENT)

    handed_out = course / "release" / ASSIGNMENT / source.name
    text = handed_out.read_text("utf-8")
    received = "\n".join(cell.source for cell in nbformat.read(handed_out, 4).cells)
    assert [line for line in solved_lines(nbformat.read(source, 4)) if line in received or line in text] == []
    assert "SOLUTION" not in text
    assert "HIDDEN" not in text

    for student in ("solved", "unsolved"):
        (course / "submitted" / student / ASSIGNMENT).mkdir(parents=True)
    shutil.copy(handed_out, course / "submitted" / "unsolved" / ASSIGNMENT)
    nbformat.write(solved(handed_out, source), course / "submitted" / "solved" / ASSIGNMENT / source.name)
    nbgrader(course, "autograde", ASSIGNMENT)

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        scores = {student: gradebook.find_submission(ASSIGNMENT, student).score for student in ("solved", "unsolved")}
        most = gradebook.find_submission(ASSIGNMENT, "solved").max_score
    lesson = [exercise for exercise in catalogue.exercises.values() if exercise.lesson == source.name[:2]]
    print(f"{source.stem}: solved {scores['solved']:g}, unsolved {scores['unsolved']:g} of {most:g} points")
    assert scores == {"solved": most, "unsolved": 0}
    assert most == sum(exercise.difficulty for exercise in lesson) > 0
