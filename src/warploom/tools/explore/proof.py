"""Whether the kernels that `explore` prints are proved: their PTX, run on symbols, against the tensor function's mathematics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod

from warploom.core import UnsupportedError, UserError, i32
from warploom.ptx import Program as PtxProgram
from warploom.ptx import lower, parse
from warploom.schedule.backbone import ROWS, Backbone, Operator, Program, Role, evaluate_terms, reduced
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel, ptx_of
from warploom.schedule.nest import Combine, Compute, Kind, Load, Nest, Ref, Store, launch_digits, loops, statements
from warploom.schedule.search import Implementation
from warploom.schedule.targets import Target
from warploom.solve.space import Candidate
from warploom.synth import without_collection
from warploom.synth.compiled import ArrayArgument, Axes, CompiledProof, ScalarArgument, Wanted, joined_domain, prove_launch
from warploom.terms import algebra_for
from warploom.tools.command.lines import Line
from warploom.tools.command.messages import one_line
from warploom.tools.command.outcome import Progress, nothing_said
from warploom.tools.explore.budget import CpuBudget, Limit, OutOfTimeError
from warploom.tools.explore.code import arch_of
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.every_length import prove_lengths
from warploom.tools.explore.every_size import prove_sizes
from warploom.tools.explore.gathered import index_arrays_of
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.options import Function
from warploom.tools.explore.shortened import NO_MASK, kinds_of, may_show_masks, nests_at, program_at, shortened, shows_masks

MOST_PROVED = 400_000
"""Points of the arithmetic instructions of a launch that is proved: up to about 40 CPU-seconds."""
MOST_OF_BLOCK = 225_000
"""Operations of a block that is proved at the size asked for: as many take about three quarters of the usual 30
CPU-seconds, after which that size is given up anyway."""
_STEPS = 20
"""For each of them so many instructions, counted by threads, may be executed in all boxes of blocks: what threads compute alike
is counted once, but each has addresses of its own. About 20 CPU-seconds."""
_STEPS_OF_CLASS = 4
"""The same, for each part of the launches of every size."""
_AT_SIZE_ASKED = 0.75
"""Share of the time after which the size asked for is given up, so that a small one can be proved in the rest."""
LATE = "budget: the proof did not end within it"
MORE_TIME = "a longer --budget, or some --proof-budget beside it, gives it more"
_ROUNDS_RUN = 7
"""Rounds of a long loop that are run, where those that run alike are left out."""
_ROUNDS_OF_MAXIMA = 4
"""The same of loops that keep a maximum: their rounds have many operations, most of which are compared as few symbols."""
_PREFERRED = 60_000
"""As many are proved in about 6 CPU-seconds."""
_REPLACED = {operator: (f"{row.c}f", row.approximate) for operator, row in ROWS.items() if row.approximate}
"""Library functions that work on the bits of floats, and the instructions that stand for them in a proof."""
_QUICK = frozenset({Operator.MOVE, Operator.ADD, Operator.SUB, Operator.MUL, Operator.FMA, Operator.NEG})
_SLOWER = 8
_DIVISORS = (1, 2, 4, 8, 16, 32)
"""Divisors of the tiles to try, where a launch with the tiles as they are is too large."""
_OF_WORDS = 8
"""As many words are moved in the time of an operation on symbols."""
_OF_COPIES = 2
"""Words that are copied asynchronously are written when the copy is issued and when it has arrived."""
_BEYOND_STAGES = 2
"""Rounds of a sequential loop after those that fill its buffers: one that reuses them, one that ends the reuse."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Proof of the printed kernels."""

    verdict: str
    """`proved`, `refuted` or `unchecked`."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where it was proved."""
    domain: str = ""
    reason: str = ""
    """Why nothing is proved, or why it is proved at other sizes than those asked for."""
    seconds: float = 0.0
    """CPU seconds."""
    is_of_class: bool = False
    """Proved for every value of the size that is known at run time."""
    small: Program | None = None
    """The program that was proved, where it is at other sizes than those asked for."""
    is_interrupted: bool = False

    @property
    def line(self) -> Line:
        """The field `proof` of a report."""
        found: Line = {"verdict": self.verdict, "seconds": round(self.seconds, 3)}
        if self.verdict == "proved":
            found["domain"] = self.domain
        return found | ({"reason": self.reason} if self.reason else {})


