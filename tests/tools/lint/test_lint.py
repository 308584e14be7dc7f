"""`warploom lint`: streams, exit codes, forms of the report, silenced findings, bad input."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.core import UserError
from warploom.gpu import compile_file, toolchain_available
from warploom.tools.lint.command import lint_command
from warploom.tools.lint.names import demangled, plain_name
from warploom.tools.lint.rules import RULES
from warploom.tools.ptx.specs import load_spec

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "lint.md"
RACE = ("--kernel", "missing_barrier", "--launch", "1", "64", "--arg", "zeros:f32:64", "--arg", "random:f32:64")
CLEAN = ("--kernel", "missing_barrier_clean", *RACE[2:])
SLOW = ("--kernel", "unpadded", "--launch", "1", "32,32", "--arg", "zeros:f32:1024", "--arg", "random:f32:1024")
HEADER = ".version 8.3\n.target sm_90\n.address_size 64\n"
COMPILED = pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")


def linted(*arguments: str, file: Path = HERE / "kernels.ptx") -> Result:
    return CliRunner().invoke(lint_command, [str(file), *arguments])


def kernel(tmp_path: Path, body: str, head: str = "") -> Path:
    path = tmp_path / "k.ptx"
    registers = ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 16 .b8 s[128];"
    path.write_text(
        f"{HEADER}{head}.visible .entry k(.param .u64 a)\n{{\n{registers}\nld.param.u64 %rd1, [a];\n{body}\nret;\n}}\n"
    )
    return path


def rules(result: Result) -> list[str]:
    return [line["id"] for line in lines_of(result.stdout) if "id" in line]


def test_a_line_for_each_finding_and_one_for_the_kernel() -> None:
    result = linted("--json", *RACE)
    first, last = lines_of(result.stdout)
    text = (HERE / "kernels.cu").read_text().splitlines()
    assert result.exit_code == 1
    assert (first["rule"], first["id"], first["level"]) == ("data-race", "WL001", "error")
    assert first["file"].endswith("tests/tools/lint/kernels.cu") and text[first["line"] - 1] == first["text"]
    assert (first["status"], first["verdict"], first["kernel"]) == (
        "refused", "refuted", "missing_barrier(float*, float const*)",
    )  # fmt: skip
    assert first["threads"] == [{"block": [0, 0, 0], "thread": [0, 0, 0]}]
    assert "element 63 of tile, 4 bytes each" in first["message"]
    (other,) = first["others"]
    assert (other["message"], text[other["line"] - 1].strip()) == ("the write", "tile[threadIdx.x] = in[threadIdx.x];")
    assert "barrier" in first["fix"]
    assert (last["status"], last["verdict"], last["errors"], last["warnings"]) == ("refused", "refuted", 1, 0)
    assert "data-race at " in last["reason"] and last["counted"] == "interpreter"


def test_a_clean_launch_is_tested() -> None:
    result = linted("--json", *CLEAN)
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (line["status"], line["verdict"], line["cases"], line["findings"]) == ("solved", "tested", 1, 0)


def test_warnings_refute_only_where_they_are_asked_to() -> None:
    result = linted("--json", *SLOW)
    first, last = lines_of(result.stdout)
    assert result.exit_code == 0 and (last["verdict"], last["warnings"]) == ("tested", 1)
    assert first["message"].startswith("block 0,0,0, thread 0,0,0: 32 ways: lanes 0, 1, 2, 3, 4, 5, 6, 7, ... ask bank 0")
    assert "1,024 wavefronts in 32 requests, 32 would do" in first["message"]
    strict = linted("--json", "--strict", *SLOW)
    first, last = lines_of(strict.stdout)
    assert strict.exit_code == 1 and (first["verdict"], last["status"]) == ("refuted", "refused")


def test_text_for_people() -> None:
    result = linted("--kernel", "inlined", "--launch", "1", "64", "--arg", "zeros:f32:64", "--arg", "random:f32:65")
    assert result.exit_code == 1
    assert ": error[WL001 data-race]: block 0,0,0, thread 0,0,0: " in result.stdout
    assert "    return in[i + 1];\n" in result.stdout.replace("\n  ", "\n    ")
    assert ": note: next(float const*, int) is inlined here\n" in result.stdout
    assert ": note: the write\n" in result.stdout and "  fix: Put a barrier between" in result.stdout


def test_sarif() -> None:
    result = linted("--sarif", *RACE)
    log = json.loads(result.stdout)
    (run,) = log["runs"]
    assert (log["version"], result.exit_code) == ("2.1.0", 1)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.id for rule in RULES]
    (found,) = run["results"]
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"] == "WL001"
    (location,) = found["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("kernels.cu")
    assert found["relatedLocations"][-1]["message"] == {"text": "the write"}


def test_annotations(tmp_path: Path) -> None:
    path = kernel(tmp_path, "ld.global.u32 %r1, [%rd1+4096];")
    odd = tmp_path / "100%,a:b.ptx"
    odd.write_text(path.read_text())
    result = linted("--github", "--launch", "1", "1", "--arg", "zeros:i32:4", file=odd)
    assert result.exit_code == 1
    assert (
        result.stdout.startswith("::error file=")
        and "100%25%2Ca%3Ab.ptx,line=8,col=1,title=WL002 out-of-bounds::" in result.stdout
    )
    assert "%0Afix: Guard" in result.stdout and result.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("rule", "body", "head"),
    [
        ("WL004", "st.const.u32 [%rd2], 1;", ""),
        ("WL006", "st.global.u32 [%rd1], %r5;", ""),
        ("WL008", "st.global.u32 [%rd1], 1;\ndiscard.global.L2 [%rd1], 128;\nld.global.u32 %r1, [%rd1];", ""),
        ("WL014", "mov.u32 %r1, 7;\nt: .branchtargets L, M;\nbrx.idx %r1, t;\nL:\nM:", ""),
        ("WL015", "{ .local .align 4 .b8 x[8];\nld.local.u32 %r1, [x];\nst.global.u32 [%rd1], %r1; }", ""),
        ("WL013", "call f, ();", ".func f();\n.func f()\n{\n.local .b8 x[4096];\ncall f, ();\nret;\n}\n"),
    ],
)
def test_rules_that_no_cuda_text_of_the_pairs_meets(tmp_path: Path, rule: str, body: str, head: str) -> None:
    if rule == "WL004":
        head, body = ".const .u32 c;\n", "mov.u64 %rd2, c;\nst.global.u32 [%rd2], 1;"
    path = kernel(tmp_path, body, head)
    result = linted("--json", "--launch", "1", "1", "--arg", "zeros:i32:256", file=path)
    assert rules(result) == [rule] and result.exit_code == 1


def test_comments_silence_a_rule_on_their_line(tmp_path: Path) -> None:
    text = (HERE / "kernels.cu").read_text()
    (tmp_path / "kernels.ptx").write_text((HERE / "kernels.ptx").read_text())
    for comment, is_silent in (
        ("// warploom: ignore[data-race]", True),
        ("// warploom: ignore", True),
        ("// warploom: ignore[WL002, WL001]", True),
        ("// warploom: ignore[bank-conflict]", False),
    ):
        (tmp_path / "kernels.cu").write_text(text.replace("// WL001", comment, 1))
        result = linted("--json", *RACE, file=tmp_path / "kernels.ptx")
        last = lines_of(result.stdout)[-1]
        assert (last["silenced"], result.exit_code) == ((1, 0) if is_silent else (0, 1))
        assert last["verdict"] == ("unchecked" if is_silent else "refuted")


def test_what_comes_after_a_silenced_fault_is_unknown(tmp_path: Path) -> None:
    path = kernel(tmp_path, "// warploom: ignore[WL002]\nld.global.u32 %r1, [%rd1+4096];")
    result = linted("--json", "--launch", "1", "1", "--arg", "zeros:i32:4", file=path)
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (3, "unknown", "unchecked")
    assert "stopped at a finding that is silenced" in line["reason"]


def test_a_baseline_keeps_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert linted("--write-baseline", str(known), *RACE).exit_code == 1
    assert linted("--baseline", str(known), *RACE).exit_code == 0
    assert linted("--baseline", str(known), "--kernel", "warp_phase", *RACE[2:]).exit_code == 1
    for text in ("{}", "no JSON", '{"format": "warploom lint baseline", "findings": {"a": "b"}}', "[" * 100_000):
        known.write_text(text)
        result = linted("--baseline", str(known), *RACE)
        assert result.exit_code == 2 and "--write-baseline" in result.stderr


def test_without_a_launch_nothing_is_claimed() -> None:
    result = linted("--json", "--kernel", "missing_guard")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (3, "unknown", "unchecked")
    assert "--launch 4 256 --arg random:f32:1024 --arg random:f32:1024 --arg i32:1024" in line["reason"]


def test_what_the_interpreter_does_not_know_is_unknown(tmp_path: Path) -> None:
    path = kernel(tmp_path, "fancy.new.u32 %r1, %r2;")
    result = linted("--json", "--launch", "1", "1", "--arg", "zeros:i32:4", file=path)
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["verdict"]) == (3, "unchecked") and "fancy.new.u32" in line["reason"]


def test_a_limit_is_no_verdict() -> None:
    result = linted("--json", "--limit", "10", *CLEAN)
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (3, "unknown", "unchecked")


@pytest.mark.parametrize(
    ("head", "name", "fix"),
    [
        (".extern .shared .align 16 .b8 d[];\n", "d", "--shared BYTES"),
        (".extern .shared .align 16 .b8 d[];\n", "%rd1", "Guard the access by"),  # global memory
        ("", "s", "Guard the access by"),
    ],
)
def test_an_access_beyond_dynamic_shared_memory_asks_for_its_size(tmp_path: Path, head: str, name: str, fix: str) -> None:
    space = "global" if name == "%rd1" else "shared"
    file = kernel(tmp_path, f"mov.u32 %r1, 0;\nst.{space}.b32 [{name}+4096], %r1;", head)
    result = linted("--json", "--launch", "1", "1", "--arg", "zeros:f32:4", file=file)
    first = lines_of(result.stdout)[0]
    assert (result.exit_code, first["rule"]) == (1, "out-of-bounds") and fix in first["fix"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--launch", "1", "0"), "positive numbers for --launch's block"),
        (("--launch", "1", "64", "--arg", "zeros:f32:64"), "got none for parameter 1"),
        (("--arch", "hopper"), "expected an architecture such as sm_90"),
        (("--kernel", "nobody"), "got 'nobody'"),
        (("--baseline", "nowhere.json"), "expected a baseline, found none"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str) -> None:
    result = linted(*("--kernel", "missing_barrier"), *arguments)
    assert result.exit_code == 2 and message in result.stderr


@COMPILED
def test_errors_of_the_compiler_stand_on_the_users_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.cu"
    path.write_text("__global__ void k(float* x) {\n  x[0] = nobody;\n}\n")
    result = linted("--json", file=path)
    assert result.exit_code == 2 and f"{path}:2:1: error[CUDA_ERROR]: identifier" in result.stderr


def test_names_of_cpp() -> None:
    assert demangled("kernel") == plain_name("kernel") == "kernel"
    assert demangled("_Znonsense") == "_Znonsense"
    if demangled("_Z4blurPf") != "_Z4blurPf":
        assert plain_name("_ZN1a4blurILi4EEEvPf") == "blur" and plain_name("_Z4blurPf") == "blur"


def test_the_page_has_a_section_for_each_rule() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = re.findall(r"^### ([\w-]+)\n\*\*(WL\d+)\*\*, (\w+)\.", page, re.M)
    assert told == [(rule.name, rule.id, rule.level) for rule in RULES]


@COMPILED
def test_the_example_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    command, _, shown = page.partition("```console\n$ warploom lint ")[2].partition("```")[0].partition("\n")
    result = CliRunner().invoke(lint_command, shlex.split(command))
    assert result.exit_code == 1 and result.stdout.startswith(shown.removesuffix("...\n"))


@COMPILED
def test_spills_are_what_ptxas_says(tmp_path: Path) -> None:
    loads = "".join(f"ld.volatile.global.u32 %x{n}, [%rd1+{4 * n}];\n" for n in range(64))
    stores = "".join(f"st.volatile.global.u32 [%rd1+{4 * n}], %x{n};\n" for n in reversed(range(64)))
    path = kernel(tmp_path, f".reg .b32 %x<64>;\n{loads}bar.sync 0;\n{stores}")
    launch = ("--json", "--launch", "1", "1", "--arg", "zeros:i32:64")
    assert "WL103" not in rules(linted(*launch, file=path))
    path.write_text(path.read_text().replace("a)\n{", "a)\n.maxntid 1024\n.maxnreg 24\n{"))
    assert rules(linted(*launch, file=path))[:1] == ["WL103"]


@COMPILED
def test_no_name_of_the_user_reaches_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc hands its arguments to a shell."""
    commands: list[list[str]] = []
    run = subprocess.run

    def seen(command: list[str], **options: Any) -> Any:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr("warploom.gpu.toolchain.subprocess.run", seen)
    folder, headers = tmp_path / "a$(touch pwned) 'b';touch pwned", tmp_path / "`touch pwned`"
    folder.mkdir()
    headers.mkdir()
    (folder / "h.h").write_text("#define FACTOR 2\n")
    (headers / "other.h").write_text("#define OTHER 3\n")
    path = folder / "k$(touch pwned).cu"
    body = "__global__ void k(float* x) { x[threadIdx.x] = FACTOR * OTHER * THIRD; }\n"
    path.write_text(f'#include "h.h"\n#include <other.h>\n{body}')
    launch = ("--launch", "1", "33", "--arg", "zeros:f32:32")
    result = linted("-I", str(headers), "-D", "THIRD=4", *launch, file=path)
    assert result.exit_code == 1 and f"{path}:3:" in result.stdout
    for macro in ("A=$(touch pwned)", "A;touch pwned", "A=`id`", "A='", "A=x\ny"):
        assert linted("-D", macro, file=path).exit_code == 2
    with pytest.raises(UserError, match="expected an architecture such as sm_90"):
        compile_file(str(path), "sm_90;touch pwned")
    assert commands and not any("pwned" in argument for command in commands for argument in command)


