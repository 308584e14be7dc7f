"""A tensor function whose reductions are made in parts by more blocks, and put together by later kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import ROWS, Program, Tiles, at_known_sizes, no_tiles, unlike
from warploom.schedule.frontend import PartedFunction, ProgramOptions, TensorFunction
from warploom.synth.compiled import joined_domain
from warploom.terms import algebra_for


@dataclass(frozen=True, slots=True)
class InParts:
    """Sizes and arrays are those of `whole`."""

    whole: TensorKernel | TensorFunction
    parts: int
    size: str
    """Name of the size that is summed over."""
    rest: int = 0
    """Elements behind the last part."""
    tile: int = 0
    """Elements of a part in each round, where the size is known at run time; 0: it is not."""

    @property
    def parted(self) -> PartedFunction:
        function = self.whole.function if isinstance(self.whole, TensorKernel) else self.whole
        return PartedFunction(function, self.parts, self.size, self.rest, self.tile)

    def program(
        self, sizes: Mapping[str, int], tiles: Tiles = no_tiles, **options: Unpack[ProgramOptions]
    ) -> Program:  # fmt: skip
        """As `PartedFunction.program`."""
        return self.parted.program(sizes, tiles, **options)

    def at_run_time(self, program: Program, multiples: Mapping[str, int], *, has_strides: bool = False) -> Program:
        """As `PartedFunction.at_run_time`."""
        return self.parted.at_run_time(program, multiples, has_strides=has_strides)

    def whole_at_run_time(self, sizes: Mapping[str, int], multiples: Mapping[str, int]) -> Program:
        """The function as it stands with some of these sizes as arguments of its kernels."""
        return self.whole.at_run_time(self.whole_at(sizes), multiples, has_strides=True)

    def whole_at(self, sizes: Mapping[str, int]) -> Program:
        """The function as it stands, which the kernels must be together."""
        return self.whole.program(sizes)

    @property
    def domain(self) -> str:
        """Numbers for which reductions may be taken in another order, as the parts of this one are."""
        return joined_domain([algebra_for(r.dtype).domain_of((ROWS[r.operator].sign,)) for r in self.parted.found.totals])

    def unlike(self, sizes: Mapping[str, int], program: Program) -> str | None:
        """Why the program's stages are not seen to be the function at these sizes, those of the program; None where they are
        proved to be."""
        return unlike(self.whole_at(sizes).stages, at_known_sizes(program).stages)
