"""Kernels in one pass that leave out tiles of which a block's rows need nothing: run, proved, and not proved with mistakes."""

# pyright: basic, reportArgumentType=false, reportOptionalMemberAccess=false

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.schedule.cuda.test_rounds import BOUNDS, band
from tests.schedule.nest.interpreter import interpret
from tests.schedule.online.attention_forms import causal, random_arrays
from tests.schedule.online.masked_forms import MASKS, masked_by_numpy, window
from tests.tools.explore.test_one_pass import needs_compiler

from warploom.core import UnsupportedError, UserError
from warploom.schedule.backbone import Backbone, Program, read_once
from warploom.schedule.bound import Bound
from warploom.schedule.choices import default_order, kernel_space
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel, interpret_all
from warploom.schedule.nest import loops, verify
from warploom.schedule.online import online
from warploom.schedule.search import Implementation, KernelModel, Step
from warploom.schedule.targets import target
from warploom.tools.explore.check import check_cuda
from warploom.tools.explore.proof import prove_kernel
from warploom.tools.explore.shortened import NO_MASK, may_show_masks, program_at, shortened, shows_masks

SM_90 = target("sm_90")
SIZES = {"n": 12, "m": 12, "d": 2}


@cache
def made(function, stages: str = "1") -> tuple[Backbone, Implementation, CudaKernel]:
    """Two rows to a block, tiles of 3, which are copied ahead with `stages` of 2: else the first of what is left to decide."""
    stage = online(read_once(function.program(SIZES, {f"{function.name}.i": ((2,),)}).stages[0]), 3)
    assert isinstance(stage, Backbone) and stage.rewritten is not None
    space = kernel_space(stage, SM_90)
    candidate = space.root()
    wanted = [
        ("dim_kind", x.statement, ("THREAD" if x.level else "BLOCK") if stage.axes[x.axis].name == "i" else "LOOP")
        for x in space.objects.loops
        if stage.axes[x.axis].name == "i" or x.axis == stage.rewritten.outer
    ]
    wanted += [("stages", t.region, stages) for t in space.objects.temporaries]
    for choice, number, value in wanted:
        values = [str(v) for v in space.instance.universe(choice, number)]
        narrowed = candidate.restrict(choice, (number,), 1 << values.index(value)) if value in values else None
        candidate = candidate if narrowed is None else narrowed
    while (decision := space.decisions(candidate, default_order(SM_90))) is not None:
        children = (candidate.restrict(decision.choice, decision.arguments, a.mask) for a in decision.alternatives)
        candidate = next(c for c in children if c is not None)
    model = KernelModel(space, Bound(space))
    found = model.answer(Step(candidate))
    assert found is not None, model.contradictions
    return stage, found[1], cuda_kernel(found[1].nest, Options(arch="sm_90"))


@pytest.mark.parametrize(("function", "stages"), [(causal, "1"), (window, "2")], ids=lambda f: getattr(f, "name", f))
def test_tiles_that_no_row_of_a_block_needs_are_left_out(function, stages: str) -> None:
    stage, implementation, _ = made(function, stages)
    nest = implementation.nest
    assert verify(nest) == ()
    (loop,) = [x for x in loops(nest.body) if x.only]
    assert loop.stages == int(stages)
    (block,) = [x for x in loops(nest.body) if x.name == "i0"]
    needed = MASKS[function](*np.indices((12, 12))).reshape(6, 2, 4, 3).any(axis=(1, 3))
    for b in range(6):
        for j in range(4):
            held = all(0 <= g.index.at({block.number: 5 - b, loop.number: j}) < g.bound for g in loop.only)
            assert held == needed[b, j], (b, j)
    data = random_arrays(stage)
    found = interpret(nest, data, {"scale": 0.7})["Y"].reshape(12, 2)
    np.testing.assert_allclose(found, masked_by_numpy(function, data, 0.7), rtol=1e-5)


@needs_compiler
@pytest.mark.parametrize(("function", "stages"), [(causal, "1"), (window, "2")], ids=lambda f: getattr(f, "name", f))
def test_printed_kernels_leave_them_out_and_are_proved(function, stages: str) -> None:
    stage, _, kernel = made(function, stages)
    data = random_arrays(stage)
    outcome = interpret_all([kernel], data, {"scale": 0.7})
    assert not outcome.findings
    np.testing.assert_allclose(outcome.arrays["Y"].reshape(12, 2), masked_by_numpy(function, data, 0.7), rtol=1e-4)
    assert "const int j0_end = (-bx * 2 + 14) / 3;" in kernel.text, kernel.text
    proof = judged(function, stages, kernel.text)
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "data are finite numbers" in proof.domain


