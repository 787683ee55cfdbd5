"""Sinusoidal encoding: against sines taken one by one in float64, and the shift that moves it."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posenc_lib.sinusoidal import SinusoidalEncoding, shift_matrix, sinusoidal_encoding, wavelengths
from tests.properties import assert_within, fits, float_dtypes, normal, positions, seeds, sizes, strides

even_dims = st.integers(1, 24).map(lambda half: 2 * half)
numbers = st.floats(-1000, 1000, allow_nan=False, width=32)
bases = st.floats(1e-3, 1e9)


def one_by_one(positions, dim, base=10_000.0):
    angle = lambda p, i: p * base ** (-(i - i % 2) / dim)
    rows = [[(math.cos if i % 2 else math.sin)(angle(p, i)) for i in range(dim)] for p in positions]
    return torch.tensor(rows, dtype=torch.float64).reshape(len(positions), dim)


def test_odd_width_ends_on_a_sine(case):
    """Source: pyaptamer #526, BERT-pytorch #78, Informer2020 #224 (crashed on an odd width)."""
    odd = case("sinusoidal_odd_d_model")
    positions = torch.tensor([odd["inputs"]["pos"]])
    row = sinusoidal_encoding(positions, odd["inputs"]["d_model"], dtype=torch.float64)[0]
    assert row.tolist() == pytest.approx(odd["expected"], abs=odd["tolerance"])


def test_frequencies_are_the_papers_not_tensor2tensors(case):
    """Source: tensor2tensor and fairseq, whose grid is base^(−i/(d/2−1)): a difference of convention."""
    grids = case("sinusoidal_tensor2tensor_timescales")
    dim, base = grids["inputs"]["d_model"], grids["inputs"]["base"]
    frequencies = 2 * math.pi / wavelengths(dim, base=base)
    assert frequencies.tolist() == pytest.approx(grids["expected"]["paper_inv_freq"], abs=grids["tolerance"])
    theirs = [base ** (-i / (dim / 2 - 1)) for i in range(dim // 2)]
    assert theirs == pytest.approx(grids["expected"]["t2t_inv_freq"], abs=grids["tolerance"])
    assert frequencies[-1].item() == pytest.approx(10 * theirs[-1])


def test_table_interleaves_so_chunking_it_mixes_sines_and_cosines(case):
    """Source: NVIDIA/ngpt #10, which split an interleaved table in the middle: a difference of convention."""
    table = case("interleaved_table_chunked")
    inputs, expected, wrong = table["inputs"], table["expected"], table["wrong_behaviour_value"]
    row = sinusoidal_encoding(torch.tensor([1]), inputs["d"], dtype=torch.float64)[0]
    assert row.tolist() == pytest.approx(inputs["table_row_pos1"], abs=table["tolerance"])
    assert row[0::2].tolist() == pytest.approx(expected["sin"], abs=table["tolerance"])
    assert row[1::2].tolist() == pytest.approx(expected["cos"], abs=table["tolerance"])
    chunks = [chunk.tolist() for chunk in row.chunk(2)]
    assert chunks == [pytest.approx(wrong[name], abs=table["tolerance"]) for name in ("sin", "cos")]


def angle_error(at, dim, base=10_000.0):
    """How far rounding to float64, of the frequency and of the product, may take the angle of each entry."""
    frequencies = torch.tensor([base ** (-(i - i % 2) / dim) for i in range(dim)], dtype=torch.float64)
    return (at.double()[..., None] * frequencies).abs() * 2**-50


@given(positions(), strides, st.integers(1, 33), bases, float_dtypes)
def test_every_entry_is_its_sine_or_cosine(at, stride, dim, base, dtype):
    table = sinusoidal_encoding(stride(at), dim, base=base, dtype=dtype)
    assert (table.dtype, table.shape) == (dtype, (*at.shape, dim))
    rows = one_by_one(at.flatten().tolist(), dim, base).reshape(table.shape)
    assert_within(torch.finfo(dtype).eps / 2 + 2**-52 + angle_error(at, dim, base), table, rows)
    on_meta = sinusoidal_encoding(at.to("meta"), dim, base=base, dtype=dtype)
    assert (on_meta.dtype, on_meta.shape) == (dtype, table.shape)


@pytest.mark.parametrize("shift", [0, 2**20])
def test_float32_is_right_to_1e_6_at_position_two_to_the_twenty(shift):
    positions = torch.arange(shift - 3, shift + 4)
    table = sinusoidal_encoding(positions, 64)
    assert table.dtype == torch.float32
    torch.testing.assert_close(table.double(), one_by_one(positions.tolist(), 64), atol=1e-7, rtol=0)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.float16, torch.bfloat16])
