"""`warploom ptx prove` on files: verdicts, exit codes, what is said of wrong input."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.synth.compiled.programs import HEAD, SECOND_DIFFERENCE, TURNED_ROUND, planted

from warploom.gpu import toolchain_available
from warploom.synth import complete
from warploom.synth.compiled import CompiledProof, Difference
from warploom.terms import atom
from warploom.tools.ptx.prove import prove, ptx_field
from warploom.tools.synth.targets import resolve

SPECS = """
import warploom as wl
from warploom import f32

def difference(out: "f32[100]", a: "f32[100]", n=100):
    for i in range(1, n - 1):
        out[i] = a[i - 1] - 2 * a[i] + a[i + 1]

def bare(out, a, n):
    for i in range(1, n - 1):
        out[i] = a[i - 1] - 2 * a[i] + a[i + 1]

def turned(out: wl.Global[f32, 64], a: "f32[64]", scale: "f32"):
    for i in range(64):
        out[i] = a[63 - i] * scale + a[i]

def wrong(out: "f32[100]", a: "f32[100]", n=100):
    out[100] = a[0]

def two(out, a):
    pass

def old_count(out, count):
    out[0] = count[0]
    count[0] += 1

def new_count(out, count):
    count[0] += 1
    out[0] = count[0]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "specs.py").write_text(SPECS)
    (tmp_path / "difference.ptx").write_text(SECOND_DIFFERENCE)
    (tmp_path / "turned.ptx").write_text(TURNED_ROUND)
    (tmp_path / "race.ptx").write_text(planted(TURNED_ROUND, "\tbar.sync 0;\n", ""))
    (tmp_path / "swapped.ptx").write_text(planted(SECOND_DIFFERENCE, "sub.f32 %f4, %f3, %f1", "sub.f32 %f4, %f1, %f3"))
    return tmp_path


def run(folder: Path, file: str, spec: str, *more: str) -> tuple[int, dict[str, Any], str]:
    spec_at = f"{folder / 'specs.py'}:{spec}"
    done = CliRunner().invoke(prove, [str(folder / file), "--spec", spec_at, "--json", *more])
    (line,) = done.stdout.splitlines()
    return done.exit_code, json.loads(line), done.stderr


def test_proved(folder: Path) -> None:
    code, line, _ = run(folder, "difference.ptx", "difference", "--grid", "2", "--block", "64")
    assert (code, line["status"], line["verdict"]) == (0, "solved", "proved")
    assert line["domain"] == "real sums reordered, activemask: threads together or alone"
    assert (line["kernel"], line["grid"], line["block"]) == ("difference", [2, 1, 1], [64, 1, 1])
    code, line, _ = run(folder, "turned.ptx", "turned", "--grid", "1", "--block", "64", "--kernel", "turned")
    assert (code, line["verdict"]) == (0, "proved")


def test_arguments_by_index(folder: Path) -> None:
    shapes = ["--arg", "0=zeros:f32:70", "--arg", "1=f32[70]"]
    code, line, _ = run(folder, "difference.ptx", "bare", "--grid", "3", "--block", "32", *shapes, "--arg", "2=i32:70")
    assert (code, line["verdict"]) == (0, "proved")
    code, line, err = run(folder, "difference.ptx", "bare", "--grid", "3", "--block", "32", *shapes)
    assert (code, line["status"]) == (2, "error")
    assert "ARG_MISSING" in line["reason"] and "--arg 2=i32:1024" in err


def test_differing_element(folder: Path) -> None:
    code, line, err = run(folder, "swapped.ptx", "difference", "--grid", "2", "--block", "64")
    assert (code, line["status"], line["verdict"]) == (1, "refused", "refuted")
    shown = {name: line["differing"].pop(name) for name in ("values", "witness", "deciding")}
    assert line["differing"] == {
        "array": "out", "index": [1], "expected": "-2*a[1] + a[0] + a[2]", "found": "-a[2] + a[0]",
        "line": SECOND_DIFFERENCE.splitlines().index("\tst.global.f32 [%rd5], %f6;") + 1,
    }  # fmt: skip
    assert "st.global.f32 [%rd5], %f6;" in err
    a = [shown["witness"][f"a[{k}]"] for k in range(3)]
    assert shown["values"] == {"expected": a[0] - 2 * a[1] + a[2], "found": a[0] - a[2]}
    assert f"the spec gives {float(a[0] - 2 * a[1] + a[2])}, the kernel {float(a[0] - a[2])}" in err


