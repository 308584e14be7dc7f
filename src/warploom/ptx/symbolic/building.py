"""The interface with which rewrites of canonical terms build terms; `Algebra` is its one implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.term import Term, TermTable


@dataclass(frozen=True, slots=True)
class Assumption:
    """The option `assume_nsw` took a sum or product not to wrap when read as signed."""

    term: Term


class Building(Protocol):
    """See `Algebra`, which documents each of these."""

    table: TermTable
    facts: Facts
    assume_nsw: bool
    assumptions: dict[Assumption, None]

    def const(self, value: int, width: int) -> Term: ...
    def sum_of(self, width: int, constant: int, parts: Mapping[Term, int]) -> Term: ...
    def add(self, x: Term, y: Term, factor: int = 1) -> Term: ...
    def mul(self, x: Term, y: Term) -> Term: ...
    def trunc(self, x: Term, width: int) -> Term: ...
    def high(self, x: Term, cut: int) -> Term: ...
    def extended(self, x: Term, width: int, *, is_signed: bool) -> Term: ...
    def resized(self, x: Term, width: int, *, is_signed: bool) -> Term: ...
