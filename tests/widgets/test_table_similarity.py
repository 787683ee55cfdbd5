import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.widgets import TableSimilarity
from posenc_lib.widgets.table_similarity import cosine_matrix, range_at_offset
from tests.widgets.buttons import press


def set_rows(figure, p, q):
    figure.controls["p"].value, figure.controls["q"].value = p, q


@given(seed=st.integers(0, 10_000), length=st.integers(1, 9), width=st.integers(1, 9))
def test_cosine_is_the_dot_product_over_the_norms(seed, length, width):
    rows = np.random.default_rng(seed).normal(size=(length, width))
    norms = np.sqrt((rows**2).sum(1))
    expected = np.einsum("pi,qi->pq", rows, rows) / np.outer(norms, norms)
    np.testing.assert_allclose(cosine_matrix(torch.from_numpy(rows)), expected, rtol=0, atol=1e-14)


def test_cosine_of_known_angles():
    rows = torch.tensor([[1.0, 0.0], [2.0, 2.0], [0.0, -3.0], [0.0, 0.0]], requires_grad=True)
    half = 0.5**0.5
    expected = [[1, half, 0, 0], [half, 1, -half, 0], [0, -half, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(cosine_matrix(rows), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("length", "dim"), [(12, 8), (40, 32), (7, 2)])
def test_sinusoidal_rows_are_alike_by_offset_alone(length, dim):
    """(2/d) Σ cos((p−q)ω_k), the closed form, in the widget's right-hand square."""
    similarity = TableSimilarity(torch.ones(length, dim)).sinusoidal
    offsets = np.arange(length)[:, None] - np.arange(length)
    frequencies = 1e4 ** (-np.arange(0, dim, 2) / dim)
    expected = np.cos(np.multiply.outer(offsets, frequencies)).mean(-1)
    np.testing.assert_allclose(similarity, expected, rtol=0, atol=1e-12)


def test_range_at_an_offset_covers_both_sides_of_the_diagonal_once():
    matrix = np.array([[1.0, 0.2, -0.3], [0.2, 1.0, 0.6], [-0.3, 0.6, 1.0]])
    assert range_at_offset(matrix, 0) == (1.0, 1.0)
    assert range_at_offset(matrix, 1) == range_at_offset(matrix, -1) == (0.2, 0.6)
    assert range_at_offset(matrix, 2) == (-0.3, -0.3)


def two_lines():
    """Rows 0–3 point one way, rows 4–7 another, at a right angle; row 6 leans a little."""
    table = torch.zeros(8, 3)
    table[:4, 0] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    table[4:, 1] = 1
    table[6, 2] = 0.75  # cosine 0.8 with the others of its line
    return table


def test_readout_compares_one_pair_and_all_pairs_at_its_offset():
    figure = TableSimilarity(two_lines())
    set_rows(figure, 3, 1)
    assert figure.readout.startswith("Rows 3 and 1, 2 apart. Cosine in the learned table 1.00, in sinusoidal ")
    assert "Of all rows 2 apart: 0.00 to 1.00 in the learned table, " in figure.readout
    set_rows(figure, 5, 6)
    assert "Cosine in the learned table 0.80" in figure.readout


def test_moving_both_rows_leaves_sinusoidals_number_alone():
    figure = TableSimilarity(two_lines())
    set_rows(figure, 0, 2)
    learned, sinusoidal = [], set()
    for _ in range(6):
        learned.append(figure.readout.partition("learned table ")[2][:4])
        sinusoidal.add(figure.readout.partition("in sinusoidal ")[2][:4])
        press(figure, "Move both by one")
    assert learned == ["1.00", "1.00", "0.00", "0.00", "0.80", "1.00"]
    assert len(sinusoidal) == 1
    assert "Rows 0 and 2" in figure.readout  # past the end it starts again


def test_buttons_choose_the_other_row():
    figure = TableSimilarity(two_lines())
    set_rows(figure, 6, 0)
    press(figure, "q most alike")
    assert "Rows 6 and 4" in figure.readout
    press(figure, "q next to p")
    assert "Rows 6 and 7" in figure.readout
    set_rows(figure, 7, 0)
    press(figure, "q next to p")
    assert "Rows 7 and 6" in figure.readout


def test_without_a_table_a_fresh_one_is_shown_and_called_so():
    state = torch.get_rng_state()
    figure, again = TableSimilarity(), TableSimilarity()
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(figure.learned, again.learned)
    apart = figure.learned[~np.eye(32, dtype=bool)]
    assert abs(apart.mean()) < 0.02
    assert apart.std() == pytest.approx(32**-0.5, rel=0.1)  # of independent Gaussian rows
    assert "fresh learned table" in figure.readout
    assert "fresh" not in TableSimilarity(two_lines()).readout


def test_a_table_is_kept_as_it_was_given():
    table = torch.nn.Parameter(two_lines())
    figure = TableSimilarity(table)
    set_rows(figure, 3, 1)
    before = figure.readout, figure.image.value
    with torch.no_grad():
        table.neg_().add_(1)
    set_rows(figure, 0, 0)
    set_rows(figure, 3, 1)
    assert (figure.readout, figure.image.value) == before


@pytest.mark.parametrize("shape", [(2, 1), (2, 3), (100, 5)])
def test_other_sizes_are_drawn_without_clipping(shape):
    figure = TableSimilarity(torch.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape))
    for end in (0, shape[0] - 1):
        set_rows(figure, end, end)
        drawn = figure.figure.get_tightbbox(figure.figure.canvas.get_renderer())
        assert 0 <= drawn.x0 < drawn.x1 <= 6.4
        assert 0 <= drawn.y0 < drawn.y1 <= 3.6


@pytest.mark.parametrize("table", [torch.ones(3), torch.ones(1, 4), torch.ones(4, 0), torch.ones(2, 3, 4)])
def test_a_table_of_another_shape_is_refused_by_name(table):
    with pytest.raises(ValueError, match=r"table must have shape \(L, d\)"):
        TableSimilarity(table)


@pytest.mark.parametrize("table", [[[1.0, 2.0]], torch.ones(3, 4, dtype=torch.int64)])
def test_a_table_that_is_not_floating_is_refused_by_name(table):
    with pytest.raises(TypeError, match="table"):
        TableSimilarity(table)
