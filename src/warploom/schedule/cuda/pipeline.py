"""Pipelined loops: which statements of the body run ahead, split so that loads are in flight while the body computes.

    for k:                                     fill(0) ... fill(stages - 2)
        fill temporaries   ->                  for k:
        barrier                                    wait for fill(k); barrier
        use them                                   start copies and loads of fill(k + stages - 1)
        barrier                                    use the temporaries of k
                                                   store what was loaded to those of k + stages - 1

One barrier per iteration is enough: whoever is past it has finished iteration k - 1, whose copies are overwritten next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from warploom.core.linear import Linear
from warploom.schedule.backbone import Role
from warploom.schedule.cuda.facts import Leaf, leaves, loops_of, refs_of
from warploom.schedule.nest import (
    Barrier,
    Buffer,
    Combine,
    Compute,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Register,
    Space,
    Store,
    Value,
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    loop: Loop
    buffers: frozenset[int]
    """Buffers that are filled ahead."""
    fill: tuple[Node, ...]
    """One iteration's fill in one piece; in three: `copies`, `loads`, `stores`."""
    copies: tuple[Node, ...]
    """Nodes that are copied without registers, or cannot be split."""
    loads: tuple[Node, ...]
    stores: tuple[Node, ...]
    body: tuple[Node, ...]
    """Nodes that use the copies, with the barriers that they need themselves."""

    @property
    def ahead(self) -> int:
        return self.loop.stages - 1


def direct_copies(nest: Nest) -> dict[int, Load]:
    """Values that need no registers: loaded by one asynchronous load, and only stored, as they are, to shared memory."""
    stored = {leaf.node.memory.buffer for leaf in leaves(nest.body) if isinstance(leaf.node, Store)}
    loads: dict[int, Load] = {}
    refused: set[int] = set()
    together: dict[int, int] = {}
    for leaf in leaves(nest.body):
        match leaf.node:
            case Load(target, _, is_async=True) if target.value not in loads:
                buffer = nest.buffers[leaf.node.memory.buffer]
                is_constant = buffer.space is Space.GLOBAL and leaf.node.memory.buffer not in stored
                size = buffer.dtype.size_bytes
                if is_constant and (size in (4, 8) or (size < 4 and size * _together(leaf, buffer) in (4, 8, 16))):
                    loads[target.value] = leaf.node
                    together[target.value] = _together(leaf, buffer)
            case Store(memory, Ref(value)) if nest.buffers[memory.buffer].space is Space.SHARED:
                buffer = nest.buffers[memory.buffer]
                if buffer.dtype.size_bytes < 4 and _together(leaf, buffer) != together.get(value):
                    refused.add(value)
            case node:
                refused |= {ref.value for ref in refs_of(node)}
    return {v: load for v, load in loads.items() if v not in refused and _is_reachable(nest, v, load)}


def _together(leaf: Leaf, buffer: Buffer) -> int:
    """Elements of a vector access that is surely one: elements of fewer than 4 bytes are copied so, or not asynchronously."""
    assert isinstance(leaf.node, Load | Store)
    memory = leaf.node.memory
    for loop in leaf.path:
        if loop.kind is Kind.VECTOR and memory.lanes_apart(loop.number) == 1:
            steps = [memory.divisor_beside(loop.number)]
            for guard in memory.guards:
                terms = dict(guard.index.terms)
                if terms.pop(loop.number, 0):
                    steps += [guard.divisor, guard.index.constant, *terms.values()]
            steps += [buffer.elements] if buffer.copies > 1 else []
            steps += [memory.swizzle.unit] if memory.swizzle is not None else []
            return loop.size if all(step % loop.size == 0 for step in steps) else 1
    return 1


def _is_reachable(nest: Nest, value: int, load: Load) -> bool:
    """Whether every store of the value can tell where it was loaded from."""
    loops = {loop.number: loop for loop in loops_of(nest.body)}
    for leaf in leaves(nest.body):
        if isinstance(leaf.node, Store) and isinstance(leaf.node.argument, Ref) and leaf.node.argument.value == value:
            known = {loop.number for loop in leaf.path}
            selected = {at.terms[0][0] for at in load.target.at if at.terms}
            memory = load.memory
            used = {n for affine in memory.forms for n, _ in affine.terms}
            if any(n not in known and n not in selected and loops[n].kind not in (Kind.BLOCK, Kind.THREAD) for n in used):
                return False
    return True


