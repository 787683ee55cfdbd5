"""What a small trained model makes of a long window: loss at each place, recomputed from the shipped weights."""

import functools
import math
from collections.abc import Callable
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.artist import Artist

from posenc_lib.tiny_lm import load, loss_by_position, stored_results
from posenc_lib.tiny_lm.corpus import VOCABULARY
from posenc_lib.widgets.live_figure import BLUE, GREY, VERMILLION, LiveFigure, State, choice, slider

__all__ = ["LABELS", "LossByPosition", "inside_and_beyond", "recomputed", "smoothed", "stored_curve", "verdict"]

TRAINED = 128
LENGTHS = (128, 256, 512, 1024, 2048)
SCORED = 32  # places at the end of a window; they hold the same characters whatever its length
BIN = 16  # places averaged into one number of a stored curve
NOTHING = "nothing"
LABELS = {
    "none": "no encoding",
    "sinusoidal": "sinusoidal",
    "learned": "learned (clamped)",
    "rope": "RoPE",
    "alibi": "ALiBi",
    "t5": "T5 bias",
    "kerple_log": "KERPLE log",
    "kerple_power": "KERPLE power",
}
LOOKS = ({"color": BLUE, "linestyle": "-"}, {"color": VERMILLION, "linestyle": "--"})


@functools.cache
def recomputed(encoding: str, length: int) -> np.ndarray:
    """Loss at each place of a window for the shipped model, in nats, (length,); positions past a table are clamped."""
    return loss_by_position(load(encoding), length, clamp=encoding == "learned").numpy()


