"""T5's relative bias: distances fall into buckets, exact when near and logarithmic when far; each has a learned bias.

Raffel et al. 2020 (arXiv:1910.10683), section 2.1. All distances from `max_distance` on, and the last stretch before
it, share one bucket, so out there the bias no longer tells positions apart.
"""

import torch
from torch import Tensor, nn

from posenc_lib.base import (
    PositionEncoding,
    at_least_float32,
    check_bool,
    check_integer,
    check_positions,
    relative_positions,
)

__all__ = ["T5Bias", "t5_buckets"]


def t5_buckets(
    relative_position: Tensor, *, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """The bucket of each relative position, as T5's code takes it but exact for every integer.

    With m buckets a direction and e = m // 2, distance n < e has bucket n; a farther one has
    min(m − 1, e + ⌊(m − e)·ln(n/e) / ln(max_distance/e)⌋). Bidirectional: each direction has half of the buckets, keys
    behind the query (and at it) the first. Otherwise keys ahead count as distance 0.

    Args:
        relative_position: key position minus query position, integer tensor of any shape.
        bidirectional: whether keys ahead of the query have buckets of their own.
        num_buckets: in all; ≥ 2, or even and ≥ 4 if bidirectional.
        max_distance: from which on all distances share the last bucket; greater than e.

    Returns:
        Buckets 0 … num_buckets−1, int64, in the shape of `relative_position`.

    Raises:
        TypeError: relative_position is not an integer tensor, bidirectional not a bool, or a number not an integer.
        ValueError: too few buckets, an odd number of them for two directions, or max_distance too small.
    """
    starts = _bucket_starts(*_check_buckets(bidirectional, num_buckets, max_distance))
    relative = check_positions("relative_position", relative_position, batched=False)
    if relative.is_floating_point():
        raise TypeError(f"relative_position must be an integer tensor, got {relative.dtype}")
    relative = relative.clamp(-starts[-1], starts[-1])  # so that the most negative integer has an absolute value
    distance = relative.abs() if bidirectional else relative.neg().relu()
    distance = distance.contiguous()  # bucketize warns of any other strides
    bucket = torch.bucketize(distance, torch.tensor(starts, device=relative.device), right=True)
    return bucket + (relative > 0) * (num_buckets // 2) if bidirectional else bucket


def _check_buckets(bidirectional: bool, num_buckets: int, max_distance: int) -> tuple[int, int]:
    """Buckets a direction, and max_distance."""
    check_bool("bidirectional", bidirectional)
    num_buckets = check_integer("num_buckets", num_buckets, minimum=4 if bidirectional else 2)
    if bidirectional and num_buckets % 2:
        raise ValueError(f"num_buckets must be even when bidirectional (half for each direction), got {num_buckets}")
    a_direction = num_buckets // 2 if bidirectional else num_buckets
    max_distance = check_integer("max_distance", max_distance)
    if max_distance <= a_direction // 2:
        raise ValueError(
            f"max_distance must be greater than {a_direction // 2}, the distances that {num_buckets} buckets hold "
            f"exactly, got {max_distance}"
        )
    return a_direction, max_distance


def _bucket_starts(num_buckets: int, max_distance: int) -> list[int]:
    """The least distance of buckets 1, 2, …, in integers, since a rounded logarithm can miss the edge.

    Distance n reaches logarithmic bucket e + j once (n/e)^w ≥ (max_distance/e)^j, where w = num_buckets − e.
    """
    exact = num_buckets // 2
    width = num_buckets - exact
    starts = list(range(1, exact))
    for j in range(width):
        reached = max_distance**j * exact ** (width - j)
        low, high = exact, max_distance
        while low < high:  # bisection by hand: torch.compile cannot trace the standard library's
            middle = (low + high) // 2
            low, high = (middle + 1, high) if middle**width < reached else (low, middle)
        starts.append(low)
    return starts


class T5Bias(PositionEncoding):
    """A learned bias for each head and bucket: one parameter, `weight` (num_heads, num_buckets).

    T5 itself does not scale its scores: to rebuild it, give `attention` scale=1.

    Args:
        num_heads: H.
        bidirectional, num_buckets, max_distance: as for `t5_buckets`.

    Weights start normal with standard deviation 0.02.
    """

    def __init__(
        self, num_heads: int, *, bidirectional: bool = False, num_buckets: int = 32, max_distance: int = 128
    ) -> None:
        super().__init__()
        self.num_heads = check_integer("num_heads", num_heads)
        _check_buckets(bidirectional, num_buckets, max_distance)
        self.buckets = {
            "bidirectional": bidirectional,
            "num_buckets": int(num_buckets),
            "max_distance": int(max_distance),
        }
        self.weight = nn.Parameter(torch.empty(self.num_heads, int(num_buckets)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.02)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(H, Tq, Tk), or (B, H, Tq, Tk) for positions (B, T), in float32 or better; positions must be integer."""
        relative = relative_positions(q_positions, k_positions)
        for name, positions in (("q_positions", q_positions), ("k_positions", k_positions)):
            if positions.is_floating_point():
                raise TypeError(f"{name} must be integer to fall into buckets, got {positions.dtype}")
        return at_least_float32(self.weight)[:, t5_buckets(relative, **self.buckets)].movedim(0, -3)

    def extra_repr(self) -> str:
        return ", ".join((str(self.num_heads), *(f"{name}={value}" for name, value in self.buckets.items())))
