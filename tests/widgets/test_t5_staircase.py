import math

import numpy as np
import pytest

from posenc_lib.widgets import T5Staircase
from posenc_lib.widgets.t5_staircase import bucket_members, staircase

# The first distance of each bucket, 32 buckets and maximum distance 128 (T5's code in exact arithmetic).
CAUSAL_STARTS = [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
BIDIRECTIONAL_STARTS = [*range(9), 12, 16, 23, 32, 46, 64, 91]


def by_starts(starts, distance):
    return max(bucket for bucket, start in enumerate(starts) if start <= distance)


@pytest.mark.parametrize("distance", [*range(130), 300, 10**6])
def test_stairs_are_t5s_in_both_directions_and_mirrored_when_the_sign_is_lost(distance):
    both = np.array([-distance, distance])
    causal = by_starts(CAUSAL_STARTS, distance)
    assert staircase(both, "causal").tolist() == [causal, 0]
    assert staircase(both, "sign-blind").tolist() == [causal, causal]
    step = by_starts(BIDIRECTIONAL_STARTS, distance)
    assert staircase(both, "bidirectional").tolist() == [step, step + 16 if distance else 0]


@pytest.mark.parametrize(
    ("relative", "direction", "members"),
    [
        (-3, "causal", [(-3, -3)]),
        (-40, "causal", [(-45, -40)]),
        (-113, "causal", [(-math.inf, -113)]),
        (-112, "causal", [(-112, -99)]),
        (5, "causal", [(0, math.inf)]),
        (0, "bidirectional", [(0, 0)]),
        (-40, "bidirectional", [(-45, -32)]),
        (40, "bidirectional", [(32, 45)]),
        (91, "bidirectional", [(91, math.inf)]),
        (-(10**9), "bidirectional", [(-math.inf, -91)]),
        (3, "sign-blind", [(-3, -3), (3, 3)]),
        (0, "sign-blind", [(0, 0)]),
        (-200, "sign-blind", [(-math.inf, -113), (113, math.inf)]),
    ],
)
def test_members_are_the_positions_between_two_starts(relative, direction, members):
    assert bucket_members(relative, direction) == members


@pytest.mark.parametrize("direction", ["causal", "bidirectional", "sign-blind"])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(8, 64), (64, 64), (64, 256)])
def test_members_are_exactly_those_with_the_same_bucket(direction, num_buckets, max_distance):
    places = np.arange(-300, 301)
    options = {"num_buckets": num_buckets, "max_distance": max_distance}
    buckets = staircase(places, direction, **options)
    for relative in range(-300, 301, 7):
        runs = bucket_members(relative, direction, **options)
        inside = np.any([(first <= places) & (places <= last) for first, last in runs], axis=0)
        np.testing.assert_array_equal(inside, buckets == buckets[relative + 300])


def test_an_unknown_direction_is_named():
    with pytest.raises(ValueError, match="direction must be one of 'causal', 'bidirectional', 'sign-blind'"):
        staircase(np.arange(3), "up")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"relative": 0}, "Key at the query (j − i = 0): bucket 0. It holds j − i = 0."),
        ({"relative": 1}, "Key 1 ahead of the query (j − i = 1): bucket 17. It holds j − i = 1."),
        ({"relative": -100}, "Key 100 behind the query (j − i = −100): bucket 15. It holds j − i ≤ −91."),
        ({"relative": 3, "direction": "sign-blind"}, "bucket 3. It holds j − i = −3 and = 3."),
        ({"relative": 5, "direction": "causal"}, "bucket 0. It holds j − i ≥ 0. A causal mask hides this key."),
    ],
)
def test_readout_says_who_shares_the_bucket(state, says):
    widget = T5Staircase()
    for name, value in state.items():
        widget.controls[name].value = value
    assert says in widget.readout


def test_thick_line_spans_the_members_and_stops_at_the_picture():
    widget = T5Staircase()
    widget.controls["relative"].value = -40
    assert widget.shared.get_xdata()[:2].tolist() == [-45.5, -31.5]
    widget.controls["relative"].value = 200
    assert widget.shared.get_xdata()[:2].tolist() == [90.5, 300.5]
    assert set(widget.shared.get_ydata()) == {31}


def test_drawn_stairs_change_half_way_between_two_tokens():
    widget = T5Staircase()
    x, y = widget.steps.get_data()
    for relative in (-91, -90, 0, 1, 8, 11, 12):
        assert y[np.flatnonzero((x[:-1] < relative) & (relative < x[1:]))[0]] == staircase(
            np.array([relative]), "bidirectional"
        )
