"""Habits of fast kernels (tiles in shared memory, copied ahead in vectors) come from the mathematics of a product alone."""

from __future__ import annotations

import random

import pytest
from tests.schedule.choices import hand
from tests.schedule.choices.matrices import gated
from tests.schedule.choices.test_kernel_space import check

from warploom.kernels.tensors import tensor_kernel
from warploom.machines import architecture
from warploom.schedule.backbone import Backbone, cuda_tiles, matrix_tiles, read_once, widened
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features, KernelSpace, kernel_space, objects_of
from warploom.schedule.choices.habits import habits
from warploom.schedule.cost.time import modelled, registers_of
from warploom.schedule.nest import Kind, Load, Nest, Space, hardware_sizes, loops, products_of, statements, verify
from warploom.schedule.search import KernelModel
from warploom.schedule.search.kernel_model import Step
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

SM_90 = target("sm_90")
SMALL = (((4,), (2,)), ((2,), (4,), (2,)), ((4,), (2,)))


def first(space: KernelSpace, candidate: Candidate) -> Nest:
    """The leaf below the candidate in which every open choice has the first value that it may have."""
    while (decision := space.decisions(candidate)) is not None:
        children = (space.apply(candidate, decision, a) for a in decision.alternatives)
        candidate = next(c for c in children if c is not None)
    return space.lower(candidate)


def product(m: int, n: int, k: int) -> Backbone:
    return hand.matmul(m, n, k, SMALL, divisors=False)


