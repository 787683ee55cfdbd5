"""What a learner feels in JupyterLab: from a key pressed on a slider to the picture painted, and opening a lesson.

A JupyterLab and a headless Chromium of our own, those of tests/browser; without a browser it says so and ends well.
All times are taken inside the page:

- For each widget's first slider, from the keydown event to the frame after its new picture was decoded, and where
  that goes: until the page sends the value, until the kernel's picture arrives (the server passes both on), until it
  is in the page and decoded, and until the next frame, of which there are 60 a second.
- FAST presses without a pause: slider, words and picture must end on the last value; how many pictures were shown,
  and how long after the last press the last one came. A queue would show as a wait that grows with the presses.
- For each lesson, from asking for its address to its first stored picture, and from Run All to its first live one.

    python -m benchmarks.bench_browser [-k sliders | -k lessons]     # needs the extra `test`, and Chromium
"""

import statistics
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from benchmarks.timing import goal, median_and_p95, print_table
from posenc_lib.widgets import GALLERY
from tests.browser.lab_page import KERNEL_IS_IDLE, PIXELS, REACTION, RUN_ALL, LabPage
from tools.store_notebooks import METADATA, lessons

pytest_plugins = ["tests.browser.conftest"]

PRESSES, FAST = 40, 20
GOAL = 40  # milliseconds, the median
REST = 50  # milliseconds between a painted picture and the next press, as of a quick hand
PATIENCE = 500  # milliseconds after which what is still to come has come
STAGES = ("sent", "arrived", "decoded", "painted")
STORED, LIVE = ".jp-OutputArea-output img", "img.posenc-live-image"

# Runs before the page's own scripts. Notes the first message to the kernel after a key and the last one from it that
# is long enough for a picture; and the first stored picture of a page that is being opened.
LISTEN = f"""
window.marks = {{}};
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {{
    window.marks.sent ??= performance.now();
    return send.call(this, data);
}};
window.WebSocket = class extends WebSocket {{
    constructor(...given) {{
        super(...given);
        this.addEventListener("message", ({{data}}) => {{
            if ((data.byteLength ?? data.length) > 4000) window.marks.arrived = performance.now();
        }});
    }}
}};
window.whenShown = selector => new Promise(found => {{
    const look = () => {{
        const image = document.querySelector(selector);
        image?.complete && image.naturalWidth ? found(performance.now()) : requestAnimationFrame(look);
    }};
    look();
}});
window.whenShown("{STORED}").then(time => window.opened = time);
"""
# For one image: `window.painted` grows by one record for each new picture.
WATCH = """image => {
    window.painted = [];
    window.addEventListener("keydown", event => window.marks = {pressed: event.timeStamp}, {capture: true});
    new MutationObserver(async () => {
        const marks = {...window.marks};
        await image.decode().catch(() => {});  // refused where the next picture takes its place
        marks.decoded = performance.now();
        requestAnimationFrame(() => window.painted.push({...marks, painted: performance.now()}));
    }).observe(image, {attributes: true, attributeFilter: ["src"]});
}"""
RUN_UNTIL_LIVE = f"""async () => {{
    const start = performance.now();
    window.jupyterapp.commands.execute("notebook:run-all-cells");
    return await window.whenShown("{LIVE}") - start;
}}"""


@pytest.fixture
def open_listening(lab, browser):
    """Opens a notebook, by name, in a page with LISTEN, and waits for its kernel."""
    contexts = []

    def open_page(notebook):
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 1000}))
        page = LabPage(contexts[-1].new_page(), origin=lab.origin)
        page.page.add_init_script(LISTEN)
        page.page.goto(lab.address(f"lab/tree/{notebook}"))
        page.wait_for_kernel()
        return page

    yield open_page
    for context in contexts:
        context.close()


