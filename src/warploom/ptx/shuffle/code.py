"""Code of the covered loads (paper section 5.2), as changes of the module's text. The module `shuffle` argues why it is right.

before      ld.global.nc.f32 %f7, [%rd31+4];
after       activemask.b32 %m;                              once per run of straight-line code
            setp.ne.b32 %incomplete, %m, -1;
            setp.gt.or.s32 %any, %r13, 0x7ffffffd, %incomplete; once per run and index that might wrap, for all loads at once
            setp.gt.or.u32 %corner, 2, %below, %any;        once per run and neighbour
            shfl.sync.up.b32 %f7, %f4, 2, 0, %m;
            @%corner ld.global.nc.f32 %f7, [%rd31+4];
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import Routine
from warploom.ptx.shuffle.between import Paths
from warploom.ptx.shuffle.early import EarlyValues
from warploom.ptx.shuffle.edits import Edits
from warploom.ptx.shuffle.halo import Halo, HaloRegisters, find_halos, halo_code
from warploom.ptx.shuffle.lanes import LAST_LANE, LaneValues
from warploom.ptx.shuffle.plan import BlockShape, Neighbour, NoWrap, Plan, Variant
from warploom.ptx.shuffle.ranges import index_ranges
from warploom.ptx.shuffle.registers import FreshRegisters, written
from warploom.ptx.shuffle.vectors import Joined, vector_code
from warploom.ptx.shuffle.visible import OuterNames
from warploom.ptx.syntax import Address, Declaration, Directive, Function, Instruction, Name, Operand, Vector

_Value: TypeAlias = "tuple[str, int | None]"
"""A register in a run, as written by an instruction; None: as it was before the run."""
_Corner: TypeAlias = "Neighbour | tuple[Neighbour, int] | tuple[str, NoWrap, int | None]"
"""Why: no such neighbour; or, one that did not run a source; or, besides another predicate, an index that wraps, in a register as
written by an instruction."""
_GAP = r"(?:\s|//[^\n]*|/\*.*?\*/)*"
_GUARD = re.compile(rf"@{_GAP}(?:!{_GAP})?[%\w$.]+{_GAP}", re.DOTALL)


@dataclass(slots=True)
class _Run:
    """Straight-line code without calls: threads that execute its `activemask` together execute all of it."""

    mask: str
    incomplete: str
    """The register that says if the mask lacks a lane; '' where nobody asks."""
    alone: str = ""
    """The register that says if the mask lacks a lane, or this lane has an index that might wrap among those tested when the
    run starts."""
    tested: frozenset[_Value] = frozenset()
    """The values of those indices that are tested."""
    corners: dict[_Corner, str] = field(default_factory=dict["_Corner", str])
    """Predicates that hold where a lane must load for itself."""


class KernelCode:
    """Writes the changes of one kernel."""

    def __init__(
        self,
        function: Function,
        routine: Routine,
        graph: FlowGraph,
        shape: BlockShape,
        edits: Edits,
        prefix: str,
        variant: Variant,
    ) -> None:
        self.paths = Paths(routine, graph)
        self.function = function
        self.routine = routine
        self.graph = graph
        self.edits = edits
        self.variant = variant
        self.fresh = FreshRegisters(prefix)
        self.lanes = LaneValues(self.fresh, shape)
        self.early = EarlyValues(routine, self.paths, OuterNames(function), self.fresh)
        self._runs: dict[tuple[int, int], _Run] = {}
        self._starts: dict[tuple[int, int], int] = {}
        self._checks: dict[tuple[int, int], dict[_Value, list[tuple[int, NoWrap]]]] = {}
        """By run: the checks of its loads, by the value that they are about."""
        self._copies: dict[tuple[int, str], str] = {}
        self._ballots: dict[tuple[int, str], str] = {}
        """Lanes that ran a source, by source and mask."""
        self._notes: dict[int, str] = {}
        """Predicates that hold in threads that ran a source which not every thread runs."""
        self._cleared: set[str] = set()
        """Copies that the kernel's start sets to 0, since not every thread runs their source."""
        self._halos: dict[int, Halo] = {}
        self._halo_registers: dict[int, HaloRegisters] = {}

    def apply(self, plans: Iterable[Plan], joined: Iterable[Joined] = ()) -> None:
        """Adds the changes for all plans and vectors; call once."""
        ordered = sorted(plans, key=lambda p: p.load)
        for plan in ordered:
            key = self._run_of(plan.load)
            first = plan.source if self._run_of(plan.source) == key else plan.load
            if not plan.neighbour.is_self:
                self._starts[key] = min(first, self._starts.get(key, first))
        if not self.variant:
            near = (p for p in ordered if self._run_of(p.load) == self._run_of(p.source))
            self._halos = find_halos(near, self.routine)
        self._collect_checks(ordered)
        for plan in ordered:
            self._cover(plan)
        vector_code(joined, self.routine, self.edits, self.fresh)
        body = self.function.body
        declarations = self.fresh.declarations()
        if body is None or not declarations:
            return
        self.edits.insert(body.extent.start + 1, "".join(f"\n\t{d}" for d in declarations))
        first = next((i for i in body.items if not isinstance(i, Declaration | Directive)), None)
        if self.lanes.prologue and first is not None:
            self.edits.insert(first.extent.start, "".join(f"{line}\n\t" for line in self.lanes.prologue))

    def _collect_checks(self, plans: Iterable[Plan]) -> None:
        for plan in plans:
            if self.variant or plan.neighbour.is_self or self._has_halo(plan):
                continue
            found = self._checks.setdefault(self._run_of(plan.load), {})
            for check in plan.checks:
                found.setdefault(self._value(check.register, plan.load), []).append((plan.load, check))

    def _value(self, register: str, use: int) -> _Value:
        return register, self.early.writer(register, self._starts[self._run_of(use)], use)

    # one load

    def _cover(self, plan: Plan) -> None:
        instruction = self.routine.instructions[plan.load]
        start, end = instruction.extent[1:]
        if self.variant == "no-load" and not plan.neighbour.is_self:
            self.edits.replace(start, end, "/* a covered load stood here */")
            return
        lines = self._reused(plan, instruction) if plan.neighbour.is_self else self._shuffled(plan, instruction)
        self.edits.replace(start, end, "\n\t".join(lines))

    def _reused(self, plan: Plan, instruction: Instruction) -> list[str]:
        guard = _guard_text(instruction)
        tests, alone = self._own_load(plan, instruction)
        if alone:
            kept = replace(plan, stores=(), unsure=False)
            moves = self._reused(kept, instruction) if not plan.unsure else self._noted(plan, alone)
            return [*tests, *moves, f"@{alone} {self._bare(instruction)}"]
        pairs = [(e.bits, self._source(plan, e.source, e.bits, copies=e.must_copy), written(e.target)) for e in plan.elements]
        targets = {t for _, _, t in pairs}
        if any(s in targets for _, s, _ in pairs) and len(pairs) > 1:
            held = [self.fresh.new(f"b{bits}") for bits, _, _ in pairs]
            first = [f"mov.b{bits} {h}, {s};" for (bits, s, _), h in zip(pairs, held, strict=True)]
            return first + [f"{guard}mov.b{bits} {t}, {h};" for (bits, _, t), h in zip(pairs, held, strict=True)]
        return [f"{guard}mov.b{bits} {t}, {s};" for bits, s, t in pairs]

    def _own_load(self, plan: Plan, instruction: Instruction) -> tuple[list[str], str]:
        """Code for a predicate that holds where a reuse has to load after all, and the predicate; '' where it never has to."""
        if plan.unsure:
            alone = self.fresh.new("pred")
            return [f"not.pred {alone}, {self._note(plan.source)};"], alone
        lines: list[str] = []
        alone, address = "", instruction.operands[1]
        size = plan.element_bits // 8 * len(_destinations(instruction))
        for store in plan.stores:
            assert isinstance(address, Address) and isinstance(address.base, Name)
            apart, overlaps = self.fresh.new("b64"), self.fresh.new("pred")
            lines.append(f"sub.s64 {apart}, {written(store.register)}, {written(address.base.text)};")
            # The first byte of the store less the first of the load is above -size and below store.size_bytes.
            if moved := store.offset - address.offset + size - 1:
                lines.append(f"add.s64 {apart}, {apart}, {moved};")
            either, besides = (".or", f", {alone}") if alone else ("", "")
            lines.append(f"setp.lt{either}.u64 {overlaps}, {apart}, {store.size_bytes + size - 1}{besides};")
            alone = overlaps
        return lines, alone

    def _noted(self, plan: Plan, alone: str) -> list[str]:
        """The values of a source that this thread may not have run."""
        return [
            f"@!{alone} mov.b{e.bits} {written(e.target)}, {self._source(plan, e.source, e.bits, copies=True)};"
            for e in plan.elements
        ]

    def _note(self, source: int) -> str:
        """A predicate that holds in the threads that ran the source."""
        note = self._notes.get(source)
        if note is None:
            note = self._notes[source] = self.fresh.new("pred")
            self.lanes.prologue.append(f"setp.ne.b32 {note}, 0, 0;")
            self.edits.insert(self.routine.instructions[source].extent.end, f"\n\tsetp.eq.b32 {note}, 0, 0;")
        return note

    def _shuffled(self, plan: Plan, instruction: Instruction) -> list[str]:
        lines: list[str] = []
        run = self._run(plan.load)
        halo = self._halo(plan, run)
        corner = halo.alone if halo is not None else "" if self.variant == "no-corner" else self._corner(plan, run, lines)
        sources = [self._source(plan, e.source, e.bits, copies=e.must_copy) for e in plan.elements]
        if halo is not None:
            sources = self._with_halo(plan, halo, sources, lines)
        targets = [written(e.target) for e in plan.elements]
        base = written(plan_base) if (plan_base := _address_register(instruction)) else ""
        is_direct = instruction.guard is None and base not in targets and not set(targets) & set(sources[1:])
        results = targets if is_direct else [self.fresh.new(f"b{e.bits}") for e in plan.elements]
        for element, source, result in zip(plan.elements, sources, results, strict=True):
            lines += self._exchange(plan.neighbour, run.mask, element.bits, source, result, wraps=halo is not None)
        if is_direct:
            if corner:
                lines.append(f"@{corner} {self._bare(instruction)}")
            return lines
        guard = _guard_text(instruction)
        if base in targets:
            # read the address before it is overwritten
            lines += [f"@{corner} {self._bare(instruction)}"] if corner else []
            guard = f"@!{corner} " if corner else ""
            return lines + [f"{guard}mov.b{e.bits} {t}, {r};" for e, t, r in zip(plan.elements, targets, results, strict=True)]
        guard = _guard_text(instruction)
        lines += [f"{guard}mov.b{e.bits} {t}, {r};" for e, t, r in zip(plan.elements, targets, results, strict=True)]
        if corner:
            lines.append(f"@{self._both(instruction, corner, lines)} {self._bare(instruction)}")
        return lines

    def _both(self, instruction: Instruction, corner: str, lines: list[str]) -> str:
        """A predicate that holds where the load's own guard does and the lane is a corner."""
        guard = instruction.guard
        if guard is None:
            return corner
        both, own = self.fresh.new("pred"), written(guard.name)
        if guard.negated:
            opposite = self.fresh.new("pred")
            lines.append(f"not.pred {opposite}, {own};")
            own = opposite
        lines.append(f"and.pred {both}, {corner}, {own};")
        return both

    def _bare(self, instruction: Instruction) -> str:
        """The load as it stands in the text, without its guard."""
        text = self.edits.text[instruction.extent.start : instruction.extent.end]
        return text if instruction.guard is None else _GUARD.sub("", text, count=1)

    def _source(self, plan: Plan, register: str, bits: int, *, copies: bool) -> str:
        """The register that holds the source's value at the target."""
        if not copies:
            return written(register)
        key = (plan.source, register)
        copy = self._copies.get(key)
        if copy is None:
            copy = self._copies[key] = self.fresh.new(f"b{bits}")
            end = self.routine.instructions[plan.source].extent.end
            self.edits.insert(end, f"\n\tmov.b{bits} {copy}, {written(register)};")
        if plan.unsure and copy not in self._cleared:
            self._cleared.add(copy)
            self.lanes.prologue.append(f"mov.b{bits} {copy}, 0;")
        return copy

    def _halo(self, plan: Plan, run: _Run) -> HaloRegisters | None:
        """Registers for the halo of the plan's source, loaded before it; None where the plan has to do without."""
        if not self._has_halo(plan):
            return None
        halo, found = self._halos[plan.source], self._halo_registers.get(plan.source)
        if found is None:
            found, lines = halo_code(halo, self.routine, self.lanes, self.fresh, run.mask, run.incomplete)
            self._halo_registers[plan.source] = found
            start = self.routine.instructions[plan.source].extent.start
            self.edits.insert(start, "".join(f"{line}\n\t" for line in lines))
        return found

    def _has_halo(self, plan: Plan) -> bool:
        return plan.source in self._halos and plan.halo is not None and self._run_of(plan.source) == self._run_of(plan.load)

    def _with_halo(self, plan: Plan, halo: HaloRegisters, sources: list[str], lines: list[str]) -> list[str]:
        """Code for the value that each lane gives: the lanes at one end give what they have from beyond the other."""
        outer, distance = self.fresh.new("pred"), plan.neighbour.x
        test, bound = ("lt", distance) if distance > 0 else ("gt", LAST_LANE + distance)
        lines.append(f"setp.{test}.u32 {outer}, {self.lanes.lane}, {bound};")
        given: list[str] = []
        for element, source in zip(plan.elements, sources, strict=True):
            given.append(self.fresh.new(f"b{element.bits}"))
            lines.append(f"selp.b{element.bits} {given[-1]}, {halo.values[element.source]}, {source}, {outer};")
        return given

    # the exchange

    def _exchange(self, neighbour: Neighbour, mask: str, bits: int, source: str, result: str, *, wraps: bool) -> list[str]:
        """`wraps`: the lane that follows the last is the first."""
        match bits:
            case 32:
                return [self._shfl(neighbour, mask, source, result, wraps=wraps)]
            case 16:
                packed, moved, rest = self.fresh.new("b32"), self.fresh.new("b32"), self.fresh.new("b16")
                return [
                    f"mov.b32 {packed}, {{{source}, {source}}};",
                    self._shfl(neighbour, mask, packed, moved, wraps=wraps),
                    f"mov.b32 {{{result}, {rest}}}, {moved};",
                ]
            case _:
                low, high = self.fresh.new("b32"), self.fresh.new("b32")
                moved = self.fresh.new("b32"), self.fresh.new("b32")
                return [
                    f"mov.b64 {{{low}, {high}}}, {source};",
                    self._shfl(neighbour, mask, low, moved[0], wraps=wraps),
                    self._shfl(neighbour, mask, high, moved[1], wraps=wraps),
                    f"mov.b64 {result}, {{{moved[0]}, {moved[1]}}};",
                ]

    def _shfl(self, neighbour: Neighbour, mask: str, source: str, result: str, *, wraps: bool) -> str:
        if neighbour.y or wraps:  # `idx` takes the lane modulo 32
            lane = self.lanes.lane_of(neighbour)
            return f"shfl.sync.idx.b32 {result}, {source}, {lane}, {LAST_LANE}, {mask};"
        if neighbour.x > 0:
            return f"shfl.sync.down.b32 {result}, {source}, {neighbour.x}, {LAST_LANE}, {mask};"
        return f"shfl.sync.up.b32 {result}, {source}, {-neighbour.x}, 0, {mask};"

    # who has a source

    def _without_value(self, plan: Plan, run: _Run, corner: str, lines: list[str]) -> str:
        """A predicate that holds where `corner` does or the neighbour has not run the source, or was kept by its guard."""
        key = (plan.neighbour, plan.source)
        found = run.corners.get(key)
        if found is None:
            found = run.corners[key] = self.fresh.new("pred")
            bit = self.fresh.new("b32")
            lane = self.lanes.lane_of(plan.neighbour)
            ballot = self._note_ballot(plan.source, run, lines) if plan.unsure else self._ballot(plan.source, run)
            lines += [
                f"shr.u32 {bit}, {ballot}, {lane};",
                f"and.b32 {bit}, {bit}, 1;",
                f"setp.eq.or.u32 {found}, {bit}, 0, {corner};",
            ]
        return found

    def _ballot(self, source: int, run: _Run) -> str:
        """The lanes in which the guard of a source held."""
        ballot = self._ballots.get((source, run.mask))
        if ballot is None:
            ballot = self._ballots[source, run.mask] = self.fresh.new("b32")
            instruction = self.routine.instructions[source]
            guard = _guard_text(instruction).strip().removeprefix("@")
            self.edits.insert(instruction.extent.start, f"vote.sync.ballot.b32 {ballot}, {guard}, {run.mask};\n\t")
        return ballot

    def _note_ballot(self, source: int, run: _Run, lines: list[str]) -> str:
        """The lanes of the mask that ran a source before, in other code."""
        ballot = self._ballots.get((source, run.mask))
        if ballot is None:
            ballot = self._ballots[source, run.mask] = self.fresh.new("b32")
            lines.append(f"vote.sync.ballot.b32 {ballot}, {self._note(source)}, {run.mask};")
        return ballot

    def _run_of(self, index: int) -> tuple[int, int]:
        """The straight-line code around an instruction: its block, and the last call before it."""
        block = self.graph.blocks[self.graph.block_of(index)]
        calls = (i for i in range(block.start, index) if self.routine.instructions[i].opcode == "call")
        return block.index, max(calls, default=-1)

    def _run(self, index: int) -> _Run:
        """Run of the instruction: its mask is taken before the first source in it, so that who shuffles also loaded together."""
        key = self._run_of(index)
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run(self.fresh.new("b32"), "")
            lines = [f"activemask.b32 {run.mask};"]
            if self.variant != "no-corner":
                run.incomplete = self.fresh.new("pred")
                lines.append(f"setp.ne.b32 {run.incomplete}, {run.mask}, -1;")
            run.alone = run.incomplete
            lines += self._index_tests(run, key)
            start = self.routine.instructions[self._starts[key]].extent.start
            self.edits.insert(start, "".join(f"{line}\n\t" for line in lines))
        return run

    def _index_tests(self, run: _Run, key: tuple[int, int]) -> list[str]:
        """Code for `alone`: one test for all checks of a value, of those values that several loads need and that can be had when
        the run starts."""
        lines: list[str] = []
        tested: set[_Value] = set()
        for value, checks in self._checks.get(key, {}).items():
            if len({load for load, _ in checks}) == 1:
                continue
            early = self.early.value(value[0], self._starts[key], checks[0][0])
            if early is None:
                continue
            tested.add(value)
            copies, index = early
            lines += copies
            for each in index_ranges(check for _, check in checks):
                test, run.alone = each.test(index, run.alone, self.fresh)
                lines += test
        run.tested = frozenset(tested)
        return lines

    def _corner(self, plan: Plan, run: _Run, lines: list[str]) -> str:
        """A predicate that holds where the lane must load for itself."""
        corner = run.corners.get(plan.neighbour)
        if corner is None:
            corner = run.corners[plan.neighbour] = self.fresh.new("pred")
            lines.append(self.lanes.without_source(plan.neighbour, corner, run.alone))
        if plan.unsure or self.routine.instructions[plan.source].guard is not None:
            corner = self._without_value(plan, run, corner, lines)
        for check in sorted(plan.checks):
            value = self._value(check.register, plan.load)
            if value in run.tested:
                continue
            key = (corner, check, value[1])
            tested = run.corners.get(key)
            if tested is None:
                (only,) = index_ranges([check])
                test, tested = only.test(written(check.register), corner, self.fresh)
                run.corners[key] = tested
                lines += test
            corner = tested
        return corner


def _guard_text(instruction: Instruction) -> str:
    guard = instruction.guard
    return "" if guard is None else f"@{'!' if guard.negated else ''}{written(guard.name)} "


def _destinations(instruction: Instruction) -> tuple[Operand, ...]:
    target = instruction.operands[0]
    return target.elements if isinstance(target, Vector) else (target,)


def _address_register(instruction: Instruction) -> str | None:
    address = instruction.operands[1]
    return address.base.text if isinstance(address, Address) and isinstance(address.base, Name) else None
