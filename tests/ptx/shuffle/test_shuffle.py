"""The pass as a whole: what it keeps, what it reports, its options; the published counts on compiled stencils."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace

import numpy as np
import pytest
from tests.ptx.shuffle.kernels import arguments, kernel
from tests.ptx.shuffle.same import SHAPES, differences, report, rewritten

from warploom.gpu import assemble, compile_to_ptx, toolchain_available
from warploom.kernels.kernelgen import APPLICATION_SHUFFLES, APPLICATIONS, KERNELGEN, Shape, cuda_source, parameters
from warploom.kernels.kernelgen import launch as launch_shape
from warploom.ptx.routine import lower
from warploom.ptx.shuffle import Candidate, Decision, KernelFacts, ShuffleOptions, apply_all, apply_none
from warploom.ptx.symbolic import LaunchLimits
from warploom.ptx.syntax import parse
from warploom.ptx.verify import WARNINGS, verify
from warploom.tools.bench.ptx import PAPERS_APPLICATIONS

THREE = kernel(
    """
    ld.global.nc.f32 %f1, [%rd5+4];   // the source
    ld.global.nc.f32 %f2, [%rd5];
    add.f32 %f3, %f1, %f2; ld.global.nc.f32 %f4, [%rd5+-4];
    add.f32 %f3, %f3, %f4;
    st.global.f32 [%rd6], %f3;
    """
)

COUNTS = {
    "divergence": (1, 6, 2.0), "gradient": (1, 6, 2.0), "laplacian": (2, 7, 1.5), "gameoflife": (6, 9, 1.5),
    "jacobi": (6, 9, 1.5), "gaussblur": (20, 25, 2.5), "lapgsrb": (12, 25, 1.83), "wave13pt": (4, 14, 2.5),
    "uxx1": (3, 17, 2.0), "tricubic": (48, 67, 2.0), "tricubic2": (48, 67, 2.0), "whispering": (5, 18, 1.0),
    "matmul": (0, None, 0), "matvec": (0, None, 0), "sincos": (0, None, 0), "vecadd": (0, 2, 0),
}  # fmt: skip
"""Shuffles, global loads, mean distance: the published ones, for nvcc's PTX of the guarded shape."""

needs_cuda = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA wheels")


ROW = kernel("\n".join(f"ld.global.nc.f32 %f{n + 1}, [%rd5+{4 * n}];" for n in range(4)) + "\nst.global.f32 [%rd6], %f4;")


def test_papers_rule_takes_no_source_that_could_have_been_covered() -> None:
    """PTXASW covers the second of four loads in a row, each next to the one before: third and fourth have no source then."""
    text, options = ROW.replace("%f4;", "%f1;"), ShuffleOptions(policy=apply_all, max_delta=1)
    found = report(text, replace(options, lone_sources=True))
    first = found.shuffles[0].source_line
    assert [(c.source_line - first, c.line - first) for c in found.shuffles] == [(0, 1), (2, 3)]
    assert [(c.source_line - first, c.line - first) for c in found.shuffles_of_lone_sources] == [(0, 1)]
    assert report(text, options).shuffles == found.shuffles


@needs_cuda
@pytest.mark.parametrize("name", PAPERS_APPLICATIONS)
def test_applications_have_the_papers_loads_and_shuffles(name: str) -> None:
    text = compile_to_ptx(cuda_source(APPLICATIONS[name], "guarded"), "sm_75")
    found = report(text, ShuffleOptions(policy=apply_all, max_delta=1, lone_sources=True))
    theirs = APPLICATION_SHUFFLES[PAPERS_APPLICATIONS[name]]
    assert (len(found.shuffles_of_lone_sources), found.loads) == (theirs.shuffles, theirs.loads)
    assert len(found.shuffles) >= theirs.shuffles


def test_everything_else_stays() -> None:
    new = rewritten(THREE).text
    assert new != THREE
    removed = [line[2:] for line in difflib.ndiff(THREE.splitlines(), new.splitlines()) if line.startswith("- ")]
    assert all("ld.global.nc.f32" in line for line in removed)
    assert "// the source" in new
    assert not [d for d in verify(parse(new)) if d.code not in WARNINGS]
    assert lower(parse(new)).kernel("k")


def test_nothing_to_do_is_the_same_text() -> None:
    text = kernel("ld.global.f32 %f1, [%rd5];\nst.global.f32 [%rd6], %f1;")
    assert rewritten(text).text == text
    assert rewritten(THREE, ShuffleOptions(policy=apply_none)).text == THREE


