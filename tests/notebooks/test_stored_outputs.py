"""The stored notebooks are fit to be read where nothing runs, and fit for strict nbval to compare.

Each check takes a notebook and returns what is wrong with it, in words. A damaged copy of a sound notebook proves
that each check can fail.
"""

import base64
import re
from collections import Counter

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks.cells import calls, claims_in, code_cells, outputs_of, read, tags_of, texts_of
from tools.store_notebooks import METADATA, NOTEBOOKS, WIDGET_VIEW, all_notebooks, lessons

IMAGE_LIMIT = 150_000  # bytes
NOTEBOOK_LIMIT = 2_000_000  # bytes
VERIFIED = 12  # claims a lesson checks in front of the reader, at least
PREDICTIONS = 4

MACHINE_PATH = re.compile(r"(?<![\w/.])/(?:root|home|tmp|work|Users)\b|\b[A-Z]:\\|site-packages")
LOOKS_WRONG = re.compile(r"Warning|Traceback \(most recent call last\)")
# nbval honours neither a trailing ";" nor text that goes through an Output widget or is cleared again, and
# "interact" draws a new figure for every move of a slider.
NOT_IN_A_LESSON = {
    r";\s*(?:#.*)?\Z": "a cell ends with ;",
    r"\binteract\w*\(|@interact": "interact",
    r"\bOutput\(": "Output(",
    r"\bclear_output\b": "clear_output",
    r"%matplotlib\s+(?:widget|ipympl|notebook)": "an interactive matplotlib backend",
    r"NBVAL_": "a comment that switches nbval off",
}
CALLS_THE_MACHINE = re.compile(r"\b(?:environment_report|pick_device)\(")


# What every notebook must be.


def is_executed_in_order(notebook):
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}"
    if not outputs_of(notebook):
        yield "no output is stored: nbval would compare nothing"


def has_no_error_or_warning(notebook):
    for output in outputs_of(notebook):
        if output.output_type == "error":
            yield f"a stored error: {output.ename}"
        if output.get("name") == "stderr":
            yield f"stored text on stderr: {output.text!r}"
    for text in texts_of(notebook):
        if found := LOOKS_WRONG.search(text):
            yield f"stored output says {found[0]!r}"


def names_no_path_of_a_machine(notebook):
    for text in texts_of(notebook):
        if found := MACHINE_PATH.search(text):
            yield f"a machine's path near {text[max(found.start() - 10, 0) : found.end() + 30]!r}"


def has_normal_metadata(notebook):
    if notebook.metadata != METADATA:
        yield f"metadata has {sorted(notebook.metadata)}, or versions in it: store it by `make notebooks`"
    if any(WIDGET_VIEW in output.get("data", {}) for output in outputs_of(notebook)):
        yield "a view of a widget that no longer exists: store it by `make notebooks`"


def has_small_pictures(notebook):
    for output in outputs_of(notebook):
        for kind, value in output.get("data", {}).items():
            if kind == "image/png" and (size := len(base64.b64decode(value))) > IMAGE_LIMIT:
                yield f"a picture of {size} bytes, at most {IMAGE_LIMIT} accepted"
            if kind.startswith("image/") and kind not in ("image/png", "image/svg+xml"):
                yield f"a picture as {kind}, which is not compared"


def is_small(notebook):
    if (size := len(nbformat.writes(notebook).encode())) > NOTEBOOK_LIMIT:
        yield f"{size} bytes, at most {NOTEBOOK_LIMIT} accepted"


def has_one_title_at_the_top(notebook):
    titles = [
        number
        for number, cell in enumerate(notebook.cells)
        if cell.cell_type == "markdown"
        for line in re.sub(r"^```.*?^```", "", cell.source, flags=re.MULTILINE | re.DOTALL).splitlines()
        if line.startswith("# ")
    ]
    if titles != [0]:
        yield f"H1 titles stand in cells {titles}, expected one, in cell 0"


def avoids_what_nbval_cannot_compare(notebook):
    for number, cell in enumerate(code_cells(notebook), start=1):
        for pattern, name in NOT_IN_A_LESSON.items():
            if re.search(pattern, cell.source.rstrip()):
                yield f"code cell {number}: {name}"


def sets_up_first(notebook):
    """The leading code cells carry the tag "setup": a widget's cell runs right after them."""
    setup = ["setup" in tags_of(cell) for cell in code_cells(notebook)]
    if not any(setup) or setup != sorted(setup, reverse=True):
        yield f"the cells tagged setup are not the first code cells: {setup}"


