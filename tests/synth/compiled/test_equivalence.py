"""A rewritten file against its original."""

import pytest
from tests.synth.compiled.programs import SECOND_DIFFERENCE, body, difference_arguments, planted
from tests.synth.compiled.test_attacks import CARRY, NARROW_SUM, WIDE_SUM

from warploom.core import f32, i32, u32, u64
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.kernels import kernelgen
from warploom.ptx import lower, parse
from warploom.ptx.shuffle import ShuffleOptions, apply_all, shuffle
from warploom.synth.compiled import ArrayArgument, CompiledProof, ScalarArgument, prove_equivalent


def without_shuffles() -> str:
    """The stencil as it was before: every lane loads its neighbours."""
    text = SECOND_DIFFERENCE
    for sign in ("@!%p4 ", "@!%p5 "):
        text = planted(text, sign, "")
    return text


def test_shuffles_are_as_good_as_loads_and_a_wrong_one_is_not() -> None:
    original, arguments = lower(parse(without_shuffles())), difference_arguments(50)
    right = prove_equivalent(original, lower(parse(SECOND_DIFFERENCE)), None, arguments, (2, 1, 1), (48, 1, 1))
    assert (right.verdict, right.reason) == ("proved", "")
    wrong = planted(SECOND_DIFFERENCE, "shfl.sync.down.b32 %f3|%p5, %f1, 1,", "shfl.sync.down.b32 %f3|%p5, %f1, 2,")
    proof = prove_equivalent(original, lower(parse(wrong)), None, arguments, (2, 1, 1), (48, 1, 1))
    assert proof.verdict == "refuted" and proof.difference is not None
    assert proof.difference.expected == "-2*a[1] + a[0] + a[2]"


@pytest.mark.parametrize("name", ["jacobi", "gaussblur", "wave13pt"])
@pytest.mark.parametrize("shape", ["guarded", "grid-stride"])
def test_rewritten_stencils(name: str, shape: kernelgen.Shape) -> None:
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    stencil = kernelgen.KERNELGEN[name]
    original = parse(compile_to_ptx(kernelgen.cuda_source(stencil, shape)))
    rewritten = shuffle(original, ShuffleOptions(policy=apply_all))
    extents = dict(zip(stencil.extents, (40, 7, 6), strict=False))
    arguments = (
        *(
            ArrayArgument(field.name, f32, tuple(extents[e] for e in reversed(field.extents)))
            for field in (*stencil.inputs, *stencil.outputs)
        ),
        *(ScalarArgument(extent, i32, size) for extent, size in extents.items()),
        *(ScalarArgument(scalar, f32, None) for scalar in stencil.scalars),
    )
    grid, block = kernelgen.launch(stencil, shape, tuple(extents.values()), block=(32, 1, 1))
    proof = prove_equivalent(lower(original), lower(parse(rewritten.text)), None, arguments, grid, block)
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "shfl.sync" in rewritten.text


def test_sums_that_are_compared_in_fewer_bits() -> None:
    arguments = (ArrayArgument("out", u64, (64,)), ArrayArgument("a", u32, (64,)))
    narrow, wide = (lower(parse(body(CARRY.replace("{sum}", s)))) for s in (NARROW_SUM, WIDE_SUM))
    verdicts = [
        [prove_equivalent(a, b, None, arguments, (1, 1, 1), (64, 1, 1)).verdict for b in (narrow, wide)] for a in (narrow, wide)
    ]
    assert verdicts == [["proved", "refuted"], ["refuted", "proved"]]


ONE = "st.global.f32 [%rd1], 0f3F800000;"


def of_one_element(first: str, second: str) -> CompiledProof:
    start = (
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
        ".reg .pred %p<4>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
        "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.global.f32 %f1, [%rd2];\n"
    )
    arguments = (ArrayArgument("out", f32, (1,)), ArrayArgument("in", f32, (1,)))
    programs = (lower(parse(f"{start}{body}\nret;\n}}\n")) for body in (first, second))
    return prove_equivalent(*programs, "k", arguments, (1, 1, 1), (1, 1, 1))


def test_an_original_that_looks_at_the_order_of_arrays_is_open() -> None:
    ordered = "setp.lt.u64 %p1, %rd1, %rd2;\nselp.f32 %f2, 0f3F800000, %f1, %p1;\nst.global.f32 [%rd1], %f2;"
    proof = of_one_element(ordered, ONE)
    assert (proof.verdict, proof.reason) == ("unchecked", "the original depends on where in, out lie in memory")


def test_what_the_original_takes_as_exact_stands_in_the_domain() -> None:
    proof = of_one_element(
        "rcp.approx.ftz.f32 %f2, %f1;\nst.global.f32 [%rd1], %f2;", "rcp.rn.f32 %f2, %f1;\nst.global.f32 [%rd1], %f2;"
    )
    assert proof.verdict == "proved" and "rcp.approx.ftz taken as exact" in proof.domain


def test_an_original_that_has_a_value_for_no_data_is_open() -> None:
    nothing = "sub.f32 %f3, %f1, %f1;\ndiv.rn.f32 %f2, %f1, %f3;\nsetp.lt.f32 %p1, %f2, 0f00000000;\n"
    proof = of_one_element(f"{nothing}{ONE}", ONE)
    assert proof.verdict == "unchecked" and proof.reason.startswith("the original: expected operations that have a value")
