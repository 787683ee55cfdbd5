"""The lessons' still pictures: the sentence under each, what colours say, and errors."""

import base64
import io

import matplotlib.style
import numpy as np
import PIL.Image
import pytest

from posenc_lib.widgets import figures
from posenc_lib.widgets.figures import show_lines, show_matrix

LABELS = {"xlabel": "distance (positions)", "ylabel": "score"}
CAPTION = "The score falls to 0 at distance 2. " * 4


@pytest.fixture
def shown(monkeypatch):
    """What was displayed: (mime bundle, metadata) each."""
    bundles = []
    monkeypatch.setattr(figures, "display", lambda picture: bundles.append(picture._repr_mimebundle_()))
    return bundles


def pixels(bundle):
    return np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).convert("RGB"))


def share(picture, red, green, blue):
    """How much of a picture has about that colour."""
    return (np.abs(picture.astype(int) - (red, green, blue)).max(-1) < 24).mean()


def test_the_sentence_is_the_pictures_text_and_stands_under_it(shown, capsys):
    show_lines({"a": ([0, 1, 2], [2, 1, 0])}, caption=CAPTION, **LABELS)
    ((bundle, metadata),) = shown
    assert bundle["text/plain"] == CAPTION
    printed = capsys.readouterr().out
    assert printed.split() == CAPTION.split()
    assert max(map(len, printed.splitlines())) <= 88
    size = metadata["image/png"]
    assert pixels(bundle).shape == (2 * size["height"], 2 * size["width"], 3)


def test_each_line_has_a_colour_of_its_own_and_a_band_is_shaded_in_it(shown):
    x = np.arange(10)
    lines = {"first": (x, x), "second": (x, 9 - x)}
    show_lines(lines, caption=CAPTION, **LABELS)
    show_lines(lines, bands={"second": (8 - x, 10 - x)}, caption=CAPTION, **LABELS)
    plain, banded = (pixels(bundle) for bundle, _ in shown)
    for colour in ((0, 114, 178), (213, 94, 0)):
        assert share(plain, *colour) > 0.0005
    shade = (247, 223, 204)  # a fifth of vermillion on white
    assert share(plain, *shade) < 0.01 < share(banded, *shade)


def test_a_matrix_is_purple_below_zero_orange_above_and_white_at_zero(shown):
    for value in (-1, 0, 1):
        show_matrix(np.full((2, 2), value), caption=CAPTION, **LABELS)
    below, zero, above = (pixels(bundle)[300:420, 300:420].reshape(-1, 3).mean(0) for bundle, _ in shown)
    assert below[2] > below[1] + 20
    assert above[0] > above[2] + 20
    assert zero.min() > 235


def test_the_notebooks_own_style_does_not_reach_a_picture(shown):
    for style in ({}, {"font.size": 20, "axes.facecolor": "black"}):
        with matplotlib.rc_context(style):
            show_lines({"a": ([0, 1], [1, 0])}, caption=CAPTION, **LABELS)
            show_matrix([[1, -2]], caption=CAPTION, **LABELS)
    assert shown[:2] == shown[2:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lines": {}}, "lines must hold 1 to 5 lines, got 0"),
        ({"lines": {name: ([0], [0]) for name in "abcdef"}}, "lines must hold 1 to 5 lines, got 6"),
        ({"lines": {"a": ([0], [0])}, "bands": {"b": ([0], [0])}}, r"bands must be labelled .*\['a'\], got \['b'\]"),
    ],
)
def test_lines_that_cannot_be_told_apart_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        show_lines(**arguments, caption=CAPTION, **LABELS)


@pytest.mark.parametrize("matrix", [[0, 0], [], [[]], 3.0, np.zeros((2, 0)), np.zeros((1, 1, 1))])
def test_what_is_no_matrix_is_named(matrix):
    with pytest.raises(ValueError, match=r"matrix must have shape \(rows, columns\) with at least one of each, got \("):
        show_matrix(matrix, caption=CAPTION, **LABELS)
