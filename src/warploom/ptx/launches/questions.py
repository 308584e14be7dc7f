"""A kernel on symbols for all its launches: where it accesses which array, threads to ask about, and small launches to replay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

from warploom.ptx.flow import flow_graph
from warploom.ptx.launches.assumptions import Assumed, length_of
from warploom.ptx.launches.flights import is_copy
from warploom.ptx.launches.integers import AXES, MOST_THREADS, Pair, constant
from warploom.ptx.launches.intervals import Intervals, Rounds, is_barrier
from warploom.ptx.launches.mbarriers import MOST_BYTES, Mbarriers, NotFollowedError, is_mbarrier_use
from warploom.ptx.launches.pipelines import Pipelines
from warploom.ptx.launches.spread import Spreads
from warploom.ptx.launches.turning import turning
from warploom.ptx.launches.uniform import Uniform
from warploom.ptx.routine import Program, Routine
from warploom.ptx.symbolic import (
    Access,
    AccessKind,
    Emulation,
    EmulationOptions,
    LaunchLimits,
    Term,
    comparisons,
    emulate,
    linear,
    subterms,
)
from warploom.ptx.syntax import Address, Instruction, Integer, Name, operand_text
from warploom.solve import Handle, Sat, Unknown, Unsat

RLIMIT = 1_000_000
"""z3's resource units for one question; well under a second mostly."""
_INDEX = re.compile(r"%(tid|ctaid)\b\.?(\w*)")
"""Index of a thread or a block; without an axis it is the vector of all three."""
_OTHER_INDEX = {"tid": ("%laneid", "%warpid", "%lanemask_"), "ctaid": ("%clusterid", "%cluster_cta")}
"""Other registers by which a kernel may tell threads of a block, or blocks, apart."""
_NOT_FOLLOWED = frozenset({"stmatrix", "suld", "wmma"})
_UNSHARED = frozenset({"local", "const", "param"})
"""Memory of one thread, or that nobody writes."""
_HARMLESS = frozenset({"vprintf", "__assertfail"})
"""Functions of the system that write nothing a kernel can read."""
_MAY_POINT = frozenset({"load", "opaque", "loop", "other", "function"})
"""Terms that may be a pointer themselves: with one of these in an address it is not known which part is the array."""
_CHOOSING = frozenset({"select", "trunc", "and", "or", "xor", "high", "umin", "umax"})
"""Terms that may be a pointer if something that they are made of is one."""
_SMALL = (3, 4096)
"""A launch that is to be replayed has at most so many blocks along an axis, and no greater parameter."""
_MOST_BYTES = 1 << 22
"""Largest array whose length is assumed, in such a launch."""
SMALL_BLOCKS = ((1, 130), (64, 130), (1, 1026))
"""Blocks of the launches that are tried: fewest threads along x, greatest sum of the three extents of a block."""


Threads: TypeAlias = Literal["blocks", "block", "warp", "warps", "thread"]
"""Two threads of different blocks, of one block, of one warp, or of different warps of one block; or one thread at two times."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel in which two threads may meet."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: tuple[tuple[str, int], ...]
    """Name and value of those that are whole numbers and no arrays."""
    lengths: tuple[tuple[str, int], ...] = ()
    """Name and bytes of the arrays of which a length is assumed."""


@dataclass(frozen=True, slots=True)
class NotDecided:
    reason: str
    instruction: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of an array."""

    access: Access
    base: Term
    """Pointer parameter or variable."""
    is_shared: bool
    address: Term
    is_of_warp: bool = False
    """Lanes of a warp make it for each other: even one thread may meet itself there."""
    is_bulk: bool = False
    """A bulk copy that an mbarrier counts."""
    is_copy: bool = False
    """An asynchronous copy, which goes on until its thread waits for it."""


class UnclearError(Exception):
    def __init__(self, reason: str, instruction: int | None = None) -> None:
        super().__init__(reason)
        self.found = NotDecided(reason, instruction)


def extents_read(routine: Routine) -> tuple[str, ...]:
    """Axes along which the kernel asks for the number of a thread in its block."""
    return tuple(axis for axis in AXES if f"ntid.{axis}" not in unread_extents(routine, ()))


