"""A Gluon kernel that copies a tile and changes its layout in between; the only file that imports Triton by name."""

# pyright: basic, reportArgumentType=false
# ruff: noqa: N803  (constants of Triton are called so)

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource


@gluon.jit
def copy(before, after, ROWS: gl.constexpr, COLUMNS: gl.constexpr, SRC: gl.constexpr, DST: gl.constexpr):
    row = gl.arange(0, ROWS, layout=gl.SliceLayout(1, SRC))
    column = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SRC))
    values = gl.convert_layout(gl.load(before + row[:, None] * COLUMNS + column[None, :]), DST)
    row = gl.arange(0, ROWS, layout=gl.SliceLayout(1, DST))
    column = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, DST))
    gl.store(after + row[:, None] * COLUMNS + column[None, :], values)


def source(rows: int, columns: int, bits: int, layouts):
    """The kernel for a tile of integers and the two layouts, ready to be compiled."""
    names = ("ROWS", "COLUMNS", "SRC", "DST")
    types = dict.fromkeys(("before", "after"), f"*i{bits}") | dict.fromkeys(names, "constexpr")
    return GluonASTSource(copy, types, dict(zip(names, (rows, columns, *layouts), strict=True)))


def striped_to_blocked(items: int):
    return tuple(gl.BlockedLayout([1, each], [1, 32], [1, 1], [1, 0]) for each in (1, items))


def accumulator_to_operand(bits: int):
    accumulator = gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[1, 1], instr_shape=[16, 8])
    return accumulator, gl.DotOperandLayout(0, accumulator, 32 // bits)
