"""A sum over one index as sums over its parts, which a second stage adds up ("split-K" of matrix products).

    C[m, n] = f(sum(e[m, n, k], over=k))   ->   C_parts[part, m, n] = sum(e[m, n, part * K + k], over=k)      K = size / parts
                                                C[m, n] = f(sum(C_parts[part, m, n], over=part))

The parts are made by as many more blocks. Arrays stay as they lie in memory: an axis of the size that is split becomes two.
Goal: one sum of products of two factors, each of which is used again along an index of its own, of a function with one stage.
Non-goals: sums of several indices, other reductions, shifted or divided indices. Whether the two stages are the one is not
trusted: `schedule.backbone.joined` finds it out from their backbones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from warploom.core import Diagnostic, UserError
from warploom.core.linear import variable
from warploom.core.polynomials import number, size
from warploom.schedule.backbone import Operator, Program, Role, Tiles, no_tiles
from warploom.schedule.frontend.lowering import region_of
from warploom.schedule.frontend.sizes import names_of
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Expression,
    Gather,
    IndexSum,
    IndexValue,
    Local,
    Number,
    Read,
    Reduction,
    Scalar,
    SizeValue,
    Stage,
    Store,
    TensorTree,
)

if TYPE_CHECKING:
    from warploom.schedule.frontend.functions import ProgramOptions, TensorFunction


@dataclass(frozen=True, slots=True)
class Parted:
    """The sum of a function that can be made in parts."""

    index: str
    """Index that is summed over."""
    size: str
    """Name of its size."""
    total: Reduction


def parted_sum(tree: TensorTree) -> Parted | None:
    """The only sum of the only stage, where it is a product of matrices, the size that it runs over is that of whole axes, and
    these are read at that index alone; None for other functions."""
    if len(tree.stages) != 1 or len(tree.stages[0].stores) != 1 or tree.stages[0].definitions:
        return None
    stage, store = tree.stages[0], tree.stages[0].stores[0]
    reductions = [e for e in _parts_of(store.value) if isinstance(e, Reduction)]
    if len(reductions) != 1 or store.array.role is not Role.OUTPUT or store.array.old is not None:
        return None
    (total,) = reductions
    if total.operator is not Operator.ADD or len(total.over) != 1 or not _is_of_matrices(total):
        return None
    (index,) = total.over
    extent = next(count for name, count, _ in stage.ranges if name == index)
    if len(extent.names) != 1 or extent != size(extent.names[0]):
        return None
    found = Parted(index, extent.names[0], total)
    return found if _is_plain(tree, found) else None


def _is_of_matrices(total: Reduction) -> bool:
    """Whether it adds products of two factors, each of which has an index that the other has not."""
    match total.operand:
        case Apply(operator=Operator.MUL, operands=(one, other)):
            first, second = _names_in(one), _names_in(other)
            return not first <= second and not second <= first
        case _:
            return False


def _is_plain(tree: TensorTree, found: Parted) -> bool:
    stage, whole = tree.stages[0], size(found.size)
    if any(found.size in names_of(count) for name, count, _ in stage.ranges if name != found.index):
        return False
    if any(found.size in names_of(count) and count != whole for array in tree.arrays for count in array.shape):
        return False
    for expression in _parts_of(stage.stores[0].value):
        match expression:
            case Gather():
                return False
            case SizeValue(count) if found.size in names_of(count):
                return False
            case IndexValue(index=index) if found.index in index.names or found.size in names_of(index.sizes):
                return False
            case Read(array=array, indices=indices, fill=fill):
                for place, count in zip(indices, array.shape, strict=True):
                    is_split = count == whole
                    if is_split != (found.index in place.names) or found.size in names_of(place.sizes):
                        return False
                    if is_split and (place.plain != found.index or fill is not None):
                        return False
            case _:
                pass
    return True


def in_parts(tree: TensorTree, found: Parted, parts: int) -> TensorTree:
    """The function with two stages; its size `found.size` is that of a part."""
    stage, store = tree.stages[0], tree.stages[0].stores[0]
    taken = {*tree.parameters, *tree.sizes, *(name for name, _, _ in stage.ranges)}
    part, name = _free("part", taken), _free(f"{store.array.name}_parts", taken)
    count, ranges = number(parts), {index: (count, span) for index, count, span in stage.ranges}
    kept = tuple(index for index, _, _ in stage.ranges if index != found.index and index in _names_in(found.total.operand))
    arrays = {a.name: _array_in_parts(a, found.size, parts) for a in tree.arrays}
    shape = (count, *(ranges[index][0] for index in kept))
    between = ArrayParameter(name, found.total.dtype, shape, Role.TEMPORARY, store.array.span)

    def of_part(expression: Expression) -> Expression:
        return _read_in_parts(expression, arrays, found, part)

    total = replace(found.total, operand=_mapped(found.total.operand, of_part))
    place = found.total.span
    indices = (part, *kept)
    first = Stage(
        (),
        (Store(between, indices, total, place),),
        (
            (part, count, place),
            *((index, *ranges[index]) for index in kept),
            (found.index, *ranges[found.index]),
        ),
    )
    read = Read(between, tuple(IndexSum(variable(i), place) for i in indices), None, place)
    added = Reduction(Operator.ADD, read, (part,), found.total.dtype, place)
    value = _mapped(store.value, lambda e: added if e is found.total else e)
    others = tuple(r for r in stage.ranges if r[0] != found.index)
    second = Stage((), (replace(store, value=value),), (*others, (part, count, place)))
    made = [arrays[a.name] for a in tree.arrays]
    made.insert(next(n for n, a in enumerate(made) if a.name == store.array.name), between)
    names = list(tree.parameters)
    names.insert(names.index(store.array.name), name)
    return replace(tree, arrays=tuple(made), stages=(first, second), parameters=tuple(names))


@dataclass(frozen=True, slots=True)
class PartedFunction:
    """A tensor function whose sum is made in parts: arrays and sizes of the function, kernels of two stages."""

    whole: TensorFunction
    parts: int
    """2 or more."""

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def sum(self) -> Parted:
        found = parted_sum(self.whole.tree)
        assert found is not None
        return found

    def inner(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes of the stages, which have that of a part. UserError (SIZES) where the parts do not divide it."""
        self.whole.check_sizes(sizes)
        name = self.sum.size
        if sizes[name] % self.parts:
            message = f"expected {name} as a multiple of its {self.parts} parts, got {sizes[name]}"
            raise UserError(Diagnostic("SIZES", message, fix="Give another size, or other parts."))
        return {**sizes, name: sizes[name] // self.parts}

    def outer(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes of the function where its stages have these."""
        return {**sizes, self.sum.size: sizes[self.sum.size] * self.parts}

    def program(
        self, sizes: Mapping[str, int], tiles: Tiles = no_tiles, **options: Unpack[ProgramOptions]
    ) -> Program:  # fmt: skip
        """Two kernels, options as of `TensorFunction.program`. `arguments` are the arrays as the function declares them, and what
        the first kernel writes for the second. UserError as there, and SIZES where the parts do not divide the sum."""
        inner = self.inner(sizes)
        whole = {a.name: region_of(a, sizes, a.role) for a in self.whole.arrays}
        two = replace(self.whole, tree=in_parts(self.whole.tree, self.sum, self.parts))
        program = two.program(inner, tiles, **options)
        return replace(program, arguments=tuple(whole.get(r.name, r) for r in program.arguments))


def _array_in_parts(array: ArrayParameter, name: str, parts: int) -> ArrayParameter:
    """Each axis of the size as two: row-major they lie in memory as the one did."""
    shape = tuple(axis for count in array.shape for axis in ((number(parts), count) if count == size(name) else (count,)))
    return replace(array, shape=shape)


def _read_in_parts(expression: Expression, arrays: Mapping[str, ArrayParameter], found: Parted, part: str) -> Expression:
    if not isinstance(expression, Read):
        return expression
    whole = size(found.size)
    indices = tuple(
        place
        for index, count in zip(expression.indices, expression.array.shape, strict=True)
        for place in ((IndexSum(variable(part), index.span), index) if count == whole else (index,))
    )
    return replace(expression, array=arrays[expression.array.name], indices=indices)


def _mapped(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Every part of an expression changed, from the outside: what is changed is not entered."""
    made = change(expression)
    if made is not expression:
        return made
    match expression:
        case Apply(operands=operands):
            return replace(expression, operands=tuple(_mapped(o, change) for o in operands))
        case Reduction(operand=operand):
            return replace(expression, operand=_mapped(operand, change))
        case Number() | SizeValue() | IndexValue() | Scalar() | Read() | Gather() | Local():
            return expression


def _parts_of(expression: Expression) -> Iterator[Expression]:
    yield expression
    match expression:
        case Apply(operands=operands):
            for operand in operands:
                yield from _parts_of(operand)
        case Reduction(operand=operand):
            yield from _parts_of(operand)
        case Gather(reads=reads):
            yield from reads
        case Number() | SizeValue() | IndexValue() | Scalar() | Read() | Local():
            pass


def _names_in(value: Expression) -> set[str]:
    """The indices of elements, and those used as numbers."""
    found: set[str] = set()
    for expression in _parts_of(value):
        match expression:
            case Read(indices=indices):
                found.update(name for index in indices for name in index.names)
            case IndexValue(index=index):
                found.update(index.names)
            case _:
                pass
    return found


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
