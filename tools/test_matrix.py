"""Run the suite of `make test` with the lowest versions that pyproject.toml admits, then with the newest.

    python -m tools.test_matrix                                   # both
    python -m tools.test_matrix --only lowest                     # or --only newest
    python -m tools.test_matrix --extras peers                    # with this extra of pyproject.toml too
    python -m tools.test_matrix --only lowest tests/test_rope.py  # pytest with these arguments in place of the suite

build/matrix/lowest has each dependency that pyproject.toml names at its lower bound, or at the lowest that the others
let it have, and what those need in turn at the newest that fits; build/matrix/newest has the newest of all.
tools/pin.in holds in both. uv chooses the versions at each call; where they changed, pip installs them. Options for
pip: PIP_ARGS; an index that uv is to ask instead of PyPI: UV_DEFAULT_INDEX.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tools import side_environment
from tools.setup_env import ROOT, check_extras, python_in

MATRIX = ROOT / "build" / "matrix"
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}  # uv's names for them
EXTRAS = ("lab", "test")  # what `make test` needs
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(extras: list[str]) -> dict[str, str]:
    """What pyproject.toml names for these extras, and which versions it admits: {"numpy": ">=1.26"}."""
    optional = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in optional[extra])]
    admitted: dict[str, list[str]] = {}
    for line in lines:
        name, inner, specifier = re.fullmatch(r"([\w.-]+)(?:\[(.*)])?(.*)", line).groups()
        if name == PROJECT["name"]:  # an extra that takes in others: they are read in their turn
            lines += [line for extra in inner.split(",") for line in optional[extra]]
        else:
            admitted.setdefault(normal(name), []).append(specifier)
    return {name: ",".join(dict.fromkeys(specifiers)) for name, specifiers in admitted.items()}


def choose_versions(which: str, extras: list[str]) -> str:
    """What uv chooses, a line `name==version` for each package."""
    options = f"--quiet --no-header --no-annotate -c tools/pin.in --resolution {RESOLUTIONS[which]}"
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--python", sys.executable]
    command += [*options.split(), *(f"--extra={extra}" for extra in extras)]
    chosen = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if chosen.returncode:
        sys.exit(f"uv found no {which} versions that go together; its lines above say why.")
    return chosen.stdout


def table(admitted: dict[str, str], chosen: dict[str, str]) -> str:
    """The versions of what pyproject.toml names, as a table in Markdown with a column for each choice."""
    columns = [dict(line.split("==") for line in pins.splitlines()) for pins in chosen.values()]
    rows = [["", "admitted", *chosen], ["---"] * (2 + len(chosen))]
    rows += [[name, bound, *(column[name] for column in columns)] for name, bound in admitted.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def make_ready(which: str, pins: str, extras: list[str]) -> Path:
    """Its environment, built anew where the versions changed; return its Python."""
    folder, constraints = MATRIX / which, MATRIX / f"{which}.txt"
    MATRIX.mkdir(parents=True, exist_ok=True)
    constraints.write_text(pins, "utf-8")
    install = ["-c", str(constraints), "-e", f".[{','.join(extras)}]"]
    side_environment.make_ready(folder, constraints, install, expect="a few minutes and a few GB.")
    return python_in(folder)


def run_suite(python: Path, pytest_args: list[str]) -> bool:
    """Run `make test` with this Python, or pytest with these arguments; say whether all passed."""
    folder = python.parent.relative_to(ROOT)
    suite = ["make", "--no-print-directory", "test", f"BIN={folder.as_posix()}", "SETUP=:"]  # it is set up already
    command = [str(python), "-m", "pytest", *pytest_args] if pytest_args else suite
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=RESOLUTIONS, help="run this one of the two")
    parser.add_argument("--extras", default="", help="of pyproject.toml, besides lab and test: --extras=peers")
    options, pytest_args = parser.parse_known_args()

    wanted = [options.only] if options.only else list(RESOLUTIONS)
    extras = [*EXTRAS, *options.extras.split()]
    check_extras(extras)
    chosen = {which: choose_versions(which, extras) for which in wanted}
    print(table(requirements(extras), chosen), flush=True)
    passed = {}
    for which, pins in chosen.items():
        python = make_ready(which, pins, extras)
        print(f"==== {which}", flush=True)
        passed[which] = run_suite(python, pytest_args)
    for which, good in passed.items():
        print(f"{which}: {'passed' if good else 'failed'}")
    sys.exit(not all(passed.values()))


if __name__ == "__main__":
    main()
