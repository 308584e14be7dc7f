"""Runners of recurrences: the serial loop in C, the scan that `scan` proved, or the evaluation where no compiler works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.scan import Expr, subexpressions
from warploom.scan import Operator as ScanOperator
from warploom.scan.parallel import ArrayScan, NotMeantError
from warploom.schedule.backbone import Program
from warploom.schedule.calls.runners import SHARED_POINTS, CompiledRunner, Runner
from warploom.schedule.cpu import Build, CompiledNest, compile_nest, find_compiler
from warploom.schedule.frontend.tree import Expression, Read
from warploom.schedule.recurrences.evaluation import Evaluation
from warploom.schedule.recurrences.loop import SerialLoop
from warploom.schedule.recurrences.nest import open_sizes, regions_of, serial_nest
from warploom.schedule.recurrences.tree import Recurrence

Array: TypeAlias = NDArray[Any]


def program_of(recurrence: Recurrence, sizes: Mapping[str, int]) -> Program:
    """Its arrays and scalars, as kernels take them."""
    return Program(recurrence.name, (), regions_of(recurrence, sizes), recurrence.scalars, recurrence.parameters)


class SerialLoops:
    """The serial loop at all sizes: compiled once for every value of the sizes that may be arguments."""

    def __init__(self, recurrence: Recurrence, threads: int) -> None:
        self.recurrence = recurrence
        self.threads = threads
        self._open = open_sizes(recurrence)
        self._made: dict[tuple[int, ...], CompiledNest] = {}

    def runner(self, sizes: Mapping[str, int]) -> Runner:
        """UserError where an element is outside of its array."""
        made = self.recurrence
        made.check(sizes)
        if find_compiler() is None:
            return EvaluatedRecurrence(made, sizes)
        key = tuple(sizes[name] for name in made.sizes if name not in self._open)
        kernel = self._made.get(key)
        if kernel is None:
            try:
                kernel = compile_nest(serial_nest(made, sizes, self._open), flags=Build.EXACT.flags)
            except (UserError, OSError):
                return EvaluatedRecurrence(made, sizes)
            self._made[key] = kernel
        program = program_of(made, sizes)
        points = max((region.elements for region in program.arguments), default=0)
        threads = self.threads if made.rows and points >= SHARED_POINTS else 1
        return CompiledRunner(program, [kernel.at(sizes)], threads, "plain")


class EvaluatedRecurrence:
    """By NumPy."""

    kind = "evaluated"

    def __init__(self, recurrence: Recurrence, sizes: Mapping[str, int]) -> None:
        self._recurrence, self._sizes = recurrence, dict(sizes)
        self._names = [region.name for region in regions_of(recurrence, sizes)]

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        Evaluation(self._recurrence, self._sizes, dict(zip(self._names, arrays, strict=True)), scalars).run()


def can_scan(recurrence: Recurrence, loop: SerialLoop, operator: ScanOperator) -> bool:
    """Whether `ScanRunner` gives what the loop gives: one row of 64-bit numbers out of arrays as they lie; of floats an operator
    that only adds, subtracts and chooses, so that no part of it is beyond what the loop computes."""
    is_plain = all(
        isinstance(e, Read) and e.fill is None and len(e.indices) == 1 and e.indices[0].sum.terms == ((recurrence.index, 1),)
        for e in loop.elements
    )
    program = subexpressions(*operator.lift, *operator.combine, *operator.projection)
    is_sound = not recurrence.dtype.is_float or all(map(_only_adds, program))
    return not recurrence.rows and recurrence.dtype.bits == 64 and is_plain and is_sound


def _only_adds(part: Expr) -> bool:
    if part.op == "poly":
        return all(abs(factor) == 1 and len(monomial) <= 1 for factor, monomial in part.terms)
    return part.op in ("var", "const", "max", "min")


class ScanRunner:
    """The scan by several threads. Where a number is not finite, the serial loop runs: no proof speaks of it."""

    kind = "scan"

    def __init__(
        self, recurrence: Recurrence, sizes: Mapping[str, int], loop: SerialLoop, scan: ArrayScan, serial: Runner, threads: int
    ) -> None:
        self._recurrence, self._sizes, self._loop, self._scan, self._serial = recurrence, dict(sizes), loop, scan, serial
        self._threads = threads
        self._names = [region.name for region in regions_of(recurrence, sizes)]

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        if not self._scanned(dict(zip(self._names, arrays, strict=True)), scalars):
            self._serial.run(arrays, scalars)

    def _scanned(self, arrays: Mapping[str, Array], scalars: Sequence[float]) -> bool:
        made = self._recurrence
        evaluation = Evaluation(made, self._sizes, arrays, scalars)
        columns = [self._column(e, arrays, evaluation.end) for e in self._loop.elements]
        constants = [evaluation.value(c, made.dtype).item() for c in self._loop.constants]
        if not all(np.isfinite(c).all() for c in (*columns, *constants)):
            return False
        if self._scan.way(columns, constants) != "compiled":
            return False
        try:
            results = self._scan.run(columns, constants, self._threads)
        except NotMeantError:
            return False
        if not all(np.isfinite(r).all() for r in results):
            return False
        for kept in made.first:
            evaluation.store(kept)
        for kept, result in zip(made.stores, results, strict=True):
            arrays[kept.array.name][made.start :] = result
        return True

    def _column(self, element: Expression, arrays: Mapping[str, Array], end: int) -> Array:
        assert isinstance(element, Read)
        (index,) = element.indices
        shift = index.sum.constant + index.sizes.whole_at(self._sizes)
        return arrays[element.array.name][self._recurrence.start + shift : end + shift]


def scan_runner(
    recurrence: Recurrence, sizes: Mapping[str, int], loop: SerialLoop, operator: ScanOperator, serial: Runner, threads: int
) -> ScanRunner | None:
    """None where it would not give what the loop gives."""
    if not can_scan(recurrence, loop, operator):
        return None
    try:
        return ScanRunner(recurrence, sizes, loop, ArrayScan(operator), serial, threads)
    except UnsupportedError:
        return None
