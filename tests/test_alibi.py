"""ALiBi: slopes against decimals, the bias by hand, and the fused attention against the dense formula."""

import copy
import itertools
import math
import os
import pickle
import subprocess
import sys
import warnings
from decimal import Decimal, localcontext

import pytest
import torch
import torch._dynamo.exc
import torch.autograd.forward_ad as fwad
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask
from torch.utils.flop_counter import FlopCounterMode

from posenc_lib import alibi
from posenc_lib.alibi import AlibiBias, alibi_attention, alibi_bias, alibi_slopes
from posenc_lib.attention import attention, positions_from_mask
from tests.properties import assert_within, fits, float_dtypes, normal, positions, seeds, sizes, strides

at = torch.arange(4)
half = torch.tensor([0.5])


def dense(q, k, v, slopes, causal):
    """The formula in float64, independent of the library."""
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    offset = torch.arange(n_keys) - torch.arange(n_keys - n_queries, n_keys)[:, None]
    scores = q.double() @ k.double().mT / math.sqrt(q.shape[-1])
    scores = scores - slopes.double()[:, None, None] * offset.abs()
    if causal:
        scores = scores.masked_fill(offset > 0, -math.inf)
    return scores.softmax(-1) @ v.double()


def random_qkv(batch, heads, n_queries, n_keys, width, dtype=torch.float32):
    torch.manual_seed(0)
    shapes = ((n_queries, width), (n_keys, width), (n_keys, width))
    return [torch.randn(batch, heads, *shape, dtype=torch.float64).to(dtype) for shape in shapes]


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12])
def test_slopes_are_the_authors(case, heads):
    """Source: get_slopes of ofirpress/attention_with_linear_biases; wrong is 2^(−8(h+1)/n) when n is no power of 2."""
    known = case(f"alibi_slopes_h{heads}")
    assert alibi_slopes(heads).tolist() == pytest.approx(known["expected"], abs=known["tolerance"])
    assert alibi_slopes(heads).tolist() != pytest.approx(known["wrong_behaviour_value"], abs=known["tolerance"])


def test_slopes_are_the_float32_nearest_to_the_exact_value():
    def exact(heads):
        power = 1 << (heads.bit_length() - 1)
        places = [(8 * h, power) for h in range(1, power + 1)] + [(4 * h, power) for h in range(1, 2 * power, 2)]
        return [1 / (2 ** (Decimal(over) / under)) for over, under in places[:heads]]

    with localcontext() as context:
        context.prec = 60
        for heads in (*range(1, 70), 96, 112, 128, 200):
            slopes = alibi_slopes(heads)
            assert slopes.dtype == torch.float32
            below, above = slopes.nextafter(torch.tensor(0.0)), slopes.nextafter(torch.tensor(1.0))
            for value, *neighbours in zip(exact(heads), slopes, below, above, strict=True):
                nearest, *others = (abs(Decimal(number.item()) - value) for number in neighbours)
                assert nearest < min(others)


def test_bias_is_a_penalty_not_a_reward(case):
    """Source: attention-gym #86 (sign)."""
    sign = case("alibi_sign")
    inputs = sign["inputs"]
    bias = alibi_bias(torch.tensor([inputs["q_pos"]]), torch.tensor([inputs["k_pos"]]), torch.tensor([inputs["slope"]]))
    assert bias.tolist() == [[[sign["expected"]]]]


