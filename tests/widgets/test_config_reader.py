import json
import math

import pytest

from posenc_lib.widgets import ConfigReader
from posenc_lib.widgets.config_reader import CONFIGS, read_config
from tests.widgets.buttons import press

LLAMA = CONFIGS["Llama 3.1 8B"]


def slowed(config, length):
    read = read_config(json.dumps(config))
    return (read.plain / read.scaling_at(length).frequencies).tolist()


def test_llama_config_gives_the_released_divisors(case):
    """llama3_inv_freq: apply_scaling of meta-llama/llama-models, with the numbers of Llama 3.1's config."""
    divisors = slowed(LLAMA, 8192)
    for pair, expected in case("llama3_inv_freq")["expected"]["divisor_idx"].items():
        assert divisors[int(pair)] == pytest.approx(expected, rel=1e-9)


def test_phi_config_gives_the_published_factor_on_cos_and_sin(case):
    """longrope_attention_factor: 131 072 over 4096, as in Hugging Face's _compute_longrope_parameters."""
    published = case("longrope_attention_factor")
    read = read_config(json.dumps(CONFIGS["Phi-3.5 mini"]))
    assert read.factor == 32
    assert read.scaling_at(4096).attention_factor == pytest.approx(published["expected"], abs=published["tolerance"])


def test_phi_config_switches_its_factors_past_the_trained_length():
    rope = CONFIGS["Phi-3.5 mini"]["rope_scaling"]
    assert slowed(CONFIGS["Phi-3.5 mini"], 4096) == pytest.approx(rope["short_factor"], rel=1e-12)
    assert slowed(CONFIGS["Phi-3.5 mini"], 4097) == pytest.approx(rope["long_factor"], rel=1e-12)


def test_gpt_oss_config_is_yarn_without_rounded_ends():
    """Pairs that turn 32 times and once within 4096: 32·ln(4096/(2π·turns))/ln 150 000 = 8.09 and 17.40."""
    divisors = slowed(CONFIGS["gpt-oss 20B"], 4096)
    low, high = (32 * math.log(4096 / (2 * math.pi * turns)) / math.log(150_000) for turns in (32, 1))
    for pair, divisor in enumerate(divisors):
        ramp = min(max((pair - low) / (high - low), 0), 1)
        assert 1 / divisor == pytest.approx(ramp / 32 + 1 - ramp, rel=1e-9)


def test_gemma_has_two_bases():
    for name, base in (("Gemma 3 12B, global", 1e6), ("Gemma 3 12B, local", 1e4)):
        read = read_config(json.dumps(CONFIGS[name]))
        assert read.plain[-1].item() == pytest.approx(base ** (-254 / 256), rel=1e-12)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_model_has_a_button_that_fills_the_box(name):
    figure = ConfigReader()
    press(figure, name)
    assert json.loads(figure.controls["config"].value) == CONFIGS[name]
    assert not figure.fault


@pytest.mark.parametrize(
    ("config", "head_dim", "assumed"),
    [
        ({"head_dim": 64}, 64, False),
        ({"hidden_size": 3584, "num_attention_heads": 28}, 128, False),
        ({"head_dim": None, "hidden_size": 512, "num_attention_heads": 8}, 64, False),
        ({}, 128, True),
    ],
)
def test_head_width_is_read_from_the_config_or_said_to_be_assumed(config, head_dim, assumed):
    read = read_config(json.dumps({"rope_type": "default", **config}))
    assert (read.head_dim, read.head_dim_is_assumed) == (head_dim, assumed)
    assert len(read.plain) == head_dim // 2


def test_the_trained_length_is_the_original_one_except_for_dynamic_scaling():
    lengths = {"original_max_position_embeddings": 1024, "max_position_embeddings": 4096}
    yarn = read_config(json.dumps({"rope_type": "yarn", **lengths}))
    assert (yarn.length, yarn.factor) == (1024, 4)
    dynamic = read_config(json.dumps({"rope_type": "dynamic", "factor": 2.0, **lengths}))
    assert (dynamic.length, dynamic.length_key) == (4096, "max_position_embeddings")
    assert read_config('{"rope_type": "linear", "factor": 2}').length is None


