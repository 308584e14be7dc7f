"""Compares what a compiled kernel left in an array with what its spec wants there, element by element, under an algebra."""

from __future__ import annotations

import random
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Literal

from warploom.core import BY_NAME, DType, f64, scalar_of
from warploom.operations import COMPARISONS, OF_REALS
from warploom.synth.compiled.arithmetic import FINITE
from warploom.synth.compiled.base_two import AsCompiled
from warploom.synth.compiled.data import Undefined, fits
from warploom.synth.compiled.deciding import NOTHING_TOLD, Telling, drawn, fewer, whole_numbers
from warploom.synth.compiled.division import quotients, with_quotients
from warploom.synth.compiled.gathers import Gathers
from warploom.synth.compiled.index_arrays import IndexArrays
from warploom.synth.compiled.infinities import at_infinity, has_no_number
from warploom.synth.compiled.numbers import value_of, wrapped
from warploom.synth.compiled.rescaled import POWERS, Rescaled
from warploom.synth.compiled.xor_sums import equal_sums
from warploom.terms import (
    READ,
    Algebra,
    FormTooLargeError,
    Normaliser,
    Number,
    Term,
    algebra_for,
    apply,
    component,
    condition_of_value,
    constant,
    element_text,
    evaluate,
    form_text,
    is_exact,
    is_partial,
    iterate_post,
    term_text,
    without_value,
)

_TRIALS = 16
_LEAVES = frozenset({"atom", "constant", "component", "pack"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "neg", "&", "|", "^", "~", "<<", ">>", "min", "max"})
_MOST_SHIFTED = 1024
_TOLD_BITS = {"f16": 7, "bf16": 4, "f32": 20, "f64": 48}
"""Binary digits in which results of a float type agree that differ by rounding only."""
_CANCELLED_BITS = 8
"""Binary digits that a result may be smaller than the data without being taken for what rounding left of a difference."""
_FEW = 64
"""Sums below which the ordinary normal form is quick enough."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element that is wrong."""

    array: str
    index: tuple[int, ...]
    expected: str
    found: str
    line: int | None
    """Line of the store that left it; None when nothing was stored."""
    numbers: tuple[tuple[Term, int], ...] | None = None
    """Elements and numbers for them at which the two terms differ, those that decide it first; the others may be any. None: what
    is there is undefined."""
    deciding: int = 0
    """How many of the first ones decide it; the other elements of `numbers` have one number."""

    def __str__(self) -> str:
        where = f" (stored in line {self.line})" if self.line is not None else ""
        return f"{element_text(self.array, self.index)}: expected {self.expected}, found {self.found}{where}"


@dataclass(frozen=True, slots=True)
class Element:
    """One element to compare."""

    array: str
    index: tuple[int, ...]
    dtype: DType
    want: Term
    got: Term | Undefined | None
    """None: the kernel stored nothing here, and nothing was here before."""
    line: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: Literal["equal", "different", "open"]
    """open: no law makes some elements equal, and no numbers tell them apart."""
    difference: Difference | None
    """The first element that differs, else the first open one."""
    operators: frozenset[str]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Pair:
    element: Element
    got: Term
    want: Term
    left: Term
    """`got` with what is computed in other types sealed off."""
    right: Term


class _Kinds(ChainMap[Term, DType]):
    """Two mappings as one, the first one first; asked for each operand of large terms."""

    def get(self, key: Term, default: DType | None = None) -> DType | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        first, second = self.maps
        found = first.get(key)
        return second.get(key, default) if found is None else found


