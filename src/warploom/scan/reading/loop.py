"""A serial loop over a list, read from source, as a transition on named states.

    def function(xs, [ys, ...] [constants]):          for x in xs            for x, y in zip(xs, ys)
        states = initial values                       for a, b in xs         for i in range(len(xs))
        for element in xs:                            for i, x in enumerate(xs)
            assignments, conditionals                 for i in range(1, n), where n = len(xs)
            [out.append(value)]                       a scan: one result for every prefix
        return value, ...                             a reduction: results of the whole list

Lists that are filled by position (`out[i] = out[i - 1] + x`) are read in `arrays`, states that begin with `xs[0]` in `first`.

A state is a variable that the loop assigns and that has a value before it. The index of `enumerate` or `range` becomes a state
that counts. `e % n` of a state gets a state of its own. What cannot be read is an error at its place, never a guess: `subset`
says what can.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import INT, Expr, Sort
from warploom.scan.operators.printing import RESERVED
from warploom.scan.operators.transition import Loop, State, needed, with_numbered_texts, with_remainders
from warploom.scan.reading.arrays import BEFORE, Arrays, before, is_before
from warploom.scan.reading.divisions import are_met, divides_by_zero
from warploom.scan.reading.first import from_first, neutral
from warploom.scan.reading.interpret import Interpreter, Subscript
from warploom.scan.reading.source import MISSING, Function, Module
from warploom.scan.reading.types import SERVED, Shape, item_of, shape_of, written
from warploom.scan.reading.values import Floating, Value, bare, flat, floating, is_float

_ROUNDS = 12
"""Steps after which a state with ever new values is taken to have unboundedly many."""
_FEW = 16
_WRITE_LOOP = "Write: states = ...; for x in xs: ...; return ..."


def read_loop(module: Module, name: str, keep: Sequence[str] = ()) -> Loop:
    """Raises UserError with the place of what is not such a loop.

    `keep` are variables of the loop that are kept, although no result depends on them: an enrichment that the user gives.
    """
    function = module.function(name)
    try:
        return _Reader(function, tuple(keep)).loop()
    except ex.UndefinedError as error:
        module.wrong(function.node, "UNDEFINED", f"expected a value, got {error}", "Keep infinities below min and max.")
    except RecursionError:
        module.unsupported(function.node, "expected expressions of moderate depth, got deeper ones", "Split them into variables.")


@dataclass(frozen=True, slots=True)
class _Header:
    """Names that one iteration binds."""

    lists: tuple[str, ...]
    bindings: Mapping[str, Value]
    elements: Mapping[str, Value]
    """The element of each list."""
    fields: tuple[Expr, ...]
    targets: tuple[str, ...]
    """Variables that hold the element."""
    index: str | None = None
    start: Expr = ex.ZERO
    """What the index is at the first element."""
    is_indexed: bool = False
    """True if elements are read by position."""
    begins: int = 0
    """The element with which the loop begins."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is read again where states have to begin with other values."""

    loop: ast.For
    header: _Header
    body: list[ast.stmt]
    appended: Mapping[str, str]
    after: list[ast.stmt]
    constants: Mapping[str, Expr]
    reader: Interpreter
    earlier: Mapping[str, Expr]
    """States that keep a field of the element before: that field."""


