"""Loops as people write them, rewritten to the one form that `loop` reads; every rewriting keeps what CPython computes.

    while i < n: ...; i += 1            for i in range(n): ...
    for x in xs[1:]                     for i in range(1, len(xs)): x = xs[i]
    for a, b in zip(xs, xs[1:])         for i in range(1, len(xs)): a = xs[i - 1]; b = xs[i]
    for i in range(len(xs) - 1)         for i in range(1, len(xs)), with i - 1 for i
    for i in range(1, len(xs) - 1)      a window of the last elements (`windows`)
    break                               stopped = True, and every later iteration does nothing
    reversed(xs), sum(x for x in xs), match, :=, lambdas     see `idioms`
    return value, in the loop           the value is kept, and returned after the loop
    for ...: ... else: ...              if not stopped: ..., after the loop
    yield value                         out.append(value), and return out at the end
    if not xs: return value             the same test after the loop, of a count of the elements
    out = [first], out.append(...)      out[0] = first, out[i] = ..., where the loop begins at the second element

What does not fit a form stays as it is, and `loop` refuses it at its place.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from warploom.scan.reading.idioms import inlined, paired, statements, turned, with_first
from warploom.scan.reading.reductions import folded
from warploom.scan.reading.rewriting import length_of, stores
from warploom.scan.reading.source import Function
from warploom.scan.reading.texts import CASES
from warploom.scan.reading.windows import windowed

COUNT = "[len]"
"""The number of elements after the loop; no name of Python."""


@dataclass(slots=True)
class Forms:
    """The statements of one function, rewritten."""

    function: Function
    body: list[ast.stmt]
    guarded: ast.expr | None = None
    """Where the function returns before the loop for some lengths: that test, over COUNT."""
    counted: set[str] = field(default_factory=set[str])
    """Parameters whose length is asked for."""
    taken: set[str] = field(default_factory=set[str])
    window: list[ast.stmt] = field(default_factory=list[ast.stmt])
    """Statements that every iteration runs first, whether or not the loop was left."""
    returned: str | None = None
    """The variable that keeps what the loop returns; None means that it did not."""
    elements: set[str] = field(default_factory=set[str])
    """Names that elements have, of no other variable."""
    needs_element: bool = False
    """True if the function raises for an empty list."""
    is_backward: bool = False
    """True if the loop begins with the last element."""

    def free(self, name: str) -> str:
        """A name that the function does not have."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def rewritten(function: Function) -> Forms:
    """The function's body in the forms that `loop` reads; the function itself stays as it is."""
    forms = Forms(function, copy.deepcopy(function.node.body))
    forms.taken |= {*function.locals, *(n.id for n in ast.walk(function.node) if isinstance(n, ast.Name))}
    _yields(forms)
    forms.body = statements(forms.body, forms.free, function.node)
    written = folded(function, forms.body, forms.free)
    if written is not None:
        forms.body, forms.elements, forms.needs_element = written.body, written.elements, not written.takes_none
    forms.body = inlined(function, forms.body)
    places = [n for n, s in enumerate(forms.body) if isinstance(s, ast.For | ast.While)]
    if len(places) != 1:
        return forms
    at = places[0]
    begin, loop, after = forms.body[:at], forms.body[at], forms.body[at + 1 :]
    lengths = _lengths(function, begin)
    begin, guards = _guards(forms, begin, lengths)
    if isinstance(loop, ast.While):
        begin, loop = _counted(begin, loop, function)
    if not isinstance(loop, ast.For):
        return forms
    paired(function, loop)
    forms.is_backward = turned(function, begin, loop, lengths)
    if not forms.is_backward:
        begin = [*begin, *with_first(function, loop, after, forms.free)]
    begin = _headed(forms, begin, loop, lengths)
    start, after = _stopped(forms, loop, after)
    loop.body = [*forms.window, *loop.body]
    asked = _Lengths(function, lengths)
    after = [asked.visit(s) for s in [*guards, *after]]
    forms.counted = {*asked.found, *forms.counted}
    forms.body = [*begin, *start, loop, *after]
    for statement in forms.body:
        ast.fix_missing_locations(statement)
    return forms


