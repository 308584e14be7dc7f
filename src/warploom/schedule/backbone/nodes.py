"""The semantic backbone: what a kernel computes, with every decision left open.

    kernel      := axes regions instructions
    axis        := name, extent in elements, open tile sizes          (a loop of the mathematics, strip-mined)
    extent      := one level of an axis: level 0 is the outermost part, the others are tiles, outer to inner
    instruction := operator(operands) over axes                       (one scalar operation in its own loop nest)
    dim         := the loop of one instruction over one extent

An instruction is executed once per point of its own dims and of whatever loop it is put into. Values travel point to point:
the value made at index i of an axis is used at index i of the same axis in the other nest.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, sections 4.1 to 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from math import gcd
from typing import TypeAlias

from warploom.core import NOWHERE, DType, Span
from warploom.core.linear import Linear
from warploom.core.polynomials import Polynomial


class Operator(StrEnum):
    """Scalar operations; all operands and the result have the instruction's type, except for `CAST`, the place of a `GATHER`, and
    the factors of an `FMA`, which may be narrower (`widened`), or words of bytes whose products are all added up (`in_words`)."""

    LOAD = "load"
    STORE = "store"
    MOVE = "move"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    FMA = "fma"
    """first * second + third, rounded once; as a carried sum also of several products, `a * b + c * d + carry`, one after the
    other."""
    MAX = "max"
    MIN = "min"
    NEG = "neg"
    EXP = "exp"
    LOG = "log"
    SQRT = "sqrt"
    TANH = "tanh"
    ERF = "erf"
    SIN = "sin"
    COS = "cos"
    ABS = "abs"
    CAST = "cast"
    LESS = "less"
    """1 where first < second, else 0; the same of the next two. A NaN is neither less than nor equal to anything."""
    LESS_EQUAL = "less_equal"
    EQUAL = "equal"
    SELECT = "select"
    """second where first is not 0, else third."""
    GATHER = "gather"
    """The element of an input at the place that the operand, an integer, says: so many elements from its start."""


class Scope(StrEnum):
    """Ways in which a value may travel between two nests (paper, section 4.4)."""

    LOCAL = "local"
    """Merged or unrolled loops only: registers."""
    THREAD = "thread"
    """The loops above, and threads mapped alike: registers."""
    BLOCK = "block"
    """All of these, and a temporary array of the thread block."""


class Role(StrEnum):
    INPUT = "input"
    OUTPUT = "output"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class RunTimeSize:
    """A length known at run time: a size that kernels take as an argument, and `more`. Where a backbone or a nest has a number of
    it, that is its value where the kernel is searched, or run."""

    name: str
    multiple: int = 1
    """All values of the size are multiples of this one."""
    more: int = 0
    """By how much the length is above the size; less than 0: below it."""
    per: int = 1
    """Above 1, then `more` is 0: the length is the size over this number, rounded up."""

    @property
    def is_rounded(self) -> bool:
        """Whether the size may be no multiple of the number that it is divided by."""
        return self.multiple % self.per > 0

    @property
    def divisor(self) -> int:
        """The greatest number known to divide the length."""
        return 1 if self.is_rounded else gcd(self.multiple // self.per, self.more)

    @property
    def alone(self) -> RunTimeSize:
        """The size itself."""
        return replace(self, more=0, per=1)

    @property
    def most(self) -> int:
        """The greatest length."""
        return -(-(MOST_AT_RUN_TIME + self.more) // self.per)

    @property
    def text(self) -> str:
        """`n`, or `n + 2`, as Python, C and CUDA C++ write it; `ceil(n / 64)`."""
        if self.per > 1:
            return f"ceil({self.name} / {self.per})"
        return f"{self.name} {'+' if self.more > 0 else '-'} {abs(self.more)}" if self.more else self.name

    @property
    def factor(self) -> str:
        """The same in a product."""
        return f"({self.text})" if self.more else self.text

    def at(self, sizes: Mapping[str, int]) -> int:
        """The length where the sizes have these values. KeyError where its size is missing."""
        return -(-(sizes[self.name] + self.more) // self.per)


MOST_AT_RUN_TIME = 1 << 30
"""Greatest value of such a size: rounded up to a tile it stays within 32 bits."""
MOST_BESIDE_SIZE = 1 << 16
"""By how much lengths differ from their size, at most."""


@dataclass(frozen=True, slots=True)
class Axis:
    name: str
    size: int
    """Iterations, 1 or more."""
    tiles: tuple[tuple[int, ...], ...] = ()
    """Sizes that each tile level may take, ascending, outer to inner; the outermost part is what is left. With tiles that do not
    divide the size, the outermost part is rounded up and the edges are predicated."""
    span: Span = NOWHERE
    run_time: RunTimeSize | None = None
    """The iterations are as many as this length."""
    of_size: tuple[str, Fraction] | None = field(default=None, compare=False)
    """The name of the size that the iterations times this factor are; None where they are no such multiple."""

    @property
    def divisor(self) -> int:
        """The greatest number known to divide the iterations."""
        return self.size if self.run_time is None else self.run_time.divisor


@dataclass(frozen=True, slots=True)
class Extent:
    """One level of an axis; all dims of that level have its size."""

    axis: int
    level: int
    """0: the outermost part."""
    sizes: tuple[int, ...]
    """Ascending."""


@dataclass(frozen=True, slots=True)
class Dim:
    """The loop of one instruction over one extent."""

    instruction: int
    extent: int
    is_parallel: bool
    """No iteration needs another's result, reductions with an associative operator included when reordering is allowed."""
    is_reduction: bool


