"""Exchanges by `movmatrix`: a warp's 8 x 8 halves of words are transposed, register by register; bytes are gathered after it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.pieces import Value, gathered
from warploom.layout.exchange.program import Program, Transpose
from warploom.layout.exchange.shuffles import Writer, inputs

LANES = 32
FIRST = 75
"""Compute capability with `movmatrix`. Source: PTX ISA 9.7.14.5.17."""


def transposed(content: Ints) -> Ints:
    """The words that movmatrix makes [threads, pieces]: row r of a warp's matrix is in lanes 4 r to 4 r + 3, two halves each."""
    pieces = content.shape[1]
    matrix = content.reshape(-1, 8, 8, pieces // 2)
    return matrix.transpose(0, 2, 1, 3).reshape(-1, pieces)


def programs(held: Ints, wanted: Ints, lanes: int) -> Iterator[Program]:
    """The program that transposes the registers that it must; none where that is needless, or not enough."""
    threads, words, _ = held.shape
    if lanes != LANES or threads % LANES:
        return
    turned = np.stack([transposed(held[:, word]) for word in range(words)], axis=1)
    own = (wanted[:, :, :, None] == held.reshape(threads, 1, 1, -1)).any(axis=3) | (wanted < 0)
    there = (wanted[:, :, :, None, None] == turned[:, None, None]).any(axis=4) & ~own[..., None]
    if own.all() or not (own | there.any(axis=3)).all():
        return
    needed = [int(word) for word in numbered(words) if there[..., word].any()]
    writer = Writer(threads, lanes)
    values = [Value(name, held[:, word]) for word, name in enumerate(inputs(words))]
    for word in needed:
        name = writer.fresh()
        writer.operations.append(Transpose(name, values[word].name))
        values.append(Value(name, turned[:, word]))
    outputs = [gathered(writer, values, wanted[:, word]).name for word in range(wanted.shape[1])]
    yield writer.program("movmatrix", words, outputs)
