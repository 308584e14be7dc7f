"""A solved dataflow program as the movement of one warp: the first index of every array is the lane, literals lie in memory."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from functools import partial, reduce
from math import prod

import numpy as np

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow import (
    MISSING,
    UNDEFINED,
    ZERO,
    Block,
    Folded,
    Gathered,
    GatherSet,
    Literal,
    Nothing,
    Program,
    Statement,
    Value,
)
from warploom.ir.swizzle import IntArray
from warploom.synth import movement
from warploom.synth.dataflow.flat import flatten
from warploom.synth.dataflow.moves import Move, moves_of
from warploom.synth.movement import Movement, Step
from warploom.terms import Term, apply, atom, constant

OPERATORS = ("+", "*", "max", "min")


def program_movement(case: str, program: Program, gathers: Mapping[str, IntArray]) -> Movement:
    """`gathers`: sources by the name of each statement with a hole. UserError (NOT_PRINTED) for what one warp cannot hold."""
    reader = _Reader()
    for statement in program.statements:
        if isinstance(statement.value, Block):
            raise _not_printed("statements without blocks", "a block", statement.span)
    flat = flatten(program)
    moves = {move.statement: move for move in moves_of(flat, gathers)}
    for number, statement in enumerate(program.statements):
        reader.statement(number, statement, moves.get(number))
    last = program.statements[-1]
    if len(program.statements) - 1 not in reader.registers:
        raise _not_printed("a goal that is reached by a gather", "one that is an input", last.span)
    lanes, registers = reader.lanes or 1, reader.registers[len(program.statements) - 1]
    terms: np.ndarray[tuple[int], np.dtype[np.object_]] = np.empty(lanes * registers, object)
    for place, value in enumerate(program.goal.values):
        terms[place] = None if value == MISSING else reader.term(value, program.goal.span)
    plain = re.sub(r"\W+", "_", case.rsplit("/", 1)[-1].removesuffix(".swflow"))
    name = plain if plain.isidentifier() and not keyword.iskeyword(plain) else f"program_{plain}"
    return Movement(name, lanes, reader.inputs, tuple(reader.steps), {"out": terms.reshape(lanes, registers)})


class _Reader:
    def __init__(self) -> None:
        self.lanes: int | None = None
        self.inputs: dict[str, int] = {}
        self.home: dict[int, tuple[str, int]] = {}
        """Symbol -> the element of an input that holds it."""
        self.registers: dict[int, int] = {}
        self.names: dict[int, str] = {}
        """Number of the statement -> array in the kernel."""
        self.steps: list[Step] = []
        self.by_lanes: dict[int, Statement] = {}
        """Inputs that nothing has loaded yet."""
        self.has_zero = False

    def statement(self, number: int, statement: Statement, move: Move | None) -> None:
        match statement.value:
            case Literal(values):
                self._literal(number, statement, values)
            case Gathered(choices=choices):
                self._gathered(number, statement, choices, move)
            case Block():
                pass

    def term(self, value: Value, span: Span) -> Term:
        """The value as a term of the inputs' elements."""
        match value:
            case int():
                if value not in self.home:
                    raise _not_printed("a goal of the inputs' symbols", str(value), span)
                name, place = self.home[value]
                return atom(name, (place,))
            case Folded(op, values):
                self._check_operator(op, span)
                return reduce(partial(apply, op), (self.term(v, span) for v in values))
            case Nothing():
                self.has_zero = True
                return constant(0)

    def _literal(self, number: int, statement: Statement, values: tuple[Value, ...]) -> None:
        name = f"in_{len(self.inputs)}_{statement.name}"
        for place, value in enumerate(values):
            if not isinstance(value, int) or statement.fold is not None:
                raise _not_printed("inputs that hold symbols", "other values", statement.span)
            if value in self.home:
                raise _not_printed("each symbol in one element of the inputs", f"{value} twice", statement.span)
            self.home[value] = name, place
        self.inputs[name] = len(values)
        self.names[number] = name
        self.by_lanes[number] = statement

    def _load(self, number: int) -> None:
        """An input with one row for each lane is loaded before it is moved; from others the gathers load."""
        statement = self.by_lanes.pop(number, None)
        if statement is None or not statement.shape or statement.shape[0] != self.lanes:
            return
        self.registers[number] = prod(statement.shape[1:])
        element: IntArray = np.arange(prod(statement.shape), dtype=np.int64).reshape(-1, self.registers[number])
        step = f"s{len(self.steps)}_{statement.name}"
        self.steps.append(Step(step, (self.names[number],), np.zeros_like(element), element))
        self.names[number] = step

    def _gathered(self, number: int, statement: Statement, choices: GatherSet, move: Move | None) -> None:
        shape = choices.out
        length = 1 if statement.fold is None else statement.fold.length
        if len(shape) < (1 if statement.fold is None else 2):
            raise _not_printed("arrays whose first index is the lane", f"the shape {list(shape)}", statement.span)
        first, *rest = shape
        self.lanes = first if self.lanes is None else self.lanes
        if first != self.lanes:
            expected = f"{self.lanes} lanes, the first index of the first array"
            raise _not_printed(expected, f"the shape {list(shape)}", statement.span)
        if move is None:  # the next gather makes it, too
            return
        for before in move.arguments:
            self._load(before)
        gather = move.sources
        sizes = [prod(s) for s in move.shapes]
        ends = np.cumsum(sizes)
        argument = np.searchsorted(ends, gather, side="right")
        element = gather - np.concatenate([[0], ends])[np.clip(argument, 0, len(sizes) - 1)]
        argument = np.where(gather == UNDEFINED, movement.NOTHING, np.where(gather == ZERO, movement.ZERO, argument))
        if (gather == ZERO).any():
            self.has_zero = True
        fold = None
        if statement.fold is not None:
            self._check_operator(statement.fold.op, statement.span)
            fold = statement.fold.op, length
        if self.has_zero and fold is not None and fold[0] != "+":
            raise _not_printed("zeros in folds of which 0 is the identity", f"a fold by {fold[0]}", statement.span)
        registers = prod(rest)
        name = f"s{len(self.steps)}_{statement.name}"
        arguments = tuple(self.names[a] for a in move.arguments)
        table = argument.reshape(self.lanes, registers), np.where(argument < 0, 0, element).reshape(self.lanes, registers)
        self.steps.append(Step(name, arguments, *table, fold))
        self.registers[number] = registers // length
        self.names[number] = name

    def _check_operator(self, op: str, span: Span) -> None:
        if op not in OPERATORS:
            got = f"the operator {op!r}" if op else "a fold that names none"
            raise _not_printed(f"folds by {', '.join(OPERATORS)}", got, span)


def _not_printed(expected: str, got: str, span: Span) -> UserError:
    message = f"expected {expected}, got {got}"
    return UserError(Diagnostic("NOT_PRINTED", message, span, "Solve it without --cuda, or change the program."))
