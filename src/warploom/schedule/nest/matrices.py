"""Sums of products that whole warps make: parts of a nest in the shape of an instruction of `machines.matrices`.

    for k:  rows[i, k], columns[k, j] from shared memory;  total[i, j] = fma(rows[i, k], columns[k, j], total[i, j])

A warp has 4 threads along the columns (the fastest hardware dimension) and 8 along the rows. Each thread has two registers along
the columns, which with its place among the 4 are a column of the product, and one along the rows, or two, 8 rows apart. That is
where `mma.sync` leaves results, so that the sum's registers, and all that follows, are as the nest says. `ldmatrix` reads the
factors: 8 pieces of 16 bytes for each matrix of 8 rows, along the summed index, or, of 16-bit elements, along rows or columns
(`trans`). Elements that fill a register may be loaded one by one, from anywhere.

The order of the sum is the instruction's own: products are exact, sums rounded as the hardware does it.

Sources: PTX ISA 9.0, section 9.7.14 (mma, ldmatrix); `layout.distributed.fragments` has the same places as a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core.linear import Linear
from warploom.machines import LANES_OF_A_ROW, MatrixInstruction, matrix_instruction
from warploom.schedule.backbone import Operator
from warploom.schedule.nest.block import WARP
from warploom.schedule.nest.groups import Group, group_of
from warploom.schedule.nest.nodes import Affine, Compute, Kind, Load, Loop, Nest, Ref, Space
from warploom.schedule.nest.walk import Statement, hardware_sizes, references, statements

COLUMN_THREADS, ROW_THREADS = LANES_OF_A_ROW, 8
Ints = NDArray[np.int64]
_DESCRIPTORS = 4
"""Words of a thread for where the factors of a group lie."""
Point: TypeAlias = tuple[tuple[int, int], ...]
"""Indices of loops, by their numbers."""


class Way(Enum):
    """How the elements of a factor get into registers."""

    PIECES = "ldmatrix"
    TRANSPOSED = "ldmatrix.trans"
    """Pieces lie along rows or columns, not along the summed index."""
    WORDS = "ld.shared"
    """Each lane loads its own elements, one by one."""


_SEQUENTIAL = (Kind.LOOP, Kind.UNROLL, Kind.VECTOR)


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of the products: where its matrices of 8 rows (or columns) and one group of summed indices lie in shared memory,
    in elements.

    Row p of matrix (far, deep) of part i and slice k starts at base + parts[i] + slices[k] + far * across + deep * inward
    + p // 2 * by_pair + p % 2 * by_one; where pieces are transposed, p is a place in the group.
    """

    load: Load
    base: Affine
    """Offset in elements from threads and from loops around the part, without the share that tells a warp's lanes apart."""
    way: Way
    by_pair: int
    by_one: int
    along: int
    """Elements from one summed index to the next, where each is loaded by itself (`Way.WORDS`)."""
    across: int
    """Elements from the first 8 rows to the other 8; or from 8 columns to the next, where one load takes 16."""
    inward: int
    """Elements from a group of summed indices to the next of one instruction."""
    parts: tuple[int, ...]
    """Offset in elements of the rows of each instruction, or of its 8 columns."""
    slices: tuple[int, ...]
    """Offset in elements of the summed indices of each instruction."""

    @property
    def is_transposed(self) -> bool:
        """Whether its pieces lie along rows or columns."""
        return self.way is Way.TRANSPOSED

    @property
    def lane_steps(self) -> tuple[tuple[int, int, int], ...]:
        """(elements, divisor, number): lane l is at the sum of elements * (l / divisor % number)."""
        first = 1 if self.way is not Way.WORDS else LANES_OF_A_ROW
        if self.by_pair == 2 * self.by_one:
            rows: tuple[tuple[int, int, int], ...] = ((self.by_one, first, 8),)
        else:
            rows = ((self.by_pair, 2 * first, 4), (self.by_one, first, 2))
        return rows if self.way is not Way.WORDS else (*rows, (self.along, 1, LANES_OF_A_ROW))

    def places(self, lanes: Ints) -> Ints:
        """The elements of one matrix that these lanes ask for."""
        return sum((step * (lanes // divisor % n) for step, divisor, n in self.lane_steps), np.zeros_like(lanes))


@dataclass(frozen=True, slots=True)
class Products:
    """A part of a nest that whole warps compute."""

    instruction: MatrixInstruction

    loops: tuple[int, ...]
    """The outermost loops of the part, one after the other in one body."""
    sum: Compute
    rows: Factor
    columns: Factor
    row_points: tuple[Point, ...]
    """Indices of the loops that select a thread's registers along the rows; those of one instruction, 8 rows apart, follow each
    other."""
    column_points: tuple[Point, ...]
    values: frozenset[int]
    """The factors, which are in no registers of their own."""
    around: tuple[Loop, ...]
    """Loops around the part, outer to inner."""
    group: Group | None = None
    """How groups of four warps compute it together, where its factors lie so that they can."""

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All that the part has, as the nest says it."""
        return self.sum, self.rows.load, self.columns.load

    @property
    def registers(self) -> int:
        """Words of a thread for the factors of one slice."""
        if self.group is not None:
            return _DESCRIPTORS
        on = self.instruction
        words = on.groups * max(1, on.factor_bytes // 4)
        return words * (on.halves * len(self.rows.parts) + len(self.columns.parts))

    @property
    def count(self) -> int:
        """Instructions of a warp for one run of the part: `mma.sync`, or those of its group."""
        return len(self.rows.parts) * (1 if self.group else len(self.columns.parts)) * len(self.rows.slices)

    @property
    def columns_together(self) -> int:
        """Columns of 8 that one `ldmatrix` loads."""
        return 2 if len(self.columns.parts) % 2 == 0 else 1

    def matrices(self) -> Iterator[tuple[Factor, int, Ints]]:
        """The loads of one run: the factor, the elements that each lane asks for together, and where each lane's begin."""
        on = self.instruction
        for k in range(len(self.rows.slices)):
            for part in range(len(self.rows.parts)):
                yield from _loads(on, self.rows, part, k, far_first=True, far=on.halves)
            together = self.columns_together
            for part in range(0, len(self.columns.parts), together):
                yield from _loads(on, self.columns, part, k, far_first=False, far=together)


def _loads(
    on: MatrixInstruction, factor: Factor, part: int, slice_: int, *, far_first: bool, far: int
) -> Iterator[tuple[Factor, int, Ints]]:
    start = factor.parts[part] + factor.slices[slice_]
    places = [start + f * factor.across + d * factor.inward for f in range(far) for d in range(on.groups)]
    if factor.way is Way.WORDS:
        for place in places:
            yield factor, 1, place + factor.places(np.arange(WARP))
        return
    if far_first:
        places = [start + f * factor.across + d * factor.inward for d in range(on.groups) for f in range(far)]
    yield factor, on.piece, np.concatenate([place + factor.places(np.arange(8)) for place in places])


def products_of(nest: Nest) -> tuple[Products, ...]:
    """The parts of the nest that whole warps can compute; the rest of it is as it stands."""
    shape = hardware_sizes(nest, Kind.THREAD)
    if shape[:2] != (COLUMN_THREADS, ROW_THREADS):
        return ()
    sums = [(s, path) for s, path in statements(nest.body) if isinstance(s, Compute)]
    found = [_part(nest, shape, s, path) for s, path in sums if _is_candidate(nest, s)]
    return tuple(p for p in found if p is not None)


def _is_candidate(nest: Nest, statement: Compute) -> bool:
    if statement.operator is not Operator.FMA or len(statement.arguments) != 3 or statement.guards:
        return False
    *factors, total = statement.arguments
    if total != statement.target:
        return False
    wide = nest.values[statement.target.value].dtype
    kinds = {nest.values[f.value].dtype.name if isinstance(f, Ref) else "" for f in factors}
    return len(kinds) == 1 and all(matrix_instruction(kind, wide.name) is not None for kind in kinds)


def _part(nest: Nest, shape: Sequence[int], total: Compute, path: tuple[Loop, ...]) -> Products | None:
    """None where something about the part has another shape."""
    refs = [a for a in total.arguments[:2] if isinstance(a, Ref)]
    found = [load_of(nest, ref, total) for ref in refs]
    loads = [f for f in found if f is not None and _is_shared(nest, f[0])]
    if len(loads) != 2:
        return None
    paths = [path, *(p for _, p in loads)]
    extent = part_of(nest, paths)
    if extent is None or not _are_whole(shape, paths):
        return None
    around, tops = extent
    on = matrix_instruction(nest.values[refs[0].value].dtype.name, nest.values[total.target.value].dtype.name)
    assert on is not None
    inside = [x for x in path[around:] if x.kind in _SEQUENTIAL]
    by_number = {x.number: x for p in paths for x in p}
    if any(x.trips is not None for x in inside):
        return None
    offsets = [offset_of(load, ref) for (load, _), ref in zip(loads, refs, strict=True)]
    own_loops = {x.number for x in path}
    if any(
        n not in own_loops and (n not in by_number or by_number[n].kind is not Kind.THREAD)
        for offset in offsets
        if offset is not None
        for n, _ in offset.terms
    ):
        return None
    selected = {n for at in total.target.at for n, _ in at.terms}
    summed = [x for x in inside if x.number not in selected]
    for rows, columns in ((0, 1), (1, 0)):
        sides: list[tuple[Load, Affine, list[Loop], Ints, Ints]] = []
        for side in (rows, columns):
            offset = offsets[side]
            if offset is None:
                return None
            strides = dict(offset.terms)
            own = [x for x in inside if x.number in selected and x.number in strides]
            sides.append((loads[side][0], offset, own, _offsets(strides, own), _offsets(strides, summed)))
        every = [x.number for _, _, own, _, _ in sides for x in own] + [x.number for x in summed]
        if sorted(every) != sorted(x.number for x in inside):
            continue
        outside = frozenset(x.number for x in path[:around])
        made = _factors(on, sides, by_number, outside)
        if made is not None:
            points = [points_of(own) for _, _, own, _, _ in sides]
            buffers, swizzles = zip(*((f.load.memory.buffer, f.load.memory.swizzle) for f in made), strict=True)
            group = group_of(nest, on, shape, *made, buffers, swizzles, by_number)
            return Products(on, tops, total, *made, points[0], points[1], frozenset(r.value for r in refs), path[:around], group)
    return None


def load_of(nest: Nest, ref: Ref, total: Compute) -> tuple[Load, tuple[Loop, ...]] | None:
    """The load of a factor, whose value nothing else touches."""
    found = [
        (s, p)
        for s, p in statements(nest.body)
        if s is not total and any(r.value == ref.value for refs in references(s) for r in refs)
    ]
    if len(found) != 1 or not isinstance(load := found[0][0], Load) or load.is_async:
        return None
    return load, found[0][1]


def _is_shared(nest: Nest, load: Load) -> bool:
    """From shared memory, in every thread."""
    return not load.memory.guards and nest.buffers[load.memory.buffer].space is Space.SHARED


def part_of(nest: Nest, paths: Sequence[tuple[Loop, ...]]) -> tuple[int, tuple[int, ...]] | None:
    """(number of loops around, outermost loops) of the largest part that has the sum and both loads, and nothing else."""
    common = 0
    while all(len(p) > common for p in paths) and len({p[common].number for p in paths}) == 1:
        common += 1
    if not all(len(p) > common for p in paths):
        return None
    first = paths[0]
    while common and first[common - 1].kind in (Kind.LOOP, Kind.UNROLL) and first[common - 1].stages == 1:
        if len(list(statements(first[common - 1].body))) != len(paths):
            break
        common -= 1
    body = first[common - 1].body if common else nest.body
    tops = {p[common].number for p in paths}
    at = [n for n, node in enumerate(body) if isinstance(node, Loop) and node.number in tops]
    between = body[at[0] : at[-1] + 1]
    listed = tuple(node.number for node in between if isinstance(node, Loop))
    return (common, listed) if len(list(statements(between))) == len(paths) else None


def _are_whole(shape: Sequence[int], paths: Sequence[tuple[Loop, ...]]) -> bool:
    """All threads of the block take part, and share out the sum."""
    threads = [[x for x in path if x.kind is Kind.THREAD] for path in paths]
    if any(x.size != shape[x.hardware or 0] for listed in threads for x in listed):
        return False
    return {x.hardware for x in threads[0]} >= {n for n, size in enumerate(shape) if size > 1}


def offset_of(load: Load, used: Ref) -> Affine | None:
    """The place of the element that the sum reads, by the sum's loops; None where a register has a fixed place."""
    replaced: dict[int, Affine] = {}
    for made, at in zip(load.target.at, used.at, strict=True):
        if not made.terms:
            return None
        replaced[made.terms[0][0]] = at
    return load.memory.offset.substituted(replaced)


def _offsets(strides: Mapping[int, int], loops: Sequence[Loop]) -> Ints:
    """Offsets in elements of all points of the loops; the last loop runs fastest."""
    found = np.zeros(1, np.int64)
    for loop in loops:
        found = (found[:, None] + strides.get(loop.number, 0) * np.arange(loop.size)).reshape(-1)
    return found


def points_of(loops: Sequence[Loop]) -> tuple[Point, ...]:
    """All indices of these loops, the last of which runs fastest."""
    numbers = [x.number for x in loops]
    return tuple(tuple(zip(numbers, at, strict=True)) for at in product(*(range(x.size) for x in loops)))


def _factors(
    on: MatrixInstruction, sides: Sequence[tuple[Load, Affine, list[Loop], Ints, Ints]], by_number: Mapping[int, Loop],
    outside: frozenset[int],
) -> tuple[Factor, Factor] | None:  # fmt: skip
    """Rows and columns; None where the instruction's factors cannot be loaded."""
    (_, row_offset, _, along_rows, deep_rows), (_, column_offset, _, along_columns, deep_columns) = sides
    row_threads, column_threads = (_threads(offset, by_number) for offset in (row_offset, column_offset))
    if row_threads.get(0, 0) or column_threads.get(1, 0) or not row_threads.get(1, 0) or not column_threads.get(0, 0):
        return None
    if len(along_rows) % on.halves or len(along_columns) % 2 or len(deep_rows) % on.deep:
        return None
    order = np.argsort(deep_rows if _are_pieces(np.sort(deep_rows), on.group) else deep_columns, kind="stable")
    halves, pairs = (along[n - 1 :: n] - along[::n] for along, n in ((along_rows, on.halves), (along_columns, 2)))
    starts = along_columns[::2]
    next_ = starts[1::2] - starts[::2] if len(starts) % 2 == 0 else np.zeros(1, np.int64)
    if not all((steps == steps[0]).all() for steps in (halves, pairs, next_)):
        return None
    places = np.arange(8)
    rows = row_threads[1] * places
    columns = column_threads[0] * (places // 2) + int(pairs[0]) * (places % 2)
    found: list[Factor] = []
    for side, lanes, across, parts, deep in (
        (0, rows, int(halves[0]), along_rows[:: on.halves], deep_rows[order]),
        (1, columns, int(next_[0]), starts, deep_columns[order]),
    ):
        load, offset, _, _, _ = sides[side]
        factor = _factor(on, load, offset, lanes, across, parts, deep, by_number, outside)
        if factor is None:
            return None
        found.append(factor)
    return found[0], found[1]


def _factor(
    on: MatrixInstruction, load: Load, offset: Affine, lanes: Ints, across: int, parts: Ints, deep: Ints,
    by_number: Mapping[int, Loop], outside: frozenset[int],
) -> Factor | None:  # fmt: skip
    groups = deep.reshape(-1, on.group)
    within = groups - groups[:, :1]
    slices = groups[:: on.groups, 0]
    inward = groups[on.groups - 1 :: on.groups, 0] - slices
    if not (within == within[0]).all() or not (inward == inward[0]).all():
        return None
    base = Linear(tuple(t for t in offset.terms if t[0] in outside or _is_of_warps(by_number.get(t[0]))), offset.constant)
    if any(by_number[n].kind is Kind.BLOCK for n, _ in base.terms):
        return None
    every = (across, *(s for _, s in base.terms), base.constant, *parts.tolist(), *groups[:, 0].tolist())
    for way, pieces in _ways(on, within[0], lanes):
        by_pair, by_one = int(pieces[2]), int(pieces[1])
        places = np.arange(8)
        if not (pieces == places // 2 * by_pair + places % 2 * by_one).all():
            continue
        swizzle = load.memory.swizzle
        units = (by_pair, by_one, *every, 0 if swizzle is None else swizzle.unit)
        if way is not Way.WORDS and any(step % on.piece for step in units):
            continue
        along = int(within[0][1]) if way is Way.WORDS else 0
        return Factor(
            load, base, way, by_pair, by_one, along, across, int(inward[0]), tuple(parts.tolist()), tuple(slices.tolist())
        )
    return None


def _ways(on: MatrixInstruction, within: Ints, lanes: Ints) -> Iterator[tuple[Way, Ints]]:
    """How the elements of a group can be loaded, and where the rows begin that lanes ask for; the best way first."""
    if on.has_pieces and (within == np.arange(on.group)).all():
        yield Way.PIECES, lanes
    if on.has_transposed_pieces and (lanes == np.arange(8)).all():
        yield Way.TRANSPOSED, within
    if on.together == 1 and (within == within[1] * np.arange(on.group)).all():
        yield Way.WORDS, lanes


def _threads(offset: Affine, by_number: Mapping[int, Loop]) -> dict[int, int]:
    """Strides of threads, by hardware dimension."""
    found: dict[int, int] = {}
    for number, stride in offset.terms:
        loop = by_number.get(number)
        if loop is not None and loop.kind is Kind.THREAD:
            found[loop.hardware or 0] = found.get(loop.hardware or 0, 0) + stride
    return found


def _is_of_warps(loop: Loop | None) -> bool:
    return loop is not None and loop.kind is Kind.THREAD and loop.hardware not in (0, 1)


def _are_pieces(deep: Ints, group: int) -> bool:
    groups = deep.reshape(-1, group) if len(deep) % group == 0 else deep.reshape(1, -1)
    return bool((groups - groups[:, :1] == np.arange(groups.shape[1])).all())
