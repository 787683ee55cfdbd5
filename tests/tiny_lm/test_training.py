import pytest
import torch

from posenc_lib.tiny_lm.corpus import encode
from posenc_lib.tiny_lm.model import TinyTransformer
from posenc_lib.tiny_lm.training import train

TEXT = encode("abcdefgh" * 100)


def make(seed=0):
    torch.manual_seed(seed)
    return TinyTransformer("rope", dim=16, num_layers=1, trained_len=16)


def test_a_text_that_repeats_itself_is_learned():
    losses = train(make(), TEXT, steps=60, seed=0, learning_rate=0.02, label=None)
    assert losses.shape == (60,)
    assert losses[:3].mean() > 4
    assert losses[-5:].mean() < 0.2


def test_equal_seeds_give_equal_weights_and_others_do_not():
    def weights(model_seed, seed):
        model = make(model_seed)
        train(model, encode("what a long text" * 9), steps=3, seed=seed, label=None)
        return model.embed.weight

    assert torch.equal(weights(0, 1), weights(0, 1))
    assert not torch.equal(weights(0, 1), weights(0, 2))


def test_the_global_random_state_is_left_alone():
    model = make()
    state = torch.get_rng_state()
    train(model, TEXT, steps=2, seed=0, label=None)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": TEXT - 100}, "text must lie from 0 to 96, got -"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"text": TEXT[:16]}, "text must have at least 17 tokens for a window, got 16"),
        ({"steps": 0}, "steps must be an integer >= 1, got 0"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1, got 0"),
        ({"length": 1}, "length must be an integer >= 2, got 1"),
        ({"length": 20, "task": "recall"}, "length must be an integer >= 23, got 20"),
        ({"learning_rate": -1.0}, "learning_rate must be a finite number > 0, got -1.0"),
        ({"task": "copy"}, "task must be one of 'text', 'recall', got 'copy'"),
    ],
)
def test_what_does_not_fit_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        train(make(), **{"text": TEXT, "steps": 2, "seed": 0, "label": None} | arguments)


def test_a_model_of_another_kind_is_named():
    with pytest.raises(TypeError, match=r"model must be a TinyTransformer .*, got str"):
        train("rope", TEXT, steps=2, seed=0, label=None)


@pytest.mark.parametrize("task", ["text", "recall"])
def test_the_defaults_do_not_matter(task):
    model, again = make(), make()
    expected = train(model, TEXT, task=task, steps=3, seed=0, length=30, label=None)
    with torch.device("meta"):
        losses = train(again, TEXT, task=task, steps=3, seed=0, length=30, label=None)
    assert torch.equal(losses, expected)
    assert torch.equal(again.embed.weight, model.embed.weight)


def test_a_training_that_diverges_is_not_passed_off_as_one():
    with pytest.raises(RuntimeError, match=r"diverged at learning_rate 1e\+30 in torch.float32: lower the rate"):
        train(make(), TEXT, steps=5, seed=0, learning_rate=1e30, label=None)


def test_a_bar_shows_only_where_it_has_a_label(capsys):
    train(make(), TEXT, steps=2, seed=0, label=None)
    assert capsys.readouterr().err == ""
    train(make(), TEXT, steps=2, seed=0, label="two steps")
    assert "two steps" in capsys.readouterr().err
