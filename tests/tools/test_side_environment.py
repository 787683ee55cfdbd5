"""An environment under build/ is built once, and anew when it is unfinished or made from something else."""

import contextlib

import pytest

from tools import side_environment


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """Makes an environment ready, of stand-ins for venv and pip; returns what ran there."""
    folder, pins = tmp_path / "build" / "side", tmp_path / "pins.txt"
    commands = []

    def create(folder, with_pip):
        folder.mkdir(parents=True)  # an error where the old one is left

    def ready(text="numpy==2.0", status=0):
        commands.clear()
        pins.write_text(text)
        monkeypatch.setattr(side_environment, "run", lambda command: (commands.append(command[2:]) or status, ""))
        then = [["ipykernel", "install"]]
        side_environment.make_ready(folder, pins, ["-r", "pins.txt"], expect="a minute.", then=then)
        return list(commands)

    monkeypatch.setattr(side_environment, "ROOT", tmp_path)
    monkeypatch.setattr(side_environment, "one_at_a_time", contextlib.nullcontext)
    monkeypatch.setattr(side_environment.venv, "create", create)
    monkeypatch.setenv("PIP_ARGS", "--proxy 'a b'")
    return ready


BUILT = [
    ["pip", "install", "--disable-pip-version-check", "-r", "pins.txt", "--proxy", "a b"],
    ["ipykernel", "install"],
]


def test_it_is_built_once_and_then_there(ready, capsys):
    assert ready() == BUILT
    assert capsys.readouterr().out == "Setting up build/side: a minute.\n"
    assert ready() == []


def test_other_pins_build_it_anew(ready):
    ready()
    assert ready("numpy==2.1") == BUILT


def test_a_failure_ends_it_and_is_not_trusted(ready):
    with pytest.raises(SystemExit, match=r"build/side could not be made; the lines above say why\."):
        ready(status=1)
    assert ready() == BUILT
