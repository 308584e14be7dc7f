"""A report line as a table of HTML, for notebooks and for results that have no page of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import cast

from warploom.tools.html.shell import section, whole

_AMBER = "light-dark(#8a5b00, #e3b341)"
_COLOURS = {"solved": "light-dark(#1a7f37, #4ac26b)", "unsat": _AMBER, "unknown": _AMBER}
_HEAD = ("v", "case", "status", "verdict", "domain")
_SPENT = {"seconds": "CPU s", "wall_s": "s", "peak_mb": "MB"}
_TOP = "text-align:left;vertical-align:top"
_STYLE = f"{_TOP};white-space:pre-wrap;font-family:monospace"


def line_table(line: Mapping[str, object]) -> str:
    """A headline with status and verdict, the other fields that are not empty, and last what it took."""
    status = str(line["status"])
    over = f" over {line['domain']}" if line.get("domain") else ""
    colour = _COLOURS.get(status, "light-dark(#cf222e, #ff7b72)")
    head = f"<b>{escape(str(line['case']))}</b>: <span style='color:{colour}'>{escape(status)}</span>"
    rows = "".join(
        f"<tr><th style='{_TOP}'>{escape(name)}</th><td style='{_STYLE}'>{escape(_text(value))}</td></tr>"
        for name, value in line.items()
        if name not in _HEAD and name not in _SPENT and value not in (None, "", [], {})
    )
    spent = ", ".join(f"{line[name]} {unit}" for name, unit in _SPENT.items() if name in line)
    return f"<div><p>{head}, {escape(str(line['verdict']) + over)}</p><table>{rows}</table><p><small>{spent}</small></p></div>"


def line_page(line: Mapping[str, object]) -> str:
    """The table as a page that needs no other file."""
    return whole(str(line["case"]), section(line_table(line)))


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case dict():
            return "\n".join(f"{name}: {_text(inner)}" for name, inner in cast("dict[str, object]", value).items())
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)
