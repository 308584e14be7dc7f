"""`wl.scanned`: serial loops that are called with arrays, at the speed of C."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NoReturn, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from warploom.api.lifting import Lifted, lift
from warploom.api.result import no_answer
from warploom.core import Diagnostic, Span, UserError
from warploom.scan import Expr
from warploom.scan.parallel import ArrayScan, NotMeantError, Way
from warploom.scan.variants import ScanForm, variant_operator
from warploom.solve import available_cpus

Array: TypeAlias = NDArray[Any]
_HELD = 2**53
"""Whole numbers up to it are doubles."""


class ScannedFunction:
    """A serial loop whose lists are arrays. A call returns what the loop returns: arrays of its results for every prefix, or the
    result of the whole list; whole numbers are exact."""

    def __init__(self, function: Callable[..., Any], lifted: Lifted, threads: int) -> None:
        if lifted.verdict != "proved" or lifted.lifting is None or lifted.lifting.operator is None:
            raise no_answer(lifted, "a function of arrays")
        functools.update_wrapper(self, function)
        self.lifted = lifted
        """The operator and its proof."""
        self.threads = threads
        self._loop = lifted.lifting.operator.loop
        first = function.__code__.co_firstlineno
        self._span = Span(lifted.module.file, first, 1, first, 1)
        self._signature = inspect.signature(function)
        self._text = f"{self._loop.name}({', '.join(self._loop.parameters)})"
        self._scan = ArrayScan(lifted.lifting.operator)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """UserError: CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE; ELEMENT for what the loop does not take."""
        columns, constants = self._bound(given, named)
        if not len(columns[0]) and self._loop.needs_element:
            self._refuse("ELEMENT", f"expected at least one element, which {self._loop.name} reads before its loop, got none")
        return self._told(self._run(self._scan, columns, constants))

    def by_key(self, keys: Any, *given: Any, **named: Any) -> Any:
        """For every element, what the loop gives of the run of equal keys up to it: one array for each result.

        keys: one for each element, numbers or truth values; equal ones that are not neighbours are of different runs. UserError
        as for calls.
        """
        return self._told(self._by_key(keys, given, named)[1])

    def reduce_by_key(self, keys: Any, *given: Any, **named: Any) -> tuple[Array, Any]:
        """The key of every run of equal keys, in order, and what the loop gives of its elements: one array for each result.

        keys: as for `by_key`.
        """
        array, results = self._by_key(keys, given, named)
        ends = np.flatnonzero(np.append(array[1:] != array[:-1], np.ones(min(len(array), 1), np.bool_)))
        return array[ends], self._told(tuple(r[ends] for r in results))

    def _told(self, results: tuple[Any, ...]) -> Any:
        return results if self._loop.is_tuple else results[0]

    def _by_key(self, keys: Any, given: Sequence[Any], named: dict[str, Any]) -> tuple[Array, tuple[Any, ...]]:
        """The keys, and the results for every element."""
        columns, constants = self._bound(given, named)
        array = self._array("keys", keys)
        names = ", ".join(["keys", *self._loop.parameters])
        fix = f"Pass the keys as an array of one axis before the elements: {self._loop.name}.by_key({names})."
        if array.shape != columns[0].shape:
            message = f"expected one key for each of the {len(columns[0])} elements, got the shape {array.shape}"
            self._refuse("CALL_SHAPE", message, fix)
        if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and bool(np.isnan(array).any())):
            self._refuse("CALL_DTYPE", f"expected keys that are numbers or truth values, not NaN, got {array.dtype}", fix)
        heads = np.ones(len(array), np.bool_)
        heads[1:] = array[1:] != array[:-1]
        return array, self._run(self._segmented, [*columns, heads], constants)

    @functools.cached_property
    def _segmented(self) -> ArrayScan:
        """The scan of segments; each result is for an element, whether or not the loop is a scan."""
        operator = self._scan.operator
        every = replace(operator, loop=replace(operator.loop, is_scan=True))
        return ArrayScan(variant_operator(every, ScanForm(is_segmented=True)))

    def _run(self, scan: ArrayScan, columns: Sequence[Array], constants: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return scan.run(columns, constants, self.threads)
        except NotMeantError as error:
            place = "" if error.place is None else f" at {error.place}: {self._written(columns, error.place)}"
            message = f"expected elements that the assertions and annotations of {self._loop.name} allow, got another{place}"
            self._refuse("ELEMENT", message)

    def way(self, *given: Any, **named: Any) -> Way:
        """How a call with these arguments computes: `compiled`; or with `numpy`, where no C compiler is at hand, there is no
        element, or whole numbers may leave 64 bits."""
        return self._scan.way(*self._bound(given, named))

    def _bound(self, given: Sequence[Any], named: dict[str, Any]) -> tuple[list[Array], list[Any]]:
        loop = self._loop
        try:
            bound = self._signature.bind(*given, **named)
        except TypeError as error:
            self._refuse("CALL_ARGUMENTS", f"expected {self._text}, got other arguments: {error}")
        bound.apply_defaults()
        width = len(loop.fields) // len(loop.lists)
        columns: list[Array] = []
        for number, name in enumerate(loop.lists):
            found = self._columns(name, bound.arguments[name], width)
            fields = loop.fields[number * width : (number + 1) * width]
            columns += [self._checked(name, f, c) for f, c in zip(fields, found, strict=True)]
        sizes = {n: len(columns[k * width]) for k, n in enumerate(loop.lists)}
        if len({*sizes.values()}) > 1:
            told = ", ".join(f"{size} in {name}" for name, size in sizes.items())
            self._refuse("CALL_SHAPE", f"expected lists of one length, got {told}")
        return columns, [self._constant(c, bound.arguments[str(c.value)]) for c in loop.constants]

    def _columns(self, name: str, value: Any, width: int) -> Sequence[Array]:
        """One array for each value of an element."""
        if self._loop.characters or any(f.sort.base == "text" for f in self._loop.fields):
            if not isinstance(value, str) or width != 1:
                message = f"expected a text, whose characters are the elements, as {name}, got {type(value).__name__}"
                self._refuse("CALL_ARRAY", message)
            return [np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.dtype("<u4")).astype(np.int32)]
        given: Any = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        if not isinstance(given, np.ndarray | list | tuple):
            self._refuse("CALL_ARRAY", f"expected an array as {name}, got {type(value).__name__}", "Pass an array, or a list.")
        parts = list(cast("tuple[Any, ...]", given)) if isinstance(given, tuple) else []
        if width > 1 and parts and all(isinstance(v, np.ndarray) for v in parts):
            if len(parts) != width or any(v.shape != parts[0].shape or v.ndim != 1 for v in parts):
                self._refuse("CALL_SHAPE", f"expected {width} arrays of one axis and one length as {name}, got others")
            return [self._array(name, v) for v in parts]
        array = self._array(name, given)
        if width > 1 and array.shape == (0,):
            array = array.reshape(0, width)
        if array.shape[1:] != (() if width == 1 else (width,)) or not array.ndim:
            wanted = "one axis" if width == 1 else f"the shape (n, {width}), or a tuple of {width} arrays"
            self._refuse("CALL_SHAPE", f"expected {wanted} as {name}, got the shape {array.shape}")
        return [array] if width == 1 else [array[:, k] for k in range(width)]

    def _array(self, name: str, given: Any) -> Array:
        """The values as an array, each of them exactly."""
        if isinstance(given, np.ma.MaskedArray):
            self._refuse("CALL_ARRAY", f"expected an array as {name}, got a masked one", "Fill it first.")
        try:
            array: Array = np.asarray(given)
        except ValueError as error:
            self._refuse("CALL_SHAPE", f"expected an array as {name}, got {error}", "Pass an array of one axis.")
        if array.dtype.kind == "f" and isinstance(given, list | tuple) and _has_large(cast("Sequence[Any]", given)):
            message = f"expected {name} of which floats hold every value, got a whole number beyond 2**53 beside other numbers"
            self._refuse("ELEMENT", message, "Pass an array of one type that holds them.")
        return array

    def _checked(self, name: str, field: Expr, column: Array) -> Array:
        """The array, where it holds what the proof speaks of."""
        base, kind = field.sort.base, column.dtype.kind
        if not len(column):
            return column.astype({"int": np.int64, "bool": np.bool_}.get(base, np.float64))
        match base:
            case "int":
                if kind == "O" and all(type(v) is int for v in column):
                    return column
                if kind in "iu":
                    return column.astype(object) if column.dtype == np.uint64 and int(column.max()) >= 2**63 else column
                fix = "Pass integers, or annotate the loop's parameter as list[float]."
                self._refuse("CALL_DTYPE", f"expected whole numbers as {name}, got {column.dtype}", fix)
            case "bool":
                if kind == "b" or (kind in "iuf" and bool(np.isin(column, (0, 1)).all())):
                    return column.astype(np.bool_)
                self._refuse("CALL_DTYPE", f"expected truth values as {name}, got {column.dtype}", "Pass booleans.")
            case "text":
                return column
            case _:
                if kind in "iu" and max(abs(int(column.min())), abs(int(column.max()))) > _HELD:
                    self._refuse("ELEMENT", f"expected whole numbers up to 2**53 as {name}, got a larger one", "Pass floats.")
                if kind not in "iuf" or column.dtype.itemsize > 8:
                    self._refuse("CALL_DTYPE", f"expected numbers as {name}, got {column.dtype}", "Pass floats of 64 bits.")
        wrong = np.isnan(column) if self._scan.takes_infinities else ~np.isfinite(column)
        if wrong.any():
            place = int(np.argmax(wrong))
            self._refuse("ELEMENT", f"expected numbers that the proof speaks of as {name}, got {column[place]} at {place}")
        return column.astype(np.float64, copy=False)

    def _constant(self, constant: Expr, value: Any) -> Any:
        base, plain = constant.sort.base, cast(Any, value.item() if isinstance(value, np.generic) else value)
        good = {"int": type(plain) is int and -(2**63) < plain < 2**63, "bool": type(plain) is bool}
        is_real = base == "real" and type(plain) in (int, float) and bool(np.isfinite(plain))
        if not good.get(base, is_real):
            kind = {"int": "a whole number of 64 bits", "bool": "True or False"}.get(base, "a finite number")
            self._refuse("CALL_DTYPE", f"expected {kind} as {constant.value}, got {value!r}")
        return float(plain) if base == "real" else plain

    def _written(self, columns: Sequence[Array], place: int) -> str:
        return ", ".join(str(c[place]) for c in columns)

    def _refuse(self, code: str, message: str, fix: str = "") -> NoReturn:
        raise UserError(Diagnostic(code, message, self._span, fix or f"Call {self._text}."))

    def __repr__(self) -> str:
        return f"<scanned {self._text}>"


def _has_large(values: Sequence[Any]) -> bool:
    """Whether there is a whole number that a double need not hold."""
    for value in values:
        if isinstance(value, list | tuple):
            found = _has_large(cast("Sequence[Any]", value))
        else:
            found = isinstance(value, Integral) and abs(int(value)) > _HELD
        if found:
            return True
    return False


@overload
def scanned(function: Callable[..., Any], /) -> ScannedFunction: ...
@overload
def scanned(*, threads: int | None = None, budget_s: float | None = None) -> Callable[[Callable[..., Any]], ScannedFunction]: ...
def scanned(
    function: Callable[..., Any] | None = None, /, *, threads: int | None = None, budget_s: float | None = None
) -> ScannedFunction | Callable[[Callable[..., Any]], ScannedFunction]:
    """Lifts a serial loop once, and makes a function of arrays of it: `f = wl.scanned(loop)`, or `@wl.scanned(threads=2)`.

    threads: of long arrays, one per core if not said. budget_s: CPU seconds for finding the operator. Raises UserError for a
    function that is not such a loop, and NO_ANSWER where its operator was not proved.
    """
    if threads is not None and (type(threads) is not int or threads < 1):
        raise UserError(Diagnostic("OPTION", f"expected a whole number of 1 or more as threads, got {threads!r}"))
    count = threads if threads is not None else available_cpus()

    def made(wanted: Callable[..., Any]) -> ScannedFunction:
        if not inspect.isfunction(wanted):
            raise UserError(Diagnostic("NOT_A_FUNCTION", f"expected a function, got {wanted!r}", fix="Pass a loop's function."))
        return ScannedFunction(wanted, lift(wanted, budget_s=budget_s), count)

    return made if function is None else made(function)
