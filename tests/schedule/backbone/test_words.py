"""Sums of products of bytes and of bf16 in words: each reason against it alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warploom.core import bf16x2, i8x4, u8x4
from warploom.core.linear import Linear
from warploom.schedule.backbone import (
    Backbone,
    Instruction,
    Operator,
    Program,
    RunTimeSize,
    count_flops,
    cpu_tiles,
    in_words,
    stage_at,
    verify,
)
from warploom.schedule.frontend import load_tensors

BYTES = frozenset(("i8", "u8"))
PRODUCTS = """from warploom import *

@tensor
def products(A: {0}["m", "k"], B: {1}["n", "k"], C: out[i32["m", "n"]]):
    C[m, n] += {2}
"""
PLAIN = "i32(A[m, k]) * i32(B[n, k])"
WINDOWS = """from warploom import *

@tensor
def windows(X: u8["h", "c"], W: i8["o", "kh", "c"], Y: out[i32["h - kh + 1", "o"]]):
    Y[h, o] += i32(X[h + kh, c]) * i32(W[o, kh, c])
"""
SQUARE = """from warploom import *

@tensor
def square(A: i8["n", "k"], C: out[i32["n", "n"]]):
    C[i, j] += i32(A[i, k]) * i32(A[j, k]){0}
"""
SIZES = {"m": 3, "n": 5, "k": 64}


def stage(folder: Path, text: str = PRODUCTS.format("i8", "u8", PLAIN), sizes: dict[str, int] = SIZES) -> Backbone:
    (folder / "products.py").write_text(text)
    (function,) = load_tensors(folder / "products.py")
    return function.program(sizes, cpu_tiles).stages[0]


def test_the_summed_index_becomes_one_of_words(tmp_path: Path) -> None:
    before = stage(tmp_path)
    after = in_words(before, BYTES)
    verify(after)
    assert after.plain is before
    assert [(a.name, a.size) for a in after.axes] == [("m", 3), ("n", 5), ("k", 16)]
    assert [(r.name, r.dtype, r.shape, r.strides) for r in after.regions[:2]] == [
        ("A", i8x4, (3, 16), (16, 1)), ("B", u8x4, (5, 16), (16, 1)),
    ]  # fmt: skip
    assert [i.operator for i in after.instructions] == [
        Operator.LOAD, Operator.LOAD, Operator.MOVE, Operator.FMA, Operator.STORE,
    ]  # fmt: skip
    assert max(max(e.sizes) for e in after.extents if e.axis == 2 and e.level > 0) <= 16
    assert stage_at(after, {}).made_of == (before,)


def test_one_of_several_summed_indices_is_enough(tmp_path: Path) -> None:
    after = in_words(stage(tmp_path, WINDOWS, {"h": 9, "kh": 3, "c": 8, "o": 2}), BYTES)
    verify(after)
    assert {a.name: a.size for a in after.axes} == {"h": 7, "o": 2, "kh": 3, "c": 2}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (PRODUCTS.format("i8", "u8", PLAIN), {"m": 3, "n": 5, "k": 63}),
        (PRODUCTS.format("i8", "u8", "i32(A[m, k])"), {"m": 3, "k": 64, "n": 5}),
        (PRODUCTS.format("i8", "i16", PLAIN), SIZES),
        (PRODUCTS.format("i8", "u8", "i32(A[m, k]) * i32(B[n, 63 - k])"), SIZES),
    ],
    ids=["no whole words", "no factors", "another type", "backwards"],
)
def test_other_sums_stay(text: str, sizes: dict[str, int], tmp_path: Path) -> None:
    before = stage(tmp_path, text, sizes)
    assert in_words(before, BYTES) is before


def test_bytes_of_words_may_lie_apart(tmp_path: Path) -> None:
    text = PRODUCTS.format("i8", "u8", PLAIN).replace('u8["n", "k"]', 'u8["k", "n"]').replace("B[n, k]", "B[k, n]")
    after = in_words(stage(tmp_path, text), BYTES)
    verify(after)
    assert [(r.dtype, r.shape, r.strides, r.spread) for r in after.regions[:2]] == [
        (i8x4, (3, 16), (16, 1), 1), (u8x4, (16, 5), (20, 1), 5),
    ]  # fmt: skip


def test_an_array_may_be_both_factors_and_nothing_else(tmp_path: Path) -> None:
    after = in_words(stage(tmp_path, SQUARE.format(""), {"n": 3, "k": 64}), BYTES)
    verify(after)
    assert [r.shape for r in after.regions] == [(3, 16), (3, 3)]
    before = stage(tmp_path, SQUARE.format(" + i32(A[i, 0])"), {"n": 3, "k": 64})
    assert in_words(before, BYTES) is before


def test_machines_without_the_instructions_keep_bytes(tmp_path: Path) -> None:
    before = stage(tmp_path)
    assert in_words(before, frozenset()) is before
    assert in_words(before, {"i8"}) is before


FLOATS = PRODUCTS.replace("i32", "f32").format("bf16", "bf16", "f32(A[m, k]) * f32(B[n, k])")


def test_words_of_bf16_have_two(tmp_path: Path) -> None:
    before = stage(tmp_path, FLOATS, {"m": 3, "n": 5, "k": 62})
    after = in_words(before, {"bf16"})
    verify(after)
    assert after.made_of == (before,) and [(a.name, a.size) for a in after.axes] == [("m", 3), ("n", 5), ("k", 31)]
    assert [(r.dtype, r.shape, r.strides) for r in after.regions[:2]] == [(bf16x2, (3, 31), (31, 1)), (bf16x2, (5, 31), (31, 1))]
    assert count_flops(Program("words", (after,), after.regions)) == count_flops(Program("bf16", (before,), before.regions))


def test_slow_words_that_fill_rows_of_tiles(tmp_path: Path) -> None:
    """32 of bf16 fill one; the machine must multiply them in tiles."""
    text = PRODUCTS.format("bf16", "bf16", "f32(A[m, k]) * f32(B[n, k])").replace("i32[", "f32[")
    for k, tiles, is_kept in ((64, "amx_bf16", False), (48, "amx_bf16", True), (64, "amx_int8", True)):
        before = stage(tmp_path, text, {"m": 16, "n": 16, "k": k})
        assert (in_words(before, {"bf16"}, {"bf16"}, {tiles}) is before) == is_kept


def test_slow_words_are_for_factors_that_few_products_use(tmp_path: Path) -> None:
    """Both are used at least 16 times, one fewer times, or the words are of another type."""
    for m, n, slow, is_kept in ((16, 17, "bf16", True), (15, 17, "bf16", False), (17, 15, "bf16", False), (16, 17, "i8", False)):
        before = stage(tmp_path, FLOATS, {"m": m, "n": n, "k": 62})
        assert (in_words(before, {"bf16"}, {slow}) is before) == is_kept


def test_sums_of_bf16_that_keep_their_order_stay(tmp_path: Path) -> None:
    """And those of other floats, of an odd number of products, on machines without the instructions."""
    before = stage(tmp_path, FLOATS)
    ordered = replace(before, can_reorder=False)
    assert in_words(ordered, {"bf16"}) is ordered
    assert in_words(before, BYTES) is before
    halves = stage(tmp_path, FLOATS.replace("bf16", "f16"))
    assert in_words(halves, {"bf16"}) is halves
    odd = stage(tmp_path, FLOATS, {"m": 3, "n": 5, "k": 63})
    assert in_words(odd, {"bf16"}) is odd


def test_rows_that_begin_within_a_word_stay(tmp_path: Path) -> None:
    """And rows of another length, elements that a load fills in, other indices, a size known at run time."""
    before = stage(tmp_path)
    load = next(i for i in before.instructions if i.operator is Operator.LOAD)
    access, region = load.access, before.regions[0]
    assert access is not None
    shifted = replace(access, indices=(Linear(((0, 1), (2, 1))), access.indices[1]))
    for other in (
        replace(before, regions=(replace(region, strides=(66, 1)), *before.regions[1:])),
        replace(before, regions=(replace(region, shape=(3, 68)), *before.regions[1:])),
        changed(before, load, replace(load, access=replace(access, fill=0.0))),
        changed(before, load, replace(load, access=shifted)),
        replace(before, axes=(*before.axes[:2], replace(before.axes[2], run_time=RunTimeSize("k", 4)))),
    ):
        assert in_words(other, BYTES) is other


def changed(stage: Backbone, old: Instruction, new: Instruction) -> Backbone:
    return replace(stage, instructions=tuple(new if i is old else i for i in stage.instructions))
