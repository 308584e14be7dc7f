"""Makes the tables of the bound from a backbone, its possible temporaries and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warploom.machines import TILE_CYCLES, TILE_ROWS, TILE_WORDS, Port
from warploom.schedule.backbone import Access, Backbone, Carry, Operator, Result, Role, matrix_of, tiled_sums
from warploom.schedule.bound.meetings import MOST_TOGETHER, reads_of
from warploom.schedule.bound.problem import (
    BY_CORE,
    BY_MACHINE,
    BY_THREAD,
    COMPUTE,
    FUSIBLE,
    LOAD,
    NO_LIMIT,
    RESOURCES,
    STORE,
    Ints,
    Problem,
    TargetFigures,
)
from warploom.schedule.bound.slots import slot_groups, slot_rows
from warploom.schedule.targets import Target

_KINDS = {Operator.LOAD: LOAD, Operator.STORE: STORE}
_PIPES = {Operator.ADD: 1, Operator.SUB: 1, Operator.MAX: 2, Operator.MIN: 2}
_KINDS_OF = {
    Operator.ADD: ("add", "fma"), Operator.SUB: ("add", "fma"), Operator.MUL: ("mul", "fma"), Operator.FMA: ("fma",),
    Operator.MAX: ("max",), Operator.MIN: ("max",),
}  # fmt: skip
"""Ports that an operation may use; all where it is not said."""
_WIDEST_LOG = 7
"""Elements of one instruction, at most, as a power of two."""


PRODUCT_CYCLES = 0.5
"""Least cycles from one product to the next in a sum of products that whole warps make: one instruction adds up at most 32 of
them and takes longer than 16 cycles."""
STEP_CYCLES = TILE_CYCLES / TILE_WORDS
"""The same in a sum that may be made in tile registers: one instruction adds up so many words."""
STEP_ISSUES = 1 / (TILE_ROWS * TILE_WORDS)
"""Instructions of such a sum for a vector of products."""


@dataclass(frozen=True, slots=True)
class Staging:
    """A temporary that the space may bring in: an array between two instructions, with a store and a load."""

    region: int
    producer: int
    consumer: int
    """Instructions of the backbone."""
    store: int
    load: int
    """Statements."""
    pairs: tuple[tuple[int, int, int], ...]
    """(extent, dim statement of the store, dim statement of the load)."""
    element_bytes: int
    rounds: tuple[int, int] | None = None
    """Statements of two loops which, where they are one, another temporary serves for this one."""


@dataclass(frozen=True, slots=True)
class _Instruction:
    statement: int
    operation: int
    operator: Operator
    dims: tuple[tuple[int, int, bool], ...]
    """(extent, statement, is_reduction)."""
    coefficients: dict[int, int]
    """Elements by axis."""
    region: int
    element_bytes: int
    sources: tuple[int, ...]
    reduces: bool
    is_float: bool
    products: int = 1
    """Products of a sum of several; else 1."""


def tables(backbone: Backbone, target: Target, stagings: Sequence[Staging] = ()) -> Problem:
    """Instructions of the problem: those of the backbone, then store and load of each staging."""
    every = _instructions(backbone, stagings)
    levels = 1 + max((e.level for e in backbone.extents), default=0)
    axis_extents = np.full((max(1, len(backbone.axes)), levels), -1, np.int64)
    for number, extent in enumerate(backbone.extents):
        axis_extents[extent.axis, extent.level] = number
    dims = [(i, *d) for i, made in enumerate(every) for d in made.dims]
    own_start = np.concatenate(([0], np.cumsum([len(made.dims) for made in every]))).astype(np.int64)
    slot_start, slot_axis, slot_dims, slot_coefficient = [0], list[int](), list[list[int]](), list[int]()
    slot_group, slot_factor = list[int](), list[tuple[int, ...]]()
    for i, made in enumerate(every):
        axes = list(dict.fromkeys(backbone.extents[extent].axis for extent, _, _ in made.dims))
        for axis in axes:
            row = [-1] * levels
            for n, (extent, _, _) in enumerate(made.dims):
                if backbone.extents[extent].axis == axis:
                    row[backbone.extents[extent].level] = int(own_start[i]) + n
            slot_axis.append(axis)
            slot_dims.append(row)
            slot_coefficient.append(made.coefficients.get(axis, 0))
        access = backbone.instructions[i].access if i < len(backbone.instructions) else None
        is_apart = _is_injective(backbone, made.coefficients)
        slot_group += range(len(axes)) if is_apart else slot_groups(access, axes)
        slot_factor += slot_rows(access, axes)
        slot_start.append(len(slot_axis))
    source_start = np.concatenate(([0], np.cumsum([len(made.sources) for made in every]))).astype(np.int64)
    costs = {name: (latency, issues) for name, latency, issues in target.rates.operations}
    clock = target.rates.clock_ghz
    read, written = _compulsory(backbone)
    regions = len(backbone.regions) + len(stagings)
    found = reads_of(backbone)
    temporaries = len(every) - len(backbone.instructions)
    leaders = [*found.leaders, *range(len(backbone.instructions), len(every))]
    together = [[n for n, leader in enumerate(leaders) if leader == i][:MOST_TOGETHER] for i in range(len(every))]
    rows = max((len(row) for row in found.constants), default=0)
    leaves_out = target.rates.kept_registers > 0
    of_matrices = _of_matrices(backbone, every, target)
    in_tiles = tiled_sums(backbone, target.tiles)
    fills = {
        n: (put, staging.rounds)
        for put, staging in zip(range(len(backbone.instructions), len(every), 2), stagings, strict=True)
        if staging.rounds is not None
        for n in (staging.producer, put)
    }
    factors = {source for total in in_tiles for source in every[total].sources}
    product_lanes = dict(target.rates.product_lanes)

    def latency(number: int, made: _Instruction) -> float:
        if number in in_tiles:
            return STEP_CYCLES
        return PRODUCT_CYCLES if of_matrices[number] else _latency(made, costs, may_split=leaves_out)

    def issues(number: int, made: _Instruction) -> float:
        if leaves_out and number in found.left_out:
            return 0.0
        return STEP_ISSUES if number in in_tiles else product_lanes.get(of_matrices[number], _issues(made, costs))

    return Problem(
        instruction_statement=_ints([made.statement for made in every]),
        dim_statement=_ints([statement for _, _, statement, _ in dims]),
        dim_extent=_ints([extent for _, extent, _, _ in dims]),
        dim_owner=_ints([owner for owner, _, _, _ in dims]),
        dim_reduces=np.array([reduces for _, _, _, reduces in dims], np.uint8),
        own_start=own_start,
        own_dims=np.arange(len(dims), dtype=np.int64),
        slot_start=_ints(slot_start),
        slot_axis=_ints(slot_axis),
        slot_dims=np.array(slot_dims, np.int64).reshape(-1, levels),
        slot_coefficient=_ints(slot_coefficient),
        axis_extents=axis_extents,
        axis_size=_ints([axis.size for axis in backbone.axes]),
        axis_divides=np.array([_divides(backbone, n) for n in range(len(backbone.axes))], np.uint8),
        extent_axis=_ints([extent.axis for extent in backbone.extents]),
        extent_level=_ints([extent.level for extent in backbone.extents]),
        slot_group=_ints(slot_group),
        slot_factor=_padded(slot_factor, rows),
        constants=_padded([*found.constants, *[()] * temporaries], rows),
        points=np.array([*found.points, *[-1.0] * temporaries]),
        inside=np.array([*found.inside, *[1.0] * temporaries]),
        distinct=np.array([*found.distinct, *[0.0] * temporaries]),
        leader=_ints(leaders),
        member_start=np.concatenate(([0], np.cumsum([len(group) for group in together]))).astype(np.int64),
        members=_ints([member for group in together for member in group]),
        is_copied=np.array([n in factors or c for n, c in enumerate((*found.is_copied, *[False] * temporaries))], np.uint8),
        operation=np.array([made.operation for made in every], np.uint8),
        latency=np.array([latency(i, made) / clock for i, made in enumerate(every)]),
        issues=np.array([issues(i, made) for i, made in enumerate(every)]),
        pipe=_ints([0 if target.kind == "cuda" else _pipe(every, i) for i in range(len(every))]),
        per_element=np.array([_per_element(made, found.is_copied[i : i + 1] == [True], target) for i, made in enumerate(every)]),
        vectors=_ints([_vectors(made, target) for made in every]),
        element_bytes=_ints([made.element_bytes for made in every]),
        region=_ints([made.region for made in every]),
        is_injective=np.array([_is_injective(backbone, made.coefficients) for made in every], np.uint8),
        source_start=source_start,
        sources=_ints([source for made in every for source in made.sources]),
        rank=_ints(_ranked(every)),
        reduces=np.array([made.reduces for made in every], np.uint8),
        compulsory_read=read,
        compulsory_written=written,
        of_warps=np.array(_of_warps(backbone, every, of_matrices), np.uint8),
        is_temporary=np.array([n >= len(backbone.regions) for n in range(regions)], np.uint8),
        shared_put=_ints([fills[n][0] if n in fills else -1 for n in range(len(every))]),
        first_rounds=_ints([fills[n][1][0] if n in fills else -1 for n in range(len(every))]),
        second_rounds=_ints([fills[n][1][1] if n in fills else -1 for n in range(len(every))]),
    )


def figures_of(target: Target) -> TargetFigures:
    """The figures of the target, times in nanoseconds."""
    rates = target.rates
    table = np.full((3, len(RESOURCES)), NO_LIMIT)
    for name, rate in rates.rates:
        if name in RESOURCES:
            table[BY_THREAD, RESOURCES.index(name)] = rate.thread
            table[BY_CORE, RESOURCES.index(name)] = rate.core
            table[BY_MACHINE, RESOURCES.index(name)] = rate.machine
    cycles = dict(rates.latency_cycles)
    far = min(cycles.get("l2", 0.0), cycles.get("dram", cycles.get("l2", 0.0)))
    events = (far, cycles.get("l1", far), cycles.get("shared", 0.0), cycles.get("barrier", 0.0), cycles.get("loop", 0.0))
    is_cuda = target.kind == "cuda"
    near, last = rates.caches[0], rates.caches[-1]
    second = rates.caches[min(1, len(rates.caches) - 1)]
    held = near.size_bytes + (rates.shared_bytes_per_core if is_cuda else 0)
    control = {name: issues for name, _, issues in rates.operations if name.startswith("loop")}
    return TargetFigures(
        rates=table,
        bandwidth=rates.bandwidth_bytes_per_ns,
        launch=rates.launch_ns,
        latencies=np.array([*events, cycles.get("loop_end", 0.0)]) / rates.clock_ghz,
        is_cuda=is_cuda,
        replays_issue=rates.replays_issue,
        has_l1="l1" in cycles,
        cores=rates.cores,
        warp=rates.warp_lanes,
        core_threads=rates.threads_per_core,
        core_blocks=rates.blocks_per_core,
        core_registers=rates.registers_per_core,
        core_shared=rates.shared_bytes_per_core,
        max_threads=target.max_threads,
        registers=target.registers,
        kept=rates.kept_registers,
        unrolled=rates.unrolled_rounds,
        overlapped=rates.overlapped_rounds,
        loop_issues=control.get("loop", 0.0),
        loop_alus=control.get("loop_alu", 0.0),
        lines=_ints([near.line_bytes, second.line_bytes]),
        capacities=_ints([held, second.size_bytes, last.size_bytes]),
        shuffled=rates.rate("memory").core / rates.clock_ghz / rates.shuffle_lanes if rates.shuffle_lanes else 1.0,
        line_lanes=min(rates.warp_lanes, round(float(table[BY_CORE, RESOURCES.index("memory")]) / rates.clock_ghz)),
    )


def _instructions(backbone: Backbone, stagings: Sequence[Staging]) -> list[_Instruction]:
    made: list[_Instruction] = []
    first_staged = len(backbone.instructions)
    for number, instruction in enumerate(backbone.instructions):
        carry = instruction.carry
        sources = [o.instruction for o in instruction.operands if isinstance(o, Result)]
        sources += [o.init for o in instruction.operands if isinstance(o, Carry)]
        sources += [first_staged + 2 * n + 1 for n, s in enumerate(stagings) if s.consumer == number]
        dims = tuple(
            (backbone.dims[d].extent, backbone.statement_of(d), backbone.dims[d].is_reduction) for d in backbone.dims_of(number)
        )
        made.append(
            _Instruction(
                number, _KINDS.get(instruction.operator, COMPUTE), instruction.operator, dims,
                _coefficients(backbone, instruction.access), instruction.access.region if instruction.access else -1,
                instruction.dtype.size_bytes, tuple(sources), carry is not None, instruction.dtype.is_float,
                len(instruction.operands) // 2 if instruction.operator is Operator.FMA else 1,
            )
        )  # fmt: skip
    for n, staging in enumerate(stagings):
        for operation, statement, place in ((STORE, staging.store, 1), (LOAD, staging.load, 2)):
            dims = tuple((pair[0], pair[place], False) for pair in staging.pairs)
            source = staging.producer if operation == STORE else first_staged + 2 * n
            operator = Operator.STORE if operation == STORE else Operator.LOAD
            made.append(
                _Instruction(
                    statement, operation, operator, dims, {}, staging.region, staging.element_bytes, (source,), False, True
                )
            )
    return made


def _coefficients(backbone: Backbone, access: Access | None) -> dict[int, int]:
    found: dict[int, int] = {}
    if access:
        for index, stride in zip(access.indices, backbone.regions[access.region].strides, strict=True):
            for axis, factor in index.terms:
                found[axis] = found.get(axis, 0) + factor * stride
    return found


def _is_injective(backbone: Backbone, coefficients: dict[int, int]) -> bool:
    reach = 0
    for coefficient, size in sorted((abs(c), backbone.axes[a].size) for a, c in coefficients.items() if c):
        if coefficient <= reach:
            return False
        reach += coefficient * (size - 1)
    return True


def _divides(backbone: Backbone, axis: int) -> bool:
    """Whatever the tile sizes, the outermost part is exact."""
    size = backbone.axes[axis].size
    products = {1}
    for tiles in backbone.axes[axis].tiles:
        products = {p * t for p in products for t in tiles}
    outer = next(e.sizes for e in backbone.extents if e.axis == axis and e.level == 0)
    return all(size % p == 0 or -(-size // p) not in outer for p in products)


def _compulsory(backbone: Backbone) -> tuple[float, float]:
    read: dict[int, int] = {}
    written: dict[int, int] = {}
    for instruction in backbone.instructions:
        access = instruction.access
        if access is None or access.fill is not None or backbone.regions[access.region].role is Role.TEMPORARY:
            continue
        coefficients = {a: c for a, c in _coefficients(backbone, access).items() if c}
        if not _is_injective(backbone, coefficients):
            elements = 1 + max((backbone.axes[a].size - 1 for a in coefficients), default=0)
        else:
            elements = int(np.prod([backbone.axes[a].size for a in coefficients], dtype=np.int64))
        touched = written if instruction.operator is Operator.STORE else read
        size = elements * backbone.regions[access.region].dtype.size_bytes
        touched[access.region] = max(touched.get(access.region, 0), size)
    return float(sum(read.values())), float(sum(written.values()))


def _latency(made: _Instruction, costs: dict[str, tuple[float, float]], *, may_split: bool) -> float:
    """Cycles. A carried sum of products may become products and a chain of sums, which is shorter: GCC does that for some
    CPUs."""
    found = costs.get(made.operator.value, (0.0, 1.0))[0]
    if may_split and made.operator is Operator.FMA and made.reduces:
        return min(found, costs.get("add", (found, 1.0))[0])
    return found


def _of_matrices(backbone: Backbone, every: Sequence[_Instruction], target: Target) -> list[str]:
    """By instruction: the type of the factors, if it is a sum of products that whole warps may make; else nothing."""
    listed = backbone.instructions
    found = [matrix_of(listed, listed[made.statement]) if made.statement < len(listed) else None for made in every]
    return [on.factor if on is not None and on.factor in target.matrices else "" for on in found]


def _of_warps(backbone: Backbone, every: Sequence[_Instruction], of_matrices: Sequence[str]) -> list[bool]:
    """Whether it is such a sum, or a load of its factors from temporaries."""
    sources = {source for made, factor in zip(every, of_matrices, strict=True) if factor for source in made.sources}
    return [
        bool(factor) or (n in sources and made.operation == LOAD and made.region >= len(backbone.regions))
        for n, (made, factor) in enumerate(zip(every, of_matrices, strict=True))
    ]


def _issues(made: _Instruction, costs: dict[str, tuple[float, float]]) -> float:
    if made.operator is Operator.MOVE:
        return 0.0
    return costs.get(made.operator.value, (0.0, 1.0))[1] * made.products


def _pipe(every: Sequence[_Instruction], number: int) -> int:
    """Sums of products may run where products do, as fused instructions."""
    made = every[number]
    is_sum = made.operator in (Operator.ADD, Operator.SUB)
    return FUSIBLE if is_sum and any(every[s].operator is Operator.MUL for s in made.sources) else _PIPES.get(made.operator, 0)


def _per_element(made: _Instruction, is_copied: bool, target: Target) -> list[float]:
    """By the most elements of one instruction, as a power of two: of all widths up to it the one that moves most per cycle."""
    ports = target.rates.ports
    if not ports or (made.operation == COMPUTE and not made.is_float):
        return [0.0] * (_WIDEST_LOG + 1)
    unit = {LOAD: "load", STORE: "store"}.get(made.operation, "fma")
    kinds = {unit} if made.operation != COMPUTE else set(_KINDS_OF.get(made.operator, ("fma", "mul", "add", "max")))
    if made.operation != COMPUTE and (is_copied or not made.is_float):
        kinds.add(f"{unit}_word")
    widest = max((p.size_bytes, p.per_clock) for p in ports if p.kind == unit)[1]
    narrowest = min(p.size_bytes for p in ports)
    found: list[float] = []
    for power in range(_WIDEST_LOG + 1):
        width = max(made.element_bytes << power, narrowest)
        most = max(
            min(p.size_bytes // made.element_bytes or 1, 1 << power) * p.per_clock for p in ports if _may_run(p, kinds, width)
        )
        found.append(widest / most)
    return found


def _may_run(port: Port, kinds: set[str], width: int) -> bool:
    return port.kind in kinds and (port.size_bytes <= width or port.kind.endswith("_word"))


def _vectors(made: _Instruction, target: Target) -> int:
    if made.operation == COMPUTE and not target.has_vector_arithmetic:
        return 1
    return max((1, *target.lanes(made.element_bytes)))


def _ranked(every: Sequence[_Instruction]) -> list[int]:
    order: list[int] = []
    placed: set[int] = set()
    waiting = list(range(len(every)))
    while waiting:
        ready = [i for i in waiting if all(s in placed for s in every[i].sources)]
        chosen = ready or waiting[:1]
        order += chosen
        placed |= set(chosen)
        waiting = [i for i in waiting if i not in placed]
    return order


def _padded(rows: Sequence[Sequence[int]], width: int) -> Ints:
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], np.int64).reshape(-1, width)


def _ints(values: Sequence[int] | npt.NDArray[np.int64]) -> Ints:
    return np.array(values, np.int64)
