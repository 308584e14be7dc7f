"""Rules, text, keys and runs of small nests written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.nest.interpreter import NestError, interpret

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import Constant, Operator, Parameter, Role
from warploom.schedule.nest import (
    Affine,
    Barrier,
    Buffer,
    Builder,
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
    Value,
    code_size,
    counts,
    identity,
    loops,
    text,
    verify,
    with_barriers,
)

X, Y, T = Buffer("x", f32, 8, Role.INPUT), Buffer("y", f32, 8, Role.OUTPUT), Buffer("t", f32, 8, Role.TEMPORARY, Space.SHARED)
A = Value("a", f32, ())


def at(*terms: tuple[int, int], constant: int = 0) -> Affine:
    return Linear(terms, constant)


def nest(*body: Node, values: tuple[Value, ...] = (A,), buffers: tuple[Buffer, ...] = (X, Y, T)) -> Nest:
    return Nest("k", buffers, (), values, body)


def threads(number: int, *body: Node, size: int = 8, name: str = "t") -> Loop:
    return Loop(number, name, Kind.THREAD, size, body, hardware=0)


def reversal(*between: Node) -> Nest:
    """y[i] = x[7 - i] through shared memory."""
    return nest(
        threads(0, Load(Ref(0, ()), Memory(0, at((0, 1)))), Store(Memory(2, at((0, 1))), Ref(0, ()))),
        *between,
        threads(1, Load(Ref(0, ()), Memory(2, at((1, -1), constant=7))), Store(Memory(1, at((1, 1))), Ref(0, ()))),
    )


def test_exchange_between_threads_needs_a_barrier() -> None:
    x = np.arange(8.0, dtype=np.float32)
    missing = reversal()
    assert verify(missing) == ("threads exchange data without a barrier between",)
    with pytest.raises(NestError, match=r"two threads race for t|t\[\d\] is loaded before"):
        interpret(missing, {"x": x})
    right = with_barriers(missing)
    assert right == reversal(Barrier())
    assert verify(right) == ()
    assert interpret(right, {"x": x})["y"].tolist() == x[::-1].tolist()


def test_next_iteration_waits_before_it_overwrites() -> None:
    def repeated(*body: Node) -> Nest:
        return nest(Loop(9, "r", Kind.LOOP, 3, body))

    inner = reversal(Barrier()).body
    assert verify(repeated(*inner)) == ("threads exchange data without a barrier between",)
    with pytest.raises(NestError, match="two threads race"):
        interpret(repeated(*inner), {"x": np.zeros(8)})
    right = repeated(*inner, Barrier())
    assert with_barriers(repeated(*inner)) == right
    assert verify(right) == ()
    interpret(right, {"x": np.zeros(8)})


def test_threads_that_read_what_they_wrote_need_no_barrier() -> None:
    buffers = (X, Y)
    load, store = Load(Ref(0, ()), Memory(0, at((0, 1)))), Store(Memory(1, at((0, 1))), Ref(0, ()))
    again = Load(Ref(0, ()), Memory(1, at((1, 1)))), Store(Memory(1, at((1, 1))), Constant(2.0))
    both = nest(threads(0, load, store), threads(1, *again), buffers=buffers)
    assert verify(both) == ()
    assert interpret(both, {"x": np.zeros(8)})["y"].tolist() == [2.0] * 8
    other = Load(Ref(0, ()), Memory(1, at((1, -1), constant=7)))
    assert "threads exchange data without a barrier between" in verify(nest(threads(0, load, store), threads(1, other)))


def test_store_of_several_threads() -> None:
    twice = nest(threads(0, Store(Memory(1, at()), Constant(1.0))))
    assert verify(twice) == ("several threads store to one place of y",)
    with pytest.raises(NestError, match=r"race for y\[0\]"):
        interpret(twice, {"x": np.zeros(8)})
    first = Guard(at((0, 1)), 1)
    outside = nest(threads(0, Load(Ref(0, ()), Memory(0, at((0, 1))))), Store(Memory(1, at()), Constant(1.0), (first,)))
    assert verify(outside) == ()
    assert interpret(outside, {"x": np.zeros(8)})["y"][0] == 1.0


def loop(number: int, kind: Kind, *body: Node, size: int = 8) -> Loop:
    return Loop(number, f"i{number}", kind, size, body)


V = Value("v", f32, (Register(4, is_vector=True),))
LOAD = Load(Ref(0, ()), Memory(0, at((0, 1))))


@pytest.mark.parametrize(
    ("body", "values", "message"),
    [
        ((loop(0, Kind.LOOP, LOAD), loop(0, Kind.LOOP, LOAD)), (A,), "loop number 0 is used twice"),
        ((loop(0, Kind.LOOP, LOAD, size=9),), (A,), "offsets of x run from 0 to 8, it has 8 elements"),
        ((loop(0, Kind.VECTOR, LOAD),), (A,), "the lanes of i0 write one register"),
        ((loop(0, Kind.VECTOR, LOAD, LOAD),), (A,), "vector loop i0 holds more than one statement"),
        ((LOAD,), (A,), "loop 0 is used outside of it"),
        ((loop(0, Kind.LOOP, Store(Memory(1, at((0, 1))), Ref(0, ()))),), (A,), "a is read before it is written"),
        ((loop(0, Kind.LOOP, Load(Ref(0, (at((0, 1)),)), Memory(0, at()))),), (V,), "selects no register of v"),
        ((loop(0, Kind.LOOP, Load(Ref(0, (at((0, 1)),)), Memory(0, at())), size=4),), (V,), "is selected by loop loop i0"),
        ((Load(Ref(0, (at(constant=4),)), Memory(0, at())),), (V,), "selects no register of v"),
        ((Load(Ref(0, ()), Memory(0, at())),), (V,), "value v has 1 axes, got 0"),
        ((Store(Memory(0, at()), Constant(1.0)),), (A,), "input x is stored to"),
        ((Load(Ref(0, ()), Memory(2, at())),), (A,), "t is loaded before it is stored"),
        ((loop(0, Kind.LOOP, loop(1, Kind.BLOCK, LOAD)),), (A,), "block loops are not outermost"),
        ((threads(0, threads(1, LOAD)),), (A,), "thread loop t holds another on its hardware dimension"),
        ((threads(0, LOAD, Barrier()),), (A,), "threads meet inside thread loop t"),
        ((Loop(0, "i0", Kind.LOOP, 8, (LOAD,), stages=2),), (A,), "fills nothing ahead"),
    ],
)  # fmt: skip
def test_broken_rules(body: tuple[Node, ...], values: tuple[Value, ...], message: str) -> None:
    assert any(message in problem for problem in verify(nest(*body, values=values)))


def test_guards_keep_places_inside() -> None:
    guard = Guard(at((0, 1), (1, 1), constant=-1), 8)
    load = Load(Ref(0, ()), Memory(0, at((0, 1), (1, 1), constant=-1), (guard,), fill=0.0))
    total = Compute(Ref(1, ()), Operator.ADD, (Ref(0, ()), Ref(1, ())))
    window = nest(
        loop(
            0,
            Kind.LOOP,
            Compute(Ref(1, ()), Operator.MOVE, (Constant(0.0),)),
            loop(1, Kind.UNROLL, load, total, size=3),
            Store(Memory(1, at((0, 1))), Ref(1, ())),
        ),
        values=(A, Value("b", f32, ())),
    )
    assert verify(window) == ()
    x = np.arange(8.0)
    assert interpret(window, {"x": x})["y"].tolist() == np.convolve(x, [1, 1, 1], "same").tolist()
    bare = replace(load, memory=replace(load.memory, guards=()))
    assert any("run from -1 to 8" in p for p in verify(nest(loop(0, Kind.LOOP, loop(1, Kind.UNROLL, bare, size=3)))))


def test_totals_over_registers_and_threads() -> None:
    partial = Value("p", f32, (Register(2, is_vector=True),))
    fill = loop(5, Kind.VECTOR, Compute(Ref(0, (at((5, 1)),)), Operator.MOVE, (Constant(0.0),)), size=2)
    add = Compute(Ref(0, (at((1, 1)),)), Operator.ADD, (Ref(1, (at((1, 1)),)), Ref(0, (at((1, 1)),))))
    load = Load(Ref(1, (at((1, 1)),)), Memory(0, at((0, 2), (1, 1))))
    sums = nest(
        fill,
        threads(0, loop(1, Kind.VECTOR, load, size=2), loop(2, Kind.UNROLL, replace_index(add, 2), size=2), size=4),
        Combine(Ref(2, ()), Operator.ADD, Ref(0, (at(),)), (0,), (0,)),
        Store(Memory(1, at()), Ref(2, ()), (Guard(at((0, 1)), 1),)),
        values=(partial, V.__class__("l", f32, (Register(2, is_vector=True),)), Value("s", f32, ())),
    )
    assert verify(sums) == ()
    assert interpret(sums, {"x": np.arange(8.0)})["y"][0] == 28.0
    found = {type(c.statement).__name__: c for c in counts(sums)}
    assert (found["Load"].instructions, found["Load"].lanes, found["Combine"].instructions * found["Combine"].lanes) == (4, 2, 4)
    assert code_size(sums.body) == 1 + 1 + 2 + 1 + 1


def replace_index(compute: Compute, number: int) -> Compute:
    ref = (at((number, 1)),)
    return replace(compute, target=Ref(0, ref), arguments=(Ref(1, ref), Ref(0, ref)))


def test_key_has_no_names() -> None:
    one = reversal(Barrier())
    renamed = replace(one, values=(Value("other", f32, ()),), buffers=(X, Y, replace(T, name="tile")))
    numbered = replace(renamed, body=tuple(_renumbered(node) for node in renamed.body))
    assert text(numbered) != text(one)
    assert identity(numbered) == identity(one)
    assert identity(reversal()) != identity(one)


def _renumbered(node: Node) -> Node:
    def moved(affine: Affine) -> Affine:
        return Linear(tuple((n + 7, s) for n, s in affine.terms), affine.constant)

    match node:
        case Loop():
            return replace(node, number=node.number + 7, name="z", body=tuple(map(_renumbered, node.body)))
        case Load() | Store():
            return replace(node, memory=replace(node.memory, offset=moved(node.memory.offset)))
        case _:
            return node


def test_guards_are_shown_whole() -> None:
    indices = at((0, 2), constant=-1), at((0, -1), constant=7), at((0, -1), constant=6), at((0, 1))
    guards = tuple(Guard(index, 9) for index in indices)
    body = loop(0, Kind.LOOP, Load(Ref(0, ()), Memory(0, at((0, 1)), guards, fill=1.0)))
    assert text(nest(body)).splitlines()[-1].strip() == (
        "a = load x[i0] if 0 <= 2*i0 - 1 < 9 and -1*i0 + 7 < 9 and 0 <= -1*i0 + 6 < 9 and i0 < 9 else 1.0"
    )


def test_text() -> None:
    guarded = nest(
        loop(0, Kind.LOOP, Compute(Ref(0, ()), Operator.MUL, (Parameter("alpha", f32), Constant(2.0)), (Guard(at((0, 2)), 9),)))
    )
    assert text(replace(guarded, parameters=(Parameter("alpha", f32),))) == (
        "kernel k(x: f32[8], y: f32[8], alpha: f32)\n"
        "  buffer t: f32[8] in shared\n"
        "  value a: f32\n"
        "  loop i0 in 8:\n"
        "    a = mul(alpha, 2.0) if 2*i0 < 9\n"
    )


def test_hardware_dimensions_of_nests_written_by_hand() -> None:
    b = Builder("copy")
    x, y = b.buffer("x", 24), b.buffer("y", 24, Role.OUTPUT)
    value = b.value("value")
    with b.loop("i", Kind.BLOCK, 2) as i, b.loop("j", Kind.BLOCK, 3) as j, b.loop("t", Kind.THREAD, 4) as t:
        b.load(b.ref(value), x, i * 12 + j * 4 + t)
        b.store(y, i * 12 + j * 4 + t, b.ref(value))
    made = b.nest()
    assert verify(made) == ()
    assert [(loop.name, loop.hardware) for loop in loops(made.body)] == [("i", 1), ("j", 0), ("t", 0)]
