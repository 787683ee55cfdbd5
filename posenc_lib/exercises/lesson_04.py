"""Lesson 4, RoPE: exercises, interview questions and quiz. References are complex numbers in double precision."""

import cmath
import math
from collections.abc import Callable

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule

# rope-dot-product


def _score(m: float, n: float, omega: float) -> float:
    """⟨RoPE(q, m), RoPE(k, n)⟩ for q = [1, 0] and k = [0, 1], as complex numbers in double precision."""
    q, k = 1, 1j
    return (q * cmath.exp(1j * m * omega) * (k * cmath.exp(1j * n * omega)).conjugate()).real


_OMEGA = math.pi / 4
_DEGREES = (
    "Degrees and radians are mixed. Your library's sine and cosine take radians, and the frequency in the question "
    "is in radians a position already."
)
_DOT_PRODUCT_MISTAKES = (
    KnownMistake(
        "sign",
        _score(3, 5, _OMEGA),
        "The size fits, the sense of rotation does not. Turn both vectors counter-clockwise, q by its own position "
        "and k by its own: look at the signs in your rotation matrix, and at which vector gets which position.",
    ),
    KnownMistake(
        "unrotated",
        _score(0, 0, _OMEGA),
        "That is q·k with nothing turned; the cosine of the angle alone, or the sum of the positions in place of "
        "their difference, give it too. Turn each vector first, then multiply.",
    ),
    KnownMistake(
        "one-rotated",
        _score(5, 0, _OMEGA),
        "Only one of the two vectors is turned. The score compares a rotated query with a rotated key.",
    ),
    KnownMistake(
        "offset",
        _score(5, 4, _OMEGA),
        "Count the steps between the two positions again, both from the same start. And see whether the question "
        "asks for a scaled score: nothing is divided by √d here.",
    ),
    KnownMistake("degrees", _score(5, 3, math.radians(_OMEGA)), _DEGREES),
    KnownMistake("degrees", _score(5, 3, math.degrees(_OMEGA)), _DEGREES),
    KnownMistake(
        "no-frequency",
        _score(5, 3, 1.0),
        "The angle is the position alone. It is position times frequency: where is ω?",
    ),
    KnownMistake(
        "angle",
        2 * _OMEGA,
        "That is the angle between the two rotations. The score is what q and k give after turning by it.",
    ),
    KnownMistake(
        "one-term",
        math.cos(5 * _OMEGA) * -math.sin(3 * _OMEGA),
        "That is a single product of coordinates. A dot product sums over both.",
    ),
)


_dot_product_check = numbers_check(
    _score(5, 3, _OMEGA),
    mistakes=_DOT_PRODUCT_MISTAKES,
    rules=(
        Rule(
            "too-long",
            lambda score: abs(score()) <= 1,
            "A score cannot exceed the product of the two lengths, and yours does. A rotation keeps lengths: does "
            "yours?",
        ),
    ),
    otherwise="Turn q by 5ω and k by 3ω, write down both turned vectors, then take their dot product.",
)

# rotation-transpose


def _rotation(angle: float) -> list[list[float]]:
    one, i = cmath.exp(1j * angle), 1j * cmath.exp(1j * angle)  # where the axes go: the columns
    return [[one.real, i.real], [one.imag, i.imag]]


def _turned_back(alpha: float, beta: float) -> list[list[float]]:
    return _rotation(beta - alpha)


def _angle_pairs() -> Inputs:
    drawn = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4)) * 20 - 10
    return [tuple(pair) for pair in drawn.tolist()]


def _is_rotation(function: Callable[..., Tensor], alpha: float, beta: float) -> bool:
    matrix = function(alpha, beta)
    kept = torch.dist(matrix.T @ matrix, torch.eye(2, dtype=torch.float64)) < 0.05
    return bool(kept and torch.linalg.det(matrix) > 0)


