"""Operations of the PTX subset on register values: known bits are computed, data becomes terms.

Floats are real numbers here (PTX ISA 9.7.3 to 9.7.5 without rounding); integers wrap. Written from the PTX ISA alone: nothing is
shared with the concrete interpreter, so that the two can check each other.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor, isnan, trunc

from warploom.core import BY_NAME, DType, WarploomError
from warploom.operations import COMPARISONS
from warploom.synth.compiled.data import (
    ADDRESSES,
    NARROWED,
    SIGNED,
    UNSIGNED,
    Comparison,
    Data,
    Joined,
    NoBitsError,
    Undefined,
    Value,
    fits,
)
from warploom.synth.compiled.infinities import at_infinity, has_no_number, is_nan
from warploom.synth.compiled.zeros import beside_zero, product_of_zeros
from warploom.terms import Term, apply, constant

FINITE = "data are finite numbers"
REAL_SUMS = "real sums reordered"
NANS = "NaN of any bits are equal"
FLUSHED = "subnormal numbers flushed to zero"
_SIGNLESS: dict[str, str] = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_SUMS = frozenset({"+", "-", "*", "neg"})
SIGN_OF_TEST: dict[str, str] = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
    "ltu": "<", "leu": "<=", "gtu": ">", "geu": ">=", "equ": "==", "neu": "!=",
}  # fmt: skip
"""PTX's word for a comparison: its sign. The words for unordered and unsigned numbers compare in the same way."""
_OF_FLOATS = frozenset({"ltu", "leu", "gtu", "geu", "equ", "neu"})


class NotFollowedError(WarploomError):
    """An operation on data that this runner has no term for."""


def register_kind(type_name: str) -> DType:
    """The element type of a PTX type; bit types count as unsigned. NotFollowedError for packed and predicate types."""
    name = {"b": "u", "s": "i"}.get(type_name[0], type_name[0]) + type_name[1:] if type_name[1:].isdigit() else type_name
    if name not in BY_NAME:
        raise NotFollowedError(f"the type .{type_name}")
    return BY_NAME[name]


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


