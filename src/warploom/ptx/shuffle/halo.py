"""Register cache: a full warp loads the union of what its lanes need, each element once; all else is shuffles.

The lanes at one end of the warp load, besides their own element, the one 32 lanes on: what the lanes at the other end lack.

before      ld.global.f32 %f1, [%rd1];             ld.global.f32 %f2, [%rd1+8];
after       @%outer ld.global.f32 %h, [%rd1+128];  lanes 0 and 1 of a warp within one row
            ld.global.f32 %f1, [%rd1];
            selp.b32 %t, %h, %f1, %outer;
            shfl.sync.idx.b32 %f2, %t, (lane + 2) mod 32, 31, %m;
            @%alone ld.global.f32 %f2, [%rd1+8];   all lanes of any other warp: %alone is the same in the whole warp

Every address of a halo load is one that the original loads, in some lane of the same warp: that of the farthest target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from warploom.machines import WARP_LANES
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.shuffle.lanes import LAST_LANE, LaneValues
from warploom.ptx.shuffle.plan import Plan
from warploom.ptx.shuffle.ranges import IndexRange, index_ranges
from warploom.ptx.shuffle.registers import FreshRegisters, written
from warploom.ptx.syntax import Address, Instruction, Name, Vector, instruction_text

_MAX_OFFSET = 1 << 31
"""Limit of an address's offset, in bytes (PTX ISA 6.4.1: a 32-bit signed immediate)."""


@dataclass(frozen=True, slots=True)
class Halo:
    """Elements that one source load brings besides its own."""

    source: int
    right: int
    """Number of elements beyond the last lane."""
    left: int
    """Number of elements before the first lane."""
    stride_bytes: int
    ranges: tuple[IndexRange, ...]
    """Ranges of every lane's indices where the source stands."""


@dataclass(frozen=True, slots=True)
class HaloRegisters:
    """Registers that hold a halo at run time."""

    alone: str
    """The register that says if the warp does without; it is the same in all its lanes."""
    values: dict[str, str]
    """Register of the halo by register of the source."""


def find_halos(plans: Iterable[Plan], routine: Routine) -> dict[int, Halo]:
    """Halos by source that serve the plans given, all of one run with their source."""
    groups: dict[int, list[Plan]] = {}
    for plan in plans:
        if plan.halo is not None and plan.stride_bytes:
            groups.setdefault(plan.source, []).append(plan)
    found: dict[int, Halo] = {}
    for source, group in groups.items():
        right = max(0, *(p.neighbour.x for p in group), 0)
        left = max(0, *(-p.neighbour.x for p in group), 0)
        instruction = routine.instructions[source]
        base = instruction.operands[1]
        if right + left > WARP_LANES or not isinstance(base, Address) or not isinstance(base.base, Name):
            continue
        is_far = abs(base.offset) + WARP_LANES * abs(group[0].stride_bytes or 0) >= _MAX_OFFSET
        if is_far or TYPE_BITS.get(routine.registers.get(base.base.text, "")) != 64:
            continue
        ranges = index_ranges(c for p in group for c in p.halo or ())
        found[source] = Halo(source, right, left, group[0].stride_bytes or 0, ranges)
    return found


def halo_code(
    halo: Halo, routine: Routine, lanes: LaneValues, fresh: FreshRegisters, mask: str, incomplete: str
) -> tuple[HaloRegisters, list[str]]:
    """Code to stand before the source, and where its results are."""
    alone, lines = lanes.not_one_row(incomplete)
    if halo.ranges:
        for each in halo.ranges:
            test, alone = each.test(written(each.register), alone, fresh)
            lines += test
        anywhere = fresh.new("pred")
        lines.append(f"vote.sync.any.pred {anywhere}, {alone}, {mask};")
        alone = anywhere
    instruction = routine.instructions[halo.source]
    address = instruction.operands[1]
    assert isinstance(address, Address)
    assert isinstance(address.base, Name)
    reach = WARP_LANES * halo.stride_bytes
    base, outer = written(address.base.text), fresh.new("pred")
    if halo.right and halo.left:
        low, either = fresh.new("pred"), fresh.new("pred")
        step, place = fresh.new("b64"), fresh.new("b64")
        lines += [
            f"setp.lt.u32 {low}, {lanes.lane}, {halo.right};",
            f"setp.gt.or.u32 {either}, {lanes.lane}, {LAST_LANE - halo.left}, {low};",
            f"selp.b64 {step}, {reach}, {-reach}, {low};",
            f"add.s64 {place}, {base}, {step};",
            f"not.pred {outer}, {alone};",
            f"and.pred {outer}, {outer}, {either};",
        ]
        operand = Address(Name(place), address.offset)
    elif halo.right:
        lines.append(f"setp.lt.and.u32 {outer}, {lanes.lane}, {halo.right}, !{alone};")
        operand = Address(Name(base), address.offset + reach)
    else:
        lines.append(f"setp.gt.and.u32 {outer}, {lanes.lane}, {LAST_LANE - halo.left}, !{alone};")
        operand = Address(Name(base), address.offset - reach)
    values: dict[str, str] = {}
    names: list[Name] = []
    for register in _targets(instruction):
        if register == "_":
            names.append(Name("_"))
            continue
        bits = TYPE_BITS[routine.registers[register]]
        values[register] = fresh.new(f"b{bits}")
        lines.append(f"mov.b{bits} {values[register]}, 0;")
        names.append(Name(values[register]))
    target = Vector(tuple(names)) if isinstance(instruction.operands[0], Vector) else names[0]
    load = instruction_text(replace(instruction, operands=(target, operand), guard=None))
    lines.append(f"@{outer} {load}")
    return HaloRegisters(alone, values), lines


def _targets(instruction: Instruction) -> Sequence[str]:
    first = instruction.operands[0]
    elements = first.elements if isinstance(first, Vector) else (first,)
    return [e.text for e in elements if isinstance(e, Name)]
