"""Hard parts of the printer, each nest against the interpreter: edges, gathers, swizzles, indexed registers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedule.cpu.test_nests import nests
from tests.schedule.cuda.nests import xor_of_bits
from tests.schedule.nest.interpreter import interpret

from warploom.core import DType, UnsupportedError, UserError, e4m3, f64, i32, to_numpy
from warploom.schedule.backbone import Constant, Operator, Parameter, Role
from warploom.schedule.cpu import c_source, compile_nest, find_compiler
from warploom.schedule.nest import Builder, Kind, Load, Memory, Nest, Store

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LOOP, UNROLL, VECTOR, BLOCK = Kind.LOOP, Kind.UNROLL, Kind.VECTOR, Kind.BLOCK


def check(nest: Nest, *, parameters: dict[str, float] | None = None, tolerance: float = 2e-6, spread: float = 8.0) -> str:
    """The C text, once its results are those of the interpreter with one thread and with three."""
    compiled = compile_nest(nest)
    rng = np.random.default_rng(5)
    for threads in (1, 3):
        arrays = [(rng.uniform(-spread, spread, b.elements) + (spread < 1)).astype(to_numpy(b.dtype)) for b in compiled.buffers]
        expected = interpret(nest, {b.name: a.copy() for b, a in zip(compiled.buffers, arrays, strict=True)}, parameters)
        compiled.run(arrays, parameters, threads)
        for buffer, array in zip(compiled.buffers, arrays, strict=True):
            if buffer.role is Role.OUTPUT:
                np.testing.assert_allclose(array, expected[buffer.name], rtol=tolerance, atol=tolerance)
    return c_source(nest).text


@pytest.mark.parametrize(
    "kinds", [(LOOP, LOOP), (LOOP, UNROLL), (BLOCK, LOOP), (LOOP, VECTOR), (BLOCK, VECTOR), (UNROLL, VECTOR)]
)
@pytest.mark.parametrize("direction", [1, -1, 2, -3])
@pytest.mark.parametrize("fill", [0.0, -2.5])
def test_reads_outside_on_both_sides(kinds: tuple[Kind, Kind], direction: int, fill: float) -> None:
    """B[i] = A[direction * i + start] + A[same + 2], the first loop over tiles of 4, with a rest."""
    b = Builder("shifted")
    size, tiles, start = 19, 6, -4 if direction > 0 else 25
    source, target = b.buffer("A", size), b.buffer("B", 4 * tiles, Role.OUTPUT)
    axes = {"vector": 4} if kinds[1] is VECTOR else {}
    left, right, total = (b.value(n, *([4] if kinds[1] is UNROLL else []), **axes) for n in ("l", "r", "t"))
    with b.loop("t", kinds[0], tiles) as t, b.loop("i", kinds[1], 4) as i:
        place = (t * 4 + i) * direction + start
        at = (i,) if kinds[1] in (VECTOR, UNROLL) else ()
        b.load(b.ref(left, *at), source, place, (place, size), fill=fill)
        b.load(b.ref(right, *at), source, place + 2, (place + 2, size), fill=fill)
        b.compute(b.ref(total, *at), Operator.ADD, b.ref(left, *at), b.ref(right, *at))
        b.store(target, t * 4 + i, b.ref(total, *at))
    check(b.nest())


def test_two_dimensional_border_is_split_off_the_loop() -> None:
    """A 3x3 box with padding: the inside of each row runs without a test."""
    b = Builder("box")
    h, w = 6, 37
    source, target = b.buffer("A", h * w), b.buffer("B", h * w, Role.OUTPUT)
    item, total = b.value("item", 3, 3, vector=8), b.value("total", vector=8)
    with b.loop("y", BLOCK, h) as y, b.loop("x", LOOP, 5) as x:
        with b.loop("v", VECTOR, 8) as v:
            b.compute(b.ref(total, v), Operator.MOVE, Constant(0.0))
        with b.loop("p", UNROLL, 3) as p, b.loop("q", UNROLL, 3) as q, b.loop("v", VECTOR, 8) as v:
            row, column = y + p + (-1), x * 8 + v + q + (-1)
            b.load(b.ref(item, p, q, v), source, row * w + column, (row, h), (column, w))
            b.compute(b.ref(total, v), Operator.ADD, b.ref(total, v), b.ref(item, p, q, v))
        with b.loop("v", VECTOR, 8) as v:
            column = x * 8 + v
            b.store(target, y * w + column, b.ref(total, v), (column, w))
    text = check(b.nest())
    fast = text.split("for (Index x = x_from; x < x_to; ++x) {")[1].split("for (")[0]
    assert "?" not in fast and "load_part" not in fast and "load_f32x8" in fast


def test_gather_broadcast_scatter_and_swizzle() -> None:
    b = Builder("around")
    source, target = b.buffer("A", 64), b.buffer("B", 128, Role.OUTPUT)
    tile = b.scratch("tile", 64)
    x, y, z = b.value("x", vector=4), b.value("y", vector=4), b.value("z", vector=4)
    with b.loop("i", LOOP, 16) as i, b.loop("v", VECTOR, 4) as v:
        b.load(b.ref(x, v), source, i + v * 16)
        place = b.memory(tile, i * 4 + v)
        b.add(Store(Memory(place.buffer, place.offset, swizzle=xor_of_bits(2, 1, 2)), b.ref(x, v)))
    with b.loop("i", LOOP, 16) as i:
        with b.loop("v", VECTOR, 4) as v:
            place = b.memory(tile, i * 4 + v)
            b.add(Load(b.ref(y, v), Memory(place.buffer, place.offset, swizzle=xor_of_bits(2, 1, 2))))
            b.load(b.ref(z, v), source, i)
        with b.loop("v", VECTOR, 4) as v:
            b.store(target, i * 8 + v * 2, b.ref(y, v))
            b.store(target, i * 8 + v * 2 + 1, b.ref(z, v))
    text = check(b.nest())
    assert "gather_f32x4" in text and "splat_f32x4" in text


def test_registers_indexed_by_a_running_loop_are_an_array() -> None:
    b = Builder("kept")
    source, target = b.buffer("A", 24), b.buffer("B", 24, Role.OUTPUT)
    x = b.value("x", 3, vector=8)
    with b.loop("i", LOOP, 3) as i, b.loop("v", VECTOR, 8) as v:
        b.load(b.ref(x, i, v), source, i * 8 + v)
    with b.loop("i", LOOP, 3) as i, b.loop("v", VECTOR, 8) as v:
        b.store(target, i * 8 + v, b.ref(x, i, v))
    assert "f32x8 x[3];" in check(b.nest())


def test_vectors_and_scalars_of_the_same_value_mix() -> None:
    """Made by a vector loop, used by an unrolled one; made by an unrolled one, used by a vector one."""
    b = Builder("mixed")
    source, target = b.buffer("A", 8), b.buffer("B", 16, Role.OUTPUT)
    x, y, z = b.value("x", vector=8), b.value("y", 8), b.value("z", vector=8)
    with b.loop("v", VECTOR, 8) as v:
        b.load(b.ref(x, v), source, v)
    with b.loop("u", UNROLL, 8) as u:
        b.compute(b.ref(y, u), Operator.MUL, b.ref(x, u), Constant(3.0))
    with b.loop("u", UNROLL, 8) as u:
        b.store(target, u * 2, b.ref(y, u))
    with b.loop("v", VECTOR, 8) as v:
        b.compute(b.ref(z, v), Operator.SUB, b.ref(y, v), b.ref(x, v))
    with b.loop("v", VECTOR, 8) as v:
        b.compute(b.ref(y, v), Operator.NEG, b.ref(z, v))
    with b.loop("v", VECTOR, 8) as v:
        b.store(target, v * 2 + 1, b.ref(y, v))
    check(b.nest())


@pytest.mark.parametrize("operator", [Operator.ADD, Operator.MUL, Operator.MAX, Operator.MIN])
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_totals_of_partial_results(operator: Operator, lanes: int) -> None:
    b = Builder("total")
    source, target = b.buffer("A", 3 * lanes * 5), b.buffer("B", 1 + lanes, Role.OUTPUT)
    x, whole, column = b.value("x", 5, 3, vector=lanes), b.value("whole"), b.value("column", vector=lanes)
    with b.loop("i", UNROLL, 5) as i, b.loop("j", UNROLL, 3) as j, b.loop("v", VECTOR, lanes) as v:
        b.load(b.ref(x, i, j, v), source, (i * 3 + j) * lanes + v)
    b.combine(b.ref(whole), operator, b.ref(x, 0, 0, 0), 0, 1, 2)
    b.store(target, 0, b.ref(whole))
    with b.loop("v", VECTOR, lanes) as v:
        b.combine(b.ref(column, v), operator, b.ref(x, 0, 2, v), 0)
    with b.loop("v", VECTOR, lanes) as v:
        b.store(target, v + 1, b.ref(column, v))
    check(b.nest(), tolerance=1e-5, spread=0.2 if operator is Operator.MUL else 8.0)


@pytest.mark.parametrize("dtype", [f64, i32])
def test_other_types(dtype: DType) -> None:
    b = Builder("typed")
    b.parameters.append(Parameter("scale", dtype))
    source, target = b.buffer("A", 24, dtype=dtype), b.buffer("B", 24, Role.OUTPUT, dtype)
    x, y = b.value("x", vector=4, dtype=dtype), b.value("y", vector=4, dtype=dtype)
    with b.loop("i", BLOCK, 6) as i, b.loop("v", VECTOR, 4) as v:
        b.load(b.ref(x, v), source, i * 4 + v)
        b.compute(b.ref(y, v), Operator.FMA, b.ref(x, v), Parameter("scale", dtype), Constant(2.0))
        b.compute(b.ref(x, v), Operator.MAX, b.ref(y, v), Constant(1.0))
        b.store(target, i * 4 + v, b.ref(x, v))
    check(b.nest(), parameters={"scale": 3.0}, tolerance=1e-12)


def test_casts() -> None:
    b = Builder("cast")
    source, target = b.buffer("A", 16), b.buffer("B", 16, Role.OUTPUT, f64)
    x, y, z = b.value("x", vector=8), b.value("y", vector=8, dtype=f64), b.value("z", vector=8, dtype=f64)
    with b.loop("i", LOOP, 2) as i, b.loop("v", VECTOR, 8) as v:
        b.load(b.ref(x, v), source, i * 8 + v)
        b.compute(b.ref(y, v), Operator.CAST, b.ref(x, v))
        b.compute(b.ref(z, v), Operator.DIV, b.ref(y, v), Constant(3.0))
        b.store(target, i * 8 + v, b.ref(z, v))
    check(b.nest())


@pytest.mark.parametrize("size", [3, 6])
def test_vector_loops_of_odd_sizes_are_written_out(size: int) -> None:
    b = Builder("odd")
    source, target = b.buffer("A", size), b.buffer("B", size, Role.OUTPUT)
    x, y = b.value("x", vector=size), b.value("y", vector=size)
    with b.loop("v", VECTOR, size) as v:
        b.load(b.ref(x, v), source, v)
    with b.loop("v", VECTOR, size) as v:
        b.compute(b.ref(y, v), Operator.EXP, b.ref(x, v))
    with b.loop("v", VECTOR, size) as v:
        b.store(target, v, b.ref(y, v))
    check(b.nest())


def test_a_reduction_over_lanes_without_lanes_of_its_own_is_a_chain() -> None:
    b = Builder("chain")
    source, target = b.buffer("A", 8), b.buffer("B", 1, Role.OUTPUT)
    x, total = b.value("x", vector=8), b.value("total")
    b.compute(b.ref(total), Operator.MOVE, Constant(0.0))
    with b.loop("v", VECTOR, 8) as v:
        b.load(b.ref(x, v), source, v)
    with b.loop("v", VECTOR, 8) as v:
        b.compute(b.ref(total), Operator.ADD, b.ref(total), b.ref(x, v))
    b.store(target, 0, b.ref(total))
    check(b.nest())


@pytest.mark.parametrize("lane_kind", [VECTOR, UNROLL, LOOP])
@pytest.mark.parametrize("stride", [1, 2])
def test_guarded_reductions_keep_their_totals(lane_kind: Kind, stride: int) -> None:
    """Totals of exp(x[4 * t + i]), per i, over tiles of 4 with a rest; exp of the fill is no neutral element."""
    b = Builder("rest")
    size = 10
    source, target = b.buffer("A", size), b.buffer("B", 4, Role.OUTPUT)
    is_vector = lane_kind is VECTOR
    x, power, total = (b.value(n, *([] if is_vector else [4]), vector=4 if is_vector else 0) for n in ("x", "power", "total"))
    with b.loop("i", lane_kind, 4) as i:
        b.compute(b.ref(total, i), Operator.MOVE, Constant(1.0))
    with b.loop("t", LOOP, 3) as t, b.loop("i", lane_kind, 4) as i:
        place = t * 4 + i
        b.load(b.ref(x, i), source, place, (place, size))
        b.compute(b.ref(power, i), Operator.EXP, b.ref(x, i))
        b.compute(b.ref(total, i), Operator.ADD, b.ref(total, i), b.ref(power, i), guards=((place * stride, size * stride - 1),))
    with b.loop("i", lane_kind, 4) as i:
        b.store(target, i, b.ref(total, i))
    check(b.nest(), tolerance=1e-5)


def test_a_load_stays_behind_the_store_that_it_reads() -> None:
    """x = A[i]; A[i + 1] = x; y = A[i + 1]; A[i + 1] = y + 1."""
    b = Builder("order")
    target = b.buffer("A", 9, Role.OUTPUT)
    x, y, z = b.value("x"), b.value("y"), b.value("z")
    with b.loop("i", LOOP, 8) as i:
        b.load(b.ref(x), target, i)
        b.store(target, i + 1, Constant(5.0))
        b.load(b.ref(y), target, i + 1)
        b.store(target, i + 1, b.ref(x))
        b.compute(b.ref(z), Operator.ADD, b.ref(x), b.ref(y))
        b.store(target, i + 1, b.ref(z))
    check(b.nest())


def test_names_of_the_user_do_not_meet_those_of_c() -> None:
    b = Builder("*/ float")
    source, target = b.buffer("int", 4), b.buffer("exp", 4, Role.OUTPUT)
    x, y, z = b.value("for", 2), b.value("for_1"), b.value("é x")
    with b.loop("begin", LOOP, 4) as i:
        b.load(b.ref(x, 1), source, i)
        b.compute(b.ref(y), Operator.EXP, b.ref(x, 1))
        b.compute(b.ref(z), Operator.ADD, b.ref(x, 1), b.ref(y))
        b.store(target, i, b.ref(z))
    check(b.nest())


def test_prefetches_for_a_loop_with_stages() -> None:
    nest = nests.transposed_matvec(16, 64, 2, 16, 1, 3)
    assert check(nest, tolerance=2e-5).count("__builtin_prefetch(A + m0*64 + n0*32 + 128)") == 1


def test_a_loop_around_others_prefetches_where_lines_change() -> None:
    """Loop i runs 4 iterations ahead. Rows of A lie along j: a hint for each in the loop over j, none in that over k, along a
    line; neighbours that are written out share one. B moves along j only and C along k only, so that nothing of them is new."""
    b = Builder("rows")
    rows, column, few = b.buffer("A", 8 * 3 * 64), b.buffer("B", 3 * 16), b.buffer("C", 4)
    target = b.buffer("D", 8, Role.OUTPUT)
    x, y, z, total = b.value("x", 2), b.value("y"), b.value("z"), b.value("total")
    with b.loop("i", LOOP, 8, stages=5) as i:
        b.compute(b.ref(total), Operator.MOVE, Constant(0.0))
        with b.loop("j", LOOP, 3) as j, b.loop("k", LOOP, 4) as k:
            b.load(b.ref(y), column, j * 16)
            b.load(b.ref(z), few, k)
            b.compute(b.ref(total), Operator.FMA, b.ref(y), b.ref(z), b.ref(total))
            with b.loop("u", Kind.UNROLL, 2) as u:
                b.load(b.ref(x, u), rows, i * 8 + j * 64 + k * 2 + u)
                b.compute(b.ref(total), Operator.ADD, b.ref(total), b.ref(x, u))
        b.store(target, i, b.ref(total))
    text = check(b.nest(), tolerance=2e-5)
    assert text.count("__builtin_prefetch") == 1
    assert "__builtin_prefetch(A + i*8 + j*64 + 32)" in text


def test_refusals() -> None:
    b = Builder("threads")
    with b.loop("t", Kind.THREAD, 4):
        pass
    with pytest.raises(UnsupportedError, match="expected block loops only on the CPU, got a thread loop"):
        c_source(b.nest())
    b = Builder("type")
    source, target = b.buffer("A", 1), b.buffer("B", 1, Role.OUTPUT)
    x = b.value("x", dtype=e4m3)
    b.load(b.ref(x), source, 0)
    b.store(target, 0, b.ref(x))
    with pytest.raises(UnsupportedError, match="got e4m3"):
        c_source(b.nest())


def test_arrays_are_checked() -> None:
    kernel = compile_nest(nests.axpy(64, 16, 1, 64))
    x = np.zeros(64, np.float32)
    with pytest.raises(UserError, match="expected a value of alpha"):
        kernel.run([x, x.copy()])
    with pytest.raises(UserError, match="expected 2 arrays, got 1"):
        kernel.run([x], {"alpha": 1.0})
    with pytest.raises(UserError, match="expected x of type float32, got float64"):
        kernel.run([x.astype(np.float64), x], {"alpha": 1.0})
    with pytest.raises(UserError, match="expected y to share no memory"):
        kernel.run([x, x[:]], {"alpha": 1.0})
    with pytest.raises(UserError, match="got 64 with strides"):
        kernel.run([np.zeros(128, np.float32)[::2], x], {"alpha": 1.0})


def test_macros_functions_and_signs_do_not_collide() -> None:
    """Compilers define `linux` as 1; two signs are no decrement; a number that lies between two floats is rounded once."""
    b = Builder("signs")
    source, target = b.buffer("linux", 8), b.buffer("expf", 8, Role.OUTPUT)
    one, two, three, four = (b.value(name) for name in ("friend", "fabs", "signed", "INFINITY"))
    with b.loop("unix", LOOP, 8) as i:
        b.load(b.ref(one), source, i)
        b.compute(b.ref(two), Operator.NEG, Constant(-1.0))
        b.compute(b.ref(three), Operator.EXP, b.ref(one))
        b.compute(b.ref(four), Operator.FMA, b.ref(three), b.ref(two), Constant(1 + 2.0**-24))
        b.store(target, i, b.ref(four))
    text = check(b.nest())
    assert "= -(-1.0f);" in text and ", 1.0f);" in text
