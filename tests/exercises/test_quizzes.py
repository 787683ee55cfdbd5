"""A quiz gives nothing away, answers per question, remembers, and what it states is true."""

import math
import re

import pytest
import torch

from posenc_lib.exercises import catalogue, interview, interview_questions, progress, quiz
from posenc_lib.rope import apply_rope, rope_cos_sin, rope_frequencies
from tests.notebooks.cells import claims_in, read
from tools.store_notebooks import NOTEBOOKS

QUIZZES = catalogue.quizzes


def texts(widget):
    """All text of a widget."""
    return "\n".join(child.value or "" for child in widget.box.children if hasattr(child, "value"))


def verdicts(widget):
    return {name: text.value for name, text in widget._verdicts.items()}


@pytest.mark.parametrize("id", QUIZZES)
def test_every_question_is_sound(id):
    questions = QUIZZES[id]
    assert len({question.id for question in questions}) == len(questions)
    for question in questions:
        assert len(set(question.choices)) == len(question.choices) >= 3
        assert question.choices.count(question.right) == 1
        assert question.text
        assert question.explanation
    assert len({question.choices.index(question.right) for question in questions}) > 1, "always the same place"


@pytest.mark.parametrize("id", QUIZZES)
def test_stored_text_lists_questions_and_choices_and_no_answer(id):
    text = quiz(id)._repr_mimebundle_()["text/plain"]
    assert text == quiz(id)._repr_mimebundle_()["text/plain"]
    for question in QUIZZES[id]:
        assert question.text in text
        assert all(f"\n  ( ) {choice}" in text for choice in question.choices)
        assert question.explanation not in text


@pytest.mark.parametrize("id", QUIZZES)
def test_nothing_is_chosen_or_said_at_first(id):
    fresh = quiz(id)
    assert {control.value for control in fresh.controls.values()} == {None}
    assert not any("Right" in text or "Not so" in text or "first" in text for text in verdicts(fresh).values())


def test_check_answers_each_question():
    shown = quiz("04")
    first, second, *others = QUIZZES["04"]
    shown.controls[first.id].value = first.right
    shown.controls[second.id].value = next(choice for choice in second.choices if choice != second.right)
    shown.button.click()
    said = verdicts(shown)
    assert "Right." in said[first.id]
    assert "Not so." in said[second.id]
    assert all("Choose an answer first." in said[question.id] for question in others)
    assert "1 of 5 right." in texts(shown)


def test_a_new_choice_takes_the_old_verdict_away():
    shown = quiz("04")
    first = QUIZZES["04"][0]
    shown.controls[first.id].value = next(choice for choice in first.choices if choice != first.right)
    shown.button.click()
    assert "Not so." in verdicts(shown)[first.id]
    shown.controls[first.id].value = first.right
    assert "Not so." not in verdicts(shown)[first.id]


def test_answers_are_kept_and_may_change(capsys):
    shown = quiz("00")
    questions = QUIZZES["00"]
    for question in questions:
        shown.controls[question.id].value = question.choices[0]
    shown.button.click()
    again = quiz("00")
    assert [control.value for control in again.controls.values()] == [q.choices[0] for q in questions]
    assert verdicts(again) == verdicts(shown)
    for question in questions:
        again.controls[question.id].value = question.right
    again.button.click()
    assert "3 of 3 right." in texts(quiz("00"))
    progress()
    said = capsys.readouterr().out
    assert "quiz 00     3 of 3 answered, 3 right\n" in said
    assert "quiz 04     0 of 5 answered, 0 right\n" in said


def test_choices_wrap_instead_of_being_cut():
    shown = quiz("04")
    for control in shown.controls.values():
        assert control.layout.width == "100%"
        assert "posenc-choices" in control._dom_classes


INTERVIEWS = catalogue.interviews


@pytest.mark.parametrize("id", INTERVIEWS)
def test_model_answer_rests_on_a_claim_its_lesson_verifies(id):
    (notebook,) = NOTEBOOKS.glob(f"{id}_*.ipynb")
    for question in INTERVIEWS[id]:
        assert question.lesson == id
        assert question.claim in claims_in(read(notebook))
        assert question.choices.count(question.right) == 1
        assert len(set(question.choices)) == len(question.choices) >= 3


def test_interview_questions_are_gathered_by_one_call():
    ids = [question.id for questions in INTERVIEWS.values() for question in questions]
    assert len(set(ids)) == len(ids), "answers of all lessons are kept in one place"
    assert list(interview_questions().controls) == ids
    assert len(ids) >= 14


def test_interview_takes_a_choice_first_and_then_shows_the_model_answer():
    shown = interview("04")
    first, *others = INTERVIEWS["04"]
    assert first.explanation not in texts(shown) + shown.describe()
    shown.controls[first.id].value = first.choices[0]
    shown.button.click()
    said = re.sub("&#x27;", "'", texts(shown))
    assert first.explanation in said
    assert f"Lesson 4 shows it: ✓ {first.claim}" in said
    assert not any(question.explanation in said for question in others)
    assert interview_questions().controls[first.id].value == first.choices[0], "one answer, in both places"


# What quiz 04 states, measured.


def rotate(x, position, layout="interleaved"):
    cos, sin = rope_cos_sin(torch.tensor([position]), rope_frequencies(x.shape[-1]), dtype=torch.float64)
    return apply_rope(x.expand(1, 1, 1, -1), cos, sin, layout=layout)[0, 0, 0]


def test_mean_cosine_is_first_negative_at_1707():
    """Quiz 04, decay; FACTS of the course: d = 128, base 10 000."""
    omega = [10_000 ** (-2 * k / 128) for k in range(64)]
    first = next(distance for distance in range(10_000) if sum(math.cos(distance * w) for w in omega) < 0)
    assert first == 1707


def test_rotated_values_turn_the_output_with_the_whole_text():
    """Quiz 04, rotated: the same weights over values moved by Δ give the output turned by Δω."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(6, 8, dtype=torch.float64, generator=generator)
    weights = torch.softmax(torch.randn(6, dtype=torch.float64, generator=generator), dim=0)
    out, moved = (
        sum(
            weight * rotate(value, position + shift)
            for position, (weight, value) in enumerate(zip(weights, values, strict=True))
        )
        for shift in (0, 5)
    )
    assert torch.dist(moved, out) > 0.1
    torch.testing.assert_close(moved, rotate(out, 5), rtol=0, atol=1e-12)


def test_mixed_layouts_keep_norms_and_change_scores():
    """Quiz 04, layouts, at head width 128: nothing complains, and the score is another."""
    q, k = torch.randn(2, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    half, neighbours = (rotate(q, 9, layout) @ rotate(k, 2, layout) for layout in ("half", "interleaved"))
    assert rotate(q, 9, "half").norm() == pytest.approx(q.norm().item(), rel=1e-12)
    assert abs(half - neighbours) > 0.1
