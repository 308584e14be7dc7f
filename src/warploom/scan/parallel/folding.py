"""What a worker does with a chunk: folds it by the operator, in one printed loop, or vectorised where it is arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

from warploom.core import UnsupportedError
from warploom.scan.emit import source_of
from warploom.scan.expression import Expr, UndefinedError, Value, substituted, variables
from warploom.scan.operator import Operator, combined
from warploom.scan.parallel.chunks import Chunk, Columns, elements_of
from warploom.scan.printing import evaluated, python

Partial: TypeAlias = tuple[Value, ...]
"""A value of the operator: its fields."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a worker needs, as text."""

    fold: str
    """Functions `fold(elements, value, *constants)` and `scan(elements, value, *constants)`."""
    vectorised: str
    """A NumPy module with `lift` and `_total`; empty: not expressible."""
    whole: tuple[bool, ...]
    """By field: whether its finite values are whole numbers."""


@dataclass(frozen=True, slots=True)
class Work:
    recipe: Recipe
    chunk: Chunk
    constants: tuple[Value, ...]
    start: Partial | None = None
    """The value of all elements before, when results for every prefix are wanted."""


def recipe_of(operator: Operator) -> Recipe:
    try:
        vectorised = source_of(operator, "numpy")
    except UnsupportedError:
        vectorised = ""
    return Recipe(_fold_source(operator), vectorised, tuple(f.sort.base == "int" for f in operator.fields))


def folded(work: Work) -> Partial | None:
    """The chunk's value; None: it has no elements."""
    match work.chunk:
        case Columns(columns) if work.recipe.vectorised and len(columns[0]) and all(c.dtype.kind in "bif" for c in columns):
            return _vectorised(work.recipe, columns, work.constants)
        case _:
            fold = cast("Callable[..., Partial | None]", _function(work.recipe.fold, "fold"))
            return fold(elements_of(work.chunk), None, *work.constants)


def scanned(work: Work) -> list[object]:
    """The results of every prefix that ends in the chunk."""
    scan = cast("Callable[..., list[object]]", _function(work.recipe.fold, "scan"))
    return scan(elements_of(work.chunk), work.start, *work.constants)


@cache
def _function(source: str, name: str) -> object:
    return evaluated(source, name)


@cache
def _module(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(source, "<vectorised>", "exec"), scope)
    return scope


def _vectorised(recipe: Recipe, columns: Sequence[Any], constants: Sequence[Value]) -> Partial:
    module = _module(recipe.vectorised)
    n = len(columns[0])
    wide = [c.astype(np.bool_ if c.dtype.kind == "b" else np.int64 if c.dtype.kind == "i" else np.float64) for c in columns]
    with np.errstate(all="ignore"):
        lifted = module["lift"](*wide, *(c if isinstance(c, int | str) else float(c) for c in constants))
        values = tuple(np.broadcast_to(np.asarray(v, t), (n,)) for v, t in zip(lifted, module["DTYPES"], strict=True))
        total = module["_total"](values)
    found: list[Value] = []
    for array, is_whole in zip(total, recipe.whole, strict=True):
        value = array[0].item()
        found.append(int(value) if is_whole and isinstance(value, float) and value.is_integer() else value)
    return tuple(found)


def _fold_source(operator: Operator) -> str:
    """Lift and operator as one step: the value with one more element."""
    fields = [f"v_{n}" for n in range(len(operator.fields))]
    elements = [f"x_{n}" for n in range(len(operator.loop.fields))]
    constants = [f"c_{n}" for n in range(len(operator.loop.constants))]
    names: dict[Expr, str] = dict(zip(operator.fields, fields, strict=True))
    fresh = dict(zip(operator.loop.fields, elements, strict=True)) | dict(zip(operator.loop.constants, constants, strict=True))
    clashing = set(operator.fields) & {v for e in operator.lift for v in variables(e)}
    first = ", ".join(python(e, fresh) for e in operator.lift)
    step: str
    try:
        if clashing:
            raise UndefinedError
        by_side = dict(zip(operator.right, operator.lift, strict=True))
        step = ", ".join(python(substituted(e, by_side), names | fresh) for e in operator.combine)
        lines = [f"            {', '.join(fields)} = {step}"]
    except UndefinedError:
        sides = [f"w_{n}" for n in range(len(fields))]
        both = names | dict(zip(operator.right, sides, strict=True)) | dict(zip(operator.loop.constants, constants, strict=True))
        step = ", ".join(python(e, both) for e in operator.combine)
        lines = [f"            {', '.join(sides)} = {first}", f"            {', '.join(fields)} = {step}"]
    known = names | dict(zip(operator.loop.constants, constants, strict=True))
    result = ", ".join(python(e, known) for e in operator.projection)
    result = f"({result},)" if operator.loop.is_tuple else result
    parameters = "".join(f", {c}" for c in constants)
    taken = elements[0] if len(elements) == 1 else ", ".join(elements)
    pack = f"({', '.join(fields)},)"
    start = [
        "    if value is None:",
        "        is_first = True",
        "    else:",
        "        is_first = False",
        f"        {pack} = value",
        f"    for {taken} in elements:",
        "        if is_first:",
        "            is_first = False",
        f"            {', '.join(fields)} = {first}",
        "        else:",
        *lines,
    ]
    return "\n".join(
        [
            f"def fold(elements, value{parameters}):",
            *start,
            f"    return None if is_first else {pack}",
            "",
            f"def scan(elements, value{parameters}):",
            "    results = []",
            *start,
            f"        results.append({result})",
            "    return results",
        ]
    )


def joined(operator: Operator, left: Partial | None, right: Partial | None, constants: Sequence[Value]) -> Partial | None:
    """Both in order."""
    if left is None or right is None:
        return left if right is None else right
    return _combined(operator)(*left, *right, *constants)


@cache
def _combined(operator: Operator) -> Callable[..., Partial]:
    return combined(operator)


def result_of(operator: Operator, value: Partial | None, constants: Sequence[Value]) -> object:
    """What the loop returns."""
    held = value if value is not None else tuple(e.value for e in operator.identity)
    projection = cast("Callable[..., object]", _function(operator.projection_source(), "projection"))
    used = variables(*operator.projection)
    given = [v for c, v in zip(operator.loop.constants, constants, strict=True) if c in used]
    return projection(held[0] if len(held) == 1 else held, *given)
