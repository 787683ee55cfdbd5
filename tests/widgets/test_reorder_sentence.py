import itertools
import math

import numpy as np
import pytest
import torch

from posenc_lib.widgets import ReorderSentence
from posenc_lib.widgets.reorder_sentence import (
    LARGEST_MOVE,
    NAMES,
    ORDERS,
    SIZES,
    WORDS,
    _embeddings_and_weights,
    read_sentence,
    reorder,
)
from tests.widgets.buttons import press

ALL = range(len(ORDERS))
SWAP_EARLY = ORDERS.index((0, 2, 1, 3, 4, 5))
TOLERANCE = 1e-12  # float64 rounding over a few dozen terms


def by_hand(x, w_q, w_k, w_v, *, causal, slopes=None):
    """Attention of every head in plain loops over words, numpy float64: output (T, D) and the first head's weights."""
    heads, width = SIZES["num_heads"], SIZES["head_dim"]
    q, k, v = ((x @ w).reshape(len(x), heads, width) for w in (w_q, w_k, w_v))
    out, first = np.zeros_like(x), np.zeros((len(x), len(x)))
    for head, i in itertools.product(range(heads), range(len(x))):
        seen = range(i + 1) if causal else range(len(x))
        penalty = 0 if slopes is None else slopes[head]
        exponentials = [math.exp(q[i, head] @ k[j, head] / math.sqrt(width) - penalty * abs(i - j)) for j in seen]
        share = np.array(exponentials) / sum(exponentials)
        out[i, head * width : (head + 1) * width] = sum(share[j] * v[j, head] for j in seen)
        if head == 0:
            first[i, : len(share)] = share
    return out, first


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("encoding", "slopes"), [("none", None), ("alibi", [1 / 4, 1 / 16, 1 / 64, 1 / 256])])
def test_two_layers_are_attention_in_plain_loops(encoding, slopes, causal):
    order = (3, 1, 5, 0, 2, 4)
    x, weights = (tensor.numpy() for tensor in _embeddings_and_weights())
    x = x[list(order)]
    first, pattern = by_hand(x, *weights[0], causal=causal, slopes=slopes)
    second, deeper = by_hand(x + first, *weights[1], causal=causal, slopes=slopes)
    for layers, expected in ((1, (first, pattern)), (2, (second, deeper))):
        out, shown = read_sentence(order, encoding=encoding, causal=causal, layers=layers)
        np.testing.assert_allclose(out, expected[0], rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(shown, expected[1], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("layers", [1, 2])
def test_without_encoding_and_mask_all_orders_follow_the_words(layers):
    for index in ALL:
        state = reorder(index, encoding="none", causal=False, layers=layers)
        assert state.pattern_gap < TOLERANCE
        assert state.moved.max() < TOLERANCE


def test_expected_is_the_original_pattern_with_rows_and_columns_in_the_new_order():
    order = ORDERS[517]
    _, original = read_sentence(ORDERS[0], encoding="rope", causal=False, layers=1)
    state = reorder(517, encoding="rope", causal=False, layers=1)
    assert state.order == order
    for row, column in itertools.product(range(6), repeat=2):
        assert state.expected[row, column] == original[order[row], order[column]]
    assert state.pattern_gap > 0.1


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned", "rope"])
def test_with_an_encoding_every_other_order_moves_an_output(encoding):
    for index in ALL[1:]:
        assert reorder(index, encoding=encoding, causal=False, layers=1).moved.max() > 0.05


def test_alibi_without_a_mask_sees_every_order_but_the_mirror_image():
    """|i − j| stays what it is when all words change ends."""
    gaps = [reorder(index, encoding="alibi", causal=False, layers=2).moved.max() for index in ALL]
    unseen = [index for index, gap in enumerate(gaps) if gap < TOLERANCE]
    assert unseen == [0, ORDERS.index((5, 4, 3, 2, 1, 0))]


@pytest.mark.parametrize(
    ("layers", "still"),
    [(1, [0, 3, 4, 5]), (2, [0])],  # one layer: all who see the same set; two: only who sees neither of the swapped
)
def test_causal_layers_notice_an_early_swap_where_the_seen_words_differ(layers, still):
    moved = reorder(SWAP_EARLY, encoding="none", causal=True, layers=layers).moved
    assert [place for place in range(6) if moved[place] < TOLERANCE] == still
    assert min(moved[place] for place in range(6) if place not in still) > 0.05


def test_causal_last_output_sees_a_set_with_one_layer_and_an_order_with_two():
    orders = [(*front, 5) for front in itertools.permutations(range(5))]
    same = orders.index((4, 1, 2, 3, 0, 5))  # both "the" change places: the same sentence
    for number, order in enumerate(orders):
        index = ORDERS.index(order)
        assert reorder(index, encoding="none", causal=True, layers=1).moved[5] < TOLERANCE
        deeper = reorder(index, encoding="none", causal=True, layers=2).moved[5]
        assert deeper < TOLERANCE if number in (0, same) else deeper > 1e-4


def test_no_bar_leaves_the_axes():
    for encoding, causal, layers in itertools.product(NAMES, (False, True), (1, 2)):
        largest = max(reorder(i, encoding=encoding, causal=causal, layers=layers).moved.max() for i in ALL)
        assert largest < LARGEST_MOVE


def test_the_global_random_state_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    widget = ReorderSentence()
    widget.controls["encoding"].value = "learned"
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("button", "expected"),
    [
        ("Original order", "“the cat sat on the mat”"),
        ("Swap cat and mat", "“the mat sat on the cat”. Encoding none, no mask, 1 attention layer: attention follows"),
        ("Reverse", "“mat the on sat cat the”"),
        ("Causal, 1 layer: swap cat and sat", "does not follow"),
        ("Causal, 1 layer: swap cat and sat", "4 of 6 outputs stand still"),
        ("Causal, 2 layers", "1 of 6 outputs stand still"),
    ],
)
def test_buttons_show_what_they_say(button, expected):
    widget = ReorderSentence()
    press(widget, button)
    assert expected in widget.readout


@pytest.mark.parametrize("index", [0, 105, 719])
def test_words_stand_at_rows_columns_and_bars_and_inside_the_picture(index):
    widget = ReorderSentence()
    widget.controls["order"].value = index
    renderer = widget.figure.canvas.get_renderer()
    for texts in widget.words:
        assert [text.get_text() for text in texts] == [f"{source} {WORDS[source]}" for source in ORDERS[index]]
        boxes = [text.get_window_extent(renderer) for text in texts]
        assert all(box.x0 >= 0 and box.x1 <= 640 and box.y0 >= 0 and box.y1 <= 360 for box in boxes)
        assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
