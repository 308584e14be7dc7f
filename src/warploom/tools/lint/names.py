"""C++ names of functions."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any

_ABI = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")
"""Libraries of C++ that know its names (`__cxa_demangle` of the Itanium C++ ABI)."""


@cache
def _demangle() -> Any:
    for name in _ABI:
        with suppress(OSError, AttributeError):
            function = ctypes.CDLL(name).__cxa_demangle
            function.restype = ctypes.c_void_p
            return function
    return None


@cache
def _free() -> Any:
    function = ctypes.CDLL(None).free
    function.argtypes = [ctypes.c_void_p]
    return function


@cache
def demangled(name: str) -> str:
    """`blur(float*, int)` of `_Z4blurPfi`; the name itself where it is none of C++, or no library here knows."""
    demangle = _demangle() if name.startswith("_Z") else None
    if demangle is None:
        return name
    text = demangle(name.encode("utf-8", "surrogateescape"), None, None, ctypes.byref(ctypes.c_int()))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        _free()(text)


def plain_name(name: str) -> str:
    """`blur` of `_Z4blurPfi`, without parameters, templates, result and namespaces."""
    text = demangled(name)
    return text.partition("(")[0].partition("<")[0].rpartition(" ")[2].rpartition("::")[2] if text != name else name
