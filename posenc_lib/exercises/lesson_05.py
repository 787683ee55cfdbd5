"""Lesson 5, ALiBi's slopes: exercises, interview questions and quiz."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import choice_check, function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule

# alibi-slopes-8, alibi-slopes-12


def _powers_of_two(exponents: list[float]) -> list[float]:
    return [2.0**exponent for exponent in exponents]


def _formula(num_heads: int) -> list[float]:
    return _powers_of_two([-8 * h / num_heads for h in range(1, num_heads + 1)])


def _not_just_rounded(slopes: Callable[[], Tensor]) -> bool:
    return bool((slopes() - torch.tensor(_formula(8), dtype=torch.float64)).abs().max() > 0.006)


def _one_ratio(slopes: Callable[[], Tensor]) -> bool:
    ratios = slopes()[1:] / slopes()[:-1]
    return bool((ratios - ratios[0]).abs().max() < 0.01)


_slopes_8_check = numbers_check(
    _powers_of_two([-h for h in range(1, 9)]),
    tolerance=1e-5,
    mistakes=(
        KnownMistake(
            "starts-at-one",
            _powers_of_two([-h for h in range(8)]),
            "Your first slope is 1. The heads are counted h = 1 … 8: which h makes a slope of 1?",
        ),
        KnownMistake(
            "grows",
            _powers_of_two([*range(1, 9)]),
            "Your slopes grow beyond 1. Look at the sign of the exponent.",
        ),
        KnownMistake(
            "exponents",
            [-h for h in range(1, 9)],
            "Those are the exponents. The slopes are 2 to these powers.",
        ),
        KnownMistake(
            "negative",
            [-(2.0**-h) for h in range(1, 9)],
            "The sizes fit. In the formula the minus stands before the slope; the slope itself is positive.",
        ),
        KnownMistake(
            "reversed",
            _powers_of_two([h - 9 for h in range(1, 9)]),
            "The right eight in the wrong order: which head is the steepest, the first or the last?",
        ),
        KnownMistake(
            "wrong-head-count",
            _powers_of_two([-h / 2 for h in range(1, 9)]),
            "Those are the first eight of 16 heads. What is 8h/H for H = 8?",
        ),
        KnownMistake(
            "wrong-head-count",
            _powers_of_two([-8 * h for h in range(1, 9)]),
            "You left out the division by the number of heads: your first slope is where the last one belongs.",
        ),
        KnownMistake(
            "base-e",
            [math.exp(-h) for h in range(1, 9)],
            "You took e to the exponents. The base of the slopes is 2; e comes in with the softmax.",
        ),
        KnownMistake(
            "linear",
            [h / 8 for h in range(8, 0, -1)],
            "Your slopes have one difference. They should have one ratio.",
        ),
    ),
    rules=(
        Rule(
            "rounded",
            _not_just_rounded,
            "Right as far as you wrote them, it seems: each is within 0.006. Fractions are shorter, and exact.",
        ),
        Rule(
            "no-ratio",
            _one_ratio,
            "The slopes are a geometric sequence: each is the one before times the same number. Yours are not.",
        ),
    ),
    otherwise="One ratio throughout, another sequence than asked for. What is the last slope, whatever the number of "
    "heads?",
)


def _slopes(num_heads: int, more: Callable[[int, int], list[float]]) -> list[float]:
    """The slopes of the largest power of two c that fits, then `more(c, missing)`."""
    fits = max(2**n for n in range(12) if 2**n <= num_heads)
    return _formula(fits) + more(fits, num_heads - fits)


def _next_power(num_heads: int) -> int:
    return min(2**n for n in range(12) if 2**n >= num_heads)


def _released(num_heads: int) -> list[float]:
    return _slopes(num_heads, lambda fits, missing: _powers_of_two([-4 * (2 * h + 1) / fits for h in range(missing)]))


def _right_for_powers_of_two(function: Callable[..., Tensor], num_heads: int) -> bool:
    fits = _next_power(num_heads)
    return bool((function(fits) - torch.tensor(_formula(fits), dtype=torch.float64)).abs().max() < 1e-4)


def _right_at_first(function: Callable[..., Tensor], num_heads: int) -> bool:
    first = torch.tensor(_slopes(num_heads, lambda fits, missing: []), dtype=torch.float64)
    return bool((function(num_heads)[: len(first)] - first).abs().max() < 1e-4)


_slopes_12_check = function_check(
    _released,
    lambda: [(heads,) for heads in (1, 2, 3, 6, 8, 12, 16, 20)],
    tolerance=1e-5,
    mistakes=(
        KnownMistake(
            "formula",
            _formula,
            "That is the formula for every number of heads. Of which numbers does the paper's code use it?",
        ),
        KnownMistake(
            "cut",
            lambda heads: _formula(_next_power(heads))[:heads],
            "You cut the next power of two off after enough slopes. Then the flattest ones are missing, and 1/256 is "
            "always there.",
        ),
        KnownMistake(
            "not-every-second",
            lambda heads: _slopes(heads, lambda fits, missing: _formula(2 * fits)[:missing]),
            "The right list to add from, and you take its slopes one after the other. Some of them are there already: "
            "which?",
        ),
        KnownMistake(
            "twice",
            lambda heads: _slopes(heads, lambda fits, missing: _formula(2 * fits)[1::2][:missing]),
            "Every second one, and exactly those that are there already: two heads of each slope now. Take the others.",
        ),
        KnownMistake(
            "from-the-end",
            lambda heads: _slopes(heads, lambda fits, missing: _formula(2 * fits)[::2][fits - missing :]),
            "The right list, every second one, and you take the flattest of them. Begin at its front.",
        ),
        KnownMistake(
            "sorted",
            lambda heads: sorted(_released(heads), reverse=True),
            "The right slopes, sorted. A trained head keeps its number, and with it its slope: the added ones come "
            "last.",
        ),
        KnownMistake(
            "sorted",
            lambda heads: _released(heads)[::-1],
            "The right slopes, in reverse. A trained head keeps its number, and with it its slope.",
        ),
        KnownMistake(
            "added-first",
            lambda heads: (
                _released(heads)[len(_slopes(heads, lambda fits, missing: [])) :]
                + _slopes(heads, lambda fits, missing: [])
            ),
            "The right slopes, the added ones first. A trained head keeps its number, and with it its slope: the power "
            "of two comes first.",
        ),
    ),
    rules=(
        Rule(
            "powers-of-two",
            _right_for_powers_of_two,
            "For 1, 2, 4, 8, 16 … heads the formula 2^(−8h/H) holds as it stands, and your function gives something "
            "else there.",
        ),
        Rule(
            "first-heads",
            _right_at_first,
            "Powers of two are right. For 12 heads the first eight are those of eight heads, and yours are not.",
        ),
    ),
    otherwise="The slopes of the power of two are right and those added are not: print what you add for 12 heads.",
)

# alibi-after-softmax

Weigh = Callable[[Tensor, Tensor, float], Tensor]


def _behind(length: int) -> Tensor:
    """i − j, the distance of a key behind its query; negative where it is ahead."""
    return torch.arange(length)[:, None] - torch.arange(length)


def _softmax(scores: Tensor, causal: bool = True) -> Tensor:
    if causal:
        scores = scores.masked_fill(_behind(len(scores)) < 0, -math.inf)
    weights = (scores - scores.amax(1, keepdim=True)).exp()
    return weights / weights.sum(1, keepdim=True)


def _attended(weigh: Weigh) -> Callable[..., Tensor]:
    """Attention with the weights of `weigh(scaled scores, distances, slope)`."""
    return lambda q, k, v, slope: weigh(q @ k.T / math.sqrt(q.shape[1]), _behind(len(q)), slope) @ v


def _penalised(scores: Tensor, behind: Tensor, slope: float) -> Tensor:
    return _softmax(scores - slope * behind)


def _added_after(scores: Tensor, behind: Tensor, slope: float) -> Tensor:
    return _softmax(scores) - slope * behind.clamp(min=0)


def _renormalised(weights: Tensor) -> Tensor:
    return weights / weights.sum(1, keepdim=True)


def _texts_and_slopes() -> Inputs:
    generator = torch.Generator().manual_seed(5)
    return [
        (*torch.randn(3, length, 16, dtype=torch.float64, generator=generator), slope)
        for length, slope in [(4, 0.5), (7, 0.0625), (7, 0.25)]
    ]


def _weights_sum_to_one(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor, slope: float) -> bool:
    return bool((function(q, k, torch.ones_like(v), slope) - 1).abs().max() < 0.05)


def _blind_to_the_future(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor, slope: float) -> bool:
    late = v.clone()
    late[-1] += 10
    return bool((function(q, k, late, slope) - function(q, k, v, slope))[:-1].abs().max() < 0.1)


_after_softmax_check = function_check(
    _attended(_penalised),
    _texts_and_slopes,
    mistakes=(
        KnownMistake(
            "after-softmax",
            _attended(_added_after),
            "The bias still goes onto weights, and makes most of them negative. Which line of the function should see "
            "it?",
        ),
        KnownMistake(
            "renormalised",
            _attended(lambda s, behind, m: _renormalised(_added_after(s, behind, m))),
            "You divide by the sum again. In a long row that sum is negative, and far keys now weigh most. Look at the "
            "place of the bias, not at the sum.",
        ),
        KnownMistake(
            "cut-off",
            _attended(lambda s, behind, m: _added_after(s, behind, m).clamp(min=0)),
            "Weights are no longer negative, nor do they sum to 1, and beyond a few tokens they are all 0. A penalty "
            "on a score makes a weight small, never 0.",
        ),
        KnownMistake(
            "cut-off",
            _attended(lambda s, behind, m: _renormalised(_added_after(s, behind, m).clamp(min=0))),
            "Weights sum to 1 now, and beyond a few tokens they are all 0. A penalty on a score makes a weight small, "
            "never 0.",
        ),
        KnownMistake(
            "not-renormalised",
            _attended(lambda s, behind, m: _softmax(s) * (-m * behind).exp()),
            "A factor e^(−m·distance) on each weight is the right idea. What should the weights of a row sum to?",
        ),
        KnownMistake(
            "linear-factor",
            _attended(lambda s, behind, m: _renormalised(_softmax(s) / (1 + m * behind.clamp(min=0)))),
            "You shrink weights by 1 + m·distance. What factor does a penalty on the score put on a weight?",
        ),
        KnownMistake(
            "scaled",
            lambda q, k, v, slope: _attended(_penalised)(q, k, v, slope / math.sqrt(q.shape[1])),
            "The bias is divided by √d together with the scores: every slope is √d times too flat.",
        ),
        KnownMistake(
            "sign",
            _attended(lambda s, behind, m: _softmax(s + m * behind)),
            "Far keys are rewarded. Look at the sign of the bias.",
        ),
        KnownMistake(
            "no-mask",
            _attended(lambda s, behind, m: _softmax(s - m * behind.abs(), causal=False)),
            "The bias is in its place, and the mask got lost: a token sees those after it.",
        ),
        KnownMistake(
            "no-mask",
            _attended(lambda s, behind, m: _softmax(s - m * behind, causal=False)),
            "The bias is in its place, and the mask got lost: a token sees those after it, and is rewarded for it.",
        ),
        KnownMistake(
            "no-bias",
            _attended(lambda s, behind, m: _softmax(s)),
            "Plain attention: the bias is gone altogether.",
        ),
    ),
    rules=(
        Rule(
            "row-sums",
            _weights_sum_to_one,
            "With all values 1 the output should be 1, and yours is not: the weights of a row do not sum to 1.",
        ),
        Rule(
            "future",
            _blind_to_the_future,
            "Weights sum to 1, and an early output changes with the last value: the mask is not in its place.",
        ),
    ),
    otherwise="Weights sum to 1 and the mask holds. Print the weights of the last row for equal contents: what should "
    "the ratio of two neighbours be?",
)

# alibi-cache

_RATIO = math.exp(-0.5)
_cache_check = choice_check(
    "abc",
    ("b", (1 - _RATIO) / (1 - _RATIO**10)),
    mistakes=(
        KnownMistake(
            "shift-cancels",
            "a",
            "A number added to a whole row cancels, and a wrong query position adds one, as long as no key stands "
            "ahead of the query. Does the bias have a |·|? Write the ten biases down.",
        ),
        KnownMistake(
            "one-query",
            "c",
            "One query has ten distances, one to each key. Write the ten biases down.",
        ),
        KnownMistake(
            "as-intended",
            _RATIO**9 * (1 - _RATIO) / (1 - _RATIO**10),
            "That is what the oldest key gets when the query stands where it should, at 9. In this code it stands at "
            "0.",
        ),
        KnownMistake(
            "endless",
            1 - _RATIO,
            "That is the share in an endless cache. This one has ten keys.",
        ),
        KnownMistake("uniform", 0.1, "By your number all ten keys weigh the same. Your reason says otherwise."),
        KnownMistake("not-normalised", 1.0, "That is e⁰, before the division by the sum of the row."),
        KnownMistake(
            "half-to-the-distance",
            0.5 / (1 - 0.5**10),
            "Each step costs the factor 1/2 in your row. The slope is 1/2; which factor does it put on a weight?",
        ),
    ),
    otherwise="Ten weights, e to the bias of each key; divide that of the oldest by their sum.",
)

# alibi-both-sides


def _reach(slope: float, share: float) -> int:
    """The least distance within which that share of an encoder's attention lies, by adding up the weights."""
    weights = (-slope * torch.arange(round(80 / slope), dtype=torch.float64)).exp()
    weights[1:] *= 2
    return int(((weights / weights.sum()).cumsum(0) < share).sum())


