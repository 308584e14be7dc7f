"""`warploom same A B`: two kernels on symbols, and on numbers where that leaves the question open."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, UnsupportedError, UserError, scalar_of
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof, prove_equivalent
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, GAVE_UP, INTERRUPTED, Line, plain_line
from warploom.tools.command.messages import one_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.lint.names import demangled, plain_name
from warploom.tools.lint.sources import Compilation, Source, kernel_named
from warploom.tools.ptx.arguments import LAUNCH_HELP, Triple, by_index, triple
from warploom.tools.ptx.prove import (
    ARGUMENT_FORMS,
    STATUS_OF,
    SYMBOLIC_HELP,
    not_shown,
    proof_fields,
    proof_messages,
    read_argument,
)
from warploom.tools.ptx.replay import both_values, contents, data, replay, run_on

RUNS = 6
"""Sets of data on which two kernels are run where no proof is found."""
TOLERANCE = {"f16": 2e-2, "bf16": 1e-1, "f32": 1e-4, "f64": 1e-11}
"""How far two results may differ, relative to the largest number of the array, unless one says."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One of the two."""

    source: Source
    name: str
    grid: Triple
    block: Triple
    shared_bytes: int

    def __str__(self) -> str:
        return f"{self.source.path}:{plain_name(self.name)}"


@dataclass(frozen=True, slots=True)
class SameOptions:
    kernel: str | None = None
    other_kernel: str | None = None
    launch: tuple[str, str] = ("1", "1")
    other_launch: tuple[str, str] | None = None
    arguments: tuple[str, ...] = ()
    shared_bytes: int = 0
    other_shared_bytes: int | None = None
    tolerance: float | None = None
    compilation: Compilation = field(default_factory=Compilation)


def same(first: str, second: str, options: SameOptions, stopwatch: Stopwatch) -> Outcome:
    """UserError for files that are no kernels, and for a launch or arguments that do not fit both."""
    launches = options.launch, options.other_launch or options.launch
    shared = options.shared_bytes, options.shared_bytes if options.other_shared_bytes is None else options.other_shared_bytes
    names = options.kernel, options.other_kernel or options.kernel
    kernels: list[Kernel] = []
    for file, name, (grid, block), size in zip((first, second), names, launches, shared, strict=True):
        source = kernels[0].source if kernels and file == first else Source(file, options.compilation)
        kernels.append(
            Kernel(source, kernel_named(source, name), triple(grid, "launch's grid"), triple(block, "launch's block"), size)
        )
    one, other = kernels
    case = f"{first}:{demangled(one.name)} = {second}:{demangled(other.name)}"
    arguments = _bound(one, other, options.arguments)
    try:
        proof = prove_equivalent(
            one.source.program, other.source.program, one.name, arguments, one.grid, one.block,
            dynamic_shared_bytes=one.shared_bytes, other_kernel=other.name,
            other_launch=(other.grid, other.block, other.shared_bytes),
        )  # fmt: skip
    except UnsupportedError as error:
        proof = CompiledProof("unchecked", "", one_line(error.diagnostics[0]))
    return _told(case, one, other, arguments, proof, options, stopwatch)


def _bound(one: Kernel, other: Kernel, texts: tuple[str, ...]) -> tuple[Argument, ...]:
    """The arguments, which fit the parameters of both kernels."""
    lists = [k.source.program.routines[k.name].parameters for k in (one, other)]
    if len(lists[0]) != len(lists[1]):
        message = f"expected as many parameters of both kernels, got {len(lists[0])} and {len(lists[1])}"
        raise UserError(Diagnostic("PARAMETERS", message, lists[1][0].span if lists[1] else lists[0][0].span))
    given = by_index(texts, len(lists[0]), plain_name(one.name))
    missing = [k for k in range(len(lists[0])) if k not in given]
    if missing:
        message = f"expected {len(lists[0])} arguments, got none for parameter {', '.join(map(str, missing))}"
        raise UserError(Diagnostic("ARG_MISSING", message, fix=f"Add --arg {missing[0]}=..., where ... is {ARGUMENT_FORMS}."))
    found = tuple(read_argument(given[k], f"arg{k}", p) for k, p in enumerate(lists[0]))
    for k, p in enumerate(lists[1]):  # refused where the other kernel's type is another
        read_argument(given[k], f"arg{k}", p)
    return found


