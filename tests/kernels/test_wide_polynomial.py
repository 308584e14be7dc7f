"""Products with several coefficients per lane: hand-made completions of the sketches, and the baselines, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.solved import index

from warploom.ir import Kernel, fill, run
from warploom.kernels import WALL_NAMES, find, is_example
from warploom.kernels.reference import polynomial_product
from warploom.kernels.wide_polynomial import mult_baseline, mult_reg, mult_shared


def _solved(kernel: Kernel, rows: int, lanes: int, memory: str) -> Kernel:
    """a is broadcast, b turns by one row where the lanes carry: only b's first row changes accumulators."""
    texts: list[str] = []
    for operand in range(2 * rows):
        row = operand % rows
        if memory == "shared":
            texts.append(f"a1 + {lanes * row}" if operand < rows else f"(a0 - a1 + {lanes * row}) % {rows * lanes}")
        elif operand < rows:
            texts += [f"{row}", "a1"]
        else:
            before = (row - 1) % rows
            texts += [f"{row} if a0 < {lanes} - a1 else {before}", f"(a0 - a1) % {lanes}"]
    for x in range(rows):
        for y in range(rows):
            for q in range(2 * rows):
                own, carried = x + y, x + (y - 1) % rows + 1
                texts.append(
                    "True" if q == own == carried else "a1 <= a0" if q == own else "a1 > a0" if q == carried else "False"
                )
    return fill(kernel, {hole.name: index(text) for hole, text in zip(kernel.holes, texts, strict=True)})


@pytest.mark.parametrize("rows", [2, 4, 8])
@pytest.mark.parametrize("memory", ["reg", "shared", "baseline"])
def test_products(rows: int, memory: str) -> None:
    lanes = 4
    make = {"reg": mult_reg, "shared": mult_shared, "baseline": mult_baseline}[memory]
    kernel = make(rows, lanes).kernel
    if memory != "baseline":
        kernel = _solved(kernel, rows, lanes, memory)
    count = rows * lanes
    rng = np.random.default_rng(rows)
    arrays = {name: rng.integers(0, 1 << 32, 3 * count, dtype=np.uint32) for name in "ab"} | {"c": np.zeros(6 * count, np.uint32)}
    result = run(kernel, arrays, {"pairs": 3})
    assert not result.diagnostics, [d.render() for d in result.diagnostics]
    np.testing.assert_array_equal(result.arrays["c"], polynomial_product(count)(**arrays)["c"])


def test_walls_are_examples() -> None:
    for name in WALL_NAMES:
        assert is_example(name)
        if "256" not in name:
            assert find(name).name == name
