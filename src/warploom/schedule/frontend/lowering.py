"""A stage at particular sizes, as a backbone: every scalar operation in its own loop nest, values point to point.

Goals: one load per element that a statement names, however often it names it there; products that are added become FMA;
reductions carry their result from an instruction over the other axes. Axes of one iteration are left out.
Non-goals: sharing between statements (name a value to share it), other algebra.
Source: Beaugnon et al., sections 4.1, 4.4 and 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError, i32, i64, integer_range
from warploom.core.linear import Linear, variable
from warploom.schedule.backbone import (
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Position,
    Region,
    Result,
    Role,
    Scope,
    Tiles,
    backbone,
    identity_of,
)
from warploom.schedule.frontend.arithmetic import fits, number, sum_of_sizes
from warploom.schedule.frontend.scopes import with_scopes
from warploom.schedule.frontend.sizes import rounds_of
from warploom.schedule.frontend.splits import Split, span_of, split_of
from warploom.schedule.frontend.tiled import tiled_axes
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Definition,
    Digit,
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
    dtype_of,
    index_sums,
)

_MOST_NARROW = 1 << 30
"""Elements of arrays whose places are computed in 32 bits, with points beyond an edge."""
Source: TypeAlias = Constant | Parameter | Position | int
"""The lowered form of an expression; an integer is the number of an instruction."""


def region_of(array: ArrayParameter, sizes: Mapping[str, int], role: Role) -> Region:
    """Row-major."""
    shape = tuple(s.whole_at(sizes) for s in array.shape)
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return Region(array.name, array.dtype, shape, tuple(strides), role, array.span)


def _region_in_stage(array: ArrayParameter, sizes: Mapping[str, int], *, is_stored: bool) -> Region:
    region = region_of(array, sizes, Role.OUTPUT if is_stored else Role.INPUT)
    return replace(region, is_between=is_stored and array.role is Role.TEMPORARY)


def lower_stage(
    stage: Stage, name: str, arrays: tuple[ArrayParameter, ...], sizes: Mapping[str, int], tiles: Tiles,
    *, can_reorder: bool = True, divisors_only: bool = False, pointwise: Scope = Scope.THREAD,
) -> Backbone:  # fmt: skip
    """Options as `ProgramOptions`. Raises UserError where an index leaves its array or tiles are wrong."""
    lowering = _Lowering(stage, arrays, sizes)
    for definition in stage.definitions:
        lowering.define(definition)
    lowering.expressions.clear()
    for store in stage.stores:
        lowering.store(store.array, store.indices, store.value, store.span)
    if lowering.problems:
        raise UserError(*lowering.problems)
    axes = tiled_axes(name, lowering.axes, lowering.regions, lowering.instructions, tiles)
    instructions = with_scopes(lowering.instructions, pointwise)
    return backbone(name, axes, lowering.regions, instructions, can_reorder=can_reorder, divisors_only=divisors_only)


class _Lowering:
    def __init__(self, stage: Stage, arrays: tuple[ArrayParameter, ...], sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.stage = stage
        self.problems: list[Diagnostic] = []
        ranges = [(name, size.whole_at(sizes), span) for name, size, span in stage.ranges]
        self.extent = {name: size for name, size, _ in ranges}
        self.counts = {name: count for name, count, _ in stage.ranges}
        self.rounds = {name for name, count, _ in stage.ranges if rounds_of(count)}
        self.splits = self.split_indices()
        self.axes: list[Axis] = []
        self.places: dict[str, AxisSum] = {}
        """Each index, and each divided one by its atom, in axes."""
        self.axes_of_index: dict[str, tuple[int, ...]] = {}
        for name, size, span in ranges:
            self.add_axes(name, size, span)
        stored = {s.array.name for s in stage.stores}
        used = stored | _read_arrays(stage)
        self.regions = [_region_in_stage(a, sizes, is_stored=a.name in stored) for a in arrays if a.name in used]
        self.region = {r.name: n for n, r in enumerate(self.regions)}
        self.instructions: list[Instruction] = []
        self.names: set[str] = set()
        self.locals: dict[str, Source] = {}
        self.expressions: dict[Expression, Source] = {}
        """Expressions of the statement being lowered."""

    def split_indices(self) -> dict[str, Split]:
        digits: dict[str, dict[Digit, Span]] = {}
        for owner in self.stage.owners:
            for index in index_sums(owner.value):
                for digit in index.digits:
                    digits.setdefault(digit.index, {}).setdefault(digit, index.span)
        found: dict[str, Split] = {}
        for name, places in digits.items():
            split = split_of(name, self.extent[name], places, [n for n in self.extent if n != name])
            if split is None:
                divided = ", ".join(sorted(f"{'%' if d.is_rest else '//'} {d.divisor}" for d in places))
                message = (
                    f"expected divisors of {name!r} each of which divides the next, and one place that is divided, got {divided}"
                )
                fix = "Divide in two statements, with a `temp` array between."
                self.problems.append(Diagnostic("INDEX_NOT_AFFINE", message, next(iter(places.values())), fix))
                raise UserError(*self.problems)
            found[name] = split
        return found

    def add_axes(self, name: str, size: int, span: Span) -> None:
        """Axes of an index of more than one iteration."""
        split = self.splits.get(name)
        sizes = split.sizes if split is not None else ((name, size),)
        numbers: dict[str, int] = {}
        for own, count in sizes:
            if count > 1:
                numbers[own] = len(self.axes)
                of_size = self.size_of(name, size // count) if own == sizes[0][0] and size % count == 0 else None
                self.axes.append(Axis(own, count, span=span, of_size=of_size))

        def over(place: Linear[str]) -> AxisSum:
            return Linear(tuple((numbers[n], c) for n, c in place.terms if n in numbers), place.constant)

        self.places[name] = over(split.index if split is not None else variable(name))
        for digit, place in split.digits.items() if split is not None else ():
            self.places[digit.atom] = over(place)
        self.axes_of_index[name] = tuple(numbers.values())

    def size_of(self, index: str, values: int) -> tuple[str, Fraction] | None:
        """As of an axis, each of whose iterations has so many values of the index."""
        match self.counts[index].terms:
            case (((name,), factor),):
                return name, values / factor
            case _:
                return None

    # ------------------------------------------------------------ statements

    def define(self, definition: Definition) -> None:
        self.expressions.clear()
        self.locals[definition.name] = self.lower(definition.value, definition.name)

    def store(self, array: ArrayParameter, indices: tuple[str, ...], value: Expression, span: Span) -> None:
        source = self.number_of(self.lower(value, "", array.dtype), array.dtype, span)
        axes = tuple(sorted(a for i in indices for a in self.axes_of_index[i]))
        places = tuple(IndexSum(variable(i), span) for i in indices)
        access = self.access(array, places, None, span)
        self.emit(f"store_{array.name}", Operator.STORE, (self.operand(source),), axes, array.dtype, span, access)

    # ------------------------------------------------------------ expressions

    def lower(self, expression: Expression, hint: str = "", dtype: DType | None = None) -> Source:
        """`hint`: the name of the value, if it has one; `dtype`: that of numbers."""
        if isinstance(expression, IndexValue) and expression.dtype is None and dtype is not None:
            expression = replace(expression, dtype=dtype)
        if expression in self.expressions:
            return self.expressions[expression]
        source = self._lower(expression, hint, dtype)
        if not isinstance(source, Constant):
            self.expressions[expression] = source
        return source

    def _lower(self, expression: Expression, hint: str, dtype: DType | None) -> Source:
        match expression:
            case Number():
                return self.fitting(expression.value, dtype, None)
            case SizeValue(size):
                return replace(self.fitting(number(expression, self.sizes), dtype, None), of=size)
            case IndexValue(index, own):
                assert own is not None
                return self.position(index, own)
            case Scalar(parameter):
                return parameter
            case Local(name=name):
                return self.locals[name]
            case Read(array=array, indices=indices, fill=fill, span=span):
                access = self.access(array, indices, fill, span)
                axes = tuple(sorted({a for i in access.indices for a, _ in i.terms}))
                return self.emit(hint or f"load_{array.name}", Operator.LOAD, (), axes, array.dtype, span, access)
            case Gather():
                return self.gather(expression, hint)
            case Reduction():
                return self.reduce(expression, hint)
            case Apply(operator=operator, operands=operands, dtype=own, span=span):
                return self.apply(operator, operands, own, span, hint) if own else self.number(expression, dtype)

    def position(self, index: IndexSum, dtype: DType) -> Source:
        place = index.sum.plus(Linear((), index.sizes.whole_at(self.sizes)))
        low, high = self.span_of(place)
        for end in (low, high):
            self.fitting(end, dtype, index.span)
        kept = self.sum_of(place)
        return Position(kept) if kept.terms else Constant(kept.constant)

    def number_of(self, source: Source, dtype: DType, span: Span) -> Source:
        """An index that is converted or stored is made a number first."""
        return self.pointwise("index", Operator.MOVE, [source], dtype, span) if isinstance(source, Position) else source

    def sum_of(self, place: Linear[str]) -> AxisSum:
        """In axes, without indices of one iteration."""
        found: AxisSum = Linear((), place.constant)
        for atom, coefficient in place.terms:
            found = found.plus(self.places[atom], coefficient)
        return Linear(tuple(sorted(found.terms)), found.constant)

    def span_of(self, place: Linear[str]) -> tuple[int, int]:
        """Least and greatest value over the indices' own ranges."""
        low = high = place.constant
        for name in IndexSum(place).names:
            digits = [(digit, c) for atom, c in place.terms if (digit := Digit.of(atom)) and digit.index == name]
            split = self.splits.get(name)
            period = split.period if split is not None else 1
            least, most = span_of(place.coefficient(name), digits, self.extent[name], period)
            low, high = low + least, high + most
        return low, high

    def fitting(self, value: int | float, dtype: DType | None, span: Span | None) -> Constant:
        """The number as a constant of type `dtype`; None: it is used by nothing that has one."""
        if dtype is not None and not fits(value, dtype):
            message = f"expected a number that {dtype} holds, got {value}"
            place = span or (self.stage.stores[0].span if self.stage.stores else NOWHERE)
            self.problems.append(Diagnostic("DTYPE", message, place, "Give other sizes, or convert the elements: f32(...)."))
        return Constant(value)

    def number(self, expression: Apply, dtype: DType | None) -> Source:
        try:
            found = self.fitting(number(expression, self.sizes), dtype, expression.span)
            return replace(found, of=sum_of_sizes(expression))
        except (ArithmeticError, ValueError) as error:
            message = f"expected a number, got none: {error}"
            self.problems.append(Diagnostic("NOT_A_NUMBER", message, expression.span, "Give other sizes."))
            return Constant(0.0)

    def apply(self, operator: Operator, operands: tuple[Expression, ...], dtype: DType, span: Span, hint: str) -> Source:
        if operator is Operator.ADD:
            for product, other in (operands, operands[::-1]):
                factors = self.factors(product, dtype)
                if factors:
                    sources = [self.lower(e, dtype=dtype) for e in (*factors, other)]
                    return self.pointwise(hint or "mad", Operator.FMA, sources, dtype, span)
        wanted = dtype_of(operands[0]) if operator is Operator.CAST else dtype
        sources = [self.lower(e, dtype=wanted) for e in operands]
        if operator is Operator.CAST and wanted is not None:
            sources = [self.number_of(source, wanted, span) for source in sources]
        return self.pointwise(hint or operator.value, operator, sources, dtype, span)

    def factors(self, product: Expression, dtype: DType) -> tuple[Expression, ...] | None:
        """Factors of a product that may become part of an FMA: floats, and not computed already."""
        match product:
            case Apply(operator=Operator.MUL, operands=factors, dtype=DType()) if (
                dtype.is_float and product not in self.expressions
            ):
                return factors
            case _:
                return None

    def pointwise(self, name: str, operator: Operator, sources: list[Source], dtype: DType, span: Span) -> int:
        axes = tuple(sorted({a for s in sources for a in self.axes_of(s)}))
        return self.emit(name, operator, tuple(self.operand(s) for s in sources), axes, dtype, span)

    def gather(self, gather: Gather, hint: str) -> int:
        """The place in memory is kept within the array, whatever the index arrays hold, and at points beyond an edge, too."""
        array, span = gather.array, gather.span
        affine = tuple(i if isinstance(i, IndexSum) else IndexSum(Linear(), span) for i in gather.indices)
        fix = (
            f"Change the size of the array, or store pad({array.name}, 0)[...] without the places that arrays say in an array "
            "of its own first, and gather from that: around a gather, pad is for those places only."
        )
        access = self.access(array, affine, None, span, fix)
        region = self.regions[access.region]
        wide = i32 if region.elements <= _MOST_NARROW else i64
        total: int | None = None
        rest: AxisSum = Linear()
        for index, place, size, stride in zip(gather.indices, access.indices, region.shape, region.strides, strict=True):
            if isinstance(index, IndexSum):
                rest = rest.plus(place, stride)
                continue
            own = index.array.dtype
            source = self.kept(self.lower(index), size - 1, own, span)
            if own != wide:
                source = self.pointwise("place", Operator.CAST, [source], wide, span)
            if stride != 1:
                source = self.pointwise("place", Operator.MUL, [source, Constant(stride)], wide, span)
            total = source if total is None else self.pointwise("place", Operator.ADD, [total, source], wide, span)
        assert total is not None
        if rest.terms:
            total = self.pointwise("place", Operator.ADD, [total, Position(rest)], wide, span)
        elif rest.constant:
            total = self.pointwise("place", Operator.ADD, [total, Constant(rest.constant)], wide, span)
        if rest.terms:
            total = self.kept(total, region.elements - 1, wide, span)
        operand = self.operand(total)
        return self.emit(
            hint or f"gather_{array.name}", Operator.GATHER, (operand,), self.axes_of(total), array.dtype, span,
            region=access.region,
        )  # fmt: skip

    def kept(self, source: Source, most: int, dtype: DType, span: Span) -> int:
        """The number from 0 to `most` that is next."""
        low, high = integer_range(dtype)
        if low < 0:
            source = self.pointwise("first", Operator.MAX, [source, Constant(0)], dtype, span)
        if high > most:
            source = self.pointwise("last", Operator.MIN, [source, Constant(most)], dtype, span)
        assert isinstance(source, int)
        return source

    def reduce(self, reduction: Reduction, hint: str) -> Source:
        dtype, span, operator = reduction.dtype, reduction.span, reduction.operator
        factors = self.factors(reduction.operand, dtype) if operator is Operator.ADD else None
        parts = factors or (reduction.operand,)
        sources = [self.lower(e, dtype=dtype) for e in parts]
        reduced = tuple(sorted(a for i in reduction.over for a in self.axes_of_index[i]))
        # also axes that no operand has: sum(x[k // 2], over=k) takes each element twice
        axes = tuple(sorted({*reduced, *(a for s in sources for a in self.axes_of(s))}))
        for name in reduction.over:
            split = self.splits.get(name)
            if split is not None and split.is_ragged:
                message = (
                    f"expected whole groups of {split.period} where {name!r} is reduced over and divided, got {self.extent[name]}"
                )
                fix = f"Give a size that is a multiple of {split.period}, and divide {name} itself."
                self.problems.append(Diagnostic("INDEX_NOT_AFFINE", message, span, fix))
        if not reduced:
            return self.lower(reduction.operand, hint, dtype)
        kept = tuple(a for a in axes if a not in reduced)
        start = Constant(identity_of(operator, dtype))
        init = self.emit(f"{hint}_init" if hint else "init", Operator.MOVE, (start,), kept, dtype, span)
        carry = Carry(init, reduced)
        operands = tuple(self.operand(s) for s in sources)
        if factors:
            return self.emit(hint or "mad", Operator.FMA, (*operands, carry), axes, dtype, span)
        name = hint or {Operator.ADD: "sum", Operator.MUL: "prod"}.get(operator, operator.value)
        return self.emit(name, operator, (carry, *operands), axes, dtype, span)

    # ------------------------------------------------------------ instructions

    def axes_of(self, source: Source) -> tuple[int, ...]:
        """Axes whose indices tell the source's values apart."""
        if isinstance(source, Position):
            return tuple(sorted(a for a, _ in source.index.terms))
        if not isinstance(source, int):
            return ()
        return self.instructions[source].kept_axes

    def operand(self, source: Source) -> Operand:
        return Result(source, self.axes_of(source)) if isinstance(source, int) else source

    def emit(
        self, wish: str, operator: Operator, operands: tuple[Operand, ...], axes: tuple[int, ...], dtype: DType, span: Span,
        access: Access | None = None, *, region: int | None = None,
    ) -> int:  # fmt: skip
        name, count = wish, 1
        while name in self.names:
            count += 1
            name = f"{wish}_{count}"
        self.names.add(name)
        self.instructions.append(Instruction(name, operator, operands, axes, dtype, access, span, region))
        return len(self.instructions) - 1

    def access(
        self, array: ArrayParameter, indices: tuple[IndexSum, ...], fill: float | None, span: Span, fix: str = ""
    ) -> Access:
        """`fix`: of an index outside of the array; that of a read if not said."""
        region = self.regions[self.region[array.name]]
        sums: list[AxisSum] = []
        leaves = False
        for position, (index, size) in enumerate(zip(indices, region.shape, strict=True)):
            place = index.sum.plus(Linear((), index.sizes.whole_at(self.sizes)))
            low, high = self.span_of(place)
            if low < 0 or high >= size:
                leaves = True
                if fill is None:
                    message = f"expected indices from 0 to {size - 1} on axis {position} of {array.name!r}, got {low} to {high}"
                    fix = fix or f"Change the size of the array, or write pad({array.name}, 0)[...] to read 0 outside."
                    notes = (("declared here", array.span),)
                    self.problems.append(Diagnostic("INDEX_OUT_OF_RANGE", message, index.span, fix, notes))
            sums.append(self.sum_of(place))
            first, last = sums[-1].span(lambda axis: self.axes[axis].size - 1)
            leaves |= first < 0 or last >= size  # at points of the last group that the index does not have
            leaves |= fill is not None and not self.rounds.isdisjoint(index.names)  # in the last round of other sizes
        del span
        return Access(self.region[array.name], tuple(sums), (fill or 0.0) if leaves else None)


def _read_arrays(stage: Stage) -> set[str]:
    found: set[str] = set()

    def visit(expression: Expression) -> None:
        match expression:
            case Read(array=array):
                found.add(array.name)
            case Gather(array=array) as gather:
                found.update((array.name, *(r.array.name for r in gather.reads)))
            case Apply(operands=operands):
                for operand in operands:
                    visit(operand)
            case Reduction(operand=operand):
                visit(operand)
            case Number() | SizeValue() | IndexValue() | Scalar() | Local():
                pass

    for owner in stage.owners:
        visit(owner.value)
    return found
