"""Equality up to sums that do not wrap: the lemma and its use by brute force at 8 bits."""

import random

from tests.ptx.symbolic.test_emulate import emulated, loads

from warploom.ptx.symbolic import (
    Algebra,
    Facts,
    LaunchLimits,
    NoWrap,
    Term,
    TermTable,
    are_equal,
    comparisons,
    counterexample,
    equal_if,
    evaluate,
    holds,
    is_proved,
    stride,
)
from warploom.solve import Sat, Unknown


def signed8(value: int) -> int:
    return (value & 255) - 256 if value & 128 else value & 255


def fits(value: int, condition: NoWrap) -> bool:
    if condition.is_signed:
        return -128 <= signed8(value) + condition.offset < 128
    return 0 <= value + condition.offset < 256


class Byte:
    """Terms over one byte x, with conditions on it."""

    def __init__(self, r: random.Random) -> None:
        self.table = TermTable()
        self.x = self.table.opaque("x", 8)
        plain = Algebra(self.table, Facts(self.table, LaunchLimits()))
        conditions: list[Term] = []
        for _ in range(r.randrange(3)):
            moved = plain.shifted(self.x, r.randrange(256))
            bound = self.table.const(r.randrange(256), 8)
            pair = (moved, bound) if r.randrange(2) else (bound, moved)
            condition = comparisons.less(plain, *pair, is_signed=bool(r.randrange(2)))
            conditions.append(plain.negation(condition) if r.randrange(2) else condition)
        self.algebra = Algebra(self.table, Facts(self.table, LaunchLimits(), [c for c in conditions if c.value is None]))
        self.values = [v for v in range(256) if all(self.value(c, v) for c in conditions)]

    def value(self, term: Term, x: int) -> int:
        return evaluate(term, lambda _leaf, _args: x)


def test_the_lemma_by_brute_force() -> None:
    found = 0
    for seed in range(400):
        r = random.Random(seed)
        byte = Byte(r)
        condition = NoWrap(byte.algebra.shifted(byte.x, r.randrange(256)), r.randrange(-40, 40), 8, bool(r.randrange(2)))
        if holds(byte.algebra, condition):
            assert all(fits(byte.value(condition.term, v), condition) for v in byte.values), (seed, str(condition))
            found += bool(byte.values)
    assert found > 30


def test_matches_hold_by_brute_force() -> None:
    assert sum(matches_by_brute_force(random.Random(seed)) for seed in range(120)) > 80


def matches_by_brute_force(r: random.Random) -> bool:
    byte = Byte(r)
    algebra = byte.algebra
    extend = algebra.sext if r.randrange(2) else algebra.zext
    c, d = r.randrange(256), r.randrange(256)
    target = algebra.scaled(extend(algebra.shifted(byte.x, c), 16), 4)
    near = algebra.scaled(extend(algebra.shifted(byte.x, d), 16), 4)
    source = algebra.shifted(near, 4 * signed8(c - d))
    match = equal_if(algebra, target, source)
    for value in byte.values if match else ():
        if match and all(fits(byte.value(condition.term, value), condition) for condition in match.conditions):
            assert byte.value(target, value) == byte.value(source, value)
    other = equal_if(algebra, target, algebra.shifted(source, 4))
    assert other is None or all(
        any(not fits(byte.value(k.term, value), k) for k in other.conditions)
        or byte.value(target, value) == (byte.value(source, value) + 4) & 0xFFFF
        for value in byte.values
    )
    return match is not None


GUARD = """mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; ld.param.u64 %rd1, [a]; add.s32 %r3, %r2, -1;
    setp.lt.s32 %p1, %r1, 1; setp.ge.s32 %p2, %r1, %r3; or.pred %p3, %p1, %p2; @%p3 bra END;
    {} END:"""
INDEX = "mul.wide.s32 %rd2, {}, 4; add.s64 %rd3, %rd1, %rd2; ld.global.nc.f32 %f1, [%rd3];"


def test_stride_of_an_address() -> None:
    emulation = emulated(GUARD.format(INDEX.format("%r1") + "shl.b32 %r4, %r1, 2;" + INDEX.format("%r4")))
    first, second = loads(emulation)
    tid = emulation.table.special("tid.x")
    assert first.address is not None and second.address is not None
    assert stride(emulation, first.block, first.address, tid) == 4
    assert stride(emulation, second.block, second.address, tid) == 16
    assert stride(emulation, first.block, first.address, emulation.table.special("tid.y")) == 0


def test_the_solver_decides_what_forms_do_not() -> None:
    table = TermTable()
    algebra = Algebra(table, Facts(table, LaunchLimits()))
    x, y = table.opaque("x", 16), table.opaque("y", 16)
    both = table.make("and", 16, (x, y))
    either = table.make("or", 16, (x, y))
    assert are_equal(algebra, algebra.add(both, either), algebra.add(x, y))
    assert not are_equal(algebra, both, either)
    wrong = comparisons.less(algebra, both, either, is_signed=False)
    answer = counterexample(algebra, wrong)
    assert isinstance(answer, Sat)
    assert isinstance(counterexample(algebra, comparisons.equal(algebra, algebra.mul(x, y), both), rlimit=1), Unknown | Sat)
    tid = table.special("tid.x")
    square = table.make("product", 32, (tid, tid))
    assert is_proved(algebra, comparisons.less(algebra, square, table.const(1 << 20, 32), is_signed=False))