@functools.cache
def stored_curve(encoding: str, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres of the bins, the seeds' mean loss in each, and the seeds' spread (largest − smallest), (length/16,)."""
    curve = stored_results("bake_off")["encodings"][encoding]["text"]["by_position"][str(length)]
    centres = np.arange(BIN / 2, length, BIN)
    return centres, np.array(curve["mean"]), np.array(curve["spread"])


def smoothed(losses: np.ndarray, width: int) -> np.ndarray:
    """The mean over `width` places around each, over those that exist at the ends; (T,) → (T,)."""
    sums = np.concatenate(([0.0], np.cumsum(losses)))
    places = np.arange(len(losses))
    first = np.maximum(places - (width - 1) // 2, 0)
    after = np.minimum(places + width // 2 + 1, len(losses))
    return (sums[after] - sums[first]) / (after - first)


def inside_and_beyond(losses: np.ndarray, trained: int = TRAINED) -> tuple[float, float | None]:
    """Mean loss at the trained places and at those past them, None if there are none."""
    beyond = losses[trained:]
    return float(losses[:trained].mean()), float(beyond.mean()) if len(beyond) else None


def verdict(rise: float) -> str:
    """In words, what a longer window did to the loss of the same characters, by how many nats it rose."""
    if rise > 1:
        return "it fails"
    return "it loses" if rise > 0.1 else "it holds"


class LossByPosition(LiveFigure):
    """The bake-off's models on windows longer than the 128 characters that they were trained on."""

    description = (
        "Loss at each place of a window of held-out text, for one encoding or for two. Thin lines are recomputed from "
        "the shipped weights of seed 0; behind each lies the stored mean over the seeds, in a band as wide as their "
        "spread. The dotted line ends the 128 places that were trained; the level line is what equal chances for all "
        "characters cost. A learned table has no rows past 128: there its last row is repeated. Slide the smoothing; "
        "choose encodings and the length of the window. A new pair is computed once and takes seconds at 2048."
    )
    background_controls = ("length", "encoding", "beside")

    def make_controls(self) -> dict[str, ipywidgets.ValueWidget]:
        encodings = [(label, name) for name, label in LABELS.items()]
        return {
            "smoothing": slider("smoothing", BIN, 1, TRAINED),
            "length": choice("window (characters)", 512, [(str(length), length) for length in LENGTHS]),
            "encoding": choice("encoding", "rope", encodings),
            "beside": choice("beside it", NOTHING, [(NOTHING, NOTHING), *encodings]),
        }

    def presets(self) -> dict[str, Callable[[State], dict[str, Any]]]:
        def state(encoding: str, length: int, beside: str = NOTHING) -> Callable[[State], dict[str, Any]]:
            values = {"encoding": encoding, "beside": beside, "length": length, "smoothing": BIN}
            return lambda _: values

        return {
            "RoPE at 4×": state("rope", 512),
            "ALiBi at 16×": state("alibi", 2048),
            "Learned, clamped": state("learned", 512),
            "T5 beside KERPLE log": state("t5", 1024, "kerple_log"),
            "No encoding beside RoPE": state("none", 512, "rope"),
        }

    def build(self) -> list[Artist]:
        self.axes = self.figure.add_axes((0.085, 0.13, 0.88, 0.765))
        self.axes.set(xlabel="place in the window (characters)", ylabel="loss (nats a character)")
        self.rules = [
            self.axes.axvline(TRAINED, color=GREY, linestyle=":", linewidth=1.2),
            self.axes.axhline(math.log(len(VOCABULARY)), color=GREY, linewidth=0.8),
        ]
        self.lines = [self.axes.plot([], [], linewidth=1.2, **look)[0] for look in LOOKS]
        self.stored: list[Artist] = []
        return list(self.lines)

    def draw_background(self, *, length: int, encoding: str, beside: str, **state: Any) -> list[Artist]:
        for artist in self.stored:
            artist.remove()
        self.stored, handles, top = [], [], 5.0
        for line, name in zip(self.lines, self._shown(encoding, beside), strict=False):
            places, means, spreads = stored_curve(name, length)
            band = self.axes.fill_between(
                places, means - spreads / 2, means + spreads / 2, color=line.get_color(), alpha=0.25, linewidth=0
            )
            (mean,) = self.axes.plot(places, means, color=line.get_color(), alpha=0.3, linewidth=4)
            self.stored += [band, mean]
            line.set_label(LABELS[name])
            handles.append(line)
            top = max(top, 1.05 * recomputed(name, length).max(), 1.05 * (means + spreads / 2).max())
        mean.set_label("stored mean and spread")
        self.axes.set(xlim=(0, length), xticks=np.linspace(0, length, 5), ylim=(0, top))
        legend = self.figure.legend(
            handles=[*handles, mean], loc="upper center", bbox_to_anchor=(0.53, 1.0), ncols=3, handlelength=3
        )
        side, space = ("left", 4) if length > TRAINED else ("right", -4)
        notes = [
            self.axes.annotate(
                note, (TRAINED, loss), (space, 2), textcoords="offset points", ha=side, color=GREY, fontsize=8
            )
            for note, loss in (("trained to here", 0), ("equal chances", math.log(len(VOCABULARY))))
        ]
        self.stored += [legend, *notes]
        return [self.axes.xaxis, self.axes.yaxis, *self.rules, *self.stored]

    def move(self, *, smoothing: int, length: int, encoding: str, beside: str) -> str:
        shown = self._shown(encoding, beside)
        for line in self.lines[len(shown) :]:
            line.set_data([], [])
        said = []
        for line, name in zip(self.lines, shown, strict=False):
            losses = recomputed(name, length)
            line.set_data(np.arange(length), smoothed(losses, smoothing))
            inside, beyond = inside_and_beyond(losses)
            if beyond is None:
                said.append(f"{LABELS[name]}: {inside:.2f} nats, and no place lies past the trained window.")
                continue
            home, here = recomputed(name, TRAINED)[-SCORED:].mean(), losses[-SCORED:].mean()
            said.append(
                f"{LABELS[name]}: {inside:.2f} nats inside the trained window, {beyond:.2f} past it. The last {SCORED} "
                f"characters cost {here:.2f}, in a window of {TRAINED} {home:.2f}: {verdict(here - home)}."
            )
        return (
            f"Window of {length} characters, {length // TRAINED} × the trained length, smoothed over {smoothing}. "
            + " ".join(said)
        )

    @staticmethod
    def _shown(encoding: str, beside: str) -> list[str]:
        return [encoding] if beside == NOTHING else [encoding, beside]
