"""KERPLE: a learned penalty on distance, logarithmic or a power, two numbers a head.

Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation" (arXiv:2205.09921). Both
penalties are conditionally positive definite kernels; softmax absorbs the constant that would make them positive
definite. ALiBi is the power kernel with exponent 1 and a fixed slope.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from posenc_lib.base import (
    PositionEncoding,
    at_least_float32,
    check_choice,
    check_floating,
    check_integer,
    check_number,
    check_positions,
    check_same_device,
    relative_positions,
    values_are_readable,
)

__all__ = ["KerpleBias", "kerple_log_bias", "kerple_power_bias"]

LEAST = 0.01  # below which KerpleBias lets neither number go, as in the authors' code
SMALLEST = 1e-4  # how near to LEAST (or the upper end) a number may start: at it the raw one would be infinite


def kerple_log_bias(distance: Tensor, r1: Tensor | float, r2: Tensor | float) -> Tensor:
    """−r1·log(1 + r2·|d|) (KERPLE, section 4, logarithmic variant).

    Args:
        distance: d, integer or floating tensor of any shape; its sign does not matter.
        r1, r2: positive; a number, a 0-d tensor, or one value a head (H,).

    Returns:
        The shape of `distance`, or (H, *distance.shape); in the widest floating dtype among the tensors but float32
        at least, or in float64, as Python's numbers are, if no tensor is floating. Gradients are finite everywhere.

    Raises:
        TypeError: distance not a tensor of real numbers, or r1 or r2 neither a number nor a floating tensor.
        ValueError: r1 or r2 out of range or of another shape, or the devices differ.
    """
    distance, r1, r2 = _operands(distance, r1, r2, r2_most=math.inf)
    return -r1 * torch.log1p(r2 * distance)


def kerple_power_bias(distance: Tensor, r1: Tensor | float, r2: Tensor | float) -> Tensor:
    """−r1·|d|^r2 (KERPLE, section 4, power variant); arguments, returns and errors as `kerple_log_bias`, and r2 ≤ 2.

    At distance 0 with r2 < 1 the slope in d is infinite; its gradient there is given as 0.
    """
    distance, r1, r2 = _operands(distance, r1, r2, r2_most=2)
    at_zero = distance == 0
    # 0 must not enter the power at all: where() multiplies its infinite derivative by 0, which makes nan.
    power = torch.where(at_zero, 1, distance) ** r2
    return -r1 * torch.where(at_zero, 0, power)


def _operands(
    distance: Tensor, r1: Tensor | float, r2: Tensor | float, *, r2_most: float
) -> tuple[Tensor, Tensor, Tensor]:
    """|distance|, r1 and r2 in one dtype, the last two shaped to broadcast over it, head by head."""
    distance = check_positions("distance", distance, batched=False)
    for name, value in (("r1", r1), ("r2", r2)):
        if isinstance(value, Tensor):
            check_floating(name, value)
    floating = [t.dtype for t in (distance, r1, r2) if isinstance(t, Tensor) and t.is_floating_point()]
    dtype = torch.float32
    for other in floating or [torch.float64]:
        dtype = torch.promote_types(dtype, other)
    r1 = _parameter("r1", r1, distance, dtype, most=math.inf)
    r2 = _parameter("r2", r2, distance, dtype, most=r2_most)
    if r1.ndim and r2.ndim and len(r1) != len(r2):
        raise ValueError(f"r2 must have one value a head as r1 has, {len(r1)}, got {len(r2)}")
    return distance.to(dtype).abs(), r1, r2


def _parameter(name: str, value: Tensor | float, distance: Tensor, dtype: torch.dtype, *, most: float) -> Tensor:
    """The value as a tensor (), or (H, 1, …) with a 1 for each dimension of the distance."""
    accepted = "positive and finite" if math.isinf(most) else f"in (0, {most:g}]"
    if not isinstance(value, Tensor):
        if check_number(name, value, above=0) > most:
            raise ValueError(f"{name} must be {accepted}, got {value!r}")
        return torch.tensor(value, dtype=dtype, device=distance.device)
    if value.ndim > 1:
        raise ValueError(f"{name} must have shape () or (H,), got {tuple(value.shape)}")
    check_same_device(distance=distance, **{name: value})
    if values_are_readable(value):
        outside = value[~((value > 0) & (value <= most) & value.isfinite())]
        if len(outside):
            raise ValueError(f"{name} must be {accepted}, got {outside[0].item()}")
    value = value.to(dtype)
    return value if value.ndim == 0 else value[(..., *(None for _ in distance.shape))]


class KerpleBias(PositionEncoding):
    """The penalty of `kerple_log_bias` or `kerple_power_bias` with r1 and r2 learned, one of each a head.

    What an optimiser moves are `raw_r1` and `raw_r2`, any real numbers; the properties `r1` and `r2` map them into
    the kernel's range, [0.01, ∞) by softplus and, for the power's exponent, [0.01, 2] by a sigmoid. So no step leaves
    the range, and none is stuck at its edge as with a clamp.

    Args:
        num_heads: H.
        kind: "log" or "power".

    As in the authors' code the coefficient of the logarithm and the exponent of the power start uniform in (0, 2), the
    other number uniform in (0, 1), neither below 0.01.
    """

    def __init__(self, num_heads: int, *, kind: str) -> None:
        super().__init__()
        self.num_heads = check_integer("num_heads", num_heads)
        self.kind = check_choice("kind", kind, ("log", "power"))
        self.raw_r1 = nn.Parameter(torch.empty(self.num_heads))
        self.raw_r2 = nn.Parameter(torch.empty(self.num_heads))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        up_to_two, up_to_one = (self.raw_r1, self.raw_r2) if self.kind == "log" else (self.raw_r2, self.raw_r1)
        up_to_two.uniform_(0, 2)
        up_to_one.uniform_(0, 1)
        for raw in (self.raw_r1, self.raw_r2):
            if raw is self.raw_r2 and self.kind == "power":
                raw.copy_(((raw - LEAST) / (2 - LEAST)).logit(eps=SMALLEST))  # the inverse of r2
            else:
                raw.copy_((raw - LEAST).clamp(min=SMALLEST).expm1().log())  # the inverse of r1

    @property
    def r1(self) -> Tensor:
        """(H,), at least 0.01, in float32 or better."""
        return LEAST + F.softplus(at_least_float32(self.raw_r1))

    @property
    def r2(self) -> Tensor:
        """(H,), at least 0.01, and at most 2 for the power kernel, in float32 or better."""
        raw = at_least_float32(self.raw_r2)
        if self.kind == "log":
            return LEAST + F.softplus(raw)
        return (LEAST + (2 - LEAST) * raw.sigmoid()).clamp(max=2)  # the sum may round up past 2

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(H, Tq, Tk), or (B, H, Tq, Tk) for positions (B, T), in float32 or better; 0 at distance 0."""
        distance = relative_positions(q_positions, k_positions)
        r1, r2 = self.r1, self.r2
        penalty = kerple_log_bias if self.kind == "log" else kerple_power_bias
        return penalty(distance, r1, r2).movedim(0, -3).to(r1.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_heads}, kind={self.kind!r}"
