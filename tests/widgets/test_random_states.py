"""No order of moves breaks a widget, makes it grow, or leaves a trace in what it shows."""

import asyncio
import ctypes
import gc
import random
import warnings

import matplotlib.pyplot as plt
import numpy as np
import psutil
import pytest
import torch
from matplotlib.figure import Figure

from posenc_lib import ENCODINGS
from posenc_lib.tiny_lm.stretching import STRETCHES
from posenc_lib.widgets import GALLERY, ConfigReader, StretchRope, loss_by_position, stretch_rope
from tests.widgets.states import random_config, random_value, shown, values_of

FEW, MANY = 60, 2000  # states
LARGEST_GROWTH = 20 * 2**20  # bytes
PATIENCE = 60  # seconds, on a machine that does much else


@pytest.fixture(autouse=True)
def curves_without_a_model(monkeypatch):
    """Each loss curve a wave of its own, at once: what the models cost and say is tested elsewhere."""

    def wave(number, length):
        return 3 + np.sin(np.arange(length) * (1 + number) / 50)

    def parts(key):
        method, factor = key
        curve = wave(list(STRETCHES).index(method), factor * 128)
        yield from torch.tensor(np.stack([curve, curve + 0.1]), dtype=torch.float32).split(1)

    monkeypatch.setattr(stretch_rope, "_parts", parts)
    monkeypatch.setattr(stretch_rope, "_curves", {})
    monkeypatch.setattr(loss_by_position, "recomputed", lambda name, length: wave(ENCODINGS.index(name), length))


def state_of(figure):
    return {name: control.value for name, control in figure.controls.items()}


def walk(figure, count, rng):
    """Visit states, one control at a time, both ends of every range first; yield each."""
    ends = [(name, values_of(control)[end]) for end in (0, -1) for name, control in figure.controls.items()]
    names = sorted(figure.controls)
    for name, value in ends:
        figure.controls[name].value = value
        yield state_of(figure)
    for _ in range(count - len(ends)):
        name = rng.choice(names)
        figure.controls[name].value = random_value(figure.controls[name], rng)
        yield state_of(figure)


def open_figures():
    gc.collect()
    return sum(issubclass(type(thing), Figure) for thing in gc.get_objects())


def memory_held():
    """Resident bytes, less what has been freed but is held back for later, where the C library can give that up."""
    gc.collect()
    if hasattr(ctypes.pythonapi, "malloc_trim"):
        ctypes.pythonapi.malloc_trim(0)
    return psutil.Process().memory_info().rss


def check_random_states(name, count):
    rng = random.Random(name)
    figure, second = GALLERY[name](), GALLERY[name]()
    seen, figures = [], open_figures()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, state in enumerate(walk(figure, count, rng)):
            seen.append((state, shown(figure)))
            if number == count // 4:  # caches are filled by then
                memory = memory_held()
        assert open_figures() == figures
        assert memory_held() - memory < LARGEST_GROWTH
        for state, before in rng.sample(seen, count // 10):
            for again in (figure, second):
                again._set(state)
                assert shown(again) == before, state
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", GALLERY)
def test_equal_states_show_equal_pictures_and_nothing_grows(name):
    check_random_states(name, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", GALLERY)
def test_equal_states_show_equal_pictures_and_nothing_grows_over_many(name):
    check_random_states(name, MANY)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_no_text_in_the_config_box_breaks_the_reader(count):
    """What cannot be read is said and leaves the picture before it; what can be read shows what it shows elsewhere."""
    rng = random.Random(0)
    figure, second = ConfigReader(), ConfigReader()
    figure.controls["pair"].value = second.controls["pair"].value = 5
    picture, faults = shown(figure)[0], 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(count):
            text = random_config(rng)
            figure.controls["config"].value = text
            if figure.readout.startswith("Not read: "):
                faults += 1
                assert shown(figure)[0] == picture, text
            else:
                second.controls["config"].value = text
                assert shown(figure) == shown(second), text
                picture = shown(figure)[0]
    assert count // 10 < faults < count


@pytest.mark.parametrize("count", [10, pytest.param(MANY // 10, marks=pytest.mark.slow)])
def test_curves_that_come_later_end_in_the_picture_of_their_state(count, monkeypatch):
    monkeypatch.setattr(stretch_rope, "SETTLE", 0)
    monkeypatch.setattr(stretch_rope, "BREATH", 0)
    rng, seen = random.Random(0), []

    async def drag():
        figure = StretchRope()
        for _ in range(count):
            stretch_rope._curves.clear()
            for name in rng.choices(sorted(figure.controls), k=rng.randint(1, 5)):
                figure.controls[name].value = random_value(figure.controls[name], rng)
                for _ in range(rng.randint(0, 4)):
                    await asyncio.sleep(0)
            async with asyncio.timeout(PATIENCE):
                while figure._task is not None and not figure._task.done():
                    await asyncio.sleep(0)
            seen.append((state_of(figure), shown(figure)))

    asyncio.run(drag())
    fresh = StretchRope()
    for state, before in seen:
        fresh._set(state)
        assert shown(fresh) == before, state