class Slider:
    """One widget's first slider in the page."""

    def __init__(self, page, widget):
        self.page = page
        self.image = widget.locator(LIVE)
        self.readout = widget.locator(".posenc-live-readout")
        self.handle = widget.locator(".noUi-handle").first
        self.handle.focus()
        self.image.evaluate(WATCH)
        self.low, self.high = (float(self.handle.get_attribute(f"aria-value{end}")) for end in ("min", "max"))
        room = self.high - self.value() >= FAST or self.value() - self.low < 2
        self.onward, self.back = ("ArrowRight", "ArrowLeft") if room else ("ArrowLeft", "ArrowRight")

    def value(self):
        return float(self.handle.get_attribute("aria-valuenow"))

    def press(self, key, *, rest=REST):
        """Milliseconds from the key to each stage of its picture."""
        before = self.page.evaluate("window.painted.length")
        self.page.keyboard.press(key)
        marks = self.page.wait_for_function(
            "before => window.painted.slice(before).find(marks => marks.arrived)", arg=before, timeout=REACTION
        ).json_value()
        self.page.wait_for_timeout(rest)
        return {stage: marks[stage] - marks["pressed"] for stage in STAGES}

    def to_and_fro(self):
        """Times of PRESSES presses among three values, each of which the widget has shown before."""
        keys = [self.onward, self.onward, self.back, self.back]
        for key in keys:
            self.press(key, rest=PATIENCE)
        return [self.press(keys[number % 4]) for number in range(PRESSES)]

    def settled(self):
        """Picture and words once nothing more comes."""
        self.page.wait_for_timeout(PATIENCE)
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=REACTION)
        self.page.wait_for_timeout(PATIENCE)
        return self.image.evaluate(PIXELS), self.readout.inner_text()

    def press_fast(self):
        """How many pictures FAST presses show, and milliseconds from the last press to the last picture.

        Raises:
            RuntimeError: slider, words or picture are not those of the last value.
        """
        step = FAST if self.onward == "ArrowRight" else -FAST
        expected = min(max(self.value() + step, self.low), self.high)
        self.page.evaluate("window.painted.length = 0")
        for _ in range(FAST):
            self.page.keyboard.press(self.onward)
        shown, reached = self.settled(), self.value()
        pictures = self.page.evaluate("window.painted")
        self.press(self.back, rest=PATIENCE)
        self.press(self.onward, rest=PATIENCE)
        if reached != expected or self.settled() != shown:
            raise RuntimeError(f"{FAST} presses ended at {reached:g}, not {expected:g}, or in another picture")
        return len(pictures), pictures[-1]["painted"] - pictures[-1]["pressed"]


def measure_sliders(lab, open_listening):
    cells = ["from posenc_lib.widgets import GALLERY", *(f"GALLERY[{name!r}]()" for name in GALLERY)]
    gallery = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=METADATA)
    nbformat.write(gallery, lab.notebooks / "gallery.ipynb")
    page = open_listening("gallery.ipynb")
    page.run_all()
    rows = []
    for name, widget in zip(GALLERY, page.page.locator(".posenc-live").all(), strict=True):
        slider = Slider(page.page, widget)
        times = slider.to_and_fro()
        median, p95 = median_and_p95([taken["painted"] for taken in times])
        parts = [
            statistics.median(taken[stage] - taken.get(before, 0) for taken in times)
            for before, stage in zip((None, *STAGES), STAGES, strict=False)
        ]
        pictures, last = slider.press_fast()
        row = [f"{median:.0f} {goal(median, GOAL)}", *(f"{number:.0f}" for number in (p95, *parts, pictures, last))]
        rows.append([name, *row])
    page.stop_kernel()
    print(f"\n\nKey press to painted picture in JupyterLab, {PRESSES} presses a widget, milliseconds;")
    print(f"then {FAST} presses without a pause, which all ended on the right value. Goal: median within {GOAL} ms.\n")
    header = ["widget", "median", "p95", "page sends", "arrives", "decoded", "next frame"]
    print_table([*header, f"pictures of {FAST}", "last press to last picture"], rows)


def measure_lessons(open_listening):
    rows = []
    for lesson in (path.name for path in lessons()):
        page = open_listening(lesson)
        page.page.wait_for_function("window.opened", timeout=RUN_ALL)
        stored = page.page.evaluate("window.opened")
        live = page.page.evaluate(RUN_UNTIL_LIVE)
        rows.append([lesson, f"{stored / 1e3:.1f}", f"{live / 1e3:.1f}"])
        page.stop_kernel()
        page.page.close()
    print("\n\nOpening a lesson in JupyterLab, seconds.\n")
    print_table(["lesson", "address to stored picture", "Run All to live picture"], rows)


if __name__ == "__main__":
    options = ["-q", "-s", "-rs", "-o", "addopts=", "-o", "python_functions=measure_*", "-p", "no:cacheprovider"]
    sys.exit(pytest.main([__file__, *options, *sys.argv[1:]]))
