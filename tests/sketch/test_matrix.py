"""Matrix programs: the paper's listings as printed, how they are read as sketches, and what is refused at its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.core import UserError
from warploom.sketch import load
from warploom.sketch.matrix import parse, python
from warploom.synth import complete
from warploom.tools.cli import cli

LISTINGS = Path(__file__).parents[2] / "examples" / "papers" / "swizzle-inventor"
TEXT = (LISTINGS / "conv1d.matrix").read_text()


def test_listing_1_has_the_solution_of_the_paper() -> None:
    (sketch,) = load(LISTINGS / "conv1d.matrix")
    assert complete(sketch).verdict == "proved"
    said = CliRunner().invoke(cli, ["synth", str(LISTINGS / "conv1d.matrix"), "--json"]).stdout
    assert json.loads(said)["holes"] == {"swizzle1": "0 if tid >= k else 1", "swizzle2": "(tid + k) % 4", "swizzle3": "k"}


def test_listing_4() -> None:
    (sketch,) = load(LISTINGS / "transpose.matrix")
    assert complete(sketch).verdict == "proved"


LISTING_4 = (LISTINGS / "transpose.matrix").read_text()


def test_listing_4_in_a_function() -> None:
    """Loops alone mean the function around them that declares what they write."""
    loops = LISTING_4[LISTING_4.index("for i, j") : LISTING_4.index("// What")]
    declared = "__register__ float t1[m][n], t2[m][n], out[m][n];\n"
    function = f"float[m][n] loops(__register__ float inp[m][n]) {{\n{declared}{loops}return out\n}}\n"
    text = LISTING_4.replace(loops, function).replace("== out", "== loops(inp)")
    ends = [python(parse(t)).partition("def loops")[2] for t in (text, LISTING_4)]
    assert ends[0] == ends[1] != ""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("assert(spec(inp) == out);", "", r"what out must hold is not stated\n"),
        ("int m = 3;", "", "expected a whole number that is known here"),
        ("float inp[m][n] = symbolic_matrix([m, n]);", "", "expected inp, which the loops only read, to be declared"),
        ("== out", "== t3", r"expected a matrix that the loops write \(t1, t2, out\), got t3"),
        ("== out", "== spec(inp)", "expected assert.* with a matrix of the loops"),
        ("out[i][j] = t2", "out[m][j] = t2", "expected the index of a loop where a matrix is written"),
    ],
)
def test_what_loops_alone_do_not_say(old: str, new: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        python(parse(LISTING_4.replace(old, new)))


def test_listing_4_alone_says_what_is_not_stated() -> None:
    with pytest.raises(UserError, match="what out must hold is not stated, nor m, n, inp"):
        parse(LISTING_4[LISTING_4.index("for i, j") : LISTING_4.index("// What")])


LISTING_3 = (LISTINGS / "simt.matrix").read_text()


def test_listing_3_has_the_solution_of_listing_1() -> None:
    said = CliRunner().invoke(cli, ["synth", str(LISTINGS / "simt.matrix"), "--json"]).stdout
    assert list(json.loads(said)["holes"].values()) == ["0 if tid >= k else 1", "(tid + k) % 4", "k"]
    assert json.loads(said)["verdict"] == "proved" and "kernel conv1d is not read" in json.loads(said)["read_as"][0]
    alone = LISTING_3.replace("int warp_size = 4;", "").replace("reshape(inp_spec, [2, 4])", "reshape(inp_spec, [2, 32])")
    assert "wl.shfl(to_send, wl.xform(tid, warp_size, k" in python(parse(alone)) and "warp_size=32" in python(parse(alone))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("float out = 0;", "float out = 1;", "expected out to begin at 0, as it is returned"),
        ("return out;\n}\n\n__global__", "return w;\n}\n\n__global__", "expected the return of a local variable, got w"),
        ("  return out;\n}\n\n__global__", "}\n\n__global__", "expected sketch to end with the return of a variable"),
        (
            "int tid = threadIdx.x % warp_size;\n  float",
            "int tid = threadIdx.x % 4;\n  float",
            "expected sketch to name its lane",
        ),
        ("FULL_MASK", "mask", r"expected __shfl_sync\(FULL_MASK, value, lane\)"),
        ("out += w", "if (k < 1) return out; out += w", "expected one return, at the end"),
        ("if(globalId < n) y[globalId] = out;\n}", "", "expected '}', got the end of the text"),
        ("inp[?sw_part(tid, k)]", "expf(inp[0])", "got a call of expf"),
        ("inp_impl[2][warp_size] = reshape(inp_spec, [2, 4])", "inp_impl[2] = reshape(inp_spec, [2])", "got 6 of inp_spec"),
        ("inp_impl[2][warp_size] = reshape(inp_spec, [2, 4])", "inp_impl[2] = reshape(x, [2])", "got x, which is not declared"),
        ("inp_impl[2][", "inp_impl[3][", r"expected \[2, 4\] for inp, got inp_impl of the shape \[3, 4\]"),
        ("to_send,", "inp,", "expected 1 indices of inp, got 0"),
    ],
)
def test_what_functions_of_one_thread_leave_open(old: str, new: str, message: str) -> None:
    assert old in LISTING_3
    with pytest.raises(UserError, match=message):
        python(parse(LISTING_3.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("?sw_part(tid, k)", "?sw_part(2, tid, k)", "wl.part(2, tid, k"),
        ("float out = 0;", "float out = 0; float kept[2]; kept[1] = inp[0];", "kept[1] = inp[0]"),
        ("out += w", "if (tid < 2 || k < -(0 - 1)) { out += inp[0]; } else out += w", "out.add(inp[0])"),
        ("out += w", "out = tid < 2 ? out : tmp; out += w", "out[0] = (out[0] if (tid < 2) else tmp)"),
        ("out += w[?sw_xform(k, K, tid)] * tmp;", "accumulate(out, [w[k], tmp], tid < 2);", ""),
    ],
)
def test_what_functions_of_one_thread_are_read_as(old: str, new: str, said: str) -> None:
    if not said:
        with pytest.raises(UserError, match="expected create_accumulator for out"):
            python(parse(LISTING_3.replace(old, new)))
        return
    assert said in python(parse(LISTING_3.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", 'to_share[0] = inp[wl.part(2, tid, k, name="swizzle1")]'),
        ("", "", 'tmp = wl.shfl(to_share[0], wl.xform(tid, 4, k, name="swizzle2"), 4)'),
        ("int K = 3", "int K = 4", 'w[wl.xform(k, 4, tid, name="swizzle3")]'),
        ("?swizzle1(tid,k)", "?sw_part(2, k, tid)", 'wl.part(2, k, tid, name="15:33")'),
        ("?swizzle3(tid,k)", "?swizzle2(tid,k)", 'name="20:27"'),
        ("w[?swizzle3(tid,k)] * tmp", "tmp", "out.add(tmp)"),
        ("out[tid] += w", "if (k < 2 && !(tid == 1) || ?sw_cond(k)) out[tid] += w", "((k < 2) and (not (tid == 1))) or wl.cond("),
        ("to_share[tid] = inp", "to_share[tid] = tid >= 2 ? 1.5f : inp", "(1.5 if (tid >= 2) else inp["),
        ("int tid = 0; tid < warp_size; tid++) {\n            // Choose", "int t = 0; t <= 3; t += 1) { // Choose", "t = tid"),
        (", out[warp_size] = {0};", "; acc out[warp_size] = { create_accumulator(0, identity, +, *) };", 'op="+", inner="*")'),
    ],
)  # fmt: skip
def test_what_it_is_read_as(old: str, new: str, said: str) -> None:
    text = TEXT.replace(old, new)
    if "acc " in new:
        text = text.replace("out[tid] += w[?swizzle3(tid,k)] * tmp;", "accumulate(out[tid], [w[k], tmp], tid < 3);")
        assert "out.add(w[k], tmp, when=(tid < 3))" in python(parse(text))
    if "t = 0" in new:
        first, choose, last = text.partition("Choose")
        text = first + choose + last.replace("tid", "t")
    assert said in python(parse(text))


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("int K = 3;", "whole K = 3;", "4:1", "expected a type"),
        ("int K = 3;", "int K = x;", "4:9", "expected a whole number that is known here"),
        ("to_share[tid] = inp", "to_share[k] = inp", "10:24", "expected each lane to own a column of to_share"),
        ("to_share[tid] = inp", "to_share[tid] = 1; inp[0][k] = inp", "15:32", "expected each lane to write its own column of"),
        ("float tmp = to_share", "float tmp = out", "19:25", "expected out of other lanes to be written in an earlier"),
        ("= to_share[?swizzle2(tid,k)]", "= inp[tid % 2][tid + 1]", "19:25", "expected the same row of inp"),
        ("= to_share[?swizzle2(tid,k)]", "= to_share[0][tid]", "19:25", "expected 1 indices of to_share, got 2"),
        ("?swizzle3(tid,k)", "?sw_other(k)", "20:27", "expected ?sw_other as an index"),
        ("tid = 0; tid < warp_size; tid++) {\n            // Each", "tid = 1; tid < 4; tid++) {\n // Each", "13:9", "from 0"),
        ("= {0};\n    for (int k", "= {2};\n    for (int k", "10:62", "expected {0} or nothing as content of out"),
        ("return out\n", "return w\n", "23:5", "expected the sketch to return a matrix that lanes own columns of"),
        ("== sketch(inp_impl, w)", "== spec(inp_spec, w, 4)", "38:1", "expected one function with `parallel for`, got none"),
        ("sketch(inp_impl, w)", "sketch(inp_impl)", "38:1", "expected 2 arguments of sketch, got 1"),
        ("sketch(inp_impl, w)", "sketch(inp_imp, w)", "38:47", "expected a matrix or number that is declared, got inp_imp"),
        ("assert(spec(inp_spec, w, warp_size) ==", "assert(1 ==", "38:8", "expected a call of a function of the text"),
        ("[w0, w1, w2]", "4", "37:7", "expected symbols for w"),
        ("__register__ float inp[2]", "__register__ float inp[]", "7:44", "expected extents of inp, got empty brackets"),
        ("float inp_impl[2]", "float inp_impl[200000]", "36:7", "expected 1 to 65536 elements of inp_impl"),
        ("            to_share[tid] = inp", "            to_share[tid] = 1.0; out[tid] = inp", "10:48", ""),
        ("float tmp = to_share[?swizzle2(tid,k)];", "float tmp;", "19:19", "expected a value of tmp, got none"),
        ("        // Threads", "        out[0] += 1.0; // Threads", "12:9", "expected out to be written in a parallel loop"),
        ("        // Threads", "        float f = inp[0][0]; // Threads", "12:19", "expected inp to be read in a parallel loop"),
        ("for (int k = 0; k < K; k++) {\n        //", "for (int k = 0; k > K; k++) {\n        //", "11:21", "expected k < or <="),
        ("out[i] += w[k]", "out[i] += ?swizzle(i) * w[k]", "30:23", "expected no hole in a specification"),
        ("float out[n] = {0};", "float out[n] = {1};", "27:11", "expected {0} or nothing as content of out"),
        (
            ", out[warp_size] = {0};",
            "; acc out[warp_size] = { create_accumulator(1, identity, +, *) };",
            "10:68",
            "expected the neutral element of + and identity",
        ),
        ("to_share[warp_size], out", "w[warp_size], out", "10:24", "expected a new name, got w again"),
    ],
)  # fmt: skip
def test_what_is_refused(old: str, new: str, place: str, message: str) -> None:
    assert old in TEXT
    if not message:  # an assignment beside sums: no accumulator, so its content is a register's
        assert "out = wl.register" in python(parse(TEXT.replace(old, new)))
        return
    with pytest.raises(UserError) as raised:
        python(parse(TEXT.replace(old, new), "F"))
    (diagnostic,) = raised.value.diagnostics
    assert message in diagnostic.message and str(diagnostic.span) == f"F:{place}"


SHORT = """int n = 4;
float[n] sketch(__register__ float inp[2][n]) {
  __register__ float out[n] = {0};
  parallel for (int t = 0; t < n; t++) { float a = inp[0][t]; for (int k = 0; k < 2; k++) { out[t] += inp[k][t]; } out[t] += a; }
  return out;
}
float[n] spec(float inp[2][n]) {
  float out[n] = {0};
  for (int i = 0; i < n; i++) { int b = 0; for (int k = 0; k < 2; k++) { out[i] += inp[k][i]; } out[i] += inp[b][i]; }
  return out;
}
float inp[2][n] = symbolic_matrix([2, n]);
assert(spec(inp) == sketch(inp));
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ out[t] += inp[k]", "{ float a = inp[1][t]; out[t] += inp[k]", "expected a new name, got a again"),
        ("{ out[i] += inp[k]", "{ int b = 1; out[i] += inp[k]", "expected a new name, got b again"),
        ("int b = 0;", "int b = 0; for (int b = 0; b < 1; b++) { }", "expected a new name, got b again"),
        ("int b = 0;", "int b = 0; int n = 4;", "expected a new name, got n again"),
        ("int b = 0; for", "for", "NameError"),
        ("int b = 0;", "b = 0;", "expected a variable that is declared, got b"),
        ("float a = inp[0]", "a = inp[0]", "expected a variable that is declared, got a"),
        ("int b = 0;", "if (i < 2) { int b = 0; }", "expected a name of this block, got b of one that has ended"),
        ("inp[k][i]; }", "inp[k][i]; k += 1; }", "expected k to be changed by its loop alone, got an assignment"),
        ("inp[k][i]; }", "inp[k][i]; inp[k][i] = inp[0][i]; }", "expected a specification that leaves its argument inp as it is"),
        ("inp[b][i]", "inp[b - 1][i]", "expected indices of inp from 0 on, got -1"),
    ],
)
def test_names_and_indices_mean_what_they_mean_in_c(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Python's names hold in the whole function, and it counts negative indices from the end: both gave a wrong `proved`."""
    path = tmp_path / "x.matrix"
    path.write_text(SHORT)
    (sketch,) = load(path)
    assert complete(sketch).verdict == "proved"
    assert old in SHORT
    path.write_text(SHORT.replace(old, new))
    with pytest.raises(UserError, match=message):
        load(path)


@pytest.mark.parametrize("called", ["print(1)", "eval(w)", "__import__(w)", "open(w)[0]", "w.sum()"])
def test_a_specification_calls_nothing_of_python(called: str) -> None:
    with pytest.raises(UserError):
        python(parse(TEXT.replace("w[k] * inp[i+k]", called)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "expected a matrix program, as text in UTF-8"),
        (TEXT.replace("inp[i+k]", "inp[i+k+1]").encode(), "IndexError"),
        (b"", "expected assert"),
        (TEXT.replace("float out[n] = {0};", "float out[n];").encode(), "TypeError"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.matrix"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load(path)


NUMBERS = """int n = 4;
float[n] sketch(__register__ float a[n]) {
  __register__ float out[n];
  parallel for (int t = 0; t < n; t++) { out[t] = SKETCH; }
  return out;
}
float[n] spec(float a[n]) {
  float out[n] = {0};
  SPEC
  return out;
}
float x[n] = symbolic_matrix([n]);
assert(spec(x) == sketch(x));
"""


@pytest.mark.parametrize(
    ("spec", "right", "wrong"),
    [
        ("(1.0 / 2) * a[i]", "0.5 * a[t]", "0 * a[t]"),
        ("(1 / 2) * a[i]", "0 * a[t]", "0.5 * a[t]"),
        ("(h / 2) * a[i]", "0.5 * a[t]", "0 * a[t]"),
        ("((0 - 1) / 2) * a[i]", "0 * a[t]", "-1 * a[t]"),
        ("((0 - 1) % 2) * a[i]", "-1 * a[t]", "1 * a[t]"),
        ("(k / 2 + 3) * a[i]", "2 * a[t]", "a[t]"),
        ("(2 && 3) * a[i]", "a[t]", "3 * a[t]"),
        ("(!2 || 3) * a[i]", "a[t]", "3 * a[t]"),
        ("0 * a[i]", "(1 / 2) * a[t]", "(1.0 / 2) * a[t]"),
        ("-1 * a[i]", "((0 - 1) % 2) * a[t]", "((0 - 3) % 2 + 2) * a[t]"),
        ("0 * a[i]", "(m / 2) * a[t]", "(m - 1) / 2 * a[t]"),
    ],
)
def test_numbers_mean_what_they_mean_in_c(tmp_path: Path, spec: str, right: str, wrong: str) -> None:
    """C rounds quotients of whole numbers towards zero and has other quotients of floats; `&&` is 0 or 1. Python's meaning gave
    a wrong `proved` for each."""
    path = tmp_path / "x.matrix"
    text = NUMBERS.replace("SPEC", f"float h = 1; int k = 0 - 3; for (int i = 0; i < n; i++) {{ out[i] = {spec}; }}")
    text = text.replace("int n = 4;", "int n = 4; int m = (0 - 3) / 2;")
    for sketch, verdict in ((right, "proved"), (wrong, "refuted")):
        path.write_text(text.replace("SKETCH", sketch))
        (loaded,) = load(path)
        assert (complete(loaded).verdict == "proved") == (verdict == "proved"), sketch


@pytest.mark.parametrize(
    ("spec", "sketch", "message"),
    [
        ("int h = 2.5;", "a[t]", "expected whole numbers for h, which is declared so, got floats"),
        ("int h = 2; h = a[0];", "a[t]", "expected whole numbers for h, which is declared so, got floats"),
        ("int c[2]; c[0] = 0; float h = c[0];", "a[t]", "expected floats for h, which is declared so, got data of whole"),
        ("out[0] = a[0] % 2;", "a[t]", "expected whole numbers for %, got floats"),
        ("unsigned u = 0; u = u - 1; out[0] = a[u / 2147483648];", "a[t]", "expected int for u, which is no data, got unsigned"),
        ("int m = 4; for (int i = 0; i < m; i++) { m = 2; }", "a[t]", "expected the bounds of a loop to stay as they are"),
        ("int m[1]; for (int i = 0; i < m[0]; i++) { m[0] = 2; }", "a[t]", "expected the bounds of a loop to stay as they are"),
        ("for (int i = 0; i < n; i += 0 - 1) { }", "a[t]", "expected a step of 1 or more, got -1"),
        ("for (int i = 0; i < n; i += 0) { }", "a[t]", "expected a step of 1 or more, got 0"),
        ("for (int i = 0; i < 010; i++) { }", "a[t]", "expected a decimal number, got 010, which C reads as octal"),
        (
            "for (int k = 0; k < 2; k++) { float h = 1; } for (int k = 0; k < 2; k++) { int h = 1; }",
            "a[t]",
            "expected one type of h",
        ),
        ("", "(t / (t - 9)) * a[t]", "expected operands of / that are seen to be 0 or more"),
    ],
)
def test_conversions_and_loops_of_c_that_python_has_not(spec: str, sketch: str, message: str) -> None:
    text = NUMBERS.replace("SPEC", spec).replace("SKETCH", sketch)
    with pytest.raises(UserError, match=message):
        python(parse(text))


@pytest.mark.parametrize(("spec", "sketch"), [("", "a[t] % 2"), ("int v = a[0]; out[0] = v % 4;", "a[t]")])
def test_data_of_whole_numbers_has_no_remainder(spec: str, sketch: str) -> None:
    """`%` of symbols is Python's, which rounds down."""
    text = NUMBERS.replace("float", "int").replace("SPEC", spec).replace("SKETCH", sketch)
    with pytest.raises(UserError, match="expected no % of data, got one"):
        python(parse(text))
