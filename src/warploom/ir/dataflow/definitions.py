"""Gathers that the user writes: tables and index lambdas of definitions, and lambdas in calls.

Source: Swizzleflow, listings 2 and 4 (lambdas in calls), section 2 (function definitions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import assert_never

import numpy as np

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow.gather_set import UNDEFINED, ZERO, GatherSet, Shape
from warploom.ir.dataflow.lambda_syntax import Binary, Lambda, NoSource, Number, lambda_text
from warploom.ir.dataflow.lambda_values import LambdaValue, Place, index_text, lambda_value
from warploom.ir.dataflow.sets import tabulated
from warploom.ir.dataflow.syntax import DefineSyntax, GatherArraySyntax, PlaceSyntax, Word
from warploom.ir.swizzle import IntArray

LAMBDA_CALLS = {
    "gather": "any source in any argument",
    "select": "replaces the last index: a condition takes copy 0 where it holds, else copy 1; a number is the copy itself",
    "swizzle_col": "replaces the first index",
    "swizzle_row": "replaces the last index",
}
"""Calls that take an index lambda, with what the lambda gives."""


def defined_set(define: DefineSyntax) -> GatherSet:
    """The set of a definition's members; UserError with every member's first fault."""
    arguments = tuple(a.shape for a in define.arguments)
    out = define.out.shape
    gathers: list[tuple[str, IntArray]] = []
    found: list[Diagnostic] = []
    for name, member in define.members:
        try:
            if isinstance(member, Lambda):
                gathers.append((name, _gathered(member, arguments, out, _identity)))
            else:
                gathers.append((name, _table(member, arguments, out)))
        except UserError as error:
            found += error.diagnostics
    if found:
        raise UserError(*found)
    return tabulated(arguments, out, gathers)


def lambda_set(callee: Word, index: Lambda, arguments: tuple[Shape, ...], out: Shape) -> GatherSet:
    """The one gather of `swizzle_row(lambda)` and its kin (`LAMBDA_CALLS`)."""
    if callee.text not in LAMBDA_CALLS:
        message = f"expected one of {', '.join(LAMBDA_CALLS)} before an index lambda, got `{callee.text}`"
        raise UserError(Diagnostic("UNKNOWN_SET", message, callee.span, "use gather(\\i, j. [i, j])(x), or define the function"))
    if callee.text == "gather":
        return tabulated(arguments, out, [(lambda_text(index), _gathered(index, arguments, out, _identity))])
    axis = 0 if callee.text == "swizzle_col" else len(out) - 1
    if len(arguments) != 1 or len(arguments[0]) != len(out):
        got = ", ".join(str(list(a)) for a in arguments)
        message = f"expected one argument with {len(out)} axes, got {got}"
        raise UserError(Diagnostic("SHAPE_MISMATCH", message, callee.span, "use gather(\\i, j. [i, j])(x) for other shapes"))

    def along_axis(value: LambdaValue, at: tuple[int, ...]) -> LambdaValue:
        if not isinstance(value, int):
            return value
        if isinstance(value, bool) and callee.text == "select":
            value = 0 if value else 1
        return Place(0, (*at[:axis], int(value), *at[axis + 1 :]))

    return tabulated(arguments, out, [(lambda_text(index), _gathered(index, arguments, out, along_axis))])


def lambda_as_read(callee: Word, index: Lambda, arguments: tuple[Shape, ...], out: Shape) -> Lambda:
    r"""The lambda as Swizzleflow's Listing 2 means it: in `swizzle_row(\i, j. j - i % 4)` the whole sum is taken modulo 4.

    Only for a sum that ends in `% n`, n the length of the axis that is read, and leaves that axis by Python's precedence.
    There is nothing to guess: the whole sum modulo n and the index wrapped round the axis are the same element.
    """
    body = index.body
    if callee.text not in ("swizzle_row", "swizzle_col") or len(arguments) != 1 or len(arguments[0]) != len(out):
        return index
    length = arguments[0][0 if callee.text == "swizzle_col" else -1]
    match body:
        case Binary("+" | "-" as op, lhs, Binary("%", rhs, Number(n) as divisor)) if n == length:
            whole = Binary("%", Binary(op, lhs, rhs, body.span), divisor, body.span)
        case _:
            return index
    if len(index.parameters) != len(out):
        return index
    values = (lambda_value(index, at) for at in product(*(range(n) for n in out)))
    leaves = any(not isinstance(value, int) or not 0 <= value < length for value in values)
    return replace(index, body=whole) if leaves else index


def _identity(value: LambdaValue, at: tuple[int, ...]) -> LambdaValue:
    return value


def _gathered(
    index: Lambda, arguments: tuple[Shape, ...], out: Shape, place: Callable[[LambdaValue, tuple[int, ...]], LambdaValue]
) -> IntArray:
    if len(index.parameters) != len(out):
        message = f"expected {len(out)} index variables for the output {list(out)}, got {len(index.parameters)}"
        raise UserError(Diagnostic("LAMBDA_ARITY", message, index.span, "name one variable per axis of the output"))
    starts = _starts(arguments)
    sources: list[int] = []
    for at in product(*(range(n) for n in out)):
        match place(lambda_value(index, at), at):
            case NoSource(is_zero):
                sources.append(ZERO if is_zero else UNDEFINED)
            case Place(argument, position):
                where = f" at {index_text(dict(zip(index.parameters, at, strict=True)))}"
                if not 0 <= argument < len(arguments):
                    raise _outside(f"an argument number below {len(arguments)}", argument, index.body.span)
                sources.append(starts[argument] + _element(position, arguments[argument], index.body.span, where))
            case int() as number:
                where = f" at {index_text(dict(zip(index.parameters, at, strict=True)))}"
                sources.append(_element(int(number), arguments[0], index.body.span, where))
            case _ as never:
                assert_never(never)
    return np.array(sources, np.int64)


def _table(table: GatherArraySyntax, arguments: tuple[Shape, ...], out: Shape) -> IntArray:
    if len(table.places) != prod(out):
        message = f"expected {prod(out)} elements for {list(out)}, got {len(table.places)}"
        raise UserError(Diagnostic("SHAPE_MISMATCH", message, table.span, "give one source per element of the output"))
    starts = _starts(arguments)
    return np.array([_source(place, arguments, starts) for place in table.places], np.int64)


def _source(place: PlaceSyntax, arguments: tuple[Shape, ...], starts: Sequence[int]) -> int:
    """A negative index is undefined, an argument number that does not exist reads 0."""
    if not 0 <= place.argument < len(arguments):
        return ZERO
    if (place.index if isinstance(place.index, int) else min(place.index)) < 0:
        return UNDEFINED
    return starts[place.argument] + _element(place.index, arguments[place.argument], place.span, "")


def _starts(arguments: tuple[Shape, ...]) -> list[int]:
    """Number of each argument's first element among all."""
    starts = [0]
    for shape in arguments:
        starts.append(starts[-1] + prod(shape))
    return starts


def _element(position: int | tuple[int, ...], shape: Shape, span: Span, where: str) -> int:
    """Row-major number of an element of one argument."""
    if isinstance(position, int):
        if not 0 <= position < prod(shape):
            raise _outside(f"an element number below {prod(shape)} for {list(shape)}", position, span, where)
        return position
    if len(position) != len(shape):
        raise _outside(f"{len(shape)} indexes for {list(shape)}", len(position), span)
    number = 0
    for axis, (i, length) in enumerate(zip(position, shape, strict=True)):
        if not 0 <= i < length:
            raise _outside(f"an index below {length} on axis {axis} of {list(shape)}", i, span, where, length)
        number = number * length + i
    return number


def _outside(expected: str, got: int, span: Span, where: str = "", length: int = 0) -> UserError:
    fix = f"`%` binds tighter than + and -: write (i + j) % {length or 'n'}" if where else ""
    return UserError(Diagnostic("INDEX_RANGE", f"expected {expected}, got {got}{where}", span, fix))
