"""The frames of a page without a kernel are the widget's own pictures, and the player's markup leads to them."""

import inspect
import io
import json

import numpy as np
import PIL.Image
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import GALLERY
from tests.notebooks.cells import measures_another_text, read, widget_cells
from tests.widgets.buttons import press
from tools.site_frames import RECORDINGS, layers, make_widget, record
from tools.store_notebooks import all_notebooks

LARGEST = 300_000  # bytes of a recording of QUICK's; a page has 3 MB for all it shows
QUICK = ("config_reader", "t5_staircase")


class Recorded:
    """A widget's recording on a page, as a browser reads it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.markup = record(name, folder)
        self.page = BeautifulSoup(self.markup, "html.parser")
        self.states = json.loads(self.page.select_one("figure.player script.player-frames").string)
        self.labels = [label.get_text().strip() for label in self.page.select(".player-states label")]
        self.files = sorted((folder / "frames" / name).glob("*.webp"))

    def picture(self, state, frame):
        """A frame laid over its state's ground, RGB."""
        ground, layer = (
            PIL.Image.open(self.folder / address).convert("RGBA") for address in (state["ground"], frame["src"])
        )
        return np.asarray(PIL.Image.alpha_composite(ground, layer).convert("RGB"))


@pytest.fixture(scope="module", params=QUICK)
def recorded(request, tmp_path_factory):
    return Recorded(request.param, tmp_path_factory.mktemp("site"))


def begin(figure, number, label):
    """Bring a live widget to a state of QUICK's, whose first is the widget's own and the others presets."""
    figure.reset()
    if number:
        press(figure, label)


def slide(figure, value):
    next(iter(figure.controls.values())).value = int(value.replace("−", "-"))


def shown(figure):
    return np.asarray(PIL.Image.open(io.BytesIO(figure.image.value)).convert("RGB"))


def test_every_widget_is_recorded():
    assert RECORDINGS.keys() == GALLERY.keys()


def test_each_frame_is_what_the_widget_shows_there(recorded):
    figure = GALLERY[recorded.name](scale=2)
    for number, (label, state) in enumerate(zip(recorded.labels, recorded.states, strict=True)):
        begin(figure, number, label)
        assert state["frames"][state["start"]]["readout"] == figure.readout
        for frame in state["frames"][::6]:
            slide(figure, frame["value"])
            np.testing.assert_array_equal(recorded.picture(state, frame), shown(figure))


def test_each_frame_says_what_the_widget_says_there(recorded):
    figure = GALLERY[recorded.name]()
    for number, (label, state) in enumerate(zip(recorded.labels, recorded.states, strict=True)):
        begin(figure, number, label)
        for frame in state["frames"]:
            slide(figure, frame["value"])
            assert frame["readout"] == figure.readout


def test_buttons_lead_where_the_live_ones_do(recorded):
    figure = GALLERY[recorded.name]()
    offered = {button.get_text() for button in recorded.page.select(".player-jumps button")}
    assert offered == {label for state in recorded.states for label in state["jumps"]}
    for number, (label, state) in enumerate(zip(recorded.labels, recorded.states, strict=True)):
        for button, (to, place) in state["jumps"].items():
            begin(figure, number, label)
            press(figure, button)
            assert recorded.states[to]["frames"][place]["readout"] == figure.readout


def test_addresses_and_files_are_the_same(recorded):
    addresses = [
        address for state in recorded.states for address in (state["ground"], *(f["src"] for f in state["frames"]))
    ]
    assert sorted(recorded.folder / address for address in addresses) == recorded.files
    assert len(set(addresses)) == len(addresses)


def test_recording_is_small(recorded):
    assert sum(file.stat().st_size for file in recorded.files) + len(recorded.markup.encode()) < LARGEST


