"""Plain specs about data besides arithmetic, against kernels that compute it."""

import functools
import math
from math import sqrt
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from tests.synth.compiled.programs import body, proved

from warploom.core import DType, UserError, f32, i8, i32, u8, u32
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof, run_plain_spec
from warploom.tools.ptx.specs import load_spec

FLOATS: tuple[Argument, ...] = (ArrayArgument("out", f32, (4,)), ArrayArgument("a", f32, (4,)))
WORDS: tuple[Argument, ...] = (ArrayArgument("out", i32, (4,)), ArrayArgument("a", i32, (4,)))


def floats(lines: str, spec) -> CompiledProof:
    text = body("\tld.global.f32 %f1, [%rd2];\n" + lines + "\tst.global.f32 [%rd1], %f2;\n")
    return proved(text, spec, FLOATS, 1, 4)


def words(lines: str, spec) -> str:
    text = body("\tld.global.u32 %r2, [%rd2];\n" + lines + "\tst.global.u32 [%rd1], %r3;\n")
    return proved(text, spec, WORDS, 1, 4).verdict


def exponent(out, a):
    for i in range(4):
        out[i] = math.exp(a[i])


def root(out, a):
    for i in range(4):
        out[i] = 1 / sqrt(a[i])


def logarithm(out, a):
    for i in range(4):
        out[i] = np.log(a[i])


def size(out, a):
    for i in range(4):
        out[i] = abs(a[i])


EXP = "\tmul.f32 %f2, %f1, 0f3FB8AA3B;\n\tex2.approx.ftz.f32 %f2, %f2;\n"


def test_functions_and_what_the_domain_says_of_them() -> None:
    proof = floats(EXP, exponent)
    assert proof.verdict == "proved"
    assert "exp(x) as ex2(x * 0f3FB8AA3B)" in proof.domain and "ex2.approx.ftz taken as exact" in proof.domain
    assert floats(EXP.replace("0f3FB8AA3B", "0f3FB8AA3C"), exponent).verdict == "unchecked"
    assert floats(EXP.replace("ex2", "lg2"), exponent).verdict == "unchecked"
    proof = floats("\tlg2.approx.f32 %f2, %f1;\n\tmul.f32 %f2, %f2, 0f3F317218;\n", logarithm)
    assert proof.verdict == "proved" and "log(x) as lg2(x) * 0f3F317218" in proof.domain
    assert floats("\trsqrt.approx.f32 %f2, %f1;\n", root).verdict == "proved"
    assert floats("\tsqrt.rn.f32 %f2, %f1;\n\trcp.rn.f32 %f2, %f2;\n", root).verdict == "proved"
    assert floats("\tsqrt.rn.f32 %f2, %f1;\n", root).verdict == "unchecked"
    assert floats("\tabs.f32 %f2, %f1;\n", size).verdict == "proved"
    assert floats("\tneg.f32 %f2, %f1;\n", size).verdict == "refuted"


def leaky(out, a):
    for i in range(4):
        out[i] = a[i] if a[i] > 0 else a[i] * 0.5


def leaky_by_statements(out, a):
    for i in range(4):
        if not a[i] > 0:
            out[i] = a[i] * 0.5
        else:
            out[i] = a[i]


def clipped(out, a):
    for i in range(4):
        out[i] = 7 if a[i] == 3 or a[i] > 9 else a[i]


def kept(out, a):
    for i in range(4):
        if a[i] > 0:
            out[i] = a[i]


SELECT = "\tmul.f32 %f3, %f1, 0f3F000000;\n\tsetp.{test}.f32 %p1, {a}, {b};\n\tselp.f32 %f2, {x}, {y}, %p1;\n"
ZERO = "0f00000000"


