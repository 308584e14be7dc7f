"""Specs, sketches and tensor functions as they are read, against CPython: a share of `python -m benchmarks.fuzz --readers`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.fuzz.readers import check, given

from warploom.core.linear import Linear
from warploom.sketch import Written, written
from warploom.sketch.parser import specs, statements
from warploom.synth.proof import symbolic

SHARE = range(45)
WIDE = range(240)


def test_reading_is_what_python_runs() -> None:
    ended = Counter[str]()
    for case in SHARE:
        ending, message = check(case)
        assert not message, f"readers:{case}: {message}"
        ended[ending] += 1
    # hardly any case is refused: what is generated is the accepted subset
    assert ended["spec"] + ended["sketch"] + ended["tensor"] >= 0.9 * len(SHARE)


def _first_found(cases: Iterable[int]) -> str:
    return next((message for case in cases if (message := check(case)[1])), "")


def test_a_wrong_spec_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "_greatest", symbolic._least)
    assert "run_spec" in _first_found(WIDE[::3])


def test_a_branch_that_forgets_what_follows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_always_returns", lambda stmts: True)
    assert "parse_spec" in _first_found([case for case in range(450, 540, 3) if "put(y" in given(case)])


def test_constants_taken_from_the_text_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_text(function: Any) -> Written:
        text = written(function)
        first = {line[0]: int(line[4:]) for line in text.source.lines[:2]}
        return replace(text, resolve=lambda name: first.get(name, text.resolve(name)))

    monkeypatch.setattr(specs, "written", from_text)
    assert "parse_spec" in _first_found(WIDE[::3])


def test_a_sign_that_is_lost_in_an_index_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plus = Linear.plus
    monkeypatch.setattr(Linear, "plus", lambda self, other, factor=1: plus(self, other, abs(factor)))  # pyright: ignore
    assert "Y[" in _first_found(WIDE[2::3])


def test_an_old_value_that_is_read_too_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "has_effects", lambda stmts: False)
    assert "parse_spec" in _first_found([case for case in range(0, 900, 3) if "= taken(" in given(case)])
