"""Learned encoding: rows are looked up, never wrapped, and a table can be stretched."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.attention import positions_from_mask
from posenc_lib.learned import LearnedEncoding
from tests.properties import INTEGERS, assert_within, fits, float_dtypes, normal, seeds, sizes, strides

x = torch.zeros(2, 4, 3)
at = torch.arange(4)


def counting_table(max_len, dim, dtype=torch.float32):
    """An encoding whose row p is p, p + 0.5, …, so that a wrong row shows."""
    encoding = LearnedEncoding(max_len, dim).to(dtype)
    with torch.no_grad():
        encoding.table.copy_(torch.arange(max_len)[:, None] + 0.5 * torch.arange(dim))
    return encoding


@pytest.mark.parametrize("positions", [torch.tensor([4, 0, 2, 2]), torch.tensor([[0, 1, 2, 3], [1, 0, 0, 4]])])
@pytest.mark.parametrize("cast", [torch.int64, torch.int32, torch.int8, torch.uint8])
def test_each_token_gets_the_row_of_its_position(positions, cast):
    out = counting_table(5, 3).add(x + 10, positions.to(cast))
    expected = 10 + positions.expand(2, -1)[..., None] + 0.5 * torch.arange(3)
    assert torch.equal(out, expected)


def test_left_padded_batch_counts_from_its_first_token(case):
    """Source: nnsight #673; Hugging Face #20761 (OPT). Tokens after pads take the rows of an unpadded text."""
    padded = case("learned_left_padding_positions")
    positions = positions_from_mask(torch.tensor([padded["inputs"]["attention_mask"]]))
    assert positions.tolist() == [padded["expected"]["position_ids"]]
    encoding = LearnedEncoding(8, 3)
    out = encoding.add(torch.zeros(1, 5, 3), positions)
    assert torch.equal(out[0, 2:], encoding.add(torch.zeros(1, 3, 3), torch.arange(3))[0])


@pytest.mark.parametrize("position", [5, 6, 2**40, -1, -5])
def test_a_position_without_a_row_is_an_error_that_says_what_the_table_holds(position):
    with pytest.raises(ValueError, match=rf"position {position} has no row: the table holds 0 … 4"):
        LearnedEncoding(5, 3).add(x, torch.tensor([0, 1, position, 2]))


def test_rows_start_normal_with_deviation_0_02():
    torch.manual_seed(0)
    table = LearnedEncoding(500, 200).table
    assert table.std().item() == pytest.approx(0.02, rel=0.02)  # 100,000 draws: 9 standard errors
    assert abs(table.mean().item()) < 5e-4
    assert (table.abs() > 0.04).double().mean().item() == pytest.approx(0.0455, abs=0.004)


@given(st.data(), st.integers(1, 100), sizes, sizes, st.integers(1, 5), float_dtypes, float_dtypes, strides, seeds)
def test_each_token_gets_its_row_in_the_dtype_of_x(data, max_len, batch, length, dim, dtype, table_dtype, stride, seed):
    shape = data.draw(fits(batch, length))
    count = torch.Size(shape).numel()
    rows = data.draw(st.lists(st.integers(0, max_len - 1), min_size=count, max_size=count))
    at = torch.tensor(rows, dtype=torch.int64).to(data.draw(st.sampled_from(INTEGERS))).reshape(shape)
    encoding = LearnedEncoding(max_len, dim)
    encoding.table = torch.nn.Parameter(stride(normal(seed, max_len, dim, dtype=table_dtype)))
    x = normal(seed + 1, batch, length, dim, dtype=dtype)
    out = encoding.add(stride(x), stride(at))
    assert out.dtype == dtype
    table = encoding.table.detach().double().tolist()
    row = torch.tensor([table[p] for p in rows], dtype=torch.float64).reshape(*shape, dim)
    expected = x.double() + row
    half = torch.finfo(dtype).eps / 2  # the row is rounded once, and the sum once
    assert_within(half * (row.abs() + expected.abs()) * 1.01, out, expected)


@given(st.integers(1, 9), st.integers(1, 20), float_dtypes, strides, seeds)
def test_resized_table_is_linear_between_rows_and_keeps_its_ends(max_len, new_len, dtype, stride, seed):
    encoding = LearnedEncoding(max_len, 2)
    encoding.table = torch.nn.Parameter(stride(normal(seed, max_len, 2, dtype=dtype)))
    resized = encoding.resized(new_len)
    assert (resized.max_len, resized.dim, resized.table.dtype) == (new_len, 2, dtype)
    where = np.linspace(0, max_len - 1, new_len)
    old = encoding.table.detach().double().numpy()
    expected = np.stack([np.interp(where, np.arange(max_len), column) for column in old.T], axis=1)
    rounding = torch.finfo(dtype).eps / 2 * np.abs(expected) + 4e-15  # rows are spaced in float64, up to 8 of them
    assert_within(torch.from_numpy(rounding), resized.table.detach(), expected)
    assert encoding.to("meta").resized(new_len).table.shape == (new_len, 2)


