"""Normal forms of a value as a function of the loop's states: what depends on the states is fixed, the rest is coefficients.

tree   := leaf | atom ? tree : tree
atom   := truth-valued state | slope >= coefficient | slope > coefficient
leaf   := coefficient (of a truth value or a text) | least of clauses (of a number)
clause := greatest of terms;  term := slope + coefficient;  slope := sum of coefficient * product of states

A coefficient is any expression without states. Two terms with the same slope in one clause are one term with the greater
coefficient, which is what keeps these forms small when loops are composed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TypeAlias, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr

MAX_CLAUSES = 24
MAX_DEGREE = 3
"""States in a product."""
WORK = 30_000
"""Leaves of trees and tables for one family of functions; a few seconds, three times what the hardest task needs."""
MAX_TREE = 400
"""Nodes of a tree beyond which normalising gives up."""
TOO_MANY_CASES = "too many cases"
"""Begins the reason of a FormError where a tree or table grows too large."""


class FormError(Exception):
    """The value has no normal form of this kind; says which operation is in the way."""

    is_in_every_style: bool = False
    """Whether it would be raised in every style, since none was asked for."""
    is_of_samples: bool = False
    """Whether short lists of numbers have no common form, so that it would be raised for every start from samples."""


@dataclass(slots=True)
class Work:
    """The work that normalising may still do, in leaves of trees and tables: deterministic, unlike time."""

    left: int = WORK

    def spend(self, leaves: int) -> None:
        """Raises FormError when nothing is left."""
        self.left -= leaves
        if self.left < 0:
            raise FormError("too much work")


@dataclass(frozen=True, slots=True)
class Slope:
    """Sum of coefficient * product of states; by product, none zero."""

    parts: tuple[tuple[ex.Monomial, Expr], ...]

    @property
    def is_constant(self) -> bool:
        """Whether its coefficients are numbers."""
        return all(c.op == "const" for _, c in self.parts)

    def plus(self, other: Slope, factor: Expr = ex.ONE) -> Slope:
        total: dict[ex.Monomial, Expr] = dict(self.parts)
        for monomial, coefficient in other.parts:
            total[monomial] = ex.add(total.get(monomial, ex.ZERO), ex.multiply(coefficient, factor))
        return slope_of(total)

    def expr(self) -> Expr:
        return ex.add(*(_multiple(m, c) for m, c in self.parts))

    def key(self) -> tuple[object, ...]:
        return tuple((tuple(a.order for a in m), c.order) for m, c in self.parts)


def _multiple(monomial: ex.Monomial, factor: Expr) -> Expr:
    """A product; what may be infinite is not multiplied by 0, but left out."""
    few = factor.sort.values
    if factor.op != "const" and few is not None and {*few} <= {0, 1} and any(a.sort.is_infinite for a in monomial):
        return ex.select(ex.at_least(factor, ex.ONE), reduce(ex.multiply, monomial, ex.ONE), ex.ZERO)
    return reduce(ex.multiply, monomial, factor)


def slope_of(parts: dict[ex.Monomial, Expr]) -> Slope:
    """Raises FormError for products of many states, which composition only makes longer."""
    kept = [(m, c) for m, c in parts.items() if c is not ex.ZERO]
    if any(len(m) > MAX_DEGREE for m, _ in kept):
        raise FormError("products of more and more states")
    return Slope(tuple(sorted(kept, key=lambda t: (len(t[0]), [a.order for a in t[0]]))))


FLAT = Slope(())


@dataclass(frozen=True, slots=True)
class Term:
    slope: Slope
    offset: Expr

    def expr(self) -> Expr:
        return ex.add(self.slope.expr(), self.offset)


Clause: TypeAlias = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """The least of its clauses, each the greatest of its terms."""

    clauses: tuple[Clause, ...]

    @property
    def single(self) -> Term | None:
        return self.clauses[0][0] if len(self.clauses) == 1 and len(self.clauses[0]) == 1 else None

    def expr(self) -> Expr:
        return ex.minimum(*(ex.maximum(*(t.expr() for t in clause)) for clause in self.clauses))


@dataclass(frozen=True, slots=True)
class Plain:
    """A truth value or a text that depends on no state."""

    value: Expr


Leaf: TypeAlias = Number | Plain


Merge: TypeAlias = Callable[[Expr, Leaf, Leaf], Leaf]
"""One leaf for `then if condition else otherwise`, with a condition that depends on no state."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A truth-valued state, or whether a textual state is a given text."""

    state: Expr


