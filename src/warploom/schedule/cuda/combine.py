"""Totals of partial results: a tree over registers, shuffles inside a warp, shared memory beyond.

Over threads: along each thread loop the largest power of two that stays in aligned groups of a warp is summed by butterfly
shuffles; what is left (several warps, sizes that are no powers of two, loops with fewer iterations than their hardware dimension
has threads) goes through shared memory. Afterwards every thread of the block holds the total of its group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warploom.machines.gpu import WARP_LANES as WARP
from warploom.schedule.backbone import Operator
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.scalars import c_type, reduction
from warploom.schedule.nest import Affine, Combine

_MOST_IN_TEXT = 16
"""Summands of one expression."""
_MOST_SLOTS = 32
"""Turns of unrolled loops that have partial results of their own in shared memory, so that they need not wait for each other."""


@dataclass(frozen=True, slots=True)
class Part:
    """One hardware dimension summed over."""

    axis: int
    size: int
    """Iterations of the loop."""
    shuffled: int
    """Power of two of neighbours summed by shuffles."""
    step: int
    """Lanes between neighbours."""

    @property
    def left(self) -> int:
        """Partial totals after the shuffles."""
        return self.size // self.shuffled


def parts_of(context: Context, node: Combine) -> list[Part]:
    block = context.facts.block
    found: list[Part] = []
    for number in node.threads:
        loop = context.facts.loops[number]
        axis = loop.hardware or 0
        step = math.prod(block[:axis])
        shuffled = 1
        while (
            step & (step - 1) == 0
            and step * shuffled * 2 <= WARP
            and loop.size % (shuffled * 2) == 0
            and block[axis] % (shuffled * 2) == 0
        ):
            shuffled *= 2
        found.append(Part(axis, loop.size, shuffled, step))
    return sorted(found, key=lambda p: p.axis)


class Combinations:
    def __init__(self, context: Context) -> None:
        self.context = context

    def combine(self, node: Combine) -> list[Item]:
        """Statements that every thread of the block must reach together when there are thread loops."""
        context = self.context
        dtype = context.facts.nest.values[node.target.value].dtype
        target, value = context.register(node.target), node.target.value
        both = frozenset({value, node.source.value})
        is_single = not context.facts.axes(value) and value != node.source.value
        items: list[Item] = []
        own = set(context.facts.axes(node.source.value))
        axes = [a for a in node.registers if a in own]
        sizes = [context.facts.nest.values[node.source.value].axes[a].size for a in axes]

        def apply(first: str, second: str) -> str:
            return reduction(node.operator, dtype, first, second)

        texts = [self._element(node, axes, at) for at in itertools.product(*map(range, sizes))]
        while len(texts) > _MOST_IN_TEXT:
            groups = [texts[start : start + _MOST_IN_TEXT] for start in range(0, len(texts), _MOST_IN_TEXT)]
            texts = [context.indices.names("part") for _ in groups]
            items += [
                Line(f"const {c_type(dtype)} {name} = {_tree(group, apply)};", frozenset({node.source.value}))
                for name, group in zip(texts, groups, strict=True)
            ]
        items.append(Line(f"{target} = {_tree(texts, apply)};", both, value if is_single else None))
        return items + self._over_threads(node, target, value, apply)

    def _element(self, node: Combine, axes: Sequence[int], at: Sequence[int]) -> str:
        places = list(node.source.at)
        for axis, index in zip(axes, at, strict=True):
            places[axis] = Affine(index)
        return self.context.register(replace(node.source, at=tuple(places)))

    def _over_threads(self, node: Combine, target: str, value: int, apply: Callable[[str, str], str]) -> list[Item]:
        parts = parts_of(self.context, node)
        dtype = self.context.facts.nest.values[value].dtype
        named = frozenset({value})
        items: list[Item] = []
        mask = self._mask()
        for part in parts:
            distances = [part.step * part.shuffled >> (n + 1) for n in range(part.shuffled.bit_length() - 1)]
            for distance in distances:
                other = f"__shfl_xor_sync({mask}, {target}, {distance})"
                items.append(Line(_updated(node, target, other, apply), named))
        block = self.context.facts.block
        if any(p.left > 1 or p.size < block[p.axis] for p in parts):
            items += self._through_memory(node, parts, target, named, apply, c_type(dtype))
        return items

    def _mask(self) -> str:
        threads = self.context.facts.threads
        if threads % WARP == 0:
            return "0xffffffffu"
        if threads < WARP:
            return f"0x{(1 << threads) - 1:08x}u"
        context = self.context
        if context.warp_mask is None:
            context.warp_mask = context.indices.names("warp_mask")
        return context.warp_mask

    def _through_memory(
        self,
        node: Combine,
        parts: Sequence[Part],
        target: str,
        named: frozenset[int],
        apply: Callable[[str, str], str],
        word: str,
    ) -> list[Item]:
        context, block = self.context, self.context.facts.block
        texts = context.indices.texts
        dtype = context.facts.nest.values[node.target.value].dtype
        summed = {p.axis for p in parts}
        left = math.prod(p.left for p in parts)
        slots = math.prod(size for _, size in context.turns)
        turns = context.turns if slots <= _MOST_SLOTS else []
        digits = [*turns, *((texts["thread", a], block[a]) for a in reversed(range(3)) if a not in summed and block[a] > 1)]
        group, groups = _number(digits), math.prod(size for _, size in digits)
        name = context.indices.names("partials")
        row_bytes = left * dtype.size_bytes
        context.scratch.append((name, dtype, left * groups, 16 if row_bytes % 16 == 0 else dtype.size_bytes))
        tests: list[str] = []
        for part in parts:
            thread = texts["thread", part.axis]
            tests += [f"{thread} % {part.shuffled} == 0"] if part.shuffled > 1 else []
            tests += [f"{thread} < {part.size}"] if part.size < block[part.axis] else []
        place = _number([(_digit(texts["thread", p.axis], p), p.left) for p in reversed(parts) if p.left > 1])
        start = f"({group}) * {left}" if " " in group else f"{group} * {left}" if group else ""
        write = Line(f"{name}[{' + '.join(t for t in (start, place) if t) or '0'}] = {target};", named)
        row = context.indices.names("totals")
        head = Line(f"const {word}* {row} = {' + '.join(t for t in (name, start) if t)};")
        is_reused = context.depth > 0 or len(turns) < len(context.turns)
        items: list[Item] = [Line("__syncthreads();")] if is_reused else []
        items += [Braces((f"if ({' && '.join(tests)})",), [write])] if tests else [write]
        items += [Line("__syncthreads();"), head]
        if left <= _MOST_IN_TEXT:
            items.append(Line(f"{target} = {_tree([f'{row}[{n}]' for n in range(left)], apply)};", named))
        else:
            loop = context.indices.names("i")
            items.append(Line(f"{target} = {row}[0];", named))
            body: list[Item] = [Line(_updated(node, target, f"{row}[{loop}]", apply), named)]
            items.append(Braces((f"for (int {loop} = 1; {loop} < {left}; ++{loop})",), body))
        return items


def _digit(thread: str, part: Part) -> str:
    return thread if part.shuffled == 1 else f"{thread} / {part.shuffled}"


def _number(digits: Sequence[tuple[str, int]]) -> str:
    """Mixed radix, most significant digit first."""
    text = ""
    for name, size in digits:
        text = f"({text}) * {size} + {name}" if " " in text else f"{text} * {size} + {name}" if text else name
    return text


def _updated(node: Combine, target: str, other: str, apply: Callable[[str, str], str]) -> str:
    return f"{target} += {other};" if node.operator is Operator.ADD else f"{target} = {apply(target, other)};"


def _tree(texts: Sequence[str], apply: Callable[[str, str], str]) -> str:
    """Neighbours first; the depth is the logarithm of the number."""
    level = list(texts)
    while len(level) > 1:
        pairs = [apply(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
