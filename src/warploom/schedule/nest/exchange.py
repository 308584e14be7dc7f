"""Barriers between threads that exchange data through memory.

Statements outside thread loops are walked in execution order with what was read and written since the last barrier. Threads
exchange data through temporaries, and through a kernel's array where a load follows a store of it by another thread. A loop's
body is walked again from its own end, for what the next iteration does to the data of this one.

Source: paper, section 4.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from warploom.schedule.backbone import Role
from warploom.schedule.nest.nodes import Barrier, Kind, Load, Loop, Nest, Node, Store
from warploom.schedule.nest.walk import hardware_sizes, loops, staged_fills, statements


@dataclass(frozen=True, slots=True)
class _Pending:
    """Accesses since the last barrier: (buffer, how threads share the place out)."""

    read: frozenset[tuple[int, object]] = frozenset()
    written: frozenset[tuple[int, object]] = frozenset()

    def __or__(self, other: _Pending) -> _Pending:
        return _Pending(self.read | other.read, self.written | other.written)

    def without(self, buffers: frozenset[int]) -> _Pending:
        return _Pending(
            frozenset(a for a in self.read if a[0] not in buffers), frozenset(a for a in self.written if a[0] not in buffers)
        )

    def meets(self, later: _Pending) -> bool:
        return (
            _conflict(self.written, later.read) or _conflict(self.read, later.written) or _conflict(self.written, later.written)
        )


def _conflict(first: frozenset[tuple[int, object]], second: frozenset[tuple[int, object]]) -> bool:
    return any(a[0] == b[0] and (a[1] is None or a[1] != b[1]) for a in first for b in second)


def with_barriers(nest: Nest) -> Nest:
    """The nest with barriers added where its threads need them; the same where it has them."""
    threads = frozenset(n for n, size in enumerate(hardware_sizes(nest, Kind.THREAD)) if size > 1)
    if not threads:
        return nest
    body, _ = _Walker(nest, threads, {loop.number: loop.size for loop in loops(nest.body)}).sequence(nest.body, _Pending())
    return replace(nest, body=body)


@dataclass(slots=True)
class _Walker:
    nest: Nest
    hardware: frozenset[int]
    sizes: Mapping[int, int]
    known: dict[tuple[int, _Pending], tuple[tuple[Node, ...], tuple[tuple[Node, ...], _Pending]]] = field(
        default_factory=dict[tuple[int, _Pending], tuple[tuple[Node, ...], tuple[tuple[Node, ...], _Pending]]]
    )
    """Answers of `sequence` by identity of the nodes, which are kept alive: each level is asked for more than once by the one
    above, so that without it the work would be exponential in the depth."""

    def sequence(self, nodes: tuple[Node, ...], pending: _Pending) -> tuple[tuple[Node, ...], _Pending]:
        found = self.known.get((id(nodes), pending))
        if found is None:
            found = self.known[id(nodes), pending] = nodes, self._sequence(nodes, pending)
        return found[1]

    def _sequence(self, nodes: tuple[Node, ...], pending: _Pending) -> tuple[tuple[Node, ...], _Pending]:
        done: list[Node] = []
        for node in nodes:
            # A vector loop is one instruction: what it exchanges waits in front of it.
            if isinstance(node, Loop) and node.kind not in (Kind.THREAD, Kind.VECTOR):
                if node.kind is not Kind.BLOCK and self._loop(node, pending)[0] != self._loop(node, _Pending())[0]:
                    done.append(Barrier())
                    pending = _Pending()
                body, pending = self._loop(node, pending)
                done.append(replace(node, body=body))
                continue
            if isinstance(node, Barrier):
                pending = _Pending()
                done.append(node)
                continue
            accesses = self._accesses(node)
            if pending.meets(accesses):
                done.append(Barrier())
                pending = _Pending()
            done.append(node)
            pending = pending | accesses
        return tuple(done), pending

    def _loop(self, loop: Loop, pending: _Pending) -> tuple[tuple[Node, ...], _Pending]:
        if loop.stages > 1:
            body, after = self._staged_body(loop, pending)
        else:
            body, after = self.sequence(loop.body, pending)
        if loop.kind is Kind.BLOCK:
            return body, after
        carried = after.without(self._staged(loop)) if any(isinstance(node, Barrier) for node in body) else after
        if self.sequence(body, carried)[0] != body:
            body = (*body, Barrier())
            after = _Pending()
        return body, after

    def _staged_body(self, loop: Loop, pending: _Pending) -> tuple[tuple[Node, ...], _Pending]:
        """The barrier that what runs ahead needs stands directly behind it."""
        fills, rest = staged_fills(self.nest, loop)
        fills, pending = self.sequence(fills, pending)
        if not (rest and isinstance(rest[0], Barrier)) and self.sequence(rest, pending)[0] != self.sequence(rest, _Pending())[0]:
            rest = (Barrier(), *rest)
        rest, after = self.sequence(rest, pending)
        return (*fills, *rest), after

    def _staged(self, loop: Loop) -> frozenset[int]:
        return frozenset(n for n, b in enumerate(self.nest.buffers) if b.copies > 1) if loop.stages > 1 else frozenset()

    def _accesses(self, node: Node) -> _Pending:
        read: set[tuple[int, object]] = set()
        written: set[tuple[int, object]] = set()
        for statement, around in statements((node,)):
            if isinstance(statement, Load | Store):
                number = statement.memory.buffer
                is_ours = self.nest.buffers[number].role is not Role.TEMPORARY
                sharing = (self._sharing(statement, around) if is_ours else None) or self._writer(statement)
                access = number, sharing
                (read if isinstance(statement, Load) else written).add(access)
        return _Pending(frozenset(read), frozenset(written))

    def _writer(self, statement: Load | Store) -> object | None:
        """A key of the writing thread, for a store that puts each element always by the same thread; else None. Its iterations
        do not disturb each other."""
        if isinstance(statement, Load):
            return None
        reach = 0
        for stride, size in sorted((abs(s), self.sizes.get(n, 1)) for n, s in statement.memory.offset.terms):
            if stride <= reach:
                return None
            reach += stride * (size - 1)
        return statement.memory.offset, statement.guards

    def _sharing(self, statement: Load | Store, around: tuple[Loop, ...]) -> object | None:
        """Equal for two accesses where each thread touches the same elements in both; None where that is not known."""
        threads = {loop.number: loop.hardware for loop in around if loop.kind is Kind.THREAD and loop.hardware is not None}
        offset = statement.memory.offset
        hardware = {threads[n] for n, _ in offset.terms if n in threads}
        if frozenset(hardware) != self.hardware or (isinstance(statement, Store) and statement.guards):
            return None
        # Loops outside this unit are the same for both accesses; those inside must cover the same elements.
        own = {loop.number for loop in around}
        covered = frozenset((s, self.sizes[n] if n in own else -1 - n, threads.get(n)) for n, s in offset.terms)
        return covered, offset.constant
