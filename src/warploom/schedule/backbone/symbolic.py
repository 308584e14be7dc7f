"""Gives what a backbone computes as terms: the element that every place of its outputs must hold, over symbols for its inputs.

The mathematics of the tensor function, not of a nest: no decision of a schedule is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, DType, UnsupportedError, to_numpy
from warploom.core.linear import Linear, variable
from warploom.operations import COMPARISONS
from warploom.schedule.backbone.evaluate import Array, Evaluation
from warploom.schedule.backbone.gathered import gathered_by
from warploom.schedule.backbone.nodes import (
    Access,
    AxisSum,
    Backbone,
    Constant,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Region,
    Result,
    Role,
)
from warploom.schedule.backbone.operators import COMPARING
from warploom.terms import Term, apply, atom, constant, convert, element_behind

Terms: TypeAlias = NDArray[np.object_]

_LEAST = float("-inf")
_CHOICE = "select "
"""Begins the operator of a choice: `select <` of a, b, x and y is x where a < b, else y."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The terms that one array must hold, by their places in memory: place k of input `X` is the symbol `X[k]`."""

    terms: Terms
    stored: NDArray[np.bool_]
    """True at the places that the backbone stores to."""


def evaluate_terms(backbone: Backbone) -> dict[str, Elements]:
    """Inputs and outputs by name. Parameters are symbols without an index; places that nothing stores are symbols, too."""
    memory = {n: _symbols(r)[_places(r)] for n, r in enumerate(backbone.regions)}
    before = {n: array.copy() for n, array in memory.items()}
    parameters = {o.name: atom(o.name, ()) for i in backbone.instructions for o in i.operands if isinstance(o, Parameter)}
    SymbolicEvaluation(backbone, memory, parameters).run_all()
    found: dict[str, Elements] = {}
    for n, region in enumerate(backbone.regions):
        if region.role is Role.TEMPORARY:
            continue
        terms, stored = _symbols(region), np.zeros(region.elements, bool)
        places = _places(region)
        terms[places] = memory[n]
        stored[places] = np.frompyfunc(lambda a, b: a is not b, 2, 1)(memory[n], before[n])
        found[region.name] = Elements(terms, stored)
    return found


def _symbols(region: Region) -> Terms:
    found = np.empty(region.elements, object)
    found[:] = [atom(region.name, (k,)) for k in range(region.elements)]
    return found


def _places(region: Region) -> NDArray[np.int64]:
    """The place of each element in memory."""
    grids = np.indices(region.shape, np.int64)
    total = np.zeros(region.shape, np.int64)
    for grid, stride in zip(grids, region.strides, strict=True):
        total = total + stride * grid
    return total


class SymbolicEvaluation(Evaluation):
    def __init__(self, backbone: Backbone, memory: dict[int, Array], parameters: Mapping[str, object]) -> None:
        super().__init__(backbone, memory, parameters)
        gathered = gathered_by(backbone)
        self._accesses = {id(backbone.instructions[n]): access for n, access in gathered.accesses.items()}
        self._computing = {id(backbone.instructions[n]) for n in gathered.computing}
        """Instructions whose values are no terms, but sums of elements of index arrays."""

    def number(self, value: object, dtype: DType) -> Terms:
        return _one(value if isinstance(value, Term) else number_of(value, dtype))

    def position(self, index: AxisSum, dtype: DType, axes: tuple[int, ...], fixed: dict[int, int]) -> Terms:
        found: Any = np.frompyfunc(lambda place: number_of(place, dtype), 1, 1)(self.index_of(index, axes, fixed))
        return _one(found) if isinstance(found, Term) else found

    def apply(self, instruction: Instruction, axes: tuple[int, ...], fixed: dict[int, int], carried: Terms | None) -> Terms:
        access = self._accesses.get(id(instruction))
        if access is None:
            return super().apply(instruction, axes, fixed, carried)
        (place,) = instruction.operands
        places: Any = np.empty(tuple(self.sizes[a] for a in axes), object)
        places[...] = self.operand(place, instruction, axes, fixed, carried)
        starts = self.starts(access, axes, fixed, _each(_constant_of, [places]))
        return _each(_element_at, [starts, places])

    def starts(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int], places: Array) -> Terms:
        """The elements at these places of an array, where a gather counts on from, by elements of index arrays.

        access: what the places are, in the axes.
        """
        del axes, fixed
        name = self.backbone.regions[access.region].name

        def start(place: int) -> Term:
            return atom(name, (place,))

        return _each(start, [places])

    def compute(self, instruction: Instruction, operands: list[Terms]) -> Terms:
        operator, dtype = instruction.operator, instruction.dtype
        if id(instruction) in self._computing:
            return _each(lambda *items: _index_by(operator, *map(_index_of, items)), operands)
        if operator is Operator.CAST:
            source = _source(self.backbone, instruction)

            def converted(term: Term) -> Term:
                return (
                    _with_arms(lambda arm: convert(arm, source, dtype), term) if _is_mask(term) else convert(term, source, dtype)
                )

            return _each(converted, operands)
        if operator in COMPARING:

            def compared(a: Term, b: Term) -> Term:
                return _compared(operator, dtype, a, b)

            return _each(compared, operands)
        if operator is Operator.FMA:
            operands = [self._factor(o, term, dtype) for o, term in zip(instruction.operands, operands, strict=True)]
        return _each(lambda *items: term_of(operator, *items), operands)

    def _factor(self, operand: Operand, terms: Terms, dtype: DType) -> Terms:
        """A factor that is converted first."""
        source = self.backbone.instructions[operand.instruction].dtype if isinstance(operand, Result) else dtype

        def converted(term: Term) -> Term:
            return convert(term, source, dtype)

        return terms if source == dtype else _each(converted, [terms])


