"""The cost of gathers for the lanes of a warp: shuffles between lanes, and selects where lanes want different registers.

A program is one warp's where the first index of every gathered array is the lane, of at most 32. Both counts follow from where
each element comes from, so they are known for each member of a hole before anything is printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Literal, TypeAlias, get_args

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.ir.dataflow import UNDEFINED, ZERO, Program, Shape
from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables
from warploom.machines import WARP_LANES
from warploom.synth.dataflow.flat import FlatStatement, flatten
from warploom.synth.dataflow.moves import moves_of

Part: TypeAlias = Literal["shuffles", "selects", "cost"]
PARTS: tuple[Part, ...] = get_args(Part)
_BITS = 20
"""Bits of each part in a packed cost."""
_CHUNK = 1 << 22
"""Entries of one table while members are counted."""
_OWN = -1
"""In place of a lane: what every lane reads by itself."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The quantities that are minimised, in order; `cost`: index operations, and instructions of register sets."""

    parts: tuple[Part, ...] = ("cost",)

    def packed(self, found: Mapping[Part, IntArray]) -> IntArray:
        """One number for each solution, in the order of the parts; they add up as the parts do."""
        return reduce(lambda high, part: (high << _BITS) + found[part], self.parts, np.zeros_like(found["cost"]))

    def cost_in(self, packed: int) -> int:
        """The last part, `cost`."""
        return packed if self == ONLY_COST else packed & ((1 << _BITS) - 1)


ONLY_COST = Objective()
OF_MACHINES = Objective(PARTS)
"""The objective for one warp: fewest shuffles, then fewest selects, then fewest index operations."""


def read_objective(text: str) -> Objective:
    """Parts in order, as `shuffles, selects, cost`; UserError for others."""
    parts = [part.strip() for part in text.split(",")]
    known: tuple[Part, ...] = tuple(name for part in parts for name in PARTS if name == part)
    if len(known) < len(parts) or len(set(known)) < len(known) or known[-1] != "cost":
        message = f"expected some of {', '.join(PARTS[:-1])}, each once, then cost, got {text!r}"
        raise UserError(Diagnostic("OBJECTIVE", message, fix="Write for example: shuffles, selects, cost"))
    return Objective(known)


