"""What a learner has done, in one small JSON file beside the notebook; POSENC_PROGRESS names another place.

Exercises share the lessons' file, a folder up; solutions do not, for running them solves nothing.

Every change reads the file, changes it and replaces it whole, under a lock: two kernels lose nothing of each other's,
and a kernel killed at any moment leaves the old file or the new one. Where the file cannot be written, progress is
kept in memory until the kernel stops.
"""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if os.name == "nt":
    import msvcrt
else:
    import fcntl

State = dict[str, dict[str, Any]]


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_prediction(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


SECTIONS: dict[str, Callable[[Any], bool]] = {
    "attempts": _is_count,  # exercise id → how often it was checked
    "solved": lambda value: value is True,  # exercise id → True
    "hints": _is_count,  # exercise id → how many were shown
    "predictions": _is_prediction,  # prediction id → the choice, or the number
    "quiz_answers": lambda value: isinstance(value, str),  # "quiz/question" → the choice
}

_unsaved: dict[Path, State] = {}  # of files that could not be written


def read() -> State:
    """The progress so far; to change it, call `update`."""
    file = path()
    if file in _unsaved or file.exists():
        return update(lambda state: None)
    return _parse("{}")


def update(change: Callable[[State], None], place: Path | None = None) -> State:
    """Apply a change to the progress as it is now, whoever wrote it last, and return the result.

    Args:
        change: works on the state in place.
        place: the file, as `path` gave it earlier; asked for now if None.
    """
    file = path() if place is None else place
    if file not in _unsaved:
        try:
            with _locked(file):
                state = _load(file)
                before = json.dumps(state)
                change(state)
                if json.dumps(state) != before:
                    _save(file, state)
                return state
        except OSError as error:
            print(f"{file.name} cannot be used ({error.strerror}): progress is kept until this kernel stops.")
            try:
                _unsaved[file] = _parse(file.read_text("utf-8"))
            except (OSError, ValueError, RecursionError):
                _unsaved[file] = _parse("{}")
    change(_unsaved[file])
    return _unsaved[file]


def path() -> Path:
    """The file: where POSENC_PROGRESS says, or beside the notebook."""
    if place := os.environ.get("POSENC_PROGRESS"):
        return Path(place).resolve()
    folder = Path.cwd()
    return (folder.parent if folder.name == "exercises" else folder) / "posenc_progress.json"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _parse(text: str) -> State:
    """The state in a file's text, with every section there; ValueError if it is none."""
    state = json.loads(text)
    if not isinstance(state, dict):
        raise ValueError("the file holds no JSON object")
    for section, is_sound in SECTIONS.items():
        entries = state.setdefault(section, {})
        if not isinstance(entries, dict) or not all(is_sound(value) for value in entries.values()):
            raise ValueError(f"{section!r} holds what it should not")
    return state


def _load(path: Path) -> State:
    try:
        return _parse(path.read_text("utf-8"))
    except FileNotFoundError:
        return _parse("{}")
    except (ValueError, RecursionError):
        damaged = _beside(path, ".damaged")
        os.replace(path, damaged)
        print(f"{path.name} is damaged: it is kept as {damaged.name}, and progress starts anew.")
        return _parse("{}")


def _save(path: Path, state: State) -> None:
    new = _beside(path, ".tmp")  # one name is enough under the lock, and a killed kernel's is overwritten
    new.write_text(json.dumps(state, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    os.replace(new, path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the file's lock; the operating system frees it if the kernel dies."""
    with open(_beside(path, ".lock"), "a+b") as lock:
        if os.name == "nt":
            lock.seek(0)
            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
