"""Identities of machine words: is one bit-vector expression equal to another for all inputs?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeAlias

from warploom.solve.smt.asking import DEFAULT_RLIMIT, Answer, Sat
from warploom.solve.smt.builder import Builder, Handle, word


@dataclass(frozen=True, slots=True)
class WordVar:
    name: str


@dataclass(frozen=True, slots=True)
class WordConst:
    value: int


@dataclass(frozen=True, slots=True)
class WordOp:
    """`op` as in kernel IR: + - * & | ^ << >> min max neg ~."""

    op: str
    operands: tuple[Word, ...]


Word: TypeAlias = WordVar | WordConst | WordOp


def differing_words(lhs: Word, rhs: Word, bits: int, *, is_signed: bool, rlimit: int = DEFAULT_RLIMIT) -> Answer:
    """Inputs for which two expressions over `bits`-bit words differ: Unsat proves them equal for all inputs."""
    builder = Builder()
    left, right = (_built(builder, w, bits, is_signed) for w in (lhs, rhs))
    answer = builder.check([builder.negation(builder.equal(left, right))], rlimit, "QF_BV")
    if not isinstance(answer, Sat):
        return answer
    return Sat({name: int(value) if is_signed else int(value) % (1 << bits) for name, value in answer.model.items()})


def _built(builder: Builder, expr: Word, bits: int, is_signed: bool) -> Handle:
    if isinstance(expr, WordVar):
        return builder.variable(expr.name, word(bits))
    if isinstance(expr, WordConst):
        return builder.constant(expr.value, word(bits))
    operands = [_built(builder, o, bits, is_signed) for o in expr.operands]

    def smaller(a: Handle, b: Handle) -> Handle:
        return builder.select(builder.less(a, b, is_signed=is_signed), a, b)

    def larger(a: Handle, b: Handle) -> Handle:
        return builder.select(builder.less(a, b, is_signed=is_signed), b, a)

    match expr.op:
        case "neg":
            return builder.negate(operands[0])
        case "~":
            return builder.invert(operands[0])
        case "+":
            combine = builder.add
        case "-":
            combine = builder.subtract
        case "*":
            combine = builder.multiply
        case "&" | "|" | "^":
            combine = partial(builder.bitwise, expr.op)
        case "<<":
            combine = builder.shift_left
        case ">>":
            combine = partial(builder.shift_right, is_signed=is_signed)
        case "min":
            combine = smaller
        case "max":
            combine = larger
        case _:
            raise ValueError(f"no word operation {expr.op!r}")
    return reduce(combine, operands)
