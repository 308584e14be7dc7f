"""Vectors of every few elements, each nest against the interpreter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.schedule.cpu.test_printer import check
from tests.schedule.nest.interpreter import interpret

from warploom.core import BY_NAME, f32
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.cpu import c_source, compile_nest, find_compiler
from warploom.schedule.cpu.close import Close, is_close
from warploom.schedule.nest import Builder, Kind, Nest

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LOOP, UNROLL, VECTOR = Kind.LOOP, Kind.UNROLL, Kind.VECTOR


def _rows(dtype: str, lanes: int, stride: int, columns: int, more: int, *, tiles: int = 2) -> Nest:
    """B[r, i] = sum of A[r, stride * i + d] over d, of rows that are `more` elements longer than they need to be."""
    b = Builder("rows")
    length = columns * stride + more
    source = b.buffer("A", 3 * length, dtype=BY_NAME[dtype])
    target = b.buffer("B", 3 * columns, Role.OUTPUT, dtype=BY_NAME[dtype])
    items, total = (b.value(n, *sizes, dtype=BY_NAME[dtype], vector=lanes) for n, sizes in (("x", [stride]), ("y", [])))
    with b.loop("r", LOOP, 3) as r, b.loop("t", UNROLL, tiles) as t:
        with b.loop("d", UNROLL, stride) as d, b.loop("v", VECTOR, lanes) as v:
            i = t * lanes + v
            b.load(b.ref(items, d, v), source, r * length + i * stride + d, (i, columns))
        for n in range(1, stride):
            with b.loop("v", VECTOR, lanes) as v:
                b.compute(b.ref(items, n, v), Operator.ADD, b.ref(items, n - 1, v), b.ref(items, n, v))
        with b.loop("v", VECTOR, lanes) as v:
            b.compute(b.ref(total, v), Operator.MOVE, b.ref(items, stride - 1, v))
        with b.loop("v", VECTOR, lanes) as v:
            i = t * lanes + v
            b.store(target, r * columns + i, b.ref(total, v), (i, columns))
    return b.nest()


@pytest.mark.parametrize(("dtype", "lanes"), [("f32", 4), ("f32", 16), ("f64", 4), ("i32", 8)])
@pytest.mark.parametrize("stride", [2, 3, 4])
def test_groups_are_loaded_once_whole_and_in_part(dtype: str, lanes: int, stride: int) -> None:
    text = check(_rows(dtype, lanes, stride, 2 * lanes - 1, 0))
    vector = f"{dtype}x{lanes}"
    assert f"load_{vector}_every_{stride}_from_{stride - 1}(A" in text
    assert f"load_part_{vector}_every_{stride}_from_0(A" in text
    assert "gather" not in text


@pytest.mark.parametrize(("dtype", "lanes"), [("f32", 8), ("i64", 4)])
@pytest.mark.parametrize("stride", [2, 3, 4])
def test_without_groups_nothing_around_is_read(dtype: str, lanes: int, stride: int) -> None:
    text = check(_rows(dtype, lanes, stride, 2 * lanes - 1, 1))
    assert f"load_{dtype}x{lanes}_every_{stride}(A" in text and f"load_part_{dtype}x{lanes}_every_{stride}(A" in text
    assert "_from_" not in text


def test_elements_further_apart_are_gathered() -> None:
    assert "gather_f32x4" in check(_rows("f32", 4, 5, 8, 0))


@pytest.mark.parametrize("lanes", [2, 4, 16])
@pytest.mark.parametrize("stride", [2, 3, 4])
def test_loads_end_with_the_last_element_or_its_group(lanes: int, stride: int) -> None:
    if not is_close(f32, lanes, stride):
        assert stride > lanes
        return
    for place, behind in ((None, (lanes - 1) * stride + 1), (1, lanes * stride)):
        text = Close(lanes, stride, place).text("V", "M", lambda start: f"load(from + {start})")
        assert max(int(n) for n in re.findall(r"load\(from \+ (\d+)\)", text)) + lanes == behind
        part = Close(lanes, stride, place).part_text("V", "M", lambda start, limits: f"load_part({start}, {limits})")
        assert f"high = {'(last - 1)' if place is None else 'last'} * {stride}{' + 1' if place is None else ''};" in part


def _pool(
    lanes: int, columns: int, *, operator: Operator, places: tuple[int, ...] = (0, 1), rows: int = 2, readers: int = 1
) -> Nest:
    """B[r, i] = the greatest (or least) of A[rows * r + n, 2 * i + d] over n and the places d, rows before places; with more
    readers plus the first element."""
    b = Builder("pool")
    length = 2 * columns
    source, target = b.buffer("A", 3 * rows * length), b.buffer("B", 3 * columns, Role.OUTPUT)
    items = {(p, n): b.value(f"x{p}{n}", vector=lanes) for p in range(len(places)) for n in range(rows)}
    totals = {(p, n): b.value(f"y{p}{n}", vector=lanes) for p, n in items if n}
    result = b.value("z", vector=lanes)
    with b.loop("r", LOOP, 3) as r, b.loop("t", UNROLL, 2) as t:
        for (p, n), item in items.items():
            with b.loop("v", VECTOR, lanes) as v:
                i = t * lanes + v
                b.load(b.ref(item, v), source, r * rows * length + n * length + i * 2 + places[p], (i, columns))
        for (p, n), total in totals.items():
            before = totals.get((p, n - 1), items[p, 0])
            with b.loop("v", VECTOR, lanes) as v:
                b.compute(b.ref(total, v), operator, b.ref(before, v), b.ref(items[p, n], v))
        with b.loop("v", VECTOR, lanes) as v:
            last = (b.ref(totals[p, rows - 1], v) for p in (0, len(places) - 1))
            b.compute(b.ref(result, v), operator, *last)
        if readers > 1:
            with b.loop("v", VECTOR, lanes) as v:
                b.compute(b.ref(result, v), Operator.ADD, b.ref(result, v), b.ref(items[0, 0], v))
        with b.loop("v", VECTOR, lanes) as v:
            i = t * lanes + v
            b.store(target, r * columns + i, b.ref(result, v), (i, columns))
    return b.nest()


@pytest.mark.parametrize("operator", [Operator.MAX, Operator.MIN])
@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("lanes", [4, 8])
def test_extremes_are_taken_before_elements_are_picked(lanes: int, rows: int, operator: Operator) -> None:
    """Whole vectors and parts of them; the loads that are joined have no registers."""
    text = check(_pool(lanes, 2 * lanes - 1, operator=operator, rows=rows))
    vector = f"{operator.value}{{}}_f32x{lanes}_every_2_from_{{}}_of_{rows}(A"
    for part in ("", "_part"):
        assert all(vector.format(part, place) in text for place in (0, 1))
    assert "load_f32x" in text and f"load_f32x{lanes}_every" not in text and "x00" not in text


@pytest.mark.parametrize("changes", [{"places": (0,)}, {"places": (1, 1)}, {"readers": 2}])
def test_extremes_of_what_is_needed_alone_are_taken_of_elements(changes: dict[str, Any]) -> None:
    """Loads of one place of the groups only, or of elements that something else reads, too."""
    text = check(_pool(4, 7, operator=Operator.MAX, **changes))
    assert "load_f32x4_every_2" in text and ("_of_2(A" in text) == ("readers" in changes)


def test_joined_loads_stand_before_a_store_to_their_array() -> None:
    """Both wait, and are written out before the array changes."""
    b = Builder("shifted")
    array = b.buffer("A", 32, Role.OUTPUT)
    items = [[b.value(f"x{p}{n}", vector=4) for n in range(2)] for p in range(2)]
    totals = [b.value(f"y{p}", vector=4) for p in range(2)]
    with b.loop("one", Kind.BLOCK, 1):
        for p in range(2):
            for n in range(2):
                with b.loop("v", VECTOR, 4) as v:
                    b.load(b.ref(items[p][n], v), array, v * 2 + 8 * n + p)
            with b.loop("v", VECTOR, 4) as v:
                b.compute(b.ref(totals[p], v), Operator.MAX, *(b.ref(item, v) for item in items[p]))
        for p in range(2):
            with b.loop("v", VECTOR, 4) as v:
                b.store(array, v + 4 * p, b.ref(totals[1 - p], v))
    nest = b.nest()
    assert "_of_2(A" in c_source(nest).text
    given = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    wanted, found = interpret(nest, {"A": given.copy()}, {})["A"], given.copy()
    compile_nest(nest).run([found], {})
    np.testing.assert_array_equal(found, wanted)
