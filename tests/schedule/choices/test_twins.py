"""Tiles that two sums in one loop share: which, the one copy of them in the nest, and each reason against it, alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest
from tests.schedule.choices.matrices import decided, first, nest_of, stage

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import Operator, matrix_tiles
from warploom.schedule.bound import Bound
from warploom.schedule.choices import LoweringError, lower, objects_of
from warploom.schedule.choices.decided import Twins
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.lower_candidate import CandidateDecisions
from warploom.schedule.choices.lower_twins import with_one_copy
from warploom.schedule.choices.twins import twins_of
from warploom.schedule.cost import modelled
from warploom.schedule.frontend import TensorFunction, out, tensor
from warploom.schedule.nest import (
    Compute,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Store,
    bytes_of_shared,
    loops,
    renumbered,
    statements,
    verify,
)
from warploom.schedule.targets import target

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

NAMES = ("gated", "gated, group")
SM_90 = target("sm_90")


class Apart(CandidateDecisions):
    """The same decisions, with tiles that stay apart."""

    pairs: Sequence[Twins] = ()
    room = 1 << 20

    def twins(self) -> Sequence[Twins]:
        return self.pairs

    @property
    def shared_bytes(self) -> int:
        return self.room


@cache
def apart(name: str = "gated") -> Nest:
    space, candidate = decided(name)
    return lower(Apart(space.objects, space.target, candidate))


def tiles(nest: Nest) -> list[str]:
    return [b.name for b in nest.buffers[4:]]


@pytest.mark.parametrize("name", NAMES)
def test_the_tile_of_a_factor_that_both_products_read_is_copied_once(name: str) -> None:
    nest = nest_of(name)
    assert verify(nest) == ()
    assert tiles(nest) == ["tmp_load_X", "tmp_load_G", "tmp_load_U"]
    assert tiles(apart(name)) == ["tmp_load_X", "tmp_load_G", "tmp_load_X_2", "tmp_load_U"]
    loads = [s.memory.buffer for s, _ in statements(nest.body) if isinstance(s, Load)]
    assert [loads.count(n) for n in (0, 4)] == [1, 2]
    (loop,) = (x for x in loops(nest.body) if x.stages > 1)
    assert {b.copies for b in nest.buffers[4:]} == {loop.stages}


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_knows_that_a_copy_may_do_for_two(name: str) -> None:
    space, candidate = decided(name)
    bound = Bound(space)
    root, shared, nest = bound.of(space.root()), bound.of(candidate), space.lower(candidate)
    assert root <= shared <= modelled(nest, space.target).time_ms
    missing = [o.name for o, active in zip(space.objects.operations, bound.view.active, strict=True) if not active]
    assert missing == ["load_X_2", "put_load_X_2"]
    counted = space.instance.counter_positions("shared_bytes").reshape(-1)[0]
    assert candidate.bounds[0, counted] == bytes_of_shared(nest)
    other = first(space, space.usually(space.root(), lambda _: False, len(space._habits) // 2))
    assert bound.of(other) > shared
    assert bound.view.active.all() and len(space.lower(other).buffers) == len(nest.buffers) + 1
    assert other.bounds[0, counted] == bytes_of_shared(space.lower(other))


def test_the_bound_falls_along_no_descent() -> None:
    space, _ = decided("gated")
    bound, candidate, least = Bound(space), space.usually(space.root(), lambda _: False, 0), 0.0
    while (decision := space.decisions(candidate)) is not None:
        children = (space.apply(candidate, decision, a) for a in decision.alternatives)
        candidate = next(c for c in children if c is not None)
        assert bound.of(candidate) >= least * (1 - 1e-9)
        least = bound.of(candidate)


def test_tiles_that_differ_are_refused_where_there_is_no_room_for_both() -> None:
    space, candidate = decided("gated")
    one = next(t for t in space.temporaries if t.name == "load_X")
    other = next(t for t in space.temporaries if t.name == "load_U")
    made = Apart(space.objects, space.target, candidate)
    made.pairs = (Twins(one, other, space.twins[0].loops),)
    assert tiles(lower(made)) == tiles(apart())
    made.room = 1000
    with pytest.raises(LoweringError, match="expected one copy of tiles that sums in one loop share, got 10240 bytes of them"):
        lower(made)


# ------------------------------------------------------------ which tiles


@tensor
def three(X: f32["m", "k"], W: f32["k", "n"], V: f32["n", "k"], Y: out[f32["m", "n"]]):
    a[m, n] = sum(X[m, k] * W[k, n], over=k)
    b[m, n] = sum(X[m, k] * V[n, k], over=k)
    c[m, n] = sum(X[m, k] * (W[k, n] + V[n, k]), over=k)
    Y[m, n] = a[m, n] * b[m, n] * c[m, n]


@tensor
def over_two(X: f32["m", "k", "l"], W: f32["k", "l", "n"], V: f32["k", "l", "n"], Y: out[f32["m", "n"]]):
    a[m, n] = sum(X[m, k, l] * W[k, l, n], over=(k, l))
    b[m, n] = sum(X[m, k, l] * V[k, l, n], over=(k, l))
    Y[m, n] = a[m, n] * b[m, n]


def twins_in(function: TensorFunction, **sizes: int) -> list[tuple[str, str]]:
    stage = function.program(sizes, matrix_tiles(SM_90.matrices)).stages[0]
    found = twins_of(objects_of(stage, Features.of(SM_90)))
    return [(t.first.name, t.second.name) for t in found]


def test_factors_of_several_products_are_twins() -> None:
    space, _ = decided("gated")
    (found,) = twins_of(space.objects)
    assert (found.first.name, found.second.name) == ("load_X", "load_X_2")
    assert [space.statement_names[s] for s in found.loops] == ["gate.k0", "up.k0"]
    assert [first for first, _ in twins_in(three, m=16, n=32, k=64)].count("load_X") == 2
    assert twins_in(over_two, m=16, n=32, k=16, l=16) == []
    assert twins_of(objects_of(stage("by rows"), Features.of(SM_90))) == ()


@pytest.mark.parametrize("field", ["producer", "consumer", "no sum"])
def test_other_temporaries_are_no_twins(field: str) -> None:
    """One load for both, factors of one sum, a value that no sum takes."""
    objects = decided("gated")[0].objects
    one, other = (next(t for t in objects.temporaries if t.name == name) for name in ("load_X", "load_X_2"))
    changed = {
        "producer": replace(other, producer=one.producer),
        "consumer": replace(other, consumer=one.consumer),
        "no sum": replace(other, consumer=other.producer),
    }[field]
    assert len(twins_of(replace(objects, temporaries=(one, other)))) == 1
    assert twins_of(replace(objects, temporaries=(one, changed))) == ()


# ------------------------------------------------------------ reasons against one copy

Change = Callable[[Node], Node]


def changed(change: Change) -> Nest:
    def node(old: Node) -> Node:
        if isinstance(old, Loop):
            old = replace(old, body=tuple(map(node, old.body)))
        return change(old)

    return replace(apart(), body=tuple(map(node, apart().body)))


def of_second(kind: type[Load] | type[Store], new: Callable[[Load | Store], Node]) -> Change:
    """Changes loads into the second tile's registers, or stores to that tile."""
    return lambda n: new(n) if isinstance(n, kind) and _is_of_second(n) else n


