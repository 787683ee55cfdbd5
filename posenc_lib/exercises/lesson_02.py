"""Lesson 2, the sinusoidal torus: interview questions and quiz."""

from posenc_lib.exercises.exercise import InterviewQuestion, Question

EXERCISES = ()

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
