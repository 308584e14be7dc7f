"""Decides whether a shuffle pays: cycles of a multiprocessor per warp before and after, by the resource that is asked for most.

    cycles = p-norm of { issue, f32 units, f64 units, load path and shuffles, texture path, memory, latency / resident warps }

A covered load still costs a request: the lanes without a source load for themselves. What is saved are its sectors; what is paid
is a shuffle and the lanes' predicate. So a shuffle pays where the path that the load took is slow (the texture path that
`ld.global.nc` takes before Volta delivers two sectors a cycle) and is what the kernel waits for; it does not pay where the
first-level cache delivers a whole line per cycle, as since Volta, or where memory is the limit anyway.
Source of the reasoning: PTXASW (2023), sections 7 and 8; cycles and rates: `warploom.machines`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.machines import (
    ARCHITECTURES,
    SECTOR_BYTES,
    WARP_LANES,
    Architecture,
    Unit,
    Work,
    joined,
    nearest_architecture,
    resident_warps,
    usual,
)
from warploom.ptx.instructions import destinations, operand_names
from warploom.ptx.liveness import pressure
from warploom.ptx.routine import Routine
from warploom.ptx.shuffle.plan import Variant
from warploom.ptx.shuffle.policy import Candidate, Decision, KernelFacts
from warploom.ptx.shuffle.usage import block_weight, is_global_access, request_of, sectors, work_of
from warploom.ptx.shuffle.vectors import Joined
from warploom.ptx.syntax import Address

LEAST_GAIN = 0.02
"""Less than this share of the time is not worth other code."""
_SHARPNESS = 8.0
"""Exponent of the norm that joins resources asked for at once: 2 equal ones cost 9 percent more than one."""
_BLOCK_THREADS = 128
"""Threads of a block whose launch is not known."""
_MORE_REGISTERS = 4
"""Registers that a rewritten kernel takes more: 2.7 to 9.2 in the mean. Source: PTXASW (2023), section 7."""
_INDEX_TEST_SLOTS = 2
"""An addition and a comparison, for all loads of a block that use the index."""
_STORE_TEST_SLOTS = 3
"""A difference, an addition and a comparison; with them comes the load that is not executed."""
_NOTE_SLOTS = 5
"""Instructions that note that the source ran, keep its value, and look the neighbour up in the ballot."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles per warp of one version of a kernel on one machine."""

    arch: str
    cycles: float
    by_resource: Mapping[Unit, float]

    @property
    def bottleneck(self) -> Unit:
        return max(self.by_resource, key=lambda r: self.by_resource[r])

    @property
    def shares(self) -> dict[Unit, float]:
        """Each unit's share, in percent, of the cycles of all units."""
        total = sum(self.by_resource.values())
        return {unit: 100 * cycles / total for unit, cycles in self.by_resource.items()}


@dataclass(frozen=True, slots=True)
class Forecast:
    """One kernel with a set of its candidates applied, against the kernel as it is."""

    before: Estimate
    after: Estimate

    @property
    def gain(self) -> float:
        """Saved share of the time; negative where it gets slower."""
        return 1 - self.after.cycles / self.before.cycles


def forecast(facts: KernelFacts, applied: Collection[Candidate], on: Architecture, variant: Variant = "") -> Forecast:
    """The changes that applying these candidates of the kernel makes on an architecture."""
    before = replace(work_of(facts.routine, facts.graph), memory_bytes=_memory_bytes(facts))
    registers = _registers(facts)
    changed = _changed(facts, before, applied, variant)
    shuffles = variant != "no-load" and any(c.kind == "shuffle" for c in applied)
    chain = on.timing.shuffle_cycles.value + on.timing.l1_cycles.value if shuffles else 0.0
    first = _estimate(before, on, registers, 0.0)
    return Forecast(first, _estimate(changed, on, registers + (_MORE_REGISTERS if shuffles else 0), chain))


def forecast_vectors(facts: KernelFacts, joined: Sequence[Joined], on: Architecture) -> Forecast:
    """The changes that joining loads makes, nothing else changed. Adjacent places of one thread are as far from the next thread's
    as the vector is long, so that each of the loads alone touches the sectors of all.
    """
    work = replace(work_of(facts.routine, facts.graph), memory_bytes=_memory_bytes(facts))
    requests, after = list(work.requests), [*work.requests]
    slots = 0.0
    for vector in joined:
        count = len(vector.loads)
        weight = block_weight(facts.graph, facts.graph.block_of(vector.loads[0]))
        for place, index in enumerate(vector.loads):
            known = request_of(facts.routine.instructions[index], weight)
            wide = replace(known, sectors=count * (known.sectors - 1) + 1)
            requests.remove(known)
            after.remove(known)
            requests.append(wide)
            after += [wide] if place == 0 else []
        slots += weight * (2 + count + 1 if vector.is_tested else 1 - count)
    registers = _registers(facts)
    changed = replace(work, requests=tuple(after), issued=work.issued + slots)
    first = _estimate(replace(work, requests=tuple(requests)), on, registers, 0.0)
    return Forecast(first, _estimate(changed, on, registers, 0.0))


