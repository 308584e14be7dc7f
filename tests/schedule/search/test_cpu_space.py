"""The CPU's space holds the kernels that are fast when written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import AxisUse, cpu_tiles
from warploom.schedule.bound import Bound
from warploom.schedule.choices import default_order, kernel_space
from warploom.schedule.nest import Kind, Nest, loops, verify
from warploom.schedule.targets import cpu

WIDE = replace(cpu(64, 32), vector_lanes=(8, 16))
REGISTER_TILES = {
    "matmul": (
        {"m": 1024, "n": 1024, "k": 1024},
        {
            "dim_mapping(load_B.k1->mad.k1)": "NOT_MAPPED", "dim_kind(mad.m2)": "UNROLL", "dim_kind(mad.n2)": "UNROLL",
            "dim_kind(mad.n3)": "VECTOR", "size(m2)": "8", "size(n2)": "2", "size(n3)": "16", "dim_kind(mad.k1)": "LOOP",
            "dim_kind(mad.m0)": "BLOCK", "dim_kind(mad.m1)": "LOOP", "dim_kind(mad.k0)": "LOOP", "order(mad.k1, mad.m1)": "INNER",
        },
        (8, 2, 16),
    ),
    "matmul_batched": (
        {"b": 512, "m": 32, "n": 32, "k": 64},
        {
            "dim_kind(mad.m2)": "UNROLL", "dim_kind(mad.n2)": "UNROLL", "dim_kind(mad.n3)": "VECTOR", "size(m2)": "12",
            "size(n2)": "2", "size(n3)": "16", "dim_kind(mad.b0)": "BLOCK", "dim_kind(mad.k1)": "LOOP",
        },
        (12, 2, 16),
    ),
    "matvec": (
        {"m": 4096, "n": 4096},
        {
            "dim_kind(mad.m2)": "UNROLL", "dim_kind(mad.n1)": "UNROLL", "dim_kind(mad.n2)": "VECTOR", "size(m2)": "4",
            "size(n1)": "4", "size(n2)": "16", "dim_kind(mad.m0)": "BLOCK", "dim_kind(mad.n0)": "LOOP",
            "partials(mad.n1)": "TREE", "prefetch(matvec)": "8",
        },
        (4, 4, 16),
    ),
    "matvec_t": (
        {"m": 4096, "n": 4096},
        {
            "dim_kind(mad.n2)": "UNROLL", "dim_kind(mad.n3)": "VECTOR", "size(n2)": "24", "size(n3)": "16",
            "dim_kind(mad.n0)": "BLOCK", "dim_kind(mad.m0)": "LOOP", "dim_kind(load_A.m0)": "LOOP", "size(m1)": "1",
            "size(n1)": "1", "prefetch(matvec_t)": "8",
        },
        (24, 16),
    ),
}  # fmt: skip


def completed(name: str, sizes: dict[str, int], decided: dict[str, str]) -> Nest:
    """The nest that the decisions and, for the rest, the best estimates lead to."""
    (stage,) = tensor_kernel(name).program(sizes, cpu_tiles).stages
    space = kernel_space(stage, WIDE)
    bound = Bound(space)
    waiting = [space.replay(decided)]
    while waiting:
        candidate = waiting.pop()
        decision = space.decisions(candidate, default_order(WIDE))
        if decision is None:
            nest = space.lower(candidate)
            verify(nest)
            return nest
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        waiting += sorted(children, key=bound.estimate, reverse=True)
    raise AssertionError("no implementation has these decisions")


@pytest.mark.parametrize("name", REGISTER_TILES)
def test_register_tiles_of_hand_built_kernels(name: str) -> None:
    sizes, decided, registers = REGISTER_TILES[name]
    nest = completed(name, sizes, decided)
    assert registers in [tuple(a.size for a in v.axes if a.size > 1) for v in nest.values]
    if name == "matmul":
        assert any(b.name == "tmp_load_B" for b in nest.buffers)
    if f"prefetch({name})" in decided:
        assert any(loop.stages == 9 for loop in loops(nest.body))


def test_stencils_with_half_vectors_and_rows_unrolled() -> None:
    decided = {"size(w2)": "8", "size(h1)": "4", "dim_kind(load_X.w2)": "VECTOR", "dim_kind(load_X.h1)": "UNROLL"}
    nest = completed("stencil3d", {"d": 16, "h": 16, "w": 64}, decided)
    assert any(loop.kind is Kind.VECTOR and loop.size == 8 for loop in loops(nest.body))
    assert any(loop.kind is Kind.UNROLL and loop.size == 4 for loop in loops(nest.body))


def test_axes_without_shared_loads_have_few_tiles() -> None:
    use = AxisUse("kernel", "i", 512, is_reduced=False, is_stored=True, is_contiguous=False)
    assert len(cpu_tiles(use)) == 2
    assert len(cpu_tiles(replace(use, is_shared=False))) == 1
    assert [len(cpu_tiles(replace(use, is_streamed=True, is_shared=s))) for s in (True, False)] == [3, 2]


def test_rows_that_divide_where_eight_does_not() -> None:
    use = AxisUse("kernel", "w", 28, is_reduced=False, is_stored=True, is_contiguous=True, is_stored_in_line=True)
    assert cpu_tiles(use)[-1] == (4, 7, 8, 16)
    assert cpu_tiles(replace(use, is_streamed=True))[-1] == (4, 7, 8, 16)
    assert cpu_tiles(replace(use, size=30))[-1] == (4, 5, 6, 8, 16)
    assert cpu_tiles(replace(use, size=56))[-1] == (4, 8, 16)
