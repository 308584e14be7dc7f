"""Whether a function's results are exact on whole numbers, so that a kernel's must be the same, in whatever order it adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, prod

from warploom.core import DType, integer_range, tf32
from warploom.schedule.backbone.inputs import LARGEST_WHOLE, largest_of
from warploom.schedule.backbone.nodes import (
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
    Region,
    Result,
    Role,
)
from warploom.schedule.backbone.operators import COMPARING
from warploom.schedule.backbone.programs import Program

_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "e4m3": 4, "e5m2": 3}
"""Bits of the significand, the first one included."""
_GREATEST = {"f16": 65504, "e4m3": 448, "e5m2": 57344}
"""Greatest numbers, of types that others convert to that hold greater ones."""
CHOOSING = {Operator.MOVE, Operator.MAX, Operator.MIN, Operator.NEG, Operator.ABS, Operator.SELECT, *COMPARING}
"""Operations whose results are operands, but for a sign, or 0 and 1."""
_ROUNDED_ONCE = {Operator.CAST, Operator.MOVE, Operator.STORE}


@dataclass(frozen=True, slots=True)
class _Size:
    """Numbers that are multiples of 2^-`digits`, of absolute value `most` at the utmost; infinities may be among them."""

    most: Fraction
    digits: int


_Values = _Size | None
"""None: numbers that rounding may have changed."""


def exact_whole(program: Program, parameters: Mapping[str, float]) -> int | None:
    """The largest of `LARGEST_WHOLE` for which all outputs are exact on the whole numbers that `inputs_of` makes data sets of, or
    one rounding of an exact number; None if there is none. parameters: the values of its scalars."""
    return next((whole for whole in LARGEST_WHOLE if _is_exact(program, whole, parameters)), None)


def only_chooses(program: Program) -> bool:
    """Whether no operation on floats makes a new number but for its sign, so that infinities, NaN and zeros have one meaning."""
    floats = [i for stage in program.plain.stages for i in stage.instructions if i.dtype.is_float]
    chooses = CHOOSING | {Operator.LOAD, Operator.STORE, Operator.GATHER}
    return bool(floats) and all(i.operator in chooses for i in floats)


def converts_to_integers(program: Program) -> bool:
    """Whether floats become integers: then a rounding before may change a whole number."""
    return any(to_integer(stage, i) for stage in program.plain.stages for i in stage.instructions)


def to_integer(stage: Backbone, instruction: Instruction) -> bool:
    """Whether the instruction converts a float to an integer, which has one result within the integer's type alone."""
    if instruction.operator is not Operator.CAST or instruction.dtype.is_float:
        return False
    match instruction.operands[0]:
        case Result(number) | Previous(number):
            return stage.instructions[number].dtype.is_float
        case Parameter(_, dtype):
            return dtype.is_float
        case Constant(value):
            return isinstance(value, float)
        case _:
            return False


def _is_exact(program: Program, whole: int, parameters: Mapping[str, float]) -> bool:
    known: dict[str, _Values] = {}
    for stage in program.plain.stages:
        made = _Sizes(stage, whole, parameters, known)
        made.run()
        known |= made.written
        if any(values is None for values in made.written.values()):
            return False
    return True


