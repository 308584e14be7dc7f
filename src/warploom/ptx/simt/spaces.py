"""Translates the addresses of a group's threads to regions and word positions, checked for bounds and alignment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.clusters import reached
from warploom.ptx.simt.code import Access, Group, Piece, Positions, RunningBlocks
from warploom.ptx.simt.findings import Kind
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.windows import (
    CLUSTER_END,
    CLUSTER_GENERIC,
    CLUSTER_SHARED,
    LOCAL_WINDOW,
    LOCAL_WINDOW_BYTES,
    SHARED_WINDOW,
    SHARED_WINDOW_BYTES,
)

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


def resolve(access: Access, group: Group, running: RunningBlocks) -> list[Piece]:
    """The words that the threads access; Fault for an address that is out of bounds or misaligned."""
    address = addresses(access, group)
    space = access.space
    if space in ("global", "const", "param", ""):
        region = access.region
        if region is not None:
            index = _within(access, region, address)
            if index is not None:
                return [(None, region, index)]
        return _search(access, group, running, address)
    if space == "shared":
        return [(None, running.shared, _shared(access, group, running, address, None))]
    if space == "frame":
        address = address + address.dtype.type(group.context.frame_base)
    return [(None, running.local, _local(access, group, running, address, None))]


def addresses(access: Access, group: Group) -> Value:
    """Values of the address operand, before windows and bounds: one for each thread, or one for all."""
    if access.slot < 0:
        return np.array(access.offset & 0xFFFFFFFFFFFFFFFF, np.uint64)
    base = group.registers[access.slot]
    assert base is not None
    if access.offset:
        bits = 8 * base.dtype.itemsize
        base = base + base.dtype.type(access.offset & ((1 << bits) - 1))
    return base if base.dtype == np.uint64 else base.astype(np.uint64)


def _within(access: Access, region: Region, address: Value) -> NDArray[np.int64] | None:
    """Word positions if all addresses lie in the region, aligned."""
    offset = address - np.uint64(region.base)
    size = access.bytes
    if size > region.size or offset.max() > region.size - size:
        return None
    if size > 1 and int(np.bitwise_or.reduce(offset, axis=None)) & (size - 1):
        return None
    width = access.width
    if width > 1:
        offset = offset >> np.uint64(_SHIFT[width])
    return offset.view(np.int64)


def _search(access: Access, group: Group, running: RunningBlocks, address: Value) -> list[Piece]:
    """Any mixture of regions, and of windows when the address is generic."""
    if address.ndim == 0:
        value = int(address)
        if not access.space and SHARED_WINDOW <= value < SHARED_WINDOW + SHARED_WINDOW_BYTES:
            return [(None, running.shared, _shared(access, group, running, address - np.uint64(SHARED_WINDOW), None))]
        if not access.space and value >= CLUSTER_GENERIC and running.launch.cluster_blocks > 1 and value < CLUSTER_END:
            access.reaches_cluster = True
            return [(None, running.shared, _shared(access, group, running, address - np.uint64(SHARED_WINDOW), None))]
        if not access.space and LOCAL_WINDOW <= value < LOCAL_WINDOW + LOCAL_WINDOW_BYTES:
            return [(None, running.local, _local(access, group, running, address - np.uint64(LOCAL_WINDOW), None))]
        region = running.launch.regions.at(value)
        index = None if region is None else _within(access, region, address)
        if region is None or index is None:
            raise _bad(access, group, running, 0, value)
        access.region = region
        return [(None, region, index)]
    region = running.launch.regions.at(int(address[0]))
    index = None if region is None else _within(access, region, address)
    if region is not None and index is not None:  # the windows hold no region
        access.region = region
        return [(None, region, index)]
    pieces: list[Piece] = []
    left = np.arange(group.size, dtype=np.int64)
    if not access.space:
        for start, size, place, region in (
            (SHARED_WINDOW, SHARED_WINDOW_BYTES, _shared, running.shared),
            (LOCAL_WINDOW, LOCAL_WINDOW_BYTES, _local, running.local),
            *(((CLUSTER_GENERIC, CLUSTER_END - CLUSTER_GENERIC, _of_cluster, running.shared),)
              if running.launch.cluster_blocks > 1 else ()),
        ):  # fmt: skip
            offset = address[left] - np.uint64(start)
            inside = offset < np.uint64(size)
            if inside.any():
                chosen = left[inside]
                pieces.append((chosen, region, place(access, group, running, offset[inside], chosen)))
                left = left[~inside]
    while len(left):
        first = int(address[left[0]])
        region = running.launch.regions.at(first)
        if region is None:
            raise _bad(access, group, running, int(left[0]), first)
        inside = address[left] - np.uint64(region.base) < np.uint64(region.size)
        chosen = left[inside]
        index = _within(access, region, address[chosen])
        if index is None:
            for position in chosen:
                if _within(access, region, address[position : position + 1]) is None:
                    raise _bad(access, group, running, int(position), int(address[position]))
        assert index is not None
        pieces.append((chosen, region, index))
        access.region = region
        left = left[~inside]
    if len(pieces) == 1:
        return [(None, pieces[0][1], pieces[0][2])]
    return pieces


def _shared(access: Access, group: Group, running: RunningBlocks, offset: Value, chosen: Positions | None) -> NDArray[np.int64]:
    if access.reaches_cluster and bool((offset >= np.uint64(CLUSTER_SHARED)).any()):
        inside, blocks = reached(access, group, running, offset, chosen)
        _check(access, group, running, inside, running.launch.shared_bytes, "shared memory of a block of the cluster", chosen)
        return (inside.astype(np.int64) + blocks * running.launch.shared_stride) >> _SHIFT[access.width]
    _check(access, group, running, offset, running.launch.shared_bytes, "shared memory", chosen)
    words = (offset >> np.uint64(_SHIFT[access.width])).view(np.int64)
    if running.blocks == 1:
        return words
    threads = group.threads if chosen is None else group.threads[chosen]
    base = running.shared_base if len(threads) == running.total else running.shared_base[threads]
    return words + (base >> _SHIFT[access.width])


def _of_cluster(
    access: Access, group: Group, running: RunningBlocks, offset: Value, chosen: Positions | None
) -> NDArray[np.int64]:
    access.reaches_cluster = True
    return _shared(access, group, running, offset + np.uint64(CLUSTER_SHARED), chosen)


def _local(access: Access, group: Group, running: RunningBlocks, offset: Value, chosen: Positions | None) -> NDArray[np.int64]:
    _check(access, group, running, offset, running.local_stride, "local memory", chosen)
    threads = group.threads if chosen is None else group.threads[chosen]
    shift = _SHIFT[access.width]
    return (offset >> np.uint64(shift)).view(np.int64) + threads * (running.local_stride >> shift)


def _check(
    access: Access, group: Group, running: RunningBlocks, offset: Value, limit: int, what: str, chosen: Positions | None
) -> None:
    size = access.bytes
    if offset.max(initial=0) + np.uint64(size) > limit or offset.max(initial=0) > limit:
        bad = (offset + np.uint64(size) > limit) | (offset > limit)
        kind: Kind = "out_of_bounds"
    elif size > 1 and int(np.bitwise_or.reduce(offset, axis=None)) & (size - 1):
        bad = (offset & np.uint64(size - 1)) != 0
        kind = "misaligned"
    else:
        return
    position = int(np.argmax(bad)) if bad.ndim else 0
    value = int(offset[position]) if bad.ndim else int(offset)
    if chosen is not None:
        position = int(chosen[position])
    message = f"{_what(access)} at address {value:#x} of {what}, "
    if kind == "out_of_bounds":
        message += f"which has {limit} bytes"
    else:
        message += f"not a multiple of {size}"
    raise running.fault(kind, message, access.code, access.instruction, int(group.threads[position]), value)


def _bad(access: Access, group: Group, running: RunningBlocks, position: int, address: int) -> Exception:
    thread = int(group.threads[position])
    size = access.bytes
    region = running.launch.regions.at(address)
    if region is not None and address + size <= region.base + region.size:
        message = f"{_what(access)} at {address:#x} ({region.name} + {address - region.base} bytes), not a multiple of {size}"
        return running.fault("misaligned", message, access.code, access.instruction, thread, address)
    message = f"{_what(access)} at {address:#x}, outside of every array"
    nearest = running.launch.regions.nearest(address)
    if nearest is not None:
        name, distance = nearest[0].name, nearest[1]
        side = f"{-distance} bytes before the start of {name}" if distance < 0 else f"{distance} bytes past the end of {name}"
        if region is not None:
            side = f"it starts in {name} and runs over its end"
        message += f": {side} ({nearest[0].size} bytes)"
    return running.fault("out_of_bounds", message, access.code, access.instruction, thread, address)


def _what(access: Access) -> str:
    verb = {"ld": "a read", "st": "a write"}.get(access.kind, "an atomic access")
    return f"{verb} of {access.bytes} bytes"


def check_writable(access: Access, pieces: list[Piece], group: Group, running: RunningBlocks) -> None:
    """Fault for a write to a constant or a parameter."""
    for chosen, region, _ in pieces:
        if not region.is_writable:
            position = 0 if chosen is None else int(chosen[0])
            message = f"{_what(access)} to {region.name}, which cannot be written"
            raise running.fault("read_only", message, access.code, access.instruction, int(group.threads[position]))
