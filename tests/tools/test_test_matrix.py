"""tools/test_matrix.py: which versions it shows, which Python runs the suite, what its exit status says."""

import subprocess
import sys
from collections import defaultdict

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools import test_matrix as matrix

PYTHON = matrix.MATRIX / "lowest" / "bin" / "python"


def test_what_is_shown_is_what_pyproject_names_for_make_test():
    """The extra `test` names other extras of the project, which name no more."""
    extras = ("lab", "test", "cluster", "instructor", "site")
    lines = [line for extra in extras for line in matrix.PROJECT["optional-dependencies"][extra]]
    wanted = defaultdict(SpecifierSet)
    for requirement in map(Requirement, [*matrix.PROJECT["dependencies"], *lines]):
        wanted[canonicalize_name(requirement.name)] &= requirement.specifier
    del wanted["posenc-lib"]
    shown = matrix.requirements(["lab", "test"])
    assert {name: SpecifierSet(specifier) for name, specifier in shown.items()} == wanted


def test_table_has_a_row_for_each_and_a_column_for_each_choice():
    chosen = {"lowest": "numpy==1.26.0\nsix==1.17.0\n", "newest": "numpy==2.4.6\nsix==1.17.0\n"}
    assert matrix.table({"numpy": ">=1.26"}, chosen).splitlines() == [
        "|  | admitted | lowest | newest |",
        "| --- | --- | --- | --- |",
        "| numpy | >=1.26 | 1.26.0 | 2.4.6 |",
    ]


def calls_of(monkeypatch, returncode=0):
    calls = []

    def run(command, **options):
        calls.append(command)
        return subprocess.CompletedProcess(command, returncode)

    monkeypatch.setattr(matrix.subprocess, "run", run)
    return calls


def test_the_suite_is_that_of_make_test_with_the_environments_python(monkeypatch):
    run = subprocess.run
    calls = calls_of(monkeypatch)
    assert matrix.run_suite(PYTHON, [])
    (command,) = calls
    recipe = run([*command, "--dry-run"], cwd=matrix.ROOT, capture_output=True, text=True, check=True).stdout
    set_up, *lines = recipe.splitlines()
    assert set_up.startswith(": ")
    assert len(lines) == 2
    assert all(line.startswith("build/matrix/lowest/bin/python -m pytest ") for line in lines)


def test_arguments_for_pytest_take_the_place_of_the_suite(monkeypatch):
    calls = calls_of(monkeypatch, returncode=1)
    assert not matrix.run_suite(PYTHON, ["tests/test_rope.py", "-x"])
    assert calls == [[str(PYTHON), "-m", "pytest", "tests/test_rope.py", "-x"]]


@pytest.mark.parametrize(
    ("arguments", "failing", "status", "said"),
    [
        ([], None, 0, ["lowest: passed", "newest: passed"]),
        ([], "lowest", 1, ["lowest: failed", "newest: passed"]),
        ([], "newest", 1, ["lowest: passed", "newest: failed"]),
        (["--only", "newest"], "lowest", 0, ["newest: passed"]),
    ],
)
def test_exit_status_is_0_only_where_every_suite_passed(monkeypatch, capsys, arguments, failing, status, said):
    monkeypatch.setattr(sys, "argv", ["test_matrix", *arguments, "-x"])
    monkeypatch.setattr(matrix, "requirements", lambda extras: {"numpy": ">=1.26"})
    monkeypatch.setattr(matrix, "choose_versions", lambda which, extras: "numpy==1.26.0\n")
    monkeypatch.setattr(matrix, "make_ready", lambda which, pins, extras: which)
    monkeypatch.setattr(matrix, "run_suite", lambda python, pytest_args: python != failing and pytest_args == ["-x"])
    with pytest.raises(SystemExit) as ended:
        matrix.main()
    assert ended.value.code == status
    assert capsys.readouterr().out.splitlines()[-len(said) :] == said
