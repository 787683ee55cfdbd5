"""A lesson in Notebook 7, which is built of JupyterLab's parts."""

from playwright.sync_api import expect

from tests.browser.test_lessons import move_every_slider
from tests.notebooks.cells import read, widget_cells
from tools.store_notebooks import NOTEBOOKS, fault_in

LESSON = "04_rope_rotation.ipynb"
# Notebook 7.6, with any notebook: settings and commands are called for before they have come.
KNOWN_ERRORS = (
    "Cannot read properties of undefined (reading 'schema')",
    "Command 'filebrowser:open-path' not registered.",
)


def test_lesson_lives_in_notebook_7(open_page):
    page = open_page(f"notebooks/{LESSON}", known_errors=KNOWN_ERRORS)
    page.wait_for_kernel()
    page.run_all()
    for number, cell in enumerate(page.cells()):
        assert fault_in(cell.get("outputs", [])) is None, f"cell {number}"
    widgets = page.page.locator(".posenc-live")
    expect(widgets).to_have_count(len(widget_cells(read(NOTEBOOKS / LESSON))))
    for widget in widgets.all():
        # Notebook 7 keeps the arrow keys to itself: https://github.com/jupyter/notebook/issues/7716
        move_every_slider(page.page, widget, up="PageUp", down="PageDown")
