import json

import pytest
import torch

from posenc_lib.tiny_lm import load, stored_results
from posenc_lib.tiny_lm.checkpoints import load_checkpoint
from posenc_lib.tiny_lm.corpus import load_corpus
from tools import bake_off, job_runner

TEXT = load_corpus().hash


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The bake-off on short windows, storing into a folder of its own."""
    monkeypatch.setattr(bake_off, "LENGTHS", (32, 128, 140))
    monkeypatch.setattr(bake_off, "RECALL_DISTANCES", {64: (16, 40)})
    for name in ("RESULTS", "WEIGHTS"):
        monkeypatch.setattr(bake_off, name, tmp_path / name.lower())
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)


def test_a_job_gives_the_same_again(small):
    first, second = (bake_off.train_and_measure("learned", "text", 1, 2, bake_off.own_settings()) for _ in range(2))
    assert first[0]["measured"] == second[0]["measured"]
    assert all(torch.equal(first[1][name], second[1][name]) for name in first[1])
    other, _ = bake_off.train_and_measure("learned", "text", 2, 2, bake_off.own_settings())
    assert other["measured"] != first[0]["measured"]


def test_losses_are_summed_up_as_said(small):
    torch.manual_seed(0)
    model = bake_off.train_model("alibi", task="text", seed=0, steps=1)
    losses = bake_off.loss_by_position(model, 128)
    measured = bake_off.measure_text(model)
    assert measured["whole"]["128"] == pytest.approx(losses.mean().item(), abs=1e-4)
    assert measured["last_quarter"]["128"] == pytest.approx(losses[96:].mean().item(), abs=1e-4)
    last = bake_off.loss_by_position(model, 140)[108:].mean().item()  # at 128 they are the last quarter
    assert measured["last_32"]["140"] == pytest.approx(last, abs=1e-4)
    assert measured["last_quarter"]["32"] == pytest.approx(
        bake_off.loss_by_position(model, 32)[24:].mean().item(), abs=1e-4
    )
    assert len(measured["by_position"]["140"]) == 9  # eight bins of 16 positions and one of 12
    assert measured["by_position"]["128"][3] == pytest.approx(losses[48:64].mean().item(), abs=1e-4)


def test_a_job_set_elsewhere_with_other_settings_is_refused():
    settings = bake_off.own_settings() | {"text": "0123", "torch": "1.0"}
    with pytest.raises(ValueError, match=f"settings must be as .* got '{TEXT}' for text '0123', '.*' for torch '1.0'"):
        bake_off.train_and_measure("rope", "text", 0, 1, settings)


def test_with_other_settings_it_is_another_job(monkeypatch, tmp_path):
    def job():
        return bake_off.make_jobs(["rope"], [0], {"text": 1})["text_rope_0"]

    job_runner.write_result(tmp_path / "a.safetensors", job(), ({}, {"weight": torch.zeros(1)}))
    assert job_runner.is_finished(tmp_path / "a.safetensors", job())
    monkeypatch.setattr(bake_off, "LENGTHS", (32, 64))
    assert not job_runner.is_finished(tmp_path / "a.safetensors", job())


def test_seeds_become_mean_spread_and_each():
    of_seeds = [{"a": 1.0, "b": [1.0, 2.0]}, {"a": 2.0, "b": [2.0, 5.0]}, {"a": 4.5, "b": [0.0, 2.0]}]
    assert bake_off.over_seeds(of_seeds) == {
        "a": {"mean": 2.5, "spread": 3.5, "seeds": [1.0, 2.0, 4.5]},
        "b": {"mean": [1.0, 3.0], "spread": [2.0, 3.0], "seeds": [[1.0, 2.0], [2.0, 5.0], [0.0, 2.0]]},
    }


def test_what_ships_is_what_was_measured(small):
    encodings, seeds, steps = ("rope", "none"), (4, 5), {"text": 2, "recall": 1}
    for name, job in bake_off.make_jobs(encodings, seeds, steps).items():
        job_runner.write_result(small / f"{name}.safetensors", job, job.function(**job.arguments))
    results = bake_off.gather(small, encodings, seeds, steps)
    bake_off.ship(small, results, encodings, 5, "bake_off")
    assert sorted(path.name for path in (small / "weights").iterdir()) == [
        "recall_rope.safetensors",  # recall ships for rope and alibi alone
        "text_none.safetensors",
        "text_rope.safetensors",
    ]
    stored = json.loads((small / "results" / "bake_off.json").read_text())
    assert stored["made_with"]["text"] == TEXT
    assert stored["made_with"]["seeds"] == [4, 5]
    model = load_checkpoint(small / "weights" / "text_rope.safetensors", "rope")
    whole = bake_off.measure_text(model)["whole"]["140"]
    assert stored["encodings"]["rope"]["text"]["whole"]["140"]["seeds"][1] == pytest.approx(whole, abs=1e-4)
    assert stored["encodings"]["rope"]["parameters"] == 111_040


@pytest.mark.slow
@pytest.mark.skipif(
    stored_results("bake_off")["made_with"]["text"] != TEXT, reason="the shipped models were trained on another text"
)
def test_training_again_gives_the_shipped_model_again():
    """To 0.05 nats: another processor rounds otherwise, and 2000 steps let that grow."""
    threads = torch.get_num_threads()
    again = bake_off.train_model("rope", task="text", seed=0, steps=bake_off.STEPS["text"])
    torch.set_num_threads(threads)
    for length in (128, 512):
        new, shipped = (bake_off.loss_by_position(model, length)[:100].mean() for model in (again, load("rope")))
        assert new.item() == pytest.approx(shipped.item(), abs=0.05)
