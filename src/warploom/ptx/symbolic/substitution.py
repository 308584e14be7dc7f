"""Rebuild terms under other facts, with atoms replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warploom.ptx.symbolic import bitwise, comparisons
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.term import Term, linear


class Substitution:
    """A simultaneous replacement of atoms; remembers what it has rebuilt."""

    def __init__(
        self, algebra: Algebra, replaced: Mapping[Term, Term], leaf: Callable[[Term], Term | None] | None = None
    ) -> None:
        """`leaf` may replace any atom that is not in `replaced`; its answer is not rebuilt again, None keeps the atom."""
        self._algebra = algebra
        self._done = dict(replaced)
        self._leaf = leaf

    def __call__(self, term: Term) -> Term:
        done = self._done
        stack = [term]
        while stack:
            top = stack[-1]
            if top in done:
                stack.pop()
                continue
            if self._leaf is not None and (new := self._leaf(top)) is not None:
                done[top] = new
                continue
            waiting = [a for a in top.args if a not in done]
            if waiting:
                stack.extend(waiting)
                continue
            done[top] = rebuilt(self._algebra, top, tuple(done[a] for a in top.args))
        return done[term]


def rebuilt(algebra: Algebra, term: Term, args: tuple[Term, ...]) -> Term:
    """The same operation on other arguments, in canonical form."""
    width = term.width
    match term.op:
        case "const":
            return term
        case "sum":
            constant, parts = linear(term)
            total: dict[Term, int] = {}
            for (_, coefficient), arg in zip(parts, args, strict=True):
                offset, inner = linear(arg)
                constant += coefficient * offset
                for atom, factor in inner:
                    total[atom] = total.get(atom, 0) + coefficient * factor
            return algebra.sum_of(width, constant, total)
        case "product" if len(args) == 1:
            return algebra.table.boxed(args[0]) if args[0].weight > 1 else args[0]
        case "product":
            result = args[0]
            for arg in args[1:]:
                result = algebra.mul(result, arg)
            return result
        case "zext":
            return algebra.zext(args[0], width)
        case "sext":
            return algebra.sext(args[0], width)
        case "trunc":
            return algebra.trunc(args[0], width)
        case "high":
            return algebra.high(args[0], int(term.data[0]))
        case "and":
            result = args[0]
            for arg in args[1:]:
                result = bitwise.bit_and(algebra, result, arg)
            return result
        case "or":
            return bitwise.bit_or(algebra, args[0], args[1])
        case "xor":
            return bitwise.bit_xor(algebra, args[0], args[1])
        case "shl":
            return bitwise.shift_left(algebra, args[0], args[1])
        case "lshr" | "ashr":
            return bitwise.shift_right(algebra, args[0], args[1], is_signed=term.op == "ashr")
        case "udiv" | "sdiv":
            return bitwise.divide(algebra, args[0], args[1], is_signed=term.op == "sdiv")
        case "select":
            return algebra.select(args[0], args[1], args[2])
        case "eq":
            return comparisons.equal(algebra, args[0], algebra.const(0, args[0].width))
        case "ult" | "slt":
            return comparisons.less(algebra, args[0], args[1], is_signed=term.op == "slt")
        case "umin" | "umax" | "smin" | "smax":
            return comparisons.chosen(algebra, term.op, args[0], args[1])
        case _:
            return algebra.table.make(term.op, width, args, term.data) if args else term