@pytest.mark.parametrize("name", ["alibi_bottom_right_qlen_ne_klen", "alibi_symmetric_qlen_ne_klen"])
def test_few_queries_are_the_last_of_the_keys(case, name):
    """Source: x-transformers #153, flash-attention #907 and #1585 (alignment when lengths differ)."""
    known = case(name)
    inputs = known["inputs"]
    n_queries, n_keys = inputs["q_len"], inputs["k_len"]
    bias = alibi_bias(torch.arange(n_keys)[-n_queries:], torch.arange(n_keys), torch.tensor([inputs["slope"]]))[0]
    expected = torch.tensor([[float(number) for number in row] for row in known["expected"]])
    assert torch.equal(bias[expected.isfinite()], expected[expected.isfinite()])
    # The same through attention: weights of equal scores are the softmax of the bias alone.
    q, k = torch.zeros(1, 1, n_queries, 4), torch.zeros(1, 1, n_keys, 4)
    _, weights = attention(q, k, k, encoding=AlibiBias(1), bias=None, causal=inputs["causal"], return_weights=True)
    slope = AlibiBias(1).slopes.item() / inputs["slope"]
    torch.testing.assert_close(weights[0, 0], (expected * slope).softmax(-1), atol=1e-6, rtol=0)


def test_casting_the_module_does_not_round_its_slopes(case):
    """Source: flash-attention #845 (slopes in bfloat16)."""
    cast = case("alibi_slope_cast")
    inputs = cast["inputs"]
    encoding = AlibiBias(inputs["heads"]).to(getattr(torch, inputs["module_cast"]))
    bias = encoding.bias(torch.tensor([inputs["distance"]]), torch.tensor([0]))[inputs["head"], 0, 0]
    assert bias.item() == pytest.approx(cast["expected"], abs=cast["tolerance"])
    assert bias.item() != pytest.approx(cast["wrong_behaviour_value"], abs=cast["tolerance"])


def test_left_padding_changes_nothing_for_real_tokens(case):
    """Source: BLOOM's build_alibi_tensor; PaddleNLP #6495. Theirs is +slope·position, ours −slope·distance."""
    padded = case("alibi_left_padding")
    mask, heads = torch.tensor([padded["inputs"]["attention_mask"]]), padded["inputs"]["heads"]
    positions = positions_from_mask(mask)
    assert positions.tolist() == [padded["expected"]["positions"]]
    row = AlibiBias(heads).bias(positions, positions)[0, 0, -1]
    theirs = torch.tensor(padded["expected"]["bias_head0_row_last"])
    real = mask[0].bool()
    gap = (theirs - row)[real]
    torch.testing.assert_close(gap, gap[:1].expand(3), atol=padded["tolerance"], rtol=0)

    q, k, v = random_qkv(1, heads, 5, 5, 4, torch.float64)
    out = attention(q, k, v, encoding=AlibiBias(heads), mask=mask.bool()[:, None, None], q_positions=positions,
                    k_positions=positions, causal=True)  # fmt: skip
    alone = dense(q[..., 2:, :], k[..., 2:, :], v[..., 2:, :], alibi_slopes(heads), causal=True)
    torch.testing.assert_close(out[..., 2:, :], alone, atol=1e-12, rtol=0)


def test_bias_is_added_after_scaling(case):
    """Source: ALiBi paper, footnote 10; TensorRT-Model-Connect #32 (Falcon-RW adds it before 1/√d)."""
    known = case("alibi_not_scaled_by_sqrt_d")
    inputs = known["inputs"]
    width, distance, slope = inputs["d"], inputs["distance"], inputs["slope"]
    q, k = torch.zeros(1, 1, 1, width, dtype=torch.float64), torch.zeros(1, 1, 2, width, dtype=torch.float64)
    q[..., 0], k[..., 0, 0] = 1, inputs["q_dot_k"]
    bias = alibi_bias(torch.tensor([distance]), torch.tensor([0, distance]), torch.tensor([slope]))
    _, weights = attention(q, k, k, bias=bias, return_weights=True)
    score = (weights[0, 0, 0, 0] / weights[0, 0, 0, 1]).log()  # the other key scores 0
    assert score.item() == pytest.approx(known["expected"], abs=known["tolerance"])