class Arithmetic:
    """Binds operations to a `Data`; every method takes and gives register values."""

    def __init__(self, data: Data) -> None:
        self.data = data

    # ------------------------------------------------------------ integers

    def signless(self, name: str, kind: DType) -> Callable[[Value, Value], Value]:
        """add, sub, mul (low half), and, or, xor of `kind.bits` bits."""
        mask = (1 << kind.bits) - 1
        data, op = self.data, _SIGNLESS[name]
        kinds = data.kinds
        number: dict[str, Callable[[int, int], int]] = {
            "+": lambda a, b: (a + b) & mask,
            "-": lambda a, b: (a - b) & mask,
            "*": lambda a, b: (a * b) & mask,
            "&": lambda a, b: a & b,
            "|": lambda a, b: a | b,
            "^": lambda a, b: a ^ b,
        }
        compute = number[op]
        by_bits = op in ("&", "|", "^", "+")

        def run(a: Value, b: Value) -> Value:
            if a.__class__ is int and b.__class__ is int:
                return compute(a, b)  # pyright: ignore[reportArgumentType] - both are int
            if isinstance(a, int) and (short := _with_number(op, a, b, mask, is_left=True)) is not None:
                return short
            if isinstance(b, int) and (short := _with_number(op, b, a, mask, is_left=False)) is not None:
                return short
            if op == "&" and (kept := _under_mask(a, b)) is not None:
                return kept
            if op == "&" and (low := self._low_word(a, b, kind)) is not None:
                return low
            if by_bits and (isinstance(a, Joined) or isinstance(b, Joined)):
                beside = self._side_by_side(op, a, b, kind.bits)
                if beside is not None:
                    return beside
            if (bad := undefined_in(a, b)) is not None:
                return bad
            left, right = data.as_int(a, kind), data.as_int(b, kind)
            own = kinds[right] if left.op == "constant" else kinds[left]
            if right.op != "constant" and kinds[right] is not own:
                right = data.converted(right, own)
            return data.made(apply(op, left, right), own)

        return run

    def _low_word(self, a: Value, b: Value, kind: DType) -> Value | None:
        """A sum or product under a mask that is a machine word: the sum or product in that word, extended by zeros."""
        term, mask = (a, b) if isinstance(a, Term) else (b, a)
        if not isinstance(term, Term) or term.op not in _SUMS or not isinstance(mask, int) or mask & mask + 1:
            return None
        count = mask.bit_length()
        if count not in UNSIGNED or count >= kind.bits:
            return None
        return self.data.widened(self.data.extract(term, 0, count, kind.bits), count, kind)

    def _side_by_side(self, op: str, a: Value, b: Value, width: int) -> Value | None:
        """Bitwise operation part by part where in each part one side is known to be all zeros or ones; + of disjoint bits."""
        data = self.data
        cuts = sorted({0, width, *_boundaries(a), *_boundaries(b)})
        parts: list[tuple[Value, int]] = []
        try:
            for low, high in pairwise(cuts):
                count = high - low
                x, y = data.extract(a, low, count, width), data.extract(b, low, count, width)
                mask = (1 << count) - 1
                if isinstance(x, int) and isinstance(y, int):
                    if op == "+" and x and y:
                        return None
                    parts.append(({"&": x & y, "|": x | y, "^": x ^ y, "+": x + y}[op], count))
                    continue
                short = None
                if isinstance(x, int):
                    short = _with_number(op, x, y, mask, is_left=True)
                elif isinstance(y, int):
                    short = _with_number(op, y, x, mask, is_left=False)
                if short is None and op != "+" and count in UNSIGNED:
                    short = self.signless({"&": "and", "|": "or", "^": "xor"}[op], UNSIGNED[count])(x, y)
                if short is None:
                    return None
                parts.append((short, count))
        except NoBitsError:
            return None
        return data.join(parts)

    def invert(self, kind: DType) -> Callable[[Value], Value]:
        mask = (1 << kind.bits) - 1

        def run(a: Value) -> Value:
            if isinstance(a, int):
                return a ^ mask
            return undefined_in(a) or self._unary("~", self.data.as_int(a, kind))

        return run

    def negate(self, kind: DType) -> Callable[[Value], Value]:
        mask = (1 << kind.bits) - 1

        def run(a: Value) -> Value:
            if isinstance(a, int) and not kind.is_float:
                return -a & mask
            if isinstance(a, int):
                return a ^ (1 << (kind.bits - 1))
            if (bad := undefined_in(a)) is not None:
                return bad
            return self._unary("neg", self.data.as_float(a, kind) if kind.is_float else self.data.as_int(a, kind))

        return run

    def _unary(self, op: str, term: Term) -> Term:
        return self.data.made(apply(op, term), self.data.kinds[term])

    def shift(self, name: str, kind: DType) -> Callable[[Value, Value], Value]:
        """shl, shr: amounts of the width or more give zeros or copies of the sign (PTX ISA 9.7.8)."""
        bits, mask, data = kind.bits, (1 << kind.bits) - 1, self.data
        is_signed = name == "shr" and kind.kind == "int"

        def run(a: Value, amount: Value) -> Value:
            if isinstance(a, Undefined):
                return a
            if not isinstance(amount, int):
                if isinstance(amount, Undefined):
                    return amount
                raise NotFollowedError("a shift by data")
            if isinstance(a, int):
                number = signed(a, bits) if is_signed else a
                return (number << amount) & mask if name == "shl" and amount < bits else (
                    0 if name == "shl" else (number >> min(amount, bits)) & mask)  # fmt: skip
            if amount == 0:
                return a
            if amount >= bits and not is_signed:
                return 0
            amount = min(amount, bits - 1)
            if isinstance(a, Joined) and not is_signed:
                try:
                    if name == "shl":
                        return data.join([(0, amount), (data.extract(a, 0, bits - amount, bits), bits - amount)])
                    return data.join([(data.extract(a, amount, bits - amount, bits), bits - amount), (0, amount)])
                except NoBitsError:
                    pass
            if (bad := undefined_in(a)) is not None:
                return bad
            if name == "shl":
                term = data.as_int(a, kind)
                return data.made(apply("<<", term, amount), data.kinds[term])
            own = data.without_sign(kind, a)
            data.ordered_kinds.add(own)
            return data.made(apply(">>", data.exactly(a, own), amount), own)

        return run

    def high_product(self, kind: DType) -> Callable[[Value, Value], Value]:
        bits, mask, data = kind.bits, (1 << kind.bits) - 1, self.data

        def run(a: Value, b: Value) -> Value:
            if isinstance(a, int) and isinstance(b, int):
                x, y = (signed(a, bits), signed(b, bits)) if kind.kind == "int" else (a, b)
                return (x * y >> bits) & mask
            if (bad := undefined_in(a, b)) is not None:
                return bad
            if 2 * bits not in UNSIGNED:  # no word is wide enough for the product
                return data.made(apply(f"mul.hi.{kind.name}", data.exactly(a, kind), data.exactly(b, kind)), kind)
            return data.extract(self.wide_product(kind)(a, b), bits, bits, 2 * bits)

        return run

    def wide_product(self, kind: DType) -> Callable[[Value, Value], Value]:
        """mul.wide: the product in twice the bits."""
        bits, data = kind.bits, self.data
        wide = {"int": SIGNED, "uint": UNSIGNED}[kind.kind].get(2 * bits)
        mask = (1 << 2 * bits) - 1

        def run(a: Value, b: Value) -> Value:
            if isinstance(a, int) and isinstance(b, int):
                x, y = (signed(a, bits), signed(b, bits)) if kind.kind == "int" else (a, b)
                return x * y & mask
            if any(isinstance(v, int) and v == 0 for v in (a, b)):
                return 0
            if (bad := undefined_in(a, b)) is not None:
                return bad
            assert wide is not None
            own = data.without_sign(kind, a, b)
            target = wide if own is kind else UNSIGNED[2 * bits]
            x, y = data.converted(data.exactly(a, own), target), data.converted(data.exactly(b, own), target)
            return data.made(apply("*", x, y), target)

        return run

    def extreme(self, name: str, kind: DType, *, keeps_nan: bool = False) -> Callable[[Value, Value], Value]:
        """min, max. keeps_nan (f32): the result is NaN where one operand is."""
        data, bits = self.data, kind.bits
        best = min if name == "min" else max

        def run(a: Value, b: Value) -> Value:
            if a.__class__ in ADDRESSES or b.__class__ in ADDRESSES:
                raise NotFollowedError("the smaller or larger address")
            if isinstance(a, int) and isinstance(b, int) and not kind.is_float:
                return best(a, b, key=lambda v: signed(v, bits)) if kind.kind == "int" else best(a, b)
            if (bad := undefined_in(a, b)) is not None:
                return bad
            cast = data.as_float if kind.is_float else data.exactly
            if kind.is_float and any(isinstance(v, int) for v in (a, b)):
                terms = [cast(a, kind), cast(b, kind)]
                if keeps_nan and any(map(is_nan, terms)):
                    data.notes.add(NANS)
                    return 0x7FFFFFFF  # as all instructions on f32 give it (PTX ISA 9.0, section 9.7.3)
                if all(map(is_nan, terms)):
                    raise NotFollowedError(f"{name} of two NaN")
                for value, other in ((a, terms[1]), (b, terms[0])):
                    if is_nan(other):
                        return value
                limit = at_infinity(name, terms)
                if limit is not None:
                    data.notes.add(FINITE)
                    if not isinstance(limit, Term):
                        return Data.encoded(limit, kind)
                    known = a if limit is terms[0] else b
                    return known if isinstance(known, int) else data.made(limit, kind)
                if a.__class__ is int and b.__class__ is int and (a == b or terms[0].data != terms[1].data):
                    return a if best(t.data[0] for t in terms) == terms[0].data[0] else b
            own = data.without_sign(kind, a, b)
            data.ordered_kinds.add(own)
            return data.made(apply(name, cast(a, own), cast(b, own)), own)

        return run

    def magnitude(self, kind: DType) -> Callable[[Value], Value]:
        """abs of integers."""

        def run(a: Value) -> Value:
            if isinstance(a, int):
                return abs(signed(a, kind.bits)) & ((1 << kind.bits) - 1)
            return undefined_in(a) or self._unary("abs", self.data.exactly(a, kind))

        return run

    def lookup(self, table: int, kind: DType) -> Callable[[Value, Value, Value], Value]:
        """lop3: the three-input function with that truth table, as an exclusive or of conjunctions."""
        mask = (1 << kind.bits) - 1
        coefficient = [bool(table >> (a << 2 | b << 1 | c) & 1) for a, b, c in product((0, 1), repeat=3)]
        for step in (4, 2, 1):
            for k in range(8):
                if k & step:
                    coefficient[k] ^= coefficient[k ^ step]
        both, either = self.signless("and", kind), self.signless("xor", kind)

        def run(a: Value, b: Value, c: Value) -> Value:
            if isinstance(a, int) and isinstance(b, int) and isinstance(c, int):
                total = 0
                for k, (x, y, z) in enumerate(product((a ^ mask, a), (b ^ mask, b), (c ^ mask, c))):
                    total |= x & y & z if table >> k & 1 else 0
                return total
            result: Value = 0
            for k, used in enumerate(coefficient):
                if used:
                    part: Value = mask
                    for bit, operand in ((4, a), (2, b), (1, c)):
                        if k & bit:
                            part = both(part, operand)
                    result = either(result, part)
            return result

        return run

    # ------------------------------------------------------------ floats

    def real(self, op: str, kind: DType) -> Callable[..., Value]:
        """`op` of the operands as real numbers; `fma` is a product and a sum."""
        data = self.data

        def run(*values: Value) -> Value:
            if (bad := undefined_in(*values)) is not None:
                return bad
            try:
                return applied(*values)
            except OverflowError as error:
                raise NotFollowedError(f"arithmetic of known numbers with a result beyond {kind}") from error

        def applied(*values: Value) -> Value:
            terms = [data.as_float(v, kind) for v in values]
            if has_no_number(*terms):
                limit = at_infinity(op, terms)
                if limit is None:
                    raise NotFollowedError("arithmetic on an infinity or NaN")
                data.notes.add(FINITE)
                return data.made(limit, kind) if isinstance(limit, Term) else Data.encoded(limit, kind)
            if op == "/" and _is_zero(terms[1]):
                raise NotFollowedError("a division by zero")
            if op == "rsqrt":
                return data.computed("/", [constant(1), data.computed("sqrt", terms, kind)], kind)
            if op == "fma":
                a, b, c = terms
                if _is_zero(a) or _is_zero(b):
                    data.notes.add(REAL_SUMS)
                    return beside_zero(data, product_of_zeros(data, *values[:2], kind=kind), values[2], c, kind)
                made = data.computed("*", [a, b], kind)
                return beside_zero(data, values[2], made, made, kind) if _is_zero(c) else data.computed("+", [made, c], kind)
            if op == "*" and any(map(_is_zero, terms)):
                known = product_of_zeros(data, *values, kind=kind)
                return data.computed("*", terms, kind) if known is None else known
            if op == "+" and (_is_zero(terms[0]) or _is_zero(terms[1])):
                data.notes.add(REAL_SUMS)
                place = 1 if _is_zero(terms[0]) else 0
                return beside_zero(data, values[1 - place], values[place], terms[place], kind)
            return data.computed(op, terms, kind)

        return run

    # ------------------------------------------------------------ comparisons, choices, conversions

    def compare(self, test: str, kind: DType) -> Callable[[Value, Value], Value]:
        """setp's test; of data, a `Comparison`. Data are taken for finite numbers where it asks for NaN or names an infinity."""
        if test in ("nan", "num"):
            return self._asks_for_nan(kind, is_nan_wanted=test == "nan")
        data, bits = self.data, kind.bits
        op = SIGN_OF_TEST.get(test)
        if op is None or (test in _OF_FLOATS and not kind.is_float):
            raise NotFollowedError(f"the comparison .{test}")
        is_signed = kind.kind == "int"
        decide = COMPARISONS[op].holds

        def run(a: Value, b: Value) -> Value:
            if isinstance(a, int) and isinstance(b, int) and not kind.is_float:
                return decide(signed(a, bits), signed(b, bits)) if is_signed else decide(a, b)
            if (bad := undefined_in(a, b)) is not None:
                return bad
            cast, own = data.as_float if kind.is_float else data.exactly, data.without_sign(kind, a, b)
            x, y = cast(a, own), cast(b, own)
            if is_nan(x) or is_nan(y):
                return test.endswith("u")
            if x.op == "constant" and y.op == "constant":
                return decide(x.data[0], y.data[0])
            if has_no_number(x) or has_no_number(y):
                data.notes.add(FINITE)
                return decide(*(t.data[0] if has_no_number(t) else 0.0 for t in (x, y)))
            return Comparison(op, x, y, own)

        return run

    def _asks_for_nan(self, kind: DType, *, is_nan_wanted: bool) -> Callable[[Value, Value], Value]:
        """setp.nan: whether one operand is NaN; setp.num: whether none is."""
        data = self.data

        def run(a: Value, b: Value) -> Value:
            if (bad := undefined_in(a, b)) is not None:
                return bad
            terms = data.as_float(a, kind), data.as_float(b, kind)
            if any(t.op != "constant" for t in terms):
                data.notes.add(FINITE)
            return any(map(is_nan, terms)) == is_nan_wanted

        return run

    def select(self, kind: DType) -> Callable[[Value, Value, Value], Value]:
        """selp: by data, the smaller or larger of what was compared, else an opaque choice."""
        data = self.data

        def run(a: Value, b: Value, predicate: Value) -> Value:
            if isinstance(predicate, int):
                return a if predicate else b
            if isinstance(predicate, Undefined):
                return predicate
            assert isinstance(predicate, Comparison)
            if data.decide is not None and (chosen := data.decide(predicate)) is not None:
                return a if chosen else b
            if (bad := undefined_in(a, b)) is not None:
                return bad
            own = self._kind_of_choice(predicate.kind, kind, a, b)
            cast = data.as_float if own.is_float else data.exactly
            x, y = cast(a, own), cast(b, own)
            if is_nan(x) or is_nan(y):
                data.notes.add(NANS)
            if (x, y) in ((predicate.a, predicate.b), (predicate.b, predicate.a)) and predicate.op[0] in "<>":
                data.ordered_kinds.add(own)
                first_is_chosen = (x, y) == (predicate.a, predicate.b)
                return data.made(apply("min" if (predicate.op[0] == "<") == first_is_chosen else "max", x, y), own)
            return data.choice(f"select {predicate.op}", (predicate.a, predicate.b), (x, y), own)

        return run

    def _kind_of_choice(self, compared: DType, kind: DType, a: Value, b: Value) -> DType:
        """The type in which one of two values is chosen; a float only where that loses none of the bits of a known one."""
        arms = {self.data.kinds[v] for v in (a, b) if isinstance(v, Term)}
        own = compared
        if own.bits != kind.bits:
            return kind
        if arms and not own.is_float and all(k.is_float for k in arms):
            own = min(arms, key=str)  # floats that a comparison of integers chooses
        elif arms and own.is_float and not any(k.is_float for k in arms):
            return UNSIGNED[kind.bits]
        is_kept = kind.is_float or not own.is_float or all(_has_one_code(v, own) for v in (a, b) if isinstance(v, int))
        return own if is_kept else UNSIGNED[kind.bits]

    def convert(self, target: DType, source: DType, rounding: str | None) -> Callable[[Value], Value]:
        """cvt: a value of type `source` as one of type `target`."""
        data = self.data
        mask = (1 << target.bits) - 1

        def run(a: Value) -> Value:
            if isinstance(a, Undefined):
                return a
            if a.__class__ in ADDRESSES:
                raise NotFollowedError("a conversion of an address")
            if isinstance(a, int) and not source.is_float:
                number = signed(a, source.bits) if source.kind == "int" else a
                return _encoded(number, target, is_nearest=False) if target.is_float else number & mask
            if isinstance(a, int):
                if target.is_float:
                    return _converted(a, source, target, rounding)
                raise NotFollowedError("a known float made an integer")
            if not source.is_float and not target.is_float and target.bits <= source.bits:
                return data.extract(a, 0, target.bits, source.bits)
            if (bad := undefined_in(a)) is not None:
                return bad
            own = data.without_sign(source, a)
            term = data.as_float(a, source) if source.is_float else data.exactly(a, own)
            if source.is_float and target.is_float:
                data.notes.add(NARROWED)
            if source is target and rounding is None:
                return term
            if rounding not in (None, "rn" if target.is_float else "rzi"):
                return data.made(apply(f"cvt.{rounding}.{target.name}.{source.name}", term), target)
            return data.converted(term, target)

        return run


