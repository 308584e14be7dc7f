"""Holes that are powers of two: their functions, and the whole way from a sketch to CUDA and a replayed choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warploom as wl
from warploom.gpu import cuda_source, read_back
from warploom.ir import Hole, HoleArg, index_text, tabulate
from warploom.ir.swizzle import function_set
from warploom.sketch import load

STEPS = np.arange(5)[:, None]
SKETCHES = """
import warploom as wl
from warploom import i32

def total(x, y):
    t = 0
    for i in range(32):
        t += x[i]
    for i in range(32):
        y[i] = t

def running(x, y):
    t = 0
    for i in range(32):
        t += x[i]
        y[i] = t

@wl.sketch(spec=total, block=32)
def butterfly(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
    lane = wl.lane_id()
    v = x[lane]
    for k in range(5):
        v = v + wl.shfl_xor(v, wl.power(32, k, name="distance"))
    y[lane] = v

@wl.sketch(spec=running, block=32)
def scan(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
    lane = wl.lane_id()
    v = x[lane]
    for k in range(5):
        distance = wl.power(32, k, name="distance")
        got = wl.shfl_up(v, distance)
        if lane >= distance:
            v = v + got
    y[lane] = v
"""


def _functions(n: int, points: np.ndarray, space: int) -> dict[tuple[int, ...], str]:
    hole = Hole("h", "power", tuple("kv"[: points.shape[1]]), n=n)
    found = function_set(hole, points, space).matching(np.ones((len(points), n), np.bool_))
    assert found is not None
    arguments = {HoleArg(a): points[:, a] for a in range(points.shape[1])}
    texts: dict[tuple[int, ...], str] = {}
    for row in range(len(found)):
        table = np.broadcast_to(tabulate(found.expr(row), arguments), len(points))
        assert (table == found.tables[row]).all(), "an expression is what its table says"
        texts[tuple(table.tolist())] = index_text(found.expr(row), hole.arg_names)
    return texts


def test_every_function_is_a_power_of_two_below_n_and_larger_spaces_have_more() -> None:
    found = [_functions(32, STEPS, space) for space in (1, 2, 3)]
    assert all(v in (1, 2, 4, 8, 16) for functions in found for table in functions for v in table)
    assert found[0].keys() < found[1].keys() < found[2].keys()
    assert found[0][1, 2, 4, 8, 16] == "1 << k" and found[0][16, 8, 4, 2, 1] == "16 >> k"
    assert found[1][4, 8, 16, 1, 2] == "1 << ((k + 2) % 5)"
    assert (1, 1, 2, 2, 4) in found[2] and (1, 2, 4, 2, 1) in found[2] and (4, 2, 1, 2, 4) in found[2]


def test_exponents_stay_in_range_for_negative_and_for_large_values() -> None:
    assert (1, 2, 4) in _functions(8, np.array([[-1], [0], [1]]), 1)
    assert set(_functions(4, np.array([[0], [10**6]]), 3)) == {(1, 1), (2, 2)}
    assert set(_functions(8, np.zeros((1, 0), np.int64), 3)) == {(1,), (2,), (4,)}


@pytest.mark.parametrize("n", [1, (1 << 15) + 1])
def test_a_bound_without_powers_of_two_is_refused(n: int) -> None:
    with pytest.raises(wl.UserError, match=f"expected a number from 2 to 32768 that the powers of two are below, got {n}"):

        @wl.sketch(block=32)
        def kernel(x: wl.Global[wl.i32, 32], y: wl.Global[wl.i32, 32]):
            y[wl.lane_id()] = wl.shfl(x[wl.lane_id()], wl.power(n, 0))


@pytest.mark.parametrize("name", ["butterfly", "scan"])
def test_a_distance_that_varies_by_step_is_found_proved_and_printed(name: str, tmp_path: Path) -> None:
    file = tmp_path / "steps.py"
    file.write_text(SKETCHES)
    sketch = next(s for s in load(file) if s.name == name)
    done = wl.complete(sketch)
    assert (done.status, done.verdict, done.holes) == ("solved", "proved", {"distance": "1 << k"})
    assert done.report.kernel is not None
    assert read_back(cuda_source(done.report.kernel).text, done.report.kernel).ok


def test_the_second_engine_agrees(tmp_path: Path) -> None:
    from warploom.synth import complete

    file = tmp_path / "steps.py"
    file.write_text(SKETCHES)
    report = complete(load(file)[0], engine="smt", space=1)
    assert (report.status, report.verdict) == ("solved", "proved")
