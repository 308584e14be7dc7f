"""`ptx shuffle`, `ptx trace`, `ptx fmt`: empty files, every load's reason, JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from warploom.ptx.shuffle import Profitable, shuffle
from warploom.ptx.syntax import parse
from warploom.tools.ptx.check import format_command
from warploom.tools.ptx.shuffle import shuffle_command
from warploom.tools.ptx.trace_command import trace_command

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
KERNEL = (
    HEAD
    + """.visible .entry k(.param .u64 out, .param .u64 in)
{
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	add.s64 %rd5, %rd1, %rd3;
	ld.global.nc.f32 %f1, [%rd4];
	ld.global.nc.f32 %f2, [%rd4+4];
	ld.global.nc.f32 %f3, [%rd4+2];
	add.f32 %f4, %f1, %f2;
	st.global.f32 [%rd5], %f4;
	ret;
}
"""
)


def invoke(folder: Path, text: str, *more: str) -> tuple[int, dict[str, Any], str]:
    (folder / "k.ptx").write_text(text)
    done = CliRunner().invoke(shuffle_command, [str(folder / "k.ptx"), "-o", str(folder / "o.ptx"), "--json", *more])
    return done.exit_code, json.loads(done.stdout), done.stderr


def test_an_empty_file_is_bad_input(tmp_path: Path) -> None:
    code, line, _ = invoke(tmp_path, "")
    assert (code, line["status"]) == (2, "error") and not (tmp_path / "o.ptx").exists()
    done = CliRunner().invoke(trace_command, [str(tmp_path / "k.ptx"), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (2, "error")


def test_every_load_has_its_reason(tmp_path: Path) -> None:
    for_nobody = KERNEL.replace("\tadd.f32", "\tld.global.nc.f32 _, [%rd4];\n\tadd.f32")
    (report,) = shuffle(parse(for_nobody)).reports
    lines = [c.line for c in report.candidates] + [r.line for r in report.refused]
    assert len(lines) == report.loads == 4 and len(set(lines)) == 4
    reasons = {r.line: r.reason for r in report.refused}
    first = KERNEL.splitlines().index("\tld.global.nc.f32 %f1, [%rd4];") + 1
    assert "no earlier load reads it" in reasons[first] and "no earlier load reads it" in reasons[first + 2]
    assert reasons[first + 3] == "nobody takes what it loads"
    alone = KERNEL.replace("\tld.global.nc.f32 %f2, [%rd4+4];\n\tld.global.nc.f32 %f3, [%rd4+2];\n", "")
    (report,) = shuffle(parse(alone)).reports
    assert [r.reason for r in report.refused] == ["it is the kernel's only load"]


def test_the_first_line_says_that_nothing_pays(tmp_path: Path) -> None:
    told = "0 of 3 loads became shuffles, 1 could: by the model none pays on sm_90"
    code, _, err = invoke(tmp_path, KERNEL, "--report", str(tmp_path / "r.json"))
    assert code == 0 and told in err.replace("\n", " ")
    assert json.loads((tmp_path / "r.json").read_text())["summary"].startswith(told)
    _, _, err = invoke(tmp_path, KERNEL, "--policy", "all")
    assert "1 of 3 loads became shuffles" in err.replace("\n", " ") and "by the model" not in err


def test_the_first_line_looks_at_every_architecture_since_volta(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, _, err = invoke(tmp_path, KERNEL)
    assert "none pays on sm_90, nor on any architecture since Volta (--policy all" in err.replace("\n", " ")
    monkeypatch.setattr(Profitable, "elsewhere", lambda _: ["sm_75"])
    _, _, err = invoke(tmp_path, KERNEL)
    assert "none pays on sm_90 (--policy all" in err.replace("\n", " ")


def test_the_first_line_offers_what_pays_instead(tmp_path: Path) -> None:
    wide = KERNEL.replace("[%rd4+2]", "[%rd4+8]").replace("%r1, 4", "%r1, 16")
    code, _, err = invoke(tmp_path, wide)
    assert code == 0
    assert "2 can be joined in 1 vector loads (--vectors: by the model up to" in err.replace("\n", " ")
    code, line, err = invoke(tmp_path, wide, "--vectors", "--assume", "aligned", "--assume", "nsw")
    assert code == 0 and "2 joined in 1 vector loads" in err.replace("\n", " ")
    assert [(v["applied"], v["tested"], v["assumed"]) for v in line["vectors"]] == [(True, False, True)]
    if isinstance(line.get("sass"), dict):
        assert line["sass"]["after"]["loads"] < line["sass"]["before"]["loads"]


@pytest.mark.parametrize("form", [[], ["--exact"]])
def test_fmt_as_json(tmp_path: Path, form: list[str]) -> None:
    (tmp_path / "k.ptx").write_text(KERNEL)
    done = CliRunner().invoke(format_command, [str(tmp_path / "k.ptx"), "--json", *form])
    line = json.loads(done.stdout)
    assert (done.exit_code, line["status"]) == (0, "solved") and "ld.global.nc.f32" in line["text"]
    done = CliRunner().invoke(format_command, [str(tmp_path / "k.ptx"), "--json", *form, "-o", str(tmp_path / "o.ptx")])
    assert json.loads(done.stdout)["written"] == str(tmp_path / "o.ptx") and (tmp_path / "o.ptx").read_text()
    done = CliRunner().invoke(format_command, [str(tmp_path / "none.ptx"), "--json", *form])
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (2, "error")
