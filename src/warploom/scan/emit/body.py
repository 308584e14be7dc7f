"""An operator made ready for a language: machine types, names that are free there, statements of its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warploom.scan.emit.dialect import Dialect, Scalar, Types
from warploom.scan.emit.names import free_name
from warploom.scan.emit.printer import Ends, Printer, ends_of, repeated, scalar_of
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.operator import Operator


@dataclass(frozen=True, slots=True)
class Slot:
    """A named number."""

    name: str
    scalar: Scalar
    expr: Expr | None = None
    """The variable, where it is one."""
    before: str = ""
    """For an element without an array of its own: the name of the number that it repeats from the previous element (the first
    element takes its own)."""


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements of one function: named temporaries in order, then a text for every result."""

    temporaries: tuple[tuple[Scalar, str, str], ...]
    """Type, name, text."""
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """An operator as printers of whole programs need it."""

    operator: Operator
    dialect: Dialect
    types: Types
    fields: tuple[Slot, ...]
    elements: tuple[Slot, ...]
    constants: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    infinite: Mapping[Expr, Ends]
    """Fields of both operands that may be infinite."""

    @property
    def arrays(self) -> tuple[Slot, ...]:
        """The numbers of an element that are read from arrays of their own."""
        return tuple(s for s in self.elements if not s.before)

    def lift(self, element: str = "{}") -> Statements:
        """Lift over the elements' names, written as `element` says."""
        names = {s.expr: element.format(s.name) for s in self.elements if s.expr is not None}
        return self._statements(self.operator.lift, names, self.fields)

    def combine(self, left: str = "a.{}", right: str = "b.{}") -> Statements:
        names: dict[Expr, str] = {}
        for side, fields in ((left, self.operator.fields), (right, self.operator.right)):
            names |= {f: side.format(s.name) for s, f in zip(self.fields, fields, strict=True)}
        return self._statements(self.operator.combine, names, self.fields)

    def project(self, value: str = "a.{}") -> Statements:
        names = {f: value.format(s.name) for s, f in zip(self.fields, self.operator.fields, strict=True)}
        return self._statements(self.operator.projection, names, self.outputs)

    def identity(self) -> tuple[str, ...]:
        printer = Printer(self.dialect, self.types, {}, {})
        return tuple(printer.constant(e.value, s.scalar) for e, s in zip(self.operator.identity, self.fields, strict=True))

    def uses_constants(self, exprs: Sequence[Expr]) -> bool:
        return any(c.expr in exprs for c in self.constants)

    def may_be_infinite(self, slot: Slot) -> bool:
        return any(self.infinite.get(f, (False, False)) != (False, False) for f in self.operator.fields if f is slot.expr)

    def _statements(self, results: Sequence[Expr], names: Mapping[Expr, str], slots: Sequence[Slot]) -> Statements:
        known = {**names, **{c.expr: c.name for c in self.constants if c.expr is not None}}
        printer = Printer(self.dialect, self.types, known, self.infinite)
        taken = {*known.values(), *(s.name for s in (*self.fields, *self.elements, *self.constants, *self.outputs))}
        temporaries: list[tuple[Scalar, str, str]] = []
        number = 0
        for expr in repeated(results):
            number += 1
            while f"t{number}" in taken:
                number += 1
            temporaries.append((printer.scalar(expr), f"t{number}", printer.text(expr)))
            printer.named(expr, f"t{number}")
        texts = tuple(printer.text(r, wanted=s.scalar) for r, s in zip(results, slots, strict=True))
        return Statements(tuple(temporaries), texts)


def body(operator: Operator, dialect: Dialect, types: Types) -> Body:
    loop = operator.loop
    taken: set[str] = set()
    fields = tuple(_slot(f, taken, types) for f in operator.fields)
    taken_outside: set[str] = set()
    elements = tuple(_slot(f, taken_outside, types) for f in loop.fields)
    constants = tuple(_slot(c, taken_outside, types) for c in loop.constants)
    outputs: list[Slot] = []
    names = set(taken_outside)
    for number, result in enumerate(operator.projection):
        name = f"{result.value}" if result.op == "var" else "answer" if len(operator.projection) == 1 else f"answer{number}"
        outputs.append(Slot(free_name(name, names), scalar_of(result.sort, types), result if result.op == "var" else None))
    return Body(operator, dialect, types, fields, elements, constants, tuple(outputs), _infinite(operator))


def _infinite(operator: Operator) -> dict[Expr, Ends]:
    """Starting from what elements and the identity are, until combining adds nothing."""
    known: dict[Expr, Ends] = {}
    for f in operator.loop.fields:
        known[f] = (f.sort.below, f.sort.above)
    for field, lifted, neutral in zip(operator.fields, operator.lift, operator.identity, strict=True):
        one, other = ends_of(lifted, known, {}), ends_of(neutral, {}, {})
        known[field] = (one[0] or other[0] or field.sort.below, one[1] or other[1] or field.sort.above)
    while True:
        sides = dict(known)
        sides |= {r: known[f] for f, r in zip(operator.fields, operator.right, strict=True)}
        memory: dict[Expr, Ends] = {}
        found = {f: ends_of(c, sides, memory) for f, c in zip(operator.fields, operator.combine, strict=True)}
        wider = {f: (e[0] or known[f][0], e[1] or known[f][1]) for f, e in found.items()}
        if all(known[f] == e for f, e in wider.items()):
            return sides
        known |= wider


def _slot(variable: Expr, taken: set[str], types: Types) -> Slot:
    return Slot(free_name(str(variable.value), taken), scalar_of(variable.sort, types), variable)
