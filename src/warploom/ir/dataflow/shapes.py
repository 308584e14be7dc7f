"""Shapes and values of what was written: literals with folds in front, the shapes before and after a fold."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import cast

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow.gather_set import Shape
from warploom.ir.dataflow.program import Value
from warploom.ir.dataflow.syntax import (
    ArraySyntax,
    CallSyntax,
    LiteralSyntax,
    OptionSyntax,
    RangeSyntax,
    StatementSyntax,
    TypeSyntax,
)
from warploom.ir.dataflow.values import folded


def presumed_shape(item: StatementSyntax) -> Shape:
    """A shape for a statement with a fault, so that later statements can be checked."""
    shape = item.type.shape
    folds = item.value.fold is not None if isinstance(item.value, CallSyntax) else False
    has_length = isinstance(item.value, CallSyntax) and any(o.key.text == "fold_len" for o in item.value.options)
    return shape[:-1] if folds and not has_length and len(shape) > 1 else shape


def folded_shapes(
    call: CallSyntax, fold_len: OptionSyntax | None, type_: TypeSyntax, argument: Shape | None
) -> tuple[Shape, Shape]:
    """Shapes before and after the fold. `out: [32] = fold x` of an x: [32, 3] (the paper's form) folds x's last axis."""
    written = type_.shape
    if fold_len is not None:
        length = fold_len.value
        if isinstance(length, (bool, tuple)) or length < 1:
            raise UserError(Diagnostic("BAD_OPTION", "expected fold_len=n with n > 0", fold_len.key.span))
        return (*written, length), written
    if argument is not None and prod(argument) != prod(written) and argument[:-1] == written:
        return argument, written
    if len(written) == 1:
        message = f"expected a shape with the fold's length as its last entry, got {shape_text(written)}"
        raise mismatch(message, type_.span, "write fold_len=n in the call's options, or [1, n] to fold everything")
    return written, written[:-1]


def literal_shape(literal: LiteralSyntax, type_: TypeSyntax | None) -> Shape:
    """Shape after the literal's folds; the written shape may count the folded axes or not."""
    folds = len(literal.folds)
    written = type_.shape if type_ else None
    if isinstance(literal.body, RangeSyntax):
        length = literal.body.high - literal.body.low
        full = written or (length,)
        if prod(full) != length:
            raise mismatch(f"expected {prod(full)} elements for {shape_text(full)}, got {length}", literal.span)
    else:
        full = literal.body.shape
        if written is not None and written not in (full, full[: len(full) - folds]):
            expected = shape_text(written) + (f" before or after {folds} folds" if folds else "")
            raise mismatch(
                f"expected {expected}, got a literal of the shape {shape_text(full)}", literal.span, _end(literal, written)
            )
    if len(full) <= folds:
        message = f"expected more axes than folds, got {folds} folds of {shape_text(full)}"
        raise mismatch(message, literal.span, "put brackets around the literal: [[..]] has a first axis of length 1")
    return full[: len(full) - folds]


def literal_values(literal: LiteralSyntax, type_: TypeSyntax | None) -> tuple[Value, ...]:
    shape = literal_shape(literal, type_)
    if isinstance(literal.body, RangeSyntax):
        values: tuple[Value, ...] = tuple(range(literal.body.low, literal.body.high))
        full = type_.shape if type_ else shape
    else:
        values, full = literal.body.values, literal.body.shape
    for fold, length in zip(reversed(literal.folds), reversed(full), strict=False):
        values = tuple(folded(fold.op, values[i : i + length]) for i in range(0, len(values), length))
    return values


def without_last(literal: LiteralSyntax, type_: TypeSyntax) -> LiteralSyntax:
    """`[x0, ..., x34]` of the shape [34], as Swizzleflow's Listings 4 and 8 print it, without its last symbol.

    Only for symbols that count up by one and are one more than the shape has; else the literal itself.
    """
    body, written = literal.body, type_.shape
    length = prod(written)
    if not isinstance(body, ArraySyntax) or not body.counts_on or literal.folds or len(written) > 1:
        return literal
    if body.shape != (length + 1,) or not _consecutive(body):
        return literal
    return replace(literal, body=replace(body, shape=written, values=body.values[:-1]))


def _consecutive(body: ArraySyntax) -> bool:
    first = body.values[0]
    return isinstance(first, int) and body.values == tuple(range(first, first + len(body.values)))


def _end(literal: LiteralSyntax, written: Shape) -> str:
    """Where a list of consecutive symbols of another length would end."""
    if isinstance(literal.body, RangeSyntax) or len(literal.body.shape) > 1 or len(written) > 1:
        return ""
    if not _consecutive(literal.body):
        return ""
    first = cast(int, literal.body.values[0])
    return f"{prod(written)} symbols from x{first} on end at x{first + prod(written) - 1}"


def mismatch(message: str, span: Span, fix: str = "", notes: tuple[tuple[str, Span], ...] = ()) -> UserError:
    return UserError(Diagnostic("SHAPE_MISMATCH", message, span, fix, notes))


def shape_text(shape: Shape) -> str:
    return str(list(shape))
