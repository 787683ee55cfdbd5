"""The widgets' pictures rendered ahead, for pages that no kernel stands behind: frames, and the player's markup.

A widget is recorded in a few states, each over values of one slider, mostly its first. A frame is what the widget
shows, at two pixels a screen pixel, in two layers: a ground for each state, which has at every pixel the colour that
most of the state's frames have there, and what differs from it, transparent elsewhere. Both are lossless WebP.
"""

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jinja2
import nbformat
import numpy as np
import PIL.Image
from torch import Tensor

from posenc_lib.widgets import GALLERY, LiveFigure, TableSimilarity
from posenc_lib.widgets.live_figure import HEIGHT, WIDTH, State
from tools.store_notebooks import NOTEBOOKS

__all__ = ["RECORDINGS", "Recording", "layers", "make_widget", "record"]

SCALE = 2  # sharp on a HiDPI screen
MARGIN = 2  # pixels; a screen that shows the picture smaller mixes neighbours, and the ground must not shine through
WEBP = {"format": "WEBP", "lossless": True, "quality": 75, "method": 4}  # method 6: ten times the time, 1 % less
TEMPLATE = Path(__file__).with_name("site_template")
templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATE), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


class Recording(NamedTuple):
    """What is recorded of a widget.

    Attributes:
        values: of the slider; those at which a state begins or to which a button jumps are added.
        states: label → what it sets over the widget's first state, None for the preset of that label.
        sliders: label → the control that the slider moves in that state, where it is not the widget's first.
    """

    values: Iterable[int]
    states: Mapping[str, State | None]
    sliders: Mapping[str, str] = MappingProxyType({})


def _growing(last: int, count: int) -> list[int]:
    """0 to last in at most count steps that grow by equal ratios, 1 at least."""
    return [round(value) for value in np.geomspace(1, last + 1, count) - 1]


RECORDINGS = {
    "reorder_sentence": Recording(
        range(0, 720, 42), {"No encoding": {}, "With RoPE": {"encoding": "rope"}, "Causal, 2 layers": None}
    ),
    "sinusoidal_heat_map": Recording(range(0, 128, 4), {"Pair 3": {}, "Fastest pair": None, "Slowest pair": None}),
    "shift_matrix": Recording(range(-64, 65, 8), {"Signs for (sin, cos)": {}, "Signs of the other order": None}),
    "torus_walk": Recording(range(0, 801, 100), {"A trail of 63": {}, "The whole walk": None}),
    "table_similarity": Recording(range(32), {"q = 7": {}, "Move both by one": None}),
    "rope_dial": Recording(
        range(0, 65, 4),
        {"Move q": {}, "Same position": None, "Move both": {"shift": 0}},
        sliders={"Move both": "shift"},
    ),
    "clock_wall": Recording(_growing(32_768, 16), {"Base 10 000": {}, "Base 100": {"base": 100.0}}),
    "score_by_distance": Recording(
        range(0, 4097, 128), {"Equal": {}, "Random: nothing decays": None, "Tuned to 300": None}
    ),
    "alibi_row": Recording(
        _growing(2047, 24),
        {
            "Head 3": {},
            "Head 8 sees far": None,
            "A tie: c = m · 20": None,
            "Content wins: c = 11": None,
            "12 heads: head 9": None,
        },
    ),
    "t5_staircase": Recording(
        [sign * distance for sign in (-1, 1) for distance in (*range(0, 16, 2), *range(16, 257, 24))],
        {"Bidirectional": {}, "The last bucket, causal (113)": None, "Sign-blind": None},
    ),
    "kernel_shapes": Recording(
        range(0, 256, 8), {"r₂ = 0.5": {}, "Power = ALiBi (r₁ = m, r₂ = 1)": None, "Largest exponent (r₂ = 2)": None}
    ),
    "stretch_rope": Recording(
        range(1, 9),
        {
            "YaRN": {},
            "YaRN, paper's ramp": {"method": "YaRN, paper's ramp"},
            "PI": {"method": "PI"},
            "NTK": {"method": "NTK"},
            "dynamic NTK": {"method": "dynamic NTK"},
        },
    ),
    "config_reader": Recording(
        range(0, 64, 2),
        {
            "Llama 3.1 8B": {},
            "Qwen2.5 7B + YaRN": None,
            "Phi-3.5 mini": None,
            "gpt-oss 20B": None,
            "Gemma 3 12B, global": None,
        },
    ),
    "loss_by_position": Recording(
        _growing(127, 12),
        {
            "RoPE at 4×": {},
            "ALiBi at 16×": None,
            "Learned, clamped": None,
            "T5 beside KERPLE log": None,
            "No encoding beside RoPE": None,
        },
    ),
}


def make_widget(name: str) -> LiveFigure:
    """A widget of the gallery as its lesson shows it, at the frames' scale."""
    if name == "table_similarity":
        return TableSimilarity(_trained_table(), scale=SCALE)
    return GALLERY[name](scale=SCALE)


def record(name: str, folder: Path) -> str:
    """Write a widget's frames under folder/frames/name/, unless they are there.

    Args:
        name: of the widget, a key of GALLERY.
        folder: where the pages lie that show the frames: they are addressed from there.

    Returns:
        The widget for such a page, a <figure> that site_template/player.js plays. It has no ids, so that a page may
        hold it twice.
    """
    fragment = folder / "frames" / name / "fragment.txt"
    if not fragment.exists():
        fragment.parent.mkdir(parents=True, exist_ok=True)
        figure, recording = make_widget(name), RECORDINGS[name]
        states = _record_states(figure, recording, fragment.parent)
        sliders = {state["slider"] for state in states}
        descriptions = [control.description for control in figure.controls.values()]
        text = templates.get_template("player.html.j2").render(
            name=name,
            others=[description for description in descriptions if description not in sliders],
            labels=list(recording.states),
            jumps=[label for label in figure.presets() if any(label in state["jumps"] for state in states)],
            states=states,
            size=(WIDTH, HEIGHT),
        )
        fragment.write_text(text, "utf-8", newline="\n")  # last: without it the frames are made anew
    return fragment.read_text(encoding="utf-8")


