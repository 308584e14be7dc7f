"""One kernel of the library beside the papers' shape of it, its baseline and others: what they cost on the same data.

The kernel is the one that `explore` picks from the family of that name, where there is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from warploom.gpu import (
    Compiled,
    CudaSource,
    Timing,
    compile_cuda,
    count_executed,
    cuda_source,
    device_arch,
    device_available,
    executed_cycles,
    grid_of,
    machine_counts,
    time_on_device,
)
from warploom.gpu import toolchain_available as can_compile
from warploom.ir import IndexExpr, Kernel, SizeVar, aligned_params, fill, run, tabulate
from warploom.kernels import MORE_NAMES, NAMES, Example, complete_example, find
from warploom.kernels.tunables import is_tunable, tunable_sketch
from warploom.machines import architecture, nearest_architecture
from warploom.schedule.sketches import modelled, text_of
from warploom.tools.bench.case import Case
from warploom.tools.bench.layout_peers import cub, trove
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.guard import report
from warploom.tools.command.lines import SOLVED, Line
from warploom.tools.command.options import CASE_OPTION, DEBUG_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.synth.best import block_fields, decisions_of, picked
from warploom.tools.synth.printed import compiled_fields
from warploom.tools.synth.report import report_line

COUNT_SIZES = {"n": 1 << 14, "h": 128, "w": 128, "pairs": 8, "tiles": 64, "rows": 132}
"""Run-time sizes of the counted execution; whole blocks, so that edges do not blur the ratios."""
TIME_SIZES = {"n": 1 << 24, "h": 4096, "w": 4096, "pairs": 1 << 14, "tiles": 1 << 18, "rows": 1 << 14}
"""Run-time sizes on a device."""
LIMIT_S = 900.0
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
"""Architectures whose machine code is counted."""
SHOWN = "sm_90"
HAND = {"conv1d-3": 56, "conv2d-3": 328, "mult64-reg": 360}
"""Instructions of sm_90 for a thread's outputs in kernels written by hand for the same tiles. They were counted when the goals of
these cases were set; their sources are not kept, so no run counts them again."""
_SECTORS, _MOVED = "global sectors", "wavefronts + shuffles"
_STRUCTURES = re.compile(r"aos-store-crc-(\d+)")


def peers(name: str) -> dict[str, dict[str, int]]:
    """Counts of others for the same movement: a kernel by hand; trove's and CUB's exchanges of registers, by their rules."""
    found: dict[str, dict[str, int]] = {}
    if name in HAND:
        found["hand"] = {"sass_instructions": HAND[name]}
    if (structures := _STRUCTURES.match(name)) is not None:
        words = int(structures[1])
        found |= {"trove": trove(words), "cub": cub(words)}
    return found


def select(pattern: str | None) -> tuple[str, ...]:
    return tuple(name for name in (*NAMES, *MORE_NAMES) if pattern is None or fnmatchcase(name, pattern))


def kernel_case(name: str, *, of_paper: bool = False) -> Case:
    """`of_paper`: of the papers' shape alone, as their figures have it."""
    return Case(name, ("bench-kernel", name, *(("--paper",) if of_paper else ())), LIMIT_S)


