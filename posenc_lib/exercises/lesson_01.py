"""Lesson 1, the permutation proof: interview questions and quiz."""

from posenc_lib.exercises.exercise import InterviewQuestion, Question

EXERCISES = ()

INTERVIEW = (
    InterviewQuestion(
        id="why-positions",
        text="Why does a Transformer need positions at all?",
        choices=(
            "Attention cannot handle texts of different lengths without them",
            "Attention without a mask treats its input as a set: reorder the words, and each keeps its output",
            "Without them the softmax does not sum to 1",
        ),
        right="Attention without a mask treats its input as a set: reorder the words, and each keeps its output",
        explanation=(
            "Scores are dot products of contents, and the softmax and the weighted sum run over all keys "
            "alike, so Attention(PX) = P·Attention(X) for every permutation P. Heads, residuals, norms "
            "and MLPs act on each word alone and keep that. “The cat sat on the mat” and “the mat sat on "
            "the cat” give every word the same vector."
        ),
        lesson="01",
        claim="“the cat sat on the mat” and “the mat sat on the cat”: each word gets the same vector in both",
    ),
    InterviewQuestion(
        id="decoder-without-encoding",
        text="A decoder-only model is trained without any encoding. Can it use word order?",
        choices=(
            "Yes, from the second layer on: the causal mask breaks the symmetry",
            "No, attention is permutation-equivariant",
            "Yes, in the first layer already, for any two orders of the words before the last",
        ),
        right="Yes, from the second layer on: the causal mask breaks the symmetry",
        explanation=(
            "The mask shows each word another set of words. After one layer the last word's output is "
            "still the same for any order of the words before it; but those words' own outputs differ, "
            "and a second layer reads them. What such a model reaches in practice is a matter of "
            "measurement, and identical tokens without a start token stay alike at any depth."
        ),
        lesson="01",
        claim="two causal layers give 24 different last outputs for 24 orders",
    ),
)

QUIZ = (
    Question(
        id="equivariant",
        text="No encoding and no mask. The words of a sentence are reordered. What happens to attention's outputs?",
        choices=(
            "Each place keeps its output",
            "Each word keeps its output, and the outputs move with the words",
            "All outputs become equal",
        ),
        right="Each word keeps its output, and the outputs move with the words",
        explanation=(
            "Attention(PX) = P·Attention(X): that is equivariance. Were each place to keep its output, whatever word "
            "stands there, attention would be invariant, and it is not."
        ),
    ),
    Question(
        id="pattern",
        text="And what happens to the attention pattern A?",
        choices=(
            "It becomes P A Pᵀ",
            "It stays identical",
            "It becomes P A",
        ),
        right="It becomes P A Pᵀ",
        explanation=(
            "Queries move, so rows move: P. Keys move, so columns move: Pᵀ. Between two words the weight is the one "
            "it was, but it stands elsewhere in the matrix."
        ),
    ),
    Question(
        id="pooling",
        text="Which readout of an encoder without positions cannot tell two orders of the same words apart?",
        choices=(
            "The output at the first place",
            "All outputs, written one after the other",
            "The mean of all outputs",
        ),
        right="The mean of all outputs",
        explanation=(
            "A sum does not care about the order of its terms, so a symmetric pooling turns equivariance into "
            "invariance. The output at the first place belongs to whatever word stands there now."
        ),
    ),
    Question(
        id="causal",
        text=(
            "A decoder without any encoding, behind a causal mask. From which depth on can the last output depend on "
            "the order of the words before it?"
        ),
        choices=(
            "From the first layer on",
            "From the second layer on",
            "Never: without an encoding it sees a set",
        ),
        right="From the second layer on",
        explanation=(
            "In the first layer the last word averages over the set of all words so far. The second layer averages "
            "over what the earlier words saw, and that depends on who stood before them."
        ),
    ),
    Question(
        id="identical",
        text="A text is one token repeated a hundred times, with no start token. Which method gives its places away?",
        choices=(
            "RoPE on queries and keys",
            "A causal mask and enough layers",
            "A sinusoidal vector added to the embeddings",
        ),
        right="A sinusoidal vector added to the embeddings",
        explanation=(
            "All values are equal, and weights that sum to 1 average equal values to the same vector, whatever "
            "scores, mask and depth make of the weights. The added vector reaches the values, so they differ."
        ),
    ),
)
