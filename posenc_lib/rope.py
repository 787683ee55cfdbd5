"""Rotary position embedding: turn queries and keys so that their score depends on the offset alone.

Su et al. 2021, "RoFormer" (arXiv:2104.09864). Dimensions are taken two at a time; pair k of d/2 is a hand on a
clock that turns by ω_k = base^(−2k/d) radians a position. A query at m and a key at n then meet at the angle
(m − n)·ω_k, whatever m and n are. Nothing is learned and values are never turned.

Two layouts pair the dimensions: "interleaved" takes neighbours (0, 1), (2, 3), … (the paper, Meta's Llama code,
GPT-J), "half" takes (i, i + d/2) (GPT-NeoX, Hugging Face's Llama). They are one function up to a fixed order of
dimensions, and mixing them is silent and wrong.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc_lib.base import (
    PositionEncoding,
    check_choice,
    check_even,
    check_float_dtype,
    check_floating,
    check_integer,
    check_number,
    check_positions,
    check_positions_fit,
    check_same_device,
    float64_device,
    values_are_readable,
)

__all__ = [
    "RopeScaling",
    "RotaryEncoding",
    "apply_rope",
    "half_to_interleaved",
    "interleaved_to_half",
    "rope_angles",
    "rope_cos_sin",
    "rope_frequencies",
]

LAYOUTS = ("interleaved", "half")
HEADS_AT_ONCE = 4  # turned in float32 copies on the CPU


def rope_frequencies(head_dim: int, *, base: float = 10_000.0) -> Tensor:
    """Angular frequency of each pair, ω_k = base^(−2k/d) for k = 0 … d/2−1 (RoFormer, eq. 15).

    Args:
        head_dim: d, the width that is turned; even.
        base: positive; larger slows every pair but the first.

    Returns:
        Radians a position, shape (head_dim/2,), float64, on the CPU.

    Raises:
        TypeError, ValueError: head_dim is not an even integer ≥ 2, or base is not a positive number.
    """
    head_dim = check_even("head_dim", head_dim)
    base = check_number("base", base, above=0)
    return base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64, device="cpu") / head_dim)


def check_frequencies(frequencies: Tensor) -> Tensor:
    """The frequencies, if they are a finite floating tensor of shape (d/2,)."""
    check_floating("frequencies", frequencies, ndim=1, shape="(d/2,)")
    if values_are_readable(frequencies) and not frequencies.isfinite().all():
        raise ValueError(f"frequencies must be finite, got {frequencies[~frequencies.isfinite()][0].item()}")
    return frequencies


def rope_angles(positions: Tensor, frequencies: Tensor) -> Tensor:
    """Angle of every pair at every position, p·ω_k in radians, not reduced to one turn.

    Args:
        positions: integer or floating tensor of any shape; negative and fractional positions mean what they say.
        frequencies: radians a position, shape (d/2,).

    Returns:
        Shape (*positions.shape, d/2), float64, on the device of `positions` (on the CPU where it has no float64).

    Raises:
        TypeError, ValueError: positions boolean, complex or not finite; frequencies not floating or not (d/2,).
    """
    positions = check_positions("positions", positions, batched=False)
    check_frequencies(frequencies)
    device = float64_device(positions.device)
    return positions.to(device, torch.float64)[..., None] * frequencies.to(device, torch.float64)


def rope_cos_sin(
    positions: Tensor,
    frequencies: Tensor,
    *,
    attention_factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Cosine and sine of every angle, taken in float64 and only then cast.

    A float32 angle at position 2^20 is already off by 0.06 rad, so the cast comes last.

    Args:
        positions: integer or floating tensor, shape (T,) or (B, T).
        frequencies: radians a position, shape (d/2,).
        attention_factor: multiplies both, and so the scores by its square (YaRN's and LongRoPE's temperature).
        dtype: of the result.

    Returns:
        cos and sin, each (T, d/2) or (B, T, d/2), on the device of `positions`.

    Raises:
        TypeError, ValueError: as `rope_angles`; attention_factor not a positive number; dtype not floating.
    """
    check_positions("positions", positions)
    check_float_dtype("dtype", dtype)
    factor = check_number("attention_factor", attention_factor, above=0)
    angles = rope_angles(positions, frequencies)
    return tuple((table * factor).to(positions.device, dtype) for table in (angles.cos(), angles.sin()))


