"""Write dist/site/: every lesson and every set of exercises as a page that is read with no Python and no network.

    python -m tools.make_site               # without the solutions
    python -m tools.make_site --solutions   # with them

The pages show what the notebooks store. A widget becomes frames that a slider plays (tools/site_frames.py), `predict`,
`quiz` and `interview` become forms (tools/site_template/questions.js). The same sources give the same bytes.
"""

import argparse
import ast
import base64
import inspect
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import jupyter_server_mathjax
import nbformat
from bs4 import BeautifulSoup
from markupsafe import Markup
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from posenc_lib.exercises import catalogue, predict, reveal
from posenc_lib.exercises.on_screen import wrapped
from posenc_lib.widgets import GALLERY
from tools.site_frames import TEMPLATE, record, templates
from tools.store_notebooks import all_notebooks

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "dist" / "site"
MATHJAX = Path(jupyter_server_mathjax.__file__).parent / "static"
# What its HTML output may load, with upright letters of every kind and slanted and bold ones of the ordinary kinds.
MATHJAX_FILES = (
    "LICENSE",
    "MathJax.js",
    "config/TeX-AMS-MML_HTMLorMML-full.js",
    "extensions/AssistiveMML.js",
    "extensions/TeX/mathchoice.js",
    "jax/element/mml/optable/*.js",
    "jax/output/HTML-CSS/fonts/STIX-Web/fontdata.js",
    "jax/output/HTML-CSS/fonts/STIX-Web/*/Regular/Main.js",
    "jax/output/HTML-CSS/fonts/STIX-Web/[MN]*/*/Main.js",
    "fonts/HTML-CSS/STIX-Web/woff/*-Regular.woff",
    "fonts/HTML-CSS/STIX-Web/woff/STIXMathJax_[MN]*.woff",
)
# Of the README's table: number, name, notebook, what it is for.
ROW = re.compile(
    r"^\| (?P<number>\d\d) \| \[(?P<label>.+?)\]\(notebooks/(?P<stem>\w+)\.ipynb\) \| (?P<goal>.+) \|$", re.MULTILINE
)
WIDGETS = {widget.__name__: name for name, widget in GALLERY.items()}

highlight = Highlight2HTML(pygments_lexer="python")


@dataclass(frozen=True)
class Prediction:
    """What a page needs to ask for a prediction and to judge it."""

    id: str
    question: str
    choices: tuple[str, ...] | None
    measured: str | float
    misconceptions: Mapping[str | float, str]
    tolerance: float | None
    printed: str
    """How the stored output tells what was measured: the page tells it after the answer."""

    @property
    def shown(self) -> str:
        return f"“{self.measured}”" if isinstance(self.measured, str) else f"{self.measured:.4g}"

    def judged_by(self) -> dict[str, Any]:
        """What the browser is told, for JSON."""
        return {
            "number": self.choices is None,
            "measured": self.measured,
            "tolerance": self.tolerance,
            "misconceptions": [*self.misconceptions.items()],
        }


@dataclass(frozen=True)
class Heading:
    level: int
    id: str
    text: str


def constant(node: ast.expr) -> Any:
    """The value of an argument that is written out, like "300" or 1 / 9; ValueError for one that is computed."""
    if any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node)):
        raise ValueError(f"expected an argument that is written out, got {ast.unparse(node)}")
    return eval(compile(ast.Expression(node), "argument", "eval"))


def calls(cell: NotebookNode, *functions: str) -> list[ast.Call]:
    """The calls of these functions in a code cell, by name."""
    return [
        node
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
    ]


def arguments(call: ast.Call, function: Any) -> dict[str, ast.expr]:
    """The arguments of a call by the names the function has for them."""
    return inspect.signature(function).bind(*call.args, **{word.arg: word.value for word in call.keywords}).arguments