def test_positions_of_any_dtype_mean_their_value(dtype):
    positions = torch.tensor([0, 1, 100, 127]).to(dtype)
    torch.testing.assert_close(sinusoidal_encoding(positions, 8), sinusoidal_encoding(positions.long(), 8))


def test_a_length_stands_for_the_positions_from_0():
    assert torch.equal(sinusoidal_encoding(7, 6), sinusoidal_encoding(torch.arange(7), 6))
    assert sinusoidal_encoding(0, 6).shape == (0, 6)


def test_packed_positions_and_further_dimensions_keep_their_shape():
    positions = torch.arange(24).reshape(2, 3, 4)
    table = sinusoidal_encoding(positions, 5)
    assert table.shape == (2, 3, 4, 5)
    assert torch.equal(table[1, 2], sinusoidal_encoding(positions[1, 2], 5))


@given(even_dims, numbers, st.lists(numbers, min_size=1, max_size=4))
def test_shift_matrix_moves_every_position_by_the_offset(dim, offset, positions):
    at = torch.tensor(positions, dtype=torch.float64)
    encode = lambda p: sinusoidal_encoding(p, dim, dtype=torch.float64)
    moved = encode(at) @ shift_matrix(offset, dim).T
    torch.testing.assert_close(moved, encode(at + offset), atol=1e-11, rtol=0)


