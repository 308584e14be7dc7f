"""`wl.scanned`: loops called with arrays give what the loops give, compiled, on threads and by NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.api import scanned_loops as loops

import warploom as wl
from warploom.core.compiler import find_compiler
from warploom.scan.parallel import compiled

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
WHOLE = np.random.default_rng(1).integers(-9, 9, 200)
REAL = np.random.default_rng(2).normal(size=200)
GIVEN: dict[str, tuple[Any, ...]] = {
    "sums": (WHOLE,),
    "best": (WHOLE.astype(np.int8),),
    "least_first": (WHOLE,),
    "smoothed": (REAL,),
    "most": (REAL,),
    "words": ("ab c  d " * 30,),
    "letters": ("Ab1c " * 30,),
    "segments": ((WHOLE, WHOLE > 4),),
    "beyond": (WHOLE, 3),
    "positive": (WHOLE + 20, WHOLE + 10),
    "listed": (np.sign(WHOLE),),
    "crc8": (WHOLE > 4,),
    "decayed": (WHOLE,),
}


def elements(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(zip(*(c.tolist() for c in value), strict=True))
    return value.tolist() if isinstance(value, np.ndarray) else value


def agrees(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return isinstance(got, tuple) and all(map(agrees, got, wanted))
    return bool(np.allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=1e-9, atol=1e-12))


@pytest.fixture(scope="module")
def made() -> Callable[[str], Any]:
    known: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in known:
            known[name] = wl.scanned(threads=4)(getattr(loops, name))
        return known[name]

    return of


@needs_compiler
@pytest.mark.parametrize("name", GIVEN)
def test_calls_give_what_the_loop_gives(name: str, made: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    function, given = made(name), GIVEN[name]
    wanted = getattr(loops, name)(*map(elements, given))
    assert agrees(function(*given), wanted)
    monkeypatch.setattr(compiled, "PART", 30)  # several threads
    assert agrees(function(*given), wanted)
    assert function.way(*given) == "compiled"


@pytest.mark.parametrize("name", ["sums", "smoothed", "segments", "best"])
def test_without_a_compiler_numpy_computes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "find_compiler", lambda: None)
    function, given = wl.scanned(getattr(loops, name)), GIVEN[name]
    assert function.way(*given) == "numpy"
    assert agrees(function(*given), getattr(loops, name)(*map(elements, given)))


def test_whole_numbers_are_exact(made: Callable[[str], Any]) -> None:
    large = np.array([2**62, 2**62, -1])
    assert made("sums").way(large) == "numpy" and made("sums")(large).tolist() == [2**62, 2**63, 2**63 - 1]
    assert made("sums")([10**30, 1]).tolist() == [10**30, 10**30 + 1]
    assert made("sums")(np.array([2**64 - 1], np.uint64)).tolist() == [2**64 - 1]
    assert made("sums")(np.full(3, 2**31 - 1, np.int32)).tolist() == [2**31 - 1, 2**32 - 2, 3 * (2**31 - 1)]


@pytest.mark.parametrize(
    ("name", "xs"),
    [
        ("widest_gap_and_sum", [0, 2**60, 1, 0, 5]),
        ("two_constants", [3, 1, 2, 0, 5]),
        ("asserted_square", [2**32, 3]),
    ],
)
def test_numpy_neither_rounds_nor_wraps_whole_numbers(name: str, xs: list[int], made: Callable[[str], Any]) -> None:
    """Where constants are chosen among, beside infinities too."""
    got = made(name)(np.array(xs))
    assert type(got) is int
    assert got == getattr(loops, name)(xs)


def test_lists_without_elements(made: Callable[[str], Any]) -> None:
    assert made("sums")([]).tolist() == [] and made("best")([]) == 0 and made("segments")([]).tolist() == []
    with pytest.raises(wl.UserError, match=r"scanned_loops.py:\d+:1: error\[ELEMENT\]: expected at least one element"):
        made("most")([])


@needs_compiler
def test_infinities_are_shown_as_such(made: Callable[[str], Any]) -> None:
    assert made("least_first")([5]) == (5, float("inf")) and made("most")([1.0, float("inf")]) == float("inf")


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("sums", (), "CALL_ARGUMENTS"),
        ("sums", ([1.5],), r"CALL_DTYPE.*list\[float\]"),
        ("sums", ([True],), "CALL_DTYPE"),
        ("sums", ([[1]],), "CALL_SHAPE"),
        ("sums", ([[1], [1, 2]],), "CALL_SHAPE"),
        ("sums", (3,), "CALL_ARRAY"),
        ("sums", (np.ma.masked_array([1]),), "CALL_ARRAY"),
        ("smoothed", ([1.0, float("nan")],), r"ELEMENT.*nan at 1"),
        ("smoothed", ([float("inf")],), r"ELEMENT.*inf at 0"),
        ("smoothed", (np.array([2**53 + 1]),), "ELEMENT"),
        ("smoothed", ([2**53 + 1, 0.5],), "ELEMENT"),
        ("segments", ((np.ma.masked_array([1]), np.array([True])),), "CALL_ARRAY"),
        ("smoothed", (["a"],), "CALL_DTYPE"),
        ("smoothed", (np.ones(1, np.longdouble),), "CALL_DTYPE"),
        ("most", ([float("nan")],), "ELEMENT"),
        ("words", (["a"],), "CALL_ARRAY"),
        ("segments", (([1, 2, 3]),), "CALL_SHAPE"),
        ("segments", ((WHOLE, WHOLE[1:] > 0),), "CALL_SHAPE"),
        ("segments", ((WHOLE, WHOLE),), "CALL_DTYPE"),
        ("beyond", ([1], 0.5), "CALL_DTYPE"),
        ("beyond", ([1], 2**63), "CALL_DTYPE"),
        ("positive", ([1, 2], [1]), "CALL_SHAPE"),
        ("positive", ([1, 2, -3], [1, 1, 1]), "ELEMENT.*at 2: -3, 1"),
        ("listed", ([1, 2],), "ELEMENT.*at 1: 2"),
    ],
)
@needs_compiler
def test_what_is_refused(name: str, given: tuple[Any, ...], told: str, made: Callable[[str], Any]) -> None:
    with pytest.raises(wl.UserError, match=rf"scanned_loops.py:\d+:1: error\[{told.partition('.')[0]}\]{told.partition('.')[1]}"):
        made(name)(*given)
    with pytest.raises(wl.UserError, match=told.replace(".*", r"(.|\n)*")):
        made(name)(*given)


def test_what_is_no_loop() -> None:
    with pytest.raises(wl.UserError, match="NO_ANSWER"):
        wl.scanned(loops.squared)
    with pytest.raises(wl.UserError, match="NOT_A_FUNCTION"):
        wl.scanned(3)  # type: ignore[call-overload]
    with pytest.raises(wl.UserError, match="as threads, got 0"):
        wl.scanned(threads=0)


def test_a_decorated_loop_says_what_it_is(made: Callable[[str], Any]) -> None:
    assert repr(made("sums")) == "<scanned sums(xs)>" and made("sums").__name__ == "sums"
    assert made("sums").lifted.verdict == "proved"


def runs(keys: Any, *columns: Any) -> list[tuple[Any, list[Any]]]:
    """Every run of equal keys: its key, and its elements."""
    found: list[tuple[Any, list[Any]]] = []
    for key, *values in zip(keys.tolist(), *(c.tolist() for c in columns), strict=True):
        if not found or found[-1][0] != key:
            found.append((key, []))
        found[-1][1].append(values[0])
    return found


@cache
def best() -> Any:
    return wl.scanned(loops.best)


@needs_compiler
def test_runs_of_equal_keys_are_scanned_and_reduced() -> None:
    choose = np.random.default_rng(7)
    for keys in (choose.integers(0, 2, 200), np.zeros(200), np.arange(200), choose.random(200) > 0.5):
        found = runs(keys, WHOLE)
        wanted = [loops.best(xs[: n + 1]) for _, xs in found for n in range(len(xs))]
        assert best().by_key(keys, WHOLE).tolist() == wanted
        names, results = best().reduce_by_key(keys, WHOLE)
        assert (names.tolist(), results.tolist()) == ([k for k, _ in found], [loops.best(xs) for _, xs in found])
    names, results = best().reduce_by_key([], [])
    assert len(names) == len(results) == 0


@pytest.mark.parametrize(
    ("keys", "code", "fix"),
    [
        ([1, 2], "CALL_SHAPE", "best.by_key(keys, xs)"),
        ([[1], [2], [3]], "CALL_SHAPE", "best.by_key(keys, xs)"),
        (["a", "b", "c"], "CALL_DTYPE", "best.by_key(keys, xs)"),
        ([1.0, float("nan"), 2.0], "CALL_DTYPE", "best.by_key(keys, xs)"),
        ([[1], [2, 3], [4]], "CALL_SHAPE", "an array of one axis"),
        (np.ma.masked_array([1, 1, 1]), "CALL_ARRAY", "Fill it first"),
        ([2**63 + 1, 2**63, -1], "ELEMENT", "one type that holds them"),  # floats of 64 bits would make the first two equal
        ([2**53 + 1, np.int64(2**53), 0.5], "ELEMENT", "one type that holds them"),
    ],
)
def test_keys_that_do_not_fit_are_refused(keys: Any, code: str, fix: str) -> None:
    with pytest.raises(wl.UserError, match=rf"(?s){code}.*fix: .*{re.escape(fix)}"):
        best().by_key(keys, [1, 2, 3])
