"""Canonical terms against plain integers: every operation, on random operands, evaluates as its definition says."""

import random
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.ptx.symbolic import Algebra, Facts, LaunchLimits, Substitution, Term, TermTable, bitwise, comparisons, evaluate

Definition = Callable[[int, int, int], int]


def mask(width: int) -> int:
    return (1 << width) - 1


def minus(x: int, width: int) -> int:
    return x - (1 << width) if x >> (width - 1) else x


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


class Pair:
    """A term and its value, computed side by side from definitions of our own."""

    def __init__(self, term: Term, value: int) -> None:
        self.term = term
        self.value = value & mask(term.width)


class Builder:
    def __init__(self, seed: int, width: int) -> None:
        self.random = random.Random(seed)
        self.width = width
        self.table = TermTable()
        self.values: dict[Term, int] = {}
        self.algebra = Algebra(self.table, Facts(self.table, LaunchLimits()))
        self.leaves = [self.table.opaque(f"v{n}", width) for n in range(3)]
        for leaf in self.leaves:
            self.values[leaf] = self.random.choice([0, 1, mask(width), 1 << (width - 1), self.random.getrandbits(width)])
        tid = self.table.special("tid.x", 32)
        self.values[tid] = self.random.randrange(1024)
        self.small = self.algebra.trunc(tid, width) if width < 32 else self.algebra.zext(tid, width)
        self.tid = tid

    def leaf(self, term: Term, args: tuple[int, ...]) -> int:
        if term in self.values:
            return self.values[term]
        return 0  # a quotient by zero: the builder never makes one

    def term(self, depth: int) -> Pair:
        r, width, algebra = self.random, self.width, self.algebra
        if depth == 0:
            kind = r.randrange(4)
            if kind == 0:
                value = r.choice([0, 1, 2, 31, 32, mask(width), r.getrandbits(width)])
                return Pair(algebra.const(value, width), value)
            if kind == 1:
                return Pair(self.small, self.values[self.tid])
            leaf = r.choice(self.leaves)
            return Pair(leaf, self.values[leaf])
        x = self.term(depth - 1)
        y = self.term(r.randrange(depth))
        a, b = x.value, y.value
        sa, sb = minus(a, width), minus(b, width)
        amount = r.randrange(width + 3)
        constant = algebra.const(amount, width)
        divisor = r.choice([1, 2, 3, 7, 8, 32])
        half = width // 2
        operation = r.randrange(26)
        match operation:
            case 0:
                return Pair(algebra.add(x.term, y.term), a + b)
            case 1:
                return Pair(algebra.sub(x.term, y.term), a - b)
            case 2:
                return Pair(algebra.mul(x.term, y.term), a * b)
            case 3:
                return Pair(bitwise.bit_and(algebra, x.term, y.term), a & b)
            case 4:
                return Pair(bitwise.bit_or(algebra, x.term, y.term), a | b)
            case 5:
                return Pair(bitwise.bit_xor(algebra, x.term, y.term), a ^ b)
            case 6:
                return Pair(bitwise.bit_not(algebra, x.term), ~a)
            case 7:
                return Pair(bitwise.shift_left(algebra, x.term, constant), a << amount if amount < width else 0)
            case 8:
                return Pair(bitwise.shift_right(algebra, x.term, constant, is_signed=False), a >> amount)
            case 9:
                return Pair(bitwise.shift_right(algebra, x.term, constant, is_signed=True), sa >> amount)
            case 10:
                d = algebra.const(divisor, width)
                return Pair(bitwise.divide(algebra, x.term, d, is_signed=False), a // (divisor & mask(width)))
            case 11:
                d = algebra.const(divisor, width)
                return Pair(bitwise.divide(algebra, x.term, d, is_signed=True), truncated(sa, minus(divisor, width)))
            case 12:
                d = algebra.const(divisor, width)
                return Pair(bitwise.remainder(algebra, x.term, d, is_signed=False), a % divisor)
            case 13:
                d = algebra.const(divisor, width)
                return Pair(bitwise.remainder(algebra, x.term, d, is_signed=True), sa - divisor * truncated(sa, divisor))
            case 14:
                return Pair(algebra.zext(algebra.trunc(x.term, half), width), a & mask(half))
            case 15:
                return Pair(algebra.sext(algebra.trunc(x.term, half), width), minus(a & mask(half), half))
            case 16:
                return Pair(algebra.high(algebra.zext(algebra.add(x.term, y.term), 2 * width), width), 0)
            case 17:
                return Pair(bitwise.multiply_high(algebra, x.term, y.term, is_signed=False), (a * b) >> width)
            case 18:
                return Pair(bitwise.multiply_high(algebra, x.term, y.term, is_signed=True), (sa * sb) >> width)
            case 19:
                c = comparisons.less(algebra, x.term, y.term, is_signed=False)
                return Pair(algebra.select(c, x.term, y.term), min(a, b))
            case 20:
                c = comparisons.less_or_equal(algebra, x.term, y.term, is_signed=True)
                return Pair(algebra.select(c, y.term, x.term), max(sa, sb))
            case 21:
                c = comparisons.equal(algebra, x.term, y.term)
                return Pair(algebra.select(algebra.negation(c), algebra.const(5, width), y.term), 5 if a != b else b)
            case 22:
                name = r.choice(["umin", "umax", "smin", "smax"])
                left, right = (a, b) if name[0] == "u" else (sa, sb)
                return Pair(comparisons.chosen(algebra, name, x.term, y.term), (min if name[1:] == "min" else max)(left, right))
            case 23:
                start, length = r.randrange(width), r.randrange(width)
                found = bitwise.bit_field(
                    algebra, x.term, algebra.const(start, width), algebra.const(length, width), is_signed=False
                )
                assert found is not None
                return Pair(found, (a >> start) & mask(length))
            case 24:
                start, length = r.randrange(width), r.randrange(width)
                found = bitwise.bit_insert(algebra, x.term, y.term, algebra.const(start, width), algebra.const(length, width))
                assert found is not None
                kept = b & ~(mask(length) << start)
                return Pair(found, kept | (a & mask(length)) << start)
            case _:
                p = comparisons.less(algebra, x.term, y.term, is_signed=True)
                q = comparisons.equal(algebra, bitwise.bit_and(algebra, y.term, algebra.const(6, width)), algebra.const(2, width))
                either = algebra.zext(algebra.disjunction(p, q), width)
                both = algebra.zext(algebra.conjunction(p, q), width)
                truth = (sa < sb, b & 6 == 2)
                return Pair(algebra.add(either, both, 2), any(truth) + 2 * all(truth))


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from([8, 16, 32, 64]), st.integers(1, 5))
def test_terms_evaluate_as_their_definitions(seed: int, width: int, depth: int) -> None:
    builder = Builder(seed, width)
    pair = builder.term(depth)
    assert evaluate(pair.term, builder.leaf) == pair.value, str(pair.term)


