"""Sums of scaled terms, as offsets and limits are: `m * 1024 + k - 3`."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.ctext.expressions import ADDITIVE, MULTIPLICATIVE, PRIMARY, UNARY, Text
from warploom.ctext.numbers import decimal


def product(left: Text, right: Text, *, tight: bool = False) -> Text:
    """`left * right`; `tight`: `left*right`."""
    return Text(f"{left.at(MULTIPLICATIVE)}{'*' if tight else ' * '}{right.at(UNARY)}", MULTIPLICATIVE)


def scaled(factor: int, term: Text, *, tight: bool = False) -> Text:
    """`term * factor` for a positive factor, or the term."""
    return term if factor == 1 else product(term, decimal(factor), tight=tight)


def total(terms: Iterable[tuple[int, Text]], constant: int = 0, *, tight: bool = False) -> Text:
    """The sum of the terms times their factors (not 0), in order, then the constant; `0` where there is nothing.

    Sums among the terms are joined without parentheses: these are offsets and pointers, which may be regrouped.
    """
    found: Text | None = None
    for factor, term in terms:
        product = scaled(abs(factor), term, tight=tight)
        if found is not None:
            found = Text(
                f"{found.at(ADDITIVE)} {'-' if factor < 0 else '+'} {product.at(ADDITIVE if factor == 1 else MULTIPLICATIVE)}",
                ADDITIVE,
            )
        elif factor < 0:
            negative = Text(f"-{term.at(PRIMARY)}", UNARY)
            found = scaled(abs(factor), negative, tight=tight)
        else:
            found = product
    return decimal(constant) if found is None else plus(found, constant)


def added(*parts: Text) -> Text:
    """`a + b + c`, regrouped as in `total`."""
    return total((1, part) for part in parts)


def plus(text: Text, constant: int) -> Text:
    """`text + 3`, `text - 3`, or `text`."""
    if not constant:
        return text
    return Text(f"{text.at(ADDITIVE)} {'-' if constant < 0 else '+'} {decimal(abs(constant)).text}", ADDITIVE)
