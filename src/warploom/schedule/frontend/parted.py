"""Reductions over a long index as reductions over its parts, which a later stage joins (of matrix products: "split-K").

    C[m, n] = f(sum(e[m, n, k], over=k))   ->   C_parts[part, m, n] = sum(e[m, n, part * K + k], over=k)      K = size of a part
                                                C[m, n] = f(sum(C_parts[part, m, n], over=part))

The parts are made by as many more blocks. Sums, products, maxima and minima are taken apart alike. Where the parts do not divide
the index, the second stage joins the elements behind the last part, too. Of a size that is known at run time there are as many
parts for all values, and the rounds in which they are made are counted then; beyond the end nothing is added:

    C_parts[part, m, n] = sum(e[m, n, (round * PARTS + part) * K + k], over=(round, k))

A value that is made of a reduction and that is used
along the index again (a mean, of which the variance is made) is stored by a stage of its own: one stage for each pass.

Goal: all reductions over indices of one size. Non-goals: divided indices, gathers, arrays that are read and written. Whether the
stages are the function is not trusted: `schedule.backbone.joined` finds it out from their backbones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Unpack

from warploom.core import NOWHERE, Diagnostic, Span, UserError, i32
from warploom.core.linear import Linear, variable
from warploom.core.polynomials import Polynomial, number, size
from warploom.schedule.backbone import Operator, Program, Role, Tiles, identity_of, no_tiles
from warploom.schedule.frontend.arithmetic import as_type
from warploom.schedule.frontend.sizes import is_quotient, names_of, rounds
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
    at_places,
    dtype_of,
    index_sums,
    mapped,
    parts_of,
)

if TYPE_CHECKING:
    from warploom.schedule.frontend.functions import ProgramOptions, TensorFunction


@dataclass(frozen=True, slots=True)
class Parted:
    """The reductions of a function over indices of one size, which can be made in parts together."""

    index: str
    """Index of the first of them."""
    size: str
    """Name of the size."""
    totals: tuple[Reduction, ...]
    results: tuple[tuple[Polynomial, ...], ...]
    """How many values each index has that tells results of a reduction apart."""
    others: tuple[tuple[Polynomial, ...], ...]
    """How many values each further index has that a reduction runs over."""
    is_product: bool
    """There is nothing but one product of matrices."""
    is_across: bool
    """Some array has the results of a reduction next to each other in memory, and what is summed apart."""

    def results_at(self, sizes: Mapping[str, int]) -> int:
        """Results of the reduction that has the most of them."""
        return max(prod(count.whole_at(sizes) for count in counts) for counts in self.results)

    def others_at(self, sizes: Mapping[str, int]) -> int:
        """Elements for each value of the index, at least."""
        return min(prod(count.whole_at(sizes) for count in counts) for counts in self.others)


def parted_sums(tree: TensorTree) -> tuple[Parted, ...]:
    """Reductions that can be made in parts, by the size that is summed over, in order of appearance."""
    if any(a.old is not None for a in tree.arrays) or any(isinstance(e, Gather) for e in _all_parts(tree)):
        return ()
    found: dict[str, list[tuple[Stage, str, Reduction]]] = {}
    for stage in tree.stages:
        for reduction in _reductions(stage):
            for name in _sizes_over(stage, reduction):
                if _can_be_cut(tree, name):
                    found.setdefault(name, []).append((stage, _index_of(stage, reduction, name) or "", reduction))
    return tuple(
        Parted(
            each[0][1],
            name,
            tuple(reduction for *_, reduction in each),
            tuple(_results(stage, reduction) for stage, _, reduction in each),
            tuple(_others(stage, index, reduction) for stage, index, reduction in each),
            len(each) == 1 == len(tree.stages) and _is_of_matrices(each[0][2], _values(each[0][0])),
            any(_is_across(stage, index, reduction) for stage, index, reduction in each),
        )
        for name, each in found.items()
    )


def _reductions(stage: Stage) -> Iterator[Reduction]:
    return (part for part in stage.parts if isinstance(part, Reduction))


def _sizes_over(stage: Stage, reduction: Reduction) -> tuple[str, ...]:
    """The names of sizes that some index of the reduction runs over."""
    counts = {index: count for index, count, _ in stage.ranges}
    names = (count.names[0] for i in reduction.over if (count := counts[i]).names and count == size(count.names[0]))
    return tuple(dict.fromkeys(name for name in names if not is_quotient(size(name))))


def _index_of(stage: Stage, reduction: Reduction, name: str) -> str | None:
    """The first index of the reduction that runs over this size."""
    counts = {index: count for index, count, _ in stage.ranges}
    return next((index for index in reduction.over if counts[index] == size(name)), None)


def _results(stage: Stage, reduction: Reduction) -> tuple[Polynomial, ...]:
    counts = {index: count for index, count, _ in stage.ranges}
    return tuple(counts[index] for index in _names_in(reduction.operand, _values(stage)) if index not in reduction.over)


def _others(stage: Stage, index: str, reduction: Reduction) -> tuple[Polynomial, ...]:
    counts = {index: count for index, count, _ in stage.ranges}
    return tuple(counts[other] for other in reduction.over if other != index)


def _is_across(stage: Stage, index: str, reduction: Reduction) -> bool:
    """Whether some array with the index has one of the results along its last axis."""
    values, work = _values(stage), [reduction.operand]
    while work:
        for expression in parts_of(work.pop()):
            if isinstance(expression, Local):
                work.append(values[expression.name])
            elif isinstance(expression, Read) and any(index in place.names for place in expression.indices):
                last = expression.indices[-1].names
                if index not in last and not set(last) <= set(reduction.over):
                    return True
    return False


def _values(stage: Stage) -> dict[str, Expression]:
    return {definition.name: definition.value for definition in stage.definitions}


def _can_be_cut(tree: TensorTree, name: str) -> bool:
    """Whether nothing divides a size or an index of it."""
    counts = [count for array in tree.arrays for count in array.shape]
    counts += [count for stage in tree.stages for _, count, _ in stage.ranges]
    counts += [e.size for e in _all_parts(tree) if isinstance(e, SizeValue)]
    counts += [index.sizes for index in _index_sums(tree)]
    if any(name in names_of(count) and is_quotient(count) for count in counts):
        return False
    return not any(
        digit.index == index
        for stage in tree.stages
        for index, count, _ in stage.ranges
        if name in names_of(count)
        for place in _index_sums(tree)
        for digit in place.digits
    )


def _index_sums(tree: TensorTree) -> Iterator[IndexSum]:
    return (index for stage in tree.stages for owner in stage.owners for index in index_sums(owner.value))


def _is_of_matrices(total: Reduction, values: Mapping[str, Expression]) -> bool:
    """Whether it adds products of two factors, each of which has an index that the other has not."""
    match total:
        case Reduction(operator=Operator.ADD, operand=Apply(operator=Operator.MUL, operands=(one, other)), over=(_,)):
            first, second = set(_names_in(one, values)), set(_names_in(other, values))
            return not first <= second and not second <= first
        case _:
            return False


def in_parts(tree: TensorTree, found: Parted, parts: int, length: int, rest: int) -> TensorTree:
    """The function with the reductions over `found.size` in parts of `length` elements, `rest` behind the last part. Its size
    of that name is `length`."""
    return _Cutting(tree, found, parts, length, rest, has_rounds=False).tree


def in_rounds(tree: TensorTree, found: Parted, parts: int, tile: int) -> TensorTree:
    """The function with the reductions over `found.size`, whatever that is, in parts that each take every so many tiles of `tile`
    elements."""
    return _Cutting(tree, found, parts, tile, 0, has_rounds=True).tree


@dataclass(slots=True)
class _Made:
    """A stage that makes parts, to which other reductions of the same elements may be added."""

    number: int
    """Among the stages made."""
    ranges: tuple[str, ...]


class _Cutting:
    def __init__(self, tree: TensorTree, found: Parted, parts: int, length: int, rest: int, *, has_rounds: bool) -> None:
        self.size, self.parts, self.length, self.rest, self.has_rounds = found.size, parts, length, rest, has_rounds
        self.is_first = found.is_product or found.is_across
        """Whether results of one part lie together, not the parts of one result."""
        self.whole = size(found.size) if has_rounds else size(found.size).scaled(parts).plus(number(rest))
        self.arrays = {a.name: replace(a, shape=tuple(map(self.counted, a.shape))) for a in tree.arrays}
        self.taken = {*tree.parameters, *tree.sizes, *(name for stage in tree.stages for name, _, _ in stage.ranges)}
        self.part, self.behind, self.round = self.free("part"), self.free("behind"), self.free("round")
        self.stages: list[Stage] = []
        self.made: list[_Made] = []
        self.between: list[tuple[str, ArrayParameter]] = []
        """Arrays between stages, each with that of the function before which it stands."""
        for stage in tree.stages:
            self.cut(stage)
        arrays, names = [self.arrays[a.name] for a in tree.arrays], list(tree.parameters)
        for before, array in self.between:
            arrays.insert(next(n for n, a in enumerate(arrays) if a.name == before), array)
            names.insert(names.index(before), array.name)
        self.tree = replace(tree, arrays=tuple(arrays), stages=tuple(self.stages), parameters=tuple(names))

    def free(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def counted(self, count: Polynomial) -> Polynomial:
        """A size of the function where that of a part has the name."""
        total = number(0)
        for monomial, factor in count.terms:
            term = number(factor)
            for name in monomial:
                term = term.times(self.whole if name == self.size else size(name))
            total = total.plus(term)
        return total

    def cut(self, stage: Stage) -> None:
        self.stage = stage
        self.ranges = {self.round: (rounds(self.size, self.parts * self.length), NOWHERE)} if self.has_rounds else {}
        self.ranges |= {index: (self.counted(count), span) for index, count, span in stage.ranges}
        self.long = {index for index, count, _ in stage.ranges if count == size(self.size)}
        self.values: dict[str, Expression] = {}
        self.stored: dict[Expression, Read] = {}
        self.totals: dict[Reduction, Expression] = {}
        self.first = stage.stores[0].array.name
        for definition in stage.definitions:
            is_long = not self.long.isdisjoint(definition.indices)
            self.values[definition.name] = self.of_stages(definition.value, definition.name, is_long=is_long)
        stores = tuple(
            replace(
                s,
                array=self.arrays[s.array.name],
                value=self.of_stages(s.value, s.array.name, is_long=not self.long.isdisjoint(s.indices)),
            )
            for s in stage.stores
        )
        self.add(stores, {})

    def add(self, stores: tuple[Store, ...], own: Mapping[str, tuple[Polynomial, Span]]) -> None:
        """A stage with these stores; `own`: ranges that differ from the function's."""
        ranges = {**self.ranges, self.part: (number(self.parts), NOWHERE), self.behind: (number(self.rest), NOWHERE), **own}
        used = {name for store in stores for name in _names_in(store.value, {})}
        used |= {name for store in stores for e in parts_of(store.value) if isinstance(e, Reduction) for name in e.over}
        first = [name for store in stores for name in store.indices]
        names = dict.fromkeys((*first, *(name for name in ranges if name in used)))
        self.stages.append(Stage((), stores, tuple((name, *ranges[name]) for name in names)))

    def of_stages(self, expression: Expression, name: str, *, is_long: bool) -> Expression:
        """The value made of what earlier stages store. `is_long`: used at every element of a long index, so that no reduction
        may be made anew there; `name`: of the value that it is part of."""
        match expression:
            case Local(name=local, indices=indices):
                value = self.values[local]
                return self.kept(local, value, indices, expression.span) if is_long and self.is_joined(value) else value
            case Reduction(over=over):
                index = _index_of(self.stage, expression, self.size)
                if index is None:
                    is_long |= not self.long.isdisjoint(_names_in(expression.operand, self.values))
                    return replace(expression, operand=self.of_stages(expression.operand, name, is_long=is_long))
                operand = self.of_stages(expression.operand, name, is_long=True)
                total = replace(expression, operand=operand)
                value = self.totals[total] if total in self.totals else self.joined(total, index, name)
                self.totals[total] = value
                kept = tuple(i for i in _names_in(operand, {}) if i not in over)
                return self.kept(f"{name}_whole", value, kept, expression.span) if is_long else value
            case Apply(operands=operands):
                return replace(expression, operands=tuple(self.of_stages(o, name, is_long=is_long) for o in operands))
            case Read(array=array, indices=indices):
                return replace(expression, array=self.arrays[array.name], indices=tuple(map(self.place, indices)))
            case IndexValue(index=index):
                return replace(expression, index=self.place(index))
            case SizeValue(count):
                return SizeValue(self.counted(count))
            case Number() | Scalar() | Gather():
                return expression

    def place(self, index: IndexSum) -> IndexSum:
        return replace(index, sizes=self.counted(index.sizes))

    def is_joined(self, value: Expression) -> bool:
        """Whether parts are joined in it."""
        return any(isinstance(e, Reduction) and self.part in e.over for e in parts_of(value))

    def kept(self, name: str, value: Expression, indices: tuple[str, ...], span: Span) -> Read:
        """The value of a stage of its own."""
        if value not in self.stored:
            self.stored[value] = self.stored_at(name, value, indices, span)
        return self.stored[value]

    def stored_at(self, name: str, value: Expression, indices: tuple[str, ...], span: Span) -> Read:
        used = set(_names_in(value, {})) - {self.part, self.behind}
        indices = tuple(i for i in self.ranges if i in indices and i in used)
        array = self.array(name, value, tuple(self.ranges[i][0] for i in indices), span)
        places = tuple(IndexSum(variable(i), span) for i in indices)
        if not indices:
            one = self.free("one")
            self.add((Store(array, (one,), value, span),), {one: (number(1), span)})
            return Read(array, (IndexSum(Linear(), span),), None, span)
        self.add((Store(array, indices, value, span),), {})
        return Read(array, places, None, span)

    def array(self, name: str, value: Expression, shape: tuple[Polynomial, ...], span: Span) -> ArrayParameter:
        """A new array between stages."""
        dtype = dtype_of(value)
        assert dtype is not None, "a value made of reductions has a type"
        found = ArrayParameter(self.free(name), dtype, shape or (number(1),), Role.TEMPORARY, span)
        self.between.append((self.first, found))
        return found

    def joined(self, total: Reduction, index: str, name: str) -> Expression:
        """The reduction over the parts, which a stage of their own makes, and over what is behind them."""
        kept = tuple(i for i in self.ranges if i in set(_names_in(total.operand, {})) and i not in total.over)
        indices = (self.part, *kept) if self.is_first else (*kept, self.part)
        counts = {**{i: self.ranges[i][0] for i in kept}, self.part: number(self.parts)}
        array = self.array(f"{name}_parts", total, tuple(counts[i] for i in indices), total.span)
        place = variable(self.part).scaled(self.length).plus(variable(index))
        if self.has_rounds:
            place = place.plus(variable(self.round), self.parts * self.length)
            part = self.up_to_the_end(_moved(total, index, place), place)
        else:
            part = _moved(total, index, place)
        self.of_parts(Store(array, indices, part, total.span), index)
        places = tuple(IndexSum(variable(i), total.span) for i in indices)
        found = replace(total, operand=Read(array, places, None, total.span), over=(self.part,))
        if not self.rest:
            return found
        last = _moved(total, index, variable(self.behind).plus(Linear((), self.parts * self.length)))
        over = tuple(self.behind if i == index else i for i in total.over)
        return Apply(total.operator, (found, replace(last, over=over)), total.dtype, total.span)

    def up_to_the_end(self, total: Reduction, place: Linear[str]) -> Reduction:
        """The reduction over the rounds, too, to which places beyond the end add nothing."""
        neutral = identity_of(total.operator, total.dtype)
        is_filled = self.is_neutral_beyond(total.operand, place, total.operator)

        def padded(expression: Expression) -> Expression:
            match expression:
                case Read(indices=indices, fill=None) if any(self.round in at.names for at in indices):
                    return replace(expression, fill=float(neutral) if is_filled else 0.0)
                case _:
                    return expression

        operand = mapped(total.operand, padded)
        if not is_filled:
            at = IndexValue(IndexSum(place, total.span), i32)
            mask = Apply(Operator.LESS, (at, SizeValue(size(self.size))), i32, total.span)
            operands = (as_type(mask, total.dtype), operand, Number(neutral))
            operand = Apply(Operator.SELECT, operands, total.dtype, total.span)
        return replace(total, operand=operand, over=(self.round, *total.over))

    def is_neutral_beyond(self, expression: Expression, place: Linear[str], operator: Operator) -> bool:
        """Whether it adds nothing where reads beyond the end of an array give what adds nothing."""
        match expression:
            case Read(array=array, indices=indices, fill=None) if array.dtype.is_float or operator is Operator.ADD:
                for at, count in zip(indices, array.shape, strict=True):
                    beside = at.sum.plus(place, -1)
                    if not beside.terms and count == size(self.size).plus(at.sizes).plus(number(beside.constant)):
                        return True
                return False
            case Apply(operator=Operator.CAST, operands=(operand,)) if operator is Operator.ADD:
                return self.is_neutral_beyond(operand, place, operator)
            case Apply(operator=Operator.ADD | Operator.SUB | Operator.MUL, operands=operands) if operator is Operator.ADD:
                return all(self.is_neutral_beyond(o, place, operator) for o in operands)
            case _:
                return False

    def of_parts(self, store: Store, index: str) -> None:
        """A stage that makes parts, or another store in an earlier one that passes over the same elements."""
        reads = {e.array.name for e in parts_of(store.value) if isinstance(e, Read)}
        ranges = (index, *store.indices)
        for made in reversed(self.made):
            later = {s.array.name for stage in self.stages[made.number :] for s in stage.stores}
            if reads & later:
                break
            earlier = self.stages[made.number]
            if made.ranges == ranges and _reduced_names(store) == _reduced_names(earlier.stores[0]):
                self.stages[made.number] = replace(earlier, stores=(*earlier.stores, store))
                return
        self.made.append(_Made(len(self.stages), ranges))
        self.add((store,), {index: (number(self.length) if self.has_rounds else size(self.size), store.span)})


