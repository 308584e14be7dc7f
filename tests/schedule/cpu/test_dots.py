"""Sums of products of bytes in words: printed kernels against NumPy, where bytes are at the ends of their ranges, too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.schedule.choices.test_habits import first as first_below
from tests.schedule.choices.test_lower_candidates import descend

from warploom.schedule.backbone import Backbone, cpu_tiles, in_words
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import c_source, compile_nest, find_compiler
from warploom.schedule.frontend import load_tensors
from warploom.schedule.nest import Kind, Nest, loops, verify
from warploom.schedule.targets import TARGETS, Target

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
BYTES = frozenset(("i8", "u8"))
COUNT = 1
WIDE = replace(TARGETS["cpu"], vector_lanes=(8, 16))
SOURCE = """from warploom import *

@tensor
def products(A: {0}["{2[0]}", "{2[1]}"], B: {1}["{3[0]}", "{3[1]}"], C: out[i32["m", "n"]]):
    C[m, n] += i32(A[{2[0]}, {2[1]}]) * i32(B[{3[0]}, {3[1]}])
"""


def stage_of(first: str, second: str, one: str, two: str, folder: Path, sizes: dict[str, int]) -> Backbone:
    (folder / "products.py").write_text(SOURCE.format(first, second, one, two))
    (function,) = load_tensors(folder / "products.py")
    return function.program(sizes, cpu_tiles).stages[0]


def random_nests(stage: Backbone, lanes: str, seed: int, count: int, on: Target = WIDE, total: str = "sum") -> Iterator[Nest]:
    """Implementations at random whose sum is one of vectors along an axis. lanes: `n3=16`."""
    space, source = kernel_space(stage, on), random.Random(seed)
    extent, size = lanes.split("=")
    start = space.set_by_name(space.root(), f"dim_kind({total}.{extent})", "VECTOR")
    start = space.set_by_name(start, f"size({extent})", size)
    found = 0
    while found < count:
        candidate = descend(space, source, start)
        if candidate is not None:
            found += 1
            yield space.lower(candidate)


def extreme(numbers: np.random.Generator, element: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Bytes of which half are at an end of their range."""
    low, high = (-128, 127) if element == "i8" else (0, 255)
    whole = numbers.integers(low, high + 1, shape)
    ends = numbers.choice(np.array([low, low, high, 0]), shape)
    return np.where(numbers.random(shape) < 0.5, ends, whole).astype(np.int8 if element == "i8" else np.uint8)


def check(nest: Nest, a: NDArray[Any], b: NDArray[Any], wanted: NDArray[Any], folder: Path) -> None:
    assert verify(nest) == ()
    made = np.full(wanted.shape, 77, np.int32)
    compile_nest(nest, folder=folder).run([a, b, made])
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize(("first", "second"), [("i8", "i8"), ("u8", "u8"), ("u8", "i8"), ("i8", "u8")])
@pytest.mark.parametrize(
    ("form", "lanes"), [("mk,nk", "n3=8"), ("mk,nk", "n3=16"), ("mk,nk", "k2=8"), ("mk,kn", "n3=16"), ("km,kn", "n3=8")]
)
def test_sums_are_exact(first: str, second: str, form: str, lanes: str, tmp_path: Path) -> None:
    sizes = {"m": 5, "n": 37, "k": 76}
    one, two = form.split(",")
    stage = in_words(stage_of(first, second, one, two, tmp_path, sizes), BYTES)
    assert stage.made_of
    numbers = np.random.default_rng(1)
    a, b = (extreme(numbers, t, tuple(sizes[n] for n in names)) for t, names in ((first, one), (second, two)))
    wanted = np.einsum(f"{form}->mn", a.astype(np.int64), b.astype(np.int64))
    for nest in random_nests(stage, lanes, 3, COUNT):
        check(nest, a, b, wanted, tmp_path)


def test_four_lanes_of_bytes_are_no_word(tmp_path: Path) -> None:
    """Words whose bytes lie apart are put together of vectors of four bytes, which C has to tell from words."""
    stage = in_words(stage_of("u8", "u8", "mk", "kn", tmp_path, {"m": 2, "n": 12, "k": 16}), BYTES)
    numbers = np.random.default_rng(2)
    a, b = extreme(numbers, "u8", (2, 16)), extreme(numbers, "u8", (16, 12))
    (nest,) = random_nests(stage, "n3=4", 5, 1, replace(WIDE, vector_lanes=(4, 8)))
    assert "u8x4_lanes load_u8x4_lanes(" in c_source(nest).text
    check(nest, a, b, a.astype(np.int64) @ b, tmp_path)


@pytest.mark.parametrize(("first", "second"), [("i8", "i8"), ("u8", "i8")])
def test_few_rows_begin_with_vectors_along_the_sum(first: str, second: str, tmp_path: Path) -> None:
    """No factor is copied; in place of a tile, of which there are too few rows."""
    sizes = {"m": 4, "n": 16, "k": 512}
    stage = in_words(stage_of(first, second, "mk", "nk", tmp_path, sizes), BYTES)
    space = kernel_space(stage, replace(WIDE, words=BYTES))
    nest = first_below(space, space.usually(space.root(), lambda _: False))
    assert {x.name for x in loops(nest.body) if x.kind is Kind.VECTOR and x.size > 1} == {"k2"}
    assert [b.name for b in nest.buffers] == ["A", "B", "C"]
    numbers = np.random.default_rng(3)
    a, b = (extreme(numbers, t, (sizes[n], sizes["k"])) for t, n in ((first, "m"), (second, "n")))
    check(nest, a, b, (a.astype(np.int64) @ b.astype(np.int64).T).astype(np.int32), tmp_path)
