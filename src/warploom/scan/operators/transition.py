"""A loop as a transition on named states; states that no result needs, and remainders of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warploom.core import Diagnostic, UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Sort, UndefinedError, Value
from warploom.scan.operators.printing import compiled

_ROUNDS = 12
"""Different divisors of remainders."""


@dataclass(frozen=True, slots=True)
class State:
    """One variable that is carried from element to element."""

    variable: Expr
    initial: Expr
    step: Expr
    """The state's next value, over the states and the element's fields."""

    @property
    def name(self) -> str:
        return str(self.variable.value)


@dataclass(frozen=True, slots=True)
class Loop:
    """A function that folds a list; states in the order of their first assignment."""

    name: str
    file: str
    lists: tuple[str, ...]
    """Names of the parameters that are read element by element, together."""
    fields: tuple[Expr, ...]
    """Fields of one element: one for a list of numbers, more for tuples and for several lists."""
    constants: tuple[Expr, ...]
    """Further parameters: the same for every element."""
    states: tuple[State, ...]
    outputs: tuple[Expr, ...]
    """Outputs over the final states."""
    is_tuple: bool
    """True if the function returns a tuple."""
    is_scan: bool
    assumed: tuple[Expr, ...]
    """Asserted of every element."""
    parameters: tuple[str, ...] = ()
    """All parameters in order."""
    kept: tuple[str, ...] = ()
    """Variables to be kept that no result depends on."""
    unannotated: tuple[Expr, ...] = ()
    """Fields and constants that are taken for integers because nothing says otherwise."""
    rounds: bool = False
    """True if integers become floats, which are exact up to 2**53 only."""
    may_divide_by_zero: bool = False
    needs_element: bool = False
    """True if the function takes no empty list."""
    characters: bool = False
    """True if the elements are the codes of a text's characters."""
    may_miss: bool = False
    """True if the function computes with None for some lists, where it raises."""
    is_backward: bool = False
    """True if the function begins with the last element: its operator is that of the reversed list with its sides exchanged."""


def exact_loop(loop: Loop) -> Callable[[Sequence[Sequence[Value]], Sequence[Value]], object]:
    """The loop as it was read, element by element: a list and constants to the result (of a scan, the last one)."""
    states = [s.variable for s in loop.states]
    start = compiled(list(loop.constants), [s.initial for s in loop.states])
    step = compiled([*states, *loop.fields, *loop.constants], [s.step for s in loop.states])
    output = compiled([*states, *loop.constants], loop.outputs)

    def run(elements: Sequence[Sequence[Value]], constants: Sequence[Value]) -> object:
        values = start(*constants)
        for element in reversed(elements) if loop.is_backward else elements:
            values = step(*values, *element, *constants)
        results = output(*values, *constants)
        return results if loop.is_tuple else results[0]

    return run


def needed(loop: Loop, kept: set[Expr]) -> Loop:
    """The loop without states that neither an output nor one of those to keep depends on."""
    wanted = {v for o in loop.outputs for v in ex.variables(o)} | kept
    while True:
        more = {v for s in loop.states if s.variable in wanted for v in ex.variables(s.step)} | wanted
        if more == wanted:
            break
        wanted = more
    return replace(loop, states=tuple(s for s in loop.states if s.variable in wanted))


MAX_DIVISOR = 256
"""Largest divisor of remainders of states: each is a state of an automaton."""
MAX_TABLE = 48
"""Largest divisor of a state that is a remainder itself: others recur linearly modulo the divisor."""


def with_remainders(loop: Loop) -> Loop:
    """Remainders of states become states of their own, so that they have few values."""
    for _ in range(_ROUNDS):
        known = {s.variable for s in loop.states}
        exprs = [e for s in loop.states for e in (s.step,)] + list(loop.outputs)
        found = [
            (e.args[0], int(str(e.value)))
            for e in ex.subexpressions(*exprs)
            if e.op == "mod" and e.args[0] in known and e.args[0].sort.values is None
        ]
        sums = [
            e
            for e in ex.subexpressions(*exprs)
            if e.op == "mod" and e.args[0].op == "poly" and {*e.args[0].args} & {k for k in known if k.sort.values is None}
        ]
        for total in sums:
            found += [(v, int(str(total.value))) for v in total.args[0].args if v in known and v.sort.values is None]
        found = [(v, n) for v, n in found if n <= MAX_DIVISOR and not (n > MAX_TABLE and _is_reduced(loop, v, n))]
        if not found:
            return loop
        state, divisor = found[0]
        loop = _with_remainder(loop, state, divisor)
    raise UserError(Diagnostic("LOOP_UNSUPPORTED", "expected remainders of few values", fix="Use fewer different divisors."))