class Profitable:
    """The policy that applies what it expects to gain: the set of candidates, nearest lanes first, with the fewest cycles."""

    def __init__(self, arch: str | None = None) -> None:
        """`arch` (`sm_90`) by default the module's own target."""
        self._arch = arch
        self._plans: list[tuple[KernelFacts, dict[Candidate, Decision]]] = []

    def elsewhere(self) -> list[str]:
        """Architectures since Volta, whose loads all go through the first cache, on which a shuffle of the kernels seen pays."""
        found: list[str] = []
        for name, on in ARCHITECTURES.items():
            if not on.nc_is_texture and any(_shuffles_pay(facts, on) for facts, _ in self._plans):
                found.append(name)
        return found

    def __call__(self, facts: KernelFacts, candidate: Candidate) -> Decision:
        for known, plan in self._plans:
            if known is facts:
                return plan[candidate]
        plan = self._plan(facts)
        self._plans.append((facts, plan))
        return plan[candidate]

    def _plan(self, facts: KernelFacts) -> dict[Candidate, Decision]:
        on = nearest_architecture(self._arch or facts.target)
        reuses = [c for c in facts.candidates if c.kind == "reuse" and not (c.stores or c.unsure)]
        plain = forecast(facts, reuses, on)
        tested = [c for c in facts.candidates if c.kind == "reuse" and (c.stores or c.unsure)]
        paying = [c for c in tested if forecast(facts, [*reuses, c], on).after.cycles < plain.after.cycles * (1 - LEAST_GAIN)]
        reuses += paying
        ordered, base, best, chosen = _best(facts, reuses, on)
        saved = base.after.cycles - best.after.cycles
        pays = chosen > 0 and saved >= LEAST_GAIN * base.after.cycles
        every = forecast(facts, reuses + ordered, on)
        decisions: dict[Candidate, Decision] = {}
        for candidate in reuses:
            decisions[candidate] = Decision(True, "the value is in a register of the same thread", base.gain / len(reuses))
        for candidate in tested:
            if candidate not in paying:
                every = forecast(facts, [*reuses, candidate], on)
                reason = f"{on.name}: the test costs what the load does: {_times(base.after, every.after)} per warp"
                decisions[candidate] = Decision(False, reason, (base.after.cycles - every.after.cycles) / base.before.cycles)
        for place, candidate in enumerate(ordered):
            if pays and place < chosen:
                reason = f"{on.name}: {_times(base.after, best.after)} per warp with {chosen} shuffles"
                decisions[candidate] = Decision(True, reason, saved / base.before.cycles / chosen)
            else:
                shown = best if pays else base
                why = "more would not pay" if pays else "no gain"
                reason = f"{on.name}: {why}: {_times(shown.after, every.after)} per warp with all"
                lost = (base.after.cycles - every.after.cycles) / base.before.cycles / len(ordered)
                decisions[candidate] = Decision(False, reason, lost)
        return decisions


def _best(facts: KernelFacts, reuses: list[Candidate], on: Architecture) -> tuple[list[Candidate], Forecast, Forecast, int]:
    """Shuffles, nearest lanes first; the forecast without any, the best one, and how many of them that applies."""
    ordered = sorted((c for c in facts.candidates if c.kind == "shuffle"), key=lambda c: (abs(c.delta), abs(c.rows), c.load))
    base = forecast(facts, reuses, on)
    best, chosen = base, 0
    for count in range(1, len(ordered) + 1):
        found = forecast(facts, reuses + ordered[:count], on)
        if found.after.cycles < best.after.cycles * (1 - 1e-9):
            best, chosen = found, count
    return ordered, base, best, chosen


def _shuffles_pay(facts: KernelFacts, on: Architecture) -> bool:
    reuses = [c for c in facts.candidates if c.kind == "reuse" and not (c.stores or c.unsure)]
    _, base, best, chosen = _best(facts, reuses, on)
    return chosen > 0 and base.after.cycles - best.after.cycles >= LEAST_GAIN * base.after.cycles


def _times(before: Estimate, after: Estimate) -> str:
    return f"{before.cycles:.1f} cycles ({before.bottleneck}) -> {after.cycles:.1f} ({after.bottleneck})"


