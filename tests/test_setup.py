"""What a person's first minutes rest on: tools/setup_env.py, the lists of dependencies, the built wheel."""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pytest
import yaml
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from traitlets.config import PyFileConfigLoader

from tools import setup_env
from tools.make_portable import build_wheel

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tools" / "setup_env.py"
SERVER_CONFIG = ROOT / "tools" / "jupyter_server_config.py"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8")

posix_only = pytest.mark.skipif(os.name == "nt", reason="the stand-in for Python is started by its #! line")

# Stands in for Python: `-m venv DIR` puts a copy of itself there, `-m pip …` installs ten files in 0.2 s.
STUB = f"""#!{sys.executable}
import os, pathlib, shutil, sys, time
with open("calls", "a") as calls:
    print(*sys.argv[2:], file=calls)
here = pathlib.Path(__file__)
if sys.argv[2] == "venv":
    folder = pathlib.Path(sys.argv[3], "bin")
    folder.mkdir(parents=True)
    shutil.copy(here, folder / "python")
else:
    folder = here.parent.parent
    try:
        for number in range(10):
            folder.mkdir(exist_ok=True)
            (folder / f"installed{{number}}.{{os.getpid()}}").touch()
            time.sleep(0.02)
        while not pathlib.Path(os.environ.get("STUB_ENDS_WITH", here)).exists():
            time.sleep(0.01)
    except KeyboardInterrupt:
        sys.exit("ERROR: Operation cancelled by user")
    print(os.environ.get("STUB_SAYS", "Successfully installed"))
    sys.exit(int(os.environ.get("STUB_STATUS", 0)))
"""


class Project:
    """A copy of the set-up in a folder of its own, with the stand-in for the Python that makes .venv."""

    def __init__(self, root):
        self.root = root
        self.venv = root / ".venv"
        self.stamp = self.venv / "posenc_setup.json"
        (root / "tools").mkdir(parents=True)
        for file in (SCRIPT, SERVER_CONFIG):
            shutil.copy(file, root / "tools")
        extras = "lab = []\ntest = []\npeers = []\n"
        (root / "pyproject.toml").write_text("[project.optional-dependencies]\n" + extras)
        (root / "constraints.txt").write_text("torch==2.13.0\n")
        (root / "stub").write_text(STUB)
        (root / "stub").chmod(0o755)

    def start(self, *extras, before="", **environment):
        """Start the set-up in a process group of its own; `before` is code to run ahead of it."""
        code = (
            # a job in a shell's background ignores SIGINT, and so would what it starts
            "import runpy, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"sys._base_executable = {str(self.root / 'stub')!r}\n"
            f"{before}\nrunpy.run_path('tools/setup_env.py', run_name='__main__')"
        )
        return subprocess.Popen(
            [sys.executable, "-c", code, *extras],
            cwd=self.root,
            env=os.environ | {"PIP_ARGS": ""} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def set_up(self, *extras, **options):
        """Run the set-up to its end; returns (exit status, what it printed)."""
        process = self.start(*extras, **options)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def calls(self):
        """What the stand-in was asked for: "venv …" and "pip …", in order."""
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def installed(self):
        """How many files stand in .venv, and by how many runs of pip they were written."""
        files = list(self.venv.glob("installed*"))
        return len(files), len({file.suffix for file in files})

    def wait_for(self, count):
        deadline = time.monotonic() + 30
        while len(list(self.venv.glob("installed*"))) < count:
            assert time.monotonic() < deadline, f"pip never wrote {count} files"
            time.sleep(0.005)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "course with a space")


def kinds(calls):
    return [call.split()[0] for call in calls]


@posix_only
def test_first_call_makes_venv_and_installs_under_the_constraints(project):
    status, output = project.set_up("lab", "test")
    assert status == 0, output
    assert project.calls() == [
        f"venv {project.venv}",
        "pip install --disable-pip-version-check -c constraints.txt -e .[lab,test]",
    ]
    settings = json.loads((project.venv / "share/jupyter/lab/settings/overrides.json").read_text())
    assert settings["@jupyter-widgets/jupyterlab-manager:plugin"] == {"saveState": True}
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert (project.venv / "etc/jupyter/jupyter_server_config.py").read_text() == SERVER_CONFIG.read_text()


def test_a_kernels_messages_leave_the_server_at_once():
    """Else a picture waits until the browser acknowledges the message before it: 40 ms where both are one machine."""
    chosen = PyFileConfigLoader(str(SERVER_CONFIG)).load_config().ServerApp.kernel_websocket_connection_class
    with patch.object(ZMQChannelsWebsocketConnection, "connect") as connect:
        handler = Mock()
        assert chosen.connect(Mock(spec=chosen, websocket_handler=handler)) is connect.return_value
    handler.set_nodelay.assert_called_once_with(True)


@posix_only
@pytest.mark.parametrize("again", [("lab", "test"), ("test",), ()])
def test_second_call_starts_nothing_and_says_nothing(project, again):
    project.set_up("lab", "test")
    assert project.set_up(*again) == (0, "")
    assert kinds(project.calls()) == ["venv", "pip"]


