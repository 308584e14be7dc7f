"""`launch`: run one kernel on NumPy arrays, without a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.ptx.routine import Program, Routine, lower
from warploom.ptx.simt.arguments import Argument, Bound, bind_arguments
from warploom.ptx.simt.clusters import MAX_CLUSTER
from warploom.ptx.simt.counts import Counts
from warploom.ptx.simt.findings import FaultError, Finding, OutOfBudgetError
from warploom.ptx.simt.numerics import quiet
from warploom.ptx.simt.running import Execution
from warploom.ptx.simt.state import LaunchState
from warploom.ptx.syntax import Module, parse

Status: TypeAlias = Literal["finished", "fault", "deadlock", "limit"]

BATCH_THREADS = 32_768
"""Threads that run together; whole blocks."""
LARGE = 4096
"""Threads of a launch whose registers are worth memory that is kept."""
BATCH_BYTES = 1 << 25
"""About how many bytes of shared memory and of stack the blocks of a batch have together."""
MAX_BLOCK = 1024
"""Threads of a block."""
MAX_EXTENTS = {"grid": (2**31 - 1, 65535, 65535), "block": (1024, 1024, 64), "cluster": (16, 16, 16)}
"""Source: CUDA C++ Programming Guide, technical specifications per compute capability."""
MAX_BLOCKS = 2**28
"""Most blocks that one launch here may have."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Result of a launch."""

    status: Status
    """`finished`, or why it stopped: `fault` (as on hardware), `deadlock`, `limit` (of executed instructions: unknown)."""
    arrays: Mapping[int, NDArray[Any]]
    """The arrays after the launch, by index of the argument (copies; after a fault as far as it came)."""
    findings: tuple[Finding, ...]
    counts: Counts | None
    """Counts, when asked for."""
    executed: int
    """Instructions times threads."""
    printed: tuple[str, ...] = ()
    """Texts of printf, in the order in which threads came to them."""
    initial: tuple[str, ...] = ()
    """Variables of the module that the kernel names and nobody set: they held what the file gives them, or zeros."""


def launch(
    program: Program | Module | str,
    kernel: str | None = None,
    *,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Argument],
    symbols: Mapping[str, NDArray[Any]] | None = None,
    cluster: int | Sequence[int] | None = None,
    cooperative: bool = False,
    dynamic_shared_bytes: int = 0,
    counts: bool = False,
    merged: Mapping[int, int] | None = None,
    checks: bool = True,
    limit: int | None = None,
    in_place: bool = False,
    equal_stores_race: bool = True,
) -> Launch:
    """Runs `kernel` (may be left out when there is one) for a grid of blocks.

    args: in parameter order; NumPy arrays for pointers (those that overlap do so in the launch), numbers or NumPy scalars
    converted to the parameter's type, bytes or structured scalars for structs. symbols: what the module's `.const` and `.global`
    variables hold when the launch begins, by name; others hold what the file gives them, or zeros. cluster: blocks of a cluster
    along x, y, z; None: as `.reqnctapercluster` says, else no clusters. cooperative: all blocks run together and may wait for
    each other (`this_grid().sync()` of CUDA, whose counter lies where %envreg1 and %envreg2 say). counts: count costs (slower).
    merged: by line of the text, how many bytes of an aligned piece of memory a shared access is counted to move for each lane; 0
    if the access of another line brings its data. checks: look for races and for what was never written (bounds and alignment are
    always checked). limit: instructions times threads before it gives up. in_place: the arrays given are changed, too.
    equal_stores_race: whether warps race that store one value at one place of shared memory by one instruction at one time, as
    Triton lets them where warps have several jobs. Raises UserError for a wrong request and UnsupportedError for an instruction
    that the interpreter does not know, located, when it is reached.
    """
    if isinstance(program, str):
        program = parse(program)
    if isinstance(program, Module):
        program = lower(program)
    routine = program.kernel(kernel)
    extents = _extents(grid, "grid", routine), _extents(block, "block", routine)
    cluster_extents = _cluster(cluster, extents[0], routine)

    def begun(*, wraps: bool, counts: bool = counts) -> LaunchState:
        state = LaunchState(
            program, routine, grid=extents[0], block=extents[1], dynamic_bytes=dynamic_shared_bytes, checks=checks, limit=limit,
            counts=counts, merged=merged, wraps=wraps, cluster=cluster_extents, cooperative=cooperative,
            equal_stores_race=equal_stores_race,
        )  # fmt: skip
        for name, content in (symbols or {}).items():
            state.set_variable(name, content)
        return state

    state = begun(wraps=False)
    _check_block(routine, state)
    initial = tuple(
        name for name in state.variables if name in state.shared.mentioned and _is_the_hosts(name) and name not in (symbols or {})
    )
    bound = bind_arguments(state, routine, args)
    if in_place:
        _check_writable(bound, routine)
    status = _run(state)
    if checks and (any(f.kind == "out_of_bounds" for f in state.findings.all()) or state.may_wrap()):
        again = begun(wraps=True, counts=False)
        bind_arguments(again, routine, args)
        _run(again)
        for finding in again.findings.all():
            if finding.kind == "index_overflow":
                state.findings.add(finding)
    arrays = {b.index: b.contents() for b in bound}
    if in_place:
        for b in bound:
            b.array[...] = arrays[b.index]
    counted = None if state.counter is None else state.counter.result()
    return Launch(status, arrays, state.findings.all(), counted, state.executed, tuple(state.printed), initial)


