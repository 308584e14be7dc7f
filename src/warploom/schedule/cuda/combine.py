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

from warploom.core.linear import Linear
from warploom.ctext import BARRIER, SHUFFLES, UNARY, Text, added, binary, call, cuda_type, decimal, element, every, rest_of_warps
from warploom.machines import WARP_LANES as WARP
from warploom.schedule.backbone import Operator
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.scalars import reduction
from warploom.schedule.nest import Combine

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
    block = context.facts.shape
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

        def apply(first: Text, second: Text) -> Text:
            context.calls(node.operator, dtype)
            return reduction(node.operator, dtype, first, second)

        texts = [self._element(node, axes, at) for at in itertools.product(*map(range, sizes))]
        while len(texts) > _MOST_IN_TEXT:
            groups = [texts[start : start + _MOST_IN_TEXT] for start in range(0, len(texts), _MOST_IN_TEXT)]
            texts = [Text(context.indices.names.fresh("part")) for _ in groups]
            items += [
                Line(f"const {cuda_type(dtype)} {name.text} = {_tree(group, apply).text};", frozenset({node.source.value}))
                for name, group in zip(texts, groups, strict=True)
            ]
        items.append(Line(f"{target.text} = {_tree(texts, apply).text};", both, value if is_single else None))
        return items + self._over_threads(node, target, value, apply)

    def _element(self, node: Combine, axes: Sequence[int], at: Sequence[int]) -> Text:
        places = list(node.source.at)
        for axis, index in zip(axes, at, strict=True):
            places[axis] = Linear((), index)
        return self.context.register(replace(node.source, at=tuple(places)))

    def _over_threads(self, node: Combine, target: Text, value: int, apply: Callable[[Text, Text], Text]) -> list[Item]:
        parts = parts_of(self.context, node)
        dtype = self.context.facts.nest.values[value].dtype
        named = frozenset({value})
        items: list[Item] = []
        mask = self._mask()
        for part in parts:
            distances = [part.step * part.shuffled >> (n + 1) for n in range(part.shuffled.bit_length() - 1)]
            for distance in distances:
                other = call(SHUFFLES["xor"], mask, target, decimal(distance))
                items.append(Line(_updated(node, target, other, apply), named))
        block = self.context.facts.shape
        if any(p.left > 1 or p.size < block[p.axis] for p in parts):
            items += self._through_memory(node, parts, target, named, apply, cuda_type(dtype))
        return items

    def _mask(self) -> str:
        full, rest = rest_of_warps(self.context.facts.threads)
        if not rest or not full:
            return f"0x{rest or 0xFFFFFFFF:08x}u"
        context = self.context
        if context.warp_mask is None:
            context.warp_mask = context.indices.names.fresh("warp_mask")
        return context.warp_mask

    def _through_memory(
        self,
        node: Combine,
        parts: Sequence[Part],
        target: Text,
        named: frozenset[int],
        apply: Callable[[Text, Text], Text],
        word: str,
    ) -> list[Item]:
        context, block = self.context, self.context.facts.shape
        texts = context.indices.texts
        dtype = context.facts.nest.values[node.target.value].dtype
        summed = {p.axis for p in parts}
        left = math.prod(p.left for p in parts)
        slots = math.prod(size for _, size in context.turns)
        turns = context.turns if slots <= _MOST_SLOTS else []
        digits = [
            *((Text(name), size) for name, size in turns),
            *((Text(texts["thread", a]), block[a]) for a in reversed(range(len(block))) if a not in summed and block[a] > 1),
        ]
        group, groups = _number(digits), math.prod(size for _, size in digits)
        name = context.indices.names.fresh("partials")
        row_bytes = left * dtype.size_bytes
        context.scratch.append((name, dtype, left * groups, 16 if row_bytes % 16 == 0 else dtype.size_bytes))
        tests: list[Text] = []
        for part in parts:
            thread = Text(texts["thread", part.axis])
            tests += [binary("==", binary("%", thread, decimal(part.shuffled)), decimal(0))] if part.shuffled > 1 else []
            tests += [binary("<", thread, decimal(part.size))] if part.size < block[part.axis] else []
        place = _number([(_digit(Text(texts["thread", p.axis]), p), p.left) for p in reversed(parts) if p.left > 1])
        start = None if group is None else binary("*", group, decimal(left), inner=UNARY)
        offset = [t for t in (start, place) if t is not None] or [decimal(0)]
        write = Line(f"{element(Text(name), added(*offset)).text} = {target.text};", named)
        row = context.indices.names.fresh("totals")
        pointer = Text(name) if start is None else added(Text(name), start)
        head = Line(f"const {word}* {row} = {pointer.text};")
        is_reused = context.depth > 0 or len(turns) < len(context.turns)
        items: list[Item] = [Line(BARRIER)] if is_reused else []
        items += [Braces((f"if ({every(tests).text})",), [write])] if tests else [write]
        items += [Line(BARRIER), head]
        if left <= _MOST_IN_TEXT:
            elements = [element(Text(row), decimal(n)) for n in range(left)]
            items.append(Line(f"{target.text} = {_tree(elements, apply).text};", named))
        else:
            loop = context.indices.names.fresh("i")
            items.append(Line(f"{target.text} = {row}[0];", named))
            body: list[Item] = [Line(_updated(node, target, element(Text(row), Text(loop)), apply), named)]
            items.append(Braces((f"for (int {loop} = 1; {loop} < {left}; ++{loop})",), body))
        return items


def _digit(thread: Text, part: Part) -> Text:
    return thread if part.shuffled == 1 else binary("/", thread, decimal(part.shuffled))


def _number(digits: Sequence[tuple[Text, int]]) -> Text | None:
    """Mixed radix, most significant digit first; None without digits."""
    text: Text | None = None
    for digit, size in digits:
        text = digit if text is None else added(binary("*", text, decimal(size), inner=UNARY), digit)
    return text


def _updated(node: Combine, target: Text, other: Text, apply: Callable[[Text, Text], Text]) -> str:
    if node.operator is Operator.ADD:
        return f"{target.text} += {other.text};"
    return f"{target.text} = {apply(target, other).text};"


def _tree(texts: Sequence[Text], apply: Callable[[Text, Text], Text]) -> Text:
    """Neighbours first; the depth is the logarithm of the number."""
    level = list(texts)
    while len(level) > 1:
        pairs = [apply(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
