"""Facts about a nest: how often each statement runs, how long its code is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warploom.core import WORDS, DType
from warploom.schedule.backbone import Operator
from warploom.schedule.nest.nodes import Compute, Kind, Loop, Nest, Node, Ref, Space
from warploom.schedule.nest.walk import Statement, hardware_sizes, loops, statements


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
        digits = [loop.size for loop in around if loop.digit is not None]
        found.append(
            Count(
                statement,
                around,
                math.prod(loop.size for loop in around if loop.kind in (Kind.LOOP, Kind.UNROLL)),
                math.prod(loop.size for loop in around if loop.kind is Kind.VECTOR),
                math.prod(digits or threads.values()),
                math.prod(loop.size for loop in around if loop.kind is Kind.BLOCK),
            )
        )
    return tuple(found)


def share_of(nest: Nest) -> float:
    """The share of the tiles that are made where a loop leaves some out; 1 where none does."""
    shares = [
        float(rounds_held(nest, loop)[1].mean()) for loop in loops(nest.body) if loop.only and not _is_inside_another(nest, loop)
    ]
    return min(shares, default=1.0)


def _is_inside_another(nest: Nest, loop: Loop) -> bool:
    return any(other.only and loop.number in {x.number for x in loops(other.body)} for other in loops(nest.body))


def rounds_held(nest: Nest, loop: Loop) -> tuple[list[int], npt.NDArray[np.bool_]]:
    """Numbers of the loops that a loop's guards are on, and by their indices whether what it has to hold does."""
    sizes = {x.number: x.size for x in loops(nest.body)}
    numbers = sorted({n for guard in loop.only for n, _ in guard.index.terms})
    shape = tuple(sizes[n] for n in numbers)
    grids = dict(zip(numbers, np.indices(shape, sparse=True), strict=True))
    holds = np.ones(shape, bool)
    for guard in loop.only:
        index = sum((stride * grids[n] for n, stride in guard.index.terms), np.full(shape, guard.index.constant))
        holds &= (index >= 0) & (index < guard.bound)
    return numbers, holds


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


def words_of_sum(nest: Nest, statement: Compute) -> tuple[DType, DType] | None:
    """Types of the factors of a sum of products of words; None for another statement."""
    found = [nest.values[a.value].dtype for a in statement.arguments[:2] if isinstance(a, Ref)]
    is_sum = statement.operator is Operator.FMA and len(found) == 2
    return (found[0], found[1]) if is_sum and all(t in WORDS.values() for t in found) else None


def bytes_of_shared(nest: Nest) -> int:
    """Shared memory of a block, all copies of each buffer among it."""
    return sum(b.elements * b.copies * b.dtype.size_bytes for b in nest.buffers if b.space is Space.SHARED)
