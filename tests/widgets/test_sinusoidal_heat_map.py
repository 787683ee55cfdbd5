import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import SinusoidalHeatMap
from posenc_lib.widgets.sinusoidal_heat_map import hand_tips, pair_curves
from tests.widgets.buttons import press


def angle(position, pair, dim=32):
    return position * 10_000 ** (-2 * pair / dim)


@given(position=st.integers(0, 100_000) | st.floats(0, 100_000), dim=st.sampled_from([2, 8, 32, 64]))
def test_hands_start_at_twelve_and_turn_clockwise(position, dim):
    expected = [(math.sin(angle(position, k, dim)), math.cos(angle(position, k, dim))) for k in range(dim // 2)]
    np.testing.assert_allclose(hand_tips(position, dim), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("pair", [0, 3, 15])
def test_curves_are_the_pairs_sine_and_cosine_at_fractional_positions_too(pair):
    positions = np.arange(0, 20, 0.25)
    sine, cosine = pair_curves(positions, pair)
    np.testing.assert_allclose(sine, [math.sin(angle(p, pair)) for p in positions], rtol=0, atol=1e-13)
    np.testing.assert_allclose(cosine, [math.cos(angle(p, pair)) for p in positions], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("p", "pair", "says"),
    [
        (0, 0, "sine 0.000, cosine 1.000. 0 of 16"),
        (6, 0, "has made 0.95 turns: sine -0.279, cosine 0.960. 0 of 16"),  # λ_0 = 6.283
        (63, 4, "wavelength 62.8 positions and has made 1.00 turns: sine 0.017, cosine 1.000. 5 of 16"),
        (127, 15, "dimensions 30 and 31"),
    ],
)
def test_readout_says_the_pair_in_numbers(p, pair, says):
    heat_map = SinusoidalHeatMap()
    heat_map.controls["p"].value, heat_map.controls["pair"].value = p, pair
    assert says in heat_map.readout


def test_hand_of_pair_4_points_down_at_half_its_turn():
    heat_map = SinusoidalHeatMap()
    heat_map.controls["p"].value = 31  # ω_4 = 0.1 rad: 3.1 rad, all but π
    (x0, y0), (x1, y1) = heat_map.hands.get_segments()[4]
    down = (y1 - y0) / heat_map.squash  # y runs down the wall, in other units than x
    assert math.atan2(x1 - x0, down) == pytest.approx(math.pi - 3.1, abs=1e-9)


@pytest.mark.parametrize(("pair", "p"), [(0, 6), (3, 35), (4, 63), (15, 127)])
def test_one_turn_button_goes_to_the_wavelength_or_as_far_as_the_slider_does(pair, p):
    heat_map = SinusoidalHeatMap()
    heat_map.controls["pair"].value = pair
    press(heat_map, "One turn of pair k, if it fits")
    assert heat_map.controls["p"].value == p


def test_frame_holds_the_two_columns_of_the_pair():
    heat_map = SinusoidalHeatMap()
    heat_map.controls["pair"].value = 7
    assert (heat_map.frame.get_x(), heat_map.frame.get_width()) == (13.5, 2)  # columns 14 and 15, centred on integers
