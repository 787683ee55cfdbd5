"""Attention written out: equal to torch's, sockets in the right places, masks that never give NaN."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from posenc_lib import NoEncoding, PositionEncoding, RotaryEncoding
from posenc_lib.attention import attention, positions_from_mask
from tests.properties import INTEGERS, assert_within, float_dtypes, normal, seeds, sizes, strides


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def qkv(batch=2, heads=3, n_queries=5, n_keys=5, width=4, v_width=4, seed=0):
    return (
        draw(batch, heads, n_queries, width, seed=seed),
        draw(batch, heads, n_keys, width, seed=seed + 1),
        draw(batch, heads, n_keys, v_width, seed=seed + 2),
    )


class ConstantBias(PositionEncoding):
    """A bias that says which positions it was asked for."""

    def bias(self, q_positions, k_positions):
        self.asked = q_positions.tolist(), k_positions.tolist()
        return (q_positions[:, None] * 10.0 + k_positions[None, :]).expand(3, -1, -1).double()


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_equals_torch_for_any_shape_mask_and_bias(n_queries, n_keys, width, v_width, seed):
    q, k, v = qkv(2, 3, n_queries, n_keys, width, v_width, seed)
    bias = draw(2, 3, n_queries, n_keys, seed=seed + 3)
    mask = draw(2, 1, n_queries, n_keys, seed=seed + 4) > -1
    mask[..., 0] = True
    expected = scaled_dot_product_attention(q, k, v, attn_mask=bias.masked_fill(~mask, -math.inf))
    torch.testing.assert_close(attention(q, k, v, bias=bias, mask=mask), expected)


class TurnAndShift(PositionEncoding):
    """Scales queries and keys by their positions and adds their difference: each socket shows in the scores."""

    def rotate(self, q, k, q_positions, k_positions):
        return q * q_positions[..., None], k * k_positions[..., None]

    def bias(self, q_positions, k_positions):
        return (k_positions[..., None, :] - q_positions[..., :, None]).expand(2, -1, -1).double()


@given(st.data(), st.integers(0, 2), sizes, st.integers(1, 4), st.integers(1, 5), sizes, float_dtypes, seeds)
def test_any_arguments_together_give_the_formula(data, batch, n_queries, n_keys, width, v_width, dtype, seed):
    """Against eq. 1 in float64, with everything that may be added, hidden or scaled drawn at once."""
    draw_one = lambda *choices: data.draw(st.sampled_from(choices))
    shapes = ((n_queries, width), (n_keys, width), (n_keys, v_width))
    q, k, v = (normal(seed + i, batch, 2, *shape, dtype=dtype) for i, shape in enumerate(shapes))
    stride, full = data.draw(strides), (batch, 2, n_queries, n_keys)
    bias = draw_one(None, normal(seed + 3, *full[1:]), normal(seed + 3, *full))
    bias = bias if bias is None else bias.to(data.draw(float_dtypes))
    mask_shape = tuple(draw_one(1, size) for size in full[draw_one(0, 1, 2, 3) :])
    mask = draw_one(None, normal(seed + 4, *mask_shape) > -0.5)
    causal, scale = n_queries <= n_keys and data.draw(st.booleans()), data.draw(st.none() | st.floats(-2, 2))
    options = {"mask": mask if mask is None else stride(mask), "causal": causal, "scale": scale}
    options["bias"] = bias if bias is None else stride(bias)
    q64, k64, scores = q.double(), k.double(), 0
    if data.draw(st.booleans()):
        q_at, k_at = (normal(seed + i, n).to(torch.float32) for i, n in ((5, n_queries), (6, n_keys)))
        options |= {"encoding": TurnAndShift(), "q_positions": stride(q_at), "k_positions": stride(k_at)}
        # a rotation keeps the dtype of queries and keys; this one is not the library's, so it is as it comes
        q64, k64 = (q * q_at[:, None]).double(), (k * k_at[:, None]).double()
        scores = (k_at - q_at[:, None]).double()
    out, weights = attention(stride(q), stride(k), stride(v), **options, return_weights=True)

    scores = scores + q64 @ k64.mT * (width**-0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias.double()
    allowed = torch.ones(full, dtype=torch.bool) if mask is None else mask.expand(full)
    if causal:
        allowed = allowed & (torch.arange(n_keys) <= torch.arange(n_keys - n_queries, n_keys)[:, None])
    expected = scores.masked_fill(~allowed, -math.inf).softmax(-1).nan_to_num(0)  # a row that sees nothing is nan
    # q kᵀ is taken in float32 unless q is float64: a few units in the last place of scores of up to some tens
    near = 1e-12 if dtype == torch.float64 else 1e-4
    assert_within(near, weights, expected)
    assert (weights[~allowed] == 0).all()
    values = expected @ v.double()
    assert out.dtype == dtype
    assert_within(torch.finfo(dtype).eps * values.abs() + 10 * near, out, values)
    on_meta = [t.to("meta") for t in (q, k, v)]
    assert attention(*on_meta, causal=causal).shape == out.shape


def test_causal_equals_torch_on_a_square():
    q, k, v = qkv()
    expected = scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(attention(q, k, v, causal=True), expected)


@given(st.integers(1, 6), st.integers(0, 4))
def test_causal_query_block_ends_at_the_last_key(n_queries, earlier):
    q, k, v = qkv(n_queries=n_queries + earlier, n_keys=n_queries + earlier)
    full = attention(q, k, v, causal=True)
    torch.testing.assert_close(attention(q[:, :, earlier:], k, v, causal=True), full[:, :, earlier:])


@given(st.permutations(range(5)))
def test_without_positions_attention_is_permutation_equivariant(order):
    q, k, v = qkv()
    out, weights = attention(q, k, v, encoding=NoEncoding(), return_weights=True)
    q, k, v = (t[:, :, order] for t in (q, k, v))
    moved, moved_weights = attention(q, k, v, encoding=NoEncoding(), return_weights=True)
    torch.testing.assert_close(moved, out[:, :, order])
    torch.testing.assert_close(moved_weights, weights[:, :, order][..., order])


@given(st.integers(-1000, 1000))
def test_rope_attention_depends_on_offset_only(shift):
    q, k, v = qkv()
    here = attention(q, k, v, encoding=RotaryEncoding(4))
    at = torch.arange(5) + shift
    there = attention(q, k, v, encoding=RotaryEncoding(4), q_positions=at, k_positions=at)
    torch.testing.assert_close(there, here, rtol=0, atol=1e-9)


def test_rotation_comes_before_the_score_and_values_stay():
    q, k, v = qkv()
    encoding, at = RotaryEncoding(4), torch.arange(5)
    expected = scaled_dot_product_attention(*encoding.rotate(q, k, at, at), v)
    torch.testing.assert_close(attention(q, k, v, encoding=encoding), expected)


def test_encodings_bias_and_bias_are_added_after_scaling():
    q, k, v = qkv()
    extra = draw(3, 5, 5, seed=9)
    encoding = ConstantBias()
    _, weights = attention(q, k, v, encoding=encoding, bias=extra, return_weights=True)
    position_bias = torch.tensor([[10.0 * m + n for n in range(5)] for m in range(5)], dtype=torch.float64)
    expected = (q @ k.transpose(-2, -1) / 2 + position_bias + extra).softmax(dim=-1)
    torch.testing.assert_close(weights, expected)


def test_bias_is_not_divided_by_sqrt_d(case):
    """Source: https://github.com/NVIDIA/TensorRT-Model-Connect/pull/32; ALiBi footnote 10."""
    given_case = case("alibi_not_scaled_by_sqrt_d")
    inputs = given_case["inputs"]
    q = torch.zeros(1, 1, 1, inputs["d"], dtype=torch.float64)
    q[..., 0] = 1
    k = torch.cat((q * inputs["q_dot_k"], torch.zeros_like(q)), dim=2)  # the second key's score is 0
    bias = torch.tensor([[[-inputs["slope"] * inputs["distance"], 0.0]]], dtype=torch.float64)
    _, weights = attention(q, k, k, bias=bias, return_weights=True)
    logit = (weights[..., 0] / weights[..., 1]).log().item()
    assert logit == pytest.approx(given_case["expected"], abs=given_case["tolerance"])


