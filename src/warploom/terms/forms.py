"""Canonical forms of one region and the arithmetic on them.

    polynomial   monomial (sorted tuple of generators, repeats are powers) -> coefficient, an int modulo 2^n or a rational
    bits         monomial (sorted tuple, no repeats) -> mask: xor of (mask & g & ...); with kind `or`: or of them, absorbed
    lattice      min over clauses, each the max of a set of generators and perhaps a constant; an antichain
    tropical     monomial (sorted tuple of summands) -> constant summand, the best one; min (or max) over all
    multiset     generator -> count, for one operator

A generator is a term that its region does not look into. Monomials are ordered by creation number, so equal regions have equal
monomials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from warploom.core import WarploomError
from warploom.terms.term import Number, Term, serial
from warploom.terms.text import number_text, term_text

Monomial: TypeAlias = tuple[Term, ...]
Polynomial: TypeAlias = dict[Monomial, int | Fraction]
Bits: TypeAlias = dict[Monomial, int]
Clauses: TypeAlias = dict[frozenset[Term], Number | None]
"""Clause -> its constant operand of max; None without one."""
Tropical: TypeAlias = dict[Monomial, Number]

_DEEPEST = 1
"""Forms around a form that is shown."""
_MANY, _FEW = 64, 12
"""Items of which the texts are made, of a form alone and of one in another."""
LARGEST_FORM = 500_000
"""Monomials of one canonical form; products past it raise FormTooLargeError."""


class FormTooLargeError(WarploomError):
    """A canonical form would have more than LARGEST_FORM monomials: equality is not decided this way."""


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Hashable canonical form of a region that is more than one generator."""

    kind: str
    """polynomial, bits, or, lattice, `min +`, `max +`, or `multiset op`."""
    items: frozenset[Any]
    ones: int = field(default=0, compare=False)
    """For bits: the mask that keeps the whole word, for the text."""

    def __str__(self) -> str:
        return form_text(self)


def check_size(size: int) -> None:
    if size > LARGEST_FORM:
        raise FormTooLargeError(f"canonical form of more than {LARGEST_FORM} monomials")


def sorted_monomial(factors: Iterable[Term]) -> Monomial:
    return tuple(sorted(factors, key=serial))


def multiply_polynomials(a: Mapping[Monomial, Any], b: Mapping[Monomial, Any], modulus: int) -> Polynomial:
    """Product, coefficients modulo `modulus` (0: exact)."""
    check_size(len(a) * len(b))
    result: Polynomial = {}
    for left, p in a.items():
        for right, q in b.items():
            key = sorted_monomial(left + right) if left and right else left or right
            total = result.get(key, 0) + p * q
            result[key] = total % modulus if modulus else total
    return {m: c for m, c in result.items() if c}


def multiply_bits(a: Bits, b: Bits) -> Bits:
    """Product in the Boolean ring, bitwise: coefficients are masks, sums are xor."""
    check_size(len(a) * len(b))
    result: Bits = {}
    for left, p in a.items():
        for right, q in b.items():
            if p & q:
                key = sorted_monomial({*left, *right}) if left and right else left or right
                result[key] = result.get(key, 0) ^ (p & q)
    return {m: c for m, c in result.items() if c}


def absorb_or(a: Bits) -> Bits:
    """Or of masked conjunctions without the bits that a conjunction of fewer generators covers already."""
    result: Bits = {}
    sets: list[tuple[frozenset[Term], int]] = []
    for monomial in sorted(a, key=len):
        mask = a[monomial]
        if len(monomial) > 1 or () in a:
            own = frozenset(monomial)
            for smaller, covered in sets:
                if smaller < own:
                    mask &= ~covered
        if mask:
            result[monomial] = mask
            sets.append((frozenset(monomial), mask))
    return result


def absorb_clauses(clauses: Clauses) -> Clauses:
    """Antichain of clauses: min(a, max(a, b)) = a, constants compared."""
    result: Clauses = {}
    ordered = sorted(clauses, key=len)
    longest = len(ordered[-1]) if ordered else 0
    if longest <= 1 and not any(clauses[c] is not None for c in ordered):
        return dict(clauses)
    for clause in ordered:
        const = clauses[clause]
        if not any(
            smaller <= clause and (low is None or (const is not None and low <= const)) for smaller, low in result.items()
        ):
            result = {c: k for c, k in result.items() if not (clause <= c and _at_most(const, k))}
            result[clause] = const
    return result


def _at_most(low: Number | None, high: Number | None) -> bool:
    return low is None or (high is not None and low <= high)


def merge_clauses(a: Clauses, b: Clauses) -> Clauses:
    """min of two lattice forms, not yet absorbed."""
    result = dict(a)
    for clause, const in b.items():
        if clause not in result or _at_most(const, result[clause]):
            result[clause] = const
    return result


