"""Vectors of every few elements, each nest against the interpreter."""

from __future__ import annotations

import re

import pytest
from tests.schedule.cpu.test_printer import check

from warploom.core import BY_NAME, f32
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.cpu import find_compiler
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
