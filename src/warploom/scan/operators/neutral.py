"""The identity of an operator: built slot by slot from a few likely values, checked on random lists, then proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.family import Family, Observation, observations
from warploom.scan.operators.laws import identity
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.prover import Holds
from warploom.scan.operators.samples import constant_values

MAX_TRIES = 20_000
MOST_ASKED = 8
"""Values that fit random lists, of which the law is asked: where so many fail, none is likely to hold."""
_WHOLE: tuple[ex.Op, ...] = ("gcd", "bitand", "bitor", "bitxor", "mod", "floordiv")
"""Operations of whole numbers, which infinities are not."""


def find_identity(family: Family, known: Sequence[Expr], projection: Sequence[Expr]) -> dict[Expr, Expr] | None:
    """Value of the identity by slot, proved to change nothing on either side, with the empty list's results; None if none was
    found.

    `projection`: results over the slots.
    """
    seen = observations(family, seed=2)[:40]
    candidates = [_likely(family, s) for s in family.slots]
    likely = (dict(zip(family.slots, found, strict=True)) for found in _consistent(family, candidates, seen))
    for value in islice((v for v in likely if _gives_initial(family, projection, v)), MOST_ASKED):
        if isinstance(identity(family.slots, family.operator, known, value), Holds):
            return value
    return None


def _likely(family: Family, slot: Expr) -> list[Expr]:
    if slot.sort.base == "bool":
        return [ex.FALSE, ex.TRUE]
    if slot.sort.base == "text":
        return []
    if slot.sort.values is not None:
        return [ex.constant(v) for v in slot.sort.values]
    if slot.sort.bits is not None:
        return [ex.constant(n) for n in (0, 1, 1 << (slot.sort.bits - 1))]
    initial = [s.initial for s in family.loop.states if s.initial.op == "const" and s.initial.sort.is_numeric]
    infinite: list[Expr] = [e for e, may in ((ex.MINUS_INFINITY, slot.sort.below), (ex.INFINITY, slot.sort.above)) if may]
    found = [*infinite, ex.ZERO, ex.ONE, *initial, ex.MINUS_INFINITY, ex.INFINITY]
    if any(e.op in _WHOLE and {slot, right(slot)} & {*ex.variables(e)} for e in ex.subexpressions(*family.operator.values())):
        found = [e for e in (ex.ZERO, ex.constant(-1), ex.ONE, *initial) if e.sort.base == "int" and not e.sort.is_infinite]
    return list(dict.fromkeys(found))


def _consistent(family: Family, candidates: list[list[Expr]], seen: Sequence[Observation]) -> Iterator[tuple[Expr, ...]]:
    """Assignments under which every slot's equations hold on the lists seen, each checked as soon as all it needs is chosen."""
    slots = family.slots
    position = {s: n for n, s in enumerate(slots)}
    mirrored = {right(s): s for s in slots}
    due: list[list[tuple[int, bool]]] = [[] for _ in slots]
    fixed = constant_values(family.loop, 2)
    functions = [compiled([*slots, *mirrored, *family.loop.constants], [family.operator[s]]) for s in slots]
    for number, slot in enumerate(slots):
        used = ex.variables(family.operator[slot])
        left = [position[v] for v in used if v in position]
        behind = [position[mirrored[v]] for v in used if v in mirrored]
        due[max([*left, 0])].append((number, True))
        due[max([*behind, 0])].append((number, False))
    tries = [0]
    chosen: list[Expr] = []

    def fits(level: int) -> bool:
        values: list[Value] = [c.value for c in chosen] + [0] * (len(slots) - len(chosen))
        for number, on_left in due[level]:
            for o in seen:
                arguments = (*values, *o.values) if on_left else (*o.values, *values)
                try:
                    if functions[number](*arguments, *fixed)[0] != o.values[number]:
                        return False
                except (ArithmeticError, ValueError):
                    return False
        return True

    def extend(level: int) -> Iterator[tuple[Expr, ...]]:
        if level == len(slots):
            yield tuple(chosen)
            return
        for candidate in candidates[level]:
            tries[0] += 1
            if tries[0] > MAX_TRIES:
                return
            chosen.append(candidate)
            if fits(level):
                yield from extend(level + 1)
            chosen.pop()

    yield from extend(0)


def _gives_initial(family: Family, projection: Sequence[Expr], value: dict[Expr, Expr]) -> bool:
    """Whether the results of the empty list come out."""
    initial = {s.variable: s.initial for s in family.loop.states}
    try:
        got = [ex.substituted(p, value) for p in projection]
        return all(g is ex.substituted(o, initial) for g, o in zip(got, family.loop.outputs, strict=True))
    except (ex.UndefinedError, ZeroDivisionError):
        return False
