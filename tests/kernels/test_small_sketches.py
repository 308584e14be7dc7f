"""The sketches under examples/: filled by hand they compute what they say; the one without a barrier is caught."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kernels.solved import index

from warploom.ir import fill, run, verify
from warploom.kernels import random_arrays
from warploom.sketch import load

EXAMPLES = Path(__file__).parents[2] / "examples"
REVERSED = [int(f"{t:05b}"[::-1], 2) for t in range(32)]

Case = tuple[dict[str, str], dict[str, int], Callable[[dict[str, Any]], Any]]

CASES: dict[str, Case] = {
    "bit_reversal": (
        {"outer_mask": "17", "outer": "a0 != a1", "inner_mask": "10", "inner": "a0 != a1"},
        {"n": 3},
        lambda a: a["x"].reshape(-1, 32)[:, REVERSED].reshape(-1),
    ),
    "transpose_32x8": (
        {"turn": "a0", "row": "a0 % 4 * 8 + (a0 // 4 - a1) % 8", "column": "(a1 // 4 - a0) % 8"},
        {},
        lambda a: a["x"].T,
    ),
    "conv1d": (
        {"swizzle1": "0 if a0 >= a1 else 1", "swizzle2": "(a0 + a1) % 32", "swizzle3": "a0"},
        {"n": 300},
        lambda a: np.correlate(a["x"], a["w"], mode="valid"),
    ),
    "matvec": (
        {"lane": "(a0 + a1) % 32", "column": "(a1 + a0) % 32"},
        {"n": 3},
        lambda a: (a["v"].reshape(-1, 32) @ a["m"].T).reshape(-1),
    ),
    "max_pool": (
        {"step1": "1", "step2": "2", "step3": "4"},
        {"n": 50},
        lambda a: np.lib.stride_tricks.sliding_window_view(a["x"], 8).max(axis=1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_example(name: str) -> None:
    texts, sizes, reference = CASES[name]
    [sketch] = load(EXAMPLES / f"{name}.py")
    verify(sketch.kernel)
    kernel = fill(sketch.kernel, {hole: index(text) for hole, text in texts.items()})
    assert not kernel.holes
    arrays = random_arrays(kernel, sizes)
    result = run(kernel, arrays, sizes)
    assert not result.diagnostics, [d.render() for d in result.diagnostics]
    np.testing.assert_allclose(result.arrays["y"], reference(arrays), rtol=1e-4, atol=1e-5)


def test_missing_sync_is_a_race() -> None:
    [sketch] = load(EXAMPLES / "missing_sync.py")
    kernel = fill(sketch.kernel, {"from": index("63 - a0")})
    result = run(kernel, random_arrays(kernel, {}), {})
    assert [d.code for d in result.diagnostics] == ["RACE"]
    assert all(d.notes for d in result.diagnostics)
