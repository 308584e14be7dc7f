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
from warploom.scan.operators.answers import with_answers
from warploom.scan.operators.expression import INT, Expr, Sort
from warploom.scan.operators.transition import Loop, State, needed, with_numbered_texts, with_remainders
from warploom.scan.reading.absent import without_flags
from warploom.scan.reading.arrays import BEFORE, before, is_before
from warploom.scan.reading.divisions import are_met, divides_by_zero
from warploom.scan.reading.elements import Elements, Header
from warploom.scan.reading.first import from_first, neutral
from warploom.scan.reading.forms import COUNT, Forms, rewritten
from warploom.scan.reading.interpret import Interpreter, Subscript
from warploom.scan.reading.source import Function, Module
from warploom.scan.reading.states import ShapeError, built, identifier, layout, unified
from warploom.scan.reading.states import parts as split
from warploom.scan.reading.texts import ASCII, GREATEST, coded, within
from warploom.scan.reading.values import Character, Floating, Maybe, Scalar, Value, bare, flat, floating, is_float

_ROUNDS = 12
"""Steps after which a state with ever new values is taken to have unboundedly many."""
_FEW = 16
_WRITE_LOOP = "Write: states = ...; for x in xs: ...; return ..."


def read_loop(module: Module, name: str, keep: Sequence[str] = ()) -> Loop:
    """Raises UserError with the place of what is not such a loop.

    `keep` are variables of the loop that are kept, although no result depends on them: an enrichment that the user gives.
    """
    function = module.function(name, may_yield=True)
    try:
        forms = rewritten(function)
        node = copy.copy(function.node)
        node.body = forms.body
        return _Reader(replace(function, node=node), tuple(keep), forms).loop()
    except ex.UndefinedError as error:
        module.wrong(function.node, "UNDEFINED", f"expected a value, got {error}", "Keep infinities below min and max.")
    except RecursionError:
        module.unsupported(function.node, "expected expressions of moderate depth, got deeper ones", "Split them into variables.")


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of the function that are read again where states have to begin with other values."""

    loop: ast.For
    header: Header
    body: list[ast.stmt]
    appended: Mapping[str, str]
    after: list[ast.stmt]
    constants: Mapping[str, Expr]
    reader: Interpreter
    earlier: Mapping[str, Expr]
    """States that keep a field of the element before: that field."""


class _Reader(Elements):
    def __init__(self, function: Function, keep: tuple[str, ...], forms: Forms) -> None:
        super().__init__(function, forms.taken - forms.elements, forms.elements)
        self._forms = forms
        self._keep = keep
        self._node = function.node
        self._outputs: list[str] = []
        """Names of lists that results are appended to."""
        self._targets: list[ast.expr] = []
        """Expressions that stand for appending."""
        self._renamed: dict[str, str] = {}
        """Parts of variables, and parameters that the loop assigns: the states."""
        self._length = ex.variable(self._free("length"), INT) if forms.counted else ex.ZERO
        self._held: dict[str, list[str]] = {}
        """States of values that may be None, by the state that says so."""
        self._reads_first = False
        """True if an element is read before the loop."""

    def loop(self) -> Loop:
        begin, loop, after = self._split()
        self._earlier = {*self._assigned(begin), *self._arguments}
        made = self._made(begin)
        header = self._header(loop)
        constants = self._constants(header.lists)
        reader = Interpreter(self._function, special=self._first_elements(header), is_loop=True)
        initial = self._initial(self._arrays.before_loop(made, header.begins), reader, constants)
        initial = self._as_characters(loop, initial)
        self._check_header(loop, header, initial, reader)
        if header.index is not None:
            initial[header.index] = ex.add(header.start, ex.constant(header.begins))
        loop = copy.deepcopy(loop)
        loop.body = self._arrays.body(loop.body, header.index if header.start is ex.ZERO else None)
        body, appended = self._body(loop, header)
        earlier = self._elements_before(loop, header)
        initial |= {n: e if header.begins else neutral(e) for n, e in earlier.items()}
        parts = _Parts(loop, header, body, appended, after, constants, reader, earlier)
        found = without_flags(self._read(parts, initial), self._held, lambda starts: self._read(parts, initial, starts))
        index = next((s.variable for s in found.states if s.name == header.index and header.start is ex.ZERO), None)
        keep = {s.variable for s in found.states if s.name in self._keep}
        found = from_first(found, header.begins, index, lambda starts: self._read(parts, initial, starts), keep, self._length)
        found = with_answers(with_remainders(with_numbered_texts(self._counted(_ranged(found)))))
        if self._forms.is_backward and found.is_scan:
            message = "expected one result of a loop that begins with the last element, got a list of results"
            self._module.unsupported(loop.iter, message, "Loop from the first element on, and reverse the list outside.")
        return replace(found, is_backward=self._forms.is_backward)

    def _counted(self, loop: Loop) -> Loop:
        """The loop with the number of its elements as a state, where it is asked for."""
        count = self._length
        if self._forms.guarded is not None:
            is_empty = Interpreter(self._function).condition(self._forms.guarded, {COUNT: ex.ZERO})
            loop = replace(loop, needs_element=loop.needs_element and is_empty is not ex.TRUE)
        if count not in ex.variables(*loop.outputs):
            return loop
        return replace(loop, states=(*loop.states, State(count, ex.ZERO, ex.add(count, ex.ONE))))

    def _read(self, parts: _Parts, initial: Mapping[str, Value], starts: Mapping[str, Expr] | None = None) -> Loop:
        """The loop whose states begin with `initial`, or by their names with `starts`."""
        loop, header, reader = parts.loop, parts.header, parts.reader
        assigned = {*self._assigned(parts.body), *header.targets, *parts.earlier}
        first = {*header.fields}
        names = [
            n
            for n, v in initial.items()
            if n in assigned or n == header.index or any(first & {*ex.variables(e)} for e in flat(v))
        ]
        fixed = {n: v for n, v in initial.items() if n not in names}
        shapes = {n: initial[n] for n in names}
        sorts: dict[str, Sort] = {}
        floats: set[str] = set()
        while True:
            begun = {p: (own, value) for n in names for p, own, value in split(n, shapes[n], initial[n])}
            for part, (own, value) in begun.items():
                sorts.setdefault(part, bare(own if value is None else value).sort)
                floats |= {part} if is_float(own if value is None else value) else set()
            states = {p: ex.variable(self._called(p, parts.constants), sorts[p]) for p in begun}
            runner = Interpreter(self._function, assumed=list(reader.assumed), is_loop=True, returned=self._forms.returned)
            if self._characters:
                runner.assumed += [within(f, GREATEST) for f in header.fields]
            runner.special = self._positions(parts, states, runner)
            runner.begun = {v: bare(begun[p][1]) for p, v in states.items() if begun[p][1] is not None}  # type: ignore[arg-type]
            values = {p: floating(v) if p in floats else v for p, v in states.items()}
            held = {n: built(n, shapes[n], values) for n in names}
            ended = runner.block(parts.body, {**fixed, **held, **header.bindings})
            assert ended.result is None, "forms keeps what a loop returns in a variable"
            after = {n: ended.bindings.get(n, held[n]) for n in names} | dict(parts.earlier)
            wider_shapes = {n: self._unified(loop, n, shapes[n], after[n]) for n in names}
            changed = {n for n in names if layout(n, wider_shapes[n]) != layout(n, shapes[n])}
            if changed:
                parts_changed = {p for n in changed for p, is_one in layout(n, wider_shapes[n]) if is_one}
                sorts = {p: s for p, s in sorts.items() if p not in parts_changed}
                shapes = wider_shapes
                continue
            reached = {p: values[p] if v is None else v for n in names for p, _, v in split(n, shapes[n], after[n])}
            steps = {p: bare(v) for p, v in reached.items()}
            if header.index is not None:
                steps[header.index] = ex.add(states[header.index], ex.ONE)
            steps = {p: ex.as_number(s) if sorts[p].base != "bool" else s for p, s in steps.items()}
            wider = {p for p in steps if p != header.index and is_float(reached[p])} | floats
            widened = {p: self._widened(loop, p, sorts[p], steps[p].sort, p in wider) for p in steps}
            if widened == sorts and wider == floats:
                break
            sorts, floats = widened, wider
        for part in (p for p in steps if p.endswith(" is None")):  # once a value is there, it stays
            flag, own = states[part], steps[part]
            if ex.substituted(own, {flag: ex.FALSE}) is ex.FALSE:
                steps[part] = ex.both(flag, ex.substituted(own, {flag: ex.TRUE}))
        twins = _twins(begun, states, steps)
        if twins:
            values |= {p: values[other] for p, other in twins.items()}
            held = {n: built(n, shapes[n], values) for n in names}
            same = {states[p]: states[other] for p, other in twins.items()}
            steps = {p: ex.substituted(s, same) for p, s in steps.items() if p not in twins}
            begun = {p: b for p, b in begun.items() if p not in twins}
            runner.missing = [ex.substituted(m, same) for m in runner.missing]
            states = {p: states[twins.get(p, p)] for p in states}
        self._held = {}
        for n, shape in shapes.items():
            if isinstance(shape, Maybe) and shape.value is not None:
                known_parts = [str(states[p].value) for p, _, _ in split(n, shape.value, None)]
                self._held.setdefault(str(states[f"{n} is None"].value), []).extend(known_parts)
        result: list[State] = []
        for part, (_, value) in begun.items():
            first_value = neutral(states[part]) if value is None else bare(value)
            first_value = (starts or {}).get(str(states[part].value), first_value)
            result.append(State(states[part], _with_base(first_value, sorts[part]), _with_base(steps[part], sorts[part])))
        known: dict[str, Value] = {**fixed, **held, COUNT: self._length}
        if header.index is not None:
            known.pop(header.index)
        finisher = Interpreter(self._function, assumed=list(reader.assumed), is_loop=True, is_after=True)
        if parts.appended:
            outputs, is_tuple = self._scan_outputs(parts.appended, ended.bindings, result, parts.after)
        else:
            outputs, is_tuple = self._reduction_outputs(parts.after, known, finisher)
        assumed = [a for a in runner.assumed if not {*ex.variables(a)} & {*states.values()}]
        asked = [*runner.asked, *finisher.asked]
        if any({*ex.variables(a)} & {*states.values()} for a in asked):
            # what a state keeps is one of the elements, or a character of the text
            assumed += [within(f, ASCII) for f in header.fields]
            characters = {states[p] for n in names for p, is_one in layout(n, shapes[n]) if is_one}
            kept = (e for s in result if s.variable in characters for e in (s.initial, s.step))
            self._check_literals([*asked, *kept])
        if not are_met(assumed):
            self._module.wrong(self._node, "ASSERTIONS", "expected assertions that some element meets, got none", "Correct them.")
        needs_element = self._reads_first or self._arrays.sets_first or self._forms.needs_element
        set_ = {states[p]: ex.FALSE for p, step in steps.items() if needs_element and step is ex.FALSE}  # by the first element
        missing = [ex.substituted(m, set_) for m in finisher.missing]
        runs = (reader, runner, finisher)
        loop_read = Loop(
            self._node.name, self._module.file, header.lists, header.fields, tuple(parts.constants.values()), tuple(result),
            outputs, is_tuple, bool(parts.appended), tuple(dict.fromkeys(assumed)), tuple(self._arguments), self._keep,
            tuple(self._unannotated), any(r.rounds for r in runs), any(divides_by_zero(r.divisions) for r in runs),
            needs_element, self._characters,
            may_miss=any(m is not ex.FALSE for m in (*runner.missing, *missing)),
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

    def _check_literals(self, expressions: Sequence[Expr]) -> None:
        """Refuses characters beyond ASCII in the text, where a state is asked what only ASCII characters are answered."""
        if any(e.op == "const" and type(e.value) is int and e.value > ASCII for e in ex.subexpressions(*expressions)):
            message = "expected characters of ASCII and numbers up to 127 beside methods of characters, got others"
            self._module.unsupported(self._node, message, "Ask the current character, or compare it with literals.")

    def _unified(self, loop: ast.For, name: str, known: Value, other: Value) -> Value:
        try:
            return unified(known, other)
        except ShapeError:
            message = f"expected {name} to keep its parts, got a tuple and a number, or tuples of two lengths"
            return self._module.wrong(loop, "SHAPE", message, "Use one variable per part.")

    def _called(self, part: str, constants: Mapping[str, Expr]) -> str:
        """Name of the state: its own, or a free one where its own is no identifier or is a parameter's before the loop."""
        if part not in constants and part.isidentifier():
            return part
        if part not in self._renamed:
            self._renamed[part] = self._free(identifier(part))
        return self._renamed[part]

    def _check_header(self, loop: ast.For, header: Header, initial: Mapping[str, Value], reader: Interpreter) -> None:
        """Checks that the lists are those that were passed, and that only the loop sets the index."""
        for name in self._forms.counted - {*header.lists}:
            message = f"expected the length of a list that is looped over, got that of {name}"
            self._module.unsupported(self._node, message, "Take the length as a parameter.")
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

    def _as_characters(self, loop: ast.For, initial: Mapping[str, Value]) -> dict[str, Value]:
        """Texts of one character that variables begin with as characters, where no other texts are assigned to them."""
        if not self._characters:
            return dict(initial)
        longer: set[str] = set()
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and any(
                isinstance(n, ast.Constant) and isinstance(n.value, str) and len(n.value) > 1 for n in ast.walk(node.value)
            ):
                longer |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        assigned = self._assigned(loop.body)
        return {
            n: code if isinstance(v, Expr) and n in assigned - longer and (code := coded(v)) is not None else v
            for n, v in initial.items()
        }

    def _initial(self, statements: list[ast.stmt], reader: Interpreter, constants: Mapping[str, Expr]) -> dict[str, Value]:
        ended = reader.block(statements, dict(constants))
        if ended.result is not None:
            self._module.unsupported(self._node, "expected a loop before the first return, got none", _WRITE_LOOP)
        return ended.bindings

    def _first_elements(self, header: Header) -> dict[str, Subscript]:
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

    def _elements_before(self, loop: ast.For, header: Header) -> dict[str, Expr]:
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

    def _body(self, loop: ast.For, header: Header) -> tuple[list[ast.stmt], dict[str, str]]:
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
        """Names that are assigned, or a part of which is."""
        found: set[str] = set()
        for node in (n for s in body for n in ast.walk(s)):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case (
                    ast.Subscript(value=ast.Name(id=name), ctx=ast.Store())
                    | ast.Attribute(value=ast.Name(id=name), ctx=ast.Store())
                ):
                    found.add(name)
                case _:
                    pass
        return found

    def _scalar(self, node: ast.AST, value: Value, name: str) -> Expr | Floating:
        if not isinstance(value, Expr | Floating):
            kind = "a tuple" if isinstance(value, tuple) else "another value"
            self._module.unsupported(node, f"expected numbers in variables, got {kind} in {name}", "Use one variable per part.")
        return value

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
        return tuple(self._result(r) for r in results), isinstance(ended.result, tuple)

    def _result(self, value: Value) -> Expr:
        if not isinstance(value, Maybe):
            return bare(self._scalar(self._node, value, "the result"))
        if value.value is None:
            self._module.unsupported(self._node, "expected a result that is not always None, got None", "Return a value.")
        return ex.optional(value.is_none, bare(self._scalar(self._node, value.value, "the result")))


