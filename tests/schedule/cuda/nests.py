"""Nests written by hand, in the forms that decisions lead to, and what they must compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import BY_NAME, DType
from warploom.core.linear import Linear
from warploom.ir.swizzle import Xor
from warploom.schedule.backbone import Constant, Operator, Parameter, Role
from warploom.schedule.nest import (
    Affine,
    Barrier,
    Buffer,
    Cache,
    Combine,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Register,
    Space,
    Store,
    Swizzle,
    Value,
)

F32 = BY_NAME["f32"]
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    nest: Nest
    arrays: Arrays
    scalars: Mapping[str, float]
    expected: Mapping[str, NDArray[Any]]
    tolerance: float = 1e-5


class Builder:
    def __init__(self, name: str) -> None:
        self.name = name
        self.buffers: list[Buffer] = []
        self.values: list[Value] = []
        self.parameters: list[Parameter] = []
        self.count = 0

    def array(self, name: str, elements: int, role: Role = Role.INPUT, dtype: DType = F32) -> int:
        self.buffers.append(Buffer(name, dtype, elements, role))
        return len(self.buffers) - 1

    def shared(self, name: str, elements: int, copies: int = 1, dtype: DType = F32) -> int:
        self.buffers.append(Buffer(name, dtype, elements, Role.TEMPORARY, Space.SHARED, copies))
        return len(self.buffers) - 1

    def value(self, name: str, *sizes: int, dtype: DType = F32, is_vector: bool = False) -> int:
        last = len(sizes) - 1
        self.values.append(Value(name, dtype, tuple(Register(s, is_vector and n == last) for n, s in enumerate(sizes))))
        return len(self.values) - 1

    def loop(
        self,
        kind: Kind,
        size: int,
        body: Callable[[int], list[Node]],
        name: str = "i",
        hardware: int | None = None,
        stages: int = 1,
    ) -> Loop:
        number = self.count
        self.count += 1
        return Loop(number, name, kind, size, tuple(body(number)), hardware, stages)

    def block(self, size: int, body: Callable[[int], list[Node]], hardware: int = 0, name: str = "block") -> Loop:
        return self.loop(Kind.BLOCK, size, body, name, hardware)

    def threads(self, size: int, body: Callable[[int], list[Node]], hardware: int = 0, name: str = "thread") -> Loop:
        return self.loop(Kind.THREAD, size, body, name, hardware)

    def unroll(self, size: int, body: Callable[[int], list[Node]], name: str = "u") -> Loop:
        return self.loop(Kind.UNROLL, size, body, name)

    def vector(self, size: int, body: Callable[[int], list[Node]], name: str = "v") -> Loop:
        return self.loop(Kind.VECTOR, size, body, name)

    def nest(self, *body: Node) -> Nest:
        return Nest(self.name, tuple(self.buffers), tuple(self.parameters), tuple(self.values), body)


def at(*loops: int) -> tuple[Affine, ...]:
    return tuple(Linear(((n, 1),)) for n in loops)


def index(*terms: tuple[int, int], constant: int = 0) -> Affine:
    return Linear(terms, constant)


def random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def axpy(n: int = 1000, threads: int = 32, lanes: int = 4, cache: Cache = Cache.ALL) -> Case:
    """y += alpha * x by vectors; the last block is cut off by guards."""
    b = Builder("axpy")
    x, y = b.array("x", n), b.array("y", n, Role.OUTPUT)
    vx, vy, out = (b.value(name, lanes, is_vector=True) for name in ("x_v", "y_v", "r"))
    alpha = Parameter("alpha", F32)
    b.parameters.append(alpha)

    def body(block: int) -> list[Node]:
        def thread(t: int) -> list[Node]:
            def place(array: int, v: int) -> Memory:
                i = index((block, threads * lanes), (t, lanes), (v, 1))
                return Memory(array, i, (Guard(i, n),), cache=cache if array == x else Cache.ALL)

            return [
                b.vector(lanes, lambda v: [Load(Ref(vx, at(v)), place(x, v))]),
                b.vector(lanes, lambda v: [Load(Ref(vy, at(v)), place(y, v))]),
                b.vector(lanes, lambda v: [Compute(Ref(out, at(v)), Operator.FMA, (alpha, Ref(vx, at(v)), Ref(vy, at(v))))]),
                b.vector(lanes, lambda v: [Store(place(y, v), Ref(out, at(v)))]),
            ]

        return [b.threads(threads, thread)]

    blocks = -(-n // (threads * lanes))
    arrays = {"x": random(n), "y": random(n, seed=1)}
    nest = b.nest(b.block(blocks, body))
    return Case(nest, arrays, {"alpha": 1.5}, {"y": 1.5 * arrays["x"] + arrays["y"]})


def matmul(
    m: int = 64, n: int = 64, k: int = 32, tile: tuple[int, int, int] = (32, 32, 8), registers: tuple[int, int] = (4, 4),
    *, stages: int = 1, is_async: bool = False, swizzle: Swizzle | None = None, has_vectors: bool = True,
    has_arrays: bool = True,
) -> Case:  # fmt: skip
    """C = A @ B: both operands staged in shared memory, register tiles; A is stored transposed in shared memory."""
    tm, tn, tk = tile
    rm, rn = registers
    ty, tx = tm // rm, tn // rn
    threads = ty * tx
    b = Builder("matmul")
    a_array, b_array, c_array = b.array("A", m * k), b.array("B", k * n), b.array("C", m * n, Role.OUTPUT)
    a_shared, b_shared = b.shared("A_tile", tm * tk, stages), b.shared("B_tile", tk * tn, stages)
    a_copy, b_copy = b.value("a_copy"), b.value("b_copy", *((4,) if has_vectors else ()), is_vector=has_vectors)
    total, left, right = b.value("c", rm, rn), b.value("a", rm), b.value("b", rn)

    def fill_a(my: int, mk: int) -> Node:
        """One element at a time: thread t copies row t % tm, columns t / tm + ..."""
        rows = threads // tk

        def thread_k(t: int) -> list[Node]:
            def thread_m(r: int) -> list[Node]:
                def part(u: int) -> list[Node]:
                    source = index((my, tm * k), (mk, tk), (u, rows * k), (r, k), (t, 1))
                    target = index((t, tm), (u, rows), (r, 1))
                    return [
                        Load(Ref(a_copy, ()), Memory(a_array, source), is_async=is_async),
                        Store(Memory(a_shared, target, swizzle=swizzle), Ref(a_copy, ())),
                    ]

                return [b.unroll(tm // rows, part, "part")]

            return [b.threads(rows, thread_m, 1, "load_m")]

        return b.threads(tk, thread_k, 0, "load_k")

    def fill_b(mx: int, mk: int) -> Node:
        lanes = 4 if has_vectors else 1
        columns = tn // lanes
        rows = threads // columns

        def thread_n(t: int) -> list[Node]:
            def thread_k(r: int) -> list[Node]:
                def part(u: int) -> list[Node]:
                    def place(v: int | None) -> tuple[Affine, Affine]:
                        lane = () if v is None else ((v, 1),)
                        source = index((mk, tk * n), (u, rows * n), (r, n), (mx, tn), (t, lanes), *lane)
                        return source, index((u, rows * tn), (r, tn), (t, lanes), *lane)

                    if not has_vectors:
                        source, target = place(None)
                        return [
                            Load(Ref(b_copy, ()), Memory(b_array, source, cache=Cache.L2), is_async=is_async),
                            Store(Memory(b_shared, target), Ref(b_copy, ())),
                        ]
                    return [
                        b.vector(4, lambda v: [Load(Ref(b_copy, at(v)), Memory(b_array, place(v)[0]), is_async=is_async)]),
                        b.vector(4, lambda v: [Store(Memory(b_shared, place(v)[1]), Ref(b_copy, at(v)))]),
                    ]

                return [b.unroll(tk // rows, part, "part")]

            return [b.threads(rows, thread_k, 1, "load_row")]

        return b.threads(columns, thread_n, 0, "load_n")

    def multiply() -> Node:
        def thread_y(y: int) -> list[Node]:
            def thread_x(x: int) -> list[Node]:
                def inner(kk: int) -> list[Node]:
                    return [
                        b.unroll(
                            rm,
                            lambda i: [
                                Load(Ref(left, at(i)), Memory(a_shared, index((kk, tm), (y, rm), (i, 1)), swizzle=swizzle))
                            ],
                        ),
                        b.vector(rn, lambda j: [Load(Ref(right, at(j)), Memory(b_shared, index((kk, tn), (x, rn), (j, 1))))]),
                        b.unroll(
                            rm,
                            lambda i: [
                                b.unroll(
                                    rn,
                                    lambda j: [
                                        Compute(
                                            Ref(total, at(i, j)),
                                            Operator.FMA,
                                            (Ref(left, at(i)), Ref(right, at(j)), Ref(total, at(i, j))),
                                        )
                                    ],
                                )
                            ],
                        ),
                    ]

                return [b.unroll(tk, inner, "kk")]

            return [b.threads(tx, thread_x, 0, "n1")]

        return b.threads(ty, thread_y, 1, "m1")

    def each(body: Callable[[int, int, int, int], list[Node]]) -> Node:
        def inner(y: int, x: int) -> list[Node]:
            return [b.unroll(rm, lambda i: [b.unroll(rn, lambda j: body(y, x, i, j))])]

        return b.threads(ty, lambda y: [b.threads(tx, lambda x: inner(y, x), 0, "n1")], 1, "m1")

    def block(my: int) -> list[Node]:
        def column(mx: int) -> list[Node]:
            def store(y: int, x: int, i: int, j: int) -> list[Node]:
                place = index((my, tm * n), (y, rm * n), (i, n), (mx, tn), (x, rn), (j, 1))
                return [Store(Memory(c_array, place), Ref(total, at(i, j)))]

            def k_loop(mk: int) -> list[Node]:
                return [fill_a(my, mk), fill_b(mx, mk), Barrier(), multiply(), Barrier()]

            return [
                each(lambda _y, _x, i, j: [Compute(Ref(total, at(i, j)), Operator.MOVE, (Constant(0.0),))]),
                b.loop(Kind.LOOP, k // tk, k_loop, "k", stages=stages),
                each(store),
            ]

        return [b.block(n // tn, column, 0, "n")]

    nest = b.nest(b.block(m // tm, block, 1, "m"))
    if not has_arrays:
        return Case(nest, {}, {}, {})
    arrays = {"A": random(m, k), "B": random(k, n, seed=1), "C": np.zeros((m, n), np.float32)}
    return Case(nest, arrays, {}, {"C": arrays["A"] @ arrays["B"]}, 1e-4)


def row_sum(rows: int = 6, columns: int = 200, threads: int = 64, rows_at_once: int = 2, lanes: int = 2) -> Case:
    """One sum per row: threads and lanes keep parts, combined at the end."""
    b = Builder("row_sum")
    x, y = b.array("x", rows * columns), b.array("y", rows, Role.OUTPUT)
    part, read, total = b.value("part", lanes, is_vector=True), b.value("x_v", lanes, is_vector=True), b.value("total")
    numbers: list[int] = []

    def block(r: int) -> list[Node]:
        def row(q: int) -> list[Node]:
            def zero(t: int) -> list[Node]:
                numbers.append(t)
                return [b.vector(lanes, lambda v: [Compute(Ref(part, at(v)), Operator.MOVE, (Constant(0.0),))])]

            def add(t: int) -> list[Node]:
                def step(s: int) -> list[Node]:
                    def place(v: int) -> Memory:
                        column = index((s, threads * lanes), (t, lanes), (v, 1))
                        offset = index((r, rows_at_once * columns), (q, columns), *column.terms)
                        return Memory(x, offset, (Guard(column, columns),))

                    return [
                        b.vector(lanes, lambda v: [Load(Ref(read, at(v)), place(v))]),
                        b.vector(
                            lanes, lambda v: [Compute(Ref(part, at(v)), Operator.ADD, (Ref(part, at(v)), Ref(read, at(v))))]
                        ),
                    ]

                return [b.loop(Kind.LOOP, -(-columns // (threads * lanes)), step, "step")]

            first, second = b.threads(threads, zero), b.threads(threads, add)
            place = Memory(y, index((r, rows_at_once), (q, 1)))
            return [
                first,
                second,
                Combine(Ref(total, ()), Operator.ADD, Ref(part, (Linear(),)), (0,), (numbers[0],)),
                Store(place, Ref(total, ()), (Guard(index((numbers[0], 1)), 1),)),
            ]

        return [b.threads(rows_at_once, row, 1, "row")]

    nest = b.nest(b.block(rows // rows_at_once, block))
    data = random(rows, columns)
    return Case(nest, {"x": data, "y": np.zeros(rows, np.float32)}, {}, {"y": data.sum(axis=1)}, 1e-4)


def xor_of_bits(count: int, base: int, shift: int) -> Swizzle:
    """e ^ (e >> (base + shift) & 2**count - 1) << base, count <= shift."""
    return Swizzle(Xor(1 << count, 1 << (shift - count)), 1 << base)


DIAGONALS = xor_of_bits(5, 0, 5)


def transpose(n: int = 64, swizzle: Swizzle | None = DIAGONALS, edge: int = 32) -> Case:
    """B = A.T by square tiles, edge x 8 threads; the tile is the last buffer."""
    b = Builder("transpose")
    source, target = b.array("A", n * n), b.array("B", n * n, Role.OUTPUT)
    tile = b.shared("tile", edge * edge)
    first, second = b.value("a"), b.value("b")

    def block(by: int) -> list[Node]:
        def column(bx: int) -> list[Node]:
            def read(y: int, x: int, u: int) -> list[Node]:
                place = index((by, edge * n), (u, 8 * n), (y, n), (bx, edge), (x, 1))
                return [
                    Load(Ref(first, ()), Memory(source, place, cache=Cache.READ_ONLY)),
                    Store(Memory(tile, index((u, 8 * edge), (y, edge), (x, 1)), swizzle=swizzle), Ref(first, ())),
                ]

            def write(y: int, x: int, u: int) -> list[Node]:
                place = index((bx, edge * n), (u, 8 * n), (y, n), (by, edge), (x, 1))
                return [
                    Load(Ref(second, ()), Memory(tile, index((x, edge), (u, 8), (y, 1)), swizzle=swizzle)),
                    Store(Memory(target, place, cache=Cache.NONE), Ref(second, ())),
                ]

            def both(body: Callable[[int, int, int], list[Node]]) -> Node:
                return b.threads(8, lambda y: [b.threads(edge, lambda x: [b.unroll(edge // 8, lambda u: body(y, x, u))])], 1)

            return [both(read), Barrier(), both(write)]

        return [b.block(n // edge, column, 0, "n")]

    nest = b.nest(b.block(n // edge, block, 1, "m"))
    data = random(n, n)
    return Case(nest, {"A": data, "B": np.zeros((n, n), np.float32)}, {}, {"B": data.T}, 0.0)


def stencil(n: int = 100, threads: int = 32, each: int = 2) -> Case:
    """y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3, zero outside; blocks that do not divide the size."""
    b = Builder("stencil")
    x, y = b.array("x", n), b.array("y", n, Role.OUTPUT)
    read, total = b.value("x_v", 3), b.value("s")

    def block(i: int) -> list[Node]:
        def thread(t: int) -> list[Node]:
            def part(u: int) -> list[Node]:
                center = index((i, threads * each), (u, threads), (t, 1))

                def load(w: int) -> list[Node]:
                    place = index(*center.terms, (w, 1), constant=-1)
                    return [Load(Ref(read, at(w)), Memory(x, place, (Guard(place, n), Guard(center, n))))]

                def value(number: int) -> Ref:
                    return Ref(read, (Linear((), number),))

                return [
                    b.unroll(3, load, "w"),
                    Compute(Ref(total, ()), Operator.ADD, (value(0), value(1))),
                    Compute(Ref(total, ()), Operator.ADD, (Ref(total, ()), value(2))),
                    Compute(Ref(total, ()), Operator.DIV, (Ref(total, ()), Constant(3.0))),
                    Store(Memory(y, center, (Guard(center, n),)), Ref(total, ())),
                ]

            return [b.unroll(each, part)]

        return [b.threads(threads, thread)]

    nest = b.nest(b.block(-(-n // (threads * each)), block))
    data = random(n)
    padded = np.pad(data, 1)
    expected = (padded[:-2] + padded[1:-1] + padded[2:]) / np.float32(3)
    return Case(nest, {"x": data, "y": np.zeros(n, np.float32)}, {}, {"y": expected})


def softmax(rows: int = 3, columns: int = 96, threads: int = 48) -> Case:
    """A row per block: maximum and sum over threads (no power of two), the row kept in registers."""
    b = Builder("softmax")
    x, y = b.array("x", rows * columns), b.array("y", rows * columns, Role.OUTPUT)
    each = columns // threads
    row, power = b.value("row", each), b.value("power", each)
    high, highest, part, total = b.value("high"), b.value("highest"), b.value("part"), b.value("total")
    out = b.value("out")
    numbers: list[int] = []

    def block(r: int) -> list[Node]:
        def place(array: int, t: int, u: int) -> Memory:
            return Memory(array, index((r, columns), (u, threads), (t, 1)))

        def highs(t: int) -> list[Node]:
            numbers.append(t)
            return [
                Compute(Ref(high, ()), Operator.MOVE, (Constant(float("-inf")),)),
                b.unroll(each, lambda u: [Load(Ref(row, at(u)), place(x, t, u))]),
                b.unroll(each, lambda u: [Compute(Ref(high, ()), Operator.MAX, (Ref(high, ()), Ref(row, at(u))))]),
            ]

        def powers(t: int) -> list[Node]:
            numbers.append(t)

            def one(u: int) -> list[Node]:
                return [
                    Compute(Ref(power, at(u)), Operator.SUB, (Ref(row, at(u)), Ref(highest, ()))),
                    Compute(Ref(power, at(u)), Operator.EXP, (Ref(power, at(u)),)),
                    Compute(Ref(part, ()), Operator.ADD, (Ref(part, ()), Ref(power, at(u)))),
                ]

            return [Compute(Ref(part, ()), Operator.MOVE, (Constant(0.0),)), b.unroll(each, one)]

        def results(t: int) -> list[Node]:
            def one(u: int) -> list[Node]:
                return [
                    Compute(Ref(out, ()), Operator.DIV, (Ref(power, at(u)), Ref(total, ()))),
                    Store(place(y, t, u), Ref(out, ())),
                ]

            return [b.unroll(each, one)]

        first, second = b.threads(threads, highs), b.threads(threads, powers)
        return [
            first,
            Combine(Ref(highest, ()), Operator.MAX, Ref(high, ()), (), (numbers[0],)),
            second,
            Combine(Ref(total, ()), Operator.ADD, Ref(part, ()), (), (numbers[1],)),
            b.threads(threads, results),
        ]

    nest = b.nest(b.block(rows, block))
    data = random(rows, columns)
    powers_ = np.exp(data - data.max(axis=1, keepdims=True))
    expected = powers_ / powers_.sum(axis=1, keepdims=True)
    return Case(nest, {"x": data, "y": np.zeros((rows, columns), np.float32)}, {}, {"y": expected})


def dot(n: int = 500, shape: tuple[int, ...] = (12, 5), first: int | None = None) -> Case:
    """One block; threads of any shape keep parts. first: iterations of the innermost thread loop, where it has fewer than its
    hardware dimension has threads."""
    b = Builder("dot")
    x, y, out = b.array("x", n), b.array("y", n), b.array("total", 1, Role.OUTPUT)
    part, total = b.value("part"), b.value("sum")
    left, right, whole = b.value("x_v"), b.value("y_v"), b.value("result")
    wide = b.value("wide")
    sizes = (first or shape[0], *shape[1:])
    count = int(np.prod(sizes))
    numbers: list[int] = []

    def nested(body: Callable[[tuple[int, ...]], list[Node]], loops: tuple[int, ...] = ()) -> list[Node]:
        axis = len(sizes) - 1 - len(loops)
        if axis < 0:
            return body(loops[::-1])
        return [b.threads(sizes[axis], lambda t: nested(body, (*loops, t)), axis, f"t{axis}")]

    def add(threads: tuple[int, ...]) -> list[Node]:
        numbers.extend(threads)

        def step(s: int) -> list[Node]:
            strides = [int(np.prod(sizes[:a])) for a in range(len(sizes))]
            place = index((s, count), *zip(threads, strides, strict=True))
            guard = (Guard(place, n),)
            return [
                Load(Ref(left, ()), Memory(x, place, guard)),
                Load(Ref(right, ()), Memory(y, place, guard, cache=Cache.READ_ONLY)),
                Compute(Ref(part, ()), Operator.FMA, (Ref(left, ()), Ref(right, ()), Ref(part, ())), guard),
            ]

        return [b.loop(Kind.LOOP, -(-n // count), step, "step")]

    body: list[Node] = []
    if first:
        body.append(b.threads(shape[0], lambda _: [Compute(Ref(wide, ()), Operator.MOVE, (Constant(1.0),))]))
    body.append(Compute(Ref(part, ()), Operator.MOVE, (Constant(0.0),)))
    body += nested(add)
    body.append(Combine(Ref(total, ()), Operator.ADD, Ref(part, ()), (), tuple(numbers)))
    body.append(Compute(Ref(whole, ()), Operator.MUL, (Ref(total, ()), Constant(2.0))))
    body.append(Store(Memory(out, Linear()), Ref(whole, ()), tuple(Guard(index((t, 1)), 1) for t in numbers)))
    nest = b.nest(*body)
    arrays = {"x": random(n), "y": random(n, seed=1), "total": np.zeros(1, np.float32)}
    return Case(nest, arrays, {}, {"total": np.array([2 * arrays["x"] @ arrays["y"]])}, 1e-4)


def reverse(blocks: int = 3, threads: int = 16, space: Space = Space.GLOBAL, each: int = 2) -> Case:
    """Each block's part reversed through a temporary of the block."""
    b = Builder("reverse")
    size = threads * each
    x, y = b.array("x", blocks * size), b.array("y", blocks * size, Role.OUTPUT)
    b.buffers.append(Buffer("line", F32, size, Role.TEMPORARY, space))
    line, first, second = 2, b.value("a"), b.value("b")

    def block(n: int) -> list[Node]:
        def write(t: int) -> list[Node]:
            def part(u: int) -> list[Node]:
                place = ((u, threads), (t, 1))
                return [
                    Load(Ref(first, ()), Memory(x, index((n, size), *place))),
                    Store(Memory(line, index(*place)), Ref(first, ())),
                ]

            return [b.unroll(each, part)]

        def read(t: int) -> list[Node]:
            def part(u: int) -> list[Node]:
                place = ((u, threads), (t, 1))
                mirrored = Linear(tuple((loop, -stride) for loop, stride in place), size - 1)
                return [
                    Load(Ref(second, ()), Memory(line, mirrored)),
                    Store(Memory(y, index((n, size), *place)), Ref(second, ())),
                ]

            return [b.unroll(each, part)]

        return [b.threads(threads, write), Barrier(), b.threads(threads, read)]

    nest = b.nest(b.block(blocks, block))
    data = random(blocks, size)
    return Case(nest, {"x": data, "y": np.zeros_like(data)}, {}, {"y": data[:, ::-1]}, 0.0)