def test_twice_is_once() -> None:
    once = rewritten(THREE).text
    again = rewritten(once)
    for block in SHAPES:
        assert not differences(THREE, again.text, (2, 1, 1), block, arguments(block))


def test_names_do_not_clash() -> None:
    text = THREE.replace("// the source", "mov.b32 %wl_r0, 0;").replace(".reg .f32", ".reg .b32 %wl_r<3>;\n\t.reg .f32", 1)
    assert "%wl1_r0" in rewritten(text).text


def test_report_is_json() -> None:
    line = report(THREE).json()
    assert json.loads(json.dumps(line)) == line
    assert (line["kernel"], line["loads"], line["shuffles"], line["reuses"], line["applied"]) == ("k", 3, 2, 0, 2)
    first = line["candidates"][0]  # type: ignore[index]
    assert first["delta"] == -1  # type: ignore[index,call-overload]
    assert first["kind"] == "shuffle"  # type: ignore[index,call-overload]
    assert first["line"] - first["source_line"] == 1  # type: ignore[index,call-overload,operator]


def test_policy_decides_one_by_one() -> None:
    seen: list[KernelFacts] = []

    def near(facts: KernelFacts, candidate: Candidate) -> Decision:
        seen.append(facts)
        return Decision(candidate.delta == -1, "near only", 0.25)

    found = report(THREE, ShuffleOptions(policy=near))
    assert [c.delta for c in found.applied] == [-1]
    assert found.predicted_gain == 0.25
    assert seen[0].loads == 3
    assert seen[0].target == "sm_75"
    new = rewritten(THREE, ShuffleOptions(policy=near)).text
    assert new.count("shfl") == 1
    assert not differences(THREE, new, (2, 1, 1), (48, 2, 1), arguments((48, 2, 1)))


def test_max_delta() -> None:
    assert [c.delta for c in report(THREE, ShuffleOptions(policy=apply_all, max_delta=1)).shuffles] == [-1]
    assert report(THREE, ShuffleOptions(policy=apply_all, max_delta=0)).shuffles == ()


@pytest.mark.parametrize("variant", ["no-load", "no-corner"])
def test_ablations_say_that_they_are_wrong(variant: str) -> None:
    options = ShuffleOptions(policy=apply_all, variant=variant)  # type: ignore[arg-type]
    new = rewritten(THREE, options).text
    assert new.startswith("// INVALID")
    assert report(THREE, options).json()["is_valid"] is False
    assert new.count("ld.global") == 1
    assert new.count("shfl") == (0 if variant == "no-load" else 2)


def test_known_blocks_need_fewer_tests() -> None:
    limits = LaunchLimits(block_max=(1024, 1, 1))
    known = rewritten(THREE, ShuffleOptions(policy=apply_all, limits=limits)).text
    assert "%tid.x" in rewritten(THREE).text.partition("ld.param")[0]
    assert "%tid.x" not in known.partition("ld.param")[0]
    required = THREE.replace("\n)\n{", "\n)\n.reqntid 64, 2\n{", 1)
    assert "%tid.x" not in rewritten(required).text.partition("ld.param")[0]
    for block in ((32, 1, 1), (48, 1, 1), (33, 1, 1)):
        assert not differences(THREE, known, (2, 1, 1), block, arguments(block))
    assert not differences(required, rewritten(required).text, (2, 1, 1), (64, 2, 1), arguments((64, 2, 1)))


def test_old_ptx_has_no_active_mask() -> None:
    text = THREE.replace(".version 8.0", ".version 6.1")
    assert rewritten(text).text == text
    assert any("6.1" in r.reason for r in report(text).refused)


def test_shared_memory_on_request() -> None:
    body = """
    mov.u32 %r40, tile;
    mad.lo.s32 %r41, %r1, 4, %r40;
    st.shared.u32 [%r41], %r8;
    bar.sync 0;
    ld.shared.u32 %r42, [%r41];
    ld.shared.u32 %r43, [%r41+4];
    sub.s32 %r42, %r42, %r43;
    st.global.u32 [%rd6], %r42;
    """
    text = kernel(body, declared=".shared .align 4 .b8 tile[8192];")
    assert report(text).loads == 0
    options = ShuffleOptions(policy=apply_all, shared=True)
    assert [c.delta for c in report(text, options).shuffles] == [1]
    new = rewritten(text, options).text
    for block in SHAPES:
        assert not differences(text, new, (2, 1, 1), block, arguments(block))


