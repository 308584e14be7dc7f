"""Options of `warploom explore` for a tensor function, and the program that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import TypeAlias, assert_never

from warploom.core import FACTORS, Diagnostic, UnsupportedError, UserError, bf16
from warploom.ctext import c_type
from warploom.gpu import device_available
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import (
    Operator,
    Program,
    Role,
    Tiles,
    added_products,
    cpu_tiles,
    kept_along_open_sums,
    made_again,
    matrix_tiles,
    open_sums,
    paired_extremes,
    read_once,
    widened,
)
from warploom.schedule.choices import Features, default_order
from warploom.schedule.cpu import core_count, host
from warploom.schedule.frontend import TensorFunction, sharing_passes
from warploom.schedule.search import StrategyName
from warploom.schedule.targets import TARGETS, Target, target
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.one_pass import NO, ONLINE, before, in_one_pass
from warploom.tools.explore.run_time import searched_at
from warploom.tools.explore.worded import WORDED, worded

Function: TypeAlias = TensorKernel | TensorFunction | InParts

SEARCHED_S = 60.0
"""Wall seconds of a search, when nobody says."""
PROVED_S = 30.0
"""CPU seconds of the proof of a result for CUDA where no wall seconds end it, and of one of the usual effort."""
KEPT_BYTES = 1 << 17
"""Most bytes of a row that kernels for GPUs keep between two uses, so that they read it once: half of the registers of a
multiprocessor."""
_MOST_POINTS = 1 << 60
_UNTYPED = frozenset({Operator.MOVE, Operator.CAST, Operator.LOAD, Operator.STORE})


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    target: Target
    is_target_given: bool = True
    """True if the user gave the target."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sizes that the user gave."""
    run_time: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sizes that are arguments of the kernels, and what their values are multiples of."""
    threads: int = 1
    budget_s: float | None = None
    proof_budget_s: float | None = None
    """CPU seconds that the proof may take beyond the budget; None: it has what the budget leaves."""
    seed: int = 0
    strategy: StrategyName | None = None
    """None: refine."""
    order: tuple[str, ...] | None = None
    """Order of decisions, by choice, those first that are listed; None: the target's; `reverse` alone: that one backwards."""
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    features: Features | None = None
    """Features of the space; None: the target's."""
    journal: Path | None = None
    """A folder."""
    cluster: str | None = None
    nodes: int | None = None
    only_size: bool = False
    """Estimate the size of the space and search nothing."""
    only_choices: bool = False
    """List the choices that are open and search nothing."""
    replayed: Path | None = None
    """Judge the implementation whose decisions this file holds and search nothing."""
    code: Path | None = None
    is_package: bool = False
    """`code` is a folder for C, header, Python and PyTorch, made if missing."""
    page: Path | None = None

    @property
    def searched_fixed(self) -> dict[str, str]:
        """Decisions by hand that the search takes."""
        taken = self.taken_before(self.fixed)
        return {name: value for name, value in self.fixed.items() if name not in taken}

    @property
    def is_by_hand(self) -> bool:
        """Decisions were given that plain loops do not have: any but that nothing is taken in words."""
        return bool(self.searched_fixed) or any(value != NO for value in self.fixed.values())

    def taken_before(self, decisions: Mapping[str, str]) -> dict[str, str]:
        """Decisions that say what the instructions are."""
        return {} if self.features is not None else before(decisions, ONLINE if self.target.kind == "cuda" else WORDED)

    @property
    def decision_order(self) -> tuple[str, ...]:
        usual = default_order(self.target)
        if self.order is None:
            return usual
        if self.order == ("reverse",):
            return tuple(reversed(usual))
        return tuple(dict.fromkeys((*self.order, *usual)))

    @property
    def wall_budget_s(self) -> float:
        return SEARCHED_S if self.budget_s is None else self.budget_s

    @property
    def is_repeatable(self) -> bool:
        """No wall seconds end the check and the proof, which belong to no budget: the search ends by its candidates."""
        return self.budget_s is None and (self.nodes is not None or self.replayed is not None)

    @property
    def is_measured(self) -> bool:
        """Candidates run on the machine that they are for."""
        return self.target.kind == "cpu" or device_available()


def machine_of(name: str, threads: int | None) -> tuple[Target, int]:
    """The target called `name` (`cpu`: this machine) and the threads of its kernels; UserError for an unknown one."""
    if name == "cpu":
        used = threads or core_count()
        return host(used), used
    on = target(name)
    return on, (threads or core_count()) if on.kind == "cpu" else 1


def program_of(function: Function, options: KernelOptions, decisions: Mapping[str, str] | None = None) -> Program:
    """The kernels at the sizes asked for, with the target's tile sizes to choose from. `decisions`: those that are to hold, by
    default the ones fixed by hand; their names tell which stages are joined (`shared_passes`)."""
    tiles: Tiles = cpu_tiles if options.target.kind == "cpu" else matrix_tiles(options.target.matrices)
    program = function.program(sizes_of(function, options.sizes, options.run_time), tiles)
    program = function.at_run_time(program, options.run_time, has_strides=options.target.kind == "cuda")
    if points_of(program) > _MOST_POINTS:
        message = f"expected sizes with at most 2**60 points of {program.name}, got {points_of(program):.3g}"
        raise UserError(Diagnostic("SIZES", message, fix="Give smaller sizes."))
    if options.target.kind == "cpu":
        _check_in_c(program)
        given = options.fixed if decisions is None else decisions
        program = _in_shared_passes(program, options.threads, {n: v for n, v in given.items() if n != WORDED})
        program = replace(program, stages=tuple(paired_extremes(added_products(made_again(s))) for s in program.stages))
        program = worded(program, options.target, options.fixed)
    if options.target.kind == "cuda":
        _check_served(program)
        _check_factors(program, options.target)
        stages = (read_once(stage, KEPT_BYTES) for stage in program.stages)
        program = replace(program, stages=tuple(made_again(s) if open_sums(s) else s for s in stages))
        _check_nothing_kept(program)
        program = replace(program, stages=tuple(widened(stage, options.target.matrices) for stage in program.stages))
        if options.features is None:
            program = in_one_pass(program, options.fixed)
    return program


