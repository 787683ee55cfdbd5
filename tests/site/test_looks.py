"""Each page for every reader: nothing that axe-core calls serious, light and dark, wide and narrow, on paper."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.site.pages import PAGES, soup, wait_for_formulas

AXE = Axe()
SCHEMES = ("light", "dark")
WIDTHS = (1280, 400)
SERIOUS = {"serious", "critical"}
FINDINGS = {"resultTypes": ["violations"]}
# The page looks again at what has got wider, before it paints.
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


@pytest.fixture(scope="module", params=PAGES)
def page(request, opened):
    """A page with formulas typeset and every fold open, but for what a script hides."""
    with opened(request.param, "http") as page:
        if soup(request.param).select('script[src*="mathjax"]'):
            wait_for_formulas(page)
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        yield page


@pytest.fixture(params=WIDTHS)
def width(request, page):
    page.set_viewport_size({"width": request.param, "height": 900})
    page.evaluate(PAINTED)
    return request.param


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    found = AXE.run(page, options=FINDINGS).response["violations"]
    assert [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in found
        if violation["impact"] in SERIOUS
    ] == []


def test_page_does_not_scroll_sideways(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_is_dark_and_light_is_light(page):
    grounds = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        grounds.append(max(map(int, re.findall(r"\d+", ground)[:3])))
    brightness = dict(zip(SCHEMES, grounds, strict=True))
    assert brightness["dark"] < 64 < 192 < brightness["light"]


def test_paper_shows_no_controls(page):
    page.emulate_media(media="print")
    expect(page.locator(":is(nav, button, input[type=range], .fold-code, .player-controls):visible")).to_have_count(0)
    for part in page.locator(".player-image, .player-readout").all():
        expect(part).to_be_visible()
    page.emulate_media(media="screen")
