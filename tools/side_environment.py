"""A virtual environment beside .venv, under build/: what tools/test_matrix.py and tests/portable run in.

Built anew when its pins, the Python or its place changed: a stamp, written last, says what it was made from. Options
for pip: PIP_ARGS.
"""

import hashlib
import os
import platform
import shutil
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tools.setup_env import ROOT, one_at_a_time, pip_options, python_in, run


def make_ready(
    folder: Path, pins: Path, install: Sequence[str], *, expect: str, then: Sequence[Sequence[str]] = ()
) -> None:
    """Build the environment, unless its stamp says that it is finished and fits.

    Args:
        folder: its place, under the project's root.
        pins: file of versions; with another content the environment is built anew.
        install: arguments of `pip install`.
        expect: what it takes, in words.
        then: modules to run there afterwards, each with its arguments.

    Raises:
        SystemExit: a command failed.
    """
    stamp, name = folder / "stamp", folder.relative_to(ROOT).as_posix()
    wanted = f"{hashlib.sha256(pins.read_bytes()).hexdigest()} {platform.python_version()} {folder}"
    with one_at_a_time():
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return
        print(f"Setting up {name}: {expect}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        pip_args = pip_options(os.environ.get("PIP_ARGS", ""))
        for command in (["pip", "install", "--disable-pip-version-check", *install, *pip_args], *then):
            status, _ = run([str(python_in(folder)), "-m", *command])
            if status:
                sys.exit(f"{name} could not be made; the lines above say why.")
        stamp.write_text(wanted, "utf-8")
