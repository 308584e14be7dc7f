"""Completes listings that leave something out: loops without a function around them, and functions of one thread (SIMT), as
matrix programs.

Source: Swizzle Inventor, Listing 4 and section 6.1 (Listing 3): local variables of a thread have one more dimension, the lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warploom.core import Span
from warploom.core.tokens import wrong
from warploom.sketch.matrix.serial import parts_of, statements, values_of
from warploom.sketch.matrix.tree import (
    Accumulate,
    Asserted,
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
    Select,
    Statement,
    Unary,
)

THREAD = "threadIdx.x"
LANES = "warp_size"
"""Number of lanes; 32 where no line says otherwise."""
_LOOPS = "loops"
"""Name of the function that loops without one become."""


def with_loops_as_function(program: Program, asserted: Asserted | None, end: Span) -> Program:
    """The same with loops that no function surrounds as a function: what is written in them has the shape of its loops, what is
    only read is an argument. UserError names what the text does not say of them."""
    loops = program.loops
    declared = {d.name.text: d for d in program.declared}
    inner = {s.index.text: s for s in statements(loops) if isinstance(s, For)}
    written: dict[str, Element] = {}
    for statement in statements(loops):
        if isinstance(statement, Assign | Accumulate) and isinstance(statement.target, Element):
            written.setdefault(statement.target.matrix.text, statement.target)
    read = {e.matrix.text: e for e in _elements(loops) if e.matrix.text not in written}
    if asserted is None:
        sizes = {p.text for s in inner.values() for e in (s.start, s.stop) for p in parts_of(e) if isinstance(p, Name)}
        unsaid = [n for n in (*sorted(sizes), *sorted(read)) if n not in declared and n not in inner]
        also = f", nor {', '.join(unsaid)}" if unsaid else ""
        result = next(reversed(written), "out")
        message = f"expected assert(spec(...) == {result}), got none: what {result} must hold is not stated{also}"
        fix = "Declare sizes (int n = 8;) and inputs (float inp[n] = symbolic_matrix([n]);) and add spec and assert."
        raise wrong(end, message, fix)
    for name, element in read.items():
        if name not in declared:
            fix = f"Write: float {name}[...] = symbolic_matrix([...]);"
            raise wrong(element.span, f"expected {name}, which the loops only read, to be declared, got no line of it", fix)
    kind = next((declared[n].type for n in read), "f32")
    made = [Declared(kind, e.matrix, tuple(_length(i, inner) for i in e.indices), None) for e in written.values()]
    parameters = tuple(replace(declared[n], value=None) for n in read)

    def side(value: Expr) -> tuple[Expr, Name | None]:
        if not isinstance(value, Name):
            return value, None
        return Call(Name(_LOOPS, value.span), tuple(p.name for p in parameters), value.span), value

    (left, one), (right, other) = side(asserted.left), side(asserted.right)
    result = one or other
    if result is None or (one and other):
        raise wrong(asserted.span, "expected assert(spec(...) == out) with a matrix of the loops", "Compare it with a function.")
    if result.text not in written:
        known = ", ".join(written) or "none"
        raise wrong(result.span, f"expected a matrix that the loops write ({known}), got {result.text}", "Name the last one.")
    function = Function(kind, Name(_LOOPS, result.span), parameters, (*made, *loops, Return(result, result.span)))
    return replace(program, functions=(*program.functions, function), asserted=replace(asserted, left=left, right=right))


def _length(index: Expr, loops: Mapping[str, For]) -> Expr:
    if isinstance(index, Name) and index.text in loops:
        return loops[index.text].stop
    raise wrong(
        index.span, "expected the index of a loop where a matrix is written, got something else", "Write: out[i][j] = ..."
    )


def is_of_threads(function: Function) -> bool:
    """Whether it says what one thread does."""
    return any(
        isinstance(p, Name) and p.text == THREAD for s in statements(function.body) for v in values_of(s) for p in parts_of(v)
    )


def over_lanes(function: Function, shapes: Sequence[int | None], lanes: Expr) -> Function:
    """A function of one thread as loops over lanes. `shapes`: axes of each argument, None for numbers: a parameter with one axis
    fewer is local to the thread, and one with as many is the same for all."""
    thread = _thread(function)
    local: dict[str, int] = {}
    parameters: list[Declared] = []
    for one, axes in zip(function.parameters, shapes, strict=True):
        if axes == len(one.extents) + 1 and one.extents:
            local[one.name.text] = len(one.extents)
            one = replace(one, extents=(*one.extents, lanes))
        parameters.append(one)
    match function.body[-1:]:
        case (Return(value=Name() as result) as last,):
            pass
        case _:
            span = function.name.span
            raise wrong(span, f"expected {function.name.text} to end with the return of a variable", "End with: return out;")
    made: list[Declared] = []
    body: list[Statement] = []
    for statement in function.body[:-1]:
        match statement:
            case Declared(name=Name(text=text)) if text == thread.text:
                pass
            case Declared(name=name, extents=extents, value=value) if extents or name.text == result.text:
                local[name.text] = len(extents)
                is_zero = value is None or (isinstance(value, Number) and float(value.text) == 0)
                content: Expr | None = value if extents or value is None else Items((Number("0", value.span),), value.span)
                if not is_zero and not extents:
                    fix = f"Write: {statement.type} {name.text} = 0; and set it in a line of its own."
                    raise wrong(name.span, f"expected {name.text} to begin at 0, as it is returned", fix)
                made.append(replace(statement, extents=(*extents, lanes), value=content))
            case _:
                body.append(statement)
    if result.text not in local:
        raise wrong(last.span, f"expected the return of a local variable, got {result.text}", "End with: return out;")
    indexed = _Indexed(local, thread)
    zero, one_step = Number("0", thread.span), Number("1", thread.span)
    loop = For(thread, zero, lanes, one_step, tuple(map(indexed.statement, body)), True, function.name.span)
    return replace(function, parameters=tuple(parameters), body=(*made, loop, last))


def _thread(function: Function) -> Name:
    """The variable that holds the lane."""
    for statement in statements(function.body):
        match statement:
            case Declared(name=name, value=Binary(sign="%", left=Name(text=text), right=Name(text=lanes))) if (
                text == THREAD and lanes == LANES
            ):
                return name
            case _:
                pass
    span = function.name.span
    raise wrong(span, f"expected {function.name.text} to name its lane", f"Write: int tid = {THREAD} % {LANES};")


class _Indexed:
    """Statements with the lane as last index of what is local to a thread."""

    def __init__(self, local: Mapping[str, int], thread: Name) -> None:
        self._local = local
        """Axes of each, without the lanes."""
        self._thread = thread

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Declared(value=value):
                return replace(statement, value=None if value is None else self.value(value))
            case Assign(target=target, value=value):
                return replace(statement, target=self.value(target), value=self.value(value))
            case For(start=start, stop=stop, step=step, body=body):
                first, second, third = map(self.value, (start, stop, step))
                return replace(statement, start=first, stop=second, step=third, body=tuple(map(self.statement, body)))
            case If(test=test, body=body, other=other):
                inner = tuple(map(self.statement, body)), tuple(map(self.statement, other))
                return replace(statement, test=self.value(test), body=inner[0], other=inner[1])
            case Return(span=span):
                raise wrong(span, "expected one return, at the end", "Assign the value, and return it in the last line.")
            case Accumulate(target=target, operands=operands, when=when):
                condition = None if when is None else self.value(when)
                return replace(statement, target=self.value(target), operands=tuple(map(self.value, operands)), when=condition)

    def value(self, value: Expr) -> Expr:
        match value:
            case Name(text=text) if text in self._local:
                return self.value(Element(value, (), value.span))
            case Name() | Number():
                return value
            case Unary(operand=operand):
                return replace(value, operand=self.value(operand))
            case Binary(left=left, right=right):
                return replace(value, left=self.value(left), right=self.value(right))
            case Select(test=test, then=then, other=other):
                return replace(value, test=self.value(test), then=self.value(then), other=self.value(other))
            case Element(matrix=matrix, indices=indices):
                axes = self._local.get(matrix.text, len(indices))
                if axes != len(indices):
                    raise wrong(value.span, f"expected {axes} indices of {matrix.text}, got {len(indices)}", "Index every axis.")
                lane = (self._thread,) if matrix.text in self._local else ()
                return replace(value, indices=(*map(self.value, indices), *lane))
            case Hole(arguments=arguments) | Call(arguments=arguments):
                return replace(value, arguments=tuple(map(self.value, arguments)))
            case Items(parts=parts):
                return replace(value, parts=tuple(map(self.value, parts)))


def _elements(body: Sequence[Statement]) -> Iterator[Element]:
    return (p for s in statements(body) for v in values_of(s) for p in parts_of(v) if isinstance(p, Element))