@dataclass(frozen=True, slots=True)
class PartedFunction:
    """A tensor function whose reductions over one size are made in parts: arrays and sizes of the function, kernels of two
    stages or more."""

    whole: TensorFunction
    parts: int
    """2 or more."""
    size: str
    """Name of the size."""
    rest: int = 0
    """Elements behind the last part."""
    tile: int = 0
    """Elements of a part in each round, where the size is known at run time; 0: it is not."""

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def found(self) -> Parted:
        return next(found for found in parted_sums(self.whole.tree) if found.size == self.size)

    def inner(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes of the stages, which have that of a part. UserError (SIZES) where there are no such parts."""
        self.whole.check_sizes(sizes)
        name = self.size
        length, left = divmod(sizes[name] - self.rest, self.parts)
        if left or length < 1:
            behind = f" and {self.rest} elements behind them" if self.rest else ""
            message = f"expected {name} as a multiple of its {self.parts} parts{behind}, got {sizes[name]}"
            raise UserError(Diagnostic("SIZES", message, fix="Give another size, or other parts."))
        return {**sizes, name: length}

    def outer(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes of the function where its stages have these."""
        return {**sizes, self.size: sizes[self.size] * self.parts + self.rest}

    def program(
        self, sizes: Mapping[str, int], tiles: Tiles = no_tiles, **options: Unpack[ProgramOptions]
    ) -> Program:  # fmt: skip
        """The kernels, options as of `TensorFunction.program`. `arguments` are the arrays of the function, and what kernels write
        for later ones. UserError as there, and SIZES where there are no such parts."""
        if self.tile:
            return self._in_rounds.program(sizes, tiles, **options)
        inner = self.inner(sizes)
        tree = in_parts(self.whole.tree, self.found, self.parts, inner[self.size], self.rest)
        return replace(self.whole, tree=tree).program(inner, tiles, **options)

    @property
    def part_and_round(self) -> tuple[str, str]:
        """Names of the index of the parts, and of that of their rounds."""
        cutting = _Cutting(self.whole.tree, self.found, self.parts, self.tile, 0, has_rounds=True)
        return cutting.part, cutting.round

    @property
    def _in_rounds(self) -> TensorFunction:
        return replace(self.whole, tree=in_rounds(self.whole.tree, self.found, self.parts, self.tile))

    def at_run_time(self, program: Program, multiples: Mapping[str, int], *, has_strides: bool = False) -> Program:
        """As `TensorFunction.at_run_time`, with the size of the parts among these."""
        assert bool(self.tile) == (self.size in multiples), "rounds are of a size that is known at run time"
        return self._in_rounds.at_run_time(program, multiples, has_strides=has_strides) if self.tile else program


def _reduced_names(store: Store) -> tuple[set[str], set[str]]:
    """The indices of the operand of the reduction that is stored, and those that it runs over."""
    total = store.value
    assert isinstance(total, Reduction)
    return set(_names_in(total.operand, {})), set(total.over)


def _moved(total: Reduction, index: str, to: Linear[str]) -> Reduction:
    """The reduction with another place of its operand in place of an index."""
    return replace(total, operand=mapped(total.operand, lambda part: at_places(part, {index: to})))


def _all_parts(tree: TensorTree) -> Iterator[Expression]:
    return (part for stage in tree.stages for part in stage.parts)


def _names_in(value: Expression, values: Mapping[str, Expression]) -> tuple[str, ...]:
    """The indices of elements, and those used as numbers, in order of appearance. `values`: what names of the stage stand for."""
    found: dict[str, None] = {}
    for expression in parts_of(value):
        match expression:
            case Read(indices=indices):
                found |= dict.fromkeys(name for index in indices for name in index.names)
            case IndexValue(index=index):
                found |= dict.fromkeys(index.names)
            case Local(name=name):
                found |= dict.fromkeys(_names_in(values[name], values))
            case _:
                pass
    return tuple(found)
