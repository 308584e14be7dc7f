"""The model's view of the paper's kernels: stalls by their reasons, and speed (PTXASW, figures 2 and 3, sections 7 and 8)."""

from __future__ import annotations

from collections.abc import Mapping

import click

from warploom.gpu import compile_to_ptx
from warploom.kernels.kernelgen import APPLICATIONS, GPUS, KERNELGEN, Stencil, cuda_source
from warploom.machines import Unit, nearest_architecture
from warploom.ptx.shuffle import Candidate, Decision, Estimate, KernelFacts, ShuffleOptions, Variant, forecast, shuffle
from warploom.ptx.syntax import parse
from warploom.tools.bench.case import Case
from warploom.tools.bench.ptx import PAPERS_APPLICATIONS
from warploom.tools.command.guard import report
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

ARCH = "sm_75"
"""Architecture of the PTX, as in `bench ptx`."""
LIMIT_S = 120.0
MEAN = "mean"
JUST_FASTER = 0.5
"""Percent; a smaller change is none."""
REASONS: Mapping[str, tuple[Unit, ...]] = {
    "texture": ("texture path",),
    "memory throttle": ("load path", "texture path"),
    "memory dependency": ("load path", "texture path", "second-level cache", "memory"),
    "execution dependency": ("latency",),
    "pipeline busy": ("issue", "f32 units", "f64 units", "special units"),
}
"""Reasons for which a profiler says that warps stall, and the units of the model behind each. Source of the meanings: CUDA
Profiler User's Guide, warp state statistics. `other` (branches, clocks) has no unit.
"""
CODES: Mapping[str, Variant] = {"PTXASW": "", "NO LOAD": "no-load", "NO CORNER": "no-corner"}


def facts_of(stencil: Stencil, max_delta: int) -> KernelFacts | None:
    """Facts about a compiled kernel that a policy sees; None when nothing can be shuffled."""
    seen: list[KernelFacts] = []

    def look(facts: KernelFacts, candidate: Candidate) -> Decision:
        seen.append(facts)
        return Decision(False, "only looking")

    module = parse(compile_to_ptx(cuda_source(stencil, "guarded"), ARCH))
    shuffle(module, ShuffleOptions(policy=look, max_delta=max_delta))
    return seen[0] if seen else None


def stalls(facts: KernelFacts, arch: str) -> dict[str, dict[str, float]]:
    """Stalls by reason, in percent, for the original and for each code of the paper."""
    on = nearest_architecture(arch)
    found = {"original": _by_reason(forecast(facts, (), on).before)}
    for code, variant in CODES.items():
        found[code] = _by_reason(forecast(facts, facts.candidates, on, variant).after)
    return found


def faster_percent(facts: KernelFacts, arch: str) -> dict[str, float]:
    """By code of the paper: the change of speed from the original."""
    on = nearest_architecture(arch)
    saved = {code: forecast(facts, facts.candidates, on, variant).gain for code, variant in CODES.items()}
    return {code: round(100 * gain / (1 - gain), 1) + 0.0 for code, gain in saved.items()}


def _summary(speeds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """As section 7 has it, of all kernels; one without shuffles keeps its speed."""
    found = [speed["PTXASW"] for speed in speeds.values()]
    mean = round(sum(found) / len(KERNELGEN), 1)
    return {"best": max(found), "mean": mean, "improved": sum(percent > JUST_FASTER for percent in found)}


def _by_reason(estimate: Estimate) -> dict[str, float]:
    shares = estimate.shares
    return {reason: round(sum(shares[unit] for unit in units), 1) for reason, units in REASONS.items()}


def stalls_case() -> Case:
    return Case("stalls", ("bench-ptx-stalls",), LIMIT_S)


def measure(stopwatch: Stopwatch, progress: Progress) -> Line:
    """By GPU of the paper, kernel (or their mean), code and reason; then the change of speed in percent, by GPU, kernel and code,
    and of all kernels by GPU. A kernel without shuffles is left out of the stalls and their mean."""
    by_gpu: dict[str, dict[str, dict[str, dict[str, float]]]] = {generation: {} for generation in GPUS}
    speeds: dict[str, dict[str, dict[str, float]]] = {generation: {} for generation in GPUS}
    for name, stencil in KERNELGEN.items():
        progress(name)
        facts = facts_of(stencil, 31)
        if facts is None:
            continue
        for generation, gpu in GPUS.items():
            by_gpu[generation][name] = stalls(facts, gpu.arch)
            speeds[generation][name] = faster_percent(facts, gpu.arch)
    summaries = {generation: _summary(kernels) for generation, kernels in speeds.items()}
    for name, paper in PAPERS_APPLICATIONS.items():
        progress(name)
        facts = facts_of(APPLICATIONS[name], 1)
        assert facts is not None
        speeds["Pascal"][paper] = faster_percent(facts, GPUS["Pascal"].arch)
    for kernels in by_gpu.values():
        kernels[MEAN] = {
            code: {reason: round(sum(k[code][reason] for k in kernels.values()) / len(kernels), 1) for reason in REASONS}
            for code in ("original", *CODES)
        }
    return plain_line(
        "stalls", "solved", stopwatch.read(), stalls=by_gpu, faster=speeds, summaries=summaries, counted="model", arch=ARCH
    )


@click.command("bench-ptx-stalls", hidden=True)
@DEBUG_OPTION
def bench_ptx_stalls(debug: bool) -> None:
    """The stalls and speeds of all kernels, in this process, as one JSON line."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        line = measure(stopwatch, progress)
        return Outcome(line, EXIT_BY_STATUS["solved"])

    report("stalls", work, as_json=True, debug=debug)
