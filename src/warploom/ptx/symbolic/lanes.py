"""Finds the terms that are the same for all threads of a warp."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.ptx.symbolic.limits import LaunchLimits
from warploom.ptx.symbolic.term import Term

_UNIFORM = ("ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_", "gridid", "nsmid", "window", "total_smem_size",
            "dynamic_smem_size", "aggr_smem_size", "reserved_smem", "envreg", "is_explicit_cluster")  # fmt: skip


class Lanes:
    """Uniformity of terms in the warps of one emulation."""

    def __init__(self, limits: LaunchLimits, *, is_entry: bool) -> None:
        self._limits = limits
        self._is_entry = is_entry
        self._uniform_loops: set[int] = set()
        self._known: dict[Term, bool] = {}

    def settle_loops(self, loops: Iterable[tuple[int, tuple[Term | None, ...]]]) -> None:
        """`loops`: header and conditions of all branches within the loop; finds the loops that a warp goes through in step.

        Lanes that enter a loop together stay together as long as every branch that can leave it, or skip its header, is uniform.
        """
        pending = list(loops)
        self._uniform_loops = {header for header, _ in pending}
        changed = True
        while changed:
            changed = False
            for header, conditions in pending:
                if header in self._uniform_loops and not all(c is not None and self.is_uniform(c) for c in conditions):
                    self._uniform_loops.discard(header)
                    changed = True
            self._known.clear()

    def in_step(self, loop: int) -> bool:
        """Whether lanes that enter the loop together are always in the same iteration of it."""
        return loop in self._uniform_loops

    def is_uniform(self, term: Term) -> bool:
        stack = [term]
        known = self._known
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            if (decided := self._leaf(top)) is not None:
                known[top] = decided
                continue
            waiting = [a for a in top.args if a not in known]
            if waiting:
                stack.extend(waiting)
                continue
            known[top] = all(known[a] for a in top.args)
        return known[term]

    def _leaf(self, term: Term) -> bool | None:
        """None: as uniform as the arguments."""
        match term.op:
            case "const" | "address":
                return True
            case "parameter":
                return self._is_entry
            case "special":
                name = str(term.data[0])
                if name in ("tid.y", "tid.z"):
                    return self._rows_hold_warps()
                return name.startswith(_UNIFORM)
            case "counter":
                return int(term.data[0]) in self._uniform_loops
            case "loop" | "opaque":
                return False
            case "load" if term.data[2] != "read-only":
                return False
            case "high" if self._limits.whole_rows and _is_thread_index(term.args[0]) and int(term.data[0]) >= 5:
                return True
            case _:
                return None

    def _rows_hold_warps(self) -> bool:
        return self._limits.whole_rows


def _is_thread_index(term: Term) -> bool:
    while term.op == "zext":
        term = term.args[0]
    return term.op == "special" and term.data[0] == "tid.x"
