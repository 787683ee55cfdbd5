"""Lesson 1, the permutation proof: exercises, interview questions and quiz. References in double precision."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule

# moved-pattern

_PATTERN = torch.tensor([[0.7, 0.1, 0.2], [0.25, 0.6, 0.15], [0.05, 0.4, 0.55]], dtype=torch.float64)
_SOURCE = [2, 0, 1]  # the place each word of the new order comes from

_pattern_check = numbers_check(
    _PATTERN[_SOURCE][:, _SOURCE],
    mistakes=(
        KnownMistake(
            "identical",
            _PATTERN,
            "That is the pattern of the old order. Between two words the weight stays, but both now stand elsewhere.",
        ),
        KnownMistake(
            "rows-alone",
            _PATTERN[_SOURCE],
            "The rows have moved and the columns have not. In the new order, which word's weight stands in column 0?",
        ),
        KnownMistake(
            "columns-alone",
            _PATTERN[:, _SOURCE],
            "The columns have moved and the rows have not. In the new order, which word asks in row 0?",
        ),
        KnownMistake(
            "other-way",
            _PATTERN[[1, 2, 0]][:, [1, 2, 0]],
            "This is the pattern of “bites man dog”: the words are sent the other way round. Row 0 belongs to the word "
            "that stands first now.",
        ),
        KnownMistake(
            "transposed",
            _PATTERN[_SOURCE][:, _SOURCE].T,
            "Rows and columns have changed roles. A row holds what one word gives, so it sums to 1.",
        ),
    ),
    rules=(
        Rule(
            "row-sums",
            lambda pattern: bool((pattern().sum(1) - 1).abs().max() < 0.01),
            "A row of an attention pattern sums to 1, and one of yours does not. Every number moves, none is lost.",
        ),
    ),
    otherwise="Write the new order beside the rows and above the columns. For each entry: who asks, and whom?",
)

# counts-by-place


def _distinct(seen: Callable[[tuple[int, ...], int], Any]) -> list[int]:
    """For each place, how many different things are seen there over all 120 orders of five words."""
    return [len({seen(order, place) for order in permutations(range(5))}) for place in range(5)]


_BAG = _distinct(lambda order, place: (order[place], frozenset(order[:place])))
_SEQUENCE = _distinct(lambda order, place: order[: place + 1])
_BAG_WITHOUT_READER = _distinct(lambda order, place: frozenset(order[: place + 1]))

_counts_check = numbers_check(
    [_BAG, _SEQUENCE],
    tolerance=0.05,
    mistakes=(
        KnownMistake(
            "depth",
            [_BAG, _BAG],
            "Your second row repeats the first. What do the words that the second layer reads carry by then?",
        ),
        KnownMistake(
            "order-at-once",
            [_SEQUENCE, _SEQUENCE],
            "In your first row every order of the words before counts. The first layer takes two sums over them: what "
            "do sums forget?",
        ),
        KnownMistake(
            "no-mask",
            [[5] * 5, [5] * 5],
            "That is attention without a mask, where each word keeps its output in every order. Here word t sees "
            "words 0 … t, and another set of them in another order.",
        ),
        KnownMistake(
            "reader",
            [_BAG_WITHOUT_READER, _SEQUENCE],
            "You count the sets that are seen. The word that looks, with its query and its residual, belongs to the "
            "output too.",
        ),
        KnownMistake("rows", [_SEQUENCE, _BAG], "The rows have changed places: one layer comes first."),
    ),
    rules=(
        Rule(
            "first-place",
            lambda counts: bool((counts()[:, 0] - 5).abs().max() < 0.5),
            "Begin at the first place. It sees itself alone, at any depth: how many words can stand there?",
        ),
        Rule(
            "too-many",
            lambda counts: bool(counts().max() < 120.5),
            "There are 120 orders, so no place can show more than 120 different outputs.",
        ),
        Rule(
            "less-with-depth",
            lambda counts: bool((counts()[1] - counts()[0]).min() > -0.5),
            "A second layer reads all that the first wrote, and the residual keeps it. Can it tell fewer orders apart?",
        ),
    ),
    otherwise=(
        "Say what the output is a function of, for each depth, and count the values that can take. Then measure: for "
        "one place, how many rows differ from every row before?"
    ),
)

# changed-past


def _softmax(scores: Tensor, axis: int = 1) -> Tensor:
    weights = scores.exp()
    return weights / weights.sum(axis, keepdim=True)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.T / math.sqrt(q.shape[1])


def _hidden(scores: Tensor, value: float = -math.inf, *, diagonal: int = 1) -> Tensor:
    """The scores with that value in the future's place."""
    return scores.masked_fill(torch.ones_like(scores).triu(diagonal) > 0, value)


