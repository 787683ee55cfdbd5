"""A moved slider, kernel-side: each widget's update against `interact` redrawing the same figure with pyplot.

Both sides end in a PNG of about 640×360 pixels, ready to send, and both are seen to have drawn. The interact side
makes figure, axes and artists anew, as a function under `interact` does, in an IPython shell under the notebook's
inline backend. The two alternate, so that a busy machine slows both.

For each widget: its first slider, which only moves artists, and each control that redraws its background. A control
of few values has had each of them once before it is timed, since a widget computes some things once a value, as a
model's loss: "first ms" is the slowest of those first visits.

    python -m benchmarks.bench_widgets [--repetitions 40] [--widgets rope_dial …]
"""

import argparse
import base64
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets
import matplotlib
import matplotlib.pyplot as plt
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from matplotlib_inline.backend_inline import configure_inline_support

from benchmarks.timing import goal, median_and_p95, print_table, wall_seconds
from posenc_lib.widgets import GALLERY
from posenc_lib.widgets.config_reader import CONFIGS
from posenc_lib.widgets.live_figure import DPI, HEIGHT, STYLE, WIDTH, LiveFigure

FASTER, BLITTED, REDRAWN = 10, 16, 33  # the goals: times as fast where only artists move, and p95 in milliseconds
FEW = 16  # values, that are all visited first; of more than that, WARMUPS
WARMUPS = 5
PNG = b"\x89PNG"
NEEDS = {"score_by_distance: offset": {"kind": "tuned"}}  # where a control does something


class Published(CapturingDisplayPublisher):
    """Keeps what a front end would receive."""

    def clear_output(self, wait: bool = False) -> None:
        self.outputs.clear()

    def pictures(self) -> list[str]:
        return [output["data"]["image/png"] for output in self.outputs if "image/png" in output["data"]]


class PyplotFigure(LiveFigure):
    """In LiveFigure's place behind a widget's own class: the same axes and artists on a fresh pyplot figure."""

    def __init__(self, *, scale: float = 1) -> None:
        self.controls = self.make_controls()
        self.figure = plt.figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI * scale)
        self.build()


def on_pyplot(widget: type[LiveFigure]) -> type[LiveFigure]:
    return type(widget.__name__, (widget, PyplotFigure), {})


class Sides:
    """One widget and its twin under `interact`, moved by the same control, all others at their first values."""

    def __init__(self, widget: type[LiveFigure], name: str, needs: Mapping[str, Any], published: Published) -> None:
        self.live, self.published = widget(), published
        for other, value in needs.items():
            self.live.controls[other].value = value
        self.control = self.live.controls[name]
        twin = on_pyplot(widget)
        fixed = {other: control.value for other, control in self.live.controls.items() if other != name}

        def redraw(**state: Any) -> None:
            figure = twin()
            figure.draw_background(**state, **fixed)
            figure.move(**state, **fixed)
            plt.show()

        self.interact = ipywidgets.interactive(redraw, **{name: widget().controls[name]}).children[0]

    def move(self, value: Any) -> tuple[float, float]:
        """Milliseconds of either side.

        Raises:
            RuntimeError: one of them drew nothing.
        """
        self.live.image.value = b""
        self.published.outputs.clear()
        took = [wall_seconds(lambda c=control: setattr(c, "value", value)) for control in (self.control, self.interact)]
        pictures = self.published.pictures()
        if not bytes(self.live.image.value).startswith(PNG) or len(pictures) != 1:
            raise RuntimeError(f"at {value!r} a side did not draw: {len(pictures)} pictures from interact")
        if not base64.b64decode(pictures[0]).startswith(PNG):
            raise RuntimeError(f"at {value!r} interact published something other than a PNG")
        return took[0] * 1e3, took[1] * 1e3


def values_of(control: ipywidgets.ValueWidget) -> Sequence[Any]:
    if isinstance(control, ipywidgets.IntSlider):
        return range(control.min, control.max + 1)
    if isinstance(control, ipywidgets.Textarea):
        return [json.dumps(config) for config in CONFIGS.values()]
    return [value for _, value in control.options]


def walk(values: Sequence[Any], now: Any, repetitions: int) -> tuple[list[Any], list[Any]]:
    """Values to visit first, and values to time: each differs from the one before, and none comes a second time until
    all have come, so that what a widget keeps of a value helps only where there are few."""
    draw = random.Random(0)
    first = len(values) if len(values) <= FEW else WARMUPS
    path: list[Any] = []
    while len(path) < first + repetitions:
        lap = draw.sample(values, len(values))
        path += lap[::-1] if lap[0] == (path[-1] if path else now) else lap
    return path[:first], path[first : first + repetitions]


def measure(widget: str, control: str, published: Published, repetitions: int) -> list[str]:
    """One row of the table."""
    label = f"{widget}: {control}"
    sides = Sides(GALLERY[widget], control, NEEDS.get(label, {}), published)
    first, timed = walk(values_of(sides.control), sides.control.value, repetitions)
    slowest = max(sides.move(value)[0] for value in first)
    ours, theirs = zip(*(sides.move(value) for value in timed), strict=True)
    (median, p95), (their_median, their_p95) = median_and_p95(ours), median_and_p95(theirs)
    blitted = control not in sides.live.background_controls
    ratio, limit = their_median / median, BLITTED if blitted else REDRAWN
    return [
        label,
        "moved" if blitted else "redrawn",
        f"{median:.1f}",
        f"{p95:.1f} {goal(p95, limit)}",
        f"{slowest:.0f}",
        f"{their_median:.1f}",
        f"{their_p95:.1f}",
        f"{ratio:.1f} {goal(ratio, FASTER, at_least=True) if blitted else ' '}",
    ]


def main(repetitions: int, widgets: Sequence[str]) -> None:
    matplotlib.use("module://matplotlib_inline.backend_inline")
    shell = InteractiveShell.instance()
    configure_inline_support(shell, matplotlib.get_backend())
    published = shell.display_pub = Published()
    plt.rcParams.update(STYLE)
    print(f"A moved control, kernel-side, {WIDTH}×{HEIGHT}, {repetitions} alternating repetitions.")
    print(f"Goals: moved, {FASTER}× as fast and p95 within {BLITTED} ms; redrawn, p95 within {REDRAWN} ms.\n")
    header = ["widget: control", "kind", "median ms", "p95 ms", "first ms", "interact ms", "its p95", "times as fast"]
    rows = []
    for name in widgets:
        widget = GALLERY[name]
        slider = next(iter(widget().controls))
        controls = dict.fromkeys((slider, *widget.background_controls))
        rows += [measure(name, control, published, repetitions) for control in controls]
    print_table(header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Every widget's update against interact with pyplot.")
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--widgets", nargs="+", choices=GALLERY, default=tuple(GALLERY))
    main(**vars(parser.parse_args()))
