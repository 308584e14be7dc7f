"""Operators of loops that begin with the last element: the sides exchanged, and the loop as the operator's own fold.

A loop over the reversed list has an operator of that list: `h(reversed(x ++ y)) = h(reversed(y)) op h(reversed(x))`. With the
sides exchanged it combines parts of the list as it stands.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.transition import State


def forward(operator: Operator) -> Operator:
    """The operator of lists as they stand. Its loop is the fold of its values from the first element on, which gives the results
    of the function's own loop from the last element on: so says the proof."""
    exchanged = dict(zip(operator.fields, operator.right, strict=True)) | dict(zip(operator.right, operator.fields, strict=True))
    combine = tuple(ex.substituted(c, exchanged) for c in operator.combine)
    inner = tuple(ex.substituted(c, exchanged) for c in operator.inner)
    lifted: dict[Expr, Expr] = dict(zip(operator.right, operator.lift, strict=True))
    states = tuple(
        State(field, start, ex.substituted(step, lifted))
        for field, start, step in zip(operator.fields, operator.identity, combine, strict=True)
    )
    loop = replace(operator.loop, states=states, outputs=operator.projection, is_backward=False, kept=())
    return replace(operator, loop=loop, combine=combine, inner=inner)


__all__ = ["forward"]
