"""How cost grows with the number of positions T: rotation, attention, biases and stretched tables.

Ours against peers and against a limit, float32 and bfloat16, T = 512 … 16384, on the GPU if there is one and on the
CPU otherwise. Each family's first row is its limit: a clone of the same bytes, or attention without a bias. Prints a
table a family and dtype with milliseconds, how many times the limit, and the fitted exponent of T; draws all of it in
build/benchmarks/scaling.png.

    python -m benchmarks.bench_scaling [--rounds 15] [--longest 16384]     # needs the extra `peers`
"""

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rotary_embedding_torch import RotaryEmbedding as LucidrainsRotary
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import LlamaConfig, T5Config
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.t5.modeling_t5 import T5Attention
from x_transformers.x_transformers import AlibiPositionalBias, RelativePositionBias
from x_transformers.x_transformers import RotaryEmbedding as XRotary
from x_transformers.x_transformers import apply_rotary_pos_emb as x_apply

from benchmarks.timing import growth_exponent, interleaved, print_table
from posenc_lib.alibi import alibi_attention, alibi_bias, alibi_slopes
from posenc_lib.context_extension import dynamic_ntk, longrope, yarn
from posenc_lib.kerple import KerpleBias
from posenc_lib.rope import RopeScaling, apply_rope, rope_cos_sin, rope_frequencies
from posenc_lib.t5 import T5Bias
from posenc_lib.widgets.live_figure import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILLION

PICTURE = Path("build", "benchmarks", "scaling.png")
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
FITTED_FROM = 2048  # below it the cost of a call hides the growth
DTYPES = (torch.float32, torch.bfloat16)
HEADS, WIDTH, ATTENTION_WIDTH = 8, 128, 64
MOST_BYTES, MOST_SECONDS = 4 * 2**30, 20
A_SIZE = 8  # seconds that all rounds of one size may take, once there are a few
TRAINED, FACTOR = 4096, 4.0  # of the stretched tables
SKYBLUE, PURPLE = "#56B4E9", "#CC79A7"  # the rest of Okabe and Ito's


@dataclass(frozen=True)
class Candidate:
    """One way to do a family's work.

    Attributes:
        make: returns the function to time; called once a size, untimed.
        look: colour, dash and marker in the picture.
        bytes: what it holds at once, roughly; over MOST_BYTES it is left out.
        exact: what the first tensor of its result should be, in float64; None for what computes nothing.
    """

    make: Callable[[], Callable[[], Any]]
    look: tuple[str, str, str]
    bytes: int = 0
    exact: Callable[[], Tensor] | None = None


def llama_config(**rope_parameters: Any) -> LlamaConfig:
    parameters = {"rope_type": "default", "rope_theta": 10_000.0, **rope_parameters}
    sizes = {"hidden_size": HEADS * WIDTH, "num_attention_heads": HEADS, "max_position_embeddings": TRAINED}
    return LlamaConfig(**sizes, rope_parameters=parameters)


