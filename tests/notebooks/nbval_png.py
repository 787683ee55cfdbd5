"""A pytest plugin that lets strict nbval compare pictures too, within a tolerance, those of widgets included.

    python -m pytest -p tests.notebooks.nbval_png --nbval --nbval-current-env notebooks

nbval 0.11 compares every text an output holds and leaves out PNG, for a picture's bytes differ between versions
of the libraries that draw and compress it. Here two pictures agree when they have one size and the root mean
square of their differences is at most TOLERANCE. The matplotlib that constraints.txt pins drew the stored ones.
Another one chooses other ticks and draws letters otherwise (3.10 all of them), so its pictures are compared in small. A
widget's view id is random and stays out of the comparison; the text and the picture beside it are compared like any
other. Of a notebook that measures on another text than the stored one, only the claims are compared (cells.py). Each
notebook starts without a learner's answers.
"""

import base64
import io
import re
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile
from PIL import Image

from tests.notebooks.cells import claims_among, code_of, measures_another_text

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
PINNED = re.search(r"^matplotlib==(\S+)", CONSTRAINTS.read_text("utf-8"), re.MULTILINE)[1]
PINNED_ONE_DRAWS = matplotlib.__version__ == PINNED
TOLERANCE = 2.0 if PINNED_ONE_DRAWS else 6.0  # of 255, over all pixels and the three channels
COLUMNS = 40  # of a picture in small

compare_text = IPyNbCell.compare_outputs
start_kernel = IPyNbFile.setup


def pixels(image: Image.Image) -> np.ndarray:
    """A picture, or the picture in small, as an array (height, width, 3)."""
    block = 1 if PINNED_ONE_DRAWS else max(1, image.width // COLUMNS)
    return np.asarray(image.convert("RGB").reduce(block), dtype=np.float64)


def difference(stored: str, fresh: str) -> str | None:
    """What sets two pictures apart, in words; None where they agree."""
    before, after = (Image.open(io.BytesIO(base64.b64decode(png))) for png in (stored, fresh))
    if before.size != after.size:
        return f"its size changed from {before.size} to {after.size} pixels"
    rms = float(np.sqrt(np.mean((pixels(before) - pixels(after)) ** 2)))
    return f"RMS difference {rms:.2f} of 255, at most {TOLERANCE} accepted" if rms > TOLERANCE else None


def pictures(outputs: list) -> list[str]:
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


def compare_outputs(cell: IPyNbCell, fresh: list, stored: list, skip_compare=None) -> bool:
    """nbval's own comparison, then the pictures in order; or that of the claims."""
    if measures_another_text(code_of(cell.parent.nb)):
        told, claimed = claims_among(fresh), claims_among(stored)
        cell.comparison_traceback = [] if told == claimed else [f"claims stored: {claimed}", f"claims now: {told}"]
        return told == claimed
    if not compare_text(cell, fresh, stored, skip_compare):
        return False
    drawn, kept = pictures(fresh), pictures(stored)
    if len(drawn) != len(kept):
        cell.comparison_traceback = [f"{len(kept)} pictures are stored, {len(drawn)} were drawn"]
        return False
    cell.comparison_traceback = [
        f"picture {number}: {apart}"
        for number, pair in enumerate(zip(kept, drawn, strict=True), start=1)
        if (apart := difference(*pair))
    ]
    return not cell.comparison_traceback


def pytest_configure(config):
    patch = pytest.MonkeyPatch()
    scratch = tempfile.TemporaryDirectory()
    config.add_cleanup(patch.undo)
    config.add_cleanup(scratch.cleanup)

    def setup(notebook: IPyNbFile) -> None:
        folder = tempfile.mkdtemp(dir=scratch.name)
        patch.setenv("POSENC_PROGRESS", str(Path(folder, "progress.json")))
        start_kernel(notebook)

    patch.setattr(IPyNbFile, "setup", setup)
    patch.setattr(IPyNbCell, "compare_outputs", compare_outputs)
