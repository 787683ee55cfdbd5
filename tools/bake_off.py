"""Train every encoding from scratch, measure all of them alike, and store what ships with posenc_lib.tiny_lm.

    python -m tools.bake_off                                # on this machine's cores, about half an hour on two
    python -m tools.bake_off --dask tcp://127.0.0.1:8786    # on a Dask cluster (extra `cluster`)

Two models an encoding and seed: one of the text as it is, one that learns to recall a key. Stop it at any moment and
start it again: finished jobs stay. Results: posenc_lib/tiny_lm/results/bake_off.json, and the weights of seed 0.
"""

import argparse
import json
import platform
import time
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from posenc_lib import ENCODINGS
from posenc_lib.tiny_lm import TinyTransformer, load_corpus, loss_by_position, recall_by_distance, train
from posenc_lib.tiny_lm.checkpoints import RESULTS, SHIPPED, WEIGHTS, save_checkpoint
from tools import job_runner
from tools.job_runner import Job, Outcome

FOLDER = Path(__file__).resolve().parents[1] / "build" / "bake_off"
SEEDS = (0, 1, 2)
STEPS = {"text": 2000, "recall": 1200}
LENGTHS = (128, 256, 512, 1024, 2048)
BIN = 16  # positions averaged into one number of a stored curve
RECALL_DISTANCES = {
    128: (16, 32, 48, 64, 80, 96, 112),
    512: (16, 32, 64, 96, 128, 192, 256, 320, 384, 448, 496),
}


def train_model(encoding: str, *, task: str, seed: int, steps: int) -> TinyTransformer:
    """A trained model with weights that float16 holds: what is measured is what ships."""
    torch.set_num_threads(1)  # losses differ between one thread and two
    torch.manual_seed(seed)
    model = TinyTransformer(encoding)
    train(model, load_corpus().train, task=task, steps=steps, seed=seed, label=None)
    return model.half().float().eval()


