"""Emulate a routine once, symbolically: blocks in order, values merged where paths meet, loops once (the paper's section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from warploom.ptx.flow import FlowGraph, flow_graph
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.basic_block import BasicBlockRun, Registers, Trace
from warploom.ptx.symbolic.effects import written_spaces
from warploom.ptx.symbolic.emulation import BlockState, Emulation, results_of
from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.lanes import Lanes
from warploom.ptx.symbolic.limits import LaunchLimits
from warploom.ptx.symbolic.loops import BodySketch, contiguous_order, edge_condition, induction, is_inside
from warploom.ptx.symbolic.memory import Clobber
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Term, TermTable
from warploom.ptx.symbolic.uses import CARRY, live_at_entry
from warploom.ptx.syntax import Instruction

_MERGED_PATHS = 6
"""Most paths that are merged with their conditions. Where more meet, no condition is kept, and differing values become
unknown."""
_CONDITIONS = 200
"""A path keeps so many conditions, the first and the last."""
_CHOICES = 8
"""Values that went through more choices than this become unknown."""


@dataclass(frozen=True, slots=True)
class EmulationOptions:
    """Options of an emulation."""

    assume_nsw: bool = False
    """Take it that sums and products that are sign-extended do not wrap; every use is recorded in `Emulation.assumptions`."""


def emulate(
    routine: Routine,
    limits: LaunchLimits | None = None,
    options: EmulationOptions | None = None,
    *,
    graph: FlowGraph | None = None,
) -> Emulation:
    """Runs the routine once; linear in its instructions but for merges. Never fails on an unknown instruction: what it may write
    becomes unknown, and memory with it. UserError (PTX_LABEL) where a branch goes nowhere."""
    found = graph or flow_graph(routine)
    return _Emulator(routine, found, own_limits(routine, limits or LaunchLimits()), options or EmulationOptions()).run()


def own_limits(routine: Routine, limits: LaunchLimits) -> LaunchLimits:
    """The limits with the routine's `.reqntid` and `.maxntid` (PTX ISA 11.4)."""
    required, most = routine.directive("reqntid"), routine.directive("maxntid")
    if required:
        block = (*required, 1, 1)[:3]
        return replace(limits, block_min=block, block_max=block, threads_max=block[0] * block[1] * block[2])
    if most:
        block = (*most, 1, 1)[:3]
        threads = min(limits.threads_max, block[0] * block[1] * block[2])
        # .maxntid bounds the number of threads, and every extent with it, but not each extent by its own number
        extents = tuple(min(b, threads) for b in limits.block_max)
        return replace(limits, block_max=(extents[0], extents[1], extents[2]), threads_max=threads)
    return limits


@dataclass(frozen=True, slots=True)
class _Reach:
    """Condition of reaching a block, given that its dominator is reached."""

    condition: Term
    is_exact: bool
    """Otherwise only necessary."""


