"""Sums of products that whole warps make, as text: loads of the factors (`ldmatrix` where it can), `mma.sync` for the sums; or
`wgmma` of four warps, all of a part in one `asm`, so that nothing touches the sums between its fence and its wait."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

import numpy as np

from warploom.core.linear import Linear
from warploom.ctext import Text, added, binary, call, cuda_type, decimal, plus, static_cast, unary
from warploom.ir.swizzle import Xor
from warploom.machines import GROUP_ROWS, GROUP_WARPS, MatrixInstruction
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.helpers import register_type
from warploom.schedule.cuda.indices import Offset, Phase
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.swizzles import swizzle_call
from warploom.schedule.nest import Factor, Group, GroupFactor, Products, Way

LANE = "lane"
_OF_A_LINE = 8


class Matrices:
    def __init__(self, context: Context) -> None:
        self.context = context

    def part(self, products: Products) -> list[Item]:
        """All products of the part, each summed index of the instruction after the other."""
        if products.group is not None:
            return self._together(products, products.group)
        on, rows, columns = products.instruction, products.rows, products.columns
        row, column = (self.context.indices.loop_names(wish) for wish in ("rows", "columns"))
        word = register_type(on)
        sizes = on.halves * on.groups, on.groups
        lines: list[Item] = [Line(f"{word} {row}[{len(rows.parts)}][{sizes[0]}], {column}[{len(columns.parts)}][{sizes[1]}];")]
        multiply = f"multiply_{on.factor}"
        self.context.helpers.add(multiply)
        if on.factor == "tf32":
            self.context.helpers.add("rounded_tf32")
        together = products.columns_together if columns.way is not Way.WORDS else 1
        for k in range(len(rows.slices)):
            for n in range(len(rows.parts)):
                places = [(f"{row}[{n}][{f + on.halves * d}]", f, d) for d in range(on.groups) for f in range(on.halves)]
                lines += self._loads(on, rows, rows.parts[n] + rows.slices[k], places, is_rows=True)
            for n in range(0, len(columns.parts), together):
                places = [(f"{column}[{n + f}][{d}]", f, d) for f in range(together) for d in range(on.groups)]
                lines += self._loads(on, columns, columns.parts[n] + columns.slices[k], places, is_rows=False)
            for n in range(len(rows.parts)):
                for m in range(len(columns.parts)):
                    sums = [self._sum(products, on.halves * n + far, 2 * m + j) for far in range(on.halves) for j in range(2)]
                    text = call(multiply, *sums, Text(f"{row}[{n}]"), Text(f"{column}[{m}]")).text
                    lines.append(Line(f"{text};", frozenset({products.sum.target.value})))
        return [Braces(("",), lines)]

    def _together(self, products: Products, group: Group) -> list[Item]:
        """The same by groups of four warps."""
        on, rows, columns = products.instruction, products.rows, products.columns
        each = 2 * on.halves * len(columns.parts)
        count = each * len(group.parts)
        sums = [
            self._sum(products, group.row(n, far), 2 * m + j)
            for n in range(len(group.parts)) for m in range(len(columns.parts)) for far in range(on.halves) for j in range(2)
        ]  # fmt: skip
        first, second = self.context.indices.loop_names("rows"), self.context.indices.loop_names("columns")
        total, factor = on.ptx.split()[1], on.ptx.split()[0]
        ends = "adds, 1, 1, {}, {}".format(*(int(not f.is_along_sum) for f in (group.rows, group.columns)))
        name = f"wgmma.mma_async.sync.aligned.m{GROUP_ROWS}n{group.width}k{on.deep}.{total}.{factor}.{factor}"
        texts = [".reg .pred adds;", ".reg .b64 rows, columns, a, b;", "setp.eq.u32 adds, 0, 0;"]
        for wish, position, lying in (("rows", count, group.rows), ("columns", count + 1, group.columns)):
            word = _descriptor(lying.leading * on.factor_bytes, lying.stride * on.factor_bytes)
            texts += [f"cvt.u64.u32 {wish}, %{position};", f"shr.u64 {wish}, {wish}, 4;", f"add.u64 {wish}, {wish}, {word:#x};"]
        texts.append("wgmma.fence.sync.aligned;")
        for one, other in zip(rows.slices, columns.slices, strict=True):
            texts.append(f"add.u64 b, columns, {other // on.piece};")
            for n, part in enumerate(group.parts):
                texts.append(f"add.u64 a, rows, {(part + one) // on.piece};")
                registers = _listed(f"%{r}" for r in range(n * each, (n + 1) * each))
                texts.append(f"{name} {{{registers[0]}")
                texts += [f"    {line}" for line in registers[1:]]
                texts[-1] += f"}}, a, b, {ends if total != 's32' else 'adds'};"
        texts += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
        letter = "f" if on.total == "f32" else "r"
        outputs = _listed(f'"+{letter}"({text.text})' for text in sums)
        lines: list[Item] = []
        for wish, factor_, lying, start in ((first, rows, group.rows, 0), (second, columns, group.columns, columns.parts[0])):
            place = call("__cvta_generic_to_shared", self._start(factor_, lying, start))
            lines.append(Line(f"const unsigned {wish} = {static_cast('unsigned', place).text};"))
        lines += map(Line, ['asm volatile("{"', *(f'             "{text}"' for text in texts), '             "}"'])
        lines += [Line(f"             {':' if n == 0 else ' '} {text}") for n, text in enumerate(outputs)]
        lines.append(Line(f'             : "r"({first}), "r"({second})'))
        lines.append(Line('             : "memory");', frozenset({products.sum.target.value})))
        return [Braces(("",), lines)]

    def _start(self, factor: Factor, lying: GroupFactor, start: int) -> Text:
        """Pointer to element `start` of a factor for this thread's group."""
        context = self.context
        memory = factor.load.memory
        buffer = context.facts.nest.buffers[memory.buffer]
        turn = (context.phases.get(memory.buffer, Phase(None, 0)), buffer.copies, buffer.elements) if buffer.copies > 1 else None
        pointer, left, _ = context.indices.pointer(context.buffers[memory.buffer], cuda_type(buffer.dtype), Linear(), turn)
        index = decimal(left.constant + start)
        if lying.of_group and context.indices.highs["thread", 2] >= GROUP_WARPS:
            number = binary("/", Text(context.indices.texts["thread", 2]), decimal(GROUP_WARPS))
            index = plus(binary("*", number, decimal(lying.of_group)), left.constant + start)
        return pointer if index.value == 0 else added(pointer, index)

    def _loads(
        self, on: MatrixInstruction, factor: Factor, constant: int, places: list[tuple[str, int, int]], *, is_rows: bool
    ) -> list[Item]:
        """Loads of the registers that are named, each of a matrix (far, deep)."""
        if factor.way is Way.WORDS:
            lines: list[Item] = []
            for name, far, deep in places:
                pointer = self._place(factor, constant + far * factor.across + deep * factor.inward, is_rows=is_rows, count=1)
                lines.append(Line(f"{name} = {self._word(on, pointer).text};"))
            return lines
        load = f"load_{len(places)}_matrices{'_transposed' if factor.way is Way.TRANSPOSED else ''}"
        self.context.helpers.add(load)
        pointer = self._place(factor, constant, is_rows=is_rows, count=len(places))
        loaded: list[Item] = [Line(f"{call(load, *(Text(name) for name, _, _ in places), pointer).text};")]
        if on.factor == "tf32":
            loaded += [Line(f"{n} = __float_as_uint(rounded_tf32(__uint_as_float({n})));") for n, _, _ in places]
        return loaded

    def _word(self, on: MatrixInstruction, pointer: Text) -> Text:
        value = unary("*", pointer)
        if on.factor == "tf32":
            value = call("rounded_tf32", value)
        return value if register_type(on) != "unsigned" else call("__float_as_uint", value)

    def _sum(self, products: Products, row: int, column: int) -> Text:
        """The register of a result."""
        with ExitStack() as stack:
            for number, value in (*products.row_points[row], *products.column_points[column]):
                stack.enter_context(self.context.index(number, value))
            return self.context.register(products.sum.target)

    def _place(self, factor: Factor, constant: int, *, is_rows: bool, count: int) -> Text:
        """Pointer to the element, or the piece of 16 bytes, whose place this lane gives; `count`: matrices loaded at once."""
        context = self.context
        memory = factor.load.memory
        buffer = context.facts.nest.buffers[memory.buffer]
        array = context.buffers[memory.buffer]
        turn = (context.phases.get(memory.buffer, Phase(None, 0)), buffer.copies, buffer.elements) if buffer.copies > 1 else None
        pointer, left, _ = context.indices.pointer(array, cuda_type(buffer.dtype), Linear(), turn)
        form = context.indices.form(factor.base)
        fixed = form.only(frozenset(a for a, _ in form.terms if a[0] == "thread"))
        moving = Linear(tuple(t for t in form.terms if t not in fixed.terms))
        place, bits = self._lane(factor, fixed, array, is_rows=is_rows, count=count)
        constant += form.constant
        swizzle = memory.swizzle
        if swizzle is None:
            index = plus(context.indices.text(moving, place), constant)
            return added(pointer, plus(index, left.constant))
        context.helpers.add("swizzled" if isinstance(swizzle.core, Xor) else "rotated")
        above = 0
        if isinstance(swizzle.core, Xor):
            above = constant - constant % (swizzle.row * swizzle.core.n * (swizzle.core.period or 1))
            inside = constant - above
            if not moving.terms and not bits & inside:
                own = int(swizzle.of(np.array([inside]))[0])
                whole = self._named(("swizzled", array, is_rows), f"{array}_pieces_swizzled", swizzle_call(swizzle, place))
                index = binary("^", whole, decimal(own)) if own else whole
                return added(pointer, plus(index, above + left.constant))
        index = swizzle_call(swizzle, plus(context.indices.text(moving, place), constant - above))
        return added(pointer, plus(index, above + left.constant))

    def _lane(self, factor: Factor, fixed: Offset, array: str, *, is_rows: bool, count: int) -> tuple[Text, int]:
        """The place of this lane among those of one load, named, and the bits that it may have set."""
        indices = self.context.indices
        threads = [Text(indices.texts["thread", axis]) for axis in range(2)]
        lane = self._named(("lane",), LANE, binary("+", threads[0], binary("*", threads[1], decimal(4))))
        steps = list(factor.lane_steps)
        if factor.way is not Way.WORDS:
            far, deep = (1, 2) if is_rows else (2, 1)
            steps += [
                (step, 8 * bit, 2) for bit, step in ((far, factor.across), (deep, factor.inward)) if step and 2 * bit <= count
            ]
        terms = [_scaled(_digit(lane, divisor, n), step) for step, divisor, n in steps if step]
        text = terms[0]
        for term in terms[1:]:
            text = binary("+", text, term)
        if fixed.terms:
            text = binary("+", text, indices.text(Linear(fixed.terms)))
        lanes = np.arange(32)
        values = sum((step * (lanes // divisor % n) for step, divisor, n in steps), np.zeros_like(lanes))
        for atom, stride in fixed.terms:
            values = (values[:, None] + stride * np.arange(indices.highs[atom] + 1)).reshape(-1)
        bits = int(np.bitwise_or.reduce(values)) if values.min() >= 0 else -1
        return self._named(("pieces", array, is_rows, factor.base, factor.across), f"{array}_pieces", text), bits

    def _named(self, key: tuple[object, ...], wish: str, text: Text) -> Text:
        """A constant of the whole kernel."""
        scope = self.context.indices.scoped()[0]
        if key not in scope.known:
            name = self.context.indices.names.fresh(wish)
            scope.known[key] = Text(name)
            scope.lines.append(Line(f"const int {name} = {text.text};"))
        return scope.known[key]


def _descriptor(leading_bytes: int, stride_bytes: int) -> int:
    """A matrix descriptor without its start: offsets in units of 16 bytes, pieces permuted in lines of 128 bytes.

    Source: PTX ISA 9.0, section 9.7.15.5.1.2.
    """
    return max(1, leading_bytes // 16) << 16 | stride_bytes // 16 << 32 | 1 << 62


def _listed(texts: Iterable[str]) -> list[str]:
    """Lines of a few texts each, with commas between them."""
    found = list(texts)
    lines = [", ".join(found[n : n + _OF_A_LINE]) for n in range(0, len(found), _OF_A_LINE)]
    return [f"{line}," for line in lines[:-1]] + lines[-1:]


def _digit(lane: Text, divisor: int, number: int) -> Text:
    """lane / divisor % number."""
    return binary("%", binary("/", lane, decimal(divisor)) if divisor > 1 else lane, decimal(number))


def _scaled(text: Text, step: int) -> Text:
    return binary("*", text, decimal(step)) if step != 1 else text
