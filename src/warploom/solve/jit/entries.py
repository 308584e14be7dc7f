"""Calls from Python into compiled functions."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import UserError, compiler
from warploom.solve.jit.kinds import Array, Number, Record
from warploom.solve.jit.translation import c_text
from warploom.solve.jit.unit import COMPILED, Function, Unit, unit_of

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

FLAGS = ("-O2", "-fwrapv", "-ffp-contract=off", "-fno-math-errno")
"""Integers wrap, floats round after each operation."""
PLAIN = "WARPLOOM_NO_MACHINE_CODE"
"""Environment variable: not empty, functions run as they stand."""
_RECORDS = 64
"""Named tuples that an entry keeps taken apart."""
_RESULTS = {Number.FLOAT: ctypes.c_double, Number.INT: ctypes.c_int64, Number.TRUTH: ctypes.c_bool, Number.WORD: ctypes.c_uint64}

_lock = threading.RLock()
_groups: dict[str, list[Function]] = {}
_listeners: list[tuple[Callable[[str], None], set[str]]] = []
"""Each with what it has heard."""
_spent_s = 0.0
_compiling: list[float] = []
"""When the compilation began that goes on now."""


def compiled(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """May be called by entries and other such functions. Calls from Python run it as it stands."""
    COMPILED.add(function)
    return function


def entry(function: Callable[Parameters, Answer]) -> Entry[Parameters, Answer]:
    """Machine code when Python calls it. All entries of a package are compiled together, at the first call of one."""
    _groups.setdefault(function.__module__.rpartition(".")[0], []).append(function)
    return Entry(function)


def compiled_seconds() -> float:
    """Wall seconds that this process has spent on compiling, so far; what goes on now is part of it."""
    return _spent_s + sum(time.monotonic() - began for began in _compiling[:1])


@contextmanager
def announced(call: Callable[[str], None]) -> Generator[None]:
    """Inside, `call` hears once that functions are compiled that no earlier run left, which takes seconds; and once that none can
    be."""
    listener = (call, set[str]())
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Entry(Generic[Parameters, Answer]):
    """Arrays are passed by address, of the types of the annotations and contiguous; TypeError for others."""

    def __init__(self, function: Callable[Parameters, Answer]) -> None:
        self.function = function
        self._call: Callable[..., Answer] | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Parameters.args, **named: Parameters.kwargs) -> Answer:
        if self._call is None:
            with _lock:
                self._call = self._prepared()
        return self._call(*arguments, **named)

    def _prepared(self) -> Callable[..., Answer]:
        function = cast("Function", self.function)
        group = _groups[function.__module__.rpartition(".")[0]]
        loaded = None if os.environ.get(PLAIN) else library_of(tuple(group))
        return _Plain(function) if loaded is None else _Native(function, loaded, unit_of(tuple(group)))


class _Plain:
    """The function as it stands: what overflows does so on purpose, and elements are numbers of 64 bits as in C."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.function(*(_wide(a) for a in arguments))


