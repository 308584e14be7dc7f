"""The maximum or minimum with a NaN is NaN, in whatever order and by whatever means it is taken."""

from __future__ import annotations

import ctypes
import itertools
import math
import platform
import random
import re
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.nest.interpreter import interpret
from tests.schedule.nest.interpreter.arithmetic import computed

import warploom as wl
from warploom import f32
from warploom.core import BY_NAME, DType, to_numpy
from warploom.core.compiler import build_library
from warploom.ctext import Text, binary
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import FUNCTIONS, Backbone, Constant, Operator, Role, evaluate
from warploom.schedule.backbone.evaluate import compute
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import c_source, c_type, compile_nest, find_compiler
from warploom.schedule.cpu.helpers import Helpers
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.cuda import interpret as interpret_cuda
from warploom.schedule.cuda.helpers import helper_texts
from warploom.schedule.cuda.scalars import operation
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.frontend.arithmetic import evaluate_number
from warploom.schedule.nest import Builder, Kind, Nest
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


WIDTHS = [(1, "f32"), (4, "f32"), (8, "f32"), (16, "f32"), (32, "f32"), (2, "f64"), (4, "f64"), (8, "f64"), (4, "i32")]
INTRINSIC = re.compile(r"(_mm\d*)_(?=cmp_p[sd]_mask|mask_m|max_|min_|set1_|fixupimm_)")
EMULATION = Path(__file__).with_name("avx512_emulation.h").read_text(encoding="utf-8")


def functions_of(helpers: Helpers, kind: DType, lanes: int) -> list[tuple[str, Operator, int]]:
    """The printed functions of this width: the name, the operator, and the number of arguments; 1: the first is never NaN."""
    found: list[tuple[str, Operator, int]] = []
    for operator in (Operator.MAX, Operator.MIN):
        found += [
            (helpers.extreme(operator, kind, lanes), operator, 2),
            (helpers.extreme_or_second(operator, kind, lanes), operator, 1),
        ]
        found.append((helpers.extreme(operator, kind, lanes, is_total=True), operator, 2))
        if lanes > 1 and kind.is_float:
            found.append((helpers.extreme_of_three(operator, kind, lanes), operator, 3))
    return found


@pytest.mark.parametrize(("lanes", "dtype"), WIDTHS)
@pytest.mark.parametrize("is_emulated", [False, True], ids=["here", "emulated AVX-512"])
@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_each_width_of_the_printed_functions(lanes: int, dtype: str, is_emulated: bool, tmp_path: Path) -> None:
    """NaN first, last, in between, in several, of both signs, beside infinities."""
    if is_emulated and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs the headers of an x86 compiler")
    helpers, kind = Helpers(), BY_NAME[dtype]
    functions = functions_of(helpers, kind, lanes)
    scalar, vector = c_type(kind), c_type(kind) if lanes == 1 else f"{helpers.vector(kind, lanes)}_any"
    read = [f"*({vector} *){name}" for name in "abc"]
    calls = "".join(
        f"*({vector} *)(to + {n * lanes}) = {name}({', '.join(read[: max(2, count)])});\n"
        for n, (name, _, count) in enumerate(functions)
    )
    text = f"{helpers.text()}\nvoid all({''.join(f'const {scalar} *{name}, ' for name in 'abc')}{scalar} *to) {{\n{calls}}}"
    if is_emulated:
        text = EMULATION + INTRINSIC.sub(r"\1_emulated_", text)
    library = ctypes.CDLL(str(build_library(text, folder=tmp_path)))
    values = [1.0, -2.0] if dtype == "i32" else [1.0, -2.0, np.nan, -np.nan, np.inf, -np.inf]
    triples = np.array(list(itertools.product(values, repeat=3)), to_numpy(kind))
    numbers = triples[~np.isnan(triples[:, 0])]
    for rows, counts in ((triples, (2, 3)), (numbers, (1,))):
        for start in range(0, len(rows), lanes):
            a, b, c = np.ascontiguousarray(np.take(rows, range(start, start + lanes), axis=0, mode="wrap").T)
            found = np.zeros((len(functions), lanes), to_numpy(kind))
            library.all(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c, found)))
            for row, (_, operator, count) in zip(found, functions, strict=True):
                if count in counts:
                    join = np.maximum if operator is Operator.MAX else np.minimum
                    np.testing.assert_array_equal(row, join(join(a, b), c) if count == 3 else join(a, b))
    if is_emulated and kind.is_float and lanes > 1 and (lanes, dtype) != (32, "f32"):
        assert ctypes.c_int.in_dll(library, "emulated_masks").value and ctypes.c_int.in_dll(library, "emulated_repairs").value


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
    assert "max.NaN.f32" in helper_texts(["max_or_nan_f32"])[0] and "min.NaN.f32" in helper_texts(["min_or_nan_f32"])[0]
    assert operation(Operator.MIN, BY_NAME["i32"], [a, b]).text == "min(a, b)"


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
def test_cuda_on_the_interpreter() -> None:
    space = kernel_space(stage_of(peaks), TARGETS["sm_90"])
    candidate = next(c for seed in range(8) if (c := descend(space, random.Random(seed))) is not None)
    kernel = cuda_kernel(space.lower(candidate), Options(arch="sm_90"))
    assert "max.NaN.f32" in kernel.text
    np.testing.assert_array_equal(interpret_cuda(kernel, arrays()).arrays["C"], expected(peaks))
    older = cuda_kernel(space.lower(candidate), Options(arch="sm_75"))
    assert ".NaN" not in older.text and "a > b || a != a" in older.text
    np.testing.assert_array_equal(interpret_cuda(older, arrays()).arrays["C"], expected(peaks))


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_a_function_of_nan_is_nan(operator: Operator) -> None:
    """For both oracles, which otherwise compute what Python's function does."""
    assert math.isnan(computed(operator, [math.nan])) and np.isnan(compute(operator, [np.array([np.nan])], f32)).all()
    for x in (0.25, 1.0, 1.75):
        assert computed(operator, [x]) == pytest.approx(getattr(math, operator.value)(x))
    assert math.isnan(computed(Operator.SIN, [math.inf])) and math.isnan(computed(Operator.COS, [-math.inf]))


