"""`warploom-ptxas` in the place of ptxas: what it rewrites, and that nothing is lost when something goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from warploom.core import find_tool
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.kernels.kernelgen import KERNELGEN, cuda_source
from warploom.ptx.shuffle import shuffle
from warploom.tools import ptxas

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


@pytest.fixture
def jacobi(tmp_path: Path) -> Path:
    path = tmp_path / "jacobi.ptx"
    path.write_text(compile_to_ptx(cuda_source(KERNELGEN["jacobi"], "guarded"), "sm_75"))
    return path


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLICY", "MAX_DELTA", "REPORT", "KEEP"):
        monkeypatch.delenv(f"WARPLOOM_{name}", raising=False)
    monkeypatch.setenv("WARPLOOM_PTXAS", str(find_tool("ptxas")))


def run(source: Path, *more: str) -> tuple[int, Path]:
    target = source.with_suffix(".cubin")
    return ptxas.run(["-arch=sm_75", *more, str(source), "-o", str(target)]), target


def test_the_rewritten_file_is_assembled_and_reported(jacobi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, keep = jacobi.with_name("report.jsonl"), jacobi.with_name("kept")
    monkeypatch.setenv("WARPLOOM_POLICY", "all")
    monkeypatch.setenv("WARPLOOM_REPORT", str(report))
    monkeypatch.setenv("WARPLOOM_KEEP", str(keep))
    before = jacobi.read_text()
    code, cubin = run(jacobi)
    (line,) = map(json.loads, report.read_text().splitlines())
    assert code == 0 and cubin.stat().st_size > 0
    assert line["applied"] == 6 and line["loads"] == 9
    assert (keep / "jacobi.ptx").read_text().count("shfl.sync") == 6
    assert jacobi.read_text() == before


def test_by_default_nothing_is_applied_that_the_model_does_not_expect_to_gain(
    jacobi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = jacobi.with_name("report.jsonl")
    monkeypatch.setenv("WARPLOOM_REPORT", str(report))
    assert ptxas.run(["-arch", "sm_90", str(jacobi), "-o", str(jacobi.with_suffix(".cubin"))]) == 0
    (line,) = map(json.loads, report.read_text().splitlines())
    assert line["applied"] == 0
    assert all("sm_90" in candidate["reason"] for candidate in line["candidates"])


def test_a_fault_of_the_rewriting_leaves_the_file_as_it_is(
    jacobi: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr("warploom.ptx.shuffle.shuffle", broken)
    code, cubin = run(jacobi)
    assert code == 0 and cubin.stat().st_size > 0
    assert capsys.readouterr().err == f"warploom-ptxas: warning: {jacobi} goes through unchanged: no reason\n"


def test_a_wrong_setting_is_a_warning(jacobi: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WARPLOOM_POLICY", "most")
    assert run(jacobi)[0] == 0
    assert "expected WARPLOOM_POLICY to be all, profitable or none, got 'most'" in capsys.readouterr().err


def test_what_ptxas_refuses_is_given_to_it_as_it_was(
    jacobi: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rewritten = shuffle

    def wrong(*arguments: object) -> object:
        found = rewritten(*arguments)  # type: ignore[arg-type]
        return type(found)(found.text.replace("ret;", "return;"), found.reports)

    monkeypatch.setattr("warploom.ptx.shuffle.shuffle", wrong)
    code, cubin = run(jacobi)
    assert code == 0 and cubin.stat().st_size > 0
    assert "ptxas refused the rewritten file, the original was used" in capsys.readouterr().err


def test_a_file_that_is_wrong_in_itself_gets_ptxas_own_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.ptx"
    path.write_text(".version 8.0\n.target sm_75\n.address_size 64\n.entry k() { nonsense.u32 %r1; }\n")
    assert run(path)[0] != 0
    assert "wrong.ptx" in capfd.readouterr().err


def test_the_real_ptxas_is_never_this_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    monkeypatch.setattr("sys.argv", ["warploom-ptxas", "--install", str(folder)])
    with pytest.raises(SystemExit) as stopped:
        ptxas.main()
    assert stopped.value.code == 0
    monkeypatch.delenv("WARPLOOM_PTXAS")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert ptxas.real_ptxas().parent != folder
    monkeypatch.setenv("WARPLOOM_PTXAS", str(folder / "ptxas"))
    with pytest.raises(ptxas.UserError, match="expected WARPLOOM_PTXAS to name the real ptxas"):
        ptxas.real_ptxas()


@pytest.mark.skipif(shutil.which("g++") is None, reason="nvcc needs a host compiler")
def test_nvcc_of_the_installed_folder_calls_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = find_tool("ptxas").with_name("nvcc")
    if not nvcc.is_file():
        pytest.skip("no nvcc beside ptxas")
    folder, report = tmp_path / "bin", tmp_path / "report.jsonl"
    monkeypatch.setenv("PATH", f"{nvcc.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("sys.argv", ["warploom-ptxas", "--install", str(folder)])
    with pytest.raises(SystemExit):
        ptxas.main()
    source = tmp_path / "jacobi.cu"
    source.write_text(cuda_source(KERNELGEN["jacobi"], "guarded"))
    environment = {**os.environ, "WARPLOOM_POLICY": "all", "WARPLOOM_REPORT": str(report)}
    environment.pop("WARPLOOM_PTXAS")
    command = [str(folder / "nvcc"), "-arch=sm_75", "-cubin", str(source), "-o", str(tmp_path / "jacobi.cubin")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text())["applied"] == 6