def _in_shared_passes(program: Program, threads: int, decisions: Mapping[str, str]) -> Program:
    """Stages that pass over one array are joined for one thread, since several share them out in different ways; where decisions
    name stages, as these say."""
    joined = sharing_passes(program, cpu_tiles)
    named = {stage for name in decisions for stage, slash, _ in [name.partition("/")] if slash}
    is_of_one = bool(decisions) and not named
    fitting = [
        p
        for p in ((joined, program) if threads == 1 else (program, joined))
        if (len(p.stages) == 1 if is_of_one else named <= {stage.name for stage in p.stages})
    ]
    return fitting[0] if fitting else program


def sizes_of(function: Function, sizes: Mapping[str, int], run_time: Mapping[str, int]) -> dict[str, int]:
    """The sizes that are searched for: those asked for, and the kernel's own for the rest. UserError (UNKNOWN_SIZE, SIZES)."""
    match function:
        case TensorKernel():
            if unknown := sorted({*sizes, *run_time} - set(function.sizes)):
                message = f"expected sizes of {function.name} ({', '.join(function.sizes)}), got {', '.join(unknown)}"
                raise UserError(Diagnostic("UNKNOWN_SIZE", message, fix="give the sizes that its arrays name"))
            return searched_at(function.sizes_with(sizes), run_time)
        case TensorFunction():
            found = searched_at(sizes, run_time)
            function.check_sizes(found)
            return found
        case InParts(whole=whole):
            return sizes_of(whole, sizes, run_time)
        case _:
            assert_never(function)


def points_of(program: Program) -> int:
    """Executions of instructions, each on its own axes."""
    return sum(prod(stage.axes[a].size for a in i.axes) for stage in program.stages for i in stage.instructions)


def _check_in_c(program: Program) -> None:
    """Types that C lacks, and arithmetic in bf16, a word for it. UnsupportedError at the place of an array or operation."""
    for region in (r for stage in program.stages for r in stage.regions):
        if c_type(region.dtype) is None:
            message = f"expected {region.name} of a type that C has, got {region.dtype.name}"
            raise UnsupportedError(Diagnostic("C_TYPE", message, region.span, "Give a GPU: --target sm_90."))
    for instruction in (i for stage in program.stages for i in stage.instructions):
        if instruction.dtype == bf16 and instruction.operator not in _UNTYPED:
            message = f"expected f32, f64 or an integer type of {instruction.operator}, got bf16"
            raise UnsupportedError(Diagnostic("C_TYPE", message, instruction.span, "Convert its operands with f32(...)."))
    for scalar in program.parameters:
        if scalar.dtype == bf16:
            message = f"expected a scalar of a type that C has, got {scalar.name} of bf16"
            raise UnsupportedError(Diagnostic("C_TYPE", message, fix="Declare it as f32."))


def _check_factors(program: Program, on: Target) -> None:
    """Types that only factors of products of matrices have, where the target does not multiply them. UnsupportedError at the
    place of an array."""
    for region in (r for stage in program.stages for r in stage.regions if r.dtype in FACTORS):
        if region.role is not Role.INPUT:
            message = (
                f"expected {region.name} of a type that kernels write, got {region.dtype.name}, which is for factors of products"
            )
            raise UnsupportedError(Diagnostic("CUDA_TYPE", message, region.span, "Store f32, f16 or bf16."))
        if region.dtype.name not in on.matrices:
            able = [name for name, other in TARGETS.items() if region.dtype.name in other.matrices]
            message = f"expected a target whose warps multiply {region.dtype.name} ({', '.join(able)}), got {on.name}"
            fix = f"Give --target {able[0]}, or declare {region.name} as f16 or bf16."
            raise UnsupportedError(Diagnostic("CUDA_TYPE", message, region.span, fix))


def _check_nothing_kept(program: Program) -> None:
    """Along an axis that is summed over and whose length is known at run time nothing can be kept. UserError (RUN_TIME_SIZE) at a
    value that would have to be and is not made again."""
    for stage in program.stages:
        kept = kept_along_open_sums(stage) if open_sums(stage) else None
        if kept is not None:
            names = ", ".join(stage.axes[a].name for a in sorted(open_sums(stage).intersection(kept.axes)))
            message = (
                f"expected values along {names}, whose length is known at run time, that can be made again, got {kept.name!r}"
            )
            fix = "Give this size a value, or store the values in a temp array."
            raise UserError(Diagnostic("RUN_TIME_SIZE", message, kept.span, fix))


def _check_served(program: Program) -> None:
    """Arithmetic that CUDA printing would refuse after the search. UnsupportedError at its place in the source."""
    for instruction in (i for stage in program.stages for i in stage.instructions):
        if instruction.dtype.is_narrow_float and instruction.operator not in _UNTYPED:
            message = f"expected f32, f64 or an integer type of {instruction.operator}, got {instruction.dtype.name}"
            raise UnsupportedError(Diagnostic("CUDA_TYPE", message, instruction.span, "Declare the arrays as f32."))
