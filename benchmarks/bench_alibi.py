"""Causal ALiBi attention at (1, 8, 2048, 64): FlexAttention against a dense bias, in time and in peak memory.

Times are interleaved medians of one run. Peak memory is measured in a process of its own for each variant, as
the growth of the process's largest resident size over two calls, after one call at the same shape has warmed it
up without the bias.

    python benchmarks/bench_alibi.py [repetitions]
"""

import subprocess
import sys

import torch
from timing import interleaved_medians
from torch.nn.functional import scaled_dot_product_attention

from posenc_lib.alibi import alibi_attention, alibi_bias, alibi_slopes

BATCH, HEADS, LENGTH, WIDTH = 1, 8, 2048, 64


def variants(dtype):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, BATCH, HEADS, LENGTH, WIDTH).to(dtype)
    slopes, positions = alibi_slopes(HEADS), torch.arange(LENGTH)

    def dense_bias():
        bias = alibi_bias(positions, positions, slopes, dtype=dtype)
        return bias.masked_fill(~torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril(), -torch.inf)[None]

    built = dense_bias()
    return {
        "SDPA causal, no bias": lambda: scaled_dot_product_attention(q, k, v, is_causal=True),
        "SDPA, dense bias built once": lambda: scaled_dot_product_attention(q, k, v, attn_mask=built),
        "SDPA, dense bias built per call": lambda: scaled_dot_product_attention(q, k, v, attn_mask=dense_bias()),
        "alibi_attention": lambda: alibi_attention(q, k, v, slopes),
    }


def peak_mib(name, dtype):
    """How many MiB two calls of one variant add to the largest resident size, in a fresh process."""
    command = [sys.executable, __file__, "--peak", name, str(dtype).removeprefix("torch.")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


@torch.no_grad()
def print_peak(name, dtype):
    call = variants(dtype)[name]
    if name == "alibi_attention":
        call()  # compiling takes memory of its own
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # forget the largest size so far
    before = resident_mib("VmRSS")
    call()
    call()
    print(resident_mib("VmHWM") - before)


def resident_mib(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


@torch.no_grad()
def main(repetitions):
    print(f"causal ALiBi attention, ({BATCH}, {HEADS}, {LENGTH}, {WIDTH}), {repetitions} repetitions")
    for dtype in (torch.float32, torch.bfloat16):
        calls = variants(dtype)
        medians = interleaved_medians(calls, repetitions)
        plain = medians["SDPA causal, no bias"]
        print(f"\n{str(dtype).removeprefix('torch.'):34}{'median ms':>10}{'× no bias':>11}{'peak MiB':>10}")
        for name, median in medians.items():
            print(f"{name:34}{median * 1e3:10.1f}{median / plain:11.2f}{peak_mib(name, dtype):10.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print_peak(sys.argv[2], getattr(torch, sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
