"""Lesson 6, relative biases: the quiz."""

from posenc_lib.exercises.exercise import Question

EXERCISES = ()

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