@dataclass(frozen=True, slots=True)
class Threshold:
    """`slope >= bound`, or `slope > bound`; the slope's first coefficient is positive."""

    slope: Slope
    bound: Expr
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """A condition without states, under which leaves differ too much to be one; tables split on it."""

    condition: Expr


Atom: TypeAlias = Flag | Threshold | Given


@dataclass(frozen=True, slots=True)
class Branch:
    atom: Atom
    then: Tree
    otherwise: Tree


Tree: TypeAlias = Leaf | Branch


def tree_expr(tree: Tree) -> Expr:
    match tree:
        case Number():
            return tree.expr()
        case Plain(value):
            return value
        case Branch(atom, then, otherwise):
            return ex.select(atom_expr(atom), tree_expr(then), tree_expr(otherwise))


def atom_expr(atom: Atom) -> Expr:
    match atom:
        case Flag(state):
            return state
        case Given(condition):
            return condition
        case Threshold(slope, bound, strict):
            return (ex.more_than if strict else ex.at_least)(slope.expr(), bound)


def leaves(tree: Tree) -> list[Leaf]:
    if isinstance(tree, Branch):
        return leaves(tree.then) + leaves(tree.otherwise)
    return [tree]


def branch(atom: Atom, then: Tree, otherwise: Tree) -> Tree:
    then, otherwise = restricted(then, atom, True), restricted(otherwise, atom, False)
    return then if then == otherwise else Branch(atom, then, otherwise)


def restricted(tree: Tree, atom: Atom, value: bool) -> Tree:
    """The tree where `atom` is known to have this value."""
    if not isinstance(tree, Branch):
        return tree
    decided = _decided(tree.atom, atom, value)
    if decided is not None:
        return restricted(tree.then if decided else tree.otherwise, atom, value)
    then, otherwise = restricted(tree.then, atom, value), restricted(tree.otherwise, atom, value)
    if then is tree.then and otherwise is tree.otherwise:
        return tree
    return then if then == otherwise else Branch(tree.atom, then, otherwise)


def _decided(asked: Atom, known: Atom, value: bool) -> bool | None:
    if asked == known:
        return value
    if not isinstance(asked, Threshold) or not isinstance(known, Threshold) or asked.slope != known.slope:
        return None
    implied = _implied(asked.bound, asked.strict, known.bound, known.strict)
    if value and implied[0]:
        return True
    if not value and implied[1]:
        return False
    return None


@lru_cache(maxsize=50_000)
def _implied(asked: Expr, asked_strict: bool, known: Expr, known_strict: bool) -> tuple[bool, bool]:
    """Whether a value beyond the known bound is beyond the asked one; whether one that is not is not."""
    if ex.is_infinite(asked) or ex.is_infinite(known):
        return False, False
    try:
        lower = ex.at_least(known, asked) if asked_strict <= known_strict else ex.more_than(known, asked)
        upper = ex.at_least(asked, known) if asked_strict >= known_strict else ex.more_than(asked, known)
    except ex.UndefinedError:
        return False, False
    return lower is ex.TRUE, upper is ex.TRUE


def combined(combine: Callable[[Leaf, Leaf], Tree], left: Tree, right: Tree) -> Tree:
    """Leaf by leaf."""
    if isinstance(left, Branch):
        atom = left.atom
        return branch(
            atom,
            combined(combine, left.then, restricted(right, atom, True)),
            combined(combine, left.otherwise, restricted(right, atom, False)),
        )
    if isinstance(right, Branch):
        return branch(right.atom, combined(combine, left, right.then), combined(combine, left, right.otherwise))
    return combine(left, right)


