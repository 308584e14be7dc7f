"""Sizes that are quotients of sizes, `"k // 32"` and `"(n + 3) // 4"`: atoms of polynomials, by their text.

Other packages see polynomials of sizes only; where they put values in, `Sizes` gives an atom's, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction

from warploom.core import polynomials
from warploom.core.polynomials import Polynomial


class Sizes(dict[str, int]):
    """Values of sizes by name, and of quotients of these by their text. KeyError for other names."""

    def __missing__(self, atom: str) -> int:
        if not _is_quotient(atom):
            raise KeyError(atom)
        return self._value(ast.parse(atom, mode="eval").body)

    def _value(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name):
                return self[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                first, second = self._value(left), self._value(right)
                match op:
                    case ast.Add():
                        return first + second
                    case ast.Sub():
                        return first - second
                    case ast.Mult():
                        return first * second
                    case ast.FloorDiv():
                        return first // second
                    case _:
                        pass
            case _:
                pass
        raise KeyError(ast.unparse(node))


def quotient(numerator: Polynomial, divisor: int) -> Polynomial:
    """`numerator // divisor` as Python has it; the divisor is above 0, the coefficients are whole."""
    if all(c % divisor == 0 for _, c in numerator.terms):
        return numerator.scaled(Fraction(1, divisor))
    if numerator.is_constant:
        return polynomials.number(int(numerator.constant) // divisor)
    text = str(numerator)
    return polynomials.size(f"({f'({text})' if ' ' in text else text} // {divisor})")


def rounds(name: str, per: int) -> Polynomial:
    """A size over a number, rounded up."""
    return quotient(polynomials.size(name).plus(polynomials.number(per - 1)), per)


def rounds_of(count: Polynomial) -> tuple[str, int] | None:
    """The size and the number of which `rounds` makes this count; None for others."""
    if len(count.names) != 1 or not _is_quotient(count.names[0]):
        return None
    match ast.parse(count.names[0], mode="eval").body:
        case ast.BinOp(left=ast.BinOp(left=ast.Name(id=name)), right=ast.Constant(value=int(per))) if count == rounds(name, per):
            return name, per
        case _:
            return None


def names_of(size: Polynomial) -> tuple[str, ...]:
    """Names of the sizes on which the value depends, those inside of quotients among them, in order of appearance."""
    return tuple(dict.fromkeys(name for atom in size.names for name in _names(atom)))


def is_quotient(size: Polynomial) -> bool:
    """Whether a quotient is among its atoms."""
    return any(map(_is_quotient, size.names))


def _is_quotient(atom: str) -> bool:
    return atom.startswith("(")


def _names(atom: str) -> Iterator[str]:
    if not _is_quotient(atom):
        yield atom
        return
    for node in ast.walk(ast.parse(atom, mode="eval")):
        if isinstance(node, ast.Name):
            yield node.id