def measure(name: str, progress: Progress, *, of_paper: bool = False) -> Line:
    """The line of one kernel: its completion, then `kernel`, `paper`, `baseline` and their ratios. UserError for an unknown name.

    `of_paper`: the kernel is the papers' shape, and none is picked.
    """
    stopwatch = Stopwatch()
    example = find(name)
    report = complete_example(example, progress=progress)
    kernel = example.sketch.kernel
    if report.status != "solved":
        return report_line(name, kernel, report, stopwatch.read())
    holes = report.completions[0].holes
    papers, setting = (kernel, holes), {}
    if not of_paper and is_tunable(name):
        family = tunable_sketch(name)
        tuned = picked(family, SHOWN, LIMIT_S, progress)[0].answers[0][1]
        kernel, report = family.build(**tuned.setting).kernel, tuned.report
        holes = report.completions[0].holes
        setting = {"picked": decisions_of(tuned.setting)}
    progress("counting")
    sizes = {size: COUNT_SIZES[size] for size in kernel.sizes}
    arrays = example.arrays(sizes)
    expected = example.reference(**arrays)
    fields: dict[str, Any] = {"sizes": sizes, **setting}
    parts: dict[str, tuple[Kernel, Mapping[str, IndexExpr]]]
    parts = {"kernel": (kernel, holes), "baseline": (example.baseline.kernel, {})}
    if kernel != papers[0]:
        parts["paper"] = papers
    for part, (form, completions) in parts.items():
        if not can_compile():
            fields[part] = _interpreted(fill(form, completions), arrays, sizes, expected) | _modelled(form, completions, sizes)
            continue
        arch = device_arch() if device_available() else "sm_90"
        printed = cuda_source(form, completions)
        compiled = compile_cuda(printed.text, arch=arch)
        fields[part] = _executed(form, printed, compiled, arrays, sizes, expected) | compiled_fields(compiled)
        fields[part] |= _modelled(form, completions, sizes, compiled.registers)
        progress(f"reading the machine code of the {part}")
        fields[part]["sass"] = _machine_code(form, printed, sizes)
        if device_available():
            progress(f"timing the {part}")
            fields[part] |= _timed(example, form, printed, compiled)
    ours, theirs = fields["kernel"], fields["baseline"]
    fields["counted"] = ours["counted"]
    fields["peers"] = peers(name)
    fields["sectors_ratio"] = _ratio(ours["global_sectors"], theirs["global_sectors"])
    fields["exchange_ratio"] = _ratio(_exchanges(ours), _exchanges(theirs))
    if "median_ms" in fields["kernel"]:
        fields["speedup"] = _ratio(fields["baseline"]["median_ms"], fields["kernel"]["median_ms"])
    right = ours["matches_reference"] and theirs["matches_reference"]
    fields["behind"] = list(_behind(ours, theirs))
    missed = set(fields["behind"]) - allowed(kernel, ours, theirs)
    fields["as_expected"] = right and report.verdict == "proved" and not missed and not _local(ours)
    return report_line(name, kernel, report, stopwatch.read()) | fields


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    if "kernel" not in line:
        return {"seconds": str(line["seconds"])}
    kernel, baseline = cast("dict[str, Any]", line["kernel"]), cast("dict[str, Any]", line["baseline"])
    found = {
        "picked": text_of(cast("dict[str, Any]", line.get("picked", {}))),
        "sectors": f"{kernel['global_sectors']}/{baseline['global_sectors']}",
        "wavefronts+shuffles": f"{_exchanges(kernel)}/{_exchanges(baseline)}",
    }
    if "sass" in kernel:
        counts = [cast("dict[str, Any]", line[part])["sass"][SHOWN] for part in ("kernel", "paper", "baseline") if part in line]
        found["sass/output"] = "/".join(str(c["sass_per_output"]) for c in counts)
        found["shuffles+selects"] = "/".join(f"{c['shuffles']}+{c['selects']}" for c in counts)
    for peer, counts in cast("dict[str, dict[str, int]]", line["peers"]).items():
        found[peer] = "+".join(map(str, counts.values())) + " " + "+".join(what.removeprefix("sass_") for what in counts)
    found["cycles of a block, waited"] = "/".join(
        f"{part['modelled']['block_cycles']}, {part['modelled']['waited_cycles']}" for part in (kernel, baseline)
    )
    if "registers" in kernel:
        found["registers"] = f"{kernel['registers']}/{baseline['registers']}"
    if "median_ms" in kernel:
        found["ms"] = f"{kernel['median_ms']:.3f}/{baseline['median_ms']:.3f} ({line['speedup']}x)"
    return found | ({} if line["as_expected"] else {"BEHIND": ", ".join(_behind(kernel, baseline)) or "see the JSON line"})


def _interpreted(
    kernel: Kernel, arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], expected: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    """Traffic of the kernel as it is written, without a compiler at hand: every access of the sketch is one of the machine."""
    result = run(kernel, dict(arrays), sizes, check_races=False)
    counts = result.counts
    return {
        "global_sectors": counts.global_sectors,
        "shared_wavefronts": counts.shared_wavefronts,
        "shuffles": counts.shuffles,
        "syncs": counts.syncs,
        "arithmetic": counts.arithmetic,
        "counted": "interpreter",
        "matches_reference": not result.diagnostics and all(_same(result.arrays[n], a) for n, a in expected.items()),
    }


