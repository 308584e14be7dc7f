"""Data races of a kernel, for every launch: no two threads can meet, or which two instructions may.

Two accesses race if different threads make them, their bytes overlap, one of them writes, not both are atomic, and no barrier is
between them (PTX ISA 8.7). Threads of different blocks are never ordered; threads of one block are by barriers (`intervals`). All
pairs of accesses to one array are put to z3 (`integers`): two threads that differ, the conditions under which they come to their
accesses, and addresses less than a width apart. Whatever the values were that a kernel read, the first race of a run would come
before anything that a race has changed; so what one thread reads may be taken for what it is without races.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from warploom.core.limits import tick
from warploom.ptx.launches.alike import Alike
from warploom.ptx.launches.assumptions import Assumed
from warploom.ptx.launches.exact_words import Words, has_bitwise
from warploom.ptx.launches.flights import Flights
from warploom.ptx.launches.integers import AXES, Pair, Products, constant
from warploom.ptx.launches.intervals import Intervals, Round, Rounds, are_in_step, is_barrier, is_of_warp
from warploom.ptx.launches.questions import (
    RLIMIT,
    SMALL_BLOCKS,
    Launch,
    NotDecided,
    Place,
    Questions,
    Threads,
    UnclearError,
    variable_of,
)
from warploom.ptx.launches.tickets import Ticket, tickets
from warploom.ptx.launches.together import Together
from warploom.ptx.launches.uniform import is_lasting
from warploom.ptx.routine import Program, Routine
from warploom.ptx.symbolic import Access, Term
from warploom.ptx.syntax import Name
from warploom.solve import Sat, Unsat

_QUICK_RLIMIT = 100_000
"""z3's limit for the question whether two threads decide alike: they do so for simple reasons, or not at all."""
_TEXTURE = frozenset({"tex", "tld4"})

INSIDE = "each access lies in the array that its address is computed from"
"""A part of the domain that `bounds` may prove."""
INDICES = "sums and products that are used as signed indices do not wrap"
"""One that `overflows` may prove."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two instructions that may race."""

    first: int
    second: int
    launches: tuple[Launch, ...]
    """Small ones in which they may meet; more is not known of the values that a kernel reads."""


@dataclass(frozen=True, slots=True)
class RaceFree:
    """No launch of the domain has a race, and threads of a block reach its barriers together."""

    domain: tuple[str, ...]
    single: frozenset[str]
    """Extents of blocks and grid that the domain takes to be 1: `ntid.y`, `nctaid.x`, ..."""
    pairs: int
    """Questions that were put to z3."""
    has_copies: bool
    """Some data are copied asynchronously; nobody uses them before the copy has come."""


_T = TypeVar("_T")
Verdict: TypeAlias = RaceFree | Meeting | NotDecided


_Key: TypeAlias = tuple[int, int, Threads, tuple[Rounds, Rounds]]
"""Two accesses by their indices in the trace, whose they are, and the rounds of loops."""


def races(program: Program, kernel: str, assumed: Sequence[Assumed] = (), rlimit: int = RLIMIT) -> Verdict:
    """Whether threads of any launch of the kernel race, if what is assumed holds.

    `rlimit` is z3's for one question. UserError (PTX_LABEL, ASSUMPTION) where the kernel has no such label or parameter.
    """
    try:
        return _Races(program, program.routines[kernel], assumed, rlimit).run()
    except UnclearError as error:
        return error.found


