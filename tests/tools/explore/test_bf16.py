"""Tensor functions of bf16 explored for CPUs: what is refused, what a verdict says, how files take it."""

# ruff: noqa: F821 (indices and sizes are names of the language)

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import warploom as wl
from warploom import bf16, f32
from warploom.core import UnsupportedError
from warploom.schedule.backbone import Program
from warploom.schedule.cpu import DIFFERENT_SUMS, find_compiler, plain_nest
from warploom.schedule.search import CpuEvaluator, Implementation, Timed
from warploom.schedule.targets import TARGETS
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.check import Checked, check_cpu
from warploom.tools.explore.data import data_for
from warploom.tools.explore.options import KernelOptions, program_of
from warploom.tools.explore.package import package_of
from warploom.tools.explore.result import Explored, judged_line

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
PLAIN, WITH_WORDS = TARGETS["cpu"], replace(TARGETS["cpu"], words=frozenset(("bf16",)))
SIZES = {"m": 6, "n": 10, "k": 8}


@wl.tensor
def products(A: bf16["m", "k"], B: bf16["n", "k"], C: wl.out[bf16["m", "n"]]):
    C[m, n] = bf16(sum(f32(A[m, k]) * f32(B[n, k]), over=k))


@wl.tensor
def doubled(X: bf16["n"], Y: wl.out[bf16["n"]]):
    Y[i] = X[i] + X[i]


@wl.tensor
def scaled(a: bf16, X: bf16["n"], Y: wl.out[f32["n"]]):
    Y[i] = f32(a) * f32(X[i])


def options(**more: object) -> KernelOptions:
    return replace(KernelOptions(target=PLAIN, sizes=SIZES), **more)  # type: ignore[arg-type]


def nests_of(program: Program) -> tuple[Any, ...]:
    """The stages as they are written, whether in words or not."""
    stages = (replace(stage, made_of=(), rewritten=None) for stage in program.stages)
    return tuple(Implementation(cast(Any, None), plain_nest(stage), "0" * 64, {}, 0.5) for stage in stages)


@pytest.mark.parametrize("target", [PLAIN, WITH_WORDS], ids=["numbers", "words"])
def test_a_verdict_says_whose_sums_they_are(target: object) -> None:
    program = program_of(products, options(target=target))
    explored = Explored(program, nests_of(program))
    line = judged_line("p", Checked("tested", 60), 1.0, (), {"sizes": SIZES}, explored, options(), Stopwatch())
    assert line["verdict"] == "tested" and line.get("domain") == (DIFFERENT_SUMS if target is WITH_WORDS else None)
    assert "exact" not in DIFFERENT_SUMS
    line = judged_line("p", Checked("unchecked", 0), 1.0, (), {"sizes": SIZES}, explored, options(), Stopwatch())
    assert "domain" not in line


@needs_compiler
@pytest.mark.parametrize("target", [PLAIN, WITH_WORDS], ids=["numbers", "words"])
def test_results_are_compared_as_what_they_are(target: object) -> None:
    program = program_of(products, options(target=target))
    data = data_for(program, None, 0)
    assert (data.content, data.tolerance, data.in_bf16) == ("whole", 0.0, frozenset()) and data.outputs["C"].dtype == np.float32
    nests = [i.nest for i in nests_of(program)]
    assert check_cpu(program, nests, data, 1).verdict == "tested"
    other = replace(data, outputs={"C": data.outputs["C"] * 1.02})
    assert check_cpu(program, nests, other, 1).verdict == "refuted"


@pytest.mark.parametrize(
    ("function", "said"), [(doubled, "an integer type of add, got bf16"), (scaled, "scalar of a type that C has, got a of bf16")]
)
def test_arithmetic_and_scalars_are_refused_at_once(function: object, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        program_of(function, options(sizes={"n": 8}))  # type: ignore[arg-type]


def test_files_take_words() -> None:
    program = program_of(products, options())
    written = package_of(program, [i.nest for i in nests_of(program)], SIZES, options())
    assert "const uint16_t *A" in written["products.h"] and "('C', 'uint16', (6, 10), True)" in written["products.py"]
    operator = written["products_torch.py"]
    assert "_check('A', A, torch.bfloat16, (6, 8))" in operator and "torch.empty((6, 10), dtype=torch.bfloat16" in operator
    assert "A.contiguous().view(torch.uint16).numpy()" in operator and "C=made[0].view(torch.uint16).numpy()" in operator


@needs_compiler
def test_kernels_with_words_are_measured() -> None:
    program = program_of(products, options(target=WITH_WORDS))
    data = data_for(program, None, 0)
    judge = CpuEvaluator(program.stages[0], arrays=data.inputs, reference=data.outputs)
    with judge.open():
        ((_, found),) = judge.measure([i.nest for i in nests_of(program)], None)
    assert isinstance(found, Timed)
