"""Kernels that run one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from warploom.schedule.backbone.nodes import Backbone, Constant, Instruction, Parameter, Region, Role, RunTimeSize


@dataclass(frozen=True, slots=True)
class Program:
    """One backbone per stage, in the order they run; times add. Stages share arrays by name."""

    name: str
    stages: tuple[Backbone, ...]
    arguments: tuple[Region, ...]
    """All arrays, in the order of the function's parameters; what one stage writes for the next has the role TEMPORARY here."""
    parameters: tuple[Parameter, ...] = ()
    order: tuple[str, ...] = ()
    """Names of arrays and parameters as the function has them; empty: arrays first."""

    @property
    def plain(self) -> Program:
        """The stages as the function says them: what results are compared with."""
        return replace(self, stages=tuple(plain for stage in self.stages for plain in stage.origins))

    @property
    def called_with(self) -> tuple[str, ...]:
        """Names of what a call takes, in order: all but arrays between stages."""
        between = {r.name for r in self.arguments if r.role is Role.TEMPORARY}
        names = self.order or (*(r.name for r in self.arguments), *(p.name for p in self.parameters))
        return tuple(name for name in names if name not in between)

    def region(self, name: str) -> Region:
        """KeyError if there is none."""
        for region in self.arguments:
            if region.name == name:
                return region
        raise KeyError(name)


def run_time_sizes(backbone: Backbone) -> tuple[RunTimeSize, ...]:
    """The sizes that its kernel takes as arguments: those of axes in their order, then those of strides and
    numbers."""
    return tuple(size for size, _ in run_time_values(backbone))


def run_time_values(backbone: Backbone) -> tuple[tuple[RunTimeSize, int], ...]:
    """The same, each with its value here."""
    found: dict[RunTimeSize, int] = {}
    rounds = [axis.run_time.alone for axis in backbone.axes if axis.run_time is not None and axis.run_time.per > 1]
    for axis in backbone.axes:
        if axis.run_time is not None and axis.run_time.per == 1:
            found.setdefault(axis.run_time.alone, axis.size - axis.run_time.more)
    for region in backbone.regions:
        for at, length in region.open_lengths:
            if at > 0 or length.alone in rounds:
                found.setdefault(length.alone, region.shape[at] - length.more)
    for constant in numbers_at_run_time(backbone):
        assert constant.run_time is not None
        found.setdefault(constant.run_time.alone, int(constant.value) - constant.run_time.more)
    return tuple(found.items())


def numbers_at_run_time(backbone: Backbone) -> tuple[Constant, ...]:
    """Lengths known at run time that are used as numbers."""
    operands = (o for i in backbone.instructions for o in i.operands)
    return tuple(o for o in operands if isinstance(o, Constant) and o.run_time is not None)


def open_lengths(program: Program) -> frozenset[RunTimeSize]:
    """Lengths known at run time of its arrays and axes."""
    axes = (axis.run_time for stage in program.stages for axis in stage.axes)
    arrays = (length for region in program.arguments for _, length in region.open_lengths)
    return frozenset(length for length in (*axes, *arrays) if length is not None)


def at_known_sizes(program: Program) -> Program:
    """The same mathematics with the values that its run-time sizes have here as known ones."""

    def known(stage: Backbone) -> Backbone:
        return replace(
            stage,
            made_of=tuple(map(known, stage.made_of)),
            axes=tuple(replace(a, run_time=None) for a in stage.axes),
            regions=tuple(replace(r, run_time=None, inner=()) for r in stage.regions),
            instructions=tuple(
                replace(i, operands=tuple(replace(o, run_time=None) if isinstance(o, Constant) else o for o in i.operands))
                for i in stage.instructions
            ),
        )

    arguments = tuple(replace(r, run_time=None, inner=()) for r in program.arguments)
    return replace(program, stages=tuple(map(known, program.stages)), arguments=arguments)


def at_sizes(program: Program, sizes: Mapping[str, int]) -> Program:
    """The mathematics at other values of its run-time sizes, 0 among them; for evaluation and proofs, not for a search: the tiles
    and the extents stay as they are."""
    stages = tuple(stage_at(stage, sizes) for stage in program.stages)
    return replace(program, stages=stages, arguments=tuple(_region_at(r, sizes) for r in program.arguments))


def stage_at(stage: Backbone, sizes: Mapping[str, int]) -> Backbone:
    """Like `at_sizes`, for one stage."""
    return replace(
        stage,
        made_of=tuple(stage_at(made, sizes) for made in stage.made_of),
        axes=tuple(a if a.run_time is None else replace(a, size=a.run_time.at(sizes)) for a in stage.axes),
        regions=tuple(_region_at(r, sizes) for r in stage.regions),
        instructions=tuple(_instruction_at(i, sizes) for i in stage.instructions),
    )


def _instruction_at(instruction: Instruction, sizes: Mapping[str, int]) -> Instruction:
    if not any(isinstance(o, Constant) and o.run_time is not None for o in instruction.operands):
        return instruction
    return replace(instruction, operands=tuple(o.at(sizes) if isinstance(o, Constant) else o for o in instruction.operands))


def _region_at(region: Region, sizes: Mapping[str, int]) -> Region:
    opened = dict(region.open_lengths)
    shape = tuple(opened[n].at(sizes) if n in opened else length for n, length in enumerate(region.shape))
    strides = tuple(prod(shape[n + 1 :]) for n in range(len(shape))) if region.inner else region.strides
    return replace(region, shape=shape, strides=strides)