def _texts() -> Inputs:
    generator = torch.Generator().manual_seed(1)
    return [tuple(torch.randn(3, length, 8, dtype=torch.float64, generator=generator)) for length in (1, 4, 6)]


def _blind_to_future(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor) -> bool:
    before = function(q, k, v)
    k[-1], v[-1] = 1 - k[-1], 1 - v[-1]
    return bool(((function(q, k, v) - before)[:-1].abs() < 0.02).all())


def _averages(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor, *more: Tensor) -> bool:
    """Whether equal values come out as they went in, as from weights that sum to 1."""
    return bool((function(q, k, torch.ones_like(v), *more) - 1).abs().max() < 0.02)


_causal_check = function_check(
    lambda q, k, v: _softmax(_hidden(_scores(q, k))) @ v,
    _texts,
    mistakes=(
        KnownMistake(
            "after-softmax",
            lambda q, k, v: _softmax(_scores(q, k)).tril() @ v,
            "The hidden weights are 0, and the words they belong to still count in the softmax's denominator. Print "
            "the sum of each row of weights.",
        ),
        KnownMistake(
            "zero-scores",
            lambda q, k, v: _softmax(_hidden(_scores(q, k), 0.0)) @ v,
            "A hidden score is 0 now. What does the softmax make of a score of 0?",
        ),
        KnownMistake(
            "unmasked",
            lambda q, k, v: _softmax(_scores(q, k)) @ v,
            "The rows sum to 1, and nothing is hidden any more.",
        ),
        KnownMistake(
            "wrong-triangle",
            lambda q, k, v: _softmax(_hidden(_scores(q, k).T).T) @ v,
            "The wrong triangle: each word sees itself and what comes after it. A row is a query: which columns are "
            "its past?",
        ),
        KnownMistake(
            "not-itself",
            lambda q, k, v: _softmax(_hidden(_scores(q, k), diagonal=0)).nan_to_num() @ v,
            "A word no longer sees itself, and the first one sees nothing at all.",
        ),
        KnownMistake(
            "wrong-axis",
            lambda q, k, v: _softmax(_hidden(_scores(q, k)), axis=0) @ v,
            "The softmax runs over the queries. Each query shares out its own weight, over the keys.",
        ),
        KnownMistake(
            "unscaled",
            lambda q, k, v: _softmax(_hidden(q @ k.T)) @ v,
            "The mask is right, and the division by √d got lost.",
        ),
    ),
    rules=(
        Rule(
            "leak",
            _blind_to_future,
            "A later word still changes an earlier output. Replace the last key and the last value, and follow the "
            "change back.",
        ),
        Rule(
            "weights-sum",
            _averages,
            "The future is hidden, and the weights of a row do not sum to 1: equal values should come out as they went "
            "in.",
        ),
    ),
    otherwise="The future is hidden and each row sums to 1. Compare row 0 with the values: the first word sees itself.",
)

# bag-of-words


def _bag(q: Tensor, k: Tensor, v: Tensor, counts: Tensor) -> Tensor:
    weights = _scores(q, k).exp() * counts
    return weights @ v / weights.sum(1, keepdim=True)


def _bags() -> Inputs:
    generator = torch.Generator().manual_seed(1)
    counts = ([3, 1], [1, 0, 2, 5], [2, 10**12, 40, 10**11, 7])
    return [
        (*torch.randn(3, len(count), 8, dtype=torch.float64, generator=generator), torch.tensor(count))
        for count in counts
    ]


