"""Whether the operator's functions, as printed and compiled, compute what was lifted: `identity`, `lift`, `combine`, `project`.

Each is called by a kernel of one thread on symbols, and what it stores is compared with the lifted expressions, read as words
of the machine: whole numbers wrap, and the least and the greatest word stand for infinities. The reading shares nothing with the
printer but the expressions. Functions that decide on whole numbers are followed path by path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Literal, TypeAlias

import numpy as np

from warploom.core import BY_NAME, DType, UnsupportedError
from warploom.gpu import compile_to_ptx
from warploom.ptx import Program, lower, parse
from warploom.scan import Expr, polynomial
from warploom.scan.emit import ARCH, CudaScan, Scalar, Slot, calling_source
from warploom.synth.compiled import (
    Argument,
    ArrayArgument,
    CompiledProof,
    ScalarArgument,
    Wanted,
    joined_domain,
    prove_by_cases,
    prove_launch,
)
from warploom.terms import Term, algebra_for, apply, atom, constant, iterate_post
from warploom.tools.command.messages import one_line

Way: TypeAlias = Literal["plain", "factored", "cases"]
"""How expressions are written as words: as they stand, with a common part before a choice, every choice on one comparison."""
_WAYS: tuple[Way, ...] = ("plain", "factored", "cases")
_NAMES: dict[Scalar, str] = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64", "bool": "i32"}


class _UnreadError(Exception):
    """An expression has no reading as words here."""


@dataclass(frozen=True, slots=True)
class FunctionsProof:
    """`missing` says why they are not proved; empty: they are, over `domain`."""

    missing: str
    domain: str = ""


def prove_functions(made: CudaScan) -> FunctionsProof:
    """made: with its operator inlined. UserError: TOOL_MISSING, CUDA_ERROR."""
    program = lower(parse(compile_to_ptx(calling_source(made), ARCH), "functions.ptx"))
    ready, operator = made.body, made.body.operator
    sides = _inputs("a", ready.fields), _inputs("b", ready.fields)
    constants = [ScalarArgument(f"c_{n}", dtype_of(s), None) for n, s in enumerate(ready.constants)]
    elements = _inputs("a", ready.elements)
    known = {v: atom(a.name, (0,)) for v, a in zip(operator.loop.fields, elements, strict=True)}
    known |= {v: atom(c.name, ()) for v, c in zip(operator.loop.constants, constants, strict=True)}
    left = {v: atom(a.name, (0,)) for v, a in zip(operator.fields, sides[0], strict=True)}
    right = {v: atom(a.name, (0,)) for v, a in zip(operator.right, sides[1], strict=True)}
    of_constants = {v: t for v, t in known.items() if v in operator.loop.constants}
    asked: list[tuple[str, Sequence[Argument], Sequence[Expr], Sequence[Slot], Mapping[Expr, Term]]] = [
        ("identity", (), operator.identity, ready.fields, {}),
        ("lift", (*elements, *constants), operator.lift, ready.fields, known),
        ("combine", (*sides[0], *sides[1]), operator.combine, ready.fields, left | right),
        ("project", (*sides[0], *constants), operator.projection, ready.outputs, left | of_constants),
    ]
    if made.form.is_segmented:
        asked.append(("outside", (*sides[0], *sides[1]), operator.fields, ready.fields, left | right))
    domains: list[str] = []
    for name, inputs, exprs, slots, names in asked:
        flag = operator.right[-1] if name == "outside" else None
        outputs = [ArrayArgument(f"r_{n}", dtype_of(s), (1,), "undefined") for n, s in enumerate(slots)]
        for output, expr, slot, neutral in zip(outputs, exprs, slots, _neutral(operator.identity, len(slots)), strict=True):
            if flag is not None and slot is slots[-1]:
                continue  # no projection reads it
            cut = None if flag is None else (flag, neutral)
            try:
                wanted = [{output.name: _wanted(_Words(made, names, way), expr, slot, cut)} for way in _WAYS]
                found = _proved(program, f"call_{name}", (*inputs, *outputs), wanted)
                if found.verdict != "proved":
                    return FunctionsProof(f"{name} as compiled is not seen to be what was lifted: {found.reason}")
                domains.append(found.domain)
            except (UnsupportedError, _UnreadError) as error:
                told = one_line(error.diagnostics[0]) if isinstance(error, UnsupportedError) else str(error)
                return FunctionsProof(f"{name} as compiled is not followed: {told}")
    return FunctionsProof("", joined_domain(domains))


def _proved(
    program: Program, kernel: str, arguments: tuple[Argument, ...], wanted: Sequence[Mapping[str, Wanted]]
) -> CompiledProof:  # fmt: skip
    """Proves the function as a whole, else case by case of what it decides on. UnsupportedError."""
    for way in wanted[:-1]:
        try:
            found = prove_launch(program, kernel, arguments, (1, 1, 1), (1, 1, 1), way)
        except UnsupportedError:
            break  # it branches on data
        if found.verdict == "proved":
            return found
    return prove_by_cases(program, kernel, arguments, wanted[-1])


def dtype_of(slot: Slot) -> DType:
    """The type in which a number is passed; truth values are whole numbers there."""
    return BY_NAME[_NAMES[slot.scalar]]


def _inputs(name: str, slots: Sequence[Slot]) -> list[ArrayArgument]:
    return [ArrayArgument(f"{name}_{n}", dtype_of(s), (1,)) for n, s in enumerate(slots)]


def _neutral(identity: Sequence[Expr], count: int) -> Sequence[Expr | None]:
    """The identity's numbers, where there is one for each of a structure."""
    return identity if len(identity) == count else [None] * count


