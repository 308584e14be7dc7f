"""Sums of products of bytes of one type, whose machine multiplies signed by unsigned ones: what is to be taken away from them.

    a b = (a + 128) b - 128 b  for signed bytes,   a b = a (b - 128) + 128 a  for unsigned ones

The surplus of a sum is one of a single factor. So one register of surpluses serves all rows of results that are made with the
same vector of factors, and it is taken away where a total is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warploom.core import i8x4, u8x4
from warploom.core.linear import Linear
from warploom.schedule.backbone import Operator
from warploom.schedule.cpu.affine import Indices
from warploom.schedule.nest import Compute, Kind, Loop, Nest, Ref, Statement, Value, loops, references, statements


@dataclass(frozen=True, slots=True)
class Surplus:
    number: int
    """The value that holds it, behind those of the nest."""
    value: Value
    factor: int
    """Position of the factor whose surplus it is, among the arguments of the sum."""
    shared: frozenset[int]
    """Register axes of the sum along which all have the same surplus."""

    def ref(self, total: Ref) -> Ref:
        return Ref(self.number, tuple(Linear() if n in self.shared else at for n, at in enumerate(total.at)))

    def is_first(self, total: Ref, indices: Indices) -> bool:
        """Whether this is the first of those that share it."""
        places = (indices.place(total.at[n]) for n in self.shared)
        return all(not p.constant and not p.terms and not p.inner for p in places)


def surpluses(nest: Nest) -> dict[int, Surplus]:
    """By the value of the sum; none for sums whose registers are not all known as the text is printed."""
    every = list(statements(nest.body))
    found: dict[int, Surplus] = {}
    for statement, path in every:
        if isinstance(statement, Compute) and statement.operator is Operator.FMA and not statement.guards:
            factor = _factor(nest, statement, path)
            if factor is not None and _is_plain_sum(nest, every, statement):
                shared = _shared(every, statement, factor)
                total = nest.values[statement.target.value]
                made = Surplus(len(nest.values) + len(found), replace(total, name=f"more_{total.name}"), factor, shared)
                found[statement.target.value] = made
    return found


def _is_plain_sum(nest: Nest, every: Sequence[tuple[Statement, tuple[Loop, ...]]], sum_: Compute) -> bool:
    """Nothing but its start and this statement writes it, and unrolled loops and lanes alone select its registers."""
    kinds = {x.number: x.kind for x in loops(nest.body)}
    for statement, _ in every:
        read, written = references(statement)
        is_start = isinstance(statement, Compute) and statement.operator is Operator.MOVE and not statement.guards
        if statement is not sum_ and not is_start and any(r.value == sum_.target.value for r in written):
            return False
        selecting = {n for r in (*read, *written) if r.value == sum_.target.value for at in r.at for n, _ in at.terms}
        if any(kinds[n] not in (Kind.UNROLL, Kind.VECTOR) for n in selecting):
            return False
    return True


def _shared(every: Sequence[tuple[Statement, tuple[Loop, ...]]], sum_: Compute, factor: int) -> frozenset[int]:
    """Register axes of the sum along which the factor stays: neither selected by their loops nor made inside of them."""
    ref = sum_.arguments[factor]
    assert isinstance(ref, Ref)
    moves = {n for at in ref.at for n, _ in at.terms}
    for statement, path in every:
        if any(r.value == ref.value for r in references(statement)[1]):
            moves |= {x.number for x in path}
    axes = enumerate(sum_.target.at)
    return frozenset(n for n, at in axes if at.terms and not moves.intersection(m for m, _ in at.terms))


def _factor(nest: Nest, statement: Compute, path: tuple[Loop, ...]) -> int | None:
    """The last factor that is a vector along the lanes of the sum."""
    if not path or path[-1].kind is not Kind.VECTOR or statement.arguments[2] != statement.target:
        return None
    factors = [a for a in statement.arguments[:2] if isinstance(a, Ref)]
    kinds = {nest.values[a.value].dtype for a in factors}
    if len(factors) != 2 or len(kinds) != 1 or not kinds <= {i8x4, u8x4}:
        return None
    whole = [n for n, ref in enumerate((*factors, statement.target)) if _is_whole(nest, ref, path[-1])]
    return max(n for n in whole if n < 2) if 2 in whole and len(whole) > 1 else None


def _is_whole(nest: Nest, ref: Ref, lanes: Loop) -> bool:
    """A register of which the loop does all lanes at once."""
    size, own = lanes.size, Linear(((lanes.number, 1),))
    axes = zip(nest.values[ref.value].axes, ref.at, strict=True)
    return size > 1 and size & (size - 1) == 0 and any(a.is_vector and a.size == size and at == own for a, at in axes)
