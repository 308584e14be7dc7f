"""Every line of CUDA, PTX and machine code knows the statement of the sketch that it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from warploom.core import NOWHERE
from warploom.gpu import ListedLine, cuda_listing, cuda_source, machine_listings, toolchain_available
from warploom.ir import Compare, HoleArg, IndexBinary, IndexConst, IndexSelect
from warploom.sketch import load

PATH = Path("examples/conv1d.py")
LINES = PATH.read_text(encoding="utf-8").splitlines()
LANE, K = HoleArg(0), HoleArg(1)
HOLES = {
    "swizzle1": IndexSelect(Compare(">=", LANE, K), IndexConst(0), IndexConst(1)),
    "swizzle2": IndexBinary("%", IndexBinary("+", LANE, K), IndexConst(32)),
    "swizzle3": HoleArg(0),
}
(SKETCH,) = load(PATH)
SOURCE = cuda_source(SKETCH.kernel, HOLES)


def sketch_lines(lines: tuple[ListedLine, ...], word: str) -> set[str]:
    """Lines of the sketch to which the listed lines with the word belong."""
    found = [line for line in lines if word in line.text]
    assert found, word
    return {LINES[line.span.line - 1].strip() if line.span != NOWHERE else "" for line in found}


def test_lines_of_cuda() -> None:
    lines = cuda_listing(SOURCE).cuda
    assert "\n".join(line.text for line in lines) + "\n" == SOURCE.text and "\0" not in SOURCE.text
    assert sketch_lines(lines, "__shfl_sync") == {'got = wl.shfl(to_send, wl.xform(lane, 32, k, name="swizzle2"))'}
    assert sketch_lines(lines, "x[at]") == {"wl.global_to_register(x, inp, offset=first, rounds=2)"}
    assert sketch_lines(lines, "for (int k") == {"for k in range(K):"}
    assert sketch_lines(lines, "hole 'swizzle3'") == {'out.add(w[wl.xform(k, K, lane, name="swizzle3")], got)'}
    assert sketch_lines(lines, "__global__") == sketch_lines(lines, "cudaSuccess") == {""}


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
def test_lines_of_ptx_and_of_machine_code() -> None:
    found = machine_listings(SOURCE, "sm_90")
    ptx, sass = ("shfl.sync", "ld.global.nc.f32", "st.global"), ("SHFL", "LDG", "STG")
    for lines, (shuffle, load_, store) in ((found.ptx, ptx), (found.sass, sass)):
        assert sketch_lines(lines, shuffle) == {'got = wl.shfl(to_send, wl.xform(lane, 32, k, name="swizzle2"))'}
        assert sketch_lines(lines, store) == {"y[wl.global_id()] = out.value()"}
        assert "wl.global_to_register(x, inp, offset=first, rounds=2)" in sketch_lines(lines, load_)
    assert not any(".loc" in line.text for line in found.ptx) and not any("NOP" in line.text for line in found.sass)
