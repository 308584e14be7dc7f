"""Everything that a proof of PTX does not follow is refused by its own check, and what is said names it."""

import pytest
from tests.synth.compiled.programs import body, proved

from warploom.core import UnsupportedError, UserError, f32, i64, u32
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, ScalarArgument, prove_launch, run_plain_spec

TILE = ".shared .align 16 .b8 tile[1024];"
DATA = "\tld.global.u32 %r2, [%rd2];\n\tsetp.lt.s32 %p1, %r2, 0;\n\tld.global.f32 %f1, [%rd2];\n"


def nothing(out, a):
    pass


def run(lines: str, threads: int = 32, kind=u32):
    arguments = (ArrayArgument("out", kind, (threads,)), ArrayArgument("a", kind, (threads,)))
    return proved(body(lines, declarations=TILE), nothing, arguments, 1, threads)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("add.f16x2 %r3, %r2, %r2;", "type .f16x2"),
        ("mov.f64 %d1, 0d7FE0000000000000;\n\tcvt.rn.f32.f64 %f2, %d1;", "a number beyond f32"),
        ("shl.b32 %r3, %r1, %r2;", "a shift by data"),
        ("mov.f32 %f2, 0f3F800000;\n\tcvt.rzi.s32.f32 %r3, %f2;", "known float made an integer"),
        ("bfe.s32 %r3, %r2, 40, 4;", "bfe.s of data"),
        ("prmt.b32 %r3, %r2, %r2, 0x8888;", "prmt that copies the sign"),
        ("prmt.b32.f4e %r3, %r2, %r2, 0;", "prmt.b32.f4e"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r3, %r4}, [%r1];", "ldmatrix"),
        ("shfl.down.b32 %r3, %r2, 1, 31;", "shfl.sync with a mask"),
        ("shfl.sync.foo.b32 %r3, %r2, 1, 31, -1;", "shfl.sync.idx, up, down or bfly"),
        ("vote.all.pred %p2, %p3;", "vote.sync with a mask"),
        ("vote.sync.foo.pred %p2, %p3, -1;", "vote.sync.all, any, uni or ballot"),
        ("redux.sync.add.f32 %f2, %f1, -1;", "redux.sync of integers"),
        ("barrier.cluster.sync;", "bar.sync, bar.arrive or barrier.sync"),
        ("bar.arrive 1;", "bar.sync, bar.arrive or barrier.sync"),
        ("bar.sync 1, 64, 1;", "bar.sync, bar.arrive or barrier.sync"),
        ("shfl.sync.idx.b32 %r3, %r2, %r2, 31, -1;", "mask or barrier number without data"),
        ("add.cc.u32 %r3, %r2, 1;", "add.cc.u32"),
        ("add.sat.s32 %r3, %r2, 1;", "add.sat.s32"),
        ("fma.rn.relu.f32 %f2, %f1, %f1, %f1;", "fma.rn.relu.f32"),
        ("min.relu.s32 %r3, %r2, 1;", "min.relu.s32"),
        ("min.f32 %f2, %f1, %f1, %f1;", "min.f32 of three"),
        ("max.NaN.f32 %f2, %f1, %f1, %f1;", "max.NaN.f32 of three"),
        ("max.NaN.xorsign.abs.f32 %f2, %f1, %f1;", "max.NaN.xorsign.abs.f32"),
        ("cvt.rn.f16.f32 %h1, %f1;\n\tmin.NaN.f16 %h1, %h1, %h1;", "min.NaN.f16"),
        ("cvt.u16.u32 %h1, %r2;\n\tadd.f32.bf16 %f2, %h1, %f1;", "add.f32.bf16"),
        ("mov.f32 %f2, 0f7FC00000;\n\tcvt.f64.f32 %d1, %f2;", "a conversion of NaN"),
        ("mov.f32 %f2, 0f7FC00000;\n\tmin.f32 %f3, %f2, %f2;", "min of two NaN"),
        ("copysign.f32 %f2, %f1, %f1;", "copysign"),
        ("vabsdiff.u32.u32.u32 %r3, %r2, %r2;", "vabsdiff"),
        ("cvt.sat.u8.s32 %r3, %r2;", "cvt.sat.u8.s32"),
        ("lop3.b32 %r3, %r2, %r2, %r2, %r1;", "lop3 without a constant table"),
        ("setp.lt.u32 %p2, %r1, 5;\n\t@%p2 bar.sync 0;", "barrier without a guard"),
        ("add.s32 %r3|%p2, %r2, %r2;", "two results"),
        ("ts: .branchtargets $a, $b;\n\tmov.u32 %r3, 5;\n\tbrx.idx %r3, ts;\n$a:\n$b:", "branch index of 0 to 1"),
        ("mov.u64 %rd9, out;", "register or a variable in memory"),
        ("mov.u32 %r3, %clock;", "special register"),
        ("ld.global.u32 %r3, %rd2;", "an address"),
        ("add.s32 %r3, {%r1, %r2}, 1;", "register or a number"),
        ("add.s32 %r3, %p1, 1;", "register that holds numbers"),
        ("add.s32 5, %r2, 1;", "register to write"),
        ("@%p1 add.s32 %r3, %r2, 1;", "control that does not depend on data"),
        ("ld.param.u64 %rd9, [%rd9];", "parameter of the kernel"),
        ("ld.param.u64 %rd9, [in+8];", "a load inside in"),
        ("atom.global.cas.b32 %r3, [%rd1], %r2, %r2;", "add, min, max, and, or, xor on memory"),
        ("ld.volatile.global.u32 %r3, [%rd2];", "a plain access"),
        ("ld.relaxed.gpu.global.u32 %r3, [%rd2];", "a plain access"),
    ],
)
def test_what_is_not_followed(code: str, told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        run(DATA + f"\t{code}\n")


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("@%p5 bra $on;\n$on:", "undefined value"),
        ("shfl.sync.idx.b32 %r3, %r1, %r9, 31, -1;", "undefined value"),
        ("setp.lt.u32 %p2, %r1, 16;\n\t@%p2 bra $a;\n\tbar.sync 1, 64;\n\tbra $b;\n$a:\n\tbar.sync 1, 32;\n$b:", "barrier"),
        ("bar.arrive 1, 64;\n\tbar.arrive 1, 64;", "barrier"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r9];", "undefined value"),
    ],
)
def test_faults_that_have_no_other_test(code: str, fault: str) -> None:
    found = run(f"\t{code}\n").fault
    assert found is not None and found.kind == fault


