"""Lesson 6, relative biases: exercises, interview questions and quiz."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import choice_check, function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule
from posenc_lib.exercises.readers import read_function, read_numbers

# t5-buckets-by-hand

_buckets_check = numbers_check(
    [3, 11, 0, 5, 13, 14, 7, 15],
    mistakes=(
        KnownMistake(
            "sign",
            [11, 3, 0, 13, 5, 6, 15, 7],
            "The two sides have changed places. Which is T5's relative position, key minus query or the other way "
            "round, and which side gets the first half of the buckets?",
        ),
        KnownMistake(
            "sign-blind",
            [3, 3, 0, 5, 5, 6, 7, 7],
            "Keys ahead and keys behind get the same buckets. An encoder keeps the two apart.",
        ),
        KnownMistake(
            "one-direction",
            [3, 3, 0, 8, 8, 12, 15, 15],
            "You gave all 16 buckets to the distance. In an encoder each side has half of them, and its exact half is "
            "half of that.",
        ),
        KnownMistake(
            "causal",
            [3, 0, 0, 8, 0, 0, 15, 0],
            "That is a decoder's rule: keys ahead count as distance 0. This is an encoder.",
        ),
        KnownMistake(
            "not-halved",
            [3, 11, 0, 8, 16, 20, 15, 23],
            "You have buckets 16 and up, and there are 16 in all. How many does each side have?",
        ),
        KnownMistake(
            "no-end",
            [3, 11, 0, 5, 13, 14, 8, 16],
            "The far distances run over: a side has eight buckets, and one of yours is the ninth.",
        ),
        KnownMistake(
            "rounded",
            [3, 11, 0, 5, 13, 15, 7, 15],
            "You round to the nearest whole number. The formula has ⌊·⌋.",
        ),
        KnownMistake(
            "rounded-up",
            [3, 11, 0, 6, 14, 15, 7, 15],
            "You round up, or left out the division by n_e inside the logarithm: at distance 8 it must be the "
            "logarithm of 2.",
        ),
        KnownMistake(
            "distances",
            [3, 11, 0, 8, 16, 24, 40, 48],
            "You kept the distances themselves. Which of them have a bucket of their own?",
        ),
    ),
    rules=(
        Rule(
            "not-whole",
            lambda buckets: bool((buckets() - buckets().round()).abs().max() < 1e-3),
            "A bucket is a whole number, the row of a table.",
        ),
        Rule(
            "no-such-bucket",
            lambda buckets: bool(((buckets() >= 0) & (buckets() < 16)).all()),
            "There are 16 buckets, 0 … 15. One of yours is no such number.",
        ),
    ),
    otherwise="Take the sign first: it decides between buckets 0 … 7 and 8 … 15. Then the distance, alone.",
)

# t5-scale: what to multiply W_Q and b with, at d = 64


def _factors(content: tuple[float, ...], bias: tuple[float, ...]) -> list[list[float]]:
    return [list(pair) for pair in zip(content, bias, strict=True)]


_CONTENT_SCALES = torch.tensor([1 / 8, 1 / 8, 1 / 8, 1 / 64], dtype=torch.float64)  # what each code makes of q·k
_BIAS_SCALES = torch.tensor([1, 1 / 8, 8, 1], dtype=torch.float64)  # and of b
_scale_check = numbers_check(
    _factors((8, 8, 8, 64), (1, 8, 1 / 8, 1)),
    mistakes=(
        KnownMistake(
            "reciprocal",
            _factors((1 / 8, 1 / 8, 1 / 8, 1 / 64), (1, 1 / 8, 8, 1)),
            "That is what each code does. Your factors have to undo it.",
        ),
        KnownMistake(
            "columns-swapped",
            _factors((1, 8, 1 / 8, 1), (8, 8, 8, 64)),
            "The two columns have changed places: W_Q first, then b.",
        ),
        KnownMistake(
            "bias-with-content",
            _factors((8, 8, 8, 64), (8, 8, 8, 64)),
            "The contents are right. You treat the bias like them, and three of the codes do not.",
        ),
        KnownMistake(
            "bias-untouched",
            _factors((8, 8, 8, 64), (1, 1, 1, 1)),
            "The contents are right. The bias is a score in T5, and two of the codes do something to it before the "
            "softmax.",
        ),
        KnownMistake(
            "temperature",
            _factors((1, 1, 1, 1), (1 / 8, 1, 1 / 64, 1 / 64)),
            "Bias and contents stand in the right proportion, and all scores together are too small: the keys keep "
            "their order, the softmax gets flatter. The scores themselves should come out as in T5.",
        ),
        KnownMistake(
            "no-root",
            _factors((64, 64, 64, 64**2), (1, 64, 1 / 64, 1)),
            "You took d for √d.",
        ),
        KnownMistake(
            "shared-with-keys",
            _factors((8**0.5, 8**0.5, 8**0.5, 8), (1, 8, 1 / 8, 1)),
            "You share the factor between W_Q and W_K. That would do, and here W_K stays as it is.",
        ),
        KnownMistake(
            "nothing-changed",
            _factors((1, 1, 1, 1), (1, 1, 1, 1)),
            "Nothing is changed by your factors. The contents then weigh less beside the biases than they did.",
        ),
    ),
    rules=(
        Rule(
            "contents",
            lambda factors: bool((factors()[:, 0] * _CONTENT_SCALES - 1).abs().max() < 0.01),
            "Look at the first column. Multiply each factor by what the code makes of q·k: T5's own q·k must come out.",
        ),
        Rule(
            "biases",
            lambda factors: bool((factors()[:, 1] * _BIAS_SCALES - 1).abs().max() < 0.01),
            "The contents are right. Look at the second column: multiply each factor by what the code makes of b.",
        ),
    ),
    otherwise="Write each code's score with αq in place of q and βb in place of b, and compare it with T5's.",
)

# t5-sign

_STARTS = {  # bidirectional or not → the least distance in each bucket of a direction, for 32 buckets up to 128
    False: [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113],
    True: [*range(9), 12, 16, 23, 32, 46, 64, 91],
}


def _bucket(relative: int, bidirectional: bool) -> int:
    distance = abs(relative) if bidirectional else max(-relative, 0)
    bucket = sum(start <= distance for start in _STARTS[bidirectional]) - 1
    return bucket + 16 if bidirectional and relative > 0 else bucket


def _bias_of(relative: Callable[[int, int], int]) -> Callable[..., Tensor]:
    """T5's bias with this for the relative position of a query at i and a key at j."""

    def bias(table: Tensor, q_positions: Tensor, k_positions: Tensor, bidirectional: bool) -> Tensor:
        buckets = [[_bucket(relative(i, j), bidirectional) for j in k_positions.tolist()] for i in q_positions.tolist()]
        return table[torch.tensor(buckets)]

    return bias