def _executed(
    kernel: Kernel,
    source: CudaSource,
    compiled: Compiled,
    arrays: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    expected: Mapping[str, NDArray[Any]],
) -> dict[str, Any]:
    """Traffic of the compiled kernel: addresses from the interpreter of PTX, widths of shared accesses from the SASS."""
    given = {name: array.copy() for name, array in arrays.items()}
    done = count_executed(kernel, source, compiled, given, sizes)
    counts = done.counts
    return {
        "global_sectors": counts.global_sectors,
        "shared_wavefronts": counts.shared_wavefronts,
        "shuffles": counts.shuffles,
        "syncs": counts.barriers,
        "ptx_instructions": counts.instructions,
        "cycles": executed_cycles(counts, nearest_architecture(compiled.arch)),
        "counted": done.counted,
        "matches_reference": all(_same(done.arrays[n].reshape(a.shape), a) for n, a in expected.items()),
    }


def _modelled(
    kernel: Kernel, completions: Mapping[str, IndexExpr], sizes: Mapping[str, int], registers: int = 0
) -> dict[str, Any]:
    """By the model of sketches: what binds the launch, cycles of a block by itself, and those in which it waits for data."""
    found = modelled(fill(kernel, completions), sizes, architecture(SHOWN), registers)
    return {"modelled": {"ms": found.ms, "binds": found.binds} | block_fields(found)}


def _machine_code(kernel: Kernel, source: CudaSource, sizes: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """By architecture: instructions in the text of the kernel, each once, and how many there are for each output of a thread."""
    cells: dict[IndexExpr, int] = {SizeVar(name): value for name, value in sizes.items()}
    outputs = sum(math.prod(int(tabulate(e, cells)) for e in p.shape) * p.dtype.lanes for p in kernel.params if p.is_output)
    threads = kernel.threads * math.prod(grid_of(kernel, sizes))
    found: dict[str, dict[str, float]] = {}
    for arch in ARCHITECTURES:
        compiled = compile_cuda(source.text, arch=arch)
        counts = machine_counts(compiled.cubin)[source.name]
        found[arch] = {
            "sass_instructions": counts.instructions,
            "sass_per_output": round(counts.instructions * threads / max(1, outputs), 2),
            "shuffles": counts.shuffles,
            "selects": counts.selects,
            "registers": compiled.registers,
        }
    return found


def _same(got: NDArray[Any], expected: NDArray[Any]) -> bool:
    if np.issubdtype(expected.dtype, np.floating):
        return bool(np.allclose(got, expected, rtol=1e-4, atol=1e-4))
    return bool(np.array_equal(got, expected))


def _exchanges(counts: Mapping[str, Any]) -> int:
    return int(counts["shared_wavefronts"]) + int(counts["shuffles"])


def _behind(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, ...]:
    found = (_SECTORS,) if ours["global_sectors"] > theirs["global_sectors"] else ()
    return found + ((_MOVED,) if _exchanges(ours) > _exchanges(theirs) else ())


def allowed(kernel: Kernel, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> frozenset[str]:
    """Where a kernel may be behind its baseline and still be as it should be.

    Sectors of outputs side by side: loads ask for the same sectors again, and the first-level cache answers; or a warp needs one
    more sector for what the next one holds. Exchanges, where the whole launch takes no more cycles than the baseline's.
    """
    found: set[str] = set()
    if aligned_params(kernel):
        found.add(_SECTORS)
    if "cycles" in ours and ours["cycles"]["cycles"] <= theirs["cycles"]["cycles"]:
        found.add(_MOVED)
    return frozenset(found)


def _local(fields: Mapping[str, Any]) -> bool:
    return bool(fields.get("local_bytes", 0) or fields.get("spill_bytes", 0))


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None


def _timed(example: Example, kernel: Kernel, source: CudaSource, compiled: Compiled) -> dict[str, float]:
    sizes = {size: TIME_SIZES[size] for size in kernel.sizes}
    timing: Timing = time_on_device(kernel, source, compiled, example.arrays(sizes), sizes)
    return {"median_ms": timing.median_ms, "best_ms": timing.best_ms}


@click.command("kernels")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
def bench_kernels(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Count, compile and (on a GPU) time every kernel beside the papers' shape of it and its shared-memory baseline."""
    cases = [kernel_case(name) for name in select(pattern)]
    run_chosen(cases, pattern, as_json, columns, lambda line: line, journal, (*NAMES, *MORE_NAMES))


@click.command("bench-kernel", hidden=True)
@click.argument("name")
@click.option("--paper", "of_paper", is_flag=True, help="Count the papers' shape alone.")
@DEBUG_OPTION
def bench_kernel(name: str, of_paper: bool, debug: bool) -> None:
    """One case of `bench kernels`, in this process, as one JSON line."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        return Outcome(measure(name, progress, of_paper=of_paper), SOLVED)

    report(name, work, as_json=True, debug=debug)
