"""Instruction forms and user definitions as gathers, and the sets that they make.

Forms say which elements of the output they write and from where. `assemble` finds, for every element, the sources that some form
brings: these are the values of its point. Elements that have one source in all members share one point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np

from warploom.core import Diagnostic, UnsupportedError
from warploom.ir.dataflow.gather_set import UNDEFINED, GatherSet, Shape
from warploom.ir.dataflow.sets.listed import ListedSet, numbered, numbered_text
from warploom.ir.dataflow.sets.parts import FactoredPart, ListedPart, Part, UnionSet, Values, member_text
from warploom.ir.swizzle import IntArray, Tables

DENSE_CELLS = 1 << 22
"""Sets without factored forms are one table up to this many entries."""
MOST_VALUES = (1 << 15) - 1
"""Most values of one element: values are 16-bit numbers."""


@dataclass(frozen=True, eq=False, slots=True)
class Listed:
    """Gathers that write the elements `at` from the rows of `sources`."""

    at: IntArray
    """[changed]"""
    sources: IntArray
    """[gathers, changed]"""
    costs: IntArray
    text: Callable[[int], str]


@dataclass(frozen=True, eq=False, slots=True)
class Free:
    """Groups of elements that each take any of their options."""

    at: IntArray
    """[groups, width]"""
    sources: IntArray
    """[groups, options, width]: distinct options in each group."""
    text: Callable[[tuple[int, ...]], str]
    """Gives the text for the options of all groups."""
    cost: int = 1


Portion: TypeAlias = Listed | Free


def tabulated(arguments: tuple[Shape, ...], out: Shape, gathers: Sequence[tuple[str, IntArray]]) -> GatherSet:
    """The set of the given gathers (name, [output elements] sources); of equal ones the first name stays. Costs are 0."""
    names = [name for name, _ in gathers]
    sources = np.stack([np.asarray(gather, np.int64).reshape(prod(out)) for _, gather in gathers])
    form = Listed(np.arange(prod(out)), sources, np.zeros(len(names), np.int64), names.__getitem__)
    return assemble(arguments, out, sources[0], [form])


def assemble(arguments: tuple[Shape, ...], out: Shape, base: IntArray, forms: Sequence[Portion]) -> GatherSet:
    """The union of the forms; `base` ([output elements] sources) is what a form leaves alone."""
    numbers = _SourceNumbers(sum(prod(shape) for shape in arguments), base, forms)
    parts: list[Part] = []
    for form in forms:
        if isinstance(form, Listed):
            columns, tables = numbers.listed(form)
            parts.append(ListedPart(numbers.base, numbers.values, columns, numbered(tables, form.costs), form.text))
        else:
            where, options = numbers.free(form)
            parts.append(FactoredPart(numbers.base, numbers.values, where, options, form.cost, form.text))
    is_listed = all(isinstance(part, ListedPart) for part in parts)
    if is_listed and sum(part.size_bound for part in parts) * numbers.points <= DENSE_CELLS:
        union = UnionSet(parts)
        functions = union.matching(np.ones((numbers.points, numbers.values), np.bool_))
        if functions is not None:
            members = ListedSet(functions, numbers.values)
            return GatherSet(arguments, out, numbers.point, numbers.source, members, member_text(union))
    if len(parts) == 1:
        return GatherSet(arguments, out, numbers.point, numbers.source, parts[0], numbered_text(parts[0].text))
    union = UnionSet(parts)
    return GatherSet(arguments, out, numbers.point, numbers.source, union, member_text(union))


class _SourceNumbers:
    """Points and values of the elements: which sources each may have, numbered upwards."""

    def __init__(self, elements: int, base: IntArray, forms: Sequence[Portion]) -> None:
        self._width = elements - UNDEFINED
        written = [_keys(form.at, form.sources, self._width) for form in forms]
        changed = np.unique(np.concatenate([form.at.ravel() for form in forms]))
        written.append(changed * self._width + base[changed] - UNDEFINED)
        keys = _distinct_keys(written, len(base) * self._width)
        first = np.searchsorted(keys, np.arange(len(base)) * self._width)
        count = np.searchsorted(keys, np.arange(1, len(base) + 1) * self._width) - first
        self.values = max(1, int(count.max(initial=1)))
        if self.values > MOST_VALUES:
            message = f"expected at most {MOST_VALUES} sources of one element, got {self.values}"
            raise UnsupportedError(Diagnostic("TOO_LARGE", message, fix="Split the arrays."))
        self._keys, self._first = keys, first
        is_open = count > 1
        shared = not is_open.all()
        self.point: IntArray = np.where(is_open, np.cumsum(is_open) - (0 if shared else 1), 0)
        self.points = int(is_open.sum()) + shared
        self.source = np.full((len(base), self.values), UNDEFINED, np.int64)
        element, source = np.divmod(keys, self._width)
        self.source[element, np.arange(len(keys)) - first[element]] = source + UNDEFINED
        still = np.flatnonzero(count == 0)
        self.source[still, 0] = base[still]
        self.base: Values = np.zeros(self.points, np.int16)
        opened = np.flatnonzero(is_open)
        self.base[self.point[opened]] = self._value(opened, base[opened])
        self.is_open = is_open

    def _value(self, at: IntArray, sources: IntArray) -> Values:
        """Numbers of the sources of elements, the last axes of both alike."""
        if len(self._first) * self._width <= DENSE_CELLS:
            return self._dense[at * self._width + sources - UNDEFINED]
        position = np.searchsorted(self._keys, at * self._width + sources - UNDEFINED)
        return (position - self._first[at]).astype(np.int16)

    @cached_property
    def _dense(self) -> Values:
        dense: Values = np.zeros(len(self._first) * self._width, np.int16)
        dense[self._keys] = np.arange(len(self._keys)) - self._first[self._keys // self._width]
        return dense

    def listed(self, form: Listed) -> tuple[IntArray, Tables]:
        """Points that the form changes, and [gathers, points] values."""
        opened = self.is_open[form.at]
        at = form.at[opened]
        return self.point[at], self._value(at, form.sources[:, opened])

    def free(self, form: Free) -> tuple[IntArray, Values]:
        """[groups, width] points and [groups, options, width] values."""
        return self.point[form.at], self._value(form.at[:, None, :], form.sources)


def _keys(at: IntArray, sources: IntArray, width: int) -> IntArray:
    """Every pair of an element and a source of it as one number."""
    return ((at if at.ndim == 1 else at[:, None, :]) * width + sources - UNDEFINED).ravel()


def _distinct_keys(keys: Sequence[IntArray], limit: int) -> IntArray:
    """The distinct numbers (below `limit`), upwards."""
    if limit > DENSE_CELLS:
        return np.unique(np.concatenate(keys))
    seen = np.zeros(limit, np.bool_)
    for some in keys:
        seen[some] = True
    return np.flatnonzero(seen)
