"""A Jupyter server of our own on a copy of the notebooks: JupyterLab and Notebook 7, to be opened in Chromium."""

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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.browser.lab_page import LabPage
from tests.chromium import chromium, find_browser
from tools.setup_env import OVERRIDES
from tools.store_notebooks import NOTEBOOKS

# Every cell is in the page, seen or not.
QUIET = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
# JupyterLab's debugger logs an error of its own when a kernel stops before answering it.
DISABLED = {"disabledExtensions": {"@jupyterlab/debugger-extension": True}}
OWN_FOLDERS = [f"JUPYTER_{name}_DIR" for name in ("CONFIG", "DATA", "RUNTIME")]
OWN_FOLDERS += ["JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"]
START_UP = 60  # seconds


@dataclass(frozen=True)
class Lab:
    """A running server of JupyterLab and Notebook 7."""

    origin: str
    token: str
    notebooks: Path

    def address(self, path: str) -> str:
        """The address of lab/tree/NAME.ipynb in JupyterLab, of notebooks/NAME.ipynb in Notebook 7, or of lab alone."""
        # ?reset forgets which notebooks were open
        return f"{self.origin}/{path}?token={self.token}&reset"

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


@contextlib.contextmanager
def jupyter(folder: Path) -> Iterator[Lab]:
    """A server of its own, which keeps all it writes in this folder."""
    find_browser()  # before the seconds that a server takes
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
    command += [f"--IdentityProvider.token={running.token}", "--LabApp.extension_manager=readonly"]
    # Notebook 7 is a server extension, which JupyterLab's own flags do not reach
    command += [f"--{app}.app_settings_dir={settings}" for app in ("LabApp", "JupyterNotebookApp")]
    command += ["--JupyterNotebookApp.expose_app_in_browser=True"]
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


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Each file of tests has a server of its own.

    One keeps what was run and saved, with the kernels; and once it has shown Notebook 7 it refuses JupyterLab the files
    that both have.
    """
    with jupyter(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="package")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def open_page(lab, browser):
    """Opens an address of the server in a page of its own; at the end no page may have met an error but known ones."""
    with contextlib.ExitStack() as pages:

        def open_page(path: str, *, known_errors: tuple[str, ...] = ()) -> LabPage:
            context = pages.enter_context(browser.new_context(viewport={"width": 1280, "height": 1000}))
            page = LabPage(context.new_page(), origin=lab.origin, known_errors=known_errors)
            opened.append(page)
            page.page.goto(lab.address(path))
            return page

        opened: list[LabPage] = []
        yield open_page
    for page in opened:
        assert page.console_errors == []
        assert page.foreign_requests == []


@pytest.fixture
def open_notebook(open_page):
    """Opens a notebook, by name, in JupyterLab and waits for its kernel."""

    def open_notebook(notebook: str) -> LabPage:
        page = open_page(f"lab/tree/{notebook}")
        page.wait_for_kernel()
        return page

    return open_notebook
