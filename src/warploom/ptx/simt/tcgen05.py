"""tcgen05: tensor memory, its loads and stores, and commits (PTX ISA 9.7.16); products are in `tensor_products`.

Who loads or stores cells of a product before a wait for its commit has passed is reported. Other orders between threads in
tensor memory are not looked at. For one block (`cta_group::1`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import Multicast, nothing
from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.matrix import require_whole_warps
from warploom.ptx.simt.mbarriers import decode_completion
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_write
from warploom.ptx.simt.spaces import resolve
from warploom.ptx.simt.tensor_fills import decode_fill
from warploom.ptx.simt.tensor_memory import COLUMNS, LEAST, check_columns, fragment, tensor_address
from warploom.ptx.simt.tensor_products import decode_product
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Integer, Operand, operand_text

_NUMBERS = frozenset(f"x{1 << n}" for n in range(8))


def decode(site: Site) -> Step:
    """UnsupportedError for pairs of blocks, sparse products, `shift` and `ld.red`."""
    modifiers = [m for m in site.instruction.modifiers if m not in ("sync", "aligned", "cta_group::1")]
    match modifiers:
        case ["alloc", *space, "b32"] if space in ([], ["shared::cta"]):
            return _allocate(site, "shared" if space else "")
        case ["dealloc", "b32"]:
            return _free(site)
        case ["relinquish_alloc_permit"] | ["wait::ld" | "wait::st"] | [
            "fence::before_thread_sync" | "fence::after_thread_sync"
        ]:  # fmt: skip
            return nothing
        case ["ld", shape, number, *rest, "b32"] if number in _NUMBERS and rest in ([], ["pack::16b"]):
            return _load(site, shape, int(number[1:]), is_packed=bool(rest))
        case ["st", shape, number, *rest, "b32"] if number in _NUMBERS and rest in ([], ["unpack::16b"]):
            return _store(site, shape, int(number[1:]), is_packed=bool(rest))
        case ["mma", *rest] if rest:
            return decode_product(site, rest)
        case ["cp", *rest] if rest:
            return decode_fill(site, rest)
        case ["commit", "mbarrier::arrive::one", *rest, "b64"] if set(rest) <= {"shared::cluster", "multicast::cluster"}:
            return _commit(site, is_multicast="multicast::cluster" in rest)
        case _:
            raise site.unsupported(site.instruction.name)  # fmt: skip


def _warps(group: Group) -> Iterator[tuple[int, Group]]:
    """The place of each warp's first lane in the group, and that lane alone."""
    _, firsts = np.unique(group.threads >> 5, return_index=True)
    for position in firsts.tolist():
        yield position, group.part(np.array([position]), ()) if group.size > 1 else group


