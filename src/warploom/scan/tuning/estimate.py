"""Cost of a way to scan: counted before it is compiled, and measured on the PTX it becomes.

Cycles are of one multiprocessor for one block, as its busiest unit has it (`machines.work`), plus 10 for a barrier, as in the
layouts' cost: the block is alone, so that all that it has waits there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom.core import UserError
from warploom.gpu import assemble, compile_to_ptx
from warploom.machines import BANKS, Architecture, Work, joined, usual
from warploom.ptx import launch, lower, parse
from warploom.scan.emit.cuda import SIZES, warp_program
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.running import LIMIT, columns_of, compare_part
from warploom.scan.emit.serial import DTYPES, column, edges, elements
from warploom.scan.layouts import addresses, operations, trace
from warploom.scan.layouts.trace import BARRIER_CYCLES
from warploom.scan.operators.machine_numbers import computes_no_reals, in_floats
from warploom.scan.operators.samples import constant_values
from warploom.scan.tuning.candidates import Candidate, block_network
from warploom.scan.tuning.candidates import operations as combine_operations
from warploom.scan.variants import variant_operator


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of one block. Instructions, wavefronts and shuffles are of warps; barriers are what each warp waits at."""

    instructions: int
    shuffles: int
    shared_wavefronts: int
    barriers: int

    @property
    def work(self) -> Work:
        """Without the barriers, which take as long as the warps wait there."""
        return Work(issued=self.instructions, shuffles=self.shuffles, wavefronts=self.shared_wavefronts)

    def cycles(self, on: Architecture) -> float:
        return round(joined(usual(on).cycles(self.work).values()) + BARRIER_CYCLES * self.barriers, 1)


@dataclass(frozen=True, slots=True)
class Measured:
    """`cases`: results compared with the loop's; none where floats rounded to another one."""

    counted: Counted
    cases: int
    registers: int | None
    """Registers per thread, by ptxas, of the most demanding of the kernels compiled together; None without it."""
    ptx: str


def estimated(way: Candidate, types: Types) -> Counted:
    """Counts from the network alone: combinations, accesses, index operations."""
    words = sum(max(1, SIZES[s.scalar] // 4) for s in way.made(types).body.fields)
    combine = combine_operations(variant_operator(way.operator, way.form))
    if way.variant == "shuffles":
        steps = sum(bool(at.destinations.size) for at in warp_program(way.network).steps(32))
        warps = -(-way.elements // 32)
        each = words + combine + 2
        scans = warps + 1  # and one over the totals
        instructions = scans * steps * each + 2 * warps * combine
        return Counted(instructions, scans * steps * words + warps * words, 4 * warps * words, 2)
    net = block_network(way.network, way.elements)
    assert way.remap is not None
    mapped = trace(net, BANKS).remapped(addresses(way.remap, net.columns), operations(way.remap, net.columns))
    accesses = len(mapped.accesses)
    conflicts = mapped.conflicts(BANKS)
    overlapping = sum(bool({d.destination for d in s} & {d.source for d in s}) for s in net.steps)
    instructions = accesses * (words + 2) + mapped.operations + accesses // 3 * combine
    ends = 2 * -(-way.elements // 32) * words
    return Counted(instructions, 0, (accesses + conflicts) * words + ends, net.depth + overlapping + 1)


def measured(way: Candidate, types: Types, arch: str) -> Measured:
    """Compiled, run in the interpreter for one block, compared with the loop; UserError if it differs or does not compile."""
    made = way.made(types)
    text = compile_to_ptx(made.source, arch)
    loop = way.operator.loop
    constants = constant_values(loop, 0)
    given = elements(loop, way.elements)
    flags = edges(way.elements) if way.form.is_segmented else None
    inputs = columns_of(made, given, flags)
    outputs = [np.zeros(way.elements, DTYPES[s.scalar]) for s in made.body.outputs]
    scalars = [column([v], s.scalar)[0] for s, v in zip(made.body.constants, constants, strict=True)]
    args: list[Any] = [*inputs, *outputs, np.int64(way.elements), *scalars]
    done = launch(lower(parse(text, "scan.ptx")), way.kernel, grid=1, block=way.elements, args=args, limit=LIMIT, counts=True)
    assert done.counts is not None
    found = [done.arrays[len(inputs) + n] for n in range(len(outputs))]
    cases, mismatch = compare_part(made, way.kernel, found, given, flags, constants, 0, way.elements)
    if mismatch and in_floats(way.operator) and not computes_no_reals(way.operator):
        cases, mismatch = 0, ""
    if mismatch or done.status != "finished":
        raise RuntimeError(f"{way.name}: {mismatch or done.status}")
    warps = -(-way.elements // 32)
    counts = done.counts
    counted = Counted(counts.instructions, counts.shuffles, counts.shared_wavefronts, counts.barriers // warps)
    return Measured(counted, cases, _registers(text, arch, way.kernel), text)


def _registers(text: str, arch: str, kernel: str) -> int | None:
    try:
        log = assemble(text, arch)[1]
    except UserError:
        return None
    _, found, after = log.partition(f"Compiling entry function '{kernel}'")
    words = after.partition("Used ")[2].split() if found else []
    return int(words[0]) if words else None
