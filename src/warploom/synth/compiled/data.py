"""Contents of registers and memory: known bits, terms, terms laid side by side, values that nothing defines.

    value := int (the bits, unsigned) | Term | Joined ((value, bits) ...) | Undefined | bool | Comparison (predicates only)

A term fills its register: its kind has the register's width. Arithmetic of another kind meets a conversion (`cast.u32.i64`, which
normal forms undo where it changes nothing) or a reinterpretation (`bits.f32.u32`), opaque to every algebra: nothing is assumed of
how numbers are coded. Terms that are constants never stand in a register.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from warploom.core import BY_NAME, DType, WarploomError
from warploom.synth.compiled.encodings import decoded, encoded
from warploom.synth.compiled.placed import UNSIGNED, Placed
from warploom.terms import PARTIAL, Term, apply, constant, is_exact, is_partial, iterate_post

SIGNED: dict[int, DType] = {bits: BY_NAME[f"i{bits}"] for bits in (8, 16, 32, 64)}
_RING = frozenset({"+", "-", "*", "neg", "&", "|", "^", "~"})
"""Operators whose low bits depend on the operands' low bits only."""
_COMMUTATIVE = frozenset({"+", "*", "min", "max", "&", "|", "^"})
_EXACT: dict[str, Callable[..., Fraction]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_LARGEST: dict[str, Fraction] = {
    name: (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** most
    for name, digits, most in (
        ("e5m2", 3, 15),
        ("f16", 11, 15),
        ("tf32", 11, 127),
        ("bf16", 8, 127),
        ("f32", 24, 127),
        ("f64", 53, 1023),
    )
} | {"e4m3": Fraction(448)}
"""Largest of the finite numbers of a float type."""
ZEROS = "zeros of either sign are equal"
ROUNDED = "lanes store one real number to one place, whichever rounding stays"
NARROWED = "conversions that keep the number left out"
_ORDERED = frozenset({">>", "min", "max"})


@dataclass(frozen=True, slots=True)
class Undefined:
    """A value that the machine does not define: harmless until it is stored, branched on or used as an address."""

    reason: str
    line: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Values side by side in one register, lowest bits first; no part is itself joined."""

    parts: tuple[tuple[Value, int], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate on data."""

    op: str
    """`<`, `<=`, `>`, `>=`, `==`, `!=`."""
    a: Term
    b: Term
    kind: DType


@dataclass(frozen=True, slots=True)
class Indexed:
    """An address of which a part depends on data."""

    base: Placed
    offset: Term | Joined
    """Offset to be added, in the address's width."""


Value: TypeAlias = int | Term | Undefined | Joined | Comparison | Indexed
ADDRESSES = frozenset({Placed, Indexed})


class NoBitsError(WarploomError):
    """Bits were asked of a term that cannot be cut there."""


class Data:
    """Arithmetic on values that are not all known bits, and the kinds of the terms made."""

    def __init__(self) -> None:
        self.kinds: dict[Term, DType] = {}
        self.ordered_kinds: set[DType] = set()
        """Kinds in which a smaller or larger value was taken or a right shift made: there the sign matters."""

        self.has_sign_casts = False
        self._signless: dict[Term, Term] = {}
        self._forms: dict[Term, int] = {}
        self._most: dict[Term, int | None] = {}
        self._numbers: dict[object, int] = {}
        self.partial: dict[DType, list[Term]] = {}
        """Operations on data that have no value for some, by type: also those whose result was not used."""

        self._constants: dict[Term, Fraction] = {}
        self.notes: set[str] = set()
        """Notes that the domain of a proof must state besides the algebra."""

        self._is_zero_dropped = self._are_bits_used = False
        self.expand: Callable[[Term], Term] | None = None
        """The term without names for parts of it (`names.py`); None: nothing has names."""

        self.decide: Callable[[Comparison], bool | None] | None = None
        """The way of a thread that decides on data (`cases.py`); None: such a decision is not followed."""

    def made(self, term: Term, kind: DType) -> Term:
        """The term as a value of `kind`; from now on that is its type.

        Terms are shared, and two operations of different types on the same operands must not be one term. The operands' own
        types keep them apart, except where all are numbers (a choice between 1 and 0, a sum of constants): there the later
        one is a conversion of the earlier one, which holds the same number.
        """
        own = self.kinds.setdefault(term, kind)
        if own is kind:
            return term
        if term.op == "constant":
            self.kinds[term] = kind
            return term
        self.has_sign_casts = True
        return self.made(apply(f"cast.{own.name}.{kind.name}", term), kind)

    def computed(self, op: str, terms: Sequence[Term], kind: DType) -> Term:
        """`op` of real numbers as a term. OverflowError where known numbers give one beyond the type."""
        term = apply(op, *terms)
        made = self.made(term, kind)
        if op in PARTIAL and is_partial(term):
            self.partial.setdefault(kind, []).append(term)
        if op in _EXACT and all(t.op == "constant" or t in self._constants for t in terms):
            known = [Fraction(t.data[0]) if t.op == "constant" else self._constants[t] for t in terms]
            number = self._constants[made] = _EXACT[op](*known)
            if abs(number) > _LARGEST[kind.name]:
                raise OverflowError(kind.name)
        return made

    def expanded(self, term: Term) -> Term:
        """The term without names for parts of it."""
        return term if self.expand is None else self.expand(term)

    def kind(self, term: Term) -> DType:
        return self.kinds[term]

    def is_same(self, a: Value, b: Value) -> bool:
        """Whether two values are seen to be one: equal but for the order of operands; of floats, one real number."""
        if isinstance(a, Joined) and isinstance(b, Joined) and len(a.parts) == len(b.parts):
            return all(n == m and self.is_same(x, y) for (x, n), (y, m) in zip(a.parts, b.parts, strict=True))
        if isinstance(a, Term) and isinstance(b, Term):
            is_one = a is b or self._form(self.expanded(a)) == self._form(self.expanded(b))
            if is_one and a is not b and self.kinds[a].is_float:
                self.notes.add(ROUNDED)
            return is_one
        return a is b or (type(a) is type(b) is int and a == b)

    def _form(self, root: Term) -> int:
        """A number that terms share which differ in the order of commuting operands only."""
        for t in iterate_post(root, self._forms):
            own = [self._forms[a] for a in t.args]
            key = (t.op, t.data, self.kinds.get(t), tuple(sorted(own) if t.op in _COMMUTATIVE else own))
            self._forms[t] = self._numbers.setdefault(key, len(self._numbers))
        return self._forms[root]

    def without_sign(self, kind: DType, *values: Value) -> DType:
        """The unsigned type in place of `kind` where no value is negative, read as `kind`: compilers choose either."""
        if kind.kind != "int" or not all(self._is_below(v, kind.bits - 1, kind.bits) for v in values):
            return kind
        return UNSIGNED[kind.bits]

    def _is_below(self, value: Value, count: int, width: int) -> bool:
        """Whether only the lowest `count` bits of a word are seen to be used."""
        if isinstance(value, Joined):
            part, bits = value.parts[-1]
            return isinstance(part, int) and part >> max(0, bits - (width - count)) == 0
        if isinstance(value, Term):
            most = self._greatest(value)
            return most is not None and most < 1 << count
        return isinstance(value, int) and value.__class__ is int and value < 1 << count

    def _greatest(self, root: Term) -> int | None:
        """A number that a word of data never exceeds as an unsigned one, if it is seen to be one."""
        known = self._most
        for t in iterate_post(root, known):
            known[t] = _greatest_of(t, self.kinds.get(t), [known[a] for a in t.args])
        return known[root]

    # ------------------------------------------------------------ from values to terms of a kind

    def as_float(self, value: Value, kind: DType) -> Term:
        """A register's value as a real number of float type `kind`."""
        _check_no_address(value)
        if isinstance(value, int):
            if value == 1 << (kind.bits - 1):
                self.notes.add(ZEROS)
            return constant(self.decoded(value, kind))
        if isinstance(value, Joined):
            value = self.as_int(value, UNSIGNED[kind.bits])
        assert isinstance(value, Term)
        own = self.kinds[value]
        return value if own is kind else self._reinterpreted(value, own, kind)

    def as_int(self, value: Value, kind: DType) -> Term:
        """A register's value as an integer with the register's bits; its sign may be another than `kind`'s."""
        _check_no_address(value)
        if isinstance(value, int):
            signed = kind.kind == "int" and value >> (kind.bits - 1)
            return constant(value - (1 << kind.bits) if signed else value)
        if isinstance(value, Joined):
            return self._combined(value, kind)
        assert isinstance(value, Term)
        own = self.kinds[value]
        if own.is_float:
            return self._reinterpreted(value, own, UNSIGNED[own.bits])
        return value

    def exactly(self, value: Value, kind: DType) -> Term:
        """`as_int`, converted to `kind` where the sign matters (min, right shifts, wide products, conversions to float)."""
        return self.converted(self.as_int(value, kind), kind)

    def converted(self, term: Term, kind: DType) -> Term:
        """A term of any kind as the nearest value of `kind`."""
        if term.op == "constant":
            return term
        own = self.kinds[term]
        if own is kind:
            return term
        source = _source(term)
        if (
            source is not None
            and is_exact(source, own)
            and (is_exact(own, kind) or (not kind.is_float and is_exact(source, kind)))
        ):
            return self.converted(term.args[0], kind)
        if term.op in _ORDERED and own.kind == kind.kind and own.bits < kind.bits:
            # extending by zeros or the sign keeps the order and what a right shift leaves
            return self.made(apply(term.op, *(self.converted(a, kind) for a in term.args)), self._ordered(kind))
        if own.bits == kind.bits and not own.is_float and not kind.is_float and _is_ring(term):
            return self._truncated(term, kind)  # a sum, say, has the same bits whichever sign its operands are read with
        self.has_sign_casts = self.has_sign_casts or own.bits == kind.bits or _changes_sign(own, kind)
        return self.made(apply(f"cast.{own.name}.{kind.name}", term), kind)

    def signless(self, root: Term) -> Term:
        """The same bits without conversions between signed and unsigned words of one width, where nothing sees the sign."""
        if not self.has_sign_casts:
            return root
        done = self._signless
        stack = [root]
        while stack:
            term = stack[-1]
            if term in done:
                stack.pop()
                continue
            source = _source(term)
            is_ring = _is_ring(term)
            own = self.kinds.get(term)
            if source is not None and own is not None and not source.is_float and not own.is_float and source.bits == own.bits:
                operands = term.args[:1]
            else:
                operands = term.args if is_ring else ()
            missing = [a for a in operands if a not in done]
            if missing:
                stack.extend(missing)
                continue
            if not operands and source is not None and own is not None and _changes_sign(source, own):
                kept = (UNSIGNED if source.kind == "uint" else SIGNED)[own.bits]
                done[term] = self.made(apply(f"cast.{source.name}.{kept.name}", term.args[0]), kept)
            elif not operands:
                done[term] = term
            elif not is_ring:
                done[term] = done[operands[0]]
            else:
                new = [done[a] for a in term.args]
                is_kept = all(a is b for a, b in zip(new, term.args, strict=True))
                done[term] = term if own is None or is_kept else self._rebuilt(term, new, own)
            stack.pop()
        return done[root]

    def _rebuilt(self, term: Term, args: Sequence[Term], kind: DType) -> Term:
        """A sum, product or bitwise expression of other operands. One that is known already keeps its kind, by which others read
        it."""
        made = term.rebuilt(args)
        self.kinds.setdefault(made, kind)
        return made

    def dropped_zero(self) -> None:
        """A zero was left out of a sum, which may have changed the sign of another."""
        self._is_zero_dropped = True
        self._tell_of_zeros()

    def _tell_of_zeros(self) -> None:
        if self._is_zero_dropped and self._are_bits_used:
            self.notes.add(ZEROS)

    def _reinterpreted(self, term: Term, source: DType, target: DType) -> Term:
        if term.op == f"bits.{target.name}.{source.name}":
            return term.args[0]
        if source.is_float:
            self._are_bits_used = True
            self._tell_of_zeros()
        return self.made(apply(f"bits.{source.name}.{target.name}", term), target)

    def _combined(self, value: Joined, kind: DType) -> Term:
        total: Term | None = None
        known = low = 0
        for part, bits in value.parts:
            if isinstance(part, int):
                known |= part << low
            else:
                item = self.widened(part, bits, kind)
                if low:
                    item = self.made(apply("<<", item, low), kind)
                total = item if total is None else self.made(apply("|", total, item), kind)
            low += bits
        number = self.as_int(known, kind)
        if total is None:
            return number
        return self.made(apply("|", total, number), kind) if known else total

    def widened(self, value: Value, bits: int, kind: DType) -> Term:
        """The zero extension of `bits` bits to integer type `kind`."""
        if isinstance(value, int):
            return self.as_int(value, kind)
        if bits not in UNSIGNED:
            raise NoBitsError(f"{bits} bits of data are no machine word")
        return self.converted(self.exactly(value, UNSIGNED[bits]), kind)

    decoded = staticmethod(decoded)
    encoded = staticmethod(encoded)

    # ------------------------------------------------------------ bits

    def extract(self, value: Value, low: int, count: int, width: int) -> Value:
        """Bits [low, low + count) of a `width`-bit register. NoBitsError where a term cannot be cut."""
        if isinstance(value, Undefined):
            return value
        if low == 0 and count == width:
            return value
        _check_no_address(value)
        if isinstance(value, int):
            return (value >> low) & ((1 << count) - 1)
        if isinstance(value, Joined):
            found: list[tuple[Value, int]] = []
            at = 0
            for part, bits in value.parts:
                first, last = max(low, at), min(low + count, at + bits)
                if first < last:
                    found.append((self.extract(part, first - at, last - first, bits), last - first))
                at += bits
            return self.join(found)
        assert isinstance(value, Term)
        return self._cut(value, low, count)

    def _cut(self, term: Term, low: int, count: int) -> Value:
        kind = self.kinds[term]
        if kind.is_float:
            term, kind = self._reinterpreted(term, kind, UNSIGNED[kind.bits]), UNSIGNED[kind.bits]
        if low >= kind.bits and kind.kind == "uint":
            return 0
        if low + count > kind.bits:
            if kind.kind == "int":
                raise NoBitsError("copies of a sign bit")
            return self.join([(self._cut(term, low, kind.bits - low), kind.bits - low), (0, low + count - kind.bits)])
        if low == 0 and count == kind.bits:
            return term.args[0] if term.op.startswith("bits.") else term
        words = term.op.split(".")
        if words[0] == "cast" and not BY_NAME[words[1]].is_float and not kind.is_float:
            source = BY_NAME[words[1]]
            if source.kind == "uint" and low < source.bits < low + count and source.bits < kind.bits and source.bits <= count:
                self.ordered_kinds.add(source)
                high = self.made(apply(">>", self.exactly(term.args[0], source), low), source)
                return self.converted(high, UNSIGNED[count]) if count in UNSIGNED else high
            if low + count <= source.bits or (source.kind == "uint" and kind.bits > source.bits):
                with suppress(NoBitsError):
                    return self.extract(term.args[0], low, count, source.bits)
        if words[0] == "slice":
            return self._cut(term.args[0], low + int(words[1]), count)
        if count not in UNSIGNED:
            raise NoBitsError(f"{count} bits of data are no machine word")
        if low == 0 and _is_ring(term):
            return self._truncated(term, UNSIGNED[count] if kind.kind == "uint" else SIGNED[count])
        if term.op == ">>" and isinstance(term.args[1].data[0], int) and low + count + term.args[1].data[0] <= kind.bits:
            with suppress(NoBitsError):
                return self.extract(term.args[0], low + term.args[1].data[0], count, kind.bits)
        if term.op.startswith("select "):
            return self._cut_choice(term, low, count, kind)
        if low and term.op in ("&", "|", "^"):
            return self._cut_bitwise(term, low, count, kind)
        for narrow in (SIGNED[count], UNSIGNED[count]):
            if term.op in _ORDERED and fits(term, narrow):
                cut = self._narrowed(term, narrow)
                return cut if low == 0 else self.made(apply(">>", cut, low), self._ordered(narrow))
        return self.made(apply(f"slice.{low}.{count}", term), UNSIGNED[count])

    def _cut_bitwise(self, term: Term, low: int, count: int, kind: DType) -> Value:
        """Bits of a bitwise expression: the expression of the operands' bits."""
        ones = (1 << count) - 1
        parts: list[Value] = [
            a.data[0] >> low & ones if a.op == "constant" else self.extract(a, low, count, kind.bits) for a in term.args
        ]
        for known, other in (parts, parts[::-1]):
            if isinstance(known, int) and known == (ones if term.op == "&" else 0):
                return other
            if isinstance(known, int) and known == (0 if term.op == "&" else ones) and term.op != "^":
                return known
        return self.made(apply(term.op, *(self.exactly(p, UNSIGNED[count]) for p in parts)), UNSIGNED[count])

    def _cut_choice(self, term: Term, low: int, count: int, kind: DType) -> Value:
        """Bits of a choice: the choice of the bits."""
        arms = [self.extract(self._bits_of(a, kind), low, count, kind.bits) for a in term.args[2:]]
        return self.choice(term.op, term.args[:2], [self.exactly(a, UNSIGNED[count]) for a in arms], UNSIGNED[count])

    def choice(self, op: str, compared: Sequence[Term], arms: Sequence[Term], kind: DType) -> Term:
        """`select ...` of two arms of type `kind`. Between two integers, one term for all types: one of the narrowest that holds
        both, extended."""
        if kind.is_float or any(a.op != "constant" for a in arms):
            return self.made(apply(op, *compared, *arms), kind)
        words = UNSIGNED if all(a.data[0] >= 0 for a in arms) else SIGNED
        narrow = next(k for _, k in sorted(words.items()) if all(fits(a, k) for a in arms))
        return self.converted(self.made(apply(op, *compared, *arms), narrow), kind)

    @staticmethod
    def _bits_of(term: Term, kind: DType) -> Value:
        return int(term.data[0]) & ((1 << kind.bits) - 1) if term.op == "constant" else term

    def _ordered(self, kind: DType) -> DType:
        """`kind`, remembered as one whose sign matters."""
        self.ordered_kinds.add(kind)
        return kind

    def _narrowed(self, term: Term, narrow: DType) -> Term:
        """Minima, maxima and right shifts of values that fit `narrow`, taken there."""
        if term.op == "constant":
            return term
        if term.op == "&":
            return self._truncated(term, narrow)
        if term.op not in _ORDERED:
            return self.converted(term.args[0], narrow)
        return self.made(apply(term.op, *(self._narrowed(a, narrow) for a in term.args)), self._ordered(narrow))

    def _truncated(self, root: Term, kind: DType) -> Term:
        """Low bits of a sum, product or bitwise expression: the same expression of the operands' low bits."""
        done: dict[Term, Term] = {}
        stack = [root]
        while stack:
            term = stack[-1]
            if term in done:
                stack.pop()
                continue
            if _is_ring(term):
                operands = term.args[:1] if term.op == "<<" else term.args
                missing = [a for a in operands if a not in done]
                if missing:
                    stack.extend(missing)
                    continue
                new = [done[a] for a in operands] + list(term.args[len(operands) :])
                done[term] = self.made(apply(term.op, *new), kind)
            elif term.op == "constant":
                done[term] = self.as_int(int(term.data[0]) & ((1 << kind.bits) - 1), kind)
            elif self.kinds[term].bits == kind.bits:
                done[term] = self.exactly(term, kind)
            else:
                done[term] = self.exactly(self.extract(term, 0, kind.bits, self.kinds[term].bits), kind)
            stack.pop()
        return done[root]

    def join(self, parts: Iterable[tuple[Value, int]]) -> Value:
        """Values side by side, lowest first, in the simplest form."""
        flat: list[tuple[Value, int]] = []
        for value, bits in parts:
            if value.__class__ in ADDRESSES and flat:
                raise NoBitsError("parts of an address")
            for item in value.parts if isinstance(value, Joined) else ((value, bits),):
                if flat and isinstance(flat[-1][0], int) and isinstance(item[0], int):
                    _check_no_address(flat[-1][0])
                    flat[-1] = (flat[-1][0] | item[0] << flat[-1][1], flat[-1][1] + item[1])
                elif item[1]:
                    flat.append(item)
        if len(flat) > 1:
            if any(v.__class__ in ADDRESSES for v, _ in flat):
                raise NoBitsError("parts of an address")
            if all(isinstance(v, Undefined) for v, _ in flat):
                return flat[0][0]
            flat = self._with_slices_merged(flat)
        return flat[0][0] if len(flat) == 1 else Joined(tuple(flat))

    def _with_slices_merged(self, flat: list[tuple[Value, int]]) -> list[tuple[Value, int]]:
        """Neighbouring slices of one term as one, where together they are a machine word or the whole term."""
        found: list[tuple[Value, int]] = []
        k = 0
        while k < len(flat):
            value, count = flat[k]
            merged, end = None, k
            if isinstance(value, Term) and value.op.startswith("slice."):
                merged, count, end = self._longest_slice(flat, k)
            found.append((value, flat[k][1]) if merged is None else (merged, count))
            k = k + 1 if merged is None else end
        return found

    def _longest_slice(self, flat: list[tuple[Value, int]], k: int) -> tuple[Value | None, int, int]:
        """The value that the slices from part `k` on make together, its bits and the part after it; None where they make
        nothing whole."""
        start = flat[k][0]
        assert isinstance(start, Term)
        first, whole = int(start.op.split(".")[1]), start.args[0]
        count = flat[k][1]
        best: tuple[Value | None, int, int] = (None, count, k)
        for end in range(k + 1, len(flat)):
            value, more = flat[end]
            if not (isinstance(value, Term) and value.op.startswith(f"slice.{first + count}.") and value.args[0] is whole):
                break
            count += more
            if first == 0 and count == self.kinds[whole].bits:
                best = whole.args[0] if whole.op.startswith("bits.") else whole, count, end + 1
            elif count in UNSIGNED:
                best = self.made(apply(f"slice.{first}.{count}", whole), UNSIGNED[count]), count, end + 1
        return best


def _check_no_address(value: Value) -> None:
    if value.__class__ in ADDRESSES:
        raise NoBitsError("an address among data, or part of one")


def _greatest_of(term: Term, kind: DType | None, most: Sequence[int | None]) -> int | None:
    """The same of a term, from what its operands never exceed."""
    if term.op == "constant":
        return term.data[0] if isinstance(term.data[0], int) and term.data[0] >= 0 else None
    if kind is None or kind.is_float:
        return None
    found: int | None = None
    words = term.op.split(".")
    first = most[0] if most else None
    match term.op, list(most):
        case "+", [int(a), int(b)]:
            found = a + b
        case "*", [int(a), int(b)]:
            found = a * b
        case "&", [*_]:
            found = min((m for m in most if m is not None), default=None)
        case (("min" | "max"), [int(a), int(b)]):
            found = min(a, b) if term.op == "min" else max(a, b)
        case ">>", [int(a), int(b)]:
            found = a >> b
        case _ if words[0] == "cast" and (first is not None or BY_NAME[words[1]].kind == "uint"):
            source = BY_NAME[words[1]]
            found = (1 << source.bits) - 1 if first is None else first
        case _ if words[0] == "slice":
            found = (1 << int(words[2])) - 1
        case _ if term.op.startswith("select ") and most[2] is not None and most[3] is not None:
            found = max(most[2], most[3])
        case _:
            pass
    if found is None and kind.kind == "uint":
        return (1 << kind.bits) - 1
    return found if found is not None and found < 1 << (kind.bits - (kind.kind == "int")) else None


def _changes_sign(source: DType, target: DType) -> bool:
    """Whether a wider word of the other sign is made: its bits are those of the wider word of the same sign."""
    return not source.is_float and not target.is_float and source.bits < target.bits and source.kind != target.kind


def _is_ring(term: Term) -> bool:
    """Whether the low bits depend on the operands' low bits only."""
    return term.op in _RING or (term.op == "<<" and term.args[1].op == "constant")


def _source(term: Term) -> DType | None:
    """The type from which a conversion converts."""
    words = term.op.split(".")
    return BY_NAME[words[1]] if words[0] == "cast" else None


def fits(term: Term, narrow: DType) -> bool:
    """Whether a value is seen to be one of `narrow`."""
    if term.op == "constant":
        least = -(1 << (narrow.bits - 1)) if narrow.kind == "int" else 0
        return least <= term.data[0] < least + (1 << narrow.bits)
    if term.op == "&" and narrow.kind == "uint":
        return any(a.op == "constant" and fits(a, narrow) for a in term.args)
    if term.op in _ORDERED:
        return all(fits(a, narrow) for a in (term.args[:1] if term.op == ">>" else term.args))
    source = _source(term)
    if source is None or source.is_float:
        return False
    target = BY_NAME[term.op.split(".")[2]]
    return is_exact(source, narrow) and is_exact(source, target)  # a negative number as an unsigned word is a large one
