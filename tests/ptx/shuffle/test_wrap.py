"""Indices that wrap: proved not to, tested at run time, or assumed on request and said so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ptx.shuffle.kernels import kernel
from tests.ptx.shuffle.same import differences, report, rewritten

from warploom.ptx.shuffle import Mode, ShuffleOptions, apply_all

MIDDLE = 1 << 15

NARROW = """
cvt.u16.u32 %h1, %r4;
ld.param.u32 %r40, [p_trip];
cvt.u16.u32 %h2, %r40;
add.{type} %h1, %h1, %h2;
cvt.{wide}.{type} %rd7, %h1;
shl.b64 %rd7, %rd7, 2;
add.s64 %rd8, %rd1, %rd7;
ld.global.f32 %f1, [%rd8+{base}];
ld.global.f32 %f2, [%rd8+{base}{offset}];
sub.f32 %f3, %f1, %f2;
st.global.f32 [%rd6], %f3;
"""


def narrow(*, is_signed: bool, delta: int) -> str:
    base = 4 * (MIDDLE if is_signed else 0) + 128
    body = NARROW.format(type="s16" if is_signed else "u16", wide="s64" if is_signed else "u64", base=base + 0, offset="{offset}")
    return kernel(body.replace(f"{base}{{offset}}", str(base + 4 * delta)))


def _arguments(first: int) -> list[Any]:
    rng = np.random.default_rng(5)
    whole = rng.uniform(-1, 1, (1 << 16) + 128).astype(np.float32)
    return [whole, np.zeros(1000, np.float32), np.int32(128), np.int32(first)]


@pytest.mark.parametrize("mode", ["shuffle", "cache"])
@pytest.mark.parametrize("delta", [1, -1, 7, -31])
@pytest.mark.parametrize("is_signed", [True, False])
def test_wraps_at_run_time(is_signed: bool, delta: int, mode: Mode) -> None:
    text = narrow(is_signed=is_signed, delta=delta)
    (only,) = report(text).shuffles
    assert only.delta == delta
    assert only.conditions
    new = rewritten(text, ShuffleOptions(policy=apply_all, mode=mode)).text
    assert ("selp" in new) == (mode == "cache")
    ends = (MIDDLE - 20, MIDDLE - 40, 5) if is_signed else (2 * MIDDLE - 20, 2 * MIDDLE - 40, 5)
    for first in ends:
        assert not differences(text, new, (2, 1, 1), (64, 1, 1), _arguments(first)), first


def test_assumed_on_request() -> None:
    text = narrow(is_signed=True, delta=1)
    (only,) = report(text, ShuffleOptions(policy=apply_all, assume_nsw=True)).shuffles
    assert not only.conditions
    assert only.assumed
    new = rewritten(text, ShuffleOptions(policy=apply_all, assume_nsw=True)).text
    assert not differences(text, new, (2, 1, 1), (64, 1, 1), _arguments(5))
    assert differences(text, new, (2, 1, 1), (64, 1, 1), _arguments(MIDDLE - 20))


def test_unsigned_is_never_assumed() -> None:
    (only,) = report(narrow(is_signed=False, delta=1), ShuffleOptions(policy=apply_all, assume_nsw=True)).shuffles
    assert only.conditions
    assert not only.assumed


def test_proved_by_the_path() -> None:
    text = kernel(
        """
        setp.lt.s32 %p3, %r4, 1;
        add.s32 %r40, %r20, -1;
        setp.ge.s32 %p4, %r4, %r40;
        or.pred %p3, %p3, %p4;
        @%p3 bra DONE;
        mul.wide.s32 %rd7, %r4, 4;
        add.s64 %rd8, %rd1, %rd7;
        add.s32 %r41, %r4, 1;
        mul.wide.s32 %rd9, %r41, 4;
        add.s64 %rd9, %rd1, %rd9;
        ld.global.f32 %f1, [%rd8];
        ld.global.f32 %f2, [%rd9];
        ld.global.f32 %f3, [%rd8+-4];
        sub.f32 %f4, %f1, %f2;
        add.f32 %f4, %f4, %f3;
        st.global.f32 [%rd6], %f4;
        """
    )
    found = report(text).shuffles
    assert [c.delta for c in found] == [1, -1]
    assert all(not c.conditions for c in found)


def test_index_of_32_bits_is_tested() -> None:
    (only,) = report(kernel("ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd5+4];\nst.global.f32 [%rd6], %f2;")).shuffles
    assert only.conditions == ("%r8 +1 does not wrap as s32",)