def test_partial_rotary_has_fewer_pairs():
    assert len(read_config('{"rope_type": "default", "head_dim": 64, "partial_rotary_factor": 0.25}').plain) == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON, line 1, column 1"),
        ('{\n"a": }', "not JSON, line 2, column 6"),
        ("{'rope_type': 'yarn'}", "property name enclosed in double quotes"),
        ("[1, 2]", "must be an object, {…}, got [1, 2]"),
        ("{}", "must hold 'rope_type'"),
        ('{"rope_type": "ntk"}', "must be one of 'default', 'linear', 'dynamic', 'yarn', 'llama3', 'longrope', 'su'"),
        ('{"rope_type": "linear"}', "must hold ['factor'] for rope_type 'linear'"),
        ('{"rope_type": "yarn", "factor": 4}', "must hold ['original_max_position_embeddings']"),
        ('{"rope_type": "linear", "factor": "four"}', "factor must be a finite number > 0, got 'four'"),
        ('{"rope_type": "linear", "factor": NaN}', "factor must be a finite number > 0, got nan"),
        ('{"rope_type": "default", "head_dim": 100000}', "head_dim must be at most 1024"),
        ('{"rope_type": "default", "hidden_size": 64, "num_attention_heads": 0}', "num_attention_heads must be"),
        (
            '{"rope_type": "default", "hidden_size": 4127, "num_attention_heads": 32}',
            "hidden_size must be a multiple of num_attention_heads 32, got 4127",
        ),
        ('{"rope_type": "default", "hidden_size": 4, "num_attention_heads": 8}', "hidden_size must be a multiple"),
        ("[" * 200_000, "this JSON is nested too deeply"),
        ('{"rope_type": "default", "max_position_embeddings": "long"}', "max_position_embeddings must be an integer"),
        ('{"full_attention": {"rope_type": "default"}}', "pass one of its parts ['full_attention']"),
        ('{"rope_type": "linear", "factor": 1e308}', "factor must be at most 1e+12, got 1e+308"),
        ('{"rope_type": "linear", "factor": 10000000000000000000000}', "factor must be at most 1e+12, got 1e+22"),
        (
            '{"rope_type": "default", "max_position_embeddings": 9000000000000000000}',
            "must be at most 1e+12, got 9e+18",
        ),
        ('{"rope_type": "default", "rope_theta": 1e308}', "wavelengths, and what a pair is slowed by, must be at most"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_old_picture_is_kept(text, said):
    figure = ConfigReader()
    picture, readout = figure.image.value, figure.readout
    figure.controls["config"].value = text
    assert figure.readout.startswith("Not read: ")
    assert said in figure.readout
    assert figure.readout.endswith(readout)
    assert figure.image.value == picture
    figure.controls["config"].value = json.dumps(LLAMA)
    assert (figure.image.value, figure.readout) == (picture, readout)


def test_pair_past_the_last_is_the_last():
    figure = ConfigReader()
    press(figure, "gpt-oss 20B")
    figure.controls["pair"].value = 127
    assert "Pair 31: wavelength" in figure.readout


def test_a_config_without_a_length_draws_no_length():
    figure = ConfigReader()
    figure.controls["config"].value = '{"rope_type": "linear", "factor": 4, "head_dim": 16}'
    assert "8 pairs, factor 4: interpolated 0–7" in figure.readout
    assert math.isnan(figure.pairs.length_line.get_xdata()[0])


def test_dynamic_scaling_is_marked_by_what_the_length_needs():
    """At n = 4L with factor 2 the slowest pair slows by 1 + 2·(4 − 1) = 7, more than the 4 that it needs."""
    figure = ConfigReader()
    figure.controls["config"].value = json.dumps(
        {"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 4096, "head_dim": 128}
    )
    assert "unchanged 0–63" in figure.readout
    figure.controls["multiple"].value = 4
    figure.controls["pair"].value = 63
    assert "factor 4, at sequence length 16,384" in figure.readout
    assert "slowed by 7.00 (interpolated)" in figure.readout


def test_a_config_without_stretching_is_plain_rope():
    mistral = {
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 32_768,
    }
    read = read_config(json.dumps(mistral))
    assert (read.rope_type, read.head_dim, len(read.plain)) == ("default", 128, 64)
    with pytest.raises(ValueError, match="rope_type"):
        read_config('{"hidden_size": 768, "num_attention_heads": 12}')  # BERT's: nothing about RoPE in it


def test_the_part_of_a_head_that_turns_has_its_own_width():
    deepseek = {"hidden_size": 7168, "num_attention_heads": 128, "qk_rope_head_dim": 64, "rope_theta": 10_000}
    assert read_config(json.dumps(deepseek)).head_dim == 64


def test_one_line_of_a_config_is_read_with_or_without_its_comma():
    line = '"rope_scaling": {"rope_type": "linear", "factor": 4.0}'
    for text in (line, f"  {line},\n"):
        assert read_config(text).factor == 4
