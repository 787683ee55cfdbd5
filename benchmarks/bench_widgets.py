"""A moved slider, kernel-side: the dial's blitted update against `interact` redrawing the same figure with pyplot.

Both end in a PNG of about 640×360 pixels, ready to send. The interact side runs in an IPython shell under the
notebook's inline backend. Repetitions of the two alternate, so that a busy machine slows both.

    python benchmarks/bench_widgets.py [repetitions]
"""

import statistics
import sys
import time

import ipywidgets
import matplotlib
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

matplotlib.use("module://matplotlib_inline.backend_inline")

import matplotlib.pyplot as plt
from matplotlib_inline.backend_inline import configure_inline_support

from posenc_lib.widgets import RopeDial
from posenc_lib.widgets.live_figure import DPI, HEIGHT, STYLE, WIDTH


class Published(CapturingDisplayPublisher):
    """Keeps what a front end would receive."""

    def clear_output(self, wait=False):
        self.outputs.clear()


class PyplotDial(RopeDial):
    """The dial's axes and artists on a fresh pyplot figure, as a function under `interact` makes them."""

    def __init__(self, **state):
        self.figure = plt.figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI)
        self.build()
        self.draw_background(**state)
        self.move(**state)


def timed(control, value):
    start = time.perf_counter()
    control.value = value
    return (time.perf_counter() - start) * 1e3


def main(repetitions):
    shell = InteractiveShell.instance()
    configure_inline_support(shell, matplotlib.get_backend())
    published = shell.display_pub = Published()
    plt.rcParams.update(STYLE)

    dial = RopeDial()
    fixed = {name: control.value for name, control in dial.controls.items() if name != "m"}

    def redraw(m):
        PyplotDial(m=m, **fixed)
        plt.show()

    interact = ipywidgets.interactive(redraw, m=ipywidgets.IntSlider(20, 0, 64))
    ours, theirs = [], []
    for repetition in range(-5, repetitions):  # the first five warm up
        value = 1 + (repetition * 37) % 64
        published.outputs.clear()
        before = dial.image.value
        pair = timed(dial.controls["m"], value), timed(interact.children[0], value)
        pngs = [output for output in published.outputs if "image/png" in output["data"]]
        if dial.image.value == before or len(pngs) != 1:
            raise RuntimeError(f"a side did not draw: {len(pngs)} pictures from interact")
        if repetition >= 0:
            ours.append(pair[0])
            theirs.append(pair[1])

    print(f"dial update at {WIDTH}×{HEIGHT}, {repetitions} alternating repetitions")
    print(f"{'':22}{'median ms':>10}{'p95 ms':>10}")
    for name, times in (("RopeDial", ours), ("interact + pyplot", theirs)):
        print(f"{name:22}{statistics.median(times):10.1f}{statistics.quantiles(times, n=20)[-1]:10.1f}")
    print(f"{'ratio of medians':22}{statistics.median(theirs) / statistics.median(ours):10.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
