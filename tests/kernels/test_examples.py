"""Every baseline, and every sketch filled by hand, computes what NumPy says, at sizes that do not divide too."""

from dataclasses import replace

import numpy as np
import pytest
from tests.kernels.solved import completions, index

from warploom.core import NOWHERE
from warploom.ir import Kernel, fill, run, verify
from warploom.kernels import (
    NAMES,
    Example,
    conv1d,
    examples,
    find,
    mult64_reg,
    mult64_shared,
    store_crc,
    store_rcr,
    sum_crc,
)
from warploom.sketch import parse_spec

# Degrees above 128 differ from these in the number of blocks only and take the interpreter seconds each.
QUICK = [name for name in NAMES if not name.startswith("ffm-")] + ["ffm-32", "ffm-64", "ffm-96"]
SLOW = [name for name in NAMES if name not in QUICK]


def expect(example: Example, kernel: Kernel) -> None:
    verify(kernel)
    for seed, sizes in enumerate(example.sizes):
        arrays = example.arrays(sizes, seed)
        wanted = example.reference(**arrays)
        result = run(kernel, {k: v.copy() for k, v in arrays.items()}, dict(sizes))
        assert not result.diagnostics, [d.render() for d in result.diagnostics]
        for name, array in wanted.items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(result.arrays[name], array, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(result.arrays[name], array)


def solved(example: Example) -> Kernel:
    units = next((h.n for h in example.sketch.kernel.holes if h.name == "column"), 1)
    kernel = fill(example.sketch.kernel, completions(example.name, units))
    assert not kernel.holes
    return kernel


@pytest.mark.parametrize("name", QUICK)
def test_sketch(name: str) -> None:
    verify(examples()[name].sketch.kernel)
    expect(examples()[name], solved(examples()[name]))


@pytest.mark.parametrize("name", QUICK)
def test_baseline(name: str) -> None:
    expect(examples()[name], examples()[name].baseline.kernel)


SPECS = [
    "stencil1d-3",
    "conv1d-9",
    "stencil2d-3",
    "conv2d-3",
    "mult32-reg",
    "aos-sum-crc-3",
    "aos-sum-crc-6",
    "aos-store-crc-5",
    "ffm-32",
]
"""One of each family: the interpreter runs a spec statement by statement in one thread."""


@pytest.mark.parametrize("name", SPECS)
def test_spec(name: str) -> None:
    example = examples()[name]
    kernel = parse_spec(example.sketch.spec, example.sketch.kernel)
    sizes = {size: 5 if size in ("n", "h", "w") else 1 for size in kernel.sizes}
    arrays = example.arrays(sizes)
    result = run(kernel, arrays, sizes)
    assert not result.diagnostics, [d.render() for d in result.diagnostics]
    for array, wanted in example.reference(**arrays).items():
        np.testing.assert_allclose(result.arrays[array], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("outputs, warps", [(1, 4), (1, 1), (3, 2)])
def test_outputs_and_warps(outputs: int, warps: int) -> None:
    example = replace(find("conv1d-40"), sketch=conv1d(40, outputs, warps))
    texts = {"row": "0 if a0 >= a1 else 1 if a0 >= a1 - 32 else 2", "lane": "(a0 + a1) % 32", "weight": "a0"}
    expect(example, fill(example.sketch.kernel, {hole: index(text) for hole, text in texts.items()}))


def test_warps_share_a_block() -> None:
    for name, sketch in {
        "mult64-reg": mult64_reg(warps=2),
        "aos-store-crc-6-direct": store_crc(6, warps=4),
        "aos-store-rcr-5": store_rcr(5, warps=4),
        "aos-sum-crc-3": sum_crc(3, warps=2),
    }.items():
        example = replace(examples()[name], sketch=sketch)
        expect(example, solved(example))


def test_restriction_of_polynomial_holes_is_lifted() -> None:
    restricted = {h.name: h for h in mult64_shared().kernel.holes}
    free = {h.name: h for h in mult64_shared(restricted=False).kernel.holes}
    assert restricted["b0_index"].coefficients == (0, 1, -1)
    assert restricted["b0_index"].constants == (0, 1, -1, 32)
    assert free["b0_index"].coefficients == tuple(range(64))
    assert free["b0_index"].constants == tuple(range(64))


def test_field_multiplication_has_the_holes_of_mult64() -> None:
    tile, field = examples()["mult64-reg"].sketch.kernel, examples()["ffm-96"].sketch.kernel
    assert [replace(h, span=NOWHERE) for h in tile.holes] == [replace(h, span=NOWHERE) for h in field.holes]


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_large(name: str) -> None:
    expect(examples()[name], solved(examples()[name]))
    expect(examples()[name], examples()[name].baseline.kernel)