def apply_rope(x: Tensor, cos: Tensor, sin: Tensor, *, layout: str = "interleaved") -> Tensor:
    """Turn queries or keys by their positions' angles: (x₁, x₂) → (x₁ cos − x₂ sin, x₂ cos + x₁ sin) in each pair.

    Mind the default. PyTorch's proposed `torch.nn.functional.rotary_embedding` takes its arguments in this order
    too, but its default layout is half.

    Args:
        x: queries or keys, shape (B, H, T, Dh), floating.
        cos, sin: from `rope_cos_sin`, shape (T, r/2) or (B, T, r/2). Where r < Dh only the first r dimensions of
            each head turn (partial rotary) and the others pass through.
        layout: "interleaved" pairs (0, 1), (2, 3), …; "half" pairs (i, i + r/2).

    Returns:
        x's shape and dtype. Half-precision x is turned in float32 and rounded once, at the end.

    Raises:
        TypeError: x, cos or sin is not a floating tensor.
        ValueError: a shape does not fit, the layout is unknown, or the devices differ.
    """
    check_floating("x", x, ndim=4, shape="(B, H, T, Dh)")
    check_floating("cos", cos)
    check_floating("sin", sin)
    check_choice("layout", layout, LAYOUTS)
    check_same_device(x=x, cos=cos, sin=sin)
    batch, _, length, width = x.shape
    half = cos.shape[-1] if cos.ndim else 0
    if not 1 <= half <= width // 2 or tuple(cos.shape) not in ((length, half), (batch, length, half)):
        raise ValueError(
            f"cos must have shape ({length}, r/2) or ({batch}, {length}, r/2) with 1 <= r/2 <= {width // 2} "
            f"to fit x {tuple(x.shape)}, got {tuple(cos.shape)}"
        )
    if sin.shape != cos.shape:
        raise ValueError(f"sin must have the shape of cos {tuple(cos.shape)}, got {tuple(sin.shape)}")

    dtype = torch.promote_types(torch.promote_types(x.dtype, cos.dtype), torch.float32)
    cos, sin = (table.to(dtype).unsqueeze(-3) for table in (cos, sin))  # one table for all heads
    turn = _turn_neighbours if layout == "interleaved" else _turn_halves
    turning = x[..., : 2 * half]
    many_heads = x.shape[1] > HEADS_AT_ONCE and x.device.type == "cpu"
    if x.dtype != dtype and many_heads and values_are_readable(cos) and values_are_readable(sin):
        # A few heads at a time: their wide copies stay in cache, where those of all would be mapped anew in each call.
        # Under vmap, tables may not fit a buffer like x.
        turned = torch.empty_like(turning)
        for first in range(0, x.shape[1], HEADS_AT_ONCE):
            heads = slice(first, first + HEADS_AT_ONCE)
            turned[:, heads] = turn(turning[:, heads], cos, sin)
    else:
        turned = turn(turning, cos, sin)
    return turned if 2 * half == width else torch.cat((turned, x[..., 2 * half :]), dim=-1)


