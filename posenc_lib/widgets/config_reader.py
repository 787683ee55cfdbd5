"""Read a model's config: paste its rope parameters and see what they do to each pair."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.artist import Artist
from torch import Tensor

from posenc_lib.base import check_integer
from posenc_lib.context_extension import config_values, rope_scaling_from_config
from posenc_lib.rope import RopeScaling, rope_frequencies
from posenc_lib.widgets.live_figure import BLACK, GREY, WIDTH, LiveFigure, State, choice, slider
from posenc_lib.widgets.pair_panel import PairPanel, pair_kinds, say_pairs, slowed_by, wavelengths

__all__ = ["CONFIGS", "ConfigReader", "ReadConfig", "read_config"]

# fmt: off
_PHI_SHORT = [
    1.0, 1.02, 1.03, 1.03, 1.05, 1.05, 1.05, 1.05, 1.05, 1.07, 1.1, 1.11, 1.16, 1.16, 1.17, 1.29, 1.34, 1.68, 1.79,
    1.82, 1.85, 1.88, 1.91, 1.94, 1.99, 2.02, 2.02, 2.02, 2.02, 2.02, 2.02, 2.03, 2.03, 2.03, 2.03, 2.03, 2.03, 2.03,
    2.03, 2.03, 2.08, 2.09, 2.19, 2.22, 2.59, 2.73, 2.75, 2.84,
]
_PHI_LONG = [
    1.08, 1.11, 1.14, 1.34, 1.59, 1.6, 1.62, 2.62, 3.23, 3.23, 4.79, 7.4, 7.7, 9.09, 12.2, 17.67, 24.46, 28.57, 30.42,
    30.84, 32.59, 32.93, 42.32, 44.96, 50.34, 50.45, 57.55, 57.93, 58.21, 60.14, 62.61, 62.62, 62.71, 63.14, 63.14,
    63.77, 63.93, 63.96, 63.97, 64.03, 64.07, 64.08, 64.12, 64.41, 64.48, 64.51, 64.53, 64.84,
]
# fmt: on

CONFIGS: dict[str, dict[str, Any]] = {
    "Llama 3.1 8B": {
        "head_dim": 128,
        "rope_theta": 500_000.0,
        "max_position_embeddings": 131_072,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    },
    "Qwen2.5 7B + YaRN": {
        "head_dim": 128,
        "rope_theta": 1_000_000.0,
        "max_position_embeddings": 32_768,
        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768},
    },
    "Phi-3.5 mini": {
        "head_dim": 96,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 131_072,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope", "short_factor": _PHI_SHORT, "long_factor": _PHI_LONG},
    },
    "gpt-oss 20B": {
        "head_dim": 64,
        "rope_theta": 150_000.0,
        "max_position_embeddings": 131_072,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 32.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        },
    },
    "Gemma 3 12B, global": {
        "head_dim": 256,
        "rope_theta": 1_000_000.0,
        "max_position_embeddings": 131_072,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    },
    "Gemma 3 12B, local": {
        "head_dim": 256,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 131_072,
        "rope_scaling": None,
    },
}
"""The rope part of published config.json files (huggingface.co: meta-llama/Llama-3.1-8B, Qwen/Qwen2.5-7B-Instruct with
what its model card adds for long texts, microsoft/Phi-3.5-mini-instruct, openai/gpt-oss-20b, google/gemma-3-12b-it,
whose layers with a sliding window use the base `rope_local_base_freq`), Phi's float32 factors rounded to two places."""

MULTIPLES = (1, 2, 4, 8, 16, 32)
LENGTH_KEYS = ("original_max_position_embeddings", "max_position_embeddings")
ASSUMED_HEAD_DIM, LARGEST_HEAD_DIM = 128, 1024
LARGEST = 1e12  # of a length, a factor and a wavelength: what axes still show
BASE_KEYS = {"rope_theta", "rotary_emb_base"}
STRETCHING_KEYS = {"rope_parameters", "rope_scaling", "rope_type", "type"}


