"""Loops of which two states together change by what the element gives: stock and backlog, open and missing brackets.

    stock, backlog = max(stock - x, 0), backlog + max(x - stock, 0)        stock - backlog changes by -x, whatever they are

The sum or difference takes the place of the state that no other depends on, so that what remains of the other state is all that
has thresholds. That it changes so is proved for all values.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.prover import Holds, Translator, UntranslatableError, decide
from warploom.scan.operators.transition import Loop, State

_RLIMIT = 400_000
MOST_CASES = 64
_TESTS: frozenset[ex.Op] = frozenset({"ge", "gt", "eq", "var"})


def with_conserved(loop: Loop) -> Loop | None:
    """The loop with such a sum or difference for a state; None if there is none."""
    numeric = [s for s in loop.states if s.variable.sort.is_numeric and s.variable.sort.values is None]
    numeric = [s for s in numeric if not s.variable.sort.is_infinite and s.variable.sort.bits is None]
    for given in numeric:
        readers = [s for s in loop.states if s is not given and given.variable in ex.variables(s.step)]
        if readers or given.name in loop.kept or not any(e.op in ("ite", "max", "min") for e in ex.subexpressions(given.step)):
            continue
        for other in numeric:
            if other is given or not {other.variable} & {*ex.variables(given.step)}:
                continue
            for sign in (ex.ONE, ex.constant(-1)):
                found = _joined(loop, given, other, sign)
                if found is not None:
                    return found
    return None


def _joined(loop: Loop, given: State, other: State, sign: Expr) -> Loop | None:
    try:
        change = ex.subtract(
            ex.add(given.step, ex.multiply(sign, other.step)), ex.add(given.variable, ex.multiply(sign, other.variable))
        )
        added = _Cases(loop).change(change)
        if added is None or not _equal(loop, change, added):
            return None
        total = ex.variable(f"{given.name}_and_{other.name}", given.variable.sort)
        back = {given.variable: ex.subtract(total, ex.multiply(sign, other.variable))}
        begun = State(total, ex.add(given.initial, ex.multiply(sign, other.initial)), ex.add(total, added))
        states = tuple(begun if s is given else s for s in loop.states)
        return replace(loop, states=states, outputs=tuple(ex.substituted(o, back) for o in loop.outputs))
    except ex.UndefinedError:
        return None


class _Cases:
    """The change of a sum, by cases of the element."""

    def __init__(self, loop: Loop) -> None:
        self._states: set[Expr] = {s.variable for s in loop.states}
        self._work: int = 0

    def change(self, expr: Expr) -> Expr | None:
        """The change whatever the states are, if it is the same in each of their cases: the first case tells."""
        self._work += 1
        if self._work > MOST_CASES:
            return None
        parts = ex.subexpressions(expr)
        tests = (t for e in parts if e.op == "ite" for t in ex.subexpressions(e.args[0]))
        test = next((t for t in tests if t.op in _TESTS and t.sort.base == "bool"), None)
        if test is not None:
            sides = (self.change(side) for side in _decided(expr, test))
            if self._is_carried(test):
                return next((side for side in sides if side is not None), None)
            first, second = sides
            return None if first is None or second is None else ex.select(test, first, second)
        chosen = next((e for e in parts if e.op in ("max", "min") and self._is_carried(e)), None)
        if chosen is not None:
            sides = (self.change(ex.substituted(expr, {chosen: a})) for a in chosen.args)
            return next((side for side in sides if side is not None), None)
        return None if self._is_carried(expr) else expr

    def _is_carried(self, expr: Expr) -> bool:
        return bool({*ex.variables(expr)} & self._states)


def _decided(expr: Expr, test: Expr) -> tuple[Expr, Expr]:
    opposite = ex.negation(test)
    yes = {test: ex.TRUE} | ({opposite: ex.FALSE} if opposite.op != "not" else {})
    no = {test: ex.FALSE} | ({opposite: ex.TRUE} if opposite.op != "not" else {})
    return ex.substituted(expr, yes), ex.substituted(expr, no)


def _equal(loop: Loop, change: Expr, added: Expr) -> bool:
    t = Translator()
    try:
        claim = t.equal(t.number(change), t.number(added))
        return isinstance(decide(t, [t.condition(a) for a in loop.assumed], [claim], [], _RLIMIT), Holds)
    except UntranslatableError:
        return False


__all__ = ["with_conserved"]
