"""Steps over the same elements in one loop, so that what passes between them takes one register at a time.

A descent leaves each instruction in loops of its own. Compilers see the unrolled code of a whole array of values, then that of
the next one, and hold all of them at once (255 registers and spills where 128 totals go through five steps). Here neighbouring
loops of threads and unrolled ones become one where no element that passes between them belongs to another iteration.

A sum joins the steps that make what it takes: of a distance, a difference is squared and added before the next one is made.

Non-goal: loads of what sums take, copies to shared memory, and whatever waits for other threads; these stay as they were decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from warploom.core.linear import variable
from warploom.schedule.nest.nodes import (
    Barrier,
    Combine,
    Compute,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Space,
    Store,
)
from warploom.schedule.nest.walk import Statement, references, renumbered, statements

_KINDS = (Kind.THREAD, Kind.UNROLL)


def fused(nest: Nest) -> Nest:
    """The same kernel with such loops joined, and values without the axes along which they then live for one iteration only."""
    joining = _Joining(nest)
    body = joining.joined(nest.body)
    if not joining.renamed:
        return nest
    return _contracted(replace(nest, body=tuple(renumbered(node, joining.last) for node in body)))


class _Joining:
    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.totals = {
            s.target.value
            for s, _ in statements(nest.body)
            if isinstance(s, Combine) or (isinstance(s, Compute) and s.target in s.arguments)
        }
        self.renamed: dict[int, int] = {}
        """By loop that is gone, the one that stands for it."""

    def last(self, number: int) -> int:
        """The loop that stands for the one of that number, or itself."""
        while number in self.renamed:
            number = self.renamed[number]
        return number

    def joined(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            now = replace(node, body=self.joined(node.body)) if isinstance(node, Loop) else node
            before = found[-1] if found else None
            if isinstance(before, Loop) and isinstance(now, Loop) and self.may_join(before, now):
                self.renamed[now.number] = before.number
                rest = tuple(renumbered(n, self.last) for n in now.body)
                now = replace(before, body=self.joined((*before.body, *rest)))
                found.pop()
            found.append(now)
        return tuple(found)

    def may_join(self, one: Loop, other: Loop) -> bool:
        """Whether iteration i of both may run before iteration i + 1 of the first."""
        runs = [(x.kind, x.size, x.hardware, x.digit, x.trips) for x in (one, other)]
        is_alike = runs[0] == runs[1]
        are_steps = self.is_plain(one) and (self.is_plain(other) or (self.is_made(one) and self.is_sum(other)))
        if not is_alike or one.kind not in _KINDS or not are_steps:
            return False
        if one.kind is Kind.THREAD:
            return True
        return self._are_apart(one, other) and all(
            _is_of_one_iteration(first, one, second, other)
            for first, is_first_written in _refs(one)
            for second, is_second_written in _refs(other)
            if first.value == second.value and (is_first_written or is_second_written)
        )

    def is_plain(self, loop: Loop) -> bool:
        """Whether it holds nothing but steps on elements, loads from global memory and stores to it."""
        return all(
            all(x.kind in (*_KINDS, Kind.VECTOR) for x in around) and self._is_step(statement)
            for statement, around in statements((loop,))
        )

    def is_made(self, loop: Loop) -> bool:
        """Whether it holds nothing but operations on elements."""
        return all(isinstance(statement, Compute) for statement, _ in statements((loop,)))

    def is_sum(self, loop: Loop) -> bool:
        """Whether it holds nothing but one sum, and operations on what that takes."""
        every = [(s, around) for s, around in statements((loop,))]
        totals = [s for s, _ in every if isinstance(s, Compute) and s.target in s.arguments]
        return len(totals) == 1 and all(
            isinstance(s, Compute) and (s is totals[0] or self._is_step(s)) and all(x.kind in _KINDS for x in around)
            for s, around in every
        )

    def _is_step(self, statement: Statement) -> bool:
        match statement:
            case Compute(target=target):
                return target.value not in self.totals
            case Load(memory=memory, is_async=is_async):
                return not is_async and self.nest.buffers[memory.buffer].space is Space.GLOBAL
            case Store(memory=memory):
                return self.nest.buffers[memory.buffer].space is Space.GLOBAL
            case Combine() | Barrier():
                return False

    def _are_apart(self, one: Loop, other: Loop) -> bool:
        """Neither stores to a buffer that the other uses."""
        (stored, used), (other_stored, other_used) = _buffers(one), _buffers(other)
        return not (stored & other_used or other_stored & used)


def _refs(loop: Loop) -> Iterator[tuple[Ref, bool]]:
    """Registers that its statements read or, with True, write."""
    for statement, _ in statements((loop,)):
        read, written = references(statement)
        yield from ((ref, False) for ref in read)
        yield from ((ref, True) for ref in written)


def _is_of_one_iteration(first: Ref, one: Loop, second: Ref, other: Loop) -> bool:
    """Whether an axis of the value is selected by both loops, so that each iteration has elements of its own."""
    own, others = variable(one.number), variable(other.number)
    return any(a == own and b == others for a, b in zip(first.at, second.at, strict=True))


def _buffers(loop: Loop) -> tuple[set[int], set[int]]:
    """(buffers stored to, buffers used)."""
    stored: set[int] = set()
    used: set[int] = set()
    for statement, _ in statements((loop,)):
        match statement:
            case Store(memory=memory):
                stored.add(memory.buffer)
                used.add(memory.buffer)
            case Load(memory=memory):
                used.add(memory.buffer)
            case Compute(buffer=buffer) if buffer is not None:
                used.add(buffer)
            case _:
                pass
    return stored, used


def _contracted(nest: Nest) -> Nest:
    """The nest in which values have no axes that one unrolled loop around all of their statements selects."""
    around: dict[int, set[int]] = {}
    at: dict[int, list[Ref]] = {}
    for statement, loops in statements(nest.body):
        own = {x.number for x in loops if x.kind is Kind.UNROLL}
        for ref in (r for refs in references(statement) for r in refs):
            around[ref.value] = around.get(ref.value, own) & own
            at.setdefault(ref.value, []).append(ref)
    dropped = {
        value: {
            axis
            for axis, register in enumerate(nest.values[value].axes)
            if not register.is_vector and any(all(r.at[axis] == variable(n) for r in refs) for n in around[value])
        }
        for value, refs in at.items()
    }

    def kept(value: int) -> list[int]:
        return [axis for axis in range(len(nest.values[value].axes)) if axis not in dropped.get(value, ())]

    def ref_of(ref: Ref) -> Ref:
        return replace(ref, at=tuple(ref.at[axis] for axis in kept(ref.value)))

    def node_of(node: Node) -> Node:
        match node:
            case Loop(body=body):
                return replace(node, body=tuple(map(node_of, body)))
            case Load(target=target):
                return replace(node, target=ref_of(target))
            case Store(argument=Ref() as argument):
                return replace(node, argument=ref_of(argument))
            case Compute(target=target, arguments=arguments):
                own = tuple(ref_of(a) if isinstance(a, Ref) else a for a in arguments)
                return replace(node, target=ref_of(target), arguments=own)
            case Combine(target=target, source=source, registers=registers):
                places = tuple(map(kept(source.value).index, registers))
                return replace(node, target=ref_of(target), source=ref_of(source), registers=places)
            case Store() | Barrier():
                return node

    values = tuple(
        replace(value, axes=tuple(value.axes[axis] for axis in kept(number))) for number, value in enumerate(nest.values)
    )
    return replace(nest, values=values, body=tuple(map(node_of, nest.body)))
