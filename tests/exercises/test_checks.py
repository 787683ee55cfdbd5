"""A check tells right from wrong, names the misconception, and never raises for an answer."""

import math
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from posenc_lib import exercises
from posenc_lib.exercises import EXERCISES, catalogue, check, hint, progress
from posenc_lib.exercises.exercise import WrongAnswer, read_number

ROPE = "rope-dot-product"


def turned(vector, angle):
    """The vector turned counter-clockwise, by the plain 2 × 2 matrix in float64."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin], [sin, cos]]) @ np.array(vector)


Q, K, OMEGA = [1.0, 0.0], [0.0, 1.0], math.pi / 4
SCORE = turned(Q, 5 * OMEGA) @ turned(K, 3 * OMEGA)

# Each wrong answer from the mistake itself, in matrices, where the check uses complex numbers.
WRONG = {
    "clockwise": ("sign", turned(Q, -5 * OMEGA) @ turned(K, -3 * OMEGA)),
    "positions swapped": ("sign", turned(Q, 3 * OMEGA) @ turned(K, 5 * OMEGA)),
    "not rotated": ("unrotated", np.dot(Q, K)),
    "positions added": ("unrotated", turned(Q, (5 + 3) * OMEGA) @ K),
    "cosine of the angle": ("unrotated", math.cos(2 * OMEGA)),
    "query alone rotated": ("one-rotated", turned(Q, 5 * OMEGA) @ K),
    "key alone rotated": ("one-rotated", Q @ turned(K, 3 * OMEGA)),
    "key counted from 1": ("offset", turned(Q, 5 * OMEGA) @ turned(K, 4 * OMEGA)),
    "query counted from 1": ("offset", turned(Q, 6 * OMEGA) @ turned(K, 3 * OMEGA)),
    "divided by √d": ("offset", SCORE / math.sqrt(2)),
    "π/4 taken for degrees": ("degrees", turned(Q, math.radians(5 * OMEGA)) @ turned(K, math.radians(3 * OMEGA))),
    "45 taken for radians": ("degrees", turned(Q, 5 * 45) @ turned(K, 3 * 45)),
    "ω left out": ("no-frequency", turned(Q, 5) @ turned(K, 3)),
    "the angle": ("angle", 5 * OMEGA - 3 * OMEGA),
    "one coordinate": ("one-term", turned(Q, 5 * OMEGA)[0] * turned(K, 3 * OMEGA)[0]),
    "multiplied by √d": ("too-long", SCORE * math.sqrt(2)),
    "anything else": ("other", 0.3),
}

RIGHT = {
    "int": 1,
    "float": 1.0,
    "rounded float32": float(np.float32(0.99999994)),
    "list": [1],
    "nested tuple": ((1.0,),),
    "fraction": Fraction(1),
    "decimal": Decimal("1.0"),
    "numpy scalar": np.float32(1),
    "numpy 0-d": np.array(1),
    "numpy 1-d": np.array([[1.0]]),
    "object array": np.array([Fraction(1)], dtype=object),
    "tensor": torch.tensor(1.0),
    "int tensor": torch.tensor([1]),
    "bfloat16": torch.tensor([1.0], dtype=torch.bfloat16),
    "with gradient": torch.ones(1, 1, requires_grad=True),
    "list of a tensor": [torch.tensor(1.0)],
    "parameter": torch.nn.Parameter(torch.tensor(1.0)),
}


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
    "meta tensor": ("raises", torch.ones(1, device="meta")),
    "endless list": ("raises", endless_list()),
    "liar": ("raises", Liar()),
    "quits": ("raises", Quits()),
    "unprintable error": ("raises", RaisesUnprintable()),
}


def gives_away(text):
    """Whether the answer, 1, stands in the text as a number of its own."""
    return re.search(r"(?<![\w.,])\+?1(\.0*)?(?![\w.]\d|\w|/)", text) is not None


@pytest.mark.parametrize(("misconception", "answer"), WRONG.values(), ids=WRONG)
def test_wrong_answer_is_told_with_its_misconception(misconception, answer, capsys):
    feedback = check(ROPE, answer)
    assert (feedback.passed, feedback.misconception) == (False, misconception)
    assert capsys.readouterr().out == feedback.message + "\n"


@pytest.mark.parametrize(("misconception", "answer"), WRONG.values(), ids=WRONG)
def test_two_decimals_are_enough_to_be_recognised(misconception, answer):
    assert check(ROPE, round(float(answer), 2)).misconception == misconception


def test_messages_differ_by_misconception_and_do_not_give_the_answer_away():
    messages = {}
    for misconception, answer in [*WRONG.values(), *UNREADABLE.values()]:
        messages.setdefault(misconception, check(ROPE, answer).message)
    told = {misconception for misconception, _ in WRONG.values()}
    assert len(told) >= 4
    assert len({messages[misconception] for misconception in told}) == len(told)
    assert gives_away("it is 1.")
    assert not [message for message in messages.values() if gives_away(message)]


@pytest.mark.parametrize("answer", RIGHT.values(), ids=RIGHT)
def test_right_answer_passes_in_any_form(answer, recwarn):
    feedback = check(ROPE, answer)
    assert (feedback.passed, feedback.misconception) == (True, None)
    assert not recwarn.list


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


def test_unanswered_prints_one_line_and_counts_as_nothing(capsys, progress_path):
    feedback = check(ROPE, ...)
    assert capsys.readouterr().out == "rope-dot-product: not tried yet\n"
    assert (feedback.passed, feedback.misconception) == (False, None)
    assert not progress_path.exists()


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
    assert "lesson 04        0      0     1\n" in table(capsys)
    check(ROPE, 0)
    assert "lesson 04        0      1     0\n" in table(capsys)
    check(ROPE, 1)
    assert "lesson 04        1      0     0\n" in table(capsys)
    check(ROPE, 0)
    assert "lesson 04        1      0     0\n" in table(capsys), "solved stays solved"


@pytest.mark.parametrize("call", [lambda id: check(id, 1), hint, exercises.quiz], ids=["check", "hint", "quiz"])
@pytest.mark.parametrize("id", ["nonsense", "", None, 7, ["rope-dot-product"]], ids=repr)
def test_unknown_id_is_named_with_the_accepted_ones(call, id):
    accepted = "'00', " if call is exercises.quiz else "'rope-dot-product'"
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
    assert all([exercise.title, exercise.question, exercise.solved, *exercise.hints])


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
