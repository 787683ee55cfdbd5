"""The states of a widget: what each control may be set to, and what a widget shows then."""

import hashlib
import json
import string

import ipywidgets

from posenc_lib.widgets.config_reader import CONFIGS

STRAYS = (
    None,
    True,
    -1,
    0,
    0.5,
    1e308,
    float("nan"),
    10**30,
    "",
    "yarn",
    "linear",
    "\u2028",
    [],
    [1.0] * 48,
    {},
    {"a": 1},
)


def values_of(control):
    """What a control may be set to, from one end to the other."""
    if isinstance(control, ipywidgets.IntSlider):
        return range(control.min, control.max + 1)
    if isinstance(control, ipywidgets.Textarea):
        return [json.dumps(config) for config in CONFIGS.values()]
    return [value for _, value in control.options]


def random_value(control, rng):
    """Any value, its ends more often than others."""
    values = values_of(control)
    return rng.choice([values[0], values[-1], rng.choice(values)])


def random_config(rng):
    """A config with one value gone astray, one cut off, JSON of something else, or no JSON at all."""
    config = json.loads(rng.choice(values_of(ipywidgets.Textarea())))
    inner = config["rope_scaling"] or config
    place = rng.choice([config, inner])
    place[rng.choice([*place, "head_dim", "factor", "beta_fast", "rope_theta"])] = rng.choice(STRAYS)
    text = json.dumps(config)
    garbage = "".join(rng.choices(string.printable + "ωλ∞\0", k=rng.randint(0, 40)))
    return rng.choice([text, text, text[: rng.randint(0, len(text))], json.dumps(rng.choice(STRAYS)), garbage])


def shown(figure):
    """The picture, as a digest of its bytes, and the readout."""
    return hashlib.sha256(figure.image.value).hexdigest(), figure.readout
