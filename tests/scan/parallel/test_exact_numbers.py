"""Whole numbers of any size, and elements that the proof does not speak of."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from warploom import scan
from warploom.core import UserError
from warploom.scan.emit import imported, source_of, whole_bound
from warploom.scan.parallel import map_reduce, map_scan

TEXT = """
from typing import Literal
def lowest(ts: list[int]):
    m = float("inf")
    for t in ts:
        m = min(m, t)
    return m
def total(xs: list[int]):
    s = 0
    for x in xs:
        s += x
    return s
def best(xs: list[int]):
    s = 0
    for x in xs:
        s = max(s + x, 0)
    return s
def product(xs: list[int]):
    s = 1
    for x in xs:
        s *= x
    return s
def counted(xs: list[float]):
    n = 0
    for x in xs:
        if x > 0.5:
            n += 1
    return n
def added(xs: list[float]):
    s = 0.0
    for x in xs:
        s += x
    return s
def meant(xs: list[int], k: int):
    s = 0
    for x in xs:
        assert x >= 0
        s = max(s, x - k)
    return s
def flags(xs: list[bool]):
    n = 0
    for x in xs:
        if x:
            n += 1
    return n
def running(xs: list[int]):
    out = []
    m = float("-inf")
    for x in xs:
        m = max(m, x)
        out.append(m)
    return out
"""
MODULE = scan.parse_module(TEXT)
EDGES = [
    [2**53 + 1, 2**53 + 3], [2**63 - 1], [-(2**63)], [2**63 - 1, 1], [-(2**63), -1], [2**62, 2**62], [2**64 + 1, 3, -(2**70)],
    [1700000000123456789, 1700000000123456788], [], [0], [-(2**63) + 1, 2**63 - 2], [2**32] * 3, [2**63, -1],
]  # fmt: skip


@cache
def lifted(name: str) -> scan.Lifting:
    found = scan.lift(scan.read_loop(MODULE, name))
    assert found.verdict == "proved"
    return found


@cache
def numpy_text(name: str) -> str:
    operator = lifted(name).operator
    assert operator is not None
    return source_of(operator, "numpy")


@pytest.mark.parametrize("name", ["lowest", "total", "best", "product"])
def test_whole_numbers_of_any_size(name: str) -> None:
    serial = scan.user_function(MODULE, name)
    with imported(numpy_text(name)) as module:
        for data in EDGES:
            wanted = serial(data)
            got = [map_reduce(lifted(name), data, chunks=2), getattr(module, name)(data)]
            if all(-(2**63) <= e < 2**63 for e in data):
                got.append(map_reduce(lifted(name), np.array(data, np.int64), chunks=2))
            assert all(g == wanted for g in got), (data, got, wanted)
            assert all(isinstance(g, int | np.integer) or not data for g in got)


def test_prefixes_of_any_size() -> None:
    serial = scan.user_function(MODULE, "running")
    with imported(numpy_text("running")) as module:
        for data in EDGES:
            assert list(map_scan(lifted("running"), data)) == serial(data)
            assert module.running(data).tolist() == serial(data)


def test_unsigned_and_narrow_arrays() -> None:
    for kind in (np.uint64, np.int8, np.uint8):
        data = np.array([np.iinfo(kind).max, 1, np.iinfo(kind).max], kind)
        assert map_reduce(lifted("total"), data) == sum(data.tolist())


def test_what_whole_numbers_stay_within() -> None:
    bounds = {n: whole_bound(lifted(n).operator) for n in ("lowest", "total", "best", "product")}  # type: ignore[arg-type]
    assert bounds["lowest"] == ("max(1, |element|)", "max(1, most)") and bounds["product"] is None
    assert bounds["total"] == bounds["best"] == ("length * max(1, |element|)", "n * max(1, most)")


def test_reals_keep_whole_numbers_and_fractions() -> None:
    data = [2**53 + 1, -(2**53), Fraction(1, 3)]
    assert map_reduce(lifted("added"), data) == sum(data)
    assert map_reduce(lifted("added"), np.array([2**60 + 1, -(2**60)])) == 1
    assert map_reduce(lifted("counted"), np.array([0.25, float("inf")])) == 1  # only compared


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("total", [1, 0.5], "expected a whole number as a value of an element, got 0.5"),
        ("total", np.array([1.0, 0.5]), "expected whole numbers, got others"),
        ("counted", [0.1, float("nan")], "expected a number as a value of an element, got nan"),
        ("counted", np.array([0.1, float("nan")]), "got nan"),
        ("added", [0.1, float("inf")], "expected a finite number as a value of an element, got inf"),
        ("added", np.array([0.1, -float("inf")]), "got -inf"),
        ("added", ["1"], "expected a number as a value of an element, got '1'"),
        ("flags", [True, 2], "expected a truth value as a value of an element, got 2"),
        ("flags", np.array([0, 2]), "expected truth values"),
    ],
)
def test_elements_that_are_not_meant(name: str, data: Any, message: str) -> None:
    with pytest.raises(UserError, match=r"error\[ELEMENT\]") as caught:
        map_reduce(lifted(name), data)
    assert message in str(caught.value)


def test_assertions_and_constants_are_asked_for() -> None:
    found = lifted("meant")
    assert map_reduce(found, [3, 9], constants={"k": 2}) == 7
    for data in ([3, -1], np.array([3, -1])):
        with pytest.raises(UserError, match=r"error\[ELEMENT\].*assert"):
            map_reduce(found, data, constants={"k": 2})
    with pytest.raises(UserError, match=r"expected a whole number as a value of an element, got 0\.5"):
        map_reduce(found, [1], constants={"k": 0.5})
    with imported(numpy_text("meant")) as module:
        assert module.meant([3, 9], 2**65) == 0 and module.meant([2**65], 2) == 2**65 - 2
        with pytest.raises(ValueError, match="an assertion of the loop"):
            module.meant([-1], 2)


def test_the_emitted_module_refuses_other_numbers() -> None:
    with imported(numpy_text("total")) as module, pytest.raises(TypeError, match="expected whole numbers"):
        module.total([0.5, 1])
    with imported(numpy_text("flags")) as module:
        assert module.flags([1, 0, 1]) == 2
        with pytest.raises(TypeError, match="expected truth values"):
            module.flags([2])
