"""Scalar operations as data: one row for each operation says what it is called and means in each language.

Takes the name of an operation. Gives its row. Open `scalars.py` first, which has the table of operations on numbers;
`comparisons.py` has that of `==` to `>=`, `words.py` that of operations on the bits of words.
Engines, readers and printers look names up here. A new operation is a row here, and
its meaning once more in each oracle, none of which reads this table (docs/architecture.md lists them).
"""

from warploom.operations.comparisons import COMPARISONS, SIGN_OF_COMPARISON, Comparison, ComparisonSign
from warploom.operations.scalars import (
    BY_NAME,
    BY_SIGN,
    C_FUNCTIONS,
    FOLDS,
    FUNCTIONS,
    OF_INTEGERS,
    OF_REALS,
    PAIRS,
    PYTHON_SIGNS,
    ROWS,
    SIGN_OF,
    Cost,
    Operands,
    Operation,
    identity_of,
    numpy_function,
)
from warploom.operations.words import WORD_OPERATIONS, WordOperation

__all__ = [
    "BY_NAME",
    "BY_SIGN",
    "COMPARISONS",
    "C_FUNCTIONS",
    "FOLDS",
    "FUNCTIONS",
    "OF_INTEGERS",
    "OF_REALS",
    "PAIRS",
    "PYTHON_SIGNS",
    "ROWS",
    "SIGN_OF",
    "SIGN_OF_COMPARISON",
    "WORD_OPERATIONS",
    "Comparison",
    "ComparisonSign",
    "Cost",
    "Operands",
    "Operation",
    "WordOperation",
    "identity_of",
    "numpy_function",
]
