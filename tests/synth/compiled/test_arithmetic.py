"""Instructions on data give terms whose value is what the interpreter computes from the numbers."""

import operator
import random
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from tests.synth.compiled.programs import body

from warploom.core import BY_NAME, DType, f32, i32, u16, u32, u64
from warploom.ptx import launch, lower, parse
from warploom.synth.compiled import ArrayArgument, ScalarArgument, run_symbolically
from warploom.synth.compiled.arithmetic import Arithmetic, NotFollowedError, _under_mask, _with_number
from warploom.synth.compiled.bit_fields import BitFields
from warploom.synth.compiled.comparison import Comparison
from warploom.synth.compiled.data import Data, Joined, Undefined, Value
from warploom.synth.compiled.numbers import value_of
from warploom.synth.compiled.quotients import quotient
from warploom.terms import Term, algebra_for, apply, atom, constant

THREE = ".param .u64 out, .param .u64 in, .param .u32 a, .param .u32 b, .param .u32 c"
LOADS = "\tld.param.u32 %r2, [a];\n\tld.param.u32 %r3, [b];\n\tld.param.u32 %r4, [c];\n"

WORDS = (
    "add.s32 %r9, %r2, %r3;",
    "sub.s32 %r9, %r2, %r3;",
    "sub.u32 %r9, 7, %r3;",
    "mul.lo.s32 %r9, %r2, %r3;",
    "mad.lo.s32 %r9, %r2, %r3, %r4;",
    "mul.lo.u32 %r9, %r2, 12;",
    "and.b32 %r9, %r2, %r3;",
    "or.b32 %r9, %r2, %r3;",
    "xor.b32 %r9, %r2, -1;",
    "not.b32 %r9, %r2;",
    "neg.s32 %r9, %r2;",
    "abs.s32 %r9, %r2;",
    "shl.b32 %r9, %r2, 5;",
    "shl.b32 %r9, %r2, 32;",
    "shr.u32 %r9, %r2, 7;",
    "shr.s32 %r9, %r2, 7;",
    "shr.s32 %r9, %r2, 40;",
    "shr.u32 %r9, %r2, 40;",
    "min.s32 %r9, %r2, %r3;",
    "max.u32 %r9, %r2, %r3;",
    "mul.hi.s32 %r9, %r2, %r3;",
    "mul.hi.u32 %r9, %r2, %r3;",
    "mul.wide.s32 %rd9, %r2, %r3;\n\tmov.b64 {%r8, %r9}, %rd9;",
    "mul.wide.u32 %rd9, %r2, %r3;\n\tmov.b64 {%r9, %r8}, %rd9;",
    "mad.wide.u32 %rd9, %r2, %r3, %rd2;\n\tsub.s64 %rd9, %rd9, %rd2;\n\tcvt.u32.u64 %r9, %rd9;",
    "div.u32 %r9, %r2, %r3;",
    "rem.s32 %r9, %r2, %r3;",
    "bfe.u32 %r9, %r2, 8, 16;",
    "bfe.u32 %r9, %r2, 3, 7;",
    "bfe.s32 %r9, %r2, 3, 7;",
    "bfi.b32 %r9, %r2, %r3, 8, 8;",
    "bfi.b32 %r9, %r2, %r3, 5, 9;",
    "prmt.b32 %r9, %r2, %r3, 0x5410;",
    "prmt.b32 %r9, %r2, %r3, 0x1076;",
    "shf.l.wrap.b32 %r9, %r2, %r3, 8;",
    "shf.r.wrap.b32 %r9, %r2, %r3, 16;",
    "shf.r.clamp.b32 %r9, %r2, %r3, 5;",
    "lop3.b32 %r9, %r2, %r3, %r4, 0xe8;",
    "lop3.b32 %r9, %r2, %r3, %r4, 0x96;",
    "lop3.b32 %r9, %r2, %r3, %r4, 0x1d;",
    "mov.b64 %rd9, {%r2, %r3};\n\tshr.u64 %rd9, %rd9, 16;\n\tcvt.u32.u64 %r9, %rd9;",
    "mov.b64 %rd9, {%r2, %r3};\n\tadd.s64 %rd9, %rd9, 5;\n\tmov.b64 {%r8, %r9}, %rd9;",
    "cvt.s64.s32 %rd9, %r2;\n\tshr.u64 %rd9, %rd9, 8;\n\tcvt.u32.u64 %r9, %rd9;",
    "cvt.u64.u32 %rd9, %r2;\n\tshl.b64 %rd9, %rd9, 32;\n\tcvt.u64.u32 %rd8, %r3;\n\tor.b64 %rd9, %rd9, %rd8;\n"
    "\tmov.b64 {%r8, %r9}, %rd9;",
    "add.s32 %r8, %r2, %r3;\n\tcvt.u16.u32 %h1, %r8;\n\tcvt.s32.s16 %r9, %h1;",
    "cvt.u16.u32 %h1, %r2;\n\tmul.wide.u16 %r9, %h1, %h1;",
    "cvt.s32.s8 %r9, %r2;",
    "cvt.u32.u8 %r9, %r2;\n\tadd.s32 %r9, %r9, %r9;",
    "shl.b32 %r8, %r2, 24;\n\tand.b32 %r7, %r3, 255;\n\tor.b32 %r9, %r8, %r7;",
    "cvt.s32.s8 %r7, %r2;\n\tcvt.s32.s8 %r8, %r3;\n\tmax.s32 %r7, %r7, %r8;\n\tshr.u32 %r7, %r7, 2;\n\tcvt.u32.u8 %r9, %r7;",
    "cvt.s32.s8 %r7, %r2;\n\tmin.s32 %r7, %r7, 100;\n\tshr.s32 %r7, %r7, 3;\n\tbfe.u32 %r9, %r7, 8, 8;",
    "cvt.u32.u8 %r7, %r2;\n\tcvt.u32.u8 %r8, %r3;\n\tmax.u32 %r7, %r7, %r8;\n\tand.b32 %r7, %r7, 252;\n\tshr.u32 %r7, %r7, 2;\n"
    "\tcvt.s32.s8 %r9, %r7;",
    "xor.b32 %r8, %r2, %r3;\n\tor.b32 %r8, %r8, 0xff00;\n\tprmt.b32 %r9, %r8, %r2, 0x7123;",
    "cvt.u32.u8 %r7, %r2;\n\tand.b32 %r8, %r7, 255;\n\tsub.s32 %r9, %r8, %r7;",
    "cvt.s32.s16 %r7, %r2;\n\tand.b32 %r9, %r7, 65535;",
    "shr.u32 %r7, %r2, 9;\n\tbfe.u32 %r9, %r7, 4, 8;",
    "setp.lt.s32 %p1, %r1, 3;\n\tselp.b32 %r9, %r2, %r3, %p1;",
    "setp.lt.s32 %p1|%p2, %r1, 3;\n\tselp.b32 %r9, %r2, %r3, %p2;",
    "setp.ge.s32 %p1|%p2, %r1, 3;\n\tselp.b32 %r9, %r2, %r3, %p2;",
)
"""From symbolic %r2, %r3, %r4 to %r9."""


