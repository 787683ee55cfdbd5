"""Context extension against closed forms and plain float64 loops, public cases, properties, configs, bad input."""

import copy
import math
import pickle
from types import MappingProxyType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.context_extension import (
    dynamic_ntk,
    llama3,
    longrope,
    ntk_aware,
    position_interpolation,
    rope_scaling_from_config,
    yarn,
)
from posenc_lib.rope import RopeScaling, RotaryEncoding, apply_rope, rope_cos_sin, rope_frequencies


# Each formula once more as a loop over Python floats: what the functions are held to.
def plain_loop(d, base=10_000.0):
    return [base ** (-2 * i / d) for i in range(d // 2)]


def ntk_loop(d, s, base=10_000.0):
    return plain_loop(d, base * s ** (d / (d - 2)))


def dynamic_loop(d, s, trained, n, base=10_000.0):
    return ntk_loop(d, s * n / trained - (s - 1), base) if n > trained else plain_loop(d, base)


def yarn_loop(d, s, trained, base=10_000.0, fast=32, slow=1, truncate=True):
    low, high = (d * math.log(trained / (2 * math.pi * turns)) / (2 * math.log(base)) for turns in (fast, slow))
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    if low == high:
        high += 0.001
    frequencies = []
    for i, theta in enumerate(plain_loop(d, base)):
        ramp = min(max((i - low) / (high - low), 0), 1)
        frequencies.append(theta / s * ramp + theta * (1 - ramp))
    return frequencies


def llama3_loop(d, s, trained, base=10_000.0, lo=1, hi=4):
    frequencies = []
    for theta in plain_loop(d, base):
        wavelength = 2 * math.pi / theta
        if wavelength < trained / hi:
            frequencies.append(theta)
        elif wavelength > trained / lo:
            frequencies.append(theta / s)
        else:
            t = (trained / wavelength - lo) / (hi - lo)
            frequencies.append((1 - t) * theta / s + t * theta)
    return frequencies


def assert_frequencies(scaling, expected, rtol=1e-12):
    torch.testing.assert_close(
        scaling.frequencies, torch.tensor(expected, dtype=torch.float64), rtol=rtol, atol=0, check_device=True
    )


even_dims = st.integers(2, 64).map(lambda half: 2 * half)  # 4 … 128
factors = st.floats(1, 64)
bases = st.floats(2, 1e6)
lengths = st.integers(2, 10**6)


# Public cases


def test_ntk_base_case(case):
    """case ntk_base: bloc97's post and the yarn repository's LlamaNTKScaledRotaryEmbedding."""
    ntk = case("ntk_base")
    d, base, s = (ntk["inputs"][key] for key in ("d", "base", "s"))
    expected, tolerance = ntk["expected"], ntk["tolerance"]
    frequencies = ntk_aware(d, s, base=base).frequencies
    ratio = frequencies / rope_frequencies(d, base=base)
    # frequency 1 is new_base^(−2/d)
    assert float(frequencies[1]) ** (-d / 2) == pytest.approx(expected["new_base"], rel=tolerance)
    assert ratio[0] == expected["ratio_fastest"]
    assert float(ratio[-1]) == pytest.approx(expected["ratio_slowest"], abs=tolerance)
    assert float(ratio[32]) == pytest.approx(expected["ratio_pair32"], abs=tolerance)


@pytest.mark.parametrize("name", ["dynamic_ntk_reset", "dynamic_ntk_reset_boundary"])
def test_a_short_call_after_a_long_one_is_plain_again(case, name):
    """cases dynamic_ntk_reset (transformers #27226, #46624) and dynamic_ntk_reset_boundary (transformers 5.24)."""
    inputs, expected = case(name)["inputs"], case(name)["expected"]["slowest_inv_freq_after"]
    d, base, trained_len, s = (inputs[key] for key in ("d", "base", "original", "factor"))
    calls = [dynamic_ntk(d, s, trained_len, n, base=base).frequencies for n in inputs["call_lengths"]]
    assert float(calls[-1][-1]) == pytest.approx(expected, rel=case(name)["tolerance"])
    assert torch.equal(calls[-1], rope_frequencies(d, base=base))
    stale = case(name)["wrong_behaviour_value"]["slowest_inv_freq_after"]
    assert float(calls[0][-1]) == pytest.approx(stale, rel=case(name)["tolerance"])


def test_keys_cached_turned_go_stale_under_dynamic_ntk(case):
    """case dynamic_ntk_stale_keys: transformers #25104."""
    stale_keys = case("dynamic_ntk_stale_keys")
    inputs, tolerance = stale_keys["inputs"], stale_keys["tolerance"]
    d, base, trained_len, s, layout = (inputs[key] for key in ("d", "base", "original", "factor", "layout"))
    ones = torch.ones(1, 1, 1, d, dtype=torch.float64)
    q_position, k_position = torch.tensor([inputs["q_pos"]]), torch.tensor([inputs["k_pos"]])

    def turned(position, seq_len):
        scaling = dynamic_ntk(d, s, trained_len, seq_len, base=base)
        return apply_rope(
            ones, *rope_cos_sin(position, scaling.frequencies, dtype=torch.float64), layout=layout
        ).flatten()

    q = turned(q_position, inputs["L"])
    assert float(q @ turned(k_position, inputs["L"])) == pytest.approx(stale_keys["expected"], abs=tolerance)
    stale = q @ turned(k_position, inputs["k_pos"] + 1)
    assert float(stale) == pytest.approx(stale_keys["wrong_behaviour_value"], abs=tolerance)

    config = {"type": "dynamic", "factor": s, "max_position_embeddings": trained_len, "rope_theta": base}
    encoding = RotaryEncoding(d, layout=layout, scaling=rope_scaling_from_config(config, d))
    q, k = encoding.rotate(ones, ones, q_position, k_position)
    assert float(q.flatten() @ k.flatten()) == pytest.approx(stale_keys["expected"], abs=tolerance)


def test_yarn_by_hand_code_ramp_beside_the_papers(case):
    """case yarn_by_hand_d8: the yarn repository's ramp over pair index against the paper's (eq. 11–13) over turns."""
    by_hand = case("yarn_by_hand_d8")
    inputs, expected, tolerance = by_hand["inputs"], by_hand["expected"], by_hand["tolerance"]
    d, base, trained_len, s = (inputs[key] for key in ("d", "base", "original", "s"))
    fast, slow = inputs["beta_fast"], inputs["beta_slow"]
    scaling = yarn(d, s, trained_len, base=base, beta_fast=fast, beta_slow=slow)
    assert scaling.frequencies.tolist() == pytest.approx(expected["inv_freq"], rel=tolerance)
    divisors = (rope_frequencies(d, base=base) / scaling.frequencies).tolist()
    assert divisors == pytest.approx(expected["divisor"], rel=tolerance)

    paper = []
    for theta in plain_loop(d, base):
        turns = trained_len * theta / (2 * math.pi)
        keep = min(max((turns - slow) / (fast - slow), 0), 1)
        paper.append(1 / ((1 - keep) / s + keep))
    assert paper == pytest.approx(expected["paper_ramp_divisor"], rel=tolerance)
    assert divisors[1] < paper[1]


def test_yarn_llama2_case(case):
    """case yarn_llama2_s16: transformers' _compute_yarn_parameters."""
    llama2 = case("yarn_llama2_s16")
    inputs, expected, tolerance = llama2["inputs"], llama2["expected"], llama2["tolerance"]
    scaling = yarn(inputs["d"], inputs["s"], inputs["original"], base=inputs["base"])
    for index, frequency in expected["inv_freq_idx"].items():
        assert float(scaling.frequencies[int(index)]) == pytest.approx(frequency, rel=tolerance)
    assert scaling.attention_factor == pytest.approx(expected["attention_factor"], rel=tolerance)
    ratio = rope_frequencies(inputs["d"], base=inputs["base"]) / scaling.frequencies
    assert (ratio[: expected["low"] + 1] == 1).all()
    assert ratio[expected["low"] + 1] > 1
    assert ratio[expected["high"] - 1] < inputs["s"] * (1 - tolerance)
    torch.testing.assert_close(ratio[expected["high"] :], torch.full_like(ratio[expected["high"] :], inputs["s"]))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("yarn_mscale_ratio", ["mscale", "mscale_all_dim"]),  # vllm #48623, sglang #22711
        ("yarn_explicit_attention_factor", ["attention_factor"]),  # mlx-lm #1507, vllm #46280
        ("yarn_attention_factor_not_squared", ["attention_factor"]),  # sglang #33558
    ],
)
def test_yarn_attention_factor_cases(case, name, options):
    """The cases named above, each with its source beside it."""
    inputs, expected, tolerance = case(name)["inputs"], case(name)["expected"], case(name)["tolerance"]
    scaling = yarn(64, inputs["s"], 4096, **{option: inputs[option] for option in options})
    assert scaling.attention_factor == pytest.approx(expected, abs=tolerance)
    cos, _ = rope_cos_sin(
        torch.zeros(1), scaling.frequencies, attention_factor=scaling.attention_factor, dtype=torch.float64
    )
    assert float(cos[0, 0]) == pytest.approx(expected, abs=tolerance)