class _Sizes:
    def __init__(self, stage: Backbone, whole: int, parameters: Mapping[str, float], known: Mapping[str, _Values]) -> None:
        self.stage = stage
        self.whole = whole
        self.parameters = parameters
        self.known = known
        self.values: list[_Values] = []
        self.written: dict[str, _Values] = {}

    def run(self) -> None:
        for instruction in self.stage.instructions:
            made = self.of(instruction)
            self.values.append(made)
            if instruction.operator is Operator.STORE and instruction.access is not None:
                name = self.stage.regions[instruction.access.region].name
                before = self.written.get(name, _Size(Fraction(0), 0))
                self.written[name] = _hull(before, made)

    def of(self, instruction: Instruction) -> _Values:
        operator, dtype = instruction.operator, instruction.dtype
        match operator:
            case Operator.LOAD:
                assert instruction.access is not None
                fill, loaded = instruction.access.fill, self.region(self.stage.regions[instruction.access.region])
                return loaded if fill is None else _hull(loaded, _size_of(fill))
            case Operator.GATHER:
                assert instruction.region is not None
                return self.region(self.stage.regions[instruction.region])
            case _:
                pass
        before = [self.operand(o) for o in instruction.operands if not isinstance(o, Carry)]
        if any(b is None for b in before):
            return None
        sizes = [b for b in before if b is not None]
        carry = instruction.carry
        if carry is None:
            low, high = (0, 0) if dtype.is_float else integer_range(dtype)
            if to_integer(self.stage, instruction) and sizes[0].most >= min(1 - low, high + 1):
                return None
            return _held(_made(operator, sizes), dtype, operator)
        start = self.values[carry.init]
        return None if start is None else _held(self.reduced(operator, sizes, start, carry), dtype, operator)

    def reduced(self, operator: Operator, sizes: list[_Size], start: _Size, carry: Carry) -> _Values:
        count = prod(self.stage.axes[a].size for a in carry.reduced)
        match operator:
            case Operator.ADD:
                term = sizes[0]
            case Operator.FMA:
                products = [_made(Operator.MUL, [a, b]) for a, b in zip(sizes[::2], sizes[1::2], strict=True)]
                term = _Size(sum((p.most for p in products if p), Fraction(0)), max(p.digits for p in products if p))
            case Operator.MAX | Operator.MIN:
                return _hull(start, sizes[0])
            case _:
                return None
        return _Size(start.most + count * term.most, max(start.digits, term.digits))

    def region(self, region: Region) -> _Values:
        if region.role is not Role.INPUT or region.name in self.known:
            return self.known.get(region.name)
        return _Size(Fraction(largest_of(region.dtype, self.whole)), 0)

    def operand(self, operand: Operand) -> _Values:
        match operand:
            case Constant(value):
                return _size_of(value)
            case Parameter(name):
                return _size_of(self.parameters[name])
            case Position(index):
                return _Size(Fraction(self.furthest(index)), 0)
            case Result(number) | Previous(number):
                return self.values[number]
            case Carry():
                raise AssertionError("reductions are looked at by themselves")

    def furthest(self, index: AxisSum) -> int:
        return abs(index.constant) + sum(abs(c) * (self.stage.axes[a].size - 1) for a, c in index.terms)


def _size_of(value: float) -> _Size:
    """The size of one number; of infinities that of 0, since choices among numbers and infinities are exact."""
    if not isfinite(value):
        return _Size(Fraction(0), 0)
    number = Fraction(value)
    return _Size(abs(number), number.denominator.bit_length() - 1)


def _hull(*values: _Values) -> _Values:
    sizes = [v for v in values if v is not None]
    return _Size(max(s.most for s in sizes), max(s.digits for s in sizes)) if len(sizes) == len(values) else None


def _made(operator: Operator, sizes: list[_Size]) -> _Values:
    match operator:
        case Operator.ADD | Operator.SUB:
            return _Size(sizes[0].most + sizes[1].most, max(sizes[0].digits, sizes[1].digits))
        case Operator.MUL:
            return _Size(sizes[0].most * sizes[1].most, sizes[0].digits + sizes[1].digits)
        case Operator.FMA:
            product = sizes[0].most * sizes[1].most
            return _Size(product + sizes[2].most, max(sizes[0].digits + sizes[1].digits, sizes[2].digits))
        case Operator.SELECT:
            return _hull(*sizes[1:])
        case Operator.MOVE | Operator.CAST | Operator.STORE | Operator.NEG | Operator.ABS | Operator.MAX | Operator.MIN:
            return _hull(*sizes)
        case _ if operator in COMPARING:
            return _Size(Fraction(1), 0)
        case _:
            return None


def _held(made: _Values, dtype: DType, operator: Operator) -> _Values:
    """The values as the type holds them: integers wrap; a conversion of an exact number rounds it once, which has one result."""
    if made is None:
        return None
    if not dtype.is_float:
        most = Fraction(max(map(abs, integer_range(dtype))))
        return _Size(most if made.digits else min(most, made.most), 0)
    digits = 11 if dtype is tf32 else _DIGITS[dtype.name]
    if made.most * (1 << made.digits) <= 1 << digits:
        return made
    is_rounded = operator in _ROUNDED_ONCE and made.most <= _GREATEST.get(dtype.name, made.most)
    return _Size(made.most * 2, made.digits) if is_rounded else None
