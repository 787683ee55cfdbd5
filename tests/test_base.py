"""The sockets' defaults, the shared argument checks, and the registry."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from posenc_lib import ENCODINGS, make_encoding
from posenc_lib.alibi import alibi_attention, alibi_bias, alibi_slopes
from posenc_lib.attention import attention, positions_from_mask
from posenc_lib.base import (
    PositionEncoding,
    check_even,
    check_integer,
    check_number,
    check_positions,
    float64_device,
    relative_positions,
    values_are_readable,
)
from posenc_lib.kerple import kerple_log_bias, kerple_power_bias
from posenc_lib.rope import rope_cos_sin
from posenc_lib.sinusoidal import sinusoidal_encoding
from posenc_lib.t5 import t5_buckets


def test_every_default_socket_changes_nothing():
    encoding = PositionEncoding()
    x, q, k, at = torch.randn(1, 3, 4), torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4), torch.arange(3)
    assert encoding.add(x, at) is x
    assert encoding.rotate(q, k, at, at) == (q, k)
    assert encoding.bias(at, at) is None


@pytest.mark.parametrize("value", [3, np.int64(3), torch.tensor(3)])
def test_integers_of_any_kind_are_accepted(value):
    assert check_integer("n", value) == 3
    assert type(check_integer("n", value)) is int


@pytest.mark.parametrize(
    "value",
    [True, 3.0, "3", None, torch.tensor(3.0), torch.tensor([3, 4]), torch.tensor(True), torch.tensor(3, device="meta")],
)
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError, match="n must be an integer >= 1"):
        check_integer("n", value)


@pytest.mark.parametrize(("value", "end"), [(0, ", got 0"), (-1, ", got -1"), (2**63, " and fit int64, got 9223")])
def test_integers_out_of_range_are_refused(value, end):
    with pytest.raises(ValueError, match=f"n must be an integer >= 1{end}"):
        check_integer("n", value)


def test_odd_widths_are_refused():
    assert check_even("d", 4) == 4
    with pytest.raises(ValueError, match="d must be even"):
        check_even("d", 5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), torch.tensor(2.0), torch.tensor(2)])
def test_numbers_of_any_kind_are_accepted(value):
    number = check_number("x", value, above=0)
    assert number == 2.0
    assert type(number) is float


@pytest.mark.parametrize(
    ("value", "error"),
    [(True, TypeError), ("1", TypeError), (None, TypeError), (1j, TypeError), (torch.ones(2), TypeError)]
    + [(np.True_, TypeError), (np.complex128(4), TypeError), (torch.tensor(4 + 0j), TypeError)]
    + [(text, TypeError) for text in (b"1", bytearray(b"1"), np.array("1"), np.bytes_(b"1"))]
    + [(torch.tensor(2.0, requires_grad=True), TypeError)]
    + [(value, ValueError) for value in (0, -1, math.nan, math.inf, 10**400)],
)
def test_what_is_no_positive_number_is_refused(value, error):
    with pytest.raises(error, match="x must be a finite number > 0"):
        check_number("x", value, above=0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.float16, torch.bfloat16])
def test_narrow_positions_do_not_wrap_or_round_when_subtracted(dtype):
    q, k = torch.tensor([0, 100], dtype=dtype), torch.tensor([100, 1, 120], dtype=dtype)
    assert relative_positions(q, k).tolist() == [[100, 1, 120], [0, -99, 20]]


def test_integer_positions_keep_their_value_beside_floating_ones():
    far = torch.tensor([2**24 + 1])  # float32 holds 2^24 and 2^24 + 2
    assert relative_positions(far, torch.tensor([2.0**24])).tolist() == [[-1.0]]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint64, torch.complex64, torch.float8_e4m3fn])
def test_positions_that_cannot_be_subtracted_are_refused(dtype):
    with pytest.raises(TypeError, match=r"p must be|dtype of p must be"):
        check_positions("p", torch.zeros(2).to(dtype))


def test_relative_positions_of_a_batch():
    q, k = torch.tensor([[0], [5]]), torch.tensor([1, 2])
    assert relative_positions(q, k).tolist() == [[[1, 2]], [[-4, -3]]]
    with pytest.raises(ValueError, match="k_positions must have the batch of q_positions"):
        relative_positions(q, torch.ones(3, 2))


@pytest.mark.parametrize(
    ("q", "k"),
    [
        (torch.tensor([-(2**62), 0]), torch.tensor([2**62])),
        (torch.tensor([0]), torch.tensor([-(2**63)])),  # fits, but its distance does not
        (torch.tensor([3e38]), torch.tensor([-3e38])),
        (torch.tensor([1e308], dtype=torch.float64), torch.tensor([0, -1e308], dtype=torch.float64)),
    ],
)
def test_differences_that_would_wrap_or_be_infinite_are_refused(q, k):
    for first, second in ((q, k), (k, q)):
        with pytest.raises(ValueError, match=r"k_positions must lie within .* of q_positions, got .* for "):
            relative_positions(first, second)


def test_the_farthest_difference_that_fits_is_exact():
    q, k = torch.tensor([-(2**62), 5]), torch.tensor([2**62 - 1])
    assert relative_positions(q, k).tolist() == [[2**63 - 1], [2**62 - 6]]
    assert relative_positions(k, q).tolist() == [[1 - 2**63, 6 - 2**62]]
    assert relative_positions(q.to("meta"), k.to("meta")).shape == (2, 1)
    assert relative_positions(q[:0], k).shape == (0, 1)


def test_positions_keep_float64_and_widen_the_rest():
    assert check_positions("p", torch.ones(2, dtype=torch.float64)).dtype == torch.float64
    assert check_positions("p", torch.ones(2, dtype=torch.float16)).dtype == torch.float32
    assert check_positions("p", torch.ones(2, dtype=torch.uint8)).dtype == torch.int64


def test_tables_are_made_on_the_cpu_where_there_is_no_float64():
    assert float64_device(torch.device("mps")) == torch.device("cpu")
    assert float64_device(torch.device("meta")) == torch.device("meta")


def test_every_case_from_a_bug_report_is_tested():
    tests = Path(__file__).parent
    cases = {case["name"] for case in json.loads((tests / "cases.json").read_text("utf-8"))}
    source = "\n".join(path.read_text("utf-8") for path in tests.rglob("test_*.py"))
    assert {name for name in cases if not re.search(rf"\b{re.sub('_h[0-9]+$', '', name)}", source)} == set()


SIZES = {"dim": 12, "num_heads": 3, "head_dim": 4, "max_len": 10}


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_is_made_by_name_and_runs_in_attention(name):
    encoding = make_encoding(name, **SIZES)
    q, k, v = torch.randn(3, 2, 3, 10, 4)
    assert attention(q, k, v, encoding=encoding, causal=True).shape == (2, 3, 10, 4)
    assert encoding.add(torch.randn(2, 10, 12), torch.arange(10)).shape == (2, 10, 12)


def sockets_used(encoding):
    """The sockets a class overrides: the design's rule is at most one a method."""
    return [s for s in ("add", "rotate", "bias") if getattr(type(encoding), s) is not getattr(PositionEncoding, s)]


