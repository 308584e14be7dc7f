"""Reductions in parts over a size that is known at run time: as many parts for each of its values, also for none and for fewer
elements than parts; mistakes that are planted in printed kernels are found."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.tools.explore.test_check import implementation_of

from warploom.core import UserError, f32, i32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Program, RunTimeSize, made_again, open_sums
from warploom.schedule.calls import pack_cuda, unpack_cuda
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel, interpret_all
from warploom.schedule.frontend import TensorFunction, argmax, exp, out, prod, tensor
from warploom.schedule.nest import Nest
from warploom.schedule.search import Implementation
from warploom.schedule.targets import target
from warploom.solve.space import Candidate
from warploom.synth.compiled import NotAlikeError
from warploom.tools.explore import check as check_module
from warploom.tools.explore import proof as proof_module
from warploom.tools.explore.check import check_cuda
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.parting import parting_of
from warploom.tools.explore.proof import proof_of
from warploom.tools.explore.summed import require_whole
from warploom.tools.kernels.class_records import class_program

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
PARTS, TILE = 3, 8
VALUES = (0, 1, 2, 7, 8, 9, 23, 24, 25, 49, 100)
"""None, fewer than parts, and around one tile, all tiles of one round, and two rounds."""
LEAST = np.iinfo(np.int32).max


@tensor
def summed(X: f32["n"], s: out[f32[1]]):
    s[one] = sum(X[i] * X[i], over=i)


@tensor
def spread(X: f32["r", "n"], v: out[f32["r"]]):
    mean[i] = sum(X[i, k], over=k) / n
    v[i] = sum((X[i, k] - mean[i]) * (X[i, k] - mean[i]), over=k)


@tensor
def softmax(X: f32["r", "n"], Y: out[f32["r", "n"]]):
    top[i] = max(X[i, k], over=k)
    e[i, k] = exp(X[i, k] - top[i])
    Y[i, k] = e[i, k] / sum(e[i, k], over=k)


@tensor
def multiplied(X: f32["n"], p: out[f32[1]]):
    p[one] = prod(X[i], over=i)


@tensor
def longer(X: f32["n + 5"], Y: f32["n"], s: out[f32[1]]):
    s[one] = sum(X[i + 1] * Y[i], over=i)


@tensor
def least(N: i32["n"], s: out[i32[1]]):
    s[one] = min(N[i], over=i)


@tensor
def across(X: f32["n", "r"], s: out[f32["r"]]):
    s[j] = sum(X[i, j], over=i)


@tensor
def scaled(X: f32["n"], Y: f32["n"], s: out[f32["n"]]):
    s[i] = sum(X[i] * Y[k], over=k)


@tensor
def backwards(X: f32["n"], Y: f32["n"], s: out[f32[1]]):
    s[one] = sum(X[n - 1 - i] * Y[i], over=i)


@tensor
def placed(X: f32["n"], place: out[i32[1]]):
    place[one] = argmax(X[i], over=i)


def _mean(X: Any) -> Any:
    return X.sum(axis=1, keepdims=True) / np.float32(X.shape[1])


def _soft(X: Any) -> Any:
    e = np.exp(X - X.max(axis=1, initial=-np.inf, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


FUNCTIONS: Mapping[str, tuple[TensorFunction, Callable[..., Any]]] = {
    "summed": (summed, lambda X: [(X * X).sum()]),
    "spread": (spread, lambda X: ((X - _mean(X)) ** 2).sum(axis=1)),
    "softmax": (softmax, _soft),
    "multiplied": (multiplied, lambda X: [X.prod()]),
    "longer": (longer, lambda X, Y: [(X[1 : 1 + len(Y)] * Y).sum()]),
    "least": (least, lambda N: [N.min(initial=LEAST)]),
    "across": (across, lambda X: X.sum(axis=0)),
    "scaled": (scaled, lambda X, Y: X * Y.sum()),
}
OPEN_ROWS = {"spread", "softmax"}


@dataclass(frozen=True)
class Made:
    function: InParts
    sizes: Mapping[str, int]
    program: Program
    implementations: tuple[Implementation[Candidate], ...]

    @property
    def multiples(self) -> dict[str, int]:
        return {name: 1 for name in self.sizes if name == "n" or self.function.whole.name in OPEN_ROWS}

    @property
    def kernels(self) -> list[CudaKernel]:
        return [cuda_kernel(i.nest, Options(arch="sm_90")) for i in self.implementations]

    def inputs(self, n: int, rows: int) -> dict[str, Any]:
        """Whole numbers, so that no sum is rounded."""
        chance = np.random.default_rng(n)
        known = {"n": n, "r": rows}
        found: dict[str, Any] = {}
        for array in self.function.whole.arrays:  # pyright: ignore
            if array.role.value == "input":
                shape = [count.whole_at(known) for count in array.shape]
                found[array.name] = chance.integers(1, 3, shape).astype(np.float32 if array.dtype.is_float else np.int32)
        return found

    def wrong_at(self, n: int, change: Callable[[str], str] = str) -> str | None:
        """The interpreter's finding, or which result is wrong; None where all is right."""
        rows = 2 if self.function.whole.name in OPEN_ROWS else self.sizes.get("r", 1)
        arrays = self.inputs(n, rows)
        kernels = [replace(k, text=change(k.text)) for k in self.kernels]
        done = interpret_all([k.at({"n": n, "r": rows}) if k.run_time else k for k in kernels], arrays, {})
        if done.findings:
            return str(done.findings[0])
        with np.errstate(all="ignore"):
            wanted = np.ravel(FUNCTIONS[self.function.whole.name][1](*arrays.values()))
        (output,) = self.function.whole.outputs  # pyright: ignore
        is_right = np.allclose(np.ravel(done.arrays[output]), wanted, rtol=1e-4, equal_nan=True)
        return None if is_right else f"{done.arrays[output]} is not {wanted}"


