"""cp.async and ldmatrix in proofs: what is copied, when it is there, who touches it meanwhile."""

import pytest
from tests.async_programs import DOUBLE, FILL_MISTAKES, FILLED, MISTAKES, double, neighbours
from tests.synth.compiled.programs import body, proved
from tests.synth.kernels import parse, sketch_of

from warploom.core import UnsupportedError, u16, u32
from warploom.gpu import toolchain_available
from warploom.synth.compiled import Argument, ArrayArgument
from warploom.synth.compiled.completed import prove_compiled

TILE = ".shared .align 16 .b8 tile[1024];"
START = "\tshl.b32 %r3, %r1, 2;\n\tmov.u32 %r4, tile;\n\tadd.s32 %r5, %r4, %r3;\n"
COPY = "\tcp.async.ca.shared.global [%r5], [%rd2], 4;\n"
COMMIT, WAIT = "\tcp.async.commit_group;\n", "\tcp.async.wait_group 0;\n"
BACK = "\tld.shared.u32 %r7, [%r5];\n\tst.global.u32 [%rd1], %r7;\n"


def words(count: int) -> tuple[Argument, ...]:
    return ArrayArgument("out", u32, (count,)), ArrayArgument("a", u32, (count,))


def verdict(lines: str, threads: int = 32, wanted=lambda a, i: a[i]) -> tuple[str, str]:
    def spec(out, a):
        for i in range(threads):
            out[i] = wanted(a, i)

    proof = proved(body(START + lines, declarations=TILE), spec, words(threads), 1, threads)
    return proof.verdict, proof.fault.kind if proof.fault else ("different" if proof.difference else "")


def test_a_copy_that_was_waited_for_is_there() -> None:
    assert verdict(COPY + COMMIT + WAIT + BACK) == ("proved", "")
    assert verdict(COPY + "\tcp.async.wait_all;\n" + BACK) == ("proved", "")


@pytest.mark.parametrize(
    "between", ["", COMMIT, WAIT, COMMIT + "\tcp.async.wait_group 1;\n", COMMIT + COMMIT + "\tcp.async.wait_group 2;\n"]
)
def test_a_copy_that_nobody_waited_for_is_undefined(between: str) -> None:
    assert verdict(COPY + between + BACK)[0] == "refuted"


def test_other_threads_need_a_barrier_besides() -> None:
    far = BACK.replace("[%r5]", "[%r6]").replace("\tld", "\txor.b32 %r6, %r5, 4;\n\tld", 1)
    ready = COPY + COMMIT + WAIT

    def swapped(a, i):
        return a[i ^ 1]

    assert verdict(ready + "\tbar.sync 0;\n" + far, wanted=swapped) == ("proved", "")
    assert verdict(ready + far, wanted=swapped) == ("refuted", "race")
    assert verdict(COPY + COMMIT + "\tbar.sync 0;\n" + WAIT + far, wanted=swapped) == ("refuted", "race")


def test_a_source_that_changes_and_a_target_that_is_stored_to() -> None:
    assert verdict(COPY + COMMIT + "\tst.global.u32 [%rd2], 5;\n" + WAIT + BACK) == ("refuted", "race")
    assert verdict(COPY + COMMIT + "\tst.shared.u32 [%r5], 5;\n" + WAIT + BACK) == ("refuted", "undefined value")


def test_zeros_fill_what_is_not_read() -> None:
    limit = "\tsetp.lt.u32 %p1, %r1, 8;\n\tselp.b32 %r9, 4, 0, %p1;\n"

    def first(a, i):
        return a[i] if i < 8 else 0

    copy = COPY.replace("4;", "4, %r9;")
    assert verdict(limit + copy + COMMIT + WAIT + BACK, wanted=first) == ("proved", "")
    assert verdict(limit + copy + COMMIT + WAIT + BACK) == ("refuted", "different")
    flag = "\tsetp.ge.u32 %p1, %r1, 8;\n" + COPY.replace("4;", "4, %p1;")
    assert verdict(flag + COMMIT + WAIT + BACK, wanted=first) == ("proved", "")
    flag = "\tsetp.lt.u32 %p1, %r1, 8;\n" + COPY.replace("4;", "4, !%p1;")
    assert verdict(flag + COMMIT + WAIT + BACK, wanted=first) == ("proved", "")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[%rd2], 4", "[%rd2], 8", "misaligned"),
        ("[%rd2], 4", "[%rd2+4], 4", "out of bounds"),
        ("[%r5]", "[%r5+1024]", "out of bounds"),
    ],
)
def test_places_of_copies(old: str, new: str, fault: str) -> None:
    assert verdict(COPY.replace(old, new) + COMMIT + WAIT + BACK) == ("refuted", fault)