def test_llama3_case(case):
    """case llama3_inv_freq: meta-llama/llama-models apply_scaling; unsloth #6197; mlxcel #1355."""
    llama = case("llama3_inv_freq")
    inputs, expected, tolerance = llama["inputs"], llama["expected"], llama["tolerance"]
    scaling = llama3(
        inputs["d"],
        inputs["factor"],
        inputs["original"],
        base=inputs["base"],
        low_freq_factor=inputs["low_freq_factor"],
        high_freq_factor=inputs["high_freq_factor"],
    )
    divisor = rope_frequencies(inputs["d"], base=inputs["base"]) / scaling.frequencies
    for index, frequency in expected["inv_freq_idx"].items():
        assert float(scaling.frequencies[int(index)]) == pytest.approx(frequency, rel=tolerance)
    for index, value in expected["divisor_idx"].items():
        assert float(divisor[int(index)]) == pytest.approx(value, rel=tolerance)
    assert (divisor != 1).nonzero()[0].item() == expected["first_changed"]
    assert (divisor > inputs["factor"] * (1 - tolerance)).nonzero()[0].item() == expected["first_fully_scaled"]
    assert scaling.attention_factor == 1


def test_longrope_attention_factor_case(case):
    """case longrope_attention_factor: transformers' _compute_longrope_parameters."""
    longest = case("longrope_attention_factor")
    trained_len, max_len = longest["inputs"]["original"], longest["inputs"]["max_position"]
    scaling = longrope(4, max_len / trained_len, trained_len, 1, [1, 1], [2, 2])
    assert scaling.attention_factor == pytest.approx(longest["expected"], abs=longest["tolerance"])


