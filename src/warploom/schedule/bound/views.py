"""Views of candidates: the open one of a problem by hand, and the arrays that an evaluation fills."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warploom.schedule.backbone import Backbone
from warploom.schedule.bound.facts import FACTS, GRID_FACTS
from warploom.schedule.bound.problem import (
    BEFORE,
    CACHE_ALL,
    CACHE_L2,
    CACHE_NONE,
    CACHE_READ_ONLY,
    CHAIN,
    IN_GLOBAL,
    INNER,
    MERGED,
    OUTER,
    RESOURCES,
    Problem,
    View,
)
from warploom.schedule.bound.total import Scratch


def open_view(problem: Problem, backbone: Backbone, statements: int, sizes: Sequence[Sequence[int]] | None = None) -> View:
    """Nothing decided but what the backbone says: own dims are around their instruction, dims of one instruction are nested."""
    dims = len(problem.dim_statement)
    instructions = len(problem.instruction_statement)
    found = sizes or [e.sizes for e in backbone.extents]
    order = np.full((statements, statements), 31, np.uint8)
    for dim in range(dims):
        owner = int(problem.dim_owner[dim])
        mine, inner = int(problem.dim_statement[dim]), int(problem.instruction_statement[owner])
        order[mine, inner], order[inner, mine] = OUTER, INNER
        for other in range(dims):
            if int(problem.dim_owner[other]) == owner and other != dim:
                order[mine, int(problem.dim_statement[other])] = INNER | OUTER
    for a in range(instructions):
        for b in range(instructions):
            if a != b:
                order[int(problem.instruction_statement[a]), int(problem.instruction_statement[b])] &= 3
    for a in range(instructions):
        for source in problem.sources[problem.source_start[a] : problem.source_start[a + 1]]:
            first, second = int(problem.instruction_statement[source]), int(problem.instruction_statement[a])
            order[first, second], order[second, first] = BEFORE, 2
    order[np.arange(statements), np.arange(statements)] = MERGED
    return View(
        active=np.array([n < len(backbone.instructions) for n in range(instructions)], np.uint8),
        possible=np.ones(instructions, np.uint8),
        kind=np.full(dims, 31, np.uint8),
        smallest=np.array([min(s) for s in found], np.int64),
        largest=np.array([max(s) for s in found], np.int64),
        order=order,
        mapping=np.full((dims, dims), 15, np.uint8),
        space=np.where(problem.is_temporary, 3, IN_GLOBAL).astype(np.uint8),
        cache=np.full(instructions, CACHE_ALL | CACHE_L2 | CACHE_READ_ONLY | CACHE_NONE, np.uint8),
        partials=np.full(dims, CHAIN, np.uint8),
        pipelined=np.zeros(len(problem.is_temporary), np.uint8),
        in_order=np.ones(1, np.uint8),
    )


def scratch(problem: Problem) -> Scratch:
    """Arrays of the right shapes."""
    instructions, dims = len(problem.instruction_statement), len(problem.dim_statement)
    return Scratch(
        facts=np.zeros((instructions, FACTS)),
        grid=np.zeros(GRID_FACTS),
        usage=np.zeros((instructions, 3, len(RESOURCES))),
        plain=np.zeros(len(RESOURCES)),
        again=np.zeros((instructions, 4)),
        loops=np.zeros((3, len(RESOURCES))),
        totals=np.zeros((3, len(RESOURCES))),
        others=np.zeros(3),
        found=np.zeros(dims, np.int64),
        times=np.zeros(dims + 1),
        starts=np.zeros(instructions),
        lanes=np.zeros(dims + 2, np.int64),
        seen=np.zeros(4096, np.int64),
    )
