"""The part of docs/api.md that is made from the code: every function with its signature, every result with its fields."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from warploom import api

FUNCTIONS = (
    "complete",
    "solve",
    "lift",
    "check_operator",
    "explore",
    "jit",
    "scanned",
    "load_kernel",
    "prove_ptx",
    "shuffle_ptx",
    "run_ptx",
    "layout",
    "check_layout",
    "exchange",
)
RESULTS = (
    "Result",
    "Completed",
    "Solved",
    "Lifted",
    "Emitted",
    "CheckedOperator",
    "Explored",
    "JitFunction",
    "RunningFunction",
    "RunningScan",
    "ScannedFunction",
    "LoadedKernel",
    "ProvedPtx",
    "ShuffledPtx",
    "RanPtx",
    "Laid",
    "Exchanged",
)
MARK = "<!-- From here on the page is made from the code: `make golden`. -->\n"


def generated() -> str:
    parts = [_function(getattr(api, name)) for name in FUNCTIONS] + [_result(getattr(api, name)) for name in RESULTS]
    return MARK + "\n" + "\n".join(parts)


def _function(function: Callable[..., Any]) -> str:
    text = f"wl.{function.__name__}{_signature(function)}"
    return f"## wl.{function.__name__}\n\n```\n{text}\n```\n\n{inspect.getdoc(function)}\n"


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    rows: list[str] = []
    is_keyword = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            rows.append("*")
            is_keyword = True
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        rows.append(f"{parameter.name}: {parameter.annotation}{default}")
    return "(\n" + "".join(f"    {row},\n" for row in rows if row != "self") + f") -> {signature.return_annotation}"


def members(result: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and docstring of what the class itself has for users."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(result)))
    assert isinstance(tree.body[0], ast.ClassDef)
    body = tree.body[0].body
    for place, node in enumerate(body):
        following = body[place + 1] if place + 1 < len(body) else None
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assert isinstance(following, ast.Expr), f"{node.target.id} of {result.__name__} has no docstring"
            yield node.target.id, ast.unparse(node.annotation), ast.literal_eval(following.value)
        if isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name in ("_repr_html_", "_repr_svg_")):
            said = ast.get_docstring(node)
            assert said, f"{node.name} of {result.__name__} has no docstring"
            is_property = any(ast.unparse(d) in ("property", "cached_property") for d in node.decorator_list)
            kind = ast.unparse(node.returns) if node.returns is not None else ""
            yield (
                node.name if is_property else f"{node.name}({ast.unparse(node.args).removeprefix('self').lstrip(', ')})",
                kind,
                said,
            )


def _result(result: type) -> str:
    base = result.__bases__[0]
    of = "" if base.__name__ not in RESULTS else f" A `{base.__name__}` with these fields besides:"
    rows = "".join(f"| `{_cell(n)}` | `{_cell(t)}` | {_cell(' '.join(said.split()))} |\n" for n, t, said in members(result))
    table = f"\n| field | type | what it is |\n| --- | --- | --- |\n{rows}" if rows else ""
    return f"## {result.__name__}\n\n{inspect.getdoc(result)}{of}\n{table}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
