import random

import pytest
from matplotlib.text import Text

from posenc_lib.widgets import GALLERY
from posenc_lib.widgets.kept_text import KeptText
from tests.widgets.states import shown, values_of


@pytest.mark.parametrize("name", ["reorder_sentence", "shift_matrix"])
def test_kept_texts_are_those_that_are_drawn_anew(name, monkeypatch):
    def frames():
        rng, figure = random.Random(0), GALLERY[name]()
        slider = next(iter(figure.controls.values()))
        for _ in range(40):
            slider.value = rng.choice(values_of(slider)[:30])  # few, so that many come back
            yield shown(figure)

    kept = list(frames())
    monkeypatch.setattr(KeptText, "draw", Text.draw)
    assert list(frames()) == kept