LONG = 40


@pytest.mark.parametrize("op", ["add", "max"])
@pytest.mark.parametrize("left_out", [3, 31])
def test_the_element_that_decides_is_shown(folder: Path, op: str, left_out: int) -> None:
    read = "".join(f"ld.global.f32 %f2, [%rd2+{4 * k}]; {op}.f32 %f1, %f1, %f2;\n" for k in range(1, LONG) if k != left_out)
    body = f"ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [a]; ld.global.f32 %f1, [%rd2];\n{read}st.global.f32 [%rd1], %f1;"
    registers = ".reg .f32 %f<3>; .reg .b64 %rd<3>;"
    (folder / "long.ptx").write_text(
        f"{HEAD}\n.visible .entry k(.param .u64 out, .param .u64 a)\n{{\n{registers}\n{body}\nret;\n}}\n"
    )
    total = "sum(a[k] for k in range(1, 40)) + a[0]" if op == "add" else "max(a[k] for k in range(40))"
    (folder / "specs.py").write_text(f'def long(out: "f32[1]", a: "f32[{LONG}]"):\n    out[0] = {total}\n')
    code, line, err = run(folder, "long.ptx", "long", "--grid", "1", "--block", "1")
    assert (code, line["verdict"], line["differing"]["index"]) == (1, "refuted", [0])
    assert line["differing"]["deciding"] == [f"a[{left_out}]"]
    assert next(iter(line["differing"]["witness"])) == f"a[{left_out}]"
    assert (
        f"  with a[{left_out}] = {line['differing']['witness'][f'a[{left_out}]']}, 0 in all other elements: the spec gives" in err
    )


def test_race(folder: Path) -> None:
    code, line, err = run(folder, "race.ptx", "turned", "--grid", "1", "--block", "64")
    assert (code, line["verdict"]) == (1, "refuted")
    assert [line["race"][k]["what"] for k in ("first", "second")] == ["store", "load"]
    assert line["race"]["first"]["line"] != line["race"]["second"]["line"]
    assert "error[RACE]" in err


ATOMIC = (
    HEAD
    + """
.visible .entry k(.param .u64 out, .param .u64 count)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [count];
	atom.global.add.u32 %r1, [%rd2], 1;
	st.global.u32 [%rd1], %r1;
	ret;
}
"""
)


def test_what_no_run_shows_is_not_refuted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "atomic.ptx").write_text(ATOMIC)
    shapes = ["--grid", "1", "--block", "1", "--arg", "0=u32[1]", "--arg", "1=u32[1]"]
    code, line, _ = run(folder, "atomic.ptx", "old_count", *shapes)
    assert (code, line["status"], line["verdict"]) == (3, "unknown", "unchecked")
    assert "atomic operation's old content" in line["reason"] and "the spec gives" in line["reason"]

    said = CompiledProof("refuted", "", "out[0]: wrong", Difference("out", (0,), "1", "2", 9, ((atom("count", (0,)), 5),)))
    monkeypatch.setattr("warploom.tools.ptx.prove.prove_launch", lambda *args, **options: said)
    code, line, _err = run(folder, "atomic.ptx", "old_count", *shapes)
    assert (code, line["status"], line["verdict"]) == (3, "error", "unchecked")
    assert "a bug of Warploom" in line["reason"] and "spec gives 5 and the kernel 5" in line["reason"]
    code, line, _ = run(folder, "atomic.ptx", "new_count", *shapes)
    assert (code, line["verdict"], line["differing"]["values"]) == (1, "refuted", {"expected": 6, "found": 5})


