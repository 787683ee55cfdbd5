"""The trained weights and measurements that ship with the library: made by `make bake-off`, read here."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from posenc_lib import ENCODINGS
from posenc_lib.base import check_choice
from posenc_lib.tiny_lm.model import TinyTransformer

__all__ = ["RESULTS", "SHIPPED", "WEIGHTS", "load", "load_checkpoint", "save_checkpoint", "stored_results"]

WEIGHTS = Path(__file__).parent / "weights"
RESULTS = Path(__file__).parent / "results"
SHIPPED = {"text": ENCODINGS, "recall": ("rope", "alibi")}
"""Task → the encodings whose trained models come with the library."""

STORED = ("bake_off", "context_extension")

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
    accepted = SHIPPED[check_choice("task", task, SHIPPED)]
    check_choice("encoding_name" if task == "text" else f"encoding_name of task {task!r}", encoding_name, accepted)
    return load_checkpoint(WEIGHTS / f"{task}_{encoding_name}.safetensors", encoding_name, task=task)


def save_checkpoint(weights: Mapping[str, Tensor], encoding_name: str, task: str) -> bytes:
    """The content of a weights file: the tensors, and which model they belong to."""
    return safetensors.torch.save(dict(weights), {"model": f"{task} {encoding_name}"})


def load_checkpoint(path: Path, encoding_name: str, *, task: str = "text") -> TinyTransformer:
    """The model of that encoding and task with the weights in a file; raises what `load` does."""
    if not path.is_file():
        raise FileNotFoundError(f"no weights at {path.name}: {REMEDY}")
    try:
        # Before 0.6, safetensors took torch's default device, whatever it is told.
        with torch.device("cpu"), safetensors.safe_open(path, framework="pt", device="cpu") as file:
            model_name = (file.metadata() or {}).get("model")
            weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"weights {path.name} are damaged ({error}): {REMEDY}") from None
    with torch.device("meta"):  # it takes its weights from the file, so draws no random numbers
        model = TinyTransformer(encoding_name)
    _check_weights(path.name, weights, model.state_dict())
    if model_name != f"{task} {encoding_name}":  # several encodings have weights of the same names and shapes
        raise ValueError(f"weights {path.name} must be of model '{task} {encoding_name}', got {model_name!r}: {REMEDY}")
    model.load_state_dict({key: value.float() for key, value in weights.items()}, assign=True)
    return model.requires_grad_(True).eval()


def _check_weights(name: str, weights: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """ValueError naming the first tensor that is absent, too many, of another shape or dtype, or not finite."""
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
        if weights[key].dtype not in (torch.float16, torch.float32):
            raise ValueError(f"weights {name}: {key!r} must be float16 or float32, got {weights[key].dtype}: {REMEDY}")
        if not torch.isfinite(weights[key]).all():
            raise ValueError(f"weights {name}: {key!r} must be finite: {REMEDY}")


def stored_results(name: str) -> dict[str, Any]:
    """What was measured, as JSON holds it: "bake_off" or "context_extension"; a fresh copy in each call.

    Raises:
        ValueError: an unknown name, or a damaged file.
        FileNotFoundError: no measurements are there.
    """
    path = RESULTS / f"{check_choice('name', name, STORED)}.json"
    if not path.is_file():
        raise FileNotFoundError(f"no results at {path.name}: {REMEDY}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no text
        raise ValueError(f"results {path.name} are damaged ({error}): {REMEDY}") from None
