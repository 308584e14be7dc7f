"""Stores whose lanes lie apart in memory while the turns of an unrolled loop around them lie together: blocks of both are turned
in registers, so that neighbours are stored at once. So are copies: a loop along which they read neighbours, around unrolled
ones along which they write neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from warploom.core import DType
from warploom.core.linear import Linear
from warploom.machines import TURNED_BYTES
from warploom.schedule.nest import Guard, Kind, Load, Loop, Node, Ref, Store

_ELEMENT_BYTES = (4, 8)
_MOST_LANES = 16
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
    load: Load | None = None
    """The load that fills the register that is stored, by the indices of the loops of the store: of a copy."""

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
    chain, store = _unrolled(loop)
    lanes = chain.pop() if chain else loop
    if lanes.kind is not Kind.VECTOR or not _is_vector(lanes.size) or not isinstance(store, Store):
        return None
    return _columns(store, chain, lanes, is_certain)


def copied_columns(loop: Loop, is_certain: Callable[[Guard], bool]) -> Columns | None:
    """The store of a running loop that a vector holds, which reads neighbours of one array and stores them, lanes apart, in
    another, with unrolled loops inside; None for another loop, and where what `columns_of` asks for does not hold."""
    if loop.kind is not Kind.LOOP or not _is_vector(loop.size) or len(loop.body) != 2 or not _runs_whole(loop):
        return None
    (reading, load), (writing, store) = map(_unrolled, loop.body)
    if not isinstance(load, Load) or not isinstance(store, Store) or not isinstance(store.argument, Ref):
        return None
    pairs = list(zip(reading, writing, strict=False))
    if [x.size for x in reading] != [x.size for x in writing] or any(x.kind is not Kind.UNROLL for x in (*reading, *writing)):
        return None
    renamed = {a.number: Linear(((b.number, 1),)) for a, b in pairs}
    places = tuple(at.substituted(renamed) for at in load.target.at)
    if store.argument != Ref(load.target.value, places) or load.memory.buffer == store.memory.buffer:
        return None
    memory = replace(load.memory, offset=load.memory.offset.substituted(renamed))
    is_plain = not memory.guards and memory.swizzle is None and not load.is_async
    if not is_plain or memory.offset.coefficient(loop.number) != 1:
        return None
    found = _columns(store, writing, loop, is_certain)
    return None if found is None else replace(found, load=replace(load, memory=memory))


def _columns(store: Store, chain: list[Loop], lanes: Loop, is_certain: Callable[[Guard], bool]) -> Columns | None:
    """A store in unrolled loops and in one whose iterations are lanes."""
    if store.memory.swizzle is not None or not isinstance(store.argument, Ref):
        return None
    if not all(is_certain(guard) for guard in (*store.memory.guards, *store.guards)):
        return None
    strides = dict(store.memory.offset.terms)
    together = next((x for x in chain if strides.get(x.number) == 1), None)
    if together is None or not _are_apart([(strides.get(x.number, 0), x.size) for x in (*chain, lanes)]):
        return None
    return Columns(store, lanes, strides[lanes.number], together, tuple(x for x in chain if x is not together))


def _unrolled(node: Node) -> tuple[list[Loop], Node | None]:
    """Loops in one another, and the one statement in them; without one where a body has several."""
    chain: list[Loop] = []
    while isinstance(node, Loop):
        chain.append(node)
        if len(node.body) != 1 or node.kind not in (Kind.UNROLL, Kind.VECTOR):
            return chain, None
        node = node.body[0]
    return chain, node


def _is_vector(size: int) -> bool:
    return 1 < size <= _MOST_LANES and size & (size - 1) == 0


def _runs_whole(loop: Loop) -> bool:
    return loop.trips is None and loop.stages == 1 and not loop.only


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
