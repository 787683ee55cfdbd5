"""A prediction is committed once, kept, and compared with what was measured."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch

from posenc_lib.exercises import predict, progress, progress_file, reveal

QUESTION = "Both vectors move. What does the score do?"
CHOICES = ["It stays", "It falls", "It turns"]


def commit(prediction, answer):
    prediction.control.value = answer
    prediction.button.click()
    return prediction


def shown(box):
    """All text of a widget."""
    return "\n".join(getattr(child, "value", None) or "" for child in box.children if hasattr(child, "value"))


def plain(prediction):
    return prediction._repr_mimebundle_()["text/plain"]


def test_stored_text_is_stable_and_readable_without_a_kernel():
    expected = f"Predict: {QUESTION}\n  ( ) It stays\n  ( ) It falls\n  ( ) It turns\nNot answered yet."
    assert plain(predict("both", QUESTION, CHOICES)) == expected
    assert plain(predict("both", QUESTION, CHOICES)) == expected
    assert plain(predict("number", "How far?")) == "Predict: How far?\nNot answered yet."


def test_bundle_shows_the_live_box():
    prediction = predict("both", QUESTION, CHOICES)
    bundle = prediction._repr_mimebundle_()
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert view == {"version_major": 2, "version_minor": 0, "model_id": prediction.box.model_id}


def test_question_is_shown_as_written_not_as_markup():
    assert "is &lt;b&gt; &amp; c?" in shown(predict("markup", "is <b> & c?").box)


def test_nothing_is_chosen_at_first():
    assert predict("both", QUESTION, CHOICES).control.value is None
    assert predict("number", "How far?").control.value == ""


def test_commitment_is_kept_shown_and_final():
    prediction = commit(predict("both", QUESTION, CHOICES), "It falls")
    assert prediction.answer == "It falls"
    assert "You said: “It falls”" in shown(prediction.box)
    again = predict("both", QUESTION, CHOICES)
    assert again.control.value == "It falls"
    assert again.control.disabled
    assert again.button.disabled
    assert plain(again).endswith("You said: “It falls”")


def test_first_of_two_commitments_stands():
    first, second = predict("both", QUESTION, CHOICES), predict("both", QUESTION, CHOICES)
    commit(first, "It falls")
    assert commit(second, "It turns").answer == "It falls"


def test_commit_without_an_answer_asks_for_one(progress_path):
    prediction = predict("both", QUESTION, CHOICES)
    prediction.button.click()
    assert "Choose an answer first." in shown(prediction.box)
    assert not progress_path.exists()


@pytest.mark.parametrize(
    "text", ["", " ", "abc", "nan", "inf", "-inf", "1e999", "1/0", "1/", "0,5", "1,2,3", "%", "None", "1j"]
)
def test_what_is_no_finite_number_is_not_committed(text, progress_path):
    prediction = commit(predict("number", "How far?"), text)
    assert "Type a finite number first" in shown(prediction.box)
    assert prediction.answer is None
    assert not progress_path.exists()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1/2", 0.5),
        ("40 %", 0.4),
        ("8,192", 8192.0),
        ("10 000", 10000.0),
        ("−1,234,567.5", -1234567.5),
        ("3", 3.0),
        (" 0.5 ", 0.5),
        ("-2e-3", -0.002),
        ("−4", -4.0),
        ("0", 0.0),
        ("1707", 1707.0),
    ],
)
def test_number_is_read_and_kept(text, number):
    assert commit(predict("number", "How far?"), text).answer == number
    assert predict("number", "How far?").answer == number


def test_answer_that_is_no_choice_any_more_counts_as_unanswered(capsys):
    commit(predict("both", QUESTION, CHOICES), "It falls")
    prediction = predict("both", QUESTION, ["Up", "Down"])
    assert prediction.answer is None
    reveal("both", "Up")
    assert capsys.readouterr().out == "No prediction yet for both: measured “Up”.\n"
    assert commit(prediction, "Down").answer == "Down"


def test_commitment_survives_a_new_process(capsys):
    commit(predict("both", QUESTION, CHOICES), "It falls")
    code = f"""
from posenc_lib.exercises import predict, reveal
reveal("both", "It stays")
print(predict("both", {QUESTION!r}, {CHOICES!r}).describe())
reveal("both", "It stays")"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    line = "You said “It falls”, measured “It stays”: not as predicted.\n"
    assert out.startswith(line)
    assert out.endswith("You said: “It falls”\n" + line)


def test_predictions_are_counted(capsys):
    commit(predict("both", QUESTION, CHOICES), "It falls")
    commit(predict("number", "How far?"), "2")
    progress()
    assert "predictions made: 2\n" in capsys.readouterr().out


def revealed(capsys, *args, **kwargs):
    capsys.readouterr()
    reveal(*args, **kwargs)
    return capsys.readouterr().out


def test_unanswered_prints_one_line_with_the_measured_value(capsys):
    predict("number", "How far?")
    assert revealed(capsys, "number", 2.345678) == "No prediction yet for number: measured 2.346.\n"
    assert revealed(capsys, "never asked", "It stays") == "No prediction yet for never asked: measured “It stays”.\n"


