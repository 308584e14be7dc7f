"""`warploom demo`: the paper's 1-D convolution, from sketch to a checked run on a signal."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.gpu import compile_cuda, device_arch, device_available, run_kernel
from warploom.ir import Kernel, index_text, run
from warploom.kernels import conv1d
from warploom.synth import Report
from warploom.tools.command.lines import IMPOSSIBLE, Line
from warploom.tools.command.messages import rendered
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.synth.printed import Printed
from warploom.tools.synth.synthesise import SynthOptions, synthesise
from warploom.tools.synth.targets import Target

CASE = "conv1d"
SAMPLES = 100_000
SMOOTHING = (0.25, 0.5, 0.25)
TOLERANCE = 1e-5
"""Tolerance of a sum of three products of numbers of order one in f32."""
PAPER_NAMES = (("row", "swizzle1: which register a lane offers"), ("lane", "swizzle2: which lane it receives from"),
               ("weight", "swizzle3: which weight it multiplies with"))  # fmt: skip


def run_demo(out: Path, output: Output, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """Writes conv1d.cu and conv1d.html into the folder `out`, tells step by step; UserError if the sketch cannot be read."""
    target = Target(CASE, conv1d(len(SMOOTHING)))
    output.say("1. Completing the 1-D convolution of the paper's Listing 3")
    cuda, html = out / "conv1d.cu", out / "conv1d.html"
    outcome = synthesise(target, SynthOptions(cuda=cuda, html=html), stopwatch, progress)
    report, line = outcome.report, outcome.line
    if report is None or report.kernel is None or outcome.printed is None or line["status"] != "solved":
        return replace(outcome, report=None)
    kernel = target.sketch.kernel
    _tell_answer(output, kernel, report)
    output.say(f"   in {line['seconds']} CPU seconds")

    output.say(f"2. Printed as CUDA C++, read back and compared on {line['read_back']} output elements: {cuda}")
    if "registers" in line:
        output.say(
            f"   ptxas for {line['arch']}: {line['registers']} registers, {line['local_bytes']} bytes of local memory, "
            f"{line['spill_bytes']} bytes of spills"
        )
    else:
        output.say("   not compiled: the CUDA tools are not installed (pip install 'warploom[cuda]')")

    output.say(f"3. Running on a noisy chirp of {SAMPLES} samples, weights {SMOOTHING}")
    right = _run(output, kernel, report.kernel, outcome.printed)
    output.say(f"4. See the values move between lanes: open {html} in a browser")
    command = "warploom" if shutil.which("warploom") else os.path.relpath(Path(sys.executable).with_name("warploom"))
    output.say(f"Next: {command} synth mult64-reg --html mult64.html; {command} list; docs/language.md to write your own sketch")
    if right:
        return outcome
    wrong: Line = {"status": "error", "verdict": "refuted", "reason": "internal error: the kernel's results are not NumPy's"}
    return replace(outcome, line={k: v for k, v in line.items() if k != "domain"} | wrong, exit_code=IMPOSSIBLE)


def chirp(samples: int, seed: int = 0) -> NDArray[np.float32]:
    """A tone that rises from 1 to 40 periods per 1000 samples, with noise."""
    time = np.arange(samples) / samples
    phase = 2 * np.pi * samples / 1000 * (time + 19.5 * time**2)
    noise = np.random.default_rng(seed).normal(0, 0.2, samples)
    return (np.sin(phase) + noise).astype(np.float32)


def _tell_answer(output: Output, kernel: Kernel, report: Report) -> None:
    best = report.completions[0]
    names = {hole.name: hole.arg_names for hole in kernel.holes}
    for name, meaning in PAPER_NAMES:
        output.say(f"   {meaning:<42} = {index_text(best.holes[name], names[name])}")
    output.say(f"   {report.verdict} over {report.domain}; fewest accumulates up to space {report.optimal_in}; {report.lift}")


def _run(output: Output, kernel: Kernel, completed: Kernel, printed: Printed) -> bool:
    weights = np.array(SMOOTHING, dtype=np.float32)
    signal = chirp(SAMPLES + len(weights) - 1)
    expected = np.correlate(signal.astype(np.float64), weights.astype(np.float64), mode="valid")
    sizes = {"n": SAMPLES}
    result = run(completed, {"x": signal, "w": weights}, sizes)
    right = not result.diagnostics and _check(output, "reference interpreter", result.arrays["y"], expected)
    for message in rendered(result.diagnostics):
        output.say(message)
    if printed.compiled is None or not device_available():
        output.say("   on a GPU: skipped, no CUDA device here")
        return right
    arrays: dict[str, Any] = {"x": signal, "w": weights, "y": np.zeros(SAMPLES, np.float32)}
    compiled = compile_cuda(printed.source.text, arch=device_arch())
    run_kernel(kernel, printed.source, compiled, arrays, sizes)
    return _check(output, "GPU", arrays["y"], expected) and right


def _check(output: Output, where: str, got: NDArray[Any], expected: NDArray[Any]) -> bool:
    worst = float(np.abs(got - expected).max())
    right = worst <= TOLERANCE
    output.say(
        f"   {where}: largest difference from NumPy {worst:.2g} over {len(expected)} samples: {'right' if right else 'WRONG'}"
    )
    return right
