"""Lesson 6, relative biases: interview questions and quiz."""

from posenc_lib.exercises.exercise import InterviewQuestion, Question

EXERCISES = ()

INTERVIEW = (
    InterviewQuestion(
        id="t5-against-alibi",
        text="How does T5's bias differ from ALiBi's?",
        choices=(
            "It is learned, a number a head for each bucket of distances, and flat beyond the last one",
            "It is added to the embeddings, not to the scores",
            "It is the same with learned slopes",
        ),
        right="It is learned, a number a head for each bucket of distances, and flat beyond the last one",
        explanation=(
            "T5 learns one scalar for each head and bucket: exact for short distances, logarithmic "
            "after, and one bucket for everything from 113 on in a causal model of 32 buckets. Its "
            "scores are not divided by √d. So it can take any shape near by and is blind to position far "
            "away, where ALiBi's line goes on falling."
        ),
        lesson="06",
        claim="causal, all distances from 113 on share a bucket, and 112 is not in it",
    ),
    InterviewQuestion(
        id="kernel-that-qualifies",
        text="What may a relative bias f(|i − j|) be, if it should act like a kernel on positions?",
        choices=(
            "Anything that falls with distance",
            "Conditionally positive definite, since the softmax absorbs the constant that is missing",
            "Positive everywhere",
        ),
        right="Conditionally positive definite, since the softmax absorbs the constant that is missing",
        explanation=(
            "A positive definite bias is a dot product of position features. A conditionally positive "
            "definite one becomes positive definite after a constant is added, and one constant on all "
            "biases changes no softmax. −r₁|i − j|^r₂ with 0 < r₂ ≤ 2 and −r₁ log(1 + r₂|i − j|) "
            "qualify; ALiBi is the first with r₂ = 1."
        ),
        lesson="06",
        claim="a constant of 100 on all biases leaves the attention as it is",
    ),
    InterviewQuestion(
        id="three-sockets",
        text=(
            "Added to the embeddings, turned into queries and keys, or added to the scores: what sets the three apart?"
        ),
        choices=(
            "Only the number of parameters",
            "Added vectors reach the values and mix with content; the other two enter each layer's scores alone",
            "Only biases can tell left from right",
        ),
        right="Added vectors reach the values and mix with content; the other two enter each layer's scores alone",
        explanation=(
            "A vector added once goes through all three projections, so scores get content–position "
            "terms and values carry positions. A rotation or a bias enters the score again in each layer "
            "and leaves the first layer's values free of position. Symmetric biases cannot tell left "
            "from right without a mask; signed buckets and rotations can."
        ),
        lesson="06",
        claim="with T5's signed buckets a head gives the next word over 99 % of its attention",
    ),
)

QUIZ = (
    Question(
        id="last-bucket",
        text="A T5 decoder has 32 buckets and maximum distance 128. Which keys get the same bias?",
        choices=(
            "Those at distances 100 and 120",
            "Those at distances 113 and 5000",
            "None: each distance has its own",
        ),
        right="Those at distances 113 and 5000",
        explanation=(
            "Distances 113, 114, … share the last bucket, without end. 99 to 112 are the bucket before it, so 100 and "
            "120 differ. The maximum distance enters the formula; it is not where the last bucket starts."
        ),
    ),
    Question(
        id="scale",
        text="Weights of a T5 move into code that divides scores by √64. How do you keep the attention as it was?",
        choices=(
            "Multiply the biases by 8",
            "Divide the biases by 8",
            "Multiply the query projection by 8 and leave the biases",
        ),
        right="Multiply the query projection by 8 and leave the biases",
        explanation=(
            "q·k + b = (8q)·k/8 + b. The bias is a logit on either side, so it stays. Touching the biases alone "
            "leaves contents eight times too weak, or changes the temperature of the softmax."
        ),
    ),
    Question(
        id="sign",
        text="In an encoder, buckets are taken of |key − query|. What can the bias no longer do?",
        choices=(
            "Prefer the next word to the previous one",
            "Prefer near words to far ones",
            "Tell distance 1 from distance 2",
        ),
        right="Prefer the next word to the previous one",
        explanation=(
            "Both have distance 1, so both get one number. T5 gives each direction half of the buckets for this reason."
        ),
    ),
    Question(
        id="definite",
        text="B holds the biases −|i − j| of twelve positions. What does conditionally positive definite say of it?",
        choices=(
            "All twelve eigenvalues are at least 0",
            "cᵀBc ≥ 0 for every vector c that sums to zero",
            "cᵀBc ≤ 0 for every vector c, since no entry is positive",
        ),
        right="cᵀBc ≥ 0 for every vector c that sums to zero",
        explanation=(
            "Vectors that sum to zero do not see a constant added to all entries, and neither does the softmax. B has "
            "eleven positive eigenvalues and one negative; for c = (1, −1, 0, …) on neighbours, cᵀBc = 2."
        ),
    ),
    Question(
        id="power",
        text="Which exponent turns KERPLE's power kernel −r₁|i − j|^r₂ into ALiBi with a learned slope?",
        choices=("r₂ = 0", "r₂ = 1", "r₂ = 2"),
        right="r₂ = 1",
        explanation=(
            "Then the bias is −r₁|i − j| and r₁ is the slope. Smaller exponents flatten with distance, larger ones "
            "steepen, and past 2 the kernel is conditionally positive definite no more."
        ),
    ),
)
