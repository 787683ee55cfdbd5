import math

import pytest
import torch
from torch.nn import functional as F

from posenc_lib.context_extension import position_interpolation
from posenc_lib.rope import RopeScaling, rope_frequencies
from posenc_lib.tiny_lm.checkpoints import load
from posenc_lib.tiny_lm.corpus import encode, load_corpus
from posenc_lib.tiny_lm.evaluation import loss_by_position, recall_by_distance, window_losses
from posenc_lib.tiny_lm.model import TinyTransformer
from posenc_lib.tiny_lm.windows import LETTERS


def make(name="rope", seed=0):
    torch.manual_seed(seed)
    return TinyTransformer(name).eval()


def test_a_model_that_knows_nothing_loses_ln_97_everywhere():
    model = make()
    torch.nn.init.zeros_(model.head.weight)
    losses = loss_by_position(model, 40)
    assert losses.dtype == torch.float64
    torch.testing.assert_close(losses, torch.full((40,), math.log(97), dtype=torch.float64), atol=1e-6, rtol=0)


def test_each_place_is_the_mean_of_next_character_losses_over_32_windows():
    model, length, text = make("alibi"), 20, load_corpus().held_out
    ends = [2048 + round(i * (len(text) - 1 - 2048) / 31 - 0.5) for i in range(32)]
    total = torch.zeros(length, dtype=torch.float64)
    for window in window_losses(model, length):
        total += window.sum(0)
    torch.testing.assert_close(loss_by_position(model, length), total / 32)
    first = text[2048 - length : 2049]
    by_hand = [-model(first[None, :-1])[0, t].double().log_softmax(-1)[first[t + 1]].item() for t in range(length)]
    assert next(iter(window_losses(model, length)))[0].tolist() == pytest.approx(by_hand, abs=1e-5)
    assert ends[0] == 2048  # where that first window ends, whatever its length


def test_windows_of_all_lengths_end_on_the_same_characters():
    model = make("none")
    for block in model.blocks:  # without attention each place sees its own character alone
        torch.nn.init.zeros_(block.project.weight)
    longest = loss_by_position(model, 300)
    for length in (2, 64, 128):
        torch.testing.assert_close(loss_by_position(model, length), longest[-length:], atol=1e-6, rtol=0)


def test_the_defaults_do_not_matter():
    model, recalls = make(), load("alibi", task="recall")
    expected = loss_by_position(model, 16), recall_by_distance(recalls, [24], 64)
    with torch.device("meta"):
        elsewhere = loss_by_position(model, 16), recall_by_distance(recalls, [24], 64)
    torch.set_default_dtype(torch.float16)
    try:
        narrow = loss_by_position(model, 16), recall_by_distance(recalls, [24], 64)
    finally:
        torch.set_default_dtype(torch.float32)
    for measured in (elsewhere, narrow):
        assert all(map(torch.equal, measured, expected))


def test_nothing_is_changed():
    model = make().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = loss_by_position(model, 140, scaling=position_interpolation(16, 4))
    recall_by_distance(model, [20], 64)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert model.training
    assert not first.requires_grad
    assert torch.equal(first, loss_by_position(model, 140, scaling=position_interpolation(16, 4)))


def test_scaling_takes_the_place_of_the_models_frequencies():
    model = make()
    plain = RopeScaling(rope_frequencies(16))
    torch.testing.assert_close(loss_by_position(model, 64, scaling=plain), loss_by_position(model, 64))
    stopped = RopeScaling(rope_frequencies(16) * 0)  # hands that stand still are no position at all
    nope = make("none")
    nope.load_state_dict(model.state_dict())
    torch.testing.assert_close(loss_by_position(model, 64, scaling=stopped), loss_by_position(nope, 64))


def test_a_callable_scaling_is_asked_with_the_length():
    asked = []

    def scaling(length):
        asked.append(length)
        return position_interpolation(16, 2)

    losses = loss_by_position(make(), 100, scaling=scaling)
    assert set(asked) == {100}
    torch.testing.assert_close(losses, loss_by_position(make(), 100, scaling=position_interpolation(16, 2)))


def test_clamping_repeats_the_last_row():
    model = make("learned")
    text = load_corpus().held_out[2048 - 150 : 2049]
    positions = torch.cat((torch.arange(128), torch.full((22,), 127)))
    by_hand = F.cross_entropy(model(text[None, :-1], positions=positions)[0], text[1:], reduction="none")
    first = next(iter(window_losses(model, 150, clamp=True)))[0]
    torch.testing.assert_close(first.float(), by_hand, atol=1e-5, rtol=0)
    torch.testing.assert_close(loss_by_position(model, 128, clamp=True), loss_by_position(model, 128))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("some text", TypeError, "text must be an int64 tensor, got str"),
        (torch.zeros(3, 100, dtype=torch.long), ValueError, r"text must have shape \(T,\), got \(3, 100\)"),
        (torch.full((100,), -100), ValueError, "text must lie from 0 to 96, got -100"),  # cross_entropy ignores −100
    ],
)
def test_text_of_another_kind_is_named(text, error, message):
    with pytest.raises(error, match=message):
        window_losses(make(), 8, text=text)


