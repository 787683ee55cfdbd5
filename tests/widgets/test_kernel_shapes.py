import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import KernelShapes
from posenc_lib.widgets.alibi_row import half_mass_distance
from posenc_lib.widgets.kernel_shapes import (
    equal_contents_attention,
    fitted_t5_table,
    kernel_biases,
)
from tests.widgets.buttons import press

slopes = st.sampled_from([2.0**-h for h in range(1, 9)])


@given(slope=slopes)
def test_fitted_table_is_exact_below_16_and_then_the_middle_of_each_bucket(slope):
    """The mean of a line over a run of integers is its value half way; the starts are T5's, causal, 32/128."""
    starts = [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113, 128]
    middles = [(first + after - 1) / 2 for first, after in itertools.pairwise(starts)]
    np.testing.assert_allclose(fitted_t5_table(slope), [-slope * middle for middle in middles], rtol=1e-14)


@given(slope=slopes, r1=st.floats(0.01, 2), r2=st.floats(0.01, 2), distance=st.integers(0, 511))
def test_biases_are_their_formulas(slope, r1, r2, distance):
    found = kernel_biases(np.array([distance]), slope=slope, r1=r1, r2=r2)
    assert found["ALiBi"][0] == -slope * distance
    assert found["log"][0] == pytest.approx(-r1 * math.log(1 + r2 * distance), rel=1e-12, abs=1e-15)
    assert found["power"][0] == pytest.approx(-r1 * distance**r2, rel=1e-12)
    if distance >= 113:
        assert found["T5 fitted to ALiBi"][0] == -slope * 120
    elif distance < 16:
        assert found["T5 fitted to ALiBi"][0] == -slope * distance


@given(slope=slopes)
def test_power_with_exponent_one_and_the_slope_is_alibi(slope):
    found = kernel_biases(np.arange(512), slope=slope, r1=slope, r2=1.0)
    np.testing.assert_allclose(found["power"], found["ALiBi"], rtol=1e-14)


@given(slope=slopes, query=st.sampled_from([63, 127, 255, 511]))
def test_attention_of_a_line_is_a_geometric_series(slope, query):
    weights = equal_contents_attention(-slope * np.arange(query + 1))
    ratio = math.exp(-slope)
    expected = [ratio**d * (1 - ratio) / (1 - ratio ** (query + 1)) for d in range(query + 1)]
    np.testing.assert_allclose(weights, expected, rtol=1e-11)


@pytest.mark.parametrize("h", range(1, 6))
def test_half_mass_distance_of_a_long_line_is_log_2_over_the_slope(h):
    """⌈ln 2 / m⌉ − 1 for a text long against 1/m."""
    slope = 2.0**-h
    weights = equal_contents_attention(-slope * np.arange(4096))
    assert half_mass_distance(weights) == math.ceil(math.log(2) / slope) - 1


def test_half_mass_of_equal_weights_is_the_middle():
    assert half_mass_distance(np.full(11, 1 / 11)) == 5


def test_readout_gives_every_kernels_bias_and_attention():
    widget = KernelShapes()
    widget.controls["r1"].value, widget.controls["r2"].value = 1.0, 1.0
    widget.controls["distance"].value = 127
    alibi = math.exp(-127 / 32) * (1 - math.exp(-1 / 32)) / (1 - math.exp(-256 / 32))
    assert f"ALiBi {-127 / 32:.3f}, {alibi:.3%}".replace("-", "−") in widget.readout
    assert f"log {-math.log(128):.3f}".replace("-", "−") in widget.readout
    assert "power −127.000, 0.000%" in widget.readout
    assert f"T5 fitted to ALiBi {-120 / 32:.3f}".replace("-", "−") in widget.readout


def test_a_distance_beyond_the_first_token_means_the_first_token():
    widget = KernelShapes()
    widget.controls["query"].value = 63
    widget.controls["distance"].value = 400
    assert "At distance 63 (the first token)" in widget.readout
    assert [list(cursor.get_xdata()) for cursor in widget.cursors] == [[63, 63]] * 2


def test_button_makes_the_power_kernel_alibi():
    widget = KernelShapes()
    widget.controls["slope"].value = 1 / 8
    press(widget, "Power = ALiBi (r₁ = m, r₂ = 1)")
    for alibi, power in zip(widget.curves["ALiBi"], widget.curves["power"], strict=True):
        np.testing.assert_allclose(power.get_ydata(), alibi.get_ydata(), rtol=1e-12)
