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
    (sketch,) = load(LISTINGS / "transpose.matrix", "transpose")
    assert complete(sketch).verdict == "proved"


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
        text = text.replace("out[tid] +=", "out[t] +=")
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
