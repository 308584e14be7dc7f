"""Parts of a nest that tile registers compute: what is found, and each reason against one, alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.schedule.nest.test_matrices import Change, changed, of_loops, of_sum
from tests.schedule.nest.tile_nests import Shape, product

from warploom.core import bf16x2, i8x4, u8x4, u32
from warploom.core.linear import Linear
from warploom.ir.swizzle import Xor
from warploom.schedule.backbone import Constant, Operator, RunTimeSize
from warploom.schedule.nest import (
    Affine,
    Cache,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Store,
    StoredTotals,
    Swizzle,
    Trips,
    loops,
    stored_totals,
    tiles_of,
    verify,
)

TYPES = {
    (i8x4, i8x4): "_tile_dpbssd", (i8x4, u8x4): "_tile_dpbsud", (u8x4, i8x4): "_tile_dpbusd", (u8x4, u8x4): "_tile_dpbuud",
    (bf16x2, bf16x2): "_tile_dpbf16ps",
}  # fmt: skip


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (1, 6), (3, 1)])
def test_tiles_of_totals_and_where_they_begin(rows: int, columns: int) -> None:
    nest = product(Shape(rows, columns, blocks=2))
    assert verify(nest) == ()
    (part,) = tiles_of(nest)
    assert (len(part.rows.starts), len(part.columns.starts), part.totals) == (rows, columns, rows * columns)
    assert (part.rows.step, part.columns.step, part.total_step) == (32, 16 * columns, columns)
    names = {x.number: x.name for x in loops(nest.body)}
    assert [{names[n]: i for n, i in start} for start in part.rows.starts] == [{"m1": n, "m2": 0} for n in range(rows)]
    assert [{names[n]: i for n, i in start} for start in part.columns.starts] == [{"n0": n} for n in range(columns)]
    assert names[part.top] == "k0" and [x.name for x in part.steps] == ["k0", "k1"] and part.lanes.name == "n1"


@pytest.mark.parametrize("types", TYPES)
def test_each_pair_of_factors_has_its_instruction(types: tuple) -> None:
    first, second = types
    (part,) = tiles_of(product(Shape(first=first, second=second)))
    assert part.instruction.intrinsic == TYPES[types]


def test_factors_may_stand_in_either_order() -> None:
    nest = product(Shape(first=i8x4, second=u8x4))
    turned = changed(nest, of_sum(lambda s: replace(s, arguments=(s.arguments[1], s.arguments[0], s.arguments[2]))))
    assert tiles_of(turned)[0].rows == tiles_of(nest)[0].rows
    assert tiles_of(turned)[0].instruction.intrinsic == "_tile_dpbsud"


def of_load(name: str, new: Callable[[Load], Load]) -> Change:
    """Changes the load of A or B."""
    return lambda n: new(n) if isinstance(n, Load) and n.memory.buffer == "AB".index(name) else n


def at(load: Load, change: Callable[[Affine], Affine]) -> Load:
    return replace(load, memory=replace(load.memory, offset=change(load.memory.offset)))


def along(name: str, stride: int) -> Change:
    """Another stride of the load of A, or of B, along a loop."""
    which, loop = name.split()
    return of_load(which, lambda x: at(x, lambda o: Linear(tuple((n, stride if NAMES[n] == loop else s) for n, s in o.terms))))


PLAIN = product(Shape(rows=2, columns=2))
NAMES = {x.number: x.name for x in loops(PLAIN.body)}


def with_arguments(total: Compute, at: int, ref: Ref | Constant) -> Compute:
    return replace(total, arguments=(*total.arguments[:at], ref, *total.arguments[at + 1 :]))


def of_step(**new: object) -> Change:
    return of_loops(lambda x: x.name == "k1", lambda x: replace(x, **new))


REFUSED: dict[str, Change] = {
    "another operation": of_sum(lambda s: replace(s, operator=Operator.SELECT)),
    "a sum that some iterations leave out": of_sum(lambda s: replace(s, guards=(Guard(Linear(((0, 1),)), 1),))),
    "a factor that is a number": of_sum(lambda s: with_arguments(s, at=0, ref=Constant(2.0))),
    "another total": of_sum(lambda s: with_arguments(s, at=2, ref=replace(s.target, at=(Linear(), *s.target.at[1:])))),
    "a load that is a copy": of_load("A", lambda x: replace(x, is_async=True)),
    "words that are not as they lie": of_load("A", lambda x: replace(x, memory=replace(x.memory, swizzle=Swizzle(Xor(8), 4)))),
    "a register of its own": of_load("A", lambda x: replace(x, target=replace(x.target, at=(Linear(), x.target.at[1])))),
    "known at run time": of_step(trips=Trips(RunTimeSize("k", 16), 1)),
    "copied ahead": of_step(stages=2),
    "left out in part": of_step(only=(Guard(Linear(((0, 1),)), 1),)),
    "words of a row apart": along("A k1", 2),
    "columns apart": along("B n1", 2),
    "rows that move with the columns": of_sum(lambda s: with_arguments(s, at=0, ref=Ref(0, (s.target.at[2], s.target.at[1])))),
    "a sum that is written out": of_step(kind=Kind.UNROLL),
    "a step that tiles do not divide": of_step(size=24),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    assert tiles_of(PLAIN) and not tiles_of(changed(PLAIN, REFUSED[reason]))


SHAPES = {
    "rows that are no tiles": Shape(tile_rows=8), "half a tile more": Shape(rows=3, tile_rows=8), "eight lanes": Shape(lanes=8),
    "too many totals": Shape(rows=2, columns=3), "too many rows": Shape(rows=4),
}  # fmt: skip


@pytest.mark.parametrize("reason", SHAPES)
def test_refused_shapes(reason: str) -> None:
    nest = product(SHAPES[reason])
    assert verify(nest) == () and tiles_of(nest) == ()


HALVES = product(Shape(rows=4, tile_rows=8))
"""Two tiles of totals, each of two loops' rows."""


