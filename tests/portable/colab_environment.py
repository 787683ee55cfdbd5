"""Make build/colab, a virtual environment with what Colab has and nothing of this repository, and its kernel.

    python -m tests.portable.colab_environment

At once, when nothing changed: a stamp, written last, holds the hash of colab.txt. Options for pip: PIP_ARGS.
"""

import hashlib
import os
import platform
import shlex
import shutil
import sys
import venv
from pathlib import Path

from tools.setup_env import ROOT, one_at_a_time, run

PINS = Path(__file__).with_name("colab.txt")
FOLDER = ROOT / "build" / "colab"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = FOLDER / "stamp"
KERNELS = FOLDER / "share" / "jupyter"  # for JUPYTER_PATH
KERNEL = "colab"


def make_ready() -> None:
    """Build the environment anew, unless its stamp says that it is finished and what is asked for."""
    wanted = f"{hashlib.sha256(PINS.read_bytes()).hexdigest()} {platform.python_version()} {FOLDER}"
    with one_at_a_time():
        if STAMP.exists() and STAMP.read_text("utf-8") == wanted:
            return
        print("Setting up build/colab, with what Colab has: a minute or two, this once.", flush=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        venv.create(FOLDER, with_pip=True)
        pip_args = shlex.split(os.environ.get("PIP_ARGS", ""), posix=os.name != "nt")
        for command in (
            ["pip", "install", "--disable-pip-version-check", "-r", str(PINS), *pip_args],
            ["ipykernel", "install", "--prefix", str(FOLDER), "--name", KERNEL],
        ):
            status, _ = run([str(PYTHON), "-m", *command])
            if status:
                sys.exit("build/colab could not be made; the lines above say why.")
        STAMP.write_text(wanted, "utf-8")


if __name__ == "__main__":
    make_ready()