def test_a_matrix_load_needs_its_rows() -> None:
    lines = "\tshl.b32 %r3, %r1, 4;\n\tmov.u32 %r4, tile;\n\tadd.s32 %r4, %r4, %r3;\n"
    lines += "\tldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r5, %r6}, [%r4];\n"
    found = run("\tst.shared.v2.u64 [tile], {0, 0};\n\tbar.sync 0;\n" + lines, threads=1).fault
    assert found is not None and "lane 8 is missing" in found.message


def test_a_misaligned_source_of_a_partial_copy() -> None:
    lines = "\tmov.u32 %r4, tile;\n\tcp.async.cg.shared.global [%r4], [%rd2+4], 16, 4;\n"
    found = run(lines, threads=1, kind=i64).fault
    assert found is not None and found.kind == "misaligned" and "a multiple of 16" in found.message


def test_arguments_that_do_not_fit() -> None:
    program = lower(parse(body("\n"), "k.ptx"))
    out = ArrayArgument("out", f32, (4,))
    for arguments, told in (((out,), "2 arguments"), ((out, ScalarArgument("a", u32, 1)), "8 bytes for parameter")):
        with pytest.raises(UserError, match=told):
            prove_launch(program, None, arguments, (1, 1, 1), (4, 1, 1), {})
    with pytest.raises(UserError, match="1 to 1024 threads"):
        prove_launch(program, None, (out, ArrayArgument("a", f32, (4,))), (1, 1, 1), (1025, 1, 1), {})


def test_a_word_of_the_sketch_language_in_a_spec() -> None:
    import warploom as wl

    def spec(out, a):
        out[0] = wl.thread()

    with pytest.raises(UserError):
        run_plain_spec(spec, (ArrayArgument("out", f32, (4,)), ArrayArgument("a", f32, (4,))))


def test_the_content_of_a_variable_that_is_no_list_of_integers() -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.const .f32 taps[2] = {0f3F800000, 0f3F800000};\n"
    program = lower(parse(text + body("\n").split("64\n", 1)[1], "k.ptx"))
    arguments = (ArrayArgument("out", f32, (4,)), ArrayArgument("a", f32, (4,)))
    with pytest.raises(UnsupportedError, match="plain integers"):
        prove_launch(program, None, arguments, (1, 1, 1), (4, 1, 1), {}, symbols={"taps": "initial"})
