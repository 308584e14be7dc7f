"""Several ways carried through, ranked: all by estimate, the most promising by what their PTX counts, on a GPU by time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.gpu import compile_cuda, device_arch, device_available, time_kernel, toolchain_available
from warploom.machines import compiled_architecture
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.running import columns_of
from warploom.scan.emit.serial import DTYPES, column, edges, elements
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.samples import constant_values
from warploom.scan.reading.loop import Loop
from warploom.scan.tuning.candidates import Candidate, candidates
from warploom.scan.tuning.estimate import Counted, Measured, estimated, measured
from warploom.scan.variants import FORWARD, ScanForm

MOST = 1024
"""Elements of a block."""
_BLOCKS = 4096
"""Blocks of a timed launch."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """`by` says what its place was found by."""

    way: Candidate
    estimate: Counted
    estimated_cycles: float
    by: Literal["estimate", "counts", "time"]
    measured: Measured | None = None
    cycles: float | None = None
    """Cycles by the counts of its PTX."""
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Tuned:
    """Best first."""

    ranked: tuple[Ranked, ...]
    reason: str = ""
    """Reason why none was measured."""


def tune(
    named: Sequence[tuple[str, Operator]],
    elements_per_block: int,
    types: Types | None = None,
    *,
    arch: str = "sm_80",
    top: int = 6,
    form: ScanForm = FORWARD,
    is_exclusive: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """UserError for a size that no block has; RuntimeError for a kernel that differs from the loop."""
    if not 32 <= elements_per_block <= MOST or elements_per_block % 32:
        message = f"expected a multiple of 32 up to {MOST} elements per block, got {elements_per_block}"
        raise UserError(Diagnostic("TUNE_SIZE", message, fix="Longer arrays are scanned block by block: tune the block."))
    kinds, on = types or Types(), compiled_architecture(arch)
    ranked: list[Ranked] = []
    for way in candidates(named, elements_per_block, form, is_exclusive=is_exclusive):
        try:
            estimate = estimated(way, kinds)
        except UnsupportedError:
            continue
        ranked.append(Ranked(way, estimate, estimate.cycles(on), "estimate"))
    ranked.sort(key=lambda r: r.estimated_cycles)
    if not toolchain_available():
        return Tuned(tuple(ranked), "the CUDA tools are not installed: ranked by estimate")
    chosen = _varied(ranked, top)
    counted: list[Ranked] = []
    for one in chosen:
        progress(one.way.name)
        found = measured(one.way, kinds, arch)
        counted.append(Ranked(one.way, one.estimate, one.estimated_cycles, "counts", found, found.counted.cycles(on)))
    counted.sort(key=lambda r: (r.cycles or 0.0, (r.measured.registers or 0) if r.measured else 0))
    if device_available():
        counted = sorted((_timed(one, kinds) for one in counted), key=lambda r: r.milliseconds or 0.0)
    rest = [r for r in ranked if r not in chosen]
    return Tuned((*counted, *rest))


def _varied(ranked: Sequence[Ranked], top: int) -> list[Ranked]:
    """The best of each operator and variant first, so that none is judged by its estimate alone; then the best."""
    first: dict[tuple[str, str], Ranked] = {}
    for one in ranked:
        first.setdefault((one.way.operator_name, one.way.variant), one)
    return list(dict.fromkeys([*first.values(), *ranked[:top]]))[: max(top, len(first))]


def _timed(one: Ranked, types: Types) -> Ranked:
    made = one.way.made(types)
    loop: Loop = one.way.operator.loop
    constants = constant_values(loop, 0)
    count = one.way.elements * _BLOCKS
    part = elements(loop, one.way.elements)
    flags = edges(one.way.elements) if one.way.form.is_segmented else None
    inputs = [np.tile(values, _BLOCKS) for values in columns_of(made, part, flags)]
    outputs = [np.zeros(count, DTYPES[s.scalar]) for s in made.body.outputs]
    scalars = [column([v], s.scalar)[0] for s, v in zip(made.body.constants, constants, strict=True)]
    compiled = compile_cuda(made.source, device_arch())
    timing = time_kernel(
        compiled, one.way.kernel, (_BLOCKS, 1, 1), (one.way.elements, 1, 1), [*inputs, *outputs], [np.int64(count), *scalars]
    )
    return Ranked(one.way, one.estimate, one.estimated_cycles, "time", one.measured, one.cycles, timing.median_ms)
