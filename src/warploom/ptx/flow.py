"""Control flow of a routine: basic blocks, dominators, post-dominators, loops.

A block is a range of instructions that is entered at its first and left after its last. A predicated branch ends a block and has
two successors; `ret` and `exit` under a guard likewise. `brx.idx` goes to each of its targets.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.core import Diagnostic, UserError
from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Instruction, Name

ENDS = frozenset({"bra", "brx", "ret", "exit", "trap"})
"""Opcodes after which a block ends."""


@dataclass(frozen=True, slots=True)
class BasicBlock:
    index: int
    start: int
    """Of its first instruction."""
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
    """By header."""
    innermost: tuple[int | None, ...]
    """Header of the innermost loop around each block."""
    is_reducible: bool

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
        at: int | None = b
        while at is not None:
            if at == a:
                return True
            at = self.dominator[at]
        return False

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
    loops, is_reducible = _loops(order, successors, predecessors, dominator)
    innermost: list[int | None] = [None] * len(blocks)
    for loop in sorted(loops.values(), key=lambda found: -len(found.blocks)):
        for index in loop.blocks:
            innermost[index] = loop.header
    return FlowGraph(
        tuple(blocks), tuple(tuple(p) for p in predecessors), tuple(order), tuple(dominator), tuple(post_dominator), loops,
        tuple(innermost), is_reducible,
    )  # fmt: skip


def branch_targets(routine: Routine, index: int) -> tuple[int, ...]:
    """Positions that the branch instruction `index` may jump to, fall-through not included."""
    instruction = routine.instructions[index]
    names: tuple[str, ...] = ()
    last = instruction.operands[-1] if instruction.operands else None
    if isinstance(last, Name):
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


def _loops(
    order: list[int], successors: list[tuple[int, ...]], predecessors: list[list[int]], dominator: list[int | None]
) -> tuple[dict[int, Loop], bool]:
    rank = {node: position for position, node in enumerate(order)}

    def dominates(a: int, b: int) -> bool:
        at: int | None = b
        while at is not None and rank[at] >= rank[a]:
            if at == a:
                return True
            at = dominator[at]
        return False

    latches: dict[int, list[int]] = {}
    is_reducible = True
    for node in order:
        for following in successors[node]:
            if rank[following] <= rank[node]:
                if dominates(following, node):
                    latches.setdefault(following, []).append(node)
                else:
                    is_reducible = False
    bodies: dict[int, frozenset[int]] = {}
    for header, sources in latches.items():
        body = {header}
        stack = [s for s in sources if s != header]
        while stack:
            node = stack.pop()
            if node not in body:
                body.add(node)
                stack += [p for p in predecessors[node] if p in rank]
        bodies[header] = frozenset(body)
    loops: dict[int, Loop] = {}
    for header, body in bodies.items():
        outer = [h for h, b in bodies.items() if h != header and header in b and body <= b]
        parent = min(outer, key=lambda h: len(bodies[h])) if outer else None
        loops[header] = Loop(header, body, tuple(latches[header]), parent)
    return loops, is_reducible
