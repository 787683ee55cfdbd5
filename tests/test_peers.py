"""Parity with installed peers (extra `peers`). Where one is wrong or has another convention, the test says which.

A test whose name holds `peer_is_off` or `peer_differs` asserts the difference: once the peer is mended it fails, and
the sentence in REVISIT tells what to do.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch

from posenc_lib.alibi import AlibiBias, alibi_bias, alibi_slopes
from posenc_lib.context_extension import (
    dynamic_ntk,
    longrope,
    ntk_aware,
    position_interpolation,
    rope_scaling_from_config,
)
from posenc_lib.rope import RopeScaling, RotaryEncoding, apply_rope, rope_angles, rope_cos_sin, rope_frequencies
from posenc_lib.sinusoidal import sinusoidal_encoding
from posenc_lib.t5 import T5Bias, t5_buckets

transformers = pytest.importorskip("transformers")
rotary_embedding_torch = pytest.importorskip("rotary_embedding_torch")
x_transformers = pytest.importorskip("x_transformers.x_transformers")

from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402
from transformers.models.bloom.modeling_bloom import build_alibi_tensor  # noqa: E402
from transformers.models.llama import modeling_llama  # noqa: E402
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor  # noqa: E402
from transformers.models.t5.modeling_t5 import T5Attention  # noqa: E402

REVISIT = "the peer no longer differs here: compare it like the others, and mend the lesson that shows this"


def heads(length, head_dim, seed=0):
    return torch.randn(1, 2, length, head_dim, generator=torch.Generator().manual_seed(seed))


def llama_config(head_dim=64, max_position_embeddings=2048, **rope_parameters):
    return transformers.LlamaConfig(
        hidden_size=2 * head_dim,
        num_attention_heads=2,
        head_dim=head_dim,
        max_position_embeddings=max_position_embeddings,
        rope_parameters={"rope_theta": 10_000.0, **rope_parameters},
    )


# transformers: RoPE


@pytest.mark.parametrize("offset", [0, 300])
def test_llama_rotation_is_ours_with_halves(offset):
    q, k = heads(200, 64), heads(200, 64, seed=1)
    positions = torch.arange(200) + offset
    cos, sin = modeling_llama.LlamaRotaryEmbedding(llama_config(rope_type="default"))(q, positions[None])
    theirs = modeling_llama.apply_rotary_pos_emb(q, k, cos, sin)
    ours = RotaryEncoding(64, layout="half").rotate(q, k, positions, positions)
    # their angles are float32: at position 500 off by up to 3e-5 rad, times |x| ≤ 5
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-4)
    # with their own tables the rotation is the same to rounding
    halves = [table[..., :32] for table in (cos, sin)]
    torch.testing.assert_close(apply_rope(q, *halves, layout="half"), theirs[0], rtol=0, atol=1e-6)


def test_llama_peer_is_off_at_far_positions_because_its_angles_are_float32():
    position = torch.tensor([2**20 - 1])
    exact = rope_angles(position, rope_frequencies(128)).cos()
    rotary = modeling_llama.LlamaRotaryEmbedding(llama_config(128, rope_type="default"))
    theirs = rotary(torch.zeros(1), position[None])[0][0, :, :64]
    assert (rope_cos_sin(position, rope_frequencies(128))[0] - exact).abs().max() < 1e-6
    assert (theirs - exact).abs().max() > 0.01, REVISIT


PHI3_LISTS = {
    "short_factor": [1 + 0.02 * i for i in range(48)],
    "long_factor": [1.1 * 1.09**i for i in range(48)],
}
LLAMA_31 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
GPT_OSS = {
    "rope_type": "yarn",
    "rope_theta": 150_000.0,
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}
QWEN_25 = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768}
PHI3 = {"rope_type": "longrope", "original_max_position_embeddings": 4096, **PHI3_LISTS}
PARTIAL = {"partial_rotary_factor": 0.5}
LINEAR = {"rope_type": "linear", "factor": 2.5}


@pytest.mark.parametrize(
    ("head_dim", "max_position_embeddings", "rope_parameters"),
    [
        pytest.param(128, 131072, LLAMA_31, id="llama-3.1-8b"),
        pytest.param(64, 131072, LLAMA_31 | {"factor": 32.0}, id="llama-3.2-1b"),
        pytest.param(64, 4096, LLAMA_31 | {"original_max_position_embeddings": 1000} | PARTIAL, id="llama3-partial"),
        pytest.param(128, 32768, QWEN_25, id="qwen-2.5-yarn"),
        pytest.param(64, 131072, GPT_OSS, id="gpt-oss"),
        pytest.param(128, 65536, YARN, id="yarn-llama-2"),
        pytest.param(80, 65536, YARN | PARTIAL, id="yarn-partial"),
        pytest.param(128, 4096, YARN | {"factor": 0.5}, id="yarn-shrinks"),
        pytest.param(64, 163840, YARN | {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0}, id="deepseek-v3"),
        pytest.param(64, 163840, YARN | {"mscale": 0.707, "mscale_all_dim": 0.0}, id="yarn-mscale-zero"),
        pytest.param(64, 163840, YARN | {"mscale": 2.0}, id="yarn-mscale-alone"),
        pytest.param(64, 65536, YARN | {"mscale": 2.0, "mscale_all_dim": 1.0, "attention_factor": 1.5}, id="yarn-af"),
        pytest.param(64, 65536, YARN | {"beta_fast": 4.0, "beta_slow": 2.0, "truncate": False}, id="yarn-betas"),
        pytest.param(64, 65536, YARN | {"factor": None}, id="yarn-factor-from-lengths"),
        pytest.param(96, 131072, PHI3, id="phi-3-128k"),
        pytest.param(96, 131072, PHI3 | {"factor": 8.0, "rope_theta": 5e5}, id="longrope-factor"),
        pytest.param(96, 4096, PHI3, id="longrope-without-extension"),
        pytest.param(96, 131072, PHI3 | {"attention_factor": 1.3}, id="longrope-attention-factor"),
        pytest.param(128, 131072, PHI3 | {"partial_rotary_factor": 0.75}, id="phi-4-mini-partial"),
        pytest.param(128, 2048, LINEAR, id="linear"),
        pytest.param(256, 131072, LINEAR | {"factor": 8.0, "rope_theta": 1e6}, id="gemma-3-full"),
        pytest.param(96, 2048, LINEAR | {"partial_rotary_factor": 0.57}, id="linear-partial-rounded-down"),
        pytest.param(128, 2048, {"rope_type": "dynamic", "factor": 2.0}, id="dynamic"),
        pytest.param(
            80, 1000, {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 5e5} | PARTIAL, id="dynamic-partial"
        ),
        pytest.param(64, 2048, {"rope_type": "dynamic", "factor": 1.0}, id="dynamic-factor-1"),
    ],
)
@pytest.mark.parametrize("seq_len", [1, 1000, 2049, 4096, 4097, 100_000])
def test_rope_init_functions_agree(head_dim, max_position_embeddings, rope_parameters, seq_len):
    config = llama_config(head_dim, max_position_embeddings, **rope_parameters)
    frequencies, attention_factor = ROPE_INIT_FUNCTIONS[rope_parameters["rope_type"]](config, "cpu", seq_len=seq_len)
    ours = rope_scaling_from_config(config.to_dict(), head_dim)
    ours = ours if isinstance(ours, RopeScaling) else ours(seq_len)
    # theirs are float32: 1e-6 relative
    torch.testing.assert_close(ours.frequencies, frequencies.double(), rtol=1e-6, atol=0)
    assert ours.attention_factor == pytest.approx(attention_factor, rel=1e-15)


def test_default_frequencies_agree():
    frequencies, _ = modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters(
        llama_config(128, rope_type="default", rope_theta=500_000.0)
    )
    ours = rope_scaling_from_config({"rope_type": "default", "rope_theta": 500_000.0}, 128)
    torch.testing.assert_close(ours.frequencies, frequencies.double(), rtol=1e-6, atol=0)


def test_every_scaling_type_of_the_peer_is_compared_or_refused():
    compared = {"linear", "dynamic", "yarn", "longrope", "llama3"}
    assert set(ROPE_INIT_FUNCTIONS) == compared | {"proportional"}, "transformers has a new type: read it too"
    config = llama_config(rope_type="proportional", partial_rotary_factor=0.5)
    with pytest.raises(ValueError, match="'proportional'"):
        rope_scaling_from_config(config.to_dict(), 64)


@pytest.mark.parametrize("seq_len", [4096, 4097])
def test_longrope_switches_where_phi3_does(seq_len):
    config = llama_config(96, 131072, **PHI3)
    rotary = modeling_llama.LlamaRotaryEmbedding(config)
    cos, _ = rotary(torch.zeros(1), torch.tensor([[0, seq_len - 1]]))
    lists = PHI3_LISTS["short_factor"], PHI3_LISTS["long_factor"]
    ours = longrope(96, 32, 4096, seq_len, *lists)
    torch.testing.assert_close(rotary.inv_freq.double(), ours.frequencies, rtol=1e-6, atol=0)
    assert float(cos[0, 0, 0]) == pytest.approx(ours.attention_factor, rel=1e-6)


@pytest.mark.parametrize("later", [2048, 3000])
def test_dynamic_peer_is_off_after_a_longer_call(later):
    """Its module keeps a long call's frequencies until a call shorter than the trained length (strictly)."""
    rotary = modeling_llama.LlamaRotaryEmbedding(llama_config(128, 2048, rope_type="dynamic", factor=2.0))
    for length in (4096, later):
        rotary(torch.zeros(1), torch.arange(length)[None])
    stale = dynamic_ntk(128, 2.0, 2048, 4096).frequencies
    torch.testing.assert_close(rotary.inv_freq.double(), stale, rtol=1e-6, atol=0, msg=REVISIT)
    assert dynamic_ntk(128, 2.0, 2048, later).frequencies[-1] > stale[-1] * 1.5
    rotary(torch.zeros(1), torch.arange(2047)[None])
    plain = dynamic_ntk(128, 2.0, 2048, 2047).frequencies
    torch.testing.assert_close(rotary.inv_freq.double(), plain, rtol=1e-6, atol=0)


