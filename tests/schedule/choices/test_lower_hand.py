"""Decisions written by hand, lowered and run."""

from __future__ import annotations

import numpy as np

from warploom.core import f32
from warploom.schedule.backbone import (
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operator,
    Region,
    Result,
    Role,
    backbone,
    evaluate,
)
from warploom.schedule.choices.decided import DimPair, Table, Temporary
from warploom.schedule.choices.lower import lower
from warploom.schedule.nest import Nest, identity, interpret, loops, text, verify

Tree = list  # of statement numbers and (dims, subtree)


def orders_of(tree: Tree) -> dict[tuple[int, int], str]:
    """Orders of all statements from a nest written as lists: a loop is ((dims...), [children])."""
    orders: dict[tuple[int, int], str] = {}

    def members(item: object) -> list[int]:
        if isinstance(item, int):
            return [item]
        dims, children = item  # type: ignore[misc]
        return [*dims, *(m for c in children for m in members(c))]

    def visit(items: Tree) -> None:
        for n, item in enumerate(items):
            for other in items[n + 1 :]:
                orders.update({(a, b): "BEFORE" for a in members(item) for b in members(other)})
            if not isinstance(item, int):
                dims, children = item
                orders.update({(a, b): "MERGED" for a in dims for b in dims if a != b})
                orders.update({(d, m): "OUTER" for d in dims for c in children for m in members(c)})
                visit(children)

    visit(tree)
    return orders


def dims(b: Backbone, name: str) -> dict[str, int]:
    """Statements of an instruction's dims, as axis + level."""
    number = next(n for n, i in enumerate(b.instructions) if i.name == name)
    return {
        f"{b.axes[b.extents[b.dims[d].extent].axis].name}{b.extents[b.dims[d].extent].level}": b.statement_of(d)
        for d in b.dims_of(number)
    }


def sizes(b: Backbone, **given: int) -> dict[int, int]:
    return {n: given[f"{b.axes[e.axis].name}{e.level}"] for n, e in enumerate(b.extents)}


def matmul(m: int, n: int, k: int, tiles: dict[str, tuple[tuple[int, ...], ...]] | None = None) -> Backbone:
    tiles = tiles or {}
    axes = [Axis(name, size, tiles.get(name, ())) for name, size in (("m", m), ("n", n), ("k", k))]
    regions = [
        Region("A", f32, (m, k), (k, 1), Role.INPUT),
        Region("B", f32, (k, n), (n, 1), Role.INPUT),
        Region("C", f32, (m, n), (n, 1), Role.OUTPUT),
    ]

    def at(*names: int) -> tuple[AxisSum, ...]:
        return tuple(AxisSum(((a, 1),)) for a in names)

    instructions = [
        Instruction("zero", Operator.MOVE, (Constant(0.0),), (0, 1), f32),
        Instruction("a", Operator.LOAD, (), (0, 2), f32, Access(0, at(0, 2))),
        Instruction("b", Operator.LOAD, (), (2, 1), f32, Access(1, at(2, 1))),
        Instruction("mad", Operator.FMA, (Result(1, (0, 2)), Result(2, (2, 1)), Carry(0, (2,))), (0, 1, 2), f32),
        Instruction("c", Operator.STORE, (Result(3, (0, 1)),), (0, 1), f32, Access(2, at(0, 1))),
    ]
    return backbone("matmul", axes, regions, instructions)


def check(b: Backbone, nest: Nest, **parameters: float) -> None:
    assert verify(nest) == ()
    source = np.random.default_rng(1)
    arrays = {r.name: source.integers(-4, 5, r.shape).astype(np.float32) for r in b.regions if r.role is Role.INPUT}
    expected = evaluate(b, arrays, parameters)
    for seed in range(2):
        found = interpret(nest, arrays, parameters, seed)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name].reshape(value.shape), value, rtol=1e-5, atol=1e-5)


def test_naive_matmul() -> None:
    b = matmul(3, 4, 5)
    zero, a, bb, mad, c = (dims(b, name) for name in ("zero", "a", "b", "mad", "c"))
    tree = [
        ((zero["m0"], a["m0"], mad["m0"], c["m0"]), [
            ((zero["n0"], bb["n0"], mad["n0"], c["n0"]), [0, ((a["k0"], bb["k0"], mad["k0"]), [1, 2, 3]), 4]),
        ]),
    ]  # fmt: skip
    nest = lower(Table(b, orders_of(tree), sizes(b, m0=3, n0=4, k0=5), has_threads=False))
    assert text(nest) == (
        "kernel matmul(A: f32[15], B: f32[20], C: f32[12])\n"
        "  value mad: f32\n"
        "  value a: f32\n"
        "  value b: f32\n"
        "  loop m0 in 3:\n"
        "    loop n0 in 4:\n"
        "      mad = move(0.0)\n"
        "      loop k0 in 5:\n"
        "        a = load A[5*m0 + k0]\n"
        "        b = load B[4*k0 + n0]\n"
        "        mad = fma(a, b, mad)\n"
        "      C[4*m0 + n0] = mad\n"
    )
    check(b, nest)
    assert identity(nest) == identity(nest).replace("m0", "other")


