"""Write the README's moving picture: RopeDial's own frames while its sliders move, as a looping GIF.

    python -m tools.readme_picture

The same sources give the same bytes.
"""

import io
from collections.abc import Iterator
from pathlib import Path

from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

from posenc_lib.widgets import RopeDial
from posenc_lib.widgets.live_figure import BLUE, GREY, HEIGHT, WIDTH

PICTURE = Path(__file__).resolve().parents[1] / "classroom" / "rope_dial.gif"
MOVES = [("m", 44), ("shift", 20), ("m", 20), ("shift", 0)]  # from the first state, and back to it
STEP = 2  # positions a frame
FRAME, PAUSE = 80, 900  # milliseconds
ROW = 34  # pixels a slider
COLOURS = 32


def states(dial: RopeDial) -> Iterator[bool]:
    """Move the dial's sliders, one position after the other; true where the reader gets time to look."""
    for name, goal in MOVES:
        control = dial.controls[name]
        step = STEP if goal > control.value else -STEP
        for value in range(control.value + step, goal + step, step):
            control.value = value
            yield value == goal


def frame(dial: RopeDial) -> Image.Image:
    """The dial's picture over the sliders that MOVES moves."""
    names = list(dict(MOVES))
    image = Image.new("RGB", (WIDTH, HEIGHT + ROW * len(names)), "white")
    image.paste(Image.open(io.BytesIO(dial.image.value)))
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 13)
    left, right = 190, WIDTH - 70
    for row, name in enumerate(names):
        control = dial.controls[name]
        y = HEIGHT + ROW * row + ROW // 2
        x = left + (right - left) * control.value / control.max
        draw.text((left - 22, y), control.description, fill="black", font=font, anchor="rm")
        draw.text((right + 22, y), str(control.value), fill="black", font=font, anchor="lm")
        draw.line([(left, y), (right, y)], fill=GREY, width=3)
        draw.ellipse([x - 8, y - 8, x + 8, y + 8], fill=BLUE)
    return image


def gif() -> bytes:
    dial = RopeDial()
    frames, times = [], []
    for pause in states(dial):
        frames.append(frame(dial))
        times.append(PAUSE if pause else FRAME)
    palette = frames[0].quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    first, *others = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in frames]
    content = io.BytesIO()
    first.save(content, "GIF", save_all=True, append_images=others, duration=times, loop=0, optimize=False)
    return content.getvalue()


if __name__ == "__main__":
    PICTURE.write_bytes(gif())
