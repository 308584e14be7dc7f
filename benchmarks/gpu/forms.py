"""Kernels of the library as these programs run them, compiled for an architecture.

What measures a kernel and what compiles it elsewhere (`inputs.py`) both take it from here, so that they ask for the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from warploom.gpu import Compiled, CudaSource, compile_cuda, cuda_source
from warploom.ir import IndexExpr, Kernel
from warploom.kernels import complete_example, find
from warploom.kernels.tunables import is_tunable, tunable_sketch
from warploom.synth import Report
from warploom.tools.synth.best import picked

DRY_ARCH = "sm_90"
"""The architecture of `--dry-run`, which needs no GPU."""


@dataclass(frozen=True)
class Form:
    """A kernel, perhaps with holes, its CUDA with these filled, and its machine code."""

    kernel: Kernel
    source: CudaSource
    compiled: Compiled


@cache
def _report(case: str, space: int | None) -> Report:
    return complete_example(find(case), **({} if space is None else {"space": space}))


def completed(case: str, arch: str) -> Form:
    """The best completion. UserError: those of `compile_cuda`."""
    return _form(find(case).sketch.kernel, _report(case, None).completions[0].holes, arch)


@cache
def chosen(case: str, arch: str) -> Form:
    """The kernel that `synth --best` picks from the family of that name for the architecture; elsewhere the best completion.
    UserError: those of `compile_cuda`, NO_SETTING."""
    if not is_tunable(case):
        return completed(case, arch)
    family = tunable_sketch(case)
    tuned = picked(family, arch, None, lambda _: None)[0].answers[0][1]
    return _form(family.build(**tuned.setting).kernel, tuned.report.completions[0].holes, arch)


def least(case: str, arch: str) -> Form | None:
    """The completion of the smallest space; None where there is none. UserError: those of `compile_cuda`."""
    report = _report(case, 1)
    return _form(find(case).sketch.kernel, report.completions[0].holes, arch) if report.completions else None


def shared(case: str, arch: str) -> Form:
    """The baseline through shared memory. UserError: those of `compile_cuda`."""
    return _form(find(case).baseline.kernel, {}, arch)


def _form(kernel: Kernel, holes: Mapping[str, IndexExpr], arch: str) -> Form:
    source = cuda_source(kernel, holes)
    return Form(kernel, source, compile_cuda(source.text, arch))
