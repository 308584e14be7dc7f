"""Names for slots: a state that the slot equals, or what it says of the list, as random lists show; only names rest on this."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.family import Family, observations
from warploom.scan.operators.printing import RESERVED, compiled
from warploom.scan.operators.samples import Element, constant_values


def names(family: Family) -> dict[Expr, str]:
    """Distinct names, by slot."""
    seen = observations(family, seed=3)
    fixed = constant_values(family.loop, 3)
    states = family.loop.states
    start = compiled(family.loop.constants, [s.initial for s in states])(*fixed)
    step = compiled([*(s.variable for s in states), *family.loop.fields, *family.loop.constants], [s.step for s in states])
    finals: list[tuple[Value, ...]] = []
    for observation in seen:
        now = start
        for element in observation.elements:
            now = step(*now, *element, *fixed)
        finals.append(now)
    described = _descriptions(family, [o.elements for o in seen])
    taken = {*RESERVED, *(str(c.value) for c in family.loop.constants)}
    result: dict[Expr, str] = {}
    for number, slot in enumerate(family.slots):
        column = [o.values[number] for o in seen]
        options = [s.name for n, s in enumerate(states) if _same(column, [f[n] for f in finals])]
        options += [name for name, values in described if _same(column, values)]
        name = next((o for o in options if o not in taken), None)
        if name is not None:
            taken.add(name)
            result[slot] = name
    spare = 0
    for slot in family.slots:
        if slot not in result:
            spare += 1
            while f"aux{spare}" in taken:
                spare += 1
            result[slot] = f"aux{spare}"
            taken.add(result[slot])
    return {s: result[s] for s in family.slots}


def _same(left: Sequence[Value], right: Sequence[Value]) -> bool:
    return all(a == b and isinstance(a, bool) == isinstance(b, bool) for a, b in zip(left, right, strict=True))


def _descriptions(family: Family, lists: Sequence[Sequence[Element]]) -> list[tuple[str, list[Value]]]:
    """Descriptions of values often kept of a list, with the value for each."""
    lists = [x[::-1] for x in lists] if family.loop.is_backward else lists
    found: list[tuple[str, list[Value]]] = [("length", [len(x) for x in lists])]
    for position, field in enumerate(family.loop.fields):
        columns = [[e[position] for e in x] for x in lists]
        found += [(f"first_{field.value}", [c[0] for c in columns]), (f"last_{field.value}", [c[-1] for c in columns])]
        if not field.sort.is_numeric:
            continue
        numbers = [[Fraction(v) for v in c] for c in columns]  # type: ignore[arg-type]
        described: list[tuple[str, Sequence[Value]]] = [
            (f"sum_{field.value}", [sum(c) for c in numbers]),
            (f"max_{field.value}", [max(c) for c in numbers]),
            (f"min_{field.value}", [min(c) for c in numbers]),
            (f"best_prefix_{field.value}", [max(sum(c[:n]) for n in range(1, len(c) + 1)) for c in numbers]),
            (f"best_suffix_{field.value}", [max(sum(c[n:]) for n in range(len(c))) for c in numbers]),
            (f"least_prefix_{field.value}", [min(sum(c[:n]) for n in range(1, len(c) + 1)) for c in numbers]),
            (f"best_suffix_{field.value}", [max(sum(c[n:]) for n in range(len(c) + 1)) for c in numbers]),
            (f"best_prefix_{field.value}", [max(sum(c[:n]) for n in range(len(c) + 1)) for c in numbers]),
        ]
        found.extend((name, [*values]) for name, values in described)
    return found
