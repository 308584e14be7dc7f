"""Rules of loops that leave out iterations: sequential ones, the same neighbours for all threads of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.schedule.cuda import nests
from tests.schedule.cuda.test_rounds import changed

from warploom.schedule.backbone import RunTimeSize
from warploom.schedule.nest import Guard, Kind, Loop, loops, verify

THREAD = next(x.number for x in loops(changed(lambda loop: loop).body) if x.kind is Kind.THREAD)
NOT_ALIKE = "loop j leaves out iterations that are not the same neighbours for all threads of a block"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda loop: replace(loop, only=(Guard(nests.index((loop.number, -1), (THREAD, 1)), 1000),)), NOT_ALIKE),
        (lambda loop: replace(loop, only=(Guard(nests.index(constant=1), 1000),)), NOT_ALIKE),
        (lambda loop: replace(loop, only=(replace(loop.only[0], run_time=RunTimeSize("m")),)), NOT_ALIKE),
        (lambda loop: replace(loop, kind=Kind.UNROLL), "unroll loop j leaves out iterations"),
    ],
    ids=["by thread", "not on the loop", "a size known at run time", "unrolled"],
)
def test_what_loops_leave_out(change: Callable[[Loop], Loop], message: str) -> None:
    assert verify(changed(lambda loop: loop)) == ()
    assert message in verify(changed(change))
