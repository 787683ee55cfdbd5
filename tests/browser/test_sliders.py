"""Keys that come faster than pictures: the last one counts, and what the kernel has to draw never piles up."""

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

from posenc_lib.widgets import ClockWall
from tests.browser.lab_page import REACTION
from tools.store_notebooks import METADATA

# Each frame is made to take longer than a key that repeats.
SOURCE = """\
import time
from posenc_lib.widgets import ClockWall

wall, drawn = ClockWall(), []

def note(change):
    drawn.append(wall.controls["p"].value)
    time.sleep(0.05)

wall.image.observe(note, "value")
wall"""
SHOWN = """async image => {
    const bytes = new Uint8Array(await (await fetch(image.src)).arrayBuffer());
    return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
}"""


@pytest.fixture
def page(lab, open_notebook):
    nbformat.write(new_notebook(cells=[new_code_cell(SOURCE)], metadata=METADATA), lab.notebooks / "sliders.ipynb")
    page = open_notebook("sliders.ipynb")
    page.run_all()
    yield page
    page.stop_kernel()


def expect_settled(page, position):
    """The browser shows the widget as it looks at this position, picture and readout, and nothing is left to draw."""
    wall = ClockWall()
    wall.controls["p"].value = position
    widget = page.page.locator(".posenc-live")
    expect(widget.locator(".posenc-live-readout")).to_have_text(wall.readout, timeout=REACTION)
    drawn = page.ask_kernel("drawn")
    assert drawn[-1] == position
    assert base64.b64decode(widget.locator("img").evaluate(SHOWN)) == wall.image.value
    assert page.ask_kernel("drawn") == drawn


def test_twenty_fast_presses_end_on_the_right_value(page):
    handle = page.page.locator(".noUi-handle").first
    handle.focus()
    for _ in range(20):
        page.page.keyboard.press("ArrowRight")
    expect(handle).to_have_attribute("aria-valuenow", "148.0")
    expect_settled(page, 148)


def test_a_held_key_builds_no_queue(page):
    page.page.locator(".noUi-handle").first.focus()
    for _ in range(60):
        page.page.keyboard.down("ArrowRight")  # again without a release: the keyboard's repeat
    page.page.keyboard.up("ArrowRight")
    before = len(page.ask_kernel("drawn"))
    expect_settled(page, 188)
    drawn = page.ask_kernel("drawn")
    assert drawn == sorted(set(drawn)), "each frame is newer than the last"
    assert len(drawn) < 60, "frames are left out"
    assert len(drawn) <= before + 2, "one frame on its way, and the last value"
