"""A headless Chromium, and a page in it that notes what it must not do: what the tests of every page share."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def find_browser() -> str:
    """The browser to run. Without one a person's tests are skipped, and those of a CI machine fail."""
    if chosen := os.environ.get("POSENC_CHROMIUM"):
        if not shutil.which(chosen):
            pytest.fail(f"POSENC_CHROMIUM names no program: {chosen}")
        return chosen
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found:
        return found
    reason = f"no browser: install Chromium (none of {', '.join(BROWSERS)} is there) or name one in POSENC_CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser."""
    executable = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


class WatchedPage:
    """One browser page.

    Args:
        page: Playwright's page, before it has opened anything.
        own: how the addresses begin that the page may ask for.
        known_errors: those of the program that shows the page, not of the page.

    Attributes:
        page: Playwright's page.
        console_errors: what the page logged as an error, but for the known ones.
        foreign_requests: the other addresses that it asked for.
    """

    def __init__(self, page: Page, *, own: tuple[str, ...], known_errors: tuple[str, ...] = ()) -> None:
        self.page = page
        self.console_errors: list[str] = []
        self.foreign_requests: list[str] = []
        own += ("data:", "blob:")

        def note(error: str) -> None:
            if error not in known_errors:
                self.console_errors.append(error)

        page.on("console", lambda said: note(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: note(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith(own) else self.foreign_requests.append(sent.url))
