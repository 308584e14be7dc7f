"""Kernels that run one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from warploom.schedule.backbone.nodes import Backbone, Parameter, Region, Role, RunTimeSize


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
    """The sizes that its kernel takes as arguments, in the order of the axes."""
    return tuple(dict.fromkeys(a.run_time for a in backbone.axes if a.run_time is not None))


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
        axes=tuple(a if a.run_time is None else replace(a, size=sizes[a.run_time.name]) for a in stage.axes),
        regions=tuple(_region_at(r, sizes) for r in stage.regions),
    )


def _region_at(region: Region, sizes: Mapping[str, int]) -> Region:
    opened = dict(region.open_lengths)
    shape = tuple(sizes[opened[n].name] if n in opened else length for n, length in enumerate(region.shape))
    strides = tuple(prod(shape[n + 1 :]) for n in range(len(shape))) if region.inner else region.strides
    return replace(region, shape=shape, strides=strides)
