"""cp.async.bulk.tensor and its like: boxes of tensors between global and shared memory (PTX ISA 9.7.9.27, 9.7.9.28).

Like other bulk copies (`bulk_copies`) they happen at once. Tiled mode; the order of elements and the swizzle follow 5.5 of the
ISA, applied to the addresses in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ptx.routine import TYPE_BITS
from warploom.ptx.simt import atomics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import Multicast, note_words, nothing
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.matrix import require_whole_warps
from warploom.ptx.simt.mbarriers import Completion, decode_completion
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_read, note_write
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.spaces import check_writable, resolve
from warploom.ptx.simt.tensor_maps import FIELDS, MAP_BYTES, Map, put, read, swizzled
from warploom.ptx.syntax import Address, Integer, Operand, operand_text

_BOX_ALIGNMENT = 128
_IGNORED = frozenset(("tile", "L2::cache_hint", "cta_group::1", "noftz"))


def decode_tensor(site: Site) -> Step:
    """UnsupportedError for `im2col`, and for pairs of blocks."""
    instruction = site.instruction
    modifiers = [m for m in instruction.modifiers if m not in _IGNORED]
    if "tile::gather4" in modifiers or "tile::scatter4" in modifiers:
        return _decode_rows(site, modifiers)
    match modifiers:
        case ["async", "bulk", "prefetch", "tensor", dimensions, "L2", "global"] if dimensions in _DIMENSIONS:
            return nothing
        case [
            "async",
            "bulk",
            "tensor",
            dimensions,
            "shared::cta" | "shared::cluster" as to,
            "global",
            "mbarrier::complete_tx::bytes",
            *rest,
        ] if rest in ([], ["multicast::cluster"]) and dimensions in _DIMENSIONS:
            return _load(site, _DIMENSIONS[dimensions], to, is_multicast=bool(rest))
        case ["async", "bulk", "tensor", dimensions, "global", "shared::cta", "bulk_group"] if dimensions in _DIMENSIONS:
            return _store(site, _DIMENSIONS[dimensions], "")
        case ["reduce", "async", "bulk", "tensor", dimensions, "global", "shared::cta", operation, "bulk_group"] if (
            dimensions in _DIMENSIONS and operation in _REDUCTIONS
        ):
            return _store(site, _DIMENSIONS[dimensions], operation)
        case _:
            raise site.unsupported(instruction.name)  # fmt: skip


def _decode_rows(site: Site, modifiers: list[str]) -> Step:
    """Four rows of a tensor of two dimensions, each by its number."""
    is_load = "tile::gather4" in modifiers
    match [m for m in modifiers if m not in ("tile::gather4", "tile::scatter4")]:
        case ["async", "bulk", "tensor", "2d", "shared::cta" | "shared::cluster" as to, "global",
              "mbarrier::complete_tx::bytes", *rest] if is_load and rest in ([], ["multicast::cluster"]):  # fmt: skip
            return _load(site, 2, to, is_multicast=bool(rest), rows=_ROWS)
        case ["async", "bulk", "tensor", "2d", "global", "shared::cta", "bulk_group"] if not is_load:
            return _store(site, 2, "", rows=_ROWS)
        case _:
            raise site.unsupported(site.instruction.name)


_ROWS = 4
_DIMENSIONS = {f"{n}d": n for n in range(1, 6)}
_REDUCTIONS = frozenset(("add", "min", "max", "inc", "dec", "and", "or", "xor"))


class _Boxed:
    """Map and coordinates of one thread, its side in global memory and in shared memory."""

    def __init__(self, site: Site, tensor: Operand, shared: Operand, rank: int, to: str, *, loads: bool, rows: int = 1) -> None:
        match tensor:
            case Address(base, offset, (coordinates,)):
                parts = site.elements(coordinates)
            case _:
                raise site.wrong("a tensor map and coordinates in brackets", operand_text(tensor))
        wanted = rank if rows == 1 else 1 + rows
        if len(parts) != wanted or not isinstance(shared, Address):
            raise site.wrong(f"{wanted} coordinates and an address in shared memory", f"{len(parts)} coordinates")
        self.site = site
        self.rank, self.rows = rank, rows
        self.coordinates = [site.sized(part, "b32") for part in parts]
        self.map = access_of(site, Address(base, offset), "ld", 8, MAP_BYTES // 16, "", is_strong=False)
        first = access_of(site, shared, "st" if loads else "ld", 1, 1, "shared", is_strong=False)
        first.reaches_cluster = to == "shared::cluster"
        self.first = first
        self.tensor = self._each(site, Address(base, offset), "ld" if loads else "st", "global")
        self.tile = self._each(site, shared, "st" if loads else "ld", "shared")

    @staticmethod
    def _each(site: Site, address: Address, kind: str, space: str) -> dict[int, Access]:
        found = {width: access_of(site, address, kind, width, 1, space, is_strong=False) for width in (1, 2, 4, 8)}
        for access in found.values():
            access.is_asynchronous = True
        return found

    def fault(self, kind: str, message: str, one: Group, running: RunningBlocks) -> Exception:
        assert kind in ("out_of_bounds", "misaligned")
        return running.fault(kind, message, self.site.code, self.site.index, int(one.threads[0]))

    def described(self, one: Group, running: RunningBlocks) -> tuple[Map, tuple[int, ...]]:
        """The map and the box's coordinates."""
        _, content = map_at(self.map, one, running)
        try:
            found = read(content)
        except UserError as error:
            span = self.site.code.routine.span(self.site.index)
            raise UserError(Diagnostic("TENSOR_MAP", error.diagnostics[0].message, span)) from None
        if len(found.box) != self.rank:
            raise self.site.wrong(f"{len(found.box)} coordinates, as the tensor map has", str(self.rank))
        if self.rows > 1 and found.box[1] != 1:
            raise self.site.wrong("a tensor map whose box has one row, for rows by their numbers", f"{found.box[1]} rows")
        given = (np.ravel(value_of(one.registers, slot))[0] for slot in self.coordinates)
        first, *others = (int(np.uint32(value).view(np.int32)) for value in given)
        if first % found.together:
            raise self.fault("misaligned", f"element {first} of a row, not a multiple of {found.together}", one, running)
        return found, (first // found.together, *others)

    def places(self, found: Map, at: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """As of a map, for all rows."""
        if self.rows == 1:
            return found.places(at)
        each = [found.places((at[0], row)) for row in at[1:]]
        return np.concatenate([place for place, _ in each]), np.concatenate([inside for _, inside in each])

    def shared_places(self, found: Map, one: Group, running: RunningBlocks) -> NDArray[np.int64]:
        """Bytes of shared memory of the batch, by element of the box."""
        ((_, region, index),) = resolve(self.first, one, running)
        start = int(np.ravel(index)[0])
        stride = running.launch.shared_stride
        block, offset = divmod(start, stride) if stride else (0, start)
        size = found.box_bytes * self.rows
        if offset % _BOX_ALIGNMENT:
            message = f"a box at byte {offset} of shared memory, not a multiple of {_BOX_ALIGNMENT}"
            raise self.fault("misaligned", message, one, running)
        if offset + size > running.launch.shared_bytes:
            message = f"a box of {size} bytes at byte {offset} of {region.name}, which has {running.launch.shared_bytes} bytes"
            raise self.fault("out_of_bounds", message, one, running)
        places = swizzled(offset + np.arange(0, size, found.apart), found.swizzle)
        return places + block * stride

    def global_region(
        self, found: Map, places: NDArray[np.int64], at: tuple[int, ...], one: Group, running: RunningBlocks
    ) -> tuple[Region, NDArray[np.int64]]:
        """Region and first bytes in it of the elements that are inside of the tensor; `places` is not empty."""
        least, most = int(places.min()), int(places.max())
        region = running.launch.regions.at(found.address + least)
        if region is None or found.address + most + found.size > region.base + region.size:
            message = f"a box at {at} of a tensor at {found.address:#x} reaches bytes {least} to {most}, outside of every array"
            raise self.fault("out_of_bounds", message, one, running)
        return region, places + (found.address - region.base)


def map_at(access: Access, one: Group, running: RunningBlocks) -> tuple[Region, bytes]:
    """Region and content of the tensor map that a thread names."""
    ((_, region, index),) = resolve(access, one, running)
    first = int(np.ravel(index)[0]) * 8
    if running.is_watching:
        note_words(access, region, np.arange(first // 8, first // 8 + 1), one, running)
    content = region.views.bytes[first : first + MAP_BYTES].tobytes()
    return region, content.ljust(MAP_BYTES, b"\0")


def _note(
    accesses: dict[int, Access], region: Region, places: NDArray[np.int64], size: int, one: Group, running: RunningBlocks
) -> None:
    """Notes accesses of elements of `size` bytes at these bytes, as words where they fill words."""
    if size < 4:
        words = np.unique(places >> 2)
        if len(words) * 4 == len(places) * size:
            note_words(accesses[4], region, words, one, running)
            return
    note_words(accesses[size], region, places // size, one, running)


def _words(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Words of 4 bytes that hold elements of that size."""
    return np.unique(np.concatenate([(places + first) >> 2 for first in range(0, size, 4)]))


def _load(site: Site, rank: int, to: str, *, is_multicast: bool, rows: int = 1) -> Step:
    operands = site.instruction.operands
    boxed = _Boxed(site, operands[1], operands[0], rank, to, loads=True, rows=rows)
    complete: Completion = decode_completion(site, operands[2])
    several = Multicast(site, operands[3]) if is_multicast else None
    span = site.code.routine.span(site.index)

    def load(group: Group, running: RunningBlocks) -> None:
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            found, at = boxed.described(one, running)
            blocks = None if several is None else several.blocks(one, running)
            places, inside = boxed.places(found, at)
            into = boxed.shared_places(found, one, running)
            content = np.full(len(places), found.fill, f"u{found.size}")
            if inside.any():
                region, here = boxed.global_region(found, places[inside], at, one, running)
                if running.is_watching:
                    _note(boxed.tensor, region, here, found.size, one, running)
                content[inside] = region.views.by_width[found.size][here // found.size]
            stride = running.launch.shared_stride
            targets = [into] if blocks is None else [into % stride + block * stride for block in blocks]
            for target in targets:
                if running.is_watching:
                    _note(boxed.tile, running.shared, target, found.size, one, running)
                running.shared.views.by_width[found.size][target // found.size] = content
            told = complete(one, found.box_bytes * rows * found.size // found.apart, running, blocks)
            if running.is_watching:
                for target, (object_, parity) in zip(targets, told, strict=True):
                    words = _words(target, found.size)
                    threads = np.repeat(one.threads, len(words))
                    running.copies.sent(threads, words, 1, span, object_, parity, running)

    return load


def _store(site: Site, rank: int, operation: str, rows: int = 1) -> Step:
    operands = site.instruction.operands
    boxed = _Boxed(site, operands[0], operands[1], rank, "shared::cta", loads=False, rows=rows)
    if operation:
        for access in boxed.tensor.values():
            access.is_atomic = True

    def store(group: Group, running: RunningBlocks) -> None:
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            found, at = boxed.described(one, running)
            places, inside = boxed.places(found, at)
            source = boxed.shared_places(found, one, running)[inside]
            if not len(source):
                continue
            region, there = boxed.global_region(found, places[inside], at, one, running)
            check_writable(boxed.tensor[4], [(None, region, there)], one, running)
            if running.is_watching:
                _note(boxed.tile, running.shared, source, found.size, one, running)
                _note(boxed.tensor, region, there, found.size, one, running)
                running.readers.started("bulk", int(one.threads[0]), _words(source, found.size), boxed.tile[4], running)
            words = running.shared.views.by_width[found.size][source // found.size]
            memory = region.views.by_width[found.size]
            if not operation:
                memory[there // found.size] = words
                continue
            type_name = found.element.partition(".")[0]
            if operation in ("and", "or", "xor"):
                type_name = f"b{8 * found.size}"
            kind = atomics.atomic(operation, type_name) if TYPE_BITS.get(type_name, 0) in (16, 32, 64) else None
            if kind is None:
                raise site.unsupported(f"{site.instruction.name} of elements of type {found.element}")
            atomics.apply(kind, memory, there // found.size, words, words, wants_old=False)

    return store


def _replace(site: Site) -> Step:
    """tensormap.replace: one field of a map in memory."""
    match site.instruction.modifiers:
        case ("replace", "tile", field, *rest, "b1024", "b32" | "b64" as width) if field in FIELDS and rest in (
            ["global"], ["shared::cta"], []
        ):  # fmt: skip
            space = (rest or [""])[0].partition("::")[0]
        case _:
            raise site.unsupported(site.instruction.name)
    operands = site.instruction.operands
    place = 0
    if field in ("box_dim", "global_dim", "global_stride", "element_stride"):
        if len(operands) != 3 or not isinstance(operands[1], Integer):
            raise site.wrong("a dimension and a value", f"{len(operands)} operands")
        place = operands[1].value
        if not 0 <= place < (4 if field == "global_stride" else 5):
            raise site.wrong("a dimension of a tensor map", str(place))
    if not isinstance(operands[0], Address):
        raise site.wrong("an address in brackets", operand_text(operands[0]))
    access = access_of(site, operands[0], "st", 8, MAP_BYTES // 16, space, is_strong=False)
    slot = site.sized(operands[-1], width)

    def replace(group: Group, running: RunningBlocks) -> None:
        values = np.broadcast_to(value_of(group.registers, slot), group.size)
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            pieces = resolve(access, one, running)
            check_writable(access, pieces, one, running)
            ((_, region, index),) = pieces
            if running.is_watching:
                note_write(access, pieces, None, one, running)
            first = int(np.ravel(index)[0]) * 8
            content = bytearray(region.views.bytes[first : first + MAP_BYTES].tobytes())
            put(content, field, place, int(values[position]))
            region.views.bytes[first : first + MAP_BYTES] = np.frombuffer(bytes(content), np.uint8)

    return replace


def _fenced_copy(site: Site) -> Step:
    """tensormap.cp_fenceproxy: a warp copies a map from shared to global memory."""
    match [m for m in site.instruction.modifiers if m not in ("sync", "aligned")]:
        case ["cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release", "cta" | "cluster" | "gpu" | "sys"]:
            pass
        case _:
            raise site.unsupported(site.instruction.name)
    to, source, size = site.instruction.operands
    if not isinstance(to, Address) or not isinstance(source, Address) or size != Integer(MAP_BYTES):
        raise site.wrong(f"two addresses and {MAP_BYTES} bytes", operand_text(size))
    target = access_of(site, to, "st", 8, MAP_BYTES // 8, "global", is_strong=False)
    origin = access_of(site, source, "ld", 8, MAP_BYTES // 8, "shared", is_strong=False)

    def copy(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        _, firsts = np.unique(group.threads >> 5, return_index=True)
        for position in firsts.tolist():
            one = group.part(np.array([position]))
            (here,), (there,) = resolve(origin, one, running), resolve(target, one, running)
            check_writable(target, [there], one, running)
            if running.is_watching:
                note_read(origin, [here], one, running)
                note_write(target, [there], None, one, running)
            begin, end = int(np.ravel(here[2])[0]), int(np.ravel(there[2])[0])
            count = MAP_BYTES // 8
            there[1].views.by_width[8][end : end + count] = here[1].views.by_width[8][begin : begin + count]
        running.fence(group)

    return copy


DECODERS: dict[str, Callable[[Site], Step]] = {"tensormap.replace": _replace, "tensormap.cp_fenceproxy": _fenced_copy}