def test_longrope_keys_cached_before_the_switch_are_stale(case):
    """case longrope_cache_switch: transformers #33129."""
    switch = case("longrope_cache_switch")
    inputs = switch["inputs"]
    q, k = (torch.tensor(inputs[name], dtype=torch.float64).view(1, 1, 1, 2) for name in ("q", "k"))

    def turned(x, position, seq_len):
        lists = inputs["short_factor"], inputs["long_factor"]
        scaling = longrope(inputs["d"], 1, inputs["original"], seq_len, *lists)
        table = rope_cos_sin(torch.tensor([position]), scaling.frequencies, dtype=torch.float64)
        return apply_rope(x, *table).flatten()

    now = inputs["q_pos"] + 1
    query = turned(q, inputs["q_pos"], now)
    fresh, stale = turned(k, inputs["k_pos"], now), turned(k, inputs["k_pos"], now - 1)
    assert float(query @ fresh) == pytest.approx(switch["expected"], abs=switch["tolerance"])
    assert float(query @ stale) == pytest.approx(switch["wrong_behaviour_value"], abs=switch["tolerance"])


def test_interpolation_bound_and_by_how_much_it_is_beaten(case):
    """case pi_bound_constant: arXiv:2306.15595, Theorem 2.1.

    Its proof sums c^(−4j/d) over j to 1/(1 − c^(−4/d)) and takes d/(4 ln c) for an upper bound, which is a lower
    one. The sum itself holds; with |h_j| = 1 in phase at p = 1/2 the curve leaves its chord by 14 % more than the
    theorem allows at d = 128.
    """
    constant = case("pi_bound_constant")
    c, d = constant["inputs"]["c"], 128
    assert 32 * math.log(c) == pytest.approx(constant["expected"]["interp_denominator"], rel=constant["tolerance"])
    assert 64 * math.log(c) == pytest.approx(constant["expected"]["ratio"], rel=constant["tolerance"])

    # a(p) = Σ cos((p − ½)θ_j): equal at p = 0 and 1, so the chord is level; positions 0 … 1 in steps of ⅛.
    frequencies = position_interpolation(d, 8, base=c).frequencies
    curve = rope_cos_sin(torch.arange(-4, 5), frequencies, dtype=torch.float64)[0].sum(-1)
    gap = float((curve - curve[0]).max())
    assert gap == pytest.approx(sum(1 - math.cos(theta / 2) for theta in plain_loop(d, c)), rel=1e-12)
    assert 1.13 < gap / (d / constant["expected"]["interp_denominator"]) < 1.14
    assert gap < sum(theta**2 for theta in plain_loop(d, c)) / 8


# Independent loops


any_factors = st.floats(0.01, 1000)
divisors = st.floats(0.01, 1000)


def band(low, high):
    """Two numbers in rising order, far enough apart that a blend between them is no division by rounding."""
    return st.tuples(st.floats(low, high), st.floats(0.1, high)).map(lambda pair: (pair[0], sum(pair)))