def test_bytes_that_are_no_text_are_no_fault(tmp_path: Path) -> None:
    path = kernel(tmp_path, "// caf\n")
    path.write_bytes(path.read_bytes().replace(b"caf", b"caf\xe9"))
    assert linted("--launch", "1", "1", "--arg", "zeros:i32:4", file=path).exit_code == 0


OTHERS = Path(__file__).parents[2] / "ptx" / "launches" / "kernels.ptx"


def every(name: str, *arguments: str) -> Result:
    return linted("--json", "--every-launch", "--kernel", name, *arguments)


def test_a_kernel_is_free_of_races_in_every_launch() -> None:
    result = every("swapped_sizes_clean")
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0 and (line["status"], line["verdict"]) == ("solved", "proved")
    assert line["proves"] == ["data-race", "divergent-barrier"] and "different arrays do not overlap" in line["domain"]


def test_a_race_of_some_launch_is_replayed() -> None:
    result = every("missing_barrier")
    *found, last = lines_of(result.stdout)
    assert result.exit_code == 1 and {one["rule"] for one in found} >= {"data-race"}
    assert (last["status"], last["verdict"], last["race_free_if"]) == ("refused", "refuted", "blockDim.x <= 32")
    again = CliRunner().invoke(lint_command, shlex.split(last["replay"])[2:])
    assert again.exit_code == 1 and "data-race" in again.stdout


