"""Decides whether the kernels that `explore` found compute what the tensor function says."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Content, Program, at_sizes
from warploom.schedule.cpu import Build, c_program, compile_nest, interruptibly, plain_nest
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel, cuda_program, interpret_all
from warploom.schedule.nest import Nest, loops
from warploom.schedule.search import Implementation, difference, held, program_arrays
from warploom.schedule.targets import Target
from warploom.solve.space import Candidate
from warploom.tools.command.outcome import Progress, nothing_said
from warploom.tools.explore.budget import CpuBudget, Limit, OutOfTimeError, WallLimit, within
from warploom.tools.explore.code import arch_of
from warploom.tools.explore.data import FURTHER_S, Array, Data, Effort, data_for, data_of, further_data, kernel_of, seconds_of
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.options import PROVED_S, Function, KernelOptions, points_of, sizes_of
from warploom.tools.explore.proof import LATE, MORE_TIME, Proof, proof_of
from warploom.tools.explore.run_time import at_values, tried
from warploom.tools.explore.shortened import (
    NO_MASK,
    at_small_sizes,
    may_show_masks,
    nests_at,
    program_at,
    shortened,
    shows_masks,
)

LONGEST_S = 600.0
"""Most seconds of a check, where no budget says."""
_TENS = 21
_LEAST_SETS = 8
"""Data sets for which there must be time at a size, or a smaller one takes its place."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Comparison of the results with the reference."""

    verdict: str
    """`tested`, `refuted` or `unchecked`."""
    cases: int
    """Elements compared."""
    reason: str = ""
    sizes: Mapping[str, int] | None = None
    """Sizes at which it was compared, where these are not those asked for."""
    proof: Proof | None = None
    """Proof of kernels for CUDA; None for other targets."""
    has_no_size: bool = False
    """Unchecked because no size is small enough to run, nothing else: a proof at the sizes asked for says all."""
    values: tuple[Mapping[str, int], ...] = ()
    """Values of the sizes known at run time that were compared, where there are some."""
    data: Mapping[Content, int] = field(default_factory=dict[Content, int])
    """Data sets of each kind that were compared."""
    is_interrupted: bool = False
    """The user has ended the check, or the proof."""

    @property
    def is_refuted(self) -> bool:
        """By the check, or by the proof."""
        return self.verdict == "refuted" or (self.proof is not None and self.proof.verdict == "refuted")

    def beside(self, other: Checked) -> Checked:
        """This one, and what another one compared beside it."""
        if other.verdict != "tested":
            return other
        return replace(self, cases=self.cases + other.cases, data=Counter(self.data) + Counter(other.data))


Small: TypeAlias = Callable[[], Iterator[tuple[Mapping[str, int], Program, Sequence[Nest]]]]
"""The same kernels at small sizes, the best of them first: the sizes, the program there, its nests."""
Run: TypeAlias = Callable[[Program, Sequence[Nest], Data], Mapping[str, Array] | str]
"""Arrays after a run of the kernels on the data, or what was found wrong."""


