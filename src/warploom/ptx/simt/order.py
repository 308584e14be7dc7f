"""Order in which parted threads of a warp run: a static rank per program point, lowest first.

The rank is a weak topological order (Bourdoncle 1993) of the flow graph: predecessors first, every loop contiguous. Running the
lowest point first makes threads wait for each other at the earliest point where they can meet (thread frontiers, Diamos et
al. 2011): never later than the immediate post-dominator, also in irreducible graphs, and after a loop only when the last has
left it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def schedule_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Rank of every node; node 0 is the entry."""
    order: list[int] = []
    _append(successors, frozenset(range(len(successors))), range(len(successors)), order)
    rank = [0] * len(successors)
    for position, node in enumerate(order):
        rank[node] = position
    return rank


def _append(successors: Sequence[Sequence[int]], nodes: frozenset[int], roots: Iterable[int], order: list[int]) -> None:
    """Appends `nodes` to `order`; recursion as deep as loops nest."""
    for component in _components(successors, nodes, roots):
        header = component[-1]
        order.append(header)
        if len(component) > 1:
            rest = frozenset(component[:-1])
            first = [s for s in successors[header] if s in rest]
            _append(successors, rest, [*first, *sorted(rest)], order)


def _components(successors: Sequence[Sequence[int]], nodes: frozenset[int], roots: Iterable[int]) -> list[list[int]]:
    """Strongly connected components in topological order (Tarjan); the last node of each was reached first."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in roots:
        if root in index or root not in nodes:
            continue
        work: list[tuple[int, Iterator[int]]] = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for after in following:
                if after not in nodes:
                    continue
                if after not in index:
                    index[after] = low[after] = len(index)
                    stack.append(after)
                    on_stack.add(after)
                    work.append((after, iter(successors[after])))
                    break
                if after in on_stack:
                    low[node] = min(low[node], index[after])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    found.append(component)
    return found[::-1]
