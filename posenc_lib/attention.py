"""Scaled dot-product attention written out, with the sockets visible.

Vaswani et al. 2017 (arXiv:1706.03762), eq. 1. What a lesson takes apart, and what the tests trust: it agrees with
`torch.nn.functional.scaled_dot_product_attention` and shows where rotation and bias go in.
"""

import math

import torch
from torch import Tensor

from posenc_lib.base import (
    PositionEncoding,
    check_bool,
    check_encoding,
    check_floating,
    check_number,
    check_positions_fit,
    check_same_device,
    values_are_readable,
)

__all__ = ["attention", "positions_from_mask"]


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    encoding: PositionEncoding | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
    q_positions: Tensor | None = None,
    k_positions: Tensor | None = None,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale · q kᵀ + bias) v, for each batch row and head.

    Args:
        q: queries (B, H, Tq, Dh).
        k: keys (B, H, Tk, Dh), *not* rotated when an encoding is given. To keep rotated keys in a cache, call
            `encoding.rotate` on the new tokens and pass `bias=encoding.bias(…)` alone.
        v: values (B, H, Tk, Dv); Dv may differ from Dh.
        encoding: rotates q and k; its bias is added after scaling.
        bias: added after scaling too, (H, Tq, Tk) or (B, H, Tq, Tk).
        mask: boolean, True where a query may attend to a key; broadcasts to (B, H, Tq, Tk).
        causal: whether to hide later keys. By index, the queries being the last Tq of the Tk tokens, whatever the
            positions say; so packed sequences need `mask` too.
        scale: of the scores, 1/√Dh if None (T5 takes 1).
        q_positions, k_positions: (T,) or (B, T), for the encoding. Keys count from 0 if None; queries are the last
            Tq of the keys.
        return_weights: whether to return the attention weights too.

    Returns:
        (B, H, Tq, Dv) in v's dtype; with `return_weights` also the weights (B, H, Tq, Tk), in float32 or better.
        Scores and softmax are taken in float32 or better (under autocast, in its dtype). A query that may attend to
        no key gets zeros.

    Raises:
        TypeError: q, k, v or bias is not floating, or their dtypes differ; mask is not boolean.
        ValueError: a shape or device does not fit; causal, or no q_positions, with more queries than keys; positions
            without an encoding.
    """
    check_qkv(q, k, v)
    check_bool("causal", causal)
    check_bool("return_weights", return_weights)
    n_queries, width = q.shape[-2:]
    n_keys = k.shape[-2]
    if causal and n_queries > n_keys:
        raise ValueError(
            f"causal attention takes the queries as the last of the keys, so q must have at most {n_keys} "
            f"(as k has), got {n_queries}"
        )
    scale = 1 / math.sqrt(width) if scale is None else check_number("scale", scale)

    encoding_bias = None
    if encoding is not None:
        check_encoding(encoding)
        q_positions, k_positions = _positions(q, k, q_positions, k_positions)
        q, k = encoding.rotate(q, k, q_positions, k_positions)
        encoding_bias = encoding.bias(q_positions, k_positions)
    elif q_positions is not None or k_positions is not None:
        raise ValueError("q_positions and k_positions are for an encoding, and encoding is None")

    dtype = torch.promote_types(q.dtype, torch.float32)
    scores = q.to(dtype) @ k.to(dtype).transpose(-2, -1) * scale  # (B, H, Tq, Tk)
    for name, term in (("encoding.bias", encoding_bias), ("bias", bias)):
        if term is not None:
            scores = scores + _check_bias(name, term, scores)
    allowed = _allowed(mask, causal, scores)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if allowed is not None:
        weights = weights.masked_fill(~allowed, 0)  # a query that may attend to nothing had equal weights till here
    out = (weights @ v.to(weights.dtype)).to(v.dtype)  # a float64 bias makes the weights float64
    return (out, weights) if return_weights else out


def check_qkv(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Queries, keys and values that fit together; TypeError or ValueError naming the one that does not."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_floating(name, tensor, ndim=4, shape="(B, H, T, Dh)")
        if tensor.dtype != q.dtype:
            raise TypeError(f"{name} must have q's dtype {q.dtype}, got {tensor.dtype}")
    check_same_device(q=q, k=k, v=v)
    batch, heads, _, width = q.shape
    if width == 0:
        raise ValueError(f"q must have a head width of at least 1, got shape {tuple(q.shape)}")
    if k.shape[:2] != q.shape[:2] or k.shape[-1] != width:
        raise ValueError(
            f"k must have shape ({batch}, {heads}, Tk, {width}) to fit q {tuple(q.shape)}, got {tuple(k.shape)}"
        )
    if v.shape[:3] != k.shape[:3]:
        raise ValueError(
            f"v must have shape {(*k.shape[:3],)} and any width to fit k {tuple(k.shape)}, got {tuple(v.shape)}"
        )


def _positions(q: Tensor, k: Tensor, q_positions: Tensor | None, k_positions: Tensor | None) -> tuple[Tensor, Tensor]:
    """The given positions, checked, or those of the last Tq of Tk tokens that count from 0."""
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    if k_positions is None:
        k_positions = torch.arange(n_keys, device=k.device)
    check_positions_fit("k_positions", k_positions, k, "k")
    if q_positions is None:
        if n_queries > n_keys:
            raise ValueError(
                f"q_positions must be given when there are more queries ({n_queries}) than keys ({n_keys}): "
                "without them the queries are the last of the keys"
            )
        q_positions = k_positions if n_queries == n_keys else k_positions[..., n_keys - n_queries :]
    check_positions_fit("q_positions", q_positions, q, "q")
    return q_positions, k_positions


def _check_bias(name: str, bias: Tensor, scores: Tensor) -> Tensor:
    check_floating(name, bias)
    if tuple(bias.shape) not in (tuple(scores.shape[1:]), tuple(scores.shape)):
        raise ValueError(
            f"{name} must have shape {tuple(scores.shape[1:])} or {tuple(scores.shape)}, got {tuple(bias.shape)}"
        )
    check_same_device(q=scores, **{name: bias})
    return bias


def _allowed(mask: Tensor | None, causal: bool, scores: Tensor) -> Tensor | None:
    """True where a query may attend: the mask and, if causal, the lower triangle that ends at the last key."""
    allowed = None
    if causal:
        n_queries, n_keys = scores.shape[-2:]
        square = torch.ones(n_queries, n_keys, dtype=torch.bool, device=scores.device)
        allowed = square.tril(n_keys - n_queries)
    if mask is None:
        return allowed
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True where a query may attend to a key, got {got}")
    check_same_device(q=scores, mask=mask)
    sizes = list(zip(reversed(mask.shape), reversed(scores.shape), strict=False))
    if mask.ndim > 4 or any(size not in (1, full) for size, full in sizes):
        raise ValueError(f"mask must broadcast to (B, H, Tq, Tk) {tuple(scores.shape)}, got {tuple(mask.shape)}")
    return mask if allowed is None else mask & allowed


def positions_from_mask(mask: Tensor) -> Tensor:
    """Positions of a left- or right-padded batch: real tokens count 0, 1, 2, … and pads stand at 0.

    Args:
        mask: (B, T), boolean or 0/1 integers, true for real tokens, which stand in one run a row.

    Returns:
        Positions (B, T), int64.

    Raises:
        TypeError: mask is not boolean or integer.
        ValueError: another shape, a value besides 0 and 1, or pads between real tokens.
    """
    if not isinstance(mask, Tensor) or mask.is_floating_point() or mask.is_complex():
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean or integer tensor, got {got}")
    if mask.ndim != 2:
        raise ValueError(f"mask must have shape (B, T), got {tuple(mask.shape)}")
    real = mask.bool()
    if values_are_readable(mask):
        if (mask.long() != real.long()).any():
            raise ValueError(f"mask must hold 0 and 1 alone, got {mask[mask.long() != real.long()][0].item()}")
        starts = real.long().diff(dim=-1, prepend=real.new_zeros(len(real), 1).long()) == 1
        if (starts.sum(dim=-1) > 1).any():
            row = int((starts.sum(dim=-1) > 1).nonzero()[0])
            raise ValueError(f"mask must hold one run of real tokens a row, got pads between them in row {row}")
    return (real.cumsum(dim=-1) - 1).masked_fill(~real, 0)
