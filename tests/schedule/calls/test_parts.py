"""Kernels whose blocks share a sum, for a size known at run time: the room for the parts grows with it."""

# ruff: noqa: F821 (indices and sizes are names of the language)
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import warploom as wl
from warploom import f32
from warploom.schedule.backbone import Program, RunTimeSize, cpu_tiles
from warploom.schedule.calls import ShapeClass, pack, unpack
from warploom.schedule.cpu import c_program, compile_nest, find_compiler
from warploom.schedule.nest import Nest, Space, Trips, at_run_time
from warploom.schedule.search.first import _descents  # pyright: ignore[reportPrivateUsage]
from warploom.schedule.search.program import recipes
from warploom.schedule.targets import TARGETS
from warploom.tools.explore.entry import entry_of

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


@wl.tensor
def sums(A: f32["m", "k"], y: wl.out[f32["m"]]):
    y[i] += A[i, j]


@pytest.fixture(scope="module")
def found() -> tuple[Program, Nest]:
    """A kernel searched for m = 8, in which four blocks make each sum."""
    program = sums.at_run_time(sums.program({"m": 8, "k": 64}, cpu_tiles), {"m": 1})
    (recipe,) = recipes(program, TARGETS["cpu"])
    nests = (i.nest for i, _ in _descents(recipe(), 0))
    return program, next(n for n in nests if any(b.space is Space.COMMON for b in n.buffers))


def test_the_room_is_that_of_the_sizes_of_a_call(found: tuple[Program, Nest]) -> None:
    program, nest = found
    compiled = compile_nest(nest)
    (read,) = unpack(program, pack([nest])) or []
    for m in (1, 8, 37):
        anew = compile_nest(at_run_time(nest, {"m": m}))
        (size,) = anew.common_bytes
        assert size % m == 0 and size // m == compiled.common_bytes[0] // 8
        assert compiled.at({"m": m, "k": 64}).common_bytes == read.at({"m": m, "k": 64}).common_bytes == anew.common_bytes
        A, y = np.arange(m * 64, dtype=np.float32).reshape(m, 64) % 7, np.empty(m, np.float32)
        ShapeClass(program, {"k": 64}, {"m": 1}, (compiled,), 1, "found").runner({"m": m, "k": 64}).run([A, y], [])
        np.testing.assert_array_equal(y, A.sum(axis=1))


def test_the_room_in_printed_c_is_a_formula(found: tuple[Program, Nest]) -> None:
    program, nest = found
    text, sources = c_program([nest])
    bytes_of_one = compile_nest(nest).common_bytes[0] // 8
    assert f"aligned_alloc(64, (m * {bytes_of_one} + 63) / 64 * 64)" in entry_of(program, [nest], sources, text).text
    tiled = replace(sources[0].common_shares[0], trips=(Trips(RunTimeSize("m"), 4),))
    assert tiled.text == f"(m + 3) / 4 * {bytes_of_one}" and tiled.at({"m": 9}) == 3 * bytes_of_one


@pytest.mark.parametrize("shares", [None, [], [[-1]]], ids=str)
def test_a_record_without_the_room_is_passed_over(found: tuple[Program, Nest], shares: Any) -> None:
    program, nest = found
    (stage,) = pack([nest])
    assert isinstance(stage, dict)
    assert unpack(program, [stage]) is not None and unpack(program, [stage | {"common_shares": shares}]) is None