def _yields(forms: Forms) -> None:
    """`yield value` as appending to a list that is returned."""
    found = [n for n in ast.walk(ast.Module(forms.body, [])) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Yield)]
    every = [n for n in ast.walk(ast.Module(forms.body, [])) if isinstance(n, ast.Yield | ast.YieldFrom)]
    loops = [n for n, s in enumerate(forms.body) if isinstance(s, ast.For | ast.While)]
    if (
        not found
        or len(found) != len(every)
        or len(loops) != 1
        or any(n.value is None for n in every if isinstance(n, ast.Yield))
    ):
        return
    at = loops[0]
    inside = {id(n) for n in ast.walk(forms.body[at])}
    if any(id(n) not in inside for n in found) or len(forms.body) > at + 1:
        return
    name = forms.free("out")
    for node in found:
        assert isinstance(node.value, ast.Yield) and node.value.value is not None
        call = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [node.value.value], [])
        node.value = ast.copy_location(call, node.value)
    place = forms.body[at]
    made = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())), place)
    ended = ast.copy_location(ast.Return(ast.Name(name, ast.Load())), place)
    forms.body = [*forms.body[:at], made, place, ended]
    for statement in forms.body:
        ast.fix_missing_locations(statement)


def _is_builtin(function: Function, node: ast.expr, builtin: object) -> bool:
    return isinstance(node, ast.Name) and node.id not in function.locals and function.lookup(node.id) is builtin


def _lengths(function: Function, begin: Sequence[ast.stmt]) -> dict[str, str]:
    """Names that are the length of a parameter throughout."""
    found: dict[str, str] = {}
    for statement in begin:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stores(function.node, name) == 1:
                measured = length_of(function, value, {})
                if measured is not None:
                    found[name] = measured
            case _:
                pass
    return found


class _Lengths(ast.NodeTransformer):
    """Lengths of the looped list after the loop, as the count of its elements."""

    def __init__(self, function: Function, lengths: dict[str, str]) -> None:
        self._function = function
        self._known = lengths
        self.found: set[str] = set()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._counted(node) or self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._counted(node) or node

    def _counted(self, node: ast.expr) -> ast.expr | None:
        name = length_of(self._function, node, self._known)
        if name is None:
            return None
        self.found.add(name)
        return ast.copy_location(ast.Name(COUNT, ast.Load()), node)


def _guards(forms: Forms, begin: list[ast.stmt], lengths: dict[str, str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """`if not xs: return value` before the loop goes behind it, as a test of the count; what it returns is the same there."""
    kept: list[ast.stmt] = []
    moved: list[ast.stmt] = []
    function = forms.function
    for statement in begin:
        match statement:
            case ast.If(test=test, body=[ast.Return(value=ast.expr() as value)], orelse=[]) if (
                (about := _about_length(forms, test, lengths)) is not None
                and _is_fixed(function, value)
                and not any(isinstance(n, ast.Subscript) for s in kept for n in ast.walk(s))
            ):
                name, asked = about
                forms.counted.add(name)
                moved.append(ast.copy_location(ast.If(asked, [ast.Return(value)], []), statement))
                forms.guarded = asked if forms.guarded is None else ast.BoolOp(ast.Or(), [forms.guarded, asked])
            case _:
                kept.append(statement)
    return kept, moved


def _is_fixed(function: Function, value: ast.expr) -> bool:
    """Whether it reads nothing that the function assigns, and no list."""
    read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    return not read & function.locals and not any(isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(value))


def _about_length(forms: Forms, test: ast.expr, lengths: dict[str, str]) -> tuple[str, ast.expr] | None:
    """The list and the test, over COUNT, if it is about its length only."""
    function = forms.function
    count = ast.copy_location(ast.Name(COUNT, ast.Load()), test)
    empty = ast.copy_location(ast.Compare(count, [ast.Eq()], [ast.Constant(0)]), test)
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if _is_list(forms, name):
            return name, empty
        case ast.UnaryOp(op=ast.Not(), operand=operand) if (name := length_of(function, operand, lengths)) is not None:
            return name, empty
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int() as bound)]) if (
            name := length_of(function, left, lengths)
        ) is not None and type(bound) is int:
            return name, ast.copy_location(ast.Compare(count, [op], [ast.Constant(bound)]), test)
        case _:
            return None


def _is_list(forms: Forms, name: str) -> bool:
    """Whether the parameter is looped over, and so a list."""
    if name not in forms.function.parameters or stores(forms.function.node, name):
        return False
    loops = [s for s in forms.body if isinstance(s, ast.For | ast.While)]
    return any(isinstance(n, ast.Name) and n.id == name for s in loops for n in ast.walk(s))


