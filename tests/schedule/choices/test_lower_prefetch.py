"""Hints for what is read later: which loops give them, and for what."""

from __future__ import annotations

import pytest

from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.choices.lower_prefetch import fetching
from warploom.schedule.cpu import c_source
from warploom.schedule.nest import Builder, Kind, Nest, loops, verify

HINT = "__builtin_prefetch("


def two_passes(row: int, step: int, *, together: int = 1) -> Nest:
    """The sum of each row of A, then that of its products with B; `row` elements from row to row, `step` from one that is read
    to the next, of 4; so many rows together."""
    b = Builder("passes")
    rows, factors = b.buffer("A", 8 * row + 4 * step), b.buffer("B", 4 * step)
    target = b.buffer("C", 8, Role.OUTPUT)
    x, y, total = b.value("x", together), b.value("y"), b.value("total", together)
    with b.loop("r", Kind.BLOCK, 8 // together) as r:
        with b.loop("start", Kind.UNROLL, together) as u:
            b.compute(b.ref(total, u), Operator.MOVE, Constant(0.0))
        with b.loop("c", Kind.LOOP, 4) as c, b.loop("u", Kind.UNROLL, together) as u:
            b.load(b.ref(x, u), rows, r * (row * together) + u * row + c * step)
            b.compute(b.ref(total, u), Operator.ADD, b.ref(total, u), b.ref(x, u))
        with b.loop("d", Kind.LOOP, 4) as d:
            b.load(b.ref(y), factors, d * step)
            with b.loop("v", Kind.UNROLL, together) as v:
                b.load(b.ref(x, v), rows, r * (row * together) + v * row + d * step)
                b.compute(b.ref(total, v), Operator.FMA, b.ref(x, v), b.ref(y), b.ref(total, v))
        with b.loop("end", Kind.UNROLL, together) as u:
            b.store(target, r * together + u, b.ref(total, u))
    return b.nest()


@pytest.mark.parametrize(
    ("row", "step", "together", "hints"),
    [
        (64, 16, 1, ["A + r*64 + d*16 + 64"]),  # rows follow each other
        (80, 16, 1, ["A + r*80 + d*16 + 80"]),  # some columns are not read
        (64, 16, 2, ["A + r*128 + d*16 + 128", "A + r*128 + d*16 + 192"]),  # the next two rows
        (64, 8, 1, []),  # steps within a line
        (1, 16, 1, []),  # columns of a matrix that lies across
        (48, 16, 1, []),  # rows that overlap
        (72, 16, 1, []),  # no whole number of steps
    ],
)
def test_the_last_pass_fetches_the_next_rows(row: int, step: int, together: int, hints: list[str]) -> None:
    """Factors that all rows share are not fetched."""
    nest = fetching(two_passes(row, step, together=together), "NEXT")
    verify(nest)
    assert [loop.name for loop in loops(nest.body) if loop.stages > 1] == (["d"] if hints else [])
    lines = c_source(nest).text.splitlines()
    assert [line.strip() for line in lines if HINT in line] == [f"{HINT}{place});" for place in hints]


def test_nothing_is_fetched_unless_it_is_decided() -> None:
    nest = two_passes(64, 16)
    assert fetching(nest, "0") is nest
    assert HINT in c_source(fetching(nest, "2")).text
