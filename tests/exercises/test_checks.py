"""A check tells right from wrong, names the misconception, and never raises for an answer."""

import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from posenc_lib import exercises
from posenc_lib.exercises import EXERCISES, catalogue, check, hint, progress
from posenc_lib.exercises.exercise import WrongAnswer
from posenc_lib.exercises.readers import read_number
from tests.exercises.answers_04 import ANSWERS, DOT_PRODUCT, SCORE

ROPE = "rope-dot-product"
WRONG = DOT_PRODUCT.wrong


class Hostile:
    """Raises whatever is asked of it."""

    def __float__(self):
        raise RuntimeError("no")

    __repr__ = __str__ = __len__ = __eq__ = __bool__ = __array__ = __float__
    __hash__ = None

    def __getattr__(self, name):
        raise KeyError(name)


class Liar:
    """Raises when asked what it is."""

    @property
    def __class__(self):
        raise RuntimeError("no")


class Leaver(Exception):
    def __str__(self):
        raise RuntimeError("no")


class Quits:
    @property
    def __class__(self):
        raise SystemExit


class RaisesUnprintable:
    @property
    def __class__(self):
        raise Leaver


def endless_list():
    answer = []
    answer.append(answer)
    return answer


UNREADABLE = {
    "None": ("none", None),
    "text": ("text", "1"),
    "numpy text": ("text", np.array("1")),
    "bytes": ("text", b"1"),
    "bool": ("bool", True),
    "numpy bool": ("bool", np.bool_(True)),
    "tensor bool": ("bool", torch.tensor([True])),
    "complex": ("complex", 1 + 0j),
    "complex tensor": ("complex", torch.tensor(1 + 0j)),
    "function": ("function", lambda: 1),
    "class": ("function", float),
    "nan": ("not-finite", math.nan),
    "inf tensor": ("not-finite", torch.tensor(math.inf)),
    "two numbers": ("shape", [1, 1]),
    "two numbers in an array": ("shape", np.ones(2)),
    "empty": ("shape", ()),
    "empty tensor": ("shape", torch.ones(0)),
    "matrix": ("shape", torch.eye(2)),
    "huge expanded tensor": ("shape", torch.ones(1).expand(10**12)),
    "dict": ("type", {"answer": 1}),
    "set": ("type", {1}),
    "object": ("type", object()),
    "too large": ("type", 10**400),
    "date": ("type", np.datetime64("2020-01-01")),
    "hostile": ("type", Hostile()),
    "meta tensor": ("type", torch.ones(1, device="meta")),
    "endless list": ("raises", endless_list()),
    "liar": ("raises", Liar()),
    "quits": ("raises", Quits()),
    "unprintable error": ("raises", RaisesUnprintable()),
}


def gives_away(text):
    """Whether the answer, 1, stands in the text as a number of its own."""
    return re.search(r"(?<![\w.,])\+?1(\.0*)?(?![\w.]\d|\w|/)", text) is not None


@pytest.mark.parametrize(("misconception", "answer"), WRONG.values(), ids=WRONG)
def test_two_decimals_are_enough_to_be_recognised(misconception, answer):
    assert check(ROPE, round(float(answer), 2)).misconception == misconception


def test_messages_do_not_give_the_answer_away():
    assert gives_away("it is 1.")
    messages = [check(ROPE, answer).message for _, answer in [*WRONG.values(), *UNREADABLE.values()]]
    assert not [message for message in messages if gives_away(message)]


def test_reference_is_right():
    """The value the syllabus states for exercise 2."""
    assert abs(SCORE - 1) < 1e-15


@pytest.mark.parametrize(("misconception", "answer"), UNREADABLE.values(), ids=UNREADABLE)
def test_answer_that_is_no_number_is_said_to_be_none(misconception, answer):
    feedback = check(ROPE, answer)
    assert (feedback.passed, feedback.misconception) == (False, misconception)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text() | st.binary()
answers = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        | st.builds(np.array, st.lists(st.floats(), max_size=3))
        | st.builds(torch.tensor, st.lists(st.floats(), max_size=3))
    ),
    max_leaves=5,
)


@given(answers)
def test_only_a_finite_real_number_is_read(answer):
    try:
        number = read_number(answer)
    except WrongAnswer:
        return
    assert isinstance(number, float)
    assert math.isfinite(number)


@given(answers)
def test_check_never_raises_and_passes_nothing_but_the_number(answer):
    try:
        right = abs(read_number(answer) - SCORE) <= 1e-3
    except WrongAnswer:
        right = False
    feedback = check(ROPE, answer)
    assert feedback.passed == right
    assert (feedback.misconception is None) == right


