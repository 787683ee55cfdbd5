import io

import numpy as np
from PIL import Image, ImageSequence

from tests.notebooks.nbval_png import TOLERANCE, pixels
from tools.readme_picture import MOVES, PICTURE, RopeDial, gif, states


def frames(content):
    with Image.open(io.BytesIO(content)) as image:
        return np.stack([pixels(frame) for frame in ImageSequence.Iterator(image)])


def test_the_stored_picture_is_what_the_script_makes():
    stored, made = frames(PICTURE.read_bytes()), frames(gif())
    assert stored.shape == made.shape
    assert np.sqrt(np.mean((stored - made) ** 2, axis=(1, 2, 3))).max() <= TOLERANCE


def test_the_picture_loops_without_a_jump_and_within_a_megabyte():
    assert PICTURE.stat().st_size <= 1_000_000
    with Image.open(PICTURE) as image:
        assert image.info["loop"] == 0  # for ever
    dial = RopeDial()
    first = dial.image.value
    pauses = list(states(dial))
    assert dial.image.value == first
    assert sum(pauses) == len(MOVES)


def test_the_readme_shows_it_with_a_text_for_who_cannot_see_it():
    readme = (PICTURE.parents[1] / "README.md").read_text("utf-8")
    (alternative,) = [line for line in readme.splitlines() if line.endswith(f"]({PICTURE.parent.name}/{PICTURE.name})")]
    assert len(alternative.partition("](")[0]) > 60