def _one_sided(slope: float, share: float) -> int:
    return math.ceil(-math.log(1 - share) / slope) - 1


_reach_check = function_check(
    _reach,
    lambda: [(2.0**-h, share) for h in range(1, 9) for share in (0.5, 0.75, 0.9, 0.99)] + [(1.0, 0.8)],
    mistakes=(
        KnownMistake(
            "one-sided",
            _one_sided,
            "That is the decoder's reach, of a query that sees one side. It is close for flat heads. Add up both "
            "sides, and count the query's own key once.",
        ),
        KnownMistake(
            "one-too-many",
            lambda slope, share: _reach(slope, share) + 1,
            "One too far. The keys within distance N have the distances 0 … N: how many are that on one side?",
        ),
        KnownMistake(
            "one-too-few",
            lambda slope, share: _reach(slope, share) - 1,
            "One too near. The share has to be reached: is N rounded up?",
        ),
        KnownMistake(
            "keys",
            lambda slope, share: 2 * _reach(slope, share) + 1,
            "You count the keys, on both sides. The distance of the farthest of them is asked for.",
        ),
        KnownMistake(
            "weight",
            lambda slope, share: -math.log(1 - share) / slope,
            "There a single weight has fallen that far. The share of all keys up to there is another number.",
        ),
        KnownMistake(
            "weight",
            lambda slope, share: math.ceil(-math.log(1 - share) / slope),
            "There a single weight has fallen that far. The share of all keys up to there is another number.",
        ),
        KnownMistake(
            "rest",
            lambda slope, share: _reach(slope, 1 - share),
            "For a share of one half you are right. For others you take what is left for what is reached.",
        ),
        KnownMistake(
            "base-two",
            lambda slope, share: math.ceil(math.log2(2 / ((1 + math.exp(-slope)) * (1 - share))) / slope) - 1,
            "The right equation, solved with the logarithm to the base 2. Which base has the softmax?",
        ),
        KnownMistake(
            "not-whole",
            lambda slope, share: math.log(2 / ((1 + math.exp(-slope)) * (1 - share))) / slope - 1,
            "The right equation. Distances are whole numbers: which way do you round?",
        ),
    ),
    rules=(
        Rule(
            "grows",
            lambda function, slope, share: bool(function(slope / 2, share) >= function(slope, share)),
            "A flatter head should reach at least as far as a steeper one, and yours does not.",
        ),
    ),
    otherwise="Take slope 1/2 and add up 1, 2r, 2r², … by hand: after how many terms is the share reached?",
)