def _turn_neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Pairs (0, 1), (2, 3), …: one complex product where strides allow, since it costs little more than a copy."""
    wide = x.to(cos.dtype)
    pairs = wide.unflatten(-1, (cos.shape[-1], 2))
    # torch.compile generates no code for complex numbers; view_as_complex wants pairs aligned in memory.
    if not torch.compiler.is_compiling() and _holds_complex(wide):
        turned = torch.view_as_complex(pairs) * torch.complex(cos, sin)
        return torch.view_as_real(turned).flatten(-2).to(x.dtype)
    first, second = pairs.unbind(-1)
    turned = first * cos - second * sin, second * cos + first * sin
    return torch.stack([part.to(x.dtype) for part in turned], dim=-1).flatten(-2)


def _holds_complex(x: Tensor) -> bool:
    *outer, inner = x.stride()
    return inner == 1 and not any(stride % 2 for stride in (*outer, x.storage_offset()))


def _turn_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Pairs (i, i + r/2): one product over the whole width, then each half takes its share of the other in place."""
    wide, half = x.to(cos.dtype), cos.shape[-1]
    first, second = wide[..., :half], wide[..., half:]
    if torch.compiler.is_compiling():  # the compiler fuses this form, and splits the one below into passes
        turned = first * cos - second * sin, second * cos + first * sin
        return torch.stack([part.to(x.dtype) for part in turned], dim=-2).flatten(-2)
    out = wide * torch.cat((cos, cos), dim=-1)
    out[..., :half].addcmul_(second, sin, value=-1)
    out[..., half:].addcmul_(first, sin)
    return out.to(x.dtype)


def interleaved_to_half(weight: Tensor, head_dim: int, *, rotary_dim: int | None = None) -> Tensor:
    """Reorder a q or k projection's output rows, so that a model trained with neighbours runs with halves.

    Args:
        weight: shape (H·Dh, …), or a bias (H·Dh,); any dtype.
        head_dim: Dh.
        rotary_dim: how many dimensions of a head turn; all of them if None. The others keep their places.

    Returns:
        The same shape: in each head, even rows of the rotary part first, then odd ones.

    Raises:
        TypeError, ValueError: weight is not a tensor of whole heads, or a width is odd or too large.
    """
    return _reorder_rows(weight, _evens_then_odds(head_dim, rotary_dim))


def half_to_interleaved(weight: Tensor, head_dim: int, *, rotary_dim: int | None = None) -> Tensor:
    """The inverse of `interleaved_to_half`, with the same arguments, returns and errors."""
    return _reorder_rows(weight, _evens_then_odds(head_dim, rotary_dim).argsort())


def _evens_then_odds(head_dim: int, rotary_dim: int | None) -> Tensor:
    """Order of one head's dimensions: the rotary part's even places, its odd ones, then what does not turn."""
    head_dim, rotary_dim = _check_widths(head_dim, rotary_dim)
    places = torch.arange(head_dim, device="cpu")
    return torch.cat((places[:rotary_dim:2], places[1:rotary_dim:2], places[rotary_dim:]))


