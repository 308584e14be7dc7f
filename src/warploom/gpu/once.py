"""Indices that compilers would compute twice: the number of a thread in the grid, and first elements of vectors.

The number `block * threads + thread` on both sides of a condition becomes a variable before it; a compiler finds equal sums only
where one comes before the other. The index of a vector access takes the definitions of its variables where their terms then
cancel or are multiples of the vector, so that the vector has a number of its own.
Before -> after, for vectors of four:
    if (block < whole) { first = (block * 128 + thread - lane) * 4; x[first + lane * 4 + j] } else { at = block * 128 + thread }
    global_id = block * 128 + thread; if (block < whole) { first = ...; x[global_id * 4 + j] } else { at = global_id }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from warploom.core import Span
from warploom.core.linear import Linear
from warploom.gpu.facts import map_own_index, statements
from warploom.ir import (
    Builtin,
    For,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexVar,
    Param,
    SetIndex,
    SizeVar,
    Stmt,
    from_linear,
    global_access,
    leaves,
    linear,
    map_index,
    parts,
)

_UNPLACED = Span("", 0, 0, 0, 0)
"""Stands for no statement of the sketch."""


def with_global_ids(body: tuple[Stmt, ...], block: tuple[int, int, int], fresh: Callable[[str], str]) -> tuple[Stmt, ...]:
    """`body` with the number of a thread along each axis computed before the outermost conditions both of whose sides use it.
    `block`: threads of a block; `fresh` gives names that the kernel does not use."""
    for axis, threads in enumerate(block):
        body = _GlobalId(axis, threads, _named_builtins(body), fresh).block(body)
    return body


def vector_number(index: IndexExpr, lanes: int) -> IndexExpr | None:
    """The number of the vector whose first element has that index; None where its terms do not show that it is a multiple."""
    form = linear(index)
    if form.divisor % lanes:
        return None
    return from_linear(Linear(tuple((atom, c // lanes) for atom, c in form.terms), form.constant // lanes))


def with_vector_indices(body: tuple[Stmt, ...], params: Mapping[str, Param]) -> tuple[Stmt, ...]:
    """`body` with variables in the last indices of vector accesses replaced by what they stand for, where that shows a multiple
    of the vector's elements in all other terms than the loop's."""
    definitions = _constant_definitions(body)

    def change(stmt: Stmt) -> Stmt:
        match stmt:
            case For(is_vector=True, stop=IndexConst(lanes)) if (found := global_access(stmt, params)) is not None:
                index = found[1][-1]
                new = _multiples(index, int(lanes), stmt.var, definitions)
                return replace(stmt, body=map_own_index(stmt.body, lambda e: new if e == index else e))
            case For():
                return replace(stmt, body=tuple(map(change, stmt.body)))
            case If():
                return replace(stmt, then=tuple(map(change, stmt.then)), other=tuple(map(change, stmt.other)))
            case _:
                return stmt

    return tuple(map(change, body))


def _multiples(index: IndexExpr, lanes: int, var: str, definitions: Mapping[IndexExpr, IndexExpr]) -> IndexExpr:
    """The index, with definitions in place of variables where they show what is wanted of it."""
    loop = IndexVar(var)
    form = linear(index)
    while odd := [(atom, c) for atom, c in form.terms if c % lanes and atom != loop]:
        if any(atom not in definitions for atom, _ in odd):
            return index
        for atom, c in odd:
            form = form.without({atom}).plus(linear(definitions[atom]), c)
    return index if form == linear(index) else from_linear(form)


def _constant_definitions(body: tuple[Stmt, ...]) -> dict[IndexExpr, IndexExpr]:
    """Variables that one statement sets, to the same value whenever it runs: from sizes, launch numbers and such variables."""
    sets: dict[IndexExpr, list[IndexExpr]] = {}
    loops: set[IndexExpr] = set()
    for stmt in statements(body):
        match stmt:
            case SetIndex(name, expr):
                sets.setdefault(IndexVar(name), []).append(expr)
            case For(var):
                loops.add(IndexVar(var))
            case _:
                pass
    found: dict[IndexExpr, IndexExpr] = {}
    for name, exprs in sets.items():  # in the order of their statements: what one reads comes before it
        known = all(isinstance(e, Builtin | SizeVar) or e in found for e in leaves(exprs[0]))
        if len(exprs) == 1 and name not in loops and known:
            found[name] = exprs[0]
    return found


def _named_builtins(body: tuple[Stmt, ...]) -> dict[IndexExpr, IndexExpr]:
    return {name: expr for name, expr in _constant_definitions(body).items() if isinstance(expr, Builtin)}


@dataclass(frozen=True, slots=True)
class _GlobalId:
    """The number of a thread along one axis of the grid."""

    axis: int
    threads: int
    """Threads of a block along the axis."""
    named: Mapping[IndexExpr, IndexExpr]
    """Variables of the kernel that are launch numbers."""
    fresh: Callable[[str], str]

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            match stmt:
                case If(_, then, other) if self._is_in(then) and self._is_in(other):
                    name = self.fresh("global_id" if not self.axis else f"global_{'xyz'[self.axis]}")
                    thread, number = Builtin("thread_id", self.axis), IndexBinary("*", self._block_id, IndexConst(self.threads))
                    result.append(SetIndex(name, IndexBinary("+", number, thread), _UNPLACED))
                    result.append(map_index(stmt, lambda e, name=name: self._replaced(e, IndexVar(name))))
                case If(_, then, other):
                    result.append(replace(stmt, then=self.block(then), other=self.block(other)))
                case For():
                    result.append(replace(stmt, body=self.block(stmt.body)))
                case _:
                    result.append(stmt)
        return tuple(result)

    @property
    def _block_id(self) -> Builtin:
        return Builtin("block_id", self.axis)

    def _is_in(self, body: tuple[Stmt, ...]) -> bool:
        return any(isinstance(e, IndexBinary) and self._factor(self._form(e)) for e in parts(body))

    def _form(self, expr: IndexExpr) -> Linear[IndexExpr]:
        return linear(map_index(expr, self.named.get))

    def _factor(self, form: Linear[IndexExpr]) -> int:
        """How many times the number is in a sum; 0 if it is not."""
        factor = form.coefficient(Builtin("thread_id", self.axis))
        return factor if form.coefficient(self._block_id) == factor * self.threads else 0

    def _replaced(self, expr: IndexExpr, by: IndexVar) -> IndexExpr | None:
        if not isinstance(expr, IndexBinary):
            return None
        form = self._form(expr)
        factor = self._factor(form)
        if not factor:
            return None
        rest = form.without({Builtin("thread_id", self.axis), self._block_id})
        number: Linear[IndexExpr] = Linear(((by, factor),), 0)
        return from_linear(number.plus(rest))