def test_choice_is_compared_with_the_measured_one(capsys):
    commit(predict("both", QUESTION, CHOICES), "It falls")
    why = {"It falls": "Distance is the same for both.", "It turns": "Both turn alike."}
    assert (
        revealed(capsys, "both", "It stays", misconceptions=why)
        == "You said “It falls”, measured “It stays”: not as predicted.\nDistance is the same for both.\n"
    )
    assert revealed(capsys, "both", "It turns") == "You said “It falls”, measured “It turns”: not as predicted.\n"
    assert (
        revealed(capsys, "both", "It falls", misconceptions=why)
        == "You said “It falls”, measured “It falls”: as predicted.\n"
    )


@pytest.mark.parametrize(
    ("said", "measured", "tolerance", "verdict"),
    [
        ("2", 2, None, "exact"),
        ("2.15", 2, None, "close"),
        ("-2.15", -2, None, "close"),
        ("2.3", 2, None, "off by 0.3"),
        ("6", 2, None, "off by a factor of 3"),
        ("2468", 2, None, "off by a factor of 1,234"),
        ("0.5", 2, None, "off by a factor of 4"),
        ("-8", -2, None, "off by a factor of 4"),
        ("-2", 2, None, "the other sign"),
        ("0", 2, None, "off by 2"),
        ("0.5", 0, None, "off by 0.5"),
        ("0", 0, None, "exact"),
        ("0.5", 0, 1, "close"),
        ("-0.5", 0.25, 1, "close"),
        ("2.15", 2, 0.1, "off by 0.15"),
        ("1e-320", 1e300, None, "off by 1e+300"),
    ],
)
def test_number_is_compared_with_the_measured_one(said, measured, tolerance, verdict, capsys):
    commit(predict("number", "How far?"), said)
    out = revealed(capsys, "number", measured, tolerance=tolerance)
    assert out == f"You said {float(said):.4g}, measured {measured:.4g}: {verdict}.\n"


@pytest.mark.parametrize(
    "measured",
    [torch.tensor(2.0), np.float32(2), Fraction(2), torch.tensor([2.0])],
)
def test_measured_may_be_a_number_of_any_type(measured, capsys, recwarn):
    commit(predict("number", "How far?"), "2")
    assert revealed(capsys, "number", measured) == "You said 2, measured 2: exact.\n"
    assert not recwarn.list


def test_known_wrong_number_is_told(capsys):
    commit(predict("number", "How far?"), "257")
    why = {257: "That is bfloat16's limit.", 65537: "That is no format's limit."}
    out = revealed(capsys, "number", 2049, misconceptions=why)
    assert out == "You said 257, measured 2049: off by a factor of 8.\nThat is bfloat16's limit.\n"
    assert revealed(capsys, "number", 256, misconceptions=why) == "You said 257, measured 256: close.\n"


@pytest.mark.parametrize(
    ("choices", "arguments", "error", "message"),
    [
        (CHOICES, {"measured": "It sinks"}, ValueError, "measured must be one of 'It stays', .* got 'It sinks'"),
        (CHOICES, {"measured": 3.0}, ValueError, "measured must be one of"),
        (
            CHOICES,
            {"measured": "It stays", "misconceptions": {"It sinks": "why"}},
            ValueError,
            "misconceptions must be one of .* got 'It sinks'",
        ),
        (None, {"measured": "far"}, TypeError, "measured must be a finite number, got 'far'"),
        (None, {"measured": float("nan")}, ValueError, "measured must be a finite number, got nan"),
        (None, {"measured": [1, 2]}, TypeError, "measured must be a finite number"),
        (None, {"measured": 1, "tolerance": 0}, ValueError, "tolerance must be a finite number > 0, got 0"),
    ],
)
def test_reveal_names_a_wrong_argument(choices, arguments, error, message):
    predict("asked", QUESTION, choices)
    with pytest.raises(error, match=message):
        reveal("asked", **arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, QUESTION), TypeError, "id must be a string, got 3"),
        (("", QUESTION), ValueError, "id must be a non-empty string"),
        (("a", None), TypeError, "question must be a string, got None"),
        (("a", " "), ValueError, "question must be a non-empty string"),
        (("a", QUESTION, "yes"), TypeError, "choices must be a list of strings or None, got 'yes'"),
        (("a", QUESTION, [1, 2]), TypeError, "choices must be a list of strings or None"),
        (("a", QUESTION, 5), TypeError, "choices must be a list of strings or None, got 5"),
        (("a", QUESTION, ["yes"]), ValueError, "choices must hold at least two different strings"),
        (("a", QUESTION, ["yes", "yes"]), ValueError, "choices must hold at least two different strings"),
    ],
)
def test_predict_names_a_wrong_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        predict(*arguments)


def test_reveal_without_predict_in_this_kernel_takes_the_kept_answer(capsys):
    progress_file.update(lambda state: state["predictions"].update(number=2.0, both="It falls"))
    assert revealed(capsys, "number", 2) == "You said 2, measured 2: exact.\n"
    assert revealed(capsys, "both", 2) == "No prediction yet for both: measured 2.\n"
    assert revealed(capsys, "number", "It falls") == "No prediction yet for number: measured “It falls”.\n"
