import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import ShiftMatrix
from posenc_lib.widgets.shift_matrix import shift_state

offsets = st.integers(-512, 512)
positions = st.integers(0, 512)


def encoded(position, dim=8):
    """Sines and cosines taken one by one."""
    angles = [position * 10_000 ** (-2 * (i // 2) / dim) for i in range(dim)]
    return [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]


@given(offset=offsets, position=positions)
def test_matrix_takes_the_start_to_the_target(offset, position):
    state = shift_state(offset, position)
    np.testing.assert_allclose(state.start, encoded(position), rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.target, encoded(position + offset), rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.moved, encoded(position + offset), rtol=0, atol=1e-12)
    assert state.residual == np.abs(state.moved - state.target).max() < 1e-12


@given(offset=offsets, position=positions)
def test_signs_of_the_other_order_shift_the_other_way(offset, position):
    state = shift_state(offset, position, order="cos-sin")
    np.testing.assert_allclose(state.moved, encoded(position - offset), rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.matrix, shift_state(offset, position).matrix.T, rtol=0, atol=0)


def test_order_must_be_a_known_one():
    with pytest.raises(ValueError, match="order must be one of 'sin-cos', 'cos-sin', got 'sin'"):
        shift_state(1, 2, order="sin")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"offset": 3, "p": 10}, "PE(13) are the rings: they coincide, to nine decimals"),
        ({"offset": 0, "p": 10, "order": "cos-sin"}, "they coincide"),  # the identity either way
        ({"offset": 3, "p": 10, "order": "cos-sin"}, "they differ by up to 0."),
        ({"offset": -64, "p": 0}, "PE(-64) are the rings: they coincide"),
    ],
)
def test_readout_says_whether_the_two_coincide(state, says):
    widget = ShiftMatrix()
    for name, value in state.items():
        widget.controls[name].value = value
    assert says in widget.readout


def test_entries_show_the_blocks():
    widget = ShiftMatrix()
    widget.controls["offset"].value = 1
    texts = [text.get_text() for text in widget.entries]
    assert texts[:8] == ["0.54", "0.84", "−0.84", "0.54", "1.00", "0.10", "−0.10", "1.00"]  # 1 rad, 0.1 rad


def test_matrix_stands_still_while_the_position_slides():
    widget = ShiftMatrix()
    before = widget.picture.get_array().copy()
    widget.controls["p"].value = 64
    np.testing.assert_array_equal(widget.picture.get_array(), before)


def test_zero_never_reads_as_minus_zero():
    widget = ShiftMatrix()
    widget.controls["offset"].value = -1  # pair 3 turns by −0.001
    assert "−0.00" not in [text.get_text() for text in widget.entries]
    widget.controls["offset"].value = 0
    assert "pair 3 by 0.000 rad" in widget.readout
