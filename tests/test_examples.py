"""The scripts under examples/ print what their `.out` files hold."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.gallery import tables

ROOT = Path(__file__).parents[1]
FOLDERS = ("examples", "examples/layout", "examples/schedule", "examples/jit", "examples/frameworks", "examples/gallery")
MODULES = {"falls", "emitted", "shown"}
"""Imported by other scripts; they print nothing."""
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py") if path.stem not in MODULES)
QUICK = {"csv_automaton", "fft_bit_reversal", "stencil_3d"}
"""Scripts of the gallery in the default tests: a scan, an exchange, a stencil. `make gallery` runs all."""
OPTIONAL = ("torch", "jax", "polars", "duckdb", "pyspark", "dask", "triton", "pandas")
"""Packages that not everybody has."""


def printed_by(script: Path, pictures: Path) -> str:
    """Standard output, with file names relative to the project. Scripts of the gallery draw pictures, too."""
    own = {**os.environ, "WARPLOOM_PICTURES": str(pictures)}
    done = subprocess.run([sys.executable, "-W", "error", script], cwd=ROOT, capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(f"{ROOT}/", "")


def _marks(script: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if script.parent.name == "gallery" and script.stem not in QUICK else []


@pytest.mark.parametrize("script", [pytest.param(s, id=s.stem, marks=_marks(s)) for s in SCRIPTS])
def test_output(script: Path, golden: Callable[[Path, str], None], tmp_path: Path) -> None:
    for package in OPTIONAL:
        if re.search(rf"^import {package}\b", script.read_text(), re.M) and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: unchecked here")
    golden(script.with_suffix(".out"), printed_by(script, tmp_path))
    for picture in tmp_path.glob("*.svg"):
        golden(ROOT / "docs/gallery" / picture.name, picture.read_text(encoding="utf-8"))


def test_the_gallery_shows_what_was_measured(golden: Callable[[Path, str], None]) -> None:
    record = max((ROOT / "benchmarks/results").glob("gallery-*.jsonl"))
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert {line["case"] for line in lines if "case" in line} == {s.stem for s in SCRIPTS if s.parent.name == "gallery"}
    assert all(line.get("same", True) for line in lines)
    page = ROOT / "docs/how-to/gallery.md"
    shown = rf"\1{tables(lines)}\2"
    golden(page, re.sub(r"(<!-- tables -->\n).*?(<!-- end of tables -->)", shown, page.read_text(encoding="utf-8"), flags=re.S))


def test_no_output_file_is_left_over() -> None:
    outputs = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.out"))
    assert outputs == [script.with_suffix(".out") for script in SCRIPTS]