class _Narrow:
    """An array whose elements are read as numbers of 64 bits."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape

    def __getitem__(self, index: Any) -> Any:
        found = self.array[index]
        return _Narrow(found) if isinstance(found, np.ndarray) else np.int64(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value


def _wide(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        array = cast("NDArray[Any]", argument)
        return array if array.itemsize == np.int64(0).itemsize else _Narrow(array)
    return argument._make(map(_wide, argument)) if hasattr(argument, "_make") else argument


class _Native:
    """A compiled function that keeps its last arguments in parts, since most arguments are the same in the next call."""

    def __init__(self, function: Function, library: ctypes.PyDLL, unit: Unit) -> None:
        source = unit.sources[function]
        self._function: Callable[..., Any] = getattr(library, source.c_name)
        types: list[Any] = []
        self._parts: list[Callable[[Any], tuple[Any, ...]] | None] = []
        for name, kind in source.parameters.items():
            match kind:
                case Array():
                    axes = unit.axes_of((function, name))
                    types += [ctypes.c_void_p] + [ctypes.c_int64] * axes
                    self._parts.append(_ArrayParts(name, kind, axes))
                case Record():
                    types.append(ctypes.c_void_p)
                    self._parts.append(_RecordParts(kind, unit))
                case _:
                    types.append(_RESULTS[cast("Number", kind)])
                    self._parts.append(None)
        self._function.argtypes = types  # pyright: ignore[reportFunctionMemberAccess]
        self._function.restype = _RESULTS[cast("Number", source.result)]  # pyright: ignore[reportFunctionMemberAccess]
        self._last: list[tuple[Any, tuple[Any, ...]]] = [(_MISSING, ())] * len(self._parts)

    def __call__(self, *arguments: Any) -> Any:
        given: list[Any] = []
        last = self._last
        for n, (argument, parts) in enumerate(zip(arguments, self._parts, strict=True)):
            if parts is None:
                given.append(argument)
                continue
            known = last[n]
            if known[0] is not argument:
                known = last[n] = (argument, parts(argument))
            given += known[1]
        return self._function(*given)


_MISSING = object()


class _ArrayParts:
    """Address and sizes of an array."""

    def __init__(self, name: str, kind: Array, axes: int) -> None:
        self.name, self.element, self.axes = name, kind.element, axes

    def __call__(self, array: Any) -> tuple[Any, ...]:
        if array.dtype != self.element or array.ndim != self.axes or not array.flags.c_contiguous:
            wanted = f"{self.name} as {self.axes} contiguous axes of {self.element}"
            raise TypeError(f"expected {wanted}, got {array.ndim} of {array.dtype}")
        if array.size and array.flags.writeable:
            return ctypes.addressof(ctypes.c_char.from_buffer(array)), *array.shape
        return array.ctypes.data, *array.shape


class _RecordParts:
    """Address of a structure with the parts of a named tuple; the last ones are kept."""

    def __init__(self, kind: Record, unit: Unit) -> None:
        self.fields: list[tuple[str, _ArrayParts | Number]] = []
        for name, field in kind.fields.items():
            if isinstance(field, Array):
                self.fields.append((name, _ArrayParts(name, field, unit.axes_of((kind.made_by, name)))))
            else:
                self.fields.append((name, cast("Number", field)))
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, record: Any) -> tuple[Any, ...]:
        known = self._known.get(id(record))
        if known is None:
            if len(self._known) >= _RECORDS:
                self._known.clear()
            known = self._known[id(record)] = (record, self._structure(record))
        return (ctypes.addressof(known[1]),)

    def _structure(self, record: Any) -> Any:
        members: list[tuple[Any, Any]] = []
        for name, kind in self.fields:
            value = getattr(record, name)
            if isinstance(kind, _ArrayParts):
                members += [(ctypes.c_int64, part) for part in kind(value)]
            elif kind is Number.FLOAT:
                members.append((ctypes.c_double, float(value)))
            else:
                members.append((ctypes.c_int64, int(value)))
        types = [(f"member_{n}", type_) for n, (type_, _) in enumerate(members)]
        made = type("Structure", (ctypes.Structure,), {"_fields_": types})
        return made(*(value for _, value in members))


_COMPILES = "compiling the inner loops of the search, once per machine (a few seconds, no part of the budget)"
_IS_PLAIN = (
    "no C compiler that works was found: the search runs as plain Python, some hundred times slower; "
    "install gcc or clang, or `pip install warploom[cpu]`"
)
_libraries: dict[tuple[Function, ...], ctypes.PyDLL | None] = {}


def library_of(group: tuple[Function, ...]) -> ctypes.PyDLL | None:
    """Compiled unless an earlier run left it; None where no compiler makes one. Calls keep the interpreter's lock: work lists are
    shared."""
    global _spent_s
    if group in _libraries:
        return _libraries[group]

    def announce() -> None:
        _compiling.append(time.monotonic())
        _tell(_COMPILES)

    library = None
    if compiler.find_compiler() is not None:
        text = c_text(list(group))
        # A compiler without its headers, a disk that is full: the functions run as they stand.
        try:
            with suppress(UserError, OSError):
                library = ctypes.PyDLL(str(compiler.build_library(text, flags=FLAGS, before=announce)))
        finally:
            _spent_s = compiled_seconds()
            _compiling.clear()
    if library is None:
        _tell(_IS_PLAIN)
    _libraries[group] = library
    return library


def _tell(text: str) -> None:
    for call, heard in _listeners:
        if text not in heard:
            heard.add(text)
            call(text)