def test_default_positions_put_the_queries_last():
    q, k, v = qkv(n_queries=2, n_keys=5)
    encoding = ConstantBias()
    attention(q, k, v, encoding=encoding)
    assert encoding.asked == ([3, 4], [0, 1, 2, 3, 4])
    attention(q, k, v, encoding=encoding, k_positions=torch.tensor([7, 8, 9, 20, 30]))
    assert encoding.asked == ([20, 30], [7, 8, 9, 20, 30])


def test_scale_is_used_as_given():
    q, k, v = qkv()
    _, weights = attention(q, k, v, scale=1, return_weights=True)
    torch.testing.assert_close(weights, (q @ k.transpose(-2, -1)).softmax(dim=-1))


def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients():
    q, k, v = (t.requires_grad_() for t in qkv())
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    out, weights = attention(q, k, v, mask=mask, return_weights=True)
    assert out[:, :, 2].abs().max() == 0
    assert weights[:, :, 2].abs().max() == 0
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way, either
        out.sum().backward()
    assert all(torch.isfinite(t.grad).all() for t in (q, k, v))


@pytest.mark.parametrize(("n_queries", "n_keys"), [(0, 3), (2, 0), (0, 0)])
def test_empty_queries_or_keys(n_queries, n_keys):
    q, k, v = qkv(n_queries=n_queries, n_keys=n_keys)
    assert attention(q, k, v).shape == (2, 3, n_queries, 4)
    assert attention(q, k, v).abs().sum() == 0 or n_keys


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_low_precision_scores_are_taken_in_float32(dtype):
    q, k, v = (t.to(dtype) for t in qkv(width=16))
    out, weights = attention(q, k, v, return_weights=True)
    exact = attention(q.double(), k.double(), v.double())
    assert out.dtype == dtype
    assert weights.dtype == torch.float32
    torch.testing.assert_close(out.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-6)


