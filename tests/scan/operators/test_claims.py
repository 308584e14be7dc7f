"""Operators as frameworks take them: records and parts one by one; that they commute; how far floats come apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom import scan
from warploom.core import UserError
from warploom.tools.scan.lift import check_command

TEXT = """
from dataclasses import dataclass
from typing import TypedDict

@dataclass
class Pair:
    a: float
    b: float

class Line(TypedDict):
    a: float
    b: float

def objects(p: Pair, q: Pair):
    return Pair(q.a * p.a, q.a * p.b + q.b)

def dictionaries(p: Line, q: Line):
    return {"b": q["a"] * p["b"] + q["b"], "a": q["a"] * p["a"]}

def unannotated(p, q):
    return {"n": p["n"] + q["n"], "m": max(p["m"], q["m"])}

def parts(a_left: float, b_left: float, a_right: float, b_right: float):
    return a_left * a_right, a_right * b_left + b_right

def changed(p: Pair, q: Pair):
    p.a = p.a + q.a
    return Pair(p.a, 0.0)

def swapped(p: Pair, q: Pair):
    return Pair(p.a * q.a, p.a * q.b - p.b)

def missing(p, q):
    return {"n": p["n"] + q["n"], "m": p["n"]} if p["n"] > 0 else {"n": q["n"], "k": 0}

def three(a, b, c):
    return a

def mixed(a: int, b: float, c: float, d: int):
    return a, b

def add(a: float, b: float):
    return a + b

def most(a: float, b: float):
    return max(a, b)

def first(a: int, b: int):
    return a
"""
MODULE = scan.parse_module(TEXT)


def verdict(name: str) -> str:
    return scan.check(scan.read_binary(MODULE, name), scan.user_function(MODULE, name)).verdict


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("objects", "proved"),
        ("dictionaries", "proved"),
        ("unannotated", "proved"),
        ("parts", "proved"),
        ("changed", "proved"),
        ("swapped", "refuted"),
    ],
)
def test_records(name: str, expected: str) -> None:
    assert verdict(name) == expected


@pytest.mark.parametrize(("name", "code"), [("missing", "SHAPE"), ("three", "ARGUMENTS"), ("mixed", "SORT")])
def test_what_is_no_operator(name: str, code: str) -> None:
    with pytest.raises(UserError) as caught:
        verdict(name)
    assert caught.value.diagnostics[0].code == code


def test_claims_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text(TEXT)

    def line(name: str, *options: str) -> dict[str, object]:
        done = CliRunner().invoke(check_command, [f"{file}:{name}", "--json", *options])
        return json.loads(done.stdout)

    found = line("add", "--commutative", "--floats")
    assert (found["status"], found["commutative"]) == ("solved", True)
    grouping = found["grouping"]
    assert isinstance(grouping, dict)
    assert grouping["difference"] == 1.0
    assert "grouping" not in line("most", "--floats")
    refused = line("first", "--commutative")
    assert (refused["status"], refused["verdict"], refused["commutative"]) == ("refused", "refuted", False)
    assert "commutative" not in line("add")
