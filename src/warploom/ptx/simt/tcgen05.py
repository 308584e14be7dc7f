"""tcgen05: products in tensor memory, and its loads and stores (PTX ISA 9.7.16). Products are there at once.

Who loads or stores columns of a product before a wait for its commit has passed is reported. Other orders between threads in
tensor memory are not looked at. For one block (`cta_group::1`), dense, without scale factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt import numerics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import Multicast, note_words, nothing
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.descriptors import fetch
from warploom.ptx.simt.matrix import require_whole_warps
from warploom.ptx.simt.mbarriers import decode_completion
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_write
from warploom.ptx.simt.spaces import resolve
from warploom.ptx.simt.tensor_memory import COLUMNS, LANES, LEAST, fragment
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.wgmma import DEPTH_BYTES, negated
from warploom.ptx.syntax import Address, Integer, Operand, operand_text

_NUMBERS = frozenset(f"x{1 << n}" for n in range(8))
_KINDS: dict[str, dict[int, str]] = {
    "kind::f16": {0: "f16", 1: "bf16"}, "kind::tf32": {2: "tf32"}, "kind::f8f6f4": {0: "e4m3", 1: "e5m2"},
    "kind::i8": {0: "u8", 1: "s8"},
}  # fmt: skip
"""Types of A and B by their numbers in the instruction descriptor."""
_SUMS = {0: "f16", 1: "f32", 2: "s32"}
_SUMS_OF = {"kind::f16": (0, 1), "kind::tf32": (1,), "kind::f8f6f4": (0, 1), "kind::i8": (2,)}


def decode(site: Site) -> Step:
    """UnsupportedError for pairs of blocks, sparse and scaled products, `cp`, `shift` and `ld.red`."""
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
        case ["mma", kind, *rest] if kind in _KINDS and rest in (
            [],
            ["collector::a::lastuse"],
            ["collector::a::discard"],
            ["collector::a::fill"],
            ["collector::a::use"],
        ):
            return _multiply(site, kind)
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

    return free


class _Cells:
    """The cells that ld and st reach."""

    def __init__(self, site: Site, shape: str, number: int, address: Operand, split: Operand | None, *, is_packed: bool) -> None:
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
        self.site = site
        self.rows, self.columns = found
        self.registers = self.rows.shape[1]
        self.lanes = 16 if shape.startswith("16") else 32
        self.apart = 2 if is_packed else 1
        """Columns for each column of the fragment: packed ones hold 16 bits each."""
        self.address = _tensor_address(site, address)

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
            _check_columns(site, block, column, wide, thread, running)
            span = memory.under_way(block, (column, column + wide))
            if span is not None and running.launch.checks:
                message = (
                    f"an access to columns {column} to {column + wide - 1} of tensor memory, to which a product may be under way"
                )
                running.report(
                    "early_copy_read", message, site.code, site.index, thread, others=(("the product", span),), count=32
                )  # fmt: skip
            yield number, memory.cells(block), lane + self.rows, column + self.apart * self.columns


def _check_columns(site: Site, block: int, column: int, count: int, thread: int, running: RunningBlocks) -> None:
    if not running.tensor_memory.holds(block, column, count):
        message = f"columns {column} to {column + count - 1} of tensor memory, which the block has not all allocated"
        raise running.fault("out_of_bounds", message, site.code, site.index, thread)


def _tensor_address(site: Site, address: Address) -> Callable[[Group], Value]:
    """The address of each thread, u32."""
    slot = site.sized(address.base, "b32") if not isinstance(address.base, Integer) else -1
    offset = np.uint32((address.offset + (address.base.value if isinstance(address.base, Integer) else 0)) & 0xFFFFFFFF)
    constant: Value = np.array(offset, np.uint32)
    return lambda group: constant if slot < 0 else value_of(group.registers, slot) + constant


def _load(site: Site, shape: str, number: int, *, is_packed: bool) -> Step:
    target, address, *split = site.instruction.operands
    cells = _Cells(site, shape, number, address, split[0] if split else None, is_packed=is_packed)
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
    cells = _Cells(site, shape, number, address, rest[0] if rest else None, is_packed=is_packed)
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


class _Product:
    """The fields of an instruction descriptor (PTX ISA 9.7.16.4.2, table of .kind::tf32 to .kind::i8)."""

    def __init__(self, word: int, kind: str) -> None:
        self.problem = ""
        types = _KINDS[kind]
        self.a_type, self.b_type = types.get(word >> 7 & 7, ""), types.get(word >> 10 & 7, "")
        self.sum_type = _SUMS.get(word >> 4 & 3, "") if word >> 4 & 3 in _SUMS_OF[kind] else ""
        self.saturates = bool(word >> 3 & 1)
        self.negated = bool(word >> 13 & 1), bool(word >> 14 & 1)
        self.turned = bool(word >> 15 & 1), bool(word >> 16 & 1)
        self.n, self.m = 8 * (word >> 17 & 63), 16 * (word >> 24 & 31)
        if word & 7 or word >> 30:
            self.problem = "a sparse matrix or a shift"
        elif not (self.a_type and self.b_type and self.sum_type):
            self.problem = f"types {word >> 7 & 7} and {word >> 10 & 7}, of the sum {word >> 4 & 3}"
        elif self.m not in (64, 128) or not self.n or self.n > 256 or self.n % (8 if self.m == 64 else 16):
            self.problem = f"the shape {self.m} by {self.n}"
        elif self.saturates and kind != "kind::i8":
            self.problem = "saturation of floats"
        elif any(self.turned) and kind == "kind::tf32":
            self.problem = "elements of 32 bits along the rows"

    def lanes(self, first: int) -> NDArray[np.int64]:
        """Lane of each row."""
        rows = np.arange(self.m)
        return first + (rows if self.m == LANES else rows // 16 * 32 + rows % 16)


def _multiply(site: Site, kind: str) -> Step:
    target, a, b, instruction, *rest = site.instruction.operands
    if len(rest) != 1 or not isinstance(target, Address):
        raise site.unsupported(f"{site.instruction.name} with lanes that are left out or a scale")
    into = _tensor_address(site, target)
    left_cells = _tensor_address(site, a) if isinstance(a, Address) else None
    left_slot = site.sized(a, "b64") if left_cells is None else -1
    right_slot, described, adds = site.sized(b, "b64"), site.sized(instruction, "b32"), site.sized(rest[0], "pred")
    access = access_of(site, Address(Integer(0), 0), "ld", 4, 1, "shared", is_strong=False)
    code, index = site.code, site.index

    def each(group: Group, slot: int) -> Value:
        return np.broadcast_to(value_of(group.registers, slot), group.size)

    def multiply(group: Group, running: RunningBlocks) -> None:
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            thread = int(one.threads[0])
            word = int(each(one, described)[0])
            product = _Product(word, kind)
            if product.problem:
                message = f"an instruction descriptor {word:#010x} with {product.problem}, which the interpreter does not know"
                raise running.fault("bad_call", message, code, index, thread)
            block = int(running.block_of[thread])
            size = numerics.scalar_type(product.a_type).bits // 8
            deep = DEPTH_BYTES // size
            at = int(np.ravel(into(one))[0])
            lane, column = at >> 16, at & 0xFFFF
            if lane not in ((0,) if product.m == LANES else (0, 16)):
                raise running.fault("bad_call", f"a product from lane {lane} of tensor memory on", code, index, thread)
            _check_columns(site, block, column, product.n, thread, running)
            wanted = (product.n, deep, size)
            right, *read = _from_shared(access, each(one, right_slot), wanted, block, one, running, product.turned[1])
            if left_cells is None:
                wanted = (product.m, deep, size)
                left, words = _from_shared(access, each(one, left_slot), wanted, block, one, running, product.turned[0])
                read.append(words)
            else:
                left = _from_cells(site, int(np.ravel(left_cells(one))[0]), product, size, block, thread, running)
            left, right = (negated(m) if n else m for m, n in zip((left, right), product.negated, strict=True))
            cells = running.tensor_memory.cells(block)
            where = np.ix_(product.lanes(lane), np.arange(column, column + product.n))
            old = cells[where] if bool(each(one, adds)[0]) else np.zeros((product.m, product.n), np.uint32)
            types = product.sum_type, product.a_type, product.b_type, product.sum_type
            addend = old.astype(np.uint16) if product.sum_type == "f16" else old
            cells[where] = numerics.product_sum(types, left, right.T, addend, satfinite=product.saturates)
            if running.launch.checks:
                number = running.tensor_memory.started(thread, block, (column, column + product.n), code.routine.span(index))
                for words in read:
                    running.readers.started("tcgen05", thread, words, access, running, number=number)

    return multiply


def _from_shared(
    access: Access, word: Value, shape: tuple[int, int, int], block: int, one: Group, running: RunningBlocks, is_mn_major: bool
) -> tuple[Value, NDArray[np.int64]]:
    """The matrix, and the words of shared memory that hold it."""
    places, words = fetch(access, int(word[0]), shape, block, one, running, is_mn_major=is_mn_major, is_blackwell=True)
    if running.is_watching:
        note_words(access, running.shared, words, one, running)
    return running.shared.views.by_width[shape[2]][places // shape[2]], words


def _from_cells(site: Site, address: int, product: _Product, size: int, block: int, thread: int, running: RunningBlocks) -> Value:
    """A, whose rows lie in lanes and whose elements fill columns."""
    lane, column = address >> 16, address & 0xFFFF
    wide = DEPTH_BYTES // 4
    if lane not in ((0,) if product.m == LANES else (0, 16)):
        raise running.fault("bad_call", f"a matrix from lane {lane} of tensor memory on", site.code, site.index, thread)
    _check_columns(site, block, column, wide, thread, running)
    found = running.tensor_memory.cells(block)[np.ix_(product.lanes(lane), np.arange(column, column + wide))]
    return np.ascontiguousarray(found).view(f"u{size}")


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
