"""Triton's output is proved: reductions across warps, exp, cp.async, shared memory; and planted bugs in it are found."""

import importlib.util
import math

import pytest

from warploom.core import f32, i32, u64
from warploom.ptx import lower, parse
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof, ScalarArgument, prove_launch, run_plain_spec

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs the package triton")
COLUMNS = 12
ROWS = 2


def vector_add(x, y, out, n, first, second):
    for i in range(n):
        out[i] = x[i] + y[i]


def row_sums(x, out, n, first, second):
    for r in range(ROWS):
        out[r] = sum(x[r, i] for i in range(n))


def softmax(x, out, stride, n, first, second):
    for r in range(ROWS):
        most = max(x[r, i] for i in range(n))
        powers = [math.exp(x[r, i] - most) for i in range(n)]
        for i in range(n):
            out[r, i] = powers[i] / sum(powers)


def layer_norm(x, weight, bias, out, n, epsilon, first, second):
    for r in range(ROWS):
        mean = sum(x[r, i] for i in range(n)) / n
        variance = sum((x[r, i] - mean) * (x[r, i] - mean) for i in range(n)) / n
        scale = 1 / math.sqrt(variance + epsilon)
        for i in range(n):
            out[r, i] = (x[r, i] - mean) * scale * weight[i] + bias[i]


def matmul(a, b, c, m, n, k, first, second):
    for i in range(m):
        for j in range(n):
            c[i, j] = sum(a[i, t] * b[t, j] for t in range(k))


def array(name: str, *shape: int) -> ArrayArgument:
    return ArrayArgument(name, f32, shape)


def number(name: str, value: int) -> ScalarArgument:
    return ScalarArgument(name, i32, value)


ROW = (array("x", ROWS, COLUMNS), array("out", ROWS, COLUMNS))
CASES: dict[str, tuple] = {
    "vector_add": (vector_add, (array("x", 300), array("y", 300), array("out", 300), number("n", 300)), (2, 1, 1)),
    "row_sums": (row_sums, (array("x", ROWS, COLUMNS), array("out", ROWS), number("n", COLUMNS)), (ROWS, 1, 1)),
    "small_softmax": (softmax, (*ROW, number("stride", COLUMNS), number("n", COLUMNS)), (ROWS, 1, 1)),
    "layer_norm": (
        layer_norm,
        (
            ROW[0],
            array("weight", COLUMNS),
            array("bias", COLUMNS),
            ROW[1],
            number("n", COLUMNS),
            ScalarArgument("epsilon", f32, None),
        ),
        (ROWS, 1, 1),
    ),
    "matmul_f32": (
        matmul,
        (array("a", 3, 20), array("b", 20, 2), array("c", 3, 2), number("m", 3), number("n", 2), number("k", 20)),
        (1, 1, 1),
    ),
}


def proof(name: str, capability: int, old: str = "", new: str = "") -> CompiledProof:
    from tests.ptx.corpus import triton_kernels

    text = triton_kernels.ptx_of(name, capability)
    assert old in text
    spec, given, grid = CASES[name]
    arguments: tuple[Argument, ...] = (*given, ScalarArgument("first", u64, 0), ScalarArgument("second", u64, 0))
    shared = triton_kernels.dynamic_shared_bytes(name, capability)
    block = (triton_kernels.block_threads(name, capability), 1, 1)
    program = lower(parse(text.replace(old, new, 1) if old else text, f"{name}.ptx"))
    return prove_launch(program, None, arguments, grid, block, run_plain_spec(spec, arguments), dynamic_shared_bytes=shared)


def test_row_sums_and_softmax() -> None:
    assert proof("row_sums", 90).verdict == "proved"
    found = proof("small_softmax", 75)
    assert found.verdict == "proved"
    assert {"exp(x) as ex2(x * 0f3FB8AA3B)", "ex2.approx taken as exact"} <= set(found.domain.split(", "))


def test_planted_bugs() -> None:
    assert proof("row_sums", 90, "bar.sync", "// bar.sync").verdict == "refuted"
    assert proof("row_sums", 90, ", 16, 31, -1;", ", 8, 31, -1;").verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("capability", [75, 80, 90])
@pytest.mark.parametrize("name", list(CASES))
def test_everything(name: str, capability: int) -> None:
    assert proof(name, capability).verdict == "proved"