_t5_bias = _bias_of(lambda i, j: j - i)


def _by_index(table: Tensor, q_positions: Tensor, k_positions: Tensor, bidirectional: bool) -> Tensor:
    return _t5_bias(table, torch.arange(len(q_positions)), torch.arange(len(k_positions)), bidirectional)


def _blocks() -> Inputs:
    generator = torch.Generator().manual_seed(6)
    return [
        (torch.randn(32, dtype=torch.float64, generator=generator), torch.arange(*q), torch.arange(*k), bidirectional)
        for q, k in [((0, 5), (0, 5)), ((30, 32), (0, 32)), ((3, 200, 50), (0, 130, 17))]
        for bidirectional in (False, True)
    ]


def _offset_only(function: Callable[..., Tensor], table: Tensor, q: Tensor, k: Tensor, bidirectional: bool) -> bool:
    moved = function(table, q + 7, k + 7, bidirectional) - function(table, q, k, bidirectional)
    return bool(moved.abs().max() < 0.05)


_sign_check = function_check(
    _t5_bias,
    _blocks,
    mistakes=(
        KnownMistake(
            "sign",
            _bias_of(lambda i, j: i - j),
            "It is query minus key still. In a decoder every key that may be seen then falls into one bucket: which?",
        ),
        KnownMistake(
            "sign-blind",
            _bias_of(lambda i, j: -abs(i - j)),
            "A decoder is right now, and an encoder can no longer tell the next word from the previous one: the sign "
            "is gone.",
        ),
        KnownMistake(
            "sign-blind",
            _bias_of(lambda i, j: abs(i - j)),
            "The sign is gone. An encoder can no longer tell next from previous, and a decoder takes all keys for keys "
            "ahead.",
        ),
        KnownMistake(
            "index",
            _by_index,
            "You count rows and columns. A block of new queries does not start at 0: take the positions that come in.",
        ),
        KnownMistake(
            "always-encoder",
            lambda table, q, k, bidirectional: _t5_bias(table, q, k, True),
            "An encoder is right. A decoder has other buckets, and `bidirectional` tells which is asked for.",
        ),
        KnownMistake(
            "always-decoder",
            lambda table, q, k, bidirectional: _t5_bias(table, q, k, False),
            "A decoder is right. An encoder has other buckets, and `bidirectional` tells which is asked for.",
        ),
        KnownMistake(
            "negated",
            lambda table, q, k, bidirectional: -_t5_bias(table, q, k, bidirectional),
            "The buckets are right, and the numbers are negated. It is the position whose sign counts.",
        ),
        KnownMistake(
            "one-off",
            _bias_of(lambda i, j: j - i - 1),
            "Every distance is off by one. A query and the key at its own place have relative position 0.",
        ),
        KnownMistake(
            "one-off",
            _bias_of(lambda i, j: j - i + 1),
            "Every distance is off by one. A query and the key at its own place have relative position 0.",
        ),
    ),
    rules=(
        Rule(
            "places",
            _offset_only,
            "Move queries and keys by the same number, and your bias changes. It should depend on offsets alone.",
        ),
    ),
    otherwise="Take one query at 5 and keys at 4, 5 and 6: which bucket should each get, and which does it get?",
)

