import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.alibi import AlibiBias
from posenc_lib.attention import attention
from posenc_lib.widgets import AlibiRow
from posenc_lib.widgets.alibi_row import attention_row, half_mass_distance
from tests.widgets.buttons import press

positions = st.integers(0, 1000)
slopes = st.floats(2**-8, 1)


@given(position=positions, slope=slopes)
def test_row_on_equal_contents_is_geometric(position, slope):
    ratio = math.exp(-slope)
    first = (1 - ratio) / (1 - ratio ** (position + 1))
    expected = [first * ratio**distance for distance in range(position + 1)]
    np.testing.assert_allclose(attention_row(position, slope), expected, rtol=1e-9, atol=1e-300)


@given(position=positions, slope=slopes, bonus=st.floats(0, 20), bonus_at=positions)
def test_bonus_multiplies_the_odds_of_one_key(position, slope, bonus, bonus_at):
    plain = attention_row(position, slope)
    raised = attention_row(position, slope, bonus=bonus, bonus_at=bonus_at)
    assert raised.sum() == pytest.approx(1, abs=1e-12)
    if bonus_at > position:
        np.testing.assert_array_equal(raised, plain)
    else:
        expected = plain * np.where(np.arange(position + 1) == bonus_at, math.exp(bonus), 1)
        np.testing.assert_allclose(raised, expected / expected.sum(), rtol=1e-9, atol=1e-300)


def test_row_is_what_attention_gives_each_head():
    q = torch.zeros(1, 8, 1, 4, dtype=torch.float64)
    k = torch.zeros(1, 8, 200, 4, dtype=torch.float64)
    _, weights = attention(q, k, k, encoding=AlibiBias(8), causal=True, return_weights=True)
    for head in range(8):
        by_distance = weights[0, head, 0].flip(-1).numpy()
        np.testing.assert_allclose(by_distance, attention_row(199, 2.0 ** -(head + 1)), rtol=1e-9)


@pytest.mark.parametrize(("head", "half"), [*enumerate((1, 2, 5, 11, 22, 44, 88, 177), start=1)])
def test_half_mass_of_eight_heads_is_the_closed_form(head, half):
    slope = 2.0**-head
    assert half == math.ceil(math.log(2) / slope) - 1
    assert half_mass_distance(attention_row(4000, slope)) == half


@given(position=positions, slope=slopes)
def test_a_row_that_ends_sooner_halves_sooner(position, slope):
    """r^(N+1) ≤ (1 + r^n)/2 for n keys, with r = e^(−m)."""
    ends = math.exp(-slope * (position + 1))
    exact = math.log(2 / (1 + ends)) / slope
    half = half_mass_distance(attention_row(position, slope))
    assert exact - 1 - 1e-6 <= half <= max(exact, 0) + 1e-6


def test_content_ties_with_the_nearest_key_when_it_pays_the_penalty():
    row = attention_row(500, 0.5, bonus=10, bonus_at=20)
    assert row[20] == pytest.approx(row[0], rel=1e-12)
    assert (
        attention_row(500, 0.5, bonus=9.9, bonus_at=20)[20]
        < row[0]
        < attention_row(500, 0.5, bonus=10.1, bonus_at=20)[20]
    )


@pytest.mark.parametrize(
    ("button", "says"),
    [
        ("Head 1 sees a step", "Head 1 of 8, slope 0.5, query at 2047: half of the attention lies within distance 1."),
        ("Head 8 sees far", "query at 2047: half of the attention lies within distance 177."),
        ("A tie: c = m · 20", "with bonus 10 against a penalty of 10, takes 28.2% instead of 1.8e-05"),
        ("Content wins: c = 11", "within distance 20 (1 without the bonus)"),
        ("12 heads: head 9", "Head 9 of 12, slope 0.7071, query at 511: half of the attention lies within distance 0"),
    ],
)
def test_buttons_show_what_they_say(button, says):
    figure = AlibiRow()
    press(figure, button)
    assert says in figure.readout


def test_key_that_is_not_there_yet_is_not_drawn():
    figure = AlibiRow()
    figure.controls["bonus"].value = 5
    figure.controls["bonus_at"].value = 600
    assert "No key stands 600 back yet." in figure.readout
    assert len(figure.key.get_xdata()) == len(figure.plain.get_xdata()) == 0
    assert len(figure.near.get_xdata()) + len(figure.far.get_xdata()) == 512


def test_half_of_the_weight_is_drawn_as_such():
    figure = AlibiRow()  # head 3 of 8 at 511, its key 20 back
    assert figure.near.get_xdata().tolist() == list(range(6))
    assert figure.far.get_xdata().tolist() == [*range(6, 20), *range(21, 512)]
    assert figure.key.get_xdata().tolist() == [20]
    assert list(figure.edge.get_xdata()) == [5.5, 5.5]


def test_heads_that_do_not_exist_are_said_to_be_missing():
    figure = AlibiRow()
    figure.controls["head"].value = 16
    assert figure.readout.startswith("Head 8 of 8 (there is no head 16), slope 0.003906")
    figure.controls["heads"].value = 16
    assert figure.readout.startswith("Head 16 of 16, slope 0.003906")