# transformers: T5, BLOOM, MPT


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (32, 256), (16, 64), (64, 1000), (8, 20)])
def test_t5_buckets_agree(bidirectional, num_buckets, max_distance):
    relative_position = torch.arange(-3000, 3001)
    options = {"bidirectional": bidirectional, "num_buckets": num_buckets, "max_distance": max_distance}
    theirs = T5Attention._relative_position_bucket(relative_position, **options)
    assert torch.equal(t5_buckets(relative_position, **options), theirs)


def causal_weights(bias):
    """Softmax of the bias alone, (H, T, T), under a causal mask."""
    return bias.masked_fill(torch.ones(bias.shape[-2:], dtype=torch.bool).triu(1), -torch.inf).softmax(-1)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12, 20, 112])
def test_bloom_alibi_has_the_same_weights(num_heads):
    """Its bias is +slope·position of the key, ours −slope·distance: a constant a row apart, which softmax drops."""
    positions = torch.arange(50)
    theirs = build_alibi_tensor(torch.ones(1, 50, dtype=torch.long), num_heads, torch.float32)
    torch.testing.assert_close(theirs[:, 0, 1], alibi_slopes(num_heads), rtol=1e-6, atol=0)
    ours = alibi_bias(positions, positions, alibi_slopes(num_heads))
    torch.testing.assert_close(causal_weights(ours), causal_weights(theirs.expand(-1, 50, -1)), rtol=1e-5, atol=0)


