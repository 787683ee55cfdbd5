"""The three sockets where a position can enter a Transformer, and the argument checks every method shares.

Shapes, in one notation everywhere: B batch, H heads, T positions (Tq of queries, Tk of keys), D model width,
Dh head width. Positions are integer or floating tensors, (T,) or, for packed or padded batches, (B, T).
"""

import math
import operator
from collections.abc import Collection

import torch
from torch import Tensor, nn
from torch._C import _functorch
from torch._subclasses.fake_tensor import FakeTensor

__all__ = ["PositionEncoding"]

FLOAT_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class PositionEncoding(nn.Module):
    """One plug for three sockets. Each default changes nothing; a method overrides the socket it uses."""

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add position to embeddings, once, before the first layer: x (B, T, D), positions (T,) or (B, T)."""
        return x

    def rotate(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> tuple[Tensor, Tensor]:
        """Turn q (B, H, Tq, Dh) and k (B, H, Tk, Dh) by their positions, in every layer, before the score."""
        return q, k

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """What to add to the scaled scores, in every layer: (H, Tq, Tk), or (B, H, Tq, Tk) for batched positions."""
        return None


def values_are_readable(tensor: Tensor) -> bool:
    """Whether a check may look at values: not under torch.compile, vmap or FakeTensorMode, nor on the meta device."""
    if torch.compiler.is_compiling() or tensor.is_meta:
        return False
    while _functorch.is_functorch_wrapped_tensor(tensor):  # one wrapper for each of torch.func's transforms
        if _functorch.is_batchedtensor(tensor):
            return False
        tensor = _functorch.get_unwrapped(tensor)
    return not isinstance(tensor, FakeTensor)


def float64_device(device: torch.device) -> torch.device:
    """The device itself, or the CPU where it has no float64 (Apple's mps): tables are made there and moved."""
    return torch.device("cpu") if device.type == "mps" else device


def at_least_float32(tensor: Tensor) -> Tensor:
    """The tensor in float32, or as it is if wider: what parameters cast to half precision are computed in."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def check_integer(name: str, value: int, *, minimum: int = 1) -> int:
    """The value as an int that fits int64; TypeError if it is no integer, ValueError if it is out of range."""
    accepted = f"an integer >= {minimum}"
    if isinstance(value, int) and not isinstance(value, bool):
        number = value  # asked first: torch.compile traces this for a length that varies, not operator.index
    else:
        try:
            number = operator.index(_no_lookalike(value))
        except (TypeError, RuntimeError):  # RuntimeError: a tensor without a value, on the meta device
            raise TypeError(f"{name} must be {accepted}, got {value!r}") from None
    if number < minimum:
        raise ValueError(f"{name} must be {accepted}, got {number}")
    if number >= 2**63:
        raise ValueError(f"{name} must be {accepted} and fit int64, got {number}")
    return number


def check_even(name: str, value: int, *, minimum: int = 2) -> int:
    """The value as an even int: dimensions that are turned or paired come in twos."""
    number = check_integer(name, value, minimum=minimum)
    if number % 2:
        raise ValueError(f"{name} must be even (dimensions come in pairs), got {number}")
    return number


def check_number(name: str, value: float, *, above: float | None = None) -> float:
    """The value as a finite float, above a bound if one is given.

    Raises:
        TypeError: no single real number, or a tensor that requires gradients, which would be lost here.
        ValueError: not finite, or not above the bound.
    """
    if isinstance(value, float) and torch.compiler.is_compiling():
        return value  # torch.compile makes a float that varies symbolic, and cannot trace what follows
    accepted = "a finite number" + ("" if above is None else f" > {above:g}")
    if isinstance(value, Tensor) and value.requires_grad:
        raise TypeError(f"{name} must be {accepted}, got a tensor that requires gradients: detach it")
    try:
        number = float(_no_lookalike(value))
    except (TypeError, ValueError, RuntimeError):  # strings, arrays and tensors of several elements
        raise TypeError(f"{name} must be {accepted}, got {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name} must be {accepted}, got an integer too large for a float") from None
    if not math.isfinite(number) or (above is not None and number <= above):
        raise ValueError(f"{name} must be {accepted}, got {value!r}")
    return number


def _no_lookalike(value: object) -> object:
    """The value, unless Python would read a truth value, a complex number or text as the number it is not."""
    dtype = getattr(value, "dtype", None)
    textual = isinstance(value, (str, bytes, bytearray)) or getattr(dtype, "kind", "") in ("U", "S")
    if textual or isinstance(value, bool) or "bool" in str(dtype) or "complex" in str(dtype):
        raise TypeError
    return value


def check_encoding(encoding: PositionEncoding) -> PositionEncoding:
    """The encoding, if it is one and not, say, its name."""
    if not isinstance(encoding, PositionEncoding):
        raise TypeError(f"encoding must be a PositionEncoding, got {type(encoding).__name__}")
    return encoding


def check_bool(name: str, value: bool) -> bool:
    """The value, if it is True or False and not merely true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def check_choice(name: str, value: str, choices: Collection[str]) -> str:
    """The value, if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        accepted = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {accepted}, got {value!r}")
    return value


def check_floating(name: str, tensor: Tensor, *, ndim: int | None = None, shape: str = "") -> Tensor:
    """The tensor, if it is a real floating one with `ndim` dimensions (`shape` describes them in the message)."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a floating tensor {shape}".rstrip() + f", got {type(tensor).__name__}")
    check_float_dtype(f"dtype of {name}", tensor.dtype)
    if ndim is not None and tensor.ndim != ndim:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(tensor.shape)}")
    return tensor


