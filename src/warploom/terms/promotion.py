"""C's types for the terms that a spec stores: which type each operation is computed in, with the conversions written out.

A spec runs on untyped terms. `Stored` decides, as a C compiler would, that `x[i] + y[i]` of two `i8` is an `int`, and that the
cell which takes it converts it. Conversions between floats are left out, as a proof over the reals leaves out rounding.
Sums, products and bitwise operations are computed in the narrow type where only their low bits are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from warploom.core import BY_NAME, DType, common_type, f64, i32, i64, integer_range, promoted, scalar_of
from warploom.core.c_types import FLOORED, QUOTIENTS, SHIFTS, result_type
from warploom.terms.casts import cast_types, convert
from warploom.terms.term import Term, TermError, apply, constant, pack

LOW_BITS = frozenset({"+", "-", "*", "neg", "&", "|", "^", "~"})
"""The low bits of the result depend on those of the operands only."""
_ORDERED = QUOTIENTS | {"min", "max", ">>"}
"""The result depends on more than the operands' low bits."""
_HELD = "held"
"""`held.<dtype>`: what a cell of an array of that type holds after a store."""
_ASKED = "to"
"""`to.<dtype>`: a conversion that the spec itself asks for."""
_GATHERED = "gathered"
"""`gathered.<array>`: an element at indices that are the operands. Typed: `gathered.<array>.<dtype of each index>`."""
_CHOICES = ("select ", "select.")


_UNTOUCHED = apply("untouched")
"""Element in the mark of a cell that was never stored to: a zero that no store leaves behind."""


def held_term(term: Term) -> Term:
    """`term` without the mark of the cell that held it."""
    inner = term.args[0] if _is_held(term) else term
    return constant(0) if inner is _UNTOUCHED else inner


def _is_held(term: Term) -> bool:
    return term.op.startswith(_HELD + ".")


