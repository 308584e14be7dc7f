"""Loops over an index, results by position, states that begin with the first element: what is read is what Python runs."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from warploom.core import UserError
from warploom.scan import Loop, lift, parse_module, read_loop, user_function
from warploom.scan.operators.transition import exact_loop

_LOOPS = {
    "segmented": """
    n = len(xs)
    out = [0] * n
    out[0] = xs[0]
    for i in range(1, n):
        if xs[i] == 1:
            out[i] = xs[i]
        else:
            out[i] = out[i - 1] + xs[i]
    return out""",
    "product with continue": """
    out = [7] * len(xs)
    out[0] = 2 * xs[0]
    for i in range(1, len(xs)):
        if xs[i] < 0:
            continue
        out[i] = out[i - 1] * xs[i]
    return out""",
    "first not set": """
    out = [5 for _ in range(len(xs))]
    for i in range(1, len(xs)):
        out[i] += out[i - 1] - xs[i - 1]
    return out""",
    "two lists of results": """
    n = len(xs)
    ending, best = xs[0], xs[0]
    for i in range(1, n):
        ending = max(ending + xs[i], xs[i])
        best = max(best, ending)
    return best""",
    "tests of the index": """
    n = len(xs)
    out = n * [0]
    for i in range(0, n):
        if i == 0:
            out[i] = xs[i]
        else:
            out[i] = xs[i] - out[i - 1] - xs[i - 1]
    return out""",
    "reads the current result": """
    out = [0] * len(xs)
    for i, x in enumerate(xs):
        out[i] = x * x
        out[i] += i
    return out""",
    "the last one, not yet set": """
    out = [0] * len(xs)
    for i in range(len(xs)):
        out[i] = out[i - 1] + xs[i]
    return out""",
    "keeps the first": """
    first = xs[0]
    same = 0
    for x in xs:
        same += x == first
    return same""",
    "an odd start": """
    s = 2 * xs[0] + 1
    for i in range(1, len(xs)):
        s += xs[i]
    return s""",
    "position of the greatest": """
    best, at = xs[0], 0
    for i in range(1, len(xs)):
        if xs[i] > best:
            best, at = xs[i], i
    return best, at""",
    "changes": """
    n = 1
    for i in range(1, len(xs)):
        n += xs[i] != xs[i - 1]
    return n""",
    "starts with a parameter": """
    for x in xs:
        k = max(k, x)
    return k""",
}  # fmt: skip


def loop_and_function(body: str, parameters: str = "xs: list[int], k: int = 3") -> tuple[Loop, Any]:
    module = parse_module(f"def f({parameters}):{body}\n", "f.py")
    return read_loop(module, "f"), user_function(module, "f")


@pytest.mark.parametrize("body", _LOOPS.values(), ids=_LOOPS)
def test_what_is_read_is_what_python_runs(body: str) -> None:
    loop, function = loop_and_function(body)
    run = exact_loop(loop)
    lists = [list(xs) for length in range(4) for xs in itertools.product((-1, 1, 2), repeat=length)]
    for xs in lists:
        if not xs and (loop.is_scan or loop.needs_element):
            continue
        expected = function(list(xs))
        got = [run([(x,) for x in xs[: n + 1]], (3,) * len(loop.constants)) for n in range(len(xs))] if loop.is_scan else run(
            [(x,) for x in xs], (3,) * len(loop.constants)
        )  # fmt: skip
        assert got == expected, xs


@pytest.mark.parametrize(("name", "raises"), [("segmented", True), ("changes", False), ("keeps the first", True)])
def test_whether_an_empty_list_is_taken(name: str, raises: bool) -> None:
    assert loop_and_function(_LOOPS[name])[0].needs_element == raises


def test_constants_stand_for_the_time_before_the_first_element() -> None:
    """A flag would be a slot more."""
    loop, function = loop_and_function(_LOOPS["segmented"])
    assert [s.name for s in loop.states] == ["out"]
    result = lift(loop, function)
    assert result.verdict == "proved" and result.domain == "integers, lists of at least one element"
    assert [s.name for s in loop_and_function(_LOOPS["an odd start"])[0].states] == ["has_element", "s"]


def results(inside: str, loop: str = "for i in range(len(xs))", before: str = "", out: str = "[0] * len(xs)") -> str:
    """A function that fills a list of results."""
    return f"\n    out = {out}\n    {before}\n    {loop}:\n        {inside}\n    return out"


def total(inside: str, loop: str = "for i in range(len(xs))", before: str = "", result: str = "s") -> str:
    """A function that sums up."""
    return f"\n    s = 0\n    {before}\n    {loop}:\n        s += {inside}\n    return {result}"


_SECOND = "for i in range(1, len(xs))"


@pytest.mark.parametrize(
    ("body", "got"),
    [
        (results("out[i + 1] = 1"), "got out[i + 1]"),
        (results("out[i - 1] = 1", _SECOND), "got out[i - 1]"),
        (results("out[i] = len(out)"), "got out"),
        (results("out[i] = 1", _SECOND, "out[1] = 2"), "got out[1]"),
        (results("out[i] = 1", out="[k] * len(xs)"), "holds at first, got k"),
        (results("out[i] = 1", out="[j for j in range(len(xs))]"), "got ListComp"),
        (results("out[i] = 1", before="out[0] = 2"), "got out[0]"),
        (results("i = 0; out[i] = 1", _SECOND), "got 'i'"),
        (results("out[i] = 1", "for i, x in enumerate(xs, 1)"), "got out[i]"),
        (results("out[i] = xs[i]; out[i] += out[i - 1]"), "in the first iteration, too"),
        (total("xs[i - 1]"), "in the first iteration, too"),
        (total("x", "for x in xs", "s = xs[1]"), "got xs[1]"),
        (total("x", "for x in xs", "assert xs[0] > 0"), "about the first element"),
        (results("out.append(xs[i])", _SECOND, out="[]"), "begins at the second"),
        (total("xs[i]", "for i in range(n)", "n = len(xs)").replace("+= xs[i]", "+= n"), "expected n, a length"),
        (total("xs[i]", "for i in range(6, len(xs))"), "range(1, len(...))"),
    ],
)
def test_other_positions_are_refused(body: str, got: str) -> None:
    with pytest.raises(UserError, match=re.escape(got)) as raised:
        loop_and_function(body, "xs, k=1")
    assert raised.value.diagnostics[0].span is not None