@pytest.mark.parametrize("code", WORDS)
def test_words_of_data_are_what_the_interpreter_computes(code: str) -> None:
    text = body(LOADS + "\t" + code + "\n\tst.global.u32 [%rd1], %r9;", THREE)
    arguments = (
        ArrayArgument("out", u32, (1,)),
        ArrayArgument("in", u32, (1,)),
        *(ScalarArgument(name, u32, None) for name in "abc"),
    )
    program = lower(parse(text, "word.ptx"))
    run = run_symbolically(program, None, arguments, (1, 1, 1), (1, 1, 1))
    content = run.arrays["out"].load(0, 4, run.data)
    rng = random.Random(code)
    for _ in range(12):
        numbers = {
            name: rng.choice([rng.getrandbits(32), rng.getrandbits(8), -rng.getrandbits(8) & 0xFFFFFFFF]) | 1 for name in "abc"
        }
        ran = launch(
            program, grid=1, block=1, args=[np.zeros(1, np.uint32), np.zeros(1, np.uint32), *map(np.uint32, numbers.values())]
        )
        assert bits(content, 32, numbers, run.data) == int(ran.arrays[0][0]), (code, numbers)
        if isinstance(content, Term):
            value = value_of(content, run.data.kinds, lambda element, numbers=numbers: numbers[element.data[0]])
            assert value is None or int(value) & 0xFFFFFFFF == int(ran.arrays[0][0]), (code, numbers)
        known = (*arguments[:2], *(ScalarArgument(name, u32, value) for name, value in numbers.items()))
        concrete = run_symbolically(program, None, known, (1, 1, 1), (1, 1, 1))
        assert concrete.arrays["out"].load(0, 4, concrete.data) == int(ran.arrays[0][0]), (code, numbers)


