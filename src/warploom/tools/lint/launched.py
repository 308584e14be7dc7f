"""One kernel of a file, run for one launch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.gpu import is_architecture
from warploom.ptx import Counts, Launch, Routine, launch
from warploom.ptx.simt import Argument
from warploom.tools.command.lines import EXIT_BY_STATUS, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.lint.advice import advice, repeated_loads
from warploom.tools.lint.findings import Found, costs, merged, mistakes
from warploom.tools.lint.names import demangled, plain_name
from warploom.tools.lint.python_kernels import TritonKernel, constant, is_python_kernel, python_kernel
from warploom.tools.lint.resources import resources
from warploom.tools.lint.silenced import read_baseline, split, write_baseline
from warploom.tools.lint.sources import Compilation, Source, kernel_named
from warploom.tools.ptx.arguments import arguments, extents, symbols, unread

_EXAMPLES = dict.fromkeys(("b64", "u64"), "random:f32:1024") | {"s64": "i64:", "f32": "f32:1", "f64": "f64:1"}
"""An argument for a parameter of each type: those of 64 bits mostly are arrays. Integers get their number below."""


@dataclass(frozen=True, slots=True)
class LintOptions:
    kernel: str | None = None
    launch: tuple[str, str] | None = None
    """Grid and block as texts."""
    arguments: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    """`NAME=VALUE` for each `tl.constexpr` parameter of a Triton kernel."""
    shared_bytes: int = 0
    cluster: str | None = None
    cooperative: bool = False
    limit: int | None = None
    is_strict: bool = False
    finds_repeated_loads: bool = False
    baseline: Path | None = None
    new_baseline: Path | None = None
    compilation: Compilation = field(default_factory=Compilation)
    has_notes: bool = True


@dataclass(frozen=True, slots=True)
class Linted:
    """Findings in a launch of a kernel, and the outcome that is reported."""

    case: str
    found: tuple[Found, ...]
    silenced: tuple[Found, ...]
    outcome: Outcome
    source: Source | None = None
    """None: a launch on symbols."""
    counts: Counts | None = None


def lint(path: str, options: LintOptions, stopwatch: Stopwatch, source: Source | None = None) -> Linted:
    """`source`: a file of CUDA or PTX that has been read before. UserError for a file that is no kernel, and for a launch that
    does not fit it."""
    known = Counter[str]() if options.baseline is None else read_baseline(options.baseline)
    launched = _launched(path, options, source)
    source, name = launched.source, launched.name
    routine = source.program.routines[name]
    case = path if is_python_kernel(path) else f"{path}:{demangled(name)}"
    if launched.shape is None:
        return Linted(case, (), (), _without_launch(case, path, source, routine, stopwatch))
    ran: Launch | None = None
    reason = ""
    try:
        ran = launch(
            source.program, name, grid=launched.shape[0], block=launched.shape[1], args=launched.values,
            symbols=symbols(options.symbols), dynamic_shared_bytes=launched.shared_bytes, counts=True, limit=options.limit,
            cluster=None if options.cluster is None else extents(options.cluster, "cluster"),
            cooperative=options.cooperative, equal_stores_race=launched.equal_stores_race,
        )  # fmt: skip
    except UnsupportedError as error:
        found_at = error.diagnostics[0]
        place = source.places(found_at.span.line)[0]
        reason = f"not run to its end: {found_at.message} at {place.file}:{place.line}"
    found: list[Found] = []
    if ran is not None:
        told = mistakes(ran.findings, source, name, launched.values)
        found += [replace(one, message=launched.named(one.message)) for one in told]
        if ran.counts is not None:
            found += [*costs(ran.counts, source, name), *advice(ran.counts, source, name)]
        if ran.status == "limit":
            reason = "the limit of executed instructions was reached"
    arch = _assembled_for(source, options.compilation.arch)
    found += resources(source, name, arch, math.prod(launched.shape[1]), launched.shared_bytes)
    found = merged([*found, *(repeated_loads(source, name) if options.finds_repeated_loads else [])])
    found = [one for one in found if options.has_notes or one.level != "note"]
    if options.new_baseline is not None:
        write_baseline(options.new_baseline, found)
    counting, silenced = split(found, known)
    outcome = _outcome(case, options, counting, silenced, ran, reason, stopwatch)
    return Linted(case, tuple(counting), tuple(silenced), outcome, source, None if ran is None else ran.counts)


@dataclass(frozen=True, slots=True)
class _Launched:
    """A kernel and what it is launched with."""

    source: Source
    name: str
    shape: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Grid and block."""
    values: Sequence[Argument] = ()
    shared_bytes: int = 0
    equal_stores_race: bool = True
    named: Callable[[str], str] = str
    """Messages with the user's numbers of arguments."""


def _launched(path: str, options: LintOptions, source: Source | None) -> _Launched:
    shape = None
    if options.launch is not None:
        shape = extents(options.launch[0], "launch's grid"), extents(options.launch[1], "launch's block")
    if is_python_kernel(path):
        return _of_python(path, shape, options)
    if options.constants:
        raise UserError(Diagnostic("CONSTANT", "expected --const for a Triton kernel, FILE.py:NAME; a macro of CUDA is -D"))
    source = source or Source(path, options.compilation, kernel=options.kernel)
    name = kernel_named(source, options.kernel)
    if shape is None:
        return _Launched(source, name)
    routine = source.program.routines[name]
    values = arguments(options.arguments, len(routine.parameters), demangled(name), unread(source.program, routine))
    return _Launched(source, name, shape, values, options.shared_bytes)