def test_bloom_alibi_ignores_left_padding_as_ours_does():
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    theirs = build_alibi_tensor(mask, 4, torch.float32)[:, 0, 2:]
    positions = torch.arange(3)
    ours = alibi_bias(positions, positions, alibi_slopes(4))
    torch.testing.assert_close(ours[:, -1].softmax(-1), theirs.softmax(-1), rtol=1e-6, atol=0)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12, 20, 112])
def test_mpt_alibi_is_our_last_query_row(num_heads):
    positions = torch.arange(50)
    theirs = build_mpt_alibi_tensor(num_heads, 50)
    ours = alibi_bias(positions[-1:], positions, alibi_slopes(num_heads))
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)


# rotary-embedding-torch


def test_rotary_embedding_torch_is_ours_interleaved():
    q = heads(300, 64)
    positions = torch.arange(300)
    ours, _ = RotaryEncoding(64).rotate(q, q, positions, positions)
    theirs = rotary_embedding_torch.RotaryEmbedding(64).rotate_queries_or_keys(q)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)  # float32 angles to position 300


def test_rotary_embedding_torch_aligns_cached_keys_as_ours_does():
    q, k = heads(2, 64), heads(10, 64, seed=1)
    theirs = rotary_embedding_torch.RotaryEmbedding(64).rotate_queries_with_cached_keys(q, k)
    ours = RotaryEncoding(64).rotate(q, k, torch.arange(8, 10), torch.arange(10))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_rotary_embedding_torch_options_are_interpolation_ntk_and_partial():
    x, positions = heads(100, 64), torch.arange(100)
    for options, width, scaling in [
        ({"interpolate_factor": 4.0}, 64, position_interpolation(64, 4)),
        ({"theta_rescale_factor": 4.0}, 64, ntk_aware(64, 4)),
        ({}, 32, RopeScaling(rope_frequencies(32))),
    ]:
        theirs = rotary_embedding_torch.RotaryEmbedding(width, **options).rotate_queries_or_keys(x)
        ours = apply_rope(x, *rope_cos_sin(positions, scaling.frequencies))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=5e-5)