def judged(function, stages: str, text: str):
    stage, _, kernel = made(function, stages)
    return prove_kernel(stage.plain, replace(kernel, text="#define expf __expf\n" + text))


MISTAKES = {
    "a tile too early": (causal, "1", "(-bx * 2 + 14) / 3", "(-bx * 2 + 11) / 3"),
    "the first row of a block": (causal, "1", "(-bx * 2 + 14) / 3", "(-bx * 2 + 13) / 3"),
    "a tile too late": (causal, "1", "(-bx * 2 + 14) / 3", "(-bx * 2 + 17) / 3"),
    "rows of another block": (causal, "1", "(-bx * 2 + 14) / 3", "(bx * 2 + 4) / 3"),
    "one round more": (causal, "1", "j0 < j0_end", "j0 <= j0_end"),
    "the diagonal masked": (causal, "1", " <= ", " < "),
    "a window that begins a tile too late": (window, "2", "(-bx * 2 + 8) / 3", "(-bx * 2 + 11) / 3"),
    "the window of the last row": (window, "2", "(-bx * 2 + 8) / 3", "(-bx * 2 + 9) / 3"),
    "a window that ends a tile too early": (window, "2", "(-bx * 2 + 14) / 3", "(-bx * 2 + 11) / 3"),
    "the wrong copy of the first tile": (window, "2", "j0_begin % 2", "0"),
    "the last tile not copied": (window, "2", "if (j0 < j0_end - 1)", "if (j0 < j0_end - 2)"),
    "a tile copied beyond the last": (window, "2", "if (j0 < j0_end - 1)", ""),
}


@needs_compiler
@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_not_proved(mistake: str) -> None:
    function, stages, right, wrong = MISTAKES[mistake]
    text = made(function, stages)[2].text
    assert right in text, text
    try:
        proof = judged(function, stages, text.replace(right, wrong))
    except UnsupportedError as error:  # no tile of a row, a division by 0
        told = error.diagnostics[0].message
        assert "a division by zero" in told or "arithmetic on an infinity" in told, told
    else:
        assert proof.verdict != "proved", mistake


def program_of(stage: Backbone) -> Program:
    return replace(causal.program(SIZES), stages=(stage,))


def test_small_sizes_have_the_tiles_of_two_blocks() -> None:
    stage, implementation, _ = made(causal)
    sizes = shortened(stage, implementation, 2, 1)
    outer = next(n for n, e in enumerate(stage.extents) if e.axis == stage.rewritten.outer)
    assert sizes[outer] == 2, "four rows have elements in two tiles of three"
    unmasked = replace(stage, rewritten=replace(stage.rewritten, mask=None))
    assert shortened(unmasked, implementation, 2, 1)[outer] == 1


@needs_compiler
def test_a_small_size_shows_what_the_mask_leaves_out() -> None:
    stage, implementation, _ = made(causal)
    found = check_cuda(causal, SIZES, program_of(stage), [implementation], SM_90, 0)
    assert (found.verdict, found.sizes) == ("tested", {"n": 4, "m": 9, "d": 2})


@needs_compiler
def test_sizes_that_show_nothing_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, implementation, _ = made(causal)
    for limit in ("SMALL", "_MOST_POINTS"):
        monkeypatch.setattr(f"warploom.tools.explore.check.{limit}", 1)
    monkeypatch.setattr("warploom.tools.explore.check.points_of", lambda program: 1 if program.stages[0].axes[0].size < 12 else 2)
    nest = band(BOUNDS["a window"])
    found = check_cuda(causal, SIZES, program_of(stage), [replace(implementation, nest=nest)], SM_90, 0)
    assert (found.verdict, found.reason) == ("unchecked", NO_MASK)


def test_all_ends_must_be_shown() -> None:
    whole, none, up, window_of = (band(BOUNDS[name]) for name in ("all", "all", "up to the block", "a window"))
    assert shows_masks([whole], [none]) and shows_masks([up], [window_of]) and shows_masks([up], [up])
    assert not shows_masks([up], [whole]) and not shows_masks([window_of], [up])
    stage, _, _ = made(causal)
    assert may_show_masks([up], program_of(stage)) and not may_show_masks([window_of], program_of(stage))
    assert not may_show_masks([up], program_of(stage.plain)) and may_show_masks([whole], program_of(stage.plain))


def test_a_form_with_other_instructions_is_refused() -> None:
    stage, implementation, _ = made(causal)
    with pytest.raises(UserError, match="causal takes another form at a small size"):
        program_at(causal, SIZES, program_of(stage), [shortened(stage, implementation, 2, 1)])
