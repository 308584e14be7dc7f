"""Regular expressions that are asked of a whole text, as loops of their automata.

    re.fullmatch(P, text) is not None        if state == 0: ...  for every character, and state in (...) after the loop
    bool(P.search(text)), not P.match(text)  P: a text or a compiled pattern that names are bound to, or written here

The match itself has groups and places, which an automaton does not keep: only whether there is one may be asked.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import cast

from warploom.scan.reading.patterns import Automaton, PatternError, automaton
from warploom.scan.reading.rewriting import assigned, is_bound, name_of, stores
from warploom.scan.reading.source import MISSING, Function, attribute_of

_WAYS = ("fullmatch", "match", "search")
_FUNCTIONS = tuple((way, getattr(re, way)) for way in _WAYS)
_Pattern = re.Pattern[str] | re.Pattern[bytes]


@dataclass(frozen=True, slots=True)
class Match:
    """A call that asks a pattern of a parameter: the parameter, the pattern and the way in which it is asked."""

    over: ast.Name
    pattern: _Pattern
    way: str
    node: ast.Call


@dataclass(slots=True)
class Matches:
    """The patterns and matches of one function."""

    function: Function
    patterns: dict[str, _Pattern] = field(default_factory=dict[str, _Pattern])
    """Variables that keep a compiled pattern throughout."""
    kept: dict[str, Match] = field(default_factory=dict[str, Match])
    """Variables that keep a match throughout."""

    def binds(self, statement: ast.stmt) -> bool:
        """Whether the statement names a pattern or a match, which is then known, and does nothing else."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if stores(self.function.node, name) == 1:
                made = self._constant(value)
                if isinstance(made, re.Pattern):
                    self.patterns[name] = cast("_Pattern", made)
                    return True
                found = self.match(value)
                if found is not None:
                    self.kept[name] = found
                    return True
            case _:
                pass
        return False

    def match(self, node: ast.expr) -> Match | None:
        """The match that an expression is; None: it is something else."""
        match node:
            case ast.Name(id=name):
                return self.kept.get(name)
            case ast.Call(func=called, args=[pattern, ast.Name(id=name) as over, *flags], keywords=named) if (
                self._is_text(name) and len(flags) + len(named) < 2 and all(k.arg == "flags" for k in named)
            ):
                way = next((w for w, f in _FUNCTIONS if is_bound(self.function, called, f)), None)
                if way is None:
                    return None
                found = self._compiled(pattern, *flags, *(k.value for k in named))
                return None if found is None else Match(over, found, way, node)
            case ast.Call(func=ast.Attribute(value=owner, attr=way), args=[ast.Name(id=name) as over], keywords=[]) if (
                way in _WAYS and self._is_text(name)
            ):
                found = self._constant(owner)
                return Match(over, cast("_Pattern", found), way, node) if isinstance(found, re.Pattern) else None
            case _:
                return None

    def automaton(self, asked: Match) -> Automaton:
        """Raises UserError where the pattern is not served, or is one of another kind of text."""
        module, hint = self.function.module, self.function.annotation(asked.over.id)
        wanted = str if isinstance(asked.pattern.pattern, str) else bytes
        if hint is not wanted:
            message = f"expected {asked.over.id} to be annotated as {wanted.__name__}, as the pattern is"
            module.unsupported(asked.node, message, f"Write {asked.over.id}: {wanted.__name__}.")
        try:
            return automaton(asked.pattern, asked.way)
        except PatternError as error:
            fix = "Use characters, classes, |, groups and repetitions, and few of them."
            return module.unsupported(asked.node, f"{error}: {asked.pattern.pattern!r}", fix)

    def refuse(self, asked: Match) -> None:
        """Raises UnsupportedError: the match itself is used."""
        message = "expected to be asked whether there is a match, got the match itself"
        self.function.module.unsupported(asked.node, message, "Compare it with None (is not None), or write bool(...).")

    def _is_text(self, name: str) -> bool:
        return name in self.function.parameters and not stores(self.function.node, name)

    def _compiled(self, node: ast.expr, *flags: ast.expr) -> _Pattern | None:
        pattern, known = self._constant(node), [self._constant(f) for f in flags]
        if MISSING in known or not isinstance(pattern, str | bytes | re.Pattern):
            return None
        try:
            with warnings.catch_warnings(action="ignore"):  # they are given where the function runs
                return cast("_Pattern", re.compile(cast("str", pattern), *cast("list[re.RegexFlag]", known)))
        except (re.error, TypeError, ValueError, OverflowError) as error:
            module = self.function.module
            return module.wrong(node, "PATTERN", f"expected a regular expression, got {ast.unparse(node)}: {error}", "Mend it.")

    def _constant(self, node: ast.expr) -> object:
        """The value of an expression of literals and of names that the function does not set; MISSING: it is another one."""
        function = self.function
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.patterns.get(name, MISSING) if name in function.locals else function.lookup(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner not in function.locals:
                module = function.lookup(owner)
                return attribute_of(module, name) if isinstance(module, ModuleType) else MISSING
            case ast.BinOp(left=left, op=ast.BitOr() | ast.Add() as op, right=right):
                first, second = self._constant(left), self._constant(right)
                if isinstance(op, ast.BitOr) and isinstance(first, re.RegexFlag) and isinstance(second, re.RegexFlag):
                    return first | second
                if isinstance(op, ast.Add) and isinstance(first, str) and isinstance(second, str):
                    return first + second
                return MISSING
            case ast.Call(func=called, args=[pattern, *flags], keywords=named) if (
                is_bound(function, called, re.compile) and all(k.arg == "flags" for k in named) and len(flags) + len(named) < 2
            ):
                found = self._compiled(pattern, *flags, *(k.value for k in named))
                return MISSING if found is None else found
            case _:
                return MISSING


def begun(state: str) -> list[ast.stmt]:
    return [assigned(state, ast.Constant(0))]


def moved(found: Automaton, state: str, target: str, *, is_bytes: bool) -> list[ast.stmt]:
    """The statements that move the state by one character."""
    made: list[ast.stmt] = []
    if not is_bytes:  # of all characters, too: so that they are read by their codes
        made.append(ast.Assert(ast.Compare(name_of(target), [ast.LtE()], [ast.Constant(chr(found.most))])))
    otherwise: list[ast.stmt] = []
    for number, moves in reversed([*enumerate(found.moves)]):
        value = _next(moves, target, is_bytes=is_bytes)
        if isinstance(value, ast.Constant) and value.value == number:
            continue  # it stays, as below
        here = ast.Compare(name_of(state), [ast.Eq()], [ast.Constant(number)])
        otherwise = [ast.If(here, [assigned(state, value)], otherwise)]
    return [*made, *otherwise]


def accepted(found: Automaton, state: str) -> ast.expr:
    """Whether the text matches that left the automaton in this state."""
    if len(found.accepted) in (0, len(found.moves)):
        return ast.Constant(bool(found.accepted))
    options: list[ast.expr] = [ast.Constant(n) for n in sorted(found.accepted)]
    return ast.Compare(name_of(state), [ast.In()], [ast.Tuple(options, ast.Load())])


def _next(moves: Iterable[tuple[int, int, int]], target: str, *, is_bytes: bool) -> ast.expr:
    """The next state by the character: that of most ranges where no test holds."""
    ranges: Mapping[int, list[tuple[int, int]]] = defaultdict(list)
    for first, last, after in moves:
        ranges[after].append((first, last))
    usual = max(ranges, key=lambda n: (len(ranges[n]), sum(last - first for first, last in ranges[n])))
    found: ast.expr = ast.Constant(usual)
    for after, taken in ranges.items():
        if after != usual:
            tests: list[ast.expr] = [_within(target, *r, is_bytes=is_bytes) for r in taken]
            test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
            found = ast.IfExp(test, ast.Constant(after), found)
    return found


def _within(target: str, first: int, last: int, *, is_bytes: bool) -> ast.expr:
    """A range, so that characters are asked for their codes."""
    low, high = (ast.Constant(code if is_bytes else chr(code)) for code in (first, last))
    return ast.Compare(low, [ast.LtE(), ast.LtE()], [name_of(target), high])


__all__ = ["Match", "Matches", "accepted", "begun", "moved"]
