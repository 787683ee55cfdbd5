"""Positional encodings for Transformers, one method a file; base.py has the three sockets they plug into."""

from posenc_lib.base import PositionEncoding
from posenc_lib.none import NoEncoding
from posenc_lib.rope import RotaryEncoding

__all__ = ["NoEncoding", "PositionEncoding", "RotaryEncoding"]
