import io
import random

import pytest
from matplotlib.text import Text

from posenc_lib.widgets import GALLERY
from posenc_lib.widgets.kept_text import KeptText
from tests.widgets.states import shown, values_of

USERS = pytest.mark.parametrize("name", ["reorder_sentence", "shift_matrix"])


@USERS
@pytest.mark.parametrize("scale", [0.5, 1, 1.25])
def test_kept_texts_are_those_that_are_drawn_anew(name, scale, monkeypatch):
    def frames():
        rng, figure = random.Random(0), GALLERY[name](scale=scale)
        slider = next(iter(figure.controls.values()))
        for _ in range(40):
            slider.value = rng.choice(values_of(slider)[:30])  # few, so that many come back
            yield shown(figure)

    kept = list(frames())
    monkeypatch.setattr(KeptText, "draw", Text.draw)
    assert list(frames()) == kept


@USERS
def test_the_figure_can_be_saved_and_the_live_picture_stays(name):
    figure = GALLERY[name]()
    slider = next(iter(figure.controls.values()))
    first, before = slider.value, shown(figure)
    slider.value = slider.max
    for options in ({"format": "pdf"}, {"format": "svg"}, {"format": "png", "dpi": 200}):
        figure.figure.savefig(io.BytesIO(), **options)
    slider.value = first
    assert shown(figure) == before
