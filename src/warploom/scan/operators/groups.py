"""Loops whose states fall into groups that do not depend on each other: each is lifted by itself, and their operators are put
side by side.

    a, b = the greatest two;  low = min(low, x);  n += 1

A state that depends on itself alone, such as a counter, belongs to every group that reads it; its copies are found to be one
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.family import Family
from warploom.scan.operators.transition import Loop

MOST = 4
"""Groups."""


def groups(loop: Loop) -> list[Loop]:
    """The loop of each group, its results the group's states; none where there is one group only, or more than are lifted."""
    reads = {s.variable: {*ex.variables(s.step)} & {o.variable for o in loop.states} for s in loop.states}
    alone = {v for v, read in reads.items() if read <= {v}}
    found: list[set[Expr]] = []
    for variable, read in reads.items():
        own = {variable} | (read - alone)
        if variable in alone:
            own = {variable} if not any(variable in other for v, other in reads.items() if v is not variable) else set[Expr]()
        if own:
            joined = [g for g in found if g & own]
            found = [g for g in found if g not in joined] + [own.union(*joined)]
    whole = [g.union(*(reads[v] for v in g)) for g in found]
    if not 1 < len(whole) <= MOST:
        return []
    parts = [tuple(s for s in loop.states if s.variable in g) for g in whole]
    return [replace(loop, states=p, outputs=tuple(s.variable for s in p), is_tuple=True, kept=()) for p in parts]


def side_by_side(loop: Loop, lifted: Callable[[Loop], Family | None]) -> Family | None:
    """The family of all groups; None where there are no groups, or one of them is not lifted, or only with other states."""
    found: list[Family] = []
    for number, part in enumerate(groups(loop)):
        family = lifted(part)
        if family is None or any(s.variable not in family.transformers for s in part.states):
            return None
        found.append(_renamed(family, f"g{number}"))
    if not found:
        return None
    transformers: Mapping[Expr, Expr] = {v: e for f in reversed(found) for v, e in f.transformers.items()}
    lift = {s: e for f in found for s, e in f.lift.items()}
    operator = {s: e for f in found for s, e in f.operator.items()}
    return Family(loop, tuple(lift), {s.variable: transformers[s.variable] for s in loop.states}, lift, operator)


def _renamed(family: Family, prefix: str) -> Family:
    names = {s: ex.variable(f"{prefix}{s.value}", s.sort) for s in family.slots}
    both = {**names, **{right(s): right(n) for s, n in names.items()}}
    return replace(
        family,
        slots=tuple(names.values()),
        transformers={v: ex.substituted(e, names) for v, e in family.transformers.items()},
        lift={names[s]: e for s, e in family.lift.items()},
        operator={names[s]: ex.substituted(e, both) for s, e in family.operator.items()},
    )


__all__ = ["groups", "side_by_side"]
