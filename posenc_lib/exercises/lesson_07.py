"""Lesson 7, context extension: exercises, interview questions and quiz. References are written out in float64."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import choice_check, function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule


def _frequencies(d: int) -> Tensor:
    return torch.tensor([10_000 ** (-2 * k / d) for k in range(d // 2)], dtype=torch.float64)


# seldom-turning-pairs


def _first_above(shortest: float, d: int = 64) -> int:
    """The first pair whose wavelength exceeds 2048, for waves of `shortest`·10 000^(2k/d)."""
    return next(k for k in range(d) if shortest * 10_000 ** (2 * k / d) > 2048)


_FIRST = _first_above(2 * math.pi)

_seldom_check = numbers_check(
    32 - _FIRST,
    tolerance=1e-2,
    mistakes=(
        KnownMistake(
            "the-others",
            _FIRST,
            "That is where they begin, which is also how many pairs do complete a turn. How many are left?",
        ),
        KnownMistake(
            "off-by-one",
            32 - _FIRST + 1,
            "One too many. Pairs count from 0: what is the number of the last one? And does the edge itself count?",
        ),
        KnownMistake(
            "off-by-one",
            32 - _FIRST - 1,
            "One too few. Count from the first pair beyond the edge to the last one, both included.",
        ),
        KnownMistake(
            "no-2π",
            32 - _first_above(1),
            "A turn is 2π radians: 1/ω is how far a pair goes until it has turned by one radian.",
        ),
        KnownMistake(
            "half-turn",
            32 - _first_above(math.pi),
            "That counts pairs without half a turn. A whole one is 2π.",
        ),
        KnownMistake(
            "exponent",
            0,
            "Some pairs are slower than that. The exponent of pair k is 2k/d: is a 2 lost?",
        ),
        KnownMistake("dimensions", 2 * (32 - _FIRST), "Those are dimensions. A pair has two of them."),
    ),
    otherwise="Pair k needs 2π/ω_k positions for a turn. Set that equal to 2048 and solve for k, then count.",
)

# ntk-by-hand

_ntk_check = numbers_check(
    [4 ** (6 / 4), 4 ** (2 / 4)],
    mistakes=(
        KnownMistake(
            "base-times-s",
            [4, 4 ** (2 / 6)],
            "With that base pair 3 would be slowed by 4, and there is none: the slowest of three pairs is pair 2.",
        ),
        KnownMistake(
            "exponent-upside-down",
            [4 ** (4 / 6), 4 ** ((4 / 6) * (2 / 6))],
            "You took the power where its root is asked for. Put your base back: by how much is pair 2 slowed?",
        ),
        KnownMistake(
            "all-alike",
            [4 ** (6 / 4), 4],
            "The base is right. But a pair slowed by 4 too, and the fastest by 1, makes no geometric row.",
        ),
        KnownMistake(
            "left-alone",
            [4 ** (6 / 4), 1],
            "The base is right. Only pair 0 has the exponent 0, so only pair 0 is left alone.",
        ),
        KnownMistake(
            "linear",
            [4 ** (6 / 4), 2.5],
            "The base is right. Halfway from 1 to 4 by adding is not halfway by multiplying, and exponents multiply.",
        ),
        KnownMistake(
            "pair-exponent",
            [4 ** (6 / 4), 4 ** (2 / 6)],
            "The base is right. Pair 1 is slowed by (b'/b)^(2/6): put in the new base, and not s.",
        ),
        KnownMistake(
            "speed",
            [4 ** (6 / 4), 4 ** (-2 / 4)],
            "The base is right. The second number is pair 1's new speed; how much it is slowed is asked for.",
        ),
        KnownMistake(
            "whole-base",
            [10_000 * 4 ** (6 / 4), 4 ** (2 / 4)],
            "The first number is the base itself. By how much has it risen?",
        ),
    ),
    rules=(
        Rule(
            "base",
            lambda numbers: abs(numbers()[0].item() - 4 ** (6 / 4)) < 1e-3,
            "Look at the first number. Write down pair 2's frequency with the old base and with the new one: their "
            "ratio has to be 4.",
        ),
    ),
    otherwise="The base is right. Now put it into the frequency of pair 1, and compare with the old one.",
)

# ntk-for-a-pair


def _factor_for(pair: int, slow: float, d: int) -> float:
    return slow ** ((d - 2) / (2 * pair))


def _pairs_to_slow() -> Inputs:
    return [(3, 2.0, 16), (5, 3.0, 16), (20, 2.0, 64), (31, 4.0, 64), (1, 1.5, 4)]


def _slows_the_last_pair_by_itself(function: Callable[..., Tensor], pair: int, slow: float, d: int) -> bool:
    return bool((function(d // 2 - 1, slow, d) - slow).abs() < 0.01)


_pair_check = function_check(
    _factor_for,
    _pairs_to_slow,
    mistakes=(
        KnownMistake(
            "nominal",
            lambda pair, slow, d: slow,
            "That factor slows the last pair so much, and every other one less.",
        ),
        KnownMistake(
            "exponent-upside-down",
            lambda pair, slow, d: slow ** (2 * pair / (d - 2)),
            "That is how much the pair is slowed by a given factor. The other direction is asked for.",
        ),
        KnownMistake(
            "base-ratio",
            lambda pair, slow, d: slow ** (d / (2 * pair)),
            "That is how much the base must rise. Which factor, handed to NTK-aware scaling, makes it rise so?",
        ),
        KnownMistake(
            "lost-2",
            lambda pair, slow, d: slow ** ((d - 2) / pair),
            "A 2 is lost in the exponent of the pair. For the last pair the factor and the slowing must agree.",
        ),
        KnownMistake(
            "linear",
            lambda pair, slow, d: slow * (d / 2 - 1) / pair,
            "The slowing grows along the pairs by multiplying, not by adding.",
        ),
        KnownMistake(
            "counted-from-one",
            lambda pair, slow, d: slow ** ((d - 2) / (2 * (pair + 1))),
            "That fits the next pair. The fastest pair is number 0.",
        ),
    ),
    rules=(
        Rule(
            "last-pair",
            _slows_the_last_pair_by_itself,
            "Try the last pair, d/2 − 1: it is slowed by the factor itself, and your function says otherwise.",
        ),
    ),
    otherwise="Right for the last pair, wrong for others. Solve s^(2k/(d−2)) = t for s.",
)

# interpolation-vs-extrapolation


def _farthest_new_angles(squeezed_by: int) -> list[float]:
    """How far an angle of offsets 0 … 511 lies from the nearest of 0 … 127, on the circle, for each of 8 pairs."""
    new, trained = torch.arange(512) / squeezed_by, torch.arange(128)
    turns = (new[:, None] - trained)[..., None] * _frequencies(16) / (2 * math.pi)
    return (2 * math.pi * (turns - turns.round()).abs().amin(1).amax(0)).tolist()


_FARTHEST = max(_farthest_new_angles(1))
_NOT_ROUND = "A turn more is the same angle: measure along the circle, where nothing is farther apart than half a turn."

_interpolation_check = choice_check(
    "abcd",
    ("b", _FARTHEST),
    tolerance=1e-2,
    mistakes=(
        KnownMistake(
            "precision",
            "a",
            "Small positions do not make the model's input better: in double precision raw positions fail as well. "
            "What has the model met in training?",
        ),
        KnownMistake(
            "fast-kept",
            "c",
            "Another method does that. Dividing positions by 4 slows every pair by 4, the fastest too, and it costs.",
        ),
        KnownMistake(
            "bound",
            "d",
            "That compares two upper bounds. The lesson measures what they are bounds of, and finds much less.",
        ),
        *(
            KnownMistake(
                "interpolated",
                number,
                "The reason is right. The number is the one of squeezed positions; it is asked for raw ones.",
            )
            for number in (max(_farthest_new_angles(4)), 0.5)  # on the circle, and half of an old step
        ),
        KnownMistake("not-round", 384, f"The reason is right. {_NOT_ROUND}"),
        KnownMistake("not-round", 384 * 10_000 ** (-6 / 16), f"The reason is right. {_NOT_ROUND}"),
        KnownMistake("not-round", 384 * 10_000 ** (-8 / 16), f"The reason is right. {_NOT_ROUND}"),
        KnownMistake("degrees", math.degrees(_FARTHEST), "The reason is right. The distance is asked for in radians."),
        KnownMistake("turns", _FARTHEST / (2 * math.pi), "The reason is right. That is in turns; radians are wanted."),
        *(
            KnownMistake(
                "another-pair",
                _farthest_new_angles(1)[pair],
                "The reason is right. That is as far as one pair gets from what it has met, and another gets farther.",
            )
            for pair in (3, 5, 6, 7)
        ),
    ),
    otherwise=(
        "The reason is right, the number is not. Make two tables of angles for each pair, of offsets 0 … 511 and "
        "0 … 127, and look for the nearest: how far is the farthest of them?"
    ),
)

# dynamic-ntk-reset


def _slowed_at(factors: Tensor, d: int) -> Tensor:
    """NTK-aware scaling by each factor: (calls,) → (calls, d/2)."""
    return factors[:, None] ** (2 * torch.arange(d // 2, dtype=torch.float64) / (d - 2))


def _growth(lengths: list[int], trained: int) -> Tensor:
    return torch.tensor([max(n, trained) / trained for n in lengths], dtype=torch.float64)


def _dynamic(lengths: list[int], d: int, s: float, trained: int) -> Tensor:
    return _slowed_at(1 + s * (_growth(lengths, trained) - 1), d)


def _never_reset(lengths: list[int], d: int, s: float, trained: int) -> Tensor:
    return _slowed_at(1 + s * (_growth(lengths, trained).cummax(0).values - 1), d)


def _reset_below(lengths: list[int], d: int, s: float, trained: int) -> Tensor:
    longest, factors = trained, []
    for n in lengths:
        longest = trained if n < trained else max(longest, n)
        factors.append(1 + s * (longest / trained - 1))
    return _slowed_at(torch.tensor(factors, dtype=torch.float64), d)


def _calls() -> Inputs:
    return [
        ([100, 512, 128, 100, 300], 16, 2.0, 128),
        ([4096, 2048, 1500, 3000, 2048], 64, 2.0, 2048),
        ([128, 200, 110, 256], 8, 3.0, 128),
    ]


def _has_no_memory(function: Callable[..., Tensor], lengths: list[int], d: int, s: float, trained: int) -> bool:
    alone = torch.cat([function([n], d, s, trained) for n in lengths])
    return bool((function(lengths, d, s, trained) - alone).abs().max() < 0.01)


def _plain_inside(function: Callable[..., Tensor], lengths: list[int], d: int, s: float, trained: int) -> bool:
    return bool((function([trained, trained * 3 // 4], d, s, trained) - 1).abs().max() < 0.01)


_dynamic_check = function_check(
    _dynamic,
    _calls,
    mistakes=(
        KnownMistake(
            "never-resets",
            _never_reset,
            "It still remembers the longest call. Ask for 512 and then for 100: what should the second row be?",
        ),
        KnownMistake(
            "reset-below",
            _reset_below,
            "It forgets after a call that is shorter than the trained length, and not before. Try 4096 and then "
            "exactly the trained length; then 4096 and a length between.",
        ),
        KnownMistake(
            "static",
            lambda lengths, d, s, trained: _slowed_at(torch.full((len(lengths),), s, dtype=torch.float64), d),
            "No memory, and nothing dynamic: every row is the same. Where does the length enter?",
        ),
        KnownMistake(
            "two-speeds",
            lambda lengths, d, s, trained: _slowed_at(torch.where(_growth(lengths, trained) > 1, s, 1.0).double(), d),
            "Plain inside and slowed by s beyond, as if there were two lengths. The factor grows with the length.",
        ),
        KnownMistake(
            "speeds-up",
            lambda lengths, d, s, trained: _slowed_at(
                1 + s * (torch.tensor(lengths, dtype=torch.float64) / trained - 1), d
            ),
            "No memory now. But a call shorter than the trained length makes pairs faster than they were trained.",
        ),
        KnownMistake(
            "no-factor",
            lambda lengths, d, s, trained: _slowed_at(_growth(lengths, trained), d),
            "No memory now. And no s: where has it gone?",
        ),
        KnownMistake(
            "formula",
            lambda lengths, d, s, trained: _slowed_at(s * _growth(lengths, trained), d),
            "No memory now. But at the trained length nothing may be slowed: what is subtracted in the factor?",
        ),
        KnownMistake(
            "all-alike",
            lambda lengths, d, s, trained: (1 + s * (_growth(lengths, trained) - 1))[:, None].expand(-1, d // 2),
            "No memory now. But every pair is slowed alike, which is position interpolation.",
        ),
        KnownMistake(
            "exponent",
            lambda lengths, d, s, trained: _dynamic(lengths, d + 2, s, trained)[:, : d // 2],
            "No memory now. But the slowest pair must get the whole factor: compare its exponent with 1.",
        ),
        KnownMistake(
            "speed",
            lambda lengths, d, s, trained: 1 / _dynamic(lengths, d, s, trained),
            "No memory now. These are the speeds; how much each pair is slowed is asked for, 1 or more.",
        ),
    ),
    rules=(
        Rule(
            "remembers",
            _has_no_memory,
            "A row depends on the calls before it. Ask for each length alone and compare with your rows.",
        ),
        Rule(
            "not-plain",
            _plain_inside,
            "Up to and at the trained length nothing should be slowed, and something is.",
        ),
    ),
    otherwise="No memory, and plain inside. Now look at lengths beyond: NTK-aware scaling by 1 + s·(n/trained − 1).",
)

# yarn-ramp


def _pair_that_turns(times: float, d: int, trained: int, turn: float = 2 * math.pi) -> float:
    return d / 2 * math.log(trained / (turn * times)) / math.log(10_000)


def _blended(d: int, s: float, low: float, high: float) -> Tensor:
    """How much pairs are slowed whose share of interpolation rises from 0 at `low` to 1 at `high`."""
    share = ((torch.arange(d // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    return 1 / (share / s + (1 - share))


def _ends(d: int, trained: int, turn: float = 2 * math.pi) -> tuple[int, int]:
    low, high = (_pair_that_turns(times, d, trained, turn) for times in (32, 1))
    return max(math.floor(low), 0), math.ceil(high)


def _yarn(d: int, s: float, trained: int) -> Tensor:
    return _blended(d, s, *_ends(d, trained))


def _papers_ramp(d: int, s: float, trained: int) -> Tensor:
    keep = ((trained * _frequencies(d) / (2 * math.pi) - 1) / 31).clamp(0, 1)
    return 1 / (keep + (1 - keep) / s)


def _models_to_stretch() -> Inputs:
    return [(16, 4.0, 128), (16, 4.0, 512), (64, 8.0, 2048), (128, 16.0, 4096)]


def _first_and_last(function: Callable[..., Tensor], d: int, s: float, trained: int) -> bool:
    slowed = function(d, s, trained)
    return bool((slowed[0] - 1).abs() < 0.01 and (slowed[-1] - s).abs() < 0.01)


def _never_falls(function: Callable[..., Tensor], d: int, s: float, trained: int) -> bool:
    return bool((function(d, s, trained).diff() > -0.01).all())


_yarn_check = function_check(
    _yarn,
    _models_to_stretch,
    mistakes=(
        KnownMistake(
            "papers-ramp",
            _papers_ramp,
            "That is the paper's ramp, linear in the turns. The released code's is linear in the number of the pair.",
        ),
        KnownMistake(
            "upside-down",
            lambda d, s, trained: _blended(d, s, *reversed(_ends(d, trained))),
            "Upside down: fast pairs are slowed and slow ones left alone. Which of them leave their arc?",
        ),
        KnownMistake(
            "not-rounded",
            lambda d, s, trained: _blended(
                d, s, max(_pair_that_turns(32, d, trained), 0), _pair_that_turns(1, d, trained)
            ),
            "The ends of your ramp are no whole numbers. Which way is each of them rounded?",
        ),
        KnownMistake(
            "rounded-inward",
            lambda d, s, trained: _blended(
                d,
                s,
                max(math.ceil(_pair_that_turns(32, d, trained)), 0),
                math.floor(_pair_that_turns(1, d, trained)),
            ),
            "Both ends of the ramp are rounded inward. They are rounded outward.",
        ),
        KnownMistake(
            "not-clamped",
            lambda d, s, trained: _blended(d, s, math.floor(_pair_that_turns(32, d, trained)), _ends(d, trained)[1]),
            "Right where training was long. On a short window the ramp begins before pair 0: what does the "
            "definition say of that end?",
        ),
        KnownMistake(
            "wavelengths-blended",
            lambda d, s, trained: s - (s - 1) * (1 / _yarn(d, s, trained) - 1 / s) / (1 - 1 / s),
            "The ends of the ramp are right, and between them you blend wavelengths, 1 and s. Blend the frequencies.",
        ),
        KnownMistake(
            "lost-2",
            lambda d, s, trained: _blended(
                d,
                s,
                max(math.floor(2 * _pair_that_turns(32, d, trained)), 0),
                math.ceil(2 * _pair_that_turns(1, d, trained)),
            ),
            "Your ramp counts dimensions, twice as many as there are pairs. Which pair turns once, by your formula?",
        ),
        KnownMistake(
            "no-2π",
            lambda d, s, trained: _blended(d, s, *_ends(d, trained, turn=1)),
            "Your ramp lies too far right: a turn has 2π radians.",
        ),
        KnownMistake(
            "no-ramp",
            lambda d, s, trained: torch.where(_frequencies(d) * trained < 2 * math.pi, s, 1.0).double(),
            "A step where a ramp should be: pairs with a turn are kept, the others slowed by s, none is blended.",
        ),
        KnownMistake(
            "all-alike",
            lambda d, s, trained: torch.full((d // 2,), s, dtype=torch.float64),
            "Every pair is slowed by s: that is position interpolation.",
        ),
        KnownMistake(
            "ntk",
            lambda d, s, trained: s ** (2 * torch.arange(d // 2, dtype=torch.float64) / (d - 2)),
            "That is NTK-aware scaling: the trained length does not enter.",
        ),
        KnownMistake(
            "speed",
            lambda d, s, trained: 1 / _yarn(d, s, trained),
            "These are speeds, from 1 down. How much each pair is slowed is asked for, from 1 up to s.",
        ),
        KnownMistake(
            "share",
            lambda d, s, trained: (1 - 1 / _yarn(d, s, trained)) / (1 - 1 / s),
            "That is the share of interpolation, 0 to 1. Blend the two frequencies with it.",
        ),
    ),
    rules=(
        Rule(
            "ends",
            _first_and_last,
            "Pair 0 should be left alone and the last one slowed by s. One of the two is not.",
        ),
        Rule("falls", _never_falls, "A slower pair is slowed less than a faster one. The ramp goes one way only."),
    ),
    otherwise="The two ends are right, the ramp between is not. Print low and high for d = 16 and 128 positions.",
)

# yarn-temperature


def _attention(q: Tensor, k: Tensor, factor: float) -> Tensor:
    weights = (q @ k.T * factor / math.sqrt(q.shape[1])).exp()
    return weights / weights.sum(1, keepdim=True)


def _a(s: float) -> float:
    return 1 + math.log(s) / 10


def _queries_and_keys() -> Inputs:
    generator = torch.Generator().manual_seed(7)
    return [
        (*(2 * torch.randn(length, 8, dtype=torch.float64, generator=generator) for length in (3, keys)), s)
        for keys, s in [(5, 1.0), (6, 4.0), (8, 32.0)]
    ]


def _rows_sum_to_one(function: Callable[..., Tensor], q: Tensor, k: Tensor, s: float) -> bool:
    weights = function(q, k, s)
    return bool((weights.sum(1) - 1).abs().max() < 1e-3 and weights.min() > -1e-6)


def _plain_unstretched(function: Callable[..., Tensor], q: Tensor, k: Tensor, s: float) -> bool:
    return bool((function(q, k, 1.0) - _attention(q, k, 1)).abs().max() < 1e-2)


def _sharper_with_s(function: Callable[..., Tensor], q: Tensor, k: Tensor, s: float) -> bool:
    return bool(function(q, k, 64.0).amax(1).sum() > function(q, k, 2.0).amax(1).sum())


_temperature_check = function_check(
    lambda q, k, s: _attention(q, k, _a(s) ** 2),
    _queries_and_keys,
    tolerance=1e-3,
    mistakes=(
        KnownMistake(
            "upside-down",
            lambda q, k, s: _attention(q, k, 1 / _a(s)),
            "Still upside down: the logits are divided, and a longer window makes attention flatter.",
        ),
        KnownMistake(
            "upside-down",
            lambda q, k, s: _attention(q, k, _a(s) ** -2),
            "Upside down, and twice: the logits are divided by the square. Should a longer window flatten attention?",
        ),
        KnownMistake(
            "once",
            lambda q, k, s: _attention(q, k, _a(s)),
            "The right way up, and too weak. cos and sin carry the factor: how many of a score's two vectors are "
            "turned with them?",
        ),
        KnownMistake(
            "twice-over",
            lambda q, k, s: _attention(q, k, _a(s) ** 4),
            "The right way up, and too strong. The square is there once already: q and k bring one factor each.",
        ),
        KnownMistake(
            "square-root",
            lambda q, k, s: _attention(q, k, _a(s) ** 0.5),
            "The right way up, and too weak. It is √(1/t) that equals 0.1 ln s + 1: solve for 1/t.",
        ),
        KnownMistake(
            "logarithm",
            lambda q, k, s: _attention(q, k, (0.1 * math.log10(s) + 1) ** 2),
            "The right form with another logarithm: ln is the natural one.",
        ),
        KnownMistake(
            "logarithm",
            lambda q, k, s: _attention(q, k, (0.1 * math.log2(s) + 1) ** 2),
            "The right form with another logarithm: ln is the natural one.",
        ),
        KnownMistake(
            "no-temperature",
            lambda q, k, s: _attention(q, k, 1),
            "Attention as if nothing were stretched: s does not enter.",
        ),
        KnownMistake(
            "unscaled",
            lambda q, k, s: _attention(q, k, _a(s) ** 2 * math.sqrt(q.shape[1])),
            "The temperature is right, and the division by √d got lost.",
        ),
    ),
    rules=(
        Rule("no-softmax", _rows_sum_to_one, "Each row should be the weights of one query: positive, and 1 in all."),
        Rule("not-plain", _plain_unstretched, "With s = 1 nothing is stretched, and the weights should be the usual."),
        Rule(
            "flatter",
            _sharper_with_s,
            "Try s = 2 and s = 64: attention should get sharper with s, and yours gets flatter.",
        ),
    ),
    otherwise="Plain at s = 1 and sharper with s, by another amount. Divide two logits, with s = 4 and with s = 1.",
)

EXERCISES = (
    Exercise(
        id="seldom-turning-pairs",
        title="Which pairs never came round",
        lesson="07",
        difficulty=1,
        minutes=5,
        hints=(
            "Pair k turns once every 2π/ω_k positions. In which pairs is that more than 2048?",
            "The wavelength is 2π·10 000^(2k/64). Take logarithms and solve for k: it comes out a little above 20.",
        ),
        check=_seldom_check,
        solved="A third of the pairs has seen part of a turn only: these are in trouble past the window.",
    ),
    Exercise(
        id="ntk-by-hand",
        title="NTK's base by hand",
        lesson="07",
        difficulty=2,
        minutes=10,
        hints=(
            "Three pairs, 0, 1 and 2. Pair 2 has the frequency b^(−4/6). With which base is it a fourth of that?",
            "(b'/b)^(4/6) = 4. Raise both sides to the power 6/4.",
            "For pair 1 put the new base into (b'/b)^(2/6).",
        ),
        check=_ntk_check,
        solved="One demand at each end fixes the base, and every pair between gets its power of s.",
    ),
    Exercise(
        id="ntk-for-a-pair",
        title="A factor for the pair that fails",
        lesson="07",
        difficulty=3,
        minutes=10,
        hints=(
            "You know how much pair k is slowed by a factor s. Here the result is known and s is not.",
            "A power is undone by the inverse exponent. Which exponent does pair k have?",
        ),
        check=_pair_check,
        solved="Pairs in the middle need a factor far above the nominal one: why NTK works better overdone.",
    ),
    Exercise(
        id="interpolation-vs-extrapolation",
        title="Why interpolation degrades less than extrapolation",
        lesson="07",
        difficulty=3,
        minutes=20,
        hints=(
            "The model meets a position only as angles. Which angles has each pair met in training?",
            "An angle and the same angle a turn later are one. So take differences modulo 2π, and never more than π.",
            "For each pair: a table of 512 × 128 differences, the smallest in each row, the largest of those. The "
            "fastest pairs have gone all the way round, and the slowest hardly move: look between.",
        ),
        check=_interpolation_check,
        solved=(
            "Squeezed, no angle is farther than 0.05 from one met in training; raw, pair 4 gets 2.5 radians away. Such "
            "a distance does not rank the harm: pair 3 gets 1.13 away and does most of it."
        ),
    ),
    Exercise(
        id="dynamic-ntk-reset",
        title="Find the bug: a short text after a long one",
        lesson="07",
        difficulty=2,
        minutes=10,
        hints=(
            "Print the rows for the calls [100, 512, 100]. Which two should be equal?",
            "What the function knows of earlier calls it should not know. Which variable lives longer than one call?",
            "A row needs its own length and the trained one, whichever is larger.",
        ),
        check=_dynamic_check,
        solved="Frequencies are a function of the present length. State that outlives it answers the wrong question.",
    ),
    Exercise(
        id="yarn-ramp",
        title="YaRN's ramp from its definition",
        lesson="07",
        difficulty=4,
        minutes=25,
        hints=(
            "Find the two ends first: the pair that turns 32 times within the trained length, and the one that turns "
            "once, from the formula for k(r).",
            "Round them outward, to whole pairs, and let the lower end be 0 at least. Between them the share of "
            "interpolation rises in a straight line over the number of the pair; outside it is 0 or 1.",
            "The share blends frequencies: the new one is share·ω/s + (1 − share)·ω. Then divide ω by it.",
        ),
        check=_yarn_check,
        solved="A ramp over the pairs' numbers, rounded outward: fast pairs keep their speed, slow ones get all of s.",
    ),
    Exercise(
        id="yarn-temperature",
        title="Find the bug: the temperature",
        lesson="07",
        difficulty=2,
        minutes=10,
        hints=(
            "More keys spread attention. Should the temperature make up for that, or add to it?",
            "0.1 ln s + 1 is √(1/t), and logits are divided by t. What are they multiplied with?",
        ),
        check=_temperature_check,
        solved="cos and sin are multiplied by a, so logits by a²: a longer window gets sharper attention.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="why-rope-fails-long",
        text="RoPE's scores depend on the offset alone. Why does a RoPE model fail past the window it was trained on?",
        choices=(
            "Its positions are beyond those seen in training",
            "Queries meet keys at offsets, and slow pairs at angles, that training never showed",
            "Rounding errors of large angles",
        ),
        right="Queries meet keys at offsets, and slow pairs at angles, that training never showed",
        explanation=(
            "Positions are no problem: a short window far from 0 gives the same logits. But pairs whose wavelength is "
            "longer than the window have seen part of a turn only, and past it they meet new angles until they come "
            "round. In the lesson's model a pair that had made 0.64 of a turn did most of the damage."
        ),
        lesson="07",
        claim="slowing pair 3 alone by 4 takes over 1 nat off the loss at 512",
    ),
    InterviewQuestion(
        id="pi-ntk-yarn",
        text="What do position interpolation, NTK-aware scaling and YaRN each do to RoPE's frequencies?",
        choices=(
            "All three divide every frequency by the factor; they differ in fine-tuning",
            "PI divides all by s; NTK raises the base, so pair k slows by s^(2k/(d−2)); YaRN slows only pairs that "
            "turn seldom",
            "PI moves positions, NTK trains new frequencies, YaRN changes the softmax alone",
        ),
        right=(
            "PI divides all by s; NTK raises the base, so pair k slows by s^(2k/(d−2)); YaRN slows only pairs that "
            "turn seldom"
        ),
        explanation=(
            "PI brings every angle back into range and costs resolution between neighbours. NTK-aware takes base "
            "b·s^(d/(d−2)), so that the slowest pair slows by exactly s and the fastest not at all, and slows middle "
            "pairs too little. YaRN keeps pairs with over 32 turns in training, divides those with under one by s, "
            "blends between, and multiplies cos and sin by 0.1 ln s + 1."
        ),
        lesson="07",
        claim="it slows the fastest pair by exactly 1, the slowest by exactly s",
    ),
    InterviewQuestion(
        id="dynamic-ntk-cache",
        text="What can go wrong when you serve a model with dynamic NTK and a KV cache?",
        choices=(
            "Nothing: the base is a function of the length",
            "Keys turned under an old base go stale, and a table that only grows spoils later short texts",
            "Values have to be turned again at each step",
        ),
        right="Keys turned under an old base go stale, and a table that only grows spoils later short texts",
        explanation=(
            "The base depends on the present length, so each new token changes all angles. Cache keys unturned and "
            "turn them when read, or fix the length in advance. And compute the frequencies from the length alone: "
            "state kept from a long sequence answers the next short one with the wrong base. Values are never turned."
        ),
        lesson="07",
        claim="keys cached under old bases cost over half a nat at twice the window",
    ),
)

QUIZ = (
    Question(
        id="which-pairs",
        text="d = 128, base 10 000, trained on windows of 4096. Which pairs does raw extrapolation to 16 384 harm?",
        choices=(
            "The fastest ones, which turn hundreds of times",
            "Those whose wavelength exceeds 4096",
            "All 64 alike",
        ),
        right="Those whose wavelength exceeds 4096",
        explanation=(
            "A pair that went round has met every angle. Pairs 46 to 63 did not; past 4096 they meet new ones until "
            "they come round: pair 46's whole turn comes soon, while pair 63 goes from 0.47 rad to 1.89."
        ),
    ),
    Question(
        id="ntk-pair",
        text="NTK-aware scaling with factor 8 at d = 128. How much is pair 32 slowed?",
        choices=("by 1: only slow pairs change", "by 8^(64/126) ≈ 2.9", "by 8"),
        right="by 8^(64/126) ≈ 2.9",
        explanation=(
            "Pair k is slowed by s^(2k/(d−2)): by 1 at k = 0, by s at the last, k = 63, and in between by a power of "
            "s. Pair 32 turns at 0.348 of its speed."
        ),
    ),
    Question(
        id="temperature",
        text="YaRN's factor a = 0.1 ln s + 1 multiplies cos and sin. A logit of a fully rotated head is then …",
        choices=("multiplied by a", "multiplied by a²", "divided by a"),
        right="multiplied by a²",
        explanation=(
            "Query and key both carry a, and a score is their product. Since a = √(1/t) with a temperature t below 1, "
            "attention becomes sharper. With partial rotary only the turned part of the score grows."
        ),
    ),
    Question(
        id="ramps",
        text="Why do YaRN's two ramps differ so much for a model trained on windows of 128?",
        choices=(
            "No pair turns 32 times in 128, so the paper's ramp slows even the fastest; the code clamps at pair 0",
            "The paper's ramp has no temperature",
            "The code's ramp ignores the factor",
        ),
        right="No pair turns 32 times in 128, so the paper's ramp slows even the fastest; the code clamps at pair 0",
        explanation=(
            "The fastest pair turns 128/2π = 20.4 times. The paper's γ, linear in turns, is then below 1 for every "
            "pair. The code's ramp runs over the pair's index from a lower end that is clamped at 0, so pair 0 stays."
        ),
    ),
    Question(
        id="sinks",
        text=(
            "A model reads a stream of a million tokens, with the first four and the last 2000 in its cache. Its "
            "context is …"
        ),
        choices=(
            "a million tokens",
            "about 2000 tokens",
            "four tokens",
        ),
        right="about 2000 tokens",
        explanation=(
            "The four first tokens keep the softmax as in training, so the loss stays low. What has left the cache "
            "cannot be attended to: the text is long, the context is not."
        ),
    ),
)
