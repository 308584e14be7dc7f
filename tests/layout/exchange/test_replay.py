"""The run of the printed text on symbols: right statements move bytes, everything else is a fault."""

import numpy as np
import pytest

from warploom.layout.exchange import FaultError, Replay

HEAD = "__device__ __forceinline__ void exchange(const unsigned (&in)[2], unsigned (&out)[2], unsigned* shared) {\n"


def run(*lines: str, threads: int = 32, words: int = 64) -> Replay:
    inputs = np.arange(threads * 8).reshape(threads, 2, 4)
    found = Replay(threads, inputs, words)
    found.run(HEAD + "    const unsigned lane = threadIdx.x & 31;\n" + "".join(f"    {line}\n" for line in lines) + "}\n")
    return found


def bytes_of(thread: int, word: int) -> list[int]:
    return list(range(thread * 8 + word * 4, thread * 8 + word * 4 + 4))


def test_statements_move_bytes() -> None:
    found = run(
        "const bool p0 = (lane & 1) != 0;",
        "const unsigned v1 = p0 ? in[0] : in[1];",
        "const unsigned v2 = __shfl_sync(0xffffffffu, v1, lane + 1);",
        "const unsigned u1 = (lane & 1) > 0 ? 12816 : 29984;",
        "const unsigned v3 = __byte_perm(v1, v2, u1);",
        "shared[lane] = v2;",
        "shared[lane + 32] = v3;",
        "__syncwarp();",
        "const unsigned v4 = shared[lane ^ 1];",
        "out[0] = v3;",
        "out[1] = v4;",
    )
    assert found.outputs[0][1].tolist() == bytes_of(1, 0)
    assert found.outputs[0][0].tolist() == [4, 6, 9, 11]
    assert found.outputs[1][2].tolist() == bytes_of(4, 1)
    assert (found.stores, found.loads, found.store_wavefronts, found.load_wavefronts) == (2, 1, 2, 1)


def test_wide_accesses() -> None:
    found = run(
        "*reinterpret_cast<uint2*>(&shared[lane * 2]) = make_uint2(in[0], in[1]);",
        "__syncwarp();",
        "const uint2 v1_2 = *reinterpret_cast<const uint2*>(&shared[62 - lane * 2]);",
        "const unsigned v1 = v1_2.x;",
        "const unsigned v2 = v1_2.y;",
        "out[0] = v2;",
    )
    assert found.outputs[0][3].tolist() == bytes_of(28, 1)
    assert found.store_wavefronts == found.load_wavefronts == 2


STORED = 'asm volatile("stmatrix.sync.aligned.m8n8.x2{} [%0], {{%1, %2}};" :: "r"({}), "r"(in[0]), "r"(in[1]) : "memory");'
LOADED = 'unsigned v1; asm volatile("ldmatrix.sync.aligned.m8n8.x1{} {{%0}}, [%1];" : "=r"(v1) : "r"({}) : "memory");'
AT = "(unsigned)__cvta_generic_to_shared(&shared[{}])"