def test_a_meeting_that_no_launch_shows_is_unknown() -> None:
    result = linted("--json", "--every-launch", "--kernel", "scattered", file=OTHERS)
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 3 and line["status"] == "unknown"
    assert "no launch was found that shows it" in line["reason"] and "kernels.cu:30" in line["reason"]


def test_blocks_without_a_race_are_offered_beside_the_replay() -> None:
    result = every("wrong_swizzle_clean")
    *_, line = lines_of(result.stdout)
    assert (result.exit_code, line["race_free_if"]) == (1, "blockDim.x == 32 && blockDim.y == 32")
    assert every("wrong_swizzle_clean", "--assume", line["race_free_if"]).exit_code == 0


LENGTHS = ("--assume", "len(arg1) >= arg3", "--assume", "len(arg2) >= arg3")


def test_accesses_lie_in_arrays_whose_lengths_are_said() -> None:
    (offered,) = lines_of(linted("--json", "--every-launch", "--kernel", "axpy", file=OTHERS).stdout)
    assert offered["in_bounds_if"] == "len(arg1) >= arg3 && len(arg2) >= arg3"
    assert "each access lies in the array" in offered["domain"] and "out-of-bounds" not in offered["proves"]
    (line,) = lines_of(linted("--json", "--every-launch", "--kernel", "axpy", *LENGTHS, file=OTHERS).stdout)
    assert line["proves"] == ["data-race", "divergent-barrier", "out-of-bounds", "index-overflow"] and "in_bounds_if" not in line
    assert "each access lies in the array" not in line["domain"] and "does not wrap as a signed number" in line["domain"]


