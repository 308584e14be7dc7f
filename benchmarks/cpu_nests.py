"""Hand-built nests of the CPU target against NumPy: `python benchmarks/cpu_nests.py [--case GLOB] [--threads T]`.

Prints one JSON line per nest: medians in ms of elapsed time and of the CPU time of the busiest thread (of the calling one for
NumPy), which other processes disturb less; GFLOP/s and compulsory GB/s by CPU time; ratios of NumPy's times to the nest's,
measured in turns in one run. NumPy's threads follow `--threads` (the program starts itself again for that).
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import f32
from warploom.schedule.backbone import Constant, Operator, Parameter, Role
from warploom.schedule.cpu import calibrate, compile_nest
from warploom.schedule.nest import Builder, Cache, Index, Kind, Nest, OpenLoop

Array: TypeAlias = NDArray[np.float32]
_SPIN_S = 0.05
"""NumPy's idle threads keep their cores that long."""


def matmul(
    m: int,
    n: int,
    k: int,
    rows: int = 14,
    vectors: int = 2,
    lanes: int = 16,
    *,
    does_pack_a: bool = False,
    does_pack_b: bool = False,
    k_unroll: int = 1,
    m_outer: bool = False,
    batch: int = 1,
) -> Nest:
    """C = A B by register tiles of rows x (vectors * lanes), predicated edges; optionally copies of operands in scratch.

    Packed: A as [k, rows], B as [k, columns]; the loop over the other operand's tiles is inside, so that a copy is used often.
    """
    b = Builder(f"matmul_{m}_{n}_{k}")
    a_buffer, b_buffer = b.buffer("A", batch * m * k), b.buffer("B", batch * k * n)
    c_buffer = b.buffer("C", batch * m * n, Role.OUTPUT)
    acc, a, row = b.value("acc", rows, vectors, vector=lanes), b.value("a", rows), b.value("b", vectors, vector=lanes)
    copied, copied_a = b.value("copied", vectors, vector=lanes), b.value("copied_a", rows)
    width = vectors * lanes
    b_panel = b.scratch("B_panel", k * width) if does_pack_b else -1
    a_panel = b.scratch("A_panel", k * rows) if does_pack_a else -1
    m_tiles, n_tiles = -(-m // rows), -(-n // width)

    def pack_a(p: Index, m0: Index) -> None:
        with b.loop("pk", Kind.LOOP, k) as kk, b.loop("pi", Kind.UNROLL, rows) as i:
            b.load(b.ref(copied_a, i), a_buffer, p * (m * k) + (m0 * rows + i) * k + kk, (m0 * rows + i, m))
            b.store(a_panel, kk * rows + i, b.ref(copied_a, i))

    def pack_b(p: Index, n0: Index) -> None:
        with b.loop("qk", Kind.LOOP, k) as kk, b.loop("qj", Kind.UNROLL, vectors) as j, b.loop("qv", Kind.VECTOR, lanes) as v:
            column = n0 * width + j * lanes + v
            b.load(b.ref(copied, j, v), b_buffer, p * (k * n) + kk * n + column, (column, n))
            b.store(b_panel, kk * width + j * lanes + v, b.ref(copied, j, v))

    def each() -> tuple[OpenLoop, OpenLoop, OpenLoop]:
        return b.loop("i", Kind.UNROLL, rows), b.loop("j", Kind.UNROLL, vectors), b.loop("v", Kind.VECTOR, lanes)

    def step(p: Index, m0: Index, n0: Index, kk: Index) -> None:
        with b.loop("i", Kind.UNROLL, rows) as i:
            if does_pack_a:
                b.load(b.ref(a, i), a_panel, kk * rows + i)
            else:
                b.load(b.ref(a, i), a_buffer, p * (m * k) + (m0 * rows + i) * k + kk, (m0 * rows + i, m))
        with b.loop("j", Kind.UNROLL, vectors) as j, b.loop("v", Kind.VECTOR, lanes) as v:
            column = n0 * width + j * lanes + v
            if does_pack_b:
                b.load(b.ref(row, j, v), b_panel, kk * width + j * lanes + v)
            else:
                b.load(b.ref(row, j, v), b_buffer, p * (k * n) + kk * n + column, (column, n))
        i_loop, j_loop, v_loop = each()
        with i_loop as i, j_loop as j, v_loop as v:
            b.compute(b.ref(acc, i, j, v), Operator.FMA, b.ref(a, i), b.ref(row, j, v), b.ref(acc, i, j, v))

    def tile(p: Index, m0: Index, n0: Index) -> None:
        i_loop, j_loop, v_loop = each()
        with i_loop as i, j_loop as j, v_loop as v:
            b.compute(b.ref(acc, i, j, v), Operator.MOVE, Constant(0.0))
        with b.loop("k", Kind.LOOP, k // k_unroll) as k0, b.loop("k1", Kind.UNROLL, k_unroll) as k1:
            step(p, m0, n0, k0 * k_unroll + k1)
        i_loop, j_loop, v_loop = each()
        with i_loop as i, j_loop as j, v_loop as v:
            column = n0 * width + j * lanes + v
            place = p * (m * n) + (m0 * rows + i) * n + column
            b.store(c_buffer, place, b.ref(acc, i, j, v), (m0 * rows + i, m), (column, n))

    outer, inner = ("m0", "n0") if m_outer else ("n0", "m0")
    sizes = {"m0": m_tiles, "n0": n_tiles}
    with b.loop("batch", Kind.BLOCK, batch) as p, b.loop(outer, Kind.BLOCK, sizes[outer]) as first:
        if m_outer and does_pack_a:
            pack_a(p, first)
        if not m_outer and does_pack_b:
            pack_b(p, first)
        with b.loop(inner, Kind.LOOP, sizes[inner]) as second:
            m0, n0 = (first, second) if m_outer else (second, first)
            if not m_outer and does_pack_a:
                pack_a(p, m0)
            if m_outer and does_pack_b:
                pack_b(p, n0)
            tile(p, m0, n0)
    return b.nest()


def matvec(m: int, n: int, rows: int = 4, vectors: int = 2, lanes: int = 16, *, matrices: int = 1, stages: int = 1) -> Nest:
    """y = sum of scale * A x over 1 or 2 matrices (2: gesummv); partial sums per lane, combined at the end of a row."""
    b = Builder("matvec" if matrices == 1 else "gesummv")
    names = "AB"[:matrices]
    inputs = [b.buffer(name, m * n) for name in names]
    x_buffer, y_buffer = b.buffer("x", n), b.buffer("y", m, Role.OUTPUT)
    if matrices == 2:
        b.parameters += [Parameter("alpha", f32), Parameter("beta", f32)]
    sums = [b.value(f"sum_{name}", rows, vectors, vector=lanes) for name in names]
    items = [b.value(f"item_{name}", rows, vectors, vector=lanes) for name in names]
    totals = [b.value(f"total_{name}", rows) for name in names]
    x, scaled, result = b.value("x", vectors, vector=lanes), b.value("scaled", rows), b.value("result", rows)
    width = vectors * lanes
    with b.loop("m0", Kind.BLOCK, -(-m // rows)) as m0:
        for value in sums:
            with (
                b.loop("i", Kind.UNROLL, rows) as i,
                b.loop("j", Kind.UNROLL, vectors) as j,
                b.loop("v", Kind.VECTOR, lanes) as v,
            ):
                b.compute(b.ref(value, i, j, v), Operator.MOVE, Constant(0.0))
        with b.loop("n0", Kind.LOOP, -(-n // width), stages) as n0:
            with b.loop("j", Kind.UNROLL, vectors) as j, b.loop("v", Kind.VECTOR, lanes) as v:
                column = n0 * width + j * lanes + v
                b.load(b.ref(x, j, v), x_buffer, column, (column, n))
            for source, item, value in zip(inputs, items, sums, strict=True):
                i_loop, j_loop = b.loop("i", Kind.UNROLL, rows), b.loop("j", Kind.UNROLL, vectors)
                with i_loop as i, j_loop as j, b.loop("v", Kind.VECTOR, lanes) as v:
                    column = n0 * width + j * lanes + v
                    b.load(b.ref(item, i, j, v), source, (m0 * rows + i) * n + column, (m0 * rows + i, m), (column, n))
                    b.compute(b.ref(value, i, j, v), Operator.FMA, b.ref(item, i, j, v), b.ref(x, j, v), b.ref(value, i, j, v))
        with b.loop("i", Kind.UNROLL, rows) as i:
            for value, total in zip(sums, totals, strict=True):
                b.combine(b.ref(total, i), Operator.ADD, b.ref(value, i, 0, 0), 1, 2)
            answer = b.ref(totals[0], i)
            if matrices == 2:
                b.compute(b.ref(scaled, i), Operator.MUL, Parameter("alpha", f32), b.ref(totals[0], i))
                b.compute(b.ref(result, i), Operator.FMA, Parameter("beta", f32), b.ref(totals[1], i), b.ref(scaled, i))
                answer = b.ref(result, i)
            b.store(y_buffer, m0 * rows + i, answer, (m0 * rows + i, m))
    return b.nest()


def transposed_matvec(m: int, n: int, vectors: int = 8, lanes: int = 16, unroll: int = 4, stages: int = 1) -> Nest:
    """y[n] = sum over m of A[m, n] x[m]: a strip of columns in registers."""
    b = Builder("transposed_matvec")
    a_buffer, x_buffer, y_buffer = b.buffer("A", m * n), b.buffer("x", m), b.buffer("y", n, Role.OUTPUT)
    total, item = b.value("total", vectors, vector=lanes), b.value("item", unroll, vectors, vector=lanes)
    x = b.value("x", unroll)
    width = vectors * lanes
    with b.loop("n0", Kind.BLOCK, -(-n // width)) as n0:
        with b.loop("j", Kind.UNROLL, vectors) as j, b.loop("v", Kind.VECTOR, lanes) as v:
            b.compute(b.ref(total, j, v), Operator.MOVE, Constant(0.0))
        with b.loop("m0", Kind.LOOP, -(-m // unroll), stages) as m0, b.loop("i", Kind.UNROLL, unroll) as i:
            line = m0 * unroll + i
            b.load(b.ref(x, i), x_buffer, line, (line, m))
            with b.loop("j", Kind.UNROLL, vectors) as j, b.loop("v", Kind.VECTOR, lanes) as v:
                column = n0 * width + j * lanes + v
                b.load(b.ref(item, i, j, v), a_buffer, line * n + column, (line, m), (column, n))
                b.compute(b.ref(total, j, v), Operator.FMA, b.ref(item, i, j, v), b.ref(x, i), b.ref(total, j, v))
        with b.loop("j", Kind.UNROLL, vectors) as j, b.loop("v", Kind.VECTOR, lanes) as v:
            column = n0 * width + j * lanes + v
            b.store(y_buffer, column, b.ref(total, j, v), (column, n))
    return b.nest()


def stencil(
    size: int, lanes: int = 16, rows: int = 1, *, cache: Cache = Cache.ALL, stages: int = 1, does_unroll_x: bool = False
) -> Nest:
    """Seven points of the inside of a cube: out = 0.5 * centre + 0.125 * (sum of six neighbours).

    `rows`: lines of the plane together, or, with `does_unroll_x`, vectors of a line.
    """
    b = Builder("stencil")
    plane, inside = size * size, size - 2
    source, target = b.buffer("A", size**3), b.buffer("B", inside**3, Role.OUTPUT)
    offsets = (-plane, -size, -1, 0, 1, size, plane)
    points = [b.value(f"p{n}", rows, vector=lanes) for n in range(7)]
    sums = [b.value(f"s{n}", rows, vector=lanes) for n in range(7)]
    x_step, y_step = (lanes * rows, 1) if does_unroll_x else (lanes, rows)
    with b.loop("z", Kind.BLOCK, inside) as z, b.loop("y", Kind.LOOP, -(-inside // y_step)) as y:
        x_loop, r_loop = b.loop("x", Kind.LOOP, -(-inside // x_step), stages), b.loop("r", Kind.UNROLL, rows)
        with x_loop as x, r_loop as r, b.loop("v", Kind.VECTOR, lanes) as v:
            line, column = (y, x * x_step + r * lanes + v) if does_unroll_x else (y * rows + r, x * lanes + v)
            place = (z + 1) * plane + (line + 1) * size + column + 1
            guards = ((line, inside), (column, inside))
            for offset, point in zip(offsets, points, strict=True):
                b.load(b.ref(point, r, v), source, place + offset, *guards)
            around = [p for o, p in zip(offsets, points, strict=True) if o != 0]
            b.compute(b.ref(sums[0], r, v), Operator.ADD, b.ref(around[0], r, v), b.ref(around[1], r, v))
            for n in range(1, 5):
                b.compute(b.ref(sums[n], r, v), Operator.ADD, b.ref(sums[n - 1], r, v), b.ref(around[n + 1], r, v))
            b.compute(b.ref(sums[5], r, v), Operator.MUL, Constant(0.125), b.ref(sums[4], r, v))
            b.compute(b.ref(sums[6], r, v), Operator.FMA, Constant(0.5), b.ref(points[3], r, v), b.ref(sums[5], r, v))
            b.store(target, z * (inside * inside) + line * inside + column, b.ref(sums[6], r, v), *guards, cache=cache)
    return b.nest()


def axpy(
    n: int, lanes: int = 16, unroll: int = 4, chunk: int = 4096, *, is_triad: bool = False, cache: Cache = Cache.ALL
) -> Nest:
    """y = alpha x + y, or, as a triad, z = alpha x + y."""
    b = Builder("triad" if is_triad else "axpy")
    b.parameters.append(Parameter("alpha", f32))
    x_buffer = b.buffer("x", n)
    y_buffer = b.buffer("y", n, Role.INPUT if is_triad else Role.OUTPUT)
    z_buffer = b.buffer("z", n, Role.OUTPUT) if is_triad else y_buffer
    x, y, z = (b.value(name, unroll, vector=lanes) for name in ("x", "y", "z"))
    inner = chunk // (unroll * lanes)
    chunks = -(-n // chunk)
    blocks, turns, parts = b.loop("block", Kind.BLOCK, chunks), b.loop("i", Kind.LOOP, inner), b.loop("u", Kind.UNROLL, unroll)
    with blocks as block, turns as i, parts as u, b.loop("v", Kind.VECTOR, lanes) as v:
        place = block * chunk + i * (unroll * lanes) + u * lanes + v
        b.load(b.ref(x, u, v), x_buffer, place, (place, n))
        b.load(b.ref(y, u, v), y_buffer, place, (place, n))
        b.compute(b.ref(z, u, v), Operator.FMA, Parameter("alpha", f32), b.ref(x, u, v), b.ref(y, u, v))
        b.store(z_buffer, place, b.ref(z, u, v), (place, n), cache=cache)
    return b.nest()


def softmax(m: int, n: int, lanes: int = 16, unroll: int = 4) -> Nest:
    """Softmax of each row, with the exponentials kept in scratch."""
    b = Builder("softmax")
    source, target = b.buffer("A", m * n), b.buffer("B", m * n, Role.OUTPUT)
    row = b.scratch("row", -(-n // (lanes * unroll)) * lanes * unroll)
    item, shifted, power = (b.value(name, unroll, vector=lanes) for name in ("item", "shifted", "power"))
    largest, total = b.value("largest", unroll, vector=lanes), b.value("total", unroll, vector=lanes)
    top, whole, factor, kept, scaled = (
        b.value("top"),
        b.value("whole"),
        b.value("factor"),
        b.value("kept", unroll, vector=lanes),
        -1,
    )
    scaled = b.value("scaled", unroll, vector=lanes)
    width, tiles = lanes * unroll, -(-n // (lanes * unroll))

    def parts() -> tuple[OpenLoop, OpenLoop]:
        return b.loop("u", Kind.UNROLL, unroll), b.loop("v", Kind.VECTOR, lanes)

    with b.loop("line", Kind.BLOCK, m) as line:
        u_loop, v_loop = parts()
        with u_loop as u, v_loop as v:
            b.compute(b.ref(largest, u, v), Operator.MOVE, Constant(float("-inf")))
            b.compute(b.ref(total, u, v), Operator.MOVE, Constant(0.0))
        with b.loop("i", Kind.LOOP, tiles) as i:
            u_loop, v_loop = parts()
            with u_loop as u, v_loop as v:
                column = i * width + u * lanes + v
                b.load(b.ref(item, u, v), source, line * n + column, (column, n), fill=float("-inf"))
                b.compute(b.ref(largest, u, v), Operator.MAX, b.ref(item, u, v), b.ref(largest, u, v))
        b.combine(b.ref(top), Operator.MAX, b.ref(largest, 0, 0), 0, 1)
        with b.loop("i", Kind.LOOP, tiles) as i:
            u_loop, v_loop = parts()
            with u_loop as u, v_loop as v:
                column = i * width + u * lanes + v
                b.load(b.ref(item, u, v), source, line * n + column, (column, n), fill=float("-inf"))
                b.compute(b.ref(shifted, u, v), Operator.SUB, b.ref(item, u, v), b.ref(top))
                b.compute(b.ref(power, u, v), Operator.EXP, b.ref(shifted, u, v))
                b.compute(b.ref(total, u, v), Operator.ADD, b.ref(total, u, v), b.ref(power, u, v))
                b.store(row, column, b.ref(power, u, v))
        b.combine(b.ref(whole), Operator.ADD, b.ref(total, 0, 0), 0, 1)
        b.compute(b.ref(factor), Operator.DIV, Constant(1.0), b.ref(whole))
        with b.loop("i", Kind.LOOP, tiles) as i:
            u_loop, v_loop = parts()
            with u_loop as u, v_loop as v:
                column = i * width + u * lanes + v
                b.load(b.ref(kept, u, v), row, column)
                b.compute(b.ref(scaled, u, v), Operator.MUL, b.ref(kept, u, v), b.ref(factor))
                b.store(target, line * n + column, b.ref(scaled, u, v), (column, n))
    return b.nest()


@dataclass(frozen=True, slots=True)
class Case:
    """A computation at full size, the nests for it and what NumPy does."""

    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    reference: Callable[..., None]
    """Arguments: inputs, outputs, in the order of the nests' buffers; writes the outputs."""
    nests: dict[str, Nest]
    flops: int
    parameters: dict[str, float] = field(default_factory=dict[str, float])


def _numpy_stencil(a: Array, b: Array) -> None:
    inside = b
    np.add(a[:-2, 1:-1, 1:-1], a[2:, 1:-1, 1:-1], out=inside)
    for part in (a[1:-1, :-2, 1:-1], a[1:-1, 2:, 1:-1], a[1:-1, 1:-1, :-2], a[1:-1, 1:-1, 2:]):
        inside += part
    inside *= 0.125
    inside += 0.5 * a[1:-1, 1:-1, 1:-1]


def _numpy_softmax(a: Array, b: Array) -> None:
    np.subtract(a, a.max(1, keepdims=True), out=b)
    np.exp(b, out=b)
    b /= b.sum(1, keepdims=True)


def _numpy_axpy(x: Array, y: Array) -> None:
    y += 0.75 * x


def _numpy_gesummv(a: Array, b: Array, x: Array, y: Array) -> None:
    y[:] = 0.75 * (a @ x) + 0.5 * (b @ x)


def _matmul(a: Array, b: Array, c: Array) -> None:
    np.matmul(a, b, out=c)


def _case_matmul(m: int, n: int, k: int, nests: dict[str, Nest]) -> Case:
    return Case(((m, k), (k, n)), ((m, n),), _matmul, nests, 2 * m * n * k)


def cases(lanes: int) -> dict[str, Callable[[], Case]]:
    """By name; built when asked for."""
    s = 1024

    def tiles(rows: int, vectors: int, **more: bool | int) -> Nest:
        return matmul(s, s, s, rows, vectors, lanes, **more)  # pyright: ignore[reportArgumentType]

    def batched(count: int, m: int, n: int, k: int, *shapes: tuple[int, int]) -> Case:
        found = {f"{r}x{v}": matmul(m, n, k, r, v, lanes, batch=count) for r, v in shapes}
        return Case(((count, m, k), (count, k, n)), ((count, m, n),), _matmul, found, 2 * count * m * n * k)

    return {
        "matmul_1024": lambda: _case_matmul(s, s, s, {
            "14x2": tiles(14, 2),
            "14x2 B packed": tiles(14, 2, does_pack_b=True),
            "14x2 A packed": tiles(14, 2, does_pack_a=True, m_outer=True),
            "14x2 both packed, columns outside": tiles(14, 2, does_pack_a=True, does_pack_b=True),
            "14x2 both packed, rows outside": tiles(14, 2, does_pack_a=True, does_pack_b=True, m_outer=True),
            "14x2 rows outside": tiles(14, 2, m_outer=True),
            "14x2 B packed, k by 2": tiles(14, 2, does_pack_b=True, k_unroll=2),
            "14x2 B packed, k by 4": tiles(14, 2, does_pack_b=True, k_unroll=4),
            "8x3 B packed": tiles(8, 3, does_pack_b=True),
            "9x3 B packed": tiles(9, 3, does_pack_b=True),
            "6x4 B packed": tiles(6, 4, does_pack_b=True),
            "12x2 B packed": tiles(12, 2, does_pack_b=True),
            "8x2 B packed": tiles(8, 2, does_pack_b=True),
            "4x4 B packed": tiles(4, 4, does_pack_b=True),
            "16x2 B packed": tiles(16, 2, does_pack_b=True),
            "28x1 B packed": tiles(28, 1, does_pack_b=True),
        }),
        "batched_512_32_32_64": lambda: batched(512, 32, 32, 64, (8, 2), (11, 2), (16, 1), (14, 2), (4, 2)),
        "batched_500_26_26_72": lambda: batched(500, 26, 26, 72, (13, 2), (9, 2), (7, 2), (26, 1)),
        "matvec_8192": lambda: Case(((8192, 8192), (8192,)), ((8192,),), lambda a, x, y: np.dot(a, x, out=y), {
            f"{r}x{v}, {t} stages": matvec(8192, 8192, r, v, lanes, stages=t)
            for r, v, t in ((1, 4, 1), (1, 8, 1), (2, 4, 1), (4, 1, 1), (4, 2, 1), (4, 2, 9), (4, 4, 1), (4, 4, 9), (8, 2, 1))
        }, 2 * 8192**2),
        "matvec_1024": lambda: Case(((1024, 1024), (1024,)), ((1024,),), lambda a, x, y: np.dot(a, x, out=y), {
            f"{r}x{v}": matvec(1024, 1024, r, v, lanes) for r, v in ((1, 4), (1, 8), (2, 4), (4, 2), (4, 4), (8, 1), (8, 2))
        }, 2 * 1024**2),
        "gesummv_4096": lambda: Case(((4096, 4096), (4096, 4096), (4096,)), ((4096,),), _numpy_gesummv, {
            f"{r}x{v}, {t} stages": matvec(4096, 4096, r, v, lanes, matrices=2, stages=t)
            for r, v, t in ((1, 4, 1), (2, 2, 1), (2, 4, 1), (2, 4, 3), (2, 4, 9), (4, 2, 1), (4, 2, 9), (8, 2, 9))
        }, 4 * 4096**2, {"alpha": 0.75, "beta": 0.5}),
        "transposed_8192": lambda: Case(((8192, 8192), (8192,)), ((8192,),), lambda a, x, y: np.dot(x, a, out=y), {
            f"{v} vectors, rows by {u}, {t} stages": transposed_matvec(8192, 8192, v, lanes, u, t)
            for v, u, t in ((8, 2, 1), (8, 2, 9), (16, 1, 1), (16, 1, 9), (24, 1, 1), (24, 1, 3), (24, 1, 9), (64, 1, 5))
        }, 2 * 8192**2),
        "stencil_256": lambda: Case(((256, 256, 256),), ((254, 254, 254),), _numpy_stencil, {
            **{f"{r} rows of {w} lanes": stencil(256, w, r) for r in (1, 2, 4) for w in (lanes // 2, lanes)},
            "1 row, around the caches": stencil(256, lanes, cache=Cache.NONE),
        }, 8 * 254**3),
        "axpy_2p24": lambda: Case(((1 << 24,),), ((1 << 24,),), _numpy_axpy, {
            "by 1": axpy(1 << 24, lanes, 1), "by 4": axpy(1 << 24, lanes, 4),
            "by 4, chunks of 65536": axpy(1 << 24, lanes, 4, 65536),
        }, 2 << 24, {"alpha": 0.75}),
        "triad_2p24": lambda: Case(((1 << 24,), (1 << 24,)), ((1 << 24,),), lambda x, y, z: np.add(x, y, out=z), {
            "by 4": axpy(1 << 24, lanes, 4, is_triad=True),
            "by 4, around the caches": axpy(1 << 24, lanes, 4, is_triad=True, cache=Cache.NONE),
        }, 2 << 24, {"alpha": 0.75}),
        "softmax_1024": lambda: Case(((1024, 1024),), ((1024, 1024),), _numpy_softmax, {
            "by 1": softmax(1024, 1024, lanes, 1), "by 2": softmax(1024, 1024, lanes, 2), "by 4": softmax(1024, 1024, lanes, 4),
        }, 0),
    }  # fmt: skip


def measure(name: str, case: Case, threads: int, rounds: int) -> list[dict[str, object]]:
    """One line per nest; a nest that differs from NumPy by more than rounding is an error. axpy is not compared."""
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape, dtype=np.float32) for shape in case.inputs]
    outputs = [np.zeros(shape, np.float32) for shape in case.outputs]
    expected = [np.zeros(shape, np.float32) for shape in case.outputs]
    case.reference(*inputs, *expected)
    calls = {}
    for label, nest in case.nests.items():
        calls[label] = compile_nest(nest).call([*inputs, *outputs], case.parameters)
        for output in outputs:
            output[...] = 0
        calls[label].run(threads)
        for output, wanted in zip(outputs, expected, strict=True):
            if not name.startswith("triad"):
                np.testing.assert_allclose(output, wanted, rtol=1e-3, atol=1e-3 * float(np.abs(wanted).max()), err_msg=label)
    times: dict[str, list[float]] = {label: [] for label in calls}
    busies: dict[str, list[float]] = {label: [] for label in calls}
    peer: list[float] = []
    peer_busy: list[float] = []
    case.reference(*inputs, *expected)
    for _ in range(rounds):
        start, start_busy = time.perf_counter(), time.thread_time()
        case.reference(*inputs, *expected)
        peer.append(time.perf_counter() - start)
        peer_busy.append(time.thread_time() - start_busy)
        time.sleep(_SPIN_S)
        for label, call in calls.items():
            taken, busy = call.run_timed(threads)[0]
            times[label].append(taken)
            busies[label].append(busy)
    moved = sum(math.prod(shape) * 4 for shape in (*case.inputs, *case.outputs))
    return [
        {
            "case": name,
            "nest": label,
            "threads": threads,
            "ms": _ms(times[label]),
            "best_ms": round(1e3 * min(times[label]), 4),
            "cpu_ms": _ms(busies[label]),
            "gflops": round(case.flops / statistics.median(busies[label]) / 1e9, 1),
            "gbs": round(moved / statistics.median(busies[label]) / 1e9, 1),
            "numpy_ms": _ms(peer),
            "numpy_cpu_ms": _ms(peer_busy),
            "speedup": round(statistics.median(peer) / statistics.median(times[label]), 3),
            "cpu_speedup": round(statistics.median(peer_busy) / statistics.median(busies[label]), 3),
        }
        for label in calls
    ]


def _ms(seconds: list[float]) -> float:
    return round(1e3 * statistics.median(seconds), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description="Hand-built nests of the CPU target against NumPy.")
    parser.add_argument("--case", default="*", help="a pattern of names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--lanes", type=int, default=calibrate(1).vector_bytes // 4, help="f32 per vector")
    options = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != str(options.threads):
        os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    for name, make in cases(options.lanes).items():
        if fnmatch.fnmatch(name, options.case):
            for line in measure(name, make(), options.threads, options.rounds):
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
