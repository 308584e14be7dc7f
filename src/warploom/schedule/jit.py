"""Machine code of inner loops: compiled by numba, kept between runs, and never older than its sources.

Numba keeps code beside the file of the outermost function and looks at that file only. So just the functions that Python calls
are kept (`entry`); each has a digest of all that it is compiled from in a closure cell, which numba's index covers. All others
(`compiled`) are compiled with their entry.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba  # pyright: ignore[reportMissingTypeStubs]
from numba.core import config  # pyright: ignore[reportMissingTypeStubs]
from numba.core import event as numba_event  # pyright: ignore[reportMissingTypeStubs]
from numba.core.registry import CPUDispatcher  # pyright: ignore[reportMissingTypeStubs]

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

_njit = cast("Callable[..., Any]", numba.njit)  # pyright: ignore[reportUnknownMemberType]
_OPTIONS = {"error_model": "numpy", "_nrt": False}
"""`_nrt`: without reference counts, since nothing is allocated; several times faster."""
_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Python cannot call inner functions: taking arguments apart is much of the code of a function with many arrays."""


class _Inner(CPUDispatcher):  # pyright: ignore[reportUntypedBaseClass]
    """Numba would crash on a call from Python."""

    def __call__(self, *arguments: object, **named: object) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
        name = self.py_func.__qualname__
        raise TypeError(f"expected a call of {name} from compiled code, got one from Python: make it an entry")


def compiled(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Machine code of a function over numbers and flat arrays, only to be called from others such."""
    if getattr(config, "DISABLE_JIT", False):
        return function
    return cast("Callable[Parameters, Answer]", _Inner(function, targetoptions={"nopython": True, **_OPTIONS, **_INNER}))


def entry(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Machine code that Python calls, kept between runs where some folder can be written.

    The function must be a closure over `digest_of` its sources, or newer sources would run older code.
    """
    if not function.__closure__:
        raise ValueError(f"expected a closure over the digest of its sources, got {function.__qualname__}")
    try:
        return _njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder to keep it in
        return _njit(**_OPTIONS)(function)


def digest_of(file: str) -> int:
    """Of all sources in the folder of a file, and of this one. Without source files (packed in an archive) 0: there numba looks
    at the whole archive, or keeps nothing."""
    paths = [*sorted(Path(file).parent.glob("*.py")), Path(__file__)]
    texts = [path.read_bytes() for path in paths if path.exists()]
    joined = b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    return int.from_bytes(hashlib.sha256(joined).digest()[:7], "little") if texts else 0


class _Starts(numba_event.Listener):
    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.is_called = False

    def on_start(self, event: Any) -> None:
        if not self.is_called:
            self.is_called = True
            self.call()

    def on_end(self, event: Any) -> None:
        pass


class _Spent(numba_event.Listener):
    """Seconds inside the outermost compilations."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._began = time.monotonic()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.monotonic() - self._began


_SPENT = _Spent()
numba_event.register("numba:compile", _SPENT)  # pyright: ignore[reportUnknownMemberType]


def compiled_seconds() -> float:
    """Wall seconds that this process has spent on compiling, so far."""
    return _SPENT.seconds


@contextmanager
def announced(call: Callable[[], None]) -> Generator[None]:
    """Inside, `call` happens once, before the first function that no earlier run left is compiled, which takes seconds; never
    if nothing is compiled."""
    with numba_event.install_listener("numba:compile", _Starts(call)):  # pyright: ignore[reportUnknownMemberType]
        yield