class _Races(Questions):
    def __init__(self, program: Program, routine: Routine, assumed: Sequence[Assumed], rlimit: int) -> None:
        super().__init__(program, routine, assumed, rlimit)
        self._asked_before: dict[_Key, Verdict | None] = {}
        self._flights = Flights(routine, self._emulation.graph, self._intervals)
        self._alike = Alike(routine, self._emulation, self._uniform.is_uniform)
        self._has_alike = self._has_draws = False
        self._drawn: Mapping[Term, Ticket] | None = None
        self._own = 0
        """Questions about a copy and its own thread."""
        self._of_warp: Together | None = None
        self._is_in_step = False

    # questions

    def run(self) -> Verdict:
        self._check_assumptions()
        places = self._places()
        self._check_barriers()
        by_base: dict[object, list[Place]] = {}
        for place in places:
            by_base.setdefault(variable_of(place.base) or place.base, []).append(place)
        dynamic = {v for v in by_base if isinstance(v, str) and v in self._program.variables and self._is_dynamic(v)}
        if len(dynamic) > 1:
            raise UnclearError(f"{' and '.join(sorted(dynamic))} are the same bytes of dynamic shared memory")
        for group in by_base.values():
            self._check_mbarriers(group)
            if any(p.access.kind != "load" for p in group):
                found = self._group(group)
                if found is not None:
                    return found
                for place in group:
                    if "nc" in place.access.qualifiers:
                        raise UnclearError("ld.global.nc reads an array that the kernel writes", place.access.instruction)
        return RaceFree(tuple(self._domain()), self._unread, len(self._asked_before) + self._own, self._has_copies())

    def _check_mbarriers(self, group: Sequence[Place]) -> None:
        """Nobody writes to an mbarrier by anything else, nor stores where bulk copies write, whenever it may be: without a proxy
        fence a store may arrive after the copy (PTX ISA 8.4), and these fences are not followed."""
        if self._pipelines is None:
            return
        for place in group:
            if place.is_bulk and place.access.kind == "load" and any(p.access.kind != "load" for p in group):
                raise UnclearError("a bulk copy from an array that the kernel writes is not followed", place.access.instruction)
        uses = {use.instruction for use in self._mbarriers.uses}
        objects = [p for p in group if p.access.instruction in uses and not p.is_bulk]
        copies = [p for p in group if p.is_bulk and p.access.kind == "store"]
        for other in group:
            if other not in objects and other.access.kind != "load":
                for one in objects:
                    tick()
                    if self._judged(self._pair("blocks", are_different=False), one, other) is not None:
                        raise UnclearError("something else may write to an mbarrier", other.access.instruction)
            if other.access.kind != "load" and not other.is_bulk:
                for one in copies:
                    tick()
                    if self._judged(self._pair("blocks", are_different=False), one, other) is not None:
                        raise UnclearError("stores to what a bulk copy writes, too, are not followed", other.access.instruction)

    def _is_dynamic(self, name: str) -> bool:
        variable = self._program.variables[name]
        return variable.space == "shared" and not variable.size_bytes

    def _has_copies(self) -> bool:
        return bool(self._flights.of) or (self._pipelines is not None and bool(self._pipelines.copies))

    def _check_barriers(self) -> None:
        """Threads of a block come to the same barriers."""
        for n, instruction in enumerate(self._routine.instructions):
            if instruction.opcode in ("bar", "barrier") and not is_barrier(instruction) and not is_of_warp(instruction):
                raise UnclearError(f"{instruction.name} of some threads is not followed", n)
        for block in self._intervals.decisions():
            last = self._emulation.graph.blocks[block].end - 1
            guard = self._routine.instructions[last].guard
            if guard is None or self._routine.instructions[last].opcode == "brx":
                raise UnclearError("which barrier comes next depends on a table of branches", last)
            truth = self._emulation.value(last, Name(guard.name))
            if not self._uniform.is_uniform(truth) and not self._agree("block", block, truth):
                raise UnclearError("threads of a block may part before a barrier", last)
        for barrier in self._intervals.barriers:
            if self._routine.instructions[barrier].guard is not None:
                raise UnclearError("a barrier under a predicate is not followed", barrier)

    def _agree(self, threads: Threads, block: int, truth: Term) -> bool:
        """Two threads that both come here, in the same rounds of common loops, decide alike."""
        pair = self._pair(threads)
        for who in (1, 2):
            self._comes_to(pair, block, who)
        pair.require(pair.builder.bitwise("^", pair.truth(truth, 1), pair.truth(truth, 2)))
        return isinstance(pair.builder.check(pair.conditions, _QUICK_RLIMIT), Unsat)

    def _shared(self, threads: Threads, rounds: tuple[Rounds, Rounds]) -> Callable[[Term], bool]:
        if threads == "thread":
            return is_lasting
        return self._of_warp.uniform.shared(rounds) if threads == "warp" and self._of_warp else super()._shared(threads, rounds)

    def _warp_is_in_step(self) -> bool:
        """Whether the threads of a warp come to the same barriers of warps."""
        if self._of_warp is None:
            self._of_warp = together = Together(self._routine, self._emulation)
            self._is_in_step = together.is_clear() and all(
                together.uniform.is_uniform(truth) or self._agree("warp", block, truth) for block, truth in together.decisions()
            )
        return self._is_in_step

    def _group(self, group: Sequence[Place]) -> Verdict | None:
        if not group[0].is_shared:
            for a, b in _pairs(group):
                found = self._asked(a, b, "blocks", ((), ()))
                if found is not None:
                    return found
        is_open = False
        for a, b, rounds in self._meetings(self._intervals, self._flights, group):
            found = self._asked(a, b, "block", rounds)
            if found is not None:
                if not self._warp_is_in_step() or self._asked(a, b, "warps", rounds) is not None:
                    return found
                is_open = True
        if is_open and self._of_warp is not None:
            flights = Flights(self._routine, self._emulation.graph, self._of_warp.intervals)
            for a, b, rounds in self._meetings(self._of_warp.intervals, flights, group):
                found = self._asked(a, b, "warp", rounds)
                if found is not None:
                    return found
        for copy in group:
            if copy.is_copy or copy.is_bulk:
                found = next((self._while_copied if copy.is_copy else self._while_bulk)(copy, group), None)
                if found is not None:
                    return found
        return None

    def _while_bulk(self, copy: Place, group: Sequence[Place]) -> Iterator[Verdict]:
        """Accesses that the thread of a bulk copy makes itself before it has waited for it."""
        assert self._pipelines is not None
        graph = self._emulation.graph
        loop = next(iter(graph.loop_nest(copy.access.block)), None)
        for other in group:
            if other.access.kind == copy.access.kind == "load" or not self._may_follow(copy.access, other.access):
                continue
            tick()
            pair = self._pair("thread", are_different=False)
            if loop is not None and other.access.block in graph.loops[loop].blocks:
                first, second = (pair.value(self._emulation.table.counter(loop), who) for who in (1, 2))
                is_same_round = self._mbarriers.is_after(copy.access.instruction, other.access.instruction, loop)
                pair.require(pair.at_least(second, first.shifted(0 if is_same_round else 1)))
            self._order(pair, copy, other)
            found = self._judged(pair, copy, other)
            self._own += 1
            if found is not None:
                yield found

    def _may_follow(self, first: Access, second: Access) -> bool:
        is_later = first.block == second.block and first.instruction < second.instruction
        return is_later or self._mbarriers.reaches(first.block, second.block, set())

    def _order(self, pair: Pair, a: Place, b: Place) -> None:
        """Requires of two threads of one block, or of one, that mbarriers do not order them."""
        if self._pipelines is not None:
            threads = [self._mbarriers.of(p.access.block, p.access.guard) for p in (a, b)]
            pending = {copy: flight.passed for copy, flight in self._flights.of.items()}
            self._pipelines.require_unordered(pair, a.access, b.access, threads, pending)

    def _meetings(
        self, intervals: Intervals, flights: Flights, group: Sequence[Place]
    ) -> Iterator[tuple[Place, Place, tuple[Rounds, Rounds]]]:
        """Accesses of two threads that may run between the same two barriers."""
        for barrier, start in intervals.starts():
            rounds = [{*start.get(p.access.instruction, ()), *self._under_way(p, barrier, intervals, flights)} for p in group]
            for (a, firsts), (b, seconds) in _pairs(list(zip(group, rounds, strict=True))):
                for first in firsts:
                    for second in seconds:
                        yield a, b, (first, second)

    def _under_way(self, place: Place, barrier: int | None, intervals: Intervals, flights: Flights) -> Collection[Rounds]:
        """Rounds of a copy that may be under way when the threads of its block pass a barrier."""
        if barrier is None or not (place.is_copy or place.is_bulk):
            return ()
        if place.is_copy:
            return flights.of[place.access.instruction].at_barriers.get(barrier, ())
        graph = self._emulation.graph
        at = graph.block_of(barrier)
        is_later = at == place.access.block and place.access.instruction < barrier
        if not is_later and not self._mbarriers.reaches(place.access.block, at, set()):
            return ()
        common = [h for h in graph.loop_nest(place.access.block) if h in intervals.common]
        rounds = [(h, Round(at in graph.loops[h].blocks, None, is_past=at in graph.loops[h].blocks)) for h in common]
        return {tuple(rounds)}

    def _while_copied(self, copy: Place, group: Sequence[Place]) -> Iterator[Verdict]:
        """Accesses that the thread of a copy makes itself before it has waited for it."""
        flight = self._flights.of[copy.access.instruction]
        for other in group:
            if other.access.kind == copy.access.kind == "load":
                continue
            for later in flight.passed.get(other.access.instruction, ()):
                tick()
                own = tuple((h, Round(True, 0)) for h in self._emulation.graph.loop_nest(copy.access.block))
                pair = self._pair("thread", (own, later), are_different=False)
                found = self._judged(pair, copy, other)
                self._own += 1
                if found is not None:
                    yield found

    def _asked(self, a: Place, b: Place, threads: Threads, rounds: tuple[Rounds, Rounds]) -> Verdict | None:
        if a.access.kind == b.access.kind == "load" or _are_atomic(a.access, b.access, is_same_block=threads != "blocks"):
            return None
        key = (a.access.index, b.access.index, threads, rounds)
        if key not in self._asked_before:
            tick()
            self._asked_before[key] = self._met(a, b, threads, rounds)
        return self._asked_before[key]

    def _met(self, a: Place, b: Place, threads: Threads, rounds: tuple[Rounds, Rounds]) -> Verdict | None:
        pair = self._pair(threads, rounds, are_different=not (a.is_of_warp or b.is_of_warp))
        alike = 0
        if a is b and a.access.kind == "store" and threads in ("block", "warp") and self._is_one_instance(a, rounds):
            alike = self._alike.bits(a.access.instruction)
        if alike:
            pair.require(pair.differ_beyond(alike))
            self._has_alike = True
        is_apart = partial(self._are_apart_as_words, a, b, threads, rounds, alike) if threads != "blocks" else None
        if threads != "blocks":
            self._order(pair, a, b)
        draws = {t: d.apart for t, d in self._tickets().items() if not (d.is_of_block and threads == "blocks")}
        return self._judged(pair, a, b, is_apart, {} if a.is_of_warp or b.is_of_warp else draws)

    def _is_one_instance(self, place: Place, rounds: tuple[Rounds, Rounds]) -> bool:
        """Whether both threads are in the same round of all loops around the access."""
        around = self._emulation.graph.loop_nest(place.access.block)
        return are_in_step(rounds) and {h for h, _ in rounds[0]} == {*around}

    def _tickets(self) -> Mapping[Term, Ticket]:
        if self._drawn is None:
            self._drawn = tickets(self._emulation, self._base_of, self._uniform.is_same_everywhere)
        return self._drawn

    def _base_of(self, access: Access) -> Term | None:
        try:
            place = self._place(access, of_every_space=True)
        except UnclearError:
            return None
        return None if place is None else place.base

    def _judged(
        self, pair: Pair, a: Place, b: Place, is_apart: Callable[[], bool] | None = None,
        draws: Mapping[Term, int] = MappingProxyType({}),
    ) -> Verdict | None:  # fmt: skip
        """`draws`: values that no two threads have, and how far they are apart."""
        for who, place in ((1, a), (2, b)):
            self._comes_to(pair, place.access.block, who)
            pair.require(pair.truth(place.access.guard, who))
        apart = pair.modulo(pair.value(a.address, 1).plus(pair.value(b.address, 2), -1), a.address.width)
        pair.require(pair.at_least(constant(b.access.size_bytes - 1), apart))
        pair.require(pair.at_least(apart, constant(1 - a.access.size_bytes)))
        Products(pair).explain(apart)
        for term, distance in draws.items():
            self._has_draws |= pair.draw_apart(term, distance)
        answer = self._ask(pair)
        if isinstance(answer, Unsat) or (is_apart is not None and is_apart()):
            return None
        launches = tuple(dict.fromkeys(found for size in SMALL_BLOCKS if (found := self._small(pair, *size)) is not None))
        if isinstance(answer, Sat) or launches:
            return Meeting(a.access.instruction, b.access.instruction, launches)
        return NotDecided("z3 did not decide whether two threads meet", a.access.instruction)

    def _are_apart_as_words(self, a: Place, b: Place, threads: Threads, rounds: tuple[Rounds, Rounds], alike: int) -> bool:
        if a.address.width != b.address.width or not has_bitwise((a.address, b.address)):
            return False
        is_same_warp = {"warp": True, "warps": False}.get(threads)
        is_different = not (a.is_of_warp or b.is_of_warp)
        shared = self._shared(threads, rounds)
        words = Words(self._emulation.table, self._limits, shared, is_same_warp, are_different=is_different, alike=alike)
        for who, place in ((1, a), (2, b)):
            for part in (*self._emulation.path_condition(place.access.block), place.access.guard):
                words.require(part, who)
        return words.are_apart(a.address, a.access.size_bytes, b.address, b.access.size_bytes, self._rlimit)

    def _domain(self) -> Iterator[str]:
        for one in self._assumed:
            yield one.text
        if any(one.names_parameter for one in self._assumed):
            yield "parameters are read as signed numbers there"
        for root, what in (("ntid", "one thread in a block"), ("nctaid", "one block")):
            axes = [axis for axis in AXES if f"{root}.{axis}" in self._unread]
            if axes:
                yield f"{what} along {' and '.join(axes)}, since the kernel does not ask for its {root[1:]}.{axes[0]}"
        yield "fewer than 2^31 threads along each axis"
        yield INSIDE
        yield "different arrays do not overlap"
        if self._has_draws:
            yield "no counter wraps that threads draw numbers from by atom.add"
        if self._has_alike:
            yield "lanes of a warp that store one value by one instruction do not race"
        yield "no address wraps, nor a product that it is made of"
        if self._is_read_elsewhere:
            yield "nobody writes what ld.global.nc reads from other arrays"
        if any(i.opcode in _TEXTURE for i in self._routine.instructions):
            yield "nobody writes to textures"
        if self._emulation.assumptions:
            yield INDICES


def _pairs(group: Sequence[_T]) -> Iterator[tuple[_T, _T]]:
    for n, a in enumerate(group):
        for b in group[n:]:
            yield a, b


def _are_atomic(a: Access, b: Access, *, is_same_block: bool) -> bool:
    if a.kind != "atomic" or b.kind != "atomic" or a.size_bytes != b.size_bytes:
        return False
    return is_same_block or not {"cta"} & {*a.qualifiers, *b.qualifiers}
