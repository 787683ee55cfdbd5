"""T5 bias: buckets against exact rational arithmetic, and the table that gives each a bias."""

import copy
import pickle
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.t5 import T5Bias, t5_buckets
from tests.properties import INTEGERS, any_shape, fits, float_dtypes, normal, positions, seeds, sizes, strides

at = torch.arange(4)
MOST_NEGATIVE = torch.iinfo(torch.int64).min


def exact_bucket(relative, bidirectional, num_buckets, max_distance):
    """T5's formula with ⌊w·ln(n/e)/ln(M/e)⌋ as the largest j with (n/e)^w ≥ (M/e)^j, in rational numbers."""
    first = 0
    if bidirectional:
        num_buckets //= 2
        first = num_buckets if relative > 0 else 0
    distance = abs(relative) if bidirectional else max(-relative, 0)
    exact = num_buckets // 2
    if distance < exact:
        return first + distance
    width = num_buckets - exact
    reach, step = Fraction(distance, exact) ** width, Fraction(max_distance, exact)
    j = 0
    while j < width and reach >= step ** (j + 1):
        j += 1
    return first + min(num_buckets - 1, exact + j)


@pytest.mark.parametrize("name", ["t5_bucket_bidirectional", "t5_bucket_causal", "t5_future_keys_in_causal"])
def test_buckets_are_those_of_t5(case, name):
    """Source: Hugging Face's T5Attention._relative_position_bucket."""
    known = case(name)
    relative = torch.tensor(known["inputs"]["rel"])
    options = {option: value for option, value in known["inputs"].items() if option != "rel"}
    assert t5_buckets(relative, **options).tolist() == known["expected"]


@pytest.mark.parametrize(
    ("num_buckets", "max_distance"),
    [(32, 128), (32, 17), (64, 1000), (8, 5), (4, 3), (30, 100), (32, 2048), (320, 800), (12, 243)],
)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_every_integer_falls_into_its_exact_bucket(bidirectional, num_buckets, max_distance):
    relative = range(-max_distance - 3, max_distance + 4)
    buckets = t5_buckets(
        torch.tensor(relative), bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance
    )
    assert buckets.dtype == torch.int64
    assert buckets.tolist() == [exact_bucket(r, bidirectional, num_buckets, max_distance) for r in relative]


@given(
    st.booleans(),
    st.integers(1, 20),
    st.integers(1, 10**6),
    positions(any_shape | st.just(()), dtypes=INTEGERS, reach=2**63) | positions(dtypes=INTEGERS, reach=1000),
    strides,
)
def test_buckets_are_exact_for_any_table_and_distance(bidirectional, quarter, beyond, relative, stride):
    tables = {
        "bidirectional": bidirectional,
        "num_buckets": 4 * quarter if bidirectional else 2 * quarter + 1,
        "max_distance": quarter + beyond,
    }
    buckets = t5_buckets(stride(relative), **tables)
    expected = [exact_bucket(r, *tables.values()) for r in relative.flatten().tolist()]
    assert (buckets.dtype, buckets.shape) == (torch.int64, relative.shape)
    assert buckets.flatten().tolist() == expected
    assert t5_buckets(relative.to("meta"), **tables).shape == relative.shape


@pytest.mark.parametrize("huge", [2**40, 2**62, 2**63 - 1, MOST_NEGATIVE, MOST_NEGATIVE + 1])
def test_huge_distances_share_the_last_bucket(huge):
    relative = torch.tensor([huge])
    assert t5_buckets(relative, bidirectional=True).item() == (31 if huge > 0 else 15)
    assert t5_buckets(relative, bidirectional=False).item() == (0 if huge > 0 else 31)
    assert t5_buckets(relative, bidirectional=False, max_distance=2**63 - 1).item() == exact_bucket(
        huge, False, 32, 2**63 - 1
    )


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.uint8])
def test_integers_of_any_width_mean_their_value(dtype):
    relative = torch.tensor([0, 1, 100, torch.iinfo(dtype).min], dtype=torch.int64).to(dtype)
    expected = [exact_bucket(int(r), True, 32, 128) for r in relative.tolist()]
    assert t5_buckets(relative, bidirectional=True).tolist() == expected


