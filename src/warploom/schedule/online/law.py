"""Asks `scan` for the operator that joins the maxima and sums of two lists.

A kernel that makes `top = max(u)` and then sums `f(u, x, top)` says what a list's values are in two passes. Three things are
checked, each as an identity of expressions or by `scan`'s proof:

- *rescaling*: f(u, x, new) = f(u, x, old) * exp(old - new), so that a sum made with a smaller maximum is a factor away from the
  one made with the greater;
- *one element*: the operator's value of a list of one element is (u, f(u, x, u));
- *composition*: the loop that rescales its sums as its maximum grows is a fold by that operator, for every list.

Together they are an induction over the list: two passes over a list give what the operator gives of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from warploom.core import UserError
from warploom.scan import Expr, Loop, lift, parse_module, read_loop

POWERS = "exp(a + b) = exp(a) * exp(b)"


@dataclass(frozen=True, slots=True)
class Law:
    """A proved operator on (maximum, sums): each expression over the fields of the left list and of the right one."""

    left: tuple[Expr, ...]
    """The maximum, then the sums."""
    right: tuple[Expr, ...]
    combine: tuple[Expr, ...]
    domain: str


@lru_cache(maxsize=64)
def law_of(summands: tuple[str, ...], fields: tuple[str, ...]) -> Law | str:
    """The operator, or why there is none.

    summands: one element's part of each sum, as Python over `u` (what the maximum is of), `{top}` (the maximum) and the `fields`,
    numbers of the element.
    """
    try:
        if why := _not_rescaled(summands, fields):
            return why
        loop = read_loop(parse_module(_fold(summands, fields)), "fold")
    except UserError as error:
        return error.diagnostics[0].message
    found = lift(loop)
    operator = found.operator
    if found.verdict != "proved" or operator is None:
        return f"the operator of {', '.join(summands)} is not proved: {found.reason or found.verdict}"
    inner = operator.inner
    left, right, lifted = operator.fields, operator.right, operator.lift
    if inner:  # behind a flag that tells whether there are elements
        left, right, lifted = left[1:], right[1:], lifted[1:]
    else:
        inner = operator.combine
    if [str(f.value) for f in left] != ["top", *_totals(summands)]:
        return f"expected an operator on the maximum and the sums, got one on {', '.join(str(f.value) for f in left)}"
    if [*lifted] != [_field(loop, "u"), *_alone(summands, fields)]:
        return "the operator's value of one element is not that of two passes over it"
    return Law(left, right, inner, found.domain)


def _not_rescaled(summands: tuple[str, ...], fields: tuple[str, ...]) -> str:
    """Why a summand at a greater maximum is not that at a smaller one times exp(old - new); empty where it is."""
    names = [n for k in range(len(summands)) for n in (f"smaller{k}", f"greater{k}")]
    lines: list[str] = []
    for k, summand in enumerate(summands):
        lines += [f"smaller{k} = ({_at(summand, 'old')}) * math.exp(old - new)", f"greater{k} = {_at(summand, 'new')}"]
    steps = _steps(_loop("law", fields, names, lines, more=("old", "new")), "law")
    for k, summand in enumerate(summands):
        if steps[f"smaller{k}"] is not steps[f"greater{k}"]:
            return f"{summand} is not rescaled by exp(old - new) as the maximum grows"
    return ""


def _alone(summands: tuple[str, ...], fields: tuple[str, ...]) -> list[Expr]:
    """Each sum of one element, whose maximum it is."""
    names = [f"alone{k}" for k in range(len(summands))]
    lines = [f"{name} = {_at(summand, 'u')}" for name, summand in zip(names, summands, strict=True)]
    steps = _steps(_loop("alone", fields, names, lines), "alone")
    return [steps[name] for name in names]


def _steps(text: str, name: str) -> dict[str, Expr]:
    return {state.name: state.step for state in read_loop(parse_module(text), name).states}


def _field(loop: Loop, name: str) -> Expr:
    return next(f for f in loop.fields if f.value == name)


def _totals(summands: tuple[str, ...]) -> list[str]:
    return [f"total{k}" for k in range(len(summands))]


def _fold(summands: tuple[str, ...], fields: tuple[str, ...]) -> str:
    lines = ["new = max(top, u)"]
    for name, summand in zip(_totals(summands), summands, strict=True):
        lines.append(f"{name} = {name} * math.exp(top - new) + {_at(summand, 'new')}")
    return _loop("fold", fields, _totals(summands), [*lines, "top = new"], has_top=True)


def _loop(
    name: str, fields: tuple[str, ...], states: list[str], lines: list[str], *, more: tuple[str, ...] = (), has_top: bool = False
) -> str:
    """A loop over lists of `u` and of the fields; states begin at 0, the maximum below all numbers."""
    own = ("u", *fields)
    parameters = ", ".join([*(f"{f}s: list[float]" for f in own), *(f"{m}: float" for m in more)])
    lists = ", ".join(f"{f}s" for f in own)
    head = f"for u, {', '.join(fields)} in zip({lists})" if fields else "for u in us"
    starts = [*(["top = -math.inf"] if has_top else []), *(f"{s} = 0.0" for s in states)]
    results = ", ".join([*(["top"] if has_top else []), *states])
    body = [*(f"    {s}" for s in starts), f"    {head}:", *(f"        {line}" for line in lines), f"    return {results}"]
    return "\n".join(["import math", "", f"def {name}({parameters}):", *body, ""])


def _at(summand: str, top: str) -> str:
    """The summand with another maximum."""
    return summand.replace("{top}", top)


__all__ = ["POWERS", "Law", "law_of"]
