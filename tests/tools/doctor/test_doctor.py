"""`warploom doctor`: each probe in a faked environment, and the command around them."""

from __future__ import annotations

import importlib.metadata
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom import gpu
from warploom.core import Diagnostic, UserError
from warploom.core import compiler as compilers
from warploom.gpu import NoDevice
from warploom.gpu import device as device_module
from warploom.tools.cli import cli
from warploom.tools.doctor import apart, parts, probes
from warploom.tools.doctor.found import Found


def raises(error: Exception) -> Callable[..., object]:
    def raising(*_: object, **__: object) -> object:
        raise error

    return raising


def test_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probes.python().works
    monkeypatch.setattr(probes, "LEAST_PYTHON", (99, 0))
    old = probes.python()
    assert not old.works and "expected 99.0 or newer" in old.text and old.fix


def test_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probes.packages().works
    monkeypatch.setattr(
        importlib.metadata, "requires", lambda _: ["numpy<3,>=2.0", "nothing-like-it>=1", "dask>=1; extra == 'c'"]
    )
    found = probes.packages()
    assert not found.works and found.text == "nothing-like-it is missing" and "pip install" in found.fix
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ["numpy>=99"])
    assert "expected >=99" in probes.packages().text
    monkeypatch.setattr(importlib.metadata, "requires", raises(importlib.metadata.PackageNotFoundError("warploom")))
    assert "not installed" in probes.packages().text


@pytest.mark.parametrize(
    ("version", "sign", "limit", "holds"),
    [("2.10", ">=", "2.9", True), ("2.9", ">=", "2.10", False), ("3.0.0", "<", "3", False), ("2.99", "<", "3", True)],
)
def test_versions(version: str, sign: str, limit: str, holds: bool) -> None:
    assert probes.keeps(version, sign, limit) == holds


def test_the_fix_installs_from_where_it_was_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        def __init__(self, text: str | None) -> None:
            self.text = text

        def read_text(self, _: str) -> str | None:
            return self.text

    editable = '{"url": "file:///a%20b", "dir_info": {"editable": true}}'
    for text, wanted in ((None, "install 'warploom[cuda]'"), (editable, "install --editable '/a b[cuda]'")):
        monkeypatch.setattr(importlib.metadata, "distribution", lambda _, text=text: Installed(text))
        assert probes.install("cuda").endswith(wanted) and probes.install("cuda").startswith(sys.executable)


def test_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = UserError(Diagnostic("TOOL_MISSING", "expected ptxas, got none"))
    monkeypatch.setattr(gpu, "compile_to_ptx", lambda *_: "")
    monkeypatch.setattr(gpu, "assemble", raises(missing))
    found = probes.cuda()
    assert not found.works and found.text == "expected ptxas, got none" and "[cuda]" in found.fix


@pytest.mark.parametrize(
    ("lacks", "has_card", "is_container", "fix"),
    [
        ("package", False, False, "pip install"),
        ("driver", False, False, ""),
        ("driver", True, False, "nvidia-driver"),
        ("newer driver", True, False, "nvidia-driver"),
        ("device", True, True, "--gpus all"),
    ],
)
def test_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacks: str, has_card: bool, is_container: bool, fix: str) -> None:
    monkeypatch.setattr(gpu, "why_no_device", lambda: NoDevice(lacks, "it is not there"))  # pyright: ignore
    card = tmp_path / "pci" / "0000:01:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10de\n" if has_card else "0x8086\n")
    (card / "class").write_text("0x030000\n")
    (tmp_path / "pci" / "torn").mkdir()
    mark = tmp_path / "mark"
    if is_container:
        mark.touch()
    monkeypatch.setattr(probes, "PCI", tmp_path / "pci")
    monkeypatch.setattr(probes, "PROC", tmp_path)
    monkeypatch.setattr(probes, "CONTAINER_MARKS", (mark,))
    found = probes.gpu()
    assert not found.works and "it is not there" in found.text
    assert fix in found.fix and bool(fix) == bool(found.fix)


def test_a_gpu_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "why_no_device", lambda: None)
    monkeypatch.setattr(gpu, "device_names", lambda: ("H100 (sm_90)", "New (sm_999)"))
    assert probes.gpu() == Found(True, "H100 (sm_90), New (sm_999); no figures for New (sm_999)")


@pytest.mark.parametrize(
    ("code", "count", "lacks"), [(0, 1, None), (0, 0, "device"), (100, 0, "device"), (35, 0, "newer driver"), (999, 0, "driver")]
)
def test_why_there_is_no_device(monkeypatch: pytest.MonkeyPatch, code: int, count: int, lacks: str | None) -> None:
    class Driver:
        cuInit = staticmethod(lambda _: (code,))
        cuDeviceGetCount = staticmethod(lambda: (0, count))

    monkeypatch.setattr(device_module.importlib, "import_module", lambda _: Driver)
    found = device_module.why_no_device()
    assert (found.lacks if found else None) == lacks