class Comparison:
    """A comparison under one algebra. types: of the arrays' elements."""

    def __init__(
        self,
        algebra: Algebra,
        types: Mapping[str, DType],
        ordered_kinds: Iterable[DType],
        gathers: Gathers | IndexArrays | None = None,
    ) -> None:
        self._gathers = gathers
        self.algebra = algebra
        self.types = {name: scalar_of(t) for name, t in types.items()}
        self.normaliser = Normaliser(algebra, types)
        self._own: dict[DType, Normaliser] = {}
        self._strange = {k for k in ordered_kinds if not k.is_float and k is not algebra.dtype}
        self._clear: set[Term] = set()
        self._limits: dict[Term, Term | None] = {}
        self._choices: dict[Term, Term] = {}
        self._chosen_kinds: dict[Term, DType] = {}
        self._wanted_kinds: Mapping[Term, DType] | None = None
        self._own_choices: dict[Term, bool] = {}
        self.operators: set[str] = set()
        self._own_operators: set[str] = set()
        """Without those of floats that an array of integers is computed from."""
        self._inside: dict[Term, DType | None] = {}
        self._laws_inside: set[str] = set()
        """The domain of what may be done to these floats."""
        self.notes: set[str] = set()
        """Notes on the spec that the domain must state."""
        self._as_compiled = AsCompiled(algebra.dtype, self.notes)
        self._rescaled = Rescaled(algebra, types, self.notes)
        self._seen: set[Term] = set()
        self._partial: list[Term] = []

    def domain(self, outcome: Outcome) -> list[str]:
        """The parts of the domain of what `compare` found."""
        own = self.algebra.domain_of(outcome.operators)
        is_said = bool(self._laws_inside) and own in (self.algebra.domain_of(()), self.algebra.domain_of(("",)))
        return [*([] if is_said else [own]), *sorted(self._laws_inside | self.notes)]

    def without_value(self, partial: Iterable[Term]) -> str:
        """The reason why one of these operations has a value for no data; empty: none is seen to be so. Notes what they ask of
        data."""
        partial = list(partial)
        self.notes.update(condition_of_value(t.op) for t in partial)
        try:
            found = without_value(partial, self.normaliser)
        except FormTooLargeError as error:
            return str(error)
        return "" if found is None else f"expected operations that have a value for some data, got {self._text(found)}"

    def compare(
        self,
        elements: Iterable[Element],
        kinds: Mapping[Term, DType],
        wanted_kinds: Mapping[Term, DType] | None = None,
        *,
        is_shown: bool = True,
    ) -> Outcome:
        """All elements: stops at the first that differs. kinds: of what the kernel computed; wanted_kinds: of what is wanted,
        where another kernel computed that. is_shown: of elements that no law makes equal the terms and numbers are looked for;
        else the first of them ends the comparison, which is open then."""
        open_element: Difference | None = None
        missing: Difference | None = None
        pairs: list[_Pair] = []
        if wanted_kinds is not None:
            self._wanted_kinds = wanted_kinds = _Kinds(self._chosen_kinds, wanted_kinds)  # pyright: ignore[reportArgumentType] - a mapping that is read
        known, kinds = kinds, _Kinds(self._chosen_kinds, kinds)  # pyright: ignore[reportArgumentType] - a mapping that is read
        for element in elements:
            if element.got is None or isinstance(element.got, Undefined):
                missing = self._missing(element)
                break
            want = self._at_limits(self._as_compiled(element.want))
            if want is None:
                return Outcome("open", None, frozenset(), "the spec does arithmetic on an infinity or NaN, or divides by zero")
            if wanted_kinds is None and (unclear := self._unclear(want)) is not None:
                return Outcome("open", None, frozenset(), unclear)
            want, got = self._chosen(want, wanted_kinds or known), self._chosen(element.got, known)
            got = self._rescaled.above_least(got, known, self._chosen_kinds)
            self._collect(got, kinds)
            self._collect(want, wanted_kinds or {})
            if got is not want or self._compares_elsewhere(got, kinds):
                pairs.append(_Pair(replace(element, got=got), got, want, got, want))
        if self._partial and (undefined := self.without_value(self._partial)):
            return Outcome("open", None, frozenset(self._own_operators), undefined)
        pairs = self._with_quotients(pairs, kinds, wanted_kinds)
        if bool(self._strange) or any("." in op or op.startswith("select") for op in self.operators):
            other: Mapping[Term, DType] = wanted_kinds or {}
            here, there = dict[Term, Term](), dict[Term, Term]()
            pairs = [
                replace(p, left=self._separated(p.got, kinds, here), right=self._separated(p.want, other, there)) for p in pairs
            ]
        operators = frozenset(self._own_operators)
        try:
            for pair in self._unsettled(pairs):
                element = pair.element
                if not is_shown:
                    if all(self._are_equal(left, right) for left, right, *_ in _lanes(pair)):
                        continue
                    reason = f"no law makes {element_text(element.array, element.index)} what it must be"
                    return Outcome("open", None, operators, reason)
                settled, telling = self._same(pair, kinds)
                if settled == "equal" or (settled == "open" and open_element is not None):
                    continue
                expected, found = self._wanted(element, pair.want, pair.left), self._text(pair.left, pair.want)
                if element.line is None:
                    found += " (its content before: nothing is stored here)"
                told = Difference(element.array, element.index, expected, found, element.line, telling.numbers, telling.deciding)
                if settled == "different":
                    return Outcome("different", told, operators)
                open_element = open_element or told
        except FormTooLargeError as error:
            return Outcome("open", None, operators, str(error))
        if missing is not None:
            return Outcome("different", missing, operators)
        if open_element is not None:
            reason = f"no law makes these equal, no numbers tell them apart: {open_element}"
            return Outcome("open", open_element, operators, reason)
        return Outcome("equal", None, operators)

    def _with_quotients(
        self, pairs: list[_Pair], kinds: Mapping[Term, DType], wanted_kinds: Mapping[Term, DType] | None
    ) -> list[_Pair]:
        """Quotients by constants in place of the words that compute them, where one side has such quotients."""
        if not any(op.startswith(("div.", "floordiv.")) for op in self.operators):
            return pairs
        found: list[_Pair] = []
        for p in pairs:
            own = wanted_kinds or {}
            wanted = dict.fromkeys([*quotients([p.got], kinds), *quotients([p.want], own)])
            (got,) = with_quotients([p.got], kinds, list(wanted), self._chosen_kinds)
            (want,) = with_quotients([p.want], own, list(wanted), self._chosen_kinds)
            found.append(replace(p, got=got, want=want, left=got, right=want))
        return found

    def _missing(self, element: Element) -> Difference:
        got = element.got
        found = "no store"
        if isinstance(got, Undefined):
            found = f"the undefined value of {got.reason}{f' (line {got.line})' if got.line else ''}"
        return Difference(element.array, element.index, self._text(element.want), found, element.line)

    def _collect(self, root: Term, kinds: Mapping[Term, DType]) -> None:
        stack = [root]
        seen = self._seen
        while stack:
            term = stack.pop()
            if term not in seen:
                seen.add(term)
                if term.op not in _LEAVES:
                    self.operators.add(term.op)
                    inside = None if self.algebra.dtype.is_float else self._float_inside(term, kinds)
                    if inside is None:
                        self._own_operators.add(term.op)
                    elif term.op in _ARITHMETIC:
                        self._laws_inside.add(algebra_for(inside).domain_of((term.op,)))
                    if is_partial(term) and (inside is not None or self.algebra.dtype.is_float):
                        self._partial.append(term)
                    stack.extend(term.args)

    def _float_inside(self, root: Term, kinds: Mapping[Term, DType]) -> DType | None:
        """The type of floats in which a term of an array of integers is computed; None: it is an integer."""
        if (own := kinds.get(root)) is not None:
            return own if own.is_float else None
        known = self._inside
        for t in iterate_post(root, known):
            words = t.op.split(".")
            if words[0] in ("cast", "bits") and len(words) == 3:
                kind = BY_NAME[words[2]]
            elif t.op == "atom":
                kind = self.types.get(t.data[0])
            else:
                kind = next((k for a in (t.args[2:] if t.op.startswith("select ") else t.args) if (k := known[a])), None)
            known[t] = kind if kind is not None and kind.is_float else None
        return known[root]

    def _unsettled(self, pairs: list[_Pair]) -> list[_Pair]:
        """Without those that are equal sums modulo 2 of equal summands."""
        if len(pairs) < _FEW or dict(self.algebra.regions).get("^") != "bits":
            return pairs
        equal = equal_sums([(p.left, p.right) for p in pairs], self.normaliser)
        return [pair for pair, same in zip(pairs, equal, strict=True) if not same]

    def _same(self, pair: _Pair, kinds: Mapping[Term, DType]) -> tuple[Literal["equal", "different", "open"], Telling]:
        outcome: Literal["equal", "open"] = "equal"
        for left, right, got, want in _lanes(pair):
            if not self._are_equal(left, right):
                if (telling := self._told_apart(got, want, kinds)) is not None:
                    return "different", telling
                outcome = "open"
        return outcome, NOTHING_TOLD

    def _are_equal(self, left: Term, right: Term) -> bool:
        """Whether some law makes them equal."""
        canonical = self.normaliser.canonical
        if POWERS in self.notes and self._rescaled.are_equal(left, right):
            return True
        return canonical(left) is canonical(right) or self._rescaled.are_equal(left, right)

    def _told_apart(self, got: Term, want: Term, kinds: Mapping[Term, DType]) -> Telling | None:
        """Numbers that give the terms different values."""
        dtype = self.algebra.dtype
        is_spec = self._wanted_kinds is None
        if is_spec and not dtype.is_float and not all(t.is_float or is_exact(t, dtype) for t in self._types_in(want)):
            return None  # a spec on signed and unsigned words leaves open which order it means
        rng, near = random.Random(0), whole_numbers(got, want)
        for _ in range(_TRIALS):
            numbers: dict[Term, int] = {}

            def number_of(element: Term, numbers: dict[Term, int] = numbers) -> int:
                if element not in numbers:
                    numbers[element] = self._drawn(element, near, rng)
                return numbers[element]

            if self._tells_apart(got, want, kinds, numbers, number_of):
                nodes = sum(1 for root in (got, want) for _ in iterate_post(root))
                return fewer(numbers, partial(self._still_tell_apart, got, want, kinds), self._may_be_plain, nodes)
        return None

    def _tells_apart(
        self, got: Term, want: Term, kinds: Mapping[Term, DType], numbers: Mapping[Term, int], number_of: Callable[[Term], int]
    ) -> bool:
        """Whether the terms have different values, of the numbers that are asked for."""
        dtype = self.algebra.dtype
        context = f64 if self.algebra.modulus_bits == 0 else dtype
        wanted = self._value_of_wanted(want, context, number_of)
        if wanted is None:
            return False
        found = value_of(got, kinds, number_of, self._element)
        if found is None and dtype.is_float:  # words of the kernel's own types have no other meaning
            others = evaluate([got], context, number_of, casts=True)
            found = None if others is None else others[0]
        if found is not None and not dtype.is_float:
            found = wrapped(int(found), dtype)
        return found is not None and _differ(wanted, found, numbers.values(), dtype)

    def _still_tell_apart(self, got: Term, want: Term, kinds: Mapping[Term, DType], numbers: dict[Term, int]) -> bool:
        """Whether these numbers do. An element that has none, since another index reads it, is given 0."""
        return self._tells_apart(got, want, kinds, numbers, lambda element: numbers.setdefault(element, 0))

    def _drawn(self, element: Term, near: list[int], rng: random.Random) -> int:
        """A number that the element may hold."""
        known = self._gathers.ranges.get(element) if self._gathers is not None else None
        return drawn(self._type_of(element), near, known, rng, is_exact=self.algebra.modulus_bits == 0)

    def _type_of(self, element: Term) -> DType:
        atom = element.args[0] if element.op == "component" else element
        return self.types.get(atom.data[0], self.algebra.dtype)

    def _may_be_plain(self, element: Term) -> bool:
        """Whether the number is no index."""
        return self._gathers is None or element not in self._gathers.ranges

    def _value_of_wanted(self, want: Term, context: DType, number_of: Callable[[Term], int]) -> Number | None:
        """The wanted value for these numbers: a spec's as its text says, another kernel's in the types that it computed in."""
        if self._wanted_kinds is not None:
            found = value_of(want, self._wanted_kinds, number_of, self._element)
            if found is None or self.algebra.dtype.is_float:
                return found
            return wrapped(int(found), self.algebra.dtype)
        values = evaluate([want], context, number_of, casts=True) or self._value_of_choice(want, number_of)
        return None if values is None else values[0]

    def _element(self, op: str, words: list[int]) -> Term | None:
        return None if self._gathers is None else self._gathers.element(op, words)

    def _value_of_choice(self, want: Term, number_of: Callable[[Term], int]) -> list[Number] | None:
        """The values that a spec with choices on data wants, where everything in it is of the algebra's type."""
        dtype = self.algebra.dtype
        terms = list(iterate_post(want))
        if any(t.op == "atom" and self.types.get(t.data[0]) is not dtype for t in terms):
            return None
        found = value_of(want, dict.fromkeys(terms, dtype), number_of)
        return None if found is None else [found]

    def _types_in(self, want: Term) -> set[DType]:
        """Types of the elements, where the spec does something that sees their sign."""
        order: set[DType] = set()
        has_order = False
        for t in iterate_post(want):
            has_order = has_order or t.op in (">>", "min", "max", "/")
            if t.op == "atom":
                order.add(self.types.get(t.data[0], self.algebra.dtype))
        return order if has_order else set()

    def _wanted(self, element: Element, want: Term, got: Term) -> str:
        old = want.op == "atom" and want.data[0] == element.array and tuple(want.data[1]) == element.index
        return self._text(want, got) + (" (its content before: the spec does not store it)" if old else "")

    def _text(self, term: Term, beside: Term | None = None) -> str:
        """In a long text what `beside` lacks comes first."""
        try:
            form = self.normaliser.normal(term)
            other = None if beside is None else self.normaliser.normal(beside)
        except FormTooLargeError:
            return term_text(term)
        return str(form) if isinstance(form, Term) else form_text(form, beside=None if isinstance(other, Term) else other)

    # ------------------------------------------------------------ terms of several kinds in one

    def _at_limits(self, root: Term) -> Term | None:
        """The spec with its infinities taken as limits of finite data; None where that leaves what it means open."""
        done = self._limits
        for t in iterate_post(root, done):
            args = [done[a] for a in t.args]
            known = [a for a in args if a is not None]
            if len(known) < len(args) or (t.op == "/" and known[1].op == "constant" and known[1].data[0] == 0):
                done[t] = None
            elif t.op in OF_REALS and has_no_number(*known):
                limit = at_infinity(t.op, known)
                done[t] = limit if limit is None or isinstance(limit, Term) else constant(limit)
            else:
                done[t] = t.with_args(known)
        return done[root]

    def _unclear(self, root: Term) -> str | None:
        """The reason why Python and words of the array's type give an ordered or shifted value of the spec two meanings; None:
        one."""
        dtype = self.algebra.dtype
        if dtype.is_float:
            return None
        for t in iterate_post(root, self._clear):
            self._clear.add(t)
            is_shift = t.op in ("<<", ">>")
            if is_shift and t.args[1].op == "constant" and not 0 <= t.args[1].data[0] < _MOST_SHIFTED:
                return f"expected the spec to shift by 0 to {_MOST_SHIFTED - 1}, got {t.args[1].data[0]}"
            is_ordered = t.op in ("min", "max", "abs", ">>", "/")
            if not is_ordered and not t.op.startswith("select"):
                continue
            seen = t.args[:1] if is_shift else t.args[:2]
            if bad := [a.data[0] for a in seen if a.op == "constant" and not fits(a, dtype)]:
                return f"expected the spec to compare with numbers of type {dtype}, got {bad[0]}"
            types = (self.types.get(a.data[0], dtype) for s in seen for a in iterate_post(s) if a.op == "atom")
            if wide := [x for x in types if x is not dtype and not (x.bits == dtype.bits or is_exact(x, dtype))]:
                return f"expected the spec to order values that {dtype} holds, got {wide[0]}"
        return None

    def _chosen(self, root: Term, kinds: Mapping[Term, DType]) -> Term:
        """Every choice on data in one of its equal forms: by `<` or `==`, the operands of `==` in order."""
        done = self._choices
        for t in iterate_post(root, done):
            args = [done[a] for a in t.args]
            new = t.with_args(args)
            if t.op.startswith("select "):
                new = _choice(t.op.removeprefix("select "), args, new, self.algebra.dtype.is_float)
                if any(dtype.is_float for dtype in self.types.values()):
                    self.notes.add(FINITE)
            done[t] = new
            if done[t] is not t and (kind := kinds.get(t)) is not None:
                self._chosen_kinds[done[t]] = kind
        return done[root]

    def _separated(self, root: Term, kinds: Mapping[Term, DType], done: dict[Term, Term]) -> Term:
        """Operands that are computed in another type, in the normal form of their own type: opaque to this algebra's laws."""
        for t in iterate_post(root, done):
            args = [done[a] for a in t.args]
            words = t.op.split(".")
            if words[0] in ("cast", "bits") and len(words) == 3:
                args = [self._sealed(args[0], BY_NAME[words[1]])]
                if words[0] == "bits":
                    args = [self._own_form(args[0], BY_NAME[words[1]])]
            elif t.op.startswith("select "):
                own = [kinds.get(old) for old in t.args]
                strange = self._compared_elsewhere(args, own)
                args = [a if a.op == "constant" else self._sealed(a, kind) for a, kind in zip(args, own, strict=True)]
                args[:2] = [self._own_form(a, kind) for a, kind in zip(args[:2], own[:2], strict=True)]
                args = [*map(_as_written, args[:2]), *(self._arm(a, kinds.get(t)) for a in args[2:])]
                if strange is not None:
                    done[t] = apply(f"{t.op} of {strange.name}", *args)
                    continue
            elif t.op in ("min", "max", ">>") and (kind := kinds.get(t)) is not None and kind in self._strange:
                done[t] = apply(f"{t.op} of {kind.name}", *self._operands(t, args, kinds))
                continue
            elif words[0] in ("slice", "div", "floordiv", "rem", "mul", READ):
                args = [self._own_form(a, kinds.get(old)) for a, old in zip(args, t.args, strict=True)]
                args = self._operands(t, args, kinds)
            elif self._is_computed_elsewhere(t, kinds):
                args = self._operands(t, args, kinds)
            done[t] = t.with_args(args)
        return done[root]

    def _is_computed_elsewhere(self, term: Term, kinds: Mapping[Term, DType]) -> bool:
        """Whether an operation takes integers of another type than the array's."""
        own = [kind for a in term.args if (kind := kinds.get(a)) is not None]
        return any(not kind.is_float and kind is not self.algebra.dtype for kind in own)

    def _operands(self, term: Term, args: list[Term], kinds: Mapping[Term, DType]) -> list[Term]:
        """Operands of an operation in another type, each in the normal form of its own type."""
        return [
            _as_written(a) if a.op == "constant" else self._sealed(a, kinds.get(old))
            for a, old in zip(args, term.args, strict=True)
        ]

    def _arm(self, arm: Term, kind: DType | None) -> Term:
        """The value of a choice in type `kind`; None: a spec's choice, which has the array's type."""
        dtype = self.algebra.dtype
        if arm.op == "constant" and not dtype.is_float and (kind is None or kind.bits == dtype.bits):
            return _as_written(constant(wrapped(int(arm.data[0]), dtype)))
        return arm if arm.op == "constant" and dtype.is_float and (kind is None or kind.is_float) else _as_written(arm)

    def _compares_elsewhere(self, root: Term, kinds: Mapping[Term, DType]) -> bool:
        """Whether some choice in `root` compares in another type: then the spec's own term means something else."""
        for t in iterate_post(root, self._own_choices):
            elsewhere = self._compared_elsewhere(list(t.args), [kinds.get(a) for a in t.args])
            is_own = not t.op.startswith("select ") or elsewhere is None
            self._own_choices[t] = is_own and all(self._own_choices[a] for a in t.args)
        return not self._own_choices[root]

    def _compared_elsewhere(self, args: list[Term], kinds: list[DType | None]) -> DType | None:
        """The type in which a choice compares what it computes, where that is not the algebra's: sums wrap elsewhere there."""
        for a, kind in zip(args[:2], kinds[:2], strict=True):
            if a.op in _ARITHMETIC and kind is not None and kind is not self.algebra.dtype:
                return kind
        return None

    def _own_form(self, term: Term, kind: DType | None) -> Term:
        """An operand of the array's type in its normal form, for an operation whose result may be of another type: the laws
        of that type would be used inside."""
        return self.normaliser.canonical(term) if term.op not in _LEAVES and kind is self.algebra.dtype else term

    def _sealed(self, term: Term, kind: DType | None) -> Term:
        if term.op not in _ARITHMETIC or kind is None or kind is self.algebra.dtype:
            return term
        if kind not in self._own:
            self._own[kind] = Normaliser(algebra_for(kind), self.types)
        return self._own[kind].canonical(term)