@posix_only
def test_more_extras_are_added_to_those_installed(project):
    project.set_up("lab")
    project.set_up("peers")
    assert kinds(project.calls()) == ["venv", "pip", "pip"]
    assert project.calls()[-1].endswith("-e .[lab,peers]")
    assert project.set_up("lab", "peers") == (0, "")


def another_hash(project):
    with open(project.root / "constraints.txt", "a") as file:
        file.write("numpy==2.4.0\n")


def another_python(project):
    stamp = json.loads(project.stamp.read_text())
    project.stamp.write_text(json.dumps(stamp | {"python": "3.11.0"}))


def no_stamp(project):
    project.stamp.unlink()


def torn_stamp(project):
    project.stamp.write_text(project.stamp.read_text()[:20])


def python_gone(project):
    (project.venv / "bin" / "python").unlink()


@posix_only
@pytest.mark.parametrize("change", [another_hash, another_python, no_stamp, torn_stamp, python_gone])
def test_venv_that_does_not_fit_is_built_from_nothing(project, change):
    project.set_up("lab")
    change(project)
    (project.venv / "left over").touch()
    status, output = project.set_up("test")
    assert status == 0, output
    assert kinds(project.calls()) == ["venv", "pip"] * 2
    assert project.calls()[-1].endswith("-e .[test]")
    assert not (project.venv / "left over").exists()


@posix_only
def test_moved_folder_is_built_from_nothing(project):
    """A venv's scripts hold its absolute path."""
    project.set_up("lab")
    moved = Project.__new__(Project)
    moved.root = project.root.rename(project.root.with_name("moved"))
    moved.venv = moved.root / ".venv"
    assert moved.set_up("lab")[0] == 0
    assert moved.calls()[2] == f"venv {moved.venv}"


@posix_only
def test_pip_args_reach_pip_and_other_ones_build_anew(project):
    project.set_up("lab", PIP_ARGS="--proxy 'a b'")
    assert project.calls()[-1].endswith("-e .[lab] --proxy a b")
    assert project.set_up("lab", PIP_ARGS="--proxy 'a b'") == (0, "")
    assert project.set_up("lab") == (0, "")
    project.set_up("lab", PIP_ARGS="--pre")
    assert kinds(project.calls()) == ["venv", "pip"] * 2


@pytest.mark.parametrize(
    ("system", "pip_args", "options"),
    [
        (
            "posix",
            r"""--proxy 'a b' --find-links "/c d" e\ f #g""",
            ["--proxy", "a b", "--find-links", "/c d", "e f", "#g"],
        ),
        (
            "nt",
            r"""--proxy 'a b' --find-links "C:\c d" D:\e #g""",
            ["--proxy", "a b", "--find-links", r"C:\c d", r"D:\e", "#g"],
        ),
        ("nt", "", []),
    ],
)
def test_pip_args_lose_their_quotes_and_on_windows_keep_their_backslashes(monkeypatch, system, pip_args, options):
    monkeypatch.setattr(setup_env, "os", SimpleNamespace(name=system))
    assert setup_env.pip_options(pip_args) == options


@posix_only
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("NewConnectionError: Failed to establish a new connection: [Errno -3]", "Is the network up"),
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "The disk is full"),
        ("ERROR: No matching distribution found for torch>=2.6", "no build for Python"),
        ("error: something else", "The last lines above, from pip, say why"),
    ],
)
def test_failed_install_says_why_and_is_not_trusted(project, said, reason):
    status, output = project.set_up("lab", STUB_STATUS="1", STUB_SAYS=said)
    assert status == 1
    assert said in output
    assert reason in output
    assert "Traceback" not in output
    assert not project.stamp.exists()
    assert project.set_up("lab")[0] == 0
    assert kinds(project.calls()) == ["venv", "pip"] * 2


@posix_only
def test_failure_to_add_extras_is_not_trusted(project):
    project.set_up("lab")
    assert project.set_up("test", STUB_STATUS="1")[0] == 1
    project.set_up("lab")
    assert kinds(project.calls()) == ["venv", "pip", "pip", "venv", "pip"]


def test_script_reads_on_old_python_and_says_what_is_needed(project):
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 6))
    status, output = project.set_up("lab", before="sys.version_info = (3, 8, 18)")
    assert status == 1
    assert "Python 3.11 or newer is needed, this is 3.8.18" in output
    assert "Traceback" not in output
    assert not project.venv.exists()


def test_missing_ensurepip_is_said_with_the_package_to_install(project):
    """Debian's python3 comes without ensurepip."""
    hide = (
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name: None if name == 'ensurepip' else find(name)"
    )
    status, output = project.set_up("lab", before=hide)
    assert status == 1
    assert f"sudo apt install python3.{sys.version_info.minor}-venv" in output
    assert "Traceback" not in output


def test_unknown_extra_is_named_with_those_there_are(project):
    status, output = project.set_up("lab", "peer")
    assert status == 1
    assert output == "There is no extra 'peer' in pyproject.toml; there are: lab, test, peers\n"