def test_each_method_plugs_into_one_socket():
    expected = {
        "none": [],
        "sinusoidal": ["add"],
        "learned": ["add"],
        "rope": ["rotate"],
        "alibi": ["bias"],
        "t5": ["bias"],
        "kerple_log": ["bias"],
        "kerple_power": ["bias"],
    }
    assert {name: sockets_used(make_encoding(name, **SIZES)) for name in expected} == expected


def test_options_reach_the_class():
    assert make_encoding("rope", **SIZES, layout="half").layout == "half"
    with pytest.raises(TypeError, match="unknown_option"):
        make_encoding("alibi", **SIZES, unknown_option=1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: make_encoding("roope", **SIZES), ValueError, "name must be one of 'none', 'sinusoidal'.* got 'roope'"),
        (lambda: make_encoding(None, **SIZES), ValueError, "name must be one of"),
        (lambda: make_encoding("none", **{**SIZES, "dim": 0}), ValueError, "dim must be an integer >= 1, got 0"),
        (lambda: make_encoding("rope", **{**SIZES, "head_dim": 5}), ValueError, "head_dim must be even"),
        (lambda: make_encoding("t5", **{**SIZES, "num_heads": 2.0}), TypeError, "num_heads must be an integer"),
    ],
)
def test_bad_names_and_sizes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ENCODINGS)
def test_decoding_token_by_token_equals_the_full_pass_in_both_protocols(name):
    torch.manual_seed(0)
    encoding = make_encoding(name, **SIZES)
    for parameter in encoding.parameters():
        torch.nn.init.uniform_(parameter, -1, 1)
    projections = torch.randn(3, 12, 12) / 12**0.5
    x = torch.randn(2, 7, 12)

    def qkv(x, positions):
        x = encoding.add(x, positions)
        return [(x @ w).unflatten(-1, (3, 4)).transpose(1, 2) for w in projections]

    full = attention(*qkv(x, torch.arange(7)), encoding=encoding, causal=True)
    past = [torch.zeros(2, 3, 0, 4) for _ in range(3)]  # unrotated keys, values, rotated keys
    for t in range(7):
        here = torch.tensor([t])
        q, k, v = qkv(x[:, t : t + 1], here)
        turned_q, turned_k = encoding.rotate(q, k, here, here)
        past = [torch.cat(pair, dim=2) for pair in zip(past, (k, v, turned_k), strict=True)]
        keys, values, turned_keys = past
        torch.testing.assert_close(attention(q, keys, values, encoding=encoding, causal=True), full[:, :, t : t + 1])
        bias = encoding.bias(here, torch.arange(t + 1))
        torch.testing.assert_close(attention(turned_q, turned_keys, values, bias=bias), full[:, :, t : t + 1])


