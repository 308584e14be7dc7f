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
from tests.schedule.choices.test_lower_candidates import descend

from warploom.core.compiler import KERNEL_FLAGS
from warploom.schedule.backbone import Backbone, cpu_tiles, in_words
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.frontend import load_tensors
from warploom.schedule.nest import Nest, verify
from warploom.schedule.targets import TARGETS

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
BYTES = frozenset(("i8", "u8"))
COUNT = 1
WIDE = replace(TARGETS["cpu"], vector_lanes=(8, 16))
SOURCE = """from warploom import *

@tensor
def products(A: {0}["m", "k"], B: {1}["n", "k"], C: out[i32["m", "n"]]):
    C[m, n] += i32(A[m, k]) * i32(B[n, k])
"""


def stage_of(first: str, second: str, folder: Path, sizes: dict[str, int]) -> Backbone:
    (folder / "products.py").write_text(SOURCE.format(first, second))
    (function,) = load_tensors(folder / "products.py")
    return function.program(sizes, cpu_tiles).stages[0]


def random_nests(stage: Backbone, lanes: str, seed: int, count: int) -> Iterator[Nest]:
    """Implementations at random whose sum is one of vectors along an axis. lanes: `n3=16`."""
    space, source = kernel_space(stage, WIDE), random.Random(seed)
    extent, size = lanes.split("=")
    start = space.set_by_name(space.root(), f"dim_kind(sum.{extent})", "VECTOR")
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


def check(nest: Nest, a: NDArray[Any], b: NDArray[Any], folder: Path, flags: tuple[str, ...] = ()) -> None:
    assert verify(nest) == ()
    kernel = compile_nest(nest, folder=folder, flags=(*KERNEL_FLAGS, *flags))
    made = np.full((len(a), len(b)), 77, np.int32)
    kernel.run([a, b, made])
    np.testing.assert_array_equal(made, a.astype(np.int64) @ b.astype(np.int64).T)


@pytest.mark.parametrize(("first", "second"), [("i8", "i8"), ("u8", "u8"), ("u8", "i8"), ("i8", "u8")])
@pytest.mark.parametrize("lanes", ["n3=8", "n3=16", "k2=8"])
def test_sums_are_exact(first: str, second: str, lanes: str, tmp_path: Path) -> None:
    sizes = {"m": 5, "n": 37, "k": 76}
    stage = in_words(stage_of(first, second, tmp_path, sizes), BYTES)
    assert stage.unpacked is not None
    numbers = np.random.default_rng(1)
    a, b = (extreme(numbers, t, (sizes[n], sizes["k"])) for t, n in ((first, "m"), (second, "n")))
    for nest in random_nests(stage, lanes, 3, COUNT):
        check(nest, a, b, tmp_path)
