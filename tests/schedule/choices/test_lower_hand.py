"""Decisions written by hand, lowered and run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.nest.interpreter import interpret

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import (
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operator,
    Parameter,
    Region,
    Result,
    Role,
    backbone,
    evaluate,
)
from warploom.schedule.choices.decided import DimPair, LoweringError, Table, Temporary
from warploom.schedule.choices.lower import lower
from warploom.schedule.nest import Combine, Compute, Kind, Nest, identity, loops, statements, text, verify

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
        return tuple(Linear(((a, 1),)) for a in names)

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
    """The temporaries of both operands of the multiplication: statements after the backbone's."""
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


def row_sums(m: int, n: int, operator: Operator = Operator.ADD, start: float = 0.0, tiles: tuple[int, ...] = (4,)) -> Backbone:
    """y[m] = start + sum of x[m, n]."""
    axes = [Axis("m", m), Axis("n", n, tuple((t,) for t in tiles))]
    regions = [Region("x", f32, (m, n), (n, 1), Role.INPUT), Region("y", f32, (m,), (1,), Role.OUTPUT)]
    at = Linear(((0, 1),)), Linear(((1, 1),))
    instructions = [
        Instruction("start", Operator.MOVE, (Constant(start),), (0,), f32),
        Instruction("x", Operator.LOAD, (), (0, 1), f32, Access(0, at)),
        Instruction("sum", operator, (Result(1, (0, 1)), Carry(0, (1,))), (0, 1), f32),
        Instruction("y", Operator.STORE, (Result(2, (0,)),), (0,), f32, Access(1, at[:1])),
    ]
    return backbone("row_sums", axes, regions, instructions)


