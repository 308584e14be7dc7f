"""Cases of data: the paths of one thread that decides on integers, and what is known of comparisons on each.

A run with `Cases` goes one way at each decision on integers that is not known yet, and notes the other. All paths together are
all data. What is wanted is then compared path by path, with its own choices decided by what is known, or cut into cases as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import TypeAlias, TypeVar

from warploom.core import BY_NAME, DType
from warploom.operations import COMPARISONS
from warploom.synth.compiled.arithmetic import NotFollowedError
from warploom.synth.compiled.data import Comparison
from warploom.terms import Term, constant, iterate_post

MOST_CASES = 200
"""Paths of one function, and cases of what is wanted."""
_ORDERS: dict[str, frozenset[str]] = {
    "<": frozenset("<"), "<=": frozenset("<="), ">": frozenset(">"), ">=": frozenset(">="), "==": frozenset("="),
    "!=": frozenset("<>"),
}  # fmt: skip
_ANY = frozenset("<=>")
_APART = frozenset("<>")
_BELOW = {"<": "<", ">=": "<", "<=": "<=", ">": "<="}
"""Tests of words without sign, and how a number from 0 on is below: the test, or its opposite."""
_COMMUTATIVE = frozenset({"+", "*", "&", "|", "^", "min", "max"})
_Key: TypeAlias = tuple[Term, str]
T = TypeVar("T")


class UndecidedError(Exception):
    """A choice on integers that nothing known decides."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison


class Facts:
    """Comparisons of integers that hold in one case."""

    def __init__(self) -> None:
        self._orders: dict[tuple[_Key, _Key], frozenset[str]] = {}
        self._ranges: dict[_Key, tuple[float, float, frozenset[int]]] = {}
        """Least and greatest number, and numbers that it is not."""

    def copy(self) -> Facts:
        found = Facts()
        found._orders.update(self._orders)
        found._ranges.update(self._ranges)
        return found

    def decide(self, asked: Comparison) -> bool | None:
        """Whether it holds; None where that is open."""
        test, a, b = _with_number_last(asked)
        if b.op == "constant":
            if a.op == "constant":
                return COMPARISONS[test].holds(a.data[0], b.data[0])
            low, high, others = self._ranges.get(_key(a, asked.kind), (-inf, inf, frozenset()))
            c = b.data[0]
            possible = {s for s, is_so in (("<", low < c), ("=", low <= c <= high and c not in others), (">", high > c)) if is_so}
        elif a is b:
            possible = {"="}
        else:
            test, pair = _in_order(test, _key(a, asked.kind), _key(b, asked.kind))
            possible = self._orders.get(pair, _ANY)
        holding = _ORDERS[test] & possible
        return True if holding == possible else False if not holding else None

    def number(self, element: Term) -> int | None:
        """The number that an element is known to be."""
        low, high, _ = self._ranges.get((element, ""), (0, 1, None))
        return int(low) if low == high else None

    def add(self, asked: Comparison, is_so: bool) -> bool:
        """Whether that is possible."""
        known = self.decide(asked)
        if known is not None:
            return known == is_so
        test, a, b = _with_number_last(asked)
        test = test if is_so else COMPARISONS[test].negated
        if b.op != "constant":
            test, pair = _in_order(test, _key(a, asked.kind), _key(b, asked.kind))
            self._orders[pair] = self._orders.get(pair, _ANY) & _ORDERS[test]
            return True
        low, high, others = self._ranges.get(_key(a, asked.kind), (-inf, inf, frozenset[int]()))
        c, order = b.data[0], _ORDERS[test]
        if order == _APART:
            others |= {c}
        else:
            high = min(high, c - (order == _ORDERS["<"])) if ">" not in order else high
            low = max(low, c + (order == _ORDERS[">"])) if "<" not in order else low
        while low in others:
            low += 1
        while high in others:
            high -= 1
        self._ranges[_key(a, asked.kind)] = low, high, others
        return low <= high


