"""CUDA C++ of a stencil in the shapes that people and compilers write."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, assert_never

from warploom.ctext import Text, added, plus, product
from warploom.kernels.kernelgen.stencil import AXES, Field, Real, Stencil

Shape: TypeAlias = Literal["guarded", "plain", "tiled", "grid-stride"]
"""guarded: a point per thread, threads along i, a row of blocks per j, a plane per k, inputs `const __restrict__`.
plain: guarded, but any two pointers may alias.
tiled: guarded, with threads along every axis.
grid-stride: loops over i, j, k by the size of the grid, as compilers of OpenACC make them.
"""

Triple: TypeAlias = tuple[int, int, int]

_LITERAL = re.compile(r"(\b\d+(?:\.\d+)?(?:e\d+)?)f\b")
_FUNCTION = re.compile(r"\b(sin|cos)f\b")
_OFFSETS = r"\b(?P<name>{names})\((?P<moves>(?:[ijk][+-]\d+(?:, ?)?)*)\)"
_SIDES = "xyz"


def cuda_source(stencil: Stencil, shape: Shape, *, real: Real = "float") -> str:
    """One kernel with C linkage, `stencil.symbol`; its parameters are in the order of `stencil.parameter_names`."""
    text = _in_floats(stencil, shape)
    return text if real == "float" else _LITERAL.sub(r"\1", _FUNCTION.sub(r"\1", re.sub(r"\bfloat\b", real, text)))


def _in_floats(stencil: Stencil, shape: Shape) -> str:
    restrict = shape != "plain"
    inputs = [f"const float* {'__restrict__ ' if restrict else ''}{field.name}" for field in stencil.inputs]
    outputs = [f"float* {field.name}" for field in stencil.outputs]
    others = [f"int {name}" for name in stencil.extents] + [f"float {name}" for name in stencil.scalars]
    head = f'extern "C" __global__ void {stencil.symbol}({", ".join([*inputs, *outputs, *others])})'
    return f"{head}\n{{\n{_loops(stencil, shape)}}}\n"


def launch(stencil: Stencil, shape: Shape, extents: tuple[int, ...], *, block: Triple | None = None) -> tuple[Triple, Triple]:
    """Grid and block (x, y, z) that cover the interior; a grid-stride loop gets half as many blocks along each axis.

    `block` has y = z = 1 but for the tiled shape; by default 128 threads, 32 in tiles of 8 x 4.
    """
    if block is None:
        block = ((8, 4, 1) if stencil.dims > 1 else (32, 1, 1)) if shape == "tiled" else (128, 1, 1)
    if shape != "tiled" and block[1:] != (1, 1):
        raise ValueError(f"the {shape} shape has threads along x only, got a block of {block}")
    grid = [1, 1, 1]
    for axis in range(stencil.dims):
        points = extents[axis] - stencil.lower - stencil.upper
        blocks = -(-points // block[axis])
        grid[axis] = -(-blocks // 2) if shape == "grid-stride" else blocks
    return (grid[0], grid[1], grid[2]), block


def _loops(stencil: Stencil, shape: Shape) -> str:
    bounds = [f"{stencil.extents[a]} - {stencil.upper}" if stencil.upper else stencil.extents[a] for a in range(stencil.dims)]
    match shape:
        case "guarded" | "plain" | "tiled":
            starts = [_start(stencil, axis, threads=axis == 0 or shape == "tiled") for axis in range(stencil.dims)]
            lines = [f"    int {AXES[a]} = {starts[a]};\n" for a in range(stencil.dims)]
            test = " && ".join(f"{AXES[a]} < {bounds[a]}" for a in range(stencil.dims))
            return f"{''.join(lines)}    if ({test}) {{\n{_body(stencil, 8)}    }}\n"
        case "grid-stride":
            lines: list[str] = []
            for depth, axis in enumerate(reversed(range(stencil.dims))):
                name, side = AXES[axis], _SIDES[axis]
                step = "gridDim.x * blockDim.x" if axis == 0 else f"gridDim.{side}"
                start = _start(stencil, axis, threads=axis == 0)
                indent = " " * (4 + 4 * depth)
                lines.append(f"{indent}for (int {name} = {start}; {name} < {bounds[axis]}; {name} += {step}) {{\n")
            closing = [" " * (4 + 4 * depth) + "}\n" for depth in reversed(range(stencil.dims))]
            return f"{''.join(lines)}{_body(stencil, 4 + 4 * stencil.dims)}{''.join(closing)}"
        case _:
            assert_never(shape)


def _start(stencil: Stencil, axis: int, *, threads: bool) -> str:
    side = _SIDES[axis]
    first = f"blockIdx.{side} * blockDim.{side} + threadIdx.{side}" if threads else f"blockIdx.{side}"
    return f"{first} + {stencil.lower}" if stencil.lower else first


def _body(stencil: Stencil, indent: int) -> str:
    fields = {field.name: field for field in stencil.fields}
    pattern = re.compile(_OFFSETS.format(names="|".join(sorted(fields, key=len, reverse=True))))

    def access(match: re.Match[str]) -> str:
        moves = {move.strip()[0]: int(move.strip()[1:]) for move in match["moves"].split(",") if move.strip()}
        return f"{match['name']}[{_index(fields[match['name']], moves)}]"

    lines = [pattern.sub(access, line.rstrip()) for line in stencil.body.strip("\n").rstrip().splitlines()]
    shortest = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "".join(f"{' ' * indent}{line[shortest:]}\n" if line.strip() else "\n" for line in lines)


def _index(field: Field, moves: dict[str, int]) -> str:
    """Row-major from the slowest axis: ((k + 1)*ny + j)*nx + i - 1."""
    found: Text | None = None
    for axis in reversed(range(len(field.extents))):
        place = plus(Text(AXES[axis]), moves.get(AXES[axis], 0))
        found = place if found is None else added(found, place)
        if axis:
            found = product(found, Text(field.extents[axis - 1]), tight=True)
    assert found is not None
    return found.text
