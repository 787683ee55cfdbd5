"""Still pictures for the lessons: lines and matrices, each with its sentence under it.

A picture is displayed as PNG with the sentence as its text form, then the sentence is printed, so that it stands
under the picture in a notebook, on a code-hosting page and for a screen reader.
"""

import base64
import io
import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.style
import numpy as np
import PIL.Image
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from posenc_lib.widgets.live_figure import BLACK, BLUE, DPI, GREEN, GREY, HEIGHT, ORANGE, STYLE, VERMILLION, WIDTH

__all__ = ["show_lines", "show_matrix"]

SCALE = 2  # stored pictures stay sharp on HiDPI screens
# Colour and dash change together: no line is told from another by colour alone.
LOOKS = (
    {"color": BLUE, "linestyle": "-"},
    {"color": VERMILLION, "linestyle": "--"},
    {"color": GREEN, "linestyle": "-."},
    {"color": ORANGE, "linestyle": (0, (1, 1))},
    {"color": BLACK, "linestyle": (0, (5, 1, 1, 1, 1, 1))},
)


def show_lines(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    caption: str,
    xscale: str = "linear",
    yscale: str = "linear",
    xticks: Sequence[float] | None = None,
    marks: Mapping[str, float] | None = None,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
) -> None:
    """Draw one to five labelled lines and print the caption under them.

    Args:
        lines: label → (x, y), each of one dimension.
        xlabel, ylabel: with units.
        caption: a sentence that says what to see, with its number.
        xscale, yscale: "linear", "log" or "symlog".
        xticks: where the ticks stand, written as plain numbers; chosen if None.
        marks: label → x of a vertical line.
        bands: label of a line → (lowest, highest) y at its places, shaded in its colour.

    Raises:
        ValueError: no line, more lines than can be told apart, or a band without its line.
    """
    if not 1 <= len(lines) <= len(LOOKS):
        raise ValueError(f"lines must hold 1 to {len(LOOKS)} lines, got {len(lines)}")
    bands = bands or {}
    if without_line := bands.keys() - lines.keys():
        raise ValueError(f"bands must be labelled like lines, {sorted(lines)}, got {sorted(without_line)}")
    with matplotlib.style.context(["default", STYLE]):
        figure = _figure(WIDTH)
        axes = figure.add_subplot(xmargin=0.02)
        for (label, (x, y)), look in zip(lines.items(), LOOKS, strict=False):
            axes.plot(np.asarray(x), np.asarray(y), label=label, linewidth=1.3, **look)
            if label in bands:
                low, high = map(np.asarray, bands[label])
                axes.fill_between(np.asarray(x), low, high, color=look["color"], alpha=0.2, linewidth=0)
        for label, x in (marks or {}).items():
            axes.axvline(x, color=GREY, linewidth=1, linestyle=":")
            axes.annotate(
                label,
                (x, 1),
                (4, -2),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                color=GREY,
            )
        axes.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
        if xticks is not None:
            axes.set_xticks(xticks, [f"{x:g}" for x in xticks])
            axes.xaxis.minorticks_off()
        axes.grid(color="#d9d9d9", linewidth=0.6)
        if len(lines) > 1:
            figure.legend(loc="outside upper center", ncols=min(3, len(lines)), handlelength=3)
        _show(figure, caption)  # ticks are made while drawing


def show_matrix(matrix: Sequence[Sequence[float]], *, xlabel: str, ylabel: str, caption: str) -> None:
    """Draw a small matrix, purple below zero and orange above, each entry but 0 written in its cell.

    Args:
        matrix: (rows, columns).
        xlabel, ylabel: of columns and rows.
        caption: a sentence that says what to see, with its number, printed under the picture.

    Raises:
        ValueError: no matrix, or an empty one.
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"matrix must have shape (rows, columns) with at least one of each, got {matrix.shape}")
    limit = np.abs(matrix).max() or 1  # zeros alone are neither side of zero
    with matplotlib.style.context(["default", STYLE]):
        figure = _figure(HEIGHT * 1.3)
        axes = figure.add_subplot(xticks=range(matrix.shape[1]), yticks=range(matrix.shape[0]))
        picture = axes.imshow(matrix, cmap="PuOr_r", vmin=-limit, vmax=limit)
        figure.colorbar(picture, ax=axes)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        for row, column in np.argwhere(matrix):
            value = matrix[row, column]
            ink = "white" if abs(value) > 0.7 * limit else BLACK
            text = f"{value:.2g}".replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=7)
        _show(figure, caption)  # ticks are made while drawing


def _figure(width: float) -> Figure:
    return Figure(figsize=(width / DPI, HEIGHT / DPI), dpi=DPI * SCALE, facecolor="white", layout="constrained")


class _Picture:
    """A PNG whose text form is the sentence under it."""

    def __init__(self, figure: Figure, caption: str) -> None:
        canvas, png = FigureCanvasAgg(figure), io.BytesIO()
        canvas.draw()
        frame = PIL.Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba()).convert("RGB")
        frame.quantize(256).save(png, "png", optimize=True)  # a palette: a third of the size in a stored notebook
        self.png, self.caption = png.getvalue(), caption
        self.size = {"width": int(figure.get_figwidth() * DPI), "height": int(figure.get_figheight() * DPI)}

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
        bundle = {"image/png": base64.b64encode(self.png).decode("ascii"), "text/plain": self.caption}
        return bundle, {"image/png": self.size}


def _show(figure: Figure, caption: str) -> None:
    display(_Picture(figure, caption))
    print(textwrap.fill(caption, 88))  # JupyterLab would break a longer line inside a word