def test_page_without_scripts_shows_the_first_picture_and_its_sentence(recorded):
    figure, state = GALLERY[recorded.name](), recorded.states[0]
    frame, image = state["frames"][state["start"]], recorded.page.select_one("img.player-image")
    assert image["src"] == frame["src"]
    assert state["ground"] in image["style"]
    assert image["alt"] == recorded.page.select_one("p.player-readout").get_text() == figure.readout
    assert recorded.page.select_one("form").has_attr("hidden")


def test_slider_starts_at_the_first_picture_and_names_its_value(recorded):
    slider, state = recorded.page.select_one(".player-slider input[type=range]"), recorded.states[0]
    main = next(iter(GALLERY[recorded.name]().controls.values()))
    assert [int(slider[name]) for name in ("min", "max", "value")] == [0, len(state["frames"]) - 1, state["start"]]
    assert slider["aria-valuetext"] == str(main.value).replace("-", "−")
    assert recorded.page.select_one(".player-slider span").get_text() == main.description


def test_a_page_may_hold_a_widget_twice(recorded):
    assert not recorded.page.find_all(id=True)


def test_a_second_recording_into_the_same_folder_is_the_first(recorded):
    before = [file.stat().st_mtime_ns for file in recorded.files]
    assert record(recorded.name, recorded.folder) == recorded.markup
    assert [file.stat().st_mtime_ns for file in recorded.files] == before


def few(monkeypatch, name, values):
    """Have a widget recorded at these values, where a state begins and where a button leads."""
    monkeypatch.setitem(RECORDINGS, name, RECORDINGS[name]._replace(values=values))


def test_the_same_sources_give_the_same_bytes(tmp_path, monkeypatch):
    few(monkeypatch, "rope_dial", [3])
    first, again = (Recorded("rope_dial", tmp_path / folder) for folder in ("first", "again"))
    assert first.markup == again.markup
    assert [file.read_bytes() for file in first.files] == [file.read_bytes() for file in again.files]


def test_a_curve_that_comes_later_is_there_in_every_frame(tmp_path, monkeypatch):
    few(monkeypatch, "stretch_rope", [1, 3])
    for state in Recorded("stretch_rope", tmp_path).states:
        assert [frame["value"] for frame in state["frames"]] == ["1", "3", "4"]
        for frame in state["frames"]:
            assert "Loss in the last quarter" in frame["readout"]
            assert "…" not in frame["readout"]


@pytest.mark.parametrize("name", GALLERY)
def test_recording_begins_with_the_sentence_that_the_lesson_stores(name):
    if measures_another_text(inspect.getsource(inspect.getmodule(GALLERY[name]))):
        pytest.skip("this Python's text is not the one that the lesson was stored with")
    said = [
        output.data["text/plain"]
        for path in all_notebooks()
        for cell in widget_cells(read(path))
        if f"{GALLERY[name].__name__}(" in cell.source
        for output in cell.outputs
        if "data" in output
    ]
    assert said
    assert set(said) == {make_widget(name).readout}


@given(colours=st.lists(st.lists(st.integers(1, 4), min_size=12, max_size=12), min_size=1, max_size=7))
def test_layers_give_each_picture_back_over_the_commonest_colour(colours):
    pictures = np.array(colours, np.uint32).reshape(-1, 3, 4)
    ground, *tops = layers(pictures)
    for picture, top in zip(pictures, tops, strict=True):
        np.testing.assert_array_equal(np.where(top == 0, ground, top), picture)
    for colour in range(1, 5):
        assert (ground[(pictures == colour).sum(0) * 2 > len(pictures)] == colour).all()


def test_layer_holds_two_pixels_around_what_differs():
    pictures = np.ones((3, 9, 9), np.uint32)
    pictures[2, 4, 4] = 7
    _, first, _, third = layers(pictures)
    assert not first.any()
    expected = np.zeros((9, 9))
    expected[2:7, 2:7] = 1
    expected[4, 4] = 7
    np.testing.assert_array_equal(third, expected)
