"""Lesson 5, ALiBi's slopes: interview questions and quiz."""

from posenc_lib.exercises.exercise import InterviewQuestion, Question

EXERCISES = ()

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
            "With the usual slopes nearly all attention stays within some hundred tokens, so more text "
            "changes little, for better or worse. Evaluation hides this: windows that do not overlap get "
            "better with length because fewer tokens stand at a window's start. Measure use with a task "
            "that needs a far token, or slide the window."
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
