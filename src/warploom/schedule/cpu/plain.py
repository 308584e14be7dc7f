"""The kernel as plain loops, left to the C compiler: what a generated nest is compared with.

One loop nest per group of stores over the same axes, in their order; what a store needs is computed inside it, a reduction at the
outermost place where its other axes run, reductions over the same axes in one loop. Nothing is tiled, staged or unrolled; the
outermost loop is shared among threads. An expression that both a reduction and its user read is computed for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from warploom.core import Diagnostic, UnsupportedError
from warploom.core.compiler import KERNEL_FLAGS, Compiler
from warploom.core.linear import collected
from warploom.schedule.backbone import (
    Access,
    Backbone,
    Carry,
    Constant,
    Operand,
    Operator,
    Parameter,
    Position,
    Previous,
    Result,
    run_time_values,
)
from warploom.schedule.cpu.compiled import CompiledNest, compile_nest
from warploom.schedule.nest import (
    Affine,
    Argument,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Store,
    Trips,
    Value,
    buffer_of,
    placed,
)

PLAIN_FLAGS = (
    "-O3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fassociative-math",
    "-freciprocal-math",
    "-ffinite-math-only",
    "-funroll-loops",
)
"""Flags like `-ffast-math`, whose start-up code would flush subnormal numbers in the whole process."""


_EXACT_FLAGS = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
"""NaN, infinities and zeros with a sign stay what they are."""
_SUMS_REORDERED = ("-fno-signed-zeros", "-fassociative-math")


class Build(StrEnum):
    """How far the C compiler may change nests."""

    DECIDED = "decided"
    """The compiler changes nothing that a nest decides."""
    EXACT = "exact"
    """The compiler chooses its own loops and vectors."""
    SUMS = "sums"
    """The compiler also reorders sums."""

    @property
    def flags(self) -> tuple[str, ...]:
        match self:
            case Build.DECIDED:
                return KERNEL_FLAGS
            case Build.EXACT:
                return _EXACT_FLAGS
            case Build.SUMS:
                return (*_EXACT_FLAGS, *_SUMS_REORDERED)


def sound_build(*stages: Backbone) -> Build:
    """The freest build under which plain loops mean what the backbones say, NaN and infinities included.

    Sums may be taken in another order, which makes vectors of them. Compilers then also cancel `a - b + b`, which is wrong where
    b is infinite; so this is allowed only where nothing but sums adds or multiplies floats.
    """
    reordered = (Operator.ADD, Operator.SUB, Operator.NEG, Operator.MUL, Operator.DIV, Operator.FMA)
    floats = [i for stage in stages for i in stage.instructions if i.dtype.is_float]
    is_plain = all(i.carry is not None or i.operator not in reordered for i in floats)
    return Build.SUMS if is_plain and all(stage.can_reorder for stage in stages) else Build.EXACT


def plain_loop(backbone: Backbone, *, folder: Path | None = None, compiler: Compiler | None = None) -> CompiledNest:
    """`plain_nest`, compiled with reassociation allowed."""
    return compile_nest(plain_nest(backbone), folder=folder, flags=PLAIN_FLAGS, compiler=compiler)


def plain_nest(backbone: Backbone) -> Nest:
    """UnsupportedError where a value is used after the loop that makes it without being a total."""
    return _Plain(backbone.plain).nest()


class _Plain:
    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        self.loops = 0
        self.running: dict[int, int] = {}
        """Axis -> its loop here."""
        self.parameters: dict[str, Parameter] = {}

    def nest(self) -> Nest:
        backbone = self.backbone
        groups: list[list[int]] = []
        for n, instruction in enumerate(backbone.instructions):
            if instruction.operator is not Operator.STORE:
                continue
            if groups and backbone.instructions[groups[-1][0]].axes == instruction.axes:
                groups[-1].append(n)
            else:
                groups.append([n])
        body: list[Node] = []
        for stores in groups:
            body += self.over(backbone.instructions[stores[0]].axes, frozenset(), stores, Kind.BLOCK)
        values = tuple(Value(i.name, i.dtype, ()) for i in backbone.instructions)
        buffers = tuple(buffer_of(region) for region in backbone.regions)
        run_time = run_time_values(backbone)
        return Nest(f"{backbone.name} plain", buffers, tuple(self.parameters.values()), values, tuple(body), run_time)

    def over(self, axes: Sequence[int], done: frozenset[int], leaves: Sequence[int], kind: Kind = Kind.LOOP) -> tuple[Node, ...]:
        """Loops over the axes with the leaves inside, reductions as far out as they can be."""
        nodes: list[Node] = []
        here = [n for n in self.needed(leaves, done) if self.free_axes(n) <= self.running.keys()]
        while here:
            first = here[0]
            together = [n for n in here if self.reduced(n) == self.reduced(first) and not set(self.needed([n], done)) & set(here)]
            if not together:
                together = [first]
            nodes += self.reductions(together, done)
            done |= frozenset(together)
            here = [n for n in here if n not in done]
        if not axes:
            made: set[int] = set()
            for leaf in leaves:
                nodes += self.inline(leaf, done, made)
            return tuple(nodes)
        axis, number = axes[0], self.loops
        self.loops += 1
        around = self.running.get(axis)  # a sum within a sum may go along an axis of the results anew
        found = self.backbone.axes[axis]
        if around is not None and any(axis in self.free_axes(n) for n in done):
            text = f"expected no sum of a value at all {found.name} beside the value at one of them"
            raise UnsupportedError(Diagnostic("PLAIN_LOOP", text, self.backbone.instructions[leaves[0]].span))
        self.running[axis] = number
        body = self.over(axes[1:], done, leaves)
        del self.running[axis]
        if around is not None:
            self.running[axis] = around
        trips = Trips(found.run_time, 1) if found.run_time is not None else None
        return (*nodes, Loop(number, found.name, kind, found.size, body, trips=trips))

    def reductions(self, instructions: Sequence[int], done: frozenset[int]) -> list[Node]:
        nodes: list[Node] = []
        made: set[int] = set()
        for n in instructions:
            carry = self.carry(n)
            nodes += self.inline(carry.init, done, made)
            nodes.append(Compute(Ref(n, ()), Operator.MOVE, (Ref(carry.init, ()),)))
        nodes += self.over(self.reduced(instructions[0]), done, instructions)
        return nodes

    def inline(self, number: int, done: frozenset[int], made: set[int]) -> list[Node]:
        """The instruction where all its axes run, after what it needs."""
        if number in made:
            return []
        made.add(number)
        instruction = self.backbone.instructions[number]
        nodes: list[Node] = []
        for operand in instruction.operands:
            if isinstance(operand, Result) and operand.instruction not in done:
                producer = self.backbone.instructions[operand.instruction]
                if producer.carry is not None or not set(producer.axes) <= self.running.keys():
                    text = f"expected {instruction.name} to use {producer.name} point by point or as a total"
                    raise UnsupportedError(Diagnostic("PLAIN_LOOP", text, producer.span))
                nodes += self.inline(operand.instruction, done, made)
        arguments = tuple(self.argument(number, o) for o in instruction.operands)
        match instruction.operator:
            case Operator.LOAD:
                assert instruction.access is not None
                nodes.append(Load(Ref(number, ()), self.memory(instruction.access)))
            case Operator.STORE:
                assert instruction.access is not None
                nodes.append(Store(self.memory(instruction.access), arguments[0]))
            case _:
                nodes.append(Compute(Ref(number, ()), instruction.operator, arguments, buffer=instruction.region))
        return nodes

    def argument(self, number: int, operand: Operand) -> Argument:
        match operand:
            case Constant():
                return operand
            case Parameter(name=name):
                self.parameters[name] = operand
                return operand
            case Position(index):
                return _affine(index.constant, [(self.running[axis], coefficient) for axis, coefficient in index.terms])
            case Result(instruction=instruction):
                return Ref(instruction, ())
            case Previous():
                raise AssertionError("a plain loop has no running values: it is of the kernel as the function says it")
            case Carry():
                return Ref(number, ())

    def memory(self, access: Access) -> Memory:
        region = self.backbone.regions[access.region]
        indices = [index.renamed(self.running.__getitem__) for index in access.indices]
        offset, rows = placed(region, indices)
        guards = zip(indices, region.shape, strict=True) if access.fill is not None else ()
        opened = dict(region.open_lengths)
        held = tuple(Guard(index, size, opened.get(n)) for n, (index, size) in enumerate(guards))
        return Memory(access.region, offset, held, access.fill or 0.0, rows=rows)

    def needed(self, leaves: Sequence[int], done: frozenset[int]) -> list[int]:
        """Reductions that the leaves read, directly or not, producers first."""
        found: dict[int, None] = {}

        def visit(number: int, is_leaf: bool) -> None:
            if number in done or number in found:
                return
            instruction = self.backbone.instructions[number]
            for operand in instruction.operands:
                if isinstance(operand, Result):
                    visit(operand.instruction, False)
                elif isinstance(operand, Carry) and not is_leaf:
                    visit(operand.init, False)
            if instruction.carry is not None and not is_leaf:
                found[number] = None

        for leaf in leaves:
            visit(leaf, True)
        return list(found)

    def carry(self, number: int) -> Carry:
        carry = self.backbone.instructions[number].carry
        assert carry is not None
        return carry

    def reduced(self, number: int) -> tuple[int, ...]:
        carry, instruction = self.carry(number), self.backbone.instructions[number]
        return tuple(a for a in instruction.axes if a in carry.reduced)

    def free_axes(self, number: int) -> set[int]:
        return set(self.backbone.instructions[number].kept_axes)


def _affine(constant: int, terms: Iterable[tuple[int, int]]) -> Affine:
    return collected(terms, constant)
