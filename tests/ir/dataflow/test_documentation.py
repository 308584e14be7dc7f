"""The language's document: its programs read, and it names every goal, lambda call and error code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warploom.ir.dataflow import GOALS, SET_NAMES, meets_goal, parse_program, verify_program
from warploom.ir.dataflow.definitions import LAMBDA_CALLS

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "dataflow.md").read_text()
PROGRAMS: list[str] = re.findall(r"```swflow[^\n]*\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs(text: str) -> None:
    program = parse_program(text, "docs/dataflow.md")
    verify_program(program)
    if "?" not in text:
        assert meets_goal(program, {})


def test_every_goal_and_lambda_call_is_documented() -> None:
    for name in (*GOALS, *LAMBDA_CALLS):
        assert re.search(rf"`{name}[`({{]", TEXT), name
    assert set(LAMBDA_CALLS) & set(SET_NAMES) == {"select"}, "a set hides behind a call with an index lambda"


def test_every_error_code_is_documented() -> None:
    package = ROOT / "src" / "warploom" / "ir" / "dataflow"
    sources = [p for p in package.glob("*.py") if p.name != "verify.py"]
    codes = {code for p in sources for code in re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', p.read_text())} - set(SET_NAMES)
    codes -= {"MISSING", "SET_NAMES"}
    assert codes == set(re.findall(r"`([A-Z]+_[A-Z_]+)`", TEXT.split("## Errors")[1].split("##")[0]))
