"""Sizes that are known at run time only: which axes and arrays have them, and where they are in the way.

Source: Beaugnon et al., section 4.2: an axis has at most one loop of a size that is an argument, outside of its tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from warploom.core import Diagnostic, DType, Span, UserError, i32
from warploom.core.polynomials import Polynomial, size
from warploom.schedule.backbone import (
    MOST_AT_RUN_TIME,
    MOST_BESIDE_SIZE,
    Axis,
    Constant,
    Extent,
    Instruction,
    Operand,
    Program,
    Region,
    RunTimeSize,
)
from warploom.schedule.frontend.arithmetic import fits, sizes_of_number, sum_of_sizes
from warploom.schedule.frontend.sizes import Sizes, names_of, rounds_of
from warploom.schedule.frontend.tree import (
    Apply,
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
_NUMBERS = ("f32", "f64", "i32", "i64", "u32", "u64")
"""Types that hold each size, the floats rounded."""


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
    lengths = _Lengths(tree, program, multiples)
    problems = [
        Diagnostic("RUN_TIME_SIZE", message, span, _WHOLE if has_strides else _FIX)
        for name in multiples
        for span, message in _in_the_way(tree, program, lengths, name, has_strides=has_strides)
    ]
    if problems:
        raise UserError(*problems)
    stages = tuple(
        replace(
            stage,
            axes=(axes := tuple(_axis(axis, read, lengths) for axis in stage.axes)),
            extents=tuple(_extent(e, axes) for e in stage.extents),
            regions=tuple(lengths.region(r) for r in stage.regions),
            instructions=tuple(lengths.instruction(i) for i in stage.instructions),
        )
        for stage, read in zip(program.stages, tree.stages, strict=True)
    )
    return replace(program, stages=stages, arguments=tuple(lengths.region(r) for r in program.arguments))


class _Lengths:
    """Numbers of elements and of iterations that are one of the sizes known at run time and a number: `n`, `n - 2`, and
    `n + taps - 1` where `taps` has one value."""

    def __init__(self, tree: TensorTree, program: Program, multiples: Mapping[str, int]) -> None:
        self.sizes = {name: RunTimeSize(name, multiple) for name, multiple in multiples.items()}
        self.arrays = {array.name: array for array in tree.arrays}
        self.values = Sizes()
        """Sizes that can be told from the program, with their values there."""
        regions = [(self.arrays[r.name].shape, r.shape) for r in program.arguments]
        found = [pair for counts, shape in regions for pair in zip(counts, shape, strict=True)]
        for stage, backbone in zip(tree.stages, program.stages, strict=True):
            kept = {axis.name: axis.size for axis in backbone.axes}
            found += [(count, kept[index]) for index, count, _ in stage.ranges if index in kept]
        for count, value in found:
            for name in names_of(count):
                more = count.plus(size(name), -1)
                if more.is_constant:
                    self.values[name] = value - more.whole_at({})

    def of(self, count: Polynomial) -> RunTimeSize | None:
        """None for what is no such length."""
        names = [name for name in names_of(count) if name in self.sizes]
        more = self.known(count.plus(size(names[0]), -1)) if len(names) == 1 else None
        return None if more is None or abs(more) > MOST_BESIDE_SIZE else replace(self.sizes[names[0]], more=more)

    def iterations(self, count: Polynomial) -> RunTimeSize | None:
        """The same of indices, which may also run over the rounds of parts."""
        match rounds_of(count):
            case name, per if name in self.sizes and per <= MOST_AT_RUN_TIME // 2:
                return replace(self.sizes[name], per=per)
            case _:
                return self.of(count)

    def known(self, count: Polynomial) -> int | None:
        """The value where it depends on no size known at run time; None where it does, or cannot be told."""
        if not self.sizes.keys().isdisjoint(names_of(count)) or not self.values.keys() >= {*names_of(count)}:
            return None
        return count.whole_at(self.values)

    def is_number(self, value: IndexValue, ranges: Mapping[str, Polynomial]) -> bool:
        """Whether kernels may use an index as a number: in 32 bits, which hold it at all sizes, and over rounds of parts."""
        if value.dtype != i32 or value.index.digits or self.known(value.index.sizes) is None:
            return False
        low = high = value.index.sum.constant + (self.known(value.index.sizes) or 0)
        for atom, coefficient in value.index.sum.terms:
            length = self.iterations(ranges[atom])
            most = self.known(ranges[atom]) if length is None else length.most if length.per > 1 else None
            if most is None:
                return False
            low, high = low + min(0, coefficient * (most - 1)), high + max(0, coefficient * (most - 1))
        return fits(low, i32) and fits(high, i32)

    def region(self, region: Region) -> Region:
        found = [self.of(count) for count in self.arrays[region.name].shape]
        inner = tuple(found[1:]) if any(found[1:]) else ()
        return replace(region, run_time=next(iter(found), None), inner=inner)

    def instruction(self, instruction: Instruction) -> Instruction:
        """With the lengths that are used as numbers."""
        return replace(instruction, operands=tuple(self._operand(o) for o in instruction.operands))

    def _operand(self, operand: Operand) -> Operand:
        if not isinstance(operand, Constant) or operand.of is None:
            return operand
        return replace(operand, run_time=self.of(operand.of))

    def is_in_step(self, index: IndexSum, length: Polynomial, fill: float | None, ranges: Mapping[str, Polynomial]) -> bool:
        """Whether an index is inside of its array, or passes its ends, for all values of the sizes as it does for those here."""
        over = [atom for atom in index.names if not self.sizes.keys().isdisjoint(names_of(ranges[atom]))]
        if not over and self.sizes.keys().isdisjoint(names_of(length)):
            return True
        array, beside = self.of(length), self.known(index.sizes)
        if array is None or beside is None or index.digits or len(over) > 1:
            return False
        if over and rounds_of(ranges[over[0]]):
            return fill is not None
        low = high = index.sum.constant + beside
        for atom, coefficient in index.sum.terms:
            if atom in over:
                own = self.of(ranges[atom])
                if coefficient != 1 or own is None or own.alone != array.alone:
                    return False
                high += own.more - 1
            elif (count := self.known(ranges[atom])) is None:
                return False
            else:
                reach = coefficient * (count - 1)
                low, high = low + min(0, reach), high + max(0, reach)
        is_inside = low >= 0 and high < array.more  # without an index over the size: even where that is 0
        return is_inside or (fill is not None and bool(over))


def _axis(axis: Axis, stage: Stage, lengths: _Lengths) -> Axis:
    found = next((count for name, count, _ in stage.ranges if name == axis.name), None)
    return replace(axis, run_time=None if found is None else lengths.iterations(found))


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


def _in_the_way(
    tree: TensorTree, program: Program, lengths: _Lengths, name: str, *, has_strides: bool
) -> Iterator[tuple[Span, str]]:
    """Where the text of a kernel would depend on the value."""
    is_run = False
    for array in tree.arrays:
        for position, count in enumerate(array.shape):
            where = f"axis {position} of {array.name!r} has {count} elements"
            if name not in names_of(count):
                continue
            if not has_strides and position:
                yield array.span, f"expected {name}, which is known at run time, as the first size of an array only: {where}"
            elif lengths.of(count) is None:
                told = f"expected {name}, which is known at run time, or a sum of it and a number, as sizes of arrays"
                yield array.span, f"{told} only: {where}"
    for stage, backbone in zip(tree.stages, program.stages, strict=True):
        kept = {axis.name: axis for axis in backbone.axes}
        ranges = {index: count for index, count, _ in stage.ranges}
        own = {index for index, count in ranges.items() if name in names_of(count)}
        for index, count, span in stage.ranges:
            if name not in names_of(count):
                continue
            is_run |= index in kept
            if lengths.iterations(count) is None:
                told = f"expected an index of {name} values, which is known at run time, or a number more or less"
                yield span, f"{told}, got {count} of {index}"
            elif index not in kept:
                yield span, f"expected {name}, which is known at run time, to be 2 or more for the search, got 1"
        for expression in _expressions(stage):
            match expression:
                case SizeValue() | Apply(dtype=None) if any(name in names_of(n) for n in sizes_of_number(expression)):
                    found = sum_of_sizes(expression)
                    if found is None or lengths.of(found) is None:
                        place = expression.span if isinstance(expression, Apply) else stage.stores[0].span
                        told = f"expected {name}, which is known at run time, or a sum of it and a number, as a number"
                        yield place, f"{told}, got {'another one' if found is None else found}"
                case IndexValue(index=index) if own & {*index.names} or name in names_of(index.sizes):
                    if not lengths.is_number(expression, ranges):
                        told = f"expected {name}, which is known at run time, in no value, got an index over it as a number"
                        yield index.span, told
                case Read(array=array, indices=indices, fill=fill, span=span):
                    is_of = any(own & {*i.names} or name in names_of(n) for i, n in zip(indices, array.shape, strict=True))
                    if any(name in names_of(index.sizes) for index in indices):
                        yield span, f"expected {name}, which is known at run time, in no index, got it in one"
                    elif is_of and any(
                        not lengths.is_in_step(i, n, fill, ranges) for i, n in zip(indices, array.shape, strict=True)
                    ):
                        yield span, f"expected {array.name!r} at the indices that run over {name}, which is known at run time"
                case Gather(array=array) as gather:
                    is_over = any(own & {*index.names} or name in names_of(index.sizes) for index in gather.affine)
                    if is_over or any(name in names_of(count) for count in array.shape):
                        message = (
                            f"expected {name}, which is known at run time, in the places of no gather, got it in {array.name!r}"
                        )
                        yield gather.span, message
                case _:
                    pass
        for instruction in backbone.instructions:
            sizes = [o.of for o in instruction.operands if isinstance(o, Constant) and o.of is not None]
            if any(name in names_of(of) for of in sizes) and instruction.dtype.name not in _NUMBERS:
                told = f"expected {name}, which is known at run time, as a number of {', '.join(_NUMBERS)}"
                yield instruction.span, f"{told}, got {instruction.dtype}"
    if not is_run:
        yield tree.arrays[0].span, f"expected an index that runs over {name}, which is known at run time, got none"


def _expressions(stage: Stage) -> Iterator[Expression]:
    work: list[Expression] = [owner.value for owner in stage.owners]
    while work:
        found = work.pop()
        yield found
        match found:
            case Apply(operands=operands, dtype=DType()):
                work += operands
            case Reduction(operand=operand):
                work.append(operand)
            case Gather() as gather:
                work += gather.reads
            case _:
                pass