def mapped(convert: Callable[[Leaf], Tree], tree: Tree) -> Tree:
    if isinstance(tree, Branch):
        return branch(tree.atom, mapped(convert, tree.then), mapped(convert, tree.otherwise))
    return convert(tree)


def chosen(condition: Tree, then: Tree, otherwise: Tree, merge: Callable[[Expr, Leaf, Leaf], Leaf]) -> Tree:
    """`then if condition else otherwise`; `merge` where the condition depends on no state."""
    if isinstance(condition, Branch):
        atom = condition.atom
        return branch(
            atom,
            chosen(condition.then, restricted(then, atom, True), restricted(otherwise, atom, True), merge),
            chosen(condition.otherwise, restricted(then, atom, False), restricted(otherwise, atom, False), merge),
        )
    assert isinstance(condition, Plain)
    test = condition.value
    if test is ex.TRUE:
        return then
    if test is ex.FALSE:
        return otherwise
    return combined(lambda a, b: a if a == b else _merged(test, a, b, merge), then, otherwise)


def _merged(test: Expr, then: Leaf, otherwise: Leaf, merge: Merge) -> Tree:
    try:
        return merge(test, then, otherwise)
    except FormError:
        return _given(test, then, otherwise)


def _given(test: Expr, then: Tree, otherwise: Tree) -> Tree:
    if test.op == "not":
        return branch(Given(test.args[0]), otherwise, then)
    return branch(Given(test), then, otherwise)


def number(clauses: Iterable[Iterable[Term]]) -> Number:
    """The number with equal slopes merged and clauses that others imply dropped."""
    kept: list[Clause] = []
    for clause in clauses:
        merged: dict[Slope, Expr] = {}
        for term in clause:
            known = merged.get(term.slope)
            merged[term.slope] = term.offset if known is None else ex.maximum(known, term.offset)
        if len(merged) > 1:
            merged = {s: o for s, o in merged.items() if o is not ex.MINUS_INFINITY} or {FLAT: ex.MINUS_INFINITY}
        merged = _corners(merged)
        if any(o is ex.INFINITY for o in merged.values()):
            continue
        kept.append(tuple(Term(s, o) for s, o in sorted(merged.items(), key=lambda t: _place(t[0]))))
    if not kept:
        return Number(((Term(FLAT, ex.INFINITY),),))
    changed = True
    while changed:
        changed = False
        for position, clause in enumerate(kept):
            for other in range(position):
                united = _united(kept[other], clause)
                if united is not None:
                    kept[other] = united
                    del kept[position]
                    changed = True
                    break
            if changed:
                break
    if len(kept) > MAX_CLAUSES:
        raise FormError("minima of maxima of too many values")
    return Number(tuple(sorted(kept, key=lambda c: tuple(t.slope.key() for t in c))))


def _place(slope: Slope) -> tuple[object, ...]:
    """Orders terms: by products of states; of two multiples of one product the greater first."""
    if len(slope.parts) == 1 and slope.parts[0][1].op == "const":
        rank: object = -cast(Fraction, slope.parts[0][1].value)
    else:
        rank = {"max": -1, "min": 1}.get(slope.parts[0][1].op, 0) if slope.parts else 0
    return (tuple(tuple(a.order for a in m) for m, _ in slope.parts), rank, slope.key())


def _corners(terms: dict[Slope, Expr]) -> dict[Slope, Expr]:
    """Keeps what can be greatest: of several multiples of one product of states, that of the greatest or the least factor."""
    scaled: dict[ex.Monomial, list[Expr]] = {}
    for slope, offset in terms.items():
        if offset is ex.ZERO and len(slope.parts) == 1:
            scaled.setdefault(slope.parts[0][0], []).append(slope.parts[0][1])
    for monomial, factors in scaled.items():
        open_factors = [f for f in factors if f.op != "const"]
        if not open_factors or len(factors) < 2:
            continue
        for factor in factors:
            del terms[slope_of({monomial: factor})]
        for factor in (ex.maximum(*factors), ex.minimum(*factors)):
            slope = slope_of({monomial: factor})
            terms[slope] = ex.maximum(terms[slope], ex.ZERO) if slope in terms else ex.ZERO
    return terms


