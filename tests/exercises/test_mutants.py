"""Each check passes the right answer in every form and fails each wrong one, with its misconception's own message."""

import math
import time

import pytest
import torch

from posenc_lib.exercises import EXERCISES, catalogue, check, checks
from tests.exercises.answers import all_answers

ANSWERS = all_answers()
READING = {"none", "text", "bool", "complex", "function", "type", "shape", "not-finite", "arity", "no-choice", "raises"}

RIGHT = [pytest.param(id, answer, id=f"{id}, {name}") for id in ANSWERS for name, answer in ANSWERS[id].right.items()]
WRONG = [pytest.param(id, *wrong, id=f"{id}, {name}") for id in ANSWERS for name, wrong in ANSWERS[id].wrong.items()]


def test_every_exercise_has_its_answers():
    assert set(ANSWERS) == set(EXERCISES)
    for id, answers in ANSWERS.items():
        assert len(answers.right) >= 3, id
        named = {misconception for misconception, _ in answers.wrong.values()} - READING - {"other"}
        assert len(answers.wrong) >= 4, id
        assert len(named) >= 3, f"{id} names {named}"
    print(f"{len(WRONG)} wrong answers (mutants) and {len(RIGHT)} right ones, to {len(ANSWERS)} exercises")


@pytest.mark.parametrize(("id", "answer"), RIGHT)
def test_right_answer_passes_in_any_form(id, answer, recwarn):
    feedback = check(id, answer)
    assert (feedback.passed, feedback.misconception) == (True, None), feedback.message
    assert catalogue.exercises[id].solved in " ".join(feedback.message.split())
    assert not recwarn.list


@pytest.mark.parametrize(("id", "misconception", "answer"), WRONG)
def test_wrong_answer_is_told_with_its_misconception(id, misconception, answer, capsys):
    feedback = check(id, answer)
    assert (feedback.passed, feedback.misconception) == (False, misconception), feedback.message
    assert capsys.readouterr().out == feedback.message + "\n"
    assert catalogue.exercises[id].solved not in " ".join(feedback.message.split())


@pytest.mark.parametrize("id", ANSWERS)
def test_no_two_misconceptions_are_told_alike(id):
    messages = {misconception: check(id, answer).message for misconception, answer in ANSWERS[id].wrong.values()}
    assert len(set(messages.values())) == len(messages)


def raises(*_):
    raise ValueError("no")


def leaves(*_):
    raise SystemExit


def recurses(*inputs):
    return recurses(*inputs)


def returns_itself(*_):
    return returns_itself


def prints(*_):
    print("computing")


def writes_into_inputs(*inputs):
    for value in inputs:
        if isinstance(value, torch.Tensor):
            value.zero_()
    return math.nan


ANYTHING = {
    "None": None,
    "text": "1",
    "nan": math.nan,
    "inf": torch.tensor(math.inf),
    "bool": True,
    "complex": 1j,
    "wrong shape": torch.ones(3, 5, 7),
    "empty": [],
    "dict": {},
    "raises": raises,
    "leaves": leaves,
    "recurses": recurses,
    "returns itself": returns_itself,
    "prints": prints,
    "writes into inputs": writes_into_inputs,
    "no arguments": lambda: 1,
    "class": float,
    "meta tensor": torch.ones(2, 2, device="meta"),
}


@pytest.mark.parametrize("answer", ANYTHING.values(), ids=ANYTHING)
@pytest.mark.parametrize("id", EXERCISES)
def test_anything_else_is_told_what_it_is_and_never_raises(id, answer):
    feedback = check(id, answer)
    assert not feedback.passed
    assert feedback.misconception in READING | {"other"} | {name for name, _ in ANSWERS[id].wrong.values()}


def never_returns(*_):
    while True:
        pass


def swallows_exceptions(*_):
    while True:
        try:
            time.sleep(1)
        except Exception:
            continue


def swallows_everything(*_):
    while True:
        try:
            try:
                time.sleep(1)
            except:  # noqa: E722
                continue
        except:  # noqa: E722
            continue


@pytest.mark.parametrize("answer", [never_returns, swallows_exceptions, swallows_everything])
@pytest.mark.parametrize("id", EXERCISES)
def test_what_never_returns_is_stopped(id, answer, monkeypatch):
    monkeypatch.setattr(checks, "TIME_LIMIT", 0.05)
    feedback = check(id, answer)
    assert not feedback.passed
    assert feedback.misconception in ("never-returns", "function"), "a function where a number is wanted is not called"


@pytest.mark.parametrize("id", EXERCISES)
def test_untried_exercise_prints_one_line_and_counts_as_nothing(id, capsys, progress_path):
    takes_a_function = check(id, lambda *_: 0).misconception != "function"
    progress_path.unlink()
    capsys.readouterr()
    for answer in [..., lambda *_: ...] if takes_a_function else [...]:
        feedback = check(id, answer)
        assert capsys.readouterr().out == f"{id}: not tried yet\n"
        assert (feedback.passed, feedback.misconception) == (False, None)
        assert not progress_path.exists()