def _lanes(pair: _Pair) -> list[tuple[Term, Term, Term, Term]]:
    """By component of a vector: both sides with what is sealed off, then as they were."""
    terms, lanes = (pair.left, pair.right, pair.got, pair.want), pair.element.dtype.lanes
    if lanes == 1:
        return [terms]
    return [tuple(component(t, k) for t in terms) for k in range(lanes)]  # pyright: ignore[reportReturnType] - four of them


def _as_written(term: Term) -> Term:
    """A number as an operand that no law knows: it is compared or divided by in its own type, and must not wrap in another."""
    if term.op != "constant" or (isinstance(term.data[0], float) and not isfinite(term.data[0])):
        return term
    return apply(f"number {Fraction(term.data[0])}")


def _choice(test: str, args: list[Term], plain: Term, is_float: bool) -> Term:
    a, b, x, y = args
    if x is y:
        return x
    if a is b:
        return x if test in ("==", "<=", ">=") else y
    if test in (">", ">="):
        a, b, test = b, a, COMPARISONS[test].mirrored
    if test in ("<=", "!="):
        x, y, test = y, x, COMPARISONS[test].negated
        if test == ">":
            a, b, test = b, a, COMPARISONS[test].mirrored
    if is_float and test == "<":
        for op, first, second in (("min", x, y), ("max", y, x)):
            if _is_one(a, first) and _is_one(b, second):
                return apply(op, a, b)
    if test == "==" and a.serial > b.serial:
        a, b = b, a
    return plain if (test, [a, b, x, y]) == (plain.op.removeprefix("select "), args) else apply(f"select {test}", a, b, x, y)


def _is_one(a: Term, b: Term) -> bool:
    return a is b or (a.op == b.op == "constant" and a.data[0] == b.data[0])


def _differ(want: Number, found: Number, data: Iterable[Number], dtype: DType) -> bool:
    """Whether two results differ by more than constants that were rounded in another order explain."""
    if want == found or not dtype.is_float:
        return want != found
    digits = _TOLD_BITS.get(dtype.name, 20)
    scale = max(abs(want), abs(found), max(map(abs, data), default=0) * Fraction(2) ** -_CANCELLED_BITS)
    return abs(want - found) > scale * Fraction(2) ** -digits