def _shares_only(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor, counts: Tensor) -> bool:
    return bool((function(q, k, v, 2 * counts) - function(q, k, v, counts)).abs().max() < 0.02)


_bag_check = function_check(
    _bag,
    _bags,
    mistakes=(
        KnownMistake(
            "counts-ignored",
            lambda q, k, v, counts: _softmax(_scores(q, k)) @ v,
            "Each word counts once. A word that stands there three times is summed three times.",
        ),
        KnownMistake(
            "times-scores",
            lambda q, k, v, counts: torch.softmax(_scores(q, k) * counts, dim=1) @ v,
            "The count multiplies the score. Write the sum over the text and collect equal terms: what is it that "
            "occurs three times?",
        ),
        KnownMistake(
            "added-to-scores",
            lambda q, k, v, counts: torch.softmax(_scores(q, k) + counts, dim=1) @ v,
            "The count is added to the score, and the exponential turns three into e³. What should it turn into?",
        ),
        KnownMistake(
            "numerator-alone",
            lambda q, k, v, counts: (_softmax(_scores(q, k)) * counts) @ v,
            "The count stands in the numerator alone, so the weights no longer sum to 1. What does the denominator sum "
            "over?",
        ),
        KnownMistake(
            "once-more",
            lambda q, k, v, counts: _bag(q, k, v, counts + 1),
            "Every word counts once too often. A word with the count 0 is not in the text.",
        ),
        KnownMistake(
            "reader-counted",
            lambda q, k, v, counts: counts[:, None] * (_softmax(_scores(q, k)) @ v),
            "The count belongs to the words that are read. Yours multiplies the output of the one that reads.",
        ),
        KnownMistake(
            "unscaled",
            lambda q, k, v, counts: _bag(q * math.sqrt(q.shape[1]), k, v, counts),
            "The counts are right, and the division by √d got lost.",
        ),
        KnownMistake(
            "text-order",
            lambda q, k, v, counts: _bag(q, k, v, counts.flip(0)),
            "Each word has the count of another. Column j of the weights belongs to word j.",
        ),
    ),
    rules=(
        Rule(
            "not-normalised",
            _averages,
            "The weights do not sum to 1: equal values should come out as they went in.",
        ),
        Rule(
            "not-shares",
            _shares_only,
            "A text twice as long with the same shares gives other outputs in your function. In a ratio of two sums, "
            "the factor 2 goes out.",
        ),
    ),
    otherwise=(
        "Take one query and a text of three words, two of them the same. Write its two sums, numerator and "
        "denominator, and collect."
    ),
)

# average-over-orders


def _filled(diagonal: Tensor, others: Tensor, length: int) -> Tensor:
    return others + (diagonal - others) * torch.eye(length, dtype=torch.float64)


