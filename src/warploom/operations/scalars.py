"""The scalar operations: one row for each."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from warploom.core import DType, integer_range

Operands: TypeAlias = Literal["numbers", "floats", "integers"]
Cost: TypeAlias = Literal["free", "sum", "product", "fused", "quotient", "root", "special", "tanh", "bits"]
"""The kind of instructions that an operation is made of on any machine. `free`: none of its own. `special`: of the unit for
special functions of GPUs, with one more instruction; `tanh`: of that unit alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation on numbers: what it takes, what it is called in each language, what it costs."""

    name: str
    """In tensor functions and in their nests."""
    sign: str
    """In the kernel IR and in terms; where Python has a sign for it, that sign."""
    arity: int
    operands: Operands
    """Types that it takes; the result has the operands' type."""
    cost: Cost
    python: type[ast.operator] | type[ast.unaryop] | None = None
    """Node of Python's syntax, for an operation with a sign."""
    exact: Callable[..., Any] | None = None
    """Python's function, on numbers that are known."""
    called: tuple[str, ...] = ()
    """Names that it has in `math`, in NumPy or as a builtin of Python, for a function of one number."""
    numpy: str = ""
    """NumPy's name for it, element by element."""
    c: str = ""
    """In C and in CUDA C++: the sign, or the function of `double`; with `f` behind it the function of `float`."""
    approximate: str = ""
    """CUDA's quick function of `float` for it."""
    intrinsic: str = ""
    """The name that x86 has for its instruction on vectors: `sqrt` as in `_mm256_sqrt_ps`."""
    identity: int | Literal["least", "greatest"] | None = None
    """Where folds of it start; None: it folds nothing. -1 stands for a word of ones."""
    keeps_zero: bool = False
    """True if a function of one number is 0 at 0."""

    @property
    def is_function(self) -> bool:
        """Whether it is a function of one real number that is written as a call."""
        return self.arity == 1 and self.operands == "floats"


_own: Any = operator
"""Without the types of typeshed, which does not know the operands of shifts."""


def _infix(
    name: str,
    sign: str,
    operands: Operands,
    cost: Cost,
    python: type[ast.operator],
    exact: Callable[..., Any],
    numpy: str,
    *,
    c: str | None = None,
    identity: int | None = None,
) -> Operation:
    """An operation with a sign between its operands: the same sign in C, unless `c` says otherwise."""
    called = sign if c is None else c
    return Operation(
        name=name, sign=sign, arity=2, operands=operands, cost=cost, python=python, exact=exact, numpy=numpy, c=called,
        identity=identity,
    )  # fmt: skip


def _function(
    name: str,
    cost: Cost = "special",
    *,
    sign: str = "",
    numpy: str | None = None,
    approximate: str = "",
    intrinsic: str = "",
    keeps_zero: bool = False,
) -> Operation:
    """A function of one real number: called the same in Python, NumPy and C, unless it is said otherwise."""
    elementwise = name if numpy is None else numpy
    return Operation(
        name=name, sign=sign or name, arity=1, operands="floats", cost=cost, exact=getattr(math, name), called=(name,),
        numpy=elementwise, c=name, approximate=approximate, intrinsic=intrinsic, keeps_zero=keeps_zero,
    )  # fmt: skip