def rotations(length: int, dtype: torch.dtype, device: str) -> dict[str, Candidate]:
    """Turn q and k, (1, HEADS, T, WIDTH) each, with tables made before."""
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, HEADS, length, WIDTH, device=device).to(dtype)
    positions = torch.arange(length, device=device)
    cos, sin = rope_cos_sin(positions, rope_frequencies(WIDTH))

    def both(turn: Callable[[Tensor], Tensor]) -> Callable[[], tuple[Tensor, Tensor]]:
        return lambda: (turn(q), turn(k))

    def ours(layout: str) -> Callable[[], Any]:
        return both(lambda x: apply_rope(x, cos, sin, layout=layout))

    def compiled(layout: str) -> Callable[[], Any]:
        both = torch.compile(lambda *pair: [apply_rope(x, cos, sin, layout=layout) for x in pair])
        return lambda: both(q, k)

    def hugging_face(apply: Callable[..., Any]) -> Callable[[], Any]:
        their_cos, their_sin = LlamaRotaryEmbedding(llama_config()).to(device)(q, positions[None])
        return lambda: apply(q, k, their_cos, their_sin)

    def lucidrains() -> Callable[[], Any]:
        rotary = LucidrainsRotary(WIDTH, cache_max_seq_len=length).to(device)
        rotary.rotate_queries_or_keys(q.float())  # fills its cache, in float32
        return both(rotary.rotate_queries_or_keys)

    def x_transformers() -> Callable[[], Any]:
        angles, scale = XRotary(WIDTH).to(device)(positions.float())
        return both(lambda x: x_apply(x, angles, scale))

    def exact(layout: str) -> Callable[[], Tensor]:
        table = rope_cos_sin(positions, rope_frequencies(WIDTH), dtype=torch.float64)
        return lambda: apply_rope(q.double(), *table, layout=layout)

    neighbours, halves = exact("interleaved"), exact("half")
    hf_compiled = torch.compile(apply_rotary_pos_emb)
    return {
        "clone of q and k": Candidate(lambda: both(torch.clone), (BLACK, ":", "")),
        "apply_rope interleaved": Candidate(lambda: ours("interleaved"), (BLUE, "-", "o"), exact=neighbours),
        "apply_rope half": Candidate(lambda: ours("half"), (GREEN, "-", "s"), exact=halves),
        "apply_rope interleaved, compiled": Candidate(
            lambda: compiled("interleaved"), (BLUE, "--", "o"), exact=neighbours
        ),
        "apply_rope half, compiled": Candidate(lambda: compiled("half"), (GREEN, "--", "s"), exact=halves),
        "Hugging Face": Candidate(lambda: hugging_face(apply_rotary_pos_emb), (ORANGE, "-", "v"), exact=halves),
        "Hugging Face, compiled": Candidate(lambda: hugging_face(hf_compiled), (ORANGE, "--", "v"), exact=halves),
        "rotary-embedding-torch": Candidate(lucidrains, (PURPLE, "-", "D"), exact=neighbours),
        "x-transformers": Candidate(x_transformers, (VERMILLION, "-", "^"), exact=neighbours),
    }


