"""Positional encodings for Transformers, one method a file; base.py has the three sockets they plug into."""

from typing import Any

from posenc_lib.alibi import AlibiBias
from posenc_lib.base import PositionEncoding, check_choice, check_integer
from posenc_lib.kerple import KerpleBias
from posenc_lib.learned import LearnedEncoding
from posenc_lib.none import NoEncoding
from posenc_lib.rope import RotaryEncoding
from posenc_lib.sinusoidal import SinusoidalEncoding
from posenc_lib.t5 import T5Bias

__all__ = [
    "ENCODINGS",
    "AlibiBias",
    "KerpleBias",
    "LearnedEncoding",
    "NoEncoding",
    "PositionEncoding",
    "RotaryEncoding",
    "SinusoidalEncoding",
    "T5Bias",
    "make_encoding",
]

# name → (class, the model sizes it is made from, options that belong to the name)
_REGISTRY: dict[str, tuple[type[PositionEncoding], tuple[str, ...], dict[str, Any]]] = {
    "none": (NoEncoding, (), {}),
    "sinusoidal": (SinusoidalEncoding, ("dim",), {}),
    "learned": (LearnedEncoding, ("max_len", "dim"), {}),
    "rope": (RotaryEncoding, ("head_dim",), {}),
    "alibi": (AlibiBias, ("num_heads",), {}),
    "t5": (T5Bias, ("num_heads",), {}),
    "kerple_log": (KerpleBias, ("num_heads",), {"kind": "log"}),
    "kerple_power": (KerpleBias, ("num_heads",), {"kind": "power"}),
}

ENCODINGS: tuple[str, ...] = tuple(_REGISTRY)
"""The names `make_encoding` knows."""


def make_encoding(
    name: str, *, dim: int, num_heads: int, head_dim: int, max_len: int, **options: Any
) -> PositionEncoding:
    """Any encoding by name, for a model of the given sizes.

    Args:
        name: one of `ENCODINGS`.
        dim: model width D.
        num_heads: H.
        head_dim: Dh.
        max_len: how many positions a learned table holds; the other methods have no such limit.
        **options: passed on to the class, as `bidirectional=True` to T5Bias.

    Raises:
        ValueError: an unknown name, a size below 1, or what the class refuses.
        TypeError: a size that is no integer, or an option that the class does not take.
    """
    cls, needed, fixed = _REGISTRY[check_choice("name", name, ENCODINGS)]
    sizes = {"dim": dim, "num_heads": num_heads, "head_dim": head_dim, "max_len": max_len}
    sizes = {size: check_integer(size, value) for size, value in sizes.items()}
    return cls(*(sizes[size] for size in needed), **fixed, **options)