def functions(n: int = 64, dtype: DType = F32) -> Case:
    """y = tanh(log(sqrt(abs(x))) - min(x, 0.5)), one element per thread."""
    b = Builder("functions")
    x, y = b.array("x", n, dtype=dtype), b.array("y", n, Role.OUTPUT, dtype)
    value, other = b.value("v", dtype=dtype), b.value("w", dtype=dtype)

    def thread(t: int) -> list[Node]:
        v, w = Ref(value, ()), Ref(other, ())
        return [
            Load(v, Memory(x, index((t, 1)), cache=Cache.L2)),
            Compute(w, Operator.MIN, (v, Constant(0.5))),
            Compute(v, Operator.ABS, (v,)),
            Compute(v, Operator.SQRT, (v,)),
            Compute(v, Operator.LOG, (v,)),
            Compute(w, Operator.NEG, (w,)),
            Compute(v, Operator.ADD, (v, w)),
            Compute(v, Operator.TANH, (v,)),
            Store(Memory(y, index((t, 1)), cache=Cache.L2), v),
        ]

    nest = b.nest(b.threads(n, thread))
    data = random(n).astype({"f32": np.float32, "f64": np.float64}[dtype.name])
    expected = np.tanh(np.log(np.sqrt(np.abs(data))) - np.minimum(data, 0.5))
    return Case(nest, {"x": data, "y": np.zeros_like(data)}, {}, {"y": expected})


