"""What a lesson's first cells call: the device, a claim checked in front of the reader, the environment."""

import importlib.metadata
import platform

import torch

__all__ = ["environment_report", "pick_device", "verify"]

REPORTED_PACKAGES = ("torch", "numpy", "matplotlib", "ipywidgets", "posenc-lib")


def pick_device() -> torch.device:
    """The GPU where there is one (CUDA, then Apple's mps), else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def verify(claim: str, holds: bool, *, shown: object = None) -> None:
    """Print "✓ claim", or raise: every claim of a lesson that can be computed passes through here.

    Args:
        claim: the claim in words, one line.
        holds: what a cell computed: a bool, or a NumPy or torch boolean of shape ().
        shown: a measured value to print under the claim, and in the error if it fails.

    Raises:
        AssertionError: the claim does not hold.
        TypeError: claim is not a string, or holds is not one boolean (a non-empty tuple would always be true).
        ValueError: the claim is empty or has more than one line.
    """
    if not isinstance(claim, str):
        raise TypeError(f"claim must be a string, got {claim!r}")
    if not claim.strip() or len(claim.splitlines()) != 1:
        raise ValueError(f"claim must be one line of text, got {claim!r}")
    if not isinstance(holds, bool):
        if str(getattr(holds, "dtype", "")) not in ("bool", "torch.bool") or getattr(holds, "shape", None) != ():
            raise TypeError(f"holds must be one boolean, got {holds!r}")
        holds = bool(holds)
    measured = "" if shown is None else f"\n    measured: {shown}"
    if not holds:
        raise AssertionError(f"✗ {claim}{measured}")
    print(f"✓ {claim}{measured}")


def environment_report() -> str:
    """Versions of Python and of what the lessons use, and the device, a line each, without any path."""
    lines = [f"Python {platform.python_version()} on {platform.system()} ({platform.machine()})"]
    for package in REPORTED_PACKAGES:
        try:
            lines.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            lines.append(f"{package}: not installed")
    device = pick_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return "\n".join([*lines, f"device: {name} ({torch.get_num_threads()} CPU threads)"])
