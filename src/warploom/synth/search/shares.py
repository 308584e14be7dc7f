"""Facts about sums of sums from the spec and the inputs: how often each element is in them, as numbers.

A cell that holds a sum of input elements is a row of *shares*: one column for each product of elements, and the last one for how
many there are in all. Shares of machine integers are read where each product is a single element and no sum can wrap around:
only then do different shares make different values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warploom.synth.network.network import UNDEFINED, Arithmetic, BoolArray, Folds, Network
from warploom.synth.network.requirements import Requirements
from warploom.terms import Algebra, Normaliser, NotSumOfProductsError, ProductReader, Term, apply, atom

Shares = NDArray[np.float64]
"""[..., columns]."""
Family = Literal["sum", "set", "parity"]
"""How shares of operands make those of the result: they add; they are 0 or 1 and join; they are 0 or 1 and cancel."""
MOST_SHARES = 1 << 21
"""Cells times columns; larger sums are left to evaluation."""
LARGEST = 1e5
"""A larger share is as good as unknown: sums of thousands of these are exact in 64 bits to far less than a share differs by."""
_IDEMPOTENT = ("max", "min", "|", "&")
_INNER = {"+": "*", "^": "&", "|": "&", "&": "|", "max": "+", "min": "+"}


@dataclass(eq=False, slots=True)
class Bounds:
    low: Shares
    high: Shares
    dead: BoolArray
    """[cells]: it certainly holds no value."""

    def copy(self) -> Bounds:
        return Bounds(self.low.copy(), self.high.copy(), self.dead.copy())


@dataclass(frozen=True, eq=False, slots=True)
class Sums:
    """Facts about a network's sums before any hole is decided."""

    family: Family
    op: str
    known: Bounds
    """Bounds of inputs and constants, and of outputs as they must be; everything else is unbounded."""
    inits: Mapping[Term, Shares | None]
    """Shares of the values that accumulators start with; None: unknown."""
    divides: bool
    """Quotients are exact."""
    modulus_bits: int
    """Integers are taken modulo 2 to this; 0 for exact numbers."""


def read_sums(network: Network, required: Requirements) -> list[Sums]:
    """The sums of each operator that makes some output."""
    if not required.judged or required.folds:
        return []
    found = [_of_family(network, required, *f) for f in _families(network, required.universe.normaliser.algebra)]
    return [s for s in found if s is not None]


def _of_family(network: Network, required: Requirements, family: Family, op: str) -> Sums | None:
    """None where no output is what these shares can tell, or they are too many."""
    normaliser = required.universe.normaliser
    algebra = normaliser.algebra
    reader = ProductReader(algebra)
    columns: dict[object, int] = {}
    rows: dict[int, dict[int, float]] = {}
    goals: dict[int, dict[int, float]] = {}

    def read(term: Term) -> dict[int, float] | None:
        return _shares(term, reader, op, family, algebra, columns)

    for cell, term in network.known.items():
        shares = read(term)
        if shares is not None:
            rows[cell] = shares
    inits_read = {b.init: read(b.init) for b in network.batches if isinstance(b, Folds)}
    for cell, term in required.judged:
        shares = read(term)
        if shares is not None and goals.setdefault(cell, shares) != shares:
            return None
    if not goals or network.cells * (len(columns) + 1) > MOST_SHARES:
        return None
    count = len(columns) + 1
    low, high = np.full((network.cells, count), -np.inf), np.full((network.cells, count), np.inf)
    dead = np.zeros(network.cells, np.bool_)
    dead[UNDEFINED] = True
    for table in (rows, goals):
        for cell, shares in table.items():
            low[cell] = high[cell] = 0
            for column, share in shares.items():
                low[cell, column] = high[cell, column] = share
            low[cell, -1] = high[cell, -1] = sum(shares.values())
    inits = {init: _start(shares, init, op, count, normaliser) for init, shares in inits_read.items()}
    return Sums(family, op, Bounds(low, high, dead), inits, algebra.dtype.is_float, algebra.modulus_bits)


def _start(shares: dict[int, float] | None, init: Term, op: str, columns: int, normaliser: Normaliser) -> Shares | None:
    """The shares that an accumulator starts with; None where that is no sum of elements."""
    fresh = atom("$fresh", ())
    if shares is None and normaliser.normal(apply(op, fresh, init)) != normaliser.normal(fresh):
        return None
    result = np.zeros(columns)
    for column, share in (shares or {}).items():
        result[column] = share
        result[-1] += share
    return result


def _families(network: Network, algebra: Algebra) -> list[tuple[Family, str]]:
    operators = {b.op for b in network.batches if isinstance(b, Arithmetic | Folds)}
    regions = dict(algebra.regions)
    found: list[tuple[Family, str]] = []
    if operators & {"+", "-", "neg"} and regions.get("+") == "polynomial":
        found.append(("sum", "+"))
    joining = [op for op in _IDEMPOTENT if op in operators and regions.get(op) in ("lattice", "bits", "or")]
    found.extend(("set", op) for op in joining)
    if "^" in operators and regions.get("^") == "bits":
        found.append(("parity", "^"))
    return found


def _shares(
    term: Term, reader: ProductReader, op: str, family: Family, algebra: Algebra, columns: dict[object, int]
) -> dict[int, float] | None:
    """How often each product of elements is in the term; None where the term says more than that."""
    try:
        products = reader.read(term, op, _INNER[op])
    except NotSumOfProductsError:
        return None
    result: dict[int, float] = {}
    for monomial, number in products.items():
        share = _signed(number, algebra)
        if abs(share) > LARGEST or (not monomial and (family != "sum" or algebra.modulus_bits)):
            return None
        if (algebra.modulus_bits or family != "sum") and len(monomial) > 1:
            return None
        key = tuple(sorted(t.serial for t in monomial))
        result[columns.setdefault(key, len(columns))] = 1.0 if family != "sum" else float(share)
    return result


def _signed(number: int | Fraction, algebra: Algebra) -> int | Fraction:
    bits = algebra.modulus_bits
    return number - (1 << bits) if bits and number >= 1 << (bits - 1) else number