def matvec(rows: int = 6, columns: int = 96, threads: int = 48, each: int = 3) -> Case:
    """Several rows per block, all threads at one row's columns; a combination for each row in an unrolled loop."""
    b = Builder("matvec")
    a, x, y = b.array("A", rows * columns), b.array("x", columns), b.array("y", rows, Role.OUTPUT)
    part, total, left, right = b.value("part", each), b.value("total"), b.value("a"), b.value("x_v")
    numbers: list[int] = []

    def block(r: int) -> list[Node]:
        def thread(t: int) -> list[Node]:
            numbers.append(t)

            def step(s: int) -> list[Node]:
                def row(u: int) -> list[Node]:
                    place = index((r, each * columns), (u, columns), (s, threads), (t, 1))
                    return [
                        Load(Ref(left, ()), Memory(a, place)),
                        Compute(Ref(part, at(u)), Operator.FMA, (Ref(left, ()), Ref(right, ()), Ref(part, at(u)))),
                    ]

                return [Load(Ref(right, ()), Memory(x, index((s, threads), (t, 1)))), b.unroll(each, row, "row")]

            zero = b.unroll(each, lambda u: [Compute(Ref(part, at(u)), Operator.MOVE, (Constant(0.0),))], "row")
            return [zero, b.loop(Kind.LOOP, columns // threads, step, "step")]

        nest = b.threads(threads, thread)

        def finish(u: int) -> list[Node]:
            return [
                Combine(Ref(total, ()), Operator.ADD, Ref(part, at(u)), (), (numbers[0],)),
                Store(Memory(y, index((r, each), (u, 1))), Ref(total, ()), (Guard(index((numbers[0], 1)), 1),)),
            ]

        return [nest, b.unroll(each, finish, "row")]

    nest = b.nest(b.block(rows // each, block))
    arrays = {"A": random(rows, columns), "x": random(columns, seed=1), "y": np.zeros(rows, np.float32)}
    return Case(nest, arrays, {}, {"y": arrays["A"] @ arrays["x"]}, 1e-4)
