"""Interned bit-vector terms.

term      := const | sum | atom                                  every term has a width in bits; arithmetic is modulo 2^width
sum       := constant + sum of coefficient * atom                at least two summands, or one whose coefficient is not 1
atom      := special(name) | parameter(name, offset) | address(variable) | counter(loop) | loop(loop, register) | opaque(name)
           | load(address, counters...) | other(term)
           | product(factors) | zext(x) | sext(x) | trunc(x) | high(x)         high(x): x without its lowest `data[0]` bits
           | and(x, y) | or(x, y) | xor(x, y) | shl(x, y) | lshr(x, y) | ashr(x, y)
           | udiv(x, y) | sdiv(x, y) | select(condition, x, y) | eq(x) | ult(x, y) | slt(x, y)
           | umin(x, y) | umax(x, y) | smin(x, y) | smax(x, y) | function(arguments)

A product of one factor is a box around it. `eq(x)` says x = 0. A predicate is a term of width 1. A shift by at least the width
gives 0, or the sign. Terms are built through `Algebra`, which keeps them canonical; the table only interns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.core.interned import Interned

Op: TypeAlias = Literal[
    "const", "sum", "special", "parameter", "address", "counter", "loop", "opaque", "load", "other", "product", "zext",
    "sext", "trunc", "high", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "sdiv", "select", "eq", "ult", "slt",
    "umin", "umax", "smin", "smax", "function",
]  # fmt: skip

Datum: TypeAlias = int | str


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One interned expression; within a table, equal terms are the same object."""

    op: Op
    width: int
    """Bits; 1 for predicates."""
    args: tuple[Term, ...]
    data: tuple[Datum, ...]
    """const: the value; sum: the constant, then a coefficient for every argument, all below 2^width; high: the bits cut off;
    leaves and functions: their names; load: space, version and "read-only" or "mutable"."""
    serial: int
    """Order of creation in its table: the order of summands."""
    weight: int
    """Size of what canonical forms may take apart, as a tree; loads, functions and leaves count 1, and so does a boxed term."""

    @property
    def value(self) -> int | None:
        """The value of a constant."""
        if self.op != "const":
            return None
        value = self.data[0]
        assert isinstance(value, int)
        return value

    def __str__(self) -> str:
        from warploom.ptx.symbolic.text import term_text

        return term_text(self)


def linear(term: Term) -> tuple[int, tuple[tuple[Term, int], ...]]:
    """Constant and (atom, coefficient) pairs; coefficients from 1 to 2^width - 1."""
    if term.op == "const":
        return int(term.data[0]), ()
    if term.op == "sum":
        return int(term.data[0]), tuple((a, int(c)) for a, c in zip(term.args, term.data[1:], strict=True))
    return 0, ((term, 1),)


def signed(value: int, width: int) -> int:
    """The two's complement reading of a value below 2^width."""
    return value - (1 << width) if value >> (width - 1) else value


_WHOLE = frozenset({"load", "function", "other"})


def is_box(op: Op, args: tuple[Term, ...]) -> bool:
    """Whether a term only keeps another one in one piece."""
    return op == "product" and len(args) == 1


_Fields: TypeAlias = tuple[Op, int, tuple[Term, ...], tuple[Datum, ...]]


def _made(fields: _Fields, serial: int) -> Term:
    op, width, args, data = fields
    weight = 1 if op in _WHOLE or is_box(op, args) else 1 + sum(a.weight for a in args)
    return Term(op, width, args, data, serial, weight)


class TermTable:
    """Interns the terms of one emulation."""

    def __init__(self) -> None:
        self._terms: Interned[_Fields, Term] = Interned(_made)
        self._leaves: dict[Term, frozenset[Term]] = {}

    def make(self, op: Op, width: int, args: tuple[Term, ...] = (), data: tuple[Datum, ...] = ()) -> Term:
        """The one term with these fields, as they are: nothing is simplified."""
        return self._terms[op, width, args, data]

    def boxed(self, term: Term) -> Term:
        """The same value as an atom that is not taken apart: a product of one factor."""
        return self.make("product", term.width, (term,))

    def const(self, value: int, width: int) -> Term:
        return self.make("const", width, (), (value & ((1 << width) - 1),))

    def special(self, name: str, width: int = 32) -> Term:
        """A special register, without its percent sign: `tid.x`."""
        return self.make("special", width, (), (name,))

    def parameter(self, name: str, offset: int, width: int) -> Term:
        """A kernel parameter's bytes from `offset` on."""
        return self.make("parameter", width, (), (name, offset))

    def address(self, variable: str, width: int = 64) -> Term:
        """The address of a variable, in its own state space."""
        return self.make("address", width, (), (variable,))

    def counter(self, loop: int) -> Term:
        """Counter of a loop: how often its header has been reached again since it was entered: 0, 1, ... modulo 2^64."""
        return self.make("counter", 64, (), (loop,))

    def loop(self, loop: int, register: str, width: int) -> Term:
        """A register's value at the loop's header that no recurrence describes."""
        return self.make("loop", width, (), (loop, register))

    def opaque(self, name: str, width: int, block: int = -1) -> Term:
        """An unknown value of this thread; `block`: the basic block that makes it, -1 for none."""
        return self.make("opaque", width, (), (name, block))

    def after(self, loop: int, leaf: Term) -> Term:
        """The value of a leaf of a loop's body when the loop was left."""
        return self.make("other", leaf.width, (leaf,), ("after", loop))

    def load(self, address: Term, width: int, space: str, version: int, counters: tuple[Term, ...], *, read_only: bool) -> Term:
        """The content of memory at an address, as of a version; `counters` tell apart the iterations in which it may have
        changed."""
        return self.make("load", width, (address, *counters), (space, version, "read-only" if read_only else "mutable"))

    def function(self, name: str, width: int, *args: Term) -> Term:
        """An uninterpreted function of its arguments."""
        return self.make("function", width, args, (name,))

    def leaves(self, term: Term) -> frozenset[Term]:
        """Leaf atoms that a term mentions, and its loads."""
        found = self._leaves.get(term)
        if found is not None:
            return found
        stack = [term]
        while stack:
            top = stack[-1]
            if top in self._leaves:
                stack.pop()
                continue
            waiting = [a for a in top.args if a not in self._leaves]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            own = {top} if top.op in ("load", "other") or (not top.args and top.op != "const") else set[Term]()
            inner = () if top.op == "other" else top.args
            self._leaves[top] = frozenset(own.union(*(self._leaves[a] for a in inner)))
        return self._leaves[term]

    def __len__(self) -> int:
        return len(self._terms)


def subterms(term: Term) -> Iterator[Term]:
    """Every distinct subterm, arguments before the terms that use them."""
    seen: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        top, ready = stack.pop()
        if ready:
            yield top
        elif top not in seen:
            seen.add(top)
            stack.append((top, True))
            stack.extend((a, False) for a in reversed(top.args) if a not in seen)
