"""A kernel of a Python module, compiled for its arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warploom.ptx.simt import Argument
from warploom.tools.lint.sources import Source

_LEAST = 256
"""Bytes of memory that nobody asks for."""


@dataclass(frozen=True, slots=True)
class Launchable:
    source: Source
    name: str
    values: list[Argument]
    """The given values, in the form that the compiled kernel takes."""
    shared_bytes: int
    positions: tuple[int, ...] = ()
    """For each value, the number of the user's argument that it is part of; empty: the values are the arguments."""

    blocks_of_program: int = 1
    """Blocks of a cluster that one program of the grid is, along x."""
    is_of_triton: bool = False
    cooperative: bool = False
    scratch_bytes: tuple[int, ...] = ()
    """For each parameter that the compiler has added, the bytes of memory that it takes for each program."""

    def arguments(self, grid: int | Sequence[int]) -> list[Argument]:
        """The values, and memory for added parameters, of a launch of so many programs."""
        programs = grid if isinstance(grid, int) else math.prod(grid)
        return [*self.values, *(np.zeros(max(size * programs, _LEAST), np.uint8) for size in self.scratch_bytes)]

    def grid(self, programs: int | Sequence[int]) -> tuple[int, ...]:
        """The grid in blocks."""
        first, *others = (programs,) if isinstance(programs, int) else programs
        return first * self.blocks_of_program, *others

    def block(self, asked: int | Sequence[int]) -> int | Sequence[int]:
        """The block: of Triton's kernels whose warps have several jobs more warps than were asked for."""
        required = self.source.program.routines[self.name].directive("reqntid") if self.is_of_triton else None
        return asked if required is None else required

    def named(self, message: str) -> str:
        """The message with the user's numbers of arguments."""
        if not self.positions:
            return message
        return re.sub(r"\bargument (\d+)", lambda match: f"argument {self.positions[int(match[1])]}", message)
