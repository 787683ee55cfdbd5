"""What must never happen: a server open to others, a fetch at run time, code run from a file or from an answer."""

import ast
import json
import os
import pickle
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
import pytest_socket
import torch

from posenc_lib.exercises import EXERCISES, check, hint, interview, predict, predictions, quiz, reveal
from posenc_lib.tiny_lm.checkpoints import load_checkpoint
from posenc_lib.widgets import ConfigReader
from tests.notebooks.cells import read
from tools.store_notebooks import NOTEBOOKS, execute, lessons

ROOT = NOTEBOOKS.parent
OFFLINE = ROOT / "tests" / "offline"
ELSEWHERE = ("192.0.2.1", 80)  # an address set aside for documentation, RFC 5737
START_UP = 120  # seconds


# JupyterLab


def status_of(address, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """What `make lab` runs, started: the process, and what the server says of itself."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("JUPYTER_TOKEN", raising=False)
    said = subprocess.run(
        ["make", "-n", "lab", "ARGS=--no-browser --ServerApp.port=0"],
        cwd=ROOT, env=os.environ | {"MAKEFLAGS": ""}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = said.replace("\\\n", " ").splitlines()
    (command,) = [shlex.split(line) for line in lines if "bin/jupyter lab" in line]
    command[0] = str(Path(sys.executable).with_name("jupyter"))
    log, runtime = tmp_path / "server.log", tmp_path / "jupyter_runtime_dir"
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + START_UP
        while not (found := list(runtime.glob("jpserver-*.json"))):
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')}")
            time.sleep(0.1)
        yield psutil.Process(server.pid), json.loads(found[0].read_text("utf-8"))
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.mark.slow
def test_jupyterlab_listens_to_this_machine_alone_and_asks_for_its_token(lab):
    process, info = lab
    listening = {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}
    contents = f"http://127.0.0.1:{info['port']}/api/contents"
    assert len(info["token"]) >= 32
    assert status_of(contents) == 403
    assert status_of(contents, Authorization="token " + "0" * 48) == 403
    assert status_of(contents, Authorization=f"token {info['token']}") == 200
    # a page elsewhere whose name was made to point here brings its own name, even if it knew the token
    assert status_of(contents, Authorization=f"token {info['token']}", Host="example.org") == 403


# Nothing is fetched


def test_a_test_reaches_this_machine_alone():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    with pytest.warns(match="192.0.2.1"), pytest.raises(pytest_socket.SocketConnectBlockedError):
        socket.create_connection(ELSEWHERE, timeout=1)


@pytest.mark.parametrize(
    ("reach", "entry"),
    [
        (f"socket.create_connection({ELSEWHERE})", "socket.getaddrinfo 192.0.2.1"),
        (f"socket.socket().connect({ELSEWHERE})", "socket.connect 192.0.2.1"),
        (f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'', {ELSEWHERE})", "socket.sendto 192.0.2.1"),
        ("urllib.request.urlopen('http://example.org')", "socket.getaddrinfo example.org"),
        ("server = socket.create_server(('127.0.0.1', 0)); socket.create_connection(server.getsockname())", None),
        ("socket.socketpair()", None),
    ],
)
def test_a_python_kept_offline_reaches_this_machine_alone(tmp_path, reach, entry):
    log = tmp_path / "log"
    env = os.environ | {"PYTHONPATH": str(OFFLINE), "OFFLINE_LOG": str(log), "no_proxy": "*"}
    command = [sys.executable, "-c", f"import socket, urllib.request\n{reach}"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (run.returncode == 0) == (entry is None), run.stderr
    assert ("nothing may be fetched at run time" in run.stderr) == (entry is not None)
    assert (log.read_text("utf-8").splitlines() if entry else log.exists()) == ([entry] if entry else False)


@pytest.mark.slow
@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_lesson_fetches_nothing(path, tmp_path, monkeypatch):
    """Not even in vain: what a library tries and gives up is written down too."""
    log = tmp_path / "log"
    monkeypatch.setenv("PYTHONPATH", str(OFFLINE), prepend=os.pathsep)
    monkeypatch.setenv("OFFLINE_LOG", str(log))
    notebook = read(path)
    notebook.cells[0].source = "import sitecustomize\nassert 'refuse_to_leave' in dir(sitecustomize)"
    notebook.cells[0].cell_type = "code"
    execute(notebook, path.parent, label=f"{path.name} offline")
    assert not log.exists(), log.read_text("utf-8")


# Files are data


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize(
    ("write", "unpickle"),
    [
        (lambda bomb, path: path.write_bytes(pickle.dumps(bomb)), lambda path: pickle.loads(path.read_bytes())),
        (torch.save, lambda path: torch.load(path, weights_only=False)),
    ],
    ids=["pickle", "torch"],
)
def test_a_pickle_in_place_of_weights_is_refused_and_not_run(tmp_path, write, unpickle):
    bomb, path, mark = tmp_path / "bomb", tmp_path / "text_rope.safetensors", tmp_path / "mark"
    write(Bomb(mark), bomb)
    path.write_bytes(bomb.read_bytes())
    with pytest.raises(ValueError, match=r"weights text_rope.safetensors are damaged"):
        load_checkpoint(path, "rope")
    assert not mark.exists()
    unpickle(bomb)
    assert mark.exists()  # so it would have been seen


RUNS_TEXT = {"eval", "exec", "compile", "__import__", "runpy.run_path", "runpy.run_module"}
RUNS_TEXT |= {f"os.{name}" for name in ("system", "popen", "execv", "execve", "execvp", "spawnv", "spawnl")}
RUNS_TEXT |= {f"{module}.{name}" for module in ("pickle", "marshal") for name in ("load", "loads", "Unpickler")}
RUNS_TEXT |= {"torch.load", "torch.jit.load", "torch.hub.load", "joblib.load", "shelve.open", "yaml.load"}
RUNS_TEXT |= {"subprocess.getoutput", "subprocess.getstatusoutput", "pandas.read_pickle"}
EXCEPTIONS = {  # run at a maintainer's, on the project's own files
    "make_site.py: compile", "make_site.py: eval",  # numbers written out in a lesson's call, names and calls refused
    "site_frames.py: exec",  # a lesson's own cells
}  # fmt: skip


def dotted(node):
    """`a.b.c` as text, or "" for what is no chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    left = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return left and f"{left}.{node.attr}"


def calls_that_run_text(source):
    """Calls, under whatever name they were imported, that run text or unpickle a file."""
    tree, names, found = ast.parse(source), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        first, dot, rest = dotted(node.func).partition(".")
        name = (names.get(first, first) + dot + rest).removeprefix("builtins.")
        if name in RUNS_TEXT:
            found.append(name)
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
            if keyword.arg in ("shell", "allow_pickle") and not off:
                found.append(f"{keyword.arg}=")
    return found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("eval(x)", ["eval"]),
        ("import builtins as b; b.exec(x)", ["exec"]),
        ("from os import system as s; s(x)", ["os.system"]),
        ("import pickle as p\ndef f(x): return p.Unpickler(x)", ["pickle.Unpickler"]),
        ("from torch import load; load(x)", ["torch.load"]),
        ("subprocess.run(x, shell=flag)", ["shell="]),
        ("np.load(x, allow_pickle=True)", ["allow_pickle="]),
        ("model.eval(); re.compile(x); torch.compile(f); json.loads(x); subprocess.run(x, shell=False)", []),
    ],
)
def test_calls_that_run_text_are_found_by_whatever_name(source, found):
    assert calls_that_run_text(source) == found