def alibi(length: int, dtype: torch.dtype, device: str) -> dict[str, Candidate]:
    """Causal attention, (1, HEADS, T, ATTENTION_WIDTH)."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, HEADS, length, ATTENTION_WIDTH, device=device).to(dtype)
    positions, slopes = torch.arange(length, device=device), alibi_slopes(HEADS).to(device)
    dense = HEADS * length**2 * dtype.itemsize

    def hidden(bias: Tensor) -> Tensor:
        return bias.masked_fill(torch.ones(length, length, dtype=torch.bool, device=device).triu(1), -torch.inf)[None]

    def our_bias() -> Tensor:
        return hidden(alibi_bias(positions, positions, slopes, dtype=dtype))

    def their_bias() -> Tensor:
        return hidden(AlibiPositionalBias(HEADS).to(device)(length, length).to(dtype))  # anew: it keeps the last one

    def masked(bias: Callable[[], Tensor]) -> Callable[[], Tensor]:
        return lambda: scaled_dot_product_attention(q, k, v, attn_mask=bias())

    def built_once() -> Callable[[], Tensor]:
        bias = our_bias()
        return masked(lambda: bias)

    table = {
        "SDPA causal, no bias": Candidate(
            lambda: lambda: scaled_dot_product_attention(q, k, v, is_causal=True), (BLACK, ":", "")
        ),
        "alibi_attention": Candidate(lambda: lambda: alibi_attention(q, k, v, slopes), (BLUE, "-", "o")),
        "SDPA, dense bias built once": Candidate(built_once, (GREEN, "-", "s"), 2 * dense),
        "SDPA, alibi_bias per call": Candidate(lambda: masked(our_bias), (SKYBLUE, "--", "s"), 2 * dense),
        "SDPA, x-transformers' bias per call": Candidate(
            lambda: masked(their_bias), (VERMILLION, "--", "^"), 2 * HEADS * length**2 * 4
        ),
    }
    if device == "cuda":  # FlexAttention has no backward pass on a CPU
        inputs = [tensor.detach().requires_grad_() for tensor in (q, k, v)]

        def trained(attend: Callable[..., Tensor]) -> Callable[[], Any]:
            return lambda: torch.autograd.grad(attend(*inputs).sum(), inputs)

        def dense_trained() -> Callable[[], Any]:
            bias = our_bias()
            return trained(lambda *qkv: scaled_dot_product_attention(*qkv, attn_mask=bias))

        table["alibi_attention, with backward"] = Candidate(
            lambda: trained(lambda *qkv: alibi_attention(*qkv, slopes)), (BLUE, "-.", "o")
        )
        table["dense bias built once, with backward"] = Candidate(dense_trained, (GREEN, "-.", "s"), 2 * dense)
    return table


def biases(length: int, dtype: torch.dtype, device: str) -> dict[str, Candidate]:
    """Build the bias of HEADS heads, (HEADS, T, T); all but alibi_bias and the clone are float32 whatever is asked."""
    positions, slopes = torch.arange(length, device=device), alibi_slopes(HEADS).to(device)
    wide = 2 * HEADS * length**2 * 4  # a float32 result and what it is made from
    hugging_face = T5Attention(T5Config(num_heads=HEADS, is_decoder=True), True, layer_idx=0).to(device)
    x_t5 = RelativePositionBias(scale=1.0, causal=True, heads=HEADS).to(device)

    def clone() -> Callable[[], Tensor]:
        bias = torch.ones(HEADS, length, length, dtype=dtype, device=device)
        return bias.clone

    def ours(bias: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], Callable[[], Tensor]]:
        return lambda: lambda: bias(positions, positions)

    return {
        "clone of a bias": Candidate(clone, (BLACK, ":", ""), 2 * HEADS * length**2 * dtype.itemsize),
        "alibi_bias": Candidate(
            lambda: lambda: alibi_bias(positions, positions, slopes, dtype=dtype), (BLUE, "-", "o"), wide
        ),
        "T5Bias": Candidate(ours(T5Bias(HEADS).to(device).bias), (GREEN, "-", "s"), wide),
        "KerpleBias log": Candidate(ours(KerpleBias(HEADS, kind="log").to(device).bias), (SKYBLUE, "-", "D"), wide),
        "KerpleBias power": Candidate(ours(KerpleBias(HEADS, kind="power").to(device).bias), (GREY, "-", "P"), wide),
        "x-transformers ALiBi": Candidate(
            lambda: lambda: AlibiPositionalBias(HEADS).to(device)(length, length), (VERMILLION, "--", "o"), wide
        ),
        "x-transformers T5": Candidate(lambda: lambda: x_t5(length, length), (PURPLE, "--", "s"), wide),
        "Hugging Face T5": Candidate(
            lambda: lambda: hugging_face.compute_bias(length, length), (ORANGE, "--", "s"), wide
        ),
    }


def stretched(length: int, dtype: torch.dtype, device: str) -> dict[str, Candidate]:
    """From settings to cos and sin of T positions, (T, WIDTH/2) ours, (1, T, WIDTH) Hugging Face's."""
    positions = torch.arange(length, device=device)
    factors = {"short_factors": [1.0] * (WIDTH // 2), "long_factors": [1 + 0.05 * i for i in range(WIDTH // 2)]}
    methods: dict[str, Callable[[], RopeScaling]] = {
        "dynamic_ntk": lambda: dynamic_ntk(WIDTH, FACTOR, TRAINED, length),
        "yarn": lambda: yarn(WIDTH, FACTOR, TRAINED),
        "longrope": lambda: longrope(WIDTH, FACTOR, TRAINED, length, **factors),
    }
    scaled = {"factor": FACTOR, "original_max_position_embeddings": TRAINED}
    configs = {
        "dynamic": llama_config(rope_type="dynamic", factor=FACTOR),
        "yarn": llama_config(rope_type="yarn", **scaled),
        "longrope": llama_config(
            rope_type="longrope", short_factor=factors["short_factors"], long_factor=factors["long_factors"], **scaled
        ),
    }
    x = torch.zeros(1, device=device, dtype=dtype)

    def tables(method: Callable[[], RopeScaling], dtype: torch.dtype = dtype) -> tuple[Tensor, Tensor]:
        scaling = method()
        return rope_cos_sin(positions, scaling.frequencies, attention_factor=scaling.attention_factor, dtype=dtype)

    looks = ((BLUE, "o"), (GREEN, "s"), (SKYBLUE, "D")), ((ORANGE, "o"), (VERMILLION, "s"), (PURPLE, "D"))
    pair = tables(methods["yarn"])
    clone = lambda: [table.clone() for table in pair]
    result = {"clone of cos and sin": Candidate(lambda: clone, (BLACK, ":", ""))}
    for (name, method), (colour, marker) in zip(methods.items(), looks[0], strict=True):
        exact = lambda method=method: tables(method, torch.float64)[0]
        result[name] = Candidate(lambda method=method: lambda: tables(method), (colour, "-", marker), exact=exact)
    for (name, config), method, (colour, marker) in zip(configs.items(), methods.values(), looks[1], strict=True):
        exact = lambda method=method: torch.cat([tables(method, torch.float64)[0]] * 2, dim=-1)
        result[f"Hugging Face {name}"] = Candidate(
            lambda config=config: lambda: LlamaRotaryEmbedding(config).to(device)(x, positions[None]),
            (colour, "--", marker),
            exact=exact,
        )
    return result


FAMILIES = {
    "rotation of q and k": rotations,
    "causal ALiBi attention": alibi,
    "building a bias": biases,
    "stretched cos and sin": stretched,
}


@dataclass
class Line:
    """What was measured of one candidate: seconds by length, why a length is missing, the error at the longest."""

    look: tuple[str, str, str]
    seconds: dict[int, float]
    left_out: dict[int, str]
    error: str = ""

    def cell(self, length: int) -> str:
        return f"{self.seconds[length] * 1e3:.3g}" if length in self.seconds else self.left_out[length]

    def exponent(self) -> str:
        lengths = [length for length in self.seconds if length >= FITTED_FROM]
        return f"{growth_exponent(lengths, [self.seconds[n] for n in lengths]):.2f}" if len(lengths) > 1 else "–"


def left_out(candidate: Candidate, line: Line | None, length: int) -> str | None:
    """Why a size is not measured: it would hold too much, or at worst, growing with T², take too long."""
    if candidate.bytes > MOST_BYTES:
        return "memory"
    if line and line.seconds:
        longest = max(line.seconds)
        if line.seconds[longest] * (length / longest) ** 2 > MOST_SECONDS:
            return "time"
    return None


def error_of(candidate: Candidate, call: Callable[[], Any]) -> str:
    if candidate.exact is None:
        return ""
    exact = candidate.exact()
    return f"{(call()[0].double().reshape(exact.shape) - exact).abs().max():.1e}"


@torch.no_grad()
def measure(
    family: Callable[..., dict[str, Candidate]], dtype: torch.dtype, lengths: Sequence[int], rounds: int
) -> dict[str, Line]:
    """What was measured of each candidate of a family, by name."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lines: dict[str, Line] = {}
    for length in lengths:
        calls = {}
        for name, candidate in family(length, dtype, device).items():
            line = lines.setdefault(name, Line(candidate.look, {}, {}))
            reason = left_out(candidate, line, length)
            if reason:
                line.left_out[length] = reason
            else:
                calls[name] = candidate.make()
                if length == lengths[-1]:
                    line.error = error_of(candidate, calls[name])
        with torch.enable_grad() if device == "cuda" and family is alibi else torch.no_grad():
            for name, times in interleaved(calls, rounds, budget=A_SIZE).items():
                lines[name].seconds[length] = median(times)
    return lines


def times_the_limit(line: Line, limit: Line) -> str:
    common = max(line.seconds.keys() & limit.seconds.keys(), default=None)
    return f"{line.seconds[common] / limit.seconds[common]:.2f}" if common else ""


def print_lines(title: str, lines: Mapping[str, Line], lengths: Sequence[int]) -> None:
    limit = next(iter(lines.values()))
    header = [title, *(f"T={length}" for length in lengths), "× limit", "exponent", "error"]
    print()
    print_table(
        header,
        [
            [name, *map(line.cell, lengths), times_the_limit(line, limit), line.exponent(), line.error]
            for name, line in lines.items()
        ],
    )


def draw(measured: Mapping[tuple[str, torch.dtype], Mapping[str, Line]], lengths: Sequence[int], picture: Path) -> None:
    """A row a dtype and a column a family, log–log; under each column its key, with the exponents of both dtypes."""
    figure = Figure(figsize=(16, 10), dpi=100, facecolor="white", layout="constrained")
    panels = figure.subplots(len(DTYPES), len(FAMILIES), sharex=True, sharey="col")
    both = ", ".join(map(name_of, DTYPES))
    for column, title in zip(panels.T, FAMILIES, strict=True):
        for axes, dtype in zip(column, DTYPES, strict=True):
            draw_panel(axes, measured[title, dtype].values(), lengths)
            axes.set_title(f"{title}, {name_of(dtype)}", fontsize=11)
        column[-1].set_xlabel("positions T (k: 1024)")
        labels = [
            f"{name}: {', '.join(measured[title, dtype][name].exponent() for dtype in DTYPES)}"
            for name in measured[title, DTYPES[0]]
        ]
        look = {"fontsize": 10, "frameon": False, "handlelength": 3.5, "title": f"exponent of T, {both}"}
        column[-1].legend(column[-1].lines, labels, loc="upper center", bbox_to_anchor=(0.5, -0.16), **look)
    for axes in panels[:, 0]:
        axes.set_ylabel("time (milliseconds)")
    picture.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure).print_png(picture)


def draw_panel(axes: Axes, lines: Iterable[Line], lengths: Sequence[int]) -> None:
    for line in lines:
        colour, dash, marker = line.look
        milliseconds = [taken * 1e3 for taken in line.seconds.values()]
        axes.plot([*line.seconds], milliseconds, color=colour, linestyle=dash, marker=marker, markersize=5)
    axes.set(xscale="log", yscale="log", xticks=lengths, xticklabels=[f"{length / 1024:g}k" for length in lengths])
    axes.minorticks_off()
    axes.tick_params(labelleft=True)
    axes.grid(color="#d9d9d9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def main(rounds: int, longest: int, picture: Path) -> None:
    lengths = [length for length in LENGTHS if length <= longest] or [longest]
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{torch.get_num_threads()} CPU threads"
    print(f"Median milliseconds on {where}, at most {rounds} rounds; × limit at the longest T that both reach.")
    print(f"Exponent: of T, fitted from {FITTED_FROM} on. Error: largest difference from float64 at the last T.")
    print(f"“memory”, “time”: left out, it would hold over {MOST_BYTES / 2**30:.0f} GiB or take over {MOST_SECONDS} s.")
    if not torch.cuda.is_available():
        print("No GPU is here: nothing is said of CUDA, of FlexAttention's backward pass or of a GPU's bandwidth.")
    measured = {}
    for title, family in FAMILIES.items():
        for dtype in DTYPES:
            torch.compiler.reset()
            lines = measured[title, dtype] = measure(family, dtype, lengths, rounds)
            print_lines(f"{title}, {name_of(dtype)}", lines, lengths)
    draw(measured, lengths, picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How the cost of encodings grows with the number of positions.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1])
    parser.add_argument("--picture", type=Path, default=PICTURE)
    main(**vars(parser.parse_args()))
