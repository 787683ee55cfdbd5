"""The first cell of a portable notebook in every state a kernel may be in, and what becomes of links."""

import argparse
import json
import subprocess
import sys
import zipfile

import pytest

from tools.make_portable import library_cell, owner_and_name, readme, relinked

READY = "posenc_lib 0.1.0 is ready."
AGAIN = "posenc_lib 0.1.0 is ready already."
INSTEAD = "posenc_lib 0.1.0 is ready; this kernel uses it instead of the installed 9.9."
RESTART = "Another posenc_lib is already imported: restart the kernel, then run this cell first."
DAMAGED = "The posenc_lib in this notebook is damaged: fetch the file again."

IMPORT = "import posenc_lib"
SAY_WHICH = "import posenc_lib; print(posenc_lib.WHICH)"

# Runs cells like a notebook, a Python without site-packages; IPython calls _render_traceback_ to show an error.
RUN_CELLS = """
import json, sys
for cell in json.load(sys.stdin):
    try:
        exec(cell)
    except Exception as error:
        print(*error._render_traceback_())
        break
"""


def write_wheel(folder, which):
    wheel = folder / "posenc_lib-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("posenc_lib/__init__.py", f"WHICH = {which!r}")
        archive.writestr("posenc_lib-0.1.0.dist-info/METADATA", "Name: posenc-lib\nVersion: 0.1.0\n")
    return wheel


@pytest.fixture
def cell(tmp_path):
    """The source of the first cell, with a library of one line."""
    return library_cell(write_wheel(tmp_path, "the notebook's")).source


@pytest.fixture
def installed(tmp_path):
    """A folder for sys.path that holds another version."""
    folder = tmp_path / "installed"
    for path, text in {
        "posenc_lib/__init__.py": "WHICH = 'the installed'",
        "posenc_lib-9.9.dist-info/METADATA": "Name: posenc-lib\nVersion: 9.9\n",
    }.items():
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def run(tmp_path):
    """Run cells with that folder on sys.path and that one for temporary files; returns the lines they print."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run_cells(*cells, on_path="", scratch=scratch):
        process = subprocess.run(
            [sys.executable, "-S", "-c", RUN_CELLS],
            cwd=tmp_path,
            env={"PYTHONPATH": str(on_path), "TMPDIR": str(scratch)},
            input=json.dumps(cells),
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stderr == ""
        return process.stdout.splitlines()

    yield run_cells
    assert list(scratch.iterdir()) == [], "the unpacked library outlives the kernel"


def test_library_is_there_after_its_cell(run, cell):
    assert run(cell, SAY_WHICH) == [READY, "the notebook's"]


@pytest.mark.parametrize("between", ["", IMPORT])
def test_cell_runs_twice(run, cell, between):
    assert run(cell, between, cell, SAY_WHICH) == [READY, AGAIN, "the notebook's"]


def test_a_folder_that_was_cleared_away_is_made_again(run, cell):
    clear = "import shutil, sys; shutil.rmtree(sys.path[0])"
    assert run(cell, clear, cell, SAY_WHICH) == [READY, READY, "the notebook's"]


def test_another_version_installed_is_left_and_not_used(run, cell, installed):
    before = sorted(installed.rglob("*"))
    assert run(cell, SAY_WHICH, on_path=installed) == [INSTEAD, "the notebook's"]
    assert [path for path in sorted(installed.rglob("*")) if "__pycache__" not in path.parts] == before


def test_another_version_imported_asks_for_a_restart(run, cell, installed):
    assert run(IMPORT, cell, SAY_WHICH, on_path=installed) == [RESTART]


def test_the_library_of_another_notebook_imported_asks_for_a_restart(run, cell, tmp_path):
    other = library_cell(write_wheel(tmp_path, "the other notebook's")).source
    assert run(other, IMPORT, cell, SAY_WHICH) == [READY, RESTART]
    assert run(other, cell, SAY_WHICH) == [READY, INSTEAD.replace("9.9", "0.1.0"), "the notebook's"]


@pytest.mark.parametrize("start", ["UEsDC", "", "\u00e9"], ids=["altered", "shortened", "not base64"])
def test_damage_is_said_and_nothing_is_unpacked(run, cell, start):
    assert "\nUEsDB" in cell
    assert run(cell.replace("\nUEsDB", f"\n{start}", 1), SAY_WHICH) == [DAMAGED]


@pytest.mark.parametrize("limit", [0, 10], ids=["no folder takes a file", "the disk is full"])
def test_no_folder_to_write_to_is_said(run, cell, limit):
    """A limit on the size of any file written stands in for both: it holds for root too."""
    forbid = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    (line,) = run(forbid, cell, SAY_WHICH)
    assert line.startswith("posenc_lib finds no folder to unpack into (")
    assert line.endswith("): name one in TMPDIR and restart the kernel.")


def test_another_temporary_folder_is_found_where_the_named_one_is_not(run, cell, tmp_path):
    assert run(cell, SAY_WHICH, scratch=tmp_path / "nowhere") == [READY, "the notebook's"]


@pytest.mark.parametrize(
    ("text", "alone", "online"),
    [
        (
            "[lesson 4](../04_rope.ipynb), then",
            "lesson 4 (`04_rope.ipynb`), then",
            "[lesson 4](https://colab.research.google.com/github/a/b/blob/main/04_rope.ipynb), then",
        ),
        (
            "[notation](00_start.ipynb#Notation)",
            "notation (`00_start.ipynb`)",
            "[notation](https://colab.research.google.com/github/a/b/blob/main/00_start.ipynb)",
        ),
        *[
            (f"[solutions]({place})", *["solutions (in the course's repository)"] * 2)
            for place in ("solutions/", "../solutions/04_rope_solutions.ipynb")
        ],
        *[[text] * 3 for text in ("[paper](https://x.org/a.ipynb)", "[table](#The-table)", "`a[0](b)`")],
    ],
)
def test_links_hold_for_a_file_on_its_own(text, alone, online):
    names = {"00_start.ipynb", "04_rope.ipynb"}
    assert relinked(text, names, None) == alone
    assert relinked(text, names, "a/b") == online


README = """\
# Title

Intro.

![A dial](dial.gif)

    make lab

## Start

## Lessons

| | lesson |
|---|---|
| 04 | [RoPE](notebooks/04_rope.ipynb) |

Read [more](MORE.md).

## Licence

In [LICENSE](LICENSE).
"""


def test_readme_keeps_what_holds_without_the_repository():
    text = readme(README, None)
    assert text.startswith("# Title\n\nIntro.\n")
    assert "| 04 | [RoPE](04_rope.ipynb) |\n" in text
    assert text.endswith("## Licence\n\nIn [LICENSE](LICENSE).\n")
    assert "make lab" not in text
    assert "dial" not in text
    assert "MORE" not in text


def test_readme_has_a_badge_that_opens_each_lesson_in_colab():
    badge = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    address = "(https://colab.research.google.com/github/a/b/blob/main/04_rope.ipynb)"
    assert f"| 04 | [RoPE](04_rope.ipynb) {badge}{address} |\n" in readme(README, "a/b")


@pytest.mark.parametrize("repo", ["name", "a/b/c", "https://github.com/a/b", "a b/c", ""])
def test_a_repository_is_given_as_owner_and_name(repo):
    with pytest.raises(argparse.ArgumentTypeError, match="expected OWNER/NAME"):
        owner_and_name(repo)
    assert owner_and_name("a-b/c.d_e") == "a-b/c.d_e"