def test_rotary_embedding_torch_peer_is_off_in_bfloat16_from_position_257(case):
    """case rope_bf16_position: positions are counted in the input's dtype, so 257 becomes 256 (UNI-D2 #6).

    The angles then stay in its cache, and a float32 call after it reads them.
    """
    bf16 = case("rope_bf16_position")
    position, wrong, tolerance = bf16["inputs"]["pos"], bf16["wrong_behaviour_value"], bf16["tolerance"]
    x = torch.ones(1, 1, 300, bf16["inputs"]["d"])
    positions = torch.arange(300)
    peer = rotary_embedding_torch.RotaryEmbedding(bf16["inputs"]["d"])
    theirs = peer.rotate_queries_or_keys(x.bfloat16())
    ours, _ = RotaryEncoding(bf16["inputs"]["d"]).rotate(x.bfloat16(), x.bfloat16(), positions, positions)
    assert ours[0, 0, position, :2].tolist() == pytest.approx(bf16["expected"], abs=tolerance)
    assert theirs[0, 0, position, :2].tolist() == pytest.approx(wrong, abs=tolerance), REVISIT

    exact, _ = RotaryEncoding(64).rotate(x, x, positions, positions)
    poisoned = peer.rotate_queries_or_keys(x)
    fresh = rotary_embedding_torch.RotaryEmbedding(64).rotate_queries_or_keys(x)
    assert (fresh - exact).abs().max() < 1e-4
    assert (poisoned - exact).abs().max() > 1, REVISIT


def test_rotary_embedding_torch_peer_differs_in_what_it_saves():
    assert list(rotary_embedding_torch.RotaryEmbedding(64).state_dict()) == ["freqs"], REVISIT
    assert list(RotaryEncoding(64).state_dict()) == []


# x-transformers


def test_x_transformers_rotation_is_ours_interleaved():
    x, positions = heads(300, 64), torch.arange(300)
    for options, width, scaling in [
        ({}, 64, RopeScaling(rope_frequencies(64))),
        ({"base": 500_000}, 64, RopeScaling(rope_frequencies(64, base=500_000))),
        ({"interpolation_factor": 4.0}, 64, position_interpolation(64, 4)),
        ({"base_rescale_factor": 4.0}, 64, ntk_aware(64, 4)),
        ({}, 32, RopeScaling(rope_frequencies(32))),  # partial
    ]:
        angles, scale = x_transformers.RotaryEmbedding(width, **options)(positions)
        theirs = x_transformers.apply_rotary_pos_emb(x, angles, scale)
        ours = apply_rope(x, *rope_cos_sin(positions, scaling.frequencies))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)  # float32 angles to position 300