# kerple-far-away


def _harmonic(count: int) -> float:
    return sum(1 / n for n in range(1, count + 1))


_far_away_check = choice_check(
    "abc",
    ("b", _harmonic(16) / _harmonic(65_536)),
    mistakes=(
        KnownMistake(
            "settles",
            "a",
            "So it is with ALiBi, where the weights of a row have a finite sum. Which weight does a bias of −ln(1 + t) "
            "give, and do these add up to something finite?",
        ),
        KnownMistake(
            "like-a-constant",
            "c",
            "So it is with T5's last bucket, where all far keys weigh the same. Here they still fall off. How fast "
            "does the sum of the row grow?",
        ),
        KnownMistake(
            "short-text",
            _harmonic(16) / _harmonic(1024),
            "That is the share in a text of 1024 keys. The long one is asked for.",
        ),
        KnownMistake(
            "key-too-many",
            _harmonic(17) / _harmonic(65_536),
            "Near, and not it. Is it one key too many? The nearest 16 are those at distances 0 … 15.",
        ),
        KnownMistake(
            "own-key-left-out",
            (_harmonic(17) - 1) / (_harmonic(65_537) - 1),
            "The query's own key, at distance 0, is one of them, and its weight is the largest.",
        ),
        KnownMistake(
            "what-is-left",
            1 - _harmonic(16) / _harmonic(65_536),
            "That is the share of all others.",
        ),
        KnownMistake(
            "equal-weights",
            16 / 65_536,
            "That is the share if all keys weigh the same. Take the exponential of the biases.",
        ),
    ),
    otherwise="e^(−ln(1 + t)) is a simple fraction. Add the first 16 of them, then all, and divide.",
)

# t5-bucket-starts


def _starts(num_buckets: int, max_distance: int) -> list[int]:
    """In whole numbers: distance t has come to step j once (t/e)^w ≥ (M/e)^j."""
    exact = num_buckets // 2
    width = num_buckets - exact
    starts, distance = [*range(exact)], exact
    for j in range(width):
        while distance**width < exact ** (width - j) * max_distance**j:
            distance += 1
        starts.append(distance)
    return starts


