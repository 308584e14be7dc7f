"""A lawful operator for a function of two values: one that computes its serial fold from the left, or one with an identity.

A function that is not associative still has a serial fold, `op(op(op(x0, x1), x2), x3)`. That is a loop; where it lifts, the
operator of the lifting computes it in any grouping. A function that is associative and has no identity gets one by a flag.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, cast

from warploom.core import UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.checking import Checked, Function, is_open_whether_meant, text
from warploom.scan.operators.closure import anything, right
from warploom.scan.operators.exact import exactly
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.laws import Law
from warploom.scan.operators.lifting import Lifting, can_round, lift, tested
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.prover import Holds
from warploom.scan.operators.transition import Loop, State, with_numbered_texts, with_remainders
from warploom.scan.reading.binary import Binary
from warploom.scan.reading.first import from_first

_ROUNDS = 4
"""Times that the sorts of a fold's states are widened."""
_LIST = "xs"


@dataclass(frozen=True, slots=True)
class Mended:
    """A replacement for a function of two values: `lifting` is proved, or is None and `reason` says why."""

    lifting: Lifting | None
    reason: str = ""
    is_fault: bool = False
    """True if Warploom's own judges disagree: a bug of Warploom."""


def mended(result: Checked, function: Function) -> Mended:
    """`result` is what `check` says of the function."""
    binary = result.binary
    if result.status == "solved":
        if result.has_identity:
            return Mended(None, f"it is associative, with identity {text(result.identity)}")
        if result.domain in ("integers, bit by bit", "64-bit words"):
            found = _lifted(binary, function)
            if found.lifting is not None and not found.lifting.adjoined:
                return found
        return _adjoined(result, function)
    if result.status == "error":
        return Mended(None, "what is wrong is Warploom's, not the operator")
    if result.status == "refused" and result.witness is None:
        return Mended(None, "results are not such values as the assertions mean, so neither are those of its serial fold")
    if result.status == "unknown" and is_open_whether_meant(binary, function):
        return Mended(None, "it is open whether results are such values as the assertions mean, so its serial fold may have none")
    return _lifted(binary, function)


def _lifted(binary: Binary, function: Function) -> Mended:
    """The operator of the serial fold."""
    if any(f.sort.base == "text" for f in binary.fields):
        return Mended(None, "a fold that keeps texts of its list has no operator of fixed size that is known here")
    try:
        loop = with_remainders(with_numbered_texts(_begun(fold_of(binary))))
        found = lift(loop, _serial(binary, function, loop))
    except (UserError, ex.UndefinedError) as error:
        said = error.diagnostics[0].message if isinstance(error, UserError) else str(error)
        return Mended(None, f"its serial fold is not served: {said}")
    if found.status == "error":
        return Mended(None, found.reason, is_fault=True)
    if found.verdict != "proved":
        return Mended(None, f"no proved operator for its serial fold: {found.reason}")
    return Mended(found)


def _adjoined(result: Checked, function: Function) -> Mended:
    """The operator itself beside a flag that says whether there are elements at all. Its associativity is what `check` proved; a
    false flag gives the other operand, so that no law is left to prove."""
    binary = result.binary
    fold = fold_of(binary)
    loop = from_first(fold, 1, None, _no_constants)
    fields = tuple(s.variable for s in fold.states)
    renamed: dict[Expr, Expr] = dict(zip(binary.fields, fields, strict=True))
    renamed |= {right(old): right(new) for old, new in zip(binary.fields, fields, strict=True)}
    inner = tuple(ex.substituted(r, renamed) for r in binary.result)
    name = next(n for n in ("some", "some_elements") if n not in {str(f.value) for f in fields})
    some = ex.variable(name, ex.BOOL)
    other = right(some)
    combine = [ex.select(some, ex.select(other, c, f), right(f)) for c, f in zip(inner, fields, strict=True)]
    operator = Operator(
        loop,
        (some, *fields),
        (other, *(right(f) for f in fields)),
        (ex.TRUE, *loop.fields),
        (ex.either(some, other), *combine),
        (ex.FALSE, *(anything(f.sort) for f in fields)),
        fields,
        (),
        inner,
    )
    trial = tested(operator, _serial(binary, function, loop))
    if trial.mismatch:
        return Mended(None, f"a bug of Warploom: the operator is associative, but {trial.mismatch}", is_fault=True)
    if trial.fault:
        return Mended(None, trial.fault)
    laws = tuple(Law(n, Holds()) for n in ("base", "composition", "associativity", "identity"))
    domain = f"{result.domain}, lists of at least one element"
    return Mended(Lifting(loop, "solved", "proved", operator, domain, laws, "", trial.cases, adjoined=True))


