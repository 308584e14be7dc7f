"""Finds the loads that read what another lane, or the same thread, has already read (paper section 5.1)."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from warploom.machines import WARP_LANES
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.shuffle.between import Paths
from warploom.ptx.shuffle.iterations import aligned_loops
from warploom.ptx.shuffle.loads import Load, classify, is_counted
from warploom.ptx.shuffle.plan import Element, Neighbour, NoWrap, Plan, Store
from warploom.ptx.shuffle.pointers import is_plain_store, left_alone
from warploom.ptx.shuffle.visible import OuterNames, Values
from warploom.ptx.symbolic import (
    Algebra,
    Emulation,
    Match,
    Skeleton,
    Substitution,
    Term,
    disjoint,
    equal_if,
    linear,
    skeleton,
    stride,
    subterms,
)
from warploom.ptx.symbolic import Neighbour as OtherThread
from warploom.ptx.symbolic import NoWrap as Condition
from warploom.ptx.syntax import Address, Function, Name

_IRREGULAR = 24
"""Loads whose address does not move evenly along x are tried at every distance; at most so many of a kernel."""
_MOST_STORES = 4
"""Stores between two loads of one address that a thread tests at run time."""
_UNSURE = "does not always run before it"


@dataclass(frozen=True, slots=True)
class Search:
    """Limits of how far to look."""

    max_delta: int
    max_rows: int
    shared: bool
    assume_nsw: bool
    halo: bool = False
    """Show what `Plan.halo` needs."""
    lone_sources: bool = False
    """Say also what is covered where a load that an earlier one could cover is no source (`Detected.of_lone_sources`)."""
    noalias: bool = False
    """Arrays behind different pointer parameters do not overlap where one of them is written."""


@dataclass(frozen=True, slots=True)
class Refused:
    load: int
    reason: str


@dataclass(frozen=True, slots=True)
class Detected:
    """Candidates of one kernel, in program order."""

    loads: int
    plans: tuple[Plan, ...]
    refused: tuple[Refused, ...]
    of_lone_sources: tuple[Plan, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A load and where it reads."""

    load: Load
    block: int
    address: Term


@dataclass(frozen=True, slots=True)
class _Chance:
    """A source, and the thread and the distance in bytes at which its values may be this load's."""

    source: _Place
    at: Neighbour
    elements: tuple[int, ...]
    """For every register of the target the element of the source; -1 where nobody reads it."""


def detect(emulation: Emulation, function: Function, search: Search) -> Detected:
    """Every load that an earlier one covers, with the nearest source; sources are never covered themselves."""
    return _Detector(emulation, function, search).run()


