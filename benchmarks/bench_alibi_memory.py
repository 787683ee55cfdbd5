"""How much memory causal ALiBi attention takes: FlexAttention against a dense bias, at (1, 8, T, 64).

Each variant runs in a process of its own, its figure the growth of that process's largest resident size over two
calls, after what has to be compiled was compiled. Read from /proc, so on Linux alone; times are in bench_scaling.

    python -m benchmarks.bench_alibi_memory [--length 2048]
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.timing import print_table
from posenc_lib.alibi import alibi_attention, alibi_bias, alibi_slopes

BATCH, HEADS, WIDTH = 1, 8, 64
DTYPES = (torch.float32, torch.bfloat16)
NO_BIAS, FLEX = "SDPA causal, no bias", "alibi_attention"


def variants(length: int, dtype: torch.dtype) -> dict[str, Callable[[], Tensor]]:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, BATCH, HEADS, length, WIDTH).to(dtype)
    slopes, positions = alibi_slopes(HEADS), torch.arange(length)

    def dense_bias() -> Tensor:
        bias = alibi_bias(positions, positions, slopes, dtype=dtype)
        return bias.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf)[None]

    return {
        NO_BIAS: lambda: scaled_dot_product_attention(q, k, v, is_causal=True),
        "SDPA, dense bias": lambda: scaled_dot_product_attention(q, k, v, attn_mask=dense_bias()),
        FLEX: lambda: alibi_attention(q, k, v, slopes),
    }


def resident_mib(field: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


@torch.no_grad()
def print_peak(name: str, length: int, dtype: torch.dtype) -> None:
    """What a fresh process is started for."""
    call = variants(length, dtype)[name]
    if name == FLEX:
        call()  # compiling takes memory of its own
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
    before = resident_mib("VmRSS")
    call()
    call()
    print(resident_mib("VmHWM") - before)


def peak_mib(name: str, length: int, dtype: torch.dtype) -> float:
    command = [sys.executable, "-m", "benchmarks.bench_alibi_memory", "--length", str(length)]
    command += ["--peak", name, str(dtype).removeprefix("torch.")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def main(length: int) -> None:
    print(f"Peak memory of causal ALiBi attention, ({BATCH}, {HEADS}, {length}, {WIDTH}), MiB over what was there.\n")
    names = [str(dtype).removeprefix("torch.") for dtype in DTYPES]
    rows = [[name, *(f"{peak_mib(name, length, dtype):.0f}" for dtype in DTYPES)] for name in variants(1, DTYPES[0])]
    print_table(["variant", *names], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Peak memory of causal ALiBi attention.")
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--peak", nargs=2, metavar=("VARIANT", "DTYPE"), help="of one variant, in this process")
    options = parser.parse_args()
    if options.peak:
        print_peak(options.peak[0], options.length, getattr(torch, options.peak[1]))
    else:
        main(options.length)
