"""Loops that fetch what later iterations read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.schedule.backbone import Role
from warploom.schedule.nest import Kind, Load, Loop, Nest, Node

LINE_BYTES = 64


def prefetching(nest: Nest, ahead: int) -> Nest:
    """The nest in which every sequential loop that reads other lines of an argument in each iteration fetches those of the
    iteration `ahead` further on; the nest itself for 0."""
    return replace(nest, body=_ahead(nest, nest.body, ahead)) if ahead else nest


def _ahead(nest: Nest, nodes: Sequence[Node], ahead: int) -> tuple[Node, ...]:
    return tuple(_loop_ahead(nest, node, ahead) if isinstance(node, Loop) else node for node in nodes)


def _loop_ahead(nest: Nest, loop: Loop, ahead: int) -> Loop:
    body = _ahead(nest, loop.body, ahead)
    strides = _strides(nest, loop.body, loop.number)
    is_far = loop.kind is Kind.LOOP and loop.size > ahead and any(stride >= LINE_BYTES for stride in strides)
    return replace(loop, body=body, stages=ahead + 1 if is_far else loop.stages)


def _strides(nest: Nest, nodes: Sequence[Node], loop: int) -> list[int]:
    """Bytes that the loads in straight code advance from one iteration to the next."""
    found: list[int] = []
    for node in nodes:
        match node:
            case Load(memory=memory) if nest.buffers[memory.buffer].role is not Role.TEMPORARY:
                size = nest.buffers[memory.buffer].dtype.size_bytes
                found += [abs(stride) * size for number, stride in memory.offset.terms if number == loop]
            case Loop(kind=Kind.UNROLL | Kind.VECTOR):
                found += _strides(nest, node.body, loop)
            case _:
                pass
    return found
