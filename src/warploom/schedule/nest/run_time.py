"""A nest at other values of its run-time sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from warploom.schedule.backbone import Constant
from warploom.schedule.nest.nodes import Argument, Buffer, Compute, Guard, Load, Loop, Memory, Nest, Node, Store


def at_run_time(nest: Nest, sizes: Mapping[str, int]) -> Nest:
    """The same code, described for these values: iterations, bounds and elements. Sizes that are left out keep theirs."""
    values = {size.name: sizes.get(size.name, value) for size, value in nest.run_time}
    was = {size.name: value for size, value in nest.run_time}
    return replace(
        nest,
        buffers=tuple(at_value(b, was, values) for b in nest.buffers),
        body=tuple(_node(n, values) for n in nest.body),
        run_time=tuple((size, values[size.name]) for size, _ in nest.run_time),
    )


def at_value(buffer: Buffer, was: Mapping[str, int], values: Mapping[str, int]) -> Buffer:
    """The array with as many elements as it has at these values; `was`: those that it is described for."""
    elements = buffer.elements
    for trips in buffer.trips:
        elements = elements // max(1, trips.of(was)) * trips.of(values)
    known = elements // max(1, prod(length.at(was) for length in buffer.open_sizes))
    return replace(buffer, elements=known * prod(length.at(values) for length in buffer.open_sizes))


def _node(node: Node, values: Mapping[str, int]) -> Node:
    match node:
        case Loop(body=body, size=size, trips=trips):
            size = size if trips is None else trips.of(values)
            return replace(node, size=size, body=tuple(_node(n, values) for n in body))
        case Load(memory=memory):
            return replace(node, memory=_memory(memory, values))
        case Store(memory=memory, argument=argument, guards=guards):
            (argument,) = _arguments((argument,), values)
            return replace(node, memory=_memory(memory, values), argument=argument, guards=_guards(guards, values))
        case Compute(arguments=arguments, guards=guards):
            return replace(node, arguments=_arguments(arguments, values), guards=_guards(guards, values))
        case _:
            return node


def _arguments(arguments: tuple[Argument, ...], values: Mapping[str, int]) -> tuple[Argument, ...]:
    return tuple(a.at(values) if isinstance(a, Constant) else a for a in arguments)


def _memory(memory: Memory, values: Mapping[str, int]) -> Memory:
    rows = tuple(replace(r, stride=r.factor * prod(length.at(values) for length in r.sizes)) for r in memory.rows)
    offset = memory.known
    for part in rows:
        offset = offset.plus(part.index, part.stride)
    return replace(memory, offset=offset, guards=_guards(memory.guards, values), rows=rows)


def _guards(guards: tuple[Guard, ...], values: Mapping[str, int]) -> tuple[Guard, ...]:
    return tuple(g if g.run_time is None else replace(g, bound=g.run_time.at(values)) for g in guards)
