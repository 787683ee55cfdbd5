"""Text that every Python installation brings: the language reference behind `help("lambda")`, as characters.

Taken from the standard library's `pydoc_data.topics`; where a distribution leaves that out, from docstrings of
standard modules. The text differs a little between Python versions, so results carry its `Corpus.hash`.
"""

import functools
import hashlib
import importlib
import inspect
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc_lib.base import values_are_readable

__all__ = ["VOCABULARY", "Corpus", "check_tokens", "decode", "encode", "load_corpus", "split_by_topic"]

OTHER = "�"
VOCABULARY = "\n" + "".join(map(chr, range(32, 127))) + OTHER
"""Newline, printable ASCII, and one sign for every other character: fixed, so that checkpoints stay readable."""

SHORTEST = 20_000  # characters that either part must have
HELD_OUT = 4  # one topic in so many

_TOKENS = {character: token for token, character in enumerate(VOCABULARY)}
# fmt: off
_FALLBACK_MODULES = [
    "argparse", "ast", "asyncio", "collections", "configparser", "csv", "datetime", "decimal", "difflib",
    "doctest", "email.message", "fractions", "http.client", "http.server", "inspect", "ipaddress", "json",
    "logging", "mailbox", "optparse", "os", "pathlib", "pickle", "pickletools", "random", "shutil", "smtplib",
    "socket", "statistics", "string", "subprocess", "tarfile", "tempfile", "textwrap", "threading",
    "tokenize", "traceback", "turtle", "unittest.case", "unittest.mock", "urllib.request",
    "uuid", "warnings", "zipfile",
]
# fmt: on


def encode(text: str) -> Tensor:
    """One token a character, shape (len(text),), int64."""
    tokens = [_TOKENS.get(character, _TOKENS[OTHER]) for character in text]
    return torch.tensor(tokens, dtype=torch.long, device="cpu")


def decode(tokens: Tensor) -> str:
    """The characters of a (T,) tensor of tokens; TypeError or ValueError as from `check_tokens`."""
    check_tokens("tokens", tokens, ndim=1, shape="(T,)")
    return "".join(VOCABULARY[token] for token in tokens.tolist())


def check_tokens(name: str, tokens: Tensor, *, ndim: int, shape: str) -> Tensor:
    """The tokens, if they are an int64 tensor of that many dimensions (`shape` says which) within the vocabulary."""
    if not isinstance(tokens, Tensor) or tokens.dtype != torch.long:
        got = tokens.dtype if isinstance(tokens, Tensor) else type(tokens).__name__
        raise TypeError(f"{name} must be an int64 tensor, got {got}")
    if tokens.ndim != ndim:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(tokens.shape)}")
    last = len(VOCABULARY) - 1
    if values_are_readable(tokens) and ((tokens < 0) | (tokens > last)).any():
        raise ValueError(f"{name} must lie from 0 to {last}, got {tokens[(tokens < 0) | (tokens > last)][0].item()}")
    return tokens


@dataclass(frozen=True, eq=False)
class Corpus:
    """Training and held-out text as tokens (T,), and the hash of both. Shared by all who ask: do not write into it."""

    train: Tensor
    held_out: Tensor
    hash: str


def split_by_topic(topics: dict[str, str]) -> Corpus:
    """Train and held-out text that share no paragraph.

    Whole topics are held out, about one in four, chosen by a hash of their names, so that a topic added in another
    Python version moves no other. Topics quote each other at length: a paragraph that has been seen is dropped.

    Raises:
        ValueError: either part is shorter than 20 000 characters.
    """
    held_out = {name for name in topics if hashlib.sha256(name.encode()).digest()[0] % HELD_OUT == 0}
    seen: set[str] = set()
    parts = {"held-out": "", "train": ""}
    for name in sorted(topics, key=lambda name: (name not in held_out, name)):  # held-out topics keep all they have
        for paragraph in topics[name].split("\n\n"):
            words = " ".join(paragraph.split())  # a quotation may be indented or broken otherwise
            if words and words not in seen:
                seen.add(words)
                parts["held-out" if name in held_out else "train"] += paragraph.strip("\n") + "\n\n"
    for part, text in parts.items():
        if len(text) < SHORTEST:
            raise ValueError(
                f"topics are too short: the {part} text must have at least {SHORTEST} characters, got {len(text)}"
            )
    digest = hashlib.sha256("\0".join(parts.values()).encode()).hexdigest()[:16]
    return Corpus(encode(parts["train"]), encode(parts["held-out"]), digest)


@functools.cache
def load_corpus() -> Corpus:
    """This Python's text, split; the same object in every call.

    Raises:
        ValueError: this installation has neither topics nor enough docstrings.
    """
    return split_by_topic(_topics())


def _topics() -> dict[str, str]:
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return _docstrings()
    return topics


def _docstrings() -> dict[str, str]:
    """Every docstring of the standard modules above, by module."""
    found = {}
    for name in _FALLBACK_MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:  # retired in a newer Python
            continue
        members = [module, *(member for _, member in inspect.getmembers(module) if inspect.isclass(member))]
        members += [method for member in members[1:] for _, method in inspect.getmembers(member, inspect.isfunction)]
        found[name] = "\n\n".join(filter(None, map(inspect.getdoc, members)))
    return found