@pytest.mark.parametrize(("error", "lacks"), [(ImportError("no such"), "package"), (RuntimeError("Failed to dlopen"), "driver")])
def test_no_package_and_no_library(monkeypatch: pytest.MonkeyPatch, error: Exception, lacks: str) -> None:
    class Driver:
        cuInit = staticmethod(raises(error))

    monkeypatch.setattr(device_module.importlib, "import_module", raises(error) if lacks == "package" else lambda _: Driver)
    found = device_module.why_no_device()
    assert found is not None and found.lacks == lacks and str(error) in found.text


def test_c_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "find_compiler", lambda: None)
    assert "[cpu]" in probes.c_compiler().fix
    monkeypatch.setattr(probes, "find_compiler", lambda: compilers.Compiler(("cc",), "one without headers"))
    monkeypatch.setattr(probes, "build_library", raises(UserError(Diagnostic("C_COMPILER", "no stdio.h"))))
    found = probes.c_compiler()
    assert not found.works and "no stdio.h" in found.text and found.fix


def test_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def found_at(place: object) -> Found:
        monkeypatch.setenv("WARPLOOM_CACHE", str(place))
        return probes.cache()

    assert found_at("off").fix == "unset WARPLOOM_CACHE"
    assert found_at(tmp_path / "new" / "er") == Found(True, f"{tmp_path / 'new' / 'er'}, made when it is needed")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    assert "is no folder" in found_at(tmp_path / "file").text
    assert "nothing can be made" in found_at("/proc/warploom").text
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o700)
    assert found_at(folder).works
    folder.chmod(0o777)
    shared = found_at(folder)
    assert not shared.works and shared.fix == f"chmod go-w {folder}"


def test_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    assert probes.kernels() == Found(True, "none kept")
    (tmp_path / "kernels").mkdir(mode=0o700)
    (tmp_path / "kernels" / "torn.json").write_text("{")
    found = probes.kernels()
    assert not found.works and found.fix == "warploom kernels prune"


def test_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes.importlib.util, "find_spec", lambda _: None)
    assert "[cluster]" in probes.cluster().fix
    assert "[sat]" in probes.sat().fix


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> dict[str, Found]:
    """Findings of the probes, none of them run in a process of its own."""
    found = {name: Found(True, "fine") for name in parts.PARTS}

    class Probes:
        def __init__(self, names: list[str]) -> None: ...
        def __enter__(self) -> Probes:
            return self

        def __exit__(self, *_: object) -> None: ...
        def answer(self, name: str) -> Found:
            return found[name]

    monkeypatch.setattr("warploom.tools.doctor.command.Probes", Probes)
    return found


def test_exit_codes(here: dict[str, Found]) -> None:
    def code(*names: str) -> int:
        result = CliRunner().invoke(cli, ["doctor", *names, "--json"])
        lines = lines_of(result.stdout)
        assert [line["case"] for line in lines] == list(names or parts.PARTS)
        return result.exit_code

    assert code() == 0
    here["gpu"] = Found(False, "no GPU", "buy one")
    assert (code(), code("gpu"), code("cuda")) == (0, 1, 0)
    here["cache"] = Found(None, "no answer within 45 seconds")
    assert (code(), code("cuda")) == (3, 0)
    text = CliRunner().invoke(cli, ["doctor"]).stdout
    assert "gpu         missing    no GPU\n" in text and "fix: buy one" in text and "cache       no answer" in text


def test_a_probe_that_hangs_is_ended_with_what_it_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hanging = tmp_path / "cc"
    hanging.write_text("#!/bin/sh\nsleep 600 & echo $! >" + f"{tmp_path}/pid\nwait\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("CC", str(hanging))
    with apart.Probes(["c-compiler"], limit_s=600) as started:
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        monkeypatch.setattr(started, "_limit_s", 0.0)
        assert started.answer("c-compiler") == Found(None, "no answer within 0 seconds")
    status = Path("/proc") / (tmp_path / "pid").read_text().strip() / "status"
    while status.exists() and "State:\tZ" not in status.read_text():
        time.sleep(0.02)


def test_a_probe_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "own_command", lambda *_: [sys.executable, "-c", "import os; os.abort()"])
    with apart.Probes(["gpu"]) as started:
        found = started.answer("gpu")
    assert found.works is False and "ended with code -6" in found.text


def test_the_command_runs_its_probes_apart() -> None:
    result = CliRunner().invoke(cli, ["doctor", "python", "kernels", "--json"])
    assert [line["case"] for line in lines_of(result.stdout)] == ["python", "kernels"]
