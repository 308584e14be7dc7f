"""Pages of the reference that are made of the code: commands, error codes, report lines."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from warploom.tools.cli import cli
from warploom.tools.command.schema import schema
from warploom.tools.lint.rules import RULES

SOURCE = Path(__file__).parents[2] / "src" / "warploom"

# --- commands


def commands(group: click.Group, path: str = "warploom") -> Iterator[tuple[str, click.Command]]:
    """All that are listed, by their words."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if command is None or command.hidden:
            continue
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def commands_page() -> str:
    """Each command with its help and its options."""
    parts = ["# Commands\n\nEvery command takes `--help`. Exit codes and `--json`: [Reports](reports.md).\n"]
    for name, command in commands(cli):
        context = click.Context(command, info_name=name)
        parts.append(f"## {name}\n")
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"```text\n{name} {usage}\n```\n")
        parts.append(_paragraphs(command.help or ""))
        rows = [record for p in command.params if isinstance(p, click.Option) and (record := p.get_help_record(context))]
        parts.append("| option | what it does |\n| --- | --- |")
        parts.append("".join(f"| `{_cell(option)}` | {_cell(text)} |\n" for option, text in rows))
    return "\n".join(parts)


def _paragraphs(text: str) -> str:
    """Text of a help, whose line ends mean nothing."""
    return "\n\n".join(_escaped(" ".join(part.split())) for part in re.split(r"\n\s*\n", text)) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


# --- errors


@dataclass
class Code:
    """One stable code: what the messages say, and the places in the code that give it."""

    messages: list[str] = field(default_factory=list)
    fixes: list[str] = field(default_factory=list)
    packages: set[str] = field(default_factory=set)


def codes(folder: Path = SOURCE) -> Mapping[str, Code]:
    """Every code that stands in a call of `Diagnostic` below the folder, with the messages and fixes that stand there."""
    found: dict[str, Code] = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "Diagnostic(" in text else ():
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Diagnostic" and node.args
            ):
                continue
            for name in _codes_in(node.args[0]):
                code = found.setdefault(name, Code())
                code.packages.add(path.relative_to(SOURCE).parts[0].removesuffix(".py"))
                given = {word.arg: word.value for word in node.keywords}
                for texts, value in (
                    (code.messages, node.args[1] if len(node.args) > 1 else given.get("message")),
                    (code.fixes, node.args[3] if len(node.args) > 3 else given.get("fix")),
                ):
                    if value is not None and (text := _text(value)) and text not in texts:
                        texts.append(text)
    return dict(sorted(found.items()))


def _codes_in(node: ast.expr) -> list[str]:
    found = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [text for text in found if re.fullmatch(r"[A-Z][A-Z0-9_]+", text)]


def _text(node: ast.expr) -> str:
    """A literal; what is computed stands as three dots."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) if isinstance(value, ast.Constant) else "…" for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case _:
            return ""


def errors_page(found: Mapping[str, Code]) -> str:
    """One row for each code."""
    lines = [
        "# Error codes",
        "",
        "What is wrong in the input is told as `FILE:LINE:COLUMN: error[CODE]: expected X, got Y`, the line, and often a fix.",
        "Codes are stable. The messages below have `…` where a name or a number stands. Rules of `warploom lint` are at the end.",
        "",
        "| code | of | for example | fix |",
        "| --- | --- | --- | --- |",
    ]
    for name, code in found.items():
        told = _escaped(_cell(code.messages[0])) if code.messages else ""
        fix = _escaped(_cell(code.fixes[0])) if code.fixes else ""
        lines.append(f"| `{name}` | {', '.join(sorted(code.packages))} | {told} | {fix} |")
    lines += [
        "",
        "## Rules of lint",
        "",
        "[Lint](../lint.md) explains each.",
        "",
        "| rule | level | what it says | fix |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| `{rule.id}` {rule.name} | {rule.level} | {_cell(rule.title)} | {_cell(rule.fix)} |" for rule in RULES]
    return "\n".join(lines) + "\n"


# --- report lines


def reports_page() -> str:
    """Exit codes, and the fields of report lines as the schema describes them."""
    whole: Mapping[str, Any] = schema()
    rows = [(name, field) for name, field in whole["properties"].items()]
    required = set(whole["required"])
    lines = [
        "# Reports and exit codes",
        "",
        "With `--json`, stdout has one JSON object for each result; all else goes to stderr. `v` is the version of this "
        f"schema, {whole['properties']['v']['const']}: fields are added, none is changed. "
        "As a file: [report.schema.json](report.schema.json).",
        "",
        "| exit code | what it means |",
        "| --- | --- |",
        "| 0 | all that was asked for is solved |",
        "| 1 | something is proved impossible, refuted or refused |",
        "| 2 | bad input; the message has the place |",
        "| 3 | gave up on something: budget, memory, a question that is not decided |",
        "| 130 | interrupted; the best so far is printed |",
        "",
        "## Fields of every line",
        "",
        "| field | type | what it is |",
        "| --- | --- | --- |",
        *(_field_row(name, field) for name, field in rows if name in required or name == "reason"),
        "",
        "## Fields that several commands have",
        "",
        "| field | type | what it is |",
        "| --- | --- | --- |",
        *(_field_row(name, field) for name, field in rows if name not in required and name != "reason"),
        "",
        "Other fields belong to one command; its page describes them.",
        "",
    ]
    return "\n".join(lines)


def _field_row(name: str, about: Mapping[str, Any]) -> str:
    kind = about.get("type") or (
        "one of " + ", ".join(f"`{v}`" for v in about["enum"]) if "enum" in about else f"`{about.get('const')}`"
    )
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    return f"| `{name}` | {kind} | {_cell(about.get('description', ''))} |"


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/errors.md": lambda: errors_page(codes()),
    "reference/reports.md": reports_page,
    "reference/report.schema.json": lambda: json.dumps(schema(), indent=2) + "\n",
}
"""The function that makes the text of each place in the documentation."""
