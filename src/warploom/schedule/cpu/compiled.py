"""Nests compiled to shared libraries, run on NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warploom.core import Diagnostic, UserError, in_memory
from warploom.core.compiler import KERNEL_FLAGS, WRAPPING, Compiler, build_library
from warploom.schedule.backbone import Role
from warploom.schedule.cpu.accesses import is_external
from warploom.schedule.cpu.printer import ENTRY, NO_SHARES, SECOND_ENTRY, Shares, c_source
from warploom.schedule.cpu.team import Job, entry_of, run_job
from warploom.schedule.cpu.timing import COLD_RUNS, DEFAULT_EFFORT, Effort, Timing, time_call
from warploom.schedule.nest import Buffer, Nest, at_value

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LINE_BYTES = 64


@dataclass(frozen=True, slots=True)
class CompiledNest:
    """A shared library and how to call it; may be sent to other processes of the machine."""

    name: str
    library: Path
    buffers: tuple[Buffer, ...]
    """The arrays of a run, in order."""
    parameters: tuple[str, ...]
    units: int
    """Iterations that threads share."""
    scratch_bytes: int
    """Scratch memory of each thread."""
    second_units: int = 0
    """Units of the part that runs when all units are done; 0: there is none."""
    common_bytes: tuple[int, ...] = ()
    """Bytes of the arrays that the second part gets from the first."""
    run_time: tuple[tuple[str, int], ...] = ()
    """Sizes that are arguments behind the parameters, with the values for which the rest is described."""
    shares: Shares = NO_SHARES
    """`units`, and `second_units`, for every value of those sizes."""
    second_shares: Shares = NO_SHARES
    common_shares: tuple[Shares, ...] = ()
    """`common_bytes`, for every value of those sizes."""

    def at(self, sizes: Mapping[str, int]) -> CompiledNest:
        """The same library, described for these values of its sizes known at run time. KeyError where one is missing."""
        was = dict(self.run_time)
        return replace(
            self,
            buffers=tuple(at_value(b, was, sizes) for b in self.buffers),
            units=self.shares.at(sizes),
            second_units=self.second_shares.at(sizes),
            common_bytes=tuple(shares.at(sizes) for shares in self.common_shares),
            run_time=tuple((name, sizes[name]) for name, _ in self.run_time),
        )

    def run(self, arrays: Sequence[NDArray[Any]], parameters: Mapping[str, float] | None = None, threads: int = 1) -> float:
        """Runs it once on arrays, flat or of any shape, and returns the elapsed seconds. Outputs are written in place."""
        return self.call(arrays, parameters).run(threads)

    def time(
        self,
        arrays: Sequence[NDArray[Any]],
        parameters: Mapping[str, float] | None = None,
        *,
        threads: int = 1,
        effort: Effort = DEFAULT_EFFORT,
        best_ms: float | None = None,
    ) -> Timing:
        """Times the nest like `time_call`. Outputs are written many times over; a kernel that adds to an output adds each
        time."""
        return time_call(self.call(arrays, parameters), threads, effort, best_ms)

    def call(self, arrays: Sequence[NDArray[Any]], parameters: Mapping[str, float] | None = None) -> Call:
        """Checks the arrays, which are as `in_memory` says, once for many runs. UserError where they do not fit the kernel."""
        return Call(self, arrays, parameters or {})


class Call:
    """A kernel with its arguments; of this process."""

    def __init__(self, kernel: CompiledNest, arrays: Sequence[NDArray[Any]], parameters: Mapping[str, float]) -> None:
        _check(kernel, arrays, parameters)
        self.kernel = kernel
        self._arrays = tuple(arrays)
        self._common = tuple(_aligned(size) for size in kernel.common_bytes)
        given = [a.ctypes.data for a in (*arrays, *self._common)]
        self._pointers = (ctypes.c_void_p * max(1, len(given)))(*given)
        values = [*(parameters[p] for p in kernel.parameters), *(value for _, value in kernel.run_time)]
        self._parameters = (ctypes.c_double * max(1, len(values)))(*values)
        self._job = Job(
            entry_of(kernel.library, ENTRY),
            self._pointers,
            self._parameters,
            kernel.units,
            kernel.scratch_bytes,
            entry_of(kernel.library, SECOND_ENTRY) if kernel.second_units else None,
            kernel.second_units,
        )

    def run(self, threads: int = 1, repeats: int = 1) -> float:
        """Elapsed seconds of all repeats."""
        return self.run_timed(threads, repeats)[0][0]

    def run_timed(self, threads: int = 1, repeats: int = 1, samples: int = 1) -> tuple[tuple[float, float], ...]:
        """Like `run_job`."""
        return run_job(self._job, threads, repeats, samples)

    def rough_ms(self, enough_ms: float) -> float:
        """Time of the first part on one thread, about, from as few of its units as take that long; outputs are written. Where all
        take less, the first run of all may have found neither pages nor caches: it has further ones beside it."""
        units = 1
        while True:
            job = replace(self._job, units=min(units, self._job.units), second=None, second_units=0)
            took_ms = run_job(job, 1)[0][0] * 1e3
            if took_ms >= enough_ms:
                return took_ms * self._job.units / max(1, job.units)
            if job.units == self._job.units:
                return min(took_ms, *(run_job(job, 1)[0][0] * 1e3 for _ in range(COLD_RUNS)))
            units *= 4


def compile_nest(
    nest: Nest, *, folder: Path | None = None, flags: tuple[str, ...] = KERNEL_FLAGS, compiler: Compiler | None = None
) -> CompiledNest:
    """Prints, compiles (unless `folder` has it) and describes a nest; loads nothing. UnsupportedError, UserError."""
    source = c_source(nest)
    wrapping = WRAPPING if has_integers(nest) else ()
    library = build_library(source.text, flags=(*flags, *wrapping), folder=folder, compiler=compiler)
    return CompiledNest(
        nest.name,
        library,
        tuple(b for b in nest.buffers if is_external(b)),
        tuple(p.name for p in nest.parameters),
        source.units,
        source.scratch_bytes,
        source.second_units,
        source.common_bytes,
        tuple((size.name, value) for size, value in nest.run_time),
        source.shares,
        source.second_shares,
        source.common_shares,
    )


def has_integers(nest: Nest) -> bool:
    return any(not value.dtype.is_float for value in nest.values)


def aligned_copy(array: NDArray[Any]) -> NDArray[Any]:
    """The same array in memory that begins with a cache line, in which kernels are fastest."""
    copy = _aligned(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _aligned(size: int) -> NDArray[np.uint8]:
    """Bytes that begin with a cache line."""
    held = np.zeros(size + _LINE_BYTES, np.uint8)
    start = -held.ctypes.data % _LINE_BYTES
    return held[start : start + size]


def _check(kernel: CompiledNest, arrays: Sequence[NDArray[Any]], parameters: Mapping[str, float]) -> None:
    wrong: list[str] = []
    if len(arrays) != len(kernel.buffers):
        wrong.append(f"expected {len(kernel.buffers)} arrays, got {len(arrays)}")
    for buffer, array in zip(kernel.buffers, arrays, strict=False):
        element, elements = buffer.held
        wanted = in_memory(element)
        if array.dtype != wanted:
            wrong.append(f"expected {buffer.name} of type {wanted}, got {array.dtype}")
        elif not array.flags.c_contiguous or array.size < elements:
            wrong.append(
                f"expected {buffer.name} as {elements} consecutive elements, got {array.size} with strides {array.strides}"
            )
        elif buffer.role is Role.OUTPUT and not array.flags.writeable:
            wrong.append(f"expected {buffer.name} to be writable")
        elif buffer.role is Role.OUTPUT and any(a is not array and np.may_share_memory(a, array) for a in arrays):
            wrong.append(f"expected {buffer.name} to share no memory with another array")
    wrong += [f"expected a value of {name}" for name in kernel.parameters if name not in parameters]
    if wrong:
        raise UserError(*(Diagnostic("CPU_ARGUMENTS", text) for text in wrong))
