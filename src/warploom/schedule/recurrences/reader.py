"""A Python function with a running result, read as a recurrence.

    for i in range(1, n):                            (a loop over one axis, after the first element or the first value)
        Y[i] = Y[i - 1] + X[i]
    Y[r, i] = pad(Y, 0)[r, i - 1] + X[r, i]          (or one statement, of what is before the first element)
    Y[r, i] = Y[r, i - 1] + X[r, i]                  (the first result of a sum, product, maximum or minimum is its one element)

Goal: what a loop hands from an element to the next becomes states, whose steps are expressions of the states before.
Non-goals: elements further back, loops that end early, sums over other indices inside.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.core import Diagnostic, DType, Span, UserError, polynomials
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Operator, Parameter, Role, identity_of
from warploom.schedule.frontend.arithmetic import apply, check_number, in_type, is_number
from warploom.schedule.frontend.expressions import BINARY, function_called, read_expression, read_pad
from warploom.schedule.frontend.indices import read_index
from warploom.schedule.frontend.signature import read_signature, read_size
from warploom.schedule.frontend.state import Problem, Silent, State
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Expression,
    Gather,
    IndexValue,
    Local,
    Number,
    Read,
    Reduction,
    Scalar,
    dtype_of,
    parts_of,
)
from warploom.schedule.recurrences.statements import base_of, in_order, runs, targets_of, without_loop
from warploom.schedule.recurrences.tree import Kept, Recurrence, StateOf, in_place_of, reads_states
from warploom.sketch import written

TYPES = ("f32", "f64", "i32", "i64")
"""Types of running results."""
_FORM = "Write the first element, Y[0] = X[0], then: for i in range(1, n): Y[i] = Y[i - 1] + X[i]."


@dataclass(slots=True)
class _Loop:
    """The loop being read."""

    index: str
    start: int
    end: Polynomial
    span: Span
    is_statement: bool
    """It is one statement, which says no range."""
    rows: tuple[str, ...] = ()
    """Indices of the loops around it."""


def read_recurrence(function: Callable[..., object], around: Mapping[str, object]) -> Recurrence:
    """Raises UserError with the first problem of each statement."""
    text = written(function)
    assert not isinstance(text.node, ast.Lambda)
    reader = _Reader(State(text, around), text.node)
    try:
        return reader.read()
    except Problem as found:
        raise UserError(*reader.state.problems, found.diagnostic) from None
    except Silent:
        raise UserError(*reader.state.problems) from None


class _Reader:
    def __init__(self, state: State, node: ast.FunctionDef) -> None:
        self.state = state
        self.node = node
        self.values: dict[str, Expression] = {}
        """Names that were assigned, and elements of outputs by the text of a state, and what they are now: of the states before
        the iteration, inside of the loop."""
        self.first: dict[str, Kept] = {}
        self.stores: dict[str, Kept] = {}
        self.before: dict[str, Expression] = {}
        """Initial values of the states."""
        self.pads: dict[str, int | float | None] = {}
        """By array, what is before its first element; None: nothing."""
        self.loop: _Loop | None = None
        self.dtype: DType | None = None

    def read(self) -> Recurrence:
        state, node = self.state, self.node
        read_signature(state, node)
        if state.problems:
            raise UserError(*state.problems)
        wrong = next((a for a in state.arrays.values() if a.role is Role.TEMPORARY), None)
        if wrong is not None:
            message = f"expected no `temp` array in a function with a running result, got {wrong.name!r}"
            raise Problem(Diagnostic("RUNNING", message, wrong.span, "Call two functions, one after the other."))
        stored = [
            n.value.id
            for s in in_order(node.body)
            for n in targets_of(s)
            if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
        ]
        types = {state.arrays[name].dtype: name for name in stored if name in state.arrays}
        if len(types) > 1 or any(t.name not in TYPES for t in types):
            names = ", ".join(f"{t} ({name})" for t, name in types.items())
            message = f"expected running results of one type out of {', '.join(TYPES)}, got {names}"
            raise state.problem("DTYPE", message, node, "Declare all outputs of one of these types.")
        self.dtype = next(iter(types), None)
        statements = [s for s in node.body if not isinstance(s, ast.Pass) and not _is_text(s)]
        loop = next((n for n, s in enumerate(statements) if isinstance(s, ast.For)), None)
        if loop is None:
            loop = next(n for n, s in enumerate(statements) if runs(s))
        for later in statements[loop + 1 :]:
            message = "expected nothing behind the loop of a running result, got another statement"
            raise state.problem("RUNNING", message, later, "Do the rest in a function of its own.")
        last = statements[loop]
        state.own_indices = state.bound_indices = frozenset(self.indices_of(last))
        state.indices = state.own_indices
        self.read_parts(statements[:loop], last, ())
        return self.made()

    def indices_of(self, last: ast.stmt) -> Iterator[str]:
        """Names of loops, and names that stand alone where something is stored."""
        for statement in (last, *in_order(last.body if isinstance(last, ast.For) else [])):
            if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
                yield statement.target.id
            for target in targets_of(statement):
                if isinstance(target, ast.Subscript):
                    yield from (e.id for e in _elements(target) if isinstance(e, ast.Name))

    def read_parts(self, before: Sequence[ast.stmt], last: ast.stmt, rows: tuple[str, ...]) -> None:
        """Statements before the loop, and the loop; around it may be loops over rows."""
        state = self.state
        if isinstance(last, ast.For):
            name, start, end = self.range_of(last)
            inner = next((s for s in last.body if isinstance(s, ast.For)), None)
            if inner is not None:
                if before or start or last.body[-1] is not inner:
                    message = f"expected the loop over {name}, from 0 on, around all that rows do, got another"
                    raise state.problem(
                        "RUNNING", message, last, "Put what begins a row inside of its loop, before the inner one."
                    )
                state.declared[name] = (end, state.span(last.target))
                self.read_parts([s for s in last.body if s is not inner], inner, (*rows, name))
                return
            self.loop = _Loop(name, start, end, state.span(last), False, rows)
            body = last.body
        else:
            self.loop = self.loop_of(last)
            body = [last]
        for statement in before:
            self.read_first(statement)
        self.read_body(body)

    def range_of(self, node: ast.For) -> tuple[str, int, Polynomial]:
        state = self.state
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[*low, high], keywords=[]), orelse=[]
            ) if len(low) < 2:
                start = read_size(state, self.in_text(low[0])) if low else polynomials.number(0)
                if start.is_constant and start.constant in (0, 1):
                    return name, int(start.constant), read_size(state, self.in_text(high))
            case _:
                pass
        message = f"expected a loop such as `for i in range(1, n)`, from 0 or 1 on, got {ast.unparse(node).splitlines()[0]}"
        raise state.problem("RUNNING", message, node, _FORM)

    def in_text(self, node: ast.expr) -> ast.expr:
        """A size of a `range` as in an annotation, where it is a text."""
        if isinstance(node, ast.Constant):
            return node
        return ast.copy_location(ast.Constant(ast.unparse(node)), node)

    def loop_of(self, statement: ast.stmt) -> _Loop:
        """The loop that one statement stands for: over the index that is one less where it reads itself."""
        state = self.state
        for target in targets_of(statement):
            if not isinstance(target, ast.Subscript) or base_of(target) not in state.arrays:
                continue
            own = [e.id if isinstance(e, ast.Name) else "" for e in _elements(target)]
            reads = [p for p in ast.walk(statement.value) if isinstance(p, ast.Subscript) and base_of(p) == base_of(target)]  # type: ignore[attr-defined]
            for read in reads:
                places = [ast.unparse(e) for e in _elements(read)]
                behind = [n for n, (a, b) in enumerate(zip(own, places, strict=False)) if b == f"{a} - 1"]
                if len(places) == len(own) and len(behind) == 1:
                    shape = state.arrays[base_of(target)].shape
                    if len(shape) == len(own):
                        return _Loop(own[behind[0]], 0, shape[behind[0]], state.span(statement), True)
        message = "expected a running result to read the element before the one that it stores, got others"
        raise state.problem("READ_BEFORE_STORE", message, statement, _FORM)

    # ------------------------------------------------------------ statements

    def read_first(self, node: ast.stmt) -> None:
        """Before the loop: a first element, or a name with its first value."""
        state, loop = self.state, self.loop
        assert loop is not None
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
                for target, value in zip(targets, values, strict=True):
                    self.read_first(ast.copy_location(ast.Assign([target], value), node))
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                self.name_value(name, self.expression(value), target, value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) as target], value=value):
                array = self.output(target)
                places = tuple(read_index(state, e) for e in _elements(target))
                axis = next((n for n, p in enumerate(places) if p.plain is None), None)
                if (
                    axis is None
                    or places[axis].sum.terms
                    or places[axis].sum.constant
                    or places[axis].sizes != polynomials.number(0)
                ):
                    message = f"expected the first element of {name!r} before the loop, got {ast.unparse(target)}"
                    raise state.problem("RUNNING", message, target, _FORM)
                self.first[name] = Kept(array, places, self.typed(self.expression(value), array, value), state.span(node))
            case _:
                message = f"expected a first element or a first value before the loop, got {ast.unparse(node).splitlines()[0]}"
                raise state.problem("RUNNING", message, node, _FORM)

    def read_body(self, body: Sequence[ast.stmt]) -> None:
        assigned = {n.id for s in body for n in targets_of(s) if isinstance(n, ast.Name)}
        for name in sorted(assigned & self.values.keys()):
            first = self.before[name] = self.values[name]
            if dtype_of(first) not in (None, self.dtype):
                message = f"expected a first value of type {self.dtype} for {name!r}, got {dtype_of(first)}"
                raise self.state.problem("DTYPE", message, body[0], f"Convert it: {self.dtype}(...).")
            self.values[name] = self.state_of(name)
        for node in body:
            match node:
                case ast.Pass():
                    pass
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
                    made = [(t, self.expression(v), v) for t, v in zip(targets, values, strict=True)]
                    for target, value, at in made:
                        self.assign(target, value, at, node)
                case ast.Assign(targets=[target], value=value):
                    self.assign(target, self.expression(value), value, node)
                case ast.AugAssign(target=target, op=op, value=value) if type(op) in BINARY:
                    own = ast.copy_location(_loaded(target), target)
                    operands = [self.expression(own), self.expression(value)]
                    self.assign(target, apply(self.state, BINARY[type(op)], operands, node), value, node)
                case _ if _is_text(node):
                    pass
                case _:
                    message = f"expected assignments in the loop of a running result, got {ast.unparse(node).splitlines()[0]}"
                    fix = "Write a condition as a value: Y[i] = a if X[i] > 0 else b."
                    raise self.state.problem("UNSUPPORTED_PYTHON", message, node, fix)

    def assign(self, target: ast.expr, value: Expression, at: ast.expr, node: ast.stmt) -> None:
        state, loop = self.state, self.loop
        assert loop is not None
        match target:
            case ast.Name(id=name):
                self.name_value(name, value, target, at)
            case ast.Subscript(value=ast.Name(id=name)):
                array = self.output(target)
                places = tuple(read_index(state, e) for e in _elements(target))
                if any(p.plain is None for p in places) or loop.index not in [p.plain for p in places]:
                    message = f"expected a store at {loop.index}, with plain indices, got {ast.unparse(target)}"
                    raise state.problem("RUNNING", message, target, f"Store {name}[{loop.index}], and shift what is read.")
                if name in self.stores:
                    message = f"{name!r} is stored twice in one iteration"
                    raise state.problem("WRITTEN_TWICE", message, target, "Use a name for the first value.")
                value = self.typed(value, array, at)
                self.stores[name] = Kept(array, places, value, state.span(node))
                self.values[self.now(name)] = value
            case _:
                message = f"expected a name or an element on the left, got {ast.unparse(target)}"
                raise state.problem("UNSUPPORTED_PYTHON", message, target, _FORM)

    def check_name(self, name: str, node: ast.AST) -> None:
        state = self.state
        is_taken = name in state.arrays or name in state.sizes or name in state.own_indices
        if is_taken or (name in state.scalars and name not in self.values):
            message = f"expected a name of its own, got {name!r}, which is a parameter, a size or an index"
            raise state.problem("NAME_TAKEN", message, node, "Choose another name.")

    def name_value(self, name: str, value: Expression, target: ast.AST, at: ast.AST) -> None:
        """Gives the name this value; one that goes from an iteration to the next has the type of the outputs."""
        state = self.state
        assert self.dtype is not None
        self.check_name(name, target)
        if is_number(value):
            value = in_type(value, self.dtype)
        if dtype_of(value) is None:
            check_number(state, value, self.dtype, at)
        own = dtype_of(value) or self.dtype
        if name in self.before and own != self.dtype:
            message = f"expected a value of type {self.dtype} for {name!r}, which the next iteration reads, got {own}"
            raise state.problem("DTYPE", message, at, f"Convert it: {self.dtype}(...).")
        state.scalars[name] = Parameter(name, own)
        self.values[name] = value

    def output(self, target: ast.Subscript) -> ArrayParameter:
        state, name = self.state, base_of(target)
        array = state.arrays.get(name)
        if array is None:
            raise state.unknown(name, target, state.arrays)
        if array.role is not Role.OUTPUT:
            message = f"expected an output on the left, got the input {name!r}"
            raise state.problem("STORE_TO_INPUT", message, target, "Declare it as out[...].")
        if len(_elements(target)) != len(array.shape):
            message = f"expected {len(array.shape)} indices of {name!r}, got {len(_elements(target))}"
            raise state.problem("RANK", message, target, "Give one index per axis.", ("declared here", array.span))
        return array

    def typed(self, value: Expression, array: ArrayParameter, node: ast.AST) -> Expression:
        value = in_type(value, array.dtype)
        check_number(self.state, value, array.dtype, node)
        found = dtype_of(value)
        if found not in (None, array.dtype):
            message = f"expected a value of type {array.dtype} for {array.name!r}, got {found}"
            raise self.state.problem("DTYPE", message, node, f"Convert it: {array.dtype}(...).")
        return value

    # ------------------------------------------------------------ expressions

    @staticmethod
    def now(name: str) -> str:
        """The element of this iteration; no name of Python."""
        return f"{name} now"

    @staticmethod
    def behind(name: str) -> str:
        """The element before it."""
        return f"{name} before"

    def state_of(self, name: str) -> Expression:
        assert self.dtype is not None
        return Scalar(Parameter(name, self.dtype))

    def expression(self, node: ast.expr) -> Expression:
        """The expression with the values of outputs and names in their place."""
        state = self.state
        found = read_expression(state, _Elements(self).visit(copy.deepcopy(node)))
        for part in parts_of(found):
            if isinstance(part, Reduction | Gather | Local):
                is_sum = isinstance(part, Reduction)
                what = "sum over an index" if is_sum else "gather" if isinstance(part, Gather) else "value of a stage"
                message = f"expected elements and arithmetic in a running result, got a {what}"
                raise state.problem("RUNNING", message, node, "Compute it before, in a function of its own, into an array.")
            indices = part.indices if isinstance(part, Read) else (part.index,) if isinstance(part, IndexValue) else ()
            if any(index.digits for index in indices):
                message = "expected indices that are not divided in a running result, got one that is"
                raise state.problem("RUNNING", message, node, "Store what is read in an array before.")
        return in_place_of(found, self.values)

    def element(self, node: ast.Subscript) -> ast.expr:
        """An element of an output, as the name of a state or of this iteration's value."""
        state, loop, name = self.state, self.loop, base_of(node)
        assert loop is not None and self.dtype is not None
        array, places = state.arrays[name], [ast.unparse(e) for e in _elements(node)]
        outside: int | float | None = None
        if isinstance(node.value, ast.Call):
            if function_called(state, node.value.func) != "pad":
                raise state.problem("CALL", f"expected pad({name}, number), got {ast.unparse(node.value)}", node, _FORM)
            _, outside = read_pad(state, node.value)
            check_number(state, Number(outside), array.dtype, node)
        serial = [n for n, p in enumerate(places) if p in (loop.index, f"{loop.index} - 1")]
        is_plain = all(p in state.own_indices for n, p in enumerate(places) if n not in serial)
        found = ""
        if len(places) == len(array.shape) and len(serial) == 1 and is_plain:
            if places[serial[0]] != loop.index:
                found = self.behind(name)
                if self.pads.setdefault(name, outside) != outside:
                    message = f"expected one value before the first element of {name!r}, got several"
                    raise state.problem("RUNNING", message, node, f"Write pad({name}, 0) wherever it is read.")
                self.values.setdefault(found, self.state_of(found))
            elif self.now(name) in self.values:
                found = self.now(name)
        if not found:
            message = f"expected {name} at the element before, or what this iteration has stored there, got {ast.unparse(node)}"
            fix = f"Write {name}[{loop.index} - 1]; what lies further back is no running result."
            raise state.problem("READ_BEFORE_STORE", message, node, fix, ("declared here", array.span))
        state.scalars[found] = Parameter(found, self.dtype)
        return ast.copy_location(ast.Name(found, ast.Load()), node)

    # ------------------------------------------------------------ the whole

    def made(self) -> Recurrence:
        state, loop = self.state, self.loop
        assert loop is not None and self.dtype is not None
        outputs = [a for a in state.arrays.values() if a.role is Role.OUTPUT]
        for array in outputs:
            if array.old is not None:
                message = f"expected outputs in a function with a running result, got {array.name!r}, which is read and written"
                raise Problem(Diagnostic("RUNNING", message, array.span, "Declare it as out[...], and an input beside it."))
            if array.name not in self.stores:
                message = f"expected a store to {array.name!r} in the loop, got none"
                raise Problem(Diagnostic("NOT_STORED", message, array.span, "A total is for `+=` in a function of its own."))
        ranges = self.ranges()
        states = [StateOf(name, initial, self.values[name]) for name, initial in self.before.items()]
        running = [a.name for a in outputs if self.behind(a.name) in self.values]
        states += [StateOf(self.behind(name), self.initial(name), self.stores[name].value) for name in running]
        self.check_first()
        mine = {*self.before, *self.values, *(n for a in outputs for n in (self.behind(a.name), self.now(a.name)))}
        scalars = tuple(p for n, p in state.scalars.items() if n not in mine)
        names = tuple(a.arg for a in (*self.node.args.posonlyargs, *self.node.args.args, *self.node.args.kwonlyargs))
        stores = tuple(self.stores.values())
        return Recurrence(
            self.node.name, tuple(state.arrays.values()), scalars, tuple(state.sizes), names, self.dtype, loop.index, loop.start,
            ranges, tuple(states), tuple(self.first.values()), stores,
        )  # fmt: skip

    def ranges(self) -> tuple[tuple[str, Polynomial], ...]:
        """All indices, as all stores have them: stores cover their arrays."""
        loop, state = self.loop, self.state
        assert loop is not None
        found: dict[str, Polynomial] = {}
        for kept in (*self.stores.values(), *self.first.values()):
            own = [p.plain or loop.index for p in kept.indices]
            for name, size in zip(own, kept.array.shape, strict=True):
                wanted = (
                    state.declared[name][0]
                    if name in state.declared
                    else loop.end
                    if name == loop.index
                    else found.get(name, size)
                )
                found.setdefault(name, size)
                if wanted != size or found[name] != size:
                    message = f"expected {name!r} to run over the whole axis of {kept.array.name!r}, {size}, got {wanted}"
                    raise Problem(Diagnostic("SIZE_MISMATCH", message, kept.span, "Stores cover their array: change its size."))
            if len({*own}) != len(own) or {*own} != {*found}:
                message = f"expected each index once in every store, {', '.join(found)}, got {', '.join(own)}"
                raise Problem(Diagnostic("RUNNING", message, kept.span, "Store each of them with all indices."))
        values = (*self.values.values(), *self.before.values(), *(kept.value for kept in self.first.values()))
        unknown = next((n for v in values for part in parts_of(v) for n in _names(part) if n not in found), None)
        unknown = unknown or next((row for row in loop.rows if row not in found), None)
        if unknown is not None:
            message = f"expected only the indices of the stores, {', '.join(found)}, got {unknown}"
            raise Problem(Diagnostic("RUNNING", message, loop.span, "Sum over it before, in a function of its own."))
        rows = [*loop.rows, *(name for name in found if name not in (*loop.rows, loop.index))]
        return (*((name, found[name]) for name in rows), (loop.index, found[loop.index]))

    def initial(self, name: str) -> Expression:
        """The element before the first of the loop."""
        loop = self.loop
        assert loop is not None
        if loop.start:
            return self.first[name].value if name in self.first else Number(0)  # told by check_first
        fill = self.pads.get(name)
        if fill is not None:
            return Number(fill)
        if loop.is_statement and (operator := self.folded(name)) is not None:
            return Number(identity_of(operator, self.stores[name].array.dtype))
        message = (
            f"expected a value before the first element, got {name}[{loop.index} - 1], which is not there at {loop.index} = 0"
        )
        fix = f"Write {name}[0] = ... first, and range(1, n); or pad({name}, NUMBER)[{loop.index} - 1], which is NUMBER there."
        if self.folded(name) is not None and (texts := without_loop(self.node.body, name, loop.index)) is not None:
            first, alone = texts
            fix = f"Write {first} before the loop over {loop.index}, which then begins at 1; or only {alone}, without loops."
        raise Problem(Diagnostic("READ_BEFORE_STORE", message, loop.span, fix))

    def folded(self, name: str) -> Operator | None:
        """The operator where the store joins the element before with something that does not depend on it, which is the first
        result then: a sum, product, maximum or minimum over one element."""
        match self.stores[name].value:
            case Apply(operator=(Operator.ADD | Operator.MUL | Operator.MAX | Operator.MIN) as operator, operands=[one, other]):
                states = frozenset((*self.before, *map(self.behind, self.stores)))
                before = Scalar(Parameter(self.behind(name), self.stores[name].array.dtype))
                rest = other if one == before else one if other == before else None
                return operator if rest is not None and not reads_states(rest, states) else None
            case _:
                return None

    def check_first(self) -> None:
        """Elements before the loop are stored exactly where it begins at 1."""
        loop = self.loop
        assert loop is not None
        for name, kept in self.stores.items():
            if loop.start and name not in self.first:
                message = f"expected a first element of {name!r}, got a loop from 1 on and none before it"
                raise Problem(Diagnostic("NOT_STORED", message, kept.span, f"Write {name}[0] = ... before the loop."))
            if name in self.first and [p.plain or loop.index for p in self.first[name].indices] != [
                p.plain for p in kept.indices
            ]:
                message = f"expected a first element along the axis of {name!r} that the loop runs over, got another"
                raise Problem(Diagnostic("RUNNING", message, self.first[name].span, "Write its 0 where the loop has its index."))
            if not loop.start and name in self.first:
                message = f"expected a loop from 1 on behind a first element of {name!r}, got one from 0 on"
                raise Problem(Diagnostic("WRITTEN_TWICE", message, kept.span, f"Write for {loop.index} in range(1, n)."))
        begin = {**self.before, **{name: kept.value for name, kept in self.first.items()}}
        for name, value in begin.items():
            if any(loop.index in _names(part) for part in parts_of(value)):
                message = f"expected a first value of {name!r} that does not depend on {loop.index}, got one that does"
                raise Problem(Diagnostic("RUNNING", message, loop.span, _FORM))


class _Elements(ast.NodeTransformer):
    """Elements of outputs by the names of their values."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        array = self.reader.state.arrays.get(base_of(node))
        return self.reader.element(node) if array is not None and array.role is Role.OUTPUT else node


def _names(part: Expression) -> tuple[str, ...]:
    """Indices of one element or index."""
    match part:
        case Read(indices=indices):
            return tuple(name for index in indices for name in index.names)
        case IndexValue(index=index):
            return index.names
        case _:
            return ()


def _elements(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _loaded(target: ast.expr) -> ast.expr:
    """The same place, read."""
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.copy_location(ast.Subscript(value, index, ast.Load()), target)
        case _:
            return target
