"""Swizzleflow's benchmarks: as many solutions as its authors' tool finds, and the replay confirms every one.

The one difference: `hvx-gaussian-blocks` has the 4 solutions of the same problem without blocks, where their tool reports none.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.ir.dataflow.random_programs import holes_of

from warploom.ir.dataflow import is_member, parse_program, replays
from warploom.kernels.dataflow import PROGRAMS
from warploom.synth.dataflow import solve_program

TROVES = {
    "l1": {"crc": (1, 0, 2, 0, 2, 2), "rcr": (32, 32, 3, 16, 3, 3), "cr_sum": (1, 0, 2, 0, 2, 2)},
    "l3": {"crc": (1, 0, 2, 0, 2, 2, 2), "rcr": (58, 272, 3, 128, 3, 3, 3), "cr_sum": (1, 0, 2, 0, 2, 2, 2, 2, 2)},
}
"""Level, order -> solutions at 1, 2, 3, 4, 5, 7, 9, 11, 13 registers."""

COUNTS = {
    "sf/trove-8x3": 2,
    "sf/hvx-gaussian": 4,
    "sf/hvx-gaussian-blocks": 4,
    "sf/proper-conv-32x3": 1,
    "sf/proper-conv-32x3-noprune": 1,
    "sf/useless-var-test": 8,
    "sf/universe-soundness-test": 1,
    "sf/l1/mult-64-with-16-shared": 8,
    "sf/l1/1d-stencil": 1,
    "sf/l2/1d-stencil": 2,
    "sf/l3/1d-stencil": 2,
    "sf/l1/1d-conv": 1,
    "sf/l2/1d-conv": 1,
    "sf/l3/1d-conv": 1,
    "sf/l3/1d-conv-5": 1,
    "sf/l3/1d-conv-7": 1,
    "sf/l3/1d-conv-9": 1,
    "sf/l3/1d-conv-11": 1,
    "sf/l3/1d-conv-13": 1,
    "sf/l1/2d-stencil-3": 1,
    "sf/l1/2d-stencil-5": 1,
    "sf/l1/2d-stencil-7": 0,
    "sf/l2/2d-stencil-3": 4,
    "sf/l2/2d-stencil-5": 1,
    "sf/l2/2d-stencil-7": 4,
    "sf/l2/2d-stencil-9": 1,
    "sf/l3/2d-stencil-3": 4,
    "sf/l3/2d-stencil-5": 1,
    "sf/l3/2d-stencil-7": 4,
    "sf/l3/2d-stencil-9": 1,
    **{f"sf/{level}/mult-32-with-4": 2 for level in ("l1", "l2", "l3")},
    **{f"sf/{level}/mult-64-with-16": 2 for level in ("l1", "l2", "l3")},
    **{
        f"sf/{level}/trove-{order}-{size}": count
        for level, orders in TROVES.items()
        for order, counts in orders.items()
        for size, count in zip((1, 2, 3, 4, 5, 7, 9, 11, 13), counts, strict=False)
    },
}

LONG = {
    "sf/l1/trove-rcr-4", "sf/l2/2d-stencil-7", "sf/l2/2d-stencil-9", "sf/l3/2d-stencil-7", "sf/l3/2d-stencil-9",
    "sf/l3/trove-rcr-2", "sf/l3/trove-rcr-4", "sf/l3/trove-crc-9", "sf/l3/trove-rcr-9", "sf/l3/trove-cr_sum-13",
}  # fmt: skip


def test_every_published_case_is_here() -> None:
    assert {case for case in PROGRAMS if case.startswith("sf/")} == set(COUNTS) and set(COUNTS) >= LONG


@pytest.mark.parametrize("case", sorted(set(COUNTS) - LONG))
def test_as_many_solutions_as_published(case: str) -> None:
    _compare(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(LONG))
def test_as_many_solutions_as_published_long(case: str) -> None:
    _compare(case)


def _compare(case: str) -> None:
    program = parse_program(PROGRAMS[case]())
    result = solve_program(program)
    assert result.complete
    assert result.solutions.count == COUNTS[case]
    holes = [(name, choices, hole.name) for (name, choices), hole in zip(holes_of(program), result.solutions.holes, strict=True)]
    found = [
        {name: choices.gather(solution.members[key].table.astype(np.int64)) for name, choices, key in holes}
        for solution in result.solutions
    ]
    assert len({tuple(gather.tobytes() for gather in members.values()) for members in found}) == len(found) == COUNTS[case]
    assert replays(program, found).all()
    for name, choices, _ in holes:
        for gather in {members[name].tobytes(): members[name] for members in found}.values():
            assert is_member(choices, gather)
