"""Fixtures and settings every test folder shares."""

import json
import os
from pathlib import Path

import hypothesis
import pytest

CASES = {case["name"]: case for case in json.loads(Path(__file__).with_name("cases.json").read_text("utf-8"))}

# Deadlines measure the machine, not the code; `make test-all` looks longer.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=30)
hypothesis.settings.register_profile("long", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def case():
    """A numeric case from a public bug report, by name: a dict with source, inputs, expected, tolerance."""
    return CASES.__getitem__
