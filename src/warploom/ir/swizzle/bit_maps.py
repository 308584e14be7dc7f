"""Index functions on bits: each bit of the result is the XOR of some bits of the arguments, and perhaps of 1.

    bits(v, v', ...) = c ^ field ^ field' ^ ...     field := (v >> s) & mask | (v << s) & mask

These are the affine maps over GF(2), known as linear layouts (Triton) and swizzles (CUTLASS: `i ^ ((i >> s) & mask)`). The set
of all of them has 2^(bits of the result * rank of the arguments) members and stays implicit: where the allowed values fix a bit
of the result, they are linear equations, which Gaussian elimination solves for each bit of the result on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from warploom.core.bit_vectors import echelon
from warploom.ir.kernel.nodes import HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.swizzle.functions import BoolArray, Functions, IntArray, ListedSet, Tables, distinct

MOST_CELLS = 1 << 22
"""Entries of the largest table that is made; a set of more stays implicit."""
MOST_RANK = 60
"""Rows of equations are machine words."""


@dataclass(frozen=True, eq=False)
class BitInputs:
    """The bits of a hole's arguments at its points, as columns; the last column is 1 everywhere."""

    points: IntArray
    """[points, arguments]."""

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """(argument, bit) of every column but the last. A negative number has its sign in all higher bits."""
        found: list[tuple[int, int]] = []
        for argument, values in enumerate(self.points.T):
            most = max(int(values.max()), ~int(values.min()))
            found += [(argument, bit) for bit in range(most.bit_length() + (int(values.min()) < 0))]
        return found

    @cached_property
    def table(self) -> IntArray:
        """[points, columns], 0 or 1."""
        rows = [(self.points[:, argument] >> bit) & 1 for argument, bit in self.columns]
        return np.stack([*rows, np.ones(len(self.points), np.int64)], axis=1)

    @cached_property
    def basis(self) -> list[int]:
        """Columns that no earlier ones add up to; all functions on the points are sums of these."""
        last = self.table.shape[1] - 1
        rows = np.unique(self.table, axis=0)
        words = np.array([int("".join(map(str, row)), 2) for row in rows.tolist()])
        return [last - bit for bit in echelon(words)]

    def tables(self, coefficients: IntArray) -> Tables:
        """[functions, points] values for [functions, columns], the bits of the result that each column flips."""
        found = np.zeros((len(coefficients), len(self.points)), np.int64)
        for column, flips in zip(self.table.T, coefficients.T, strict=True):
            found ^= flips[:, None] * column
        return found.astype(np.int16)

    def terms(self, coefficients: IntArray) -> Iterator[tuple[int, int, IntArray, BoolArray]]:
        """(argument, bits to the left, mask [functions], whether the mask must be written [functions]) of all fields."""
        highest = max((bit for _, bit in self.columns), default=0)
        width = int(coefficients.max(initial=0)).bit_length()
        for argument, values in enumerate(self.points.T):
            ones = int(np.bitwise_or.reduce(values))
            for moved in range(-highest, width):
                mask = np.zeros(len(coefficients), np.int64)
                for column, (owner, bit) in enumerate(self.columns):
                    if owner == argument and bit + moved >= 0:
                        mask |= coefficients[:, column] & (1 << (bit + moved))
                shifted = ones << moved if moved >= 0 else ones >> -moved
                yield argument, moved, mask, (shifted & ~mask) != 0

    def costs(self, coefficients: IntArray) -> IntArray:
        """[functions] cost of `expression`."""
        found = np.zeros(len(coefficients), np.int64)
        terms = (coefficients[:, -1] != 0).astype(np.int64)
        for _, moved, mask, is_masked in self.terms(coefficients):
            found += (mask != 0) * (int(moved != 0) + is_masked)
            terms += mask != 0
        return found + np.maximum(terms - 1, 0)

    def expression(self, coefficients: IntArray) -> IndexExpr:
        """The function of one row of coefficients, over `HoleArg`."""
        result: IndexExpr | None = None
        for argument, moved, masks, is_masked in self.terms(coefficients[None, :]):
            if not masks[0]:
                continue
            term: IndexExpr = HoleArg(argument)
            if moved:
                term = IndexBinary("<<" if moved > 0 else ">>", term, IndexConst(abs(moved)))
            if is_masked[0]:
                term = IndexBinary("&", term, IndexConst(int(masks[0])))
            result = term if result is None else IndexBinary("^", result, term)
        constant = IndexConst(int(coefficients[-1]))
        if result is None:
            return constant
        return IndexBinary("^", result, constant) if constant.value else result


