"""Each rule of nests refuses alone: nothing but what the test breaks is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.schedule.cuda.nests import xor_of_bits
from tests.schedule.nest.test_nest import LOAD, A, T, X, Y, at, loop, nest, threads

from warploom.core import f32
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.nest import (
    Barrier,
    Buffer,
    Cache,
    Combine,
    Compute,
    Digit,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Node,
    Ref,
    Register,
    Space,
    Store,
    Value,
    verify,
)

ZERO, NEVER = Ref(0, ()), Constant(1.0)
V = Value("v", f32, (Register(4, is_vector=False),))
W = Value("w", f32, (Register(4, is_vector=True), Register(2, is_vector=False)))
PERMUTED = xor_of_bits(1, 0, 1)
BLOCKS = Loop(0, "b", Kind.BLOCK, 8, (Store(Memory(1, at((0, 1))), NEVER),), hardware=0)
FILL = Store(Memory(2, at()), NEVER)
USE = Load(ZERO, Memory(2, at()))
COMMON = replace(T, space=Space.COMMON)
START_A = Compute(ZERO, Operator.MOVE, (NEVER,))
START = Compute(Ref(0, (at(),)), Operator.MOVE, (NEVER,))


def put(*terms: tuple[int, int]) -> Store:
    return Store(Memory(1, at(*terms)), NEVER)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param((loop(0, Kind.LOOP),), "loop i0 is empty", id="empty"),
        pytest.param((Loop(0, "i0", Kind.LOOP, 0, (put(),)),), "loop i0 is empty", id="no iteration"),
        pytest.param(
            (replace(loop(0, Kind.LOOP, put((0, 1))), hardware=0),), "loop loop i0 has hardware dimension 0", id="hardware"
        ),
        pytest.param((replace(BLOCKS, hardware=None),), "block loop b has hardware dimension None", id="no hardware"),
        pytest.param(
            (Loop(1, "c", Kind.BLOCK, 1, (BLOCKS,), hardware=0),),
            "two block loops share a hardware dimension",
            id="two dimensions",
        ),
        pytest.param((put((3, 1)),), "loop 3 is used outside of it", id="outside"),
        pytest.param((loop(0, Kind.LOOP, put((0, 0))),), "expression", id="stride 0"),
        pytest.param((loop(0, Kind.LOOP, put((0, 1), (0, -1))),), "expression", id="a loop twice"),
        pytest.param((Load(Ref(5, ()), Memory(0, at())),), "there is no value 5", id="no value"),
        pytest.param((Load(ZERO, Memory(7, at())),), "there is no buffer 7", id="no buffer"),
        pytest.param((replace(loop(0, Kind.UNROLL, FILL, USE), stages=2),), "unroll loop i0 has stages", id="stages"),
    ],
)
def test_loops_and_places(body: tuple[Node, ...], message: str) -> None:
    buffers = (X, Y, replace(T, copies=2)) if message.endswith("stages") else (X, Y, T)
    problems = verify(nest(*body, buffers=buffers))
    assert len(problems) == 1 and problems[0].startswith(message), problems


@pytest.mark.parametrize(
    ("buffers", "body", "message"),
    [
        pytest.param((X, Y, T), (FILL, Load(ZERO, Memory(2, at(), cache=Cache.L2))), "shared t has a cache", id="cache"),
        pytest.param(
            (X, Y, T), (Store(Memory(1, at(), swizzle=PERMUTED), NEVER),), "y is swizzled and not shared", id="swizzled"
        ),
        pytest.param((replace(X, role=Role.OUTPUT), Y, T), (
            Load(ZERO, Memory(0, at(), cache=Cache.READ_ONLY)), Store(Memory(0, at(constant=1)), NEVER)),
            "x is read through the read-only cache and stored to", id="read-only"),
        pytest.param((X, replace(Y, space=Space.SHARED), T), (put(),), "output y is in shared memory", id="output"),
        pytest.param(
            (X, Y, replace(T, copies=3)), (FILL, USE), "the 3 copies of t belong to no loop of as many stages", id="copies"
        ),
    ],
)  # fmt: skip
def test_buffers(buffers: tuple[Buffer, ...], body: tuple[Node, ...], message: str) -> None:
    assert verify(nest(*body, buffers=buffers)) == (message,)


def test_values() -> None:
    vectors_first = Compute(Ref(0, (at(), at())), Operator.MOVE, (NEVER,))
    assert verify(nest(vectors_first, values=(W,))) == ("value w has a vector axis that is not its last",)


@pytest.mark.parametrize(
    ("combine", "message"),
    [
        pytest.param(
            Combine(Ref(1, ()), Operator.ADD, Ref(0, (at(),)), (2,), ()), "v is summed over axes that it does not have", id="axis"
        ),
        pytest.param(
            Combine(Ref(1, ()), Operator.ADD, Ref(0, (at(constant=1),)), (0,), ()),
            "v is summed over axes that it does not have",
            id="at",
        ),
        pytest.param(
            Combine(Ref(1, ()), Operator.ADD, Ref(0, (at(),)), (0,), (9,)),
            "v is summed over loops that are no threads",
            id="threads",
        ),
    ],
)
def test_totals(combine: Combine, message: str) -> None:
    assert verify(nest(START, combine, values=(V, A))) == (message,)


def test_what_runs_ahead_is_apart() -> None:
    filled = Load(ZERO, Memory(0, at((0, 1)))), Store(Memory(2, at()), ZERO)
    again = Store(Memory(1, at((0, 1))), ZERO)
    two = replace(T, copies=2)
    problems = verify(nest(Loop(0, "i0", Kind.LOOP, 8, (*filled, again), stages=2), buffers=(X, Y, two)))
    assert problems == ("what runs ahead in i0 shares registers with what does not",)


def test_no_barrier_among_what_runs_ahead() -> None:
    fills = (START_A, Barrier(), FILL)
    problems = verify(nest(Loop(0, "i0", Kind.LOOP, 8, (*fills, USE), stages=2), buffers=(X, Y, replace(T, copies=2))))
    assert "threads meet among the fills of i0" in problems


def test_places_are_counted_where_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """i + j where i + 2 j < 8: only counting the points shows that it stays below 8."""
    store = Store(Memory(1, at((0, 1), (1, 1)), guards=(Guard(at((0, 1), (1, 2)), 8),)), NEVER)
    guarded = nest(loop(0, Kind.LOOP, loop(1, Kind.LOOP, store)))
    monkeypatch.setitem(verify.__globals__, "_MOST_POINTS", 64)
    assert verify(guarded) == ()
    monkeypatch.setitem(verify.__globals__, "_MOST_POINTS", 63)
    assert verify(guarded) == ("offsets of y run from 0 to 14, it has 8 elements",)


def test_arrays_of_all_blocks() -> None:
    inside = Store(Memory(2, at((0, 1))), NEVER)
    behind = loop(5, Kind.LOOP, Load(ZERO, Memory(2, at((5, 1)))))
    buffers = (X, Y, COMMON)

    def whole(*body: Node, after: tuple[Node, ...] = (behind,)) -> tuple[str, ...]:
        return verify(nest(Loop(0, "b", Kind.BLOCK, 8, body, hardware=0), *after, buffers=buffers))

    assert whole(inside) == ()
    assert whole(inside, Load(ZERO, Memory(2, at((0, 1))))) == ("t is loaded inside the blocks",)
    assert whole(Store(Memory(2, at()), NEVER)) == ("several blocks store to one place of t",)
    assert whole(inside, after=(behind, Store(Memory(2, at()), NEVER))) == ("t is stored behind the blocks",)


def test_nodes_behind_blocks_of_threads() -> None:
    blocks = Loop(0, "b", Kind.BLOCK, 8, (threads(1, put((1, 1))),), hardware=0)
    problems = verify(nest(blocks, loop(5, Kind.LOOP, LOAD_5)))
    assert "nodes stand behind the blocks of a nest with threads" in problems


LOAD_5 = replace(LOAD, memory=Memory(0, at((5, 1))))


def along(number: int, step: int, *body: Node, size: int = 4, is_last: bool = False) -> Loop:
    """A digit of a thread's number."""
    return Loop(number, f"d{number}", Kind.THREAD, size, body, digit=Digit(step, is_last))


