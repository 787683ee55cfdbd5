"""The one widget whose curve comes later: in a real kernel, whose event loop no unit test has."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

from tests.browser.lab_page import REACTION
from tools.store_notebooks import METADATA

SOURCE = "from posenc_lib.widgets import StretchRope\nfigure = StretchRope()\nfigure"


def test_marks_follow_the_slider_and_the_curve_comes_when_it_rests(lab, open_notebook):
    nbformat.write(new_notebook(cells=[new_code_cell(SOURCE)], metadata=METADATA), lab.notebooks / "stretch.ipynb")
    page = open_notebook("stretch.ipynb")
    page.run_all()
    widget = page.page.locator(".posenc-live")
    readout, handle = widget.locator(".posenc-live-readout"), widget.locator(".noUi-handle").first
    expect(readout).to_contain_text("Loss in the last quarter")
    for factor in (5, 6, 7, 8):
        handle.press("ArrowRight")
        expect(readout).to_contain_text(f"factor {factor}: window {128 * factor}")
    handle.press("ArrowLeft")  # while a curve is on its way
    expect(readout).to_contain_text("factor 7: window 896")
    expect(readout).to_contain_text("Loss in the last quarter", timeout=REACTION)
    expect(readout).to_contain_text("factor 7")
