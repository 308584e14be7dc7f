"""Registers of the paper's kernels before and after shuffles (PTXASW, section 7), as ptxas assigns them.

Today's ptxas knows none of the paper's boards, so all are counted for the oldest target that it has.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from warploom.gpu import assemble, compile_to_ptx, registers_used
from warploom.kernels.kernelgen import KERNELGEN, Stencil, cuda_source
from warploom.ptx.shuffle import Candidate, Decision, KernelFacts, ShuffleOptions, shuffle
from warploom.ptx.syntax import parse
from warploom.tools.bench.case import Case
from warploom.tools.bench.ptx_stalls import ARCH, CODES
from warploom.tools.command.guard import report
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

LIMIT_S = 240.0


def registers_case() -> Case:
    return Case("registers", ("bench-ptx-registers",), LIMIT_S)


def added(stencil: Stencil) -> dict[str, int]:
    """By code of the paper: registers of a thread above those of the original; empty without shuffles."""
    module = parse(compile_to_ptx(cuda_source(stencil, "guarded"), ARCH))
    texts = {code: shuffle(module, ShuffleOptions(policy=_all, variant=variant)) for code, variant in CODES.items()}
    if not all(any(kernel.applied for kernel in text.reports) for text in texts.values()):
        return {}
    before = _used(module.text)
    return {code: _used(found.text) - before for code, found in texts.items()}


def _all(facts: KernelFacts, candidate: Candidate) -> Decision:
    return Decision(True, "every shuffle, as the paper")


def _used(ptx: str) -> int:
    """The most registers of a thread that a kernel of the module has."""
    return max(registers_used(assemble(ptx, ARCH)[1]))


def mean(kernels: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Mean of all kernels; those without shuffles keep their registers."""
    return {code: round(sum(kernel[code] for kernel in kernels.values()) / len(KERNELGEN), 1) + 0.0 for code in CODES}


def measure(stopwatch: Stopwatch, progress: Progress) -> Line:
    """Registers that each code adds, by kernel with shuffles, and their mean."""
    kernels: dict[str, dict[str, int]] = {}
    for name, stencil in KERNELGEN.items():
        progress(name)
        if found := added(stencil):
            kernels[name] = found
    return plain_line(
        "registers", "solved", stopwatch.read(), added=mean(kernels), kernels=kernels, counted="sass", arch=ARCH
    )  # fmt: skip


@click.command("bench-ptx-registers", hidden=True)
@DEBUG_OPTION
def bench_ptx_registers(debug: bool) -> None:
    """The registers of all kernels, in this process, as one JSON line."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        line = measure(stopwatch, progress)
        return Outcome(line, EXIT_BY_STATUS["solved"])

    report("registers", work, as_json=True, debug=debug)
