"""Predictions, quizzes and folds on the pages: they ask, judge as the library does, and work without a server."""

import json
import re

import pytest
from playwright.sync_api import expect

from posenc_lib.exercises import catalogue, predict, progress_file, reveal
from tests.notebooks.cells import code_cells, widget_cells
from tests.site.pages import EXERCISES, LESSONS, OF_NOTEBOOKS, notebook_of, soup

MEASURED = re.compile(r"No prediction yet for ([\w-]+): measured (“.+?”|\S+)\.(?: |$)")
QUESTIONS = {
    question.text: question
    for asked in (*catalogue.quizzes.values(), *catalogue.interviews.values())
    for question in asked
}
TYPED = [
    "0.5", ".5", "-2", "−2", "+3", "1/3", "-1/4", "40 %", "12.5%", "1/2%", "8,192", "1,000,000", "2e-3", "1E5", " 7 ",
    "10 000", "5.",
    "", "a", "1/0", "0/0", "1/2/3", "--1", "1,0", "0,5", "½", "nan", "inf", "1e999", "%", "/", "1/", "0x10", "5 m",
]  # fmt: skip
SAID = (0.0, 1.0, -1.0, 0.05, 0.31, 0.333, 2.0, 2.5, 9.96, 12.0, 1000.0, 123456.0, -0.3)
FOUND = (0.0, 1.0, -1.0, 1 / 3, 2.25, 10.0, 0.0005, 8192.0, 12345678.0)


@pytest.fixture(autouse=True)
def progress(monkeypatch, tmp_path):
    monkeypatch.setenv("POSENC_PROGRESS", str(tmp_path / "progress.json"))


def printed_by_reveal(capsys, id, said, facts):
    """What the library prints to a reader who said this."""
    progress_file.update(lambda state: state["predictions"].update({id: said}))
    reveal(id, facts["measured"], misconceptions=dict(facts["misconceptions"]), tolerance=facts["tolerance"])
    return " ".join(capsys.readouterr().out.split())


def committed(id, text):
    """The number that the library takes this text for, or None."""
    asked = predict(id, "How many?")
    asked.control.value = text
    asked.button.click()
    return asked.answer


def measured_in(page):
    """What the lesson's stored outputs say was measured, by the prediction's id."""
    outputs = [output for cell in code_cells(notebook_of(page)) for output in cell.outputs if "text" in output]
    return dict(found for output in outputs for found in MEASURED.findall(" ".join(output.text.split())))


def facts_of(page):
    sections = soup(page).select("section.prediction")
    return {section["data-id"]: json.loads(section.select_one("script").string) for section in sections}


@pytest.mark.parametrize("name", LESSONS)
def test_a_prediction_is_made_and_then_judged(opened, name, capsys):
    facts, measured = facts_of(name), measured_in(name)
    assert [*facts] == [*measured]
    with opened(name) as page:
        assert page.locator(".outcome").count() > 0
        committed = set()
        for place, id in enumerate(facts):
            section = page.locator(f'section.prediction[data-id="{id}"]')
            verdict, commit = section.locator(".verdict"), section.get_by_role("button", name="Commit")
            outcomes = page.locator(f'.outcome[data-predictions~="{id}"]')
            for outcome in outcomes.all():
                expect(outcome).to_have_js_property("open", False)
            assert "easured" not in section.inner_text()

            commit.press("Enter")
            expect(verdict).to_contain_text("first")
            if facts[id]["number"]:
                said = (facts[id]["measured"], facts[id]["measured"] * 3, -1.5)[place % 3]
                section.locator("input").fill(repr(said))
            else:
                answers = section.get_by_role("radio")
                answer = answers.nth(place % answers.count())
                said = answer.get_attribute("value")
                answer.press(" ")
            commit.press("Enter")
            assert measured[id] in verdict.inner_text()
            expect(verdict).to_have_text(printed_by_reveal(capsys, id, said, facts[id]))
            expect(commit).to_be_disabled()
            committed.add(id)
            for outcome in outcomes.all():
                waits_for = set(outcome.get_attribute("data-predictions").split())
                expect(outcome).to_have_js_property("open", waits_for <= committed)


