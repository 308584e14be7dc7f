"""Indices that must not wrap, one comparison for all offsets from one register."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warploom.ptx.shuffle.plan import NoWrap
from warploom.ptx.shuffle.registers import FreshRegisters

_WIDEST_SHARE = 64
"""Ranges of one register are not joined to one wider than this part of all values: more lanes than need to would load."""


@dataclass(frozen=True, slots=True)
class IndexRange:
    """`register + low`, `register + low + 1`, ..., `register + high`: numbers that follow each other, none of which wraps."""

    register: str
    low: int
    high: int
    is_signed: bool
    width: int
    """Bits."""

    @property
    def violation(self) -> tuple[int, str, int]:
        """Addend, comparison (`gt`, `lt`), bound: `(register + addend) mod 2^width OP bound` holds exactly where one wraps."""
        top = (1 << (self.width - 1)) - 1 if self.is_signed else (1 << self.width) - 1
        bottom = -top - 1 if self.is_signed else 0
        if self.high == 0:
            return 0, "lt", bottom - self.low
        return self.low, "gt", top - (self.high - self.low)

    def test(self, index: str, besides: str, fresh: FreshRegisters) -> tuple[list[str], str]:
        """Code for a predicate that holds where `besides` does or a number wraps, and the predicate; `index`: the register."""
        lines: list[str] = []
        addend, comparison, bound = self.violation
        if addend:
            first = fresh.new(f"b{self.width}")
            lines.append(f"add.s{self.width} {first}, {index}, {addend};")
            index = first
        tested = fresh.new("pred")
        kind = f"{'s' if self.is_signed else 'u'}{self.width}"
        lines.append(f"setp.{comparison}.or.{kind} {tested}, {index}, {bound}, {besides};")
        return lines, tested


def index_ranges(checks: Iterable[NoWrap]) -> tuple[IndexRange, ...]:
    """Ranges that imply all checks, as few per register as is sensible; equal names are taken for one value."""
    groups: dict[tuple[str, bool, int], list[tuple[int, int]]] = {}
    for check in checks:
        ends = sorted((check.offset, check.offset + check.amount))
        groups.setdefault((check.register, check.is_signed, check.width), []).append((ends[0], ends[1]))
    found: list[IndexRange] = []
    for (register, is_signed, width), ranges in sorted(groups.items()):
        joined: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if joined and max(high, joined[-1][1]) - joined[-1][0] <= (1 << width) // _WIDEST_SHARE:
                joined[-1] = joined[-1][0], max(high, joined[-1][1])
            else:
                joined.append((low, high))
        found += [IndexRange(register, low, high, is_signed, width) for low, high in joined]
    return tuple(found)