@dataclass(frozen=True)
class ReadConfig:
    """What a config says about RoPE.

    Attributes:
        rope_type: as in the config, under its present name.
        head_dim: width of a head, 128 if the config does not say (`head_dim_is_assumed`).
        plain: frequencies without stretching, (r/2,).
        scaling_at: length in positions → RopeScaling.
        length, length_key: the length that stretching starts from and where it stands; None if the config has none.
        factor: the nominal one; 1 without stretching.
    """

    rope_type: str
    head_dim: int
    head_dim_is_assumed: bool
    plain: Tensor
    scaling_at: Callable[[int], RopeScaling]
    length: int | None
    length_key: str
    factor: float


def read_config(text: str) -> ReadConfig:
    """Read JSON: a whole config.json, or its rope_parameters or rope_scaling alone.

    Raises:
        ValueError: no JSON, or what `rope_scaling_from_config` does not accept.
        TypeError: JSON of something other than an object, or a value of the wrong type.
    """
    text = text.strip()
    if text.startswith('"'):
        text = f"{{{text.rstrip(',')}}}"  # one line of a config, as "rope_scaling": {…}
    try:
        config = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("this JSON is nested too deeply") from None
    if not isinstance(config, dict):
        raise TypeError(f"the JSON must be an object, {{…}}, got {config!r}")
    if not STRETCHING_KEYS & config.keys() and BASE_KEYS & config.keys():
        config = config | {"rope_scaling": None}  # plain RoPE, as older files say by leaving it out
    head_dim = _head_dim(config)
    scaling = rope_scaling_from_config(config, head_dim or ASSUMED_HEAD_DIM)
    values = config_values(config)
    keys = LENGTH_KEYS[::-1] if values["rope_type"] == "dynamic" else LENGTH_KEYS
    key = next((key for key in keys if key in values), "")
    length = check_integer(key, values[key]) if key else None
    factor = _factor(values, length)
    for name, value in ((key, length or 0), ("factor", factor)):
        if value > LARGEST:
            raise ValueError(f"{name} must be at most {LARGEST:g}, got {value:g}")
    scaling_at = scaling if callable(scaling) else lambda length: scaling
    return ReadConfig(
        rope_type=values["rope_type"],
        head_dim=head_dim or ASSUMED_HEAD_DIM,
        head_dim_is_assumed=head_dim is None,
        plain=rope_frequencies(2 * len(scaling_at(0).frequencies), base=values.get("rope_theta", 10_000.0)),
        scaling_at=scaling_at,
        length=length,
        length_key=key,
        factor=factor,
    )


def _head_dim(config: dict[str, Any]) -> int | None:
    """The width of a head for RoPE: stated, or the model's over its heads; None if the config has neither."""
    stated = next((key for key in ("qk_rope_head_dim", "head_dim") if config.get(key) is not None), None)
    if stated:
        head_dim = check_integer(stated, config[stated])
    elif config.get("hidden_size") is not None and config.get("num_attention_heads") is not None:
        heads = check_integer("num_attention_heads", config["num_attention_heads"])
        hidden = check_integer("hidden_size", config["hidden_size"])
        if hidden % heads:
            raise ValueError(f"hidden_size must be a multiple of num_attention_heads {heads}, got {hidden}")
        head_dim = hidden // heads
    else:
        return None
    if head_dim > LARGEST_HEAD_DIM:
        raise ValueError(f"head_dim must be at most {LARGEST_HEAD_DIM}, got {head_dim}")
    return head_dim


def _factor(values: dict[str, Any], length: int | None) -> float:
    if values["rope_type"] == "default":
        return 1
    if "factor" in values:
        return values["factor"]
    return values["max_position_embeddings"] / length  # yarn and longrope, which have both lengths then


