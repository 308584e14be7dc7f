"""Families that need no search: states that a monoid folds, and linear recurrences of several states as matrices, modulo m, too.

    s = gcd(s, e), s ^ e, s & e, s | e         one slot, folded alike
    s = M s ^ e over single bits               two words (`bit_maps`)
    s_i = sum of a_ij * s_j + b_i [mod m]      a slot for each a_ij that a path of steps can reach, and one for each b_i

The states that are neither are left to `closure`, if they depend on none of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.bit_maps import BitMap, bit_map
from warploom.scan.operators.closure import MAX_SLOTS, Closure, Start, closure, right
from warploom.scan.operators.expression import Expr, Op, Sort
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.transition import Loop, State

FOLDS: tuple[Op, ...] = ("gcd", "bitand", "bitor", "bitxor", "max", "min")
_NEW: tuple[Op, ...] = ("gcd", "bitand", "bitor", "bitxor")
"""Folds that `closure` does not know."""


def in_parts(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where no state is folded or recurs linearly."""
    folded = {s.variable: e for s in loop.states if (e := _folded(s, loop)) is not None}
    words = {s.variable: m for s in loop.states if s.variable not in folded and (m := bit_map(s, loop)) is not None}
    linear = _linear([s for s in loop.states if s.variable not in folded and s.variable not in words], loop)
    rest = [s for s in loop.states if not {s.variable} & {*folded, *words, *linear}]
    is_new = any(s.step.op in _NEW for s in loop.states if s.variable in folded) or len(linear) > 1
    is_new |= any(row.modulus is not None for row in linear.values()) or bool(words)
    if not is_new:
        raise FormError("no states that are folded or recur linearly")
    if any({*ex.variables(s.step)} & {*folded, *linear, *words} for s in rest):
        raise FormError("states that depend on those that are folded or recur linearly")
    made = _Made(style)
    for variable, element in folded.items():
        made.fold(variable, next(s.step.op for s in loop.states if s.variable is variable), element)
    for variable, found in words.items():
        made.bit_map(variable, found)
    made.matrix(linear)
    if rest:
        made.add(closure(replace(loop, states=tuple(rest), outputs=()), style, start))
    return made.closure([s.variable for s in loop.states])


def masked(loop: Loop) -> Loop:
    """The loop with `s & 0xff` as `s % 256`, which is the same of all integers."""
    memory: dict[Expr, Expr] = {}
    for part in ex.subexpressions(*(s.step for s in loop.states)):
        if part.op == "bitand":
            for mask in part.args:
                size = mask.value + 1 if mask.op == "const" and type(mask.value) is int else 0
                if size > 1 and not size & (size - 1):
                    other = _joined("bitand", [a for a in part.args if a is not mask])
                    memory[part] = ex.remainder(ex.substituted(other, memory), size)
    if not memory:
        return loop
    return replace(loop, states=tuple(replace(s, step=_replaced(s.step, memory)) for s in loop.states))


def _replaced(expr: Expr, values: Mapping[Expr, Expr]) -> Expr:
    return ex.substituted(expr, values)


def _folded(state: State, loop: Loop) -> Expr | None:
    """The element that the step folds into the state, by one operation and without other states; None where the step does
    more."""
    step, states = state.step, {s.variable for s in loop.states}
    if step.op not in FOLDS or state.variable not in step.args:
        return None
    others = [a for a in step.args if a is not state.variable]
    if any({*ex.variables(o)} & states for o in others) or not others:
        return None
    return others[0] if len(others) == 1 else _joined(step.op, others)


def _joined(op: Op, parts: Sequence[Expr]) -> Expr:
    found = parts[0]
    for part in parts[1:]:
        found = fold_of(op, found, part)
    return found


def fold_of(op: Op, left: Expr, right: Expr) -> Expr:
    match op:
        case "gcd":
            return ex.greatest_common_divisor(left, right)
        case "bitand" | "bitor" | "bitxor":
            return ex.bitwise(op, left, right)
        case "max":
            return ex.maximum(left, right)
        case _:
            return ex.minimum(left, right)


@dataclass(frozen=True, slots=True)
class _Row:
    """The next value of a state: the sum of factors times states, and an offset, perhaps modulo a number."""

    factors: Mapping[Expr, Expr]
    offset: Expr
    modulus: int | None = None


def _linear(states: Sequence[State], loop: Loop) -> dict[Expr, _Row]:
    """The states that recur linearly among themselves, all modulo the same number."""
    rows: dict[Expr, _Row] = {}
    every = {s.variable for s in loop.states}
    for state in states:
        if state.variable.sort.is_numeric and not state.variable.sort.is_infinite:
            row = _row(state.step, every)
            if row is not None:
                rows[state.variable] = row
    for modulus in sorted({r.modulus for r in rows.values()}, key=lambda m: (m is None, m or 0)):
        kept = {v: r for v, r in rows.items() if r.modulus == modulus}
        while any(not {*r.factors} <= kept.keys() for r in kept.values()):
            kept = {v: r for v, r in kept.items() if {*r.factors} <= kept.keys()}
        if len(kept) > 1 or (kept and modulus is not None):
            return kept
    return {}


