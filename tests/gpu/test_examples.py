"""Every ready sketch, filled by hand, and every baseline: printed, read back, compiled without local memory or spills."""

import pytest
from tests.kernels.solved import completions

from warploom.gpu import compile_cuda, cuda_source, read_back, toolchain_available
from warploom.ir import IndexExpr, Kernel, fill
from warploom.kernels import NAMES, find

QUICK = [
    "conv1d-9", "stencil1d-3", "conv2d-3", "mult32-reg", "mult64-reg", "mult64-shared", "ffm-64",
    *(f"aos-{family}-{s}" for family in ("sum-crc", "store-crc", "store-rcr") for s in (1, 3, 4, 6, 8)),
    "aos-store-crc-6-direct", "aos-store-rcr-8-units",
]  # fmt: skip
SLOW = [name for name in NAMES if name not in QUICK]


def check(kernel: Kernel, done: dict[str, IndexExpr], registers_only: bool) -> None:
    source = cuda_source(kernel, done)
    result = read_back(source.text, fill(kernel, done), rounds=1)
    assert result.ok, source.text + "\n".join(d.render() for d in result.diagnostics)
    if toolchain_available():
        compiled = compile_cuda(source.text)
        assert (compiled.local_bytes, compiled.spill_bytes) == (0, 0)
        assert (compiled.shared_bytes == 0) == registers_only


def solved(name: str) -> tuple[Kernel, dict[str, IndexExpr]]:
    kernel = find(name).sketch.kernel
    return kernel, completions(name, next((h.n for h in kernel.holes if h.name == "column"), 1))


@pytest.mark.parametrize("name", QUICK)
def test_sketch(name: str) -> None:
    check(*solved(name), registers_only="-shared" not in name)


@pytest.mark.parametrize("name", ["conv1d-9", "conv2d-3", "mult64-reg", "aos-store-crc-6"])
def test_baseline(name: str) -> None:
    check(find(name).baseline.kernel, {}, registers_only=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_every_sketch_and_baseline(name: str) -> None:
    check(*solved(name), registers_only="-shared" not in name)
    check(find(name).baseline.kernel, {}, registers_only=False)