def proof_of(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    target: Target,
    effort: float = 1.0,
    limit: Limit | None = None,
    progress: Progress = nothing_said,
) -> Proof:
    """The proof at the size asked for, else at a small one with the reason why not there. UserError: TOOL_MISSING.

    effort: how much larger than usual a block may be that is proved at the size asked for. limit: the time of all that, which the
    caller holds; a part of it is kept for the small size. None: none.
    """
    clock = _Clock(CpuBudget(inf) if limit is None else limit, progress)
    with without_collection():
        found = _proof_of(function, sizes, program, implementations, target, effort, clock)
    if not isinstance(function, InParts) or found.verdict != "proved":
        return found
    if why := function.unlike(sizes, program) or function.unlike(found.sizes, found.small or program):
        return Proof("unchecked", reason=f"each kernel is proved, but not that together they are the sum: {why}")
    return replace(found, domain=joined_domain([found.domain, function.domain]))


class _Clock:
    """The time that is left."""

    def __init__(self, limit: Limit, progress: Progress) -> None:
        self._limit, self._progress = limit, progress

    def tell(self, at: str) -> None:
        """At which sizes is proved now, and for how long at most."""
        left_s = self._limit.left_s
        self._progress(f"proving the kernels {at}" + ("" if left_s == inf else f", for at most {max(0.0, left_s):.0f} s"))

    def followed(self, prove: Callable[[], Proof], at: str = "at the size asked for") -> Proof:
        """The proof at the size asked for, or of its class, given up in time for a small one."""
        self.tell(at)
        try:
            with self._limit.part(_AT_SIZE_ASKED).watched():
                return _followed(prove)
        except OutOfTimeError:
            if self._limit.left_s <= 0:  # that of the whole proof
                raise
            return Proof("unchecked", reason=f"{LATE}; {MORE_TIME}")
        except MemoryError:
            return Proof("unchecked", reason="the proof needs more memory than there is")


def _proof_of(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    target: Target,
    effort: float,
    clock: _Clock,
) -> Proof:
    started = time.process_time()
    kernels = [cuda_kernel(i.nest, Options(arch=arch_of(target))) for i in implementations]
    names = ", ".join(dict.fromkeys(size.name for kernel in kernels for size, _ in kernel.run_time))
    if names:
        axes = [parallel_threads(stage, i.nest) for stage, i in zip(program.stages, implementations, strict=True)]
        most = int(_STEPS_OF_CLASS * MOST_OF_BLOCK * max(1.0, effort))
        every = clock.followed(
            lambda: prove_kernels(program.stages, kernels, sizes, most, axes, every=True), f"for every {names}"
        )
        if every.verdict == "proved":
            return replace(every, is_of_class=True, seconds=time.process_time() - started)
        one = _of_one_size(function, sizes, program, implementations, kernels, target, effort, clock)
        reason = f"for every {names}: {every.reason}" + (f"; at one: {one.reason}" if one.reason else "")
        return replace(one, reason=reason, seconds=time.process_time() - started)
    found = _of_one_size(function, sizes, program, implementations, kernels, target, effort, clock)
    return replace(found, seconds=time.process_time() - started)


def _of_one_size(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    kernels: Sequence[CudaKernel],
    target: Target,
    effort: float,
    clock: _Clock,
) -> Proof:
    most = int(MOST_OF_BLOCK * max(1.0, effort))
    axes = [parallel_threads(stage, i.nest) for stage, i in zip(program.stages, implementations, strict=True)]
    least, ways = max(
        ((least_work(i.nest, alike), kinds_of_blocks(i.nest)) for i, alike in zip(implementations, axes, strict=True)), key=prod
    )
    if least * ways <= most:
        found = clock.followed(lambda: prove_kernels(program.stages, kernels, sizes, _STEPS * most, axes))
    else:
        alone: list[Axes | None] = [None] * len(kernels)
        found = clock.followed(lambda: prove_kernels(program.stages, kernels, sizes, _STEPS * most, alone))
        if found.verdict == "unchecked":
            blocks = "a block does" if ways == 1 else f"{ways} kinds of blocks each do"
            told = f"{blocks} about {least} operations before their rounds repeat: too many to prove in time"
            found = Proof("unchecked", reason=told)
    if found.verdict == "unchecked":
        clock.tell("at a small size")
        small = _followed(lambda: _at_small_sizes(function, sizes, program, implementations, target))
        is_less = small.verdict == "proved" and dict(small.sizes) != dict(sizes)
        both = f"{small.reason}; at the size asked for: {found.reason}"
        found = replace(small, reason=found.reason if is_less else both if small.verdict == "unchecked" else small.reason)
    return found


