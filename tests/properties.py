"""What the library's properties draw, and how they compare: any dtype, shape, stride and kind of position."""

import torch
from hypothesis import strategies as st

INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

float_dtypes = st.sampled_from(FLOATS)
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(0, 4)
any_shape = st.lists(sizes, min_size=1, max_size=3).map(tuple)


def normal(seed, *shape, dtype=torch.float64):
    """Normal numbers, rounded to the dtype."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def plain(x):
    return x.contiguous()


def axes_reversed(x):
    reverse = tuple(reversed(range(x.ndim)))
    return x.permute(reverse).contiguous().permute(reverse)


def with_gaps(x):
    return torch.stack((x, torch.zeros_like(x)), dim=-1)[..., 0]


def at_an_odd_offset(x):
    return torch.cat((x.new_zeros(1), x.flatten()))[1:].view(x.shape)


strides = st.sampled_from([plain, axes_reversed, with_gaps, at_an_odd_offset])
"""Functions that lay equal values out in memory in another way."""


def fits(batch, length):
    """The shapes that positions of x (batch, …, length, width) may have."""
    return st.sampled_from([(length,), (batch, length)])


@st.composite
def positions(draw, shape=any_shape, *, dtypes=(*INTEGERS, *FLOATS), reach=2**40):
    """A tensor of integers or fractions, negative ones too, as far from 0 as its dtype and `reach` allow."""
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    dtype = draw(st.sampled_from(dtypes))
    count = torch.Size(shape).numel()
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    low, high = max(-reach, info.min), min(reach, info.max)
    numbers = st.floats(low, high) if dtype.is_floating_point else st.integers(low, high)
    numbers = numbers | st.integers(max(low, -8), 8)
    drawn = draw(st.lists(numbers, min_size=count, max_size=count))
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    return torch.tensor(drawn, dtype=wide).to(dtype).reshape(shape)


def assert_within(bound, actual, expected):
    """Each element as near to its expected value as its own bound says."""
    expected = torch.as_tensor(expected, dtype=torch.float64)
    assert actual.shape == expected.shape
    excess = (actual.double() - expected).abs() - bound
    assert (excess <= 0).all(), f"off by {excess.max().item():.3g} more than the bound"
