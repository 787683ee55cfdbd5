"""Progress is never lost: not by two kernels at once, a kill, a damaged file or a folder that cannot be written."""

import errno
import json
import os
import subprocess
import sys
import time

import pytest

from posenc_lib.exercises import check, hint, progress, progress_file

ROPE = "rope-dot-product"

RECORD_MANY = """
import sys
from posenc_lib.exercises import progress_file
print("ready", flush=True)
sys.stdin.readline()
for item in range(int(sys.argv[2])):
    progress_file.update(lambda state: state["predictions"].update({f"{sys.argv[1]}-{item}": float(item)}))
    progress_file.update(lambda state: state["attempts"].update(total=state["attempts"].get("total", 0) + 1))
"""


def start(name, items):
    """A process with the library loaded, that records when its standard input closes."""
    process = subprocess.Popen(
        [sys.executable, "-c", RECORD_MANY, name, str(items)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process


def test_kernels_at_once_lose_nothing(progress_path):
    processes = [start(name, 50) for name in "abc"]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.close()
    for process in processes:
        assert process.wait(60) == 0, process.stderr.read()
        process.stdout.close()
        process.stderr.close()
    state = json.loads(progress_path.read_text("utf-8"))
    expected = {f"{name}-{item}": float(item) for name in "abc" for item in range(50)}
    assert state["predictions"] == expected
    assert state["attempts"] == {"total": 150}


def test_killed_kernel_leaves_a_whole_file_and_no_lock(progress_path):
    process = start("a", 10**6)
    assert process.stdout.readline() == "ready\n"
    process.stdin.close()
    while not progress_path.exists():
        time.sleep(0.01)
    time.sleep(0.2)
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    recorded = json.loads(progress_path.read_text("utf-8"))["predictions"]
    assert recorded == {f"a-{item}": float(item) for item in range(len(recorded))}
    check(ROPE, 1)
    state = json.loads(progress_path.read_text("utf-8"))
    assert state["predictions"] == recorded
    assert state["solved"] == {ROPE: True}


def test_left_over_half_file_does_no_harm(progress_path):
    progress_path.with_name(progress_path.name + ".tmp").write_text('{"att')
    check(ROPE, 1)
    assert progress_file.read()["solved"] == {ROPE: True}


def test_progress_survives_a_new_process(progress_path, monkeypatch):
    hint(ROPE)
    check(ROPE, 1)
    code = f"from posenc_lib.exercises import hint, progress; progress(); hint({ROPE!r})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "lesson 04        1      0  " in result.stdout
    assert f"{ROPE}, hint 2 of 3" in result.stdout


def test_environment_variable_names_another_place(tmp_path, monkeypatch, progress_path):
    elsewhere = tmp_path / "elsewhere.json"
    monkeypatch.setenv("POSENC_PROGRESS", str(elsewhere))
    check(ROPE, 1)
    assert elsewhere.exists()
    assert not progress_path.exists()


@pytest.mark.parametrize(("folder", "shared"), [("exercises", True), ("solutions", False)])
def test_exercises_share_the_lessons_file_and_solutions_do_not(folder, shared, tmp_path, monkeypatch, progress_path):
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / folder)
    check(ROPE, 1)
    assert progress_path.exists() == shared
    assert (tmp_path / folder / progress_path.name).exists() != shared


def test_reading_leaves_a_fresh_folder_as_it_was(tmp_path):
    progress()
    assert list(tmp_path.iterdir()) == []


DAMAGED = {
    "cut off": b'{"attempts": {"rope-dot',
    "empty": b"",
    "not UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "a number": b"3",
    "section is a list": b'{"solved": []}',
    "section is null": b'{"hints": null}',
    "negative count": b'{"hints": {"rope-dot-product": -1}}',
    "count is true": b'{"attempts": {"rope-dot-product": true}}',
    "count is text": b'{"attempts": {"rope-dot-product": "3"}}',
    "unsolved": b'{"solved": {"rope-dot-product": false}}',
    "prediction is a list": b'{"predictions": {"a": []}}',
    "prediction is NaN": b'{"predictions": {"a": NaN}}',
    "prediction is infinite": b'{"predictions": {"a": 1e999}}',
    "quiz answer is a number": b'{"quiz_answers": {"04/decay": 2}}',
    "too deep": b"[" * 100_000,
    "too many digits": b'{"attempts": {"a": ' + b"9" * 10_000 + b"}}",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("first_call", [progress, lambda: hint(ROPE)], ids=["read", "write"])
def test_damaged_file_is_kept_beside_said_and_passed_over(content, first_call, progress_path, capsys):
    progress_path.write_bytes(content)
    first_call()
    said = capsys.readouterr().out.splitlines()
    assert sum("damaged" in line for line in said) == 1
    assert progress_path.with_name("posenc_progress.json.damaged").read_bytes() == content
    check(ROPE, 1)
    progress()
    said = capsys.readouterr().out
    assert "damaged" not in said
    assert "lesson 04        1      0  " in said


def test_file_of_a_newer_version_keeps_what_is_not_known_here(progress_path):
    progress_path.write_text(json.dumps({"attempts": {"gone": 2}, "later": {"a": 1}}), "utf-8")
    check(ROPE, 1)
    state = json.loads(progress_path.read_text("utf-8"))
    assert state["later"] == {"a": 1}
    assert state["attempts"] == {"gone": 2, ROPE: 1}


def refuse(*args, **kwargs):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize("where", ["a folder", "no such folder", "read-only"])
def test_unwritable_place_is_said_once_and_progress_kept_in_memory(where, tmp_path, monkeypatch, capsys):
    path = tmp_path / "none" / "file.json" if where == "no such folder" else tmp_path / "file.json"
    monkeypatch.setenv("POSENC_PROGRESS", str(path))
    if where == "a folder":
        path.mkdir()
    if where == "read-only":
        check(ROPE, 0)
        capsys.readouterr()
        monkeypatch.setattr(os, "replace", refuse)
    hint(ROPE)
    check(ROPE, 1)
    hint(ROPE)
    progress()
    said = capsys.readouterr().out
    assert said.count("file.json cannot be used") == 1
    assert f"{ROPE}, hint 2 of 3" in said
    assert "lesson 04        1      0  " in said
    if where == "read-only":
        assert json.loads(path.read_text("utf-8"))["attempts"] == {ROPE: 1}, "the file stays as it was"
        assert progress_file.read()["attempts"] == {ROPE: 2}, "and what it held is not forgotten"


def test_damaged_file_that_cannot_be_moved_is_passed_over(progress_path, monkeypatch, capsys):
    progress_path.write_text("{", "utf-8")
    monkeypatch.setattr(os, "replace", refuse)
    check(ROPE, 1)
    progress()
    said = capsys.readouterr().out
    assert said.count("cannot be used") == 1
    assert "lesson 04        1      0  " in said
    assert progress_path.read_text("utf-8") == "{"
