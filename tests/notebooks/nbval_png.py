"""A pytest plugin that lets strict nbval compare pictures too, within a tolerance, those of widgets included.

    python -m pytest -p tests.notebooks.nbval_png --nbval --nbval-current-env notebooks

nbval 0.11 compares every text an output holds and leaves out PNG, for a picture's bytes differ between versions
of the libraries that draw and compress it. Here two pictures agree when they have one size and the root mean
square of their differences is at most TOLERANCE. A widget's view id is random and stays out of the comparison;
the text and the picture beside it are compared like any other. Each notebook starts without a learner's answers.
"""

import base64
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile
from PIL import Image

TOLERANCE = 2.0  # of 255, over all pixels and the three channels

compare_text = IPyNbCell.compare_outputs
start_kernel = IPyNbFile.setup


def pixels(png: str) -> np.ndarray:
    """A stored picture (base64) as an array (height, width, 3)."""
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        return np.asarray(image.convert("RGB"), dtype=np.float64)


def difference(stored: str, fresh: str) -> str | None:
    """What sets two pictures apart, in words; None where they agree."""
    before, after = pixels(stored), pixels(fresh)
    if before.shape != after.shape:
        return f"its size changed from {before.shape[1::-1]} to {after.shape[1::-1]} pixels"
    rms = float(np.sqrt(np.mean((before - after) ** 2)))
    return f"RMS difference {rms:.2f} of 255, at most {TOLERANCE} accepted" if rms > TOLERANCE else None


def pictures(outputs: list) -> list[str]:
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


def compare_outputs(cell: IPyNbCell, fresh: list, stored: list, skip_compare=None) -> bool:
    """nbval's own comparison, then the pictures in order."""
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