def fields(inputs: BitInputs, bits: int, *, with_constant: bool) -> ListedSet | None:
    """One run of neighbouring bits of each argument at most, moved to any place; None when there are too many to list."""
    every = [_fields_of(inputs, argument, bits) for argument in range(inputs.points.shape[1])]
    if with_constant:
        constants = np.zeros((1 << bits, len(inputs.columns) + 1), np.int64)
        constants[:, -1] = np.arange(1 << bits)
        every.append(constants)
    coefficients = np.zeros((1, len(inputs.columns) + 1), np.int64)
    for more in every:
        if len(coefficients) * len(more) * len(inputs.points) > MOST_CELLS:
            return None
        coefficients = (coefficients[:, None, :] ^ more[None, :, :]).reshape(-1, coefficients.shape[1])
        coefficients = coefficients[distinct(inputs.tables(coefficients), inputs.costs(coefficients))]
    return ListedSet(_functions(inputs, coefficients), 1 << bits)


def _fields_of(inputs: BitInputs, argument: int, bits: int) -> IntArray:
    numbers = [n for n, (owner, _) in enumerate(inputs.columns) if owner == argument]
    rows = [np.zeros(len(inputs.columns) + 1, np.int64)]
    for source, target in product(range(len(numbers)), range(bits)):
        row = rows[0].copy()
        for number, bit in zip(numbers[source:], range(target, bits), strict=False):
            row[number] = 1 << bit
            rows.append(row.copy())
    return np.stack(rows)


def _functions(inputs: BitInputs, coefficients: IntArray, tables: IntArray | None = None) -> Functions:
    """`tables`: [functions, points], if they are known."""
    costs = inputs.costs(coefficients)
    order = np.argsort(costs, kind="stable")
    made, rows = inputs.tables(coefficients) if tables is None else tables.astype(np.int16), order.astype(np.int64)
    return Functions(made[order], costs[order], lambda row: inputs.expression(coefficients[row]), rows)


@dataclass(frozen=True, eq=False, slots=True)
class _Solutions:
    """The sums of basis columns that meet the equations for one bit of the result.

    An equation is a word: the right side is bit 0, unknown number u is bit `rank` - u.
    """

    reduced: dict[int, int]
    """Bit of the leading unknown -> its equation, in which no other leading unknown stands."""
    rank: int

    def fixed(self, rows: IntArray) -> tuple[BoolArray, IntArray]:
        """Per row: whether the equations decide its sum, and the sum."""
        rest = rows.copy()
        for bit, equation in self.reduced.items():
            rest ^= ((rest >> bit) & 1) * equation
        return rest <= 1, rest & 1

    @property
    def free(self) -> list[int]:
        return [unknown for unknown in range(self.rank) if self.rank - unknown not in self.reduced]

    def members(self) -> IntArray:
        """[solutions, rank], 0 or 1."""
        free = self.free
        chosen = (np.arange(1 << len(free))[:, None] >> np.arange(len(free))) & 1
        found = np.zeros((len(chosen), self.rank), np.int64)
        found[:, free] = chosen
        for bit, equation in self.reduced.items():
            shares = np.array([(equation >> (self.rank - f)) & 1 for f in free], np.int64)
            found[:, self.rank - bit] = (chosen @ shares + (equation & 1)) & 1
        return found