class Questions:
    """The facts that all questions about a kernel share."""

    _takes_indices_as_exact = True
    """Signed sums and products of 32 bits are taken not to wrap where they are used as indices."""

    def __init__(self, program: Program, routine: Routine, assumed: Sequence[Assumed], rlimit: int) -> None:
        self._program = program
        self._routine = routine
        self._assumed = assumed
        self._rlimit = rlimit
        graph = flow_graph(routine)
        if not graph.is_reducible:
            raise UnclearError("a loop with several entries is not followed")
        self._unread = unread_extents(routine, assumed)
        limits = _limits(routine, self._unread, assumed)
        self._emulation: Emulation = emulate(
            routine, limits, EmulationOptions(assume_nsw=self._takes_indices_as_exact), graph=graph
        )
        self._limits = self._emulation.limits
        self._intervals = Intervals(routine, graph)
        self._uniform = Uniform(self._emulation, self._intervals.common)
        self._turning = turning(self._emulation)
        self._spreads = Spreads(self._limits)
        self._spaces = {v.name: v.space for v in (*program.variables.values(), *routine.variables.values())}
        self._copied = tuple(self._copies())
        self._widths = self._element_bytes()
        self._is_read_elsewhere = False
        """By `ld.global.nc`, from arrays that are not known."""

    def _element_bytes(self) -> dict[str, int]:
        """By array: bytes of an element, where all accesses agree; 0 where they do not."""
        found: dict[str, int] = {}
        for access in (*self._emulation.trace, *(place.access for place in self._copied)):
            if access.address is None or not access.size_bytes or access.space == "param" or access.kind == "copy":
                continue
            for part, coefficient in linear(access.address)[1]:
                if coefficient == 1 and is_base(part):
                    name, width = name_of(part), access.bits // 8
                    found[name] = width if found.get(name, width) == width else 0
        return found

    # what is accessed

    def _places(self, *, of_all: bool = False, of_every_space: bool = False) -> list[Place]:
        """`of_all`: also where nothing is written. `of_every_space`: also memory of one thread, constants and parameters."""
        writing = any(a.kind in ("store", "atomic", "copy") for a in self._emulation.trace)
        found: list[Place] = []
        for n, instruction in enumerate(self._routine.instructions):
            if instruction.opcode in _NOT_FOLLOWED:
                raise UnclearError(f"{instruction.name} is not followed", n)
        for access in self._emulation.trace:
            if access.kind == "call" and self._is_harmless(self._routine.instructions[access.instruction]):
                continue
            instruction = self._routine.instructions[access.instruction]
            if (access.kind == "copy" and is_plain_copy(instruction)) or is_mbarrier_use(instruction):
                continue
            if access.kind in ("copy", "call", "unknown"):
                raise UnclearError(f"{self._routine.instructions[access.instruction].name} is not followed", access.instruction)
            if access.kind == "order" or (access.space in _UNSHARED and not of_every_space):
                continue
            if any("cluster" in q for q in access.qualifiers):
                raise UnclearError("shared memory of other blocks is not followed", access.instruction)
            if not writing and not of_all:
                continue
            try:
                place = self._place(access, of_every_space=of_every_space)
            except UnclearError:
                if "nc" not in access.qualifiers:
                    raise
                self._is_read_elsewhere = True
                continue
            if place is not None:
                found.append(place)
        if writing or of_all:
            found += [*self._matrices(), *self._copied, *self._with_mbarriers()]
        return found

    @cached_property
    def _pipelines(self) -> Pipelines | None:
        """None: the kernel uses no mbarrier."""
        if not any(map(is_mbarrier_use, self._routine.instructions)):
            return None
        try:
            sizes = {v.name: v.size_bytes for v in (*self._program.variables.values(), *self._routine.variables.values())}
            self._mbarriers = Mbarriers(self._routine, self._emulation, self._turning, is_barrier, sizes)
            return Pipelines(self._mbarriers, self._emulation)
        except NotFollowedError as error:
            raise UnclearError(error.reason, error.instruction) from None

    def _with_mbarriers(self) -> Iterator[Place]:
        """Their objects, of 8 bytes, and what bulk copies read and write."""
        if self._pipelines is None:
            return
        for use in self._mbarriers.uses:
            n = use.instruction
            operands = self._routine.instructions[n].operands
            size = max(use.numbers, default=0) if use.kind == "copy" else 8
            if use.kind == "copy" and (min(use.numbers, default=0) != size or not 0 < size < MOST_BYTES or size % 4):
                raise UnclearError("a bulk copy of another number of bytes is not followed", n)
            place = next(n for n, operand in enumerate(operands) if isinstance(operand, Address))
            sides: list[tuple[AccessKind, str, int]] = [("store" if use.kind == "init" else "atomic", "shared", place)]
            if use.kind == "copy":
                sides = [("store", "shared", 0), ("load", "global", 1), ("atomic", "shared", 3)]
            for side, (kind, space, at) in enumerate(sides):
                own, bits = use.kind == "copy" and at < len(("to", "from")), 32
                elements = size // 4 if own else 2
                block = self._emulation.graph.block_of(n)
                access = Access(
                    -(1 << 32) - 4 * n - side, n, kind, space, "b32", bits, elements, (), self._emulation.value(n, operands[at]),
                    (), self._guard(n, block), block, self._emulation.graph.loop_nest(block), 0,
                )  # fmt: skip
                made = self._place(access, of_every_space=False)
                if made is not None:
                    yield replace(made, is_bulk=own)

    def _guard(self, n: int, block: int) -> Term:
        guard = self._routine.instructions[n].guard
        if guard is None:
            return self._emulation.table.const(1, 1)
        truth = self._emulation.value(n, Name(guard.name))
        return self._emulation.algebra(block).negation(truth) if guard.negated else truth

    def _copies(self) -> Iterator[Place]:
        """The writes of `cp.async` to shared memory and its reads of global memory (PTX ISA 9.7.9.25.3)."""
        for n, instruction in enumerate(self._routine.instructions):
            block = self._emulation.graph.block_of(n)
            if not is_copy(instruction) or block not in self._emulation.blocks:
                continue
            size = instruction.operands[2] if len(instruction.operands) > 2 else None
            if not isinstance(size, Integer) or size.value not in (4, 8, 16):
                raise UnclearError(f"{instruction.name} is not followed", n)
            algebra, guard = self._emulation.algebra(block), self._guard(n, block)
            is_read = guard
            more = list(instruction.operands[3:])
            if len(more) > ("L2::cache_hint" in instruction.modifiers):
                left = self._emulation.value(n, more[0])
                zero = left if left.width == 1 else comparisons.equal(algebra, left, algebra.const(0, left.width))
                is_read = algebra.conjunction(guard, algebra.negation(zero))
            sides: tuple[tuple[AccessKind, str, Term], ...] = (("store", "shared", guard), ("load", "global", is_read))
            for side, (kind, space, condition) in enumerate(sides):
                address = self._emulation.value(n, instruction.operands[side])
                access = Access(
                    -2 * n - 1 - side, n, kind, space, "b32", 32, size.value // 4, instruction.modifiers, address, (), condition,
                    block, self._emulation.graph.loop_nest(block), 0,
                )  # fmt: skip
                place = self._place(access, of_every_space=False)
                if place is not None:
                    yield replace(place, is_copy=True)

    def _matrices(self) -> Iterator[Place]:
        """Rows that `ldmatrix` reads: one for each lane at most, of 16 bytes (PTX ISA 9.7.14.5.15)."""
        for n, instruction in enumerate(self._routine.instructions):
            block = self._emulation.graph.block_of(n)
            if instruction.opcode != "ldmatrix" or block not in self._emulation.blocks:
                continue
            address = self._emulation.value(n, instruction.operands[1]) if len(instruction.operands) > 1 else None
            access = Access(
                -2 * n - 1, n, "load", "shared", "b32", 32, 4, instruction.modifiers, address, (), self._guard(n, block), block,
                self._emulation.graph.loop_nest(block), 0,
            )  # fmt: skip
            place = self._place(access, of_every_space=False)
            if place is not None:
                yield replace(place, is_of_warp=True)

    def _is_harmless(self, call: Instruction) -> bool:
        names = [o.text for o in call.operands if isinstance(o, Name)]
        return names[:1] != [] and names[0] in _HARMLESS and names[0] in self._program.declared

    def _place(self, access: Access, *, of_every_space: bool) -> Place | None:
        """None: memory of one thread, or that nobody writes, where it is not asked for."""
        if access.address is None or access.size_bytes == 0:
            raise UnclearError("the address is not known", access.instruction)
        parts = linear(access.address)[1]
        bases = [a for a, c in parts if c == 1 and is_base(a)]
        if len(bases) != 1 or any(c == 1 and a is not bases[0] and may_point(a) for a, c in parts):
            reason = "to which array the address belongs is not known"
            raise UnclearError(reason, access.instruction)
        base = bases[0]
        variable = variable_of(base)
        space = access.space if variable is None else self._spaces.get(variable, access.space)
        if space in _UNSHARED and variable is not None and not of_every_space:
            return None
        return Place(access, base, space == "shared", access.address)

    # questions

    def _check_assumptions(self) -> None:
        """Some launch is as the user says: of none, everything could be said."""
        pair = self._pair("block", are_different=False)
        if self._assumed and not isinstance(self._ask(pair), Sat):
            raise UnclearError("no launch was found that is as assumed")

    def _pair(
        self, threads: Threads, rounds: tuple[Rounds, Rounds] = ((), ()), *, are_different: bool = True,
        more: Sequence[Assumed] = (),
    ) -> Pair:  # fmt: skip
        pair = Pair(self._limits, self._shared(threads, rounds), rounds, self._turning, self._spreads)
        b = pair.builder
        registers = [f"{'ctaid' if threads == 'blocks' else 'tid'}.{axis}" for axis in AXES]
        differ = [b.negation(pair.is_zero(pair.register(r, 1).plus(pair.register(r, 2), -1))) for r in registers]
        if are_different:
            pair.require(b.either(differ))
        if threads in ("warp", "warps"):
            is_one = pair.is_zero(pair.warp(1).plus(pair.warp(2), -1))
            pair.require(is_one if threads == "warp" else b.negation(is_one))
        for one in (*self._assumed, *more):
            pair.require(one.condition(pair, self._program, self._routine, self._emulation.table, self._widths))
        return pair

    def _shared(self, threads: Threads, rounds: tuple[Rounds, Rounds]) -> Callable[[Term], bool]:
        """Says of a term whether two such threads have the same value for it."""
        return self._uniform.is_same_everywhere if threads == "blocks" else self._uniform.shared(rounds)

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
        lengths = {name: length_of(pair, name) for one in self._assumed for name in one.sized(self._program, self._routine)}
        more += [pair.at_least(constant(_MOST_BYTES), number) for number in lengths.values()]
        answer = self._ask(pair, more)
        if not isinstance(answer, Sat):
            return None
        extents = {name: pair.found(number, answer.model) for name, number in registers.items()}
        if extents["ntid.x"] * extents["ntid.y"] * extents["ntid.z"] > self._limits.threads_max:
            return None
        grid = (extents["nctaid.x"], extents["nctaid.y"], extents["nctaid.z"])
        block = (extents["ntid.x"], extents["ntid.y"], extents["ntid.z"])
        return Launch(
            grid,
            block,
            tuple((str(t.data[0]), pair.found(number, answer.model)) for t, number in parameters.items()),
            tuple((name, pair.found(number, answer.model)) for name, number in lengths.items()),
        )

    def _numbers(self) -> Iterator[Term]:
        """Parameters that are whole numbers: not pointers."""
        bases = {p for a in self._emulation.trace if a.address is not None for p, _ in linear(a.address)[1] if is_base(p)}
        bases |= {place.base for place in self._copied}
        for variable in self._routine.parameters:
            bits = variable.size_bytes * 8
            if bits in (32, 64) and variable.type[0] in "usb":
                term = self._emulation.table.parameter(variable.name, 0, bits)
                if term not in bases:
                    yield term


