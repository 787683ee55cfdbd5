"""What a trained model makes of a window longer than it was trained on: loss by position, and recall by distance.

Both use fixed windows of the held-out text and change nothing in the model.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from posenc_lib import PositionEncoding, RotaryEncoding
from posenc_lib.base import check_bool, check_integer
from posenc_lib.rope import RopeScaling
from posenc_lib.tiny_lm.corpus import check_tokens, load_corpus
from posenc_lib.tiny_lm.model import TinyTransformer, check_model
from posenc_lib.tiny_lm.windows import KEY_LENGTH, draw_keys

__all__ = ["CUE", "loss_by_position", "recall_by_distance", "window_losses"]

Scaling = RopeScaling | Callable[[int], RopeScaling]

WINDOWS = 32
SHARED_LENGTH = 2048  # windows up to this length all end at the same places
CHUNK = 4  # windows a forward pass

RECALL_WINDOWS = 64
CUE = 4  # letters of the second copy that the model is given before it is asked for one


def loss_by_position(
    model: TinyTransformer, length: int, *, scaling: Scaling | None = None, clamp: bool = False
) -> Tensor:
    """Loss at each place of a window, the mean over 32 fixed windows of the held-out text.

    Windows up to 2048 end at the same 32 places whatever their length. So the last places of a short and of a long
    window predict the same characters, and differ in how much text stands before them.

    Args:
        model: left as it is.
        length: characters of a window, at least 2.
        scaling: frequencies in place of a RoPE model's own; a callable is asked with the length.
        clamp: whether positions past a learned table take its last row.

    Returns:
        (length,), in nats a character, float64, on the CPU.

    Raises:
        ValueError: a length below 2 or beyond the held-out text, scaling or clamp on a model that has no use for it,
            or a learned model past its table without clamp.
    """
    return torch.cat(list(window_losses(model, length, scaling=scaling, clamp=clamp))).mean(0)


def window_losses(
    model: TinyTransformer,
    length: int,
    *,
    scaling: Scaling | None = None,
    clamp: bool = False,
    text: Tensor | None = None,
) -> Iterator[Tensor]:
    """The losses behind `loss_by_position`, a few windows at a time, (4, length): a caller can stop in between.

    Takes, returns and raises what `loss_by_position` does, and `text`, tokens (T,) in place of the held-out ones, for
    what must be chosen before it is measured. A wrong argument raises before the first windows are asked for.
    """
    length = check_integer("length", length, minimum=2)
    text = load_corpus().held_out if text is None else check_tokens("text", text, ndim=1, shape="(T,)")
    _check_longer_than(length, text)
    encoding, positions = _encoding_and_positions(model, length, scaling, clamp)
    exact = {"dtype": torch.float64, "device": text.device}  # whatever the defaults
    ends = torch.linspace(max(length, min(SHARED_LENGTH, len(text) - 1)), len(text) - 1, WINDOWS, **exact).long()
    windows = text[(ends - length)[:, None] + torch.arange(length + 1, device=text.device)]
    return (_losses(model, chunk, encoding, positions) for chunk in windows.split(CHUNK))


def recall_by_distance(
    model: TinyTransformer,
    distances: Sequence[int],
    length: int,
    *,
    scaling: Scaling | None = None,
    clamp: bool = False,
) -> Tensor:
    """How often a model that was trained to recall finds a key it has seen once, by how far back that was.

    Twelve random letters are planted in a window of held-out text and come again at its very end; the model is right
    when its likeliest character is the key's next one. Asked for letters 5 to 12 of the second copy, 64 windows a
    distance. Chance is 1 in 26.

    Args:
        model: left as it is.
        distances: from the first copy to the second, in characters, each from 12 to length − 12.
        length: characters of a window.
        scaling, clamp: as in `loss_by_position`.

    Returns:
        Accuracy at each distance, (len(distances),), float64.

    Raises:
        ValueError: a distance that does not fit the length, and what `loss_by_position` raises.
    """
    length = check_integer("length", length, minimum=2 * KEY_LENGTH)
    for distance in distances:
        if not KEY_LENGTH <= check_integer("distances", distance) <= length - KEY_LENGTH:
            raise ValueError(
                f"distances must lie from {KEY_LENGTH} to {length - KEY_LENGTH} in a window of {length}, got {distance}"
            )
    text = load_corpus().held_out
    _check_longer_than(length, text)
    encoding, positions = _encoding_and_positions(model, length, scaling, clamp)
    generator = torch.Generator().manual_seed(0)  # the same texts and keys in every call
    starts = torch.randint(len(text) - length, (RECALL_WINDOWS, 1), generator=generator, device=generator.device)
    keys = draw_keys(RECALL_WINDOWS, generator)
    accuracies = torch.empty(len(distances), dtype=torch.float64, device="cpu")
    for place, distance in enumerate(distances):
        windows = text[starts + torch.arange(length, device=starts.device)]
        windows[:, -KEY_LENGTH:] = keys
        windows[:, length - KEY_LENGTH - distance : length - distance] = keys
        named = torch.cat(
            [_logits(model, chunk, encoding, positions)[:, CUE - 1 - KEY_LENGTH : -1] for chunk in windows.split(CHUNK)]
        ).argmax(-1)
        accuracies[place] = (named.cpu() == keys[:, CUE:]).double().mean()
    return accuracies


def _check_longer_than(length: int, text: Tensor) -> None:
    if length >= len(text):
        raise ValueError(f"length must be below {len(text)}, the characters of the text, got {length}")


def _encoding_and_positions(
    model: TinyTransformer, length: int, scaling: Scaling | None, clamp: bool
) -> tuple[PositionEncoding, Tensor]:
    """What the model is run with, checked."""
    check_model(model)
    positions = torch.arange(length, device=model.embed.weight.device)
    if check_bool("clamp", clamp):
        if model.encoding_name != "learned":
            raise ValueError(f"clamp is for a learned table alone, and this model uses {model.encoding_name!r}")
        positions = positions.clamp(max=model.trained_len - 1)
    elif model.encoding_name == "learned" and length > model.trained_len:
        raise ValueError(
            f"length must be at most {model.trained_len}, the rows of the learned table, got {length}; "
            "clamp=True repeats the last row"
        )
    if scaling is None:
        return model.encoding, positions
    if model.encoding_name != "rope":
        raise ValueError(f"scaling is for RoPE alone, and this model uses {model.encoding_name!r}")
    return RotaryEncoding(model.head_dim, scaling=scaling), positions


@torch.no_grad()
def _logits(model: TinyTransformer, tokens: Tensor, encoding: PositionEncoding, positions: Tensor) -> Tensor:
    return model(tokens.to(positions.device), positions=positions, encoding=encoding)


def _losses(model: TinyTransformer, windows: Tensor, encoding: PositionEncoding, positions: Tensor) -> Tensor:
    """Next-character losses of windows (n, length + 1): (n, length), float64, on the CPU."""
    logits = _logits(model, windows[:, :-1], encoding, positions)
    return F.cross_entropy(logits.transpose(1, 2).cpu().double(), windows[:, 1:], reduction="none")
