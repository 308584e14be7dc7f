"""Copies that all threads of a block share out: every element once, by all of them; the nest as it was where that cannot be."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from math import prod

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend, stages
from tests.schedule.cuda.nests import Case
from tests.schedule.cuda.test_kernels import checked
from tests.schedule.nest.interpreter import interpret

from warploom.core import DType, f16, f32
from warploom.core.linear import Linear
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Operator, Role, evaluate
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.choices.lower_spread import Share, shares_of, spread
from warploom.schedule.nest import (
    Builder,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Space,
    Store,
    hardware_sizes,
    loops,
    statements,
    text,
    threads_of,
    verify,
    with_barriers,
)
from warploom.schedule.targets import target

with_toolchain = pytest.mark.skipif(not toolchain_available(), reason="the CUDA compiler (extra cuda) is not installed")


def copying(rows: int, columns: int, x: int, y: int, *, across: bool = False, dtype: DType = f32, edge: int = 0) -> Nest:
    """Tiles of an array with twice as many rows go through shared memory, copied element by element, and out again by rows;
    `across`: the tile lies by columns; `edge`: columns that the array has, the rest is 0."""
    b = Builder("copying")
    wide = edge or columns
    source, target_ = b.buffer("X", 2 * rows * wide, dtype=dtype), b.buffer("Y", 2 * rows * columns, Role.OUTPUT, dtype)
    tile = b.scratch("tile", rows * columns, dtype)
    v, w = b.value("v", dtype=dtype), b.value("w", dtype=dtype)
    with b.loop("tile", Kind.LOOP, 2) as t:
        with b.loop("r", Kind.LOOP, rows) as r, b.loop("c", Kind.LOOP, columns) as c:
            guards = [(c, edge)] if edge else []
            b.load(b.ref(v), source, t * (rows * wide) + r * wide + c, *guards)
            b.store(tile, c * rows + r if across else r * columns + c, b.ref(v))
        with (
            b.loop("y", Kind.THREAD, y, hardware=1) as ty,
            b.loop("x", Kind.THREAD, x) as tx,
            b.loop("n", Kind.LOOP, rows) as n,
            b.loop("m", Kind.LOOP, -(-columns // (x * y))) as m,
        ):
            place = m * (x * y) + ty * x + tx
            b.load(b.ref(w), tile, n + place * rows if across else n * columns + place, (place, columns))
            b.store(target_, t * (rows * columns) + n * columns + place, b.ref(w), (place, columns))
    return b.nest()


def copied(nest: Nest, *, is_async: bool = False) -> Nest:
    return with_barriers(spread(nest, 2, is_async=is_async))


def digits(nest: Nest) -> list[Loop]:
    return [x for x in loops(nest.body) if x.digit is not None]


SHAPES = [(8, 8, 4, 4), (32, 8, 8, 8), (7, 10, 8, 3), (3, 20, 16, 1), (1, 4, 8, 4), (5, 1, 16, 2), (6, 96, 16, 2), (64, 2, 8, 1)]


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_element_arrives(shape: tuple[int, int, int, int], across: bool) -> None:
    rows, columns, *_ = shape
    nest = copied(copying(*shape, across=across))
    assert verify(nest) == () and digits(nest)
    given = np.arange(2 * rows * columns, dtype=np.float32)
    assert (interpret(nest, {"X": given})["Y"] == given).all()


def test_what_is_beyond_the_array_is_filled() -> None:
    nest = copied(copying(4, 8, 4, 2, edge=6))
    assert verify(nest) == ()
    given = np.arange(1, 49, dtype=np.float32).reshape(8, 6)
    found = interpret(nest, {"X": given})["Y"].reshape(8, 8)
    assert (found[:, :6] == given).all() and (found[:, 6:] == 0).all()


def test_all_threads_copy_and_neighbours_read_neighbours() -> None:
    """A slice of eight of 128 rows: with loops of their own only some of 256 threads would copy it."""
    nest = copied(copying(128, 8, 16, 16), is_async=True)
    load, around = next((s, a) for s, a in statements(nest.body) if isinstance(s, Load) and s.memory.buffer == 0)
    threads = threads_of(nest)
    assert threads.running(around).all() and all(x.kind is not Kind.UNROLL for x in around)
    assert around[-1].kind is Kind.VECTOR and around[-1].size == 4
    assert list(threads.value(load.memory.offset)) == list(range(0, 1024, 4))


@pytest.mark.parametrize(
    ("across", "is_async", "dtype", "edge", "load", "store"),
    [
        (False, True, f32, 0, 4, 4),
        (False, False, f32, 0, 4, 4),
        (True, True, f32, 0, 1, 1),  # asynchronous copies of single words
        (True, False, f32, 0, 4, 1),
        (True, True, f16, 0, 8, 1),  # too narrow for one
        (False, True, f16, 0, 8, 8),
        (False, True, f32, 6, 2, 2),  # rows begin at multiples of two, and end there
        (False, True, f32, 5, 1, 1),
    ],
)  # fmt: skip
def test_vectors_are_as_wide_as_the_places_allow(
    across: bool, is_async: bool, dtype: DType, edge: int, load: int, store: int
) -> None:
    nest = copied(copying(16, 8, 4, 4, across=across, dtype=dtype, edge=edge), is_async=is_async)
    widths: dict[type[Node], int] = {}
    for statement, around in statements(nest.body):
        if any(x.digit is not None for x in around):
            widths[type(statement)] = prod(x.size for x in around if x.kind is Kind.VECTOR)
    assert widths == {Load: load, Store: store}


def test_shares_take_the_fewest_rounds() -> None:
    assert shares_of((2, 128), 256) == [Share(2, 1), Share(128, 1)]
    assert shares_of((32, 8), 128) == [Share(32, 1), Share(4, 2)]
    assert shares_of((7, 12), 8) == [Share(7, 1), Share(1, 12)]  # not 4 along the second, which would be 14 rounds
    assert shares_of((96, 4), 64) == [Share(48, 2), Share(1, 4)]  # as few rounds as 64 in the first of two, all alike
    assert shares_of((7,), 4) == [Share(4, 2)]  # the last round is guarded
    assert shares_of((1,), 4) == [Share(1, 1)]


def changed(nest: Nest, change: Callable[[Loop], Node]) -> Nest:
    """The nest with another copy in place of its outermost loop's first child."""
    (outer,) = nest.body
    assert isinstance(outer, Loop) and isinstance(outer.body[0], Loop)
    return replace(nest, body=(replace(outer, body=(change(outer.body[0]), *outer.body[1:])),))