def bits(value: Value, width: int, numbers: Mapping[str, int], data: Data) -> int:
    """The bits of a register's value for given numbers."""
    assert not isinstance(value, Undefined)
    if isinstance(value, int):
        return value
    if isinstance(value, Joined):
        total = low = 0
        for part, count in value.parts:
            total |= bits(part, count, numbers, data) << low
            low += count
        return total
    assert isinstance(value, Term)
    return number(value, data.kind(value), numbers, data) & ((1 << width) - 1)


def wrapped(value: int, kind: DType) -> int:
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if kind.kind == "int" and value >> (kind.bits - 1) else value


def number(term: Term, kind: DType, numbers: Mapping[str, int], data: Data) -> int:
    """A term's value in its kind."""
    if term.op == "atom":
        return numbers[term.data[0]]
    if term.op == "constant":
        return wrapped(term.data[0], kind)
    words = term.op.split(".")
    if words[0] == "cast":
        return wrapped(number(term.args[0], BY_NAME[words[1]], numbers, data), kind)
    if words[0] == "slice":
        return bits(term.args[0], 64, numbers, data) >> int(words[1]) & ((1 << int(words[2])) - 1)
    if term.op in ("<<", ">>"):
        value, amount = number(term.args[0], kind, numbers, data), term.args[1].data[0]
        return wrapped(value << amount if term.op == "<<" else value >> amount, kind)
    # operators without a sign keep the kind of one operand: the bits of the other are read in it
    values = [wrapped(number(a, data.kinds.get(a, kind), numbers, data), kind) for a in term.args]
    match [term.op, *values]:
        case ["+", a, b]:
            return wrapped(a + b, kind)
        case ["-", a, b]:
            return wrapped(a - b, kind)
        case ["*", a, b]:
            return wrapped(a * b, kind)
        case ["&", a, b]:
            return a & b
        case ["|", a, b]:
            return a | b
        case ["^", a, b]:
            return wrapped(a ^ b, kind)
        case ["~", a]:
            return wrapped(~a, kind)
        case ["neg", a]:
            return wrapped(-a, kind)
        case ["abs", a]:
            return wrapped(abs(a), kind)
        case ["min", a, b]:
            return min(a, b)
        case ["max", a, b]:
            return max(a, b)
        case ["div.u32", a, b]:
            return a // b
        case ["rem.i32", a, b]:
            return int(np.fmod(a, b))
        case _:
            raise AssertionError(f"no meaning for {term.op}")


def test_bytes_that_are_cut_and_joined_again_are_the_word() -> None:
    run = run_symbolically(
        lower(parse(body("\tld.global.u32 %r2, [%rd2];\n\tst.global.u32 [%rd1], %r2;"), "k.ptx")), None,
        (ArrayArgument("out", u64, (4,)), ArrayArgument("in", u32, (8,))), (1, 1, 1), (4, 1, 1),
    )  # fmt: skip
    word = run.arrays["in"].load(4, 4, run.data)
    assert isinstance(word, Term)
    data = run.data
    pieces = [(data.extract(word, 8 * k, 8, 32), 8) for k in range(4)]
    assert data.join(pieces) is word
    assert data.join([pieces[0], pieces[2]]) != word
    halves = run.arrays["out"].load(0, 8, run.data)
    assert isinstance(halves, Joined) and [b for _, b in halves.parts] == [32, 32]


def test_only_a_mask_of_ones_leaves_a_narrow_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_under_mask.__globals__, "fits", lambda term, dtype: dtype.bits >= 8)
    word = atom("x", (0,))
    kept = [mask for mask in range(1 << 10) if _under_mask(word, mask) is not None]
    assert kept == [0xFF] and _under_mask(0xFFFF, word) is _under_mask(word, 0xFFFF) is word
    assert _under_mask(word, word) is None and _under_mask(3, 0xFF) is None


