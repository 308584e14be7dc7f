"""An associative operator with what turns elements into its values and its values into results, as expressions and as Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from warploom.scan import expression as ex
from warploom.scan.exact import exactly
from warploom.scan.expression import Expr, Value
from warploom.scan.printing import compiled, evaluated, function, literal
from warploom.scan.transition import Loop

LEFT, RIGHT = "a", "b"


@dataclass(frozen=True, slots=True)
class Operator:
    """`projection(lift(x0) op lift(x1) op ...)` is what the loop returns; a value is a tuple of fields, or the only field."""

    loop: Loop
    fields: tuple[Expr, ...]
    """Of a value, named; as variables they are the left operand's."""
    right: tuple[Expr, ...]
    """The right operand's."""
    lift: tuple[Expr, ...]
    """Over the loop's element fields."""
    combine: tuple[Expr, ...]
    """Over `fields` and `right`."""
    identity: tuple[Expr, ...]
    """Constants."""
    projection: tuple[Expr, ...]
    """Over `fields`."""
    known: tuple[Expr, ...]
    """Holds of the fields of every value but the identity."""
    inner: tuple[Expr, ...] = ()
    """Where the first field says whether there are elements at all (the identity has none): `combine` of two that have, of the
    other fields; else empty."""

    @property
    def is_adjoined(self) -> bool:
        """Whether the identity is no value of the family, but told apart by the first field."""
        return bool(self.inner)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(f.value) for f in self.fields)

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """Fields that are not the loop's results."""
        return tuple(str(f.value) for f in self.fields if f not in self.projection)

    def lift_source(self) -> str:
        fields = [str(f.value) for f in self.loop.fields]
        whole = fields[0] if len(fields) == 1 else "element"
        return function("lift", [whole, *self._constants(self.lift)], [(whole, fields)], self.lift)

    def operator_source(self) -> str:
        renamed = self._renamed(LEFT, self.fields) | self._renamed(RIGHT, self.right)
        unpacked = [(LEFT, [renamed[f] for f in self.fields]), (RIGHT, [renamed[f] for f in self.right])]
        if len(self.fields) == 1:
            renamed = {self.fields[0]: LEFT, self.right[0]: RIGHT}
        parameters = [LEFT, RIGHT, *self._constants(self.combine)]
        if not self.inner:
            return function("operator", parameters, unpacked, self.combine, renamed)
        some, other = renamed[self.fields[0]], renamed[self.right[0]]
        first = [f"    if not {some}:", f"        return {RIGHT}", f"    if not {other}:", f"        return {LEFT}"]
        return function("operator", parameters, unpacked, (ex.TRUE, *self.inner), renamed, first=first)

    def projection_source(self) -> str:
        renamed = {f: str(f.value) for f in self.fields}
        if len(self.fields) == 1:
            renamed = {self.fields[0]: LEFT}
        return function(
            "projection",
            [LEFT, *self._constants(self.projection)],
            [(LEFT, list(renamed.values()))],
            self.projection,
            renamed,
            as_tuple=self.loop.is_tuple,
        )

    def identity_source(self) -> str:
        parts = [literal(e.value) for e in self.identity]
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def source(self) -> str:
        """A module with `lift`, `operator`, `identity` and `projection`."""
        body = "\n\n\n".join(
            [self.lift_source(), self.operator_source(), f"identity = {self.identity_source()}", self.projection_source()]
        )
        imports = [f"from math import {n}" for n in ("exp", "gcd", "inf") if _mentions(body, n)]
        imports += ["from fractions import Fraction"] if _mentions(body, "Fraction") else []
        return "\n".join([*imports, "", "", body]) if imports else body

    def run(
        self,
        elements: Sequence[Sequence[Value]],
        bracket: Callable[[int], int],
        constants: Sequence[Value] = (),
        *,
        is_exact: bool = False,
    ) -> object:
        """The loop's result by the printed functions; `bracket(n)` says where a list of n > 1 elements is cut.

        `is_exact`: their decimal numbers are meant exactly, as `exact` has it, not as floats.
        """

        def printed(source: str, name: str) -> Callable[..., object]:
            made = cast("Callable[..., object]", evaluated(source, name))
            return exactly(made) if is_exact else made

        lift = printed(self.lift_source(), "lift")
        operator = printed(self.operator_source(), "operator")
        projection = printed(self.projection_source(), "projection")
        named = {str(c.value): v for c, v in zip(self.loop.constants, constants, strict=True)}

        def given(exprs: Sequence[Expr]) -> list[Value]:
            return [named[n] for n in self._constants(exprs)]

        def over(part: Sequence[Sequence[Value]]) -> object:
            if len(part) == 1:
                element = part[0]
                return lift(element[0] if len(element) == 1 else tuple(element), *given(self.lift))
            cut = bracket(len(part))
            return operator(over(part[:cut]), over(part[cut:]), *given(self.combine))

        if not elements:
            neutral = tuple(e.value for e in self.identity)
            return projection(neutral[0] if len(neutral) == 1 else neutral, *given(self.projection))
        return projection(over(elements), *given(self.projection))

    def _constants(self, exprs: Sequence[Expr]) -> list[str]:
        used = ex.variables(*exprs)
        return [str(c.value) for c in self.loop.constants if c in used]

    def _renamed(self, side: str, fields: Sequence[Expr]) -> dict[Expr, str]:
        return {f: f"{side}_{n}" for f, n in zip(fields, self.names, strict=True)}


def _mentions(source: str, name: str) -> bool:
    return any(f"{before}{name}" in source for before in (" ", "(", "-", "\n")) and name in source


def combined(operator: Operator) -> Callable[..., tuple[Value, ...]]:
    """The operator on flattened operands: left fields, right fields, constants; always a tuple."""
    return compiled([*operator.fields, *operator.right, *operator.loop.constants], operator.combine)
