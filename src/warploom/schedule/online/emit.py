"""Instructions for the expressions of an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from warploom.core import DType
from warploom.scan import Expr, polynomial
from warploom.schedule.backbone import Instruction, Operand, Operator, Previous, Result, Scope


class NotEmittedError(Exception):
    """Why an operator has no instructions."""


@dataclass(slots=True)
class Emitter:
    emit: Callable[[Instruction], int]
    named: Callable[[str], str]
    dtype: DType
    made: list[Instruction]
    """All instructions, those of the operator among them."""
    known: dict[Expr, int] = field(default_factory=dict[Expr, int])
    over: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """By instruction: axes of its value; of the maximum also the one whose steps it runs over."""

    def give(self, expr: Expr, instruction: int, axes: tuple[int, ...]) -> None:
        """An instruction has this value, over these axes."""
        self.known[expr] = instruction
        self.over[instruction] = axes

    def give_previous(self, expr: Expr, reduction: int, name: str) -> None:
        """A reduction's running value before each step is this."""
        axes = self.made[reduction].axes
        self.known[expr] = self._new(f"{name}_before", Operator.MOVE, (Previous(reduction, axes),), axes)

    def is_maximum(self, expr: Expr, left: Expr, right: Expr) -> bool:
        return expr.op == "max" and {*expr.args} == {left, right}

    def rescaled(self, expr: Expr, left: Expr) -> tuple[Operand, Operand]:
        """The factor of `left`, and what is added. NotEmittedError where it is not one product of it and a sum without it."""
        own = {m: c for m, c in polynomial(expr).items() if left in m}
        rest = {m: c for m, c in polynomial(expr).items() if left not in m}
        if len(own) != 1 or not rest:
            raise NotEmittedError("expected an operator that rescales what was summed and adds to it")
        ((monomial, coefficient),) = own.items()
        factors = list(monomial)
        factors.remove(left)
        if left in factors or coefficient != 1 or not factors:
            raise NotEmittedError("expected an operator that rescales what was summed once")
        return self._operand(self._product(tuple(factors), 1)), self._operand(self._sum(rest))

    def value(self, expr: Expr) -> int:
        """The instruction that computes it, made if there is none."""
        if expr not in self.known:
            match expr.op:
                case "exp":
                    argument = self.value(expr.args[0])
                    self.known[expr] = self._new("rescaling", Operator.EXP, (self._operand(argument),), self.over[argument])
                case "poly":
                    self.known[expr] = self._sum(polynomial(expr))
                case op:
                    raise NotEmittedError(f"expected sums, products and powers of e, got {op}")
        return self.known[expr]

    def _sum(self, terms: dict[tuple[Expr, ...], int | Fraction]) -> int:
        """Products that are added are begun with, so that the others are subtracted from them."""
        ordered = sorted(terms.items(), key=lambda term: term[1] < 0)
        total: int | None = None
        for monomial, coefficient in ordered:
            if total is None:
                total = self._product(monomial, coefficient)
                continue
            part = self._product(monomial, abs(coefficient))
            operator = Operator.ADD if coefficient > 0 else Operator.SUB
            total = self._pair("joined", operator, total, part)
        if total is None:
            raise NotEmittedError("expected a sum, got 0")
        return total

    def _product(self, monomial: tuple[Expr, ...], coefficient: int | Fraction) -> int:
        if coefficient != 1 or not monomial:
            raise NotEmittedError(f"expected products without numbers, got {coefficient} times one")
        total = self.value(monomial[0])
        for factor in monomial[1:]:
            total = self._pair("scaled", Operator.MUL, total, self.value(factor))
        return total

    def _pair(self, name: str, operator: Operator, first: int, second: int) -> int:
        axes = tuple(sorted({*self.over[first], *self.over[second]}))
        return self._new(name, operator, (self._operand(first), self._operand(second)), axes)

    def _new(self, name: str, operator: Operator, operands: tuple[Operand, ...], axes: tuple[int, ...]) -> int:
        made = self.emit(Instruction(self.named(name), operator, operands, axes, self.dtype))
        self.over[made] = axes
        return made

    def _operand(self, instruction: int) -> Result:
        return Result(instruction, self.over[instruction], Scope.THREAD)
