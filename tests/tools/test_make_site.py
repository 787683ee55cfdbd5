"""What the site's pages are made of: predictions, links, captions and folds, taken from notebooks of a few cells."""

import base64

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import make_site
from tools.make_site import Page, all_pages, cell_views, predictions_in, text_view, write_page

PNG = base64.b64encode(b"a picture").decode()
ASK = 'predict("a", "Which?", ["left, or what one takes for left when one stands on the other side", "right"])'
ASK_NUMBER = 'predict("b", question="How many?")'


def stdout(text):
    return new_output("stream", name="stdout", text=text)


def picture(caption, kind="display_data"):
    size = {"image/png": {"width": 640, "height": 360}}
    return new_output(kind, data={"image/png": PNG, "text/plain": caption}, metadata=size)


def notebook(*cells):
    """A lesson of these cells: text, or the source of code with its outputs."""
    made = [
        new_markdown_cell(cell) if isinstance(cell, str) else new_code_cell(cell[0], outputs=list(cell[1:]))
        for cell in cells
    ]
    return new_notebook(cells=made)


def paths_of(pages):
    return [page.path.relative_to(make_site.ROOT).as_posix() for page in pages]


@pytest.fixture
def page(monkeypatch, tmp_path):
    """A lesson's page, in a site of its own whose widgets are recorded as their names."""
    monkeypatch.setattr(make_site, "SITE", tmp_path)
    monkeypatch.setattr(make_site, "record", lambda name, folder: f"<p>{name}</p>")
    return Page(make_site.ROOT / "notebooks" / "04_rope_rotation.ipynb", 4, "RoPE rotation")


def views_of(page, *cells):
    return cell_views(notebook(*cells), page, set())[0]


def test_prediction_is_read_from_the_calls_and_from_what_was_printed():
    found = predictions_in(
        notebook(
            (ASK,),
            (ASK_NUMBER,),
            (
                'reveal("b", count(), tolerance=0.5, misconceptions={1 / 9: "Ten share it.", -2: "No."})\n'
                'reveal("a", side, misconceptions={"right": "Seen from behind."})',
                stdout(
                    "No prediction yet for b: measured -1.5.\n"
                    "No prediction yet for a: measured “left, or what one takes for left when one stands on\n"
                    "the other side”.\n"
                    "✓ it holds\n"
                ),
            ),
        )
    )
    assert found["a"].judged_by() == {
        "number": False,
        "measured": "left, or what one takes for left when one stands on the other side",
        "tolerance": None,
        "misconceptions": [("right", "Seen from behind.")],
    }
    assert found["b"].judged_by() == {
        "number": True,
        "measured": -1.5,
        "tolerance": 0.5,
        "misconceptions": [(1 / 9, "Ten share it."), (-2, "No.")],
    }


@pytest.mark.parametrize("output", ["", "No prediction yet for a: measured “up”.\n", "You said “right”.\n"])
def test_output_that_does_not_say_what_was_measured_is_refused(output):
    with pytest.raises(ValueError, match="No prediction yet for a: measured"):
        predictions_in(notebook((ASK,), ('reveal("a", side)', stdout(output))))


def test_argument_that_is_computed_is_refused():
    revealed = ('reveal("b", n, tolerance=width / 2)', stdout("No prediction yet for b: measured 3.\n"))
    with pytest.raises(ValueError, match="written out, got width / 2"):
        predictions_in(notebook((ASK_NUMBER,), revealed))


def test_what_follows_a_prediction_waits_for_it(page):
    views = views_of(
        page,
        (ASK_NUMBER,),
        ("count()", stdout("three\n")),
        ('reveal("b", n)', stdout("No prediction yet for b: measured 3.\n✓ there are three\n")),
        ("after()", stdout("four\n")),
    )
    assert [view["kind"] for view in views] == ["prediction", "code", "code", "code"]
    assert [view["waits_for"] for view in views[1:]] == ["b", "b", ""]
    assert [view["tells"] for view in views[1:]] == [False, True, False]
    assert views[2]["outputs"] == [{"lines": ["✓ there are three"]}]


def test_sentence_printed_under_a_picture_is_its_alternative_text_and_stands_once(page):
    sentence = "At 512 tokens the curve is down to a tenth, and it goes on falling until it meets zero at 4096 tokens."
    printed = (
        "before\n"
        "At 512 tokens the curve is down to a tenth, and it goes on falling until it meets zero\n"
        "at 4096 tokens.\n"
        "after\n"
    )
    (view,) = views_of(page, ("show()", picture(sentence), stdout(printed)))
    shown, lines = view["outputs"]
    assert shown["caption"] == sentence
    assert (make_site.SITE / shown["figure"]).read_bytes() == b"a picture"
    assert lines == {"lines": ["before", "after"]}


def test_widget_is_recorded_and_a_progress_bar_left_out(page):
    bar = new_output("display_data", data={"text/plain": "training:   0%|"})
    (view,) = views_of(page, ("dial = RopeDial()\ndial", bar, picture("Two arrows.", "execute_result")))
    assert view["outputs"] == [{"widget": "<p>rope_dial</p>"}]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[notation](00_start_here.ipynb#Notation)", '<a href="00_start_here.html#Notation">notation</a>'),
        ("[lesson 4](../04_rope_rotation.ipynb)", '<a href="04_rope_rotation.html">lesson 4</a>'),
        ("[here](#Quiz)", '<a href="#Quiz">here</a>'),
        ("[the paper](https://example.org/a)", '<a href="https://example.org/a">the paper</a>'),
        ("[solutions](solutions/04_rope_rotation_solutions.ipynb)", "solutions (in the repository)"),
        ("[a class](../CLASSROOM.md)", "a class (in the repository)"),
    ],
)
def test_link_leads_to_a_page_or_is_none(written, shown):
    html, _ = text_view(written, {"00_start_here.html", "04_rope_rotation.html"})
    assert html.strip() == f"<p>{shown}</p>"


def test_heading_has_the_anchor_that_jupyterlab_gives_it():
    html, headings = text_view('<a id="Notation"></a>\n## Notation\n\n### Must it be a rotation?', set())
    assert [(heading.level, heading.id) for heading in headings] == [(2, "Notation"), (3, "Must-it-be-a-rotation?")]
    assert html.count('id="Notation"') == 1


def test_formula_is_marked_and_dollars_in_code_are_not():
    html, _ = text_view("$a<b$ and `$HOME` and\n\n$$\\frac12$$", set())
    assert '<span class="formula">\\(a&lt;b\\)</span>' in html
    assert '<span class="formula display">\\[\\frac12\\]</span>' in html
    assert "<code>$HOME</code>" in html


def test_solutions_are_pages_only_when_asked_for():
    without, with_them = paths_of(all_pages(solutions=False)), paths_of(all_pages(solutions=True))
    assert not any("solutions" in path for path in without)
    assert {path for path in with_them if path not in without} == {path for path in with_them if "solutions" in path}
    assert len(with_them) > len(without) > 9


@pytest.mark.parametrize("number", range(9))
def test_no_page_leads_to_a_notebook_or_tells_what_was_measured(page, number):
    pages = all_pages(solutions=False)
    for made in [made for made in pages if made.number == number]:
        write_page(made, pages)
        html = (make_site.SITE / made.name).read_text("utf-8")
        soup = BeautifulSoup(html, "html.parser")
        assert [link["href"] for link in soup.select("a[href]") if ".ipynb" in link["href"]] == []
        assert "No prediction yet" not in html
        assert all(image["alt"].strip() for image in soup.select("img"))
