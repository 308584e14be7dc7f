"""mov and its like: registers, packing, addresses, generic addresses (PTX ISA 9.7.10)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warploom.ptx.routine import TYPE_BITS
from warploom.ptx.simt.accesses import scope_of
from warploom.ptx.simt.clusters import in_generic_window
from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.operands import DTYPES, Site, value_of
from warploom.ptx.simt.proxies import fenced
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.windows import LOCAL_WINDOW, LOCAL_WINDOW_BYTES, SHARED_WINDOW, SHARED_WINDOW_BYTES
from warploom.ptx.syntax import Operand, Vector


def _mov(site: Site) -> Step:
    instruction = site.instruction
    type_name = instruction.modifiers[-1] if instruction.modifiers else ""
    if type_name not in TYPE_BITS or len(instruction.operands) != 2:
        raise site.unsupported(instruction.name)
    target, source = instruction.operands
    into, from_ = isinstance(target, Vector), isinstance(source, Vector)
    if into and from_:
        return _copies(site, site.elements(target), site.elements(source), type_name)
    if len(instruction.modifiers) > 1:
        return _copies(site, site.elements(target), site.elements(source), type_name)
    if into:
        return _unpack(site, site.elements(target), source, type_name)
    if from_:
        return _pack(site, target, site.elements(source), type_name)
    return _copies(site, (target,), (source,), type_name)


def _copies(site: Site, targets: tuple[Operand, ...], sources: tuple[Operand, ...], type_name: str) -> Step:
    if len(targets) != len(sources):
        raise site.wrong(f"{len(targets)} source elements", str(len(sources)))
    pairs = [(site.register(t, type_name), site.sized(s, type_name)) for t, s in zip(targets, sources, strict=True)]
    if len(pairs) == 1:
        target, source = pairs[0]

        def move(group: Group, running: RunningBlocks) -> None:
            registers = group.registers
            registers[target] = registers[source]

        return move

    def moves(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        values = [registers[source] for _, source in pairs]
        for (target, _), value in zip(pairs, values, strict=True):
            registers[target] = value

    return moves


def _unpack(site: Site, parts: tuple[Operand, ...], source: Operand, type_name: str) -> Step:
    bits = TYPE_BITS[type_name] // len(parts)
    slot = site.sized(source, type_name)
    targets = [(site.register(part), site.dtype(site.register(part)), part) for part in parts]
    dtype = DTYPES.get(bits)
    if dtype is None:
        raise site.unsupported(site.instruction.name)

    def unpack(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        value = value_of(registers, slot)
        for position, (target, wanted, _) in enumerate(targets):
            part = (value >> value.dtype.type(position * bits)).astype(dtype)
            registers[target] = part if wanted == dtype else part.astype(wanted)

    return unpack


def _pack(site: Site, target: Operand, parts: tuple[Operand, ...], type_name: str) -> Step:
    bits = TYPE_BITS[type_name] // len(parts)
    part_type = f"b{bits}"
    slots = [site.sized(part, part_type) for part in parts]
    into = site.register(target)
    dtype = site.dtype(into)
    if 8 * dtype.itemsize != TYPE_BITS[type_name]:
        raise site.wrong(f"a destination of {TYPE_BITS[type_name]} bits", f"one of {8 * dtype.itemsize}")

    shifts = [np.array(position * bits, dtype) for position in range(len(parts))]

    def pack(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        whole: Value = value_of(registers, slots[0]).astype(dtype)
        for position, slot in enumerate(slots[1:], 1):
            whole = whole | np.left_shift(value_of(registers, slot).astype(dtype), shifts[position])
        registers[into] = whole

    return pack


def _cvta(site: Site) -> Step:
    """Converts between generic addresses and those of a state space: an offset for windows, nothing for global, const and
    param."""
    modifiers = site.instruction.modifiers
    to_space = "to" in modifiers
    spaces = [m.partition("::")[0] for m in modifiers if m.partition("::")[0] in ("global", "shared", "local", "const", "param")]
    if len(spaces) != 1 or len(site.instruction.operands) != 2:
        raise site.unsupported(site.instruction.name)
    target = site.register(site.instruction.operands[0], modifiers[-1])
    source = site.sized(site.instruction.operands[1], modifiers[-1])
    space = spaces[0]
    if space == "param" and not site.code.routine.is_entry:
        space = "local"
    if space == "param":
        return _cvta_param(site, target, source, to_space=to_space)
    offset = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    if to_space:
        offset = -offset
    dtype = site.dtype(source)
    added = np.array(offset & ((1 << 8 * dtype.itemsize) - 1), dtype)[()]

    def convert(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        registers[target] = registers[source] if not offset else value_of(registers, source) + added

    return convert


def _cvta_param(site: Site, target: int, source: int, *, to_space: bool) -> Step:
    """A parameter's generic address is its own; where a program kept only the lower half of it, the upper one comes back."""

    def convert(group: Group, running: RunningBlocks) -> None:
        address = value_of(group.registers, source)
        high = running.launch.parameters.base >> 32 << 32
        if not to_space and address.dtype == np.uint64 and high:
            address = np.where(address < np.uint64(1 << 32), address + np.uint64(high), address)
        group.registers[target] = address

    return convert


