"""Instructions in the machine code of ready kernels, filled by hand: no more than what was reached."""

import pytest
from tests.kernels.solved import completions, side_by_side

from warploom.gpu import compile_cuda, cuda_source, machine_counts, toolchain_available
from warploom.kernels import find
from warploom.tools.bench.layout_peers import trove

BARS = {
    "conv1d-3": (57, 2, 0, 32),
    "stencil1d-3": (73, 2, 0, 32),
    "conv2d-3-runs": (316, 12, 0, 32),
    "stencil2d-3-runs": (363, 12, 0, 32),
    "mult64-reg-runs": (398, 62, 0, 40),
    "ffm-128-runs": (1422, 142, 15, 48),
}
"""Instructions, shuffles, selects and registers of sm_90."""


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC and ptxas")
@pytest.mark.parametrize("name", BARS)
def test_the_machine_code_is_as_short_as_a_hand_kernels(name: str) -> None:
    sketch = side_by_side(name) if name.endswith("-runs") else find(name).sketch
    source = cuda_source(sketch.kernel, completions(name))
    compiled = compile_cuda(source.text, arch="sm_90")
    counts = machine_counts(compiled.cubin)[source.name]
    found = (counts.instructions, counts.shuffles, counts.selects, compiled.registers)
    assert all(got <= most for got, most in zip(found, BARS[name], strict=True)), found


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC and ptxas")
@pytest.mark.parametrize("arch", ["sm_80", "sm_100", "sm_120"])
def test_a_convolution_is_short_on_every_architecture(arch: str) -> None:
    source = cuda_source(find("conv1d-3").sketch.kernel, completions("conv1d-3"))
    counts = machine_counts(compile_cuda(source.text, arch=arch).cubin)[source.name]
    assert counts.instructions <= 58


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC and ptxas")
@pytest.mark.parametrize("words", [5, 8, 10, 16])
def test_structures_take_no_more_than_trove(words: int) -> None:
    name = f"aos-store-crc-{words}{'' if words % 2 else '-units'}"
    kernel = find(name).sketch.kernel
    source = cuda_source(kernel, completions(name, next(h.n for h in kernel.holes if h.name == "column")))
    counts = machine_counts(compile_cuda(source.text, arch="sm_90").cubin)[source.name]
    most = trove(words)
    assert counts.shuffles <= most["shuffles"] and counts.selects <= most["selects"], counts
