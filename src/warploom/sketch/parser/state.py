"""State of the reader of one sketch or spec: statements so far, names, holes, problems."""

from __future__ import annotations

import ast
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Literal, TypeAlias

from warploom.core import Diagnostic, DType, Span
from warploom.ir import Hole, IndexConst, IndexExpr, IndexVar, Operator, SetIndex, SetValue, SizeVar, Stmt, ValueVar, map_index
from warploom.sketch.literals import as_constant
from warploom.sketch.operands import Array, ConflictFree, Data, Group, Index, Local, Operand, Poison, Static, Unset, describe
from warploom.sketch.parser.slices import Slice
from warploom.sketch.parser.spelling import nearest
from warploom.sketch.ranges import Facts
from warploom.sketch.source import MISSING, Resolver, Source
from warploom.sketch.types import Size

Mode: TypeAlias = Literal["sketch", "spec"]


class Problem(Exception):  # noqa: N818 (caught at the statement; never leaves the reader)
    """A diagnostic that ends the reading of one statement."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Silent(Exception):  # noqa: N818
    """Ends the reading of a statement that uses the result of a wrong one."""


@dataclass(slots=True)
class Frame:
    """One function being read: the sketch itself, a device function being expanded, a lambda."""

    name: str
    source: Source
    resolve: Resolver
    known: tuple[str, ...]
    assigned: dict[str, int]
    """Number of assignments of the function's text that bind each name."""
    path: tuple[str, ...]
    """Call sites (line:col) that lead here, innermost first; part of a hole's identity."""
    scope: dict[str, Operand] = field(default_factory=dict[str, Operand])
    ir_names: dict[str, str] = field(default_factory=dict[str, str])
    kinds: dict[str, tuple[str, ast.AST]] = field(default_factory=dict[str, tuple[str, ast.AST]])
    """Kind of each name's first assignment (index, condition or a dtype) and its place."""
    data_names: dict[str, DType] = field(default_factory=dict[str, DType])
    """Spec only: names that hold data although a plain number starts them."""