EXERCISES = (
    Exercise(
        id="alibi-slopes-8",
        title="Eight slopes by hand",
        lesson="05",
        difficulty=1,
        minutes=5,
        hints=(
            "Put H = 8 into the formula first. What is left of the exponent?",
            "Each slope is the one before times the same number. Which number, and where does the sequence end?",
        ),
        check=_slopes_8_check,
        solved="A geometric sequence that ends at 1/256 for every power of two; with 8, each head halves the slope.",
    ),
    Exercise(
        id="alibi-slopes-12",
        title="Find the bug: twelve heads",
        lesson="05",
        difficulty=3,
        minutes=15,
        hints=(
            "For which numbers of heads do the broken function and the table agree?",
            "The released rule needs two lists: one for the largest power of two c that fits, one for 2c. What is new "
            "in the second?",
            "For 12 heads: the eight of 8 heads, and of the sixteen of 16 heads the first, third, fifth and seventh.",
        ),
        check=_slopes_12_check,
        solved="The formula is for powers of two; the released rule keeps those slopes and adds some between.",
    ),
    Exercise(
        id="alibi-after-softmax",
        title="Find the bug: negative weights",
        lesson="05",
        difficulty=2,
        minutes=10,
        hints=(
            "What kind of number is a bias: a score, or a weight?",
            "Move one line. Then look at a row of equal contents: neighbours should differ by one factor.",
        ),
        check=_after_softmax_check,
        solved="A bias is a score: added before the softmax it multiplies weights, and rows still sum to 1.",
    ),
    Exercise(
        id="alibi-cache",
        title="Predict and measure: one query, a whole cache",
        lesson="05",
        difficulty=3,
        minutes=15,
        hints=(
            "Which position does the code give to the only query it has?",
            "Write the ten biases in a row, with the |·|. Which key has the largest?",
            "The weights of the row are a geometric series; the share of its largest term is one minus its ratio, over "
            "one minus the ratio to the tenth power.",
        ),
        check=_cache_check,
        solved="A block of queries is aligned to the end of the keys; aligned to their start, ALiBi is upside down.",
    ),
    Exercise(
        id="alibi-both-sides",
        title="How far an encoder's head reaches",
        lesson="05",
        difficulty=4,
        minutes=20,
        hints=(
            "Section 5 sums 1 + r + r² + … for a query that sees one side. How often does each distance occur here?",
            "The sum over all keys is 1 + 2r/(1 − r). Bring it over one denominator.",
            "What lies beyond distance N has the share 2r^(N+1)/(1 + r). Ask when that falls to 1 − share.",
        ),
        check=_reach_check,
        solved="Two sides share one row, each distance but 0 twice: for flat heads the reach hardly changes.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="alibi-in-a-minute",
        text="How does ALiBi work?",
        choices=(
            "It subtracts slope · distance from each scaled score, with a fixed slope a head",
            "It multiplies attention weights by a learned decay and renormalises them",
            "It adds a vector for the distance to keys and values",
        ),
        right="It subtracts slope · distance from each scaled score, with a fixed slope a head",
        explanation=(
            "No embeddings and no parameters: head h of H = 2ⁿ has the slope 2^(−8h/H), and −slope·|i − "
            "j| is added after the division by √d, before the softmax. A linear penalty on a logit is an "
            "exponential factor on a weight, so each head has a range of its own, from about one token "
            "to a few hundred. Content can still override it."
        ),
        lesson="05",
        claim="half of the attention of 8 heads lies within 1, 2, 5, 11, 22, 44, 88 and 177 tokens",
    ),
    InterviewQuestion(
        id="alibi-long-context",
        text=("An ALiBi model keeps its loss flat far beyond the trained length. Does it use the long context?"),
        choices=(
            "Yes, a flat loss shows it",
            "Not shown: a model that looks only near by stays flat as well",
            "No, ALiBi raises an error there",
        ),
        right="Not shown: a model that looks only near by stays flat as well",
        explanation=(
            "With the slopes of 8 heads and equal contents, seven heads keep over 98 % of their attention within 512 "
            "tokens and the eighth within 1024, so more text changes little, for better or worse. Evaluation hides "
            "this: windows that do not overlap get better with length because fewer tokens stand at a window's start. "
            "Measure use with a task that needs a far token, or slide the window."
        ),
        lesson="05",
        claim="with ALiBi, cutting 8192 drawn tokens to the last 2048 changes the output by under 1 %",
    ),
)

