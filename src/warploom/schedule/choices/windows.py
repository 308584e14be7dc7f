"""Inputs of which neighbouring results read the same elements: stencils and convolutions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from math import gcd

from warploom.schedule.backbone import Access, AxisSum, Backbone, Operator, Role, run_time_sizes

_SHORTEST_PART = 16
"""Elements of a part that is no window of a pooling."""


def windowed_regions(backbone: Backbone) -> frozenset[int]:
    """Inputs that a block may copy to shared memory as one box, with the edges that its neighbours read, too: those that
    several loads read at places which differ by constants, or one load at a sum of indices; beside them the inputs, such as
    weights, that many results read alike."""
    if run_time_sizes(backbone):
        return frozenset()
    inputs = [n for n, r in enumerate(backbone.regions) if r.role is Role.INPUT and not _is_gathered(backbone, n)]
    parts = {backbone.rewritten.outer, backbone.rewritten.inner} if backbone.rewritten is not None else set[int]()
    windows = {n for n in inputs if _is_windowed(backbone, _accesses(backbone, n), parts)}
    stored = {a for i in backbone.instructions if i.operator is Operator.STORE and i.access is not None for a in _axes(i.access)}
    shared = {n for n in inputs if any(stored - _axes(access) for access in _accesses(backbone, n))}
    return frozenset(windows | shared if windows else windows)


def neighbours(backbone: Backbone, regions: Collection[int]) -> set[int]:
    """Axes along which results next to each other read the same elements of these regions."""
    found: set[int] = set()
    for region in regions:
        for indices in zip(*(a.indices for a in _accesses(backbone, region)), strict=True):
            if len({x.constant for x in indices}) > 1 or _is_shared(backbone, indices[0]):
                found.update(axis for axis, _ in indices[0].terms)
    return found


def stored_axes(backbone: Backbone) -> list[int]:
    """Axes of the first array that is stored, the fastest first."""
    access = next(i.access for i in backbone.instructions if i.operator is Operator.STORE)
    assert access is not None
    strides = backbone.regions[access.region].strides
    return [a for _, a in sorted((s, a) for i, s in zip(access.indices, strides, strict=True) for a, _ in i.terms)]


def written_out(sizes: Iterable[tuple[int, int]], room: int) -> set[int]:
    """Axes whose loops fit together into so many copies of a body; `sizes` has them in the order in which they are taken."""
    found: set[int] = set()
    for axis, size in sizes:
        if size <= room:
            found.add(axis)
            room //= size
    return found


def sliding_with(backbone: Backbone, regions: Collection[int], axes: Collection[int]) -> set[int]:
    """Axes that share an index of these regions with one of `axes`: a step along both may read the same element."""
    found: set[int] = set()
    for region in regions:
        for access in _accesses(backbone, region):
            for index in access.indices:
                terms = {axis for axis, _ in index.terms}
                if terms & set(axes):
                    found |= terms
    return found


def axes_read(backbone: Backbone, regions: Collection[int]) -> list[set[int]]:
    """Axes that each access to these regions depends on."""
    return [_axes(access) for region in regions for access in _accesses(backbone, region)]


def _is_gathered(backbone: Backbone, region: int) -> bool:
    return any(i.operator is Operator.GATHER and i.region == region for i in backbone.instructions)


def _accesses(backbone: Backbone, region: int) -> list[Access]:
    found = (i.access for i in backbone.instructions if i.access is not None and i.access.region == region)
    return list(dict.fromkeys(found))


def _axes(access: Access) -> set[int]:
    return {axis for index in access.indices for axis, _ in index.terms}


def _is_windowed(backbone: Backbone, accesses: Sequence[Access], parts: Collection[int]) -> bool:
    """parts: axes that are one index together, tile by tile."""
    if not accesses or any([x.terms for x in a.indices] != [x.terms for x in accesses[0].indices] for a in accesses):
        return False
    return any(_meet(backbone, one, other) for one, other in combinations(accesses, 2)) or any(
        _is_shared(backbone, index) and not {a for a, _ in index.terms} <= set(parts) for index in accesses[0].indices
    )


def _meet(backbone: Backbone, one: Access, other: Access) -> bool:
    """Whether some result reads by one access what another reads by the other: not, say, at all even and at all odd places, nor
    in the first and in the second half."""

    def is_met(index: AxisSum, apart: int) -> bool:
        reach = sum(abs(step) * (backbone.axes[axis].size - 1) for axis, step in index.terms)
        return abs(apart) <= reach and (not index.terms or apart % gcd(*(step for _, step in index.terms)) == 0)

    return all(is_met(x, y.constant - x.constant) for x, y in zip(one.indices, other.indices, strict=True))


def _is_shared(backbone: Backbone, index: AxisSum) -> bool:
    """Whether several points have one place along it, or places between each other's: not where an axis counts through parts,
    each of which lies behind the one before."""
    terms = sorted((abs(step), backbone.axes[axis].size) for axis, step in index.terms)
    if not terms:
        return False
    reach = terms[0][0] * (terms[0][1] - 1)
    for step, size in terms[1:]:
        if step <= max(reach, _SHORTEST_PART):
            return True
        reach += step * (size - 1)
    return False
