"""The loop tree of a decided candidate: merged dims become loops, siblings are put in order, loops of one iteration vanish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from warploom.schedule.choices.decided import Decided, LoweringError
from warploom.schedule.choices.lower_operations import Operations
from warploom.schedule.nest import Kind, Node, Trips


@dataclass(eq=False, slots=True)
class Branch:
    """A loop under construction."""

    number: int
    name: str
    kind: Kind
    size: int
    dims: tuple[int, ...]
    """Statements merged into it."""
    children: list[Item] = field(default_factory=lambda: list[Item]())
    hardware: int | None = None
    stages: int = 1
    trips: Trips | None = None


Item = Branch | int | Node
"""A loop, a statement of the candidate still to be written, or a finished node."""


@dataclass(slots=True)
class Tree:
    children: list[Item]
    branches: list[Branch]
    loop_of: dict[int, Branch | None]
    """By dim (statement); None: one iteration."""
    paths: dict[int, tuple[Branch, ...]]
    """Loops around each operation, outer to inner."""

    def siblings(self, branch: Branch) -> list[Item]:
        """The list that holds the branch."""
        for items in self._lists(self.children):
            if branch in items:
                return items
        raise LookupError(branch.name)

    def _lists(self, items: list[Item]) -> Iterator[list[Item]]:
        yield items
        for item in items:
            if isinstance(item, Branch):
                yield from self._lists(item.children)


def build_tree(decided: Decided, operations: Operations) -> Tree:
    dims = [(d, e, o.statement) for o in operations.by_statement.values() for e, d in o.dims.items()]
    extents = {d: e for d, e, _ in dims}
    owners = {d: operations.by_statement[s].name for d, _, s in dims}
    classes = _classes(decided, sorted(extents))
    representatives = sorted(set(classes.values()))
    instructions = sorted(operations.by_statement)
    nodes = [*representatives, *instructions]
    around = {n: frozenset(d for d in representatives if d != n and decided.order(d, n) == "OUTER") for n in nodes}
    branches: dict[int, Branch] = {}
    loop_of: dict[int, Branch | None] = {}
    for number, leader in enumerate(representatives):
        members = tuple(d for d in sorted(extents) if classes[d] == leader)
        sizes = {decided.size(extents[d]) for d in members}
        kinds = {decided.dim_kind(d) for d in members if decided.size(extents[d]) > 1}
        if len(sizes) != 1 or len(kinds) > 1:
            raise LoweringError(f"merged dims of {[owners[d] for d in members]} have sizes {sizes} and kinds {kinds}")
        extent = operations.extent(extents[leader])
        name = f"{operations.axis(extent.axis).name}{extent.level}"
        kind = Kind(decided.dim_kind(leader).lower())
        run_time = operations.axis(extent.axis).run_time if extent.level == 0 else None
        trips = Trips(run_time, operations.tile_size(extent.axis)) if run_time is not None else None
        branches[leader] = Branch(number, name, kind, sizes.pop(), members, trips=trips)
        for dim in members:
            loop_of[dim] = branches[leader] if branches[leader].size > 1 else None
    parents = {n: _parent(n, around) for n in nodes}
    inside: dict[int | None, list[int]] = {}
    for node, parent in parents.items():
        inside.setdefault(parent, []).append(node)

    contents = {n: (n, *(o for o in nodes if n in around[o])) for n in nodes}

    def items(parent: int | None) -> list[Item]:
        listed: list[Item] = []
        for node in _sorted(decided, inside.get(parent, []), contents):
            if node not in branches:
                listed.append(node)
            elif branches[node].size > 1:
                branches[node].children = items(node)
                listed.append(branches[node])
            else:
                listed.extend(items(node))
        return listed

    children = items(None)
    kept = [b for b in branches.values() if b.size > 1]
    paths = {
        s: tuple(branches[d] for d in sorted(around[s], key=lambda d: len(around[d])) if branches[d].size > 1)
        for s in instructions
    }
    return Tree(children, kept, loop_of, paths)


def _classes(decided: Decided, dims: list[int]) -> dict[int, int]:
    """Each dim's representative: the lowest of those merged with it."""
    leader: dict[int, int] = {}
    for dim in dims:
        leader[dim] = next((leader[d] for d in leader if leader[d] == d and decided.order(d, dim) == "MERGED"), dim)
    return leader


def _parent(node: int, around: dict[int, frozenset[int]]) -> int | None:
    outer = around[node]
    if not outer:
        return None
    parent = max(outer, key=lambda d: len(around[d]))
    if around[parent] | {parent} != outer:
        raise LoweringError(f"the loops around statement {node} are not nested: {sorted(outer)}")
    return parent


def _sorted(decided: Decided, nodes: list[int], contents: dict[int, tuple[int, ...]]) -> list[int]:
    """Siblings in execution order; where the order is open, by number. contents: each with what is inside."""

    def is_before(first: int, second: int) -> bool:
        return any(decided.order(a, b) == "BEFORE" for a in contents[first] for b in contents[second])

    before = {(a, b) for a in nodes for b in nodes if a != b and is_before(a, b)}
    waiting = sorted(nodes)
    done: list[int] = []
    while waiting:
        for node in waiting:
            if not any((other, node) in before for other in waiting):
                break
        else:
            raise LoweringError(f"the order of statements {waiting} is circular")
        waiting.remove(node)
        done.append(node)
    return done
