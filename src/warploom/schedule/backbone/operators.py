"""Facts about the operators of a backbone, from the rows of `warploom.operations`; loads, stores and moves compute nothing."""

from __future__ import annotations

from warploom import operations
from warploom.core import DType
from warploom.operations import ComparisonSign, Operation
from warploom.schedule.backbone.nodes import Operator

COMPARING: dict[Operator, ComparisonSign] = {Operator.LESS: "<", Operator.LESS_EQUAL: "<=", Operator.EQUAL: "=="}
_NO_ARITHMETIC = {
    Operator.LOAD: 0, Operator.STORE: 1, Operator.MOVE: 1, Operator.GATHER: 1, **dict.fromkeys(COMPARING, 2), Operator.SELECT: 3,
}  # fmt: skip
"""Operators without a row, and how many operands they have."""
ROWS: dict[Operator, Operation] = {o: operations.BY_NAME[o] for o in Operator if o not in _NO_ARITHMETIC}

ARITY: dict[Operator, int] = _NO_ARITHMETIC | {operator: row.arity for operator, row in ROWS.items()}

FUNCTIONS: tuple[Operator, ...] = tuple(operator for operator, row in ROWS.items() if row.is_function)
"""Functions of one real number."""

FLOAT_ONLY = (Operator.DIV, *FUNCTIONS)

FREE = (Operator.MOVE, *COMPARING, *(operator for operator, row in ROWS.items() if row.cost == "free"))
"""Operators that take no instruction of their own."""

REDUCING = (Operator.FMA, *(operator for operator, row in ROWS.items() if row.identity is not None))

REORDERED_EXACTLY = (Operator.MAX, Operator.MIN)
"""Reductions whose result does not depend on the order, whatever the type."""


def identity_of(operator: Operator, dtype: DType) -> int | float:
    """The value from which a reduction starts; of sums and products a float, as texts of backbones have it. ValueError for
    operators that reduce nothing."""
    found = operations.identity_of("+" if operator is Operator.FMA else ROWS[operator].sign, dtype) if operator in ROWS else None
    if found is None:
        raise ValueError(f"{operator} reduces nothing")
    return found if operator in REORDERED_EXACTLY else float(found)