def test_feedback_shows_nothing_as_a_last_expression(capsys):
    feedback = check(ROPE, 1)
    capsys.readouterr()
    data, _ = InteractiveShell.instance().display_formatter.format(feedback)
    assert data == {}
    assert capsys.readouterr().out == ""
    assert "passed=True" in repr(feedback)


def test_hints_come_one_at_a_time_and_end(capsys):
    hints = catalogue.exercises[ROPE].hints
    for number, text in enumerate(hints, start=1):
        hint(ROPE)
        shown = " ".join(capsys.readouterr().out.split())
        assert shown == f"{ROPE}, hint {number} of {len(hints)}: {text}"
    for _ in range(2):
        hint(ROPE)
        assert "there are no more hints" in capsys.readouterr().out


def table(capsys):
    capsys.readouterr()
    progress()
    return capsys.readouterr().out


def test_progress_counts_solved_tried_and_left(capsys):
    left = sum(exercise.lesson == "04" for exercise in catalogue.exercises.values())
    assert f"lesson 04        0      0  {left:4}\n" in table(capsys)
    check(ROPE, 0)
    assert f"lesson 04        0      1  {left - 1:4}\n" in table(capsys)
    check(ROPE, 1)
    assert f"lesson 04        1      0  {left - 1:4}\n" in table(capsys)
    check(ROPE, 0)
    assert f"lesson 04        1      0  {left - 1:4}\n" in table(capsys), "solved stays solved"


@pytest.mark.parametrize("id", ["rope-dot-product", "rotation-transpose"])
def test_the_default_device_does_not_matter(id):
    right = next(iter(ANSWERS[id].right.values()))
    with torch.device("meta"):
        assert check(id, right).passed


def test_an_answer_that_changes_the_folder_is_remembered_where_it_was_asked(tmp_path, progress_path):
    (tmp_path / "elsewhere").mkdir()

    def wanders(alpha, beta):
        os.chdir(tmp_path / "elsewhere")
        return torch.eye(2)

    check("rotation-transpose", wanders)
    assert progress_path.exists()
    assert not list((tmp_path / "elsewhere").iterdir())


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("x" * 1_000_000), "raised ValueError: xxx"),
        (ValueError("words " * 1_000_000), "raised ValueError: words words"),
        (Unspeakable(), "raised Unspeakable: an error that cannot be shown"),
        (ZeroDivisionError(), "raised ZeroDivisionError"),
    ],
)
def test_what_an_answer_raises_is_told_in_a_few_words(error, said):
    def raises(alpha, beta):
        raise error

    message = check("rotation-transpose", raises).message
    assert said in " ".join(message.split())
    assert len(message) < 500


def test_a_user_can_still_interrupt():
    def interrupted(alpha, beta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("rotation-transpose", interrupted)


@pytest.mark.parametrize(
    "call",
    [lambda id: check(id, 1), hint, exercises.quiz, exercises.interview],
    ids=["check", "hint", "quiz", "interview"],
)
@pytest.mark.parametrize("id", ["nonsense", "", None, 7, ["rope-dot-product"]], ids=repr)
def test_unknown_id_is_named_with_the_accepted_ones(call, id):
    accepted = "'04'" if call in (exercises.quiz, exercises.interview) else "'rope-dot-product'"
    with pytest.raises(ValueError, match="id must be one of") as raised:
        call(id)
    assert accepted in str(raised.value)
    assert repr(id) in str(raised.value)


def test_unknown_id_suggests_the_closest():
    with pytest.raises(ValueError, match="did you mean 'rope-dot-product'"):
        check("rope_dot_prodct", 1)
    with pytest.raises(ValueError, match="did you mean '04'"):
        exercises.quiz("4")


@pytest.mark.parametrize("id", EXERCISES)
def test_exercise_is_complete(id):
    exercise = catalogue.exercises[id]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id)
    assert 1 <= exercise.difficulty <= 5
    assert exercise.minutes > 0
    assert 2 <= len(exercise.hints) <= 3
    assert all([exercise.title, exercise.solved, *exercise.hints])


def test_ids_are_unique_and_in_the_order_of_the_lessons():
    ids = [exercise.id for lesson in sorted(catalogue.lessons) for exercise in catalogue.lessons[lesson].EXERCISES]
    assert tuple(ids) == EXERCISES
    assert len(set(ids)) == len(ids)
    for lesson, module in catalogue.lessons.items():
        assert {exercise.lesson for exercise in module.EXERCISES} <= {lesson}


def test_hints_do_not_give_the_answer_away():
    assert not [text for text in catalogue.exercises[ROPE].hints if gives_away(text)]


def test_library_alone_does_not_load_exercises():
    code = "import posenc_lib, sys; print([m for m in ('posenc_lib.exercises', 'ipywidgets') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
