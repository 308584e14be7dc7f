"""Neighbouring loops as one: what is joined, what each reason keeps apart, and that the results stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warploom.core import f32
from warploom.core.linear import Linear, variable
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.nest import (
    Barrier,
    Buffer,
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
    fused,
    statements,
    verify,
)

X, Y, Z, TILE = range(4)
BUFFERS = (
    Buffer("X", f32, 8, Role.INPUT),
    Buffer("Y", f32, 8, Role.OUTPUT),
    Buffer("Z", f32, 8, Role.OUTPUT),
    Buffer("tile", f32, 8, Role.TEMPORARY, Space.SHARED),
)
A, B, TOTAL = range(3)
VALUES = tuple(Value(name, f32, (Register(4, is_vector=False),)) for name in ("a", "b", "total"))


def at(loop: int) -> tuple[Linear[int]]:
    return (variable(loop),)


def unroll(number: int, *body: Node, size: int = 4, kind: Kind = Kind.UNROLL, hardware: int | None = None) -> Loop:
    return Loop(number, f"i{number}", kind, size, body, hardware)


def loaded(loop: int, buffer: int = X, value: int = A, *, is_async: bool = False) -> Load:
    return Load(Ref(value, at(loop)), Memory(buffer, variable(loop)), is_async)


def negated(loop: int, to: int = B, of: int = A, read: tuple[Linear[int]] | None = None) -> Compute:
    return Compute(Ref(to, at(loop)), Operator.NEG, (Ref(of, read or at(loop)),))


def stored(loop: int, value: int = B, buffer: int = Y) -> Store:
    return Store(Memory(buffer, variable(loop)), Ref(value, at(loop)))


def nest(*body: Node) -> Nest:
    return Nest("k", BUFFERS, (), VALUES, body)


def test_steps_on_one_element_are_one_loop_and_hold_one_element() -> None:
    found = fused(nest(unroll(0, loaded(0)), unroll(1, negated(1)), unroll(2, stored(2))))
    (loop,) = found.body
    assert isinstance(loop, Loop) and loop.size == 4
    a, b = Ref(A, ()), Ref(B, ())
    assert loop.body == (
        Load(a, Memory(X, variable(0))),
        Compute(b, Operator.NEG, (a,)),
        Store(Memory(Y, variable(0)), b),
    )
    assert [value.axes for value in found.values[:2]] == [(), ()]


def test_totals_of_values_that_lose_an_axis() -> None:
    """Rows of a matrix one after the other: what is summed over is the first axis now."""
    four = Register(4, is_vector=False)
    values = (Value("a", f32, (four,)), Value("part", f32, (four, four)), Value("total", f32, (four,)))
    kernel = Nest("k", BUFFERS, (), values, (
        unroll(
            0,
            unroll(1, loaded(1)),
            unroll(2, Compute(Ref(1, (variable(0), variable(2))), Operator.NEG, (Ref(0, at(2)),))),
            Combine(Ref(2, at(0)), Operator.ADD, Ref(1, (variable(0), Linear((), 0))), (1,), ()),
            stored(0, 2),
        ),
    ))  # fmt: skip
    found = fused(kernel)
    assert verify(kernel) == verify(found) == ()
    (combine,) = (s for s, _ in statements(found.body) if isinstance(s, Combine))
    assert combine == Combine(Ref(2, ()), Operator.ADD, Ref(1, (Linear((), 0),)), (0,), ())


def test_what_is_used_elsewhere_keeps_its_elements() -> None:
    found = fused(nest(unroll(0, loaded(0)), unroll(1, negated(1)), Barrier(), unroll(2, stored(2))))
    assert len(found.body) == 3
    assert [value.axes for value in found.values[:2]] == [(), (Register(4, is_vector=False),)]


def test_loops_of_threads_and_those_in_them() -> None:
    threads = [
        unroll(n, unroll(n + 1, node), size=8, kind=Kind.THREAD, hardware=0) for n, node in ((0, loaded(1)), (2, negated(3)))
    ]
    (thread,) = fused(nest(*threads)).body
    assert isinstance(thread, Loop) and thread.kind is Kind.THREAD
    (inner,) = thread.body
    assert isinstance(inner, Loop) and len(inner.body) == 2


APART: dict[str, Callable[[], tuple[Node, ...]]] = {
    "other sizes": lambda: (unroll(0, loaded(0)), unroll(1, negated(1), size=2)),
    "another kind": lambda: (unroll(0, loaded(0)), unroll(1, negated(1), kind=Kind.LOOP)),
    "another dimension": lambda: (
        unroll(0, loaded(0), kind=Kind.THREAD, hardware=0),
        unroll(1, negated(1), kind=Kind.THREAD, hardware=1),
    ),
    "something between": lambda: (unroll(0, loaded(0)), Barrier(), unroll(1, negated(1))),
    "a neighbour's element": lambda: (
        unroll(0, loaded(0)),
        unroll(1, negated(1, read=(Linear((), 3),))),
    ),
    "an element that is read before it is overwritten": lambda: (
        unroll(0, negated(0, read=(Linear((), 3),))),
        unroll(1, loaded(1)),
    ),
    "a sum": lambda: (
        unroll(0, loaded(0)),
        unroll(1, Compute(Ref(TOTAL, at(1)), Operator.ADD, (Ref(TOTAL, at(1)), Ref(A, at(1))))),
    ),
    "a sum that reads a total before it is made": lambda: (
        unroll(0, negated(0, to=B, of=TOTAL, read=(Linear((), 3),))),
        unroll(1, Compute(Ref(TOTAL, at(1)), Operator.ADD, (Ref(TOTAL, at(1)), Ref(B, at(1))))),
    ),
    "two sums of one value": lambda: (
        unroll(0, negated(0)),
        unroll(
            1,
            Compute(Ref(TOTAL, at(1)), Operator.ADD, (Ref(TOTAL, at(1)), Ref(B, at(1)))),
            Compute(Ref(TOTAL, at(1)), Operator.MAX, (Ref(TOTAL, at(1)), Ref(B, at(1)))),
        ),
    ),
    "the start of a sum": lambda: (
        unroll(0, Compute(Ref(TOTAL, at(0)), Operator.MOVE, (Constant(0.0),))),
        unroll(1, negated(1)),
        Barrier(),
        unroll(2, Compute(Ref(TOTAL, at(2)), Operator.ADD, (Ref(TOTAL, at(2)), Ref(A, at(2))))),
    ),
    "a copy to shared memory": lambda: (unroll(0, loaded(0)), unroll(1, stored(1, A, TILE))),
    "a read of shared memory": lambda: (unroll(0, loaded(0, TILE)), unroll(1, negated(1))),
    "a copy that is still on its way": lambda: (unroll(0, loaded(0, is_async=True)), unroll(1, negated(1))),
    "a barrier inside": lambda: (
        unroll(0, loaded(0), Barrier(), kind=Kind.THREAD, hardware=0),
        unroll(1, negated(1), kind=Kind.THREAD, hardware=0),
    ),
    "a store and a load of one array": lambda: (unroll(0, stored(0, A, Y)), unroll(1, loaded(1, Y, B))),
    "a load and a store of one array": lambda: (unroll(0, loaded(0, Y)), unroll(1, stored(1, B, Y))),
}


@pytest.mark.parametrize("reason", APART)
def test_each_reason_alone_keeps_loops_apart(reason: str) -> None:
    kernel = nest(*APART[reason]())
    assert fused(kernel) is kernel


def test_a_sum_takes_each_element_when_it_is_made() -> None:
    total = Ref(TOTAL, (Linear((), 0),))
    found = fused(nest(unroll(0, negated(0)), unroll(1, Compute(total, Operator.ADD, (total, Ref(B, at(1)))))))
    (loop,) = found.body
    assert isinstance(loop, Loop)
    assert [s.operator for s, _ in statements((loop,)) if isinstance(s, Compute)] == [Operator.NEG, Operator.ADD]
    assert found.values[B].axes == ()


def test_stores_to_two_arrays_are_joined() -> None:
    found = fused(nest(unroll(0, stored(0, A, Y)), unroll(1, stored(1, B, Z))))
    assert len(found.body) == 1


def test_guards_that_name_a_loop_that_is_gone() -> None:
    threads = [unroll(n, node, kind=Kind.THREAD, hardware=0) for n, node in ((0, loaded(0)), (1, negated(1)))]
    alone = Store(Memory(Y, Linear((), 0)), Constant(1.0), (Guard(variable(1), 1),))
    found = fused(nest(*threads, Barrier(), alone))
    last = found.body[-1]
    assert isinstance(last, Store) and last.guards[0].index == variable(0)