def reduced(b: Backbone, m: int, n: int, tile: int, kind: str, mapped: bool = False) -> Table:
    """Rows by blocks; the tile's iterations keep partial results."""
    start, x, total, y = (dims(b, name) for name in ("start", "x", "sum", "y"))
    inner = (
        [((x["n1"], total["n1"]), [1, 2])]
        if kind == "THREAD"
        else [((x["n1"],), [1]), ((total["n1"],), [2])]
    )  # fmt: skip
    outer = (x["n0"], total["n0"])
    body = [((x["n1"], total["n1"]), [(outer, [1, 2])])] if kind == "THREAD" else [(outer, inner)]
    tree = [((start["m0"], x["m0"], total["m0"], y["m0"]), [0, *body, 3])]
    kinds = {d["m0"]: "BLOCK" for d in (start, x, total, y)} | {x["n1"]: kind, total["n1"]: kind}
    mappings = {(x["n1"], total["n1"]): "MAPPED"} if kind == "THREAD" else {}
    return Table(
        b, orders_of(tree), sizes(b, m0=m, n0=-(-n // tile), n1=tile), kinds, mappings, trees=frozenset({total["n1"]}),
        has_threads=kind == "THREAD",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["UNROLL", "VECTOR", "THREAD"])
@pytest.mark.parametrize("start", [0.0, 3.0])
@pytest.mark.parametrize("n", [16, 14])
@pytest.mark.parametrize("operator", [Operator.ADD, Operator.MAX])
def test_partial_results(kind: str, start: float, n: int, operator: Operator) -> None:
    b = row_sums(3, n, operator, start)
    nest = lower(reduced(b, 3, n, 4, kind))
    found = [s for s, _ in statements(nest.body) if isinstance(s, Combine)]
    assert len(found) == 1
    assert bool(found[0].threads) == (kind == "THREAD")
    check(b, nest)


def test_partial_results_start_neutral() -> None:
    nest = lower(reduced(row_sums(3, 16), 3, 16, 4, "VECTOR"))
    assert text(nest) == (
        "kernel row_sums(x: f32[48], y: f32[3])\n"
        "  value x: f32[<4>]\n"
        "  value sum: f32\n"
        "  value sum_partial: f32[<4>]\n"
        "  block m0 in 3 on x:\n"
        "    vector n1_4 in 4:\n"
        "      sum_partial[n1_4] = move(0.0)\n"
        "    loop n0 in 4:\n"
        "      vector n1_2 in 4:\n"
        "        x[n1_2] = load x[16*m0 + 4*n0 + n1_2]\n"
        "      vector n1_3 in 4:\n"
        "        sum_partial[n1_3] = add(x[n1_3], sum_partial[n1_3])\n"
        "    sum = combine add sum_partial[0] over registers 0\n"
        "    y[m0] = sum\n"
    )


def test_edges_of_a_product_of_sums() -> None:
    """Elements beyond the edge would change the total, so the reduction itself is guarded."""
    axes = [Axis("n", 10, ((4,),))]
    regions = [Region("x", f32, (10,), (1,), Role.INPUT), Region("y", f32, (1,), (1,), Role.OUTPUT)]
    instructions = [
        Instruction("start", Operator.MOVE, (Constant(0.0),), (), f32),
        Instruction("x", Operator.LOAD, (), (0,), f32, Access(0, (Linear(((0, 1),)),))),
        Instruction("exp", Operator.EXP, (Result(1, (0,)),), (0,), f32),
        Instruction("sum", Operator.ADD, (Carry(0, (0,)), Result(2, (0,))), (0,), f32),
        Instruction("y", Operator.STORE, (Result(3, ()),), (), f32, Access(1, (Linear(),))),
    ]
    b = backbone("total", axes, regions, instructions)
    x, exp, total = (dims(b, name) for name in ("x", "exp", "sum"))
    tree = [0, ((x["n0"], exp["n0"], total["n0"]), [((x["n1"], exp["n1"], total["n1"]), [1, 2, 3])]), 4]
    nest = lower(Table(b, orders_of(tree), sizes(b, n0=3, n1=4), has_threads=False))
    guards = [s.guards for s, _ in statements(nest.body) if isinstance(s, Compute) and s.operator is Operator.ADD]
    assert [len(g) for g in guards] == [1]
    check(b, nest)


@pytest.mark.parametrize("n", [32, 30])
def test_axpy_in_vectors(n: int) -> None:
    regions = [Region(name, f32, (n,), (1,), role) for name, role in (("x", Role.INPUT), ("y", Role.INPUT), ("z", Role.OUTPUT))]
    at = (Linear(((0, 1),)),)
    instructions = [
        Instruction("x", Operator.LOAD, (), (0,), f32, Access(0, at)),
        Instruction("y", Operator.LOAD, (), (0,), f32, Access(1, at)),
        Instruction("fma", Operator.FMA, (Parameter("alpha", f32), Result(0, (0,)), Result(1, (0,))), (0,), f32),
        Instruction("z", Operator.STORE, (Result(2, (0,)),), (0,), f32, Access(2, at)),
    ]
    b = backbone("axpy", [Axis("n", n, ((4,), (4,)))], regions, instructions)
    each = [dims(b, name) for name in ("x", "y", "fma", "z")]
    lanes = [((d["n2"],), [s]) for s, d in enumerate(each)]
    tree = [(tuple(d["n0"] for d in each), [(tuple(d["n1"] for d in each), lanes)])]
    kinds = {d["n0"]: "BLOCK" for d in each} | {d["n2"]: "VECTOR" for d in each} | {d["n1"]: "THREAD" for d in each}
    nest = lower(Table(b, orders_of(tree), sizes(b, n0=2, n1=4, n2=4), kinds))
    kept = [loop for loop in loops(nest.body) if loop.kind is Kind.VECTOR]
    assert len(kept) == (4 if n == 32 else 1)
    check(b, nest, alpha=2.0)
    nest = lower(
        Table(b, orders_of(tree), sizes(b, n0=2, n1=4, n2=4), kinds | {d["n1"]: "LOOP" for d in each}, has_threads=False)
    )
    assert len([loop for loop in loops(nest.body) if loop.kind is Kind.VECTOR]) == 4
    check(b, nest, alpha=2.0)


def test_packed_matmul() -> None:
    """CPU: B packed into columns of one vector, read again for every row block."""
    b = matmul(8, 16, 8, {"m": ((4,),), "n": ((8,),)})
    zero, a, bb, mad, c = (dims(b, name) for name in ("zero", "a", "b", "mad", "c"))
    _, sb = temporaries(b)
    put, get = pair_names(b, sb)
    tree = [
        (tuple(d["n0"] for d in (zero, bb, mad, c, put, get)), [
            ((bb["k0"], put["k0"]), [((bb["n1"],), [2]), ((put["n1"],), [sb.store])]),
            (tuple(d["m0"] for d in (zero, a, mad, c)), [
                ((zero["m1"],), [((zero["n1"],), [0])]),
                (tuple(d["k0"] for d in (a, mad, get)), [
                    ((get["n1"],), [sb.load]), ((a["m1"],), [1]), ((mad["m1"],), [((mad["n1"],), [3])]),
                ]),
                ((c["m1"],), [((c["n1"],), [4])]),
            ]),
        ]),
    ]  # fmt: skip
    kinds = {d["n0"]: "BLOCK" for d in (zero, bb, mad, c, put, get)}
    kinds |= {d["n1"]: "VECTOR" for d in (zero, bb, mad, c, put, get)} | {d["m1"]: "UNROLL" for d in (zero, a, mad, c)}
    table = Table(b, orders_of(tree), sizes(b, m0=2, m1=4, n0=2, n1=8, k0=8), kinds, arrays=(sb,), has_threads=False)
    nest = lower(table)
    assert "buffer tmp_sb: f32[64] in shared" in text(nest)
    assert "mad[m1_10, n1_11] = fma(a[m1_10], get_sb[n1_11], mad[m1_10, n1_11])" in _numbered(text(nest))
    check(b, nest)


def _numbered(shown: str) -> str:
    """The text with the numbers of the multiplication's loops as in a fixed example."""
    line = next(x for x in shown.splitlines() if "= fma(" in x)
    first, second = line.split("[", 1)[1].split("]", 1)[0].split(", ")
    return shown.replace(first, "m1_10").replace(second, "n1_11")


def test_contradictions_are_reported() -> None:
    b = row_sums(2, 4, tiles=(2,))
    table = reduced(b, 2, 4, 2, "UNROLL")
    total, x = dims(b, "sum"), dims(b, "x")
    with pytest.raises(LoweringError, match="neither merged nor unrolled"):
        lower(replace(table, kinds=dict(table.kinds) | {x["n1"]: "LOOP"}))
    with pytest.raises(LoweringError, match="cannot keep partial results"):
        lower(reduced(_scaled(), 2, 4, 2, "VECTOR"))
    assert total


def _scaled() -> Backbone:
    """A recurrence, no sum: y = x * y + x."""
    b = row_sums(2, 4, tiles=(2,))
    old = b.instructions[2]
    new = replace(old, operator=Operator.FMA, operands=(old.operands[0], old.operands[1], old.operands[0]))
    return replace(b, instructions=(*b.instructions[:2], new, b.instructions[3]))
