"""A JupyterLab page as a learner uses it: run all, move a slider, save, stop the kernel.

Everything waits for a state and nothing for a time. JupyterLab's own commands are called where a learner would use a
menu; sliders, choices and buttons are worked by keyboard and mouse.
"""

import json
from typing import Any

import nbformat
from nbformat import NotebookNode
from playwright.sync_api import Locator, Page

KERNEL_START = 60_000  # milliseconds
RUN_ALL = 300_000
REACTION = 15_000

NOTEBOOK = "window.jupyterapp.shell.currentWidget"
# Run All before the session is ready opens a dialog that asks for a kernel.
KERNEL_IS_IDLE = f"""() => {{
    const session = {NOTEBOOK}?.sessionContext;
    return session?.isReady && session.session?.kernel?.status === "idle";
}}"""
CELLS = f"() => [...{NOTEBOOK}.content.model.cells].map(cell => cell.toJSON())"
# An img element's pixels as text; null while one picture gives way to the next. Not an async function, for
# wait_for_function takes the promise of one for a yes.
PIXELS = """image => {
    if (!image.complete || !image.naturalWidth) return null;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL();
}"""


class LabPage:
    """One browser page with one notebook open in JupyterLab.

    Attributes:
        page: Playwright's page.
        console_errors: what the page logged as an error.
        foreign_requests: addresses off this machine that the page asked for.
    """

    def __init__(self, page: Page, *, origin: str) -> None:
        self.page = page
        self.console_errors: list[str] = []
        self.foreign_requests: list[str] = []
        own = (origin, origin.replace("http", "ws", 1), "data:", "blob:")
        page.on("console", lambda said: self.console_errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith(own) else self.foreign_requests.append(sent.url))

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=KERNEL_START)
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=KERNEL_START)

    def command(self, name: str, arguments: dict[str, Any] | None = None, *, timeout: float = REACTION) -> None:
        """Run one of JupyterLab's commands and wait until it is done."""
        call = f"window.jupyterapp.commands.execute({json.dumps(name)}, {json.dumps(arguments or {})})"
        self.page.evaluate(f"() => {{ window.commandDone = false; {call}.then(() => window.commandDone = true); }}")
        self.page.wait_for_function("window.commandDone", timeout=timeout)

    def run_all(self) -> None:
        self.command("notebook:run-all-cells", timeout=RUN_ALL)
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=REACTION)

    def run_cell_of(self, element: Locator) -> None:
        """Run the cell whose output holds the element again."""
        element.evaluate(f"""element => {{
            const notebook = {NOTEBOOK}.content;
            notebook.activeCellIndex = notebook.widgets.findIndex(cell => cell.node.contains(element));
        }}""")
        self.command("notebook:run-cell", timeout=RUN_ALL)

    def cells(self) -> list[NotebookNode]:
        """The notebook's cells, with outputs, as its file would hold them."""
        return nbformat.from_dict(self.page.evaluate(CELLS))

    def save(self) -> None:
        self.command("docmanager:save")

    def stop_kernel(self) -> None:
        self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.shutdown()")

    def set_theme(self, name: str) -> None:
        self.command("apputils:change-theme", {"theme": name})
