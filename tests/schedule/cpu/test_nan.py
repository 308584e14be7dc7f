"""The maximum or minimum with a NaN is NaN, in whatever order and by whatever means it is taken."""

from __future__ import annotations

import ctypes
import math
import random
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.nest.interpreter import interpret
from tests.schedule.nest.interpreter.arithmetic import computed

import warploom as wl
from warploom import f32
from warploom.core import BY_NAME, to_numpy
from warploom.core.compiler import build_library
from warploom.ctext import Text, binary
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import FUNCTIONS, Backbone, Operator, evaluate
from warploom.schedule.backbone.evaluate import compute
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import c_type, compile_nest, find_compiler
from warploom.schedule.cpu.helpers import Helpers
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.cuda import interpret as interpret_cuda
from warploom.schedule.cuda.helpers import helper_texts
from warploom.schedule.cuda.scalars import operation
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.frontend.arithmetic import evaluate_number
from warploom.schedule.targets import TARGETS

ROWS, COLUMNS = 16, 24


@wl.tensor
def peaks(A: f32[m, k], B: f32[m], C: wl.out[f32[m]]):  # noqa: F821
    C[m] = max(max(A[m, k], over=k), B[m])  # noqa: F821


@wl.tensor
def lows(A: f32[m, k], B: f32[m], C: wl.out[f32[m]]):  # noqa: F821
    C[m] = min(min(A[m, k], over=k), B[m])  # noqa: F821


def arrays() -> dict[str, np.ndarray]:
    """A NaN first, last, in between, in the second operand, in both, infinities beside it."""
    numbers = np.random.default_rng(1)
    a, b = numbers.standard_normal((ROWS, COLUMNS)).astype(np.float32), numbers.standard_normal(ROWS).astype(np.float32)
    for row, column in ((1, 0), (2, COLUMNS - 1), (3, 7), (4, 8), (5, 16), (7, 3)):
        a[row, column] = np.nan
    b[6] = b[7] = np.nan
    a[3, 8], a[4, 7], a[8, 1], a[9, 2] = np.inf, -np.inf, np.inf, -np.inf
    return {"A": a, "B": b, "C": np.zeros(ROWS, np.float32)}


def expected(function: TensorFunction) -> np.ndarray:
    given = arrays()
    join = np.maximum if function.name == "peaks" else np.minimum
    return join(join.reduce(given["A"], axis=1), given["B"])


def stage_of(function: TensorFunction) -> Backbone:
    tiles = {f"{function.name}.m": ((8,),), f"{function.name}.k": ((8,),)}
    (stage,) = function.program({"m": ROWS, "k": COLUMNS}, tiles).stages
    return stage


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("function", [peaks, lows], ids=lambda f: f.name)
def test_every_schedule_and_every_judge_gives_numpys_answer(function: TensorFunction, tmp_path: Path) -> None:
    stage = stage_of(function)
    space, source = kernel_space(stage, TARGETS["cpu"]), random.Random(4)
    total = next(i.name for i in stage.instructions if i.carry is not None)
    np.testing.assert_array_equal(evaluate(stage, arrays(), {})["C"], expected(function))
    for dim, kind in (("k1", "VECTOR"), ("k1", "UNROLL"), ("k1", "LOOP")):
        start = space.set_by_name(space.root(), f"dim_kind({total}.{dim})", kind)
        candidate = next(c for _ in range(8) if (c := descend(space, source, start)) is not None)
        nest, given = space.lower(candidate), arrays()
        np.testing.assert_array_equal(interpret(nest, given, {})["C"].reshape(-1), expected(function))
        kernel = compile_nest(nest, folder=tmp_path)
        kernel.run([given[b.name] for b in kernel.buffers], {})
        np.testing.assert_array_equal(given["C"], expected(function))


@pytest.mark.parametrize(
    ("lanes", "dtype"), [(1, "f32"), (4, "f32"), (8, "f32"), (16, "f32"), (4, "f64"), (8, "f64"), (4, "i32")]
)
@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_each_width_of_the_printed_function(lanes: int, dtype: str, tmp_path: Path) -> None:
    helpers, kind = Helpers(), BY_NAME[dtype]
    names = [helpers.extreme(operator, kind, lanes) for operator in (Operator.MAX, Operator.MIN)]
    scalar, vector = c_type(kind), c_type(kind) if lanes == 1 else f"{helpers.vector(kind, lanes)}_any"
    calls = "".join(f"*({vector} *)(to + {n * lanes}) = {name}(*({vector} *)a, *({vector} *)b);" for n, name in enumerate(names))
    text = f"{helpers.text()}\nvoid both(const {scalar} *a, const {scalar} *b, {scalar} *to) {{ {calls} }}"
    values = [1.0, -2.0] if dtype == "i32" else [1.0, -2.0, np.nan, np.inf, -np.inf]
    pairs = np.array([(a, b) for a in values for b in values], to_numpy(kind))
    function = ctypes.CDLL(str(build_library(text, folder=tmp_path))).both
    for start in range(len(pairs)):
        a, b = (np.roll(pairs[:, n], -start)[:lanes].copy() for n in range(2))
        a, b = (np.resize(x, lanes) for x in (a, b))
        found = np.zeros(2 * lanes, to_numpy(kind))
        function(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, found)))
        np.testing.assert_array_equal(found[:lanes], np.maximum(a, b))
        np.testing.assert_array_equal(found[lanes:], np.minimum(a, b))


@pytest.mark.parametrize("operator", [Operator.MAX, Operator.MIN])
def test_the_judges_and_folded_constants(operator: Operator) -> None:
    for a, b in ((math.nan, 1.0), (1.0, math.nan)):
        assert math.isnan(computed(operator, (a, b))) and math.isnan(evaluate_number(operator, (a, b)))


def test_cuda_keeps_a_nan() -> None:
    a, b = Text("a"), Text("b")
    f32_text = operation(Operator.MAX, BY_NAME["f32"], [a, binary("+", b, Text("c"))])
    assert f32_text.text == "max_or_nan(a, b + c)"
    assert operation(Operator.MIN, BY_NAME["f64"], [a, b]).text == "min_or_nan(a, b)"
    assert "a > b || a != a" in helper_texts(["max_or_nan"])[0] and "a < b || a != a" in helper_texts(["min_or_nan"])[0]
    assert operation(Operator.MIN, BY_NAME["i32"], [a, b]).text == "min(a, b)"


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
def test_cuda_on_the_interpreter() -> None:
    space = kernel_space(stage_of(peaks), TARGETS["sm_90"])
    candidate = next(c for seed in range(8) if (c := descend(space, random.Random(seed))) is not None)
    outcome = interpret_cuda(cuda_kernel(space.lower(candidate), Options(arch="sm_90")), arrays())
    np.testing.assert_array_equal(outcome.arrays["C"], expected(peaks))


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_a_function_of_nan_is_nan(operator: Operator) -> None:
    """For both oracles, which otherwise compute what Python's function does."""
    assert math.isnan(computed(operator, [math.nan])) and np.isnan(compute(operator, [np.array([np.nan])], f32)).all()
    for x in (0.25, 1.0, 1.75):
        assert computed(operator, [x]) == pytest.approx(getattr(math, operator.value)(x))
    assert math.isnan(computed(Operator.SIN, [math.inf])) and math.isnan(computed(Operator.COS, [-math.inf]))
