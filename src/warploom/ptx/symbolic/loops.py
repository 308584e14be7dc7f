"""Loops once: induction variables recognised, everything else a loop changes made unknown (the paper's section 4.2).

A register r of a loop with header h is written `init + k step`, k = counter(h), when that is proved by induction: guess step as
the change in the first iteration, put the guesses for all registers into one symbolic run of the body, and keep those for which
the run gives init + (k + 1) step; repeat until none falls. Steps are any terms that the loop does not change. Chains of copies
and several registers that feed one another come out of the same proof.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ptx.flow import FlowGraph, Loop
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.basic_block import BasicBlockRun, Registers
from warploom.ptx.symbolic.operations import INTEGERS, PURE, types_of
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Term
from warploom.ptx.symbolic.uses import CARRY, read, written
from warploom.ptx.syntax import Instruction, Name


@dataclass(frozen=True, slots=True)
class Induction:
    """Registers at a loop's header, and what its back edge tells."""

    registers: Registers
    """Values of every register that the loop changes and that is live at the header."""
    steps: dict[str, Term]
    """Change per iteration of those with a recurrence."""
    invariant: tuple[Term, ...]
    """Predicates that hold whenever the header is reached: the back edge's condition, where the loop's entry implies it too."""


def contiguous_order(graph: FlowGraph) -> tuple[int, ...]:
    """Reachable blocks so that forward edges go forward and each loop's blocks are together, header first."""
    rank = {block: n for n, block in enumerate(graph.order)}
    members: dict[int | None, list[int]] = {None: list(graph.order)}
    for header, loop in graph.loops.items():
        members[header] = sorted(loop.blocks, key=rank.__getitem__)

    def representative(block: int, region: int | None) -> int:
        node = block
        header = graph.innermost[block]
        while header != region:
            assert header is not None
            node = header
            header = graph.loops[header].parent
        return node

    def arranged(region: int | None) -> list[int]:
        nodes = {b: representative(b, region) for b in members[region]}
        waiting: dict[int, set[int]] = {n: set() for n in nodes.values()}
        following: dict[int, list[int]] = {n: [] for n in nodes.values()}
        for block, node in nodes.items():
            for successor in graph.blocks[block].successors:
                target = nodes.get(successor)
                if target is None or target == node or successor == region or node in waiting[target]:
                    continue
                waiting[target].add(node)
                following[node].append(target)
        ready = sorted((n for n, before in waiting.items() if not before), key=lambda n: -rank[n])
        found: list[int] = []
        while ready:
            node = ready.pop()
            found += arranged(node) if node in graph.loops and node != region else [node]
            for target in following[node]:
                waiting[target].discard(node)
                if not waiting[target]:
                    ready.append(target)
            ready.sort(key=lambda n: -rank[n])
        return found

    return tuple(arranged(None))


def is_inside(leaf: Term, blocks: frozenset[int]) -> bool:
    """Whether a leaf may differ between iterations of the loop with these blocks."""
    match leaf.op:
        case "counter" | "loop":
            return int(leaf.data[0]) in blocks
        case "opaque":
            return int(leaf.data[1]) in blocks
        case "other":
            return is_inside(leaf.args[0], blocks)
        case _:
            return False


class BodySketch:
    """One run of a loop's body on its integer registers alone, from unknown values at the header."""

    def __init__(
        self,
        routine: Routine,
        graph: FlowGraph,
        position: dict[int, int],
        loop: Loop,
        live: tuple[frozenset[str], ...],
        algebra: Algebra,
    ) -> None:
        self._routine = routine
        self._graph = graph
        self._loop = loop
        self._live = live
        self._algebra = algebra
        self._blocks = sorted(loop.blocks, key=position.__getitem__)
        self.changed = frozenset(r for b in self._blocks for i in self._instructions(b) for r in written(i, routine))
        self.carried = sorted(r for r in live[loop.header] & self.changed if r != CARRY and r not in routine.register_vectors)
        """Live at the header and changed by the loop."""
        self.roots = [r for r in self.carried if routine.registers[r] in INTEGERS]
        """Carried registers that are followed."""
        self._slice = self._sliced()

    def _instructions(self, block: int) -> tuple[Instruction, ...]:
        at = self._graph.blocks[block]
        return self._routine.instructions[at.start : at.end]

    def _sliced(self) -> dict[int, bool]:
        """Positions of instructions to run: True to compute, False to make their results unknown."""
        writers: dict[str, list[int]] = {}
        for block in self._blocks:
            at = self._graph.blocks[block]
            for position in range(at.start, at.end):
                for register in written(self._routine.instructions[position], self._routine):
                    writers.setdefault(register, []).append(position)
        wanted = list(self.roots)
        for latch in self._loop.latches:
            guard = self._routine.instructions[self._graph.blocks[latch].end - 1].guard
            if guard is not None:
                wanted.append(guard.name)
        seen = set(wanted)
        found: dict[int, bool] = {}
        while wanted:
            for position in writers.get(wanted.pop(), ()):
                if position in found:
                    continue
                instruction = self._routine.instructions[position]
                found[position] = _is_integer(instruction)
                sources = read(instruction, self._routine) if found[position] else ()
                for register in sources:
                    if register not in seen:
                        seen.add(register)
                        wanted.append(register)
        return found

    def type_of(self, register: str) -> str:
        return self._routine.registers[register]

    def run(self, entry: Registers) -> tuple[Registers, Term | None]:
        """Registers after one iteration that stays in the loop, and the condition of a single back edge at its branch."""
        table = self._algebra.table
        start = dict(entry)
        for register in self.changed:
            start.pop(register, None)
        for register in self.carried:
            start[register] = table.loop(self._loop.header, register, TYPE_BITS[self._routine.registers[register]])
        out: dict[int, Registers] = {}
        condition: Term | None = None
        for block in self._blocks:
            registers = dict(start) if block == self._loop.header else self._merged(block, out, start)
            run = BasicBlockRun(self._routine, self._algebra, registers, block, (), None)
            at = self._graph.blocks[block]
            for position in range(at.start, at.end):
                how = self._slice.get(position)
                if how is None:
                    continue
                run.step(position) if how else run.forget(position)
            out[block] = registers
            if self._loop.latches == (block,):
                condition = edge_condition(self._routine, self._graph, run, block, self._loop.header)
        if len(self._loop.latches) == 1:
            return out[self._loop.latches[0]], condition
        return self._joined(self._loop.header, [out[latch] for latch in self._loop.latches]), None

    def _merged(self, block: int, out: dict[int, Registers], start: Registers) -> Registers:
        before = [out[p] for p in self._graph.predecessors[block] if p in out]
        registers = self._joined(block, before)
        inner = self._graph.loops.get(block)
        if inner is not None:
            for b in inner.blocks:
                for instruction in self._instructions(b):
                    for register in written(instruction, self._routine):
                        if register in registers:
                            registers[register] = self._unknown(register, block)
        return registers

    def _joined(self, block: int, before: list[Registers]) -> Registers:
        if len(before) == 1:
            return dict(before[0])
        result: Registers = {}
        for register, value in before[0].items() if before else ():
            others = [b.get(register) for b in before[1:]]
            result[register] = value if all(o is value for o in others) else self._unknown(register, block)
        return result

    def _unknown(self, register: str, block: int) -> Term:
        bits = 1 if register == CARRY else TYPE_BITS.get(self._routine.registers.get(register, "b32"), 32)
        return self._algebra.table.opaque(f"{register}@merge{block}", bits, block)


