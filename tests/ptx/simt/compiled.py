"""CUDA to PTX for the tests, once per source; skipped where the compiler is not installed."""

from functools import cache

import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.ptx import Program, lower, parse


@cache
def _program(source: str, arch: str) -> Program:
    return lower(parse(compile_to_ptx(source, arch)))


def compiled(source: str, arch: str = "sm_90") -> Program:
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    return _program(source, arch)
