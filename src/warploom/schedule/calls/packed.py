"""Compiled kernels of a program as JSON: their C and how it is called; compiled again where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from math import prod
from typing import cast

from warploom.core import BY_NAME, polynomials
from warploom.core.compiler import WRAPPING, build_library
from warploom.schedule.backbone import MOST_BESIDE_SIZE, Parameter, Program, Region, Role, RunTimeSize, open_lengths
from warploom.schedule.calls.arguments import Signature
from warploom.schedule.cpu import Build, CompiledNest, Shares, c_source, has_integers
from warploom.schedule.frontend.tree import ArrayParameter, Places
from warploom.schedule.nest import Buffer, Nest, Trips
from warploom.solve import Json

_ROLES = {role.value: role for role in Role}
_NUMBERS = ("units", "scratch_bytes", "second_units")


def pack(nests: Sequence[Nest], build: Build = Build.DECIDED) -> list[Json]:
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
            "build": build.value,
            "c": source.text,
            **(
                {
                    "run_time": {size.name: value for size, value in nest.run_time},
                    "shares": _packed_shares(source.shares),
                    "second_shares": _packed_shares(source.second_shares),
                    "common_shares": [_packed_shares(shares) for shares in source.common_shares],
                }
                if nest.run_time
                else {}
            ),
        })  # fmt: skip
    return found


def _packed_shares(shares: Shares) -> Json:
    return [shares.known, *map(packed_trips, shares.trips)]


def packed_trips(trips: Trips) -> Json:
    return [trips.size.name, trips.per, *([trips.size.more] if trips.size.more else [])]


def _shares(packed: Json, sizes: Mapping[str, RunTimeSize]) -> Shares | None:
    """None for what `_packed_shares` did not make of loops over these sizes."""
    match packed:
        case [int(known), *rest] if is_count(known):
            pass
        case _:
            return None
    trips = [read_trips(item, sizes) for item in rest]
    return None if None in trips else Shares(known, tuple(t for t in trips if t is not None))


def read_trips(packed: Json, sizes: Mapping[str, RunTimeSize]) -> Trips | None:
    """Iterations over one of these sizes known at run time; None for what `packed_trips` did not make."""
    match packed:
        case [str(name), int(per), *rest] if name in sizes and is_count(per) and per:
            pass
        case _:
            return None
    match rest:
        case []:
            return Trips(sizes[name], per)
        case [int(more)] if type(more) is int and 0 < abs(more) <= MOST_BESIDE_SIZE:
            return Trips(replace(sizes[name], more=more), per)
        case _:
            return None


def _common_shares(packed: Json, count: int, sizes: Mapping[str, RunTimeSize]) -> tuple[Shares, ...] | None:
    """None for what is not so many of them."""
    found = tuple(_shares(item, sizes) for item in packed) if isinstance(packed, list) else ()
    known = tuple(shares for shares in found if shares is not None)
    return known if isinstance(packed, list) and len(found) == len(known) == count else None


def unpack(program: Program, packed: Json) -> list[CompiledNest] | None:
    """None for what `pack` did not make of kernels of this program. UserError where the C is not compiled."""
    if not isinstance(packed, list) or (program.stages and len(packed) != len(program.stages)) or not packed:
        return None
    regions = {r.name: r for r in program.arguments}
    scalars = {p.name for p in program.parameters}
    known = sizes_known_at_run_time(program)
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
        if not all(is_count(n) for n in (*numbers, *common)):
            return None
        if not set(cast("list[str]", arrays)) <= regions.keys() or not set(cast("list[str]", parameters)) <= scalars:
            return None
        units, scratch_bytes, second_units = cast("list[int]", numbers)
        build = item.get("build", Build.DECIDED.value)
        if build not in list(Build):
            return None
        flags = (*Build(build).flags, *(WRAPPING if item.get("wraps") is True else ()))
        named = (regions[a] for a in cast("list[str]", arrays))
        buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role, run_time=r.run_time) for r in named)
        given = item.get("run_time", {})
        if not isinstance(given, dict) or not given.keys() <= known.keys() or not all(is_count(n) for n in given.values()):
            return None
        run_time = cast("dict[str, int]", given)
        opened = {name: known[name] for name in run_time}
        shares, second = Shares(units), Shares(second_units)
        common_shares = tuple(Shares(size) for size in cast("list[int]", common))
        if run_time:
            read, read_second = _shares(item.get("shares"), opened), _shares(item.get("second_shares"), opened)
            read_common = _common_shares(item.get("common_shares"), len(common), opened)
            if read is None or read_second is None or read_common is None:
                return None
            shares, second, common_shares = read, read_second, read_common
        found.append(
            CompiledNest(
                name, build_library(c, flags=flags), buffers, tuple(cast("list[str]", parameters)), units, scratch_bytes,
                second_units, tuple(cast("list[int]", common)), tuple(run_time.items()), shares, second,
                common_shares,
            )
        )  # fmt: skip
    return found


def sizes_known_at_run_time(program: Program) -> dict[str, RunTimeSize]:
    """By name."""
    return {length.name: length.alone for length in open_lengths(program)}


def pack_signature(program: Program, parameters: Sequence[str], places: Sequence[Places] = ()) -> Json:
    """The arguments of a program, and the order of all parameters in a call; which arrays are places of others."""
    regions = {r.name: r for r in program.arguments}
    return {
        **({"places": [[p.indices, p.array, p.axis, regions[p.array].shape[p.axis]] for p in places]} if places else {}),
        "name": program.name,
        "parameters": list(parameters),
        "arrays": [
            {"name": r.name, "dtype": r.dtype.name, "shape": list(r.shape), "role": r.role.value} for r in program.arguments
        ],
        "scalars": [{"name": p.name, "dtype": p.dtype.name} for p in program.parameters],
    }


def unpack_signature(packed: Json) -> tuple[Program, Signature] | None:
    """A program without its stages, and what a call of it takes; None for what `pack_signature` did not make."""
    match packed:
        case {"name": str(name), "parameters": list(order), "arrays": [*arrays], "scalars": [*scalars]}:
            pass
        case _:
            return None
    regions: list[Region] = []
    for item in arrays:
        match item:
            case {"name": str(own), "dtype": str(dtype), "shape": [*shape], "role": str(role)} if (
                dtype in BY_NAME and role in _ROLES and all(is_count(n) and n for n in shape)
            ):
                extents = tuple(cast("list[int]", shape))
                strides = tuple(prod(extents[n + 1 :]) for n in range(len(extents)))
                regions.append(Region(own, BY_NAME[dtype], extents, strides, _ROLES[role]))
            case _:
                return None
    known: list[Parameter] = []
    for item in scalars:
        match item:
            case {"name": str(own), "dtype": str(dtype)} if dtype in BY_NAME:
                known.append(Parameter(own, BY_NAME[dtype]))
            case _:
                return None
    if not any(r.role is Role.OUTPUT for r in regions):
        return None
    places = _places(packed.get("places", []), {r.name for r in regions if r.role is Role.INPUT and not r.dtype.is_float})
    if places is None:
        return None
    declared = [ArrayParameter(r.name, r.dtype, tuple(polynomials.number(n) for n in r.shape), r.role) for r in regions]
    names = [str(n) for n in order]
    needed = {*(r.name for r in regions if r.role is not Role.TEMPORARY), *(p.name for p in known)}
    if sorted(names) != sorted(needed | {r.name for r in regions if r.name in names}):
        return None
    return Program(name, (), tuple(regions), tuple(known)), Signature(name, declared, known, names, (), places)


def _places(packed: Json, indices: Set[str]) -> list[Places] | None:
    """None for what `pack_signature` did not make of these arrays of integers."""
    found: list[Places] = []
    for item in packed if isinstance(packed, list) else [None]:
        match item:
            case [str(name), str(array), int(axis), int(size)] if name in indices and is_count(axis) and is_count(size) and size:
                found.append(Places(name, array, axis, polynomials.number(size)))
            case _:
                return None
    return found


def is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
