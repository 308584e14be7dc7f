"""Reference evaluation of a backbone on arrays: slow and plain, one instruction after the other over all points of its axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, tf32, to_numpy, values_of, words_of
from warploom.schedule.backbone.following import named_by
from warploom.schedule.backbone.nodes import (
    Access,
    AxisSum,
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
from warploom.schedule.backbone.programs import Program
from warploom.schedule.backbone.running import running

Array: TypeAlias = NDArray[Any]


def evaluate_program(
    program: Program, arrays: Mapping[str, Array], parameters: Mapping[str, float] | None = None
) -> dict[str, Array]:
    """The arrays that the stages write, by name. KeyError if an input or a parameter is missing."""
    known = dict(arrays)
    written: dict[str, Array] = {}
    for stage in program.plain.stages:
        made = evaluate(stage, known, parameters)
        known.update(made)
        written.update(made)
    return written


def evaluate(backbone: Backbone, arrays: Mapping[str, Array], parameters: Mapping[str, float] | None = None) -> dict[str, Array]:
    """The outputs, by name; places that no store writes are 0. Reductions go from the first index to the last.

    Every operation rounds to the type of its instruction. `FMA` is taken in double precision and then rounded.
    KeyError if an input or a parameter is missing.
    """
    memory = {
        n: np.zeros(r.shape, to_numpy(r.dtype))
        if r.role is not Role.INPUT
        else _read(r.dtype, np.asarray(arrays[r.name], to_numpy(r.dtype)).reshape(r.shape))
        for n, r in enumerate(backbone.regions)
    }
    evaluation = Evaluation(backbone, memory, dict(parameters or {}))
    evaluation.where_used = _used_once(backbone)
    evaluation.run_all()
    return {r.name: memory[n] for n, r in enumerate(backbone.regions) if r.role is not Role.INPUT}


def _used_once(backbone: Backbone) -> frozenset[int]:
    """Instructions whose values one reduction takes point by point, itself or through others of these: whole, a sum of products
    would hold all of its products."""
    readers: dict[int, list[tuple[int, Operand]]] = {}
    for number, instruction in enumerate(backbone.instructions):
        for operand in instruction.operands:
            made = named_by(operand)
            if made is not None:
                readers.setdefault(made, []).append((number, operand))
    found: set[int] = set()
    for number in reversed(range(len(backbone.instructions))):
        made = backbone.instructions[number]
        (reader, operand), *others = readers.get(number, [(-1, Constant(0))])
        if others or made.carry is not None or not isinstance(operand, Result) or set(operand.mapped) != set(made.axes):
            continue
        carry = backbone.instructions[reader].carry
        if reader in found or (carry is not None and set(made.axes) & set(carry.reduced)):
            found.add(number)
    return frozenset(found)


def _read(dtype: DType, array: Array) -> Array:
    """The values that loads give, of an array as NumPy holds it."""
    return array if dtype.is_held else values_of(dtype, array)


class Evaluation:
    """All instructions on the memory of all regions; `number` and `compute` say what the elements are."""

    def __init__(self, backbone: Backbone, memory: dict[int, Array], parameters: Mapping[str, object]) -> None:
        self.backbone = backbone
        self.memory = memory
        self.parameters = parameters
        self.sizes = [a.size for a in backbone.axes]
        self.values: dict[int, tuple[tuple[int, ...], Array]] = {}
        """By instruction: the axes that its value has, and the value over them; of reductions whose running values are read,
        also over the reduced axes."""
        self.before: dict[int, tuple[tuple[int, ...], Array]] = {}
        """The running values of these before each point."""
        self.running = running(backbone.instructions)
        self.where_used: frozenset[int] = frozenset()
        """Instructions whose values are made at each point of the reduction that reads them, and held nowhere."""

    def run_all(self) -> None:
        for number in range(len(self.backbone.instructions)):
            if number not in self.where_used:
                self.run(number)

    def number(self, value: object, dtype: DType) -> Array:
        """A constant or a parameter as one element."""
        return compute(Operator.MOVE, [np.asarray(value)], dtype)

    def compute(self, instruction: Instruction, operands: list[Array]) -> Array:
        """The scalar operation of an instruction, element by element."""
        return compute(instruction.operator, operands, instruction.dtype)

    def run(self, number: int) -> None:
        instruction = self.backbone.instructions[number]
        carry = instruction.carry
        if carry is None:
            value = self.apply(instruction, instruction.axes, {}, None)
            self.values[number] = (instruction.axes, value)
            return
        kept = tuple(a for a in instruction.axes if a not in carry.reduced)
        total = self.broadcast(self.values[carry.init], kept, kept, {})
        reduced = tuple(a for a in instruction.axes if a in carry.reduced)
        shape = tuple(self.sizes[a] for a in kept)
        totals = [np.broadcast_to(total, shape)]
        for point in itertools.product(*(range(self.sizes[a]) for a in reduced)):
            total = self.apply(instruction, kept, dict(zip(reduced, point, strict=True)), total)
            if number in self.running:
                totals.append(total)
        self.values[number] = (kept, total)
        if number in self.running:
            over = tuple(self.sizes[a] for a in reduced)
            found = [np.stack(part, -1).reshape(*shape, *over) for part in (totals[1:], totals[:-1])]
            self.values[number], self.before[number] = (((*kept, *reduced), values) for values in found)

    def apply(self, instruction: Instruction, axes: tuple[int, ...], fixed: dict[int, int], carried: Array | None) -> Array:
        """The results over `axes`, at the point `fixed` of the others."""
        operands = [self.operand(o, instruction, axes, fixed, carried) for o in instruction.operands]
        shape = tuple(self.sizes[a] for a in axes)
        match instruction.operator:
            case Operator.LOAD:
                assert instruction.access is not None
                return self.load(instruction.access, axes, fixed)
            case Operator.STORE:
                assert instruction.access is not None
                self.store(instruction.access, axes, np.broadcast_to(operands[0], shape))
                return np.broadcast_to(operands[0], shape)
            case Operator.GATHER:
                assert instruction.region is not None
                return np.broadcast_to(self.gather(instruction.region, operands[0]), shape)
            case _:
                return np.broadcast_to(self.compute(instruction, operands), shape)

    def operand(
        self, operand: Operand, instruction: Instruction, axes: tuple[int, ...], fixed: dict[int, int], carried: Array | None
    ) -> Array:
        match operand:
            case Constant(value):
                return self.number(value, instruction.dtype)
            case Parameter(name, dtype):
                return self.number(self.parameters[name], dtype)
            case Position(index):
                return self.position(index, instruction.dtype, axes, fixed)
            case Carry():
                assert carried is not None
                return carried
            case Result(producer, mapped, _) if producer in self.where_used:
                made = self.backbone.instructions[producer]
                kept = tuple(a for a in made.axes if a not in fixed)
                return self.broadcast((kept, self.apply(made, kept, fixed, None)), mapped, axes, fixed)
            case Result(producer, mapped, _):
                return self.broadcast(self.values[producer], mapped, axes, fixed)
            case Previous(producer, mapped):
                return self.broadcast(self.before[producer], mapped, axes, fixed)
            case _:
                assert_never(operand)

    def position(self, index: AxisSum, dtype: DType, axes: tuple[int, ...], fixed: dict[int, int]) -> Array:
        """An index as a number at every point."""
        return self.index_of(index, axes, fixed).astype(to_numpy(dtype))

    def index_of(self, index: AxisSum, axes: tuple[int, ...], fixed: dict[int, int]) -> Array:
        shape = tuple(self.sizes[a] for a in axes)
        total = np.full(shape, index.constant, np.int64)
        for axis, coefficient in index.terms:
            at = [-1 if a == axis else 1 for a in axes]
            total = total + coefficient * (np.arange(self.sizes[axis]).reshape(at) if axis in axes else fixed[axis])
        return total

    def broadcast(
        self, made: tuple[tuple[int, ...], Array], mapped: tuple[int, ...], axes: tuple[int, ...], fixed: dict[int, int]
    ) -> Array:
        """A producer's value in the consumer's axes: index by index where mapped, else its last. made: its axes, and the value
        over them."""
        produced, value = made
        selected = value[
            tuple(slice(None) if a in axes and a in mapped else fixed.get(a, -1) if a in mapped else -1 for a in produced)
        ]
        left = [a for a in produced if a in axes and a in mapped]
        order = sorted(range(len(left)), key=lambda p: axes.index(left[p]))
        shape = tuple(self.sizes[a] if a in left else 1 for a in axes)
        return np.transpose(selected, order).reshape(shape)

    def places(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int]) -> tuple[list[Array], Array]:
        """Indices of every point, and whether they are all inside."""
        inside = np.ones(tuple(self.sizes[a] for a in axes), bool)
        found: list[Array] = []
        for index, size in zip(access.indices, self.backbone.regions[access.region].shape, strict=True):
            total = self.index_of(index, axes, fixed)
            inside &= (total >= 0) & (total < size)
            found.append(total)
        return found, inside

    def load(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int]) -> Array:
        places, inside = self.places(access, axes, fixed)
        if access.fill is None and not inside.all():
            raise IndexError(f"a load from {self.backbone.regions[access.region].name!r} leaves its shape")
        array = self.memory[access.region]
        if not array.size:
            array = np.zeros((1,) * array.ndim, array.dtype)
        value = array[tuple(np.where(inside, p, 0) for p in places)]
        return np.where(inside, value, self.number(access.fill or 0.0, self.backbone.regions[access.region].dtype))

    def gather(self, region: int, places: Array) -> Array:
        """The elements at these places of a region, whose rows lie one behind the other."""
        flat = self.memory[region].reshape(-1)
        if places.size and (places.min() < 0 or places.max() >= flat.size):
            raise IndexError(f"a gather from {self.backbone.regions[region].name!r} leaves it")
        return flat[places]

    def store(self, access: Access, axes: tuple[int, ...], value: Array) -> None:
        places, inside = self.places(access, axes, {})
        written = value[inside]
        if not places and written.size:  # of a region without axes, which is one element
            written = written[-1]
        self.memory[access.region][tuple(p[inside] for p in places)] = written


def compute(operator: Operator, operands: list[Array], dtype: DType) -> Array:
    """One scalar operation on arrays, rounded to `dtype`."""
    target = to_numpy(dtype)
    with np.errstate(all="ignore"):
        made = np.asarray(_exact(operator, operands, dtype)).astype(target)
        return values_of(dtype, words_of(dtype, made)).reshape(made.shape) if dtype.is_held or dtype is tf32 else made


def _exact(operator: Operator, operands: list[Array], dtype: DType) -> Array:
    first = operands[0]
    match operator:
        case Operator.MOVE | Operator.CAST:
            return first
        case Operator.ADD:
            return first + operands[1]
        case Operator.SUB:
            return first - operands[1]
        case Operator.MUL:
            return first * operands[1]
        case Operator.DIV:
            return first / operands[1]
        case Operator.FMA:
            wide = np.longdouble if dtype.bits == 64 else np.float64
            kept = wide if dtype.is_float else to_numpy(dtype)
            total = operands[-1].astype(kept)
            for n in range(len(operands) - 3, -1, -2):
                total = operands[n].astype(kept) * operands[n + 1].astype(kept) + total
            return total
        case Operator.MAX:
            return np.maximum(first, operands[1])
        case Operator.MIN:
            return np.minimum(first, operands[1])
        case Operator.NEG:
            return -first
        case Operator.EXP:
            return np.exp(first)
        case Operator.LOG:
            return np.log(first)
        case Operator.SQRT:
            return np.sqrt(first)
        case Operator.TANH:
            return np.tanh(first)
        case Operator.SIN:
            return np.sin(first)
        case Operator.COS:
            return np.cos(first)
        case Operator.ERF:
            return np.vectorize(math.erf, otypes=[np.float64])(first)
        case Operator.ABS:
            return np.abs(first)
        case Operator.LESS:
            return first < operands[1]
        case Operator.LESS_EQUAL:
            return first <= operands[1]
        case Operator.EQUAL:
            return first == operands[1]
        case Operator.SELECT:
            return np.where(first != 0, operands[1], operands[2])
        case Operator.LOAD | Operator.STORE | Operator.GATHER:
            raise ValueError(f"{operator} is no computation")
        case _:
            assert_never(operator)
