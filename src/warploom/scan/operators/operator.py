"""An associative operator with what turns elements into its values and its values into results, as expressions and as Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.exact import exactly
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.printing import compiled, evaluated, function, literal
from warploom.scan.operators.transition import Loop

_SIDES = (("a", "b"), ("left", "right"), ("left_value", "right_value"))


@dataclass(frozen=True, slots=True)
class Operator:
    """`projection(lift(x0) op lift(x1) op ...)` is what the loop returns; a value is a tuple of fields, or the only field."""

    loop: Loop
    fields: tuple[Expr, ...]
    """Named fields of a value; as variables they are the left operand's."""
    right: tuple[Expr, ...]
    """The right operand's."""
    lift: tuple[Expr, ...]
    """Expressions over the loop's element fields."""
    combine: tuple[Expr, ...]
    """Expressions over `fields` and `right`."""
    identity: tuple[Expr, ...]
    """Constants."""
    projection: tuple[Expr, ...]
    """Expressions over `fields`."""
    known: tuple[Expr, ...]
    """Holds of the fields of every value but the identity."""
    inner: tuple[Expr, ...] = ()
    """Where the first field says whether there are elements at all (the identity has none), `combine` of the other fields of
    two values that have some; else empty."""

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
        constants = self._constants(self.lift)
        checks = self._checks([*fields, *constants])
        if self.loop.characters:
            checks = [f"    {whole} = ord({whole})", *_ascii_only(self.loop, whole), *checks]
        return function("lift", [whole, *constants], [(whole, fields)], self.lift, first=checks)

    @property
    def whole_only(self) -> tuple[str, ...]:
        """Names of elements and constants that no annotation calls integers, where the proof may rest on their being whole."""
        exprs = [*self.lift, *self.combine, *self.projection, *self.identity]
        exprs += [e for s in self.loop.states for e in (s.step, s.initial)]
        free = [v for v in self.loop.unannotated if v in ex.variables(*exprs)]
        return () if not free or _holds_of_fractions(exprs) else tuple(str(v.value) for v in free)

    def _checks(self, names: Sequence[str]) -> list[str]:
        """Lines that refuse other numbers."""
        checked = [n for n in self.whole_only if n in names]
        why = "whole numbers only, unless the annotation of the loop says otherwise"
        return [f'    if {n} % 1 != 0:\n        raise TypeError("{n}: {why}")' for n in checked]

    def _sides(self) -> tuple[str, str]:
        """Names of the operands that clash with no constant."""
        taken = [str(c.value) for c in self.loop.constants]
        for sides in _SIDES:
            if not any(c == s or c.startswith(f"{s}_") for c in taken for s in sides):
                return sides
        return "left_operand", "right_operand"

    def operator_source(self) -> str:
        left, right = self._sides()
        renamed = self._renamed(left, self.fields) | self._renamed(right, self.right)
        unpacked = [(left, [renamed[f] for f in self.fields]), (right, [renamed[f] for f in self.right])]
        if len(self.fields) == 1:
            renamed = {self.fields[0]: left, self.right[0]: right}
        parameters = [left, right, *self._constants(self.combine)]
        checks = self._checks(parameters[2:])
        if not self.inner:
            return function("operator", parameters, unpacked, self.combine, renamed, first=checks)
        some, other = renamed[self.fields[0]], renamed[self.right[0]]
        first = [*checks, f"    if not {some}:", f"        return {right}", f"    if not {other}:", f"        return {left}"]
        return function("operator", parameters, unpacked, (ex.TRUE, *self.inner), renamed, first=first)

    def projection_source(self) -> str:
        left = self._sides()[0]
        renamed = {f: str(f.value) for f in self.fields}
        if len(self.fields) == 1:
            renamed = {self.fields[0]: left}
        return function(
            "projection",
            [left, *self._constants(self.projection)],
            [(left, list(renamed.values()))],
            self.projection,
            renamed,
            as_tuple=self.loop.is_tuple,
            first=self._checks(self._constants(self.projection)),
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
        imports = ["import math", *imports] if any(f"math.{n}(" in body for n in ("log", "sqrt")) else imports
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

        lift, operator, projection = _printed(self, is_exact)
        named = {str(c.value): v for c, v in zip(self.loop.constants, constants, strict=True)}

        def given(exprs: Sequence[Expr]) -> list[Value]:
            return [named[n] for n in self._constants(exprs)]

        def over(part: Sequence[Sequence[Value]]) -> object:
            if len(part) == 1:
                element = (chr(cast(int, part[0][0])),) if self.loop.characters else part[0]
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


@lru_cache(maxsize=4)
def _printed(operator: Operator, is_exact: bool) -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
    """`lift`, `operator` and `projection` as they are printed."""

    def made(source: str, name: str) -> Callable[..., object]:
        function = cast("Callable[..., object]", evaluated(source, name))
        return exactly(function) if is_exact else function

    return (
        made(operator.lift_source(), "lift"),
        made(operator.operator_source(), "operator"),
        made(operator.projection_source(), "projection"),
    )


def _mentions(source: str, name: str) -> bool:
    return any(f"{before}{name}" in source for before in (" ", "(", "-", "\n")) and name in source


def _holds_of_fractions(exprs: Sequence[Expr]) -> bool:
    """Whether equations of whole numbers between such expressions also hold of fractions: if all are polynomials, or if all keep
    their form when every number is multiplied by the same positive one."""
    every = ex.subexpressions(*exprs)
    if all(e.op in ("var", "const", "poly", "and", "or", "not") for e in every):
        return True
    scaled = {"var", "poly", "max", "min", "ite", "ge", "gt", "eq", "and", "or", "not", "const"}
    numbers = {e.value for e in every if e.op == "const"}
    return (
        all(e.op in scaled for e in every)
        and all(isinstance(n, bool | float) or n == 0 for n in numbers)
        and all(len(m) == 1 for e in every if e.op == "poly" for _, m in e.terms)
    )


def combined(operator: Operator) -> Callable[..., tuple[Value, ...]]:
    """The operator on flattened operands: left fields, right fields, constants; always a tuple."""
    return compiled([*operator.fields, *operator.right, *operator.loop.constants], operator.combine)


def _ascii_only(loop: Loop, whole: str) -> list[str]:
    """Lines that refuse other characters, where methods of texts are read so."""
    if ex.substituted(ex.both(*loop.assumed), {loop.fields[0]: ex.constant(128)}) is not ex.FALSE:
        return []
    return [f'    if {whole} > 127:\n        raise TypeError("{whole}: ASCII characters only")']
