"""Lesson 8, the bake-off: exercises, interview questions and quiz. What was measured is read when an answer comes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from posenc_lib.exercises.comparisons import choice_check, function_check, numbers_check
from posenc_lib.exercises.exercise import Exercise, Inputs, InterviewQuestion, KnownMistake, Question, Rule
from posenc_lib.tiny_lm import stored_results

# parameters-by-hand: learned table, T5, KERPLE, RoPE, ALiBi at width 768, 12 heads, 12 layers, windows of 1024

_parameters_check = numbers_check(
    [1024 * 768, 32 * 12, 2 * 12, 0, 0],
    tolerance=0.5,
    mistakes=(
        KnownMistake(
            "every-layer",
            [1024 * 768, 12 * 32 * 12, 12 * 2 * 12, 0, 0],
            "The biases are counted in each of the 12 layers. Here all layers share one encoding.",
        ),
        KnownMistake(
            "one-head",
            [1024 * 768, 32, 2, 0, 0],
            "The biases are counted for one head. Every head has numbers of its own.",
        ),
        KnownMistake(
            "formulas-counted",
            [1024 * 768, 32 * 12, 2 * 12, 768 // 12 // 2, 12],
            "Frequencies and slopes are numbers, but nobody learns them: they come from formulas.",
        ),
    ),
    rules=(
        Rule(
            "table",
            lambda numbers: abs(numbers()[0] - 1024 * 768) < 0.5,
            "Look at the learned table: a row for each position, as wide as what it is added to.",
        ),
        Rule(
            "buckets",
            lambda numbers: abs(numbers()[1] - 32 * 12) < 0.5,
            "Look at T5's biases: one number for each bucket and each head. A window's length does not enter.",
        ),
        Rule(
            "kernels",
            lambda numbers: abs(numbers()[2] - 2 * 12) < 0.5,
            "Look at KERPLE's kernel: how many numbers has it, and how many heads have one of their own?",
        ),
    ),
    otherwise="The first three are right. What do RoPE and ALiBi learn?",
)

# sliding-window


def _mean_from(start: Callable[[Tensor, int, int], Tensor]) -> Callable[[Tensor, int, int], Tensor]:
    """The mean of losses whose window starts where `start` says, for each character."""

    def mean(loss: Tensor, window: int, stride: int) -> Tensor:
        characters = torch.arange(len(loss))
        return loss[characters, start(characters, window, stride)].mean()

    return mean


def _window_start(i: Tensor, window: int, stride: int) -> Tensor:
    return ((i - window) // stride + 1).clamp(min=0) * stride


_sliding = _mean_from(_window_start)


def _every_place(loss: Tensor, window: int, stride: int) -> Tensor:
    starts = range(0, len(loss) - window + 1, stride)
    return torch.stack([loss[start : start + window, start].mean() for start in starts]).mean()


def _last_strides(loss: Tensor, window: int, stride: int) -> Tensor:
    start = _window_start(torch.arange(len(loss)), window, stride)
    return loss[torch.arange(len(loss)), start][window - stride :].mean()


def _first_window_left_out(loss: Tensor, window: int, stride: int) -> Tensor:
    start = _window_start(torch.arange(len(loss)), window, stride)
    return loss[torch.arange(len(loss)), start][window:].mean()


def _texts_to_read() -> Inputs:
    generator = torch.Generator().manual_seed(8)
    draws = []
    for length, window, stride in [(12, 4, 4), (18, 8, 2), (20, 8, 4), (9, 3, 1)]:
        loss = 3 * torch.rand(length, length, dtype=torch.float64, generator=generator)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        draws.append((loss.masked_fill(later, 50), window, stride))
    return draws


def _counts_each_once(function: Callable[..., Tensor], loss: Tensor, window: int, stride: int) -> bool:
    one_character = torch.eye(len(loss), dtype=torch.float64)[:, :, None].expand(-1, -1, len(loss))
    shares = torch.stack([function(row, window, stride) for row in one_character])
    return bool((shares - 1 / len(loss)).abs().max() < 1e-3)


_sliding_check = function_check(
    _sliding,
    _texts_to_read,
    tolerance=1e-3,
    mistakes=(
        KnownMistake(
            "side-by-side",
            _mean_from(lambda i, window, stride: i // window * window),
            "These windows stand side by side: each starts where the last one ended. Move on by the stride.",
        ),
        KnownMistake(
            "side-by-side",
            _mean_from(lambda i, window, stride: i // stride * stride),
            "These are windows as long as the stride, side by side. A character sees more than that.",
        ),
        KnownMistake(
            "every-place",
            _every_place,
            "Every place of every window counts here, so most characters count several times, and early places too.",
        ),
        KnownMistake(
            "start-left-out",
            _last_strides,
            "Of the first window only the end counts here. Its early characters are in no other window.",
        ),
        KnownMistake(
            "start-left-out",
            _first_window_left_out,
            "The first window is left out: its characters stand in no other one's end.",
        ),
        KnownMistake(
            "slides-by-one",
            _mean_from(lambda i, window, stride: (i - window + 1).clamp(min=0)),
            "This slides by one: every character sees a full window. Where is the stride?",
        ),
        KnownMistake(
            "whole-text",
            _mean_from(lambda i, window, stride: torch.zeros_like(i)),
            "Every character sees the whole text from its beginning. Where does its window start?",
        ),
        KnownMistake(
            "one-late",
            _mean_from(lambda i, window, stride: _window_start(i + 1, window, stride).minimum(i)),
            "A window moves on one character too early. A window of 4 from 0 holds the characters 0, 1, 2 and 3.",
        ),
        KnownMistake(
            "one-late",
            _mean_from(lambda i, window, stride: _window_start(i - 1, window, stride)),
            "A window moves on one character too late. A window of 4 from 0 holds the characters 0, 1, 2 and 3.",
        ),
        KnownMistake(
            "transposed",
            lambda loss, window, stride: _sliding(loss.T, window, stride),
            "Rows and columns are swapped: you read the loss of the window's first character, given later ones.",
        ),
        KnownMistake(
            "sum",
            lambda loss, window, stride: _sliding(loss, window, stride) * len(loss),
            "That is the sum. A mean over all characters is asked for.",
        ),
    ),
    rules=(
        Rule(
            "not-once",
            _counts_each_once,
            "Not every character counts once. Which of them does each window add, and which were counted before?",
        ),
    ),
    otherwise=(
        "Every character counts once, and some see a wrong window. Write down, for 8 characters, a window of 4 and a "
        "stride of 2, where each character's window starts."
    ),
)

# told-apart

Losses = Sequence[float]


def _mean(losses: Losses) -> float:
    return sum(losses) / len(losses)


def _spread(losses: Losses) -> float:
    return max(losses) - min(losses)


def _told_apart(a: Losses, b: Losses) -> int:
    return int(max(a) < min(b)) - int(max(b) < min(a))


def _sign(difference: float, at_least: float = 0) -> int:
    return int(difference > at_least) - int(-difference > at_least)


def _results() -> Inputs:
    return [
        ([1.24, 1.25, 1.27], [1.31, 1.29, 1.35]),
        ([1.42, 1.40, 1.41], [1.30, 1.26, 1.39]),
        ([1.20, 1.42, 1.43], [1.29, 1.30, 1.31]),
        ([1.20, 1.30, 1.26], [1.22, 1.33, 1.28]),
        ([1.10, 1.50, 1.11], [1.51, 1.60, 1.52]),
        ([1.30, 1.20, 1.25], [1.30, 1.40, 1.35]),
        ([1.20, 1.21, 1.29], [1.28, 1.30, 1.60]),
        ([1.2, 1.3], [1.1, 1.0, 1.15, 1.19, 1.05]),
        ([1.35, 1.36, 1.34], [1.20, 1.22, 1.345]),
    ]


_told_apart_check = function_check(
    _told_apart,
    _results,
    mistakes=(
        KnownMistake(
            "means",
            lambda a, b: _sign(_mean(b) - _mean(a)),
            "That compares means. Two means are never quite equal, however much the seeds differ among each other.",
        ),
        KnownMistake(
            "best-seed",
            lambda a, b: _sign(min(b) - min(a)),
            "That compares the best seeds. With enough seeds either of two equals has the best one.",
        ),
        KnownMistake(
            "pairs-of-seeds",
            lambda a, b: (
                int(all(x < y for x, y in zip(a, b, strict=False)))
                - int(all(x > y for x, y in zip(a, b, strict=False)))
            ),
            "That compares seed by seed. Every seed of one is to be compared with every seed of the other.",
        ),
        KnownMistake(
            "higher-is-better",
            lambda a, b: _told_apart(b, a),
            "The other way round: these are losses, and the lower is the better one.",
        ),
        KnownMistake(
            "which-way",
            lambda a, b: abs(_told_apart(a, b)),
            "Told apart, yes. But which of the two is better?",
        ),
        KnownMistake(
            "half-spread",
            lambda a, b: _sign(_mean(b) - _mean(a), (_spread(a) + _spread(b)) / 2),
            "Half of the spread on either side of the mean is not where the seeds lie when one of them stands out. Use "
            "the losses themselves.",
        ),
        KnownMistake(
            "mean-against-spread",
            lambda a, b: _sign(_mean(b) - _mean(a), max(_spread(a), _spread(b))),
            "The means differ by more than either spread. That is another rule than the one asked for.",
        ),
        KnownMistake(
            "ties",
            lambda a, b: int(max(a) <= min(b)) - int(max(b) <= min(a)),
            "Where the worst of one equals the best of the other, it has not beaten it.",
        ),
        KnownMistake(
            "one-direction",
            lambda a, b: int(max(a) < min(b)),
            "Only one of the two can win here. What if b is better in each seed?",
        ),
    ),
    rules=(
        Rule(
            "not-fair",
            lambda function, a, b: bool(function(a, b) == -function(b, a)),
            "Swap a and b: the answer should change its sign, and does not.",
        ),
    ),
    otherwise="Try two sets that do not overlap, then two that do. When can every one of a be below every one of b?",
)

# passed-by-chance


def _seeds_needed(chance: Callable[[int], float]) -> int:
    return next(n for n in range(1, 50) if chance(n) < 0.01)


def _by_chance(n: int) -> float:
    """Of all ways to choose which of 2n ranks belong to one encoding, those with all n of them at one end."""
    return 2 / math.comb(2 * n, n)


def _numbers_for(chance: Callable[[int], float]) -> list[float]:
    return [_seeds_needed(chance), 28 * chance(3)]


_chance_check = numbers_check(
    _numbers_for(_by_chance),
    mistakes=(
        KnownMistake(
            "one-direction",
            _numbers_for(lambda n: _by_chance(n) / 2),
            "That is the chance that the first one wins. The second one may win by chance as well.",
        ),
        KnownMistake(
            "pairs-of-seeds",
            _numbers_for(lambda n: 2 * 0.5**n),
            "That compares seed by seed, as n tosses of a coin. Every seed of one must beat every seed of the other.",
        ),
        KnownMistake(
            "pairs-of-seeds",
            _numbers_for(lambda n: 2 * 0.5 ** (n * n)),
            "The n² comparisons are no separate tosses of a coin: if a loss is below one, it is likely below others.",
        ),
        KnownMistake(
            "orders-within",
            _numbers_for(lambda n: 2 / math.factorial(2 * n)),
            "Among n seeds of one encoding any order will do: only which places belong to which encoding matters.",
        ),
        KnownMistake(
            "in-all", [2 * _seeds_needed(_by_chance), 28 * _by_chance(3)], "Seeds in all, or for each encoding?"
        ),
        KnownMistake(
            "ordered-pairs",
            [_seeds_needed(_by_chance), 56 * _by_chance(3)],
            "The first number is right. The second counts each pair twice: eight encodings have 28.",
        ),
        KnownMistake(
            "chance",
            [_seeds_needed(_by_chance), _by_chance(3)],
            "The first number is right. The second is the chance for one pair; there are 28.",
        ),
        KnownMistake(
            "off-by-one",
            [_seeds_needed(_by_chance) - 1, 28 * _by_chance(3)],
            "The second number is right. With one seed fewer the chance is still above 0.01.",
        ),
    ),
    rules=(
        Rule(
            "seeds",
            lambda numbers: abs(numbers()[0] - _seeds_needed(_by_chance)) < 1e-3,
            "Look at the first number. Sort all 2n losses: which encodings do the n lowest belong to, and in how many "
            "ways can that come out?",
        ),
    ),
    otherwise="The first number is right. For the second: the chance at three seeds, times the number of pairs.",
)

# encoding-for-the-job


def _losses(name: str, length: int = 2048, part: str = "last_32") -> list[float]:
    return stored_results("bake_off")["encodings"][name]["text"][part][str(length)]["seeds"]


def _check_job(answer: Any) -> None:
    ours, rivals = _losses("alibi"), [_losses(name) for name in ("rope", "t5", "sinusoidal")]
    nearest, farthest = min(rivals, key=min), max(rivals, key=min)
    right = "The encoding is right. "
    choice_check(
        "abcd",
        ("b", min(nearest) - max(ours)),
        tolerance=5e-3,
        mistakes=(
            KnownMistake(
                "popular",
                "a",
                "Most open models use it, and extend it by tuning, which this job does not allow. Look at its loss at "
                "256 and on.",
            ),
            KnownMistake(
                "good-at-home",
                "c",
                "Good at 128. All far keys share its last bucket, and a longer window has more of them: look at 1024 "
                "and 2048.",
            ),
            KnownMistake(
                "defined-everywhere",
                "d",
                "Its formula holds for every position, and the model has been trained on 128 of them. Look at 256.",
            ),
            KnownMistake(
                "means",
                _mean(nearest) - _mean(ours),
                right + "That is the difference of the means. Which of your seeds does worst, and which rival best?",
            ),
            KnownMistake(
                "best-seed",
                max(nearest) - min(ours),
                right + "That is the largest margin between two seeds, your best against the rival's worst.",
            ),
            KnownMistake(
                "whole",
                min(_losses("t5", part="whole")) - max(_losses("alibi", part="whole")),
                right + "The number is a mean over whole windows, early places and all. Look at the last 32.",
            ),
            KnownMistake(
                "another-rival",
                min(farthest) - max(ours),
                right + "That rival is the farthest behind. The nearest one decides.",
            ),
            KnownMistake(
                "at-home",
                min(_losses("t5", 128)) - max(_losses("alibi", 128)),
                right + "That is the margin at 128, the trained window. The job is to read 2048.",
            ),
            KnownMistake(
                "level", max(ours), right + "That is a loss. By how much is it below the nearest rival's best?"
            ),
        ),
        otherwise=right + "At 2048, last 32 characters: the lowest loss among the seeds of the other three, less the "
        "highest among those of yours.",
    )(answer)


EXERCISES = (
    Exercise(
        id="parameters-by-hand",
        title="What each encoding adds",
        lesson="08",
        difficulty=1,
        minutes=5,
        hints=(
            "A learned table holds a vector for each position. A bias holds a few numbers for each head.",
            "T5 has one number a bucket and head, KERPLE two a head. What of the other two comes from a formula?",
        ),
        check=_parameters_check,
        solved="Only the learned table grows with the window, and even that is little beside the model.",
    ),
    Exercise(
        id="sliding-window",
        title="Windows that slide",
        lesson="08",
        difficulty=3,
        minutes=20,
        hints=(
            "Which characters does the first window add to the mean, and which does the second add to these?",
            "Go window by window: starts 0, stride, 2·stride, …; the first adds its `window` characters, each other "
            "one those from start + window − stride to start + window − 1.",
            "Collect loss[i, start] for the characters that each window adds, and take one mean at the end.",
        ),
        check=_sliding_check,
        solved="Each character counts once, and only those of the first window pay for having little before them.",
    ),
    Exercise(
        id="told-apart",
        title="Larger than the seeds' spread",
        lesson="08",
        difficulty=2,
        minutes=10,
        hints=(
            "Which single loss of a, and which of b, decide whether every one of a is below every one of b?",
            "The worst of one against the best of the other, in both directions.",
        ),
        check=_told_apart_check,
        solved="The worst of one against the best of the other: no mean, and no lucky seed, decides.",
    ),
    Exercise(
        id="passed-by-chance",
        title="Told apart by chance",
        lesson="08",
        difficulty=3,
        minutes=15,
        hints=(
            "If the two are equal, every order of the 2n losses is as likely as any other.",
            "Only which n of the 2n places belong to the first encoding matters. How many choices are there, and how "
            "many of them have all n at one end?",
            "Count the choices for n = 3, then for larger n, until two of them are less than a hundredth of all.",
        ),
        check=_chance_check,
        solved="With three seeds one pair of equals in ten passes; a comparison of many pairs will find a few.",
    ),
    Exercise(
        id="encoding-for-the-job",
        title="The right encoding for a job, with its number",
        lesson="08",
        difficulty=4,
        minutes=15,
        hints=(
            "Print the last 32 characters' losses of the four, at 128 and at 2048. Which hold?",
            'The losses of all seeds are in measured[name]["text"]["last_32"]["2048"]["seeds"].',
            "The margin is the lowest of the rivals' losses less the highest of your encoding's.",
        ),
        check=_check_job,
        solved="It holds in every seed. That the text far back is used is another question, with another measurement.",
    ),
)

INTERVIEW = (
    InterviewQuestion(
        id="best-for-long-context",
        text="Which positional encoding is best for long context?",
        choices=(
            "ALiBi: its loss stays flat at any length",
            "None by itself: say whether far text must be found or only survived, and measure that",
            "RoPE: its scores depend on offsets alone, so it reads any length",
        ),
        right=("None by itself: say whether far text must be found or only survived, and measure that"),
        explanation=(
            "Biases that go on falling with distance held here, untuned, to 16 times the trained length, which is "
            "enough for fluent text; survival is no use of what stands far back. RoPE breaks raw, and its recall "
            "breaks in a long window even at distances that were trained; stretched and tuned on longer text it is "
            "what most open models use. So name the job, and measure recall by distance beside the loss."
        ),
        lesson="08",
        claim="in a window of 512 RoPE no longer finds it at the same distance: under 0.2, in each seed",
    ),
    InterviewQuestion(
        id="far-text-used",
        text="How do you find out whether a model uses text far back?",
        choices=(
            "Look how much attention goes there",
            "Put other text in its place, or ask for something that stands only there",
            "See whether the mean loss falls with longer windows",
        ),
        right="Put other text in its place, or ask for something that stands only there",
        explanation=(
            "Attention may go to far keys and average to nothing. A mean over windows side by side falls with their "
            "length because fewer characters stand at a window's start. Change the far text and keep the characters "
            "that are predicted: a loss that does not move says that it was not used. Or plant a key that only a look "
            "back can predict, and score it by distance."
        ),
        lesson="08",
        claim=(
            "ALiBi and KERPLE's logarithm use next to no far text: other text before the last 128 characters costs "
            "under 0.05 nats"
        ),
    ),
    InterviewQuestion(
        id="fair-comparison",
        text="One encoding reaches a lower loss than another. When do you believe that it is the better one?",
        choices=(
            "When the best run of one beats the best run of the other",
            "When all else is equal, each seed of one beats each of the other, and not many pairs were tried",
            "When the loss differs in the second decimal",
        ),
        right="When all else is equal, each seed of one beats each of the other, and not many pairs were tried",
        explanation=(
            "Same model, data, steps and windows that end at the same places; several seeds; and the worst of one "
            "better than the best of the other. With three seeds each that happens to two equal encodings in one case "
            "of ten, so of 28 pairs a few will pass by chance. And it holds for this size, text and number of steps."
        ),
        lesson="08",
        claim="with three seeds each, two equal encodings pass as different in one case of ten",
    ),
)

QUIZ = (
    Question(
        id="relative",
        text="RoPE's scores depend on the offset alone. Why does a RoPE model still fail past its trained length?",
        choices=(
            "RoPE has no formula for larger positions",
            "The offsets past it are new to the model, however they are computed",
            "The first places of a longer window are encoded differently",
        ),
        right="The offsets past it are new to the model, however they are computed",
        explanation=(
            "The rotation is defined for every position, and the first 128 predictions stay as they were. What the "
            "model never met are the scores at offsets of 128 and more. The first few do little; with more of them the "
            "loss passes that of bare character frequencies."
        ),
    ),
    Question(
        id="flat",
        text="A model's loss is the same in windows of 128 and of 2048. What follows for the text that lies far back?",
        choices=(
            "The model uses it: otherwise the loss would rise",
            "The model gives it no attention",
            "Nothing yet: change that text and see whether the loss moves",
        ),
        right="Nothing yet: change that text and see whether the loss moves",
        explanation=(
            "A flat loss fits a model that ignores the far text, and one that uses it where it does not matter. Nor is "
            "attention a proof of use: ALiBi's flattest head sends much of its attention there, and other text in that "
            "place changes next to nothing."
        ),
    ),
    Question(
        id="early-tokens",
        text="In windows side by side, 128 characters give 1.38 nats, 1024 give 1.36. What may explain it alone?",
        choices=(
            "Fewer characters stand at the start of a window, where little has been read",
            "The model uses the text beyond 128",
            "Longer windows are easier for the softmax",
        ),
        right="Fewer characters stand at the start of a window, where little has been read",
        explanation=(
            "The excess of the first places is shared among more of them, so what it adds to the mean falls like 1/T, "
            "with nothing far used. A sliding window, counted over its last places, shows whether there is more."
        ),
    ),
    Question(
        id="seeds",
        text="Three seeds of A reach 1.24, 1.27 and 1.30, three of B 1.25, 1.26 and 1.29. What do you report?",
        choices=(
            "A is better: it has the lowest loss",
            "B is better: it has the lower mean",
            "These seeds do not tell them apart",
        ),
        right="These seeds do not tell them apart",
        explanation=(
            "The means differ by 0.003 and the seeds by 0.06 and 0.04. The lesson calls a difference real when the "
            "worst seed of one beats the best of the other; more seeds could find a smaller one."
        ),
    ),
    Question(
        id="recall",
        text="Which measurement shows best whether a model can use a name mentioned 400 characters ago?",
        choices=(
            "Mean loss over a long text",
            "Recall of a planted key, by its distance",
            "Loss over the last places of a window, by its length",
        ),
        right="Recall of a planted key, by its distance",
        explanation=(
            "Most characters are predicted from the last few dozen, so a loss hardly notices what is lost far away. A "
            "planted key can be predicted from its first copy alone."
        ),
    ),
)