_transpose_check = function_check(
    _turned_back,
    _angle_pairs,
    mistakes=(
        KnownMistake(
            "sign",
            lambda alpha, beta: _rotation(alpha - beta),
            "That turns the right amount, the wrong way. Which of the two matrices is transposed, and what does "
            "transposing do to the signs of the sines?",
        ),
        KnownMistake(
            "no-transpose",
            lambda alpha, beta: _rotation(alpha + beta),
            "That is the product of the two rotations as they are. What does the transpose do to the first?",
        ),
        KnownMistake("one-rotation", lambda alpha, beta: _rotation(beta), "Only β turns here. Where is R_α?"),
        KnownMistake("one-rotation", lambda alpha, beta: _rotation(-alpha), "Only α turns here. Where is R_β?"),
        KnownMistake(
            "degrees",
            lambda alpha, beta: _rotation(math.radians(beta - alpha)),
            "The angles are in radians already, and sine and cosine take radians: nothing is to be converted.",
        ),
        KnownMistake(
            "swapped",
            lambda alpha, beta: _rotation(math.pi / 2 - (beta - alpha)),
            "Sine and cosine have changed places. For equal angles nothing is turned: what is your matrix then?",
        ),
    ),
    rules=(
        Rule(
            "no-rotation",
            _is_rotation,
            "Your matrix is no rotation: its columns should have length 1, stand at a right angle, and keep the sense "
            "of rotation. Look at the four signs, and at where the sines stand.",
        ),
    ),
    otherwise="It is a rotation, by another angle. Try α = 0, then β = 0, then α = β: what must come out each time?",
)

# rope-interleaved, mixed-layouts


