"""The base of every widget: a matplotlib picture with sliders, quick enough to follow a dragged slider.

What never changes is drawn once and kept as pixels, and so is, over it, what only some controls change; a moved
slider restores them and draws the artists that move (blitting), so an update costs milliseconds where a fresh figure
costs a hundred. Redraws are synchronous on purpose: Jupyter's front end holds a slider's next value back until the
kernel is done with the last one, so nothing queues, and an error in a redraw surfaces in the cell that caused it.
What takes longer comes later and then calls `refresh`.
"""

import base64
import contextlib
import html
import io
import struct
import textwrap
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ipywidgets
import matplotlib.style
import numpy as np
import torch
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from posenc_lib.base import check_number

__all__ = [
    "BLACK",
    "BLUE",
    "DPI",
    "GREEN",
    "GREY",
    "HEIGHT",
    "ORANGE",
    "STYLE",
    "VERMILLION",
    "WIDTH",
    "LiveFigure",
    "State",
    "choice",
    "slider",
]

# Okabe and Ito's palette, told apart by every kind of colour vision; no picture relies on colour alone.
BLACK, BLUE, ORANGE, GREEN, VERMILLION = "#000000", "#0072B2", "#E69F00", "#009E73", "#D55E00"
GREY = "#595959"  # 7:1 on white: for what is context, still legible

WIDTH, HEIGHT, DPI = 640, 360, 100  # of the picture at scale 1, in pixels
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "savefig.dpi": "figure",
}
_LAYOUT = {"width": "100%", "max_width": f"{WIDTH}px"}
_CONTROL = {"style": {"description_width": "11em"}, "layout": _LAYOUT}

State = Mapping[str, Any]


def slider(description: str, value: int, minimum: int, maximum: int) -> ipywidgets.IntSlider:
    """A linear slider over integers, redrawing while it is dragged."""
    return ipywidgets.IntSlider(value, minimum, maximum, description=description, **_CONTROL)


def choice(description: str, value: Any, options: list[tuple[str, Any]]) -> ipywidgets.SelectionSlider:
    """A slider over a few labelled values, (label, value) each."""
    return ipywidgets.SelectionSlider(options=options, value=value, description=description, **_CONTROL)


@contextlib.contextmanager
def _on_the_cpu() -> Iterator[None]:
    """Make tensors on the CPU, whatever the notebook's default device."""
    if torch.get_default_device().type == "cpu":
        yield  # inside `with torch.device` each call of torch takes a detour
    else:
        with torch.device("cpu"):
            yield


