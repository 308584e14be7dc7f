"""Kernels that run one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.schedule.backbone.nodes import Backbone, Parameter, Region


@dataclass(frozen=True, slots=True)
class Program:
    """One backbone per stage, in the order they run; times add. Stages share arrays by name."""

    name: str
    stages: tuple[Backbone, ...]
    arguments: tuple[Region, ...]
    """All arrays, in the order of the function's parameters; what one stage writes for the next has the role TEMPORARY here."""
    parameters: tuple[Parameter, ...] = ()

    def region(self, name: str) -> Region:
        """KeyError if there is none."""
        for region in self.arguments:
            if region.name == name:
                return region
        raise KeyError(name)
