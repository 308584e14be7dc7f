"""Reference interpreter: the living definition of the kernel IR.

All threads of many blocks run in lockstep on NumPy arrays, statement by statement; barriers therefore never change a result,
and what they must order is checked instead: races, divergent barriers, shuffles from inactive lanes, undefined and
out-of-bounds elements. Evaluation under a condition (`If`, `ValueSelect`, an accumulate's guard) takes place in the threads
for which it holds, and shuffles inside it see the other lanes as inactive. Data arithmetic is pluggable (`arithmetic.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ir.arithmetic import Arithmetic, MachineArithmetic
from warploom.ir.kernel.counts import AccessCounts, Counts
from warploom.ir.kernel.evaluate import Indices
from warploom.ir.kernel.findings import Findings
from warploom.ir.kernel.instructions import IssuingRun
from warploom.ir.kernel.memory import GridArray, zeros
from warploom.ir.kernel.nodes import HoleUse, IndexExpr, Kernel, Param
from warploom.ir.kernel.races import GridStamps
from warploom.ir.kernel.rewrite import map_index
from warploom.ir.kernel.running import KernelRun
from warploom.ir.kernel.verify import stored_arrays, verify
from warploom.ir.kernel.waits import Event, NotingRun

CHUNK_THREADS = 65536
"""Threads run together: enough to hide Python, few enough for the caches."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """Arrays and findings that a kernel left behind."""

    arrays: dict[str, NDArray[Any]]
    """Every parameter after the run, shaped; the component axis of vectors comes last, bf16 is float32."""
    counts: Counts
    diagnostics: tuple[Diagnostic, ...]
    """Each kind of problem once per place, with its first witness."""
    accesses: tuple[AccessCounts, ...] = ()
    """In the order in which they are first made, if they were asked for."""
    events: tuple[Event, ...] = ()
    """Events for which the blocks that are run first may wait, if it was asked for."""


def run(
    kernel: Kernel,
    arrays: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int] | None = None,
    arithmetic: Arithmetic | None = None,
    *,
    check_races: bool = True,
    count_accesses: bool = False,
    note_waits: bool = False,
) -> RunResult:
    """Runs a kernel without holes on the given arrays (left as they are); outputs not given start at zero.

    Arrays have the parameter's shape at `sizes` and its element type (vectors: component axis last; bf16: float32).
    UserError for holes, an ill-formed kernel, missing or ill-shaped arrays, missing sizes. Problems of the execution itself
    (`OUT_OF_BOUNDS`, `UNDEFINED_READ`, `RACE`, `DIVERGENT_SYNC`, `SHUFFLE_INACTIVE`, `DIVISION_BY_ZERO`, ...) are returned:
    the thread goes on with 0 for a bad read, a bad store is skipped. count_accesses: what each access costs, too;
    note_waits: what the first blocks may wait for, and what warps issue.
    """
    _refuse_holes(kernel)
    verify(kernel)
    sizes = dict(sizes or {})
    arithmetic = arithmetic or MachineArithmetic()
    findings = Findings(kernel)
    findings.accesses = {} if count_accesses else None
    scalars = Indices({}, sizes, findings.report)
    _check_sizes(kernel, sizes)
    grid = tuple(max(0, scalars.number(g)) for g in kernel.grid)
    blocks = grid[0] * grid[1] * grid[2]
    tracked = stored_arrays(kernel) if check_races and blocks * kernel.threads > 1 else frozenset[str]()
    memory: dict[str, GridArray] = {}
    problems: list[Diagnostic] = []
    for param in kernel.params:
        extents = tuple(scalars.number(e) for e in param.shape)
        try:
            memory[param.name] = _load(param, extents, arrays.get(param.name), arithmetic, param.name in tracked, kernel.threads)
        except UserError as error:
            problems += error.diagnostics
    problems += [
        Diagnostic("UNKNOWN_ARRAY", f"expected arrays {', '.join(p.name for p in kernel.params)}, got {name}", kernel.span)
        for name in arrays
        if name not in {p.name for p in kernel.params}
    ]
    if problems:
        raise UserError(*problems)
    step = max(1, CHUNK_THREADS // kernel.threads)
    events: tuple[Event, ...] = ()
    with np.errstate(all="ignore"):
        for first in range(0, blocks, step):
            count = min(step, blocks - first)
            kind = KernelRun if not note_waits else NotingRun if first == 0 else IssuingRun
            part = kind(kernel, memory, sizes, arithmetic, findings, grid, first, count, check_races and kernel.threads > 1)
            part.run()
            if isinstance(part, NotingRun):
                events = tuple(part.events)
    shaped = {name: array.data.reshape(array.extents + array.data.shape[1:]) for name, array in memory.items()}
    accesses = tuple((findings.accesses or {}).values())
    return RunResult(shaped, findings.counts, tuple(findings.diagnostics.values()), accesses, events)


def _refuse_holes(kernel: Kernel) -> None:
    used: list[str] = []

    def note(expr: IndexExpr) -> IndexExpr | None:
        if isinstance(expr, HoleUse) and expr.hole not in used:
            used.append(expr.hole)
        return None

    map_index(kernel, note)
    spans = {h.name: h.span for h in kernel.holes}
    message = "expected a kernel without holes, got hole {}"
    fix = "complete the sketch, or fill the hole"
    if used:
        raise UserError(*(Diagnostic("HOLE_UNFILLED", message.format(h), spans.get(h, kernel.span), fix) for h in used))


def _check_sizes(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    wrong = [s for s in kernel.sizes if s not in sizes or sizes[s] < 0]
    if wrong:
        raise UserError(
            *(
                Diagnostic("SIZE_MISSING", f"expected a size {s} of 0 or more, got {sizes.get(s, 'none')}", kernel.span)
                for s in wrong
            )
        )


def _load(
    param: Param, extents: tuple[int, ...], given: NDArray[Any] | None, arithmetic: Arithmetic, is_tracked: bool, threads: int
) -> GridArray:
    if any(e < 0 for e in extents):
        raise UserError(Diagnostic("SHAPE_MISMATCH", f"expected {param.name} to have extents >= 0, got {extents}", param.span))
    elements = int(np.prod(extents, dtype=np.int64))
    full = extents if param.dtype.lanes == 1 else (*extents, param.dtype.lanes)
    flat = (elements, *full[len(extents) :])
    if given is None:
        if param.is_input:
            raise UserError(Diagnostic("ARRAY_MISSING", f"expected an array for {param.name}, got none", param.span))
        data = zeros((elements,), param.dtype, arithmetic)
    else:
        given = np.asarray(given)
        if given.shape != full:
            message = f"expected {param.name} of shape {full}, got {given.shape}"
            raise UserError(Diagnostic("SHAPE_MISMATCH", message, param.span))
        try:
            data = arithmetic.accept(np.ascontiguousarray(given).reshape(flat), param.dtype)
        except ValueError as error:
            message = f"expected {param.name} ({param.dtype.name}) to hold {error}, got {given.dtype}"
            raise UserError(Diagnostic("DTYPE_MISMATCH", message, param.span, "convert the array with .astype(...)")) from None
    return GridArray(param.dtype, extents, data, param.space == "constant", GridStamps(elements, threads) if is_tracked else None)
