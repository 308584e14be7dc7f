"""Loads of adjacent places become vector loads: where that is known to be right, where it is tested, and where not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.ptx.shuffle.same import differences

from warploom.core import f32
from warploom.gpu import assemble, machine_counts, toolchain_available
from warploom.ptx.routine import lower
from warploom.ptx.shuffle import ShuffleOptions, apply_all, apply_none, shuffle
from warploom.ptx.syntax import parse
from warploom.ptx.verify import WARNINGS, verify
from warploom.synth.compiled import ArrayArgument, prove_equivalent

HEAD = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64{ptr} p_in, .param .u64 p_out, .param .u64 p_all)
"""
START = """{
	.reg .pred %p<9>;
	.reg .b32 %r<20>;
	.reg .f32 %f<9>;
	.reg .f64 %fd<9>;
	.reg .b64 %rd<20>;
	ld.param.u64 %rd1, [p_in];
	ld.param.u64 %rd2, [p_out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, STRIDE;
	add.s64 %rd4, %rd1, %rd3;
	mul.wide.u32 %rd5, %r1, 4;
	add.s64 %rd6, %rd2, %rd5;
"""
TWO = "ld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd4+4];\nsub.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;\n"
FOUR = (
    "ld.global.nc.f32 %f2, [%rd4+4];\nld.global.nc.f32 %f1, [%rd4];\nsub.f32 %f3, %f1, %f2;\nld.global.nc.f32 %f4, [%rd4+12];\n"
    "mov.f32 %f5, %f4;\nld.global.nc.u32 %r3, [%rd4+8];\nmov.b32 %f4, %r3;\nfma.rn.f32 %f3, %f4, %f5, %f3;\n"
    "st.global.f32 [%rd6], %f3;\n"
)
HIGH = TWO.replace("[%rd4]", "[%rd4+8]").replace("[%rd4+4]", "[%rd4+12]")
THREE = "setp.eq.u32 %p1, %r1, 3;\nmov.f32 %f2, %f1;\n"
DOUBLE = (
    "ld.global.f64 %fd1, [%rd4];\nld.global.f64 %fd2, [%rd4+8];\nsub.f64 %fd3, %fd1, %fd2;\ncvt.rn.f32.f64 %f1, %fd3;\n"
    "st.global.f32 [%rd6], %f1;\n"
)


def text(body: str, stride: int = 16, ptr: str = "") -> str:
    return HEAD.replace("{ptr}", ptr) + START.replace("STRIDE", str(stride)) + body + "ret;\n}\n"


def joined(body: str, stride: int = 16, ptr: str = "", *, aligned: bool = False) -> tuple[str, list[tuple[int, bool, bool]]]:
    """The new text, and size, whether tested, whether assumed of each vector."""
    options = ShuffleOptions(policy=apply_none, vectors=True, assume_aligned=aligned)
    found = shuffle(parse(text(body, stride, ptr)), options)
    (report,) = found.reports
    assert not [f for f in verify(parse(found.text)) if f.code not in WARNINGS]
    return found.text, [(v.size_bytes, v.is_tested, v.assumed) for v in report.vectors]


@pytest.mark.parametrize(
    ("body", "stride", "size"),
    [(TWO, 8, 8), (TWO, 16, 8), (FOUR, 16, 16), (HIGH, 16, 8), (DOUBLE, 16, 16), (FOUR.replace(".nc", ""), 32, 16)],
)
@pytest.mark.parametrize("begin", [0, 1, 2, 3, 4])
def test_right_wherever_the_array_begins(body: str, stride: int, size: int, begin: int) -> None:
    new, vectors = joined(body, stride)
    assert vectors == [(size, True, False)]
    whole = np.random.default_rng(0).uniform(-1, 1, 600).astype(np.float32)
    if "f64" in body and begin % 2:
        return  # no address of such numbers
    args: list[Any] = [whole[begin : begin + 512], np.zeros(64, np.float32), whole]
    assert not differences(text(body, stride), new, (1, 1, 1), (48, 1, 1), args)


@pytest.mark.parametrize(
    ("ptr", "aligned", "tested"),
    [(" .ptr .global .align 16", False, False), (" .ptr .global .align 8", False, True), ("", True, False), ("", False, True)],
)
def test_what_is_known_of_the_array_needs_no_test(ptr: str, aligned: bool, tested: bool) -> None:
    new, vectors = joined(FOUR, ptr=ptr, aligned=aligned)
    assert vectors == [(16, tested, aligned)]
    assert ("setp" in new) == tested
    args: list[Any] = [np.arange(512, dtype=np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)]
    assert not differences(text(FOUR, ptr=ptr), new, (1, 1, 1), (40, 1, 1), args)


