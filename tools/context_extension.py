"""Stretch the bake-off's RoPE models past their window, untuned and tuned, and store what was measured.

    python -m tools.context_extension                                # a few minutes on two cores, after the bake-off
    python -m tools.context_extension --dask tcp://127.0.0.1:8786

Its models are those that tools/bake_off.py left in build/, or are trained here first. Results:
posenc_lib/tiny_lm/results/context_extension.json.
"""

import copy
import itertools
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from posenc_lib import RotaryEncoding
from posenc_lib.context_extension import longrope, ntk_aware
from posenc_lib.rope import RopeScaling
from posenc_lib.tiny_lm import TinyTransformer, load_corpus, loss_by_position, train
from posenc_lib.tiny_lm.evaluation import window_losses
from posenc_lib.tiny_lm.stretching import STRETCHES
from tools import bake_off
from tools.bake_off import SEEDS, made_with, over_seeds, rounded
from tools.job_runner import Job, Outcome, read_result, run_jobs

FOLDER = Path(__file__).resolve().parents[1] / "build" / "context_extension"
FACTORS = (2, 4, 8)
TUNED = ("raw", "PI", "NTK", "YaRN")
TUNED_FACTOR = 4
STEPS = {"text": (20, 100, 300), "recall": (300,)}
LEARNING_RATE = 1e-3  # a third of what the models were trained with
WINDOWS_A_STEP = 4  # long windows: as many characters a step as in training
NTK_MULTIPLES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)  # of the nominal factor
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # LongRoPE's search: a pair is slowed by factor to one of these
SEARCH_CHUNKS = 2  # of window_losses, a candidate


def measure_untuned(weights: dict[str, Tensor], settings: dict) -> Outcome:
    """One job: every way to stretch one model, at every factor."""
    model = start(weights, settings)
    return {str(factor): at_factor(model, factor) for factor in FACTORS}, {}


def at_factor(model: TinyTransformer, factor: int) -> dict:
    """Losses of each way at factor × the trained length, and inside the trained length."""
    measured = {name: measure(model, stretched(name, model, factor), factor) for name in STRETCHES}
    multiple = min(NTK_MULTIPLES, key=lambda multiple: search_loss(model, ntk(model, factor * multiple), factor))
    measured["NTK, best factor"] = measure(model, ntk(model, factor * multiple), factor) | {"multiple": multiple}
    factors = search_longrope(model, factor)
    measured["LongRoPE"] = measure(model, searched(model, factor, factors), factor) | {"factors": factors}
    return measured


