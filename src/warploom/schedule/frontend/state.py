"""State of the reader of one tensor function: names, the stage so far, problems."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from warploom.core import BY_NAME, SCALARS, Diagnostic, DType, Span, to_numpy
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Parameter
from warploom.schedule.frontend.tree import ArrayParameter, Definition, Places, Stage
from warploom.sketch import MISSING, Source, Written


class Problem(Exception):  # noqa: N818 (caught at the statement; never leaves the reader)
    """A diagnostic that ends the reading of one statement."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Silent(Exception):  # noqa: N818
    """Ends the reading of a statement that uses the result of a wrong one."""


@dataclass(slots=True)
class State:
    written: Written
    around: Mapping[str, object]
    """Local variables where the function is defined."""
    arrays: dict[str, ArrayParameter] = field(default_factory=dict[str, ArrayParameter])
    olds: dict[str, ArrayParameter] = field(default_factory=dict[str, ArrayParameter])
    """By the name of an array that is read and written: the array that has its contents from before."""
    scalars: dict[str, Parameter] = field(default_factory=dict[str, Parameter])
    sizes: dict[str, Span] = field(default_factory=dict[str, Span])
    """Sizes in order of appearance."""
    declared: dict[str, tuple[Polynomial, Span]] = field(default_factory=dict[str, tuple[Polynomial, Span]])
    """Ranges of indices said by `k: range(...)`."""
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    """All values that can be read, in the order of the text."""
    open: set[str] = field(default_factory=set[str])
    """Values defined since the last store."""
    used: set[str] = field(default_factory=set[str])
    """Values that something reads."""
    outdated: dict[str, str] = field(default_factory=dict[str, str])
    """Values made of one whose name means another value now -> that name."""
    summed: dict[str, dict[str, Polynomial]] = field(default_factory=dict[str, dict[str, Polynomial]])
    """By value that a stage made: the ranges of the indices over which it is reduced."""
    places: dict[Places, None] = field(default_factory=dict[Places, None])
    """Arrays whose elements must be places of others."""
    stored: dict[str, Span] = field(default_factory=dict[str, Span])
    poisoned: set[str] = field(default_factory=set[str])
    """Names whose definition or annotation is wrong."""
    quotients: dict[str, None] = field(default_factory=dict[str, None])
    """Quotients of sizes that stand in indices, as atoms of polynomials."""
    size_values: list[tuple[str, ast.AST]] = field(default_factory=list[tuple[str, ast.AST]])
    """Sizes that the assignment being read uses as numbers."""
    padded: dict[str, tuple[ast.expr, int | float]] = field(default_factory=dict[str, tuple[ast.expr, int | float]])
    """Names of padded arrays, `P = pad(X, 0)`: the array, and what stands outside of it."""
    indices: frozenset[str] = frozenset()
    """Names that stand inside of brackets somewhere in the function."""
    bound_indices: frozenset[str] = frozenset()
    """Names that the function itself makes indices: of what it stores, `over=`, `k: range(...)`."""
    own_indices: frozenset[str] = frozenset()
    """The indices above, and names that stand alone between brackets."""
    target: str = ""
    """Name that the statement being read assigns."""
    storing: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """All names that it assigns, and their indices."""
    old_reads: set[str] = field(default_factory=set[str])
    """Arrays whose contents from before are read."""
    stages: list[Stage] = field(default_factory=list[Stage])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def source(self) -> Source:
        return self.written.source

    def span(self, node: ast.AST) -> Span:
        return self.source.span(node)

    def problem(self, code: str, message: str, node: ast.AST, fix: str, *notes: tuple[str, Span]) -> Problem:
        """An exception to raise: it ends the reading of the statement."""
        return Problem(Diagnostic(code, message, self.span(node), fix, notes))

    def ambiguous(self, name: str, node: ast.AST) -> Problem:
        """A name that is a size and an index, as a number."""
        message = f"{name!r} is a size and an index here; as a number it could mean either"
        return self.problem("AMBIGUOUS", message, node, "Name the index differently from the size.")

    def check_sizes(self, indices: Container[str], first: int = 0) -> None:
        """Refuses a size used as a number, from the `first` of these on, whose name is an index there."""
        for name, place in self.size_values[first:]:
            if name in indices:
                raise self.ambiguous(name, place)

    def unknown(
        self,
        name: str,
        node: ast.AST,
        known: Iterable[str],
        what: str = "name",
        fix: str = "Declare it as a parameter, or define it.",
    ) -> Problem:
        close = difflib.get_close_matches(name, list(known), 1)
        message = f"unknown {what} {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")
        return self.problem("UNKNOWN_NAME", message, node, f"Write {close[0]}." if close else fix)

    def resolve(self, node: ast.AST) -> object:
        """The Python object that a name or a dotted name is bound to outside of the function; MISSING if none."""
        match node:
            case ast.Name(id=name):
                return self.around.get(name, self.written.resolve(name))
            case ast.Attribute(value=value, attr=attribute):
                holder = self.resolve(value)
                return MISSING if holder is MISSING else getattr(holder, attribute, MISSING)
            case _:
                return MISSING

    def dtype(self, node: ast.AST) -> DType | None:
        """The element type that `node` names, NumPy's scalar types among them."""
        found = self.resolve(node)
        if isinstance(found, type) and issubclass(found, np.number):
            return next((t for t in SCALARS if not t.is_held and to_numpy(t) == np.dtype(cast(Any, found))), None)
        if found is MISSING and isinstance(node, ast.Name):
            found = BY_NAME.get(node.id, MISSING)
        return found if isinstance(found, DType) and found.lanes == 1 else None