def parallel_threads(stage: Backbone, nest: Nest) -> Axes:
    """Along which axes of a block the threads that sum have parts of no sum, and so may compute alike. Not along axes that count
    several indices."""
    summed = {stage.axes[a].name.rpartition(".")[2] for a in reduced(stage)}
    mapped: dict[int, set[str]] = {}
    for statement, around in statements(nest.body):
        if isinstance(statement, Compute | Combine) and _goes_on(statement):
            for loop in around:
                if loop.kind is Kind.THREAD and loop.hardware is not None:
                    mapped.setdefault(loop.hardware, set()).add(loop.name.rstrip("0123456789"))
    x, y, z = (
        len(digits) < 2 and all(summed.isdisjoint(mapped.get(dimension, ())) for dimension, _ in digits)
        for digits in launch_digits(nest)
    )
    return x, y, z


def least_work(nest: Nest, axes: Axes) -> int:
    """About how many operations of a block a proof executes: of the outermost sequential loop only so many rounds as show that it
    repeats, unless a minimum goes on from round to round; of threads that compute alike one. Words that are loaded or stored are
    of each thread."""
    computed = moved = 0
    apart = _apart(nest, axes)
    whole, rescaled = _rounds_with(Operator.MIN, nest), _rounds_with(Operator.MAX, nest)
    for statement, around in statements(nest.body):
        is_moved = isinstance(statement, Load | Store)
        times, is_outermost, seen = 1, True, set[int | None]()
        for loop in around:
            if loop.kind is Kind.LOOP and is_outermost:
                most = _ROUNDS_OF_MAXIMA if loop.number in rescaled else _ROUNDS_RUN
                most = loop.size if loop.number in whole else most
                times, is_outermost = times * min(loop.size, most), False
            elif loop.kind is Kind.THREAD:
                most = loop.size if is_moved or loop.hardware is None else min(loop.size, apart.get(loop.hardware, 1))
                is_counted = loop.digit is None and loop.hardware in seen
                times *= 1 if is_counted else most
                seen.add(loop.hardware)
            elif loop.kind is not Kind.BLOCK:
                times *= loop.size
        if is_moved:
            moved += times * (_OF_COPIES if isinstance(statement, Load) and statement.is_async else 1)
        elif isinstance(statement, Compute | Combine) and statement.operator is not Operator.MOVE:
            computed += times * (1 if statement.operator in _QUICK else _SLOWER)
    return computed + moved // _OF_WORDS


def kinds_of_blocks(nest: Nest) -> int:
    """About in how many ways blocks run: those in which a guard falls both ways, as at the edge of an array, are apart."""
    sizes = {loop.number: loop.size for loop in loops(nest.body)}
    edges: dict[int, set[int]] = {}
    for statement, around in statements(nest.body):
        blocks = {loop.number: loop for loop in around if loop.kind is Kind.BLOCK and loop.hardware is not None}
        for guard in statement.memory.guards if isinstance(statement, Load | Store) else ():
            own = [(number, step) for number, step in guard.index.terms if number in blocks and step > 0]
            if len(own) != 1:
                continue
            ((number, step),) = own
            low, high = guard.index.without((number,)).span(lambda n: sizes[n] - 1)
            at = edges.setdefault(blocks[number].hardware or 0, set())
            for bound in (0, guard.bound):  # the block's indices are on both sides of it
                first, last = -((high - bound) // step), -((low - bound) // step)
                at.update(range(max(0, first), min(sizes[number], last)))
    counts = {loop.hardware: loop.size for loop in loops(nest.body) if loop.kind is Kind.BLOCK}
    return prod(min(counts[n], 1 + len(at)) for n, at in edges.items())


def _apart(nest: Nest, axes: Axes) -> dict[int, int]:
    """Threads along each hardware dimension that compute each for itself."""
    found: dict[int, int] = {}
    for is_alike, digits in zip(axes, launch_digits(nest), strict=True):
        for dimension, size in () if is_alike else digits:
            found[dimension] = found.get(dimension, 1) * size
    return found


def _rounds_with(operator: Operator, nest: Nest) -> set[int]:
    """Sequential loops whose rounds make a minimum or maximum go on."""
    return {
        loop.number
        for statement, around in statements(nest.body)
        if isinstance(statement, Compute | Combine) and statement.operator is operator and _goes_on(statement)
        for loop in around
        if loop.kind is Kind.LOOP
    }


def _goes_on(statement: Compute | Combine) -> bool:
    """Whether it makes a value of what that was before."""
    if isinstance(statement, Combine):
        return True
    return any(isinstance(a, Ref) and a.value == statement.target.value for a in statement.arguments)


def _followed(prove: Callable[[], Proof]) -> Proof:
    try:
        return prove()
    except UnsupportedError as error:
        return Proof("unchecked", reason=one_line(error.diagnostics[0]))


def prove_kernels(
    stages: Sequence[Backbone],
    kernels: Sequence[CudaKernel],
    sizes: Mapping[str, int],
    most_steps: int,
    axes: Sequence[Axes | None],
    *,
    every: bool = False,
) -> Proof:
    """Each kernel at the size asked for, blocks that run alike by one of them. most_steps: instructions times threads of them.
    every: for every value of a size known at run time.

    axes: of each kernel's block, along which threads may compute alike; None: only threads that share nothing are followed.
    """
    domains: list[str] = []
    for stage, kernel, alike in zip((s.plain for s in stages), kernels, axes, strict=True):
        if every and any(buffer.inner for buffer in kernel.arrays):
            return Proof("unchecked", sizes, reason=f"{kernel.name}: strides that are known at run time are not followed")
        prove = _prover_of_class(kernel) if every and kernel.run_time else prove_blocks
        found = prove(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), most_steps, alike)
        if found.verdict != "proved":
            return Proof(found.verdict, sizes, reason=f"{kernel.name}: {found.reason}")
        domains += [found.domain, *(f"{plain} compiled as {used}" for plain, used in _replaced(stage))]
    return Proof("proved", sizes, joined_domain(domains))