@pytest.mark.parametrize("name", ENCODINGS)
def test_left_padded_rows_and_packed_texts_equal_each_text_alone(name):
    torch.manual_seed(0)
    encoding = make_encoding(name, **SIZES)
    projections = torch.randn(3, 12, 12) / 12**0.5
    x = torch.randn(1, 9, 12)

    def run(x, positions, mask=None):
        x = encoding.add(x, positions)
        q, k, v = ((x @ w).unflatten(-1, (3, 4)).transpose(1, 2) for w in projections)
        at = {"q_positions": positions, "k_positions": positions}
        return attention(q, k, v, encoding=encoding, mask=mask, causal=True, **at)

    padding = torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1, 1]])
    padded = run(x, positions_from_mask(padding), padding.bool()[:, None, None])
    torch.testing.assert_close(padded[:, :, 2:], run(x[:, 2:], torch.arange(7)))

    text = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1])
    packed = run(x, torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]]), text[:, None] == text[None, :])
    torch.testing.assert_close(packed[:, :, :4], run(x[:, :4], torch.arange(4)))
    torch.testing.assert_close(packed[:, :, 4:], run(x[:, 4:], torch.arange(5)))


# torch.func and FakeTensorMode


def test_values_are_readable_unless_mapped_over_or_fake():
    x, seen = torch.ones(2, 3), []

    def note(x):
        seen.append(values_are_readable(x))
        return x.sum()

    torch.func.vmap(note)(x)
    torch.func.vmap(torch.func.grad(note))(x)
    torch.func.grad(note)(x)
    with FakeTensorMode():
        note(torch.ones(3))
    note(x.to("meta"))
    note(x)
    assert seen == [False, False, True, False, False, True]


