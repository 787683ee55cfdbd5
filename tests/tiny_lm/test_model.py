import pytest
import torch
from torch.nn import functional as F

from posenc_lib import ENCODINGS, AlibiBias
from posenc_lib.attention import attention
from posenc_lib.tiny_lm.corpus import VOCABULARY
from posenc_lib.tiny_lm.model import TinyTransformer


def make(name, seed=0, **sizes):
    torch.manual_seed(seed)
    return TinyTransformer(name, **sizes).eval()


def tokens(*shape, seed=0):
    return torch.randint(len(VOCABULARY), shape, generator=torch.Generator().manual_seed(seed))


def norm(x, weight):
    return weight * (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


def by_hand(model, ids):
    """The model's formula from its weights, with attention from `posenc_lib.attention`, in float64."""
    weights = {name: value.double() for name, value in model.state_dict().items()}
    encoding = model.encoding.double()
    heads = 4
    x = encoding.add(8 * weights["embed.weight"][ids], torch.arange(ids.shape[1]))  # 8 = √64
    for layer in range(2):
        w = {
            name: weights[f"blocks.{layer}.{name}.weight"]
            for name in ("attention_norm", "qkv", "project", "mlp_norm", "mlp.0", "mlp.2")
        }
        q, k, v = (norm(x, w["attention_norm"]) @ w["qkv"].T).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (q, k, v))
        x = x + attention(q, k, v, encoding=encoding, causal=True).transpose(1, 2).flatten(-2) @ w["project"].T
        x = x + F.gelu(norm(x, w["mlp_norm"]) @ w["mlp.0"].T) @ w["mlp.2"].T
    return norm(x, weights["norm.weight"]) @ weights["head.weight"].T


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 2e-5), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("name", ENCODINGS)
def test_logits_are_those_of_the_formula(name, dtype, tolerance):
    model, ids = make(name).to(dtype), tokens(2, 20)
    logits = model(ids)
    assert logits.dtype == dtype
    torch.testing.assert_close(logits.double(), by_hand(model, ids), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_place_sees_a_later_token(name):
    model, ids = make(name), tokens(1, 30)
    changed = ids.clone()
    changed[0, 20] = (ids[0, 20] + 1) % len(VOCABULARY)
    before, after = model(ids), model(changed)
    torch.testing.assert_close(after[:, :20], before[:, :20], atol=1e-6, rtol=0)
    assert (after[:, 20:] - before[:, 20:]).abs().amin(-1).min() > 0


@pytest.mark.parametrize("name", ENCODINGS)
def test_models_differ_by_the_parameters_of_their_encodings_alone(name):
    model = make(name)
    assert sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in model.encoding.parameters()) == 111_040


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_parameter_gets_a_gradient(name):
    model = make(name)
    F.cross_entropy(model(tokens(4, 128)).flatten(0, 1), tokens(4, 128, seed=1).flatten()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "kerple_log", "kerple_power", "none"])
def test_relative_encodings_do_not_notice_where_a_window_begins(name):
    model, ids = make(name), tokens(2, 16)
    torch.testing.assert_close(model(ids, positions=torch.arange(1000, 1016)), model(ids), atol=2e-5, rtol=0)


def test_another_encoding_takes_the_place_of_the_models_own():
    rope, none = make("rope"), make("none")
    none.load_state_dict(rope.state_dict())
    ids = tokens(1, 16)
    torch.testing.assert_close(rope(ids, encoding=none.encoding), none(ids))
    assert (rope(ids) - none(ids)).abs().max() > 0.01


@pytest.mark.parametrize("name", ENCODINGS)
def test_positions_of_each_row_are_its_own(name):
    model, ids = make(name), tokens(2, 20)
    positions = torch.stack((torch.arange(20), torch.arange(7, 27)))
    rows = [model(ids[row : row + 1], positions=positions[row]) for row in range(2)]
    torch.testing.assert_close(model(ids, positions=positions), torch.cat(rows), atol=2e-5, rtol=0)


@pytest.mark.parametrize("name", ENCODINGS)
def test_positions_that_do_not_fit_are_named(name):
    for positions in (torch.arange(1), torch.arange(5), torch.zeros(3, 4)):
        with pytest.raises(ValueError, match=r"positions must have shape \(4,\) or \(1, 4\)"):
            make(name)(tokens(1, 4), positions=positions)
    with pytest.raises(TypeError, match="positions must be an integer or floating tensor, got list"):
        make(name)(tokens(1, 4), positions=[0, 1, 2, 3])


def test_the_name_of_an_encoding_is_not_taken_for_one():
    with pytest.raises(TypeError, match="encoding must be a PositionEncoding, got str"):
        TinyTransformer("none")(torch.zeros(1, 3, dtype=torch.long), encoding="rope")


def test_an_encoding_for_another_number_of_heads_is_named():
    with pytest.raises(ValueError, match="encoding must have a bias for 4 heads, got 1"):
        make("rope")(tokens(1, 4), encoding=AlibiBias(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoding_name": "rotary"}, "name must be one of"),
        ({"encoding_name": "rope", "dim": 30, "num_heads": 4}, "dim must be a multiple of num_heads 4, got 30"),
        ({"encoding_name": "rope", "dim": 63, "num_heads": 3}, "dim must be even"),
        ({"encoding_name": "rope", "dim": 12, "num_heads": 4}, "head_dim must be even"),
        ({"encoding_name": "rope", "num_layers": 0}, "num_layers must be an integer >= 1, got 0"),
        ({"encoding_name": "learned", "trained_len": 0}, "trained_len must be an integer >= 1, got 0"),
    ],
)
def test_a_size_that_does_not_fit_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        TinyTransformer(**arguments)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (torch.zeros(4, dtype=torch.long), ValueError, r"tokens must have shape \(B, T\), got \(4,\)"),
        (torch.zeros(1, 4), TypeError, "tokens must be an int64 tensor, got torch.float32"),
        ([[1, 2]], TypeError, "tokens must be an int64 tensor, got list"),
        (torch.tensor([[0, 97]]), ValueError, "tokens must lie from 0 to 96, got 97"),
        (torch.tensor([[-1, 0]]), ValueError, "tokens must lie from 0 to 96, got -1"),
    ],
)
def test_tokens_of_another_kind_are_named(ids, error, message):
    with pytest.raises(error, match=message):
        make("rope")(ids)