@dataclass(slots=True)
class Stored:
    """The typed term of every store of one spec."""

    types: Mapping[str, DType]
    """Types of the elements, by array."""
    other: DType = i32
    """Type of symbols that belong to no array."""
    _naturals: dict[int, DType | None] = field(default_factory=dict[int, "DType | None"])
    """By serial number, as everything here: terms cannot be hashed while a user's spec runs."""
    _built: dict[tuple[int, DType], Term] = field(default_factory=dict[tuple[int, DType], Term])
    _checked: set[int] = field(default_factory=set[int])
    _is_plain: bool = field(init=False)
    """True if every value has one type, in which it is also computed: then the terms stay as they are."""

    _are_floats: bool = field(init=False)

    def __post_init__(self) -> None:
        scalars = {scalar_of(t) for t in self.types.values()}
        self._are_floats = all(t.is_float for t in scalars)
        self._is_plain = len(scalars) == 1 and all(promoted(t) == t for t in scalars)

    def store(self, term: Term, target: DType) -> Term:
        """The content of a cell of type `target` after the spec stored `term`. Raises TermError for what Python and C tell
        apart."""
        if self._are_floats:
            return term
        if term.op == "/" and not target.is_float and not self._is_float(term):
            self._is_plain = False  # an integer from now on, whatever is made of it
            for operand in term.args:
                self.check(operand)
        else:
            self.check(term)
        if self._is_plain:
            return term if target.is_float or term.op != "constant" else _cut(term)
        if target.lanes > 1:
            is_pack = term.op == "pack"
            return pack(*(self._build(item, scalar_of(target)) for item in term.args)) if is_pack else term
        built = self._build(term, target)
        return built if built.op == "atom" and self._natural(built) == target else apply(f"{_HELD}.{target.name}", built)

    def blank(self, target: DType) -> Term | None:
        """The content of an output's cell that was never stored to: a zero of its type; None where numbers need no type."""
        is_untyped = self._is_plain or target.lanes > 1 or self._are_floats
        return None if is_untyped else apply(f"{_HELD}.{target.name}", _UNTOUCHED)

    def conversion(self, term: Term, target: DType) -> Term:
        """`term` converted as the spec asks for it, as by `np.int64(x)`; terms stored from now on are typed one by one."""
        self._are_floats = self._is_plain = False
        return apply(f"{_ASKED}.{target.name}", term)

    def gather(self, name: str, indices: list[Term]) -> Term:
        """The element of an array at indices that data give; terms stored from now on are typed one by one."""
        self._are_floats = self._is_plain = False
        return apply(f"{_GATHERED}.{name}", *indices)

    # ------------------------------------------------------------ what Python and C tell apart

    def check(self, root: Term) -> None:
        """Raises TermError for what Python and C tell apart below `root`."""
        stack = [root]
        while stack:
            term = stack.pop()
            if term.serial in self._checked or (
                "." in term.op and not (_is_asked(term) or _is_gathered(term))
            ):  # checked when that was stored
                continue
            self._checked.add(term.serial)
            if term.op == "constant":
                self._is_plain = self._is_plain and self._is_of_type(term)  # no fraction among integers, no wider number
            elif term.op in LOW_BITS:
                pass
            elif term.op in SHIFTS:
                self._check_shift(term)
            elif term.op == "/" and not self._is_float(term):
                raise TermError(
                    f"expected a quotient of integers to be stored at once, got {term} in a larger expression: in Python it is a "
                    "fraction, in CUDA an integer; store it to an array of integers first, or convert with wl.cast(f32, ...)"
                )
            if term.op in _ORDERED:
                self._check_order(term)
            elif is_choice(term):
                self._check_numbers(term.args[:2], self._compared_in(term), term)
            stack.extend(term.args)

    def _is_of_type(self, number: Term) -> bool:
        """Whether the number fits the one type that all elements have."""
        return _fits(number, next(iter(self.types.values()), self.other))

    def _check_order(self, term: Term) -> None:
        """A number, or a sign, that the type which `term` is computed in does not have changes the result."""
        kind = self._computed_in(term)
        if kind.is_float:
            if term.op in FLOORED:
                raise TermError(f"expected integers for `{term.op}`, got floats in {term}: write `/`, or cast to integers first")
            return
        operands = term.args[:1] if term.op == ">>" else term.args
        self._check_numbers(operands, kind, term)
        for operand in operands:
            natural = self._natural(operand)
            if term.op in FLOORED and kind.kind == "uint" and natural is not None and natural.kind == "int":
                raise TermError(
                    f"expected operands of one sign for `{term.op}`, got {natural} in {term}, which C computes in {kind}: "
                    f"convert it with wl.cast({kind}, ...)"
                )

    @staticmethod
    def _check_numbers(operands: tuple[Term, ...], kind: DType, term: Term) -> None:
        for operand in operands:
            if operand.op == "constant" and isinstance(operand.data[0], int) and not _fits(operand, kind):
                raise TermError(
                    f"expected a number that {kind} holds, got {operand} in {term}, which C computes in {kind}: "
                    "write another number, or convert the data with wl.cast"
                )

    def _check_shift(self, term: Term) -> None:
        count, width = term.args[1], self._computed_in(term.args[0]).bits
        if count.op != "constant":
            return
        amount = count.data[0]
        if not isinstance(amount, int) or not 0 <= amount < width:
            raise TermError(f"expected a shift by 0 to {width - 1} bits, got {amount}: the word has only {width} bits")

    def _is_float(self, quotient: Term) -> bool:
        return any((t := self._natural(a)) is not None and t.is_float for a in quotient.args) or any(
            a.op == "constant" and not isinstance(a.data[0], int) for a in quotient.args
        )

    # ------------------------------------------------------------ types

    def _computed_in(self, term: Term) -> DType:
        natural = self._natural(term)
        return promoted(natural) if natural is not None else _literal_type(term)

    def _compared_in(self, choice: Term) -> DType:
        """The type in which a choice compares its first two operands."""
        given = [n for a in choice.args[:2] if (n := self._natural(a)) is not None]
        kinds = given or [_literal_type(a) for a in choice.args[:2]]
        for number in choice.args[:2]:
            if number.op == "constant" and not kinds[0].is_float:
                kinds.append(_literal_type(number))
        return _common(kinds)

    def _natural(self, root: Term) -> DType | None:
        """The narrowest type that is known to hold the value; None for a number, which takes the type of what it meets."""
        known = self._naturals
        stack = [root]
        while stack:
            term = stack[-1]
            missing = [a for a in term.args if a.serial not in known]
            if term.serial not in known and missing:
                stack.extend(missing)
                continue
            stack.pop()
            if term.serial not in known:
                known[term.serial] = self._natural_of(term)
        return known[root.serial]

    def _natural_of(self, term: Term) -> DType | None:
        if term.op == "atom":
            return self.types.get(term.data[0], self.other)
        if term.op == "component":
            inner = self._naturals[term.args[0].serial]
            return None if inner is None else scalar_of(inner)
        if _is_gathered(term):
            return scalar_of(self.types[term.op.split(".")[1]])
        if _is_held(term) or _is_asked(term):
            return BY_NAME[term.op.partition(".")[2]]
        if types := cast_types(term):
            return types[1]
        operands = term.args[2:] if is_choice(term) else term.args
        parts = [self._naturals[a.serial] for a in operands]
        given = [p for p in parts if p is not None]
        if not given:
            return None
        if term.op in SHIFTS:
            parts[0] = parts[0] or _literal_type(term.args[0])
        fits = all(_fits(a, given[0]) for a in term.args if a.op == "constant")
        literals = [_literal_type(a) for a in operands if a.op == "constant"]
        return result_type(term.op, parts, fits=fits, literals=literals)

    # ------------------------------------------------------------ terms

    def _build(self, root: Term, target: DType) -> Term:
        """The value of `root`, converted to `target`; without Python recursion."""
        built = self._built
        stack = [(root, target)]
        while stack:
            term, wanted = stack[-1]
            missing = [part for part in self._parts(term, wanted) if (part[0].serial, part[1]) not in built]
            if (term.serial, wanted) not in built and missing:
                stack.extend(missing)
                continue
            stack.pop()
            if (term.serial, wanted) not in built:
                built[term.serial, wanted] = self._one(term, wanted)
        return built[root.serial, target]

    def _operation_type(self, term: Term, target: DType) -> DType:
        """The type that the operation `term`, of which `target` is wanted, is computed in."""
        natural = self._natural(term) or target
        if term.op == ">>" and not _is_below(term.args[1], natural.bits):
            return promoted(natural)  # an `int` is shifted, by counts that the narrow type does not have
        if natural == target or natural.is_float or target.is_float:
            return natural
        if target.bits <= natural.bits and (term.op in LOW_BITS or self._keeps_low_bits(term, target)):
            return target
        return natural

    def _keeps_low_bits(self, term: Term, target: DType) -> bool:
        if term.op == "<<":
            return _is_below(term.args[1], target.bits)
        # the one quotient that does not fit a narrow type wraps in it as it does when it is converted
        is_narrow = all(_fits(a, target) if a.op == "constant" else self._natural(a) == target for a in term.args)
        return term.op in QUOTIENTS and is_narrow

    def _parts(self, term: Term, target: DType) -> list[tuple[Term, DType]]:
        if not term.args or term.op == "component" or _is_held(term) or cast_types(term):
            return []
        if _is_asked(term) or _is_gathered(term):
            return [(a, self._computed_in(a)) for a in term.args]
        kind = self._operation_type(term, target)
        kinds = [kind] * len(term.args)
        if is_choice(term):
            kinds[:2] = [self._compared_in(term)] * 2
        return list(zip(term.args, kinds, strict=True))

    def _one(self, term: Term, target: DType) -> Term:
        if term.op == "constant":
            return term if target.is_float else _cut(term)
        natural = self._natural(term) or target
        if not term.args or term.op == "component" or cast_types(term):
            return _converted(term, natural, target)
        if _is_held(term):
            return _converted(held_term(term), natural, target)
        if _is_asked(term):
            ((operand, source),) = self._parts(term, target)
            return _converted(_converted(self._built[operand.serial, source], source, natural), natural, target)
        if _is_gathered(term):
            parts = self._parts(term, target)
            op = ".".join([term.op, *(str(kind) for _, kind in parts)])
            return _converted(apply(op, *(self._built[a.serial, kind] for a, kind in parts)), natural, target)
        kind = self._operation_type(term, target)
        op = f"select.{self._compared_in(term)} {comparison_of(term)}" if is_choice(term) else term.op
        return _converted(apply(op, *(self._built[a.serial, k] for a, k in self._parts(term, target))), kind, target)


