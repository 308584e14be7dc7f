"""Compiled kernels of a program as JSON: their C and how it is called; compiled again where they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from warploom.core.compiler import KERNEL_FLAGS, WRAPPING, build_library
from warploom.schedule.backbone import Program
from warploom.schedule.cpu import CompiledNest, c_source, has_integers
from warploom.schedule.nest import Buffer, Nest
from warploom.solve import Json

_NUMBERS = ("units", "scratch_bytes", "second_units")


def pack(nests: Sequence[Nest]) -> list[Json]:
    """UnsupportedError as `c_source`."""
    found: list[Json] = []
    for nest in nests:
        source = c_source(nest)
        found.append({
            "name": nest.name,
            "units": source.units,
            "scratch_bytes": source.scratch_bytes,
            "second_units": source.second_units,
            "common_bytes": list(source.common_bytes),
            "arrays": [buffer.name for buffer in source.buffers],
            "parameters": [parameter.name for parameter in nest.parameters],
            "wraps": has_integers(nest),
            "c": source.text,
        })  # fmt: skip
    return found


def unpack(program: Program, packed: Json) -> list[CompiledNest] | None:
    """None for what `pack` did not make of kernels of this program. UserError where the C is not compiled."""
    if not isinstance(packed, list) or len(packed) != len(program.stages):
        return None
    regions = {r.name: r for r in program.arguments}
    scalars = {p.name for p in program.parameters}
    found: list[CompiledNest] = []
    for item in packed:
        match item:
            case {
                "name": str(name),
                "common_bytes": list(common),
                "arrays": list(arrays),
                "parameters": list(parameters),
                "c": str(c),
            }:
                pass
            case _:
                return None
        numbers = [item.get(key) for key in _NUMBERS]
        if not all(_is_count(n) for n in (*numbers, *common)):
            return None
        if not set(cast("list[str]", arrays)) <= regions.keys() or not set(cast("list[str]", parameters)) <= scalars:
            return None
        units, scratch_bytes, second_units = cast("list[int]", numbers)
        flags = (*KERNEL_FLAGS, *(WRAPPING if item.get("wraps") is True else ()))
        buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in (regions[a] for a in cast("list[str]", arrays)))
        found.append(
            CompiledNest(
                name, build_library(c, flags=flags), buffers, tuple(cast("list[str]", parameters)), units, scratch_bytes,
                second_units, tuple(cast("list[int]", common)),
            )
        )  # fmt: skip
    return found


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