@given(even_dims, st.floats(-1e6, 1e6), bases)
def test_shift_matrix_is_blocks_of_rotation(dim, offset, base):
    matrix = shift_matrix(offset, dim, base=base)
    expected, bound = torch.zeros(2, dim, dim, dtype=torch.float64)
    for i in range(0, dim, 2):
        angle = offset * base ** (-i / dim)
        cos, sin = math.cos(angle), math.sin(angle)
        expected[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        bound[i : i + 2, i : i + 2] = abs(angle) * 2**-50 + 2**-52
    assert matrix.dtype == torch.float64
    assert_within(bound, matrix, expected)


@given(even_dims, numbers, numbers, numbers)
def test_dot_product_depends_on_offset_only(dim, first, offset, shift):
    at = torch.tensor([first, first + offset, first + shift, first + shift + offset], dtype=torch.float64)
    a, b, c, d = sinusoidal_encoding(at, dim, dtype=torch.float64)
    assert (a @ b).item() == pytest.approx((c @ d).item(), abs=1e-10)
    expected = sum(math.cos(offset * 10_000 ** (-i / dim)) for i in range(0, dim, 2))
    assert (a @ b).item() == pytest.approx(expected, abs=1e-10)


@given(even_dims, bases)
def test_wavelengths_run_from_two_pi_by_a_fixed_ratio(dim, base):
    turns = wavelengths(dim, base=base)
    assert turns.dtype == torch.float64
    assert turns.tolist() == pytest.approx([2 * math.pi * base ** (2 * i / dim) for i in range(dim // 2)], rel=1e-14)


@given(st.data(), sizes, sizes, st.integers(1, 9), float_dtypes, strides, seeds)
def test_module_adds_in_the_dtype_of_x(data, batch, length, dim, dtype, stride, seed):
    at = data.draw(positions(fits(batch, length)))
    x = normal(seed, batch, length, dim, dtype=dtype)
    out = SinusoidalEncoding(dim).add(stride(x), stride(at))
    assert out.dtype == dtype
    table = one_by_one(at.flatten().tolist(), dim).reshape(*at.shape, dim)
    eps = torch.finfo(dtype).eps  # half of it for the table's rounding, half of it for the sum's
    assert_within(eps * (1 + x.double().abs()) + angle_error(at, dim), out, x.double() + table)


def test_module_keeps_nothing_in_its_state():
    assert list(SinusoidalEncoding(8).state_dict()) == []


@pytest.mark.parametrize(
    "travel",
    [
        lambda m: m.bfloat16(),
        lambda m: m.half(),
        lambda m: m.to("cpu"),
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
    ],
)
def test_module_is_right_after_casts_and_copies(travel):
    out = travel(SinusoidalEncoding(8)).add(torch.zeros(1, 3, 8), torch.arange(3))
    torch.testing.assert_close(out[0].double(), one_by_one(range(3), 8), atol=1e-7, rtol=0)


def test_module_made_on_meta_is_right_after_to_empty():
    with torch.device("meta"):
        encoding = SinusoidalEncoding(8)
    out = encoding.to_empty(device="cpu").add(torch.zeros(1, 3, 8), torch.arange(3))
    torch.testing.assert_close(out[0].double(), one_by_one(range(3), 8), atol=1e-7, rtol=0)


def test_meta_tensors_pass_through():
    out = SinusoidalEncoding(8).add(torch.zeros(1, 3, 8, device="meta"), torch.arange(3.0, device="meta"))
    assert (out.device.type, out.shape) == ("meta", (1, 3, 8))


def test_no_tokens_give_no_rows():
    assert SinusoidalEncoding(8).add(torch.zeros(2, 0, 8), torch.arange(0)).shape == (2, 0, 8)


def test_gradients_reach_x_and_fractional_positions():
    x = torch.zeros(1, 2, 4, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([0.0, 1.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(SinusoidalEncoding(4).add, (x, positions))


def test_a_table_by_length_compiles_whole_at_two_lengths():
    torch.compiler.reset()
    table = torch.compile(lambda length: sinusoidal_encoding(length, 6), fullgraph=True, backend="aot_eager")
    for length in (5, 9, 12):
        torch.testing.assert_close(table(length), sinusoidal_encoding(length, 6))


def test_one_compiled_function_serves_several_bases():
    torch.compiler.reset()
    add = torch.compile(lambda encoding, x, at: encoding.add(x, at), fullgraph=True, backend="aot_eager")
    for base in (1e4, 5e5, 1e6):
        encoding = SinusoidalEncoding(8, base=base)
        x, at = torch.zeros(1, 6, 8), torch.arange(6)
        torch.testing.assert_close(add(encoding, x, at), encoding.add(x, at))


def test_compiles_whole_at_two_lengths():
    encoding = SinusoidalEncoding(8)
    add = torch.compile(encoding.add, fullgraph=True)
    for length in (5, 9):
        x, positions = torch.randn(2, length, 8), torch.arange(length)
        torch.testing.assert_close(add(x, positions), encoding.add(x, positions), atol=1e-6, rtol=0)


def test_repr_says_what_it_was_made_with():
    assert repr(SinusoidalEncoding(8)) == "SinusoidalEncoding(8, base=10000)"


at = torch.arange(4)
x = torch.zeros(2, 4, 8)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: sinusoidal_encoding(-1, 8), ValueError, "positions must be an integer >= 0, got -1"),
        (lambda: sinusoidal_encoding(2.5, 8), TypeError, "positions"),
        (lambda: sinusoidal_encoding([0, 1], 8), TypeError, "positions"),
        (lambda: sinusoidal_encoding(True, 8), TypeError, "positions"),
        (lambda: sinusoidal_encoding(torch.tensor(3), 8), ValueError, r"positions must have shape \(…, T\)"),
        (lambda: sinusoidal_encoding(at.bool(), 8), TypeError, "positions"),
        (lambda: sinusoidal_encoding(at + 0j, 8), TypeError, "positions"),
        (lambda: sinusoidal_encoding(at / 0, 8), ValueError, "positions must be finite"),
        (lambda: sinusoidal_encoding(at, 0), ValueError, "dim must be an integer >= 1, got 0"),
        (lambda: sinusoidal_encoding(at, 8.0), TypeError, "dim"),
        (lambda: sinusoidal_encoding(at, 8, base=0), ValueError, "base must be a finite number > 0, got 0"),
        (lambda: sinusoidal_encoding(at, 8, base="e"), TypeError, "base"),
        (lambda: sinusoidal_encoding(at, 8, dtype=torch.int64), TypeError, "dtype"),
        (lambda: shift_matrix(1, 7), ValueError, "dim must be even .* got 7"),
        (lambda: shift_matrix(math.inf, 8), ValueError, "offset must be a finite number, got inf"),
        (lambda: shift_matrix("1", 8), TypeError, "offset"),
        (lambda: shift_matrix(1, 8, base=-2), ValueError, "base"),
        (lambda: wavelengths(5), ValueError, "dim must be even .* got 5"),
        (lambda: wavelengths(8, base=math.nan), ValueError, "base"),
        (lambda: SinusoidalEncoding(-3), ValueError, "dim must be an integer >= 1, got -3"),
        (lambda: SinusoidalEncoding(8, base=0.0), ValueError, "base"),
        (lambda: SinusoidalEncoding(8).add(x.long(), at), TypeError, "dtype of x must be a floating"),
        (lambda: SinusoidalEncoding(8).add(x[0], at), ValueError, r"x must have shape \(B, T, 8\)"),
        (lambda: SinusoidalEncoding(6).add(x, at), ValueError, r"x must have shape \(B, T, 6\), got \(2, 4, 8\)"),
        (lambda: SinusoidalEncoding(8).add(x, at[:3]), ValueError, r"positions must have shape \(4,\) or \(2, 4\)"),
        (lambda: SinusoidalEncoding(8).add(x, at[:1]), ValueError, "positions"),
        (lambda: SinusoidalEncoding(8).add(x, at.to("meta")), ValueError, "positions is on meta but x is on cpu"),
    ],
)
def test_wrong_arguments_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
