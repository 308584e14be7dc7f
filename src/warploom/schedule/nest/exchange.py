"""Barriers between threads that exchange data through memory.

Statements outside thread loops are walked in execution order with what was read and written since the last barrier. Threads
exchange data through temporaries, and through a kernel's array where a load follows a store of it by another thread. A loop's
body is walked again from its own end, for what the next iteration does to the data of this one.

Source: paper, section 4.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.schedule.backbone import Role
from warploom.schedule.nest.nodes import Affine, Barrier, Kind, Load, Loop, Nest, Node, Store
from warploom.schedule.nest.walk import hardware_sizes, statements


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
    body, _ = _Walker(nest, threads).sequence(nest.body, _Pending())
    return replace(nest, body=body)


@dataclass(slots=True)
class _Walker:
    nest: Nest
    hardware: frozenset[int]

    def sequence(self, nodes: tuple[Node, ...], pending: _Pending) -> tuple[tuple[Node, ...], _Pending]:
        done: list[Node] = []
        for node in nodes:
            if isinstance(node, Loop) and node.kind is not Kind.THREAD:
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
        body, after = self.sequence(loop.body, pending)
        if loop.kind is Kind.BLOCK:
            return body, after
        carried = after.without(self._staged(loop)) if any(isinstance(node, Barrier) for node in body) else after
        if not self._is_same_from(body, carried):
            body = (*body, Barrier())
            after = _Pending()
        return body, after

    def _is_same_from(self, body: tuple[Node, ...], pending: _Pending) -> bool:
        """A further iteration of the body with its barriers needs no more of them."""
        again, _ = self.sequence(body, pending)
        return again == body

    def _staged(self, loop: Loop) -> frozenset[int]:
        return frozenset(n for n, b in enumerate(self.nest.buffers) if b.copies > 1) if loop.stages > 1 else frozenset()

    def _accesses(self, node: Node) -> _Pending:
        read: set[tuple[int, object]] = set()
        written: set[tuple[int, object]] = set()
        for statement, around in statements((node,)):
            if isinstance(statement, Load | Store):
                number = statement.memory.buffer
                is_ours = self.nest.buffers[number].role is not Role.TEMPORARY
                access = number, self._sharing(statement.memory.offset, around, statement) if is_ours else None
                (read if isinstance(statement, Load) else written).add(access)
        return _Pending(frozenset(read), frozenset(written))

    def _sharing(self, offset: Affine, around: tuple[Loop, ...], statement: Load | Store) -> object | None:
        """Equal for two accesses where each thread touches the same elements in both; None where that is not known."""
        threads = {loop.number: loop.hardware for loop in around if loop.kind is Kind.THREAD and loop.hardware is not None}
        sizes = {loop.number: loop.size for loop in around}
        hardware = {threads[n] for n, _ in offset.terms if n in threads}
        if frozenset(hardware) != self.hardware or (isinstance(statement, Store) and statement.guards):
            return None
        # The loops outside this unit are the same for both accesses, those inside must cover the same elements.
        inside = frozenset((s, sizes.get(n, n), threads.get(n)) for n, s in offset.terms)
        return inside, offset.constant
