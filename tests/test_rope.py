"""RoPE: two layouts, offsets alone in the score, angles right far out, and the faults of public code."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib import RotaryEncoding
from posenc_lib.attention import attention
from posenc_lib.rope import (
    RopeScaling,
    apply_rope,
    half_to_interleaved,
    interleaved_to_half,
    rope_angles,
    rope_cos_sin,
    rope_frequencies,
)
from tests.properties import any_shape, assert_within, fits, float_dtypes, normal, seeds, sizes, strides
from tests.properties import positions as any_positions

LAYOUTS = ("interleaved", "half")
even_dims = st.integers(1, 16).map(lambda n: 2 * n)
positions = st.integers(-(2**20), 2**20)
frequency_lists = st.lists(st.floats(-10, 10), min_size=1, max_size=4).map(lambda f: torch.tensor(f).double())


def pair_of(k, dim, layout):
    """Indices of pair k's two dimensions, written down from the definition."""
    return (2 * k, 2 * k + 1) if layout == "interleaved" else (k, k + dim // 2)


def turn_by_hand(x, position, frequencies, layout):
    """One vector turned pair by pair with math.cos and math.sin, in Python floats."""
    x = [float(value) for value in x]
    out = list(x)
    for k, frequency in enumerate(frequencies):
        i, j = pair_of(k, 2 * len(frequencies), layout)
        angle = position * float(frequency)
        out[i] = x[i] * math.cos(angle) - x[j] * math.sin(angle)
        out[j] = x[j] * math.cos(angle) + x[i] * math.sin(angle)
    return torch.tensor(out, dtype=torch.float64)


def rope_at(x, position, *, base=10_000.0, layout="interleaved"):
    """The library's rotation of one vector at one position."""
    cos, sin = rope_cos_sin(torch.tensor([position]), rope_frequencies(len(x), base=base), dtype=torch.float64)
    return apply_rope(x.view(1, 1, 1, -1), cos, sin, layout=layout).flatten()


# Frequencies, angles, tables


@given(even_dims, st.floats(1e-3, 1e9))
def test_frequencies_are_base_to_the_minus_2k_over_d(dim, base):
    expected = [base ** (-2 * k / dim) for k in range(dim // 2)]
    assert rope_frequencies(dim, base=base).tolist() == pytest.approx(expected, rel=1e-14)
    assert rope_frequencies(dim, base=base).dtype == torch.float64


@given(even_dims, positions, st.sampled_from([10_000.0, 500_000.0]))
def test_float32_tables_are_right_to_1e_6_at_any_position(dim, position, base):
    frequencies = rope_frequencies(dim, base=base)
    cos, sin = rope_cos_sin(torch.tensor([position]), frequencies)
    for k in range(dim // 2):
        angle = position * base ** (-2 * k / dim)
        assert cos[0, k].item() == pytest.approx(math.cos(angle), abs=1e-6)
        assert sin[0, k].item() == pytest.approx(math.sin(angle), abs=1e-6)


@given(any_positions(any_shape | st.just(())), frequency_lists, float_dtypes, strides)
def test_angle_is_position_times_frequency_rounded_once(at, frequencies, dtype, stride):
    frequencies = frequencies.to(dtype)
    angles = rope_angles(stride(at), stride(frequencies))
    expected = [[float(p) * f for f in frequencies.tolist()] for p in at.flatten().tolist()]
    assert angles.dtype == torch.float64
    assert angles.tolist() == torch.tensor(expected, dtype=torch.float64).reshape(*at.shape, len(frequencies)).tolist()
    assert rope_angles(at.to("meta"), frequencies).shape == angles.shape


@given(any_positions(fits(3, 2)), frequency_lists, float_dtypes, st.floats(0.1, 10), float_dtypes, strides)
def test_tables_are_cosine_and_sine_times_the_factor(at, frequencies, dtype, factor, out_dtype, stride):
    frequencies = frequencies.to(dtype)
    tables = rope_cos_sin(stride(at), stride(frequencies), attention_factor=factor, dtype=out_dtype)
    angles = [[float(p) * f for f in frequencies.tolist()] for p in at.flatten().tolist()]
    for table, function in zip(tables, (math.cos, math.sin), strict=True):
        expected = torch.tensor([[factor * function(angle) for angle in row] for row in angles], dtype=torch.float64)
        assert table.dtype == out_dtype
        # the largest value is the factor; half a unit in its last place, and float64's own two roundings
        bound = factor * (torch.finfo(out_dtype).eps / 2 + 2**-51)
        assert_within(bound, table, expected.reshape(*at.shape, len(frequencies)))


def test_angles_are_not_reduced_and_keep_the_shape_of_positions():
    frequencies = rope_frequencies(4)
    angles = rope_angles(torch.tensor([[0, 1, 1000]]), frequencies)
    assert angles.shape == (1, 3, 2)
    assert angles.dtype == torch.float64
    assert angles[0, 2].tolist() == [1000.0, 10.0]
    assert rope_angles(torch.tensor(2.5), frequencies).tolist() == [2.5, 0.025]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64, torch.float32, torch.float64])
def test_position_dtype_does_not_matter(dtype):
    cos, _ = rope_cos_sin(torch.tensor([0, 7, 100], dtype=dtype), torch.ones(1, dtype=torch.float64))
    assert cos.flatten().tolist() == pytest.approx([1.0, math.cos(7), math.cos(100)], abs=1e-7)


def test_attention_factor_multiplies_cos_and_sin():
    frequencies = rope_frequencies(6)
    plain = rope_cos_sin(torch.arange(4), frequencies, dtype=torch.float64)
    scaled = rope_cos_sin(torch.arange(4), frequencies, attention_factor=1.5, dtype=torch.float64)
    for a, b in zip(plain, scaled, strict=True):
        torch.testing.assert_close(b, 1.5 * a, rtol=1e-15, atol=0)


# The rotation


@given(even_dims, st.integers(-5000, 5000), st.sampled_from(LAYOUTS), st.integers(0, 2**31))
def test_rotation_equals_the_definition_pair_by_pair(dim, position, layout, seed):
    x = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    expected = turn_by_hand(x, position, [10_000 ** (-2 * k / dim) for k in range(dim // 2)], layout)
    torch.testing.assert_close(rope_at(x, position, layout=layout), expected, rtol=1e-12, atol=1e-12)


@given(even_dims, positions, positions, st.integers(-(2**20), 2**20), st.sampled_from(LAYOUTS))
def test_scores_depend_on_offset_only(dim, m, n, shift, layout):
    generator = torch.Generator().manual_seed(dim)
    q, k = torch.randn(2, dim, dtype=torch.float64, generator=generator)
    here = rope_at(q, m, layout=layout) @ rope_at(k, n, layout=layout)
    there = rope_at(q, m + shift, layout=layout) @ rope_at(k, n + shift, layout=layout)
    assert there.item() == pytest.approx(here.item(), abs=1e-7)  # float64 angles near 2^21: 2^21 · 2^-53 a pair


@given(even_dims, positions, st.sampled_from(LAYOUTS), st.integers(0, 2**31))
def test_norms_are_kept(dim, position, layout, seed):
    x = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert rope_at(x, position, layout=layout).norm().item() == pytest.approx(x.norm().item(), rel=1e-12)


@given(even_dims, positions)
def test_layouts_are_one_function_up_to_the_permutation(dim, position):
    x = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(dim))
    order = [*range(0, dim, 2), *range(1, dim, 2)]
    torch.testing.assert_close(
        rope_at(x[order], position, layout="half"), rope_at(x, position)[order], rtol=0, atol=1e-12
    )


def turn_all(x, cos, sin, layout):
    """x (B, H, T, Dh) turned in float64 by matrices: row i of a pair's own 2×2 block, placed by `pair_of`."""
    half = cos.shape[-1]
    cos, sin = cos.double().expand(len(x), -1, -1), sin.double().expand(len(x), -1, -1)
    matrix = torch.eye(x.shape[-1], dtype=torch.float64).expand(*cos.shape[:2], -1, -1).clone()  # (B, T, Dh, Dh)
    for k in range(half):
        i, j = pair_of(k, 2 * half, layout)
        matrix[..., i, i], matrix[..., i, j] = cos[..., k], -sin[..., k]
        matrix[..., j, i], matrix[..., j, j] = sin[..., k], cos[..., k]
    return torch.einsum("btij,bhtj->bhti", matrix, x.double())


def rounding(x, expected, compute, factor=1.0):
    """Half a unit in the last place of each result, and a few of the dtype computed in at the size of the largest x."""
    largest = factor * x.double().abs().max().item() if x.numel() else 0
    info = torch.finfo(x.dtype)
    last = info.eps / 2 * expected.abs() + info.smallest_normal * info.eps
    return last + 8 * torch.finfo(compute).eps * largest


widths = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (2 * pair[0], 2 * pair[0] + pair[1]))


@given(st.data(), sizes, st.integers(0, 9), sizes, widths, float_dtypes, float_dtypes, st.sampled_from(LAYOUTS), seeds)
def test_any_queries_turn_as_by_matrices(data, batch, heads, length, width, dtype, table_dtype, layout, seed):
    rotary, full = width
    x = normal(seed, batch, heads, length, full, dtype=dtype)
    at = normal(seed + 1, *data.draw(fits(batch, length)), rotary // 2)
    cos, sin = at.cos().to(table_dtype), at.sin().to(table_dtype)
    stride = data.draw(strides)
    out = apply_rope(stride(x), stride(cos), stride(sin), layout=layout)
    assert out.dtype == dtype
    compute = torch.promote_types(torch.promote_types(dtype, table_dtype), torch.float32)
    expected = turn_all(x, cos, sin, layout)
    assert_within(rounding(x, expected, compute), out, expected)
    assert torch.equal(out[..., rotary:], x[..., rotary:])
    assert apply_rope(*(t.to("meta") for t in (x, cos, sin)), layout=layout).shape == x.shape


any_tensor_dtypes = st.sampled_from([torch.bool, torch.int8, torch.int64, torch.bfloat16, torch.float64])


@given(widths, st.integers(0, 3), st.lists(sizes, max_size=2), any_tensor_dtypes, strides, seeds)
def test_rows_move_within_each_head_and_come_back(width, heads, beyond, dtype, stride, seed):
    rotary, full = width
    weight = stride((100 * normal(seed, heads * full, *beyond)).to(dtype))
    row = {}  # of the half layout → of the interleaved one
    for head in range(heads):
        row |= {head * full + i: head * full + i for i in range(rotary, full)}
        for k in range(rotary // 2):
            for there, here in zip(pair_of(k, rotary, "half"), pair_of(k, rotary, "interleaved"), strict=True):
                row[head * full + there] = head * full + here
    half = interleaved_to_half(weight, full, rotary_dim=rotary)
    assert torch.equal(half, weight[[row[i] for i in range(heads * full)]])
    assert torch.equal(half_to_interleaved(stride(half), full, rotary_dim=rotary), weight)


@pytest.mark.parametrize(("head_dim", "rotary_dim"), [(8, None), (8, 4), (7, 6), (2, 2)])
def test_converted_projections_give_the_same_scores_in_the_other_layout(head_dim, rotary_dim):
    heads, model_dim, tokens = 3, 10, 5
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=generator)
    w_q, w_k = draw(heads * head_dim, model_dim), draw(heads * head_dim, model_dim)
    b_q, x = draw(heads * head_dim), draw(1, tokens, model_dim)

    def scores(layout, w_q, w_k, b_q):
        encoding = RotaryEncoding(head_dim, layout=layout, rotary_dim=rotary_dim)
        q, k = ((x @ w.T + b).unflatten(-1, (heads, head_dim)).transpose(1, 2) for w, b in ((w_q, b_q), (w_k, 0)))
        q, k = encoding.rotate(q, k, torch.arange(tokens), torch.arange(tokens))
        return q @ k.transpose(-2, -1)

    to_half = lambda w: interleaved_to_half(w, head_dim, rotary_dim=rotary_dim)
    expected = scores("interleaved", w_q, w_k, b_q)
    torch.testing.assert_close(scores("half", to_half(w_q), to_half(w_k), to_half(b_q)), expected)
    assert not torch.allclose(scores("half", w_q, w_k, b_q), expected) or (rotary_dim or head_dim) == 2
    torch.testing.assert_close(half_to_interleaved(to_half(w_q), head_dim, rotary_dim=rotary_dim), w_q, rtol=0, atol=0)


def test_interleaved_to_half_takes_even_rows_first_in_each_head():
    rows = torch.arange(12)
    assert interleaved_to_half(rows, 6).tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    assert interleaved_to_half(rows, 6, rotary_dim=4).tolist() == [0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11]
    assert half_to_interleaved(rows, 6).tolist() == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_partial_rotary_turns_the_first_dimensions_and_passes_the_rest(layout):
    x = torch.randn(2, 3, 4, 10, dtype=torch.float64)
    cos, sin = rope_cos_sin(torch.arange(4), rope_frequencies(6), dtype=torch.float64)
    out = apply_rope(x, cos, sin, layout=layout)
    torch.testing.assert_close(out[..., :6], apply_rope(x[..., :6], cos, sin, layout=layout), rtol=0, atol=0)
    torch.testing.assert_close(out[..., 6:], x[..., 6:], rtol=0, atol=0)
    torch.testing.assert_close(out[1, 2, 3, :6], turn_by_hand(x[1, 2, 3, :6], 3, rope_frequencies(6), layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_batch_row_turns_by_its_own_positions(layout):
    x = torch.randn(2, 3, 4, 8, dtype=torch.float64)
    packed = torch.tensor([[0, 1, 0, 1], [5, 6, 7, 8]])
    frequencies = rope_frequencies(8)
    out = apply_rope(x, *rope_cos_sin(packed, frequencies, dtype=torch.float64), layout=layout)
    for row in range(2):
        alone = apply_rope(
            x[row : row + 1], *rope_cos_sin(packed[row], frequencies, dtype=torch.float64), layout=layout
        )
        torch.testing.assert_close(out[row : row + 1], alone, rtol=0, atol=0)


VIEWS = {
    "contiguous": lambda x: x,
    "heads and tokens swapped": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "every second dimension": lambda x: x.repeat_interleave(2, dim=-1)[..., ::2],
    "odd storage offset": lambda x: torch.cat((x[..., :1], x), dim=-1)[..., 1:],
    "odd stride, even offset": lambda x: torch.cat((x, x[..., :1]), dim=-1)[..., :-1],
    "expanded batch": lambda x: x[:1].expand(2, -1, -1, -1),
    "transposed width": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_strides_do_not_matter_and_the_input_is_left_alone(view, layout):
    x = VIEWS[view](torch.randn(2, 3, 5, 8, dtype=torch.float64))
    before = x.clone()
    cos, sin = rope_cos_sin(torch.arange(5), rope_frequencies(8), dtype=torch.float64)
    out = apply_rope(x, cos, sin, layout=layout)
    torch.testing.assert_close(out[1, 2, 4], turn_by_hand(x[1, 2, 4], 4, rope_frequencies(8), layout))
    torch.testing.assert_close(x, before, rtol=0, atol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-12), (torch.float32, 2e-6), (torch.float16, 5e-3), (torch.bfloat16, 3e-2)],
)
def test_every_dtype_is_kept_and_rounded_once(dtype, tolerance, layout):
    x = torch.randn(1, 2, 3, 64, generator=torch.Generator().manual_seed(1)).to(dtype)
    encoding = RotaryEncoding(64, layout=layout)
    at = torch.tensor([5, 1_000, 2**20])
    q, k = encoding.rotate(x, x, at, at)
    assert q.dtype == k.dtype == dtype
    for t, position in enumerate(at.tolist()):
        expected = turn_by_hand(x[0, 1, t], position, rope_frequencies(64), layout)
        error = (q[0, 1, t].double() - expected).abs().max().item()
        assert error <= tolerance  # half a unit in the last place of the largest element, plus float32's rounding


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4)])
def test_empty_batches_heads_and_sequences_stay_empty(shape, dtype, layout):
    x = torch.zeros(shape, dtype=dtype, requires_grad=True)
    q, k = RotaryEncoding(4, layout=layout).rotate(x, x, torch.arange(shape[2]), torch.arange(shape[2]))
    assert q.shape == k.shape == shape
    (q.sum() + k.sum()).backward()
    assert x.grad.shape == shape


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width", [4, 7])
def test_gradient_is_the_rotation_back(layout, width):
    x = torch.randn(1, 2, 3, width, dtype=torch.float64, requires_grad=True)
    cos, sin = rope_cos_sin(torch.arange(3), rope_frequencies(4), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: apply_rope(x, cos, sin, layout=layout), x)
    g = torch.randn_like(x)
    (back,) = torch.autograd.grad(apply_rope(x, cos, sin, layout=layout), x, g)
    torch.testing.assert_close(back, apply_rope(g, cos, -sin, layout=layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("heads", [1, 4, 7])
def test_low_precision_gradient_is_the_rotation_back_for_any_number_of_heads(layout, heads):
    x = torch.randn(2, heads, 3, 6, generator=torch.Generator().manual_seed(0)).bfloat16().requires_grad_()
    g = torch.randn(2, heads, 3, 6, generator=torch.Generator().manual_seed(1)).bfloat16()
    cos, sin = rope_cos_sin(torch.arange(3), rope_frequencies(4))
    out = apply_rope(x, cos, sin, layout=layout)
    torch.testing.assert_close(out.float(), apply_rope(x.float(), cos, sin, layout=layout), rtol=2**-8, atol=1e-6)
    (back,) = torch.autograd.grad(out, x, g)
    torch.testing.assert_close(back.float(), apply_rope(g.float(), cos, -sin, layout=layout), rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cos_and_sin_pass_gradients_for_learned_frequencies(layout):
    frequencies = rope_frequencies(4).requires_grad_()
    x = torch.randn(1, 1, 3, 4, dtype=torch.float64)

    def out(frequencies):
        return apply_rope(x, *rope_cos_sin(torch.arange(3), frequencies, dtype=torch.float64), layout=layout)

    assert torch.autograd.gradcheck(out, frequencies)


# The module


@given(st.data(), sizes, st.integers(1, 6), widths, st.tuples(float_dtypes, float_dtypes), seeds)
def test_module_turns_queries_and_keys_by_their_own_positions(data, batch, heads, width, dtypes, seed):
    (rotary, full), layout = width, data.draw(st.sampled_from(LAYOUTS))
    base, factor = data.draw(st.floats(2, 1e7)), data.draw(st.floats(0.1, 10) | st.none())
    frequencies = [base ** (-2 * k / rotary) for k in range(rotary // 2)]
    if factor is None:
        encoding = RotaryEncoding(full, base=base, layout=layout, rotary_dim=rotary)
    else:
        scaling = RopeScaling(torch.tensor(frequencies, dtype=torch.float64), factor)
        given_as = data.draw(st.sampled_from([scaling, lambda seq_len: scaling]))
        encoding = RotaryEncoding(full, layout=layout, rotary_dim=rotary, scaling=given_as)
    stride, both = data.draw(strides), []
    for dtype in dtypes:
        length = data.draw(sizes)
        at = data.draw(any_positions(fits(batch, length)))
        both.append((normal(seed + len(both), batch, heads, length, full, dtype=dtype), at))
    (q, q_at), (k, k_at) = both
    turned = encoding.rotate(stride(q), stride(k), stride(q_at), stride(k_at))
    compute = torch.promote_types(torch.promote_types(*dtypes), torch.float32)
    for (x, at), out in zip(both, turned, strict=True):
        angles = at.double()[..., None] * torch.tensor(frequencies, dtype=torch.float64)
        expected = turn_all(x, (factor or 1) * angles.cos(), (factor or 1) * angles.sin(), layout)
        assert (out.dtype, out.shape) == (x.dtype, x.shape)
        off = (angles.abs().max().item() if angles.numel() else 0) * 2**-50 * x.double().abs().sum().item()
        assert_within(rounding(x, expected, compute, factor or 1) + (factor or 1) * off, out, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoding_with_an_offset_equals_the_full_pass_in_both_cache_protocols(layout):
    encoding = RotaryEncoding(8, layout=layout)
    q, k, v = torch.randn(3, 2, 2, 6, 8, dtype=torch.float64)
    full = attention(q, k, v, encoding=encoding, causal=True)
    rotated_keys = []
    for t in range(6):
        step_q, past_k, past_v = q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1]
        unrotated_cache = attention(step_q, past_k, past_v, encoding=encoding, causal=True)
        torch.testing.assert_close(unrotated_cache, full[:, :, t : t + 1])

        here = torch.tensor([t])
        turned_q, turned_k = encoding.rotate(step_q, k[:, :, t : t + 1], here, here)
        rotated_keys.append(turned_k)
        rotated_cache = attention(turned_q, torch.cat(rotated_keys, dim=2), past_v, bias=encoding.bias(here, here))
        torch.testing.assert_close(rotated_cache, full[:, :, t : t + 1])


def test_packed_sequences_restart_positions_and_match_the_sequences_alone():
    encoding = RotaryEncoding(8)
    q, k, v = torch.randn(3, 1, 2, 7, 8, dtype=torch.float64)
    document = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    packed = torch.tensor([[0, 1, 2, 0, 1, 2, 3]])
    mask = document[:, None] == document[None, :]
    out = attention(q, k, v, encoding=encoding, mask=mask, causal=True, q_positions=packed, k_positions=packed)
    for part in (slice(0, 3), slice(3, 7)):
        alone = attention(q[:, :, part], k[:, :, part], v[:, :, part], encoding=encoding, causal=True)
        torch.testing.assert_close(out[:, :, part], alone)


def test_module_casts_do_not_round_frequencies():
    expected = rope_frequencies(64)
    q = torch.randn(1, 1, 1, 64)
    at = torch.tensor([2**20])
    right, _ = RotaryEncoding(64).rotate(q, q, at, at)
    for cast in (lambda m: m.bfloat16(), lambda m: m.half(), lambda m: m.to(torch.float16), copy.deepcopy):
        encoding = cast(RotaryEncoding(64))
        assert encoding.scaling.frequencies.tolist() == expected.tolist()
        torch.testing.assert_close(encoding.rotate(q, q, at, at)[0], right, rtol=0, atol=0)
    revived = pickle.loads(pickle.dumps(RotaryEncoding(64)))
    torch.testing.assert_close(revived.rotate(q, q, at, at)[0], right, rtol=0, atol=0)


def test_state_dict_is_empty(case):
    """Source: https://github.com/EleutherAI/gpt-neox/pull/1168 (non_persistent_buffers)."""
    assert list(RotaryEncoding(8).state_dict()) == case("non_persistent_buffers")["expected"]["state_dict_keys"]


def test_module_built_on_meta_has_right_frequencies(case):
    """Source: https://github.com/huggingface/transformers/issues/45902 (meta_device_init)."""
    with torch.device("meta"):
        encoding = RotaryEncoding(8)
        q = torch.empty(1, 1, 3, 8)
        assert encoding.rotate(q, q, torch.arange(3), torch.arange(3))[0].is_meta
    encoding = encoding.to_empty(device="cpu")
    assert encoding.scaling.frequencies.tolist() == pytest.approx(case("meta_device_init")["expected"]["inv_freq"])
    x = torch.ones(1, 1, 1, 8)
    turned, _ = encoding.rotate(x, x, torch.tensor([1]), torch.tensor([1]))
    torch.testing.assert_close(
        turned.flatten().double(), turn_by_hand(x.flatten(), 1, [1, 0.1, 0.01, 0.001], "interleaved")
    )


def test_dynamic_scaling_sees_the_longest_position_plus_one():
    seen = []

    def scaling(seq_len):
        seen.append(seq_len)
        return RopeScaling(rope_frequencies(4))

    encoding = RotaryEncoding(4, scaling=scaling)
    q, k = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 5, 4)
    encoding.rotate(q, k, torch.tensor([3, 4]), torch.arange(5))
    encoding.rotate(q, q, torch.tensor([[-9, 100]]), torch.tensor([[0, 7]]))
    encoding.rotate(q, q, torch.tensor([0.5, 2.5]), torch.tensor([0, 1]))
    encoding.rotate(q[:, :, :0], k, torch.arange(0), torch.arange(5))
    encoding.rotate(q[:, :, :0], q[:, :, :0], torch.arange(0), torch.arange(0))
    assert seen == [5, 101, 3, 5, 1]


def test_scaling_frequencies_and_factor_are_used():
    slow = RopeScaling(rope_frequencies(4) / 4, attention_factor=2.0)
    q = torch.randn(1, 1, 3, 4, dtype=torch.float64)
    at = torch.tensor([0, 4, 8])
    scaled, _ = RotaryEncoding(4, scaling=slow).rotate(q, q, at, at)
    plain, _ = RotaryEncoding(4).rotate(q, q, at // 4, at // 4)
    torch.testing.assert_close(scaled, 2 * plain)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_compiles_whole_at_two_lengths(layout, dtype, case):
    """Source: https://github.com/pytorch/pytorch/issues/97562 (compile_fullgraph_no_complex)."""
    torch.compiler.reset()
    encoding = RotaryEncoding(16, layout=layout, rotary_dim=12)
    compiled = torch.compile(encoding.rotate, fullgraph=True, backend="aot_eager")
    tolerance = case("compile_fullgraph_no_complex")["tolerance"]
    for length in (5, 9):
        q, k = torch.randn(2, 1, 2, length, 16).to(dtype).requires_grad_()
        at = torch.arange(length)
        for ours, theirs in zip(compiled(q, k, at, at), encoding.rotate(q, k, at, at), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0.02 if dtype == torch.bfloat16 else 0, atol=tolerance)


def test_one_compiled_function_serves_several_bases():
    torch.compiler.reset()
    turn = lambda encoding, q, at: encoding.rotate(q, q, at, at)[0]
    compiled = torch.compile(turn, fullgraph=True, backend="aot_eager")
    q, at = torch.randn(1, 1, 5, 8), torch.arange(5)
    for base in (1e4, 5e5, 1e6):
        encoding = RotaryEncoding(8, base=base)
        torch.testing.assert_close(compiled(encoding, q, at), turn(encoding, q, at))


def test_compiles_whole_with_every_size_dynamic():
    torch.compiler.reset()
    encoding = RotaryEncoding(8)
    compiled = torch.compile(encoding.rotate, fullgraph=True, dynamic=True, backend="aot_eager")
    q, at = torch.randn(1, 1, 5, 8), torch.arange(5)
    torch.testing.assert_close(compiled(q, q, at, at)[0], encoding.rotate(q, q, at, at)[0])


def test_dynamic_scaling_takes_positions_of_any_integer_dtype():
    encoding = RotaryEncoding(4, scaling=lambda seq_len: RopeScaling(rope_frequencies(4) / seq_len))
    q, at = torch.randn(1, 1, 3, 4), torch.arange(3)
    torch.testing.assert_close(
        encoding.rotate(q, q, at.to(torch.uint16), at.to(torch.uint16)), encoding.rotate(q, q, at, at)
    )


# Faults of public code (cases.json)


@pytest.mark.parametrize("name", ["rope_half_d4_pos1", "rope_interleaved_d4_pos1", "rope_mixed_layout_bug"])
def test_four_dimensions_by_hand(name, case):
    """Source: https://github.com/huggingface/transformers/issues/25199 and how-to-train-your-gpt issue 6."""
    given_case = case(name)
    inputs = given_case["inputs"]
    x = torch.tensor(inputs["x"], dtype=torch.float64)
    out = rope_at(x, inputs["pos"], base=inputs["base"], layout=inputs["layout"])
    assert out.tolist() == pytest.approx(given_case["expected"], abs=given_case["tolerance"])


def test_half_precision_positions_do_not_reach_the_angle(case):
    """Source: https://github.com/EleutherAI/gpt-neox/issues/1003 (rope_fp16_angle)."""
    given_case = case("rope_fp16_angle")
    inputs, expected = given_case["inputs"], given_case["expected"]
    at = torch.tensor([inputs["pos"]])
    frequencies = rope_frequencies(inputs["d"], base=inputs["base"])
    assert rope_angles(at, frequencies)[0, inputs["pair"]].item() == pytest.approx(expected["angle"], abs=1e-9)
    cos, sin = rope_cos_sin(at, frequencies)
    assert cos[0, inputs["pair"]].item() == pytest.approx(expected["cos"], abs=given_case["tolerance"])
    assert sin[0, inputs["pair"]].item() == pytest.approx(expected["sin"], abs=given_case["tolerance"])


def test_bfloat16_queries_turn_by_exact_positions_and_poison_nothing(case):
    """Source: https://github.com/nkalyanv99/UNI-D2/pull/6; rotary-embedding-torch 0.9.1 (rope_bf16_position)."""
    given_case = case("rope_bf16_position")
    inputs = given_case["inputs"]
    encoding = RotaryEncoding(inputs["d"])
    at = torch.tensor([inputs["pos"]])
    x = torch.zeros(1, 1, 1, inputs["d"])
    x[..., :2] = torch.tensor(inputs["x_pair0"])
    for dtype, tolerance in ((torch.bfloat16, given_case["tolerance"]), (torch.float32, 1e-6)):
        turned, _ = encoding.rotate(x.to(dtype), x.to(dtype), at, at)
        assert turned.flatten()[:2].tolist() == pytest.approx(given_case["expected"], abs=tolerance)


def test_cosine_is_taken_before_any_cast(case):
    """Source: https://github.com/huggingface/transformers/issues/25681 (rope_cos_table_bf16_cast)."""
    given_case = case("rope_cos_table_bf16_cast")
    cos, _ = rope_cos_sin(torch.tensor([1]), torch.tensor([given_case["inputs"]["angle"]], dtype=torch.float64))
    assert cos.item() == pytest.approx(given_case["expected"]["cos"], abs=given_case["tolerance"])


def test_no_table_is_outgrown(case):
    """Source: https://github.com/karpathy/nanochat/pull/520 (rope_cache_overflow)."""
    given_case = case("rope_cache_overflow")
    inputs = given_case["inputs"]
    encoding = RotaryEncoding(inputs["d"], layout=inputs["layout"])
    short = torch.randn(1, 1, inputs["initial_cache"], inputs["d"])
    at = torch.arange(inputs["initial_cache"])
    encoding.rotate(short, short, at, at)
    x = torch.tensor(inputs["x"]).view(1, 1, 1, -1)
    far = torch.tensor([inputs["pos"]])
    turned, _ = encoding.rotate(x, x, far, far)
    assert turned.flatten().tolist() == pytest.approx(given_case["expected"], abs=1e-5)


def test_odd_head_dim_is_refused_at_construction(case):
    """Source: https://github.com/huggingface/transformers/issues/35233 (rope_odd_dim)."""
    with pytest.raises(ValueError, match=r"head_dim must be even .* got 65"):
        RotaryEncoding(case("rope_odd_dim")["inputs"]["head_dim"])


def test_decay_is_not_general(case):
    """Source: RoFormer §3.4.3 against Barbero et al. 2024, Prop. 3.1 (rope_ones_decay_is_not_general)."""
    given_case = case("rope_ones_decay_is_not_general")
    inputs, expected = given_case["inputs"], given_case["expected"]
    dim = inputs["d"]
    frequencies = rope_frequencies(dim, base=inputs["base"])
    distances = torch.arange(4097)
    mean_cos = rope_angles(distances, frequencies).cos().mean(dim=-1)
    for distance, value in expected["mean_cos_ones"].items():
        assert mean_cos[int(distance)].item() == pytest.approx(value, abs=given_case["tolerance"])
    assert int((mean_cos < 0).nonzero()[0]) == 1707

    q = torch.zeros(1, 1, 2049, dim, dtype=torch.float64)
    q[..., ::2] = 1
    key = apply_rope(q[:, :, :1], *rope_cos_sin(torch.tensor([300]), frequencies, dtype=torch.float64))
    queries = apply_rope(q, *rope_cos_sin(torch.arange(2049), frequencies, dtype=torch.float64))
    assert (queries @ key.transpose(-2, -1)).argmax().item() == expected["argmax_distance"]


# Hostile input

x4 = torch.ones(2, 3, 5, 8)
table = torch.ones(5, 4)
BAD_CALLS = [
    (lambda: rope_frequencies(7), ValueError, "head_dim must be even"),
    (lambda: rope_frequencies(0), ValueError, "head_dim must be an integer >= 2"),
    (lambda: rope_frequencies(8.0), TypeError, "head_dim must be an integer"),
    (lambda: rope_frequencies(True), TypeError, "head_dim must be an integer"),
    (lambda: rope_frequencies(8, base=0), ValueError, "base must be a finite number > 0"),
    (lambda: rope_frequencies(8, base=math.inf), ValueError, "base must be a finite number > 0"),
    (lambda: rope_frequencies(8, base="10000"), TypeError, "base must be a finite number > 0"),
    (lambda: rope_angles([0, 1], rope_frequencies(8)), TypeError, "positions must be an integer or floating tensor"),
    (lambda: rope_angles(torch.tensor([True]), rope_frequencies(8)), TypeError, "positions .* torch.bool"),
    (lambda: rope_angles(torch.tensor([math.nan]), rope_frequencies(8)), ValueError, "positions must be finite"),
    (lambda: rope_angles(torch.arange(3), torch.ones(2, 2)), ValueError, r"frequencies must have shape \(d/2,\)"),
    (lambda: rope_angles(torch.arange(3), torch.arange(2)), TypeError, "dtype of frequencies"),
    (lambda: rope_cos_sin(torch.ones(2, 2, 2), rope_frequencies(8)), ValueError, r"positions must have shape \(T,\)"),
    (lambda: rope_cos_sin(torch.tensor(3), rope_frequencies(8)), ValueError, r"positions must have shape \(T,\)"),
    (lambda: rope_cos_sin(torch.arange(3), rope_frequencies(8), dtype=torch.int64), TypeError, "dtype must be"),
    (lambda: rope_cos_sin(torch.arange(3), rope_frequencies(8), attention_factor=0), ValueError, "attention_factor"),
    (lambda: apply_rope(x4[0], table, table), ValueError, r"x must have shape \(B, H, T, Dh\)"),
    (lambda: apply_rope(x4.long(), table, table), TypeError, "dtype of x must be a floating"),
    (lambda: apply_rope(x4.to(torch.complex64), table, table), TypeError, "dtype of x must be a floating"),
    (lambda: apply_rope([[1.0]], table, table), TypeError, "x must be a floating tensor"),
    (lambda: apply_rope(x4, table.long(), table), TypeError, "dtype of cos"),
    (lambda: apply_rope(x4, table[:4], table[:4]), ValueError, r"cos must have shape \(5, r/2\)"),
    (lambda: apply_rope(x4, table[:1], table[:1]), ValueError, r"cos must have shape \(5, r/2\)"),
    (lambda: apply_rope(x4, torch.ones(1, 5, 4), torch.ones(1, 5, 4)), ValueError, "cos must have shape"),
    (lambda: apply_rope(x4, torch.ones(5, 5), torch.ones(5, 5)), ValueError, "1 <= r/2 <= 4"),
    (lambda: apply_rope(x4[..., :7], table, table), ValueError, "1 <= r/2 <= 3"),
    (lambda: apply_rope(x4, table[:, :0], table[:, :0]), ValueError, "1 <= r/2 <= 4"),
    (lambda: apply_rope(x4, torch.tensor(1.0), torch.tensor(1.0)), ValueError, "cos must have shape"),
    (lambda: apply_rope(x4, table, table[:, :3]), ValueError, "sin must have the shape of cos"),
    (lambda: apply_rope(x4, table, table, layout="neox"), ValueError, "layout must be one of 'interleaved', 'half'"),
    (lambda: apply_rope(x4, table, table, layout=None), ValueError, "layout must be one of"),
    (lambda: apply_rope(x4, table.to("meta"), table), ValueError, "cos is on meta but x is on cpu"),
    (lambda: interleaved_to_half(torch.ones(12), 8), ValueError, r"weight must have shape \(H·8, …\)"),
    (lambda: interleaved_to_half(torch.tensor(1.0), 8), ValueError, "weight must have shape"),
    (lambda: interleaved_to_half([1.0] * 8, 8), TypeError, "weight must be a tensor"),
    (lambda: half_to_interleaved(torch.ones(14), 7), ValueError, "head_dim must be even"),
    (lambda: half_to_interleaved(torch.ones(8), 8, rotary_dim=10), ValueError, "rotary_dim must be at most head_dim 8"),
    (lambda: half_to_interleaved(torch.ones(8), 8, rotary_dim=3), ValueError, "rotary_dim must be even"),
    (lambda: RopeScaling(torch.ones(2, 2)), ValueError, "frequencies must have shape"),
    (lambda: RopeScaling(torch.tensor([1.0, math.nan])), ValueError, "frequencies must be finite, got nan"),
    (
        lambda: rope_cos_sin(torch.arange(2), torch.tensor([math.inf])),
        ValueError,
        "frequencies must be finite",
    ),
    (lambda: RopeScaling(torch.ones(2), attention_factor=-1), ValueError, "attention_factor"),
    (lambda: RotaryEncoding(8, layout="neither"), ValueError, "layout must be one of"),
    (lambda: RotaryEncoding(8, base=1e4, scaling=RopeScaling(torch.ones(4))), ValueError, "base .* with scaling"),
    (lambda: RotaryEncoding(8, scaling=RopeScaling(torch.ones(3))), ValueError, "rotary_dim/2 = 4 frequencies, got 3"),
    (lambda: RotaryEncoding(8, scaling=2.0), TypeError, "scaling must be a RopeScaling"),
    (
        lambda: RotaryEncoding(8, scaling=lambda n: n).rotate(x4, x4, torch.arange(5), torch.arange(5)),
        TypeError,
        "scal",
    ),
    (lambda: RotaryEncoding(6).rotate(x4, x4, torch.arange(5), torch.arange(5)), ValueError, "q must have head_dim 6"),
    (lambda: RotaryEncoding(8).rotate(x4, x4, torch.arange(4), torch.arange(5)), ValueError, "q_positions must have"),
    (lambda: RotaryEncoding(8).rotate(x4, x4, torch.arange(5), torch.ones(1, 5)), ValueError, "k_positions must have"),
    (lambda: RotaryEncoding(8).rotate(x4, x4, None, torch.arange(5)), TypeError, "q_positions must be an integer or"),
    (lambda: RotaryEncoding(8).rotate(x4.long(), x4, torch.arange(5), torch.arange(5)), TypeError, "dtype of q"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("mapped", [0, 1, 2])
def test_apply_rope_maps_over_any_one_of_its_tensors_in_half_precision(mapped):
    arguments = [torch.randn(1, 32, 5, 8).bfloat16(), torch.rand(5, 4), torch.rand(5, 4)]  # heads enough for blocks
    arguments[mapped] = torch.stack((arguments[mapped], -arguments[mapped]))
    found = torch.func.vmap(apply_rope, in_dims=tuple(0 if i == mapped else None for i in range(3)))(*arguments)
    for i in range(2):
        one = [argument[i] if j == mapped else argument for j, argument in enumerate(arguments)]
        assert torch.equal(found[i], apply_rope(*one))
