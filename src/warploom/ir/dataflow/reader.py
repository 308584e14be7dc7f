"""Reads the syntax of a dataflow program (grammar in `syntax.py`); names and shapes are checked later, in `parse.py`."""

from __future__ import annotations

from itertools import pairwise

from warploom.core import Diagnostic, UserError
from warploom.ir.dataflow.array_reader import ArrayReader
from warploom.ir.dataflow.lambda_syntax import Lambda, read_lambda
from warploom.ir.dataflow.syntax import (
    BlockSyntax,
    BuiltinSyntax,
    CallSyntax,
    DefineSyntax,
    FoldSyntax,
    GatherArraySyntax,
    GoalSyntax,
    ItemSyntax,
    LiteralSyntax,
    OptionSyntax,
    OptionValue,
    StatementSyntax,
    Word,
)
from warploom.ir.dataflow.tokens import Cursor, Source, source_of, syntax_error

_ANNOTATIONS = {"prune": True, "noprune": False}
_MAX_BLOCKS = 16


def read_program(source: Source) -> tuple[tuple[ItemSyntax, ...], tuple[Diagnostic, ...], frozenset[str]]:
    """The statements, definitions and goals that can be read, in order; errors; names of statements that cannot be read."""
    reader = _Reader(Cursor(source))
    items = reader.items(None)
    return tuple(items), tuple(reader.found), frozenset(reader.unread)


def read_builtin(text: str) -> tuple[str, dict[str, OptionValue]]:
    """Name and options of a built-in goal; UserError if the text is anything else."""
    reader = _Reader(Cursor(source_of(text, "<goal>")))
    name = reader.word("the name of a goal").text
    options = {o.key.text: o.value for o in reader.options()}
    reader.cursor.expect_kind("end", "the end of the goal")
    return name, options


