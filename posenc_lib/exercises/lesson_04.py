"""Lesson 4, RoPE: exercises and quiz."""

import cmath
import math
from typing import Any

from posenc_lib.exercises.exercise import (
    Exercise,
    KnownMistake,
    Question,
    WrongAnswer,
    raise_known_mistake,
    read_number,
)


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


def _check_dot_product(answer: Any) -> None:
    number = read_number(answer)
    if abs(number - _score(5, 3, _OMEGA)) <= 1e-3:
        return
    raise_known_mistake(number, _DOT_PRODUCT_MISTAKES)
    if abs(number) > 1:
        raise WrongAnswer(
            "too-long",
            "A score cannot exceed the product of the two lengths, and yours does. A rotation keeps lengths: does "
            "yours?",
        )
    raise WrongAnswer("other", "Turn q by 5ω and k by 3ω, write down both turned vectors, then take their dot product.")


EXERCISES = (
    Exercise(
        id="rope-dot-product",
        title="A score by hand",
        lesson="04",
        difficulty=1,
        minutes=5,
        question=(
            "With one pair of dimensions and ω = π/4, compute ⟨RoPE(q, 5), RoPE(k, 3)⟩ for q = [1, 0] and "
            "k = [0, 1], first by hand, then in code. The answer is a number."
        ),
        hints=(
            "Must you turn both vectors? Look at which single angle the score depends on.",
            "Only the offset 5 − 3 matters: leave k where it is and turn q by that many steps of ω.",
            "Two steps of π/4 are a quarter turn, counter-clockwise. Where does it take q, and where is k?",
        ),
        check=_check_dot_product,
        solved="A quarter turn takes q onto k: only the offset 5 − 3 and ω decide, not 5 and 3 themselves.",
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