def test_tiles_of_a_product_are_copied_ahead_in_vectors() -> None:
    backbone = product(16, 30, 24)
    space = kernel_space(backbone, SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == ()
    check(backbone, nest)
    assert [b.copies for b in nest.buffers if b.space is Space.SHARED] == [2, 2]
    copied = [around for s, around in statements(nest.body) if isinstance(s, Load) and s.is_async]
    assert len(copied) == 2
    assert all(around[-1].kind is Kind.VECTOR for around in copied)
    assert [x.stages for x in loops(nest.body) if x.stages > 1] == [2]


def test_threads_of_a_product_lie_four_by_eight_in_a_warp() -> None:
    """In all ways but two, all threads share out the copies in the order of the array."""
    (stage,) = tensor_kernel("matmul").program(dict.fromkeys("mnk", 256), cuda_tiles).stages
    space = kernel_space(stage, SM_90)
    found = [first(space, space.usually(space.root(), lambda _: False, turn)) for turn in range(space.ways)]
    for nest, is_spread in zip(found, (False, False, True, True, True, True), strict=True):
        assert verify(nest) == () and nest.lanes == (4, 8)
        assert any(x.digit is not None for x in loops(nest.body)) == is_spread
        shared = {n for n, b in enumerate(nest.buffers) if b.space is Space.SHARED}
        loaded = [around for s, around in statements(nest.body) if isinstance(s, Load) and s.memory.buffer in shared]
        assert len(loaded) == 2 and all(around[-1].kind is Kind.VECTOR for around in loaded)


@pytest.mark.parametrize(
    ("arch", "share"),
    [("sm_86", 0.74), *(pytest.param(*case, marks=pytest.mark.slow) for case in (("sm_120", 0.73), ("sm_89", 0.7)))],
)
def test_tall_tiles_reach_70_percent_of_the_f32_units(arch: str, share: float) -> None:
    """4096^3 by the model, before any search, where loads of shared memory are as slow as arithmetic."""
    on, size = target(arch), 4096
    (stage,) = tensor_kernel("matmul").program(dict.fromkeys("mnk", size), cuda_tiles).stages
    space = kernel_space(stage, on)
    nest = first(space, space.usually(space.root(), lambda _: False, 1))
    assert hardware_sizes(nest, Kind.THREAD) == (8, 8)
    board = architecture(arch).bounds
    peak = 2 * architecture(arch).timing.float_lanes.value * board.multiprocessors * board.clock_ghz * 1e6
    assert 2 * size**3 / modelled(nest, on).time_ms / peak > share


def test_four_warps_are_a_fast_way_where_blocks_are_few() -> None:
    """f16, 1024^3, where a matrix unit is not much faster than what feeds it."""
    on = target("sm_120")
    (stage,) = tensor_kernel("matmul_f16").program(dict.fromkeys("mnk", 1024), matrix_tiles(on.matrices)).stages
    space = kernel_space(widened(stage, on.matrices), on)
    found = [first(space, space.usually(space.root(), lambda _: False, turn)) for turn in range(4)]
    assert [verify(nest) for nest in found] == [()] * 4
    assert all(products_of(nest) and any(x.digit is not None for x in loops(nest.body)) for nest in found)
    assert [hardware_sizes(nest, Kind.THREAD) for nest in found] == [(4, 8, 2, 4), *[(4, 8, 2, 2)] * 3]
    times = [modelled(nest, on).time_ms for nest in found]
    assert max(times[2:]) < 0.7 * min(times[:2])


def test_a_bias_is_loaded_behind_the_sum() -> None:
    """In the loops of the products it would keep them from being whole ones."""
    on = target("sm_80")
    (stage,) = tensor_kernel("linear_relu_f16").program(dict.fromkeys("mnk", 256), matrix_tiles(on.matrices)).stages
    space = kernel_space(widened(stage, on.matrices), on)
    nest = first(space, space.usually(space.root(), lambda _: False, 1))
    assert verify(nest) == () and products_of(nest)
    (rounds,) = [x for x in loops(nest.body) if x.stages > 1]
    (around,) = [
        path for s, path in statements(nest.body) if isinstance(s, Load) and nest.buffers[s.memory.buffer].name == "bias"
    ]
    assert rounds.number not in {x.number for x in around}


@pytest.mark.parametrize(("arch", "copies"), [("sm_89", 2), ("sm_90", 3)])
def test_tiles_have_as_many_copies_as_fit_a_block(arch: str, copies: int) -> None:
    """f16, 4096^3, 128 x 256 results in slices of 64: three copies of both take 144 KB; a block has 99 KB or 227 KB."""
    on = target(arch)
    (stage,) = tensor_kernel("matmul_f16").program(dict.fromkeys("mnk", 4096), matrix_tiles(on.matrices)).stages
    space = kernel_space(widened(stage, on.matrices), on)
    nest = first(space, space.usually(space.root(), lambda _: False, 0))
    assert verify(nest) == ()
    assert [b.copies for b in nest.buffers if b.space is Space.SHARED] == [copies] * 2


@pytest.mark.parametrize(("half", "stages", "most_ms"), [(0, [3], 1.0), (1, [2, 3], 1.2)])
def test_two_products_of_one_kernel_follow_each_other(half: int, stages: list[int], most_ms: float) -> None:
    """SwiGLU: tiles are copied ahead in one loop, that of X once, or in a loop of each product; all totals stay in registers, and
    the rest takes one value at a time."""
    (stage,) = gated.program(dict.fromkeys("mnk", 4096), matrix_tiles(SM_90.matrices)).stages
    space = kernel_space(widened(read_once(stage), SM_90.matrices), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False, half * space.ways // 2))
    assert verify(nest) == ()
    assert len(products_of(nest)) == 2
    assert sorted(x.stages for x in loops(nest.body) if x.stages > 1) == stages
    shared = [b for b in nest.buffers if b.space is Space.SHARED]
    assert sum(b.elements * b.copies * b.dtype.size_bytes for b in shared) <= SM_90.shared_bytes
    assert registers_of(nest) < 200
    assert modelled(nest, SM_90).time_ms < most_ms


def test_habits_left_out_are_open() -> None:
    space = kernel_space(product(16, 32, 24), SM_90)
    root = space.root()
    assert space.usually(root, lambda _: True) == root
    assert space.usually(root, lambda _: False).open("stages") == []
    assert len(space.usually(root, lambda choice: choice == "stages").open("stages")) == 2


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax"])
def test_threads_share_out_rows_that_stay_in_their_registers(name: str) -> None:
    """Each thread loads its part of X once; nothing but partial sums is shared."""
    (stage,) = tensor_kernel(name).program({"rows": 4096, "columns": 1024}, cuda_tiles).stages
    space = kernel_space(read_once(stage), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == ()
    assert hardware_sizes(nest, Kind.THREAD) == (256,)
    assert hardware_sizes(nest, Kind.BLOCK) == (1024,)
    assert not [b for b in nest.buffers if b.space is Space.SHARED]
    loads = [around for s, around in statements(nest.body) if isinstance(s, Load) and s.memory.buffer == 0]
    assert len(loads) == 1 and loads[0][-1].kind is Kind.VECTOR


@pytest.mark.parametrize("name", ["matvec", "axpy"])
def test_kernels_whose_operands_are_not_all_used_again_copy_nothing_ahead(name: str) -> None:
    for stage in tensor_kernel(name).program(None, cuda_tiles).stages:
        ways = habits(objects_of(stage, Features.full()), SM_90)
        assert ways and not any(choice == "stages" for way in ways for choice, _, _ in way)


def test_the_papers_space_has_none() -> None:
    space = kernel_space(product(16, 32, 24), SM_90, Features.paper())
    assert space.usually(space.root(), lambda _: False) == space.root()


def test_a_search_begins_with_habits_as_decisions_in_its_order() -> None:
    space = kernel_space(product(16, 32, 24), SM_90)
    model = KernelModel(space, Bound(space))
    root = model.root()
    wanted = space.usually(root.candidate, lambda _: False)
    path = model.begin(root, random.Random(1))
    found = model.decide(root, path)
    assert found is not None
    assert first(space, found.candidate) == first(space, wanted)
    assert space.replay(found.decisions) == found.candidate
    others = [model.begin(root, random.Random(n)) for n in range(space.ways)]
    assert path in others
    assert len(set(others)) > 1


def test_a_candidate_is_retraced_in_the_order_of_a_descent() -> None:
    """Habits take sizes last, descents take them early; so a size could be taken anew only with all that came before it."""
    space = kernel_space(product(16, 32, 24), SM_90)
    model = KernelModel(space, Bound(space))
    root = model.root()

    def completed(step: Step[Candidate]) -> Step[Candidate] | None:
        opened = model.open_choices(step)
        if not opened:
            return step
        children = (a.expand() for a in model.alternatives(step, opened[0][0]))
        return next((whole for c in children if c is not None and (whole := completed(c)) is not None), None)

    begun = model.decide(root, model.begin(root, random.Random(0)))
    step = None if begun is None else completed(begun)
    assert step is not None
    found = root
    for choice, mask in model.retraced(root, step):
        assert model.open_choices(found)[0][0] == choice
        following = model.decide(found, [(choice, mask)])
        assert following is not None
        found = following
    assert found.candidate == step.candidate and model.open_choices(found) == []
    sorts = {model.sort(choice) for choice, _ in model.retraced(root, step)}
    assert {"stages", "swizzle", "cache", None} <= sorts and not {"size", "layout", "order"} & sorts
    assert model.starts == space.ways


def test_every_way_is_begun_with_as_it_is() -> None:
    """Before any descent leaves something out: a search with a small budget has tried them all."""
    space = kernel_space(product(16, 32, 24), SM_90)
    model: KernelModel[Candidate] = KernelModel(space, Bound(space))
    assert space.ways > 1
    for turn in range(space.ways):
        wanted = space.usually(space.root(), lambda _: False, turn)
        begun = model.decide(model.root(), model.begin(model.root(), random.Random(0)))
        assert begun is not None and begun.candidate == wanted