def _frequencies(d: int) -> Tensor:
    return torch.tensor([10_000 ** (-2 * k / d) for k in range(d // 2)], dtype=torch.float64)


def _turned(x: Tensor, angles: Tensor, layout: str = "interleaved") -> Tensor:
    """x (T, d) with pair k of token t turned by angles[t, k]; angles (T, d/2)."""
    half = x.shape[1] // 2
    first, second = (x[:, 0::2], x[:, 1::2]) if layout == "interleaved" else (x[:, :half], x[:, half:])
    turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
    if layout == "interleaved":
        return torch.view_as_real(turned).flatten(1)
    return torch.cat((turned.real, turned.imag), dim=1)


def _rope(x: Tensor, positions: Tensor) -> Tensor:
    return _turned(x, positions[:, None] * _frequencies(x.shape[1]))


def _rope_half(x: Tensor, positions: Tensor) -> Tensor:
    return _turned(x, positions[:, None] * _frequencies(x.shape[1]), "half")


def _vectors_at_positions() -> Inputs:
    generator = torch.Generator().manual_seed(4)
    return [
        (
            torch.randn(length, d, dtype=torch.float64, generator=generator),
            torch.randint(1, 40, (length,), generator=generator),
        )
        for length, d in [(1, 4), (5, 8), (7, 16)]
    ]


def _rotated_by_halves(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=1)
    return torch.cat((-second, first), dim=1)


def _neighbours_angles_halves_rotated(x: Tensor, positions: Tensor) -> Tensor:
    angles = (positions[:, None] * _frequencies(x.shape[1])).repeat_interleave(2, dim=1)
    return x * angles.cos() + _rotated_by_halves(x) * angles.sin()


def _halves_angles_neighbours_rotated(x: Tensor, positions: Tensor) -> Tensor:
    angles = (positions[:, None] * _frequencies(x.shape[1])).repeat(1, 2)
    rotated = torch.stack((-x[:, 1::2], x[:, 0::2]), dim=2).flatten(1)
    return x * angles.cos() + rotated * angles.sin()


def _keeps_norms(function: Callable[..., Tensor], x: Tensor, positions: Tensor) -> bool:
    return bool((function(x, positions).norm(dim=1) - x.norm(dim=1)).abs().max() < 0.05)


_UNTURNED = KnownMistake("unrotated", lambda x, positions: x, "x comes back as it was. Where do the positions enter?")
_MIXED = (
    KnownMistake(
        "mixed",
        _neighbours_angles_halves_rotated,
        "The angles are laid out for neighbours, the vector is rotated by halves: each entry meets the angle of "
        "another pair. Print the angles beside the indices of the two that should share one.",
    ),
    KnownMistake(
        "mixed",
        _halves_angles_neighbours_rotated,
        "The angles are laid out for halves, the vector is rotated by neighbours. One of them has to follow the other: "
        "which layout is asked for?",
    ),
)
_NORMS = Rule(
    "norm",
    _keeps_norms,
    "The lengths change, so this is no rotation. In each pair the same angle belongs to both entries, and the two "
    "sines have opposite signs.",
)

_rope_check = function_check(
    _rope,
    _vectors_at_positions,
    mistakes=(
        KnownMistake(
            "sign",
            lambda x, positions: _rope(x, -positions),
            "Each pair turns clockwise. A positive angle takes (1, 0) towards (0, 1): look at the signs of the sines.",
        ),
        KnownMistake(
            "layout",
            _rope_half,
            "This turns the pairs (k, k + d/2). The question wants neighbours, (2k, 2k + 1).",
        ),
        KnownMistake(
            "concatenated",
            lambda x, positions: torch.cat((_rope(x, positions)[:, 0::2], _rope(x, positions)[:, 1::2]), dim=1),
            "The numbers are right and stand in the wrong places: all first entries, then all second ones. Put each "
            "pair back where it came from.",
        ),
        *_MIXED,
        KnownMistake(
            "exponent",
            lambda x, positions: _turned(x, positions[:, None] * _frequencies(x.shape[1]).sqrt()),
            "Your hands slow down too little from pair to pair. Compare the exponent of the last pair with "
            "(d − 2)/d: is a 2 lost?",
        ),
        KnownMistake(
            "exponent",
            lambda x, positions: _turned(x, positions[:, None] / _frequencies(x.shape[1])),
            "Your hands speed up from pair to pair. Which sign has the exponent of the base?",
        ),
        KnownMistake(
            "one-frequency",
            lambda x, positions: _turned(x, positions[:, None].double().expand(-1, x.shape[1] // 2)),
            "Every pair turns at the same speed. Each has a frequency of its own.",
        ),
        KnownMistake(
            "degrees",
            lambda x, positions: _turned(x, torch.deg2rad(positions[:, None] * _frequencies(x.shape[1]))),
            "The angles are radians already: nothing is to be converted.",
        ),
        KnownMistake(
            "swapped",
            lambda x, positions: _turned(x, math.pi / 2 - positions[:, None] * _frequencies(x.shape[1])),
            "Sine and cosine have changed places. What should position 0 do to x?",
        ),
        KnownMistake(
            "counted-from-one",
            lambda x, positions: _rope(x, positions + 1),
            "Every token is turned one step too far. Position 0 turns nothing.",
        ),
        KnownMistake(
            "index",
            lambda x, positions: _rope(x, torch.arange(len(positions))),
            "The rows are counted 0, 1, 2, … instead of taking the positions that are passed in.",
        ),
        _UNTURNED,
    ),
    rules=(_NORMS,),
    otherwise=(
        "Lengths are kept and the entries are others. Try one token at position 1 with x = (1, 0, 0, …): pair 0 turns "
        "by one radian. Then try x = (0, 0, 1, 0, …)."
    ),
)

_mixed_check = function_check(
    _rope_half,
    _vectors_at_positions,
    mistakes=(
        *_MIXED,
        KnownMistake(
            "layout",
            _rope,
            "A sound rotation of neighbours now, (2k, 2k + 1). The weights were trained with halves, (k, k + d/2).",
        ),
        KnownMistake(
            "sign",
            lambda x, positions: _rope_half(x, -positions),
            "Each pair turns clockwise now. The half that is negated: is it the one that moves to the front?",
        ),
        _UNTURNED,
    ),
    rules=(_NORMS,),
    otherwise=(
        "Lengths are kept and the entries are others. Try one token at position 1, d = 4 and x = (1, 0, 0, 0): only "
        "entries 0 and 2 may differ from zero."
    ),
)

# bfloat16-angles


def _cosines(positions: Tensor, d: int) -> Tensor:
    return (positions[:, None] * _frequencies(d)).cos()


def _far_positions() -> Inputs:
    generator = torch.Generator().manual_seed(4)
    return [(torch.randint(0, 5000, (20,), generator=generator), d) for d in (8, 64)]


def _right_near_the_start(function: Callable[..., Tensor], positions: Tensor, d: int) -> bool:
    near = positions % 4
    return bool((function(near, d) - _cosines(near, d)).abs().max() < 0.03)


_cosines_check = function_check(
    _cosines,
    _far_positions,
    tolerance=4e-3,  # twice the error of one rounding to bfloat16
    mistakes=(
        KnownMistake(
            "positions-cast",
            lambda positions, d: _cosines(positions.bfloat16().double(), d),
            "The positions are rounded. Print the integers from 250 to 260 in bfloat16.",
        ),
        KnownMistake(
            "angles-cast",
            lambda positions, d: (positions[:, None] * _frequencies(d)).bfloat16().double().cos(),
            "Positions are kept, the angles are rounded. An angle of 1000 radians needs more digits before the point "
            "than bfloat16 has in all, and the cosine sees what stands behind it.",
        ),
        KnownMistake(
            "frequencies-cast",
            lambda positions, d: (positions[:, None] * _frequencies(d).bfloat16().double()).cos(),
            "Positions are kept, the frequencies are rounded: an error of a thousandth there is multiplied by the "
            "position.",
        ),
        KnownMistake(
            "sine",
            lambda positions, d: (positions[:, None] * _frequencies(d)).sin(),
            "These are the sines. Position 0 has the cosine 1.",
        ),
        KnownMistake(
            "no-cosine",
            lambda positions, d: positions[:, None] * _frequencies(d),
            "These are the angles. Their cosines are asked for.",
        ),
    ),
    rules=(
        Rule(
            "from-the-start",
            _right_near_the_start,
            "Wrong at the first positions already: look at the frequencies, base^(−2k/d), before the number format.",
        ),
    ),
    otherwise=(
        "Right at the first positions and wrong further on: something is rounded before the cosine is taken. Print the "
        "dtype after every step."
    ),
)

# rotated-values, decode-offset


def _attended(q: Tensor, k: Tensor, v: Tensor, *, scale: float | None = None, causal: bool = False) -> Tensor:
    scores = q @ k.T * (1 / math.sqrt(q.shape[1]) if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -math.inf)
    weights = scores.exp()
    return weights / weights.sum(1, keepdim=True) @ v


def _attend(q: Tensor, k: Tensor, v: Tensor, positions: Tensor) -> Tensor:
    return _attended(_rope(q, positions), _rope(k, positions), v)


def _sentences() -> Inputs:
    generator = torch.Generator().manual_seed(4)
    return [
        (*torch.randn(3, length, 8, dtype=torch.float64, generator=generator), torch.arange(length) + start)
        for length, start in [(4, 0), (6, 3), (6, 20)]
    ]


_values_check = function_check(
    _attend,
    _sentences,
    mistakes=(
        KnownMistake(
            "values-rotated",
            lambda q, k, v, p: _attended(_rope(q, p), _rope(k, p), _rope(v, p)),
            "The values are still turned. Move the whole sentence by ten places: should its output change?",
        ),
        KnownMistake(
            "output-rotated",
            lambda q, k, v, p: _rope(_attend(q, k, v, p), p),
            "The output is turned by the query's position. Then it depends on the place again.",
        ),
        KnownMistake(
            "turned-back",
            lambda q, k, v, p: _rope(_attended(_rope(q, p), _rope(k, p), _rope(v, p)), -p),
            "You turn the values, and the output back by the query's position. That depends on offsets alone, but it "
            "is another function: each value still arrives turned by its offset.",
        ),
        KnownMistake(
            "nothing-rotated",
            lambda q, k, v, p: _attended(q, k, v),
            "Now nothing is turned, and attention is blind to order. One of the three was one too many, not all.",
        ),
        KnownMistake(
            "query-only",
            lambda q, k, v, p: _attended(_rope(q, p), k, v),
            "Only the query is turned: its score holds its own position, and not the offset.",
        ),
        KnownMistake(
            "key-only",
            lambda q, k, v, p: _attended(q, _rope(k, p), v),
            "Only the key is turned: its score holds its own position, and not the offset.",
        ),
        KnownMistake(
            "unscaled",
            lambda q, k, v, p: _attended(_rope(q, p), _rope(k, p), v, scale=1.0),
            "The rotation is right, and the division by √d got lost.",
        ),
    ),
    otherwise="Change one line of the broken function and leave the rest: which of the three is met by nothing?",
)


def _decode(q: Tensor, k: Tensor, v: Tensor, prompt: int) -> Tensor:
    at = torch.arange(len(q))
    return _attended(_rope(q, at), _rope(k, at), v, causal=True)


def _decoded_with(
    q_position: Callable[[int, int], int], k_position: Callable[[int, int], int] | None = None
) -> Callable[..., Tensor]:
    """Decoding that tells token t after a prompt these positions, for its query and for its key."""

    def decode(q: Tensor, k: Tensor, v: Tensor, prompt: int) -> Tensor:
        def places(position: Callable[[int, int], int]) -> Tensor:
            return torch.tensor([t if t < prompt else position(t, prompt) for t in range(len(q))])

        return _attended(_rope(q, places(q_position)), _rope(k, places(k_position or q_position)), v, causal=True)

    return decode


def _texts_with_prompts() -> Inputs:
    generator = torch.Generator().manual_seed(4)
    return [
        (*torch.randn(3, length, 8, dtype=torch.float64, generator=generator), prompt)
        for length, prompt in [(5, 2), (8, 3), (8, 6)]
    ]


_FROM_PROMPT = (
    "From the prompt's last token to the first new one is one step. In your code it is another number: print the "
    "position of both. "
)
_decode_check = function_check(
    _decode,
    _texts_with_prompts,
    mistakes=(
        KnownMistake(
            "one-too-many",
            _decoded_with(lambda t, prompt: t + 1),
            _FROM_PROMPT + "Is the new token counted before its own position is read?",
        ),
        KnownMistake(
            "one-too-few",
            _decoded_with(lambda t, prompt: t - 1),
            _FROM_PROMPT + "Two tokens share a place now. Positions count from 0.",
        ),
        KnownMistake(
            "restart",
            _decoded_with(lambda t, prompt: t - prompt),
            "The new tokens count from 0 again, beside the prompt. They continue it.",
        ),
        KnownMistake(
            "always-zero",
            _decoded_with(lambda t, prompt: 0),
            "Every new token stands at position 0. A step sees one token, and it is not the first one.",
        ),
        KnownMistake(
            "query-alone",
            _decoded_with(lambda t, prompt: t + 1, lambda t, prompt: t),
            "The key is at its place, the query one step further. A token's query and key share one position.",
        ),
        KnownMistake(
            "key-alone",
            _decoded_with(lambda t, prompt: t, lambda t, prompt: t + 1),
            "The query is at its place, the key one step further. A token's query and key share one position.",
        ),
    ),
    otherwise="Compare with the full causal pass, token by token: which is the first output that differs?",
)

EXERCISES = (
    Exercise(
        id="rope-dot-product",
        title="A score by hand",
        lesson="04",
        difficulty=1,
        minutes=5,
        hints=(
            "Must you turn both vectors? Look at which single angle the score depends on.",
            "Only the offset 5 − 3 matters: leave k where it is and turn q by that many steps of ω.",
            "Two steps of π/4 are a quarter turn, counter-clockwise. Where does it take q, and where is k?",
        ),
        check=_dot_product_check,
        solved="A quarter turn takes q onto k: only the offset 5 − 3 and ω decide, not 5 and 3 themselves.",
    ),
    Exercise(
        id="rotation-transpose",
        title="Two rotations leave their difference",
        lesson="04",
        difficulty=2,
        minutes=10,
        hints=(
            "Write both matrices out and multiply them, the first one transposed. Every entry has two terms.",
            "cos α cos β + sin α sin β is a cosine of one angle, and cos α sin β − sin α cos β is a sine. Of which?",
            "Transposing swaps the two sines. So which rotation is a transposed rotation, and what do two rotations "
            "one after the other do to their angles?",
        ),
        check=_transpose_check,
        solved="Transposing turns back, and angles add: what is left of two positions is their difference.",
    ),
    Exercise(
        id="rope-interleaved",
        title="RoPE from its definition",
        lesson="04",
        difficulty=3,
        minutes=20,
        hints=(
            "Make the d/2 frequencies first, then a table of angles with a row a token and a column a pair.",
            "x[:, 0::2] and x[:, 1::2] are the first and the second entries of all pairs. Turn them with one cosine "
            "and one sine table, as you would turn a single pair.",
            "torch.stack((first, second), dim=2).flatten(1) puts turned pairs back where they came from.",
        ),
        check=_rope_check,
        solved="Angles, two tables, one rotation in d/2 planes: that is all of RoPE.",
    ),
    Exercise(
        id="rotated-values",
        title="Find the bug: the output knows where it stands",
        lesson="04",
        difficulty=2,
        minutes=10,
        hints=(
            "Scores are safe: they see a turned query and a turned key. What else does a rotation touch here?",
            "A value is averaged and passed on. No second rotation meets it and takes the first one back.",
        ),
        check=_values_check,
        solved="Rotations cancel where two of them meet, and that is inside the score alone.",
    ),
    Exercise(
        id="mixed-layouts",
        title="Find the bug: it was called a rotation",
        lesson="04",
        difficulty=3,
        minutes=15,
        hints=(
            "Take d = 4 and write down which angle each of the four entries is multiplied with, and with which entry "
            "it is mixed.",
            "The function pairs entry k with entry k + d/2, so these two need the same angle.",
            "For d = 4 the angles must read θ₀, θ₁, θ₀, θ₁: the row of d/2 angles twice, one after the other.",
        ),
        check=_mixed_check,
        solved="Both layouts are right, each with its own order of angles. Mixed, they do not even keep a length.",
    ),
    Exercise(
        id="bfloat16-angles",
        title="Find the bug: two positions, one angle",
        lesson="04",
        difficulty=2,
        minutes=10,
        hints=(
            "Print the dtype and the largest value after each of the three steps: positions, angles, cosines.",
            "Only one of the three lies between −1 and 1, where bfloat16 is good enough.",
        ),
        check=_cosines_check,
        solved="Positions whole, angles in double precision, and the cast last: then only the cosine is rounded.",
    ),
    Exercise(
        id="decode-offset",
        title="Find the bug: the first new token",
        lesson="04",
        difficulty=4,
        minutes=20,
        hints=(
            "Print the position each key gets, for a prompt of 3 and 5 tokens in all.",
            "The new tokens agree among each other: their offsets are right. Which offsets are not?",
            "The new token's position is the number of tokens before it. When is the cache's length that number?",
        ),
        check=_decode_check,
        solved="A wrong offset shows only between the prompt and what follows it, so a test needs both.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="how-rope-works",
        text="How does RoPE put positions into attention?",
        choices=(
            "It adds a vector of the position to queries and keys",
            "It turns queries and keys by angles that grow with their position, so that a score sees the offset",
            "It turns the attention weights by the distance between query and key",
        ),
        right="It turns queries and keys by angles that grow with their position, so that a score sees the offset",
        explanation=(
            "A head of width d is read as d/2 planes. In plane k, a vector at position p is turned by p·ω_k, with "
            "ω_k = base^(−2k/d). In the dot product of a query at m and a key at n the two rotations leave one, by "
            "(n − m)ω_k: absolute rotations, a relative score. Lengths are kept, nothing is learned, values are left "
            "alone, and it happens in every layer."
        ),
        lesson="04",
        claim="R(α)ᵀ R(β) = R(β − α) on 500 drawn pairs of angles",
    ),
    InterviewQuestion(
        id="rope-decay",
        text="Does a RoPE score fall with distance?",
        choices=(
            "Yes, the paper proves it",
            "Not in general: it depends on the query and the key",
            "No, it rises with distance",
        ),
        right="Not in general: it depends on the query and the key",
        explanation=(
            "What the paper proves is a bound that trends down. For equal vectors the mean cosine trends down and "
            "oscillates; for independent ones with mean 0 the expected score is 0 at every distance; and a key can be "
            "built that scores highest at any distance you choose."
        ),
        lesson="04",
        claim="k = R₃₀₀ q scores highest at exactly 300 tokens",
    ),
    InterviewQuestion(
        id="rope-cache",
        text="You decode with a KV cache and RoPE. What has to be right about positions?",
        choices=(
            "Each key is turned once, at its own true position, and the frequencies never change afterwards",
            "All cached keys are turned again at every step, since distances have grown",
            "Keys are cached turned, and the new query is always at position 0",
        ),
        right="Each key is turned once, at its own true position, and the frequencies never change afterwards",
        explanation=(
            "A key's angle depends on its own position alone, so a turned key stays valid. The new query and key get "
            "the number of tokens before them as their position; one too few or too many changes every score between "
            "old and new. Schemes that change frequencies as the text grows leave the cached keys stale."
        ),
        lesson="04",
        claim="decoding with a cache of turned keys equals the full pass",
    ),
)

QUIZ = (
    Question(
        id="rotated",
        text="What does RoPE rotate?",
        choices=(
            "The embeddings, once, before the first layer",
            "Queries and keys, in every layer",
            "Queries, keys and values, in every layer",
        ),
        right="Queries and keys, in every layer",
        explanation=(
            "With q and k rotated, scores depend on the offset. Rotated values would leave the weighted sum turned by "
            "absolute positions: move the whole text by Δ and the output turns by Δω. Rotated embeddings "
            "would pass through the projections, which do not commute with the rotation in general."
        ),
    ),
    Question(
        id="shift",
        text="Query and key both move 7 positions to the right. What happens to their score?",
        choices=(
            "It stays the same",
            "It falls, for both are further from the start",
            "It turns by 7ω in every pair",
        ),
        right="It stays the same",
        explanation=(
            "In each pair (R_mω)ᵀ R_nω = R_(n−m)ω, so the score depends on m and n through n − m only. On a computer "
            "it stays the same up to rounding."
        ),
    ),
    Question(
        id="layouts",
        text=(
            "Weights trained with the half layout, pairs (i, i + d/2), run in code that rotates neighbours, pairs "
            "(0, 1), (2, 3) …, at head width 128. What happens?"
        ),
        choices=(
            "An error: the shapes do not fit",
            "Nothing: both layouts are the same function",
            "No error, and wrong scores",
        ),
        right="No error, and wrong scores",
        explanation=(
            "The layouts are one function only up to a fixed permutation of dimensions. Shapes fit and norms are "
            "kept, so nothing complains. Reorder the output rows of the projections of Q and K first."
        ),
    ),
    Question(
        id="cache",
        text="Frequencies are fixed and a new token arrives. What becomes of the rotated keys in the cache?",
        choices=(
            "They are rotated once more, for every distance has grown by one",
            "Nothing: each was rotated once, at its own position",
            "They are rotated back, so that only the new query carries a rotation",
        ),
        right="Nothing: each was rotated once, at its own position",
        explanation=(
            "The new query is rotated at its own, later position, and the score then holds the larger offset. "
            "Schemes that change the frequencies as the text grows break this: their cached keys go stale."
        ),
    ),
    Question(
        id="decay",
        text="q and k are drawn independently with mean 0. How does the expected RoPE score depend on distance?",
        choices=(
            "It falls with every step",
            "It falls on the whole, but oscillates",
            "It does not: it is 0 at every distance",
        ),
        right="It does not: it is 0 at every distance",
        explanation=(
            "The mean of qᵀRk is 0 for any rotation R, since q and k are independent with mean 0. For equal vectors "
            "with all pairs of one length the score falls on the whole and oscillates: at d = 128 and base 10 000 it "
            "is first negative at distance 1707. And a key can be built to score highest at a chosen distance."
        ),
    ),
)