def _of_python(path: str, shape: tuple[tuple[int, ...], tuple[int, ...]] | None, options: LintOptions) -> _Launched:
    kernel = python_kernel(path)
    if shape is None:
        of_triton = " with 32 times num_warps (a power of two) as BLOCK" if isinstance(kernel, TritonKernel) else ""
        message = f"expected --launch GRID BLOCK{of_triton}, got none"
        texts = " ".join(["--arg ..."] * len(kernel.arguments) + [f"--const {name}=..." for name in kernel.constants])
        raise UserError(Diagnostic("LAUNCH_SHAPE", message, fix=f"Write: --launch 4 128 {texts}"))
    values = arguments(options.arguments, len(kernel.arguments), kernel.name)
    made = kernel.launchable(values, dict(map(constant, options.constants)), options.compilation, math.prod(shape[1]))
    block = made.block(shape[1])
    whole = made.grid(shape[0]), (block,) if isinstance(block, int) else tuple(block)
    return _Launched(
        made.source, made.name, whole, made.arguments(shape[0]), made.shared_bytes, not made.is_of_triton, made.named
    )


def _assembled_for(source: Source, arch: str) -> str:
    target = source.program.module.directive("target").partition(",")[0].strip()
    return arch if source.is_compiled or not is_architecture(target) else target


def is_wrong(found: Found, *, is_strict: bool) -> bool:
    """Whether it refutes the launch; `is_strict`: warnings do, too."""
    return found.level == "error" or (is_strict and found.level == "warning")


def _outcome(
    case: str, options: LintOptions, found: Sequence[Found], silenced: Sequence[Found], ran: Launch | None, reason: str,
    stopwatch: Stopwatch,
) -> Outcome:  # fmt: skip
    fields: dict[str, Any] = {
        "findings": len(found), "silenced": len(silenced), "launch": None if ran is None else ran.status,
        **{f"{level}s": sum(f.level == level for f in found) for level in ("error", "warning", "note")},
    }  # fmt: skip
    if ran is not None and ran.counts is not None:
        counts = ran.counts
        fields |= {
            "global_sectors": counts.global_sectors, "shared_wavefronts": counts.shared_wavefronts,
            "instructions": counts.instructions, "counted": "interpreter",
        }  # fmt: skip
    wrong = [f for f in found if is_wrong(f, is_strict=options.is_strict)]
    initial = () if ran is None else ran.initial
    messages = tuple(
        f"{case}: nobody set {name}, a variable of the module: it held its initial value; set it by --symbol {name}=..."
        for name in initial
    )
    usage = stopwatch.read()
    if wrong:
        first, more = wrong[0], len(wrong) - 1
        place = f"{first.place.file}:{first.place.line}"
        also = f", and {more} more finding{'s'[: more > 1]}" if more else ""
        why = f"{first.rule.name} at {place}{also}"
        made = plain_line(case, "refused", usage, verdict="refuted", reason=why, **fields)
    elif reason or ran is None:
        made = plain_line(case, "unknown", usage, reason=reason, **fields)
    elif ran.status != "finished":
        why = "the launch stopped at a finding that is silenced: what comes after it did not run"
        made = plain_line(case, "unknown", usage, reason=why, **fields)
    elif any(is_wrong(f, is_strict=options.is_strict) for f in silenced):
        made = plain_line(case, "solved", usage, **fields)
    else:
        made = plain_line(case, "solved", usage, verdict="tested", cases=1, **fields)
    return Outcome(made, EXIT_BY_STATUS[str(made["status"])], messages=messages)


def _without_launch(case: str, path: str, source: Source, routine: Routine, stopwatch: Stopwatch) -> Outcome:
    """The file is right as PTX; what a launch would show is open."""
    required = routine.directive("reqntid") or routine.directive("maxntid")
    texts_of = [repr(instruction) for instruction in routine.instructions]
    tall, wide = (any(f"%{name}.y" in text for text in texts_of) for name in ("tid", "ctaid"))
    block = ",".join(map(str, required)) if required else "32,8" if tall else "256"
    idle = unread(source.program, routine)
    examples = ["u64:0" if n in idle else _EXAMPLES.get(p.type, "i32:") for n, p in enumerate(routine.parameters)]
    of_two = tall or sum(text.endswith(":") for text in examples) > 1  # 32 rows of 32 elements are the 1024 of an array
    texts = " ".join(f"--arg {text}{(32 if of_two else 1024) if text.endswith(':') else ''}" for text in examples)
    plain = plain_name(routine.name)
    is_one = sum(plain_name(k.name) == plain for k in source.program.kernels) == 1
    grid = "1" if tall else "4"
    launched = f"--launch {grid}{',4' * wide} {block} {texts}".rstrip()
    example = f"warploom lint {path} --kernel {plain if is_one else routine.name} {launched}"
    reason = (
        f"no launch was given, so nothing ran; give the grid, the block and the arguments of your program, such as: {example}"
    )
    return Outcome(plain_line(case, "unknown", stopwatch.read(), reason=reason), EXIT_BY_STATUS["unknown"])