def ignores_only_the_machines_own_output(notebook):
    ignored = [cell for cell in code_cells(notebook) if "nbval-ignore-output" in tags_of(cell)]
    if len(ignored) > 1:
        yield f"{len(ignored)} cells are tagged nbval-ignore-output, at most 1 accepted"
    for cell in ignored:
        if not CALLS_THE_MACHINE.search(cell.source):
            yield f"nbval-ignore-output on a cell that reports no machine: {cell.source!r}"
    for cell in code_cells(notebook):
        if "environment_report(" in cell.source and cell not in ignored:
            yield "the cell with environment_report is not tagged nbval-ignore-output"
        if skipped := {"nbval-skip", "raises-exception", "nbval-raises-exception"} & set(tags_of(cell)):
            yield f"a cell is tagged {skipped}"


EVERY_NOTEBOOK = [
    is_executed_in_order,
    has_no_error_or_warning,
    names_no_path_of_a_machine,
    has_normal_metadata,
    has_small_pictures,
    is_small,
    has_one_title_at_the_top,
    avoids_what_nbval_cannot_compare,
    sets_up_first,
    ignores_only_the_machines_own_output,
]

# What a lesson must have besides (notebooks in subfolders are exercises).


def verifies_its_claims(notebook):
    if (number := len(claims_in(notebook))) < VERIFIED:
        yield f"{number} verified claims, at least {VERIFIED} expected"


def asks_before_it_tells(notebook):
    if (number := calls(notebook, "predict")) < PREDICTIONS:
        yield f"{number} predictions, at least {PREDICTIONS} expected"
    if not calls(notebook, "quiz"):
        yield "no closing quiz"


EVERY_LESSON = [verifies_its_claims, asks_before_it_tells]


def repeated_claims(notebooks):
    """Claims printed more than once, in one lesson or in two: each number is then its own claim."""
    counts = Counter(claim for notebook in notebooks for claim in claims_in(notebook))
    return [claim for claim, count in counts.items() if count > 1]


ALL = all_notebooks()
LESSONS = lessons()


def name_of(value):
    return getattr(value, "__name__", None) or getattr(value, "stem", None)


@pytest.mark.parametrize("check", EVERY_NOTEBOOK, ids=name_of)
@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_stored_notebook(path, check):
    assert list(check(read(path))) == []


@pytest.mark.parametrize("check", EVERY_LESSON, ids=name_of)
@pytest.mark.parametrize("path", LESSONS, ids=name_of)
def test_lesson(path, check):
    assert list(check(read(path))) == []


def test_lessons_are_found():
    assert NOTEBOOKS / "00_start_here.ipynb" in ALL
    assert LESSONS


def test_no_claim_is_made_twice():
    for path in LESSONS:  # with -s, the table of all claims
        for claim in claims_in(read(path)):
            print(f"{path.stem}\t{claim}")
    assert repeated_claims(map(read, LESSONS)) == []


# Damaged copies.


def printed(text):
    return new_output("stream", name="stdout", text=text)


def shown(**data):
    return new_output("display_data", data=data)


@pytest.fixture
def sound():
    """A notebook of a few cells that passes every check."""
    claims = "".join(f"✓ claim {number}\n" for number in range(VERIFIED))
    questions = "predict('a')\n" * PREDICTIONS + "quiz('b')"
    code = [
        ("print(environment_report())", [printed("Python 3\n")], ["setup", "nbval-ignore-output"]),
        ("verify('claim', True)", [printed(claims)], []),
        (questions, [shown(**{"text/plain": "2/3", "image/png": base64.b64encode(bytes(9)).decode()})], []),
    ]
    cells = [new_markdown_cell("# Title\n\n```python\n# no title\n```")]
    for count, (source, outputs, tags) in enumerate(code, start=1):
        metadata = {"tags": tags} if tags else {}
        cells.append(new_code_cell(source, outputs=outputs, metadata=metadata, execution_count=count))
    return new_notebook(cells=cells, metadata=METADATA)


def prints(text):
    return lambda notebook: notebook.cells[2].outputs.append(printed(text))


def shows(kind, value):
    return lambda notebook: notebook.cells[2].outputs.append(shown(**{kind: value}))


def adds_code(source):
    return lambda notebook: notebook.cells.append(new_code_cell(source, execution_count=4))


def tags(cell, tag):
    return lambda notebook: notebook.cells[cell].metadata.update(tags=[tag])


def is_never_run(notebook):
    notebook.cells[2].execution_count = None


def is_run_out_of_order(notebook):
    notebook.cells[2].execution_count, notebook.cells[3].execution_count = 3, 2


def is_stripped(notebook):
    for cell in notebook.cells[1:]:
        cell.outputs = []


