"""Lesson 3, the learned table: exercises, interview questions and quiz."""

from collections.abc import Callable

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import choice_check, function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule

# table-row-gradient

_TOKENS = ((0, 2.0), (1, -1.0), (2, 3.0), (0, 1.0), (1, 5.0), (2, -2.0), (3, 6.0))  # position and gradient of each
_row_gradient_check = numbers_check(
    [sum(gradient for position, gradient in _TOKENS if position == row) for row in range(6)],
    mistakes=(
        KnownMistake(
            "columns",
            [1, 7, -3, 9, 0, 0],
            "You added up the columns of the batch. A row of the table belongs to a position, and the pad moves the "
            "first text's positions against its columns.",
        ),
        KnownMistake(
            "mean",
            [1.5, 2, 0.5, 6, 0, 0],
            "You took the mean over the tokens at a position. What does the chain rule do with several paths to one "
            "number?",
        ),
        KnownMistake(
            "batch-mean",
            [1.5, 2, 0.5, 3, 0, 0],
            "You divided by the number of texts. The gradients given are those of the loss; nothing is left to divide.",
        ),
        KnownMistake(
            "overwritten",
            [1, 5, -2, 6, 0, 0],
            "Only the last token at each position is left: the second text has overwritten the first. It is what "
            "grad[positions] += g does where a position occurs twice.",
        ),
        KnownMistake("one-text", [2, -1, 3, 0, 0, 0], "That is the first text alone. Both texts use the table."),
        KnownMistake("one-text", [1, 5, -2, 6, 0, 0], "That is the second text alone. Both texts use the table."),
        KnownMistake(
            "visits",
            [2, 2, 2, 1, 0, 0],
            "You counted tokens. Each of them brings its own gradient.",
        ),
        KnownMistake(
            "step",
            [-3, -4, -1, -6, 0, 0],
            "That is the way a step of gradient descent goes. The gradient itself is asked for.",
        ),
    ),
    rules=(
        Rule(
            "unvisited",
            lambda gradient: bool((gradient()[4:].abs() < 1e-3).all()),
            "A row where no token stands has a gradient as well. How many terms has its sum?",
        ),
    ),
    otherwise="Write each token's position beside its gradient, then collect the gradients of each position.",
)

# unvisited-row

_unvisited_check = choice_check(
    "abc",
    ("b", (1 - 1e-3 * 0.1) ** 20_000),
    mistakes=(
        KnownMistake(
            "gradient-alone",
            "a",
            "The gradient is 0, that much is right. Is the gradient all that moves a weight in AdamW?",
        ),
        KnownMistake(
            "normalised",
            "c",
            "A step of the learning rate each time is what Adam gives to a gradient of constant sign. Here gradient "
            "and running mean are both 0, and 0 over a small ε is 0.",
        ),
        KnownMistake("unchanged", 1.0, "By your number nothing happened. Your reason says that something does."),
        KnownMistake(
            "one-factor-missing",
            0.0,
            "Nothing is left, you say: then a single step takes too much. Which two numbers are multiplied in it?",
        ),
        KnownMistake(
            "subtracted",
            1 - 20_000 * 1e-4,
            "You took the same amount away each step, and went below zero. Each step takes a share of what is left.",
        ),
        KnownMistake(
            "what-went",
            1 - (1 - 1e-4) ** 20_000,
            "That share is lost. What remains is asked for.",
        ),
        KnownMistake(
            "percent",
            100 * (1 - 1e-4) ** 20_000,
            "In per cent, it seems. The factor itself is asked for, a number between 0 and 1.",
        ),
    ),
    otherwise="Let a program take the steps, on a table of two rows of which one is never used, and compare lengths.",
)

# wrapped-row


def _added_at(place: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """x plus the rows that `place` gives to the tokens of a mask; a negative place wraps, as in plain indexing."""
    return lambda x, mask, table: x + table[place(mask)]


def _real_before(mask: Tensor) -> Tensor:
    """How many real tokens stand before each token; 0 for a pad."""
    before = mask[:, None, :] * torch.ones(mask.shape[1], mask.shape[1], dtype=torch.long).tril(-1)
    return before.sum(-1) * mask


def _columns(mask: Tensor) -> Tensor:
    return torch.arange(mask.shape[1]).expand_as(mask)


def _less_pads(mask: Tensor) -> Tensor:
    return _columns(mask) - (1 - mask).sum(1, keepdim=True)


def _padded_batches() -> Inputs:
    generator = torch.Generator().manual_seed(3)
    masks = ([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0]], [[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 1]])
    return [
        (
            torch.randn(len(mask), len(mask[0]), 4, dtype=torch.float64, generator=generator),
            torch.tensor(mask),
            torch.randn(12, 4, dtype=torch.float64, generator=generator),
        )
        for mask in masks
    ]


def _some_real_token_wrong(function: Callable[..., Tensor], x: Tensor, mask: Tensor, table: Tensor) -> bool:
    error = function(x, mask, table) - _added_at(_real_before)(x, mask, table)
    return bool(error[mask == 1].abs().max() > 0.1)


