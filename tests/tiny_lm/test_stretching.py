import math

import pytest
import torch

from posenc_lib.context_extension import yarn
from posenc_lib.tiny_lm.stretching import STRETCHES, yarn_by_turns


def test_the_papers_ramp_on_four_pairs_by_hand():
    """FACTS: d = 8, L = 256, s = 4 gives divisors 1, 3.083, 4, 4 where the released code gives 1, 1.6, 4, 4."""
    plain = torch.tensor([10_000.0 ** (-k / 4) for k in range(4)], dtype=torch.float64)
    turns = [256 * w / (2 * math.pi) for w in plain.tolist()]
    keep = [min(max((r - 1) / 31, 0), 1) for r in turns]
    divisors = [1 / (g + (1 - g) / 4) for g in keep]
    assert divisors == pytest.approx([1, 3.083, 4, 4], abs=5e-4)
    torch.testing.assert_close(
        plain / yarn_by_turns(8, 4, 256).frequencies, torch.tensor(divisors, dtype=torch.float64)
    )
    assert (plain / yarn(8, 4, 256).frequencies).tolist() == pytest.approx([1, 1.6, 4, 4], abs=1e-3)


def test_both_ramps_share_the_temperature():
    assert yarn_by_turns(16, 8, 128).attention_factor == yarn(16, 8, 128).attention_factor == 0.1 * math.log(8) + 1
    assert yarn_by_turns(16, 8, 128, attention_factor=1.5).attention_factor == 1.5


@pytest.mark.parametrize("name", STRETCHES)
def test_no_stretch_speeds_a_pair_up_or_slows_it_by_more_than_asked(name):
    plain = STRETCHES["raw"](16, 4, 128, 512).frequencies
    slowing = plain / STRETCHES[name](16, 4, 128, 512).frequencies
    most = 1 + 4 * 3 if name == "dynamic NTK" else 4  # its factor is per trained length gained
    assert (slowing >= 1 - 1e-12).all()
    assert slowing.max().item() <= most + 1e-9
    assert (slowing.diff() >= -1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((7, 4, 128), "head_dim must be even"),
        ((8, 0, 128), "factor must be a finite number > 0"),
        ((8, 4, 0), "trained_len must be an integer >= 1"),
    ],
)
def test_what_does_not_fit_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        yarn_by_turns(*arguments)
