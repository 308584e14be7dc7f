"""Branches that refuse: where a prover, checker or reader says no, or says that it does not know.

A branch refuses if it ends in `raise`, if it returns False, None, a reason or a verdict other than yes where the function can
also return something else, or if it hands a finding to a list of them. Switching it off lets the program go on as if nothing had
been wrong. Where nothing follows that it could go on with, and the end of the function would say the same, "no" becomes "yes" and
an exception that was taken for "none" is raised.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from benchmarks.mutants.sites import Edit, Site, Text, numbered

_CONTROL = ("StopSearchError", "ConflictError", "StopIteration", "Silent", "KeyboardInterrupt", "AssertionError", "SystemExit")
"""Exceptions that steer a search or mark a bug of our own; nobody is refused anything."""
_LISTS = ("findings", "faults", "problems", "diagnostics", "refused", "reasons", "conditions", "errors", "unproved", "unknowns")
_CALLS = (
    "finding",
    "fault",
    "report",
    "refuse",
    "problem",
    "complain",
    "unproved",
    "unknown",
    "fail",
    "wrong",
    "race",
    "reject",
    "unsupported",
    "bad",
)
_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z]{4,}")
"""Codes of diagnostics."""
_ANSWERS = ("Refuted", "Unknown", "Unchecked", "Finding", "Refused", "Fault", "Failed", "Unfit", "GaveUp", "Problem",
            "NotFollowed", "Open", "Fails", "Unsat")  # fmt: skip
_WORDS = ("unchecked", "refuted", "refused", "unknown", "different", "open", "tested", "error")
"""First arguments of verdicts, or verdicts themselves."""


def refusals(text: Text) -> list[Site]:
    """All refusing branches of a file, in order."""
    return list(numbered(_in_body(text, text.tree.body, "", None, ends=False)))


def _in_body(
    text: Text, body: list[ast.stmt], scope: str, function: ast.FunctionDef | None, *, ends: bool
) -> Iterator[Site]:  # fmt: skip
    """`ends`: nothing of the function follows the body."""
    for statement in body:
        last = ends and statement is body[-1]
        match statement:
            case ast.FunctionDef():
                yield from _in_body(text, statement.body, _join(scope, statement.name), statement, ends=True)
            case ast.ClassDef():
                yield from _in_body(text, statement.body, _join(scope, statement.name), None, ends=False)
            case ast.If():
                if _refuses(statement.body, function):
                    yield _condition(text, scope, statement.body, statement.test)
                yield from _in_body(text, statement.body, scope, function, ends=last)
                other = statement.orelse
                if other and not isinstance(other[0], ast.If) and _refuses(other, function):
                    yield from _dropped(text, scope, other, function, last)
                yield from _in_body(text, other, scope, function, ends=last)
            case ast.Match():
                for case in statement.cases:
                    if _refuses(case.body, function) and not _is_never(case.body):
                        yield from _dropped(text, scope, case.body, function, last)
                    yield from _in_body(text, case.body, scope, function, ends=last)
            case ast.Try():
                for handler in statement.handlers:
                    if _refuses(handler.body, function):
                        yield from _dropped(text, scope, handler.body, function, last, raised="raise")
                    yield from _in_body(text, handler.body, scope, function, ends=last)
                for part in (statement.body, statement.orelse, statement.finalbody):
                    yield from _in_body(text, part, scope, function, ends=False)
            case ast.For() | ast.While():
                yield from _in_body(text, statement.body, scope, function, ends=False)
                yield from _in_body(text, statement.orelse, scope, function, ends=False)
            case ast.With():
                yield from _in_body(text, statement.body, scope, function, ends=last)
            case _:
                pass


def _condition(text: Text, scope: str, body: list[ast.stmt], test: ast.expr) -> Site:
    edit = Edit(*text.range_of(test), "False")
    return Site(text.path, scope, "refusal", body[0].lineno, edit, text.of(test), "condition", bool(scope))


def _dropped(
    text: Text, scope: str, body: list[ast.stmt], function: ast.FunctionDef | None, last: bool, raised: str = ""
) -> Iterator[Site]:  # fmt: skip
    """`last`: the end of the function follows, which returns None; `raised`: how an exception goes on that was handled here."""
    start, end = text.range_of(body[0])[0], text.range_of(body[-1])[1]
    off = "pass"
    if last and function is not None:
        off = {"return False": "return True", "return None": raised}.get(ast.unparse(body[-1]), "pass")
    if off:
        edit = Edit(start, end, off)
        yield Site(text.path, scope, "refusal", body[0].lineno, edit, text.source(start, end), "statement", bool(scope))


def _is_never(body: list[ast.stmt]) -> bool:
    return "assert_never" in ast.unparse(body[-1])


def _refuses(body: list[ast.stmt], function: ast.FunctionDef | None) -> bool:
    match body[-1]:
        case ast.Raise(exc=None):
            return False
        case ast.Raise(exc=exception) if exception is not None:
            return not any(word in ast.unparse(exception) for word in _CONTROL)
        case ast.Return(value=value) if value is not None:
            return len(body) <= 2 and function is not None and (_is_no(value, function) or _has_code(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr="append" | "add" | "extend"))) if _is_list(of):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) as call):
            return name.strip("_").startswith(_CALLS) or _has_code(call)
        case ast.Expr(value=ast.Yield(value=value)) if value is not None:
            return _called(value) in _ANSWERS or isinstance(value, ast.JoinedStr) or _has_code(value)
        case _:
            return False


def _is_list(of: ast.expr) -> bool:
    """Whether something is called like a list of findings."""
    return any(ast.unparse(of).split(".")[-1].strip("_").endswith(name) for name in _LISTS)


def _has_code(value: ast.expr) -> bool:
    """Whether a call is given a diagnostic's code, or makes a diagnostic that has one."""
    if not isinstance(value, ast.Call):
        return False
    words = (a for node in (value, *value.args) if isinstance(node, ast.Call) for a in node.args[:1])
    return any(isinstance(a, ast.Constant) and isinstance(a.value, str) and _CODE.fullmatch(a.value) for a in words)


def _is_no(value: ast.expr, function: ast.FunctionDef) -> bool:
    answer = ast.unparse(function.returns) if function.returns else ""
    kinds = [kind.strip() for kind in answer.split("|")]
    match value:
        case ast.Constant(value=False):
            return answer == "bool"
        case ast.Constant(value=None):
            return "None" in kinds and len(kinds) > 1
        case ast.Constant(value=str(word)):
            return word in _WORDS or ("str" in kinds and len(kinds) > 1)
        case ast.JoinedStr():
            return "str" in kinds and len(kinds) > 1
        case ast.Call(args=args) if any(isinstance(a, ast.Constant) and a.value in _WORDS for a in args[:3]):
            return True
        case ast.Call():
            return _called(value) in _ANSWERS
        case ast.Name(id=name):
            return any(word in name for word in ("refus", "fault", "reason", "error", "wrong", "problem", "verdict", "unknown"))
        case _:
            return False


def _called(value: ast.expr) -> str:
    if not isinstance(value, ast.Call):
        return ""
    return value.func.attr if isinstance(value.func, ast.Attribute) else value.func.id if isinstance(value.func, ast.Name) else ""


def _join(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