class _Emulator:
    def __init__(self, routine: Routine, graph: FlowGraph, limits: LaunchLimits, options: EmulationOptions) -> None:
        self.routine = routine
        self.graph = graph
        self.limits = limits
        self.options = options
        self.table = TermTable()
        self.trace = Trace()
        self.live = live_at_entry(routine, graph)
        self.order = contiguous_order(graph) if graph.is_reducible else graph.order
        self.positions = {block: n for n, block in enumerate(self.order)}
        self.nests = {b: graph.loop_nest(b) for b in self.order}
        self.states: dict[int, BlockState] = {}
        self.outs: dict[int, Registers] = {}
        self.reaches: dict[int, _Reach] = {}
        self.edges: dict[tuple[int, int], Term | None] = {}
        self.choices: dict[Term, int] = {}
        self.algebras: dict[tuple[Term, ...], Algebra] = {}
        self.leavers: dict[tuple[int, ...], Substitution] = {}
        self.steps: dict[int, dict[str, Term]] = {}
        self.true = self.table.const(1, 1)
        self.root = self.algebra(())

    def algebra(self, path: tuple[Term, ...]) -> Algebra:
        found = self.algebras.get(path)
        if found is None:
            known = self.algebras.get(path[:-1])
            facts = Facts(self.table, self.limits, path, known.facts if known is not None else None)
            found = self.algebras[path] = Algebra(self.table, facts, assume_nsw=self.options.assume_nsw)
        return found

    def run(self) -> Emulation:
        for header, loop in self.graph.loops.items():
            inside = tuple(i for b in loop.blocks for i in self._instructions(b))
            self.trace.loop_writes[header] = written_spaces(inside)
        done: set[int] = set()
        for block in self.order:
            self._block(block, done)
            done.add(block)
        lanes = Lanes(self.limits, is_entry=self.routine.is_entry)
        lanes.settle_loops((h, tuple(self._branches(loop.blocks))) for h, loop in self.graph.loops.items())
        return Emulation(
            self.routine, self.graph, self.limits, self.table, tuple(self.trace.accesses), tuple(self.trace.versions.clobbers),
            self.states, self.order, self.steps, lanes,
        )  # fmt: skip

    def _instructions(self, block: int) -> tuple[Instruction, ...]:
        at = self.graph.blocks[block]
        return self.routine.instructions[at.start : at.end]

    def _branches(self, blocks: frozenset[int]) -> Iterable[Term | None]:
        for block in blocks:
            for successor in self.graph.blocks[block].successors:
                yield self.edges.get((block, successor))

    # one block

    def _block(self, block: int, done: set[int]) -> None:
        if self.graph.is_reducible:
            path, registers = self._entered(block, done)
        else:
            path, registers = self._unstructured(block, done)
        algebra = self.algebra(path)
        state = BlockState(dict(registers), {}, path, algebra)
        run = BasicBlockRun(self.routine, algebra, registers, block, self.nests[block], self.trace)
        at = self.graph.blocks[block]
        for position in range(at.start, at.end):
            run.step(position)
            if wrote := results_of(run, position):
                state.results[position] = wrote
        for successor in at.successors:
            self.edges[block, successor] = edge_condition(self.routine, self.graph, run, block, successor)
        self.states[block] = state
        self.outs[block] = registers

    def _unstructured(self, block: int, done: set[int]) -> tuple[tuple[Term, ...], Registers]:
        """Registers where a block begins, in a routine with a loop of several entries: nothing is known, except at the
        routine's entry."""
        if not done and not self.graph.predecessors[block]:
            return (), {}
        self.trace.versions.add(Clobber(len(self.trace.accesses), "*", None, 0))
        return (), {r: self.table.loop(block, r, self._width(r)) for r in sorted(self.live[block])}

    def _entered(self, block: int, done: set[int]) -> tuple[tuple[Term, ...], Registers]:
        dominator = self.graph.dominator[block]
        before = [p for p in self.graph.predecessors[block] if p in done]
        if dominator is None:
            path: tuple[Term, ...] = ()
            registers: Registers = {}
            self.reaches[block] = _Reach(self.true, True)
        else:
            reach, edges = self._reached(block, dominator, before)
            self.reaches[block] = reach
            path = self._path(block, dominator, reach.condition)
            registers = self._merged(block, before, edges, self.algebra(path))
        loop = self.graph.loops.get(block)
        if loop is None:
            return path, registers
        algebra = self.algebra(path)
        sketch = BodySketch(self.routine, self.graph, self.positions, loop, self.live, algebra)
        found = induction(sketch, loop, registers, algebra, frozenset(path))
        for register in sketch.changed:
            registers.pop(register, None)
        registers.update(found.registers)
        self.steps[block] = found.steps
        return _extended(path, found.invariant), registers

    # paths

    def _path(self, block: int, dominator: int, condition: Term) -> tuple[Term, ...]:
        path = self.states[dominator].path
        leave = self._leaver(dominator, block)
        if leave is not None:
            path = _extended((), [leave(p) for p in path])
        parts = condition.args if condition.op == "and" else (condition,)
        return _extended(path, parts)

    def _leaver(self, source: int, target: int) -> Substitution | None:
        """Renames what changes in the loops that an edge from source to target leaves; None where it leaves none."""
        left = tuple(h for h in self.nests[source] if h not in self.nests[target])
        if not left:
            return None
        found = self.leavers.get(left)
        if found is None:
            blocks = self.graph.loops[left[0]].blocks
            header = left[0]

            def after(term: Term) -> Term | None:
                return self.table.after(header, term) if is_inside(term, blocks) else None

            found = self.leavers[left] = Substitution(self.root, {}, after)
        return found

    def _reached(self, block: int, dominator: int, before: list[int]) -> tuple[_Reach, dict[int, _Reach]]:
        """The condition of reaching a block, and those of coming along each edge, all given that the dominator is reached."""
        if len(before) > _MERGED_PATHS:
            return _Reach(self.true, self._must_follow(block, dominator)), {p: _Reach(self.true, False) for p in before}
        edges = {p: self._along(p, block, dominator) for p in before}
        total = self.table.const(0, 1)
        for edge in edges.values():
            total = self.root.disjunction(total, edge.condition)
        exact = all(e.is_exact for e in edges.values())
        if self._must_follow(block, dominator):
            return _Reach(self.true, True), edges
        return _Reach(total, exact), edges

    def _must_follow(self, block: int, dominator: int) -> bool:
        at = self.graph.post_dominator[dominator]
        while at is not None:
            if at == block:
                return True
            at = self.graph.post_dominator[at]
        return False

    def _along(self, source: int, block: int, dominator: int) -> _Reach:
        own = self.edges.get((source, block))
        condition, is_exact = (self.true, False) if own is None else (own, True)
        at = source
        while at != dominator:
            reach = self.reaches[at]
            condition = self.root.conjunction(condition, reach.condition)
            is_exact = is_exact and reach.is_exact and self.nests[at] == self.nests[block][: len(self.nests[at])]
            above = self.graph.dominator[at]
            assert above is not None
            at = above
        leave = self._leaver(source, block)
        if leave is not None:
            return _Reach(leave(condition), False)
        return _Reach(condition, is_exact)

    # values

    def _merged(self, block: int, before: list[int], edges: dict[int, _Reach], algebra: Algebra) -> Registers:
        registers: Registers = {}
        outs: list[tuple[int, Registers, Substitution | None]] = [(p, self.outs[p], self._leaver(p, block)) for p in before]
        if len(outs) == 1 and outs[0][2] is None:
            live, out = self.live[block], outs[0][1]
            return {name: value for name, value in out.items() if name in live or "." in name}
        for register in sorted(self.live[block]):
            values: list[tuple[int, Term]] = []
            for source, out, leave in outs:
                value = out.get(register)
                if value is not None:
                    values.append((source, value if leave is None else leave(value)))
            if not values or len(values) < len(outs):
                continue  # not written on some path: reading it there gives an unknown value
            first = values[0][1]
            registers[register] = (
                first if all(v is first for _, v in values) else self._chosen(block, register, values, edges, algebra)
            )
        for name in {n for _, out, _ in outs for n in out if "." in n}:
            found = [out.get(name) for _, out, _ in outs]
            if found[0] is not None and all(f is found[0] for f in found):
                registers[name] = found[0]
        return registers

    def _chosen(
        self, block: int, register: str, values: list[tuple[int, Term]], edges: dict[int, _Reach], algebra: Algebra
    ) -> Term:
        inexact = [v for v in values if not edges[v[0]].is_exact]
        depth = 1 + max(self.choices.get(v, 0) for _, v in values)
        if len(inexact) > 1 or depth > _CHOICES or len(values) > _MERGED_PATHS:
            return self.table.opaque(f"{register}@merge{block}", values[0][1].width, block)
        last = inexact[0] if inexact else values[-1]
        result = last[1]
        for source, value in values:
            if source != last[0]:
                result = algebra.select(edges[source].condition, value, result)
        self.choices[result] = depth
        return result

    def _width(self, register: str) -> int:
        return 1 if register == CARRY else TYPE_BITS[self.routine.registers[register]]


def _extended(path: tuple[Term, ...], parts: Iterable[Term]) -> tuple[Term, ...]:
    """The path with the parts that say something new."""
    found = dict.fromkeys(path)
    for part in parts:
        for piece in part.args if part.op == "and" else (part,):
            if piece.value is None:
                found[piece] = None
    conditions = tuple(found)
    half = _CONDITIONS // 2
    return conditions if len(conditions) <= _CONDITIONS else conditions[:half] + conditions[-half:]
