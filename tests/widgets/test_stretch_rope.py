import asyncio

import numpy as np
import pytest
import torch

from posenc_lib.tiny_lm import load, loss_by_position
from posenc_lib.tiny_lm.stretching import STRETCHES
from posenc_lib.widgets import StretchRope, stretch_rope
from posenc_lib.widgets.stretch_rope import BIN, binned, stretched
from tests.widgets.buttons import press

TRAINED = 128
PATIENCE = 60  # seconds, on a machine that does much else


@pytest.fixture
def few_curves(monkeypatch):
    """What is kept is forgotten again, and only the first picture's curves are there."""
    monkeypatch.setattr(stretch_rope, "_curves", {})
    return StretchRope()


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def has_come(figure):
    return "Loss in the last quarter" in figure.readout and "…" not in figure.readout


def frequencies_shown(figure):
    return [marks.get_xydata().tolist() for marks in figure.pairs.handles.values()]


def loss_shown(figure):
    return figure.lines["stretched"].get_ydata()


@pytest.mark.parametrize("method", ["raw", "PI", "NTK", "dynamic NTK"])
def test_frequencies_are_the_methods_own(method):
    """Head width 16, base 10 000, window 4 × 128; dynamic NTK has 1 + 4·(4 − 1) = 13 at that length."""
    pairs = torch.arange(8, dtype=torch.float64)
    slowed = {"raw": 1 + 0 * pairs, "PI": 4 + 0 * pairs, "NTK": 4 ** (pairs / 7), "dynamic NTK": 13 ** (pairs / 7)}
    expected = 10_000 ** (-pairs / 8) / slowed[method]
    torch.testing.assert_close(stretched(method, 4).frequencies, expected, rtol=1e-12, atol=0)


def test_binned_is_the_mean_over_windows_and_sixteen_positions():
    losses = torch.stack((torch.arange(32.0), torch.arange(32.0) + 2))
    assert binned(losses).tolist() == [8.5, 24.5]


def test_curve_is_the_shipped_models_loss_by_position():
    figure = StretchRope()
    press(figure, "NTK ×4")
    losses = loss_by_position(load("rope"), 4 * TRAINED, scaling=STRETCHES["NTK"](16, 4, TRAINED, 4 * TRAINED))
    np.testing.assert_allclose(loss_shown(figure), losses.reshape(-1, BIN).mean(1), rtol=0, atol=1e-6)
    raw = loss_by_position(load("rope"), 4 * TRAINED)
    np.testing.assert_allclose(figure.lines["raw"].get_ydata(), raw.reshape(-1, BIN).mean(1), rtol=0, atol=1e-6)
    assert f"Loss in the last quarter {losses[-TRAINED:].mean():.1f} nats" in figure.readout


def test_first_picture_is_whole_under_an_event_loop_too(few_curves):
    async def make():
        return StretchRope()

    figure = asyncio.run(make())
    assert "Loss in the last quarter" in figure.readout
    assert figure.image.value == few_curves.image.value


def test_frequencies_follow_at_once_and_the_curves_come_when_the_slider_rests(few_curves):
    figure = few_curves
    before = loss_shown(figure)

    async def drag():
        figure.controls["factor"].value = 2
        marks = frequencies_shown(figure)
        assert max(height for kind in marks for _, height in kind) == pytest.approx(2)
        assert "is being computed" in figure.readout
        assert figure.lines["stretched"].get_alpha() < 1
        assert loss_shown(figure) is before
        await until(lambda: "Loss in the last quarter" in figure.readout)
        assert figure.lines["stretched"].get_alpha() == 1
        assert "(raw …)" in figure.readout
        assert figure.lines["raw"].get_alpha() < 1
        await until(lambda: has_come(figure))
        assert figure.lines["raw"].get_alpha() == 1

    asyncio.run(drag())
    expected = loss_by_position(load("rope"), 2 * TRAINED, scaling=stretched("YaRN", 2))
    np.testing.assert_allclose(loss_shown(figure), expected.reshape(-1, BIN).mean(1), rtol=0, atol=1e-6)


def test_a_run_in_progress_is_abandoned_when_the_slider_moves_on(few_curves, monkeypatch):
    """Cancelled between two parts of a curve, never finished, never queued: one task at a time."""
    figure, begun = few_curves, []
    real = stretch_rope._parts

    def counted(key):
        for part in real(key):
            begun.append(key)
            yield part

    monkeypatch.setattr(stretch_rope, "_parts", counted)

    async def drag():
        figure.controls["factor"].value = 3
        await until(lambda: begun)
        task = figure._task
        figure.controls["factor"].value = 2
        await asyncio.sleep(0)
        assert task.cancelled()
        await until(lambda: has_come(figure))
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(drag())
    abandoned = [key for key in begun if key[1] == 3]
    assert len(abandoned) < len(list(real(("raw", 3))))
    assert not [key for key in stretch_rope._curves if key[1] == 3]
    assert "factor 2" in figure.readout


def test_a_drag_over_many_values_computes_the_last_alone(few_curves, monkeypatch):
    figure, begun = few_curves, set()
    real = stretch_rope._parts

    def counted(key):
        begun.add(key)
        return real(key)

    monkeypatch.setattr(stretch_rope, "_parts", counted)

    async def drag():
        for factor in (8, 7, 6, 5, 3, 2):
            figure.controls["factor"].value = factor
            await asyncio.sleep(0)
        await until(lambda: has_come(figure))

    asyncio.run(drag())
    assert begun == {("raw", 2), ("YaRN", 2)}


def test_moving_back_to_a_known_curve_needs_no_waiting(few_curves):
    figure = few_curves
    first = figure.image.value

    async def there_and_back():
        figure.controls["factor"].value = 8
        figure.controls["factor"].value = 4
        assert figure.image.value == first
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(there_and_back())


def test_an_error_in_the_task_is_said_and_raised_into_the_loop(few_curves, monkeypatch):
    figure, raised = few_curves, []

    def broken(key):
        raise ArithmeticError("broken on purpose")

    async def drag():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: raised.append(context["exception"]))
        monkeypatch.setattr(stretch_rope, "_parts", broken)
        figure.controls["factor"].value = 2
        await until(lambda: raised)

    asyncio.run(drag())
    assert "The loss could not be computed: ArithmeticError: broken on purpose" in figure.readout
    assert str(raised[0]) == "broken on purpose"
    monkeypatch.undo()
    figure.controls["factor"].value = 1
    assert "Loss in the last quarter" in figure.readout


@pytest.mark.parametrize(
    ("button", "pairs"),
    [
        ("raw ×4", "unchanged 0–7"),
        ("PI ×4", "interpolated 0–7"),
        ("NTK ×4", "unchanged 0, blended 1–6, interpolated 7"),
        ("YaRN ×4", "unchanged 0, blended 1–2, interpolated 3–7"),
        ("YaRN, paper's ramp ×4", "blended 0–2, interpolated 3–7"),
    ],
)
def test_buttons_show_what_they_say(button, pairs):
    figure = StretchRope()
    press(figure, button)
    assert pairs in figure.readout
