"""A spec on numbers: where it has no value, nothing is compared with a kernel."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warploom.core import DType, UserError, f32, i32, u8
from warploom.synth.compiled import ArrayArgument, run_on_numbers


def ratio(out, a):
    out[0] = a[0] / a[1]


def root(out, a):
    out[0] = math.sqrt(a[0])


def whole(out, a):
    out[0] = np.int32(a[0])


def byte(out, a):
    out[0] = np.uint8(a[0])


def beyond(out, a):
    out[0] = a[2]


def left(spec: Callable[..., Any], out: DType, kind: DType, *numbers: float) -> float | None:
    arguments = ArrayArgument("out", out, (1,)), ArrayArgument("a", kind, (2,))
    held = np.array(numbers, dtype=np.float64 if kind.is_float else np.int64)
    found = run_on_numbers(spec, arguments, {"out": np.zeros(1), "a": held}, {})
    return None if found is None else found["out"][0]


@pytest.mark.parametrize(
    ("spec", "out", "kind", "numbers", "value"),
    [
        (ratio, i32, i32, (7, 2), 3),
        (ratio, i32, i32, (7, 0), None),
        (root, f32, f32, (4.0, 0.0), 2.0),
        (root, f32, f32, (-4.0, 0.0), None),
        (whole, i32, f32, (-7.5, 0.0), -7),
        (whole, i32, f32, (2147483647.5, 0.0), 2147483647),
        (whole, i32, f32, (2147483648.0, 0.0), None),
        (whole, i32, f32, (math.inf, 0.0), None),
        (byte, i32, f32, (255.5, 0.0), 255),
        (byte, i32, f32, (256.0, 0.0), None),
        (byte, i32, i32, (256, 0), 0),
        (byte, u8, f32, (-1.0, 0.0), None),
    ],
)
def test_a_spec_has_no_value_outside_of_its_domain(
    spec: Callable[..., Any], out: DType, kind: DType, numbers: tuple[float, float], value: float | None
) -> None:
    assert left(spec, out, kind, *numbers) == value


def test_another_error_of_a_spec_is_its_own() -> None:
    with pytest.raises(UserError, match="a"):
        left(beyond, i32, i32, 1, 2)
