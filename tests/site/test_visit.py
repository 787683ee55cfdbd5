"""Each page as a reader meets it, from a folder and from a server: formulas, pictures, sliders by keyboard, states."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.site.pages import PAGES, soup, text_outside_code, wait_for_formulas

# What a reader reads as prose, without what MathJax keeps for itself.
PROSE = """() => {
    const main = document.querySelector("main").cloneNode(true);
    main.querySelectorAll("pre, code, script, style").forEach(hidden => hidden.remove());
    return main.textContent;
}"""
IS_LOADED = "image => image.complete && image.naturalWidth > 0"

VISITS = [(page, scheme) for page in PAGES for scheme in ("file", "http")]


@pytest.fixture(scope="module", params=VISITS, ids="-".join)
def visit(request, opened):
    """A page's name and the page, opened once for all that is done on it."""
    name, scheme = request.param
    with opened(name, scheme) as page:
        yield name, page


class Player:
    """A recorded widget on a page."""

    def __init__(self, figure):
        self.image = figure.locator("img.player-image")
        self.slider = figure.locator("input[type=range]")
        self.readout = figure.locator(".player-readout")
        self.states = figure.locator(".player-states input")
        self.jumps = figure.locator(".player-jumps button:visible")
        self.recording = json.loads(figure.locator("script.player-frames").text_content())

    def shown(self):
        """The picture and the sentence, once they are those that the controls stand at."""
        (state,) = [number for number, radio in enumerate(self.states.all()) if radio.is_checked()]
        frame = self.recording[state]["frames"][int(self.slider.input_value())]
        expect(self.readout).to_have_text(frame["readout"])
        expect(self.image).to_have_attribute("alt", frame["readout"])
        expect(self.slider).to_have_attribute("aria-valuetext", frame["value"])
        self.image.evaluate("image => image.decode()")
        picture, earlier = self.image.screenshot(), None
        while picture != earlier:  # a new ground is painted a moment after it is set
            picture, earlier = self.image.screenshot(), picture
        return picture, frame["readout"]

    def expect_another(self, before):
        """Picture and sentence, which both must differ."""
        after = self.shown()
        assert after[0] != before[0]
        assert after[1] != before[1]
        return after


def players_on(page):
    return [Player(figure) for figure in page.locator("figure.player").all()]


def test_every_formula_is_typeset(visit):
    name, page = visit
    written = len(re.findall(r"\\\(|\\\[", text_outside_code(soup(name).main)))
    if written:
        wait_for_formulas(page)
    assert page.locator("main :is(.MathJax, .MathJax_SVG)").count() == written
    assert page.locator(".merror, .MathJax_Error, .noError, [data-mml-node=merror]").count() == 0
    assert re.findall(r"\$[^$]*\$|\\[(\[]", page.evaluate(PROSE)) == []


def test_every_picture_comes(visit):
    name, page = visit
    pictures = page.locator("img")
    assert pictures.count() == len(soup(name).select("img"))
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        page.wait_for_function(IS_LOADED, arg=picture.element_handle())


def test_every_state_has_its_own_pictures(visit):
    _, page = visit
    for player in players_on(page):
        begins = [player.shown()]
        for number, state in enumerate(player.states.all()):
            if number:
                state.press(" ")
                begins.append(player.expect_another(begins[-1]))
            for jump in range(player.jumps.count()):
                ends, led_to = [], set()
                for end in ("Home", "End"):
                    player.slider.press(end)
                    ends.append(player.shown())
                    player.jumps.nth(jump).press("Enter")
                    led_to.add(player.shown())
                    state.press(" ")
                assert ends[0] != ends[1]
                assert len(led_to) == 1
        assert len(set(begins)) == len(begins) > 1


def test_every_slider_moves_by_key(visit):
    _, page = visit
    for player in players_on(page):
        assert player.slider.evaluate("slider => slider.labels[0].textContent.trim()")
        player.slider.press("Home")
        shown = player.shown()
        for key in ("ArrowRight", "End", "ArrowLeft", "Home"):
            player.slider.press(key)
            shown = player.expect_another(shown)


def test_a_held_key_ends_on_the_last_picture(visit):
    _, page = visit
    for player in players_on(page):
        player.slider.press("End")
        last = player.shown()
        player.slider.press("Home")
        for _ in range(int(player.slider.get_attribute("max"))):
            page.keyboard.down("ArrowRight")
        page.keyboard.up("ArrowRight")
        assert player.shown() == last
