"""States of a known number of bits that recur linearly over single bits: CRCs, shift registers, xorshift, rotations.

    s = M s ^ b(e)

The maps of lists are `s -> q(N) s ^ b`: a polynomial q in one map N, of which M is a polynomial, as the bits of one word, and a
word b. N is multiplication by x modulo a polynomial (CRCs, in either order of bits), else M itself, and q is taken modulo the
least polynomial that is zero at N. So an operator needs two words, whatever the loop's table is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.bits import columns_of, fits
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.transition import Loop, State

MOST_BITS = 64


def narrowed(loop: Loop) -> Loop:
    """The loop with elements and states that are known to be whole numbers of so many bits."""
    loop = _narrow_elements(loop)
    while True:
        for number, state in enumerate(loop.states):
            found = _narrow(loop, state)
            if found is not None:
                renamed = {state.variable: found}
                states = [replace(s, step=ex.substituted(s.step, renamed)) for s in loop.states]
                states[number] = replace(states[number], variable=found)
                outputs = tuple(ex.substituted(o, renamed) for o in loop.outputs)
                loop = replace(loop, states=tuple(states), outputs=outputs)
                break
        else:
            return loop


def _narrow_elements(loop: Loop) -> Loop:
    """Elements of which assertions say so."""
    renamed: dict[Expr, Expr] = {}
    for field in (f for f in loop.fields if f.sort == ex.INT and ex.at_least(f, ex.ZERO) in loop.assumed):
        below = [n for n in range(1, MOST_BITS + 1) if ex.at_least(ex.constant((1 << n) - 1), field) in loop.assumed]
        if below:
            renamed[field] = ex.variable(str(field.value), Sort("int", bits=below[0]))
    if not renamed:
        return loop
    return replace(
        loop,
        fields=tuple(renamed.get(f, f) for f in loop.fields),
        states=tuple(replace(s, step=ex.substituted(s.step, renamed)) for s in loop.states),
        assumed=tuple(ex.substituted(a, renamed) for a in loop.assumed),
        unannotated=tuple(renamed.get(f, f) for f in loop.unannotated),
    )


def _narrow(loop: Loop, state: State) -> Expr | None:
    """The variable of the fewest bits that every step keeps."""
    variable, first = state.variable, state.initial.value
    if variable.sort != ex.INT or state.initial.op != "const" or type(first) is not int or first < 0:
        return None
    every = ex.subexpressions(state.step)
    if not any(e.op in ("bitand", "bitor", "bitxor") and variable in ex.variables(e) for e in every):
        return None
    numbers = {int(e.value).bit_length() for e in every if e.op == "const" and type(e.value) is int and e.value > 0}
    numbers |= {int(e.value).bit_length() - 1 for e in every if e.op == "mod" and type(e.value) is int}
    for bits in sorted(n for n in {first.bit_length(), *numbers} if max(first.bit_length(), 1) <= n <= MOST_BITS):
        narrow = ex.variable(str(variable.value), Sort("int", bits=bits))
        if fits(ex.substituted(state.step, {variable: narrow}), bits):
            return narrow
    return None


@dataclass(frozen=True, slots=True)
class BitMap:
    """The step of one state as `M s ^ offset`, with M = power(N)."""

    offset: Expr
    power: int
    """M as a polynomial in N; bit `places[i]` is the coefficient of N to the i."""
    unit: int
    places: Sequence[int]
    times: Callable[[Expr], Expr]
    """N of a state."""
    shift: Callable[[Expr], Expr]
    """N of a polynomial."""

    @property
    def is_plain(self) -> bool:
        return self.power == self.unit

    def applied(self, polynomial: Expr, value: Expr) -> Expr:
        """The polynomial at N, applied to the value."""
        return self._horner(polynomial, value, self.times)

    def product(self, left: Expr, right: Expr) -> Expr:
        return self._horner(left, right, self.shift)

    def _horner(self, polynomial: Expr, value: Expr, times: Callable[[Expr], Expr]) -> Expr:
        total = ex.ZERO
        for place in reversed(self.places):
            own = ex.select(_has(polynomial, place), value, ex.ZERO)
            total = ex.bitwise("bitxor", times(total), own)
        return total


def bit_map(state: State, loop: Loop) -> BitMap | None:
    """None where the state does not recur so, by itself."""
    variable, bits = state.variable, state.variable.sort.bits
    if bits is None or bits < 2:
        return None
    others = {s.variable for s in loop.states} - {variable}
    if {*ex.variables(state.step)} & others or any(f.sort.base == "text" for f in loop.fields):
        return None
    columns = columns_of(state.step, variable)
    if columns is None:
        return None
    offset = ex.substituted(state.step, {variable: ex.ZERO})
    identity = [1 << n for n in range(bits)]
    if columns == identity:
        return BitMap(offset, 1, 1, (0,), lambda r: r, lambda r: r)
    found = _left(columns, bits)
    if found is not None:
        times = _doubled(bits, found)
        return BitMap(offset, columns[0], 1, range(bits), times, times)
    found = _right(columns, bits)
    if found is not None:
        times = _halved(found)
        top = 1 << (bits - 1)
        return BitMap(offset, columns[bits - 1], top, range(bits - 1, -1, -1), times, times)
    return _general(state, loop, columns, offset)


def _has(value: Expr, place: int) -> Expr:
    return ex.at_least(ex.bitwise("bitand", value, ex.constant(1 << place)), ex.ONE)


def _doubled(bits: int, polynomial: int) -> Callable[[Expr], Expr]:
    """Multiplication by x, where bit n is the coefficient of x to the n."""
    half, mask = ex.constant(1 << (bits - 1)), ex.constant((1 << bits) - 1)

    def times(value: Expr) -> Expr:
        double = ex.bitwise("bitand", ex.multiply(ex.constant(2), value), mask)
        return ex.bitwise("bitxor", double, ex.select(ex.at_least(value, half), ex.constant(polynomial), ex.ZERO))

    return times


def _halved(polynomial: int) -> Callable[[Expr], Expr]:
    """Multiplication by x, where the highest bit is the coefficient of 1."""

    def times(value: Expr) -> Expr:
        return ex.bitwise("bitxor", ex.floor_quotient(value, 2), ex.select(_has(value, 0), ex.constant(polynomial), ex.ZERO))

    return times


def _applied(columns: Sequence[int], value: int) -> int:
    total = 0
    for place, column in enumerate(columns):
        if value >> place & 1:
            total ^= column
    return total


def _composed(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    return [_applied(outer, c) for c in inner]


def _left(columns: Sequence[int], bits: int) -> int | None:
    """The polynomial modulo which the map is multiplication by a number."""
    mask = (1 << bits) - 1
    for place in range(bits - 1):
        if columns[place] >> (bits - 1):
            polynomial = (columns[place] << 1 & mask) ^ columns[place + 1]
            shift = [1 << (n + 1) for n in range(bits - 1)] + [polynomial]
            return polynomial if _composed(shift, columns) == _composed(columns, shift) else None
    return None


def _right(columns: Sequence[int], bits: int) -> int | None:
    for place in range(bits - 1, 0, -1):
        if columns[place] & 1:
            polynomial = (columns[place] >> 1) ^ columns[place - 1]
            shift = [polynomial] + [1 << n for n in range(bits - 1)]
            return polynomial if _composed(shift, columns) == _composed(columns, shift) else None
    return None


def _general(state: State, loop: Loop, columns: Sequence[int], offset: Expr) -> BitMap | None:
    zeros = {f: ex.FALSE if f.sort.base == "bool" else ex.ZERO for f in loop.fields}

    def times(value: Expr) -> Expr:
        moved = ex.substituted(state.step, {state.variable: value, **zeros})
        return ex.bitwise("bitxor", moved, ex.substituted(offset, zeros))

    degree, polynomial = _least_polynomial(columns)
    if degree < 2:
        return None
    return BitMap(offset, 2, 1, range(degree), times, _doubled(degree, polynomial))


def _least_polynomial(columns: Sequence[int]) -> tuple[int, int]:
    """Degree of the least polynomial that is zero at the map, and its lower coefficients."""
    bits = len(columns)
    power = [1 << n for n in range(bits)]
    known: dict[int, tuple[int, int]] = {}
    degree = 0
    while True:
        vector = sum(c << (bits * n) for n, c in enumerate(power))
        terms = 1 << degree
        while vector and vector.bit_length() in known:
            other, joined = known[vector.bit_length()]
            vector ^= other
            terms ^= joined
        if not vector:
            return degree, terms ^ (1 << degree)
        known[vector.bit_length()] = vector, terms
        power = _composed(columns, power)
        degree += 1


__all__ = ["BitMap", "bit_map", "narrowed"]
