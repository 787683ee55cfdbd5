"""Answers of any form are read, and what cannot be read is told what it is."""

import contextlib
import math
import signal
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
import torch

from posenc_lib.exercises.comparisons import choice_check
from posenc_lib.exercises.exercise import KnownMistake, NotTried, WrongAnswer
from posenc_lib.exercises.readers import read_choice_and_number, read_function, read_number, read_numbers
from posenc_lib.exercises.time_limit import TookTooLong, call_within
from tests.exercises.test_mutants import swallows_everything

MATRIX = [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    "answer",
    [
        MATRIX,
        ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
        [[Fraction(1), 2, 3], torch.tensor([4, 5, 6])],
        np.array(MATRIX, dtype=np.float16),
        torch.tensor(MATRIX, dtype=torch.bfloat16),
        torch.tensor(MATRIX, dtype=torch.uint8),
        torch.tensor(MATRIX, dtype=torch.float32, requires_grad=True),
        torch.tensor(MATRIX).T.contiguous().T,
    ],
)
def test_numbers_are_read_from_any_form(answer, recwarn):
    found = read_numbers(answer, (2, 3))
    assert found.dtype == torch.float64
    assert found.tolist() == MATRIX
    assert not recwarn.list


@pytest.mark.parametrize(
    ("misconception", "answer"),
    [
        ("shape", MATRIX[0]),
        ("shape", [*MATRIX, [7, 8, 9]]),
        ("shape", [[1, 2], [3, 4]]),
        ("shape", np.array(MATRIX).T),
        ("shape", torch.ones(2, 3, 1)),
        ("type", 6),
        ("type", {"a": 1}),
        ("type", (row for row in MATRIX)),
        ("none", None),
        ("none", [[1, 2, 3], [4, 5, None]]),
        ("text", "[[1, 2, 3], [4, 5, 6]]"),
        ("function", lambda: MATRIX),
        ("not-finite", [[1, 2, 3], [4, 5, math.nan]]),
        ("complex", torch.ones(2, 3, dtype=torch.complex64)),
        ("bool", np.ones((2, 3), dtype=bool)),
    ],
)
def test_what_is_no_such_numbers_is_said(misconception, answer):
    with pytest.raises(WrongAnswer) as raised:
        read_numbers(answer, (2, 3))
    assert raised.value.misconception == misconception


@pytest.mark.parametrize("answer", [..., [[1, 2, 3], ...], [[1, 2, 3], [4, 5, ...]]])
def test_dots_are_an_answer_not_tried(answer):
    with pytest.raises(NotTried):
        read_numbers(answer, (2, 3))


def test_a_function_works_on_copies():
    def spoils(x, rows):
        x.zero_()
        rows.clear()
        return x

    x, rows = torch.ones(3), [1, 2]
    assert read_function(spoils, ("x", "rows"))(x, rows).sum() == 0
    assert x.sum() == 3
    assert rows == [1, 2]


@pytest.mark.parametrize(
    ("misconception", "answer"),
    [
        ("arity", lambda a: a),
        ("arity", lambda a, b, c: a),
        ("arity", lambda: 0),
        ("type", 3.0),
        ("type", torch.ones(2)),
        ("none", None),
        ("text", "lambda a, b: a"),
    ],
)
def test_what_is_no_such_function_is_said(misconception, answer):
    with pytest.raises(WrongAnswer) as raised:
        read_function(answer, ("a", "b"))
    assert raised.value.misconception == misconception
    assert "A function of (a, b) is wanted" in raised.value.message


@pytest.mark.parametrize("answer", [lambda a, b, c=0: a, lambda *inputs: inputs[0], max, torch.add])
def test_any_callable_of_two_arguments_is_a_function_of_two(answer):
    assert read_function(answer, ("a", "b"))(torch.tensor(1), torch.tensor(0)) in (0, 1)


CHECK = choice_check(
    "abc",
    ("b", 0.25),
    mistakes=(
        KnownMistake("first", "a", "Not the first."),
        KnownMistake("third", "c", "Not the third."),
        KnownMistake("inverse", 4, "Upside down."),
    ),
    otherwise="Measure again.",
)


@pytest.mark.parametrize("answer", [("b", 0.25), ["B", 1 / 4], (" b ", torch.tensor(0.25)), ("b", np.float32(0.2504))])
def test_right_pair_passes(answer):
    CHECK(answer)


@pytest.mark.parametrize(
    ("misconception", "answer"),
    [
        ("first", ("a", 0.25)),
        ("third", ("c", 17)),
        ("inverse", ("b", 4)),
        ("other", ("b", 0.3)),
        ("shape", ("b",)),
        ("text", "b"),
        ("type", 0.25),
        ("no-choice", (0.25, "b")),
        ("no-choice", ("d", 0.25)),
        ("no-choice", ("ab", 0.25)),
        ("no-choice", ("", 0.25)),
        ("text", ("b", "0.25")),
        ("none", ("b", None)),
    ],
)
def test_wrong_pair_is_told_why(misconception, answer):
    with pytest.raises(WrongAnswer) as raised:
        CHECK(answer)
    assert raised.value.misconception == misconception


@pytest.mark.parametrize("answer", [..., (..., 0.25), ("b", ...), (..., ...)])
def test_half_a_pair_is_not_tried(answer):
    with pytest.raises(NotTried):
        read_choice_and_number(answer, "abc")


def test_no_timer_is_left_behind():
    with pytest.raises(TookTooLong):
        call_within(0.02, time.sleep, 5)
    assert call_within(0.02, abs, -3) == 3
    time.sleep(0.15)  # longer than the limit and the repetition


def test_a_timer_that_ran_before_runs_on():
    rang = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert call_within(5, abs, -3) == 3
        end = time.monotonic() + 5
        while not rang and time.monotonic() < end:
            time.sleep(0.01)
        assert rang == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize(
    "answer",
    [
        torch.eye(2).to_sparse(),
        torch.eye(2, device="meta"),
        np.ma.masked_equal(np.eye(2), 1),
    ],
    ids=["sparse", "meta", "masked"],
)
def test_numbers_that_cannot_be_listed_are_said_to_be_so(answer):
    for read in (lambda: read_numbers(answer, (2, 2)), lambda: read_number(answer)):
        with pytest.raises(WrongAnswer, match=r"An ordinary tensor is wanted|some of this array are masked"):
            read()


def test_clean_up_of_what_is_stopped_is_not_cut_short():
    def computes():
        with torch.no_grad():
            while True:
                try:
                    with torch.no_grad():
                        time.sleep(1)
                except:  # noqa: E722
                    continue

    with pytest.raises(TookTooLong):
        call_within(0.02, computes)
    assert torch.is_grad_enabled()


def test_nothing_of_what_was_stopped_is_left_in_later_tracebacks():
    with contextlib.suppress(TookTooLong):
        call_within(0.02, swallows_everything)
    assert sys.exc_info() == (None, None, None)
    assert sys.gettrace() is None


def test_another_thread_is_not_limited():
    results = []
    thread = threading.Thread(target=lambda: results.append(call_within(0.01, lambda: time.sleep(0.1) or "done")))
    thread.start()
    thread.join()
    assert results == ["done"]
