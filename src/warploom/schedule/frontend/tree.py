"""The content of a tensor function, read but not yet for particular sizes.

    function   := arrays scalars stage*
    stage      := definition* store+                 (the stores of one statement)
    definition := name[index, ...] = expression      (a value that lives inside the stage)
    store      := array[index, ...] = expression
    expression := number | size | index | scalar | array[affine, ...] | name | operator(expression, ...) | dtype(expression)
                | reduction(operator, expression, over=index, ...) | array[affine or index_array[affine, ...], ...]

Equality leaves out spans: two readings of one element are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from warploom.core import NOWHERE, DType, Span
from warploom.core.linear import Linear, variable
from warploom.core.polynomials import Polynomial, number
from warploom.schedule.backbone import Operator, Parameter, Role

NO_SIZES = number(0)


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    name: str
    dtype: DType
    shape: tuple[Polynomial, ...]
    role: Role
    span: Span = field(default=NOWHERE, compare=False)
    old: str | None = None
    """For an array that is read and written, the name of the array with its earlier contents; None for others."""


@dataclass(frozen=True, slots=True)
class Digit:
    """(scale * index + constant) // divisor, or with `is_rest` % divisor; of an index sum an atom by its text."""

    index: str
    scale: int
    constant: int
    divisor: int
    is_rest: bool

    def at(self, value: int) -> int:
        place = self.scale * value + self.constant
        return place % self.divisor if self.is_rest else place // self.divisor

    @property
    def atom(self) -> str:
        """No name of Python."""
        return f"digit {self.index} {self.scale} {self.constant} {self.divisor} {'%' if self.is_rest else '/'}"

    @staticmethod
    def of(atom: str) -> Digit | None:
        """None for the name of an index."""
        if not atom.startswith("digit "):
            return None
        _, index, scale, constant, divisor, kind = atom.split()
        return Digit(index, int(scale), int(constant), int(divisor), kind == "%")


@dataclass(frozen=True, slots=True)
class IndexSum:
    """constant + sum of coefficient * index, or of a divided index (`Digit`), and where it stands."""

    sum: Linear[str]
    span: Span = field(default=NOWHERE, compare=False)
    sizes: Polynomial = NO_SIZES
    """Sum of sizes that is added: `n` of `n - 1 - i`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Indices, in order of appearance."""
        found = (digit.index if (digit := Digit.of(atom)) else atom for atom, _ in self.sum.terms)
        return tuple(dict.fromkeys(found))

    @property
    def digits(self) -> tuple[Digit, ...]:
        """Divided indices among the atoms."""
        return tuple(digit for atom, _ in self.sum.terms if (digit := Digit.of(atom)))

    @property
    def plain(self) -> str | None:
        """The name, where the index is a name and nothing else."""
        atoms = [name for name, _ in self.sum.terms]
        is_name = len(atoms) == 1 and not self.digits and self.sum == variable(atoms[0]) and self.sizes == NO_SIZES
        return atoms[0] if is_name else None


@dataclass(frozen=True, slots=True)
class Number:
    value: int | float


@dataclass(frozen=True, slots=True)
class SizeValue:
    """A size used as a number."""

    size: Polynomial


@dataclass(frozen=True, slots=True)
class IndexValue:
    """An index used as a number."""

    index: IndexSum
    dtype: DType | None = None
    """None: of its neighbours' type."""


@dataclass(frozen=True, slots=True)
class Scalar:
    parameter: Parameter


@dataclass(frozen=True, slots=True)
class Read:
    array: ArrayParameter
    indices: tuple[IndexSum, ...]
    fill: float | None
    """Value outside of the array; None: the indices must stay inside."""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Gather:
    """An element at places that arrays of integers say; one of these outside of the array counts as the nearest inside."""

    array: ArrayParameter
    indices: tuple[IndexSum | Read, ...]
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def affine(self) -> tuple[IndexSum, ...]:
        """The indices that no array says."""
        return tuple(i for i in self.indices if isinstance(i, IndexSum))

    @property
    def reads(self) -> tuple[Read, ...]:
        """The elements of the arrays that say places."""
        return tuple(i for i in self.indices if isinstance(i, Read))


@dataclass(frozen=True, slots=True)
class Local:
    """A value defined before in the stage, at the same indices."""

    name: str
    indices: tuple[str, ...]
    dtype: DType
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Apply:
    operator: Operator
    operands: tuple[Expression, ...]
    dtype: DType | None
    """None: a number once the sizes are known, of its neighbours' type."""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Reduction:
    operator: Operator
    """ADD, MUL, MAX or MIN."""
    operand: Expression
    over: tuple[str, ...]
    dtype: DType
    span: Span = field(default=NOWHERE, compare=False)


