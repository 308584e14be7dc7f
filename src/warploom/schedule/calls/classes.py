"""Kernels that serve a class of shapes: some sizes have one value, the others are arguments of the kernels.

What the values decide is described anew for each of them (iterations, arrays between stages); nothing is printed or compiled
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from warploom.core import UnsupportedError, UserError
from warploom.schedule.backbone import MOST_AT_RUN_TIME, Program, at_sizes, open_lengths
from warploom.schedule.calls.runners import SHARED_POINTS, CompiledRunner, EvaluatedRunner, Runner
from warploom.schedule.cpu import CompiledNest, compile_nest, find_compiler, plain_nest, sound_build
from warploom.schedule.cuda import CudaKernel
from warploom.schedule.frontend import TensorFunction


@dataclass(frozen=True, slots=True)
class SizeClass:
    program: Program
    fixed: Mapping[str, int]
    """Sizes that have one value."""
    multiples: Mapping[str, int]
    """The other sizes, and what their values are multiples of."""

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return in_class(sizes, self.fixed, self.multiples) and all(n.at(sizes) > 0 for n in open_lengths(self.program))

    @property
    def order(self) -> tuple[int, int]:
        """Narrower classes are less."""
        return len(self.multiples), -prod(self.multiples.values())


Class = TypeVar("Class", bound=SizeClass)


@dataclass(frozen=True, slots=True)
class ShapeClass(SizeClass):
    """On a CPU."""

    kernels: tuple[CompiledNest, ...]
    threads: int
    kind: str
    """`plain` or `found`."""

    def runner(self, sizes: Mapping[str, int]) -> CompiledRunner:
        """A runner for sizes that the class holds; on one thread where they are small."""
        program = at_sizes(self.program, sizes)
        points = sum(prod(stage.axes[a].size for a in i.axes) for stage in program.stages for i in stage.instructions)
        threads = self.threads if points >= SHARED_POINTS else 1
        return CompiledRunner(program, [kernel.at(sizes) for kernel in self.kernels], threads, self.kind)


@dataclass(frozen=True, slots=True)
class GpuKernels:
    """Kernels that calls at the same sizes run on GPUs of one target."""

    program: Program
    kernels: Sequence[CudaKernel]
    kind: str
    """`found` or `plain`."""


@dataclass(frozen=True, slots=True)
class GpuClass(SizeClass):
    """On GPUs of one target."""

    kernels: tuple[CudaKernel, ...]
    kind: str
    """`plain` or `found`."""

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether the sizes are of the class, and every kernel can be launched at them."""
        is_of_class = SizeClass.holds(self, sizes)
        return is_of_class and all(kernel.at(sizes).is_launchable for kernel in self.kernels)

    def launches(self, sizes: Mapping[str, int]) -> GpuKernels:
        """The kernels at sizes that the class holds."""
        return GpuKernels(at_sizes(self.program, sizes), [kernel.at(sizes) for kernel in self.kernels], self.kind)


def in_class(sizes: Mapping[str, int], fixed: Mapping[str, int], multiples: Mapping[str, int]) -> bool:
    """Whether the sizes have these values, and are multiples of these numbers."""
    return all(sizes.get(name) == value for name, value in fixed.items()) and all(
        name in sizes and 1 <= sizes[name] <= MOST_AT_RUN_TIME and sizes[name] % multiple == 0
        for name, multiple in multiples.items()
    )


def narrowest(classes: Sequence[Class], sizes: Mapping[str, int]) -> Class | None:
    """The narrowest of the classes that hold the sizes; None where there is none."""
    return min((c for c in classes if c.holds(sizes)), key=lambda c: c.order, default=None)


def plain_class(function: TensorFunction, sizes: Mapping[str, int], threads: int) -> ShapeClass | None:
    """The kernels as plain loops, for every value of those sizes that can be arguments of kernels; None where they cannot be
    compiled. UserError: wrong sizes."""
    program = function.program(sizes)
    if find_compiler() is None:
        return None
    try:
        multiples, program = all_open(function, program)
        kernels = tuple(compile_nest(plain_nest(stage), flags=sound_build(stage).flags) for stage in program.stages)
    except (UnsupportedError, UserError, OSError):
        return None
    fixed = {name: value for name, value in sizes.items() if name not in multiples}
    return ShapeClass(program, fixed, multiples, kernels, threads, "plain")


def all_open(function: TensorFunction, program: Program, *, has_strides: bool = False) -> tuple[dict[str, int], Program]:
    """Every size that can be an argument of the kernels, and the program with these as such."""
    found: dict[str, int] = {}
    best = program
    for name in function.sizes:
        with suppress(UserError):
            best = function.at_run_time(program, {**found, name: 1}, has_strides=has_strides)
            found[name] = 1
    return found, best


def plain_runner(function: TensorFunction, sizes: Mapping[str, int], threads: int) -> Runner:
    """The kernels as plain loops; evaluated where they cannot be compiled. UserError: wrong sizes."""
    found = plain_class(function, sizes, threads)
    return found.runner(sizes) if found is not None else EvaluatedRunner(function.program(sizes))
