"""Runs a nest as it is written: slow, one scalar at a time, and against it.

Threads of a block run one after the other from barrier to barrier, in an order drawn anew each time; blocks too. An element that
one thread writes and another touches between the same two barriers is an error even where the order happens to be kind, and so is
whatever is read before it is written. Loops with stages are run with their fills ahead, as printed code does.

Arithmetic is that of Python (double precision, unbounded integers); arrays round to their type.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.schedule.nest.interpreter.arithmetic import computed
from tests.schedule.nest.interpreter.errors import NestError
from tests.schedule.nest.interpreter.memory import Array, Buffers
from tests.schedule.nest.interpreter.thread import Meeting, Silent, Thread, thread_index

from warploom.schedule.backbone import Role
from warploom.schedule.nest.nodes import Barrier, Combine, Kind, Loop, Nest, Node
from warploom.schedule.nest.walk import blocks_of, hardware_sizes, loops


def interpret(
    nest: Nest, arrays: Mapping[str, Array], parameters: Mapping[str, float] | None = None, seed: int = 0
) -> dict[str, Array]:
    """The outputs by name, flat, one element per element of the buffer; what no store writes is what was given, else NaN or 0.

    arrays: inputs by name, any shape of so many elements (an output that is read too). Raises NestError; KeyError if an input or
    a parameter is missing.
    """
    run = _NestRun(nest, Buffers.of(nest, arrays), dict(parameters or {}), random.Random(seed))
    run.run()
    return {b.name: run.buffers.arrays[n] for n, b in enumerate(nest.buffers) if b.role is Role.OUTPUT}


@dataclass(slots=True)
class _NestRun:
    nest: Nest
    buffers: Buffers
    parameters: dict[str, float]
    source: random.Random
    silent: Silent = field(default_factory=Silent)
    shape: tuple[int, ...] = ()
    """Threads along each hardware dimension."""

    def run(self) -> None:
        self.shape = hardware_sizes(self.nest, Kind.THREAD)
        blocks = blocks_of(self.nest)
        self.run_blocks((*blocks.around, *blocks.inner), blocks.body)
        if blocks.rest:
            self.buffers.by_blocks.clear()
            self.run_blocks(blocks.around, blocks.rest)

    def run_blocks(self, grid: Sequence[Loop], body: Sequence[Node]) -> None:
        points = list(itertools.product(*(range(loop.size) for loop in grid)))
        self.source.shuffle(points)
        for number, point in enumerate(points):
            self.buffers.enter(number)
            self.run_block({loop.number: index for loop, index in zip(grid, point, strict=True)}, body)

    def run_block(self, indices: dict[int, int], body: Sequence[Node]) -> None:
        positions = itertools.product(*map(range, self.shape))
        threads = [
            Thread(self.nest, self.buffers, self.parameters, self.silent, number, p, indices | self.thread_indices(p))
            for number, p in enumerate(positions)
        ]
        running = [(t, t.run(body)) for t in threads]
        answers: dict[int, float | None] = {}
        while running:
            self.source.shuffle(running)
            met: list[Combine | Barrier] = []
            left: list[tuple[Thread, Meeting]] = []
            for thread, steps in running:
                try:
                    met.append(steps.send(answers.get(id(thread))))
                    left.append((thread, steps))
                except StopIteration:
                    pass
            if met and (len(left) != len(running) or any(m != met[0] for m in met)):
                raise NestError("threads of a block meet at different places")
            answers = {}
            if met:
                self.buffers.by_threads.clear()
                if isinstance(met[0], Combine):
                    answers = self.joined(met[0], [t for t, _ in left])
            running = left

    def thread_indices(self, position: tuple[int, ...]) -> dict[int, int]:
        return {
            loop.number: thread_index(loop, position, self.shape, self.nest.lanes)
            for loop in loops(self.nest.body)
            if loop.kind is Kind.THREAD
        }

    def joined(self, node: Combine, threads: list[Thread]) -> dict[int, float | None]:
        hardware = {x.hardware for x in loops(self.nest.body) if x.kind is Kind.THREAD and x.number in node.threads}
        rows: dict[tuple[int, ...], list[Thread]] = {}
        for thread in threads:
            rows.setdefault(tuple(p for n, p in enumerate(thread.position) if n not in hardware), []).append(thread)
        answers: dict[int, float | None] = {}
        for row in rows.values():
            total = row[0].values[-1, ()]
            for thread in row[1:]:
                total = computed(node.operator, (total, thread.values[-1, ()]))
            answers |= {id(thread): total for thread in row}
        return answers