def stores_an_error(notebook):
    error = new_output("error", ename="ValueError", evalue="wrong", traceback=[])
    notebook.cells[2].outputs.append(error)


def stores_stderr(notebook):
    notebook.cells[2].outputs.append(new_output("stream", name="stderr", text="hm"))


def stores_widget_state(notebook):
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}


def stores_a_version(notebook):
    notebook.metadata["language_info"]["version"] = "3.12.1"


def adds_a_title(notebook):
    notebook.cells.append(new_markdown_cell("text\n# Second title"))


def loses_its_title(notebook):
    notebook.cells[0].source = "## Smaller"


def loses_a_claim(notebook):
    notebook.cells[2].outputs[0].text = notebook.cells[2].outputs[0].text.replace("✓ claim 3\n", "")


def loses_a_prediction(notebook):
    notebook.cells[3].source = notebook.cells[3].source.replace("predict(", "print(", 1)


def loses_its_quiz(notebook):
    notebook.cells[3].source = notebook.cells[3].source.replace("quiz(", "print(")


DAMAGE = [
    (is_executed_in_order, is_never_run),
    (is_executed_in_order, is_run_out_of_order),
    (is_executed_in_order, is_stripped),
    (has_no_error_or_warning, stores_an_error),
    (has_no_error_or_warning, stores_stderr),
    (has_no_error_or_warning, prints("UserWarning: slow\n")),
    (has_no_error_or_warning, prints("Traceback (most recent call last)\n")),
    (names_no_path_of_a_machine, prints("saved in /home/someone/x\n")),
    (names_no_path_of_a_machine, prints("('/root/x',)\n")),
    (names_no_path_of_a_machine, shows("text/html", "<a href='/tmp/x'>")),
    (names_no_path_of_a_machine, shows("text/plain", "/Users/someone")),
    (names_no_path_of_a_machine, prints(r"C:\Users\someone")),
    (has_normal_metadata, stores_widget_state),
    (has_normal_metadata, stores_a_version),
    (has_normal_metadata, shows(WIDGET_VIEW, {"model_id": "0"})),
    (has_small_pictures, shows("image/png", base64.b64encode(bytes(IMAGE_LIMIT + 1)).decode())),
    (has_small_pictures, shows("image/jpeg", base64.b64encode(bytes(9)).decode())),
    (is_small, prints("x" * NOTEBOOK_LIMIT)),
    (has_one_title_at_the_top, adds_a_title),
    (has_one_title_at_the_top, loses_its_title),
    (avoids_what_nbval_cannot_compare, adds_code("plot();")),
    (avoids_what_nbval_cannot_compare, adds_code("plot(); # quiet\n")),
    (avoids_what_nbval_cannot_compare, adds_code("interact(draw, x=(0, 1))")),
    (avoids_what_nbval_cannot_compare, adds_code("@interact\ndef draw(x=1): ...")),
    (avoids_what_nbval_cannot_compare, adds_code("out = widgets.Output()")),
    (avoids_what_nbval_cannot_compare, adds_code("clear_output(wait=True)")),
    (avoids_what_nbval_cannot_compare, adds_code("%matplotlib widget")),
    (avoids_what_nbval_cannot_compare, adds_code("# NBVAL_SKIP")),
    (sets_up_first, tags(1, "nbval-ignore-output")),
    (sets_up_first, tags(3, "setup")),
    (ignores_only_the_machines_own_output, tags(1, "setup")),
    (ignores_only_the_machines_own_output, tags(2, "nbval-ignore-output")),
    (ignores_only_the_machines_own_output, tags(2, "nbval-skip")),
    (ignores_only_the_machines_own_output, tags(2, "raises-exception")),
    (verifies_its_claims, loses_a_claim),
    (asks_before_it_tells, loses_a_prediction),
    (asks_before_it_tells, loses_its_quiz),
]


@pytest.mark.parametrize("check", EVERY_NOTEBOOK + EVERY_LESSON, ids=name_of)
def test_check_passes_a_sound_notebook(sound, check):
    assert list(check(sound)) == []


@pytest.mark.parametrize(("check", "damage"), DAMAGE)
def test_check_finds_damage(sound, check, damage):
    damage(sound)
    assert list(check(sound)) != []


def test_every_check_is_shown_to_fail():
    assert {check for check, _ in DAMAGE} == {*EVERY_NOTEBOOK, *EVERY_LESSON}


def test_a_repeated_claim_is_found(sound):
    assert repeated_claims([sound]) == []
    assert "claim 3" in repeated_claims([sound, sound])
