"""A serial loop over a list, read from source, as a transition on named states.

    def function(xs, [ys, ...] [constants]):          for x in xs            for x, y in zip(xs, ys)
        states = initial values                       for a, b in xs         for i in range(len(xs))
        for element in xs:                            for i, x in enumerate(xs)
            assignments, conditionals
            [out.append(value)]                       a scan: one result for every prefix
        return value, ...                             a reduction: results of the whole list

A state is a variable that the loop assigns and that has a value before it. The index of `enumerate` or `range` becomes a state
that counts. `e % n` of a state gets a state of its own. What cannot be read is an error at its place, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.scan import expression as ex
from warploom.scan.expression import BOOL, INT, REAL, TEXT, Expr, Sort
from warploom.scan.interpret import Interpreter, Subscript, Value
from warploom.scan.source import Module
from warploom.scan.transition import Loop, State, needed, with_numbered_texts, with_remainders

_LISTS = {"list", "List", "Sequence", "Iterable", "tuple"}
_ROUNDS = 12
"""Steps after which a state with ever new values is taken to have unboundedly many."""
_FEW = 16
_WRITE_LOOP = "Write: states = ...; for x in xs: ...; return ..."


def read_loop(module: Module, name: str, keep: Sequence[str] = ()) -> Loop:
    """Raises UserError with the place of what is not such a loop.

    `keep` are variables of the loop that are kept, although no result depends on them: an enrichment that the user gives.
    """
    return _Reader(module, module.function(name), tuple(keep)).loop()


@dataclass(frozen=True, slots=True)
class _Header:
    """What one iteration binds."""

    lists: tuple[str, ...]
    bindings: Mapping[str, Value]
    fields: tuple[Expr, ...]
    index: str | None = None
    start: Expr = ex.ZERO


class _Reader:
    def __init__(self, module: Module, node: ast.FunctionDef, keep: tuple[str, ...]) -> None:
        self._keep = keep
        self._module = module
        self._node = node
        self._arguments = {a.arg: a for a in node.args.args}
        self._outputs: list[str] = []
        """Names of lists that results are appended to."""

    def loop(self) -> Loop:
        before, loop, after = self._split()
        header = self._header(loop)
        constants = self._constants(header.lists)
        reader = Interpreter(self._module)
        initial = self._initial(before, reader, constants)
        if header.index is not None:
            initial[header.index] = header.start
        body, appended = self._body(loop)
        assigned = self._assigned(body)
        names = [n for n in initial if n in assigned or n == header.index]
        fixed = {n: v for n, v in initial.items() if n not in names}
        sorts = self._sorts(loop, names, initial)
        while True:
            states = {n: ex.variable(n, sorts[n]) for n in names}
            runner = Interpreter(self._module, special=self._indexed(header))
            bindings: dict[str, Value] = {**fixed, **dict(states.items()), **header.bindings}
            ended = runner.block(body, bindings)
            steps = {n: self._scalar(loop, ended.bindings.get(n, states[n]), n) for n in names}
            if header.index is not None:
                steps[header.index] = ex.add(states[header.index], ex.ONE)
            steps = {n: ex.as_number(s) if sorts[n].base != "bool" else s for n, s in steps.items()}
            widened = {n: self._widened(loop, n, sorts[n], steps[n].sort) for n in names}
            if widened == sorts:
                break
            sorts = widened
        result = [
            State(states[n], _with_base(self._scalar(loop, initial[n], n), sorts[n]), _with_base(steps[n], sorts[n]))
            for n in names
        ]
        if appended:
            outputs, is_tuple = self._scan_outputs(appended, ended.bindings, result, after)
        else:
            outputs, is_tuple = self._reduction_outputs(after, fixed, states, header)
        assumed = [a for a in runner.assumed if not {*ex.variables(a)} & {*states.values()}]
        loop_read = Loop(
            self._node.name, self._module.file, header.lists, header.fields, tuple(constants.values()), tuple(result), outputs,
            is_tuple, bool(appended), tuple(assumed), tuple(self._arguments), self._keep,
        )  # fmt: skip
        unknown = [k for k in self._keep if k not in states]
        if unknown:
            self._module.wrong(
                loop,
                "UNKNOWN_VARIABLE",
                f"expected a variable of the loop to keep, got {unknown[0]!r}",
                f"Use: {', '.join(states)}.",
            )
        return with_remainders(with_numbered_texts(needed(loop_read, {states[k] for k in self._keep})))

    def _split(self) -> tuple[list[ast.stmt], ast.For, list[ast.stmt]]:
        loops = [n for n, s in enumerate(self._node.body) if isinstance(s, ast.For | ast.While)]
        if not loops:
            self._module.unsupported(self._node, f"expected a loop in {self._node.name}, got none", _WRITE_LOOP)
        if len(loops) > 1:
            self._module.unsupported(self._node.body[loops[1]], "expected one loop, got a second one", "Do all in one loop.")
        loop = self._node.body[loops[0]]
        if not isinstance(loop, ast.For) or loop.orelse:
            self._module.unsupported(loop, "expected a for loop over a list", _WRITE_LOOP)
        return self._node.body[: loops[0]], loop, self._node.body[loops[0] + 1 :]

    def _initial(self, before: list[ast.stmt], reader: Interpreter, constants: Mapping[str, Expr]) -> dict[str, Value]:
        kept: list[ast.stmt] = []
        for statement in before:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[]))
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.List(elts=[]))
                ):
                    self._outputs.append(name)
                case _:
                    kept.append(statement)
        return reader.block(kept, dict(constants)).bindings

    def _header(self, loop: ast.For) -> _Header:
        match loop.iter:
            case ast.Name(id=name) if name in self._arguments:
                return self._over(loop, [name], loop.target)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *start]):
                if not isinstance(loop.target, ast.Tuple) or len(loop.target.elts) != 2:
                    self._module.unsupported(loop.target, "expected index and element of enumerate", "Write: for i, x in ...")
                index, element = loop.target.elts
                if not isinstance(index, ast.Name):
                    self._module.unsupported(index, "expected a name for the index", "Write: for i, x in enumerate(xs).")
                first = Interpreter(self._module).number(start[0], {}) if start else ex.ZERO
                return replace(self._over(loop, self._names(inner), element), index=index.id, start=first)
            case ast.Call(func=ast.Name(id="zip"), args=_):
                return self._over(loop, self._names(loop.iter), loop.target)
            case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])]):
                if name in self._arguments and isinstance(loop.target, ast.Name):
                    used = [n.value.id for n in ast.walk(loop) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
                    lists = [a for a in self._arguments if a in used or a == name]
                    values = [self._element(a) for a in lists]
                    fields = tuple(f for v in values for f in _flat(v))
                    items = {f"[{a}]": v for a, v in zip(lists, values, strict=True)}
                    return _Header(tuple(lists), items, fields, loop.target.id)
                return self._bad_iterator(loop)
            case _:
                return self._bad_iterator(loop)

    def _bad_iterator(self, loop: ast.For) -> _Header:
        return self._module.unsupported(
            loop.iter,
            "expected a loop over a parameter, zip(...), enumerate(...) or range(len(...)) of parameters",
            "Loop over the list itself; keep earlier elements in variables.",
        )

    def _names(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Name(id=name) if name in self._arguments:
                return [name]
            case ast.Call(func=ast.Name(id="zip"), args=args) if all(isinstance(a, ast.Name) for a in args):
                return [name for a in args for name in self._names(a)]
            case _:
                return self._module.unsupported(node, "expected parameters of the function", "Loop over the list itself.")

    def _over(self, loop: ast.For, lists: list[str], target: ast.expr) -> _Header:
        targets = target.elts if len(lists) > 1 and isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(lists):
            self._module.wrong(target, "SHAPE", f"expected {len(lists)} variables", "Take one element of each list.")
        bindings: dict[str, Value] = {}
        fields: list[Expr] = []
        for name, part in zip(lists, targets, strict=True):
            value = self._element(name, part)
            fields += _flat(value)
            Interpreter(self._module).bind(part, value, bindings)
        return _Header(tuple(lists), bindings, tuple(fields))

    def _element(self, name: str, target: ast.expr | None = None) -> Value:
        """Variables for one element of the list `name`, called as the loop calls them."""
        annotation = _list_item(self._arguments[name].annotation)
        if isinstance(target, ast.Tuple):
            parts = _tuple_items(annotation)
            if parts and len(parts) != len(target.elts):
                self._module.wrong(target, "SHAPE", f"expected {len(parts)} variables", "Match the annotation.")
            return tuple(
                ex.variable(t.id if isinstance(t, ast.Name) else f"{name}_{n}", _sort(parts[n] if parts else None))
                for n, t in enumerate(target.elts)
            )
        called = target.id if isinstance(target, ast.Name) else f"{name}_item"
        parts = _tuple_items(annotation)
        if parts:
            return tuple(ex.variable(f"{called}_{n}", _sort(p)) for n, p in enumerate(parts))
        return ex.variable(called, _sort(annotation))

    def _indexed(self, header: _Header) -> dict[str, Subscript]:
        """`xs[i]` with the loop's index."""

        def item(node: ast.Subscript, bindings: dict[str, Value]) -> Value:
            assert isinstance(node.value, ast.Name)
            if isinstance(node.slice, ast.Name) and node.slice.id == header.index:
                return header.bindings[f"[{node.value.id}]"]
            return self._module.unsupported(
                node, f"expected {node.value.id}[{header.index}], got another index", "Keep earlier elements in variables."
            )

        return {name: item for name in header.lists if f"[{name}]" in header.bindings}

    def _constants(self, lists: tuple[str, ...]) -> dict[str, Expr]:
        return {n: ex.variable(n, _sort(a.annotation)) for n, a in self._arguments.items() if n not in lists}

    def _body(self, loop: ast.For) -> tuple[list[ast.stmt], dict[str, str]]:
        """Without appends, which become assignments to a variable; result list -> that variable."""
        appended: dict[str, str] = {}
        body: list[ast.stmt] = []
        for statement in loop.body:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])) if (
                    name in self._outputs
                ):
                    appended[name] = f"{name}_item"
                    target = ast.Name(f"{name}_item", ast.Store())
                    body.append(ast.copy_location(ast.Assign([target], value), statement))
                    ast.fix_missing_locations(body[-1])
                case _:
                    body.append(statement)
        for node in ast.walk(loop):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")) if name not in appended:
                    self._module.unsupported(
                        node, "expected one result appended for every element", "Append once per iteration, outside conditionals."
                    )
                case _:
                    pass
        return body, appended

    def _assigned(self, body: list[ast.stmt]) -> set[str]:
        stored = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return {n.id for n in stored}

    def _scalar(self, node: ast.AST, value: Value, name: str) -> Expr:
        if isinstance(value, tuple):
            self._module.unsupported(node, f"expected numbers in variables, got a tuple in {name}", "Use one variable per part.")
        return value

    def _sorts(self, loop: ast.For, names: list[str], initial: Mapping[str, Value]) -> dict[str, Sort]:
        return {n: self._scalar(loop, initial[n], n).sort for n in names}

    def _widened(self, loop: ast.For, name: str, known: Sort, step: Sort) -> Sort:
        if "text" in (known.base, step.base) and known.base != step.base:
            self._module.wrong(loop, "SORT", f"expected {name} to keep its type, got text and a number", "Use one type.")
        if (known.base == "bool") != (step.base == "bool"):
            return INT if known.base == "bool" else replace(known, values=_union(known, Sort("int", values=(0, 1))))
        joined = known.joined(step)
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
            value = self._scalar(self._node, ended[appended[name]], name)
            same = [s for s in states if s.step is value]
            if same:
                outputs.append(same[0].variable)
                continue
            state = ex.variable(name, replace(value.sort, values=None))
            neutral = {"bool": ex.FALSE, "text": ex.constant("")}.get(value.sort.base, ex.ZERO)
            states.append(State(state, neutral, value))
            outputs.append(state)
        return tuple(outputs), is_tuple

    def _reduction_outputs(
        self, after: list[ast.stmt], fixed: Mapping[str, Value], states: Mapping[str, Expr], header: _Header
    ) -> tuple[tuple[Expr, ...], bool]:
        lengths: dict[str, Value] = {}
        ended = Interpreter(self._module).block(after, {**fixed, **states, **lengths})
        if ended.result is None:
            self._module.wrong(self._node, "NO_RESULT", f"expected {self._node.name} to return a value", "Add a return.")
        results = ended.result if isinstance(ended.result, tuple) else (ended.result,)
        return tuple(self._scalar(self._node, r, "the result") for r in results), isinstance(ended.result, tuple)