@pytest.mark.parametrize("name", OF_NOTEBOOKS)
def test_a_quiz_is_answered_and_then_judged(opened, name):
    with opened(name) as page:
        forms = page.locator("section.quiz form")
        assert forms.count() == 1
        for form in forms.all():
            check, asked = form.get_by_role("button", name="Check"), form.locator("fieldset").all()
            questions = [QUESTIONS[field.locator("legend").inner_text().partition(". ")[2]] for field in asked]
            check.press("Enter")
            for field in asked:
                expect(field.locator(".verdict")).to_have_text("Choose an answer first.")
            for word in ("Not so.", "Right."):
                for field, question in zip(asked, questions, strict=True):
                    answers = [answer.get_attribute("value") for answer in field.get_by_role("radio").all()]
                    assert answers == [*question.choices]
                    wrong = next(choice for choice in answers if choice != question.right)
                    chosen = answers.index(question.right if word == "Right." else wrong)
                    field.get_by_role("radio").nth(chosen).press(" ")
                    expect(field.locator(".verdict")).to_have_text("")
                    assert question.answered() not in field.inner_text()
                check.press("Enter")
                for field, question in zip(asked, questions, strict=True):
                    expect(field.locator(".verdict")).to_have_text(f"{word} {question.answered()}")
                right = len(asked) if word == "Right." else 0
                expect(form.locator(".summary")).to_have_text(f"{right} of {len(asked)} right.")


def test_numbers_are_read_as_the_library_reads_them(opened):
    with opened("04_rope_rotation") as page:
        read = page.evaluate("texts => texts.map(typedNumber)", TYPED)
    assert read == [committed(f"number {place}", text) for place, text in enumerate(TYPED)]


def test_answers_are_judged_as_the_library_judges_them(opened, capsys):
    cases = [
        (
            said,
            {"measured": found, "misconceptions": [[1.0, "One is the trap."]], "tolerance": tolerance, "number": True},
        )
        for said in SAID
        for found in FOUND
        for tolerance in (None, 0.26)
    ]
    with opened("04_rope_rotation") as page:
        judged = page.evaluate("cases => cases.map(([said, facts]) => judged(said, facts))", cases)
    assert judged == [printed_by_reveal(capsys, "number", said, facts) for said, facts in cases]


def test_code_folds(opened):
    with opened("04_rope_rotation") as page:
        button, folds = page.locator("button.fold-code"), page.locator("details.code")
        opened_folds = page.locator("details.code[open]")
        assert folds.count() > opened_folds.count() > 10  # the set-up is folded from the start
        button.press("Enter")
        expect(opened_folds).to_have_count(0)
        button.press("Enter")
        expect(opened_folds).to_have_count(folds.count())


@pytest.mark.parametrize("name", EXERCISES)
def test_a_hint_unfolds(opened, name):
    with opened(name) as page:
        hint = page.locator("details.hint").first
        expect(hint.locator("p")).to_be_hidden()
        hint.locator("summary").press("Enter")
        expect(hint.locator("p")).to_be_visible()


@pytest.mark.parametrize("name", LESSONS)
def test_without_scripts_the_page_can_be_read(opened, name):
    with opened(name, java_script_enabled=False) as page:
        shown = page.locator("figure.player :is(.player-image, .player-readout)")
        assert shown.count() == 2 * len(widget_cells(notebook_of(name)))
        for part in shown.all():
            expect(part).to_be_visible()
        expect(page.locator("main :is(button, input[type=range]):visible")).to_have_count(0)
        measured = measured_in(name)
        answers = page.locator(".prediction .answer")
        assert all(found in text for found, text in zip(measured.values(), answers.all_text_contents(), strict=True))
        answers.last.locator("summary").click()
        expect(answers.last.locator("p").first).to_be_visible()
