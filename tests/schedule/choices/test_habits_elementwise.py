"""Habits of CPU kernels without a sum: vectors in line, a few rows whose neighbours read the same, loops as memory lies."""

from __future__ import annotations

import pytest
from tests.schedule.choices.test_habits import first
from tests.schedule.choices.test_kernel_space import check

from warploom.kernels.suites import NETWORKS, POLYBENCH
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.choices import kernel_space
from warploom.schedule.choices.habits_elementwise import elementwise_habits
from warploom.schedule.nest import Kind, Store, statements
from warploom.schedule.targets import target

CPU = target("cpu")


@pytest.mark.parametrize(("way", "axis"), [(0, "h"), (1, "d")])
def test_rows_of_a_stencil_read_the_same(way: int, axis: str) -> None:
    backbone = POLYBENCH["heat3d"].kernel.program({"d": 16, "h": 16, "w": 32}, cpu_tiles).stages[0]
    space = kernel_space(backbone, CPU)
    nest = first(space, space.usually(space.root(), lambda _: False, way))
    ((_, around),) = [found for found in statements(nest.body) if isinstance(found[0], Store)]
    real = [x.name[0] for x in around if x.kind in (Kind.LOOP, Kind.BLOCK)]
    assert real == sorted(real) and around[-1].kind is Kind.VECTOR and around[-1].name[0] == "w"
    assert [(x.name[0], x.size) for x in around if x.kind is Kind.UNROLL and x.size > 1] == [(axis, 4)]
    check(backbone, nest)


def test_vectors_without_neighbours_lie_next_to_each_other() -> None:
    backbone = NETWORKS["gelu"].kernel.program({"m": 4, "n": 128}, cpu_tiles).stages[0]
    space = kernel_space(backbone, CPU)
    assert space.ways == 3
    found = [first(space, space.usually(space.root(), lambda _: False, way)) for way in range(3)]
    around = [a for s, a in statements(found[1].body) if isinstance(s, Store)][-1]
    assert [(x.kind, x.size) for x in around[-2:]] == [(Kind.UNROLL, 2), (Kind.VECTOR, max(CPU.lanes(4)))]


def test_kernels_with_a_sum_have_others() -> None:
    backbone = POLYBENCH["gesummv"].kernel.program({"n": 16}, cpu_tiles).stages[0]
    assert elementwise_habits(kernel_space(backbone, CPU).objects, CPU) == ()
