"""Backbones and decisions written by hand."""

from __future__ import annotations

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.schedule.backbone import (
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operator,
    Parameter,
    Region,
    Result,
    Role,
    backbone,
)  # fmt: skip


def _at(*axes: int) -> tuple[AxisSum, ...]:
    return tuple(Linear(((a, 1),)) for a in axes)


def matmul(
    m: int, n: int, k: int, tiles: tuple[tuple[tuple[int, ...], ...], ...], *, stride: int = 1, divisors: bool = True
) -> Backbone:
    """C[m, n] = sum of A[m, k] * B[k, n]; consecutive elements of A `stride` apart."""
    axes = [Axis(name, size, tile) for name, size, tile in zip("mnk", (m, n, k), tiles, strict=True)]
    regions = [
        Region("A", f32, (m, k), (k * stride, stride), Role.INPUT),
        Region("B", f32, (k, n), (n, 1), Role.INPUT),
        Region("C", f32, (m, n), (n, 1), Role.OUTPUT),
    ]
    instructions = [
        Instruction("load_A", Operator.LOAD, (), (0, 2), f32, Access(0, _at(0, 2))),
        Instruction("load_B", Operator.LOAD, (), (2, 1), f32, Access(1, _at(2, 1))),
        Instruction("init", Operator.MOVE, (Constant(0.0),), (0, 1), f32),
        Instruction("mad", Operator.FMA, (Result(0, (0, 2)), Result(1, (2, 1)), Carry(2, (2,))), (0, 1, 2), f32),
        Instruction("store", Operator.STORE, (Result(3, (0, 1)),), (0, 1), f32, Access(2, _at(0, 1))),
    ]
    return backbone("matmul", axes, regions, instructions, divisors_only=divisors)


def axpy(n: int, tiles: tuple[tuple[int, ...], ...]) -> Backbone:
    """z = alpha * x + y."""
    regions = [Region(name, f32, (n,), (1,), Role.OUTPUT if name == "z" else Role.INPUT) for name in "xyz"]
    alpha = Parameter("alpha", f32)
    instructions = [
        Instruction("load_x", Operator.LOAD, (), (0,), f32, Access(0, _at(0))),
        Instruction("load_y", Operator.LOAD, (), (0,), f32, Access(1, _at(0))),
        Instruction("fma", Operator.FMA, (alpha, Result(0, (0,)), Result(1, (0,))), (0,), f32),
        Instruction("store", Operator.STORE, (Result(2, (0,)),), (0,), f32, Access(2, _at(0))),
    ]
    return backbone("axpy", [Axis("n", n, tiles)], regions, instructions, divisors_only=True)


def copy(m: int, n: int, tiles: tuple[tuple[tuple[int, ...], ...], ...] = ((), ())) -> Backbone:
    """Y[m, n] = X[m, n]."""
    regions = [Region("X", f32, (m, n), (n, 1), Role.INPUT), Region("Y", f32, (m, n), (n, 1), Role.OUTPUT)]
    instructions = [
        Instruction("load", Operator.LOAD, (), (0, 1), f32, Access(0, _at(0, 1))),
        Instruction("store", Operator.STORE, (Result(0, (0, 1)),), (0, 1), f32, Access(1, _at(0, 1))),
    ]
    axes = [Axis("m", m, tiles[0]), Axis("n", n, tiles[1])]
    return backbone("copy", axes, regions, instructions, divisors_only=True)


def divisors(size: int, most: int) -> tuple[int, ...]:
    return tuple(d for d in range(2, most + 1) if size % d == 0)


def paper_matmul(m: int, n: int, k: int, stride: int = 1) -> Backbone:
    tiles = ((divisors(m, 32), divisors(m, 4)), (divisors(n, 32), divisors(n, 4)), (divisors(k, 32),))
    return matmul(m, n, k, tiles, stride=stride)


def paper_axpy(n: int = 1 << 26) -> Backbone:
    return axpy(n, (divisors(n, 1024), divisors(n, 4)))


def cuda_matmul(m: int = 1024, n: int = 1024, k: int = 1024) -> Backbone:
    tiles = ((8, 16, 32, 64, 128), (1, 2, 4, 8))
    return matmul(m, n, k, (tiles, tiles, ((8, 16, 32, 64), (1, 2, 4, 8))), divisors=False)


def cpu_matmul(m: int = 1024, n: int = 1024, k: int = 1024) -> Backbone:
    tiles = (((1, 4, 8, 16, 32), (1, 2, 4, 6, 8)), ((1, 4, 8, 16, 32), (1, 2, 3, 4), (8,)), ((32, 64, 128, 256), (1, 2, 4)))
    return matmul(m, n, k, tiles, divisors=False)


PAPER = {
    "axpy": paper_axpy,
    "matmul256": lambda: paper_matmul(256, 256, 32),
    "matmul1024": lambda: paper_matmul(1024, 1024, 1024),
    "strided": lambda: paper_matmul(1024, 1024, 1024, 32),
}