@pytest.mark.parametrize("spec", [leaky, leaky_by_statements])
@pytest.mark.parametrize(
    ("test", "a", "b", "x", "y", "verdict"),
    [
        ("gt", "%f1", ZERO, "%f1", "%f3", "proved"),
        ("lt", ZERO, "%f1", "%f1", "%f3", "proved"),
        ("le", "%f1", ZERO, "%f3", "%f1", "proved"),
        ("ge", ZERO, "%f1", "%f3", "%f1", "proved"),
        ("gt", "%f1", ZERO, "%f3", "%f1", "refuted"),
        ("ge", "%f1", ZERO, "%f1", "%f3", "unchecked"),
        ("lt", "%f1", ZERO, "%f1", "%f3", "refuted"),
    ],
)
def test_choices_on_data(spec, test: str, a: str, b: str, x: str, y: str, verdict: str) -> None:
    lines = SELECT.replace("{test}", test).replace("{a}", a).replace("{b}", b).replace("{x}", x).replace("{y}", y)
    assert floats(lines, spec).verdict == verdict


def test_conditions_joined_and_a_store_under_a_condition() -> None:
    lines = (
        "\tsetp.gt.s32 %p1, %r2, 9;\n\tselp.b32 %r3, 7, %r2, %p1;\n\tsetp.eq.s32 %p2, {c}, %r2;\n\tselp.b32 %r3, 7, %r3, %p2;\n"
    )
    assert words(lines.replace("{c}", "3"), clipped) == "proved"
    assert words(lines.replace("{c}", "4"), clipped) in ("refuted", "unchecked")
    lines = "\tld.global.u32 %r4, [%rd1];\n\tsetp.gt.s32 %p1, %r2, 0;\n\tselp.b32 %r3, {x}, %p1;\n"
    assert words(lines.replace("{x}", "%r2, %r4"), kept) == "proved"
    assert words(lines.replace("{x}", "%r4, %r2"), kept) == "refuted"


def test_unsigned_is_not_signed() -> None:
    lines = "\tld.global.u32 %r4, [%rd1];\n\tsetp.gt.u32 %p1, %r2, 0;\n\tselp.b32 %r3, %r2, %r4, %p1;\n"
    assert words(lines, kept) != "proved"


def test_a_condition_that_no_selection_covers_says_so() -> None:
    def loop(out, a):
        while a[0] > 0:
            out[0] = 1

    with pytest.raises(UserError, match="data"):
        words("\tmov.u32 %r3, 1;\n", loop)


