"""Data races of a kernel, for every launch: no two threads can meet, or which two instructions may.

Two accesses race if different threads make them, their bytes overlap, one of them writes, not both are atomic, and no barrier is
between them (PTX ISA 8.7). Threads of different blocks are never ordered; threads of one block are by barriers (`intervals`). All
pairs of accesses to one array are put to z3 (`integers`): two threads that differ, the conditions under which they come to their
accesses, and addresses less than a width apart. Whatever the values were that a kernel read, the first race of a run would come
before anything that a race has changed; so what one thread reads may be taken for what it is without races.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from warploom.core.limits import tick
from warploom.ptx.flow import flow_graph
from warploom.ptx.launches.assumptions import Assumed
from warploom.ptx.launches.integers import AXES, MOST_THREADS, Pair, Products, constant
from warploom.ptx.launches.intervals import Intervals, Rounds, is_barrier, is_of_warp
from warploom.ptx.launches.uniform import Uniform
from warploom.ptx.launches.words import Words, has_bitwise
from warploom.ptx.routine import Program, Routine
from warploom.ptx.symbolic import Access, Emulation, EmulationOptions, LaunchLimits, Term, emulate, linear
from warploom.ptx.syntax import Instruction, Name, operand_text
from warploom.solve import Handle, Sat, Unknown, Unsat

RLIMIT = 1_000_000
"""z3's resource units for one pair of accesses; well under a second mostly."""
_QUICK_RLIMIT = 100_000
"""For whether two threads decide alike: they do so for simple reasons, or not at all."""
_INDEX = re.compile(r"%(tid|ctaid)\b\.?(\w*)")
"""Of a thread or block; without an axis it is a vector of them all."""
_OTHER_INDEX = {"tid": ("%laneid", "%warpid", "%lanemask_"), "ctaid": ("%clusterid", "%cluster_cta")}
"""What a kernel may ask for instead, to tell threads of a block or blocks apart."""
_NOT_FOLLOWED = frozenset({"ldmatrix", "stmatrix", "suld", "wmma"})
_TEXTURE = frozenset({"tex", "tld4"})
_HARMLESS = frozenset({"vprintf", "__assertfail"})
"""Functions of the system that write nothing a kernel can read."""
_MAY_POINT = frozenset(
    {"load", "opaque", "loop", "other", "select", "function", "trunc", "and", "or", "xor", "high", "umin", "umax"}
)
"""Terms that may be a pointer themselves: with one of these in an address it is not known which part is the array."""
_SMALL = (3, 4096)
"""Most blocks along an axis, and the greatest parameter, of a launch that is to be replayed."""
_SMALL_BLOCKS = ((1, 130), (64, 130), (1, 1026))
"""Of the launches that are tried: fewest threads along x, greatest sum of the three extents of a block."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel in which two threads may meet."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: tuple[tuple[str, int], ...]
    """Name and value of those that are whole numbers and no arrays."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two instructions that may race."""

    first: int
    second: int
    launches: tuple[Launch, ...]
    """Small ones in which they may meet; more is not known of the values that a kernel reads."""


@dataclass(frozen=True, slots=True)
class NotDecided:
    reason: str
    instruction: int | None = None


@dataclass(frozen=True, slots=True)
class RaceFree:
    """No launch of the domain has a race, and threads of a block reach its barriers together."""

    domain: tuple[str, ...]
    single: frozenset[str]
    """Extents of blocks and grid that the domain takes to be 1: `ntid.y`, `nctaid.x`, ..."""
    pairs: int
    """Questions that were put to z3."""


Verdict: TypeAlias = RaceFree | Meeting | NotDecided


@dataclass(frozen=True, slots=True)
class _Place:
    """Bytes of an array."""

    access: Access
    base: Term
    """Pointer parameter or variable."""
    is_shared: bool
    address: Term


_Key: TypeAlias = tuple[int, int, bool, tuple[Rounds, Rounds]]
"""Two accesses by their indices in the trace, whether their threads are of one block, and the rounds of its loops."""


def extents_read(routine: Routine) -> tuple[str, ...]:
    """Axes along which the kernel asks for the number of a thread in its block."""
    return tuple(axis for axis in AXES if f"ntid.{axis}" not in _unread(routine, ()))


class _UnclearError(Exception):
    def __init__(self, reason: str, instruction: int | None = None) -> None:
        super().__init__(reason)
        self.found = NotDecided(reason, instruction)


def races(program: Program, kernel: str, assumed: Sequence[Assumed] = (), rlimit: int = RLIMIT) -> Verdict:
    """Whether threads of any launch of the kernel race, if what is assumed holds.

    `rlimit` is z3's for one question. UserError (PTX_LABEL, ASSUMPTION) where the kernel has no such label or parameter.
    """
    try:
        return _Races(program, program.routines[kernel], assumed, rlimit).run()
    except _UnclearError as error:
        return error.found


