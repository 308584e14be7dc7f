"""The parts of the documentation site, which `make docs` builds."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import click
import pytest
from docs.generate import reference

from warploom.tools.cli import cli
from warploom.tools.command.lines import broken_rules
from warploom.tools.command.schema import schema
from warploom.tools.lint.rules import RULES

ROOT = Path(__file__).parents[1]
LINE: dict[str, Any] = {
    "v": 1, "case": "a", "status": "solved", "verdict": "proved", "domain": "integers", "seconds": 0, "wall_s": 0.5, "peak_mb": 1,
}  # fmt: skip


def test_every_page_has_its_place_in_the_navigation() -> None:
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    written = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert named == written | {place for place in reference.PAGES if place.endswith(".md")}


def test_every_command_has_its_section() -> None:
    page = reference.commands_page()
    names = [name for name, _ in reference.commands(cli)]
    assert "warploom scan lift" in names and not any(n.startswith("warploom bench-") for n in names)
    assert re.findall(r"^## (.*)$", page, re.M) == names
    for name in cli.list_commands(click.Context(cli)):
        found = cli.get_command(click.Context(cli), name)
        assert found is not None and (found.hidden or f"## warploom {name}" in page)


@pytest.mark.parametrize("folder", ["core", pytest.param(".", marks=pytest.mark.slow)])
def test_every_code_has_its_row(folder: str) -> None:
    codes = reference.codes(reference.SOURCE / folder)
    assert codes["NO_C_COMPILER"].messages == ["expected a C compiler, got none"] and "expected the CUDA tool …" in str(codes)
    page = reference.errors_page(codes)
    assert all(f"| `{code}` |" in page for code in codes) and all(f"| `{rule.id}` " in page for rule in RULES)
    for row in page.splitlines():
        if row.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", row)) == 5, row


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2}, {"case": 1}, {"status": "fine"}, {"verdict": "true"}, {"seconds": -1}, {"wall_s": "1"}, {"peak_mb": None},
        {"domain": ""}, {"status": "unknown"}, {"status": "error", "reason": "r"}, {"verdict": "tested"},
        {"verdict": "tested", "cases": 0}, {"status": "refused", "reason": "r"}, {"optimal_in": 2},
        {"optimal_in": 4, "objective": []},
    ],
)  # fmt: skip
def test_the_schema_refuses_what_the_contract_forbids(change: dict[str, Any]) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema())
    validator.check_schema(schema())
    assert validator.is_valid(LINE) and not broken_rules(LINE)
    line = copy.deepcopy(LINE) | change
    assert not validator.is_valid(line)


def test_each_field_of_the_schema_is_described() -> None:
    page = reference.reports_page()
    assert all(f"| `{name}` |" in page and about["description"] for name, about in schema()["properties"].items())
