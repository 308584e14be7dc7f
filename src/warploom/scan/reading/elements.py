"""The header of a loop: the lists that it reads, and variables for their elements and for the constants of the call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import INT, Expr, Sort
from warploom.scan.operators.printing import RESERVED
from warploom.scan.reading.arrays import Arrays
from warploom.scan.reading.interpret import Interpreter
from warploom.scan.reading.source import MISSING, Function
from warploom.scan.reading.texts import is_asked_for_codes
from warploom.scan.reading.types import SERVED, Shape, item_of, shape_of, written
from warploom.scan.reading.values import Character, Value, bare, flat, is_float


@dataclass(frozen=True, slots=True)
class Header:
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
    """Value of the index at the first element."""
    is_indexed: bool = False
    """True if elements are read by position."""
    begins: int = 0
    """The element with which the loop begins."""


class Elements:
    """Reads what a function loops over, and gives names to what one iteration binds."""

    def __init__(self, function: Function, taken: Iterable[str], own: Iterable[str] = ()) -> None:
        """`taken` are names that nothing new may have, `own` names that the loop gives to elements alone."""
        self._function = function
        self._module = function.module
        self._arguments = function.parameters
        self._arrays = Arrays(function)
        self._own = {*function.locals, *own}
        self._taken = {*function.locals, *RESERVED, *taken}
        """Names that the reader gives to nothing else."""
        self._unannotated: list[Expr] = []
        self._by_codes = is_asked_for_codes(function)
        self._characters = False
        """True if elements are characters by their codes."""
        self._earlier: set[str] = set()
        """Names that have a value before the loop."""

    def _free(self, name: str) -> str:
        """A name that nothing else has."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _header(self, loop: ast.For) -> Header:
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
                return Header(tuple(lists), {}, elements, fields, (), loop.target.id, is_indexed=True, begins=begins)
            case _:
                return self._bad_iterator(loop)

    def _bad_iterator(self, loop: ast.For) -> Header:
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

    def _over(self, loop: ast.For, lists: list[str], target: ast.expr) -> Header:
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
        return Header(tuple(lists), bindings, elements, tuple(fields), tuple(bindings))

    def _element(self, name: str, target: ast.expr | None = None) -> Value:
        """Variables for one element of the list `name`, called as the loop calls them."""
        hint = self._function.annotation(name)
        is_list, item = (True, None) if hint is MISSING else item_of(hint)
        if not is_list:
            self._bad_type(name, hint, f"list[...] of {SERVED}")
        if hint is str and self._by_codes:
            called = target.id if isinstance(target, ast.Name) else f"{name}_item"
            one = self._variable(called, INT)
            assert isinstance(one, Expr)
            self._characters = True
            return Character(one)
        shape = self._shape(name, item)
        called = target.id if isinstance(target, ast.Name) else f"{name}_item"
        if isinstance(target, ast.Tuple):
            parts = shape if isinstance(shape, tuple) else tuple(None for _ in target.elts)
            if len(parts) != len(target.elts) or isinstance(shape, Sort):
                self._module.wrong(target, "SHAPE", f"expected {len(parts)} variables", "Match the annotation.")
            named = [t.id if isinstance(t, ast.Name) else f"{name}_{n}" for n, t in enumerate(target.elts)]
            return tuple(self._variable(n, p) for n, p in zip(named, parts, strict=True))
        if shape is None and (parts := _parts_read(self._function.node, name)):
            return tuple(self._variable(f"{called}_{n}", None) for n in range(parts))
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
        own = name in self._own and name not in RESERVED and name not in self._earlier
        found = ex.variable(name if own else self._free(name), shape or INT)
        self._earlier.add(name)
        if shape is None:
            self._unannotated.append(found)
        return found

    def _constants(self, lists: tuple[str, ...]) -> dict[str, Expr]:
        found: dict[str, Expr] = {}
        for name, node in self._arguments.items():
            if name in RESERVED:
                self._module.unsupported(node, f"expected a parameter that is not called {name}", "Rename it.")
            if name not in lists:
                hint = self._function.annotation(name)
                default = type(self._function.defaults().get(name)) if hint is MISSING else None
                shape = shape_of(default) if default in (bool, float) else self._shape(name, hint)
                if isinstance(shape, tuple):
                    self._bad_type(name, hint, "one number, truth value or text")
                found[name] = ex.variable(name, shape or INT)
                if shape is None:
                    self._unannotated.append(found[name])
        return found


def _parts_read(node: ast.FunctionDef, name: str) -> int:
    """Number of parts that elements of the list are taken apart into where they are read by position; 0: not taken apart."""
    found = 0
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Subscript(value=ast.Name(id=used))) if used == name:
                found = max(found, len(targets))
            case ast.Subscript(value=ast.Subscript(ast.Name(id=used), place), slice=ast.Constant(value=int() as n)) if (
                used == name
            ):
                found = max(found, 0 if isinstance(place, ast.Slice) else n + 1)
            case _:
                pass
    return found