def with_facts(builder: Builder) -> None:
    """Gives the builder facts that hold for its values."""
    r, algebra = builder.random, builder.algebra
    conditions: list[Term] = []
    for _ in range(r.randrange(1, 5)):
        x, y = builder.term(r.randrange(3)), builder.term(r.randrange(2))
        sx, sy = minus(x.value, builder.width), minus(y.value, builder.width)
        choices = [
            (comparisons.less(algebra, x.term, y.term, is_signed=True), sx < sy),
            (comparisons.less(algebra, x.term, y.term, is_signed=False), x.value < y.value),
            (comparisons.equal(algebra, x.term, y.term), x.value == y.value),
        ]
        condition, holds = r.choice(choices)
        conditions.append(condition if holds else algebra.negation(condition))
    builder.algebra = Algebra(builder.table, Facts(builder.table, LaunchLimits(), conditions))


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from([8, 16, 32]), st.integers(1, 4))
def test_facts_that_hold_change_no_value(seed: int, width: int, depth: int) -> None:
    builder = Builder(seed, width)
    with_facts(builder)
    pair = builder.term(depth)
    wide = builder.algebra.sext(pair.term, 2 * width)
    assert evaluate(wide, builder.leaf) == minus(pair.value, width) & mask(2 * width), str(pair.term)
    wide = builder.algebra.zext(pair.term, 2 * width)
    assert evaluate(wide, builder.leaf) == pair.value, str(pair.term)
    low, high = builder.algebra.facts.unsigned(pair.term)
    assert low <= pair.value <= high
    low, high = builder.algebra.facts.signed(pair.term)
    assert low <= minus(pair.value, width) <= high


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from([8, 32]))
def test_substitution_is_evaluation_at_other_values(seed: int, width: int) -> None:
    builder = Builder(seed, width)
    pair = builder.term(4)
    replaced = {leaf: builder.term(1) for leaf in builder.leaves}
    new = Substitution(builder.algebra, {leaf: p.term for leaf, p in replaced.items()})(pair.term)
    expected = evaluate(pair.term, lambda t, a: replaced[t].value if t in replaced else builder.leaf(t, a))
    assert evaluate(new, builder.leaf) == expected