def measure(model: TinyTransformer, scaling: Callable[[int], RopeScaling] | None, factor: int) -> dict:
    """What a stretched model does in a window of factor × T_train, and in one of T_train."""
    losses = loss_by_position(model, factor * model.trained_len, scaling=scaling)
    return {
        "last_quarter": rounded(losses[-len(losses) // 4 :].mean()),
        "last_32": rounded(losses[-32:].mean()),
        "by_position": [rounded(part.mean()) for part in losses.split(bake_off.BIN)],
        "inside": rounded(loss_by_position(model, model.trained_len, scaling=scaling).mean()),
    }


def stretched(name: str, model: TinyTransformer, factor: int) -> Callable[[int], RopeScaling]:
    return lambda length: STRETCHES[name](model.head_dim, factor, model.trained_len, length)


def ntk(model: TinyTransformer, factor: float) -> Callable[[int], RopeScaling]:
    return lambda length: ntk_aware(model.head_dim, factor)


def searched(model: TinyTransformer, factor: int, factors: list[float]) -> Callable[[int], RopeScaling]:
    """LongRoPE with these long factors, and none up to the trained length."""
    plain = [1.0] * len(factors)
    return lambda length: longrope(model.head_dim, factor, model.trained_len, length, plain, factors)


def search_longrope(model: TinyTransformer, factor: int) -> list[float]:
    """LongRoPE's idea at this size: from what PI, NTK and YaRN do, change runs of pairs while the loss falls.

    As in the paper no pair is slowed more than a slower one, so no factor falls from one pair to the next.
    """
    pairs = model.head_dim // 2
    plain = STRETCHES["raw"](model.head_dim, factor, model.trained_len, 0).frequencies

    def loss(factors: list[float]) -> float:
        return search_loss(model, searched(model, factor, factors), factor)

    starts = [(plain / stretched(name, model, factor)(0).frequencies).tolist() for name in ("PI", "NTK", "YaRN")]
    best, factors = min((loss(start), start) for start in starts)
    improved = True
    while improved:
        improved = False
        for (first, last), exponent in itertools.product(itertools.combinations(range(pairs + 1), 2), EXPONENTS):
            candidate = [*factors[:first], *[factor**exponent] * (last - first), *factors[last:]]
            if candidate != factors and candidate == sorted(candidate) and (found := loss(candidate)) < best:
                best, factors, improved = found, candidate, True
    return [round(value, 4) for value in factors]


def search_loss(model: TinyTransformer, scaling: Callable[[int], RopeScaling], factor: int) -> float:
    """Last-quarter loss on training text: what is chosen must not have seen the text that it is measured on."""
    length = factor * model.trained_len
    chunks = window_losses(model, length, scaling=scaling, text=load_corpus().train)
    losses = torch.cat(list(itertools.islice(chunks, SEARCH_CHUNKS)))
    return losses[:, -length // 4 :].mean().item()


def fine_tune(weights: dict[str, Tensor], settings: dict, method: str, task: str, seed: int) -> Outcome:
    """One job: a model stretched by TUNED_FACTOR, measured before and after each number of steps on long windows."""
    model = start(weights, settings)
    length = TUNED_FACTOR * model.trained_len
    scaling = STRETCHES[method](model.head_dim, TUNED_FACTOR, model.trained_len, length)
    measured = {}
    for steps in (0, *STEPS[task]):
        tuned = copy.deepcopy(model)
        tuned.encoding = RotaryEncoding(model.head_dim, scaling=scaling)
        if steps:
            train(
                tuned,
                load_corpus().train,
                task=task,
                steps=steps,
                seed=seed,
                length=length,
                batch_size=WINDOWS_A_STEP,
                learning_rate=LEARNING_RATE,
                label=None,
            )
        measured[str(steps)] = measure(tuned, None, TUNED_FACTOR) if task == "text" else bake_off.measure_recall(tuned)
    return measured, {}


def start(weights: dict[str, Tensor], settings: dict) -> TinyTransformer:
    """The RoPE model with these weights, in a process that is set up as for training."""
    bake_off.check_settings(settings, own_settings())
    torch.set_num_threads(1)
    model = TinyTransformer("rope")
    model.load_state_dict(weights)
    return model.eval()


def own_settings() -> dict:
    """What the results depend on besides a job's arguments."""
    return bake_off.own_settings() | {
        "factors": list(FACTORS),
        "tuned_factor": TUNED_FACTOR,
        "tuning_steps": {task: list(steps) for task, steps in STEPS.items()},
        "learning_rate": LEARNING_RATE,
        "windows_a_step": WINDOWS_A_STEP,
        "ntk_multiples": list(NTK_MULTIPLES),
        "exponents": list(EXPONENTS),
        "search_chunks": SEARCH_CHUNKS,
    }


def make_jobs() -> dict[str, Job]:
    settings = own_settings()
    weights = {
        (task, seed): read_result(bake_off.FOLDER / f"{bake_off.job_name(task, 'rope', seed)}.safetensors")[1]
        for task in STEPS
        for seed in SEEDS
    }
    jobs = {f"untuned_{seed}": Job(measure_untuned, {"settings": settings}, weights["text", seed]) for seed in SEEDS}
    for method, (task, seed) in itertools.product(TUNED, weights):
        arguments = {"settings": settings, "method": method, "task": task, "seed": seed}
        jobs[f"{task}_{method}_{seed}"] = Job(fine_tune, arguments, weights[task, seed])
    return jobs


def gather() -> dict:
    def of_seeds(name: str) -> dict:
        return over_seeds([read_result(FOLDER / f"{name}_{seed}.safetensors")[0] for seed in SEEDS])

    return {
        "made_with": made_with(SEEDS, STEPS),
        "untuned": of_seeds("untuned"),
        "tuned": {task: {method: of_seeds(f"{task}_{method}") for method in TUNED} for task in STEPS},
    }


def main() -> None:
    dask = bake_off.parse_arguments(__doc__)
    run_jobs(bake_off.make_jobs(["rope"], SEEDS, bake_off.STEPS), bake_off.FOLDER, dask=dask)
    run_jobs(make_jobs(), FOLDER, dask=dask)
    bake_off.store_results(gather(), "context_extension")


if __name__ == "__main__":
    main()