@pytest.mark.parametrize(
    "copy",
    [
        COPY.replace("4;", "4, %r8;"),
        COPY.replace("4;", "4, 3;"),
        COPY.replace("4;", "2;"),
        "\tcp.async.mbarrier.arrive.shared.b64 [%r5];\n",
    ],
)
def test_copies_that_are_not_followed(copy: str) -> None:
    with pytest.raises(UnsupportedError):
        verdict("\tld.global.u32 %r8, [%rd2];\n" + copy)


MATRIX = (
    "\tld.global.u32 %r2, [%rd2];\n\tst.shared.u32 [%r5], %r2;\n\tbar.sync 0;\n\tand.b32 %r8, %r1, 7;\n\tshl.b32 %r8, %r8, 4;\n"
)
MATRIX += "\tadd.s32 %r8, %r4, %r8;\n\tldmatrix.sync.aligned.m8n8.x1{t}.shared.b16 {%r7}, [%r8];\n\tst.global.u32 [%rd1], %r7;\n"


def test_a_matrix_load_gives_each_lane_a_word_of_a_row() -> None:
    assert verdict(MATRIX.replace("{t}", "")) == ("proved", "")
    assert verdict(MATRIX.replace("{t}", "").replace("\tbar.sync 0;\n", "")) == ("refuted", "race")


def test_a_matrix_load_without_a_space_takes_a_generic_address() -> None:
    generic = "\tcvt.u64.u32 %rd9, %r8;\n\tcvta.shared.u64 %rd9, %rd9;\n\tldmatrix"
    lines = MATRIX.replace("{t}.shared", "").replace("[%r8];", "[%rd9];").replace("\tldmatrix", generic)
    assert verdict(lines) == ("proved", "")
    assert verdict(lines.replace("[%rd9];", "[%r8];"))[0] == "refuted"


def test_a_turned_matrix_load_gives_halves_of_a_column() -> None:
    def turned(out, a):
        for i in range(32):
            for k in range(2):
                out[2 * i + k] = a[8 * (2 * (i % 4) + k) + i // 4]

    def straight(out, a):
        for i in range(64):
            out[i] = a[i]

    arguments = (ArrayArgument("out", u16, (64,)), ArrayArgument("a", u16, (64,)))
    for modifier, spec in ((".trans", turned), ("", straight)):
        text = body(START + MATRIX.replace("{t}", modifier), declarations=TILE)
        assert proved(text, spec, arguments, 1, 32).verdict == "proved"
        other = straight if spec is turned else turned
        assert proved(text, other, arguments, 1, 32).verdict == "refuted"


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC")
@pytest.mark.parametrize(
    ("mistake", "verdict"), [("", "proved"), ("a wait that leaves one group too many", "refuted"), ("one buffer", "refuted")]
)
def test_double_buffers_of_sketches_as_compiled(mistake: str, verdict: str) -> None:
    kernel = parse(DOUBLE, *([MISTAKES[mistake][:2]] if mistake else []))
    assert prove_compiled(sketch_of(kernel, double, {"n": 2}), {}, instances=({"n": 2},)).verdict == verdict


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC")
@pytest.mark.parametrize("mistake", ["", "zeros for the last element", "no wait", "no barrier", "no zeros where nobody copies"])
def test_zeros_of_sketches_as_compiled(mistake: str) -> None:
    kernel = parse(FILLED, *([FILL_MISTAKES[mistake]] if mistake else []))
    found = prove_compiled(sketch_of(kernel, neighbours, {"n": 6}), {}, instances=({"n": 6}, {"n": 8}))
    assert found.verdict == ("refuted" if mistake else "proved")