class Cases:
    """The decisions of one run: those given, then one of the two for each that is open."""

    def __init__(self, given: tuple[bool, ...] = ()) -> None:
        self.given = given
        self.taken: list[bool] = []
        self.facts = Facts()

    def decide(self, asked: Comparison) -> bool | None:
        """The way to go; None for a comparison of floats, which NaN makes false either way."""
        if asked.kind.is_float:
            return None
        test, a, b = _with_number_last(asked)
        if a.op == "|" and test in ("==", "!=") and b.op == "constant" and b.data[0] == 0:
            return any(self.decide(Comparison("!=", word, b, asked.kind)) for word in a.args) == (test == "!=")
        if (signed := _without_sign(a)) is not None and test in _BELOW and b.op == "constant" and 0 <= b.data[0] <= signed[1]:
            word, _ = signed
            kind = BY_NAME[a.op.split(".")[1]]
            is_below = bool(self.decide(Comparison(">=", word, constant(0), kind)))
            is_below = is_below and bool(self.decide(Comparison(_BELOW[test], word, b, kind)))
            return is_below == (test in ("<", "<="))
        known = self.facts.decide(asked)
        if known is not None:
            return known
        if len(self.taken) >= MOST_CASES:
            raise NotFollowedError(f"more than {MOST_CASES} decisions on data")
        at = len(self.taken)
        is_so = self.given[at] if at < len(self.given) else True
        self.taken.append(is_so)
        self.facts.add(asked, is_so)
        return is_so


def paths(run: Callable[[Cases], T]) -> Iterator[tuple[Facts, T]]:
    """Every path of a run, with what is known on it. NotFollowedError for too many."""
    pending: list[tuple[bool, ...]] = [()]
    for _ in range(MOST_CASES):
        if not pending:
            return
        cases = Cases(pending.pop())
        found = run(cases)
        taken = tuple(cases.taken)
        pending += [(*taken[:n], not taken[n]) for n in range(len(cases.given), len(taken))]
        yield cases.facts, found
    if pending:
        raise NotFollowedError(f"more than {MOST_CASES} paths")


def decided(
    root: Term, facts: Facts, kinds: Mapping[Term, DType], made: Callable[[Term, DType], Term], *, all_of: str = ""
) -> Term:
    """The term with its choices on integers as the case has them.

    kinds: of its terms; made: is told the kind of what is new. all_of: UndecidedError for choices that are open ("choices"), or
    for minima and maxima, too ("extrema").
    """
    done: dict[Term, Term] = {}
    for t in iterate_post(root):
        args = [done[a] for a in t.args]
        new = t.with_args(args)
        kind = next((kinds[a] for a in t.args[:2] if a in kinds and a.op != "constant"), None)
        is_choice = t.op.startswith("select ") and len(args) == 4
        if kind is not None and not kind.is_float and (is_choice or t.op in ("min", "max")):
            first, second = args[2:] if is_choice else args
            test = t.op.removeprefix("select ") if is_choice else "<=" if t.op == "min" else ">="
            asked = Comparison(test, args[0], args[1], kind)
            known = facts.decide(asked)
            if known is None and not is_choice and facts.decide(replace(asked, op=COMPARISONS[asked.op].mirrored)):
                known = False  # equal numbers, or the second one
            if known is None and all_of and (is_choice or all_of == "extrema"):
                raise UndecidedError(asked)
            if known is not None:
                new = first if known else second
        if t.op == "atom" and (number := facts.number(t)) is not None:
            new = constant(number)
        if t in kinds and new not in kinds and new.op != "constant":
            made(new, kinds[t])
        done[t] = new
    return done[root]


def _without_sign(term: Term) -> tuple[Term, int] | None:
    """The element of which a word without sign has the bits, and the greatest number of its type."""
    words = term.op.split(".")
    if words[0] != "cast" or term.args[0].op != "atom" or words[1][:1] != "i" or words[2] != f"u{words[1][1:]}":
        return None
    return term.args[0], (1 << (int(words[1][1:]) - 1)) - 1


def _key(term: Term, kind: DType) -> _Key:
    """An element is one number; what is computed from elements depends on the type in which it is computed.

    Sums and products do not depend on the order of their operands.
    """
    done: dict[Term, Term] = {}
    for t in iterate_post(term):
        args = [done[a] for a in t.args]
        done[t] = t.rebuilt(sorted(args, key=lambda a: a.serial) if t.op in _COMMUTATIVE else args) if args else t
    return done[term], "" if term.op == "atom" else kind.name


def _with_number_last(asked: Comparison) -> tuple[str, Term, Term]:
    if asked.a.op == "constant" and asked.b.op != "constant":
        return COMPARISONS[asked.op].mirrored, asked.b, asked.a
    return asked.op, asked.a, asked.b


def _in_order(test: str, a: _Key, b: _Key) -> tuple[str, tuple[_Key, _Key]]:
    return (test, (a, b)) if a[0].serial < b[0].serial else (COMPARISONS[test].mirrored, (b, a))
