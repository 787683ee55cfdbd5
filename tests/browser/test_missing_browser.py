"""A machine without a browser skips the browser tests by name, and fails them where CI says it must not."""

import pytest

from tests.chromium import find_browser


@pytest.fixture(autouse=True)
def no_browser_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("POSENC_CHROMIUM", raising=False)
    monkeypatch.delenv("CI", raising=False)


def test_a_person_is_told_why_the_tests_are_skipped():
    with pytest.raises(pytest.skip.Exception, match=r"install Chromium .* POSENC_CHROMIUM"):
        find_browser()


def test_ci_fails(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install Chromium"):
        find_browser()


def test_a_chosen_browser_that_is_not_there_fails(monkeypatch):
    monkeypatch.setenv("POSENC_CHROMIUM", "no-such-browser")
    with pytest.raises(pytest.fail.Exception, match="POSENC_CHROMIUM names no program: no-such-browser"):
        find_browser()
