"""Findings of a run of the reference interpreter: events counted and problems met, each once per place."""

from __future__ import annotations

from typing import TypeAlias

from warploom.core import Diagnostic, Span
from warploom.ir.kernel.counts import AccessCounts, AccessUnit, Counts
from warploom.ir.kernel.evaluate import Where
from warploom.ir.kernel.nodes import Kernel, Read, Store

Access: TypeAlias = tuple[int, tuple[int, int]]
"""A site, and who: block and thread."""


class Findings:
    """State that all chunks of a run share: events counted, problems found, places of accesses."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.counts = Counts()
        self.diagnostics: dict[tuple[object, ...], Diagnostic] = {}
        self.sites: list[tuple[Span, str]] = []
        self._site_of: dict[tuple[int, str], int] = {}
        self.accesses: dict[int, AccessCounts] | None = None
        """By site; None: not counted."""

    def access(self, node: Read | Store, unit: AccessUnit) -> AccessCounts | None:
        """Counts of an access; None where they are not asked for."""
        if self.accesses is None:
            return None
        what = "store" if isinstance(node, Store) else "load"
        site = self.site(node, "store" if what == "store" else "read")
        return self.accesses.setdefault(site, AccessCounts(node.array, what, node.span, unit))

    def add(self, key: tuple[object, ...], diagnostic: Diagnostic) -> None:
        """Keeps the first diagnostic of each key."""
        self.diagnostics.setdefault(key, diagnostic)

    def report(self, code: str, message: str, bad: Where, fix: str = "") -> None:
        """A problem outside of the machine: in an extent or the grid."""
        self.add((code, message), Diagnostic(code, message, self.kernel.span, fix))

    def site(self, node: Read | Store, what: str) -> int:
        """A number for the place of an access."""
        key = (id(node), what)
        if key not in self._site_of:
            self._site_of[key] = len(self.sites)
            self.sites.append((node.span, what))
        return self._site_of[key]

    def race(self, array: str, at: str, grid: tuple[int, ...], accesses: tuple[Access, Access]) -> None:
        """Two accesses, the earlier first, to one element of an array."""
        (first, one), (second, two) = accesses
        across = one[0] != two[0]
        (span, what), (other_span, other_what) = self.sites[second], self.sites[first]
        who, other_who = (
            f"block {_coordinates(block, grid)}" if across else self.thread_text(block, thread, grid)
            for block, thread in (two, one)
        )
        order = "no barrier orders two blocks" if across else "no barrier lies between"
        message = f"the {what} of {array}[{at}] by {who} races with the {other_what} by {other_who}: {order}"
        fix = "let one block own each element" if across else "insert sync() between the two accesses"
        diagnostic = Diagnostic("RACE", message, span, fix, ((f"the other access, a {other_what}", other_span),))
        self.add(("RACE", array, frozenset((first, second))), diagnostic)

    def thread_text(self, block: int, thread: int, grid: tuple[int, ...]) -> str:
        """`block 3, thread 17`; coordinates where there is more than one axis."""
        return f"block {_coordinates(block, grid)}, thread {_coordinates(thread, self.kernel.block)}"


def _coordinates(number: int, extents: tuple[int, ...]) -> str:
    if extents[1] == extents[2] == 1:
        return str(number)
    x, y, z = number % extents[0], number // extents[0] % extents[1], number // (extents[0] * extents[1])
    return f"({x}, {y}, {z})"
