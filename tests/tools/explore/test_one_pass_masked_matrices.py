"""Masked attention by whole warps that leaves out tiles at both ends: run, proved, and not proved with mistakes."""

# pyright: basic, reportArgumentType=false, reportOptionalMemberAccess=false

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.schedule.online.attention_forms import by_numpy, causal_f16
from tests.schedule.online.masked_forms import MASKS, causal_bf16, masked_by_numpy, window_bf16, window_f16
from tests.tools.explore.test_one_pass import needs_compiler
from tests.tools.explore.test_one_pass_matrices import begun, rewritten

from warploom.schedule.backbone import Backbone, random_inputs
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel, interpret_all
from warploom.schedule.nest import Nest, loops, products_of, verify
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.proof import compiled_for_proof, prove_kernel

pytestmark = pytest.mark.slow
ROWS, TILE = 48, 16
"""Three blocks of 16 rows, three tiles of keys."""
FORMS = (causal_f16, causal_bf16, window_f16, window_bf16)
ROUNDING = {"causal_f16": "f16", "causal_bf16": "bf16", "window_f16": "f16", "window_bf16": "bf16"}


@cache
def made(function) -> tuple[Backbone, Nest, CudaKernel]:
    heads = {"h": 1} if function is causal_f16 else {}
    stage = rewritten(function, {**heads, "n": ROWS, "m": ROWS, "d": 16}, TILE)
    nest = begun(stage, 2)
    return stage, nest, cuda_kernel(nest, Options(arch="sm_90"))


def judged(function, text: str | None = None) -> CompiledProof:
    stage, _, kernel = made(function)
    kernel = replace(kernel, text=text or kernel.text)
    return prove_kernel(stage.plain, kernel, compiled_for_proof(stage.plain, kernel))


@pytest.mark.parametrize("function", FORMS, ids=lambda f: f.name)
def test_tiles_are_left_out_and_the_results_are_those_of_numpy(function) -> None:
    stage, nest, kernel = made(function)
    assert verify(nest) == () and len(products_of(nest)) == 2
    (loop,) = [x for x in loops(nest.body) if x.only]
    (block,) = [x for x in loops(nest.body) if x.name == "i0"]
    mask = MASKS[function] if function in MASKS else MASKS[causal_bf16]
    needed = mask(*np.indices((ROWS, ROWS))).reshape(3, TILE, 3, TILE).any(axis=(1, 3))
    for b in range(3):
        held = [all(0 <= g.index.at({block.number: 2 - b, loop.number: j}) < g.bound for g in loop.only) for j in range(3)]
        assert held == list(needed[b])
    assert not needed.all() and (function in (causal_f16, causal_bf16) or not needed[:, 0].all())
    data = random_inputs(stage.regions, 3)
    outcome = interpret_all([kernel], data, {"scale": 0.3})
    assert not outcome.findings
    wanted = by_numpy(data, 0.3, is_causal=True) if function is causal_f16 else masked_by_numpy(function, data, 0.3)
    step = 2**-11 if ROUNDING[function.name] == "f16" else 2**-8
    np.testing.assert_allclose(outcome.arrays["Y"].reshape(wanted.shape), wanted, atol=2 * step)


@needs_compiler
@pytest.mark.parametrize("function", FORMS, ids=lambda f: f.name)
def test_kernels_that_leave_out_tiles_are_proved(function) -> None:
    proof = judged(function)
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "data are finite numbers" in proof.domain
    assert f"weights of 0 to 1 rounded to {ROUNDING[function.name]} taken as exact" in proof.domain
    assert "mma.sync: its sums taken as sums of reals" in proof.domain


MISTAKES = {
    "a window that begins a tile too late": ("max(0, -bx + 1)", "max(0, -bx + 2)"),
    "a window that ends a tile too early": ("const int j0_end = -bx + 3;", "const int j0_end = -bx + 2;"),
    "a tile too many": ("const int j0_end = -bx + 3;", "const int j0_end = -bx + 4;"),
    "a tile copied beyond the last": ("if (j0 < j0_end - 1)", "if (true)"),
}


@needs_compiler
@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_not_proved(mistake: str) -> None:
    right, wrong = MISTAKES[mistake]
    text = made(window_f16)[2].text
    assert right in text, text
    assert judged(window_f16, text.replace(right, wrong)).verdict != "proved"