def printed(cell: NotebookNode) -> str:
    """All that a cell printed."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def predictions_in(notebook: NotebookNode) -> dict[str, Prediction]:
    """The notebook's predictions, by id: the question from the call, what was measured from the stored output.

    Raises:
        ValueError: the output of a `reveal` does not say what was measured.
    """
    asked, found = {}, {}
    for cell in code_cells(notebook):
        for call in calls(cell, "predict"):
            question = {name: constant(node) for name, node in arguments(call, predict).items()}
            asked[question["id"]] = question
        for call in calls(cell, "reveal"):
            given = arguments(call, reveal)
            id = constant(given["id"])
            choices = asked[id].get("choices")
            measured, line = measured_in(printed(cell), id, choices)
            found[id] = Prediction(
                id,
                asked[id]["question"],
                choices and tuple(choices),
                measured,
                constant(given["misconceptions"]) if "misconceptions" in given else {},
                constant(given["tolerance"]) if "tolerance" in given else None,
                line,
            )
    return found


def measured_in(text: str, id: str, choices: list[str] | None) -> tuple[str | float, str]:
    """What `reveal` printed as measured before anything was predicted, and the lines that say so."""
    said = f"No prediction yet for {id}: measured "
    for choice in choices or ():
        if (line := wrapped(f"{said}“{choice}”.") + "\n") in text:
            return choice, line
    if choices is None and (line := re.search(rf"^{re.escape(said)}(\S+)\.\n", text, re.M)):
        return float(line[1]), line[0]
    raise ValueError(f"expected a line “{said}…” in the stored output, got {text!r}")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@dataclass(frozen=True)
class Page:
    """A notebook that becomes a page of its own."""

    path: Path
    number: int
    label: str
    """The lesson's, a word or two."""

    @property
    def name(self) -> str:
        return f"{self.path.stem}.html"

    @property
    def kind(self) -> str:
        return self.path.parent.name  # notebooks, exercises or solutions


class Renderer(IPythonRenderer):
    """Markdown to HTML as JupyterLab does it, formulas marked for MathJax."""

    def inline_math(self, body: str) -> str:
        return f'<span class="formula">\\({self.escape_html(body)}\\)</span>'

    def block_math(self, body: str) -> str:
        return f'<span class="formula display">\\[{self.escape_html(body)}\\]</span>'


def text_view(source: str, names: set[str]) -> tuple[Markup, list[Heading]]:
    """A Markdown cell as HTML, and its headings; links to notebooks lead to their pages, of which these are there."""
    html = MarkdownWithMath(renderer=Renderer(escape=False)).render(source)
    soup = BeautifulSoup(html, "html.parser")
    headings = soup.find_all(re.compile("^h[1-6]$"))
    for mark in soup.select("a.anchor-link"):
        mark.decompose()
    for anchor in soup.select("a[id]:empty"):
        if any(heading["id"] == anchor["id"] for heading in headings):
            anchor.parent.decompose()  # written for renderers that give headings no id
    for link in soup.select("a[href]"):
        relink(link, names)
    for table in soup.select("table"):
        table.wrap(soup.new_tag("div", attrs={"class": "scroll"}))
    return Markup(str(soup)), [Heading(int(tag.name[1]), tag["id"], tag.get_text()) for tag in headings]


def relink(link: Any, names: set[str]) -> None:
    """Lead a link to a notebook to its page; what is not on the site is named and not linked."""
    if "://" in link["href"] or link["href"].startswith("#"):
        return
    target, mark, fragment = link["href"].partition("#")
    name = PurePosixPath(target).with_suffix(".html").name
    if name in names:
        link["href"] = name + mark + fragment
    else:
        link.append(" (in the repository)")
        link.unwrap()


def outputs_view(cell: NotebookNode, page: Page, predictions: list[Prediction]) -> list[dict[str, Any]]:
    """A cell's stored outputs, without progress bars, what predictions are told later and what captions repeat."""
    outputs = []
    pictures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
    elsewhere = [prediction.printed for prediction in predictions]
    elsewhere += [wrapped(picture.data["text/plain"]) + "\n" for picture in pictures]
    for output in cell.outputs:
        if output.output_type == "stream":
            text = output.text
            for lines in elsewhere:
                text = text.replace(lines, "")
            if text.strip():
                outputs.append({"lines": text.rstrip("\n").split("\n")})
        elif output in pictures:
            outputs.append(picture_view(cell, output, page))
    return outputs


def picture_view(cell: NotebookNode, output: NotebookNode, page: Page) -> dict[str, Any]:
    """A widget as frames to play, another picture as a file beside the page; its sentence is its alternative text."""
    if output.output_type == "execute_result":
        (call,) = calls(cell, *WIDGETS)
        return {"widget": Markup(record(WIDGETS[call.func.id], SITE))}
    file = SITE / "figures" / f"{page.path.stem}-{cell.id}.png"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(base64.b64decode(output.data["image/png"]))
    size = output.metadata["image/png"]
    return {"figure": f"figures/{file.name}", "caption": output.data["text/plain"], **size}


