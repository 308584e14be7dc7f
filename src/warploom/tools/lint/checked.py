"""One launch of a kernel on NumPy arrays, with all checks: what the pytest plugin offers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ptx import Counts, Launch, launch
from warploom.ptx.simt import Argument
from warploom.tools.lint.findings import Found, costs, merged, mistakes
from warploom.tools.lint.launchable import Launchable
from warploom.tools.lint.numba_kernels import NumbaKernel, is_numba
from warploom.tools.lint.python_kernels import TritonKernel, python_kernel
from warploom.tools.lint.raw_kernels import is_raw_kernel, raw_source
from warploom.tools.lint.silenced import is_ignored
from warploom.tools.lint.sources import Compilation, Source, kernel_named
from warploom.tools.lint.told import text

Extents = int | Sequence[int]


class KernelError(AssertionError):
    """The launch has a fault, a race, or another mistake; the text has each with its lines."""

    def __init__(self, findings: Sequence[Found]) -> None:
        super().__init__("\n".join(text(found) for found in findings))
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Checked:
    """A launch without a mistake."""

    counts: Counts
    warnings: tuple[Found, ...]
    """Accesses that cost more than their data need."""


def launch_checked(
    source: object,
    grid: Extents,
    block: Extents,
    *args: Argument,
    kernel: str | None = None,
    constants: Mapping[str, object] | None = None,
    symbols: Mapping[str, NDArray[Any]] | None = None,
    shared_bytes: int = 0,
    cooperative: bool = False,
    arch: str = "sm_90",
    folders: Sequence[str] = (),
    defines: Sequence[str] = (),
    strict: bool = False,
) -> Checked:
    """Runs a kernel in the interpreter; the arrays among `args` are changed in place.

    source: a path (.cu, .ptx), a `RawKernel` of CuPy, or a function under Numba's `@cuda.jit` or Triton's `@triton.jit`, whose
    block is 32 times its num_warps. kernel: which one of several. constants: of `tl.constexpr` parameters. symbols: content of
    `__constant__` and `__device__` variables by name. shared_bytes: dynamic shared memory of a block. cooperative: blocks may
    wait for their grid. strict: warnings are mistakes, too.
    Raises KernelError for mistakes, UserError for what cannot be compiled or launched, UnsupportedError for an instruction that
    the interpreter does not know. A comment `// warploom: ignore[RULE]` silences a rule on its line.
    """
    compilation = Compilation(arch, tuple(folders), tuple(defines))
    if isinstance(source, str | Path):
        if constants:
            message = "expected constants for a Triton kernel alone; macros of CUDA are `defines`"
            raise UserError(Diagnostic("CONSTANT", message))
        read = _read(str(source), _changed(source), compilation)
        name = kernel_named(read, kernel)
    elif is_raw_kernel(source):
        read = raw_source(source, compilation)
        name = kernel_named(read, kernel or getattr(source, "name", None))
    else:
        made = _python_kernel(source, len(args)).launchable(args, constants or {}, compilation, int(np.prod(block)))
        return run_checked(made, grid, block, symbols=symbols, strict=strict)
    made = Launchable(read, name, list(args), shared_bytes, cooperative=cooperative)
    return run_checked(made, grid, block, symbols=symbols, strict=strict)


def run_checked(
    made: Launchable, grid: Extents, block: Extents, *, symbols: Mapping[str, NDArray[Any]] | None = None, strict: bool = False
) -> Checked:
    """Runs a compiled kernel; arrays are changed in place. Raises as `launch_checked`."""
    ran = _run(made, grid, block, symbols, has_counts=True)
    assert ran.counts is not None
    counting = _counting(merged([*_mistakes(made, ran), *costs(ran.counts, made.source, made.name)]), ran, is_strict=strict)
    return Checked(ran.counts, tuple(counting))


def run_silently(made: Launchable, grid: Extents, block: Extents) -> None:
    """Runs a compiled kernel without counting what it costs; arrays are changed in place. Raises as `launch_checked`."""
    ran = _run(made, grid, block, None, has_counts=False)
    _counting(merged(_mistakes(made, ran)), ran, is_strict=False)


def _run(
    made: Launchable, grid: Extents, block: Extents, symbols: Mapping[str, NDArray[Any]] | None, *, has_counts: bool
) -> Launch:
    return launch(
        made.source.program, made.name, grid=made.grid(grid), block=made.block(block), args=made.arguments(grid), symbols=symbols,
        dynamic_shared_bytes=made.shared_bytes, counts=has_counts, in_place=True,
        cooperative=made.cooperative, equal_stores_race=not made.is_of_triton,
    )  # fmt: skip


def _mistakes(made: Launchable, ran: Launch) -> list[Found]:
    return [replace(one, message=made.named(one.message)) for one in mistakes(ran.findings, made.source, made.name, made.values)]


def _counting(found: Sequence[Found], ran: Launch, *, is_strict: bool) -> list[Found]:
    """The findings that no comment silences. KernelError where one of them is a mistake."""
    counting = [one for one in found if not is_ignored(one)]
    wrong = [one for one in counting if one.level == "error" or is_strict]
    if wrong or ran.status != "finished":
        raise KernelError(wrong or [one for one in found if one.level == "error"])
    return counting


def _python_kernel(function: object, count: int) -> TritonKernel | NumbaKernel:
    """UserError for what is none, or takes another number of arguments."""
    inner: object = getattr(function, "py_func" if is_numba(function) else "fn", function)
    name = getattr(function, "__name__", "kernel")
    try:
        file = inspect.getsourcefile(inner) or "<kernel>"  # pyright: ignore[reportArgumentType]
    except TypeError:
        message = f"expected a path or a function under @triton.jit or @cuda.jit, got {type(function).__name__}"
        raise UserError(Diagnostic("NO_KERNEL", message)) from None
    found = python_kernel(f"{file}:{name}", function)
    if count != len(found.arguments):
        message = f"expected {len(found.arguments)} arguments for {name} ({', '.join(found.arguments)}), got {count}"
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message))
    return found


def _changed(path: str | Path) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _read(path: str, changed_ns: int, compilation: Compilation) -> Source:
    return Source(path, compilation)
