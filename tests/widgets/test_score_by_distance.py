import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import ScoreByDistance
from posenc_lib.widgets.score_by_distance import chosen_vectors, first_negative, score_by_distance, score_curves
from tests.widgets.buttons import press

OPTIONS = {"offset": 300, "head_dim": 128, "base": 1e4}


def mean_cosine(distances, head_dim, base):
    """(2/d) Σ cos(δ·base^(−2k/d)), the closed form for equal vectors of ones."""
    frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
    return np.cos(np.multiply.outer(np.asarray(distances, np.float64), frequencies)).mean(-1)


@pytest.mark.parametrize("head_dim", [2, 16, 128])
@pytest.mark.parametrize("base", [100.0, 1e4, 5e5])
def test_equal_vectors_score_the_mean_cosine(head_dim, base):
    curve = score_curves("equal", offset=0, head_dim=head_dim, base=base)
    np.testing.assert_allclose(curve, mean_cosine(range(4097), head_dim, base)[None], rtol=0, atol=1e-12)


def test_equal_vectors_fall_unevenly_and_go_below_zero():
    """Head width 128, base 10 000: the figures lesson 4 states, and no monotone decay."""
    (curve,) = score_curves("equal", **OPTIONS)
    assert curve[[0, 1, 64, 1024, 2048, 4096]].round(3).tolist() == [1, 0.970, 0.477, 0.204, 0.119, -0.053]
    assert first_negative(curve) == 1707
    assert (np.diff(curve) > 0).sum() == 1992


@given(offset=st.integers(0, 4096))
def test_a_tuned_key_peaks_at_its_offset_exactly(offset):
    (curve,) = score_curves("tuned", **{**OPTIONS, "offset": offset})
    assert curve.argmax() == offset
    assert curve[offset] == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(curve, mean_cosine(np.arange(4097) - offset, 128, 1e4), rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", [1, 64, 1024, 4096])
def test_random_vectors_expect_zero_at_every_distance(distance):
    """Cosines of 4 000 Gaussian pairs: mean within 4 standard errors of 0, spread 1/√d as without any turning."""
    seeded = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 4000, 64, generator=seeded, dtype=torch.float64)
    scores = score_by_distance(q, k, torch.tensor([distance]))[:, 0]
    assert abs(scores.mean().item()) < 4 / math.sqrt(64 * 4000)
    assert scores.std().item() == pytest.approx(1 / 8, rel=0.05)


def test_score_is_the_turned_dot_product_over_the_norms():
    """Against complex arithmetic: Re Σ q_k·conj(k_k)·e^(iδω_k), pairs of neighbours."""
    seeded = np.random.default_rng(2)
    q, k = seeded.normal(size=(2, 3, 8))
    distances = np.array([-5, 0, 7, 300])
    turn = np.exp(1j * np.multiply.outer(distances, 1e4 ** (-np.arange(0, 8, 2) / 8)))
    pairs = (q[:, 0::2] + 1j * q[:, 1::2]) * np.conj(k[:, 0::2] + 1j * k[:, 1::2])
    expected = (pairs @ turn.T).real / (np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1))[:, None]
    scores = score_by_distance(torch.from_numpy(q), torch.from_numpy(k), torch.from_numpy(distances))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_tuned_key_case_peaks_and_equal_case_falls_as_published(case):
    """rope_ones_decay_is_not_general: RoFormer, section 3.4.3, for equal vectors; Barbero et al. 2024, Prop. 3.1."""
    published = case("rope_ones_decay_is_not_general")
    inputs, expected = published["inputs"], published["expected"]
    options = {"offset": inputs["k_rotated_by"], "head_dim": inputs["d"], "base": inputs["base"]}
    (equal,) = score_curves("equal", **options)
    (tuned,) = score_curves("tuned", **options)
    assert tuned.argmax() == expected["argmax_distance"]
    for distance, mean in expected["mean_cos_ones"].items():
        assert equal[int(distance)] == pytest.approx(mean, abs=published["tolerance"])


def test_random_draws_are_the_same_every_time():
    first, second = (chosen_vectors("random", **OPTIONS) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_curves_cannot_be_changed_by_a_caller():
    with pytest.raises(ValueError, match="read-only"):
        score_curves("equal", **OPTIONS)[0, 0] = 2


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(ValueError, match=r"kind must be one of 'equal', 'random', 'tuned', got 'tuend'"):
        chosen_vectors("tuend", **OPTIONS)


def test_first_negative_of_a_curve_without_one_is_none():
    assert first_negative(np.array([1.0, 0.0, 0.5])) is None
    assert first_negative(np.array([1.0, 0.0, -0.5, -1.0])) == 2


@pytest.mark.parametrize(
    ("button", "expected"),
    [
        ("Equal: first below zero", ["At distance 1707: score -0.0", "first below 0 at 1707"]),
        ("Random: nothing decays", ["expected 0", "8 draws"]),
        ("Tuned to 300", ["At distance 300: score 1.000", "Highest 1.000 at distance 300"]),
    ],
)
def test_buttons_show_what_they_say(button, expected):
    figure = ScoreByDistance()
    press(figure, button)
    for words in expected:
        assert words in figure.readout


def test_offset_is_offered_for_tuned_keys_alone():
    figure = ScoreByDistance()
    assert figure.controls["offset"].disabled
    figure.controls["kind"].value = "tuned"
    assert not figure.controls["offset"].disabled
