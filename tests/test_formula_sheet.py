"""The sheet of formulas that a lecturer prints: each of its Python forms gives what the library gives."""

import math
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from posenc_lib import LearnedEncoding
from posenc_lib.alibi import alibi_bias, alibi_slopes
from posenc_lib.attention import attention
from posenc_lib.context_extension import dynamic_ntk, llama3, longrope, ntk_aware, position_interpolation, yarn
from posenc_lib.kerple import kerple_log_bias, kerple_power_bias
from posenc_lib.rope import apply_rope, rope_cos_sin, rope_frequencies
from posenc_lib.sinusoidal import shift_matrix, sinusoidal_encoding, wavelengths
from posenc_lib.t5 import t5_buckets

SHEET = Path(__file__).parent.parent / "classroom" / "formulas.html"
FLOAT64 = {"dtype": torch.float64}
FUNCTIONS = {name: getattr(math, name) for name in ("sin", "cos", "sqrt", "log", "ceil", "floor")}
FUNCTIONS |= {"softmax": torch.softmax, "e": math.e, "π": math.pi}

LETTERS = {"base": 10_000, "d": 64, "T_train": 2048, "L": 512, "H": 8, "p": 377, "f_k": 1.7, "r1": 1.3, "r2": 0.6}
LETTERS |= {"α": 0.4, "β": 2.5, "Δ": 7, "m": 5, "n": 3, "q": 1 + 0.5j, "key": -0.3 + 1j}
CASES = {  # an early, a middle and a late pair; near and far, keys behind and ahead; two sizes
    "fast pair": LETTERS | {"k": 3, "h": 1, "i": 9, "j": 3, "s": 4, "T": 4096},
    "middle pair": LETTERS | {"k": 14, "h": 4, "i": 20, "j": 83, "s": 8, "T": 5000, "m": 2, "n": 40},
    "slow pair": LETTERS | {"k": 30, "h": 8, "i": 130, "j": 0, "s": 2, "T": 2500},
    "Llama 3": LETTERS
    | {"base": 500_000, "d": 128, "T_train": 8192, "k": 31, "h": 2, "i": 3, "j": 4, "s": 8, "T": 9000},
}


class Codes(HTMLParser):
    """The text of every <code>."""

    def __init__(self, text):
        super().__init__()
        self.codes = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "code":
            self.inside = True
            self.codes.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "code"

    def handle_data(self, data):
        if self.inside:
            self.codes[-1] += data


def on_the_sheet(letters):
    """Run the sheet from top to bottom; name → value for the last line of every form."""
    torch.manual_seed(0)
    X = torch.randn(5, letters["d"], **FLOAT64)
    drawn = {"Q": X.flip(-1), "K": X.roll(1, -1), "V": X, "B": torch.randn(5, 5, **FLOAT64)}
    scope = FUNCTIONS | letters | drawn | {"P": torch.eye(5, **FLOAT64)[[3, 0, 4, 1, 2]]}
    scope["D"] = abs(letters["i"] - letters["j"])
    results = {}
    for code in Codes(SHEET.read_text("utf-8")).codes:
        exec(code, scope)
        name = code.splitlines()[-1].split(" = ")[0]
        assert name not in results
        results[name] = scope[name]
    return results, SimpleNamespace(**{name: value for name, value in scope.items() if name != "__builtins__"})


def one_head(*tensors):
    return [tensor[None, None] for tensor in tensors]


def rotation(angle):
    """The library's rotation of a pair, as a matrix."""
    cos, sin = rope_cos_sin(torch.tensor([angle], **FLOAT64), torch.ones(1, **FLOAT64), **FLOAT64)
    return torch.cat([apply_rope(unit.view(1, 1, 1, 2), cos, sin).view(2, 1) for unit in torch.eye(2, **FLOAT64)], 1)


def turned(x, position, at):
    """A complex number turned by the library as pair k of a head."""
    head = torch.zeros(1, 1, 1, at.d, **FLOAT64)
    head[..., 2 * at.k], head[..., 2 * at.k + 1] = x.real, x.imag
    frequencies = rope_frequencies(at.d, base=at.base)
    return apply_rope(head, *rope_cos_sin(torch.tensor([position]), frequencies, **FLOAT64)).flatten()


def equal_contents(at):
    """Weights of distances 0, 1, … when all contents are equal, far enough to leave nothing out."""
    far = math.ceil(40 / at.m_h)
    return alibi_bias(torch.tensor([far]), torch.arange(far, -1, -1), at.slopes, **FLOAT64)[at.h - 1, 0].softmax(0)