def _is_of_second(node: Load | Store) -> bool:
    name = apart().values[node.target.value].name if isinstance(node, Load) else apart().buffers[node.memory.buffer].name
    return name == ("load_X_2" if isinstance(node, Load) else "tmp_load_X_2")


def moved(node: Load | Store) -> Node:
    memory = node.memory
    return replace(node, memory=replace(memory, offset=memory.offset.shifted(8)))


def of_rounds(change: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Change:
    return lambda n: replace(n, body=change(n.body)) if isinstance(n, Loop) and n.stages > 1 else n


def readers_first(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Readers of the second tile before what fills it: it holds the round before."""
    second = [b.name for b in apart().buffers].index("tmp_load_X_2")
    reads = [n for n in body if any(isinstance(s, Load) and s.memory.buffer == second for s, _ in statements((n,)))]
    return (*reads, *(n for n in body if n not in reads))


def value(name: str) -> int:
    return next(n for n, v in enumerate(apart().values) if v.name == name)


def used_elsewhere(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """A step behind the products that takes what the second fill has loaded."""
    loaded = Ref(value("load_X_2"), (Linear(), Linear()))
    return (*body, Compute(Ref(value("cast_5"), (Linear(),) * 3), Operator.MOVE, (loaded,)))


def in_two_halves(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Fills that load and store twice: the first one to the same registers, so that both stores put what was loaded last."""
    found: list[Node] = []
    last = len(apart().values)
    for node in body:
        inside = [s for s, _ in statements((node,))]
        names = {apart().buffers[s.memory.buffer].name for s in inside if isinstance(s, Load | Store)}
        loaded = {apart().values[s.target.value].name for s in inside if isinstance(s, Load)}
        found.append(node)
        if loaded & {"load_X", "load_X_2"} or (names & {"tmp_load_X", "tmp_load_X_2"} and not loaded):
            is_second = bool(loaded & {"load_X_2"} or names & {"tmp_load_X_2"})
            found.append(again(node, last if is_second else None))
    loads = [n for n in found if any(isinstance(s, Load) for s, _ in statements((n,)))]
    fills = [n for n in loads if all(not isinstance(s, Compute) for s, _ in statements((n,)))]
    return (*fills, *(n for n in found if n not in fills))


def again(node: Node, register: int | None) -> Node:
    """The node eight elements further, with its loops under other numbers, perhaps on another value."""
    highest = max(x.number for x in loops(apart().body))

    def of(old: Node) -> Node:
        match old:
            case Loop():
                return replace(old, body=tuple(map(of, old.body)))
            case Load():
                made = moved(old)
                return made if register is None else replace(made, target=replace(old.target, value=register))
            case Store(argument=Ref() as argument):
                made = moved(old)
                return made if register is None else replace(made, argument=replace(argument, value=register))
            case _:
                return old

    own = {x.number for x in loops((node,))}
    return renumbered(of(node), lambda n: n + highest + 1 if n in own else n)


def with_alike_values(nest: Nest, **change: object) -> Nest:
    values = tuple(replace(v, **change) if v.name == "load_X_2" else v for v in nest.values)
    return replace(nest, values=values)


AGAINST: dict[str, Callable[[], Nest]] = {
    "another part of the array": lambda: changed(of_second(Load, moved)),
    "another place in the tile": lambda: changed(of_second(Store, moved)),
    "another array": lambda: changed(of_second(Load, lambda n: replace(n, memory=replace(n.memory, buffer=1)))),
    "registers of another type": lambda: with_alike_values(apart(), dtype=f32),
    "used elsewhere, too": lambda: changed(of_rounds(used_elsewhere)),
    "registers that are loaded twice before they are stored": lambda: replace(
        changed(of_rounds(in_two_halves)), values=(*apart().values, apart().values[value("load_X_2")])
    ),
    "read before it is filled": lambda: changed(of_rounds(readers_first)),
    "another order of threads": lambda: changed(
        lambda n: replace(n, hardware=1 - n.hardware)
        if isinstance(n, Loop) and n.kind is Kind.THREAD and n.hardware in (0, 1)
        and any(isinstance(s, Load) and _is_of_second(s) for s, _ in statements((n,))) else n
    ),
    "an array that is stored to": lambda: replace(
        apart(), buffers=(replace(apart().buffers[0], role=apart().buffers[3].role), *apart().buffers[1:])
    ),
    "no sequential loop": lambda: changed(
        lambda n: replace(n, kind=Kind.UNROLL) if isinstance(n, Loop) and n.stages > 1 else n
    ),
}  # fmt: skip


def test_one_copy_serves_both() -> None:
    made = with_one_copy(apart(), 4, 6)
    assert tiles(made) == ["tmp_load_X", "tmp_load_G", "tmp_load_U"]
    assert verify(made) == ()


@pytest.mark.parametrize("reason", AGAINST)
def test_each_reason_keeps_both_copies(reason: str) -> None:
    nest = AGAINST[reason]()
    assert with_one_copy(nest, 4, 6) is nest