@given(st.data(), st.integers(1, 3), st.integers(1, 5), float_dtypes, float_dtypes, strides, seeds)
def test_bias_is_slope_times_distance(data, batch, heads, slope_dtype, dtype, stride, seed):
    q, k = (data.draw(positions(fits(batch, data.draw(sizes)))) for _ in range(2))
    slopes = normal(seed, heads).abs().to(slope_dtype)
    bias = alibi_bias(stride(q), stride(k), stride(slopes), dtype=dtype)
    distance = (k.double()[..., None, :] - q.double()[..., :, None]).abs()  # exact: positions reach to 2^40
    exact = -slopes.double()[:, None, None] * distance.unsqueeze(-3)
    assert (bias.dtype, bias.shape) == (dtype, exact.shape)
    # positions that are all float32 or narrower are subtracted in float32, which rounds at the size of the result
    rounding = torch.finfo(dtype).eps / 2 + 2 * torch.finfo(torch.float32).eps
    largest = torch.finfo(dtype).max
    overflow = exact < -largest
    assert (bias[overflow] <= -largest).all()
    assert_within((rounding * exact.abs() + torch.finfo(dtype).smallest_normal)[~overflow], bias[~overflow],
                  exact[~overflow])  # fmt: skip
    assert alibi_bias(*(t.to("meta") for t in (q, k, slopes)), dtype=dtype).shape == bias.shape


@given(
    st.lists(st.floats(-1000, 1000, width=16), min_size=1, max_size=4),
    st.lists(st.floats(-1000, 1000, width=16), min_size=1, max_size=4),
    st.integers(-100_000, 100_000),
    st.integers(1, 5),
)
def test_bias_depends_on_offset_only(queries, keys, shift, heads):
    slopes = alibi_slopes(heads).double()
    q, k = torch.tensor(queries, dtype=torch.float64), torch.tensor(keys, dtype=torch.float64)
    moved = alibi_bias(q + shift, k + shift, slopes, dtype=torch.float64)
    torch.testing.assert_close(moved, alibi_bias(q, k, slopes, dtype=torch.float64), atol=1e-9, rtol=0)


