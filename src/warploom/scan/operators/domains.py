"""The domain of a proof, in words."""

from __future__ import annotations

from collections.abc import Collection

from warploom.scan.operators.expression import Base

_NAMES: dict[Base, str] = {"real": "reals", "int": "integers", "text": "texts", "bool": "truth values"}


def numbers_of(bases: Collection[Base]) -> str:
    """The widest of several sorts."""
    return next((text for base, text in _NAMES.items() if base in bases), "integers")


def told(numbers: str, rounds: bool, may_divide_by_zero: bool) -> str:
    """Words for the numbers of a claim, and for where Python's arithmetic is that of the proof."""
    exact = f"{numbers}, integers exact up to 2**53 where they become floats" if rounds else numbers
    return f"{exact}, where no divisor is 0" if may_divide_by_zero else exact
