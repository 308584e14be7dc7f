"""Identities of machine words: is one bit-vector expression equal to another for all inputs?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from warploom.solve.smt.asking import ask
from warploom.solve.smt.clauses import DEFAULT_RLIMIT, Answer, Sat, Unknown, Unsat


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
    z3: Any = import_module("z3")
    variables: dict[str, Any] = {}
    left, right = (_built(z3, w, bits, is_signed, variables) for w in (lhs, rhs))
    solver = z3.SolverFor("QF_BV")
    solver.set("rlimit", rlimit)
    solver.add(left != right)
    outcome, reason = ask(solver)
    if outcome == "unsat":
        return Unsat()
    if outcome == "unknown":
        return Unknown(f"solver gave up: {reason}", rlimit)
    model = solver.model()
    values = {name: model.eval(v, model_completion=True) for name, v in variables.items()}
    return Sat({n: v.as_signed_long() if is_signed else v.as_long() for n, v in values.items()})


def _built(z3: Any, word: Word, bits: int, is_signed: bool, variables: dict[str, Any]) -> Any:
    if isinstance(word, WordVar):
        return variables.setdefault(word.name, z3.BitVec(word.name, bits))
    if isinstance(word, WordConst):
        return z3.BitVecVal(word.value, bits)
    operands = [_built(z3, o, bits, is_signed, variables) for o in word.operands]
    if word.op == "neg":
        return -operands[0]
    if word.op == "~":
        return ~operands[0]
    less: Callable[[Any, Any], Any] = (lambda a, b: a < b) if is_signed else z3.ULT
    binary: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b,
        "<<": lambda a, b: a << b,
        ">>": (lambda a, b: a >> b) if is_signed else z3.LShR,
        "min": lambda a, b: z3.If(less(a, b), a, b),
        "max": lambda a, b: z3.If(less(a, b), b, a),
    }
    if word.op not in binary:
        raise ValueError(f"no word operation {word.op!r}")
    result = operands[0]
    for operand in operands[1:]:
        result = binary[word.op](result, operand)
    return result
