"""ALiBi: attention with linear biases, a penalty on distance and nothing else.

Press et al. 2022, "Train Short, Test Long" (arXiv:2108.12409). Each head subtracts slope·|i − j| from its scaled
scores. Slopes are fixed: steep heads look near, flat ones far. The bias is added after 1/√d and not scaled itself.
"""

import functools
import warnings
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.utils._python_dispatch import _get_current_dispatch_mode

from posenc_lib.attention import attention, check_qkv
from posenc_lib.base import (
    PositionEncoding,
    check_bool,
    check_float_dtype,
    check_floating,
    check_integer,
    check_positions,
    check_same_device,
    relative_positions,
    values_are_readable,
)

__all__ = ["AlibiBias", "alibi_attention", "alibi_bias", "alibi_slopes"]


def alibi_slopes(num_heads: int) -> Tensor:
    """The authors' slopes: 2^(−8h/H) for head h = 1 … H if H is a power of two (section 3).

    Otherwise those of the largest power of two c below H, then every second one of 2c heads, until there are H (the
    authors' code). So 12 heads have the 8 slopes ½ … 1/256, then 2^−½, 2^−1½, 2^−2½, 2^−3½.

    Args:
        num_heads: H.

    Returns:
        Shape (H,), float32, on the CPU, each the nearest to the exact value.

    Raises:
        TypeError, ValueError: num_heads is not a positive integer.
    """
    num_heads = check_integer("num_heads", num_heads)
    power = 2 ** (num_heads.bit_length() - 1)
    exponents = [8 * h / power for h in range(1, power + 1)]
    exponents += [8 * h / (2 * power) for h in range(1, 2 * power, 2)]
    return torch.tensor([2.0**-exponent for exponent in exponents[:num_heads]], dtype=torch.float32, device="cpu")


def alibi_bias(
    q_positions: Tensor, k_positions: Tensor, slopes: Tensor, *, dtype: torch.dtype = torch.float32
) -> Tensor:
    """−slope·|i − j|, one slope a head (Press et al. 2022, section 3), symmetric so that it serves encoders too.

    Args:
        q_positions: query positions i, integer or floating, shape (Tq,) or (B, Tq).
        k_positions: key positions j, shape (Tk,) or (B, Tk).
        slopes: one non-negative slope a head, floating, shape (H,).
        dtype: of the result; distance and product are taken in float32 or better and cast last.

    Returns:
        Bias to add to the scaled scores, (H, Tq, Tk), or (B, H, Tq, Tk) if either positions are batched; 0 at equal
        positions, ≤ 0 elsewhere.

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or device, or a slope is negative or not finite.
    """
    distance = relative_positions(q_positions, k_positions).abs()
    _check_slopes(slopes)
    check_float_dtype("dtype", dtype)
    check_same_device(q_positions=q_positions, slopes=slopes)
    exact = torch.float64 if torch.float64 in (dtype, slopes.dtype, distance.dtype) else torch.float32
    return (-slopes.to(exact)[:, None, None] * distance.to(exact).unsqueeze(-3)).to(dtype)


def _check_slopes(slopes: Tensor) -> None:
    check_floating("slopes", slopes, ndim=1, shape="(H,)")
    if values_are_readable(slopes):
        wrong = slopes[~((slopes >= 0) & slopes.isfinite())]
        if len(wrong):
            raise ValueError(f"slopes must be finite and >= 0, got {wrong[0].item()}")


class AlibiBias(PositionEncoding):
    """Adds `alibi_bias` with the authors' slopes to the scores.

    The slopes are a plain attribute, not a buffer: no cast of the module rounds them, and no checkpoint holds them.

    Args:
        num_heads: H.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slopes = alibi_slopes(num_heads)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(H, Tq, Tk), or (B, H, Tq, Tk) for positions (B, T), in float32."""
        device = check_positions("q_positions", q_positions).device
        return alibi_bias(q_positions, k_positions, self.slopes.to(device))

    def extra_repr(self) -> str:
        return str(len(self.slopes))


