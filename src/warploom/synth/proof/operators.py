"""Checks the claim that a user's operator is commutative and associative, which every reordering of a fold rests on.

Integers: as identities of machine words, by z3. Floats: as identities of the reals, by canonical forms; where these do not
decide it, numbers that tell the two sides apart are looked for.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import isfinite

from warploom.core import NOWHERE, Diagnostic, DType, scalar_of
from warploom.ir import Accumulator, Arith, For, If, Kernel, Operator, Stmt, ValueConst, ValueExpr, ValueVar
from warploom.solve import Sat, Unsat, Word, WordConst, WordOp, WordVar, differing_words
from warploom.terms import Algebra, Number, Term, algebra_for, apply, atom, constant, equal, evaluate, iterate_post

_TRIALS = 600
_SPREAD = (Fraction(1, 3), Fraction(1, 1000), 1, 50, 10**4, 10**9, 2**40)
"""Magnitudes of the numbers tried: a law may fail for large or tiny ones only."""


@dataclass(frozen=True, slots=True)
class OperatorCheck:
    """Verdict on the operators that a kernel declares."""

    faults: tuple[Diagnostic, ...]
    """Claims with a counter-example."""
    unproved: tuple[str, ...]
    """Claims neither proved nor refuted, in words."""


def check_operators(kernel: Kernel) -> OperatorCheck:
    """Commutativity, associativity and the declared identity of every operator, for each type it is used with."""
    faults: list[Diagnostic] = []
    unproved: list[str] = []
    for operator in kernel.operators:
        for dtype in _types_of(kernel, operator):
            for law, lhs, rhs in _laws(operator, dtype):
                witness = _difference(lhs, rhs, dtype)
                if witness is None:
                    continue
                if isinstance(witness, str):
                    unproved.append(f"operator '{operator.name}' on {dtype}: {law} ({witness})")
                    continue
                values = ", ".join(f"{n} = {v}" for n, v in sorted(witness.items()))
                faults.append(
                    Diagnostic(
                        "OPERATOR_LAW",
                        f"expected operator '{operator.name}' on {dtype} to be {law}, which fails for {values}",
                        operator.span if operator.span != NOWHERE else kernel.span,
                        "folds are reordered: use an operator that is commutative and associative, with its true identity",
                    )
                )
    return OperatorCheck(tuple(faults), tuple(unproved))


def _types_of(kernel: Kernel, operator: Operator) -> list[DType]:
    found = {scalar_of(a.dtype): None for a in _accumulators(kernel.body) if a.op == operator.name}
    outputs = {scalar_of(p.dtype): None for p in kernel.params if p.is_output}
    return list(found or outputs)


def _accumulators(body: tuple[Stmt, ...]) -> list[Accumulator]:
    found: list[Accumulator] = []
    for stmt in body:
        match stmt:
            case Accumulator():
                found.append(stmt)
            case For():
                found += _accumulators(stmt.body)
            case If():
                found += _accumulators(stmt.then) + _accumulators(stmt.other)
            case _:
                pass
    return found


def _laws(operator: Operator, dtype: DType) -> list[tuple[str, ValueExpr, ValueExpr]]:
    a, b, c = ValueVar("a"), ValueVar("b"), ValueVar("c")

    def op(x: ValueExpr, y: ValueExpr) -> ValueExpr:
        return _substituted(operator.body, {"$a": x, "$b": y})

    laws = [
        ("commutative", op(a, b), op(b, a)),
        ("associative", op(op(a, b), c), op(a, op(b, c))),
    ]
    if operator.identity is not None:
        laws.append((f"neutral with {operator.identity}", op(a, ValueConst(operator.identity, dtype)), a))
    return laws


def _substituted(body: ValueExpr, names: Mapping[str, ValueExpr]) -> ValueExpr:
    match body:
        case ValueVar(name):
            return names[name]
        case Arith(op, operands):
            return Arith(op, tuple(_substituted(o, names) for o in operands))
        case _:
            return body


def _difference(lhs: ValueExpr, rhs: ValueExpr, dtype: DType) -> dict[str, Number] | str | None:
    """Values that tell the sides apart; why nothing is known; None: equal for all values."""
    if not dtype.is_float:
        answer = differing_words(_word(lhs), _word(rhs), dtype.bits, is_signed=dtype.kind == "int")
        if isinstance(answer, Unsat):
            return None
        return dict(answer.model) if isinstance(answer, Sat) else f"solver gave up: {answer.reason}"
    algebra = algebra_for(dtype)
    left, right = _term(lhs), _term(rhs)
    if equal(left, right, algebra):
        return None
    return _telling_apart(left, right, algebra) or "canonical forms differ, and no numbers were found that tell them apart"


def _telling_apart(left: Term, right: Term, algebra: Algebra) -> dict[str, Number] | None:
    """Numbers of all magnitudes, and those around the constants of the body, at which the sides differ."""
    rng = random.Random(0)
    constants = [t.data[0] for t in (*iterate_post(left), *iterate_post(right)) if t.op == "constant" and isfinite(t.data[0])]
    special = [Fraction(c) * sign + step for c in constants for sign in (1, -1) for step in (-1, 0, 1)]

    def number() -> Number:
        if special and rng.random() < 0.4:
            return rng.choice(special)
        value = rng.randint(-50, 50) * Fraction(rng.choice(_SPREAD))
        return value + rng.choice(special) if special and rng.random() < 0.3 else value

    for _ in range(_TRIALS):
        values = {n: number() for n in ("a", "b", "c")}
        got = evaluate((left, right), algebra.dtype, lambda t, values=values: values[str(t.data[0])])
        if got is not None and got[0] != got[1]:
            return {n: int(v) if v == int(v) else v for n, v in values.items()}
    return None


def _word(expr: ValueExpr) -> Word:
    match expr:
        case ValueVar(name):
            return WordVar(name)
        case ValueConst(value, _):
            return WordConst(int(value))
        case Arith(op, operands):
            return WordOp(op, tuple(_word(o) for o in operands))
        case _:
            raise TypeError(f"operator body may hold variables, constants and arithmetic, not {type(expr).__name__}")


def expanded(term: Term, operators: Collection[Operator]) -> Term:
    """`term` with every declared operator written out as its body."""
    bodies = {o.name: o.body for o in operators}
    done: dict[Term, Term] = {}
    for t in iterate_post(term) if bodies else ():
        arguments = [done[a] for a in t.args]
        if t.op in bodies:
            done[t] = reduce(lambda a, b, body=bodies[t.op]: _term(body, {"$a": a, "$b": b}), arguments)
        else:
            done[t] = t.rebuilt(arguments) if t.args else t
    return done.get(term, term)


def _term(expr: ValueExpr, known: Mapping[str, Term] | None = None) -> Term:
    match expr:
        case ValueVar(name):
            return atom(name, ()) if known is None else known[name]
        case ValueConst(value, _):
            return constant(value)
        case Arith(op, operands):
            return apply(op, *(_term(o, known) for o in operands))
        case _:
            raise TypeError(f"operator body may hold variables, constants and arithmetic, not {type(expr).__name__}")
