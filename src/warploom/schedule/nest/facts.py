"""Facts about a nest: how often each statement runs, how long its code is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from warploom.schedule.nest.nodes import Kind, Loop, Nest, Node
from warploom.schedule.nest.walk import Statement, hardware_sizes, statements


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of one statement, guards not regarded."""

    statement: Statement
    loops: tuple[Loop, ...]
    """Outer to inner."""
    per_thread: int
    """Iterations of one thread that runs it; a vector loop counts as one."""
    lanes: int
    threads: int
    """Threads of a block, redundant ones included."""
    blocks: int

    @property
    def instructions(self) -> int:
        """Instructions of the whole kernel: one for each thread and vector."""
        return self.per_thread * self.threads * self.blocks


def counts(nest: Nest) -> tuple[Count, ...]:
    """One for each statement, in program order."""
    hardware = hardware_sizes(nest, Kind.THREAD)
    found: list[Count] = []
    for statement, around in statements(nest.body):
        threads = dict(enumerate(hardware))
        threads |= {loop.hardware: loop.size for loop in around if loop.kind is Kind.THREAD and loop.hardware is not None}
        found.append(
            Count(
                statement,
                around,
                math.prod(loop.size for loop in around if loop.kind in (Kind.LOOP, Kind.UNROLL)),
                math.prod(loop.size for loop in around if loop.kind is Kind.VECTOR),
                math.prod(threads.values()),
                math.prod(loop.size for loop in around if loop.kind is Kind.BLOCK),
            )
        )
    return tuple(found)


def code_size(nodes: tuple[Node, ...]) -> int:
    """Statements after unrolling; a loop that stays counts as two more, a vector as one statement."""
    total = 0
    for node in nodes:
        if not isinstance(node, Loop):
            total += 1
            continue
        inner = code_size(node.body)
        match node.kind:
            case Kind.UNROLL:
                total += node.size * inner
            case Kind.LOOP:
                total += inner + 2
            case Kind.VECTOR | Kind.BLOCK | Kind.THREAD:
                total += inner
    return total