def _reorder_rows(weight: Tensor, order: Tensor) -> Tensor:
    head_dim = len(order)
    if not isinstance(weight, Tensor):
        raise TypeError(f"weight must be a tensor, got {type(weight).__name__}")
    if weight.ndim == 0 or weight.shape[0] % head_dim:
        raise ValueError(f"weight must have shape (H·{head_dim}, …), got {tuple(weight.shape)}")
    heads = weight.unflatten(0, (weight.shape[0] // head_dim, head_dim))
    return heads[:, order.to(weight.device)].flatten(0, 1)


def _check_widths(head_dim: int, rotary_dim: int | None) -> tuple[int, int]:
    """Head width and rotary width, the latter even and no wider than the head."""
    if rotary_dim is None:
        head_dim = check_even("head_dim", head_dim)
        return head_dim, head_dim
    head_dim, rotary_dim = check_integer("head_dim", head_dim), check_even("rotary_dim", rotary_dim)
    if rotary_dim > head_dim:
        raise ValueError(f"rotary_dim must be at most head_dim {head_dim}, got {rotary_dim}")
    return head_dim, rotary_dim


@dataclass(frozen=True, eq=False)
class RopeScaling:
    """What a context extension changes: the frequencies, and a factor on cos and sin.

    Attributes:
        frequencies: radians a position, shape (d/2,), float64.
        attention_factor: multiplies cos and sin, so the rotated dimensions' part of a score by its square.
    """

    frequencies: Tensor
    attention_factor: float = 1.0

    def __post_init__(self) -> None:
        frequencies = check_frequencies(self.frequencies)
        exact = frequencies.to(float64_device(frequencies.device), torch.float64)
        object.__setattr__(self, "frequencies", exact)
        factor = check_number("attention_factor", self.attention_factor, above=0)
        object.__setattr__(self, "attention_factor", factor)


class RotaryEncoding(PositionEncoding):
    """RoPE in its socket: turns q and k, in every layer.

    Frequencies are kept as a plain float64 tensor, not a buffer: no cast of the module rounds them, no
    state_dict holds them, and a module built on the meta device has them too.

    Args:
        head_dim: Dh.
        base: of the frequencies, 10 000 if None.
        layout: "interleaved" or "half", see `apply_rope`.
        rotary_dim: r, how many dimensions of a head turn (the first r); all of them if None.
        scaling: a RopeScaling in place of the plain frequencies, or a callable seq_len → RopeScaling, asked anew in
            every call with the longest position of q and k, plus one. It reads that position, so it does not go
            through torch.compile in one graph. Cached rotated keys are stale when its answer changes, so cache
            unrotated ones.

    Raises:
        TypeError, ValueError: a width is odd or too large, an unknown layout, base together with scaling, or
            a scaling whose frequencies are not rotary_dim/2.
    """

    def __init__(
        self,
        head_dim: int,
        *,
        base: float | None = None,
        layout: str = "interleaved",
        rotary_dim: int | None = None,
        scaling: RopeScaling | Callable[[int], RopeScaling] | None = None,
    ) -> None:
        super().__init__()
        self.head_dim, self.rotary_dim = _check_widths(head_dim, rotary_dim)
        self.layout = check_choice("layout", layout, LAYOUTS)
        if scaling is None:
            base = 10_000.0 if base is None else base
            scaling = RopeScaling(rope_frequencies(self.rotary_dim, base=base))
        elif base is not None:
            raise ValueError(f"base {base!r} cannot be given with scaling: the scaling's frequencies hold the base")
        elif not callable(scaling):
            self._check_scaling(scaling)
        self.scaling = scaling

    def _check_scaling(self, scaling: RopeScaling) -> RopeScaling:
        if not isinstance(scaling, RopeScaling):
            raise TypeError(f"scaling must be a RopeScaling or a callable that returns one, got {scaling!r}")
        if len(scaling.frequencies) != self.rotary_dim // 2:
            raise ValueError(
                f"scaling must hold rotary_dim/2 = {self.rotary_dim // 2} frequencies, got {len(scaling.frequencies)}"
            )
        return scaling

    def rotate(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> tuple[Tensor, Tensor]:
        """Turn q (B, H, Tq, Dh) and k (B, H, Tk, Dh) by positions (T,) or (B, T); shapes and dtypes are kept."""
        for name, x in (("q", q), ("k", k)):
            check_floating(name, x, ndim=4, shape="(B, H, T, Dh)")
            if x.shape[-1] != self.head_dim:
                raise ValueError(f"{name} must have head_dim {self.head_dim} as its last size, got {x.shape[-1]}")
        same = k_positions is q_positions
        q_positions = check_positions_fit("q_positions", q_positions, q, "q")
        k_positions = check_positions_fit("k_positions", k_positions, k, "k")
        scaling = self.scaling
        if callable(scaling):
            scaling = self._check_scaling(scaling(_sequence_length(q_positions, k_positions)))
        dtype = torch.promote_types(torch.promote_types(q.dtype, k.dtype), torch.float32)

        def table(positions: Tensor) -> tuple[Tensor, Tensor]:
            factor = scaling.attention_factor
            return rope_cos_sin(positions, scaling.frequencies, attention_factor=factor, dtype=dtype)

        q_table = table(q_positions)
        k_table = q_table if same else table(k_positions)
        return apply_rope(q, *q_table, layout=self.layout), apply_rope(k, *k_table, layout=self.layout)

    def extra_repr(self) -> str:
        """Width and layout, for print(model)."""
        return f"head_dim={self.head_dim}, rotary_dim={self.rotary_dim}, layout={self.layout!r}"


def _sequence_length(*positions: Tensor) -> int:
    """The longest position plus one; on the meta device, where nothing can be read, the longest shape."""
    lengths = [p.shape[-1] if p.is_meta else math.floor(p.max()) + 1 for p in positions if p.numel()]
    return max([1, *lengths])