def test_a_check_still_reads_what_is_not_mapped_over():
    at = torch.tensor([0.0, math.nan])
    with pytest.raises(ValueError, match="q_positions must be finite"):
        torch.func.vmap(lambda k: relative_positions(at, k))(torch.ones(2, 3))


@pytest.mark.parametrize("mapped", ["all", "positions"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_maps_over_a_batch_as_one_by_one(name, dtype, mapped):
    torch.manual_seed(0)
    encoding = make_encoding(name, **SIZES | {"num_heads": 5})
    x, q = torch.randn(2, 3, 6, 12).to(dtype), torch.randn(2, 3, 5, 6, 4).to(dtype)  # as many heads as need blocks
    at = torch.stack((torch.arange(6), torch.arange(6) + 2))

    def every_socket(x, q, at):
        positions = {"q_positions": at, "k_positions": at}
        out = attention(q, q, q, encoding=encoding, causal=True, **positions)
        found = encoding.add(x, at), *encoding.rotate(q, q, at, at), encoding.bias(at, at), out
        return tuple(tensor for tensor in found if tensor is not None)

    if mapped == "all":
        found, rows = torch.func.vmap(every_socket)(x, q, at), (0, 1)
    else:
        found, rows = torch.func.vmap(every_socket, in_dims=(None, None, 0))(x[0], q[0], at), (0, 0)
    for i, row in enumerate(rows):
        torch.testing.assert_close(tuple(t[i] for t in found), every_socket(x[row], q[row], at[i]))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda at: sinusoidal_encoding(at, 8), [torch.rand(2, 4)]),
        (rope_cos_sin, [torch.rand(2, 4), torch.rand(2, 3)]),
        (lambda at, slopes: alibi_bias(at, at, slopes), [torch.rand(2, 4), torch.rand(2, 3)]),
        (lambda relative: t5_buckets(relative, bidirectional=True), [torch.arange(-8, 8).reshape(2, 8)]),
        (kerple_log_bias, [torch.rand(2, 4), torch.rand(2, 3), torch.rand(2, 3)]),
        (kerple_power_bias, [torch.rand(2, 4), torch.rand(2, 3), torch.rand(2, 3)]),
        (positions_from_mask, [torch.ones(2, 3, 4, dtype=torch.int64)]),
    ],
)
def test_every_function_that_looks_at_values_maps_over_a_batch(function, arguments):
    found = torch.func.vmap(function)(*arguments)
    for i in range(2):
        expected = function(*(argument[i] for argument in arguments))
        ours = tuple(t[i] for t in found) if isinstance(found, tuple) else found[i]
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_gives_shapes_in_fake_tensor_mode(name):
    with FakeTensorMode():
        encoding, at = make_encoding(name, **SIZES), torch.arange(10)
        q = torch.empty(2, 3, 10, 4)
        assert attention(q, q, q, encoding=encoding, causal=True).shape == q.shape
        assert encoding.add(torch.empty(2, 10, 12), at).shape == (2, 10, 12)
        assert encoding.rotate(q, q, at, at)[0].shape == q.shape
        if sockets_used(encoding) == ["bias"]:
            assert encoding.bias(at, at).shape == (3, 10, 10)


@pytest.mark.filterwarnings("ignore:alibi_attention builds the dense bias")
def test_functions_that_look_at_values_give_shapes_in_fake_tensor_mode():
    with FakeTensorMode():
        q = torch.empty(1, 2, 4, 4)
        assert alibi_attention(q, q, q, alibi_slopes(2)).shape == q.shape
        assert positions_from_mask(torch.ones(2, 3, dtype=torch.int64)).shape == (2, 3)
        assert rope_cos_sin(torch.rand(4), torch.rand(3))[0].shape == (4, 3)
        assert sinusoidal_encoding(torch.rand(4), 8).shape == (4, 8)
        assert kerple_log_bias(torch.rand(4), torch.rand(3), torch.rand(3)).shape == (3, 4)
