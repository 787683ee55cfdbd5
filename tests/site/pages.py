"""What the tests of the site know without it: which pages there are, of which notebooks, and where the folder is."""

import os
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag
from nbformat import NotebookNode
from playwright.sync_api import Page

from tests.notebooks.cells import read
from tools.store_notebooks import NOTEBOOKS, all_notebooks, lessons

SITE = Path(os.environ.get("POSENC_SITE", NOTEBOOKS.parent / "dist" / "site"))
LESSONS = [path.stem for path in lessons()]
EXERCISES = [path.stem for path in all_notebooks() if path.parent.name == "exercises"]
OF_NOTEBOOKS = LESSONS + EXERCISES
PAGES = ["index", "formulas", *OF_NOTEBOOKS]


def notebook_of(page: str) -> NotebookNode:
    """The notebook that becomes this page."""
    (path,) = [path for folder in (".", "exercises") for path in NOTEBOOKS.glob(f"{folder}/{page}.ipynb")]
    return read(path)


@cache
def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((SITE / f"{page}.html").read_text("utf-8"), "html.parser")


def addressed(page: str, address: str) -> tuple[Path, str]:
    """The file that a relative address on a page leads to, and the fragment in it, as written."""
    parts = urlsplit(address)
    assert not parts.scheme, f"{address} leaves the folder"
    assert not parts.netloc, f"{address} leaves the folder"
    assert not parts.path.startswith("/"), f"{address} is not relative"
    return SITE / (unquote(parts.path) or f"{page}.html"), parts.fragment


def text_outside_code(tag: Tag) -> str:
    """The text that a reader reads as prose."""
    skipped = {"pre", "code", "script", "style"}
    return "".join(text for text in tag.find_all(string=True) if not skipped & {parent.name for parent in text.parents})


def wait_for_formulas(page: Page) -> None:
    """Waits until MathJax has set every formula."""
    page.wait_for_function("window.MathJax?.isReady")
    page.evaluate("() => new Promise(done => MathJax.Hub.Queue(done))")