def plan(loop: Loop, nest: Nest, copied: frozenset[int]) -> tuple[Pipeline, tuple[Value, ...]] | None:
    """A plan that runs `loop` ahead, and the values with the registers that this takes; None if nothing in it can.
    `copied`: values that need no registers."""
    if loop.stages < 2 or (loop.size < 2 and loop.trips is None) or any(inner.stages > 1 for inner in loops_of(loop.body)):
        return None
    inside = list(leaves(loop.body))
    buffers, members = _Fill(loop, nest, inside).solve()
    if not buffers:
        return None
    split = _Split(loop, nest, inside, members, copied)
    direct, loads, stores = split.parts()
    nodes, values = split.expanded()
    body = _kept(loop.body, lambda n: n not in members)
    pipeline = Pipeline(
        loop=loop,
        buffers=buffers,
        fill=_kept(nodes, lambda n: n in members, has_barriers=False),
        copies=_kept(nodes, lambda n: n in direct, has_barriers=False),
        loads=_kept(nodes, lambda n: n in loads, has_barriers=False),
        stores=_kept(nodes, lambda n: n in stores, has_barriers=False),
        body=_trimmed(body),
    )
    return pipeline, values


class _Fill:
    """Statements (by position) that only fill temporaries from global memory."""

    def __init__(self, loop: Loop, nest: Nest, inside: list[Leaf]) -> None:
        self.loop, self.nest, self.inside = loop, nest, inside
        everywhere = list(leaves(nest.body))
        self.outside = [leaf for leaf in everywhere if all(p.number != loop.number for p in leaf.path)]
        self.stored = {leaf.node.memory.buffer for leaf in everywhere if isinstance(leaf.node, Store)}

    def solve(self) -> tuple[frozenset[int], frozenset[int]]:
        candidates = {
            leaf.node.memory.buffer
            for leaf in self.inside
            if isinstance(leaf.node, Store) and self._is_candidate(leaf.node.memory.buffer)
        }
        while True:
            members: set[int] = set()
            refused: set[int] = set()
            for buffer in candidates:
                found = self._feeders(buffer, candidates)
                if found is None:
                    refused.add(buffer)
                else:
                    members |= found
            if not refused:
                return frozenset(candidates), frozenset(members)
            candidates -= refused

    def _is_candidate(self, number: int) -> bool:
        buffer = self.nest.buffers[number]
        if buffer.role is not Role.TEMPORARY or buffer.space is not Space.SHARED:
            return False
        if any(isinstance(leaf.node, Load | Store) and leaf.node.memory.buffer == number for leaf in self.outside):
            return False
        if buffer.copies < self.loop.stages:
            return False
        stores = list(self._paths(Store, number))
        return not any(set(a) & set(b) for a in stores for b in self._paths(Load, number))

    def _paths(self, kind: type[Load] | type[Store], buffer: int) -> Iterator[tuple[int, ...]]:
        for leaf in self.inside:
            if isinstance(leaf.node, kind) and leaf.node.memory.buffer == buffer:
                yield tuple(loop.number for loop in leaf.path if loop.kind is not Kind.THREAD)

    def _feeders(self, buffer: int, candidates: set[int]) -> set[int] | None:
        members = {n for n, leaf in enumerate(self.inside) if isinstance(leaf.node, Store) and leaf.node.memory.buffer == buffer}
        work = [ref.value for n in members for ref in refs_of(self.inside[n].node)]
        done: set[int] = set()
        while work:
            value = work.pop()
            if value in done:
                continue
            done.add(value)
            makers = [n for n, leaf in enumerate(self.inside) if _made(leaf.node) == value]
            if not makers:
                continue
            if any(value in {r.value for r in refs_of(leaf.node)} for leaf in self.outside):
                return None
            for n in makers:
                node = self.inside[n].node
                match node:
                    case Load() if self._is_constant(node.memory.buffer):
                        pass
                    case Compute():
                        if any(isinstance(a, Ref) and a.value == value for a in node.arguments):
                            return None
                        work += [a.value for a in node.arguments if isinstance(a, Ref)]
                    case _:
                        return None
                members.add(n)
        made = {v for n in members if (v := _made(self.inside[n].node)) is not None}
        for n, leaf in enumerate(self.inside):
            node = leaf.node
            fills = isinstance(node, Store) and node.memory.buffer in candidates
            if n not in members and not fills and any(r.value in made for r in refs_of(node)):
                return None
        return members

    def _is_constant(self, number: int) -> bool:
        return self.nest.buffers[number].space is Space.GLOBAL and number not in self.stored


