"""Whether accesses lie in their arrays in every launch; the kernels are those of test_races.py and some in PTX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ptx import Program, launch, lower, parse
from warploom.ptx.launches import Bounds, NotDecided, assumptions, bounds

PTX = Path(__file__).parent / "kernels.ptx"


@pytest.fixture(scope="module")
def program() -> Program:
    return lower(parse(PTX.read_text(encoding="utf-8"), "kernels.ptx"))


def found(program: Program, kernel: str, assumed: str = "") -> Bounds:
    answer = bounds(program, kernel, assumptions(assumed) if assumed else ())
    assert isinstance(answer, Bounds)
    return answer


@pytest.mark.parametrize(
    ("kernel", "enough", "too_few"),
    [
        ("axpy", "len(arg1) >= arg3 && len(arg2) >= arg3", "len(arg1) >= arg3 && len(arg2) >= arg3 - 1"),
        ("backwards", "bytes(arg0) >= 4 * arg1", "bytes(arg0) > 4 * arg1 - 4"),
        ("grid_stride", "len(arg0) >= arg1", "len(arg0) + 1 >= arg1"),
        ("twice", "len(arg0) >= arg1 + 1", "len(arg0) >= arg1"),
        ("rows", "len(arg0) >= arg1 * arg2", "len(arg0) >= arg1 * arg2 - 1"),
        ("neighbour", "len(arg0) > arg1", "len(arg0) == arg1"),
        ("reduced", "len(arg0) >= gridDim.x * blockDim.x && len(arg1) >= gridDim.x", "len(arg1) == 1"),
    ],
)
def test_lengths_that_are_enough_and_too_few(kernel: str, enough: str, too_few: str, program: Program) -> None:
    arrays = {f"{kernel}_param_{n}" for n in range(4)}
    answer = found(program, kernel, enough)
    assert not {one.array for one in answer.outside} & arrays and not answer.unknown & arrays
    assert arrays & {one.array for one in found(program, kernel, too_few).outside}


@pytest.mark.parametrize(
    ("kernel", "needed"),
    [
        ("axpy", ("len(arg1) >= arg3", "len(arg2) >= arg3")), ("grid_stride", ("len(arg0) >= arg1",)),
        ("rows", ("len(arg0) >= arg1 * arg2",)), ("unsigned_index", ("len(arg0) >= gridDim.x * blockDim.x",)),
        ("scattered", ("len(arg1) >= arg2",)), ("rows_without_guard", ()),
    ],
)  # fmt: skip
def test_lengths_are_offered_that_are_enough(kernel: str, needed: tuple[str, ...], program: Program) -> None:
    answer = found(program, kernel)
    assert answer.needed == needed
    if needed:
        assert not found(program, kernel, " && ".join(needed)).outside


@pytest.mark.parametrize(("kernel", "short"), [("grid_stride", 0), ("grid_stride", 1), ("rows", 0), ("rows", 1)])
def test_launches_agree_with_the_interpreter(kernel: str, short: int, program: Program) -> None:
    """An array as long as is needed is enough, one element less is not: random sizes, more threads than elements."""
    random = np.random.default_rng(short)
    for _ in range(3):
        w, h = (int(x) for x in random.integers(1, 9, 2))
        numbers = [np.int32(w), np.int32(h)] if kernel == "rows" else [np.int32(w * h)]
        block = (9, 9) if kernel == "rows" else (int(random.integers(1, 90)),)
        array = np.zeros(w * h - short, np.float32)
        ran = launch(program, kernel, grid=1, block=block, args=[array, *numbers])
        assert [one.kind for one in ran.findings] == ["out_of_bounds"] * short


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def own(body: str, declared: str = "", parameters: str = "") -> Bounds | NotDecided:
    text = f"""{HEAD}{declared}.visible .entry k(.param .u64 out, .param .u32 n{parameters}) {{
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>; .shared .align 4 .b8 s[128];
ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, s;
{body}
ret; }}"""
    return bounds(lower(parse(text, "own.ptx")), "k", assumptions("blockDim.x == 32"))


@pytest.mark.parametrize(
    ("body", "is_inside"),
    [
        ("shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5], 0;", True),
        ("shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5+4], 0;", False),
        ("shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4; ld.shared.u32 %r6, [%r5-4];", False),
        ("xor.b32 %r4, %r2, 5; shl.b32 %r4, %r4, 2; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5], 0;", True),
        ("xor.b32 %r4, %r2, 32; shl.b32 %r4, %r4, 2; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5], 0;", False),
        ("setp.lt.u32 %p1, %r2, 31; shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4; @%p1 st.shared.u32 [%r5+4], 0;", True),
    ],
)
def test_offsets_in_shared_memory(body: str, is_inside: bool) -> None:
    answer = own(body)
    assert isinstance(answer, Bounds)
    assert (answer.inside, len(answer.outside)) == ((frozenset({"s"}), 0) if is_inside else (frozenset(), 1))


@pytest.mark.parametrize(
    ("declared", "body", "array"),
    [
        (".const .align 4 .b8 c[SIZE];", "mov.u64 %d2, c; add.s64 %d2, %d2, %d3; ld.const.u32 %r4, [%d2];", "c"),
        ("", ".local .align 4 .b8 a[SIZE]; mov.u64 %d2, a; add.s64 %d2, %d2, %d3; st.local.u32 [%d2], %r2;", "a"),
        ("", "mov.u64 %d2, t; add.s64 %d2, %d2, %d3; ld.param.u32 %r4, [%d2];", "the parameter t"),
        ("", "ld.param.u32 %r4, [t+124];", "the parameter t"),
    ],
)
def test_constants_parameters_and_memory_of_one_thread_are_arrays_of_their_size(declared: str, body: str, array: str) -> None:
    for size, is_inside in ((127, False), (128, True)):
        text = f"mul.wide.u32 %d3, %r2, 4; {body}".replace("SIZE", str(size))
        answer = own(text, declared.replace("SIZE", str(size)), f", .param .align 4 .b8 t[{size}]")
        assert isinstance(answer, Bounds)
        assert [one.array for one in answer.outside] == ([] if is_inside else [array])
        assert not answer.unknown


LOOP = "mov.u32 %r4, 0;\nL: shl.b32 %r5, %r4, 2; add.s32 %r6, %r3, %r5; st.shared.u32 [%r6], 0;\nadd.s32 %r4, %r4, STEP;"


@pytest.mark.parametrize(
    ("end", "is_inside"),
    [
        ("setp.lt.s32 %p1, %r4, 32; @%p1 bra L;", True), ("setp.le.s32 %p1, %r4, 32; @%p1 bra L;", False),
        ("setp.ge.s32 %p1, %r4, 32; @!%p1 bra L;", True), ("setp.lt.s32 %p1, %r4, %r1; @%p1 bra L;", False),
        ("setp.ge.s32 %p1, %r4, 32; @%p1 bra E; bra L; E:", True),
    ],
)  # fmt: skip
def test_the_condition_at_the_end_of_a_loop_holds_for_later_rounds(end: str, is_inside: bool) -> None:
    answer = own(f"{LOOP.replace('STEP', '4')}\n{end}")
    assert isinstance(answer, Bounds) and (answer.inside == {"s"}) == is_inside


def test_of_a_loop_with_two_ways_back_neither_condition_is_known() -> None:
    way = "setp.lt.u32 %p1, %r2, 5; @%p1 bra M; setp.lt.s32 %p2, %r4, 32; @%p2 bra L; bra E;"
    answer = own(f"{LOOP.replace('STEP', '1')}\n{way}\nM: setp.lt.s32 %p3, %r4, 1000; @%p3 bra L;\nE:")
    assert isinstance(answer, Bounds) and [one.array for one in answer.outside] == ["s"]


def test_reads_of_arrays_that_are_not_known_are_said() -> None:
    answer = own("st.shared.u32 [%r3], 0; ld.global.u64 %d2, [%d1]; ld.global.nc.u32 %r4, [%d2]; st.global.u32 [%d1], %r4;")
    assert isinstance(answer, NotDecided) and "an array that is not known" in answer.reason


def test_what_a_round_loads_may_be_another_thing_in_the_next_one() -> None:
    """The index is read anew in each round, and the condition was about the old one."""
    body = "L: shl.b32 %r5, %r7, 2; ld.global.u32 %r4, [%d1];\nshl.b32 %r5, %r4, 2; add.s32 %r6, %r3, %r5;\n"
    body += "st.shared.u32 [%r6], 0; st.global.u32 [%d1], %r2; setp.lt.u32 %p1, %r4, 32; @%p1 bra L;"
    answer = own(f"mov.u32 %r7, 0;\n{body}")
    assert isinstance(answer, Bounds) and [one.array for one in answer.outside] == ["s"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("len(arg9) > 1", "expected an array of rows (arg0)"), ("len(arg1) > 1", "expected an array of rows (arg0)"),
        ("len(x) >= n", "expected an array of rows (arg0) in len(x), got 'x'"),
        ("len(arg0) >= n", "expected a parameter of rows by its place (arg0, arg1, arg2), got 'n'"),
        ("size(arg0) > 1", "len(ARRAY) or bytes(ARRAY)"), ("len(arg0, arg1) > 1", "len(ARRAY) or bytes(ARRAY)"),
        ("len(4) > 1", "len(ARRAY) or bytes(ARRAY)"),
    ],
)  # fmt: skip
def test_lengths_of_what_is_no_array_are_refused(text: str, said: str, program: Program) -> None:
    with pytest.raises(UserError, match=said.replace("(", r"\(").replace(")", r"\)")):
        bounds(program, "rows", assumptions(text))


@pytest.mark.parametrize("kernel", ["two_barriers", "register_of_each_thread"])
def test_dynamic_shared_memory_that_cuda_declares_outside_of_the_kernel(kernel: str, program: Program) -> None:
    assert "s" not in program.routines[kernel].variables and "s" in found(program, kernel).unknown
    more = 0 if kernel == "two_barriers" else 63
    assert "s" in found(program, kernel, f"len(s) >= blockDim.x + {more}").inside
    (short,) = (one for one in found(program, kernel, f"len(s) + 1 >= blockDim.x + {more}").outside if one.array == "s")
    assert dict(short.launches[0].lengths)["s"] < 4 * (short.launches[0].block[0] + more)


def test_a_shared_array_of_another_kernel_is_none(program: Program) -> None:
    with pytest.raises(UserError, match=r"expected an array of reduced \(arg0, arg1, s\) in len\(s4\)"):
        bounds(program, "reduced", assumptions("len(s4) >= 1"))


def test_an_array_that_is_not_accessed_has_no_elements() -> None:
    text = f"{HEAD}.visible .entry k(.param .u64 out) {{ ret; }}"
    with pytest.raises(UserError, match=r"expected bytes\(out\), since the kernel accesses no element of it"):
        bounds(lower(parse(text, "own.ptx")), "k", assumptions("len(arg0) == 2"))


def test_elements_of_several_widths_are_counted_in_bytes() -> None:
    body = "st.global.u32 [%d1], 0; st.global.u8 [%d1+4], 0;"
    text = f"{HEAD}.visible .entry k(.param .u64 out) {{ .reg .b64 %d<2>; ld.param.u64 %d1, [out]; {body} ret; }}"
    program = lower(parse(text, "own.ptx"))
    with pytest.raises(UserError, match=r"expected bytes\(out\)"):
        bounds(program, "k", assumptions("len(arg0) == 2"))
    answer = bounds(program, "k", assumptions("bytes(arg0) == 5"))
    assert isinstance(answer, Bounds) and answer.inside == {"out"} and not answer.needed
    (one,) = (a for a in [bounds(program, "k", assumptions("bytes(arg0) == 4"))] if isinstance(a, Bounds))
    assert one.outside[0].launches[0].lengths == (("out", 4),)


def test_parameters_that_are_no_whole_numbers_are_refused() -> None:
    text = f"{HEAD}.visible .entry k(.param .f32 scale, .param .u32 n) {{ ret; }}"
    with pytest.raises(UserError, match=r"expected a parameter that is a whole number, got arg0, a \.f32"):
        bounds(lower(parse(text, "own.ptx")), "k", assumptions("arg0 > 1"))
    with pytest.raises(UserError, match=r"by its place \(arg1\), got 'm'"):
        bounds(lower(parse(text, "own.ptx")), "k", assumptions("m > 1"))
