"""The trained weights and measurements that ship with the library: made by `make bake-off`, read here."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from posenc_lib import ENCODINGS
from posenc_lib.base import check_choice
from posenc_lib.tiny_lm.model import TinyTransformer

__all__ = ["RESULTS", "SHIPPED", "WEIGHTS", "load", "load_checkpoint", "stored_results"]

WEIGHTS = Path(__file__).parent / "weights"
RESULTS = Path(__file__).parent / "results"
SHIPPED = {"text": ENCODINGS, "recall": ("rope", "alibi")}
"""Task → the encodings whose trained models come with the library."""

REMEDY = "`make bake-off` makes it again, as does a fresh installation"


def load(encoding_name: str, *, task: str = "text") -> TinyTransformer:
    """The trained model of that encoding, seed 0, float32, on the CPU.

    Args:
        encoding_name: one of `posenc_lib.ENCODINGS`.
        task: "text", or "recall" for the model trained to find a key again (shipped for rope and alibi alone).

    Raises:
        ValueError: an unknown encoding or task, or a damaged file.
        FileNotFoundError: no weights are there.
    """
    check_choice("encoding_name", encoding_name, SHIPPED[check_choice("task", task, SHIPPED)])
    return load_checkpoint(WEIGHTS / f"{task}_{encoding_name}.safetensors", encoding_name)


def load_checkpoint(path: Path, encoding_name: str) -> TinyTransformer:
    """The model of that encoding with the weights in a file; raises what `load` does."""
    if not path.is_file():
        raise FileNotFoundError(f"no weights at {path.name}: {REMEDY}")
    try:
        weights = safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"weights {path.name} are damaged ({error}): {REMEDY}") from None
    with torch.random.fork_rng(devices=[]):  # the weights that are drawn here are replaced at once
        model = TinyTransformer(encoding_name)
    _check_weights(path.name, weights, model.state_dict())
    model.load_state_dict(weights)
    return model.eval()


def _check_weights(name: str, weights: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    """ValueError naming the first tensor that is absent, too many, of another shape or not finite."""
    for key in sorted(expected.keys() | weights.keys()):
        if key not in weights:
            raise ValueError(f"weights {name} lack {key!r}: {REMEDY}")
        if key not in expected:
            raise ValueError(f"weights {name} hold {key!r}, which this model does not have: {REMEDY}")
        if weights[key].shape != expected[key].shape:
            raise ValueError(
                f"weights {name}: {key!r} must have shape {tuple(expected[key].shape)}, "
                f"got {tuple(weights[key].shape)}: {REMEDY}"
            )
        if not torch.isfinite(weights[key]).all():
            raise ValueError(f"weights {name}: {key!r} must be finite: {REMEDY}")


def stored_results(name: str) -> dict[str, Any]:
    """What was measured, as JSON holds it: "bake_off" or "context_extension".

    Raises:
        ValueError: no measurements of that name are stored.
    """
    stored = sorted(path.stem for path in RESULTS.glob("*.json"))
    return json.loads((RESULTS / f"{check_choice('name', name, stored)}.json").read_text(encoding="utf-8"))