def test_x_transformers_peer_is_off_in_a_bfloat16_module():
    """Casting the module rounds its saved inv_freq, and positions are cast to the same dtype: 257 becomes 256."""
    positions = torch.arange(300)
    peer = x_transformers.RotaryEmbedding(64)
    assert list(peer.state_dict()) == ["inv_freq"], REVISIT
    angles, _ = peer.bfloat16()(positions)
    assert angles[0, 257, 0] == 256, REVISIT
    x = heads(300, 64)
    before, _ = RotaryEncoding(64).rotate(x, x, positions, positions)
    after, _ = RotaryEncoding(64).bfloat16().rotate(x, x, positions, positions)
    assert torch.equal(before, after)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12])
@pytest.mark.parametrize(("num_queries", "num_keys"), [(7, 7), (2, 7)])
def test_x_transformers_alibi_is_ours(num_heads, num_queries, num_keys):
    theirs = x_transformers.AlibiPositionalBias(num_heads)(num_queries, num_keys)
    positions = torch.arange(num_keys)
    ours = alibi_bias(positions[num_keys - num_queries :], positions, alibi_slopes(num_heads))
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)


def test_x_transformers_alibi_peer_is_off_in_a_bfloat16_module(case):
    """case alibi_slope_cast: a cast of the module must not round the slopes (flash-attention #845)."""
    cast = case("alibi_slope_cast")
    num_heads, head, distance = (cast["inputs"][key] for key in ("heads", "head", "distance"))
    peer = x_transformers.AlibiPositionalBias(num_heads).bfloat16()
    rounded = -float(peer.slopes[head]) * distance
    assert rounded == pytest.approx(cast["wrong_behaviour_value"], abs=cast["tolerance"]), REVISIT
    query, key = torch.tensor([distance]), torch.tensor([0])
    ours = AlibiBias(num_heads).bfloat16().bias(query, key)
    assert float(ours[head]) == pytest.approx(cast["expected"], abs=cast["tolerance"])


@pytest.mark.parametrize("bidirectional", [True, False])
def test_x_transformers_relative_bias_is_t5s_times_its_scale(bidirectional):
    peer = x_transformers.RelativePositionBias(scale=8.0, causal=not bidirectional, heads=4)
    ours = T5Bias(4, bidirectional=bidirectional)
    with torch.no_grad():
        ours.weight.copy_(peer.relative_attention_bias.weight.T)
        expected = peer(20, 300)
        assert torch.equal(8 * ours.bias(torch.arange(280, 300), torch.arange(300)), expected)


def test_x_transformers_sinusoid_peer_differs_in_order_and_by_a_learned_scale():
    """Sines first, then cosines, all times a parameter that starts at dim^−½."""
    peer = x_transformers.ScaledSinusoidalEmbedding(16)
    with torch.no_grad():
        theirs = peer(torch.zeros(1, 100, 16))
    ours = sinusoidal_encoding(100, 16)
    halves = torch.cat((ours[:, 0::2], ours[:, 1::2]), dim=-1)
    torch.testing.assert_close(theirs, halves / 4, rtol=0, atol=1e-5)  # float32 angles to position 100


@pytest.mark.parametrize("options", [{"pos": torch.zeros(2, 3)}, {"seq_start_pos": torch.zeros(2)}])
def test_x_transformers_sinusoid_peer_is_off_for_batched_positions(options):
    """Its einsum takes one row of positions; ours takes any shape."""
    with pytest.raises(RuntimeError, match="einsum"):
        x_transformers.ScaledSinusoidalEmbedding(8)(torch.zeros(2, 3, 8), **options)
    assert sinusoidal_encoding(torch.zeros(2, 3), 8).shape == (2, 3, 8)
