"""Index expressions as C expressions on int, Python's floor semantics kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from warploom.core import Diagnostic, UserError
from warploom.core.intervals import Interval
from warploom.core.launch import INT_MAX
from warploom.ctext import Names, Text, binary, call, chain, conditional, decimal, unary
from warploom.gpu.helpers import Helpers
from warploom.ir import (
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
    index_range,
)


def index_c(expr: IndexExpr, ranges: dict[IndexExpr, Interval]) -> str:
    """C of an index over variables of these ranges, by their own names; ValueError where it takes a function of its own."""
    names = Names()
    helpers = Helpers(names)
    text = IndexCode(names, ranges, helpers, str).text(expr).text
    if helpers.text:
        raise ValueError(f"expected an index that divides as C does, got {expr}")
    return text


@dataclass(frozen=True, slots=True)
class IndexCode:
    """Prints index expressions of one kernel; values that a 32-bit int cannot hold are an error (INDEX_OVERFLOW)."""

    names: Names
    ranges: dict[IndexExpr, Interval]
    helpers: Helpers
    builtin: Callable[[Builtin], str]
    """Gives the text of a thread, block or grid number."""
    on_host: bool = False
    growing: dict[IndexExpr, None] = field(default_factory=dict[IndexExpr, None])
    """Printed expressions whose values have no bound without one of the sizes."""

    def text(self, expr: IndexExpr) -> Text:
        known = index_range(expr, self.ranges)
        if known.is_finite and (known.low < -INT_MAX - 1 or known.high > INT_MAX):
            message = f"expected an index of 32 bits, got one from {known.low} to {known.high}"
            raise UserError(Diagnostic("INDEX_OVERFLOW", message, fix="use smaller extents"))
        if not known.is_finite:
            self.growing[expr] = None
        match expr:
            case IndexConst(value):
                if isinstance(value, bool):
                    return Text("true" if value else "false")
                return decimal(value)
            case IndexVar(name) | SizeVar(name):
                return Text(self.names(name))
            case Builtin():
                return Text(self.builtin(expr))
            case IndexBinary(op, lhs, rhs):
                return self._binary(op, lhs, rhs)
            case Compare(op, lhs, rhs):
                return binary(op, self.text(lhs), self.text(rhs))
            case Logical("not", operands):
                return unary("!", self.text(operands[0]))
            case Logical(op, operands):
                return chain("&&" if op == "and" else "||", [self.text(o) for o in operands])
            case IndexSelect(cond, then, other):
                return conditional(self.text(cond), self.text(then), self.text(other))
            case HoleUse() | HoleArg():
                raise UserError(Diagnostic("HOLE_UNFILLED", f"expected a filled kernel, got {expr}"))
            case _:
                assert_never(expr)

    def _binary(self, op: str, lhs: IndexExpr, rhs: IndexExpr) -> Text:
        left, right = self.text(lhs), self.text(rhs)
        match op:
            case "-" if lhs == IndexConst(0):
                return unary("-", right)
            case "min" | "max":
                if self.on_host:
                    return conditional(binary("<" if op == "min" else ">", left, right), left, right)
                return call(op, left, right)
            case "//" | "%":
                a, b = index_range(lhs, self.ranges), index_range(rhs, self.ranges)
                c_op = "/" if op == "//" else "%"
                if a.low >= 0 and b.low > 0:
                    return binary(c_op, left, right)
                if op == "%" and 0 < b.low <= INT_MAX // 2 and isinstance(rhs, IndexConst):
                    return binary("%", binary("+", binary("%", left, right), right), right)
                return call(self.helpers.floor("floor_div" if op == "//" else "floor_mod"), left, right)
            case _:
                return binary(op, left, right)