def test_arrays_that_are_too_short_are_replayed() -> None:
    result = linted("--json", "--every-launch", "--kernel", "axpy", *LENGTHS[:2], "--assume", "len(arg2) == 3", file=OTHERS)
    *found, line = lines_of(result.stdout)
    assert result.exit_code == 1 and [one["rule"] for one in found] == ["out-of-bounds"]
    again = CliRunner().invoke(lint_command, shlex.split(line["replay"])[2:])
    assert again.exit_code == 1 and "out-of-bounds" in again.stdout


def test_accesses_that_may_lie_outside_and_no_launch_shows_it_are_unknown(tmp_path: Path) -> None:
    """No square is 3, which nothing here knows."""
    body = "ld.global.u32 %r1, [%rd1]; mul.lo.s32 %r2, %r1, %r1; and.b32 %r2, %r2, 255; setp.eq.s32 %p1, %r2, 3;\n"
    path = kernel(tmp_path, f"{body}@%p1 ld.global.u32 %r3, [%rd1+4];")
    (line,) = lines_of(linted("--json", "--every-launch", "--assume", "bytes(arg0) == 4", file=path).stdout)
    assert line["verdict"] == "unchecked" and "may lie outside of a at" in line["reason"]


def test_what_whole_warps_ask_for_is_told_where_the_block_is_known() -> None:
    result = linted("--every-launch", "--kernel", "twice", "--assume", "blockDim.x == 64", file=OTHERS)
    assert "kernels.cu:22: a whole warp asks for 8 sectors, 4 would do" in result.stdout
    (line,) = lines_of(
        linted("--json", "--every-launch", "--kernel", "twice", "--assume", "blockDim.x == 64", file=OTHERS).stdout
    )
    assert [(one["unit"], one["least"], one["most"], one["needed"]) for one in line["accesses"]] == [("sectors", 8, 8, 4)] * 1
    assert line["accesses_open"] == 0 and line["verdict"] == "proved"


