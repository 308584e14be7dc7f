"""Arrays of terms that an ordinary Python spec can run on: NumPy object arrays with strict indices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, UserError
from warploom.terms.promotion import held_term
from warploom.terms.term import Term, atom, component, constant, pack, plain, to_operand, vector_element


class DataIndexError(IndexError):
    """Data as an index, where they are none."""


class SymbolicArray(np.ndarray[Any, np.dtype[np.object_]]):
    """An object array of terms. Negative or too large indices and data as an index raise IndexError instead of wrapping.

    Numbers stored into it become constants; the plain integer 0, or `blank`, marks an element of an output that was never
    stored to.
    """

    label: str = "array"
    kept: Callable[[Term], Term] | None = None
    """Gives the content of a cell after a term was stored to it; None: the term itself."""
    lanes: int = 1
    """Components of an element; with several, `a[i].x = ...` stores one of them."""
    gathered: Callable[[str, list[Term]], Term] | None = None
    """Gives the element at indices of which some are data; None: data are no index. Parts of an array do not have it."""
    blank: Term | None = None
    """An output's element that was never stored to; None: the plain integer 0."""

    def __array_finalize__(self, obj: object) -> None:
        self.label = getattr(obj, "label", "array")
        self.kept = getattr(obj, "kept", None)
        self.lanes = getattr(obj, "lanes", 1)
        self.blank = getattr(obj, "blank", None)

    def __getitem__(self, key: Any) -> Any:
        if self.gathered is not None:
            parts = _parts(key)
            if len(parts) == self.ndim and any(isinstance(p, Term) for p in parts):
                return self._gathered(self.gathered, parts)
        self._check(key)
        found: Any = super().__getitem__(key)
        if self.lanes == 1 or not isinstance(found, Term | int):
            return found
        return vector_element(self._vector(found), partial(self._replace, key))

    def _gathered(self, gathered: Callable[[str, list[Term]], Term], parts: tuple[Any, ...]) -> Term:
        """The element at indices of which some are data; the others lie inside."""
        found: list[Term] = []
        for axis, part in enumerate(parts):
            if isinstance(part, Term):
                found.append(plain(part))
                continue
            if isinstance(part, bool) or not isinstance(part, int):
                raise IndexError(f"expected integers beside data as indices of {self.label}, got {part}")
            if not 0 <= part < self.shape[axis]:
                raise IndexError(f"expected index {axis} of {self.label} in 0..{self.shape[axis] - 1}, got {part}")
            found.append(constant(part))
        return gathered(self.label, found)

    def _vector(self, found: Any) -> Term:
        """An element; the plain 0 of an output that was never stored to has zeros as components."""
        return found if isinstance(found, Term) else pack(*[found] * self.lanes)

    def _replace(self, key: Any, position: int, value: object) -> None:
        term = to_operand(value)
        if term is None:
            raise TypeError(f"expected a number or a term, got {type(value).__name__}")
        old = self._vector(super().__getitem__(key))
        self[key] = pack(*(term if k == position else component(old, k) for k in range(self.lanes)))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        terms = _as_terms(value)
        target: Any = super().__getitem__(key)
        if not isinstance(terms, Term) and not isinstance(target, np.ndarray):
            # NumPy would put the whole array into the one element
            if terms.size != 1:
                raise TypeError(f"expected one number for an element of {self.label}, got an array of shape {terms.shape}")
            terms = _as_terms(terms.item())
        kept = self.kept
        if kept is not None:
            terms = kept(terms) if isinstance(terms, Term) else np.frompyfunc(kept, 1, 1)(terms)
        super().__setitem__(key, cast("Any", terms))

    def fill(self, value: Any) -> None:
        self[...] = value

    def _check(self, key: Any) -> None:
        parts = _parts(key)
        if len(parts) <= self.ndim:
            for part, extent in zip(parts, self.shape, strict=False):
                if type(part) is not int or not 0 <= part < extent:
                    break
            else:  # nearly all indices are plain integers inside
                return
        if len(parts) > self.ndim:
            raise IndexError(f"expected {self.ndim} indices of {self.label}, got {len(parts)}")
        if any(p is Ellipsis or p is None for p in parts):
            return
        for axis, part in enumerate(parts):
            if isinstance(part, Term):
                raise DataIndexError(f"expected an index of {self.label} that does not depend on data, got {part}")
            if isinstance(part, bool | np.bool_):
                raise IndexError(
                    f"expected an integer as index of {self.label}, got {part}, which NumPy and lists read differently"
                )
            if isinstance(part, slice | np.ndarray | list):
                continue
            position = int(part)
            if not 0 <= position < self.shape[axis]:
                raise IndexError(
                    f"expected index {axis} of {self.label} in 0..{self.shape[axis] - 1}, got {position}"
                    if self.shape[axis]
                    else f"expected no access to {self.label}, whose extent {axis} is 0, got index {position}"
                )