def _is_asked(term: Term) -> bool:
    return term.op.startswith(_ASKED + ".")


def _is_gathered(term: Term) -> bool:
    return term.op.startswith(_GATHERED + ".")


def is_choice(term: Term) -> bool:
    """Whether the term is a choice `select <` of its last two operands by a comparison of its first two. With the type in which
    they are compared: `select.i32 <`."""
    return term.op.startswith(_CHOICES)


def comparison_of(choice: Term) -> str:
    return choice.op.rpartition(" ")[2]


def _common(kinds: list[DType]) -> DType:
    total = promoted(kinds[0])
    for other in kinds[1:]:
        total = common_type(total, other)
    return total


def _converted(term: Term, source: DType, target: DType) -> Term:
    if (source.is_float and target.is_float) or source.lanes > 1 or target.lanes > 1:
        return term
    return convert(term, source, target)


def _cut(term: Term) -> Term:
    """A number as an integer cell holds it."""
    value = term.data[0]
    return term if isinstance(value, int) or not isfinite(value) else constant(int(value))


def _is_below(count: Term, bits: int) -> bool:
    """Whether the count of a shift is a number from 0 on below `bits`."""
    return count.op == "constant" and 0 <= count.data[0] < bits


def _fits(number: Term, dtype: DType) -> bool:
    """Whether the number is a value of the type."""
    value = number.data[0]
    if dtype.is_float:
        return True
    low, high = integer_range(scalar_of(dtype))
    return isinstance(value, int) and low <= value <= high


def _literal_type(number: Term) -> DType:
    """C's type of a number; what is no number counts as `int`."""
    value = number.data[0] if number.op == "constant" else 0
    if not isinstance(value, int):
        return f64
    return i32 if _fits(constant(int(value)), i32) else i64
