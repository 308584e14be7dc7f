"""The kernel as the lower bound reads it: flat tables that no decision changes, and the view of one candidate.

Units: sizes in iterations, offsets in elements, times in nanoseconds. Masks of a choice have one bit per value, in the order of
the constants below; a bit is set where the value is still possible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.uint8]

LOOP, UNROLL, VECTOR, BLOCK, THREAD = 1, 2, 4, 8, 16
ANY_LOOP = -1
"""Stands for a loop: what one thread does, all of it."""
BEFORE, AFTER, INNER, OUTER, MERGED = 1, 2, 4, 8, 16
NOT_THREADS, MAPPED, MAPPED_OUT, MAPPED_IN = 1, 2, 4, 8
IN_GLOBAL, IN_SHARED = 1, 2
CACHE_ALL, CACHE_L2, CACHE_READ_ONLY, CACHE_NONE = 1, 2, 4, 8
CHAIN, TREE = 1, 2
SPREAD = 2
"""YES of the choice `spread`."""
IN_ORDER = 3
"""Values of the choice `warps` that leave the threads of a warp in the order of their levels."""

COMPUTE, LOAD, STORE = 0, 1, 2

RESOURCES = ("issue", "alu", "sync", "memory", "stores", "l1_lines", "l2_lines_read", "l2_lines_stored")
ISSUE, ALU, SYNC, MEMORY, STORES, L1_LINES, L2_READ, L2_STORED = range(8)

BY_THREAD, BY_CORE, BY_MACHINE = range(3)
LEVELS = ("thread", "core", "machine")

NO_LIMIT = 1e30

PIPES = 4
"""Pipes of a CPU: products and all else, sums, comparisons, and sums that may become part of a product (`FUSIBLE`)."""
FUSIBLE = 3


class TargetFigures(NamedTuple):
    """The figures of a target, for compiled code."""

    rates: Floats
    """[level, resource] per nanosecond; `NO_LIMIT` where a resource does not exist."""
    bandwidth: float
    """Bytes per nanosecond from and to memory."""
    launch: float
    """Nanoseconds."""
    latencies: Floats
    """Nanoseconds: global load, load that may hit the first-level cache, shared load, barrier, loop iteration, loop end."""
    is_cuda: bool
    replays_issue: bool
    """An extra transaction takes an issue slot (before Maxwell)."""
    has_l1: bool
    """Global loads may be served by the first-level cache."""
    cores: int
    warp: int
    core_threads: int
    core_blocks: int
    core_registers: int
    core_shared: int
    max_threads: int
    registers: int
    kept: int
    """Values that a compiler may keep in registers of a thread; 0: it does as it is told."""
    unrolled: int
    """Iterations of a sequential loop that a compiler may write out."""
    overlapped: float
    """Iterations of a longer loop that it may interleave."""
    loop_issues: float
    loop_alus: float
    lines: Ints
    """Bytes of a line (sector) of the first and of the second level."""
    capacities: Ints
    """Bytes that one core can keep near it (first level, on a GPU shared memory too), and of the second and last level."""
    shuffled: float
    """Lanes of accesses that a multiprocessor could take while it takes a lane of a shuffle."""
    line_lanes: int
    """Lanes of accesses that a multiprocessor could take while it takes a line: one line a cycle, at most a warp."""


GLOBAL_LATENCY, NEAR_LATENCY, SHARED_LATENCY, BARRIER_LATENCY, LOOP_LATENCY, LOOP_END = range(6)


class Problem(NamedTuple):
    """Instructions, dims and extents are numbered from 0; `-1` stands for none."""

    instruction_statement: Ints
    dim_statement: Ints
    dim_extent: Ints
    dim_owner: Ints
    dim_reduces: Masks
    own_start: Ints
    """Instruction i owns own_dims[own_start[i]:own_start[i + 1]]."""
    own_dims: Ints
    slot_start: Ints
    """Axes of instruction i: slots slot_start[i] to slot_start[i + 1]."""
    slot_axis: Ints
    slot_dims: Ints
    """[slot, level]: the instruction's dim, or -1."""
    slot_coefficient: Ints
    """Elements by which the access moves per unit of the axis."""
    slot_group: Ints
    """Slots of an instruction with the same number add up to one array axis; the number is the place of the first."""
    slot_factor: Ints
    """[slot, array axis]: of the axis in that index."""
    constants: Ints
    """[instruction, array axis]: of that index."""
    points: Floats
    """By instruction: executions that every implementation has, at least; -1 of temporaries, whose loops are not known."""
    inside: Floats
    """By instruction: share of its points that lie in the array."""
    distinct: Floats
    """By instruction: elements of an access, at least; 0 of temporaries."""
    leader: Ints
    """By instruction: the first load that differs from it by constants, or itself."""
    member_start: Ints
    members: Ints
    """Loads of leader i: members[member_start[i]:member_start[i + 1]], at most eight."""
    is_copied: Masks
    """Loads whose value goes to memory unchanged, if nothing is put between."""
    axis_extents: Ints
    """[axis, level], -1 beyond the last."""
    axis_size: Ints
    axis_divides: Masks
    """Tiles divide the size, so the product of the levels is the size."""
    extent_axis: Ints
    extent_level: Ints
    operation: Masks
    """COMPUTE, LOAD, STORE."""
    latency: Floats
    """Nanoseconds from a compute instruction to its user."""
    issues: Floats
    pipe: Ints
    """By instruction: arithmetic of different pipes runs side by side (`PIPES`)."""
    per_element: Floats
    """[instruction, n] of a CPU: what one element counts at least of `alu`, `memory` or `stores`, in instructions of the widest
    kind, where one instruction takes up to 2**n elements."""
    vectors: Ints
    """Most elements of one vector instruction."""
    element_bytes: Ints
    region: Ints
    is_injective: Masks
    """No two points of the access meet in one element except along axes it does not depend on."""
    source_start: Ints
    sources: Ints
    """Producers of instruction i, in order of the flow of data: a producer has a smaller `rank` position."""
    rank: Ints
    """All instructions, producers before users."""
    reduces: Masks
    compulsory_read: float
    """Distinct bytes of inputs that every implementation reads."""
    compulsory_written: float
    is_temporary: Masks
    """By region: 1 for a temporary."""
    of_warps: Masks
    """By instruction: sums of products that whole warps may make, and loads of their factors from temporaries, which then are
    fewer than the nest says."""
    shared_put: Ints
    """By instruction: of the load and the store that fill a tile which the tile of another sum may serve for, that store; else
    -1."""
    first_rounds: Ints
    second_rounds: Ints
    """By instruction: statements of the loops, of that sum and of its own, that are one where it does; else -1."""


class View(NamedTuple):
    """The domains of one candidate."""

    active: Masks
    possible: Masks
    """May become active."""
    kind: Masks
    smallest: Ints
    largest: Ints
    """Largest size of each extent."""
    order: Masks
    """[statement, statement]."""
    mapping: Masks
    """[dim, dim] of thread_mapping."""
    space: Masks
    cache: Masks
    partials: Masks
    """Possible forms of partial results, by dim."""
    pipelined: Masks
    """By region: 1 where the iterations of a loop may fill it ahead."""
    in_order: Masks
    """One number: 1 where the threads of a warp surely are neighbours along the levels of threads, the innermost first."""


class Scratch(NamedTuple):
    """Arrays that an evaluation fills; they also explain it."""

    facts: Floats
    grid: Floats
    usage: Floats
    """[instruction, level, resource]"""
    plain: Floats
    """[resource] The machine's rates where the CPU does as the nest says."""
    again: Floats
    """[instruction, place] of `refetch`."""
    loops: Floats
    totals: Floats
    """[level, resource] in nanoseconds."""
    others: Floats
    found: Ints
    times: Floats
    starts: Floats
    lanes: Ints
    seen: Ints