def test_large_bias_is_not_rounded_to_bfloat16():
    q = torch.zeros(1, 1, 1, 4, dtype=torch.bfloat16)
    k = torch.zeros(1, 1, 2, 4, dtype=torch.bfloat16)
    bias = torch.tensor([[[-1000.0, -1001.0]]])  # bfloat16 would hold −1000 and −1000
    _, weights = attention(q, k, k, bias=bias, return_weights=True)
    assert weights[0, 0, 0, 0].item() == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-6)


def test_a_float64_bias_serves_float32_queries():
    q, k, v = (t.float() for t in qkv())
    bias = draw(3, 5, 5, seed=9)
    out, weights = attention(q, k, v, bias=bias, return_weights=True)
    assert (out.dtype, weights.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(out, attention(q, k, v, bias=bias.float()))


def test_compiles_whole():
    torch.compiler.reset()
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    encoding = RotaryEncoding(4)
    for length in (5, 7):
        q, k, v = qkv(n_queries=length, n_keys=length)
        expected = attention(q, k, v, encoding=encoding, causal=True)
        torch.testing.assert_close(compiled(q, k, v, encoding=encoding, causal=True), expected)


def test_meta_tensors_give_a_shape():
    q, k, v = (t.to("meta") for t in qkv(v_width=7))
    assert attention(q, k, v, encoding=RotaryEncoding(4), causal=True).shape == (2, 3, 5, 7)


# Padding


@pytest.mark.parametrize("name", ["learned_left_padding_positions", "alibi_left_padding"])
def test_left_padding_counts_real_tokens_from_zero(name, case):
    """Source: https://github.com/ndif-team/nnsight/pull/673; Hugging Face's build_alibi_tensor."""
    given_case = case(name)
    expected = given_case["expected"].get("position_ids") or given_case["expected"]["positions"]
    assert positions_from_mask(torch.tensor([given_case["inputs"]["attention_mask"]])).tolist() == [expected]


@given(st.data(), st.integers(0, 6), sizes, st.sampled_from([torch.bool, *INTEGERS]), strides)
def test_positions_of_any_padding(data, length, rows, dtype, stride):
    ends = [sorted(data.draw(st.tuples(*[st.integers(0, length)] * 2))) for _ in range(rows)]
    mask = [[int(first <= t < last) for t in range(length)] for first, last in ends]
    expected = [[t - first if first <= t < last else 0 for t in range(length)] for first, last in ends]
    at = positions_from_mask(stride(torch.tensor(mask).reshape(rows, length).to(dtype)))
    assert (at.dtype, at.tolist()) == (torch.int64, expected)


def test_a_left_padded_row_attends_as_the_row_alone():
    q, k, v = qkv(batch=1, n_queries=5, n_keys=5)
    padding = torch.tensor([[0, 0, 1, 1, 1]])
    at = positions_from_mask(padding)
    mask = padding.bool()[:, None, None, :]
    out = attention(q, k, v, encoding=RotaryEncoding(4), mask=mask, causal=True, q_positions=at, k_positions=at)
    alone = attention(q[:, :, 2:], k[:, :, 2:], v[:, :, 2:], encoding=RotaryEncoding(4), causal=True)
    torch.testing.assert_close(out[:, :, 2:], alone)


# Hostile input

Q, K, V = qkv()
MASK = torch.ones(5, 5, dtype=torch.bool)
BAD_CALLS = [
    (lambda: attention(Q[0], K, V), ValueError, r"q must have shape \(B, H, T, Dh\)"),
    (lambda: attention(Q.long(), K, V), TypeError, "dtype of q must be a floating"),
    (lambda: attention(None, K, V), TypeError, "q must be a floating tensor"),
    (lambda: attention(Q, K.float(), V), TypeError, "k must have q's dtype torch.float64, got torch.float32"),
    (lambda: attention(Q, K, V.float()), TypeError, "v must have q's dtype"),
    (lambda: attention(Q[..., :3], K, V), ValueError, r"k must have shape \(2, 3, Tk, 3\)"),
    (lambda: attention(Q, K[:, :1], V), ValueError, "k must have shape"),
    (lambda: attention(Q, K[:1], V), ValueError, "k must have shape"),
    (lambda: attention(Q, K, V[:, :, :4]), ValueError, r"v must have shape \(2, 3, 5\)"),
    (lambda: attention(Q[..., :0], K[..., :0], V), ValueError, "head width of at least 1"),
    (lambda: attention(Q, K[:, :, :3], V[:, :, :3], causal=True), ValueError, "at most 3 .* got 5"),
    (lambda: attention(Q, K[:, :, :3], V[:, :, :3], encoding=NoEncoding()), ValueError, "q_positions must be given"),
    (lambda: attention(Q, K, V, encoding="rope"), TypeError, "encoding must be a PositionEncoding"),
    (lambda: attention(Q, K, V, q_positions=torch.arange(5)), ValueError, "are for an encoding, and encoding is None"),
    (lambda: attention(Q, K, V, k_positions=torch.arange(5)), ValueError, "are for an encoding, and encoding is None"),
    (lambda: attention(Q, K, V, bias=torch.ones(5, 5)), ValueError, r"bias must have shape \(3, 5, 5\)"),
    (lambda: attention(Q, K, V, bias=torch.ones(1, 3, 5, 5)), ValueError, "bias must have shape"),
    (lambda: attention(Q, K, V, bias=torch.ones(3, 5, 5).long()), TypeError, "dtype of bias"),
    (lambda: attention(Q, K, V, mask=MASK.float()), TypeError, "mask must be a boolean tensor"),
    (lambda: attention(Q, K, V, mask=True), TypeError, "mask must be a boolean tensor"),
    (lambda: attention(Q, K, V, mask=MASK[:4]), ValueError, "mask must broadcast to"),
    (lambda: attention(Q, K, V, mask=MASK[None, None, None]), ValueError, "mask must broadcast to"),
    (lambda: attention(Q, K, V, scale=math.nan), ValueError, "scale must be a finite number"),
    (lambda: attention(Q, K, V, scale="1"), TypeError, "scale must be a finite number"),
    (lambda: attention(Q, K, V, scale=torch.ones((), requires_grad=True)), TypeError, "scale .* detach it"),
    (lambda: attention(Q, K, V, causal="False"), TypeError, "causal must be True or False, got 'False'"),
    (lambda: attention(Q, K, V, return_weights=1), TypeError, "return_weights must be True or False, got 1"),
    (lambda: attention(Q, K.to("meta"), V), ValueError, "k is on meta but q is on cpu"),
    (lambda: attention(Q, K, V, mask=MASK.to("meta")), ValueError, "mask is on meta but q is on cpu"),
    (
        lambda: attention(Q, K, V, encoding=NoEncoding(), k_positions=torch.arange(4)),
        ValueError,
        r"k_positions must have shape \(5,\) or \(2, 5\)",
    ),
    (
        lambda: attention(Q, K, V, encoding=NoEncoding(), q_positions=torch.ones(3, 5)),
        ValueError,
        "q_positions must have shape",
    ),
    (
        lambda: attention(Q, K, V, encoding=NoEncoding(), q_positions=torch.tensor([0, 1, 2, 3, math.inf])),
        ValueError,
        "q_positions must be finite, got inf",
    ),
    (lambda: positions_from_mask(torch.ones(5).long()), ValueError, r"mask must have shape \(B, T\)"),
    (lambda: positions_from_mask(torch.ones(1, 5)), TypeError, "mask must be a boolean or integer tensor"),
    (lambda: positions_from_mask([[1, 1]]), TypeError, "mask must be a boolean or integer tensor"),
    (lambda: positions_from_mask(torch.tensor([[0, 2]])), ValueError, "mask must hold 0 and 1 alone, got 2"),
    (lambda: positions_from_mask(torch.tensor([[1, 1], [1, 0]])[:, [0, 1, 0]]), ValueError, "row 1"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