def check_float_dtype(name: str, dtype: torch.dtype) -> torch.dtype:
    """The dtype, if it is one of the four real floating ones that arithmetic is defined for."""
    if dtype not in FLOAT_DTYPES:
        accepted = ", ".join(str(accepted).removeprefix("torch.") for accepted in FLOAT_DTYPES)
        raise TypeError(f"{name} must be a floating torch.dtype ({accepted}), got {dtype!r}")
    return dtype


def check_same_device(**tensors: Tensor) -> None:
    """ValueError naming both tensors and both devices if they do not all lie on one."""
    (first, reference), *others = tensors.items()
    for name, tensor in others:
        if tensor.device != reference.device:
            raise ValueError(
                f"{name} is on {tensor.device} but {first} is on {reference.device}; they must share one device"
            )


def check_positions(name: str, positions: Tensor, *, batched: bool = True) -> Tensor:
    """Positions in a dtype that holds differences: int64, float32 or float64.

    Args:
        name: what the message calls them.
        positions: integer or floating tensor, (T,) or (B, T); any shape if not `batched`.
        batched: whether the shape must be one of those two.

    Raises:
        TypeError: not a tensor, or boolean or complex.
        ValueError: another shape, or a position that is not finite.
    """
    if not isinstance(positions, Tensor):
        raise TypeError(f"{name} must be an integer or floating tensor, got {type(positions).__name__}")
    if positions.dtype in (torch.bool, torch.uint64) or positions.is_complex():  # uint64 would wrap in int64
        raise TypeError(f"{name} must be an integer or floating tensor, not of dtype {positions.dtype}")
    if positions.is_floating_point():
        check_float_dtype(f"dtype of {name}", positions.dtype)
    if batched and positions.ndim not in (1, 2):
        raise ValueError(f"{name} must have shape (T,) or (B, T), got {tuple(positions.shape)}")
    if not positions.is_floating_point():
        return positions.long()  # narrow and unsigned integers would wrap when subtracted
    if values_are_readable(positions) and not torch.isfinite(positions).all():
        raise ValueError(f"{name} must be finite, got {positions[~torch.isfinite(positions)][0].item()}")
    return positions if positions.dtype == torch.float64 else positions.float()


def check_positions_fit(name: str, positions: Tensor, x: Tensor, x_name: str) -> Tensor:
    """Positions that count x's tokens: (T,) or (B, T) for x (B, ..., T, width), on x's device."""
    positions = check_positions(name, positions)
    batch, length = x.shape[0], x.shape[-2]
    if tuple(positions.shape) not in ((length,), (batch, length)):
        raise ValueError(
            f"{name} must have shape ({length},) or ({batch}, {length}) to fit {x_name} {tuple(x.shape)}, "
            f"got {tuple(positions.shape)}"
        )
    check_same_device(**{x_name: x, name: positions})
    return positions


def check_embeddings(x: Tensor, dim: int, positions: Tensor) -> Tensor:
    """The positions in a dtype that holds differences, if x is floating, (B, T, dim), and they count its tokens."""
    check_floating("x", x, ndim=3, shape=f"(B, T, {dim})")
    if x.shape[-1] != dim:
        raise ValueError(f"x must have shape (B, T, {dim}), got {tuple(x.shape)}")
    return check_positions_fit("positions", positions, x, "x")


def relative_positions(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """Key position minus query position, (Tq, Tk), or (B, Tq, Tk) when either comes as (B, T).

    Raises:
        TypeError, ValueError: as `check_positions`; another batch or device; too far apart for their dtype.
    """
    q_positions = check_positions("q_positions", q_positions)
    k_positions = check_positions("k_positions", k_positions)
    check_same_device(q_positions=q_positions, k_positions=k_positions)
    if q_positions.ndim == k_positions.ndim == 2 and q_positions.shape[0] != k_positions.shape[0]:
        raise ValueError(
            f"k_positions must have the batch of q_positions, got {tuple(k_positions.shape)} "
            f"for {tuple(q_positions.shape)}"
        )
    if q_positions.is_floating_point() != k_positions.is_floating_point():
        q_positions, k_positions = q_positions.double(), k_positions.double()  # float32 would round the integers
    _check_differences_fit(q_positions, k_positions)
    return k_positions[..., None, :] - q_positions[..., :, None]


def _check_differences_fit(q_positions: Tensor, k_positions: Tensor) -> None:
    """ValueError if the farthest key from a query is farther than their dtype can say: it would wrap, or be inf."""
    if not (q_positions.numel() and k_positions.numel()):
        return
    if not (values_are_readable(q_positions) and values_are_readable(k_positions)):
        return
    q_first, q_last, k_first, k_last = torch.stack([*q_positions.aminmax(), *k_positions.aminmax()]).tolist()
    dtype = torch.promote_types(q_positions.dtype, k_positions.dtype)
    limit = torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max
    if max(k_last - q_first, q_last - k_first) > limit:
        raise ValueError(
            f"k_positions must lie within {limit:g} of q_positions, got {k_first:g} … {k_last:g} for "
            f"{q_first:g} … {q_last:g}"
        )
