"""Four biases side by side, ALiBi, KERPLE's two kernels and a T5 table, and what each makes of equal contents."""

from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
import torch
from matplotlib.artist import Artist

from posenc_lib.kerple import kerple_log_bias, kerple_power_bias
from posenc_lib.t5 import t5_buckets
from posenc_lib.widgets.alibi_row import half_mass_distance
from posenc_lib.widgets.live_figure import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    VERMILLION,
    LiveFigure,
    State,
    choice,
    slider,
)

__all__ = ["KernelShapes", "equal_contents_attention", "fitted_t5_table", "kernel_biases"]

FITTED = 128  # the T5 table is fitted on distances 0 … FITTED − 1
QUERIES = (63, 127, 255, 511)
LEAST_BIAS, LEAST_WEIGHT = -12, 1e-6  # where the axes end
LOOKS = {
    "ALiBi": {"color": BLUE, "linestyle": "-", "linewidth": 2.4},
    "log": {"color": VERMILLION, "linestyle": "--", "linewidth": 1.6},
    "power": {"color": GREEN, "linestyle": "-.", "linewidth": 1.6},
    "T5 fitted to ALiBi": {"color": ORANGE, "linestyle": (0, (1, 1)), "linewidth": 2},
}


def fitted_t5_table(slope: float) -> np.ndarray:
    """The least-squares fit of 32 causal buckets to −slope·distance on distances 0 … 127: each bucket's mean; (32,)."""
    distances = torch.arange(FITTED)
    buckets = t5_buckets(-distances, bidirectional=False).numpy()
    return -slope * np.bincount(buckets, weights=distances.numpy()) / np.bincount(buckets)


def kernel_biases(distances: np.ndarray, *, slope: float, r1: float, r2: float) -> dict[str, np.ndarray]:
    """Each kernel's bias at the distances, integers ≥ 0, (T,) → name → (T,).

    Args:
        slope: of ALiBi, −slope·d, and of the line that the T5 table is fitted to.
        r1, r2: of both KERPLE kernels, −r1·log(1 + r2·d) and −r1·d^r2.
    """
    at = torch.from_numpy(distances)
    return {
        "ALiBi": -slope * distances,
        "log": kerple_log_bias(at, r1, r2).numpy(),
        "power": kerple_power_bias(at, r1, r2).numpy(),
        "T5 fitted to ALiBi": fitted_t5_table(slope)[t5_buckets(-at, bidirectional=False).numpy()],
    }


def equal_contents_attention(bias: np.ndarray) -> np.ndarray:
    """The softmax of the bias: what a causal query gives its keys if all their contents score alike; (T,) → (T,)."""
    weights = np.exp(bias - bias.max())
    return weights / weights.sum()


class KernelShapes(LiveFigure):
    """Bias and attention against distance (ALiBi, arXiv:2108.12409; KERPLE, arXiv:2205.09921; T5, arXiv:1910.10683)."""

    description = (
        "Left: the bias that four methods add to a score, against the distance i − j. ALiBi is a line; KERPLE's "
        "logarithm flattens; its power bends either way and is ALiBi at r₂ = 1; the T5 table is the least-squares fit "
        "of 32 buckets to the ALiBi line on distances 0 to 127, and constant from 113 on. Right: the attention each "
        "gives if all contents score alike. Slide the distance to read values; change the slope, r₁ and r₂, and where "
        "the query stands."
    )
    background_controls = ("query",)

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        slopes = [(f"1/{2**h}", 2.0**-h) for h in range(8, 0, -1)]
        exponents = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
        return {
            "distance": slider("distance i − j", 64, 0, QUERIES[-1]),
            "slope": choice("ALiBi slope m", 1 / 32, slopes),
            "r1": choice("r₁ (log and power)", 1 / 2, [*slopes, ("1", 1.0), ("2", 2.0)]),
            "r2": choice("r₂ (log and power)", 0.5, [(f"{exponent:g}", exponent) for exponent in exponents]),
            "query": choice("query position i", 255, [(str(place), place) for place in QUERIES]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        return {
            "Power = ALiBi (r₁ = m, r₂ = 1)": lambda state: {"r1": state["slope"], "r2": 1.0},
            "Largest exponent (r₂ = 2)": lambda state: {"r1": 2.0**-8, "r2": 2.0},
            "T5's last step (113)": lambda state: {"query": QUERIES[-1], "distance": 113},
        }

    def build(self) -> list[Artist]:
        left = self.figure.add_axes((0.1, 0.13, 0.375, 0.74))
        left.set(ylim=(LEAST_BIAS, 0.3), yticks=range(LEAST_BIAS, 1, 3))
        left.set(xlabel="distance i − j (tokens)", ylabel="bias (logits)")
        right = self.figure.add_axes((0.595, 0.13, 0.375, 0.74))
        right.set(yscale="log", ylim=(LEAST_WEIGHT, 1), xlabel="distance i − j (tokens)")
        right.set_ylabel("attention on equal contents")
        self.panels = (left, right)
        self.curves = {name: [panel.plot([], [], **look)[0] for panel in self.panels] for name, look in LOOKS.items()}
        self.cursors = [panel.axvline(0, color=BLACK, linestyle=":", linewidth=1.2) for panel in self.panels]
        handles = [lines[0] for lines in self.curves.values()]
        self.figure.legend(
            handles, LOOKS, loc="upper center", bbox_to_anchor=(0.5, 0.995), ncols=4, handlelength=3, columnspacing=1.5
        )
        return [line for lines in self.curves.values() for line in lines] + self.cursors

    def draw_background(self, *, query: int, **state: Any) -> list[Artist]:
        for panel in self.panels:
            panel.set(xlim=(-0.01 * query, query + 1), xticks=range(0, query + 2, (query + 1) // 4))
        return [panel.xaxis for panel in self.panels]

    def move(self, *, distance: int, slope: float, r1: float, r2: float, query: int) -> str:
        distances = np.arange(query + 1)
        here = min(distance, query)
        for cursor in self.cursors:
            cursor.set_xdata([here, here])
        values, halves = [], []
        for name, bias in kernel_biases(distances, slope=slope, r1=r1, r2=r2).items():
            weights = equal_contents_attention(bias)
            for line, curve in zip(self.curves[name], (bias, weights), strict=True):
                line.set_data(distances, curve)
            values.append(f"{name} {bias[here]:z.3f}, {weights[here]:.3%}")
            halves.append(f"{half_mass_distance(weights)}")
        first = " (the first token)" if here == query else ""
        return (
            f"Query at {query}, slope 1/{1 / slope:.0f}, r₁ = {r1:g}, r₂ = {r2:g}. At distance {here}{first}, bias and "
            f"attention: {'; '.join(values)}. Half of the attention lies within distance {', '.join(halves)}, in this "
            "order."
        ).replace("-", "−")
