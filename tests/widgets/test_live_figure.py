"""What every widget in the gallery promises, whatever it draws."""

import base64
import html
import io
import random
import subprocess
import sys

import ipywidgets
import matplotlib.style
import numpy as np
import PIL.Image
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from posenc_lib.widgets import GALLERY
from posenc_lib.widgets.live_figure import STYLE
from tests.widgets.states import random_value, values_of

EVERY_WIDGET = pytest.mark.parametrize("name", GALLERY)


@EVERY_WIDGET
def test_display_bundle_is_a_live_widget_a_picture_and_words(name):
    figure = GALLERY[name]()
    data, metadata = figure._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"] == figure.readout != ""
    view = data["application/vnd.jupyter.widget-view+json"]
    assert view == {"version_major": 2, "version_minor": 0, "model_id": figure.box.model_id}
    with PIL.Image.open(io.BytesIO(base64.b64decode(data["image/png"]))) as picture:
        assert metadata == {"image/png": dict(zip(("width", "height"), picture.size, strict=True))}


@EVERY_WIDGET
@pytest.mark.parametrize("scale", [1, 2])
def test_the_picture_without_a_kernel_has_the_readout_under_it(name, scale):
    figure = GALLERY[name](scale=scale)

    def still():
        data = figure._repr_mimebundle_()[0]["image/png"]
        picture = PIL.Image.open(io.BytesIO(base64.b64decode(data)))
        return np.split(np.asarray(picture), [360 * scale])

    frame, sentence = still()
    np.testing.assert_array_equal(frame, PIL.Image.open(io.BytesIO(figure.image.value)))
    ink = (sentence < 128).any(-1)
    for margin in (ink[: 3 * scale], ink[-3 * scale :], ink[:, : 6 * scale], ink[:, -6 * scale :]):
        assert not margin.any()  # nothing is cut off
    figure.say(figure.readout + ".")
    other = still()[1]
    assert other.shape != sentence.shape or (other != sentence).any()


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
def test_blitted_frame_is_that_of_one_full_draw(name):
    """A plain draw of the whole figure, on a canvas of its own, with what is blitted on top in the same order."""
    rng = random.Random(0)
    figure = GALLERY[name]()
    for _ in range(10):
        for control in figure.controls.values():
            control.value = random_value(control, rng)
    blitted = np.array(figure.figure.canvas.buffer_rgba())
    state = {control: widget.value for control, widget in figure.controls.items()}
    with matplotlib.style.context(["default", STYLE]):
        for place, artist in enumerate([*figure.draw_background(**state), *figure._moving]):
            artist.set(animated=False, zorder=1000 + place)
        canvas = FigureCanvasAgg(figure.figure)
        canvas.draw()
    np.testing.assert_array_equal(canvas.buffer_rgba(), blitted)


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
def test_the_default_device_does_not_matter(name):
    def press_all():
        figure = GALLERY[name]()
        shown = [figure.readout]
        for button in figure.box.children[-1].children:
            button.click()
            shown.append(figure.readout)
        return shown

    expected = press_all()
    with torch.device("meta"):
        assert press_all() == expected


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
