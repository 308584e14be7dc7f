"""Claims about all launches of a kernel; kernels.ptx is the output of nvcc for kernels.cu and sm_90."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.tools.lint.test_pairs import portable

from warploom.core import UserError, find_tool
from warploom.core.linear import collected
from warploom.gpu import compile_file
from warploom.ptx import Program, launch, lower, parse
from warploom.ptx.launches import Meeting, NotDecided, RaceFree, assumptions, offered, races
from warploom.ptx.launches.integers import Atom, times

HERE = Path(__file__).parent
CUDA, PTX = HERE / "kernels.cu", HERE / "kernels.ptx"
REASONS = {
    "parted": "threads of a block may part before a barrier",
    "array": "to which array the address belongs is not known",
    "some threads": "bar.sync of some threads is not followed",
    "as assumed": "no launch was found that is as assumed",
}


class Case(NamedTuple):
    kernel: str
    verdict: str
    reason: str
    assumed: str


def cases() -> list[Case]:
    found: list[Case] = []
    lines = CUDA.read_text(encoding="utf-8").splitlines()
    for comment, line in pairwise(lines):
        if match := re.match(r"KERNEL (\w+)", line):
            verdict, _, rest = comment.removeprefix("// ").partition(" ")
            reason, _, assumed = rest.rpartition("; ") if "=" in rest else (rest, "", "")
            found.append(Case(match[1], verdict, reason, assumed))
    return found


CASES = cases()


@pytest.fixture(scope="module")
def program() -> Program:
    return lower(parse(PTX.read_text(encoding="utf-8"), "kernels.ptx"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel)
def test_each_kernel_is_judged_as_its_comment_says(case: Case, program: Program) -> None:
    found = races(program, case.kernel, assumptions(case.assumed) if case.assumed else ())
    match case.verdict:
        case "proved":
            assert isinstance(found, RaceFree), found
        case "meet":
            assert isinstance(found, Meeting), found
        case _:
            assert isinstance(found, NotDecided) and found.reason == REASONS[case.reason], found


BLOCKS = {"transposed": (32, 8), "swizzled": (32, 32), "rows_of_the_grid": (32, 2)}
"""The blocks of kernels whose assumptions name them."""


@pytest.mark.parametrize("case", [c for c in CASES if c.verdict == "proved"], ids=lambda case: case.kernel)
def test_no_launch_of_a_proved_kernel_races_in_the_interpreter(case: Case, program: Program) -> None:
    random = np.random.default_rng(len(case.kernel))
    routine = program.routines[case.kernel]
    asks_y = case.kernel in ("rows", *BLOCKS)
    for _ in range(3):
        block = BLOCKS.get(case.kernel) or (int(random.integers(1, 71)), int(random.integers(1, 4)) if asks_y else 1)
        one_block = "gridDim.x == 1" in case.assumed or case.kernel == "swizzled"
        grid = (1,) if one_block else (int(random.integers(1, 4)), 2 if asks_y else 1)
        values: list[np.ndarray | np.generic] = []
        for parameter in routine.parameters:
            if parameter.type == "u64":
                values.append(np.zeros(1 << 14, np.int32))
            elif parameter.type == "f32":
                values.append(np.float32(2))
            else:
                size = grid[0] * 32 if case.kernel == "rows_of_the_grid" else int(random.integers(0, 80))
                values.append(np.int32(size))
        ran = launch(program, case.kernel, grid=grid, block=block, args=values, dynamic_shared_bytes=4096)
        assert not [f for f in ran.findings if "race" in f.kind or "barrier" in f.kind], (grid, block, values)


def test_a_meeting_says_where_and_in_which_launch(program: Program) -> None:
    found = races(program, "neighbour")
    assert isinstance(found, Meeting) and found.launches
    names = {program.routines["neighbour"].instructions[n].opcode for n in (found.first, found.second)}
    assert names == {"ld", "st"}
    first = found.launches[0]
    assert first.grid[0] * first.block[0] > 1 and dict(first.parameters)["neighbour_param_1"] > 0


def test_the_domain_says_what_was_taken_for_granted(program: Program) -> None:
    found = races(program, "low_byte_of_one_block", assumptions("blockDim.x <= 256 && gridDim.x == 1"))
    assert isinstance(found, RaceFree)
    assert found.domain == (
        "blockDim.x <= 256", "gridDim.x == 1",
        "one thread in a block along y and z, since the kernel does not ask for its tid.y",
        "one block along y and z, since the kernel does not ask for its ctaid.y",
        "fewer than 2^31 threads along each axis",
        "each access lies in the array that its address is computed from",
        "different arrays do not overlap",
        "no address wraps, nor a product that it is made of",
    )  # fmt: skip


def test_the_first_block_without_a_race_is_offered(program: Program) -> None:
    assert offered(program, "swizzled") == "blockDim.x == 32 && blockDim.y == 32"
    assert offered(program, "neighbour") is None
    assert offered(program, "swizzled", assumptions("blockDim.x == 16")) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "blockDim.x",
        "blockDim.x = 32",
        "blockDim.x == 2 || arg0 == 1",
        "blockDim.x == 1.5",
        "blockDim.x in (1, 2)",
        "(" * 300,
    ],
)
def test_other_texts_than_comparisons_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"expected a comparison|expected whole numbers"):
        for one in assumptions(text):
            races(lower(parse(PTX.read_text(encoding="utf-8"), "kernels.ptx")), "axpy", [one])


@pytest.mark.parametrize("text", ["n == 1", "arg4 == 1", "arg0 == 1", "blockDim.w == 1", "10 ** 9 == arg3", "arg3 % 0 == 0"])
def test_names_that_the_kernel_does_not_have_are_refused(text: str, program: Program) -> None:
    with pytest.raises(UserError, match="ASSUMPTION"):
        races(program, "axpy", assumptions(text))


def test_assumptions_are_read_as_written(program: Program) -> None:
    for text, holds in (
        ("blockDim.x == 1 && gridDim.x == 1", True), ("2 * blockDim.x <= 3 && 0 - gridDim.x > -2", True),
        ("gridDim.x + blockDim.x < 3", True), ("gridDim.x + blockDim.x != 7", False), ("arg1 < 1", True),
        ("arg1 % 5 == 1 && 2 > arg1", True), ("arg1 % 5 == 1 && 12 > arg1", False),
        ("arg1 % 5 <= 0 && arg1 < 5", True), ("arg1 % 5 < 0", True), ("arg1 % 5 != 0 && arg1 < 3", False),
    ):  # fmt: skip
        assert isinstance(races(program, "neighbour", assumptions(text)), RaceFree) == holds, text


HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"


def judged(body: str, parameters: str = ".param .u64 p", before: str = "") -> RaceFree | Meeting | NotDecided:
    text = f"{HEADER}{before}.visible .entry k({parameters}) {{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    own = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
    return races(lower(parse(f"{text}{own}{body}\nret;\n}}\n", "k.ptx")), "k")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("bra B;\nA: add.u32 %r1, %r1, 1;\nB: setp.lt.u32 %p1, %r1, 9;\n@%p1 bra A;\nst.u32 [%rd3], %r1;", ""),
        ("setp.lt.u32 %p1, %r1, 9;\n@%p1 bra B;\nA: add.u32 %r1, %r1, 1;\nB: setp.lt.u32 %p2, %r1, 8;\n@%p2 bra A;",
         "a loop with several entries is not followed"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", "stmatrix.sync.aligned.m8n8.x1.shared.b16 is not followed"),
        ("cp.async.ca.shared.global [%r1], [%rd3], %r1;", "cp.async.ca.shared.global is not followed"),
        ("cp.async.mbarrier.arrive.shared.b64 [%r1];", "cp.async.mbarrier.arrive.shared.b64 is not followed"),
        ("ld.u64 %rd4, [%rd1];\nst.u32 [%rd4], %r1;", "to which array the address belongs is not known"),
        ("ld.u64 %rd4, [%rd3];\nadd.s64 %rd5, %rd4, %rd1;\nst.u32 [%rd5], %r1;",
         "to which array the address belongs is not known"),
        ("st.shared::cluster.u32 [%r1], 1;", "shared memory of other blocks is not followed"),
        ("setp.lt.u32 %p1, %r1, 9;\n@%p1 bar.sync 0;", "a barrier under a predicate is not followed"),
        ("bar.sync %r1;", "bar.sync of some threads is not followed"),
        ("bar.arrive 0, 64;", "bar.arrive of some threads is not followed"),
        ("bar.warp.sync -1;\nst.u32 [%rd3], %r1;", ""),
        ("st.global [%rd3], %r1;", "the address is not known"),
        (".local .align 4 .b8 own[64];\nmov.u64 %rd4, own;\ncvta.local.u64 %rd5, %rd4;\nst.u32 [%rd5], %r1;", ""),
        ("setp.ne.u64 %p1, %rd1, 0;\n@%p1 brx.idx %r1, T;\nret;\nA: bar.sync 0;\nB: st.u32 [%rd3], %r1;",
         "which barrier comes next depends on a table of branches"),
        ("ld.local.u32 %r2, [own];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra B;\nbar.sync 0;\nB: st.u32 [%rd3], 1;",
         "threads of a block may part before a barrier"),
        ("ld.global.nc.u32 %r2, [%rd3];\nst.u32 [%rd3], %r2;", "ld.global.nc reads an array that the kernel writes"),
        ("brx.idx %r1, T;\nA: bar.sync 0;\nB: st.u32 [%rd3], %r1;", "which barrier comes next depends on a table of branches"),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_said(body: str, reason: str) -> None:
    body = body if "brx" not in body else f"T: .branchtargets A, B;\n{body}"
    found = judged(body, before=".local .align 4 .b8 own[64];\n")
    assert isinstance(found, RaceFree) if not reason else isinstance(found, NotDecided) and found.reason == reason, found


OWN = ".local .align 4 .b8 own[64];\nmov.u64 %rd7, own;\ncvta.local.u64 %rd6, %rd7;\nst.u32 [%rd6], %r1;\n"
LESS = "sub.s32 %r3, %r1, %r2;\nmul.wide.s32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd1, %rd4;\nst.u32 [%rd5], 1;"
TILE = ".shared .align 4 .b8 s[4096];\nmov.u32 %r4, s;\n"


@pytest.mark.parametrize(
    "body",
    [
        f"{OWN}ld.local.u32 %r2, [own];\n{LESS}",
        f"{OWN}ld.u32 %r2, [%rd6];\n{LESS}",
        f"{TILE}mul.lo.u32 %r2, %r1, 0x20000000;\nsetp.gt.u32 %p1, %r2, 3;\n@%p1 ret;\nshl.b32 %r3, %r2, 2;\n"
        "add.u32 %r5, %r4, %r3;\nst.shared.u32 [%r5], 1;",
        "cvt.u64.u32 %rd5, %r1;\nshl.b64 %rd4, %rd5, 61;\nsetp.gt.u64 %p1, %rd4, 3;\n@%p1 ret;\nshl.b64 %rd6, %rd4, 2;\n"
        "add.s64 %rd7, %rd1, %rd6;\nst.u32 [%rd7], 1;",
        "shl.b32 %r2, %r1, 8;\ncvt.s64.s16 %rd4, %r2;\nadd.s64 %rd5, %rd1, %rd4;\nst.u8 [%rd5], 1;",
        ".shared .align 4 .b8 s[4];\nld.shared.u32 %r2, [s];\nmov.u32 %r3, %ctaid.x;\nsub.s32 %r4, %r3, %r2;\n"
        "mul.wide.s32 %rd4, %r4, 4;\nadd.s64 %rd5, %rd1, %rd4;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\n"
        "st.u32 [%rd5], 1;\nE:",
        "ld.global.nc.u32 %r2, [%rd3+4];\nst.u32 [%rd3], %r2;",
    ],
    ids=["local", "local by a generic address", "a word of 32 bits wraps", "a word of 64 bits wraps", "short",
         "shared memory of two blocks", "read-only"],
)  # fmt: skip
def test_threads_that_meet_in_spite_of_what_the_text_suggests(body: str) -> None:
    assert isinstance(judged(body), Meeting)


@pytest.mark.parametrize("extension", ["u32", "s32"])
def test_unsigned_sums_wrap_and_signed_ones_are_taken_not_to(extension: str) -> None:
    body = (
        "mov.u32 %r4, %ctaid.x;\nld.param.u32 %r5, [w];\nmad.lo.s32 %r2, %r4, %r5, %r1;\nsetp.gt.u32 %p1, %r1, 31;\n@%p1 bra E;\n"
        "setp.lt.s32 %p2, %r5, 32;\n@%p2 bra E;\nsetp.gt.u32 %p3, %r2, 999;\n@%p3 bra E;\n"
        f"mul.wide.{extension} %rd4, %r2, 4;\nadd.s64 %rd5, %rd1, %rd4;\nst.u32 [%rd5], 1;\nE:"
    )
    found = judged(body, ".param .u64 p, .param .u32 w")
    assert isinstance(found, RaceFree if extension == "s32" else Meeting)


def test_the_domain_says_how_parameters_are_read(program: Program) -> None:
    found = races(program, "axpy", assumptions("arg3 >= 1"))
    assert isinstance(found, RaceFree) and found.domain[:2] == ("arg3 >= 1", "parameters are read as signed numbers there")


def test_a_kernel_that_asks_for_its_lane_has_blocks_of_several_threads() -> None:
    ask = "mov.u32 %r2, %laneid;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.u32 [%rd3], 1;\nret;\n}\n"
    text = f"{HEADER}.visible .entry k(.param .u64 p) {{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\n{ask}"
    assert isinstance(races(lower(parse(text, "k.ptx")), "k"), Meeting)


def test_unsized_shared_arrays_begin_at_one_place() -> None:
    before = ".extern .shared .align 4 .b8 a[];\n.extern .shared .align 4 .b8 b[];\n"
    body = "mov.u32 %r2, a;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], 1;\n"
    assert isinstance(judged(body, before=before), RaceFree)
    found = judged(f"{body}ld.shared.u32 %r5, [b];", before=before)
    assert isinstance(found, NotDecided) and found.reason == "a and b are the same bytes of dynamic shared memory"


def test_what_is_read_from_an_array_that_is_not_known_is_in_the_domain() -> None:
    found = judged(
        "ld.global.nc.u64 %rd4, [%rd3];\nld.global.nc.u32 %r2, [%rd4];\n.shared .align 4 .b8 s[4];\nred.shared.add.u32 [s], %r2;"
    )
    assert isinstance(found, RaceFree) and "nobody writes what ld.global.nc reads from other arrays" in found.domain


def test_a_barrier_of_the_warp_orders_no_two_warps() -> None:
    text = (
        ".shared .align 4 .b8 s[4096];\nmov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r4, %r2, %r3;\nst.shared.u32 [%r4], 1;\n"
    )
    for barrier, verdict in (("bar.warp.sync -1", Meeting), ("bar.sync 0", RaceFree)):
        assert isinstance(judged(f"{text}{barrier};\nld.shared.u32 %r5, [s+64];"), verdict)


def test_generic_and_shared_addresses_of_one_variable_are_not_told_apart() -> None:
    text = ".shared .align 4 .b8 s[4096];\nmov.u64 %rd4, s;\ncvta.shared.u64 %rd5, %rd4;\nxor.b32 %r2, %r1, 1;\n"
    text += "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd7, %rd5, %rd6;\nst.u32 [%rd7], 1;\n"
    assert isinstance(judged(f"{text}st.shared.u32 [s], 1;"), Meeting)
    assert isinstance(judged(text), RaceFree)


def test_products_of_many_summands_are_left_open() -> None:
    short = collected([((Atom("a", 0),), 1)], 1)
    long = collected([((Atom(f"b{n}", 1),), n + 1) for n in range(50)])
    assert times(short, short) == collected([((Atom("a", 0), Atom("a", 0)), 1), ((Atom("a", 0),), 2)], 1)
    assert times(short, long) is None


def test_launches_that_are_tried_have_blocks_that_exist() -> None:
    found = judged(
        "mov.u32 %r2, %tid.y;\nmad.lo.u32 %r3, %r1, 32, %r2;\nmul.wide.u32 %rd4, %r3, 4;\n"
        "add.s64 %rd5, %rd1, %rd4;\nst.u32 [%rd5], 1;"
    )
    assert isinstance(found, Meeting) and found.launches
    assert all(np.prod(one.block) <= 1024 for one in found.launches)


def test_printing_writes_nothing_and_a_function_of_the_file_may() -> None:
    call = "{ .param .b64 a; .param .b64 b; .param .b32 r; call.uni (r), vprintf, (a, b); }\nst.u32 [%rd3], %r1;"
    assert isinstance(judged(call), RaceFree)
    other = ".visible .func vassert (.param .b64 a) { ret; }\n"
    found = judged("{ .param .b64 a; call.uni vassert, (a); }\nst.u32 [%rd3], %r1;", before=other)
    assert isinstance(found, NotDecided) and found.reason == "call.uni is not followed"


def test_products_of_the_grid_are_told_apart_only_up_to_2_31_threads(program: Program) -> None:
    """An unsigned index of more threads would wrap."""
    found = races(program, "unsigned_index")
    assert isinstance(found, RaceFree) and "fewer than 2^31 threads along each axis" in found.domain


@pytest.mark.skipif("not __import__('warploom.gpu').gpu.toolchain_available()", reason="needs the extra cuda")
def test_the_ptx_is_that_of_the_text(golden: Callable[[Path, str], None]) -> None:
    try:
        find_tool("nvcc")
    except UserError:
        return
    golden(PTX, portable(compile_file(str(CUDA), "sm_90")).partition("\t.section\t.debug")[0])