def multiply_clauses(a: Clauses, b: Clauses) -> Clauses:
    """max of two lattice forms: max distributes over min in a total order."""
    check_size(len(a) * len(b))
    result: Clauses = {}
    for left, p in a.items():
        for right, q in b.items():
            const = q if p is None else p if q is None else max(p, q)
            result = merge_clauses(result, {left | right: const}) if left | right in result else {**result, left | right: const}
    return absorb_clauses(result)


# ---------------------------------------------------------------- text


def form_text(form: NormalForm, most_items: int = 12, *, beside: NormalForm | None = None, depth: int = 0) -> str:
    """`form` as an expression, monomials in reading order, cut after `most_items`.

    Where it is cut beside another form of its kind, what the other one lacks comes first. depth: of the form in another one;
    deep ones are `...`.
    """
    if depth > _DEEPEST:
        return "..."
    text = partial(_inner_text, depth=depth)
    is_beside = beside is not None and beside.kind == form.kind and len(form.items) > most_items
    known: frozenset[Any] = beside.items if is_beside and beside is not None else frozenset[Any]()
    items = [(item in known, item) for item in _some(form, known, depth)]
    cut = len(form.items) - len(items)
    match form.kind:
        case "polynomial":
            parts = [(late, _polynomial_part(m, c, text)) for late, (m, c) in items]
            return _joined(parts, " + ", most_items, cut).replace("+ -", "- ")
        case "bits" | "or":
            parts = [(late, _product(m, " & ", None if c == form.ones and m else hex(c), text)) for late, (m, c) in items]
            return _joined(parts, " ^ " if form.kind == "bits" else " | ", most_items, cut)
        case "lattice":
            parts = [(late, _maximum(clause, number, most_items, text)) for late, (clause, number) in items]
            return _call("min", parts, most_items, cut)
        case "min +" | "max +":
            parts = [(late, _product(m, " + ", None if c == 0 else number_text(c), text)) for late, (m, c) in items]
            return _call(form.kind[:3], parts, most_items, cut)
        case _:
            op = form.kind.removeprefix("multiset ")
            parts = [(late, _factor_text(term, text)) for late, (term, n) in items for _ in range(min(n, most_items + 1))]
            return _call(op, parts, most_items, cut) if op[0].isalpha() else _joined(parts, f" {op} ", most_items, cut)


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that puts x[9] before x[10]."""
    key: list[tuple[int, int, str]] = []
    digits = ""
    for char in text + "\0":
        if char.isdigit():
            digits += char
            continue
        if digits:
            key.append((0, int(digits), ""))
            digits = ""
        key.append((1, 0, char))
    return key


def _polynomial_part(monomial: Monomial, coefficient: int | Fraction, text: Callable[[Term], str]) -> str:
    if not monomial:
        return number_text(coefficient)
    sign = "-" if coefficient < 0 else ""
    size = abs(coefficient)
    return sign + _product(monomial, "*", None if size == 1 else number_text(size), text)


def _product(monomial: Monomial, op: str, factor: str | None, text: Callable[[Term], str]) -> str:
    texts = sorted((_factor_text(t, text) for t in monomial), key=_natural)
    return op.join(([factor] if factor else []) + texts) or "0"


def _factor_text(term: Term, text: Callable[[Term], str]) -> str:
    return f"({text(term)})" if term.op == "form" else text(term)


def _inner_text(term: Term, depth: int) -> str:
    return term_text(term, of_form=partial(form_text, depth=depth + 1))


def _some(form: NormalForm, known: frozenset[Any], depth: int) -> Iterable[Any]:
    """The items that may be shown: of many those that are not known first, then the oldest, since each text may be long."""
    most = _FEW if depth else _MANY
    if len(form.items) <= most:
        return form.items

    def place(item: Any) -> tuple[bool, list[int]]:
        terms: Iterable[Term] = [item[0]] if isinstance(item[0], Term) else item[0]
        return item in known, sorted(t.serial for t in terms)

    return sorted(form.items, key=place)[:most]


def _maximum(clause: frozenset[Term], number: Number | None, most_items: int, text: Callable[[Term], str]) -> str:
    operands = [*map(text, clause), *([] if number is None else [number_text(number)])]
    return _call("max", [(False, operand) for operand in operands], most_items)


def _joined(parts: list[tuple[bool, str]], op: str, most_items: int, others: int = 0) -> str:
    """Parts with whether they come behind all others. others: parts that are left out anyway."""
    cut = len(parts) + others - most_items
    texts = [text for _, text in sorted(parts, key=lambda part: (part[0], _natural(part[1])))]
    return op.join(texts[:most_items]) + (f"{op}... ({cut} more)" if cut > 0 else "")


def _call(name: str, parts: list[tuple[bool, str]], most_items: int, others: int = 0) -> str:
    return parts[0][1] if len(parts) == 1 else f"{name}({_joined(parts, ', ', most_items, others)})"
