"""Lifted loops called with arrays: compiled C on one thread or several, else the NumPy module."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import UnsupportedError
from warploom.core.compiler import KERNEL_FLAGS, WRAPPING, build_library, find_compiler
from warploom.core.intervals import Interval
from warploom.scan.emit import c_body, c_source, function_name, source_of, whole_bound
from warploom.scan.operators.expression import Expr, subexpressions
from warploom.scan.operators.machine_numbers import computes_no_reals, has_infinities
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.ranges import stays_within
from warploom.scan.parallel.folding import printed_module

Array: TypeAlias = NDArray[Any]
Way: TypeAlias = Literal["compiled", "numpy"]
FLAGS = (*(f for f in KERNEL_FLAGS if "tree" not in f and "contract" not in f), "-ffp-contract=off", *WRAPPING)
PART = 1 << 16
"""Elements that are worth a thread."""
_DTYPES = {"int64": np.dtype(np.int64), "float64": np.dtype(np.float64), "bool": np.dtype(np.bool_), "int32": np.dtype(np.int32)}
_C_TYPES = {"int64": ctypes.c_int64, "float64": ctypes.c_double, "bool": ctypes.c_bool, "int32": ctypes.c_int32}
_LEAST, _MOST = -(2**63), 2**63 - 1


def _rounded(low: int, high: int) -> Interval:
    """A range around the given one, of few that there are; its ends are powers of two, or a number of one digit is kept."""
    return Interval(-_least_power(-low) if low < 0 else min(low, 0), _least_power(high) if high > 1 else max(high, 0))


def _least_power(number: int) -> int:
    return 1 << (number - 1).bit_length() if number > 1 else number


class NotMeantError(ValueError):
    """An element that the loop does not take; `place` is its index, None where that is not known."""

    def __init__(self, place: int | None) -> None:
        super().__init__(place)
        self.place = place


class ArrayScan:
    """The loop of an operator on arrays, one for each value of an element."""

    def __init__(self, operator: Operator) -> None:
        """UnsupportedError for an operator that NumPy cannot express."""
        self.operator = operator
        self._numpy_source = source_of(operator, "numpy")
        self._body = c_body(operator)
        self._shown_within: dict[tuple[tuple[tuple[Expr, Interval], ...], int], bool] = {}

    @cached_property
    def _library(self) -> ctypes.CDLL | None:
        """None: no compiler is at hand, or C cannot express the operator."""
        if find_compiler() is None:
            return None
        try:
            text = c_source(self.operator)
        except UnsupportedError:
            return None
        library = ctypes.CDLL(str(build_library(text, flags=FLAGS)))
        for name in ("value_bytes", "fold", "scan"):
            getattr(library, name).restype = ctypes.c_int64
        for name in ("join", "finish"):
            getattr(library, name).restype = None
        return library

    @cached_property
    def _vectorised(self) -> Callable[..., Any]:
        return printed_module(self._numpy_source)[function_name(self.operator)]

    @cached_property
    def takes_infinities(self) -> bool:
        """Real elements may be infinite: they are only chosen among."""
        return computes_no_reals(self.operator)

    @cached_property
    def _has_whole(self) -> bool:
        operator = self.operator
        program = (*operator.lift, *operator.combine, *operator.projection, *operator.fields)
        return any(e.sort.base == "int" for e in subexpressions(*program))

    def way(self, columns: Sequence[Array], constants: Sequence[Any]) -> Way:
        """How these arrays are computed with: compiled where a compiler is at hand and no whole number can leave 64 bits."""
        return "compiled" if len(columns[0]) and self._fits(columns, constants) and self._library is not None else "numpy"

    def _fits(self, columns: Sequence[Array], constants: Sequence[Any]) -> bool:
        if any(c.dtype == object for c in columns):
            return False
        if not self._has_whole:
            return True
        slots = [*zip(self._body.elements, columns, strict=True), *zip(self._body.constants, constants, strict=True)]
        whole = [(slot, np.asarray(values)) for slot, values in slots if slot.scalar == "int64"]
        ends = [(slot, int(values.min()), int(values.max())) for slot, values in whole]
        most = max([1, *(max(-low, high) for _, low, high in ends)])
        if whole_bound(self.operator) is not None and (len(columns[0]) + 1) * most < _MOST:  # the largest of the bounds
            return True
        known = tuple((slot.expr, _rounded(low, high)) for slot, low, high in ends if slot.expr is not None)
        return self._stays_within(known, len(columns[0]).bit_length())

    def _stays_within(self, known: tuple[tuple[Expr, Interval], ...], length_bits: int) -> bool:
        """Remembered for numbers and lists of about these sizes."""
        asked = (known, length_bits)
        if asked not in self._shown_within:
            self._shown_within[asked] = stays_within(self.operator, dict(known), 1 << length_bits)
        return self._shown_within[asked]

    def run(self, columns: Sequence[Array], constants: Sequence[Any], threads: int) -> tuple[Any, ...]:
        """One array for each result of a scan, one number for each of a reduction. NotMeantError."""
        if self.way(columns, constants) == "numpy":
            try:
                results = self._vectorised(*columns, *constants)
            except ValueError as error:
                raise NotMeantError(None) from error
            return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)
        return self._compiled(columns, constants, threads)

    def _compiled(self, columns: Sequence[Array], constants: Sequence[Any], threads: int) -> tuple[Any, ...]:
        slots = zip(columns, self._body.elements, strict=True)
        inputs = [np.ascontiguousarray(c, _DTYPES[s.scalar]) for c, s in slots]
        given = [_C_TYPES[s.scalar](v) for v, s in zip(constants, self._body.constants, strict=True)]
        count = len(inputs[0])
        is_scan = self.operator.loop.is_scan
        outputs = [np.empty(count if is_scan else 1, _DTYPES[s.scalar]) for s in self._body.outputs]
        parts = max(1, min(threads, count // PART))
        if is_scan and parts < 3:
            parts = 1  # all but the last part is passed over twice
        cuts = [count * k // parts for k in range(parts + 1)]
        run = _Run(self._library, inputs, outputs, given, cuts)
        if parts == 1:
            run.alone(is_scan)
        else:
            run.together(is_scan)
        ready = [self._shown(o) for o in outputs]
        return tuple(ready) if is_scan else tuple(o[0] for o in ready)

    def _shown(self, result: Array) -> Array:
        """Infinities where numbers stand for them."""
        if result.dtype != np.int64 or not has_infinities(self.operator):
            return result
        ends = (result == _LEAST) | (result == _MOST)
        if not ends.any():
            return result
        return np.where(result == _LEAST, -np.inf, np.where(result == _MOST, np.inf, result.astype(object)))


class _Run:
    """One call of the compiled functions. ctypes lets other threads run while C does."""

    def __init__(
        self, library: Any, inputs: Sequence[Array], outputs: Sequence[Array], constants: Sequence[Any], cuts: Sequence[int]
    ) -> None:
        self._library = library
        self._inputs, self._outputs, self._constants = inputs, outputs, constants
        self._cuts = cuts
        self._bytes = int(library.value_bytes())

    def alone(self, is_scan: bool) -> None:
        if is_scan:
            self._scan(0, None)
        else:
            self._finish(self._fold(0))

    def together(self, is_scan: bool) -> None:
        parts = range(len(self._cuts) - 1)
        with ThreadPoolExecutor(len(parts)) as pool:
            if not is_scan:
                values = list(pool.map(self._fold, parts))
                total = values[0]
                for value in values[1:]:
                    total = self._join(total, value)
                self._finish(total)
                return
            first = pool.submit(self._scan, 0, None)
            starts = list(pool.map(self._fold, parts[:-1]))
            for k in parts[1:-1]:
                starts[k] = self._join(starts[k - 1], starts[k])
            list(pool.map(self._scan, parts[1:], starts))
            first.result()

    def _value(self) -> ctypes.Array[ctypes.c_double]:
        return (ctypes.c_double * (-(-self._bytes // 8)))()

    def _pointers(self, arrays: Sequence[Array], start: int) -> list[ctypes.c_void_p]:
        return [ctypes.c_void_p(a.ctypes.data + start * a.itemsize) for a in arrays]

    def _fold(self, part: int) -> Any:
        start, stop = self._cuts[part : part + 2]
        value = self._value()
        count = ctypes.c_int64(stop - start)
        self._check(start, self._library.fold(count, *self._pointers(self._inputs, start), value, *self._constants))
        return value

    def _scan(self, part: int, before: Any) -> None:
        start, stop = self._cuts[part : part + 2]
        arrays = self._pointers(self._inputs, start) + self._pointers(self._outputs, start)
        self._check(start, self._library.scan(ctypes.c_int64(stop - start), *arrays, before, *self._constants))

    def _join(self, left: Any, behind: Any) -> Any:
        value = self._value()
        self._library.join(left, behind, value, *self._constants)
        return value

    def _finish(self, value: Any) -> None:
        self._library.finish(value, *self._pointers(self._outputs, 0), *self._constants)

    @staticmethod
    def _check(start: int, place: int) -> None:
        if place >= 0:
            raise NotMeantError(start + place)


__all__ = ["ArrayScan", "NotMeantError", "Way"]
