"""A tensor function at sizes at which some of its arrays have no elements: what is left of it to compute.

Sums and products over nothing are the number that they start with, and stores to places that there are not are left out. What is
left has no sizes: they are numbers in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from warploom.core import Diagnostic, DType, Span, UserError, polynomials
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Operator, identity_of
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Definition,
    Expression,
    Gather,
    IndexSum,
    IndexValue,
    Local,
    Number,
    Read,
    Reduction,
    SizeValue,
    Stage,
    Store,
    TensorTree,
    index_sums,
    parts_of,
)


def without_elements(tree: TensorTree, sizes: Mapping[str, int]) -> TensorTree:
    """The function at these sizes, without arrays that have no elements. UserError (CALL_SHAPE) for a maximum or minimum over
    nothing, and for an element that an array without elements does not have."""
    return _Rest(tree, sizes).tree()


class _Rest:
    def __init__(self, tree: TensorTree, sizes: Mapping[str, int]) -> None:
        self.whole = tree
        self.sizes = sizes
        self.shapes = {a.name: tuple(s.whole_at(sizes) for s in a.shape) for a in tree.arrays}
        self.empty: frozenset[str] = frozenset()
        """Indices of the stage that have no values."""

    def tree(self) -> TensorTree:
        tree = self.whole
        stages = tuple(stage for s in tree.stages if (stage := self.stage(s)) is not None)
        arrays = tuple(
            replace(a, shape=tuple(polynomials.number(n) for n in self.shapes[a.name]))
            for a in tree.arrays
            if 0 not in self.shapes[a.name]
        )
        gone = {a.name for a in tree.arrays} - {a.name for a in arrays}
        parameters = tuple(name for name in tree.parameters if name not in gone)
        return TensorTree(tree.name, arrays, tree.scalars, (), stages, parameters)

    def number(self, size: Polynomial) -> Polynomial:
        return polynomials.number(size.whole_at(self.sizes))

    def stage(self, stage: Stage) -> Stage | None:
        """None: it stores nothing."""
        self.empty = frozenset(name for name, size, _ in stage.ranges if size.whole_at(self.sizes) < 1)
        stores = [s for s in stage.stores if self.empty.isdisjoint(s.indices)]
        made = tuple(replace(s, value=self.expression(s.value)) for s in stores)
        if not made:
            return None
        owners: list[Definition | Store] = [*made]
        used = {name for s in made for name in _locals(s.value)}
        definitions: list[Definition] = []
        for definition in reversed(stage.definitions):
            if definition.name in used:
                found = replace(definition, value=self.expression(definition.value))
                definitions.insert(0, found)
                owners.append(found)
                used |= {*_locals(found.value)}
        indices = {name for o in owners for name in (*o.indices, *_indices(o.value))}
        ranges = tuple((name, self.number(size), span) for name, size, span in stage.ranges if name in indices)
        return Stage(tuple(definitions), made, ranges)

    def expression(self, value: Expression) -> Expression:
        match value:
            case SizeValue(size):
                return SizeValue(self.number(size))
            case IndexValue(index=index):
                return replace(value, index=self.index(index))
            case Read(array=array, indices=indices, fill=fill, span=span):
                if 0 not in self.shapes[array.name]:
                    return replace(value, indices=tuple(self.index(i) for i in indices))
                if fill is None:
                    raise self.missing(array, span)
                return _constant(fill, array.dtype, span)
            case Gather(array=array, indices=indices, span=span):
                sizes = self.shapes[array.name]
                if any(n == 0 and isinstance(i, IndexSum) for i, n in zip(indices, sizes, strict=True)):
                    raise self.missing(array, span)
                if 0 in sizes:  # around it `pad` chooses another value: no place is inside
                    return _constant(0, array.dtype, span)
                return replace(value, indices=tuple(self.place(i) for i in indices))
            case Apply(operands=operands):
                return replace(value, operands=tuple(self.expression(o) for o in operands))
            case Reduction(operator=operator, operand=operand, over=over, dtype=dtype, span=span):
                if self.empty.isdisjoint(over):
                    return replace(value, operand=self.expression(operand))
                if operator not in (Operator.ADD, Operator.MUL):
                    nothing = ", ".join(name for name in over if name in self.empty)
                    taken = _word(value)
                    message = f"expected elements to take the {taken} of, got none: {nothing} has no values at these sizes"
                    raise UserError(Diagnostic("CALL_SHAPE", message, span, f"Pass arrays with elements along {nothing}."))
                return _constant(identity_of(operator, dtype), dtype, span)
            case _:
                return value

    def index(self, index: IndexSum) -> IndexSum:
        return replace(index, sizes=self.number(index.sizes))

    def place(self, index: IndexSum | Read) -> IndexSum | Read:
        if isinstance(index, IndexSum):
            return self.index(index)
        return replace(index, indices=tuple(self.index(i) for i in index.indices))

    def missing(self, array: ArrayParameter, span: Span) -> UserError:
        message = f"expected elements of {array.name!r} to read, got shape {self.shapes[array.name]}"
        notes = (("declared here", array.span),)
        return UserError(Diagnostic("CALL_SHAPE", message, span, f"Pass an array with elements as {array.name}.", notes))


def _word(reduction: Reduction) -> str:
    """As it is written: a place of an extreme is the least of the places where the elements are it, both read from one call."""
    inner = (part for part in parts_of(reduction.operand) if isinstance(part, Reduction) and part.span == reduction.span)
    return next((f"arg{part.operator}" for part in inner), str(reduction.operator))


def _constant(value: int | float, dtype: DType, span: Span) -> Expression:
    return Apply(Operator.MOVE, (Number(value),), dtype, span)


def _locals(value: Expression) -> Iterator[str]:
    return (part.name for part in parts_of(value) if isinstance(part, Local))


def _indices(value: Expression) -> Iterator[str]:
    """All indices of a value, also of its reductions."""
    yield from (name for index in index_sums(value) for name in index.names)
    for part in parts_of(value):
        if isinstance(part, Local):
            yield from part.indices
        elif isinstance(part, Reduction):
            yield from part.over
