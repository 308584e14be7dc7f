"""Terms of two threads as whole numbers, for questions to z3 in linear arithmetic.

    value of a term  = constant + sum of coefficient * monomial
    monomial         = product of atoms                            one variable for z3
    atom             = a number of thread 1 or of thread 2, or one that both share

Widths are exact: the signed value of a word is a sum less 2^width times an open number, and lies in the range of the width. Only
addresses are taken not to wrap. What is not understood is an open number: less is known than could be, so `Unsat` is right, and
`Sat` may show values that cannot occur.

z3 gets monomials as variables. What it has to know of products are the lemmas of `Products`: for a shared u >= 0 and a whole
number q, the product is 0 where q is, at least u where q >= 1, and at most -u where q <= -1; for u <= 0 the other way round. With
the bounds of columns this is how `row * width + column` tells rows apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from types import MappingProxyType

from warploom.core.linear import Linear, collected, variable
from warploom.ptx.launches.intervals import Rounds
from warploom.ptx.launches.spread import Spread, Spreads
from warploom.ptx.launches.turning import Turn
from warploom.ptx.symbolic import LANES, LaunchLimits, Term, linear, signed
from warploom.solve import BOOL, INT, Builder, Handle, Unsat

_LARGEST_SUM = 40
"""Monomials of a product that is multiplied out."""
_RANGE_RLIMIT = 200_000
"""z3's resource units to see whether a sum wraps."""
_MASKS = tuple((1 << bits) - 1 for bits in range(4, 15))
"""Limits that are tried for values joined bit by bit, where their range is not plain: offsets in shared memory."""
_WHOLE_WORD = (1 << 32) - 1
"""An open number of this extent is taken not to wrap in an address."""
_WIDEST = 1 << 21
"""Bytes of one access are fewer."""
AXES = ("x", "y", "z")
MOST_THREADS = 1 << 31
"""Threads along one axis of a launch are fewer."""


@dataclass(frozen=True, slots=True, order=True)
class Atom:
    name: str
    who: int
    """1 or 2; 0: both threads have the same number."""


Monomial = tuple[Atom, ...]
Number = Linear[Monomial]


def constant(value: int) -> Number:
    return Linear((), value)


def _name(monomial: Monomial) -> str:
    return "*".join(f"{a.name}@{a.who}" for a in monomial)


def times(x: Number, y: Number) -> Number | None:
    """None: too many monomials."""
    if len(x.terms) * len(y.terms) > _LARGEST_SUM:
        return None
    parts = [*((m, c * y.constant) for m, c in x.terms), *((m, c * x.constant) for m, c in y.terms)]
    parts += [(tuple(sorted((*m, *n))), c * d) for m, c in x.terms for n, d in y.terms]
    return collected(parts, x.constant * y.constant)


