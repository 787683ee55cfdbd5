"""Lesson 0, start here: the quiz."""

from posenc_lib.exercises.exercise import Question

EXERCISES = ()

INTERVIEW = ()

QUIZ = (
    Question(
        id="sockets",
        text="Where can the methods of this course put position into a Transformer?",
        choices=(
            "At the embeddings only",
            "At the queries, at the values, or at the output",
            "At the embeddings, at queries and keys, or at the scores",
        ),
        right="At the embeddings, at queries and keys, or at the scores",
        explanation=(
            "There are three sockets. A vector is added to the embeddings once; queries and keys are rotated in "
            "every layer; a bias is added to the scaled scores in every layer. Each method uses one of them."
        ),
    ),
    Question(
        id="methods",
        text="Which line puts each method at its socket?",
        choices=(
            "Sinusoidal at the embeddings, RoPE at queries and keys, ALiBi at the scores",
            "Sinusoidal at queries and keys, RoPE at the scores, ALiBi at the embeddings",
            "Sinusoidal at the embeddings, RoPE at the embeddings, ALiBi at queries and keys",
        ),
        right="Sinusoidal at the embeddings, RoPE at queries and keys, ALiBi at the scores",
        explanation=(
            "Sinusoidal and learned encodings are added to the embeddings, RoPE rotates queries and keys, and "
            "ALiBi, the T5 bias and KERPLE are added to the scores."
        ),
    ),
    Question(
        id="values",
        text="In the first layer, which methods put position into the values V?",
        choices=(
            "All of them",
            "Those that are added to the embeddings",
            "Those that add a bias to the scores",
        ),
        right="Those that are added to the embeddings",
        explanation=(
            "What is added to the embeddings passes through the projections of Q, K and V alike. A rotation touches "
            "Q and K only and a bias the scores only, so V stays free of position in the first layer. Later layers "
            "see it all the same, through what attention gave them."
        ),
    ),
)
