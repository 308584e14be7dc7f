"""Products of few rows begin with vectors along the sum, without a copy of the factor that lies across."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod

import pytest
from tests.schedule.choices.test_core_habits import KERNELS, around_products, stage_of
from tests.schedule.choices.test_habits import first
from tests.schedule.choices.test_kernel_space import check

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.choices.core_habits import core_habits
from warploom.schedule.choices.habits_dots import dots_habits
from warploom.schedule.nest import Combine, Kind, Load, loops, statements
from warploom.schedule.targets import target

CPU = target("cpu")
FEW = {"m": 16, "n": 16, "k": 128}


@cache
def few() -> KernelSpace:
    return space_of("linear_relu", FEW)


def space_of(name: str, sizes: dict[str, int]) -> KernelSpace:
    return kernel_space(stage_of(KERNELS[name] if name in KERNELS else tensor_kernel(name), sizes), CPU)


@pytest.mark.parametrize(("way", "rows", "columns"), [(0, 2, 4), (1, 1, 8)])
def test_rows_and_columns_of_totals_stay_in_registers(way: int, rows: int, columns: int) -> None:
    space = few()
    nest = first(space, space.usually(space.root(), lambda _: False, way))
    found = around_products(nest)
    assert found[-1] == ("vector", 8)
    assert prod(size for kind, size in found if kind == "unroll") == rows * columns
    assert {x.name for x in loops(nest.body) if x.kind is Kind.VECTOR and x.size > 1} == {"k2"}
    assert any(isinstance(s, Combine) for s, _ in statements(nest.body))
    loaded = {nest.buffers[s.memory.buffer].name for s, _ in statements(nest.body) if isinstance(s, Load)}
    assert {"X", "W"} <= loaded and not {"tmp_load_X", "tmp_load_W"} & loaded
    outermost = next(around[0].name for s, around in statements(nest.body) if isinstance(s, Combine))
    assert outermost[0] == "n", "what is larger is read once"


def test_rows_without_tiles_are_taken_one_at_a_time() -> None:
    space = space_of("linear_relu", {"m": 8, "n": 16, "k": 64})
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert around_products(nest) == [("unroll", 8), ("vector", 8)]
    check(space.backbone, nest)


def test_all_decisions_of_a_way_agree() -> None:
    space = space_of("linear_relu", {"m": 16, "n": 64, "k": 384})
    for way in dots_habits(space.objects, CPU):
        candidate = space.root()
        for choice, arguments, value in way:
            candidate = space.set_by_name(candidate, space.names.text(choice, arguments), value)


@pytest.mark.parametrize("registers", [16, 32])
def test_totals_and_vectors_fit_the_registers(registers: int) -> None:
    space = few()
    ways = dots_habits(space.objects, replace(CPU, registers=registers))
    assert ways
    for way in ways:
        sizes = {space.names.text(c, a): int(v) for c, a, v in way if c == "size"}
        assert 8 <= sizes["size(m2)"] * sizes["size(n3)"] < registers


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("linear_relu", FEW | {"m": 32}),  # a copy serves many rows
        ("matmul", FEW),  # the second factor lies in line along the columns, not along the sum
        ("atax", {"m": 8, "n": 64}),  # no columns
        ("gesummv", {"n": 64}),  # two sums
        ("rms_norm", {"rows": 4, "columns": 64}),  # one factor
        ("matmul_i8", FEW),  # bytes have sums of their own
    ],
)
def test_other_kernels_have_no_such_way(name: str, sizes: dict[str, int]) -> None:
    assert not dots_habits(space_of(name, sizes).objects, CPU)


def test_symmetric_sums_keep_tiles_in_squares() -> None:
    space = space_of("syrk", {"n": 16, "k": 128})
    dots = dots_habits(space.objects, CPU)
    assert dots
    for way in core_habits(space.objects, CPU):
        assert all(set(way) != {("mirror", (0,), "YES"), *one} for one in dots)