_TO_WHOLE: dict[str, Callable[[Fraction], int]] = {"rni": round, "rzi": trunc, "rmi": floor, "rpi": ceil}
"""By the modifiers of cvt that round to a whole number; `round` takes the even one of two that are as near, as `rni` does."""


def _converted(code: int, source: DType, target: DType, rounding: str | None) -> int:
    """Bits of a known float of type `source` as another float; a zero keeps its sign, also one that a number is rounded to."""
    number = Data.decoded(code, source)
    if isnan(number):
        raise NotFollowedError("a conversion of NaN")
    if rounding in _TO_WHOLE and isinstance(number, Fraction):
        number = Fraction(_TO_WHOLE[rounding](number))
    if number == 0:
        return code >> (source.bits - 1) << (target.bits - 1)
    return _encoded(number, target, is_nearest=rounding in (None, "rn"))


def _encoded(number: float | Fraction, kind: DType, *, is_nearest: bool) -> int:
    """Bits of a known number as a float; rounded only where it is to the nearest. NotFollowedError where the rounding matters."""
    try:
        code = Data.encoded(float(number), kind)
    except OverflowError as error:
        raise NotFollowedError(f"a number beyond {kind}") from error
    if not is_nearest and Data.decoded(code, kind) != number:
        raise NotFollowedError(f"a known number that {kind} does not hold exactly")
    return code