def test_shape_is_kept():
    relative = torch.arange(-12, 12).reshape(2, 3, 4)
    assert t5_buckets(relative, bidirectional=False).shape == (2, 3, 4)
    assert t5_buckets(relative[0, 0, 0], bidirectional=False).shape == ()
    assert t5_buckets(relative[:0], bidirectional=False).shape == (0, 3, 4)


@given(st.data(), st.integers(1, 3), st.integers(1, 3), st.booleans(), float_dtypes, strides, seeds)
def test_bias_is_the_weight_of_the_bucket(data, batch, heads, bidirectional, dtype, stride, seed):
    reach = data.draw(st.sampled_from([200, 2**62 - 1]))
    q, k = (data.draw(positions(fits(batch, data.draw(sizes)), dtypes=INTEGERS, reach=reach)) for _ in range(2))
    encoding = T5Bias(heads, bidirectional=bidirectional)
    encoding.weight = torch.nn.Parameter(stride(normal(seed, heads, 32, dtype=dtype)))
    bias = encoding.bias(stride(q), stride(k))
    assert bias.dtype == torch.promote_types(dtype, torch.float32)
    weight, packed = encoding.weight.tolist(), q.ndim == 2 or k.ndim == 2
    rows = [p.expand(batch, -1).tolist() for p in (q, k)]
    expected = [
        [[[head[exact_bucket(j - i, bidirectional, 32, 128)] for j in keys] for i in queries] for head in weight]
        for queries, keys in zip(*rows, strict=True)
    ]
    assert bias.tolist() == (expected if packed else expected[0])


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=4),
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=4),
    st.integers(-(2**40), 2**40),
    st.booleans(),
)
def test_bias_depends_on_offset_only(queries, keys, shift, bidirectional):
    encoding = T5Bias(3, bidirectional=bidirectional)
    q, k = torch.tensor(queries), torch.tensor(keys)
    assert torch.equal(encoding.bias(q + shift, k + shift), encoding.bias(q, k))


def test_batched_positions_give_each_row_its_own_bias():
    encoding = T5Bias(3)
    q, k = torch.tensor([[0, 1, 0], [5, 6, 7]]), torch.tensor([[0, 1, 2, 3], [7, 6, 5, 4]])
    bias = encoding.bias(q, k)
    assert bias.shape == (2, 3, 3, 4)
    for row in range(2):
        assert torch.equal(bias[row], encoding.bias(q[row], k[row]))


