"""tex, tld4, suld, sust, sured: fetches from textures, accesses of surfaces (PTX ISA 9.7.10 and 9.7.11).

Filtering follows the CUDA C++ Programming Guide; its sums are rounded once. Textures are read-only, so nothing races with a
fetch. Accesses of surfaces are watched as those of global memory are. Neither is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, Span, UserError
from warploom.ptx.simt import atomics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.findings import Kind
from warploom.ptx.simt.images import CUBES, FACES, GEOMETRIES, Geometry, Image, fetched, gathered, on_face
from warploom.ptx.simt.operands import DTYPES, Site, value_of
from warploom.ptx.simt.races import note_read, note_write
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.threads import Threads, Value
from warploom.ptx.syntax import Address, Name, Operand, operand_text

_Lookup: TypeAlias = "Callable[[Group, RunningBlocks], Iterator[tuple[Image, NDArray[np.int64]]]]"
_Places: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.int64]]
_FIX = "Give the argument as texture:SPEC or surface:SPEC, in Python as warploom.ptx.Texture or Surface of an array."


def _image_of(site: Site, base: Operand, wanted: str) -> _Lookup:
    """The images that threads name, each with the positions in the group of its threads.

    The step raises UserError (LAUNCH_ARGUMENTS) for a number that is no handle of one.
    """
    slot = site.sized(base, "b64")
    span, name = site.code.routine.span(site.index), site.instruction.name

    def find(group: Group, running: RunningBlocks) -> Iterator[tuple[Image, NDArray[np.int64]]]:
        handles = np.broadcast_to(value_of(group.registers, slot), group.size)
        for handle in np.unique(handles).tolist():
            image = running.launch.images.get(handle)
            if image is None or (image.texture is None) != (wanted == "surface"):
                region = running.launch.regions.at(handle)
                got = image.name if image is not None else region.name if region is not None else f"the number {handle}"
                message = f"expected a handle of a {wanted} in {name}, got {got}"
                raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, span, _FIX))
            yield image, np.flatnonzero(handles == handle)

    return find


def _taken_apart(site: Site, operand: Operand) -> tuple[Operand, tuple[Operand, ...]]:
    """Handle and coordinates of `[handle, {x, y}]`."""
    match operand:
        case Address(base, 0, (coordinates,)):
            return base, site.elements(coordinates)
        case Address(_, _, (_, _)):
            raise site.unsupported(f"{site.instruction.name} with a sampler of its own")
        case _:
            raise site.wrong("a handle and coordinates in brackets", operand_text(operand))


def _geometry(site: Site, name: str) -> Geometry:
    if name not in GEOMETRIES:
        raise site.unsupported(site.instruction.name)
    return GEOMETRIES[name]


def _coordinates(site: Site, geometry: Geometry, given: tuple[Operand, ...], type_name: str) -> tuple[int | None, list[int]]:
    """Slots of the layer and of x, y, z."""
    wanted = geometry.axes + geometry.is_layered
    if len(given) < wanted:
        raise site.wrong(f"{wanted} coordinates", str(len(given)))
    layer = site.sized(given[0], "b32") if geometry.is_layered else None
    return layer, [site.sized(each, type_name) for each in given[geometry.is_layered : wanted]]


def _texture(site: Site) -> Step:
    modifiers = list(site.instruction.modifiers)
    levels = {"level": 1, "grad": 2, "base": 0}.get(modifiers[0]) if modifiers else None
    if levels is not None:
        del modifiers[0]
    component, is_cube = -1, False
    if site.instruction.opcode == "tld4":
        component = "rgba".find(modifiers.pop(0))
    match modifiers:
        case [name, "v4", "f32" | "u32" | "s32" as result, "f32"] if name in CUBES and component < 0:
            geometry, is_cube, coordinate = GEOMETRIES["a2d"], True, "f32"
        case [name, "v4", "f32" | "u32" | "s32" as result, "f32" | "s32" as coordinate] if component < 0 or (
            name in ("2d", "a2d") and coordinate == "f32" and levels is None
        ):
            geometry = _geometry(site, name)
        case _:
            raise site.unsupported(site.instruction.name)
    operands = site.instruction.operands
    if len(operands) > 2 + (levels or 0):
        raise site.unsupported(f"{site.instruction.name} with an offset or a comparison")
    targets = site.elements(operands[0])
    if len(targets) != 4:
        raise site.wrong("four destinations", str(len(targets)))
    slots = [site.register(part, "b32") for part in targets]
    base, given = _taken_apart(site, operands[1])
    find = _image_of(site, base, "texture")
    has_layer = not is_cube or name == "acube"
    if is_cube:
        layer, axes = (site.sized(given[0], "b32") if has_layer else None), [site.sized(g, "b32") for g in given[has_layer:][:3]]
        if len(axes) != 3:
            raise site.wrong("three coordinates of a direction", str(len(axes)))
    else:
        layer, axes = _coordinates(site, geometry, given, "b32")
    kind = np.dtype(np.float32 if coordinate == "f32" else np.int32)
    span = site.code.routine.span(site.index)

    def fetch(group: Group, running: RunningBlocks) -> None:
        results = [np.zeros(group.size, np.uint32) for _ in slots]
        for image, chosen in find(group, running):
            assert image.texture is not None
            at = [_each(group, slot)[chosen].view(kind) for slot in axes]
            layers = None if layer is None else _each(group, layer)[chosen]
            texture = image.texture
            if is_cube:
                texture = replace(texture, normalized=True, outside="clamp")
                face, *at = on_face(*at)
                layers = face if layers is None else face + FACES * layers.astype(np.int64)
            try:
                found = (
                    gathered(texture, geometry, layers, at, component) if component >= 0
                    else fetched(texture, geometry, layers, at)
                )  # fmt: skip
            except UserError as error:
                raise UserError(Diagnostic("TEXTURE", error.diagnostics[0].message, span)) from None
            for whole, part in zip(results, found, strict=True):
                whole[chosen] = _bits(image, part, result, span)
        for slot, value in zip(slots, results, strict=True):
            group.registers[slot] = value

    return fetch


def _bits(image: Image, value: NDArray[np.float64] | NDArray[np.int64], result: str, span: Span) -> NDArray[np.uint32]:
    """The bits that a register gets; UserError (TEXTURE) for integers that the kernel takes as floats."""
    if value.dtype.kind == "f":
        return value.astype(np.float32).view(np.uint32)
    if result == "f32":
        message = f"expected floats, or integers read as normalized floats, in {image.name}, which the kernel fetches as f32"
        raise UserError(Diagnostic("TEXTURE", f"{message}, got integers", span))
    return value.astype(np.uint32)


def _each(group: Group, slot: int) -> Value:
    return np.ascontiguousarray(np.broadcast_to(value_of(group.registers, slot), group.size))


class _Surface:
    """One access of a surface: the places that threads name, in elements of its width."""

    def __init__(self, site: Site, address: Operand, kind: str, modifiers: tuple[str, ...]) -> None:
        match modifiers:
            case ("b", name, *vector, "b8" | "b16" | "b32" | "b64" as element, "trap" | "clamp" | "zero" as beyond) if len(
                vector
            ) < 2 and set(vector) <= {"v2", "v4"}:
                self.geometry, self.beyond, self.element = _geometry(site, name), beyond, element
            case _:
                raise site.unsupported(site.instruction.name)
        self.count = int(vector[0][1:]) if vector else 1
        self.width = int(element[1:]) // 8
        base, given = _taken_apart(site, address)
        self.find = _image_of(site, base, "surface")
        self.layer, self.axes = _coordinates(site, self.geometry, given, "b32")
        place = site.extra(f"place of {site.index}", DTYPES[64])
        self.access: Access = access_of(
            site, Address(Name(f"place of {site.index}"), 0), kind, self.width, self.count, "global", is_strong=kind == "atom"
        )
        self.access.is_atomic = kind == "atom"
        self.place = place

    def places(self, image: Image, chosen: NDArray[np.int64], group: Group, running: RunningBlocks) -> _Places:
        """Which threads access something, and their first elements. Fault beyond the edges of a `.trap`, or for an x that is no
        multiple of the access."""
        assert image.region is not None
        layers, depth, height, *_ = self.geometry.shape_of(image.array)
        bytes_of_row = image.region.size // (layers * depth * height)
        size = self.width * self.count
        x, y, z = (*(_each(group, slot)[chosen].view(np.int32).astype(np.int64) for slot in self.axes), 0, 0)[:3]
        layer = 0 if self.layer is None else np.clip(_each(group, self.layer)[chosen].astype(np.int64), 0, layers - 1)
        x = np.asarray(x)
        if (bad := x % size != 0).any():
            self._stop("misaligned", f"x = {int(x[bad][0])} bytes, not a multiple of {size}", chosen[bad], group, running)
        inside = (x >= 0) & (x + size <= bytes_of_row) & (np.asarray(y) >= 0) & (y < height) & (np.asarray(z) >= 0) & (z < depth)
        if not inside.all() and self.beyond == "trap":
            first = int(np.flatnonzero(~inside)[0])
            at = ", ".join(str(int(np.broadcast_to(c, len(x))[first])) for c in (x, y, z)[: self.geometry.axes])
            told = f"({at}) of {image.name}, which has {bytes_of_row} bytes in a row, {height} rows, {depth} planes"
            self._stop("out_of_bounds", told, chosen[~inside], group, running)
        if self.beyond == "clamp":
            x, y, z = np.clip(x, 0, bytes_of_row - size), np.clip(y, 0, height - 1), np.clip(z, 0, depth - 1)
            inside = np.ones(len(x), np.bool_)
        byte = ((layer * depth + z) * height + y) * bytes_of_row + x
        return inside, np.asarray(byte)[inside] // self.width

    def reached(self, group: Group, running: RunningBlocks) -> Iterator[tuple[Threads, Region, Threads]]:
        """For every surface that is named: the threads that access something, its memory, and their first elements."""
        for image, chosen in self.find(group, running):
            inside, places = self.places(image, chosen, group, running)
            assert image.region is not None
            if inside.any():
                yield chosen[inside], image.region, places

    def _stop(self, kind: Kind, message: str, positions: NDArray[np.int64], group: Group, running: RunningBlocks) -> None:
        thread = int(group.threads[positions[0]])
        raise running.fault(kind, message, self.access.code, self.access.instruction, thread)


def _surface_load(site: Site) -> Step:
    target, address = site.instruction.operands[:2]
    surface = _Surface(site, address, "ld", site.instruction.modifiers)
    parts = site.elements(target)
    if len(parts) != surface.count:
        raise site.wrong(f"{surface.count} destinations", str(len(parts)))
    slots = [(site.register(part), site.dtype(site.register(part))) for part in parts]
    for _, dtype in slots:
        if dtype.itemsize < surface.width:
            raise site.wrong(f"a destination of at least {8 * surface.width} bits", f"one of {8 * dtype.itemsize}")

    def load(group: Group, running: RunningBlocks) -> None:
        results = [np.zeros(group.size, dtype) for _, dtype in slots]
        for positions, region, places in surface.reached(group, running):
            if running.is_watching:
                note_read(surface.access, [(positions, region, places)], group, running)
            words = region.views.by_width[surface.width]
            for offset, whole in enumerate(results):
                whole[positions] = words[places + offset]
        for (slot, _), value in zip(slots, results, strict=True):
            group.registers[slot] = value

    return load


def _surface_store(site: Site) -> Step:
    address, source = site.instruction.operands[:2]
    surface = _Surface(site, address, "st", site.instruction.modifiers)
    parts = site.elements(source)
    if len(parts) != surface.count:
        raise site.wrong(f"{surface.count} sources", str(len(parts)))
    slots = [site.source(part, surface.element) for part in parts]

    def store(group: Group, running: RunningBlocks) -> None:
        for positions, region, places in surface.reached(group, running):
            if running.is_watching:
                values = [value_of(group.registers, slot) for slot in slots]
                note_write(surface.access, [(positions, region, places)], values, group, running)
            words = region.views.by_width[surface.width]
            for offset, slot in enumerate(slots):
                words[places + offset] = _each(group, slot)[positions].astype(words.dtype)

    return store


def _surface_reduction(site: Site) -> Step:
    """sured.b: an atomic operation on an element."""
    match site.instruction.modifiers:
        case (
            "b",
            "add" | "min" | "max" | "and" | "or" as operation,
            name,
            "u32" | "s32" | "b32" | "u64" | "s64" as element,
            beyond,
        ):
            pass
        case _:
            raise site.unsupported(site.instruction.name)
    address, source = site.instruction.operands
    surface = _Surface(site, address, "atom", ("b", name, f"b{element[1:]}", beyond))
    kind = atomics.atomic(operation, element)
    slot = site.sized(source, element)
    if kind is None or (element[0] == "b") != (operation in ("and", "or")):
        raise site.unsupported(site.instruction.name)

    def reduce(group: Group, running: RunningBlocks) -> None:
        for positions, region, places in surface.reached(group, running):
            if running.is_watching:
                note_write(surface.access, [(positions, region, places)], None, group, running)
            values = _each(group, slot)[positions]
            atomics.apply(kind, region.views.by_width[surface.width], places, values, values, wants_old=False)

    return reduce


DECODERS: dict[str, Callable[[Site], Step]] = {
    "tex": _texture,
    "tld4": _texture,
    "sured": _surface_reduction,
    "suld": _surface_load,
    "sust": _surface_store,
}
