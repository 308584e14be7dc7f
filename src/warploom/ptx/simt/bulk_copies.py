"""cp.async.bulk, its reductions, st.async and red.async (PTX ISA 9.7.9.12, 9.7.9.25.4, 9.7.13.7): the copy happens at once.

An mbarrier is told the bytes at once, too, and what the thread has done until then, the copy with it, is published to whoever
waits for the phase. Who does not wait races with the copy; the thread itself is told if it reads before a wait of this phase has
passed. What a copy out of shared memory reads must stay until its wait (`readers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.routine import TYPE_BITS
from warploom.ptx.simt import atomics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.mbarriers import decode_completion
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.proxies import check_read
from warploom.ptx.simt.races import granules_of, note_read, note_write
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.spaces import addresses, check_writable, resolve
from warploom.ptx.simt.threads import Threads
from warploom.ptx.syntax import Address, Integer, Name, Operand, operand_text

_PIECE = 16
"""Bytes: sizes and addresses are multiples."""
_WORDS = _PIECE // 4


def decode_bulk(site: Site) -> Step:
    """UnsupportedError for masks of bytes and for reductions into another block."""
    modifiers = [m for m in site.instruction.modifiers[2:] if m != "L2::cache_hint"]
    match modifiers:
        case ["prefetch", "L2", "global"]:
            return nothing
        case ["commit_group"]:
            return commit
        case ["wait_group", *_]:
            return wait_for_groups(site, "bulk")
        case ["shared::cluster" | "shared::cta" as to, "global", "mbarrier::complete_tx::bytes", *rest] if rest in (
            [], ["multicast::cluster"]
        ):  # fmt: skip
            return _copy(site, to, "global", is_counted=True, is_multicast=bool(rest))
        case ["shared::cluster", "shared::cta", "mbarrier::complete_tx::bytes"]:
            return _copy(site, "shared::cluster", "shared::cta", is_counted=True)
        case ["global", "shared::cta", "bulk_group"]:
            return _copy(site, "global", "shared::cta", is_counted=False)
        case _:
            raise site.unsupported(site.instruction.name)


def decode_reduction(site: Site) -> Step:
    """cp.reduce.async.bulk.global.shared::cta.bulk_group.OP.TYPE."""
    modifiers = [m for m in site.instruction.modifiers if m not in ("L2::cache_hint", "noftz")]
    match modifiers:
        case ["reduce", "async", "bulk", "global", "shared::cta", "bulk_group", operation, type_name]:
            kind = atomics.atomic(operation, type_name) if TYPE_BITS.get(type_name, 0) in (16, 32, 64) else None
            if kind is not None:
                return _copy(site, "global", "shared::cta", is_counted=False, reduction=kind)
        case _:
            pass
    raise site.unsupported(site.instruction.name)


def nothing(group: Group, running: RunningBlocks) -> None:
    """An instruction without effect here."""


def commit(group: Group, running: RunningBlocks) -> None:
    """cp.async.bulk.commit_group."""
    running.readers.committed("bulk", group.threads)


def wait_for_groups(site: Site, kind: Literal["bulk", "wgmma"]) -> Step:
    """A wait for all but some of the groups that each thread has committed."""
    operand = site.instruction.operands[0]
    if not isinstance(operand, Integer):
        raise site.wrong("an integer constant", operand_text(operand))
    left = operand.value

    def wait(group: Group, running: RunningBlocks) -> None:
        running.readers.waited(kind, group.threads, left, running)

    return wait


class _Side:
    """Bytes in one memory: their first and last pieces are looked up, the rest lies between."""

    def __init__(self, site: Site, operand: Operand, kind: str, space: str) -> None:
        if not isinstance(operand, Address):
            raise site.wrong("an address in brackets", operand_text(operand))
        name = f"end of a bulk {kind}"
        plain, is_far = space.partition("::")[0], space == "shared::cluster"
        self.first = access_of(site, operand, kind, 4, _WORDS, plain, is_strong=False)
        self.slot = site.extra(name, np.dtype(np.uint64))
        self.last = access_of(site, Address(Name(name), 0), kind, 4, _WORDS, plain, is_strong=False)
        self.word = access_of(site, operand, kind, 4, 1, plain, is_strong=False)
        for access in (self.first, self.last, self.word):
            access.reaches_cluster = is_far
            access.is_asynchronous = True

    def find(self, group: Group, size: int, running: RunningBlocks) -> tuple[Region, int]:
        """Region and first word; Fault where the bytes do not all lie in one array."""
        ((_, region, index),) = resolve(self.first, group, running)
        group.registers[self.slot] = addresses(self.first, group) + np.uint64(size - _PIECE)
        ((_, end, last),) = resolve(self.last, group, running)
        if self.first.kind == "st":
            check_writable(self.first, [(None, region, index)], group, running)
        first = int(np.ravel(index)[0])
        if end is not region or int(np.ravel(last)[0]) - first != size // 4 - _WORDS:
            message = f"a bulk copy of {size} bytes that does not end in the array where it begins"
            raise running.fault("out_of_bounds", message, self.first.code, self.first.instruction, int(group.threads[0]))
        return region, first


class Multicast:
    """The blocks of a cluster that get a copy, by a mask of their ranks."""

    def __init__(self, site: Site, mask: Operand) -> None:
        self.slot = site.sized(mask, "b16")
        self.code, self.index = site.code, site.index

    def blocks(self, one: Group, running: RunningBlocks) -> list[int]:
        """Blocks of the batch, for one thread; Fault for a rank that the cluster does not have."""
        mask = int(np.ravel(value_of(one.registers, self.slot))[0])
        size = running.launch.cluster_blocks
        if mask >> size:
            message = f"a copy to the blocks of the mask {mask:#x} in a cluster of {size}"
            raise running.fault("bad_call", message, self.code, self.index, int(one.threads[0]))
        first = int(running.block_of[one.threads[0]]) // size * size
        return [first + rank for rank in range(size) if mask >> rank & 1]


def _copy(
    site: Site, to: str, source: str, *, is_counted: bool, is_multicast: bool = False, reduction: atomics.Atomic | None = None
) -> Step:
    operands = site.instruction.operands
    sides = _Side(site, operands[0], "st", to), _Side(site, operands[1], "ld", source)
    if reduction is not None:
        sides[0].word.is_atomic = True
    sizes = site.sized(operands[2], "b32")
    complete = decode_completion(site, operands[3]) if is_counted else None
    several = Multicast(site, operands[4]) if is_multicast else None
    code, instruction = site.code, site.index

    def copy(group: Group, running: RunningBlocks) -> None:
        each = np.broadcast_to(value_of(group.registers, sizes), group.size).tolist()
        for position, size in enumerate(each):
            one = group if group.size == 1 else group.part(np.array([position]))
            if size % _PIECE:
                message = f"a bulk copy of {size} bytes, not a multiple of {_PIECE}"
                raise running.fault("misaligned", message, code, instruction, int(one.threads[0]))
            blocks = None if several is None else several.blocks(one, running)
            count = size // 4
            into: list[int] = []
            read: NDArray[np.int64] | None = None  # words of shared memory
            if size:
                (there, first), (here, begin) = (side.find(one, size, running) for side in sides)
                apart = running.launch.shared_stride // 4
                into = [first] if blocks is None else [first % apart + block * apart for block in blocks]
                if running.is_watching:
                    note_words(sides[1].word, here, _places(begin, count), one, running)
                words = here.views.by_width[4][begin : begin + count].copy()
                for start in into:
                    if running.is_watching:
                        note_words(sides[0].word, there, _places(start, count), one, running)
                    if reduction is None:
                        there.views.by_width[4][start : start + count] = words
                    else:
                        _reduce(reduction, there, start, words)
                read = _places(begin, count) if running.is_watching and here is running.shared else None
                if read is not None and complete is None:
                    running.readers.started("bulk", int(one.threads[0]), read, sides[1].word, running)
            if complete is not None:
                told = complete(one, size, running, blocks)
                if read is not None:
                    for phase in told:
                        running.readers.started("mbarrier", int(one.threads[0]), read, sides[1].word, running, phase=phase)
                if running.is_watching and size:
                    for start, (object_, parity) in zip(into, told, strict=True):
                        place = np.array([start])
                        running.copies.sent(one.threads, place, count, code.routine.span(instruction), object_, parity, running)

    return copy


def _places(first: int, count: int) -> NDArray[np.int64]:
    return np.arange(first, first + count, dtype=np.int64)


def _reduce(kind: atomics.Atomic, region: Region, start: int, words: NDArray[np.uint32]) -> None:
    width = TYPE_BITS[kind.type_name] // 8
    values = words.view(f"u{width}")
    memory = region.views.by_width[width]
    places = np.arange(len(values)) + start * 4 // width
    atomics.apply(kind, memory, places, values, values, wants_old=False)


def note_words(access: Access, region: Region, places: NDArray[np.int64], one: Group, running: RunningBlocks) -> None:
    """The thread has accessed all these words; as if by so many threads, since that is how accesses are noted."""
    for part in np.array_split(places, 2 if len(places) == running.total else 1):
        threads: Threads = np.repeat(one.threads, len(part))
        many = Group(threads, one.context, [])
        if access.kind == "ld":
            note_read(access, [(None, region, part)], many, running)
            if region is running.shared:
                check_read(access, granules_of(access, region, part, running.clock), one, running)
        else:
            note_write(access, [(None, region, part)], None, many, running)


def _stores(site: Site) -> Step:
    """st.async and red.async: words into another block, whose mbarrier counts their bytes."""
    modifiers = [m for m in site.instruction.modifiers if m not in ("weak", "relaxed", "cluster", "shared::cluster")]
    elements = 1
    if modifiers[-2:-1] in (["v2"], ["v4"]):
        elements = int(modifiers.pop(-2)[1:])
    is_reduction = site.instruction.opcode == "red"
    kind = None
    match modifiers:
        case ["async", "mbarrier::complete_tx::bytes", type_name] if not is_reduction and TYPE_BITS.get(type_name) in (32, 64):
            pass
        case ["async", "mbarrier::complete_tx::bytes", operation, type_name] if is_reduction and TYPE_BITS.get(type_name) in (
            32,
            64,
        ):
            kind = atomics.atomic(operation, type_name)
            if kind is None or operation in ("cas", "exch") or type_name.startswith("f"):
                raise site.unsupported(site.instruction.name)
        case _:
            raise site.unsupported(site.instruction.name)
    operands = site.instruction.operands
    if len(operands) != 3 or not isinstance(operands[0], Address):
        raise site.wrong("an address, a value and an mbarrier", f"{len(operands)} operands")
    width = TYPE_BITS[type_name] // 8
    access = access_of(site, operands[0], "atom" if is_reduction else "st", width, elements, "shared", is_strong=is_reduction)
    access.reaches_cluster = access.is_asynchronous = True
    slots = [site.sized(part, type_name) for part in site.elements(operands[1])]
    if len(slots) != elements:
        raise site.wrong(f"{elements} sources", str(len(slots)))
    complete = decode_completion(site, operands[2])
    span = site.code.routine.span(site.index)

    def store(group: Group, running: RunningBlocks) -> None:
        pieces = resolve(access, group, running)
        ((_, region, index),) = pieces
        values = [value_of(group.registers, slot) for slot in slots]
        if running.is_watching:
            note_write(access, pieces, None if is_reduction else values, group, running)
        words, places = region.views.by_width[width], np.broadcast_to(index, group.size)
        for element, value in enumerate(values):
            if kind is None:
                words[places + element] = value
            else:
                atomics.apply(kind, words, places, value, value, wants_old=False)
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            ((object_, parity),) = complete(one, width * elements, running, None)
            if running.is_watching:
                first = np.array([places[position] * width // 4])
                running.copies.sent(one.threads, first, width * elements // 4, span, object_, parity, running)

    return store


DECODERS: dict[str, Callable[[Site], Step]] = {"st.async": _stores, "red.async": _stores}
