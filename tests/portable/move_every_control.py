# Run in a notebook's kernel after its cells: takes every control that lives there through its states.
import ipywidgets

SHOWS_ONLY = (ipywidgets.HTML, ipywidgets.Image, ipywidgets.IntProgress, ipywidgets.FloatProgress)


def ways_to_move(control):
    """What a person can do with a control: both ends of a slider, each choice, a text, a click."""
    if isinstance(control, ipywidgets.IntSlider):
        return [("value", control.min), ("value", control.max)]
    if hasattr(control, "options"):
        return [("index", index) for index in range(len(control.options))]
    if isinstance(control, (ipywidgets.Text, ipywidgets.Textarea)):
        return [("value", ""), ("value", "12"), ("value", "{")]
    if isinstance(control, ipywidgets.Button):
        return ["click"]
    if isinstance(control, ipywidgets.ValueWidget) and not isinstance(control, SHOWS_ONLY):
        raise TypeError(f"nothing is known of how to move a {type(control).__name__}")
    return []


widgets = list(ipywidgets.Widget.widgets.values())
frames = {widget: {widget.value} for widget in widgets if isinstance(widget, ipywidgets.Image)}
moves = 0
for control in widgets:
    for move in ways_to_move(control):
        if move == "click":
            control.click()
        else:
            setattr(control, *move)
        moves += 1
        for image, seen in frames.items():
            seen.add(image.value)
assert moves, "no control was found"
assert all(len(seen) > 1 for seen in frames.values()), "a picture never changed"
print(f"{len(frames)} pictures")
