"""Learned encoding: one trained vector a position, added to the embeddings once.

Gehring et al. 2017 (arXiv:1705.03122), then BERT and GPT-2. The table is as long as it was made: a position past its
end has no vector, and one that training never reached has an untrained one.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from posenc_lib.base import (
    PositionEncoding,
    check_embeddings,
    check_integer,
    float64_device,
    values_are_readable,
)

__all__ = ["LearnedEncoding"]


class LearnedEncoding(PositionEncoding):
    """A table of `max_len` rows, row p added to the embedding at position p.

    Args:
        max_len: number of rows, so positions 0 … max_len−1 have one.
        dim: width D of the embeddings.

    Rows start normal with standard deviation 0.02, as in BERT (GPT-2 took 0.01).
    """

    def __init__(self, max_len: int, dim: int) -> None:
        super().__init__()
        self.max_len = check_integer("max_len", max_len)
        self.dim = check_integer("dim", dim)
        self.table = nn.Parameter(torch.empty(self.max_len, self.dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.table, std=0.02)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, T, dim) plus the rows of its positions, integers (T,) or (B, T), in x's dtype.

        Raises:
            TypeError: positions not integer, or x not floating.
            ValueError: a shape or device does not fit, or a position has no row.
        """
        positions = check_embeddings(x, self.dim, positions)
        if positions.is_floating_point():
            raise TypeError(f"positions must be integer to pick rows of a table, got {positions.dtype}")
        if values_are_readable(positions):
            absent = positions[(positions < 0) | (positions >= self.max_len)]
            if len(absent):
                raise ValueError(
                    f"positions: position {absent[0].item()} has no row: the table holds 0 … {self.max_len - 1}"
                )
        return x + F.embedding(positions, self.table).to(x.dtype)

    @torch.no_grad()
    def resized(self, new_len: int) -> "LearnedEncoding":
        """A new encoding whose table is this one, stretched or squeezed to `new_len` rows.

        Linear between rows, ends kept: new row j lies at j·(max_len−1)/(new_len−1) of the old (`align_corners=True`),
        and one row alone is the old first. So the same length gives the same table.
        """
        new_len = check_integer("new_len", new_len)
        columns = self.table.to(float64_device(self.table.device), torch.float64).T[None]  # (1, D, max_len)
        stretched = F.interpolate(columns, size=new_len, mode="linear", align_corners=True)[0].T
        with torch.device("meta"):  # takes its table from here, so draws no random numbers
            resized = LearnedEncoding(new_len, self.dim)
        resized.table = nn.Parameter(stretched.to(self.table).contiguous(), self.table.requires_grad)
        return resized

    def extra_repr(self) -> str:
        return f"{self.max_len}, {self.dim}"
