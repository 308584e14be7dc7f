"""A release says one version and one home everywhere, and two builds of it are one."""

from __future__ import annotations

import os
import re
import shutil
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


def _on_path(minor: int) -> list[Path]:
    found = shutil.which(f"python3.{minor}")
    return [Path(found)] if found and ".pyenv/shims" not in found else []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


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


INTERPRETERS = [
    found
    for minor in (11, 12, 13, 14)
    if (found := next(iter([*Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3.{minor}"), *_on_path(minor)]), None))
]
"""One of each version that is installed here."""


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", INTERPRETERS, ids=lambda path: path.name)
def test_the_wheel_without_extras(interpreter: Path, wheel: Path, tmp_path: Path) -> None:
    """A fresh environment: what `new` writes runs, and `explore` compiles for the CPU, with the newest packages that it takes."""

    def run(*words: str | Path) -> str:
        own = {
            "PATH": f"{tmp_path / 'env/bin'}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "WARPLOOM_CACHE": str(tmp_path / "cache"),
        }
        done = subprocess.run(list(map(str, words)), cwd=tmp_path, capture_output=True, text=True, check=False, env=own)
        assert done.returncode == 0, (words, done.stdout + done.stderr)
        return done.stdout + done.stderr

    if subprocess.run([interpreter, "-m", "venv", tmp_path / "env"], capture_output=True, check=False).returncode:
        pytest.skip(f"{interpreter} makes no environments")
    installed = subprocess.run(
        [tmp_path / "env/bin/python", "-m", "pip", "install", "--quiet", wheel], capture_output=True, text=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"the packages that it needs cannot be installed: {installed.stderr.strip().splitlines()[-1]}")
    assert "works" in run("warploom", "doctor", "python", "packages")
    for kind in ("sketch", "tensor", "scan", "swflow"):
        run("warploom", "new", kind, f"my_{kind}")
    assert "solved, proved" in run("warploom", "synth", "my_sketch.py", "--html", "my_sketch.html")
    assert "solved, proved" in run("warploom", "scan", "lift", "my_scan.py")
    assert "solved, proved" in run("warploom", "solve", "my_swflow.swflow")
    if shutil.which("cc"):
        assert "solved, tested" in run(
            "warploom", "explore", "my_tensor.py", "--size", "m=64,k=64", "--target", "cpu", "--budget", "3s"
        )