@given(even_dims, any_factors, bases, lengths, st.integers(0, 10**7), band(0.01, 64), st.data())
def test_each_method_equals_its_loop(d, s, base, trained_len, n, turns, data):
    squeezed, aware = position_interpolation(d, s, base=base), ntk_aware(d, s, base=base)
    assert_frequencies(squeezed, [theta / s for theta in plain_loop(d, base)])
    assert_frequencies(aware, ntk_loop(d, s, base))
    # the loop's s·n/L − (s − 1) loses digits to cancellation
    dynamic = dynamic_ntk(d, s, trained_len, n, base=base)
    assert_frequencies(dynamic, dynamic_loop(d, s, trained_len, n, base), 1e-10 * (1 + s))
    lo, hi = turns
    # where a pair blends, t = (turns − lo)/(hi − lo) loses digits too, and they count once for each time s divides
    blend = llama3(d, s, trained_len, base=base, low_freq_factor=lo, high_freq_factor=hi)
    assert_frequencies(blend, llama3_loop(d, s, trained_len, base, lo, hi), 1e-11 * (1 + s) * (1 + 1 / s))
    assert [scaling.attention_factor for scaling in (squeezed, aware, dynamic, blend)] == [1] * 4

    short, long = (data.draw(st.lists(divisors, min_size=d // 2, max_size=d // 2)) for _ in range(2))
    as_given = data.draw(st.sampled_from([list, tuple, lambda f: torch.tensor(f, dtype=torch.float64)]))
    scaling = longrope(d, s, trained_len, n, as_given(short), as_given(long), base=base)
    used = long if n > trained_len else short
    assert_frequencies(scaling, [theta / f for theta, f in zip(plain_loop(d, base), used, strict=True)])
    grown = math.log(s) / math.log(trained_len) if s > 1 else 0
    assert scaling.attention_factor == pytest.approx(math.sqrt(1 + grown), rel=1e-14)


@given(even_dims, any_factors, bases, lengths, band(0.01, 64), st.booleans())
def test_yarn_equals_its_loop(d, s, base, trained_len, turns, truncate):
    slow, fast = turns
    scaling = yarn(d, s, trained_len, base=base, beta_fast=fast, beta_slow=slow, truncate=truncate)
    # an untruncated ramp may be shorter than 1e-3 pairs, which magnifies rounding
    expected = yarn_loop(d, s, trained_len, base, fast, slow, truncate)
    assert_frequencies(scaling, expected, 1e-10 * (1 + s) * (1 + 1 / s))
    assert scaling.attention_factor == pytest.approx(0.1 * math.log(s) + 1 if s > 1 else 1, rel=1e-14)


options = st.none() | st.floats(0, 5)


@given(any_factors, options, options, st.none() | st.floats(0.01, 5))
def test_yarn_attention_factor_is_the_one_given_or_a_ratio_or_the_papers(s, mscale, all_dim, attention_factor):
    scaling = yarn(8, s, 64, mscale=mscale, mscale_all_dim=all_dim, attention_factor=attention_factor)
    grown = max(math.log(s), 0)
    expected = 0.1 * grown + 1
    if mscale and all_dim:
        expected = (0.1 * mscale * grown + 1) / (0.1 * all_dim * grown + 1)
    assert scaling.attention_factor == pytest.approx(expected if attention_factor is None else attention_factor)


@pytest.mark.parametrize(
    ("arguments", "options", "slowed"),
    [
        ((16, 4, 128), {"beta_fast": 64, "beta_slow": 32}, [1] + [4] * 7),  # pair 0 turns 20.4 times
        ((128, 4, 4), {}, [1] * 64),  # no pair completes a turn
        ((16, 4, 2**62), {"base": 1.5}, [4] * 8),  # every pair turns over 10^17 times
    ],
)
def test_yarn_moves_an_end_of_its_ramp_that_falls_off_the_pairs(arguments, options, slowed):
    """As the released code does, against the plain reading of beta_fast and beta_slow; see the docstring."""
    plain = rope_frequencies(arguments[0], base=options.get("base", 10_000.0))
    torch.testing.assert_close(plain / yarn(*arguments, **options).frequencies, torch.tensor(slowed).double())


def test_yarn_ramp_of_no_width_steps():
    # L = 2π·4: both ends of the ramp clamp to pair 0, so all pairs after it are interpolated in full
    assert_frequencies(yarn(8, 4, 4), [1, 0.1 / 4, 0.01 / 4, 0.001 / 4])


# Properties


@given(even_dims, factors, st.floats(-1e5, 1e5))
def test_position_interpolation_equals_evaluating_at_p_over_s(d, s, p):
    stretched = rope_cos_sin(
        torch.tensor([p], dtype=torch.float64), position_interpolation(d, s).frequencies, dtype=torch.float64
    )
    at_p_over_s = rope_cos_sin(torch.tensor([p / s], dtype=torch.float64), rope_frequencies(d), dtype=torch.float64)
    torch.testing.assert_close(stretched, at_p_over_s, rtol=0, atol=1e-10)  # 1e5 rad in float64 are good to 2e-11


@given(even_dims, st.floats(0.01, 1e4), bases)
def test_ntk_slows_the_slowest_pair_by_exactly_s_and_the_fastest_by_1(d, s, base):
    ratio = rope_frequencies(d, base=base) / ntk_aware(d, s, base=base).frequencies
    assert ratio[0] == 1
    assert float(ratio[-1]) == pytest.approx(s, rel=1e-14)


@given(even_dims, bases, lengths, st.integers(0, 10**6))
def test_factor_1_is_plain_rope(d, base, trained_len, n):
    plain = rope_frequencies(d, base=base)
    scalings = [
        position_interpolation(d, 1, base=base),
        ntk_aware(d, 1, base=base),
        dynamic_ntk(d, 1, trained_len, min(n, trained_len), base=base),
        yarn(d, 1, trained_len, base=base),
        llama3(d, 1, trained_len, base=base),
        longrope(d, 1, trained_len, n, [1] * (d // 2), [1] * (d // 2), base=base),
    ]
    for scaling in scalings:
        torch.testing.assert_close(scaling.frequencies, plain, rtol=1e-15, atol=0)  # blends may round once
        assert scaling.attention_factor == 1


def test_dynamic_factor_1_past_the_trained_length_grows_with_the_length():
    # the formula at s = 1: base·(n/L)^(d/(d−2)), which is not plain
    assert_frequencies(dynamic_ntk(64, 1, 1000, 3000), ntk_loop(64, 3))


@given(even_dims, factors, bases, lengths)
def test_frequencies_stay_between_interpolated_and_plain(d, s, base, trained_len):
    plain = rope_frequencies(d, base=base)
    for scaling in (
        position_interpolation(d, s, base=base),
        ntk_aware(d, s, base=base),
        yarn(d, s, trained_len, base=base),
        llama3(d, s, trained_len, base=base),
    ):
        assert (scaling.frequencies <= plain * (1 + 1e-15)).all()
        assert (scaling.frequencies >= plain / s * (1 - 1e-14)).all()


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=8))
def test_length_dependent_scalings_remember_nothing(call_lengths):
    dynamic = rope_scaling_from_config({"type": "dynamic", "factor": 3, "max_position_embeddings": 4096}, 16)
    long = rope_scaling_from_config(PHI3, 8)
    for n in call_lengths:
        # the loop's other order of operations costs a digit or two near n = L
        assert_frequencies(dynamic(n), dynamic_loop(16, 3, 4096, n), 1e-12)
        divisors = PHI3["rope_scaling"]["long_factor" if n > 4096 else "short_factor"]
        assert_frequencies(long(n), [t / f for t, f in zip(plain_loop(8), divisors, strict=True)])


def test_longrope_switches_after_the_trained_length():
    scalings = [longrope(2, 1, 4, n, [1.0], [2.0]).frequencies.item() for n in (0, 3, 4, 5)]
    assert scalings == [1, 1, 1, 0.5]


@pytest.mark.parametrize(
    ("s", "options", "expected"),
    [
        (1, {}, 1.0),
        (0.5, {}, 1.0),  # m(s) is 1 for s ≤ 1
        (0.5, {"mscale": 2, "mscale_all_dim": 1}, 1.0),
        (math.e, {}, 1.1),
        (math.e, {"mscale": 2, "mscale_all_dim": 1}, 1.2 / 1.1),
        (math.e, {"mscale": 2}, 1.1),  # the pair counts only if both are set
        (math.e, {"mscale_all_dim": 2}, 1.1),
        (math.e, {"mscale": 2, "mscale_all_dim": 0}, 1.1),  # 0 is as good as unset
        (math.e, {"attention_factor": 1.5, "mscale": 2, "mscale_all_dim": 1}, 1.5),
    ],
)
def test_yarn_attention_factor_precedence(s, options, expected):
    assert yarn(8, s, 256, **options).attention_factor == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("s", "expected"), [(0.5, 1.0), (1, 1.0), (4096, math.sqrt(2))])
def test_longrope_attention_factor_is_1_without_extension(s, expected):
    assert longrope(2, s, 4096, 1, [1.0], [1.0]).attention_factor == pytest.approx(expected, rel=1e-15)


def test_results_are_float64_whatever_the_default_dtype_and_device():
    try:
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("meta"):
            scaling = longrope(4, 2, 8, 1, torch.ones(2, device="cpu"), [2.0, 2.0])
            others = [ntk_aware(4, 2), yarn(4, 2, 8), llama3(4, 2, 8), position_interpolation(4, 2)]
    finally:
        torch.set_default_dtype(torch.float32)
    for result in (scaling, *others):
        assert result.frequencies.dtype == torch.float64
        assert result.frequencies.device.type == "cpu"


# Configs, with the public models' values

LLAMA_31_8B = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
}
QWEN_25_7B = {
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"},
}
GPT_OSS_20B = {
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "rope_theta": 150000,
    "rope_scaling": {
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "rope_type": "yarn",
        "truncate": False,
    },
}
DEEPSEEK_V3 = {
    "max_position_embeddings": 163840,
    "rope_theta": 10000,
    "rope_scaling": {
        "beta_fast": 32,
        "beta_slow": 1,
        "factor": 40,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
        "type": "yarn",
    },
}
# Phi-3-mini-128k's shape, with four factors in place of its 48
PHI3 = {
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "rope_scaling": {"type": "su", "short_factor": [1.05, 1.1, 1.2, 1.3], "long_factor": [1.1, 4.5, 30, 64]},
}
GEMMA3_FULL = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0}


