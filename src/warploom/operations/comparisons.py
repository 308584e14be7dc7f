"""The six comparisons: one row for each, in Python's order of signs."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

ComparisonSign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a sign b`. The sign is the same in Python, C, CUDA, the kernel IR and the terms."""

    sign: ComparisonSign
    python: type[ast.cmpop]
    holds: Callable[[Any, Any], Any]
    """Compares two numbers, or two arrays element by element. A NaN differs from everything."""
    negated: ComparisonSign
    """Holds where this one does not. For floats only where neither side is a NaN."""
    mirrored: ComparisonSign
    """`b mirrored a` is `a sign b`."""


_ROWS = (
    #          sign  python     holds        not   mirrored
    Comparison("==", ast.Eq, operator.eq, "!=", "=="),
    Comparison("!=", ast.NotEq, operator.ne, "==", "!="),
    Comparison("<", ast.Lt, operator.lt, ">=", ">"),
    Comparison("<=", ast.LtE, operator.le, ">", ">="),
    Comparison(">", ast.Gt, operator.gt, "<=", "<"),
    Comparison(">=", ast.GtE, operator.ge, "<", "<="),
)

COMPARISONS: dict[str, Comparison] = {row.sign: row for row in _ROWS}
SIGN_OF_COMPARISON: dict[type[ast.cmpop], ComparisonSign] = {row.python: row.sign for row in _ROWS}
