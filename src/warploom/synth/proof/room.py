"""Decides whether the bounded instance of a kernel is small enough to be followed symbol by symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from warploom.core import Diagnostic, Span, UnsupportedError
from warploom.ir import Accumulator, Declare, For, If, Kernel, Stmt
from warploom.synth.proof.specs import array_shapes, grid_extents

MOST = 1 << 22
"""Elements of all arrays of the instance, or threads of it. Each is an object of some hundred bytes to the symbolic run."""


def check_room(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """UnsupportedError (TOO_LARGE) at the first array, or at the kernel, with which the instance has more than MOST elements."""
    total = 0
    for param, shape in zip(kernel.params, array_shapes(kernel, sizes), strict=True):
        total += prod(shape)
        _require(total, f"elements up to '{param.name}'", param.span)
    threads = kernel.threads * prod(max(0, extent) for extent in grid_extents(kernel, sizes))
    _require(threads, "threads", kernel.span)
    for statement in _statements(kernel.body):
        match statement:
            case Declare(name, "register", _, shape) | Accumulator(name, _, shape):
                total += kernel.threads * prod(shape)
            case Declare(name, _, _, shape):
                total += prod(shape)
            case _:
                continue
        _require(total, f"elements up to '{name}'", statement.span)


def _require(count: int, what: str, span: Span) -> None:
    if count <= MOST:
        return
    shown = f"{count:,}" if count < 10**18 else f"more than 2**{count.bit_length() - 1}"
    message = f"expected an instance of at most {MOST:,} {what}, got {shown}"
    raise UnsupportedError(Diagnostic("TOO_LARGE", message, span, "Complete a smaller instance; the lift proves every size."))


def _statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for statement in body:
        yield statement
        match statement:
            case For():
                yield from _statements(statement.body)
            case If():
                yield from _statements(statement.then)
                yield from _statements(statement.other)
            case _:
                pass
