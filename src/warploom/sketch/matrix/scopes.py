"""Names of a function and where they hold: C's blocks have names of their own, the Python that is made of them has not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import assert_never

from warploom.core.tokens import wrong
from warploom.sketch.matrix.serial import parts_of, statements
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
    Return,
    Select,
    Statement,
    Unary,
)


def check_scopes(function: Function, known: Collection[str], *, is_spec: bool) -> None:
    """Raises UserError where a name of an outer block is declared again, where one is used outside its block, where a loop's
    index or bound is assigned, and where a specification writes its argument.

    known: names that functions do not declare again.
    """
    _Scopes(function, known, is_spec=is_spec).check()


class _Scopes:
    def __init__(self, function: Function, known: Collection[str], *, is_spec: bool) -> None:
        self._function = function
        self._known = set(known)
        self._is_spec = is_spec
        self._indices: set[str] = set()
        self._ended: set[str] = set()
        """Names of blocks that have ended."""

    def check(self) -> None:
        self._block(self._function.body, {p.name.text for p in self._function.parameters})

    def _block(self, body: Sequence[Statement], outer: set[str]) -> None:
        names = set(outer)
        for statement in body:
            match statement:
                case Declared(name=name, extents=extents, value=value):
                    self._values([*(e for e in extents if e is not None), *([] if value is None else [value])])
                    self._new(name, names)
                case Assign(target=target, value=value):
                    self._values([target, value])
                    self._assigned(target, names)
                case Accumulate(target=target, operands=operands, when=when):
                    self._values([target, *operands, *([] if when is None else [when])])
                case Return(value=value):
                    self._values([value])
                case If(test=test, body=inner, other=other):
                    self._values([test])
                    self._block(inner, names)
                    self._block(other, names)
                case For(index=index, start=start, stop=stop, step=step, body=inner):
                    self._values([start, stop, step])
                    _check_kept(inner, (stop, step))
                    within = set(names)
                    self._new(index, within)
                    self._indices.add(index.text)
                    self._block(inner, within)
                    self._indices.discard(index.text)
                    self._ended.add(index.text)
                case _:
                    assert_never(statement)
        self._ended |= names - outer

    def _new(self, name: Name, names: set[str]) -> None:
        if name.text in names or name.text in self._known:
            raise wrong(name.span, f"expected a new name, got {name.text} again", "Rename it: blocks share their names here.")
        names.add(name.text)
        self._ended.discard(name.text)

    def _assigned(self, target: Expr, names: set[str]) -> None:
        match target:
            case Name(text=text) if text not in names:
                raise wrong(target.span, f"expected a variable that is declared, got {text}", f"Declare it: float {text} = ...;")
            case Name(text=text) if text in self._indices:
                raise wrong(
                    target.span, f"expected {text} to be changed by its loop alone, got an assignment", "Use another name."
                )
            case Element(matrix=matrix) if self._is_spec and matrix.text in {p.name.text for p in self._function.parameters}:
                message = f"expected a specification that leaves its argument {matrix.text} as it is, got an assignment"
                raise wrong(target.span, message, "Declare a matrix for the result: float out[n];")
            case _:
                pass

    def _values(self, values: Sequence[Expr]) -> None:
        for value in values:
            match value:
                case Name(text=text):
                    if text in self._ended:
                        raise wrong(value.span, f"expected a name of this block, got {text} of one that has ended", "Declare it.")
                case Number():
                    pass
                case Unary(operand=operand):
                    self._values([operand])
                case Binary(left=left, right=right):
                    self._values([left, right])
                case Select(test=test, then=then, other=other):
                    self._values([test, then, other])
                case Element(matrix=matrix, indices=indices):
                    self._values([matrix, *indices])
                case Hole(arguments=arguments) | Call(arguments=arguments):
                    self._values(arguments)
                case Items(parts=parts):
                    self._values(parts)
                case _:
                    assert_never(value)


def _check_kept(body: Sequence[Statement], read: Sequence[Expr]) -> None:
    """Raises UserError where a loop changes its own bound, which C reads again before each iteration and Python reads once."""
    names = {p.text for e in read for p in parts_of(e) if isinstance(p, Name)}
    names |= {p.matrix.text for e in read for p in parts_of(e) if isinstance(p, Element)}
    for statement in statements(body):
        if not isinstance(statement, Assign | Accumulate):
            continue
        target = statement.target
        name = target.matrix if isinstance(target, Element) else target
        if isinstance(name, Name) and name.text in names:
            message = f"expected the bounds of a loop to stay as they are, got an assignment to {name.text}"
            raise wrong(name.span, message, "Copy the bound before the loop.")
