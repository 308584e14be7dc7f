"""Whether each access lies in its array, for every launch: of variables with a size, and of arrays whose length is assumed.

For each access z3 is asked for one thread that comes to it with an offset below 0, or with bytes beyond the length. Of a loop
whose condition stands at its end the first round and the others are asked about by themselves: of the others it is known that
the thread went through the round before, whose condition let it go on. That round is like a second thread in the same place:
what loads and registers of loops hold may differ, all else is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

from warploom.core.limits import tick
from warploom.ptx.launches.assumptions import Assumed, assumptions, length_of
from warploom.ptx.launches.integers import Number, Pair, Products, constant
from warploom.ptx.launches.questions import (
    RLIMIT,
    SMALL_BLOCKS,
    Launch,
    NotDecided,
    Place,
    Questions,
    UnclearError,
    name_of,
    variable_of,
)  # fmt: skip
from warploom.ptx.launches.uniform import is_lasting
from warploom.ptx.routine import Program, Routine
from warploom.ptx.symbolic import linear, signed
from warploom.ptx.syntax import Name
from warploom.solve import Unsat

_MOST_STRIDES, _LONGEST_STRIDE, _MOST_NUMBERS = 2, 16, 4
"""How many strides, how long, and how many numbers a length that may be enough is made of."""
_QUICK_RLIMIT = 150_000
"""z3's limit for a length that may be enough, which is found quickly or not at all."""
_MOST_ROUNDS = (1 << 31) - 1
"""No loop around an access is taken to run longer."""
_MOST_LOOPS = 3
"""Innermost loops around an access whose first rounds are told from the others."""


@dataclass(frozen=True, slots=True)
class Outside:
    """An access that may lie outside of its array."""

    instruction: int
    array: str
    launches: tuple[Launch, ...]
    """Small ones in which it may."""


@dataclass(frozen=True, slots=True)
class Bounds:
    inside: frozenset[str]
    """Arrays in which all accesses to them lie, in every launch."""
    outside: tuple[Outside, ...]
    """For each other array with a known length, the first access that may lie outside."""
    unknown: frozenset[str]
    """Arrays of which no length is known."""
    needed: tuple[str, ...]
    """Lengths of some of these under which all accesses lie in them, as assumptions; the shortest of those that were tried."""


def bounds(program: Program, kernel: str, assumed: Sequence[Assumed] = (), rlimit: int = RLIMIT) -> Bounds | NotDecided:
    """Whether accesses of any launch lie in their arrays, if what is assumed holds; `rlimit` is z3's for one question.

    UserError (PTX_LABEL, ASSUMPTION) where the kernel has no such label, parameter or array.
    """
    try:
        return _Bounds(program, program.routines[kernel], assumed, rlimit).run()
    except UnclearError as error:
        return error.found


def _name(variable: str, *, is_parameter: bool) -> str:
    """A parameter as memory of its own has another name than the array to which it points."""
    return f"the parameter {variable}" if is_parameter else variable


def _name_of(place: Place) -> str:
    return _name(name_of(place.base), is_parameter=place.access.space == "param")


