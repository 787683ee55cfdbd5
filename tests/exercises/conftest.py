"""Each test has a progress file of its own, in an empty folder."""

import pytest

from posenc_lib.exercises import predictions


@pytest.fixture(autouse=True)
def progress_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSENC_PROGRESS", raising=False)
    monkeypatch.setattr(predictions, "_choices", {})
    return tmp_path / "posenc_progress.json"
