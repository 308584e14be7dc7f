"""Products of bytes, and of bf16, written by hand as a core with tile registers may make them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from warploom.core import DType, bf16x2, f32, i8x4, i32
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.nest import Builder, Index, Kind, Nest, OpenLoop


@dataclass(frozen=True, slots=True)
class Shape:
    """C[m, n] = A[m, k] B[k, n], B in words of four bytes or two bf16 along k, whose columns lie next to each other."""

    rows: int = 1
    """Tiles of totals below each other; `columns`: beside each other; `deep`: along the sum."""
    columns: int = 1
    deep: int = 2
    blocks: int = 1
    """Times `rows`, below each other."""
    slices: int = 1
    """Times `deep`: totals leave the tiles in between."""
    first: DType = i8x4
    second: DType = i8x4
    lacking: int = 0
    """Rows of the last tile that are outside of A and C."""
    tile_rows: int = 16
    lanes: int = 16

    @property
    def total(self) -> DType:
        return f32 if self.first == bf16x2 else i32

    @property
    def m(self) -> int:
        return self.blocks * self.rows * self.tile_rows - self.lacking

    @property
    def n(self) -> int:
        return self.columns * self.lanes

    @property
    def words(self) -> int:
        return self.slices * self.deep * 16


def product(shape: Shape) -> Nest:
    s = shape
    b = Builder("product")
    a = b.buffer("A", s.m * s.words, dtype=s.first)
    w = b.buffer("B", s.words * s.n, dtype=s.second)
    c = b.buffer("C", s.m * s.n, Role.OUTPUT, s.total)
    row, column = b.value("row", s.rows, s.tile_rows, dtype=s.first), b.value("column", s.columns, vector=s.lanes, dtype=s.second)
    total = b.value("total", s.rows, s.tile_rows, s.columns, vector=s.lanes, dtype=s.total)

    def below() -> tuple[OpenLoop, OpenLoop]:
        return b.loop("m1", Kind.UNROLL, s.rows), b.loop("m2", Kind.UNROLL, s.tile_rows)

    def beside() -> tuple[OpenLoop, OpenLoop]:
        return b.loop("n0", Kind.UNROLL, s.columns), b.loop("n1", Kind.VECTOR, s.lanes)

    def index(m0: Index, m1: Index, m2: Index) -> Index:
        return m0 * (s.rows * s.tile_rows) + m1 * s.tile_rows + m2

    def guards(m: Index) -> tuple[tuple[Index, int], ...]:
        return ((m, s.m),) if s.lacking else ()

    with b.loop("m0", Kind.BLOCK, s.blocks) as m0:
        with nested(*below(), *beside()) as at:
            b.compute(b.ref(total, *at), Operator.MOVE, Constant(0.0))
        with nested(b.loop("k0", Kind.UNROLL if s.slices > 1 else Kind.LOOP, s.slices), b.loop("k1", Kind.LOOP, s.deep * 16)) as (
            k0,
            k1,
        ):
            k = k0 * (s.deep * 16) + k1
            with nested(*below()) as (m1, m2):
                m = index(m0, m1, m2)
                b.load(b.ref(row, m1, m2), a, m * s.words + k, *guards(m))
            with nested(*beside()) as (n0, n1):
                b.load(b.ref(column, n0, n1), w, k * s.n + n0 * s.lanes + n1)
            with nested(*below(), *beside()) as (m1, m2, n0, n1):
                at = b.ref(total, m1, m2, n0, n1)
                b.compute(at, Operator.FMA, b.ref(row, m1, m2), b.ref(column, n0, n1), at)
        with nested(*below(), *beside()) as (m1, m2, n0, n1):
            m = index(m0, m1, m2)
            b.store(c, m * s.n + n0 * s.lanes + n1, b.ref(total, m1, m2, n0, n1), *guards(m))
    return b.nest()


@contextmanager
def nested(*around: OpenLoop) -> Generator[list[Index]]:
    """Loops in one another."""
    with ExitStack() as stack:
        yield [stack.enter_context(loop) for loop in around]
