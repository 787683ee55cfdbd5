"""A JupyterLab of our own on a copy of the notebooks, and a headless Chromium to open it with."""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab_page import LabPage
from tools.setup_env import OVERRIDES
from tools.store_notebooks import NOTEBOOKS

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Every cell is in the page, seen or not.
QUIET = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
# JupyterLab's debugger logs an error of its own when a kernel stops before answering it.
DISABLED = {"disabledExtensions": {"@jupyterlab/debugger-extension": True}}
OWN_FOLDERS = [f"JUPYTER_{name}_DIR" for name in ("CONFIG", "DATA", "RUNTIME")]
OWN_FOLDERS += ["JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"]
START_UP = 60  # seconds


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


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    origin: str
    token: str
    notebooks: Path

    def address(self, notebook: str) -> str:
        # ?reset forgets which notebooks were open
        return f"{self.origin}/lab/tree/{notebook}?token={self.token}&reset"

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.origin}/api/status?token={self.token}", timeout=5):
                return True
        except (urllib.error.URLError, TimeoutError):
            return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="package")
def lab(tmp_path_factory):
    find_browser()  # before the seconds that a server takes
    folder = tmp_path_factory.mktemp("lab")
    settings = folder / "settings"
    settings.mkdir()
    (settings / "overrides.json").write_text(json.dumps(OVERRIDES | QUIET), "utf-8")
    (settings / "page_config.json").write_text(json.dumps(DISABLED), "utf-8")
    notebooks = folder / "notebooks"
    shutil.copytree(NOTEBOOKS, notebooks, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "posenc_progress*"))

    port = free_port()
    running = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(), notebooks)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={notebooks}"]
    command += [f"--IdentityProvider.token={running.token}", f"--LabApp.app_settings_dir={settings}"]
    command += ["--LabApp.extension_manager=readonly"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        command.append("--allow-root")
    own = {name: str(folder / name.lower()) for name in OWN_FOLDERS}
    own["POSENC_PROGRESS"] = str(folder / "progress.json")
    log = folder / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=os.environ | own, stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + START_UP
        while not running.is_up():
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')}")
            time.sleep(0.1)
        yield running
    finally:
        server.terminate()  # the server ends its kernels
        server.wait(timeout=30)


@pytest.fixture(scope="package")
def browser():
    executable = find_browser()
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        chromium = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def open_notebook(lab, browser):
    """Opens a notebook, by name, in a page of its own; at the end no page may have met an error."""
    with contextlib.ExitStack() as pages:

        def open_page(notebook: str) -> LabPage:
            context = pages.enter_context(browser.new_context(viewport={"width": 1280, "height": 1000}))
            page = LabPage(context.new_page(), origin=lab.origin)
            opened.append(page)
            page.open(lab.address(notebook))
            return page

        opened: list[LabPage] = []
        yield open_page
    for page in opened:
        assert page.console_errors == []
        assert page.foreign_requests == []
