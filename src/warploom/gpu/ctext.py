"""Fragments of C expressions with their precedence, and C names."""

from __future__ import annotations

import re
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

_RESERVED_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr const_cast
continue decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this thread_local
throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq threadIdx
blockIdx blockDim gridDim warpSize min max fmin fmax fminf fmaxf dim3 main floor_div floor_mod warp_mask
"""


@dataclass(frozen=True, slots=True)
class Text:
    """A C expression and the precedence of its outermost operator."""

    text: str
    level: int = PRIMARY

    def at(self, level: int) -> str:
        """The text, in parentheses where an operator of `level` needs them."""
        return self.text if self.level >= level else f"({self.text})"


def binary(op: str, lhs: Text, rhs: Text) -> Text:
    """`lhs op rhs`, left-associative."""
    level = LEVELS[op]
    if op in _CLEAR or (op in ("&&", "||") and AND in (lhs.level, rhs.level) and op == "||"):
        return Text(f"{lhs.at(UNARY)} {op} {rhs.at(UNARY)}", level)
    return Text(f"{lhs.at(level)} {op} {rhs.at(level + 1)}", level)


def unary(op: str, operand: Text) -> Text:
    return Text(f"{op}{operand.at(UNARY + 1)}", UNARY)


def cast_to(c_type: str, operand: Text) -> Text:
    return Text(f"({c_type}){operand.at(UNARY)}", UNARY)


def comment(text: str) -> str:
    """A comment of one line; what could end the line or join it with the next is shown as `?`."""
    return "// " + "".join(c if c.isprintable() and c != "\\" else "?" for c in " ".join(text.split()))


def call(name: str, *args: Text | str) -> Text:
    return Text(f"{name}({', '.join(a if isinstance(a, str) else a.text for a in args)})")


def conditional(cond: Text, then: Text, other: Text) -> Text:
    return Text(f"{cond.at(CONDITIONAL + 1)} ? {then.at(CONDITIONAL + 1)} : {other.at(CONDITIONAL)}", CONDITIONAL)


class Names:
    """C identifiers of the kernel's names: kept where legal and free, changed and numbered where not."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._used: set[str] = set(_RESERVED_WORDS.split())

    def __call__(self, name: str) -> str:
        if name not in self._given:
            self._given[name] = self.fresh(re.sub(r"\W", "_", name))
        return self._given[name]

    def fresh(self, wish: str) -> str:
        """An identifier not given yet."""
        wish = wish if wish[:1].isalpha() or wish[:1] == "_" else f"v_{wish}"
        name, number = wish, 1
        while name in self._used or name.startswith("__"):
            number += 1
            name = f"{wish.lstrip('_') or 'v'}{number if number > 1 else ''}"
        self._used.add(name)
        return name
