"""Each lesson as a learner meets it: JupyterLab in a real browser, every slider by keyboard, a second visit."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.lab_page import PIXELS, REACTION
from tests.notebooks.cells import calls, read, widget_cells
from tools.store_notebooks import fault_in, lessons

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def photograph(page, widget, name):
    """A picture of the widget in either theme, into the folder POSENC_SHOTS, if that is set."""
    if folder := os.environ.get("POSENC_SHOTS"):
        for theme, label in THEMES.items():
            page.set_theme(label)
            expect(page.page.locator("body")).to_have_attribute("data-jp-theme-name", label)
            widget.screenshot(path=Path(folder, f"{name}-{theme}.png"))


def press_key(handle, up, down):
    """Move a slider up, or down from its upper end."""
    before = handle.get_attribute("aria-valuenow")
    at_the_end = before == handle.get_attribute("aria-valuemax")
    handle.press(down if at_the_end else up)
    expect(handle).not_to_have_attribute("aria-valuenow", before)


def move_every_slider(page, widget, *, up="ArrowRight", down="ArrowLeft"):
    """The first slider changes picture and readout; each other one that is not disabled changes the picture."""
    image = widget.locator("img.posenc-live-image")
    readout = widget.locator(".posenc-live-readout")
    handles = widget.locator(".noUi-handle")
    assert handles.count() > 0
    for index in range(handles.count()):
        handle = handles.nth(index)
        if index > 0 and handle.locator("xpath=ancestor::*[@disabled]").count():
            continue
        before = page.wait_for_function(PIXELS, arg=image.element_handle(), timeout=REACTION).json_value()
        text = readout.inner_text()
        press_key(handle, up, down)
        page.wait_for_function(
            f"([image, before]) => ![null, before].includes(({PIXELS})(image))",
            arg=[image.element_handle(), before],
            timeout=REACTION,
        )
        if index == 0:
            expect(readout).not_to_have_text(text)


def answer_and_run_again(page, kind, *, commit, said):
    """An answer given in the first box of this kind that offers choices is still there when its cell has run again."""
    box = page.page.locator(f".{kind}").filter(has=page.page.get_by_role("radio")).first
    answer = box.get_by_role("radio").nth(1)
    answer.check()
    box.get_by_role("button", name=commit).click()
    expect(box).to_contain_text(said)
    box.evaluate("box => { box.dataset.answered = 'before'; }")
    page.run_cell_of(box)
    expect(box).not_to_have_attribute("data-answered", "before")
    expect(answer).to_be_checked()


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.name)
def test_lesson_lives_and_can_be_visited_again(open_notebook, path):
    notebook = read(path)
    page = open_notebook(path.name)
    page.run_all()
    for number, cell in enumerate(page.cells()):
        assert fault_in(cell.get("outputs", [])) is None, f"cell {number}"

    expect(page.page.locator(".posenc-live")).to_have_count(len(widget_cells(notebook)))
    for number, widget in enumerate(page.page.locator(".posenc-live").all(), start=1):
        photograph(page, widget, f"{path.stem}-{number}")
        move_every_slider(page.page, widget)
    if calls(notebook, "predict"):
        answer_and_run_again(page, "posenc-prediction", commit="Commit", said="You said")
    if calls(notebook, "quiz"):
        answer_and_run_again(page, "posenc-quiz", commit="Check", said=" right.")
    page.save()
    page.stop_kernel()
    page.page.close()

    page = open_notebook(path.name).page
    pictures = page.locator("img.posenc-live-image")
    expect(pictures).to_have_count(len(widget_cells(notebook)))
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_be_visible()
        page.wait_for_function(PIXELS, arg=picture.element_handle(), timeout=REACTION)
    expect(page.locator(".jp-OutputArea-output", has_text="model not found")).to_have_count(0)
