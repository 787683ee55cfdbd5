"""KERPLE: both kernels by hand, gradients where a power has none, and parameters that cannot leave their range."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.alibi import alibi_bias
from posenc_lib.kerple import KerpleBias, kerple_log_bias, kerple_power_bias
from tests.properties import FLOATS, any_shape, assert_within, fits, float_dtypes, positions, sizes, strides

at = torch.arange(4)
both = pytest.mark.parametrize("penalty", [kerple_log_bias, kerple_power_bias])
kinds = pytest.mark.parametrize("kind", ["log", "power"])


def by_hand(kind, distance, r1, r2):
    return -r1 * (math.log1p(r2 * abs(distance)) if kind == "log" else abs(distance) ** r2)


def float64(value):
    return torch.tensor(value, dtype=torch.float64)


def test_log_kernel_is_the_authors(case):
    """Source: chijames/KERPLE, ParallelKerpleLog."""
    known = case("kerple_log")
    inputs = known["inputs"]
    bias = kerple_log_bias(torch.tensor(inputs["distance"]), float64(inputs["p"]), float64(inputs["a"]))
    assert bias.tolist() == pytest.approx(known["expected"], abs=known["tolerance"])


def test_power_kernel_is_the_authors(case):
    """Source: chijames/KERPLE, ParallelKerplePower."""
    known = case("kerple_power")
    inputs = known["inputs"]
    bias = kerple_power_bias(torch.tensor(inputs["distance"]), float64(inputs["a"]), float64(inputs["p"]))
    assert bias.tolist() == pytest.approx(known["expected"], abs=known["tolerance"])


KERNELS = {"log": kerple_log_bias, "power": kerple_power_bias}


@st.composite
def numbers_of_the_kernel(draw, heads, high):
    """What r1 or r2 may be: a number, a tensor () or a tensor (H,) of any floating dtype, up to `high`."""
    kind = draw(st.sampled_from(["number", "scalar", "heads"]))
    values = [draw(st.floats(0.0625, high)) for _ in range(heads if kind == "heads" else 1)]
    if kind == "number":
        return values[0]
    return torch.tensor(values if kind == "heads" else values[0], dtype=torch.float64).to(draw(float_dtypes))


@given(st.data(), st.sampled_from(sorted(KERNELS)), positions(any_shape | st.just(())), st.integers(1, 3), strides)
def test_kernels_are_their_formulas(data, kind, distance, heads, stride):
    r1, r2 = data.draw(numbers_of_the_kernel(heads, 5)), data.draw(numbers_of_the_kernel(heads, 2))
    as_given = [stride(r) if isinstance(r, torch.Tensor) else r for r in (r1, r2)]
    bias = KERNELS[kind](stride(distance), *as_given)
    of_heads = [r.tolist() if isinstance(r, torch.Tensor) and r.ndim else [float(r)] for r in (r1, r2)]
    count = max(map(len, of_heads))
    expected = [
        [by_hand(kind, d, *(r[h % len(r)] for r in of_heads)) for d in distance.flatten().tolist()]
        for h in range(count)
    ]
    expected = float64(expected).reshape(count, *distance.shape)
    if not any(isinstance(r, torch.Tensor) and r.ndim for r in (r1, r2)):
        expected = expected[0]
    tensors = [t.dtype for t in (distance, r1, r2) if isinstance(t, torch.Tensor) and t.dtype.is_floating_point]
    dtype = torch.float64 if not tensors or torch.float64 in tensors else torch.float32
    assert bias.dtype == dtype
    # |d| to the power of at most 2 carries the rounding of ln|d|, up to 28, and of the exponent
    assert_within(64 * torch.finfo(dtype).eps * expected.abs() + 1e-37, bias, expected)


@both
@given(positions(dtypes=(torch.int64, *FLOATS)))
def test_the_sign_of_distance_does_not_matter(penalty, distance):
    assert torch.equal(penalty(-distance, 0.5, 1.5), penalty(distance, 0.5, 1.5))


@given(st.data(), st.sampled_from(sorted(KERNELS)), st.integers(1, 3), st.integers(1, 3), float_dtypes, strides)
def test_module_gives_its_kernel_of_the_mapped_numbers(data, kind, batch, heads, dtype, stride):
    q, k = (data.draw(positions(fits(batch, data.draw(sizes)))) for _ in range(2))
    encoding = KerpleBias(heads, kind=kind).to(dtype)
    raws = [data.draw(st.lists(st.floats(-20, 20), min_size=heads, max_size=heads)) for _ in range(2)]
    with torch.no_grad():
        for raw, values in zip((encoding.raw_r1, encoding.raw_r2), raws, strict=True):
            raw.copy_(float64(values))
    bias = encoding.bias(stride(q), stride(k)).detach()
    assert bias.dtype == torch.promote_types(dtype, torch.float32)

    r1 = [0.01 + math.log1p(math.exp(raw)) for raw in encoding.raw_r1.tolist()]
    r2 = [0.01 + math.log1p(math.exp(raw)) for raw in encoding.raw_r2.tolist()]
    if kind == "power":
        r2 = [0.01 + 1.99 / (1 + math.exp(-raw)) for raw in encoding.raw_r2.tolist()]
    distance = (k.double()[..., None, :] - q.double()[..., :, None]).abs().unsqueeze(-3)
    r1, r2 = (float64(r).view(heads, 1, 1) for r in (r1, r2))
    expected = -r1 * ((r2 * distance).log1p() if kind == "log" else distance**r2)
    narrow = {q.dtype, k.dtype} <= {torch.float16, torch.bfloat16, torch.float32}  # subtracted in float32
    eps = torch.finfo(torch.float32 if narrow else bias.dtype).eps
    assert_within(128 * eps * expected.abs() + 1e-37, bias, expected)


@both
def test_one_value_a_head_gives_one_bias_a_head(penalty):
    distance = torch.arange(6).reshape(2, 3)
    r1, r2 = torch.tensor([0.5, 1.0, 1.5]), torch.tensor([0.3, 1.0, 2.0])
    bias = penalty(distance, r1, r2)
    assert bias.shape == (3, 2, 3)
    for head in range(3):
        assert torch.equal(bias[head], penalty(distance, r1[head], r2[head]))
    assert torch.equal(penalty(distance, 0.5, r2)[1], penalty(distance, 0.5, torch.tensor(1.0)))
    assert penalty(distance, 0.5, 1).shape == (2, 3)
    assert penalty(distance[0, 0], r1, r2).shape == (3,)


@both
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32])
def test_narrow_distances_do_not_wrap(penalty, dtype):
    distance = torch.tensor([0, torch.iinfo(dtype).min], dtype=torch.int64).to(dtype)
    assert torch.equal(penalty(distance, 1.0, 0.5), penalty(distance.long(), 1.0, 0.5))
    assert (penalty(distance, 1.0, 0.5) <= 0).all()


@both
@pytest.mark.parametrize(
    ("distance", "r", "expected"),
    [
        (at, 0.5, torch.float64),  # nothing but Python's own numbers, which are double
        (at, torch.tensor(0.5, dtype=torch.bfloat16), torch.float32),
        (at.half(), 0.5, torch.float32),
        (at, float64(0.5), torch.float64),
        (at.double(), 0.5, torch.float64),
        (at.double(), torch.tensor([0.5]), torch.float64),
    ],
)
def test_result_has_the_widest_dtype_and_at_least_float32(penalty, distance, r, expected):
    assert penalty(distance, r, r).dtype == expected
    assert penalty(distance, r, 0.5).dtype == expected


def test_a_number_is_not_rounded_on_its_way_to_float64():
    bias = kerple_log_bias(at, float64(1.0), 0.1)
    assert bias.tolist() == pytest.approx([-math.log1p(0.1 * d) for d in range(4)], abs=1e-15)


@pytest.mark.parametrize("heads", [1, 3, 8])
def test_alibi_is_the_power_kernel_with_exponent_one(heads):
    slopes = torch.rand(heads, dtype=torch.float64) + 0.01
    distance = at[:, None] - at
    power = kerple_power_bias(distance, slopes, 1.0)
    torch.testing.assert_close(power, alibi_bias(at, at, slopes, dtype=torch.float64), atol=1e-15, rtol=0)


@both
@pytest.mark.parametrize("exponent", [0.01, 0.5, 1.0, 1.5, 2.0])
def test_gradients_are_finite_at_distance_0(penalty, exponent):
    inputs = [float64([0.0, 0.0, 2.0]), float64(0.5), float64(exponent)]
    inputs = [tensor.requires_grad_() for tensor in inputs]
    d_distance, d_r1, d_r2 = torch.autograd.grad(penalty(*inputs).sum(), inputs)
    assert d_distance[:2].tolist() == [0, 0]
    log = penalty is kerple_log_bias
    slope = 0.5 * exponent / (1 + 2 * exponent) if log else 0.5 * exponent * 2 ** (exponent - 1)
    to_r1 = math.log1p(2 * exponent) if log else 2**exponent
    to_r2 = 0.5 * 2 / (1 + 2 * exponent) if log else 0.5 * 2**exponent * math.log(2)
    found = [d_distance[2].item(), d_r1.item(), d_r2.item()]
    assert found == pytest.approx([-slope, -to_r1, -to_r2], rel=1e-12)


@both
def test_gradients_are_those_of_the_formula_away_from_0(penalty):
    inputs = [float64([0.5, -3.0, 700.0]), float64([0.5, 2.0]), float64([0.3, 1.7])]
    assert torch.autograd.gradcheck(penalty, [tensor.requires_grad_() for tensor in inputs])


@kinds
@given(
    queries=st.lists(st.integers(-1000, 1000), min_size=1, max_size=4),
    keys=st.lists(st.integers(-1000, 1000), min_size=1, max_size=4),
    shift=st.integers(-(2**40), 2**40),
)
def test_bias_depends_on_offset_only(kind, queries, keys, shift):
    encoding = KerpleBias(2, kind=kind).double()
    q, k = torch.tensor(queries), torch.tensor(keys)
    bias = encoding.bias(q, k)
    for head, (r1, r2) in enumerate(zip(encoding.r1.tolist(), encoding.r2.tolist(), strict=True)):
        expected = [by_hand(kind, j - i, r1, r2) for i in queries for j in keys]
        assert bias[head].flatten().tolist() == pytest.approx(expected, rel=1e-12)
    assert torch.equal(encoding.bias(q + shift, k + shift), bias)


@kinds
def test_batched_positions_give_each_row_its_own_bias(kind):
    encoding = KerpleBias(3, kind=kind)
    q, k = torch.tensor([[0, 1, 0], [5, 6, 7]]), torch.tensor([[0, 1, 2, 3], [7, 6, 5, 4]])
    bias = encoding.bias(q, k)
    assert bias.shape == (2, 3, 3, 4)
    for row in range(2):
        torch.testing.assert_close(bias[row], encoding.bias(q[row], k[row]))


@kinds
def test_parameters_start_as_the_authors_do(kind):
    """Source: chijames/KERPLE: p uniform in (0, 2), a uniform in (0, 1), neither below 0.01."""
    torch.manual_seed(0)
    encoding = KerpleBias(20_000, kind=kind)
    p, a = (encoding.r1, encoding.r2) if kind == "log" else (encoding.r2, encoding.r1)
    for number, most in ((p, 2), (a, 1)):
        assert number.min() >= 0.01
        assert number.max() <= most
        for part in (0.25, 0.5, 0.75):  # quartiles, 7 standard errors
            assert number.quantile(part).item() == pytest.approx(part * most, abs=0.025 * most)


@kinds
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("far", [-1e30, -200.0, 200.0, 1e30])
def test_no_step_leaves_the_range(kind, dtype, far):
    encoding = KerpleBias(2, kind=kind).to(dtype)
    with torch.no_grad():
        for raw in encoding.parameters():
            raw.fill_(far)
    least = torch.tensor(0.01, dtype=encoding.r1.dtype)
    assert (encoding.r1 >= least).all()
    assert (encoding.r2 >= least).all()
    assert kind == "log" or (encoding.r2 <= 2).all()
    bias = encoding.bias(at, at)
    bias.sum().backward()
    assert all(raw.grad.isfinite().all() for raw in encoding.parameters())


@kinds
def test_wild_optimiser_steps_keep_the_bias_a_penalty(kind):
    torch.manual_seed(0)
    encoding = KerpleBias(4, kind=kind)
    optimiser = torch.optim.SGD(encoding.parameters(), lr=30.0)
    for sign in (1, -1, 1, 1, -1):
        optimiser.zero_grad()
        (sign * encoding.bias(at, at)).mean().backward()
        optimiser.step()
        bias = encoding.bias(at, at)
        assert bias.isfinite().all()
        assert (bias.diagonal(dim1=1, dim2=2) == 0).all()
        assert (bias.diff(dim=-1)[:, 0] < 0).all()  # farther is always worse


@kinds
def test_a_number_at_its_edge_can_come_back(kind):
    encoding = KerpleBias(1, kind=kind)
    with torch.no_grad():
        for raw in encoding.parameters():
            raw.fill_(-8.0)
    encoding.bias(at, at).sum().backward()
    assert all(raw.grad.abs().min() > 0 for raw in encoding.parameters())


@kinds
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("positions", [at, at.double()])
def test_bias_is_float32_unless_the_parameters_are_wider(kind, dtype, positions):
    encoding = KerpleBias(2, kind=kind).to(dtype)
    expected = torch.promote_types(dtype, torch.float32)
    assert encoding.bias(positions, positions).dtype == encoding.r1.dtype == encoding.r2.dtype == expected


@kinds
def test_the_raw_numbers_are_the_whole_state(kind):
    assert list(KerpleBias(2, kind=kind).state_dict()) == ["raw_r1", "raw_r2"]


@kinds
@pytest.mark.parametrize("travel", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_kind_and_parameters(kind, travel):
    encoding = KerpleBias(2, kind=kind)
    assert torch.equal(travel(encoding).bias(at, at), encoding.bias(at, at))


@kinds
def test_module_made_on_meta_is_right_after_to_empty_and_reset(kind):
    with torch.device("meta"):
        encoding = KerpleBias(20_000, kind=kind)
    encoding.to_empty(device="cpu").reset_parameters()
    means = {"log": (1.0, 0.5), "power": (0.5, 1.0)}[kind]
    assert [encoding.r1.mean().item(), encoding.r2.mean().item()] == pytest.approx(means, abs=0.03)


@kinds
def test_meta_tensors_pass_through(kind):
    encoding = KerpleBias(2, kind=kind).to("meta")
    assert encoding.bias(at.to("meta"), at.to("meta")).shape == (2, 4, 4)


@kinds
def test_no_tokens_give_no_bias(kind):
    assert KerpleBias(2, kind=kind).bias(at[:0], at).shape == (2, 0, 4)


@kinds
def test_compiles_whole_at_two_lengths(kind):
    encoding = KerpleBias(2, kind=kind)
    bias = torch.compile(encoding.bias, fullgraph=True)
    for length in (5, 9):
        positions = torch.arange(length)
        torch.testing.assert_close(bias(positions, positions), encoding.bias(positions, positions), atol=1e-6, rtol=0)


def test_repr_says_what_it_was_made_with():
    assert repr(KerpleBias(2, kind="log")) == "KerpleBias(2, kind='log')"


@both
@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (([0, 1], 1.0, 1.0), TypeError, "distance"),
        ((at.bool(), 1.0, 1.0), TypeError, "distance"),
        ((at / 0, 1.0, 1.0), ValueError, "distance must be finite"),
        ((at, 0.0, 1.0), ValueError, "r1 must be .* > 0, got 0.0"),
        ((at, 1.0, -0.5), ValueError, "r2 must be .* > 0, got -0.5"),
        ((at, math.inf, 1.0), ValueError, "r1"),
        ((at, "1", 1.0), TypeError, "r1"),
        ((at, 1.0, None), TypeError, "r2"),
        ((at, torch.tensor(1), 1.0), TypeError, "dtype of r1"),
        ((at, 1.0, torch.tensor([1.0, 0.0])), ValueError, r"r2 must be .* got 0\.0"),
        ((at, torch.tensor([1.0, math.nan]), 1.0), ValueError, "r1 must be positive and finite, got nan"),
        ((at, torch.tensor(math.inf), 1.0), ValueError, "r1 must be positive and finite, got inf"),
        ((at, torch.ones(2, 1), 1.0), ValueError, r"r1 must have shape \(\) or \(H,\), got \(2, 1\)"),
        ((at, torch.ones(2), torch.ones(3)), ValueError, "r2 must have one value a head as r1 has, 2, got 3"),
        ((at, torch.ones(2), torch.ones(1)), ValueError, "r2 must have one value a head as r1 has, 2, got 1"),
        ((at, torch.ones(2, device="meta"), 1.0), ValueError, "r1 is on meta but distance is on cpu"),
    ],
)
def test_wrong_arguments_are_named(penalty, arguments, error, says):
    with pytest.raises(error, match=says):
        penalty(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: kerple_power_bias(at, 1.0, 2.5), ValueError, r"r2 must be in \(0, 2\], got 2.5"),
        (lambda: kerple_power_bias(at, 1.0, torch.tensor([1.0, 2.5])), ValueError, r"r2 must be in \(0, 2\], got 2.5"),
        (lambda: KerpleBias(0, kind="log"), ValueError, "num_heads must be an integer >= 1, got 0"),
        (lambda: KerpleBias(2.0, kind="log"), TypeError, "num_heads"),
        (lambda: KerpleBias(2, kind="linear"), ValueError, "kind must be one of 'log', 'power', got 'linear'"),
        (lambda: KerpleBias(2, kind=None), ValueError, "kind"),
        (lambda: KerpleBias(2), TypeError, "kind"),
        (lambda: KerpleBias(2, kind="log").bias([0], at), TypeError, "q_positions"),
        (lambda: KerpleBias(2, kind="log").bias(at, at[0]), ValueError, "k_positions must have shape"),
        (lambda: KerpleBias(2, kind="log").bias(at, at.to("meta")), ValueError, "k_positions is on meta"),
    ],
)
def test_wrong_arguments_of_one_kernel_or_the_module_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
