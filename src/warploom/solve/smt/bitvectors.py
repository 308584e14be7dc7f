"""Bit vectors of mixed widths, decided by z3 within a deterministic budget.

Expressions are built bottom-up through one `BitVectors` object and are opaque to the caller; a predicate is a vector of width 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Literal, NewType, TypeAlias

from warploom.solve.smt.asking import ask
from warploom.solve.smt.clauses import Answer, Sat, Unknown, Unsat
from warploom.solve.smt.contexts import new_context

BitVector = NewType("BitVector", object)
"""An expression of one `BitVectors`."""
BitOperation: TypeAlias = Literal[
    "add", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "sdiv", "select", "eq", "ult", "slt",
]  # fmt: skip


class BitVectors:
    """Builds expressions and decides conjunctions of predicates over them."""

    def __init__(self) -> None:
        self._z3: Any = import_module("z3")  # here, because it takes longer to load than most queries to answer
        self._context: Any = new_context(self._z3)
        self._symbols: dict[str, Any] = {}

    def constant(self, value: int, width: int) -> BitVector:
        return BitVector(self._z3.BitVecVal(value, width, self._context))

    def symbol(self, name: str, width: int) -> BitVector:
        """Any value; the same one for the same name."""
        if name not in self._symbols:
            self._symbols[name] = self._z3.BitVec(name, width, self._context)
        return BitVector(self._symbols[name])

    def apply(self, operation: BitOperation, *operands: BitVector) -> BitVector:
        """SMT-LIB's operations on two operands; `select` takes a predicate and two vectors, comparisons give predicates.

        The quotient by zero is SMT-LIB's, not the machine's: the caller keeps it out.
        """
        z3 = self._z3
        vectors: list[Any] = list(operands)
        first, second = vectors[:2]
        match operation:
            case "add":
                result = first + second
            case "mul":
                result = first * second
            case "and":
                result = first & second
            case "or":
                result = first | second
            case "xor":
                result = first ^ second
            case "shl":
                result = first << second
            case "lshr":
                result = z3.LShR(first, second)
            case "ashr":
                result = first >> second
            case "udiv":
                result = z3.UDiv(first, second)
            case "sdiv":
                result = first / second
            case "select":
                result = z3.If(first == 1, second, vectors[2])
            case "eq":
                result = self._predicate(first == second)
            case "ult":
                result = self._predicate(z3.ULT(first, second))
            case "slt":
                result = self._predicate(first < second)
        return BitVector(result)

    def _predicate(self, condition: Any) -> Any:
        one, zero = (self._z3.BitVecVal(n, 1, self._context) for n in (1, 0))
        return self._z3.If(condition, one, zero)

    def extended(self, operand: BitVector, width: int, *, is_signed: bool) -> BitVector:
        """The operand extended to a width that is at least its own."""
        vector: Any = operand
        extra = width - vector.size()
        return BitVector((self._z3.SignExt if is_signed else self._z3.ZeroExt)(extra, vector))

    def bits(self, operand: BitVector, low: int, width: int) -> BitVector:
        """`width` bits from bit `low` on."""
        return BitVector(self._z3.Extract(low + width - 1, low, operand))

    def check(self, predicates: Iterable[BitVector], rlimit: int) -> Answer:
        """Whether all predicates can hold at once; `rlimit` counts z3's resource units, not seconds."""
        solver = self._z3.SolverFor("QF_BV", ctx=self._context)
        solver.set("rlimit", rlimit)
        for predicate in predicates:
            vector: Any = predicate
            solver.add(vector == 1)
        outcome, reason = ask(solver)
        if outcome == "unsat":
            return Unsat()
        if outcome == "sat":
            model = solver.model()
            return Sat({n: int(model.eval(s, model_completion=True).as_long()) for n, s in self._symbols.items()})
        return Unknown(reason, rlimit)