def temporaries(b: Backbone) -> tuple[Temporary, Temporary]:
    """Of both operands of the multiplication: statements after the backbone's."""
    free = len(b.instructions) + len(b.dims)
    found: list[Temporary] = []
    for position, producer in enumerate((1, 2)):
        extents = [b.dims[d].extent for d in b.dims_of(producer)]
        store, load = free, free + 1
        pairs = tuple(DimPair(e, free + 2 + 2 * n, free + 3 + 2 * n) for n, e in enumerate(extents))
        free += 2 + 2 * len(extents)
        found.append(Temporary(len(b.regions) + position, f"s{'ab'[position]}", producer, 3, position, store, load, pairs))
    return found[0], found[1]


def pair_names(b: Backbone, temporary: Temporary) -> tuple[dict[str, int], dict[str, int]]:
    def name(extent: int) -> str:
        return f"{b.axes[b.extents[extent].axis].name}{b.extents[extent].level}"

    return {name(p.extent): p.store for p in temporary.pairs}, {name(p.extent): p.load for p in temporary.pairs}


def tiled_gpu(m: int, n: int, k: int, *, stages: int = 1, swizzle: bool = False) -> tuple[Backbone, Table]:
    """Blocks of 4 x 8, threads 2 x 4 with 2 x 2 each, tiles of k by 4 staged in shared memory: k1 and the unrolled levels of an
    operand are copied by the thread that has its row."""
    b = matmul(m, n, k, {"m": ((2,), (2,)), "n": ((4,), (2,)), "k": ((4,),)})
    zero, a, bb, mad, c = (dims(b, name) for name in ("zero", "a", "b", "mad", "c"))
    sa, sb = temporaries(b)
    (a_put, a_get), (b_put, b_get) = pair_names(b, sa), pair_names(b, sb)

    def threads(body: Tree, *of: dict[str, int]) -> tuple[tuple[int, ...], Tree]:
        inner = (tuple(d["n1"] for d in of if "n1" in d), body)
        outer = tuple(d["m1"] for d in of if "m1" in d)
        return (outer, [inner]) if outer and inner[0] else (outer, body) if outer else inner

    compute = threads([
        ((mad["k1"], a_get["k1"], b_get["k1"]), [
            ((a_get["m2"],), [sa.load]), ((b_get["n2"],), [sb.load]), ((mad["m2"],), [((mad["n2"],), [3])]),
        ]),
    ], mad, a_get, b_get)  # fmt: skip
    tree = [
        (tuple(d["m0"] for d in (zero, a, mad, c, a_put, a_get)), [
            (tuple(d["n0"] for d in (zero, bb, mad, c, b_put, b_get)), [
                threads([((zero["m2"],), [((zero["n2"],), [0])])], zero),
                (tuple(d["k0"] for d in (a, bb, mad, a_put, a_get, b_put, b_get)), [
                    threads([((a["k1"], a_put["k1"]), [((a["m2"], a_put["m2"]), [1, sa.store])])], a, a_put),
                    threads([((bb["k1"], b_put["k1"]), [((bb["n2"],), [2]), ((b_put["n2"],), [sb.store])])], bb, b_put),
                    compute,
                ]),
                threads([((c["m2"],), [((c["n2"],), [4])])], c),
            ]),
        ]),
    ]  # fmt: skip
    everything = [zero, a, bb, mad, c, a_put, a_get, b_put, b_get]
    kinds = {d["m0"]: "BLOCK" for d in everything if "m0" in d} | {d["n0"]: "BLOCK" for d in everything if "n0" in d}
    kinds |= {d[x]: "THREAD" for d in everything for x in ("m1", "n1") if x in d}
    kinds |= {d[x]: "UNROLL" for d in everything for x in ("m2", "n2") if x in d}
    kinds |= {bb["n2"]: "VECTOR", b_put["n2"]: "VECTOR", c["n2"]: "VECTOR", b_get["n2"]: "VECTOR"}
    rows = [d["m1"] for d in everything if "m1" in d]
    columns = [d["n1"] for d in everything if "n1" in d]
    mappings = {(x, y): "MAPPED" for group in (rows, columns) for x in group for y in group if x != y}
    mappings |= {(x, y): "MAPPED_OUT" for x in rows for y in columns}
    table = Table(
        b, orders_of(tree), sizes(b, m0=-(-m // 4), m1=2, m2=2, n0=-(-n // 8), n1=4, n2=2, k0=-(-k // 4), k1=4), kinds, mappings,
        (sa, sb), copies={sa.region: stages, sb.region: stages}, swizzles=frozenset({sa.region, sb.region} if swizzle else ()),
    )  # fmt: skip
    return b, table


def test_tiled_staged_matmul() -> None:
    b, table = tiled_gpu(8, 16, 8)
    nest = lower(table)
    check(b, nest)


def test_pipelined_matmul() -> None:
    b, table = tiled_gpu(8, 16, 16, stages=3, swizzle=True)
    nest = lower(table)
    check(b, nest)
    assert [loop.stages for loop in loops(nest.body) if loop.stages > 1] == [3]


def test_edges_of_matmul() -> None:
    b, table = tiled_gpu(7, 13, 10)
    check(b, lower(table))
