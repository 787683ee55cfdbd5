"""RoPE on q and k of (1, 32, 2048, 128), against its peers and against the limits: clone and a preallocated copy.

One run, candidates interleaved in random order, medians; the error is the largest difference from float64.

    python benchmarks/bench_rope.py [repetitions]      # needs the extra `peers`
"""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from rotary_embedding_torch import RotaryEmbedding as LucidrainsRotary
from timing import interleaved_medians
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from x_transformers.x_transformers import RotaryEmbedding as XRotary
from x_transformers.x_transformers import apply_rotary_pos_emb as x_apply

from posenc_lib.rope import apply_rope, rope_cos_sin, rope_frequencies

BATCH, HEADS, LENGTH, WIDTH = 1, 32, 2048, 128
LAYOUTS = ("interleaved", "half")


def exact(x, layout):
    cos, sin = rope_cos_sin(torch.arange(LENGTH), rope_frequencies(WIDTH), dtype=torch.float64)
    return apply_rope(x.double(), cos, sin, layout=layout)


def candidates(q, k):
    """Name → (a function that turns q and k, the layout it uses or None for the limits)."""
    positions = torch.arange(LENGTH)
    cos, sin = rope_cos_sin(positions, rope_frequencies(WIDTH))
    out = torch.empty_like(q), torch.empty_like(k)

    def ours(layout):
        return lambda: (apply_rope(q, cos, sin, layout=layout), apply_rope(k, cos, sin, layout=layout))

    def compiled(layout):
        both = torch.compile(
            lambda q, k: (apply_rope(q, cos, sin, layout=layout), apply_rope(k, cos, sin, layout=layout))
        )
        return lambda: both(q, k)

    config = LlamaConfig(hidden_size=HEADS * WIDTH, num_attention_heads=HEADS, max_position_embeddings=LENGTH)
    hf_cos, hf_sin = LlamaRotaryEmbedding(config)(q, positions[None])
    hf_compiled = torch.compile(apply_rotary_pos_emb)
    lucidrains = LucidrainsRotary(WIDTH)
    lucidrains.rotate_queries_or_keys(torch.zeros(1, 1, LENGTH, WIDTH))  # fills its cache, in float32
    x_frequencies, x_scale = XRotary(WIDTH)(positions.float())

    return {
        "clone": (lambda: (q.clone(), k.clone()), None),
        "copy_ to preallocated": (lambda: (out[0].copy_(q), out[1].copy_(k)), None),
        **{f"apply_rope {layout}": (ours(layout), layout) for layout in LAYOUTS},
        **{f"apply_rope {layout}, compiled": (compiled(layout), layout) for layout in LAYOUTS},
        "Hugging Face apply": (lambda: apply_rotary_pos_emb(q, k, hf_cos, hf_sin), "half"),
        "Hugging Face apply, compiled": (lambda: hf_compiled(q, k, hf_cos, hf_sin), "half"),
        "rotary-embedding-torch": (
            lambda: (lucidrains.rotate_queries_or_keys(q), lucidrains.rotate_queries_or_keys(k)),
            "interleaved",
        ),
        "x-transformers apply": (
            lambda: (x_apply(q, x_frequencies, x_scale), x_apply(k, x_frequencies, x_scale)),
            "interleaved",
        ),
    }


@torch.no_grad()
def main(repetitions):
    print(f"RoPE on q and k, ({BATCH}, {HEADS}, {LENGTH}, {WIDTH}), {repetitions} repetitions")
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        q, k = torch.randn(2, BATCH, HEADS, LENGTH, WIDTH).to(dtype)
        table = candidates(q, k)
        medians = interleaved_medians({name: call for name, (call, _) in table.items()}, repetitions)
        print(f"\n{str(dtype).removeprefix('torch.'):32}{'median ms':>10}{'× clone':>9}{'error':>10}")
        for name, (call, layout) in table.items():
            error = "" if layout is None else f"{(call()[0].double() - exact(q, layout)).abs().max():.1e}"
            print(f"{name:32}{medians[name] * 1e3:10.2f}{medians[name] / medians['clone']:9.2f}{error:>10}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 31)