def _union(known: Sort, other: Sort) -> tuple[int, ...] | None:
    return known.joined(other).values


def _with_base(expr: Expr, sort: Sort) -> Expr:
    return ex.as_number(expr) if sort.is_numeric else expr


def _flat(value: Value) -> list[Expr]:
    return [f for part in value for f in _flat(part)] if isinstance(value, tuple) else [value]


def _list_item(annotation: ast.expr | None) -> ast.expr | None:
    match annotation:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=[item, ast.Constant(value=value)])) if (
            name in _LISTS and value is ...
        ):
            return item
        case ast.Subscript(value=ast.Name(id=name), slice=item) if name in _LISTS:
            return item
        case ast.Name(id="str"):
            return annotation
        case _:
            return None


def _tuple_items(annotation: ast.expr | None) -> list[ast.expr]:
    match annotation:
        case ast.Subscript(value=ast.Name(id="tuple" | "Tuple"), slice=ast.Tuple(elts=parts)):
            return list(parts)
        case _:
            return []


def _sort(annotation: ast.expr | None) -> Sort:
    match annotation:
        case ast.Name(id="bool"):
            return BOOL
        case ast.Name(id="float" | "Fraction"):
            return REAL
        case ast.Name(id="str"):
            return TEXT
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=parts)):
            values = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, int)]
            return Sort("int", values=tuple(sorted(values))) if len(values) == len(parts) else TEXT
        case _:
            return INT