def test_stopping_after_a_chunk_leaves_the_rest_undone():
    calls = []
    model = make()
    model.register_forward_hook(lambda *_: calls.append(1))
    chunks = window_losses(model, 32)
    assert calls == []
    assert next(chunks).shape == (4, 32)
    assert len(calls) == 1


def test_other_text_is_measured_when_it_is_given():
    model = make()
    text = load_corpus().train[:3000]
    losses = torch.cat(list(window_losses(model, 50, text=text)))
    last = text[-51:]
    by_hand = F.cross_entropy(model(last[None, :-1])[0], last[1:], reduction="none")
    torch.testing.assert_close(losses[-1].float(), by_hand, atol=1e-5, rtol=0)


class LooksBack(TinyTransformer):
    """A model that copies what followed the same three characters, if that is at most `reach` back."""

    def __init__(self, reach):
        super().__init__("none")
        self.reach = reach

    def forward(self, tokens, **_):
        logits = torch.zeros(*tokens.shape, 97)
        for row, window in enumerate(tokens.tolist()):
            for t in range(len(window) - 12, len(window)):
                for back in range(3, min(self.reach, t - 2) + 1):
                    if window[t - 2 : t + 1] == window[t - back - 2 : t - back + 1]:
                        logits[row, t, window[t - back + 1]] = 1
                        break
        return logits


def test_recall_finds_out_how_far_a_model_looks():
    distances = [12, 30, 50, 51, 88]
    assert recall_by_distance(LooksBack(88), distances, 100).tolist() == pytest.approx([1.0] * 5, abs=0.01)
    assert recall_by_distance(LooksBack(50), distances, 100).tolist() == pytest.approx([1, 1, 1, 0, 0], abs=0.05)


def test_recall_is_chance_for_a_model_that_says_one_letter():
    model = make("none")
    torch.nn.init.zeros_(model.head.weight)
    model.norm = torch.nn.Identity()
    model.forward = lambda tokens, **_: F.one_hot(LETTERS[:1], 97).float().expand(*tokens.shape, 97)
    assert recall_by_distance(model, [20, 40], 64).tolist() == pytest.approx([1 / 26] * 2, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"length": 1}, ValueError, "length must be an integer >= 2, got 1"),
        ({"length": 0}, ValueError, "length must be an integer >= 2"),
        ({"length": 2.5}, TypeError, "length must be an integer"),
        ({"length": 10**15}, ValueError, r"length must be below \d+, the characters of the text, got 10{15}"),
        ({"length": 8, "clamp": True}, ValueError, "clamp is for a learned table alone, and this model uses 'rope'"),
        ({"length": 8, "clamp": 1}, TypeError, "clamp must be True or False"),
        ({"length": 8, "scaling": "yarn"}, TypeError, "scaling must be a RopeScaling or a callable"),
        ({"length": 8, "scaling": position_interpolation(32, 2)}, ValueError, "scaling must hold rotary_dim/2 = 8"),
    ],
)
def test_what_does_not_fit_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        loss_by_position(make(), **arguments)
    with pytest.raises(error, match=message):
        window_losses(make(), **arguments)  # before the first windows are asked for


def test_a_model_of_another_kind_is_named():
    with pytest.raises(TypeError, match=r"model must be a TinyTransformer .*, got Linear"):
        loss_by_position(torch.nn.Linear(2, 2), 8)
    with pytest.raises(ValueError, match="scaling is for RoPE alone, and this model uses 'alibi'"):
        loss_by_position(make("alibi"), 8, scaling=position_interpolation(16, 2))
    with pytest.raises(ValueError, match="length must be at most 128, the rows of the learned table, got 129"):
        loss_by_position(make("learned"), 129)


@pytest.mark.parametrize(
    ("distances", "length", "message"),
    [
        ([11], 100, "distances must lie from 12 to 88 in a window of 100, got 11"),
        ([12, 89], 100, "distances must lie from 12 to 88 in a window of 100, got 89"),
        ([12], 23, "length must be an integer >= 24, got 23"),
    ],
)
def test_a_key_that_does_not_fit_is_named(distances, length, message):
    with pytest.raises(ValueError, match=message):
        recall_by_distance(make(), distances, length)


def test_lower_case_letters_are_the_keys_alphabet():
    assert torch.equal(LETTERS, encode("abcdefghijklmnopqrstuvwxyz"))