def measure_text(model: TinyTransformer) -> dict:
    """Losses of one model: over whole windows, their last quarter and last 32 places, and along the longest one.

    The mean over whole windows is what evaluation on non-overlapping windows gives. The last 32 places predict the
    same characters at each length, each with nearly the whole window before it: what a sliding window gives.
    """
    learned = model.encoding_name == "learned"
    measured: dict = {"whole": {}, "last_quarter": {}, "last_32": {}, "by_position": {}}
    for length in LENGTHS:
        losses = loss_by_position(model, length, clamp=learned)
        measured["whole"][str(length)] = rounded(losses.mean())
        measured["last_quarter"][str(length)] = rounded(losses[-length // 4 :].mean())
        measured["last_32"][str(length)] = rounded(losses[-32:].mean())
        measured["by_position"][str(length)] = [rounded(part.mean()) for part in losses.split(BIN)]
    return measured


def measure_recall(model: TinyTransformer) -> dict:
    """Accuracy at each distance, by length of the window."""
    learned = model.encoding_name == "learned"
    return {
        str(length): dict(
            zip(
                map(str, distances),
                map(rounded, recall_by_distance(model, distances, length, clamp=learned)),
                strict=True,
            )
        )
        for length, distances in RECALL_DISTANCES.items()
    }


def train_and_measure(encoding: str, task: str, seed: int, steps: int, settings: dict) -> Outcome:
    """One job: the model of one encoding, task and seed, made with the settings of the process that set the job."""
    check_settings(settings, own_settings())
    started = time.process_time()
    model = train_model(encoding, task=task, seed=seed, steps=steps)
    seconds = time.process_time() - started
    measured = measure_text(model) if task == "text" else measure_recall(model)
    cost = {
        "milliseconds_per_step": round(1000 * seconds / steps, 2),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    return {"measured": measured, **cost}, {key: value.half() for key, value in model.state_dict().items()}


def own_settings() -> dict:
    """What the results of this process depend on besides a job's arguments: with other ones it is another job."""
    return {
        "text": load_corpus().hash,
        "torch": torch.__version__.partition("+")[0],
        "lengths": list(LENGTHS),
        "bin": BIN,
        "recall_distances": {str(length): list(distances) for length, distances in RECALL_DISTANCES.items()},
    }


def check_settings(expected: dict, own: dict) -> None:
    """ValueError if a worker's settings are not those where its job was set."""
    different = [f"{own.get(key)!r} for {key} {value!r}" for key, value in expected.items() if own.get(key) != value]
    if different:
        raise ValueError(f"settings must be as where the jobs were set, got {', '.join(different)}")


def make_jobs(encodings: Iterable[str], seeds: Iterable[int], steps: dict[str, int]) -> dict[str, Job]:
    """Jobs by name, "text_rope_0"."""
    settings = own_settings()
    return {
        job_name(task, encoding, seed): Job(
            train_and_measure,
            {"encoding": encoding, "task": task, "seed": seed, "steps": steps[task], "settings": settings},
        )
        for task in steps
        for seed in seeds
        for encoding in encodings
    }


def job_name(task: str, encoding: str, seed: int) -> str:
    return f"{task}_{encoding}_{seed}"


def gather(folder: Path, encodings: Iterable[str], seeds: Iterable[int], steps: dict[str, int]) -> dict:
    """All results as one: each number becomes its mean over the seeds, their spread (largest − smallest) and each."""
    seeds = list(seeds)
    results: dict = {"made_with": made_with(seeds, steps), "encodings": {}}
    for encoding in encodings:
        entry: dict = {}
        for task in steps:
            of_seeds = [
                job_runner.read_result(folder / f"{job_name(task, encoding, seed)}.safetensors")[0] for seed in seeds
            ]
            entry["parameters"] = of_seeds[0]["parameters"]
            entry[task] = over_seeds([measured["measured"] for measured in of_seeds])
            entry[task]["milliseconds_per_step"] = over_seeds([m["milliseconds_per_step"] for m in of_seeds])
        results["encodings"][encoding] = entry
    return results


def made_with(seeds: list[int], steps: dict[str, int]) -> dict:
    return {
        "text": load_corpus().hash,
        "python": platform.python_version(),
        "torch": torch.__version__.partition("+")[0],
        "seeds": seeds,
        "steps": steps,
    }


def over_seeds(values: list) -> dict:
    """The same structure with each number, and each list of numbers, replaced by mean, spread and the seeds' own."""
    first = values[0]
    if isinstance(first, dict):
        return {key: over_seeds([value[key] for value in values]) for key in first}
    if isinstance(first, list):
        return {
            "mean": [rounded(sum(point) / len(point)) for point in zip(*values, strict=True)],
            "spread": [rounded(max(point) - min(point)) for point in zip(*values, strict=True)],
            "seeds": values,
        }
    return {"mean": rounded(sum(values) / len(values)), "spread": rounded(max(values) - min(values)), "seeds": values}


def rounded(value: float | Tensor) -> float:
    return round(float(value), 4)


def ship(folder: Path, results: dict, encodings: Iterable[str], seed: int, name: str) -> None:
    """Write the results and that seed's weights into the library, each file whole or not at all."""
    for place in (RESULTS, WEIGHTS):
        place.mkdir(parents=True, exist_ok=True)
    for encoding in encodings:
        for task in results["made_with"]["steps"]:
            if encoding in SHIPPED[task]:
                weights = job_runner.read_result(folder / f"{job_name(task, encoding, seed)}.safetensors")[1]
                path = WEIGHTS / f"{task}_{encoding}.safetensors"
                job_runner.write_atomically(path, save_checkpoint(weights, encoding, task))
    store_results(results, name)


def store_results(results: dict, name: str) -> None:
    text = json.dumps(results, indent=1) + "\n"
    job_runner.write_atomically(RESULTS / f"{name}.json", text.encode())


def parse_arguments(description: str) -> str | None:
    """The address that --dask names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dask", metavar="ADDRESS", help="run the jobs on the Dask cluster of that scheduler")
    return parser.parse_args().dask


def main() -> None:
    dask = parse_arguments(__doc__)
    job_runner.run_jobs(make_jobs(ENCODINGS, SEEDS, STEPS), FOLDER, dask=dask)
    ship(FOLDER, gather(FOLDER, ENCODINGS, SEEDS, STEPS), ENCODINGS, SEEDS[0], "bake_off")


if __name__ == "__main__":
    main()