def _row(step: Expr, states: set[Expr]) -> _Row | None:
    modulus = int(str(step.value)) if step.op == "mod" else None
    found = affine(step.args[0] if modulus else step, states)
    if found is None:
        return None
    offset = found.pop(None, ex.ZERO)
    if modulus is not None:
        found = {v: ex.remainder(f, modulus) for v, f in found.items()}
        offset = ex.remainder(offset, modulus)
    return _Row({v: f for v, f in found.items() if v is not None and f is not ex.ZERO}, offset, modulus)


def affine(expr: Expr, states: set[Expr]) -> dict[Expr | None, Expr] | None:
    """Factors of the states and, under None, the offset; None: it is not affine."""
    if not {*ex.variables(expr)} & states:
        return {None: expr}
    if expr in states:
        return {expr: ex.ONE}
    if expr.op == "ite" and not {*ex.variables(expr.args[0])} & states:
        then, other = affine(expr.args[1], states), affine(expr.args[2], states)
        if then is None or other is None:
            return None
        return {k: ex.select(expr.args[0], then.get(k, ex.ZERO), other.get(k, ex.ZERO)) for k in {**then, **other}}
    if expr.op != "poly":
        return None
    total: dict[Expr | None, Expr] = {}
    for coefficient, monomial in expr.terms:
        carried = [a for a in monomial if {*ex.variables(a)} & states]
        factor = ex.constant(coefficient)
        for atom in monomial:
            factor = factor if atom in carried else ex.multiply(factor, atom)
        inner = {None: ex.ONE} if not carried else affine(carried[0], states) if len(carried) == 1 else None
        if inner is None:
            return None
        for key, value in inner.items():
            total[key] = ex.add(total.get(key, ex.ZERO), ex.multiply(factor, value))
    return total


class _Made:
    """A closure that is put together."""

    def __init__(self, style: Style) -> None:
        self._style: Style = style
        self._slots: list[Expr] = []
        self._transformers: dict[Expr, Expr] = {}
        self._lift: dict[Expr, Expr] = {}
        self._operator: dict[Expr, Expr] = {}

    def _slot(self, sort: Sort) -> Expr:
        slot = ex.variable(f"q{len(self._slots) + 1}", replace(sort, values=None))
        self._slots.append(slot)
        if len(self._slots) > MAX_SLOTS:
            raise FormError("too many auxiliary values")
        return slot

    def fold(self, state: Expr, op: Op, element: Expr) -> None:
        slot = self._slot(element.sort)
        self._transformers[state] = fold_of(op, state, slot)
        self._lift[slot] = element
        self._operator[slot] = fold_of(op, slot, right(slot))

    def bit_map(self, state: Expr, found: BitMap) -> None:
        offset = self._slot(state.sort)
        power = None if found.is_plain else self._slot(Sort("int", bits=len(found.places)))
        self._lift[offset] = found.offset
        if power is None:
            self._transformers[state] = ex.bitwise("bitxor", state, offset)
            self._operator[offset] = ex.bitwise("bitxor", offset, right(offset))
            return
        self._lift[power] = ex.constant(found.power)
        self._transformers[state] = ex.bitwise("bitxor", found.applied(power, state), offset)
        self._operator[offset] = ex.bitwise("bitxor", found.applied(right(power), offset), right(offset))
        self._operator[power] = found.product(right(power), power)

    def matrix(self, rows: Mapping[Expr, _Row]) -> None:
        reach = reached({i: {*row.factors} for i, row in rows.items()})
        factors = {(i, j): self._slot(_sort(rows, [i, j])) for i in rows for j in rows if j in reach[i]}
        offsets = {i: self._slot(_sort(rows, [i])) for i in rows}
        for i, row in rows.items():

            def reduced(value: Expr, modulus: int | None = row.modulus) -> Expr:
                return value if modulus is None else ex.remainder(value, modulus)

            own = [j for j in rows if (i, j) in factors]
            self._transformers[i] = reduced(ex.add(offsets[i], *(ex.multiply(factors[i, j], j) for j in own)))
            self._lift[offsets[i]] = row.offset
            first = (ex.multiply(right(factors[i, j]), offsets[j]) for j in own)
            self._operator[offsets[i]] = reduced(ex.add(right(offsets[i]), *first))
            for j in own:
                self._lift[factors[i, j]] = row.factors.get(j, ex.ZERO)
                paths = (ex.multiply(right(factors[i, k]), factors[k, j]) for k in own if (k, j) in factors)
                self._operator[factors[i, j]] = reduced(ex.add(*paths))

    def add(self, other: Closure) -> None:
        self._slots += other.slots
        self._transformers |= other.transformers
        self._lift |= other.lift
        self._operator |= other.operator

    def closure(self, states: Iterable[Expr]) -> Closure:
        transformers = {v: self._transformers[v] for v in states}
        return Closure(tuple(self._slots), transformers, self._lift, self._operator, self._style)


def _sort(rows: Mapping[Expr, _Row], variables: Sequence[Expr]) -> Sort:
    every = [e for row in rows.values() for e in (*row.factors.values(), row.offset)]
    is_real = any(e.sort.base == "real" for e in (*variables, *every))
    return ex.REAL if is_real else ex.INT


def reached(near: Mapping[Expr, set[Expr]]) -> dict[Expr, set[Expr]]:
    """The states that a state depends on after any number of steps, of those that it depends on after one."""
    reach = dict(near)
    while True:
        wider = {i: seen.union(*(reach[j] for j in seen)) for i, seen in reach.items()}
        if wider == reach:
            return reach
        reach = wider


__all__ = ["affine", "in_parts", "masked", "reached"]