def _is_the_hosts(name: str) -> bool:
    """Texts of printf and tables that the compiler made have names with a dollar sign, which nobody else can set."""
    return not name.startswith("$")


def _check_writable(bound: Sequence[Bound], kernel: Routine) -> None:
    for index, array in ((b.index, b.array) for b in bound):
        if not array.flags.writeable:
            message = f"expected arrays that can be written (in_place), got a read-only one for argument {index} of {kernel.name}"
            raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix="Give a copy, or take the result from `arrays`."))


def _check_block(kernel: Routine, state: LaunchState) -> None:
    """UserError (LAUNCH_SHAPE) for a block that hardware or the kernel's own limits refuse."""
    required, most = kernel.directive("reqntid"), kernel.directive("maxntid")
    if required is not None and (*required, 1, 1)[:3] != state.block:
        message = f"expected blocks of {required} threads (.reqntid of {kernel.name}), got {state.block}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message))
    limit = MAX_BLOCK if most is None else min(MAX_BLOCK, math.prod(most))
    if state.block_threads > limit:
        message = f"expected at most {limit} threads in a block of {kernel.name}, got {state.block_threads}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message))


def _cluster(cluster: int | Sequence[int] | None, grid: tuple[int, int, int], kernel: Routine) -> tuple[int, int, int] | None:
    """UserError (LAUNCH_SHAPE) for a cluster that hardware, the grid or the kernel's own demand refuses."""
    required = kernel.directive("reqnctapercluster")
    if cluster is None:
        if required is None or not any(required):
            return None
        cluster = required
    x, y, z = found = _extents(cluster, "cluster", kernel)
    if required is not None and any(required) and (*required, 1, 1)[:3] != found:
        message = f"expected clusters of {required} blocks (.reqnctapercluster of {kernel.name}), got {found}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message))
    most = min(MAX_CLUSTER, *(kernel.directive("maxclusterrank") or (MAX_CLUSTER,)))
    if x * y * z > most:
        message = f"expected at most {most} blocks in a cluster of {kernel.name}, got {x * y * z}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message))
    if any(n % c for n, c in zip(grid, found, strict=True)):
        message = f"expected a grid of {kernel.name} that clusters of {found} blocks divide, got {grid}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message, fix="Launch whole clusters."))
    return found


@cache
def _keep_memory() -> None:
    """Tells glibc to keep what is freed: a launch makes and drops arrays of some 100 KB at every instruction.

    Arrays of that size come from the kernel page by page, and go back at once, until glibc has seen a larger one come and go;
    it takes the largest such array (at most 32 MiB) as the limit of what it keeps. This one is never touched: it costs nothing.
    """
    largest = np.empty(31 << 20, np.uint8)
    del largest


def _run(state: LaunchState) -> Status:
    x, y, z = state.grid
    blocks = x * y * z
    if blocks * state.block_threads >= LARGE:
        _keep_memory()
    padded = (state.block_threads + 31) // 32 * 32
    block_bytes = max(state.shared_stride, state.entry.frame_bytes * padded, 1)
    together = max(1, min(BATCH_THREADS // padded, BATCH_BYTES // block_bytes) // state.cluster_blocks) * state.cluster_blocks
    if state.workspace and blocks > together:
        message = f"expected a cooperative launch of at most {together} such blocks, got {blocks}"
        raise UnsupportedError(Diagnostic("TOO_LARGE", message, fix="Launch fewer blocks."))
    with quiet():
        try:
            for first in range(0, blocks, together):
                Execution(state, first, min(together, blocks - first)).run()
        except FaultError as fault:
            state.findings.add(fault.finding)
            return "deadlock" if fault.finding.kind == "deadlock" else "fault"
        except OutOfBudgetError:
            return "limit"
    return "finished"


def _extents(value: int | Sequence[int], what: str, routine: Routine) -> tuple[int, int, int]:
    numbers = (value,) if isinstance(value, int | np.integer) else tuple(value)
    if not 1 <= len(numbers) <= 3 or any(int(n) < 1 for n in numbers):
        message = f"expected one to three positive numbers for the {what} of {routine.name}, got {value}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message))
    x, y, z = (*map(int, numbers), 1, 1)[:3]
    most = MAX_EXTENTS[what]
    if any(n > m for n, m in zip((x, y, z), most, strict=True)):
        message = f"expected a {what} of at most {most} for {routine.name}, got {(x, y, z)}"
        raise UserError(Diagnostic("LAUNCH_SHAPE", message, fix="Choose extents that a device can launch."))
    if x * y * z > MAX_BLOCKS:
        message = f"expected a {what} of at most {MAX_BLOCKS} blocks for {routine.name}, got {x * y * z}"
        raise UnsupportedError(Diagnostic("TOO_LARGE", message, fix="Run a part of the grid."))
    return x, y, z