def test_control_on_data_is_not_followed(folder: Path) -> None:
    arguments = ["--arg", "0=f32[8]", "--arg", "1=f32[8]", "--arg", "2=i32"]
    code, line, err = run(folder, "difference.ptx", "bare", "--grid", "1", "--block", "32", *arguments)
    assert code in (2, 3) and line["status"] in ("unknown", "error")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("spec", "more", "code"),
    [
        ("nothing", ["--grid", "1", "--block", "32"], "SPEC_NOT_FOUND"),
        ("two", ["--grid", "1", "--block", "32"], "SPEC_PARAMETERS"),
        ("wrong", ["--grid", "1", "--block", "32"], "SPEC_FAILED"),
        ("difference", ["--grid", "0", "--block", "32"], "LAUNCH_SHAPE"),
        ("difference", ["--grid", "1", "--block", "2000"], "LAUNCH"),
        ("difference", ["--grid", "1", "--block", "32", "--kernel", "other"], "NO_KERNEL"),
        ("difference", ["--grid", "1", "--block", "32", "--arg", "7=f32[3]"], "LAUNCH_ARGUMENTS"),
        ("difference", ["--grid", "1", "--block", "32", "--arg", "0=float[3]"], "ARG_FORM"),
        ("difference", ["--grid", "1", "--block", "32", "--arg", "2=f64:3"], "ARG_FORM"),
        ("difference", ["--grid", "1", "--block", "32", "--algebra", "xor/and"], "ALGEBRA_MISMATCH"),
    ],
)
def test_wrong_input_is_located_and_exits_with_2(folder: Path, spec: str, more: list[str], code: str) -> None:
    exit_code, line, err = run(folder, "difference.ptx", spec, *more)
    assert (exit_code, line["status"]) == (2, "error"), line
    assert code in line["reason"] and "Traceback" not in err


@pytest.mark.parametrize(("size", "told"), [("", True), ("16", False)])
def test_a_launch_without_its_dynamic_shared_memory(folder: Path, size: str, told: bool) -> None:
    """Only of arrays whose size the launch says; those of 16 bytes are left by a store at 64."""
    shared = ".extern .shared .align 16 .b8 s[];\n" if told else f".shared .align 16 .b8 s[{size}];\n"
    body = ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, 0;\nst.shared.b32 [s+64], %r1;\nret;\n}\n"
    (folder / "shared.ptx").write_text(HEAD + shared + body)
    (folder / "specs.py").write_text("def nothing(out: 'f32[4]'):\n    pass\n")
    code, line, err = run(folder, "shared.ptx", "nothing", "--grid", "1", "--block", "1")
    assert (code, line["status"], line["fault"]["kind"]) == (1, "refused", "out of bounds")
    assert ("dynamic shared memory, with --shared BYTES" in err) == told
    if told:
        assert run(folder, "shared.ptx", "nothing", "--grid", "1", "--block", "1", "--shared", "68")[1]["status"] == "solved"


def test_missing_file(folder: Path) -> None:
    code, line, _ = run(folder, "none.ptx", "difference", "--grid", "1", "--block", "32")
    assert (code, line["status"]) == (2, "error")


def test_field_of_a_completed_case() -> None:
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    (target,) = resolve("aos-sum-crc-4")
    field = ptx_field(target, complete(target.sketch).completions[0])
    assert (field["verdict"], field["domain"], field["arch"]) == ("proved", "int32 wrap", "sm_90")
    assert field["instances"] == [{"tiles": 1}, {"tiles": 3}, {"tiles": 2}, {"tiles": 8}]


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + 18 * b"\0", b"text"])
def test_a_file_of_another_form_is_no_array(folder: Path, content: bytes) -> None:
    path = folder / "x.npy"
    path.write_bytes(content)
    launch = ["--grid", "2", "--block", "64", "--arg", f"0={path}"]
    spec = f"{folder / 'specs.py'}:bare"
    result = CliRunner().invoke(prove, [str(folder / "difference.ptx"), "--spec", spec, *launch, "--json"])
    assert result.exit_code == 2 and "ARG_FORM: expected a NumPy file" in json.loads(result.stdout)["reason"]