ROWS = (
    #       name   sign  operands   cost       Python   exact      NumPy
    _infix("add", "+", "numbers", "sum", ast.Add, _own.add, "add", identity=0),
    _infix("sub", "-", "numbers", "sum", ast.Sub, _own.sub, "subtract"),
    _infix("mul", "*", "numbers", "product", ast.Mult, _own.mul, "multiply", identity=1),
    _infix("div", "/", "numbers", "quotient", ast.Div, _own.truediv, "true_divide"),
    _infix("floordiv", "//", "integers", "quotient", ast.FloorDiv, _own.floordiv, "floor_divide", c=""),
    _infix("mod", "%", "integers", "quotient", ast.Mod, _own.mod, "remainder", c=""),
    Operation(
        name="min", sign="min", arity=2, operands="numbers", cost="sum", exact=min, numpy="minimum", intrinsic="min",
        identity="greatest",
    ),
    Operation(
        name="max", sign="max", arity=2, operands="numbers", cost="sum", exact=max, numpy="maximum", intrinsic="max",
        identity="least",
    ),
    _infix("and", "&", "integers", "bits", ast.BitAnd, _own.and_, "bitwise_and", identity=-1),
    _infix("or", "|", "integers", "bits", ast.BitOr, _own.or_, "bitwise_or", identity=0),
    _infix("xor", "^", "integers", "bits", ast.BitXor, _own.xor, "bitwise_xor", identity=0),
    _infix("shl", "<<", "integers", "bits", ast.LShift, _own.lshift, "left_shift"),
    _infix("shr", ">>", "integers", "bits", ast.RShift, _own.rshift, "right_shift"),
    Operation(name="fma", sign="fma", arity=3, operands="numbers", cost="fused", c="fma"),
    Operation(
        name="neg", sign="neg", arity=1, operands="numbers", cost="free", python=ast.USub, exact=_own.neg, numpy="negative",
        c="-", keeps_zero=True,
    ),
    Operation(
        name="abs", sign="abs", arity=1, operands="numbers", cost="free", exact=abs, called=("abs", "fabs", "absolute"),
        numpy="absolute", c="fabs", keeps_zero=True,
    ),
    Operation(
        name="not", sign="~", arity=1, operands="integers", cost="bits", python=ast.Invert, exact=_own.invert, numpy="invert",
        c="~",
    ),
    Operation(name="cast", sign="cast", arity=1, operands="numbers", cost="free", keeps_zero=True),
    _function("exp", approximate="__expf"),
    _function("log", approximate="__logf"),
    _function("sqrt", "root", intrinsic="sqrt", keeps_zero=True),
    _function("tanh", "tanh", keeps_zero=True),
    _function("erf", numpy="", keeps_zero=True),
    _function("sin", approximate="__sinf", keeps_zero=True),
    _function("cos", approximate="__cosf"),
    _function("exp2", sign="ex2"),
    _function("log2", sign="lg2", approximate="__log2f"),
)  # fmt: skip
"""Every operation. Comparisons and choices by them have a table of their own."""

BY_NAME: dict[str, Operation] = {row.name: row for row in ROWS}
BY_SIGN: dict[str, Operation] = {row.sign: row for row in ROWS}
SIGN_OF: dict[type[ast.operator], str] = {
    row.python: row.sign for row in ROWS if row.python is not None and issubclass(row.python, ast.operator)
}
"""By the node of Python's syntax, for two operands."""
PYTHON_SIGNS: dict[type[ast.operator], str] = {**SIGN_OF, ast.Pow: "**"}
"""The signs above and that of powers, which are made of products."""
FUNCTIONS: dict[str, Operation] = {name: row for row in ROWS for name in row.called}
"""By each name that Python's source may call them."""
C_FUNCTIONS: frozenset[str] = frozenset(
    name for row in ROWS if row.c.isidentifier() for name in (row.c, f"{row.c}f", row.approximate) if name
)
"""Functions that printed C and CUDA C++ may call: no variable may have such a name."""
FOLDS: tuple[str, ...] = tuple(row.sign for row in ROWS if row.identity is not None)
"""Signs of the operations that combine any number of operands in any order."""
PAIRS: frozenset[str] = frozenset(row.sign for row in ROWS if row.arity == 2) - set(FOLDS)
"""Signs of the operations of exactly two operands."""
OF_INTEGERS: frozenset[str] = frozenset(row.sign for row in ROWS if row.operands == "integers")
OF_REALS: frozenset[str] = frozenset(row.sign for row in ROWS if row.operands != "integers" and row.arity < 3) - {"cast"}
"""Signs of the operations that real numbers have."""


@cache
def numpy_function(sign: str) -> Callable[..., Any]:
    """NumPy's function of an operation, element by element. AttributeError where NumPy has none."""
    import numpy as np

    return getattr(np, BY_SIGN[sign].numpy)


def identity_of(sign: str, dtype: DType) -> int | float | None:
    """The element of a type that changes nothing when it is combined; None for an operation that folds nothing, or not there."""
    row = BY_SIGN.get(sign)
    if row is None or row.identity is None or (dtype.is_float and row.operands == "integers"):
        return None
    if isinstance(row.identity, str):
        low, high = (-math.inf, math.inf) if dtype.is_float else integer_range(dtype)
        return low if row.identity == "least" else high
    if row.identity < 0:
        return integer_range(dtype)[1] if dtype.kind == "uint" else row.identity
    return float(row.identity) if dtype.is_float else row.identity
