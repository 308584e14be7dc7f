"""Values that are looked up: tables of the file, parts of records, and what is asked of characters."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading.evaluate import MAX_OPTIONS, Evaluator
from warploom.scan.reading.records import fields_of, is_named_tuple
from warploom.scan.reading.texts import ASCII, CASES, COMPARISONS, TESTS, case_of, coded, digit_of, single, test_of, within
from warploom.scan.reading.values import (
    NONE,
    Character,
    Floating,
    Maybe,
    Record,
    Value,
    constant_of,
)


@dataclass(slots=True)
class Lookups(Evaluator):
    """Reads expressions with dictionaries, dataclass objects and characters."""

    asked: list[Expr] = field(default_factory=list[Expr])
    """Codes of characters that are asked what only ASCII characters are answered here."""

    def _part(self, node: ast.Subscript | ast.Attribute, record: Record, bindings: dict[str, Value]) -> str | int:
        """The key of a part of a record."""
        key: object = node.attr if isinstance(node, ast.Attribute) else None
        is_tuple = is_named_tuple(record.kind)
        if isinstance(node, ast.Subscript) and (record.kind is dict or is_tuple):
            index = self._present(node, self.value(node.slice, bindings))
            key = index.value if isinstance(index, Expr) and index.op == "const" else None
        if is_tuple and isinstance(node, ast.Subscript):
            names = list(fields_of(record.kind) or {})
            key = names[key] if isinstance(key, int) and type(key) is int and -len(names) <= key < len(names) else None
        if (
            (isinstance(node, ast.Attribute) == (record.kind is dict) and not is_tuple)
            or not isinstance(key, str | int)
            or key not in record.parts
        ):
            known = ", ".join(map(str, record.parts))
            self.module.unsupported(
                node, f"expected one of the constant keys {known}, got {ast.unparse(node)}", "Use one of them."
            )
        return key

    def _dictionary(self, node: ast.Dict, bindings: dict[str, Value]) -> Record:
        keys = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str | int)]
        if len(keys) != len(node.keys) or len({str(k) for k in keys}) != len(keys):
            self.module.unsupported(node, "expected a dictionary with different constant keys", "Use literal keys.")
        values = [self.value(v, bindings) for v in node.values]
        return Record(dict, dict(zip(keys, values, strict=True)))

    def _object(self, node: ast.Call, kind: type, bindings: dict[str, Value]) -> Record:
        """A new object of a dataclass."""
        given: dict[str, ast.expr] = {}
        names = fields_of(kind)
        if names is None or len(node.args) > len(names) or any(k.arg not in names for k in node.keywords):
            message = f"expected a dataclass with plain fields and its own arguments, got {ast.unparse(node)}"
            self.module.unsupported(node, message, "Use a @dataclass without __init__ and __post_init__.")
        given |= zip(names, node.args, strict=False)
        given |= {str(k.arg): k.value for k in node.keywords}
        parts: dict[str | int, Value] = {
            n: self.value(given[n], bindings) if n in given else self._constant(node, default) for n, default in names.items()
        }
        if any(isinstance(v, Record) for v in parts.values()):
            self.module.unsupported(
                node, "expected numbers and tuples in a record, got another record", "Use one variable per part."
            )
        return Record(kind, parts)

    def _container(self, node: ast.expr, op: ast.cmpop, bindings: dict[str, Value]) -> Value:
        """The value on the right of `in`; this may be a set or a dictionary of the file, which is not changed while the loop
        runs."""
        if isinstance(op, ast.In | ast.NotIn):
            if isinstance(node, ast.Set):
                return tuple(self.value(e, bindings) for e in node.elts)
            if isinstance(node, ast.Name) and isinstance(record := bindings.get(node.id), Record) and record.kind is dict:
                return tuple(k for k in map(constant_of, record.parts) if k is not None)
            if isinstance(node, ast.Name) and node.id not in bindings and node.id not in self.function.locals:
                found = self.bound(node)
                table = cast("Collection[object]", found) if type(found) in (dict, set, frozenset) else None
                if table is not None and len(table) <= MAX_OPTIONS:
                    keys = [constant_of(k) for k in sorted(table, key=repr)]
                    if None not in keys:
                        return tuple(k for k in keys if k is not None)
        return self.value(node, bindings)

    def _looked_up(self, node: ast.expr, table: Mapping[object, object], key: Value, default: Value | None) -> Value:
        """A value of a dictionary of the file, or of one that the function made, whose values are read; without a default the
        key is assumed to be there, where this is reached."""
        keys = [constant_of(k) for k in table]
        if len(keys) > MAX_OPTIONS or None in keys or (not keys and default is None):
            self.module.unsupported(
                node, f"expected a table of at most {MAX_OPTIONS} constant keys, got another", "Write it out."
            )
        found = default
        tests: list[Expr] = []
        for known, value in zip(keys, table.values(), strict=True):
            assert known is not None
            tests.append(self._compare(node, ast.Eq(), key, known))
            option = value if isinstance(value, Expr | Floating | Character) else self._constant(node, value)
            found = option if found is None else self._selected(node, tests[-1], option, found)
        if default is None:
            self._assume(ex.either(*tests))
        assert found is not None
        return found

    def _compare_characters(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        if isinstance(left, Maybe) or isinstance(right, Maybe) or isinstance(op, ast.Is | ast.IsNot):
            return self._compare_none(node, op, left, right)
        if isinstance(op, ast.In | ast.NotIn):
            options = right if isinstance(right, tuple) else None
            if isinstance(right, Expr) and right.op == "const" and isinstance(right.value, str):
                options = tuple(ex.constant(c) for c in right.value)
            if options is None:
                self.module.unsupported(node, "expected a literal text or a tuple after in, got another value", "Write it out.")
            found = ex.either(*(self._compare(node, ast.Eq(), left, o) for o in options))
            return found if isinstance(op, ast.In) else ex.negation(found)
        a, b = coded(left), coded(right)
        if a is not None and b is not None:
            return COMPARISONS[type(op)](a.expr, b.expr)
        is_text = any(isinstance(v, Expr) and v.op == "const" and isinstance(v.value, str) for v in (left, right))
        if not isinstance(op, ast.Eq | ast.NotEq) or not is_text:
            self.module.unsupported(node, "expected texts of one character, got others", "Compare characters with characters.")
        return ex.constant(isinstance(op, ast.NotEq))

    def _place_in_text(
        self, node: ast.Call, owner: ast.expr, is_there: bool, key: ast.expr, bindings: dict[str, Value]
    ) -> Value | None:
        """The place of a character in a literal text, `"0123456789abcdef".index(c)`; None: another call."""
        text = self.value(owner, bindings)
        if not (isinstance(text, Expr) and text.op == "const" and isinstance(text.value, str)):
            return None
        code = single(self._present(key, self.value(key, bindings)))
        if code is None:
            return None
        runs: list[tuple[int, int, int]] = []  # first code, last code, place of the first
        seen: set[str] = set()
        for place, one in enumerate(text.value):
            if one not in seen and runs and runs[-1][1] == ord(one) - 1 and runs[-1][2] + ord(one) - runs[-1][0] == place:
                runs[-1] = (runs[-1][0], ord(one), runs[-1][2])
            elif one not in seen:
                runs.append((ord(one), ord(one), place))
            seen.add(one)
        if not runs or len(runs) > MAX_OPTIONS:
            return None
        found: Expr | None = None if is_there else ex.constant(-1)
        tests: list[Expr] = []
        for first, last, place in reversed(runs):
            tests.append(ex.both(ex.at_least(code.expr, ex.constant(first)), ex.at_least(ex.constant(last), code.expr)))
            at = ex.add(code.expr, ex.constant(place - first))
            found = at if found is None else ex.select(tests[-1], at, found)
        if is_there:
            self._assume(ex.either(*tests))
        return found

    def _of_text(self, node: ast.Call, bindings: dict[str, Value]) -> Value | None:
        """`c.isdigit()`, `ord(c)`, `int(c)` of characters, and `TABLE.get(key, default)`; None: another call."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[key, *rest], keywords=[]) if (
                isinstance(record := bindings.get(name), Record) and record.kind is dict and len(rest) < 2
            ):
                default = self.value(rest[0], bindings) if rest else NONE
                table = cast("Mapping[object, object]", record.parts)
                return self._looked_up(node, table, self._present(key, self.value(key, bindings)), default)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as owner, attr="get"), args=[key, *rest], keywords=[]) if (
                name not in bindings and type(table := self.bound(owner)) is dict and len(rest) < 2
            ):
                default = self.value(rest[0], bindings) if rest else NONE
                asked = self._present(key, self.value(key, bindings))
                return self._looked_up(node, cast("Mapping[object, object]", table), asked, default)
            case ast.Call(
                func=ast.Attribute(value=ast.Name() | ast.Constant() as owner, attr="index" | "find" as name), args=[key]
            ):
                return self._place_in_text(node, owner, name == "index", key, bindings)
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Call() as owner, attr=name), args=[], keywords=[]) if (
                name in TESTS or name in CASES
            ):
                if isinstance(owner, ast.Name) and owner.id not in bindings:
                    return None
                one = self._present(owner, self.value(owner, bindings))
                if not isinstance(one, Character):
                    return None
                self.asked.append(one.expr)
                self.assumed.append(within(one.expr, ASCII))
                return test_of(name, one.expr) if name in TESTS else case_of(name, one.expr)
            case ast.Call(func=ast.Name(id=name) as called, args=[one], keywords=[]) if (
                name in ("ord", "int") and name not in bindings
            ):
                bound = self.bound(called)
                if bound not in (ord, int):
                    return None
                value = self._present(one, self.value(one, bindings))
                code = coded(value)
                if code is None or (bound is int and not isinstance(value, Character)):
                    return None
                if bound is ord:
                    return code.expr
                self.asked.append(code.expr)
                digit = within(digit_of(code.expr), 9)
                self._assume(digit)
                return digit_of(code.expr)
            case _:
                return None
