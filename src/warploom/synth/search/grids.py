"""Products that form grids: every row operand meets every column operand, in every iteration of every lane.

Where all products must be taken exactly once and the required terms fall into *blocks*, complete grids of values of the same
shape as the operands', each iteration takes one whole block: its row operands hold the block's row values in some order, its
column operands the column values. So a block decides, up to these two orders, which accumulator takes which product. The
argument uses only which terms are required, so what follows from it holds in every search space.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np

from warploom.synth.network.network import BoolArray, IntArray
from warploom.synth.search.folds import FoldConstraint

Labels = tuple[tuple[int, ...], ...]
"""A block: [row value][column value] -> role of the accumulator that needs the product."""
MAX_STEPS = 200_000
"""Partial orders looked at to find how alike two blocks are."""


@dataclass(frozen=True, slots=True)
class ProductGrids:
    """All iterations take blocks through the same statements."""

    statements: IntArray
    """[row operands, column operands, roles] the statement that adds the product to the accumulator; -1: none does."""
    blocks: tuple[Labels, ...]
    """Distinct ones, up to the orders of their rows and columns. Each is taken in some iteration."""

    @property
    def orders(self) -> int:
        """Number of ways in which one iteration can take one block."""
        return factorial(self.statements.shape[0]) * factorial(self.statements.shape[1])

    def patterns(self, block: Labels) -> set[int]:
        """Sets of statements (bit n = statement n) that take a block, for every order of its rows and columns."""
        rows, columns = range(len(block)), range(len(block[0]))
        found = (self.pattern(block, r, c) for r in permutations(rows) for c in permutations(columns))
        return {p for p in found if p is not None}

    def pattern(self, block: Labels, rows: tuple[int, ...], columns: tuple[int, ...]) -> int | None:
        """The statements that take a block if operand n holds its row (column) `rows[n]`; None if one is missing."""
        labels = np.array(block)[np.ix_(rows, columns)]
        taken = self.statements[np.arange(len(rows))[:, None], np.arange(len(columns))[None, :], labels]
        if (taken < 0).any():
            return None
        return sum(1 << s for s in {int(n) for n in taken.ravel()})


def product_grids(folds: FoldConstraint, on: BoolArray) -> ProductGrids | None:
    """None where the products do not have this form. `on`: [contributions] whether they can be made at all."""
    products, order = folds.products, {o for orders in folds.orders for o in orders}
    if not len(products.cells) or not products.used_once.all() or products.cells.shape[1] != 2 or len(order) != 1:
        return None
    statement = np.repeat([e.statement for e in folds.entries], np.diff(folds.starts))[on]
    product, fold = products.of_row[on], folds.fold[on]
    grid = _grid_of(products.cells, product, statement)
    if grid is None:
        return None
    rows, columns = int(grid[0].max()) + 1, int(grid[1].max()) + 1
    table = np.full((folds.required.folds, rows, columns), -1)
    table[fold, grid[0][product], grid[1][product]] = statement
    if (table[fold, grid[0][product], grid[1][product]] != statement).any():
        return None  # two ways into one accumulator
    roles, role_of_fold = np.unique(table.reshape(len(table), -1), axis=0, return_inverse=True)
    statements = np.moveaxis(roles.reshape(-1, rows, columns), 0, 2)
    real = statements[statements >= 0]
    if len(np.unique(real)) < len(real):
        return None  # a statement for several products: orders are not interchangeable
    component = np.zeros(folds.required.folds, np.int64)
    component[fold] = products.component[product]
    blocks = _blocks(folds, order.pop(), component, role_of_fold.reshape(-1), (rows, columns))
    return None if blocks is None else ProductGrids(statements, blocks)


def _grid_of(cells: IntArray, product: IntArray, statement: IntArray) -> tuple[IntArray, IntArray] | None:
    """[products] row and column in the grid that the product belongs to; None unless all grids are complete and alike."""
    first = np.full(int(cells.max()) + 1, np.iinfo(np.int64).max)
    for factor in range(2):
        np.minimum.at(first, cells[product, factor], statement)
    cluster = _connected(cells[:, 0], cells[:, 1])
    if np.intersect1d(cells[:, 0], cells[:, 1]).size:
        return None
    places: list[IntArray] = []
    for factor in range(2):
        operand, index = np.unique(cells[:, factor], return_index=True)
        by = np.lexsort((first[operand], cluster[index]))
        starts = np.searchsorted(cluster[index][by], cluster[index][by])
        place = np.zeros(len(first), np.int64)
        place[operand[by]] = np.arange(len(operand)) - starts
        places.append(place[cells[:, factor]])
    extent = [int(place.max()) + 1 for place in places]
    _, count = np.unique(cluster, return_counts=True)
    return (places[0], places[1]) if (count == extent[0] * extent[1]).all() else None


def _connected(left: IntArray, right: IntArray) -> IntArray:
    """[edges] number of the connected component of an edge between a left and a right node, which are different nodes."""
    of_left, of_right = np.arange(int(left.max()) + 1), np.zeros(int(right.max()) + 1, np.int64)
    while True:
        of_right[:] = len(of_left)
        np.minimum.at(of_right, right, of_left[left])
        before = of_left.copy()
        np.minimum.at(of_left, left, of_right[right])
        if (before == of_left).all():
            return of_left[left]


def _blocks(
    folds: FoldConstraint, order: tuple[int, ...], component: IntArray, role: IntArray, shape: tuple[int, int]
) -> tuple[Labels, ...] | None:
    """The different blocks of required terms, each with its rows and columns sorted; None unless all have the shape."""
    fold, position = np.nonzero(folds.real)
    size = len(folds.required.universe)
    values = [component[fold] * size + folds.terms[fold, position, p] for p in order]
    block = _connected(*values)
    places: list[IntArray] = []
    for value in values:
        distinct, index, inverse = np.unique(value, return_index=True, return_inverse=True)
        by = np.argsort(block[index], kind="stable")
        rank = np.zeros(len(distinct), np.int64)
        rank[by] = np.arange(len(distinct)) - np.searchsorted(block[index][by], block[index][by])
        places.append(rank[inverse.reshape(-1)])
    numbers, block = np.unique(block, return_inverse=True)
    if tuple(int(p.max()) + 1 for p in places) != shape or len(fold) != len(numbers) * shape[0] * shape[1]:
        return None
    labels = np.full((len(numbers), *shape), -1)
    labels[block.reshape(-1), places[0], places[1]] = role[fold]
    if (labels < 0).any():
        return None
    return tuple(sorted({_sorted(found) for found in np.unique(labels, axis=0)}))


def _sorted(labels: IntArray) -> Labels:
    rows = sorted(labels.tolist(), key=lambda row: (sorted(row), row))
    columns = sorted(zip(*rows, strict=True), key=lambda column: (sorted(column), column))
    return tuple(zip(*columns, strict=True))


# ------------------------------------------------------------ how alike two blocks are


@dataclass(frozen=True, slots=True)
class Alignment:
    """Orders of a second block's rows and columns under which most labels agree with the first's."""

    different: int
    """Places that differ."""
    orders: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """All orders with as few differences, or the first ones."""


def closest(first: Labels, second: Labels, *, most: int = 64) -> Alignment | None:
    """The orders of `second` that agree best with `first`; None when it takes too long. At most `most` of them are listed.

    Branch and bound over the order of the rows. With some rows placed, a column of `first` differs in at least as many places
    as from the column of `second` nearest to it there: distinct rows that cannot all agree cost every column one place.
    """
    return _Aligning(np.array(first), np.array(second), most).run()


class _Aligning:
    def __init__(self, first: IntArray, second: IntArray, most: int) -> None:
        rows, columns = first.shape
        self.most = most
        self.rows, self.columns = rows, columns
        # [row, row of second, column, column of second]: whether the labels differ.
        self.differs = (first[:, None, :, None] != second[None, :, None, :]).astype(np.int64)
        self.steps = 0
        self.best = rows * columns + 1
        self.orders: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def run(self) -> Alignment | None:
        if not self._extend((), np.zeros((self.columns, self.columns), np.int64)):
            return None
        return Alignment(self.best, tuple(self.orders))

    def _extend(self, order: tuple[int, ...], cost: IntArray) -> bool:
        """`cost`: [column, column of second] differences in the rows placed. False: too many steps."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            return False
        if len(order) == self.rows:
            self._assign(order, cost)
            return True
        free = [row for row in range(self.rows) if row not in order]
        costs = [cost + self.differs[len(order), row] for row in free]
        bounds = [max(int(c.min(axis=1).sum()), int(c.min(axis=0).sum())) for c in costs]
        for n in sorted(range(len(free)), key=lambda n: bounds[n]):
            if bounds[n] > self.best or (bounds[n] == self.best and len(self.orders) >= self.most):
                continue
            if not self._extend((*order, free[n]), costs[n]):
                return False
        return True

    def _assign(self, rows: tuple[int, ...], cost: IntArray) -> None:
        """Every order of the columns that is no worse than the best so far, by branch and bound."""
        least = cost.min(axis=1)
        rest = np.append(np.cumsum(least[::-1])[::-1], 0).tolist()
        table = cost.tolist()

        def place(order: tuple[int, ...], spent: int) -> None:
            if spent + rest[len(order)] > self.best or (spent + rest[len(order)] == self.best and len(self.orders) >= self.most):
                return
            if len(order) == self.columns:
                if spent < self.best:
                    self.best = spent
                    self.orders.clear()
                self.orders.append((rows, order))
                return
            row = table[len(order)]
            for column in sorted((c for c in range(self.columns) if c not in order), key=row.__getitem__):
                place((*order, column), spent + row[column])

        place((), 0)
