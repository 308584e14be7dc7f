"""Evaluates a lowered network under a completion: cells to terms, batch by batch."""

from __future__ import annotations

import numpy as np

from warploom.synth.network.network import UNDEFINED, Arithmetic, Elements, Folds, Network, Placements, Retained, Slots
from warploom.terms import Term, apply, component, pack


def run_network(network: Network, tables: tuple[tuple[int, ...], ...]) -> tuple[dict[str, list[Term | None]], int]:
    """Per output its terms (None: undefined), and how many accumulate statements fire. `tables`: value per hole and point."""
    held: dict[int, Term | None] = dict(network.known)
    retained: Retained | None = None
    for batch in network.batches:
        match batch:
            case Elements():
                for row, out in enumerate(batch.out.tolist()):
                    held[out] = held.get(int(batch.source[(row, *_values(batch.slots, row, tables))]))
            case Retained():
                retained = batch
                held |= {out: held.get(old) for out, old in zip(batch.out.tolist(), batch.old.tolist(), strict=True)}
            case Placements():
                assert retained is not None
                for row, source in enumerate(batch.source.tolist()):
                    target = int(batch.target[(row, *_values(batch.slots, row, tables))])
                    if target != UNDEFINED:
                        held[target] = held.get(source)
            case Arithmetic():
                for row, out in enumerate(batch.out.tolist()):
                    held[out] = _applied(batch.op, [held.get(int(o[row])) for o in batch.operands])
            case Folds():
                _fold(batch, held, tables)
    fired = {n for n, s in enumerate(network.statements) if s.is_certain}
    for guard in network.guards:
        if any(guard.holds[(row, *_values(guard.slots, row, tables))] for row in range(len(guard.holds))):
            fired.add(guard.statement)
    return {name: [held.get(c) for c in np.ravel(cells).tolist()] for name, cells in network.outputs.items()}, len(fired)


def _values(slots: Slots, row: int, tables: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(tables[hole][int(points[row])] for hole, points in zip(slots.holes, slots.points, strict=True))


def _applied(op: str, operands: list[Term | None]) -> Term | None:
    terms = [t for t in operands if t is not None]
    if len(terms) < len(operands):
        return None
    if op == "pack":
        return pack(*terms)
    if op.startswith("component"):
        return component(terms[0], int(op.removeprefix("component")))
    if len(terms) == 1:
        return apply(op, terms[0])
    result = terms[0]
    for term in terms[1:]:
        result = apply(op, result, term)
    return result


def _fold(batch: Folds, held: dict[int, Term | None], tables: tuple[tuple[int, ...], ...]) -> None:
    for out in batch.out.tolist():
        held[out] = batch.init
    for entry in batch.entries:
        for row, fold in enumerate(entry.fold.tolist()):
            if entry.guard[(row, *_values(entry.slots, row, tables))]:
                out = int(batch.out[fold])
                held[out] = _applied(batch.op, [held[out], held.get(int(entry.value[row]))])
