"""A matrix program as a sketch in Python for one warp: what each lane owns is a register, what it reads of others a shuffle.

A matrix whose last index is the lane itself somewhere is in registers: lane t owns column t. Other matrices are the same for all
lanes. A matrix that starts at zero and is only added to is an accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from warploom.core import Span
from warploom.core.tokens import wrong
from warploom.sketch.matrix.scopes import check_scopes
from warploom.sketch.matrix.serial import Printer, Serial, check_step, number, parts_of, safe, shape_of, statements, values_of
from warploom.sketch.matrix.threads import LANES, is_of_threads, over_lanes
from warploom.sketch.matrix.tree import (
    Accumulate,
    Assign,
    Binary,
    Call,
    Declared,
    Element,
    Expr,
    For,
    Function,
    Hole,
    If,
    Items,
    Name,
    Number,
    Program,
    Return,
    Statement,
)

_HELPERS = '''
def _zeros(*shape):
    return np.zeros(shape, dtype=object)


def _empty(*shape):
    """Any values, which None stands for."""
    return np.full(shape, None, dtype=object)


def _at(index, name):
    if index < 0:
        raise IndexError(f"expected indices of {name} from 0 on, got {index}")
    return index


def _quotient(left, right):
    """Rounded towards zero, as in C; of data `/` of whole numbers means that."""
    if not isinstance(left, int) or not isinstance(right, int):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left, right):
    return left - _quotient(left, right) * right


def _reshaped(values, shape):
    """The values in rows, zeros after them."""
    made = _zeros(*shape)
    made.ravel()[: len(values)] = list(values)
    return made
'''
MAX_LANES = 32
_IDENTITIES = {"+": "0", "*": "1"}


def python(program: Program) -> str:
    """The text of a Python module with one sketch. Raises UserError at what has no such meaning."""
    return _Module(program).text()


@dataclass(slots=True)
class _Matrix:
    name: str
    type: str
    shape: tuple[int, ...]
    in_registers: bool = False
    is_accumulator: bool = False
    inner: str = ""
    op: str = "+"


class _Module:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._numbers: dict[str, int] = {}

    def text(self) -> str:
        lines = ["import numpy as np", "", "import warploom as wl", "from warploom import f16, f32, f64, i32, u32", _HELPERS, ""]
        given: dict[str, str] = {}
        if any(map(is_of_threads, self._program.functions)) and LANES not in {d.name.text for d in self._program.declared}:
            self._numbers[LANES] = MAX_LANES
            lines.append(f"{LANES} = {MAX_LANES}")
        for one in self._program.declared:
            if not one.extents and one.type == "i32" and one.value is not None:
                self._numbers[one.name.text] = self._number(one.value)
                lines.append(f"{safe(one.name)} = {self._numbers[one.name.text]}")
            else:
                given[one.name.text] = self._content(one)
        spec, spec_arguments, sketch, sketch_arguments = self._called()
        lines += ["", "", *Serial(spec, self._numbers).lines(), "", ""]
        lines += [f"{safe(d.name)} = {given[d.name.text]}" for d in self._program.declared if d.name.text in given]
        lines += [f"_wanted = {spec.name.text}({', '.join(map(self._argument, spec_arguments))})", "", ""]
        if len(sketch_arguments) != len(sketch.parameters):
            message = f"expected {len(sketch.parameters)} arguments of {sketch.name.text}, got {len(sketch_arguments)}"
            raise wrong(self._program.asserted.span, message, "Pass one for each parameter.")
        if is_of_threads(sketch):
            axes = {d.name.text: len(d.extents) for d in self._program.declared if d.extents}
            shapes = [axes.get(a.text) if isinstance(a, Name) else None for a in sketch_arguments]
            sketch = over_lanes(sketch, shapes, Name(LANES, sketch.name.span))
        self._fit(sketch, sketch_arguments)
        check_scopes(spec, self._numbers, is_spec=True)
        check_scopes(sketch, self._numbers, is_spec=False)
        passed = {p.name.text: self._argument(a) for p, a in zip(sketch.parameters, sketch_arguments, strict=True) if p.extents}
        return "\n".join([*lines, *_Lanes(sketch, self._numbers, passed).lines(), ""])

    def _fit(self, sketch: Function, arguments: Sequence[Expr]) -> None:
        """Raises UserError for an argument of another shape than its parameter."""
        declared = {d.name.text: d for d in self._program.declared if d.extents}
        for one, argument in zip(sketch.parameters, arguments, strict=True):
            if one.extents and isinstance(argument, Name) and argument.text in declared:
                wanted, got = shape_of(one, self._numbers), shape_of(declared[argument.text], self._numbers)
                if wanted != got:
                    message = f"expected {list(wanted)} for {one.name.text}, got {argument.text} of the shape {list(got)}"
                    raise wrong(argument.span, message, "Give both the same sizes.")

    def _number(self, value: Expr) -> int:
        return number(value, self._numbers)

    def _content(self, one: Declared) -> str:
        """The content of a declared matrix of the instance."""
        name, shape = one.name.text, shape_of(one, self._numbers)
        match one.value:
            case Call(name=Name(text="symbolic_matrix")):
                return f'wl.symbols("{name}", {shape!r})'
            case Call(name=Name(text="reshape"), arguments=(Name(text=other, span=span), *_)):
                held = next((prod(shape_of(d, self._numbers)) for d in self._program.declared if d.name.text == other), 0)
                if not 0 < held <= prod(shape):
                    got = f"{held} of {other}" if held else f"{other}, which is not declared"
                    raise wrong(span, f"expected at most {prod(shape)} elements for {name}, got {got}", "Correct its extents.")
                return f"_reshaped({other}, {shape!r})"
            case Items(parts=parts) if all(isinstance(p, Name) for p in parts):
                return f'wl.symbols("{name}", {shape!r})'
            case _:
                fix = f"Write: {name}[...] = symbolic_matrix([...]), reshape(x, [...]) or [x0, x1]."
                raise wrong(one.name.span, f"expected symbols for {name}, got something else", fix)

    def _argument(self, value: Expr) -> str:
        match value:
            case Name(text=text):
                if text not in self._numbers and text not in {d.name.text for d in self._program.declared}:
                    raise wrong(value.span, f"expected a matrix or number that is declared, got {text}", "Declare it before.")
                return safe(value)
            case _:
                return str(self._number(value))

    def _called(self) -> tuple[Function, tuple[Expr, ...], Function, tuple[Expr, ...]]:
        """The specification and the sketch with their arguments: the sketch has loops over lanes."""
        functions = {f.name.text: f for f in self._program.functions}
        sides: list[tuple[Function, tuple[Expr, ...]]] = []
        for side in (self._program.asserted.left, self._program.asserted.right):
            if not isinstance(side, Call) or side.name.text not in functions:
                known = ", ".join(functions) or "none"
                raise wrong(
                    side.span, f"expected a call of a function of the text ({known})", "Write: assert(spec(x) == sketch(y))"
                )
            sides.append((functions[side.name.text], side.arguments))
        parallel = [is_of_threads(f) or any(isinstance(s, For) and s.is_parallel for s in statements(f.body)) for f, _ in sides]
        if parallel[0] == parallel[1]:
            got = "two" if parallel[0] else "none"
            raise wrong(
                self._program.asserted.span, f"expected one function with `parallel for`, got {got}", "Write its lanes as loops."
            )
        first, second = sides if parallel[1] else sides[::-1]
        return *first, *second


@dataclass(slots=True)
class _Loop:
    """A parallel loop under way."""

    index: str
    written: set[str] = field(default_factory=set[str])


class _Lanes(Printer):
    """The sketch: one warp, each lane an iteration of the parallel loops."""

    def __init__(self, function: Function, numbers: Mapping[str, int], given: Mapping[str, str]) -> None:
        super().__init__(function, numbers)
        self._function = function
        self._given = given
        loops = [s for s in statements(function.body) if isinstance(s, For) and s.is_parallel]
        self._lanes = number(loops[0].stop, self.numbers)
        for loop in loops:
            lanes = number(loop.stop, self.numbers)
            if (
                number(loop.start, self.numbers)
                or number(loop.step, self.numbers) != 1
                or lanes != self._lanes
                or lanes > MAX_LANES
            ):
                message = f"expected parallel loops over the same 1 to {MAX_LANES} lanes, from 0, got {lanes} and {self._lanes}"
                raise wrong(loop.span, message, "Give each lane an iteration of its own.")
        self._lane = loops[0].index.text
        self._indices = {loop.index.text for loop in loops}
        self._loop: _Loop | None = None
        self._ranges: dict[str, int] = dict.fromkeys(self._indices, self._lanes)
        self._holes: set[str] = set()
        self._matrices = {m.name: m for m in self._found()}

    def _found(self) -> Iterator[_Matrix]:
        declared = [
            d for d in (*self._function.parameters, *statements(self._function.body)) if isinstance(d, Declared) and d.extents
        ]
        elements = [
            p for s in statements(self._function.body) for v in values_of(s) for p in parts_of(v) if isinstance(p, Element)
        ]
        seen: set[str] = set()
        for one in declared:
            if one.name.text in seen or one.name.text in self.numbers:
                raise wrong(one.name.span, f"expected a new name, got {one.name.text} again", "Rename it.")
            seen.add(one.name.text)
        data = next((p.type for p in self._function.parameters if p.extents), "f32")
        for one in declared:
            name = one.name.text
            made = _Matrix(name, data if one.type == "acc" else one.type, shape_of(one, self.numbers))
            used = [e for e in elements if e.matrix.text == name]
            made.in_registers = made.shape[-1] == self._lanes and any(self._is_lane(e.indices[-1]) for e in used)
            if one not in self._function.parameters and not made.in_registers:
                message = f"expected each lane to own a column of {name}, whose last index is the lane, got other indices"
                raise wrong(one.name.span, message, f"Write {name}[...][{self._lane}], and {self._lanes} columns.")
            self._note_sums(made, one)
            yield made

    def _note_sums(self, made: _Matrix, one: Declared) -> None:
        """Whether it is an accumulator: declared as one, or zero at first and only added to."""
        changes = [
            s
            for s in statements(self._function.body)
            if isinstance(s, Assign | Accumulate) and isinstance(s.target, Element) and s.target.matrix.text == made.name
        ]
        match one.value:
            case Items(
                parts=(
                    Call(
                        name=Name(text="create_accumulator"), arguments=(first, last, Name(text=op), Name(text=inner)), span=span
                    ),
                )
            ):
                is_plain = isinstance(first, Number) and first.text == _IDENTITIES.get(op)
                if not is_plain or not isinstance(last, Name) or last.text != "identity":
                    fix = "Write: create_accumulator(0, identity, +, *)"
                    raise wrong(span, f"expected the neutral element of {op} and identity, got others", fix)
                if not all(isinstance(c, Accumulate) for c in changes):
                    raise wrong(
                        span,
                        f"expected only accumulate({made.name}[...], ...) to change it, got an assignment",
                        "Use accumulate.",
                    )
                made.is_accumulator, made.op, made.inner = True, op, inner
            case Items(parts=(Number(text="0"),)) if changes and all(isinstance(c, Assign) and c.sign == "+=" for c in changes):
                made.is_accumulator = True
                is_product = any(isinstance(c, Assign) and isinstance(c.value, Binary) and c.value.sign == "*" for c in changes)
                made.inner = "*" if is_product else ""
            case _:
                if one.type == "acc" or any(isinstance(c, Accumulate) for c in changes):
                    fix = f"Write: acc {made.name}[...] = {{ create_accumulator(0, identity, +, *) }};"
                    raise wrong(one.name.span, f"expected create_accumulator for {made.name}", fix)

    def _is_lane(self, value: Expr) -> bool:
        return isinstance(value, Name) and value.text in self._indices

    def lines(self) -> list[str]:
        parameters: list[str] = []
        begin: list[str] = []
        for one in self._function.parameters:
            name = one.name.text
            if not one.extents:
                raise wrong(
                    one.name.span, f"expected a matrix as parameter {name}, got a number", "Declare the number before: int n = 4;"
                )
            made = self._matrices[name]
            shape = ", ".join(map(str, made.shape))
            if made.in_registers:
                parameters.append(f"{name}_in: wl.Global[{made.type}, {shape}]")
                begin += self._loaded(made)
            else:
                parameters.append(f"{safe(one.name)}: wl.Constant[{made.type}, {shape}]")
        result = self._result()
        parameters.append(f"{result.name}_out: wl.Global[{result.type}, {', '.join(map(str, result.shape))}]")
        given = {(f"{n}_in" if self._matrices[n].in_registers else n): v for n, v in self._given.items()}
        body = self._block(self._function.body, "    ")
        listed = ", ".join(f'"{n}": {v}' for n, v in given.items())
        launch = f"block={self._lanes}, warp_size={self._lanes}"
        return [
            f'@wl.sketch(spec={{"{result.name}_out": _wanted}}, given={{{listed}}}, {launch})',
            f"def {self._function.name.text}({', '.join(parameters)}):",
            f"    {self._lane} = wl.lane_id()",
            *begin,
            *body,
        ]

    def _result(self) -> _Matrix:
        match self._function.body[-1:]:
            case (Return(value=Name(text=name)),) if name in self._matrices and self._matrices[name].in_registers:
                return self._matrices[name]
            case _:
                last = self._function.body[-1:] or (Return(self._function.name, self._function.name.span),)
                fix = "End with: return out; where lane t owns out[...][t]."
                raise wrong(_span(last[0]), "expected the sketch to return a matrix that lanes own columns of", fix)

    def _loops(self, made: _Matrix, indent: str, inner: Callable[[str, str], str]) -> list[str]:
        """A statement for each row of a matrix: `inner(indices of the register, indices of the whole)`."""
        rows = [f"_r{n}" for n in range(len(made.shape) - 1)]
        found = [f"{indent}{'    ' * n}for {r} in range({made.shape[n]}):" for n, r in enumerate(rows)]
        return [*found, indent + "    " * len(rows) + inner(", ".join(rows) or "0", ", ".join([*rows, self._lane]))]

    def _made(self, made: _Matrix) -> str:
        shape = ", ".join(map(str, made.shape[:-1]))
        return f"{made.name} = wl.register({made.type}, {shape or 1})"

    def _loaded(self, made: _Matrix) -> list[str]:
        copied = self._loops(made, "    ", lambda own, whole: f"{made.name}[{own}] = {made.name}_in[{whole}]")
        return [f"    {self._made(made)}", *copied]

    def _block(self, body: Sequence[Statement], indent: str) -> list[str]:
        found: list[str] = []
        for statement in body:
            found += self._statement(statement, indent)
        return found or [f"{indent}pass"]

    def _statement(self, statement: Statement, indent: str) -> list[str]:
        match statement:
            case Declared(name=name, extents=extents, value=value, type=kind):
                if extents:
                    return [indent + line for line in self._declared(self._matrices[name.text], value)]
                if kind not in ("i32", "u32"):
                    self.data.add(name.text)
                if value is None:
                    raise wrong(name.span, f"expected a value of {name.text}, got none", "Write: float tmp = ...;")
                self.check_held(name, value)
                return [f"{indent}{safe(name)} = {self.text(value)}"]
            case For(is_parallel=True):
                return self._parallel(statement, indent)
            case For(index=index, start=start, stop=stop, step=step, body=inner):
                check_step(step, self.numbers)
                bounds = ", ".join(map(self.text, (start, stop, step)))
                self._ranges[index.text] = self._range(start, stop)
                return [f"{indent}for {safe(index)} in range({bounds}):", *self._block(inner, indent + "    ")]
            case If(test=test, body=inner, other=other):
                found = [f"{indent}if {self.text(test)}:", *self._block(inner, indent + "    ")]
                return [*found, *([f"{indent}else:", *self._block(other, indent + "    ")] if other else [])]
            case Return(value=value):
                made = self._result()
                return self._loops(made, indent, lambda own, whole: f"{made.name}_out[{whole}] = {self._own(made, own)}")
            case Assign(target=target, sign=sign, value=value):
                return [indent + self._assigned(target, sign, value)]
            case Accumulate(target=target, operands=operands, when=when):
                texts = ", ".join(map(self.text, operands))
                condition = (
                    "" if when is None or (isinstance(when, Name) and when.text == "true") else f", when={self.text(when)}"
                )
                return [f"{indent}{self._target(target)}.add({texts}{condition})"]

    def _range(self, start: Expr, stop: Expr) -> int:
        """How many values a loop's index has, where it starts at 0 and that is known; else 0."""
        if all(not isinstance(p, Name) or p.text in self.numbers for e in (start, stop) for p in parts_of(e)):
            return number(stop, self.numbers) if number(start, self.numbers) == 0 else 0
        return 0

    def _declared(self, made: _Matrix, value: Expr | None) -> list[str]:
        if made.is_accumulator:
            inner = f', inner="{made.inner}"' if made.inner else ""
            shape = f", shape=({', '.join(map(str, made.shape[:-1]))},)" if len(made.shape) > 1 else ""
            return [f'{made.name} = wl.accumulator({made.type}, op="{made.op}"{inner}{shape})']
        match value:
            case None:
                return [self._made(made)]
            case Items(parts=(Number(text="0"),)):
                return [f"{self._made(made)[:-1]}, fill=0)"]
            case _:
                raise wrong(value.span, f"expected {{0}} or nothing as content of {made.name}", "Write it in a parallel loop.")

    def _parallel(self, loop: For, indent: str) -> list[str]:
        if self._loop is not None:
            raise wrong(loop.span, "expected no parallel loop within another one", "Make the outer one a plain loop.")
        self._loop = _Loop(loop.index.text)
        for statement in statements(loop.body):
            if isinstance(statement, Assign | Accumulate) and isinstance(statement.target, Element):
                self._loop.written.add(statement.target.matrix.text)
        alias = [f"{indent}{safe(loop.index)} = {self._lane}"] if loop.index.text != self._lane else []
        lines = self._block(loop.body, indent)
        self._loop = None
        return [*alias, *lines]

    def _assigned(self, target: Expr, sign: str, value: Expr) -> str:
        self.check_held(target, value)
        if isinstance(target, Name):
            if self.is_data(value):
                self.data.add(target.text)
            return f"{safe(target)} {sign} {self.text(value)}"
        into = self._target(target)
        assert isinstance(target, Element)
        if not self._matrices[target.matrix.text].is_accumulator:
            return f"{into} {sign} {self.text(value)}"
        factors = _factors(value) if self._matrices[target.matrix.text].inner == "*" else [value]
        return f"{into}.add({', '.join(map(self.text, factors))})"

    def _matrix(self, element: Element) -> _Matrix:
        made = self._matrices.get(element.matrix.text)
        if made is None:
            known = ", ".join(self._matrices)
            raise wrong(element.span, f"expected a matrix ({known}), got {element.matrix.text}", "Declare it.")
        if len(made.shape) != len(element.indices):
            message = f"expected {len(made.shape)} indices of {made.name}, got {len(element.indices)}"
            raise wrong(element.span, message, "Index every axis.")
        return made

    def _target(self, target: Expr) -> str:
        if not isinstance(target, Element):
            raise wrong(target.span, "expected an element of a matrix", "Write: out[tid]")
        made = self._matrix(target)
        if self._loop is None:
            raise wrong(
                target.span, f"expected {made.name} to be written in a parallel loop", "Write: parallel for (...) { ... }"
            )
        if not made.in_registers or not self._is_lane(target.indices[-1]):
            message = f"expected each lane to write its own column of {made.name}, the last index {self._loop.index}"
            raise wrong(target.span, message, f"Write {made.name}[...][{self._loop.index}] = ...")
        return self._register(made, self._rows(made, target))

    def _rows(self, made: _Matrix, element: Element) -> str:
        """Indices of the lane's registers."""
        return ", ".join(self._index(i, made.shape[n]) for n, i in enumerate(element.indices[:-1])) or "0"

    def _index(self, value: Expr, extent: int, *, is_shared: bool = False) -> str:
        return self.hole(value, extent, is_shared=is_shared) if isinstance(value, Hole) else self.text(value)

    def _register(self, made: _Matrix, rows: str) -> str:
        return made.name if made.is_accumulator and len(made.shape) == 1 else f"{made.name}[{rows}]"

    def _own(self, made: _Matrix, rows: str) -> str:
        """The content of the lane's register."""
        return self._register(made, rows) + (".value()" if made.is_accumulator else "")

    def element(self, value: Element) -> str:
        made = self._matrix(value)
        if not made.in_registers:
            indices = [self._index(i, made.shape[n], is_shared=True) for n, i in enumerate(value.indices)]
            return f"{safe(value.matrix)}[{', '.join(indices)}]"
        if self._loop is None:
            raise wrong(value.span, f"expected {made.name} to be read in a parallel loop", "Write: parallel for (...) { ... }")
        own = self._own(made, self._rows(made, value))
        if self._is_lane(value.indices[-1]):
            return own
        if made.name in self._loop.written:
            message = f"expected {made.name} of other lanes to be written in an earlier parallel loop, got it written in this one"
            raise wrong(value.span, message, "End the loop before, so that all lanes have written.")
        rows = [p for i in value.indices[:-1] for p in parts_of(i)]
        if any(isinstance(p, Name) and p.text in self._indices for p in rows):
            message = f"expected the same row of {made.name} in all lanes that read others' columns, got one of the lane"
            raise wrong(value.span, message, "Choose the row in a parallel loop before: to_share[tid] = ...")
        return f"wl.shfl({own}, {self._index(value.indices[-1], self._lanes)}, {self._lanes})"

    def divided(self, value: Binary) -> str:
        """The quotient of indices; a sketch rounds down, as Python does, which is the same where nothing is below 0."""
        left, right, sign = self.text(value.left), self.text(value.right), "//" if value.sign == "/" else "%"
        if self.is_data(value):
            return f"({left} / {right})"
        if self._is_from_0(value):
            return f"({left} {sign} {right})"
        if not self._is_from_0(value.right) or any(isinstance(p, Hole) for p in parts_of(value)):
            message = f"expected operands of {value.sign} that are seen to be 0 or more, got others"
            raise wrong(value.span, message, "Write it without numbers below 0.")
        return f"(({left} {sign} {right}) if {left} >= 0 else (-((-{left}) {sign} {right})))"

    def _is_from_0(self, value: Expr) -> bool:
        """Whether a whole number is seen not to be below 0."""
        match value:
            case Number():
                return True
            case Name(text=text):
                return self.numbers.get(text, -1) >= 0 or text in self._indices or self._ranges.get(text, 0) > 0
            case Binary(sign="+" | "*" | "/" | "%", left=left, right=right):
                return self._is_from_0(left) and self._is_from_0(right)
            case Hole(name=name):
                return name != "sw_cond"
            case _:
                return False

    def call(self, value: Call) -> str:
        """A shuffle, as CUDA calls it."""
        if value.name.text != "__shfl_sync":
            return super().call(value)
        match value.arguments:
            case (Name(text="FULL_MASK"), shared, lane):
                return f"wl.shfl({self.text(shared)}, {self._index(lane, self._lanes)}, {self._lanes})"
            case _:
                message = "expected __shfl_sync(FULL_MASK, value, lane)"
                raise wrong(value.span, message, "All lanes take part; write FULL_MASK.")

    def _is_count(self, values: Sequence[Expr]) -> bool:
        """Whether it is a whole number that is known, and no index."""
        return bool(values) and all(
            isinstance(p, Number | Binary) or (isinstance(p, Name) and p.text in self.numbers)
            for v in values
            for p in parts_of(v)
        )

    def hole(self, value: Hole, extent: int | None, *, is_shared: bool = False) -> str:
        arguments = list(map(self.text, value.arguments))
        place = f"{value.span.line}:{value.span.column}"
        match value.name.removeprefix("sw_"):
            case "part" | "xform" | "cond" as kind:
                if kind == "part" and extent is not None and not self._is_count(value.arguments[:1]):
                    arguments.insert(0, str(extent))  # of Listing 3, whose holes do not say how many elements there are
                return f'wl.{kind}({", ".join(arguments)}, name="{place}")'
            case _:
                pass
        if extent is None or not arguments or value.name.startswith("sw_"):
            message = f"expected ?{value.name} as an index, with the variables that it may use"
            raise wrong(value.span, message, "Elsewhere write ?sw_part(n, i), ?sw_xform(i, n, k) or ?sw_cond(i).")
        name = value.name if value.name not in self._holes else place
        self._holes.add(value.name)
        whole = [n for n, a in enumerate(value.arguments) if isinstance(a, Name) and self._ranges.get(a.text) == extent]
        if is_shared:  # by lane and iteration: what is the same for all lanes is indexed by iterations
            whole.sort(key=lambda n: self._is_lane(value.arguments[n]))
        if len(arguments) == 2 and whole and (is_shared or whole[0] == 0):
            at = whole[0]
            return f'wl.xform({arguments[at]}, {extent}, {arguments[1 - at]}, name="{name}")'
        return f'wl.part({extent}, {", ".join(arguments)}, name="{name}")'


def _span(statement: Statement) -> Span:
    return statement.name.span if isinstance(statement, Declared) else statement.span


def _factors(value: Expr) -> list[Expr]:
    match value:
        case Binary(sign="*", left=left, right=right):
            return [*_factors(left), *_factors(right)]
        case _:
            return [value]
