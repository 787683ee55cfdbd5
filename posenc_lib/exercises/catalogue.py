"""Every exercise, quiz and interview question, gathered from the files lesson_NN.py.

Each holds EXERCISES, a tuple of Exercise, QUIZ, a tuple of Question, and INTERVIEW, a tuple of InterviewQuestion; any
of them may be empty. Nothing else lists them.
"""

import difflib
import importlib
import os
import pkgutil
from collections.abc import Mapping
from typing import TypeVar

from posenc_lib.base import check_choice
from posenc_lib.exercises.exercise import Exercise, InterviewQuestion, Question

Entry = TypeVar("Entry")


def look_up(entries: Mapping[str, Entry], id: str) -> Entry:
    """The entry of that id; ValueError that names the id, the accepted ones and the closest of them."""
    try:
        return entries[check_choice("id", id, entries)]
    except ValueError as error:
        close = difflib.get_close_matches(str(id), entries, n=1)
        suggestion = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"{suggestion}{error}") from None


lessons = {
    name.removeprefix("lesson_"): importlib.import_module(f"{__package__}.{name}")
    for name in sorted(module.name for module in pkgutil.iter_modules([os.path.dirname(__file__)]))
    if name.startswith("lesson_")
}
exercises: dict[str, Exercise] = {exercise.id: exercise for lesson in lessons.values() for exercise in lesson.EXERCISES}
quizzes: dict[str, tuple[Question, ...]] = {id: lesson.QUIZ for id, lesson in lessons.items() if lesson.QUIZ}
interviews: dict[str, tuple[InterviewQuestion, ...]] = {
    id: lesson.INTERVIEW for id, lesson in lessons.items() if lesson.INTERVIEW
}
interview: tuple[InterviewQuestion, ...] = tuple(question for asked in interviews.values() for question in asked)