def assert_next_call_is_right(project):
    status, output = project.set_up("lab")
    assert status == 0, output
    assert project.installed() == (10, 1)
    assert project.set_up("lab") == (0, "")


@posix_only
@pytest.mark.parametrize("with_children", [True, False], ids=["with pip", "pip lives on"])
@pytest.mark.parametrize("count", [1, 5, 10])
def test_killed_while_pip_writes_the_next_call_is_right(project, count, with_children):
    """Where pip outlives the killed set-up it must not write into the .venv that the next one builds."""
    process = project.start("lab")
    project.wait_for(count)
    (os.killpg if with_children else os.kill)(process.pid, signal.SIGKILL)
    assert_next_call_is_right(project)
    process.communicate()


@posix_only
def test_killed_while_removing_the_old_venv_it_is_not_trusted_again(project):
    """The files may have gone back to what the old stamp says."""
    project.set_up("lab")
    constraints = (project.root / "constraints.txt").read_text()
    another_hash(project)
    half_removed = "import os, shutil\nshutil.rmtree = lambda path: next(path.glob('inst*')).unlink() or os._exit(9)"
    assert project.set_up("lab", before=half_removed)[0] == 9
    (project.root / "constraints.txt").write_text(constraints)
    assert_next_call_is_right(project)


@posix_only
def test_interrupt_prints_one_line(project):
    """One of its own: pip may have said its word before it is ended."""
    process = project.start("lab")
    project.wait_for(1)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    started, stopped = output.replace("ERROR: Operation cancelled by user\n", "").splitlines()
    assert started.startswith("Setting up .venv (lab)")
    assert stopped.startswith("Stopped.")
    assert_next_call_is_right(project)


@posix_only
def test_second_set_up_at_once_waits_and_then_has_nothing_to_do(project):
    end = project.root / "end"
    first = project.start("lab", STUB_ENDS_WITH=str(end))
    project.wait_for(1)
    second = project.start("lab")
    assert second.stdout.readline() == "Another set-up is at work in this folder; waiting for it to end.\n"
    end.touch()
    assert second.communicate(timeout=60) == ("", None)
    first.communicate(timeout=60)
    assert first.returncode == second.returncode == 0
    assert kinds(project.calls()) == ["venv", "pip"]


# ---- the lists of dependencies


def requirements(*extras):
    lists = [PYPROJECT["dependencies"], *(PYPROJECT["optional-dependencies"][extra] for extra in extras)]
    parsed = [Requirement(line) for lines in lists for line in lines]
    return {canonicalize_name(r.name): r for r in parsed if r.name != PYPROJECT["name"]}


def test_environment_yml_asks_for_what_pyproject_asks():
    """The specs have the form name>=version, which conda and pip read alike."""
    conda_names = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
    wanted = {conda_names.get(name, name): r.specifier for name, r in requirements("lab").items()}

    python, *specs, pip_section = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    assert re.fullmatch(r"python=3\.\d+", python)  # the form that Binder's builder reads (repo2docker, issue 1301)
    assert SpecifierSet(PYPROJECT["requires-python"]).contains(python.removeprefix("python="))
    specs.remove("pip")
    assert pip_section == {"pip": ["-e ."]}
    assert all(re.fullmatch(r"[a-z0-9-]+>=[0-9]+(\.[0-9]+)*", spec) for spec in specs)
    assert {r.name: r.specifier for r in map(Requirement, specs)} == wanted


def test_constraints_pin_every_requirement_and_name_no_host():
    lines = [line for line in CONSTRAINTS.splitlines() if not line.lstrip().startswith("#")]
    assert "://" not in CONSTRAINTS
    assert not any(line.startswith("-") for line in lines)
    pins = {}
    for pin in map(Requirement, lines):
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        assert pin.url is None
        pins.setdefault(canonicalize_name(pin.name), []).append(specifier.version)
    for name, requirement in requirements(*PYPROJECT["optional-dependencies"]).items():
        assert pins[name]
        assert all(requirement.specifier.contains(pin) for pin in pins[name])


def test_citation_gives_the_present_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == PYPROJECT["version"] == version(PYPROJECT["name"])


# ---- the package


def test_wheel_holds_the_whole_library_and_imports_alone(tmp_path):
    wheel, source = build_wheel(tmp_path), tmp_path / "source"
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)

    def files(folder):
        return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}

    assert files(site / "posenc_lib") == files(source / "posenc_lib")
    code = (
        f"import sys, pkgutil; sys.path.insert(0, {str(site)!r}); import posenc_lib\n"
        "for module in pkgutil.walk_packages(posenc_lib.__path__, 'posenc_lib.'): __import__(module.name)\n"
        "print(posenc_lib.__file__)"
    )
    alone = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    assert Path(alone.stdout.strip()) == site / "posenc_lib" / "__init__.py"


def test_importing_the_library_loads_no_plotting_and_no_notebook():
    code = "import sys, posenc_lib; print({'matplotlib', 'ipywidgets', 'IPython'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "set()\n"
