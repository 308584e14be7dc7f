"""Conversions between element types as terms."""

from __future__ import annotations

from warploom.core import DType
from warploom.terms.term import Term, apply, constant

_MANTISSA_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_EXPONENT_BITS = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


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
    `cast.<target>`, because a computed value may have wrapped or been rounded in its own type.
    """
    if source == target:
        return term
    if term.op == "constant":
        value = term.data[0]
        if target.is_float or float(value).is_integer():
            return term if target.is_float else constant(int(value))
    is_element = term.op == "atom" or (term.op == "component" and term.args[0].op == "atom")
    if is_element and is_exact(source, target):
        return term
    return apply(f"cast.{target.name}", term)