@dataclass(frozen=True, slots=True)
class Region:
    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Elements."""
    role: Role
    span: Span = NOWHERE
    run_time: RunTimeSize | None = None
    """The first index has as many values as this length."""
    spread: int = 1
    """Elements from one element of a word to the next; where they are apart, strides are in elements."""
    inner: tuple[RunTimeSize | None, ...] = ()
    """The same of the other indices; empty: these, and all strides, are known. Else elements lie row by row, and the stride of an
    index is the product of the lengths behind it."""
    is_between: bool = field(default=False, compare=False)
    """Other stages of its program read what this one stores there, and nobody else does."""

    @property
    def open_lengths(self) -> tuple[tuple[int, RunTimeSize], ...]:
        """Indices that have as many values as a length known at run time, each with that."""
        return tuple((n, size) for n, size in enumerate((self.run_time, *self.inner)) if size is not None)

    @property
    def open_strides(self) -> tuple[tuple[RunTimeSize, ...], ...]:
        """For each index the lengths known at run time that are factors of its stride."""
        return tuple(tuple(size for at, size in self.open_lengths if at > n) for n in range(len(self.shape)))

    @property
    def elements(self) -> int:
        """Number of elements from the first to the last that is used."""
        return 0 if 0 in self.shape else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


AxisSum: TypeAlias = Linear[int]
"""An index that is affine in axes: constant + sum of coefficient * axis."""


@dataclass(frozen=True, slots=True)
class Access:
    region: int
    indices: tuple[AxisSum, ...]
    """One per array axis of the region; out of its shape reads `fill` and writes nothing."""
    fill: float | None = None
    """None: the indices are always in range."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: int | float
    run_time: RunTimeSize | None = None
    """The number is this length, `value` its value here."""
    of: Polynomial | None = field(default=None, compare=False)
    """The sizes of which it was made, where it is not just a number."""

    def at(self, sizes: Mapping[str, int]) -> Constant:
        """The number where the sizes have these values. KeyError where its size is missing."""
        return self if self.run_time is None else replace(self, value=self.run_time.at(sizes))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A scalar argument of the kernel."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Result:
    """The value of another instruction, point to point over `mapped`; over its other axes the last value, which for a
    reduction is the total. Where all axes that it reduces are mapped, it is the running value: what was reduced up to this
    point, this one included."""

    instruction: int
    mapped: tuple[int, ...]
    """Axes that both iterate and that correspond index by index."""
    scope: Scope = Scope.BLOCK