def checked(
    program: Program,
    function: Function,
    implementations: Sequence[Implementation[Candidate]],
    data: Data,
    options: KernelOptions,
    progress: Progress,
    limit_s: float = LONGEST_S,
) -> Checked:
    """Checks on the CPU by running them; for CUDA at a small size, on the PTX interpreter and then by a proof of their PTX.
    `unchecked` where that is interrupted or takes more wall seconds than the limit: what was found stays. The proof has what the
    check leaves of them, or CPU seconds of its own (`proof_limit`); a check on the interpreter that is late is made again, after
    the proof, in what is left of these."""
    progress(f"checking the results, for at most {limit_s:.0f} s")
    began, is_late = time.monotonic(), False
    sizes = sizes_of(function, options.sizes, options.run_time)
    try:
        with within(limit_s):
            if options.target.kind == "cpu":
                nests = [i.nest for i in implementations]

                def small() -> Iterator[tuple[Mapping[str, int], Program, Sequence[Nest]]]:
                    return _shorter(function, sizes, program, implementations, options.target)

                return check_cpu(program, nests, data, options.threads, function, options.seed, sizes=sizes, small=small)
            found = check_cuda(function, sizes, program, implementations, options.target, options.seed)
    except OutOfTimeError:
        late = "the check of the results did not end within the budget; --replay of this line checks it"
        found, is_late = Checked("unchecked", 0, late), True
    except KeyboardInterrupt:
        reason = "interrupted during the check of the results; --replay of this line checks it"
        return Checked("unchecked", 0, reason, is_interrupted=True)
    except MemoryError:
        return Checked("unchecked", 0, "the check of the results needs more memory than there is")
    if options.target.kind == "cpu" or found.verdict == "refuted" or not toolchain_available():
        return found
    progress("proving the kernels")
    limit, effort = proof_limit(options, max(0.0, limit_s - time.monotonic() + began))
    proof = proved(function, sizes, program, implementations, options.target, limit, effort, progress)
    if found.verdict == "unchecked" and is_late and limit.left_s > 0:
        progress("checking the results, in what is left of the proof's time")
        with suppress(OutOfTimeError, KeyboardInterrupt, MemoryError), limit.watched():
            found = check_cuda(function, sizes, program, implementations, options.target, options.seed)
    return replace(found, proof=proof, is_interrupted=proof.is_interrupted)


def proof_limit(options: KernelOptions, left_s: float) -> tuple[Limit, float]:
    """The time of a proof where the budget leaves so many wall seconds, and its effort, 1 where that is the usual one.

    `--proof-budget` gives CPU seconds beside them. Without a budget of wall seconds CPU seconds end the proof, so that other work
    on the machine does not change what is proved.
    """
    if options.proof_budget_s is not None:
        return CpuBudget(max(options.proof_budget_s, left_s)), options.proof_budget_s / PROVED_S
    if options.is_repeatable:
        return CpuBudget(max(PROVED_S, left_s)), 1.0
    return WallLimit(left_s), 1.0 if options.nodes is not None else left_s / PROVED_S


def proved(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    target: Target,
    limit: Limit,
    effort: float = 1.0,
    progress: Progress = nothing_said,
) -> Proof:
    """The proof, or why it ended without one."""
    began = time.process_time()

    def ended(reason: str) -> Proof:
        return Proof("unchecked", reason=reason, seconds=time.process_time() - began)

    try:
        with limit.watched():
            return proof_of(function, sizes, program, implementations, target, effort, limit, progress)
    except OutOfTimeError:
        return ended(f"{LATE}; {MORE_TIME}, and --replay of this line goes on from here")
    except KeyboardInterrupt:
        return replace(ended("interrupted during the proof; --replay of this line proves it"), is_interrupted=True)
    except MemoryError:
        return ended("the proof needs more memory than there is")


def check_cpu(
    program: Program,
    nests: Sequence[Nest],
    data: Data,
    threads: int,
    function: Function | None = None,
    seed: int = 0,
    build: Build = Build.DECIDED,
    *,
    sizes: Mapping[str, int] | None = None,
    small: Small | None = None,
) -> Checked:
    """Runs the stages one after the other on the data and, where the sizes are given, on data of further kinds: at the same
    sizes or, where these are large, at small ones; where sizes are known at run time, at several of them. `small`: None for plain
    loops."""

    def run(at: Program, others: Sequence[Nest], data: Data) -> Mapping[str, Array]:
        return _ran_on_cpu(at, others, data, threads, build)

    found = compare(run(program, nests, data), data)
    if function is None or found.verdict == "refuted":
        return found
    if any(nest.run_time for nest in nests):
        others = at_several(function, program, nests, seed, lambda others: c_program(others)[0], run)
        if others.verdict != "tested":
            return others
        return replace(found.beside(others), verdict="tested", reason="", values=others.values)
    if sizes is None or found.verdict != "tested":
        return found
    if _LEAST_SETS * seconds_of(program) <= FURTHER_S:
        return _on_further(found, function, program, program, nests, seed, run, first=data.content)
    with suppress(UserError, OutOfTimeError):
        for _, kernels, others in (_plain_ones(function) if small is None else small)():
            return _on_further(found, function, kernels, kernels, others, seed, run)
    return found


