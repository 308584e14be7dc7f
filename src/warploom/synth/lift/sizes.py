"""Run-time sizes at which a kernel that has no proof for every size is likely to fail."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any, cast

from warploom.core import UserError
from warploom.ir import Compare, IndexBinary, IndexConst, Kernel
from warploom.sketch import Written, parse_spec, written
from warploom.synth.proof.specs import array_shapes, grid_extents

Sizes = dict[str, int]

_LARGEST = 1 << 16
_BLOCKS = (3, 8)


def telling_sizes(kernel: Kernel, at: Mapping[str, int], most_elements: int, of_spec: Iterable[int] = ()) -> Iterator[Sizes]:
    """Sizes around the instance `at`, those that span several blocks, and those beyond every constant of the kernel's conditions.

    of_spec: `spec_constants`, to go beyond as well. Smallest first in each group; none twice, none with more than
    `most_elements` array elements, `at` itself left out.
    """
    seen: set[tuple[int, ...]] = {tuple(at[s] for s in kernel.sizes)}
    for sizes in _candidates(kernel, at, of_spec):
        key = tuple(sizes[s] for s in kernel.sizes)
        if key not in seen and min(key) >= 0:
            seen.add(key)
            if elements(kernel, sizes) <= most_elements:
                yield sizes


def untested_constant(kernel: Kernel, tested: Iterable[Mapping[str, int]], of_spec: Iterable[int] = ()) -> int:
    """A constant of the conditions of kernel or spec that no size in `tested` goes beyond; 0 if there is none."""
    largest = max((value for sizes in tested for value in sizes.values()), default=0)
    return max((c for c in (*_constants(kernel.body), *_caps(kernel), *of_spec) if c > largest), default=0)


def spec_constants(spec: Callable[..., Any], kernel: Kernel) -> tuple[int, ...]:
    """Numbers that the spec's indices and sizes are compared with or reduced by; from its text where it cannot be read."""
    try:
        return tuple(dict.fromkeys(_constants(parse_spec(spec, kernel).body)))
    except UserError:
        pass
    try:
        text = written(spec)
    except UserError:
        return ()
    return tuple(dict.fromkeys(_written_constants(text)))


def _written_constants(text: Written) -> Iterator[int]:
    for node in ast.walk(text.node):
        match node:
            case ast.Compare(left=left, comparators=others):
                parts = [left, *others]
            case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), left=left, right=right):
                parts = [left, right]
            case ast.Call(func=ast.Name(id="min" | "max" | "range"), args=args):
                parts = args
            case ast.Assign(targets=[ast.Name()], value=ast.Constant() as value):
                parts = [value]
            case _:
                continue
        below = [inner for part in parts for inner in ast.walk(part)]
        if any(isinstance(inner, ast.Subscript) for inner in below):
            continue  # numbers that data meets
        for inner in below:
            value: object = inner.value if isinstance(inner, ast.Constant) else None
            if isinstance(inner, ast.Name):
                value = text.resolve(inner.id)
            if isinstance(value, int):
                yield abs(value)


def elements(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Elements of all arrays together."""
    return sum(prod(shape) for shape in array_shapes(kernel, sizes))


def _candidates(kernel: Kernel, at: Mapping[str, int], of_spec: Iterable[int]) -> Iterator[Sizes]:
    yield dict.fromkeys(at, 0)
    yield dict.fromkeys(at, 1)
    for step in (-1, 1):
        yield {s: v + step for s, v in at.items()}
        if len(at) > 1:
            yield from ({**at, s: at[s] + step} for s in at)
    for size in at:
        for axis in range(3):
            yield from _spanning(kernel, dict(at), size, axis)
    ones = dict.fromkeys(at, 1)
    of_spec = frozenset(of_spec)
    constants = {n for c in _constants(kernel.body) for n in (c, c * kernel.threads)} | {*_caps(kernel), *of_spec}
    for number in sorted(n for n in constants if 1 < n < _LARGEST):
        for size in at:
            yield {**at, size: number + 1}
            yield {**ones, size: number + 1}
            if number in of_spec:
                yield {**at, size: number}


def _spanning(kernel: Kernel, at: Sizes, size: str, axis: int) -> Iterator[Sizes]:
    """Sizes with `_BLOCKS` blocks along an axis of the grid: the last block all but empty, and full."""

    def blocks(value: int) -> int:
        return grid_extents(kernel, {**at, size: value})[axis]

    try:
        for number in _BLOCKS:
            first = _least(lambda v, n=number: blocks(v) >= n)
            after = _least(lambda v, n=number: blocks(v) > n)
            if first is not None and after is not None:
                yield {**at, size: first}
                yield {**at, size: after - 1}
    except UserError:
        return


def _least(holds: Callable[[int], bool]) -> int | None:
    """The least number below the limit from which `holds` is true, by bisection; None if it never is."""
    low, high = 0, _LARGEST
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _caps(kernel: Kernel) -> Iterator[int]:
    """Threads in so many blocks as constants cut the grid to."""
    for extent in kernel.grid:
        if isinstance(extent, IndexBinary) and extent.op in ("min", "max"):
            yield from (int(e.value) * kernel.threads for e in (extent.lhs, extent.rhs) if isinstance(e, IndexConst))


def _constants(node: Any, is_limit: bool = False) -> Iterator[int]:
    """Constants that indices are compared with, bounded by, divided by or reduced modulo."""
    if isinstance(node, tuple):
        for item in cast("tuple[Any, ...]", node):
            yield from _constants(item, is_limit)
        return
    if not is_dataclass(node):
        return
    if isinstance(node, IndexConst):
        if is_limit:
            yield abs(int(node.value))
        return
    is_limit = (
        is_limit or isinstance(node, Compare) or (isinstance(node, IndexBinary) and node.op in ("min", "max", "%", "//", "&"))
    )
    for part in fields(node):
        yield from _constants(getattr(node, part.name), is_limit)