def _united(first: Clause, second: Clause) -> Clause | None:
    """One clause for the lesser of two, if they differ in one coefficient or one implies the other."""
    a, b = {t.slope: t.offset for t in first}, {t.slope: t.offset for t in second}
    if a.keys() == b.keys():
        different = [s for s in a if a[s] is not b[s]]
        if len(different) <= 1:
            return tuple(Term(s, ex.minimum(a[s], b[s])) for s in a)
    if all(s in b and ex.maximum(o, b[s]) is b[s] for s, o in a.items()):
        return first
    if all(s in a and ex.maximum(o, a[s]) is a[s] for s, o in b.items()):
        return second
    return None


def plain_number(value: Expr) -> Number:
    return Number(((Term(FLAT, value),),))


def sum_of(left: Leaf, right: Leaf) -> Leaf:
    a, b = _number(left), _number(right)
    return number(
        [Term(x.slope.plus(y.slope), ex.add(x.offset, y.offset)) for x in first for y in second]
        for first in a.clauses
        for second in b.clauses
    )


def greatest(left: Leaf, right: Leaf) -> Leaf:
    a, b = _number(left), _number(right)
    return number([*first, *second] for first in a.clauses for second in b.clauses)


def least(left: Leaf, right: Leaf) -> Leaf:
    return number((*_number(left).clauses, *_number(right).clauses))


def negative(leaf: Leaf) -> Leaf:
    value = _number(leaf)
    minus = ex.constant(-1)
    flipped = [number([Term(FLAT.plus(t.slope, minus), ex.negate(t.offset))] for t in clause) for clause in value.clauses]
    return reduce(lambda a, b: cast(Number, greatest(a, b)), flipped)


def scaled(leaf: Leaf, factor: Expr) -> Tree:
    """The leaf times a coefficient; one of unknown sign by cases."""
    value = _number(leaf)
    if factor is ex.ZERO:
        return plain_number(ex.ZERO)
    if value.single is not None or factor.op == "const":
        return _scaled_by_sign(value, factor, factor.op != "const" or cast(Fraction, factor.value) >= 0)
    positive = ex.at_least(factor, ex.ZERO)
    cases = [_scaled_by_sign(value, factor, sign) for sign in (True, False)]
    return _given(positive, cases[0], cases[1])


def _scaled_by_sign(value: Number, factor: Expr, positive: bool) -> Number:
    clauses = [[Term(FLAT.plus(t.slope, factor), ex.multiply(t.offset, factor)) for t in clause] for clause in value.clauses]
    if positive:
        return number(clauses)
    # The greatest of terms times a negative number is the least of them.
    flipped = [number([t] for t in clause) for clause in clauses]
    return reduce(lambda a, b: cast(Number, greatest(a, b)), flipped)


def product_of(left: Leaf, right: Leaf) -> Tree:
    a, b = _number(left), _number(right)
    for one, other in ((a, right), (b, left)):
        if one.single is not None and not one.single.slope.parts:
            return scaled(other, one.single.offset)
    if a.single is None or b.single is None:
        raise FormError("the product of extrema")
    total: dict[ex.Monomial, Expr] = {}

    def put(monomial: ex.Monomial, coefficient: Expr) -> None:
        total[monomial] = ex.add(total.get(monomial, ex.ZERO), coefficient)

    for first, x in (*a.single.slope.parts, ((), a.single.offset)):
        for second, y in (*b.single.slope.parts, ((), b.single.offset)):
            put(tuple(sorted((*first, *second), key=lambda e: e.order)), ex.multiply(x, y))
    offset = total.pop((), ex.ZERO)
    return number([[Term(slope_of(total), offset)]])


def compared(left: Leaf, right: Leaf, *, strict: bool) -> Tree:
    """`left >= right`: a tree of thresholds."""
    a, b = _number(left), _number(right)
    result: Tree = Plain(ex.TRUE)
    for clause in a.clauses:
        some: Tree = Plain(ex.FALSE)
        for other in b.clauses:
            for term in clause:
                every: Tree = Plain(ex.TRUE)
                for smaller in other:
                    every = both(every, _threshold(term, smaller, strict))
                some = either(some, every)
        result = both(result, some)
    return result


