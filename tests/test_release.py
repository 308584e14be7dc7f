"""What a release says of itself, and that two builds of it are one."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import warploom

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere() -> None:
    version = warploom.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^## (\d\S*) ", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == version
    assert f"({version.rpartition('.')[0]}, no stable API)" in (ROOT / "README.md").read_text()


def test_home_is_one() -> None:
    home = PROJECT["urls"]["Source"]
    assert f"repository-code: {home}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\nrepo_url: {home}\n" in (ROOT / "mkdocs.yml").read_text()
    assert all(url.startswith(home) for url in PROJECT["urls"].values())


def test_the_named_pythons_are_those_that_it_takes() -> None:
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert named[0] == PROJECT["requires-python"].removeprefix(">=") and named == sorted(named, key=lambda v: int(v[2:]))


@pytest.mark.slow
def test_two_builds_are_one(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    builds: list[dict[str, bytes]] = []
    for name in ("first", "second"):
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / name)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        builds.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert len(builds[0]) == 2 and builds[0] == builds[1]
    (wheel,) = (tmp_path / "first").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
        (about,) = (archive.read(name).decode() for name in inside if name.endswith("/METADATA"))
    assert {"warploom/py.typed", "warploom/tools/new/templates/sketch.txt"} <= set(inside)
    assert "](https://github.com/" in about and "](docs/" not in about
    (sdist,) = (tmp_path / "first").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        folders = {name.split("/")[1] for name in archive.getnames()}
    assert "src" in folders and not {"tests", "benchmarks", ".venv"} & folders