class _Bounds(Questions):
    def __init__(self, program: Program, routine: Routine, assumed: Sequence[Assumed], rlimit: int) -> None:
        super().__init__(program, routine, assumed, rlimit)
        variables = [*program.variables.values(), *routine.variables.values()]
        self._sizes = {_name(v.name, is_parameter=v.space == "param"): v.size_bytes for v in variables if v.size_bytes}
        self._said = {name for one in assumed for name in one.sized(program, routine)}

    def run(self) -> Bounds:
        self._check_assumptions()
        by_array: dict[str, list[Place]] = {}
        for place in self._places(of_all=True, of_every_space=True):
            if place.access.space != "param" or not self._is_plainly_inside(place):
                by_array.setdefault(_name_of(place), []).append(place)
        if self._is_read_elsewhere:
            raise UnclearError("an access belongs to an array that is not known")
        known = [name for name in by_array if name in self._sizes or name in self._said]
        outside = [one for name in known for one in self._outside(name, by_array[name])]
        inside = frozenset(known) - {one.array for one in outside}
        unknown = [name for name in by_array if name not in known]
        needed = [self._needed(name, by_array[name]) for name in unknown]
        return Bounds(inside, tuple(outside), frozenset(unknown), tuple(text for text in needed if text is not None))

    def _outside(self, name: str, places: Sequence[Place]) -> Iterator[Outside]:
        for place in places:
            if not self._lies(name, place, (), self._rlimit):
                pair = self._beyond(name, place, ())
                launches = [found for size in SMALL_BLOCKS if (found := self._small(pair, *size)) is not None]
                yield Outside(place.access.instruction, name, tuple(dict.fromkeys(launches)))
                return

    def _is_plainly_inside(self, place: Place) -> bool:
        """Whether it is at a fixed place of an array with a size."""
        first, parts = linear(place.address)
        return parts == ((place.base, 1),) and 0 <= first <= self._sizes.get(_name_of(place), 0) - place.access.size_bytes

    def _lies(self, name: str, place: Place, more: Sequence[Assumed], rlimit: int) -> bool:
        if self._is_plainly_inside(place):
            return True
        loops = [h for h in self._emulation.graph.loop_nest(place.access.block) if self._back(h) is not None]
        for count in {0, min(len(loops), _MOST_LOOPS)}:
            rounds = product((False, True), repeat=count)
            pairs = (self._beyond(name, place, more, loops[len(loops) - count :], later) for later in rounds)
            if all(isinstance(pair.builder.check(pair.conditions, rlimit), Unsat) for pair in pairs):
                return True
        return False

    def _beyond(
        self, name: str, place: Place, more: Sequence[Assumed], loops: Sequence[int] = (), later: Sequence[bool] = ()
    ) -> Pair:
        """A thread that comes to the access, and bytes of it that are not in the array. `later`: whether it is in the first
        round of each of the loops."""
        tick()
        pair = Pair(self._limits, is_lasting, ((), ()), self._turning, self._spreads)
        for one in (*self._assumed, *more):
            pair.require(one.condition(pair, self._program, self._routine, self._emulation.table, self._widths))
        for header in self._emulation.graph.loop_nest(place.access.block):
            pair.define(self._emulation.table.counter(header), 1, pair.atom(f"round{header}", 1, 0, _MOST_ROUNDS))
            for register in self._emulation.steps.get(header, ()):
                counted = self._emulation.blocks[header].entry.get(register)
                if counted is not None and counted.width > 1:
                    pair.take_as_signed(counted, 1)
        for taken in self._emulation.algebra(place.access.block).assumptions:
            pair.take_as_signed(taken.term, 1)
        self._comes_to(pair, place.access.block, 1)
        pair.require(pair.truth(place.access.guard, 1))
        for n, (header, is_later) in enumerate(zip(loops, later, strict=True)):
            counter = pair.value(self._emulation.table.counter(header), 1)
            if is_later:
                self._went_on(pair, header, n + 2)
            else:
                pair.require(pair.is_zero(counter))
        length: Number = constant(self._sizes[name]) if name in self._sizes else length_of(pair, name)
        first = pair.value(place.address, 1).plus(pair.value(place.base, 1), -1)
        left = length.plus(first, -1).shifted(-place.access.size_bytes)
        below, above = pair.at_least(constant(-1), first), pair.at_least(constant(-1), left)
        pair.require(pair.builder.either([below, above]))
        products = Products(pair)
        products.explain(first)
        products.explain(left)
        products.relate(first)
        return pair

    def _back(self, header: int) -> tuple[int, bool | None] | None:
        """The only block that goes back to a loop's beginning, and whether it does so where its last guard is true; None: its
        own condition says all."""
        graph = self._emulation.graph
        latches = graph.loops[header].latches
        if len(latches) != 1 or latches[0] not in self._emulation.blocks:
            return None
        at = graph.blocks[latches[0]]
        last = self._routine.instructions[at.end - 1]
        if last.guard is None or last.opcode != "bra" or len(set(at.successors)) == 1:
            return latches[0], None
        falls_through = at.end < len(self._routine.instructions) and graph.block_of(at.end) == header
        return latches[0], last.guard.negated == falls_through

    def _went_on(self, pair: Pair, header: int, who: int) -> None:
        """In the round before, as `who`, the thread went back to the loop's beginning."""
        back = self._back(header)
        assert back is not None
        latch, holds = back
        for outer in self._emulation.graph.loop_nest(header):
            counter = self._emulation.table.counter(outer)
            pair.define(counter, who, pair.value(counter, 1).shifted(-1 if outer == header else 0))
        pair.require(pair.at_least(pair.value(self._emulation.table.counter(header), 1), constant(1)))
        self._comes_to(pair, latch, who)
        last = self._emulation.graph.blocks[latch].end - 1
        guard = self._routine.instructions[last].guard
        if holds is not None and guard is not None:
            truth = pair.truth(self._emulation.value(last, Name(guard.name)), who)
            pair.require(truth if holds else pair.builder.negation(truth))

    def _needed(self, name: str, places: Sequence[Place]) -> str | None:
        """A length of an array of which none is said."""
        if not self._widths.get(name) or variable_of(places[0].base) is not None:
            return None
        for text in self._lengths(self._strides(places)):
            said = f"len({self._short(name)}) >= {text}"
            more = assumptions(said)
            if all(self._lies(name, place, more, _QUICK_RLIMIT) for place in places):
                return said
        return None

    def _strides(self, places: Sequence[Place]) -> list[int]:
        """Elements between neighbours along some index, where they are more than one."""
        width = self._widths[name_of(places[0].base)]
        found = {abs(signed(c, place.address.width)) for place in places for _, c in linear(place.address)[1]}
        return sorted({c // width for c in found if c % width == 0 and width < c <= _LONGEST_STRIDE * width})[:_MOST_STRIDES]

    def _short(self, name: str) -> str:
        return next((f"arg{n}" for n, v in enumerate(self._routine.parameters) if v.name == name), name)

    def _lengths(self, strides: Sequence[int]) -> Iterator[str]:
        numbers = [self._short(str(term.data[0])) for term in self._numbers()][:_MOST_NUMBERS]
        axes = [a for a in "xyz" if f"nctaid.{a}" not in self._unread][:1]
        along = [a for a in "xyz" if f"ntid.{a}" not in self._unread][:1]
        threads = [f"gridDim.{a} * blockDim.{a}" for a in axes if a in along]
        yield from ("1", *numbers, *(f"blockDim.{a}" for a in along), *(f"gridDim.{a}" for a in axes), *threads)
        yield from (f"{x} * {y}" for x, y in combinations_with_replacement(numbers, 2))
        yield from (f"{stride} * {text}" for stride in strides for text in (*numbers, *threads))
