"""`make exercises`: what it accepts, and what becomes of the others where one has a fault."""

import pytest

from tools import make_exercises
from tools.make_exercises import SOLUTIONS, all_solutions, exercises_path, main
from tools.store_notebooks import NotebookFault

FIRST, SECOND, *_ = all_solutions()


@pytest.fixture
def made(monkeypatch):
    """The solutions from which exercises were to be made; the first has a fault."""
    made = []

    def make(path):
        made.append(path)
        if path == FIRST:
            raise NotebookFault("cell 3 (1 / 0): ZeroDivisionError")

    monkeypatch.setattr(make_exercises, "make", make)
    return made


@pytest.mark.parametrize("wrong", [exercises_path(FIRST), SOLUTIONS / "04_no_such.ipynb", SOLUTIONS], ids=str)
def test_what_is_no_solution_is_named_before_anything_is_made(made, capsys, wrong):
    with pytest.raises(SystemExit) as stop:
        main([str(SECOND), str(wrong)])
    assert stop.value.code == 2
    said = f"no such notebook of solutions: {wrong}; accepted is what notebooks/solutions/ holds"
    assert said in capsys.readouterr().err
    assert made == []


def test_a_fault_does_not_stop_the_others(made, capsys):
    assert main([]) == 1
    assert made == all_solutions()
    assert f"{FIRST} or its exercises were not stored: cell 3 (1 / 0)" in capsys.readouterr().err


def test_a_path_from_where_one_stands_is_accepted(made, monkeypatch):
    monkeypatch.chdir(SOLUTIONS)
    assert main([SECOND.name]) == 0
    assert [path.resolve() for path in made] == [SECOND]