class _Races:
    def __init__(self, program: Program, routine: Routine, assumed: Sequence[Assumed], rlimit: int) -> None:
        self._program = program
        self._routine = routine
        self._assumed = assumed
        self._rlimit = rlimit
        graph = flow_graph(routine)
        if not graph.is_reducible:
            raise _UnclearError("a loop with several entries is not followed")
        self._unread = _unread(routine, assumed)
        limits = _limits(routine, self._unread, assumed)
        self._emulation: Emulation = emulate(routine, limits, EmulationOptions(assume_nsw=True), graph=graph)
        self._limits = self._emulation.limits
        self._intervals = Intervals(routine, graph)
        self._uniform = Uniform(self._emulation, self._intervals.common)
        self._spaces = {v.name: v.space for v in (*program.variables.values(), *routine.variables.values())}
        self._asked_before: dict[_Key, Verdict | None] = {}
        self._is_read_elsewhere = False
        """By `ld.global.nc`, from arrays that are not known."""

    # what is accessed

    def _places(self) -> list[_Place]:
        writing = {a.space for a in self._emulation.trace if a.kind in ("store", "atomic")}
        found: list[_Place] = []
        for n, instruction in enumerate(self._routine.instructions):
            if instruction.opcode in _NOT_FOLLOWED:
                raise _UnclearError(f"{instruction.name} is not followed", n)
        for access in self._emulation.trace:
            if access.kind == "call" and self._is_harmless(self._routine.instructions[access.instruction]):
                continue
            if access.kind in ("copy", "call", "unknown"):
                raise _UnclearError(f"{self._routine.instructions[access.instruction].name} is not followed", access.instruction)
            if access.kind == "order" or access.space in ("param", "local", "const"):
                continue
            if any("cluster" in q for q in access.qualifiers):
                raise _UnclearError("shared memory of other blocks is not followed", access.instruction)
            if not writing:
                continue
            try:
                place = self._place(access)
            except _UnclearError:
                if "nc" not in access.qualifiers:
                    raise
                self._is_read_elsewhere = True
                continue
            if place is not None:
                found.append(place)
        return found

    def _is_harmless(self, call: Instruction) -> bool:
        names = [o.text for o in call.operands if isinstance(o, Name)]
        return names[:1] != [] and names[0] in _HARMLESS and names[0] in self._program.declared

    def _place(self, access: Access) -> _Place | None:
        """None: memory of one thread, or that nobody writes."""
        if access.address is None or access.size_bytes == 0:
            raise _UnclearError("the address is not known", access.instruction)
        parts = linear(access.address)[1]
        bases = [a for a, c in parts if c == 1 and _is_base(a)]
        if len(bases) != 1 or any(c == 1 and a.op in _MAY_POINT and a is not bases[0] for a, c in parts):
            reason = "to which array the address belongs is not known"
            raise _UnclearError(reason, access.instruction)
        base = bases[0]
        variable = _variable(base)
        space = access.space if variable is None else self._spaces.get(variable, access.space)
        if space in ("local", "const", "param") and variable is not None:
            return None
        return _Place(access, base, space == "shared", access.address)

    # questions

    def run(self) -> Verdict:
        self._check_assumptions()
        places = self._places()
        self._check_barriers()
        by_base: dict[object, list[_Place]] = {}
        for place in places:
            by_base.setdefault(_variable(place.base) or place.base, []).append(place)
        dynamic = {v for v in by_base if isinstance(v, str) and v in self._program.variables and self._is_dynamic(v)}
        if len(dynamic) > 1:
            raise _UnclearError(f"{' and '.join(sorted(dynamic))} are the same bytes of dynamic shared memory")
        for group in by_base.values():
            if any(p.access.kind != "load" for p in group):
                found = self._group(group)
                if found is not None:
                    return found
                for place in group:
                    if "nc" in place.access.qualifiers:
                        raise _UnclearError("ld.global.nc reads an array that the kernel writes", place.access.instruction)
        return RaceFree(tuple(self._domain()), self._unread, len(self._asked_before))

    def _is_dynamic(self, name: str) -> bool:
        variable = self._program.variables[name]
        return variable.space == "shared" and not variable.size_bytes

    def _check_assumptions(self) -> None:
        """Some launch is as the user says: of none, everything could be said."""
        pair = self._pair(is_same_block=True, rounds=((), ()), are_different=False)
        if self._assumed and not isinstance(self._ask(pair), Sat):
            raise _UnclearError("no launch was found that is as assumed")

    def _check_barriers(self) -> None:
        """Threads of a block come to the same barriers."""
        for n, instruction in enumerate(self._routine.instructions):
            if instruction.opcode in ("bar", "barrier") and not is_barrier(instruction) and not is_of_warp(instruction):
                raise _UnclearError(f"{instruction.name} of some threads is not followed", n)
        for block in self._intervals.decisions():
            last = self._emulation.graph.blocks[block].end - 1
            guard = self._routine.instructions[last].guard
            if guard is None or self._routine.instructions[last].opcode == "brx":
                raise _UnclearError("which barrier comes next depends on a table of branches", last)
            truth = self._emulation.value(last, Name(guard.name))
            if not self._uniform.is_uniform(truth) and not self._agree(block, truth):
                raise _UnclearError("threads of a block may part before a barrier", last)
        for barrier in self._intervals.barriers:
            if self._routine.instructions[barrier].guard is not None:
                raise _UnclearError("a barrier under a predicate is not followed", barrier)

    def _agree(self, block: int, truth: Term) -> bool:
        """Two threads of a block that both come here, in the same rounds of common loops, decide alike."""
        pair = self._pair(is_same_block=True, rounds=((), ()))
        for who in (1, 2):
            self._comes_to(pair, block, who)
        pair.require(pair.builder.bitwise("^", pair.truth(truth, 1), pair.truth(truth, 2)))
        return isinstance(pair.builder.check(pair.conditions, _QUICK_RLIMIT), Unsat)

    def _group(self, group: Sequence[_Place]) -> Verdict | None:
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

    def _asked(self, a: _Place, b: _Place, *, is_same_block: bool, rounds: tuple[Rounds, Rounds]) -> Verdict | None:
        if a.access.kind == b.access.kind == "load" or _are_atomic(a.access, b.access, is_same_block=is_same_block):
            return None
        key = (a.access.index, b.access.index, is_same_block, rounds)
        if key not in self._asked_before:
            tick()
            self._asked_before[key] = self._met(a, b, is_same_block=is_same_block, rounds=rounds)
        return self._asked_before[key]

    def _met(self, a: _Place, b: _Place, *, is_same_block: bool, rounds: tuple[Rounds, Rounds]) -> Verdict | None:
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
        launches = tuple(dict.fromkeys(found for size in _SMALL_BLOCKS if (found := self._small(pair, *size)) is not None))
        if isinstance(answer, Sat) or launches:
            return Meeting(a.access.instruction, b.access.instruction, launches)
        return NotDecided("z3 did not decide whether two threads meet", a.access.instruction)

    def _are_apart_as_words(self, a: _Place, b: _Place, rounds: tuple[Rounds, Rounds]) -> bool:
        if a.address.width != b.address.width or not has_bitwise((a.address, b.address)):
            return False
        words = Words(self._emulation.table, self._limits, self._uniform.shared(rounds))
        for who, place in ((1, a), (2, b)):
            for part in (*self._emulation.path_condition(place.access.block), place.access.guard):
                words.require(part, who)
        return words.are_apart(a.address, a.access.size_bytes, b.address, b.access.size_bytes, self._rlimit)

    def _pair(self, *, is_same_block: bool, rounds: tuple[Rounds, Rounds], are_different: bool = True) -> Pair:
        pair = Pair(self._limits, self._uniform.shared(rounds) if is_same_block else self._uniform.is_same_everywhere, rounds)
        b = pair.builder
        registers = [f"{'tid' if is_same_block else 'ctaid'}.{axis}" for axis in AXES]
        differ = [b.negation(pair.is_zero(pair.register(r, 1).plus(pair.register(r, 2), -1))) for r in registers]
        if are_different:
            pair.require(b.either(differ))
        for one in self._assumed:
            pair.require(one.condition(pair, self._routine, self._emulation.table))
        return pair

    def _comes_to(self, pair: Pair, block: int, who: int) -> None:
        for part in self._emulation.path_condition(block):
            pair.require(pair.truth(part, who))

    def _ask(self, pair: Pair, more: Sequence[Handle] = ()) -> Sat[bool | int | Fraction] | Unsat | Unknown:
        return pair.builder.check([*pair.conditions, *more], self._rlimit)

    def _small(self, pair: Pair, least: int, most: int) -> Launch | None:
        """A small launch in which the two may meet, with at least so many threads along x, and extents of so much together."""
        more: list[Handle] = []
        registers = {f"{root}.{axis}": pair.register(f"{root}.{axis}", 0) for root in ("ntid", "nctaid") for axis in AXES}
        for name, number in registers.items():
            if name.startswith("nctaid"):
                more.append(pair.at_least(constant(_SMALL[0]), number))
        threads = constant(0)
        for axis in AXES:
            threads = threads.plus(registers[f"ntid.{axis}"])
        more.append(pair.at_least(constant(most), threads))
        more.append(pair.at_least(registers["ntid.x"], constant(least)))
        parameters = {term: pair.value(term, 0) for term in self._numbers()}
        for number in parameters.values():
            more += [pair.at_least(constant(_SMALL[1]), number), pair.at_least(number, constant(0))]
        answer = self._ask(pair, more)
        if not isinstance(answer, Sat):
            return None
        extents = {name: pair.found(number, answer.model) for name, number in registers.items()}
        if extents["ntid.x"] * extents["ntid.y"] * extents["ntid.z"] > self._limits.threads_max:
            return None
        grid = (extents["nctaid.x"], extents["nctaid.y"], extents["nctaid.z"])
        block = (extents["ntid.x"], extents["ntid.y"], extents["ntid.z"])
        return Launch(grid, block, tuple((str(t.data[0]), pair.found(number, answer.model)) for t, number in parameters.items()))

    def _numbers(self) -> Iterator[Term]:
        """Parameters that are whole numbers: not pointers."""
        bases = {p for a in self._emulation.trace if a.address is not None for p, _ in linear(a.address)[1] if _is_base(p)}
        for variable in self._routine.parameters:
            bits = variable.size_bytes * 8
            if bits in (32, 64) and variable.type[0] in "usb":
                term = self._emulation.table.parameter(variable.name, 0, bits)
                if term not in bases:
                    yield term

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
        yield "each access lies in the array that its address is computed from, different arrays do not overlap"
        yield "no address wraps, nor a product that it is made of"
        if self._is_read_elsewhere:
            yield "nobody writes what ld.global.nc reads from other arrays"
        if any(i.opcode in _TEXTURE for i in self._routine.instructions):
            yield "nobody writes to textures"
        if self._emulation.assumptions:
            yield "sums and products that are used as signed indices do not wrap"