@pytest.mark.parametrize(
    ("config", "head_dim", "expected", "attention_factor"),
    [
        pytest.param(LLAMA_31_8B, 128, llama3_loop(128, 8, 8192, 5e5), 1, id="llama-3.1-8b"),
        pytest.param(
            LLAMA_31_8B["rope_scaling"] | {"rope_theta": 5e5},
            128,
            llama3_loop(128, 8, 8192, 5e5),
            1,
            id="llama-3.1-8b-new-names",
        ),
        pytest.param(LLAMA_31_8B["rope_scaling"], 128, llama3_loop(128, 8, 8192), 1, id="llama3-without-its-base"),
        pytest.param(QWEN_25_7B, 128, yarn_loop(128, 4, 32768, 1e6), 0.1 * math.log(4) + 1, id="qwen-2.5-yarn"),
        pytest.param(
            GPT_OSS_20B, 64, yarn_loop(64, 32, 4096, 150000, truncate=False), 0.1 * math.log(32) + 1, id="gpt-oss"
        ),
        pytest.param(DEEPSEEK_V3, 64, yarn_loop(64, 40, 4096), 1, id="deepseek-v3"),
        pytest.param(
            {**DEEPSEEK_V3, "rope_scaling": {**DEEPSEEK_V3["rope_scaling"], "factor": None}},
            64,
            yarn_loop(64, 163840 / 4096, 4096),
            1,
            id="yarn-factor-from-lengths",
        ),
        pytest.param(GEMMA3_FULL, 256, [t / 8 for t in plain_loop(256, 1e6)], 1, id="gemma-3-full-attention"),
        pytest.param({"type": "linear", "factor": 4}, 64, [t / 4 for t in plain_loop(64)], 1, id="linear-old-name"),
        pytest.param({"type": "mrope", "rope_type": "default"}, 64, plain_loop(64), 1, id="new-name-before-old"),
        pytest.param({"rope_type": "default", "rope_theta": 5e5}, 64, plain_loop(64, 5e5), 1, id="default"),
        pytest.param({"rope_theta": 1e6, "rope_scaling": None}, 64, plain_loop(64, 1e6), 1, id="none-is-plain"),
        pytest.param(
            {"rotary_pct": 0.25, "rotary_emb_base": 10000, "rope_scaling": None}, 64, plain_loop(16), 1, id="pythia"
        ),
        pytest.param(
            {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.57},
            96,
            [t / 2 for t in plain_loop(54)],  # 54.72 rounded down
            1,
            id="partial-rotary",
        ),
        pytest.param(
            {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}, "rope_theta": 1e4},
            64,
            plain_loop(64, 5e5),
            1,
            id="inner-theta-first",
        ),
        pytest.param(
            {
                "max_position_embeddings": 1024,
                "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "beta_fast": None},
            },
            64,
            yarn_loop(64, 2, 1024),
            0.1 * math.log(2) + 1,
            id="trained-length-from-max-and-none-is-absent",
        ),
    ],
)
def test_config_gives_the_loops_frequencies(config, head_dim, expected, attention_factor):
    before = copy.deepcopy(config)
    scaling = rope_scaling_from_config(MappingProxyType(config), head_dim)
    assert isinstance(scaling, RopeScaling)
    assert_frequencies(scaling, expected, 1e-10)
    assert scaling.attention_factor == pytest.approx(attention_factor, rel=1e-15)
    assert config == before


