"""A share of `make fuzz`, and every fault that it found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.fuzz import launches, mutations
from benchmarks.fuzz.kernels import random_case
from numpy.typing import NDArray
from tests.ptx.fuzz import differential
from tests.ptx.fuzz.scalar import f32_of, quotient, signed

from warploom.core import UserError
from warploom.ptx import launch, lower, parse
from warploom.ptx.shuffle import ShuffleOptions, apply_all, shuffle
from warploom.ptx.symbolic import emulate


def test_rewritten_launches_leave_identical_memory() -> None:
    tally = launches.Tally()
    failures = {case: message for case in range(500_000, 500_018) if (message := launches.check_seed(case, tally))}
    assert not failures
    assert tally.shuffles > 5
    assert tally.reuses > 5


def test_interpreter_scalar_oracle_and_emulator_agree() -> None:
    assert not differential.run(12, 500_000).failures


def test_a_difference_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential, "launch", _with_one_bit_flipped)
    ((case, message),) = differential.run(1, 3).failures
    assert case == 3
    assert "interpreter against scalar oracle: 1 bytes" in message


def _with_one_bit_flipped(*args: Any, **named: Any) -> Any:
    found = launch(*args, **named)
    found.arrays[1][10] ^= np.uint64(1)
    return found


def test_the_oracle_rounds_to_the_nearest_float() -> None:
    rng = np.random.default_rng(3)
    for x, y in rng.integers(0, 1 << 31, (300, 2), dtype=np.uint32).view(np.float32):
        if np.isfinite(x) and np.isfinite(y):
            with np.errstate(all="ignore"):
                assert f32_of(Fraction(float(x)) * Fraction(float(y))) == int(np.float32(x * y).view(np.uint32))
    assert (quotient(-7, 2), quotient(7, -2), signed(0xFF, 8)) == (-3, -3, -1)


# faults found

_FRAME = """\
.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p_in, .param .u64 p_out)
{
	.reg .pred %%p<9>;
	.reg .b32 %%r<30>;
	.reg .b64 %%rd<9>;
	ld.param.u64 %%rd1, [p_in];
	ld.param.u64 %%rd2, [p_out];
	mov.u32 %%r1, %%tid.x;
	mov.u32 %%r9, 0;
	mad.wide.u32 %%rd3, %%r1, 4, %%rd1;
	mad.wide.u32 %%rd5, %%r1, 4, %%rd2;
	setp.lt.u32 %%p1, %%r1, 5;
%s
	st.global.u32 [%%rd5], %%r9;
	ret;
}
"""


def _run(text: str, block: int = 256) -> NDArray[np.uint32]:
    ran = launch(text, grid=1, block=block, args=[np.arange(1, 1025, dtype=np.uint32), np.zeros(block, np.uint32)])
    assert ran.status == "finished"
    return ran.arrays[1]


def _rewriting_keeps(body: str) -> None:
    text = _FRAME % body
    new = shuffle(parse(text), ShuffleOptions(policy=apply_all)).text
    assert np.array_equal(_run(text), _run(new))


def signed_bytes_are_extended_with_their_sign() -> None:
    _rewriting_keeps("""\
	cvt.s8.s32 %r2, %r1;
	cvt.u8.u32 %r3, %r1;
	mad.wide.s32 %rd3, %r2, 4, %rd1;
	mad.wide.s32 %rd4, %r3, 4, %rd1;
	ld.global.u32 %r4, [%rd3+512];
	ld.global.u32 %r5, [%rd4+512];
	sub.s32 %r9, %r4, %r5;""")


def comments_after_a_guard_stay_comments() -> None:
    _rewriting_keeps("""\
	mov.b32 %r5, 3;
	ld.global.nc.u32 %r4, [%rd3+4];
	@%p1 // ld.global.nc.u32 %r5, [%rd1];
	ld.global.nc.u32 %r5, [%rd3];
	add.s32 %r9, %r4, %r5;""")


def lanes_that_do_not_run_read_nothing() -> None:
    text = _FRAME % "@%p1 add.cc.u32 %r9, %r1, -1;\n@%p1 addc.u32 %r9, 5, 0;"
    args = [np.zeros(4, np.uint32), np.zeros(32, np.uint32)]
    assert not launch(text, grid=1, block=32, args=args).findings


def unknown_register_types_are_refused() -> None:
    with pytest.raises(UserError):
        emulate(lower(parse(_FRAME % ".reg .exit %h<2>;\nld.global.u32 %h1, [%rd1];")).kernels[0])


def conversions_of_three_types_do_not_crash() -> None:
    emulate(lower(parse(_FRAME % "cvt.s64.s64.u32 %rd6, %rd5;")).kernels[0])


def branches_on_unequal_predicates_are_understood() -> None:
    _rewriting_keeps("""\
	setp.lt.u32 %p2, %r1, 9;
	xor.pred %p3, %p1, %p2;
	@%p3 bra OUT;
	selp.u32 %r3, 1, 0, %p3;
	setp.ne.u32 %p4, %r3, 0;
	selp.b32 %r2, 0, 8, %p4;
	mad.wide.u32 %rd4, %r2, 4, %rd3;
	ld.global.u32 %r4, [%rd3];
	ld.global.u32 %r5, [%rd4];
	sub.s32 %r9, %r4, %r5;
OUT:""")


def races_are_found_after_the_writer_has_read_twice() -> None:
    again = "".join(f"@%p2 ld.global.u32 %r1{n}, [%rd1+64];\n" for n in range(3))
    text = _FRAME % f"ld.global.u32 %r4, [%rd1+64];\nsetp.eq.u32 %p2, %r1, 33;\n{again}@%p2 st.global.u32 [%rd1+64], %r1;"
    ran = launch(text, grid=1, block=64, args=[np.zeros(64, np.uint32), np.zeros(64, np.uint32)])
    assert any(f.kind == "global_race" for f in ran.findings)


_REPAIRED: tuple[Callable[[], None], ...] = (
    signed_bytes_are_extended_with_their_sign, lanes_that_do_not_run_read_nothing, unknown_register_types_are_refused,
    conversions_of_three_types_do_not_crash, branches_on_unequal_predicates_are_understood,
    races_are_found_after_the_writer_has_read_twice, comments_after_a_guard_stay_comments,
)  # fmt: skip


@pytest.mark.parametrize("check", _REPAIRED, ids=lambda check: check.__name__)
def test_repaired_faults(check: Callable[[], None]) -> None:
    check()


def test_mutated_kernels_end_without_a_traceback() -> None:
    for case in range(24):
        mutations.check(mutations.given(case))


def test_cases_are_the_same_in_every_run() -> None:
    assert random_case(7) == random_case(7)
    assert mutations.given(7) == mutations.given(7)
