"""The cost of open indices: wavefronts of shared memory, sectors of global memory, shuffles that move something, different
registers of lanes.

A request is what one warp does at once. A lower bound of its cost is what its decided lanes cost, and what its elements need
wherever they lie; once all lanes are decided it is the cost. `machines.banks` counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from warploom import machines
from warploom.ir.swizzle import Functions, Tables
from warploom.synth.network.network import UNDEFINED, BoolArray, IntArray, Network, OpenRequest, Priced, Slots
from warploom.synth.search.propagation import (
    Candidate,
    Changes,
    ConflictError,
    narrow_slots,
    slot_options,
)

Limit: TypeAlias = Literal["least", "conflict free"]
_CHUNK = 1 << 21
"""Lanes of requests that are counted together."""


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """Distinct requests of one kind through the same holes."""

    kind: Priced
    size_bytes: int
    holes: tuple[int, ...]
    points: tuple[IntArray, ...]
    """Per slot: [requests, lanes]."""
    places: IntArray
    """[requests, lanes, slot values...], -1 where a lane takes no part."""
    weight: IntArray
    """[requests]: how often each is made."""
    least: IntArray
    """[requests]."""
    is_limited: BoolArray
    """[requests]: must be without conflict."""

    def counts(self, places: IntArray, active: BoolArray) -> IntArray:
        """Costs of requests [requests, lanes]."""
        match self.kind:
            case "wavefronts":
                return machines.wavefronts_each(places * self.size_bytes, active, self.size_bytes)
            case "sectors":
                return machines.lines_each(places * self.size_bytes, active, self.size_bytes)
            case "registers":
                return machines.lines_each(places, active, line_bytes=1)
            case "shuffles":
                return (active & (places != 0)).any(axis=1).astype(np.int64)

    def ways(self, places: IntArray, active: BoolArray) -> IntArray:
        return machines.ways_each(places * self.size_bytes, active, self.size_bytes)

    def in_parts(self, limit: Limit | None) -> Iterator[_Group]:
        """A few requests at first where many functions break a limit: most do so in any of them."""
        ends = [2, 16] if limit is not None or self.is_limited.any() else []
        for start, end in pairwise([0, *(e for e in ends if e < len(self.weight)), len(self.weight)]):
            rows = slice(start, end)
            yield replace(
                self, points=tuple(p[rows] for p in self.points), places=self.places[rows], weight=self.weight[rows],
                least=self.least[rows], is_limited=self.is_limited[rows],
            )  # fmt: skip

    def decided(self, candidate: Candidate) -> tuple[IntArray, BoolArray]:
        """[requests, lanes]: places, and whether they are decided."""
        values: list[IntArray] = []
        known: BoolArray = np.ones(self.places.shape[:2], np.bool_)
        for hole, points in zip(self.holes, self.points, strict=True):
            allowed = candidate.allowed[hole]
            values.append(allowed.argmax(axis=1)[points])
            known &= (np.count_nonzero(allowed, axis=1) == 1)[points]
        request, lane = np.ogrid[: known.shape[0], : known.shape[1]]
        places = self.places[(request, lane, *values)]
        return places, known | (self.places.reshape(*known.shape, -1) < 0).all(axis=2)


class Prices:
    """All open requests of a network, counted in the order of an objective."""

    def __init__(self, network: Network, free: Candidate, kinds: Sequence[Priced], warp: int, conflict_free: frozenset[str]):
        """`free`: what is known while any hole may be any function; `conflict_free`: arrays that allow no bank conflicts."""
        self.kinds = tuple(kind for kind in kinds if any(r.kind == kind for r in network.requests))
        wanted = [r for r in network.requests if r.kind in self.kinds or r.array in conflict_free]
        self.groups = list(_groups(wanted, free, warp, conflict_free))
        self.holes = tuple(sorted({hole for group in self.groups for hole in group.holes}))

    @property
    def least(self) -> tuple[int, ...]:
        """No completion, in any grammar, costs less."""
        return tuple(sum(int(g.least @ g.weight) for g in self.groups if g.kind == kind) for kind in self.kinds)

    def bound(self, candidate: Candidate) -> tuple[int, ...]:
        """A lower bound below the candidate, by kind."""
        totals = dict.fromkeys(self.kinds, 0)
        for group in self.groups:
            if group.kind in totals:
                places, known = group.decided(candidate)
                counts = group.counts(places, known & (places >= 0))
                totals[group.kind] += int(np.maximum(counts, group.least) @ group.weight)
        return tuple(totals.values())

    def of_functions(
        self, candidate: Candidate, hole: int, functions: Functions, limit: Limit | None
    ) -> tuple[IntArray, BoolArray]:
        """[functions, kinds] lower bounds once `hole` is each function, and [functions] whether it keeps the limits."""
        totals = np.zeros((len(functions), len(self.kinds)), np.int64)
        left = np.arange(len(functions))
        for group in self.groups:
            column = self.kinds.index(group.kind) if group.kind in self.kinds else None
            if hole not in group.holes:
                place, known = group.decided(candidate)
                counts = np.maximum(group.counts(place, known & (place >= 0)), group.least)
                if column is not None:
                    totals[:, column] += int(counts @ group.weight)
                continue
            for part in group.in_parts(limit):
                step = max(1, _CHUNK // part.places[..., 0].size)
                kept: list[IntArray] = []
                for start in range(0, len(left), step):
                    mine = left[start : start + step]
                    places, active = self._places(part, candidate, hole, functions.tables[mine])
                    counts = part.counts(places, active).reshape(-1, len(part.weight))
                    if column is not None:
                        totals[mine, column] += np.maximum(counts, part.least) @ part.weight
                    kept.append(mine[~_over(part, places, active, counts, limit).any(axis=1)])
                left = np.concatenate(kept) if kept else left
        keeps = np.zeros(len(functions), np.bool_)
        keeps[left] = True
        return totals, keeps

    def _places(self, group: _Group, candidate: Candidate, hole: int, tables: Tables) -> tuple[IntArray, BoolArray]:
        """[functions * requests, lanes]: places, and whether they are decided and taken."""
        shape = group.places.shape[:2]
        values: list[IntArray] = []
        known: BoolArray = np.ones((1, *shape), np.bool_)
        for number, points in zip(group.holes, group.points, strict=True):
            if number == hole:
                values.append(tables[:, points].astype(np.int64))
                continue
            allowed = candidate.allowed[number]
            values.append(allowed.argmax(axis=1)[points][None])
            known = known & (np.count_nonzero(allowed, axis=1) == 1)[points]
        request, lane = np.ogrid[: shape[0], : shape[1]]
        places = group.places[(request[None], lane[None], *values)]
        places = np.broadcast_to(places, (len(tables), *shape))
        return places.reshape(-1, shape[1]), (known & (places >= 0)).reshape(-1, shape[1])


def _over(group: _Group, places: IntArray, active: BoolArray, counts: IntArray, limit: Limit | None) -> BoolArray:
    """[..., requests]: which requests, of several completions one after the other, certainly break a limit."""
    over: BoolArray = np.zeros(counts.shape, np.bool_)
    if limit == "least" and group.kind == "wavefronts":
        over |= counts > group.least
    if group.is_limited.any() and group.size_bytes <= machines.BANK_BYTES:
        over |= group.is_limited & (counts > 1)
    elif group.is_limited.any():
        # Wide lanes go in pairs or not, which all of them decide together.
        inactive = (group.places.reshape(*group.places.shape[:2], -1) < 0).all(axis=2)
        whole = (active.reshape(*counts.shape, -1) | inactive).all(axis=-1)
        over |= group.is_limited & whole & (group.ways(places, active).reshape(counts.shape) > 1)
    return over


class BankConstraint:
    """Requests that must not take more wavefronts than a limit allows."""

    def __init__(self, prices: Prices, limit: Limit | None) -> None:
        self.limit: Limit | None = limit
        self.parts = [g for g in prices.groups if g.kind == "wavefronts" and (limit == "least" or g.is_limited.any())]
        self.holes = tuple(sorted({hole for group in self.parts for hole in group.holes}))
        self.groups: frozenset[int] = frozenset()
        self.settled: frozenset[int] = frozenset()

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        for group in self.parts:
            places, known = group.decided(candidate)
            active = known & (places >= 0)
            if _over(group, places, active, group.counts(places, active), self.limit).any():
                raise ConflictError
            if group.size_bytes <= machines.BANK_BYTES:
                self._keep_apart(group, candidate, changes, places, active)

    def _keep_apart(self, group: _Group, candidate: Candidate, changes: Changes, places: IntArray, active: BoolArray) -> None:
        """Where a request takes one wavefront, no other word lies in a bank that a decided lane asks for."""
        single = group.is_limited | ((group.least == 1) if self.limit == "least" else np.zeros(len(group.least), np.bool_))
        which = np.flatnonzero(single & active.any(axis=1))
        if not len(which):
            return
        wanted = np.full((len(which), machines.BANKS), -1, np.int64)
        request, lane = np.nonzero(active[which])
        words = (places[which] * group.size_bytes // machines.BANK_BYTES)[request, lane]
        wanted[request, words % machines.BANKS] = words
        options = group.places[which]
        words = options * group.size_bytes // machines.BANK_BYTES
        there = wanted[np.arange(len(which)).reshape(-1, *(1,) * (words.ndim - 1)), words % machines.BANKS]
        fits = (options < 0) | (there < 0) | (there == words)
        rows = len(which) * options.shape[1]
        slots = Slots(group.holes, tuple(points[which].ravel() for points in group.points))
        fits = fits.reshape(rows, *options.shape[2:])
        left = slot_options(candidate, slots, (rows,)) & fits
        narrow_slots(candidate, changes, slots, left)


def _groups(requests: Sequence[OpenRequest], free: Candidate, warp: int, conflict_free: frozenset[str]) -> Iterator[_Group]:
    """Requests of the same form together, each distinct one once."""
    forms: dict[tuple[object, ...], list[tuple[OpenRequest, bool]]] = {}
    for request in requests:
        key = request.kind, request.size_bytes, request.slots.holes, request.places.shape[1:]
        forms.setdefault(key, []).append((request, request.array in conflict_free))
    for members in forms.values():
        seen: dict[bytes, int] = {}
        rows: list[tuple[tuple[IntArray, ...], IntArray, int, bool]] = []
        weight: list[int] = []
        for request, limited in members:
            least = _least(request, free, warp)
            points = [_by_warps(p, warp, 0) for p in request.slots.points]
            places = _by_warps(_from_own(request), warp, -1)
            for row in np.flatnonzero((places >= 0).reshape(len(places), -1).any(axis=1)).tolist():
                mine = tuple(p[row] for p in points)
                key = b"".join((places[row].tobytes(), *(p.tobytes() for p in mine), least[row].tobytes(), bytes([limited])))
                if key in seen:
                    weight[seen[key]] += 1
                    continue
                seen[key] = len(rows)
                rows.append((mine, places[row], int(least[row]), limited))
                weight.append(1)
        if not rows:
            continue
        first = members[0][0]
        yield _Group(
            first.kind, first.size_bytes, first.slots.holes,
            tuple(np.stack([r[0][slot] for r in rows]) for slot in range(len(first.slots.holes))),
            np.stack([r[1] for r in rows]), np.array(weight, np.int64),
            np.array([r[2] for r in rows], np.int64), np.array([r[3] for r in rows], np.bool_),
        )  # fmt: skip


def _from_own(request: OpenRequest) -> IntArray:
    """Places; of shuffles how the threads that lanes take from differ from their own."""
    if request.kind != "shuffles":
        return request.places
    own = np.arange(len(request.places)).reshape(-1, *(1,) * (request.places.ndim - 1))
    return np.where(request.places < 0, -1, request.places ^ own)


def _least(request: OpenRequest, free: Candidate, warp: int) -> IntArray:
    """[warps] what a request costs at least: lanes that certainly take different elements take as many places."""
    moved = _by_warps(request.moved, warp, UNDEFINED)
    found = np.zeros(len(moved), np.int64)
    if not request.is_certain or request.kind == "shuffles":
        return found
    if request.kind != "registers":  # each lane may have its own in one register
        found = _least_of_elements(request, free, moved)
    taken = np.logical_and.reduce(_by_warps(request.places, warp, -1).reshape(len(moved), warp, -1) >= 0, axis=2)
    return np.maximum(found, np.logical_or.reduce(taken, axis=1))


def _least_of_elements(request: OpenRequest, free: Candidate, moved: IntArray) -> IntArray:
    """[warps] wavefronts or sectors for the elements that lanes certainly take, wherever these lie."""
    domains = free.domains[moved]
    is_one = np.bitwise_count(domains).sum(axis=2) == 1
    is_one &= moved != UNDEFINED
    if request.is_load:
        is_one &= free.needed[moved]
    found = np.zeros(len(moved), np.int64)
    for row in range(len(moved)):
        distinct = len(np.unique(domains[row][is_one[row]], axis=0)) if is_one[row].any() else 0
        size = request.size_bytes
        least = machines.least_each(np.array([distinct]), size)[0]
        found[row] = least if request.kind == "wavefronts" else -(-distinct * size // machines.SECTOR_BYTES)
    return found


def _by_warps(values: IntArray, warp: int, fill: int) -> IntArray:
    """[threads, ...] -> [warps, lanes, ...]."""
    missing = -len(values) % warp
    if missing:
        values = np.concatenate([values, np.full((missing, *values.shape[1:]), fill, values.dtype)])
    return values.reshape(-1, warp, *values.shape[1:])