def test_llama3_config_equals_the_case(case):
    """case llama3_inv_freq, by way of the config people paste."""
    frequencies = rope_scaling_from_config(LLAMA_31_8B, 128).frequencies
    for index, frequency in case("llama3_inv_freq")["expected"]["inv_freq_idx"].items():
        assert float(frequencies[int(index)]) == pytest.approx(frequency, rel=1e-10)


@pytest.mark.parametrize(
    ("config", "n", "expected", "attention_factor"),
    [
        pytest.param(PHI3, 4096, [1 / 1.05, 0.1 / 1.1, 0.01 / 1.2, 0.001 / 1.3], math.sqrt(1 + 5 / 12), id="short"),
        pytest.param(PHI3, 4097, [1 / 1.1, 0.1 / 4.5, 0.01 / 30, 0.001 / 64], math.sqrt(1 + 5 / 12), id="long"),
        pytest.param(
            {**PHI3, "rope_scaling": {**PHI3["rope_scaling"], "rope_type": "longrope", "attention_factor": 1.25}}
            | {"rope_theta": 1e8},
            4097,
            [1 / 1.1, 1e-2 / 4.5, 1e-4 / 30, 1e-6 / 64],
            1.25,
            id="attention-factor-and-theta-given",
        ),
        pytest.param(
            {**PHI3, "rope_scaling": {**PHI3["rope_scaling"], "original_max_position_embeddings": 64}},
            4096,
            [1 / 1.05, 0.1 / 1.1, 0.01 / 1.2, 0.001 / 1.3],
            math.sqrt(1 + 5 / 12),
            id="top-length-first",
        ),
        pytest.param(
            {"type": "dynamic", "factor": 2, "max_position_embeddings": 512, "original_max_position_embeddings": 9}
            | {"rope_theta": 5e5},
            1024,
            dynamic_loop(8, 2, 512, 1024, 5e5),
            1,
            id="dynamic",
        ),
        pytest.param(
            {"type": "dynamic", "factor": 2, "original_max_position_embeddings": 512},
            512,
            plain_loop(8),
            1,
            id="dynamic-other-length",
        ),
    ],
)
def test_length_dependent_config_gives_a_callable_that_pickles(config, n, expected, attention_factor):
    before = copy.deepcopy(config)
    scaling = rope_scaling_from_config(config, 8)
    for copied in (scaling, pickle.loads(pickle.dumps(scaling)), copy.deepcopy(scaling)):
        assert_frequencies(copied(n), expected)
        assert copied(n).attention_factor == pytest.approx(attention_factor, rel=1e-15)
    assert config == before


