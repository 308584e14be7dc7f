"""Imports that no import contract of pyproject.toml can state: past a package's front door, and in circles for types."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from textwrap import dedent

SRC = Path(__file__).parents[1] / "src"
OPEN = {"core", "tools"}
"""`core` is loaded piece by piece when a command starts, and packages of `tools` have no front door: a module is an address."""


IMPORT = re.compile(r"^[ \t]*(?:from|import) warploom\b(?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE)
"""An import of the project wherever it stands; also one that a docstring shows. To parse whole files takes seconds."""


@cache
def modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted((SRC / "warploom").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_package(name: str) -> bool:
    return modules()[name].name == "__init__.py"


@cache
def imports(name: str) -> tuple[tuple[str, str], ...]:
    """(module, name taken from it) of every import of the project, at the top, in functions, and for types."""
    found: list[tuple[str, str]] = []
    text = modules()[name].read_text()
    for node in ast.parse("\n".join(dedent(each[0]) for each in IMPORT.finditer(text))).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name in modules()]
    return tuple(found)


@cache
def offered(package: str) -> frozenset[str]:
    """Names that a package's `__init__`, or the stub that a lazy one reads, brings in or defines."""
    path = modules()[package]
    stub = path.with_suffix(".pyi")
    body = [*ast.parse(path.read_text()).body, *(ast.parse(stub.read_text()).body if stub.exists() else [])]
    names = {a.asname or a.name for n in body if isinstance(n, ast.ImportFrom) and n.module != package for a in n.names}
    names |= {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return frozenset(names)


def past(importer: str, module: str, name: str) -> bool:
    """Whether the import reaches into another package past what its `__init__` offers."""
    package = module.split(".")[1] if "." in module else ""
    if not package or package in OPEN or importer.split(".")[1:2] == [package]:
        return False
    inner = f"{module}.{name}"
    return not is_package(module) or (inner in modules() and not is_package(inner) and name not in offered(module))


def test_from_outside_only_a_package_is_imported_from() -> None:
    found = {f"{importer}: from {m} import {n}" for importer in modules() for m, n in imports(importer) if past(importer, m, n)}
    assert not found, "export the name from the package's __init__, or move it"


def targets(importer: str) -> frozenset[str]:
    inner = {f"{m}.{n}" if f"{m}.{n}" in modules() and n not in offered_by(m) else m for m, n in imports(importer)}
    return frozenset(m for m in inner if m in modules() and m != importer)


def offered_by(module: str) -> frozenset[str]:
    return offered(module) if is_package(module) else frozenset()


def circles() -> list[list[str]]:
    """Modules that need each other, those for types and inside functions included: components of more than one module."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        open_.append(name)
        for other in sorted(targets(name)):
            if other not in number:
                visit(other)
            if other in open_:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            circle = open_[open_.index(name) :]
            del open_[open_.index(name) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for name in modules():
        if name not in number:
            visit(name)
    return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles() == []
