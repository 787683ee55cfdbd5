"""No position at all (NoPE): the control in every comparison, and, under a causal mask, a method of its own.

Haviv et al. 2022 (arXiv:2203.16634) and Kazemnejad et al. 2023 (arXiv:2305.19466) measure how far a decoder
gets this way.
"""

from posenc_lib.base import PositionEncoding

__all__ = ["NoEncoding"]


class NoEncoding(PositionEncoding):
    """Leaves all three sockets empty."""
