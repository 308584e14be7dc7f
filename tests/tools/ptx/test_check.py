"""`warploom ptx check` and `warploom ptx fmt`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.ptx.syntax import parse
from warploom.tools.ptx.check import check_command, format_command, summarise

GOOD = """.version 9.0
.target sm_90
.address_size 64
// a comment, caf\u00e9
.shared .b8 tile[64];
.func f() { ret; }
.visible .entry k(.param .u64 k_param_0)
{
\t.reg .pred %p<2>; .reg .b32 %r<3>; .reg .v2 .f32 v; .shared .b32 s[4];
\tsetp.eq.s32 %p1, %r1, %r2;
\tmov.f32 v.x, 0f00000000;
\t@%p1 bra L;
\tnew.u32 %r1, %r2;
L:\tret;
}
"""


def checked(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(check_command, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_check_for_scripts(tmp_path: Path) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(GOOD, encoding="utf-8")
    code, out, err = checked("--json", str(path))
    line = json.loads(out)
    assert code == 0
    assert (line["case"], line["status"], line["verdict"]) == (str(path), "solved", "unchecked")
    assert {"v", "seconds", "wall_s", "peak_mb"} <= set(line)
    assert line["kernels"] == [
        {
            "name": "k", "instructions": 5, "registers": {"b32": 2, "f32": 2, "pred": 1}, "live_registers": 3, "shared_bytes": 16,
        }
    ]  # fmt: skip
    assert (line["functions"], line["instructions"], line["shared_bytes"]) == (1, 6, 64)
    assert (line["unsupported"], line["warnings"]) == ({"new.u32": 13}, 1)
    assert f"{path}:13:2: warning[PTX_UNKNOWN]" in err


def test_check_for_people(tmp_path: Path) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(GOOD, encoding="utf-8")
    code, out, _ = checked(str(path))
    assert code == 0
    assert "kernel   k  5 instructions; registers 2 b32, 2 f32, 1 pred (3 live); 16 bytes shared" in out
    assert "unsupported: new.u32, first on line 13" in out
    assert "64 bytes shared outside functions" in out


def test_check_of_bad_files(tmp_path: Path) -> None:
    syntax, names = tmp_path / "a.ptx", tmp_path / "b.ptx"
    syntax.write_text(".version 9.0\n.entry k() { add.s32 a }\n", encoding="utf-8")
    names.write_text(".version 9.0\n.target sm_90\n.entry k() { add.s32 a, b, c; }\n", encoding="utf-8")
    code, out, err = checked("--json", str(syntax), str(names), str(tmp_path / "none.ptx"), str(tmp_path))
    lines = [json.loads(text) for text in out.splitlines()]
    assert code == 2
    assert [line["status"] for line in lines] == ["error"] * 4
    assert lines[0]["reason"] == f"{syntax}:2:24: PTX_SYNTAX: expected ';' after the operands of add, found '}}'"
    assert lines[1]["reason"] == f"{names}:3:14: PTX_NAME: expected a declared name in add.s32, a is not declared"
    assert lines[1]["errors"] == 3
    assert "FILE_NOT_FOUND" in lines[2]["reason"]
    assert "NOT_READ" in lines[3]["reason"]
    assert "^^^^" in err


def test_cuda_is_compiled_first(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("__global__ void k() {}\n", encoding="utf-8")
    code, _, err = checked(str(path))
    assert code == 2
    assert "error[NOT_PTX]: expected PTX, found CUDA C++" in err and "docs/ptx.md" in err


def test_few_messages_of_many(tmp_path: Path) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(".version 9.0\n.target sm_90\n.entry k() { " + "bra L;\n" * 50 + "}", encoding="utf-8")
    code, _, err = checked(str(path))
    assert code == 2
    assert err.count("error[PTX_LABEL]") == 20
    assert "and 30 more" in err


def test_what_is_supported_can_be_narrowed() -> None:
    module = parse(GOOD)
    summary = summarise(module, lambda i: i.opcode not in ("mov", "bra"))
    assert summary.unsupported == {"mov.f32": 11, "bra": 12}


def formatted(*arguments: str) -> tuple[int, bytes, str]:
    result = CliRunner().invoke(format_command, list(arguments))
    return result.exit_code, result.stdout_bytes, result.stderr


def test_format_to_stdout_and_file(tmp_path: Path) -> None:
    path, out = tmp_path / "a.ptx", tmp_path / "b.ptx"
    path.write_text(GOOD, encoding="utf-8")
    code, printed, _ = formatted(str(path))
    assert code == 0
    assert b"comment" not in printed
    assert parse(printed.decode()) == parse(GOOD)
    assert formatted(str(path), "-o", str(out))[0] == 0
    assert out.read_bytes() == printed
    assert formatted(str(path), "--in-place")[0] == 0
    assert path.read_bytes() == printed


@pytest.mark.parametrize("data", [GOOD.encode(), GOOD.replace("\n", "\r\n").encode(), b"// \xff\xfe\x80\n.version 9.0\n\0", b""])
def test_exact_prints_every_byte(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.ptx"
    path.write_bytes(data)
    assert formatted(str(path), "--exact") == (0, data, "")


def test_format_of_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "a.ptx"
    path.write_bytes(b".entry k() { /* \xff */ add ] }")
    code, printed, err = formatted(str(path), "--in-place")
    assert (code, printed) == (2, b"")
    assert f"{path}:1:26: error[PTX_SYNTAX]" in err
    assert path.read_bytes().startswith(b".entry")
    assert formatted(str(path), "--in-place", "-o", "x")[0] == 2
    assert formatted(str(path), "--in-place", "--exact")[0] == 2
    assert formatted(str(tmp_path / "none.ptx"))[0] == 2


def test_no_place_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(GOOD, encoding="utf-8")
    code, _, err = formatted(str(path), "-o", str(tmp_path / "no" / "b.ptx"))
    assert code == 2
    assert "NOT_WRITTEN" in err


def test_a_file_without_a_statement_is_no_ptx(tmp_path: Path) -> None:
    (tmp_path / "empty.ptx").write_text("\n")
    result = CliRunner().invoke(format_command, [str(tmp_path / "empty.ptx"), "--json"])
    line = json.loads(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert "PTX_HEADER: expected a PTX file, got one without any statement" in line["reason"]