def number_of(value: Any, dtype: DType) -> Term:
    """A number as the type holds it."""
    with np.errstate(over="ignore"):  # beyond the type: an infinity
        held = np.asarray(value).astype(to_numpy(dtype)).item()
    if not dtype.is_float:
        return constant(int(held))
    return constant(Fraction(float(held)) if isfinite(held) else float(held))


def term_of(operator: Operator, *operands: Term) -> Term:
    """One scalar operation of the mathematics; `FMA` is a product and a sum."""
    match operator:
        case Operator.MOVE:
            return operands[0]
        case Operator.ADD:
            return apply("+", *operands)
        case Operator.SUB:
            return apply("-", *operands)
        case Operator.MUL:
            return apply("*", *operands)
        case Operator.DIV:
            return apply("/", *operands)
        case Operator.FMA:
            total = operands[-1]
            for n in range(len(operands) - 3, -1, -2):
                total = apply("+", apply("*", *operands[n : n + 2]), total)
            return total
        case Operator.MAX | Operator.MIN:
            return _extreme(operator, *operands)
        case Operator.SELECT:
            return _selected(*operands)
        case (
            Operator.LOAD
            | Operator.STORE
            | Operator.CAST
            | Operator.GATHER
            | Operator.LESS
            | Operator.LESS_EQUAL
            | Operator.EQUAL
        ):
            raise AssertionError(f"{operator.value} is no arithmetic on one type")
        case _:
            return apply(operator.value, *operands)


def _index_of(value: Term | Linear[Term]) -> Linear[Term]:
    if isinstance(value, Linear):
        return value
    return Linear((), int(value.data[0])) if value.op == "constant" else variable(value)


def _element_at(start: Term, place: Term | Linear[Term]) -> Term:
    return element_behind(start, _index_of(place).terms)


def _constant_of(value: Term | Linear[Term]) -> int:
    return _index_of(value).constant


def _index_by(operator: Operator, *sums: Linear[Term]) -> Linear[Term]:
    """A step on the way to a place, of sums that `gathered_by` has read."""
    match operator, sums:
        case Operator.ADD, (a, b):
            return a.plus(b)
        case Operator.MUL, ((a, Linear(terms=(), constant=times)) | (Linear(terms=(), constant=times), a)):
            return a.scaled(times)
        case ((Operator.MOVE | Operator.CAST), (a,)):
            return a
        case ((Operator.MIN | Operator.MAX), ((a, Linear(terms=())) | (Linear(terms=()), a))):
            return a
        case _:
            raise AssertionError(f"{operator.value} on the way to a place")


def _compared(operator: Operator, dtype: DType, a: Term, b: Term) -> Term:
    """1 where the comparison holds, else 0: of numbers at once, of data a choice by the comparison. UnsupportedError."""
    sign = COMPARING[operator]
    if a.op == b.op == "constant":
        return constant(int(COMPARISONS[sign].holds(a.data[0], b.data[0])))
    if not dtype.is_float:
        raise _not_followed(f"{operator.value} of data of type {dtype}")
    if any(t.op == "constant" and not isfinite(t.data[0]) for t in (a, b)):
        raise _not_followed(f"{operator.value} of data and a number that is not finite")
    return apply(f"{_CHOICE}{sign}", a, b, constant(1), constant(0))


def _selected(mask: Term, chosen: Term, other: Term) -> Term:
    """`chosen` where the mask is not 0. UnsupportedError for a mask of data."""
    if not _is_mask(mask):
        raise _not_followed("a choice by a value that is no comparison")
    return _with_arms(lambda arm: chosen if arm.data[0] != 0 else other, mask)


def _is_mask(term: Term) -> bool:
    """Whether it is a number, or a choice of such by comparisons."""
    return all(t.op == "constant" for t in _arms(term))


def _arms(term: Term) -> Iterator[Term]:
    if term.op.startswith(_CHOICE):
        yield from _arms(term.args[2])
        yield from _arms(term.args[3])
    else:
        yield term


def _with_arms(function: Callable[[Term], Term], term: Term) -> Term:
    """The choice with the function of each arm."""
    if not term.op.startswith(_CHOICE):
        return function(term)
    a, b, chosen, other = term.args
    return apply(term.op, a, b, _with_arms(function, chosen), _with_arms(function, other))


def _not_followed(what: str) -> UnsupportedError:
    message = f"expected operations that the proof of explored kernels follows, got {what}"
    return UnsupportedError(Diagnostic("PROOF_CONDITION", message, fix="The result is tested, not proved."))


def _extreme(operator: Operator, first: Term, second: Term) -> Term:
    """Minus infinity is no larger than anything, infinity no smaller."""
    neutral = _LEAST if operator is Operator.MAX else -_LEAST
    for one, other in ((first, second), (second, first)):
        if one.op == "constant" and one.data[0] == neutral:
            return other
    return apply(operator.value, first, second)


def _source(backbone: Backbone, instruction: Instruction) -> DType:
    """The type of what is converted."""
    match instruction.operands[0]:
        case Result(number, _, _):
            return backbone.instructions[number].dtype
        case Parameter(_, dtype):
            return dtype
        case Constant():
            return instruction.dtype
        case operand:
            raise AssertionError(f"a conversion of {operand}")


def _one(term: Term) -> Terms:
    found = np.empty((), object)
    found[()] = term
    return found


def _each(function: Callable[..., object], operands: list[Terms]) -> Terms:
    return np.asarray(np.frompyfunc(function, len(operands), 1)(*operands), object)