@cache
def made(name: str, *, is_looped: bool = False) -> Made:
    whole = FUNCTIONS[name][0]
    function = InParts(whole, PARTS, "n", 0, TILE)
    sizes = {"n": 100, **({"r": 3} if "r" in whole.sizes else {})}
    opened = {size: 1 for size in sizes if size == "n" or name in OPEN_ROWS}
    program = function.at_run_time(function.program(sizes), opened, has_strides=True)
    program = replace(program, stages=tuple(made_again(s) if open_sums(s) else s for s in program.stages))
    fixed = {"summed_s_parts": {"dim_kind(mad.part0)": "BLOCK"}}
    if is_looped:
        fixed["summed_s"] = {"dim_kind(sum.part0)": "LOOP", "dim_kind(load_s_parts.part0)": "LOOP"}
    own = (implementation_of(s, "sm_90", 0, fixed.get(s.name)) for s in program.stages)
    return Made(function, sizes, program, tuple(own))


QUICK = ("summed", "spread")


@needs_compiler
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FUNCTIONS])
def test_every_value_is_right(name: str) -> None:
    """By NumPy. One kernel for all values; its grid is that of the parts."""
    found = made(name)
    assert found.function.unlike(found.sizes, found.program) is None
    for n in VALUES:
        assert found.wrong_at(n) is None, n
    first = found.kernels[0]
    assert f"(n + {PARTS * TILE - 1}) / {PARTS * TILE}" in first.text
    assert first.at({"n": 7, "r": 3}).grid == first.grid or name in ("scaled", *OPEN_ROWS)


MISTAKES: Mapping[str, tuple[str, str]] = {
    "the last round is missing": ("(n + 23) / 24", "n / 24"),
    "a round too few for whole rounds": ("(n + 23) / 24", "(n + 22) / 24"),
    "the end is not guarded": ("index_round0 < n ? __ldg(X_round0) : 0.0f", "__ldg(X_round0)"),
    "one element more": ("index_round0 < n", "index_round0 <= n"),
    "one element less": ("index_round0 < n", "index_round0 < n - 1"),
    "what is beyond counts": (": 0.0f", ": 1.0f"),
    "sums begin with one": ("mad_partial[i0] = 0.0f", "mad_partial[i0] = 1.0f"),
    "rounds overlap": ("round0 * 24", "round0 * 23"),
    "parts overlap": ("bx * 8 + tx", "bx * 7 + tx"),
    "the last part is not added": ("(sum_partial[0] + sum_partial[1]) + sum_partial[2]", "sum_partial[0] + sum_partial[1]"),
}
RIGHT_AT_100 = {"a round too few for whole rounds"}
"""The proof then is of that one size, at which the kernel is right."""


@needs_compiler
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the values that kernels are tested at, and by no proof."""
    before, after = MISTAKES[mistake]
    found = made("summed")
    assert sum(k.text.count(before) for k in found.kernels) > 0, [k.text for k in found.kernels]

    def printed(nest: Nest, options: Options) -> CudaKernel:
        kernel = cuda_kernel(nest, options)
        return replace(kernel, text=kernel.text.replace(before, after))

    asked = found.function, found.sizes, found.program, found.implementations, target("sm_90")
    monkeypatch.setattr(check_module, "cuda_kernel", printed)
    assert check_cuda(*asked, 0).verdict == "refuted"
    monkeypatch.setattr(proof_module, "cuda_kernel", printed)
    proof = proof_of(*asked)
    assert not proof.is_of_class and (proof.verdict != "proved" or mistake in RIGHT_AT_100)


@needs_compiler
def test_what_is_told_of_fewer_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels as they are, where the interpreter has time for all parts; else how many parts were run."""
    found = made("summed", is_looped=True)
    asked = found.function, found.sizes, found.program, found.implementations, target("sm_90"), 0
    whole = check_cuda(*asked)
    assert (whole.verdict, whole.sizes) == ("tested", None)
    assert [v["n"] for v in whole.values] == [0, 1, 23, 24, 25, 49]
    monkeypatch.setattr(check_module, "SMALL", 120)
    fewer = check_cuda(*asked)
    assert (fewer.verdict, fewer.sizes) == ("tested", {"parts of n": 2, "tile of n": 8})