def test_rows_of_a_tile_at_different_steps() -> None:
    (part,) = tiles_of(HALVES)
    assert (len(part.rows.starts), part.rows.step, part.total_step) == (2, 32, 1)
    moved = of_load("A", lambda x: at(x, lambda o: Linear(tuple((n, s + 32 * (s == 256)) for n, s in o.terms))))
    assert tiles_of(changed(HALVES, moved)) == ()


def test_totals_of_a_tile_at_different_steps() -> None:
    """Registers of rows of one loop are not behind those of the other."""
    number = next(n for n, v in enumerate(HALVES.values) if v.name == "total")

    def turned(ref: Ref) -> Ref:
        return replace(ref, at=(ref.at[1], ref.at[0], *ref.at[2:])) if ref.value == number else ref

    def change(node: Node) -> Node:
        match node:
            case Compute(target=target, arguments=arguments):
                return replace(
                    node, target=turned(target), arguments=tuple(turned(a) if isinstance(a, Ref) else a for a in arguments)
                )
            case Store(argument=Ref() as argument):
                return replace(node, argument=turned(argument))
            case _:
                return node

    axes = HALVES.values[number].axes
    value = replace(HALVES.values[number], axes=(axes[1], axes[0], *axes[2:]))
    nest = replace(changed(HALVES, change), values=(*HALVES.values[:number], value, *HALVES.values[number + 1 :]))
    assert verify(nest) == () and tiles_of(nest) == ()


def test_refused_types() -> None:
    values = tuple(replace(v, dtype=u32) if v.name == "total" else v for v in PLAIN.values)
    assert tiles_of(replace(PLAIN, values=values)) == ()


def test_refused_where_bytes_of_a_word_lie_apart() -> None:
    buffers = tuple(replace(b, spread=64) if b.name == "B" else b for b in PLAIN.buffers)
    assert tiles_of(replace(PLAIN, buffers=buffers)) == ()


def stored(nest: Nest) -> StoredTotals | None:
    """The nest is one part, between what sets its totals and what stores them."""
    (part,) = tiles_of(nest)
    (around,) = nest.body
    assert isinstance(around, Loop)
    before, _, behind = around.body
    return stored_totals(nest, part, before, behind)


def test_where_totals_are_stored() -> None:
    """Two by two tiles of 16 by 16 totals, 32 to a row of C; of the halves each tile has rows of two loops."""
    found = stored(PLAIN)
    assert found is not None and found.step == 32
    assert [at.constant for at in found.places] == [0, 16, 16 * 32, 16 * 32 + 16]
    halves = stored(HALVES)
    assert halves is not None and halves.step == 16
    assert [at.constant for at in halves.places] == [0, 16 * 16]
    assert {NAMES[n] for at in found.places for n, _ in at.terms} == {"m0"}