_wrapped_check = function_check(
    _added_at(_real_before),
    _padded_batches,
    mistakes=(
        KnownMistake(
            "wrapped",
            _added_at(_less_pads),
            "Some real tokens still get rows from the end of the table. Print the positions of a text with two pads "
            "behind it.",
        ),
        KnownMistake(
            "clamped",
            _added_at(lambda mask: _less_pads(mask).clamp(min=0)),
            "No position is negative any more, and several real tokens of one text now share row 0: the symptom is "
            "gone, the cause is not. Where do pads stand in the texts that go wrong?",
        ),
        KnownMistake(
            "columns",
            _added_at(_columns),
            "You count columns. Behind three pads the first real token then gets row 3.",
        ),
        KnownMistake(
            "counted-from-one",
            _added_at(lambda mask: mask.cumsum(1) * mask),
            "The first real token gets row 1. A token's position is the number of real tokens before it.",
        ),
        KnownMistake(
            "counted-from-one",
            _added_at(lambda mask: mask.cumsum(1)),
            "The first real token gets row 1. A token's position is the number of real tokens before it.",
        ),
        KnownMistake(
            "pad-wrapped",
            _added_at(lambda mask: mask.cumsum(1) * mask - 1),
            "The real tokens are right. Your pads stand at −1: which row does plain indexing take for that?",
        ),
        KnownMistake(
            "pad-wrapped",
            _added_at(lambda mask: mask.cumsum(1) - 1),
            "The real tokens are right. Pads in front stand at −1: which row does plain indexing take for that?",
        ),
        KnownMistake(
            "other-row-for-pads",
            _added_at(lambda mask: (mask.cumsum(1) - 1).clamp(min=0)),
            "The real tokens are right. Pads behind the text get the row of its last token, and row 0 is asked for.",
        ),
        KnownMistake(
            "no-row-for-pads",
            lambda x, mask, table: x + table[_real_before(mask)] * mask[..., None],
            "The real tokens are right. The pads get nothing added, and row 0 is asked for.",
        ),
        KnownMistake("nothing-added", lambda x, mask, table: x, "x comes back as it was. Where does the table enter?"),
    ),
    rules=(
        Rule(
            "pads-only",
            _some_real_token_wrong,
            "All real tokens are right. Look at the pads: each of them gets row 0.",
        ),
    ),
    otherwise="Take a text of two letters, without pads, then with a pad in front, then behind. Which rows are added?",
)

# stretched-grid

Size = tuple[int, int]
Places = Callable[[int, int], Tensor]


def _between_neighbours(places: Tensor, count: int) -> Tensor:
    """Row j holds the shares of the old places 0 … count − 1 in a new one at places[j]."""
    return (1 - (places[:, None] - torch.arange(count)).abs()).clamp(min=0)


def _end_to_end(old: int, new: int) -> Tensor:
    return torch.arange(new, dtype=torch.float64) * (old - 1) / (new - 1)


def _nearest(old: int, new: int) -> Tensor:
    return _end_to_end(old, new).round()


def _resampled(down: Places, across: Places) -> Callable[..., Tensor]:
    """A grid of rows stretched in both directions, each by where (old, new) puts the new places among the old."""

    def stretch(table: Tensor, old: Size, new: Size) -> Tensor:
        rows = _between_neighbours(down(old[0], new[0]), old[0])
        columns = _between_neighbours(across(old[1], new[1]), old[1])
        return torch.einsum("ia,jb,abd->ijd", rows, columns, table.view(*old, -1)).flatten(0, 1)

    return stretch


_stretched = _resampled(_end_to_end, _end_to_end)


def _half_pixels(old: int, new: int) -> Tensor:
    return ((torch.arange(new, dtype=torch.float64) + 0.5) * old / new - 0.5).clamp(0, old - 1)


def _open_ended(old: int, new: int) -> Tensor:
    return (torch.arange(new, dtype=torch.float64) * old / new).clamp(max=old - 1)


def _grids() -> Inputs:
    generator = torch.Generator().manual_seed(3)
    sizes = [((2, 3), (3, 5)), ((3, 2), (4, 5)), ((4, 3), (7, 6)), ((5, 4), (3, 3))]
    return [(torch.randn(old[0] * old[1], 4, dtype=torch.float64, generator=generator), old, new) for old, new in sizes]


def _corners(rows: Tensor, width: int) -> Tensor:
    return rows[[0, width - 1, len(rows) - width, len(rows) - 1]]


def _keeps_corners(function: Callable[..., Tensor], table: Tensor, old: Size, new: Size) -> bool:
    moved = _corners(function(table, old, new), new[1]) - _corners(table, old[1])
    return bool(moved.abs().max() < 0.05)


def _stays_in_range(function: Callable[..., Tensor], table: Tensor, old: Size, new: Size) -> bool:
    result = function(table, old, new)
    return bool(((result < table.amax(0) + 0.05) & (result > table.amin(0) - 0.05)).all())