@pytest.mark.parametrize(("header", "line"), [("/usr/include/sm_32_intrinsics.hpp", 3), ("/usr/include/mine.hpp", 134)])
def test_functions_of_the_toolkit_stand_on_the_line_that_calls_them(header: str, line: int, tmp_path: Path) -> None:
    head = f'.file 1 "a.cu"\n.file 2 "{header}"\n'
    path = kernel(
        tmp_path, ".loc 1 3 3\n.loc 2 134 9, function_name $L__info, inlined_at 1 3 3\nld.global.u32 %r1, [%rd1+64];", head
    )
    found, _ = lines_of(linted("--json", "--launch", "1", "1", "--arg", "zeros:i32:4", file=path).stdout)
    assert (found["rule"], found["line"]) == ("out-of-bounds", line)


def test_a_copy_that_is_used_too_early_is_refuted_by_a_launch_and_its_twin_is_proved() -> None:
    found, *_, line = lines_of(every("missing_wait").stdout)
    assert (found["rule"], line["verdict"]) == ("early-copy-read", "refuted") and " --launch " in line["replay"]
    (line,) = lines_of(every("missing_wait_clean", "--assume", "blockDim.x == 32").stdout)
    assert line["verdict"] == "proved" and "early-copy-read" in line["proves"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--every-launch", *RACE), "expected --launch or --every-launch, got both"),
        (("--assume", "blockDim.x == 1", *RACE), "expected --assume together with --every-launch"),
        (("--every-launch", "--kernel", "missing_barrier", "--assume", "n == 1"), "expected a parameter"),
    ],
)  # fmt: skip
def test_options_of_every_launch_that_do_not_fit_are_refused(arguments: tuple[str, ...], message: str) -> None:
    result = linted(*arguments)
    assert result.exit_code == 2 and message in result.output


