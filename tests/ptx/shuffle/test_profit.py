"""When a shuffle pays: the model against the paper's words, and the policy made of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.kernels.kernelgen import KERNELGEN, cuda_source
from warploom.kernels.kernelgen.paper import GPUS, signs
from warploom.machines import ARCHITECTURES, nearest_architecture
from warploom.ptx.shuffle import (
    LEAST_GAIN,
    Candidate,
    Decision,
    KernelFacts,
    Profitable,
    ShuffleOptions,
    forecast,
    shuffle,
)
from warploom.ptx.shuffle.profit import _changed
from warploom.ptx.shuffle.usage import work_of
from warploom.ptx.syntax import parse

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")

REUSED = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 a, .param .u64 b)
{
	.reg .f32 %f<4>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd5], %f3;
	ret;
}
"""


@cache
def facts_of(name: str) -> KernelFacts:
    seen: list[KernelFacts] = []

    def look(facts: KernelFacts, candidate: Candidate) -> Decision:
        seen.append(facts)
        return Decision(False, "only looking")

    shuffle(parse(compile_to_ptx(cuda_source(KERNELGEN[name], "guarded"), "sm_75")), ShuffleOptions(policy=look))
    return seen[0]


@needs_compiler
def test_the_direction_of_the_papers_kernels_beats_both_constant_answers() -> None:
    known = {key: sign for key, sign in signs().items() if sign and key[1] in KERNELGEN}
    facts = {name: facts_of(name) for name in {name for _, name in known}}
    right = sum(
        (forecast(facts[name], facts[name].candidates, nearest_architecture(GPUS[generation].arch)).gain > 0) == (sign > 0)
        for (generation, name), sign in known.items()
    )
    always = sum(sign > 0 for sign in known.values())
    assert right > max(always, len(known) - always)


@needs_compiler
def test_the_texture_path_of_maxwell_pays_and_the_cache_of_volta_does_not() -> None:
    facts = facts_of("gaussblur")
    assert forecast(facts, facts.candidates, nearest_architecture("sm_52")).gain > 0.2
    assert forecast(facts, facts.candidates, nearest_architecture("sm_70")).gain < 0


@needs_compiler
@pytest.mark.parametrize("name", ["gaussblur", "gameoflife", "divergence"])
def test_the_policy_applies_only_what_the_model_expects_to_gain(name: str) -> None:
    module = parse(compile_to_ptx(cuda_source(KERNELGEN[name], "guarded"), "sm_75"))
    facts = facts_of(name)
    for arch in ARCHITECTURES:
        (report,) = shuffle(module, ShuffleOptions(policy=Profitable(arch))).reports
        if report.applied:
            assert forecast(facts, report.applied, nearest_architecture(arch)).gain >= LEAST_GAIN
            assert report.predicted_gain == pytest.approx(forecast(facts, report.applied, nearest_architecture(arch)).gain)
        else:
            assert all(arch in judged.decision.reason for judged in report.judged)


def test_a_value_of_the_same_thread_is_always_taken() -> None:
    (report,) = shuffle(parse(REUSED), ShuffleOptions(policy=Profitable("sm_90"))).reports
    assert [(j.candidate.kind, j.decision.applies) for j in report.judged] == [("reuse", True)]


def test_an_architecture_between_two_of_the_table_is_taken_for_the_older() -> None:
    assert nearest_architecture("sm_87").name == "sm_86"
    assert nearest_architecture("sm_90a").name == "sm_90"
    assert nearest_architecture("sm_30").name == next(iter(ARCHITECTURES))


@pytest.mark.parametrize(("width", "words"), [(8, 1), (16, 1), (32, 1), (64, 2)])
def test_a_shuffle_moves_words(width: int, words: int) -> None:
    """Words have 32 bits: narrow elements take one each, wide ones two and two more instructions to take them apart and join
    them."""
    seen: list[tuple[KernelFacts, Candidate]] = []

    def look(facts: KernelFacts, candidate: Candidate) -> Decision:
        seen.append((facts, candidate))
        return Decision(False, "only looking")

    neighbours = REUSED.replace("%f2, [%rd4]", "%f2, [%rd4+4]")
    shuffle(parse(neighbours), ShuffleOptions(policy=look))
    ((facts, candidate),) = seen
    assert candidate.kind == "shuffle" and candidate.width == 32
    before = work_of(facts.routine, facts.graph)
    after = _changed(facts, before, [replace(candidate, width=width, elements=3)])
    assert after.shuffles - before.shuffles == 3 * words + 1  # and one for each run of covered loads
    narrow = _changed(facts, before, [replace(candidate, width=32, elements=3)])
    assert after.issued - narrow.issued == (3 + 2 * 6 if width == 64 else 0)
