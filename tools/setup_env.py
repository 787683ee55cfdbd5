"""Make .venv ready: `python tools/setup_env.py lab test` installs the project with these extras of pyproject.toml.

Standard library only, and readable by Python 3.6, so that an old Python is told so in words. The last thing written
is a stamp that says what .venv was made from. Without a stamp that fits, .venv is removed and built anew, so a set-up
killed at any moment does no harm. Options for pip stand in the environment variable PIP_ARGS.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "posenc_setup.json"
SETTINGS = VENV / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
SERVER_CONFIG = ROOT / "tools" / "jupyter_server_config.py"
OVERRIDES = {
    # Without saved widget state a notebook reopened without its kernel shows "model not found" for every picture.
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
    # Nothing is asked of the network, and no question about news stands before the first lesson.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}

REASONS = [
    (r"No space left on device|There is not enough space", "The disk is full: the set-up needs a few GB."),
    (
        r"NewConnectionError|NameResolutionError|ConnectTimeout|Read timed out|ProxyError|SSLError|Connection reset",
        "pip could not reach its package index. Is the network up? "
        "Where a proxy or a mirror is needed, pass its options to pip in PIP_ARGS.",
    ),
    (
        r"No matching distribution found for \S+",
        f"There is no build for Python {platform.python_version()} on this kind of machine. "
        "Another version of Python may have one: make lab PYTHON=python3.12",
    ),
]


def check_python():
    if sys.version_info < (3, 11):  # noqa: UP036
        this = ".".join(str(number) for number in sys.version_info[:3])
        sys.exit(
            f"Python 3.11 or newer is needed, this is {this} ({sys.executable}).\n"
            "Install a newer one and name it: make lab PYTHON=python3.12"
        )


def check_extras(extras):
    import tomllib  # not there before 3.11

    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in known:
            sys.exit(f"There is no extra {extra!r} in pyproject.toml; there are: {', '.join(known)}")


def python_in(folder):
    """The Python of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint():
    """What .venv depends on: these files, the Python, and its own place (its scripts hold absolute paths)."""
    files = [path.read_bytes() for path in (ROOT / "pyproject.toml", ROOT / "constraints.txt", SERVER_CONFIG)]
    sha256 = hashlib.sha256(b"\0".join(files)).hexdigest()
    return {"sha256": sha256, "python": platform.python_version(), "venv": str(VENV)}


def trusted_stamp(pip_args):
    """The stamp of a finished .venv that fits, or None. Without PIP_ARGS any earlier ones will do."""
    try:
        stamp = json.loads(STAMP.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    fits = fingerprint().items() <= stamp.items() and pip_args in ("", stamp["pip_args"])
    return stamp if fits and python_in(VENV).exists() else None


def try_lock(handle):
    try:
        if os.name == "nt":
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextlib.contextmanager
def one_at_a_time():
    """Hold the lock. The system frees it when its last holder ends, so a killed set-up leaves none behind."""
    with open(ROOT / ".venv.lock", "w") as handle:
        # pip inherits the lock: where it outlives a killed set-up, the next set-up waits for it to end.
        os.set_inheritable(handle.fileno(), True)
        if not try_lock(handle):
            print("Another set-up is at work in this folder; waiting for it to end.", flush=True)
            while not try_lock(handle):
                time.sleep(0.2)
        yield


def run(command):
    """Run a command, show its output as it comes; return (exit status, output)."""
    output = b""
    with subprocess.Popen(
        command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False
    ) as process:
        try:
            for line in process.stdout:
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
                output += line
        except BaseException:
            process.kill()
            raise
    return process.returncode, output.decode(errors="replace")


def create_venv():
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            sys.exit(
                f"This Python ({sys.executable}) lacks its module {module}, so it cannot make a .venv.\n"
                f"On Debian and Ubuntu: sudo apt install python3.{sys.version_info.minor}-venv\n"
                "Elsewhere: install a complete Python, as its own site or your package manager gives it."
            )
    if VENV.exists():
        print("Removing .venv: it is unfinished, or was made from something else.", flush=True)
        shutil.rmtree(VENV)
    # The base Python, since this one may itself live in the .venv just removed.
    status, _ = run([sys._base_executable, "-m", "venv", str(VENV)])
    if status:
        sys.exit("Python could not make a .venv; its lines above say why.")


def pip_options(pip_args):
    """The options as a shell would split them; on Windows a backslash stays, as in any path there."""
    lexer = shlex.shlex(pip_args, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if os.name == "nt":
        lexer.escape = ""
    return list(lexer)


def pip_command(extras, pip_args):
    target = ".[{}]".format(",".join(extras)) if extras else "."
    command = [str(python_in(VENV)), "-m", "pip", "install", "--disable-pip-version-check"]
    return [*command, "-c", "constraints.txt", "-e", target, *pip_options(pip_args)]


def install(extras, pip_args):
    status, output = run(pip_command(extras, pip_args))
    if status:
        reason = next((text for pattern, text in REASONS if re.search(pattern, output)), None)
        sys.exit(
            f"\nThe installation failed. {reason or 'The last lines above, from pip, say why.'}\n"
            "Nothing unfinished is kept: mend the cause and give the same command again."
        )


def write_settings():
    SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    SETTINGS.write_text(json.dumps(OVERRIDES, indent=2) + "\n", "utf-8")
    config = VENV / "etc" / "jupyter"
    config.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(SERVER_CONFIG), str(config))


def write_stamp(extras, pip_args):
    unfinished = STAMP.with_suffix(".tmp")
    unfinished.write_text(json.dumps({**fingerprint(), "extras": extras, "pip_args": pip_args}), "utf-8")
    unfinished.replace(STAMP)


def set_up(extras):
    check_python()
    check_extras(extras)
    pip_args = os.environ.get("PIP_ARGS", "").strip()
    with one_at_a_time():
        stamp = trusted_stamp(pip_args)
        installed = set(stamp["extras"]) if stamp else set()
        if stamp and installed.issuperset(extras):
            return
        extras = sorted(installed.union(extras))
        print(f"Setting up .venv ({', '.join(extras) or 'no extras'}): a minute or two, this once.", flush=True)
        STAMP.unlink(missing_ok=True)  # before anything changes: from here to the new stamp, nothing is trusted
        if stamp:
            pip_args = pip_args or stamp["pip_args"]
        else:
            create_venv()
        install(extras, pip_args)
        write_settings()
        write_stamp(extras, pip_args)


if __name__ == "__main__":
    try:
        set_up(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("Stopped. The next set-up begins again from a clean .venv.")
    except OSError as error:
        sys.exit(f"The set-up stopped: {error}\nIf something still runs from .venv, close it. Then try again.")