def _is_reduced(loop: Loop, state: Expr, divisor: int) -> bool:
    return any(s.variable is state and s.step.op == "mod" and s.step.value == divisor for s in loop.states)


def _with_remainder(loop: Loop, state: Expr, divisor: int) -> Loop:
    rest = ex.variable(f"{state.value}_mod_{divisor}", Sort("int", values=tuple(range(divisor))))

    def reduced(expr: Expr) -> Expr:
        replaced = {
            e: _remainder_of_sum(
                ex.from_polynomial(
                    {tuple(rest if a is state else a for a in m): c for c, m in e.args[0].terms}
                    if e.args[0].op == "poly"
                    else {(rest,): 1}
                ),
                divisor,
            )
            for e in ex.subexpressions(expr)
            if e.op == "mod"
            and e.value == divisor
            and state in ex.variables(e.args[0])
            and (e.args[0] is state or e.args[0].op == "poly")
        }
        return ex.substituted(expr, replaced)

    owner = next(s for s in loop.states if s.variable is state)
    try:
        step = reduced(ex.remainder(owner.step, divisor))
        first = ex.remainder(owner.initial, divisor)
    except UndefinedError as error:
        raise UserError(Diagnostic("UNDEFINED", f"expected a finite number, got {error}", fix="Start from a number.")) from error
    states = [replace(s, step=reduced(s.step)) for s in loop.states]
    return replace(loop, states=(*states, State(rest, first, step)), outputs=tuple(reduced(o) for o in loop.outputs))


def _remainder_of_sum(total: Expr, divisor: int) -> Expr:
    """`total % divisor` by cases of the atoms that have few values."""
    choices = [a for a in total.args if a.op == "ite"] if total.op == "poly" else [total] if total.op == "ite" else []
    if choices:
        test, *sides = choices[0].args
        return ex.select(test, *(_remainder_of_sum(ex.substituted(total, {choices[0]: s}), divisor) for s in sides))
    few = [a for a in ex.variables(total) if a.sort.values is not None]
    if not few:
        return ex.remainder(total, divisor)
    atom = few[0]
    assert atom.sort.values is not None
    result: Expr | None = None
    for value in atom.sort.values:
        case = _remainder_of_sum(ex.substituted(total, {atom: ex.constant(value)}), divisor)
        result = case if result is None else ex.select(ex.at_least(atom, ex.constant(value)), case, result)
    assert result is not None
    return result


def with_numbered_texts(loop: Loop) -> Loop:
    """States that only ever are one of a few literal texts become numbers, so that they have few values."""
    for state in loop.states:
        if state.variable.sort.base != "text":
            continue
        texts = _texts(state.step, state.variable)
        first = _texts(state.initial, state.variable)
        if texts is None or first is None or state.variable in loop.outputs:
            continue
        numbers = {text: n for n, text in enumerate(sorted({*texts, *first}))}
        loop = _numbered(loop, state.variable, numbers)
    return loop


def _texts(expr: Expr, state: Expr) -> set[str] | None:
    """The texts that it can be, besides the state itself; None if there may be others."""
    if expr is state:
        return set()
    if expr.op == "const":
        return {str(expr.value)}
    if expr.op == "ite":
        parts = [_texts(a, state) for a in expr.args[1:]]
        return None if any(p is None for p in parts) else {t for p in parts if p is not None for t in p}
    return None


def _numbered(loop: Loop, state: Expr, numbers: dict[str, int]) -> Loop:
    number = ex.variable(str(state.value), Sort("int", values=tuple(range(len(numbers)))))

    def compared(expr: Expr) -> Expr:
        values: dict[Expr, Expr] = {}
        for part in ex.subexpressions(expr):
            if part.op == "eq" and state in part.args:
                other = part.args[1] if part.args[0] is state else part.args[0]
                known = numbers.get(str(other.value)) if other.op == "const" else None
                values[part] = ex.FALSE if known is None else ex.equal(number, ex.constant(known))
        return ex.substituted(expr, values)

    def leaves(expr: Expr) -> Expr:
        if expr is state:
            return number
        if expr.op == "const":
            return ex.constant(numbers[str(expr.value)])
        return ex.select(expr.args[0], leaves(expr.args[1]), leaves(expr.args[2]))

    mixed = [
        e
        for s in loop.states
        for e in ex.subexpressions(s.step)
        if e.op == "eq" and state in e.args and not any(a.op == "const" for a in e.args)
    ]
    if mixed:
        return loop
    states = [
        State(number, leaves(s.initial), leaves(compared(s.step))) if s.variable is state else replace(s, step=compared(s.step))
        for s in loop.states
    ]
    outputs = tuple(compared(o) for o in loop.outputs)
    is_left = any(state in ex.variables(e) for e in (*(s.step for s in states), *outputs))
    return loop if is_left else replace(loop, states=tuple(states), outputs=outputs)
