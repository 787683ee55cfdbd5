"""Every way to stretch a RoPE model's window, by name: what lesson 7 compares."""

from collections.abc import Callable

from posenc_lib.context_extension import dynamic_ntk, llama3, ntk_aware, position_interpolation, yarn
from posenc_lib.rope import RopeScaling, rope_frequencies

__all__ = ["STRETCHES", "Stretch", "yarn_by_turns"]


def yarn_by_turns(
    head_dim: int,
    factor: float,
    trained_len: int,
    *,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    attention_factor: float | None = None,
) -> RopeScaling:
    """YaRN with the paper's ramp, linear in each pair's turns within L (Peng et al. 2023, arXiv:2309.00071, eq. 11–13).

    The released code's ramp, `context_extension.yarn`, is linear in the pair's index instead. Arguments as there.
    """
    code = yarn(
        head_dim,
        factor,
        trained_len,
        base=base,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        attention_factor=attention_factor,
    )
    # A ramp in turns is a ramp in frequency, which is Llama 3's rule with YaRN's ends.
    ramp = llama3(head_dim, factor, trained_len, base=base, low_freq_factor=beta_slow, high_freq_factor=beta_fast)
    return RopeScaling(ramp.frequencies, code.attention_factor)


Stretch = Callable[[int, float, int, int], RopeScaling]
"""(head_dim, factor, trained_len, seq_len) → RopeScaling, base 10 000."""

STRETCHES: dict[str, Stretch] = {
    "raw": lambda head_dim, factor, trained_len, seq_len: RopeScaling(rope_frequencies(head_dim)),
    "PI": lambda head_dim, factor, trained_len, seq_len: position_interpolation(head_dim, factor),
    "NTK": lambda head_dim, factor, trained_len, seq_len: ntk_aware(head_dim, factor),
    "dynamic NTK": dynamic_ntk,
    "YaRN": lambda head_dim, factor, trained_len, seq_len: yarn(head_dim, factor, trained_len),
    "YaRN, paper's ramp": lambda head_dim, factor, trained_len, seq_len: yarn_by_turns(head_dim, factor, trained_len),
    "Llama 3": lambda head_dim, factor, trained_len, seq_len: llama3(head_dim, factor, trained_len),
}
"""By name. LongRoPE is missing: it is nothing without factors that were searched for one model."""
