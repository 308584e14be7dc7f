"""`warploom ptx run`."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from warploom.tools.ptx.run import run_command

from .written import HEADER, kernel

SAXPY = (
    HEADER
    + """.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p;
ld.param.f32 %f1, [a]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r5, [n];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
setp.ge.u32 %p, %r4, %r5;
@%p bra END;
mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
ld.global.f32 %f2, [%rd4];
ld.global.f32 %f3, [%rd5];
fma.rn.f32 %f4, %f1, %f2, %f3;
st.global.f32 [%rd5], %f4;
END: ret;
}
"""
)
ARGUMENTS = ("--arg", "0=f32:2", "--arg", "1=arange:f32:100", "--arg", "2=ones:f32:10x10", "--arg", "3=i32:100")


@pytest.fixture
def saxpy(tmp_path: Path) -> str:
    path = tmp_path / "saxpy.ptx"
    path.write_text(SAXPY, encoding="utf-8")
    return str(path)


def ptx_run(*arguments: str) -> Result:
    return CliRunner().invoke(run_command, list(arguments))


def test_arrays_come_back(saxpy: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = ptx_run(saxpy, "--grid", "4", "--block", "32", *ARGUMENTS, "--out", str(out), "--counts")
    assert result.exit_code == 0
    np.testing.assert_array_equal(np.load(out / "2.npy"), 2 * np.arange(100, dtype=np.float32).reshape(10, 10) + 1)
    assert sorted(path.name for path in out.iterdir()) == ["1.npy", "2.npy"]
    assert "global load sectors" in result.stdout
    assert "solved, unchecked" in result.stdout


def test_files_and_json(saxpy: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full(7, 3, np.float32))
    result = ptx_run(
        saxpy, "--kernel", "saxpy", "--grid", "1,1,1", "--block", "8", "--json", "--counts", "--arg", "0=f32:-1.5",
        "--arg", f"1={tmp_path}/x.npy", "--arg", "2=zeros:f32:7", "--arg", "3=u32:0x7", "--out", str(tmp_path),
    )  # fmt: skip
    line = json.loads(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"], line["launch"]) == (0, "solved", "unchecked", "finished")
    assert line["case"].endswith("saxpy.ptx:saxpy")
    assert line["counts"]["global_load_requests"] == 2
    assert line["findings"] == []
    assert np.load(tmp_path / "2.npy").tolist() == [-4.5] * 7


def test_fault(saxpy: str, tmp_path: Path) -> None:
    short = [a.replace("arange:f32:100", "random:f32:99:7") for a in ARGUMENTS]
    result = ptx_run(saxpy, "--grid", "4", "--block", "32", *short, "--json", "--out", str(tmp_path / "out"))
    line = json.loads(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"], line["launch"]) == (1, "refused", "refuted", "fault")
    (found,) = line["findings"]
    assert (found["kind"], found["block"], found["thread"]) == ("out_of_bounds", [3, 0, 0], [3, 0, 0])
    assert "out_of_bounds" in line["reason"]
    assert not (tmp_path / "out").exists()


def test_race_is_refuted(tmp_path: Path) -> None:
    path = tmp_path / "race.ptx"
    path.write_text(kernel("st.global.u32 [%rd1], %r2;"), encoding="utf-8")
    result = ptx_run(str(path), "--grid", "2", "--block", "1", "--arg", "0=zeros:u32:1")
    assert result.exit_code == 1
    assert "global_race" in result.stdout
    assert ptx_run(str(path), "--grid", "2", "--block", "1", "--arg", "0=zeros:u32:1", "--no-checks").exit_code == 0


def test_limit(tmp_path: Path) -> None:
    path = tmp_path / "loop.ptx"
    path.write_text(kernel("L: bra L;"), encoding="utf-8")
    result = ptx_run(str(path), "--grid", "1", "--block", "1", "--arg", "0=zeros:u32:1", "--limit", "1000", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["status"] == "unknown"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--grid", "0", "--block", "1"), "expected X[,Y[,Z]] of positive numbers for --grid, got '0'"),
        (("--grid", "1", "--block", "1,2,3,4"), "expected X[,Y[,Z]] of positive numbers for --block"),
        (("--grid", "1", "--block", "1"), "got none for parameters 0, 1, 2, 3"),
        (("--grid", "1", "--block", "1", *ARGUMENTS[:6]), "got none for parameter 3"),
        (("--grid", "1", "--block", "1", *ARGUMENTS, "--arg", "3=i32:1"), "expected argument 3 once"),
        (("--grid", "1", "--block", "1", *ARGUMENTS, "--arg", "4=i32:1"), "expected an index below 4"),
        (("--grid", "1", "--block", "1", "--arg", "x=i32:1"), "expected INDEX="),
        (("--grid", "1", "--block", "1", "--arg", "0=nothing"), "expected INDEX="),
        (("--grid", "1", "--block", "1", "--arg", "0=missing.npy"), "found none at missing.npy"),
        (("--grid", "1", "--block", "1", "--arg", "0=zeros:f32"), "expected zeros:TYPE:COUNT"),
        (("--grid", "1", "--block", "1", "--arg", "0=zeros:q32:4"), "expected a type among"),
        (("--grid", "1", "--block", "1", "--arg", "0=zeros:f32:4x"), "a COUNT such as"),
        (("--grid", "1", "--block", "1", "--arg", "0=zeros:f32:99999999999"), "an array of at most 8 GiB"),
        (("--grid", "1", "--block", "1", "--arg", "0=i32:4.5"), "a value of int32"),
        (("--grid", "1", "--block", "1", "--arg", "0=u8:256"), "a value that fits uint8"),
        (("--grid", "1", "--block", "1", "--kernel", "other"), "expected one of saxpy, got 'other'"),
        (("--grid", "1", "--block", "1", *ARGUMENTS[:-1], "3=ones:f32:4"), "for argument 3, n, got an array"),
    ],
)
def test_wrong_requests(saxpy: str, arguments: tuple[str, ...], message: str) -> None:
    result = ptx_run(saxpy, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_no_such_file() -> None:
    result = ptx_run("nowhere.ptx", "--grid", "1", "--block", "1")
    assert result.exit_code == 2
    assert "FILE_NOT_FOUND" in result.stderr
