"""ld, st: addresses to places, words in and out of registers (PTX ISA 9.7.10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.ptx.routine import TYPE_BITS
from warploom.ptx.simt.analysis import reads_own_memory
from warploom.ptx.simt.arithmetic import widened
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.order_of_threads import BLOCK, CLUSTER, WIDE
from warploom.ptx.simt.own_memory import marks_of_load, note_written
from warploom.ptx.simt.races import enlist, note_discard, note_read, note_write
from warploom.ptx.simt.spaces import check_writable, resolve
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Instruction, Integer, Name, operand_text

_SPACES = ("const", "global", "local", "param", "shared")
LINE_BYTES = 128
_GONE: Value = np.array(0xA5A5A5A5A5A5A5A5, np.uint64)
"""The content of a discarded word, so that a result which depends on it differs."""
_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))
_SCOPES = {"cta": BLOCK, "cluster": CLUSTER}
"""Scopes that do not hold every thread."""
_HINTS = frozenset(
    (
        "weak", "gpu", "cta", "cluster", "sys", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L2::cache_hint", "L2::64B",
        "L2::128B", "L2::256B", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
        "L2::evict_normal", "L2::evict_first", "L2::evict_last", "unified",
    )
)  # fmt: skip


def scope_of(instruction: Instruction) -> int:
    """The scope that a strong access or a fence names; all threads without one."""
    return min((_SCOPES[m] for m in instruction.modifiers if m in _SCOPES), default=WIDE)


def access_of(site: Site, address: Address, kind: str, width: int, elements: int, space: str, *, is_strong: bool) -> Access:
    """The place that an address operand names; kind is ld, st, atom or red."""
    base = address.base
    offset = address.offset
    slot = -1
    if isinstance(base, Name) and base.text in site.code.slots:
        slot = site.code.slots[base.text]
    elif isinstance(base, Name):
        found = site.launch.space_of(base.text, site.code)
        if base.text in site.code.frame_offsets:
            offset += site.code.frame_offsets[base.text]
            space = "frame" if space in ("local", "param", "") else space
        else:
            offset += site.launch.address_of(base.text, site.code, site.index)
            if not space:
                space = found or ""
    elif isinstance(base, Integer):
        offset += base.value
    else:
        raise site.wrong("an address", operand_text(base))
    if space == "param" and not site.code.routine.is_entry:
        space = "local"
    access = Access(site.code, site.index, kind, space, slot, offset, width, elements, is_strong)
    access.is_cached = "nc" in site.instruction.modifiers
    access.is_atomic = kind == "atom"
    access.scope = scope_of(site.instruction) if is_strong else WIDE
    access.reaches_cluster = "shared::cluster" in site.instruction.modifiers
    access.acquires = not {"acquire", "acq_rel", "sc"}.isdisjoint(site.instruction.modifiers)
    enlist(access, site.launch.accesses)
    return access


def _modifiers(site: Site) -> tuple[str, int, str, bool]:
    """State space, elements, type, whether it is volatile or ordered."""
    space, elements, type_name, is_strong = "", 1, "", False
    for modifier in site.instruction.modifiers:
        plain = modifier.partition("::")[0]
        if plain in _SPACES:
            space = plain
        elif modifier in ("v2", "v4", "v8"):
            elements = int(modifier[1:])
        elif modifier in _STRONG:
            is_strong = True
        elif modifier in TYPE_BITS:
            type_name = modifier
        elif modifier not in _HINTS:
            raise site.unsupported(f"modifier .{modifier} in {site.instruction.name}")
    if not type_name or TYPE_BITS[type_name] not in (8, 16, 32, 64):
        raise site.unsupported(site.instruction.name)
    return space, elements, type_name, is_strong


def _load(site: Site) -> Step:
    space, elements, type_name, is_strong = _modifiers(site)
    target, address = site.instruction.operands[:2]
    if not isinstance(address, Address):
        raise site.wrong("an address in brackets", operand_text(address))
    width = TYPE_BITS[type_name] // 8
    access = access_of(site, address, "ld", width, elements, space, is_strong=is_strong)
    parts = site.elements(target)
    if len(parts) != elements:
        raise site.wrong(f"{elements} destinations", str(len(parts)))
    slots = [(site.register(part), site.dtype(site.register(part))) for part in parts]
    is_signed = type_name.startswith("s")
    owned = reads_own_memory(site.code.routine, site.instruction)
    marks = [(n, site.code.undefined[slot]) for n, (slot, _) in enumerate(slots) if owned and slot in site.code.undefined]
    for part, (_, dtype) in zip(parts, slots, strict=True):
        if dtype.itemsize < width and part != Name("_"):
            raise site.wrong(f"a destination of at least {8 * width} bits", f"one of {8 * dtype.itemsize}")
    if elements == 1 and slots[0][1].itemsize == width:
        slot = slots[0][0]

        def load(group: Group, running: RunningBlocks) -> None:
            running.polls += is_strong
            pieces = resolve(access, group, running)
            if running.is_watching:
                note_read(access, pieces, group, running)
            if running.launch.counter is not None:
                running.launch.counter.access(access, pieces, group, running)
            if len(pieces) == 1:
                _, region, index = pieces[0]
                group.registers[slot] = region.views.by_width[width].take(index)
            else:
                group.registers[slot] = _gathered(pieces, width, 0, group.size)
            if marks and running.launch.checks:
                group.registers[marks[0][1]] = marks_of_load(access, pieces, 0, group, running)

        return load

    def load_all(group: Group, running: RunningBlocks) -> None:
        running.polls += is_strong
        pieces = resolve(access, group, running)
        if running.is_watching:
            note_read(access, pieces, group, running)
        if running.launch.counter is not None:
            running.launch.counter.access(access, pieces, group, running)
        for position, (slot, dtype) in enumerate(slots):
            value = _gathered(pieces, width, position, group.size)
            group.registers[slot] = value if dtype == value.dtype else widened(value, dtype, is_signed)
        for position, shadow in marks if running.launch.checks else ():
            group.registers[shadow] = marks_of_load(access, pieces, position, group, running)

    return load_all


def _gathered(pieces: list[Any], width: int, position: int, size: int) -> Value:
    if len(pieces) == 1:
        _, region, index = pieces[0]
        return region.views.by_width[width][index + position]
    value: Value | None = None
    for chosen, region, index in pieces:
        words = region.views.by_width[width]
        if value is None:
            value = np.zeros(size, words.dtype)
        value[chosen] = words[index + position]
    assert value is not None
    return value


def _store(site: Site) -> Step:
    space, elements, type_name, is_strong = _modifiers(site)
    address, source = site.instruction.operands[:2]
    if not isinstance(address, Address):
        raise site.wrong("an address in brackets", operand_text(address))
    width = TYPE_BITS[type_name] // 8
    access = access_of(site, address, "st", width, elements, space, is_strong=is_strong)
    parts = site.elements(source)
    if len(parts) != elements:
        raise site.wrong(f"{elements} sources", str(len(parts)))
    slots = [site.source(part, type_name) for part in parts]
    for slot in slots:
        if site.dtype(slot).itemsize < width:
            raise site.wrong(f"a source of at least {8 * width} bits", f"one of {8 * site.dtype(slot).itemsize}")

    is_own = space in ("", "local") and any(v.space == "local" for v in site.code.routine.variables.values())
    is_own = is_own or not site.code.routine.is_entry
    marks = [site.code.undefined.get(slot, -1) for slot in slots]
    is_fence = "release" in site.instruction.modifiers

    def store(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        pieces = resolve(access, group, running)
        check_writable(access, pieces, group, running)
        if running.launch.counter is not None:
            running.launch.counter.access(access, pieces, group, running)
        if is_fence and running.is_watching:
            running.clock.release(group.threads, scope=access.scope)
        if running.is_watching:
            note_write(access, pieces, [value_of(registers, slot) for slot in slots], group, running)
        for position, slot in enumerate(slots):
            value = value_of(registers, slot)
            for chosen, region, index in pieces:
                words = region.views.by_width[width]
                part = value if value.ndim == 0 or chosen is None else value[chosen]
                if index.ndim == 0 and part.ndim:
                    part = part[-1]
                words[index + position if position else index] = part if part.dtype == words.dtype else part.astype(words.dtype)
            if is_own and running.launch.checks:
                shadow = marks[position]
                note_written(access, pieces, position, registers[shadow] if shadow >= 0 else None, running)

    return store


def _discard(site: Site) -> Step:
    """discard: what the line holds is undefined until the next store (PTX ISA 9.7.9.17)."""
    address, size = site.instruction.operands[:2]
    if not isinstance(address, Address):
        raise site.wrong("an address in brackets", operand_text(address))
    if size != Integer(LINE_BYTES):
        raise site.wrong(f"a line of {LINE_BYTES} bytes", operand_text(size))
    space = "global" if "global" in site.instruction.modifiers else ""
    access = access_of(site, address, "st", 8, LINE_BYTES // 8, space, is_strong=False)

    def discard(group: Group, running: RunningBlocks) -> None:
        pieces = resolve(access, group, running)
        check_writable(access, pieces, group, running)
        if running.is_watching:
            note_write(access, pieces, [_GONE for _ in range(access.elements)], group, running)
            note_discard(access, pieces, running)
        for _, region, index in pieces:
            for position in range(access.elements):
                region.views.by_width[8][index + position] = _GONE

    return discard


DECODERS: dict[str, Callable[[Site], Step]] = {"ld": _load, "ldu": _load, "st": _store, "discard": _discard}