Expression: TypeAlias = Number | SizeValue | IndexValue | Scalar | Read | Gather | Local | Apply | Reduction


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    indices: tuple[str, ...]
    value: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Store:
    array: ArrayParameter
    indices: tuple[str, ...]
    value: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Stage:
    definitions: tuple[Definition, ...]
    stores: tuple[Store, ...]
    ranges: tuple[tuple[str, Polynomial, Span], ...]
    """For every index its iterations, and the place where they are given. In the order of the axes: those stored first."""

    @property
    def owners(self) -> tuple[Definition | Store, ...]:
        """All that has an expression, in the order of the text."""
        return *self.definitions, *self.stores

    @property
    def parts(self) -> Iterator[Expression]:
        """All expressions, and all inside of them."""
        return (part for owner in self.owners for part in parts_of(owner.value))

    @property
    def stored(self) -> set[str]:
        """Indices of its results."""
        return {name for store in self.stores for name in store.indices}

    @property
    def summed(self) -> set[str]:
        """Indices over which something is reduced."""
        return reduced_over(self.parts)


@dataclass(frozen=True, slots=True)
class Places:
    """An array of integers, each from 0 on and less than an array has elements on one axis."""

    indices: str
    array: str
    axis: int
    size: Polynomial


@dataclass(frozen=True, slots=True)
class TensorTree:
    name: str
    arrays: tuple[ArrayParameter, ...]
    scalars: tuple[Parameter, ...]
    sizes: tuple[str, ...]
    """Sizes in order of appearance."""
    stages: tuple[Stage, ...]
    parameters: tuple[str, ...]
    """Names of arrays and scalars, in the order of the function's parameters."""
    places: tuple[Places, ...] = ()
    """Arrays whose elements must be places of others."""


def dtype_of(expression: Expression) -> DType | None:
    """None for numbers and sizes, which take the type of their neighbours."""
    match expression:
        case Number() | SizeValue():
            return None
        case Scalar(parameter):
            return parameter.dtype
        case Read(array=array) | Gather(array=array):
            return array.dtype
        case Local(dtype=dtype) | Apply(dtype=dtype) | Reduction(dtype=dtype) | IndexValue(dtype=dtype):
            return dtype


def reduced_over(parts: Iterable[Expression]) -> set[str]:
    """Indices over which one of these expressions is reduced."""
    return {name for part in parts if isinstance(part, Reduction) for name in part.over}


def parts_of(expression: Expression) -> Iterator[Expression]:
    """The expression and all inside of it; values of other definitions are not."""
    yield expression
    match expression:
        case Apply(operands=operands):
            for operand in operands:
                yield from parts_of(operand)
        case Reduction(operand=operand):
            yield from parts_of(operand)
        case Gather(reads=reads):
            yield from reads
        case Number() | SizeValue() | IndexValue() | Scalar() | Read() | Local():
            pass


def index_sums(expression: Expression) -> Iterator[IndexSum]:
    """All places of the expression along axes, and indices used as numbers."""
    for part in parts_of(expression):
        match part:
            case Read(indices=indices) | Gather(affine=indices):
                yield from indices
            case IndexValue(index=index):
                yield index
            case _:
                pass


def indices_of(expression: Expression) -> tuple[str, ...]:
    """Indices that the value depends on, in order of appearance; those reduced over are left out."""
    match expression:
        case Number() | SizeValue() | Scalar():
            return ()
        case Read(indices=indices):
            return tuple(dict.fromkeys(name for index in indices for name in index.names))
        case Gather(indices=indices):
            each = (index.names if isinstance(index, IndexSum) else indices_of(index) for index in indices)
            return tuple(dict.fromkeys(name for names in each for name in names))
        case IndexValue(index=index):
            return index.names
        case Local(indices=indices):
            return indices
        case Apply(operands=operands):
            return tuple(dict.fromkeys(name for o in operands for name in indices_of(o)))
        case Reduction(operand=operand, over=over):
            return tuple(name for name in indices_of(operand) if name not in over)


def mapped(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Every part of an expression changed, from the outside: what is changed is not entered."""
    made = change(expression)
    if made is not expression:
        return made
    match expression:
        case Apply(operands=operands):
            return replace(expression, operands=tuple(mapped(o, change) for o in operands))
        case Reduction(operand=operand):
            return replace(expression, operand=mapped(operand, change))
        case Number() | SizeValue() | IndexValue() | Scalar() | Read() | Gather() | Local():
            return expression


def at_places(part: Expression, places: Mapping[str, Linear[str]]) -> Expression:
    """An element read, or an index used as a number, with sums in place of indices; any other part as it is."""

    def moved(index: IndexSum) -> IndexSum:
        return replace(index, sum=index.sum.substituted(places))

    match part:
        case Read(indices=indices):
            return replace(part, indices=tuple(map(moved, indices)))
        case IndexValue(index=index):
            return replace(part, index=moved(index))
        case _:
            return part
