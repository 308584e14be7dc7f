"""Result of an emulation: the trace, values, path conditions, uniformity."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import Routine
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.basic_block import BasicBlockRun, Registers
from warploom.ptx.symbolic.building import Assumption
from warploom.ptx.symbolic.lanes import Lanes
from warploom.ptx.symbolic.limits import LaunchLimits
from warploom.ptx.symbolic.memory import Access, Clobber
from warploom.ptx.symbolic.term import Term, TermTable
from warploom.ptx.symbolic.uses import CARRY, written
from warploom.ptx.syntax import Name, Operand


@dataclass(frozen=True, slots=True)
class BlockState:
    """One basic block as it was emulated; terms in it speak of the current iteration of the loops around it."""

    entry: Registers
    results: dict[int, Registers]
    """Registers that each instruction wrote, with their new values."""
    path: tuple[Term, ...]
    algebra: Algebra


@dataclass(frozen=True, slots=True)
class Emulation:
    """One routine, run once on symbols."""

    routine: Routine
    graph: FlowGraph
    limits: LaunchLimits
    """Limits, with the routine's own `.reqntid` and `.maxntid`."""
    table: TermTable
    trace: tuple[Access, ...]
    """Accesses in an order in which forward branches go forward and loops are contiguous."""
    clobbers: tuple[Clobber, ...]
    """Events after which memory may hold other values, in the order of the trace."""
    blocks: dict[int, BlockState]
    """Reachable ones."""
    order: tuple[int, ...]
    """Blocks in the order of the trace."""
    steps: dict[int, dict[str, Term]]
    """Change per iteration of the registers that have a recurrence, for each loop by its header."""
    lanes: Lanes

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Sums that were assumed not to wrap, under `assume_nsw`."""
        found: dict[Assumption, None] = {}
        for state in self.blocks.values():
            found.update(state.algebra.assumptions)
        return tuple(found)

    def path_condition(self, block: int) -> tuple[Term, ...]:
        """Predicates that hold whenever the block runs, in the current iteration of the loops around it."""
        return self.blocks[block].path

    def algebra(self, block: int) -> Algebra:
        """Builds and compares terms under the block's path condition."""
        return self.blocks[block].algebra

    def registers_before(self, instruction: int) -> Registers:
        """Values of the registers when the instruction begins; those that are dead there may be missing."""
        block = self.graph.block_of(instruction)
        state = self.blocks[block]
        found = dict(state.entry)
        for position in range(self.graph.blocks[block].start, instruction):
            found.update(state.results.get(position, {}))
        return found

    def value(self, instruction: int, operand: Operand) -> Term:
        """Value of the operand when the instruction begins."""
        block = self.graph.block_of(instruction)
        run = BasicBlockRun(
            self.routine, self.blocks[block].algebra, self.registers_before(instruction), block, self.graph.loop_nest(block), None
        )
        return run.read(operand)

    def result(self, instruction: int, register: str) -> Term | None:
        """Value that the instruction left in a register; None if it does not write it."""
        block = self.graph.block_of(instruction)
        return self.blocks[block].results.get(instruction, {}).get(register)

    def is_uniform(self, term: Term) -> bool:
        """Whether threads of a warp that are together at one point are proved to have equal values."""
        return self.lanes.is_uniform(term)


def results_of(run: BasicBlockRun, position: int) -> Registers:
    """Registers that the instruction just executed has written."""
    instruction = run.routine.instructions[position]
    found: Registers = {}
    for register in written(instruction, run.routine):
        if register in run.registers:
            found[register] = run.registers[register]
    for operand in instruction.operands[:1]:
        if isinstance(operand, Name) and operand.text in run.registers and operand.text != CARRY:
            found[operand.text] = run.registers[operand.text]
    return found
