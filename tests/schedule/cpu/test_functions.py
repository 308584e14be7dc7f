"""Errors of the vector functions, in units in the last place of the exact result."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import FUNCTIONS, Operator, Role
from warploom.schedule.backbone.evaluate import compute
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.frontend.arithmetic import evaluate_number
from warploom.schedule.nest import Buffer, Compute, Kind, Load, Loop, Memory, Nest, Ref, Register, Store, Value

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def elementwise(operator: Operator, size: int, lanes: int) -> Nest:
    """B = operator(A), a vector at a time."""
    place = Linear(((0, lanes), (1, 1)))
    at = (Linear(((1, 1),)),)
    body = (
        Load(Ref(0, at), Memory(0, place)),
        Compute(Ref(1, at), operator, (Ref(0, at),)),
        Store(Memory(1, place), Ref(1, at)),
    )
    values = tuple(Value(name, f32, (Register(lanes, True),)) for name in ("x", "y"))
    buffers = (Buffer("A", f32, size, Role.INPUT), Buffer("B", f32, size, Role.OUTPUT))
    loop = Loop(0, "i", Kind.BLOCK, size // lanes, (Loop(1, "v", Kind.VECTOR, lanes, body),))
    return Nest(operator.value, buffers, (), values, (loop,))


def result(operator: Operator, x: np.ndarray, lanes: int = 16) -> np.ndarray:
    y = np.empty_like(x)
    compile_nest(elementwise(operator, x.size, lanes)).run([x, y])
    return y


def spread(low: float, high: float) -> np.ndarray:
    return np.linspace(low, high, 1 << 18, dtype=np.float32)


RANGES: list[tuple[Operator, Callable[[np.ndarray], np.ndarray], float, float, float]] = [
    (Operator.EXP, np.exp, -87.0, 88.0, 1.5),
    (Operator.EXP, np.exp, -1.0, 1.0, 1.5),
    (Operator.TANH, np.tanh, -0.7, 0.7, 3.5),
    (Operator.TANH, np.tanh, -12.0, 12.0, 3.5),
    (Operator.ERF, np.vectorize(math.erf), -0.9, 0.9, 3.0),
    (Operator.ERF, np.vectorize(math.erf), -4.5, 4.5, 3.0),
    (Operator.SQRT, np.sqrt, 0.0, 1e6, 0.51),
    (Operator.ABS, np.abs, -5.0, 5.0, 0.0),
    (Operator.LOG, np.log, 1e-6, 1e6, 1.0),
]


@pytest.mark.parametrize(("operator", "exact", "low", "high", "ulps"), RANGES)
def test_error(operator: Operator, exact: Callable[[np.ndarray], np.ndarray], low: float, high: float, ulps: float) -> None:
    x = spread(low, high)
    wanted = exact(x.astype(np.float64))
    error = np.abs(result(operator, x) - wanted) / np.spacing(np.abs(wanted).astype(np.float32))
    assert error.max() <= ulps


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_ends_of_exp_tanh_and_erf(lanes: int) -> None:
    x = np.array(
        [-np.inf, np.inf, np.nan, -0.0, 0.0, 89.5, -103.0, -110.0, 1e-30, -1e-30, 88.7, -87.5, 1.0, 2.0, 3.0, 4.0], np.float32
    )
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(result(Operator.EXP, x, lanes), np.exp(x), rtol=3e-7, atol=3e-45)
        np.testing.assert_allclose(result(Operator.TANH, x, lanes), np.tanh(x), rtol=4e-7)
    assert np.array_equal(np.signbit(result(Operator.TANH, x, lanes)[[3, 4]]), [True, False])
    found = result(Operator.ERF, x, lanes)
    np.testing.assert_allclose(found, np.vectorize(math.erf)(x.astype(np.float64)), rtol=4e-7)
    assert np.array_equal(np.signbit(found[[3, 4]]), [True, False])


MEANINGS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
}


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_every_judge_knows_every_function(operator: Operator) -> None:
    """Mathematics, folded numbers and C, scalar and vector, against Python's function."""
    x = np.linspace(0.25, 2.0, 32, dtype=np.float32)
    wanted = [MEANINGS[operator.value](v) for v in x.tolist()]
    np.testing.assert_allclose(compute(operator, [x], f32), wanted, rtol=1e-6)
    np.testing.assert_allclose([evaluate_number(operator, [v]) for v in x.tolist()], wanted, rtol=1e-12)
    for lanes in (1, 8):
        np.testing.assert_allclose(result(operator, x, lanes), wanted, rtol=1e-6)
