"""Conversions between element types as terms."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from warploom.core import BY_NAME, DType, integer_range, scalar_of, to_numpy
from warploom.terms.term import Number, Term, apply, constant

_MANTISSA_BITS = {"e5m2": 3, "e4m3": 4, "f16": 11, "tf32": 11, "bf16": 8, "f32": 24, "f64": 53}
_EXPONENT_BITS = {"e5m2": 5, "e4m3": 4, "f16": 5, "tf32": 8, "bf16": 8, "f32": 8, "f64": 11}


def is_exact(source: DType, target: DType) -> bool:
    """Whether every value of scalar type `source` is a value of `target`."""
    if source == target:
        return True
    if source.is_float and target.is_float:
        wide = _MANTISSA_BITS[target.name] >= _MANTISSA_BITS[source.name]
        return wide and _EXPONENT_BITS[target.name] >= _EXPONENT_BITS[source.name]
    if source.is_float:
        return False
    magnitude = source.bits - (source.kind == "int")
    if target.is_float:
        return magnitude <= _MANTISSA_BITS[target.name] and target.name != "f16"
    if source.kind == "int" and target.kind == "uint":
        return False
    return magnitude <= target.bits - (target.kind == "int")


def convert(term: Term, source: DType, target: DType) -> Term:
    """`term`, of scalar type `source`, converted to `target`.

    An element that fits exactly stays itself, so that a spec may mix element types; everything else is the opaque operator
    `cast.<source>.<target>`, because a computed value may have wrapped or been rounded in its own type.
    """
    if source == target:
        return term
    if term.op == "constant":
        value = term.data[0]
        if target.is_float:
            return term
        if isinstance(value, int):
            return held_number(value, target)
        low, high = integer_range(target)
        if low <= value <= high and float(value).is_integer():
            return constant(int(value))
    is_element = term.op == "atom" or (term.op == "component" and term.args[0].op == "atom")
    if is_element and is_exact(source, target):
        return term
    return apply(f"cast.{source.name}.{target.name}", term)


def held_number(value: int, dtype: DType) -> Term:
    """An integer as `dtype` holds it: wrapped, or the float itself."""
    if dtype.is_float:
        return constant(value)
    low, high = integer_range(dtype)
    return constant((value - low) % (high - low + 1) + low)


def cast_types(term: Term) -> tuple[DType, DType] | None:
    """Source and target of a conversion; None for any other term."""
    match term.op.split("."):
        case ["cast", source, target]:
            return BY_NAME[source], BY_NAME[target]
        case _:
            return None


def undone(operand: Term, source: DType, target: DType, types: Mapping[str, DType]) -> Term | None:
    """The value that a conversion of `operand` gives back unchanged; None when it may change the value.

    types: of the elements, by array. A value survives a type that holds it exactly, and back in its own type a word one of at
    least as many bits.
    """
    inner = cast_types(operand)
    if inner is not None and inner[1] == source and inner[0] == target and _survives(target, source):
        return operand.args[0]
    element = operand.args[0] if inner is not None else operand
    atom = element.args[0] if element.op == "component" else element
    if atom.op != "atom" or atom.data[0] not in types:
        return None
    declared = scalar_of(types[atom.data[0]])
    if inner is not None and inner[1] != source:
        return None
    through = (source,) if inner is None else inner
    survives = _survives if target == declared else is_exact
    return element if is_exact(declared, target) and all(survives(declared, t) for t in through) else None


def narrow_quotient(term: Term, source: DType, target: DType, types: Mapping[str, DType]) -> Term | None:
    """`cast.<source>.<target>` of a quotient or remainder of values of `target`: it is the one computed in that type.

    Before: cast.i32.i8(x / 3), x of i8. After: x / 3, in i8. The one quotient that i8 does not hold wraps in it, too.
    """
    if term.op not in ("/", "//", "%") or source.is_float or target.is_float or not is_exact(target, source):
        return None
    operands: list[Term] = []
    for operand in term.args:
        if operand.op == "constant":
            low, high = integer_range(target)
            own = operand if isinstance(operand.data[0], int) and low <= operand.data[0] <= high else None
        elif cast_types(operand) == (target, source):
            own = operand.args[0]
        else:
            atom = operand.args[0] if operand.op == "component" else operand
            is_own = atom.op == "atom" and atom.data[0] in types and scalar_of(types[atom.data[0]]) == target
            own = operand if is_own else None
        if own is None:
            return None
        operands.append(own)
    return apply(term.op, *operands)


def _survives(dtype: DType, through: DType) -> bool:
    """Whether converting to `through` and back changes no value of `dtype`."""
    both_words = not dtype.is_float and not through.is_float
    return is_exact(dtype, through) or (both_words and through.bits >= dtype.bits)


def converted(value: Number, source: DType, target: DType) -> Number | None:
    """A number of type `source` as `target` holds it; None where the machine's answer is not known here."""
    if not target.is_float:
        limit = 1 << (target.bits - (target.kind == "int"))
        whole = int(value)
        if source.is_float:
            return whole if (-limit if target.kind == "int" else 0) <= whole < limit else None
        whole %= 1 << target.bits
        return whole - (1 << target.bits) if target.kind == "int" and whole >= limit else whole
    if target.name in ("bf16", "tf32", "e4m3", "e5m2") or Fraction(float(value)) != value:
        return None
    with np.errstate(over="ignore"):
        rounded = Fraction(float(to_numpy(target).type(float(value))))
    return int(rounded) if rounded.denominator == 1 else rounded
