"""Sums of products that whole warps make, as text: `ldmatrix` for the factors, `mma.sync` for the sums."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from warploom.core.linear import Linear
from warploom.ctext import Text, added, binary, call, cuda_type, decimal, plus
from warploom.ir.swizzle import Xor
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.indices import Offset, Phase
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.swizzles import swizzle_call
from warploom.schedule.nest import PIECE, Factor, Products

LANE = "lane"


class Matrices:
    def __init__(self, context: Context) -> None:
        self.context = context

    def part(self, products: Products) -> list[Item]:
        """All products of the part, each summed index of the instruction after the other."""
        rows, columns, together = products.rows, products.columns, products.columns_together
        row, column = (self.context.indices.loop_names(wish) for wish in ("rows", "columns"))
        lines: list[Item] = [Line(f"unsigned {row}[{len(rows.parts)}][4], {column}[{len(columns.parts)}][2];")]
        width = 2 * together
        load_rows, load_columns = self._loader(rows, 4), self._loader(columns, width)
        multiply = f"multiply_{products.dtype.name}"
        self.context.helpers.add(multiply)
        for k in range(len(rows.slices)):
            for n in range(len(rows.parts)):
                to = [f"{row}[{n}][{r}]" for r in range(4)]
                lines.append(self._load(load_rows, to, rows, rows.parts[n] + rows.slices[k], is_rows=True))
            for n in range(0, len(columns.parts), together):
                to = [f"{column}[{n + far}][{r}]" for far in range(together) for r in range(2)]
                lines.append(self._load(load_columns, to, columns, columns.parts[n] + columns.slices[k], is_rows=False))
            for n in range(len(rows.parts)):
                for m in range(len(columns.parts)):
                    sums = [self._sum(products, 2 * n + far, 2 * m + j) for far in range(2) for j in range(2)]
                    text = call(multiply, *sums, Text(f"{row}[{n}]"), Text(f"{column}[{m}]")).text
                    lines.append(Line(f"{text};", frozenset({products.sum.target.value})))
        return [Braces(("",), lines)]

    def _loader(self, factor: Factor, width: int) -> str:
        name = f"load_{width}_matrices{'_transposed' if factor.is_transposed else ''}"
        self.context.helpers.add(name)
        return name

    def _load(self, function: str, to: list[str], factor: Factor, constant: int, *, is_rows: bool) -> Line:
        return Line(f"{call(function, *map(Text, to), self._piece(factor, constant, is_rows=is_rows)).text};")

    def _sum(self, products: Products, row: int, column: int) -> Text:
        """The register of a result."""
        with ExitStack() as stack:
            for number, value in (*products.row_points[row], *products.column_points[column]):
                stack.enter_context(self.context.index(number, value))
            return self.context.register(products.sum.target)

    def _piece(self, factor: Factor, constant: int, *, is_rows: bool) -> Text:
        """Pointer to the piece of 16 bytes whose place this lane gives."""
        context = self.context
        memory = factor.load.memory
        buffer = context.facts.nest.buffers[memory.buffer]
        array = context.buffers[memory.buffer]
        turn = (context.phases.get(memory.buffer, Phase(None, 0)), buffer.copies, buffer.elements) if buffer.copies > 1 else None
        pointer, left = context.indices.pointer(array, cuda_type(buffer.dtype), Linear(), turn)
        form = context.indices.form(factor.base)
        fixed = form.only(frozenset(a for a, _ in form.terms if a[0] == "thread"))
        moving = Linear(tuple(t for t in form.terms if t not in fixed.terms))
        place, bits = self._lane(factor, fixed, array, is_rows=is_rows)
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

    def _lane(self, factor: Factor, fixed: Offset, array: str, *, is_rows: bool) -> tuple[Text, int]:
        """The place of this lane's piece among those of one load, named, and the bits that it may have set."""
        indices = self.context.indices
        threads = [Text(indices.texts["thread", axis]) for axis in range(2)]
        lane = self._named(("lane",), LANE, binary("+", threads[0], binary("*", threads[1], decimal(4))))
        far, deep = (1, 2) if is_rows else (2, 1)
        if factor.by_pair == 2 * factor.by_one:
            parts = [(factor.by_one, binary("%", lane, decimal(PIECE)))]
        else:
            halved = binary("/", binary("%", lane, decimal(PIECE)), decimal(2))
            parts = [(factor.by_pair, halved), (factor.by_one, binary("%", lane, decimal(2)))]
        for bit, step in ((far, factor.across), (deep, factor.inward)):
            if step:
                parts.append((step, binary("%", binary("/", lane, decimal(PIECE * bit)), decimal(2))))
        terms = [binary("*", text, decimal(step)) if step != 1 else text for step, text in parts if step]
        text = terms[0]
        for term in terms[1:]:
            text = binary("+", text, term)
        if fixed.terms:
            text = binary("+", text, indices.text(Linear(fixed.terms)))
        lanes = np.arange(32)
        values = lanes % PIECE // 2 * factor.by_pair + lanes % 2 * factor.by_one
        values = values + lanes // (PIECE * far) % 2 * factor.across + lanes // (PIECE * deep) % 2 * factor.inward
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
