"""The short way of calls in C (`shim.c`): one kernel on the caller's thread, all arrays given."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np

from warploom.core import UserError
from warploom.core.compiler import build_library, find_compiler
from warploom.schedule.calls.runners import CompiledRunner

MOST, _MOST_AXES = 16, 8
Short: TypeAlias = Callable[[tuple[Any, ...]], int]
_FORMATS = frozenset("bBhHiIlLqQfd")


class _Array(ctypes.Structure):
    _fields_ = (
        ("ndim", ctypes.c_int64),
        ("is_written", ctypes.c_int64),
        ("itemsize", ctypes.c_int64),
        ("format", ctypes.c_int64),
        ("shape", ctypes.c_int64 * _MOST_AXES),
    )


class _Form(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("units", ctypes.c_int64),
        ("second_units", ctypes.c_int64),
        ("order", ctypes.c_int64 * MOST),
        ("kernel", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("parameters", ctypes.c_void_p),
        ("arrays", _Array * MOST),
    )


def short_way(
    runner: CompiledRunner, given: Sequence[np.ndarray[Any, Any]], written: set[int], order: Sequence[int]
) -> Short | None:
    """Function that runs the kernel on a tuple of arrays like those given and returns 1, or does nothing and returns 0; None
    where that cannot be: several kernels or threads, scratch, scalars, no compiler. `order`: which of the arrays is each of the
    kernel's."""
    direct = runner.direct
    formats = [array.dtype.char for array in given]
    if (
        direct is None
        or len(direct.arrays) != len(given)
        or len(given) > MOST
        or not set(formats) <= _FORMATS
        or any(a.ndim > _MOST_AXES for a in given)
    ):
        return None
    function = _function()
    if function is None:
        return None
    form = _Form(len(given), direct.units, direct.second_units)
    form.order[: len(given)] = [order[n] for n in direct.arrays]
    form.kernel, form.second = direct.kernel, direct.second
    sizes = (ctypes.c_double * max(1, len(direct.sizes)))(*direct.sizes)
    form.parameters = ctypes.addressof(sizes)
    for n, (array, letter) in enumerate(zip(given, formats, strict=True)):
        form.arrays[n] = _Array(array.ndim, n in written, array.itemsize, ord(letter))
        form.arrays[n].shape[: array.ndim] = array.shape
    place = ctypes.addressof(form)

    def run(arrays: tuple[Any, ...], _held: Any = (form, sizes)) -> int:
        return function(place, arrays)

    return run


@cache
def _function() -> Callable[[int, tuple[Any, ...]], int] | None:
    if find_compiler() is None:
        return None
    text = files("warploom.schedule.calls").joinpath("shim.c").read_text(encoding="utf-8")
    try:
        found = ctypes.PyDLL(str(build_library(text, flags=("-O2",)))).warploom_short
    except (UserError, OSError):
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.py_object)
    found.restype = ctypes.c_int
    return found
