"""Sets of functions listed as a table of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warploom.ir.kernel.nodes import IndexConst, IndexExpr
from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables, distinct


@dataclass(frozen=True, eq=False, slots=True)
class ListedSet:
    """All functions of a table, cheapest first."""

    functions: Functions
    values: int

    @property
    def points(self) -> int:
        return int(self.functions.tables.shape[1])

    @property
    def size_bound(self) -> int:
        return len(self.functions)

    @property
    def size(self) -> int:
        """Exactly as many as there are functions."""
        return len(self.functions)

    def matching(self, allowed: BoolArray) -> Functions:
        return self.functions.matching(allowed)

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: whether some allowed function takes the value at the point."""
        return self.functions.matching(allowed).supported(self.values)


def numbered(tables: Tables, costs: IntArray) -> Functions:
    """The distinct rows, cheapest first, with `IndexConst(row)` of the given table as the expression of each."""
    keep = distinct(tables, costs)
    return Functions(tables[keep], costs[keep], IndexConst, keep)


def numbered_text(name: Callable[[int], str]) -> Callable[[IndexExpr], str]:
    """Text of functions whose expression is a number."""

    def text(expr: IndexExpr) -> str:
        if not isinstance(expr, IndexConst):
            raise TypeError(f"not a member's number: {expr}")
        return name(int(expr.value))

    return text
