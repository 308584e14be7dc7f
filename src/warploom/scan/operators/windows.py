"""Loops that look at the last few elements: peaks, sums of neighbours, second differences.

    w2, w1, w0 = w1, w0, x;  if seen == 2: ... w2, w1, w0 ...  else: seen += 1

From the element on that fills the window, the loop is one over windows, each an element of its own. Its operator is found as for
any loop. A list's value is that operator's value for its own windows, its first elements and its last ones, from which the
windows are made that lie in two lists. What is joined is told by cases of how many elements the two lists have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from warploom.scan.operators import expression as ex
from warploom.scan.operators import modes
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, anything, closure, right
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.steps import simpler
from warploom.scan.operators.transition import Loop, State

FEWEST = 4
"""States of an automaton that thresholds take long to tell."""
MOST = 4
"""Elements before the one at which a window is full."""


def windows(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where no window is kept."""
    seen = _counter(loop)
    if seen is None:
        raise FormError("no window of the last elements")
    kept = _kept(loop, seen)
    if not kept:
        raise FormError("a window that keeps no element")
    window = _Window(loop, seen, kept)
    reason = FormError("no operator of the windows")
    begins: tuple[Start, ...] = (start, "endless")
    for is_simpler in (False, True):
        inner = simpler(window.inner) if is_simpler else window.inner
        if inner is None:
            continue
        for begin in begins:
            try:
                return window.closure(_of(window.inner, inner, closure(inner, style, begin)))
            except (FormError, ex.UndefinedError) as error:
                reason = FormError(str(error))
    raise reason


def automaton_of_pairs(loop: Loop, style: Style, start: Start) -> Closure:
    """States of few values that change by an element and the one before it: is a list bitonic, does a sensor stand still.

    Raises FormError where there are others, or so few that thresholds tell them as quickly.
    """
    name = "seen"
    while any(str(v.value) == name for v in (*loop.fields, *loop.constants, *(s.variable for s in loop.states))):
        name += "_"
    seen = State(ex.variable(name, Sort("int", values=(0, 1))), ex.ZERO, ex.ONE)
    counted = replace(loop, states=(seen, *loop.states))
    window = _Window(counted, seen, {v: at for v, at in _kept(counted, seen).items() if at[0] == 1})
    sizes = [2 if s.variable.sort.base == "bool" else len(s.variable.sort.values or ()) for s in window.rest]
    if not window.kept or 0 in sizes or not FEWEST <= prod(sizes) <= modes.MOST:
        raise FormError("no automaton that looks at the element before")
    found = window.closure(modes.closed(window.inner, style, start, every=True))
    return replace(found, transformers={v: e for v, e in found.transformers.items() if v is not seen.variable})


def _of(loop: Loop, other: Loop, found: Closure) -> Closure:
    """A family of the other loop, of the same states by other variables, as one of the loop."""
    names = {o.variable: s.variable for o, s in zip(other.states, loop.states, strict=True)}
    return replace(found, transformers={names[v]: ex.substituted(e, names) for v, e in found.transformers.items()})


def _counter(loop: Loop) -> State | None:
    """The state that counts elements until the window is full."""
    for state in loop.states:
        values = state.variable.sort.values
        if (
            values is None
            or state.initial is not ex.ZERO
            or not 1 < len(values) <= MOST + 1
            or values != tuple(range(len(values)))
        ):
            continue
        after = [ex.substituted(state.step, {state.variable: ex.constant(v)}) for v in values]
        if after == [ex.constant(min(v + 1, values[-1])) for v in values]:
            return state
    return None


def _kept(loop: Loop, seen: State) -> dict[Expr, tuple[int, Expr]]:
    """States that keep an earlier element: how far back, and which field of it."""
    found: dict[Expr, tuple[int, Expr]] = {}
    while True:
        before = len(found)
        for state in loop.states:
            if state.variable in found or state is seen:
                continue
            if state.step in loop.fields:
                found[state.variable] = 1, state.step
            elif state.step in found:
                back, field = found[state.step]
                found[state.variable] = back + 1, field
        if len(found) == before:
            return found


@dataclass(slots=True)
class _Window:
    loop: Loop
    seen: State
    kept: Mapping[Expr, tuple[int, Expr]]

    @property
    def full(self) -> int:
        """Elements before the first that is looked at with a full window."""
        values = self.seen.variable.sort.values
        assert values is not None
        return values[-1]

    @property
    def rest(self) -> list[State]:
        return [s for s in self.loop.states if s is not self.seen and s.variable not in self.kept]

    @property
    def inner(self) -> Loop:
        """The loop over full windows: what a state kept is a field of its element. Raises FormError."""
        if max(back for back, _ in self.kept.values()) > self.full:
            raise FormError("a window that is not full when it is looked at")
        known: dict[Expr, Expr] = {self.seen.variable: ex.constant(self.full)}
        states = tuple(replace(s, step=ex.substituted(s.step, known)) for s in self.rest)
        return replace(
            self.loop,
            fields=(*self.kept, *self.loop.fields),
            states=states,
            outputs=tuple(s.variable for s in states),
            is_tuple=True,
        )

    def closure(self, inner: Closure) -> Closure:
        """The family of all lists, made from the family of windows."""
        full, fields = self.full, self.loop.fields
        own = tuple(ex.variable(f"w{n}", s.sort) for n, s in enumerate(inner.slots, 1))
        names = dict(zip(inner.slots, own, strict=True))
        inner = _renamed(inner, names)
        count = ex.variable("count", Sort("int", values=tuple(range(1, full + 2))))
        firsts = [[ex.variable(f"first{n}_{f.value}", _plain(f)) for f in fields] for n in range(full)]
        lasts = {v: ex.variable(f"last_{v.value}", _plain(f)) for v, (_, f) in self.kept.items()}
        slots = (count, *(v for e in firsts for v in e), *lasts.values(), *own)
        lists = _Lists(self, inner, count, firsts, lasts)
        free = {s: anything(s.sort) for s in slots}
        lift = free | {count: ex.ONE} | dict(zip(firsts[0], fields, strict=True))
        numbers = range(1, full + 2)
        transformers = _by_cases(count, [lists.moved(n) for n in numbers])
        joined = [_by_cases(right(count), [free | lists.joined(n, m) for m in numbers]) for n in numbers]
        return Closure(slots, transformers, lift, _by_cases(count, joined), inner.style)


