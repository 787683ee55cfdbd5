"""What every widget in the gallery promises, whatever it draws."""

import base64
import html
import io
import json
import random
import subprocess
import sys
import warnings

import ipywidgets
import matplotlib
import numpy as np
import PIL.Image
import pytest

from posenc_lib.widgets import GALLERY
from posenc_lib.widgets.config_reader import CONFIGS

EVERY_WIDGET = pytest.mark.parametrize("name", GALLERY)
FUZZ_STATES = 300


def values_of(control):
    """What a control may be set to, from one end to the other."""
    if isinstance(control, ipywidgets.IntSlider):
        return range(control.min, control.max + 1)
    if isinstance(control, ipywidgets.Textarea):
        return [json.dumps(config) for config in CONFIGS.values()]
    return [value for _, value in control.options]


def random_value(control, rng):
    values = values_of(control)
    return rng.choice([values[0], values[-1], rng.choice(values)])


def set_all(figure, state):
    for name, value in state.items():
        figure.controls[name].value = value


@EVERY_WIDGET
def test_display_bundle_is_a_live_widget_a_picture_and_words(name):
    figure = GALLERY[name]()
    data, metadata = figure._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"] == figure.readout != ""
    assert base64.b64decode(data["image/png"]) == figure.image.value
    view = data["application/vnd.jupyter.widget-view+json"]
    assert view == {"version_major": 2, "version_minor": 0, "model_id": figure.box.model_id}
    assert metadata == {"image/png": {"width": 640, "height": 360}}


@EVERY_WIDGET
@pytest.mark.parametrize("scale", [1, 2])
def test_picture_is_what_the_canvas_holds(name, scale):
    figure = GALLERY[name](scale=scale)
    picture = PIL.Image.open(io.BytesIO(figure.image.value))
    picture.verify()  # chunk checksums
    picture = PIL.Image.open(io.BytesIO(figure.image.value))
    assert (picture.mode, picture.size) == ("RGB", (640 * scale, 360 * scale))
    canvas = np.asarray(figure.figure.canvas.buffer_rgba())
    np.testing.assert_array_equal(np.asarray(picture), canvas[..., :3])
    assert (canvas[..., 3] == 255).all()
    assert (canvas[[0, 0, -1, -1], [0, -1, 0, -1], :3] == 255).all()  # white to the corners, so dark themes work


@EVERY_WIDGET
def test_first_control_is_a_linear_slider_and_every_control_is_labelled(name):
    figure = GALLERY[name]()
    assert isinstance(next(iter(figure.controls.values())), ipywidgets.IntSlider)
    for control in figure.controls.values():
        assert control.description
        assert control.continuous_update
        assert control in figure.box.children
    assert figure.image in figure.box.children


@EVERY_WIDGET
def test_setting_a_control_redraws_at_once_and_reset_returns_to_the_first_frame(name):
    figure = GALLERY[name]()
    first = figure.image.value, figure.readout
    for control_name, control in figure.controls.items():
        if name == "score_by_distance" and control_name == "offset":
            figure.controls["kind"].value = "tuned"  # the one kind that has an offset
        before = figure.image.value, figure.readout
        values = values_of(control)
        control.value = values[-1] if values[-1] != control.value else values[0]
        assert figure.image.value != before[0], control_name
        assert figure.readout != before[1], control_name
        text = next(child for child in figure.box.children if isinstance(child, ipywidgets.HTML))
        assert html.escape(figure.readout) in text.value
    figure.reset()
    assert (figure.image.value, figure.readout) == first


@EVERY_WIDGET
def test_each_button_sets_its_state_with_one_redraw(name):
    figure = GALLERY[name]()
    frames = []
    figure.image.observe(lambda change: frames.append(change.new), names="value")
    buttons = figure.box.children[-1].children
    assert [button.description for button in buttons][-1] == "Reset"
    assert len(buttons) >= 3
    for button in buttons:
        sliders = [c for c in figure.controls.values() if isinstance(c, ipywidgets.IntSlider)]
        for place, control in enumerate(sliders):  # all apart, where no button leads
            control.value = control.max - 1 - place
        frames.clear()
        button.click()
        assert len(frames) == 1, button.description


@EVERY_WIDGET
def test_any_order_of_moves_ends_in_the_picture_of_its_state(name):
    rng = random.Random(0)
    figure, fresh = GALLERY[name](), GALLERY[name]()
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(FUZZ_STATES):
            order = rng.sample(sorted(figure.controls), rng.randint(1, 2))
            set_all(figure, {control: random_value(figure.controls[control], rng) for control in order})
            state = {control: widget.value for control, widget in figure.controls.items()}
            seen.append((state, figure.image.value, figure.readout))
        for state, picture, readout in rng.sample(seen, 20):
            for again in (figure, fresh):
                set_all(again, state)
                assert again.readout == readout
                assert again.image.value == picture, state


@EVERY_WIDGET
@pytest.mark.parametrize("end", [0, -1])
def test_nothing_is_clipped_at_either_end_of_every_control(name, end):
    figure = GALLERY[name]()
    for control in figure.controls.values():
        control.value = values_of(control)[end]
    drawn = figure.figure.get_tightbbox(figure.figure.canvas.get_renderer())  # inches
    assert drawn.x0 >= 0
    assert drawn.y0 >= 0
    assert drawn.x1 <= 6.4
    assert drawn.y1 <= 3.6


@EVERY_WIDGET
def test_a_moved_slider_does_not_redraw_the_axes(name, monkeypatch):
    figure = GALLERY[name]()
    monkeypatch.setattr(figure.figure, "draw", lambda renderer: pytest.fail("a full draw"))
    control = next(iter(figure.controls.values()))
    before = figure.image.value
    control.value = control.max
    assert figure.image.value != before


@EVERY_WIDGET
def test_the_notebooks_own_style_does_not_reach_the_picture(name):
    expected = GALLERY[name]().image.value
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "axes.facecolor": "black"}):
        assert GALLERY[name]().image.value == expected


@EVERY_WIDGET
def test_an_error_in_a_redraw_reaches_whoever_moved_the_slider(name, monkeypatch):
    figure = GALLERY[name]()

    def broken(**state):
        raise ArithmeticError("broken on purpose")

    monkeypatch.setattr(figure, "move", broken)
    control = next(iter(figure.controls.values()))
    with pytest.raises(ArithmeticError, match="broken on purpose"):
        control.value = control.max


@EVERY_WIDGET
def test_description_is_one_paragraph(name):
    description = GALLERY[name]().describe()
    assert 100 < len(description) < 700
    assert "\n" not in description


@pytest.mark.parametrize("scale", [0, -1, float("nan")])
def test_scale_must_be_a_positive_number(scale):
    with pytest.raises(ValueError, match="scale must be a finite number > 0"):
        GALLERY["rope_dial"](scale=scale)


def test_widgets_never_touch_pyplot():
    script = (
        "import sys; from posenc_lib.widgets import GALLERY; [widget() for widget in GALLERY.values()]; "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
