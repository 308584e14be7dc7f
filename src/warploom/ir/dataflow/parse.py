"""Reads dataflow programs: names, shapes, sets, definitions and goals of what `reader.py` finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import prod
from typing import assert_never

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow.array_reader import MAX_ELEMENTS
from warploom.ir.dataflow.definitions import LAMBDA_CALLS, defined_set, lambda_as_read, lambda_set
from warploom.ir.dataflow.gather_set import GatherSet, Shape
from warploom.ir.dataflow.goals import builtin_goal
from warploom.ir.dataflow.lambda_syntax import lambda_text
from warploom.ir.dataflow.program import Block, FoldOver, Gathered, Goal, Literal, Program, Statement
from warploom.ir.dataflow.reader import read_program
from warploom.ir.dataflow.rows import with_all_rows
from warploom.ir.dataflow.sets import NAMES, gather_set
from warploom.ir.dataflow.shapes import (
    folded_shapes,
    literal_shape,
    literal_values,
    mismatch,
    presumed_shape,
    shape_text,
    without_last,
)
from warploom.ir.dataflow.syntax import (
    BlockSyntax,
    BuiltinSyntax,
    CallSyntax,
    DefineSyntax,
    FoldSyntax,
    GoalSyntax,
    LiteralSyntax,
    OptionSyntax,
    OptionValue,
    StatementSyntax,
    TypeSyntax,
    Word,
)
from warploom.ir.dataflow.tokens import source_of

_FOLD_RULE = "without fold_len the last entry of the written shape is the fold's length"


def parse_program(text: str, file: str = "<text>", goal: str | None = None) -> Program:
    """The program in a text (grammar in `syntax.py`); every node's span is its place there.

    `goal`, the text of a goal with or without the word, is read as if it stood in the text.

    UserError with all the faults found, in the order of the text.
    """
    source = source_of(text, file)
    items, found, unread = read_program(source)
    if goal is not None:
        asked, more, _ = read_program(source_of(goal if goal.lstrip().startswith("goal") else f"goal {goal}", "--goal"))
        items, found = (*items, *asked), (*found, *more)
        unread |= frozenset(("goal",) if more else ())
    resolver = _Resolver(list(found), unread)
    statements: list[Statement] = []
    goals: list[GoalSyntax] = []
    scope = _Scope(None)
    for item in items:
        if isinstance(item, GoalSyntax):
            goals.append(item)
        else:
            statements += resolver.item(item, scope)
    end = source.span(len(text.rstrip()), len(text.rstrip()))
    reached = resolver.goals(goals, statements, end)
    if resolver.found or reached is None:
        raise UserError(*sorted(resolver.found, key=lambda d: (d.span.line, d.span.column)))
    return Program(tuple(statements), reached, tuple(resolver.definitions), tuple(resolver.notes))


@dataclass(frozen=True, slots=True)
class _Definition:
    choices: GatherSet
    printed: str
    """The name under which the printer shows it."""


@dataclass(frozen=True, slots=True)
class _Scope:
    outer: _Scope | None
    shapes: dict[str, Shape] = field(default_factory=dict[str, Shape])
    definitions: dict[str, list[_Definition]] = field(default_factory=dict[str, list[_Definition]])
    """The newest last."""

    def chain(self) -> Iterator[_Scope]:
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def shape(self, name: str) -> Shape | None:
        return next((s.shapes[name] for s in self.chain() if name in s.shapes), None)

    def defined(self, name: str) -> list[_Definition]:
        """The newest first."""
        return [d for s in self.chain() for d in reversed(s.definitions.get(name, []))]


class _Resolver:
    def __init__(self, found: list[Diagnostic], unread: frozenset[str]) -> None:
        self.found = found
        self.unread = set(unread)
        """Names that a fault left without meaning: their uses are no further faults."""
        self.definitions: list[str] = []
        self.notes: list[str] = []
        self.folds: list[FoldSyntax] = []
        self.sets: dict[tuple[object, ...], GatherSet] = {}
        self.taken: set[tuple[str, tuple[Shape, ...], Shape]] = set()
        """Keys of definitions and of the built-in sets that earlier statements call."""

    def item(self, item: StatementSyntax | DefineSyntax, scope: _Scope) -> list[Statement]:
        """The statement, if it is one without fault; its name is known afterwards either way."""
        try:
            if isinstance(item, DefineSyntax):
                self.define(item, scope)
                return []
            statement = self.statement(item, scope)
        except UserError as error:
            self.found += error.diagnostics
            if isinstance(item, StatementSyntax):
                scope.shapes[item.name.text] = presumed_shape(item)
            return []
        scope.shapes[statement.name] = statement.shape
        return [statement]

    # ------------------------------------------------------------ definitions

    def define(self, define: DefineSyntax, scope: _Scope) -> None:
        name = define.name.text
        try:
            choices = defined_set(define)
        except UserError:
            self.unread.add(name)
            raise
        printed = name
        # The printer puts definitions first, where one that hides another or a built-in set would be wrong.
        hides = self.key(name, choices) in self.taken or (scope.outer is not None and name in NAMES)
        count = 1
        while hides and (printed in NAMES or printed == name or self.key(printed, choices) in self.taken):
            count += 1
            printed = f"{name}_{count}"
        self.taken |= {self.key(name, choices), self.key(printed, choices)}
        self.definitions.append(printed.join(define.text))
        scope.definitions.setdefault(name, []).append(_Definition(choices, printed))

    def key(self, name: str, choices: GatherSet) -> tuple[str, tuple[Shape, ...], Shape]:
        """The key by which a call finds a definition or a set."""
        return name, choices.arguments, choices.out

    # ------------------------------------------------------------ statements

    def statement(self, item: StatementSyntax, scope: _Scope) -> Statement:
        name, shape = item.name.text, item.type.shape
        match item.value:
            case LiteralSyntax() as literal:
                self.folds += (*literal.folds, *literal.element_folds)
                if (shorter := without_last(literal, item.type)) is not literal:
                    literal = shorter
                    self.notes.append(f"{item.span}: read as {shape[0]} symbols, as the shape says, without the last")
                value = Literal(literal_values(literal, item.type))
                fold, shape = None, literal_shape(literal, item.type)
            case BlockSyntax() as block:
                value, fold = self.block(block, item.type, scope), None
            case CallSyntax() as call:
                value, fold, shape = self.call(call, item.type, scope)
            case _:
                assert_never(item.value)
        return Statement(name, shape, value, fold, item.is_pruned, item.span)

    def block(self, block: BlockSyntax, type_: TypeSyntax, outer: _Scope) -> Block:
        scope = _Scope(outer)
        before = len(self.found)
        statements = [s for item in block.items for s in self.item(item, scope)]
        if len(self.found) == before:
            if not statements:
                message = "expected a block with at least one statement, got none"
                raise UserError(Diagnostic("EMPTY_BLOCK", message, block.span, "a block's value is its last statement's"))
            if statements[-1].shape != type_.shape:
                last = statements[-1]
                message = (
                    f"expected the block's shape {shape_text(type_.shape)} in its last statement, got {shape_text(last.shape)}"
                )
                raise mismatch(message, last.span, notes=(("the block's shape", type_.span),))
        return Block(tuple(statements))

    def call(self, call: CallSyntax, type_: TypeSyntax, scope: _Scope) -> tuple[Gathered, FoldOver | None, Shape]:
        options = {o.key.text: o for o in call.options}
        fold_len = options.pop("fold_len", None)
        written = type_.shape
        fold = None
        if call.fold is None:
            if fold_len is not None:
                message = "expected fold_len in a fold only, got it without a fold"
                raise UserError(Diagnostic("BAD_OPTION", message, fold_len.key.span, "write `fold` before the call"))
            full, shape = written, written
        else:
            self.folds.append(call.fold)
            argument = None if call.arguments is not None else scope.shape(call.callee.text)
            full, shape = folded_shapes(call, fold_len, type_, argument)
            fold = FoldOver(call.fold.op, full[-1])
        if prod(full) > MAX_ELEMENTS:
            raise mismatch(f"expected at most {MAX_ELEMENTS} elements before the fold, got {shape_text(full)}", type_.span)
        if call.arguments is None:
            gathered = self.copy(call, options, full, type_, scope)
        else:
            gathered = self.gathered(call, options, call.arguments, full, scope)
        return gathered, fold, shape

    def copy(self, call: CallSyntax, options: dict[str, OptionSyntax], full: Shape, type_: TypeSyntax, scope: _Scope) -> Gathered:
        name = call.callee.text
        shape = scope.shape(name)
        if shape is None:
            if name in NAMES or name in LAMBDA_CALLS or scope.defined(name):
                message = f"expected a variable or a call, got the set `{name}` without arguments"
                raise UserError(Diagnostic("UNKNOWN_NAME", message, call.callee.span, f"name its arguments: {name}(x)"))
            raise self.unknown_variable(call.callee, scope)
        if options:
            first = next(iter(options.values()))
            raise UserError(Diagnostic("BAD_OPTION", f"expected no options on the variable `{name}`", first.key.span))
        if prod(shape) != prod(full):
            message = f"expected {prod(full)} elements for {shape_text(full)}, got `{name}` with the shape {shape_text(shape)}"
            raise mismatch(message, type_.span, _FOLD_RULE if call.fold else "a copy keeps all elements")
        return Gathered((name,), self.set("id", {}, (shape,), full), name)

    def gathered(
        self, call: CallSyntax, options: dict[str, OptionSyntax], arguments: Sequence[Word], full: Shape, scope: _Scope
    ) -> Gathered:
        name = call.callee.text
        shapes: list[Shape] = []
        for word in arguments:
            shape = scope.shape(word.text)
            if shape is None:
                raise self.unknown_variable(word, scope)
            shapes.append(shape)
        printed = name
        given = {key: option.value for key, option in options.items()}
        fitting = next((d for d in scope.defined(name) if _fits(d.choices, shapes, full)), None)
        lambda_ = call.index and lambda_as_read(call.callee, call.index, tuple(shapes), full)
        if lambda_ is not None:
            choices = lambda_set(call.callee, lambda_, tuple(shapes), full)
        elif fitting is not None:
            choices, printed = fitting.choices, fitting.printed
        elif scope.defined(name) and name not in NAMES:
            candidates = "; ".join(
                f"({', '.join(map(shape_text, d.choices.arguments))}) -> {shape_text(d.choices.out)}" for d in scope.defined(name)
            )
            got = f"({', '.join(map(shape_text, shapes))}) -> {shape_text(full)}"
            raise mismatch(
                f"expected `{name}` as defined for {candidates}, got {got}", call.span, _FOLD_RULE if call.fold else ""
            )
        else:
            choices = self.located(call, given, tuple(shapes), full)
        if options and (call.index is not None or fitting is not None):
            first = next(iter(options.values()))
            raise UserError(Diagnostic("BAD_OPTION", f"expected no options on `{name}`, which has none", first.key.span))
        self.taken.add(self.key(printed, choices))
        index = f"({lambda_text(lambda_)})" if lambda_ else ""
        source = f"{printed}{_options_text(given)}{index}({', '.join(w.text for w in arguments)})"
        return Gathered(tuple(w.text for w in arguments), choices, source)

    def located(self, call: CallSyntax, options: dict[str, OptionValue], shapes: tuple[Shape, ...], full: Shape) -> GatherSet:
        """A built-in set; its errors point into the call."""
        name = call.callee.text
        try:
            return self.set(name, options, shapes, full)
        except UserError as error:
            located: list[Diagnostic] = []
            for d in error.diagnostics:
                fix = d.fix
                span = call.span
                if d.code == "UNKNOWN_SET" and name in self.unread:
                    continue
                if d.code == "UNKNOWN_SET":
                    span = call.callee.span
                    near = get_close_matches(name, [*NAMES, *LAMBDA_CALLS], 1)
                    fix = f"did you mean `{near[0]}`?" if near else "define it, or see the list of sets in docs/dataflow-sets.md"
                    if name in LAMBDA_CALLS:
                        fix = f"`{name}` takes an index lambda: {name}(\\i, j. ...)(x)"
                elif d.code == "BAD_OPTION" and call.options:
                    named = next((o.key.span for o in call.options if o.key.text in d.message.split("got")[-1]), None)
                    span = named or call.options[0].key.span
                elif d.code == "SHAPE_MISMATCH" and call.fold:
                    fix = f"{fix}; {_FOLD_RULE}" if fix else _FOLD_RULE
                located.append(replace(d, span=span, fix=fix))
            raise UserError(*located) from None

    def unknown_variable(self, word: Word, scope: _Scope) -> UserError:
        """Silent where the statement that gives the name its value could not be read."""
        if word.text in self.unread:
            return UserError()
        names = sorted({name for s in scope.chain() for name in s.shapes})
        near = get_close_matches(word.text, names, 1)
        fix = f"did you mean `{near[0]}`?" if near else "give it a value before this line"
        return UserError(Diagnostic("UNKNOWN_NAME", f"expected a variable from above, got `{word.text}`", word.span, fix))

    def set(self, name: str, options: dict[str, OptionValue], arguments: tuple[Shape, ...], out: Shape) -> GatherSet:
        key = (name, tuple(sorted(options.items(), key=lambda o: o[0])), arguments, out)
        if key not in self.sets:
            self.sets[key] = gather_set(name, options, arguments, out)
        return self.sets[key]

    # ------------------------------------------------------------ the goal

    def goals(self, goals: Sequence[GoalSyntax], statements: Sequence[Statement], end: Span) -> Goal | None:
        """The only goal; None after an error among `found`. UserError for a goal that is wrong in itself."""
        for extra in goals[1:]:
            message = "expected one goal, got a second one"
            notes = (("the first goal is here", goals[0].span),)
            self.found.append(Diagnostic("GOAL_TWICE", message, extra.span, "keep one goal per file", notes))
        if not goals and "goal" in self.unread:
            return None
        if not goals:
            message = "expected a goal, got none"
            last = f" {statements[-1].name} ==" if statements else " name =="
            fix = f"say what the last statement is to be: `goal{last} [[x0, x1, ...], ...]`, as a line or by --goal"
            self.found.append(Diagnostic("GOAL_MISSING", message, end, fix))
            return None
        goal = goals[0]
        if isinstance(goal.value, LiteralSyntax):
            self.folds += (*goal.value.folds, *goal.value.element_folds)
        named = next((f for f in self.folds if f.op), None)
        unnamed = next((f for f in self.folds if not f.op), None)
        if named and unnamed:
            message = "expected an operator on every fold, since one fold names its operator, got a fold without"
            notes = ((f"this fold names {named.op}", named.span),)
            self.found.append(Diagnostic("MIXED_FOLDS", message, unnamed.span, "write fold(+), or drop all operators", notes))
        if self.found:
            return None
        return self.goal(goal, statements, named is not None)

    def goal(self, goal: GoalSyntax, statements: Sequence[Statement], names_operators: bool) -> Goal:
        if not statements:
            message = "expected at least one statement, got a goal alone"
            raise UserError(Diagnostic("GOAL_WITHOUT_STATEMENT", message, goal.span, "add the statements that reach it"))
        last = statements[-1]
        if goal.target is not None and goal.target.text != last.name:
            message = f"expected the last statement `{last.name}`, got `{goal.target.text}`"
            notes = (("the last statement", last.span),)
            raise UserError(Diagnostic("GOAL_NOT_LAST", message, goal.target.span, "move that statement to the end", notes))
        match goal.value:
            case LiteralSyntax() as literal:
                literal = with_all_rows(literal, (goal.type.shape if goal.type else last.shape)[0])
                shape = literal_shape(literal, goal.type)
                values, source = literal_values(literal, goal.type), "literal"
            case BuiltinSyntax(word, options):
                shape = goal.type.shape if goal.type else last.shape
                given = {o.key.text: o.value for o in options}
                source = word.text + _options_text(given)
                try:
                    values = builtin_goal(word.text, given, shape, names_operators)
                except UserError as error:
                    raise UserError(*(replace(d, span=word.span) for d in error.diagnostics)) from None
            case _:
                assert_never(goal.value)
        if shape != last.shape:
            wanted = f"the shape {shape_text(last.shape)} of the last statement `{last.name}`"
            message = f"expected a goal of {wanted}, got {shape_text(shape)}"
            raise mismatch(message, goal.type.span if goal.type else goal.span, notes=(("the last statement", last.span),))
        return Goal(shape, values, source, goal.span)


def _fits(choices: GatherSet, arguments: Sequence[Shape], out: Shape) -> bool:
    return choices.arguments == tuple(arguments) and choices.out == out


def _options_text(options: dict[str, OptionValue]) -> str:
    parts = [
        key if value is True else f"{key}={list(value) if isinstance(value, tuple) else value}" for key, value in options.items()
    ]
    return f"{{{', '.join(parts)}}}" if parts else ""
