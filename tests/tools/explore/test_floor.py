"""What `explore` found is timed beside the plain loop, and the line says when that is faster."""

from __future__ import annotations

from typing import Any

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.cpu import Timing, plain_nest
from warploom.tools.explore import floor
from warploom.tools.explore.data import data_for

KERNEL = tensor_kernel("gesummv")
PROGRAM = KERNEL.program(KERNEL.sizes_with({"n": 32}), cpu_tiles)
NESTS = [plain_nest(stage) for stage in PROGRAM.stages]
DATA = data_for(PROGRAM, KERNEL, 0)


def timing(ms: float) -> Timing:
    return Timing(ms, ms, ms, 1, 1, is_early=False)


def floored(time_ms: float, limit_s: float = 1.0) -> dict[str, Any]:
    return floor.with_floor({"time_ms": time_ms, "note": "first"}, PROGRAM, NESTS, DATA, 1, limit_s)


@pytest.mark.parametrize(("ours", "ratio"), [(3.0, 1.5), (1.0, 0.5)])
def test_side_by_side(monkeypatch: pytest.MonkeyPatch, ours: float, ratio: float) -> None:
    monkeypatch.setattr(floor, "retime", lambda calls, threads, rounds: (timing(ours), timing(2.0)))
    line = floored(3.0)
    assert line["plain_ms"] == 2.0 and line["time_over_plain"] == ratio
    assert (line["note"] == "first") == (ratio < 1) and ("1.5 times slower than the plain loop" in line["note"]) == (ratio > 1)


def test_plain_loops_that_are_much_slower_are_timed_roughly() -> None:
    line = floored(1e-9)
    assert line["plain_ms"] > 0 and line["time_over_plain"] < 1e-3 and line["note"] == "first"
    assert floored(1e6, limit_s=0.0)["time_over_plain"] > 1


def test_where_nothing_compiles_the_line_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(floor, "compile_nest", refused)
    assert floored(1.0) == {"time_ms": 1.0, "note": "first"}