EIGHT = threads(9, LOAD_X := Load(ZERO, Memory(0, at())))
"""A block has eight threads."""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            (replace(along(0, 1, LOAD_X), kind=Kind.LOOP),), "loop loop d0 is a digit of a thread's number", id="no threads"
        ),
        pytest.param((replace(along(0, 1, LOAD_X), hardware=0),), "thread loop d0 has hardware dimension 0", id="hardware"),
        pytest.param(
            (along(0, 3, along(1, 1, LOAD_X, size=2)),), "d0 counts steps of 3 threads, the digits inside make up 2", id="steps"
        ),
        pytest.param((along(0, 2, LOAD_X),), "d0 counts steps of 2 threads, the digits inside make up 1", id="first step"),
        pytest.param(
            (along(0, 2, along(1, 1, LOAD_X, size=2, is_last=True)),), "d1 is the last digit, and not the slowest", id="last"
        ),
        pytest.param(
            (along(0, 1, threads(1, LOAD_X, size=8)),),
            "threads of d0 lie along hardware dimensions and along digits of their number",
            id="both",
        ),
        pytest.param((along(0, 1, put((0, 1)), size=8),), "several threads store to one place of y", id="turns"),
        pytest.param(
            (along(0, 2, along(1, 1, put((0, 1)), size=2), is_last=True),), "several threads store to one place of y", id="digit"
        ),
    ],
)
def test_digits_of_threads(body: tuple[Node, ...], message: str) -> None:
    assert verify(nest(EIGHT, *body)) == (message,)


def test_digits_tell_threads_apart() -> None:
    whole = along(0, 2, along(1, 1, put((0, 2), (1, 1)), size=2), is_last=True)
    assert verify(nest(EIGHT, whole)) == ()
    assert verify(nest(EIGHT, along(0, 1, put(), size=1, is_last=True))) == ()
