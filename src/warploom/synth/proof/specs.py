"""Calling a user's spec, an ordinary Python function on arrays, with its errors located in its own text."""

from __future__ import annotations

import builtins
import inspect
import linecache
from collections.abc import Callable, Mapping
from itertools import islice
from types import FunctionType, TracebackType
from typing import Any

from warploom.core import NOWHERE, Diagnostic, Span, UserError
from warploom.core.launch import MAX_GRID
from warploom.core.limits import TerminatedError
from warploom.ir import Builtin, IndexBinary, IndexConst, IndexExpr, Kernel, SizeVar
from warploom.synth.proof.concrete import OutsideDomainError, OutsideFieldError


class OutsideSketchError(Exception):
    """The spec called a word of the language, which means nothing when it runs as Python."""


def array_shapes(kernel: Kernel, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Concrete shape per parameter, in order. Raises UserError for a missing size."""
    missing = [s for s in kernel.sizes if s not in sizes]
    if missing:
        raise UserError(
            Diagnostic("SIZE_MISSING", f"expected a value for size {missing[0]}, got none", kernel.span, "Give it in `sizes`.")
        )
    return [tuple(max(0, _extent(e, sizes, kernel)) for e in p.shape) for p in kernel.params]


def grid_extents(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """Blocks along x, y and z. Raises UserError for an extent that is no expression over sizes."""
    x, y, z = (_extent(e, sizes, kernel) for e in kernel.grid)
    return x, y, z


def check_launch(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """UserError (LAUNCH) for a grid that no launch may ask for at these sizes."""
    wrong = [
        Diagnostic(
            "LAUNCH",
            f"expected at most {most} blocks along {axis}, got {extent} at {', '.join(f'{s} = {v}' for s, v in sizes.items())}",
            kernel.span,
            "Use another axis of the grid, larger blocks, or smaller sizes in complete_at.",
        )
        for axis, extent, most in zip("xyz", grid_extents(kernel, sizes), MAX_GRID, strict=True)
        if extent > most
    ]
    if wrong:
        raise UserError(*wrong)


def _extent(expr: IndexExpr, sizes: Mapping[str, int], kernel: Kernel) -> int:
    match expr:
        case IndexConst(value):
            return int(value)
        case SizeVar(name):
            return sizes[name]
        case IndexBinary(op, lhs, rhs):
            a, b = _extent(lhs, sizes, kernel), _extent(rhs, sizes, kernel)
            if op in ("//", "%") and b == 0:
                at = f" at {', '.join(f'{s} = {v}' for s, v in sizes.items())}" if sizes else ""
                raise UserError(
                    Diagnostic(
                        "SHAPE_UNSUPPORTED", f"expected extents without a division by zero, got {a} {op} 0{at}", kernel.span
                    )
                )
            match op:
                case "+":
                    return a + b
                case "-":
                    return a - b
                case "*":
                    return a * b
                case "//":
                    return a // b
                case "%":
                    return a % b
                case "min":
                    return min(a, b)
                case "max":
                    return max(a, b)
                case _:
                    pass
        case Builtin() | _:
            pass
    raise UserError(Diagnostic("SHAPE_UNSUPPORTED", "expected an extent over sizes with + - * // % min max", kernel.span))


def call_spec(
    spec: Callable[..., Any],
    kernel: Kernel,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int],
    replaced: Mapping[str, Callable[..., Any]],
) -> None:
    """Call `spec` with the kernel's arrays and sizes by name.

    `replaced`: builtins that the spec's own text finds under their name instead, unless it defines that name itself. Raises
    UserError for unknown parameters and for exceptions in the spec (`SPEC_FAILED`), OutsideSketchError for words of the language,
    OutsideFieldError when the arrays hold elements of a field and the spec compares them or takes their bits, OutsideDomainError
    when it divides typed integers by zero.
    """
    known: dict[str, Any] = {**arrays, **sizes}
    arguments: dict[str, Any] = {}
    wrong: list[Diagnostic] = []
    span = definition(spec)
    for parameter in inspect.signature(spec).parameters.values():
        if parameter.name in known:
            arguments[parameter.name] = known[parameter.name]
        elif parameter.default is inspect.Parameter.empty:
            names = ", ".join(known)
            wrong.append(
                Diagnostic(
                    "SPEC_PARAMETER",
                    f"expected a parameter of the sketch ({names}), got {parameter.name!r}",
                    span,
                    "Name the spec's parameters after the sketch's arrays and sizes.",
                )
            )
    if wrong:
        raise UserError(*wrong)
    try:
        _with_builtins(spec, replaced)(**arguments)
    except UserError as error:
        if any(d.code == "OUTSIDE_SKETCH" for d in error.diagnostics):
            raise OutsideSketchError from error
        raise
    except (OutsideFieldError, OutsideDomainError, TerminatedError):
        raise
    except (Exception, SystemExit) as error:
        kind = "" if isinstance(error, IndexError | TypeError) else f"{type(error).__name__}: "
        place = _deepest(error.__traceback__, spec) or span
        raise UserError(
            Diagnostic("SPEC_FAILED", f"{kind}{error}", place, "Correct the spec: it runs as ordinary Python.")
        ) from error


def _with_builtins(spec: Callable[..., Any], replaced: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    if not isinstance(spec, FunctionType):
        return spec
    names = {
        n: f for n, f in replaced.items() if spec.__globals__.get(n, getattr(builtins, n, None)) is getattr(builtins, n, None)
    }
    changed = FunctionType(spec.__code__, {**spec.__globals__, **names}, spec.__name__, spec.__defaults__, spec.__closure__)
    changed.__kwdefaults__ = spec.__kwdefaults__
    return changed


def definition(spec: Callable[..., Any]) -> Span:
    """Place of the spec."""
    code = getattr(spec, "__code__", None)
    if code is None:
        return NOWHERE
    return _span(code.co_filename, code.co_firstlineno, None)


def _deepest(trace: TracebackType | None, spec: Callable[..., Any]) -> Span | None:
    """The innermost place of a traceback that lies in the spec's file."""
    code = getattr(spec, "__code__", None)
    found: Span | None = None
    while trace is not None:
        frame = trace.tb_frame
        if code is not None and frame.f_code.co_filename == code.co_filename:
            positions = next(islice(frame.f_code.co_positions(), trace.tb_lasti // 2, None), None)
            found = _span(frame.f_code.co_filename, trace.tb_lineno, positions)
        trace = trace.tb_next
    return found


def _span(file: str, line: int, positions: tuple[int | None, int | None, int | None, int | None] | None) -> Span:
    text = linecache.getline(file, line).rstrip("\n")
    if positions is not None:
        first, last, start, end = positions
        if first == line and last is not None and start is not None and end is not None:
            return Span(file, line, start + 1, last, end + 1, text)
    return Span(file, line, len(text) - len(text.lstrip()) + 1, line, len(text) + 1, text)