@pytest.mark.parametrize("number", [0, 1, 2, 0x80, 0xFFFFFFFE, 0xFFFFFFFF])
@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^"])
def test_a_known_operand_decides_only_what_holds_for_all_words(op: str, number: int) -> None:
    mask, word = 0xFFFFFFFF, atom("x", (0,))
    exact = {"+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor}[
        op
    ]
    for is_left in (True, False):
        found = _with_number(op, number, word, mask, is_left)
        for value in (0, 1, 7, 0x80000000, 0xFFFFFFFF):
            expected = exact(number, value) if is_left else exact(value, number)
            if found is word:
                assert expected & mask == value
            elif found is not None:
                assert found == expected & mask
    neutral = {"+": 0, "-": 0, "|": 0, "^": 0, "*": 1, "&": mask}[op]
    assert _with_number(op, neutral, word, mask, False) is word


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_is_computed_from_an_undefined_value_is_undefined(is_whole: bool) -> None:
    """Also where only some bits are."""
    made = Arithmetic(Data())
    word = made.data.made(atom("x", (0,)), u32)
    bad = Undefined("a lane that is not there", 3)
    given: Value = bad if is_whole else Joined(((made.data.made(atom("y", (0,)), u16), 16), (bad, 16)))
    two = [made.signless("add", u32), made.high_product(u32), made.wide_product(u32), quotient(made, u32, is_remainder=False),
           made.extreme("max", u32),
           made.compare("lt", u32)]  # fmt: skip
    for run in two:
        assert run(given, word) is bad and run(word, given) is bad
    for one in (made.convert(f32, u32, "rn"), made.negate(u32), made.magnitude(i32)):
        assert one(given) is bad


@pytest.mark.parametrize("keeps_nan", [False, True])
def test_the_greater_of_known_floats_is_known(keeps_nan: bool) -> None:
    """Zeros of two signs are equal numbers, so which of them comes out is left open."""
    made = Arithmetic(Data())
    greater, less = (made.extreme(name, f32, keeps_nan=keeps_nan) for name in ("max", "min"))
    words = [int(np.float32(v).view(np.uint32)) for v in (-np.inf, -3.4e38, -1, 0, 1e-45, 2, np.inf)]
    for n, low in enumerate(words):
        for high in words[n:]:
            assert greater(low, high) == greater(high, low) == high and less(low, high) == less(high, low) == low
    zero, below = 0, 0x80000000
    assert isinstance(greater(zero, below), Term)
    x = made.data.made(atom("x", (0,)), f32)
    assert greater(words[0], x) is x and less(x, words[-1]) is x


def test_choices_have_one_form_also_inside_of_other_terms() -> None:
    a, b, x, y, z = (atom(name, (0,)) for name in "abxyz")
    empty = Comparison(algebra_for(i32), dict.fromkeys("abxyz", i32), ())
    forms = [apply("select <", a, b, x, y), apply("select >", b, a, x, y), apply("select >=", a, b, y, x)]
    for inside in (lambda t: t, lambda t: t + z, lambda t: z * (t + z)):
        assert len({Comparison._chosen(empty, inside(form), {}) for form in forms}) == 1
    assert Comparison._chosen(empty, x + z, {}) is x + z


def test_bits_of_known_words_are_counted() -> None:
    counted = {op: BitFields._counted(op, u32) for op in ("popc", "clz", "brev")}
    for number in (0, 1, 0xF0F0, 0x80000000, 0xFFFFFFFF):
        text = f"{number:032b}"
        assert counted["popc"](number) == text.count("1")
        assert counted["clz"](number) == len(text) - len(text.lstrip("0"))
        assert counted["brev"](number) == int(text[::-1], 2)
    with pytest.raises(NotFollowedError, match="depend on data"):
        counted["popc"](atom("x", (0,)))


def test_what_a_choice_on_data_wants_is_a_number_where_all_elements_are_of_the_type() -> None:
    want = apply("select <", atom("x", (0,)), constant(3), constant(7), atom("x", (0,)))
    for types, expected in (({"x": i32}, [[7], [5]]), ({"x": u16}, [None, None]), ({}, [None, None])):
        made = cast(Comparison, SimpleNamespace(algebra=SimpleNamespace(dtype=i32), types=types))
        assert [Comparison._value_of_choice(made, want, lambda t, n=n: n) for n in (2, 5)] == expected