def is_plain_copy(instruction: Instruction) -> bool:
    """A copy that `flights` follows, and what commits it."""
    return is_copy(instruction) or ("commit_group" in instruction.modifiers and "bulk" not in instruction.modifiers)


def may_point(term: Term) -> bool:
    """Whether a part of an address may be the pointer."""
    if term.op in _CHOOSING:
        return any(part.op in _MAY_POINT or is_base(part) or part.op == "address" for part in subterms(term))
    return term.op in _MAY_POINT


def is_base(term: Term) -> bool:
    return (term.op == "parameter" and term.width == 64) or variable_of(term) is not None


def variable_of(term: Term) -> str | None:
    while term.op in ("trunc", "zext"):
        term = term.args[0]
    return str(term.data[0]) if term.op == "address" else None


def name_of(base: Term) -> str:
    """The array that a pointer or variable is."""
    return variable_of(base) or str(base.data[0])


def unread_extents(routine: Routine, assumed: Sequence[Assumed]) -> frozenset[str]:
    """Extents of blocks and grid, as special registers, of which the kernel never asks where a thread is, and nothing is said."""
    read = {m for i in routine.instructions for o in i.operands for m in _INDEX.findall(operand_text(o))}
    for instruction in routine.instructions:
        if instruction.opcode == "atom":  # what it gives tells threads apart, as numbers drawn from a counter do
            read |= {("tid", "x")} if "shared" in instruction.modifiers else {("tid", "x"), ("ctaid", "x")}
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
