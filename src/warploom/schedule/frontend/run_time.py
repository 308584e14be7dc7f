"""Sizes that are known at run time only: which axes and arrays have them, and where they are in the way.

Source: Beaugnon et al., section 4.2: an axis has at most one loop of a size that is an argument, outside of its tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from warploom.core import Diagnostic, Span, UserError
from warploom.core.polynomials import Polynomial, size
from warploom.schedule.backbone import Axis, Extent, Program, Region, RunTimeSize
from warploom.schedule.frontend.sizes import names_of
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Expression,
    Gather,
    IndexSum,
    IndexValue,
    Read,
    Reduction,
    SizeValue,
    Stage,
    TensorTree,
)

_FIX = "Give this size a value, or make it the first of its arrays."
_WHOLE = "Give this size a value."


def with_run_time_sizes(
    tree: TensorTree, program: Program, multiples: Mapping[str, int], *, has_strides: bool = False
) -> Program:
    """The program with these sizes as arguments of its kernels; by name, what their values are multiples of. has_strides: also
    sizes in which strides are counted.

    UserError (SIZES, RUN_TIME_SIZE).
    """
    if not multiples:
        return program
    if unknown := sorted(set(multiples) - set(tree.sizes)):
        message = f"expected a size of {tree.name!r} ({', '.join(tree.sizes)}), got {unknown[0]}"
        raise UserError(Diagnostic("SIZES", message, fix="Name a size of its arrays."))
    sizes = {name: RunTimeSize(name, multiple) for name, multiple in multiples.items()}
    problems = [
        Diagnostic("RUN_TIME_SIZE", message, span, _WHOLE if has_strides else _FIX)
        for name in sizes
        for span, message in _in_the_way(tree, program, name, has_strides=has_strides)
    ]
    if problems:
        raise UserError(*problems)
    arrays = {array.name: array for array in tree.arrays}
    stages = tuple(
        replace(
            stage,
            axes=(axes := tuple(_axis(axis, read, sizes) for axis in stage.axes)),
            extents=tuple(_extent(e, axes) for e in stage.extents),
            regions=tuple(_region(r, arrays, sizes) for r in stage.regions),
        )
        for stage, read in zip(program.stages, tree.stages, strict=True)
    )
    return replace(program, stages=stages, arguments=tuple(_region(r, arrays, sizes) for r in program.arguments))


def _axis(axis: Axis, stage: Stage, sizes: Mapping[str, RunTimeSize]) -> Axis:
    found = next((count for name, count, _ in stage.ranges if name == axis.name), None)
    return replace(axis, run_time=next((s for name, s in sizes.items() if found == size(name)), None))


def _extent(extent: Extent, axes: tuple[Axis, ...]) -> Extent:
    """The outermost loop stays one: its only iteration would have no index."""
    if extent.level or axes[extent.axis].run_time is None:
        return extent
    kept = tuple(n for n in extent.sizes if n > 1)
    if not kept:
        axis = axes[extent.axis]
        message = f"expected 2 tiles or more of {axis.name} to search with, got a size of {axis.size}"
        raise UserError(Diagnostic("RUN_TIME_SIZE", message, axis.span, "Search at a larger size: NAME=?@1024."))
    return replace(extent, sizes=kept)


def _region(region: Region, arrays: Mapping[str, ArrayParameter], sizes: Mapping[str, RunTimeSize]) -> Region:
    found = [next((s for name, s in sizes.items() if count == size(name)), None) for count in arrays[region.name].shape]
    inner = tuple(found[1:]) if any(found[1:]) else ()
    return replace(region, run_time=next(iter(found), None), inner=inner)


def _in_the_way(tree: TensorTree, program: Program, name: str, *, has_strides: bool) -> Iterator[tuple[Span, str]]:
    """Where the text of a kernel would depend on the value."""
    is_run = False
    for array in tree.arrays:
        for position, count in enumerate(array.shape):
            where = f"axis {position} of {array.name!r} has {count} elements"
            if name in names_of(count) and has_strides and count != size(name):
                yield array.span, f"expected {name}, which is known at run time, as a whole size of arrays only: {where}"
            elif name in names_of(count) and not has_strides and (position or count != size(name)):
                yield array.span, f"expected {name}, which is known at run time, as the first size of an array only: {where}"
    for stage, backbone in zip(tree.stages, program.stages, strict=True):
        kept = {axis.name: axis for axis in backbone.axes}
        own = {index for index, count, _ in stage.ranges if count == size(name)}
        for index, count, span in stage.ranges:
            if name not in names_of(count):
                continue
            is_run |= index in kept
            if count != size(name):
                yield span, f"expected an index of {name} values, which is known at run time, got {count} of {index}"
            elif index not in kept:
                yield span, f"expected {name}, which is known at run time, to be 2 or more for the search, got 1"
        for expression in _expressions(stage):
            match expression:
                case SizeValue(found) if name in names_of(found):
                    place = stage.stores[0].span
                    yield place, f"expected {name}, which is known at run time, in no value, got it as a number"
                case IndexValue(index=index) if own & {*index.names} or name in names_of(index.sizes):
                    yield (
                        index.span,
                        f"expected {name}, which is known at run time, in no value, got an index over it as a number",
                    )
                case Read(array=array, indices=indices, fill=fill, span=span):
                    if any(not _is_in_step(i, count, fill, own, name) for i, count in zip(indices, array.shape, strict=True)):
                        yield span, f"expected {array.name!r} at the indices that run over {name}, which is known at run time"
                    elif any(name in names_of(index.sizes) for index in indices):
                        yield span, f"expected {name}, which is known at run time, in no index, got it in one"
                case Gather(array=array) as gather:
                    is_over = any(own & {*index.names} or name in names_of(index.sizes) for index in gather.affine)
                    if is_over or any(name in names_of(count) for count in array.shape):
                        message = (
                            f"expected {name}, which is known at run time, in the places of no gather, got it in {array.name!r}"
                        )
                        yield gather.span, message
                case _:
                    pass
    if not is_run:
        yield tree.arrays[0].span, f"expected an index that runs over {name}, which is known at run time, got none"


def _is_in_step(index: IndexSum, count: Polynomial, fill: float | None, own: set[str], name: str) -> bool:
    """Whether an index stays inside of its array for every value of the size, as it does for one."""
    runs = any(index_name in own for index_name in index.names)
    if not runs and name not in names_of(count):
        return True
    return fill is None and index.plain in own and count == size(name)


def _expressions(stage: Stage) -> Iterator[Expression]:
    work: list[Expression] = [owner.value for owner in (*stage.definitions, *stage.stores)]
    while work:
        found = work.pop()
        yield found
        match found:
            case Apply(operands=operands):
                work += operands
            case Reduction(operand=operand):
                work.append(operand)
            case Gather() as gather:
                work += gather.reads
            case _:
                pass