def cell_views(notebook: NotebookNode, page: Page, names: set[str]) -> tuple[list[dict[str, Any]], list[Heading]]:
    """What the template shows of each cell, and the headings of the page."""
    views, contents = [], []
    predictions = predictions_in(notebook)
    waiting: list[str] = []  # predictions asked for and not yet told
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            html, headings = text_view(cell.source, names)
            contents += headings
            views.append({"kind": "text", "html": html})
        elif asked := calls(cell, "predict"):
            for call in asked:
                id = constant(arguments(call, predict)["id"])
                waiting.append(id)
                views.append({"kind": "prediction", "prediction": predictions[id]})
        elif asked := calls(cell, "quiz", "interview"):
            id = constant(asked[0].args[0])
            kind = asked[0].func.id
            questions = (catalogue.quizzes if kind == "quiz" else catalogue.interviews)[id]
            views.append({"kind": "quiz", "id": f"{kind}-{id}", "questions": questions})
        else:
            told = [predictions[constant(arguments(call, reveal)["id"])] for call in calls(cell, "reveal")]
            view = {"kind": "code", "code": Markup(highlight(cell.source)), "tells": bool(told), "hints": ()}
            view["setup"] = "setup" in cell.metadata.get("tags", ())
            view["waits_for"] = " ".join(waiting)
            view["outputs"] = outputs_view(cell, page, told)
            checked = calls(cell, "check")
            if checked and page.kind == "exercises":
                view["outputs"] = []  # “not tried yet”, and here it cannot be tried
                view["hints"] = catalogue.exercises[constant(checked[0].args[0])].hints
            waiting = [id for id in waiting if id not in {prediction.id for prediction in told}]
            views.append(view)
    return views, contents


def all_pages(solutions: bool) -> list[Page]:
    """Every page made of a notebook, lessons first."""
    rows = {row["number"]: row["label"] for row in ROW.finditer((ROOT / "README.md").read_text("utf-8"))}
    paths = [path for path in all_notebooks() if solutions or path.parent.name != "solutions"]
    return [Page(path, int(path.name[:2]), rows[path.name[:2]]) for path in paths]


def write_page(page: Page, pages: list[Page]) -> None:
    names = {other.name for other in pages}
    cells, headings = cell_views(nbformat.read(page.path, as_version=4), page, names)
    lessons = {other.number: other for other in pages if other.kind == "notebooks"}
    html = templates.get_template("lesson.html.j2").render(
        page=page,
        title=headings[0].text,
        notebook=page.path.relative_to(ROOT).as_posix(),
        lesson=lessons[page.number],
        last=max(lessons),
        previous=lessons.get(page.number - 1),
        next=lessons.get(page.number + 1),
        exercises=next((p for p in pages if p.kind == "exercises" and p.number == page.number), None),
        headings=headings[1:],
        cells=cells,
    )
    (SITE / page.name).write_text(html + "\n", "utf-8", newline="\n")


def write_index(pages: list[Page]) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = [row.groupdict() | {"page": f"{row['stem']}.html"} for row in ROW.finditer(readme)]
    exercises = {f"{page.number:02}": page.name for page in pages if page.kind == "exercises"}
    html = templates.get_template("index.html.j2").render(rows=rows, exercises=exercises)
    (SITE / "index.html").write_text(html + "\n", "utf-8", newline="\n")


def write_formulas() -> None:
    """The sheet of formulas, with a way back and a style for screens; printed, it is the sheet."""
    sheet = (ROOT / "classroom" / "formulas.html").read_text("utf-8")
    head = (
        '<meta name="viewport" content="width=device-width">\n'
        '<link rel="icon" href="assets/icon.svg">\n'
        '<link rel="stylesheet" href="assets/sheet.css">\n'
    )
    back = '<nav aria-label="Lessons"><a href="index.html">All lessons</a></nav>\n<main id="main">\n'
    sheet = sheet.replace("</head>", f"{head}</head>").replace("<body>\n", f"<body>\n{back}")
    sheet = sheet.replace("</body>", "</main>\n</body>")
    (SITE / "formulas.html").write_text(sheet, "utf-8", newline="\n")


def write_assets() -> None:
    for source in TEMPLATE.iterdir():
        if source.suffix != ".j2":
            shutil.copyfile(source, SITE / "assets" / source.name)
    for source in sorted({file for pattern in MATHJAX_FILES for file in MATHJAX.glob(pattern)}):
        target = SITE / "assets" / "mathjax" / source.relative_to(MATHJAX)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def make(solutions: bool) -> None:
    """Write all of dist/site/ anew."""
    if SITE.exists():
        shutil.rmtree(SITE)
    (SITE / "assets").mkdir(parents=True)
    pages = all_pages(solutions)
    for page in pages:
        write_page(page, pages)
    write_index(pages)
    write_formulas()
    write_assets()
    print(f"{len(pages) + 2} pages in {SITE.relative_to(ROOT)}: open index.html there")


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write the lessons as pages that need no Python and no network.")
    parser.add_argument("--solutions", action="store_true", help="with the solutions")
    make(parser.parse_args(given).solutions)


if __name__ == "__main__":
    main()