def _made(node: Node) -> int | None:
    return node.target.value if isinstance(node, Load | Compute | Combine) else None


class _Split:
    """Parts of a fill, by position of their statements in the loop's body."""

    def __init__(self, loop: Loop, nest: Nest, inside: list[Leaf], members: frozenset[int], copied: frozenset[int]) -> None:
        self.loop, self.nest, self.inside, self.members = loop, nest, inside, members
        self.direct = {n for n in members if _value_of(inside[n].node) in copied}
        self.is_split = all(self._can_wait(n) for n in members - self.direct)

    def _can_wait(self, position: int) -> bool:
        """Whether every iteration of the loops around has, or can have, a register of its own."""
        return all(loop.kind is not Kind.LOOP for loop in self.inside[position].path)

    def parts(self) -> tuple[set[int], set[int], set[int]]:
        rest = set(self.members) - self.direct
        if not self.is_split:
            return set(self.members), set(), set()
        loads = {n for n in rest if isinstance(self.inside[n].node, Load)}
        return self.direct, loads, rest - loads

    def expanded(self) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
        """The body with loaded values that have a register for every iteration of the unrolled loops around."""
        values = list(self.nest.values)
        if not self.is_split:
            return self.loop.body, tuple(values)
        added: dict[int, tuple[int, ...]] = {}
        for n in self.members - self.direct:
            leaf = self.inside[n]
            if isinstance(leaf.node, Load):
                target = leaf.node.target
                selected = {number for at in target.at for number, _ in at.terms}
                missing = [
                    p for p in leaf.path if p.kind in (Kind.UNROLL, Kind.VECTOR) and p.size > 1 and p.number not in selected
                ]
                if missing and target.value not in added:
                    added[target.value] = tuple(p.number for p in missing)
                    axes = tuple(Register(p.size, is_vector=False) for p in missing)
                    values[target.value] = replace(values[target.value], axes=values[target.value].axes + axes)
        return _with_axes(self.loop.body, added), tuple(values)


def _value_of(node: Node) -> int | None:
    """The value that a load makes or a store stores."""
    match node:
        case Load():
            return node.target.value
        case Store(_, Ref(value)):
            return value
        case _:
            return None


def _with_axes(body: tuple[Node, ...], added: dict[int, tuple[int, ...]]) -> tuple[Node, ...]:
    def ref(old: Ref) -> Ref:
        return Ref(old.value, (*old.at, *(Linear(((n, 1),)) for n in added.get(old.value, ()))))

    def node(old: Node) -> Node:
        match old:
            case Loop():
                return replace(old, body=tuple(map(node, old.body)))
            case Load():
                return replace(old, target=ref(old.target))
            case Store(_, Ref() as argument):
                return replace(old, argument=ref(argument))
            case Compute():
                arguments = tuple(ref(a) if isinstance(a, Ref) else a for a in old.arguments)
                return replace(old, target=ref(old.target), arguments=arguments)
            case Combine():
                return replace(old, target=ref(old.target), source=ref(old.source))
            case _:
                return old

    return tuple(map(node, body)) if added else body


def _kept(body: tuple[Node, ...], keep: Callable[[int], bool], *, has_barriers: bool = True) -> tuple[Node, ...]:
    """`body` without the statements whose position is not kept, and without loops that have none."""
    position = -1

    def block(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nonlocal position
        result: list[Node] = []
        for node in nodes:
            if isinstance(node, Loop):
                inner = block(node.body)
                if any(not isinstance(n, Barrier) for n in inner):
                    result.append(replace(node, body=inner))
                elif inner:
                    result.append(inner[0])
                continue
            position += 1
            if has_barriers if isinstance(node, Barrier) else keep(position):
                result.append(node)
        return tuple(result)

    return block(body)


def _trimmed(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The body without barriers at either end and repeated ones: the loop has one of its own between iterations."""
    nodes: list[Node] = []
    for node in body:
        if not (isinstance(node, Barrier) and nodes and isinstance(nodes[-1], Barrier)):
            nodes.append(node)
    while nodes and isinstance(nodes[0], Barrier):
        del nodes[0]
    while nodes and isinstance(nodes[-1], Barrier):
        del nodes[-1]
    for end in (0, -1):
        if nodes and isinstance(node := nodes[end], Loop) and node.kind is Kind.THREAD:
            inner = list(node.body)
            while inner and isinstance(inner[end], Barrier):
                del inner[end]
            nodes[end] = replace(node, body=tuple(inner))
    return tuple(nodes)