def _plain(field: Expr) -> Sort:
    return replace(field.sort, values=None)


def _renamed(inner: Closure, names: Mapping[Expr, Expr]) -> Closure:
    both = {**names, **{right(s): right(n) for s, n in names.items()}}
    return replace(
        inner,
        slots=tuple(names.values()),
        transformers={v: ex.substituted(e, names) for v, e in inner.transformers.items()},
        lift={names[s]: e for s, e in inner.lift.items()},
        operator={names[s]: ex.substituted(e, both) for s, e in inner.operator.items()},
    )


@dataclass(slots=True)
class _Lists:
    """The known part of a list of n elements: every element while n is at most `full`; for a longer list its first and last
    elements and the result of its windows."""

    window: _Window
    inner: Closure
    count: Expr
    firsts: Sequence[Sequence[Expr]]
    lasts: Mapping[Expr, Expr]

    def moved(self, number: int) -> dict[Expr, Expr]:
        """The states after the list."""
        window, loop = self.window, self.window.loop
        now = {s.variable: s.variable for s in loop.states}
        for element in self.firsts[:number]:
            known = {**now, **dict(zip(loop.fields, element, strict=True))}
            now = {s.variable: ex.substituted(s.step, known) for s in loop.states}
        if number > window.full:
            now |= {v: ex.substituted(e, now) for v, e in self.inner.transformers.items()}
            now |= self.lasts
        return now

    def joined(self, number: int, other: int) -> dict[Expr, Expr]:
        """Slots of a list of `number` elements and one of `other`, over those of both."""
        full, kept = self.window.full, self.window.kept
        mirrored = {v: right(v) for e in self.firsts for v in e}
        own = list(self.firsts[:number])
        later = [[mirrored[v] for v in e] for e in self.firsts[:other]]
        values = dict(zip(self.inner.slots, self.inner.slots, strict=True)) if number > full else None
        before = dict(self.lasts) if number > full else None
        for position, element in enumerate(later, number):
            fields = dict(zip(self.window.loop.fields, element, strict=True))
            if position >= full:
                back = before if before is not None else {v: self._back(own, b, f) for v, (b, f) in kept.items()}
                lifted = {s: ex.substituted(e, {**back, **fields}) for s, e in self.inner.lift.items()}
                values = lifted if values is None else self._combined(values, lifted)
                before = {v: fields[f] if b == 1 else self._earlier(back, b, f) for v, (b, f) in kept.items()}
            own.append(element)
        if other > full:
            theirs = {s: right(s) for s in self.inner.slots}
            values = theirs if values is None else self._combined(values, theirs)
            before = {v: right(s) for v, s in self.lasts.items()}
        total = min(number + other, full + 1)
        made = {self.count: ex.constant(total)}
        for first, element in zip(self.firsts, own, strict=False):
            made |= zip(first, element, strict=True)
        if total > full:
            assert values is not None and before is not None
            made |= values
            made |= {self.lasts[v]: e for v, e in before.items()}
        return made

    def _back(self, elements: Sequence[Sequence[Expr]], back: int, field: Expr) -> Expr:
        """A field of the element so far back."""
        return elements[-back][self.window.loop.fields.index(field)]

    def _earlier(self, kept: Mapping[Expr, Expr], back: int, field: Expr) -> Expr:
        """The value that was kept for `field` from `back - 1` elements before; one element later it lies `back` elements
        before."""
        return next(kept[v] for v, at in self.window.kept.items() if at == (back - 1, field))

    def _combined(self, left: Mapping[Expr, Expr], other: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        values = {**left, **{right(s): e for s, e in other.items()}}
        return {s: ex.substituted(e, values) for s, e in self.inner.operator.items()}


def _by_cases(count: Expr, cases: Sequence[Mapping[Expr, Expr]]) -> dict[Expr, Expr]:
    """The values by the value of `count`, 1 and up."""
    made = dict(cases[0])
    for number, case in enumerate(cases[1:], 2):
        at_least = ex.at_least(count, ex.constant(number))
        made = {s: ex.select(at_least, case[s], e) for s, e in made.items()}
    return made


__all__ = ["automaton_of_pairs", "windows"]