def test_every_launch_of_a_triton_kernel_is_refused() -> None:
    result = CliRunner().invoke(lint_command, [f"{HERE / 'triton_kernels.py'}:add", "--every-launch"])
    assert result.exit_code == 2 and "expected a file in CUDA or PTX" in result.output


def test_what_to_write_is_said_in_the_words_of_the_user(tmp_path: Path) -> None:
    several = linted("--json", "--launch", "1", "64")
    assert several.exit_code == 2 and "fix: Name it: --kernel missing_barrier\n" in several.stderr
    bare = linted(*RACE[:-2], "--arg", "64")
    assert bare.exit_code == 2
    assert "expected the type of argument 1 before its value, got '64'\n  fix: Write i32:64, with the type" in bare.stderr
    blocks = linted(
        "--launch", "2", "1", "--arg", "zeros:u32:1", file=kernel(tmp_path, "mov.u32 %r1, 1;\nst.global.u32 [%rd1], %r1;")
    )
    assert blocks.exit_code == 1 and "fix: No barrier orders two blocks: " in blocks.stdout


def test_the_proposed_launch_of_a_kernel_of_rows_stays_in_its_arrays(tmp_path: Path) -> None:
    head = HEADER + ".visible .entry k(.param .u64 a, .param .u32 rows, .param .u32 cols)\n{\n"
    path = tmp_path / "k.ptx"
    path.write_text(f"{head}.reg .b32 %r<9>;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.x;\nret;\n}}\n")
    assert "--launch 1 32,8 --arg random:f32:1024 --arg i32:32 --arg i32:32\n" in linted(file=path).output
    path.write_text(f"{head}.reg .b32 %r<9>;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %ctaid.y;\nret;\n}}\n")
    assert "--launch 1,4 32,8 " in linted(file=path).output
    assert "--launch 4 256 --arg random:f32:1024\n" in linted(file=kernel(tmp_path, "")).output


def test_editors_read_the_findings_by_the_pattern_of_the_docs() -> None:
    found = re.search(r'"regexp": (".*")', PAGE.read_text(encoding="utf-8"))
    assert found is not None
    matched = [match for line in linted(*RACE).stdout.splitlines() if (match := re.match(json.loads(found[1]), line))]
    (error,) = [match for match in matched if match[4] == "error"]
    assert error[1].endswith("kernels.cu") and error[2].isdigit() and error[5] == "WL001 data-race"


def test_a_python_file_without_the_name_of_a_kernel(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("x = 1\n")
    for more in ((), ("--every-launch",)):
        result = CliRunner().invoke(lint_command, [str(file), *more])
        assert result.exit_code == 2 and "expected the name of a kernel after a colon" in result.output


def test_faults_of_text_that_is_no_ptx_name_the_file_that_was_given(tmp_path: Path) -> None:
    file = tmp_path / "kernel.txt"
    file.write_text("__global__ void f() {}\n")
    result = CliRunner().invoke(lint_command, [str(file)])
    assert result.exit_code == 2 and f"{file}:1:1: error[PTX_SYNTAX]" in result.output


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("def f():\n    return 1 / 0\n\n\nf()\n", "2:12: error[SPEC_FAILED]"),
        ("x = 1\ndef f(:\n", "2:7: error[SPEC_FAILED]"),
        ("import math\n\n\nclass F:\n    pass\n\n\ndef f():\n    pass\n", "which has: F, f\n"),
    ],
)
def test_a_module_that_fails_is_shown_with_its_line(tmp_path: Path, text: str, where: str) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        load_spec(f"{file}:kernel")
    assert where in str(error.value)
