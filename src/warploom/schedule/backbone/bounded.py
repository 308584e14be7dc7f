"""Results of a function on data, and how far a kernel that computes it may be off: by rounding, in whatever order it adds.

An error relative to the largest element says little of the others: in a row of a softmax that one element rules, those beside it
may be anything. Here each element has its own bound, made step by step from those of what it was made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, tf32, to_numpy, values_of, words_of
from warploom.schedule.backbone.evaluate import Array, Evaluation, compute
from warploom.schedule.backbone.exact import CHOOSING
from warploom.schedule.backbone.nodes import AxisSum, Backbone, Carry, Instruction, Operator, Region, Role
from warploom.schedule.backbone.programs import Program

_ROUNDINGS = 4.0
"""Roundings that an operation is allowed: it may be fused, distributed or divided by a reciprocal."""
_ULPS = 8.0
"""Errors of functions such as `exp`, in those of other operations."""
_SLOPE = {Operator.SIN: 1.0, Operator.COS: 1.0, Operator.TANH: 1.0, Operator.ERF: 1.13}
"""Most that these functions change for a change of their argument."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """An array that a program writes."""

    values: Array
    """Float64."""
    allowed: NDArray[np.float64]
    """How far each element may be off; infinite where nothing is known, and where nothing is stored."""


def evaluate_bounded(
    program: Program, arrays: Mapping[str, Array], parameters: Mapping[str, float] | None = None, *, is_exact: bool = False
) -> dict[str, Bounded]:
    """The arrays that the stages write, by name. Of floats, and of integers up to 32 bits (`can_bound`). is_exact: no sum or
    product is rounded on these arrays (`exact_whole`)."""
    known: dict[str, Array] = dict(arrays)
    found: dict[str, Bounded] = {}
    for stage in program.plain.stages:
        memory = {n: _first(r, known) for n, r in enumerate(stage.regions)}
        with np.errstate(all="ignore"):
            _BoundedEvaluation(stage, memory, dict(parameters or {}), 0.0 if is_exact else _ROUNDINGS).run_all()
        for n, region in enumerate(stage.regions):
            if region.role is not Role.INPUT:
                known[region.name] = memory[n]
                found[region.name] = Bounded(_value(memory[n]), _off(memory[n]))
    return found


def can_bound(program: Program) -> bool:
    """Whether double precision holds all of its integers."""
    instructions = (i for stage in program.plain.stages for i in stage.instructions)
    return all(i.dtype.is_float or i.dtype.bits <= 32 for i in instructions)


def _first(region: Region, known: Mapping[str, Array]) -> Array:
    if region.role is not Role.INPUT:
        return _with(np.zeros(region.shape), np.inf)
    array = np.asarray(known[region.name]).reshape(region.shape)
    if np.iscomplexobj(array):
        return array.copy()
    return _with(values_of(region.dtype, array) if region.dtype is tf32 else array, 0.0)


def _with(values: Any, radius: Any) -> Array:
    """Numbers and how far each is off, as real and imaginary parts: what moves numbers moves both."""
    made = np.empty(np.broadcast_shapes(np.shape(values), np.shape(radius)), np.complex128)
    made.real, made.imag = values, radius
    return made


def _value(array: Array) -> Array:
    return np.real(array)


def _off(array: Array) -> Array:
    return np.imag(array)


_TOTALS = {Operator.ADD, Operator.FMA, Operator.MAX, Operator.MIN}


class _BoundedEvaluation(Evaluation):
    def __init__(self, backbone: Backbone, memory: dict[int, Array], parameters: Mapping[str, object], roundings: float) -> None:
        super().__init__(backbone, memory, parameters)
        self.roundings = roundings

    def run(self, number: int) -> None:
        instruction = self.backbone.instructions[number]
        carry = instruction.carry
        if carry is None or number in self.running or instruction.operator not in _TOTALS:
            super().run(number)
            return
        kept = tuple(a for a in instruction.axes if a not in carry.reduced)
        axes = (*kept, *(a for a in instruction.axes if a in carry.reduced))
        shape = tuple(self.sizes[a] for a in axes)
        operands = [self.operand(o, instruction, axes, {}, None) for o in instruction.operands if not isinstance(o, Carry)]
        start = np.broadcast_to(self.broadcast(self.values[carry.init], kept, kept, {}), shape[: len(kept)])
        over = tuple(range(len(kept), len(axes)))
        self.values[number] = (kept, self.total(instruction, [np.broadcast_to(o, shape) for o in operands], start, over))

    def total(self, instruction: Instruction, operands: list[Array], start: Array, over: tuple[int, ...]) -> Array:
        """All terms of a reduction at once, in whatever order."""
        operator, dtype = instruction.operator, instruction.dtype
        if operator in (Operator.MAX, Operator.MIN):
            pick, none = (np.maximum, -np.inf) if operator is Operator.MAX else (np.minimum, np.inf)  # of an axis of no elements
            ends = [
                pick(pick.reduce(o, axis=over, initial=none), s) for o, s in zip(_ends(operands[0]), _ends(start), strict=True)
            ]
            return _rounded(*_between(*ends), dtype, is_chosen=True)
        value, radius, size = _value(start), _off(start), np.abs(_value(start))
        count = 1 + prod(operands[0].shape[n] for n in over)
        for n in range(0, len(operands), 1 if operator is Operator.ADD else 2):
            term, off = _value(operands[n]), _off(operands[n])
            if operator is Operator.FMA:
                term, off = _product(term, _value(operands[n + 1]), off, _off(operands[n + 1]))
            value, radius = value + term.sum(axis=over), radius + off.sum(axis=over)
            size = size + np.abs(term).sum(axis=over)
        if not dtype.is_float:
            value = compute(Operator.MOVE, [value.astype(np.int64)], dtype).astype(np.float64)
        return _rounded(value, radius + self.roundings * _unit(dtype) * count * size, dtype, is_chosen=False)

    def number(self, value: object, dtype: DType) -> Array:
        return _with(compute(Operator.MOVE, [np.asarray(value)], dtype), 0.0)

    def position(self, index: AxisSum, dtype: DType, axes: tuple[int, ...], fixed: dict[int, int]) -> Array:
        return _with(super().position(index, dtype, axes, fixed), 0.0)

    def gather(self, region: int, places: Array) -> Array:
        size = self.memory[region].size
        found = super().gather(region, np.clip(_value(places), 0, max(0, size - 1)).astype(np.int64))
        return _with(_value(found), np.where(_off(places) > 0, np.inf, _off(found)))

    def compute(self, instruction: Instruction, operands: list[Array]) -> Array:
        values, radii = [_value(o) for o in operands], [_off(o) for o in operands]
        operator, dtype = instruction.operator, instruction.dtype
        if not dtype.is_float and not any(r.any() for r in radii):
            own = values if operator is Operator.CAST else [v.astype(to_numpy(dtype)) for v in values]
            return _with(compute(operator, own, dtype).astype(np.float64), 0.0)
        unit = self.roundings * _unit(dtype)
        value, radius = _step(operator, values, radii, unit)
        if operator in (Operator.ADD, Operator.SUB, Operator.FMA):
            carry = instruction.carry
            terms = [v for v, o in zip(values, instruction.operands, strict=True) if not isinstance(o, Carry)]
            size = _size(operator, terms, has_carry=carry is not None)
            count = 1 if carry is None else prod(self.sizes[a] for a in carry.reduced)
            carried = 0.0 if carry is None else np.abs(value)
            radius = radius + unit * (count * size + carried)
        return _rounded(value, radius, dtype, is_chosen=operator in CHOOSING)


def _size(operator: Operator, terms: list[Array], *, has_carry: bool) -> Array:
    """The sum of the absolute values of what is added."""
    sizes = [np.abs(t) for t in terms]
    if operator is not Operator.FMA:
        return sum(sizes[1:], start=sizes[0])
    pairs = len(sizes) if has_carry else len(sizes) - 1
    products = [sizes[n] * sizes[n + 1] for n in range(0, pairs, 2)]
    return sum([*products, *sizes[pairs:]][1:], start=products[0])


def _unit(dtype: DType) -> float:
    """Half of a last place of 1, and 0 of integers."""
    return float(np.finfo(to_numpy(dtype)).eps) / 2 if dtype.is_float else 0.0


def _ends(array: Array) -> tuple[Array, Array]:
    return _value(array) - _off(array), _value(array) + _off(array)


def _step(operator: Operator, v: list[Array], r: list[Array], unit: float) -> tuple[Array, Array]:
    """One operation on numbers that are off by no more than their radii, in double precision; sums are not rounded yet. unit: of
    what an operation may be off, relatively."""
    match operator:
        case Operator.MOVE | Operator.CAST:
            return v[0], r[0]
        case Operator.ADD:
            return v[0] + v[1], r[0] + r[1]
        case Operator.SUB:
            return v[0] - v[1], r[0] + r[1]
        case Operator.MUL:
            value, radius = _product(v[0], v[1], r[0], r[1])
            return value, radius + unit * np.abs(value)
        case Operator.FMA:
            value, radius = v[-1], r[-1]
            for n in range(0, len(v) - 1, 2):
                product, off = _product(v[n], v[n + 1], r[n], r[n + 1])
                value, radius = value + product, radius + off
            return value, radius
        case Operator.DIV:
            least = np.abs(v[1]) - r[1]
            value = v[0] / v[1]
            radius = np.where(least > 0, (r[0] + np.abs(value) * r[1]) / np.where(least > 0, least, 1), np.inf)
            return value, radius + unit * np.abs(value)
        case Operator.MAX | Operator.MIN:
            pick = np.maximum if operator is Operator.MAX else np.minimum
            low, high = pick(v[0] - r[0], v[1] - r[1]), pick(v[0] + r[0], v[1] + r[1])
            return _between(low, high)
        case Operator.NEG:
            return -v[0], r[0]
        case Operator.ABS:
            return np.abs(v[0]), r[0]
        case Operator.EXP:
            value = np.exp(v[0])
            return value, value * (np.expm1(np.minimum(r[0], 700.0)) + _ULPS * unit)
        case Operator.LOG:
            least = v[0] - r[0]
            value = np.log(v[0])
            radius = np.where(least > 0, r[0] / np.where(least > 0, least, 1), np.inf)
            return value, radius + _ULPS * unit * np.maximum(np.abs(value), 1.0)
        case Operator.SQRT:
            least = v[0] - r[0]
            value = np.sqrt(v[0])
            radius = np.where(least > 0, r[0] / np.sqrt(np.where(least > 0, least, 1)), np.where(r[0] > 0, np.inf, 0.0))
            return value, radius + unit * np.abs(value)
        case Operator.TANH | Operator.ERF | Operator.SIN | Operator.COS:
            value = np.asarray(compute(operator, [v[0]], _F64), np.float64)
            return value, _SLOPE[operator] * r[0] + _ULPS * unit
        case Operator.LESS | Operator.LESS_EQUAL | Operator.EQUAL:
            value = np.asarray(compute(operator, [v[0], v[1]], _F64), np.float64)
            is_open = (np.abs(v[0] - v[1]) <= r[0] + r[1]) & (r[0] + r[1] > 0)
            return value, np.where(is_open, 1.0, 0.0)
        case Operator.SELECT:
            is_open = r[0] > 0
            low, high = np.minimum(v[1] - r[1], v[2] - r[2]), np.maximum(v[1] + r[1], v[2] + r[2])
            value, radius = np.where(v[0] != 0, v[1], v[2]), np.where(v[0] != 0, r[1], r[2])
            return np.where(is_open, (low + high) / 2, value), np.where(is_open, (high - low) / 2, radius)
        case _:
            raise AssertionError(f"{operator} is no computation")


def _product(a: Array, b: Array, off_a: Array, off_b: Array) -> tuple[Array, Array]:
    return a * b, np.abs(a) * off_b + np.abs(b) * off_a + off_a * off_b


def _between(low: Array, high: Array) -> tuple[Array, Array]:
    """The middle of two numbers and how far both are from it; exactly one number where they are equal."""
    return np.where(low == high, low, (low + high) / 2), np.where(low == high, 0.0, (high - low) / 2)


def _rounded(value: Array, radius: Array, dtype: DType, *, is_chosen: bool) -> Array:
    """The same as the type holds it. Nothing is known of what is beyond it or no number, but for infinities that were chosen.
    What is so small that hardware may drop it may be off by as much."""
    if not dtype.is_float:
        return _with(value, radius)
    held = to_numpy(dtype)
    limits = np.finfo(held)
    least = float(limits.tiny)
    is_known = np.isfinite(value) & (np.abs(value) + radius <= float(limits.max))
    safe, off = np.where(is_known, value, 0.0), np.where(is_known, radius, 0.0)
    low, high = (_as_held(end, dtype) for end in (safe - off, safe + off))
    middle, apart = _between(low, high)
    is_tiny = np.abs(safe) + off < 4 * least
    dropped = np.where((safe != 0) & is_tiny, 4 * least, 0.0)
    unknown = np.where(is_chosen & np.isinf(value) & (radius == 0), 0.0, np.inf)
    return _with(np.where(is_known, middle, value), np.where(is_known, apart + dropped, unknown))


def _as_held(values: Array, dtype: DType) -> Array:
    narrow = values.astype(to_numpy(dtype))
    if dtype.is_held or dtype is tf32:
        narrow = values_of(dtype, words_of(dtype, narrow)).reshape(narrow.shape)
    return narrow.astype(np.float64)


_F64 = DType("f64", "float", 64)