def _allocate(site: Site, space: str) -> Step:
    address, count = site.instruction.operands
    if not isinstance(address, Address):
        raise site.wrong("an address in brackets", operand_text(address))
    access = access_of(site, address, "st", 4, 1, space, is_strong=False)
    slot = site.sized(count, "b32")
    code, index = site.code, site.index

    def allocate(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        wanted = np.broadcast_to(value_of(group.registers, slot), group.size)
        for position, _ in _warps(group):
            one = group.part(np.array([position]))
            thread, number = int(one.threads[0]), int(wanted[position])
            if number not in (32, 64, 128, 256, 512):
                message = f"an allocation of {number} columns, not a power of two from {LEAST} to {COLUMNS}"
                raise running.fault("bad_call", message, code, index, thread)
            first = running.tensor_memory.allocate(int(running.block_of[thread]), number, code, index, thread)
            if first is None:
                message = f"an allocation of {number} columns where the block holds too many of the {COLUMNS}: it waits forever"
                raise running.fault("bad_call", message, code, index, thread)
            pieces = resolve(access, one, running)
            ((_, region, place),) = pieces
            if running.is_watching:
                note_write(access, pieces, [np.array(first, np.uint32)], one, running)
            region.views.by_width[4][place] = first

    return allocate


def _free(site: Site) -> Step:
    address, count = (site.sized(operand, "b32") for operand in site.instruction.operands)
    code, index = site.code, site.index

    def free(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        at, wanted = (np.broadcast_to(value_of(group.registers, slot), group.size) for slot in (address, count))
        for position, one in _warps(group):
            thread = int(one.threads[0])
            first, number = int(at[position]), int(wanted[position])
            if not running.tensor_memory.free(int(running.block_of[thread]), first, number):
                message = f"{number} columns from {first:#x} on are freed, which were not allocated so"
                raise running.fault("bad_call", message, code, index, thread)
            if running.launch.checks:
                _check_unused(site, thread, running)

    return free


def _check_unused(site: Site, thread: int, running: RunningBlocks) -> None:
    """Reports columns that are freed where nothing orders another warp's access before."""
    mine = int(running.block_of[thread])
    for (block, warp), (other, time, span) in running.tensor_memory.touched.items():
        if block != mine or warp == thread >> 5:
            continue
        if not running.clock.is_ordered(np.array([other]), np.array([time]), np.array([thread]))[0]:
            _, (x, y, z) = running.coordinates(other)
            message = f"tensor memory is freed, which thread {x},{y},{z} may still use: no barrier lies between"
            running.report("shared_race", message, site.code, site.index, thread, others=(("the access", span),))
            return


class _Cells:
    """The cells that ld and st reach."""

    def __init__(
        self, site: Site, shape: str, number: int, address: Operand, split: Operand | None, *, is_packed: bool, stores: bool
    ) -> None:
        distance = 0
        if split is not None:
            if not isinstance(split, Integer):
                raise site.wrong("an integer constant", operand_text(split))
            distance = split.value
        found = fragment(shape, number, distance)
        if found is None or (split is None) == (shape == "16x32bx2"):
            raise site.unsupported(site.instruction.name)
        if not isinstance(address, Address):
            raise site.wrong("an address in brackets", operand_text(address))
        self.site, self.stores = site, stores
        self.rows, self.columns = found
        self.registers = self.rows.shape[1]
        self.lanes = 16 if shape.startswith("16") else 32
        self.apart = 2 if is_packed else 1
        """Columns for each column of the fragment: packed ones hold 16 bits each."""
        self.address = tensor_address(site, address)

    def of_warps(self, group: Group, running: RunningBlocks) -> Iterator[tuple[int, NDArray[np.uint32], Value, Value]]:
        """Number of the warp's row in the layout, the block's cells, lanes and columns [32, registers]."""
        at = np.broadcast_to(self.address(group), group.size)
        memory = running.tensor_memory
        wide = int(self.columns.max() + 1) * self.apart
        for number, (position, one) in enumerate(_warps(group)):
            thread = int(one.threads[0])
            block = int(running.block_of[thread])
            lane, column = int(at[position]) >> 16, int(at[position]) & 0xFFFF
            quarter = 32 * ((thread % running.padded_threads >> 5) % 4)
            site = self.site
            if lane not in (quarter, quarter + 32 - self.lanes):
                message = f"lanes from {lane} on of tensor memory, of which this warp reaches {quarter} to {quarter + 31}"
                raise running.fault("bad_call", message, site.code, site.index, thread)
            check_columns(site, block, column, wide, thread, running)
            lanes, columns = lane + self.rows, column + self.apart * self.columns
            self._check_waited(block, lanes, columns, thread, running)
            if running.launch.checks:
                memory.touched[block, thread >> 5] = thread, running.clock.now, site.code.routine.span(site.index)
            yield number, memory.cells(block), lanes, columns

    def _check_waited(
        self, block: int, lanes: NDArray[np.int64], columns: NDArray[np.int64], thread: int, running: RunningBlocks
    ) -> None:
        """Reports an access to what a product that nobody has waited for writes, or a store to what it reads."""
        if not running.launch.checks:
            return
        if self.apart > 1:
            lanes, columns = np.concatenate([lanes, lanes], 1), np.concatenate([columns, columns + 1], 1)
        flight = running.tensor_memory.under_way(block, lanes, columns, stores=self.stores)
        if flight is None:
            return
        site = self.site
        message = f"an access to columns {columns.min()} to {columns.max()} of tensor memory, "
        message += "which a product may still read" if flight.reads else "to which a product may be under way"
        running.report(
            "early_copy_read", message, site.code, site.index, thread, others=(("the product", flight.span),), count=32
        )  # fmt: skip


def _load(site: Site, shape: str, number: int, *, is_packed: bool) -> Step:
    target, address, *split = site.instruction.operands
    cells = _Cells(site, shape, number, address, split[0] if split else None, is_packed=is_packed, stores=False)
    slots = [site.register(part, "b32") for part in site.elements(target)]
    if len(slots) != cells.registers:
        raise site.wrong(f"{cells.registers} destinations", str(len(slots)))

    def load(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        found = np.zeros((group.layout.count, 32, len(slots)), np.uint32)
        for warp, memory, lanes, columns in cells.of_warps(group, running):
            found[warp] = memory[lanes, columns]
            if is_packed:
                found[warp] = (found[warp] & np.uint32(0xFFFF)) | memory[lanes, columns + 1] << np.uint32(16)
        for place, slot in enumerate(slots):
            group.registers[slot] = group.layout.lanes(found[..., place])

    return load


def _store(site: Site, shape: str, number: int, *, is_packed: bool) -> Step:
    address, *rest = site.instruction.operands
    source = rest.pop()
    cells = _Cells(site, shape, number, address, rest[0] if rest else None, is_packed=is_packed, stores=True)
    slots = [site.sized(part, "b32") for part in site.elements(source)]
    if len(slots) != cells.registers:
        raise site.wrong(f"{cells.registers} sources", str(len(slots)))

    def store(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        given = np.stack([group.layout.full_rows(value_of(group.registers, slot)) for slot in slots], axis=-1)
        for warp, memory, lanes, columns in cells.of_warps(group, running):
            if is_packed:
                memory[lanes, columns] = given[warp] & np.uint32(0xFFFF)
                memory[lanes, columns + 1] = given[warp] >> np.uint32(16)
            else:
                memory[lanes, columns] = given[warp]

    return store


def _commit(site: Site, *, is_multicast: bool) -> Step:
    operands = site.instruction.operands
    if len(operands) != 1 + is_multicast:
        raise site.wrong(f"{1 + is_multicast} operands", str(len(operands)))
    complete = decode_completion(site, operands[0], arrives=True)
    several = Multicast(site, operands[1]) if is_multicast else None

    def commit(group: Group, running: RunningBlocks) -> None:
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            blocks = None if several is None else several.blocks(one, running)
            for place, parity in complete(one, 0, running, blocks):
                running.tensor_memory.committed(int(one.threads[0]), place, parity)

    return commit


DECODERS: dict[str, Callable[[Site], Step]] = {"tcgen05": decode}
