"""Verifier of dataflow programs: whatever builds one, its names, shapes, sets and values must fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import assert_never

import numpy as np

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow.gather_set import UNDEFINED, GatherSet, Shape
from warploom.ir.dataflow.program import Block, Folded, Gathered, Literal, Nothing, Program, Statement, Value
from warploom.ir.dataflow.values import operators_of, value_key


def verify_program(program: Program) -> None:
    """Nothing for a sound program; UserError with all faults otherwise."""
    found = list(_program(program))
    if found:
        raise UserError(*found)


def _program(program: Program) -> Iterator[Diagnostic]:
    goal = program.goal
    yield from _statements(program.statements, {}, goal.span)
    if program.statements and program.statements[-1].shape != goal.shape:
        yield _mismatch(f"a goal of the shape {program.statements[-1].shape}", str(goal.shape), goal.span)
    yield from _values(goal.values, goal.shape, goal.span)
    operators = _operators(program.statements).union(*(operators_of(v) for v in goal.values))
    if "" in operators and len(operators) > 1:
        yield Diagnostic("MIXED_FOLDS", "expected an operator on every fold or on none, got both", goal.span)


def _operators(statements: tuple[Statement, ...]) -> frozenset[str]:
    found: set[str] = set()
    for statement in statements:
        if statement.fold is not None:
            found.add(statement.fold.op)
        match statement.value:
            case Literal(values):
                found.update(*(operators_of(v) for v in values))
            case Block(inner):
                found |= _operators(inner)
            case Gathered():
                pass
            case _:
                assert_never(statement.value)
    return frozenset(found)


def _statements(statements: tuple[Statement, ...], outer: Mapping[str, Shape], span: Span) -> Iterator[Diagnostic]:
    if not statements:
        yield Diagnostic("EMPTY_BLOCK", "expected at least one statement, got none", span)
    scope = dict(outer)
    for statement in statements:
        yield from _statement(statement, scope)
        scope[statement.name] = statement.shape


def _statement(statement: Statement, scope: Mapping[str, Shape]) -> Iterator[Diagnostic]:
    shape, span = statement.shape, statement.span
    if not statement.name.isidentifier():
        yield Diagnostic("BAD_NAME", f"expected an identifier, got {statement.name!r}", span)
    if not shape or min(shape) < 1:
        yield _mismatch("at least one axis, of positive length", str(shape), span)
    if statement.fold is not None and not isinstance(statement.value, Gathered):
        yield Diagnostic("BAD_FOLD", "expected a fold of gathered values, got one of a literal or block", span)
    match statement.value:
        case Literal(values):
            yield from _values(values, shape, span)
        case Block(statements):
            yield from _statements(statements, scope, span)
            if statements and statements[-1].shape != shape:
                yield _mismatch(f"the shape {statements[-1].shape} of the block's last statement", str(shape), span)
        case Gathered(arguments, choices):
            for name in arguments:
                if name not in scope:
                    yield Diagnostic("UNKNOWN_NAME", f"expected a variable from above, got {name!r}", span)
            shapes = tuple(scope.get(name, ()) for name in arguments)
            if set(arguments) <= set(scope) and shapes != choices.arguments:
                yield _mismatch(f"arguments of the shapes {choices.arguments}", str(shapes), span)
            full = shape if statement.fold is None else (*shape, statement.fold.length)
            if full != choices.out:
                yield _mismatch(f"the shape {choices.out} before the fold", str(full), span)
            yield from _gather_set(choices, span)
        case _:
            assert_never(statement.value)


def _gather_set(choices: GatherSet, span: Span) -> Iterator[Diagnostic]:
    elements, members = prod(choices.out), choices.members
    if choices.point.shape != (elements,) or choices.source.shape != (elements, members.values):
        expected = f"{elements} points and {elements} x {members.values} sources"
        yield Diagnostic("BAD_GATHER_SET", f"expected {expected}, got {choices.point.shape} and {choices.source.shape}", span)
        return
    if not _within(choices.point, 0, members.points):
        yield Diagnostic("BAD_GATHER_SET", f"expected points below {members.points}, got others", span)
    if not _within(choices.source, UNDEFINED, choices.argument_elements):
        yield Diagnostic("BAD_GATHER_SET", f"expected sources below {choices.argument_elements}, got others", span)
    if members.size_bound < 1:
        yield Diagnostic("BAD_GATHER_SET", "expected at least one member, got none", span)


def _within(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]], low: int, high: int) -> bool:
    return numbers.size == 0 or (low <= int(numbers.min()) and int(numbers.max()) < high)


def _values(values: tuple[Value, ...], shape: Shape, span: Span) -> Iterator[Diagnostic]:
    if len(values) != prod(shape):
        yield _mismatch(f"{prod(shape)} values for {shape}", str(len(values)), span)
    if not all(_is_canonical(v) for v in values):
        message = "expected folds of at least one value, sorted, without 0 and undefined values, got another fold"
        yield Diagnostic("BAD_VALUE", message, span, "build folds with warploom.ir.dataflow.folded")


def _is_canonical(value: Value) -> bool:
    if not isinstance(value, Folded):
        return True
    if not value.values or any(isinstance(v, Nothing) for v in value.values):
        return False
    keys = [value_key(v) for v in value.values]
    return keys == sorted(keys) and all(_is_canonical(v) for v in value.values)


def _mismatch(expected: str, got: str, span: Span) -> Diagnostic:
    return Diagnostic("SHAPE_MISMATCH", f"expected {expected}, got {got}", span)
