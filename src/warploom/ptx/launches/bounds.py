"""Whether each access lies in its array, for every launch: of variables with a size, and of arrays whose length is assumed.

For each access z3 is asked for one thread that comes to it (`one_thread`) with an offset below 0, or with bytes beyond the
length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from warploom.ptx.launches.assumptions import Assumed, assumptions, length_of
from warploom.ptx.launches.integers import Number, Pair, Products, constant
from warploom.ptx.launches.one_thread import OneThread
from warploom.ptx.launches.questions import (
    RLIMIT,
    SMALL_BLOCKS,
    Launch,
    NotDecided,
    Place,
    UnclearError,
    name_of,
    variable_of,
)  # fmt: skip
from warploom.ptx.routine import Program, Routine
from warploom.ptx.symbolic import linear, signed
from warploom.solve import Unsat

_MOST_STRIDES, _LONGEST_STRIDE, _MOST_NUMBERS = 2, 16, 4
"""How many strides, how long, and how many numbers a length that may be enough is made of."""
_QUICK_RLIMIT = 150_000
"""z3's limit for a length that may be enough, which is found quickly or not at all."""


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


class _Bounds(OneThread):
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
                pair = self._outside_of(name, place, self._at(place.access))
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
        ways = self._rounds(place.access, more)
        return any(
            all(
                isinstance(pair.builder.check(pair.conditions, rlimit), Unsat)
                for pair in (self._outside_of(name, place, p) for p in way)
            )
            for way in ways
        )

    def _outside_of(self, name: str, place: Place, pair: Pair) -> Pair:
        """The thread, and bytes of its access that are not in the array."""
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
