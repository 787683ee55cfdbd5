"""The files of the site, read without a browser."""

import io
import itertools
import json
import re
from urllib.parse import unquote

import numpy as np
import PIL.Image
import pytest

from posenc_lib.exercises import catalogue
from posenc_lib.widgets import GALLERY
from tests.notebooks.cells import code_cells, read, widget_cells
from tests.notebooks.test_exercises import SOURCES, solved_lines
from tests.site.pages import (
    EXERCISES,
    LESSONS,
    OF_NOTEBOOKS,
    PAGES,
    SITE,
    addressed,
    notebook_of,
    soup,
    text_outside_code,
)
from tools.make_exercises import CHECK
from tools.site_frames import make_widget

LARGEST = 3_000_000  # bytes
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\\$])\$[^$\n]+(?:\n[^$\n]+)*\$", re.DOTALL)
IN_STYLES = re.compile(r"url\(\s*[\"']?([^\"')]+)")

every_page = pytest.mark.parametrize("page", PAGES)
every_lesson = pytest.mark.parametrize("page", LESSONS)


def frames_on(page):
    """The recordings of the widgets on a page, by the widget's name."""
    players = soup(page).select("figure.player")
    return {player["data-widget"]: json.loads(player.select_one("script.player-frames").string) for player in players}


def loaded_by(page):
    """Every file that a page can load, itself included, but for MathJax."""
    addresses = [tag.get("src") or tag["href"] for tag in soup(page).select("script[src], img[src], link[href]")]
    addresses += IN_STYLES.findall(str(soup(page)))
    for recording in frames_on(page).values():
        for state in recording:
            addresses += [state["ground"], *(frame["src"] for frame in state["frames"])]
    files = {SITE / f"{page}.html", *(addressed(page, address)[0] for address in addresses)}
    for sheet in [file for file in files if file.suffix == ".css"]:
        files |= {sheet.parent / address for address in IN_STYLES.findall(sheet.read_text("utf-8"))}
    return {file for file in files if "mathjax" not in file.parts}


def test_there_is_a_page_for_every_notebook_and_none_with_solutions():
    assert sorted(path.stem for path in SITE.glob("*.html")) == sorted(PAGES)


@every_page
def test_every_link_leads_somewhere(page):
    for link in soup(page).select("a[href]"):
        if link["href"].startswith("https://"):
            continue
        target, fragment = addressed(page, link["href"])
        assert target.is_file(), link["href"]
        if fragment:  # a browser looks for it as it is written, then decoded
            assert soup(target.stem).find(id=[fragment, unquote(fragment)]), link["href"]


@every_page
def test_page_and_all_it_can_load_are_there_and_small(page):
    assert sum(file.stat().st_size for file in loaded_by(page)) <= LARGEST


@every_page
def test_headings_are_in_order(page):
    levels = [int(heading.name[1]) for heading in soup(page).find_all(re.compile("^h[1-6]$"))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels))


@every_page
def test_no_id_is_given_twice(page):
    ids = [tag["id"] for tag in soup(page).select("[id]")]
    assert len(ids) == len(set(ids))


@every_page
def test_page_says_what_it_is(page):
    assert soup(page).html["lang"] == "en"
    assert soup(page).title.string.strip()
    assert len(soup(page).select("main#main h1")) == 1


def test_no_two_pages_have_one_title():
    titles = [soup(page).title.string for page in PAGES]
    assert len(titles) == len(set(titles))


@every_lesson
def test_reader_knows_the_place_in_the_series(page):
    place = LESSONS.index(page)
    around = soup(page).select_one("nav[aria-label=Lessons]")
    assert f"{place} of {len(LESSONS) - 1}" in around.get_text(" ")
    for rel, neighbour in (("prev", LESSONS[place - 1] if place else None), ("next", (*LESSONS, None)[place + 1])):
        assert [link["href"] for link in around.select(f"a[rel={rel}]")] == ([f"{neighbour}.html"] if neighbour else [])


@pytest.mark.parametrize("page", OF_NOTEBOOKS)
def test_contents_name_every_heading(page):
    headings = [heading["id"] for heading in soup(page).select("main :is(h2, h3)")]
    listed = [addressed(page, link["href"])[1] for link in soup(page).select("nav[aria-label=Contents] a")]
    assert [id for id in listed if id in headings] == headings


@every_page
def test_every_picture_is_told_in_words(page):
    for picture in soup(page).select("img"):
        words = picture["alt"]
        assert len(words.split()) > 3, picture["src"]
        assert "description" not in words


@every_lesson
def test_each_widget_is_told_by_its_stored_sentence(page):
    stored = [output.data["text/plain"] for cell in widget_cells(notebook_of(page)) for output in cell.outputs]
    players = soup(page).select("figure.player")
    assert [player.select_one(".player-image")["alt"] for player in players] == stored
    assert [player.select_one(".player-readout").string for player in players] == stored


@pytest.mark.parametrize("page", OF_NOTEBOOKS)
def test_every_formula_of_the_notebook_is_marked(page):
    texts = [cell.source for cell in notebook_of(page).cells if cell.cell_type == "markdown"]
    written = sum(len(FORMULA.findall(CODE.sub("", text))) for text in texts)
    prose = text_outside_code(soup(page).select_one("main"))
    assert len(re.findall(r"\\\(|\\\[", prose)) == written
    assert "$" not in prose


@pytest.mark.parametrize("name", GALLERY)
def test_frames_are_the_pictures_of_the_widget(name):
    (recording,) = {json.dumps(frames_on(page)[name]) for page in LESSONS if name in frames_on(page)}
    state = json.loads(recording)[0]
    widget = make_widget(name)
    main = next(iter(widget.controls.values()))
    assert len({frame["src"] for frame in state["frames"]}) == len(state["frames"]) > 5
    for frame in state["frames"][:: len(state["frames"]) // 3]:
        main.value = int(frame["value"].replace("−", "-"))
        assert frame["readout"] == widget.readout
        shown = PIL.Image.open(SITE / state["ground"]).convert("RGBA")
        shown.alpha_composite(PIL.Image.open(SITE / frame["src"]).convert("RGBA"))
        expected = PIL.Image.open(io.BytesIO(widget.image.value)).convert("RGBA")
        assert np.array_equal(np.asarray(shown), np.asarray(expected)), frame["value"]


@pytest.mark.parametrize("page", EXERCISES)
def test_hints_are_folded(page):
    ids = [id for cell in code_cells(notebook_of(page)) for id in CHECK.findall(cell.source)]
    hints = [hint for id in ids for hint in catalogue.exercises[id].hints]
    folds = soup(page).select("details.hint")
    assert [fold.select_one("p").get_text() for fold in folds] == hints
    assert not any(fold.has_attr("open") for fold in folds)
    assert all(soup(page).get_text().count(hint) == 1 for hint in hints)


@pytest.mark.parametrize("page", EXERCISES)
def test_no_line_of_a_solution_is_on_the_page(page):
    (path,) = [path for path in SOURCES if path.stem == page.replace("_exercises", "_solutions")]
    source = read(path)
    text = (SITE / f"{page}.html").read_text("utf-8") + soup(page).get_text()
    lines = solved_lines(source)
    assert len(lines) > 20
    assert [line for line in lines if line in text] == []
    told = [catalogue.exercises[id].solved for id in CHECK.findall(str(source))]
    assert [words for words in told if words in text] == []