@st.composite
def configs(draw):
    """A config in any of the ways people write one, its head width, and length → (frequencies, attention factor)."""
    rotary = draw(st.integers(2, 32)) * 2
    part = draw(st.sampled_from([1, 0.5, 0.25]))
    s, base, trained_len = draw(factors), draw(bases), draw(lengths)
    kind = draw(st.sampled_from(["default", "linear", "dynamic", "yarn", "llama3", "longrope", "su"]))
    inner, loop = {"factor": s, "original_max_position_embeddings": trained_len}, lambda n: plain_loop(rotary, base)
    factor = 1.0
    if kind == "linear":
        loop = lambda n: [theta / s for theta in plain_loop(rotary, base)]
    elif kind == "dynamic":
        loop = lambda n: dynamic_loop(rotary, s, trained_len, n, base)
    elif kind == "yarn":
        loop, factor = (lambda n: yarn_loop(rotary, s, trained_len, base)), 0.1 * math.log(s) + 1
    elif kind == "llama3":
        inner |= {"low_freq_factor": 1, "high_freq_factor": 4.0}
        loop = lambda n: llama3_loop(rotary, s, trained_len, base)
    elif kind in ("longrope", "su"):
        short, long = (draw(st.lists(divisors, min_size=rotary // 2, max_size=rotary // 2)) for _ in range(2))
        inner |= {"short_factor": short, "long_factor": long}
        factor = math.sqrt(1 + math.log(s) / math.log(trained_len))
        used = lambda n: long if n > trained_len else short
        loop = lambda n: [theta / f for theta, f in zip(plain_loop(rotary, base), used(n), strict=True)]
    inner |= {draw(st.sampled_from(["rope_type", "type"])): kind}
    outer = {draw(st.sampled_from(["rope_theta", "rotary_emb_base"])): base, "vocab_size": 32_000}
    if part != 1 or draw(st.booleans()):
        outer[draw(st.sampled_from(["partial_rotary_factor", "rotary_pct"]))] = part
    place = draw(st.sampled_from(["rope_scaling", "rope_parameters", None]))
    config = outer | ({place: inner} if place else inner)
    return config, int(rotary / part), loop, factor


@given(configs(), st.integers(0, 10**7))
def test_any_way_to_write_a_config_gives_its_loop(drawn, n):
    config, head_dim, loop, attention_factor = drawn
    scaling = rope_scaling_from_config(config, head_dim)
    scaling = scaling(n) if callable(scaling) else scaling
    assert_frequencies(scaling, loop(n), 1e-8)
    assert scaling.attention_factor == pytest.approx(attention_factor, rel=1e-14)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@given(configs(), st.data())
def test_a_spoilt_config_is_read_or_refused_in_words(drawn, data):
    config, head_dim, *_ = drawn
    place = next((config[name] for name in ("rope_scaling", "rope_parameters") if name in config), config)
    spoilt = data.draw(st.sampled_from([config, place]))
    spoilt[data.draw(st.sampled_from(sorted(spoilt)))] = data.draw(junk)
    scaling, refusal = None, ""
    try:
        scaling = rope_scaling_from_config(config, head_dim)
    except (TypeError, ValueError) as error:
        refusal = str(error)
    assert isinstance(scaling, RopeScaling) or callable(scaling) or " must " in refusal


def test_a_config_changed_later_changes_nothing():
    config = copy.deepcopy(PHI3)
    scaling = rope_scaling_from_config(config, 8)
    config["rope_scaling"]["long_factor"][0] = 7
    assert float(scaling(5000).frequencies[0]) == pytest.approx(1 / 1.1)


# Bad input: every function, the error, and what its message names

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LONG = {"rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 64}
LISTS = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    ("function", "args", "options", "error", "names"),
    [
        *[
            (function, (*first, factor, *rest), {}, error, "factor must be")
            for function, first, rest in [
                (position_interpolation, (8,), ()),
                (ntk_aware, (8,), ()),
                (dynamic_ntk, (8,), (64, 64)),
                (yarn, (8,), (64,)),
                (llama3, (8,), (64,)),
                (longrope, (8,), (64, 64, [1] * 4, [1] * 4)),
            ]
            for error, values in [(ValueError, [0, -2.0, nan, inf]), (TypeError, ["2", None, True, torch.ones(2)])]
            for factor in values
        ],
        *[
            (function, (head_dim, *rest), {}, error, "head_dim must be")
            for function, rest in [
                (position_interpolation, (2,)),
                (ntk_aware, (2,)),
                (dynamic_ntk, (2, 64, 64)),
                (yarn, (2, 64)),
                (llama3, (2, 64)),
                (longrope, (2, 64, 64, [1] * 4, [1] * 4)),
            ]
            for head_dim, error in [(7, ValueError), (0, ValueError), (-8, ValueError), (8.0, TypeError)]
        ],
        *[
            (function, (8, 2, trained_len, *rest), {}, error, "trained_len must be")
            for function, rest in [(dynamic_ntk, (64,)), (yarn, ()), (llama3, ()), (longrope, (64, [1] * 4, [1] * 4))]
            for trained_len, error in [(0, ValueError), (-1, ValueError), (64.0, TypeError), (None, TypeError)]
        ],
        *[
            (function, (8, 2, *rest), {"base": base}, error, "base must be")
            for function, rest in [
                (position_interpolation, ()),
                (ntk_aware, ()),
                (dynamic_ntk, (64, 64)),
                (yarn, (64,)),
                (llama3, (64,)),
                (longrope, (64, 64, [1] * 4, [1] * 4)),
            ]
            for base, error in [(0, ValueError), (-1.0, ValueError), (nan, ValueError), ("1e4", TypeError)]
        ],
        *[
            (function, (8, 2, 64, seq_len, *rest), {}, error, "seq_len must be")
            for function, rest in [(dynamic_ntk, ()), (longrope, ([1] * 4, [1] * 4))]
            for seq_len, error in [(-1, ValueError), (64.0, TypeError), (None, TypeError)]
        ],
        (ntk_aware, (2, 2), {}, ValueError, "head_dim must be an integer >= 4, got 2"),
        (dynamic_ntk, (2, 2, 64, 1), {}, ValueError, "head_dim must be an integer >= 4, got 2"),
        (longrope, (8, 2, 1, 1, [1] * 4, [1] * 4), {}, ValueError, "trained_len must be an integer >= 2, got 1"),
        (yarn, (8, 2, 64), {"base": 1.0}, ValueError, "base must be a finite number > 1, got 1.0"),
        (yarn, (8, 2, 64), {"beta_slow": 0}, ValueError, "beta_slow must be a finite number > 0, got 0"),
        (yarn, (8, 2, 64), {"beta_fast": 1}, ValueError, "beta_fast must be a finite number > 1, got 1"),
        (yarn, (8, 2, 64), {"beta_fast": "32"}, TypeError, "beta_fast must be .* got '32'"),
        (yarn, (8, 2, 64), {"truncate": "False"}, TypeError, "truncate must be True or False, got 'False'"),
        (yarn, (8, 2, 64), {"attention_factor": 0}, ValueError, "attention_factor must be .* got 0"),
        (yarn, (8, 2, 64), {"attention_factor": "1"}, TypeError, "attention_factor must be .* got '1'"),
        (yarn, (8, 2, 64), {"mscale": -1.0}, ValueError, r"mscale must be .* got -1\.0"),
        (yarn, (8, 2, 64), {"mscale_all_dim": "1"}, TypeError, "mscale_all_dim must be .* got '1'"),
        (llama3, (8, 2, 64), {"low_freq_factor": 0}, ValueError, "low_freq_factor must be .* got 0"),
        (
            llama3,
            (8, 2, 64),
            {"high_freq_factor": 1},
            ValueError,
            "high_freq_factor must be a finite number > 1, got 1",
        ),
        (longrope, (8, 2, 64, 1, [1] * 3, [1] * 4), {}, ValueError, "short_factors must be 4 numbers .* got 3"),
        (longrope, (8, 2, 64, 1, [1] * 4, [1] * 5), {}, ValueError, "long_factors must be 4 numbers .* got 5"),
        (longrope, (8, 2, 64, 1, 1.0, [1] * 4), {}, TypeError, r"short_factors must be 4 numbers .* got 1\.0"),
        (longrope, (8, 2, 64, 1, [1, 1, 0, 1], [1] * 4), {}, ValueError, r"short_factors\[2\] must be .* got 0"),
        (longrope, (8, 2, 64, 1, [1] * 4, [1, nan, 1, 1]), {}, ValueError, r"long_factors\[1\] must be .* got nan"),
        (longrope, (8, 2, 64, 1, "abcd", [1] * 4), {}, TypeError, r"short_factors\[0\] must be .* got 'a'"),
        (longrope, (8, 2, 64, 1, [1] * 4, [1] * 4), {"attention_factor": inf}, ValueError, "attention_factor must be"),
        *[
            (rope_scaling_from_config, (config, head_dim), {}, error, names)
            for config, head_dim, error, names in [
                (None, 8, TypeError, "config must be a dict .* got None"),
                ("yarn", 8, TypeError, "config must be a dict .* got 'yarn'"),
                ({"rope_scaling": "yarn"}, 8, TypeError, r"config\['rope_scaling'\] must be a dict .* got 'yarn'"),
                ({}, 8, ValueError, r"config must hold 'rope_type' .*default.*llama3.* got \[\]"),
                ({"factor": 2.0}, 8, ValueError, r"config must hold 'rope_type' .* got \['factor'\]"),
                ({"rope_type": "proportional"}, 8, ValueError, "rope_type.*'yarn'.*got 'proportional'"),
                ({"rope_type": 3}, 8, ValueError, "rope_type.* got 3"),
                ({"rope_type": "linear"}, 8, ValueError, r"must hold \['factor'\] for rope_type 'linear'"),
                ({"rope_type": "linear", "factor": None}, 8, ValueError, r"must hold \['factor'\]"),
                ({"rope_type": "linear", "factor": "2"}, 8, TypeError, "factor must be .* got '2'"),
                (GEMMA3_FULL | {"rope_theta": "1e6"}, 8, TypeError, r"config\['rope_theta'\] must be .* got '1e6'"),
                ({"rope_type": "dynamic", "factor": 2.0}, 8, ValueError, r"must hold \['max_position_embeddings'\]"),
                (
                    {"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 64.5},
                    8,
                    TypeError,
                    r"config\['max_position_embeddings'\] must be an integer .* got 64\.5",
                ),
                ({"rope_type": "dynamic", "factor": 0.0, "max_position_embeddings": 64}, 8, ValueError, "factor must"),
                ({"rope_type": "yarn", "factor": 2.0}, 8, ValueError, r"hold \['original_max_position_embeddings'\]"),
                ({k: v for k, v in YARN.items() if k != "factor"}, 8, ValueError, r"must hold \['factor'\]"),
                (YARN | {"truncate": "no"}, 8, TypeError, "truncate must be True or False, got 'no'"),
                (YARN | {"beta_fast": 0.5}, 8, ValueError, r"beta_fast must be .* got 0\.5"),
                (LONG, 8, ValueError, r"must hold \['short_factor'\]"),
                (LONG | {"short_factor": [1.0] * 4}, 8, ValueError, r"must hold \['long_factor'\]"),
                (LONG | LISTS, 16, ValueError, r"config\['short_factor'\] must be 8 numbers .* got 4"),
                (LONG | LISTS | {"long_factor": [1, 1, 1, -1]}, 8, ValueError, r"config\['long_factor'\]\[3\] must be"),
                (LONG | LISTS | {"long_mscale": 1.2}, 8, ValueError, r"'long_mscale'.* got 1\.2"),
                (LLAMA_31_8B["rope_scaling"] | {"high_freq_factor": None}, 8, ValueError, r"\['high_freq_factor'\]"),
                ({"full_attention": GEMMA3_FULL, "sliding_attention": None}, 8, ValueError, r"\['full_attention'\]"),
                (
                    {"rope_parameters": {"full_attention": GEMMA3_FULL, "sliding_attention": {}}},
                    8,
                    ValueError,
                    r"pass one of its parts \['full_attention', 'sliding_attention'\]",
                ),
                ({"text_config": LLAMA_31_8B}, 8, ValueError, r"pass one of its parts \['text_config'\]"),
                ({"rope_parameters": YARN, "rope_scaling": YARN}, 8, ValueError, "one of .* got both"),
                (GPT_OSS_20B, 128, ValueError, "head_dim must be the config's head_dim 64, got 128"),
                (GEMMA3_FULL, 7, ValueError, "must be even .* got 7"),
                (GEMMA3_FULL, 8.0, TypeError, r"head_dim must be an integer .* got 8\.0"),
                (GEMMA3_FULL | {"partial_rotary_factor": 0.4}, 8, ValueError, "partial_rotary_factor.* got 3"),
                (GEMMA3_FULL | {"partial_rotary_factor": 1.5}, 8, ValueError, r"partial_rotary_factor.* got 1\.5"),
                (GEMMA3_FULL | {"partial_rotary_factor": "½"}, 8, TypeError, "partial_rotary_factor.* got '½'"),
            ]
        ],
    ],
)
def test_bad_input_is_named(function, args, options, error, names):
    with pytest.raises(error, match=names):
        function(*args, **options)
