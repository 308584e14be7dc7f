"""Spaces of sums that a core may make in tile registers: which sums, room for totals, ways to begin, what the bound may count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.schedule.choices.test_habits import first
from tests.schedule.cpu.test_dots import BYTES, stage_of
from tests.schedule.nest.tile_nests import Shape, product

from warploom.machines import TILE_CYCLES, TILE_ROWS, TILE_WORDS
from warploom.schedule.backbone import Backbone, cpu_tiles, in_words, tiled_sums
from warploom.schedule.bound import Bound
from warploom.schedule.bound.tables import tables
from warploom.schedule.choices import kernel_space
from warploom.schedule.cost import products_ns
from warploom.schedule.cpu.columns import copied_columns
from warploom.schedule.frontend import load_tensors
from warploom.schedule.nest import Store, loops, statements, tiles_of
from warploom.schedule.targets import cpu

ROWS = """from warploom import *

@tensor
def rows(A: i8["m", "k"], B: i8["m", "k"], C: out[i32["m"]]):
    C[m] += i32(A[m, k]) * i32(B[m, k])
"""
AMX = frozenset(("amx_int8",))
VECTORS = replace(cpu(64, 32), vector_lanes=(8, 16), words=BYTES)
ON = replace(VECTORS, tiles=AMX)


@pytest.fixture
def stage(tmp_path: Path) -> Backbone:
    return in_words(stage_of("i8", "u8", "mk", "kn", tmp_path, {"m": 64, "n": 64, "k": 256}), BYTES)


def test_only_sums_of_words_are_tiled(stage: Backbone, tmp_path: Path) -> None:
    (total,) = tiled_sums(stage, AMX)
    assert stage.instructions[total].name == "sum"
    assert tiled_sums(stage, frozenset()) == tiled_sums(stage, {"amx_bf16"}) == frozenset()
    assert tiled_sums(stage_of("i8", "i8", "mk", "kn", tmp_path, {"m": 64, "n": 64, "k": 256}), AMX) == frozenset()


def test_a_factor_that_is_not_used_again_is_in_no_tile(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(ROWS)
    (function,) = load_tensors(tmp_path / "rows.py")
    made = in_words(function.program({"m": 64, "k": 256}, cpu_tiles).stages[0], BYTES)
    assert made.made_of and tiled_sums(made, AMX) == frozenset()


def test_tiles_give_room_for_totals(stage: Backbone) -> None:
    assert kernel_space(stage, VECTORS).target is VECTORS
    assert kernel_space(stage, ON).target.registers == VECTORS.registers + 6 * 16


def test_ways_to_begin_have_two_by_two_tiles_or_one_by_several(stage: Backbone) -> None:
    """The factor of columns is copied once, before all else."""
    space = kernel_space(stage, ON)
    assert space.ways == 4
    for way, tiles in enumerate(((2, 2), (1, 4), (1, 2), (1, 1))):
        nest = first(space, space.usually(space.root(), lambda _: False, way))
        (part,) = tiles_of(nest)
        assert (len(part.rows.starts), len(part.columns.starts)) == tiles
        copies = [path for s, path in statements(nest.body) if isinstance(s, Store) and nest.buffers[s.memory.buffer].name != "C"]
        assert [{x.name[0] for x in path} for path in copies] == [{"n", "k"}]


def test_words_in_line_along_the_sum_are_copied_in_blocks_that_are_turned(tmp_path: Path) -> None:
    stage = in_words(stage_of("i8", "i8", "mk", "nk", tmp_path, {"m": 64, "n": 64, "k": 256}), BYTES)
    space = kernel_space(stage, ON)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert any(copied_columns(x, lambda _: True) for x in loops(nest.body))


def test_the_bound_counts_no_more_than_tiles_take(stage: Backbone) -> None:
    """64 by 64 by 64 words are 64 products of tiles."""
    space = kernel_space(stage, ON)
    candidate = space.usually(space.root(), lambda _: False, 1)
    rates = ON.rates
    tiled_ns = 64 * TILE_CYCLES / rates.clock_ghz / rates.cores
    assert Bound(space).of(candidate) * 1e6 <= tiled_ns


def test_a_sum_in_tiles_issues_one_instruction_for_many_vectors(stage: Backbone) -> None:
    (total,) = tiled_sums(stage, AMX)
    plain, tiled = tables(stage, VECTORS), tables(stage, ON)
    assert plain.issues[total] == 1.0 and tiled.issues[total] == 1 / (TILE_ROWS * TILE_WORDS)
    assert tiled.latency[total] == TILE_CYCLES / TILE_WORDS / ON.rates.clock_ghz < plain.latency[total]
    loads = [n for n, i in enumerate(stage.instructions) if i.name.startswith("load")]
    assert [plain.is_copied[n] for n in loads] == [0, 0] and [tiled.is_copied[n] for n in loads] == [1, 1]


def test_the_model_prefers_tiles() -> None:
    """16 cycles a product of tiles and a share for totals; by vectors two or four a cycle."""
    nest = product(Shape(2, 2, deep=4))
    on = replace(ON, rates=replace(ON.rates, clock_ghz=1.0, cores=1))
    assert products_ns(nest, VECTORS) == 0.0
    assert products_ns(nest, on) == 16 * 16 + 4 * 16
    one = product(Shape(1, 1, deep=4))
    assert products_ns(one, on) == 4 * 16 + 16
    by_vectors = product(Shape(2, 2, deep=4, lanes=8))
    per_cycle = on.rates.rate("alu").core / on.rates.clock_ghz
    assert products_ns(by_vectors, on) == 32 * 2 * 64 / per_cycle
