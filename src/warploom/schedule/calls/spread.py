"""The plain loops of a kernel as a launch: every result has a thread of its own, which runs the loops inside by itself.

Goal: a kernel of a GPU that is right, for every function and at once. Non-goals: shared memory, vectors, totals of
several threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from warploom.core.launch import MAX_GRID
from warploom.core.linear import Linear, collected
from warploom.schedule.nest import Affine, Argument, Compute, Guard, Kind, Load, Loop, Memory, Nest, Node, Store, Trips, loops

_THREADS = 128
_ROW = 32
"""Iterations from which on the innermost loop is that of the threads: they read side by side."""
_OUTER = 2


def spread_nest(nest: Nest) -> Nest:
    """The plain nest (`cpu.plain_nest`) with the loops around all of its statements as blocks and threads; those that
    have no dimension of the grid stay loops of a thread. A nest without such loops runs in one thread. Sizes known at run time
    stay so; the code is right at all of their values, where the grid can be launched."""
    around, body = _around(nest.body)
    if not around:
        return replace(nest, body=tuple(_sequential(n) for n in nest.body))
    threads = around[-1] if around[-1].most >= _ROW else max(around, key=lambda loop: loop.most)
    others = sorted((loop for loop in around if loop is not threads), key=lambda loop: -loop.size)
    blocks = [loop for loop in others if loop.size <= MAX_GRID[1]][:_OUTER]
    rest = [loop for loop in others if loop not in blocks]
    count = min(_THREADS, -(-threads.most // _ROW) * _ROW)
    size = threads.trips.size if threads.trips is not None else None
    trips = Trips(size, count) if size is not None else None
    fresh = 1 + max(loop.number for loop in loops(nest.body))
    at: Affine = Linear(((fresh, count), (threads.number, 1)))
    bound = Guard(at, threads.size, size)
    guards = (bound,) if bound.divisor % count else ()
    inner = tuple(_moved(_sequential(node), {threads.number: at}, guards) for node in body)
    for loop in rest:
        inner = (replace(loop, kind=Kind.LOOP, hardware=None, body=inner),)
    found: Node = replace(threads, kind=Kind.THREAD, size=count, hardware=0, body=inner, trips=None)
    found = Loop(fresh, threads.name, Kind.BLOCK, -(-threads.size // count), (found,), hardware=0, trips=trips)
    for hardware, loop in enumerate(blocks, 1):
        found = replace(loop, kind=Kind.BLOCK, hardware=hardware, body=(found,))
    return replace(nest, body=(found,))


def _around(body: Sequence[Node]) -> tuple[list[Loop], Sequence[Node]]:
    """Loops each of which is alone in the one around it, and what is inside of all: those are over elements that are stored,
    since a sum has a beginning beside its loop."""
    found: list[Loop] = []
    while len(body) == 1 and isinstance(loop := body[0], Loop):
        found.append(loop)
        body = loop.body
    return found, body


def _sequential(node: Node) -> Node:
    if not isinstance(node, Loop):
        return node
    return replace(node, kind=Kind.LOOP, hardware=None, body=tuple(_sequential(n) for n in node.body))


def _moved(node: Node, values: Mapping[int, Affine], guards: tuple[Guard, ...]) -> Node:
    """The node with these values in the place of loops, its memory read and written under the guards, too."""

    def sums(index: Affine) -> Affine:
        terms: list[tuple[int, int]] = []
        constant = index.constant
        for number, factor in index.terms:
            value = values.get(number, Linear(((number, 1),)))
            terms += [(n, factor * f) for n, f in value.terms]
            constant += factor * value.constant
        return collected(terms, constant)

    def argument(given: Argument) -> Argument:
        return sums(given) if isinstance(given, Linear) else given

    def memory(given: Memory) -> Memory:
        moved = given.mapped(sums)
        return replace(moved, guards=(*moved.guards, *guards))

    match node:
        case Loop(body=body):
            return replace(node, body=tuple(_moved(n, values, guards) for n in body))
        case Load():
            return replace(node, memory=memory(node.memory))
        case Store():
            return replace(node, memory=memory(node.memory), argument=argument(node.argument))
        case Compute():
            return replace(node, arguments=tuple(argument(a) for a in node.arguments))
        case _:
            return node