def _means(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of the diagonal, and of the other entries."""
    length, trace = len(matrix), matrix.trace()
    return trace / length, (matrix.sum() - trace) / (length * (length - 1))


def _averaged(matrix: Tensor) -> Tensor:
    return _filled(*_means(matrix), len(matrix))


def _cyclic(matrix: Tensor) -> Tensor:
    return torch.stack([matrix.roll((n, n), (0, 1)) for n in range(len(matrix))]).mean(0)


def _matrices() -> Inputs:
    generator = torch.Generator().manual_seed(1)
    return [(3 * torch.randn(length, length, dtype=torch.float64, generator=generator) + 1,) for length in (2, 5, 12)]


def _commutes(function: Callable[..., Tensor], matrix: Tensor) -> bool:
    averaged = function(matrix)
    order = torch.randperm(len(matrix), generator=torch.Generator().manual_seed(3))
    return bool((averaged[order][:, order] - averaged).abs().max() < 0.02)


_average_check = function_check(
    _averaged,
    _matrices,
    mistakes=(
        KnownMistake(
            "one-mean",
            lambda matrix: matrix.mean().expand(matrix.shape),
            "All entries are one mean. Can an order ever move an entry from the diagonal off it?",
        ),
        KnownMistake(
            "symmetrised",
            lambda matrix: (matrix + matrix.T) / 2,
            "That averages two orders of the matrix, as it is and transposed. Which entries can entry (0, 1) change "
            "places with, over all orders?",
        ),
        KnownMistake(
            "cyclic",
            _cyclic,
            "That averages over the cyclic orders alone, T of them: entries of one diagonal are still apart from those "
            "of the next. What does swapping just two words do to them?",
        ),
        KnownMistake(
            "diagonal-kept",
            lambda matrix: _filled(matrix.diag(), _means(matrix)[1], len(matrix)),
            "The diagonal is as it was. Its entries change places among each other too.",
        ),
        KnownMistake(
            "diagonal-alone",
            lambda matrix: _filled(_means(matrix)[0], torch.zeros(()), len(matrix)),
            "The diagonal is right. What is the mean of the other entries?",
        ),
        KnownMistake(
            "denominator",
            lambda matrix: _filled(_means(matrix)[0], _means(matrix)[1] * (1 - 1 / len(matrix)), len(matrix)),
            "Off the diagonal you divide by the number of all entries. How many stand there?",
        ),
        KnownMistake(
            "double-diagonal",
            lambda matrix: _filled(sum(_means(matrix)), _means(matrix)[1], len(matrix)),
            "Off the diagonal all is right. On it, b·11ᵀ adds b as well: which a leaves the diagonal’s mean there?",
        ),
        KnownMistake(
            "rows",
            lambda matrix: matrix.mean(1, keepdim=True).expand(matrix.shape),
            "These are means of rows. Columns move as the rows do.",
        ),
    ),
    rules=(
        Rule(
            "not-free",
            _commutes,
            "Your result still depends on the order: permute its rows and columns alike, and it changes.",
        ),
    ),
    otherwise="It has the right form, with other numbers. Try T = 2, where there are two orders to average by hand.",
)

EXERCISES = (
    Exercise(
        id="moved-pattern",
        title="A pattern moves",
        lesson="01",
        difficulty=1,
        minutes=5,
        hints=(
            "Name the rows and columns of the old table by their words, then those of the new one.",
            "The weight that man gives to dog is a number of these two words. Where does that pair stand now?",
        ),
        check=_pattern_check,
        solved="Rows follow the words that ask, columns the words that offer: PAPᵀ.",
    ),
    Exercise(
        id="changed-past",
        title="Find the bug: the past changes",
        lesson="01",
        difficulty=2,
        minutes=10,
        hints=(
            "Print the weights, and the sum of each row.",
            "The softmax divides by a sum over all keys. Which keys should be in that sum?",
            "What score gives a weight of exactly 0, and takes no part in the sum?",
        ),
        check=_causal_check,
        solved="Hide scores, not weights: a weight set to 0 afterwards has already taken its share.",
    ),
    Exercise(
        id="counts-by-place",
        title="What a place can know",
        lesson="01",
        difficulty=3,
        minutes=15,
        hints=(
            "For one layer: the output at a place is a function of the word there and of something about the words "
            "before. Of what?",
            "Choose the word at the place, then choose which of the other four stand before it.",
            "For two layers: the words before now carry different outputs if their own past differed. Does any "
            "reordering of them go unseen?",
        ),
        check=_counts_check,
        solved="One layer knows the reader and a set; two know the sequence up to the reader.",
    ),
    Exercise(
        id="bag-of-words",
        title="A text is its counts",
        lesson="01",
        difficulty=3,
        minutes=20,
        hints=(
            "Write the output of one word as a ratio of two sums over the whole text. Equal words give equal terms.",
            "A word that occurs c times contributes c times the same exponential, above and below.",
            "As an attention over the N words: which number, added to the score of a word, multiplies its exponential "
            "by c?",
        ),
        check=_bag_check,
        solved="No order, only counts: log c is all that c copies of a word add to its score.",
    ),
    Exercise(
        id="average-over-orders",
        title="What survives all orders",
        lesson="01",
        difficulty=4,
        minutes=25,
        hints=(
            "An order sends entry (i, j) to another place. From a diagonal place, where can it land? From any other?",
            "Swap just two words i and i′ and compare entries: which must be equal?",
            "Over all orders every diagonal entry spends the same share of time at every diagonal place.",
        ),
        check=_average_check,
        solved="Without positions a matrix can tell “me” from “the others”, and nothing else.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="why-positions",
        text="Why does a Transformer need positions at all?",
        choices=(
            "Attention cannot handle texts of different lengths without them",
            "Attention without a mask treats its input as a set: reorder the words, and each keeps its output",
            "Without them the softmax does not sum to 1",
        ),
        right="Attention without a mask treats its input as a set: reorder the words, and each keeps its output",
        explanation=(
            "Scores are dot products of contents, and the softmax and the weighted sum run over all keys "
            "alike, so Attention(PX) = P·Attention(X) for every permutation P. Several heads keep that as one "
            "does, and residuals, norms and MLPs act on each word alone. “The cat sat on the mat” and “the mat sat on "
            "the cat” give every word the same vector."
        ),
        lesson="01",
        claim="“the cat sat on the mat” and “the mat sat on the cat”: each word gets the same vector in both",
    ),
    InterviewQuestion(
        id="decoder-without-encoding",
        text="A decoder-only model is trained without any encoding. Can it use word order?",
        choices=(
            "Yes, from the second layer on: the causal mask breaks the symmetry",
            "No, attention is permutation-equivariant",
            "Yes, in the first layer already, for any two orders of the words before the last",
        ),
        right="Yes, from the second layer on: the causal mask breaks the symmetry",
        explanation=(
            "The mask shows each word another set of words. After one layer the last word's output is "
            "still the same for any order of the words before it; but those words' own outputs differ, "
            "and a second layer reads them. What such a model reaches in practice is a matter of "
            "measurement, and identical tokens without a start token stay alike at any depth."
        ),
        lesson="01",
        claim="two causal layers give 24 different last outputs for 24 orders",
    ),
)

QUIZ = (
    Question(
        id="equivariant",
        text="No encoding and no mask. The words of a sentence are reordered. What happens to attention's outputs?",
        choices=(
            "Each place keeps its output",
            "Each word keeps its output, and the outputs move with the words",
            "All outputs become equal",
        ),
        right="Each word keeps its output, and the outputs move with the words",
        explanation=(
            "Attention(PX) = P·Attention(X): that is equivariance. Were each place to keep its output, whatever word "
            "stands there, attention would be invariant, and it is not."
        ),
    ),
    Question(
        id="pattern",
        text="And what happens to the attention pattern A?",
        choices=(
            "It becomes P A Pᵀ",
            "It stays identical",
            "It becomes P A",
        ),
        right="It becomes P A Pᵀ",
        explanation=(
            "Queries move, so rows move: P. Keys move, so columns move: Pᵀ. Between two words the weight is the one "
            "it was, but it stands elsewhere in the matrix."
        ),
    ),
    Question(
        id="pooling",
        text="Which readout of an encoder without positions cannot tell two orders of the same words apart?",
        choices=(
            "The output at the first place",
            "All outputs, written one after the other",
            "The mean of all outputs",
        ),
        right="The mean of all outputs",
        explanation=(
            "A sum does not care about the order of its terms, so a symmetric pooling turns equivariance into "
            "invariance. The output at the first place belongs to whatever word stands there now."
        ),
    ),
    Question(
        id="causal",
        text=(
            "A decoder without any encoding, behind a causal mask. From which depth on can the last output depend on "
            "the order of the words before it?"
        ),
        choices=(
            "From the first layer on",
            "From the second layer on",
            "Never: without an encoding it sees a set",
        ),
        right="From the second layer on",
        explanation=(
            "In the first layer the last word averages over the set of all words so far. The second layer averages "
            "over what the earlier words saw, and that depends on who stood before them."
        ),
    ),
    Question(
        id="identical",
        text="A text is one token repeated a hundred times, with no start token. Which method gives its places away?",
        choices=(
            "RoPE on queries and keys",
            "A causal mask and enough layers",
            "A sinusoidal vector added to the embeddings",
        ),
        right="A sinusoidal vector added to the embeddings",
        explanation=(
            "All values are equal, and weights that sum to 1 average equal values to the same vector, whatever "
            "scores, mask and depth make of the weights. The added vector reaches the values, so they differ."
        ),
    ),
)
