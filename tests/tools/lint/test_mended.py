"""The map that ends a bank conflict: evaluated here, with banks counted anew."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from warploom.ptx import Counts, Program, launch, lower, parse
from warploom.ptx.simt import LineCounts
from warploom.tools.lint.mended import mended

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{{
.reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 16 .b8 s[{size}];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, s;
mad.lo.u32 %r4, %r2, {rows}, %r1;
shl.b32 %r5, %r4, 2; add.u32 %r6, %r5, %r3;
st.shared.u32 [%r6], %r1;
bar.sync 0;
mad.lo.u32 %r7, %r1, {stride}, %r2; {more}
shl.b32 %r8, %r7, 2; add.u32 %r9, %r8, %r3;
ld.shared.u32 %r10, [%r9];
mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r10;
ret;
}}
"""


def conflicting(rows: int, stride: int, size: int, block: tuple[int, int], more: str = "") -> tuple[Program, int, Counts]:
    program = lower(parse(HEAD.format(rows=rows, stride=stride, size=size, more=more)))
    counts = launch(program, grid=1, block=block, args=[np.zeros(block[0] * block[1], np.int32)], counts=True).counts
    assert counts is not None
    (line,) = (n for n, counted in counts.by_line.items() if counted.worst is not None)
    return program, line, counts


def fix(program: Program, line: int, counts: Counts) -> str:
    worst = counts.by_line[line].worst
    assert worst is not None
    return mended(line, worst, counts, program, "k")


def ways(line: LineCounts, place: dict[int, int]) -> int:
    """The most different words of one bank, of the line's requests, when element n lies at place[n]."""
    most = 0
    for request in line.shared:
        words = {place[byte // 4] for byte in request.places if byte >= 0}
        most = max(most, *(sum(word % 32 == bank for word in words) for bank in range(32)))
    return most


@pytest.mark.parametrize(("rows", "stride", "block"), [(32, 32, (32, 8)), (32, 16, (32, 8)), (32, 8, (32, 4))])
def test_the_map_that_is_printed_has_no_conflict(rows: int, stride: int, block: tuple[int, int]) -> None:
    size = 4 * 32 * max(rows, stride)
    program, line, counts = conflicting(rows, stride, size, block)
    told = fix(program, line, counts)
    match = re.search(r"Index s of (\d+) x (\d+) as (.*?) \(r: row", told)
    assert match is not None, told
    height, width, text = int(match[1]), int(match[2]), match[3]
    assert height * width * 4 == size
    place = {r * width + c: eval(text, {"r": r, "c": c}) for r in range(height) for c in range(width)}
    assert sorted(place.values()) == list(range(height * width))
    shared = [counted for counted in counts.by_line.values() if counted.shared]
    assert len(shared) == 2 and max(ways(counted, {n: n for n in place}) for counted in shared) > 1
    assert [ways(counted, place) for counted in shared] == [1, 1]
    pitch = re.search(r"pad its rows to (\d+)", told)
    if pitch is not None:
        padded = {r * width + c: r * int(pitch[1]) + c for r in range(height) for c in range(width)}
        assert [ways(counted, padded) for counted in shared] == [1, 1]


def test_nothing_is_said_where_no_map_serves_all_requests_or_the_array_has_no_rows() -> None:
    assert fix(*conflicting(32, 32, 4 * 32 * 32 + 4, (32, 8))) == ""  # no whole number of rows
    assert "64 different" in fix(*conflicting(32, 32, 4 * 32 * 32, (32, 32)))


def test_the_finding_has_it_as_its_fix() -> None:
    from click.testing import CliRunner
    from tests.tools.contract import lines_of

    from warploom.tools.cli import cli

    ptx = Path(__file__).parent / "kernels.ptx"
    launch_of = ["--kernel", "unpadded", "--launch", "1", "32,32", "--arg", "zeros:f32:1024", "--arg", "zeros:f32:1024"]
    result = CliRunner().invoke(cli, ["lint", str(ptx), *launch_of, "--json"])
    (told,) = (line for line in lines_of(result.stdout) if line.get("rule") == "bank-conflict")
    assert told["fix"].startswith("Index tile of 32 x 32 as r * 32 + (c ^ r) ")
