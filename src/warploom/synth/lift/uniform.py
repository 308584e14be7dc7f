"""Index values that are the same for all threads, as linear sums without an array per thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from warploom.core.linear import Linear, collected
from warploom.ir import IndexExpr, IndexVar, SizeVar, linear

Uniform: TypeAlias = Linear[IndexExpr]
"""A sum whose atoms are index variables and sizes."""


def uniform_form(expr: IndexExpr) -> Uniform | None:
    """`expr` as sums and products with constants; None when anything but variables and sizes is in it."""
    form = linear(expr)
    return form if all(isinstance(atom, IndexVar | SizeVar) for atom, _ in form.terms) else None


def value_of(form: Uniform, values: Mapping[str, Linear[str]]) -> Linear[str] | None:
    """The sum for values of its index variables; None if one of them has none."""
    terms: list[tuple[str, int]] = []
    constant = form.constant
    for atom, coefficient in form.terms:
        assert isinstance(atom, IndexVar | SizeVar)
        if isinstance(atom, SizeVar):
            terms.append((atom.name, coefficient))
            continue
        value = values.get(atom.name)
        if value is None:
            return None
        constant += coefficient * value.constant
        terms += [(name, coefficient * c) for name, c in value.terms]
    return collected(terms, constant)
