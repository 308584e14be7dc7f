"""Registers of wgmma: while a product is going on the thread must not use its accumulators nor change its fragments of A, and
what the thread has changed needs a `wgmma.fence` before the next product (PTX ISA 9.7.15.4, 9.7.15.7).

Compilers move registers that are tied to inline assembly into others before and after it, and ptxas merges them: `mov` between
registers hands on what is known of the source, and is no use. A constant moved into an accumulator needs no fence here, since
compilers put such a move right before the product whatever the source says; the first product of a warp always needs one.

Only groups that a `wgmma.wait_group` covers are at an end. Everything is by warp.
"""

from __future__ import annotations

from warploom.ptx.simt.analysis import effects, slots_of
from warploom.ptx.simt.code import Code, Group, RunningBlocks, Step
from warploom.ptx.simt.findings import IN_FLIGHT, WITHOUT_FENCE, Kind
from warploom.ptx.simt.operands import CARRY, Site
from warploom.ptx.simt.products import Products, Register, Warps, warps_of
from warploom.ptx.simt.undefined import Guard
from warploom.ptx.syntax import Name, Operand, Vector


def _slots(code: Code, operand: Operand) -> list[int]:
    """The registers of a matrix; none where it is named by a descriptor."""
    elements = operand.elements if isinstance(operand, Vector) else ()
    return [code.slots[part.text] for part in elements if isinstance(part, Name) and part.text in code.slots]


def registers_of_products(code: Code) -> int:
    """Registers that products have, and those that are moved into or out of them, as a bit set."""
    found = 0
    moves: list[int] = []
    for instruction in code.routine.instructions:
        if instruction.opcode == "wgmma" and "mma_async" in instruction.modifiers:
            for operand in instruction.operands[:2]:
                found |= sum(1 << slot for slot in set(_slots(code, operand)))
        elif instruction.opcode == "mov":
            effect = effects(code, instruction, code.slots[CARRY])
            moves.append(effect.reads | effect.writes)
    if not found:
        return 0
    before = 0
    while found != before:
        before = found
        for both in moves:
            if both & found:
                found |= both
    return found


def product_steps(site: Site) -> list[Step]:
    """Steps before an instruction that uses registers of products."""
    code, instruction, index = site.code, site.instruction, site.index
    if not code.products:
        return []
    if instruction.opcode == "wgmma":
        return [_start(site)] if "mma_async" in instruction.modifiers else []
    effect = effects(code, instruction, code.slots[CARRY])
    reads, writes = slots_of(effect.reads & code.products), slots_of(effect.writes & code.products)
    if not reads and not writes:
        return []
    guard = Guard(site)
    is_move = instruction.opcode == "mov"

    def use(group: Group, running: RunningBlocks) -> None:
        if not running.is_watching:
            return
        lanes = guard.lanes(group.registers)
        if lanes is not None and not lanes.any():
            return
        warps = warps_of(group.threads if lanes is None or lanes.ndim == 0 else group.threads[lanes])
        products = running.products
        sources = [products.of(code.number, slot) for slot in reads]
        if not is_move:
            for slot, source in zip(reads, sources, strict=True):
                _told(site, slot, "reads", warps[products.goes_on(source, warps) & source.is_sum[warps]], source, running)
        carried = [source for source in sources if products.goes_on(source, warps).any()] if is_move else []
        for slot in writes:
            target = products.of(code.number, slot)
            if not carried:
                _told(site, slot, "changes", warps[products.goes_on(target, warps) & ~target.is_copied[warps]], target, running)
            if not is_move:
                products.change(target, warps, index)
        if is_move:
            _move(sources, [products.of(code.number, slot) for slot in writes], warps, products)

    return [use]


def _move(sources: list[Register], targets: list[Register], warps: Warps, products: Products) -> None:
    """Where several registers are packed into one, the one that the thread has changed or that is going on counts."""
    telling = [s for s in sources if products.goes_on(s, warps).any() or products.is_changed(s, warps).any()]
    for target in targets:
        products.move(telling[0] if telling else None, target, warps)


def _told(site: Site, slot: int, verb: str, warps: Warps, register: Register, running: RunningBlocks) -> None:
    if not len(warps):
        return
    name = next(name for name, one in site.code.slots.items() if one == slot)
    what = "an accumulator" if register.is_sum[warps[0]] else "a fragment of A"
    product = int(register.product[warps[0]])
    span = site.code.routine.span(product)
    message = f"{site.instruction.name} {verb} {name}, {what} of a product, {IN_FLIGHT}"
    kind: Kind = "early_copy_read" if verb == "reads" else "register_race"
    running.report(
        kind,
        message,
        site.code,
        site.index,
        int(warps[0]) * 32,
        count=32 * len(warps),
        others=(("the product", span),),
    )
    register.group[warps] = 0  # told once


def _start(site: Site) -> Step:
    code, index = site.code, site.index
    d, a = site.instruction.operands[:2]
    sums, left = _slots(code, d), _slots(code, a)

    def start(group: Group, running: RunningBlocks) -> None:
        if not running.is_watching:
            return
        products, warps = running.products, warps_of(group.threads)
        bare = products.unfenced(warps)
        if len(bare):
            message = f"{site.instruction.name} is the first of its warp, {WITHOUT_FENCE} it and what came before"
            running.report("register_race", message, code, index, int(warps[bare[0]]) * 32, count=32 * len(bare))
        for slot in left:
            register = products.of(code.number, slot)
            _told(site, slot, "reads", warps[products.goes_on(register, warps) & register.is_sum[warps]], register, running)
        has_told = False
        for slot in (*sums, *left):
            register = products.of(code.number, slot)
            changed = warps[products.is_changed(register, warps)]
            if len(changed) and not has_told and not len(bare):
                has_told = True
                number = int(register.changer[changed[0]])
                span, changer = code.routine.span(number), code.routine.instructions[number].name
                name = next(name for name, one in code.slots.items() if one == slot)
                message = f"{site.instruction.name} uses {name}, which {changer} has changed {WITHOUT_FENCE}"
                running.report(
                    "register_race", message, code, index, int(changed[0]) * 32, count=32 * len(changed),
                    others=(("the change", span),),
                )  # fmt: skip
        for slot in left:
            products.start(products.of(code.number, slot), warps, index, is_sum=False)
        for slot in sums:
            products.start(products.of(code.number, slot), warps, index, is_sum=True)

    return start
