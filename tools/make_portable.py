"""Write dist/portable/: every lesson and every exercise notebook as one file that carries the library.

    python -m tools.make_portable                     # files to upload to a notebook service
    python -m tools.make_portable --repo OWNER/NAME   # besides, links to Colab, where OWNER/NAME holds these files

A folded first cell holds the library, weights and results included, as a wheel in base64 with its checksum
(tools/portable_cell.py). The other cells keep their stored outputs. The same sources give the same bytes.
"""

import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tools.store_notebooks import all_notebooks

ROOT = Path(__file__).resolve().parents[1]
PORTABLE = ROOT / "dist" / "portable"
LIMIT = 6_000_000  # bytes a file
CELL = Path(__file__).with_name("portable_cell.py")
# To a notebook or a folder of the course: the label, then the notebook's name.
LINK = re.compile(r"\[([^\[\]]+)\]\((?=[\w.-]+(?:/|\.ipynb))(?:[\w.-]+/)*([\w-]+\.ipynb)?(?:#[\w-]+)?\)")
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
ABOUT = """\
Each notebook here is one file with everything in it that its first cell needs: upload it to Google Colab, choose a
runtime with or without a GPU, and run all. It runs in any Jupyter too, with Python 3.11 or newer, torch, matplotlib,
ipywidgets and safetensors.
"""


def build_wheel(folder: Path) -> Path:
    """Build the library's wheel in a folder; the same sources give the same bytes."""
    source = folder / "source"  # a copy: in the tree, setuptools would pick up what an earlier build left
    shutil.copytree(ROOT / "posenc_lib", source / "posenc_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [*command, "-w", str(folder), str(source)],
        env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"},  # 1980, the earliest a wheel can say
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def library_cell(wheel: Path) -> NotebookNode:
    """The folded first cell."""
    content = wheel.read_bytes()
    payload = "\n".join(textwrap.wrap(base64.b64encode(content).decode(), 120))
    source = (
        '# @title The library, in this file: run this cell first { display-mode: "form" }\n'
        f"{CELL.read_text('utf-8')}\n\n"
        "print(\n"
        "    put_library_in_place(\n"
        f'        "{wheel.name}",\n'
        f'        "{hashlib.sha256(content).hexdigest()}",\n'
        f'        """\n{payload}\n""",\n'
        "    )\n"
        ")"
    )
    metadata = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["setup"]}
    return new_code_cell(source, id="library", metadata=metadata)


def colab_address(name: str, repo: str) -> str:
    return f"https://colab.research.google.com/github/{repo}/blob/main/{name}"


def relinked(text: str, names: set[str], repo: str | None) -> str:
    """The text with links that hold for a file on its own: into Colab, or the name of the file that is meant."""

    def link(found: re.Match) -> str:
        label, name = found.groups()
        if name not in names:
            return f"{label} (in the course's repository)"
        return f"[{label}]({colab_address(name, repo)})" if repo else f"{label} (`{name}`)"

    return LINK.sub(link, text)


def portable(notebook: NotebookNode, cell: NotebookNode, names: set[str], repo: str | None) -> NotebookNode:
    """Put the library's cell first, and mend the links; the notebook itself is changed and returned."""
    for other in notebook.cells:
        if other.cell_type == "markdown":
            other.source = relinked(other.source, names, repo)
    notebook.cells.insert(0, cell)
    return notebook


def readme(text: str, repo: str | None) -> str:
    """The README's title, its lesson table and its licence; each notebook beside a badge that opens it in Colab."""

    def link(found: re.Match) -> str:
        label, name = found.groups()
        badge = f" [![Open in Colab]({BADGE})]({colab_address(name, repo)})" if repo else ""
        return f"[{label}]({name}){badge}"

    introduction = text.partition("\n![")[0]  # up to its picture
    table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    licence = text.partition("\n## Licence\n")[2]
    return f"{introduction}\n{ABOUT}\n## Lessons\n\n{LINK.sub(link, table)}\n\n## Licence\n{licence}"


def make(repo: str | None) -> None:
    """Write all of dist/portable/."""
    paths = [path for path in all_notebooks() if path.parent.name != "solutions"]
    names = {path.name for path in paths}
    PORTABLE.mkdir(parents=True, exist_ok=True)
    for earlier in PORTABLE.glob("*.ipynb"):
        earlier.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        cell = library_cell(build_wheel(Path(scratch)))
    for path in paths:
        notebook = portable(nbformat.read(path, as_version=4), cell, names, repo)
        content = (nbformat.writes(notebook) + "\n").encode()
        if len(content) > LIMIT:
            sys.exit(f"{path.name} would take {len(content):,} bytes, at most {LIMIT:,} accepted")
        (PORTABLE / path.name).write_bytes(content)
        print(f"{len(content) / 1e6:4.1f} MB  {(PORTABLE / path.name).relative_to(ROOT)}")
    (PORTABLE / "README.md").write_text(readme((ROOT / "README.md").read_text("utf-8"), repo), "utf-8")
    shutil.copy(ROOT / "LICENSE", PORTABLE)


def owner_and_name(repo: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo):
        raise argparse.ArgumentTypeError(f"expected OWNER/NAME, got {repo!r}")
    return repo


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write each notebook as one file that carries the library.")
    parser.add_argument("--repo", type=owner_and_name, help="OWNER/NAME on GitHub that will hold dist/portable/")
    make(parser.parse_args(arguments).repo)


if __name__ == "__main__":
    main()
