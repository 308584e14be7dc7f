"""Shared accesses that ptxas makes one: what the SASS tells, and what a launch moves by it."""

from functools import partial

import numpy as np
import pytest
from tests.ptx.simt.written import kernel

from warploom.core import UserError
from warploom.gpu import compile_cuda, count_executed, cuda_source, merged_accesses, toolchain_available
from warploom.gpu.merged import widths_in
from warploom.kernels import find

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
TILE = """.shared .align 16 .b8 tile[4096];
mov.u64 %rd7, tile; shl.b32 %r9, %r1, 4; cvt.u64.u32 %rd8, %r9; add.s64 %rd9, %rd7, %rd8;
"""
FILL = """st.shared.u32 [%rd9], %r1;
st.shared.u32 [%rd9+4], %r1;
st.shared.u32 [%rd9+8], %r1;
st.shared.u32 [%rd9+12], %r2;
bar.sync 0;
"""
USE = """xor.b32 %r20, %r10, %r11; xor.b32 %r20, %r20, %r12; xor.b32 %r20, %r20, %r13;
st.global.u32 [%rd3], %r20;"""


def widths(body: str) -> list[int]:
    """Widths of the loads, in order."""
    text = kernel(TILE + FILL + body + USE)
    found = merged_accesses(text, "sm_90")
    assert found is not None
    return [found[n] for n, line in enumerate(text.splitlines(), 1) if "ld.shared" in line]


def loads(*offsets: int) -> str:
    return "".join(f"ld.shared.u32 %r{10 + n}, [%rd9+{offset}];\n" for n, offset in enumerate(offsets))


def test_neighbours_become_one_wide_load() -> None:
    assert sorted(widths(loads(0, 4, 8, 12))) == [0, 0, 0, 16]


def test_a_line_that_stays_alone_keeps_its_width() -> None:
    assert widths(loads(0, 1024, 2048, 3072)) == [4, 4, 4, 4]


def test_pairs() -> None:
    assert sorted(widths(loads(0, 4, 1024, 1028))) == [0, 0, 8, 8]


def test_an_access_that_is_wide_already() -> None:
    text = kernel(TILE + FILL + "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%rd9];\n" + USE)
    found = merged_accesses(text, "sm_90")
    assert found is not None
    assert found[next(n for n, line in enumerate(text.splitlines(), 1) if "ld.shared" in line)] == 16


def sass(*lines: tuple[int, str]) -> str:
    return "".join(
        f'\t//## File "kernel.ptx", line {n}\n        /*0100*/                   {text} R4, [R2] ;\n' for n, text in lines
    )


def test_widths_of_a_disassembly() -> None:
    asked = {7: 4, 8: 4, 9: 2, 10: 1}
    text = sass((7, "LDS.64"), (9, "LDS.U16"), (10, "LDS.S8"), (3, "IMAD"), (7, "LDS.64"))
    assert widths_in(text, asked) == {7: 8, 8: 0, 9: 2, 10: 1}


@pytest.mark.parametrize(
    "text",
    [sass((7, "LDS.64"), (7, "LDS.128")), sass((8, "LDS.64"), (8, "LDS.64")), sass((7, "STS"), (9, "STS"))],
    ids=["copies differ", "one access is split", "a line without an access"],
)
def test_a_disassembly_that_does_not_tell(text: str) -> None:
    assert widths_in(text, {7: 4, 8: 16}) is None


def test_no_shared_memory_needs_no_tools() -> None:
    assert merged_accesses(kernel("st.global.u32 [%rd3], %r1;"), "sm_90") == {}


def test_text_that_ptxas_refuses() -> None:
    with pytest.raises(UserError, match="expected ptxas to accept"):
        merged_accesses(kernel("ld.shared.u32 %r10, [nowhere];"), "sm_90")


@pytest.mark.parametrize(("name", "written", "executed"), [("aos-store-crc-8", 72, 24), ("mult64-reg", 132, 100)])
def test_baselines_move_less_than_is_written(name: str, written: int, executed: int) -> None:
    """Per warp. Source: counted in the SASS of nvcc 13.0 for sm_90; 72 and 132 are what the CUDA C++ says.

    Of mult64-reg's loads, 16 are of 16 bytes at one place of all lanes, two wavefronts each.
    """
    example = find(name)
    form = example.baseline.kernel
    sizes = dict.fromkeys(form.sizes, 2)
    arrays = example.arrays(sizes)
    source = cuda_source(form)
    count = partial(count_executed, form, source, compile_cuda(source.text), sizes=sizes)
    found = count({n: a.copy() for n, a in arrays.items()})
    assert found.counted == "sass"
    for array, wanted in example.reference(**arrays).items():
        np.testing.assert_array_equal(found.arrays[array].reshape(wanted.shape), wanted)
    assert found.counts.shared_wavefronts == 2 * executed < 2 * written