def fold_of(binary: Binary) -> Loop:
    """The fold from the left as a loop over all elements but the first: its states begin with the first element."""
    endings = [str(f.value)[1:] for f in binary.fields]
    names = [f"result{e}" for e in endings]
    if not all(n.isidentifier() and not keyword.iskeyword(n) for n in names) or len({*names}) < len(names):
        endings = [str(n) for n in range(len(names))]
    elements = tuple(ex.variable(f"x{e}", f.sort) for e, f in zip(endings, binary.fields, strict=True))
    variables = [ex.variable(f"result{e}", f.sort) for e, f in zip(endings, binary.fields, strict=True)]
    renamed: dict[Expr, Expr] = dict(zip(binary.fields, variables, strict=True))
    renamed |= {right(f): e for f, e in zip(binary.fields, elements, strict=True)}
    steps = [ex.substituted(r, renamed) for r in binary.result]
    own: dict[Expr, Expr] = dict(zip(binary.fields, elements, strict=True))
    return Loop(
        binary.name,
        "",
        (_LIST,),
        elements,
        (),
        tuple(State(v, e, s) for v, e, s in zip(variables, elements, steps, strict=True)),
        tuple(variables),
        not isinstance(binary.shape, Sort),
        is_scan=False,
        assumed=tuple(ex.substituted(a, own) for a in binary.assumed),
        parameters=(_LIST,),
        unannotated=() if binary.is_annotated else elements,
        rounds=binary.rounds,
        may_divide_by_zero=binary.may_divide_by_zero,
        needs_element=True,
    )


def _begun(fold: Loop) -> Loop:
    """The fold as a loop over all elements: from constants that give the first element, or with a flag."""
    return from_first(fold, 1, None, lambda starts: _starting(fold, starts))


def _no_constants(_: Mapping[str, Expr]) -> NoReturn:
    """A fold that is to begin with a flag."""
    raise ex.UndefinedError("a flag instead of constants")


def _starting(fold: Loop, starts: Mapping[str, Expr]) -> Loop:
    """The fold whose states begin with these values, by name, and so may have them."""
    loop = replace(fold, states=tuple(replace(s, initial=starts[s.name]) for s in fold.states))
    for _ in range(_ROUNDS):
        sorts = [_wider(s) for s in loop.states]
        if all(s.variable.sort == sort for s, sort in zip(loop.states, sorts, strict=True)):
            return loop
        renamed: dict[Expr, Expr] = {s.variable: ex.variable(s.name, sort) for s, sort in zip(loop.states, sorts, strict=True)}
        states = [State(renamed[s.variable], s.initial, ex.substituted(s.step, renamed)) for s in loop.states]
        loop = replace(loop, states=tuple(states), outputs=tuple(ex.substituted(o, renamed) for o in loop.outputs))
    raise ex.UndefinedError("states of ever wider sorts")


def _wider(state: State) -> Sort:
    """The sort of all that the state may be. Where an annotation lists its values, `check` has proved that results are such."""
    own = state.variable.sort
    if own.values is not None and state.initial.value in own.values:
        return own
    return own.joined(state.initial.sort).joined(state.step.sort)


def _serial(binary: Binary, function: Function, loop: Loop) -> Callable[..., object]:
    """The function's own fold over elements as they are given to `lift`."""
    made = binary.applied(exactly(function) if can_round(loop) or loop.rounds else function)

    def fold(xs: Sequence[object]) -> object:
        operands = [binary.packed((x,) if len(binary.fields) == 1 else cast("tuple[object, ...]", x)) for x in xs]
        parts = binary.flat(functools.reduce(made, operands))
        return tuple(parts) if loop.is_tuple else parts[0]

    return fold


__all__ = ["Mended", "fold_of", "mended"]
