"""Decisions of a large kernel carry over to a size that the PTX interpreter can run."""

# ruff: noqa: F821 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from warploom.core import Diagnostic, UserError, f32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, cuda_tiles
from warploom.schedule.bound import Bound
from warploom.schedule.choices import kernel_space
from warploom.schedule.frontend import TensorFunction, out, tensor
from warploom.schedule.search import Implementation, KernelModel, Step
from warploom.schedule.targets import Target, target
from warploom.solve.space import Candidate
from warploom.tools.explore import check
from warploom.tools.explore.check import check_cuda
from warploom.tools.explore.shortened import program_at, shortened, small_sizes

SIZES = {"matvec": {"m": 4096, "n": 1000}, "axpy": {"n": 1 << 20}, "matvec_t": {"m": 512, "n": 4096}}


def implementation(name: str, seed: int, sizes: Mapping[str, int] | None = None) -> Implementation[Candidate]:
    kernel = tensor_kernel(name)
    return implementation_of(kernel.program(kernel.sizes_with(sizes or SIZES[name]), cuda_tiles).stages[0], "sm_90", seed)


def implementation_of(
    stage: Backbone, machine: str | Target, seed: int, fixed: Mapping[str, str] | None = None
) -> Implementation[Candidate]:
    space = kernel_space(stage, target(machine) if isinstance(machine, str) else machine)
    model = KernelModel(space, Bound(space), fixed=dict(fixed or {}))
    rng = random.Random(seed)
    for _ in range(20):
        step: Step[Candidate] | None = model.root()
        while step is not None and (choices := model.open_choices(step)):
            children = [a.expand() for a in model.alternatives(step, choices[0][0])]
            known = [c for c in children if c is not None]
            step = min(known, key=lambda c: (model.estimate(c), rng.random())) if known else None
        if step is not None and (found := model.answer(step)) is not None:
            return found[1]
    raise AssertionError(stage.name)


@pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
@pytest.mark.parametrize("name", list(SIZES))
def test_results_are_tested(name: str) -> None:
    kernel = tensor_kernel(name)
    sizes = kernel.sizes_with(SIZES[name])
    program = kernel.program(sizes, cuda_tiles)
    found = implementation(name, 0)
    checked = check_cuda(kernel, sizes, program, [found], target("sm_90"), 0)
    assert checked.verdict == "tested" and checked.sizes is not None and dict(checked.sizes) != sizes
    small = small_sizes(sizes, program, [shortened(program.stages[0], found, 2, 3)])
    assert all(small[n] <= sizes[n] for n in sizes)


@tensor
def one_row_at_a_time(X: f32["r", "c"], Y: out[f32["r", "c"]]):
    top[i] = max(X[i, j], over=j)
    Y[i, j] = X[i, j] - top[i]


@tensor
def enlarged(X: f32["h", "w"], Y: out[f32["2 * h", "2 * w"]]):
    Y[i, j] = X[i // 2, j // 2] * f32(1 + j % 2)


@tensor
def halved(X: f32["n // 2"], Y: out[f32["n"]]):
    Y[i] = X[i // 2]


@pytest.mark.parametrize(
    ("function", "sizes", "other", "stays"),
    [
        (one_row_at_a_time, {"r": 512, "c": 512}, "r", "c"),
        (enlarged, {"h": 512, "w": 512}, "h", ""),
        (halved, {"n": 1 << 20}, "n", ""),
    ],
    ids=lambda p: getattr(p, "name", None),
)
def test_a_size_is_that_of_its_own_axes(function: TensorFunction, sizes: dict[str, int], other: str, stays: str) -> None:
    """Two sizes may be equal, and an index may run over a multiple of one, or be divided."""
    program = function.program(sizes, cuda_tiles)
    found = implementation_of(program.stages[0], "sm_90", 0)
    sizes_of = [shortened(program.stages[0], found, 2, 3)]
    small, kernels = program_at(function, sizes, program, sizes_of)
    assert small[other] < sizes[other]
    assert not stays or small[stays] == sizes[stays]
    assert [e.sizes for e in kernels.stages[0].extents if e.level] == [
        (n,) for n, e in zip(sizes_of[0], program.stages[0].extents, strict=True) if e.level
    ]


@pytest.mark.parametrize("change", ["another form", "another stage"])
def test_a_program_of_another_form_does_not_carry_over(change: str) -> None:
    kernel = tensor_kernel("axpy")
    sizes = kernel.sizes_with(SIZES["axpy"])
    program = kernel.program(sizes, cuda_tiles)
    (stage,) = program.stages
    sizes_of = [shortened(stage, implementation("axpy", 0), 2, 3)]
    assert program_at(kernel, sizes, program, sizes_of)[0]["n"] < sizes["n"]
    if change == "another form":
        renamed = replace(stage, instructions=tuple(replace(i, name=i.name + "_") for i in stage.instructions))
        other = replace(program, stages=(renamed,))
    else:
        other, sizes_of = replace(program, stages=(stage, stage)), [*sizes_of, *sizes_of]
    with pytest.raises(UserError, match="takes another form at a small size"):
        program_at(kernel, sizes, other, sizes_of)


def test_a_launch_that_faults_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(*_: object) -> None:
        raise UserError(Diagnostic("LAUNCH_FAILED", "expected axpy to finish, got fault"))

    monkeypatch.setattr(check, "interpret_all", faults)
    monkeypatch.setattr(check, "toolchain_available", lambda: True)
    kernel = tensor_kernel("axpy")
    sizes = kernel.sizes_with(SIZES["axpy"])
    program = kernel.program(sizes, cuda_tiles)
    checked = check_cuda(kernel, sizes, program, [implementation("axpy", 0)], target("sm_90"), 0)
    assert checked.verdict == "refuted" and "got fault" in checked.reason
