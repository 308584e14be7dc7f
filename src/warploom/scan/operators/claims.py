"""Further claims about an associative operator: that it commutes, and how far float results differ between groupings."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.checking import Function, Witness, meant_triples, same
from warploom.scan.operators.closure import right
from warploom.scan.operators.exact import exact, exactly
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.laws import decided
from warploom.scan.operators.prover import Holds, Number, Translator
from warploom.scan.reading.binary import Binary

TRIES = 400
CLIMBS = 400


@dataclass(frozen=True, slots=True)
class Commutes:
    """Whether `a op b = b op a`; two values for which it does not were replayed on the function."""

    verdict: Literal["proved", "refuted", "unknown"]
    pair: tuple[object, object] | None = None
    results: tuple[object, object] | None = None


@dataclass(frozen=True, slots=True)
class Apart:
    """The worst triple of floats that was found, and by how much its two groupings differ, as a share of the greater result."""

    difference: float
    witness: Witness


def commutes(binary: Binary, function: Function) -> Commutes:
    """Proved for all values that are meant; refuted by two of them."""
    run, own = binary.applied(function), binary.applied(exactly(function))
    for a, b, _ in meant_triples(binary, TRIES):
        sides = (binary.packed([exact(v) for v in a]), binary.packed([exact(v) for v in b]))
        pair = (binary.packed(a), binary.packed(b))
        try:
            if not same(own(*sides), own(*reversed(sides))):
                return Commutes("refuted", pair, (run(*pair), run(*reversed(pair))))
        except (ArithmeticError, ValueError, AssertionError, IndexError):
            continue
    behind: dict[Expr, Expr] = {right(f): f for f in binary.fields}
    swapped: dict[Expr, Expr] = {**{f: right(f) for f in binary.fields}, **behind}
    exactly_so = [(lambda e=e: e, lambda e=e: ex.substituted(e, swapped)) for e in binary.result]

    def claims(t: Translator) -> list[tuple[Number, Number]]:
        names = {v: t.number(w) for v, w in swapped.items()}
        return [(t.number(e), t.number(e, names)) for e in binary.result]

    given = [*binary.assumed, *(ex.substituted(a, {f: right(f) for f in binary.fields}) for a in binary.assumed)]
    verdict = decided([*binary.fields, *behind], exactly_so, claims, given, [*binary.fields, *behind], None)
    return Commutes("proved" if isinstance(verdict, Holds) else "unknown")


def apart(binary: Binary, function: Function) -> Apart | None:
    """None where no two groupings of floats were found that differ, or where no operand has floats."""
    if not any(f.sort.base == "real" for f in binary.fields):
        return None
    run, choose = binary.applied(function), random.Random(17)
    best: tuple[float, Sequence[tuple[object, ...]]] | None = None

    def tried(triple: Sequence[tuple[object, ...]]) -> None:
        nonlocal best
        found = _difference(binary, run, triple)
        if found is not None and found > (best[0] if best else 0.0):
            best = found, triple

    for triple in meant_triples(binary, TRIES):
        for scale in (0.0, 4.0, 16.0):
            moved = [_moved(binary, part, choose, scale, 1.0) for part in triple]
            tried(moved)
            tried([moved[0], _negated(binary, moved[0]), _moved(binary, triple[2], choose, 0.0, 1.0)])  # what cancels
    for _ in range(CLIMBS if best else 0):
        assert best is not None
        tried([_moved(binary, part, choose, 0.5, 0.3) for part in best[1]])
    if best is None:
        return None
    a, b, c = (binary.packed(part) for part in best[1])
    return Apart(best[0], Witness((a, b, c), run(run(a, b), c), run(a, run(b, c))))


def _moved(binary: Binary, operand: tuple[object, ...], choose: random.Random, scale: float, share: float) -> tuple[object, ...]:
    """The operand with some of its real numbers as floats near them, or some powers of ten away."""
    found: list[object] = []
    for field, value in zip(binary.fields, operand, strict=True):
        number = float(cast(float, value)) if field.sort.base == "real" else math.inf
        if math.isinf(number) or choose.random() > share:
            found.append(value if math.isinf(number) else number)
            continue
        found.append(number * (1 + choose.random()) * 10 ** choose.uniform(-scale, scale))
    return tuple(found)


def _negated(binary: Binary, operand: tuple[object, ...]) -> tuple[object, ...]:
    pairs = zip(binary.fields, operand, strict=True)
    return tuple(-cast(float, v) if f.sort.base == "real" else v for f, v in pairs)


def _difference(binary: Binary, run: Function, triple: Sequence[tuple[object, ...]]) -> float | None:
    a, b, c = (binary.packed(part) for part in triple)
    try:
        first, second = binary.flat(run(run(a, b), c)), binary.flat(run(a, run(b, c)))
    except (ArithmeticError, ValueError, AssertionError, IndexError):
        return None
    found = 0.0
    for x, y in zip(first, second, strict=True):
        if isinstance(x, str | bool) or isinstance(y, str | bool):
            found = max(found, float(x != y))
            continue
        greatest = max(abs(x), abs(y))
        if math.isfinite(greatest) and greatest:
            found = max(found, float(abs(x - y) / greatest))
    return found


__all__ = ["Apart", "Commutes", "apart", "commutes"]
