"""The built site in Chromium: opened from its folder, or from a server on this machine."""

import contextlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.chromium import WatchedPage, chromium
from tests.site.pages import SITE


@pytest.fixture(scope="session", autouse=True)
def site():
    """The folder, which must be there."""
    if not (SITE / "index.html").is_file():
        pytest.fail(f"no site in {SITE}: run `make site`")
    return SITE


@pytest.fixture(scope="package")
def browser():
    with chromium() as browser:
        yield browser


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture(scope="package")
def origins():
    """Where the site begins, by scheme."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"file": SITE.as_uri(), "http": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


@pytest.fixture(scope="package")
def opened(browser, origins):
    """Opens a page of the site, by name; when it closes it must have asked for nothing else and met no error."""

    @contextlib.contextmanager
    def opened(name, scheme="file", **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        watched = WatchedPage(context.new_page(), own=(origins[scheme] + "/",))
        watched.page.goto(f"{origins[scheme]}/{name}.html")
        try:
            yield watched.page
        finally:
            context.close()
        assert watched.console_errors == []
        assert watched.foreign_requests == []

    return opened
