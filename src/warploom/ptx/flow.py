"""Control flow of a routine: basic blocks, dominators, post-dominators, loops.

A block is a range of instructions that is entered at its first and left after its last. A predicated branch ends a block and has
two successors; `ret` and `exit` under a guard likewise. `brx.idx` goes to each of its targets.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from warploom.core import Diagnostic, UserError
from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Instruction, Name, operand_text

ENDS = frozenset({"bra", "brx", "ret", "exit", "trap"})
"""Opcodes after which a block ends."""


@dataclass(frozen=True, slots=True)
class BasicBlock:
    index: int
    start: int
    """Position of its first instruction."""
    end: int
    """One past its last instruction."""
    successors: tuple[int, ...]
    """Fall-through last; the empty tuple where threads end."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: all back edges to one header."""

    header: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    """Blocks with a back edge to the header."""
    parent: int | None
    """Header of the next enclosing loop."""


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """Blocks in text order; block 0 is the entry. Unreachable blocks have no dominator."""

    blocks: tuple[BasicBlock, ...]
    predecessors: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    """Reverse post-order of the reachable blocks."""
    dominator: tuple[int | None, ...]
    """Immediate dominator; None for the entry and unreachable blocks."""
    post_dominator: tuple[int | None, ...]
    """Immediate post-dominator; None where it is the end of the routine or does not exist."""
    loops: dict[int, Loop]
    """Loops by header."""
    innermost: tuple[int | None, ...]
    """Header of the innermost loop around each block."""
    is_reducible: bool
    dominated: tuple[tuple[int, int], ...]
    """Interval of each block in a walk of the dominator tree, around those of the blocks it dominates; (0, 0): unreachable."""

    def block_of(self, instruction: int) -> int:
        """Index of the block that holds the instruction."""
        low, high = 0, len(self.blocks) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.blocks[middle].start <= instruction:
                low = middle
            else:
                high = middle - 1
        return low

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path from the entry to block `b` goes through block `a`; reflexive."""
        return a == b or _is_inside(self.dominated[b], self.dominated[a])

    def loop_nest(self, block: int) -> tuple[int, ...]:
        """Headers of the loops around the block, outermost first."""
        found: list[int] = []
        header = self.innermost[block]
        while header is not None:
            found.append(header)
            header = self.loops[header].parent
        return tuple(reversed(found))


def flow_graph(routine: Routine) -> FlowGraph:
    """UserError (PTX_LABEL) where a branch goes to no label of the routine."""
    blocks = _blocks(routine)
    predecessors: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            if block.index not in predecessors[successor]:
                predecessors[successor].append(block.index)
    successors = [block.successors for block in blocks]
    order = _reverse_post_order(successors, [0]) if blocks else []
    dominator = _immediate_dominators(order, predecessors, len(blocks))
    post_dominator = _post_dominators(successors, predecessors)
    dominated = _tree_intervals(order, dominator)
    loops, innermost, is_reducible = _loops(order, successors, predecessors, dominated)
    return FlowGraph(
        tuple(blocks), tuple(tuple(p) for p in predecessors), tuple(order), tuple(dominator), tuple(post_dominator), loops,
        tuple(innermost), is_reducible, tuple(dominated),
    )  # fmt: skip


def branch_targets(routine: Routine, index: int) -> tuple[int, ...]:
    """Positions that the branch instruction `index` may jump to, fall-through not included."""
    instruction = routine.instructions[index]
    last = instruction.operands[-1] if instruction.operands else None
    if not isinstance(last, Name):
        shown = "none" if last is None else repr(operand_text(last))
        message = f"expected a label of {routine.name} after {instruction.name}, found {shown}"
        raise UserError(Diagnostic("PTX_LABEL", message, routine.span(index)))
    names = routine.targets.get(last.text, (last.text,)) if instruction.opcode == "brx" else (last.text,)
    found: list[int] = []
    for name in names:
        position = routine.labels.get(name)
        if position is None:
            message = f"expected a label of {routine.name} after {instruction.name}, found {name!r}"
            raise UserError(Diagnostic("PTX_LABEL", message, routine.span(index)))
        if position not in found:
            found.append(position)
    return tuple(found)


def _blocks(routine: Routine) -> list[BasicBlock]:
    instructions = routine.instructions
    count = len(instructions)
    leaders = {0, *(p for p in routine.labels.values() if p < count)}
    leaders |= {i + 1 for i, instruction in enumerate(instructions) if instruction.opcode in ENDS and i + 1 < count}
    starts = sorted(leaders) if count else []
    index_at = {start: index for index, start in enumerate(starts)}
    blocks: list[BasicBlock] = []
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else count
        successors = _successors(routine, instructions[end - 1], end, index_at)
        blocks.append(BasicBlock(index, start, end, successors))
    return blocks


def _successors(routine: Routine, last: Instruction, end: int, index_at: dict[int, int]) -> tuple[int, ...]:
    targets: list[int] = []
    if last.opcode in ("bra", "brx"):
        targets = [index_at[p] for p in branch_targets(routine, end - 1) if p in index_at]
    falls_through = last.opcode not in ENDS or last.guard is not None
    if falls_through and end in index_at and index_at[end] not in targets:
        targets.append(index_at[end])
    return tuple(targets)


def _reverse_post_order(successors: list[tuple[int, ...]], roots: list[int]) -> list[int]:
    seen: set[int] = set()
    finished: list[int] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(successors[root]))]
        while stack:
            node, rest = stack[-1]
            for following in rest:
                if following not in seen:
                    seen.add(following)
                    stack.append((following, iter(successors[following])))
                    break
            else:
                finished.append(node)
                stack.pop()
    return finished[::-1]


def _immediate_dominators(order: list[int], predecessors: list[list[int]], count: int) -> list[int | None]:
    """Cooper, Harvey and Kennedy's iteration over reverse post-order."""
    rank = {node: position for position, node in enumerate(order)}
    dominator: list[int | None] = [None] * count
    if not order:
        return dominator
    root = order[0]
    known = {root}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best: int | None = None
            for before in predecessors[node]:
                if before in known:
                    best = before if best is None else _meet(best, before, dominator, rank)
            if best is not None and (node not in known or dominator[node] != best):
                dominator[node] = best
                known.add(node)
                changed = True
    return dominator


