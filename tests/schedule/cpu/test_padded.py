"""Vectors over axes that are padded or that the lanes do not divide: whole ones inside, masked ones at the edge."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Role, cpu_tiles, evaluate
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import c_source, compile_nest, find_compiler
from warploom.schedule.nest import Kind, Load, loops, verify
from warploom.schedule.targets import TARGETS

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


@pytest.mark.parametrize(
    ("name", "sizes", "decided"),
    [
        (
            "conv2d_same",
            {"c": 2, "h": 7, "w": 37, "o": 3},
            {"load_X.w3": "VECTOR", "mad.w3": "VECTOR", "store_Y.w3": "VECTOR", "w3": "8"},
        ),
        ("axpy", {"n": 45}, {"load_x.n2": "VECTOR", "store_z.n2": "VECTOR", "n2": "8"}),
        ("matvec", {"m": 5, "n": 43}, {"load_A.n2": "VECTOR", "mad.n2": "VECTOR", "n2": "8"}),
    ],
)
def test_edges_are_masked(name: str, sizes: dict[str, int], decided: dict[str, str], tmp_path: Path) -> None:
    (backbone,) = tensor_kernel(name).program(sizes, cpu_tiles).stages
    space = kernel_space(backbone, TARGETS["cpu"])
    start = space.root()
    for what, value in decided.items():
        start = space.set_by_name(start, f"{'dim_kind' if '.' in what else 'size'}({what})", value)
    numbers, parameters = np.random.default_rng(3), {"alpha": 0.5}
    arrays = {r.name: numbers.integers(-4, 5, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}
    expected = evaluate(backbone, arrays, parameters)
    source, found = random.Random(name), 0
    for _ in range(6):
        candidate = descend(space, source, start)
        if candidate is None:
            continue
        found += 1
        nest = space.lower(candidate)
        assert verify(nest) == ()
        assert any(loop.kind is Kind.VECTOR and isinstance(loop.body[0], Load) for loop in loops(nest.body))
        text = c_source(nest).text
        assert "load_part_f32x8" in text
        outputs = {r.name: np.full(r.elements, np.nan, np.float32) for r in backbone.regions if r.role is Role.OUTPUT}
        kernel = compile_nest(nest, folder=tmp_path)
        kernel.run([{**arrays, **outputs}[b.name] for b in kernel.buffers], parameters, 2)
        for array, value in expected.items():
            np.testing.assert_allclose(outputs[array].reshape(value.shape), value, rtol=1e-5, atol=1e-5)
        if found == 2:
            return
    raise AssertionError("no implementation")
