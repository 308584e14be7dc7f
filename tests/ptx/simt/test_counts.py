"""Counted events against numbers worked out by hand."""

import numpy as np
import pytest

from warploom.ptx import Counts, launch
from warploom.ptx.simt import LineCounts

from .written import kernel


def counts(body: str, *, grid: int = 1, block: int = 32, words: int = 4096) -> Counts:
    ran = launch(kernel(body), grid=grid, block=block, args=[np.zeros(words, np.uint32)], counts=True, checks=False)
    assert ran.status == "finished"
    assert ran.counts is not None
    return ran.counts


def strided(stride_bytes: int, instruction: str) -> str:
    return f"mul.wide.u32 %rd5, %r1, {stride_bytes};\nadd.s64 %rd6, %rd1, %rd5;\n{instruction}"


class TestSectors:
    @pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (4, 4), (8, 8), (32, 32), (128, 32)])
    def test_stride(self, stride: int, sectors: int) -> None:
        counted = counts(strided(stride, "ld.global.u32 %r5, [%rd6];"))
        assert (counted.global_load_requests, counted.global_load_sectors) == (1, sectors)

    def test_offset_by_a_word(self) -> None:
        assert counts(strided(4, "ld.global.u32 %r5, [%rd6+4];")).global_load_sectors == 5

    def test_vectors(self) -> None:
        counted = counts(strided(16, "st.global.v4.u32 [%rd6], {%r1, %r1, %r1, %r1};"))
        assert (counted.global_store_requests, counted.global_store_sectors) == (1, 16)

    def test_bytes(self) -> None:
        assert counts(strided(1, "ld.global.u8 %r5, [%rd6];")).global_load_sectors == 1

    def test_backwards(self) -> None:
        assert (
            counts(
                "sub.u32 %r9, 31, %r1;\n" + strided(4, "").replace("%r1", "%r9") + "ld.global.u32 %r5, [%rd6];"
            ).global_load_sectors
            == 4
        )

    def test_atomics_and_warps(self) -> None:
        counted = counts("red.global.add.u32 [%rd3], 1;", grid=3, block=64)
        assert (counted.global_atomic_requests, counted.global_atomic_sectors) == (6, 24)

    def test_half_a_warp(self) -> None:
        body = "setp.ge.u32 %p1, %r1, 16;\n@%p1 ret;\n" + strided(4, "ld.global.u32 %r5, [%rd6];")
        assert counts(body).global_load_sectors == 2

    def test_guarded(self) -> None:
        counted = counts("setp.lt.u32 %p1, %r1, 8;\n" + strided(4, "@%p1 ld.global.u32 %r5, [%rd6];"))
        assert (counted.global_load_requests, counted.global_load_sectors) == (1, 1)


class TestWavefronts:
    DECLARED = ".shared .align 16 .b8 tile[8192];\nmov.u64 %rd7, tile;\n"

    @pytest.mark.parametrize(("stride", "ways"), [(0, 1), (4, 1), (8, 2), (16, 4), (128, 32), (132, 1), (12, 1)])
    def test_words(self, stride: int, ways: int) -> None:
        body = f"{self.DECLARED}mul.wide.u32 %rd5, %r1, {stride};\nadd.s64 %rd6, %rd7, %rd5;\nld.shared.u32 %r5, [%rd6];"
        counted = counts(body)
        assert (counted.shared_load_requests, counted.shared_load_wavefronts) == (1, ways)

    @pytest.mark.parametrize(
        ("type_name", "width", "wavefronts"), [("v2.u32", 8, 2), ("v4.u32", 16, 4), ("u8", 1, 1), ("u16", 2, 1)]
    )
    def test_widths(self, type_name: str, width: int, wavefronts: int) -> None:
        target = {"v2.u32": "{%r5, %r6}", "v4.u32": "{%r5, %r6, %r7, %r8}"}.get(type_name, "%r5")
        body = (
            f"{self.DECLARED}mul.wide.u32 %rd5, %r1, {width};\nadd.s64 %rd6, %rd7, %rd5;\nld.shared.{type_name} {target}, [%rd6];"
        )
        assert counts(body).shared_load_wavefronts == wavefronts

    @pytest.mark.parametrize(("type_name", "target"), [("v2.u32", "{%r5, %r6}"), ("v4.u32", "{%r5, %r6, %r7, %r8}")])
    def test_a_wide_broadcast_takes_half_the_passes(self, type_name: str, target: str) -> None:
        passes = 1 if "v2" in type_name else 2
        assert counts(f"{self.DECLARED}ld.shared.{type_name} {target}, [%rd7];").shared_load_wavefronts == passes
        other = f"{self.DECLARED}and.b32 %r9, %r1, 16;\ncvt.u64.u32 %rd5, %r9;\nadd.s64 %rd6, %rd7, %rd5;\n"
        assert counts(f"{other}ld.shared.{type_name} {target}, [%rd6];").shared_load_wavefronts == passes
        each = other.replace("and.b32 %r9, %r1, 16", "shl.b32 %r9, %r1, 4")
        assert counts(f"{each}ld.shared.{type_name} {target}, [%rd6];").shared_load_wavefronts == 4

    def test_accesses_that_the_machine_merges(self) -> None:
        """Lane i reads words 4 i + 1 and 4 i + 2; merged, the first line reads the four words at 4 i."""
        address = f"{self.DECLARED}mul.wide.u32 %rd5, %r1, 16;\nadd.s64 %rd6, %rd7, %rd5;\n"
        text = kernel(f"{address}ld.shared.u32 %r5, [%rd6+4];\nld.shared.u32 %r6, [%rd6+8];")
        first, second = (n for n, line in enumerate(text.splitlines(), 1) if "ld.shared" in line)
        for merged, requests, wavefronts in (({}, 2, 8), ({first: 16, second: 0}, 1, 4)):
            ran = launch(text, grid=1, block=32, args=[np.zeros(32, np.uint32)], counts=True, merged=merged, checks=False)
            assert ran.counts is not None
            assert (ran.counts.shared_load_requests, ran.counts.shared_load_wavefronts) == (requests, wavefronts)


