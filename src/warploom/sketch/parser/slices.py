"""Slices of 2 or 4 elements as one access of the machine, where the array and the first element allow it.

`transfers` writes a slice as a loop over its elements, each with its own bound. Once the kernel is read, it is known whether the
first element is at a multiple of the slice (`ir.kernel.vectors`): then a slice that lies inside whole is one vector, and only one
that does not is still moved element by element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warploom.ir import (
    NO_MULTIPLES,
    For,
    HoleUse,
    If,
    IndexConst,
    IndexExpr,
    IndexVar,
    Kernel,
    Stmt,
    Store,
    map_index,
    size_multiples,
    vector_problem,
)
from warploom.sketch import fold

LANES = (2, 4)


@dataclass(frozen=True, slots=True)
class Slice:
    """The loop over a slice's elements."""

    store: Store
    """The store of one trip, without a bound."""
    inside: IndexExpr
    """Whether the element of a trip is inside the array."""


def with_vectors(kernel: Kernel, slices: Mapping[str, Slice]) -> Kernel:
    """The kernel whose loops over the variables of `slices` are vectors where they can be."""
    return replace(kernel, body=_body(kernel.body, _Around(kernel, slices, NO_MULTIPLES))) if slices else kernel


@dataclass(frozen=True, slots=True)
class _Around:
    """Where a statement stands."""

    kernel: Kernel
    slices: Mapping[str, Slice]
    multiples: Mapping[str, int]
    """Numbers that divide run-time sizes there."""


def _body(body: tuple[Stmt, ...], around: _Around) -> tuple[Stmt, ...]:
    return tuple(_statement(stmt, around) for stmt in body)


def _statement(stmt: Stmt, around: _Around) -> Stmt:
    match stmt:
        case For(var) if var in around.slices:
            return _vector(stmt, around.slices[var], around)
        case For(body=body):
            return replace(stmt, body=_body(body, around))
        case If(cond, then, other):
            inside = replace(around, multiples=size_multiples(cond, around.multiples))
            return replace(stmt, then=_body(then, inside), other=_body(other, around))
        case _:
            return stmt


def _vector(loop: For, found: Slice, around: _Around) -> Stmt:
    vector = replace(loop, body=(found.store,), note="", is_vector=True)
    if vector_problem(vector, around.kernel, around.multiples) is not None:
        return loop
    if found.inside == fold.TRUE:
        return vector
    if _has_hole(found.inside) or not isinstance(loop.stop, IndexConst):
        return loop
    # Elements of a slice follow each other, so that the last one is inside only if all are.
    last = IndexConst(int(loop.stop.value) - 1)
    return If(map_index(found.inside, lambda e: last if e == IndexVar(loop.var) else None), (vector,), (loop,), loop.span)


def _has_hole(expr: IndexExpr) -> bool:
    found: list[IndexExpr] = []
    map_index(expr, lambda e: found.append(e) if isinstance(e, HoleUse) else None)
    return bool(found)
