"""Blocks that run different numbers of rounds of a loop (`Loop.only`): an average block, the one with the most, and how they load
the multiprocessors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warploom.schedule.nest import Kind, Loop, Nest, Node, loops, rounds_held

_MOST_BLOCKS = 1 << 18
"""Blocks that are handed out one by one; of more, multiprocessors get as much work as if all were average."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a launch."""

    average: Nest
    """The nest as a block runs it that has as many rounds as the average, rounded up."""
    longest: Nest
    """The same of the most rounds."""
    rounds: npt.NDArray[np.int64] | None
    """By block, in the order in which the hardware starts them; None: all run alike."""

    def busiest(self, count: int, cores: int, at_once: int) -> float:
        """Average blocks that the multiprocessor with the most work runs, of `count` blocks. Each holds `at_once`, which it gets in
        turn; later ones go where least was to do."""
        if self.rounds is None or count > _MOST_BLOCKS:
            return float(-(-count // cores))
        loads = np.zeros(cores, np.int64)
        for turn, first in enumerate(range(0, count, cores)):
            batch = self.rounds[first : first + cores]
            order = np.arange(cores) if turn < at_once else np.argsort(loads, kind="stable")
            loads[order[: len(batch)]] += batch
        return float(loads.max()) / max(1, math.ceil(self.rounds.mean()))


def blocks_of_launch(nest: Nest) -> Blocks:
    loop = next((x for x in loops(nest.body) if x.only), None)
    if loop is None:
        return Blocks(nest, nest, None)
    numbers, held = rounds_held(nest, loop)
    counts = held.sum(axis=numbers.index(loop.number))
    named = [n for n in numbers if n != loop.number]
    grid = sorted((x for x in loops(nest.body) if x.kind is Kind.BLOCK), key=lambda x: -(x.hardware or 0))
    shape = [x.size if x.number in named else 1 for x in grid]
    ordered = np.moveaxis(counts, [named.index(x.number) for x in grid if x.number in named], range(len(named))).reshape(shape)
    rounds = np.broadcast_to(ordered, [x.size for x in grid]).reshape(-1)
    return Blocks(_with_rounds(nest, loop, math.ceil(rounds.mean())), _with_rounds(nest, loop, int(rounds.max())), rounds)


def _with_rounds(nest: Nest, loop: Loop, rounds: int) -> Nest:
    return replace(nest, body=tuple(_changed(node, loop, rounds) for node in nest.body))


def _changed(node: Node, loop: Loop, rounds: int) -> Node:
    if not isinstance(node, Loop):
        return node
    if node.number == loop.number:
        return replace(node, size=max(1, rounds), only=())
    return replace(node, body=tuple(_changed(child, loop, rounds) for child in node.body))
