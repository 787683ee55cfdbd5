"""The exercises are the solutions without the solutions: made anew they are the same, and they give nothing away."""

import copy
import re

import nbformat
import pytest

from posenc_lib.exercises import EXERCISES, catalogue
from tests.notebooks.cells import code_cells, read, tags_of, texts_of
from tools.make_exercises import CHECK, all_solutions, exercises_path, mark_for_grading, without_solutions
from tools.store_notebooks import NOTEBOOKS, all_notebooks

SOURCES = all_solutions()
TITLE = re.compile(r"^## \d+\. (.+)\n\n\*Difficulty (\d) of 5, (\d+) minutes\.\* `([a-z0-9-]+)`\n\n.", re.MULTILINE)
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)

every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


def unrun(notebook):
    """The cells without what running them adds."""
    return [{name: cell[name] for name in ("id", "cell_type", "source", "metadata")} for cell in notebook.cells]


def solved_lines(source):
    """Every line that belongs to a solution and is long enough to be told from others."""
    texts = [cell.source for cell in source.cells if "solution" in tags_of(cell)]
    texts += [text for cell in code_cells(source) for text in SOLUTION.findall(cell.source)]
    texts += ["\n".join(output.text for output in cell.outputs if "text" in output) for cell in code_cells(source)]
    kept = {line.strip() for cell in source.cells if "solution" not in tags_of(cell) for line in public_lines(cell)}
    return {line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 12} - kept


def public_lines(cell):
    yield from SOLUTION.sub("", cell.source).splitlines()
    if "### BEGIN HIDDEN TESTS" not in cell.source:
        for output in cell.get("outputs", []):
            yield from output.get("text", "").splitlines()


def strings_in(node):
    """Every string in nested lists and dicts."""
    if isinstance(node, str):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from strings_in(child)


def stored_text(notebook):
    """All that the file holds, outputs and metadata too."""
    return "\n".join(strings_in(notebook))


def test_every_exercise_stands_in_a_notebook_of_its_lesson():
    found = {id: path.name[:2] for path in SOURCES for id in CHECK.findall(str(read(path)))}
    assert {id: catalogue.exercises[id].lesson for id in EXERCISES} == found
    made = [path for path in all_notebooks() if path.parent.name == "exercises"]
    assert made == [exercises_path(path) for path in SOURCES]
    for path in SOURCES:
        (lesson,) = NOTEBOOKS.glob(f"{path.name[:2]}_*.ipynb")
        assert path.name == f"{lesson.stem}_solutions.ipynb"


@every_source
def test_exercises_made_anew_are_those_stored(path):
    source = read(path)
    assert unrun(without_solutions(source)) == unrun(read(exercises_path(path))), "make exercises"
    marked = copy.deepcopy(source)
    mark_for_grading(marked)
    assert marked == source, "make exercises"


@every_source
def test_every_exercise_is_announced_tried_and_solved(path):
    source = read(path)
    text = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
    announced = [(id, title, int(difficulty), int(minutes)) for title, difficulty, minutes, id in TITLE.findall(text)]
    checked = [id for cell in code_cells(source) for id in CHECK.findall(cell.source)]
    entries = [catalogue.exercises[id] for id in checked]
    assert announced == [(entry.id, entry.title, entry.difficulty, entry.minutes) for entry in entries]
    assert [entry.lesson for entry in entries] == [path.name[:2]] * len(entries)
    printed = "\n".join(texts_of(source))
    assert all(f"{id}: right. " in printed for id in checked)
    worked = [cell for cell in source.cells if "solution" in tags_of(cell) and cell.source.startswith("**Solution.**")]
    assert len(worked) == len(checked)


@every_source
def test_unsolved_exercises_say_so(path):
    exercises = read(exercises_path(path))
    checked = [cell for cell in code_cells(exercises) if CHECK.search(cell.source)]
    assert [output.text for cell in checked for output in cell.outputs] == [
        f"{CHECK.search(cell.source)[1]}: not tried yet\n" for cell in checked
    ]
    answers = [cell for cell in code_cells(exercises) if "answer = ...  # your answer here" in cell.source]
    assert len(answers) == len(checked)


@every_source
def test_exercises_give_nothing_away(path):
    source, exercises = read(path), stored_text(read(exercises_path(path)))
    lines = solved_lines(source)
    assert len(lines) > 20
    assert [line for line in lines if line in exercises] == []
    told = [catalogue.exercises[id].solved for id in CHECK.findall(str(source))]
    told += [hint for id in CHECK.findall(str(source)) for hint in catalogue.exercises[id].hints]
    told += [question.explanation for question in catalogue.interviews.get(path.name[:2], ())]
    assert [text for text in told if text in exercises] == []
    assert not re.search("SOLUTION|HIDDEN|assert ", exercises)


def test_a_solution_left_in_is_found():
    source = read(SOURCES[0])
    exercises = without_solutions(source)
    exercises.cells[-1].metadata["note"] = max(solved_lines(source), key=len)
    assert any(line in stored_text(exercises) for line in solved_lines(source))


def test_points_are_the_difficulty_and_every_graded_cell_is_locked():
    for path in SOURCES:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.metadata.get("nbgrader", {}).get("grade"):
                grading = cell.metadata["nbgrader"]
                assert grading["points"] == catalogue.exercises[grading["grade_id"]].difficulty
                assert grading["locked"]
