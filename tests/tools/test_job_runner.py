import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import distributed
import pytest
import torch

from tests.tools import sample_jobs
from tools.job_runner import Job, is_finished, read_result, run_jobs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ran(tmp_path):
    """The folder where `square` leaves a file for each time that it starts."""
    folder = tmp_path / "ran"
    folder.mkdir()
    return folder


def squares(ran, number=4, seconds=0.0):
    arguments = {"folder": str(ran), "seconds": seconds}
    return {f"square_{n}": Job(sample_jobs.square, {"number": n, **arguments}) for n in range(number)}


def measured(folder):
    return {path.stem: read_result(path)[0] for path in folder.glob("*.safetensors")}


def test_each_job_leaves_its_measurements_and_tensors(tmp_path, ran):
    run_jobs(squares(ran), tmp_path / "results", workers=2)
    assert measured(tmp_path / "results") == {f"square_{n}": {"square": n * n} for n in range(4)}
    assert torch.equal(read_result(tmp_path / "results" / "square_3.safetensors")[1]["number"], torch.tensor([3.0]))
    assert len(list(ran.iterdir())) == 4
    assert str(os.getpid()) not in {path.name.split("-")[1] for path in ran.iterdir()}  # in processes of their own


def test_finished_jobs_are_not_run_again(tmp_path, ran):
    run_jobs(squares(ran, 2), tmp_path, workers=1)
    before = (tmp_path / "square_1.safetensors").stat().st_mtime_ns
    run_jobs(squares(ran, 3), tmp_path, workers=1)
    assert len(list(ran.iterdir())) == 3
    assert (tmp_path / "square_1.safetensors").stat().st_mtime_ns == before


def test_a_job_with_other_arguments_is_another_job(tmp_path, ran):
    run_jobs(squares(ran, 2), tmp_path, workers=1)
    changed = squares(ran, 2)
    changed["square_1"].arguments["number"] = 5
    run_jobs(changed, tmp_path, workers=1)
    assert measured(tmp_path) == {"square_0": {"square": 0}, "square_1": {"square": 25}}
    assert len(list(ran.iterdir())) == 3


def test_a_job_that_starts_from_other_tensors_is_another_job(tmp_path):
    def job(value):
        return Job(sample_jobs.add, {"number": 1}, {"start": torch.tensor([value])})

    run_jobs({"add": job(2.0)}, tmp_path, workers=1)
    assert measured(tmp_path) == {"add": {"sum": 3.0}}
    assert is_finished(tmp_path / "add.safetensors", job(2.0))
    assert not is_finished(tmp_path / "add.safetensors", job(4.0))


@pytest.mark.parametrize("content", [b"", b"half a file", None])
def test_half_a_result_is_made_again(tmp_path, ran, content):
    jobs = squares(ran, 1)
    run_jobs(jobs, tmp_path, workers=1)
    path = tmp_path / "square_0.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-3] if content is None else content)
    assert not is_finished(path, jobs["square_0"])
    run_jobs(jobs, tmp_path, workers=1)
    assert read_result(path) == ({"square": 0}, {"number": torch.tensor([0.0])})
    assert is_finished(path, jobs["square_0"])


def test_what_a_job_raises_comes_through_and_finished_results_stay(tmp_path):
    jobs = {f"half_{n}": Job(sample_jobs.refuse_odd, {"number": n}) for n in (2, 4, 5)}
    with pytest.raises(ValueError, match="number must be even, got 5"):
        run_jobs(jobs, tmp_path, workers=1)
    assert measured(tmp_path) == {"half_2": {"half": 1}, "half_4": {"half": 2}}


@pytest.mark.parametrize("name", ["a/b", "../escape", ""])
def test_a_name_that_is_no_file_name_is_refused_before_anything_runs(tmp_path, ran, name):
    jobs = {"square_0": squares(ran)["square_0"], name: squares(ran)["square_1"]}
    with pytest.raises(ValueError, match=r"jobs: .* must be the name of a file"):
        run_jobs(jobs, tmp_path / "results", workers=1)
    (tmp_path / "results" / "square_0.safetensors").mkdir()
    with pytest.raises(ValueError, match=r"jobs: 'square_0' must be .* no folder may have its place"):
        run_jobs(squares(ran), tmp_path / "results", workers=1)
    assert not list(ran.iterdir())


def test_killed_and_started_again_ends_the_same(tmp_path, ran):
    script = (
        "from pathlib import Path\n"
        "from tests.tools.test_job_runner import run_jobs, squares\n"
        f"run_jobs(squares({str(ran)!r}, 4, seconds=1.0), Path({str(tmp_path / 'results')!r}), workers=1)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(list(ran.iterdir())) == 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (finished,) = (tmp_path / "results").glob("*.safetensors")  # the first one; the second was under way
    first = finished.read_bytes()
    run_jobs(squares(ran, 4, seconds=1.0), tmp_path / "results", workers=2)
    assert finished.read_bytes() == first
    assert measured(tmp_path / "results") == {f"square_{n}": {"square": n * n} for n in range(4)}
    started = [path.name.split("-")[0] for path in ran.iterdir()]
    assert {number: started.count(number) for number in "0123"} == {"0": 1, "1": 2, "2": 1, "3": 1}


@pytest.fixture
def cluster(tmp_path):
    """Starts a Dask scheduler and workers on loopback: cluster(number, threads) → (address, worker processes)."""
    processes = []

    def start(*command):
        log = (tmp_path / "cluster.log").open("a")
        processes.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))
        return processes[-1]

    def cluster(number, threads=1):
        contact = tmp_path / "scheduler.json"
        dask = (sys.executable, "-m", "dask")
        start(*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", contact)
        wait_for(lambda: contact.is_file() and contact.read_text().endswith("}"))
        common = ("--scheduler-file", contact, "--nthreads", str(threads), "--no-nanny", "--no-dashboard")
        workers = [start(*dask, "worker", *common, "--local-directory", tmp_path) for _ in range(number)]
        address = json.loads(contact.read_text())["address"]
        with distributed.Client(address) as client:
            client.wait_for_workers(number, timeout=60)
        return address, workers

    yield cluster
    for process in processes:
        process.kill()
        process.wait()


def test_a_worker_killed_midway_loses_nothing_and_counts_nothing_twice(tmp_path, ran, cluster):
    address, workers = cluster(2)
    jobs = squares(ran, 6, seconds=1.0)
    killer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os, time\nwhile len(os.listdir({str(ran)!r})) < 2: time.sleep(0.05)\nos.kill({workers[0].pid}, 9)",
        ]
    )
    run_jobs(jobs, tmp_path / "results", dask=address)
    killer.wait()
    assert workers[0].poll() == -signal.SIGKILL
    assert measured(tmp_path / "results") == {f"square_{n}": {"square": n * n} for n in range(6)}
    assert len(list(ran.iterdir())) == 7  # the job that the lost worker held ran once more


def test_workers_with_several_threads_are_refused(tmp_path, ran, cluster):
    address, _ = cluster(1, threads=2)
    with pytest.raises(ValueError, match=r"dask: each worker must have one thread, got 2 at tcp://127.0.0.1:\d+"):
        run_jobs(squares(ran), tmp_path / "results", dask=address)
    assert not list(ran.iterdir())


def wait_for(condition, seconds=60):
    """Poll until the condition holds; the limit is for a test that would otherwise hang."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