def _edges(num_buckets: int, max_distance: int, late: int = 0, steps_less: int = 0) -> list[float]:
    """The places on the logarithm, not rounded; `late` moves them on, `steps_less` spreads them out."""
    exact = num_buckets // 2
    width = num_buckets - exact
    powers = [(j + late) / (width - steps_less) for j in range(width)]
    return [*range(exact), *(exact * (max_distance / exact) ** power for power in powers)]


def _rounded_up(edges: list[float]) -> list[int]:
    return [math.ceil(edge - 1e-9) for edge in edges]


def _spaced(place: Callable[[int, float, int], float]) -> Callable[[int, int], list[int]]:
    """Starts whose far half stands at place(n_e, share of the steps, max_distance)."""

    def starts(num_buckets: int, max_distance: int) -> list[int]:
        exact = num_buckets // 2
        width = num_buckets - exact
        return [*range(exact), *_rounded_up([place(exact, j / width, max_distance) for j in range(width)])]

    return starts


def _whole_edges_alone_wrong(function: Callable[..., Tensor], num_buckets: int, max_distance: int) -> bool:
    right = torch.tensor(_starts(num_buckets, max_distance), dtype=torch.float64)
    edges = torch.tensor(_edges(num_buckets, max_distance), dtype=torch.float64)
    wrong = (function(num_buckets, max_distance) - right).abs() > 0.01
    whole = (edges - edges.round()).abs() < 1e-6
    whole[: num_buckets // 2] = False
    return bool(wrong.any() and not wrong[~whole].any())


_starts_check = function_check(
    _starts,
    lambda: [(32, 128), (16, 128), (8, 32), (10, 160), (12, 384)],
    mistakes=(
        KnownMistake(
            "rounded-down",
            lambda n, m: [math.floor(edge + 1e-9) for edge in _edges(n, m)],
            "At the distance you give, the logarithm has not come to the step yet. Which way does the floor in the "
            "formula make you round?",
        ),
        KnownMistake(
            "rounded-to-nearest",
            lambda n, m: [round(edge) for edge in _edges(n, m)],
            "Some of your starts come before the logarithm has reached the step. Which way does the floor in the "
            "formula make you round?",
        ),
        KnownMistake(
            "not-whole",
            lambda n, m: _edges(n, m),
            "The right places on the logarithm. Distances are whole numbers: which is the first behind each place?",
        ),
        KnownMistake(
            "ends-at-maximum",
            lambda n, m: _rounded_up(_edges(n, m, steps_less=1)),
            "You let the last bucket start at the maximum distance. How many steps has the formula between n_e and M?",
        ),
        KnownMistake(
            "step-too-far",
            lambda n, m: _rounded_up(_edges(n, m, late=1)),
            "All logarithmic buckets start one step late: the first of them starts at n_e.",
        ),
        KnownMistake(
            "last-distances",
            lambda n, m: [*(start - 1 for start in _starts(n, m)[1:]), m],
            "Those are the last distances of the buckets. The first ones are asked for.",
        ),
        KnownMistake(
            "linear",
            _spaced(lambda exact, share, furthest: exact + share * (furthest - exact)),
            "Your starts have equal differences in the far half. On a logarithm they have equal ratios.",
        ),
        KnownMistake(
            "ratio",
            _spaced(lambda exact, share, furthest: exact * furthest**share),
            "The far half grows too fast: it should come to M after all steps, and it starts at n_e, not at 1.",
        ),
    ),
    rules=(
        Rule(
            "hair-above",
            lambda function, n, m: not _whole_edges_alone_wrong(function, n, m),
            "Right wherever the place on the logarithm is no whole number, and one off where it is one: a root or a "
            "logarithm came out a hair beside it. Compare powers of whole numbers there.",
        ),
    ),
    otherwise="Try 8 buckets and M = 32: four are exact, and the others start at 4 and at three places more.",
)

# kerple-feature-map


def _gram_of(
    entry: Callable[[Tensor, float], Tensor], behind: float = 1.0, ahead: float = -1.0
) -> Callable[..., Tensor]:
    """φφᵀ, where φ has entry(gap, slope) for each gap between neighbours, times `behind` or `ahead` by its side."""

    def gram(positions: Tensor, slope: float) -> Tensor:
        is_behind = torch.arange(len(positions))[:, None] > torch.arange(len(positions) - 1)
        vectors = torch.where(is_behind, behind, ahead) * entry(positions.diff(), slope)
        return vectors @ vectors.T

    return gram


def _shifted_alibi(positions: Tensor, slope: float) -> Tensor:
    return slope * ((positions[-1] - positions[0]) / 2 - (positions[:, None] - positions).abs())


def _places() -> Inputs:
    generator = torch.Generator().manual_seed(6)
    return [
        (torch.rand(count, dtype=torch.float64, generator=generator).cumsum(0), slope)
        for count, slope in [(2, 0.5), (5, 0.25), (8, 1.0)]
    ] + [(torch.arange(6, dtype=torch.float64), 0.5)]


def _equal_lengths(function: Callable[..., Tensor], positions: Tensor, slope: float) -> bool:
    lengths = function(positions, slope).diagonal()
    return bool((lengths - lengths[0]).abs().max() < 0.02)


_gram_check = function_check(
    _shifted_alibi,
    _places,
    mistakes=(
        KnownMistake(
            "not-halved",
            _gram_of(lambda gap, slope: (slope * gap).sqrt()),
            "Twice too much. How far do two products differ, of entries with equal signs and with opposite ones?",
        ),
        KnownMistake(
            "no-root",
            _gram_of(lambda gap, slope: slope * gap / 2),
            "In a dot product each entry meets an entry like it: what is yours multiplied with?",
        ),
        KnownMistake(
            "one-sided",
            _gram_of(lambda gap, slope: (slope * gap).sqrt(), ahead=0.0),
            "Your vectors get longer along the text: two positions share the gaps behind both. Their lengths must be "
            "equal, so a gap ahead has to count as well.",
        ),
        KnownMistake(
            "gaps-counted",
            _gram_of(lambda gap, slope: (slope * torch.ones_like(gap) / 2).sqrt()),
            "You count gaps as if all had length 1. The positions stand at any distance from each other.",
        ),
        KnownMistake(
            "no-slope",
            _gram_of(lambda gap, slope: (gap / 2).sqrt()),
            "The distances come out, without the slope.",
        ),
        KnownMistake(
            "slope-not-under-the-root",
            _gram_of(lambda gap, slope: slope * (gap / 2).sqrt()),
            "The slope comes out squared: look at what stands under the root.",
        ),
        KnownMistake(
            "one-sign",
            _gram_of(lambda gap, slope: (slope * gap / 2).sqrt(), ahead=1.0),
            "All vectors are the same. What of an entry should depend on where the position stands?",
        ),
    ),
    rules=(
        Rule(
            "lengths",
            _equal_lengths,
            "A position's product with itself must be c₀, for each the same, since its distance to itself is 0. Yours "
            "differ.",
        ),
    ),
    otherwise="All vectors have one length, as they must. Take two neighbours: in how many entries may they differ?",
)


def _feature_map_check(answer: Any) -> None:
    vectors = read_function(answer, ("positions", "slope"))

    def dot_products(positions: Tensor, slope: float) -> Tensor:
        rows = read_numbers(vectors(positions, slope), (len(positions), len(positions) - 1))
        return rows @ rows.T

    _gram_check(dot_products)


EXERCISES = (
    Exercise(
        id="t5-buckets-by-hand",
        title="Both sides of a staircase",
        lesson="06",
        difficulty=2,
        minutes=10,
        hints=(
            "How many buckets has each side, and how many of them are exact?",
            "ln 8 = 3 ln 2, so the logarithmic half is n_e + ⌊(4/3)·log₂(t/n_e)⌋ here.",
            "Do the keys behind first; a key ahead at the same distance has the bucket of its twin, plus one side's "
            "number of buckets.",
        ),
        check=_buckets_check,
        solved="Sign first, then the distance: exact, then logarithmic, then one bucket for all the rest.",
    ),
    Exercise(
        id="t5-scale",
        title="One table, four codes",
        lesson="06",
        difficulty=2,
        minutes=10,
        hints=(
            "Write αq for q and βb for b in each of the four formulas.",
            "All scores must be T5's, contents and biases each for themselves. So each column is a reciprocal of "
            "something.",
        ),
        check=_scale_check,
        solved="Contents and bias are moved each on its own: undo exactly what the code does to either.",
    ),
    Exercise(
        id="t5-sign",
        title="Find the bug: the past in one bucket",
        lesson="06",
        difficulty=2,
        minutes=10,
        hints=(
            "Print the relative position of the key just behind the query. What sign does `t5_buckets` expect?",
            "Relative to the query: where does one have to go from it to meet the key?",
        ),
        check=_sign_check,
        solved="T5's relative position is key minus query; turned round, next and previous change places.",
    ),
    Exercise(
        id="kerple-far-away",
        title="Predict and measure: how much is left for the near",
        lesson="06",
        difficulty=3,
        minutes=15,
        hints=(
            "The exponential of a logarithm: write the weight of a key at distance t without either.",
            "The row's sum is 1 + 1/2 + 1/3 + …. Has it a limit? How does it grow?",
            "Add it up by computer for 16, 1024 and 65 536 keys.",
        ),
        check=_far_away_check,
        solved="A logarithm in the score is a power of the distance in the weight: fat tails, and slow ones.",
    ),
    Exercise(
        id="t5-bucket-starts",
        title="Where the steps are",
        lesson="06",
        difficulty=4,
        minutes=25,
        hints=(
            "Bucket n_e + j begins where the floor first gives j. Write that as an inequality for the logarithm.",
            "Solve it for t: a product of n_e and a power of M/n_e with a fraction for exponent. Then t is whole.",
            "Where the place is a whole number, a float may lie a hair beside it. Raise both sides to a power until "
            "only whole numbers are left, and try the neighbours.",
        ),
        check=_starts_check,
        solved="The steps are a geometric sequence, rounded up; at its whole places only whole numbers are safe.",
    ),
    Exercise(
        id="kerple-feature-map",
        title="ALiBi is a dot product",
        lesson="06",
        difficulty=5,
        minutes=30,
        hints=(
            "The distance of two positions is the sum of the gaps between them. Give each gap an entry of its own.",
            "For two positions, a gap lies between them or it does not. What sign should the product of their two "
            "entries have in each case?",
            "An entry is a root that depends on the gap and the slope alone, with a sign that depends on the side.",
        ),
        check=_feature_map_check,
        solved="With such vectors no sum of squares can be negative: ALiBi is CPD, and you know the constant.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="t5-against-alibi",
        text="How does T5's bias differ from ALiBi's?",
        choices=(
            "It is learned, a number a head for each bucket of distances, and flat beyond the last one",
            "It is added to the embeddings, not to the scores",
            "It is the same with learned slopes",
        ),
        right="It is learned, a number a head for each bucket of distances, and flat beyond the last one",
        explanation=(
            "T5 learns one scalar for each head and bucket: exact for short distances, logarithmic "
            "after, and one bucket for everything from 113 on in a causal model of 32 buckets. Its "
            "scores are not divided by √d. So it can take any shape near by and is blind to position far "
            "away, where ALiBi's line goes on falling."
        ),
        lesson="06",
        claim="causal, all distances from 113 on share a bucket, and 112 is not in it",
    ),
    InterviewQuestion(
        id="kernel-that-qualifies",
        text="What may a relative bias f(|i − j|) be, if it should act like a kernel on positions?",
        choices=(
            "Anything that falls with distance",
            "Conditionally positive definite, since the softmax absorbs the constant that is missing",
            "Positive everywhere",
        ),
        right="Conditionally positive definite, since the softmax absorbs the constant that is missing",
        explanation=(
            "A positive definite bias is a dot product of position features. On any finite set of positions "
            "−r₁|i − j|^r₂ with 0 < r₂ < 2 and −r₁ log(1 + r₂|i − j|) become positive definite once a large enough "
            "constant is added, and one constant on all biases changes no softmax. At r₂ = 2 the power is still "
            "conditionally positive definite, but no constant does it. ALiBi is r₂ = 1."
        ),
        lesson="06",
        claim="a constant of 100 on all biases leaves the attention as it is",
    ),
    InterviewQuestion(
        id="three-sockets",
        text=(
            "Added to the embeddings, turned into queries and keys, or added to the scores: what sets the three apart?"
        ),
        choices=(
            "Only the number of parameters",
            "Added vectors reach the values and mix with content; the other two enter each layer's scores alone",
            "Only biases can tell left from right",
        ),
        right="Added vectors reach the values and mix with content; the other two enter each layer's scores alone",
        explanation=(
            "A vector added once goes through all three projections, so scores get content–position "
            "terms and values carry positions. A rotation or a bias enters the score again in each layer "
            "and leaves the first layer's values free of position. Symmetric biases cannot tell left "
            "from right without a mask; signed buckets and rotations can."
        ),
        lesson="06",
        claim="with T5's signed buckets a head gives the next word over 99 % of its attention",
    ),
)

QUIZ = (
    Question(
        id="last-bucket",
        text="A T5 decoder has 32 buckets and maximum distance 128. Which keys get the same bias?",
        choices=(
            "Those at distances 100 and 120",
            "Those at distances 113 and 5000",
            "None: each distance has its own",
        ),
        right="Those at distances 113 and 5000",
        explanation=(
            "Distances 113, 114, … share the last bucket, without end. 99 to 112 are the bucket before it, so 100 and "
            "120 differ. The maximum distance enters the formula; it is not where the last bucket starts."
        ),
    ),
    Question(
        id="scale",
        text="Weights of a T5 move into code that divides scores by √64. How do you keep the attention as it was?",
        choices=(
            "Multiply the biases by 8",
            "Divide the biases by 8",
            "Multiply the query projection by 8 and leave the biases",
        ),
        right="Multiply the query projection by 8 and leave the biases",
        explanation=(
            "q·k + b = (8q)·k/8 + b. The bias is a logit on either side, so it stays. Touching the biases alone "
            "leaves contents eight times too weak, or changes the temperature of the softmax."
        ),
    ),
    Question(
        id="sign",
        text="In an encoder, buckets are taken of |key − query|. What can the bias no longer do?",
        choices=(
            "Prefer the next word to the previous one",
            "Prefer near words to far ones",
            "Tell distance 1 from distance 2",
        ),
        right="Prefer the next word to the previous one",
        explanation=(
            "Both have distance 1, so both get one number. T5 gives each direction half of the buckets for this reason."
        ),
    ),
    Question(
        id="definite",
        text="B holds the biases −|i − j| of twelve positions. What does conditionally positive definite say of it?",
        choices=(
            "All twelve eigenvalues are at least 0",
            "cᵀBc ≥ 0 for every vector c that sums to zero",
            "cᵀBc ≤ 0 for every vector c, since no entry is positive",
        ),
        right="cᵀBc ≥ 0 for every vector c that sums to zero",
        explanation=(
            "Vectors that sum to zero do not see a constant added to all entries, and neither does the softmax. B has "
            "eleven positive eigenvalues and one negative; for c = (1, −1, 0, …) on neighbours, cᵀBc = 2."
        ),
    ),
    Question(
        id="power",
        text="Which exponent turns KERPLE's power kernel −r₁|i − j|^r₂ into ALiBi with a learned slope?",
        choices=("r₂ = 0", "r₂ = 1", "r₂ = 2"),
        right="r₂ = 1",
        explanation=(
            "Then the bias is −r₁|i − j| and r₁ is the slope. Smaller exponents flatten with distance, larger ones "
            "steepen, and past 2 the kernel is conditionally positive definite no more."
        ),
    ),
)