@dataclass(slots=True)
class State:
    mode: Mode
    warp_size: int
    facts: Facts
    frame: Frame
    block: tuple[int, int, int]
    taken: set[str]
    """Names in use in the kernel."""
    holes: dict[str, Hole]
    out: list[Stmt] = field(default_factory=list[Stmt])
    hole_sites: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])
    reached: set[str] = field(default_factory=set[str])
    operators: dict[str, Operator] = field(default_factory=dict[str, Operator])
    operator_origins: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    sizes: list[str] = field(default_factory=list[str])
    read: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])
    params: set[str] = field(default_factory=set[str])
    dead: int = 0
    """Greater than zero inside of code that never runs."""
    direct: ast.AST | None = None
    """The call that is a whole statement's expression: the only one that may have effects."""
    storing: ast.AST | None = None
    """The expression that is the whole right side of a store to an array of integers."""
    assigning: Mapping[ast.expr, str] = field(default_factory=dict[ast.expr, str])
    """Names by value, of the statement `name = value` or `name, ... = value, ...` being read."""
    conditions: list[IndexExpr] = field(default_factory=list[IndexExpr])
    """Conditions of the `if`s around."""
    calls: list[str] = field(default_factory=list[str])
    """Device functions being expanded."""
    requires: list[ConflictFree] = field(default_factory=list[ConflictFree])
    slices: dict[str, Slice] = field(default_factory=dict[str, Slice])
    """By the variable of its loop."""

    # ------------------------------------------------------------ problems

    def span(self, node: ast.AST) -> Span:
        return self.frame.source.span(node)

    def problem(self, code: str, message: str, node: ast.AST, fix: str = "", *notes: tuple[str, ast.AST]) -> Problem:
        """An exception to raise: it ends the reading of the current statement."""
        return Problem(self._diagnostic(code, message, node, fix, notes))

    def report(self, code: str, message: str, node: ast.AST, fix: str = "") -> None:
        """Note a problem and go on."""
        self.problems.append(self._diagnostic(code, message, node, fix, ()))

    def _diagnostic(self, code: str, message: str, node: ast.AST, fix: str, notes: tuple[tuple[str, ast.AST], ...]) -> Diagnostic:
        return Diagnostic(code, message, self.span(node), fix, tuple((text, self.span(at)) for text, at in notes))

    # ------------------------------------------------------------ statements

    def emit(self, stmt: Stmt) -> None:
        self.out.append(stmt)

    @contextmanager
    def collecting(self) -> Generator[list[Stmt]]:
        """Statements emitted inside go to the list that this yields."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    @contextmanager
    def unreachable(self, is_dead: bool) -> Generator[None]:
        self.dead += is_dead
        try:
            yield
        finally:
            self.dead -= is_dead

    @contextmanager
    def framed(self, frame: Frame) -> Generator[None]:
        """Reads inside of another function."""
        outer, self.frame = self.frame, frame
        try:
            yield
        finally:
            self.frame = outer

    # ------------------------------------------------------------ names

    def fresh(self, wish: str) -> str:
        """A name like `wish` that the kernel does not use yet."""
        name, number = wish, 1
        while name in self.taken:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        return name

    def ir_name(self, name: str) -> str:
        """The kernel's name of a Python name of the current function."""
        names = self.frame.ir_names
        if name not in names:
            names[name] = self.fresh(name)
        return names[name]

    def declared_name(self, default: str, call: ast.Call) -> str:
        """The kernel's name for an array or accumulator: that of the variable that `call` is assigned to."""
        name = self.assigning.get(call)
        return self.fresh(default) if name is None else self.ir_name(name)

    def look_up(self, node: ast.Name) -> Operand:
        frame = self.frame
        operand = frame.scope.get(node.id)
        if operand is not None:
            if isinstance(operand, Poison):
                raise Silent
            if isinstance(operand, Unset):
                raise self.problem(
                    "MAYBE_UNASSIGNED", f"{node.id!r} {operand.reason}", node, f"Assign {node.id} on every way here."
                )
            return operand
        if node.id in frame.assigned:
            raise self.problem(
                "MAYBE_UNASSIGNED", f"{node.id!r} is read before it is assigned", node, f"Assign {node.id} on every way here."
            )
        value = frame.resolve(node.id)
        if value is MISSING:
            meant = nearest(node.id, [*frame.scope, *frame.known])
            hint = f"did you mean {meant!r}?" if meant else "it is neither assigned here nor known to the module"
            fix = f"Write {meant}." if meant else "Assign it before this line, or define it above the sketch."
            raise self.problem("UNKNOWN_NAME", f"unknown name {node.id!r}; {hint}", node, fix)
        return self.operand_of(value)

    def operand_of(self, value: object) -> Operand:
        """A Python object as an operand."""
        if isinstance(value, bool):
            return Index(IndexConst(value), is_bool=True)
        if isinstance(value, Integral):
            return Index(IndexConst(int(value)))
        if isinstance(value, Size):
            map_index(value.expr, self._note_size)
            return Index(value.expr)
        return Static(float(value)) if isinstance(value, Real) else Static(value)

    def _note_size(self, expr: IndexExpr) -> None:
        if isinstance(expr, SizeVar) and expr.name not in self.sizes:
            self.sizes.append(expr.name)

    def note_sizes(self, expr: IndexExpr) -> None:
        """Remember the run-time sizes in `expr`, in order of appearance."""
        map_index(expr, self._note_size)

    def bind(self, name: str, operand: Operand, node: ast.AST) -> None:
        """The statement `name = operand`; scalars become variables of the kernel unless they are constants assigned once."""
        frame = self.frame
        operand = self.started_as_data(name, operand)
        kind = kind_of(operand)
        is_first = name not in frame.kinds
        first = frame.kinds.setdefault(name, (kind, node))
        if first[0] == "a parameter":
            message = f"{name!r} is a parameter and cannot be assigned"
            raise self.problem("REASSIGN_KIND", message, node, "Use another name, or store to its elements.")
        if not is_first and not isinstance(operand, Index | Data):
            message = f"{name!r} is {describe(operand)} and is assigned more than once"
            raise self.problem("REASSIGN_KIND", message, node, "Use another name.", ("first assigned here", first[1]))
        if first[0] != kind:
            fix = f"Use another name, or start {name} with wl.literal(dtype, value) if it is to hold data."
            message = f"{name!r} was {first[0]} and is now assigned {kind}"
            raise self.problem("REASSIGN_KIND", message, node, fix, ("first assigned here", first[1]))
        match operand:
            case Index(expr=IndexConst()) if frame.assigned.get(name, 0) <= 1:
                frame.scope[name] = operand
            case Index(expr=expr, is_bool=is_bool):
                variable = self.ir_name(name)
                self.set_index(variable, expr, self.span(node), once=frame.assigned.get(name, 0) <= 1)
                frame.scope[name] = Index(IndexVar(variable), is_bool)
            case Data(expr=value, dtype=dtype):
                variable = self.ir_name(name)
                self.emit(SetValue(variable, dtype, value, self.span(node)))
                frame.scope[name] = Data(ValueVar(variable), dtype)
            case Group(items=items, kind=group_kind):
                kept = tuple(self.kept(item, f"{name}_{position}", node) for position, item in enumerate(items))
                frame.scope[name] = Group(kept, group_kind)
            case _:
                frame.scope[name] = operand

    def started_as_data(self, name: str, operand: Operand) -> Operand:
        """Spec only: a number that starts a name which later holds data."""
        dtype = self.frame.data_names.get(name)
        if dtype is not None and not isinstance(operand, Data):
            return as_constant(operand, dtype) or operand
        return operand

    def kept(self, operand: Operand, wish: str, node: ast.AST) -> Operand:
        """`operand` with its present value in a variable of its own, so that later assignments do not change it."""
        match operand:
            case Index(expr=IndexConst()):
                return operand
            case Index(expr=expr, is_bool=is_bool):
                variable = self.fresh(wish)
                self.set_index(variable, expr, self.span(node), once=True)
                return Index(IndexVar(variable), is_bool)
            case Data(expr=value, dtype=dtype):
                variable = self.fresh(wish)
                self.emit(SetValue(variable, dtype, value, self.span(node)))
                return Data(ValueVar(variable), dtype)
            case Group(items=items, kind=kind):
                return Group(tuple(self.kept(item, f"{wish}_{p}", node) for p, item in enumerate(items)), kind)
            case _:
                return operand

    def set_index(self, variable: str, expr: IndexExpr, span: Span, *, once: bool) -> None:
        """The statement `variable = expr`; `once`: its only assignment."""
        self.emit(SetIndex(variable, expr, span))
        if once:
            self.facts.definitions[variable] = expr

    def mark_read(self, array: Array) -> None:
        if array.name in self.params:
            self.read.add(array.name)

    def mark_written(self, array: Array) -> None:
        if array.name in self.params:
            self.written.add(array.name)


def kind_of(operand: Operand) -> str:
    """The kind that must not change when a name is reassigned."""
    match operand:
        case Index(is_bool=True):
            return "a condition"
        case Index():
            return "an index"
        case Data(dtype=dtype):
            return f"data of type {dtype}"
        case Local() | Static():
            return "a constant"
        case _:
            return describe(operand)
