"""A recurrence evaluated by NumPy: one iteration after the other, on all rows at once. Right and slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, to_numpy
from warploom.schedule.backbone import Operator, compute
from warploom.schedule.frontend.sizes import Sizes
from warploom.schedule.frontend.tree import Apply, Expression, IndexSum, IndexValue, Number, Read, Scalar, SizeValue, dtype_of
from warploom.schedule.recurrences.tree import Kept, Recurrence

Array: TypeAlias = NDArray[Any]


class Evaluation:
    """One call. `arrays` by name; scalars in their order."""

    def __init__(
        self, recurrence: Recurrence, sizes: Mapping[str, int], arrays: Mapping[str, Array], scalars: Sequence[float]
    ) -> None:
        self.recurrence = recurrence
        self.sizes = Sizes(sizes)
        self.arrays = arrays
        self.scalars = {p.name: np.asarray(v).astype(to_numpy(p.dtype)) for p, v in zip(recurrence.scalars, scalars, strict=True)}
        ends = [end.whole_at(self.sizes) for _, end in recurrence.rows]
        self.places: dict[str, Any] = {
            name: np.arange(end).reshape([-1 if m == n else 1 for m in range(len(ends))])
            for n, ((name, _), end) in enumerate(zip(recurrence.rows, ends, strict=True))
        }
        self.end = recurrence.ranges[-1][1].whole_at(self.sizes)
        self.states: dict[str, Array] = {}

    def run(self) -> None:
        made = self.recurrence
        for kept in made.first:
            self.store(kept)
        self.states = {s.name: self.value(s.initial, made.dtype) for s in made.states}
        for number in range(made.start, self.end):
            self.places[made.index] = number
            for kept in made.stores:
                self.store(kept)
            self.states = {s.name: self.value(s.step, made.dtype) for s in made.states}

    def store(self, kept: Kept) -> None:
        value = self.value(kept.value, kept.array.dtype)
        self.arrays[kept.array.name][tuple(self.place(i) for i in kept.indices)] = value

    def place(self, index: IndexSum) -> Any:
        shift = index.sum.constant + index.sizes.whole_at(self.sizes)
        return sum((factor * self.places[name] for name, factor in index.sum.terms), start=shift)

    def value(self, value: Expression, dtype: DType) -> Array:
        match value:
            case Number(number):
                return np.asarray(number).astype(to_numpy(dtype))
            case SizeValue(size):
                return np.asarray(size.whole_at(self.sizes)).astype(to_numpy(dtype))
            case IndexValue(index=index, dtype=own):
                return np.asarray(self.place(index)).astype(to_numpy(own or dtype))
            case Scalar(parameter):
                return self.states[parameter.name] if parameter.name in self.states else self.scalars[parameter.name]
            case Read(array=array, indices=indices, fill=fill):
                places = np.broadcast_arrays(*[self.place(i) for i in indices])
                held = self.arrays[array.name]
                if fill is None:
                    return held[tuple(places)]
                inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(places, held.shape, strict=True)])
                outside = np.asarray(fill).astype(held.dtype)
                if not held.size:
                    return np.broadcast_to(outside, np.shape(inside))
                return np.where(inside, held[tuple(np.where(inside, p, 0) for p in places)], outside)
            case Apply(operator=operator, operands=operands, dtype=own):
                inner = dtype_of(operands[0]) if operator is Operator.CAST else own
                return compute(operator, [self.value(o, inner or dtype) for o in operands], own or dtype)
            case _:
                raise AssertionError(value)
