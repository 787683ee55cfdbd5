"""A text that is drawn once for each of its looks: of all that moves in a picture, text takes longest to draw."""

from typing import Any

from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text

from posenc_lib.widgets.live_figure import DPI

__all__ = ["KeptText"]


class KeptText(Text):
    """A text on a ground of one colour, kept with it as pixels; nothing else that moves may reach into its box.

    Attributes:
        ground: the colour under the text, where that changes.
    """

    def __init__(self, x: float, y: float, **options: Any) -> None:
        super().__init__(x, y, clip_on=False, **options)
        self.ground: tuple[float, ...] = ()
        self._kept: dict[tuple[Any, ...], Any] = {}

    def draw(self, renderer: RendererBase) -> None:
        figure = self.figure
        if figure.canvas.is_saving() or figure.dpi % DPI:  # no place for pixels, or none for whole ones
            return super().draw(renderer)
        look = self.get_text(), self.get_color(), self.get_fontweight(), self.ground
        if look in self._kept:
            renderer.restore_region(self._kept[look])
        else:
            super().draw(renderer)
            self._kept[look] = renderer.copy_from_bbox(self.get_window_extent(renderer).padded(1))