def _is_integer(instruction: Instruction) -> bool:
    types = types_of(instruction)
    if instruction.opcode in ("mov", "cvta", "selp"):
        return True
    return instruction.opcode in PURE and all(t in INTEGERS or t == "pred" for t in types)


def edge_condition(routine: Routine, graph: FlowGraph, run: BasicBlockRun, block: int, successor: int) -> Term | None:
    """The predicate under which control goes from a block to a successor; None where it is not known (`brx`)."""
    at = graph.blocks[block]
    last = routine.instructions[at.end - 1]
    always = run.table.const(1, 1)
    if len(at.successors) < 2 and (last.opcode not in ("ret", "exit", "trap") or last.guard is None):
        return always
    if last.opcode == "brx":
        return None
    guard = run.guard_of(last)
    falls = graph.blocks[successor].start == at.end
    target = last.operands[-1] if last.opcode == "bra" and last.operands else None
    jumps = isinstance(target, Name) and routine.labels.get(target.text) == graph.blocks[successor].start
    if jumps:
        return always if falls else guard
    return run.algebra.negation(guard)


def induction(sketch: BodySketch, loop: Loop, entry: Registers, algebra: Algebra, known: frozenset[Term]) -> Induction:
    """`entry`: registers before the first iteration; `known`: predicates that hold there."""
    table = algebra.table
    after, condition = sketch.run(entry)
    atoms = {r: table.loop(loop.header, r, TYPE_BITS[sketch.type_of(r)]) for r in sketch.carried}
    first = Substitution(algebra, {atom: entry[r] for r, atom in atoms.items() if r in entry})
    steps: dict[str, Term] = {}
    for register in sketch.roots:
        value, init = after.get(register), entry.get(register)
        if value is None or init is None:
            continue
        step = algebra.sub(first(value), init) if value is not atoms[register] else table.const(0, init.width)
        if not any(is_inside(leaf, loop.blocks) for leaf in table.leaves(step)):
            steps[register] = step
    counter = table.counter(loop.header)
    while True:
        forms = {atoms[r]: algebra.add(entry[r], algebra.mul(_count(algebra, counter, s.width), s)) for r, s in steps.items()}
        at_header = Substitution(algebra, forms)
        wrong = [r for r, step in steps.items() if at_header(after[r]) is not algebra.add(forms[atoms[r]], step)]
        if not wrong:
            break
        for register in wrong:
            del steps[register]
    registers = {r: forms.get(atom, atom) for r, atom in atoms.items()}
    invariant: list[Term] = []
    if condition is not None and condition.value is None:
        back = {atoms[r]: algebra.sub(forms[atoms[r]], step) for r, step in steps.items()}
        before = {atoms[r]: algebra.sub(entry[r], step) for r, step in steps.items()}
        earlier, at_entry = Substitution(algebra, back), Substitution(algebra, before)
        for part in condition.args if condition.op == "and" else (condition,):
            now = earlier(part)
            if any(is_inside(leaf, loop.blocks) and leaf is not counter for leaf in table.leaves(now)):
                continue
            start = at_entry(part)
            if start.value == 1 or start in known:
                invariant.append(now)
    return Induction(registers, steps, tuple(invariant))


def _count(algebra: Algebra, counter: Term, width: int) -> Term:
    return algebra.trunc(counter, width) if width <= counter.width else algebra.zext(counter, width)
