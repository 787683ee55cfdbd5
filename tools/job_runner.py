"""Run many jobs, each with one result file: on this machine's cores through joblib, or on a Dask cluster.

A job is a function's arguments under a name; it returns measurements (what JSON holds) and tensors, and both go into
one file, written at once or not at all. Started again, the runner leaves a finished job's file as it is if the job is
still the same, and runs the others from their beginning. Only this process writes: a job that a lost worker held is
given to another, and however often it ran, one result of it is kept.
"""

import hashlib
import inspect
import json
import os
import platform
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import psutil
import safetensors
import safetensors.torch
from torch import Tensor
from tqdm import tqdm

Outcome = tuple[dict[str, Any], dict[str, Tensor]]
"""Measurements, and tensors by name."""


@dataclass(frozen=True)
class Job:
    """`function(**arguments)`, or `function(tensors, **arguments)` for a job that starts from tensors.

    The arguments are what JSON holds. With other arguments or tensors it is another job.
    """

    function: Callable[..., Outcome]
    arguments: dict[str, Any]
    tensors: dict[str, Tensor] | None = None


def run_jobs(jobs: Mapping[str, Job], folder: Path, *, dask: str | None = None, workers: int | None = None) -> None:
    """Run every job that has no result in the folder yet.

    Args:
        jobs: by name, which is the stem of the result's file.
        folder: of the result files; made if need be.
        dask: address of a Dask scheduler. It and its workers run from a clone of this project, set up as here, each
            worker with one thread: `python -m dask scheduler`, `python -m dask worker ADDRESS --nthreads 1`.
        workers: processes on this machine, one a core if None.

    Raises:
        ValueError: a job's name cannot name a file, or a Dask worker has several threads, which would share one
            random state.
        Exception: what a job raised; results that came before it stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in jobs:
        if not re.fullmatch(r"[\w.-]+", name) or (folder / f"{name}.safetensors").is_dir():
            raise ValueError(f"jobs: {name!r} must be the name of a file, and no folder may have its place")
    todo = {name: job for name, job in jobs.items() if not is_finished(folder / f"{name}.safetensors", job)}
    outcomes = on_this_machine(todo, workers) if dask is None else on_dask(todo, dask)
    with tqdm(total=len(jobs), initial=len(jobs) - len(todo), unit="job") as bar:
        for name, outcome in outcomes:
            write_result(folder / f"{name}.safetensors", jobs[name], outcome)
            bar.set_postfix_str(name)
            bar.update()


def on_this_machine(jobs: Mapping[str, Job], workers: int | None) -> Iterator[tuple[str, Outcome]]:
    """Names and outcomes as they come, from as many processes."""
    parallel = joblib.Parallel(n_jobs=workers or joblib.cpu_count(), return_as="generator_unordered", batch_size=1)
    yield from parallel(joblib.delayed(_run)(name, job) for name, job in jobs.items())


def on_dask(jobs: Mapping[str, Job], address: str) -> Iterator[tuple[str, Outcome]]:
    """Names and outcomes as they come, from the cluster's workers; a lost worker's jobs go to the others."""
    from distributed import Client, as_completed  # only for who has a cluster

    with Client(address) as client:
        client.wait_for_workers(1, timeout=60)
        for worker, details in client.scheduler_info(n_workers=-1)["workers"].items():
            if details["nthreads"] != 1:
                raise ValueError(
                    f"dask: each worker must have one thread, got {details['nthreads']} at {worker}: "
                    "start it with --nthreads 1"
                )
        futures = [client.submit(_run, name, job, key=f"{name}-{uuid.uuid4()}") for name, job in jobs.items()]
        for future in as_completed(futures):
            yield future.result()
            future.release()  # its tensors need not stay on the cluster


def write_result(path: Path, job: Job, outcome: Outcome) -> None:
    """What `read_result` reads, and for which job it is."""
    measured, tensors = outcome
    metadata = {"job": _identity(job), "measured": json.dumps(measured)}
    write_atomically(path, safetensors.torch.save(tensors, metadata))


def read_result(path: Path) -> Outcome:
    """The measurements and tensors of a finished job."""
    with safetensors.safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["measured"]), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118


def is_finished(path: Path, job: Job) -> bool:
    """Whether the file holds a whole result of just this job."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return file.metadata()["job"] == _identity(job)
    except (OSError, safetensors.SafetensorError, TypeError, KeyError):
        return False


def write_atomically(path: Path, content: bytes) -> None:
    """The whole content under that name, or what was there before."""
    name = f"{path.name}.{platform.node()}"  # another run may be writing the same, on another machine too
    for left in path.parent.glob(f"{name}.*.part"):
        number = left.suffixes[-2][1:]
        if number.isdigit() and not psutil.pid_exists(int(number)):  # its run was killed as it wrote
            left.unlink(missing_ok=True)
    part = path.with_name(f"{name}.{os.getpid()}.part")
    part.write_bytes(content)
    os.replace(part, path)


def _run(name: str, job: Job) -> tuple[str, Outcome]:
    start = () if job.tensors is None else (job.tensors,)
    return name, job.function(*start, **job.arguments)


def _identity(job: Job) -> str:
    start = {} if job.tensors is None else {"tensors": hashlib.sha256(safetensors.torch.save(job.tensors)).hexdigest()}
    module = Path(inspect.getfile(job.function)).stem  # __module__ is "__main__" where the file is run
    return json.dumps({"function": f"{module}.{job.function.__qualname__}", **job.arguments, **start}, sort_keys=True)
