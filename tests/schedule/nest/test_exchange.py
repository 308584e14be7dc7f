"""Where barriers go."""

from __future__ import annotations

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import Constant, Role
from warploom.schedule.nest import (
    Barrier,
    Buffer,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Store,
    Value,
    verify,
    with_barriers,
)

X, Y = Buffer("x", f32, 4, Role.INPUT), Buffer("y", f32, 6, Role.OUTPUT)


def test_no_barrier_inside_a_vector() -> None:
    """Rows of 3 in vectors of 2: two iterations of the outer loop could write one element, were it not for the guard."""
    element = Linear(((1, 3), (2, 2), (3, 1)))
    one_thread = Guard(Linear(((0, 1),)), 1)
    store = Store(Memory(1, element, (Guard(Linear(((2, 2), (3, 1))), 3),)), Constant(1.0), (one_thread,))
    load = Load(Ref(0, ()), Memory(0, Linear(((0, 1),))))
    vector = Loop(3, "v", Kind.VECTOR, 2, (store,))
    rows = Loop(1, "r", Kind.LOOP, 2, (Loop(2, "c", Kind.LOOP, 2, (vector,)),))
    body: tuple[Node, ...] = (Loop(0, "t", Kind.THREAD, 2, (load,), hardware=0), rows)
    found = with_barriers(Nest("k", (X, Y), (), (Value("a", f32, ()),), body))
    assert verify(found) == ()
    inside = found.body[1]
    while isinstance(inside, Loop) and inside.kind is not Kind.VECTOR:
        following = inside.body[0]
        assert isinstance(following, Loop) and all(isinstance(n, Barrier) for n in inside.body[1:])
        inside = following
    assert inside == vector