class ConfigReader(LiveFigure):
    """What the rope parameters of a real model's config do to each pair."""

    description = (
        "One mark for each pair of a real model, at its wavelength without stretching, as high as its config slows it: "
        "unchanged, blended, or interpolated by the config's factor (dashed line; for dynamic NTK, which has none of "
        "its own, by the sequence length over the trained one) or more. Right of the shaded edge no "
        "pair completes a turn within the length that the config names. Press a model's button, or paste a config.json "
        "or its rope_parameters into the box. Slide the pair to read its numbers, and the sequence length (dotted) to "
        "see which configs depend on it."
    )
    background_controls = ("config",)

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        first = next(iter(CONFIGS.values()))
        box = ipywidgets.Textarea(
            _as_text(first), description="config (JSON)", rows=8, style={"description_width": "11em"}
        )
        box.layout.width, box.layout.max_width = "100%", f"{WIDTH}px"
        return {
            "pair": slider("pair", 29, 0, 127),
            "multiple": choice("sequence ÷ length", 1, [(f"×{multiple}", multiple) for multiple in MULTIPLES]),
            "config": box,
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        pairs = dict(zip(CONFIGS, (32, 36, 16, 14, 64, 64), strict=True))
        return {
            name: lambda state, name=name: {"config": _as_text(CONFIGS[name]), "pair": pairs[name], "multiple": 1}
            for name in CONFIGS
        }

    def build(self) -> list[Artist]:
        self.axes = self.figure.add_axes((0.105, 0.14, 0.87, 0.74))
        self.pairs = PairPanel(self.axes)
        self.region = self.axes.axvspan(1, 2, color="#eeeeee", zorder=0)
        self.region_text = self.axes.text(
            0, 0.99, "", ha="right", va="top", color=GREY, clip_on=True, transform=self.axes.get_xaxis_transform()
        )
        (ring,) = self.axes.plot([], [], "o", color=BLACK, mfc="none", mew=1.6, markersize=12)
        self.ring = ring
        self.scale: list[Artist] = [self.region, self.axes.xaxis, self.axes.yaxis, self.region_text]
        self.figure.legend(handles=list(self.pairs.handles.values()), loc="upper center", ncols=3)
        return [*self.pairs.artists, ring]

    def draw_background(self, *, config: str, **state: Any) -> list[Artist]:
        try:
            read = read_config(config)
            waves = wavelengths(read.plain)
            slowed = [
                slowed_by(read.plain, read.scaling_at(multiple * (read.length or 0)).frequencies)
                for multiple in MULTIPLES
            ]
            if np.max(waves) > LARGEST or np.max(slowed) > LARGEST or np.min(slowed) < 1 / LARGEST:
                raise ValueError(f"wavelengths, and what a pair is slowed by, must be at most {LARGEST:g}")
        except (TypeError, ValueError) as error:
            self.fault = f"Not read: {error}. The picture is the one before. "
            return self.scale
        self.read, self.fault = read, ""
        edge = self.read.length or np.inf
        right = 1.6 * max(waves.max(), edge if self.read.length else 0)
        self.axes.set_xlim(waves.min() / 1.6, right)
        self.axes.set_ylim(min(1, np.min(slowed)) / 1.3, 2 * max(2, np.max(slowed), self.read.factor))
        self.region.set(x=min(edge, right), width=max(right - edge, 0))
        self.region_text.set(
            x=min(edge, right), text=f"{self.read.length_key} {edge:,.0f} " if self.read.length else ""
        )
        return self.scale

    def move(self, *, pair: int, multiple: int, config: str) -> str:
        read = self.read
        length = multiple * (read.length or 0)
        scaling = read.scaling_at(length)
        waves, slowed = wavelengths(read.plain), slowed_by(read.plain, scaling.frequencies)
        factor = multiple if read.rope_type == "dynamic" else read.factor
        self.pairs.show(waves, slowed, factor=factor, length=length or np.nan)
        pair = min(pair, len(waves) - 1)
        self.ring.set_data([waves[pair]], [slowed[pair]])
        assumed = " (not in the config: assumed)" if read.head_dim_is_assumed else ""
        at = f", at sequence length {length:,}" if read.length else ""
        return (
            f"{self.fault}Type {read.rope_type}, head width {read.head_dim}{assumed}, {len(waves)} pairs, factor "
            f"{factor:g}{at}: {say_pairs(slowed, factor)}; cos and sin × {scaling.attention_factor:.3f}. Pair {pair}: "
            f"wavelength {waves[pair]:,.0f} → {waves[pair] * slowed[pair]:,.0f} positions, slowed by "
            f"{slowed[pair]:.2f} ({pair_kinds(slowed, factor)[pair]})."
        )


def _as_text(config: dict[str, Any]) -> str:
    """JSON as one would write it by hand: lists of numbers on one line."""
    return re.sub(r"(?<=[\d\[,])\s+(?=[\d\]])", " ", json.dumps(config, indent=2))