def _counted(begin: list[ast.stmt], loop: ast.While, function: Function) -> tuple[list[ast.stmt], ast.stmt]:
    """`while i < n` whose last statement is `i += 1`, as a loop over a range."""
    first, *rest = _conjuncts(loop.test)
    if rest and loop.orelse:
        return begin, loop  # its else belongs to every test that ends it, a break would pass it by
    match first, loop.body[-1]:
        case (
            ast.Compare(left=ast.Name(id=index), ops=[ast.Lt()], comparators=[bound]),
            ast.AugAssign(target=ast.Name(id=again), op=ast.Add(), value=ast.Constant(value=1)),
        ) if index == again and sum(stores(s, index) for s in loop.body) == 1:
            pass
        case _:
            return begin, loop
    starts = [s for s in begin if stores(s, index)]
    match starts:
        case [ast.Assign(targets=[ast.Name()], value=ast.Constant(value=int() as start))] if type(start) is int and start in (
            0,
            1,
        ):
            pass
        case _:
            return begin, loop
    if any(isinstance(n, ast.Name) and n.id == index for s in begin if s is not starts[0] for n in ast.walk(s)):
        return begin, loop
    if any(isinstance(n, ast.Continue) for n in ast.walk(loop)):
        return begin, loop  # the index would stay
    if not _is_builtin(function, ast.Name("range", ast.Load()), range):
        return begin, loop
    over = ast.Call(ast.Name("range", ast.Load()), [*([ast.Constant(start)] if start else []), bound], [])
    ends: list[ast.stmt] = [ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), t), [ast.Break()], []), t) for t in rest]
    made = ast.For(ast.Name(index, ast.Store()), over, [*ends, *loop.body[:-1]] or [ast.Pass()], loop.orelse)
    return [s for s in begin if s is not starts[0]], ast.copy_location(made, loop)


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


@dataclass(frozen=True, slots=True)
class _Second:
    """A loop that begins at the second element: the list, the index, and what an iteration binds first."""

    name: str
    index: str
    binds: Sequence[ast.stmt] = ()
    is_shifted: bool = False
    """True if the loop's own index is one less."""


def _headed(forms: Forms, begin: list[ast.stmt], loop: ast.For, lengths: dict[str, str]) -> list[ast.stmt]:
    """Slices and shifted lists as positions."""
    function = forms.function
    match loop.iter, loop.target:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=text) as whole, attr=case), args=[], keywords=[]), ast.Name(
            id=one
        ) if text in function.parameters and case in CASES:
            # character by character, which of ASCII is the same
            changed = ast.Call(ast.Attribute(_name(one), case, ast.Load()), [], [])
            loop.body = [_set(one, changed, loop.iter), *loop.body]
            loop.iter = whole
        case _:
            pass
    found = _second(forms, loop, lengths)
    if found is None:
        measured = partial(length_of, function, lengths=lengths)
        made = windowed(function, loop, forms.free, measured)
        if made is None:
            return begin
        forms.window = made.shifts
        return [*begin, *made.begin]
    if any(not _is_builtin(function, _name(b.__name__), b) for b in (len, range)):
        return begin
    length = ast.Call(_name("len"), [_name(found.name)], [])
    body = [_Shifted(found.index).visit(s) for s in loop.body] if found.is_shifted else loop.body
    loop.iter = ast.copy_location(ast.Call(_name("range"), [ast.Constant(1), length], []), loop.iter)
    loop.target = ast.copy_location(ast.Name(found.index, ast.Store()), loop.target)
    loop.body = [*found.binds, *body]
    return _positioned(begin, loop, found.index, length)