def _changed(facts: KernelFacts, before: Work, applied: Collection[Candidate], variant: Variant = "") -> Work:
    """The work with each covered load replaced by its shuffle and the request of the lanes at the edge."""
    requests = list(before.requests)
    slots = shuffles = 0.0
    neighbours: set[tuple[int, int, int]] = set()
    indices: set[tuple[int, str]] = set()
    for candidate in applied:
        instruction = facts.routine.instructions[candidate.load]
        block = facts.graph.block_of(candidate.load)
        weight = block_weight(facts.graph, block)
        covered = request_of(instruction, weight)
        requests.remove(covered)
        words = candidate.elements * max(1, candidate.width // 32)
        if candidate.kind == "reuse" and candidate.unsure:
            # Some lane of the warp may load, so the request stays.
            requests.append(covered)
            slots += (2 + words) * weight
        slots += (_STORE_TEST_SLOTS * candidate.stores + bool(candidate.stores)) * weight
        if candidate.kind == "reuse" or variant == "no-load":
            continue
        shuffles += words * weight
        slots += (words + (2 * words if candidate.width == 64 else 0)) * weight
        if variant == "no-corner":
            continue
        if candidate.unsure:
            shuffles += weight  # a ballot
            slots += (_NOTE_SLOTS + 1) * weight
        lanes = min(WARP_LANES, abs(candidate.delta) or WARP_LANES // 4)
        edge = max(1.0, lanes * candidate.width // 8 * candidate.elements / SECTOR_BYTES)
        requests.append(replace(covered, sectors=edge))
        tested = {(block, index) for index in candidate.indices}
        slots += _INDEX_TEST_SLOTS * len(tested - indices) * weight
        indices |= tested
        key = (block, candidate.delta, candidate.rows)
        if key not in neighbours:
            neighbours.add(key)
            slots += weight * (1 if facts.whole_rows else 2)
    for block in {facts.graph.block_of(c.load) for c in applied if c.kind == "shuffle" and variant != "no-load"}:
        weight = block_weight(facts.graph, block)
        slots += 2 * weight
        shuffles += weight
    return replace(before, requests=tuple(requests), issued=before.issued + slots, shuffles=before.shuffles + shuffles)


def _estimate(work: Work, on: Architecture, registers: int, chain_cycles: float) -> Estimate:
    warps = max(1, resident_warps(on, min(registers, on.limits.max_registers), 0, _BLOCK_THREADS))
    waiting = (2 * on.timing.l2_cycles.value + chain_cycles) / warps
    by_resource = usual(on, memory_bytes=on.example.bytes_per_clock).cycles(replace(work, waiting=waiting))
    return Estimate(on.name, joined(by_resource.values(), _SHARPNESS), by_resource)


def _memory_bytes(facts: KernelFacts) -> float:
    """Bytes that a warp brings from memory or takes to it: of each array one access, since its neighbours are cached."""
    origins = _origins(facts.routine)
    total = 0.0
    seen: set[tuple[str, int]] = set()
    for index, instruction in enumerate(facts.routine.instructions):
        key = (instruction.opcode, origins.get(index, index))
        if is_global_access(instruction) and key not in seen:
            seen.add(key)
            total += (sectors(instruction) - 1) * SECTOR_BYTES * block_weight(facts.graph, facts.graph.block_of(index))
    return total


def _registers(facts: KernelFacts) -> int:
    return min(255, max(16, pressure(facts.routine, facts.graph).registers + 8))


def _origins(routine: Routine) -> dict[int, int]:
    """Global access -> the `ld.param` that its address comes from through copies and sums, where one is found."""
    found: dict[str, int] = {}
    result: dict[int, int] = {}
    for index, instruction in enumerate(routine.instructions):
        if is_global_access(instruction):
            address = next((o for o in instruction.operands if isinstance(o, Address)), None)
            base = next((n for n in operand_names(address) if n in found), None) if address is not None else None
            if base is not None:
                result[index] = found[base]
        origin: int | None = None
        if instruction.opcode == "ld" and "param" in instruction.modifiers and set(instruction.modifiers) & _POINTERS:
            origin = index
        elif instruction.opcode in _PASSED_ON:
            origin = next((found[n] for o in instruction.operands[1:] for n in operand_names(o) if n in found), None)
        if origin is not None:
            found |= dict.fromkeys(destinations(instruction), origin)
    return result


_POINTERS = frozenset({"u64", "b64", "s64"})
_PASSED_ON = frozenset({"cvta", "mov", "add", "sub", "mad"})