def test_resized_to_its_own_length_is_an_equal_copy():
    encoding = LearnedEncoding(7, 3)
    resized = encoding.resized(7)
    assert torch.equal(resized.table, encoding.table)
    with torch.no_grad():
        resized.table.zero_()
    assert encoding.table.abs().sum() > 0


def test_resized_keeps_dtype_and_trainability_and_draws_no_random_numbers():
    encoding = LearnedEncoding(5, 3).bfloat16()
    encoding.table.requires_grad_(False)
    state = torch.get_rng_state()
    resized = encoding.resized(9)
    assert torch.equal(torch.get_rng_state(), state)
    assert (resized.table.dtype, resized.table.requires_grad) == (torch.bfloat16, False)
    assert LearnedEncoding(5, 3).resized(9).table.requires_grad


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("table_dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_module_adds_in_the_dtype_of_x(dtype, table_dtype):
    out = counting_table(5, 3, table_dtype).add(x.to(dtype), at)
    assert out.dtype == dtype
    assert torch.equal(out[0].double(), at[:, None] + 0.5 * torch.arange(3).double())


@pytest.mark.parametrize("travel", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_the_table(travel):
    encoding = LearnedEncoding(5, 3)
    assert torch.equal(travel(encoding).table, encoding.table)


def test_the_table_is_the_whole_state():
    assert list(LearnedEncoding(5, 3).state_dict()) == ["table"]


def test_module_made_on_meta_is_right_after_to_empty_and_reset():
    with torch.device("meta"):
        encoding = LearnedEncoding(500, 200)
    encoding.to_empty(device="cpu").reset_parameters()
    assert encoding.table.std().item() == pytest.approx(0.02, rel=0.02)


def test_meta_tensors_pass_through():
    encoding = LearnedEncoding(5, 3).to("meta")
    assert encoding.add(x.to("meta"), at.to("meta")).shape == (2, 4, 3)
    assert encoding.resized(9).table.shape == (9, 3)


def test_no_tokens_give_no_rows():
    assert LearnedEncoding(5, 3).add(torch.zeros(2, 0, 3), torch.arange(0)).shape == (2, 0, 3)


def test_gradients_count_how_often_a_row_was_used():
    encoding = LearnedEncoding(5, 3)
    encoding.add(x, torch.tensor([0, 2, 2, 4])).sum().backward()
    assert encoding.table.grad[:, 0].tolist() == [2, 0, 4, 0, 2]


def test_compiles_whole_at_two_lengths():
    encoding = LearnedEncoding(16, 3)
    add = torch.compile(encoding.add, fullgraph=True)
    for length in (5, 9):
        tokens, positions = torch.randn(2, length, 3), torch.arange(length)
        assert torch.equal(add(tokens, positions), encoding.add(tokens, positions))


def test_repr_says_what_it_was_made_with():
    assert repr(LearnedEncoding(5, 3)) == "LearnedEncoding(5, 3)"


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: LearnedEncoding(0, 3), ValueError, "max_len must be an integer >= 1, got 0"),
        (lambda: LearnedEncoding(5.0, 3), TypeError, "max_len"),
        (lambda: LearnedEncoding(5, -1), ValueError, "dim must be an integer >= 1, got -1"),
        (lambda: LearnedEncoding(5, "3"), TypeError, "dim"),
        (lambda: LearnedEncoding(5, 3).resized(0), ValueError, "new_len must be an integer >= 1, got 0"),
        (lambda: LearnedEncoding(5, 3).resized(2.5), TypeError, "new_len"),
        (lambda: LearnedEncoding(5, 3).add(x, at.float()), TypeError, "positions must be integer .* torch.float32"),
        (lambda: LearnedEncoding(5, 3).add(x, at.bool()), TypeError, "positions"),
        (lambda: LearnedEncoding(5, 3).add(x, [0, 1, 2, 3]), TypeError, "positions"),
        (lambda: LearnedEncoding(5, 3).add(x, at[:3]), ValueError, r"positions must have shape \(4,\) or \(2, 4\)"),
        (lambda: LearnedEncoding(5, 3).add(x, at[:1]), ValueError, "positions"),
        (lambda: LearnedEncoding(5, 3).add(x, at.to("meta")), ValueError, "positions is on meta but x is on cpu"),
        (lambda: LearnedEncoding(5, 3).add(x.long(), at), TypeError, "dtype of x must be a floating"),
        (lambda: LearnedEncoding(5, 3).add(x[0], at), ValueError, r"x must have shape \(B, T, 3\)"),
        (lambda: LearnedEncoding(5, 4).add(x, at), ValueError, r"x must have shape \(B, T, 4\), got \(2, 4, 3\)"),
    ],
)
def test_wrong_arguments_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
