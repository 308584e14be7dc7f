"""A stage at particular sizes, as a backbone: every scalar operation in its own loop nest, values point to point.

Goals: one load per element that a statement names, however often it names it there; products that are added become FMA;
reductions carry their result from an instruction over the other axes. Axes of one iteration are left out.
Non-goals: sharing between statements (name a value to share it), other algebra.
Source: Beaugnon et al., sections 4.1, 4.4 and 5.2.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Mapping
from typing import TypeAlias

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError
from warploom.core.linear import Linear, variable
from warploom.schedule.backbone import (
    Access,
    Axis,
    AxisSum,
    AxisUse,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Region,
    Result,
    Role,
    Scope,
    Tiles,
    backbone,
    identity_of,
    widening_factors,
)
from warploom.schedule.frontend.expressions import fits, number
from warploom.schedule.frontend.scopes import with_scopes
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Definition,
    Expression,
    IndexSum,
    Local,
    Number,
    Read,
    Reduction,
    Scalar,
    SizeValue,
    Stage,
    dtype_of,
)

Source: TypeAlias = Constant | Parameter | int
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


def lower_stage(
    stage: Stage, name: str, arrays: tuple[ArrayParameter, ...], sizes: Mapping[str, int], tiles: Tiles,
    *, can_reorder: bool, divisors_only: bool, pointwise: Scope,
) -> Backbone:  # fmt: skip
    """Raises UserError where an index leaves its array or tiles are wrong."""
    lowering = _Lowering(stage, arrays, sizes)
    for definition in stage.definitions:
        lowering.define(definition)
    lowering.expressions.clear()
    for store in stage.stores:
        lowering.store(store.array, store.indices, store.value, store.span)
    if lowering.problems:
        raise UserError(*lowering.problems)
    axes = tuple(_tiled(axis, lowering.use(name, number), tiles) for number, axis in enumerate(lowering.axes))
    instructions = with_scopes(lowering.instructions, pointwise)
    return backbone(name, axes, lowering.regions, instructions, can_reorder=can_reorder, divisors_only=divisors_only)


def _tiled(axis: Axis, use: AxisUse, tiles: Tiles) -> Axis:
    levels = tiles(use) if callable(tiles) else tiles.get(f"{use.kernel}.{use.name}", tiles.get(use.name, ()))
    try:
        found = tuple(tuple(operators.index(size) for size in level) for level in levels)
    except TypeError:
        message = f"expected one list of sizes per tile level of {use.name!r}, got {levels!r}"
        raise UserError(Diagnostic("TILES", message, axis.span, "Write for example ((8, 16, 32), (2, 4)).")) from None
    return Axis(axis.name, axis.size, found, axis.span)


class _Lowering:
    def __init__(self, stage: Stage, arrays: tuple[ArrayParameter, ...], sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.stage = stage
        self.problems: list[Diagnostic] = []
        ranges = [(name, size.whole_at(sizes), span) for name, size, span in stage.ranges]
        kept = [r for r in ranges if r[1] > 1]
        self.axes = [Axis(name, size, span=span) for name, size, span in kept]
        self.extent = {name: size for name, size, _ in ranges}
        self.axis = {name: n for n, (name, _, _) in enumerate(kept)}
        stored = {s.array.name for s in stage.stores}
        used = stored | _read_arrays(stage)
        self.regions = [region_of(a, sizes, Role.OUTPUT if a.name in stored else Role.INPUT) for a in arrays if a.name in used]
        self.region = {r.name: n for n, r in enumerate(self.regions)}
        self.instructions: list[Instruction] = []
        self.names: set[str] = set()
        self.locals: dict[str, Source] = {}
        self.expressions: dict[Expression, Source] = {}
        """Expressions of the statement being lowered."""

    def use(self, kernel: str, number: int) -> AxisUse:
        is_stored = is_reduced = is_shared = is_of_matrices = is_stored_in_line = False
        steps: set[int] = set()
        for instruction in self.instructions:
            carry = instruction.carry
            is_reduced |= carry is not None and number in carry.reduced
            is_shared |= instruction.operator is Operator.LOAD and number not in instruction.axes
            if instruction.access and number in instruction.axes:
                is_stored |= instruction.operator is Operator.STORE
                step = self.step(instruction.access, number)
                is_stored_in_line |= instruction.operator is Operator.STORE and step == 1
                steps.add(step)
            factors = widening_factors(self.instructions, instruction) if number in instruction.axes else ()
            if factors:
                is_summed = carry is not None and number in carry.reduced
                is_of_matrices |= is_summed or not all(number in self.instructions[f].axes for f in factors)
        axis = self.axes[number]
        return AxisUse(
            kernel, axis.name, axis.size, is_reduced, is_stored, 1 in steps, steps == {1}, is_shared, is_of_matrices,
            is_stored_in_line,
        )  # fmt: skip

    def step(self, access: Access, axis: int) -> int:
        """Elements between neighbours along the axis."""
        strides = self.regions[access.region].strides
        return sum(s * dict(i.terms).get(axis, 0) for i, s in zip(access.indices, strides, strict=True))

    # ------------------------------------------------------------ statements

    def define(self, definition: Definition) -> None:
        self.expressions.clear()
        self.locals[definition.name] = self.lower(definition.value, definition.name)

    def store(self, array: ArrayParameter, indices: tuple[str, ...], value: Expression, span: Span) -> None:
        source = self.lower(value, "", array.dtype)
        axes = tuple(sorted(self.axis[i] for i in indices if i in self.axis))
        places = tuple(IndexSum(variable(i), span) for i in indices)
        access = self.access(array, places, None, span)
        self.emit(f"store_{array.name}", Operator.STORE, (self.operand(source),), axes, array.dtype, span, access)

    # ------------------------------------------------------------ expressions

    def lower(self, expression: Expression, hint: str = "", dtype: DType | None = None) -> Source:
        """`hint`: the name of the value, if it has one; `dtype`: that of numbers."""
        if expression in self.expressions:
            return self.expressions[expression]
        source = self._lower(expression, hint, dtype)
        if not isinstance(source, Constant):
            self.expressions[expression] = source
        return source

    def _lower(self, expression: Expression, hint: str, dtype: DType | None) -> Source:
        match expression:
            case Number() | SizeValue():
                return self.fitting(number(expression, dict(self.sizes)), dtype, None)
            case Scalar(parameter):
                return parameter
            case Local(name=name):
                return self.locals[name]
            case Read(array=array, indices=indices, fill=fill, span=span):
                access = self.access(array, indices, fill, span)
                axes = tuple(sorted({a for i in access.indices for a, _ in i.terms}))
                return self.emit(hint or f"load_{array.name}", Operator.LOAD, (), axes, array.dtype, span, access)
            case Reduction():
                return self.reduce(expression, hint)
            case Apply(operator=operator, operands=operands, dtype=own, span=span):
                return self.apply(operator, operands, own, span, hint) if own else self.number(expression, dtype)

    def fitting(self, value: int | float, dtype: DType | None, span: Span | None) -> Constant:
        """The number as a constant of type `dtype`; None: it is used by nothing that has one."""
        if dtype is not None and not fits(value, dtype):
            message = f"expected a number that {dtype} holds, got {value}"
            place = span or (self.stage.stores[0].span if self.stage.stores else NOWHERE)
            self.problems.append(Diagnostic("DTYPE", message, place, "Give other sizes, or convert the elements: f32(...)."))
        return Constant(value)

    def number(self, expression: Apply, dtype: DType | None) -> Source:
        try:
            return self.fitting(number(expression, dict(self.sizes)), dtype, expression.span)
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

    def reduce(self, reduction: Reduction, hint: str) -> Source:
        dtype, span, operator = reduction.dtype, reduction.span, reduction.operator
        factors = self.factors(reduction.operand, dtype) if operator is Operator.ADD else None
        parts = factors or (reduction.operand,)
        sources = [self.lower(e, dtype=dtype) for e in parts]
        axes = tuple(sorted({a for s in sources for a in self.axes_of(s)}))
        reduced = tuple(sorted(self.axis[i] for i in reduction.over if i in self.axis))
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
        if not isinstance(source, int):
            return ()
        instruction = self.instructions[source]
        carry = instruction.carry
        return tuple(a for a in instruction.axes if carry is None or a not in carry.reduced)

    def operand(self, source: Source) -> Operand:
        return Result(source, self.axes_of(source)) if isinstance(source, int) else source

    def emit(
        self, wish: str, operator: Operator, operands: tuple[Operand, ...], axes: tuple[int, ...], dtype: DType, span: Span,
        access: Access | None = None,
    ) -> int:  # fmt: skip
        name, count = wish, 1
        while name in self.names:
            count += 1
            name = f"{wish}_{count}"
        self.names.add(name)
        self.instructions.append(Instruction(name, operator, operands, axes, dtype, access, span))
        return len(self.instructions) - 1

    def access(self, array: ArrayParameter, indices: tuple[IndexSum, ...], fill: float | None, span: Span) -> Access:
        region = self.regions[self.region[array.name]]
        sums: list[AxisSum] = []
        leaves = False
        for position, (index, size) in enumerate(zip(indices, region.shape, strict=True)):
            place = index.sum.plus(Linear((), index.sizes.whole_at(self.sizes)))
            low, high = place.span(lambda name: self.extent[name] - 1)
            if low < 0 or high >= size:
                leaves = True
                if fill is None:
                    message = f"expected indices from 0 to {size - 1} on axis {position} of {array.name!r}, got {low} to {high}"
                    fix = f"Change the size of the array, or write pad({array.name}, 0)[...] to read 0 outside."
                    notes = (("declared here", array.span),)
                    self.problems.append(Diagnostic("INDEX_OUT_OF_RANGE", message, index.span, fix, notes))
            terms = tuple(sorted((self.axis[n], c) for n, c in place.terms if n in self.axis))
            sums.append(Linear(terms, place.constant))
        del span
        return Access(self.region[array.name], tuple(sums), fill if leaves else None)


def _read_arrays(stage: Stage) -> set[str]:
    found: set[str] = set()

    def visit(expression: Expression) -> None:
        match expression:
            case Read(array=array):
                found.add(array.name)
            case Apply(operands=operands):
                for operand in operands:
                    visit(operand)
            case Reduction(operand=operand):
                visit(operand)
            case Number() | SizeValue() | Scalar() | Local():
                pass

    for owner in (*stage.definitions, *stage.stores):
        visit(owner.value)
    return found
