"""What a lesson's first cells call."""

import numpy as np
import pytest
import torch

from posenc_lib.lesson import environment_report, pick_device, verify


@pytest.mark.parametrize("holds", [True, np.bool_(True), torch.tensor(True), np.array(True)])
def test_a_claim_that_holds_prints_one_ticked_line(holds, capsys):
    verify("scores depend on the offset alone", holds)
    assert capsys.readouterr().out == "✓ scores depend on the offset alone\n"


@pytest.mark.parametrize("holds", [False, np.bool_(False), torch.tensor(False)])
def test_a_claim_that_fails_raises_with_what_was_measured(holds, capsys):
    with pytest.raises(AssertionError, match=r"✗ norms are kept\n    measured: 0.5"):
        verify("norms are kept", holds, shown=0.5)
    assert capsys.readouterr().out == ""


def test_what_was_measured_stands_under_the_claim(capsys):
    verify("the largest error is small", True, shown="2e-16")
    assert capsys.readouterr().out == "✓ the largest error is small\n    measured: 2e-16\n"


@pytest.mark.parametrize(
    ("claim", "holds", "error"),
    [
        ("a tuple is always true", (False, "why"), TypeError),
        ("a number is no answer", 1, TypeError),
        ("several booleans", torch.tensor([True, True]), TypeError),
        ("one boolean in a row", np.array([True]), TypeError),
        ("nothing", None, TypeError),
        ("two\nlines", True, ValueError),
        ("two\u2028lines", True, ValueError),
        ("  ", True, ValueError),
        (True, "swapped", TypeError),
    ],
)
def test_a_condition_that_is_not_one_boolean_is_refused(claim, holds, error):
    with pytest.raises(error):
        verify(claim, holds)


def test_the_device_is_one_that_works():
    assert torch.ones(1, device=pick_device()).sum().item() == 1
    assert (pick_device().type == "cuda") == torch.cuda.is_available()


def test_the_report_names_versions_and_no_path():
    report = environment_report()
    assert f"torch {torch.__version__.split('+')[0]}" in report
    assert "/" not in report
    assert "\\" not in report
