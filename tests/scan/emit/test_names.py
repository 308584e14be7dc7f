"""Names of a user's variables in emitted text: whatever they are called, the text compiles and computes the loop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warploom import scan
from warploom.gpu import toolchain_available
from warploom.scan.emit import Choices, Comparison, Types, compare, cuda_scan
from warploom.scan.emit.names import free_name, reserved
from warploom.scan.emit.peers import NotInstalledError, try_cub, try_numba, try_numpy, try_triton
from warploom.scan.emit.program import emit

LOOP = """
def tuple(x_out: list[int], v: list[int], a_v: int):
    T = 0
    lane = 0
    threadIdx = 0
    int32 = 0
    for t1, n in zip(x_out, v):
        T += t1
        lane = max(lane, n)
        threadIdx = min(threadIdx, n)
        if t1 > a_v:
            int32 += 1
    return T, lane, threadIdx, int32
"""


def operator() -> scan.Operator:
    found = scan.lift(scan.read_loop(scan.parse_module(LOOP), "tuple")).operator
    assert found is not None
    return found


def test_every_reserved_word_gets_a_name_of_its_own() -> None:
    taken: set[str] = set()
    words = sorted(reserved())
    found = [free_name(w, taken) for w in words]
    assert len(set(found)) == len(words) and not set(found) & reserved()
    assert {"v", "lane", "threadIdx", "lambda", "int", "T", "kind", "linux", "BLOCK", "storage", "greatest_common_divisor"} <= {
        *words
    }


@pytest.mark.parametrize("name", ["a_x", "x_out", "x_pointer", "t1", "_x", "x__y", "NULL", "s_x", "u_x", "é"])
def test_names_that_look_made(name: str) -> None:
    taken: set[str] = set()
    assert free_name(name, taken) != name
    assert free_name(name, taken) not in (name, "", "u_") and len(taken) == 2


def test_numpy_with_unlucky_names() -> None:
    found = try_numpy(operator())
    assert found.cases and not found.mismatch


@pytest.mark.parametrize("trial", [try_numba, try_triton, try_cub])
def test_compilers_with_unlucky_names(trial: Callable[[scan.Operator], Comparison]) -> None:
    if trial is try_cub and not toolchain_available():
        pytest.skip("needs the CUDA tools (extra cuda)")
    try:
        found = trial(operator())
    except NotInstalledError as error:
        pytest.skip(f"{error} is not installed")
    assert found.cases and not found.mismatch


@pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")
def test_cuda_with_unlucky_names() -> None:
    found = compare(cuda_scan(operator(), Types("int64"), Choices(threads=64, items=2)), ("scan_block", "reduce_device"))
    assert found.cases and not found.mismatch


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("def f(xs: list[int]):\n    total = 0\n    for x in xs:\n        total += x\n    return total\n", "refuted"),
        ("def f(xs: list[float]):\n    total = 0.0\n    for x in xs:\n        total += x\n    return total\n", "unchecked"),
        ("def f(xs: list[float]):\n    best = 0.0\n    for x in xs:\n        best = max(best, x)\n    return best\n", "refuted"),
    ],
    ids=["sum of integers", "sum of floats", "maximum of floats"],
)
def test_only_rounding_excuses_another_result(text: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scan.lift(scan.read_loop(scan.parse_module(text), "f"))
    monkeypatch.setitem(emit.__globals__, "_tried", lambda *given: Comparison(3, "expected 1, got 2"))
    assert emit(found, "numpy").verdict == verdict
    monkeypatch.setitem(emit.__globals__, "_tried", lambda *given: Comparison(3))
    assert (emit(found, "numpy").verdict, emit(found, "numpy").cases) == ("tested", 3)
