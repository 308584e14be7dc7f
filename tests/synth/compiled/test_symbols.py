"""Variables of a module: what the host may have put there is a symbol, or not followed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.synth.compiled.programs import HEAD, body

from warploom.core import UnsupportedError, UserError, f32
from warploom.ptx import lower, parse
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof, prove_launch, run_plain_spec
from warploom.synth.compiled.execution import Symbol
from warploom.tools.ptx.prove import prove
from warploom.tools.ptx.run import run_command

LOAD = "\tld.{space}.f32 %f1, [taps+4];\n\tld.global.f32 %f2, [%rd2];\n\tmul.f32 %f3, %f1, %f2;\n\tst.global.f32 [%rd1], %f3;\n"
ARRAYS: tuple[Argument, ...] = (ArrayArgument("out", f32, (4,)), ArrayArgument("a", f32, (4,)))


def text(declaration: str, lines: str = LOAD) -> str:
    space = "const" if ".const" in declaration else "global"
    return body(lines.replace("{space}", space)).replace(HEAD, HEAD + declaration + "\n")


def scaled(out, a, taps):
    for i in range(4):
        out[i] = a[i] * taps[1]


def zeros(out, a):
    for i in range(4):
        out[i] = 0


def result(source: str, spec, symbols: dict[str, Symbol]) -> CompiledProof:
    variables = tuple(s for s in symbols.values() if isinstance(s, ArrayArgument))
    wanted = run_plain_spec(spec, (*ARRAYS, *variables))
    return prove_launch(lower(parse(source, "k.ptx")), None, ARRAYS, (1, 1, 1), (4, 1, 1), wanted, symbols=symbols)


@pytest.mark.parametrize(
    "declaration", [".const .align 4 .b8 taps[8];", ".global .align 4 .f32 taps[2] = {0f3F800000, 0f40000000};"]
)
def test_a_variable_that_nobody_told_is_not_followed(declaration: str) -> None:
    with pytest.raises(UnsupportedError, match="what taps holds, which the host may set"):
        result(text(declaration), zeros, {})


def test_symbols_in_a_variable() -> None:
    source = text(".const .align 4 .b8 taps[8];")
    assert result(source, scaled, {"taps": ArrayArgument("taps", f32, (2,))}).verdict == "proved"
    assert result(source.replace("taps+4", "taps"), scaled, {"taps": ArrayArgument("taps", f32, (2,))}).verdict == "refuted"


def test_the_initial_value_where_it_is_asked_for() -> None:
    proof = result(text(".const .align 4 .b32 taps[2] = {0, 1073741824};"), lambda out, a: doubled(out, a), {"taps": "initial"})
    assert (proof.verdict, proof.domain) == ("proved", "real sums reordered, taps as the file initialises it")
    assert result(text(".const .align 4 .b8 taps[8];"), zeros, {"taps": "initial"}).verdict == "proved"


def doubled(out, a):
    for i in range(4):
        out[i] = 2 * a[i]


def test_what_a_kernel_wrote_itself_is_known() -> None:
    lines = "\tld.global.f32 %f1, [%rd2];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 st.global.f32 [taps], %f1;\n"
    lines += "\t@%p1 ld.global.f32 %f1, [taps];\n\tst.global.f32 [%rd1], %f1;\n"
    proof = result(text(".global .align 4 .b8 taps[8];", lines), same, {})
    assert (proof.verdict, proof.domain) == ("proved", "what is stored to taps is not compared")


def same(out, a):
    for i in range(4):
        out[i] = a[i]


def test_constant_memory_is_read_only_and_a_space_of_its_own() -> None:
    lines = "\tmov.u64 %rd4, taps;\n\tst.global.f32 [%rd4], 0f00000000;\n"
    wrong_space = result(text(".const .align 4 .b8 taps[8];", lines), same, {})
    assert wrong_space.fault is not None and wrong_space.fault.kind == "out of bounds"
    for store in ("st.f32 [%rd4], 0f00000000;", "red.add.f32 [%rd4], 0f00000000;"):
        generic = lines.replace("st.global.f32 [%rd4], 0f00000000;", store)
        found = result(text(".const .align 4 .b8 taps[8];", generic), same, {})
        assert found.fault is not None and found.fault.kind == "read-only"


def test_symbols_that_do_not_fit() -> None:
    with pytest.raises(UserError, match="8 bytes for taps"):
        result(text(".const .align 4 .b8 taps[8];"), same, {"taps": ArrayArgument("taps", f32, (3,))})
    with pytest.raises(UserError, match="it has: taps"):
        result(text(".const .align 4 .b8 taps[8];"), same, {"tap": "initial"})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "k.ptx").write_text(text(".const .align 4 .b8 taps[8];"))
    (tmp_path / "specs.py").write_text(
        'def scaled(out: "f32[4]", a: "f32[4]", taps):\n    for i in range(4):\n        out[i] = a[i] * taps[1]\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    ("symbol", "code", "told"),
    [
        ([], 2, "SPEC_PARAMETERS"),
        (["--symbol", "taps=f32[2]"], 0, ""),
        (["--symbol", "taps=initial"], 2, "SPEC_PARAMETERS"),
        (["--symbol", "taps"], 2, "SYMBOL"),
        (["--symbol", "taps=empty:f32[2]"], 2, "SYMBOL"),
        (["--symbol", "out=f32[2]"], 2, "SPEC_PARAMETERS"),
    ],
)
def test_symbols_on_the_command_line(files: Path, symbol: list[str], code: int, told: str) -> None:
    spec = f"{files / 'specs.py'}:scaled"
    done = CliRunner().invoke(prove, [str(files / "k.ptx"), "--spec", spec, "--grid", "1", "--block", "4", "--json", *symbol])
    line = json.loads(done.stdout)
    assert (done.exit_code, told in line.get("reason", "")) == (code, True), line


def test_a_file_that_check_refuses_is_not_proved(files: Path) -> None:
    wrong = files / "wrong.ptx"
    wrong.write_text((files / "k.ptx").read_text().replace("mul.f32 %f3, %f1, %f2", "mul.f32 %f3, %f1, %rd2"))
    spec = f"{files / 'specs.py'}:scaled"
    arguments = ["--grid", "1", "--block", "4", "--json"]
    done = CliRunner().invoke(prove, [str(wrong), "--spec", spec, "--symbol", "taps=f32[2]", *arguments])
    assert done.exit_code == 2 and "PTX_TYPE" in json.loads(done.stdout)["reason"]
    done = CliRunner().invoke(run_command, [str(wrong), "--arg", "0=zeros:f32:4", "--arg", "1=ones:f32:4", *arguments])
    assert done.exit_code == 2 and "PTX_TYPE" in json.loads(done.stdout)["reason"]


def test_run_sets_variables_and_names_those_that_nobody_set(files: Path) -> None:
    arguments = [str(files / "k.ptx"), "--arg", "0=zeros:f32:4", "--arg", "1=ones:f32:4", "--grid", "1", "--block", "4", "--json"]
    done = CliRunner().invoke(run_command, arguments)
    assert json.loads(done.stdout)["initial"] == ["taps"] and "--symbol taps" in done.stderr
    done = CliRunner().invoke(run_command, [*arguments, "--symbol", "taps=ones:f32:2"])
    assert "initial" not in json.loads(done.stdout) and done.exit_code == 0
    for wrong in ("taps=ones:f32:3", "tap=ones:f32:2", "taps"):
        assert CliRunner().invoke(run_command, [*arguments, "--symbol", wrong]).exit_code == 2


def test_shared_variables_of_other_kernels_are_not_counted() -> None:
    source = body("\tst.global.f32 [%rd1], %f1;\n").replace(".visible", ".shared .b8 big[50000];\n.visible", 1)
    assert prove_launch(lower(parse(source, "k.ptx")), None, ARRAYS, (1, 1, 1), (4, 1, 1), {}).verdict == "proved"
    used = source.replace("\tst.global.f32 [%rd1]", "\tmov.u64 %rd1, big;\n\tst.global.f32 [%rd1]")
    with pytest.raises(UserError, match="static shared memory"):
        prove_launch(lower(parse(used, "k.ptx")), None, ARRAYS, (1, 1, 1), (4, 1, 1), {})


@pytest.mark.parametrize(
    ("old", "new", "grid", "block", "shared"),
    [
        ("{", "{", (1, 65536, 1), (4, 1, 1), 0),
        ("{", "{", (1, 1, 1), (1, 1, 128), 0),
        (")\n{", ")\n.reqntid 8\n{", (1, 1, 1), (4, 1, 1), 0),
        (")\n{", ")\n.maxntid 2\n{", (1, 1, 1), (4, 1, 1), 0),
        (".reg .pred", ".shared .b8 big[50000];\n.reg .pred", (1, 1, 1), (4, 1, 1), 0),
        ("{", "{", (1, 1, 1), (4, 1, 1), 240000),
    ],
)
def test_a_launch_that_no_device_starts_is_not_proved(
    old: str, new: str, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int
) -> None:
    source = body("\tst.global.f32 [%rd1], %f1;\n").replace(old, new, 1)
    with pytest.raises(UserError, match="LAUNCH"):
        prove_launch(lower(parse(source, "k.ptx")), None, ARRAYS, grid, block, {}, dynamic_shared_bytes=shared)