def _wanted(words: _Words, expr: Expr, slot: Slot, cut: tuple[Expr, Expr | None] | None) -> Wanted:
    """cut: the flag with which the second number stands in place of the expression."""
    dtype = dtype_of(slot)

    def read(e: Expr) -> Term:
        return words.truth(e, constant(1), constant(0)) if slot.scalar == "bool" else words.number(e, dtype)

    term = read(expr)
    if cut is not None and cut[1] is not None:
        term = words.truth(cut[0], read(cut[1]), term)
    terms = np.empty(1, object)
    terms[0] = term
    kinds = None if dtype.is_float else {t: words.kinds.get(t, dtype) for t in iterate_post(term)}
    return Wanted(terms, np.array([True]), algebra_for(dtype), kinds, frozenset() if dtype.is_float else frozenset({dtype}))


class _Words:
    """Expressions as terms over machine words; all numbers of one are of one type."""

    def __init__(self, made: CudaScan, names: Mapping[Expr, Term], way: Way) -> None:
        self.names = names
        self.infinite = made.body.infinite
        self.types = made.body.types
        self.way = way
        self.kinds: dict[Term, DType] = {}

    def number(self, expr: Expr, dtype: DType) -> Term:
        match expr.op:
            case "const":
                return constant(_word(expr.value, dtype))
            case "var" if expr.sort.base != "bool" and expr in self.names:
                return self.names[expr]
            case "poly":
                return self.sum(polynomial(expr), dtype)
            case "max" | "min":
                found = self.number(expr.args[0], dtype)
                for other in expr.args[1:]:
                    found = apply(expr.op, found, self.number(other, dtype))
                return found
            case "ite":
                condition, then, otherwise = expr.args
                if self.way == "factored" and (found := self.factored(condition, then, otherwise, dtype)) is not None:
                    return found
                return self.truth(condition, self.number(then, dtype), self.number(otherwise, dtype), dtype)
            case _ if expr.sort.base == "bool":
                return self.truth(expr, constant(1), constant(0), dtype)
            case _:
                raise _UnreadError(f"{expr.op} has no reading in words")

    def factored(self, condition: Expr, then: Expr, otherwise: Expr, dtype: DType) -> Term | None:
        """`b + (c ? 0 : a)` in place of `c ? b : a + b`, and `b * (c ? 1 : a)`: the same words, as compilers write them."""
        if otherwise.op != "poly" or then.op != "var" or dtype.is_float or any(any(e) for e in self.infinite.values()):
            return None
        terms = polynomial(otherwise)
        own = self.number(then, dtype)
        if terms.get((then,)) == 1:
            rest = self.sum({m: c for m, c in terms.items() if m != (then,)}, dtype)
            return apply("+", own, self.truth(condition, constant(0), rest, dtype))
        ((monomial, coefficient),) = terms.items() if len(terms) == 1 else (((), 0),)
        if coefficient != 1 or then not in monomial:
            return None
        at = monomial.index(then)
        rest = self.sum({(*monomial[:at], *monomial[at + 1 :]): 1}, dtype)
        return apply("*", own, self.truth(condition, constant(1), rest, dtype))

    def sum(self, terms: Mapping[tuple[Expr, ...], int | Fraction], dtype: DType) -> Term:
        total: Term | None = None
        for monomial, coefficient in terms.items():
            factors = [
                *([constant(coefficient)] if coefficient != 1 or not monomial else []),
                *(self.number(f, dtype) for f in monomial),
            ]
            product = reduce(partial(apply, "*"), factors)
            total = product if total is None else apply("+", total, product)
        total = constant(0) if total is None else total
        if dtype.is_float or (len(terms) == 1 and next(iter(terms.values())) == 1 and len(next(iter(terms))) == 1):
            return total
        for monomial, coefficient in reversed(list(terms.items())):
            for factor in monomial:
                for is_possible, end in zip(self.ends(factor), (-math.inf, math.inf), strict=True):
                    if is_possible:
                        value = constant(_word(end if coefficient > 0 else -end, dtype))
                        at = self.number(factor, dtype), constant(_word(end, dtype))
                        total = apply("select ==", *at, value, total)
        return total

    def ends(self, factor: Expr) -> tuple[bool, bool]:
        if factor.op == "var":
            return self.infinite.get(factor, (False, False))
        if any(self.infinite.get(v, (False, False)) != (False, False) for v in self.names):
            raise _UnreadError(f"{factor.op} in a sum, which may be infinite")
        return False, False

    def truth(self, expr: Expr, then: Term, otherwise: Term, dtype: DType | None = None) -> Term:
        """`then` where the condition holds."""
        match expr.op:
            case "const":
                return then if expr.value else otherwise
            case "var":
                return apply("select !=", self.names[expr], constant(0), then, otherwise)
            case "not":
                return self.truth(expr.args[0], otherwise, then, dtype)
            case "or" if self.way != "cases" and all(a.op == "var" for a in expr.args):
                flags = self.names[expr.args[0]]
                for other in expr.args[1:]:
                    flags = apply("|", flags, self.names[other])
                return apply("select !=", flags, constant(0), then, otherwise)
            case "and" | "or":
                found = then if expr.op == "and" else otherwise
                for part in reversed(expr.args):
                    found = self.truth(part, *((found, otherwise) if expr.op == "and" else (then, found)), dtype)
                return found
            case "ge" | "gt":
                return self.comparison(expr, then, otherwise)
            case "eq" if expr.args[0].sort.base in ("int", "real") and expr.args[1].sort.base in ("int", "real"):
                kind = self.kind(expr)
                return apply("select ==", *(self.number(a, kind) for a in expr.args), then, otherwise)
            case _:
                raise _UnreadError(f"{expr.op} has no reading as a condition")

    def comparison(self, expr: Expr, then: Term, otherwise: Term) -> Term:
        """`sum >= 0`, negative terms on the right, as the printed text has it: words that wrap compare otherwise."""
        terms = polynomial(expr.args[0])
        left = {m: c for m, c in terms.items() if c > 0}
        right = {m: -c for m, c in terms.items() if c < 0}
        sign = ">=" if expr.op == "ge" else ">"
        if sign == ">=" and right.get((), 0) == 1 and len(right) > 1 and expr.args[0].sort.base == "int":
            right.pop(())
            sign = ">"
        kind = self.kind(expr.args[0])
        return apply(f"select {sign}", self.sum(left, kind), self.sum(right, kind), then, otherwise)

    def kind(self, expr: Expr) -> DType:
        """The type in which numbers of a sort are compared."""
        if expr.op == "eq":
            expr = expr.args[0] if expr.args[0].op != "const" else expr.args[1]
        return BY_NAME[_NAMES[self.types.whole if expr.sort.base == "int" else self.types.real]]


def _word(value: object, dtype: DType) -> int | Fraction:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        if dtype.is_float:
            raise _UnreadError("an infinity among floats")
        return -(1 << (dtype.bits - 1)) if value < 0 else (1 << (dtype.bits - 1)) - 1
    if isinstance(value, int | Fraction):
        return value
    raise _UnreadError(f"{value!r} has no reading as a number")
