"""Problems and views made by hand, without the space of choices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, tilings
from warploom.schedule.bound.problem import Problem, TargetFigures, View
from warploom.schedule.bound.tables import figures_of, tables
from warploom.schedule.bound.total import Scratch, evaluate
from warploom.schedule.bound.views import open_view, scratch
from warploom.schedule.targets import target
from warploom.solve.jit import entry

SQUARE = {"m": 1024, "n": 1024, "k": 1024}
SQUARE_TILES = {"m": tilings(1024, 2, [32, 4]), "n": tilings(1024, 2, [32, 4]), "k": tilings(1024, 1, [32])}
LONG = {"n": 2**26}
LONG_TILES = {"n": tilings(2**26, 2, [1024, 4])}
MIRRORED = {1: 2, 2: 1, 4: 8, 8: 4, 16: 16}


@entry
def evaluated(problem: Problem, figures: TargetFigures, view: View, scratch: Scratch) -> float:
    return evaluate(problem, figures, view, scratch)


class Case:
    """A kernel on a target with an open view that a test narrows."""

    def __init__(self, kernel: str, sizes: Mapping[str, int], tiles: Mapping[str, tuple[tuple[int, ...], ...]], on: str) -> None:
        program = tensor_kernel(kernel).program(sizes=sizes, tiles=tiles, divisors_only=True)
        self.backbone: Backbone = program.stages[0]
        self.target = target(on)
        self.problem: Problem = tables(self.backbone, self.target)
        self.figures: TargetFigures = figures_of(self.target)
        self.view: View = open_view(self.problem, self.backbone, len(self.backbone.instructions) + len(self.backbone.dims))
        self.scratch: Scratch = scratch(self.problem)

    def bound(self) -> float:
        """Milliseconds."""
        return evaluated(self.problem, self.figures, self.view, self.scratch) / 1e6

    def instruction(self, name: str) -> int:
        return next(n for n, i in enumerate(self.backbone.instructions) if i.name == name)

    def dims(self, instruction: int) -> list[int]:
        return list(self.backbone.dims_of(instruction))

    def size(self, axis: str, level: int, size: int) -> None:
        for n, extent in enumerate(self.backbone.extents):
            if self.backbone.axes[extent.axis].name == axis and extent.level == level:
                self.view.smallest[n] = self.view.largest[n] = size

    def kinds(self, instruction: int, kinds: Mapping[tuple[str, int], int]) -> None:
        for dim in self.dims(instruction):
            extent = self.backbone.extents[self.backbone.dims[dim].extent]
            key = (self.backbone.axes[extent.axis].name, extent.level)
            if key in kinds:
                self.view.kind[dim] = kinds[key]

    def order(self, first: int, second: int, mask: int) -> None:
        """Sets the order of two statements."""
        self.view.order[first, second] = mask
        self.view.order[second, first] = sum(MIRRORED[b] for b in MIRRORED if mask & b)


def narrowed(mask: int, rng: np.random.Generator) -> int:
    """Without one of its values, or only one of them."""
    bits = [b for b in MIRRORED if mask & b]
    if len(bits) < 2:
        return mask
    chosen = int(rng.choice(bits))
    return chosen if rng.random() < 0.3 else mask & ~chosen


def narrow_anything(case: Case, rng: np.random.Generator) -> str:
    """One random restriction, whether or not the constraints of a space would allow it; what it was."""
    view = case.view
    match int(rng.integers(6)):
        case 0 | 1:
            dim = int(rng.integers(len(view.kind)))
            view.kind[dim] = narrowed(int(view.kind[dim]), rng)
            return f"kind {dim} {view.kind[dim]}"
        case 2:
            extent = int(rng.integers(len(view.smallest)))
            sizes = case.backbone.extents[extent].sizes
            rest = [s for s in sizes if view.smallest[extent] <= s <= view.largest[extent]]
            rest = (rest[1:] if rng.random() < 0.5 else rest[:-1]) or rest
            view.smallest[extent], view.largest[extent] = rest[0], rest[-1]
            return f"size {extent} {rest}"
        case 3 | 4:
            first, second = (int(n) for n in rng.choice(len(view.order), 2, replace=False))
            case.order(first, second, narrowed(int(view.order[first, second]), rng))
            return f"order {first} {second} {view.order[first, second]}"
        case _:
            first, second = (int(n) for n in rng.choice(len(view.kind), 2, replace=False))
            mask = narrowed(int(view.mapping[first, second]), rng)
            view.mapping[first, second] = mask
            view.mapping[second, first] = (mask & 3) | (mask & 4) << 1 | (mask & 8) >> 1
            return f"mapping {first} {second} {mask}"
