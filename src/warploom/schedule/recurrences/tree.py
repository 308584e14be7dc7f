"""A running result: a serial loop over one axis, whose states go from an element to the next.

recurrence := first* loop                        (elements stored before the loop, then the loop)
loop       := for kept indices: states = initial; for index from start: stores; states = steps
state      := name, initial, step                (an expression of elements and of the states before)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Parameter
from warploom.schedule.frontend.sizes import Sizes
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Expression,
    IndexSum,
    Read,
    Scalar,
    parts_of,
)


@dataclass(frozen=True, slots=True)
class StateOf:
    """A value that one iteration hands to the next; expressions name it as a scalar."""

    name: str
    initial: Expression
    step: Expression


@dataclass(frozen=True, slots=True)
class Kept:
    """A store of one element, at places that are affine in the indices."""

    array: ArrayParameter
    indices: tuple[IndexSum, ...]
    value: Expression
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Recurrence:
    name: str
    arrays: tuple[ArrayParameter, ...]
    scalars: tuple[Parameter, ...]
    sizes: tuple[str, ...]
    parameters: tuple[str, ...]
    """Names of arrays and scalars, in the order of the function's parameters."""
    dtype: DType
    """That of all states and stored arrays."""
    index: str
    """The one that runs serially, from `start` on."""
    start: int
    """0, or 1."""
    ranges: tuple[tuple[str, Polynomial], ...]
    """All indices and their ends: those that rows are apart in, then the serial one."""
    states: tuple[StateOf, ...]
    first: tuple[Kept, ...]
    """Stores before the loop."""
    stores: tuple[Kept, ...]
    """Stores of each iteration; their values are of the states before it."""

    @property
    def rows(self) -> tuple[tuple[str, Polynomial], ...]:
        """The indices of rows."""
        return self.ranges[:-1]

    def expressions(self) -> Iterator[Expression]:
        """All of them, those before the loop first."""
        yield from (store.value for store in self.first)
        yield from (state.initial for state in self.states)
        yield from self.in_loop()

    def in_loop(self) -> Iterator[Expression]:
        """Expressions of one iteration."""
        yield from (store.value for store in self.stores)
        yield from (state.step for state in self.states)

    def check(self, sizes: Mapping[str, int]) -> None:
        """UserError (INDEX_OUT_OF_RANGE) where an element is outside of its array at these sizes."""
        held = Sizes(sizes)
        ends = {name: size.whole_at(held) for name, size in self.ranges}
        if any(n < 1 for n in ends.values()):
            return
        ranges = {name: (self.start if name == self.index else 0, n - 1) for name, n in ends.items()}
        before = [*(store.value for store in self.first), *(state.initial for state in self.states)]
        if ends[self.index] <= self.start:
            wanted = before
        else:
            wanted = [*before, *self.in_loop()]
        for read in (part for value in wanted for part in parts_of(value) if isinstance(part, Read)):
            if read.fill is not None:
                continue
            for axis, (index, size) in enumerate(zip(read.indices, read.array.shape, strict=True)):
                shift = index.sum.constant + index.sizes.whole_at(held)
                spans = [(c * low, c * high) for name, c in index.sum.terms for low, high in [ranges[name]]]
                low = shift + sum(map(min, spans))
                high = shift + sum(map(max, spans))
                most = size.whole_at(held) - 1
                if low < 0 or high > most:
                    message = f"expected indices from 0 to {most} on axis {axis} of {read.array.name!r}, got {low} to {high}"
                    fix = f"Change the size of the array, or write pad({read.array.name}, 0)[...] to read 0 outside."
                    notes = (("declared here", read.array.span),)
                    raise UserError(Diagnostic("INDEX_OUT_OF_RANGE", message, index.span, fix, notes))


class RunningHolder:
    """An object that stands for a recurrence where one is asked for by name."""

    name: str
    recurrence: Recurrence


def in_place_of(value: Expression, names: Mapping[str, Expression]) -> Expression:
    """The expression with these in the place of scalars of their names."""
    match value:
        case Scalar(parameter):
            return names.get(parameter.name, value)
        case Apply(operands=operands):
            return replace(value, operands=tuple(in_place_of(o, names) for o in operands))
        case _:
            return value


def reads_states(value: Expression, states: frozenset[str]) -> bool:
    return any(isinstance(part, Scalar) and part.parameter.name in states for part in parts_of(value))