class LiveFigure:
    """A picture that follows its controls.

    A subclass makes its axes and artists in `build`, brings what seldom changes up to date in `draw_background` and
    what moves in `move`; both get the values of the controls by name. It is a plain object, not a widget: it builds
    its own display bundle, a live widget where a kernel runs and the present picture where none does.

    Args:
        scale: picture pixels a screen pixel: 1, or 2 for a HiDPI screen or a projector.

    Attributes:
        box: the ipywidget to display, with picture, text line, controls and buttons.
        controls: name → ipywidget; setting a value redraws at once.
        image: the ipywidgets.Image that holds the present frame as PNG.
        readout: the state in words and numbers.
        figure: the matplotlib Figure, on the Agg canvas (never pyplot's).
    """

    description: str
    """One paragraph: what the picture shows and how to use it."""

    background_controls: tuple[str, ...] = ()
    """The controls that change what `draw_background` returns: it is drawn again for them, not for the others."""

    @_on_the_cpu()
    def __init__(self, *, scale: float = 1) -> None:
        scale = check_number("scale", scale, above=0)
        self.controls: dict[str, ipywidgets.ValueWidget] = self.make_controls()
        self.readout = ""
        self.figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI * scale, facecolor="white")
        self._canvas = FigureCanvasAgg(self.figure)
        with matplotlib.style.context(["default", STYLE]):  # the same picture whatever the notebook's own style
            self._moving = self.build()
        for artist in self._moving:
            artist.set_animated(True)
        self._ground: Any = None  # a BufferRegion, which matplotlib does not export
        self._background_state: tuple[Any, ...] | None = None

        self.image = ipywidgets.Image(format="png", layout={**_LAYOUT, "height": "auto"})
        self._text = ipywidgets.HTML(layout=_LAYOUT)
        self.box = ipywidgets.VBox([self.image, self._text, *self.controls.values(), self._make_buttons()])
        self.box.add_class("posenc-live")  # how a browser test, or a style sheet, finds the parts
        self.image.add_class("posenc-live-image")
        self._text.add_class("posenc-live-readout")

        self._initial = self._state()
        self._redraw()
        for control in self.controls.values():
            control.observe(self._on_change, names="value")

    # What a subclass gives.

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        """The controls by name, a linear slider first."""
        raise NotImplementedError

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        """The instructive states: a button's label → a function from the present values to the ones it sets."""
        raise NotImplementedError

    def build(self) -> list[Artist]:
        """Make axes and artists, once; return the artists that move, in drawing order."""
        raise NotImplementedError

    def draw_background(self, **state: Any) -> list[Artist]:
        """Bring what only background controls change up to date, first and when one has changed; return its artists.

        They are drawn in their order over all that never changes; a redrawn axis is among them.
        """
        return []

    def move(self, **state: Any) -> str:
        """Bring the moving artists up to date, leaving axes alone; return the readout."""
        raise NotImplementedError

    # What a learner calls.

    def reset(self) -> None:
        """Return to the first state."""
        self._set(self._initial)

    def describe(self) -> str:
        """One paragraph: what the picture shows and how to use it."""
        return self.description

    # What a subclass calls.

    def refresh(self) -> None:
        """Redraw for something other than a control: what was still being computed has come."""
        self._redraw()

    def say(self, readout: str) -> None:
        """Set the text line alone."""
        self.readout = readout
        self._text.value = f'<div style="line-height: 1.4">{html.escape(readout)}</div>'

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        picture, height = self._still()
        bundle = {
            "text/plain": self.readout,
            "image/png": base64.b64encode(picture).decode("ascii"),
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.box.model_id,
            },
        }
        return bundle, {"image/png": {"width": WIDTH, "height": height}}

    def _still(self) -> tuple[bytes, int]:
        """The frame with the readout under it, as PNG, and its height on a screen.

        Beside a picture no front end shows the text of a bundle, and without a kernel there is no text line.
        """
        frame = Image.open(io.BytesIO(self.image.value))
        scale = frame.width / WIDTH
        font = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 13 * scale)
        text = textwrap.fill(self.readout, 90, max_lines=8, placeholder=" …")
        height = HEIGHT + 10 + 18 * len(text.splitlines())
        still = Image.new("RGB", (frame.width, round(height * scale)), "white")
        still.paste(frame)
        ImageDraw.Draw(still).text((8 * scale, (HEIGHT + 4) * scale), text, BLACK, font, spacing=5 * scale)
        png = io.BytesIO()
        still.save(png, "PNG")
        return png.getvalue(), height

    # How it works.

    def _state(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def _make_buttons(self) -> ipywidgets.Box:
        presets = {**self.presets(), "Reset": lambda state: self._initial}
        buttons = []
        for label, preset in presets.items():
            button = ipywidgets.Button(description=label, layout={"width": "auto"})
            button.on_click(lambda _, preset=preset: self._press(preset))
            buttons.append(button)
        return ipywidgets.Box(buttons, layout={**_LAYOUT, "flex_flow": "row wrap"})

    @_on_the_cpu()
    def _press(self, preset: Callable[[State], dict[str, Any]]) -> None:
        self._set(preset(self._state()))

    def _set(self, values: State) -> None:
        """Set several controls and redraw once."""
        for name in values:
            self.controls[name].unobserve(self._on_change, names="value")
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:
            for name in values:
                self.controls[name].observe(self._on_change, names="value")
        self._redraw()

    def _on_change(self, change: dict[str, Any]) -> None:
        self._redraw()

    @_on_the_cpu()
    def _redraw(self) -> None:
        state = self._state()
        background_state = tuple(state[name] for name in self.background_controls)
        if background_state != self._background_state:
            with matplotlib.style.context(["default", STYLE]):  # ticks are made while drawing
                artists = self.draw_background(**state)
                for artist in artists:
                    artist.set_animated(True)
                if self._ground is None:
                    self._canvas.draw()  # all but the animated
                    self._ground = self._canvas.copy_from_bbox(self.figure.bbox)
                self._canvas.restore_region(self._ground)
                for artist in artists:
                    self.figure.draw_artist(artist)
            self._background = self._canvas.copy_from_bbox(self.figure.bbox)
            self._background_state = background_state
        readout = self.move(**state)
        self._canvas.restore_region(self._background)
        for artist in self._moving:
            self.figure.draw_artist(artist)
        self.image.value = self._png()
        self.say(readout)

    def _png(self) -> bytes:
        """The frame as PNG without row filters, in half the time that Pillow takes to choose them."""
        pixels = np.asarray(self._canvas.buffer_rgba())
        height, width, _ = pixels.shape
        rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row: filter type 0, then RGB
        for channel in range(3):  # a quarter of the time of all three at once
            rows[:, 1 + channel :: 3] = pixels[..., channel]
        header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
        chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            for name, data in chunks
        )