class TestInstructions:
    def test_of_warps_and_threads(self) -> None:
        counted = counts("add.u32 %r5, %r1, 1;\nshfl.sync.idx.b32 %r6, %r5, 0, 31, -1;\nbar.sync 0;", grid=2, block=64)
        assert counted.warp_instructions["shuffle"] == counted.shuffles == 4
        assert counted.barriers == 4
        assert counted.thread_instructions["barrier"] == 128
        assert counted.warp_instructions["control"] == 4

    def test_divergence(self) -> None:
        body = "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra A;\nadd.u32 %r5, %r1, 1;\nA: add.u32 %r6, %r1, 2;\n"
        counted = counts(body, block=96)
        assert counted.divergent_branches == 1
        assert counted.warp_instructions["control"] == 6

    def test_by_line(self) -> None:
        text = kernel("ld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd3], %r5;")
        ran = launch(text, grid=1, block=64, args=[np.zeros(64, np.uint32)], counts=True)
        assert ran.counts is not None
        line = next(n for n, row in enumerate(text.splitlines(), 1) if "ld.global" in row)
        found = ran.counts.by_line[line]
        assert (found.warps, found.threads, found.requests, found.sectors) == (2, 64, 2, 8)

    @pytest.mark.parametrize(("stride", "sectors", "least"), [(0, 1, 1), (4, 4, 4), (8, 8, 4), (128, 32, 4)])
    def test_sectors_that_would_do(self, stride: int, sectors: int, least: int) -> None:
        line = self.line_of(strided(stride, "ld.global.u32 %r5, [%rd6];"), "ld.global")
        assert (line.sectors, line.least_sectors, line.worst) == (sectors, least, None)

    @pytest.mark.parametrize(
        ("stride", "wavefronts", "least", "lanes"),
        [
            (0, 1, 1, None),
            (4, 1, 1, None),
            (8, 2, 1, (0, 16)),
            (64, 16, 1, tuple(range(0, 32, 2))),
            (128, 32, 1, tuple(range(32))),
        ],
    )
    def test_wavefronts_that_would_do(self, stride: int, wavefronts: int, least: int, lanes: tuple[int, ...] | None) -> None:
        shared = f".shared .align 16 .b8 tile[8192];\nmov.u64 %rd7, tile;\nmul.wide.u32 %rd5, %r1, {stride};\n"
        line = self.line_of(f"{shared}add.s64 %rd6, %rd7, %rd5;\nst.shared.u32 [%rd6], %r1;", "st.shared")
        assert (line.wavefronts, line.least_wavefronts) == (wavefronts, least)
        if lanes is None:
            assert line.worst is None
            return
        assert line.worst is not None
        assert (line.worst.wavefronts, line.worst.bank, line.worst.lanes) == (wavefronts, 0, lanes)
        assert (line.worst.block, line.worst.thread) == ((0, 0, 0), (0, 0, 0))

    def line_of(self, body: str, instruction: str) -> LineCounts:
        text = kernel(body)
        found = launch(text, grid=1, block=32, args=[np.zeros(4096, np.uint32)], counts=True, checks=False).counts
        assert found is not None
        return found.by_line[next(n for n, row in enumerate(text.splitlines(), 1) if instruction in row)]

    def test_totals_are_numbers(self) -> None:
        counted = counts("add.u32 %r5, %r1, 1;")
        assert counted.totals()["instructions"] == counted.instructions == 9
        assert counted.global_sectors == counted.shared_wavefronts == 0

    def test_only_when_asked_for(self) -> None:
        assert launch(kernel(""), grid=1, block=1, args=[np.zeros(1, np.uint32)]).counts is None
