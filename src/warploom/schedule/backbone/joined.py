"""Whether stages, one after the other, compute what others do: reductions in parts, and the parts put together.

    whole :=  Y[y] = f(sum of e(y, k) over k)
    made  :=  P[p, y] = sum of e'(p, y, l) over l           then   Y[y] = f(sum of P[p, y] over p)
              or then   Y[y] = f(sum of P[p, y] over p  +  sum of e''(y, t) over t)

Goal: a proof for all contents of the arrays, at the sizes that the backbones have. Every stored value is written out as an
expression over places in memory; loads of what an earlier stage stores become what it stores there; then both expressions
must be one, where k runs over all values of p and l together, and then over those of t. The indices of the parts may also count
further than k does, if nothing is added there: a condition says so, or reads beyond the end of an array give what adds nothing.
So are products, maxima and minima. They may be taken in another order, which the caller has to allow.
Non-goals: gathers, running values, stages that are equal for other reasons.

Nothing of `schedule.frontend`, which makes such stages, is used here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TypeAlias, assert_never

from warploom.core import BY_NAME, DType, integer_range
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
class Total:
    """A sum, product, maximum or minimum."""

    operator: str
    over: tuple[Range, ...]
    dtype: str
    operand: Written


Written: TypeAlias = Read | Value | Applied | Total


class UnlikeError(Exception):
    """The stages are not seen to be one; the text says why."""


def unlike(whole: Sequence[Backbone], made: Sequence[Backbone]) -> str | None:
    """None where the stages of `made` store all that those of `whole` do; else why that is not seen.

    Stages share arrays by name, and run in this order.
    """
    try:
        _compare(whole, made)
    except UnlikeError as error:
        return str(error)
    return None


def _compare(whole: Sequence[Backbone], made: Sequence[Backbone]) -> None:
    for stage in (*whole, *made):
        if not stage.can_reorder and any(i.dtype.is_float for i in stage.instructions):
            raise UnlikeError(f"sums of {stage.name} may not be taken in another order")
        if any(axis.run_time is not None for axis in stage.axes):
            raise UnlikeError(f"{stage.name} has a size that is known at run time")
    wanted, found = _all_stored(whole, "w"), _all_stored(made, "m")
    if clobbered := sorted(found.keys() & _inputs(whole) - wanted.keys()):
        raise UnlikeError(f"{clobbered[0]} is stored to, which is an input")
    for region, store in wanted.items():
        if region not in found or found[region].dtype != store.dtype:
            raise UnlikeError(f"nothing of the same type is stored to {region}")
        sizes = dict(store.ranges)
        if not _same(store.value, _at(found[region], store), sizes):
            names = ", ".join(stage.name for stage in made)
            raise UnlikeError(f"what {names} store to {region} is not seen to be what {', '.join(s.name for s in whole)} store")


def _inputs(stages: Sequence[Backbone]) -> set[str]:
    return {r.name for stage in stages for r in stage.regions if r.role is Role.INPUT}


def _all_stored(stages: Sequence[Backbone], prefix: str) -> dict[str, _Stored]:
    """Values that the stages store, by region, over what the arrays hold before the first of them."""
    found: dict[str, _Stored] = {}
    written = [{r.name for r in stage.regions if r.role is Role.OUTPUT} for stage in stages]
    for number, stage in enumerate(stages):
        read = _inputs([stage])
        if late := sorted(read & set[str]().union(*written[number:])):
            raise UnlikeError(f"{late[0]} is read before it is written")
        for name, store in _stored(stage, f"{prefix}{number}.").items():
            if name in found:
                raise UnlikeError(f"{name} is stored to twice")
            found[name] = replace(store, value=_put_together(store.value, found, dict(store.ranges)))
    return found


@dataclass(frozen=True, slots=True)
class _Stored:
    """A store of a stage."""

    region: str
    dtype: str
    place: Place
    ranges: tuple[Range, ...]
    value: Written


def _stored(stage: Backbone, prefix: str) -> dict[str, _Stored]:
    """By region; each value is over its ranges. UnlikeError unless each point of them has a place of its own."""
    found: dict[str, _Stored] = {}
    writer = _Writer(stage, prefix)
    for store in (i for i in stage.instructions if i.operator is Operator.STORE):
        assert store.access is not None
        point = {axis: f"{prefix}{axis}" for axis in store.axes}
        access = _access(stage, store.access, point)
        ranges = tuple((point[axis], stage.axes[axis].size) for axis in store.axes)
        if access.edge or not _is_one_to_one(access.place, ranges):
            raise UnlikeError(f"places that {stage.name} stores to are not seen to differ")
        if access.region in found:
            raise UnlikeError(f"{access.region} is stored to twice")
        value = writer.operand(store.operands[0], store, point)
        found[access.region] = _Stored(access.region, store.dtype.name, access.place, ranges, value)
    return found


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
        self.totals = 0

    def operand(self, operand: Operand, user: Instruction, point: Mapping[int, str]) -> Written:
        match operand:
            case Constant(value):
                return Value("constant", user.dtype.name, repr(value))
            case Parameter(name, dtype):
                return Value("parameter", dtype.name, name)
            case Position(index):
                return _position(user.dtype.name, index.renamed(point.__getitem__))
            case Result(instruction=number):
                made = self.stage.instructions[number]
                if reads_running(self.stage.instructions, operand):
                    raise UnlikeError(f"{user.name} of {self.stage.name} takes running values of {made.name}")
                if not set(made.kept_axes) <= set(operand.mapped) or not set(operand.mapped) <= set(point):
                    raise UnlikeError(f"{user.name} of {self.stage.name} takes the last of several values of {made.name}")
                found = self.value(number, {axis: point[axis] for axis in made.kept_axes})
                return found if made.dtype == user.dtype or user.operator is Operator.CAST else _cast(found, made, user)
            case Carry() | Previous():
                raise UnlikeError(f"{user.name} of {self.stage.name} is no value of one operator")

    def value(self, number: int, point: Mapping[int, str]) -> Written:
        """`point`: the variable of each axis that the value has."""
        made = self.stage.instructions[number]
        if made.carry is not None:
            return self.total(made, made.carry, point)
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
            case Operator.FMA:
                one, other, summand = (self.operand(o, made, point) for o in made.operands)
                product = Applied(str(Operator.MUL), made.dtype.name, (one, other))
                return Applied(str(Operator.ADD), made.dtype.name, (product, summand))
            case _:
                operands = tuple(self.operand(o, made, point) for o in made.operands)
                return Applied(str(made.operator), made.dtype.name, operands)

    def total(self, made: Instruction, carry: Carry, point: Mapping[int, str]) -> Written:
        init = self.stage.instructions[carry.init]
        start = init.operands[0] if init.operator is Operator.MOVE else None
        is_product = made.operator is Operator.FMA and isinstance(made.operands[-1], Carry)
        operator = Operator.ADD if is_product else made.operator
        others = tuple(o for o in made.operands if not isinstance(o, Carry))
        if not isinstance(start, Constant) or start.value != _neutral(operator, made.dtype) or len(others) != 1 + is_product:
            raise UnlikeError(f"{made.name} of {self.stage.name} is no sum, product, maximum or minimum of nothing else")
        self.totals += 1
        fresh = {axis: f"{self.prefix}{axis}.{self.totals}" for axis in carry.reduced}
        inside = {**point, **fresh}
        operands = tuple(self.operand(o, made, inside) for o in others)
        operand = Applied(str(Operator.MUL), made.dtype.name, operands) if is_product else operands[0]
        over = tuple((fresh[a], self.stage.axes[a].size) for a in sorted(carry.reduced))
        return Total(str(operator), over, made.dtype.name, operand)


def _neutral(operator: Operator, dtype: DType) -> float | None:
    """The number that changes nothing; None of operators whose order or grouping counts."""
    match operator:
        case Operator.ADD:
            return 0
        case Operator.MUL:
            return 1
        case Operator.MAX:
            return -inf if dtype.is_float else integer_range(dtype)[0]
        case Operator.MIN:
            return inf if dtype.is_float else integer_range(dtype)[1]
        case _:
            return None


def _position(dtype: str, index: Place) -> Value:
    return Value("position", dtype, index) if index.terms else Value("constant", dtype, repr(index.constant))


def _cast(value: Written, source: Instruction, made: Instruction) -> Written:
    return value if source.dtype == made.dtype else Applied(f"cast {source.dtype.name}", made.dtype.name, (value,))


def _access(stage: Backbone, access: Access, point: Mapping[int, str]) -> Read:
    region = stage.regions[access.region]
    indices = tuple(index.renamed(point.__getitem__) for index in access.indices)
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
    steps = {(c, sizes[name]): name for name, c in place.terms}
    found: dict[str, Place] = {}
    for name, size in made.ranges:
        other = steps.pop((made.place.coefficient(name), size), None)
        if other is not None:
            found[name] = variable(other)
    if steps or not len(found) == len(place.terms) == len(made.ranges) or place.constant != made.place.constant:
        raise UnlikeError(f"{made.region} is not seen to be stored wherever it is asked for")
    return found


def _put_together(value: Written, stored: Mapping[str, _Stored], sizes: Mapping[str, int]) -> Written:
    """Each read of what is stored as the value that is stored there; totals of nothing but totals as one. `sizes`: of
    variables."""
    match value:
        case Read(region, dtype, place, edge) if region in stored:
            store = stored[region]
            if edge or dtype != store.dtype:
                raise UnlikeError(f"{region} is not read as it is stored")
            return _replaced(store.value, _matched(store, place, sizes))
        case Read() | Value():
            return value
        case Applied(operator, dtype, operands):
            return Applied(operator, dtype, tuple(_put_together(o, stored, sizes) for o in operands))
        case Total(operator, over, dtype, operand):
            inside = _put_together(operand, stored, {**sizes, **dict(over)})
            if isinstance(inside, Total) and (inside.operator, inside.dtype) == (operator, dtype):
                return Total(operator, (*over, *inside.over), dtype, inside.operand)
            return Total(operator, over, dtype, inside)
        case _:
            assert_never(value)


def _replaced(value: Written, by: Mapping[str, Place]) -> Written:
    """With sums of variables in place of variables."""
    match value:
        case Read(region, dtype, place, edge):
            indices = tuple(index.substituted(by) for index in edge[2]) if edge else ()
            return Read(region, dtype, place.substituted(by), (*edge[:2], indices) if edge else ())
        case Value(_, dtype, content):
            return _position(dtype, content.substituted(by)) if isinstance(content, Linear) else value
        case Applied(operator, dtype, operands):
            return Applied(operator, dtype, tuple(_replaced(o, by) for o in operands))
        case Total(operator, over, dtype, operand):
            return Total(operator, over, dtype, _replaced(operand, by))
        case _:
            assert_never(value)


# ---------------------------------------------------------------- comparison


def _same(wanted: Written, made: Written, sizes: Mapping[str, int]) -> bool:
    """Whether both are one expression; a total over one index may be one over several that count through its values, or further
    where that adds nothing, or two of which one is over its last values. `sizes`: of variables."""
    match wanted, made:
        case Total(), Total():
            inside = {**sizes, **dict(made.over)}
            return _is_alike(wanted, made) and (
                any(_same(_replaced(wanted.operand, by), made.operand, inside) for by in _counted(wanted.over, made.over))
                or any(_is_within(wanted, made, at, inside) for at in range(len(wanted.over)))
            )
        case Total(), Applied(operands=(one, other)) if _is_alike(wanted, made):
            pairs = (one, other), (other, one)
            return any(_is_cut(wanted, *pair, at, sizes) for pair in pairs for at in range(len(wanted.over)))
        case Applied(), Applied():
            is_alike = _is_alike(wanted, made) and len(wanted.operands) == len(made.operands)
            return is_alike and all(_same(a, b, sizes) for a, b in zip(wanted.operands, made.operands, strict=True))
        case _:
            return wanted == made


def _is_alike(wanted: Total | Applied, made: Total | Applied) -> bool:
    return (wanted.operator, wanted.dtype) == (made.operator, made.dtype)


def _is_within(wanted: Total, made: Total, at: int, sizes: Mapping[str, int]) -> bool:
    """Whether an index of `wanted`, by its position, is counted through and then further, where nothing is added."""
    name, size = wanted.over[at]
    others = prod(n for position, (_, n) in enumerate(wanted.over) if position != at)
    count = prod(n for _, n in made.over) // others  # where that does not divide, nothing counts through both
    if count < size:
        return False
    over = tuple((n, count if position == at else m) for position, (n, m) in enumerate(wanted.over))
    for by in _counted(over, made.over):
        end = _End(by[name], size, sizes)
        inside = end.inside(made.operand, _neutral(Operator(wanted.operator), BY_NAME[wanted.dtype]))
        if inside is not None and _same(_replaced(wanted.operand, by), inside, sizes):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _End:
    """The end of an index at a place among others: it is inside where the place is below the size."""

    place: Place
    size: int
    sizes: Mapping[str, int]

    def inside(self, operand: Written, neutral: float | None) -> Written | None:
        """The operand as it is inside, if it is neutral beyond; None where that is not seen."""
        match operand:
            case Applied("select", _, (mask, value, Value("constant", _, str(other)))) if _number(other) == neutral:
                while isinstance(mask, Applied) and mask.operator.startswith("cast "):
                    (mask,) = mask.operands
                limit = Value("constant", "i32", repr(self.size))
                if mask == Applied("less", "i32", (Value("position", "i32", self.place), limit)):
                    return self._read_inside(value)
                return None
            case _:
                return self._read_inside(operand) if neutral is not None and self._beyond(operand) == neutral else None

    def _beyond(self, value: Written) -> float | None:
        """The number that it is at all places beyond the end; None where that is not seen."""
        match value:
            case Read(edge=(fill, shape, indices)):
                beside = [index.plus(self.place, -1) for index in indices]
                leaves = any(not b.terms and self.size + b.constant >= n for b, n in zip(beside, shape, strict=True))
                return fill if leaves else None
            case Applied(operator=operator, operands=operands) if operator in ("add", "sub", "mul") or operator.startswith(
                ("cast ", "load ")
            ):
                return 0.0 if all(self._beyond(o) == 0 for o in operands) else None
            case _:
                return None

    def _read_inside(self, value: Written) -> Written:
        """The value without what reads give outside of their arrays, where they are not outside."""
        match value:
            case Read(region, dtype, place, edge=(_, shape, indices)):
                return Read(region, dtype, place) if all(map(self._is_inside, indices, shape)) else value
            case Applied(operator, dtype, operands):
                return Applied(operator, dtype, tuple(map(self._read_inside, operands)))
            case Total(operator, over, dtype, operand):
                inner = replace(self, sizes={**self.sizes, **dict(over)})
                return Total(operator, over, dtype, inner._read_inside(operand))
            case Read() | Value():
                return value
            case _:
                assert_never(value)

    def _is_inside(self, index: Place, length: int) -> bool:
        beside = index.plus(self.place, -1)
        if not beside.terms:
            return beside.constant >= 0 and self.size + beside.constant <= length
        low, high = index.span(lambda name: self.sizes[name] - 1)
        return low >= 0 and high < length


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _is_cut(wanted: Total, first: Written, last: Written, at: int, sizes: Mapping[str, int]) -> bool:
    """Whether `first` is the total over the first values of an index, by its position, and `last` that over its last ones."""
    name, size = wanted.over[at]
    others = prod(n for position, (_, n) in enumerate(wanted.over) if position != at)
    begun = 0
    for piece in (first, last):
        if not isinstance(piece, Total) or not _is_alike(wanted, piece):
            piece = Total(wanted.operator, (), wanted.dtype, piece)
        count = prod(n for _, n in piece.over) // others  # where that does not divide, nothing counts through both
        over = tuple((n, count if position == at else m) for position, (n, m) in enumerate(wanted.over))
        if not any(
            _same(_replaced(wanted.operand, {**by, name: by[name].shifted(begun)}), piece.operand, {**sizes, **dict(piece.over)})
            for by in _counted(over, piece.over)
        ):
            return False
        begun += count
    return begun == size


def _counted(wanted: Sequence[Range], made: Sequence[Range]) -> Iterator[dict[str, Place]]:
    """The ways in which the indices of one total count through those of another: each of its points once."""
    if not wanted:
        if not made:
            yield {}
        return
    (name, size), *rest = wanted
    for number in range(len(made) + 1):
        for group in itertools.permutations(made, number):
            if prod(n for _, n in group) == size:
                place: Place = Linear()
                step = 1
                for other, count in group:
                    place, step = place.plus(variable(other), step), step * count
                for more in _counted(rest, [r for r in made if r not in group]):
                    yield {name: place, **more}