def _on_further(
    found: Checked,
    function: Function,
    whole: Program,
    program: Program,
    nests: Sequence[Nest],
    seed: int,
    run: Run,
    *,
    first: Content | None = None,
    effort: Effort | None = None,
) -> Checked:
    """The findings, with data sets of further kinds (`further_data`); those that the time ends are left. `whole`: the program as
    the function says it."""
    kernel = kernel_of(function)
    try:
        for data in further_data(whole, seed, {} if kernel is None else kernel.parameters, first, effort):
            if found.verdict == "tested":
                found = found.beside(_compared_at(program, nests, data, run))
    except OutOfTimeError:
        pass
    return found


def _shorter(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    on: Target,
) -> Iterator[tuple[Mapping[str, int], Program, Sequence[Nest]]]:
    """The same decisions with fewer iterations of the outermost loops, where they carry over and that makes the sizes small."""
    for blocks, rounds in SHORTEST:
        with suppress(UserError):
            sizes_of = [shortened(stage, i, blocks, rounds) for stage, i in zip(program.stages, implementations, strict=True)]
            small, kernels = program_at(function, sizes, program, sizes_of)
            if _LEAST_SETS * seconds_of(kernels) <= FURTHER_S:
                yield small, kernels, nests_at(kernels, implementations, on)


def _plain_ones(function: Function) -> Small:
    """Plain loops of the function at sizes of some tens."""

    def small() -> Iterator[tuple[Mapping[str, int], Program, Sequence[Nest]]]:
        of = function.whole if isinstance(function, InParts) else function
        sizes = {name: _TENS + 3 * n for n, name in enumerate(of.sizes)}
        kernels = of.program(sizes).plain
        if _LEAST_SETS * seconds_of(kernels) <= FURTHER_S:
            yield sizes, kernels, [plain_nest(stage) for stage in kernels.stages]

    return small


def _ran_on_cpu(program: Program, nests: Sequence[Nest], data: Data, threads: int, build: Build) -> dict[str, Array]:
    arrays = program_arrays(program, {**data.before, **data.inputs})
    for nest in nests:
        compiled = compile_nest(nest, flags=build.flags)
        given = [arrays[buffer.name] for buffer in compiled.buffers]
        interruptibly(partial(compiled.run, given, data.scalars, threads))
    return held(program.arguments, arrays)


def at_several(
    function: Function,
    program: Program,
    nests: Sequence[Nest],
    seed: int,
    printed: Callable[[Sequence[Nest]], str],
    run: Run,
    *,
    is_interpreted: bool = False,
    whole: Program | None = None,
) -> Checked:
    """Kernels of run-time sizes at several of their values: one data set at each, then further ones. `whole`: the program as the
    function says it; None: as it is.

    Where the time ends, the values stay that were compared, if a whole tile and a ragged one are among them: the first ones.
    """
    text, total = printed(nests), Checked("tested", 0)
    said = program if whole is None else whole
    done: list[tuple[Mapping[str, int], Program, Sequence[Nest], Content]] = []
    is_late = False
    wanted = [*tried(nests)]
    for chosen in wanted:
        at, others = at_values(program, nests, chosen)
        if points_of(at) > SMALL:
            continue
        if printed(others) != text:
            return Checked("refuted", 0, f"expected one text for all sizes, got another one for {_named(chosen)}")
        try:
            data = data_for(at_sizes(said, chosen), kernel_of(function) if all(chosen.values()) else None, seed)
            found = _compared_at(at, others, data, run)
        except OutOfTimeError:
            if [values for values, *_ in done[:2]] != wanted[:2]:
                raise
            is_late = True
            break
        if found.verdict != "tested":
            return replace(found, reason=f"at {_named(chosen)}: {found.reason}")
        done.append((chosen, at, others, data.content))
        total = total.beside(found)
    if not done:
        return Checked("unchecked", 0, "every size is too large to test")
    for n, (chosen, at, others, first) in enumerate([] if is_late else done):
        effort = _interpreting(at, 1, n) if is_interpreted else Effort(FURTHER_S / len(done))
        total = _on_further(total, function, at_sizes(said, chosen), at, others, seed, run, first=first, effort=effort)
        if total.verdict != "tested":
            return replace(total, reason=f"at {_named(chosen)}: {total.reason}")
    return replace(total, values=tuple(sorted((values for values, *_ in done), key=lambda chosen: (*chosen.values(),))))


