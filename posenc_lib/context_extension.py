"""Ways to stretch RoPE past the length it was trained on: each slows some pairs' hands so that they stay in range.

Every method returns a RopeScaling: new frequencies, float64, and a factor on cos and sin. Position interpolation
slows every pair alike; NTK-aware scaling slows pair i by factor^(2i/(d−2)); YaRN and Llama 3 slow only pairs whose
wave is long for the trained length; LongRoPE slows each pair by a searched number of its own.

Notation: θ_i = base^(−2i/d) is the plain frequency of pair i in radians a position, d the rotary width
(`head_dim` here), L = `trained_len` in positions, s = `factor`. Arguments are checked alike everywhere: head_dim
even, factor and base finite and > 0, trained_len an integer ≥ 1, seq_len an integer ≥ 0 (0 is an empty sequence);
anything else raises TypeError or ValueError naming the argument, its value and what is accepted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posenc_lib.base import check_bool, check_choice, check_even, check_integer, check_number
from posenc_lib.rope import RopeScaling, rope_frequencies

__all__ = [
    "dynamic_ntk",
    "llama3",
    "longrope",
    "ntk_aware",
    "position_interpolation",
    "rope_scaling_from_config",
    "yarn",
]

ROPE_TYPES = ("default", "linear", "dynamic", "yarn", "llama3", "longrope", "su")
# How older config files spell what is read here.
OLD_NAMES = {"type": "rope_type", "rotary_emb_base": "rope_theta", "rotary_pct": "partial_rotary_factor"}


def position_interpolation(head_dim: int, factor: float, *, base: float = 10_000.0) -> RopeScaling:
    """Squeeze positions back into the trained range, p → p/s, which is θ_i/s (Chen et al. 2023, arXiv:2306.15595).

    Args:
        head_dim: d, the width that is turned; even.
        factor: s, how many times longer the context gets.
        base: of the plain frequencies.
    """
    factor = check_number("factor", factor, above=0)
    return RopeScaling(rope_frequencies(head_dim, base=base) / factor)


def ntk_aware(head_dim: int, factor: float, *, base: float = 10_000.0) -> RopeScaling:
    """Raise the base to base·s^(d/(d−2)): the slowest pair slows by exactly s, the fastest not at all.

    Written as what it does to pair i, θ_i·s^(−2i/(d−2)); bloc97 on r/LocalLLaMA, June 2023.

    Args:
        head_dim: d, the width that is turned; even, at least 4 (with one pair, slowest and fastest are the same).
        factor: s, how much slower the slowest pair gets.
        base: of the plain frequencies.
    """
    head_dim = check_even("head_dim", head_dim, minimum=4)
    factor = check_number("factor", factor, above=0)
    exponents = -torch.arange(0, head_dim, 2, dtype=torch.float64, device="cpu") / (head_dim - 2)
    return RopeScaling(rope_frequencies(head_dim, base=base) * factor**exponents)


def dynamic_ntk(head_dim: int, factor: float, trained_len: int, seq_len: int, *, base: float = 10_000.0) -> RopeScaling:
    """NTK-aware scaling by as much as the present length asks for, 1 + s·(n/L − 1); plain while n ≤ L.

    A pure function of n = seq_len: a short call after a long one is plain again. Keys that were turned and cached
    at a shorter n are stale, so cache them unturned. emozilla on r/LocalLLaMA, June 2023; the formula is
    that of Hugging Face's "dynamic".

    Args:
        head_dim: d, the width that is turned; even, at least 4.
        factor: s, at n = 2L the slowest pair slows by 1 + s.
        trained_len: L, in positions.
        seq_len: n, positions in the sequence as it is now.
        base: of the plain frequencies.
    """
    factor = check_number("factor", factor, above=0)
    trained_len = check_integer("trained_len", trained_len)
    seq_len = check_integer("seq_len", seq_len, minimum=0)
    return ntk_aware(head_dim, 1 + factor * (max(seq_len, trained_len) / trained_len - 1), base=base)


def yarn(
    head_dim: int,
    factor: float,
    trained_len: int,
    *,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    attention_factor: float | None = None,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
) -> RopeScaling:
    """Keep pairs that turn often within L, interpolate those that do not, blend between (Peng et al., 2309.00071).

    The ramp is the released code's, linear in the pair's index i between the pairs that turn beta_fast and
    beta_slow times within L; the paper's (its eq. 11–13) is linear in the turns. Released checkpoints use the code's.
    As in that code, i of the lower end is at least 0 and of the upper end at most d − 1. So pair 0 keeps its frequency
    even where it turns less than beta_slow times; where it turns far less the ends change places and all pairs keep
    theirs; and where even the last pair turns far more than beta_fast times all are interpolated.

    Args:
        head_dim: d, the width that is turned; even.
        factor: s, how many times longer the context gets.
        trained_len: L, in positions.
        base: of the plain frequencies, > 1.
        beta_fast: pairs that turn at least so often within L keep their frequency; above beta_slow.
        beta_slow: pairs that turn at most so often are interpolated, θ_i/s; above 0.
        truncate: round the ramp's ends outward to whole pairs (gpt-oss does not).
        attention_factor: on cos and sin. If given it is taken as it is, and mscale is not looked at.
        mscale, mscale_all_dim: m(s, mscale)/m(s, mscale_all_dim) is the attention factor if both are set and not 0
            (the Hugging Face rule, by truth value); otherwise it is m(s, 1), where m(s, k) = 0.1·k·ln s + 1 for
            s > 1 and 1 for s ≤ 1.
    """
    factor = check_number("factor", factor, above=0)
    trained_len = check_integer("trained_len", trained_len)
    base = check_number("base", base, above=1)
    beta_slow = check_number("beta_slow", beta_slow, above=0)
    beta_fast = check_number("beta_fast", beta_fast, above=beta_slow)
    check_bool("truncate", truncate)
    plain = rope_frequencies(head_dim, base=base)

    def pair_that_turns(times: float) -> float:
        return head_dim * math.log(trained_len / (2 * math.pi * times)) / (2 * math.log(base))

    low, high = pair_that_turns(beta_fast), pair_that_turns(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(head_dim // 2, dtype=torch.float64, device="cpu") - low) / (high - low)).clamp(0, 1)

    if attention_factor is None:
        attention_factor = _yarn_attention_factor(factor, mscale, mscale_all_dim)
    return RopeScaling(plain * (1 - ramp) + plain / factor * ramp, attention_factor)


def _yarn_attention_factor(factor: float, mscale: float | None, mscale_all_dim: float | None) -> float:
    for name, value in (("mscale", mscale), ("mscale_all_dim", mscale_all_dim)):
        if value is not None and check_number(name, value) < 0:
            raise ValueError(f"{name} must be None or a number >= 0, got {value!r}")

    def m(k: float) -> float:
        return 0.1 * k * math.log(factor) + 1 if factor > 1 else 1.0

    return m(mscale) / m(mscale_all_dim) if mscale and mscale_all_dim else m(1)


def llama3(
    head_dim: int,
    factor: float,
    trained_len: int,
    *,
    base: float = 10_000.0,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
) -> RopeScaling:
    """Keep pairs that turn often within L, divide by s those that do not, blend between, in frequency.

    Llama 3.1's released code (`apply_scaling` in meta-llama/llama-models), which has base 500 000, s = 8, L = 8192.

    Args:
        head_dim: d, the width that is turned; even.
        factor: s, how much slower the slow pairs get.
        trained_len: L, in positions.
        base: of the plain frequencies.
        low_freq_factor: pairs that turn at most so often within L are divided by s; above 0.
        high_freq_factor: pairs that turn at least so often keep their frequency; above low_freq_factor.
    """
    factor = check_number("factor", factor, above=0)
    trained_len = check_integer("trained_len", trained_len)
    low_freq_factor = check_number("low_freq_factor", low_freq_factor, above=0)
    high_freq_factor = check_number("high_freq_factor", high_freq_factor, above=low_freq_factor)
    plain = rope_frequencies(head_dim, base=base)
    turns = trained_len * plain / (2 * math.pi)
    keep = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0, 1)
    return RopeScaling((1 - keep) * plain / factor + keep * plain)


def longrope(
    head_dim: int,
    factor: float,
    trained_len: int,
    seq_len: int,
    short_factors: Sequence[float] | Tensor,
    long_factors: Sequence[float] | Tensor,
    *,
    base: float = 10_000.0,
    attention_factor: float | None = None,
) -> RopeScaling:
    """Divide each pair by a searched number of its own, θ_i/f_i (Ding et al. 2024, arXiv:2402.13753).

    f is `long_factors` once the sequence is longer than L, `short_factors` up to and at L. Keys turned and cached
    before the switch are stale after it.

    Args:
        head_dim: d, the width that is turned; even.
        factor: s, the longest context over L. It sets the attention factor alone: sqrt(1 + ln s / ln L), 1 if s ≤ 1.
        trained_len: L, in positions; at least 2.
        seq_len: n, positions in the sequence as it is now.
        short_factors, long_factors: d/2 numbers > 0 each.
        base: of the plain frequencies.
        attention_factor: on cos and sin, in place of the formula's.
    """
    factor = check_number("factor", factor, above=0)
    trained_len = check_integer("trained_len", trained_len, minimum=2)
    seq_len = check_integer("seq_len", seq_len, minimum=0)
    plain = rope_frequencies(head_dim, base=base)
    short_factors = _check_factors("short_factors", short_factors, len(plain))
    long_factors = _check_factors("long_factors", long_factors, len(plain))
    if attention_factor is None:
        attention_factor = math.sqrt(1 + math.log(max(factor, 1)) / math.log(trained_len))
    factors = long_factors if seq_len > trained_len else short_factors
    return RopeScaling(plain / torch.tensor(factors, dtype=torch.float64, device="cpu"), attention_factor)


def _check_factors(name: str, factors: Sequence[float] | Tensor, num_pairs: int) -> list[float]:
    try:
        factors = list(factors)
    except TypeError:
        raise TypeError(f"{name} must be {num_pairs} numbers > 0, one a pair, got {factors!r}") from None
    if len(factors) != num_pairs:
        raise ValueError(f"{name} must be {num_pairs} numbers > 0, one a pair, got {len(factors)} of them")
    return [check_number(f"{name}[{i}]", factor, above=0) for i, factor in enumerate(factors)]


def rope_scaling_from_config(config: Mapping[str, Any], head_dim: int) -> RopeScaling | Callable[[int], RopeScaling]:
    """Read the RoPE part of a model's Hugging Face config, as transformers 5 does.

    Args:
        config: a `rope_parameters` dict, an older `rope_scaling` dict, or a model's whole config as a dict, which
            holds one of the two, or None there for plain RoPE. A value of None counts as absent. Keys:

            - rope_type (formerly type): default, linear, dynamic, yarn, llama3, longrope or its older name su.
              "proportional" (p-RoPE) leaves pairs unturned and is not read.
            - rope_theta, the base: 10 000 if absent. In older configs it stands beside `rope_scaling`, not in it,
              so pass the whole config, or add it: Llama 3.1's base is 500 000.
            - factor: every type but default. For yarn and longrope, if absent, max_position_embeddings over L.
            - L is original_max_position_embeddings, at the top of the config before inside, else
              max_position_embeddings; for dynamic the other way round.
            - partial_rotary_factor: the rotary width is int(head_dim·partial_rotary_factor).
            - yarn: attention_factor, beta_fast, beta_slow, mscale, mscale_all_dim, truncate, all optional; llama3:
              low_freq_factor and high_freq_factor; longrope: short_factor, long_factor, optional attention_factor.

            Other keys are not looked at.
        head_dim: width of one head. If the config has a head_dim too, they must agree.

    Returns:
        A RopeScaling, or, where it depends on the length (dynamic, longrope), a callable seq_len → RopeScaling that
        pickles. It has rotary width / 2 frequencies: with partial rotary, pass `rotary_dim` to `RotaryEncoding`.

    Raises:
        TypeError: config is not a dict, or a value has the wrong type.
        ValueError: an unknown type, a missing key, a value out of range, a config with one entry a layer type.
    """
    values = config_values(config)
    rope_type = check_choice("config['rope_type']", values["rope_type"], ROPE_TYPES)

    def require(*keys: str) -> list[Any]:
        missing = [key for key in keys if key not in values]
        if missing:
            raise ValueError(f"config must hold {missing} for rope_type {rope_type!r}, got {list(values)}")
        return [values[key] for key in keys]

    def first_length(*keys: str) -> int:
        key = next((key for key in keys if key in values), keys[0])
        return check_integer(f"config[{key!r}]", *require(key))

    def trained_len() -> int:
        return first_length("original_max_position_embeddings", "max_position_embeddings")

    def factor() -> float:
        if "factor" not in values and "max_position_embeddings" in values:
            return first_length("max_position_embeddings") / trained_len()
        return require("factor")[0]

    def optional(*keys: str) -> dict[str, Any]:
        return {key: values[key] for key in keys if key in values}

    width = _rotary_width(values, head_dim)
    base = check_number("config['rope_theta']", values.get("rope_theta", 10_000.0), above=0)
    match rope_type:
        case "default":
            return RopeScaling(rope_frequencies(width, base=base))
        case "linear":
            return position_interpolation(width, *require("factor"), base=base)
        case "dynamic":
            length = first_length("max_position_embeddings", "original_max_position_embeddings")
            scaling = partial(dynamic_ntk, width, *require("factor"), length, base=base)
        case "yarn":
            options = optional("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate")
            return yarn(width, factor(), trained_len(), base=base, **options)
        case "llama3":
            number, low, high = require("factor", "low_freq_factor", "high_freq_factor")
            return llama3(width, number, trained_len(), base=base, low_freq_factor=low, high_freq_factor=high)
        case _:  # longrope, su
            if "long_mscale" in values:
                raise ValueError(
                    "config must have no 'long_mscale' (Phi-3.5-MoE scales cos and sin by one number for each set), "
                    f"got {values['long_mscale']!r}"
                )
            short = _check_factors("config['short_factor']", *require("short_factor"), width // 2)
            long = _check_factors("config['long_factor']", *require("long_factor"), width // 2)
            options = optional("attention_factor")
            scaling = partial(
                longrope, width, factor(), trained_len(), short_factors=short, long_factors=long, base=base, **options
            )
    scaling(0)  # a wrong value is an error here, not in the first forward pass
    return scaling


def config_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """One dict under present names, without Nones: the RoPE part of a config over the config around it."""
    outer = _present_names("config", config)
    places = [place for place in ("rope_parameters", "rope_scaling") if place in outer]
    if len(places) > 1:
        raise ValueError("config must hold one of 'rope_parameters' and 'rope_scaling', got both")
    inner = {}
    if places:
        inner = _present_names(f"config[{places[0]!r}]", outer.pop(places[0]))
    elif "rope_parameters" in config or "rope_scaling" in config:
        inner = {"rope_type": "default"}
    values = outer | inner
    if "rope_type" not in values:
        nested = [key for key, value in (inner or outer).items() if isinstance(value, Mapping)]
        raise ValueError(
            f"config must be one RoPE entry; pass one of its parts {nested} instead"
            if nested
            else f"config must hold 'rope_type' (or 'type'), one of {', '.join(ROPE_TYPES)}, got {list(values)}"
        )
    if "original_max_position_embeddings" in outer:  # Phi-3's place for it, which transformers lets win
        values["original_max_position_embeddings"] = outer["original_max_position_embeddings"]
    return values


def _present_names(name: str, mapping: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(mapping, Mapping):
        raise TypeError(f"{name} must be a dict (a config object's .to_dict()), got {mapping!r}")
    given = {key: value for key, value in mapping.items() if value is not None}
    return {new: given[old] for old, new in OLD_NAMES.items() if old in given} | given


def _rotary_width(values: dict[str, Any], head_dim: int) -> int:
    head_dim = check_integer("head_dim", head_dim)
    if values.get("head_dim", head_dim) != head_dim:
        raise ValueError(f"head_dim must be the config's head_dim {values['head_dim']}, got {head_dim}")
    part = check_number("config['partial_rotary_factor']", values.get("partial_rotary_factor", 1.0), above=0)
    if part > 1:
        raise ValueError(f"config['partial_rotary_factor'] must be at most 1, got {part}")
    return check_even("int(head_dim·partial_rotary_factor)", int(head_dim * part))
