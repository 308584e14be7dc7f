"""`warploom-ptxas --install`: what it writes, what it never overwrites, and that no path is read by a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from warploom.tools import ptxas


@pytest.fixture(autouse=True)
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ptxas and an nvcc that say where they are."""
    cuda = tmp_path / "cuda" / "bin"
    cuda.mkdir(parents=True)
    for tool, text in (("ptxas", "exit 0"), ("nvcc", f"echo '#$ _HERE_={cuda}' >&2"), ("cicc", "exit 0")):
        (cuda / tool).write_text(f"#!/bin/sh\n{text}\n")
        (cuda / tool).chmod(0o755)
    (cuda / "nvcc.profile").write_text("TOP = $(_HERE_)/..\nPATH += $(TOP)\n")
    monkeypatch.delenv("WARPLOOM_PTXAS", raising=False)
    monkeypatch.setenv("PATH", f"{cuda}{os.pathsep}{os.environ['PATH']}")
    return cuda


def test_what_it_writes(tmp_path: Path, real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    assert install(folder, monkeypatch) == 0
    assert {path.name for path in folder.iterdir()} == {"ptxas", "nvcc", "cicc", "nvcc.profile"}
    assert (folder / "nvcc").readlink() == real / "nvcc"
    assert (folder / "nvcc.profile").read_text() == f"TOP = {real.parent}\nPATH += $(TOP)\n"
    done = subprocess.run([str(folder / "ptxas"), "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert install(tmp_path / "missing" / "bin", monkeypatch) == 2
    assert not (tmp_path / "missing").exists()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr("sys.argv", ["warploom-ptxas", "--install", str(folder)])
    with pytest.raises(SystemExit) as stopped:
        ptxas.main()
    return stopped.value.code


@pytest.mark.parametrize("name", ["ptxas", "nvcc.profile"])
@pytest.mark.parametrize("is_link", [False, True])
def test_another_program_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, is_link: bool
) -> None:
    folder, real = tmp_path / "bin", tmp_path / "theirs"
    folder.mkdir()
    real.write_text("real")
    (folder / name).symlink_to(real) if is_link else (folder / name).write_text("real")
    assert install(folder, monkeypatch) == 2
    assert f"{folder / name}:1:1: error[NOT_WRITTEN]: expected no {name}" in capsys.readouterr().err
    assert real.read_text() == (folder / name).read_text() == "real"
    assert [path.name for path in folder.iterdir()] == [name]


def test_it_is_installed_again_over_itself_but_not_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, other = tmp_path / "bin", tmp_path / "other"
    assert install(folder, monkeypatch) == install(folder, monkeypatch) == 0
    (folder / "loose").symlink_to(tmp_path / "nowhere")
    other.mkdir()
    (other / "ptxas").symlink_to(folder / "ptxas")
    before = (folder / "ptxas").read_text()
    assert install(other, monkeypatch) == 2
    assert (folder / "ptxas").read_text() == before and (other / "ptxas").is_symlink()


@pytest.mark.parametrize("name", ["$(touch ran)", "`touch ran`", "a b", "a\nb", "quote\"'", "-rf", "$HOME", "\udcff"])
def test_no_path_is_read_by_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    real = folder / "ptxas"
    real.write_text('#!/bin/sh\necho real "$@"\n')
    real.chmod(0o755)
    monkeypatch.setattr(ptxas.sys, "executable", "/bin/echo")
    shown = os.fsencode(ptxas._script(real)).replace(b"exec /bin/echo", b'exec printf %s "$WARPLOOM_PTXAS" #')
    environment = {k: v for k, v in os.environ.items() if k != "WARPLOOM_PTXAS"}
    done = subprocess.run(["/bin/sh", "-c", shown], cwd=tmp_path, capture_output=True, env=environment, check=True)
    assert done.stdout == os.fsencode(real)
    assert not (tmp_path / "ran").exists()


def test_an_interpreter_whose_path_needs_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "$(touch ran) b"
    folder.mkdir()
    python = folder / "python"
    python.write_text("#!/bin/sh\necho called\n")
    python.chmod(0o755)
    monkeypatch.setattr(ptxas.sys, "executable", str(python))
    done = subprocess.run(["/bin/sh", "-c", ptxas._script(Path("ptxas"))], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"called\n" and not (tmp_path / "ran").exists()


def test_a_cuda_folder_that_nvcc_would_give_to_a_shell(tmp_path: Path) -> None:
    for name in ("$(touch ran)", "a`b`", 'a"b', "a;b", "a'b"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "nvcc.profile").write_text("TOP = $(_HERE_)/..\n")
        with pytest.raises(ptxas.UserError, match="whose name needs no quotes"):
            ptxas._profile(tmp_path / name / "bin")
    (tmp_path / "cuda-13.0" / "bin").mkdir(parents=True)
    (tmp_path / "cuda-13.0" / "bin" / "nvcc.profile").write_text("TOP = $(_HERE_)/..\n")
    assert ptxas._profile(tmp_path / "cuda-13.0" / "bin") == f"TOP = {tmp_path / 'cuda-13.0'}\n"


def test_programs_of_the_current_folder_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in ("ptxas", "nvcc"):
        (tmp_path / tool).write_text("#!/bin/sh\ntouch ran\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", os.environ["PATH"]]))
    assert ptxas.real_ptxas().is_absolute() and ptxas.real_ptxas().parent != tmp_path
    ptxas._real_nvcc(tmp_path / "bin")
    assert not (tmp_path / "ran").exists()
