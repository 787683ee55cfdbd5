"""A page of JupyterLab or Notebook 7 as a learner uses it: run all, move a slider, save, stop the kernel.

Everything waits for a state and nothing for a time. JupyterLab's own commands are called where a learner would use a
menu; sliders, choices and buttons are worked by keyboard and mouse.
"""

import ast
import json
from typing import Any

import nbformat
from nbformat import NotebookNode
from playwright.sync_api import Locator, Page

from tests.chromium import WatchedPage

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


class LabPage(WatchedPage):
    """One browser page with one notebook open in JupyterLab or in Notebook 7, which is built of the same parts."""

    def __init__(self, page: Page, *, origin: str, known_errors: tuple[str, ...] = ()) -> None:
        super().__init__(page, own=(origin, origin.replace("http", "ws", 1)), known_errors=known_errors)

    def wait_for_kernel(self) -> None:
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=KERNEL_START)
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=KERNEL_START)

    def open_without_kernel(self, notebook: str) -> None:
        """Open a notebook in a JupyterLab that shows none yet, as a file to look at."""
        self.page.wait_for_function("window.jupyterapp", timeout=KERNEL_START)
        self.page.evaluate("() => window.jupyterapp.restored.then(() => null)")
        no_kernel = {"shouldStart": False, "canStart": False}
        self.command("docmanager:open", {"path": notebook, "kernelPreference": no_kernel})
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=KERNEL_START)

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

    def ask_kernel(self, expression: str) -> Any:
        """The value of a Python expression, a literal, once the kernel has done all that it was asked before."""
        text = self.page.evaluate(
            f"""async expression => {{
                const request = {{code: "", store_history: false, user_expressions: {{value: expression}}}};
                const reply = await {NOTEBOOK}.sessionContext.session.kernel.requestExecute(request).done;
                return reply.content.user_expressions.value.data["text/plain"];
            }}""",
            expression,
        )
        return ast.literal_eval(text)

    def cells(self) -> list[NotebookNode]:
        """The notebook's cells, with outputs, as its file would hold them."""
        return nbformat.from_dict(self.page.evaluate(CELLS))

    def save(self) -> None:
        self.command("docmanager:save")

    def stop_kernel(self) -> None:
        self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.shutdown()")

    def set_theme(self, name: str) -> None:
        self.command("apputils:change-theme", {"theme": name})
