"""Data races of a kernel, for every launch: no two threads can meet, or which two instructions may.

Two accesses race if different threads make them, their bytes overlap, one of them writes, not both are atomic, and no barrier is
between them (PTX ISA 8.7). Threads of different blocks are never ordered; threads of one block are by barriers (`intervals`). All
pairs of accesses to one array are put to z3 (`integers`): two threads that differ, the conditions under which they come to their
accesses, and addresses less than a width apart. Whatever the values were that a kernel read, the first race of a run would come
before anything that a race has changed; so what one thread reads may be taken for what it is without races.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from warploom.core.limits import tick
from warploom.ptx.launches.assumptions import Assumed
from warploom.ptx.launches.integers import AXES, Products, constant
from warploom.ptx.launches.intervals import Rounds, is_barrier, is_of_warp
from warploom.ptx.launches.questions import RLIMIT, SMALL_BLOCKS, Launch, NotDecided, Place, Questions, UnclearError, variable_of
from warploom.ptx.launches.words import Words, has_bitwise
from warploom.ptx.routine import Program, Routine
from warploom.ptx.symbolic import Access, Term
from warploom.ptx.syntax import Name
from warploom.solve import Sat, Unsat

_QUICK_RLIMIT = 100_000
"""For whether two threads decide alike: they do so for simple reasons, or not at all."""
_TEXTURE = frozenset({"tex", "tld4"})

INSIDE = "each access lies in the array that its address is computed from"
"""What the domain takes for granted and `bounds` may prove."""


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


Verdict: TypeAlias = RaceFree | Meeting | NotDecided


_Key: TypeAlias = tuple[int, int, bool, tuple[Rounds, Rounds]]
"""Two accesses by their indices in the trace, whether their threads are of one block, and the rounds of its loops."""


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
            if any(p.access.kind != "load" for p in group):
                found = self._group(group)
                if found is not None:
                    return found
                for place in group:
                    if "nc" in place.access.qualifiers:
                        raise UnclearError("ld.global.nc reads an array that the kernel writes", place.access.instruction)
        return RaceFree(tuple(self._domain()), self._unread, len(self._asked_before))

    def _is_dynamic(self, name: str) -> bool:
        variable = self._program.variables[name]
        return variable.space == "shared" and not variable.size_bytes

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
            if not self._uniform.is_uniform(truth) and not self._agree(block, truth):
                raise UnclearError("threads of a block may part before a barrier", last)
        for barrier in self._intervals.barriers:
            if self._routine.instructions[barrier].guard is not None:
                raise UnclearError("a barrier under a predicate is not followed", barrier)

    def _agree(self, block: int, truth: Term) -> bool:
        """Two threads of a block that both come here, in the same rounds of common loops, decide alike."""
        pair = self._pair(is_same_block=True, rounds=((), ()))
        for who in (1, 2):
            self._comes_to(pair, block, who)
        pair.require(pair.builder.bitwise("^", pair.truth(truth, 1), pair.truth(truth, 2)))
        return isinstance(pair.builder.check(pair.conditions, _QUICK_RLIMIT), Unsat)

    def _group(self, group: Sequence[Place]) -> Verdict | None:
        if not group[0].is_shared:
            for a, b in _pairs(group):
                found = self._asked(a, b, is_same_block=False, rounds=((), ()))
                if found is not None:
                    return found
        for start in self._intervals.starts():
            for a, b in _pairs(group):
                for first in start.get(a.access.instruction, ()):
                    for second in start.get(b.access.instruction, ()):
                        found = self._asked(a, b, is_same_block=True, rounds=(first, second))
                        if found is not None:
                            return found
        return None

    def _asked(self, a: Place, b: Place, *, is_same_block: bool, rounds: tuple[Rounds, Rounds]) -> Verdict | None:
        if a.access.kind == b.access.kind == "load" or _are_atomic(a.access, b.access, is_same_block=is_same_block):
            return None
        key = (a.access.index, b.access.index, is_same_block, rounds)
        if key not in self._asked_before:
            tick()
            self._asked_before[key] = self._met(a, b, is_same_block=is_same_block, rounds=rounds)
        return self._asked_before[key]

    def _met(self, a: Place, b: Place, *, is_same_block: bool, rounds: tuple[Rounds, Rounds]) -> Verdict | None:
        pair = self._pair(is_same_block=is_same_block, rounds=rounds)
        for who, place in ((1, a), (2, b)):
            self._comes_to(pair, place.access.block, who)
            pair.require(pair.truth(place.access.guard, who))
        apart = pair.modulo(pair.value(a.address, 1).plus(pair.value(b.address, 2), -1), a.address.width)
        pair.require(pair.at_least(constant(b.access.size_bytes - 1), apart))
        pair.require(pair.at_least(apart, constant(1 - a.access.size_bytes)))
        Products(pair).explain(apart)
        answer = self._ask(pair)
        if isinstance(answer, Unsat) or (is_same_block and self._are_apart_as_words(a, b, rounds)):
            return None
        launches = tuple(dict.fromkeys(found for size in SMALL_BLOCKS if (found := self._small(pair, *size)) is not None))
        if isinstance(answer, Sat) or launches:
            return Meeting(a.access.instruction, b.access.instruction, launches)
        return NotDecided("z3 did not decide whether two threads meet", a.access.instruction)

    def _are_apart_as_words(self, a: Place, b: Place, rounds: tuple[Rounds, Rounds]) -> bool:
        if a.address.width != b.address.width or not has_bitwise((a.address, b.address)):
            return False
        words = Words(self._emulation.table, self._limits, self._uniform.shared(rounds))
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
        yield "no address wraps, nor a product that it is made of"
        if self._is_read_elsewhere:
            yield "nobody writes what ld.global.nc reads from other arrays"
        if any(i.opcode in _TEXTURE for i in self._routine.instructions):
            yield "nobody writes to textures"
        if self._emulation.assumptions:
            yield "sums and products that are used as signed indices do not wrap"


def _pairs(group: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    for n, a in enumerate(group):
        for b in group[n:]:
            yield a, b


def _are_atomic(a: Access, b: Access, *, is_same_block: bool) -> bool:
    if a.kind != "atomic" or b.kind != "atomic" or a.size_bytes != b.size_bytes:
        return False
    return is_same_block or not {"cta"} & {*a.qualifiers, *b.qualifiers}