def from_the_library(at):
    """The same by name. `at` holds the letters; nothing is taken from the sheet but the slope that is checked here."""
    at.slopes = alibi_slopes(at.H)
    at.m_h = at.slopes[at.h - 1].item()
    plain = rope_frequencies(at.d, base=at.base)
    PE = lambda *places: sinusoidal_encoding(torch.tensor(places), at.d, base=at.base, **FLOAT64)
    pair = slice(2 * at.k, 2 * at.k + 2)
    alone = torch.zeros(1, 1, at.n + 1, 1, **FLOAT64)  # every score 0
    token = alone.clone()
    token[..., 0, 0] = 1  # the start token's value
    weights = equal_contents(at)
    distance = torch.tensor(at.D)
    relative = torch.tensor(at.j - at.i)
    stretched = yarn(at.d, at.s, at.T_train, base=at.base)
    long = longrope(at.d, at.s, at.T_train, at.T_train + 1, [1] * (at.d // 2), [at.f_k] * (at.d // 2), base=at.base)
    return {
        "A": attention(*one_head(at.Q, at.K, at.V), bias=at.B[None], return_weights=True)[1][0, 0],
        "moved": attention(*one_head(at.P @ at.Q, at.P @ at.K, at.P @ at.V))[0, 0],
        "start": attention(alone, alone, token, causal=True)[0, 0, at.n, 0],
        "ω": plain[at.k],
        "λ": wavelengths(at.d, base=at.base)[at.k],
        "PE_k": PE(at.p)[0, pair],
        "norm": PE(at.p).norm(),
        "dot": PE(at.m)[0] @ PE(at.n)[0],
        "M_k": shift_matrix(at.Δ, at.d, base=at.base)[pair, pair],
        "parameters": sum(parameter.numel() for parameter in LearnedEncoding(at.L, at.d).parameters()),
        "R": rotation(at.α),
        "RtR": rotation(at.α).T @ rotation(at.β),
        "score": turned(at.q, at.m, at) @ turned(at.key, at.n, at),
        "m_h": at.m_h,
        "alibi": alibi_bias(torch.tensor([at.i]), torch.tensor([at.j]), at.slopes)[at.h - 1, 0, 0],
        "ratio": weights[at.D] / weights[0],
        "half_mass": (weights.cumsum(0) >= 0.5).nonzero()[0, 0],
        "bucket": t5_buckets(-distance, bidirectional=False),
        "both_ways": t5_buckets(relative, bidirectional=True),
        "kerple_log": kerple_log_bias(distance, at.r1, at.r2),
        "kerple_power": kerple_power_bias(distance, at.r1, at.r2),
        "ω_PI": position_interpolation(at.d, at.s, base=at.base).frequencies[at.k],
        "base_NTK": ntk_aware(at.d, at.s, base=at.base).frequencies[1] ** (-at.d / 2),
        "s_now": plain[-1] / dynamic_ntk(at.d, at.s, at.T_train, at.T, base=at.base).frequencies[-1],
        "ω_YaRN": stretched.frequencies[at.k],
        "a_YaRN": stretched.attention_factor,
        "ω_Llama3": llama3(at.d, at.s, at.T_train, base=at.base).frequencies[at.k],
        "ω_LongRoPE": long.frequencies[at.k],
        "a_LongRoPE": long.attention_factor,
    }


@pytest.mark.parametrize("letters", CASES.values(), ids=CASES)
def test_every_formula_on_the_sheet_gives_what_the_library_gives(letters):
    """To rounding in float64."""
    sheet, at = on_the_sheet(letters)
    library = from_the_library(at)
    assert list(sheet) == list(library)
    for name, value in sheet.items():
        shown, expected = (torch.as_tensor(number, **FLOAT64) for number in (value, library[name]))
        assert torch.allclose(shown, expected, rtol=1e-12, atol=1e-15), (name, shown, expected)


def test_buckets_on_the_sheet_are_exact_at_every_distance():
    """A rounded logarithm can miss the edge of a bucket."""
    for j in range(-130, 131):
        sheet, _ = on_the_sheet(LETTERS | {"k": 0, "h": 1, "i": 0, "j": j, "s": 2, "T": 4096})
        assert sheet["both_ways"] == t5_buckets(torch.tensor(j), bidirectional=True)
        assert sheet["bucket"] == t5_buckets(torch.tensor(-abs(j)), bidirectional=False)


def test_sheet_asks_for_nothing_from_outside():
    text = SHEET.read_text("utf-8")
    assert not any(word in text for word in ("://", "<script", "<link", "src=", "@import", "url("))