def _parts(key: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))


def _as_terms(value: Any) -> Term | npt.NDArray[np.object_]:
    if isinstance(value, Term):
        return plain(value)
    term = to_operand(value)
    if term is not None:
        return term
    if isinstance(value, np.ndarray | list | tuple):
        items: npt.NDArray[np.object_] = np.asarray(value, dtype=object)
        if items.ndim == 0:  # a whole sum, say; stored as it is it would be an array within the array
            return _as_terms(items.item())
        flat = np.empty(items.size, dtype=object)
        for k, item in enumerate(items.ravel().tolist()):
            converted = to_operand(item)
            if converted is None:
                raise TypeError(f"expected numbers or terms, got {type(item).__name__}")
            flat[k] = converted
        return flat.reshape(items.shape)
    raise TypeError(f"expected a number or a term, got {type(value).__name__}")


def symbols(name: str, shape: tuple[int, ...], lanes: int = 1, kept: Callable[[Term], Term] | None = None) -> SymbolicArray:
    """`name[i, ...]` as an atom for every index of `shape`; `kept`: see `SymbolicArray`."""
    flat = np.empty(int(np.prod(shape, dtype=np.int64)), dtype=object)
    for k, index in enumerate(np.ndindex(shape)):
        flat[k] = atom(name, index, lanes)
    return _labelled(flat.reshape(shape), name, kept, lanes)


def zero_array(
    name: str, shape: tuple[int, ...], kept: Callable[[Term], Term] | None = None, blank: Term | None = None, lanes: int = 1
) -> SymbolicArray:
    """An output that starts at zero; `stored_mask` tells which elements were stored to since."""
    cells = np.zeros(shape, dtype=object)
    if blank is not None:
        cells.fill(blank)
    array = _labelled(cells, name, kept, lanes)
    array.blank = blank
    return array


def stored_mask(array: SymbolicArray) -> npt.NDArray[np.bool_]:
    """Flags of the elements of a `zero_array` that were stored to."""
    flat = [v is not array.blank if isinstance(v, Term) else _is_number(v) for v in np.asarray(array).ravel().tolist()]
    return np.array(flat, dtype=bool).reshape(array.shape)


def as_terms(array: SymbolicArray) -> npt.NDArray[np.object_]:
    """A plain object array of terms, untouched zeros as the constant 0. UserError for anything else that NumPy put there."""
    result = np.empty(array.shape, dtype=object)
    for index, value in np.ndenumerate(np.asarray(array)):
        term = to_operand(value)
        if term is None:
            message = f"expected numbers in {array.label}, got {type(value).__name__} at {index}"
            raise UserError(Diagnostic("SPEC_FAILED", message, fix="Store by indices or slices: out[i] = ..."))
        result[index] = held_term(term)
    return result


def _is_number(value: Any) -> bool:
    """Whether a cell holds a number that NumPy put there past `__setitem__`; the plain 0 marks one never stored to."""
    return type(value) is not int or value != 0


def _labelled(array: npt.NDArray[np.object_], name: str, kept: Callable[[Term], Term] | None, lanes: int) -> SymbolicArray:
    result = array.view(SymbolicArray)
    result.label = name
    result.kept = kept
    result.lanes = lanes
    return result
