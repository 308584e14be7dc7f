"""Stores whose lanes lie apart in memory while the turns of an unrolled loop around them lie together: blocks of both are turned
in registers, so that neighbours are stored at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from warploom.core import DType
from warploom.machines import TURNED_BYTES
from warploom.schedule.nest import Guard, Kind, Loop, Ref, Store

_ELEMENT_BYTES = (4, 8)
MIXED = "mixed"
"""A macro of a type of masks, two vectors and lanes of both: a vector of these lanes."""
MIXED_TEXT = f"""#ifdef __clang__
#define {MIXED}(M, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define {MIXED}(M, x, y, ...) __builtin_shuffle(x, y, (M){{__VA_ARGS__}})
#endif"""


@dataclass(frozen=True, slots=True)
class Columns:
    """A store in a vector loop in unrolled ones."""

    store: Store
    vector: Loop
    stride: int
    """Elements from one lane to the next."""
    together: Loop
    """The unrolled loop whose turns lie next to each other."""
    others: tuple[Loop, ...]
    """The other unrolled loops, outer before inner."""

    def turns(self) -> Iterator[dict[int, int]]:
        """Indices of the other loops, in their order."""
        for at in product(*(range(loop.size) for loop in self.others)):
            yield {loop.number: n for loop, n in zip(self.others, at, strict=True)}

    def groups(self, dtype: DType) -> list[tuple[int, int]]:
        """(first, number) of turns that are stored together, most of them as many as a piece holds."""
        most = min(TURNED_BYTES // dtype.size_bytes if dtype.size_bytes in _ELEMENT_BYTES else 1, self.vector.size)
        found: list[tuple[int, int]] = []
        first, count = 0, self.together.size
        while first < count:
            number = next(n for n in (4, 2, 1) if n <= min(most, count - first))
            found.append((first, number))
            first += number
        return found


def columns_of(loop: Loop, is_certain: Callable[[Guard], bool]) -> Columns | None:
    """None unless the unrolled loop holds one store, of registers, whose guards are certain, whose lanes lie apart, and no two of
    whose places are one."""
    chain: list[Loop] = []
    node = loop
    while node.kind is Kind.UNROLL and len(node.body) == 1 and isinstance(node.body[0], Loop):
        chain.append(node)
        node = node.body[0]
    store = node.body[0] if len(node.body) == 1 else None
    if node.kind is not Kind.VECTOR or node.size < 2 or node.size & (node.size - 1) or not isinstance(store, Store):
        return None
    if store.memory.swizzle is not None or not isinstance(store.argument, Ref):
        return None
    if not all(is_certain(guard) for guard in (*store.memory.guards, *store.guards)):
        return None
    strides = dict(store.memory.offset.terms)
    together = next((x for x in chain if strides.get(x.number) == 1), None)
    if together is None or not _are_apart([(strides.get(x.number, 0), x.size) for x in (*chain, node)]):
        return None
    return Columns(store, node, strides[node.number], together, tuple(x for x in chain if x is not together))


def _are_apart(loops: list[tuple[int, int]]) -> bool:
    """Loops with these strides and sizes meet no place twice: each steps over all that those with smaller strides reach."""
    reach = 1
    for stride, size in sorted((abs(stride), size) for stride, size in loops if size > 1):
        if stride < reach:
            return False
        reach += stride * (size - 1)
    return True


def turned_text(vector: str, mask: str, lanes: int, count: int, size_bytes: int) -> str:
    """The body of a function of `to`, `stride` and `count` vectors `x0`, `x1`, ... (2 or 4 of them): the elements of a lane are
    stored next to each other at `to + lane * stride`. vector, mask: types of the vectors and of their integers in C."""
    block = min(lanes, TURNED_BYTES // size_bytes)
    lines: list[str] = []

    def turned(vectors: list[str], unit: int) -> list[str]:
        """Neighbours of each other, piece by piece, out of vectors that hold `unit` neighbours next to each other."""
        if len(vectors) == 1:
            return vectors
        halves: list[list[str]] = [[], []]
        for first, second in zip(vectors[::2], vectors[1::2], strict=True):
            for half, made in enumerate(halves):
                made.append(f"y{len(lines)}")
                of = ", ".join(str(n) for n in _interleaved(lanes, block, unit, half))
                lines.append(f"const {vector} {made[-1]} = {MIXED}({mask}, {first}, {second}, {of});")
        return [*turned(halves[0], 2 * unit), *turned(halves[1], 2 * unit)]

    pieces = turned([f"x{n}" for n in range(count)], 1)
    for lane in range(lanes):
        start, rest = lane - lane % block, lane % block
        piece, place = pieces[rest // (block // count)], start + count * (rest % (block // count))
        to = "to" if lane == 0 else "to + stride" if lane == 1 else f"to + {lane} * stride"
        lines.append(f"__builtin_memcpy({to}, (const char *)&{piece} + {place * size_bytes}, {count * size_bytes});")
    return "\n    ".join(lines)


def _interleaved(lanes: int, block: int, unit: int, half: int) -> list[int]:
    """Lanes of two vectors, those of the second one counted on: of each block one half, `unit` lanes of either in turn."""
    starts = [b + half * block // 2 + u for b in range(0, lanes, block) for u in range(0, block // 2, unit)]
    return [start + of + n for start in starts for of in (0, lanes) for n in range(unit)]