def _has_one_code(code: int, kind: DType) -> bool:
    """Whether no other bits stand for the same number: not so for a negative zero and for NaN."""
    number = Data.decoded(code, kind)
    return isinstance(number, Fraction) and Data.encoded(float(number), kind) == code


def _with_number(op: str, number: int, other: Value, mask: int, is_left: bool) -> Value | None:
    """The result where a known operand decides it or changes nothing."""
    if number == 0:
        if op in ("&", "*"):
            return 0
        return None if op == "-" and is_left else other
    if (op == "&" and number == mask) or (op == "*" and number == 1):
        return other
    return mask if op == "|" and number == mask else None


def _under_mask(a: Value, b: Value) -> Term | None:
    """A word of fewer bits under a mask of at least as many ones."""
    term, mask = (a, b) if isinstance(a, Term) else (b, a)
    if not isinstance(term, Term) or not isinstance(mask, int) or mask & mask + 1:
        return None
    narrow = UNSIGNED.get(mask.bit_length())
    return term if narrow is not None and fits(term, narrow) else None


def _boundaries(value: Value) -> list[int]:
    found: list[int] = []
    at = 0
    for _, bits in value.parts if isinstance(value, Joined) else ():
        at += bits
        found.append(at)
    return found


def undefined_in(*values: Value) -> Undefined | None:
    """The first undefined value, or undefined part of one."""
    for value in values:
        if isinstance(value, Undefined):
            return value
        if isinstance(value, Joined) and (bad := undefined_in(*(v for v, _ in value.parts))) is not None:
            return bad
    return None


def _is_zero(term: Term) -> bool:
    return term.op == "constant" and term.data[0] == 0
