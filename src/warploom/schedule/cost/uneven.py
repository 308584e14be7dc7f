"""Blocks that run different numbers of rounds of a loop (`Loop.only`), and how they load the multiprocessors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warploom.schedule.nest import Kind, Loop, Nest, Node, loops, rounds_held

_MOST_BLOCKS = 1 << 18
"""Blocks that are handed out one by one; more of them are taken for alike."""


@dataclass(frozen=True, slots=True)
class Busiest:
    """The blocks of the multiprocessor that has the most work."""

    blocks: int
    nest: Nest
    """The nest as the average of them runs it."""
    longest: Nest
    """The nest as that of all blocks runs it that takes longest."""


def busiest_of(nest: Nest, cores: int, at_once: int) -> Busiest:
    """The blocks of the busiest of so many multiprocessors. Each gets `at_once` in turn; later ones go where least was to do."""
    count = math.prod(x.size for x in loops(nest.body) if x.kind is Kind.BLOCK)
    loop = next((x for x in loops(nest.body) if x.only), None)
    if loop is None:
        return Busiest(-(-count // cores), nest, nest)
    rounds = _rounds_by_block(nest, loop)
    longest = _with_rounds(nest, loop, int(rounds.max()))
    if count > _MOST_BLOCKS:
        return Busiest(-(-count // cores), _with_rounds(nest, loop, math.ceil(rounds.mean())), longest)
    total, blocks = np.zeros(cores, np.int64), np.zeros(cores, np.int64)
    for turn, first in enumerate(range(0, count, cores)):
        batch = rounds[first : first + cores]
        order = np.arange(cores) if turn < at_once else np.argsort(total, kind="stable")
        total[order[: len(batch)]] += batch
        blocks[order[: len(batch)]] += 1
    core = int(total.argmax())
    own = int(blocks[core])
    return Busiest(own, _with_rounds(nest, loop, -(-int(total[core]) // own)), longest)


def _rounds_by_block(nest: Nest, loop: Loop) -> npt.NDArray[np.int64]:
    """Rounds of the loop by block, in the order in which the hardware starts the blocks."""
    numbers, held = rounds_held(nest, loop)
    counts = held.sum(axis=numbers.index(loop.number))
    named = [n for n in numbers if n != loop.number]
    grid = sorted((x for x in loops(nest.body) if x.kind is Kind.BLOCK), key=lambda x: -(x.hardware or 0))
    own = [x for x in grid if x.number in named]
    ordered = np.transpose(counts, [named.index(x.number) for x in own])
    ordered = ordered.reshape([x.size if x.number in named else 1 for x in grid])
    return np.broadcast_to(ordered, [x.size for x in grid]).reshape(-1)


def _with_rounds(nest: Nest, loop: Loop, rounds: int) -> Nest:
    return replace(nest, body=tuple(_changed(node, loop, rounds) for node in nest.body))


def _changed(node: Node, loop: Loop, rounds: int) -> Node:
    if not isinstance(node, Loop):
        return node
    if node.number == loop.number:
        return replace(node, size=max(1, rounds), only=())
    return replace(node, body=tuple(_changed(child, loop, rounds) for child in node.body))
