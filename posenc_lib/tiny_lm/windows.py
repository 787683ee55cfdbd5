"""What the small models are trained on: windows of text, as it is or with a key that keeps coming back."""

import string
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from posenc_lib.base import check_choice, check_integer
from posenc_lib.tiny_lm.corpus import encode

__all__ = [
    "KEY_LENGTH",
    "LETTERS",
    "DrawWindows",
    "draw_keys",
    "draw_recall_windows",
    "draw_text_windows",
    "windows_for",
]

DrawWindows = Callable[[Tensor, int, int, Generator], Tensor]
"""(text, number, length, generator) → tokens (number, length)."""

LETTERS = encode(string.ascii_lowercase)
KEY_LENGTH = 12
SHORTEST_GAP = 4  # between two copies of a key, in characters


def draw_text_windows(text: Tensor, number: int, length: int, generator: Generator) -> Tensor:
    """Random windows of the text, (number, length).

    Raises:
        ValueError: the text is shorter than one window.
    """
    length = check_integer("length", length, minimum=2)
    if len(text) < length:
        raise ValueError(f"text must have at least {length} tokens for a window, got {len(text)}")
    drawn = {"generator": generator, "device": generator.device}
    starts = torch.randint(len(text) - length + 1, (check_integer("number", number), 1), **drawn)
    return text[starts + torch.arange(length, device=starts.device)]


def draw_keys(number: int, generator: Generator) -> Tensor:
    """Keys of twelve random letters, (number, KEY_LENGTH)."""
    drawn = {"generator": generator, "device": generator.device}
    return LETTERS[torch.randint(len(LETTERS), (number, KEY_LENGTH), **drawn)]


def draw_recall_windows(text: Tensor, number: int, length: int, generator: Generator) -> Tensor:
    """Windows of the text in which a key of twelve random letters, new in each window, stands again and again.

    Gaps between its copies are uniform up to a largest one, which is drawn anew for each window, log-uniform from 4
    characters to the window's length: so a copy may be near or as far away as fits. To predict a copy's later letters
    a model must look back to an earlier copy. What the recall models are trained on.

    Raises:
        ValueError: the text is shorter than one window, or the window than two keys.
    """
    windows = draw_text_windows(text, number, check_integer("length", length, minimum=2 * KEY_LENGTH), generator)
    keys = draw_keys(number, generator)
    drawn = {"generator": generator, "device": generator.device, "dtype": torch.float32}
    largest_gap = SHORTEST_GAP * (length / SHORTEST_GAP) ** torch.rand(number, 1, **drawn)
    copies = length // KEY_LENGTH + 1
    gaps = (torch.rand(number, copies, **drawn) * (largest_gap + 1)).long()
    starts = (gaps + KEY_LENGTH).cumsum(-1) - KEY_LENGTH
    # (number, copies, length): which letter of that copy
    letter = torch.arange(length, device=starts.device) - starts[:, :, None]
    inside = (letter >= 0) & (letter < KEY_LENGTH)
    key_letters = keys.gather(1, letter.where(inside, 0).sum(1))
    return key_letters.where(inside.any(1), windows)


_DRAW = {"text": draw_text_windows, "recall": draw_recall_windows}


def windows_for(task: str) -> DrawWindows:
    """The windows a task is trained on; ValueError for a task that is not known."""
    return _DRAW[check_choice("task", task, _DRAW)]