def test_narrow_positions_do_not_wrap():
    encoding = T5Bias(1, bidirectional=True)
    low, high = torch.tensor([-128], dtype=torch.int8), torch.tensor([127], dtype=torch.int8)
    assert torch.equal(encoding.bias(low, high), encoding.bias(low.long(), high.long()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_bias_is_float32_or_better(dtype):
    encoding = T5Bias(2).to(dtype)
    bias = encoding.bias(at, at)
    assert bias.dtype == torch.promote_types(dtype, torch.float32)
    assert torch.equal(bias[:, 3, 0], encoding.weight[:, 3].to(bias.dtype))


def test_weights_start_normal_with_deviation_0_02():
    torch.manual_seed(0)
    weight = T5Bias(2000).weight
    assert weight.shape == (2000, 32)
    assert weight.std().item() == pytest.approx(0.02, rel=0.02)  # 64,000 draws: 7 standard errors
    assert abs(weight.mean().item()) < 5e-4


def test_the_weight_is_the_whole_state():
    assert list(T5Bias(2).state_dict()) == ["weight"]


@pytest.mark.parametrize("travel", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_buckets_and_weights(travel):
    encoding = T5Bias(2, bidirectional=True, num_buckets=8, max_distance=20)
    assert torch.equal(travel(encoding).bias(at, at), encoding.bias(at, at))


def test_module_made_on_meta_is_right_after_to_empty_and_reset():
    with torch.device("meta"):
        encoding = T5Bias(2000)
    encoding.to_empty(device="cpu").reset_parameters()
    assert encoding.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert torch.equal(encoding.bias(at, at)[:, 2, 0], encoding.weight[:, 2])


def test_meta_tensors_pass_through():
    assert T5Bias(2).to("meta").bias(at.to("meta"), at.to("meta")).shape == (2, 4, 4)


def test_gradients_count_how_often_a_bucket_was_used():
    encoding = T5Bias(2)
    encoding.bias(at, at).sum().backward()
    assert encoding.weight.grad[0, :5].tolist() == [10, 3, 2, 1, 0]


def test_compiles_whole_at_two_lengths():
    encoding = T5Bias(3)
    bias = torch.compile(encoding.bias, fullgraph=True)
    for length in (5, 9):
        assert torch.equal(bias(torch.arange(length), torch.arange(length)), encoding.bias(*[torch.arange(length)] * 2))


def test_repr_says_what_it_was_made_with():
    assert repr(T5Bias(2)) == "T5Bias(2, bidirectional=False, num_buckets=32, max_distance=128)"


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: t5_buckets(at), TypeError, "bidirectional"),
        (lambda: t5_buckets(at, bidirectional="no"), TypeError, "bidirectional must be True or False, got 'no'"),
        (lambda: t5_buckets(at.float(), bidirectional=True), TypeError, "relative_position .* got torch.float32"),
        (lambda: t5_buckets(at.bool(), bidirectional=True), TypeError, "relative_position"),
        (lambda: t5_buckets([0, 1], bidirectional=True), TypeError, "relative_position"),
        (lambda: t5_buckets(at, bidirectional=True, num_buckets=31), ValueError, "num_buckets must be even .* got 31"),
        (lambda: t5_buckets(at, bidirectional=True, num_buckets=2), ValueError, "num_buckets .* >= 4, got 2"),
        (lambda: t5_buckets(at, bidirectional=False, num_buckets=1), ValueError, "num_buckets .* >= 2, got 1"),
        (lambda: t5_buckets(at, bidirectional=False, num_buckets=32.0), TypeError, "num_buckets"),
        (lambda: t5_buckets(at, bidirectional=False, max_distance=16), ValueError, "max_distance .* 16.* got 16"),
        (lambda: t5_buckets(at, bidirectional=True, max_distance=8), ValueError, "max_distance .* 8.* got 8"),
        (lambda: t5_buckets(at, bidirectional=True, max_distance=2**63), ValueError, "max_distance .* fit int64"),
        (lambda: t5_buckets(at, bidirectional=True, max_distance="far"), TypeError, "max_distance"),
        (lambda: T5Bias(0), ValueError, "num_heads must be an integer >= 1, got 0"),
        (lambda: T5Bias(2.0), TypeError, "num_heads"),
        (lambda: T5Bias(2, bidirectional=1), TypeError, "bidirectional"),
        (lambda: T5Bias(2, bidirectional=True, num_buckets=5), ValueError, "num_buckets"),
        (lambda: T5Bias(2, max_distance=3), ValueError, "max_distance"),
        (lambda: T5Bias(2).bias(at.float(), at), TypeError, "q_positions must be integer .* got torch.float32"),
        (lambda: T5Bias(2).bias(at, at.double()), TypeError, "k_positions must be integer .* got torch.float64"),
        (lambda: T5Bias(2).bias([0], at), TypeError, "q_positions"),
        (lambda: T5Bias(2).bias(at[0], at), ValueError, r"q_positions must have shape \(T,\) or \(B, T\)"),
        (lambda: T5Bias(2).bias(at.expand(2, 4), at.expand(3, 4)), ValueError, "k_positions must have the batch"),
        (lambda: T5Bias(2).bias(at, at.to("meta")), ValueError, "k_positions is on meta"),
    ],
)
def test_wrong_arguments_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
