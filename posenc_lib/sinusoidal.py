"""Sinusoidal encoding: clocks of geometrically spaced speeds, added to the embeddings once.

Vaswani et al. 2017, "Attention Is All You Need" (arXiv:1706.03762), section 3.5. Dimension pair i of d holds sine and
cosine of p·base^(−2i/d), so moving on by an offset Δ is one fixed linear map M_Δ, whatever p is. Nothing is learned.
"""

import torch
from torch import Tensor

from posenc_lib.base import (
    PositionEncoding,
    check_embeddings,
    check_even,
    check_float_dtype,
    check_integer,
    check_number,
    check_positions,
    float64_device,
)

__all__ = ["SinusoidalEncoding", "shift_matrix", "sinusoidal_encoding", "wavelengths"]


def _frequencies(dim: int, base: float) -> Tensor:
    """base^(−2i/dim) for each sine, i = 0 … ⌈dim/2⌉−1; a float64 tensor on the CPU."""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64, device="cpu") / dim)


def sinusoidal_encoding(
    positions: Tensor | int, dim: int, *, base: float = 10_000.0, dtype: torch.dtype = torch.float32
) -> Tensor:
    """PE[p, 2i] = sin(p·base^(−2i/dim)), PE[p, 2i+1] = cos of the same angle (Vaswani et al., section 3.5).

    Angles, sines and cosines are taken in float64 and cast last: right to 1e-6 at position 2^20 in float32.

    Args:
        positions: integer or floating tensor of shape (…, T), negative and fractional ones included; or a length T,
            which stands for 0 … T−1.
        dim: width D of the encoding; an odd one ends on a sine.
        base: positive; larger slows every pair but the first.
        dtype: of the result.

    Returns:
        Shape (…, T, dim), on the device of `positions`, or on the CPU for a length.

    Raises:
        TypeError, ValueError: positions neither a length ≥ 0 nor finite numbers in at least one dimension; dim not a
            positive integer; base not a positive number; dtype not floating.
    """
    dim = check_integer("dim", dim)
    base = check_number("base", base, above=0)
    check_float_dtype("dtype", dtype)
    if isinstance(positions, Tensor):
        positions = check_positions("positions", positions, batched=False)
        if positions.ndim == 0:
            raise ValueError("positions must have shape (…, T), or be a length as an int, got a tensor of shape ()")
    else:
        positions = torch.arange(check_integer("positions", positions, minimum=0), device="cpu")
    device = float64_device(positions.device)
    angles = positions.to(device, torch.float64)[..., None] * _frequencies(dim, base).to(device)
    table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., :dim]
    return table.to(positions.device, dtype)


def shift_matrix(offset: float, dim: int, *, base: float = 10_000.0) -> Tensor:
    """The matrix M that moves an encoding on by an offset: PE(p + offset) = M @ PE(p) for every p.

    Block i turns the pair (sin a, cos a) by the angle offset·base^(−2i/dim): [[cos, sin], [−sin, cos]].

    Args:
        offset: any number, negative or fractional too.
        dim: width of the encoding; even, since the lone sine of an odd one has no cosine to turn with.
        base: positive.

    Returns:
        Shape (dim, dim), float64, on the CPU.

    Raises:
        TypeError, ValueError: offset not a finite number; dim not an even integer ≥ 2; base not a positive number.
    """
    angles = check_number("offset", offset) * _frequencies(check_even("dim", dim), check_number("base", base, above=0))
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack((cos, sin, -sin, cos), dim=-1).unflatten(-1, (2, 2))
    return torch.block_diag(*blocks)


def wavelengths(dim: int, *, base: float = 10_000.0) -> Tensor:
    """Positions in one full turn of each pair, 2π·base^(2i/dim): from 2π almost to 2π·base.

    Args:
        dim: width of the encoding; even.
        base: positive.

    Returns:
        Shape (dim/2,), float64, on the CPU.

    Raises:
        TypeError, ValueError: dim not an even integer ≥ 2; base not a positive number.
    """
    return 2 * torch.pi / _frequencies(check_even("dim", dim), check_number("base", base, above=0))


class SinusoidalEncoding(PositionEncoding):
    """Adds `sinusoidal_encoding` to the embeddings. It is computed on each call, so no length is too long.

    Args:
        dim: width D of the embeddings.
        base: positive.
    """

    def __init__(self, dim: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        self.dim = check_integer("dim", dim)
        self.base = check_number("base", base, above=0)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, T, dim) plus the encoding of its positions, (T,) or (B, T), in x's dtype."""
        positions = check_embeddings(x, self.dim, positions)
        return x + sinusoidal_encoding(positions, self.dim, base=self.base, dtype=x.dtype)

    def extra_repr(self) -> str:
        return f"{self.dim}, base={self.base:g}"
