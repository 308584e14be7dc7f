"""Nests that run backwards: what the kernel before read last, and the caches still hold, comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from warploom.core.linear import Linear
from warploom.schedule.nest import Affine, Barrier, Combine, Compute, Guard, Kind, Load, Loop, Memory, Nest, Node, Store, loops


def backward(nest: Nest) -> Nest:
    """The nest with the iterations of its sequential and block loops in reverse order, but for those whose number is known at run
    time. Sums are taken in another order."""
    sizes = {loop.number: loop.size for loop in loops(nest.body) if loop.kind in (Kind.LOOP, Kind.BLOCK) and loop.trips is None}
    return turned(nest, sizes)


def turned(nest: Nest, sizes: Mapping[int, int]) -> Nest:
    """The nest with the iterations of some loops in reverse order; sizes: theirs, by their numbers."""
    return replace(nest, body=_turned(nest.body, sizes))


def _turned(nodes: tuple[Node, ...], sizes: Mapping[int, int]) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        match node:
            case Loop(body=body, only=only):
                found.append(replace(node, body=_turned(body, sizes), only=_guards(only, sizes)))
            case Load(memory=memory):
                found.append(replace(node, memory=_place(memory, sizes)))
            case Store(memory=memory, guards=guards):
                found.append(replace(node, memory=_place(memory, sizes), guards=_guards(guards, sizes)))
            case Compute(arguments=arguments, guards=guards):
                turned = tuple(_affine(a, sizes) if isinstance(a, Linear) else a for a in arguments)
                found.append(replace(node, arguments=turned, guards=_guards(guards, sizes)))
            case Combine() | Barrier():
                found.append(node)
            case _:
                assert_never(node)
    return tuple(found)


def _place(memory: Memory, sizes: Mapping[int, int]) -> Memory:
    return memory.mapped(lambda affine: _affine(affine, sizes))


def _guards(guards: tuple[Guard, ...], sizes: Mapping[int, int]) -> tuple[Guard, ...]:
    return tuple(replace(guard, index=_affine(guard.index, sizes)) for guard in guards)


def _affine(affine: Affine, sizes: Mapping[int, int]) -> Affine:
    """The affine form with `size - 1 - i` for the index i of each of the loops."""
    constant = affine.constant + sum(stride * (sizes[n] - 1) for n, stride in affine.terms if n in sizes)
    return Linear(tuple((n, -stride if n in sizes else stride) for n, stride in affine.terms), constant)
