"""Sums that threads share: parts in a common array, added up by what runs behind the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.nest.interpreter import NestError, interpret

from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.nest import Builder, Kind, Loop, Nest, Space, verify

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")

REFERENCES = {Operator.ADD: np.sum, Operator.MAX: np.max, Operator.MIN: np.min, Operator.MUL: np.prod}
NEUTRAL = {Operator.ADD: 0.0, Operator.MAX: -np.inf, Operator.MIN: np.inf, Operator.MUL: 1.0}


def columns(operator: Operator, rows: int, shape: tuple[int, ...], parts: int, each: int) -> Nest:
    """Results over the rows of X [rows, prod(shape)], shared out in `parts` of `each` rows. Column 0 of `shape` is a block, too;
    the totals of the others are an array that is larger than registers."""
    blocks, width = shape
    b = Builder("columns")
    x, y = b.buffer("x", rows * blocks * width), b.buffer("y", blocks * width, Role.OUTPUT)
    held = b.scratch("held", width)
    common = b.buffer("common", blocks * parts * width, Role.TEMPORARY, space=Space.COMMON)
    value, total = b.value("value"), b.value("total")
    with b.loop("c0", Kind.BLOCK, blocks) as c0:
        with b.loop("r0", Kind.BLOCK, parts) as r0:
            with b.loop("c", Kind.LOOP, width) as c:
                b.compute(b.ref(total), Operator.MOVE, Constant(NEUTRAL[operator]))
                b.store(held, c, b.ref(total))
            with b.loop("r", Kind.LOOP, each) as r, b.loop("c", Kind.LOOP, width) as c:
                row = r0 * each + r
                b.load(b.ref(value), x, row * (blocks * width) + c0 * width + c, (row, rows), fill=NEUTRAL[operator])
                b.load(b.ref(total), held, c)
                b.compute(b.ref(total), operator, b.ref(total), b.ref(value))
                b.store(held, c, b.ref(total))
            with b.loop("c", Kind.LOOP, width) as c:
                b.load(b.ref(total), held, c)
                b.store(common, (c0 * parts + r0) * width + c, b.ref(total))
        with b.loop("c", Kind.LOOP, width) as c:
            b.compute(b.ref(total), Operator.MOVE, Constant(NEUTRAL[operator]))
            with b.loop("part", Kind.LOOP, parts) as part:
                b.load(b.ref(value), common, (c0 * parts + part) * width + c)
                b.compute(b.ref(total), operator, b.ref(total), b.ref(value))
            b.store(y, c0 * width + c, b.ref(total))
    return b.nest()


def checked(nest: Nest, x: np.ndarray, expected: np.ndarray, threads: Sequence[int], folder: Path) -> None:
    assert verify(nest) == ()
    np.testing.assert_allclose(interpret(nest, {"x": x})["y"], expected.reshape(-1), rtol=1e-5)
    kernel = compile_nest(nest, folder=folder)
    results: list[np.ndarray] = []
    for count in threads:
        y = np.full(expected.size, np.nan, np.float32)
        for _ in range(3):
            kernel.run([x, y], threads=count)
        results.append(y)
    np.testing.assert_allclose(results[0], expected.reshape(-1), rtol=1e-5)
    assert all((r == results[0]).all() for r in results)


@pytest.mark.parametrize("operator", REFERENCES)
@pytest.mark.parametrize(("rows", "parts", "each"), [(7, 3, 3), (16, 5, 4), (9, 9, 1)])
def test_parts_are_joined(operator: Operator, rows: int, parts: int, each: int, tmp_path: Path) -> None:
    x = np.random.default_rng(rows).uniform(0.5, 1.5, (rows, 2, 37)).astype(np.float32)
    nest = columns(operator, rows, (2, 37), parts, each)
    checked(nest, x, REFERENCES[operator](x.astype(np.float64), axis=0), (1, 2, 3), tmp_path)


def test_rules() -> None:
    nest = columns(Operator.ADD, 6, (1, 4), 2, 3)
    block = nest.body[0]
    assert isinstance(block, Loop)
    part = block.body[0]
    assert isinstance(part, Loop)
    behind = replace(nest, body=(replace(block, body=(part, *block.body[1:], *block.body[1:])),))
    assert verify(replace(behind, body=(*nest.body, *block.body[1:])))
    private = replace(nest, buffers=tuple(replace(b, space=Space.SHARED) if b.name == "common" else b for b in nest.buffers))
    assert "common is loaded before it is stored" in verify(private)
    with pytest.raises(NestError):
        interpret(private, {"x": np.ones(prod((6, 4)), np.float32)})
