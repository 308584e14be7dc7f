"""Index expressions evaluated for all threads of a block at once, with concrete ids, loop variables and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt

from warploom.core import NOWHERE, Diagnostic, Span, UserError
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
    Kernel,
    Logical,
    SizeVar,
    instantiate,
)

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
MOST_SHIFTED = 62
"""Bits by which an index may be shifted."""
_MOST_DIAGNOSTICS = 50


class Findings:
    """Diagnostics of one execution: one per code and place, the first found."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, Span, str], Diagnostic] = {}

    def add(self, code: str, message: str, span: Span, fix: str, notes: tuple[tuple[str, Span], ...] = (), key: str = "") -> None:
        if len(self.found) < _MOST_DIAGNOSTICS:
            self.found.setdefault((code, span, key), Diagnostic(code, message, span, fix, notes))


class Mask:
    """The active threads of a statement or expression."""

    __slots__ = ("flags", "lanes")

    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.lanes: list[int] = np.flatnonzero(flags).tolist()

    def narrowed(self, condition: Ints) -> Mask:
        """The active threads where `condition` is true."""
        return Mask(self.flags & (condition != 0))


class Lanes:
    """Index state of one block's threads. Threads are numbered with x running fastest."""

    def __init__(
        self,
        kernel: Kernel,
        block: tuple[int, int, int],
        grid: tuple[int, int, int],
        sizes: Mapping[str, int],
        findings: Findings,
        completions: Mapping[str, IndexExpr] | None = None,
        asked: Callable[[str, Ints, Mask], None] | None = None,
    ) -> None:
        """`completions`: of the holes, evaluated in place; `asked` is told what each gives. Without them no hole may be open."""
        self._completions = completions or {}
        self._asked = asked
        self.threads = kernel.threads
        self.sizes = sizes
        self.findings = findings
        self.span = NOWHERE
        self._variables: dict[str, tuple[Ints, Flags]] = {}
        numbers = np.arange(self.threads, dtype=np.int64)
        x, y, _ = kernel.block
        threads = (numbers % x, numbers // x % y, numbers // (x * y))
        self._builtins: dict[tuple[str, int], Ints] = {}
        for axis in range(3):
            self._builtins["thread_id", axis] = threads[axis]
            for name, value in (("block_id", block), ("block_dim", kernel.block), ("grid_dim", grid)):
                self._builtins[name, axis] = np.full(self.threads, value[axis], dtype=np.int64)

    def assign(self, name: str, values: Ints, mask: Mask) -> None:
        """Sets an index variable for the active threads."""
        old, defined = self._variables.get(name, (np.zeros_like(values), np.zeros(self.threads, dtype=bool)))
        self._variables[name] = (np.where(mask.flags, values, old), defined | mask.flags)

    def uniform(self, expr: IndexExpr, mask: Mask) -> int:
        """The value of `expr`, which must be the same for all active threads (at least one)."""
        values = self.evaluate(expr, mask)[mask.flags]
        if values.min() != values.max():
            self.findings.add(
                "DIVERGENT_LOOP",
                f"expected a loop bound that is the same for all threads, got {values.min()} and {values.max()}",
                self.span,
                "Loop over a constant range and guard the body with an `if`.",
            )
        return int(values.max())

    def evaluate(self, expr: IndexExpr, mask: Mask) -> Ints:
        """Values [threads]; truth values as 0 and 1; meaningless for threads that are not active."""
        match expr:
            case IndexConst(value):
                return np.full(self.threads, int(value), dtype=np.int64)
            case IndexVar(name):
                return self._variable(name, mask)
            case Builtin(name, axis):
                return self._builtins[name, axis]
            case SizeVar(name):
                return np.full(self.threads, self.sizes[name], dtype=np.int64)
            case IndexBinary(op, lhs, rhs):
                return self._binary(op, self.evaluate(lhs, mask), self.evaluate(rhs, mask), mask)
            case Compare(op, lhs, rhs):
                return _compare(op, self.evaluate(lhs, mask), self.evaluate(rhs, mask)).astype(np.int64)
            case Logical(op, operands):
                return self._logical(op, operands, mask)
            case IndexSelect(cond, then, other):
                test = self.evaluate(cond, mask) != 0
                inside, outside = Mask(mask.flags & test), Mask(mask.flags & ~test)
                zero = np.zeros(self.threads, dtype=np.int64)
                first = self.evaluate(then, inside) if inside.lanes else zero
                second = self.evaluate(other, outside) if outside.lanes else zero
                return np.where(test, first, second)
            case HoleUse(hole, args) if hole in self._completions:
                values = self.evaluate(instantiate(self._completions[hole], args), mask)
                if self._asked is not None:
                    self._asked(hole, values, mask)
                return values
            case HoleUse(hole, _):
                raise UserError(
                    Diagnostic(
                        "HOLE_OPEN", f"expected a completed kernel, got an open hole {hole!r}", self.span, "Complete it first."
                    )
                )
            case HoleArg(position):
                raise UserError(Diagnostic("HOLE_OPEN", f"expected a completed kernel, got hole argument {position}", self.span))
            case _:
                assert_never(expr)

    def _variable(self, name: str, mask: Mask) -> Ints:
        values, defined = self._variables.get(name, (np.zeros(self.threads, dtype=np.int64), np.zeros(self.threads, dtype=bool)))
        if (missing := mask.flags & ~defined).any():
            thread = int(np.flatnonzero(missing)[0])
            self.findings.add(
                "UNDEFINED_INDEX",
                f"expected {name} to be set before it is used, got no value in thread {thread}",
                self.span,
                f"Set {name} on every path that reaches this use.",
            )
        return values

    def _logical(self, op: str, operands: tuple[IndexExpr, ...], mask: Mask) -> Ints:
        """Short-circuit: an operand is evaluated only for the threads that the ones before leave undecided."""
        if op == "not":
            return (self.evaluate(operands[0], mask) == 0).astype(np.int64)
        result = np.full(self.threads, op == "and")
        undecided = mask
        for operand in operands:
            if not undecided.lanes:
                break
            values = self.evaluate(operand, undecided) != 0
            result = np.where(undecided.flags, values, result)
            undecided = Mask(undecided.flags & (values if op == "and" else ~values))
        return result.astype(np.int64)

    def _binary(self, op: str, a: Ints, b: Ints, mask: Mask) -> Ints:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "//" | "%":
                if (bad := mask.flags & (b == 0)).any():
                    self._invalid(f"a divisor other than 0 in `{op}`", bad, "0")
                divisor = np.where(b == 0, 1, b)
                return a // divisor if op == "//" else a % divisor
            case "&":
                return a & b
            case "|":
                return a | b
            case "^":
                return a ^ b
            case "<<" | ">>":
                if (bad := mask.flags & ((b < 0) | (b > MOST_SHIFTED))).any():
                    self._invalid(f"a shift by 0..{MOST_SHIFTED}", bad, str(int(b[bad][0])))
                amount = np.clip(b, 0, MOST_SHIFTED)
                return a << amount if op == "<<" else a >> amount
            case "min":
                return np.minimum(a, b)
            case _:
                assert op == "max"
                return np.maximum(a, b)

    def _invalid(self, expected: str, where: Flags, got: str) -> None:
        thread = int(np.flatnonzero(where)[0])
        self.findings.add(
            "INDEX_INVALID",
            f"expected {expected}, got {got} in thread {thread}",
            self.span,
            "Guard the expression with a condition.",
        )


def _compare(op: str, a: Ints, b: Ints) -> Flags:
    match op:
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case _:
            assert op == ">="
            return a >= b


def source_lanes(kind: Literal["idx", "up", "down", "xor"], lane: Ints, operand: Ints, width: int, warp_size: int) -> Ints:
    """The lane of its warp that each lane reads in a shuffle; the hardware looks at `operand` modulo the warp only.

    A lane reads itself where up would leave its segment of `width` lanes downwards, or down and xor upwards: xor may reach an
    earlier segment. Source: PTX ISA, shfl.sync (`j <= maxLane`).
    """
    first = lane // width * width
    operand = operand % warp_size
    match kind:
        case "idx":
            return first + operand % width
        case "up":
            source = lane - operand
            return np.where(source < first, lane, source)
        case "down" | "xor":
            source = lane + operand if kind == "down" else lane ^ operand
            return np.where(source >= first + width, lane, source)