class _Reader(ArrayReader):
    def __init__(self, cursor: Cursor) -> None:
        super().__init__(cursor)
        self.found: list[Diagnostic] = []
        self.unread: set[str] = set()
        self.blocks = 0

    # ------------------------------------------------------------ items

    def items(self, closing: str | None) -> list[ItemSyntax]:
        """Up to the closing bracket (None: the end of the text); after an error goes on at the next line that starts an item."""
        items: list[ItemSyntax] = []
        while self.cursor.peek().kind != "end" and not (closing and self.cursor.sees(closing)):
            if self.cursor.sees("//"):
                self.cursor.skip_line()
                continue
            before = self.cursor.at
            if self.found and self.cursor.accept("}"):
                continue  # of a block whose first line could not be read
            try:
                items.append(self.item())
            except UserError as error:
                self.found += error.diagnostics
                self.note_unread(before)
                self.skip(before, closing)
        return items

    def note_unread(self, before: int) -> None:
        """The names that the item would have given a meaning, from the token where it starts."""
        tokens = self.cursor.tokens[before : self.cursor.at + 1]
        self.unread |= {t.text for t, u in pairwise(tokens) if u.text == ":"} | {
            u.text for t, u in pairwise(tokens) if t.text == "define"
        }
        if tokens[0].text == "goal":
            self.unread.add("goal")

    def skip(self, before: int, closing: str | None) -> None:
        cursor = self.cursor
        cursor.at = max(cursor.at, before + 1)
        while cursor.peek().kind != "end" and not self.starts_item():
            if closing and cursor.sees(closing) and self.is_first_on_line():
                return
            cursor.next()

    def starts_item(self) -> bool:
        cursor = self.cursor
        if not self.is_first_on_line():
            return False
        return cursor.sees("define", "goal", "@") or (cursor.peek().kind == "name" and cursor.sees(":", ahead=1))

    def is_first_on_line(self) -> bool:
        cursor = self.cursor
        return cursor.at == 0 or "\n" in cursor.source.text[cursor.tokens[cursor.at - 1].end : cursor.peek().start]

    def item(self) -> ItemSyntax:
        cursor = self.cursor
        is_pruned: bool | None = None
        while cursor.sees("@"):
            start = cursor.next().start
            token = cursor.expect_kind("name", "`prune` or `noprune`")
            if token.text not in _ANNOTATIONS:
                message = f"expected @prune or @noprune, got @{token.text}"
                span = cursor.span_from(start)
                raise UserError(Diagnostic("UNKNOWN_ANNOTATION", message, span, "remove it, or make it a comment with #"))
            is_pruned = _ANNOTATIONS[token.text]
        if cursor.sees("define"):
            return self.define()
        if cursor.sees("goal"):
            return self.goal()
        return self.statement(is_pruned)

    def statement(self, is_pruned: bool | None) -> StatementSyntax:
        cursor = self.cursor
        start = cursor.peek().start
        name = self.word("a statement `name: [shape] = value`, `define` or `goal`")
        cursor.expect(":", "give the shape: `name: [4, 8] = value`")
        type_ = self.type()
        cursor.expect("=", "a statement is `name: [shape] = value`")
        value = self.block() if cursor.sees("{") else self.value()
        return StatementSyntax(name, type_, value, is_pruned, cursor.span_from(start))

    def block(self) -> BlockSyntax:
        cursor = self.cursor
        opening = cursor.expect("{")
        self.blocks += 1
        if self.blocks > _MAX_BLOCKS:
            raise syntax_error(cursor.span_of(opening), f"at most {_MAX_BLOCKS} nested blocks", "one more")
        items = self.items("}")
        self.blocks -= 1
        cursor.expect("}", "close the block that starts with `{`")
        kept: list[StatementSyntax | DefineSyntax] = []
        for item in items:
            if isinstance(item, GoalSyntax):
                message = "expected one goal for the whole program, got a goal inside a block"
                self.found.append(Diagnostic("GOAL_IN_BLOCK", message, item.span, "move the goal out of the block"))
            else:
                kept.append(item)
        return BlockSyntax(tuple(kept), cursor.span_from(opening.start))

    def define(self) -> DefineSyntax:
        cursor = self.cursor
        start = cursor.expect("define").start
        name = self.word("the name of the definition")
        name_end = cursor.tokens[cursor.at - 1].end
        cursor.expect("(", "a definition is `define name([4, 4]) -> [4, 4] = gathers`")
        arguments = [self.type()]
        while cursor.accept(","):
            if cursor.sees(")"):
                break
            arguments.append(self.type())
        cursor.expect(")")
        cursor.expect("->", "give the output's shape: `-> [4, 4]`")
        out = self.type()
        cursor.expect("=")
        members: list[tuple[str, GatherArraySyntax | Lambda]] = []
        if cursor.accept("{"):
            while not cursor.sees("}"):
                kind = "string" if cursor.peek().kind == "string" else "name"
                member = cursor.expect_kind(kind, 'a member `name = gathers` or `"name" = gathers`').text
                cursor.expect("=")
                members.append((member, self.gathers()))
                if not cursor.accept(","):
                    break
            cursor.expect("}")
            if not members:
                raise syntax_error(cursor.span_from(start), "at least one member", "an empty list", "add `name = [..]`")
        else:
            members.append((name.text, self.gathers()))
        text = cursor.source.text
        end = cursor.tokens[cursor.at - 1].end
        written = text[start : name_end - len(name.text)], text[name_end:end]
        return DefineSyntax(name, tuple(arguments), out, tuple(members), written, cursor.span_from(start))

    def goal(self) -> GoalSyntax:
        cursor = self.cursor
        start = cursor.expect("goal").start
        target = type_ = None
        if cursor.accept(":"):
            type_ = self.type()
            has_sign = cursor.accept("=")
        else:
            target = self.word("`: [shape]` or the name of the last statement")
            cursor.expect("==", "write `goal: [shape] = ...` or `goal name == ...`")
            has_sign = True
        is_builtin = cursor.peek().kind == "name" and not cursor.sees("fold", "range")
        if is_builtin:
            value = BuiltinSyntax(self.word("the name of a goal"), self.options())
        elif has_sign:
            value = self.literal(self.folds(), may_go_on=True)
        else:
            raise cursor.wrong("`=` and a literal, or the name of a built-in goal")
        return GoalSyntax(target, type_, value, cursor.span_from(start))

    # ------------------------------------------------------------ values

    def value(self) -> LiteralSyntax | CallSyntax:
        start = self.cursor.peek().start
        folds = self.folds()
        if self.cursor.sees("[") or (self.cursor.sees("range") and self.cursor.sees("(", ahead=1)):
            return self.literal(folds, start)
        if len(folds) > 1:
            raise syntax_error(folds[1].span, "one fold in a call", "a second", "give the inner fold its own statement")
        return self.call(folds[0] if folds else None, start)

    def folds(self) -> tuple[FoldSyntax, ...]:
        folds: list[FoldSyntax] = []
        while self.cursor.sees("fold", "+", "*"):
            folds.append(self.fold())
        return tuple(folds)

    def call(self, fold: FoldSyntax | None, start: int) -> CallSyntax:
        cursor = self.cursor
        before = self.options() if fold else ()
        is_wrapped = fold is not None and cursor.accept("(")
        cursor.accept("?")
        fix = "name the operator as in fold(+) x" if is_wrapped else ""
        callee = self.word("a call, a variable, a literal or a block", fix)
        options = before + self.options()
        index = None
        if cursor.sees("(") and cursor.sees("\\", ahead=1):
            cursor.next()
            index = read_lambda(cursor)
            cursor.expect(")")
            if not cursor.sees("("):
                raise cursor.wrong("`(` and the arguments", f"write `{callee.text}(\\i, j. ...)(x)`")
        arguments: list[Word] | None = None
        if cursor.accept("("):
            arguments = []
            while not cursor.sees(")"):
                arguments.append(self.word("the name of a variable", "give an inner call its own statement"))
                if not cursor.accept(","):
                    break
            cursor.expect(")", "arguments are names: give an inner call its own statement")
        if is_wrapped:
            cursor.expect(")", "close the parenthesis of the fold")
        called = None if arguments is None else tuple(arguments)
        return CallSyntax(fold, callee, options, index, called, cursor.span_from(start))

    def options(self) -> tuple[OptionSyntax, ...]:
        cursor = self.cursor
        options: list[OptionSyntax] = []
        if cursor.accept("{"):
            while not cursor.sees("}"):
                key = self.word("an option `key`, `key=3` or `key=[1, 2]`")
                if any(o.key.text == key.text for o in options):
                    message = f"expected each option once, got `{key.text}` again"
                    raise UserError(Diagnostic("BAD_OPTION", message, key.span, "remove one of them"))
                value: OptionValue = True
                if cursor.accept("="):
                    value = self.integers() if cursor.sees("[") else cursor.integer("an integer or a list [1, 2]")
                options.append(OptionSyntax(key, value))
                if not cursor.accept(","):
                    break
            cursor.expect("}")
        return tuple(options)
