"""What exercises show: printed text, and text and choices as ipywidgets with a live and a stored face."""

import html
import textwrap
from collections.abc import Sequence
from typing import Any

import ipywidgets

# A long choice wraps onto further lines instead of being cut, in ipywidgets 7 and 8.
_STYLE = """<style>
.posenc-choices .widget-radio-box label {
    display: flex; align-items: flex-start; gap: 0.6em; margin: 2px 0;
    width: auto; max-width: 100%; height: auto; line-height: 1.4; white-space: normal;
}
.posenc-choices .widget-radio-box label input { order: -1; flex: none; height: 1.4em; margin: 0; }
</style>"""
_LAYOUT = {"width": "100%", "max_width": "640px"}


class OnScreen:
    """Shown as a live widget where a kernel runs and as text where none does. Not a Widget: see LiveFigure.

    Attributes:
        box: the ipywidget.
    """

    box: ipywidgets.VBox

    def describe(self) -> str:
        """What a reader without a kernel sees: everything but the right answers."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {
            "text/plain": self.describe(),
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.box.model_id,
            },
        }


def wrapped(text: str) -> str:
    """Text to print: JupyterLab would break a longer line inside a word."""
    return textwrap.fill(text, 88)


def column(name: str, children: Sequence[ipywidgets.Widget]) -> ipywidgets.VBox:
    """The widgets below each other; a browser test, or a style sheet, finds them by the name."""
    box = ipywidgets.VBox([ipywidgets.HTML(_STYLE, layout={"display": "none"}), *children], layout=_LAYOUT)
    box.add_class(name)
    return box


def text_widget(lead: str = "", text: str = "", *, margin: str = "0") -> ipywidgets.HTML:
    """A widget that holds plain text, wrapped, in the theme's colours, after a bold lead."""
    widget = ipywidgets.HTML(layout={**_LAYOUT, "margin": margin})
    show_text(widget, lead, text)
    return widget


def show_text(widget: ipywidgets.HTML, lead: str, text: str = "") -> None:
    """Put a bold lead and plain text into the widget."""
    widget.value = f'<div style="line-height: 1.4"><b>{html.escape(lead)}</b> {html.escape(text)}</div>'


def submit_button(label: str) -> ipywidgets.Button:
    """A button as wide as its label."""
    return ipywidgets.Button(description=label, layout={"width": "auto", "align_self": "flex-start"})


def radio_buttons(choices: Sequence[str], chosen: str | None) -> ipywidgets.RadioButtons:
    """The choices below each other, none chosen at first."""
    index = None if chosen is None else choices.index(chosen)
    widget = ipywidgets.RadioButtons(options=list(choices), index=index, layout=_LAYOUT)
    widget.add_class("posenc-choices")
    return widget


def listed(choices: Sequence[str]) -> str:
    """The choices as text, a line each."""
    return "\n".join(f"  ( ) {choice}" for choice in choices)