def test_the_library_and_its_tools_run_no_text_and_unpickle_nothing():
    found = {
        f"{path.relative_to(ROOT / folder)}: {name}"
        for folder in ("posenc_lib", "tools")
        for path in (ROOT / folder).rglob("*.py")
        for name in calls_that_run_text(path.read_text("utf-8"))
    }
    assert found == EXCEPTIONS


# Answers are data

MARK = "posenc_was_here"
HOSTILE = [
    f"__import__('pathlib').Path('{MARK}').touch()",
    f"(lambda: open('{MARK}', 'w'))()",
    f"$(touch {MARK})",
    f"`touch {MARK}`",
    f"1; touch {MARK}",
    f"1 | touch {MARK}",
    f"!touch {MARK}",
    f"%sx touch {MARK}",
    f"{{__import__('os').system('touch {MARK}')}}",
    f"<img src=x onerror=\"IPython.notebook.kernel.execute('!touch {MARK}')\">",
    f'{{"rope_type": "yarn", "factor": "__import__(\'os\').system(\'touch {MARK}\')"}}',
    f'{{"rope_type": "!!python/object/apply:os.system [\'touch {MARK}\']"}}',
    pickle.dumps(Bomb(Path(MARK))).decode("latin-1"),
]
watched = None


def watch(event, arguments):
    """Note what runs a process, and what compiles a text that holds the mark."""
    if watched is None:
        return
    starts = event in ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class")
    if starts or (event == "compile" and MARK in str(arguments[0])):
        watched.append((event, str(arguments)))


sys.addaudithook(watch)


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """What was run while the test ran, in an empty folder."""
    global watched
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSENC_PROGRESS", raising=False)
    monkeypatch.setattr(predictions, "_choices", {})
    watched = []
    yield watched
    watched = None


def test_what_would_be_run_is_seen(seen):
    eval(HOSTILE[0])
    pickle.loads(HOSTILE[-1].encode("latin-1"))
    os.system(f"touch {MARK}")
    assert {"compile", "pickle.find_class", "os.system"} <= {event for event, _ in seen}
    assert Path(MARK).exists()


@pytest.mark.parametrize("text", HOSTILE)
def test_an_answer_is_never_run(seen, text):
    for id in EXERCISES:
        for answer in (text, [text], {text: text}, text.encode()):
            assert not check(id, answer).passed
    for ask in (lambda id: check(id, 1), hint, quiz, interview):
        with pytest.raises(ValueError, match="id must be one of"):
            ask(text)
    typed, chosen = predict("typed", "How far?"), predict("chosen", text, [text, "or not"])
    for prediction in (typed, chosen):
        prediction.control.value = text
        prediction.button.click()
        prediction._repr_mimebundle_()
    assert chosen.answer == text
    reveal("chosen", "or not")
    assert (seen, Path(MARK).exists()) == ([], False)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_pasted_config_is_never_run(seen, text):
    reader = ConfigReader()
    for pasted in (text, json.dumps({"rope_type": text}), json.dumps({"rope_type": "linear", "factor": text})):
        reader.controls["config"].value = pasted
        assert "Not read" in reader.readout
    assert (seen, Path(MARK).exists()) == ([], False)
