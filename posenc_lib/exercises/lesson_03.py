"""Lesson 3, the learned table: the quiz."""

from posenc_lib.exercises.exercise import Question

EXERCISES = ()

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