def _prover_of_class(kernel: CudaKernel) -> Callable[..., CompiledProof]:
    """Blocks share out the size, or a loop sums over it."""
    is_shared = any(trips is not None for trips in kernel.open_grid)
    return prove_lengths if not is_shared and len(kernel.run_time) == 1 and kernel.open_loops else prove_sizes


def _at_small_sizes(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    target: Target,
) -> Proof:
    """Proves at the size asked for if all its blocks together are small enough, else at a small one."""
    if work_of(program) <= MOST_PROVED:
        return prove_nests(program, [i.nest for i in implementations], target, sizes)
    found = _instance(function, sizes, program, implementations, target)
    if isinstance(found, str):
        return Proof("unchecked", reason=found)
    proof = prove_nests(found.program, found.nests, target, found.sizes)
    return replace(proof, domain=", ".join([proof.domain, *found.told]), small=found.program)


def work_of(program: Program) -> int:
    """Executions of arithmetic instructions, those that the comparison takes longer for counted several times."""
    return sum(
        prod(stage.axes[a].size for a in i.axes) * (1 if i.operator in _QUICK else _SLOWER)
        for stage in program.stages
        for i in stage.instructions
        if i.access is None and i.operator is not Operator.MOVE
    )


@dataclass(frozen=True, slots=True)
class _Instance:
    sizes: Mapping[str, int]
    program: Program
    nests: Sequence[Nest]
    told: tuple[str, ...]
    """The domain's words for how its tiles differ from those of the kernel."""


def _instance(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    implementations: Sequence[Implementation[Candidate]],
    target: Target,
) -> _Instance | str:
    """The first small launch with these decisions that is not too large, the tiles as they are before smaller ones; or why there
    is none."""
    rounds = _BEYOND_STAGES + max((b.copies for i in implementations for b in i.nest.buffers), default=1)
    given = [i.nest for i in implementations]
    failed, least = "", 0
    for most, divisor, blocks in product((_PREFERRED, MOST_PROVED), _DIVISORS, (2, 1)):
        pairs = list(zip(program.stages, implementations, strict=True))
        whole = [shortened(stage, i, blocks, rounds) for stage, i in pairs]
        sizes_of = [_smaller(stage, i, found, divisor) for (stage, i), found in zip(pairs, whole, strict=True)]
        try:
            small, kernels = program_at(function, sizes, program, sizes_of)
            if (work := work_of(kernels)) > most:
                least = min(least or work, work)
                continue
            nests = nests_at(kernels, implementations, target) if may_show_masks(given, kernels) else None
        except UserError as error:
            failed = failed or error.diagnostics[0].message
            continue
        if nests is None or not shows_masks(given, nests):
            failed = NO_MASK
            continue
        return _Instance(small, kernels, nests, _tiles_told(program, whole, sizes_of))
    if failed:
        return f"the decisions do not carry over to a size that is small enough to prove: {failed}"
    return f"the smallest launch of these decisions does {least} operations: too many to prove"


