"""CONTRIBUTING.md adds a ninth encoding: done as it says, in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# what the text promises to be included in
OF_EVERY_ENCODING = ["tests/test_base.py", "tests/tiny_lm/test_model.py", "tests/tiny_lm/test_checkpoints.py"]


def test_a_ninth_encoding_takes_one_file_its_name_in_the_registry_and_one_test(tmp_path):
    section = re.search(r"## Add an encoding\n.*?\n## ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    method, imported, line, test = re.findall(r"```python\n(.*?)```", section[0], re.DOTALL)
    for folder in ("posenc_lib", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    (tmp_path / "posenc_lib/clipped.py").write_text(method, "utf-8")
    registry = tmp_path / "posenc_lib/__init__.py"
    text = registry.read_text("utf-8")
    text = text.replace("\nfrom posenc_lib.kerple", f"\n{imported}from posenc_lib.kerple")
    text = re.sub(
        r"(\n_REGISTRY.*?)(\n}\n)", lambda found: f"{found[1]}\n{line.rstrip()}{found[2]}", text, flags=re.DOTALL
    )
    registry.write_text(text, "utf-8")
    (tmp_path / "tests/test_clipped.py").write_text(test, "utf-8")

    def run(*command):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("ruff", "check", "posenc_lib/clipped.py", "tests/test_clipped.py")
    run("ruff", "format", "--check", "posenc_lib/clipped.py", "tests/test_clipped.py")
    said = run("pytest", "-v", "-p", "no:cacheprovider", "tests/test_clipped.py", *OF_EVERY_ENCODING)
    assert len(re.findall(r"\[(?:\S+-)?clipped\S*\] PASSED", said)) >= 8
