"""`warploom same`: two kernels are proved equal, told apart by data that were run, or run side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.tools.same.command import same_command

START = """.version 8.3
.target sm_90
.address_size 64
.visible .entry NAME(.param .u64 out, .param .u64 in)
{
.reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .shared .align 4 .b8 s[128];
ld.param.u64 %rd1, [out];
ld.param.u64 %rd2, [in];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
"""
END = "\nret;\n}\n"
DOUBLED = "ld.global.u32 %r2, [%rd5];\nadd.s32 %r3, %r2, %r2;\nst.global.u32 [%rd4], %r3;"
SHIFTED = "ld.global.u32 %r2, [%rd5];\nshl.b32 %r3, %r2, 1;\nst.global.u32 [%rd4], %r3;"
TRIPLED = "ld.global.u32 %r2, [%rd5];\nmul.lo.s32 %r3, %r2, 3;\nst.global.u32 [%rd4], %r3;"
NOTHING = ""
RACE = "ld.global.u32 %r2, [%rd5];\nadd.s32 %r3, %r2, %r2;\nst.global.u32 [%rd1], %r3;\nst.global.u32 [%rd4], %r3;"
GATHER = "ld.global.u32 %r2, [%rd5];\nand.b32 %r3, %r2, 31;\nmul.wide.u32 %rd6, %r3, 4;\nadd.s64 %rd6, %rd2, %rd6;\n"
GATHERED = GATHER + "ld.global.u32 %r4, [%rd6];\nst.global.u32 [%rd4], %r4;"
OFF = GATHER + "ld.global.u32 %r4, [%rd6];\nadd.s32 %r4, %r4, %r3;\nst.global.u32 [%rd4], %r4;"
SUM = "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, 0f3F800000;\nadd.f32 %f2, %f2, %f1;\nst.global.f32 [%rd4], %f2;"
SUM_REORDERED = "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\nadd.f32 %f2, %f2, 0f3F800000;\nst.global.f32 [%rd4], %f2;"


@pytest.fixture
def compared(tmp_path: Path):
    def run(first: str, second: str, *arguments: str, element: str = "i32"):
        files: list[str] = []
        for name, body in (("a", first), ("b", second)):
            path = tmp_path / f"{name}.ptx"
            path.write_text(START.replace("NAME", name) + body + END)
            files.append(str(path))
        given = ("--arg", f"{element}[32]", "--arg", f"{element}[32]")
        launch = ("--launch", "1", "32", "--kernel", "a", "--other-kernel", "b")
        result = CliRunner().invoke(same_command, [*files, *launch, *given, "--json", *arguments])
        (line,) = lines_of(result.stdout)
        return result.exit_code, line, result.stderr

    return run


@pytest.mark.parametrize(
    ("first", "second", "element", "domain"),
    [(DOUBLED, SHIFTED, "i32", "int32 wrap"), (SUM, SUM_REORDERED, "f32", "real sums reordered")],
)
def test_equal_kernels_are_proved(compared, first: str, second: str, element: str, domain: str) -> None:
    code, line, _ = compared(first, second, element=element)
    assert (code, line["status"], line["verdict"]) == (0, "solved", "proved")
    assert domain in line["domain"]


def test_a_launch_of_another_shape_is_the_same(compared) -> None:
    wide = DOUBLED.replace("ld.global", "mov.u32 %r9, %ctaid.x;\nmul.wide.u32 %rd7, %r9, 64;\nadd.s64 %rd5, %rd5, %rd7;\n"
                           "add.s64 %rd4, %rd4, %rd7;\nld.global")  # fmt: skip
    code, line, _ = compared(DOUBLED, wide, "--other-launch", "2", "16")
    assert (code, line["verdict"]) == (0, "proved")
    code, line, _ = compared(DOUBLED, wide, "--other-launch", "1", "16")
    assert (code, line["verdict"]) == (1, "refuted")


@pytest.mark.parametrize("other", [TRIPLED, NOTHING])
def test_a_difference_is_run_before_it_is_told(compared, other: str) -> None:
    code, line, error = compared(DOUBLED, other)
    assert (code, line["status"], line["verdict"]) == (1, "refused", "refuted")
    values = line["differing"]["values"]
    assert values["expected"] != values["found"]
    assert "a.ptx:a gives" in error and "b.ptx:b" in error


def test_a_fault_of_the_second_refutes_and_one_of_the_first_leaves_it_open(compared) -> None:
    code, line, _ = compared(DOUBLED, RACE)
    assert (code, line["verdict"]) == (1, "refuted") and line["race"]
    code, line, _ = compared(RACE, DOUBLED)
    assert (code, line["status"], line["verdict"]) == (3, "unknown", "unchecked")
    assert "the original has a fault" in line["reason"]


def test_what_is_not_proved_is_run(compared) -> None:
    code, line, error = compared(GATHERED, GATHERED)
    assert (code, line["verdict"], line["cases"]) == (0, "tested", 6)
    assert "depends on data" in line["unproved"] and "not proved, but run on 6 sets of data" in error
    code, line, _ = compared(GATHERED, OFF)
    assert (code, line["verdict"]) == (1, "refuted")
    assert line["differing"]["values"]["expected"] != line["differing"]["values"]["found"]


def test_floats_of_runs_agree_within_the_tolerance(compared) -> None:
    near = GATHERED.replace("st.global.u32", "mov.b32 %f1, %r4;\nmul.f32 %f1, %f1, 0f3F800010;\nmov.b32 %r4, %f1;\nst.global.u32")
    assert compared(GATHERED, near, element="f32")[1]["verdict"] == "tested"
    code, line, _ = compared(GATHERED, near, "--tolerance", "1e-7", element="f32")
    assert (code, line["verdict"]) == (1, "refuted") and "differs by more than the tolerance" in line["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arg", "i32[32]"), "expected an index below 2"),
        (("--kernel", "nobody"), "got 'nobody'"),
        (("--arch", "sm_90;id"), "expected an architecture such as sm_90"),
        (("--other-launch", "0", "1"), "positive numbers"),
    ],
)
def test_bad_input(compared, arguments: tuple[str, ...], message: str) -> None:
    code, line, _ = compared(DOUBLED, SHIFTED, *arguments)
    assert (code, line["status"]) == (2, "error") and message in line["reason"]


def test_a_difference_in_nan_is_reported(tmp_path: Path) -> None:
    """Reports hold finite numbers only: what is not finite stands in the reason. It was an internal error."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
 .reg .f32 %f<3>; .reg .u32 %r<3>; .reg .u64 %d<6>;
 ld.param.u64 %d1,[x]; ld.param.u64 %d2,[y]; mov.u32 %r1,%tid.x; mul.wide.u32 %d3,%r1,4;
 add.u64 %d4,%d1,%d3; add.u64 %d5,%d2,%d3; ld.global.f32 %f1,[%d4];
 cvt.rni.s32.f32 %r2,%f1; mov.b32 %f2,%r2; st.global.f32 [%d5],%f2; ret; }
"""
    (tmp_path / "a.ptx").write_text(text)
    (tmp_path / "b.ptx").write_text(text.replace("rni", "rzi"))
    arguments = ["--launch", "1", "32", "--arg", "f32[32]", "--arg", "f32[32]", "--json"]
    answer = CliRunner().invoke(same_command, [str(tmp_path / "a.ptx"), str(tmp_path / "b.ptx"), *arguments])
    (line,) = lines_of(answer.stdout)
    assert line["verdict"] == "refuted" and "nan" in line["reason"] and "values" not in line["differing"]
