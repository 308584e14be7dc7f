"""Symmetric sums that are made on one side of the diagonal: every element is right, and stored once."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.nest.interpreter import interpret

from warploom.kernels.suites import POLYBENCH
from warploom.schedule.backbone import AxisUse, Backbone, added_products, evaluate
from warploom.schedule.bound import Bound
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.cpu import c_source
from warploom.schedule.nest import Kind, Loop, Nest, Store, loops, share_of, statements, text, verify
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

CPU = target("cpu")
PARAMETERS = {"alpha": 1.5, "beta": 0.5}


def tiles(use: AxisUse) -> tuple[tuple[int, ...], ...]:
    return ((1, 2, 4), (1, 2, 3, 4)) if use.is_stored else ((1, 2),)


def stage_of(name: str, size: int = 9, stage: int = 0) -> Backbone:
    kernel = POLYBENCH[name].kernel
    sizes = dict.fromkeys(kernel.function.sizes, size) | {"n" if name == "covariance" else "k": 2}
    return added_products(kernel.program(sizes, tiles).stages[stage])


def halved(space: KernelSpace) -> Candidate:
    return space.set_by_name(space.root(), f"mirror({space.backbone.name})", "YES")


def leaf(space: KernelSpace, start: Candidate, seed: int) -> Candidate | None:
    draw, candidate = random.Random(seed), start
    while (
        decision := space.decisions(candidate, ("dim_kind", "size", "order", "layout", "cache", "partials", "direction"))
    ) is not None:
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        if not children:
            return None
        candidate = draw.choice(children)
    return candidate


def tiled(space: KernelSpace, rows: int = 2, columns: int = 4, **more: str) -> Candidate:
    """Loops over tiles of the result around everything, one tile unrolled."""
    backbone, candidate = space.backbone, halved(space)
    total = space.objects.sums[0].name
    decisions = {"size(i1)": "1", "size(i2)": str(rows), "size(j1)": "1", "size(j2)": str(columns)}
    for o in space.objects.operations:
        if o.temporary is None:
            for loop in (x for x in space.objects.loops if x.owner == o.statement and not x.is_reduction):
                name = f"{backbone.axes[loop.axis].name}{loop.level}"
                if backbone.axes[loop.axis].name in "ij":
                    decisions[f"dim_kind({o.name}.{name})"] = "LOOP" if loop.level == 0 else "UNROLL"
                    if loop.level == 0 and o.name != total:
                        decisions[f"order({o.name}.{name}, {total}.{name})"] = "MERGED"
    for name, value in (decisions | more).items():
        candidate = space.set_by_name(candidate, name, value)
    return candidate


def compared(backbone: Backbone, nest: Nest, seed: int = 0) -> None:
    assert verify(nest) == ()
    draw = np.random.default_rng(seed)
    arrays = {r.name: draw.integers(-3, 4, r.shape).astype(np.float32) for r in backbone.regions if r.role == "input"}
    wanted = evaluate(backbone, arrays, PARAMETERS)
    for name, found in interpret(nest, arrays, PARAMETERS, seed).items():
        np.testing.assert_array_equal(found.reshape(-1), wanted[name].reshape(-1))


def leaves_out(nest: Nest) -> list[Loop]:
    return [loop for loop in loops(nest.body) if loop.only]


@pytest.mark.parametrize(("name", "stage"), [("syrk", 0), ("syr2k", 0), ("covariance", 2)])
def test_random_candidates_are_right(name: str, stage: int) -> None:
    backbone = stage_of(name, stage=stage)
    space = kernel_space(backbone, CPU)
    found = [c for seed in range(6) if (c := leaf(space, halved(space), seed)) is not None]
    assert found
    for n, candidate in enumerate(found):
        compared(backbone, space.lower(candidate), n)


@pytest.mark.parametrize(("rows", "columns"), [(2, 4), (4, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD"])
def test_tiles_in_squares_are_halved(rows: int, columns: int, direction: str) -> None:
    backbone = stage_of("syrk")
    space = kernel_space(backbone, CPU)
    start = tiled(space, rows, columns, **{"direction(syrk)": direction})
    candidate = next(c for seed in range(20) if (c := leaf(space, start, seed)) is not None)
    nest = space.lower(candidate)
    assert [loop.name for loop in leaves_out(nest)] == ["half", "mirror"]
    compared(backbone, nest)
    assert 0.5 < share_of(nest) < 0.9
    assert text(nest).count(" if 0 <= ") == 2 and c_source(nest).text.count("continue;") >= 2


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (4, 3), (2, 3), (3, 2)])
@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD"])
def test_other_tiles_are_cut_at_the_diagonal(rows: int, columns: int, direction: str) -> None:
    """No side divides the other, so that a tile below is the mirror image of parts of several: those on the diagonal store one
    side of it."""
    backbone = stage_of("syrk")
    space = kernel_space(backbone, CPU)
    start = tiled(space, rows, columns, **{"direction(syrk)": direction})
    candidate = next(c for seed in range(20) if (c := leaf(space, start, seed)) is not None)
    nest = space.lower(candidate)
    assert [loop.name for loop in leaves_out(nest)] == ["half", "mirror", "diagonal"]
    compared(backbone, nest)
    assert 0.5 < share_of(nest) < 0.9


def test_a_tile_of_all_columns_leaves_nothing_out() -> None:
    backbone = stage_of("syrk")
    space = kernel_space(backbone, CPU)
    candidate = space.set_by_name(halved(space), "dim_kind(init.j0)", "UNROLL")
    nest = space.lower(next(c for seed in range(20) if (c := leaf(space, candidate, seed)) is not None))
    assert leaves_out(nest) == [] and share_of(nest) == 1.0
    compared(backbone, nest)


def test_the_bound_is_halved_where_half_may_do() -> None:
    space = kernel_space(stage_of("syrk", 64), CPU)
    bound = Bound(space)
    whole = space.set_by_name(space.root(), "mirror(syrk)", "NO")
    assert bound.of(space.root()) == bound.of(halved(space)) == 0.5 * bound.of(whole)
    assert bound.estimate(halved(space)) == 0.5 * bound.estimate(whole)


def test_only_symmetric_sums_have_the_choice() -> None:
    space = kernel_space(stage_of("gemm"), CPU)
    assert space.root().values("mirror", 0) == ("NO",)
    assert "mirror" not in kernel_space(stage_of("syrk"), target("sm_80")).instance.space.choices


def test_a_place_that_two_tiles_store_to_is_told() -> None:
    """With a square too large, tiles on the diagonal are mirrored onto each other."""
    backbone = stage_of("syrk")
    space = kernel_space(backbone, CPU)
    candidate = next(c for seed in range(20) if (c := leaf(space, tiled(space), seed)) is not None)
    nest = space.lower(candidate)

    def wider(nodes: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(
            replace(
                node,
                body=wider(node.body),
                only=tuple(replace(g, index=g.index.shifted(4 * (node.name == "mirror"))) for g in node.only),
            )
            if isinstance(node, Loop)
            else node
            for node in nodes
        )

    wrong = replace(nest, body=wider(nest.body))  # type: ignore[arg-type]
    assert verify(wrong) == ("several tiles store to one place of D",)
    assert sum(isinstance(s, Store) and s.memory.buffer == 2 for s, _ in statements(wrong.body)) == 2


def test_loops_that_may_not_leave_out_iterations() -> None:
    backbone = stage_of("syrk")
    space = kernel_space(backbone, CPU)
    candidate = next(c for seed in range(20) if (c := leaf(space, tiled(space), seed)) is not None)
    nest = space.lower(candidate)
    (half, _), outermost = leaves_out(nest), nest.body[-1]
    assert isinstance(outermost, Loop)
    elsewhere = replace(outermost, only=half.only)
    assert any(fault.endswith("is used outside of it") for fault in verify(replace(nest, body=(*nest.body[:-1], elsewhere))))
    unrolled = replace(nest, body=_with_kind(nest.body, "mirror", Kind.UNROLL))
    assert "unroll loop mirror leaves out iterations" in verify(unrolled)


def _with_kind(nodes: tuple[object, ...], name: str, kind: Kind) -> tuple:  # type: ignore[type-arg]
    return tuple(
        replace(n, body=_with_kind(n.body, name, kind), kind=kind if n.name == name else n.kind) if isinstance(n, Loop) else n
        for n in nodes
    )