def _compared_at(program: Program, nests: Sequence[Nest], data: Data, run: Run) -> Checked:
    try:
        arrays = run(program, nests, data)
    except UserError as error:  # of a launch that does not finish
        arrays = error.diagnostics[0].message
    return Checked("refuted", 0, arrays) if isinstance(arrays, str) else compare(arrays, data)


def _named(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def compare(arrays: Mapping[str, Array], data: Data) -> Checked:
    """The outputs, by name and flat, with those of the reference: integers exactly, bf16 but for a last place."""
    if not data.outputs:
        return Checked("unchecked", 0, "the reference evaluation would take too long at this size")
    if wrong := difference(arrays, data.outputs, data.tolerance, data.in_bf16, data.allowed):
        return Checked("refuted", 0, wrong)
    known = data.allowed or {name: np.zeros(np.shape(a)) for name, a in data.outputs.items()}
    compared = sum(int(np.isfinite(known[name]).sum()) for name in data.outputs)
    return Checked("tested", compared, data={data.content: 1})


def _interpreting(program: Program, most: int, start: int = 0) -> Effort:
    """Further data sets for the PTX interpreter: few, and none for the largest of the small sizes."""
    return Effort(FURTHER_S, _LAUNCH_S * len(program.stages) + _INTERPRETED_POINT_S * points_of(program), most, start)


_MOST_LAUNCHES = 3
_LAUNCH_S = 0.05
_INTERPRETED_POINT_S = 3e-8
"""CPU seconds of a short launch in the PTX interpreter, and of a point, about."""
SMALL = 1 << 26
"""Points of instructions that the PTX interpreter is given, if that can be: about 2 CPU-seconds of products of matrices."""
_MOST_POINTS = 4 * SMALL
"""The same of kernels of which nothing smaller has all the decisions, as those that unroll long loops."""
SHORTEST = ((2, 3), (2, 2), (2, 1), (1, 2), (1, 1), (3, 3))
"""Iterations that are tried for an outermost block loop and for an outermost sequential loop; the first rounds are as many as
the largest of the values has at which kernels of sizes known at run time are tested."""
MORE_ROWS = ((4, 3), (8, 3), (16, 3))
"""The same of kernels with a mask, which a few rows may not show."""


def check_cuda(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    target: Target,
    seed: int,
) -> Checked:
    """The same decisions with fewer iterations of the outermost block and sequential loops, printed, compiled and run on the PTX
    interpreter; the tiles are the same. `unchecked` where nothing so small has all the decisions or nothing compiles CUDA here.
    """
    if not toolchain_available():
        return Checked("unchecked", 0, "the extra `cuda` is not installed")
    reason = "every size is too large for the PTX interpreter"
    whole = [i.nest for i in implementations]
    ways = (*SHORTEST, *(MORE_ROWS if any(x.only for nest in whole for x in loops(nest.body)) else ()))
    has_rounds = isinstance(function, InParts) and function.tile > 0
    shorter = [*((True, way) for way in SHORTEST[:1] if has_rounds), *((False, way) for way in ways)]
    for launch in _small_launches(function, sizes, program, implementations, shorter):
        try:
            if isinstance(launch, UserError):
                raise launch
            fewer, small, kernels = launch
            nests = nests_at(kernels, implementations, target) if may_show_masks(whole, kernels) else None
        except UserError as error:
            reason = f"the decisions do not carry over to a small size: {error.diagnostics[0].message}"
            continue
        if nests is None or not shows_masks(whole, nests):
            reason = NO_MASK
            continue
        at_run_time = {size.name for nest in nests for size, _ in nest.run_time}
        found = _interpreted(function, small, kernels, nests, target, seed)
        told = {name: n for name, n in small.items() if name not in at_run_time}
        if has_rounds and isinstance(fewer, InParts) and fewer != function:
            told |= {f"parts of {fewer.size}": fewer.parts, f"tile of {fewer.size}": fewer.tile}
        return replace(found, sizes=told or None)
    if points_of(program) <= _MOST_POINTS:
        return _interpreted(function, sizes, program, [i.nest for i in implementations], target, seed)
    return Checked("unchecked", 0, reason, has_no_size=True)


def _small_launches(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    ways: Sequence[tuple[bool, tuple[int, int]]],
) -> Iterator[tuple[Function, Mapping[str, int], Program] | UserError]:
    """Functions, sizes and kernels with fewer iterations, or why there are none; those with at most `SMALL` points come first.

    ways: whether all parts stay, and the iterations of outermost loops (`SHORTEST`).
    """
    larger: list[tuple[Function, Mapping[str, int], Program]] = []
    for has_all_parts, (blocks, rounds) in ways:
        sizes_of = [shortened(stage, i, blocks, rounds) for stage, i in zip(program.stages, implementations, strict=True)]
        try:
            fewer, _ = at_small_sizes(function, sizes, program, sizes_of, has_all_parts=has_all_parts)
            small, kernels = program_at(function, sizes, program, sizes_of, has_all_parts=has_all_parts)
        except UserError as error:
            yield error
            continue
        if points_of(kernels) <= SMALL:
            yield fewer, small, kernels
        elif points_of(kernels) <= _MOST_POINTS:
            larger.append((fewer, small, kernels))
    yield from larger


def _interpreted(
    function: Function, sizes: Mapping[str, int], program: Program, nests: Sequence[Nest], target: Target, seed: int
) -> Checked:
    def printed(nests: Sequence[Nest]) -> list[CudaKernel]:
        return [cuda_kernel(nest, Options(arch=arch_of(target))) for nest in nests]

    def run(program: Program, nests: Sequence[Nest], data: Data) -> Mapping[str, Array] | str:
        del program
        try:
            outcome = interpret_all(printed(nests), {**data.before, **data.inputs}, data.scalars)
        except UserError as error:
            if (found := error.diagnostics[0]).code != "LAUNCH_FAILED":
                raise
            return found.message
        return f"the PTX interpreter found: {outcome.findings[0]}" if outcome.findings else outcome.arrays

    if any(nest.run_time for nest in nests):
        opened = {size.name: size.multiple for nest in nests for size, _ in nest.run_time}
        whole = function.whole_at_run_time(sizes, opened) if isinstance(function, InParts) else program

        def text_of(others: Sequence[Nest]) -> str:
            return cuda_program(printed(others))

        return at_several(function, program, nests, seed, text_of, run, is_interpreted=True, whole=whole)
    data = data_of(function, program, sizes, seed)
    found = _compared_at(program, nests, data, run)
    effort = _interpreting(program, _MOST_LAUNCHES)
    whole = function.whole_at(sizes) if isinstance(function, InParts) else program
    return _on_further(found, function, whole, program, nests, seed, run, first=data.content, effort=effort)
