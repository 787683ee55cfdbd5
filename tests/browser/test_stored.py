"""Every stored notebook looked at in JupyterLab with no kernel."""

import pytest
from playwright.sync_api import expect

from posenc_lib.widgets.live_figure import HEIGHT
from tests.browser.lab_page import NOTEBOOK, PIXELS, REACTION
from tests.notebooks.cells import read, widget_cells
from tools.store_notebooks import lessons

# ipywidgets' manager, with any notebook: it asks a session that there is not for its kernel.
KNOWN_ERRORS = ("Cannot read properties of null (reading 'kernel')",)


@pytest.mark.parametrize("lesson", lessons(), ids=lambda path: path.name)
def test_stored_notebook_shows_each_widget_with_no_kernel(open_page, lesson):
    page = open_page("lab", known_errors=KNOWN_ERRORS)
    page.open_without_kernel(lesson.name)
    assert page.page.evaluate(f"{NOTEBOOK}.sessionContext.session") is None
    for cell in widget_cells(read(lesson)):
        (output,) = cell.outputs
        assert output.metadata["image/png"]["height"] > HEIGHT  # its sentence is in the picture, under the frame
        stored = output.data["image/png"].replace("\n", "")
        shown = page.page.locator(f'img[src="data:image/png;base64,{stored}"]')
        expect(shown).to_be_visible()
        page.page.wait_for_function(PIXELS, arg=shown.element_handle(), timeout=REACTION)
