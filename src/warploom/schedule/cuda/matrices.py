"""Sums of products that whole warps make, as text: loads of the factors (`ldmatrix` where it can), `mma.sync` for the sums."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from warploom.core.linear import Linear
from warploom.ctext import Text, added, binary, call, cuda_type, decimal, plus, unary
from warploom.ir.swizzle import Xor
from warploom.machines import MatrixInstruction
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.helpers import register_type
from warploom.schedule.cuda.indices import Offset, Phase
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.swizzles import swizzle_call
from warploom.schedule.nest import Factor, Products, Way

LANE = "lane"


class Matrices:
    def __init__(self, context: Context) -> None:
        self.context = context

    def part(self, products: Products) -> list[Item]:
        """All products of the part, each summed index of the instruction after the other."""
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


def _digit(lane: Text, divisor: int, number: int) -> Text:
    """lane / divisor % number."""
    return binary("%", binary("/", lane, decimal(divisor)) if divisor > 1 else lane, decimal(number))


def _scaled(text: Text, step: int) -> Text:
    return binary("*", text, decimal(step)) if step != 1 else text