ROWS = """
shl.b32 %r40, %r5, 7;
add.s32 %r40, %r40, %r1;
mul.wide.u32 %rd9, %r40, 4;
add.s64 %rd9, %rd1, %rd9;
ld.global.f32 %f1, [%rd9+1024];
ld.global.f32 %f2, [%rd9+1536];
ld.global.f32 %f3, [%rd9+512];
ld.global.f32 %f4, [%rd9+1540];
ld.global.f32 %f5, [%rd9+1020];
sub.f32 %f6, %f1, %f2;
fma.rn.f32 %f6, %f6, %f3, %f4;
fma.rn.f32 %f6, %f6, %f5, %f1;
st.global.f32 [%rd6], %f6;
"""


def _rows(required: str) -> str:
    text = kernel(ROWS).replace(
        "mad.lo.s32 %r5, %r6, %r7, %r5;\n\tmad.lo.s32 %r8", "mad.lo.s32 %r9, %r6, %r7, %r5;\n\tmad.lo.s32 %r8", 1
    )
    text = text.replace("mad.lo.s32 %r8, %r5, 400", "mad.lo.s32 %r8, %r9, 400", 1)
    return text.replace("\n)\n{", f"\n)\n{required}\n{{", 1) if required else text


def test_rows_of_a_warp() -> None:
    text = _rows(".reqntid 8, 4")
    found = report(text).shuffles
    assert [(c.delta, c.rows) for c in found] == [(0, 1), (0, -1), (1, 1), (-1, 0)]
    assert not differences(text, rewritten(text).text, (2, 1, 1), (8, 4, 1), arguments((8, 4, 1)))


def test_rows_by_option_are_right_for_every_block() -> None:
    text, options = _rows(""), ShuffleOptions(policy=apply_all, max_rows=1)
    assert [(c.delta, c.rows) for c in report(text, options).shuffles] == [(0, 1), (0, -1), (1, 1), (-1, 0)]
    assert [(c.delta, c.rows) for c in report(text).shuffles] == [(1, 0), (-1, 0)]
    new = rewritten(text, options).text
    for block in (*SHAPES, (8, 2, 2), (4, 4, 4), (2, 8, 3)):
        assert not differences(text, new, (2, 1, 1), block, arguments(block)), block


@needs_cuda
def test_published_counts_of_the_guarded_shape() -> None:
    for name, (shuffles, loads, mean) in COUNTS.items():
        found = report(compile_to_ptx(cuda_source(KERNELGEN[name], "guarded"), "sm_75"))
        deltas = [abs(c.delta) for c in found.shuffles]
        assert len(deltas) >= shuffles, name
        assert loads is None or found.loads == loads, name
        assert not deltas or sum(deltas) / len(deltas) <= mean + 0.005, name


@needs_cuda
def test_grid_stride_has_no_fewer() -> None:
    for name, (shuffles, _, _) in COUNTS.items():
        assert len(report(compile_to_ptx(cuda_source(KERNELGEN[name], "grid-stride"), "sm_75")).shuffles) >= shuffles, name


@needs_cuda
@pytest.mark.parametrize("shape", ["guarded", "grid-stride", "tiled"])
@pytest.mark.parametrize("name", ["jacobi", "divergence", "whispering"])
def test_compiled_stencils(name: str, shape: Shape) -> None:
    stencil = KERNELGEN[name]
    text = compile_to_ptx(cuda_source(stencil, shape), "sm_75")
    new = rewritten(text, ShuffleOptions(policy=apply_all, mode="cache" if shape == "grid-stride" else "shuffle")).text
    extents = (70, 6, 5)[: stencil.dims]
    given = parameters(stencil, extents, np.random.default_rng(3))
    blocks = [(8, 4, 1)] if shape == "tiled" else [(32, 1, 1), (48, 1, 1)]
    for block in blocks:
        grid, _ = launch_shape(stencil, shape, extents, block=block)
        assert not differences(text, new, grid, block, given, checks=False)


@needs_cuda
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_assembles(arch: str) -> None:
    text = compile_to_ptx(cuda_source(KERNELGEN["gameoflife"], "guarded"), arch)
    for variant in ("", "no-load", "no-corner"):
        assemble(rewritten(text, ShuffleOptions(policy=apply_all, variant=variant)).text, arch)  # type: ignore[arg-type]
