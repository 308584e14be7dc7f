"""Holes as parameters of their grammar: flags for the parameters, clauses that tie the hole's value at each point to them.

No function is ever tabulated: a fan's scale, a rotation's period, a comparison's constant are decided on their own, so a hole of
any size is a few one-hot choices. Source: Swizzle Inventor, section 5 (the paper encodes holes for its solver in this way).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from warploom.core import Diagnostic, UnsupportedError
from warploom.ir import Compare, CompareOp, Hole, HoleArg, IndexBinary, IndexConst, IndexExpr, IndexSelect, tabulate
from warploom.ir.swizzle import function_set, kind_of
from warploom.operations import COMPARISONS, SIGN_OF_COMPARISON
from warploom.solve import ClauseSession

MOST_LISTED = 1 << 12
"""Functions of a hole without an encoding of its own."""
Point = tuple[int, ...]
Model = Mapping[str, int]
V = TypeVar("V", bound=Hashable)


class HoleFlags(Protocol):
    """A hole in a clause session."""

    @property
    def values(self) -> Sequence[Sequence[int]]:
        """[points][values]: the literal that holds if the hole has the value at the point; exactly one per point does."""
        ...

    def expr(self, model: Model) -> IndexExpr:
        """The completion that an answer stands for."""
        ...

    def taken(self, model: Model) -> list[int]:
        """The literals of `values` that the answer makes true."""
        ...


class _Choice(Generic[V]):
    """One of several values, as flags."""

    def __init__(self, session: ClauseSession, name: str, values: Iterable[V]) -> None:
        self.name = name
        self.flags = {v: session.flag(f"{name}={v}") for v in values}
        session.exactly(1, list(self.flags.values()))

    def chosen(self, model: Model) -> V:
        return next(v for v in self.flags if model[f"{self.name}={v}"])


def encode_hole(session: ClauseSession, name: str, hole: Hole, points: Sequence[Point], space: int) -> HoleFlags:
    """Add `hole` as its grammar stands in `space`, used at `points` (tuples of arguments); flags are called after `name`."""
    match hole.kind:
        case "cond":
            truths = _condition(session, name, hole, points, space)
            return _Condition(truths, [[-t, t] for t in truths.truth], points)
        case "part":
            parts = [_condition(session, f"{name}[{n}]", hole, points, space) for n in range(hole.n - 1)]
            return _Partition(session, parts, points)
        case "xform":
            return _Transformation(session, name, hole, points, space)
        case _:
            return _Listed(session, name, hole, points, space)


class _Listed:
    """A hole of any other kind: one of its functions, which are few enough to list."""

    def __init__(self, session: ClauseSession, name: str, hole: Hole, points: Sequence[Point], space: int) -> None:
        kind = kind_of(hole)
        table = np.array(points, np.int64).reshape(len(points), len(hole.arg_names) if kind.takes == "indices" else 0)
        members = function_set(hole, table, space)
        functions = members.matching(np.ones((members.points, members.values), np.bool_))
        if functions is None or len(functions) > MOST_LISTED:
            message = f"expected a hole with at most {MOST_LISTED} functions for the second engine, got {hole.name}"
            raise UnsupportedError(Diagnostic("TOO_LARGE", message, hole.span, "use a smaller space, or the other engine"))
        self.functions = functions
        self.choice = _Choice(session, name, range(len(functions)))
        flags = list(self.choice.flags.values())
        self.values: list[list[int]] = []
        for row in functions.tables.T:
            takes = [np.flatnonzero(row == value).tolist() for value in range(members.values)]
            self.values.append([session.either([flags[n] for n in numbers]) for numbers in takes])

    def expr(self, model: Model) -> IndexExpr:
        return self.functions.expr(self.choice.chosen(model))

    def taken(self, model: Model) -> list[int]:
        chosen = self.functions.tables[self.choice.chosen(model)]
        return [row[value] for row, value in zip(self.values, chosen.tolist(), strict=True)]


def _taken(hole: HoleFlags, points: Sequence[Point], model: Model) -> list[int]:
    """Through the expression, so that it and the flags cannot say different things for long."""
    expr = hole.expr(model)
    arguments = np.array(points, np.int64).reshape(len(points), -1)
    table = tabulate(expr, {HoleArg(n): column for n, column in enumerate(arguments.T)})
    return [row[int(v)] for row, v in zip(hole.values, np.broadcast_to(table, len(points)), strict=True)]


class _Truths(Protocol):
    truth: list[int]
    """Per point: the literal that holds if the condition does."""

    def expr(self, model: Model) -> IndexExpr: ...


@dataclass(frozen=True, eq=False, slots=True)
class _Condition:
    condition: _Truths
    values: Sequence[Sequence[int]]
    points: Sequence[Point]

    def expr(self, model: Model) -> IndexExpr:
        return self.condition.expr(model)

    def taken(self, model: Model) -> list[int]:
        return _taken(self, self.points, model)


class _Partition:
    """`0 if conds[0] else 1 if conds[1] else ...`."""

    def __init__(self, session: ClauseSession, conditions: Sequence[_Truths], points: Sequence[Point]) -> None:
        self.conditions = conditions
        self.points = points
        self.values: list[list[int]] = []
        for p in range(len(points)):
            truth = [c.truth[p] for c in conditions]
            row = [session.both([*(-t for t in truth[:n]), *truth[n : n + 1]]) for n in range(len(truth) + 1)]
            self.values.append(row)

    def expr(self, model: Model) -> IndexExpr:
        result: IndexExpr = IndexConst(len(self.conditions))
        for n in reversed(range(len(self.conditions))):
            cond = self.conditions[n].expr(model)
            if isinstance(cond, IndexConst):
                result = IndexConst(n) if cond.value else result
            else:
                result = IndexSelect(cond, IndexConst(n), result)
        return result

    def taken(self, model: Model) -> list[int]:
        return _taken(self, self.points, model)


def _condition(session: ClauseSession, name: str, hole: Hole, points: Sequence[Point], space: int) -> _Truths:
    if hole.grammar == "modular":
        return _Modular(session, name, hole, points)
    return _Linear(session, name, hole, points, is_free=hole.grammar == "full" and space > 1)


def _tie(session: ClauseSession, when: Sequence[int], left: int, right: int) -> None:
    """Demands left = right under the literals `when`."""
    off = [-w for w in when]
    session.add(*off, -left, right)
    session.add(*off, left, -right)


class _Linear:
    """true | false | v cmp (c + v') | v cmp (c - v') | v cmp c; c any integer if `is_free`, else 0 or one the user gave."""

    def __init__(self, session: ClauseSession, name: str, hole: Hole, points: Sequence[Point], *, is_free: bool) -> None:
        self.name = name
        constants = hole.constants or ()
        arity = len(hole.arg_names)
        sides = [(a, b, "+") for a in range(arity) for b in range(arity) if a != b]
        sides += [(a, b, "-") for a in range(arity) for b in range(a, arity)]
        alone = [(a, a, "alone") for a in range(arity)] if is_free or constants else []
        differences = {side: [self._difference(side, p) for p in points] for side in [*sides, *alone]}
        every = [d for row in differences.values() for d in row] or [0]
        offered = {0, *constants}
        self.low = min(offered) if not is_free else min([*offered, min(every) - 1])
        self.high = max(offered) if not is_free else max([*offered, max(every) + 1])
        self.shape = _Choice(session, f"{name}.shape", [True, False, *differences])
        self.op = _Choice(session, f"{name}.op", tuple(SIGN_OF_COMPARISON.values()))
        # reach[t - low]: c >= t, for low < t <= high.
        self.reach = [session.true, *(session.flag(f"{name}.c>={t}") for t in range(self.low + 1, self.high + 1))]
        for smaller, larger in zip(self.reach, self.reach[1:], strict=False):
            session.add(-larger, smaller)
        if not is_free:
            for c in range(self.low, self.high + 1):
                if c not in offered:
                    session.add(-self._is(session, c))
                elif c not in constants:
                    for side in alone:
                        session.add(-self.shape.flags[side], -self._is(session, c))
        self.truth = [session.flag() for _ in points]
        for truth in self.truth:
            session.add(-self.shape.flags[True], truth)
            session.add(-self.shape.flags[False], -truth)
        compared = {d: self._compared(session, d) for d in set(every)}
        for side, row in differences.items():
            for truth, d in zip(self.truth, row, strict=True):
                _tie(session, [self.shape.flags[side]], truth, compared[d])

    @staticmethod
    def _difference(side: tuple[int, int, str], point: Point) -> int:
        """d such that the comparison reads d cmp c."""
        a, b, sign = side
        return point[a] if sign == "alone" else point[a] - point[b] if sign == "+" else point[a] + point[b]

    def _at_least(self, session: ClauseSession, t: int) -> int:
        """c >= t."""
        return session.true if t <= self.low else -session.true if t > self.high else self.reach[t - self.low]

    def _is(self, session: ClauseSession, c: int) -> int:
        return session.both([self._at_least(session, c), -self._at_least(session, c + 1)])

    def _compared(self, session: ClauseSession, d: int) -> int:
        """d cmp c."""
        result = session.flag()
        less, less_equal, equal = self._at_least(session, d + 1), self._at_least(session, d), self._is(session, d)
        outcomes: dict[CompareOp, int] = {
            "<": less, "<=": less_equal, ">": -less_equal, ">=": -less, "==": equal, "!=": -equal,
        }  # fmt: skip
        for op, outcome in outcomes.items():
            _tie(session, [self.op.flags[op]], result, outcome)
        return result

    def expr(self, model: Model) -> IndexExpr:
        shape = self.shape.chosen(model)
        if isinstance(shape, bool):
            return IndexConst(shape)
        a, b, sign = shape
        c = self.low + sum(model[f"{self.name}.c>={t}"] for t in range(self.low + 1, self.high + 1))
        right: IndexExpr = IndexConst(c)
        if sign == "-":
            right = IndexBinary("-", IndexConst(c), HoleArg(b))
        elif sign == "+" and c == 0:
            right = HoleArg(b)
        elif sign == "+":
            right = IndexBinary("+" if c > 0 else "-", HoleArg(b), IndexConst(abs(c)))
        return Compare(self.op.chosen(model), HoleArg(a), right)


class _Modular:
    """true | false | v cmp ((scale * v' + offset) mod m)."""

    def __init__(self, session: ClauseSession, name: str, hole: Hole, points: Sequence[Point]) -> None:
        self.m = m = hole.modulus
        arity = len(hole.arg_names)
        self.shape = _Choice(session, f"{name}.shape", [True, False, "compare"] if arity and m else [True, False])
        self.left = _Choice(session, f"{name}.left", range(max(arity, 1)))
        self.right = _Choice(session, f"{name}.right", range(max(arity, 1)))
        self.scale = _Choice(session, f"{name}.scale", range(max(m, 1)))
        self.offset = _Choice(session, f"{name}.offset", range(max(m, 1)))
        self.op = _Choice(session, f"{name}.op", tuple(SIGN_OF_COMPARISON.values()))
        self.truth: list[int] = []
        for point in points:
            truth = session.flag()
            self.truth.append(truth)
            session.add(-self.shape.flags[True], truth)
            session.add(-self.shape.flags[False], -truth)
            if "compare" not in self.shape.flags:
                continue
            remainder = [session.flag() for _ in range(m)]
            for b, right in self.right.flags.items():
                for scale, scaled in self.scale.flags.items():
                    for offset, moved in self.offset.flags.items():
                        session.add(-right, -scaled, -moved, remainder[(scale * point[b] + offset) % m])
            for a, left in self.left.flags.items():
                for op, chosen in self.op.flags.items():
                    for value, holds in enumerate(remainder):
                        outcome = truth if COMPARISONS[op].holds(point[a], value) else -truth
                        session.add(-self.shape.flags["compare"], -left, -chosen, -holds, outcome)

    def expr(self, model: Model) -> IndexExpr:
        shape = self.shape.chosen(model)
        if isinstance(shape, bool):
            return IndexConst(shape)
        scaled = IndexBinary("*", HoleArg(self.right.chosen(model)), IndexConst(self.scale.chosen(model)))
        moved = IndexBinary("+", scaled, IndexConst(self.offset.chosen(model)))
        left = HoleArg(self.left.chosen(model))
        return Compare(self.op.chosen(model), left, IndexBinary("%", moved, IndexConst(self.m)))


@dataclass(frozen=True, slots=True)
class _Fan:
    """gs, cf, df and whether the rotation stays inside groups of gs / df."""

    group: int
    scale: int
    period: int
    wrap: bool

    @property
    def modulus(self) -> int:
        return self.group // self.period if self.wrap else self.group

    def moved(self, i: int) -> tuple[int, int, int]:
        """(modulus, base, turned): index i goes to base + (turned + rotation) mod modulus."""
        local = i % self.group
        position = (local * self.scale + local // self.period) % self.group
        turned = position % self.modulus
        return self.modulus, i - local + position - turned, turned


class _Transformation:
    """Equations 5 to 7: a fan of i, then a rotation by (k * cr + floor(k / dr) + c)."""

    def __init__(self, session: ClauseSession, name: str, hole: Hole, points: Sequence[Point], space: int) -> None:
        self.n = n = hole.n
        self.points = points
        every = sorted({c % n for c in hole.coefficients}) if hole.coefficients is not None else range(n)
        parameters = sorted({k for _, k in points})
        extent = max(parameters, default=0) + 1
        periods = [d for d in range(2, extent) if extent % d == 0 or n % d == 0] if space == 3 else []
        self.fan = _Choice(session, f"{name}.fan", self._fans(hole, space))
        self.scale = _Choice(session, f"{name}.cr", every)
        self.period = _Choice(session, f"{name}.dr", [0, *periods])
        offsets = range(n) if hole.constants is None else sorted({c % n for c in hole.constants})
        self.offset = _Choice(session, f"{name}.c", offsets)
        amounts = {k: self._amount(session, k) for k in parameters}
        states = {i: self._state(session, i) for i in {i for i, _ in points}}
        self.values: list[list[int]] = []
        for i, k in points:
            row = [session.flag() for _ in range(n)]
            session.exactly(1, row)
            self.values.append(row)
            for (modulus, base, turned), state in states[i].items():
                for amount, rotated in enumerate(amounts[k]):
                    session.add(-state, -rotated, row[base + (turned + amount) % modulus])

    @staticmethod
    def _fans(hole: Hole, space: int) -> list[_Fan]:
        n = hole.n
        is_grouped = space == 3 and hole.grammar == "full"
        fans: list[_Fan] = []
        for group in [d for d in range(1, n + 1) if n % d == 0] if is_grouped else [n]:
            scales = {c % group for c in (hole.coefficients if hole.coefficients is not None else range(group))}
            if hole.grammar == "rotation":
                scales = {1 % group}
            for period in [d for d in range(1, group + 1) if group % d == 0] if space == 3 else [group]:
                fits = [s for s in sorted(scales) if s % (group // period) == 0]
                for wrap in (False, True) if is_grouped and period < group else (False,):
                    fans += [_Fan(group, s, period, wrap) for s in fits]
        return fans

    def _state(self, session: ClauseSession, i: int) -> dict[tuple[int, int, int], int]:
        """Flags of each (modulus, base, turned) to which the fan may take i."""
        feeders: dict[tuple[int, int, int], list[int]] = {}
        for fan, flag in self.fan.flags.items():
            feeders.setdefault(fan.moved(i), []).append(flag)
        return {state: session.either(flags) for state, flags in feeders.items()}

    def _amount(self, session: ClauseSession, k: int) -> list[int]:
        """[n] flags: the rotation for parameter k, mod n (every modulus divides n)."""
        n = self.n
        steps = [session.flag() for _ in range(n)]
        for scale, scaled in self.scale.flags.items():
            for period, divided in self.period.flags.items():
                session.add(-scaled, -divided, steps[(k * scale + (k // period if period else 0)) % n])
        session.exactly(1, steps)
        amount = [session.flag() for _ in range(n)]
        for step, reached in enumerate(steps):
            for offset, moved in self.offset.flags.items():
                session.add(-reached, -moved, amount[(step + offset) % n])
        session.exactly(1, amount)
        return amount

    def expr(self, model: Model) -> IndexExpr:
        fan = self.fan.chosen(model)
        local: IndexExpr = HoleArg(0) if fan.group == self.n else _op("%", HoleArg(0), fan.group)
        terms = [_scaled(local, fan.scale, fan.group)]
        if fan.period < fan.group:
            terms.append(_op("//", local, fan.period))
        period = self.period.chosen(model)
        turn = [_scaled(HoleArg(1), self.scale.chosen(model), fan.modulus), IndexConst(self.offset.chosen(model) % fan.modulus)]
        if period:
            turn.append(_op("//", HoleArg(1), period))
        if fan.wrap:
            position = _op("%", _sum(terms), fan.group)
            base = IndexBinary("-", position, _op("%", position, fan.modulus))
            moved: IndexExpr = IndexBinary("+", base, _op("%", _sum([position, *turn]), fan.modulus))
        else:
            moved = _op("%", _sum([*terms, *turn]), fan.group)
        return moved if fan.group == self.n else IndexBinary("+", IndexBinary("-", HoleArg(0), local), moved)

    def taken(self, model: Model) -> list[int]:
        return _taken(self, self.points, model)


def _op(op: str, lhs: IndexExpr, rhs: int) -> IndexExpr:
    return IndexBinary("%" if op == "%" else "//", lhs, IndexConst(rhs))


def _scaled(term: IndexExpr, factor: int, modulus: int) -> IndexExpr:
    """`factor * term`, the factor reduced mod `modulus` to the representative nearest zero."""
    factor %= modulus
    signed = factor if factor <= modulus // 2 else factor - modulus
    return IndexConst(0) if signed == 0 else term if signed == 1 else IndexBinary("*", term, IndexConst(signed))


def _sum(terms: Sequence[IndexExpr]) -> IndexExpr:
    kept = [t for t in terms if t != IndexConst(0)] or [IndexConst(0)]
    result = kept[0]
    for term in kept[1:]:
        result = IndexBinary("+", result, term)
    return result
