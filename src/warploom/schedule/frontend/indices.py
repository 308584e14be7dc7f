"""Indices of a tensor function: affine sums of indices and sizes, some of them divided by numbers."""

from __future__ import annotations

import ast
from fractions import Fraction

from warploom.core import polynomials
from warploom.core.linear import Linear, variable
from warploom.schedule.frontend.sizes import quotient
from warploom.schedule.frontend.state import Problem, Silent, State
from warploom.schedule.frontend.tree import Digit, IndexSum


def read_index(state: State, node: ast.expr) -> IndexSum:
    """An affine index. A name is an index, unless it is an integer of the module in capitals (`PAD`) or a factor (`step * k`)."""
    sum_, sizes = _affine(state, node), polynomials.number(0)
    for name in (*state.sizes, *state.quotients):
        factor = dict(sum_.terms).get(_size_term(name), 0)
        sizes = sizes.plus(polynomials.size(name), factor)
        sum_ = sum_.plus(Linear(((_size_term(name), 1),)), -factor) if factor else sum_
    return IndexSum(sum_, state.span(node), sizes)


def _size_term(name: str) -> str:
    """A size among the names of an index that is being read: no name of Python."""
    return f"{_SIZE}{name}"


_SIZE = "size "


def _divided_size(state: State, place: Linear[str], divisor: int, *, is_rest: bool) -> Linear[str]:
    """A sum of sizes over a number, as a quotient or as the rest that this leaves."""
    whole = polynomials.polynomial(((n.removeprefix(_SIZE),), Fraction(c)) for n, c in place.terms)
    whole = whole.plus(polynomials.number(place.constant))
    found = quotient(whole, divisor)
    found = whole.plus(found, -divisor) if is_rest else found
    state.quotients.update((atom, None) for atom in found.names if atom not in state.sizes)
    terms = tuple((_size_term(monomial[0]), int(c)) for monomial, c in found.terms if monomial)
    return Linear(tuple(sorted(terms)), int(found.constant))


def _affine(state: State, node: ast.expr) -> Linear[str]:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Linear((), value)
        case ast.Name(id=name):
            if name in state.poisoned:
                raise Silent
            if name in state.arrays or name in state.scalars or name in state.definitions:
                message = f"expected an index, got {name!r}, which is data"
                raise state.problem("INDEX_NOT_AFFINE", message, node, "Indices are names of their own, such as i.")
            value = _factor(state, node) if name.isupper() else None
            if value is not None:
                return Linear((), value)
            return variable(_size_term(name) if name in state.sizes and name not in state.own_indices else name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _affine(state, operand).scaled(-1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _affine(state, left).plus(_affine(state, right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _affine(state, left).plus(_affine(state, right), -1)
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod() as op, right=right):
            return _divided(state, _affine(state, left), _factor(state, right), node, is_rest=isinstance(op, ast.Mod))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for factor, other in ((left, right), (right, left)):
                value = _factor(state, factor)
                if value is not None:
                    return _affine(state, other).scaled(value)
        case _:
            pass
    message = f"expected an affine index, got {ast.unparse(node)}"
    if any(isinstance(part, ast.Subscript) for part in ast.walk(node)):
        raise state.problem("INDEX_NOT_AFFINE", message, node, "An element that is an index stands alone: X[N[i]].")
    fix = "Use indices, integers, + and -, integer * index, and index // integer or index % integer."
    raise state.problem("INDEX_NOT_AFFINE", message, node, fix)


def _divided(state: State, place: Linear[str], divisor: int | None, node: ast.expr, *, is_rest: bool) -> Linear[str]:
    """The quotient or the rest of an index, whose sign is the divisor's, as in Python."""
    names = [(name, scale) for name, scale in place.terms]
    if divisor is not None and divisor > 0 and names and all(n.startswith(_SIZE) for n, _ in names):
        return _divided_size(state, place, divisor, is_rest=is_rest)
    is_index = len(names) <= 1 and not any(" " in n for n, _ in names)
    if divisor is None or divisor < 1 or not is_index:
        message = f"expected an index, with a factor and a summand, over a whole number above 0, got {ast.unparse(node)}"
        raise state.problem("INDEX_NOT_AFFINE", message, node, "Write (i + 1) // 2, i % 4, or change the layout of the array.")
    scale = names[0][1] if names else 0
    if scale % divisor == 0:
        rest = Linear[str]((), place.constant % divisor)
        quotient = Linear(tuple((n, s // divisor) for n, s in names), place.constant // divisor)
        return rest if is_rest else quotient
    return variable(Digit(names[0][0], scale, place.constant, divisor, is_rest).atom)


def _factor(state: State, node: ast.expr) -> int | None:
    if isinstance(node, ast.Name) and node.id in state.bound_indices:
        return None  # bound here, whatever the module calls by this name
    if isinstance(node, ast.Name | ast.Attribute):
        value = state.resolve(node)
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    try:
        value = _affine(state, node)
    except Problem:
        return None
    return None if value.terms else value.constant