class _Detector:
    def __init__(self, emulation: Emulation, function: Function, search: Search) -> None:
        self.emulation = emulation
        self.search = search
        self.routine: Routine = emulation.routine
        self.graph = emulation.graph
        self.paths = Paths(self.routine, self.graph)
        self.values = Values(emulation, self.paths, OuterNames(function))
        self.aligned = aligned_loops(emulation)
        self.table = emulation.table
        self.accesses = {a.instruction: a for a in emulation.trace}
        self.keyed: dict[object, list[tuple[_Place, Neighbour, int]]] = {}
        """By form of the load and key of an address moved by a distance: the source, the distance, the constant part."""
        self.everywhere: dict[tuple[int, int], list[tuple[Neighbour, Skeleton]]] = {}
        """By load and reach: its address at other threads."""
        self.tried: dict[tuple[int, _Chance, bool], Plan | str] = {}
        self.strides: dict[Term, int | None] = {}
        self.threads: dict[Neighbour, OtherThread] = {}
        self.irregular = 0
        self.plain = Algebra(emulation.table, emulation.algebra(emulation.order[0]).facts) if emulation.order else None

    def run(self) -> Detected:
        counted = [i for i, each in enumerate(self.routine.instructions) if is_counted(each, shared=self.search.shared)]
        places, refused = self._places(counted)
        plans, others = self._plans(places, lone=False)
        of_lone = tuple(self._plans(places, lone=True)[0]) if self.search.lone_sources else ()
        return Detected(len(counted), tuple(plans), tuple(sorted(refused + others, key=lambda r: r.load)), of_lone)

    def _plans(self, places: list[_Place], *, lone: bool) -> tuple[list[Plan], list[Refused]]:
        """With `lone`, no load that an earlier one could cover is a source, nor one that may not have run."""
        self.keyed, self.irregular = {}, 0
        coverable: set[int] = set()
        plans: list[Plan] = []
        refused: list[Refused] = []
        for place in places:
            found = self._covered(place, lone=lone)
            if isinstance(found, Plan) and lone:
                self._offer(place)
                coverable.add(place.load.index)
                found = self._covered(place, coverable, lone=lone)
            if isinstance(found, Plan):
                plans.append(found)
                continue
            refused.append(Refused(place.load.index, found))
            if place.load.index not in coverable:
                self._offer(place)
        return plans, refused

    def _places(self, counted: list[int]) -> tuple[list[_Place], list[Refused]]:
        places: list[_Place] = []
        refused: list[Refused] = []
        order = {block: n for n, block in enumerate(self.emulation.order)}
        for index in counted:
            load = classify(self.routine, index)
            access = self.accesses.get(index)
            if isinstance(load, str):
                refused.append(Refused(index, load))
            elif not self.graph.is_reducible:
                refused.append(Refused(index, "the kernel has a loop with several entries"))
            elif access is None or access.address is None:
                refused.append(Refused(index, "its address is not known, or it never runs"))
            else:
                places.append(_Place(load, access.block, access.address))
        places.sort(key=lambda p: (order[p.block], p.load.index))
        return places, refused

    # candidates by form of the address

    def _offer(self, place: _Place) -> None:
        """Makes the load known as a source."""
        if self.plain is None:
            return
        for rows in range(-self.search.max_rows, self.search.max_rows + 1):
            step = self._stride(place) if rows == 0 else None
            if rows == 0 and step is None:
                self._offer_everywhere(place)
                continue
            at = Neighbour(0, rows)
            found = self._skeleton(self._moved(place, at))
            self.keyed.setdefault((place.load.form, found.key), []).append((place, at, found.constant))

    def _offer_everywhere(self, place: _Place) -> None:
        self.irregular += 1
        reach = self.search.max_delta if self.irregular <= _IRREGULAR else 0
        key = place.load.index, reach
        if key not in self.everywhere:
            threads = (Neighbour(x) for x in range(-reach, reach + 1))
            self.everywhere[key] = [(at, self._skeleton(self._moved(place, at))) for at in threads]
        for at, found in self.everywhere[key]:
            self.keyed.setdefault((place.load.form, found.key), []).append((place, at, found.constant))

    def _moved(self, place: _Place, at: Neighbour) -> Term:
        return place.address if at.is_self else self._thread(at).elsewhere(place.address)

    def _skeleton(self, address: Term) -> Skeleton:
        assert self.plain is not None
        return skeleton(self.plain, address)

    def _stride(self, place: _Place) -> int | None:
        """Bytes from one thread of a row to the next, formally."""
        if place.address not in self.strides:
            x = self.table.special("tid.x")
            found = stride(self.emulation, place.block, place.address, x)
            lanes = self.table.special("laneid") in self.table.leaves(place.address)
            self.strides[place.address] = None if lanes else found
        return self.strides[place.address]

    def _chances(self, place: _Place) -> list[_Chance]:
        """Nearest first."""
        own = self._skeleton(place.address)
        found: list[_Chance] = []
        for source, at, constant in self.keyed.get((place.load.form, own.key), ()):
            gap = own.constant - constant
            size = source.load.element_bytes
            step = self._stride(source) or 0
            for first in range(len(source.load.registers)):
                rest = gap - first * size
                if at.x == 0 and step and rest % step == 0:
                    near = Neighbour(rest // step, at.y)
                elif rest == 0:
                    near = at
                else:
                    continue
                if at.x == 0 and step and at.is_self and rest == 0:
                    near = Neighbour(0)
                if abs(near.x) > self.search.max_delta:
                    continue
                elements = tuple(first + n if r != "_" else -1 for n, r in enumerate(place.load.registers))
                if max(elements, default=-1) < len(source.load.registers):
                    found.append(_Chance(source, near, elements))
        found.sort(key=lambda c: (abs(c.at.y), abs(c.at.x), -c.source.load.index))
        return found

    # one load

    def _covered(self, place: _Place, without: AbstractSet[int] = frozenset(), *, lone: bool) -> Plan | str:
        """The plan that covers the load, else why there is none; `without` these loads as sources."""
        if not any(r != "_" for r in place.load.registers):
            return "nobody takes what it loads"
        reason = ""
        chances = [chance for chance in self._chances(place) if chance.source.load.index not in without]
        for unsure in (False,) if lone else (False, True):
            for chance in chances:
                if unsure and self._runs_before(chance.source, place):
                    continue
                key = place.load.index, chance, unsure
                if (found := self.tried.get(key)) is None:
                    found = self.tried[key] = self._tried(place, chance, unsure=unsure)
                if isinstance(found, Plan):
                    return found
                # Why a source that may not have run is no source either says more than that it may not have run.
                reason = found if unsure and _UNSURE in reason else reason or found
        if self.irregular > _IRREGULAR and not reason:
            return (
                f"no earlier load is seen to read it; of addresses that move unevenly only {_IRREGULAR} are tried in other lanes"
            )
        return reason or f"no earlier load reads it, in this lane or within {self.search.max_delta} lanes"

    def _tried(self, place: _Place, chance: _Chance, *, unsure: bool) -> Plan | str:
        source, at = chance.source, chance.at
        first, last = source.load.index, place.load.index
        where = f"the load in line {self.routine.span(first).line}"
        if unsure and (reason := self._why_not_noted(source, place)):
            return f"{where} {_UNSURE}, {reason}"
        if not unsure and not self._runs_before(source, place):
            return f"{where} {_UNSURE}"
        nest, inner = self.graph.loop_nest(source.block), self.graph.loop_nest(place.block)
        if inner[: len(nest)] != nest:
            return f"{where} is in a loop that is over by then"
        stores: list[Store] = []
        assumed: list[str] = []
        since = self._last_in_common(source.block, place.block) if unsure else first
        for clobber in () if "nc" in source.load.qualifiers else self.paths.clobbers(since, last, source.load.space):
            if self.search.noalias and (text := self._other_array(clobber, source)):
                assumed.append(text)
                continue
            store = self._own_store(clobber, source, place) if at.is_self and len(stores) < _MOST_STORES else None
            if store is None:
                return f"line {self.routine.span(clobber).line} may change what {where} read"
            stores += [] if self._is_apart(clobber, place) else [store]
        guard_reason = self._guards(source, place, at)
        if guard_reason:
            return guard_reason
        if not at.is_self:
            adrift = next((h for h in nest if h not in self.aligned), None)
            if adrift is not None:
                line = self.routine.span(self.graph.blocks[adrift].start).line
                return f"lanes may be in different iterations of the loop in line {line}"
        elements = self._elements(place, chance)
        if isinstance(elements, str):
            return elements
        moved = self._element_address(source, next((e for e in chance.elements if e >= 0), 0))
        wanted = self._element_address(place, next(n for n, e in enumerate(chance.elements) if e >= 0))
        match = self._match(wanted, moved, place, source, at)
        if match is None:
            return f"its address is not shown to be that of {where}, {at} lanes away"
        checks: tuple[NoWrap, ...] = ()
        if match.conditions and self.search.assume_nsw and all(c.is_signed for c in match.conditions):
            assumed += map(str, match.conditions)
        elif match.conditions:
            found = self._checks(place, match.conditions)
            if isinstance(found, str):
                return found
            checks = found
            if at.is_self:
                return f"the same address only if no index wraps ({'; '.join(map(str, checks))})"
        is_whole = all(e in (-1, n) for n, e in enumerate(chance.elements))
        halo = self._halo(place, source, at, wanted, moved, match, is_whole=is_whole) if self.search.halo else None
        if unsure:
            elements = tuple(replace(element, must_copy=True) for element in elements)
        return Plan(
            last, first, at, elements, 8 * place.load.element_bytes, checks, tuple(assumed), tuple(stores), unsure,
            self._stride(source), halo,
        )  # fmt: skip

    def _why_not_noted(self, source: _Place, place: _Place) -> str:
        """Why no note of a thread that ran the source helps; '' where it does.

        The source runs at most once, so the note and the value stay as they are. A target that overwrites its own address, or has
        a predicate, could not be loaded after the value was taken.
        """
        if source.load.guard is not None:
            return "and under a predicate"
        if self.graph.loop_nest(source.block):
            return "and is in a loop"
        if not self.paths.leads(source.load.index, place.load.index):
            return "and never in a lane that comes to it"
        if place.load.guard is not None or place.load.address_register in place.load.registers:
            return "and it is predicated or overwrites its own address"
        return ""

    def _last_in_common(self, block: int, other: int) -> int:
        """The last instruction through which every way to either block leads."""
        at: int | None = block
        while at is not None and not self.graph.dominates(at, other):
            at = self.graph.dominator[at]
        return -1 if at is None else self.graph.blocks[at].end - 1

    def _own_store(self, index: int, source: _Place, place: _Place) -> Store | None:
        """A plain store in the straight-line code between the two loads, at an address that is still known at the second."""
        instruction = self.routine.instructions[index]
        if not is_plain_store(instruction):
            return None
        if source.block != place.block or self.graph.block_of(index) != place.block or place.load.space != "global":
            return None
        load, address = place.load, instruction.operands[0]
        if load.guard is not None or load.address_register is None or load.address_register in load.registers:
            return None
        if not isinstance(address, Address) or not isinstance(address.base, Name) or address.rest:
            return None
        register, access = address.base.text, self.accesses.get(index)
        is_known = self.values.is_visible(register) and self.paths.is_kept(index, load.index, register)
        if access is None or access.address is None or not is_known:
            return None
        if any(TYPE_BITS.get(self.routine.registers.get(name, "")) != 64 for name in (register, load.address_register)):
            return None
        if linear(access.address)[1] == linear(place.address)[1] and not self._is_apart(index, place):
            return None  # it does write there
        return Store(index, self.routine.span(index).line, register, address.offset, access.size_bytes)

    def _other_array(self, index: int, source: _Place) -> str:
        """The note that `noalias` gives of a plain store between the loads, by whichever thread; '' where it says nothing.

        Another thread's store there goes through the same parameter, so it leaves the source's array alone, too.
        """
        access = self.accesses.get(index)
        return left_alone(self.routine, index, None if access is None else access.address, source.address)

    def _is_apart(self, index: int, place: _Place) -> bool:
        """Whether the thread's store is shown to leave alone what its load reads; both in one block."""
        access = self.accesses[index]
        assert access.address is not None
        size = place.load.element_bytes * len(place.load.registers)
        return disjoint(self.emulation.algebra(place.block), access.address, access.size_bytes, place.address, size)

    def _halo(
        self, place: _Place, source: _Place, at: Neighbour, wanted: Term, moved: Term, near: Match, *, is_whole: bool
    ) -> tuple[NoWrap, ...] | None:
        """See `Plan.halo`. The target must load as much as the source, and always: else there may be no such memory."""
        step = self._stride(source)
        if at.is_self or at.y or not step or source.block != place.block:
            return None
        if source.load.guard is not None or place.load.guard is not None:
            return None
        if len(source.load.registers) != len(place.load.registers) or not is_whole:
            return None
        side = 1 if at.x > 0 else -1
        beyond = self.emulation.algebra(source.block).shifted(moved, side * WARP_LANES * step)
        far = self._match(wanted, beyond, place, source, Neighbour(at.x - side * WARP_LANES))
        if far is None:
            return None
        checks: dict[NoWrap, None] = {}
        for condition in (*near.conditions, *far.conditions):
            if condition.is_signed and self.search.assume_nsw:
                continue
            index = _index_like(moved, condition)
            register = None
            if index is not None and condition.width in (16, 32, 64):
                register = self.values.register_of(index, source.load.index, source.block)
            if register is None:
                return None
            for amount in (condition.offset, -condition.offset):
                checks[NoWrap(*register, amount, condition.is_signed, condition.width)] = None
        return tuple(checks)

    def _match(self, wanted: Term, moved: Term, place: _Place, source: _Place, at: Neighbour) -> Match | None:
        if at.is_self:
            algebra = self.emulation.algebra(place.block)
            rebuild = Substitution(algebra, {})
            return equal_if(algebra, rebuild(wanted), rebuild(moved))
        return self._thread(at).match(wanted, place.block, moved, source.block)

    def _element_address(self, place: _Place, element: int) -> Term:
        return self.emulation.algebra(place.block).shifted(place.address, element * place.load.element_bytes)

    def _runs_before(self, source: _Place, place: _Place) -> bool:
        if source.block == place.block:
            return source.load.index < place.load.index
        return self.graph.dominates(source.block, place.block)

    def _guards(self, source: _Place, place: _Place, at: Neighbour) -> str:
        """The reason why the predicates of the two loads forbid it; '' if they do not."""
        theirs, own = source.load.guard, place.load.guard
        if theirs is not None:
            first, last = source.load.index, place.load.index
            if at.is_self:
                is_known = theirs == own and self.paths.is_kept(first, last, theirs.name)
            else:
                between = self.routine.instructions[first:last] if source.block == place.block else ()
                is_known = bool(between) and all(each.opcode != "call" for each in between)
            if not is_known:
                return f"the load in line {self.routine.span(first).line} runs under a predicate"
        if own is not None and place.load.address_register in place.load.registers:
            return "it is predicated and overwrites its own address"
        return ""

    def _elements(self, place: _Place, chance: _Chance) -> tuple[Element, ...] | str:
        found: list[Element] = []
        source = chance.source.load
        for target, bits, number in zip(place.load.registers, place.load.register_bits, chance.elements, strict=True):
            if number < 0:
                continue
            register = source.registers[number]
            if register == "_":
                return "its source drops the value"
            if source.register_bits[number] != bits:
                return "its register and that of its source have different widths"
            kept = self.paths.is_kept(source.index, place.load.index, register) and self.values.is_visible(register)
            found.append(Element(register, target, bits, must_copy=not kept))
        return tuple(found)

    def _checks(self, place: _Place, conditions: tuple[Condition, ...]) -> tuple[NoWrap, ...] | str:
        found: list[NoWrap] = []
        for condition in conditions:
            register = None
            if condition.width in (16, 32, 64):
                register = self.values.register_of(condition.term, place.load.index, place.block)
            if register is None:
                return f"no register holds what must not wrap: {condition}"
            name, offset = register
            found.append(NoWrap(name, offset, condition.offset, condition.is_signed, condition.width))
        return tuple(found)

    def _thread(self, at: Neighbour) -> OtherThread:
        found = self.threads.get(at)
        if found is None:
            deltas = {self.table.special("tid.x"): at.x}
            if at.y:
                deltas[self.table.special("tid.y")] = at.y
            else:
                deltas[self.table.special("laneid")] = at.x
            found = self.threads[at] = OtherThread(self.emulation, deltas, self.aligned)
        return found


def _index_like(address: Term, condition: Condition) -> Term | None:
    """The extended index in an address that differs from the condition's by a constant."""
    op, (_, parts) = "sext" if condition.is_signed else "zext", linear(condition.term)
    for term in subterms(address):
        if term.op == op and term.args[0].width == condition.width and linear(term.args[0])[1] == parts:
            return term.args[0]
    return None