class _Reader:
    def __init__(self, function: Function, keep: tuple[str, ...]) -> None:
        self._keep = keep
        self._function = function
        self._module = function.module
        self._node = function.node
        self._arguments = function.parameters
        self._outputs: list[str] = []
        """Names of lists that results are appended to."""
        self._taken = {*function.locals, *RESERVED}
        """Names that the reader gives to nothing else."""
        self._unannotated: list[Expr] = []
        self._targets: list[ast.expr] = []
        """Expressions that stand for appending."""
        self._earlier: set[str] = set()
        """Names that have a value before the loop."""
        self._arrays = Arrays(function)
        self._renamed: dict[str, str] = {}
        """Parameters that the loop assigns: the states."""
        self._reads_first = False
        """True if an element is read before the loop."""

    def loop(self) -> Loop:
        begin, loop, after = self._split()
        self._earlier = {*self._assigned(begin), *self._arguments}
        made = self._made(begin)
        header = self._header(loop)
        constants = self._constants(header.lists)
        reader = Interpreter(self._function, special=self._first_elements(header))
        initial = self._initial(self._arrays.before_loop(made, header.begins), reader, constants)
        self._check_header(loop, header, initial, reader)
        if header.index is not None:
            initial[header.index] = ex.add(header.start, ex.constant(header.begins))
        loop = copy.deepcopy(loop)
        loop.body = self._arrays.body(loop.body, header.index if header.start is ex.ZERO else None)
        body, appended = self._body(loop, header)
        earlier = self._elements_before(loop, header)
        initial |= {n: e if header.begins else neutral(e) for n, e in earlier.items()}
        parts = _Parts(loop, header, body, appended, after, constants, reader, earlier)
        found = self._read(parts, initial)
        index = next((s.variable for s in found.states if s.name == header.index and header.start is ex.ZERO), None)
        keep = {s.variable for s in found.states if s.name in self._keep}
        found = from_first(
            found, header.begins, index, lambda starts: self._read(parts, {**initial, **self._by_name(starts)}), keep
        )
        return with_remainders(with_numbered_texts(found))

    def _by_name(self, values: Mapping[str, Expr]) -> dict[str, Expr]:
        """Values of states by the function's own names."""
        own = {state: name for name, state in self._renamed.items()}
        return {own.get(state, state): value for state, value in values.items()}

    def _read(self, parts: _Parts, initial: Mapping[str, Value]) -> Loop:
        """The loop whose states begin with `initial`."""
        loop, header, reader = parts.loop, parts.header, parts.reader
        assigned = {*self._assigned(parts.body), *header.targets, *parts.earlier}
        first = {*header.fields}
        names = [
            n
            for n, v in initial.items()
            if n in assigned or n == header.index or any(first & {*ex.variables(e)} for e in flat(v))
        ]
        called = {n: self._called(n, parts.constants) for n in names}
        fixed = {n: v for n, v in initial.items() if n not in names}
        sorts = self._sorts(loop, names, initial)
        floats = {n for n in names if is_float(self._scalar(loop, initial[n], n))}
        while True:
            states = {n: ex.variable(called[n], sorts[n]) for n in names}
            runner = Interpreter(self._function, assumed=list(reader.assumed))
            runner.special = self._positions(parts, states, runner)
            held: dict[str, Value] = {n: floating(v) if n in floats else v for n, v in states.items()}
            ended = runner.block(parts.body, {**fixed, **held, **header.bindings})
            if ended.result is not None:
                self._module.unsupported(
                    loop,
                    "expected a loop that reads every element, got return",
                    "Keep the result in a variable and return it after.",
                )
            reached = {n: self._scalar(loop, ended.bindings.get(n, held[n]), n) for n in names} | dict(parts.earlier)
            steps = {n: bare(v) for n, v in reached.items()}
            if header.index is not None:
                steps[header.index] = ex.add(states[header.index], ex.ONE)
            steps = {n: ex.as_number(s) if sorts[n].base != "bool" else s for n, s in steps.items()}
            wider = {n for n in names if n != header.index and is_float(reached[n])} | floats
            widened = {n: self._widened(loop, n, sorts[n], steps[n].sort, n in wider) for n in names}
            if widened == sorts and wider == floats:
                break
            sorts, floats = widened, wider
        result = [
            State(states[n], _with_base(bare(self._scalar(loop, initial[n], n)), sorts[n]), _with_base(steps[n], sorts[n]))
            for n in names
        ]
        known: dict[str, Value] = {**fixed, **held}
        if header.index is not None:
            known.pop(header.index)
        finisher = Interpreter(self._function, assumed=list(reader.assumed))
        if parts.appended:
            outputs, is_tuple = self._scan_outputs(parts.appended, ended.bindings, result, parts.after)
        else:
            outputs, is_tuple = self._reduction_outputs(parts.after, known, finisher)
        assumed = [a for a in runner.assumed if not {*ex.variables(a)} & {*states.values()}]
        if not are_met(assumed):
            self._module.wrong(self._node, "ASSERTIONS", "expected assertions that some element meets, got none", "Correct them.")
        runs = (reader, runner, finisher)
        loop_read = Loop(
            self._node.name, self._module.file, header.lists, header.fields, tuple(parts.constants.values()), tuple(result),
            outputs, is_tuple, bool(parts.appended), tuple(dict.fromkeys(assumed)), tuple(self._arguments), self._keep,
            tuple(self._unannotated), any(r.rounds for r in runs), any(divides_by_zero(r.divisions) for r in runs),
            self._reads_first or self._arrays.sets_first,
        )  # fmt: skip
        unknown = [k for k in self._keep if k not in states]
        if unknown:
            self._module.wrong(
                loop,
                "UNKNOWN_VARIABLE",
                f"expected a variable of the loop to keep, got {unknown[0]!r}",
                f"Use: {', '.join(states)}.",
            )
        return needed(loop_read, {states[k] for k in self._keep})

    def _called(self, name: str, constants: Mapping[str, Expr]) -> str:
        """What the state is called; a name that a parameter has is its own only before the loop."""
        if name not in constants:
            return name
        if name not in self._renamed:
            self._renamed[name] = self._free(name)
        return self._renamed[name]

    def _free(self, name: str) -> str:
        """A name that nothing else has."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _check_header(self, loop: ast.For, header: _Header, initial: Mapping[str, Value], reader: Interpreter) -> None:
        """Checks that the lists are those that were passed, and that only the loop sets the index."""
        for name in header.lists:
            if name in initial:
                self._module.unsupported(
                    loop.iter,
                    f"expected a loop over a parameter, got {name!r}, which is assigned before",
                    "Loop over the list itself.",
                )
        if len(set(header.lists)) < len(header.lists):
            self._module.unsupported(loop.iter, "expected each list once, got one twice", "Use its element twice.")
        if any({*ex.variables(a)} & {*header.fields} for a in reader.assumed):
            message = "expected assertions about constants before the loop, got one about the first element"
            self._module.unsupported(self._node, message, "Assert it in the loop, of every element.")
        if header.index is not None and header.index in initial:
            self._module.unsupported(
                loop.target,
                f"expected an index that only the loop sets, got {header.index!r}, which has a value before",
                "Rename it.",
            )

    def _split(self) -> tuple[list[ast.stmt], ast.For, list[ast.stmt]]:
        loops = [n for n, s in enumerate(self._node.body) if isinstance(s, ast.For | ast.While)]
        if not loops:
            self._module.unsupported(self._node, f"expected a loop in {self._node.name}, got none", _WRITE_LOOP)
        if len(loops) > 1:
            self._module.unsupported(self._node.body[loops[1]], "expected one loop, got a second one", "Do all in one loop.")
        loop = self._node.body[loops[0]]
        if not isinstance(loop, ast.For):
            self._module.unsupported(loop, "expected a for loop over a list, got while", _WRITE_LOOP)
        if loop.orelse:
            self._module.unsupported(loop.orelse[0], "expected a for loop without else, got one", "Write it after the loop.")
        return self._node.body[: loops[0]], loop, self._node.body[loops[0] + 1 :]

    def _made(self, begin: list[ast.stmt]) -> list[ast.stmt]:
        """The statements before the loop without those that make lists of results and name lengths."""
        kept: list[ast.stmt] = []
        for statement in begin:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[]))
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.List(elts=[]))
                ):
                    self._outputs.append(name)
                case _ if self._arrays.takes(statement):
                    pass
                case _:
                    kept.append(statement)
        return kept

    def _initial(self, statements: list[ast.stmt], reader: Interpreter, constants: Mapping[str, Expr]) -> dict[str, Value]:
        ended = reader.block(statements, dict(constants))
        if ended.result is not None:
            self._module.unsupported(self._node, "expected a loop before the first return, got none", _WRITE_LOOP)
        return ended.bindings

    def _header(self, loop: ast.For) -> _Header:
        match loop.iter:
            case ast.Name(id=name) if name in self._arguments:
                return self._over(loop, [name], loop.target)
            case ast.Call(func=called, args=[inner, *start], keywords=named) if self._arrays.is_builtin(called, enumerate):
                if not isinstance(loop.target, ast.Tuple) or len(loop.target.elts) != 2:
                    self._module.unsupported(loop.target, "expected index and element of enumerate", "Write: for i, x in ...")
                index, element = loop.target.elts
                if not isinstance(index, ast.Name):
                    self._module.unsupported(index, "expected a name for the index", "Write: for i, x in enumerate(xs).")
                start += [k.value for k in named if k.arg == "start"]
                if len(start) > 1 or any(k.arg != "start" for k in named):
                    self._module.unsupported(loop.iter, "expected enumerate of a list and a start", "Write: enumerate(xs, 1).")
                first = Interpreter(self._function).number(start[0], {}) if start else ex.ZERO
                if is_float(first) or bare(first).op != "const":
                    self._module.unsupported(loop.iter, "expected an integer to start from", "Write: enumerate(xs, 1).")
                over = self._over(loop, self._names(inner), element)
                if index.id in over.targets:
                    self._module.unsupported(loop.target, "expected different names for index and element", "Rename one.")
                return replace(over, index=index.id, start=ex.as_number(bare(first)))
            case ast.Call(func=called) if self._arrays.is_builtin(called, zip):
                return self._over(loop, self._names(loop.iter), loop.target)
            case _ if isinstance(loop.target, ast.Name) and (counted := self._arrays.counted(loop.iter)) is not None:
                name, begins = counted
                used = [n.value.id for n in ast.walk(loop) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
                lists = [a for a in self._arguments if a in used or a == name]
                elements = {a: self._element(a) for a in lists}
                fields = tuple(f for v in elements.values() for f in flat(v))
                return _Header(tuple(lists), {}, elements, fields, (), loop.target.id, is_indexed=True, begins=begins)
            case _:
                return self._bad_iterator(loop)

    def _bad_iterator(self, loop: ast.For) -> _Header:
        return self._module.unsupported(
            loop.iter,
            "expected a loop over a parameter, zip(...), enumerate(...), range(len(...)) or range(1, len(...)) of parameters",
            "Loop over the list itself; keep earlier elements in variables.",
        )

    def _names(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Name(id=name) if name in self._arguments:
                return [name]
            case ast.Call(func=called, args=args, keywords=named) if (
                self._arrays.is_builtin(called, zip)
                and all(isinstance(a, ast.Name) for a in args)
                and all(k.arg == "strict" for k in named)
            ):
                return [name for a in args for name in self._names(a)]
            case _:
                return self._module.unsupported(node, "expected parameters of the function", "Loop over the list itself.")

    def _over(self, loop: ast.For, lists: list[str], target: ast.expr) -> _Header:
        targets = target.elts if len(lists) > 1 and isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(lists):
            self._module.wrong(target, "SHAPE", f"expected {len(lists)} variables", "Take one element of each list.")
        bindings: dict[str, Value] = {}
        elements: dict[str, Value] = {}
        fields: list[Expr] = []
        for name, part in zip(lists, targets, strict=True):
            value = self._element(name, part)
            fields += flat(value)
            elements[name] = value
            Interpreter(self._function).bind(part, value, bindings)
        return _Header(tuple(lists), bindings, elements, tuple(fields), tuple(bindings))

    def _element(self, name: str, target: ast.expr | None = None) -> Value:
        """Variables for one element of the list `name`, called as the loop calls them."""
        hint = self._function.annotation(name)
        is_list, item = (True, None) if hint is MISSING else item_of(hint)
        if not is_list:
            self._bad_type(name, hint, f"list[...] of {SERVED}")
        shape = self._shape(name, item)
        called = target.id if isinstance(target, ast.Name) else f"{name}_item"
        if isinstance(target, ast.Tuple):
            parts = shape if isinstance(shape, tuple) else tuple(None for _ in target.elts)
            if len(parts) != len(target.elts) or isinstance(shape, Sort):
                self._module.wrong(target, "SHAPE", f"expected {len(parts)} variables", "Match the annotation.")
            named = [t.id if isinstance(t, ast.Name) else f"{name}_{n}" for n, t in enumerate(target.elts)]
            return tuple(self._variable(n, p) for n, p in zip(named, parts, strict=True))
        if isinstance(shape, tuple):
            return tuple(self._variable(f"{called}_{n}", p) for n, p in enumerate(shape))
        return self._variable(called, shape)

    def _shape(self, name: str, hint: object) -> Shape | None:
        """None: not said."""
        if hint is None or hint is MISSING:
            return None
        found = shape_of(hint)
        return self._bad_type(name, hint, SERVED) if found is None else found

    def _bad_type(self, name: str, hint: object, wanted: str) -> NoReturn:
        node = self._arguments[name].annotation or self._arguments[name]
        self._module.unsupported(node, f"expected {wanted}, got {written(hint)}", "Annotate what the loop gets.")

    def _variable(self, name: str, shape: Shape | None) -> Value:
        """The variable for a value of a list; a value without annotation is an integer, and noted."""
        if isinstance(shape, tuple):
            return tuple(self._variable(f"{name}_{n}", p) for n, p in enumerate(shape))
        # the user's own name, unless a state has it, which it then is between elements
        own = name in self._function.locals and name not in RESERVED and name not in self._earlier
        found = ex.variable(name if own else self._free(name), shape or INT)
        self._earlier.add(name)
        if shape is None:
            self._unannotated.append(found)
        return found

    def _first_elements(self, header: _Header) -> dict[str, Subscript]:
        """`xs[0]` before the loop."""

        def item(node: ast.Subscript, _: dict[str, Value]) -> Value:
            assert isinstance(node.value, ast.Name)
            name = node.value.id
            self._reads_first = True
            match node.slice:
                case ast.Constant(value=0):
                    return header.elements[name]
                case _:
                    message = f"expected {name}[0] before the loop, got {ast.unparse(node)}"
                    return self._module.unsupported(node, message, "Read the others in the loop.")

        return dict.fromkeys(header.lists, item)

    def _elements_before(self, loop: ast.For, header: _Header) -> dict[str, Expr]:
        """States for `xs[i - 1]`: what each keeps."""
        index = header.index
        asked = [
            n.value.id
            for n in ast.walk(loop)
            if header.is_indexed and index and isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
            if is_before(n.slice, index)
        ]
        lists = [a for a in header.lists if a in asked]
        return {self._free(f"{f.value}_before"): f for a in lists for f in flat(header.elements[a])}

    def _positions(self, parts: _Parts, states: Mapping[str, Expr], runner: Interpreter) -> dict[str, Subscript]:
        """`xs[i]` and `xs[i - 1]` with the loop's index, and `out[i - 1]` of lists of results."""
        header, index = parts.header, parts.header.index
        kept = {field: states[name] for name, field in parts.earlier.items()}
        contents = {n: bare(self._scalar(parts.loop, runner.value(c, {}), n)) for n, c in self._arrays.contents.items()}

        def is_index(node: ast.expr, bindings: dict[str, Value]) -> bool:
            return isinstance(node, ast.Name) and index is not None and bindings.get(node.id) is states[index]

        def is_later() -> bool:
            """Whether there is an element before."""
            if header.begins or index is None:
                return header.begins > 0
            return any(
                runner.knows(k) for k in (ex.at_least(states[index], ex.ONE), ex.negation(ex.equal(states[index], ex.ZERO)))
            )

        def item(node: ast.Subscript, bindings: dict[str, Value]) -> Value:
            assert isinstance(node.value, ast.Name) and index is not None
            name = node.value.id
            if is_index(node.slice, bindings):
                return header.elements[name]
            match node.slice:
                case ast.BinOp(left=left) if is_before(node.slice, index) and is_index(left, bindings):
                    if not is_later():
                        self._no_element_before(node, f"{name}[{index} - 1]")
                    return _replaced(header.elements[name], kept)
                case _:
                    message = f"expected {name}[{index}] or {name}[{index} - 1], got another index"
                    return self._module.unsupported(node, message, "Keep earlier elements in variables.")

        def result(node: ast.Subscript, bindings: dict[str, Value]) -> Value:
            assert isinstance(node.value, ast.Name)
            name = node.value.id.removesuffix(BEFORE)
            # at position 0 it is the last one, which is not set yet; but it is the current one, where the list has one element
            if not is_later() and bindings[name] not in (contents[name], floating(contents[name])):
                self._no_element_before(node, f"{name}[{index} - 1]")
            return bindings[before(name)]

        special: dict[str, Subscript] = {f"{name}{BEFORE}": result for name in self._arrays.contents}
        return special | (dict.fromkeys(header.lists, item) if header.is_indexed else {})

    def _no_element_before(self, node: ast.expr, text: str) -> NoReturn:
        message = f"expected {text} where there is a position before, got it in the first iteration, too"
        self._module.unsupported(node, message, "Begin the loop at 1, or test the index: if i > 0.")

    def _constants(self, lists: tuple[str, ...]) -> dict[str, Expr]:
        found: dict[str, Expr] = {}
        for name, node in self._arguments.items():
            if name in RESERVED:
                self._module.unsupported(node, f"expected a parameter that is not called {name}", "Rename it.")
            if name not in lists:
                hint = self._function.annotation(name)
                shape = self._shape(name, hint)
                if isinstance(shape, tuple):
                    self._bad_type(name, hint, "one number, truth value or text")
                found[name] = ex.variable(name, shape or INT)
                if shape is None:
                    self._unannotated.append(found[name])
        return found

    def _body(self, loop: ast.For, header: _Header) -> tuple[list[ast.stmt], dict[str, str]]:
        """The body without appends, which become assignments to a variable; result list -> that variable."""
        appended: dict[str, str] = {}
        body: list[ast.stmt] = []
        for statement in loop.body:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])) if (
                    name in self._outputs and name not in appended
                ):
                    appended[name] = f"{name}[]"  # no name of Python
                    target = ast.Name(appended[name], ast.Store())
                    self._targets.append(target)
                    body.append(ast.copy_location(ast.Assign([target], value), statement))
                    ast.fix_missing_locations(body[-1])
                case _:
                    body.append(statement)
        if header.begins and appended:
            message = "expected a loop over all elements that appends their results, got one that begins at the second"
            self._module.unsupported(loop, message, "Make out = [0] * len(xs), set out[0] before the loop and out[i] in it.")
        appends = [s.value for s in body if isinstance(s, ast.Assign) and s.targets[0] in self._targets]
        for node in ast.walk(loop):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(), attr="append"), args=args) if not any(
                    a is v for a in args for v in appends
                ):
                    self._module.unsupported(
                        node, "expected one result appended for every element", "Append once per iteration, outside conditionals."
                    )
                case _:
                    pass
        return body, {**appended, **{name: name for name in self._arrays.contents}}

    def _assigned(self, body: list[ast.stmt]) -> set[str]:
        stored = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return {n.id for n in stored}

    def _scalar(self, node: ast.AST, value: Value, name: str) -> Expr | Floating:
        if isinstance(value, tuple):
            self._module.unsupported(node, f"expected numbers in variables, got a tuple in {name}", "Use one variable per part.")
        return value

    def _sorts(self, loop: ast.For, names: list[str], initial: Mapping[str, Value]) -> dict[str, Sort]:
        return {n: bare(self._scalar(loop, initial[n], n)).sort for n in names}

    def _widened(self, loop: ast.For, name: str, known: Sort, step: Sort, is_float: bool) -> Sort:
        if "text" in (known.base, step.base) and known.base != step.base:
            self._module.wrong(loop, "SORT", f"expected {name} to keep its type, got text and a number", "Use one type.")
        if (known.base == "bool") != (step.base == "bool"):
            return INT if known.base == "bool" else replace(known, values=_union(known, Sort("int", values=(0, 1))))
        joined = known.joined(step)
        if is_float:
            joined = replace(joined, base="real", values=None)
        if joined.values is not None and (len(joined.values) > _FEW):
            joined = replace(joined, values=None)
        return joined

    def _scan_outputs(
        self, appended: Mapping[str, str], ended: Mapping[str, Value], states: list[State], after: list[ast.stmt]
    ) -> tuple[tuple[Expr, ...], bool]:
        match after:
            case [ast.Return(value=ast.Name(id=name))] if name in appended:
                asked, is_tuple = [name], False
            case [ast.Return(value=ast.Tuple(elts=parts))] if all(isinstance(p, ast.Name) and p.id in appended for p in parts):
                asked, is_tuple = [p.id for p in parts if isinstance(p, ast.Name)], True
            case _:
                self._module.unsupported(self._node, "expected a scan to return the list it appends to", "End with: return out")
        outputs: list[Expr] = []
        for name in asked:
            if appended[name] not in ended:
                self._module.unsupported(
                    self._node, f"expected one result appended to {name} for every element", "Append before every `continue`."
                )
            own = [s for s in states if s.name == name and name in self._arrays.contents]
            if own:
                outputs.append(own[0].variable)
                continue
            value = bare(self._scalar(self._node, ended[appended[name]], name))
            same = [s for s in states if s.step is value]
            if same:
                outputs.append(same[0].variable)
                continue
            state = ex.variable(name, replace(value.sort, values=None))
            states.append(State(state, neutral(state), value))
            outputs.append(state)
        return tuple(outputs), is_tuple

    def _reduction_outputs(
        self, after: list[ast.stmt], known: Mapping[str, Value], reader: Interpreter
    ) -> tuple[tuple[Expr, ...], bool]:
        ended = reader.block(after, known)
        if ended.result is None:
            self._module.wrong(self._node, "NO_RESULT", f"expected {self._node.name} to return a value", "Add a return.")
        results = ended.result if isinstance(ended.result, tuple) else (ended.result,)
        return tuple(bare(self._scalar(self._node, r, "the result")) for r in results), isinstance(ended.result, tuple)


def _replaced(value: Value, by: Mapping[Expr, Expr]) -> Value:
    """The value with other variables at its leaves."""
    return tuple(_replaced(v, by) for v in value) if isinstance(value, tuple) else by[bare(value)]


def _union(known: Sort, other: Sort) -> tuple[int, ...] | None:
    return known.joined(other).values


def _with_base(expr: Expr, sort: Sort) -> Expr:
    return ex.as_number(expr) if sort.is_numeric else expr