@pytest.mark.parametrize(
    ("body", "stride"),
    [
        (TWO, 12),
        (TWO, 4),
        (TWO.replace("+4]", "+8]"), 16),
        (TWO.replace("[%rd4+4]", "[%rd4+8]").replace("[%rd4]", "[%rd4+4]"), 16),
        (TWO.replace("ld.global.f32 %f2", "st.global.f32 [%rd6], %f1;\nld.global.f32 %f2"), 16),
        (TWO.replace("ld.global.f32 %f2", "bar.sync 0;\nld.global.f32 %f2"), 16),
        (TWO.replace("ld.global.f32 %f2", f"{THREE}@%p1 ld.global.f32 %f2"), 16),
        (TWO.replace("ld.global.f32 %f2", f"{THREE}@%p1 bra END;\nld.global.f32 %f2") + "END:\n", 16),
        (TWO.replace("ld.global.f32 %f2", "ld.volatile.global.f32 %f2"), 16),
        (TWO.replace("ld.global.f32 %f2", "ld.global.nc.f32 %f2"), 16),
        (TWO.replace("%rd4", "%rd7").replace("ld.global.f32 %f1", "mov.b64 %rd7, %rd3;\nld.global.f32 %f1"), 16),
        (TWO.replace("ld.global.f32 %f1", "add.s64 %rd4, %rd4, %rd2;\nld.global.f32 %f1"), 16),
    ],
    ids=[
        "stride of 12", "stride of 4", "a gap", "odd place", "store", "barrier", "predicate", "branch", "volatile", "qualifiers",
        "no pointer", "two pointers",
    ],
)  # fmt: skip
def test_what_stays_apart(body: str, stride: int) -> None:
    new, vectors = joined(body, stride)
    assert vectors == []
    assert new == text(body, stride)


def test_a_read_only_load_passes_a_store() -> None:
    body = TWO.replace("ld.global.", "ld.global.nc.").replace(
        "ld.global.nc.f32 %f2", "st.global.f32 [%rd6], %f1;\nld.global.nc.f32 %f2"
    )
    assert joined(body)[1] == [(8, True, False)]


def test_the_old_value_of_a_register_is_used_between_the_loads() -> None:
    body = TWO.replace("ld.global.f32 %f2", "mov.f32 %f2, 0f3F800000;\nadd.f32 %f1, %f1, %f2;\nld.global.f32 %f2")
    new, vectors = joined(body)
    assert len(vectors) == 1
    args: list[Any] = [np.arange(512, dtype=np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)]
    assert not differences(text(body), new, (1, 1, 1), (33, 1, 1), args)


def test_proved_equal_to_the_original() -> None:
    new, _ = joined(FOUR, aligned=True)
    arguments = tuple(ArrayArgument(name, f32, (256,)) for name in ("p_in", "p_out", "p_all"))
    proof = prove_equivalent(lower(parse(text(FOUR))), lower(parse(new)), None, arguments, (1, 1, 1), (32, 1, 1))
    assert proof.verdict == "proved", proof.reason


def test_offered_with_the_models_gain_and_written_on_request() -> None:
    (report,) = shuffle(parse(text(FOUR))).reports
    (vector,) = report.vectors
    assert not vector.applies and vector.predicted_gain > 0
    line = json.loads(json.dumps(report.json()))
    assert line["vectors"][0].keys() == {"lines", "bytes", "tested", "assumed", "applied", "predicted_gain"}
    assert vector.lines == tuple(sorted(vector.lines)) and len(vector.lines) == 4


def test_a_shuffled_load_is_not_joined() -> None:
    """A load that a policy has replaced is no load any more; its source may still be joined."""

    body = TWO.replace("sub.f32 %f3", "ld.global.f32 %f4, [%rd4+16];\nadd.f32 %f2, %f2, %f4;\nsub.f32 %f3")
    found = shuffle(parse(text(body)), ShuffleOptions(policy=apply_all, vectors=True))
    (report,) = found.reports
    assert len(report.shuffles) == 1 and len(report.vectors) == 1
    args: list[Any] = [np.arange(1024, dtype=np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)]
    assert not differences(text(body), found.text, (1, 1, 1), (48, 1, 1), args)


@pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA wheels")
def test_ptxas_makes_one_load_of_them() -> None:
    before, after = (machine_counts(assemble(t, "sm_90")[0])["k"] for t in (text(FOUR), joined(FOUR, aligned=True)[0]))
    assert (before.loads, after.loads) == (4, 1)
    assert after.instructions < before.instructions