class Pair:
    """Two threads of one launch, and the conditions under which they are looked at."""

    def __init__(
        self,
        limits: LaunchLimits,
        shared: Callable[[Term], bool],
        rounds: tuple[Rounds, Rounds],
        turning: Mapping[Term, Turn] = MappingProxyType({}),
        spreads: Spreads | None = None,
    ) -> None:
        """shared: says of a term that both threads have the same value for it. rounds: of the loops that threads run in step."""
        self._turning = turning
        self._spreads = spreads or Spreads(limits)
        self.builder = Builder()
        self.conditions: list[Handle] = []
        self._limits = limits
        self._shared = shared
        self._rounds = {who: {h: r for h, r in rounds[who - 1] if not r.is_of_barrier} for who in (1, 2)}
        self._of_barrier = {h: r.later for of_one in rounds for h, r in of_one if r.is_of_barrier}
        self._ranged: dict[tuple[Term, int, int], Number] = {}
        self._values: dict[tuple[Term, int], Number] = {}
        self._truths: dict[tuple[Term, int], Handle] = {}
        self.products: set[Monomial] = set()
        self._least_and_most: dict[Monomial, tuple[int, int]] = {}
        self._never_negative: set[Atom] = set()
        self._no_wraps: set[tuple[Number, int]] = set()
        self._with_lane: set[int] = set()
        """Threads whose lane and warp are known by the number of the thread."""

    # numbers for z3

    def handle(self, number: Number) -> Handle:
        b = self.builder
        total = b.sum([(c, self._variable(m)) for m, c in number.terms])
        return b.add(total, b.constant(number.constant, INT)) if number.constant else total

    def _variable(self, monomial: Monomial) -> Handle:
        if len(monomial) > 1 and monomial not in self.products:
            self.products.add(monomial)
            self._limited(monomial)
            if self._never_negative.issuperset(monomial):
                self.require(self.at_least(variable(monomial), constant(0)))
        return self.builder.variable(_name(monomial), INT)

    @staticmethod
    def found(number: Number, values: Mapping[str, bool | int | Fraction]) -> int:
        """The number in an answer of z3's; what the answer leaves out counts 0."""
        return number.at({m: int(values.get(_name(m), 0)) for m, _ in number.terms})

    def _limited(self, monomial: Monomial) -> None:
        """The first thread of a block is one of fewer than 2^31 along an axis."""
        first: Number = variable(monomial)
        for axis in AXES:
            if sorted(a.name for a in monomial) == [f"ctaid.{axis}", f"ntid.{axis}"]:
                size: Number = variable((Atom(f"ntid.{axis}", 0),))
                self.require(self.at_least(first, constant(0)))
                self.require(self.at_least(constant(MOST_THREADS), first.plus(size)))

    def require(self, condition: Handle) -> None:
        self.conditions.append(condition)

    def at_least(self, x: Number, y: Number) -> Handle:
        return self.builder.at_least(self.handle(x.plus(y, -1)), self.builder.constant(0, INT))

    def is_zero(self, x: Number) -> Handle:
        return self.builder.equal(self.handle(x), self.builder.constant(0, INT))

    def implies(self, condition: Handle, then: Handle) -> Handle:
        return self.builder.either([self.builder.negation(condition), then])

    def atom(self, name: str, who: int, low: int | None = None, high: int | None = None) -> Number:
        """An open number from low to high."""
        made = variable((Atom(name, who),))
        if low is not None:
            self.require(self.at_least(made, constant(low)))
            if low >= 0:
                self._never_negative.add(made.terms[0][0][0])
        if high is not None:
            self.require(self.at_least(constant(high), made))
        if low is not None and high is not None and high - low < _WHOLE_WORD:
            self._least_and_most[made.terms[0][0]] = low, high
        return made

    def modulo(self, number: Number, width: int) -> Number:
        """A difference of addresses after it wraps. Products, and numbers without bounds, are taken not to."""
        low = high = number.constant
        for monomial, coefficient in number.terms:
            least, most = self._least_and_most.get(monomial, (0, 0))
            low += min(coefficient * least, coefficient * most)
            high += max(coefficient * least, coefficient * most)
        if max(-low, high) < (1 << width) - _WIDEST:
            return number
        return number.plus(self.atom("wraps of the address", 0), 1 << width)

    def draw_apart(self, term: Term, apart: int) -> bool:
        """Requires that the threads' values differ by so much, if both have been asked for; whether they have."""
        if (term, 1) not in self._values or (term, 2) not in self._values:
            return False
        first, second = self._values[term, 1], self._values[term, 2]
        self.require(
            self.builder.either([self.at_least(first, second.shifted(apart)), self.at_least(second, first.shifted(apart))])
        )
        return True

    def _who(self, term: Term, who: int) -> int:
        return 0 if self._shared(term) else who

    # terms

    def define(self, term: Term, who: int, number: Number) -> None:
        """Before the term is first asked for: its value."""
        self._values[term, who] = number

    def take_as_signed(self, term: Term, who: int) -> None:
        """The sum or product does not wrap when it is read as signed, wherever its value is met."""
        value, half = self.value(term, who), 1 << (term.width - 1)
        self.require(self.at_least(value, constant(-half)))
        self.require(self.at_least(constant(half - 1), value))
        self._no_wraps.add((value, term.width))

    def value(self, term: Term, who: int) -> Number:
        """A number that is the term's value modulo 2^width."""
        who = self._who(term, who)
        found = self._values.get((term, who))
        if found is None:
            found = self._values[term, who] = self._value(term, who)
        return found

    def unsigned(self, term: Term, who: int) -> Number:
        """The value from 0 to 2^width - 1."""
        return self._in_range(term, who, 0, (1 << term.width) - 1)

    def signed(self, term: Term, who: int) -> Number:
        """The value in two's complement."""
        half = 1 << (term.width - 1)
        return self._in_range(term, who, -half, half - 1)

    def _in_range(self, term: Term, who: int, low: int, high: int) -> Number:
        who = self._who(term, who)
        found = self._ranged.get((term, who, low))
        if found is None:
            found = self._ranged[term, who, low] = self._found_in_range(term, who, low, high)
        return found

    def _found_in_range(self, term: Term, who: int, low: int, high: int) -> Number:
        value, size = self.value(term, who), 1 << term.width
        if not value.terms:
            return constant((value.constant - low) % size + low)
        if (low < 0 and (value, term.width) in self._no_wraps) or self._lies(value, low, high):
            return value
        wraps = self.atom(f"wraps{term.serial}.{low}", who)
        result = self.atom(f"t{term.serial}.{low}", who, low, high)
        self.require(self.is_zero(result.plus(value, -1).plus(wraps, size)))
        return result

    def _lies(self, value: Number, low: int, high: int) -> bool:
        """Whether what is required so far keeps a number in a range."""
        b = self.builder
        within = b.both([self.at_least(value, constant(low)), self.at_least(constant(high), value)])
        return isinstance(b.check([*self.conditions, b.negation(within)], _RANGE_RLIMIT), Unsat)

    def _bounds(self, term: Term) -> tuple[int, int] | None:
        return self._limits.bounds(str(term.data[0]))

    def _open(self, term: Term, who: int) -> Number:
        if term.width >= 64:
            return self.atom(f"t{term.serial}", who)
        half = 1 << (term.width - 1)
        return self.atom(f"t{term.serial}", who, -half, half - 1)

    def _value(self, term: Term, who: int) -> Number:
        if term.width == 1 and term.op not in ("const", "trunc"):
            flag = self.atom(f"t{term.serial}", who, 0, 1)
            self.require(self.builder.equal(self.truth(term, who), self.is_zero(flag.shifted(-1))))
            return flag
        match term.op:
            case "const" | "sum":
                offset, parts = linear(term)
                total = constant(signed(offset, term.width))
                for part, coefficient in parts:
                    total = total.plus(self.value(part, who), signed(coefficient, term.width))
                return total
            case "product":
                product: Number | None = constant(1)
                for part in term.args:
                    product = None if product is None else times(product, self.value(part, who))
                return product or self._open(term, who)
            case "special":
                return self._special(term, who)
            case "zext":
                return self.unsigned(term.args[0], who)
            case "sext":
                return self.signed(term.args[0], who)
            case "trunc":
                return self.value(term.args[0], who)
            case "high":
                return self._quotient(term, self.unsigned(term.args[0], who), 1 << int(term.data[0]), who)
            case "udiv" if term.args[1].value:
                return self._quotient(term, self.unsigned(term.args[0], who), int(term.args[1].data[0]), who)
            case "select":
                return self._chosen(term, who)
            case "smin" | "smax" | "umin" | "umax":
                return self._extreme(term, who)
            case "counter":
                return self._counter(term, who)
            case "loop" if term in self._turning:
                return self._turned(self._turning[term], term, who)
            case "and":
                if (spread := self._spreads.of(term)) is not None:
                    return self._spread(spread, term, who)
                return self.atom(f"t{term.serial}", who, 0, self._least_mask(term))
            case "or" | "xor":
                return self._joined(term, who)
            case _:
                return self._open(term, who)

    def _spread(self, spread: Spread, term: Term, who: int) -> Number:
        step = spread.step
        return self.atom(f"t{term.serial}", who, spread.least // step, spread.most // step).scaled(step)

    def _joined(self, term: Term, who: int) -> Number:
        """A sum at most, and below a power of two if all its parts are."""
        if (spread := self._spreads.of(term)) is not None:
            return self._spread(spread, term, who)
        made = self.atom(f"t{term.serial}", who, 0, (1 << term.width) - 1)
        parts = [self.unsigned(a, who) for a in term.args]
        total = reduce(lambda x, y: x.plus(y), parts)
        self.require(self.at_least(total, made))
        whole = (1 << term.width) - 1
        known = {self._mask(a) for a in term.args} - {whole}
        for mask in sorted(known) or [m for m in _MASKS if m < whole]:
            limit = constant(mask)
            below = self.builder.both([self.at_least(limit, part) for part in parts])
            self.require(self.implies(below, self.at_least(limit, made)))
        return made

    def _mask(self, term: Term) -> int:
        """Ones wherever the value can have a one."""
        whole = (1 << term.width) - 1
        match term.op:
            case "const":
                return (1 << signed(int(term.data[0]), term.width + 1).bit_length()) - 1
            case "zext" | "trunc":
                return min(whole, self._mask(term.args[0]))
            case "and":
                return min(self._mask(a) for a in term.args)
            case "or" | "xor":
                return max(self._mask(a) for a in term.args)
            case "high":
                return self._mask(term.args[0]) >> int(term.data[0])
            case "special" if (bounds := self._bounds(term)) is not None:
                return (1 << bounds[1].bit_length()) - 1
            case _:
                return whole

    @staticmethod
    def _least_mask(term: Term) -> int:
        return min([a.value for a in term.args if a.value is not None], default=(1 << term.width) - 1)

    def _special(self, term: Term, who: int) -> Number:
        if term.data[0] == "laneid" and who:
            return self.lane(who)
        bounds = self._bounds(term)
        if bounds is None:
            return self._open(term, who)
        if bounds[0] == bounds[1]:
            return constant(bounds[0])
        return self.register(str(term.data[0]), who)

    def register(self, name: str, who: int) -> Number:
        """A special register with known bounds; of thread and block below their numbers."""
        root, _, axis = name.partition(".")
        if root in ("ntid", "nctaid"):
            who = 0
        bounds = self._limits.bounds(name)
        assert bounds is not None
        if bounds[0] == bounds[1]:
            return constant(bounds[0])
        made = self.atom(name, who, *bounds)
        if root in ("tid", "ctaid"):
            self.require(self.at_least(self.register(f"n{root}.{axis}", 0), made.shifted(1)))
        return made

    def lane(self, who: int) -> Number:
        """Warps are of consecutive threads (CUDA C++ Programming Guide, SIMT architecture)."""
        self.warp(who)
        return variable((Atom("laneid", who),))

    def warp(self, who: int) -> Number:
        """The number of the thread's warp in its block."""
        warp = variable((Atom("warp", who),))
        if who not in self._with_lane:
            self._with_lane.add(who)
            self.atom("warp", who, 0)
            first = self.atom("laneid", who, 0, LANES - 1).plus(warp, LANES)
            row = self._times(self.register("ntid.y", 0), self.register("tid.z", who), who).plus(self.register("tid.y", who))
            thread = self._times(self.register("ntid.x", 0), row, who).plus(self.register("tid.x", who))
            self.require(self.is_zero(first.plus(thread, -1)))
        return warp

    def differ_beyond(self, bits: int) -> Handle:
        """The threads are of different warps, or their lanes differ in another bit than these."""
        b = self.builder
        differ = [b.negation(self.is_zero(self.warp(1).plus(self.warp(2), -1)))]
        others = [n for n in range((LANES - 1).bit_length()) if not bits >> n & 1]
        for who in (1, 2) if others else ():
            lane = constant(0)
            for n in range((LANES - 1).bit_length()):
                lane = lane.plus(self.atom(f"lane bit {n}", who, 0, 1), 1 << n)
            self.require(self.is_zero(self.lane(who).plus(lane, -1)))
        for n in others:
            first, second = (variable((Atom(f"lane bit {n}", who),)) for who in (1, 2))
            differ.append(b.negation(self.is_zero(first.plus(second, -1))))
        return b.either(differ)

    def _times(self, x: Number, y: Number, who: int) -> Number:
        return times(x, y) or self.atom("thread of many", who)

    def _quotient(self, term: Term, value: Number, by: int, who: int) -> Number:
        result = self.atom(f"t{term.serial}", who, 0)
        rest = value.plus(result, -by)
        self.require(self.at_least(rest, constant(0)))
        self.require(self.at_least(constant(by - 1), rest))
        return result

    def _chosen(self, term: Term, who: int) -> Number:
        condition, x, y = term.args
        result = self._open(term, who)
        truth = self.truth(condition, who)
        self.require(self.implies(truth, self.is_zero(result.plus(self.signed(x, who), -1))))
        self.require(self.builder.either([truth, self.is_zero(result.plus(self.signed(y, who), -1))]))
        return result

    def _extreme(self, term: Term, who: int) -> Number:
        read = self.signed if term.op in ("smin", "smax") else self.unsigned
        x, y = (read(a, who) for a in term.args)
        result = self.atom(f"t{term.serial}", who)
        for one in (x, y):
            self.require(self.at_least(one, result) if term.op.endswith("min") else self.at_least(result, one))
        self.require(self.builder.either([self.is_zero(result.plus(x, -1)), self.is_zero(result.plus(y, -1))]))
        return result

    def _turned(self, turn: Turn, term: Term, who: int) -> Number:
        result, round_ = self._open(term, who), self.value(turn.counter, who)
        length = len(turn.again)
        turns = self.atom(f"turns{term.serial}", who, 0)
        at = [self.is_zero(round_.shifted(-n)) for n in range(len(turn.first))]
        at += [
            self.is_zero(round_.shifted(-len(turn.first) - n).plus(turns, -length)) for n in range(length)
        ]  # fmt: skip
        ways = [
            self.builder.both([here, self.is_zero(result.shifted(-signed(number, term.width)))])
            for here, number in zip(at, (*turn.first, *turn.again), strict=True)
        ]
        self.require(self.builder.either(ways))
        return result

    def _counter(self, term: Term, who: int) -> Number:
        header = int(term.data[0])
        for known in self._rounds.values() if who == 0 else (self._rounds.get(who, {}),):
            if (found := known.get(header)) is not None and found.later is not None:
                first = self._round(header) if found.is_relative else constant(0)
                if found.later < 0:
                    self.require(self.at_least(first, constant(-found.later)))
                return first.shifted(found.later)
            if found is not None and found.is_past:
                earlier = self.atom(f"t{term.serial}", who, 0)
                self.require(self.at_least(self._round(header), earlier))
                return earlier
            if found is not None and found.is_relative:
                later = self.atom(f"t{term.serial}", who)
                self.require(self.at_least(later, self._round(header).shifted(1)))
                return later
        return self.atom(f"t{term.serial}", who, 0)

    def _round(self, header: int) -> Number:
        """The round of the loop in which the barrier stands."""
        made = self.atom(f"round{header}", 0, 0)
        known = self._of_barrier.get(header)
        if known is not None:
            self.require(self.is_zero(made.shifted(-known)))
        return made

    # predicates

    def truth(self, term: Term, who: int) -> Handle:
        who = self._who(term, who)
        found = self._truths.get((term, who))
        if found is None:
            found = self._truths[term, who] = self._truth(term, who)
        return found

    def _truth(self, term: Term, who: int) -> Handle:
        b = self.builder
        match term.op:
            case "const":
                return b.true if term.value else b.false
            case "sum":
                offset, parts = linear(term)
                found = reduce(lambda x, y: b.bitwise("^", x, y), (self.truth(p, who) for p, _ in parts))
                return b.negation(found) if offset else found
            case "trunc":
                return self.is_zero(self.unsigned(term, who).shifted(-1))
            case "and":
                return b.both([self.truth(a, who) for a in term.args])
            case "select":
                condition, x, y = (self.truth(a, who) for a in term.args)
                return b.either([b.both([condition, x]), b.both([b.negation(condition), y])])
            case "eq" if term.args[0].width > 1:
                return self.is_zero(self.signed(term.args[0], who))
            case "slt" | "ult" if term.args[0].width > 1:
                read = self.signed if term.op == "slt" else self.unsigned
                x, y = (read(a, who) for a in term.args)
                return b.negation(self.at_least(x, y))
            case _:
                return b.variable(f"holds{term.serial}@{who}", BOOL)


class Products:
    """Lemmas for z3 about the products in a sum that it is asked about."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._said: set[tuple[Atom, Number]] = set()

    def explain(self, number: Number) -> None:
        """Adds the lemmas for each shared factor, and for what it multiplies."""
        factors = {a for m, _ in number.terms if len(m) > 1 for a in m if a.who == 0}
        for factor in sorted(factors):
            multiplied: list[tuple[Monomial, int]] = []
            alone = 0
            for monomial, coefficient in number.terms:
                if monomial == (factor,):
                    alone = coefficient
                elif factor in monomial:
                    rest = list(monomial)
                    rest.remove(factor)
                    multiplied.append((tuple(rest), coefficient))
            inner = collected(multiplied, alone)
            content = inner.divisor or 1
            inner = inner.divided(content) or inner
            self._explained(factor, inner)

    def relate(self, number: Number) -> None:
        """The same for differences to products of conditions: `row * width` in the number, `height * width` in them."""
        for factor in sorted({a for m, _ in number.terms if len(m) > 1 for a in m if a.who == 0}):
            part = collected([(m, c) for m, c in number.terms if len(m) > 1 and factor in m], 0)
            part = part.divided(part.divisor or 1) or part
            for other in sorted(self._pair.products):
                if factor in other and other not in dict(number.terms):
                    self.explain(variable(other).plus(part, -1))

    def _explained(self, factor: Atom, inner: Number) -> None:
        if (factor, inner) in self._said:
            return
        self._said.add((factor, inner))
        pair, b = self._pair, self._pair.builder
        size = variable((factor,))
        product = times(size, inner)
        if product is None:
            return
        pair.require(pair.implies(pair.is_zero(inner), pair.is_zero(product)))
        for sign in (1, -1):
            has_sign = pair.at_least(size.scaled(sign), constant(0))
            above = b.both([has_sign, pair.at_least(inner, constant(1))])
            below = b.both([has_sign, pair.at_least(constant(-1), inner)])
            pair.require(pair.implies(above, pair.at_least(product.plus(size, -1).scaled(sign), constant(0))))
            pair.require(pair.implies(below, pair.at_least(constant(0), product.plus(size).scaled(sign))))
        self.explain(inner)