QUIZ = (
    Question(
        id="where",
        text="Where does ALiBi's bias go?",
        choices=(
            "Onto q·k, before the division by √d",
            "Onto the scaled score, before the softmax",
            "Onto the weights, after the softmax",
        ),
        right="Onto the scaled score, before the softmax",
        explanation=(
            "Added before the division, it would be divided too, and every slope would be √d times flatter. Added "
            "after the softmax, weights could turn negative and would no longer sum to 1."
        ),
    ),
    Question(
        id="twelve",
        text="How do the 12 slopes of a 12-head model come about in the authors' code?",
        choices=(
            "2^(−8h/12) for h = 1 … 12",
            "The 8 slopes of 8 heads, and every second one of 16 heads until there are 12",
            "The first 12 of the slopes of 16 heads",
        ),
        right="The 8 slopes of 8 heads, and every second one of 16 heads until there are 12",
        explanation=(
            "The eight are 1/2 … 1/256; the four are 2 to the −1/2, −3/2, −5/2 and −7/2. So head 9 is the steepest. "
            "The formula 2^(−8h/H) is used as it stands for powers of two alone."
        ),
    ),
    Question(
        id="half",
        text=(
            "A head's slope is halved. On equal contents and a long text, what becomes of the distance that holds half "
            "of its attention?"
        ),
        choices=("It doubles, about", "It grows by one token", "It is squared"),
        right="It doubles, about",
        explanation=(
            "Half is reached when e^(−m(N+1)) ≤ 1/2, so N = ⌈ln 2/m⌉ − 1, and m stands in the denominator. For the "
            "slopes 1/2 … 1/256 it is 1, 2, 5, 11, 22, 44, 88, 177."
        ),
    ),
    Question(
        id="key-only",
        text="When may −m·|i − j| be replaced by +m·j?",
        choices=("Always", "Under a causal mask", "Only if all contents are equal"),
        right="Under a causal mask",
        explanation=(
            "There |i − j| = i − j, so the two differ by −m·i, which is constant along a row, and the softmax ignores "
            "it. Without the mask the keys to the right of a query would be rewarded for being far."
        ),
    ),
    Question(
        id="flat",
        text=(
            "A model's perplexity falls from 20 to 18 as windows that do not overlap grow from 512 to 3072 tokens. "
            "What does that show?"
        ),
        choices=(
            "It uses what stands more than 512 tokens back",
            "It does not break down, and fewer tokens have little context",
            "It has memorised the text",
        ),
        right="It does not break down, and fewer tokens have little context",
        explanation=(
            "A model that ignores everything beyond 512 tokens improves in the same way: fewer windows mean a smaller "
            "share of tokens with little before them. With a sliding window every token has full context; there "
            "ALiBi stays flat."
        ),
    ),
)