_grid_check = function_check(
    _stretched,
    _grids,
    mistakes=(
        KnownMistake(
            "flattened",
            lambda table, old, new: _between_neighbours(_end_to_end(len(table), new[0] * new[1]), len(table)) @ table,
            "You stretched the list of rows. In it the end of one line of patches stands beside the start of the next, "
            "and your new rows mix the two. Give the table its two directions back first.",
        ),
        KnownMistake(
            "half-pixel",
            _resampled(_half_pixels, _half_pixels),
            "Your patches are areas whose middles lie half a patch inside the picture. Here the outermost patches keep "
            "their rows: the first goes to the first, the last to the last.",
        ),
        KnownMistake(
            "open-end",
            _resampled(_open_ended, _open_ended),
            "Along each direction the last new row should be the last old one, and yours is not. Count the steps "
            "between patches, not the patches.",
        ),
        KnownMistake(
            "nearest",
            _resampled(_nearest, _nearest),
            "Each new row is a copy of the nearest old one. Between two old rows lie mixtures of them.",
        ),
        KnownMistake(
            "one-direction",
            _resampled(_nearest, _end_to_end),
            "Along a line of patches you mix neighbours, from line to line you copy. Both directions are stretched "
            "alike.",
        ),
        KnownMistake(
            "one-direction",
            _resampled(_end_to_end, _nearest),
            "From line to line you mix neighbours, along a line you copy. Both directions are stretched alike.",
        ),
        KnownMistake(
            "sides-swapped",
            lambda table, old, new: _stretched(table, old[::-1], new[::-1]),
            "Height and width have changed places: the sizes are (lines, patches in a line), and the table lists line "
            "after line.",
        ),
        KnownMistake(
            "column-order",
            lambda table, old, new: _stretched(table, old, new).view(*new, -1).transpose(0, 1).flatten(0, 1),
            "The numbers are right and stand in another order: column after column. Line after line is asked for.",
        ),
    ),
    rules=(
        Rule(
            "corners",
            _keeps_corners,
            "The four corners of the picture should keep their rows. Which new places are they, and where do you put "
            "them among the old ones?",
        ),
        Rule(
            "outside",
            _stays_in_range,
            "Corners are kept, but some entries leave the range of the old ones: shares of a mixture lie between 0 and "
            "1 and sum to 1.",
        ),
    ),
    otherwise="Corners are kept. Try a 2 × 2 grid stretched to 3 × 3: what should stand in its middle?",
)

EXERCISES = (
    Exercise(
        id="table-row-gradient",
        title="Who moves a row",
        lesson="03",
        difficulty=1,
        minutes=5,
        hints=(
            "The proof in section 2 says which tokens a row's gradient is made of. What does it do with them?",
            "Sort the tokens by position, not by column. The pad stands at position 0 as well: what does it bring?",
        ),
        check=_row_gradient_check,
        solved="A row's gradient is the sum over the tokens at its position; with none it is exactly 0.",
    ),
    Exercise(
        id="unvisited-row",
        title="Predict and measure: a row nobody visits",
        lesson="03",
        difficulty=2,
        minutes=10,
        hints=(
            "Section 2 has one step of AdamW on a row without tokens. Here it is done many times.",
            "Whatever a step does to the row, it does it 20 000 times. Does it take an amount, or a share?",
            "If a step multiplies by 1 − x, n of them multiply by nearly e^(−nx): enough to check a number on paper.",
        ),
        check=_unvisited_check,
        solved="Weight decay needs no gradient: rows past your texts shrink step by step, and learn nothing.",
    ),
    Exercise(
        id="wrapped-row",
        title="Find the bug: rows from the far end",
        lesson="03",
        difficulty=3,
        minutes=15,
        hints=(
            "Print `positions` for each of the two batches.",
            "Subtracting the number of pads is right for one side of padding only. What is a position a count of?",
            "A running sum over the mask counts the real tokens so far, the present one included.",
        ),
        check=_wrapped_check,
        solved="A position is the number of real tokens before it; a negative one wraps, and no error says so.",
    ),
    Exercise(
        id="stretched-grid",
        title="Stretch the table of a picture",
        lesson="03",
        difficulty=3,
        minutes=20,
        hints=(
            "Two directions, one after the other: first make each line of patches longer, then add lines.",
            "Where lies new patch j among h old ones, if first stays first and last stays last? See section 8.",
            "A view as (h, w, d) gives the table its two directions; the one-dimensional formula works along any of "
            "them once that one is in front.",
        ),
        check=_grid_check,
        solved="Stretching is done direction by direction: a table of patches is a grid, not a list.",
    ),
)

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
            "and clamping makes all later positions look alike. Say what it costs: every old row now stands at "
            "about twice its place. In a text a place is a count, so tuning has to undo that."
        ),
        lesson="03",
        claim="the same 40 steps leave lines of 4 at least 5 in 100 behind",
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