def _meet(a: int, b: int, dominator: list[int | None], rank: dict[int, int]) -> int:
    while a != b:
        if rank[a] > rank[b]:
            following = dominator[a]
            assert following is not None
            a = following
        else:
            following = dominator[b]
            assert following is not None
            b = following
    return a


def _post_dominators(successors: list[tuple[int, ...]], predecessors: list[list[int]]) -> list[int | None]:
    count = len(successors)
    end = count
    reverse: list[list[int]] = [list(p) for p in predecessors] + [[i for i in range(count) if not successors[i]]]
    order = _reverse_post_order([tuple(r) for r in reverse], [end])
    before = [list(s) or [end] for s in successors] + [[]]
    found = _immediate_dominators(order, before, count + 1)
    return [None if f == end else f for f in found[:count]]


def _is_inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] < inner[0] and inner[1] <= outer[1]


def _tree_intervals(order: list[int], dominator: list[int | None]) -> list[tuple[int, int]]:
    """Number of each block in a walk of the dominator tree from 1 on, and the last number below it."""
    below = [1] * len(dominator)
    for node in reversed(order):
        parent = dominator[node]
        if parent is not None:
            below[parent] += below[node]
    found = [(0, 0)] * len(dominator)
    free = [0] * len(dominator)
    for node in order:
        parent = dominator[node]
        first = 1 if parent is None else free[parent]
        if parent is not None:
            free[parent] += below[node]
        found[node] = (first, first + below[node] - 1)
        free[node] = first + 1
    return found


def _loops(
    order: list[int], successors: list[tuple[int, ...]], predecessors: list[list[int]], dominated: list[tuple[int, int]]
) -> tuple[dict[int, Loop], list[int | None], bool]:
    """Loops by header, the innermost header of each block, and whether every cycle is such a loop."""
    rank = {node: position for position, node in enumerate(order)}
    latches: dict[int, list[int]] = {}
    is_reducible = True
    for node in order:
        for following in successors[node]:
            if rank[following] <= rank[node]:
                if following == node or _is_inside(dominated[node], dominated[following]):
                    latches.setdefault(following, []).append(node)
                else:
                    is_reducible = False
    bodies = {header: _loop_body(header, sources, predecessors, rank) for header, sources in latches.items()}
    loops: dict[int, Loop] = {}
    innermost: list[int | None] = [None] * len(dominated)
    # Loops with different headers are disjoint or nested: from the largest on, the header's innermost one so far is the parent.
    for header, body in sorted(bodies.items(), key=lambda found: -len(found[1])):
        loops[header] = Loop(header, body, tuple(latches[header]), innermost[header])
        for node in body:
            innermost[node] = header
    return {header: loops[header] for header in latches}, innermost, is_reducible


def _loop_body(header: int, latches: list[int], predecessors: list[list[int]], reachable: Container[int]) -> frozenset[int]:
    body = {header}
    stack = [s for s in latches if s != header]
    while stack:
        node = stack.pop()
        if node not in body:
            body.add(node)
            stack += [p for p in predecessors[node] if p in reachable and p not in body]
    return frozenset(body)
