"""Runners of tensor functions: compiled kernels, or the evaluation of the mathematics where no compiler works."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import in_memory, values_of, words_of
from warploom.schedule.backbone import Program, Region, Role, evaluate_program
from warploom.schedule.cpu import (
    ENTRY,
    SECOND_ENTRY,
    CompiledNest,
    Job,
    entry_of,
    function_of,
    run_job,
)

Array: TypeAlias = NDArray[Any]
_LINE_BYTES = 64
SHARED_POINTS = 1 << 18
"""Points of instructions from which on plain loops are worth several threads."""


class Runner(Protocol):
    @property
    def kind(self) -> str:
        """`plain`, `evaluated` or `found`."""
        ...

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        """Inputs and outputs in the order of the parameters; outputs are written in place."""
        ...


@dataclass(frozen=True, slots=True)
class _Step:
    """One kernel of a program."""

    job: Job
    main: Any
    second: Any
    pointers: Any
    """Type of the list of its arrays."""
    arrays: tuple[int, ...]
    """Numbers of the program's arrays that it takes."""
    common: tuple[int, ...]
    """Bytes of the arrays of all of its threads."""
    parameters: Any
    """Type of the list of its scalars."""
    scalars: tuple[int, ...]
    sizes: tuple[int, ...]
    """Values of sizes known at run time, which follow the scalars."""


@dataclass(frozen=True, slots=True)
class Direct:
    """A kernel by the addresses of its parts."""

    kernel: int | None
    second: int | None
    units: int
    second_units: int
    arrays: tuple[int, ...]
    """Numbers of the program's arrays that it takes, in order."""
    sizes: tuple[int, ...]
    """Values of its sizes known at run time."""


class CompiledRunner:
    """Kernels one after the other; may be called by several threads of Python at once."""

    def __init__(self, program: Program, kernels: Sequence[CompiledNest], threads: int, kind: str) -> None:
        self.kind = kind
        self.threads = threads
        names = [r.name for r in program.arguments if r.role is not Role.TEMPORARY]
        between = [r for r in program.arguments if r.role is Role.TEMPORARY]
        self._between = tuple((r.elements, in_memory(r.dtype)) for r in between)
        places = {name: n for n, name in enumerate([*names, *(r.name for r in between)])}
        scalars = {p.name: n for n, p in enumerate(program.parameters)}
        self._steps = tuple(_step(kernel, places, scalars) for kernel in kernels)

    @property
    def direct(self) -> Direct | None:
        """The one kernel, where it runs on the caller's thread and needs nothing but arrays."""
        if len(self._steps) != 1 or self._between or self.threads != 1:
            return None
        (step,) = self._steps
        job = step.job
        if job.scratch_bytes or step.common or step.scalars:
            return None
        second = job.second.value if job.second is not None else None
        return Direct(job.entry.value, second, job.units, job.second_units, step.arrays, step.sizes)

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        self.run_at([a.ctypes.data for a in arrays], scalars)

    def run_at(self, addresses: Sequence[int], scalars: Sequence[float]) -> None:
        """The same by the addresses of the arrays, which the caller holds."""
        held: list[Array] = []
        if self._between:
            held = [np.empty(elements, dtype) for elements, dtype in self._between]
            addresses = [*addresses, *(a.ctypes.data for a in held)]
        for step in self._steps:
            at = [addresses[n] for n in step.arrays]
            for size in step.common:
                room = np.empty(size + _LINE_BYTES, np.uint8)
                held.append(room)
                start = room.ctypes.data
                at.append(start + -start % _LINE_BYTES)
            pointers = step.pointers(*at)
            parameters = step.parameters(*[scalars[n] for n in step.scalars], *step.sizes)
            job = step.job
            if self.threads == 1 and not job.scratch_bytes:
                step.main(pointers, parameters, 0, job.units, None)
                if step.second is not None:
                    step.second(pointers, parameters, 0, job.second_units, None)
            else:
                given = Job(job.entry, pointers, parameters, job.units, job.scratch_bytes, job.second, job.second_units)
                run_job(given, self.threads)


def _step(kernel: CompiledNest, places: dict[str, int], scalars: dict[str, int]) -> _Step:
    arrays = tuple(places[b.name] for b in kernel.buffers)
    second = kernel.second_units > 0
    pointers = ctypes.c_void_p * max(1, len(arrays) + len(kernel.common_bytes))
    parameters = ctypes.c_double * max(1, len(kernel.parameters) + len(kernel.run_time))
    job = Job(
        entry_of(kernel.library, ENTRY),
        pointers(),
        parameters(),
        kernel.units,
        kernel.scratch_bytes,
        entry_of(kernel.library, SECOND_ENTRY) if second else None,
        kernel.second_units,
    )
    return _Step(
        job,
        function_of(kernel.library, ENTRY),
        function_of(kernel.library, SECOND_ENTRY) if second else None,
        pointers,
        arrays,
        kernel.common_bytes,
        parameters,
        tuple(scalars[p] for p in kernel.parameters),
        tuple(value for _, value in kernel.run_time),
    )


class EvaluatedRunner:
    """The mathematics, evaluated by NumPy: right and slow."""

    kind = "evaluated"

    def __init__(self, program: Program) -> None:
        self._program = program

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        regions = [r for r in self._program.arguments if r.role is not Role.TEMPORARY]
        named = dict(zip((r.name for r in regions), arrays, strict=True))
        inputs = {r.name: _held(r, named[r.name]) for r in regions if r.role is Role.INPUT}
        values = dict(zip((p.name for p in self._program.parameters), scalars, strict=True))
        made = evaluate_program(self._program, inputs, values)
        for region in regions:
            if region.role is Role.OUTPUT:
                named[region.name][...] = words_of(region.dtype, made[region.name]).reshape(region.shape)


def _held(region: Region, array: Array) -> Array:
    return values_of(region.dtype, array) if region.dtype.is_held else array
