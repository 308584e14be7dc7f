"""What a compiler may leave out is not in the bound."""

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Operator
from warploom.schedule.bound import Bound
from warploom.schedule.bound.meetings import reads_of
from warploom.schedule.bound.problem import BY_MACHINE, MEMORY
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.space import Candidate
from warploom.schedule.targets import cpu

CUBE = {"d": 8, "h": 64, "w": 64}


def stage_of(kernel: str, sizes: dict[str, int], tiles: dict[str, tuple[tuple[int, ...], ...]] | None = None) -> Backbone:
    return tensor_kernel(kernel).program(sizes, tiles or {}).stages[0]


def decided(space: KernelSpace, **values: str) -> Candidate:
    """Decisions by the parts of their names before `(`, all of that kind alike; the rest the first value that is possible."""
    candidate = space.root()
    while (decision := space.decisions(candidate)) is not None:
        wanted = values.get(decision.choice)
        ordered = sorted(decision.alternatives, key=lambda v: str(v) != wanted)
        candidate = next(c for v in ordered if (c := space.apply(candidate, decision, v)) is not None)
    return candidate


def test_loads_that_differ_by_constants_have_one_leader() -> None:
    stage = stage_of("stencil3d", CUBE)
    found = reads_of(stage)
    loads = [n for n, i in enumerate(stage.instructions) if i.operator is Operator.LOAD]
    assert len(loads) == 7
    assert {found.leaders[n] for n in loads} == {loads[0]}


def test_elements_that_are_read_again_count_once() -> None:
    stage = stage_of("conv2d", {"c": 4, "o": 2, "h": 6, "w": 10, "r": 3, "s": 3})
    image = next(n for n, i in enumerate(stage.instructions) if i.name == "load_X")
    assert reads_of(stage).distinct[image] == 4 * 6 * 10
    assert reads_of(stage).points[image] == 4 * 6 * 10 * 3 * 3


def test_points_outside_of_an_array_do_not_count() -> None:
    stage = stage_of("conv2d_same", {"c": 1, "o": 1, "h": 4, "w": 5})
    image = next(n for n, i in enumerate(stage.instructions) if i.operator is Operator.LOAD and i.access and i.access.fill == 0.0)
    rows, columns = 4 * 3 - 2, 5 * 3 - 2
    assert reads_of(stage).points[image] <= rows * columns
    assert reads_of(stage).points[image] >= 0.6 * rows * columns


def test_products_that_only_sums_use_take_no_instruction() -> None:
    stage = stage_of("stencil3d", CUBE)
    names = {stage.instructions[n].name for n in reads_of(stage).fused}
    assert names == set()
    layer = tensor_kernel("layer_norm").program({"rows": 8, "columns": 16}, {}).stages[0]
    assert all(layer.instructions[n].operator is Operator.MUL for n in reads_of(layer).fused)


@pytest.mark.parametrize("kind", ["LOOP", "UNROLL"])
def test_a_plane_of_a_stencil_is_loaded_at_least_three_times_only_if_registers_cannot_hold_it(kind: str) -> None:
    space = kernel_space(stage_of("stencil3d", CUBE), cpu())
    bound = Bound(space)
    bound.of(decided(space, dim_kind=kind))
    points = 8 * 64 * 64
    loads = float(bound.scratch.usage[:, BY_MACHINE, MEMORY].sum())
    assert points <= loads <= 7 * points
