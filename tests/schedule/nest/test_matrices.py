"""Parts of a nest that whole warps compute: each reason against one, alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from tests.schedule.choices.matrices import nest_of

from warploom.core.linear import Linear
from warploom.ir.swizzle import Xor
from warploom.schedule.backbone import Operator, RunTimeSize
from warploom.schedule.nest import (
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Space,
    Store,
    Swizzle,
    Trips,
    Way,
    loops,
    products_of,
    verify,
)

Change = Callable[[Node], Node]


def changed(nest: Nest, change: Change) -> Nest:
    def node(old: Node) -> Node:
        if isinstance(old, Loop):
            old = replace(old, body=tuple(map(node, old.body)))
        return change(old)

    return replace(nest, body=tuple(map(node, nest.body)))


def of_sum(new: Callable[[Compute], Compute]) -> Change:
    return lambda n: new(n) if isinstance(n, Compute) and n.operator is Operator.FMA else n


def of_loads(new: Callable[[Load], Load]) -> Change:
    return lambda n: new(n) if isinstance(n, Load) and n.memory.buffer >= 3 else n


def of_loops(test: Callable[[Loop], bool], new: Callable[[Loop], Loop]) -> Change:
    return lambda n: new(n) if isinstance(n, Loop) and test(n) else n


def moved(load: Load, by: int, factor: int = 1) -> Load:
    offset = load.memory.offset
    terms = tuple((n, s * factor) for n, s in offset.terms)
    return replace(load, memory=replace(load.memory, offset=Linear(terms, offset.constant + by)))


WAYS = {
    "by rows": (Way.TRANSPOSED, Way.PIECES), "by columns": (Way.PIECES, Way.PIECES), "summed outside": (Way.TRANSPOSED,) * 2,
    "bytes": (Way.PIECES, Way.PIECES), "small floats": (Way.PIECES, Way.PIECES), "rounded": (Way.WORDS, Way.PIECES),
    "doubles": (Way.WORDS, Way.WORDS),
}  # fmt: skip
"""How rows and columns get into registers."""


@pytest.mark.parametrize("name", WAYS)
def test_a_product_is_found_as_it_is_decided(name: str) -> None:
    nest = nest_of(name)
    assert verify(nest) == ()
    (part,) = products_of(nest)
    assert (part.rows.way, part.columns.way) == WAYS[name]
    points = sum(1 for _ in part.row_points) * sum(1 for _ in part.column_points)
    on = part.instruction
    assert part.count * on.products == 32 * points * on.deep * len(part.rows.slices)


@cache
def idle() -> int:
    return next(x.number for x in loops(nest_of("by columns", 32).body) if x.kind is Kind.THREAD and x.hardware == 2)


CHANGES: dict[str, Change] = {
    "guarded sums": of_sum(lambda n: replace(n, guards=(Guard(Linear(()), 1),))),
    "another operator": of_sum(lambda n: replace(n, operator=Operator.ADD, arguments=n.arguments[1:])),
    "no sum": of_sum(lambda n: replace(n, arguments=(*n.arguments[:2], n.arguments[0]))),
    "one factor twice": of_sum(lambda n: replace(n, arguments=(n.arguments[0], n.arguments[0], n.arguments[2]))),
    "guarded loads": of_loads(lambda n: replace(n, memory=replace(n.memory, guards=(Guard(Linear(()), 1),)))),
    "loads of pieces that are not aligned": of_loads(lambda n: moved(n, 4)),
    "loads of every other element": of_loads(lambda n: moved(n, 0, 2)),
    "a swizzle that parts pieces": of_loads(lambda n: replace(n, memory=replace(n.memory, swizzle=Swizzle(Xor(8, 1), 4)))),
    "summed indices that are no multiple of 16": of_loops(
        lambda x: x.name == "k1" and x.kind is Kind.LOOP, lambda x: replace(x, size=1)
    ),
    "a number of summed indices known at run time": of_loops(
        lambda x: x.name == "k1" and x.kind is Kind.LOOP, lambda x: replace(x, trips=Trips(RunTimeSize("k"), 1))
    ),
    "threads in another order": of_loops(
        lambda x: x.kind is Kind.THREAD and x.hardware in (0, 1), lambda x: replace(x, hardware=1 - (x.hardware or 0))
    ),
    "idle threads": of_loops(lambda x: x.number == idle(), lambda x: replace(x, size=2 * x.size)),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_other_parts_are_not(reason: str) -> None:
    assert products_of(changed(nest_of("by columns", 32), CHANGES[reason])) == ()


def test_factors_that_something_else_reads_or_that_are_not_shared_are_not() -> None:
    nest = nest_of("by columns", 32)
    shared = tuple(replace(b, space=Space.GLOBAL) if b.space is Space.SHARED else b for b in nest.buffers)
    assert products_of(replace(nest, buffers=shared)) == ()
    factor = products_of(nest)[0].rows.load

    def stored(node: Node) -> Node:
        is_there = isinstance(node, Loop) and factor in node.body
        return replace(node, body=(*node.body, Store(factor.memory, factor.target))) if is_there else node

    assert products_of(changed(nest, stored)) == ()