def chain(count: int, *, is_one_register: bool, second: Operator, tail: int = 8, reads: bool = False) -> Nest:
    """B[v] = the greatest of A[u, v] over u; the last one by operator `second`, and `tail` lanes of it. reads: C gets each
    total."""
    b = Builder("chain")
    source, target = b.buffer("A", count * 8), b.buffer("B", 8, Role.OUTPUT)
    seen = b.buffer("C", count * 8, Role.OUTPUT) if reads else None
    item, total = b.value("x", *([] if is_one_register else [count]), vector=8), b.value("top", vector=8)
    with b.loop("one", Kind.BLOCK, 1):
        with b.loop("v", Kind.VECTOR, 8) as v:
            b.compute(b.ref(total, v), Operator.MOVE, Constant(0.25))
        for u in range(count):
            at = [] if is_one_register else [u]
            with b.loop("v", Kind.VECTOR, 8) as v:
                b.load(b.ref(item, *at, v), source, v + 8 * u)
            is_last = u == count - 1
            with b.loop("v", Kind.VECTOR, 8) as v:
                guards = ((v, tail),) if is_last and tail < 8 else ()
                operator = second if is_last else Operator.MAX
                b.compute(b.ref(total, v), operator, b.ref(total, v), b.ref(item, *at, v), guards=guards)
            if seen is not None:
                with b.loop("v", Kind.VECTOR, 8) as v:
                    b.store(seen, v + 8 * u, b.ref(total, v))
        with b.loop("v", Kind.VECTOR, 8) as v:
            b.store(target, v, b.ref(total, v))
    return b.nest()


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("is_one_register", [False, True])
@pytest.mark.parametrize(("second", "tail"), [(Operator.MAX, 8), (Operator.MIN, 8), (Operator.MAX, 5)])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_totals_take_two_at_once(count: int, second: Operator, tail: int, is_one_register: bool) -> None:
    nest = chain(count, is_one_register=is_one_register, second=second, tail=tail)
    text = c_source(nest).text
    if tail == 8:
        pairs = (count if second is Operator.MAX else count - 1) // 2
        assert text.count("top = max_of_three_f32x8(") == (0 if is_one_register else pairs)
    given = np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)
    for row in range(count):
        array = given.copy()
        array[row, [1, 6]] = np.nan, -np.nan
        wanted = interpret(nest, {"A": array.copy(), "B": np.zeros(8, np.float32)}, {})["B"]
        found = np.zeros(8, np.float32)
        compile_nest(nest).run([array, found], {})
        np.testing.assert_array_equal(found, wanted)
        assert np.isnan(found[1]) and np.isnan(found[6]) == (tail == 8 or row < count - 1)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_totals_that_are_read_between_are_up_to_date() -> None:
    nest = chain(4, is_one_register=False, second=Operator.MAX, reads=True)
    assert "max_of_three" not in c_source(nest).text
    given, found, seen = (
        np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32),
        np.zeros(8, np.float32),
        np.zeros((4, 8), np.float32),
    )
    compile_nest(nest).run([given, found, seen], {})
    np.testing.assert_array_equal(seen, np.maximum(np.maximum.accumulate(given), np.float32(0.25)))
    np.testing.assert_array_equal(found, seen[-1])
