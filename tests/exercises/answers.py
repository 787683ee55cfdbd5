"""The answers each check is tried on: a file answers_NN.py holds a lesson's, as ANSWERS, exercise id → Answers."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answers:
    right: dict[str, Any]
    """The right answer in several forms, by name."""
    wrong: dict[str, tuple[str, Any]]
    """Name → the misconception's id, and the wrong answer."""


def all_answers() -> dict[str, Answers]:
    """Those of every lesson."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("answers_*.py"))
    modules = [importlib.import_module(f"{__package__}.{name}") for name in names]
    return {id: answers for module in modules for id, answers in module.ANSWERS.items()}
