"""The commands on layouts as a script sees them: fields, exit codes, files."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

import warploom as wl
from warploom.layout import faults
from warploom.tools.cli import cli

FUNCTIONS = """
def place(r, c):
    return r * 32 + (c ^ r)


def taken(warp, lane, step):
    return (lane, step) if step < 32 else None
"""
SQUARE = ("layout", "32x32:f32", "--access", "rows", "--access", "columns")


def call(*arguments: object) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(cli, [*map(str, arguments), "--json"])
    (line,) = lines_of(result.stdout)
    return result.exit_code, line


def test_layout_of_a_square() -> None:
    code, line = call(*SQUARE, "--emit", "cuda")
    assert (code, line["status"], line["verdict"], line["optimal"]) == (0, "solved", "proved", True)
    assert (line["map"], line["class"], line["extra_words"]) == ("r * 32 + (c ^ r)", "swizzle", 0)
    assert line["wavefronts"] == line["least"] == {"rows": 32, "columns": 32}
    assert line["before"] == {"rows": 32, "columns": 1024}
    assert line["cute"] == "Swizzle<5,0,5> o (32,32):(32,1)"
    assert "return r * 32 + (c ^ r);" in line["code"]


def test_certificates_are_verified_from_a_line_or_alone(tmp_path: Path) -> None:
    _, line = call(*SQUARE)
    for name, content in (("line", line), ("alone", line["certificate"])):
        path = tmp_path / name
        path.write_text(json.dumps(content))
        code, checked = call("verify-certificate", path)
        assert (code, checked["verdict"], checked["optimal"]) == (0, "proved", True)
    line["certificate"]["accesses"][1]["wavefronts"] = 31
    path = tmp_path / "wrong"
    path.write_text(json.dumps(line))
    code, checked = call("verify-certificate", path)
    assert (code, checked["status"], checked["verdict"]) == (1, "refused", "refuted")
    assert "32 wavefronts, not 31" in checked["reason"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wavefronts", {"rows": 32, "columns": 31}), ("least", {"rows": 1}), ("map", "r * 32 + c"), ("extra_words", 1),
        ("optimal", None), ("no_linear", True), ("case", "64x64:f32"),
        ("case", "32x32:f16"), ("case", "32x32:f7"), ("case", "c + r on 32x32:f32"), ("ways", {"rows": 1, "columns": 2}),
        ("worst", {"rows": [[0, 0], [0, 1]]}), ("before", {"rows": 32, "columns": 32}), ("cute", "(32,32):(32,1)"),
        ("objective", None), ("domain", "all"), ("status", "unsat"), ("verdict", "tested"), ("counted", "sass"),
        ("extra_words", 0.0), ("extra_words", False), ("v", True), ("least_room", True), ("no_map", True),
        ("code", "__device__ int place(int r, int c) { return r * 32 + c; }"),
    ],
)  # fmt: skip
def test_a_line_that_says_more_than_its_certificate_is_refuted(tmp_path: Path, name: str, value: object) -> None:
    _, line = call(*SQUARE, "--emit", "cuda")
    path = tmp_path / "line.json"
    path.write_text(json.dumps(line | {name: value}))
    code, checked = call("verify-certificate", path)
    assert (code, checked["verdict"]) == (1, "refuted")
    assert "the line says" in checked["reason"]


def test_a_table_is_told_in_a_line() -> None:
    pytest.importorskip("pysat")
    names = [word for name in ("rows:128bit", "diagonals:128bit", "stride:2:128bit") for word in ("--access", name)]
    code, line = call("layout", "8x64:f16", *names, "--table")
    assert (code, line["class"], line["optimal"], len(line["map"])) == (0, "table", True, 512)
    told = CliRunner().invoke(cli, ["layout", "8x64:f16", *names, "--table"]).output
    assert "table, 2 index instructions: a place for each element" in told
    assert wl.layout("8x64:f16", names[1::2], table=True).explain().startswith("8x64:f16: a place for each element\n")
    code, line = call("layout", "8x64:f16", *names[:2], "--access", "blocks:8x1:128bit", *names[2:4], "--table")
    assert (code, line["no_map"], line["optimal"]) == (0, True, None)


def test_a_certificate_counts_the_banks_of_the_architecture_that_its_line_names(tmp_path: Path) -> None:
    _, line = call("layout", "64x64:f32", "--access", "columns", "--arch", "gfx942")
    path = tmp_path / "line"
    for arch, code in (("gfx942", 0), ("gen9", 1), ("sm_90", 1)):
        path.write_text(json.dumps({**line, "arch": arch}))
        assert call("verify-certificate", path)[0] == code


@pytest.mark.parametrize("size", [1, 16])
def test_lanes_go_together_as_in_some_architecture(tmp_path: Path, size: int) -> None:
    """Groups of one lane each make any map optimal; those of 16 are for lanes of 8 bytes."""
    _, line = call("layout", "64x64:f32", "--access", "rows", "--arch", "gfx942")
    document, path = line["certificate"], tmp_path / "certificate"
    path.write_text(json.dumps(document))
    assert call("verify-certificate", path)[0] == 0
    groups = [list(range(at, at + size)) for at in range(0, 64, size)]
    entry = document["accesses"][0] | {"wavefronts": 4096 // size, "least": 4096 // size, "groups": groups}
    changed = {**document, "accesses": [entry]}
    assert not faults(changed)
    for content, where in ((changed, "on any architecture"), ({"arch": "gfx942", "certificate": changed}, "on gfx942")):
        path.write_text(json.dumps(content))
        code, checked = call("verify-certificate", path)
        assert (code, checked["verdict"]) == (1, "refuted") and where in checked["reason"]


def test_a_line_of_an_exchange_says_what_its_certificate_does(tmp_path: Path) -> None:
    _, line = call("exchange", "--from", "striped", "--to", "blocked", "--regs", "2")
    path = tmp_path / "line.json"
    for changed, expected in (
        ({}, 0),
        ({"least_shuffles": 1}, 1),
        ({"shuffles_reached": 1}, 1),
        ({"lanes": 16}, 1),
        ({"warps": 2}, 1),
        ({"bits": 64}, 1),
        ({"bits": 32.0}, 1),
        ({"regs": 3}, 1),
        ({"case": "blocked to striped"}, 1),
        ({"case": "striped to soa:64"}, 1),
        ({"equal": True}, 1),
        ({"shuffles": 1}, 1),
        ({"selects": 1}, 1),
        ({"permutes": 1}, 1),
        ({"wavefronts": 1}, 1),
        ({"least_wavefronts": 3}, 1),
        ({"shared_words": -1}, 1),
        ({"code": line["code"].replace("^", "+")}, 1),
        ({"code": line["code"].replace("in[0]", "in[9]")}, 1),
        ({"arch": "sm_9"}, 2),
    ):
        path.write_text(json.dumps(line | changed))
        assert call("verify-certificate", path)[0] == expected


def test_fields_that_no_certificate_implies_are_named(tmp_path: Path) -> None:
    def unchecked(line: dict[str, Any]) -> list[str]:
        path = tmp_path / "line.json"
        path.write_text(json.dumps(line))
        code, checked = call("verify-certificate", path)
        assert code == 0
        return checked["unchecked"]

    _, line = call(*SQUARE, "--emit", "python")
    assert unchecked(line) == ["class", "index_instructions"]
    assert unchecked(line | {"emit": "fortran"}) == ["class", "index_instructions", "emit", "code"]
    _, line = call("check-layout", "SW64", "--tile", "32x32:f16", "--access", "ldmatrix", "--equal", "tma:SWIZZLE_64B")
    assert unchecked(line) == ["equal"] and unchecked(line | {"case": "mine on 32x32:f16"}) == ["case", "equal"]
    _, line = call("exchange", "--from", "striped", "--to", "blocked", "--regs", "2")
    assert "code" not in unchecked(line) and {"pareto", "cycles"} < {*unchecked(line)}
    assert {"case", "code"} < {*unchecked(line | {"case": "mine", "code": "int x;"})}
    (tmp_path / "f.py").write_text("def held(lane, item):\n    return item * 32 + lane\n")
    _, line = call("exchange", "--from", f"{tmp_path / 'f.py'}:held", "--to", "blocked", "--regs", "2")
    assert "case" in unchecked(line)


def test_an_exchange_between_warps_has_no_certificate(tmp_path: Path) -> None:
    path, page = tmp_path / "f.py", tmp_path / "page.html"
    row, column = "(warp + 1) % 4 * 16 + register // 2 * 8 + lane // 4", "lane % 4 * 2 + register % 2"
    path.write_text(f"def other(warp, lane, register, slot):\n    return {row}, {column}\n")
    code, line = call("exchange", "--from", "wgmma:m64n8:D:f32", "--to", f"{path}:other", "--html", page)
    assert (code, line["certificate"], line["least_shuffles"], line["via"]) == (0, None, None, "shared") and page.exists()
    path.write_text(json.dumps(line))
    assert call("verify-certificate", path)[0] == 2


def test_functions_keep_their_names_apart() -> None:
    def rows(warp: int, lane: int, step: int) -> tuple[int, int] | None:
        return None if warp or step else (lane, 0)

    def other(warp: int, lane: int, step: int) -> tuple[int, int] | None:
        return None if warp or step else (0, lane)

    rows.__name__, name = "rows", "<lambda>"
    found = wl.layout("32x32:f32", [rows, "rows"])
    assert found.line["wavefronts"] == {"function rows": 1, "rows": 32}
    rows.__name__ = other.__name__ = name
    assert wl.layout("32x32:f32", [rows, other]).line["wavefronts"] == {name: 1, f"{name}'": 1}


def test_lanes_that_take_three_elements_are_bad_input() -> None:
    with pytest.raises(wl.UserError, match="1, 2, 4"):
        wl.layout("32x32:f32", [lambda warp, lane, step: None if warp or step else [(lane, k) for k in range(3)]])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"certificate": 3}', "3", '{"v": 1, "accesses": []}\n{"v": 1}'])
def test_files_that_hold_no_certificate(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    code, line = call("verify-certificate", path)
    assert (code, line["status"]) == (2, "error")
    assert "expected a certificate" in line["reason"]


def test_a_map_that_is_right_and_optimal() -> None:
    code, line = call(
        "check-layout", "c ^ r", "--tile", "32x32:f32", "--access", "rows", "--access", "columns", "--equal", "r*32 + (r ^ c)"
    )
    assert (code, line["verdict"], line["optimal"], line["equal"]) == (0, "proved", True, True)
    assert line["map"] == "r * 32 + (c ^ r)"


def test_a_map_that_can_be_bettered() -> None:
    code, line = call("check-layout", "r*32 + c", "--tile", "32x32:f32", "--access", "columns")
    assert (code, line["optimal"], line["wavefronts"], line["ways"]) == (0, None, {"columns": 1024}, {"columns": 32})
    assert line["worst"] == {"columns": [[0, 0], [1, 0]]}
    assert (line["better"]["wavefronts"], line["better"]["optimal"]) == ({"columns": 32}, True)


def test_maps_that_differ_are_refuted_with_an_element() -> None:
    code, line = call("check-layout", "c ^ r", "--tile", "32x32:f32", "--equal", "(32,32):(32,1)")
    assert (code, line["status"], line["verdict"], line["element"]) == (1, "refused", "refuted", [1, 0])


def test_a_map_that_tears_lanes_apart_is_refuted() -> None:
    code, line = call("check-layout", "c ^ (r & 7)", "--tile", "64x64:f16", "--access", "ldmatrix")
    assert (code, line["verdict"]) == (1, "refuted")
    assert "expected aligned neighbours" in line["reason"]
    assert line["better"]["map"] == "r * 64 + (c ^ ((r << 3) & 56))"


def test_functions_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FUNCTIONS)
    code, line = call("check-layout", f"{path}:place", "--tile", "32x32:f32", "--access", f"{path}:taken")
    assert (code, line["optimal"]) == (0, True)
    assert list(line["wavefronts"].values()) == [32]
    saved = tmp_path / "line.json"
    saved.write_text(json.dumps(line))
    assert call("verify-certificate", saved)[0] == 0
    code, line = call("layout", "32x32:f32", "--access", f"{path}:other")
    assert (code, line["status"]) == (2, "error")
    assert "which has: place, taken" in line["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("layout", "32x32", "--access", "rows"),
        ("layout", "32x32:f32", "--access", "across"),
        ("layout", "32x32:f32", "--access", "columns", "--access", "blocks:4x8", "--access", "rows", "--emit", "cute"),
        ("layout", "32x32:f32", "--access", "rows", "--arch", "sm_1"),
        ("check-layout", "c", "--tile", "32x32:f32", "--access", "rows", "--arch", "gfx1030"),
        ("check-layout", "c ^ q", "--tile", "32x32:f32", "--access", "rows"),
        ("verify-certificate", "nowhere.json"),
    ],
)  # fmt: skip
def test_bad_input_is_an_error_line(arguments: tuple[str, ...]) -> None:
    code, line = call(*arguments)
    assert (code, line["status"]) == (2, "error")
    assert line["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("layout", "32x32:f32"),
        ("layout", "32x32:f32", "--access", "rows", "--room", "-1"),
        ("check-layout", "c", "--tile", "32x32:f32"),
    ],
)
def test_wrong_options(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(cli, arguments).exit_code == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise SystemExit(0)", "RUN_FAILED: expected functions that return"),
        ("return 10**5000", "MAP: expected an integer place for r = 0, c = 0, got a value of the type int"),
        ("return type('Odd', (), {'__index__': lambda self: 1 // 0})()", "FUNCTION_FAILED: expected a value for"),
        ("return type('Odd', (), {'__repr__': lambda self: 1 // 0})()", "got a value of the type Odd"),
    ],
)
def test_functions_that_do_odd_things(tmp_path: Path, body: str, reason: str) -> None:
    path = tmp_path / "f.py"
    path.write_text(f"def f(r, c):\n    {body}\n")
    done = CliRunner().invoke(cli, ["check-layout", f"{path}:f", "--tile", "8x8:f32", "--access", "rows", "--json"])
    [line] = lines_of(done.stdout)
    assert (done.exit_code, line["status"]) == (2, "error") and reason in line["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check-layout", "{}:f", "--tile", "8x8:f32", "--access", "rows"),
        ("exchange", "--from", "{}:f", "--to", "striped", "--regs", "2"),
    ],
)
def test_functions_that_raise_have_the_line_that_did(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "f.py"
    path.write_text("def g(n):\n    return 1 // n\n\n\ndef f(r, c):\n    return g(r)\n")
    done = CliRunner().invoke(cli, [argument.format(path) for argument in arguments])
    assert done.exit_code == 2 and f"{path}:2:12: error[FUNCTION_FAILED]" in done.output


def test_people_read_a_table() -> None:
    shown = CliRunner().invoke(cli, [*SQUARE, "--access", "diagonals", "--emit", "python"]).stdout
    assert "columns    32 wavefronts (was 1024), at least 32" in shown
    assert "def place(r, c):" in shown
    shown = CliRunner().invoke(cli, ["check-layout", "r*32 + c", "--tile", "32x32:f32", "--access", "columns"]).stdout
    assert "32 ways, such as elements (0, 0) and (1, 0)" in shown and "better: " in shown


def test_exchange_of_registers(tmp_path: Path) -> None:
    code, line = call("exchange", "--from", "striped", "--to", "blocked", "--lanes", 32, "--regs", 7, "--bits", 32)
    assert (code, line["status"], line["verdict"], line["via"]) == (0, "solved", "proved", "shuffle")
    assert [line[name] for name in ("shuffles", "selects", "permutes", "wavefronts")] == [7, 21, 0, 0]
    assert (line["least_shuffles"], line["least_wavefronts"], line["renaming"], line["counted"]) == (7, 14, None, "model")
    assert [entry["via"] for entry in line["pareto"]] == ["shuffle", "shared"]
    assert line["equal"] is False and line["differs"]["lane"] == 0
    path = tmp_path / "line"
    path.write_text(json.dumps(line))
    code, checked = call("verify-certificate", path)
    assert (code, checked["verdict"], checked["least_shuffles"]) == (0, "proved", 7)
    line["certificate"]["least_shuffles"] = 6
    path.write_text(json.dumps(line))
    code, checked = call("verify-certificate", path)
    assert (code, checked["verdict"]) == (1, "refuted")


def test_exchange_writes_code_and_renames_k(tmp_path: Path) -> None:
    fragments = ("--from", "mma:m16n8k8:C:tf32", "--to", "mma:m16n8k8:A:tf32")
    out = tmp_path / "exchange.cu"
    code, line = call("exchange", *fragments, "--free", "k", "--emit", "kernel", "--out", out)
    assert (code, line["shuffles"], line["selects"]) == (0, 0, 0)
    assert line["renaming"] == {"k": [0, 2, 4, 6, 1, 3, 5, 7]} and "k" in line["other_side"]
    assert out.read_text() == line["code"] and "__global__" in line["code"]
    functions = tmp_path / "held.py"
    functions.write_text(
        "def turned(lane, item):\n    return (lane + 1) % 32 * 2 + item\n\n\ndef none(lane, item):\n    return 'x'\n"
    )
    code, line = call("exchange", "--from", "blocked", "--to", f"{functions}:turned", "--regs", 2)
    assert (code, line["shuffles"], line["selects"]) == (0, 2, 0)
    assert call("exchange", "--from", "blocked", "--to", f"{functions}:none", "--regs", 2)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--from", "striped", "--to", "blocked"), "expected --regs"),
        (("--from", "striped", "--to", "(32,3):(3,1)", "--bits", 8), "expected --regs"),
        (("--from", "striped", "--to", "blocks", "--regs", 2), "got 'blocks'"),
        (("--from", "striped", "--to", "mma:m16n8k8:A:tf32", "--regs", 2), "expected --regs 4"),
        (("--from", "blocked", "--to", "striped", "--regs", 2, "--bits", 8, "--via", "tma"), "side by side"),
        (("--from", "striped", "--to", "blocked", "--regs", 2, "--arch", "sm_1"), "sm_1"),
        (("--from", "striped", "--to", "x.py:f", "--regs", 2), "found none"),
    ],
)
def test_exchanges_that_are_refused(arguments: tuple[object, ...], said: str) -> None:
    code, line = call("exchange", *arguments)
    assert (code, line["status"]) == (2, "error")
    assert said in line["reason"]


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (("--from", "mma:m16n8k16:D:f32", "--to", "mma:m16n8k16:A:f16"), "fix: Convert the values in their registers"),
        (("--from", "aos:3", "--to", "soa:3", "--regs", "3"), "fix: Write soa:32."),
    ],
)
def test_how_to_mend_an_exchange(arguments: tuple[str, ...], fix: str) -> None:
    assert fix in CliRunner().invoke(cli, ["exchange", *arguments]).stderr


def test_what_functions_print_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("print('loaded')\n\n\ndef f(r, c):\n    print('asked')\n    return r * 8 + c\n")
    done = CliRunner().invoke(cli, ["check-layout", f"{path}:f", "--tile", "8x8:f32", "--access", "rows", "--json"])
    [line] = lines_of(done.stdout)
    assert line["optimal"] and "asked" in done.stderr and "asked" not in done.stdout
