"""The PTX of printed kernels is proved against the tensor function's mathematics; planted bugs are refuted."""

# ruff: noqa: N803, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.schedule.cuda import nests
from warploom.core import f32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import Backbone, Role, evaluate, evaluate_terms, random_inputs
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import exp, out, tensor
from warploom.synth.compiled import CompiledProof
from warploom.terms import evaluate as evaluate_symbols
from warploom.tools.explore.proof import prove_kernel

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def softmax(x: f32["rows", "columns"], y: out[f32["rows", "columns"]]):
    top[r] = max(x[r, c], over=c)
    e[r, c] = exp(x[r, c] - top[r])
    total[r] = sum(e[r, c], over=c)
    y[r, c] = e[r, c] / total[r]


def matmul(**options: object) -> tuple[Backbone, CudaKernel]:
    case = nests.matmul(16, 16, 16, (16, 16, 4), **options)  # pyright: ignore
    stage = tensor_kernel("matmul").program({"m": 16, "n": 16, "k": 16}).stages[0]
    return stage, cuda_kernel(case.nest, Options(arch="sm_90"))


def axpy() -> tuple[Backbone, CudaKernel]:
    return tensor_kernel("axpy").program({"n": 130}).stages[0], cuda_kernel(nests.axpy(130, 32, 2).nest, Options(arch="sm_90"))


def planted(made: tuple[Backbone, CudaKernel], right: str, wrong: str) -> CompiledProof:
    """The proof of a kernel with another text in one place."""
    stage, kernel = made
    assert kernel.text.count(right), kernel.text
    return prove_kernel(stage, replace(kernel, text=kernel.text.replace(right, wrong, 1)))


@needs_compiler
@pytest.mark.parametrize("options", [{}, {"stages": 2, "is_async": True}], ids=["plain", "copied ahead"])
def test_tiles_in_shared_memory_are_proved(options: dict[str, object]) -> None:
    proof = prove_kernel(*matmul(**options))
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "real sums reordered" in proof.domain


@needs_compiler
def test_edges_are_proved() -> None:
    assert prove_kernel(*axpy()).verdict == "proved"


@needs_compiler
def test_softmax_is_proved_with_the_laws_of_exp_named() -> None:
    case = nests.softmax(2, 8, 4)
    proof = prove_kernel(softmax.program({"rows": 2, "columns": 8}).stages[0], cuda_kernel(case.nest, Options(arch="sm_90")))
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "finite" in proof.domain and "exp(x) as ex2" in proof.domain and "ex2.approx" in proof.domain