def _threshold(left: Term, right: Term, strict: bool) -> Tree:
    slope = left.slope.plus(right.slope, ex.constant(-1))
    if not slope.parts:
        return Plain((ex.more_than if strict else ex.at_least)(left.offset, right.offset))
    if not slope.is_constant:
        return _open_threshold(slope, left, right, strict)
    bound = ex.subtract(right.offset, left.offset)
    return _oriented(slope, bound, strict)


def _oriented(slope: Slope, bound: Expr, strict: bool) -> Tree:
    lead = cast(Fraction, slope.parts[0][1].value)
    whole = all(a.sort.base == "int" for m, _ in slope.parts for a in m) and bound.sort.base == "int"
    whole = whole and all(isinstance(c.value, int) for _, c in slope.parts)
    if whole and strict:
        bound, strict = ex.add(bound, ex.ONE), False
    if lead > 0:
        return _atom(slope, bound, strict)
    # -p >= t  <=>  not p > -t
    slope, bound = FLAT.plus(slope, ex.constant(-1)), ex.negate(bound)
    atom = _atom(slope, ex.add(bound, ex.ONE), False) if whole else _atom(slope, bound, not strict)
    return mapped(lambda leaf: Plain(ex.negation(cast(Plain, leaf).value)), atom)


def _atom(slope: Slope, bound: Expr, strict: bool) -> Tree:
    if len(slope.parts) == 1 and len(slope.parts[0][0]) == 1 and bound.op == "const":
        whole = (ex.more_than if strict else ex.at_least)(slope.expr(), bound)
        if whole.op == "const":
            return Plain(whole)
    return Branch(Threshold(slope, bound, strict), Plain(ex.TRUE), Plain(ex.FALSE))


def _open_threshold(slope: Slope, left: Term, right: Term, strict: bool) -> Tree:
    """A slope with coefficients that are not numbers, but have few values: by cases."""
    for _, coefficient in slope.parts:
        for part in ex.subexpressions(coefficient):
            if part.op == "ite":
                cases = [_fixed_threshold(left, right, {part: a}, strict) for a in part.args[1:]]
                return chosen(Plain(part.args[0]), cases[0], cases[1], merge_plain)
            if part.op == "var" and part.sort.values is not None:
                result: Tree | None = None
                for value in part.sort.values:
                    case = _fixed_threshold(left, right, {part: ex.constant(value)}, strict)
                    test = ex.at_least(part, ex.constant(value))
                    result = case if result is None else chosen(Plain(test), case, result, merge_plain)
                assert result is not None
                return result
    raise FormError("a comparison of a multiple whose factor depends on the list")


def _fixed_threshold(left: Term, right: Term, values: dict[Expr, Expr], strict: bool) -> Tree:
    return _threshold(_fixed(left, values), _fixed(right, values), strict)


def _fixed(term: Term, values: dict[Expr, Expr]) -> Term:
    slope = slope_of({m: ex.substituted(c, values) for m, c in term.slope.parts})
    return Term(slope, ex.substituted(term.offset, values))


def leaf_fixed(value: Number, values: dict[Expr, Expr]) -> Number:
    return number([_fixed(t, values) for t in clause] for clause in value.clauses)


def merge_plain(test: Expr, then: Leaf, otherwise: Leaf) -> Leaf:
    assert isinstance(then, Plain) and isinstance(otherwise, Plain)
    return Plain(ex.select(test, then.value, otherwise.value))


def both(left: Tree, right: Tree) -> Tree:
    return combined(lambda a, b: Plain(ex.both(cast(Plain, a).value, cast(Plain, b).value)), left, right)


def either(left: Tree, right: Tree) -> Tree:
    return combined(lambda a, b: Plain(ex.either(cast(Plain, a).value, cast(Plain, b).value)), left, right)


def _number(leaf: Leaf) -> Number:
    assert isinstance(leaf, Number)
    return leaf
