"""Facts about a whole nest that the printer needs: its loops, the shape of the launch, where registers are selected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.core.linear import Linear
from warploom.machines import MAX_BLOCK_THREADS
from warploom.schedule.backbone import Role
from warploom.schedule.nest import (
    Affine,
    Barrier,
    Combine,
    Compute,
    Digit,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Space,
    Store,
    Trips,
    hardware_sizes,
    launch_digits,
)

MOST_UNROLLED = 512


@dataclass(frozen=True, slots=True)
class Leaf:
    """A statement and the loops around it, outer to inner."""

    node: Load | Store | Compute | Combine | Barrier
    path: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class NestFacts:
    nest: Nest
    loops: Mapping[int, Loop]
    grid: tuple[int, int, int]
    shape: tuple[int, ...]
    """Threads along each hardware dimension, at least three."""
    unrolled: frozenset[int]
    """Loops that must be unrolled: their index selects a register."""
    own_axes: Mapping[int, frozenset[int]]
    """Axes of a value that stand for threads or blocks: each has one register of them."""
    written: frozenset[int]
    """Buffers that the kernel stores to."""
    open_blocks: Mapping[int, Trips]
    """Hardware dimensions whose blocks are counted at run time."""
    digits: tuple[tuple[Digit, int], ...]
    """Parts of a thread's number along which thread loops lie, with the size of each."""

    @property
    def threads(self) -> int:
        return math.prod(self.shape)

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads along x, y and z of the launch."""
        x, y, z = (math.prod(size for _, size in digits) for digits in launch_digits(self.nest))
        return x, y, z

    def axes(self, value: int) -> tuple[int, ...]:
        """Axes of a value that are registers of one thread."""
        hidden = self.own_axes.get(value, frozenset())
        return tuple(a for a in range(len(self.nest.values[value].axes)) if a not in hidden)

    def elements(self, value: int) -> int:
        return math.prod(self.nest.values[value].axes[a].size for a in self.axes(value))

    def block_arrays(self) -> tuple[int, ...]:
        """Temporaries in global memory, private to each block: further arguments of the kernel."""
        return tuple(n for n, b in enumerate(self.nest.buffers) if b.role is Role.TEMPORARY and b.space is Space.GLOBAL)

    def shared_arrays(self) -> tuple[int, ...]:
        return tuple(n for n, b in enumerate(self.nest.buffers) if b.space is Space.SHARED)


def leaves(body: tuple[Node, ...], path: tuple[Loop, ...] = ()) -> Iterator[Leaf]:
    """Statements in program order."""
    for node in body:
        if isinstance(node, Loop):
            yield from leaves(node.body, (*path, node))
        else:
            yield Leaf(node, path)


def loops_of(body: tuple[Node, ...]) -> Iterator[Loop]:
    for node in body:
        if isinstance(node, Loop):
            yield node
            yield from loops_of(node.body)


def refs_of(node: Node) -> Iterator[Ref]:
    match node:
        case Load():
            yield node.target
        case Store():
            if isinstance(node.argument, Ref):
                yield node.argument
        case Compute():
            yield node.target
            yield from (a for a in node.arguments if isinstance(a, Ref))
        case Combine():
            yield node.target
            yield node.source
        case _:
            pass


def memory_of(node: Node) -> Memory | None:
    return node.memory if isinstance(node, Load | Store) else None


def gather(nest: Nest) -> NestFacts:
    """UserError (NEST_LOOPS) for loops that no launch can run, UnsupportedError for too many registers."""
    loops: dict[int, Loop] = {}
    sizes: dict[tuple[Kind, int], int] = {}
    open_blocks: dict[int, Trips] = {}
    for loop in loops_of(nest.body):
        if loop.number in loops:
            raise _problem(f"expected every loop number once, got {loop.number} twice")
        loops[loop.number] = loop
        if loop.digit is None and loop.kind in (Kind.BLOCK, Kind.THREAD):
            if loop.hardware is None or (loop.hardware > 2 and loop.kind is Kind.BLOCK):
                raise _problem(f"expected hardware dimension 0, 1 or 2 of {loop.name}, got {loop.hardware}")
            key = (loop.kind, loop.hardware)
            sizes[key] = max(sizes.get(key, 0), loop.size)
            if loop.trips is not None and loop.kind is Kind.BLOCK:
                open_blocks[loop.hardware] = loop.trips
    grid = tuple(sizes.get((Kind.BLOCK, axis), 1) for axis in range(3))
    shape = tuple(sizes.get((Kind.THREAD, axis), 1) for axis in range(max(3, len(hardware_sizes(nest, Kind.THREAD)))))
    if math.prod(shape) > MAX_BLOCK_THREADS:
        raise _problem(f"expected at most {MAX_BLOCK_THREADS} threads in a block, got {' * '.join(map(str, shape))}")
    _check_indices(nest, loops)
    unrolled, own = _selections(nest, loops)
    written = frozenset(leaf.node.memory.buffer for leaf in leaves(nest.body) if isinstance(leaf.node, Store))
    digits = tuple(dict.fromkeys((loop.digit, loop.size) for loop in loops.values() if loop.digit is not None))
    return NestFacts(nest, loops, (grid[0], grid[1], grid[2]), shape, unrolled, own, written, open_blocks, digits)


def _check_indices(nest: Nest, loops: Mapping[int, Loop]) -> None:
    """Indices are of loops around, or of threads and blocks."""
    for leaf in leaves(nest.body):
        inside = {loop.number for loop in leaf.path}
        for affine in _affines(leaf.node):
            for number, _ in affine.terms:
                if number not in loops or (number not in inside and loops[number].kind not in (Kind.BLOCK, Kind.THREAD)):
                    name = loops[number].name if number in loops else f"number {number}"
                    raise _problem(f"expected indices of loops around, got {name} in {type(leaf.node).__name__.lower()}")


def _affines(node: Node) -> Iterator[Affine]:
    for ref in refs_of(node):
        yield from ref.at
    memory = memory_of(node)
    if memory is not None:
        yield from memory.forms
    if isinstance(node, Store | Compute):
        yield from (g.index for g in node.guards)
    if isinstance(node, Compute):
        yield from (a for a in node.arguments if isinstance(a, Linear))


def _selections(nest: Nest, loops: Mapping[int, Loop]) -> tuple[frozenset[int], dict[int, frozenset[int]]]:
    unrolled: set[int] = set()
    own: dict[int, frozenset[int]] = {}
    for leaf in leaves(nest.body):
        for ref in refs_of(leaf.node):
            for axis, at in enumerate(ref.at):
                for number, stride in at.terms:
                    loop = loops[number]
                    match loop.kind:
                        case Kind.BLOCK | Kind.THREAD:
                            own[ref.value] = own.get(ref.value, frozenset()) | {axis}
                        case Kind.LOOP if loop.size > MOST_UNROLLED or loop.trips is not None:
                            name = nest.values[ref.value].name
                            message = f"expected an unrolled loop to select registers of {name}, got {loop.name} of {loop.size}"
                            raise UnsupportedError(Diagnostic("CUDA_REGISTERS", message, fix="unroll a tile of that loop"))
                        case Kind.LOOP | Kind.UNROLL | Kind.VECTOR:
                            unrolled.add(number)
                    if stride != 1:
                        raise _problem(f"expected stride 1 in a register of {nest.values[ref.value].name}, got {stride}")
    return frozenset(unrolled), own


def _problem(message: str) -> UserError:
    return UserError(Diagnostic("NEST_LOOPS", message))


def shifted(affine: Affine, number: int, distance: int) -> Affine:
    """The affine form with the index of loop `number` replaced by index + distance."""
    return affine.shifted(affine.coefficient(number) * distance)


def fixed(affine: Affine, number: int, index: int) -> Affine:
    """The affine form with the index of loop `number` replaced by a constant."""
    return affine.substituted({number: Linear((), index)})