def in_window(address: Value, start: int, size: int) -> Value:
    """Flags of the addresses that lie in [start, start + size)."""
    return (address - address.dtype.type(start)) < address.dtype.type(size)


def _isspacep(site: Site) -> Step:
    space, _, part = "".join(site.instruction.modifiers[:1]).partition("::")
    is_cluster = part == "cluster"
    target = site.register(site.instruction.operands[0], "pred")
    source = site.source(site.instruction.operands[1], "u64")

    def test(group: Group, running: RunningBlocks) -> None:
        def regions(chosen: Callable[[str, bool], bool], address: Value) -> Value:
            found = np.zeros(address.shape, np.bool_)
            for region in running.launch.regions.all:
                if chosen(region.name, region.is_const):
                    found |= in_window(address, region.base, region.size)
            return found

        address = value_of(group.registers, source)
        match space:
            case "shared" if is_cluster:
                flags = in_generic_window(address)
            case "shared":
                flags = in_window(address, SHARED_WINDOW, SHARED_WINDOW_BYTES)
            case "local":
                flags = in_window(address, LOCAL_WINDOW, LOCAL_WINDOW_BYTES)
            case "const":
                flags = regions(lambda _, is_const: is_const, address)
            case "param":
                flags = regions(lambda name, _: name == "kernel parameters", address)
            case _:
                windows = in_generic_window(address) | in_window(address, LOCAL_WINDOW, LOCAL_WINDOW_BYTES)
                flags = ~(windows | regions(lambda name, is_const: is_const or name == "kernel parameters", address))
        group.registers[target] = flags

    if space not in ("shared", "local", "const", "param", "global"):
        raise site.unsupported(site.instruction.name)
    return test


def _createpolicy(site: Site) -> Step:
    """Cache policies have no effect: all are alike."""
    target = site.register(site.instruction.operands[0], "b64")
    policy = np.zeros((), np.uint64)

    def create(group: Group, running: RunningBlocks) -> None:
        group.registers[target] = policy

    return create


def _fence(site: Site) -> Step:
    scope = scope_of(site.instruction)
    is_proxy = site.instruction.modifiers[:1] == ("proxy",) and "async" in {
        m.partition("::")[0] for m in site.instruction.modifiers[1:]
    }
    if is_proxy:
        is_proxy = "global" not in site.instruction.modifiers

    def fence(group: Group, running: RunningBlocks) -> None:
        running.fence(group, scope=scope)
        if is_proxy and running.is_watching:
            fenced(group, running)

    return fence


def _nothing(site: Site) -> Step:
    def skip(group: Group, running: RunningBlocks) -> None:
        return

    return skip


DECODERS: dict[str, Callable[[Site], Step]] = {
    "mov": _mov,
    "cvta": _cvta,
    "isspacep": _isspacep,
    "createpolicy": _createpolicy,
    "membar": _fence,
    "fence": _fence,
    **dict.fromkeys(
        ("prefetch", "prefetchu", "nanosleep", "pmevent", "applypriority", "griddepcontrol",
         "setmaxnreg"),
        _nothing,
    ),
}  # fmt: skip
PURE = ("mov", "cvta", "isspacep")
