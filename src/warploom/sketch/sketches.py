"""The decorators `@wl.sketch(...)` and `@wl.device`, and what they make of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NoReturn, ParamSpec, TypeVar, cast, overload

from warploom.core import NOWHERE, Diagnostic, Span, UserError
from warploom.ir import Kernel
from warploom.sketch.operands import ConflictFree, Device
from warploom.sketch.parser import SketchOptions, read_kernel, unbounded_loops
from warploom.sketch.parser.functions import defaults_of
from warploom.sketch.source import written
from warploom.sketch.term_specs import Spec, term_spec

P = ParamSpec("P")
R = TypeVar("R")
Extents = Any
"""An int, a size expression, or up to three of them."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A kernel with holes, and what it must compute."""

    kernel: Kernel
    spec: Spec | None = None
    complete_at: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """The run-time sizes of the bounded instance that is completed."""
    algebra: str | None = None
    """Name of the declared algebra; None: the element type's own."""
    requires: tuple[ConflictFree, ...] = ()
    """Conditions by `wl.require` that a completion must meet besides the spec."""
    notes: tuple[str, ...] = ()
    """Notes on parts of its file that were not read."""

    @property
    def name(self) -> str:
        return self.kernel.name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises UserError: a sketch is completed, not called."""
        raise UserError(
            Diagnostic(
                "SKETCH_CALLED",
                f"sketch {self.name!r} was called like a function",
                self.kernel.span,
                "Complete it first, with wl.complete(...) or `warploom synth`, then run the completed kernel.",
            )
        )


@dataclass(frozen=True, slots=True)
class Broken:
    """Stands for a sketch with errors while its file is loaded."""

    name: str
    error: UserError

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises the errors of the sketch."""
        raise self.error


_broken: ContextVar[list[Broken] | None] = ContextVar("broken sketches", default=None)


@contextmanager
def collecting_broken() -> Generator[list[Broken]]:
    """Inside, `@wl.sketch` adds the sketches it must refuse to the list and makes a `Broken` of them, instead of raising."""
    found: list[Broken] = []
    token = _broken.set(found)
    try:
        yield found
    finally:
        _broken.reset(token)


@overload
def sketch(function: Callable[..., Any], /) -> NoReturn: ...
@overload
def sketch(
    *,
    block: Extents,
    grid: Extents = 1,
    spec: Callable[..., Any] | Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
    warp_size: int = 32,
    complete_at: Mapping[str, int] | None = None,
    algebra: str | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Sketch]: ...
def sketch(
    function: Callable[..., Any] | None = None,
    /,
    *,
    block: Extents = None,
    grid: Extents = 1,
    spec: Callable[..., Any] | Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
    warp_size: int = 32,
    complete_at: Mapping[str, int] | None = None,
    algebra: str | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Sketch]:
    """Read the decorated function's source as a kernel sketch; the name becomes a `Sketch`.

    `block` and `grid` are integers, or up to three (x, y, z); `grid` may use run-time sizes. `complete_at` gives the run-time
    sizes of the bounded instance that is completed. `spec` is a function, or output -> array of terms; then `given` may say what
    inputs hold at first. Raises UserError with every problem of the source; while `load` runs a
    file it is kept and raised once that sketch is asked for.
    """
    if block is None or function is not None:
        raise _without_launch(function)
    local_names = dict(sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]

    def read(function: Callable[..., Any]) -> Sketch:
        options = SketchOptions(block, grid, warp_size, complete_at, name)
        wanted = _read_spec(spec, given)
        loops = unbounded_loops(wanted) if callable(wanted) else ()
        try:
            described = read_kernel(function, options, local_names)
        except UserError as error:
            raise UserError(*error.diagnostics, *loops) from None
        if loops:
            raise UserError(*loops)
        return Sketch(described.kernel, wanted, dict(complete_at or {}), algebra, described.requires)

    def read_or_keep(function: Callable[..., Any]) -> Sketch:
        kept = _broken.get()
        if kept is None:
            return read(function)
        try:
            return read(function)
        except UserError as error:
            kept.append(Broken(name or function.__name__, error))
            return cast("Sketch", kept[-1])

    return read_or_keep


def _without_launch(function: Callable[..., Any] | None) -> UserError:
    """The error for a bare `@wl.sketch`, and for one without `block`."""
    fix = "Write @wl.sketch(block=128, spec=...) above the function."
    if function is None:
        return UserError(Diagnostic("LAUNCH", "expected block, the threads of one block, got none", fix=fix))
    code = getattr(function, "__code__", None)
    where = Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1) if code else NOWHERE
    return UserError(Diagnostic("LAUNCH", "expected @wl.sketch with the launch in parentheses, got it bare", where, fix))


def _read_spec(spec: Callable[..., Any] | Mapping[str, Any] | None, given: Mapping[str, Any] | None) -> Spec | None:
    if spec is None or callable(spec):
        if given is not None:
            fix = "Write `spec` as output -> array of terms, too, or let the function start from these contents."
            raise UserError(Diagnostic("SPEC_TERMS", "expected `given` beside a spec of terms, got a function", fix=fix))
        return spec
    return term_spec(spec, given)


@overload
def device(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def device(*, shared_holes: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def device(function: Callable[..., Any] | None = None, /, *, shared_holes: bool = False) -> Any:
    """Make a function callable from sketches; it is expanded at each call, with holes of its own for each call site.

    With `shared_holes` all calls share one completion of each hole.
    """

    def read(plain: Callable[..., Any]) -> DeviceFunction:
        text = written(plain)
        return DeviceFunction(text, defaults_of(plain), shared_holes, text.source.span(text.node))

    return read if function is None else read(function)


@dataclass(frozen=True, slots=True)
class DeviceFunction(Device):
    """A function marked `@wl.device`: callable in sketches only."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UserError(
            Diagnostic(
                "OUTSIDE_SKETCH",
                f"device function {self.name!r} was called outside of a sketch",
                self.span,
                "Call it in the body of a sketch.",
            )
        )
