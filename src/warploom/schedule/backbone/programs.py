"""Kernels that run one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.schedule.backbone.nodes import Backbone, Parameter, Region, Role


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
