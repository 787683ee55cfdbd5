import numpy as np
import pytest
import torch

from posenc_lib.widgets.pair_panel import pair_kinds, say_pairs, slowed_by, wavelengths


def test_wavelength_is_one_turn_and_slowing_is_the_ratio_of_frequencies():
    plain = torch.tensor([1.0, 0.1], dtype=torch.float64)
    assert wavelengths(plain) == pytest.approx([6.283185307179586, 62.83185307179586], rel=1e-15)
    assert slowed_by(plain, torch.tensor([1.0, 0.025], dtype=torch.float64)) == pytest.approx([1, 4], rel=1e-15)


@pytest.mark.parametrize(
    ("slowed", "factor", "kinds"),
    [
        ([1, 2, 3.999, 4, 57], 4, ["unchanged", "blended", "blended", "interpolated", "interpolated"]),
        ([1, 0.75, 0.5], 0.5, ["unchanged", "blended", "interpolated"]),
        ([1, 1], 1, ["unchanged", "unchanged"]),
        ([1 + 1e-12, 4 - 1e-12], 4, ["unchanged", "interpolated"]),
    ],
)
def test_kinds_are_told_by_how_much_a_pair_is_slowed(slowed, factor, kinds):
    assert pair_kinds(np.array(slowed), factor).tolist() == kinds


def test_pairs_are_said_run_by_run():
    assert say_pairs(np.array([1, 1, 2, 4, 4, 4]), 4) == "unchanged 0–1, blended 2, interpolated 3–5"
    assert say_pairs(np.array([4.0]), 4) == "interpolated 0"
