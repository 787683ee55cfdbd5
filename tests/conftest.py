"""Fixtures and settings every test folder shares."""

import json
import os
from pathlib import Path

import hypothesis
import pytest

CASES = {case["name"]: case for case in json.loads(Path(__file__).with_name("cases.json").read_text("utf-8"))}

# Deadlines measure the machine, not the code. A CI run repeats its examples, so that a failure is the change's; on a
# person's machine each run draws new ones, and `make test-all` draws many.
ALWAYS = {"deadline": None, "derandomize": bool(os.environ.get("CI"))}
hypothesis.settings.register_profile("quick", max_examples=30, **ALWAYS)
hypothesis.settings.register_profile("long", max_examples=1000, **ALWAYS)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(tryfirst=True)  # before pytest-socket reads its options
def pytest_configure(config):
    """No test reaches beyond this machine."""
    config.option.allow_hosts = "127.0.0.1,::1,localhost"
    config.option.allow_unix_socket = True


@pytest.fixture(scope="session")
def case():
    """A numeric case from a public bug report, by name: a dict with source, inputs, expected, tolerance."""
    return CASES.__getitem__
