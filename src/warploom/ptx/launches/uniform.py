"""Values that all threads of a block, or of the whole launch, have in common.

A term is uniform in a block if all that it is made of is. Of loops that all threads of a block go through in step (`intervals`)
the number of the round is, and so are the registers that are uniform before the loop and after each of its rounds, if the others
that they are computed from are. That is found by taking all for uniform and crossing out what is not, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from warploom.ptx.launches.intervals import Rounds, are_in_step
from warploom.ptx.launches.mbarriers import is_mbarrier_use
from warploom.ptx.symbolic import Emulation, Term, subterms

_OF_LAUNCH = ("ntid.", "nctaid.", "window.", "nsmid", "gridid", "total_smem_size", "dynamic_smem_size", "envreg")
_TURNING = frozenset({"counter", "loop", "other"})
"""Terms whose value may change from round to round of a loop."""
_PASSING = frozenset({"counter", "loop", "other", "opaque", "load", "function"})
"""Terms whose value may change from round to round."""
_PLACES = ("tid.", "ntid.", "ctaid.", "nctaid.")
_OF_BLOCK = (*_OF_LAUNCH, "ctaid.", "clusterid.", "nclusterid.", "cluster_")


class Uniform:
    def __init__(self, emulation: Emulation, common: frozenset[int]) -> None:
        self._emulation = emulation
        self._common = common
        self._has_mbarriers = any(map(is_mbarrier_use, emulation.routine.instructions))
        """They order a store between the loads of two threads, with no barrier of the block there."""
        self._local = {v.name for v in emulation.routine.variables.values() if v.space == "local"}
        self._registers = {(h, r) for h in common for r in self._open_registers(h)}
        self._known: dict[tuple[Term, bool], bool] = {}
        while wrong := [key for key in self._registers if not self._stays(*key)]:
            self._registers.difference_update(wrong)
            self._known.clear()

    def shared(self, rounds: tuple[Rounds, Rounds]) -> Callable[[Term], bool]:
        """Says of a term whether two threads of one block have the same value for it, in these rounds of the common loops."""
        if are_in_step(rounds):
            return self.is_uniform
        return lambda term: self.is_uniform(term) and not any(part.op in _TURNING for part in subterms(term))

    def is_uniform(self, term: Term) -> bool:
        """Threads of one block that are in the same rounds of the common loops have the same value."""
        return self._is(term, in_block=True)

    def is_same_everywhere(self, term: Term) -> bool:
        """All threads of the launch have the same value."""
        return self._is(term, in_block=False)

    def _open_registers(self, header: int) -> Iterator[str]:
        for register, value in self._emulation.blocks[header].entry.items():
            if value.op == "loop" and value.data == (header, register):
                yield register

    def _stays(self, header: int, register: str) -> bool:
        graph = self._emulation.graph
        for block in graph.predecessors[header]:
            if block not in self._emulation.blocks:
                continue
            last = graph.blocks[block].end - 1
            left = self._emulation.registers_before(last) | self._emulation.blocks[block].results.get(last, {})
            value = left.get(register)
            if value is None or not self._is(value, in_block=True):
                return False
        return True

    def _is(self, term: Term, *, in_block: bool) -> bool:
        stack = [term]
        known = self._known
        while stack:
            top = stack[-1]
            if (top, in_block) in known:
                stack.pop()
                continue
            decided = self._leaf(top, in_block=in_block)
            if decided is None:
                waiting = [a for a in top.args if (a, in_block) not in known]
                if waiting:
                    stack.extend(waiting)
                    continue
                decided = all(known[a, in_block] for a in top.args)
            known[top, in_block] = decided
        return known[term, in_block]

    def _leaf(self, term: Term, *, in_block: bool) -> bool | None:
        """None: as its arguments."""
        match term.op:
            case "address":
                return str(term.data[0]) not in self._local  # each thread has its own
            case "const" | "parameter":
                return True
            case "special":
                return str(term.data[0]).startswith(_OF_BLOCK if in_block else _OF_LAUNCH)
            case "counter":
                return in_block and int(term.data[0]) in self._common
            case "loop":
                return in_block and (int(term.data[0]), str(term.data[1])) in self._registers
            case "other" if in_block and term.data[0] == "after" and int(term.data[1]) in self._common:
                return None  # all threads leave such a loop in one round
            case "opaque" | "other":
                return False
            case "load" if term.data[0] == "local":
                return False
            case "load" if in_block and self._has_mbarriers and term.data[2] != "read-only":
                return False
            case "load" if not in_block and term.data[2] != "read-only" and (term.data[1] != 0 or term.data[0] == "shared"):
                return False
            case _:
                return None


def is_lasting(term: Term) -> bool:
    """Whether a thread has the same value for it in all rounds of its loops."""
    return all(
        part.op not in _PASSING and (part.op != "special" or str(part.data[0]).startswith(_PLACES)) for part in subterms(term)
    )