def _pairs(group: Sequence[_Place]) -> Iterator[tuple[_Place, _Place]]:
    for n, a in enumerate(group):
        for b in group[n:]:
            yield a, b


def _are_atomic(a: Access, b: Access, *, is_same_block: bool) -> bool:
    if a.kind != "atomic" or b.kind != "atomic" or a.size_bytes != b.size_bytes:
        return False
    return is_same_block or not {"cta"} & {*a.qualifiers, *b.qualifiers}


def _is_base(term: Term) -> bool:
    return (term.op == "parameter" and term.width == 64) or _variable(term) is not None


def _variable(term: Term) -> str | None:
    while term.op in ("trunc", "zext"):
        term = term.args[0]
    return str(term.data[0]) if term.op == "address" else None


def _unread(routine: Routine, assumed: Sequence[Assumed]) -> frozenset[str]:
    """Extents of blocks and grid, as special registers, of which the kernel never asks where a thread is, and nothing is said."""
    read = {m for i in routine.instructions for o in i.operands for m in _INDEX.findall(operand_text(o))}
    required = routine.directive("reqntid") or ()
    named = {operand_text(o) for i in routine.instructions for o in i.operands}
    for root, others in _OTHER_INDEX.items():
        if not any(r == root for r, _ in read) and any(n.startswith(others) for n in named):
            read.add((root, "x"))
    found: set[str] = set()
    for root, name in (("tid", "blockDim"), ("ctaid", "gridDim")):
        for n, axis in enumerate(AXES):
            is_read = (root, axis) in read or (root, "") in read
            is_said = any(f"{name}.{axis}" in one.text for one in assumed) or (root == "tid" and required[n : n + 1] > (1,))
            if not is_read and not is_said:
                found.add(f"n{root}.{axis}")
    return frozenset(found)


def _limits(routine: Routine, unread: frozenset[str], assumed: Sequence[Assumed]) -> LaunchLimits:
    full = LaunchLimits()
    required = (*(routine.directive("reqntid") or ()), 1, 1, 1)
    low, block, grid = list(full.block_min), list(full.block_max), list(full.grid_max)
    for n, axis in enumerate(AXES):
        block[n] = 1 if f"ntid.{axis}" in unread else block[n]
        grid[n] = 1 if f"nctaid.{axis}" in unread else grid[n]
        for one in assumed:
            exact = one.exact(f"ntid.{axis}")
            if exact is not None and low[n] <= exact <= block[n]:
                low[n] = block[n] = exact
        grid[n] = min(grid[n], MOST_THREADS // max(low[n], required[n]))
    return LaunchLimits((low[0], low[1], low[2]), (block[0], block[1], block[2]), full.threads_max, (grid[0], grid[1], grid[2]))
