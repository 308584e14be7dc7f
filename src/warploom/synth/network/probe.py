"""Evaluates a completion of a network on random numbers: a wrong one is told in microseconds, before any proof.

Only a refutation counts: two sides that differ on numbers are not equal under any sound law. Exact algebras (floats as reals
among them) are probed with small whole numbers, on which sums, products and extrema are exact; machine integers wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import scalar_of
from warploom.ir.swizzle import Tables
from warploom.synth.network.network import (
    UNDEFINED,
    Arithmetic,
    Batch,
    BoolArray,
    Elements,
    Folds,
    IntArray,
    Network,
    Placements,
    Retained,
    Slots,
)
from warploom.terms import Algebra, Term, evaluate

Numbers = NDArray[Any]
_MAGNITUDE = 100
"""Largest of the whole numbers that stand for exact ones: sums of thousands of products of eight stay exact in 64 bits."""

TOGETHER = 1 << 22
"""Cells times functions that are evaluated at once."""
LONG_KEY = 64
"""Values by which functions are told apart; more take longer to sort than to evaluate."""


class Probe:
    """One random assignment of a network's inputs, and what its outputs must be under it."""

    def __init__(self, cells: IntArray, wanted: Numbers, inputs: Numbers, network: Network) -> None:
        self.cells = cells
        self.wanted = wanted
        self.inputs = inputs
        self.network = network
        self.reads = _holes_below(network)[cells]
        """[outputs, holes]: whether the output depends on the hole."""

    def matches(self, tables: Sequence[Tables]) -> bool:
        """Whether the completion (per hole: [points] values) gives the wanted numbers."""
        values = self.inputs.copy()
        with np.errstate(all="ignore"):
            for batch in self.network.batches:
                _run(batch, values, tables)
        return bool((values[self.cells] == self.wanted).all())

    def told(self, hole: int, open_holes: Sequence[int]) -> BoolArray:
        """[outputs]: those that are known once `hole` is decided, where `open_holes` (without it) stay open."""
        return self.reads[:, hole] & ~self.reads[:, list(open_holes)].any(axis=1)

    def surviving(self, decided: Sequence[Tables], hole: int, functions: Tables, outputs: BoolArray | None = None) -> BoolArray:
        """[functions]: whether this function of `hole`, with what is `decided` of the others, gives the wanted numbers; of these
        `outputs` only, which do not depend on what is not decided and has any table."""
        step = max(1, TOGETHER // max(1, len(self.inputs)))
        looked = np.arange(len(self.cells)) if outputs is None else np.flatnonzero(outputs)
        parts = [self._surviving(decided, hole, functions[n : n + step], looked) for n in range(0, len(functions), step)]
        return np.concatenate(parts) if parts else np.zeros(0, np.bool_)

    def _surviving(self, decided: Sequence[Tables], hole: int, functions: Tables, looked: IntArray) -> BoolArray:
        """Functions that agree at all points met so far are one column of numbers."""
        column: IntArray = np.zeros(len(functions), np.int64)
        kinds = functions[:1]
        met = np.zeros(functions.shape[1], np.bool_)
        values = self.inputs[:, None].copy()
        with np.errstate(all="ignore"):
            for batch in self.network.batches:
                fresh = np.unique(np.concatenate([p for h, p in _points(batch) if h == hole] or [np.zeros(0, np.int64)]))
                fresh = fresh[~met[fresh]]
                if len(fresh):
                    met[fresh] = True
                    keys: IntArray = np.column_stack([column, functions[:, fresh].astype(np.int64)])
                    first, column = _distinct(keys)
                    values = values[:, keys[first, 0]]
                    kinds = functions[first]
                tables = [kinds if h == hole else t[None] for h, t in enumerate(decided)]
                _run_all(batch, values, tables)
        return np.logical_and.reduce(values[self.cells[looked]] == self.wanted[looked, None], axis=0)[column]


def _holes_below(network: Network) -> BoolArray:
    """[cells, holes]: whether the number in the cell depends on the hole."""
    found = np.zeros((network.cells, len(network.holes)), np.bool_)
    for batch in network.batches:
        match batch:
            case Elements():
                found[batch.out] = found[batch.source.reshape(len(batch.out), -1)].any(axis=1)
                for hole in batch.slots.holes:
                    found[batch.out, hole] = True
            case Retained():
                found[batch.out] = found[batch.old]
            case Placements():
                for column in batch.target.reshape(len(batch.source), -1).T:
                    np.logical_or.at(found, column, found[batch.source])
                    for hole in batch.slots.holes:
                        found[column, hole] = True
            case Arithmetic():
                found[batch.out] = np.logical_or.reduce([found[cells] for cells in batch.operands])
            case Folds():
                for entry in batch.entries:
                    np.logical_or.at(found, batch.out[entry.fold], found[entry.value])
                    for hole in entry.slots.holes:
                        found[batch.out[entry.fold], hole] = True
    found[UNDEFINED] = False
    return found


def _distinct(keys: IntArray) -> tuple[IntArray, IntArray]:
    """(a row of each kind, the kind of each row); where keys are long, each row is its own kind."""
    if keys.shape[1] > LONG_KEY:
        return np.arange(len(keys)), np.arange(len(keys))
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    starts = np.ones(len(keys), np.bool_)
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    kind = np.empty(len(keys), np.int64)
    kind[order] = np.cumsum(starts) - 1
    return order[starts], kind


def make_probe(network: Network, wanted: Sequence[tuple[int, Term]], algebra: Algebra, seed: int = 0) -> Probe | None:
    """`wanted`: output cells and their terms. None where some operation has no meaning on numbers here (casts, vectors, ...)."""
    scalar = scalar_of(algebra.dtype)
    is_exact = algebra.modulus_bits == 0
    for batch in network.batches:
        if isinstance(batch, Arithmetic) and batch.op not in _ARITHMETIC:
            return None
        if isinstance(batch, Folds) and batch.op not in _REDUCE:
            return None
    rng = np.random.default_rng(seed)
    drawn: dict[Term, int] = {}

    def number(term: Term) -> int:
        if term not in drawn:
            drawn[term] = int(rng.integers(0, _MAGNITUDE if is_exact else 1 << min(scalar.bits, 62)))
        return drawn[term]

    known = list(network.known)
    roots = [
        *(network.known[c] for c in known),
        *(t for _, t in wanted),
        *(b.init for b in network.batches if isinstance(b, Folds)),
    ]
    found = evaluate(roots, scalar, number)
    if found is None or any(int(v) != v for v in found):
        return None
    kind = np.dtype(np.int64) if is_exact else np.dtype(f"{'u' if scalar.kind == 'uint' else 'i'}{scalar.bits // 8}")
    numbers = np.array([int(v) for v in found], dtype=object)
    try:
        typed = numbers.astype(kind)
    except OverflowError:
        return None
    inputs = np.zeros(network.cells, kind)
    inputs[known] = typed[: len(known)]
    return Probe(np.array([c for c, _ in wanted], np.int64), typed[len(known) : len(known) + len(wanted)], inputs, network)


def _chosen(slots: Slots, tables: Sequence[Tables], rows: int) -> tuple[IntArray, ...]:
    return (np.arange(rows), *(tables[h][p].astype(np.int64) for h, p in zip(slots.holes, slots.points, strict=True)))


def _run(batch: object, values: Numbers, tables: Sequence[Tables]) -> None:
    match batch:
        case Elements():
            values[batch.out] = values[batch.source[_chosen(batch.slots, tables, len(batch.out))]]
        case Retained():
            values[batch.out] = values[batch.old]
        case Placements():
            target = batch.target[_chosen(batch.slots, tables, len(batch.source))]
            values[target] = values[batch.source]
            values[UNDEFINED] = 0
        case Arithmetic():
            values[batch.out] = _ARITHMETIC[batch.op](*(values[o] for o in batch.operands))
        case Folds():
            _fold(batch, values, tables)
        case _:
            raise TypeError(type(batch).__name__)


def _fold(batch: Folds, values: Numbers, tables: Sequence[Tables]) -> None:
    state = np.full(len(batch.out), int(batch.init.data[0])).astype(values.dtype)
    for entry in batch.entries:
        made: BoolArray = entry.guard[_chosen(entry.slots, tables, len(entry.fold))]
        _REDUCE[batch.op].at(state, entry.fold[made], values[entry.value[made]])
    values[batch.out] = state


def _points(batch: Batch) -> list[tuple[int, IntArray]]:
    """(hole, points) that decide something in the batch."""
    match batch:
        case Elements() | Placements():
            slots = [batch.slots]
        case Folds():
            slots = [e.slots for e in batch.entries]
        case Arithmetic() | Retained():
            slots = []
    return [pair for s in slots for pair in zip(s.holes, s.points, strict=True)]


def _run_all(batch: Batch, values: Numbers, tables: Sequence[Tables]) -> None:
    """`values`: [cells, functions]; `tables`: [functions or 1, points] of the holes that are decided."""
    every = np.arange(int(values.shape[1]))

    def chosen(slots: Slots, rows: int) -> tuple[IntArray, ...]:
        found: list[IntArray] = []
        for hole, points in zip(slots.holes, slots.points, strict=True):
            found.append(tables[hole][:, points].T.astype(np.int64))
        return (np.arange(rows)[:, None], *found)

    match batch:
        case Elements():
            values[batch.out] = values[batch.source[chosen(batch.slots, len(batch.out))], every]
        case Retained():
            values[batch.out] = values[batch.old]
        case Placements():
            target = np.broadcast_to(batch.target[chosen(batch.slots, len(batch.source))], (len(batch.source), len(every)))
            values[target, every] = values[batch.source]
            values[UNDEFINED] = 0
        case Arithmetic():
            values[batch.out] = _ARITHMETIC[batch.op](*(values[o] for o in batch.operands))
        case Folds():
            state = np.full((len(batch.out), len(every)), int(batch.init.data[0])).astype(values.dtype)
            for entry in batch.entries:
                made = np.broadcast_to(entry.guard[chosen(entry.slots, len(entry.fold))], (len(entry.fold), len(every)))
                row, column = np.nonzero(made)
                _REDUCE[batch.op].at(state, (entry.fold[row], column), values[entry.value[row], column])
            values[batch.out] = state


def _folded(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(first: Any, *others: Any) -> Any:
        for other in others:
            first = function(first, other)
        return first

    return run


_REDUCE: Mapping[str, np.ufunc] = {
    "+": np.add,
    "*": np.multiply,
    "^": np.bitwise_xor,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "min": np.minimum,
    "max": np.maximum,
}
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    **{op: _folded(function) for op, function in _REDUCE.items()},
    "-": _folded(np.subtract),
    "neg": np.negative,
    "~": np.invert,
}
