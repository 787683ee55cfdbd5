"""Lesson 3, the learned table: interview questions and quiz."""

from posenc_lib.exercises.exercise import InterviewQuestion, Question

EXERCISES = ()

INTERVIEW = (
    InterviewQuestion(
        id="absolute-or-relative",
        text="What does a learned table of absolute positions cost you?",
        choices=(
            "Nothing: it can learn every shape a fixed encoding has",
            "An upper length, and rows that learn only from tokens that stand at their own position",
            "An extra table in every layer",
        ),
        right="An upper length, and rows that learn only from tokens that stand at their own position",
        explanation=(
            "The table is the most expressive choice and adds L·d numbers once. But a row gets a "
            "gradient only from tokens at its position: rare late positions stay near their start, "
            "nothing is shared between neighbours, and position L has no row. Relative methods learn or "
            "fix one thing for each offset, which every pair of tokens at that offset trains."
        ),
        lesson="03",
        claim="the gradient of a row that no token used is exactly 0",
    ),
    InterviewQuestion(
        id="longer-table",
        text="A model with a learned table of 512 rows must read 1024 tokens. What do you do first?",
        choices=(
            "Clamp positions at 511: the last row has learned what “far” means",
            "Interpolate the table to 1024 rows and tune for some steps",
            "Draw 512 new random rows and use the model as it is",
        ),
        right="Interpolate the table to 1024 rows and tune for some steps",
        explanation=(
            "Interpolation keeps both ends and puts each new row between two trained ones, as vision "
            "models do; a few steps of tuning repair most of the rest. Random rows were never trained, "
            "and clamping makes all later positions look alike. Say what it costs: what sat exactly on a "
            "row is now half-way between two."
        ),
        lesson="03",
        claim="40 steps of tuning bring lines of 8 to at least 97 in 100",
    ),
)

QUIZ = (
    Question(
        id="gradient",
        text="A table has 512 rows, and every text in the batch has 100 tokens. What gradient does row 300 get?",
        choices=(
            "Exactly 0",
            "A small one, through attention from the first 100 positions",
            "The mean of the others, since all rows share one table",
        ),
        right="Exactly 0",
        explanation=(
            "A row's gradient is the sum over the tokens that stand at its position, and no token stands at 300. "
            "Attention carries losses between tokens, but only to tokens that are there."
        ),
    ),
    Question(
        id="parameters",
        text="How many numbers does a learned table of 1024 rows add to a model of width 768?",
        choices=("1024", "768", "1024 · 768"),
        right="1024 · 768",
        explanation=(
            "One row of width 768 for each of 1024 positions: 786 432, under 1 % of GPT-2 small. It is added once, "
            "before the first layer, so the number of layers and heads does not enter."
        ),
    ),
    Question(
        id="negative",
        text="A left-padded batch makes some positions negative, and the code reads E[positions]. What happens?",
        choices=(
            "An IndexError names the position",
            "Rows from the end of the table are used, without an error",
            "Those tokens get a row of zeros",
        ),
        right="Rows from the end of the table are used, without an error",
        explanation=(
            "Plain indexing counts negative numbers from the end. Count real tokens instead, and park pads at 0, where "
            "the attention mask hides them."
        ),
    ),
    Question(
        id="better",
        text="Which statement about learned and sinusoidal encodings does the lesson's measurement support?",
        choices=(
            "A learned table is better, for it can hold any shape",
            "Sinusoidal is better, for it is defined at every position",
            "Which learns faster turned on the starting size, and neither was right at positions never trained",
        ),
        right="Which learns faster turned on the starting size, and neither was right at positions never trained",
        explanation=(
            "Started at deviation 0.02 the table was slower than sinusoidal, started at sinusoidal's size it was "
            "faster. Past the trained positions both fell far below what they reach inside: a defined row is not a "
            "trained one."
        ),
    ),
    Question(
        id="interpolation",
        text="When does interpolating a table from L rows to 2L keep the meaning of its rows?",
        choices=(
            "When a position means a share of the whole, as in an image at a higher resolution",
            "When a position is a count, as in a longer text",
            "Always: new rows lie between old ones",
        ),
        right="When a position means a share of the whole, as in an image at a higher resolution",
        explanation=(
            "Row p moves to about place 2p. The reader trained on lines of 4 then followed lines of 8. For a longer "
            "text that is the wrong rule, and tuning has to undo the stretch."
        ),
    ),
)