def _run(
    kernel: Kernel, arguments: tuple[Argument, ...], arrays: Mapping[str, npt.NDArray[Any]], scalars: Mapping[str, int | float]
) -> tuple[dict[str, npt.NDArray[Any]] | None, str]:
    """Contents of the arrays afterwards; None and the reason where the kernel does not run without a finding."""
    try:
        ran = run_on(
            kernel.source.program, kernel.name, arguments, (), arrays, scalars, (kernel.grid, kernel.block), kernel.shared_bytes
        )
    except (UserError, UnsupportedError) as error:
        return None, one_line(error.diagnostics[0])
    if ran.status != "finished" or ran.findings:
        return None, str(ran.findings[0]) if ran.findings else f"it ended with {ran.status}"
    return contents(ran, arguments), ""


def _told(
    case: str, one: Kernel, other: Kernel, arguments: tuple[Argument, ...], proof: CompiledProof, options: SameOptions,
    stopwatch: Stopwatch,
) -> Outcome:  # fmt: skip
    status, fields, messages = STATUS_OF[proof.verdict], Line(), ()
    if proof.verdict == "refuted":
        again = replay(
            other.source.program, other.name, lambda arrays, scalars: _run(one, arguments, arrays, scalars)[0], arguments, {},
            (other.grid, other.block), other.shared_bytes, proof, {}, str(one),
        )  # fmt: skip
        if not again.is_shown:
            status, proof = not_shown(proof, again)
        elif proof.difference is not None:
            fields = again.fields
            messages = (f"{again.told}{one} gives {again.expected}, {other} {again.found}",)
    found = proof_fields(proof)
    if "differing" in found and fields:
        found["differing"] = {**found["differing"], **fields}  # pyright: ignore[reportGeneralTypeIssues]
    head: Line = {"grid": list(one.grid), "block": list(one.block)}
    if proof.verdict == "unchecked" and status != "error":
        return _tested(case, one, other, arguments, proof, options.tolerance, stopwatch)
    line = plain_line(case, status, stopwatch.read(), verdict=proof.verdict, reason=proof.reason) | head | found
    if proof.difference is not None and proof.difference.line is not None:
        place = other.source.places(proof.difference.line)[0]
        messages = (*messages, f"  stored at {place.file}:{place.line}")
    told = (*proof_messages(proof, other.source.program), *messages)
    return Outcome(line, EXIT_BY_STATUS[status] if status != "error" else GAVE_UP, messages=told)


def _tested(
    case: str, one: Kernel, other: Kernel, arguments: tuple[Argument, ...], proof: CompiledProof, tolerance: float | None,
    stopwatch: Stopwatch,
) -> Outcome:  # fmt: skip
    """Both on some sets of numbers: tested, or refuted by a set on which they differ."""
    fields: Line = {"unproved": proof.reason, "grid": list(one.grid), "block": list(one.block)}
    for number in range(RUNS):
        arrays, scalars = _numbers(arguments, number)
        results: list[dict[str, npt.NDArray[Any]]] = []
        for kernel in (one, other):
            result, why = _run(kernel, arguments, arrays, scalars)
            if result is None:
                reason = f"not proved: {proof.reason}; and {kernel} does not run: {why}"
                return Outcome(plain_line(case, "unknown", stopwatch.read(), reason=reason) | fields, GAVE_UP)
            results.append(result)
        where = _differing(arguments, results, tolerance)
        if where is not None:
            name, index, expected, found = where
            place = f"{name}[{', '.join(map(str, index))}]"
            by = "" if isinstance(expected, int) else " by more than the tolerance"
            reason = f"{place} differs{by} on data {number}: {one} gives {expected!r}, {other} {found!r}"
            line = plain_line(case, "refused", stopwatch.read(), verdict="refuted", reason=reason) | fields
            line["differing"] = {"array": name, "index": list(index), **both_values(expected, found)}
            return Outcome(line, EXIT_BY_STATUS["refused"])
    line = plain_line(case, "solved", stopwatch.read(), verdict="tested", cases=RUNS)
    note = f"{case}: not proved, but run on {RUNS} sets of data: {proof.reason}"
    return Outcome(line | fields, EXIT_BY_STATUS["solved"], messages=(note,))


