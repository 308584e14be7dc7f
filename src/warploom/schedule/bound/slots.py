"""Slots: the axes of an instruction, each with its part in the indices of what the instruction accesses."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.schedule.backbone import Access


def slot_groups(access: Access | None, axes: Sequence[int]) -> list[int]:
    """For each axis a number that axes share whose indices are added up in one array axis."""
    found = list(range(len(axes)))
    for index in access.indices if access else ():
        together = [n for n, axis in enumerate(axes) if any(a == axis for a, _ in index.terms)]
        for n in together:
            old, new = found[n], found[together[0]]
            found = [new if f == old else f for f in found]
    return [found.index(group) for group in found]


def slot_rows(access: Access | None, axes: Sequence[int]) -> list[tuple[int, ...]]:
    """For each axis its factor in the index of every array axis."""
    if access is None:
        return [() for _ in axes]
    return [tuple(dict(index.terms).get(axis, 0) for index in access.indices) for axis in axes]
