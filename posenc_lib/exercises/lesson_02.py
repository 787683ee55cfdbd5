"""Lesson 2, the sinusoidal torus: exercises, interview questions and quiz. References in double precision."""

import cmath
import math
from collections.abc import Callable

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import choice_check, function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule


def _frequencies(d: int, *, over: int | None = None) -> Tensor:
    """One for each pair, and one for the last sine of an odd width; `over` stands in the exponent in the place of d."""
    exponents = [-2 * k / (over or d) for k in range((d + 1) // 2)]
    return 10_000 ** torch.tensor(exponents, dtype=torch.float64)


def _clocks(positions: Tensor, frequencies: Tensor) -> Tensor:
    """(…,) positions → (…, 2 × frequencies), each sine before its cosine."""
    angles = positions[..., None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def _encoding(positions: Tensor, d: int) -> Tensor:
    return _clocks(positions, _frequencies(d))[..., :d]


# row-by-hand


def _row(omega: float, *, first: float = 1.0) -> list[float]:
    """The row at π/2 for two frequencies."""
    angles = (math.pi / 2 * first, math.pi / 2 * omega)
    return [wave(angle) for angle in angles for wave in (math.sin, math.cos)]


_ROW = _row(1 / 3)
_row_check = numbers_check(
    _ROW,
    mistakes=(
        KnownMistake(
            "sines-first",
            [_ROW[0], _ROW[2], _ROW[1], _ROW[3]],
            "The numbers are right and stand in another order: all sines, then all cosines. Here a cosine follows its "
            "sine.",
        ),
        KnownMistake(
            "swapped",
            [_ROW[1], _ROW[0], _ROW[3], _ROW[2]],
            "Sine and cosine have changed places. What does the row of position 0 look like?",
        ),
        KnownMistake(
            "exponent",
            _row(9 ** (-1 / 4)),
            "The second hand is too fast. Compare your exponent with 2k/d: is a 2 lost?",
        ),
        KnownMistake("exponent", _row(3), "The second hand is faster than the first. Which sign has the exponent?"),
        KnownMistake(
            "own-frequency",
            [wave(math.pi / 2 * 9 ** (-j / 4)) for j, wave in enumerate((math.sin, math.cos, math.sin, math.cos))],
            "Each of the four numbers has a frequency of its own in your row. How many hands has a width of 4?",
        ),
        KnownMistake(
            "base",
            _row(0.01),
            "That is the second hand of the base 10 000. Which base does the question give?",
        ),
        KnownMistake("one-frequency", _row(1), "Both hands turn equally fast in your row. The second one is slower."),
        KnownMistake(
            "other-grid",
            _row(1 / 9),
            "The second hand has reached 1/base: that is tensor2tensor's grid. The paper's formula ends on the "
            "exponent (d − 2)/d.",
        ),
        KnownMistake(
            "degrees",
            _row(math.radians(1 / 3), first=math.radians(1)),
            "π/2 was taken for degrees. Angles are in radians here: how much of a turn is π/2?",
        ),
    ),
    rules=(
        Rule(
            "off-circle",
            lambda row: bool((row().reshape(2, 2).norm(dim=1) - 1).abs().max() < 0.01),
            "Each hand has the length 1: check the squares of the first two numbers, then of the last two.",
        ),
    ),
    otherwise="Write down ω₀ and ω₁ first, then the two angles at π/2, then the sine and the cosine of each.",
)

# sinusoidal-any-width


def _at_places() -> Inputs:
    generator = torch.Generator().manual_seed(2)
    return [(torch.randint(1, 2000, (12,), generator=generator), d) for d in (8, 5, 7, 1)]


def _with(frequencies: Callable[[int], Tensor]) -> Callable[..., Tensor]:
    """An encoding of other frequencies, (d + 1) // 2 of them."""
    return lambda positions, d: _clocks(positions, frequencies(d))[:, :d]


def _own_frequencies(positions: Tensor, d: int) -> Tensor:
    j = torch.arange(d)
    angles = positions[:, None] * 10_000 ** (-j.double() / d)
    return torch.where(j % 2 == 0, angles.sin(), angles.cos())


def _on_circles(function: Callable[..., Tensor], positions: Tensor, d: int) -> bool:
    pairs = function(positions, d)[:, : d // 2 * 2].reshape(len(positions), -1, 2)
    return bool(((pairs.norm(dim=2) - 1).abs() < 0.02).all())


_any_width_check = function_check(
    _encoding,
    _at_places,
    mistakes=(
        KnownMistake(
            "rounded-width",
            _with(lambda d: _frequencies(d, over=d + d % 2)),
            "Even widths are right. For an odd one your exponents are those of the next even width: which d stands in "
            "2k/d?",
        ),
        KnownMistake(
            "rounded-width",
            _with(lambda d: _frequencies(d, over=d - d % 2)),
            "Even widths are right. For an odd one your pairs have the exponents of the even width below: which d "
            "stands in 2k/d?",
        ),
        KnownMistake(
            "ends-on-cosine",
            lambda positions, d: torch.cat(
                (_encoding(positions, d)[:, : d - d % 2], _clocks(positions, _frequencies(d))[:, d : d + d % 2]), dim=1
            ),
            "Even widths are right. An odd one ends on the wrong wave: go on as the columns before it do, and stop "
            "when the width is reached.",
        ),
        KnownMistake(
            "padded",
            lambda positions, d: torch.cat(
                (_encoding(positions, d)[:, : d - d % 2], torch.zeros(len(positions), d % 2)), dim=1
            ),
            "Even widths are right. For an odd one your last column is empty.",
        ),
        KnownMistake(
            "sines-first",
            lambda positions, d: torch.cat((_encoding(positions, d)[:, 0::2], _encoding(positions, d)[:, 1::2]), dim=1),
            "The numbers are right and stand in another order: all sines, then all cosines. Here a cosine follows its "
            "sine.",
        ),
        KnownMistake(
            "swapped",
            lambda positions, d: _clocks(positions, _frequencies(d)).unflatten(1, (-1, 2)).flip(2).flatten(1)[:, :d],
            "Sine and cosine have changed places. What should the row of position 0 look like?",
        ),
        KnownMistake(
            "own-frequency",
            _own_frequencies,
            "Each column has a frequency of its own. A sine and the cosine beside it share one.",
        ),
        KnownMistake(
            "exponent",
            _with(lambda d: _frequencies(d).sqrt()),
            "Your hands slow down too little from pair to pair. Compare the exponent of pair k with 2k/d: is a 2 lost?",
        ),
        KnownMistake(
            "exponent",
            _with(lambda d: 1 / _frequencies(d)),
            "Your hands speed up from pair to pair. Which sign has the exponent of the base?",
        ),
        KnownMistake(
            "other-grid",
            _with(lambda d: _frequencies(d, over=d - 2)),
            "Your last hand reaches 1/10 000: that is tensor2tensor's grid. The paper's formula ends one step before.",
        ),
        KnownMistake(
            "counted-from-one",
            lambda positions, d: _encoding(positions + 1, d),
            "Every row is that of the next position. Position 0 has the sines 0 and the cosines 1.",
        ),
        KnownMistake(
            "index",
            lambda positions, d: _encoding(torch.arange(len(positions)), d),
            "The rows are counted 0, 1, 2, … instead of taking the positions that are passed in.",
        ),
        KnownMistake(
            "degrees",
            lambda positions, d: _encoding(torch.deg2rad(positions), d),
            "The angles are radians already: nothing is to be converted.",
        ),
    ),
    rules=(
        Rule(
            "off-circle",
            _on_circles,
            "A full pair of columns (2k, 2k + 1) should lie on the circle, as sine and cosine of one angle. One of "
            "yours does not.",
        ),
    ),
    otherwise="Every pair is a hand, with another speed. Print the row of position 1 for d = 4, then for d = 5.",
)

# one-row-a-text


def _added(x: Tensor) -> Tensor:
    return x + _encoding(torch.arange(x.shape[1]), x.shape[2])


def _texts() -> Inputs:
    generator = torch.Generator().manual_seed(2)
    shapes = [(3, 5, 8), (4, 4, 6), (1, 3, 4)]
    return [(torch.randn(shape, dtype=torch.float64, generator=generator),) for shape in shapes]


def _alone_as_in_company(function: Callable[..., Tensor], x: Tensor) -> bool:
    return bool((function(x[-1:]) - function(x)[-1:]).abs().max() < 0.02)


def _same_for_all_texts(function: Callable[..., Tensor], x: Tensor) -> bool:
    zeros = torch.zeros_like(x)
    return bool((function(x) - x - function(zeros)).abs().max() < 0.02)


def _by_text(x: Tensor) -> Tensor:
    return _encoding(torch.arange(x.shape[0]), x.shape[2])[:, None]


_added_check = function_check(
    _added,
    _texts,
    mistakes=(
        KnownMistake(
            "by-text",
            lambda x: x + _by_text(x),
            "All words of a text still get one row. Print the shape of what you add: which axis has the size 1?",
        ),
        KnownMistake(
            "by-both",
            lambda x: _added(x) + _by_text(x),
            "Each word gets the row of its place, and that of its text on top.",
        ),
        KnownMistake(
            "counted-through",
            lambda x: x + _encoding(torch.arange(x.shape[0] * x.shape[1]), x.shape[2]).reshape(x.shape),
            "The first text is right and the second goes on counting where it ends. Where does each text begin?",
        ),
        KnownMistake(
            "scaled",
            lambda x: _added(x * math.sqrt(x.shape[2])),
            "The rows are right, and the words are multiplied by √d. The broken function did not do that.",
        ),
        KnownMistake(
            "encoding-alone",
            lambda x: _added(torch.zeros_like(x)),
            "The rows are right, and the words are gone. They are to be added to.",
        ),
        KnownMistake("nothing-added", lambda x: x, "x comes back as it was. Where does the table enter?"),
        KnownMistake(
            "counted-from-one",
            lambda x: x + _encoding(torch.arange(x.shape[1]) + 1, x.shape[2]),
            "Every word gets the row of the next place. Places count from 0.",
        ),
        KnownMistake(
            "last-row",
            lambda x: x + _encoding(torch.tensor(x.shape[1]), x.shape[2]),
            "One row for all words. A number of words went in where their places should.",
        ),
        KnownMistake(
            "multiplied",
            lambda x: x * _added(torch.zeros_like(x)),
            "The rows are right, and the words are multiplied by them.",
        ),
    ),
    rules=(
        Rule(
            "company",
            _alone_as_in_company,
            "A text alone gets something else than as the last of several. Which axis counts texts?",
        ),
        Rule(
            "content",
            _same_for_all_texts,
            "What you add depends on the words. It should depend on their places alone.",
        ),
    ),
    otherwise="Each text gets the same rows, and they are other ones. Compare row 0, then row 1, with the table's.",
)

# shift-matrix


def _blocks(numbers: list[complex]) -> Tensor:
    """One 2 × 2 block a complex number z: what multiplying cosine + i·sine by z does to (sine, cosine)."""
    blocks = [torch.tensor([[z.real, z.imag], [-z.imag, z.real]], dtype=torch.float64) for z in numbers]
    return torch.block_diag(*blocks)


def _shift(delta: float, d: int) -> Tensor:
    return _blocks([cmath.exp(1j * delta * omega) for omega in _frequencies(d).tolist()])


def _sines_first(d: int) -> list[int]:
    return [*range(0, d, 2), *range(1, d, 2)]


def _shifts() -> Inputs:
    return [(3, 8), (-2, 4), (40, 6), (-700, 16), (1, 2)]


def _only_blocks(function: Callable[..., Tensor], delta: float, d: int) -> bool:
    return bool((function(delta, d) * (1 - torch.block_diag(*[torch.ones(2, 2)] * (d // 2)))).abs().max() < 0.02)


def _keeps_lengths(function: Callable[..., Tensor], delta: float, d: int) -> bool:
    matrix = function(delta, d)
    return bool((matrix.T @ matrix - torch.eye(d)).abs().max() < 0.05)


_shift_check = function_check(
    _shift,
    _shifts,
    mistakes=(
        KnownMistake(
            "sign",
            lambda delta, d: _shift(-delta, d),
            "It moves every position the wrong way, by the right amount. In which order does a pair hold sine and "
            "cosine, and which row of the block makes the new sine?",
        ),
        KnownMistake(
            "sines-first",
            lambda delta, d: _shift(delta, d)[_sines_first(d)][:, _sines_first(d)],
            "That shifts a table that holds all sines first, then all cosines. Here a cosine follows its sine.",
        ),
        KnownMistake(
            "one-frequency",
            lambda delta, d: _blocks([cmath.exp(1j * delta)] * (d // 2)),
            "All blocks turn by the same angle. Each pair has its own frequency.",
        ),
        KnownMistake(
            "no-shift",
            lambda delta, d: torch.eye(d),
            "That leaves every position where it is. Where does Δ enter?",
        ),
        KnownMistake(
            "exponent",
            lambda delta, d: _blocks([cmath.exp(1j * delta * w) for w in _frequencies(d).sqrt().tolist()]),
            "The blocks slow down too little. Compare the exponent of pair k with 2k/d: is a 2 lost?",
        ),
        KnownMistake(
            "exponent",
            lambda delta, d: _blocks([cmath.exp(1j * delta / w) for w in _frequencies(d).tolist()]),
            "The blocks turn faster from pair to pair. Which sign has the exponent of the base?",
        ),
        KnownMistake(
            "swapped",
            lambda delta, d: _blocks([1j * cmath.exp(-1j * delta * w) for w in _frequencies(d).tolist()]),
            "Sine and cosine of Δω have changed places. What must the matrix be for Δ = 0?",
        ),
        KnownMistake(
            "degrees",
            lambda delta, d: _shift(math.radians(delta), d),
            "The angles are radians already: nothing is to be converted.",
        ),
    ),
    rules=(
        Rule(
            "mixed-pairs",
            _only_blocks,
            "Your matrix mixes one pair with another. The new sine of a pair is made of that pair alone: which entries "
            "may differ from 0?",
        ),
        Rule(
            "length",
            _keeps_lengths,
            "The pairs are kept apart, and their lengths are not kept. Look at the four signs of a block, and at where "
            "its sines stand.",
        ),
    ),
    otherwise=(
        "Each block is a rotation, by another angle. Try d = 2: there the only frequency is 1. Then look at which "
        "frequency the last block of d = 4 has."
    ),
)

# blunt-peak


def _weight_ten_back(scale: float = math.sqrt(64), *, shift: int = 10) -> float:
    """The weight of the key 10 before a query at 500, for scores Σ cos((500 − n − shift)ω) / scale."""
    offsets = 500 - torch.arange(501)
    scores = ((offsets - shift)[:, None] * _frequencies(64)).cos().sum(1) / scale
    return scores.softmax(0)[490].item()


_blunt_check = choice_check(
    "abc",
    ("c", _weight_ten_back()),
    tolerance=6e-4,
    mistakes=(
        KnownMistake(
            "argmax",
            "a",
            "The score is largest there, and a softmax is no maximum: it compares that score with all others. How far "
            "behind are they?",
        ),
        KnownMistake(
            "half",
            "b",
            "The two neighbours take their share. So do others: what does a key 100 places away score, and how many "
            "keys are there?",
        ),
        KnownMistake("unscaled", _weight_ten_back(1), "The scores are not divided by √d."),
        KnownMistake("wrong-scale", _weight_ten_back(64), "The scores are divided by d. It is √d."),
        KnownMistake(
            "forward",
            _weight_ten_back(shift=-10),
            "Your head looks for the key 10 places after the query, and there is none. Which way moves M₁₀ the key?",
        ),
        KnownMistake("no-shift", _weight_ten_back(shift=0), "That is PE(m)·PE(n). Where is the shift matrix?"),
    ),
    otherwise=(
        "The reason is right. Measure again: 501 scores, from n = 0 to the query's own place 500, divided by √64, one "
        "softmax over all of them, and of that the weight at n = 490."
    ),
)

# offset-from-rows

_REACH = 3000
_SLOWEST = 1e-3  # the frequency of the last pair at width 8


def _turned_by(row_p: Tensor, row_q: Tensor) -> Tensor:
    """How far each hand of p stands ahead of that of q, from −π to π."""
    p, q = (torch.complex(row[1::2].contiguous(), row[0::2].contiguous()) for row in (row_p, row_q))
    return (p * q.conj()).angle()


def _by_slow_hands(row_p: Tensor, row_q: Tensor, hands: int) -> Tensor:
    """The reading of the slowest hand, made finer by the faster ones up to that number of hands."""
    turned, omega, offset = _turned_by(row_p, row_q), _frequencies(8), torch.zeros(())
    for k in range(3, 3 - hands, -1):
        turns = ((offset * omega[k] - turned[k]) / (2 * math.pi)).round()
        offset = (turned[k] + 2 * math.pi * turns) / omega[k]
    return offset


def _best_shift(row_p: Tensor, row_q: Tensor) -> int:
    """The offset whose four angles fit best, of all that are allowed."""
    offsets = torch.arange(-_REACH, _REACH + 1)
    misfit = (offsets[:, None] * _frequencies(8) - _turned_by(row_p, row_q)).cos().sum(1)
    return int(offsets[misfit.argmax()])


def _rounded_rows() -> Inputs:
    p, q = torch.randint(0, _REACH + 1, (2, 12), generator=torch.Generator().manual_seed(2))
    p, q = torch.cat((p, torch.tensor([0, 3000, 1234, 8]))), torch.cat((q, torch.tensor([3000, 0, 1234, 5])))
    rows = [_encoding(places, 8).round(decimals=2) for places in (p, q)]
    return list(zip(*rows, strict=True))


def _swapped_sign(function: Callable[..., Tensor], row_p: Tensor, row_q: Tensor) -> bool:
    return bool((function(row_p, row_q) + function(row_q, row_p)).abs() < 0.5)


_offset_check = function_check(
    _best_shift,
    _rounded_rows,
    tolerance=0.25,
    mistakes=(
        KnownMistake(
            "slow-hand-alone",
            lambda row_p, row_q: _by_slow_hands(row_p, row_q, 1),
            "Near, and off by some positions: you read the slow hand alone. It knows the whole range, roughly. Which "
            "hand knows the rest?",
        ),
        KnownMistake(
            "stopped-early",
            lambda row_p, row_q: _by_slow_hands(row_p, row_q, 2),
            "Nearly: off by one at times. Two hands are read, and the finer of them is still too coarse to tell "
            "neighbours apart.",
        ),
        KnownMistake(
            "fast-hand-alone",
            lambda row_p, row_q: _turned_by(row_p, row_q)[0],
            "Offsets within half a turn of the fast hand are right, longer ones start again. Which hand does not "
            "complete a turn?",
        ),
        KnownMistake(
            "sign",
            lambda row_p, row_q: -_best_shift(row_p, row_q),
            "The size is right, the direction is not: p − q is asked for, positive where p comes later.",
        ),
        KnownMistake(
            "unsigned",
            lambda row_p, row_q: abs(_best_shift(row_p, row_q)),
            "Every size is right, and the sign is lost: cosines alone cannot tell +Δ from −Δ. What else does a pair "
            "hold?",
        ),
        KnownMistake(
            "half-the-dial",
            lambda row_p, row_q: torch.atan(_turned_by(row_p, row_q)[-1].tan()) / _SLOWEST,
            "Right up to a quarter turn of the slow hand and wrong beyond: the quotient of a sine and a cosine is the "
            "same half a turn further on.",
        ),
        KnownMistake(
            "mean-of-hands",
            lambda row_p, row_q: (_turned_by(row_p, row_q) / _frequencies(8)).mean(),
            "You take the mean of what the hands say. All but the slowest have lost whole turns: how many does each?",
        ),
        KnownMistake(
            "whole-turn",
            lambda row_p, row_q: _best_shift(row_p, row_q) % (2 * math.pi / _SLOWEST),
            "Negative offsets come out one turn of the slow hand too high. From where to where should an angle run?",
        ),
    ),
    rules=(
        Rule(
            "direction",
            _swapped_sign,
            "With the two rows exchanged the answer should change its sign, and yours does not.",
        ),
    ),
    otherwise=(
        "Try it on rows that are not rounded, then with an offset below 3, then below 30: at which size does it begin "
        "to fail?"
    ),
)

EXERCISES = (
    Exercise(
        id="row-by-hand",
        title="A row by hand",
        lesson="02",
        difficulty=1,
        minutes=5,
        hints=(
            "A width of 4 has two hands. Their frequencies are base^(−2k/4) for k = 0 and k = 1.",
            "The second frequency is one over a square root. Which part of a turn are the two angles?",
        ),
        check=_row_check,
        solved="Two frequencies, two angles, a sine and a cosine of each: two hands of length 1.",
    ),
    Exercise(
        id="sinusoidal-any-width",
        title="Any width, odd ones too",
        lesson="02",
        difficulty=2,
        minutes=15,
        hints=(
            "How many sines does a width of 5 hold, and how many cosines?",
            "Make the angles for as many frequencies as there are sines. Which columns take the cosines, and of which "
            "angles?",
            "table[:, 0::2] and table[:, 1::2] of an empty (T, d) table are the places for both.",
        ),
        check=_any_width_check,
        solved="An odd width has one sine more than it has cosines, and the exponent keeps its own d.",
    ),
    Exercise(
        id="one-row-a-text",
        title="Find the bug: a text that minds its neighbours",
        lesson="02",
        difficulty=2,
        minutes=10,
        hints=(
            "Feed it zeros of shape (2, 3, 4): what comes back is what is added. Which rows are equal?",
            "Write down the shape of x and, right below it, aligned at the right, the shape of what is added to it.",
        ),
        check=_added_check,
        solved="A broadcast asks no questions: count the words, and give the axis of texts the size 1.",
    ),
    Exercise(
        id="shift-matrix",
        title="The matrix that moves on, and no other",
        lesson="02",
        difficulty=3,
        minutes=20,
        hints=(
            "Take one pair and write sin(a + b) and cos(a + b) with the addition theorems. What multiplies sin a, what "
            "cos a?",
            "The new pair is a 2 × 2 matrix times the old pair (sin a, cos a). Its first row makes the new sine.",
            "For uniqueness: if two matrices agree on d rows that are linearly independent, they are equal. Write the "
            "first d rows with e^(ipω) and e^(−ipω) in place of sine and cosine.",
        ),
        check=_shift_check,
        solved="Blocks of cosine and sine of Δω, free of p; and d rows of the table leave no other choice.",
    ),
    Exercise(
        id="blunt-peak",
        title="How sharp is “ten back”?",
        lesson="02",
        difficulty=3,
        minutes=15,
        hints=(
            "How high is the score of the right key, and that of a key 100 places away from it? How many of the 32 "
            "hands have turned far by then?",
            "The scores need no matrix: PE(m)·M₁₀PE(n) is a sum of cosines of (m − n − 10)ω_k.",
        ),
        check=_blunt_check,
        solved="The peak is in the right place and blunt: a head has to scale its scores up before it picks one key.",
    ),
    Exercise(
        id="offset-from-rows",
        title="Read the offset off two rows",
        lesson="02",
        difficulty=5,
        minutes=30,
        hints=(
            "From a pair of either row you get an angle with the two-argument arctangent. The difference of two angles "
            "is known up to whole turns.",
            "One hand does not complete half a turn within the range: it gives the offset, to within 15 positions.",
            "Knowing the offset to within 15, you know how many whole turns the next faster hand has made: that makes "
            "its reading ten times as exact. And again.",
        ),
        check=_offset_check,
        solved="Slow hands say roughly where, fast hands exactly: that is what many frequencies are for.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="why-sine-and-cosine",
        text="Why does the sinusoidal encoding use a sine and a cosine of each frequency?",
        choices=(
            "For twice the width",
            "So that a shift by any fixed offset is one matrix, the same at every position",
            "Because a cosine decays faster than a sine",
        ),
        right="So that a shift by any fixed offset is one matrix, the same at every position",
        explanation=(
            "The pair is a point on a circle, and moving on by Δ turns it by Δω: PE(p + Δ) = M_Δ PE(p), "
            "with M_Δ block-diagonal and free of p. A sine alone gives two positions of one wave the "
            "same value, and no matrix takes sin pω to sin (p + Δ)ω. The pair also keeps every norm at "
            "√(d/2)."
        ),
        lesson="02",
        claim="M_Δ PE(p) = PE(p + Δ) on 500 drawn widths, positions and shifts",
    ),
    InterviewQuestion(
        id="sinusoidal-extrapolates",
        text="“Sinusoidal encodings extrapolate, for they are defined at every position.” Your answer?",
        choices=(
            "Right: that is why the paper chose them",
            "Wrong: they cannot be computed past the trained length",
            "They are defined there, and a trained model has never seen what they show there",
        ),
        right="They are defined there, and a trained model has never seen what they show there",
        explanation=(
            "A row exists for every position, with the same norm. But the slow pairs have not completed "
            "a turn in training, so past the trained length they point where they never pointed, and "
            "nothing taught the weights what that means. Papers that measured it find the loss rising "
            "soon after the trained length."
        ),
        lesson="02",
        claim="at position 128 all 21 of them point where they never pointed before",
    ),
)

QUIZ = (
    Question(
        id="pairs",
        text="How many different frequencies does a sinusoidal encoding of width 512 have?",
        choices=("512, one a dimension", "256, one for two dimensions", "1, with 512 phases"),
        right="256, one for two dimensions",
        explanation=(
            "Dimensions 2k and 2k + 1 hold the sine and the cosine of one angle. Together they fix the angle, keep the "
            "length of the pair at 1, and make a shift a rotation. With a frequency for each dimension all three fail."
        ),
    ),
    Question(
        id="wavelengths",
        text="Width 8, base 10 000, the paper's formula. How long is the slowest wave?",
        choices=("2π · 10 000 positions", "2π · 1 000 positions", "10 000 positions"),
        right="2π · 1 000 positions",
        explanation=(
            "The last pair has k = d/2 − 1, so its wavelength is 2π·10000^((d−2)/d) = 2π·10000^(3/4). The full "
            "2π·10 000 is the limit for large widths, and what tensor2tensor's exponents reach."
        ),
    ),
    Question(
        id="sign",
        text="Pairs are stored as (sine, cosine). Which block moves pair k on by Δ, with c = cos Δω, s = sin Δω?",
        choices=("[[c, s], [−s, c]]", "[[c, −s], [s, c]]", "Either, since a rotation is a rotation"),
        right="[[c, s], [−s, c]]",
        explanation=(
            "sin(a + b) = sin a cos b + cos a sin b gives the first row (c, s). The other sign belongs to the order "
            "(cosine, sine); used here, it moves the position back by Δ."
        ),
    ),
    Question(
        id="direction",
        text="A score is PE(m)·PE(n), without any projection. What does it know?",
        choices=(
            "How far apart m and n are, and which comes first",
            "How far apart m and n are, and not which comes first",
            "Neither",
        ),
        right="How far apart m and n are, and not which comes first",
        explanation=(
            "The score is Σ cos((m − n)ω_k), and a cosine gives +3 and −3 the same value. A key projection that holds "
            "a shift matrix moves the peak to one side, and then the score does tell left from right."
        ),
    ),
    Question(
        id="extrapolation",
        text="A model with sinusoidal encoding was trained on 512 positions. What holds at position 5 000?",
        choices=(
            "The encoding cannot be computed",
            "The encoding is computed, and the model works on it as before",
            "The encoding is computed, and the model has never seen its slow hands point there",
        ),
        right="The encoding is computed, and the model has never seen its slow hands point there",
        explanation=(
            "A formula has a value everywhere; a trained model is fitted to the values it met. Press et al. (2022) "
            "trained at 512 tokens and saw perplexity go from 20.05 to 43.54 at 1 012 tokens. Lesson 8 measures it."
        ),
    ),
)