def test_the_numbers_of_parts() -> None:
    def tried(name: str, opened: Mapping[str, int], fixed: Mapping[str, str] | None = None, **sizes: int) -> list[int]:
        options = KernelOptions(target=target("sm_90"), sizes=sizes, run_time=opened, fixed=fixed or {})
        found = parting_of(tensor_kernel(name), options)
        tiles = {v.function.tile for v in found.variants.values() if isinstance(v.function, InParts)}
        assert tiles <= {16 if name == "matvec_t" else 1024}
        return list(found.variants)

    assert tried("dot", {"n": 4}, n=1 << 26) == [1056, 1, 264, 4224]
    assert tried("dot", {"n": 1}, n=8192) == [4, 1]
    assert tried("dot", {"n": 1}, n=2048) == [1]
    assert tried("layer_norm", {"columns": 4}, rows=8, columns=1 << 20) == [132, 1, 33]
    assert tried("layer_norm", {"columns": 4, "rows": 1}, rows=8, columns=1 << 20) == [132, 1, 33]
    assert tried("layer_norm", {"rows": 1}, rows=8, columns=1 << 20) == [1]
    assert tried("matvec_t", {"m": 1}, m=1 << 20, n=64) == [1056, 1, 264, 4224]
    assert tried("matmul", {"k": 1}, k=1 << 20) == [1]
    assert tried("dot", {"n": 4}, {"parts(n)": "37|1"}, n=1 << 20) == [1, 37]
    for wrong in ("0", "513", "x"):
        with pytest.raises(UserError, match=r"or another number up to 512 as parts\(n\), got"):
            tried("dot", {"n": 4}, {"parts(n)": wrong}, n=1 << 20)


@pytest.mark.parametrize("function", [backwards, placed])
def test_functions_that_have_no_such_kernel_say_why(function: TensorFunction) -> None:
    options = KernelOptions(target=target("sm_90"), sizes={"n": 1 << 20}, run_time={"n": 1})
    with pytest.raises(UserError, match="RUN_TIME_SIZE"):
        parting_of(function, options)


def test_rounds_are_no_size_of_a_proof_for_every_value() -> None:
    """Everything else of the stage would be taken."""
    (stage, *_) = made("summed").program.stages
    with pytest.raises(NotAlikeError, match=r"as many iterations of round as its size, got ceil\(n / 24\)"):
        require_whole(stage)
    known = replace(stage, axes=tuple(replace(a, run_time=None) if a.name == "round" else a for a in stage.axes))
    require_whole(known)


@needs_compiler
def test_kernels_are_kept_with_the_lengths_of_what_is_between_them() -> None:
    """`scaled` has an array between its kernels that is as long as the size."""
    found = made("scaled")
    program = class_program(found.function.whole, found.sizes, {"n": 1}, has_strides=True)  # pyright: ignore
    packed = pack_cuda(found.kernels)
    again = unpack_cuda(program, packed)
    assert again == [replace(k, open_loops=()) for k in found.kernels]
    assert {b.name: b.elements for k in again or () for b in k.at({"n": 50}).arrays}["s_parts"] == 50 * PARTS
    for wrong in (
        3,
        {"s_parts": 3},
        {"s_parts": []},
        {"s_parts": [["m", 0]]},
        {"s_parts": [["n", 1 << 20]]},
        {"s_parts": [["n"]]},
    ):
        assert unpack_cuda(program, [{**packed[0], "open_arrays": wrong}]) is None  # pyright: ignore


def test_a_length_that_is_counted_in_rounds() -> None:
    length = RunTimeSize("n", 4, per=24)
    assert [length.at({"n": n}) for n in (0, 1, 24, 25)] == [0, 1, 1, 2]
    assert (length.text, length.divisor, length.is_rounded, length.alone) == ("ceil(n / 24)", 1, True, RunTimeSize("n", 4))
    whole = RunTimeSize("n", 96, per=24)
    assert (whole.divisor, whole.is_rounded) == (4, False)
