import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.tiny_lm import load, loss_by_position, stored_results
from posenc_lib.widgets import LossByPosition
from posenc_lib.widgets.loss_by_position import (
    LABELS,
    inside_and_beyond,
    recomputed,
    smoothed,
    stored_curve,
    verdict,
)
from tests.widgets.buttons import press

TRAINED_ENCODINGS = tuple(stored_results("bake_off")["encodings"])

losses = st.lists(st.floats(0, 10), min_size=1, max_size=40).map(np.array)


@given(losses=losses, width=st.integers(1, 50))
def test_smoothing_is_the_mean_over_the_places_that_exist(losses, width):
    before, after = (width - 1) // 2, width // 2
    expected = [losses[max(p - before, 0) : p + after + 1].mean() for p in range(len(losses))]
    np.testing.assert_allclose(smoothed(losses, width), expected, atol=1e-12)


@given(losses=losses)
def test_smoothing_over_one_place_changes_nothing(losses):
    np.testing.assert_allclose(smoothed(losses, 1), losses, atol=1e-12)


def test_a_constant_stays_itself_under_any_smoothing():
    np.testing.assert_allclose(smoothed(np.full(300, 1.4), 128), 1.4, rtol=1e-13)


def test_inside_and_beyond_part_at_the_trained_length():
    assert inside_and_beyond(np.array([1.0, 3.0, 10.0, 20.0]), trained=2) == (2.0, 15.0)
    assert inside_and_beyond(np.array([1.0, 3.0]), trained=2) == (2.0, None)


@pytest.mark.parametrize(
    ("rise", "words"), [(-0.1, "holds"), (0.1, "holds"), (0.11, "loses"), (1.0, "loses"), (1.1, "fails")]
)
def test_verdict_follows_the_rise(rise, words):
    assert verdict(rise) == f"it {words}"


def test_every_trained_encoding_has_a_label_and_both_controls():
    assert tuple(LABELS) == TRAINED_ENCODINGS
    controls = LossByPosition().controls
    assert [value for _, value in controls["encoding"].options] == list(TRAINED_ENCODINGS)
    assert [value for _, value in controls["beside"].options] == ["nothing", *TRAINED_ENCODINGS]


def test_drawn_losses_are_those_of_the_shipped_model():
    widget = LossByPosition()
    widget.controls["smoothing"].value = 1
    widget.controls["encoding"].value = "sinusoidal"
    places, drawn = widget.lines[0].get_data()
    np.testing.assert_array_equal(places, np.arange(512))
    np.testing.assert_allclose(drawn, loss_by_position(load("sinusoidal"), 512).numpy(), atol=1e-5)


def test_a_curve_is_computed_once(monkeypatch):
    recomputed("rope", 512)
    monkeypatch.setattr("posenc_lib.widgets.loss_by_position.loss_by_position", lambda *a, **k: pytest.fail("again"))
    widget = LossByPosition()
    for width in range(1, 129):
        widget.controls["smoothing"].value = width


@pytest.mark.parametrize("name", TRAINED_ENCODINGS)
def test_stored_curve_lies_in_the_middle_of_its_bins(name):
    centres, means, spreads = stored_curve(name, 128)
    np.testing.assert_array_equal(centres, [8, 24, 40, 56, 72, 88, 104, 120])
    whole = stored_results("bake_off")["encodings"][name]["text"]["whole"]["128"]["mean"]
    assert means.mean() == pytest.approx(whole, abs=1e-3)
    assert (spreads >= 0).all()


def test_readout_says_what_lies_inside_and_past_the_trained_window():
    widget = LossByPosition()
    press(widget, "RoPE at 4×")
    loss = loss_by_position(load("rope"), 512)
    assert (
        f"RoPE: {loss[:128].mean():.2f} nats inside the trained window, {loss[128:].mean():.2f} past it"
        in widget.readout
    )
    home = loss_by_position(load("rope"), 128)[-32:].mean()
    assert f"cost {loss[-32:].mean():.2f}, in a window of 128 {home:.2f}: it fails." in widget.readout
    press(widget, "ALiBi at 16×")
    assert "16 × the trained length" in widget.readout
    assert widget.readout.endswith("it holds.")


def test_a_window_of_the_trained_length_has_no_place_past_it():
    widget = LossByPosition()
    widget.controls["length"].value = 128
    assert widget.readout.endswith("no place lies past the trained window.")


def test_no_loss_is_cut_off(monkeypatch):
    """A single character may cost far more than equal chances do."""
    spike = np.where(np.arange(512) == 300, 9.5, 1.4)
    monkeypatch.setattr("posenc_lib.widgets.loss_by_position.recomputed", lambda name, length: spike[-length:])
    widget = LossByPosition()
    widget.controls["smoothing"].value = 1
    assert widget.lines[0].get_ydata().max() == 9.5
    assert widget.axes.get_ylim()[0] == 0
    assert widget.axes.get_ylim()[1] > 9.5


def test_a_second_encoding_is_drawn_and_read_out_beside_the_first():
    widget = LossByPosition()
    assert len(widget.lines[1].get_xdata()) == 0
    widget.controls["beside"].value = "t5"
    np.testing.assert_allclose(widget.lines[1].get_ydata(), smoothed(recomputed("t5", 512), 16))
    assert "RoPE: " in widget.readout
    assert "T5 bias: " in widget.readout
    widget.controls["beside"].value = "nothing"
    assert len(widget.lines[1].get_xdata()) == 0
