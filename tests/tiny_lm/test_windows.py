import pytest
import torch

from posenc_lib.tiny_lm.corpus import decode, encode
from posenc_lib.tiny_lm.windows import KEY_LENGTH, draw_recall_windows, draw_text_windows, windows_for

DIGITS = encode("0123456789" * 100)  # text without letters: every letter in a window is a key's


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_text_windows_are_runs_of_the_text():
    text = torch.arange(50)
    windows = draw_text_windows(text, 200, 8, generator())
    assert windows.shape == (200, 8)
    assert (windows.diff(dim=-1) == 1).all()
    assert windows.min() == 0
    assert windows.max() == 49  # both ends of the text are drawn


def test_a_window_may_be_the_whole_text_and_not_more():
    assert draw_text_windows(torch.arange(8), 3, 8, generator()).tolist() == [list(range(8))] * 3
    with pytest.raises(ValueError, match="text must have at least 9 tokens for a window, got 8"):
        draw_text_windows(torch.arange(8), 3, 9, generator())


@pytest.mark.parametrize("length", [24, 129, 513])
def test_each_recall_window_repeats_one_key(length):
    for window in draw_recall_windows(DIGITS, 50, length, generator()):
        runs = "".join(letter if letter.isalpha() else " " for letter in decode(window)).split()
        letters = "".join(runs)
        key = letters[:KEY_LENGTH]
        assert letters == (key * (len(letters) // KEY_LENGTH + 1))[: len(letters)]
        assert all(len(run) % KEY_LENGTH == 0 for run in runs[:-1])  # only the window's end cuts a copy off


def test_copies_lie_near_and_far_apart():
    gaps = []
    for window in draw_recall_windows(DIGITS, 400, 129, generator()):
        text = "".join(letter if letter.isalpha() else " " for letter in decode(window)).lstrip()
        gaps += [len(gap) for gap in "".join("x" if c != " " else c for c in text).rstrip().split("x") if gap]
    assert min(gaps) == 1
    assert max(gaps) > 80


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="task must be one of 'text', 'recall', got 'copy'"):
        windows_for("copy")


def test_a_recall_window_too_short_for_two_keys_is_refused():
    with pytest.raises(ValueError, match="length must be an integer >= 24, got 20"):
        draw_recall_windows(DIGITS, 1, 20, generator())