def of_store(new: Callable[[Store], Store]) -> Change:
    return lambda n: new(n) if isinstance(n, Store) else n


def of_start(new: Callable[[Compute], Compute]) -> Change:
    return lambda n: new(n) if isinstance(n, Compute) and n.operator is Operator.MOVE else n


def in_memory(**new: object) -> Change:
    return of_store(lambda s: replace(s, memory=replace(s.memory, **new)))


def of_loops_around(held: type[Store] | type[Compute], name: str, **new: object) -> Change:
    """Another loop of that name around the store, or around what sets the totals."""

    def holds(node: Node) -> bool:
        return any(map(holds, node.body)) if isinstance(node, Loop) else isinstance(node, held) and not is_sum(node)

    def is_sum(node: Node) -> bool:
        return isinstance(node, Compute) and node.operator is Operator.FMA

    def is_running(node: Node) -> bool:
        return isinstance(node, Loop) and (node.kind is Kind.LOOP or any(map(is_running, node.body)))

    return of_loops(lambda x: x.name == name and holds(x) and not is_running(x), lambda x: replace(x, **new))


def strided(name: str, stride: int) -> Change:
    """Another stride of the store along a loop."""

    def change(store: Store) -> Store:
        names = {x.number: x.name for x in loops(PLAIN.body)}
        terms = tuple((n, stride if names[n] == name else s) for n, s in store.memory.offset.terms)
        return replace(store, memory=replace(store.memory, offset=Linear(terms)))

    return of_store(change)


LEFT_IN_REGISTERS: dict[str, Change] = {
    "another start": of_start(lambda s: replace(s, arguments=(Constant(1.0),))),
    "a zero with a sign": of_start(lambda s: replace(s, arguments=(Constant(-0.0),))),
    "a length": of_start(lambda s: replace(s, arguments=(Constant(0, RunTimeSize("n", 0)),))),
    "no move": of_start(lambda s: replace(s, operator=Operator.ABS)),
    "a start that is left out at times": of_start(lambda s: replace(s, guards=(Guard(Linear(((0, 1),)), 1),))),
    "a start of some rows": of_loops_around(Compute, "m2", size=8),
    "some rows stored": of_loops_around(Store, "m2", size=8),
    "lanes one by one": of_loops_around(Store, "n1", kind=Kind.UNROLL),
    "a number stored": of_store(lambda s: replace(s, argument=Constant(0.0))),
    "a place that is permuted": in_memory(swizzle=Swizzle(Xor(8), 4)),
    "around the caches": in_memory(cache=Cache.NONE),
    "lanes apart": strided("n1", 2),
}


@pytest.mark.parametrize("reason", LEFT_IN_REGISTERS)
def test_totals_that_stay_in_registers(reason: str) -> None:
    assert stored(PLAIN) is not None
    assert stored(changed(PLAIN, LEFT_IN_REGISTERS[reason])) is None


def test_totals_of_another_type_than_the_array() -> None:
    buffers = tuple(replace(b, dtype=u32) if b.name == "C" else b for b in PLAIN.buffers)
    assert stored(replace(PLAIN, buffers=buffers)) is None


def test_totals_that_something_else_reads() -> None:
    (part,) = tiles_of(PLAIN)
    (around,) = PLAIN.body
    assert isinstance(around, Loop)
    before, inner, behind = around.body
    nest = replace(PLAIN, body=(replace(around, body=(before, inner, behind, behind)),))
    assert stored_totals(nest, part, before, behind) is None


def test_neighbours_that_neither_start_nor_store() -> None:
    (part,) = tiles_of(PLAIN)
    (around,) = PLAIN.body
    assert isinstance(around, Loop)
    before, inner, behind = around.body
    assert stored_totals(PLAIN, part, inner, behind) is None
    assert stored_totals(PLAIN, part, before, inner) is None


def test_rows_of_a_tile_that_are_stored_at_different_steps() -> None:
    names = {x.number: x.name for x in loops(HALVES.body)}

    def change(store: Store) -> Store:
        terms = tuple((n, s + 16 * (names[n] == "m1")) for n, s in store.memory.offset.terms)
        return replace(store, memory=replace(store.memory, offset=Linear(terms)))

    assert stored(changed(HALVES, of_store(change))) is None
