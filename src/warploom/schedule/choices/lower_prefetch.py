"""Loops that fetch what later iterations read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.schedule.backbone import Role
from warploom.schedule.nest import Kind, Load, Loop, Nest, Node, Store, statements

LINE_BYTES = 64
_LINES_AHEAD = 2


def fetching(nest: Nest, how: str) -> Nest:
    """The nest in which loops fetch what is read later.

    how: a number: every sequential loop that reads other lines of an argument in each iteration fetches those of so many
    iterations further on; 0: none does. AROUND: the loops around sums, which walk along an argument's rows, fetch what their sums
    read some lines further on: those are more rows than the hardware follows. NEXT: of loops that read the same rows one after
    another, the last fetches the rows that come next: the memory works while nothing else is read from it.
    """
    match how:
        case "0":
            return nest
        case "AROUND":
            return replace(nest, body=_around(nest, nest.body))
        case "NEXT":
            return replace(nest, body=_next(nest, nest.body, ()))
        case _:
            return replace(nest, body=_ahead(nest, nest.body, int(how)))


def _next(nest: Nest, nodes: Sequence[Node], around: tuple[int, ...]) -> tuple[Node, ...]:
    """around: the loops around these nodes, outermost first."""
    last: dict[int, int] = {}
    """Argument -> the last of these nodes that reads it."""
    for place, node in enumerate(nodes):
        last |= {s.memory.buffer: place for s, _ in statements((node,)) if isinstance(s, Load) and _is_argument(nest, s)}
    found: list[Node] = []
    for place, node in enumerate(nodes):
        if isinstance(node, Loop):
            ahead = 0
            if node.kind is Kind.LOOP:
                ahead = max((_to_next(nest, node, around, b) for b, at in last.items() if at == place), default=0)
            if ahead:
                node = replace(node, stages=ahead + 1)
            else:
                node = replace(node, body=_next(nest, node.body, (*around, node.number)))
        found.append(node)
    return tuple(found)


def _to_next(nest: Nest, loop: Loop, around: Sequence[int], buffer: int) -> int:
    """Iterations of the loop from a row of an argument to the next one, whole rows being read; 0 where it reads no such row."""
    for load, _ in statements(loop.body):
        if not isinstance(load, Load) or load.memory.buffer != buffer:
            continue
        strides = dict(load.memory.offset.terms)
        along = strides.get(loop.number, 0)
        row = next((strides[number] for number in reversed(around) if strides.get(number)), 0)
        if abs(along) * nest.buffers[buffer].dtype.size_bytes < LINE_BYTES or row % along:
            continue
        if row // along >= loop.size > 1:
            return row // along
    return 0


def _is_argument(nest: Nest, load: Load) -> bool:
    return nest.buffers[load.memory.buffer].role is not Role.TEMPORARY


def _around(nest: Nest, nodes: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(_loop_around(nest, node) if isinstance(node, Loop) else node for node in nodes)


def _loop_around(nest: Nest, loop: Loop) -> Loop:
    inner = [x for x in loop.body if isinstance(x, Loop) and x.kind is Kind.LOOP]
    if loop.kind is not Kind.LOOP or any(_stores(nest, x.body) for x in inner) or not _stores(nest, loop.body):
        return replace(loop, body=_around(nest, loop.body))
    strides = [stride for x in inner for stride in _strides(nest, x.body, loop.number, is_deep=True) if stride]
    ahead = max(1, -(-_LINES_AHEAD * LINE_BYTES // min(strides))) if strides else 0
    return replace(loop, stages=ahead + 1) if 0 < ahead < loop.size else loop


def _stores(nest: Nest, nodes: Sequence[Node]) -> bool:
    """Stores something that is no temporary."""
    return any(
        nest.buffers[s.memory.buffer].role is not Role.TEMPORARY for s, _ in statements(tuple(nodes)) if isinstance(s, Store)
    )


def _ahead(nest: Nest, nodes: Sequence[Node], ahead: int) -> tuple[Node, ...]:
    return tuple(_loop_ahead(nest, node, ahead) if isinstance(node, Loop) else node for node in nodes)


def _loop_ahead(nest: Nest, loop: Loop, ahead: int) -> Loop:
    body = _ahead(nest, loop.body, ahead)
    strides = _strides(nest, loop.body, loop.number)
    is_far = loop.kind is Kind.LOOP and loop.size > ahead and any(stride >= LINE_BYTES for stride in strides)
    return replace(loop, body=body, stages=ahead + 1 if is_far else loop.stages)


def _strides(nest: Nest, nodes: Sequence[Node], loop: int, *, is_deep: bool = False) -> list[int]:
    """Bytes that the loads in straight code, or also in loops inside, advance from one iteration to the next."""
    found: list[int] = []
    for node in nodes:
        match node:
            case Load(memory=memory) if nest.buffers[memory.buffer].role is not Role.TEMPORARY:
                size = nest.buffers[memory.buffer].dtype.size_bytes
                found += [abs(stride) * size for number, stride in memory.offset.terms if number == loop]
            case Loop(kind=kind) if is_deep or kind in (Kind.UNROLL, Kind.VECTOR):
                found += _strides(nest, node.body, loop, is_deep=is_deep)
            case _:
                pass
    return found
