"""Findings in one launch of a kernel, by rule and with places in the user's source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from warploom.ptx import TYPE_BITS, Counts, Finding, Place
from warploom.ptx.simt import SHARED, Argument, LineCounts, TensorMap, shared_layout
from warploom.tools.lint.mended import mended
from warploom.tools.lint.names import demangled
from warploom.tools.lint.rules import BY_NAME, FIXES, LEVELS, OF_KIND, Level, Rule
from warploom.tools.lint.sources import Source, line_text
from warploom.tools.ptx.arguments import SHARED_FIX, has_dynamic_shared

_SHOWN_LANES = 8
_WASTE = 2
"""Sectors for each that would do, from which on an access is reported: one more for a start between two sectors is usual."""
_OF_SHARED = " of shared memory, which has "
"""What the interpreter says of an access outside of it."""
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """One finding."""

    rule: Rule
    message: str
    places: tuple[Place, ...]
    """The line, then the calls into which it is inlined."""
    kernel: str
    """The kernel's name for the linker."""
    ptx_line: int = 0
    threads: tuple[tuple[Triple, Triple], ...] = ()
    """Block and thread of those that meet it first."""
    others: tuple[tuple[str, tuple[Place, ...]], ...] = ()
    """Further accesses: the other one of a race."""
    count: int = 1
    """Threads that meet it, or instructions where several of a line do."""
    own_fix: str = ""
    """How to fix this one, where that is known better than the rule's `fix`."""

    @property
    def place(self) -> Place:
        return self.places[0]

    @property
    def fix(self) -> str:
        if self.own_fix or self.rule.name not in ("data-race", "early-copy-read"):
            return self.own_fix or self.rule.fix
        return next((fix for said, fix in FIXES.items() if said in self.message), self.rule.fix)

    @property
    def level(self) -> Level:
        return self.rule.level

    @property
    def mark(self) -> str:
        """Names the finding as long as its rule, kernel and the text of its line stay, wherever the line goes."""
        parts = (self.rule.id, self.kernel, self.place.file.rpartition("/")[2], " ".join(line_text(self.place).split()))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def mistakes(findings: Iterable[Finding], source: Source, kernel: str, values: Sequence[Argument]) -> list[Found]:
    """The interpreter's findings of a launch with these arguments."""
    is_dynamic = has_dynamic_shared(source.program, source.program.routines[kernel])
    return [
        Found(
            rule=OF_KIND[finding.kind],
            message=finding.message + _element(finding, source, kernel, values),
            places=source.places(finding.span.line, finding.span.column),
            kernel=kernel,
            ptx_line=finding.span.line,
            threads=((finding.block, finding.thread),) if finding.block and finding.thread else (),
            others=tuple((text, source.places(span.line, span.column)) for text, span in finding.others),
            count=finding.count,
            own_fix=SHARED_FIX if is_dynamic and finding.kind == "out_of_bounds" and _OF_SHARED in finding.message else "",
        )
        for finding in findings
    ]


def _element(finding: Finding, source: Source, kernel: str, values: Sequence[Argument]) -> str:
    """The element and the array that the finding is about, as far as that is known."""
    match = re.fullmatch(r"argument (\d+)", finding.array)
    if finding.byte is None:
        return ""
    if match is not None:
        array = values[int(match[1])]
        if isinstance(array, TensorMap):
            array = array.array
        if not isinstance(array, np.ndarray) or not array.itemsize:
            return ""
        index, size = finding.byte // array.itemsize, array.size
        where = np.unravel_index(index, array.shape) if 0 <= index < size and array.ndim > 1 else (index,)
        return f"; element {', '.join(str(int(i)) for i in where)} of argument {match[1]}, which has {size:,}"
    if finding.kind not in SHARED:
        return ""
    begun = [(offset, name) for name, offset in shared_layout(source.program, source.program.routines[kernel]).offsets.items()]
    offset, name = max((b for b in begun if b[0] <= finding.byte), default=(0, ""))
    width = _width(finding, source)
    if not name or (finding.byte - offset) % width:
        return ""
    plain = demangled(name.rpartition(":")[2]).rpartition("::")[2]
    return f"; element {(finding.byte - offset) // width} of {plain}, {width} bytes each"


def _width(finding: Finding, source: Source) -> int:
    """Bytes of an element that the instruction of a finding accesses."""
    for routine in source.program.routines.values():
        for index, instruction in enumerate(routine.instructions):
            if instruction.modifiers and routine.span(index) == finding.span:
                return max(1, TYPE_BITS.get(instruction.modifiers[-1], 8) // 8)
    return 1


def costs(counts: Counts, source: Source, kernel: str) -> list[Found]:
    """Accesses that cost more than their data need, by line of the source: a loop that is unrolled stands in one."""
    lines: dict[tuple[Place, ...], list[tuple[int, LineCounts]]] = {}
    for number, counted in counts.by_line.items():
        if counted.requests:
            lines.setdefault(source.places(number), []).append((number, counted))
    found: list[Found] = []
    for places, all_counted in lines.items():
        sectors, least = sum(c.sectors for _, c in all_counted), sum(c.least_sectors for _, c in all_counted)
        if sectors >= _WASTE * least > 0:
            requests = sum(c.requests for _, c in all_counted if c.sectors)
            message = (
                f"{sectors:,} sectors of 32 bytes in {_times(requests, 'request')}, {least:,} would do: "
                f"{sectors / requests:.3g} a request for {least / requests:.3g}"
            )
            found.append(Found(BY_NAME["uncoalesced"], message, places, kernel, all_counted[0][0], count=requests))
        conflicts = [(number, c, c.worst) for number, c in all_counted if c.worst is not None]
        if conflicts:
            number, _, worst = max(conflicts, key=lambda c: len(c[2].lanes))
            requests, spent = sum(c.requests for _, c, _ in conflicts), sum(c.wavefronts for _, c, _ in conflicts)
            least = sum(c.least_wavefronts for _, c, _ in conflicts)
            lanes = ", ".join(map(str, worst.lanes[:_SHOWN_LANES])) + (", ..." if len(worst.lanes) > _SHOWN_LANES else "")
            message = (
                f"{len(worst.lanes)} ways: lanes {lanes} ask bank {worst.bank} for different words; "
                f"{_times(spent, 'wavefront')} in {_times(requests, 'request')}, {least:,} would do"
            )
            threads = ((worst.block, worst.thread),)
            fix = mended(number, worst, counts, source.program, kernel)
            found.append(Found(BY_NAME["bank-conflict"], message, places, kernel, number, threads, count=requests, own_fix=fix))
    return found


def merged(found: Iterable[Found]) -> list[Found]:
    """The findings, those of one rule at the same lines once, the worst level first, then in the order of the source."""
    once: dict[tuple[object, ...], Found] = {}
    for one in found:
        key = (one.rule.id, one.places, *(places for _, places in one.others))
        known = once.get(key)
        once[key] = one if known is None else replace(known, count=known.count + one.count)
    return sorted(once.values(), key=lambda f: (LEVELS.index(f.level), f.place.file, f.place.line, f.rule.id))


def _times(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"
