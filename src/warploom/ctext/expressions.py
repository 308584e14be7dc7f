"""Expressions of C: a text and how tightly its outermost operator binds, from which parentheses follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PRIMARY, UNARY, MULTIPLICATIVE, ADDITIVE, SHIFT, RELATIONAL, EQUALITY, BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITIONAL = range(
    15, 2, -1
)

LEVELS: dict[str, int] = {
    "*": MULTIPLICATIVE, "/": MULTIPLICATIVE, "%": MULTIPLICATIVE, "+": ADDITIVE, "-": ADDITIVE, "<<": SHIFT, ">>": SHIFT,
    "<": RELATIONAL, "<=": RELATIONAL, ">": RELATIONAL, ">=": RELATIONAL, "==": EQUALITY, "!=": EQUALITY,
    "&": BIT_AND, "^": BIT_XOR, "|": BIT_OR, "&&": AND, "||": OR,
}  # fmt: skip

_CLEAR = {"&", "^", "|", "<<", ">>"}
"""Operators whose binary operands are always parenthesised: nobody knows their precedence by heart."""


@dataclass(frozen=True, slots=True)
class Text:
    """An expression of C and the precedence of its outermost operator."""

    text: str
    level: int = PRIMARY
    value: int | None = None
    """The value of an integer literal; None for all else."""

    def at(self, level: int) -> str:
        """The text, in parentheses where an operator of `level` needs them."""
        return self.text if self.level >= level else f"({self.text})"


def binary(op: str, lhs: Text, rhs: Text, *, inner: int = 0) -> Text:
    """`lhs op rhs`, left-associative. Operands that bind less tightly than `inner` get parentheses though C would do without."""
    level = LEVELS[op]
    if op in _CLEAR or (op == "||" and AND in (lhs.level, rhs.level)):
        inner = max(inner, UNARY)
    return Text(f"{lhs.at(max(level, inner))} {op} {rhs.at(max(level + 1, inner))}", level)


def chain(op: str, parts: Sequence[Text]) -> Text:
    """`a | b | c` of at least one part, grouped from the left."""
    if len(parts) == 1:
        return parts[0]
    level = LEVELS[op]
    clear = op in _CLEAR or (op == "||" and any(p.level == AND for p in parts))
    inner = UNARY if clear else level + 1
    first = parts[0].at(inner if clear else level)
    return Text(f" {op} ".join([first, *(p.at(inner) for p in parts[1:])]), level)


def every(tests: Sequence[Text]) -> Text:
    """`a && b && c` of at least one test."""
    return chain("&&", tests)


def unary(op: str, operand: Text) -> Text:
    """`-x`, `!x`, `~x`, `*x`; two signs never meet."""
    return Text(f"{op}{operand.at(UNARY + 1)}", UNARY)


def cast_to(c_type: str, operand: Text) -> Text:
    """`(float)x`."""
    return Text(f"({c_type}){operand.at(UNARY)}", UNARY)


def static_cast(c_type: str, operand: Text) -> Text:
    """`static_cast<float>(x)` of C++."""
    return Text(f"static_cast<{c_type}>({operand.text})")


def reinterpret_cast(c_type: str, operand: Text) -> Text:
    """`reinterpret_cast<const float4*>(p)` of C++."""
    return Text(f"reinterpret_cast<{c_type}>({operand.text})")


def call(name: str, *args: Text | str) -> Text:
    return Text(f"{name}({', '.join(a if isinstance(a, str) else a.text for a in args)})")


def element(array: Text, *indices: Text) -> Text:
    """`array[i][j]`."""
    return Text(array.at(PRIMARY) + "".join(f"[{i.text}]" for i in indices))


def member(value: Text, name: str) -> Text:
    """`value.name`."""
    return Text(f"{value.at(PRIMARY)}.{name}")


def conditional(cond: Text, then: Text, other: Text) -> Text:
    """`cond ? then : other`, with parentheses around a conditional anywhere but at the end."""
    return Text(f"{cond.at(CONDITIONAL + 1)} ? {then.at(CONDITIONAL + 1)} : {other.at(CONDITIONAL)}", CONDITIONAL)
