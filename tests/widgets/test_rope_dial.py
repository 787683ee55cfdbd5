import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import RopeDial
from posenc_lib.widgets.rope_dial import dial_state, shift_scores
from tests.widgets.buttons import press

positions = st.integers(-4096, 4096) | st.floats(-4096, 4096)
pairs = st.integers(0, 3)
bases = st.sampled_from([10.0, 100.0, 1e4, 5e5])


@given(m=positions, n=positions, pair=pairs, base=bases)
def test_score_is_the_cosine_of_the_offset_angle(m, n, pair, base):
    state = dial_state(m, n, pair=pair, base=base)
    frequency = base ** (-2 * pair / 8)
    assert state.frequency == pytest.approx(frequency, rel=1e-15)
    assert state.q_angle == pytest.approx(m * frequency, rel=1e-14)
    assert state.k_angle == pytest.approx(n * frequency, rel=1e-14)
    assert state.offset_angle == pytest.approx((m - n) * frequency, rel=1e-14)
    assert state.score == pytest.approx(math.cos((m - n) * frequency), abs=1e-11)


@given(m=positions, n=positions, pair=pairs, base=bases)
def test_moving_both_leaves_the_score_and_moving_q_alone_does_not(m, n, pair, base):
    shifts = np.linspace(-64, 64, 33)
    together, alone = shift_scores(m, n, shifts, pair=pair, base=base)
    frequency = base ** (-2 * pair / 8)
    np.testing.assert_allclose(together, math.cos((m - n) * frequency), rtol=0, atol=1e-11)
    np.testing.assert_allclose(alone, np.cos((m + shifts - n) * frequency), rtol=0, atol=1e-11)


@pytest.mark.parametrize("pair", [-1, 4])
def test_a_pair_that_the_head_lacks_is_named(pair):
    with pytest.raises(ValueError, match=f"pair must lie from 0 to 3, got {pair}"):
        dial_state(1, 2, pair=pair, base=1e4)
    with pytest.raises(ValueError, match=f"pair must lie from 0 to 3, got {pair}"):
        shift_scores(1, 2, np.zeros(1), pair=pair, base=1e4)


def test_score_stands_still_while_move_both_slides():
    dial = RopeDial()
    scores, frames = set(), set()
    for shift in range(0, 65, 8):
        dial.controls["shift"].value = shift
        scores.add(dial.readout.rpartition("Score ")[2])
        frames.add(dial.image.value)
        assert f"q at position {20 + shift}, k at position {8 + shift}" in dial.readout
    assert scores == {"0.362."}  # cos(12 × 0.1)
    assert len(frames) == 9


@pytest.mark.parametrize(
    ("button", "expected"),
    [
        ("Same position", "Score 1.000"),
        ("About a quarter turn", "1.600 rad = 91.7° apart. Score -0.029"),  # cos 1.6, as near as whole positions come
        ("Move both by 10", "q at position 30, k at position 18: offset 12"),
    ],
)
def test_buttons_show_what_they_say(button, expected):
    dial = RopeDial()
    press(dial, button)
    assert expected in dial.readout


def test_zero_never_reads_as_minus_zero():
    dial = RopeDial()
    for m in range(65):
        dial.controls["m"].value = m
        assert "-0.000" not in dial.readout
        assert "-0.0°" not in dial.readout