def _second(forms: Forms, loop: ast.For, lengths: dict[str, str]) -> _Second | None:
    function, target = forms.function, loop.target

    def is_own(node: ast.expr) -> bool:
        """Whether it is a name that the body does not set."""
        return isinstance(node, ast.Name) and not stores(ast.Module(loop.body, []), node.id)

    if isinstance(loop.iter, ast.Subscript):
        name = _rest_of(function, loop.iter)
        at = forms.free("position")
        return None if name is None else _Second(name, at, [_element(target, name, at, 0)])
    match loop.iter:
        case ast.Call(func=called, args=[ast.Name(id=name), tail], keywords=[]) if _is_builtin(function, called, zip):
            if _rest_of(function, tail) != name or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                return None
            at = forms.free("position")
            return _Second(name, at, [_element(t, name, at, 1 - n) for n, t in enumerate(target.elts)])
        case ast.Call(func=called, args=[tail, *start], keywords=[]) if _is_builtin(function, called, enumerate):
            name = _rest_of(function, tail)
            begins = ast.literal_eval(start[0]) if start and isinstance(start[0], ast.Constant) else None if start else 0
            if name is None or not isinstance(target, ast.Tuple) or len(target.elts) != 2 or type(begins) is not int:
                return None
            index, element = target.elts
            if begins == 1 and isinstance(index, ast.Name) and is_own(index):
                return _Second(name, index.id, [_element(element, name, index.id, 0)])
            at = forms.free("position")
            counted = ast.BinOp(_name(at), ast.Add(), ast.Constant(begins - 1))
            return _Second(name, at, [ast.copy_location(ast.Assign([index], counted), index), _element(element, name, at, 0)])
        case ast.Call(
            func=called, args=[*start, ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1))], keywords=[]
        ) if _is_builtin(function, called, range) and all(ast.unparse(s) == "0" for s in start) and len(start) < 2:
            name = length_of(function, length, lengths)
            if name is None or not isinstance(target, ast.Name) or not is_own(target):
                return None
            return _Second(name, target.id, is_shifted=True)
        case _:
            return None


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _positioned(begin: list[ast.stmt], loop: ast.For, index: str, length: ast.expr) -> list[ast.stmt]:
    """Appending to a list that begins with one result, by position; only where every iteration appends."""
    if any(isinstance(s, ast.Break | ast.Return) for s in _own(loop.body)):
        return list(begin)
    appended = [
        (n, s.value.func.value.id, s.value.args[0])
        for n, s in enumerate(loop.body)
        if isinstance(s, ast.Expr)
        and isinstance(s.value, ast.Call)
        and isinstance(s.value.func, ast.Attribute)
        and s.value.func.attr == "append"
        and isinstance(s.value.func.value, ast.Name)
        and len(s.value.args) == 1
        and not any(isinstance(before, ast.Continue) for before in _own(loop.body[:n]))
    ]
    made = list(begin)
    for place, name, value in appended:
        for number, statement in enumerate(made):
            match statement:
                case ast.Assign(targets=[ast.Name(id=found)], value=ast.List(elts=[first])) if found == name:
                    zeros = ast.BinOp(ast.List([ast.Constant(0)], ast.Load()), ast.Mult(), copy.deepcopy(length))
                    made[number : number + 1] = [
                        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], zeros), statement),
                        ast.copy_location(ast.Assign([_position(name, ast.Constant(0), ast.Store())], first), statement),
                    ]
                    at = _position(name, ast.Name(index, ast.Load()), ast.Store())
                    loop.body[place] = ast.copy_location(ast.Assign([at], value), loop.body[place])
                    break
                case _:
                    pass
    return made


def _position(name: str, at: ast.expr, context: ast.expr_context) -> ast.Subscript:
    return ast.Subscript(ast.Name(name, ast.Load()), at, context)


