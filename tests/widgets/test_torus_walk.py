import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import TorusWalk
from posenc_lib.widgets.torus_walk import RING, TUBE, distance_from_start, doughnut, near_returns, pair_angles

pairs = st.integers(0, 2)
angles = st.floats(-50, 50)


@given(position=st.integers(0, 100_000), pair=pairs)
def test_each_pair_turns_ten_times_slower_than_the_one_before(position, pair):
    expected = [[position * 10.0**-pair, position * 10.0 ** -(pair + 1)]]
    np.testing.assert_allclose(pair_angles(np.array([position]), pair), expected, rtol=1e-14)


@given(position=st.integers(0, 100_000), pair=pairs)
def test_distance_is_that_of_the_four_numbers(position, pair):
    fast, slow = position * 10.0**-pair, position * 10.0 ** -(pair + 1)
    here = (math.sin(fast), math.cos(fast), math.sin(slow), math.cos(slow))
    expected = math.dist(here, (0, 1, 0, 1))
    assert distance_from_start(np.array([position]), pair)[0] == pytest.approx(expected, abs=1e-9)


def test_curve_closes_but_no_whole_position_does():
    assert distance_from_start(np.array([20 * math.pi]), 0)[0] < 1e-13
    everywhere = distance_from_start(np.arange(1, 801), 0)
    assert int(everywhere.argmin()) + 1 == 377  # 60 turns of pair 0 end at 376.991
    assert everywhere.min() == pytest.approx(0.0089, abs=5e-5)


@pytest.mark.parametrize(("pair", "expected"), [(0, [377, 754]), (1, [628]), (2, [])])
def test_near_returns_up_to_800(pair, expected):
    assert near_returns(800, pair).tolist() == expected


@pytest.mark.parametrize("last", [1000, 7100])
def test_near_returns_are_all_the_positions_that_come_near(last):
    near = np.flatnonzero(distance_from_start(np.arange(last + 1), 0) < 0.05)
    assert near_returns(last, 0).tolist() == near[1:].tolist()  # the first is the start


@given(tube=angles, ring=angles)
def test_points_lie_on_the_doughnut_and_normals_stand_on_it(tube, ring):
    (x, y, z), normal = doughnut(np.array([tube, ring]))
    assert (math.hypot(x, y) - RING) ** 2 + z**2 == pytest.approx(TUBE**2, abs=1e-12)
    step = 1e-6
    for turn in ([step, 0], [0, step]):
        along = doughnut(np.array([tube, ring]) + turn)[0] - doughnut(np.array([tube, ring]) - turn)[0]
        assert along @ normal / (2 * step) == pytest.approx(0, abs=1e-8)
    assert math.hypot(*normal) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"p": 377}, "60.001 and 6.0001 turns, 0.0089 from the start, a near-return. The curve closes at 62.83"),
        ({"p": 63}, "0.1688 from the start. The curve closes"),
        ({"p": 628, "pair": 1}, "0.0320 from the start, a near-return. The curve closes at 628.32"),
        ({"p": 800, "pair": 2, "trail": 800}, "The curve closes at 6,283.19"),
        ({"p": 0}, "0.0000 from the start. The curve"),
    ],
)
def test_readout_says_how_near_the_start_is(state, says):
    walk = TorusWalk()
    for name, value in state.items():
        walk.controls[name].value = value
    assert says in walk.readout


@pytest.mark.parametrize("pair", [0, 1, 2])
def test_no_line_crosses_the_square_where_an_angle_wraps(pair):
    walk = TorusWalk()
    for name, value in {"p": 800, "pair": pair, "trail": 800}.items():
        walk.controls[name].value = value
    line = np.stack(walk.flat_line.get_data(), axis=-1)
    steps = np.abs(np.diff(line, axis=0))
    assert np.nanmax(steps) < 0.11  # a tenth of a position, at 1 rad a position at most
    assert np.nanmax(np.abs(line)) <= math.pi


def test_the_labels_of_the_near_returns_keep_inside_and_apart():
    walk = TorusWalk()
    renderer = walk.figure.canvas.get_renderer()
    labels = [mark for mark in walk.marks if hasattr(mark, "get_text")]
    boxes = [label.get_window_extent(renderer) for label in labels]
    assert [label.get_text() for label in labels] == ["p = 377: 0.0089", "p = 754: 0.0179"]
    assert all(box.x1 <= 640 for box in boxes)
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[0].y1 < walk.flat.xaxis.label.get_window_extent(renderer).y0
