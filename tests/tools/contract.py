"""The rules of report lines, written down again for the tests."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from warploom.tools.command.schema import schema

STATUSES = {"solved", "unsat", "unknown", "refused", "error"}
VERDICTS = {"proved", "tested", "unchecked", "refuted"}
COUNTS = {"global_sectors", "shared_wavefronts", "wavefronts", "shuffles"}


def lines_of(stdout: str) -> list[dict[str, Any]]:
    """The JSON lines of a command, each checked."""
    lines = [json.loads(text) for text in stdout.splitlines()]
    for line in lines:
        check(line)
    return lines


@cache
def _validator() -> Any:
    """The validator of the published schema; an environment that is older than the schema may lack the library."""
    return pytest.importorskip("jsonschema").Draft202012Validator(schema())


def check(line: dict[str, Any]) -> None:
    _validator().validate(line)
    assert isinstance(line["v"], int)
    assert isinstance(line["case"], str)
    assert line["status"] in STATUSES
    assert line["verdict"] in VERDICTS
    assert all(isinstance(line[name], int | float) and line[name] >= 0 for name in ("seconds", "wall_s", "peak_mb"))
    assert line["status"] == "solved" or line["reason"]
    assert line["verdict"] != "proved" or line["domain"]
    assert line["verdict"] != "tested" or line["cases"] > 0
    assert (line["status"], line["verdict"]) != ("error", "proved")
    assert line["status"] != "refused" or line["verdict"] in ("refuted", "unchecked")
    assert line.get("optimal_in") is None or line["objective"]
    counts = [fields for fields in (line, *line.values()) if isinstance(fields, dict) and COUNTS & fields.keys()]
    assert all(fields.get("counted", line.get("counted")) in ("sass", "interpreter", "model") for fields in counts)