def _inner(change: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Callable[[Loop], Node]:
    def whole(rows: Loop) -> Node:
        (columns,) = rows.body
        assert isinstance(columns, Loop)
        return replace(rows, body=(replace(columns, body=change(columns.body)),))

    return whole


def _other_value(body: tuple[Node, ...]) -> tuple[Node, ...]:
    store = body[1]
    assert isinstance(store, Store)
    return body[0], replace(store, argument=Ref(1, ()))


def _from_shared(body: tuple[Node, ...]) -> tuple[Node, ...]:
    load = body[0]
    assert isinstance(load, Load)
    return replace(load, memory=replace(load.memory, buffer=3)), body[1]


REFUSED: dict[str, Callable[[Nest], Nest]] = {
    "not shared": lambda n: replace(n, buffers=(*n.buffers[:2], replace(n.buffers[2], space=Space.GLOBAL))),
    "two stores": lambda n: changed(n, _inner(lambda body: (*body, body[1]))),
    "nobody reads": lambda n: changed(replace(n, body=(replace(_loop(n.body[0]), body=_loop(n.body[0]).body[:1]),)), lambda x: x),
    "no loops": lambda n: changed(n, lambda rows: Loop(90, "one", Kind.UNROLL, 1, _loop(rows.body[0]).body)),
    "unrolled": lambda n: changed(n, lambda rows: replace(rows, kind=Kind.UNROLL)),
    "known at run time": lambda n: changed(n, lambda rows: replace(rows, only=(Guard(Linear(((rows.number, 1),)), 4),))),
    "something beside": lambda n: changed(
        n, _inner(lambda body: (body[0], Compute(Ref(1, ()), Operator.MOVE, (Ref(0, ()),)), body[1]))
    ),
    "another value": lambda n: changed(n, _inner(_other_value)),
    "by threads": lambda n: replace(n, body=(replace(_loop(n.body[0]), kind=Kind.THREAD, hardware=2),)),
    "in turn": lambda n: changed(n, lambda rows: Loop(91, "again", Kind.LOOP, 2, (rows,))),
    "from shared memory": lambda n: changed(
        replace(n, buffers=(*n.buffers, replace(n.buffers[2], name="other"))), _inner(_from_shared)
    ),
}


def _loop(node: Node) -> Loop:
    assert isinstance(node, Loop)
    return node


@pytest.mark.parametrize("reason", REFUSED)
def test_other_loops_stay_as_they_are(reason: str) -> None:
    nest = copying(8, 8, 4, 2)
    assert spread(nest, 2, is_async=False) != nest
    other = REFUSED[reason](nest)
    assert spread(other, 2, is_async=False) == other


def test_a_value_that_is_loaded_elsewhere_stays() -> None:
    nest = copying(8, 8, 4, 2)
    outer = _loop(nest.body[0])
    again = Load(Ref(0, ()), next(s.memory for s, _ in statements(nest.body) if isinstance(s, Load)).mapped(lambda _: Linear()))
    nest = replace(nest, body=(replace(outer, body=(*outer.body, again)),))
    assert spread(nest, 2, is_async=False) == nest


def first_of(space: KernelSpace, staged: tuple[str, ...], seed: int) -> Nest:
    """A random kernel whose copies into these temporaries all threads share out."""
    candidate = space.root()
    for name in staged:
        candidate = space.set_by_name(candidate, f"spread(tmp_{name})", "YES")
    for number, temporary in enumerate(space.temporaries):
        if temporary.name in staged:
            pair = space.objects.pairs_of(number)[seed % len(temporary.pairs)]
            candidate = candidate.restrict("dim_mapping", (pair,), 1) or candidate
    candidate = space.usually(candidate, lambda choice: choice == "size", seed)
    for attempt in count(seed):
        found = descend(space, random.Random(attempt), candidate)
        if found is not None and digits(nest := space.lower(found)):
            return nest
    raise AssertionError


def test_random_kernels_compute_the_product() -> None:
    (backbone,) = stages("matmul")
    space = kernel_space(backbone, target("sm_80"))
    numbers = np.random.default_rng(2)
    arrays = {r.name: numbers.integers(-4, 5, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}
    for seed in range(3):
        nest = first_of(space, ("load_A", "load_B")[seed % 2 :], seed)
        assert verify(nest) == () and prod(hardware_sizes(nest, Kind.THREAD)) > 1
        assert (interpret(nest, arrays)["C"] == evaluate(backbone, arrays)["C"].ravel()).all()


@with_toolchain
@pytest.mark.parametrize(("across", "words"), [(False, ("if (t1 < 18)",)), (True, ("/ 3;", "% 3;", "if (t3 < 6)"))])
def test_the_printed_copies_are_those_of_the_nest(across: bool, words: tuple[str, ...]) -> None:
    given = np.arange(144, dtype=np.float32)
    nest = copied(copying(6, 12, 8, 3, across=across))
    kernel, _ = checked(Case(nest, {"X": given, "Y": np.zeros_like(given)}, {}, {"Y": given}))
    assert all(word in kernel.text for word in words)


def test_the_text_says_how_threads_lie() -> None:
    shown = text(copied(copying(128, 8, 16, 16, across=True)))
    assert "thread copy1 in 128 of threads / 2:" in shown and "thread copy0 in 2 of threads / 1 % 2:" in shown
