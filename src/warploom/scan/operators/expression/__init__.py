"""Expressions over a loop's values, simplified as they are built and interned, so that equal ones are one object.

expr := number | truth value | text | variable
      | polynomial over atoms (what is not a polynomial itself) with rational coefficients
      | max(expr, ...) | min(expr, ...) | expr if expr else expr
      | expr >= 0 | expr > 0 | expr == expr | expr and ... | expr or ... | not expr
      | None if expr else expr
      | expr // n | expr % n | expr / expr | gcd(expr, expr) | exp(expr) | log(expr) | sqrt(expr)
      | expr & expr | expr "|" expr | expr ^ expr

Two expressions that are the same polynomial of the same atoms are the same object; so are a comparison and the negation of its
negation. Infinite numbers stand for "no value yet" below `max` and `min`; adding opposite infinities raises `UndefinedError`.

Takes parts of an expression. Gives the expression in its one form, as an interned node. Open `expr.py` first, then
`numbers.py` and `conditions.py`.
"""

from warploom.scan.operators.expression.conditions import (
    BITS,
    as_condition,
    as_number,
    at_least,
    bitwise,
    both,
    either,
    equal,
    leaves,
    more_than,
    negation,
    optional,
    rebuilt,
    remainder,
    select,
    substituted,
    with_leaves,
)
from warploom.scan.operators.expression.expr import (
    BOOL,
    FALSE,
    INFINITY,
    INT,
    MAX_CASES,
    MINUS_INFINITY,
    MOST_BITS,
    ONE,
    REAL,
    TEXT,
    TRUE,
    ZERO,
    Base,
    Expr,
    Monomial,
    Op,
    Sort,
    UndefinedError,
    Value,
    constant,
    is_infinite,
    subexpressions,
    variable,
    variables,
)
from warploom.scan.operators.expression.numbers import (
    add,
    exponential,
    floor_quotient,
    from_polynomial,
    greatest_common_divisor,
    maximum,
    minimum,
    multiply,
    negate,
    of_real,
    polynomial,
    quotient,
    subtract,
)

__all__ = [
    "BITS", "BOOL", "FALSE", "INFINITY", "INT", "MAX_CASES", "MINUS_INFINITY", "MOST_BITS", "ONE", "REAL", "TEXT", "TRUE",
    "ZERO", "Base", "Expr", "Monomial", "Op", "Sort", "UndefinedError", "Value", "add", "as_condition", "as_number",
    "at_least", "bitwise", "both", "constant", "either", "equal", "exponential", "floor_quotient", "from_polynomial",
    "greatest_common_divisor", "is_infinite", "leaves", "maximum", "minimum", "more_than", "multiply", "negate", "negation",
    "of_real", "optional", "polynomial", "quotient", "rebuilt", "remainder", "select", "subexpressions", "substituted",
    "subtract", "variable", "variables", "with_leaves",
]  # fmt: skip
