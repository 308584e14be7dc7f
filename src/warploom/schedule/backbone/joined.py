"""Whether two stages, one after the other, compute what one does: a sum in parts, and the parts added up.

    whole :=  Y[y] = f(sum of e(y, k) over k)
    first :=  P[p, y] = sum of e'(p, y, l) over l           then   second :=  Y[y] = f(sum of P[p, y] over p)

Goal: a proof for all contents of the arrays, at the sizes that the backbones have. Every stored value is written out as an
expression over places in memory; the second stage's loads of P become what the first one stores there; then both expressions
must be one, where k runs over all values of p and l together. Sums may be taken in another order, which the caller has to allow.
Non-goals: gathers, reductions other than sums, stages that are equal for other reasons.

Nothing of `schedule.frontend`, which makes such stages, is used here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, assert_never

from warploom.core.linear import Linear, variable
from warploom.schedule.backbone.nodes import (
    Access,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Position,
    Previous,
    Result,
    Role,
)
from warploom.schedule.backbone.running import reads_running

Place: TypeAlias = Linear[str]
"""A place in memory, or an index, over variables."""
Range: TypeAlias = tuple[str, int]
"""A variable, and how many values it has, from 0 on."""


@dataclass(frozen=True, slots=True)
class Read:
    region: str
    dtype: str
    place: Place
    edge: tuple[float, tuple[int, ...], tuple[Place, ...]] | tuple[()] = ()
    """For a read that may leave its array: what it gives there, the shape, and the index on each axis."""


@dataclass(frozen=True, slots=True)
class Value:
    """A constant, a parameter or an index as a number."""

    kind: str
    dtype: str
    content: str | Place


@dataclass(frozen=True, slots=True)
class Applied:
    operator: str
    dtype: str
    operands: tuple[Written, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    over: tuple[Range, ...]
    dtype: str
    operand: Written


Written: TypeAlias = Read | Value | Applied | Sum


class UnlikeError(Exception):
    """The stages are not seen to be one; the text says why."""


def unlike(whole: Backbone, first: Backbone, second: Backbone) -> str | None:
    """None where `first` and then `second` store what `whole` does; else why that is not seen.

    The stages share arrays by name; all that one of them writes and the other reads must be written by `first`.
    """
    try:
        _compare(whole, first, second)
    except UnlikeError as error:
        return str(error)
    return None


def _compare(whole: Backbone, first: Backbone, second: Backbone) -> None:
    for stage in (whole, first, second):
        if not stage.can_reorder and any(i.dtype.is_float for i in stage.instructions):
            raise UnlikeError(f"sums of {stage.name} may not be taken in another order")
        if any(axis.run_time is not None for axis in stage.axes):
            raise UnlikeError(f"{stage.name} has a size that is known at run time")
    made, wanted, between = _stored(second, "s"), _stored(whole, "w"), _stored(first, "f")
    if made.region != wanted.region or made.dtype != wanted.dtype:
        raise UnlikeError(f"{second.name} stores to {made.region}, {whole.name} to {wanted.region}")
    read = {r.name for r in (*whole.regions, *first.regions) if r.role is Role.INPUT}
    if between.region in read or made.region in read or between.region == made.region:
        raise UnlikeError(f"{between.region} or {made.region} is read before it is written")
    value = _put_together(_at(made, wanted), between, dict(wanted.ranges))
    if not _same(wanted.value, value):
        raise UnlikeError(f"what {first.name} and {second.name} store to {made.region} is not seen to be what {whole.name} does")


@dataclass(frozen=True, slots=True)
class _Stored:
    """The only store of a stage."""

    region: str
    dtype: str
    place: Place
    ranges: tuple[Range, ...]
    value: Written


def _stored(stage: Backbone, prefix: str) -> _Stored:
    """The value is over the ranges. UnlikeError unless each point of them has a place of its own."""
    stores = [i for i in stage.instructions if i.operator is Operator.STORE]
    if len(stores) != 1:
        raise UnlikeError(f"{stage.name} has {len(stores)} stores")
    (store,) = stores
    assert store.access is not None
    point = {axis: f"{prefix}{axis}" for axis in store.axes}
    access = _access(stage, store.access, point)
    ranges = tuple((point[axis], stage.axes[axis].size) for axis in store.axes)
    if access.edge or not _is_one_to_one(access.place, ranges):
        raise UnlikeError(f"places that {stage.name} stores to are not seen to differ")
    value = _Writer(stage, prefix).operand(store.operands[0], store, point)
    return _Stored(access.region, store.dtype.name, access.place, ranges, value)


def _is_one_to_one(place: Place, ranges: Sequence[Range]) -> bool:
    """Whether two points never have one place: each step is longer than all that the smaller ones reach together."""
    reach = 0
    for step, size in sorted((place.coefficient(name), size) for name, size in ranges):
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True


class _Writer:
    """Writes the values of a stage out as expressions."""

    def __init__(self, stage: Backbone, prefix: str) -> None:
        self.stage = stage
        self.prefix = prefix
        self.sums = 0

    def operand(self, operand: Operand, user: Instruction, point: Mapping[int, str]) -> Written:
        match operand:
            case Constant(value):
                return Value("constant", user.dtype.name, repr(value))
            case Parameter(name, dtype):
                return Value("parameter", dtype.name, name)
            case Position(index):
                return Value("position", user.dtype.name, _over(index, point))
            case Result(instruction=number):
                made = self.stage.instructions[number]
                if reads_running(self.stage.instructions, operand):
                    raise UnlikeError(f"{user.name} of {self.stage.name} takes running values of {made.name}")
                if not set(made.kept_axes) <= set(operand.mapped) or not set(operand.mapped) <= set(point):
                    raise UnlikeError(f"{user.name} of {self.stage.name} takes the last of several values of {made.name}")
                found = self.value(number, {axis: point[axis] for axis in made.kept_axes})
                return found if made.dtype == user.dtype or user.operator is Operator.CAST else _cast(found, made, user)
            case Carry() | Previous():
                raise UnlikeError(f"{user.name} of {self.stage.name} is no sum")

    def value(self, number: int, point: Mapping[int, str]) -> Written:
        """`point`: the variable of each axis that the value has."""
        made = self.stage.instructions[number]
        if made.carry is not None:
            return self.sum(made, made.carry, point)
        match made.operator:
            case Operator.LOAD:
                assert made.access is not None
                read, kept = _access(self.stage, made.access, point), self.stage.regions[made.access.region].dtype
                return read if made.dtype == kept else Applied(f"load {kept.name}", made.dtype.name, (read,))
            case Operator.STORE | Operator.GATHER:
                raise UnlikeError(f"{made.name} of {self.stage.name} is no operation on values")
            case Operator.MOVE:
                return self.operand(made.operands[0], made, point)
            case Operator.CAST:
                (operand,) = made.operands
                source = self.stage.instructions[operand.instruction] if isinstance(operand, Result) else made
                return _cast(self.operand(operand, made, point), source, made)
            case _:
                operands = tuple(self.operand(o, made, point) for o in made.operands)
                return Applied(str(made.operator), made.dtype.name, operands)

    def sum(self, made: Instruction, carry: Carry, point: Mapping[int, str]) -> Written:
        init = self.stage.instructions[carry.init]
        is_zero = init.operator is Operator.MOVE and isinstance(init.operands[0], Constant) and init.operands[0].value == 0
        is_product = made.operator is Operator.FMA and isinstance(made.operands[-1], Carry)
        others = tuple(o for o in made.operands if not isinstance(o, Carry))
        if not is_zero or not (is_product or made.operator is Operator.ADD) or len(others) != 1 + is_product:
            raise UnlikeError(f"{made.name} of {self.stage.name} is no sum from 0 on")
        self.sums += 1
        fresh = {axis: f"{self.prefix}{axis}.{self.sums}" for axis in carry.reduced}
        inside = {**point, **fresh}
        operands = tuple(self.operand(o, made, inside) for o in others)
        operand = Applied(str(Operator.MUL), made.dtype.name, operands) if is_product else operands[0]
        return Sum(tuple((fresh[a], self.stage.axes[a].size) for a in sorted(carry.reduced)), made.dtype.name, operand)


def _cast(value: Written, source: Instruction, made: Instruction) -> Written:
    return value if source.dtype == made.dtype else Applied(f"cast {source.dtype.name}", made.dtype.name, (value,))


def _over(index: Linear[int], point: Mapping[int, str]) -> Place:
    if any(axis not in point for axis, _ in index.terms):
        raise UnlikeError("an index is over an axis that its value does not have")
    return index.renamed(point.__getitem__)


def _access(stage: Backbone, access: Access, point: Mapping[int, str]) -> Read:
    region = stage.regions[access.region]
    indices = tuple(_over(index, point) for index in access.indices)
    place: Place = Linear()
    for index, stride in zip(indices, region.strides, strict=True):
        place = place.plus(index, stride)
    edge = () if access.fill is None else (access.fill, region.shape, indices)
    return Read(region.name, region.dtype.name, place, edge)


# ---------------------------------------------------------------- the second stage's value, with the first one's in it


def _at(made: _Stored, wanted: _Stored) -> Written:
    """The value of a store at the place where another one stores."""
    return _replaced(made.value, _matched(made, wanted.place, dict(wanted.ranges)))


def _matched(made: _Stored, place: Place, sizes: Mapping[str, int]) -> dict[str, Place]:
    """For each variable of a store the one of `place` that runs over the same places: of the same step, as often."""
    refusal = UnlikeError(f"{made.region} is not seen to be stored wherever it is asked for")
    steps = {(c, sizes[name]): name for name, c in place.terms}
    found: dict[str, Place] = {}
    for name, size in made.ranges:
        other = steps.pop((made.place.coefficient(name), size), None)
        if other is None:
            raise refusal
        found[name] = variable(other)
    if steps or len(place.terms) != len(made.ranges) or place.constant != made.place.constant:
        raise refusal
    return found


def _put_together(value: Written, between: _Stored, sizes: Mapping[str, int]) -> Written:
    """Each read of what is between as the value that is stored there; sums of nothing but sums as one. `sizes`: of variables."""
    match value:
        case Read(region, dtype, place, edge) if region == between.region:
            if edge or dtype != between.dtype:
                raise UnlikeError(f"{region} is not read as it is stored")
            return _replaced(between.value, _matched(between, place, sizes))
        case Read() | Value():
            return value
        case Applied(operator, dtype, operands):
            return Applied(operator, dtype, tuple(_put_together(o, between, sizes) for o in operands))
        case Sum(over, dtype, operand):
            inside = _put_together(operand, between, {**sizes, **dict(over)})
            if isinstance(inside, Sum) and inside.dtype == dtype:
                return Sum((*over, *inside.over), dtype, inside.operand)
            return Sum(over, dtype, inside)
        case _:
            assert_never(value)


def _replaced(value: Written, by: Mapping[str, Place]) -> Written:
    """With sums of variables in place of variables."""
    match value:
        case Read(region, dtype, place, edge):
            indices = tuple(index.substituted(by) for index in edge[2]) if edge else ()
            return Read(region, dtype, place.substituted(by), (*edge[:2], indices) if edge else ())
        case Value(kind, dtype, content):
            return Value(kind, dtype, content.substituted(by) if isinstance(content, Linear) else content)
        case Applied(operator, dtype, operands):
            return Applied(operator, dtype, tuple(_replaced(o, by) for o in operands))
        case Sum(over, dtype, operand):
            return Sum(over, dtype, _replaced(operand, by))
        case _:
            assert_never(value)


# ---------------------------------------------------------------- comparison


def _same(wanted: Written, made: Written) -> bool:
    """Whether both are one expression; a sum over one index may be one over several that count through its values."""
    match wanted, made:
        case Applied(), Applied():
            is_alike = (wanted.operator, wanted.dtype, len(wanted.operands)) == (made.operator, made.dtype, len(made.operands))
            return is_alike and all(_same(a, b) for a, b in zip(wanted.operands, made.operands, strict=True))
        case Sum(), Sum():
            return wanted.dtype == made.dtype and any(
                _same(_replaced(wanted.operand, by), made.operand) for by in _counted(wanted.over, made.over)
            )
        case _:
            return wanted == made


def _counted(wanted: Sequence[Range], made: Sequence[Range]) -> Iterator[dict[str, Place]]:
    """The ways in which the indices of one sum count through those of another: each of its values once."""
    if len(wanted) == 1:
        (name, size) = wanted[0]
        if prod(n for _, n in made) != size:
            return
        for order in itertools.permutations(made):
            place: Place = Linear()
            step = 1
            for other, count in order:
                place, step = place.plus(variable(other), step), step * count
            yield {name: place}
    elif len(wanted) == len(made):
        for order in itertools.permutations(made):
            if all(a == b for (_, a), (_, b) in zip(wanted, order, strict=True)):
                yield {name: variable(other) for (name, _), (other, _) in zip(wanted, order, strict=True)}