def test_rows_of_matrices() -> None:
    """Row 1 of the second matrix is in[1] of lanes 4 to 7; transposed, the second halves of lanes 0, 4, 8, ..."""
    for turned in ("", ".trans"):
        found = run(
            STORED.format(turned + ".shared.b16", AT.format("(lane & 15) * 4")),
            "__syncwarp();",
            "const unsigned v1 = shared[36 + (lane & 3)];",
            "out[0] = v1;",
        )
        first = [*bytes_of(0, 1)[2:], *bytes_of(4, 1)[2:]] if turned else bytes_of(4, 1)
        assert found.outputs[0][0].tolist() == first and (found.stores, found.store_wavefronts) == (1, 2)
        found = run(
            "*reinterpret_cast<uint2*>(&shared[lane * 2]) = make_uint2(in[0], in[1]);",
            "__syncwarp();",
            LOADED.format(turned + ".shared.b16", AT.format("(lane & 7) * 4")),
            "out[0] = v1;",
        )
        first = [*bytes_of(0, 0)[:2], *bytes_of(2, 0)[:2]] if turned else bytes_of(0, 0)
        assert found.outputs[0][0].tolist() == first and (found.loads, found.load_wavefronts) == (1, 1)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((STORED.format(".shared.b16", AT.format("lane * 2")),), "aligned to 4"),
        ((STORED.format(".shared.b16", AT.format("(lane & 7) * 4")),), "written twice"),
        ((STORED.format(".shared.b16", AT.format("(lane & 15) * 8")),), "below 64"),
        ((STORED.format(".shared.b16", AT.format("(lane & 15) * 4")).replace("%1, %2", "%2, %1"),), "2 words were expected"),
        ((STORED.format(".shared.b16", AT.format("(lane & 15) * 4")).replace(', "r"(in[1])', ""),), "2 words were expected"),
        ((LOADED.format(".shared.b16", AT.format("lane * 4")).replace("[%1]", "[%2]"),), "1 words were expected"),
        ((LOADED.format(".shared.b16", AT.format("lane * 4")).replace("unsigned v1;", "unsigned v2;"),), "1 words were expected"),
        (
            (
                "shared[lane] = in[0];",
                LOADED.format(".shared.b16", AT.format("(lane & 7) * 4")),
            ),
            "before the threads meet",
        ),
        (("asm(\"\");",), "no exchange has"),
        (("out[0] = v9;",), "no word v9"),
        (("out[0] = in[2];",), "no word"),
        (("const unsigned v1 = p7 ? in[0] : in[1];",), "no condition"),
        (("const unsigned v1 = __byte_perm(in[0], in[1], 34952);",), "repeats a sign"),
        (("const unsigned v1 = __byte_perm(in[0], in[1], 65536 + lane);",), "too large"),
        (("shared[lane >> 1] = in[0];",), "written twice"),
        (("shared[lane] = in[0];", "shared[lane + 31] = in[1];"), "written twice"),
        (("shared[lane] = in[0];", "const unsigned v1 = shared[lane];"), "read before"),
        (("const unsigned v1 = shared[lane];", "shared[lane] = in[0];"), "read by others"),
        (("shared[lane + 40] = in[0];",), "not below 64"),
        (("*reinterpret_cast<uint2*>(&shared[lane + 1]) = make_uint2(in[0], in[1]);",), "not aligned"),
        (("*reinterpret_cast<uint2*>(&shared[lane * 2]) = make_uint2(in[0]);",), "2 words"),
        (("const unsigned u1 = lane / 2;",), "no index has"),
        (("const unsigned u1 = lane % 0;",), "no index has"),
        (("const unsigned u1 = lane << 32;",), "no index has"),
        (("const unsigned u1 = lane +;",), "no index"),
        (("const unsigned u1 = f(lane);",), "no index"),
        (("const unsigned v1 = v3_4.x;",), "no x in v3_4"),
    ],
)  # fmt: skip
def test_faults(lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(FaultError, match=said):
        run(*lines)


def test_warps_do_not_meet_in_one_warp() -> None:
    with pytest.raises(FaultError, match="several warps"):
        run("__syncwarp();", threads=64)
    with pytest.raises(FaultError, match="device function"):
        Replay(32, np.zeros((32, 1, 4), dtype=np.int64), 0).run("int x;\n}")


def test_what_an_absent_lane_holds_is_not_defined() -> None:
    found = run("const unsigned v1 = __shfl_sync(0xffffffffu, in[0], lane + 2);", "out[0] = v1;", threads=6)
    assert found.outputs[0][4].tolist() == [-1] * 4 and found.outputs[0][0].tolist() == bytes_of(2, 0)


def merged(pieces: int, *lines: str) -> Replay:
    found = Replay(4, np.arange(4 * 2 * pieces).reshape(4, 2, pieces), 0)
    found.run(HEAD + "    const unsigned lane = threadIdx.x & 3;\n" + "".join(f"    {line}\n" for line in lines) + "}\n")
    return found


def test_masks_join_halves_of_bytes() -> None:
    found = merged(
        8,
        "const unsigned u1 = (lane & 1) > 0 ? ~252645135 : 0;",
        "const unsigned v1 = (in[0] & ~u1) | ((in[1] << 4) & u1);",
        "out[0] = v1;",
        "const unsigned v2 = (in[0] & ~252645135) | ((in[1] >> 4) & 252645135);",
        "out[1] = v2;",
    )
    assert found.outputs[0][0].tolist() == list(range(8))
    assert found.outputs[0][1].tolist() == [16, 24, 18, 26, 20, 28, 22, 30]
    assert found.outputs[1][0].tolist() == [9, 1, 11, 3, 13, 5, 15, 7]


@pytest.mark.parametrize(
    ("pieces", "line", "said"),
    [
        (8, "const unsigned v1 = (in[0] & 255) | (in[1] & ~254);", "not all bits together"),
        (8, "const unsigned v1 = (in[0] & ~7) | (in[1] & 7);", "cut a piece"),
        (4, "const unsigned v1 = (in[0] & ~15) | (in[1] & 15);", "cut a piece"),
        (4, "const unsigned v1 = (in[0] & ~255) | ((in[1] >> 4) & 255);", "a part of a piece"),
    ],
)
def test_masks_that_no_exchange_has(pieces: int, line: str, said: str) -> None:
    with pytest.raises(FaultError, match=said):
        merged(pieces, line)


MOVMATRIX = 'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"'


def test_matrices_are_transposed() -> None:
    found = run(f'unsigned v1; {MOVMATRIX} : "=r"(v1) : "r"(in[0]));', "out[0] = v1;")
    for thread, (one, two) in ((0, (0, 4)), (1, (8, 12)), (4, (0, 4)), (31, (27, 31))):
        halves = [bytes_of(lane, 0)[thread // 4 % 2 * 2 :][:2] for lane in (one, two)]
        assert found.outputs[0][thread].tolist() == [*halves[0], *halves[1]], thread


@pytest.mark.parametrize(("threads", "result"), [(16, "v1"), (32, "v2")])
def test_matrices_that_no_warp_transposes(threads: int, result: str) -> None:
    with pytest.raises(FaultError, match="no whole warps"):
        run(f'unsigned v1; {MOVMATRIX} : "=r"({result}) : "r"(in[0]));', threads=threads)