def _smaller(stage: Backbone, implementation: Implementation[Candidate], sizes: Sequence[int], divisor: int) -> list[int]:
    """Tiles of blocks, threads and unrolled loops divided, where at least two iterations are left; vectors stay, and so do rounds
    that are no threads in another loop."""
    found = list(sizes)
    for n, extent in enumerate(stage.extents):
        kinds = kinds_of(stage, implementation, n)
        if extent.level and "VECTOR" not in kinds and ("LOOP" not in kinds or "THREAD" in kinds):
            by = next(d for d in range(divisor, 0, -1) if d == 1 or (sizes[n] % d == 0 and sizes[n] >= 2 * d))
            found[n] = sizes[n] // by
    return found


def _tiles_told(program: Program, whole: Sequence[Sequence[int]], sizes_of: Sequence[Sequence[int]]) -> tuple[str, ...]:
    return tuple(
        f"tile {stage.axes[extent.axis].name}{extent.level} of {now} in place of {before}"
        for stage, sizes, others in zip(program.stages, whole, sizes_of, strict=True)
        for extent, before, now in zip(stage.extents, sizes, others, strict=True)
        if before != now
    )


def prove_nests(program: Program, nests: Sequence[Nest], target: Target, sizes: Mapping[str, int]) -> Proof:
    """Each kernel for any content of the arrays that it reads; together they are the program."""
    domains: list[str] = []
    for stage, nest in zip((s.plain for s in program.stages), nests, strict=True):
        kernel = cuda_kernel(nest, Options(arch=arch_of(target)))
        found = prove_kernel(stage, kernel)
        if found.verdict != "proved":
            return Proof(found.verdict, sizes, reason=f"{kernel.name}: {found.reason}")
        domains += [found.domain, *(f"{plain} compiled as {used}" for plain, used in _replaced(stage))]
    return Proof("proved", sizes, joined_domain(domains))


def compiled_for_proof(stage: Backbone, kernel: CudaKernel) -> PtxProgram:
    """The compiler's output of the printed text, with `_REPLACED` as macros before it. UserError: TOOL_MISSING, CUDA_ERROR."""
    macros = "".join(f"#define {plain} {used}\n" for plain, used in _replaced(stage))
    return lower(parse(ptx_of(replace(kernel, text=macros + kernel.text)), f"{kernel.name}.ptx"))


def _replaced(stage: Backbone) -> list[tuple[str, str]]:
    used = {i.operator for i in stage.instructions if i.dtype.name == "f32"}
    return [names for operator, names in _REPLACED.items() if operator in used]


def prove_kernel(stage: Backbone, kernel: CudaKernel, ptx: PtxProgram | None = None) -> CompiledProof:
    """The launch of a printed kernel, compiled, against the terms of its backbone.

    Inputs and parameters are symbols; every element that the backbone stores must hold its term afterwards, every other element
    of inputs and outputs what it held before. Outputs and temporaries are undefined at first. ptx: the compiled text, if it is
    at hand. UnsupportedError for PTX that is not followed.
    """
    ptx = compiled_for_proof(stage, kernel) if ptx is None else ptx
    elements = evaluate_terms(stage)
    gathers = index_arrays_of(stage)
    notes = set(gathers.notes) if gathers is not None else set[str]()
    wanted = {
        b.name: Wanted(elements[b.name].terms, elements[b.name].stored, algebra_for(b.dtype), notes=notes, gathers=gathers)
        for b in kernel.arrays
    }
    return prove_launch(
        ptx,
        kernel.name,
        arguments_of(stage, kernel),
        kernel.grid,
        kernel.block,
        wanted,
        dynamic_shared_bytes=kernel.dynamic_shared_bytes,
    )


def arguments_of(stage: Backbone, kernel: CudaKernel) -> tuple[ArrayArgument | ScalarArgument, ...]:
    """Inputs and parameters as symbols, outputs and temporaries undefined."""
    roles = {region.name: region.role for region in stage.regions}
    arguments: list[ArrayArgument | ScalarArgument] = []
    for buffer in kernel.arrays:
        content = "symbols" if roles[buffer.name] is Role.INPUT else "undefined"
        arguments.append(ArrayArgument(buffer.name, buffer.dtype, (buffer.elements,), content))
    for buffer in kernel.block_arrays:
        count = buffer.elements * buffer.copies * kernel.blocks
        arguments.append(ArrayArgument(buffer.name, buffer.dtype, (count,), "undefined"))
    arguments += [ScalarArgument(p.name, p.dtype, None) for p in kernel.parameters]
    arguments += [ScalarArgument(size.name, i32, value) for size, value in kernel.run_time]
    return tuple(arguments)
