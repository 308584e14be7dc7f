"""Decides whether a divisor can be 0 where the division is reached, and whether any value meets the assertions."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.prover import Holds, Translator, UntranslatableError, decide
from warploom.scan.reading.interpret import Division

_RLIMIT = 300_000
"""z3's resource units for one division."""


def divides_by_zero(divisions: Iterable[Division]) -> bool:
    """False only where it is proved, for all values of the variables, that no divisor is 0."""
    return any(not _is_guarded(d) for d in dict.fromkeys(divisions))


def are_met(assumed: Iterable[Expr]) -> bool:
    """False only where it is proved that no values meet all of the assertions."""
    t = Translator()
    try:
        given = [t.condition(a) for a in assumed]
        return not (given and isinstance(decide(t, given, [t.condition(ex.FALSE)], [], _RLIMIT), Holds))
    except (UntranslatableError, ex.UndefinedError):
        return True


def _is_guarded(division: Division) -> bool:
    t = Translator()
    try:
        given = [t.condition(g) for g in division.given]
        claim = t.condition(ex.negation(ex.equal(division.divisor, ex.ZERO)))
        return isinstance(decide(t, given, [claim], [], _RLIMIT), Holds)
    except (UntranslatableError, ex.UndefinedError):
        return False
