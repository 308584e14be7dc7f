"""Instructions in the machine code of ready kernels, filled by hand: no more than what was reached."""

import pytest
from tests.kernels.solved import completions

from warploom.gpu import compile_cuda, cuda_source, machine_counts, toolchain_available
from warploom.kernels import find

BARS = {
    "conv1d-3": (58, 2, 0, 32),
    "stencil1d-3": (74, 2, 0, 32),
    "conv2d-3-runs": (340, 12, 0, 48),
    "stencil2d-3-runs": (385, 12, 0, 48),
    "mult64-reg-runs": (398, 62, 0, 40),
    "ffm-128-runs": (1422, 142, 15, 48),
}
"""Instructions, shuffles, selects and registers of sm_90."""


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC and ptxas")
@pytest.mark.parametrize("name", BARS)
def test_the_machine_code_is_as_short_as_a_hand_kernels(name: str) -> None:
    source = cuda_source(find(name).sketch.kernel, completions(name))
    compiled = compile_cuda(source.text, arch="sm_90")
    counts = machine_counts(compiled.cubin)[source.name]
    found = (counts.instructions, counts.shuffles, counts.selects, compiled.registers)
    assert all(got <= most for got, most in zip(found, BARS[name], strict=True)), found
