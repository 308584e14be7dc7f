"""Terms as short readable text: `w[0] * x[3] + w[1] * x[4] + ... (30 more)`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

_COMPONENTS = "xyzw"
_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "neg": 7, "~": 7}
_ATOM_PRECEDENCE = 9
_CHAINS = frozenset({"+", "*", "&", "|", "^", "min", "max"})
_DEEPEST = 24


class Shown(Protocol):
    """The part of a `Term` that is read here."""

    @property
    def op(self) -> str: ...
    @property
    def args(self) -> tuple[Shown, ...]: ...
    @property
    def data(self) -> tuple[Any, ...]: ...


def term_text(term: Shown, most_items: int = 12, of_form: Callable[[Any], str] = str) -> str:
    """`term` in Python's syntax with few parentheses; chains longer than `most_items` and deep nesting are cut with `...`.

    of_form: text of a canonical form in it.
    """
    return _Text(most_items, of_form).of(term, 0)[0]


def element_text(array: str, index: tuple[Any, ...]) -> str:
    return f"{array}[{', '.join(str(i) for i in index)}]" if index else array


def number_text(value: int | float | Fraction) -> str:
    return str(value) if isinstance(value, Fraction) else repr(value)


class _Text:
    def __init__(self, most: int, of_form: Callable[[Any], str]) -> None:
        self._most, self._of_form = most, of_form

    def of(self, term: Shown, depth: int) -> tuple[str, int]:
        """Text and the precedence of its outermost operator."""
        op = term.op
        if op == "atom":
            return element_text(term.data[0], term.data[1]), _ATOM_PRECEDENCE
        if op == "constant":
            value = term.data[0]
            tight = not isinstance(value, Fraction) and value >= 0
            return number_text(value), _ATOM_PRECEDENCE if tight else 0
        if op == "form":
            return self._of_form(term.data[0]), 0
        if depth > _DEEPEST:
            return "...", _ATOM_PRECEDENCE
        if op == "component":
            text, level = self.of(term.args[0], depth + 1)
            inner = text if level == _ATOM_PRECEDENCE else f"({text})"
            return f"{inner}.{_COMPONENTS[term.data[0]]}", _ATOM_PRECEDENCE
        level = _PRECEDENCE.get(op, 0)
        if op in ("neg", "~"):
            text, inner = self.of(term.args[0], depth + 1)
            return ("-" if op == "neg" else "~") + (text if inner > level else f"({text})"), level
        if level and len(term.args) == 2 and op not in _CHAINS:
            left, left_level = self.of(term.args[0], depth + 1)
            right, right_level = self.of(term.args[1], depth + 1)
            left = left if left_level >= level else f"({left})"
            right = right if right_level > level else f"({right})"
            return f"{left} {op} {right}", level
        parts = _chain(term) if op in _CHAINS else list(term.args)
        cut = len(parts) - self._most
        shown = parts[: self._most] if cut > 0 else parts
        texts = [self.of(p, depth + 1) for p in shown]
        if op in _PRECEDENCE:
            words = [t if inner >= level else f"({t})" for t, inner in texts]
            return f" {op} ".join(words) + (f" {op} ... ({cut} more)" if cut > 0 else ""), level
        inside = ", ".join(t for t, _ in texts) + (f", ... ({cut} more)" if cut > 0 else "")
        return f"{op}({inside})", _ATOM_PRECEDENCE


def _chain(term: Shown) -> list[Shown]:
    """Operands of nested applications of one associative operator, from the left."""
    parts: list[Shown] = []
    stack = [term]
    while stack:
        t = stack.pop()
        if t.op == term.op:
            stack.extend(reversed(t.args))
        else:
            parts.append(t)
    return parts
