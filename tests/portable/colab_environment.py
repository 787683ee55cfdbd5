"""Make build/colab, a virtual environment with what Colab has and nothing of this repository, and its kernel.

    python -m tests.portable.colab_environment

At once, when colab.txt did not change. Options for pip: PIP_ARGS.
"""

from pathlib import Path

from tools.setup_env import ROOT
from tools.side_environment import make_ready

PINS = Path(__file__).with_name("colab.txt")
FOLDER = ROOT / "build" / "colab"
KERNELS = FOLDER / "share" / "jupyter"  # for JUPYTER_PATH
KERNEL = "colab"

if __name__ == "__main__":
    kernel = ["ipykernel", "install", "--prefix", str(FOLDER), "--name", KERNEL]
    make_ready(FOLDER, PINS, ["-r", str(PINS)], expect="what Colab has, in a minute or two, this once.", then=[kernel])
