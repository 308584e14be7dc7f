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


# Text, as in the paper's Listing 5: `0xc + (load(param2) + %tid.x << 0x2)`


_DEPTH = 24
"""Deeper terms are cut off with an ellipsis."""

_INFIX = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>u", "ashr": ">>s", "udiv": "/u", "sdiv": "/s",
          "ult": "<u", "slt": "<s"}  # fmt: skip


def term_text(term: Term, *, extensions: bool = True) -> str:
    """One line; `extensions=False` leaves out sign and zero extensions, as the paper does."""
    return _text(term, extensions, 0, False)


def _hex(value: int) -> str:
    return f"-{hex(-value)}" if value < 0 else hex(value)


def _text(term: Term, extensions: bool, depth: int, tight: bool) -> str:
    """`tight`: in parentheses unless it is one word."""
    if depth > _DEPTH:
        return "..."

    def inner(part: Term, is_tight: bool = False) -> str:
        return _text(part, extensions, depth + 1, is_tight)

    def wrapped(text: str) -> str:
        return f"({text})" if tight else text

    match term.op:
        case "const":
            return _hex(signed(int(term.data[0]), term.width)) if term.width > 1 else str(term.data[0])
        case "sum":
            return _sum_text(term, extensions, depth, tight)
        case "special":
            return f"%{term.data[0]}"
        case "parameter":
            return f"load({term.data[0]}{f'+{term.data[1]}' if term.data[1] else ''})"
        case "address" | "opaque":
            return str(term.data[0])
        case "counter":
            return f"iteration({term.data[0]})"
        case "loop":
            return f"loop({term.data[0]}, {term.data[1]})"
        case "load":
            return f"load({', '.join(map(inner, term.args))})"
        case "other":
            return f"{inner(term.args[0], True)}'{'.'.join(str(d) for d in term.data)}"
        case "product":
            if len(term.args) == 1:
                return inner(term.args[0], tight)
            return wrapped(" * ".join(inner(a, True) for a in term.args))
        case "zext" | "sext":
            return (
                f"{term.op}{term.width}({inner(term.args[0])})"
                if extensions
                else _text(term.args[0], extensions, depth + 1, tight)
            )
        case "trunc" if term.args[0].op == "address":
            return inner(term.args[0])
        case "trunc":
            return f"{inner(term.args[0], True)}[0:{term.width}]"
        case "high":
            return f"{inner(term.args[0], True)}[{term.data[0]}:{term.args[0].width}]"
        case "select":
            condition, x, y = term.args
            return wrapped(f"{inner(condition, True)} ? {inner(x, True)} : {inner(y, True)}")
        case "eq":
            return wrapped(_equation(term.args[0], extensions, depth))
        case "function":
            return f"{term.data[0]}({', '.join(map(inner, term.args))})"
        case "umin" | "umax" | "smin" | "smax":
            return f"{term.op}({', '.join(map(inner, term.args))})"
        case _:
            return wrapped(f" {_INFIX[term.op]} ".join(inner(a, True) for a in term.args))


def _negated_text(predicate: Term, extensions: bool, depth: int) -> str:
    if predicate.op in ("slt", "ult"):
        left, right = (_text(a, extensions, depth + 1, True) for a in predicate.args)
        return f"{left} >={predicate.op[0]} {right}"
    if predicate.op == "eq":
        return _equation(predicate.args[0], extensions, depth).replace(" == ", " != ")
    return ""


def _equation(difference: Term, extensions: bool, depth: int) -> str:
    constant, parts = linear(difference)
    rest = " + ".join(_summand(a, signed(c, difference.width), extensions, depth + 1) for a, c in parts)
    return f"{rest} == {_hex(-signed(constant, difference.width))}"


def _summand(atom: Term, coefficient: int, extensions: bool, depth: int) -> str:
    factor = abs(coefficient)
    sign = "-" if coefficient < 0 else ""
    if factor == 1:
        text = _text(atom, extensions, depth, tight=atom.op != "product")
        return f"({sign} {text})" if sign else text
    text = _text(atom, extensions, depth, tight=True)
    if factor & (factor - 1) == 0:
        text = f"{text} << {hex(factor.bit_length() - 1)}"
    else:
        text = f"{hex(factor)} * {text}"
    return f"(- ({text}))" if sign else f"({text})"


def _sum_text(term: Term, extensions: bool, depth: int, tight: bool) -> str:
    constant, parts = linear(term)
    if term.width == 1:
        if constant and len(parts) == 1 and (opposite := _negated_text(parts[0][0], extensions, depth)):
            return f"({opposite})" if tight else opposite
        joined = " ^ ".join(_text(a, extensions, depth + 1, tight=True) for a, _ in parts)
        if not constant:
            return f"({joined})" if tight else joined
        return f"!{joined}" if len(parts) == 1 else f"!({joined})"
    factors = {signed(c, term.width) for _, c in parts}
    words = [_hex(signed(constant, term.width))] if constant else []
    common = min(factors, key=abs)
    if len(parts) > 1 and len(factors) == 1 and abs(common) > 1:
        shared = " + ".join(_text(a, extensions, depth + 1, tight=True) for a, _ in parts)
        words.append(f"(({shared}) * {_hex(common)})")
    else:
        words += [_summand(a, signed(c, term.width), extensions, depth + 1) for a, c in parts]
    joined = " + ".join(words)
    return f"({joined})" if tight else joined
