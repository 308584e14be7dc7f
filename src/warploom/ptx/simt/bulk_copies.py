"""cp.async.bulk between global memory and the block's shared memory (PTX ISA 9.7.9.25.4): the copy happens at once.

An mbarrier is told the bytes at once, too, and what the thread has done until then, the copy with it, is published to whoever
waits for the phase. Who does not wait races with the copy; the thread itself is told if it reads before a wait of this phase has
passed. Copies out of shared memory are finished when they are issued: that their source is overwritten too early is not seen.
"""

from __future__ import annotations

import numpy as np

from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.mbarriers import decode_completion
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_read, note_write
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.spaces import addresses, check_writable, resolve
from warploom.ptx.simt.threads import Threads
from warploom.ptx.syntax import Address, Name, Operand, operand_text

_PIECE = 16
"""Bytes: sizes and addresses are multiples."""
_WORDS = _PIECE // 4


def decode_bulk(site: Site) -> Step:
    """UnsupportedError for copies between blocks of a cluster, reductions and tensor copies."""
    modifiers = [m for m in site.instruction.modifiers[2:] if m != "L2::cache_hint"]
    match modifiers:
        case ["commit_group"] | ["wait_group", *_] | ["prefetch", "L2", "global"]:
            return _nothing
        case ["shared::cluster" | "shared::cta", "global", "mbarrier::complete_tx::bytes"]:
            return _copy(site, "shared", "global", is_counted=True)
        case ["global", "shared::cta", "bulk_group"]:
            return _copy(site, "global", "shared", is_counted=False)
        case _:
            raise site.unsupported(site.instruction.name)


def _nothing(group: Group, running: RunningBlocks) -> None:
    pass


class _Side:
    """Bytes in one memory: their first and last pieces are looked up, the rest lies between."""

    def __init__(self, site: Site, operand: Operand, kind: str, space: str) -> None:
        if not isinstance(operand, Address):
            raise site.wrong("an address in brackets", operand_text(operand))
        name = f"end of a bulk {kind}"
        self.first = access_of(site, operand, kind, 4, _WORDS, space, is_strong=False)
        self.slot = site.extra(name, np.dtype(np.uint64))
        self.last = access_of(site, Address(Name(name), 0), kind, 4, _WORDS, space, is_strong=False)
        self.word = access_of(site, operand, kind, 4, 1, space, is_strong=False)

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


def _copy(site: Site, to: str, source: str, *, is_counted: bool) -> Step:
    operands = site.instruction.operands
    sides = _Side(site, operands[0], "st", to), _Side(site, operands[1], "ld", source)
    sizes = site.sized(operands[2], "b32")
    complete = decode_completion(site, operands[3]) if is_counted else None
    code, instruction = site.code, site.index
    span = code.routine.span(instruction)

    def copy(group: Group, running: RunningBlocks) -> None:
        each = np.broadcast_to(value_of(group.registers, sizes), group.size).tolist()
        for position, size in enumerate(each):
            one = group if group.size == 1 else group.part(np.array([position]))
            if size % _PIECE:
                message = f"a bulk copy of {size} bytes, not a multiple of {_PIECE}"
                raise running.fault("misaligned", message, code, instruction, int(one.threads[0]))
            into, count = 0, size // 4
            if size:
                (there, into), (here, begin) = (side.find(one, size, running) for side in sides)
                if running.is_watching:
                    for side, region, word in ((sides[1], here, begin), (sides[0], there, into)):
                        _note(side.word, region, word, count, one, running)
                words = here.views.by_width[4]
                there.views.by_width[4][into : into + count] = words[begin : begin + count]
            if complete is not None:
                object_, parity = complete(one, size, running)
                if running.is_watching and size:
                    running.copies.sent(one.threads, np.array([into]), count, span, object_, parity, running)

    return copy


def _note(access: Access, region: Region, word: int, count: int, one: Group, running: RunningBlocks) -> None:
    """The thread has accessed all these words; as if by so many threads, since that is how accesses are noted."""
    places = np.arange(word, word + count)
    for part in np.array_split(places, 2 if count == running.total else 1):
        threads: Threads = np.repeat(one.threads, len(part))
        many = Group(threads, one.context, [])
        if access.kind == "ld":
            note_read(access, [(None, region, part)], many, running)
        else:
            note_write(access, [(None, region, part)], None, many, running)
