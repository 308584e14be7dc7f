"""Points of a hole that can still matter: where nothing that is read depends on a value, any value will do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np

from warploom.synth.network.network import Arithmetic, BoolArray, Elements, Folds, Network, Placements, Retained, Slots
from warploom.synth.search.propagation import Candidate, Constraint, ElementConstraint, slot_options


def relevant_points(network: Network, constraints: Sequence[Constraint], candidate: Candidate, hole: int) -> BoolArray:
    """[points of `hole`]: whether some completion below `candidate` can read what the hole's value there decides."""
    read = _read_at_all(network)
    relevant = np.zeros(len(candidate.allowed[hole]), np.bool_)
    for constraint in reversed(constraints):
        if not isinstance(constraint, ElementConstraint):
            continue
        rows = np.flatnonzero(read[constraint.out])
        options = slot_options(candidate, constraint.slots, (len(constraint.out),)).reshape(len(constraint.out), -1)
        options = np.broadcast_to(options, constraint.source.shape)
        read[constraint.source[rows][options[rows]]] = True
        for number, points in zip(constraint.slots.holes, constraint.slots.points, strict=True):
            if number == hole:
                relevant[points[rows]] = True
    for slots in _other_uses(network):
        for number, points in zip(slots.holes, slots.points, strict=True):
            if number == hole:
                relevant[points] = True
    return relevant


def _read_at_all(network: Network) -> BoolArray:
    """[cells]: outputs, operands, what is added or stored; not what gathers read."""
    read = np.zeros(network.cells, np.bool_)
    for cells in network.outputs.values():
        read[cells] = True
    for batch in network.batches:
        match batch:
            case Arithmetic():
                for operand in batch.operands:
                    read[operand] = True
            case Folds():
                for entry in batch.entries:
                    read[entry.value] = True
            case Placements():
                read[batch.source] = True
            case Retained():
                read[batch.old] = True
            case Elements():
                pass
            case _:
                assert_never(batch)
    return read


def _other_uses(network: Network) -> Iterator[Slots]:
    """Slots whose holes decide anything but what a gather reads."""
    for guard in network.guards:
        yield guard.slots
    for batch in network.batches:
        if isinstance(batch, Placements):
            yield batch.slots
        elif isinstance(batch, Folds):
            for entry in batch.entries:
                yield entry.slots