@dataclass(frozen=True, eq=False)
class BitMapSet:
    """All functions into 0 .. 2^bits - 1 whose bits are sums of bits of the arguments."""

    inputs: BitInputs
    bits: int

    @property
    def points(self) -> int:
        return len(self.inputs.points)

    @property
    def values(self) -> int:
        return 1 << self.bits

    @property
    def size_bound(self) -> int:
        return 1 << (self.rank * self.bits)

    @property
    def rank(self) -> int:
        return len(self.inputs.basis)

    @cached_property
    def _rows(self) -> IntArray:
        """[points] equations without their right side: the basis columns that are 1 there."""
        return self._columns @ (2 << np.arange(self.rank, dtype=np.int64)[::-1])

    @cached_property
    def _columns(self) -> IntArray:
        return self.inputs.table[:, self.inputs.basis]

    def matching(self, allowed: BoolArray) -> Functions | None:
        solutions = self._solutions(allowed)
        if solutions is None:
            return _functions(self.inputs, np.zeros((0, len(self.inputs.columns) + 1), np.int64))
        coefficients = np.zeros((1, len(self.inputs.columns) + 1), np.int64)
        tables = np.zeros((1, self.points), np.int64)
        decided = 0
        for bit in sorted(range(self.bits), key=lambda bit: len(solutions[bit].free)):
            if len(tables) * self.points << len(solutions[bit].free) > MOST_CELLS:
                return None
            members = solutions[bit].members()
            more = np.zeros((len(members), coefficients.shape[1]), np.int64)
            more[:, self.inputs.basis] = members << bit
            decided |= 1 << bit
            tables = (tables[:, None, :] | ((members @ self._columns.T & 1) << bit)[None, :, :]).reshape(-1, self.points)
            coefficients = (coefficients[:, None, :] | more[None, :, :]).reshape(-1, coefficients.shape[1])
            keep = self._with_any(allowed, decided)[np.arange(self.points), tables].all(axis=1)
            tables, coefficients = tables[keep], coefficients[keep]
        fits = allowed[np.arange(self.points), tables].all(axis=1)
        return _functions(self.inputs, coefficients[fits], tables[fits])

    def supported(self, allowed: BoolArray) -> BoolArray:
        """The allowed values that the equations leave; some may be left that no member takes."""
        solutions = self._solutions(allowed)
        if solutions is None:
            return np.zeros_like(allowed)
        found = allowed.copy()
        for bit, known in enumerate(solutions):
            is_fixed, value = known.fixed(self._rows)
            found &= ~is_fixed[:, None] | ((np.arange(self.values) >> bit & 1) == value[:, None])
        return found

    def _with_any(self, allowed: BoolArray, decided: int) -> BoolArray:
        """[points, values]: whether some allowed value agrees in the decided bits."""
        found = allowed.reshape(self.points, *(2,) * self.bits)
        for bit in range(self.bits):
            if not decided >> bit & 1:
                axis = self.bits - bit
                found = np.broadcast_to(found.any(axis=axis, keepdims=True), found.shape)
        return found.reshape(self.points, self.values)

    def _solutions(self, allowed: BoolArray) -> list[_Solutions] | None:
        """Per bit of the result; None if the equations of one contradict each other, or a point has no value left."""
        numbers = np.arange(self.values)
        if not allowed.any(axis=1).all():
            return None
        found: list[_Solutions] = []
        for bit in range(self.bits):
            is_one = (numbers >> bit & 1).astype(np.bool_)
            may_be_one: BoolArray = np.logical_or.reduce(allowed & is_one, axis=1)
            may_be_zero: BoolArray = np.logical_or.reduce(allowed & ~is_one, axis=1)
            at = may_be_one != may_be_zero
            reduced = echelon(np.unique(self._rows[at] | may_be_one[at]))
            if 0 in reduced:  # 0 == 1
                return None
            found.append(_Solutions(reduced, self.rank))
        return found
