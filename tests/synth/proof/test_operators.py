"""User-declared operators: the laws they claim are proved or refuted with numbers."""

import pytest

import warploom as wl
from warploom import f32, i32, u8
from warploom.core import DType
from warploom.sketch.operators import UserOperator
from warploom.synth.proof.operators import check_operators

circle = wl.operator("circle", lambda a, b: a + b + a * b, identity=0)
low_bits = wl.operator("low_bits", lambda a, b: (a + b) & 7)
minus = wl.operator("minus", lambda a, b: a - b)
half_sum = wl.operator("half_sum", lambda a, b: (a + b) * 0.5)
false_identity = wl.operator("false_identity", lambda a, b: (a + b) & 7, identity=0)

rarely_not = wl.operator("rarely_not", lambda a, b: a + b + max(min(a, b) - 1000, 0), identity=0)
far_out = wl.operator("far_out", lambda a, b: max(a + b, a * 1000000.0 + b * 1000000.0 - 1e13))


def kernel_with(op: UserOperator, dtype: DType) -> wl.Sketch:
    @wl.sketch(block=4, warp_size=4)
    def fold(x: wl.Global[dtype, 4], y: wl.Global[dtype, 4]):
        lane = wl.lane_id()
        acc = wl.accumulator(dtype, op=op, init=0)
        acc.add(x[lane])
        y[lane] = acc.value()

    return fold


@pytest.mark.parametrize(("op", "dtype"), [(circle, i32), (circle, u8), (circle, f32), (low_bits, i32)])
def test_right_claims_are_proved(op: UserOperator, dtype: DType) -> None:
    found = check_operators(kernel_with(op, dtype).kernel)
    assert found.faults == ()
    assert found.unproved == ()


@pytest.mark.parametrize(
    ("op", "dtype", "message"),
    [
        (minus, i32, "commutative"),
        (half_sum, f32, "associative"),
        (false_identity, i32, "neutral with 0"),
        (rarely_not, f32, "associative"),
        (far_out, f32, "associative"),
    ],
)
def test_wrong_claims_come_with_numbers(op: UserOperator, dtype: DType, message: str) -> None:
    found = check_operators(kernel_with(op, dtype).kernel)
    assert any(message in fault.message and " = " in fault.message for fault in found.faults)
    assert all(fault.code == "OPERATOR_LAW" and fault.fix for fault in found.faults)
    assert all(f'wl.operator("{op.name}"' in fault.span.source for fault in found.faults)
