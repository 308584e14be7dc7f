"""Shuffles and selects that a gather takes whatever it becomes, from what its results must hold and pass on.

This is said of gathers whose results hold every required value once (`injective_elements`). Of the values of a lane only those
stay that the lane also wants, so the others are shuffled, each in a register of its own. Where a lane permutes its own registers,
one register of all lanes must show as many source registers as are needed to supply its values: a source register supplies no
more of them than there are places which pass them on, and none that it does not hold itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warploom.ir.swizzle import BoolArray, IntArray
from warploom.synth.dataflow.prices import HolePrices, LeastMoves
from warploom.synth.search.propagation import Candidate, ElementConstraint, Words, any_bits, slot_options

_MOST_WORDS = 1 << 23
"""Most words of one table; nothing is said of larger gathers."""


def least_moves(
    candidate: Candidate,
    elements: Sequence[ElementConstraint],
    injective: Sequence[ElementConstraint],
    hole: int,
    prices: HolePrices,
) -> LeastMoves:
    """Below a propagated candidate; `elements`: all gathers, in order, `injective`: those whose results are different values."""
    mine = [e for e in elements if hole in e.holes]
    if len(mine) != 1 or mine[0].slots.holes != (hole,) or not any(e is mine[0] for e in injective):
        return LeastMoves()
    element, lanes = mine[0], prices.gatherings.lanes
    rows = len(element.out)
    if element.source.shape != prices.source.shape or (element.slots.points[0] != prices.point).any() or rows % lanes:
        return LeastMoves()
    allowed: BoolArray = candidate.allowed[hole][prices.point]
    lane = prices.gatherings.lane[prices.source]
    own: IntArray = np.arange(rows)[:, None] // (rows // lanes)
    stays = allowed & ((lane == own) | (lane < 0))
    held = candidate.domains[element.out][:, None, :] & candidate.domains[element.source]
    shuffles = _shuffles(np.where(stays[:, :, None], held, np.uint64(0)), lanes)
    if not (stays | ~allowed).all():
        return LeastMoves(shuffles)
    return LeastMoves(shuffles, _selects(candidate, elements, injective, element, prices, np.where(allowed[:, :, None], held, 0)))


def _shuffles(staying: Words, lanes: int) -> int:
    """`staying`: [rows, options, words] the values that a row may take from its own lane."""
    per_lane = np.bitwise_or.reduce(staying.reshape(lanes, -1, staying.shape[-1]), axis=1)
    registers = len(staying) // lanes
    return max(0, registers - int(np.bitwise_count(per_lane).sum(axis=1).min()))


def _selects(
    candidate: Candidate,
    elements: Sequence[ElementConstraint],
    injective: Sequence[ElementConstraint],
    element: ElementConstraint,
    prices: HolePrices,
    held: Words,
) -> int:
    """Where lanes move their own registers only. `held`: [rows, options, words] values that a row may read through an option."""
    lanes, keys = prices.gatherings.lanes, prices.gatherings.keys
    rows, words = len(element.out), held.shape[-1]
    registers = rows // lanes
    if rows * keys * words > _MOST_WORDS:
        return 0
    register: IntArray = np.broadcast_to(np.arange(rows)[:, None] % registers, element.source.shape)
    key = prices.gatherings.key[prices.source]
    supplied = np.zeros((registers, keys, words), np.uint64)
    np.bitwise_or.at(supplied, (register.ravel(), key.ravel()), held.reshape(-1, words))
    most = np.minimum(np.bitwise_count(supplied).sum(axis=2, dtype=np.int64), lanes)
    for reader in injective:
        if reader is not element and np.isin(reader.source, element.out).all():
            most = np.minimum(most, _passed_on(candidate, reader, element.out, supplied))
    for n in range(keys):
        cells = _behind(candidate, elements, np.unique(element.source[(key == n) & any_bits(held)]))
        most[:, n] = np.minimum(most[:, n], any_bits(candidate.domains[cells][None] & supplied[:, n, None, :]).sum(axis=1))
    together = np.cumsum(-np.sort(-most, axis=1), axis=1)
    if not (together[:, -1] >= lanes).all():
        return 0  # no completion
    needed = (together < lanes).sum(axis=1) + 1
    steps = int(needed.max() - 1).bit_length()
    return min(int((needed - 1).sum()), steps * prices.gatherings.registers)


def _passed_on(candidate: Candidate, reader: ElementConstraint, cells: IntArray, supplied: Words) -> IntArray:
    """[registers, keys] rows of the reader that may take such a value out of that register of some lane."""
    registers = len(supplied)
    place = np.zeros(len(candidate.domains), np.int64)
    place[cells] = np.arange(len(cells)) % registers
    options = slot_options(candidate, reader.slots, (len(reader.out),)).reshape(len(reader.out), -1)
    takes = np.zeros((len(reader.out), registers), np.bool_)
    row, option = np.nonzero(options)
    takes[row, place[reader.source[row, option]]] = True
    found = np.zeros(supplied.shape[:2], np.int64)
    for n in range(registers):
        wanted = candidate.domains[reader.out[takes[:, n]]]
        found[n] = any_bits(wanted[:, None, :] & supplied[n][None]).sum(axis=0)
    return found


def _behind(candidate: Candidate, elements: Sequence[ElementConstraint], cells: IntArray) -> IntArray:
    """The cells that one gather reads for these; the cells themselves where it does not write them all."""
    for element in elements:
        if len(cells) and np.isin(cells, element.out).all():
            part = element.restricted(np.flatnonzero(np.isin(element.out, cells)))
            options = slot_options(candidate, part.slots, (len(part.out),)).reshape(len(part.out), -1)
            return np.unique(part.source[options])
    return cells
