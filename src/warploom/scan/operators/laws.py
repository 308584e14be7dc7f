"""The laws that must hold for an operator to compute the loop, for all inputs and all lengths.

With T the family's functions of the states, p, q, r slots of lists, I what is known of all slots:

- base: T(s; lift(e)) = step(s, e)
- composition: T(T(s; p); q) = T(s; op(p, q)), so T(s; slots of a list) is the loop on that list, for any bracketing
- kept: I(lift(e)); I(p) and I(q) imply I(op(p, q))
- widths: slots and states of a known number of bits have no more
- associativity: op(op(p, q), r) = op(p, op(q, r)); identity: op(i, p) = p = op(p, i), op(i, i) = i

Associativity and identity make h(x ++ y) = op(h(x), h(y)) an induction on the length; base and composition make the results of h
the loop's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from warploom.scan.operators import expression as ex
from warploom.scan.operators.bits import equal_bits, fits, has_bits
from warploom.scan.operators.cases import equal_by_cases
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.family import Family
from warploom.scan.operators.products import equal_over_products, has_products
from warploom.scan.operators.prover import (
    RLIMIT,
    Bindings,
    Fails,
    Holds,
    Number,
    Open,
    Translator,
    UntranslatableError,
    Verdict,
    decide,
)
from warploom.solve import Handle

Equation = tuple[Expr, Expr]
MOST_ENDLESS = 2
"""Variables that may be infinite, where each is told by cases."""


def third(slot: Expr) -> Expr:
    return ex.variable(f"{slot.value}''", slot.sort)


@dataclass(frozen=True, slots=True)
class Law:
    """One law and whether it holds."""

    name: str
    verdict: Verdict


def base(family: Family, states: Sequence[Order] = ()) -> Verdict:
    """`states` hold of the states that the loop reaches."""

    def claims(t: Translator) -> list[tuple[Number, Number]]:
        lifted = t.bound(family.lift)
        return [(t.number(e, lifted), t.number(_step(family, v))) for v, e in family.transformers.items()]

    plain = [(ex.substituted, e, family.lift, _step(family, v)) for v, e in family.transformers.items()]
    exact = [(lambda e=e, m=m: ex.substituted(e, m), s) for _, e, m, s in plain]
    return _decided(family, exact, claims, family.loop.assumed, [*family.loop.fields], orders=states)


def _step(family: Family, state: Expr) -> Expr:
    return next(s.step for s in family.loop.states if s.variable is state)


Order = tuple[Expr, Expr]
"""The first is at least the second, of infinite values, too."""


def ordered(t: Translator, order: Order, bindings: Bindings | None = None) -> Handle:
    """The order as a maximum, which infinities have, too."""
    greater, lesser = order
    return t.equal(t.number(ex.maximum(greater, lesser), bindings), t.number(greater, bindings))


def renamed(orders: Sequence[Order], names: Mapping[Expr, Expr]) -> list[Order]:
    return [(names.get(a, a), names.get(b, b)) for a, b in orders]


def kept_orders(family: Family, orders: Sequence[Order]) -> list[Order]:
    """The orders of slots that hold for every list."""
    others = {s: right(s) for s in family.slots}
    found = [*orders]
    while found:
        t = Translator()
        try:
            lifted, joined = t.bound(family.lift), t.bound(family.operator)
            assumed = [t.condition(a) for a in family.loop.assumed]
            given = [ordered(t, o) for o in (*found, *renamed(found, others))]
            held = [
                o
                for o in found
                if isinstance(decide(t, assumed, [ordered(t, o, lifted)], []), Holds)
                and isinstance(decide(t, given, [ordered(t, o, joined)], []), Holds)
            ]
        except UntranslatableError:
            return []
        if len(held) == len(found):
            return found
        found = held
    return []


def composition(
    family: Family, known: Sequence[Expr], rlimit: int = RLIMIT, orders: Sequence[Order] = (), states: Sequence[Order] = ()
) -> Verdict:
    """`orders` hold of the slots, `states` of the states."""
    others = {s: right(s) for s in family.slots}
    second = {v: ex.substituted(e, others) for v, e in family.transformers.items()}

    def claims(t: Translator) -> list[tuple[Number, Number]]:
        between, joined = t.bound(family.transformers), t.bound(family.operator)
        memory: dict[Expr, Number] = {}
        return [(t.number(second[v], between), t.number(e, joined, memory)) for v, e in family.transformers.items()]

    exact = [
        (lambda v=v: ex.substituted(second[v], family.transformers), lambda e=e: ex.substituted(e, family.operator))
        for v, e in family.transformers.items()
    ]
    every = [*orders, *renamed(orders, others), *states]
    return _decided(family, exact, claims, [*known, *(ex.substituted(k, others) for k in known)], [], rlimit, every)


def widths(family: Family) -> Verdict:
    """Whether states and slots are of the bits that their sorts say."""
    loop = family.loop
    claimed = [(v, e) for s in loop.states for v, e in ((s.variable, s.initial), (s.variable, s.step))]
    claimed += [(s, e) for s in family.slots for e in (family.lift[s], family.operator[s])]
    failed = [v for v, e in claimed if v.sort.bits is not None and not fits(e, v.sort.bits)]
    return Open(f"the bits of {failed[0].value}") if failed else Holds()


def kept(family: Family, known: Sequence[Expr], claimed: Sequence[Expr]) -> Verdict:
    """Whether what is known of two lists gives what is claimed of their concatenation."""
    t = Translator()
    others = {s: right(s) for s in family.slots}
    try:
        joined = t.bound(family.operator)
        given = [t.condition(k) for k in (*known, *(ex.substituted(k, others) for k in known))]
        memory: dict[Expr, Number] = {}
        claims = [t.condition(c, joined, memory) for c in claimed]
        return decide(t, given, claims, [*family.slots, *others.values(), *family.loop.constants])
    except UntranslatableError as error:
        return Open(str(error))


def met_by_elements(family: Family, claimed: Sequence[Expr]) -> Verdict:
    """Whether it holds of every element."""
    t = Translator()
    try:
        lifted = t.bound(family.lift)
        given = [t.condition(a) for a in family.loop.assumed]
        return decide(t, given, [t.condition(c, lifted) for c in claimed], [*family.loop.fields, *family.loop.constants])
    except UntranslatableError as error:
        return Open(str(error))


def associativity(
    slots: Sequence[Expr],
    operator: Mapping[Expr, Expr],
    known: Sequence[Expr],
    width: int | None = None,
    rlimit: int = RLIMIT,
    orders: Sequence[Order] = (),
) -> Verdict:
    """The law of associativity over the slots of three lists; with `width`, in words of so many bits."""
    to_right = {s: right(s) for s in slots}
    to_middle = {**to_right, **{right(s): third(s) for s in slots}}
    later = {s: ex.substituted(operator[s], to_middle) for s in slots}
    first = {s: operator[s] for s in slots}

    def claims(t: Translator) -> list[tuple[Number, Number]]:
        outer_left = {**t.bound(first), **{right(s): t.number(third(s)) for s in slots}}
        behind = t.bound(later)
        outer_right = {right(s): behind[s] for s in slots}
        a: dict[Expr, Number] = {}
        b: dict[Expr, Number] = {}
        return [(t.number(operator[s], outer_left, a), t.number(operator[s], outer_right, b)) for s in slots]

    left_values = {**first, **{right(s): third(s) for s in slots}}
    right_values = {right(s): later[s] for s in slots}
    exact = [
        (lambda s=s: ex.substituted(operator[s], left_values), lambda s=s: ex.substituted(operator[s], right_values))
        for s in slots
    ]
    given = [
        *known,
        *(ex.substituted(k, to_right) for k in known),
        *(ex.substituted(k, {s: third(s) for s in slots}) for k in known),
    ]
    asked = [v for s in slots for v in (s, right(s), third(s))]
    every = [*orders, *renamed(orders, to_right), *renamed(orders, {s: third(s) for s in slots})]
    return decided(slots, exact, claims, given, asked, width, rlimit, every)


def identity(slots: Sequence[Expr], operator: Mapping[Expr, Expr], known: Sequence[Expr], value: Mapping[Expr, Expr]) -> Verdict:
    """Whether `value` on either side changes nothing: no value of which `known` holds, and not itself."""

    def claims(t: Translator) -> list[tuple[Number, Number]]:
        neutral = t.bound(value)
        own = {s: t.number(s) for s in slots}
        on_left = {**neutral, **{right(s): own[s] for s in slots}}
        on_right = {**own, **{right(s): neutral[s] for s in slots}}
        on_both = {**neutral, **{right(s): neutral[s] for s in slots}}
        found = [(t.number(operator[s], side), own[s]) for side in (on_left, on_right) for s in slots]
        return found + [(t.number(operator[s], on_both), neutral[s]) for s in slots]

    sides: list[Mapping[Expr, Expr]] = [value, {right(s): v for s, v in value.items()}]
    both = {**sides[0], **sides[1]}
    alone = {right(s): s for s in slots}
    exact = [(lambda s=s, v=v: ex.substituted(ex.substituted(operator[s], v), alone), s) for v in sides for s in slots]
    exact += [(lambda s=s: ex.substituted(operator[s], both), value[s]) for s in slots]
    return decided(slots, exact, claims, known, slots, None)


Exact = Sequence[tuple[Callable[[], Expr], "Callable[[], Expr] | Expr"]]


def _decided(
    family: Family,
    exact: Exact,
    claims: Callable[[Translator], list[tuple[Number, Number]]],
    given: Iterable[Expr],
    asked: Sequence[Expr],
    rlimit: int = RLIMIT,
    orders: Sequence[Order] = (),
) -> Verdict:
    states = [*family.transformers]
    return decided([*family.slots, *states], exact, claims, given, [*asked, *family.slots, *states], None, rlimit, orders)


def decided(
    variables: Sequence[Expr],
    exact: Exact,
    claims: Callable[[Translator], list[tuple[Number, Number]]],
    given: Iterable[Expr],
    asked: Sequence[Expr],
    width: int | None,
    rlimit: int = RLIMIT,
    orders: Sequence[Order] = (),
) -> Verdict:
    """Decides the laws by canonical forms where nothing can be infinite, else by z3 law by law, else by cases and canonical
    forms."""
    assumed = list(given)
    finite = width is None and not any(v.sort.is_infinite for v in variables)
    settled: set[int] = set()
    sides: list[tuple[Expr, Expr]] = []
    if finite and exact:
        try:
            sides = [(a(), b() if callable(b) else b) for a, b in exact]
            settled = {n for n, (a, b) in enumerate(sides) if a is b}
            if len(settled) == len(sides):
                return Holds()
        except ex.UndefinedError:
            sides, settled = [], set()
    if sides and has_bits(*(e for pair in sides for e in pair)):
        settled |= {n for n, (a, b) in enumerate(sides) if n not in settled and equal_bits(a, b)}
        if len(settled) == len(sides):
            return Holds()
    if sides and has_products(*(e for pair in sides for e in pair)):
        settled |= {n for n, (a, b) in enumerate(sides) if n not in settled and equal_over_products(a, b, assumed)}
        if len(settled) == len(sides):
            return Holds()
    if width is None and not finite and exact and _equal_with_powers(exact, variables, assumed):
        return Holds()
    t = Translator(width)
    try:
        pairs = claims(t)
        conditions = [*(t.condition(g) for g in assumed), *(ordered(t, o) for o in orders)]
    except UntranslatableError as error:
        return _by_cases(sides, settled, assumed, str(error))
    for number, (a, b) in enumerate(pairs):
        if number in settled:
            continue
        verdict = decide(t, conditions, [t.equal(a, b)], asked, rlimit)
        if isinstance(verdict, Open) and number < len(sides):
            verdict = _by_cases(sides[number : number + 1], set(), assumed, verdict.reason)
        if not isinstance(verdict, Holds):
            return verdict
    return Holds()


def _equal_with_powers(exact: Exact, variables: Sequence[Expr], given: Sequence[Expr]) -> bool:
    """Whether sides with powers of e are equal where the variables are finite and where they are minus infinity."""
    endless = [v for v in variables if v.sort.is_infinite]
    if len(endless) > MOST_ENDLESS or any(v.sort.above for v in endless):
        return False
    try:
        sides = [(a(), b() if callable(b) else b) for a, b in exact]
        return any(e.op == "exp" for e in ex.subexpressions(*(e for pair in sides for e in pair))) and all(
            equal_by_cases(ex.substituted(a, values), ex.substituted(b, values), [ex.substituted(g, values) for g in given])
            for values in _finite_or_not(endless)
            for a, b in sides
        )
    except ex.UndefinedError:
        return False


def _finite_or_not(endless: Sequence[Expr]) -> Iterator[dict[Expr, Expr]]:
    """Each variable as minus infinity, and as a finite one."""
    for chosen in product((False, True), repeat=len(endless)):
        yield {
            v: ex.MINUS_INFINITY if below else ex.variable(str(v.value), Sort(v.sort.base))
            for v, below in zip(endless, chosen, strict=True)
        }


def _by_cases(sides: Sequence[tuple[Expr, Expr]], settled: set[int], given: Sequence[Expr], reason: str) -> Verdict:
    if not sides:
        return Open(reason)
    for number, (a, b) in enumerate(sides):
        if number not in settled and not equal_by_cases(a, b, given):
            return Open(reason)
    return Holds()


__all__ = [
    "Fails",
    "Holds",
    "Law",
    "Open",
    "associativity",
    "base",
    "composition",
    "identity",
    "kept",
    "met_by_elements",
    "widths",
]