def test_batched_positions_give_each_row_its_own_bias():
    q, k = torch.tensor([[0, 1, 0], [5, 6, 7]]), torch.tensor([[0, 1, 2, 3], [7, 6, 5, 4]])
    bias = alibi_bias(q, k, alibi_slopes(3))
    assert bias.shape == (2, 3, 3, 4)
    for row in range(2):
        assert torch.equal(bias[row], alibi_bias(q[row], k[row], alibi_slopes(3)))
    assert torch.equal(alibi_bias(q, k[0], alibi_slopes(3))[1], alibi_bias(q[1], k[0], alibi_slopes(3)))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_narrow_integers_do_not_wrap(dtype):
    low, high = torch.tensor([torch.iinfo(dtype).min]).to(dtype), torch.tensor([torch.iinfo(dtype).max]).to(dtype)
    assert alibi_bias(low, high, half).item() == alibi_bias(high, low, half).item() == -127.5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("slope_dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_only_the_last_step_is_cast(dtype, slope_dtype):
    slopes = alibi_slopes(12).to(slope_dtype)
    bias = alibi_bias(torch.tensor([2047]), torch.tensor([0]), slopes, dtype=dtype)
    exact = -2047 * slopes.double()
    assert bias.dtype == dtype
    rounding = torch.finfo(dtype).eps + torch.finfo(torch.float32).eps
    torch.testing.assert_close(bias[:, 0, 0].double(), exact, atol=0, rtol=rounding)


def test_module_keeps_nothing_in_its_state():
    assert list(AlibiBias(8).state_dict()) == []


@pytest.mark.parametrize(
    "travel",
    [
        lambda m: m.bfloat16(),
        lambda m: m.half(),
        lambda m: m.double(),
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: m.to_empty(device="cpu"),
    ],
)
@pytest.mark.parametrize("made_on", ["cpu", "meta"])
def test_module_is_right_after_casts_copies_and_meta(travel, made_on):
    with torch.device(made_on):
        encoding = AlibiBias(12)
    bias = travel(encoding).bias(at, at)
    assert bias.dtype == torch.float32
    slopes = torch.tensor([2.0**-h for h in range(1, 9)] + [2.0 ** -(h / 2) for h in (1, 3, 5, 7)])
    assert torch.equal(bias, -slopes[:, None, None] * (at[:, None] - at).abs())


def test_meta_tensors_pass_through():
    assert AlibiBias(8).bias(at.to("meta"), at.to("meta")).shape == (8, 4, 4)
    q = torch.zeros(1, 2, 4, 8, device="meta")
    assert alibi_attention(q[:, :, :0], q, q, alibi_slopes(2).to("meta")).shape == (1, 2, 0, 8)


def test_no_tokens_give_no_bias():
    assert AlibiBias(8).bias(at[:0], at).shape == (8, 0, 4)


def test_gradients_reach_slopes_and_positions():
    slopes = alibi_slopes(2).double().requires_grad_()
    q = torch.tensor([0.0, 2.5], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([1.0, 4.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda s, p: alibi_bias(p, k, s, dtype=torch.float64), (slopes, q))


def test_bias_compiles_whole_at_two_lengths():
    encoding = AlibiBias(3)
    bias = torch.compile(encoding.bias, fullgraph=True)
    for length in (5, 9):
        assert torch.equal(bias(torch.arange(length), torch.arange(length)), encoding.bias(*[torch.arange(length)] * 2))


def test_repr_says_what_it_was_made_with():
    assert repr(AlibiBias(8)) == "AlibiBias(8)"


# Fused attention


@pytest.fixture
def said():
    """Reasons given while the test runs, as if nothing had been said before."""
    alibi._say_once.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lambda: [str(w.message) for w in caught if "alibi_attention" in str(w.message)]
    alibi._say_once.cache_clear()


@pytest.fixture(scope="module")
def said_nothing():
    """Whatever is said is an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "alibi_attention builds")
        yield


@pytest.mark.parametrize(("n_queries", "n_keys"), [*itertools.product((1, 5, 128, 129, 300), repeat=2)])
def test_block_mask_in_closed_form_is_the_one_torch_finds_by_looking(n_queries, n_keys):
    if n_queries > n_keys:
        n_queries, n_keys = n_keys, n_queries
    offset = n_keys - n_queries
    looked = create_block_mask(lambda b, h, i, j: j <= i + offset, None, None, n_queries, n_keys, device="cpu")
    blocks = alibi._causal_blocks(n_queries, n_keys, torch.device("cpu"))
    assert blocks.shape == looked.shape
    for ours, theirs in ((blocks.kv_num_blocks, looked.kv_num_blocks),
                         (blocks.full_kv_num_blocks, looked.full_kv_num_blocks)):  # fmt: skip
        assert torch.equal(ours, theirs)
    assert torch.equal(blocks.to_dense(), looked.to_dense())


def test_fused_attention_is_the_dense_formula_at_every_length(said):
    for n_queries, n_keys, causal in [(300, 300, True), (150, 150, True), (129, 270, True), (200, 170, False)]:
        q, k, v = random_qkv(1, 3, n_queries, n_keys, 16)
        q = q.transpose(1, 2).contiguous().transpose(1, 2)  # as a projection leaves it
        out = alibi_attention(q, k, v, alibi_slopes(3), causal=causal)
        torch.testing.assert_close(out.double(), dense(q, k, v, alibi_slopes(3), causal), atol=2e-6, rtol=0)
    assert said() == []


def near_dense(out, q, k, v, slopes, causal):
    """Each weight and the result rounded to v's dtype, and float32's rounding of scores of a few units."""
    expected, size = (dense(q, k, values, slopes, causal) for values in (v, v.abs()))
    assert (out.dtype, out.shape) == (v.dtype, expected.shape)
    assert_within(torch.finfo(v.dtype).eps * size + 1e-5, out, expected)


@given(st.data(), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), sizes, float_dtypes, st.booleans(), seeds)
@pytest.mark.filterwarnings("ignore:alibi_attention builds the dense bias")
def test_dense_form_is_the_formula_for_any_input(data, batch, heads, width, v_width, dtype, causal, seed):
    n_queries, n_keys = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 6))
    n_queries = min(n_queries, n_keys)
    q, k = (normal(seed + i, batch, heads, n, width, dtype=dtype) for i, n in enumerate((n_queries, n_keys)))
    v = normal(seed + 2, batch, heads, n_keys, v_width, dtype=dtype)
    slopes = normal(seed + 3, heads).abs().to(data.draw(float_dtypes))
    stride = data.draw(strides)
    # slopes that need gradients go dense in every dtype
    out = alibi_attention(stride(q), stride(k), stride(v), stride(slopes).requires_grad_(), causal=causal)
    near_dense(out.detach(), q, k, v, slopes.detach(), causal)


@pytest.mark.slow  # compiles for each dtype and kind of length, so it does not shrink a failure either
@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.sampled_from([torch.float32, torch.bfloat16]), st.integers(1, 300), st.integers(0, 300), st.booleans(), seeds)
def test_fused_form_is_the_formula_at_any_length(said_nothing, dtype, n_queries, earlier, causal, seed):
    q, k, v = (normal(seed + i, 1, 2, n_queries + earlier, 16, dtype=dtype) for i in range(3))
    q, slopes = q[:, :, earlier:], normal(seed + 3, 2).abs()
    near_dense(alibi_attention(q, k, v, slopes, causal=causal), q, k, v, slopes, causal)


def test_fused_attention_in_bfloat16(said):
    q, k, v = random_qkv(1, 3, 140, 140, 16, torch.bfloat16)
    out = alibi_attention(q, k, v, alibi_slopes(3))
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.double(), dense(q, k, v, alibi_slopes(3), True), atol=0.03, rtol=0)
    assert said() == []


def test_no_gradient_wanted_is_no_reason_to_go_dense(said):
    q, k, v = random_qkv(1, 3, 140, 140, 16)
    with torch.no_grad():
        out = alibi_attention(q.requires_grad_(), k, v, alibi_slopes(3).requires_grad_())
    torch.testing.assert_close(out.double(), dense(q.detach(), k, v, alibi_slopes(3), True), atol=2e-6, rtol=0)
    assert said() == []
    assert not hasattr(q, "_dynamo_static_indices")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda q, s: (q.requires_grad_(), s), "no backward pass on a CPU"),
        (lambda q, s: (q, s.requires_grad_()), "slopes need gradients"),
        (lambda q, s: (q.double(), s), "float32, bfloat16 and float16 alone"),
        (lambda q, s: (q.to("meta"), s.to("meta")), "no kernel is known to work on meta"),
    ],
)
def test_dense_form_serves_where_flex_cannot_and_says_so_once(said, change, reason):
    q, slopes = change(random_qkv(2, 3, 9, 9, 5)[0], alibi_slopes(3))
    for _ in range(2):
        out = alibi_attention(q, q, q, slopes)
    (message,) = said()
    assert reason in message
    if out.device.type != "meta":
        torch.testing.assert_close(out.double(), dense(q, q, q, slopes, True), atol=2e-6, rtol=0)


@pytest.mark.filterwarnings("ignore:alibi_attention builds the dense bias")
def test_gradients_are_those_of_the_formula():
    q, k, v = (tensor.requires_grad_() for tensor in random_qkv(1, 2, 3, 5, 4, torch.float64))
    slopes = alibi_slopes(2).double().requires_grad_()
    ours = torch.autograd.grad(alibi_attention(q, k, v, slopes).square().sum(), (q, k, v, slopes))
    theirs = torch.autograd.grad(dense(q, k, v, slopes, True).square().sum(), (q, k, v, slopes))
    for ours_one, theirs_one in zip(ours, theirs, strict=True):
        torch.testing.assert_close(ours_one, theirs_one, atol=1e-6, rtol=0)  # the bias is float32


class NoCompiler(torch._dynamo.exc.BackendCompilerFailed):
    """What torch.compile raises, without the state of a real compilation."""

    def __init__(self):
        RuntimeError.__init__(self, "no compiler\nmore")


@pytest.mark.parametrize(
    ("error", "tries", "why"),
    [
        (NoCompiler(), 1, "NoCompiler: no compiler"),
        (RuntimeError("no compiler\nmore"), 2, "RuntimeError: no compiler"),
        (NotImplementedError(), 2, "NotImplementedError: "),
    ],
)
def test_a_failed_compilation_is_tried_once_another_error_again_and_each_said_once(
    said, monkeypatch, error, tries, why
):
    calls = []

    def fails(*args):
        calls.append(args)
        raise error

    monkeypatch.setattr(alibi, "_flex", fails)
    monkeypatch.setattr(alibi, "_not_compiled", {})
    q, k, v = random_qkv(1, 3, 9, 9, 5)
    for _ in range(2):
        out = alibi_attention(q, k, v, alibi_slopes(3))
        torch.testing.assert_close(out.double(), dense(q, k, v, alibi_slopes(3), True), atol=2e-6, rtol=0)
    assert len(calls) == tries
    assert [message.rpartition("serve: ")[2] for message in said()] == [why]


def test_running_out_of_memory_is_not_a_failed_compilation(monkeypatch):
    def fails(*args):
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(alibi, "_flex", fails)
    with pytest.raises(torch.OutOfMemoryError, match="full"):
        alibi_attention(*random_qkv(1, 3, 9, 9, 5), alibi_slopes(3))


def test_a_machine_without_a_compiler_gets_the_dense_form(tmp_path):
    script = (
        "import torch, warnings\n"
        "from posenc_lib.alibi import alibi_attention, alibi_slopes\n"
        "warnings.simplefilter('error', RuntimeWarning)\n"
        "q = torch.ones(1, 2, 3, 4)\n"
        "print(alibi_attention(q, q, q, alibi_slopes(2)).mean().item())\n"
    )
    bare = os.environ | {"CXX": str(tmp_path / "none"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", script], env=bare, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(1)
    assert done.stderr.count("UserWarning: alibi_attention builds the dense bias") == 1


def test_attention_compiles_whole_at_two_lengths():
    compiled = torch.compile(alibi_attention, fullgraph=True, backend="aot_eager")  # dense: no kernel to write
    for length in (5, 9):
        q, k, v = random_qkv(1, 3, length, length, 4)
        out = compiled(q, k, v, alibi_slopes(3))
        torch.testing.assert_close(out.double(), dense(q, k, v, alibi_slopes(3), True), atol=2e-6, rtol=0)


@pytest.mark.parametrize(("n_queries", "batch"), [(0, 1), (3, 0)])
def test_nothing_in_gives_nothing_out(n_queries, batch):
    q, k, v = random_qkv(batch, 2, n_queries, 3, 4)
    assert alibi_attention(q, k, v, alibi_slopes(2)).shape == (batch, 2, n_queries, 4)


q = torch.zeros(1, 2, 4, 8)
two = alibi_slopes(2)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: alibi_slopes(0), ValueError, "num_heads must be an integer >= 1, got 0"),
        (lambda: alibi_slopes(8.0), TypeError, "num_heads"),
        (lambda: AlibiBias(-1), ValueError, "num_heads"),
        (lambda: AlibiBias("8"), TypeError, "num_heads"),
        (lambda: AlibiBias(2).bias([0, 1], at), TypeError, "q_positions"),
        (lambda: AlibiBias(2).bias(at, at.bool()), TypeError, "k_positions"),
        (lambda: AlibiBias(2).bias(at[0], at), ValueError, r"q_positions must have shape \(T,\) or \(B, T\)"),
        (lambda: alibi_bias(at, at / 0, half), ValueError, "k_positions must be finite"),
        (lambda: alibi_bias(at.expand(2, 4), at.expand(3, 4), half), ValueError, "k_positions must have the batch"),
        (lambda: alibi_bias(at, at.to("meta"), half), ValueError, "k_positions is on meta"),
        (lambda: alibi_bias(at, at, half.to("meta")), ValueError, "slopes is on meta"),
        (lambda: alibi_bias(at, at, 0.5), TypeError, "slopes must be a floating tensor"),
        (lambda: alibi_bias(at, at, at), TypeError, "slopes"),
        (lambda: alibi_bias(at, at, half[0]), ValueError, r"slopes must have shape \(H,\), got \(\)"),
        (lambda: alibi_bias(at, at, -half), ValueError, "slopes must be finite and >= 0, got -0.5"),
        (lambda: alibi_bias(at, at, half / 0), ValueError, "slopes must be finite and >= 0, got inf"),
        (lambda: alibi_bias(at, at, half * math.nan), ValueError, "slopes must be finite and >= 0, got nan"),
        (lambda: alibi_bias(at, at, half, dtype=torch.int32), TypeError, "dtype"),
        (lambda: alibi_attention(q.long(), q, q, two), TypeError, "q"),
        (lambda: alibi_attention(q, q.double(), q, two), TypeError, "k must have q's dtype"),
        (lambda: alibi_attention(q, q[..., :4], q, two), ValueError, "k must have shape"),
        (lambda: alibi_attention(q, q, q[:, :, :2], two), ValueError, "v must have shape"),
        (lambda: alibi_attention(q, q, q.to("meta"), two), ValueError, "v is on meta"),
        (lambda: alibi_attention(q, q, q, two, causal=1), TypeError, "causal must be True or False, got 1"),
        (lambda: alibi_attention(q, q, q, half), ValueError, r"slopes must have shape \(2,\) .* got \(1,\)"),
        (lambda: alibi_attention(q, q, q, -two), ValueError, "slopes must be finite and >= 0"),
        (lambda: alibi_attention(q, q, q, two.to("meta")), ValueError, "slopes is on meta"),
        (lambda: alibi_attention(q, q[:, :, :3], q[:, :, :3], two), ValueError, "q must have at most .* 3.* got 4"),
    ],
)
def test_wrong_arguments_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_forward_mode_derivatives_are_not_lost():
    q = torch.randn(1, 2, 4, 8, generator=torch.Generator().manual_seed(0))
    slopes, at = alibi_slopes(2), torch.arange(4)
    with fwad.dual_level(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dual = fwad.make_dual(q, torch.ones_like(q))
        ours = fwad.unpack_dual(alibi_attention(dual, dual, dual, slopes)).tangent
        dense = attention(dual, dual, dual, bias=alibi_bias(at, at, slopes), causal=True)
        torch.testing.assert_close(ours, fwad.unpack_dual(dense).tangent)


def test_a_call_under_vmap_or_a_dispatch_mode_leaves_later_calls_compiled(monkeypatch):
    x = torch.randn(3, 1, 2, 130, 16, generator=torch.Generator().manual_seed(0))
    slopes = alibi_slopes(2)
    call = lambda y: alibi_attention(y, y, y, slopes)
    expected = call(x[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(torch.func.vmap(call)(x)[0], expected)
        with FlopCounterMode(display=False):
            torch.testing.assert_close(call(x[0]), expected)
    monkeypatch.setattr(alibi, "attention", None)  # the dense form would fail now
    torch.testing.assert_close(call(x[0]), expected)
