"""Elements that gathers read: the place of each in memory, as a sum of axes and of elements of index arrays.

    place := sum of axes + strides * elements of index arrays

A function keeps its places inside of arrays by minima and maxima. These change nothing where the index arrays hold numbers of the
ranges that are given here, which is checked for all points of the function; so the sum says it without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom.core import Diagnostic, DType, UnsupportedError, integer_range
from warploom.core.intervals import Interval
from warploom.core.linear import Linear, variable
from warploom.schedule.backbone.following import named_by
from warploom.schedule.backbone.nodes import (
    Access,
    AxisSum,
    Backbone,
    Constant,
    Instruction,
    Operand,
    Operator,
    Position,
    Result,
    Role,
)

_Form = Linear[tuple[str, int]]
"""A place: of `("axis", a)` and `("load", instruction)`."""
_LIMITS = (Operator.MIN, Operator.MAX)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The gathers of a backbone."""

    accesses: Mapping[int, Access] = field(default_factory=dict[int, Access])
    """By gather: what the place is without elements of index arrays, as if all of them were 0."""
    computing: frozenset[int] = frozenset()
    """Instructions whose values are places, or parts of such, and nothing else."""
    ranges: Mapping[str, Interval] = field(default_factory=dict[str, Interval])
    """By index array: the numbers that it holds."""


def gathered_by(backbone: Backbone) -> Gathered:
    """UnsupportedError (PROOF_GATHER) for places that are no such sum, or that these ranges do not keep inside."""
    numbers = [n for n, i in enumerate(backbone.instructions) if i.operator is Operator.GATHER]
    if not numbers:
        return Gathered()
    reader = _Reader(backbone)
    accesses = {n: reader.access(n) for n in numbers}
    reader.check(numbers)
    return Gathered(accesses, frozenset(reader.forms), reader.ranges)


def accesses_of(backbone: Backbone) -> dict[int, Access]:
    """By the identity of an instruction that loads, stores or gathers: what it accesses, without elements of index arrays."""
    gathers = gathered_by(backbone).accesses
    found = {n: i.access for n, i in enumerate(backbone.instructions)} | dict(gathers)
    return {id(backbone.instructions[n]): access for n, access in found.items() if access is not None}


class _Reader:
    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        self.forms: dict[int, _Form] = {}
        """By instruction that computes a place."""
        self.ranges: dict[str, Interval] = {}
        self._inside: list[tuple[_Form, Interval, str]] = []
        """Sums, where they must lie, and of what that is asked."""
        self._fills: list[tuple[str, float]] = []
        """Index arrays that are read beyond their edges, and the number there."""

    def access(self, number: int) -> Access:
        instruction = self.backbone.instructions[number]
        assert instruction.region is not None
        region = self.backbone.regions[instruction.region]
        place = self._form(instruction.operands[0])
        self._inside.append((place, Interval(0, region.elements - 1), region.name))
        return Access(instruction.region, (*(Linear() for _ in region.shape[1:]), _axes_of(place)))

    def _form(self, operand: Operand) -> _Form:
        match operand:
            case Constant(value, None) if value == int(value):
                return Linear((), int(value))
            case Position(index):
                return index.renamed(lambda axis: ("axis", axis))
            case Result(number) if self.backbone.instructions[number].operator is Operator.LOAD:
                return self._word(number)
            case Result(number, mapped):
                if number not in self.forms:
                    self.forms[number] = self._computed(self.backbone.instructions[number])
                if not {axis for axis, _ in _axes_of(self.forms[number]).terms} <= set(mapped):
                    raise _not_followed("a place that is the last of several")
                return self.forms[number]
            case _:
                raise _not_followed(f"a place that is computed from {operand}")

    def _word(self, number: int) -> _Form:
        """An element of an index array; the range is at first that of its type."""
        instruction = self.backbone.instructions[number]
        assert instruction.access is not None
        region, dtype = self.backbone.regions[instruction.access.region], instruction.dtype
        if region.role is not Role.INPUT or dtype.is_float:
            raise _not_followed(f"places in {region.name!r}, which is no input of whole numbers")
        self.ranges.setdefault(region.name, _range_of(dtype))
        if instruction.access.fill is not None:
            self._fills.append((region.name, instruction.access.fill))
        return variable(("load", number))

    def _computed(self, made: Instruction) -> _Form:
        match made.operator, [self._form(o) for o in made.operands]:
            case Operator.ADD, [a, b]:
                found = a.plus(b)
            case Operator.MUL, ([a, Linear(terms=(), constant=times)] | [Linear(terms=(), constant=times), a]):
                found = a.scaled(times)
            case ((Operator.MOVE | Operator.CAST), [a]):
                found = a
            case ((Operator.MIN | Operator.MAX), ([a, Linear(terms=(), constant=limit)] | [Linear(terms=(), constant=limit), a])):
                self._limit(made.operator, a, limit)
                found = a
            case _:
                raise _not_followed(f"a place that {made.name} computes by {made.operator.value}")
        if made.dtype.is_float:
            raise _not_followed(f"a place of type {made.dtype}")
        self._inside.append((found, _range_of(made.dtype), made.name))
        return found

    def _limit(self, operator: Operator, a: _Form, limit: int) -> None:
        """Takes for granted that an element is no less, or no greater, and asks that of a sum."""
        match a.terms:
            case ((("load", number), 1),) if not a.constant:
                access = self.backbone.instructions[number].access
                assert access is not None
                name = self.backbone.regions[access.region].name
                known = self.ranges[name]
                low, high = (
                    (max(known.low, limit), known.high) if operator is Operator.MAX else (known.low, min(known.high, limit))
                )
                self.ranges[name] = Interval(low, high)
            case _:
                within = _range_of(None)
                asked = Interval(limit, within.high) if operator is Operator.MAX else Interval(within.low, limit)
                self._inside.append((a, asked, "a place"))

    def check(self, gathers: list[int]) -> None:
        """UnsupportedError unless the limits change nothing, and what computes places computes nothing else."""
        if any(r.low > r.high for r in self.ranges.values()) or not all(self.ranges[n].holds(fill) for n, fill in self._fills):
            raise _not_followed("a gather at no place inside")
        for form, asked, name in self._inside:
            bounds = form.bounds(self._range)
            if bounds.low < asked.low or bounds.high > asked.high:
                raise _not_followed(f"places from {bounds.low} to {bounds.high} of {name!r}, which may be outside")
        own = set(self.forms)
        for number, instruction in enumerate(self.backbone.instructions):
            if number not in own and number not in gathers and any(named_by(o) in own for o in instruction.operands):
                raise _not_followed(f"a place that is a number in {instruction.name}, too")

    def _range(self, part: tuple[str, int]) -> Interval:
        kind, number = part
        if kind == "axis":
            return Interval(0, self.backbone.axes[number].size - 1)
        access = self.backbone.instructions[number].access
        assert access is not None
        return self.ranges[self.backbone.regions[access.region].name]


def _axes_of(place: _Form) -> AxisSum:
    return Linear(tuple((number, times) for (kind, number), times in place.terms if kind == "axis"), place.constant)


def _range_of(dtype: DType | None) -> Interval:
    return Interval(-(1 << 63), (1 << 64) - 1) if dtype is None else Interval(*integer_range(dtype))


def _not_followed(what: str) -> UnsupportedError:
    message = f"expected operations that the proof of explored kernels follows, got {what}"
    return UnsupportedError(Diagnostic("PROOF_GATHER", message, fix="The result is tested, not proved."))