@dataclass(frozen=True, slots=True)
class Carry:
    """The value that this instruction made in the previous iteration of `reduced`; at first that of `init`."""

    init: int
    """An instruction over this one's axes without `reduced`."""
    reduced: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Previous:
    """The running value of a reduction before this point of the axes that it reduces, at first that of its start. So the
    instruction runs before the reduction does, though it has the greater number."""

    instruction: int
    mapped: tuple[int, ...]
    """Axes of both, those that are reduced among them."""


@dataclass(frozen=True, slots=True)
class Position:
    """An index as a number of the instruction's type; conversions and stores take it from a move."""

    index: AxisSum


Operand: TypeAlias = Constant | Parameter | Result | Carry | Previous | Position


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    operator: Operator
    operands: tuple[Operand, ...]
    axes: tuple[int, ...]
    dtype: DType
    access: Access | None = None
    """The element that a load or store accesses; the operand of a store is the value that it writes."""
    span: Span = NOWHERE
    region: int | None = None
    """The region that a gather reads."""

    @property
    def carry(self) -> Carry | None:
        return next((o for o in self.operands if isinstance(o, Carry)), None)

    @property
    def kept_axes(self) -> tuple[int, ...]:
        """Axes that tell its values apart."""
        carry = self.carry
        return tuple(a for a in self.axes if carry is None or a not in carry.reduced)


@dataclass(frozen=True, slots=True)
class Mask:
    """Which elements of the rows that a kernel sums up count."""

    forms: tuple[AxisSum, ...]
    """Where one of these is negative, an element adds nothing to any sum. Every row has an element where none is."""
    least: float
    """Share of the elements of a row that no form rules out, of the row with the fewest; above 0."""
    mean: float
    """The same of all rows."""
    most: float
    """The same of the row with the most; at most 1."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Two axes of a backbone that were one, whose sums are made tile by tile by a law that they obey."""

    axis: int
    """That axis of `Backbone.plain`."""
    outer: int
    inner: int
    law: str
    """The law, as a proof's domain names it."""
    mask: Mask | None = None
    """The elements that the text of the function rules out; None: every tile is made."""


@dataclass(frozen=True, slots=True)
class Backbone:
    """One kernel. Statement numbers: instructions first, in their order, then dims in theirs."""

    name: str
    axes: tuple[Axis, ...]
    extents: tuple[Extent, ...]
    regions: tuple[Region, ...]
    instructions: tuple[Instruction, ...]
    dims: tuple[Dim, ...]
    """Dims by instruction, then by its axes, then by level."""
    can_reorder: bool = True
    """Sums of floats may be taken in another order."""
    rewritten: Rewritten | None = None
    made_of: tuple[Backbone, ...] = ()
    """The stages that this kernel was made of, as the function says them: what results are compared with and proofs are about.
    None where it is one of those."""

    @property
    def origins(self) -> tuple[Backbone, ...]:
        """The stages of the function that it computes: what it was made of, or the kernel itself."""
        return self.made_of or (self,)

    @property
    def plain(self) -> Backbone:
        """The stage that it was made of; the kernel itself where there are none, or several (see `Program.plain`)."""
        return self.made_of[0] if len(self.made_of) == 1 else self

    def remade(self, other: Backbone) -> Backbone:
        """Another kernel, as one that was made of what this one was made of."""
        return replace(other, made_of=self.origins)

    def statement_of(self, dim: int) -> int:
        return len(self.instructions) + dim

    def dims_of(self, instruction: int) -> tuple[int, ...]:
        """Positions in `dims`."""
        return tuple(n for n, d in enumerate(self.dims) if d.instruction == instruction)
