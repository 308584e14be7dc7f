"""Index expressions of many threads at once.

A value is a Python integer or truth value where all threads agree on it, else an array that broadcasts against
[blocks, threads]: `[1, threads]` where blocks agree, `[blocks, 1]` where the threads of a block agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, assert_never, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ir.kernel.nodes import (
    Builtin,
    Compare,
    HoleArg,
    HoleUse,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Logical,
    SizeVar,
)

Mask: TypeAlias = NDArray[np.bool_]
Where: TypeAlias = Mask | None
"""The threads that take part; None = all."""
IndexValue: TypeAlias = "int | NDArray[Any]"

_LIMIT = 2**62
_FARTHEST = 62
"""Places that an index is shifted by at most."""
_UNSET: tuple[IndexValue, Where] = 0, np.zeros((1, 1), np.bool_)
"""Value of an index variable that no thread has set."""
_BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.remainder, "&": np.bitwise_and,
    "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_EXACT: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "min": min, "max": max, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}  # fmt: skip
"""Operations on Python's own integers."""
_COMPARE = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


class Report(Protocol):
    """Takes a problem; `bad` marks the threads that have it (None: all)."""

    def __call__(self, code: str, message: str, bad: Where, fix: str = "") -> None: ...


def both(a: Where, b: Where) -> Where:
    """The threads in both."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def truth(value: IndexValue) -> bool | Mask:
    """Whether the value is not zero."""
    if isinstance(value, np.ndarray):
        return value if value.dtype == np.bool_ else value != 0
    return bool(value)


class Indices:
    """Evaluates index expressions for the threads of some blocks; holds their index variables."""

    def __init__(self, builtins: Mapping[tuple[str, int], IndexValue], sizes: Mapping[str, int], report: Report) -> None:
        self.builtins = builtins
        self.sizes = sizes
        self.report = report
        self.variables: dict[str, tuple[IndexValue, Where]] = {}
        """Value and where it is defined."""

    def set(self, name: str, value: IndexValue, where: Where) -> None:
        """Assigns in the threads of `where`; the others keep the old value."""
        if where is None:
            self.variables[name] = value, None
            return
        old, defined = self.variables.get(name, _UNSET)
        self.variables[name] = np.where(where, value, old), None if defined is None else defined | where

    def number(self, expr: IndexExpr) -> int:
        """A value on which all threads agree; UserError otherwise."""
        value = self.value(expr, None)
        if isinstance(value, np.ndarray):
            first = value.flat[0]
            if (value != first).any():
                message = "expected a loop bound that is the same for all threads, got one that differs between threads"
                raise UserError(Diagnostic("BOUND_VARIES", message, fix="bound the loop by constants and outer loop variables"))
            return int(first)
        return int(value)

    def value(self, expr: IndexExpr, where: Where) -> IndexValue:
        """The expression in the threads of `where`; elsewhere anything."""
        match expr:
            case IndexConst(value):
                return value
            case IndexVar(name):
                value, defined = self.variables.get(name, _UNSET)
                if defined is not None:
                    bad = both(where, ~defined)
                    if bad is not None and bad.any():
                        self.report("UNDEFINED_READ", f"index variable {name} is read before it is set", bad)
                return value
            case SizeVar(name):
                return self.sizes[name]
            case Builtin(name, axis):
                return self.builtins[name, axis]
            case IndexBinary(op, lhs, rhs):
                return self._binary(op, self.value(lhs, where), self.value(rhs, where), where)
            case Compare(op, lhs, rhs):
                a, b = self.value(lhs, where), self.value(rhs, where)
                if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
                    return _EXACT[op](a, b)
                return cast("NDArray[Any]", _COMPARE[op](a, b))
            case Logical("not", operands):
                value = truth(self.value(operands[0], where))
                return ~value if isinstance(value, np.ndarray) else not value
            case Logical(op, operands):
                return self._logical(op, operands, where)
            case IndexSelect(cond, then, other):
                test = truth(self.value(cond, where))
                if not isinstance(test, np.ndarray):
                    return self.value(then if test else other, where)
                a, b = self.value(then, both(where, test)), self.value(other, both(where, ~test))
                return np.where(test, a, b)
            case HoleUse(hole, _):
                raise UserError(Diagnostic("HOLE_UNFILLED", f"expected a kernel without holes, got hole {hole}"))
            case HoleArg(position):
                raise UserError(Diagnostic("HOLE_UNFILLED", f"expected a kernel, got argument {position} of a hole's completion"))
            case _:
                assert_never(expr)

    def _logical(self, op: str, operands: tuple[IndexExpr, ...], where: Where) -> IndexValue:
        """Python's `and`, `or`: the last operand looked at; later ones only where earlier ones leave it open."""
        result = self.value(operands[0], where)
        for operand in operands[1:]:
            test = truth(result)
            if not isinstance(test, np.ndarray):
                if test == (op == "and"):
                    result = self.value(operand, where)
                continue
            open_ = test if op == "and" else ~test
            result = np.where(open_, self.value(operand, both(where, open_)), result)
        return result

    def _binary(self, op: str, a: IndexValue, b: IndexValue, where: Where) -> IndexValue:
        if op in ("//", "%", "<<", ">>"):
            b = self._divisor(b, where) if op in ("//", "%") else self._distance(op, b, where)
        if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            return _EXACT[op](a, b)
        if op in "+-*<<" and _grown(op, a, b) >= _LIMIT:
            raise UserError(Diagnostic("INDEX_OVERFLOW", f"expected index values below 2**62, got larger ones from {op}"))
        return cast("NDArray[Any]", _BINARY[op](_integers(a), _integers(b)))

    def _divisor(self, b: IndexValue, where: Where) -> IndexValue:
        if not isinstance(b, np.ndarray) and b:
            return b
        zero = np.equal(b, 0)
        if not np.any(zero):
            return b
        self._refuse("INDEX_DIVISION_BY_ZERO", "an index is divided by zero", zero, where)
        return np.where(zero, 1, b) if isinstance(b, np.ndarray) else 1

    def _distance(self, op: str, b: IndexValue, where: Where) -> IndexValue:
        if not isinstance(b, np.ndarray) and 0 <= b <= _FARTHEST:
            return b
        bad = np.less(b, 0) | np.greater(b, _FARTHEST) if op == "<<" else np.less(b, 0)
        if np.any(bad):
            self._refuse("INDEX_SHIFT", "expected a shift of an index by 0 to 62, got another distance", bad, where)
        return np.clip(b, 0, _FARTHEST) if isinstance(b, np.ndarray) else min(max(b, 0), _FARTHEST)

    def _refuse(self, code: str, message: str, bad: Any, where: Where) -> None:
        """Reports if a thread that takes part is bad."""
        wrong = both(where, np.broadcast_to(bad, np.broadcast_shapes(np.shape(bad), (1, 1))))
        if wrong is not None and wrong.any():
            self.report(code, message, wrong)


def _integers(value: IndexValue) -> IndexValue:
    """NumPy adds truth values as `or`; Python as 0 and 1."""
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) if value.dtype == np.bool_ else value
    return int(value)


def _magnitude(value: IndexValue) -> int:
    if isinstance(value, np.ndarray):
        return max(abs(int(value.min())), abs(int(value.max()))) if value.size else 0
    return abs(value)


def _grown(op: str, a: IndexValue, b: IndexValue) -> int:
    """No result of the operation is larger."""
    if op == "<<":
        return _magnitude(a) << _magnitude(b)
    return _magnitude(a) * _magnitude(b) if op == "*" else _magnitude(a) + _magnitude(b)
