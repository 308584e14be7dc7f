"""An operator proved over the integers, in 32-bit words.

There it is still associative, or refuted with a replayed counterexample; and where the words are exact, the proof holds anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from warploom.scan import expression as ex
from warploom.scan import machine
from warploom.scan.closure import right
from warploom.scan.expression import Expr, Value
from warploom.scan.laws import associativity
from warploom.scan.operator import Operator
from warploom.scan.prover import Fails, Holds, Open, Translator, UntranslatableError, decide

WORD_RLIMIT = 250_000
"""z3's resource units for one law in words."""
FITS = "no intermediate value beyond 32 bits"


@dataclass(frozen=True, slots=True)
class InWords:
    """`triple` and `results` (left and right bracketing) are set where it is refuted."""

    associative: Literal["proved", "refuted", "unknown"]
    safe: str = ""
    triple: tuple[tuple[Value, ...], ...] | None = None
    results: tuple[tuple[Value, ...], ...] = ()


def in_words(fields: Sequence[Expr], results: Sequence[Expr], known: Sequence[Expr], safe: str = FITS) -> InWords:
    """Associativity with every operation wrapping; `known` holds of the values meant."""
    ops = {e.op for e in ex.subexpressions(*results)}
    if "poly" not in ops:
        return InWords("proved", "no arithmetic")
    if ops <= {"poly", "var", "const"}:
        return InWords("proved", "sums and products wrap consistently")
    if ops & {"gcd", "exp", "mod", "floordiv", "div"} or any(f.sort.is_infinite for f in fields):
        return InWords("unknown", safe)
    verdict = associativity(fields, dict(zip(fields, results, strict=True)), known, machine.WIDTH, WORD_RLIMIT)
    match verdict:
        case Holds():
            return InWords("proved", safe)
        case Open():
            return InWords("unknown", safe)
        case Fails(values):
            return _replayed(fields, results, safe, values)


def _replayed(fields: Sequence[Expr], results: Sequence[Expr], safe: str, values: Mapping[str, Value]) -> InWords:
    names = (*fields, *(right(f) for f in fields))

    def op(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[Value, ...]:
        return machine.run(results, dict(zip(names, (*a, *b), strict=True)))

    zero = {"bool": False, "text": ""}
    triple = tuple(
        tuple(values.get(f"{f.value}{mark}", cast(Value, zero.get(f.sort.base, 0))) for f in fields) for mark in ("", "'", "''")
    )
    a, b, c = triple
    try:
        first, second = op(op(a, b), c), op(a, op(b, c))
    except (ArithmeticError, ValueError):
        return InWords("unknown", safe)
    return InWords("unknown", safe) if first == second else InWords("refuted", safe, triple, (first, second))


def operator_in_words(operator: Operator) -> InWords:
    """Of a lifted operator; the safe range is in terms of the list, where values grow no faster than its sum can."""
    return in_words(operator.fields, operator.combine, operator.known, _growth(operator) or FITS)


def _growth(operator: Operator) -> str | None:
    """`length * greatest magnitude` bounds every value and every intermediate sum, by induction; None if that is not so."""
    numeric = [f for f in operator.fields if f.sort.is_numeric]
    if not all(f.sort.base == "int" for f in numeric):
        return None
    size, first, second = (ex.variable(n, ex.INT) for n in ("size of elements", "size of a", "size of b"))
    t = Translator()

    def within(value: Expr, bound: Expr) -> Expr:
        """Infinite values are kept apart by the machine, too."""
        if value.sort.is_infinite and value.op != "var":
            return ex.TRUE
        finite = ex.both(ex.at_least(bound, value), ex.at_least(value, ex.negate(bound)))
        for endless, may in ((ex.MINUS_INFINITY, value.sort.below), (ex.INFINITY, value.sort.above)):
            if may:
                finite = ex.either(ex.equal(value, endless), finite)
        return finite

    def sums(exprs: Sequence[Expr]) -> list[Expr]:
        return [e for e in ex.subexpressions(*exprs) if e.op == "poly"] + [e for e in exprs if e.sort.is_numeric]

    if any(f.sort.is_infinite for f in numeric):
        return None
    try:
        total = ex.add(first, second)
        given = [within(f, size) for f in operator.loop.fields if f.sort.is_numeric and f.sort.values is None]
        given += [within(f, first) for f in numeric] + [within(right(f), second) for f in numeric]
        given += [ex.at_least(v, ex.ONE) for v in (size, first, second)]
        # a comparison's difference is compared side by side, so only its sides matter, which are sums of fields themselves
        claims = [within(e, size) for e in sums(operator.lift)] + [within(e, total) for e in sums(operator.combine)]
        conditions = [t.condition(g) for g in given]
        verdict = decide(t, conditions, [t.condition(c) for c in claims], [])
    except (UntranslatableError, ex.UndefinedError):
        return None
    return f"length * max(1, |element|) <= {machine.LARGEST}" if isinstance(verdict, Holds) else None
