"""Indices of all threads at once: what is evaluated is evaluated only for the threads that Python would evaluate it for."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synth.kernels import REVERSE, parse

from warploom.ir import Builtin, Compare, IndexBinary, IndexConst, IndexExpr, IndexSelect, IndexVar, Logical
from warploom.synth.proof.lanes import Findings, Lanes, Mask

LANE = Builtin("thread_id", 0)
ZERO, TWO, FOUR, SEVEN = map(IndexConst, (0, 2, 4, 7))
QUOTIENT = IndexBinary("//", SEVEN, LANE)
"""Has no value in thread 0."""


def evaluated(expr: IndexExpr, *off: int) -> tuple[list[int], list[str]]:
    """Values of the active threads, and findings; all threads but `off` are active."""
    findings = Findings()
    flags = np.ones(8, np.bool_)
    flags[list(off)] = False
    found = Lanes(parse(REVERSE), (0, 0, 0), (1, 1, 1), {}, findings).evaluate(expr, Mask(flags))
    return found[flags].tolist(), [d.message for d in findings.found.values()]


QUOTIENTS = [7, 3, 2, 1, 1, 1, 1]
FAULT = ["expected a divisor other than 0 in `//`, got 0 in thread 0"]


@pytest.mark.parametrize(
    ("expr", "off", "expected"),
    [
        pytest.param(QUOTIENT, (0,), (QUOTIENTS, []), id="inactive"),
        pytest.param(IndexSelect(Compare("!=", LANE, ZERO), QUOTIENT, SEVEN), (), ([7, *QUOTIENTS], []), id="then"),
        pytest.param(IndexSelect(Compare("==", LANE, ZERO), SEVEN, QUOTIENT), (), ([7, *QUOTIENTS], []), id="else"),
        pytest.param(IndexSelect(Compare("<", LANE, FOUR), QUOTIENT, SEVEN), (0,), ([7, 3, 2, 7, 7, 7, 7], []), id="both"),
        pytest.param(
            IndexSelect(Compare("<", IndexConst(3), LANE), SEVEN, QUOTIENT), (0,), ([7, 3, 2, 7, 7, 7, 7], []), id="neither"
        ),
        pytest.param(
            Logical("and", (Compare("!=", LANE, ZERO), Compare("<", QUOTIENT, TWO))), (), ([0] * 4 + [1] * 4, []), id="and"
        ),
        pytest.param(
            Logical("or", (Compare("==", LANE, ZERO), Compare("<", QUOTIENT, TWO))),
            (),
            ([1, 0, 0, 0] + [1] * 4, []),
            id="or",
        ),
        pytest.param(Logical("not", (Compare("<", QUOTIENT, TWO),)), (0,), ([1, 1, 1, 0, 0, 0, 0], []), id="not"),
    ],
)  # fmt: skip
def test_only_active_threads_are_asked(expr: IndexExpr, off: tuple[int, ...], expected: tuple[list[int], list[str]]) -> None:
    assert evaluated(expr, *off) == expected


@pytest.mark.parametrize(
    "expr",
    [
        QUOTIENT,
        IndexSelect(Compare("==", LANE, ZERO), QUOTIENT, SEVEN),
        IndexSelect(Compare("!=", LANE, ZERO), SEVEN, QUOTIENT),
        Logical("and", (Compare("==", LANE, ZERO), QUOTIENT)),
        Logical("or", (Compare("!=", LANE, ZERO), QUOTIENT)),
    ],
)
def test_a_fault_of_an_active_thread_is_found(expr: IndexExpr) -> None:
    assert evaluated(expr)[1] == FAULT
    assert evaluated(expr, 0)[1] == []


def test_a_variable_is_set_for_the_threads_that_set_it() -> None:
    findings = Findings()
    lanes = Lanes(parse(REVERSE), (0, 0, 0), (1, 1, 1), {}, findings)
    even = Mask(np.arange(8) % 2 == 0)
    lanes.assign("i", np.full(8, 5), even)
    assert lanes.evaluate(IndexVar("i"), even)[even.flags].tolist() == [5] * 4 and not findings.found
    lanes.evaluate(IndexVar("i"), Mask(np.arange(8) < 3))
    assert [d.message for d in findings.found.values()] == ["expected i to be set before it is used, got no value in thread 1"]
