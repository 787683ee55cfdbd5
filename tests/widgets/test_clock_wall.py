import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import ClockWall
from posenc_lib.widgets.clock_wall import turns_completed, wall_wavelengths
from tests.widgets.buttons import press

widths = st.sampled_from([16, 32, 48, 64])
bases = st.sampled_from([10.0, 100.0, 1e3, 1e4])


@given(head_dim=widths, base=bases)
def test_wavelengths_are_two_pi_times_powers_of_the_base(head_dim, base):
    expected = [2 * math.pi * base ** (2 * pair / head_dim) for pair in range(head_dim // 2)]
    np.testing.assert_allclose(wall_wavelengths(head_dim, base=base), expected, rtol=1e-14)


@given(position=st.integers(0, 32_768) | st.floats(1, 32_768), head_dim=widths, base=bases)
def test_turns_are_position_over_wavelength(position, head_dim, base):
    expected = [position / (2 * math.pi * base ** (2 * pair / head_dim)) for pair in range(head_dim // 2)]
    np.testing.assert_allclose(turns_completed(position, head_dim, base=base), expected, rtol=1e-14)


@pytest.mark.parametrize(("position", "done"), [(0, 0), (6, 0), (7, 1), (2048, 11), (32_768, 15)])
def test_readout_counts_the_pairs_that_have_turned_once(position, done):
    """λ_k = 2π·10000^(k/16) for head width 32: λ_0 = 6.28, λ_10 = 1987, λ_11 = 3533, λ_14 = 19 869, λ_15 = 35 333."""
    wall = ClockWall()
    wall.controls["p"].value = position
    assert f"{done} of 16 pairs have completed a turn" in wall.readout


def test_hands_point_where_the_pairs_have_turned():
    wall = ClockWall()
    wall.controls["p"].value = 100
    (x0, y0), (x1, y1) = wall.hands.get_segments()[8]  # ω_8 = 10000^(−1/2) = 0.01: one radian
    assert math.atan2(y0 - y1, x1 - x0) == pytest.approx(1.0, abs=1e-12)  # y runs down


@pytest.mark.parametrize("head_dim", [16, 32, 48, 64])
@pytest.mark.parametrize("base", [10.0, 1e4])
def test_half_turn_button_turns_the_slowest_hand_half_way(head_dim, base):
    wall = ClockWall()
    wall.controls["head_dim"].value = head_dim
    wall.controls["base"].value = base
    press(wall, "Half a turn of the slowest")
    slowest = wall.controls["p"].value / (2 * math.pi * base ** ((head_dim - 2) / head_dim))
    assert slowest == pytest.approx(0.5, abs=0.5 / 25)  # whole positions; the shortest wavelength here is 47


@pytest.mark.parametrize("head_dim", [16, 32, 48, 64])
def test_clocks_and_labels_keep_apart_and_inside(head_dim):
    wall = ClockWall()
    wall.controls["head_dim"].value = head_dim
    renderer = wall.figure.canvas.get_renderer()
    boxes = [label.get_window_extent(renderer) for label in wall.labels]
    assert len(boxes) == head_dim // 2
    for index, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= 640
        assert box.y0 >= 0
        assert not any(box.overlaps(other) for other in boxes[index + 1 :])
