"""Walks over a nest: statements with the loops around them, places in memory, intervals of affine expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from warploom.core.linear import Linear
from warploom.schedule.nest.nodes import (
    Affine,
    Argument,
    Barrier,
    Combine,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Store,
)

Statement = Load | Store | Compute | Combine | Barrier


def statements(nodes: tuple[Node, ...], around: tuple[Loop, ...] = ()) -> Iterator[tuple[Statement, tuple[Loop, ...]]]:
    """Every statement in program order, with its loops from outside to inside."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from statements(node.body, (*around, node))
        else:
            yield node, around


def loops(nodes: tuple[Node, ...]) -> Iterator[Loop]:
    """Every loop, outer before inner, in program order."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node
            yield from loops(node.body)


def replaced(nodes: tuple[Node, ...], number: int, made: Node) -> tuple[Node, ...]:
    """The nodes with another one in place of the loop of that number."""
    return tuple(
        (made if n.number == number else replace(n, body=replaced(n.body, number, made))) if isinstance(n, Loop) else n
        for n in nodes
    )


@dataclass(frozen=True, slots=True)
class Blocks:
    """The block loops of a nest and what they hold."""

    around: tuple[Loop, ...]
    """Loops around everything, outer to inner."""
    inner: tuple[Loop, ...]
    """Further ones, all of whose iterations are done before `rest`."""
    body: tuple[Node, ...]
    """Body of the innermost loop."""
    rest: tuple[Node, ...]


def blocks_of(nest: Nest) -> Blocks:
    around: list[Loop] = []
    inner: list[Loop] = []
    nodes, rest = nest.body, ()
    while nodes and isinstance(nodes[0], Loop) and nodes[0].kind is Kind.BLOCK and not (rest and nodes[1:]):
        rest = rest or nodes[1:]
        (inner if rest else around).append(nodes[0])
        nodes = nodes[0].body
    return Blocks(tuple(around), tuple(inner), nodes, rest)


def hardware_sizes(nest: Nest, kind: Kind) -> tuple[int, ...]:
    """Sizes of the hardware dimensions of block or thread loops, x first; the largest loop of each. Grids have one entry per
    loop."""
    sizes: dict[int, int] = {}
    for loop in loops(nest.body):
        if loop.kind is kind and loop.hardware is not None:
            sizes[loop.hardware] = max(sizes.get(loop.hardware, 1), loop.size)
    return tuple(sizes.get(n, 1) for n in range(max(sizes, default=-1) + 1))


def references(statement: Statement) -> tuple[tuple[Ref, ...], tuple[Ref, ...]]:
    """(registers read, registers written)."""
    match statement:
        case Load(target=target):
            return (), (target,)
        case Store(argument=argument):
            return ((argument,) if isinstance(argument, Ref) else ()), ()
        case Compute(target=target, arguments=arguments, guards=guards):
            read = tuple(a for a in arguments if isinstance(a, Ref))
            return (*read, target) if guards and target not in read else read, (target,)
        case Combine(target=target, source=source):
            return (source,), (target,)
        case Barrier():
            return (), ()


def guards_of(statement: Statement) -> tuple[Guard, ...]:
    match statement:
        case Load(memory=memory):
            return memory.guards
        case Store(memory=memory, guards=guards):
            return (*memory.guards, *guards)
        case Compute(guards=guards):
            return guards
        case Combine() | Barrier():
            return ()


def interval(affine: Affine, sizes: Mapping[int, int]) -> tuple[int, int]:
    """Smallest and largest value over all indices of its loops."""
    return affine.span(lambda loop: sizes[loop] - 1)


def guarded_interval(affine: Affine, guards: tuple[Guard, ...], sizes: Mapping[int, int]) -> tuple[int, int]:
    """Like `interval`, where the guards hold. A guard counts where its index, times a factor, is a part of the expression."""
    rest = dict(affine.terms)
    low = high = affine.constant
    for guard in sorted(guards, key=lambda g: -len(g.index.terms)):
        factor = _factor(rest, guard.index)
        if factor is None:
            continue
        first, last = interval(guard.index, sizes)
        first, last = max(first, 0), min(last, guard.bound - 1)
        if first > last:
            return 0, -1
        base = low - factor * guard.index.constant, high - factor * guard.index.constant
        low, high = base[0] + min(factor * first, factor * last), base[1] + max(factor * first, factor * last)
        for loop, _ in guard.index.terms:
            del rest[loop]
    more = interval(Linear(tuple(rest.items())), sizes)
    return low + more[0], high + more[1]


def _factor(terms: dict[int, int], part: Affine) -> int | None:
    """c with part = c * (terms, restricted to the loops of part), where it is an integer for all of them."""
    factors = {(terms[loop], stride) for loop, stride in part.terms if loop in terms}
    if not part.terms or any(loop not in terms for loop, _ in part.terms):
        return None
    if any(have % stride for have, stride in factors):
        return None
    quotients = {have // stride for have, stride in factors}
    return quotients.pop() if len(quotients) == 1 else None


def staged_fills(nest: Nest, loop: Loop) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The two parts of a loop with stages: (the children that run ahead, the others, the first of which is a barrier where
    threads share)."""
    last = max(
        (
            n
            for n, node in enumerate(loop.body)
            for s, _ in statements((node,))
            if isinstance(s, Store) and nest.buffers[s.memory.buffer].copies > 1
        ),
        default=-1,
    )
    return loop.body[: last + 1], loop.body[last + 1 :]


def renumbered(node: Node, number: Callable[[int], int]) -> Node:
    """The node whose loops, and those that its sums and guards name, have other numbers."""

    def sum_of(affine: Affine) -> Affine:
        return affine.renamed(number)

    def ref_of(ref: Ref) -> Ref:
        return replace(ref, at=tuple(map(sum_of, ref.at)))

    def argument_of(argument: Argument) -> Argument:
        if isinstance(argument, Ref):
            return ref_of(argument)
        return sum_of(argument) if isinstance(argument, Linear) else argument

    def held(guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
        return tuple(replace(guard, index=sum_of(guard.index)) for guard in guards)

    match node:
        case Loop(body=body, only=only):
            inner = tuple(renumbered(child, number) for child in body)
            return replace(node, number=number(node.number), body=inner, only=held(only))
        case Load(target=target, memory=memory):
            return replace(node, target=ref_of(target), memory=memory.mapped(sum_of))
        case Store(memory=memory, argument=argument, guards=guards):
            return replace(node, memory=memory.mapped(sum_of), argument=argument_of(argument), guards=held(guards))
        case Compute(target=target, arguments=arguments, guards=guards):
            return replace(node, target=ref_of(target), arguments=tuple(map(argument_of, arguments)), guards=held(guards))
        case Combine(target=target, source=source, threads=threads):
            return replace(node, target=ref_of(target), source=ref_of(source), threads=tuple(map(number, threads)))
        case Barrier():
            return node