def _rest_of(function: Function, node: ast.expr) -> str | None:
    """The parameter of which it is everything after the first element."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=ast.Constant(value=1), upper=None, step=None)) if (
            name in function.parameters and not stores(function.node, name)
        ):
            return name
        case _:
            return None


def _element(target: ast.expr, name: str, index: str, before: int) -> ast.stmt:
    """`target = name[index - before]`."""
    at = ast.BinOp(_name(index), ast.Sub(), ast.Constant(before)) if before else _name(index)
    return ast.copy_location(ast.Assign([target], _position(name, at, ast.Load())), target)


class _Shifted(ast.NodeTransformer):
    """`i + 1` as `i`, and `i` as `i - 1`."""

    def __init__(self, index: str) -> None:
        self._index = index

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        match node:
            case ast.BinOp(left=ast.Name(id=name) as plain, op=ast.Add(), right=ast.Constant(value=1)) if name == self._index:
                return plain
            case _:
                return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id != self._index:
            return node
        return ast.copy_location(ast.BinOp(node, ast.Sub(), ast.Constant(1)), node)


def _stopped(forms: Forms, loop: ast.For, after: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """`break` and `return` in the loop, as states: what begins them, and what stands after the loop."""
    leaves = _Leaves(forms)
    returns = [n for n in _own(loop.body) if isinstance(n, ast.Return)]
    same = {ast.dump(n.value) if n.value is not None else "" for n in returns}
    if returns and (any(n.value is None for n in returns) or (len(same) > 1 and any(_is_none(n.value) for n in returns))):
        return [], after
    is_fixed = len(same) == 1 and isinstance(returns[0].value, ast.Constant)
    is_loose = _may_go_on(loop.body)
    body = leaves.body(loop.body, is_fixed, is_loose)
    start: list[ast.stmt] = []
    ended: list[ast.stmt] = []
    running: list[ast.expr] = []
    if leaves.result is not None:
        forms.returned = leaves.result
        start.append(_set(leaves.result, ast.Constant(False if is_fixed else None), loop))
        is_set = _name(leaves.result) if is_fixed else ast.Compare(_name(leaves.result), [ast.IsNot()], [ast.Constant(None)])
        value = returns[0].value if is_fixed else _name(leaves.result)
        ended.append(ast.copy_location(ast.If(is_set, [ast.Return(value)], []), returns[0]))
        running.append(ast.UnaryOp(ast.Not(), is_set))
    if leaves.stopped is not None:
        start.append(_set(leaves.stopped, ast.Constant(False), loop))
        running.append(ast.UnaryOp(ast.Not(), _name(leaves.stopped)))
    if loop.orelse:
        ended += loop.orelse if leaves.stopped is None else [_if_not(leaves.stopped, loop.orelse, loop)]
        loop.orelse = []
    if is_loose:
        loop.body = body
    elif running:
        test = running[0] if len(running) == 1 else ast.BoolOp(ast.And(), running)
        loop.body = [ast.copy_location(ast.If(test, body, []), loop)]
    return start, [*ended, *after]


def _may_go_on(body: list[ast.stmt]) -> bool:
    """Whether the loop may go on after a result is kept: no other state matters then, and nothing in the loop can fail.

    The states have simpler steps so.
    """
    own = _own(body)
    if any(isinstance(s, ast.Break | ast.Continue) for s in own) or not any(isinstance(s, ast.Return) for s in own):
        return False
    ifs = [s for s in own if isinstance(s, ast.If) and any(isinstance(r, ast.Return) for r in (*s.body, *s.orelse))]
    if any(not isinstance(s.body[-1], ast.Return) or s.orelse for s in ifs) or any(isinstance(s, ast.Return) for s in body):
        return False
    for node in (n for s in body for n in ast.walk(s)):
        match node:
            case ast.Assert() | ast.Subscript() | ast.Attribute() | ast.Is() | ast.IsNot():
                return False
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow() | ast.LShift() | ast.RShift(), right=right):
                if not isinstance(right, ast.Constant):
                    return False
            case ast.Call(func=called):
                if not (isinstance(called, ast.Name) and called.id in ("max", "min", "abs")):
                    return False
            case _:
                pass
    return True


def _is_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _set(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), place)


def _if_not(name: str, body: list[ast.stmt], place: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), _name(name)), body, []), place)


def _own(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements of this loop, not those of loops and functions within it."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.If):
            found += _own([*statement.body, *statement.orelse])
    return found


@dataclass(slots=True)
class _Leaves:
    """Statements that leave the loop, as assignments and `continue`."""

    forms: Forms
    stopped: str | None = None
    result: str | None = None

    def body(self, statements: Sequence[ast.stmt], is_fixed: bool, is_loose: bool) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            match statement:
                case ast.Break():
                    self.stopped = self.stopped or self.forms.free("stopped")
                    made += [_set(self.stopped, ast.Constant(True), statement), ast.copy_location(ast.Continue(), statement)]
                case ast.Return(value=ast.expr() as value):
                    self.result = self.result or self.forms.free("returned")
                    kept = ast.copy_location(ast.Constant(True), value) if is_fixed else value
                    keep = _set(self.result, kept, statement)
                    if is_loose:
                        unset = ast.Compare(_name(self.result), [ast.Is()], [ast.Constant(None)])
                        made.append(keep if is_fixed else ast.copy_location(ast.If(unset, [keep], []), statement))
                    else:
                        made += [keep, ast.copy_location(ast.Continue(), statement)]
                case ast.If(test=test, body=then, orelse=otherwise):
                    parts = self.body(then, is_fixed, is_loose), self.body(otherwise, is_fixed, is_loose)
                    made.append(ast.copy_location(ast.If(test, *parts), statement))
                case _:
                    made.append(statement)
        return made