def alibi_attention(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor, *, causal: bool = True) -> Tensor:
    """softmax(q kᵀ/√Dh − slope·|i − j|) v without ever holding an H×T×T tensor.

    It compiles FlexAttention with the penalty inside: a few seconds on the first call and on the first of another
    batch size, head count, width, dtype or kind of length (1, below 128, above; as many queries as keys or not). Where
    that cannot be, it warns once for each reason and computes the dense `attention` with `alibi_bias`: no compiler,
    float64, gradients on a CPU or for the slopes, forward-mode derivatives, dispatch modes, another kind of device.
    Inside torch.compile it is the dense form, too.

    Args:
        q: queries (B, H, Tq, Dh), the last Tq of the Tk tokens.
        k: keys (B, H, Tk, Dh).
        v: values (B, H, Tk, Dv).
        slopes: one non-negative slope a head, floating, shape (H,).
        causal: whether to hide later keys.

    Returns:
        (B, H, Tq, Dv) in v's dtype.

    Raises:
        TypeError, ValueError: as `attention` and `alibi_bias`; more queries than keys under `causal`.
    """
    check_qkv(q, k, v)
    check_bool("causal", causal)
    _check_slopes(slopes)
    check_same_device(q=q, slopes=slopes)
    heads, n_queries, n_keys = q.shape[1], q.shape[-2], k.shape[-2]
    if len(slopes) != heads:
        raise ValueError(f"slopes must have shape ({heads},) to fit q {tuple(q.shape)}, got {tuple(slopes.shape)}")
    if causal and n_queries > n_keys:
        raise ValueError(f"q must have at most as many tokens as k, {n_keys}, when causal, got {n_queries}")

    if not torch.compiler.is_compiling() and q.numel() and v.numel():
        kernel = (q.device.type, q.dtype, q.shape[:2], q.shape[-1], v.shape[-1])
        reason = _why_dense(q, k, v, slopes) or _not_compiled.get(kernel)
        if reason is None:
            try:
                return _flex(q, k, v, slopes, causal).to(v.dtype)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:  # what torch.compile raises, from tracing to the C++ compiler
                first_line, *_ = str(error).strip().split("\n")
                reason = f"{type(error).__name__}: {first_line}"
                if isinstance(
                    error, torch._dynamo.exc.BackendCompilerFailed
                ):  # anything else, as under vmap, may pass next time
                    _not_compiled[kernel] = reason
        _say_once(reason)
    q_positions = torch.arange(n_keys - n_queries, n_keys, device=q.device)
    k_positions = torch.arange(n_keys, device=q.device)
    return attention(q, k, v, bias=alibi_bias(q_positions, k_positions, slopes), causal=causal)


_not_compiled: dict[tuple, str] = {}  # so that a compilation that failed is not tried at every call


def _why_dense(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> str | None:
    """What FlexAttention is known not to do, before trying."""
    device = q.device.type
    if device not in ("cpu", "cuda"):
        return f"no kernel is known to work on {device}"
    if q.dtype == torch.float64:
        return "its kernels take float32, bfloat16 and float16 alone"
    if _get_current_dispatch_mode() is not None:
        return "a dispatch mode is active, which has no rule for it"
    if any(unpack_dual(tensor).tangent is not None for tensor in (q, k, v, slopes)):
        return "it has no forward-mode derivative"
    if torch.is_grad_enabled():
        if slopes.requires_grad:
            return "the slopes need gradients"
        if device == "cpu" and any(tensor.requires_grad for tensor in (q, k, v)):
            return "it has no backward pass on a CPU"
    return None


@functools.cache
def _say_once(reason: str) -> None:
    warnings.warn(f"alibi_attention builds the dense bias, since FlexAttention cannot serve: {reason}", stacklevel=3)


def _flex(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor, causal: bool) -> Tensor:
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    # The marks go on views and a copy, not on the caller's tensors. Only lengths stay dynamic: with a dynamic batch
    # or head count torch 2.13 writes C++ that does not compile.
    train = torch.is_grad_enabled()
    q, k, v = (_static(tensor[:] if train else tensor.detach(), 0, 1, 3) for tensor in (q, k, v))
    slopes = _static(slopes.detach().to(torch.float32, copy=True), 0)
    offset = torch.tensor(n_keys - n_queries, device=q.device)  # a tensor, since a number would be compiled in

    def penalised(score: Tensor, batch: Tensor, head: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score - slopes[head] * (i + offset - j).abs()

    block_mask = _causal_blocks(n_queries, n_keys, q.device) if causal else None
    with torch._dynamo.config.patch(cache_size_limit=64):  # past it, 8 by default, every new kind would go dense
        return _compiled_flex()(q, k, v, score_mod=penalised, block_mask=block_mask)


def _static(tensor: Tensor, *dims: int) -> Tensor:
    for dim in dims:
        torch._dynamo.mark_static(tensor, dim)
    return tensor


@functools.cache
def _compiled_flex() -> Callable[..., Tensor]:
    return torch.compile(flex_attention, dynamic=True, fullgraph=True)


@functools.lru_cache(maxsize=32)
@torch.inference_mode(False)  # kept between calls, so it must serve training too
def _causal_blocks(n_queries: int, n_keys: int, device: torch.device) -> BlockMask:
    """Which blocks of keys each block of queries sees, in closed form: no Tq×Tk mask even here."""
    size = 128
    offset = n_keys - n_queries
    first = torch.arange(0, n_queries, size, device=device) + offset  # the last key that a block's first query sees
    last = (first + size - 1).clamp(max=n_keys - 1)
    whole = (first + 1) // size  # blocks of keys that every query of the block sees
    if n_queries % size:
        whole[-1] = 0  # torch's kernels take no block that runs past the end as whole
    partly = last // size + 1 - whole
    blocks = torch.arange(-(-n_keys // size), device=device).expand(len(first), -1)
    partly_at = (blocks + whole[:, None]) % blocks.shape[-1]
    end = torch.tensor(offset, device=device)

    def visible(batch: Tensor, head: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return j <= i + end

    counts_and_places = (table.int()[None, None].contiguous() for table in (partly, partly_at, whole, blocks))
    return BlockMask.from_kv_blocks(
        *counts_and_places, BLOCK_SIZE=size, mask_mod=visible, seq_lengths=(n_queries, n_keys)
    )