def test_choices_without_data_run_as_python() -> None:
    def halves(out, a):
        for i in range(4):
            out[i] = a[i] if i < 2 else a[i // 0]

    with pytest.raises(UserError, match="ZeroDivision"):
        words("\tmov.u32 %r3, 1;\n", halves)


SAME, STORED = "\tmov.b32 %r3, %r2;\n", "\tmov.u32 %r3, 0;\n"


def test_infinities_of_a_spec_are_no_numbers() -> None:
    def cancelled(out, a):
        for i in range(4):
            out[i] = a[i] * math.inf * 0

    def divided(out, a):
        for i in range(4):
            out[i] = a[i] / 0 * 0

    def too_large(out, a):
        for i in range(4):
            out[i] = a[i] * 1e300 * 0

    for spec in (cancelled, divided, too_large):
        assert floats("\tmov.f32 %f2, 0f00000000;\n", spec).verdict == "unchecked", spec.__name__


def test_a_spec_that_compares_with_what_the_type_does_not_hold() -> None:
    def least(out, a):
        for i in range(4):
            out[i] = min(a[i], -16)

    def chosen(out, a):
        for i in range(4):
            out[i] = 1 if a[i] < -16 else 2

    def shifted(out, a):
        for i in range(4):
            out[i] = a[i] >> -1

    def unsigned(lines: str, spec) -> CompiledProof:
        arguments: tuple[Argument, ...] = (ArrayArgument("out", u32, (4,)), ArrayArgument("a", u32, (4,)))
        text = f"\tld.global.u32 %r2, [%rd2];\n{lines}\tst.global.u32 [%rd1], %r3;\n"
        return proved(body(text), spec, arguments, 1, 4)

    with pytest.raises(UserError, match="got -16"):
        unsigned("\tmin.u32 %r3, %r2, 0xfffffff0;\n", least)
    with pytest.raises(UserError, match="got -16"):
        unsigned("\tsetp.lt.u32 %p1, %r2, 0xfffffff0;\n\tselp.b32 %r3, 1, 2, %p1;\n", chosen)
    with pytest.raises(UserError, match="got -1"):
        unsigned(SAME, shifted)


BYTE_STORE = "\tshr.u64 %rd4, %rd3, 2;\n\tsub.s64 %rd1, %rd1, %rd3;\n\tadd.s64 %rd1, %rd1, %rd4;\n\tst.global.u8 [%rd1], %r3;\n"
BYTE_LOAD = "\tshr.u64 %rd4, %rd3, 2;\n\tsub.s64 %rd2, %rd2, %rd3;\n\tadd.s64 %rd2, %rd2, %rd4;\n\tld.global.{t} %r2, [%rd2];\n"


def narrow(lines: str, spec, out: DType, a: DType) -> str:
    """The verdict on a kernel that computes %r3 from the element %r2."""
    load = "\tld.global.u32 %r2, [%rd2];\n" if a.bits == 32 else BYTE_LOAD.replace("{t}", "s8" if a is i8 else "u8")
    store = "\tst.global.u32 [%rd1], %r3;\n" if out.bits == 32 else BYTE_STORE
    arguments: tuple[Argument, ...] = (ArrayArgument("out", out, (4,)), ArrayArgument("a", a, (4,)))
    return proved(body(load + lines + store), spec, arguments, 1, 4).verdict


@pytest.mark.parametrize(
    ("value", "out", "a", "right", "wrong"),
    [
        # what is stored in fewer bits is computed in the operands' own
        ("max(x, 5)", u8, i32, "max.s32 %r3, %r2, 5", "max.u32 %r3, %r2, 5"),
        ("max(x, 5)", u8, i32, "max.s32 %r3, %r2, 5", "and.b32 %r2, %r2, 255;\n\tmax.s32 %r3, %r2, 5"),
        # bytes are computed as int: nothing wraps at 8 bits before the store
        ("(x + x) >> 1", u8, u8, "add.s32 %r3, %r2, %r2;\n\tshr.s32 %r3, %r3, 1",
         "add.s32 %r3, %r2, %r2;\n\tand.b32 %r3, %r3, 255;\n\tshr.s32 %r3, %r3, 1"),
        ("min(x + x, 255)", u8, u8, "add.s32 %r3, %r2, %r2;\n\tmin.s32 %r3, %r3, 255", "add.s32 %r3, %r2, %r2"),
        ("x + x", i32, i8, "add.s32 %r3, %r2, %r2", "add.s32 %r3, %r2, %r2;\n\tcvt.s32.s8 %r3, %r3"),
        ("~x", i32, u8, "not.b32 %r3, %r2", "xor.b32 %r3, %r2, 255"),
        ("-x", i32, u8, "neg.s32 %r3, %r2", "neg.s32 %r3, %r2;\n\tand.b32 %r3, %r3, 255"),
        # compilers take the unsigned operation where nothing is negative
        ("min(x + x, 255)", u8, u8, "add.s32 %r3, %r2, %r2;\n\tmin.u32 %r3, %r3, 255",
         "add.s32 %r3, %r2, %r2;\n\tmin.u32 %r3, %r3, 254"),
        ("(x + x) >> 1", u8, i8, "add.s32 %r3, %r2, %r2;\n\tshr.s32 %r3, %r3, 1",
         "add.s32 %r3, %r2, %r2;\n\tmin.u32 %r3, %r3, 255"),
        # the choice compares in the type of what it compares, not of what it gives
        ("1 if x + x > 255 else 0", u8, u8,
         "add.s32 %r3, %r2, %r2;\n\tsetp.gt.s32 %p1, %r3, 255;\n\tselp.b32 %r3, 1, 0, %p1", "mov.u32 %r3, 0"),
        ("300 if x > 0 else 1", u8, i32, "setp.gt.s32 %p1, %r2, 0;\n\tselp.b32 %r3, 44, 1, %p1",
         "setp.gt.u32 %p1, %r2, 0;\n\tselp.b32 %r3, 44, 1, %p1"),
        # a conversion that is asked for
        ("np.uint8(x + x)", i32, u8, "add.s32 %r3, %r2, %r2;\n\tand.b32 %r3, %r3, 255", "add.s32 %r3, %r2, %r2"),
        ("np.uint32(x) >> 4", i32, i32, "shr.u32 %r3, %r2, 4", "shr.s32 %r3, %r2, 4"),
        ("x >> 4", i32, u32, "shr.u32 %r3, %r2, 4", "shr.s32 %r3, %r2, 4"),
        ("abs(x)", i32, i8, "abs.s32 %r3, %r2", "mov.u32 %r3, %r2"),
    ],
)  # fmt: skip
def test_a_spec_computes_in_c_types(value: str, out: DType, a: DType, right: str, wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.py"
    file.write_text(
        f"import numpy as np\n\ndef spec(out, a):\n    for i in range(4):\n        x = a[i]\n        out[i] = {value}\n"
    )
    spec = load_spec(f"{file}:spec")
    assert narrow(f"\t{right};\n", spec, out, a) == "proved"
    assert narrow(f"\t{wrong};\n", spec, out, a) != "proved"


def stored(spec) -> list[str]:
    return [str(t) for t in run_plain_spec(spec, WORDS)["out"].terms.tolist()]


def other_spec(out, a):
    for i in range(4):
        out[i] = a[i] if i < 2 else 0


@functools.wraps(other_spec)
def wrapping(out, a):
    for i in range(4):
        out[i] = 7 if i < 4 else a[i]


def test_a_spec_is_the_function_and_not_a_text_that_it_names() -> None:
    assert stored(wrapping) == ["7"] * 4
    numbers = tuple(8 if c == 7 else c for c in wrapping.__code__.co_consts)
    made = FunctionType(wrapping.__code__.replace(co_consts=numbers), globals(), "wrapping")
    assert stored(made) == ["8"] * 4  # its file has changed since


def test_places_and_names_of_a_choice_are_those_of_python() -> None:
    def counted(out, a):
        places = iter(range(4))
        for i in range(4):
            if i < 3:
                out[next(places)] += a[i]

    def named(out, a):
        k = 0
        for i in range(4):
            out[i] = (k := i) if i > 1 else 9
        out[k] = a[0]

    def kept_once(out, a):
        places = iter(range(8))
        for i in range(4):
            if a[i] > 3:
                out[next(places)] = a[i]

    assert stored(counted) == ["out[0] + a[0]", "out[1] + a[1]", "out[2] + a[2]", "out[3]"]
    assert stored(named) == ["9", "9", "2", "a[0]"]
    with pytest.raises(UserError, match="data"):
        stored(kept_once)


def test_a_spec_that_catches_its_own_refusal() -> None:
    def caught(out, a):
        for i in range(4):
            try:
                while a[i] > 0:
                    break
                out[i] = 1
            except Exception:
                out[i] = 9

    with pytest.raises(UserError, match="control must not depend on data"):
        stored(caught)


def test_min_and_max_by_a_key_of_data() -> None:
    def keyed(out, a):
        for i in range(4):
            out[i] = max(a[i], a[i], key=lambda x: -x)

    with pytest.raises(UserError, match="without a key"):
        words(SAME, keyed)


def test_stores_that_numpy_makes_for_a_spec() -> None:
    def row(out, a):
        for i in range(4):
            out[i] = a

    def filled(out, a):
        out.fill(3)

    def put(out, a):
        np.put(out, range(4), 3)

    def text(out, a):
        np.put(out, range(4), "x")

    with pytest.raises(UserError, match="expected one number for an element of out"):
        words(STORED, row)
    with pytest.raises(UserError, match="expected numbers in out, got str"):
        words(STORED, text)
    for spec in (filled, put):
        assert words(STORED, spec) == "refuted"
        assert words("\tmov.u32 %r3, 3;\n", spec) == "proved"