def _numbers(arguments: tuple[Argument, ...], number: int) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int | float]]:
    """Data of one run: small positive numbers, then numbers of either sign, of very different sizes, zeros, and the ends of the
    types."""
    arrays, scalars = data(arguments, {})
    rng = np.random.default_rng(number)
    for argument in arguments:
        if number == 0 or not isinstance(argument, ArrayArgument) or argument.content == "zeros":
            continue
        held = arrays[argument.name]
        if number == 1:
            held[...] = 0
        elif scalar_of(argument.dtype).is_float:
            spread = 2.0 ** rng.integers(-8, 8, held.shape) if number % 2 else 1.0
            held[...] = (rng.standard_normal(held.shape) * spread).astype(held.dtype)
        else:
            limits = np.iinfo(held.dtype)
            wide = rng.integers(limits.min, limits.max, held.shape, held.dtype, endpoint=True)
            held[...] = np.where(rng.random(held.shape) < 0.25, rng.choice([limits.min, limits.max], held.shape), wide)
    return arrays, scalars


def _differing(
    arguments: tuple[Argument, ...], results: list[dict[str, npt.NDArray[Any]]], tolerance: float | None
) -> tuple[str, tuple[int, ...], float, float] | None:
    """The element that differs most, where one differs by more than the tolerance: array, index and both values."""
    for argument in arguments:
        if not isinstance(argument, ArrayArgument):
            continue
        one, other = (result[argument.name] for result in results)
        scalar = scalar_of(argument.dtype)
        bad = one != other
        if scalar.is_float:
            bad &= _is_apart(one, other, TOLERANCE[scalar.name] if tolerance is None else tolerance)
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            return argument.name, index, one[index].item(), other[index].item()
    return None


def _is_apart(one: npt.NDArray[Any], other: npt.NDArray[Any], tolerance: float) -> npt.NDArray[np.bool_]:
    """Where floats differ by more than the tolerance times the largest one; NaN is like NaN."""
    wide, wide_other = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(wide) & np.isfinite(wide_other)
    size = float(max(np.abs(wide[finite]).max(initial=0), np.abs(wide_other[finite]).max(initial=0)))
    with np.errstate(invalid="ignore"):
        far = np.abs(wide - wide_other) > tolerance * size
    return np.where(finite, far, ~(np.isnan(wide) & np.isnan(wide_other)))


@click.command("same")
@click.argument("first", metavar="A.cu|A.ptx")
@click.argument("second", metavar="B.cu|B.ptx")
@click.option("--kernel", help="Name of the kernel, in C++ or as in the PTX; needed where a file has several.")
@click.option("--other-kernel", help="Name of B's kernel, if it is another.")
@click.option("--launch", "launched", nargs=2, required=True, metavar="GRID BLOCK", help=LAUNCH_HELP)
@click.option("--other-launch", nargs=2, metavar="GRID BLOCK", help="Launch of B, if it is another.")
@click.option("--arg", "texts", multiple=True, metavar="[INDEX=]SPEC", help=SYMBOLIC_HELP)
@click.option("--shared", type=click.IntRange(min=0), default=0, show_default=True, help="Bytes of dynamic shared memory.")
@click.option("--other-shared", type=click.IntRange(min=0), help="Bytes of dynamic shared memory of B, if they are others.")
@click.option(
    "--tolerance", type=click.FloatRange(min=0),
    help="How far floats may differ in runs, relative to the largest of the array. Default by type: f32 1e-4, f64 1e-11.",
)  # fmt: skip
@click.option("--arch", default="sm_90", show_default=True, help="Architecture that a .cu is compiled for.")
@click.option("-I", "folders", multiple=True, metavar="DIR", help="Folder of headers.")
@click.option("-D", "defines", multiple=True, metavar="NAME[=TEXT]", help="Macro.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def same_command(
    first: str,
    second: str,
    kernel: str | None,
    other_kernel: str | None,
    launched: tuple[str, str],
    other_launch: tuple[str, str] | None,
    texts: tuple[str, ...],
    shared: int,
    other_shared: int | None,
    tolerance: float | None,
    arch: str,
    folders: tuple[str, ...],
    defines: tuple[str, ...],
    as_json: bool,
    debug: bool,
) -> None:
    """Prove that two CUDA or PTX kernels leave the same in memory in one launch, or find data on which they differ."""
    output, stopwatch = Output(as_json), Stopwatch()

    def work(_: Progress) -> Outcome:
        options = SameOptions(
            kernel, other_kernel, launched, other_launch, texts, shared, other_shared, tolerance,
            Compilation(arch, folders, defines),
        )  # fmt: skip
        return same(first, second, options, stopwatch)

    with Interrupts() as stopped:
        code = output.outcome(guarded(f"{first} = {second}", work, stopwatch, output, debug))
    sys.exit(INTERRUPTED if stopped.seen else code)
