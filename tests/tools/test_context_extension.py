import pytest
import torch

from posenc_lib.context_extension import ntk_aware
from posenc_lib.tiny_lm import load, stored_results
from posenc_lib.tiny_lm.corpus import load_corpus
from posenc_lib.tiny_lm.stretching import STRETCHES
from tools import context_extension as tool

STORED = stored_results("context_extension")
SAME_TEXT = load_corpus().hash == STORED["made_with"]["text"]
TOLERANCE = 0.003 if SAME_TEXT else 0.35  # as in tests/tiny_lm/test_checkpoints.py
TEXT = "the same text" if SAME_TEXT else "another text"


@pytest.mark.parametrize("text", [TEXT])
@pytest.mark.parametrize("factor", [2, 4])
def test_the_shipped_model_stretched_has_the_stored_losses(factor, text):
    model = load("rope")
    stored = STORED["untuned"][str(factor)]
    scalings = {name: tool.stretched(name, model, factor) for name in STRETCHES}
    scalings["NTK, best factor"] = tool.ntk(model, factor * stored["NTK, best factor"]["multiple"]["seeds"][0])
    scalings["LongRoPE"] = tool.searched(model, factor, stored["LongRoPE"]["factors"]["seeds"][0])
    assert stored.keys() == scalings.keys()
    for name, scaling in scalings.items():
        measured = tool.measure(model, scaling, factor)
        for number in ("last_quarter", "last_32", "inside"):
            assert measured[number] == pytest.approx(stored[name][number]["seeds"][0], abs=TOLERANCE), name


def test_before_tuning_is_what_was_measured_without_tuning():
    for method in tool.TUNED:
        before, untuned = STORED["tuned"]["text"][method]["0"], STORED["untuned"]["4"][method]
        assert before["last_quarter"]["seeds"] == pytest.approx(untuned["last_quarter"]["seeds"], abs=1e-3)


def test_the_search_keeps_factors_in_order_and_finds_no_worse_than_its_start(monkeypatch):
    """On a loss whose best factors are known: the search must find them."""
    best = [1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    monkeypatch.setattr(tool, "searched", lambda model, factor, factors: factors)
    monkeypatch.setattr(
        tool, "search_loss", lambda model, factors, factor: sum(abs(a - b) for a, b in zip(factors, best, strict=True))
    )
    assert tool.search_longrope(load("rope"), 4) == pytest.approx(best)


def test_a_stretch_by_one_changes_nothing():
    model = load("rope")
    for name in STRETCHES:
        frequencies = tool.stretched(name, model, 1)(model.trained_len).frequencies
        torch.testing.assert_close(frequencies, ntk_aware(model.head_dim, 1).frequencies, rtol=1e-12, atol=0)


def test_with_other_settings_it_is_another_job(monkeypatch):
    before = tool.own_settings()
    for name, value in {"FACTORS": (2,), "TUNED_FACTOR": 8, "LEARNING_RATE": 1.0, "STEPS": {"text": (1,)}}.items():
        with monkeypatch.context() as patch:
            patch.setattr(tool, name, value)
            assert tool.own_settings() != before
    assert before.items() >= tool.bake_off.own_settings().items()