def _replaced(value: Value, by: Mapping[Expr, Expr]) -> Value:
    """The value with other variables at its leaves."""
    if isinstance(value, Character):
        return Character(by[value.expr])
    return tuple(_replaced(v, by) for v in value) if isinstance(value, tuple) else by[bare(value)]


def _twins(
    begun: Mapping[str, tuple[Scalar, Scalar | None]], states: Mapping[str, Expr], steps: Mapping[str, Expr]
) -> dict[str, str]:
    """Parts that say whether a variable is None, and another such part that begins alike and has the same step."""
    found: dict[str, str] = {}
    flags = [p for p in begun if p.endswith(" is None")]
    for number, part in enumerate(flags):
        for other in flags[:number]:
            same = {states[part]: states[other]}
            is_alike = begun[part][1] is begun[other][1] is not None
            if other not in found and is_alike and ex.substituted(steps[part], same) is ex.substituted(steps[other], same):
                found[part] = other
                break
    return found


def _union(known: Sort, other: Sort) -> tuple[int, ...] | None:
    return known.joined(other).values


def _with_base(expr: Expr, sort: Sort) -> Expr:
    return ex.as_number(expr) if sort.is_numeric else expr


def _ranged(loop: Loop) -> Loop:
    """The loop with what its elements' bits say of them: callers hold to it as to assertions."""
    found = [(f, (1 << f.sort.bits) - 1) for f in loop.fields if f.sort.bits is not None]
    said = [a for f, most in found for a in (ex.at_least(f, ex.ZERO), ex.at_least(ex.constant(most), f))]
    return replace(loop, assumed=(*loop.assumed, *said)) if said else loop