def _record_states(figure: LiveFigure, recording: Recording, folder: Path) -> list[dict[str, Any]]:
    """Write the frames of every state into the folder; returns what the player is told of them."""
    sliders = _sliders(figure, recording)
    begins = _begins(figure, recording)
    jumps = [_jumps(figure, recording, begins, begin) for begin in begins]
    needed = [{begin[slider]} for begin, slider in zip(begins, sliders, strict=True)]
    for to, value in (jump for found in jumps for jump in found.values()):
        needed[to].add(value)

    states, places = [], {}
    for number, (begin, slider) in enumerate(zip(begins, sliders, strict=True)):
        _set(figure, begin)
        frames, pictures = [], []
        for value in sorted({*recording.values} | needed[number]):
            _set(figure, {slider: value})
            picture = _pixels(figure)
            # past a model's last pair, or once a mark has left the picture, there is nothing more to see
            if value in needed[number] or not pictures or (picture != pictures[-1]).any():
                src = f"frames/{folder.name}/{number}-{len(frames):02}.webp"
                frames.append({"value": str(value).replace("-", "−"), "src": src, "readout": figure.readout})
                pictures.append(picture)
            places[number, value] = len(frames) - 1
        ground = f"frames/{folder.name}/{number}.webp"
        for src, layer in zip([ground, *(frame["src"] for frame in frames)], layers(np.stack(pictures)), strict=True):
            _write(folder / Path(src).name, layer)
        label, start = figure.controls[slider].description, places[number, begin[slider]]
        states.append({"slider": label, "ground": ground, "start": start, "frames": frames})
    for state, found in zip(states, jumps, strict=True):
        state["jumps"] = {label: [to, places[to, value]] for label, (to, value) in found.items()}
    return states


def _begins(figure: LiveFigure, recording: Recording) -> list[State]:
    """The values of all controls with which each state begins."""
    first = {name: control.value for name, control in figure.controls.items()}
    presets = figure.presets()
    return [first | (presets[label](first) if values is None else values) for label, values in recording.states.items()]


def _jumps(figure: LiveFigure, recording: Recording, begins: list[State], begin: State) -> dict[str, tuple[int, int]]:
    """The presets that lead from here to a frame of some state: label → the state's number, its slider's value."""
    jumps = {}
    for label, preset in figure.presets().items():
        target = begin | preset(begin)
        for number, (other, slider) in enumerate(zip(begins, _sliders(figure, recording), strict=True)):
            if label not in recording.states and target == other | {slider: target[slider]}:
                jumps.setdefault(label, (number, target[slider]))
    return jumps


def _sliders(figure: LiveFigure, recording: Recording) -> list[str]:
    """The control that the slider moves in each state."""
    first = next(iter(figure.controls))
    return [recording.sliders.get(label, first) for label in recording.states]


def _set(figure: LiveFigure, values: State) -> None:
    for name, value in values.items():
        figure.controls[name].value = value


def _pixels(figure: LiveFigure) -> np.ndarray:
    """The picture, each pixel's red, green, blue and alpha in one number, (H, W)."""
    picture = PIL.Image.open(io.BytesIO(figure.image.value)).convert("RGBA")
    return np.asarray(picture).view("<u4")[..., 0]


def layers(pictures: np.ndarray) -> Iterator[np.ndarray]:
    """The ground of pictures (N, H, W), then each picture around where it differs from the ground, 0 elsewhere."""
    ground = pictures[0].copy()
    varies = (pictures != ground).any(axis=0)
    # Where one colour fills more than half of a sorted row, it also stands in the middle.
    ground[varies] = np.sort(pictures[:, varies], axis=0)[len(pictures) // 2]
    yield ground
    for picture in pictures:
        yield np.where(_widened(picture != ground), picture, 0)


def _widened(mask: np.ndarray) -> np.ndarray:
    """The mask with MARGIN pixels around what it holds, (H, W)."""
    height, width = mask.shape
    steps = range(2 * MARGIN + 1)
    padded = np.pad(mask, MARGIN)
    rows = np.logical_or.reduce([padded[:, step : step + width] for step in steps])
    return np.logical_or.reduce([rows[step : step + height] for step in steps])


def _write(path: Path, layer: np.ndarray) -> None:
    pixels = np.ascontiguousarray(layer).view(np.uint8).reshape(*layer.shape, 4)
    PIL.Image.fromarray(pixels).save(path, **WEBP)


def _trained_table() -> Tensor:
    """The table that lesson 3 trains before it shows it: its cells that import and define, run here."""
    cells = nbformat.read(NOTEBOOKS / "03_learned_table.ipynb", as_version=4).cells
    lesson: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for cell in takewhile(lambda cell: "TableSimilarity(" not in cell.source, cells):
            if cell.cell_type == "code" and cell.source.startswith(("import ", "def ", "class ")):
                exec(cell.source, lesson)
        reader = lesson["reader"]("learned")
        lesson["train"](reader, "learned")
    return reader.encoding.table
