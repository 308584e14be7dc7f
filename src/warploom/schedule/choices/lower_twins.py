"""One copy of two tiles that hold the same elements of an array in each round of a loop (`twins`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warploom.schedule.backbone import Role
from warploom.schedule.choices.lower_pipeline import fills_of, loop_around
from warploom.schedule.nest import (
    Barrier,
    Combine,
    Compute,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Store,
    loops,
    references,
    renumbered,
    replaced,
    statements,
)


def with_one_copy(nest: Nest, first: int, second: int) -> Nest:
    """The nest without buffer `second`, whose loads read `first` instead; the nest itself where it cannot tell that both hold the
    same whenever the second is read. Buffers behind the second get a number less.

    That is so where one sequential loop is around all accesses of both, each is filled by nodes of the loop's body that differ in
    the numbers of their loops and values alone and load from inputs alone, and all that load the second come behind both fills.
    """
    loop = loop_around(nest, first, second)
    if loop is None:
        return nest
    one, other = (fills_of(loop.body, frozenset((buffer,))) for buffer in (first, second))
    if one is None or other is None or not _are_alike(nest, one, other, {second: first}) or not _load_inputs(nest, one):
        return nest
    at = [n for n, node in enumerate(loop.body) if any(node is f for f in (*one, *other))]
    readers = [n for n, node in enumerate(loop.body) if _loads(node, second)]
    if min(readers, default=0) < max(at):
        return nest
    body = tuple(node for node in loop.body if not any(node is f for f in other))
    numbers = {n: n - (n > second) for n in range(len(nest.buffers))}
    numbers[second] = numbers[first]
    kept = replaced(nest.body, loop.number, replace(loop, body=body))
    buffers = tuple(b for n, b in enumerate(nest.buffers) if n != second)
    return replace(nest, buffers=buffers, body=tuple(_renamed(node, {}, numbers) for node in kept))


def _are_alike(nest: Nest, one: tuple[Node, ...], other: tuple[Node, ...], buffers: Mapping[int, int]) -> bool:
    """Whether the others are the same nodes on other loops, values of the same registers, and these buffers."""
    loops_of = dict(zip((x.number for x in loops(other)), (x.number for x in loops(one)), strict=False))
    names = {x.number: x.name for x in loops(one)}
    values: dict[int, int] = {}
    for (first, _), (second, _) in zip(statements(one), statements(other), strict=False):
        for mine, its in zip(references(first), references(second), strict=True):
            for a, b in zip(mine, its, strict=False):
                values.setdefault(b.value, a.value)
    if len(set(values.values())) != len(values):
        return False
    if any(replace(nest.values[b], name="") != replace(nest.values[a], name="") for b, a in values.items()):
        return False
    same = (renumbered(_renamed(node, values, buffers), lambda n: loops_of.get(n, n)) for node in other)
    return tuple(_named(node, names) for node in same) == one


def _load_inputs(nest: Nest, nodes: tuple[Node, ...]) -> bool:
    loaded = (s.memory.buffer for s, _ in statements(nodes) if isinstance(s, Load))
    return all(nest.buffers[n].role is Role.INPUT for n in loaded)


def _loads(node: Node, buffer: int) -> bool:
    return any(isinstance(s, Load) and s.memory.buffer == buffer for s, _ in statements((node,)))


def _named(node: Node, names: Mapping[int, str]) -> Node:
    """The node whose loops have the names of their numbers."""
    if not isinstance(node, Loop):
        return node
    return replace(node, name=names.get(node.number, node.name), body=tuple(_named(child, names) for child in node.body))


def _renamed(node: Node, values: Mapping[int, int], buffers: Mapping[int, int]) -> Node:
    """The node on other values and buffers, by their numbers; those that are not named stay."""

    def ref_of(ref: Ref) -> Ref:
        return replace(ref, value=values.get(ref.value, ref.value))

    match node:
        case Loop(body=body):
            return replace(node, body=tuple(_renamed(child, values, buffers) for child in body))
        case Load(target=target, memory=memory):
            return replace(node, target=ref_of(target), memory=replace(memory, buffer=buffers.get(memory.buffer, memory.buffer)))
        case Store(memory=memory, argument=argument):
            made = ref_of(argument) if isinstance(argument, Ref) else argument
            return replace(node, memory=replace(memory, buffer=buffers.get(memory.buffer, memory.buffer)), argument=made)
        case Compute(target=target, arguments=arguments, buffer=buffer):
            own = tuple(ref_of(a) if isinstance(a, Ref) else a for a in arguments)
            array = buffers.get(buffer, buffer) if buffer is not None else None
            return replace(node, target=ref_of(target), arguments=own, buffer=array)
        case Combine(target=target, source=source):
            return replace(node, target=ref_of(target), source=ref_of(source))
        case Barrier():
            return node