@dataclass(frozen=True, eq=False, slots=True)
class Gatherings:
    """The gathers of one statement, as lanes see them."""

    lanes: int
    lane: IntArray
    """[argument elements, then undefined, then zero]: the lane that holds the element, or `_OWN`."""
    key: IntArray
    """The same for the register that holds it there; one number for each array in memory, and for zero."""
    registers: int
    """Registers of the only argument; 0 where it lies in memory, or where there are several."""

    @property
    def keys(self) -> int:
        return int(self.key.max()) + 1

    def counts(self, sources: IntArray) -> tuple[IntArray, IntArray]:
        """[members] shuffles and selects; `sources`: [members, output elements] as in `GatherSet.gather`."""
        chunks = np.array_split(sources, sources.size * self.keys // _CHUNK + 1)
        found = [self._counts(chunk.reshape(len(chunk), self.lanes, -1)) for chunk in chunks]
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    def _counts(self, placed: IntArray) -> tuple[IntArray, IntArray]:
        """`placed`: [members, lanes, registers]."""
        lane, key, known = self.lane[placed], self.key[placed], placed != UNDEFINED
        own = np.arange(self.lanes)[None, :, None]
        lane = np.where(lane == _OWN, own, lane)
        moved = known & (lane != own)
        shuffles = moved.any(axis=1).sum(axis=1)
        selects = np.zeros_like(shuffles)
        is_local = shuffles == 0
        if is_local.any():
            selects[is_local] = self._chosen(key[is_local], known[is_local])
        registers: IntArray = np.arange(int(placed.shape[2]), dtype=np.int64)
        elsewhere: BoolArray = (key != registers) & known
        in_place = ~np.logical_or.reduce(elsewhere, axis=(1, 2))
        for member in np.flatnonzero(~is_local & ~in_place).tolist():
            shuffles[member], selects[member] = self._exchanged(lane[member], key[member], known[member], moved[member])
        return shuffles, selects

    def _chosen(self, key: IntArray, known: BoolArray) -> IntArray:
        """[members]: selects among registers of a lane, [members, lanes, registers]."""
        present = np.zeros((len(key), key.shape[2], self.keys), np.bool_)
        member, _, register = np.nonzero(known)
        present[member, register, key[known]] = True
        chain = np.maximum(present.sum(axis=2) - 1, 0).sum(axis=1)
        return np.minimum(chain, self._turned(key, known))

    def _turned(self, key: IntArray, known: BoolArray) -> IntArray:
        """[members]: selects where all registers turn, or change places by xor, by an amount of each lane: one step a bit."""
        found = np.full(len(key), np.iinfo(np.int64).max)
        count = self.registers
        if count < 3 or key.shape[2] < 2:
            return found
        whole = known.all(axis=(1, 2))
        first = key[:, :1, :]
        xored = key ^ first
        fits = whole & (xored == xored[:, :, :1]).all(axis=(1, 2)) & (xored < count).all(axis=(1, 2))
        bits = np.bitwise_count(np.bitwise_or.reduce(xored[:, :, 0], axis=1)).astype(np.int64)
        found[fits] = bits[fits] * count
        for group in (g for g in range(count, 1, -1) if count % g == 0):
            amount = (key[:, :, :1] - first[:, :, :1]) % group
            fits = whole & (first // group * group + (first + amount) % group == key).all(axis=(1, 2))
            turns = group // np.gcd(group, np.gcd.reduce(amount[fits, :, 0], axis=1))
            steps = np.array([(turn - 1).bit_length() for turn in range(group + 1)])[turns]
            found[fits] = np.minimum(found[fits], steps * count)
        return found

    def _exchanged(self, lane: IntArray, key: IntArray, known: BoolArray, moved: BoolArray) -> tuple[int, int]:
        """Shuffles and selects of one member, [lanes, registers]: as many shuffles for a register as some lane sends different
        values."""
        sent = np.zeros((key.shape[1], self.lanes, self.keys), np.bool_)
        kept = np.zeros_like(sent)
        for table, which in ((sent, moved), (kept, known & ~moved)):
            table[np.nonzero(which)[1], lane[which], key[which]] = True
        both = sent | kept
        is_single = both.sum(axis=2).max(axis=1) <= 1
        rounds = np.maximum(sent.sum(axis=2).max(axis=1), 0)
        # A shuffle brings what a lane keeps, too, where that is what it sends.
        merged = np.where(is_single, 0, np.maximum(rounds - 1, 0) + ((rounds > 0) & kept.any(axis=(1, 2))))
        offered = np.where(is_single[:, None], both.any(axis=1), sent.any(axis=1) | ((rounds == 0)[:, None] & kept.any(axis=1)))
        chosen = int(np.maximum(offered.sum(axis=1) - np.maximum(rounds, 1), 0).sum())
        if is_single.all():
            asked: BoolArray = np.logical_or.reduce(both, axis=2).T[None]
            chosen = min(chosen, int(self._turned(both.argmax(axis=2).T[None], asked)[0]))
        return int(rounds.sum()), chosen + int(merged.sum())


@dataclass(frozen=True, slots=True)
class LeastMoves:
    """No completion has fewer."""

    shuffles: int = 0
    selects: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class HolePrices:
    """The cost, by an objective, of the functions of one choice of the search."""

    objective: Objective
    gatherings: Gatherings
    point: IntArray
    source: IntArray
    """The point, as in a `GatherSet`."""

    def of(self, functions: Functions) -> IntArray:
        """[functions] packed."""
        element = np.arange(len(self.point))[None, :]
        tables: Tables = functions.tables
        chunks = np.array_split(np.arange(len(tables)), len(tables) * len(self.point) // _CHUNK + 1)
        parts = [self.gatherings.counts(self.source[element, tables[chunk][:, self.point]]) for chunk in chunks]
        shuffles, selects = (np.concatenate([p[n] for p in parts]) for n in (0, 1))
        return self.objective.packed({"shuffles": shuffles, "selects": selects, "cost": functions.costs})

    def least(self, functions: Functions | None, allowed: BoolArray, moves: LeastMoves) -> int:
        """No function of the choice costs less; `functions` are those left, `allowed`: [points, values]; `moves`: what no
        completion does with fewer."""
        if functions is not None and len(functions) * len(self.point) <= _CHUNK:
            counts: dict[Part, int] = {"shuffles": moves.shuffles, "selects": moves.selects, "cost": int(functions.costs.min())}
            return max(int(self.of(functions).min()), self._packed(counts))
        sources = np.where(allowed[self.point], self.source, UNDEFINED)
        lane = self.gatherings.lane[sources].reshape(self.gatherings.lanes, -1, sources.shape[1])
        stays = (lane == np.arange(self.gatherings.lanes)[:, None, None]) | (lane == _OWN)
        # Undefined stands for what is not allowed, too: it stays only where it is allowed.
        is_allowed = allowed[self.point].reshape(lane.shape)
        shuffles = max(moves.shuffles, int((~(stays & is_allowed).any(axis=2)).any(axis=0).sum()))
        cost = 0 if functions is None else int(functions.costs.min())
        return self._packed({"shuffles": shuffles, "selects": moves.selects, "cost": cost})

    def _packed(self, counts: Mapping[Part, int]) -> int:
        return int(self.objective.packed({part: np.array([count]) for part, count in counts.items()})[0])


def warp_lanes(flat: Sequence[FlatStatement]) -> int:
    """Lanes of the program; 0 where gathered arrays do not all have one first index, of at most a warp's lanes."""
    lanes = {s.choices.out[0] if s.choices.out else 0 for s in flat if s.choices is not None}
    return lanes.pop() if len(lanes) == 1 and max(lanes) <= WARP_LANES else 0


def gatherings(flat: Sequence[FlatStatement], arguments: Sequence[int], shapes: Sequence[Shape], lanes: int) -> Gatherings:
    """`arguments`: numbers of statements; `shapes`: as the gather sees them."""
    lane: list[IntArray] = []
    key: list[IntArray] = []
    keys, registers = 0, 0
    for argument, shape in zip(arguments, shapes, strict=True):
        elements = prod(shape)
        in_memory = flat[argument].literal is not None and not _is_loaded(flat[argument].shape, lanes)
        if in_memory or not shape or shape[0] != lanes:
            lane.append(np.full(elements, _OWN))
            key.append(np.full(elements, keys))
            keys += 1
            continue
        registers = elements // lanes
        holder, register = np.divmod(np.arange(elements), registers)
        lane.append(holder)
        key.append(keys + register)
        keys += registers
    # Undefined and zero are the last two, which their numbers as sources find there.
    assert (UNDEFINED, ZERO) == (-2, -1)
    ends: list[IntArray] = [np.array([_OWN, _OWN]), np.array([0, keys])]
    only = registers if len(arguments) == 1 else 0
    return Gatherings(lanes, np.concatenate([*lane, ends[0]]), np.concatenate([*key, ends[1]]), only)


def machine_counts(program: Program, gathers: Mapping[str, IntArray]) -> dict[Part, int]:
    """Shuffles and selects of a solution, fixed gathers included; empty for a program that is not one warp's.

    `gathers`: sources by name of the hole.
    """
    flat = flatten(program)
    lanes = warp_lanes(flat)
    if not lanes:
        return {}
    moves = moves_of(flat, gathers)
    counts = [gatherings(flat, m.arguments, m.shapes, lanes).counts(m.sources[None]) for m in moves]
    return {part: sum(int(c[n][0]) for c in counts) for n, part in enumerate(PARTS[:2])}


def _is_loaded(shape: Shape, lanes: int) -> bool:
    """An input with one row for each lane is loaded before it is moved."""
    return bool(shape) and shape[0] == lanes


def objective_of(program: Program, asked: Objective) -> Objective:
    """The part of an objective that can be counted in a program."""
    return objective_for(flatten(program), asked)[0]


def objective_for(flat: Sequence[FlatStatement], asked: Objective) -> tuple[Objective, int]:
    """The objective that can be minimised, and the number of lanes; no shuffles and selects where the program is not one
    warp's."""
    lanes = 0 if asked == ONLY_COST else warp_lanes(flat)
    return (asked, lanes) if lanes else (ONLY_COST, 0)
