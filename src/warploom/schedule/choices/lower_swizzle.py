"""Permuted temporaries: the exclusive-or map that gives the fewest bank conflicts, if one is better than none."""

from __future__ import annotations

import itertools
from dataclasses import replace

from warploom.schedule.nest import Affine, Kind, Load, Loop, Memory, Nest, Node, Space, Store, hardware_sizes, statements

_BANKS = 32
_BANK_BYTES = 4
_WARP = 32

Access = tuple[int, tuple[int, ...]]
"""Elements of one lane's access, and the offsets of the first one by lane of a warp."""


def swizzled(nest: Nest, buffer: int) -> Nest:
    """The nest with the buffer's places permuted alike in all its accesses; the nest itself where that cannot help."""
    found = nest.buffers[buffer]
    if found.space is not Space.SHARED or found.dtype.size_bytes > _BANK_BYTES:
        return nest
    accesses = [_warp(nest, s, around) for s, around in statements(nest.body) if _touches(s, buffer)]
    per_bank = _BANK_BYTES // found.dtype.size_bytes
    base = max(lanes for lanes, _ in accesses).bit_length() - 1
    best: tuple[int, tuple[int, int, int] | None] = (sum(_wavefronts(a, None, per_bank) for a in accesses), None)
    for bits, shift in itertools.product(range(1, 6), range(1, 13)):
        unit = 1 << (bits + base)
        if shift < bits or found.elements % unit or 1 << (base + shift) >= found.elements:
            continue
        xor = bits, base, shift
        cost = sum(_wavefronts(a, xor, per_bank) for a in accesses)
        if cost < best[0]:
            best = cost, xor
    return nest if best[1] is None else replace(nest, body=_permuted(nest.body, buffer, best[1]))


def _touches(node: Node, buffer: int) -> bool:
    return isinstance(node, Load | Store) and node.memory.buffer == buffer


def _warp(nest: Nest, statement: Node, around: tuple[Loop, ...]) -> Access:
    """Of the first warp, at index 0 of all other loops."""
    assert isinstance(statement, Load | Store)
    sizes = hardware_sizes(nest, Kind.THREAD)
    threads = {loop.number: loop.hardware for loop in around if loop.kind is Kind.THREAD}
    lanes = next((loop.size for loop in around if loop.kind is Kind.VECTOR), 1)
    offsets: list[int] = []
    for lane in range(_WARP):
        rest, at = lane, list[int]()
        for size in sizes:
            at.append(rest % size)
            rest //= size
        if rest:
            break
        positions = {n: at[h] for n, h in threads.items() if h is not None}
        offsets.append(_value(statement.memory.offset, positions))
    return lanes, tuple(offsets)


def _value(affine: Affine, indices: dict[int, int]) -> int:
    return affine.constant + sum(stride * indices.get(loop, 0) for loop, stride in affine.terms)


def _wavefronts(access: Access, xor: tuple[int, int, int] | None, per_bank: int) -> int:
    """Passes over the banks that a warp's access takes."""
    lanes, offsets = access
    words: dict[int, set[int]] = {}
    for offset in offsets:
        for element in range(offset, offset + lanes):
            place = element
            if xor is not None:
                bits, base, shift = xor
                place ^= ((element >> (base + shift)) & ((1 << bits) - 1)) << base
            words.setdefault(place // per_bank % _BANKS, set()).add(place // per_bank)
    return max((len(w) for w in words.values()), default=0)


def _permuted(nodes: tuple[Node, ...], buffer: int, xor: tuple[int, int, int]) -> tuple[Node, ...]:
    def memory(old: Memory) -> Memory:
        return replace(old, xor=xor)

    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            found.append(replace(node, body=_permuted(node.body, buffer, xor)))
        elif isinstance(node, Load | Store) and node.memory.buffer == buffer:
            found.append(replace(node, memory=memory(node.memory)))
        else:
            found.append(node)
    return tuple(found)
