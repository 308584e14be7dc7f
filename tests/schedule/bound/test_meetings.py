"""Work that a compiler may leave out is not in the bound."""

from dataclasses import replace

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Operator, parse_backbone
from warploom.schedule.bound import Bound
from warploom.schedule.bound.meetings import reads_of
from warploom.schedule.bound.problem import BY_MACHINE, MEMORY, STORES
from warploom.schedule.bound.tables import tables
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.targets import K4000, cpu
from warploom.solve.space import Candidate

CUBE = {"d": 8, "h": 64, "w": 64}
PRODUCTS = """\
backbone products
axis i 4: 4
input X f32 [4] strides [1]
output Y f32 [4] strides [1]
output Z f32 [4] strides [1]
load[i] = load f32 X[i]
summed[i] = mul f32 load[i], 3.0
stored[i] = mul f32 load[i], load[i]
difference[i] = sub f32 summed[i], stored[i]
scaled[i] = mul f32 difference[i], 2.0
store_Y[i] = store f32 scaled[i] to Y[i]
store_Z[i] = store f32 stored[i] to Z[i]
"""


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
    stage = parse_backbone(PRODUCTS)
    assert {stage.instructions[n].name for n in reads_of(stage).left_out} == {"summed"}
    for target, issued in ((cpu(), 0.0), (K4000, 1.0)):
        issues = dict(zip((i.name for i in stage.instructions), tables(stage, target).issues, strict=True))
        assert (issues["summed"], issues["stored"], issues["scaled"]) == (issued, 1.0, 1.0)


COPIES = """\
backbone copies
axis i 4: 4
input X {dtype} [4] strides [1]
input W {dtype} [4] strides [1]
output Y {dtype} [4] strides [1]
load[i] = load {dtype} X[i]
other[i] = load {dtype} W[i]
{text}
store_Y[i] = store {dtype} value[i] to Y[i]
"""


@pytest.mark.parametrize(
    ("text", "dtype", "is_copied"),
    [
        ("value[i] = mul f32 load[i], other[i]", "f32", False),
        ("value[i] = mul f32 load[i], 3.0", "f32", False),
        ("value[i] = sqrt f32 load[i]", "f32", False),
        ("part[i] = add f32 load[i], other[i]\nvalue[i] = max f32 part[i], part[i]", "f32", False),
        ("value[i] = mul f32 load[i], 1.0", "f32", True),
        ("value[i] = add f32 load[i], 0.0", "f32", True),
        ("value[i] = max f32 load[i], other[i]", "f32", True),
        ("value[i] = neg f32 load[i]", "f32", True),
        ("value[i] = add i32 load[i], other[i]", "i32", True),
        ("zero[i] = mul f32 1.0, 1.0\nvalue[i] = mul f32 load[i], zero[i]", "f32", True),
    ],
)
def test_what_is_surely_computed_is_not_copied(text: str, dtype: str, is_copied: bool) -> None:
    stage = parse_backbone(COPIES.format(text=text, dtype=dtype))
    value = next(n for n, i in enumerate(stage.instructions) if i.name == "value")
    assert reads_of(stage).is_copied[value] is is_copied


def test_a_value_that_is_loaded_and_stored_is_copied() -> None:
    stage = parse_backbone(COPIES.format(text="", dtype="f32").replace("value[i] to", "load[i] to"))
    assert reads_of(stage).is_copied[:2] == [True, False]


def test_elements_that_are_computed_are_not_stored_together_by_a_compiler() -> None:
    used: list[float] = []
    for text in ("value[i] = mul f32 load[i], other[i]", "value[i] = mul f32 load[i], 1.0"):
        stage = parse_backbone(COPIES.format(text=text, dtype="f32"))
        space = kernel_space(stage, cpu())
        bound = Bound(space)
        bound.of(decided(space, dim_kind="LOOP"))
        store = next(n for n, i in enumerate(stage.instructions) if i.operator is Operator.STORE)
        used.append(float(bound.scratch.usage[store, BY_MACHINE, STORES]))
    assert used[0] > used[1] > 0


@pytest.mark.parametrize("kind", ["LOOP", "UNROLL"])
def test_a_plane_of_a_stencil_is_loaded_at_least_three_times_only_if_registers_cannot_hold_it(kind: str) -> None:
    space = kernel_space(stage_of("stencil3d", CUBE), cpu())
    candidate = decided(space, dim_kind=kind)
    points, plane = 8 * 64 * 64, 64 * 64

    def loads(kept_registers: int) -> float:
        bound = Bound(space, replace(space.target, rates=replace(space.target.rates, kept_registers=kept_registers)))
        bound.of(candidate)
        return float(bound.scratch.usage[:, BY_MACHINE, MEMORY].sum())

    assert 3 * points <= loads(8) <= 7 * points
    assert points <= loads(3 * plane) < 2 * points
